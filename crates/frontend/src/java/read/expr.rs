//! Expressions of Java text to the tree.
//!
//! In: nodes of the grammar. Out: `JavaExpr`; literals with their values.
//! Deliberately absent: patterns and text blocks, which become `Unknown`.

use super::Reader;
use crate::java::tree::*;
use tree_sitter::Node;

impl Reader<'_> {
    pub(super) fn exprs(&self, node: Node) -> Vec<JavaExpr> {
        self.named(node).into_iter().map(|e| self.expr(e)).collect()
    }

    fn boxed_expr(&self, node: Node) -> Box<JavaExpr> {
        Box::new(self.expr(node))
    }

    pub(super) fn expr(&self, node: Node) -> JavaExpr {
        let mut node = node;
        while node.kind() == "parenthesized_expression" {
            match self.named(node).first() {
                Some(inner) => node = *inner,
                None => break,
            }
        }
        let span = self.span(node);
        let kind = self.expr_kind(node).unwrap_or_else(|| JavaExprKind::Unknown(node.kind().replace('_', " ")));
        JavaExpr { kind, span }
    }

    fn expr_kind(&self, node: Node) -> Option<JavaExprKind> {
        let children = self.named(node);
        Some(match node.kind() {
            "true" => JavaExprKind::Bool(true),
            "false" => JavaExprKind::Bool(false),
            "null_literal" => JavaExprKind::Null,
            "this" => JavaExprKind::This,
            "super" => JavaExprKind::Super,
            "identifier" => JavaExprKind::Name(self.text(node).to_owned()),
            "decimal_integer_literal" | "hex_integer_literal" | "octal_integer_literal" | "binary_integer_literal" => {
                number(self.text(node))?
            }
            "character_literal" => JavaExprKind::Char(character(self.text(node))?),
            "string_literal" => JavaExprKind::Text(self.text(node).to_owned()),
            "field_access" => {
                let field = self.field(node, "field")?;
                let object = self.boxed_expr(self.field(node, "object")?);
                JavaExprKind::Field(object, self.text(field).to_owned(), self.span(field))
            }
            "array_access" => JavaExprKind::Index(
                self.boxed_expr(self.field(node, "array")?),
                self.boxed_expr(self.field(node, "index")?),
            ),
            "unary_expression" => {
                let op = match self.text(self.field(node, "operator")?) {
                    "!" => UnaryOp::Not,
                    "-" => UnaryOp::Negate,
                    "+" => UnaryOp::Plus,
                    "~" => UnaryOp::Complement,
                    _ => return None,
                };
                let operand = self.expr(self.field(node, "operand")?);
                match (op, &operand.kind) {
                    (UnaryOp::Negate, JavaExprKind::Int(n)) => JavaExprKind::Int(wrapped(-n, 32)),
                    (UnaryOp::Negate, JavaExprKind::Long(n)) => JavaExprKind::Long(wrapped(-n, 64)),
                    _ => JavaExprKind::Unary(op, Box::new(operand)),
                }
            }
            "binary_expression" => {
                let op = BinaryOp::read(self.text(self.field(node, "operator")?))?;
                let (left, right) = (self.field(node, "left")?, self.field(node, "right")?);
                JavaExprKind::Binary(op, self.boxed_expr(left), self.boxed_expr(right))
            }
            "ternary_expression" => JavaExprKind::Conditional(Box::new([
                self.expr(self.field(node, "condition")?),
                self.expr(self.field(node, "consequence")?),
                self.expr(self.field(node, "alternative")?),
            ])),
            "assignment_expression" => {
                let op = self.text(self.field(node, "operator")?);
                let op = match op.strip_suffix('=')? {
                    "" => None,
                    op => Some(BinaryOp::read(op)?),
                };
                let (left, right) = (self.field(node, "left")?, self.field(node, "right")?);
                JavaExprKind::Assign(self.boxed_expr(left), op, self.boxed_expr(right))
            }
            "update_expression" => {
                let text = self.text(node);
                let prefix = text.starts_with("++") || text.starts_with("--");
                let plus = if prefix { text.starts_with("++") } else { text.ends_with("++") };
                let by = if plus { 1 } else { -1 };
                JavaExprKind::Step { place: self.boxed_expr(*children.first()?), by, prefix }
            }
            "method_invocation" => {
                let name = self.field(node, "name")?;
                JavaExprKind::Call {
                    object: self.field(node, "object").map(|o| self.boxed_expr(o)),
                    name: self.text(name).to_owned(),
                    name_span: self.span(name),
                    args: self.field(node, "arguments").map_or_else(Vec::new, |a| self.exprs(a)),
                }
            }
            "object_creation_expression" => {
                let body = match children.iter().find(|n| n.kind() == "class_body") {
                    Some(body) => {
                        let ty = self.field(node, "type")?;
                        let mut class = self.empty_class(String::new(), ClassForm::Class, node, self.span(ty));
                        let mut unit = JavaUnit::default();
                        self.members(*body, &mut class, &mut unit);
                        for inner in unit.classes {
                            class.unknown.push(("a class inside an anonymous class".into(), inner.span));
                        }
                        Some(Box::new(class))
                    }
                    None => None,
                };
                // `outer.new Inner()` has an expression before `new`.
                if children.first()?.kind() != self.field(node, "type")?.kind() && node.child(0)?.kind() != "new" {
                    return None;
                }
                JavaExprKind::New {
                    ty: self.ty(self.field(node, "type")?),
                    args: self.field(node, "arguments").map_or_else(Vec::new, |a| self.exprs(a)),
                    body,
                }
            }
            "array_creation_expression" => {
                let mut cursor = node.walk();
                let dimensions: Vec<Node> = node.children_by_field_name("dimensions", &mut cursor).collect();
                let mut sizes = Vec::new();
                let mut open = 0;
                for dimension in dimensions {
                    match dimension.kind() {
                        "dimensions_expr" => sizes.push(self.expr(*self.named(dimension).last()?)),
                        _ => open += self.text(dimension).matches('[').count(),
                    }
                }
                let values = self.field(node, "value").map(|v| self.exprs(v));
                JavaExprKind::NewArray { element: self.ty(self.field(node, "type")?), sizes, open, values }
            }
            "array_initializer" => JavaExprKind::ArrayValues(self.exprs(node)),
            "cast_expression" => {
                JavaExprKind::Cast(self.ty(self.field(node, "type")?), self.boxed_expr(self.field(node, "value")?))
            }
            "instanceof_expression" => {
                // A pattern that binds a name is another construct.
                if self.field(node, "name").is_some() || self.field(node, "pattern").is_some() {
                    return None;
                }
                JavaExprKind::InstanceOf(
                    self.boxed_expr(self.field(node, "left")?),
                    self.ty(self.field(node, "right")?),
                )
            }
            "lambda_expression" => {
                let params = self.field(node, "parameters")?;
                let params = match params.kind() {
                    "identifier" => vec![self.text(params).to_owned()],
                    _ => self.params(params).into_iter().map(|p| p.name).collect(),
                };
                let body = self.field(node, "body")?;
                let is_expression = body.kind() != "block";
                let stmts = if is_expression {
                    vec![JavaStmt { kind: JavaStmtKind::Expr(self.expr(body)), span: self.span(body) }]
                } else {
                    self.block(body)
                };
                JavaExprKind::Lambda { params, body: stmts, is_expression }
            }
            "method_reference" => {
                let name = children.last()?;
                if children.len() != 2 {
                    return None;
                }
                JavaExprKind::MethodReference(self.boxed_expr(*children.first()?), self.text(*name).to_owned())
            }
            "switch_expression" => {
                let kind = self.switch(node, true)?;
                JavaExprKind::Switch(Box::new(JavaStmt { kind, span: self.span(node) }))
            }
            "class_literal" => JavaExprKind::ClassLiteral(self.text(*children.first()?).to_owned()),
            _ => return None,
        })
    }
}

