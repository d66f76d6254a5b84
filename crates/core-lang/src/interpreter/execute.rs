//! Instructions: one at a time, in the current thread.
//!
//! In: the interpreter at a thread's next instruction. Out: its effect, or why the run stops. Every access goes
//! through `read` and `write` here: lifetime, bounds, alignment, race. Deliberately absent: calls (`calls`).

use super::memory::{AccessPurpose, AllocationOrigin, AllocationState, Initialised, MemoryRange};
use super::race::{AccessDirection, AtomicUpdate, Atomicity, order};
use super::{AtRace, ExecutionStop, Interpreter, Life, RecordedStep, Recording, Violation, ViolationKind};
use crate::module::*;
use crate::value::{self, CoreValue, Provenance, ScalarType, ValueFault};

/// A copy of an object takes at most so many steps.
const MAX_PARTS_OF_COPY: u64 = 16;

/// How an access orders and races.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessMode {
    Plain,
    /// Atomic with its memory order.
    Atomic(i128),
    /// What the thread library does to its own objects: never in a race with itself.
    Library,
}

impl AccessMode {
    fn atomicity(self) -> Atomicity {
        match self {
            AccessMode::Plain => Atomicity::NotAtomic,
            AccessMode::Atomic(_) | AccessMode::Library => Atomicity::Atomic,
        }
    }
}

