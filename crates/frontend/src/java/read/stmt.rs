//! Statements of Java text to the tree.
//!
//! In: nodes of the grammar. Out: `JavaStmt`.
//! Deliberately absent: `try` with resources, which becomes `Unknown`.

use super::Reader;
use crate::java::tree::*;
use tree_sitter::Node;

impl Reader<'_> {
    pub(super) fn block(&self, node: Node) -> Vec<JavaStmt> {
        self.named(node).into_iter().map(|s| self.stmt(s)).collect()
    }

    fn boxed(&self, node: Node) -> Box<JavaStmt> {
        Box::new(self.stmt(node))
    }

    /// The inside of `( .. )`.
    fn condition(&self, node: Node) -> JavaExpr {
        let unknown = || JavaExpr { kind: JavaExprKind::Unknown("a condition".into()), span: self.span(node) };
        self.field(node, "condition").map_or_else(unknown, |c| self.expr(c))
    }

    pub(super) fn stmt(&self, node: Node) -> JavaStmt {
        let span = self.span(node);
        let kind = self.stmt_kind(node).unwrap_or_else(|| JavaStmtKind::Unknown(node.kind().replace('_', " ")));
        JavaStmt { kind, span }
    }

    fn stmt_kind(&self, node: Node) -> Option<JavaStmtKind> {
        let children = self.named(node);
        Some(match node.kind() {
            ";" => JavaStmtKind::Empty,
            "block" | "constructor_body" => JavaStmtKind::Block(self.block(node)),
            "expression_statement" => {
                let inner = *children.first()?;
                if inner.kind() == "switch_expression" {
                    self.switch(inner, false)?
                } else {
                    JavaStmtKind::Expr(self.expr(inner))
                }
            }
            "local_variable_declaration" => {
                let ty = self.field(node, "type")?;
                let declarators: Vec<Node> =
                    children.into_iter().filter(|n| n.kind() == "variable_declarator").collect();
                let mut out: Vec<JavaStmt> = Vec::new();
                for declarator in declarators {
                    let name = self.field(declarator, "name")?;
                    let kind = JavaStmtKind::Local {
                        ty: self.with_dimensions(self.ty(ty), declarator),
                        name: self.text(name).to_owned(),
                        name_span: self.span(name),
                        value: self.field(declarator, "value").map(|v| self.expr(v)),
                    };
                    out.push(JavaStmt { kind, span: self.span(declarator) });
                }
                if out.len() == 1 { out.remove(0).kind } else { JavaStmtKind::Several(out) }
            }
            "if_statement" => JavaStmtKind::If(
                self.condition(node),
                self.boxed(self.field(node, "consequence")?),
                self.field(node, "alternative").map(|s| self.boxed(s)),
            ),
            "while_statement" => JavaStmtKind::While(self.condition(node), self.boxed(self.field(node, "body")?)),
            "do_statement" => JavaStmtKind::DoWhile(self.boxed(self.field(node, "body")?), self.condition(node)),
            "for_statement" => {
                let mut cursor = node.walk();
                let inits: Vec<Node> = node.children_by_field_name("init", &mut cursor).collect();
                let mut cursor = node.walk();
                let updates: Vec<Node> = node.children_by_field_name("update", &mut cursor).collect();
                let init = inits
                    .into_iter()
                    .map(|n| match n.kind() {
                        "local_variable_declaration" => self.stmt(n),
                        _ => JavaStmt { kind: JavaStmtKind::Expr(self.expr(n)), span: self.span(n) },
                    })
                    .collect();
                JavaStmtKind::For {
                    init,
                    condition: self.field(node, "condition").map(|c| self.expr(c)),
                    update: updates.into_iter().map(|u| self.expr(u)).collect(),
                    body: self.boxed(self.field(node, "body")?),
                }
            }
            "enhanced_for_statement" => {
                let name = self.field(node, "name")?;
                JavaStmtKind::ForEach {
                    ty: self.ty(self.field(node, "type")?),
                    name: self.text(name).to_owned(),
                    name_span: self.span(name),
                    over: self.expr(self.field(node, "value")?),
                    body: self.boxed(self.field(node, "body")?),
                }
            }
            "labeled_statement" => {
                JavaStmtKind::Labeled(self.text(*children.first()?).to_owned(), self.boxed(*children.get(1)?))
            }
            "break_statement" => JavaStmtKind::Break(children.first().map(|n| self.text(*n).to_owned())),
            "continue_statement" => JavaStmtKind::Continue(children.first().map(|n| self.text(*n).to_owned())),
            "return_statement" => JavaStmtKind::Return(children.first().map(|n| self.expr(*n))),
            "throw_statement" => JavaStmtKind::Throw(self.expr(*children.first()?)),
            "assert_statement" => {
                JavaStmtKind::Assert(self.expr(*children.first()?), children.get(1).map(|n| self.expr(*n)))
            }
            "synchronized_statement" => {
                let body = self.field(node, "body")?;
                JavaStmtKind::Synchronized(self.expr(*children.first()?), self.block(body))
            }
            "try_statement" => {
                let mut catches = Vec::new();
                let mut finally = None;
                for child in &children {
                    match child.kind() {
                        "catch_clause" => catches.push(self.catch(*child)?),
                        "finally_clause" => finally = self.named(*child).first().map(|b| self.block(*b)),
                        _ => {}
                    }
                }
                JavaStmtKind::Try { body: self.block(self.field(node, "body")?), catches, finally }
            }
            "switch_expression" => self.switch(node, false)?,
            "yield_statement" => JavaStmtKind::Yield(self.expr(*children.first()?)),
            "class_declaration" | "interface_declaration" | "enum_declaration" | "record_declaration" => {
                let mut inner = JavaUnit::default();
                self.class_like(node, None, &mut inner);
                JavaStmtKind::LocalClass(inner.classes)
            }
            "explicit_constructor_invocation" => {
                let which = self.field(node, "constructor")?;
                let args = self.field(node, "arguments").map_or_else(Vec::new, |a| self.exprs(a));
                JavaStmtKind::Construct { of_super: which.kind() == "super", args }
            }
            _ => return None,
        })
    }

    fn catch(&self, node: Node) -> Option<CatchClause> {
        let parameter = self.named(node).into_iter().find(|n| n.kind() == "catch_formal_parameter")?;
        let types = self.named(parameter).into_iter().find(|n| n.kind() == "catch_type")?;
        let name = self.field(parameter, "name")?;
        Some(CatchClause {
            types: self.named(types).into_iter().map(|t| self.ty(t)).collect(),
            name: self.text(name).to_owned(),
            body: self.block(self.field(node, "body")?),
            span: self.span(node),
        })
    }

    /// A `switch`; where it is a value, a case that is an expression yields it.
    pub(super) fn switch(&self, node: Node, is_value: bool) -> Option<JavaStmtKind> {
        let mut cases = Vec::new();
        for group in self.named(self.field(node, "body")?) {
            let is_rule = group.kind() == "switch_rule";
            let mut case =
                SwitchCase { labels: Vec::new(), is_default: false, body: Vec::new(), is_rule, span: self.span(group) };
            for child in self.named(group) {
                if child.kind() == "switch_label" {
                    let labels = self.named(child);
                    case.is_default |= labels.is_empty();
                    case.labels.extend(labels.into_iter().map(|l| self.expr(l)));
                } else {
                    let mut stmt = self.stmt(child);
                    if let (true, true, JavaStmtKind::Expr(e)) = (is_value, is_rule, &stmt.kind) {
                        stmt.kind = JavaStmtKind::Yield(e.clone());
                    }
                    case.body.push(stmt);
                }
            }
            cases.push(case);
        }
        Some(JavaStmtKind::Switch { on: self.condition(node), cases })
    }
}