/// A value of a two's complement integer of so many bits.
pub(crate) fn wrapped(value: i128, bits: u32) -> i128 {
    let modulus = 1_i128 << bits;
    let rest = value.rem_euclid(modulus);
    if rest >= modulus / 2 { rest - modulus } else { rest }
}

/// An integer literal. Hexadecimal, octal and binary ones may have the highest bit set.
fn number(text: &str) -> Option<JavaExprKind> {
    let plain: String = text.chars().filter(|c| *c != '_').collect();
    let (digits, is_long) = match plain.strip_suffix(['l', 'L']) {
        Some(digits) => (digits, true),
        None => (&plain[..], false),
    };
    let lower = digits.to_ascii_lowercase();
    let (value, is_decimal) = if let Some(hex) = lower.strip_prefix("0x") {
        (i128::from_str_radix(hex, 16).ok()?, false)
    } else if let Some(bits) = lower.strip_prefix("0b") {
        (i128::from_str_radix(bits, 2).ok()?, false)
    } else if lower.len() > 1 && lower.starts_with('0') {
        (i128::from_str_radix(&lower, 8).ok()?, false)
    } else {
        (lower.parse().ok()?, true)
    };
    let bits = if is_long { 64 } else { 32 };
    // 2147483648 may only stand behind a minus sign; the reader wraps it there.
    let largest = if is_decimal { 1_i128 << (bits - 1) } else { (1_i128 << bits) - 1 };
    if value > largest {
        return None;
    }
    let value = if is_decimal { value } else { wrapped(value, bits) };
    Some(if is_long { JavaExprKind::Long(value) } else { JavaExprKind::Int(value) })
}

fn character(text: &str) -> Option<u16> {
    let inner = text.strip_prefix('\'')?.strip_suffix('\'')?;
    let mut chars = inner.chars();
    let first = chars.next()?;
    if first != '\\' {
        let value = u32::from(first);
        return (chars.next().is_none()).then(|| u16::try_from(value).ok())?;
    }
    let rest: String = chars.collect();
    let simple = match rest.as_str() {
        "n" => '\n',
        "t" => '\t',
        "r" => '\r',
        "b" => '\u{8}',
        "f" => '\u{c}',
        "s" => ' ',
        "0" => '\0',
        "'" => '\'',
        "\"" => '"',
        "\\" => '\\',
        hex => {
            let hex = hex.strip_prefix('u')?;
            return u16::from_str_radix(hex.trim_start_matches('u'), 16).ok();
        }
    };
    u16::try_from(u32::from(simple)).ok()
}
