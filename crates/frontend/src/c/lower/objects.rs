//! Making objects and slots: from a request for memory to a stretch of addresses with leaves.
//!
//! In: a key that names the place in the program that asks, the same in every pass, and what is asked for (`ObjectShape`).
//! Out: an object or a slot. A pass may ask for another shape than an earlier pass did, which knew less: then the object
//! is made anew under the same id and the lowering goes round again, so that the last pass has asked for every object exactly as it is
//! (docs/decisions/120-facts-between-passes.md). Absent: any memory of a shape that the last pass did not ask for.

use super::Lower;
use super::flow::*;
use super::layout::ObjectPart;
use super::memory::*;
pub(super) use super::memory::{ObjectExtent, ObjectShape};
use crate::c::types::*;
use base::Span;
use logic::Sort;

impl Lower<'_> {
    pub(super) fn slot(&mut self, slot: NewSlot) -> SlotId {
        if let Some(id) = self.slot_keys.get(&slot.key).copied() {
            if self.slots[id].sort != slot.sort {
                // An earlier pass, which knew less, took it for something else.
                let symbol = self.terms.symbol(slot.shown.clone(), slot.sort);
                let old = &mut self.slots[id];
                (old.sort, old.symbol, old.initial, old.range) = (slot.sort, symbol, slot.initial, slot.range);
                self.by_symbol.insert(symbol, id);
                self.reshaped = true;
            }
            if self.slots[id].owner != slot.owner {
                self.slots[id].owner = slot.owner;
                self.reshaped = true;
            }
            return id;
        }
        let symbol = self.terms.symbol(slot.shown.clone(), slot.sort);
        let id = self.slots.push(FlowSlot {
            key: slot.key.clone(),
            shown: slot.shown,
            sort: slot.sort,
            symbol,
            owner: slot.owner,
            initial: slot.initial,
            range: slot.range,
            lock: slot.lock,
            external: false,
            role: slot.role,
            span: slot.span,
        });
        self.slot_keys.insert(slot.key, id);
        self.by_symbol.insert(symbol, id);
        id
    }

    /// Makes an object of a type. Statics and locals whose address is taken are `Shared`.
    pub(super) fn object(
        &mut self,
        key: &str,
        shown: &str,
        ty: CType,
        owner: SlotOwner,
        span: Span,
        start: ObjectStart,
    ) -> ObjId {
        self.make(key, shown, ObjectShape { of: ty, extent: ObjectExtent::Exactly(1), owner, start }, span)
    }

    /// A heap object or an array of variable length: so many elements of one type.
    pub(super) fn make(&mut self, key: &str, shown: &str, shape: ObjectShape, span: Span) -> ObjId {
        let known = self.object_keys.get(key).copied();
        if let Some(id) = known.filter(|id| self.objects[*id].shape == Some(shape)) {
            return id;
        }
        let generation = known.map_or(0, |id| self.objects[id].generation + 1);
        // The slots of another shape are others.
        let own = if generation == 0 { key.to_string() } else { format!("{key}~{generation}") };
        let ObjectShape { of, extent, owner, start } = shape;
        let part = ObjectPart { key: &own, shown, owner, span, start };
        let each = self.unit.types.size(of).unwrap_or(1);
        let mut leaves = Vec::new();
        let made = match extent {
            ObjectExtent::Exactly(1) => self.leaves_of(of, 0, part, &mut leaves),
            ObjectExtent::Exactly(count) => self.array_leaves(of, count, 0, part, &mut leaves),
            ObjectExtent::Endless => self.row_leaves(of, 0, (each.max(1) as i128, None), part, &mut leaves),
        };
        let content = match (made, extent) {
            (Ok(()), ObjectExtent::Exactly(_)) => Content::Leaves(self.bytewise(leaves, part)),
            (Ok(()), ObjectExtent::Endless) => Content::Leaves(leaves),
            (Err(why), _) => Content::Nothing(why),
        };
        let (size, count) = match extent {
            ObjectExtent::Exactly(count) => (each.saturating_mul(count) as i128, Some(count)),
            ObjectExtent::Endless => (1, None),
        };
        let id = match known {
            None => self.place_object(key, size, content),
            Some(id) => {
                self.reshaped = true;
                self.place_again(id, size, content);
                id
            }
        };
        let object = &mut self.objects[id];
        object.element = Some((of, count));
        (object.shape, object.generation) = (Some(shape), generation);
        if extent == ObjectExtent::Endless {
            self.far_away(id);
        }
        id
    }

    /// A row whose number of elements is known only when the program runs; `length` holds it.
    pub(super) fn measured(
        &mut self,
        key: &str,
        shown: &str,
        ty: CType,
        owner: SlotOwner,
        span: Span,
        start: ObjectStart,
    ) -> (ObjId, SlotId) {
        let id = self.make(key, shown, ObjectShape { of: ty, extent: ObjectExtent::Endless, owner, start }, span);
        let length = self.slot(NewSlot {
            key: format!("<length {key}>"),
            shown: format!("length_{shown}"),
            sort: Sort::INT,
            owner,
            initial: Some(self.terms.int(0)),
            range: None,
            lock: false,
            role: SlotRole::Internal,
            span,
        });
        self.objects[id].length = Some(length);
        (id, length)
    }

    /// The addresses of one repeated allocation, as a power of two.
    pub(super) fn stretch(&self) -> u64 {
        if self.unit.types.model == DataModel::Ilp32 { 24 } else { 40 }
    }

    /// Moves an object without end far above the others, into a stretch of its own that fits the pointers.
    pub(super) fn far_away(&mut self, id: ObjId) {
        self.pools += 1;
        let shift = self.stretch();
        self.by_base.remove(&self.objects[id].base);
        let number = self.first_stretch() + i128::from(self.pools);
        self.objects[id].base = number << shift;
        self.by_base.insert(self.objects[id].base, id);
        self.objects[id].size = (1i128 << shift) - 1;
        if number >= 1i128 << (self.unit.types.model.pointer_bytes() * 8 - shift) {
            self.objects[id].content = Content::Nothing("more places of repeated allocation than fit".into());
        }
        self.assume("c-few-objects", "one place in the code makes fewer than 2^24 objects or threads");
    }

    pub(super) fn place_object(&mut self, key: &str, size: i128, content: Content) -> ObjId {
        let (base, content) = self.next_place(size, content);
        let id = self.objects.push(CObject {
            key: key.to_string(),
            base,
            size,
            element: None,
            content,
            length: None,
            lifetime: None,
            shape: None,
            generation: 0,
        });
        self.object_keys.insert(key.to_string(), id);
        self.by_base.insert(base, id);
        id
    }

    /// Gives an object another place and another content.
    fn place_again(&mut self, id: ObjId, size: i128, content: Content) {
        let (base, content) = self.next_place(size, content);
        self.by_base.remove(&self.objects[id].base);
        self.by_base.insert(base, id);
        let object = &mut self.objects[id];
        (object.base, object.size, object.content) = (base, size, content);
        (object.length, object.lifetime) = (None, None);
    }

    fn next_place(&mut self, size: i128, content: Content) -> (i128, Content) {
        let base = self.next_address;
        // One byte between objects, so that one past the end is no other object's address.
        self.next_address = (base + size.max(1) + 1 + 15) / 16 * 16;
        // Above begin the stretches of repeated allocations.
        match self.next_address < 1 << self.stretch() {
            true => (base, content),
            false => (base, Content::Nothing("more memory than fits below the heap".into())),
        }
    }
}
