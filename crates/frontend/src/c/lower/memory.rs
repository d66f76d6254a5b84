//! Memory: every C object is a stretch of addresses made of scalar leaves, and every leaf is a slot.
//!
//! In: types and allocation requests. Out: objects, their leaves, and for an address term the leaves it can
//! hit. Addresses are constants of the lowering: an object keeps its place for the whole run, so a pointer is an
//! integer and a dereference a choice among leaves. Which objects a pointer slot can hold is found by repeating the
//! lowering until the answer is stable (`Facts`). A long array is one map slot per leaf of its element.
//! Members of unions that overlap are kept byte by byte. Absent: access to part of a leaf otherwise, to the bytes
//! of bit-fields and floats (unmodelled where they occur).

use super::Lower;
use super::flow::*;
use super::terms::Build;
use crate::c::types::*;
use base::Span;
use logic::{Op, Sort, Term};
use program::What;
use std::collections::BTreeSet;

/// How many elements an object has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ObjectExtent {
    Exactly(u64),
    /// A row without end: one stands for all allocations of a site, or the length is a slot.
    Endless,
}

/// What an object is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ObjectShape {
    pub of: CType,
    pub extent: ObjectExtent,
    pub owner: SlotOwner,
    pub start: ObjectStart,
}

/// When an object has ceased to be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lifetime {
    pub gone: SlotId,
    /// Made by an allocation: it can be freed.
    pub heap: bool,
    /// For a repeated allocation: the size of one object, and how many there are.
    pub each: Option<(i128, SlotId)>,
}

base::id_type!(
    /// A C object, or something else that has an address (a function, a thread's handle).
    ObjId, "obj"
);

/// The object that stands for all memory the program did not make.
pub(super) const OUTSIDE: &str = "<outside>";

/// Arrays longer than this are maps.
pub(super) const LONGEST_SPLIT: u64 = 20;
/// An object with more leaves than this is not modelled.
pub(super) const MOST_LEAVES: usize = 4096;

#[derive(Clone, Debug)]
pub(super) struct Leaf {
    pub offset: i128,
    pub size: i128,
    pub ty: CType,
    pub slot: SlotId,
    /// For a map slot: distance of its elements and their number (`None`: without end).
    pub repeat: Option<(i128, Option<i128>)>,
    /// Overlaps another leaf of another size: any access is unmodelled.
    pub(crate) torn: bool,
    /// Not 0: this many bytes, each a slot, that follow each other from `slot` on. Members of unions that overlap.
    pub bytes: u8,
}

#[derive(Clone, Debug)]
pub(super) enum Content {
    Leaves(Vec<Leaf>),
    Function(crate::c::ast::FnId),
    Thread(TaskId),
    /// Objects whose inside is not modelled, with the reason.
    Nothing(String),
}

#[derive(Clone, Debug)]
pub(super) struct CObject {
    pub key: String,
    pub base: i128,
    pub size: i128,
    /// The type of its elements and their number (`None`: without end), where it has one.
    pub element: Option<(CType, Option<u64>)>,
    pub content: Content,
    /// The number of elements, where that is known only when the program runs.
    pub length: Option<SlotId>,
    pub lifetime: Option<Lifetime>,
    /// What it was made from, for what is made of a type.
    pub shape: Option<ObjectShape>,
    /// How often it was made anew with another shape.
    pub generation: u32,
}

/// One way an access can go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub(crate) cond: Term,
    pub slot: SlotId,
    /// The key, for a map slot.
    pub key: Option<Term>,
    /// As of the leaf.
    pub bytes: u8,
}

impl Case {
    /// The slots of the bytes, or the one slot.
    pub(super) fn slots(self) -> impl Iterator<Item = SlotId> {
        (0..u32::from(self.bytes).max(1)).map(move |i| SlotId(self.slot.0 + i))
    }
}

/// What an access can hit.
#[derive(Clone, Debug)]
pub(super) struct Hits {
    pub cases: Vec<Case>,
    /// None of the cases holds: the access is undefined.
    pub(crate) invalid: Term,
    /// An access that C may allow and the model does not have, and when it happens.
    pub unmodelled: Option<(Term, String)>,
}

/// A place in memory: an object and an offset, or an address.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ref {
    Object(ObjId, Term),
    Address(Term),
    /// An offset inside a struct of the type at an address: only places where such a struct lives can be meant.
    Inside(Term, CType, Term),
}

