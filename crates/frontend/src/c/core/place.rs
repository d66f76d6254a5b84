//! Places: where an lvalue is, how it is accessed, and initialisers.
//!
//! In: `ast::LValue` and `ast::Init`. Out: an address with alignment, bits and kind of access, or a register; loads, stores and copies.
//! The index of an array whose length is known is checked, but for the last member of a struct, which may stand for more (the struct hack).

use super::body::{Body, Home, Lowered};
use super::*;
use crate::c::ast::{CExprKind, Expr, LValue, PlaceKind};
use crate::c::types::{BIT_FIELD, Opaque};
use base::Span;
use core_lang::{AccessKind, AccessStep, BitRange, CoreValue, Instruction, MemoryAccess, Operand, Register};

/// Where a place is.
#[derive(Clone, Copy, Debug)]
pub(super) enum PlaceLocation {
    Register(Register),
    Memory(MemoryPlace),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct MemoryPlace {
    pub address: Operand,
    pub bits: Option<BitRange>,
    pub kind: AccessKind,
    pub align: u64,
    /// Inside a packed record nothing is aligned.
    packed: bool,
}

impl MemoryPlace {
    pub(super) fn access(&self, step: AccessStep) -> MemoryAccess {
        MemoryAccess { kind: self.kind, step, align: self.align }
    }
}

/// The order of plain uses of atomic objects.
pub(super) const SEQ_CST: Operand = Operand::Constant(CoreValue::Int(5));

/// No array has more elements.
const LARGEST_OBJECT: u64 = i64::MAX as u64;

/// Larger objects are copied in one step.
const MAX_WORDS: u64 = 16;

/// Whether an element is accessed or only its address is taken, which may be one past the end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ElementUse {
    Access,
    Address,
}

impl Body<'_, '_> {
    fn kind_of(&self, ty: CType) -> AccessKind {
        match (ty.quals.atomic, ty.quals.volatile) {
            (true, _) => AccessKind::Atomic(SEQ_CST),
            (_, true) => AccessKind::Volatile,
            _ => AccessKind::Plain,
        }
    }

    fn memory(&self, address: Operand, ty: CType, packed: bool) -> PlaceLocation {
        let align = if packed { 1 } else { self.types().align(ty).max(1) };
        PlaceLocation::Memory(MemoryPlace { address, bits: None, kind: self.kind_of(ty), align, packed })
    }

    pub(super) fn place(&mut self, place: &LValue, how: ElementUse) -> Lowered<PlaceLocation> {
        let span = place.span;
        match &place.kind {
            PlaceKind::Var(variable) => {
                if let Some(object) = self.lowering.objects.get(variable).copied() {
                    let to = self.register();
                    self.emit(Instruction::ObjectAddress { to, object }, span);
                    return Ok(self.memory(to.into(), place.ty, false));
                }
                match self.home(*variable) {
                    Some(Home::Register(_)) if how == ElementUse::Address => Err(self.needs_memory(*variable)),
                    Some(Home::Register(register)) => Ok(PlaceLocation::Register(register)),
                    Some(Home::Local(local)) => {
                        let to = self.register();
                        self.emit(Instruction::LocalAddress { to, local }, span);
                        Ok(self.memory(to.into(), place.ty, false))
                    }
                    None => {
                        let name = self.lowering.unit.variables[*variable].name.clone();
                        let address = self.unsupported(format!("`{name}` is a variable of another function"), span);
                        Ok(self.memory(address, place.ty, true))
                    }
                }
            }
            PlaceKind::Deref(pointer) => {
                let address = self.value(pointer)?;
                Ok(self.memory(address, place.ty, false))
            }
            PlaceKind::Text(text) => {
                let object = self.lowering.text(*text, span);
                let to = self.register();
                self.emit(Instruction::ObjectAddress { to, object }, span);
                Ok(self.memory(to.into(), place.ty, true))
            }
            PlaceKind::Value(value) => {
                let address = self.aggregate(value)?;
                Ok(self.memory(address, place.ty, false))
            }
            PlaceKind::Field(inner, index) => self.field(inner, *index, place),
            PlaceKind::Index(array, index) => self.element(array, index, place, how),
            PlaceKind::Unmodelled(reason) => {
                let address = self.unsupported(reason.clone(), span);
                Ok(self.memory(address, place.ty, true))
            }
        }
    }

