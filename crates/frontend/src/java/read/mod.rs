//! Java text to the tree, by the grammar `tree-sitter-java`.
//!
//! In: the text of a file among the sources. Out: its classes added to a `Unit`, and diagnostics where the text is no Java.
//! A node that the tree has no form for becomes `Unknown` with its kind: nothing is dropped silently.
//! Deliberately absent: types, names, meaning (`translate`).

mod expr;
mod stmt;

use super::codes;
use super::tree::*;
use base::{Diagnostic, SourceId, Sources, Span};
use tree_sitter::Node;

/// Nodes deeper than this are not read: recursion follows the tree.
const DEEPEST_NODE: usize = 400;
/// Errors of syntax that are reported for one file.
const MAX_SYNTAX_ERRORS: usize = 20;

/// Reads one file. Errors of syntax are errors; nothing of a file that has any is used.
pub(crate) fn read_file(sources: &Sources, file: SourceId, unit: &mut JavaUnit, diagnostics: &mut Vec<Diagnostic>) {
    let text = &sources.file(file).text;
    let mut parser = tree_sitter::Parser::new();
    parser.set_language(&tree_sitter_java::LANGUAGE.into()).expect("the grammar is of a version that the parser reads");
    let tree = parser.parse(text, None).expect("without a limit of time the parser always gives a tree");
    let reader = Reader { file, text };
    let before = diagnostics.len();
    reader.syntax_errors(tree.root_node(), 0, diagnostics);
    if diagnostics.len() > before {
        return;
    }
    reader.comments(tree.root_node(), unit);
    let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at as u32 + 1));
    unit.lines.push((file, starts.collect()));
    for node in reader.named(tree.root_node()) {
        match node.kind() {
            "package_declaration" | "import_declaration" => {}
            _ => reader.class_like(node, None, unit),
        }
    }
}

pub(super) struct Reader<'a> {
    file: SourceId,
    text: &'a str,
}

impl<'a> Reader<'a> {
    pub(super) fn span(&self, node: Node) -> Span {
        Span::new(self.file, node.start_byte(), node.end_byte())
    }