impl Lower<'_> {
    /// The slot's current value as a C integer (or map).
    pub(super) fn slot_term(&self, slot: SlotId) -> Term {
        self.terms.sym(self.slots[slot].symbol)
    }

    /// The objects a term's value can point to.
    pub(super) fn targets(&self, term: Term) -> BTreeSet<ObjId> {
        let mut out = BTreeSet::new();
        self.collect_targets(term, &mut out);
        out
    }

    /// Whether a value may come from outside the program: then it may be one that nothing here is known of.
    pub(super) fn may_be_outside(&self, value: Term) -> bool {
        self.object_keys.get(OUTSIDE).is_some_and(|outside| self.targets(value).contains(outside))
    }

    fn collect_targets(&self, term: Term, out: &mut BTreeSet<ObjId>) {
        match self.terms.node(term) {
            logic::Node::Num(n, _) => out.extend(self.object_at(n)),
            logic::Node::Sym(s) => {
                if let Some(slot) = self.by_symbol.get(&s) {
                    // What this pass has found already spares a pass; the last pass finds nothing new.
                    for known in [&self.facts.points_to, &self.found.points_to] {
                        out.extend(known.get(slot).into_iter().flatten());
                    }
                }
            }
            logic::Node::App(Op::Ite, args) => {
                self.collect_targets(args[1], out);
                self.collect_targets(args[2], out);
            }
            logic::Node::App(_, args) if self.terms.sort_of(term) != Sort::BOOL => {
                args.iter().for_each(|a| self.collect_targets(*a, out));
            }
            _ => {}
        }
    }

    /// Notes that a slot may now hold a value, for the next pass.
    pub(super) fn note_write(&mut self, slot: SlotId, value: Term) {
        let found = self.targets(value);
        self.work += found.len();
        self.found.points(slot, found);
        self.found.written.insert(slot);
    }

    pub(super) fn object_at(&self, address: i128) -> Option<ObjId> {
        // One past the end still belongs to the object.
        let (_, id) = self.by_base.range(..=address).next_back()?;
        (address <= self.objects[*id].base + self.objects[*id].size).then_some(*id)
    }

    /// The address of a place as a term.
    pub(super) fn address_of(&self, place: Ref) -> Term {
        match place {
            Ref::Object(o, offset) => Build(&self.terms).add(offset, self.terms.int(self.objects[o].base)),
            Ref::Address(a) => a,
            Ref::Inside(a, _, offset) => Build(&self.terms).add(a, offset),
        }
    }

    /// A member of a struct at a place.
    pub(super) fn member(&self, place: Ref, record: CType, offset: i128) -> Ref {
        match place {
            Ref::Address(a) => Ref::Inside(a, record, self.terms.int(offset)),
            other => self.offset(other, self.terms.int(offset)),
        }
    }

    /// Where in a type a struct of another type begins.
    fn positions(&self, ty: CType, wanted: CType, base: i128, out: &mut Vec<i128>) {
        let types = &self.unit.types;
        if types.record(ty).is_some() && types.record(ty) == types.record(wanted) {
            out.push(base);
        }
        match types.kind(ty) {
            CTypeKind::Array(of, Some(n)) if *n <= LONGEST_SPLIT => {
                let size = types.size(*of).unwrap_or(1) as i128;
                (0..*n as i128).for_each(|i| self.positions(*of, wanted, base + i * size, out));
            }
            CTypeKind::Record(r) => {
                for field in types.records[*r].fields.iter().flatten() {
                    self.positions(field.ty, wanted, base + field.offset as i128, out);
                }
            }
            _ => {}
        }
    }

    /// The places of a struct type in an object that is short enough to list them; `None`: any address of it.
    fn struct_places(&self, object: &CObject, wanted: CType) -> Option<Vec<i128>> {
        let (of, count) = object.element?;
        let count = count.filter(|n| *n <= LONGEST_SPLIT)?;
        let size = self.unit.types.size(of)? as i128;
        let mut out = Vec::new();
        for i in 0..count as i128 {
            self.positions(of, wanted, i * size, &mut out);
        }
        let long_array = matches!(self.unit.types.kind(of), CTypeKind::Array(_, Some(n)) if *n > LONGEST_SPLIT);
        (!out.is_empty() && !long_array).then_some(out)
    }

    /// Moves a place by bytes.
    pub(super) fn offset(&self, place: Ref, by: Term) -> Ref {
        let b = Build(&self.terms);
        match place {
            Ref::Object(o, at) => Ref::Object(o, b.add(at, by)),
            Ref::Address(a) => self.settle(b.add(a, by)),
            Ref::Inside(a, ty, offset) => Ref::Inside(a, ty, b.add(offset, by)),
        }
    }

    /// An address whose constant part lies in one object is a place in that object: C lets no pointer leave its object.
    pub(super) fn settle(&self, address: Term) -> Ref {
        let b = Build(&self.terms);
        if let Some(n) = b.as_num(address) {
            return match self.object_at(n) {
                Some(o) => Ref::Object(o, b.num(n - self.objects[o].base)),
                None => Ref::Address(address),
            };
        }
        let targets = self.targets(address);
        if let (1, Some(o)) = (targets.len(), targets.first()) {
            // A sum with the constant base of the object in it: the rest is the offset.
            if let Some(constant) = self.constant_part(address)
                && self.object_at(constant) == Some(*o)
            {
                return Ref::Object(*o, b.sub(address, b.num(self.objects[*o].base)));
            }
        }
        Ref::Address(address)
    }

    fn constant_part(&self, term: Term) -> Option<i128> {
        let b = Build(&self.terms);
        if let Some(n) = b.as_num(term) {
            return Some(n);
        }
        match self.terms.app(term) {
            Some((Op::Add, args)) => self.constant_part(args[1]).or_else(|| self.constant_part(args[0])),
            _ => None,
        }
    }

    /// Every leaf an access of a type at a place can hit.
    pub(super) fn hits(&self, place: Ref, ty: CType) -> Hits {
        let b = Build(&self.terms);
        let mut cases = Vec::new();
        let mut unmodelled: Vec<Term> = Vec::new();
        let mut why = String::new();
        let mut outside = false;
        let mut narrowed = Vec::new();
        let (objects, address): (Vec<ObjId>, Option<Term>) = match place {
            Ref::Object(o, _) => (vec![o], None),
            Ref::Address(a) => (self.targets(a).into_iter().collect(), Some(a)),
            Ref::Inside(a, ty, offset) => {
                let mut rest = Vec::new();
                for o in self.targets(a) {
                    match self.struct_places(&self.objects[o], ty) {
                        Some(places) => narrowed.extend(places.into_iter().map(|q| (o, q, a, offset))),
                        None => rest.push(o),
                    }
                }
                (rest, Some(b.add(a, offset)))
            }
        };
        // A struct at a known place of an object: the access is one inside it.
        for (o, start, a, offset) in narrowed {
            let here = b.eq_linear(a, self.objects[o].base + start);
            let inner = self.hits(Ref::Object(o, b.add(offset, b.num(start))), ty);
            for case in inner.cases {
                let cond = b.and(here, case.cond);
                if b.as_bool(cond) != Some(false) {
                    cases.push(Case { cond, ..case });
                }
            }
            if let Some((cond, reason)) = inner.unmodelled {
                unmodelled.push(b.and(here, cond));
                why = reason;
            }
        }
        // One of several rows without end: each ends where the next may begin.
        let several = objects.len() > 1;
        for o in objects {
            let object = &self.objects[o];
            // The offset inside this object, which for an address is a difference.
            let at = |leaf: i128| -> Term {
                match (place, address) {
                    (Ref::Object(_, offset), _) => b.eq_linear(offset, leaf),
                    (_, Some(a)) => b.eq_linear(a, object.base + leaf),
                    _ => b.ff(),
                }
            };
            if object.key == OUTSIDE {
                outside = true;
                continue;
            }
            let leaves = match &object.content {
                Content::Leaves(leaves) => leaves,
                Content::Nothing(reason) => {
                    unmodelled.push(match address {
                        Some(a) => b.and(b.le(b.num(object.base), a), b.le(a, b.num(object.base + object.size))),
                        None => b.tt(),
                    });
                    why.clone_from(reason);
                    continue;
                }
                Content::Function(_) | Content::Thread(_) => continue,
            };
            let offset = match (place, address) {
                (Ref::Object(_, offset), _) => offset,
                (_, Some(a)) => b.sub(a, b.num(object.base)),
                _ => continue,
            };
            let first = cases.len();
            // A character may look at any byte; elsewhere in memory without a declared type a store may change the type.
            let character = matches!(self.unit.types.kind(ty), CTypeKind::Int(Int::Char | Int::UChar));
            let loose = object.key.contains("<heap ") && self.retyped_memory(object);
            let mut covered = 0;
            for leaf in leaves {
                let fits = self.compatible(ty, leaf);
                let (cond, key) = match leaf.repeat {
                    None => (b.and(at(leaf.offset), self.alive(o, None)), None),
                    Some((stride, count)) => {
                        let Some((key, exact)) = b.quotient(b.sub(offset, b.num(leaf.offset)), stride) else {
                            continue;
                        };
                        let low = b.le(b.num(0), key);
                        let high = match (count, object.length) {
                            (Some(n), _) => b.lt(key, b.num(n)),
                            (None, Some(length)) => b.lt(key, self.slot_term(length)),
                            (None, None) if several => b.lt(key, b.num((1 << self.stretch()) / stride.max(1))),
                            (None, None) => b.tt(),
                        };
                        (b.all([low, high, exact, self.alive(o, Some(key))]), Some(key))
                    }
                };
                if fits {
                    covered += leaf.size * leaf.repeat.and_then(|(_, n)| n).unwrap_or(1);
                    if b.as_bool(cond) != Some(false) {
                        cases.push(Case { cond, slot: leaf.slot, key, bytes: leaf.bytes });
                    }
                    continue;
                }
                let endless = leaf.repeat.is_some_and(|(_, count)| count.is_none());
                if (character && !endless && leaf.bytes == 0) || !(loose || self.partial(ty, leaf)) {
                    continue;
                }
                let touched = b.and(self.overlap(offset, ty, leaf, object), self.alive(o, key));
                if b.as_bool(touched) != Some(false) {
                    unmodelled.push(touched);
                    why = format!("access to part of `{}`, or through another type", self.slots[leaf.slot].shown);
                }
            }
            let endless = leaves.iter().any(|l| l.repeat.is_some_and(|(_, count)| count.is_none()));
            if character && !endless && covered < object.size {
                let inside = b.and(b.le(b.num(0), offset), b.lt(offset, b.num(object.size)));
                let known = b.any(cases[first..].iter().map(|c| c.cond));
                let other = b.all([inside, self.alive(o, None), b.not(known)]);
                if b.as_bool(other) != Some(false) {
                    unmodelled.push(other);
                    why = format!("a byte of `{}`", object.key.split(['#', '!']).next().unwrap_or_default());
                }
            }
        }
        if let (true, Some(a)) = (outside, address) {
            // Neither null nor an object of the program.
            let known = b.any(cases.iter().map(|c| c.cond));
            unmodelled.push(b.and(b.ne(a, b.num(0)), b.not(known)));
            why = "memory that the program did not make".into();
        }
        let bad = b.any(unmodelled);
        let invalid = b.not(b.or(b.any(cases.iter().map(|c| c.cond)), bad));
        let unmodelled = (b.as_bool(bad) != Some(false)).then_some((bad, why));
        Hits { cases, invalid, unmodelled }
    }

    /// Whether an access at an offset touches a leaf.
    fn overlap(&self, offset: Term, ty: CType, leaf: &Leaf, object: &CObject) -> Term {
        let b = Build(&self.terms);
        let size = self.unit.types.size(ty).unwrap_or(1).max(1) as i128;
        let from = b.sub(offset, b.num(leaf.offset));
        let begins = b.lt(b.num(-size), from);
        let Some((stride, count)) = leaf.repeat else { return b.and(begins, b.lt(from, b.num(leaf.size))) };
        let ends = match (count, object.length) {
            (Some(n), _) => b.lt(from, b.num(n * stride)),
            (None, Some(length)) => b.lt(from, b.mul(self.slot_term(length), b.num(stride))),
            (None, None) => b.tt(),
        };
        // Where in its element the access begins, which is often known though the element is not.
        let constant = self.constant_part(from).unwrap_or(0);
        let known =
            b.quotient(b.sub(from, b.num(constant)), stride).filter(|(_, exact)| b.as_bool(*exact) == Some(true));
        let at = match known {
            Some(_) => b.num(constant.rem_euclid(stride)),
            None => b.modulo(from, b.num(stride)),
        };
        let meets = b.or(b.lt(at, b.num(leaf.size)), b.lt(b.num(stride - size), at));
        b.all([begins, ends, meets])
    }

    /// Whether an access of the type is an access of the whole leaf.
    fn compatible(&self, ty: CType, leaf: &Leaf) -> bool {
        let types = &self.unit.types;
        if leaf.torn || types.size(ty).map(|s| s as i128) != Some(leaf.size) {
            return false;
        }
        if leaf.bytes > 0 {
            return match types.kind(ty) {
                CTypeKind::Int(int) => *int != Int::Bool,
                CTypeKind::Pointer(_) => true,
                _ => false,
            };
        }
        match (types.kind(ty), types.kind(leaf.ty)) {
            (CTypeKind::Opaque(a), CTypeKind::Opaque(b)) => a == b,
            (CTypeKind::Float(_), CTypeKind::Float(_)) => true,
            (CTypeKind::Int(a), CTypeKind::Int(b)) => (*a == Int::Bool) == (*b == Int::Bool),
            (CTypeKind::Int(_) | CTypeKind::Pointer(_), CTypeKind::Pointer(_))
            | (CTypeKind::Pointer(_), CTypeKind::Int(_)) => true,
            _ => false,
        }
    }

    /// Whether an access that does not fit the leaf touches it all the same: through a character, of a torn leaf, or as a number of another
    /// size. The last is undefined by the rule on effective types (C11 6.5p7), but programs do it and compilers can be told to bear it: such
    /// runs are not left out of the verdict.
    fn partial(&self, ty: CType, leaf: &Leaf) -> bool {
        let types = &self.unit.types;
        if leaf.bytes > 0 {
            // The bytes are there for numbers up to eight of them.
            let other =
                matches!(types.kind(ty), CTypeKind::Int(Int::Bool) | CTypeKind::Float(_) | CTypeKind::Opaque(_));
            return other || types.size(ty).is_none_or(|s| s > 8);
        }
        // Some headers make a spin lock or a once flag of an integer; other memory is no synchronisation object.
        let lock = matches!(types.kind(ty), CTypeKind::Opaque(_))
            && matches!(types.kind(leaf.ty), CTypeKind::Int(_))
            && types.size(ty).map(|s| s as i128) == Some(leaf.size);
        let number = |kind: &CTypeKind| matches!(kind, CTypeKind::Int(_) | CTypeKind::Pointer(_));
        let resized = number(types.kind(ty)) && number(types.kind(leaf.ty));
        leaf.torn
            || lock
            || resized
            || matches!(types.kind(ty), CTypeKind::Int(Int::Char | Int::UChar | Int::Bool) | CTypeKind::Float(_))
            || types.size(ty).is_none()
            || matches!(types.kind(leaf.ty), CTypeKind::Int(Int::Char | Int::UChar) | CTypeKind::Float(_))
    }
}

