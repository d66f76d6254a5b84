//! Declarations: specifiers, declarators, records, enumerations, typedefs, storage (C11 6.7).
//!
//! In: parser declarations. Out: types, variables, and the statements that bring locals to life.

use super::*;
use crate::c::normalise;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StorageSpecifier {
    None,
    Typedef,
    Extern,
    Static,
}

pub(super) struct Specifiers {
    pub ty: CType,
    pub class: StorageSpecifier,
    pub(crate) thread_local: bool,
    /// The type is that of the initialiser.
    pub(crate) auto_type: bool,
    pub(super) noreturn: bool,
    /// `const` stands among them: what is declared is constant unless it is a pointer.
    constant: bool,
    guarded_by: Option<String>,
}

/// Whether attributes say that a function does not return.
pub(super) fn never_returns(extensions: &[Node<c::Extension>]) -> bool {
    let says = |e: &Node<c::Extension>| matches!(&e.node, c::Extension::Attribute(a) if a.name.node.trim_matches('_') == "noreturn");
    extensions.iter().any(says)
}

/// The name a declarator gives.
pub(super) fn declared_name(declarator: &c::Declarator) -> Option<&str> {
    match &declarator.kind.node {
        c::DeclaratorKind::Abstract => None,
        c::DeclaratorKind::Identifier(i) => Some(&i.node.name),
        c::DeclaratorKind::Declarator(d) => declared_name(&d.node),
    }
}

fn node_tag(node: &Node<c::StructType>) -> Option<String> {
    node.node.identifier.as_ref().map(|i| i.node.name.clone())
}

/// Whether a definition is `inline`: each file then has its own.
pub(super) fn is_inline(list: &[Node<c::DeclarationSpecifier>]) -> bool {
    list.iter()
        .any(|s| matches!(&s.node, c::DeclarationSpecifier::Function(f) if f.node == c::FunctionSpecifier::Inline))
}

/// The parameter names of a function definition's declarator.
pub(super) fn parameter_names(declarator: &c::Declarator) -> Vec<Option<String>> {
    // The innermost declarator that names the function holds its own parameter list.
    if let c::DeclaratorKind::Declarator(inner) = &declarator.kind.node {
        let names = parameter_names(&inner.node);
        if !names.is_empty() {
            return names;
        }
    }
    for derived in &declarator.derived {
        match &derived.node {
            c::DerivedDeclarator::Function(f) => {
                return f
                    .node
                    .parameters
                    .iter()
                    .map(|p| p.node.declarator.as_ref().and_then(|d| declared_name(&d.node)).map(str::to_string))
                    .filter({
                        let only_void = f.node.parameters.len() == 1 && f.node.parameters[0].node.declarator.is_none();
                        move |n| n.is_some() || !only_void
                    })
                    .collect();
            }
            c::DerivedDeclarator::KRFunction(names) => {
                return names.iter().map(|n| Some(n.node.name.clone())).collect();
            }
            _ => {}
        }
    }
    Vec::new()
}

/// The specifiers of a basic type, counted.
#[derive(Default)]
struct DeclarationSpecifiers {
    long: u32,
    short: bool,
    unsigned: bool,
    signed: bool,
    char: bool,
    int: bool,
    float: bool,
    double: bool,
    complex: bool,
}

/// The attribute that makes a type another one, if there is one.
fn other_type(extensions: &[Node<c::Extension>]) -> Option<&str> {
    extensions.iter().find_map(|e| match &e.node {
        c::Extension::Attribute(a) => Some(a.name.node.trim_matches('_'))
            .filter(|n| matches!(*n, "mode" | "vector_size" | "scalar_storage_order" | "ms_struct")),
        _ => None,
    })
}

/// The layout that attributes ask for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LayoutAttributes {
    pub packed: bool,
    pub align: u64,
}

