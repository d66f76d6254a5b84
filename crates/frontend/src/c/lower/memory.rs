//! Memory: every C object is a stretch of addresses made of scalar leaves, and every leaf is a slot.
//!
//! Comes in: types and allocation requests. Goes out: objects, their leaves, and for an address term the leaves it can
//! hit. Addresses are constants of the lowering: an object keeps its place for the whole run, so a pointer is an
//! integer and a dereference a choice among leaves. Which objects a pointer slot can hold is found by repeating the
//! lowering until the answer is stable (`Facts`). A long array is one map slot per leaf of its element.
//! Members of unions that overlap are kept byte by byte. Absent on purpose: access to part of a leaf otherwise, to the bytes
//! of bit-fields and floats (unmodelled where they occur).

use super::flow::*;
use super::lifetime::Lifetime;
use super::terms::Build;
use super::{Facts, Lower};
use crate::c::types::*;
use base::Span;
use logic::{Op, Sort, Term};
use program::What;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

base::id_type!(
    /// A C object, or something else that has an address (a function, a thread's handle).
    ObjId, "obj"
);

/// The object that stands for all memory the program did not make.
pub(super) const OUTSIDE: &str = "<outside>";

/// Arrays longer than this are maps.
const LONGEST_SPLIT: u64 = 20;
/// An object with more leaves than this is not modelled.
const MOST_LEAVES: usize = 4096;

#[derive(Clone, Debug)]
pub(super) struct Leaf {
    pub offset: i128,
    pub size: i128,
    pub ty: Ty,
    pub slot: SlotId,
    /// For a map slot: distance of its elements and their number (`None`: without end).
    pub repeat: Option<(i128, Option<i128>)>,
    /// Overlaps another leaf of another size: any access is unmodelled.
    pub torn: bool,
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
pub(super) struct Object {
    pub key: String,
    pub base: i128,
    pub size: i128,
    /// The type of its elements and their number (`None`: without end), where it has one.
    pub element: Option<(Ty, Option<u64>)>,
    pub content: Content,
    /// The number of elements, where that is known only when the program runs.
    pub length: Option<SlotId>,
    pub lifetime: Option<Lifetime>,
}

/// One way an access can go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub cond: Term,
    pub slot: SlotId,
    /// The key, for a map slot.
    pub key: Option<Term>,
    /// As of the leaf.
    pub bytes: u8,
}

impl Case {
    /// The slots of the bytes, or the one slot.
    pub fn slots(self) -> impl Iterator<Item = SlotId> {
        (0..u32::from(self.bytes).max(1)).map(move |i| SlotId(self.slot.0 + i))
    }
}

/// What an access can hit.
#[derive(Clone, Debug)]
pub(super) struct Hits {
    pub cases: Vec<Case>,
    /// None of the cases holds: the access is undefined.
    pub invalid: Term,
    /// An access that C may allow and the model does not have, and when it happens.
    pub unmodelled: Option<(Term, String)>,
}

/// A place in memory: an object and an offset, or an address.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ref {
    Object(ObjId, Term),
    Address(Term),
    /// An offset inside a struct of the type at an address: only places where such a struct lives can be meant.
    Inside(Term, Ty, Term),
}

