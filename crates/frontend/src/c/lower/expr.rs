//! Expressions: evaluation left to right, one step for each shared access, values as terms over private slots.
//!
//! In: an expression of the typed tree. Out: its value as a term, or the object and offset it stands for, with the
//! steps that the evaluation takes.

use super::access::Undefined;
use super::flow::*;
use super::memory::Ref;
use super::*;
use crate::c::ast::{self, *};
use crate::c::types::Int;

impl Lower<'_> {
    fn types(&self) -> &crate::c::types::CTypes {
        &self.unit.types
    }

    fn int_of(&self, ty: CType) -> Int {
        self.types().as_int(ty).unwrap_or(Int::ULong)
    }

    /// The place of an lvalue.
    pub(super) fn place(&mut self, place: &crate::c::ast::LValue) -> Option<Ref> {
        self.cur.at?;
        Some(match &place.kind {
            PlaceKind::Var(v) => {
                let object = self.variable_object(*v);
                // Each copy of a repeated thread has its own: what another thread holds the address of is one of them.
                if self.escapes(object) {
                    let name = &self.unit.variables[*v].name;
                    let why = format!(
                        "the address of `{name}`, of which each copy of a repeated thread has its own, leaves the thread"
                    );
                    self.unmodelled(&why, place.span);
                    return None;
                }
                Ref::Object(object, self.terms.int(0))
            }
            PlaceKind::Deref(e) => {
                let address = self.value(e);
                self.cur.at?;
                self.settle(address)
            }
            PlaceKind::Field(inner, index) => {
                let base = self.place(inner)?;
                let record = self.types().record(inner.ty)?;
                let offset = self.types().field(record, *index)?.offset;
                self.member(base, inner.ty, i128::from(offset))
            }
            PlaceKind::Index(inner, e) => self.element(inner, e, place.ty, Reach::Inside, place.span)?,
            PlaceKind::Value(e) => self.aggregate(e)?,
            PlaceKind::Text(t) => Ref::Object(*self.object_keys.get(&text_key(*t))?, self.terms.int(0)),
            PlaceKind::Unmodelled(why) => {
                self.unmodelled(why, place.span);
                return None;
            }
        })
    }

    /// An element of an array. One that is part of a larger object ends before the object does.
    fn element(&mut self, array: &ast::LValue, index: &Expr, ty: CType, reach: Reach, span: Span) -> Option<Ref> {
        let base = self.place(array)?;
        let index = self.value(index);
        self.cur.at?;
        let whole = match base {
            Ref::Object(o, offset) => {
                let size = self.types().size(array.ty).map(|s| s as i128);
                self.b().as_num(offset) == Some(0) && size == Some(self.objects[o].size)
            }
            _ => false,
        };
        // An array of one or no element at the end of a struct often stands for more.
        if let (CTypeKind::Array(_, Some(n)), false, true) =
            (self.types().kind(array.ty), whole, self.checks(CCheck::Memory))
            && *n > 1
        {
            let b = self.b();
            let last = b.num(*n as i128 - i128::from(reach == Reach::Inside));
            let inside = b.and(b.le(b.num(0), index), b.le(index, last));
            self.require(Undefined::Deref, inside, span);
            self.cur.at?;
        }
        let size = self.types().size(ty).unwrap_or(1);
        let by = self.b().mul(index, self.terms.int(i128::from(size)));
        Some(self.offset(base, by))
    }

    /// The object of a variable in the current frame, thread or program.
    pub(super) fn variable_object(&mut self, v: VarId) -> ObjId {
        let variable = &self.unit.variables[v];
        match variable.storage {
            Storage::Static => {
                let key = format!("{}#{}", variable.name, v.0);
                if let Some(id) = self.object_keys.get(&key) {
                    return *id;
                }
                self.object(&key, &variable.name, variable.ty, SlotOwner::Shared, variable.span, ObjectStart::Zero)
            }
            Storage::ThreadLocal => {
                let task = self.cur.task;
                let key = format!("{}#{}!{}", variable.name, v.0, self.tasks[task].key);
                let before = self.object_keys.get(&key).map(|id| self.objects[*id].generation);
                let owner = self.local_owner(variable.address_taken);
                let id = self.object(&key, &variable.name, variable.ty, owner, variable.span, ObjectStart::Zero);
                if let Some(init) = variable.init.as_ref().filter(|_| before != Some(self.objects[id].generation)) {
                    self.initial_values(id, variable.ty, init);
                }
                id
            }
            Storage::Local | Storage::Parameter => {
                // Of this call alone: a caller may be the same function, with variables of its own.
                if let Some(id) = self.cur.frames.last().and_then(|f| f.vars.get(&v).copied()) {
                    return id;
                }
                let path = self.cur.frames.last().map_or(String::new(), |f| f.path.clone());
                let task = self.tasks[self.cur.task].key.clone();
                // Each iteration of an unrolled loop has its own copy of the locals declared inside it.
                let iterations: Vec<String> = self.cur.iterations.iter().map(u32::to_string).collect();
                let own = if variable.address_taken { iterations.join(".") } else { String::new() };
                let key = format!("{task}!{path}.{}#{}!{own}", variable.name, v.0);
                let owner = self.local_owner(variable.address_taken);
                let id = self.object(&key, &variable.name, variable.ty, owner, variable.span, ObjectStart::Any);
                if let Some(frame) = self.cur.frames.last_mut() {
                    frame.vars.insert(v, id);
                }
                id
            }
        }
    }

    /// A local whose address is taken may be reached by others; the copies of a repeated thread each keep their own.
    pub(super) fn local_owner(&self, address_taken: bool) -> SlotOwner {
        if address_taken && !self.tasks[self.cur.task].many {
            SlotOwner::Shared
        } else {
            SlotOwner::Task(self.cur.task)
        }
    }

    /// The place that holds a struct value.
    pub(super) fn aggregate(&mut self, e: &Expr) -> Option<Ref> {
        match &e.kind {
            CExprKind::Load(place) => self.place(place),
            CExprKind::Call(callee, args) => {
                let result = self.call(callee, args, e.ty, e.span);
                self.cur.at?;
                match result {
                    Some(address) => Some(self.settle(address)),
                    None => {
                        self.unmodelled("a struct result of this call", e.span);
                        None
                    }
                }
            }
            CExprKind::Assign(place, value) => {
                let to = self.place(place)?;
                let from = self.aggregate(value)?;
                self.copy(to, from, place.ty, e.span);
                Some(to)
            }
            CExprKind::Comma(a, b) => {
                self.value(a);
                self.aggregate(b)
            }
            CExprKind::Statements(list, Some(value)) => {
                list.iter().for_each(|s| self.statement(s));
                self.aggregate(value)
            }
            _ => {
                self.unmodelled("a struct value of this form", e.span);
                None
            }
        }
    }

    /// Copies every leaf of a struct, one access at a time.
    pub(super) fn copy(&mut self, to: Ref, from: Ref, ty: CType, span: Span) {
        let before = std::mem::replace(&mut self.cur.moving, true);
        // Members are copied as they are: an atomic one is no longer accessed as such.
        for (offset, leaf) in self.plain_parts(ty) {
            self.copied_object(leaf, span);
            let by = self.terms.int(offset);
            let value = self.read(self.offset(from, by), leaf, span);
            self.write(self.offset(to, by), leaf, value, span);
        }
        self.cur.moving = before;
    }

    /// The scalar parts of a type with their offsets.
    pub(super) fn scalar_parts(&self, ty: CType) -> Vec<(i128, CType)> {
        let mut out = Vec::new();
        self.collect_parts(ty, 0, &mut out);
        out
    }

    /// The scalar parts as plain accesses reach them, also where they are declared atomic.
    pub(super) fn plain_parts(&self, ty: CType) -> Vec<(i128, CType)> {
        self.scalar_parts(ty).into_iter().map(|(offset, leaf)| (offset, leaf.unqualified())).collect()
    }

    fn collect_parts(&self, ty: CType, base: i128, out: &mut Vec<(i128, CType)>) {
        match self.types().kind(ty) {
            CTypeKind::Array(of, Some(n)) => {
                let size = self.types().size(*of).unwrap_or(1) as i128;
                for i in 0..(*n as i128).min(4096) {
                    self.collect_parts(*of, base + i * size, out);
                }
            }
            CTypeKind::Record(r) => {
                let record = &self.types().records[*r];
                let fields = record.fields.clone().unwrap_or_default();
                let mut parts = Vec::new();
                for field in fields.into_iter().filter(|f| f.name != "<padding>") {
                    self.collect_parts(field.ty, base + field.offset as i128, &mut parts);
                }
                if record.kind == crate::c::types::RecordKind::Union {
                    // What members share is copied once; where they overlap otherwise, every byte.
                    let size = |ty: CType| self.types().size(ty).unwrap_or(1) as i128;
                    parts.sort_by_key(|(at, ty)| (*at, size(*ty)));
                    parts.dedup_by_key(|(at, ty)| (*at, size(*ty)));
                    let mut reach = i128::MIN;
                    for (at, ty) in parts {
                        let end = at + size(ty);
                        if at >= reach {
                            out.push((at, ty));
                        } else {
                            // The last one and this one are bytes; so is all of them from now on.
                            if let Some((first, whole)) = out.pop() {
                                let covered = reach.max(first + size(whole));
                                out.extend((first..covered).map(|i| (i, self.unit.char_type)));
                            }
                            out.extend((reach..end).map(|i| (i, self.unit.char_type)));
                        }
                        reach = reach.max(end);
                    }
                    return;
                }
                out.extend(parts);
            }
            _ => out.push((base, ty)),
        }
    }

    /// A constant of a static initialiser: a number or an address.
    pub(super) fn constant_term(&self, e: &Expr) -> Option<Term> {
        let b = self.b();
        Some(match &e.kind {
            CExprKind::Const(k) => b.num(*k),
            CExprKind::FunctionAddress(f) => b.num(self.function_address(*f)?),
            CExprKind::TextAddress(t) => b.num(self.objects[*self.object_keys.get(&text_key(*t))?].base),
            CExprKind::Address(place) => self.constant_address(place)?,
            CExprKind::Float { number, .. } => self.literal(*number),
            CExprKind::Cast(inner) if !self.types().is_float(inner.ty) => self.constant_term(inner)?,
            CExprKind::PointerAdd { pointer, index, scale, subtract } => {
                let (p, i) = (self.constant_term(pointer)?, self.constant_term(index)?);
                let by = b.mul(i, b.num(i128::from(*scale)));
                if *subtract { b.sub(p, by) } else { b.add(p, by) }
            }
            CExprKind::Binary(op, x, y) => {
                let (x, y) = (b.as_num(self.constant_term(x)?)?, b.as_num(self.constant_term(y)?)?);
                b.num(fold_binary(*op, x, y, self.types().as_int(e.ty)?, self.types())?)
            }
            _ => return None,
        })
    }

    fn constant_address(&self, place: &crate::c::ast::LValue) -> Option<Term> {
        let b = self.b();
        Some(match &place.kind {
            PlaceKind::Var(v) => {
                let variable = &self.unit.variables[*v];
                let id = self.object_keys.get(&format!("{}#{}", variable.name, v.0))?;
                b.num(self.objects[*id].base)
            }
            PlaceKind::Field(inner, index) => {
                let record = self.types().record(inner.ty)?;
                let offset = self.types().field(record, *index)?.offset;
                b.add(self.constant_address(inner)?, b.num(i128::from(offset)))
            }
            PlaceKind::Index(inner, e) => {
                let size = self.types().size(place.ty)?;
                let by = b.mul(self.constant_term(e)?, b.num(i128::from(size)));
                b.add(self.constant_address(inner)?, by)
            }
            PlaceKind::Deref(e) => self.constant_term(e)?,
            PlaceKind::Text(t) => b.num(self.objects[*self.object_keys.get(&text_key(*t))?].base),
            _ => return None,
        })
    }

    pub(super) fn function_address(&self, f: FnId) -> Option<i128> {
        let key = format!("&{}#{}", self.unit.functions[f].name, f.0);
        self.object_keys.get(&key).map(|o| self.objects[*o].base)
    }

    /// Evaluates for the effects only.
    pub(super) fn effect(&mut self, e: &Expr) {
        match &e.kind {
            CExprKind::Cast(inner) if self.types().is_void(e.ty) => self.effect(inner),
            CExprKind::Comma(a, b) => {
                self.effect(a);
                self.effect(b);
            }
            CExprKind::And(..) | CExprKind::Or(..) | CExprKind::Conditional(..)
                if matches!(self.types().kind(e.ty), CTypeKind::Void | CTypeKind::Int(_)) =>
            {
                self.branch_effect(e);
            }
            CExprKind::Load(_) if self.types().record(e.ty).is_some() => {}
            CExprKind::Assign(..) | CExprKind::Call(..) if self.types().record(e.ty).is_some() => {
                self.aggregate(e);
            }
            _ => {
                self.value(e);
            }
        }
    }

    fn branch_effect(&mut self, e: &Expr) {
        let (then, other, end) = (self.fresh(e.span), self.fresh(e.span), self.fresh(e.span));
        match &e.kind {
            CExprKind::Conditional(c, a, b) => {
                self.condition(c, then, other);
                self.enter(then);
                self.effect(a);
                self.goto(end, e.span);
                self.enter(other);
                self.effect(b);
                self.goto(end, e.span);
            }
            CExprKind::And(a, b) => {
                self.condition(a, then, end);
                self.enter(then);
                self.effect(b);
                self.goto(end, e.span);
            }
            CExprKind::Or(a, b) => {
                self.condition(a, end, other);
                self.enter(other);
                self.effect(b);
                self.goto(end, e.span);
            }
            _ => return,
        }
        self.enter(end);
    }

    /// Evaluates without any step, if that is possible.
    fn without_steps(&mut self, e: &Expr) -> Option<Term> {
        self.cur.at?;
        if self.types().is_float(e.ty) || !self.looks_pure(e) {
            return None;
        }
        let (steps, places, at) = (self.cur.flow.steps.len(), self.cur.flow.places.len(), self.cur.at);
        let temps = self.cur.temps_at.clone();
        let known = self.cur.known.clone();
        let left = self.steps_left;
        let value = self.value(e);
        if self.cur.at == at && self.cur.flow.steps.len() == steps {
            return Some(value);
        }
        // A step was needed after all: take it back. Nothing refers to what was made.
        self.cur.flow.steps.truncate(steps);
        for made in places..self.cur.flow.places.len() {
            self.cur.envs.remove(&Loc(made as u32));
        }
        if self.cur.flow.places.len() > places {
            self.cur.flow.places = self.cur.flow.places.iter().take(places).cloned().collect();
        }
        self.cur.at = at;
        self.cur.temps_at = temps;
        self.cur.known = known;
        self.steps_left = left;
        None
    }

    /// Whether the text of an expression has no effect of its own.
    pub(super) fn looks_pure(&self, e: &Expr) -> bool {
        match &e.kind {
            CExprKind::Const(_) | CExprKind::FunctionAddress(_) | CExprKind::TextAddress(_) => true,
            CExprKind::Load(p) | CExprKind::Address(p) => self.pure_place(p),
            CExprKind::Unary(_, a) | CExprKind::Cast(a) | CExprKind::Not(a) => self.looks_pure(a),
            CExprKind::Binary(_, a, b)
            | CExprKind::Compare(_, a, b)
            | CExprKind::And(a, b)
            | CExprKind::Or(a, b)
            | CExprKind::PointerDiff { left: a, right: b, .. }
            | CExprKind::PointerAdd { pointer: a, index: b, .. } => self.looks_pure(a) && self.looks_pure(b),
            CExprKind::Conditional(a, b, c) => self.looks_pure(a) && self.looks_pure(b) && self.looks_pure(c),
            _ => false,
        }
    }

    fn pure_place(&self, p: &crate::c::ast::LValue) -> bool {
        match &p.kind {
            PlaceKind::Var(_) => true,
            PlaceKind::Deref(e) => self.looks_pure(e),
            PlaceKind::Field(inner, _) => self.pure_place(inner),
            PlaceKind::Index(inner, e) => self.pure_place(inner) && self.looks_pure(e),
            _ => false,
        }
    }

    /// Branches on an expression.
    pub(super) fn condition(&mut self, e: &Expr, yes: Loc, no: Loc) {
        if self.cur.at.is_none() {
            return;
        }
        if self.types().is_float(e.ty) {
            let value = self.value(e);
            self.must_follow(&[value], "a test", e.span);
            return self.test(value, yes, no, e.span);
        }
        match &e.kind {
            CExprKind::Not(inner) => return self.condition(inner, no, yes),
            CExprKind::And(a, b) | CExprKind::Or(a, b) => {
                // Both sides without a step: one test. (Not of `e` as a whole, which would come back here.)
                if let (Some(x), Some(y)) = (self.without_steps(a), self.without_steps(b)) {
                    let build = self.b();
                    let (x, y) = (build.truth(x), build.truth(y));
                    let joined = if matches!(e.kind, CExprKind::And(..)) { build.and(x, y) } else { build.or(x, y) };
                    let value = build.bit(joined);
                    return self.test(value, yes, no, e.span);
                }
                let middle = self.fresh(e.span);
                if matches!(e.kind, CExprKind::And(..)) {
                    self.condition(a, middle, no);
                } else {
                    self.condition(a, yes, middle);
                }
                self.enter(middle);
                return self.condition(b, yes, no);
            }
            CExprKind::Comma(a, b) => {
                self.effect(a);
                return self.condition(b, yes, no);
            }
            CExprKind::Cast(inner)
                if self.types().as_int(e.ty).is_some()
                    && self.types().as_int(inner.ty).is_some()
                    && self.types().size(e.ty) >= self.types().size(inner.ty) =>
            {
                return self.condition(inner, yes, no);
            }
            _ => {}
        }
        let value = self.value(e);
        self.test(value, yes, no, e.span);
    }

    pub(super) fn test(&mut self, value: Term, yes: Loc, no: Loc, span: Span) {
        let truth = self.b().truth(value);
        self.emit(yes, truth, Vec::new(), What::Test, span);
        let falsehood = self.b().not(truth);
        self.emit(no, falsehood, Vec::new(), What::Test, span);
        self.cur.at = None;
    }

    /// Evaluates an expression to a C value.
    pub(super) fn value(&mut self, e: &Expr) -> Term {
        let zero = self.terms.int(0);
        if self.cur.at.is_none() {
            return zero;
        }
        let span = e.span;
        match &e.kind {
            CExprKind::Const(k) => self.terms.int(*k),
            CExprKind::Load(place) => {
                let Some(at) = self.place(place) else { return zero };
                if self.types().record(place.ty).is_some() {
                    return self.address_of(at);
                }
                self.read(at, place.ty, span)
            }
            CExprKind::Address(place) => {
                let at = match &place.kind {
                    // One past the end has an address, too.
                    PlaceKind::Index(array, index) => self.element(array, index, place.ty, Reach::OrBehind, span),
                    _ => self.place(place),
                };
                at.map_or(zero, |at| self.address_of(at))
            }
            CExprKind::FunctionAddress(f) => match self.function_address(*f) {
                Some(address) => self.terms.int(address),
                None => zero,
            },
            CExprKind::TextAddress(_) => self.constant_term(e).unwrap_or(zero),
            CExprKind::Unary(op, a) => {
                let x = self.value(a);
                let int = self.int_of(e.ty);
                self.unary_op(*op, x, int, span)
            }
            CExprKind::Binary(op, a, b) => {
                let x = self.value(a);
                let y = self.value(b);
                if self.cur.at.is_none() {
                    return zero;
                }
                let int = self.int_of(e.ty);
                self.binary_op(*op, x, y, int, span)
            }
            CExprKind::Compare(op, a, b) => {
                let x = self.value(a);
                let y = self.value(b);
                if self.types().is_float(a.ty) {
                    self.must_follow(&[x, y], "a comparison", span);
                } else {
                    self.compare_addresses(*op, x, y, span);
                }
                let b = self.b();
                b.bit(match op {
                    CCompareOp::Eq => b.eq(x, y),
                    CCompareOp::Ne => b.ne(x, y),
                    CCompareOp::Lt => b.lt(x, y),
                    CCompareOp::Le => b.le(x, y),
                    CCompareOp::Gt => b.lt(y, x),
                    CCompareOp::Ge => b.le(y, x),
                })
            }
            CExprKind::PointerAdd { pointer, index, scale, subtract } => {
                let p = self.value(pointer);
                let i = self.value(index);
                let b = self.b();
                let by = b.mul(i, b.num(i128::from(*scale)));
                if *subtract { b.add(p, b.mul(by, b.num(-1))) } else { b.add(p, by) }
            }
            CExprKind::PointerDiff { left, right, scale } => {
                let p = self.value(left);
                let q = self.value(right);
                self.only_same_object(p, q, "the distance between different objects", span);
                let b = self.b();
                let distance = b.sub(p, q);
                match b.quotient(distance, i128::from(*scale)) {
                    Some((quotient, _)) => quotient,
                    None => zero,
                }
            }
            CExprKind::Cast(inner) => self.cast(inner, e.ty, span),
            CExprKind::Elvis(a, _) if self.types().is_float(a.ty) => {
                self.unmodelled("a test of a floating-point value", span);
                zero
            }
            CExprKind::Not(a) => {
                let x = self.value(a);
                if self.types().is_float(a.ty) {
                    self.must_follow(&[x], "a test", span);
                }
                let b = self.b();
                b.bit(b.eq(x, b.num(0)))
            }
            CExprKind::And(a, b) | CExprKind::Or(a, b) => {
                // The right operand may only be looked at after the left, unless looking changes nothing.
                if let (Some(x), Some(y)) = (self.without_steps(a), self.without_steps(b)) {
                    let build = self.b();
                    let (x, y) = (build.truth(x), build.truth(y));
                    let joined = if matches!(e.kind, CExprKind::And(..)) { build.and(x, y) } else { build.or(x, y) };
                    return build.bit(joined);
                }
                self.joined(e, |lower, yes, no| lower.condition(e, yes, no), None, None)
            }
            CExprKind::Conditional(c, a, b) => {
                if self.types().record(e.ty).is_none()
                    && let (Some(c), Some(x), Some(y)) =
                        (self.without_steps(c), self.without_steps(a), self.without_steps(b))
                {
                    let build = self.b();
                    return build.ite(build.truth(c), x, y);
                }
                self.joined(e, |lower, yes, no| lower.condition(c, yes, no), Some(a), Some(b))
            }
            CExprKind::Elvis(a, b) => {
                let x = self.value(a);
                let keep = self.temp(span);
                self.update(vec![(keep, x)], What::Assign, span);
                let (yes, no, end) = (self.fresh(span), self.fresh(span), self.fresh(span));
                let kept = self.slot_term(keep);
                self.test(kept, yes, no, span);
                self.enter(yes);
                self.goto(end, span);
                self.enter(no);
                let y = self.value(b);
                self.update(vec![(keep, y)], What::Assign, span);
                self.goto(end, span);
                self.enter(end);
                self.slot_term(keep)
            }
            CExprKind::Comma(a, b) => {
                self.effect(a);
                self.value(b)
            }
            CExprKind::Assign(place, value) => {
                if self.types().record(place.ty).is_some() {
                    return match self.aggregate(e) {
                        Some(at) => self.address_of(at),
                        None => zero,
                    };
                }
                let Some(at) = self.place(place) else { return zero };
                let v = self.value(value);
                self.write(at, place.ty, v, span);
                self.written(at, place.ty, v, span)
            }
            CExprKind::AssignOp { place, op, value, compute } => self.assign_op(place, *op, value, *compute, span),
            CExprKind::AssignPointer { place, index, scale, subtract } => {
                let Some(at) = self.place(place) else { return zero };
                let i = self.value(index);
                let step = i128::from(*scale) * if *subtract { -1 } else { 1 };
                let old = self.read(at, place.ty, span);
                let b = self.b();
                let new = b.add(old, b.mul(i, b.num(step)));
                self.write(at, place.ty, new, span);
                self.written(at, place.ty, new, span)
            }
            CExprKind::Increment { place, step, fix } => self.increment(place, *step, *fix, span),
            CExprKind::Call(callee, args) => self.call(callee, args, e.ty, span).unwrap_or(zero),
            CExprKind::Statements(list, value) => {
                list.iter().for_each(|s| self.statement(s));
                match value {
                    Some(v) if self.types().is_void(v.ty) => {
                        self.effect(v);
                        zero
                    }
                    Some(v) => self.value(v),
                    None => zero,
                }
            }
            CExprKind::Literal(var, init, value) => {
                if let Some(frame) = self.cur.frames.last_mut() {
                    frame.vars.remove(var);
                }
                self.declare(*var, Some(init), span);
                self.value(value)
            }
            CExprKind::Float { number, made, parts } => self.floating(*number, *made, parts, e.ty),
            CExprKind::VaArg(_) => {
                self.unmodelled("va_arg", span);
                zero
            }
            CExprKind::Unmodelled(why) => {
                self.unmodelled(why, span);
                zero
            }
        }
    }

    /// The value of a branching expression, joined in a private slot.
    fn joined(
        &mut self,
        e: &Expr,
        branch: impl FnOnce(&mut Self, Loc, Loc),
        then: Option<&Expr>,
        other: Option<&Expr>,
    ) -> Term {
        let span = e.span;
        let into = self.temp(span);
        let (yes, no, end) = (self.fresh(span), self.fresh(span), self.fresh(span));
        branch(self, yes, no);
        self.enter(yes);
        let x = then.map_or(self.terms.int(1), |a| self.value(a));
        self.update(vec![(into, x)], What::Assign, span);
        self.goto(end, span);
        self.enter(no);
        let y = other.map_or(self.terms.int(0), |a| self.value(a));
        self.update(vec![(into, y)], What::Assign, span);
        self.goto(end, span);
        self.slots[into].range = self.types().as_int(e.ty).map(|i| i.range(self.types().model));
        self.enter(end);
        match self.cur.known.get(&into) {
            Some(known) => *known,
            None => self.slot_term(into),
        }
    }

    fn cast(&mut self, inner: &Expr, ty: CType, span: Span) -> Term {
        let zero = self.terms.int(0);
        match (self.types().kind(ty).clone(), self.types().kind(inner.ty).clone()) {
            (CTypeKind::Void, _) => {
                self.effect(inner);
                zero
            }
            (CTypeKind::Int(int), CTypeKind::Float(_)) => self.number_of(inner, int, span),
            (CTypeKind::Float(_), _) | (_, CTypeKind::Float(_)) => {
                self.unmodelled("a conversion of a floating-point value", span);
                zero
            }
            (CTypeKind::Pointer(to), from) => {
                // `malloc` has the type its result is given.
                if let Some(value) = self.allocation(inner, to) {
                    return value;
                }
                let value = self.value(inner);
                self.note_type(value, to);
                match from {
                    CTypeKind::Int(from) => self.pointer_of_number(value, from),
                    _ => value,
                }
            }
            (CTypeKind::Int(int), CTypeKind::Pointer(_)) => {
                let value = self.value(inner);
                self.cut_address(value, int, span);
                let narrow = int.bytes(self.types().model) < self.types().model.pointer_bytes();
                if narrow || int == Int::Bool { self.wrap(value, int) } else { self.number_of_pointer(value, int) }
            }
            // Cut after it was a number as wide as a pointer: the same as cutting it at once.
            (CTypeKind::Int(int), CTypeKind::Int(wide))
                if int != Int::Bool
                    && wide != Int::Bool
                    && wide.bytes(self.types().model) == self.types().model.pointer_bytes()
                    && int.bytes(self.types().model) < wide.bytes(self.types().model)
                    && pointer_under(inner).is_some_and(|p| self.types().pointee(p.ty).is_some()) =>
            {
                let value = pointer_under(inner).map_or(zero, |p| self.value(p));
                self.cut_address(value, int, span);
                self.wrap(value, int)
            }
            (CTypeKind::Int(int), CTypeKind::Int(from)) if self.is_any(inner) && self.same_values(int, from) => {
                // Any value of a type is, converted, any value of a type of the same width.
                self.nondet(ty, inner.span)
            }
            (CTypeKind::Int(int), _) => {
                let value = self.value(inner);
                self.cut_address(value, int, span);
                if int == Int::UInt128 {
                    let fits = self.b().le(self.terms.int(0), value);
                    self.only_modelled(fits, "an unsigned number of 128 bits above 2^127", span);
                }
                self.wrap(value, int)
            }
            _ => self.value(inner),
        }
    }

    /// Whether an expression is any value of its type and nothing else.
    fn is_any(&self, e: &Expr) -> bool {
        let CExprKind::Call(CCallee::Direct(f), args) = &e.kind else { return false };
        let name = self.unit.functions[*f].name.as_str();
        args.is_empty() && name.starts_with("__VERIFIER_nondet_") && !name.ends_with("ool")
    }

    /// Whether conversion maps the values of one integer type one to one onto those of the other.
    fn same_values(&self, a: Int, b: Int) -> bool {
        let model = self.types().model;
        a != Int::Bool && b != Int::Bool && a.bytes(model) == b.bytes(model)
    }

    fn assign_op(
        &mut self,
        place: &crate::c::ast::LValue,
        op: CBinaryOp,
        value: &Expr,
        compute: CType,
        span: Span,
    ) -> Term {
        let zero = self.terms.int(0);
        let Some(at) = self.place(place) else { return zero };
        let y = self.value(value);
        if self.types().is_float(place.ty) {
            return self.assign_float(at, place.ty, op, y, compute, span);
        }
        let (compute, target) = (self.int_of(compute), self.int_of(place.ty));
        if place.ty.quals.atomic {
            let old = self.exchange(at, place.ty, span, What::Cas, |lower, old| {
                let new = lower.atomic_op(op, old, y, compute);
                lower.wrap(new, target)
            });
            // Unlike the functions on atomics, which wrap, the operators compute as everywhere (C11 6.5.16.2): it may overflow.
            let old = self.wrap(old, compute);
            let new = self.binary_op(op, old, y, compute, span);
            return self.wrap(new, target);
        }
        let old = self.read(at, place.ty, span);
        if self.cur.at.is_none() {
            return zero;
        }
        let old = self.wrap(old, compute);
        let new = self.binary_op(op, old, y, compute, span);
        let new = self.wrap(new, target);
        self.write(at, place.ty, new, span);
        self.written(at, place.ty, new, span)
    }

    /// The value of an assignment: of a private variable it must be read anew, for its old value may be part of the term.
    pub(super) fn written(&mut self, at: Ref, ty: CType, value: Term, span: Span) -> Term {
        let hits = self.hits(at, ty);
        match &hits.cases[..] {
            [case] if self.slots[case.slot].owner == SlotOwner::Task(self.cur.task) && hits.unmodelled.is_none() => {
                self.read(at, ty, span)
            }
            // As it was stored, which for a bit-field is narrower.
            [case] => self.stored(*case, value),
            _ => value,
        }
    }

    fn increment(&mut self, place: &crate::c::ast::LValue, step: i128, fix: Fix, span: Span) -> Term {
        let zero = self.terms.int(0);
        let Some(at) = self.place(place) else { return zero };
        let int = self.types().as_int(place.ty);
        if place.ty.quals.atomic {
            let old = self.exchange(at, place.ty, span, What::Cas, |lower, old| {
                let raw = lower.b().add(old, lower.b().num(step));
                match int {
                    Some(int) => lower.wrap(raw, int),
                    None => raw,
                }
            });
            let raw = self.b().add(old, self.b().num(step));
            let new = match int {
                Some(int) if int < Int::Int => self.wrap(raw, int),
                Some(int) => self.fit(raw, int, span),
                None => raw,
            };
            return if fix == Fix::After { old } else { new };
        }
        let old = self.read(at, place.ty, span);
        if self.cur.at.is_none() {
            return zero;
        }
        // The old value must survive the write of a private variable.
        let old = match fix {
            Fix::After if self.b().as_num(old).is_none() => {
                let keep = self.temp(span);
                self.slots[keep].range = int.map(|i| i.range(self.types().model));
                self.update(vec![(keep, old)], What::Assign, span);
                self.slot_term(keep)
            }
            _ => old,
        };
        let raw = self.b().add(old, self.b().num(step));
        let new = match int {
            // Narrow types are promoted, so the sum cannot overflow before it is converted back.
            Some(int) if int < Int::Int => self.wrap(raw, int),
            Some(int) => self.fit(raw, int, span),
            None => raw,
        };
        self.write(at, place.ty, new, span);
        match fix {
            Fix::Before => self.written(at, place.ty, new, span),
            Fix::After => old,
        }
    }

    pub(super) fn require_join(&mut self) {
        self.assume_defined(Undefined::Join);
    }
}

/// The pointer that a number was made from by a cast.
fn pointer_under(e: &Expr) -> Option<&Expr> {
    match &e.kind {
        CExprKind::Cast(inner) => Some(inner),
        _ => None,
    }
}

/// What of an array an index may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    Inside,
    OrBehind,
}
