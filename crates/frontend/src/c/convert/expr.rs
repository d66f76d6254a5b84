//! Expressions: places, values, calls, members, and the conversions C makes silently (C11 6.3, 6.5).
//!
//! In: parser expressions. Out: typed expressions in which a load, a decay and a conversion are nodes.

use super::*;
use crate::c::normalise;

impl Converter<'_> {
    /// The expression as a value: loaded, decayed, typed.
    pub(super) fn value(&mut self, node: &Node<c::Expression>) -> Expr {
        let span = self.span(node);
        match &node.node {
            c::Expression::Identifier(i) => self.name_value(&i.node.name, span),
            c::Expression::Constant(k) => self.constant(k),
            c::Expression::StringLiteral(s) => {
                let literal = self.string(s);
                let of = self.types.int(literal.wide.unwrap_or(Int::Char));
                let ty = self.types.pointer(of);
                match literal.bytes() {
                    Some(bytes) => Expr { kind: CExprKind::TextAddress(self.texts.push(bytes)), ty, span },
                    None => Expr::unmodelled("a wide string", ty, span),
                }
            }
            c::Expression::GenericSelection(g) => self.generic(g),
            c::Expression::Member(_) => {
                let place = self.place(node);
                self.load(place, span)
            }
            c::Expression::Call(call) => self.call(call, span),
            c::Expression::CompoundLiteral(_) => {
                let place = self.place(node);
                self.load(place, span)
            }
            c::Expression::SizeOfTy(t) => {
                let ty = self.type_name(&t.node.0);
                self.size_of(ty, span)
            }
            c::Expression::SizeOfVal(v) => {
                let name = match &v.node.0.node {
                    c::Expression::Identifier(i) if is_function_name(&i.node.name) => Some(self.function_name.len()),
                    _ => None,
                };
                if let Some(length) = name {
                    let size = self.types.size_type();
                    return Expr::constant(length as i128 + 1, size, span);
                }
                let ty = self.type_of(&v.node.0);
                self.measured_size(&v.node.0, ty, span).unwrap_or_else(|| self.size_of(ty, span))
            }
            c::Expression::AlignOf(t) => {
                let ty = self.type_name(&t.node.0);
                let align = self.types.align(ty);
                let size = self.types.size_type();
                Expr::constant(i128::from(align), size, span)
            }
            c::Expression::UnaryOperator(u) => self.unary(u, span),
            c::Expression::Cast(cast) => {
                let ty = self.type_name(&cast.node.type_name).unqualified();
                let value = self.value(&cast.node.expression);
                self.cast(value, ty, span)
            }
            c::Expression::BinaryOperator(b) => self.binary(node, b, span),
            c::Expression::Conditional(q) => self.conditional(&q.node, span),
            c::Expression::Comma(list) => {
                let mut values = list.iter().map(|e| self.value(e)).collect::<Vec<_>>().into_iter();
                let int = self.types.int(Int::Int);
                let first = values.next().unwrap_or(Expr::constant(0, int, span));
                values.fold(first, |left, right| {
                    let ty = right.ty;
                    Expr { kind: CExprKind::Comma(Box::new(left), Box::new(right)), ty, span }
                })
            }
            c::Expression::OffsetOf(o) => self.offset_of(&o.node, span),
            c::Expression::VaArg(v) => {
                let ty = self.type_name(&v.node.type_name).unqualified();
                let list = self.value(&v.node.va_list);
                Expr { kind: CExprKind::VaArg(Box::new(list)), ty, span }
            }
            c::Expression::Statement(s) => self.statement_expression(s, span),
        }
    }

    fn name_value(&mut self, name: &str, span: Span) -> Expr {
        match self.lookup(name).cloned() {
            Some(Name::Var(v)) => {
                let ty = self.variables[v].ty;
                self.load(LValue { kind: PlaceKind::Var(v), ty, span }, span)
            }
            Some(Name::Function(f)) => self.function_address(f, span),
            Some(Name::Enumerator(value)) => {
                let int = if Int::Int.wrap(value, self.types.model) == value { Int::Int } else { Int::Long };
                let ty = self.types.int(int);
                Expr::constant(value, ty, span)
            }
            _ if is_function_name(name) => {
                let mut bytes = self.function_name.clone().into_bytes();
                bytes.push(0);
                let text = self.texts.push(bytes);
                let char = self.types.int(Int::Char);
                let ty = self.types.pointer(char);
                Expr { kind: CExprKind::TextAddress(text), ty, span }
            }
            _ => {
                self.error(UNDECLARED, span, format!("`{name}` is not declared"));
                let int = self.types.int(Int::Int);
                Expr::unmodelled(format!("undeclared name `{name}`"), int, span)
            }
        }
    }

    pub(super) fn function_address(&mut self, f: FnId, span: Span) -> Expr {
        self.functions[f].address_taken = true;
        let ty = self.function_pointer(f);
        Expr { kind: CExprKind::FunctionAddress(f), ty, span }
    }

    fn function_pointer(&mut self, f: FnId) -> CType {
        let function = &self.functions[f];
        let params = function.param_types.clone();
        let signature = Signature { result: function.result, params, arity: Arity::Unknown };
        let ty = self.types.intern(CTypeKind::Function(signature));
        self.types.pointer(ty)
    }

    /// The value stored in a place; arrays become the address of their first element (C11 6.3.2.1).
    pub(super) fn load(&mut self, place: LValue, span: Span) -> Expr {
        match self.types.kind(place.ty).clone() {
            CTypeKind::Array(of, _) => {
                self.mark_address(&place);
                let zero = {
                    let ty = self.types.size_type();
                    Expr::constant(0, ty, span)
                };
                let ty = self.types.pointer(of);
                let kind = PlaceKind::Index(Box::new(place), Box::new(zero));
                Expr { kind: CExprKind::Address(Box::new(LValue { kind, ty: of, span })), ty, span }
            }
            CTypeKind::Function(_) => {
                let ty = self.types.pointer(place.ty);
                match place.kind {
                    PlaceKind::Deref(pointer) => Expr { ty, ..*pointer },
                    _ => Expr::unmodelled("a function designator of this form", ty, span),
                }
            }
            CTypeKind::Unknown(why) => Expr::unmodelled(why, place.ty, span),
            _ => {
                let ty = place.ty.unqualified();
                if let PlaceKind::Unmodelled(why) = place.kind {
                    return Expr::unmodelled(why, ty, span);
                }
                if let PlaceKind::Value(value) = place.kind {
                    return *value;
                }
                let narrow = self.is_narrow_field(&place);
                let load = Expr { kind: CExprKind::Load(Box::new(place)), ty, span };
                // A bit-field narrower than `int` becomes one (C11 6.3.1.1).
                let int = self.types.int(Int::Int);
                if narrow && ty != int { self.cast(load, int, span) } else { load }
            }
        }
    }

    /// A bit-field all of whose values are values of `int`.
    pub(super) fn is_narrow_field(&self, place: &LValue) -> bool {
        let PlaceKind::Field(inner, index) = &place.kind else { return false };
        let field = self.types.record(inner.ty).and_then(|r| self.types.field(r, *index));
        let Some((bits, int)) = field.and_then(|f| Some((f.bits?, self.types.as_int(f.ty)?))) else { return false };
        int != Int::Bool && bits < Int::Int.bits(self.types.model) + u32::from(int.signed())
    }

    /// Notes that a variable's address escapes through a place.
    pub(super) fn mark_address(&mut self, place: &LValue) {
        let mut at = place;
        loop {
            match &at.kind {
                PlaceKind::Var(v) => {
                    self.variables[*v].address_taken = true;
                    return;
                }
                PlaceKind::Field(inner, _) | PlaceKind::Index(inner, _) => at = inner,
                _ => return,
            }
        }
    }

    /// The expression as a place; a diagnostic if it is none.
    pub(super) fn place(&mut self, node: &Node<c::Expression>) -> LValue {
        let span = self.span(node);
        match &node.node {
            c::Expression::Identifier(i) => {
                if let Some(Name::Var(v)) = self.lookup(&i.node.name) {
                    let v = *v;
                    return LValue { kind: PlaceKind::Var(v), ty: self.variables[v].ty, span };
                }
            }
            c::Expression::Member(m) => return self.member(m, span),
            c::Expression::UnaryOperator(u) if u.node.operator.node == c::UnaryOperator::Indirection => {
                let pointer = self.value(&u.node.operand);
                return self.deref(pointer, span);
            }
            c::Expression::BinaryOperator(b) if b.node.operator.node == c::BinaryOperator::Index => {
                return self.index(&b.node.lhs, &b.node.rhs, span);
            }
            c::Expression::CompoundLiteral(l) => {
                let ty = self.type_name(&l.node.type_name);
                let (init, ty) = self.initializer_list(&l.node.initializer_list, ty, span);
                let storage = if self.at_file_scope() { Storage::Static } else { Storage::Local };
                let var = self.variable("", ty, span, storage);
                self.variables[var].name = "(literal)".into();
                let place = LValue { kind: PlaceKind::Var(var), ty, span };
                if self.at_file_scope() {
                    self.variables[var].init = Some(init);
                    return place;
                }
                self.mark_address(&place);
                let pointer_ty = self.types.pointer(ty);
                let address = Expr { kind: CExprKind::Address(Box::new(place)), ty: pointer_ty, span };
                let kind = CExprKind::Literal(var, Box::new(init), Box::new(address));
                let pointer = Expr { kind, ty: pointer_ty, span };
                return LValue { kind: PlaceKind::Deref(Box::new(pointer)), ty, span };
            }
            c::Expression::StringLiteral(s) => {
                let literal = self.string(s);
                let of = self.types.int(literal.wide.unwrap_or(Int::Char));
                let ty = self.types.intern(CTypeKind::Array(of, Some(literal.units.len() as u64)));
                let kind = match literal.bytes() {
                    Some(bytes) => PlaceKind::Text(self.texts.push(bytes)),
                    None => PlaceKind::Unmodelled("a wide string".into()),
                };
                return LValue { kind, ty, span };
            }
            _ => {}
        }
        let value = self.value(node);
        LValue { ty: value.ty, kind: PlaceKind::Value(Box::new(value)), span }
    }

    pub(super) fn deref(&mut self, pointer: Expr, span: Span) -> LValue {
        match self.types.pointee(pointer.ty) {
            Some(ty) => {
                // `*&x` is `x`.
                if let CExprKind::Address(place) = pointer.kind {
                    if self.types.kind(place.ty) == self.types.kind(ty) {
                        return *place;
                    }
                    return LValue {
                        kind: PlaceKind::Deref(Box::new(Expr { kind: CExprKind::Address(place), ..pointer })),
                        ty,
                        span,
                    };
                }
                LValue { kind: PlaceKind::Deref(Box::new(pointer)), ty, span }
            }
            None => {
                let known = !matches!(pointer.kind, CExprKind::Unmodelled(_));
                if known && !matches!(self.types.kind(pointer.ty), CTypeKind::Unknown(_)) {
                    let shown = self.types.show(pointer.ty);
                    self.error(TYPE_ERROR, span, format!("a value of type `{shown}` cannot be dereferenced"));
                }
                let ty = self.types.int(Int::Int);
                LValue { kind: PlaceKind::Unmodelled("dereference of a value that is no pointer".into()), ty, span }
            }
        }
    }

    fn index(&mut self, array: &Node<c::Expression>, index: &Node<c::Expression>, span: Span) -> LValue {
        let base = self.place(array);
        if let CTypeKind::Array(of, _) = *self.types.kind(base.ty) {
            let index = self.value(index);
            return LValue { kind: PlaceKind::Index(Box::new(base), Box::new(index)), ty: of, span };
        }
        if let CTypeKind::Unknown(why) = self.types.kind(base.ty).clone() {
            let ty = self.types.int(Int::Int);
            return LValue { kind: PlaceKind::Unmodelled(why), ty, span };
        }
        let base_span = base.span;
        let mut pointer = self.load(base, base_span);
        let mut index = self.value(index);
        if self.types.pointee(pointer.ty).is_none() {
            std::mem::swap(&mut pointer, &mut index);
        }
        let moved = self.pointer_add(pointer, index, operators::IncrementDirection::Up, span);
        self.deref(moved, span)
    }

    fn member(&mut self, m: &Node<c::MemberExpression>, span: Span) -> LValue {
        let base = match m.node.operator.node {
            c::MemberOperator::Direct => self.place(&m.node.expression),
            c::MemberOperator::Indirect => {
                let pointer = self.value(&m.node.expression);
                let at = pointer.span;
                self.deref(pointer, at)
            }
        };
        self.field_of(base, &m.node.identifier.node.name, span)
    }

    fn field_of(&mut self, base: LValue, name: &str, span: Span) -> LValue {
        let int = self.types.int(Int::Int);
        let Some(mut record) = self.types.record(base.ty) else {
            let shown = self.types.show(base.ty);
            if !matches!(self.types.kind(base.ty), CTypeKind::Unknown(_) | CTypeKind::Opaque(_)) {
                self.error(TYPE_ERROR, span, format!("`{shown}` has no member `{name}`"));
            }
            return LValue { kind: PlaceKind::Unmodelled(format!("a member of `{shown}`")), ty: int, span };
        };
        let Some(path) = self.types.find_field(record, name) else {
            let shown = self.types.show(base.ty);
            self.error(TYPE_ERROR, span, format!("`{shown}` has no member `{name}`"));
            return LValue { kind: PlaceKind::Unmodelled(format!("unknown member `{name}`")), ty: int, span };
        };
        let mut place = base;
        for step in path {
            let quals = place.ty.quals;
            let Some(field) = self.types.field(record, step) else { break };
            // A member of an atomic struct is itself not atomic; volatility is inherited.
            let ty = field.ty.qualified(Qualifiers { atomic: false, volatile: quals.volatile });
            place = LValue { kind: PlaceKind::Field(Box::new(place), step), ty, span };
            if let Some(next) = self.types.record(ty) {
                record = next;
            }
        }
        place
    }

    fn generic(&mut self, g: &Node<c::GenericSelection>) -> Expr {
        let control = self.type_of(&g.node.expression).unqualified();
        let mut fallback = None;
        for association in &g.node.associations {
            match &association.node {
                c::GenericAssociation::Type(t) => {
                    if self.type_name(&t.node.type_name).unqualified() == control {
                        return self.value(&t.node.expression);
                    }
                }
                c::GenericAssociation::Default(e) => fallback = Some(e),
            }
        }
        match fallback {
            Some(e) => self.value(e),
            None => {
                let span = self.span(g);
                self.error(TYPE_ERROR, span, "no association of this _Generic fits");
                Expr::unmodelled("_Generic without a fitting association", control, span)
            }
        }
    }

    /// The type of an expression that is not evaluated; arrays do not decay here.
    pub(super) fn type_of(&mut self, node: &Node<c::Expression>) -> CType {
        // Looking at the type must not count as taking an address nor keep what the expression would create.
        let taken: Vec<bool> = self.variables.iter().map(|v| v.address_taken).collect();
        let functions: Vec<bool> = self.functions.iter().map(|f| f.address_taken).collect();
        let ty = match &node.node {
            c::Expression::Identifier(i) if matches!(self.lookup(&i.node.name), Some(Name::Function(_))) => {
                let pointer = self.value(node).ty;
                self.types.pointee(pointer).unwrap_or(pointer)
            }
            _ => self.place(node).ty,
        };
        for (v, old) in self.variables.iter_mut().zip(taken) {
            v.address_taken = old;
        }
        for (f, old) in self.functions.iter_mut().zip(functions) {
            f.address_taken = old;
        }
        ty
    }

    /// The size of an array of variable length that is named.
    fn measured_size(&mut self, node: &Node<c::Expression>, ty: CType, span: Span) -> Option<Expr> {
        let c::Expression::Identifier(name) = &node.node else { return None };
        let Some(&Name::Var(var)) = self.lookup(&name.node.name) else { return None };
        let length = self.variables[var].length.clone()?;
        let &CTypeKind::Array(of, None) = self.types.kind(ty) else { return None };
        let each = Expr::constant(i128::from(self.types.size(of)?), self.types.size_type(), span);
        Some(self.arithmetic(CBinaryOp::Mul, *length, each, span))
    }

    fn size_of(&mut self, ty: CType, span: Span) -> Expr {
        let result = self.types.size_type();
        match self.types.size(ty) {
            Some(size) => Expr::constant(i128::from(size), result, span),
            None => {
                let shown = self.types.show(ty);
                Expr::unmodelled(format!("the size of `{shown}`"), result, span)
            }
        }
    }

    fn offset_of(&mut self, o: &c::OffsetOfExpression, span: Span) -> Expr {
        let result = self.types.size_type();
        let mut ty = self.type_name(&o.type_name);
        let mut offset = 0i128;
        let mut names = vec![c::OffsetMember::Member(o.designator.node.base.clone())];
        names.extend(o.designator.node.members.iter().map(|m| m.node.clone()));
        for step in names {
            match step {
                c::OffsetMember::Member(name) => {
                    let Some(mut record) = self.types.record(ty) else { break };
                    let Some(path) = self.types.find_field(record, &name.node.name) else {
                        self.error(TYPE_ERROR, span, format!("no member `{}`", name.node.name));
                        break;
                    };
                    for index in path {
                        let Some(field) = self.types.field(record, index) else { break };
                        offset += i128::from(field.offset);
                        ty = field.ty;
                        if let Some(next) = self.types.record(ty) {
                            record = next;
                        }
                    }
                }
                c::OffsetMember::Index(index) => {
                    let index = self.value(&index);
                    let (CTypeKind::Array(of, _), Some(i)) = (self.types.kind(ty).clone(), index.as_const()) else {
                        return Expr::unmodelled("offsetof with a variable index", result, span);
                    };
                    offset += i * i128::from(self.types.size(of).unwrap_or(0));
                    ty = of;
                }
                c::OffsetMember::IndirectMember(_) => {
                    return Expr::unmodelled("offsetof through a pointer", result, span);
                }
            }
        }
        Expr::constant(offset, result, span)
    }

    fn conditional(&mut self, q: &c::ConditionalExpression, span: Span) -> Expr {
        let condition = self.value(&q.condition);
        let elvis = matches!(&q.then_expression.node, c::Expression::Identifier(i) if i.node.name == normalise::ELVIS);
        if elvis {
            let other = self.value(&q.else_expression);
            let ty = self.joined(&condition, &other);
            // The first operand keeps its own type until it is known to be the result.
            let other = self.cast(other, ty, span);
            let condition = self.cast(condition, ty, span);
            return Expr { kind: CExprKind::Elvis(Box::new(condition), Box::new(other)), ty, span };
        }
        let then = self.value(&q.then_expression);
        let other = self.value(&q.else_expression);
        let ty = self.joined(&then, &other);
        let (then, other) = (self.cast(then, ty, span), self.cast(other, ty, span));
        match condition.as_const() {
            Some(0) => other,
            Some(_) => then,
            None => {
                let kind = CExprKind::Conditional(Box::new(condition), Box::new(then), Box::new(other));
                Expr { kind, ty, span }
            }
        }
    }

    /// The type of `c ? a : b` (C11 6.5.15).
    pub(super) fn joined(&mut self, a: &Expr, b: &Expr) -> CType {
        match (self.types.kind(a.ty).clone(), self.types.kind(b.ty).clone()) {
            (CTypeKind::Int(x), CTypeKind::Int(y)) => {
                let int = self.types.common(x, y);
                self.types.int(int)
            }
            (CTypeKind::Float(x), CTypeKind::Float(y)) => self.types.intern(CTypeKind::Float(x.max(y))),
            (CTypeKind::Float(_), _) => a.ty,
            (_, CTypeKind::Float(_)) => b.ty,
            (CTypeKind::Void, _) | (_, CTypeKind::Void) => self.types.void(),
            (CTypeKind::Pointer(_), CTypeKind::Int(_)) => a.ty,
            (CTypeKind::Int(_), CTypeKind::Pointer(_)) => b.ty,
            (CTypeKind::Pointer(x), CTypeKind::Pointer(_)) => {
                // A null constant or `void *` takes the other's type where that is more telling.
                if self.types.is_void(x) { b.ty } else { a.ty }
            }
            _ => a.ty,
        }
    }

    fn call(&mut self, call: &Node<c::CallExpression>, span: Span) -> Expr {
        let mut arguments: Vec<Expr> = Vec::new();
        if let c::Expression::Identifier(i) = &call.node.callee.node {
            let name = i.node.name.as_str();
            match self.lookup(name).cloned() {
                Some(Name::Function(f)) => {
                    arguments.extend(call.node.arguments.iter().map(|a| self.value(a)));
                    return self.direct_call(f, arguments, span);
                }
                Some(_) => {}
                None => {
                    arguments.extend(call.node.arguments.iter().map(|a| self.value(a)));
                    return self.undeclared_call(name, arguments, span);
                }
            }
        }
        let callee = self.value(&call.node.callee);
        arguments.extend(call.node.arguments.iter().map(|a| self.value(a)));
        if let CExprKind::FunctionAddress(f) = callee.kind {
            return self.direct_call(f, arguments, span);
        }
        let signature = self.types.pointee(callee.ty).and_then(|t| match self.types.kind(t) {
            CTypeKind::Function(s) => Some(s.clone()),
            _ => None,
        });
        let Some(signature) = signature else {
            let int = self.types.int(Int::Int);
            if !matches!(callee.kind, CExprKind::Unmodelled(_)) {
                let shown = self.types.show(callee.ty);
                self.error(TYPE_ERROR, span, format!("a value of type `{shown}` cannot be called"));
            }
            return Expr::unmodelled("a call of something that is no function", int, span);
        };
        let arguments = self.arguments(arguments, &signature.params);
        let kind = CExprKind::Call(CCallee::Pointer(Box::new(callee)), arguments);
        Expr { kind, ty: signature.result, span }
    }

    fn direct_call(&mut self, f: FnId, arguments: Vec<Expr>, span: Span) -> Expr {
        let params = self.functions[f].param_types.clone();
        let arguments = self.arguments(arguments, &params);
        let ty = self.functions[f].result;
        Expr { kind: CExprKind::Call(CCallee::Direct(f), arguments), ty, span }
    }

    /// A call of a name without a declaration: a compiler builtin, or an old-style implicit `int` function.
    fn undeclared_call(&mut self, name: &str, arguments: Vec<Expr>, span: Span) -> Expr {
        if !crate::c::names::has_meaning(name) {
            let mut declared: Vec<&str> = self.functions.iter().map(|f| f.name.as_str()).collect();
            declared.sort_unstable();
            let mut error = Diagnostic::error(UNDECLARED, span, format!("the function `{name}` is not declared"));
            if let Some(near) = crate::c::names::meant(name, declared) {
                error = error.hint(format!("did you mean `{near}`?"));
            }
            self.diagnostics.push(error);
        }
        let pointee = arguments.first().and_then(|a| self.types.pointee(a.ty)).map(CType::unqualified);
        let int = self.types.int(Int::Int);
        let result = match name {
            "__sync_bool_compare_and_swap" | "__atomic_test_and_set" => self.types.int(Int::Bool),
            _ if name.starts_with("__atomic_compare_exchange") => self.types.int(Int::Bool),
            "__sync_synchronize"
            | "__sync_lock_release"
            | "__atomic_clear"
            | "__atomic_thread_fence"
            | "__atomic_signal_fence"
            | "__atomic_load"
            | "__atomic_store"
            | "__atomic_store_n"
            | "__atomic_exchange"
            | "__builtin_unreachable"
            | "__builtin_trap"
            | "__builtin_abort"
            | "__builtin_va_start"
            | "__builtin_va_end"
            | "__builtin_va_copy" => self.types.void(),
            "__builtin_expect" => self.types.int(Int::Long),
            "__builtin_alloca" | "__builtin_malloc" | "__builtin_memcpy" | "__builtin_memset" | "malloc" | "calloc"
            | "realloc" | "alloca" => {
                let void = self.types.void();
                self.types.pointer(void)
            }
            "__builtin_object_size" | "__builtin_strlen" => self.types.size_type(),
            _ if name.starts_with("__sync_") || name.starts_with("__atomic_") => pointee.unwrap_or(int),
            _ => int,
        };
        if name == "__builtin_constant_p" {
            let known = arguments.first().is_some_and(|a| a.as_const().is_some());
            return Expr::constant(i128::from(known), int, span);
        }
        let signature = Signature { result, params: Vec::new(), arity: Arity::Unknown };
        // Builtins whose result follows their argument are one function for each result type.
        let known = self.functions.iter_enumerated().find(|(_, f)| f.name == name && f.result == result);
        let id = match known.map(|(id, _)| id) {
            Some(id) => id,
            None => {
                let id = self.functions.push(CFunction {
                    name: name.to_string(),
                    result: signature.result,
                    params: Vec::new(),
                    param_types: Vec::new(),
                    variadic: true,
                    body: None,
                    labels: IdVec::new(),
                    span,
                    address_taken: false,
                    noreturn: false,
                });
                if !name.starts_with("__sync_") && !name.starts_with("__atomic_") {
                    self.scopes[0].names.insert(name.to_string(), Name::Function(id));
                }
                id
            }
        };
        let arguments = self.arguments(arguments, &[]);
        Expr { kind: CExprKind::Call(CCallee::Direct(id), arguments), ty: result, span }
    }

    /// Arguments converted to parameter types, the others promoted (C11 6.5.2.2).
    fn arguments(&mut self, arguments: Vec<Expr>, params: &[CType]) -> Vec<Expr> {
        let mut converted = Vec::with_capacity(arguments.len());
        for (i, argument) in arguments.into_iter().enumerate() {
            let span = argument.span;
            converted.push(match (params.get(i), self.types.as_int(argument.ty)) {
                (Some(ty), _) => self.cast(argument, ty.unqualified(), span),
                (None, Some(int)) => {
                    let promoted = self.types.promote(int);
                    let ty = self.types.int(promoted);
                    self.cast(argument, ty, span)
                }
                (None, None) => argument,
            });
        }
        converted
    }
}

/// Names for the array of characters that holds the function's name.
fn is_function_name(name: &str) -> bool {
    matches!(name, "__func__" | "__FUNCTION__" | "__PRETTY_FUNCTION__")
}
