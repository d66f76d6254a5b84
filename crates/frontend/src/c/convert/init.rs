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
                    let text = self.string(s);
                    let length = length.unwrap_or(text.units.len() as u64);
                    let mut parts = Vec::new();
                    self.text_parts(&text.units, of, length, 0, span, &mut parts);
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

    fn text_parts(&mut self, units: &[u32], of: CType, length: u64, base: u64, span: Span, parts: &mut Vec<InitPart>) {
        let size = self.types.size(of).unwrap_or(1);
        for (i, unit) in units.iter().enumerate().take(length as usize) {
            let value = match self.types.as_int(of) {
                Some(int) => int.wrap(i128::from(*unit), self.types.model),
                None => i128::from(*unit),
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
        let mut cursor = ItemCursor { items, at: 0, followed: false };
        let reached = self.fill(ty, 0, 0, &mut cursor, Braces::Own, &mut parts, span);
        if let Some(item) = cursor.item() {
            let place = self.span(item);
            self.error(TYPE_ERROR, place, "there are more initialisers than the object has parts");
        }
        let ty = match self.types.kind(ty).clone() {
            CTypeKind::Array(of, None) => self.types.intern(CTypeKind::Array(of, Some(reached))).qualified(ty.quals),
            _ => ty,
        };
        (Init::Parts(parts), ty)
    }

    /// Fills an object from one of its parts on; returns how many elements of an array were reached.
    #[allow(clippy::too_many_arguments)] // The cursor of C's current object: each part of it varies in the recursion.
    fn fill(
        &mut self,
        ty: CType,
        base: u64,
        first: u64,
        cursor: &mut ItemCursor<'_>,
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
                let value = self.first_nonzero(cursor.items);
                cursor.at = cursor.items.len();
                let int = self.types.int(Int::Int);
                parts.push(InitPart { offset: base, ty, value: Expr::constant(value, int, span) });
                return 0;
            }
            _ => {
                if let Some(item) = cursor.item() {
                    cursor.advance();
                    self.fill_one(ty, base, &item.node.initializer, parts);
                }
                return 0;
            }
        };
        let (mut next, mut reached) = (first, first);
        // The first character array in braces may be a string: `char a[] = {"x"}`.
        if let (CTypeKind::Array(of, _), Some(item), 0) = (self.types.kind(ty).clone(), cursor.item(), first)
            && !cursor.designated()
            && let c::Initializer::Expression(e) = &item.node.initializer.node
            && let c::Expression::StringLiteral(s) = &e.node
            && self.types.as_int(of).is_some()
        {
            let text = self.string(s);
            let length = text.units.len() as u64;
            cursor.advance();
            self.text_parts(&text.units, of, count.min(length), base, span, parts);
            return length;
        }
        while cursor.item().is_some() {
            if cursor.designated() {
                if braces == Braces::Elided {
                    break;
                }
                next = self.fill_designated(ty, base, cursor, parts, span) + 1;
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
            self.fill_next(sub, base + offset, cursor, parts, span);
            next += 1;
            reached = reached.max(next);
        }
        reached
    }

    /// One subobject: a brace list, a whole value, or elided braces.
    fn fill_next(
        &mut self,
        sub: CType,
        offset: u64,
        cursor: &mut ItemCursor<'_>,
        parts: &mut Vec<InitPart>,
        span: Span,
    ) {
        let Some(item) = cursor.item() else { return };
        let aggregate = matches!(self.types.kind(sub), CTypeKind::Array(..) | CTypeKind::Record(_));
        if let (true, c::Initializer::Expression(e)) = (aggregate, &item.node.initializer.node) {
            let string = matches!(e.node, c::Expression::StringLiteral(_));
            let whole = self.type_of(e);
            let same = self.types.record(sub).is_some() && self.types.record(whole) == self.types.record(sub);
            let text = string && matches!(self.types.kind(sub), CTypeKind::Array(..));
            if !same && !text {
                self.fill(sub, offset, 0, cursor, Braces::Elided, parts, span);
                return;
            }
        }
        cursor.advance();
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

    /// A designated item, and those after it that go on behind it inside the object it names (C11 6.7.9p17); returns the index in the
    /// outer object it stands at.
    fn fill_designated(
        &mut self,
        ty: CType,
        base: u64,
        cursor: &mut ItemCursor<'_>,
        parts: &mut Vec<InitPart>,
        span: Span,
    ) -> u64 {
        let Some(item) = cursor.item() else { return 0 };
        let mut targets = vec![(ty, base)];
        // The objects around the last target, each with the index of the part that leads there.
        let mut around: Vec<(CType, u64, u64)> = Vec::new();
        for designator in &item.node.designation {
            let span = self.span(designator);
            let mut next = Vec::new();
            let last = targets.len();
            for (number, (ty, base)) in targets.into_iter().enumerate() {
                let leads = number + 1 == last;
                match &designator.node {
                    c::Designator::Member(name) => {
                        let path = self.types.record(ty).and_then(|r| self.types.find_field(r, &name.node.name));
                        let Some(path) = path else {
                            self.error(TYPE_ERROR, span, format!("no member `{}`", name.node.name));
                            continue;
                        };
                        let (mut ty, mut at) = (ty, base);
                        for step in path {
                            if let Some(f) = self.types.record(ty).and_then(|r| self.types.field(r, step)) {
                                if leads {
                                    around.push((ty, at, step as u64));
                                }
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
                        if leads {
                            around.push((ty, base, high.max(0) as u64));
                        }
                        for i in low.max(0)..=high {
                            next.push((of, base + i as u64 * size));
                        }
                    }
                }
            }
            targets = next;
        }
        cursor.followed = true;
        let here = *cursor;
        for (ty, at) in targets {
            *cursor = here;
            self.fill_next(ty, at, cursor, parts, span);
        }
        if cursor.at == here.at {
            cursor.advance();
        }
        let outer = around.first().map_or(0, |(.., index)| *index);
        for (ty, base, index) in around.into_iter().skip(1).rev() {
            self.fill(ty, base, index + 1, cursor, Braces::Elided, parts, span);
        }
        outer
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

/// Where a list of initialisers is read.
#[derive(Clone, Copy)]
struct ItemCursor<'n> {
    items: &'n [Node<c::InitializerListItem>],
    at: usize,
    /// The designation of the item here was followed: it counts as one without.
    followed: bool,
}

impl<'n> ItemCursor<'n> {
    fn item(&self) -> Option<&'n Node<c::InitializerListItem>> {
        self.items.get(self.at)
    }

    fn designated(&self) -> bool {
        !self.followed && self.item().is_some_and(|i| !i.node.designation.is_empty())
    }

    fn advance(&mut self) {
        self.at += 1;
        self.followed = false;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Braces {
    Own,
    Elided,
}
