//! The memory of a run: objects with lifetimes, bytes that know whether they were set, pointers with provenance, addresses chosen at random.
//!
//! In: accesses as pointer and size. Out: bytes and values, or the violation (C11 6.2.4, 6.5.3.2; what gcc's address sanitizer
//! reports). Addresses are distinct, aligned and unknown: each run draws them anew, freed heap addresses may come again as
//! `malloc` may hand them out again, and objects never touch. Deliberately absent: effective types (strict aliasing), and the rule that an
//! address outside of its object may not even be computed.

use super::{ExecutionStop, Violation, ViolationKind};
use crate::module::{FunctionId, LocalId, ObjectId};
use crate::value::{CoreValue, FloatWidth, IntType, Provenance, ScalarType};
use crate::{ExternalId, Signedness};
use base::{Random, Span};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// What an object of the run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AllocationOrigin {
    Object(ObjectId),
    /// A thread's copy of a thread-local object.
    ThreadLocal(ObjectId, u32),
    Local(FunctionId, LocalId, u32),
    Heap,
    Function(FunctionId),
    External(ExternalId),
    /// Made by the environment: arguments of the program, `errno`, streams.
    Environment(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AllocationState {
    Live,
    /// Where it was freed or went out of scope.
    Ended(Span),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permission {
    ReadWrite,
    ReadOnly,
    /// Code: it may only be called.
    Call,
    /// Defined outside of the program, with content that is not known.
    Unknown,
}

#[derive(Clone, Debug)]
pub(crate) struct Allocation {
    pub base: u64,
    pub size: u64,
    pub origin: AllocationOrigin,
    pub lifetime: AllocationState,
    pub(crate) permission: Permission,
    pub(crate) made_at: Span,
    pub bytes: Vec<u8>,
    /// Per byte, whether it differs from how the object began: see `born_set`.
    changed: Vec<u8>,
    born_set: bool,
    /// Where pointers are stored whole, and what they were made from.
    pointers: BTreeMap<u64, u32>,
}

impl Allocation {
    pub(crate) fn is_set(&self, offset: u64) -> bool {
        (self.changed[offset as usize] != 0) != self.born_set
    }
    fn mark(&mut self, offset: u64, size: u64, set: Initialised) {
        let value = u8::from((set == Initialised::Set) != self.born_set);
        self.changed[offset as usize..(offset + size) as usize].fill(value);
    }
    fn forget_pointers(&mut self, offset: u64, size: u64, pointer_bytes: u64) {
        if self.pointers.is_empty() {
            return;
        }
        let from = offset.saturating_sub(pointer_bytes - 1);
        let gone: Vec<u64> = self.pointers.range(from..offset + size).map(|(at, _)| *at).collect();
        for at in gone {
            self.pointers.remove(&at);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Initialised {
    Set,
    Unset,
}

/// What is about to be done to a stretch of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessPurpose {
    Read,
    Write,
}

impl AccessPurpose {
    fn verb(self) -> &'static str {
        match self {
            AccessPurpose::Read => "reads",
            AccessPurpose::Write => "writes",
        }
    }
}

/// A stretch of a live object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryRange {
    pub allocation: u32,
    pub offset: u64,
}

pub(crate) struct Memory {
    pub pointer_bytes: u64,
    pub(crate) allocations: Vec<Allocation>,
    by_base: BTreeMap<u64, u32>,
    next: u64,
    random: Random,
    /// Freed heap addresses by size.
    reusable: FxHashMap<u64, Vec<u64>>,
    pub(crate) heap_bytes: u64,
}

/// No run may hold more than this.
const MAX_HEAP_BYTES: u64 = 1 << 31;

impl Memory {
    pub(crate) fn new(pointer_bytes: u64, seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x6d65_6d6f_7279);
        let next = match pointer_bytes {
            4 => 0x0804_8000 + (random.word() & 0xffff) * 0x100,
            _ => 0x5500_0000_0000 + (random.word() & 0xff_ffff) * 0x1_0000,
        };
        Self {
            pointer_bytes,
            allocations: Vec::new(),
            by_base: BTreeMap::new(),
            next,
            random,
            reusable: FxHashMap::default(),
            heap_bytes: 0,
        }
    }

    pub(crate) fn allocate(
        &mut self,
        size: u64,
        align: u64,
        origin: AllocationOrigin,
        content: Initialised,
        made_at: Span,
    ) -> Result<u32, ExecutionStop> {
        // A negative size is a huge one.
        self.heap_bytes = self.heap_bytes.saturating_add(size);
        if self.heap_bytes > MAX_HEAP_BYTES || size > MAX_HEAP_BYTES {
            return Err(ExecutionStop::Unsupported("the run needs more than 2 GB of memory".into()));
        }
        let align = align.max(1);
        let again = match origin {
            AllocationOrigin::Heap if self.random.chance(50) => self.reusable.get_mut(&size).and_then(Vec::pop),
            _ => None,
        };
        let base = again.filter(|b| b % align == 0).unwrap_or_else(|| {
            let gap = 16 + self.random.below(16) as u64 * align.min(4096);
            let base = (self.next + gap).next_multiple_of(align);
            self.next = base + size;
            base
        });
        let id = self.allocations.len() as u32;
        self.by_base.insert(base, id);
        self.allocations.push(Allocation {
            base,
            size,
            origin,
            lifetime: AllocationState::Live,
            permission: Permission::ReadWrite,
            made_at,
            bytes: vec![0; size as usize],
            changed: vec![0; size as usize],
            born_set: content == Initialised::Set,
            pointers: BTreeMap::new(),
        });
        Ok(id)
    }

    pub(crate) fn pointer(&self, id: u32) -> CoreValue {
        CoreValue::Pointer(self.allocations[id as usize].base, Provenance::Object(id))
    }

    pub(crate) fn end(&mut self, id: u32, at: Span) {
        let allocation = &mut self.allocations[id as usize];
        allocation.lifetime = AllocationState::Ended(at);
        self.heap_bytes = self.heap_bytes.saturating_sub(allocation.size);
        if allocation.origin == AllocationOrigin::Heap {
            let (size, base) = (allocation.size, allocation.base);
            self.reusable.entry(size).or_default().push(base);
        }
        // What ended is not read again, only named.
        allocation.bytes = Vec::new();
        allocation.changed = Vec::new();
        allocation.pointers = BTreeMap::new();
    }

    /// The object whose address this is, if any.
    pub(crate) fn object_at(&self, address: u64) -> Option<u32> {
        let (_, id) = self.by_base.range(..=address).next_back()?;
        let allocation = &self.allocations[*id as usize];
        (address < allocation.base + allocation.size.max(1)).then_some(*id)
    }

    /// The object that a pointer may reach, without looking at its lifetime.
    pub(crate) fn target(&self, pointer: CoreValue) -> Option<(u32, u64)> {
        let CoreValue::Pointer(address, provenance) = pointer else { return None };
        let id = match provenance {
            Provenance::Object(id) => id,
            Provenance::Any => self.object_at(address)?,
        };
        Some((id, address.wrapping_sub(self.allocations[id as usize].base)))
    }

    /// Where an access lands, or why it is wrong.
    pub(crate) fn locate(
        &self,
        pointer: CoreValue,
        size: u64,
        purpose: AccessPurpose,
    ) -> Result<MemoryRange, ExecutionStop> {
        let verb = purpose.verb();
        let address = match pointer {
            CoreValue::Pointer(address, _) => address,
            CoreValue::Undefined => {
                let text = format!("{verb} memory through a pointer that was never set");
                return Err(ExecutionStop::violation(ViolationKind::Uninitialised, text));
            }
            _ => return Err(ExecutionStop::Unsupported("an access through something that is no address".into())),
        };
        if address == 0 && !matches!(pointer, CoreValue::Pointer(_, Provenance::Object(_))) {
            return Err(ExecutionStop::violation(
                ViolationKind::NullDereference,
                format!("{verb} memory through a null pointer"),
            ));
        }
        let Some((id, offset)) = self.target(pointer) else {
            let text = format!("{verb} {size} bytes at {address:#x}, where there is no object");
            return Err(ExecutionStop::violation(ViolationKind::OutOfBounds, text));
        };
        let allocation = &self.allocations[id as usize];
        if let AllocationState::Ended(at) = allocation.lifetime {
            let (kind, text, note) = match allocation.origin {
                AllocationOrigin::Heap => (ViolationKind::UseAfterFree, "memory that was freed", "freed here"),
                _ => (ViolationKind::UseAfterScope, "a variable whose lifetime has ended", "its lifetime ends here"),
            };
            let mut fault = Violation::new(kind, format!("{verb} {text}"));
            fault.notes.push((at, note.into()));
            fault.notes.push((allocation.made_at, "allocated here".into()));
            return Err(ExecutionStop::Violation(Box::new(fault)));
        }
        if allocation.permission == Permission::Unknown {
            return Err(ExecutionStop::Unsupported(format!("{verb} an object that is defined outside of the program")));
        }
        if allocation.permission == Permission::Call {
            return Err(ExecutionStop::violation(ViolationKind::OutOfBounds, format!("{verb} the code of a function")));
        }
        if offset > allocation.size || size > allocation.size - offset {
            let distance = offset as i64;
            let text = format!("{verb} {size} bytes at offset {distance} of an object of {} bytes", allocation.size);
            let mut fault = Violation::new(ViolationKind::OutOfBounds, text);
            fault.notes.push((allocation.made_at, "the object is made here".into()));
            return Err(ExecutionStop::Violation(Box::new(fault)));
        }
        if purpose == AccessPurpose::Write && allocation.permission == Permission::ReadOnly {
            return Err(ExecutionStop::violation(ViolationKind::WriteToConstant, "writes a constant".to_string()));
        }
        Ok(MemoryRange { allocation: id, offset })
    }

    pub(crate) fn load(&self, spot: MemoryRange, scalar: ScalarType) -> CoreValue {
        let allocation = &self.allocations[spot.allocation as usize];
        let size = scalar.bytes(self.pointer_bytes);
        let (from, to) = (spot.offset as usize, (spot.offset + size) as usize);
        if (spot.offset..spot.offset + size).any(|at| !allocation.is_set(at)) {
            return CoreValue::Undefined;
        }
        let bytes = &allocation.bytes[from..to];
        let raw = bytes.iter().rev().fold(0u128, |sum, b| (sum << 8) | u128::from(*b));
        match scalar {
            ScalarType::Int(int) if int.bits == 1 => CoreValue::Int(i128::from(raw != 0)),
            ScalarType::Int(int) => CoreValue::Int(int.wrap(raw as i128)),
            ScalarType::Float(FloatWidth::Single) => CoreValue::Float(f64::from(f32::from_bits(raw as u32))),
            ScalarType::Float(FloatWidth::Double) => CoreValue::Float(f64::from_bits(raw as u64)),
            ScalarType::Pointer => match allocation.pointers.get(&spot.offset) {
                Some(id) => CoreValue::Pointer(raw as u64, Provenance::Object(*id)),
                None => CoreValue::Pointer(raw as u64, Provenance::Any),
            },
        }
    }

    pub(crate) fn store(&mut self, spot: MemoryRange, scalar: ScalarType, value: CoreValue) {
        let size = scalar.bytes(self.pointer_bytes);
        let pointer_bytes = self.pointer_bytes;
        let allocation = &mut self.allocations[spot.allocation as usize];
        allocation.forget_pointers(spot.offset, size, pointer_bytes);
        let raw = match value {
            CoreValue::Undefined => {
                allocation.mark(spot.offset, size, Initialised::Unset);
                return;
            }
            CoreValue::Int(int) => int as u128,
            CoreValue::Float(f) => match scalar {
                ScalarType::Float(FloatWidth::Single) => u128::from((f as f32).to_bits()),
                _ => u128::from(f.to_bits()),
            },
            CoreValue::Pointer(address, provenance) => {
                if let (Provenance::Object(id), ScalarType::Pointer) = (provenance, scalar) {
                    allocation.pointers.insert(spot.offset, id);
                }
                u128::from(address)
            }
        };
        let bytes = raw.to_le_bytes();
        let from = spot.offset as usize;
        allocation.bytes[from..from + size as usize].copy_from_slice(&bytes[..size as usize]);
        allocation.mark(spot.offset, size, Initialised::Set);
    }

    /// Reads some bits of a scalar; the bytes that hold them must be set.
    pub(crate) fn load_bits(&self, spot: MemoryRange, int: IntType, first: u64, width: u64) -> CoreValue {
        let allocation = &self.allocations[spot.allocation as usize];
        let mut raw = 0i128;
        for bit in 0..width {
            let at = first + bit;
            let byte = spot.offset + at / 8;
            if !allocation.is_set(byte) {
                return CoreValue::Undefined;
            }
            raw |= i128::from(allocation.bytes[byte as usize] >> (at % 8) & 1) << bit;
        }
        let narrow = IntType { sign: int.sign, bits: width as u32 };
        if int.sign == Signedness::Signed && width == 1 {
            return CoreValue::Int(-raw);
        }
        CoreValue::Int(if width == 1 { raw } else { narrow.wrap(raw) })
    }

    pub(crate) fn store_bits(&mut self, spot: MemoryRange, first: u64, width: u64, value: CoreValue) {
        let pointer_bytes = self.pointer_bytes;
        let allocation = &mut self.allocations[spot.allocation as usize];
        let (from, to) = (spot.offset + first / 8, spot.offset + (first + width).div_ceil(8));
        allocation.forget_pointers(from, to - from, pointer_bytes);
        let Some(raw) = value.as_int() else {
            allocation.mark(from, to - from, Initialised::Unset);
            return;
        };
        for bit in 0..width {
            let at = first + bit;
            let byte = &mut allocation.bytes[(spot.offset + at / 8) as usize];
            let mask = 1u8 << (at % 8);
            *byte = if raw >> bit & 1 == 1 { *byte | mask } else { *byte & !mask };
        }
        allocation.mark(from, to - from, Initialised::Set);
    }

    /// Whether a pointer is stored among these bytes.
    pub(crate) fn holds_pointers(&self, address: CoreValue, size: u64) -> bool {
        let Some((id, offset)) = self.target(address) else { return false };
        let first = offset.saturating_sub(self.pointer_bytes - 1);
        self.allocations[id as usize].pointers.range(first..offset.saturating_add(size)).next().is_some()
    }

    /// Copies bytes with what is known of them; overlapping stretches are copied as if by a temporary.
    pub(crate) fn copy(&mut self, to: MemoryRange, from: MemoryRange, size: u64) {
        let source = &self.allocations[from.allocation as usize];
        let range = from.offset as usize..(from.offset + size) as usize;
        let bytes = source.bytes[range].to_vec();
        let set: Vec<bool> = (from.offset..from.offset + size).map(|at| source.is_set(at)).collect();
        let last = (from.offset + size).saturating_sub(self.pointer_bytes - 1);
        let pointers: Vec<(u64, u32)> = match last > from.offset {
            true => source.pointers.range(from.offset..last).map(|(at, id)| (at - from.offset, *id)).collect(),
            false => Vec::new(),
        };
        let pointer_bytes = self.pointer_bytes;
        let target = &mut self.allocations[to.allocation as usize];
        target.forget_pointers(to.offset, size, pointer_bytes);
        target.bytes[to.offset as usize..(to.offset + size) as usize].copy_from_slice(&bytes);
        for (at, set) in set.into_iter().enumerate() {
            target.mark(to.offset + at as u64, 1, if set { Initialised::Set } else { Initialised::Unset });
        }
        target.pointers.extend(pointers.into_iter().map(|(at, id)| (to.offset + at, id)));
    }

    pub(crate) fn write_bytes(&mut self, spot: MemoryRange, bytes: &[u8]) {
        let pointer_bytes = self.pointer_bytes;
        let allocation = &mut self.allocations[spot.allocation as usize];
        allocation.forget_pointers(spot.offset, bytes.len() as u64, pointer_bytes);
        allocation.bytes[spot.offset as usize..spot.offset as usize + bytes.len()].copy_from_slice(bytes);
        allocation.mark(spot.offset, bytes.len() as u64, Initialised::Set);
    }

    /// The heap objects that are alive and that no stored pointer reaches from objects of static or thread storage.
    pub(crate) fn lost(&self, roots: &[u32]) -> Vec<u32> {
        let mut reached = vec![false; self.allocations.len()];
        let mut open: Vec<u32> = roots.to_vec();
        open.iter().for_each(|r| reached[*r as usize] = true);
        while let Some(id) = open.pop() {
            let allocation = &self.allocations[id as usize];
            let stored = allocation.pointers.values().copied();
            // Words that are addresses count as well: nothing is called lost that could still be found.
            let size = self.pointer_bytes as usize;
            let words = allocation.bytes.windows(size).filter_map(|w| {
                let address = w.iter().rev().fold(0u64, |sum, b| (sum << 8) | u64::from(*b));
                if address == 0 { None } else { self.object_at(address) }
            });
            let found: Vec<u32> = stored.chain(words).collect();
            for next in found {
                if !reached[next as usize] {
                    reached[next as usize] = true;
                    open.push(next);
                }
            }
        }
        let lost = |(id, a): (usize, &Allocation)| {
            let heap = a.origin == AllocationOrigin::Heap && a.lifetime == AllocationState::Live;
            (heap && !reached[id]).then_some(id as u32)
        };
        self.allocations.iter().enumerate().filter_map(lost).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::SourceId;

    fn here() -> Span {
        Span::new(SourceId(0), 0, 0)
    }

    #[test]
    fn check_a_pointer_keeps_its_object_through_memory_and_bytes_lose_it() {
        let mut memory = Memory::new(8, 1);
        let x = memory.allocate(4, 4, AllocationOrigin::Heap, Initialised::Unset, here()).unwrap();
        let slot = memory.allocate(16, 8, AllocationOrigin::Heap, Initialised::Unset, here()).unwrap();
        let spot = MemoryRange { allocation: slot, offset: 0 };
        let pointer = memory.pointer(x);
        memory.store(spot, ScalarType::Pointer, pointer);
        assert_eq!(memory.load(spot, ScalarType::Pointer), pointer);
        memory.copy(MemoryRange { allocation: slot, offset: 8 }, spot, 8);
        assert_eq!(memory.load(MemoryRange { allocation: slot, offset: 8 }, ScalarType::Pointer), pointer);
        let byte = memory.load(spot, ScalarType::Int(IntType::U8));
        memory.store(spot, ScalarType::Int(IntType::U8), byte);
        let CoreValue::Pointer(_, provenance) = memory.load(spot, ScalarType::Pointer) else {
            panic!("it is a pointer")
        };
        assert_eq!(provenance, Provenance::Any);
    }

    #[test]
    fn check_an_ended_object_is_not_reached_even_if_its_address_comes_again() {
        let mut memory = Memory::new(8, 3);
        let first = memory.allocate(8, 8, AllocationOrigin::Heap, Initialised::Unset, here()).unwrap();
        let old = memory.pointer(first);
        memory.end(first, here());
        let mut again = false;
        for _ in 0..20 {
            let next = memory.allocate(8, 8, AllocationOrigin::Heap, Initialised::Unset, here()).unwrap();
            again |= memory.pointer(next).as_int() == old.as_int();
            assert!(memory.locate(old, 8, AccessPurpose::Read).is_err());
        }
        assert!(again, "some address is handed out again");
    }

    #[test]
    fn check_bits_are_stored_beside_each_other() {
        let mut memory = Memory::new(8, 3);
        let id = memory.allocate(4, 4, AllocationOrigin::Heap, Initialised::Set, here()).unwrap();
        let spot = MemoryRange { allocation: id, offset: 0 };
        memory.store_bits(spot, 3, 7, CoreValue::Int(-5));
        memory.store_bits(spot, 10, 3, CoreValue::Int(5));
        assert_eq!(memory.load_bits(spot, IntType::I32, 3, 7), CoreValue::Int(-5));
        assert_eq!(memory.load_bits(spot, IntType { sign: Signedness::Unsigned, bits: 32 }, 10, 3), CoreValue::Int(5));
    }
}