impl Lower<'_> {
    pub(super) fn slot(&mut self, slot: NewSlot) -> SlotId {
        if let Some(id) = self.slot_keys.get(&slot.key) {
            return *id;
        }
        let symbol = self.terms.symbol(slot.shown.clone(), slot.sort);
        let id = self.slots.push(Slot {
            key: slot.key.clone(),
            shown: slot.shown,
            sort: slot.sort,
            symbol,
            owner: slot.owner,
            initial: slot.initial,
            range: slot.range,
            lock: slot.lock,
            external: false,
            synchronising: slot.synchronising,
            span: slot.span,
        });
        self.slot_keys.insert(slot.key, id);
        self.by_symbol.insert(symbol, id);
        id
    }

    /// The slot's current value as a C integer (or map).
    pub(super) fn slot_term(&self, slot: SlotId) -> Term {
        self.terms.sym(self.slots[slot].symbol)
    }

    /// Makes an object of a type. Statics and locals whose address is taken are `Shared`.
    pub(super) fn object(&mut self, key: &str, shown: &str, ty: Ty, owner: Owner, span: Span, start: Start) -> ObjId {
        if let Some(id) = self.object_keys.get(key) {
            return *id;
        }
        let mut leaves = Vec::new();
        let content = match self.leaves_of(ty, 0, key, shown, owner, span, start, &mut leaves) {
            Ok(()) => Content::Leaves(self.bytewise(leaves, key, shown, owner, span, start)),
            Err(why) => Content::Nothing(why),
        };
        let size = self.unit.types.size(ty).unwrap_or(1) as i128;
        let id = self.place_object(key, size, content);
        self.objects[id].element = Some((ty, Some(1)));
        id
    }

    /// A heap object or an array of variable length: so many elements of one type.
    #[allow(clippy::too_many_arguments)] // As `object`, and the number.
    pub(super) fn row(
        &mut self,
        key: &str,
        shown: &str,
        of: Ty,
        count: u64,
        owner: Owner,
        span: Span,
        start: Start,
    ) -> ObjId {
        if count == 1 {
            return self.object(key, shown, of, owner, span, start);
        }
        if let Some(id) = self.object_keys.get(key) {
            return *id;
        }
        let mut leaves = Vec::new();
        let made = self.array_leaves(of, count, 0, key, shown, owner, span, start, &mut leaves);
        let content = match made {
            Ok(()) => Content::Leaves(self.bytewise(leaves, key, shown, owner, span, start)),
            Err(why) => Content::Nothing(why),
        };
        let size = (self.unit.types.size(of).unwrap_or(1) * count) as i128;
        let id = self.place_object(key, size, content);
        self.objects[id].element = Some((of, Some(count)));
        id
    }

    #[allow(clippy::too_many_arguments)] // As `leaves_of`.
    fn array_leaves(
        &mut self,
        of: Ty,
        n: u64,
        offset: i128,
        key: &str,
        shown: &str,
        owner: Owner,
        span: Span,
        start: Start,
        out: &mut Vec<Leaf>,
    ) -> Result<(), String> {
        let size = self.unit.types.size(of).unwrap_or(1) as i128;
        if n > LONGEST_SPLIT {
            return self.row_leaves(of, offset, (size, Some(n as i128)), key, shown, owner, span, start, out);
        }
        for i in 0..n as i128 {
            let (key, shown) = (format!("{key}[{i}]"), format!("{shown}[{i}]"));
            self.leaves_of(of, offset + i * size, &key, &shown, owner, span, start, out)?;
        }
        Ok(())
    }

    /// Leaves that overlap become single bytes, of which every number that stands there is made.
    fn bytewise(
        &mut self,
        mut leaves: Vec<Leaf>,
        key: &str,
        shown: &str,
        owner: Owner,
        span: Span,
        start: Start,
    ) -> Vec<Leaf> {
        let whole: Vec<bool> = leaves.iter().map(|l| !l.torn).collect();
        tear(&mut leaves);
        let mut out: Vec<Leaf> = Vec::new();
        let mut overlapping: Vec<(Leaf, bool)> = Vec::new();
        for (leaf, whole) in leaves.into_iter().zip(whole) {
            match leaf.torn {
                true => overlapping.push((leaf, whole)),
                false => out.push(leaf),
            }
        }
        overlapping.sort_by_key(|(l, _)| (l.offset, l.size));
        let mut groups: Vec<Vec<(Leaf, bool)>> = Vec::new();
        let mut reach = i128::MIN;
        for (leaf, whole) in overlapping {
            let end = leaf.offset + leaf.size;
            match groups.last_mut() {
                Some(group) if leaf.offset < reach => group.push((leaf, whole)),
                _ => groups.push(vec![(leaf, whole)]),
            }
            reach = reach.max(end);
        }
        for group in groups {
            let number = |(l, whole): &(Leaf, bool)| {
                let plain = match self.unit.types.kind(l.ty) {
                    Kind::Int(int) => *int != Int::Bool && l.size <= 8,
                    Kind::Pointer(_) => true,
                    _ => false,
                };
                plain && *whole && l.repeat.is_none() && l.offset < i128::from(BIT_FIELD)
            };
            if !group.iter().all(number) {
                out.extend(group.into_iter().map(|(l, _)| l));
                continue;
            }
            let low = group.iter().map(|(l, _)| l.offset).min().unwrap_or(0);
            let high = group.iter().map(|(l, _)| l.offset + l.size).max().unwrap_or(0);
            let ty = self.unit.char_type;
            let slots: Vec<SlotId> = (low..high)
                .map(|at| {
                    let (key, shown) = (format!("{key}+{at}"), format!("{shown}+{at}"));
                    let slot = self.leaf_slot(ty, &key, &shown, owner, span, start, None);
                    self.slots[slot].range = Some((0, 255));
                    slot
                })
                .collect();
            for bytes in [1u8, 2, 4, 8] {
                let size = i128::from(bytes);
                let places = (low..=high - size).zip(&slots);
                out.extend(places.map(|(offset, slot)| Leaf {
                    offset,
                    size,
                    ty,
                    slot: *slot,
                    repeat: None,
                    torn: false,
                    bytes,
                }));
            }
        }
        out
    }

    /// An endless row of objects of one type: what an allocation site gives when it may run any number of times.
    pub(super) fn pool(&mut self, key: &str, shown: &str, ty: Ty, span: Span) -> ObjId {
        self.endless(key, shown, ty, Owner::Shared, span, Start::Any)
    }

    /// A row whose number of elements is known only when the program runs; `length` holds it.
    pub(super) fn measured(
        &mut self,
        key: &str,
        shown: &str,
        ty: Ty,
        owner: Owner,
        span: Span,
        start: Start,
    ) -> (ObjId, SlotId) {
        let id = self.endless(key, shown, ty, owner, span, start);
        let length = self.slot(NewSlot {
            key: format!("<length {key}>"),
            shown: format!("length_{shown}"),
            sort: Sort::INT,
            owner,
            initial: Some(self.terms.int(0)),
            range: None,
            lock: false,
            synchronising: true,
            span,
        });
        self.objects[id].length = Some(length);
        (id, length)
    }

    fn endless(&mut self, key: &str, shown: &str, ty: Ty, owner: Owner, span: Span, start: Start) -> ObjId {
        if let Some(id) = self.object_keys.get(key) {
            return *id;
        }
        let size = self.unit.types.size(ty).unwrap_or(1).max(1) as i128;
        let mut leaves = Vec::new();
        let made = self.row_leaves(ty, 0, (size, None), key, shown, owner, span, start, &mut leaves);
        let content = match made {
            Ok(()) => Content::Leaves(leaves),
            Err(why) => Content::Nothing(why),
        };
        let id = self.place_object(key, 1, content);
        self.far_away(id);
        id
    }

    /// The addresses of one repeated allocation, as a power of two.
    fn stretch(&self) -> u64 {
        if self.unit.types.model == DataModel::Ilp32 { 24 } else { 40 }
    }

    /// Moves an object without end far above the others, into a stretch of its own that fits the pointers.
    pub(super) fn far_away(&mut self, id: ObjId) {
        self.pools += 1;
        let shift = self.stretch();
        self.by_base.remove(&self.objects[id].base);
        self.objects[id].base = i128::from(self.pools) << shift;
        self.by_base.insert(self.objects[id].base, id);
        self.objects[id].size = (1i128 << shift) - 1;
        if i128::from(self.pools) >= 1i128 << (self.unit.types.model.pointer_bytes() * 8 - shift) {
            self.objects[id].content = Content::Nothing("more places of repeated allocation than fit".into());
        }
        self.assume("c-few-objects", "one place in the code makes fewer than 2^24 objects or threads");
    }

    pub(super) fn place_object(&mut self, key: &str, size: i128, content: Content) -> ObjId {
        let base = self.next_address;
        // One byte between objects, so that one past the end is nobody else's address.
        self.next_address = (base + size.max(1) + 1 + 15) / 16 * 16;
        // Above begin the stretches of repeated allocations.
        let content = match self.next_address < 1 << self.stretch() {
            true => content,
            false => Content::Nothing("more memory than fits below the heap".into()),
        };
        let id = self.objects.push(Object {
            key: key.to_string(),
            base,
            size,
            element: None,
            content,
            length: None,
            lifetime: None,
        });
        self.object_keys.insert(key.to_string(), id);
        self.by_base.insert(base, id);
        id
    }

    #[allow(clippy::too_many_arguments)] // One recursion; the parts vary independently in it.
    fn leaves_of(
        &mut self,
        ty: Ty,
        offset: i128,
        key: &str,
        shown: &str,
        owner: Owner,
        span: Span,
        start: Start,
        out: &mut Vec<Leaf>,
    ) -> Result<(), String> {
        if out.len() > MOST_LEAVES {
            return Err(format!("`{shown}` has too many parts"));
        }
        match self.unit.types.kind(ty).clone() {
            Kind::Array(of, Some(n)) => self.array_leaves(of, n, offset, key, shown, owner, span, start, out),
            Kind::Record(r) => {
                let Some(fields) = self.unit.types.records[r].fields.clone() else {
                    return Err(format!("`{shown}` has an incomplete type"));
                };
                for field in fields {
                    if let Some(bits) = field.bits {
                        self.bit_leaf(&field, bits, offset, key, shown, owner, span, start, out)?;
                        continue;
                    }
                    let dot =
                        |s: &str| if field.name.is_empty() { s.to_string() } else { format!("{s}.{}", field.name) };
                    // A union's members of one size share their slot.
                    let twin = out.iter().find(|l| {
                        l.offset == offset + field.offset as i128
                            && l.repeat.is_none()
                            && self.unit.types.size(field.ty).map(|s| s as i128) == Some(l.size)
                            && self.unit.types.is_scalar(field.ty)
                            && self.unit.types.is_scalar(l.ty)
                            && self.unit.types.as_int(l.ty) != Some(Int::Bool)
                    });
                    if twin.is_some() {
                        continue;
                    }
                    let at = offset + field.offset as i128;
                    self.leaves_of(field.ty, at, &dot(key), &dot(shown), owner, span, start, out)?;
                }
                Ok(())
            }
            Kind::Int(_) | Kind::Pointer(_) | Kind::Opaque(_) => {
                let size = self.unit.types.size(ty).unwrap_or(1) as i128;
                let slot = self.leaf_slot(ty, key, shown, owner, span, start, None);
                out.push(Leaf { offset, size, ty, slot, repeat: None, torn: false, bytes: 0 });
                Ok(())
            }
            Kind::Float(_) => {
                let size = self.unit.types.size(ty).unwrap_or(1) as i128;
                let slot = self.leaf_slot(ty, key, shown, owner, span, start, None);
                out.push(Leaf { offset, size, ty, slot, repeat: None, torn: false, bytes: 0 });
                Ok(())
            }
            _ => Err(format!("`{shown}` has type `{}`, which is not modelled", self.unit.types.show(ty))),
        }
    }

    /// A bit-field is a leaf of its own, at an offset of its own. Its unit, which it shares with its neighbours, is a torn leaf:
    /// whoever looks at the bytes themselves is not modelled.
    #[allow(clippy::too_many_arguments)] // As above.
    fn bit_leaf(
        &mut self,
        field: &Field,
        bits: u32,
        offset: i128,
        key: &str,
        shown: &str,
        owner: Owner,
        span: Span,
        start: Start,
        out: &mut Vec<Leaf>,
    ) -> Result<(), String> {
        let Some(int) = self.unit.types.as_int(field.ty).filter(|_| field.name != "<padding>") else { return Ok(()) };
        let (key, shown) = (format!("{key}.{}", field.name), format!("{shown}.{}", field.name));
        let slot = self.leaf_slot(field.ty, &key, &shown, owner, span, start, None);
        if int != Int::Bool {
            let half = 1i128 << bits.saturating_sub(1);
            self.slots[slot].range = Some(if int.signed() { (-half, half - 1) } else { (0, 2 * half - 1) });
        }
        let size = self.unit.types.size(field.ty).unwrap_or(1) as i128;
        let unit = offset + (field.offset % BIT_FIELD) as i128;
        let leaf = Leaf {
            offset: offset + field.offset as i128,
            size,
            ty: field.ty,
            slot,
            repeat: None,
            torn: false,
            bytes: 0,
        };
        match out.iter().find(|l| l.torn && l.offset == unit).map(|l| l.slot) {
            Some(first) => {
                self.units.insert(slot, first);
            }
            None => out.push(Leaf { offset: unit, torn: true, ..leaf.clone() }),
        }
        out.push(leaf);
        Ok(())
    }

    #[allow(clippy::too_many_arguments)] // As above.
    fn row_leaves(
        &mut self,
        of: Ty,
        offset: i128,
        row: (i128, Option<i128>),
        key: &str,
        shown: &str,
        owner: Owner,
        span: Span,
        start: Start,
        out: &mut Vec<Leaf>,
    ) -> Result<(), String> {
        let mut element = Vec::new();
        // The element's own leaves give the offsets; each becomes a map over the row.
        self.leaves_of(of, 0, &format!("{key}[*]"), &format!("{shown}[*]"), owner, span, start, &mut element)?;
        tear(&mut element);
        let mut rows: FxHashMap<SlotId, SlotId> = FxHashMap::default();
        for leaf in element {
            if leaf.repeat.is_some() {
                return Err(format!("`{shown}` is a long array of long arrays"));
            }
            let part = self.slots[leaf.slot].key.clone();
            let name = self.slots[leaf.slot].shown.replace("[*]", "");
            let slot = self.leaf_slot(leaf.ty, &format!("{part}~row"), &name, owner, span, start, Some(row.0));
            rows.insert(leaf.slot, slot);
            if let Some(first) = self.units.get(&leaf.slot).and_then(|first| rows.get(first)).copied() {
                self.units.insert(slot, first);
            }
            out.push(Leaf { offset: offset + leaf.offset, slot, repeat: Some(row), ..leaf });
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)] // As above.
    fn leaf_slot(
        &mut self,
        ty: Ty,
        key: &str,
        shown: &str,
        owner: Owner,
        span: Span,
        start: Start,
        row: Option<i128>,
    ) -> SlotId {
        let int = self.unit.types.as_int(ty);
        let base = if int == Some(Int::Bool) { Sort::BOOL } else { Sort::INT };
        let opaque = matches!(self.unit.types.kind(ty), Kind::Opaque(_));
        // The value of a float is not followed; the slot stands for its accesses.
        let float = matches!(self.unit.types.kind(ty), Kind::Float(_));
        let range = match self.unit.types.kind(ty) {
            Kind::Int(i) => Some(i.range(self.unit.types.model)),
            _ => None,
        };
        let zero = self.terms.default_of(base);
        let initial = if start == Start::Zero || opaque || float { Some(zero) } else { None };
        let (sort, initial) = match row {
            None => (base, initial),
            Some(_) => {
                let sort = self.terms.map_sort(Sort::INT, base);
                (sort, initial.map(|i| self.terms.const_map(sort, i)))
            }
        };
        let lock = matches!(self.unit.types.kind(ty), Kind::Opaque(Opaque::Mutex | Opaque::SpinLock)) && row.is_none();
        let synchronising = opaque || ty.quals.atomic;
        let (key, shown) = (key.to_string(), shown.to_string());
        self.slot(NewSlot { key, shown, sort, owner, initial, range, lock, synchronising, span })
    }

    /// The objects a term's value can point to.
    pub(super) fn targets(&self, term: Term) -> BTreeSet<ObjId> {
        let mut out = BTreeSet::new();
        self.collect_targets(term, &mut out);
        out
    }

    fn collect_targets(&self, term: Term, out: &mut BTreeSet<ObjId>) {
        match self.terms.node(term) {
            logic::Node::Num(n, _) => out.extend(self.object_at(n)),
            logic::Node::Sym(s) => {
                if let Some(slot) = self.by_symbol.get(&s) {
                    let key = &self.slots[*slot].key;
                    if let Some(names) = self.facts.points_to.get(key) {
                        out.extend(names.iter().filter_map(|n| self.object_keys.get(n)));
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
        let key = self.slots[slot].key.clone();
        let found = self.targets(value);
        let names: Vec<String> = found.iter().map(|o| self.objects[*o].key.clone()).collect();
        Facts::extend(&mut self.found.points_to, &key, names);
        self.found.written.insert(key);
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
    pub(super) fn member(&self, place: Ref, record: Ty, offset: i128) -> Ref {
        match place {
            Ref::Address(a) => Ref::Inside(a, record, self.terms.int(offset)),
            other => self.offset(other, self.terms.int(offset)),
        }
    }

    /// Where in a type a struct of another type begins.
    fn positions(&self, ty: Ty, wanted: Ty, base: i128, out: &mut Vec<i128>) {
        let types = &self.unit.types;
        if types.record(ty).is_some() && types.record(ty) == types.record(wanted) {
            out.push(base);
        }
        match types.kind(ty) {
            Kind::Array(of, Some(n)) if *n <= LONGEST_SPLIT => {
                let size = types.size(*of).unwrap_or(1) as i128;
                (0..*n as i128).for_each(|i| self.positions(*of, wanted, base + i * size, out));
            }
            Kind::Record(r) => {
                for field in types.records[*r].fields.iter().flatten() {
                    self.positions(field.ty, wanted, base + field.offset as i128, out);
                }
            }
            _ => {}
        }
    }

    /// The places of a struct type in an object that is short enough to list them; `None`: any address of it.
    fn struct_places(&self, object: &Object, wanted: Ty) -> Option<Vec<i128>> {
        let (of, count) = object.element?;
        let count = count.filter(|n| *n <= LONGEST_SPLIT)?;
        let size = self.unit.types.size(of)? as i128;
        let mut out = Vec::new();
        for i in 0..count as i128 {
            self.positions(of, wanted, i * size, &mut out);
        }
        let long_array = matches!(self.unit.types.kind(of), Kind::Array(_, Some(n)) if *n > LONGEST_SPLIT);
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
    pub(super) fn hits(&self, place: Ref, ty: Ty) -> Hits {
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
            for leaf in leaves {
                let fits = self.compatible(ty, leaf);
                match leaf.repeat {
                    None => {
                        let cond = b.and(at(leaf.offset), self.alive(o, None));
                        if b.as_bool(cond) == Some(false) {
                            continue;
                        }
                        if fits {
                            cases.push(Case { cond, slot: leaf.slot, key: None, bytes: leaf.bytes });
                        } else if self.partial(ty, leaf) {
                            unmodelled.push(cond);
                            why =
                                format!("access to part of `{}`, or through another type", self.slots[leaf.slot].shown);
                        }
                    }
                    Some((stride, count)) => {
                        let offset = match (place, address) {
                            (Ref::Object(_, offset), _) => offset,
                            (_, Some(a)) => b.sub(a, b.num(object.base)),
                            _ => continue,
                        };
                        let Some((key, exact)) = b.quotient(b.sub(offset, b.num(leaf.offset)), stride) else {
                            continue;
                        };
                        let low = b.le(b.num(0), key);
                        let high = match (count, object.length) {
                            (Some(n), _) => b.lt(key, b.num(n)),
                            (None, Some(length)) => b.lt(key, self.slot_term(length)),
                            (None, None) => b.tt(),
                        };
                        let cond = b.all([low, high, exact, self.alive(o, Some(key))]);
                        if b.as_bool(cond) == Some(false) {
                            continue;
                        }
                        if fits {
                            cases.push(Case { cond, slot: leaf.slot, key: Some(key), bytes: 0 });
                        } else if self.partial(ty, leaf) {
                            unmodelled.push(cond);
                            why =
                                format!("access to part of `{}`, or through another type", self.slots[leaf.slot].shown);
                        }
                    }
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

    /// Whether an access of the type is an access of the whole leaf.
    fn compatible(&self, ty: Ty, leaf: &Leaf) -> bool {
        let types = &self.unit.types;
        if leaf.torn || types.size(ty).map(|s| s as i128) != Some(leaf.size) {
            return false;
        }
        if leaf.bytes > 0 {
            return match types.kind(ty) {
                Kind::Int(int) => *int != Int::Bool,
                Kind::Pointer(_) => true,
                _ => false,
            };
        }
        match (types.kind(ty), types.kind(leaf.ty)) {
            (Kind::Opaque(a), Kind::Opaque(b)) => a == b,
            (Kind::Float(_), Kind::Float(_)) => true,
            (Kind::Int(a), Kind::Int(b)) => (*a == Int::Bool) == (*b == Int::Bool),
            (Kind::Int(_) | Kind::Pointer(_), Kind::Pointer(_)) | (Kind::Pointer(_), Kind::Int(_)) => true,
            _ => false,
        }
    }

    /// Whether an access that does not fit the leaf is one that C allows: through a character, or of a torn leaf.
    /// Any other is undefined by the rule on effective types (C11 6.5p7).
    fn partial(&self, ty: Ty, leaf: &Leaf) -> bool {
        let types = &self.unit.types;
        if leaf.bytes > 0 {
            // The bytes are there for numbers up to eight of them.
            let other = matches!(types.kind(ty), Kind::Int(Int::Bool) | Kind::Float(_) | Kind::Opaque(_));
            return other || types.size(ty).is_none_or(|s| s > 8);
        }
        leaf.torn
            || matches!(
                types.kind(ty),
                Kind::Int(Int::Char | Int::UChar | Int::Bool) | Kind::Float(_) | Kind::Opaque(_)
            )
            || types.size(ty).is_none()
            || matches!(types.kind(leaf.ty), Kind::Int(Int::Char | Int::UChar) | Kind::Float(_))
    }
}

/// Marks leaves that overlap without being the same.
fn tear(leaves: &mut [Leaf]) {
    tear_rows(leaves);
    let mut order: Vec<usize> = (0..leaves.len()).filter(|i| leaves[*i].repeat.is_none()).collect();
    order.sort_by_key(|i| (leaves[*i].offset, leaves[*i].size));
    // The leaf that reaches farthest so far.
    let mut reach: Option<usize> = None;
    for i in order {
        if let Some(j) = reach
            && leaves[i].offset < leaves[j].offset + leaves[j].size
        {
            leaves[i].torn = true;
            leaves[j].torn = true;
        }
        if reach.is_none_or(|j| leaves[j].offset + leaves[j].size < leaves[i].offset + leaves[i].size) {
            reach = Some(i);
        }
    }
}

/// Marks rows that overlap other leaves.
fn tear_rows(leaves: &mut [Leaf]) {
    let mut torn = Vec::new();
    for (i, r) in leaves.iter().enumerate() {
        let Some((stride, Some(count))) = r.repeat else { continue };
        let end = r.offset + stride * (count - 1) + r.size;
        for (j, l) in leaves.iter().enumerate().filter(|(j, _)| *j != i) {
            let (until, same) = match l.repeat {
                Some((s, Some(n))) => (l.offset + s * (n - 1) + l.size, s == stride),
                _ => (l.offset + l.size, true),
            };
            let apart = (l.offset - r.offset).rem_euclid(stride.max(1));
            let between = same && apart >= r.size && apart + l.size <= stride;
            if l.offset < end && r.offset < until && !between {
                torn.extend([i, j]);
            }
        }
    }
    torn.into_iter().for_each(|i| leaves[i].torn = true);
}

/// How the leaves of a new object begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    Zero,
    Any,
}

/// A request for a slot.
pub(super) struct NewSlot {
    pub key: String,
    pub shown: String,
    pub sort: Sort,
    pub owner: Owner,
    pub initial: Option<Term>,
    pub range: Option<(i128, i128)>,
    pub lock: bool,
    pub synchronising: bool,
    pub span: Span,
}

impl Build<'_> {
    /// `term == value`, solved for the variable part: `4 * i + 8 == 16` is `i == 2`.
    pub fn eq_linear(self, term: Term, value: i128) -> Term {
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
    pub fn quotient(self, term: Term, by: i128) -> Option<(Term, Term)> {
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
