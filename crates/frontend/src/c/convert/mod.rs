//! From the parser's tree to the typed tree: scopes, external declarations, and the bookkeeping the rest shares.
//!
//! In: a `lang_c` translation unit over normalised text. Out: `ast::Unit` and diagnostics with places in the
//! user's file. Types are in `decl`, expressions in `expr` and `operators`, statements in `stmt`, initialisers in
//! `init`. A construct outside the model becomes an unmodelled node, never nothing.

mod decl;
mod expr;
mod init;
mod link;
mod literal;
mod operators;
mod startup;
mod stmt;

use super::ast::*;
use super::normalise::Normalised;
use super::preprocess::Preprocessed;
use super::types::*;
use base::{Diagnostic, DiagnosticCode, IdVec, Sources, Span};
use lang_c::ast as c;
use lang_c::span::Node;
use rustc_hash::FxHashMap;

pub(crate) const SYNTAX: DiagnosticCode = DiagnosticCode("C0100");
pub(crate) const UNDECLARED: DiagnosticCode = DiagnosticCode("C0101");
pub(crate) const TYPE_ERROR: DiagnosticCode = DiagnosticCode("C0102");
pub(crate) const NOT_CONSTANT: DiagnosticCode = DiagnosticCode("C0103");
pub(crate) const REDECLARED: DiagnosticCode = DiagnosticCode("C0104");

/// What an ordinary name means in a scope.
#[derive(Clone, Debug)]
enum Name {
    Var(VarId),
    Function(FnId),
    Typedef(CType),
    Enumerator(i128),
}

#[derive(Clone, Copy, Debug)]
enum Tag {
    Record(RecordId),
    Enum(CType),
}

#[derive(Default)]
struct NameScope {
    names: FxHashMap<String, Name>,
    tags: FxHashMap<String, Tag>,
}

/// The state of a conversion.
pub(super) struct Converter<'a> {
    sources: &'a Sources,
    pre: &'a Preprocessed,
    norm: &'a Normalised,
    types: CTypes,
    variables: IdVec<VarId, Variable>,
    functions: IdVec<FnId, CFunction>,
    texts: IdVec<TextId, Vec<u8>>,
    globals: Vec<VarId>,
    scopes: Vec<NameScope>,
    labels: IdVec<LabelId, String>,
    result: Option<CType>,
    function_name: String,
    pub diagnostics: Vec<Diagnostic>,
    /// Thread functions defined in the file itself: then the library's types are ordinary ones.
    own_library: bool,
    /// What attributes say of the struct that comes next.
    next_shape: decl::LayoutAttributes,
    /// The length of the array of variable length that was just declared.
    length: Option<Expr>,
    earlier: link::EarlierFiles,
}

/// A file that was parsed.
pub(super) struct ParsedFile {
    pub pre: Preprocessed,
    pub(crate) norm: Normalised,
    pub unit: c::TranslationUnit,
}

/// Converts the parsed files of a program, of which there is at least one.
pub(super) fn convert(sources: &Sources, files: &[ParsedFile], model: DataModel) -> (Unit, Vec<Diagnostic>) {
    let mut converter = Converter {
        sources,
        pre: &files[0].pre,
        norm: &files[0].norm,
        types: CTypes::new(model),
        variables: IdVec::new(),
        functions: IdVec::new(),
        texts: IdVec::new(),
        globals: Vec::new(),
        scopes: vec![NameScope::default()],
        labels: IdVec::new(),
        result: None,
        function_name: String::new(),
        diagnostics: Vec::new(),
        own_library: files.iter().any(|f| defines(&f.unit, "pthread_mutex_lock")),
        next_shape: decl::LayoutAttributes::default(),
        length: None,
        earlier: link::EarlierFiles::default(),
    };
    let mut by_themselves = startup::Automatic::default();
    for (number, file) in files.iter().enumerate() {
        if number > 0 {
            converter.begin_file(&file.pre, &file.norm);
        }
        for item in &file.unit.0 {
            converter.external(item);
        }
        converter.find_automatic(&file.unit, &mut by_themselves);
    }
    converter.run_automatic(by_themselves);
    let char_type = converter.types.int(Int::Char);
    let Converter { types, variables, functions, texts, globals, diagnostics, .. } = converter;
    (
        Unit {
            types,
            variables,
            functions,
            texts,
            char_type,
            globals,
            specs: Vec::new(),
            machines: Vec::new(),
            follows: Vec::new(),
            performs: Vec::new(),
        },
        diagnostics,
    )
}

fn defines(unit: &c::TranslationUnit, name: &str) -> bool {
    unit.0.iter().any(|item| match &item.node {
        c::ExternalDeclaration::FunctionDefinition(f) => {
            decl::declared_name(&f.node.declarator.node).is_some_and(|n| n == name)
        }
        _ => false,
    })
}