    pub(super) fn text(&self, node: Node) -> &'a str {
        self.text.get(node.byte_range()).unwrap_or("")
    }

    /// Children with names, comments left out.
    pub(crate) fn named<'t>(&self, node: Node<'t>) -> Vec<Node<'t>> {
        let mut cursor = node.walk();
        let all: Vec<Node<'t>> = node.named_children(&mut cursor).collect();
        all.into_iter().filter(|n| !matches!(n.kind(), "line_comment" | "block_comment")).collect()
    }

    pub(super) fn field<'t>(&self, node: Node<'t>, name: &str) -> Option<Node<'t>> {
        node.child_by_field_name(name)
    }

    fn syntax_errors(&self, node: Node, depth: usize, out: &mut Vec<Diagnostic>) {
        if out.len() >= MAX_SYNTAX_ERRORS {
            return;
        }
        if depth > DEEPEST_NODE {
            let message = "this is nested too deeply";
            out.push(Diagnostic::error(codes::SYNTAX, self.span(node), message).label("not read"));
            return;
        }
        if node.is_missing() {
            let message = format!("`{}` is missing here", node.kind());
            out.push(
                Diagnostic::error(codes::SYNTAX, self.span(node), message).label(format!("expected `{}`", node.kind())),
            );
        } else if node.is_error() {
            out.push(Diagnostic::error(codes::SYNTAX, self.span(node), "this is no Java").label("not understood"));
        } else if node.has_error() || depth < 64 {
            let mut cursor = node.walk();
            let children: Vec<Node> = node.children(&mut cursor).collect();
            children.into_iter().for_each(|c| self.syntax_errors(c, depth + 1, out));
        }
    }

    fn comments(&self, node: Node, unit: &mut JavaUnit) {
        let mut todo = vec![node];
        while let Some(node) = todo.pop() {
            let text = self.text(node);
            let body = match node.kind() {
                "line_comment" => text.strip_prefix("//@").map(|b| format!("   {b}")),
                "block_comment" => text.strip_prefix("/*@").and_then(|b| b.strip_suffix("*/")).map(|b| {
                    let b = b.strip_suffix('@').map_or_else(|| b.to_owned(), |b| format!("{b} "));
                    // A line of a block may begin with `@`.
                    let mut line_start = true;
                    let plain = b.chars().map(|c| {
                        let blank = c == '@' && line_start;
                        line_start = c == '\n' || (line_start && (c.is_whitespace() || blank));
                        if blank { ' ' } else { c }
                    });
                    format!("   {}  ", plain.collect::<String>())
                }),
                _ => None,
            };
            if let Some(text) = body {
                let (before, behind) = (&self.text[..node.start_byte()], &self.text[node.end_byte()..]);
                let before = before.rsplit('\n').next().unwrap_or_default();
                let behind = behind.split('\n').next().unwrap_or_default();
                let (behind_code, ends_line) = (!before.trim().is_empty(), behind.trim().is_empty());
                unit.comments.push(AnnotationComment { text, span: self.span(node), behind_code, ends_line });
            }
            let mut cursor = node.walk();
            todo.extend(node.children(&mut cursor));
        }
        unit.comments.sort_by_key(|c| c.span);
    }

    pub(super) fn class_like(&self, node: Node, outer: Option<&str>, unit: &mut JavaUnit) {
        let Some(class) = self.class(node, outer, unit) else {
            return;
        };
        unit.classes.push(class);
    }

    /// A class declaration; classes inside it go to the unit.
    fn class(&self, node: Node, outer: Option<&str>, unit: &mut JavaUnit) -> Option<JavaClass> {
        let form = match node.kind() {
            "class_declaration" => ClassForm::Class,
            "interface_declaration" => ClassForm::Interface,
            "enum_declaration" => ClassForm::Enum,
            "record_declaration" => ClassForm::Class,
            "annotation_type_declaration" => ClassForm::Other,
            _ => return None,
        };
        let name_node = self.field(node, "name")?;
        let body = self.field(node, "body")?;
        let mut class = self.empty_class(self.text(name_node).to_owned(), form, node, self.span(name_node));
        class.outer = outer.map(str::to_owned);
        class.body = self.span(body);
        if let Some(params) = self.field(node, "type_parameters") {
            class.type_params = self.type_params(params);
        }
        if let Some(list) = self.field(node, "superclass") {
            class.extends = self.named(list).first().map(|t| self.ty(*t));
        }
        let interfaces = self.field(node, "interfaces").into_iter();
        let extended = self.named(node).into_iter().filter(|n| n.kind() == "extends_interfaces");
        for list in interfaces.chain(extended) {
            for types in self.named(list) {
                class.implements.extend(self.named(types).into_iter().map(|t| self.ty(t)));
            }
        }
        self.members(body, &mut class, unit);
        if node.kind() == "record_declaration" {
            self.record(node, &mut class);
        }
        Some(class)
    }

    /// The fields, the constructor and the accessors of a record, where it does not write them.
    fn record(&self, node: Node, class: &mut JavaClass) {
        class.modifiers.is_static = true;
        class.surroundings.is_record = true;
        let components = self.field(node, "parameters").map_or_else(Vec::new, |p| self.params(p));
        let named = |text: &str, span: Span| JavaExpr { kind: JavaExprKind::Name(text.to_owned()), span };
        let own = |text: &str, span: Span| {
            let this = JavaExpr { kind: JavaExprKind::This, span };
            JavaExpr { kind: JavaExprKind::Field(Box::new(this), text.to_owned(), span), span }
        };
        let stmt = |kind: JavaStmtKind, span: Span| JavaStmt { kind, span };
        let set: Vec<JavaStmt> = components
            .iter()
            .map(|c| {
                let place = Box::new(own(&c.name, c.span));
                let value = Box::new(named(&c.name, c.span));
                let kind = JavaExprKind::Assign(place, None, value);
                stmt(JavaStmtKind::Expr(JavaExpr { kind, span: c.span }), c.span)
            })
            .collect();
        let method = |name: &str, params: Vec<JavaParam>, result: Option<JavaType>, body: Vec<JavaStmt>, span: Span| {
            let modifiers = JavaModifiers { is_public: true, ..JavaModifiers::default() };
            let (name, body, type_params) = (name.to_owned(), Some(body), Vec::new());
            JavaMethod { name, params, result, modifiers, type_params, body, span, name_span: span, body_span: span }
        };
        let compact = |n: &Node| n.kind() == "compact_constructor_declaration";
        let body = self.field(node, "body").map_or_else(Vec::new, |b| self.named(b));
        if let Some(compact) = body.into_iter().find(compact) {
            let first = self.field(compact, "body").map_or_else(Vec::new, |b| self.block(b));
            let block = stmt(JavaStmtKind::Several(first), self.span(compact));
            let whole = std::iter::once(block).chain(set).collect();
            class.methods.push(method(CONSTRUCTOR, components.clone(), None, whole, self.span(compact)));
        } else if !class.methods.iter().any(|m| m.name == CONSTRUCTOR && m.params.len() == components.len()) {
            class.methods.push(method(CONSTRUCTOR, components.clone(), None, set, class.name_span));
        }
        for component in components {
            let JavaParam { name, ty, span } = component;
            if !class.methods.iter().any(|m| m.name == name && m.params.is_empty()) {
                let value = stmt(JavaStmtKind::Return(Some(own(&name, span))), span);
                class.methods.push(method(&name, Vec::new(), Some(ty.clone()), vec![value], span));
            }
            let modifiers = JavaModifiers { is_final: true, ..JavaModifiers::default() };
            class.fields.push(JavaField { name, ty, modifiers, value: None, span, name_span: span });
        }
    }

    pub(super) fn empty_class(&self, name: String, form: ClassForm, node: Node, name_span: Span) -> JavaClass {
        JavaClass {
            name,
            form,
            modifiers: self.modifiers(node),
            type_params: Vec::new(),
            extends: None,
            implements: Vec::new(),
            constants: Vec::new(),
            fields: Vec::new(),
            methods: Vec::new(),
            initializers: Vec::new(),
            outer: None,
            span: self.span(node),
            name_span,
            body: self.span(node),
            unknown: Vec::new(),
            surroundings: Surroundings::default(),
        }
    }

    pub(super) fn members(&self, body: Node, class: &mut JavaClass, unit: &mut JavaUnit) {
        for member in self.named(body) {
            match member.kind() {
                "field_declaration" | "constant_declaration" => self.fields(member, class),
                "method_declaration" | "constructor_declaration" => class.methods.extend(self.method(member)),
                "static_initializer" | "block" => {
                    let is_static = member.kind() == "static_initializer";
                    let block = if is_static { self.named(member).first().copied() } else { Some(member) };
                    if let Some(block) = block {
                        let body = self.block(block);
                        class.initializers.push(Initializer { is_static, body, span: self.span(member) });
                    }
                }
                "class_declaration"
                | "interface_declaration"
                | "enum_declaration"
                | "record_declaration"
                | "annotation_type_declaration" => {
                    let outer = class.name.clone();
                    self.class_like(member, Some(&outer), unit);
                }
                "enum_constant" => {
                    let name = self.field(member, "name").map_or("", |n| self.text(n)).to_owned();
                    if self.field(member, "arguments").is_some() || self.field(member, "body").is_some() {
                        class.unknown.push(("an enum constant with arguments or a body".into(), self.span(member)));
                    }
                    class.constants.push((name, self.span(member)));
                }
                "compact_constructor_declaration" => {}
                "enum_body_declarations" => self.members(member, class, unit),
                other => {
                    let what = format!("the member ({})", other.replace('_', " "));
                    class.unknown.push((what, self.span(member)));
                }
            }
        }
    }

    fn type_params(&self, node: Node) -> Vec<String> {
        self.named(node)
            .into_iter()
            .filter_map(|p| {
                self.named(p).into_iter().find(|n| n.kind() == "type_identifier" || n.kind() == "identifier")
            })
            .map(|n| self.text(n).to_owned())
            .collect()
    }

    pub(super) fn modifiers(&self, node: Node) -> JavaModifiers {
        let mut out = JavaModifiers::default();
        let Some(list) = self.named(node).into_iter().find(|n| n.kind() == "modifiers") else { return out };
        let mut cursor = list.walk();
        let children: Vec<Node> = list.children(&mut cursor).collect();
        for child in children {
            match child.kind() {
                "static" => out.is_static = true,
                "final" => out.is_final = true,
                "private" => out.is_private = true,
                "volatile" => out.is_volatile = true,
                "synchronized" => out.is_synchronized = true,
                "abstract" => out.is_abstract = true,
                "native" => out.is_native = true,
                "public" => out.is_public = true,
                "marker_annotation" | "annotation" => {
                    let name = self.field(child, "name").map_or("", |n| self.text(n)).to_owned();
                    let argument = self.field(child, "arguments").and_then(|a| self.named(a).first().copied());
                    let argument = argument.map(|a| self.text(a).trim_matches('"').to_owned());
                    out.annotations.push(JavaAnnotation { name, argument, span: self.span(child) });
                }
                _ => {}
            }
        }
        out
    }

    fn fields(&self, node: Node, class: &mut JavaClass) {
        let mut modifiers = self.modifiers(node);
        if class.form == ClassForm::Interface {
            modifiers.is_static = true;
            modifiers.is_final = true;
        }
        let Some(ty) = self.field(node, "type") else { return };
        for declarator in self.named(node).into_iter().filter(|n| n.kind() == "variable_declarator") {
            let Some(name) = self.field(declarator, "name") else { continue };
            let ty = self.with_dimensions(self.ty(ty), declarator);
            class.fields.push(JavaField {
                name: self.text(name).to_owned(),
                ty,
                modifiers: modifiers.clone(),
                value: self.field(declarator, "value").map(|v| self.expr(v)),
                span: self.span(node),
                name_span: self.span(name),
            });
        }
    }

    /// A type with the brackets that stand behind a name.
    pub(super) fn with_dimensions(&self, mut ty: JavaType, declarator: Node) -> JavaType {
        if let Some(dimensions) = self.field(declarator, "dimensions") {
            for _ in 0..self.text(dimensions).matches('[').count() {
                ty = JavaType { span: ty.span, kind: JavaTypeKind::Array(Box::new(ty)) };
            }
        }
        ty
    }

    fn method(&self, node: Node) -> Option<JavaMethod> {
        let name = self.field(node, "name")?;
        let result = self.field(node, "type").filter(|t| t.kind() != "void_type").map(|t| {
            let ty = self.ty(t);
            self.with_dimensions(ty, node)
        });
        let constructor = node.kind() == "constructor_declaration";
        let body = self.field(node, "body");
        let type_params = self.field(node, "type_parameters").map_or_else(Vec::new, |p| self.type_params(p));
        Some(JavaMethod {
            name: if constructor { CONSTRUCTOR.to_owned() } else { self.text(name).to_owned() },
            params: self.field(node, "parameters").map_or_else(Vec::new, |p| self.params(p)),
            result,
            modifiers: self.modifiers(node),
            type_params,
            body: body.map(|b| self.block(b)),
            span: self.span(node),
            name_span: self.span(name),
            body_span: body.map_or(self.span(node), |b| self.span(b)),
        })
    }

    pub(super) fn params(&self, node: Node) -> Vec<JavaParam> {
        self.named(node)
            .into_iter()
            .filter_map(|p| {
                let span = self.span(p);
                match p.kind() {
                    "formal_parameter" => {
                        let ty = self.ty(self.field(p, "type")?);
                        let name = self.text(self.field(p, "name")?).to_owned();
                        Some(JavaParam { name, ty: self.with_dimensions(ty, p), span })
                    }
                    "spread_parameter" => {
                        let kind = JavaTypeKind::Named("...".into(), Vec::new());
                        Some(JavaParam { name: "...".into(), ty: JavaType { kind, span }, span })
                    }
                    "identifier" => {
                        let kind = JavaTypeKind::Named("var".into(), Vec::new());
                        Some(JavaParam { name: self.text(p).to_owned(), ty: JavaType { kind, span }, span })
                    }
                    _ => None,
                }
            })
            .collect()
    }

    pub(super) fn ty(&self, node: Node) -> JavaType {
        let span = self.span(node);
        let kind = match node.kind() {
            "boolean_type" => JavaTypeKind::Boolean,
            "floating_point_type" => JavaTypeKind::Real,
            "integral_type" => match self.text(node) {
                "byte" => JavaTypeKind::Byte,
                "short" => JavaTypeKind::Short,
                "char" => JavaTypeKind::Char,
                "long" => JavaTypeKind::Long,
                _ => JavaTypeKind::Int,
            },
            "array_type" => {
                let mut ty =
                    self.field(node, "element").map_or(JavaType { kind: JavaTypeKind::Real, span }, |e| self.ty(e));
                let count = self.field(node, "dimensions").map_or(1, |d| self.text(d).matches('[').count());
                for _ in 0..count {
                    ty = JavaType { span, kind: JavaTypeKind::Array(Box::new(ty)) };
                }
                return ty;
            }
            "generic_type" => {
                let parts = self.named(node);
                let name = parts.first().map_or("", |n| self.last_part(*n)).to_owned();
                let args = parts
                    .iter()
                    .find(|n| n.kind() == "type_arguments")
                    .map_or_else(Vec::new, |a| self.named(*a).into_iter().map(|t| self.ty(t)).collect());
                JavaTypeKind::Named(name, args)
            }
            "annotated_type" => {
                return self.named(node).last().map_or(JavaType { kind: JavaTypeKind::Real, span }, |t| self.ty(*t));
            }
            _ => JavaTypeKind::Named(self.last_part(node).to_owned(), Vec::new()),
        };
        JavaType { kind, span }
    }

    fn last_part(&self, node: Node) -> &'a str {
        self.text(node).rsplit('.').next().unwrap_or("").trim()
    }
}