/// How the leaves of a new object begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ObjectStart {
    Zero,
    Any,
}

/// A request for a slot.
pub(super) struct NewSlot {
    pub key: String,
    pub shown: String,
    pub sort: Sort,
    pub owner: SlotOwner,
    pub initial: Option<Term>,
    pub range: Option<(i128, i128)>,
    pub lock: bool,
    pub(crate) role: SlotRole,
    pub span: Span,
}

impl Build<'_> {
    /// `term == value`, solved for the variable part: `4 * i + 8 == 16` is `i == 2`.
    pub(crate) fn eq_linear(self, term: Term, value: i128) -> Term {
        match self.0.app(term) {
            Some((Op::Add, args)) if self.as_num(args[1]).is_some() => {
                self.eq_linear(args[0], value - self.as_num(args[1]).unwrap_or(0))
            }
            Some((Op::Mul, args)) => match self.as_num(args[1]) {
                Some(k) if k != 0 => {
                    if value % k == 0 {
                        self.eq_linear(args[0], value / k)
                    } else {
                        self.ff()
                    }
                }
                _ => self.eq(term, self.num(value)),
            },
            _ => self.eq(term, self.num(value)),
        }
    }
    /// `term / by` and the condition that it divides exactly.
    pub(crate) fn quotient(self, term: Term, by: i128) -> Option<(Term, Term)> {
        if by == 1 {
            return Some((term, self.tt()));
        }
        if let Some(n) = self.as_num(term) {
            return (n % by == 0).then(|| (self.num(n / by), self.tt()));
        }
        if let Some((Op::Add, args)) = self.0.app(term)
            && let (Some((a, x)), Some((b, y))) = (self.quotient(args[0], by), self.quotient(args[1], by))
            && self.as_bool(x) == Some(true)
            && self.as_bool(y) == Some(true)
        {
            return Some((self.add(a, b), self.tt()));
        }
        if let Some((Op::Mul, args)) = self.0.app(term)
            && let Some(k) = self.as_num(args[1])
            && k % by == 0
        {
            return Some((self.mul(args[0], self.num(k / by)), self.tt()));
        }
        let exact = self.eq(self.modulo(term, self.num(by)), self.num(0));
        Some((self.div(term, self.num(by)), exact))
    }
}

/// The kind of step a plain access is.
pub(super) const ACCESS: What = What::Assign;