impl Converter<'_> {
    fn span<T>(&self, node: &Node<T>) -> Span {
        if node.span.is_none() {
            return Span::new(self.pre.main, 0, 0);
        }
        let (start, end) = (self.norm.old(node.span.start), self.norm.old(node.span.end));
        self.pre.span(self.sources, start, end.max(start))
    }
    fn error(&mut self, code: DiagnosticCode, span: Span, message: impl Into<String>) {
        // One mistake often shows at several nodes of one place: say it once.
        let message = message.into();
        if !self.diagnostics.iter().any(|d| d.span == span && d.code == code) {
            self.diagnostics.push(Diagnostic::error(code, span, message));
        }
    }
    fn lookup(&self, name: &str) -> Option<&Name> {
        self.scopes.iter().rev().find_map(|s| s.names.get(name))
    }
    fn lookup_tag(&self, name: &str) -> Option<Tag> {
        self.scopes.iter().rev().find_map(|s| s.tags.get(name)).copied()
    }
    fn scope(&mut self) -> &mut NameScope {
        self.scopes.last_mut().expect("the file scope is never left")
    }
    fn bind(&mut self, name: &str, meaning: Name) {
        self.scope().names.insert(name.to_string(), meaning);
    }
    fn at_file_scope(&self) -> bool {
        self.scopes.len() == 1
    }

    fn external(&mut self, item: &Node<c::ExternalDeclaration>) {
        match &item.node {
            c::ExternalDeclaration::Declaration(d) => {
                self.declaration(d);
            }
            c::ExternalDeclaration::StaticAssert(s) => self.static_assert(s),
            c::ExternalDeclaration::FunctionDefinition(f) => self.function_definition(f),
        }
    }

    fn static_assert(&mut self, assertion: &Node<c::StaticAssert>) {
        let value = self.value(&assertion.node.expression);
        match value.as_const() {
            Some(0) => self.error(TYPE_ERROR, value.span, "this static assertion fails"),
            Some(_) => {}
            None => self.error(NOT_CONSTANT, value.span, "a static assertion needs a constant"),
        }
    }

    /// The function of a name, made on first sight.
    fn function(&mut self, name: &str, signature: &Signature, span: Span) -> FnId {
        if let Some(Name::Function(id)) = self.linked_name(name) {
            let (place, result) = (self.functions[id].span, self.functions[id].result);
            self.same_type(name, signature.result, result, place, span);
            let params = self.functions[id].param_types.clone();
            if params.is_empty() {
                self.functions[id].param_types = signature.params.clone();
            } else if !signature.params.is_empty() && signature.params.len() != params.len() {
                if place.file != span.file {
                    let other = self.sources.place(place);
                    self.error(TYPE_ERROR, span, format!("`{name}` takes other parameters at {other}"));
                }
            } else {
                for (here, there) in signature.params.iter().zip(params) {
                    self.same_type(name, *here, there, place, span);
                }
            }
            return id;
        }
        let id = self.functions.push(CFunction {
            name: self.own_name(name),
            result: signature.result,
            params: Vec::new(),
            param_types: signature.params.clone(),
            variadic: signature.arity == Arity::AtLeast,
            body: None,
            labels: IdVec::new(),
            span,
            address_taken: false,
            noreturn: false,
        });
        self.scopes[0].names.insert(name.to_string(), Name::Function(id));
        id
    }

    fn function_definition(&mut self, f: &Node<c::FunctionDefinition>) {
        let span = self.span(&f.node.declarator);
        let specifiers = self.specifiers(&f.node.specifiers);
        let (name, ty) = self.declarator(&f.node.declarator, specifiers.ty);
        let CTypeKind::Function(signature) = self.types.kind(ty).clone() else {
            return self.error(TYPE_ERROR, span, "this is not a function, yet it has a body");
        };
        let name = name.unwrap_or_default();
        if specifiers.class == decl::StorageSpecifier::Static || decl::is_inline(&f.node.specifiers) {
            self.keep_internal(&name);
        }
        let id = self.function(&name, &signature, span);
        self.functions[id].noreturn |= specifiers.noreturn || decl::never_returns(&f.node.declarator.node.extensions);
        if self.functions[id].body.is_some() {
            let other = self.sources.place(self.functions[id].span);
            return self.error(REDECLARED, span, format!("`{name}` is defined twice, also at {other}"));
        }
        self.scopes.push(NameScope::default());
        let names = decl::parameter_names(&f.node.declarator.node);
        let mut kinds: Vec<CType> = signature.params.clone();
        let old_style = self.old_style_types(&f.node.declarations);
        kinds.resize_with(names.len().max(kinds.len()), || signature.result);
        let mut params = Vec::new();
        for (i, ty) in kinds.into_iter().enumerate() {
            let param = names.get(i).cloned().flatten().unwrap_or_default();
            let ty = if signature.params.len() > i {
                ty
            } else {
                old_style.get(&param).copied().unwrap_or(self.types.int(Int::Int))
            };
            let var = self.variable(&param, ty, span, Storage::Parameter);
            params.push(var);
        }
        let (result, function_name) = (self.result, std::mem::replace(&mut self.function_name, name));
        self.result = Some(signature.result);
        self.labels = IdVec::new();
        let body = self.block_body(&f.node.statement);
        self.scopes.pop();
        self.result = result;
        self.function_name = function_name;
        let labels = std::mem::take(&mut self.labels);
        let param_types = params.iter().map(|p| self.variables[*p].ty).collect();
        let function = &mut self.functions[id];
        function.param_types = param_types;
        function.result = signature.result;
        function.params = params;
        function.variadic = signature.arity == Arity::AtLeast;
        function.labels = labels;
        function.span = span;
        function.body = Some(body);
    }

    /// A new variable, bound in the current scope if it has a name.
    fn variable(&mut self, name: &str, ty: CType, span: Span, storage: Storage) -> VarId {
        let id = self.variables.push(Variable {
            name: name.to_string(),
            ty,
            span,
            storage,
            address_taken: false,
            init: None,
            external: false,
            constant: false,
            guarded_by: None,
            length: None,
        });
        if !name.is_empty() {
            self.bind(name, Name::Var(id));
        }
        if matches!(storage, Storage::Static | Storage::ThreadLocal) {
            self.globals.push(id);
        }
        id
    }
}
