//! Initialisers: lists, designators, brace elision, strings, whole structs (C11 6.7.9), flattened to byte offsets.
//!
//! In: an initialiser of the parser's tree and the type of what it initialises. Out: the values at their offsets, and
//! the type with the length that the list gave to an array without one.

use super::*;

impl Converter<'_> {
    /// An initialiser for an object of the type, and the type completed by it (`int a[] = {...}`).
    pub(super) fn initializer(&mut self, node: &Node<c::Initializer>, ty: CType) -> (Init, CType) {
        let span = self.span(node);
        match &node.node {
            c::Initializer::List(items) => self.initializer_list(items, ty, span),
            c::Initializer::Expression(e) => {
                if let (CTypeKind::Array(of, length), c::Expression::StringLiteral(s)) =
                    (self.types.kind(ty).clone(), &e.node)
                {
                    let bytes = self.string(s);
                    let length = length.unwrap_or(bytes.len() as u64);
                    let mut parts = Vec::new();
                    self.text_parts(&bytes, of, length, 0, span, &mut parts);
                    let ty = self.types.intern(CTypeKind::Array(of, Some(length))).qualified(ty.quals);
                    return (Init::Parts(parts), ty);
                }
                let value = self.value(e);
                // A scalar written for a synchronisation object (spin locks and once flags are integers there).
                if matches!(self.types.kind(ty), CTypeKind::Opaque(_)) {
                    let value = if self.types.is_scalar(value.ty) {
                        value
                    } else {
                        Expr::unmodelled("a copy of a synchronisation object", ty, span)
                    };
                    return (Init::Value(value), ty);
                }
                (Init::Value(self.cast(value, ty, span)), ty)
            }
        }
    }

    fn text_parts(&mut self, bytes: &[u8], of: CType, length: u64, base: u64, span: Span, parts: &mut Vec<InitPart>) {
        let size = self.types.size(of).unwrap_or(1);
        for (i, byte) in bytes.iter().enumerate().take(length as usize) {
            let value = match self.types.as_int(of) {
                Some(int) => int.wrap(i128::from(*byte), self.types.model),
                None => i128::from(*byte),
            };
            let value = Expr::constant(value, of.unqualified(), span);
            parts.push(InitPart { offset: base + i as u64 * size, ty: of, value });
        }
    }

    pub(super) fn initializer_list(
        &mut self,
        items: &[Node<c::InitializerListItem>],
        ty: CType,
        span: Span,
    ) -> (Init, CType) {
        let mut parts = Vec::new();
        let mut at = 0;
        let reached = self.fill(ty, 0, items, &mut at, Braces::Own, &mut parts, span);
        if at < items.len() {
            let place = self.span(&items[at]);
            self.error(TYPE_ERROR, place, "there are more initialisers than the object has parts");
        }
        let ty = match self.types.kind(ty).clone() {
            CTypeKind::Array(of, None) => self.types.intern(CTypeKind::Array(of, Some(reached))).qualified(ty.quals),
            _ => ty,
        };
        (Init::Parts(parts), ty)
    }

    /// Fills an object from the items on; returns how many elements of an array were reached.
    #[allow(clippy::too_many_arguments)] // The cursor of C's current object: each part of it varies in the recursion.
    fn fill(
        &mut self,
        ty: CType,
        base: u64,
        items: &[Node<c::InitializerListItem>],
        at: &mut usize,
        braces: Braces,
        parts: &mut Vec<InitPart>,
        span: Span,
    ) -> u64 {
        let count = match self.types.kind(ty).clone() {
            CTypeKind::Array(_, length) => length.unwrap_or(u64::MAX),
            CTypeKind::Record(r) => {
                let record = &self.types.records[r];
                let fields = record.fields.as_ref().map_or(0, Vec::len) as u64;
                if record.kind == RecordKind::Union { fields.min(1) } else { fields }
            }
            CTypeKind::Opaque(_) => {
                // Only one thing in the library's initialisers matters: a kind of mutex, the one constant not zero.
                let value = self.first_nonzero(items);
                *at = items.len();
                let int = self.types.int(Int::Int);
                parts.push(InitPart { offset: base, ty, value: Expr::constant(value, int, span) });
                return 0;
            }
            _ => {
                if let Some(item) = items.get(*at) {
                    *at += 1;
                    self.fill_one(ty, base, &item.node.initializer, parts);
                }
                return 0;
            }
        };
        let (mut next, mut reached) = (0u64, 0u64);
        // The first character array in braces may be a string: `char a[] = {"x"}`.
        if let (CTypeKind::Array(of, _), Some(first)) = (self.types.kind(ty).clone(), items.get(*at))
            && let c::Initializer::Expression(e) = &first.node.initializer.node
            && let c::Expression::StringLiteral(s) = &e.node
            && self.types.as_int(of).is_some()
        {
            let bytes = self.string(s);
            *at += 1;
            self.text_parts(&bytes, of, count.min(bytes.len() as u64), base, span, parts);
            return bytes.len() as u64;
        }
        while let Some(item) = items.get(*at) {
            if !item.node.designation.is_empty() {
                if braces == Braces::Elided {
                    break;
                }
                *at += 1;
                next = self.designated(ty, base, item, parts) + 1;
                reached = reached.max(next);
                continue;
            }
            if next >= count {
                break;
            }
            let (sub, offset) = match self.types.kind(ty).clone() {
                CTypeKind::Array(of, _) => (of, next * self.types.size(of).unwrap_or(1)),
                CTypeKind::Record(r) => match self.types.field(r, next as usize) {
                    Some(f) if f.name == "<padding>" => {
                        next += 1;
                        continue;
                    }
                    Some(f) => (f.ty, f.offset),
                    None => break,
                },
                _ => break,
            };
            self.fill_next(sub, base + offset, items, at, parts, span);
            next += 1;
            reached = reached.max(next);
        }
        reached
    }

    /// One subobject without a designator: a brace list, a whole value, or elided braces.
    fn fill_next(
        &mut self,
        sub: CType,
        offset: u64,
        items: &[Node<c::InitializerListItem>],
        at: &mut usize,
        parts: &mut Vec<InitPart>,
        span: Span,
    ) {
        let Some(item) = items.get(*at) else { return };
        let aggregate = matches!(self.types.kind(sub), CTypeKind::Array(..) | CTypeKind::Record(_));
        if let (true, c::Initializer::Expression(e)) = (aggregate, &item.node.initializer.node) {
            let string = matches!(e.node, c::Expression::StringLiteral(_));
            let whole = self.type_of(e);
            let same = self.types.record(sub).is_some() && self.types.record(whole) == self.types.record(sub);
            let text = string && matches!(self.types.kind(sub), CTypeKind::Array(..));
            if !same && !text {
                self.fill(sub, offset, items, at, Braces::Elided, parts, span);
                return;
            }
        }
        *at += 1;
        self.fill_one(sub, offset, &item.node.initializer, parts);
    }

    fn fill_one(&mut self, ty: CType, base: u64, node: &Node<c::Initializer>, parts: &mut Vec<InitPart>) {
        let span = self.span(node);
        match self.initializer(node, ty).0 {
            Init::Value(value) => parts.push(InitPart { offset: base, ty, value }),
            Init::Parts(inner) => {
                if inner.is_empty() {
                    let int = self.types.int(Int::Int);
                    if self.types.is_scalar(ty) {
                        let value = Expr::constant(0, int, span);
                        let value = self.cast(value, ty, span);
                        parts.push(InitPart { offset: base, ty, value });
                    }
                }
                parts.extend(inner.into_iter().map(|p| InitPart { offset: base + p.offset, ..p }));
            }
        }
    }

    /// A designated item; returns the index in the outer object it stands at.
    fn designated(
        &mut self,
        ty: CType,
        base: u64,
        item: &Node<c::InitializerListItem>,
        parts: &mut Vec<InitPart>,
    ) -> u64 {
        let mut targets = vec![(ty, base)];
        let mut outer = None;
        for designator in &item.node.designation {
            let span = self.span(designator);
            let mut next = Vec::new();
            for (ty, base) in targets {
                match &designator.node {
                    c::Designator::Member(name) => {
                        let path = self.types.record(ty).and_then(|r| self.types.find_field(r, &name.node.name));
                        let Some(path) = path else {
                            self.error(TYPE_ERROR, span, format!("no member `{}`", name.node.name));
                            continue;
                        };
                        let (mut ty, mut at) = (ty, base);
                        outer.get_or_insert(path[0] as u64);
                        for step in path {
                            if let Some(f) = self.types.record(ty).and_then(|r| self.types.field(r, step)) {
                                (ty, at) = (f.ty, at + f.offset);
                            }
                        }
                        next.push((ty, at));
                    }
                    c::Designator::Index(_) | c::Designator::Range(_) => {
                        let (low, high) = match &designator.node {
                            c::Designator::Range(r) => (self.value(&r.node.from), self.value(&r.node.to)),
                            c::Designator::Index(i) => {
                                let value = self.value(i);
                                (value.clone(), value)
                            }
                            c::Designator::Member(_) => continue,
                        };
                        let (CTypeKind::Array(of, _), Some(low), Some(high)) =
                            (self.types.kind(ty).clone(), low.as_const(), high.as_const())
                        else {
                            self.error(NOT_CONSTANT, span, "an array designator needs a constant and an array");
                            continue;
                        };
                        let size = self.types.size(of).unwrap_or(1);
                        outer.get_or_insert(high.max(0) as u64);
                        for i in low.max(0)..=high {
                            next.push((of, base + i as u64 * size));
                        }
                    }
                }
            }
            targets = next;
        }
        for (ty, at) in targets {
            self.fill_one(ty, at, &item.node.initializer, parts);
        }
        outer.unwrap_or(0)
    }

    fn first_nonzero(&mut self, items: &[Node<c::InitializerListItem>]) -> i128 {
        for item in items {
            let found = match &item.node.initializer.node {
                c::Initializer::List(inner) => self.first_nonzero(inner),
                c::Initializer::Expression(e) => self.value(e).as_const().unwrap_or(0),
            };
            if found != 0 {
                return found;
            }
        }
        0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Braces {
    Own,
    Elided,
}