impl Interpreter<'_> {
    /// Executes the next instruction of the current thread.
    pub(super) fn instruction(&mut self) -> Result<(), ExecutionStop> {
        self.instructions += 1;
        let thread = &mut self.threads[self.current as usize];
        thread.wait = None;
        if thread.life != Life::Running && thread.frames.is_empty() {
            return self.finish_thread();
        }
        let Some(frame) = thread.frames.last_mut() else { return self.finish_thread() };
        let (id, position) = (frame.function, frame.position as usize);
        let module = self.module;
        let Some(instruction) = module.functions[id].code.get(position) else {
            // The end of a function without a `return`.
            return self.leave(Returned::Nothing);
        };
        self.covered[id.index()][position] = true;
        let next = self.perform(instruction)?;
        if let Some(next) = next
            && let Some(frame) = self.thread().frames.last_mut()
        {
            frame.position = next;
        }
        Ok(())
    }

    fn here(&self) -> Position {
        self.threads[self.current as usize].frames.last().map_or(0, |f| f.position)
    }

    pub(crate) fn get(&self, operand: Operand) -> CoreValue {
        match operand {
            Operand::Constant(value) => value,
            Operand::Register(register) => match self.threads[self.current as usize].frames.last() {
                Some(frame) => frame.registers[register.index()],
                None => CoreValue::Undefined,
            },
        }
    }

    pub(crate) fn set(&mut self, register: Register, value: CoreValue) {
        if let Some(frame) = self.thread().frames.last_mut() {
            frame.registers[register.index()] = value;
        }
    }

    fn fault(fault: ValueFault) -> ExecutionStop {
        match fault {
            ValueFault::Overflow(text) => ExecutionStop::violation(ViolationKind::Overflow, text),
            ValueFault::DivisionByZero => ExecutionStop::violation(ViolationKind::DivisionByZero, "divides by zero"),
            ValueFault::Shift(text) => ExecutionStop::violation(ViolationKind::Shift, text),
            ValueFault::FloatConversion(text) => ExecutionStop::violation(ViolationKind::FloatConversion, text),
            ValueFault::Unrepresentable(what) => ExecutionStop::Unsupported(what.to_string()),
        }
    }

    /// A number that decides something; one that was never set is a violation.
    pub(crate) fn decided(&self, value: CoreValue, what: &str) -> Result<i128, ExecutionStop> {
        value.as_int().ok_or_else(|| match value {
            CoreValue::Float(_) => ExecutionStop::Unsupported(format!("{what} that is a floating number")),
            _ => ExecutionStop::violation(ViolationKind::Uninitialised, format!("{what} was never set")),
        })
    }

    /// The next position, or `None` where the instruction has set it itself.
    fn perform(&mut self, instruction: &Instruction) -> Result<Option<Position>, ExecutionStop> {
        let next = Some(self.here() + 1);
        match instruction {
            Instruction::Move { to, from } => self.set(*to, self.get(*from)),
            Instruction::Unary { to, op, scalar, operand } => {
                let result = value::unary(*op, *scalar, self.get(*operand)).map_err(Self::fault)?;
                self.set(*to, result);
            }
            Instruction::Binary { to, op, scalar, left, right } => {
                let result = value::binary(*op, *scalar, self.get(*left), self.get(*right)).map_err(Self::fault)?;
                self.set(*to, result);
            }
            Instruction::Compare { to, op, left, right, .. } => {
                let (left, right) = (self.get(*left), self.get(*right));
                if let (
                    CoreValue::Pointer(_, Provenance::Object(one)),
                    CoreValue::Pointer(_, Provenance::Object(other)),
                ) = (left, right)
                {
                    // Which of two objects lies first is drawn by the seed.
                    self.drawn |= one != other && !matches!(op, CompareOp::Equal | CompareOp::NotEqual);
                }
                self.set(*to, value::compare_values(*op, left, right));
            }
            Instruction::Convert { to, from_scalar, to_scalar, operand } => {
                let bytes = self.module.pointer_bytes;
                // Where objects lie is drawn by the seed.
                let address = matches!(self.get(*operand), CoreValue::Pointer(_, Provenance::Object(_)));
                self.drawn |= address && matches!(to_scalar, ScalarType::Int(_));
                let result =
                    value::convert(self.get(*operand), *from_scalar, *to_scalar, bytes).map_err(Self::fault)?;
                self.set(*to, result);
            }
            Instruction::Checked { result, overflow, op, int, left, right } => {
                let (a, b) = (self.get(*left), self.get(*right));
                let (a, b) = (self.decided(a, "an operand")?, self.decided(b, "an operand")?);
                let (wrapped, out) = value::checked(*op, *int, a, b);
                self.set(*result, CoreValue::Int(wrapped));
                self.set(*overflow, CoreValue::Int(i128::from(out)));
            }
            Instruction::ObjectAddress { to, object } => {
                let id = self.object_allocation(*object)?;
                self.set(*to, self.memory.pointer(id));
            }
            Instruction::LocalAddress { to, local } => {
                let id = self.thread().frames.last().and_then(|f| f.locals[local.index()]);
                let Some(id) = id else {
                    return Err(ExecutionStop::Unsupported(
                        "a local variable is used where its block was not entered".into(),
                    ));
                };
                self.set(*to, self.memory.pointer(id));
            }
            Instruction::FunctionAddress { to, function } => {
                let id = self.function_allocation(*function)?;
                self.set(*to, self.memory.pointer(id));
            }
            Instruction::ExternalAddress { to, external } => {
                let id = self.external_allocation(*external)?;
                self.set(*to, self.memory.pointer(id));
            }
            Instruction::Offset { to, pointer, index, scale } => {
                let (pointer, index) = (self.get(*pointer), self.get(*index));
                self.set(*to, self.offset(pointer, index, *scale)?);
            }
            Instruction::Difference { to, left, right, scale } => {
                let (a, b) = (self.get(*left).as_int(), self.get(*right).as_int());
                let result =
                    a.zip(b).map_or(CoreValue::Undefined, |(a, b)| CoreValue::Int((a - b) / i128::from(*scale)));
                self.set(*to, result);
            }
            Instruction::CheckIndex { index, length } => {
                if let Some(index) = self.get(*index).as_int()
                    && !(0..i128::from(*length)).contains(&index)
                {
                    let text = match *length > i64::MAX as u64 / 2 {
                        true => format!("index {index} of an array"),
                        false => format!("index {index} of an array of {length} elements"),
                    };
                    return Err(ExecutionStop::violation(ViolationKind::OutOfBounds, text));
                }
            }
            Instruction::Load { to, address, scalar, bits, access } => {
                let value = self.load(self.get(*address), *scalar, *bits, access)?;
                self.set(*to, value);
            }
            Instruction::Store { address, value, scalar, bits, access } => {
                if let Some(bits) = bits
                    && self.begins_bit_field(self.get(*address), *scalar, *bits, access)?
                {
                    return Ok(Some(self.here()));
                }
                self.store(self.get(*address), self.get(*value), *scalar, *bits, access)?;
            }
            Instruction::Copy { to, from, size, to_access, from_access } => {
                let (to, from) = (self.get(*to), self.get(*from));
                let (to_mode, from_mode) = (self.mode(to_access)?, self.mode(from_access)?);
                let part = self.part_of_copy(*size, to_access, from_access);
                // A pointer in a packed object is never taken apart.
                let torn_pointer = part < self.module.pointer_bytes && self.memory.holds_pointers(from, *size);
                if part < *size && self.threads.len() > 1 && !torn_pointer {
                    return self.copy_part((to, to_access.align), (from, from_access.align), *size, part);
                }
                let source = self.touch(from, *size, from_access.align, AccessPurpose::Read, from_mode)?;
                let target = self.touch(to, *size, to_access.align, AccessPurpose::Write, to_mode)?;
                if let AccessMode::Atomic(order) = from_mode {
                    self.acquire_from((source.allocation, source.offset), order);
                }
                if let AccessMode::Atomic(order) = to_mode {
                    self.release_to((target.allocation, target.offset), order, AtomicUpdate::Store);
                }
                self.memory.copy(target, source, *size);
                self.record(|i| format!("copies {size} bytes to {}", i.object_name(target.allocation, target.offset)));
            }
            Instruction::Zero { address, size } => {
                let spot = self.memory.locate(self.get(*address), *size, AccessPurpose::Write)?;
                self.memory.write_bytes(spot, &vec![0; *size as usize]);
            }
            Instruction::Fence { order } => {
                let order = self.get(*order);
                let order = self.decided(order, "a memory order")?;
                self.fence(order);
            }
            Instruction::Begin { local, size } => self.begin(*local, *size)?,
            Instruction::End { local } => self.end_local(*local),
            Instruction::Jump(position) => return Ok(Some(*position)),
            Instruction::Branch { condition, then, otherwise, .. } => {
                let condition = self.get(*condition);
                let Some(zero) = condition.is_zero() else {
                    return Err(ExecutionStop::violation(
                        ViolationKind::Uninitialised,
                        "decides by a value that was never set",
                    ));
                };
                return Ok(Some(if zero { *otherwise } else { *then }));
            }
            Instruction::Switch { value, cases, default } => {
                let value = self.get(*value);
                let value = self.decided(value, "the value of a switch")?;
                let found = cases.iter().find(|(low, high, _)| (*low..=*high).contains(&value));
                return Ok(Some(found.map_or(*default, |(_, _, position)| *position)));
            }
            Instruction::Call { target, arguments, result } => return self.call(*target, arguments, *result),
            Instruction::Return(returned) => {
                self.leave(*returned)?;
                return Ok(None);
            }
            Instruction::ListStart { list } => {
                let more = self.thread().frames.last().map_or_else(Vec::new, |f| f.more.clone());
                self.argument_lists.push((more, 0));
                self.set_list(*list, self.argument_lists.len() - 1)?;
            }
            Instruction::ListNext { to, list, scalar } => {
                let value = self.next_argument(self.get(*list), *scalar)?;
                self.set(*to, value);
            }
            Instruction::ListCopy { to, from } => {
                let number = self.list_number(self.get(*from))?;
                let copy = self.argument_lists[number].clone();
                self.argument_lists.push(copy);
                self.set_list(*to, self.argument_lists.len() - 1)?;
            }
            Instruction::ListEnd { list } => {
                self.list_number(self.get(*list))?;
            }
            Instruction::ExclusiveBegin => self.exclusive_begin(),
            Instruction::ExclusiveEnd => self.exclusive_end(),
            Instruction::Fail { message } => {
                return Err(ExecutionStop::violation(ViolationKind::Assertion, message.clone()));
            }
            Instruction::Unreachable { message } => {
                return Err(ExecutionStop::violation(ViolationKind::Unreachable, message.clone()));
            }
            Instruction::Unsupported { reason } => return Err(ExecutionStop::Unsupported(reason.clone())),
        }
        Ok(next)
    }

    /// The bytes that a copy moves in one step: an object that is no atomic one is copied part by part, and others may see it torn.
    fn part_of_copy(&self, size: u64, to: &MemoryAccess, from: &MemoryAccess) -> u64 {
        let plain = |a: &MemoryAccess| !matches!(a.kind, AccessKind::Atomic(_));
        if !plain(to) || !plain(from) {
            return size;
        }
        let align = to.align.max(from.align).clamp(1, 8);
        size.div_ceil(MAX_PARTS_OF_COPY).next_multiple_of(align)
    }

    /// Copies the next part; each address comes with its alignment.
    fn copy_part(
        &mut self,
        (to, to_align): (CoreValue, u64),
        (from, from_align): (CoreValue, u64),
        size: u64,
        part: u64,
    ) -> Result<Option<Position>, ExecutionStop> {
        let done = self.thread().frames.last().map_or(0, |f| f.copied);
        let part = part.min(size - done);
        let at = CoreValue::Int(i128::from(done));
        let (to, from) = (self.offset(to, at, 1)?, self.offset(from, at, 1)?);
        let source = self.touch(from, part, from_align, AccessPurpose::Read, AccessMode::Plain)?;
        let target = self.touch(to, part, to_align, AccessPurpose::Write, AccessMode::Plain)?;
        self.memory.copy(target, source, part);
        self.record(|i| format!("copies {part} bytes to {}", i.object_name(target.allocation, target.offset)));
        let finished = done + part >= size;
        if let Some(frame) = self.thread().frames.last_mut() {
            frame.copied = if finished { 0 } else { done + part };
        }
        let here = self.here();
        Ok(Some(if finished { here + 1 } else { here }))
    }

    pub(crate) fn exclusive_begin(&mut self) {
        let current = self.current;
        match &mut self.exclusive {
            Some((_, depth)) => *depth += 1,
            None => {
                self.exclusive = Some((current, 1));
                let clock = self.exclusive_clock.clone();
                self.thread().clock.join(&clock);
            }
        }
    }

    pub(crate) fn exclusive_end(&mut self) {
        let Some((owner, depth)) = self.exclusive else { return };
        if depth > 1 {
            self.exclusive = Some((owner, depth - 1));
            return;
        }
        self.exclusive = None;
        let clock = self.release();
        self.exclusive_clock.join(&clock);
    }

    /// `pointer + index * scale`, with the pointer's object kept.
    pub(crate) fn offset(&self, pointer: CoreValue, index: CoreValue, scale: i128) -> Result<CoreValue, ExecutionStop> {
        let (Some(base), Some(index)) = (pointer.as_int(), index.as_int()) else { return Ok(CoreValue::Undefined) };
        let provenance = match pointer {
            CoreValue::Pointer(_, provenance) => provenance,
            _ => Provenance::Any,
        };
        let mask = if self.module.pointer_bytes >= 8 { i128::from(u64::MAX) } else { 0xffff_ffff };
        let moved = base.wrapping_add(index.wrapping_mul(scale)) & mask;
        Ok(CoreValue::Pointer(moved as u64, provenance))
    }

    fn begin(&mut self, local: LocalId, size: Option<Operand>) -> Result<(), ExecutionStop> {
        let Some(frame) = self.threads[self.current as usize].frames.last() else { return Ok(()) };
        let function = frame.function;
        let declared = &self.module.functions[function].locals[local];
        let size = match size {
            None => declared.size,
            Some(size) => {
                let bytes = self.decided(self.get(size), "the length of an array")?;
                if bytes < 0 {
                    return Err(ExecutionStop::violation(ViolationKind::OutOfBounds, "an array of negative length"));
                }
                u64::try_from(bytes)
                    .map_err(|_| ExecutionStop::Unsupported("an array of more than 2^64 bytes".into()))?
            }
        };
        self.end_local(local);
        let origin = AllocationOrigin::Local(function, local, self.current);
        let id = self.memory.allocate(size, declared.align, origin, Initialised::Unset, self.span())?;
        if let Some(frame) = self.thread().frames.last_mut() {
            frame.locals[local.index()] = Some(id);
        }
        Ok(())
    }

    fn end_local(&mut self, local: LocalId) {
        let span = self.span();
        let id = self.thread().frames.last_mut().and_then(|f| f.locals[local.index()].take());
        if let Some(id) = id {
            self.end_object(id, span);
        }
    }

    /// Ends an object's life with all that was known of it.
    pub(crate) fn end_object(&mut self, id: u32, at: base::Span) {
        let size = self.memory.allocations[id as usize].size;
        if self.threads.len() > 1 {
            self.shadow.forget_object(id, size);
        }
        self.sync.forget_object(id);
        self.memory.end(id, at);
    }

    pub(super) fn mode(&self, access: &MemoryAccess) -> Result<AccessMode, ExecutionStop> {
        Ok(match access.kind {
            AccessKind::Plain | AccessKind::Volatile => AccessMode::Plain,
            AccessKind::Atomic(order) => AccessMode::Atomic(self.decided(self.get(order), "a memory order")?),
        })
    }

    /// Checks an access in every respect and notes it for races.
    pub(crate) fn touch(
        &mut self,
        pointer: CoreValue,
        size: u64,
        align: u64,
        purpose: AccessPurpose,
        mode: AccessMode,
    ) -> Result<MemoryRange, ExecutionStop> {
        if size == 0 {
            // Nothing is touched; any pointer will do but one that was never set.
            let (allocation, offset) = self.memory.target(pointer).unwrap_or((0, 0));
            return Ok(MemoryRange {
                allocation,
                offset: offset.min(self.memory.allocations[allocation as usize].size),
            });
        }
        let spot = self.memory.locate(pointer, size, purpose)?;
        if align > 1
            && let Some(address) = pointer.as_int()
            && address % i128::from(align) != 0
        {
            let text = format!("accesses {address:#x}, which is no multiple of {align}");
            return Err(ExecutionStop::violation(ViolationKind::Misaligned, text));
        }
        let direction = if purpose == AccessPurpose::Read { AccessDirection::Read } else { AccessDirection::Write };
        self.note_access(spot, size, direction, mode)?;
        Ok(spot)
    }

    /// Notes an access for races.
    pub(crate) fn note_access(
        &mut self,
        spot: MemoryRange,
        size: u64,
        direction: AccessDirection,
        mode: AccessMode,
    ) -> Result<(), ExecutionStop> {
        if self.threads.len() < 2 || size == 0 || self.ghost.is_some() {
            return Ok(());
        }
        let (thread, site) = (self.current, self.site());
        let clock = &self.threads[thread as usize].clock;
        let race =
            self.shadow.access(spot.allocation, spot.offset, size, thread, clock, direction, mode.atomicity(), site);
        let Some(other) = race else { return Ok(()) };
        let name = self.object_name(spot.allocation, spot.offset);
        let word = |d: AccessDirection, a: Atomicity| match (d, a) {
            (AccessDirection::Read, Atomicity::Atomic) => "reads atomically",
            (AccessDirection::Write, Atomicity::Atomic) => "writes atomically",
            (AccessDirection::Read, Atomicity::NotAtomic) => "reads",
            (AccessDirection::Write, Atomicity::NotAtomic) => "writes",
        };
        let text = format!(
            "{} {name} while {} {} it, and neither happens before the other",
            word(direction, mode.atomicity()),
            self.thread_name(other.thread),
            word(other.direction, other.atomicity)
        );
        let mut violation = Violation::new(ViolationKind::DataRace, text);
        let there = self.module.functions[other.site.function].spans.get(other.site.position as usize);
        violation.notes.extend(there.map(|s| {
            (*s, format!("{} {} it here", self.thread_name(other.thread), word(other.direction, other.atomicity)))
        }));
        match self.options.at_race {
            AtRace::Stop => Err(ExecutionStop::Violation(Box::new(violation))),
            AtRace::GoOn => {
                violation.thread = self.thread_name(thread);
                violation.span = self.current_span();
                if self.races.len() < 20
                    && !self.races.iter().any(|r| r.span == violation.span && r.notes == violation.notes)
                {
                    self.races.push(violation);
                }
                Ok(())
            }
        }
    }

    fn load(
        &mut self,
        address: CoreValue,
        scalar: ScalarType,
        bits: Option<BitRange>,
        access: &MemoryAccess,
    ) -> Result<CoreValue, ExecutionStop> {
        let mode = self.mode(access)?;
        let (pointer, size) = self.bytes_of(address, scalar, bits);
        let spot = self.touch(pointer, size, access.align, AccessPurpose::Read, mode)?;
        if let AccessMode::Atomic(order) = mode {
            self.acquire_from((spot.allocation, spot.offset), order);
        }
        let value = match (bits, scalar) {
            (Some(bits), ScalarType::Int(int)) => self.memory.load_bits(spot, int, bits.first % 8, bits.width),
            _ => self.memory.load(spot, scalar),
        };
        self.record(|i| format!("reads {} = {}", i.object_name(spot.allocation, spot.offset), i.value_text(value)));
        Ok(value)
    }

    fn store(
        &mut self,
        address: CoreValue,
        value: CoreValue,
        scalar: ScalarType,
        bits: Option<BitRange>,
        access: &MemoryAccess,
    ) -> Result<(), ExecutionStop> {
        let mode = self.mode(access)?;
        let (pointer, size) = self.bytes_of(address, scalar, bits);
        let spot = self.touch(pointer, size, access.align, AccessPurpose::Write, mode)?;
        if let AccessMode::Atomic(order) = mode {
            let update = if access.step == AccessStep::UpdateWrite {
                AtomicUpdate::ReadModifyWrite
            } else {
                AtomicUpdate::Store
            };
            self.release_to((spot.allocation, spot.offset), order, update);
        }
        match bits {
            Some(bits) => {
                if let Some(around) = self.thread().frames.last_mut().and_then(|f| f.around.take()) {
                    let allocation = &mut self.memory.allocations[spot.allocation as usize];
                    allocation.bytes[spot.offset as usize..(spot.offset + size) as usize].copy_from_slice(&around);
                }
                self.memory.store_bits(spot, bits.first % 8, bits.width, value);
            }
            None => self.memory.store(spot, scalar, value),
        }
        self.record(|i| format!("writes {} = {}", i.object_name(spot.allocation, spot.offset), i.value_text(value)));
        Ok(())
    }

    /// A machine stores whole bytes: what else is in them is read first and written back, so that a neighbour that another thread stores
    /// meanwhile is lost. C11 makes neighbours one location (3.14), so that is a race; where races are not the question it is
    /// still a run of the program.
    fn begins_bit_field(
        &mut self,
        address: CoreValue,
        scalar: ScalarType,
        bits: BitRange,
        access: &MemoryAccess,
    ) -> Result<bool, ExecutionStop> {
        let whole = bits.first.is_multiple_of(8) && bits.width.is_multiple_of(8);
        let begun = self.thread().frames.last().is_some_and(|f| f.around.is_some());
        if whole || begun || self.threads.len() < 2 || matches!(access.kind, AccessKind::Atomic(_)) {
            return Ok(false);
        }
        let (pointer, size) = self.bytes_of(address, scalar, Some(bits));
        let spot = self.memory.locate(pointer, size, AccessPurpose::Write)?;
        let allocation = &self.memory.allocations[spot.allocation as usize];
        let bytes = allocation.bytes[spot.offset as usize..(spot.offset + size) as usize].to_vec();
        if let Some(frame) = self.thread().frames.last_mut() {
            frame.around = Some(bytes);
        }
        Ok(true)
    }

    /// The bytes that a scalar or some of its bits take.
    fn bytes_of(&self, address: CoreValue, scalar: ScalarType, bits: Option<BitRange>) -> (CoreValue, u64) {
        match (bits, address) {
            (Some(bits), CoreValue::Pointer(base, provenance)) => {
                let (first, last) = (bits.first / 8, (bits.first + bits.width).div_ceil(8));
                (CoreValue::Pointer(base.wrapping_add(first), provenance), last - first)
            }
            _ => (address, scalar.bytes(self.module.pointer_bytes)),
        }
    }

    fn acquire_from(&mut self, at: (u32, u64), order: i128) {
        let Some(clock) = self.shadow.published(at).cloned() else { return };
        let thread = self.thread();
        if order::acquires(order) {
            thread.clock.join(&clock);
        } else {
            thread.seen.join(&clock);
        }
    }

    fn release_to(&mut self, at: (u32, u64), order: i128, update: AtomicUpdate) {
        let thread = self.current;
        if self.threads.len() < 2 {
            return;
        }
        if order::releases(order) {
            let clock = self.release();
            self.shadow.store(at, thread, Some(&clock), update);
        } else {
            let fenced = self.threads[thread as usize].fenced.clone();
            self.shadow.store(at, thread, fenced.as_ref(), update);
        }
    }

    fn fence(&mut self, order: i128) {
        let thread = self.thread();
        if order::acquires(order) {
            let seen = thread.seen.clone();
            thread.clock.join(&seen);
        }
        if order::releases(order) {
            let clock = self.release();
            self.thread().fenced = Some(clock);
        }
    }

    /// The thread's clock as others may learn it; what the thread does next is after it.
    pub(crate) fn release(&mut self) -> super::race::VectorClock {
        let current = self.current;
        let thread = self.thread();
        let clock = thread.clock.clone();
        thread.clock.tick(current);
        clock
    }

    /// Keeps a step to be shown.
    pub(crate) fn record(&mut self, text: impl FnOnce(&Self) -> String) {
        if self.options.recording == Recording::Nothing || self.events.len() >= MAX_EVENTS {
            return;
        }
        let event = RecordedStep { thread: self.current, span: self.span(), text: text(self) };
        self.events.push(event);
    }

    fn set_list(&mut self, list: Operand, number: usize) -> Result<(), ExecutionStop> {
        let spot = self.memory.locate(self.get(list), 8, AccessPurpose::Write)?;
        self.memory.store(spot, ScalarType::Int(crate::IntType::U64), CoreValue::Int(number as i128 + LIST_MARK));
        Ok(())
    }

    pub(crate) fn list_number(&self, list: CoreValue) -> Result<usize, ExecutionStop> {
        let spot = self.memory.locate(list, 8, AccessPurpose::Read)?;
        let number = self.memory.load(spot, ScalarType::Int(crate::IntType::U64)).as_int().map(|n| n - LIST_MARK);
        number.and_then(|n| usize::try_from(n).ok()).filter(|n| *n < self.argument_lists.len()).ok_or_else(|| {
            ExecutionStop::violation(ViolationKind::BadCall, "a list of arguments that was never started")
        })
    }

    pub(crate) fn next_argument(&mut self, list: CoreValue, scalar: ScalarType) -> Result<CoreValue, ExecutionStop> {
        let number = self.list_number(list)?;
        let (values, at) = &mut self.argument_lists[number];
        let Some((value, kind)) = values.get(*at).copied() else {
            return Err(ExecutionStop::violation(ViolationKind::BadCall, "takes more arguments than were handed over"));
        };
        *at += 1;
        let bytes = self.module.pointer_bytes;
        let fits = match (kind, scalar) {
            (ScalarType::Float(_), ScalarType::Float(_)) => true,
            (ScalarType::Float(_), _) | (_, ScalarType::Float(_)) => false,
            (a, b) => a.bytes(bytes) == b.bytes(bytes),
        };
        if !fits {
            return Err(ExecutionStop::violation(
                ViolationKind::BadCall,
                "takes an argument with another type than it was handed over with",
            ));
        }
        value::convert(value, kind, scalar, bytes).map_err(Self::fault)
    }

    /// The object of static storage, or the thread's own copy.
    pub(crate) fn object_allocation(&mut self, object: ObjectId) -> Result<u32, ExecutionStop> {
        let template = self.objects[object];
        let started = !self.threads.is_empty()
            && self.threads[0].frames.first().is_none_or(|f| f.after != super::AfterCall::Startup);
        if self.module.objects[object].class != StorageClass::Thread || (!started && self.current == 0) {
            return Ok(template);
        }
        let current = self.current;
        if let Some(own) = self.threads[current as usize].own_objects.get(&object.0) {
            return Ok(*own);
        }
        let declared = &self.module.objects[object];
        let origin = AllocationOrigin::ThreadLocal(object, current);
        let id = self.memory.allocate(declared.size, declared.align, origin, Initialised::Set, declared.span)?;
        let (to, from) = (MemoryRange { allocation: id, offset: 0 }, MemoryRange { allocation: template, offset: 0 });
        self.memory.copy(to, from, declared.size);
        self.thread().own_objects.insert(object.0, id);
        Ok(id)
    }

    pub(crate) fn is_live(&self, id: u32) -> bool {
        self.memory.allocations[id as usize].lifetime == AllocationState::Live
    }
}

/// Longer runs are shown by their end.
const MAX_EVENTS: usize = 100_000;
/// Lists of arguments are numbered from here, so that bytes of another kind are not taken for one.
const LIST_MARK: i128 = 0x7661_5f6c_0000;