    fn field(&mut self, inner: &LValue, index: usize, place: &LValue) -> Lowered<PlaceLocation> {
        let span = place.span;
        let PlaceLocation::Memory(outer) = self.place(inner, ElementUse::Access)? else {
            let address = self.unsupported("a member of a value in a register", span);
            return Ok(self.memory(address, place.ty, true));
        };
        let types = self.types();
        let found = types.record(inner.ty).and_then(|r| Some((r, types.field(r, index)?)));
        let Some((record, field)) = found else {
            let address = self.unsupported("a member of an incomplete type", span);
            return Ok(self.memory(address, place.ty, true));
        };
        let packed = outer.packed || types.records[record].packed;
        if let Some(width) = field.bits {
            let first = bit_offset(types, record, index);
            let bits = Some(BitRange { first, width: u64::from(width) });
            let kind = self.kind_of(place.ty);
            return Ok(PlaceLocation::Memory(MemoryPlace { address: outer.address, bits, kind, align: 1, packed }));
        }
        let address = self.moved(outer.address, field.offset, span);
        Ok(self.memory(address, place.ty, packed))
    }

    pub(super) fn moved(&mut self, address: Operand, by: u64, span: Span) -> Operand {
        if by == 0 {
            return address;
        }
        let to = self.register();
        let index = Operand::Constant(CoreValue::Int(i128::from(by)));
        self.emit(Instruction::Offset { to, pointer: address, index, scale: 1 }, span);
        to.into()
    }

    fn element(&mut self, array: &LValue, index: &Expr, place: &LValue, how: ElementUse) -> Lowered<PlaceLocation> {
        let span = place.span;
        let PlaceLocation::Memory(outer) = self.place(array, ElementUse::Address)? else {
            let address = self.unsupported("an element of a value in a register", span);
            return Ok(self.memory(address, place.ty, true));
        };
        let Some(size) = self.types().size(place.ty) else {
            let address = self.unsupported("an element of an incomplete type", span);
            return Ok(self.memory(address, place.ty, true));
        };
        if index.as_const() == Some(0) {
            return Ok(self.memory(outer.address, place.ty, outer.packed));
        }
        let value = self.value(index)?;
        if let CTypeKind::Array(_, Some(length)) = *self.types().kind(array.ty) {
            // Behind the last member there may be more, before it there is another.
            let length = match self.is_last_member(array) {
                true => LARGEST_OBJECT,
                false => length + u64::from(how == ElementUse::Address),
            };
            self.emit(Instruction::CheckIndex { index: value, length }, span);
        }
        let to = self.register();
        self.emit(Instruction::Offset { to, pointer: outer.address, index: value, scale: i128::from(size) }, span);
        Ok(self.memory(to.into(), place.ty, outer.packed))
    }

    /// Whether an array is the last member of its struct or a member of a union.
    fn is_last_member(&self, array: &LValue) -> bool {
        let PlaceKind::Field(inner, index) = &array.kind else { return false };
        let Some(record) = self.types().record(inner.ty) else { return true };
        let record = &self.types().records[record];
        record.kind == RecordKind::Union || record.fields.as_ref().is_none_or(|f| index + 1 == f.len())
    }

    /// The address of a place in memory.
    pub(super) fn address(&mut self, place: &LValue) -> Lowered<Operand> {
        match self.place(place, ElementUse::Address)? {
            PlaceLocation::Memory(memory) => Ok(memory.address),
            PlaceLocation::Register(_) => match place.kind {
                PlaceKind::Var(variable) => Err(self.needs_memory(variable)),
                _ => Ok(self.unsupported("the address of a value in a register", place.span)),
            },
        }
    }

    pub(super) fn load(
        &mut self,
        location: PlaceLocation,
        scalar: ScalarType,
        step: AccessStep,
        span: Span,
    ) -> Operand {
        match location {
            // A copy: the variable may change before the value is used.
            PlaceLocation::Register(from) => {
                let to = self.register();
                self.emit(Instruction::Move { to, from: from.into() }, span);
                to.into()
            }
            PlaceLocation::Memory(memory) => {
                let to = self.register();
                let access = memory.access(step);
                self.emit(Instruction::Load { to, address: memory.address, scalar, bits: memory.bits, access }, span);
                to.into()
            }
        }
    }

    pub(super) fn store(
        &mut self,
        location: PlaceLocation,
        scalar: ScalarType,
        value: Operand,
        step: AccessStep,
        span: Span,
    ) {
        match location {
            PlaceLocation::Register(to) => {
                self.emit(Instruction::Move { to, from: value }, span);
            }
            PlaceLocation::Memory(memory) => {
                let access = memory.access(step);
                self.emit(
                    Instruction::Store { address: memory.address, value, scalar, bits: memory.bits, access },
                    span,
                );
            }
        }
    }