impl Converter<'_> {
    pub(super) fn specifiers(&mut self, list: &[Node<c::DeclarationSpecifier>]) -> Specifiers {
        let mut types = Vec::new();
        let mut quals = Qualifiers::default();
        let (mut class, mut thread_local, mut guarded_by) = (StorageSpecifier::None, false, None);
        let (mut noreturn, mut constant) = (false, false);
        let mut span = Span::new(self.pre.main, 0, 0);
        self.next_shape = LayoutAttributes::default();
        for item in list {
            if let c::DeclarationSpecifier::Extension(e) = &item.node {
                self.shape(e);
            }
        }
        for item in list {
            span = self.span(item);
            match &item.node {
                c::DeclarationSpecifier::StorageClass(s) => match s.node {
                    c::StorageClassSpecifier::Typedef => class = StorageSpecifier::Typedef,
                    c::StorageClassSpecifier::Extern => class = StorageSpecifier::Extern,
                    c::StorageClassSpecifier::Static => class = StorageSpecifier::Static,
                    c::StorageClassSpecifier::ThreadLocal => thread_local = true,
                    c::StorageClassSpecifier::Auto | c::StorageClassSpecifier::Register => {}
                },
                c::DeclarationSpecifier::TypeSpecifier(t) => types.push(t),
                c::DeclarationSpecifier::TypeQualifier(q) => {
                    constant |= q.node == c::TypeQualifier::Const;
                    qualify(&mut quals, &q.node);
                }
                c::DeclarationSpecifier::Extension(e) => {
                    noreturn |= never_returns(e);
                    guarded_by = guarded_by.or(self.guarded_by(e));
                }
                c::DeclarationSpecifier::Function(f) => noreturn |= f.node == c::FunctionSpecifier::Noreturn,
                c::DeclarationSpecifier::Alignment(_) => {}
            }
        }
        let auto_type =
            types.iter().any(|t| matches!(&t.node, c::TypeSpecifier::TypedefName(n) if n.node.name == normalise::AUTO));
        let ty = self.base_type(&types, span).qualified(quals);
        Specifiers { ty, class, thread_local, auto_type, noreturn, constant, guarded_by }
    }

    fn qualifier_list(&mut self, list: &[Node<c::SpecifierQualifier>]) -> CType {
        let mut types = Vec::new();
        let mut quals = Qualifiers::default();
        let mut span = Span::new(self.pre.main, 0, 0);
        self.next_shape = LayoutAttributes::default();
        for item in list {
            span = self.span(item);
            if let c::SpecifierQualifier::Extension(e) = &item.node {
                self.shape(e);
            }
            match &item.node {
                c::SpecifierQualifier::TypeSpecifier(t) => types.push(t),
                c::SpecifierQualifier::TypeQualifier(q) => qualify(&mut quals, &q.node),
                c::SpecifierQualifier::Extension(_) => {}
            }
        }
        self.base_type(&types, span).qualified(quals)
    }

    pub(super) fn type_name(&mut self, name: &Node<c::TypeName>) -> CType {
        let base = self.qualifier_list(&name.node.specifiers);
        match &name.node.declarator {
            Some(d) => self.declarator(d, base).1,
            None => base,
        }
    }

    fn base_type(&mut self, list: &[&Node<c::TypeSpecifier>], span: Span) -> CType {
        let mut specifiers = DeclarationSpecifiers::default();
        for item in list {
            match &item.node {
                c::TypeSpecifier::Void => return self.types.void(),
                c::TypeSpecifier::Bool => return self.types.int(Int::Bool),
                c::TypeSpecifier::Char => specifiers.char = true,
                c::TypeSpecifier::Short => specifiers.short = true,
                c::TypeSpecifier::Int => specifiers.int = true,
                c::TypeSpecifier::Long => specifiers.long += 1,
                c::TypeSpecifier::Float => specifiers.float = true,
                c::TypeSpecifier::Double => specifiers.double = true,
                c::TypeSpecifier::Signed => specifiers.signed = true,
                c::TypeSpecifier::Unsigned => specifiers.unsigned = true,
                c::TypeSpecifier::Complex => specifiers.complex = true,
                c::TypeSpecifier::Atomic(name) => {
                    let inner = self.type_name(name);
                    return inner.qualified(Qualifiers { atomic: true, volatile: false });
                }
                c::TypeSpecifier::Struct(s) => return self.record_type(s),
                c::TypeSpecifier::Enum(e) => return self.enum_type(e),
                c::TypeSpecifier::TypedefName(n) => return self.typedef_type(&n.node.name, span),
                c::TypeSpecifier::TypeOf(t) => {
                    return match &t.node {
                        c::TypeOf::Type(name) => self.type_name(name),
                        c::TypeOf::Expression(e) => self.type_of(e),
                    };
                }
                c::TypeSpecifier::TS18661Float(f) => {
                    let bytes = (f.width as u64 / 8).max(4);
                    return self.types.intern(CTypeKind::Float(bytes));
                }
            }
        }
        if specifiers.complex {
            return self.types.intern(CTypeKind::Unknown("complex number".into()));
        }
        if specifiers.float || specifiers.double {
            let bytes = match (specifiers.float, specifiers.long) {
                (true, _) => 4,
                (_, 0) => 8,
                // The ten bytes of the processor's own format, padded to its specifiers.
                _ if self.types.model == DataModel::Ilp32 => 12,
                _ => 16,
            };
            return self.types.intern(CTypeKind::Float(bytes));
        }
        let int = match (specifiers.char, specifiers.short, specifiers.long) {
            (true, _, _) => Int::Char,
            (_, true, _) => Int::Short,
            (_, _, 0) => Int::Int,
            (_, _, 1) => Int::Long,
            _ => Int::LongLong,
        };
        self.types.int(if specifiers.unsigned { int.to_unsigned() } else { int })
    }

    fn typedef_type(&mut self, name: &str, span: Span) -> CType {
        let long = self.types.model == DataModel::Lp64;
        // The fixed widths are known by name, so that headers of the other data model do no harm.
        let fixed = match name {
            "int8_t" | "__int8_t" => Some(Int::Char),
            "uint8_t" | "__uint8_t" => Some(Int::UChar),
            "int16_t" | "__int16_t" => Some(Int::Short),
            "uint16_t" | "__uint16_t" => Some(Int::UShort),
            "int32_t" | "__int32_t" => Some(Int::Int),
            "uint32_t" | "__uint32_t" => Some(Int::UInt),
            "int64_t" | "__int64_t" => Some(if long { Int::Long } else { Int::LongLong }),
            "uint64_t" | "__uint64_t" => Some(if long { Int::ULong } else { Int::ULongLong }),
            normalise::INT128 => Some(Int::Int128),
            normalise::UINT128 => Some(Int::UInt128),
            _ => None,
        };
        if let Some(int) = fixed
            && !self.scopes.iter().skip(1).any(|s| s.names.contains_key(name))
        {
            return self.types.int(int);
        }
        if let Some(opaque) = Opaque::of_typedef(name)
            && !self.own_library
        {
            return self.types.intern(CTypeKind::Opaque(opaque));
        }
        match self.lookup(name) {
            Some(Name::Typedef(ty)) => *ty,
            _ if name == "__builtin_va_list" => self.types.intern(CTypeKind::VarArgs),
            _ => {
                self.error(UNDECLARED, span, format!("there is no type `{name}`"));
                self.types.intern(CTypeKind::Unknown(format!("undeclared type `{name}`")))
            }
        }
    }

    /// The alignment that an attribute asks for.
    fn alignment(&self, extensions: &[Node<c::Extension>]) -> u64 {
        let asked = extensions.iter().filter_map(|e| match &e.node {
            c::Extension::Attribute(a) if a.name.node.trim_matches('_') == "aligned" => {
                let constant = a.arguments.first().and_then(|e| match &e.node {
                    c::Expression::Constant(k) => match &k.node {
                        c::Constant::Integer(i) => i.number.parse().ok(),
                        _ => None,
                    },
                    _ => None,
                });
                // Without a number it is the largest that the machine knows.
                Some(constant.unwrap_or(16))
            }
            _ => None,
        });
        asked.max().unwrap_or(0)
    }

    /// What attributes beside a struct say of its layout.
    fn shape(&mut self, extensions: &[Node<c::Extension>]) {
        let is = |e: &Node<c::Extension>, name: &str| matches!(&e.node, c::Extension::Attribute(a) if a.name.node.trim_matches('_') == name);
        self.next_shape = LayoutAttributes {
            packed: self.next_shape.packed || extensions.iter().any(|e| is(e, "packed")),
            align: self.next_shape.align.max(self.alignment(extensions)),
        };
        self.refuse(extensions);
    }

    /// Attributes that change what the program does, and are not modelled.
    fn refuse(&mut self, extensions: &[Node<c::Extension>]) {
        for e in extensions {
            if let c::Extension::Attribute(a) = &e.node
                && matches!(a.name.node.trim_matches('_'), "cleanup" | "ifunc" | "alias")
            {
                let span = self.span(e);
                self.error(TYPE_ERROR, span, format!("the attribute `{}` is not modelled", a.name.node));
            }
        }
    }

    fn record_type(&mut self, node: &Node<c::StructType>) -> CType {
        // Of this struct, not of those inside it.
        let shape = std::mem::take(&mut self.next_shape);
        let kind = match node.node.kind.node {
            c::StructKind::Struct => RecordKind::Struct,
            c::StructKind::Union => RecordKind::Union,
        };
        let tag = node.node.identifier.as_ref().map(|i| i.node.name.clone());
        let known = match (&tag, &node.node.declarations) {
            (Some(tag), None) => self.lookup_tag(tag),
            // A body in an inner scope makes a new type unless this scope already has the tag.
            (Some(tag), Some(_)) => self.scope().tags.get(tag).copied(),
            (None, _) => None,
        };
        let carried = tag.as_ref().is_some_and(|t| self.first_mention(t));
        let id = match known {
            Some(Tag::Record(id)) => id,
            _ => {
                let record = CRecord { kind, tag: tag.clone(), fields: None, size: 0, align: 1, packed: false };
                let id = self.types.records.push(record);
                if let Some(tag) = tag {
                    self.scope().tags.insert(tag, Tag::Record(id));
                }
                id
            }
        };
        let mut id = id;
        if let Some(declarations) = &node.node.declarations {
            let LayoutAttributes { packed, align } = shape;
            let mut fields = self.members(declarations);
            if carried && self.types.records[id].fields.is_some() {
                if self.has_members(id, &fields, packed) {
                    return self.types.intern(CTypeKind::Record(id));
                }
                // Another type that happens to have the tag of one in an earlier file.
                let record = CRecord { kind, tag: node_tag(node), fields: None, size: 0, align: 1, packed: false };
                id = self.types.records.push(record);
                if let Some(tag) = node_tag(node) {
                    self.scope().tags.insert(tag, Tag::Record(id));
                }
                fields = self.members(declarations);
            }
            if packed && fields.iter().any(|f| f.bits.is_some()) {
                self.error(TYPE_ERROR, self.span(node), "bit-fields of a packed struct are not modelled");
            }
            self.types.complete(id, fields, packed, align);
            if node.node.identifier.is_none() {
                id = self.untagged(self.span(node), id, packed);
            }
        }
        self.types.intern(CTypeKind::Record(id))
    }

    fn members(&mut self, declarations: &[Node<c::StructDeclaration>]) -> Vec<CField> {
        let mut fields = Vec::new();
        for declaration in declarations {
            match &declaration.node {
                c::StructDeclaration::Field(f) => self.fields(f, &mut fields),
                c::StructDeclaration::StaticAssert(s) => self.static_assert(s),
            }
        }
        fields
    }

    fn fields(&mut self, node: &Node<c::StructField>, fields: &mut Vec<CField>) {
        let base = self.qualifier_list(&node.node.specifiers);
        let asked = node.node.specifiers.iter().map(|s| match &s.node {
            c::SpecifierQualifier::Extension(e) => self.alignment(e),
            _ => 0,
        });
        let asked = asked.max().unwrap_or(0);
        let span = self.span(node);
        if node.node.declarators.is_empty() && self.types.record(base).is_some() {
            fields.push(CField { name: String::new(), ty: base, offset: 0, bits: None, run: 0, align: 0, span });
        }
        for declarator in &node.node.declarators {
            let (name, ty) = match &declarator.node.declarator {
                Some(d) => self.declarator(d, base),
                None => (None, base),
            };
            let bits = declarator.node.bit_width.as_ref().and_then(|w| {
                let width = self.value(w);
                width.as_const().and_then(|v| u32::try_from(v).ok())
            });
            let span = self.span(declarator);
            if name.is_none() && bits.is_none() {
                continue;
            }
            // An unnamed bit-field is padding: it is laid out and can never be named.
            let name = name.unwrap_or_else(|| "<padding>".into());
            let mut align = asked;
            if let Some(d) = &declarator.node.declarator {
                align = align.max(self.alignment(&d.node.extensions));
            }
            fields.push(CField { name, ty, offset: 0, bits, run: 0, align, span });
        }
    }

    fn enum_type(&mut self, node: &Node<c::EnumType>) -> CType {
        let tag = node.node.identifier.as_ref().map(|i| i.node.name.clone());
        if node.node.enumerators.is_empty() {
            if let Some(tag) = &tag
                && let Some(Tag::Enum(ty)) = self.lookup_tag(tag)
            {
                return ty;
            }
            return self.types.int(Int::UInt);
        }
        let mut next = 0i128;
        let mut negative = false;
        for enumerator in &node.node.enumerators {
            if let Some(e) = &enumerator.node.expression {
                let value = self.value(e);
                match value.as_const() {
                    Some(v) => next = v,
                    None => self.error(NOT_CONSTANT, value.span, "an enumerator needs a constant value"),
                }
            }
            negative |= next < 0;
            let name = enumerator.node.identifier.node.name.clone();
            self.bind(&name, Name::Enumerator(next));
            next += 1;
        }
        let ty = self.types.int(if negative { Int::Int } else { Int::UInt });
        if let Some(tag) = tag {
            self.scope().tags.insert(tag, Tag::Enum(ty));
        }
        ty
    }

    /// Applies a declarator to a base type: the name, if any, and the whole type.
    pub(super) fn declarator(&mut self, node: &Node<c::Declarator>, base: CType) -> (Option<String>, CType) {
        let mut ty = base;
        for derived in &node.node.derived {
            if let c::DerivedDeclarator::Pointer(quals) = &derived.node {
                let mut own = Qualifiers::default();
                for q in quals {
                    if let c::PointerQualifier::TypeQualifier(q) = &q.node {
                        qualify(&mut own, &q.node);
                    }
                }
                ty = self.types.pointer(ty).qualified(own);
            }
        }
        let outermost = node.node.derived.iter().position(|d| matches!(d.node, c::DerivedDeclarator::Array(_)));
        for (at, derived) in node.node.derived.iter().enumerate().rev() {
            ty = match &derived.node {
                c::DerivedDeclarator::Pointer(_) => ty,
                c::DerivedDeclarator::Array(a) => {
                    let mut size = None;
                    let length = match &a.node.size {
                        c::ArraySize::Unknown | c::ArraySize::VariableUnknown => None,
                        c::ArraySize::VariableExpression(e) | c::ArraySize::StaticExpression(e) => {
                            let value = self.value(e);
                            let length = value.as_const().and_then(|v| u64::try_from(v).ok());
                            size = Some(value);
                            length
                        }
                    };
                    let variable = matches!(
                        (&a.node.size, length),
                        (c::ArraySize::VariableExpression(_) | c::ArraySize::StaticExpression(_), None)
                    );
                    let plain = matches!(node.node.kind.node, c::DeclaratorKind::Identifier(_));
                    if variable && plain && outermost == Some(at) && self.types.size(ty).is_some() {
                        self.length = size;
                        self.types.intern(CTypeKind::Array(ty, None))
                    } else if variable {
                        self.types.intern(CTypeKind::Unknown("array of variable length".into()))
                    } else {
                        self.types.intern(CTypeKind::Array(ty, length))
                    }
                }
                c::DerivedDeclarator::Function(f) => {
                    let (params, arity) = self.parameters(&f.node);
                    self.types.intern(CTypeKind::Function(Signature { result: ty.unqualified(), params, arity }))
                }
                c::DerivedDeclarator::KRFunction(_) => self.types.intern(CTypeKind::Function(Signature {
                    result: ty.unqualified(),
                    params: Vec::new(),
                    arity: Arity::Unknown,
                })),
                c::DerivedDeclarator::Block(_) => self.types.intern(CTypeKind::Unknown("block pointer".into())),
            };
        }
        if let Some(name) = other_type(&node.node.extensions) {
            ty = self.types.intern(CTypeKind::Unknown(format!("a type with the attribute `{name}`")));
        }
        self.refuse(&node.node.extensions);
        match &node.node.kind.node {
            c::DeclaratorKind::Abstract => (None, ty),
            c::DeclaratorKind::Identifier(i) => (Some(i.node.name.clone()), ty),
            c::DeclaratorKind::Declarator(inner) => self.declarator(inner, ty),
        }
    }

    fn parameters(&mut self, function: &c::FunctionDeclarator) -> (Vec<CType>, Arity) {
        let mut params = Vec::new();
        self.scopes.push(NameScope::default());
        for p in &function.parameters {
            let base = self.specifiers(&p.node.specifiers).ty;
            let (name, ty) = match &p.node.declarator {
                Some(d) => self.declarator(d, base),
                None => (None, base),
            };
            let ty = self.parameter_type(ty);
            params.push(ty);
            // The lengths of later arrays may name it; it is no variable of the function yet.
            if let (Some(name), CTypeKind::Int(_)) = (name, self.types.kind(ty)) {
                let variable = self.variables.push(Variable {
                    name: name.clone(),
                    ty,
                    span: self.span(p),
                    storage: Storage::Parameter,
                    address_taken: false,
                    init: None,
                    external: false,
                    constant: false,
                    guarded_by: None,
                    length: None,
                });
                self.bind(&name, Name::Var(variable));
            }
        }
        self.length = None;
        self.scopes.pop();
        let arity = if function.ellipsis == c::Ellipsis::Some {
            Arity::AtLeast
        } else if function.parameters.is_empty() {
            Arity::Unknown
        } else {
            Arity::Fixed
        };
        if params.len() == 1 && self.types.is_void(params[0]) {
            params.clear();
        }
        (params, arity)
    }

    /// Arrays and functions as parameters are pointers (C11 6.7.6.3).
    fn parameter_type(&mut self, ty: CType) -> CType {
        match self.types.kind(ty).clone() {
            CTypeKind::Array(of, _) => self.types.pointer(of),
            CTypeKind::Function(_) => self.types.pointer(ty),
            CTypeKind::Unknown(why) if why.contains("variable length") => {
                let void = self.types.void();
                self.types.pointer(void)
            }
            _ => ty,
        }
    }

    pub(super) fn old_style_types(&mut self, list: &[Node<c::Declaration>]) -> FxHashMap<String, CType> {
        let mut found = FxHashMap::default();
        for declaration in list {
            let base = self.specifiers(&declaration.node.specifiers).ty;
            for d in &declaration.node.declarators {
                let (name, ty) = self.declarator(&d.node.declarator, base);
                let ty = self.parameter_type(ty);
                found.insert(name.unwrap_or_default(), ty);
            }
        }
        found
    }

    /// The mutex of a `guarded_by` attribute, as written.
    fn guarded_by(&self, extensions: &[Node<c::Extension>]) -> Option<String> {
        extensions.iter().find_map(|e| match &e.node {
            c::Extension::Attribute(a) if matches!(a.name.node.trim_matches('_'), "guarded_by" | "pt_guarded_by") => {
                let argument = a.arguments.first()?;
                self.norm.text.get(argument.span.start..argument.span.end).map(|t| t.trim().to_string())
            }
            _ => None,
        })
    }

    /// A declaration; in a function, the statements it runs.
    pub(super) fn declaration(&mut self, node: &Node<c::Declaration>) -> Vec<Stmt> {
        let specifiers = self.specifiers(&node.node.specifiers);
        let mut statements = Vec::new();
        for item in &node.node.declarators {
            let span = self.span(&item.node.declarator);
            self.length = None;
            let (name, ty) = self.declarator(&item.node.declarator, specifiers.ty);
            let length = self.length.take();
            let Some(name) = name else { continue };
            if specifiers.class == StorageSpecifier::Typedef {
                self.bind(&name, Name::Typedef(ty));
                continue;
            }
            if specifiers.class == StorageSpecifier::Static && self.at_file_scope() {
                self.keep_internal(&name);
            }
            if let CTypeKind::Function(signature) = self.types.kind(ty).clone() {
                let id = self.function(&name, &signature, span);
                self.functions[id].noreturn |=
                    specifiers.noreturn || never_returns(&item.node.declarator.node.extensions);
                if !self.at_file_scope() {
                    self.bind(&name, Name::Function(id));
                }
                continue;
            }
            let guarded_by = self.guarded_by(&item.node.declarator.node.extensions).or(specifiers.guarded_by.clone());
            self.object(&name, ty, span, &specifiers, item, guarded_by, &mut statements);
            let local = |s: &Stmt| matches!(s.kind, CStmtKind::Declare(..));
            if let (Some(length), Some(at)) = (length, statements.iter().rposition(local))
                && let CStmtKind::Declare(var, None) = statements[at].kind
            {
                // The length is that of the moment, whatever becomes of the variables it is computed from.
                let size = self.types.size_type();
                let kept = self.variable("", size, span, Storage::Local);
                let length = self.cast(length, size, span);
                let declared = CStmtKind::Declare(kept, Some(Init::Value(length)));
                statements.insert(at, Stmt { kind: declared, span });
                let place = LValue { kind: PlaceKind::Var(kept), ty: size, span };
                self.variables[var].length = Some(Box::new(self.load(place, span)));
                // What was said of its missing size is not needed.
                statements.retain(|s| !(s.span == span && matches!(s.kind, CStmtKind::Unmodelled(_))));
            }
        }
        statements
    }

    #[allow(clippy::too_many_arguments)] // One call site; a record of the arguments would only rename them.
    fn object(
        &mut self,
        name: &str,
        mut ty: CType,
        span: Span,
        specifiers: &Specifiers,
        item: &Node<c::InitDeclarator>,
        guarded_by: Option<String>,
        statements: &mut Vec<Stmt>,
    ) {
        if specifiers.auto_type
            && let Some(Node { node: c::Initializer::Expression(e), .. }) = &item.node.initializer
        {
            ty = self.type_of(e).unqualified();
            // As any value: an array becomes the address of its first element.
            if let CTypeKind::Array(of, _) = *self.types.kind(ty) {
                ty = self.types.pointer(of);
            }
        }
        let storage = match (self.at_file_scope(), specifiers.class, specifiers.thread_local) {
            (_, _, true) => Storage::ThreadLocal,
            (true, _, _) | (_, StorageSpecifier::Static | StorageSpecifier::Extern, _) => Storage::Static,
            _ => Storage::Local,
        };
        let external = specifiers.class == StorageSpecifier::Extern && item.node.initializer.is_none();
        // A repeated file-scope declaration is the same object.
        let file_level = self.at_file_scope() || specifiers.class == StorageSpecifier::Extern;
        let known = match self.linked_name(name) {
            Some(Name::Var(v)) if file_level => Some(v),
            _ => None,
        };
        let var = match known {
            Some(v) => {
                let (there, place) = (self.variables[v].ty, self.variables[v].span);
                self.same_type(name, ty, there, place, span);
                if self.variables[v].init.is_some() && item.node.initializer.is_some() {
                    let other = self.sources.place(place);
                    self.error(REDECLARED, span, format!("`{name}` has two initial values, one at {other}"));
                }
                let old = &mut self.variables[v];
                if matches!(self.types.kind(old.ty), CTypeKind::Array(_, None)) {
                    old.ty = ty;
                }
                old.external &= external;
                if !self.at_file_scope() {
                    self.bind(name, Name::Var(v));
                }
                v
            }
            None => {
                let v = self.variable(name, ty, span, storage);
                self.variables[v].external = external;
                if specifiers.class == StorageSpecifier::Extern && !self.at_file_scope() {
                    self.scopes[0].names.insert(name.to_string(), Name::Var(v));
                }
                v
            }
        };
        if guarded_by.is_some() {
            self.variables[var].guarded_by = guarded_by;
        }
        let derived = &item.node.declarator.node;
        let plain = matches!(derived.kind.node, c::DeclaratorKind::Identifier(_))
            && !derived.derived.iter().any(|d| matches!(d.node, c::DerivedDeclarator::Pointer(_)));
        self.variables[var].constant |= specifiers.constant && plain && !external;
        let init = item.node.initializer.as_ref().map(|i| {
            let (init, completed) = self.initializer(i, ty);
            self.variables[var].ty = completed;
            init
        });
        match storage {
            Storage::Static | Storage::ThreadLocal => {
                if init.is_some() {
                    self.variables[var].init = init;
                }
            }
            Storage::Local | Storage::Parameter => {
                if self.types.size(self.variables[var].ty).is_none() {
                    let shown = self.types.show(self.variables[var].ty);
                    statements.push(Stmt {
                        kind: CStmtKind::Unmodelled(format!("`{name}` has a type that is not modelled: {shown}")),
                        span,
                    });
                }
                statements.push(Stmt { kind: CStmtKind::Declare(var, init), span });
            }
        }
    }
}

fn qualify(quals: &mut Qualifiers, q: &c::TypeQualifier) {
    match q {
        c::TypeQualifier::Atomic => quals.atomic = true,
        c::TypeQualifier::Volatile => quals.volatile = true,
        _ => {}
    }
}