    /// Copies an aggregate: word by word, as compilers do, so that other threads may come in between; an atomic one at once.
    pub(super) fn copy(&mut self, to: MemoryPlace, from: Operand, from_kind: AccessKind, size: u64, span: Span) {
        let from_access = MemoryAccess { kind: from_kind, step: AccessStep::Whole, align: 1 };
        let atomic = matches!(to.kind, AccessKind::Atomic(_)) || matches!(from_kind, AccessKind::Atomic(_));
        let word = self.lowering.module.pointer_bytes;
        if !atomic && size > word && size <= MAX_WORDS * word {
            for at in (0..size).step_by(word as usize) {
                let (target, source) = (self.moved(to.address, at, span), self.moved(from, at, span));
                let to_access = MemoryAccess { align: 1, ..to.access(AccessStep::Whole) };
                let size = word.min(size - at);
                self.emit(Instruction::Copy { to: target, from: source, size, to_access, from_access }, span);
            }
            return;
        }
        self.emit(
            Instruction::Copy { to: to.address, from, size, to_access: to.access(AccessStep::Whole), from_access },
            span,
        );
    }

    /// Gives a variable its first value.
    pub(super) fn initialise(&mut self, variable: VarId, init: &Init, span: Span) -> Lowered<()> {
        let unit = self.lowering.unit;
        let ty = unit.variables[variable].ty;
        match init {
            Init::Value(value) => {
                let place = LValue { kind: PlaceKind::Var(variable), ty, span };
                let location = self.place(&place, ElementUse::Access)?;
                self.initialise_part(location, ty, value, span)
            }
            Init::Parts(parts) => {
                if let Some(Home::Register(to)) = self.home(variable) {
                    // `int x = { 1 }`.
                    let value = match parts.last() {
                        Some(part) => self.value(&part.value)?,
                        None => Operand::Constant(CoreValue::Int(0)),
                    };
                    self.emit(Instruction::Move { to, from: value }, span);
                    return Ok(());
                }
                let place = LValue { kind: PlaceKind::Var(variable), ty, span };
                let PlaceLocation::Memory(whole) = self.place(&place, ElementUse::Access)? else { return Ok(()) };
                if !self.initialising {
                    let size = self.types().size(ty).unwrap_or(0);
                    self.emit(Instruction::Zero { address: whole.address, size }, span);
                }
                for part in parts {
                    if part.offset >= BIT_FIELD {
                        self.initialise_bits(whole.address, ty, part)?;
                        continue;
                    }
                    let at = part.value.span;
                    let address = self.moved(whole.address, part.offset, at);
                    let location = self.memory(address, part.ty.unqualified(), true);
                    self.initialise_part(location, part.ty, &part.value, at)?;
                }
                Ok(())
            }
        }
    }

    fn initialise_part(&mut self, location: PlaceLocation, ty: CType, value: &Expr, span: Span) -> Lowered<()> {
        // Initialisation is no atomic access, whatever the type (C11 7.17.2.1).
        let location = match location {
            PlaceLocation::Memory(memory) => PlaceLocation::Memory(MemoryPlace { kind: AccessKind::Plain, ..memory }),
            register => register,
        };
        if let CTypeKind::Opaque(opaque) = *self.types().kind(ty) {
            return self.initialise_opaque(location, opaque, value, span);
        }
        if let Some(scalar) = scalar_of(self.types(), ty) {
            let value = self.value(value)?;
            self.store(location, scalar, value, AccessStep::Whole, span);
            return Ok(());
        }
        match (self.types().size(ty), location) {
            (Some(size), PlaceLocation::Memory(to)) => {
                let from = self.aggregate(value)?;
                self.copy(to, from, AccessKind::Plain, size, span);
            }
            _ => {
                self.unsupported("an initialiser of this type", span);
            }
        }
        Ok(())
    }

    /// A static initialiser of the thread library: zero bytes and, of a mutex, its kind where the library keeps it.
    fn initialise_opaque(&mut self, location: PlaceLocation, opaque: Opaque, value: &Expr, span: Span) -> Lowered<()> {
        let PlaceLocation::Memory(memory) = location else { return Ok(()) };
        let Some(constant) = value.as_const() else {
            self.unsupported("a copy of a synchronisation object", span);
            return Ok(());
        };
        if !self.initialising {
            let size = match opaque {
                Opaque::MutexAttribute | Opaque::Once | Opaque::SpinLock => 4,
                _ => {
                    let ty = CTypeKind::Opaque(opaque);
                    self.opaque_size(&ty)
                }
            };
            self.emit(Instruction::Zero { address: memory.address, size }, span);
        }
        if constant == 0 {
            return Ok(());
        }
        let offset = match (opaque, self.lowering.module.pointer_bytes) {
            (Opaque::Mutex, 8) => 16,
            (Opaque::Mutex, _) => 12,
            (Opaque::Once | Opaque::SpinLock, _) => 0,
            _ => {
                self.unsupported("an initialiser of a synchronisation object that is not zero", span);
                return Ok(());
            }
        };
        let address = self.moved(memory.address, offset, span);
        let place = MemoryPlace { address, align: 1, ..memory };
        let value = Operand::Constant(CoreValue::Int(constant));
        self.store(PlaceLocation::Memory(place), ScalarType::Int(IntType::I32), value, AccessStep::Whole, span);
        Ok(())
    }

    fn opaque_size(&self, kind: &CTypeKind) -> u64 {
        let CTypeKind::Opaque(opaque) = kind else { return 0 };
        let wide = self.lowering.module.pointer_bytes == 8;
        match opaque {
            Opaque::Mutex => {
                if wide {
                    40
                } else {
                    24
                }
            }
            Opaque::Condition => 48,
            Opaque::ReadWriteLock | Opaque::Attribute => {
                if wide {
                    56
                } else {
                    32
                }
            }
            Opaque::Barrier => {
                if wide {
                    32
                } else {
                    20
                }
            }
            Opaque::Semaphore => {
                if wide {
                    32
                } else {
                    16
                }
            }
            Opaque::MutexAttribute | Opaque::Once | Opaque::SpinLock => 4,
        }
    }

    /// A part that is a bit-field: its offset tells the byte where its run begins and its number in the record.
    fn initialise_bits(&mut self, whole: Operand, ty: CType, part: &ast::InitPart) -> Lowered<()> {
        let span = part.value.span;
        let (start, number) = (part.offset % BIT_FIELD, (part.offset / BIT_FIELD) as usize - 1);
        let Some((record, base)) = find_bit_field(self.types(), ty, start, number, 0) else {
            self.unsupported("the initialiser of a bit-field of this layout", span);
            return Ok(());
        };
        let width = self.types().field(record, number).and_then(|f| f.bits).unwrap_or(1);
        let bits = Some(BitRange { first: bit_offset(self.types(), record, number), width: u64::from(width) });
        let Some(scalar) = scalar_of(self.types(), part.ty) else {
            self.unsupported("a bit-field of this type", span);
            return Ok(());
        };
        let value = self.value(&part.value)?;
        let address = self.moved(whole, base, span);
        let place = MemoryPlace { address, bits, kind: AccessKind::Plain, align: 1, packed: true };
        self.store(PlaceLocation::Memory(place), scalar, value, AccessStep::Whole, span);
        Ok(())
    }

    pub(super) fn is_atomic(location: PlaceLocation) -> bool {
        matches!(location, PlaceLocation::Memory(MemoryPlace { kind: AccessKind::Atomic(_), .. }))
    }

    /// A place that an expression loads, for functions that take it by reference.
    pub(super) fn loaded_place<'e>(&self, e: &'e Expr) -> Option<&'e LValue> {
        match &e.kind {
            CExprKind::Load(place) => Some(place),
            _ => None,
        }
    }
}

/// The record, and where it begins, that has this bit-field at this byte.
fn find_bit_field(types: &CTypes, ty: CType, start: u64, number: usize, base: u64) -> Option<(RecordId, u64)> {
    match types.kind(ty) {
        CTypeKind::Array(of, _) => {
            let size = types.size(*of).filter(|s| *s > 0)?;
            let element = start.checked_sub(base)? / size;
            find_bit_field(types, *of, start, number, base + element * size)
        }
        CTypeKind::Record(record) => {
            let fields = types.records[*record].fields.as_ref()?;
            if let Some(field) = fields.get(number)
                && field.bits.is_some()
                && base + field.offset % BIT_FIELD == start
            {
                return Some((*record, base));
            }
            fields.iter().filter(|f| f.bits.is_none()).find_map(|field| {
                let (from, size) = (base + field.offset, types.size(field.ty)?);
                (from..from + size).contains(&start).then(|| find_bit_field(types, field.ty, start, number, from))?
            })
        }
        _ => None,
    }
}
