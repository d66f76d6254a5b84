//! Functions whose meaning depends on the types of their arguments: atomic operations, checked arithmetic, lists of arguments.
//!
//! In: a call of a function without a body. Out: instructions, or nothing where it is an ordinary library function. Every argument is evaluated, memory orders and the flag
//! of a weak exchange too. A weak exchange may fail for no reason, by the seed.

use super::body::{Body, Lowered};
use super::expr::zero_of;
use super::place::SEQ_CST;
use super::*;
use crate::c::ast::{CBinaryOp, Expr};
use base::Span;
use core_lang::{AccessKind, AccessStep, CompareOp, CoreValue, Instruction, MemoryAccess, Operand};

const RELAXED: Operand = Operand::Constant(CoreValue::Int(0));
const ACQUIRE: Operand = Operand::Constant(CoreValue::Int(2));
const RELEASE: Operand = Operand::Constant(CoreValue::Int(3));
/// An exchange that fails only for a reason.
const STRONG: Operand = Operand::Constant(CoreValue::Int(0));

/// Which value an update gives back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum UpdateResult {
    Old,
    New,
}

/// What an update computes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Computes {
    Operation(CBinaryOp),
    /// Complement of the conjunction.
    Nand,
    /// The operand itself.
    Exchange,
}

fn computes(word: &str) -> Option<Computes> {
    Some(match word {
        "add" => Computes::Operation(CBinaryOp::Add),
        "sub" => Computes::Operation(CBinaryOp::Sub),
        "and" => Computes::Operation(CBinaryOp::And),
        "or" => Computes::Operation(CBinaryOp::Or),
        "xor" => Computes::Operation(CBinaryOp::Xor),
        "nand" => Computes::Nand,
        _ => return None,
    })
}

impl Body<'_, '_> {
    /// The value of a builtin's call; `None` if the name is none.
    pub(super) fn builtin(&mut self, name: &str, arguments: &[Expr], e: &Expr) -> Lowered<Option<Operand>> {
        let span = e.span;
        let nothing = Some(Operand::Constant(CoreValue::Undefined));
        if let Some(rest) = name.strip_prefix("__atomic_").or(name.strip_prefix("__sync_")) {
            return self.atomic(rest, name.starts_with("__sync_"), arguments, e).map(Some);
        }
        match (name, arguments) {
            ("atomic_thread_fence", [order]) => {
                let order = self.value(order)?;
                self.emit(Instruction::Fence { order }, span);
                Ok(nothing)
            }
            ("atomic_signal_fence", [order]) => {
                self.value(order)?;
                Ok(nothing)
            }
            ("__builtin_va_start", [list, ..]) => {
                let list = self.list(list, span)?;
                self.emit(Instruction::ListStart { list }, span);
                Ok(nothing)
            }
            ("__builtin_va_end", [list]) => {
                let list = self.list(list, span)?;
                self.emit(Instruction::ListEnd { list }, span);
                Ok(nothing)
            }
            ("__builtin_va_copy", [to, from]) => {
                let (to, from) = (self.list(to, span)?, self.list(from, span)?);
                self.emit(Instruction::ListCopy { to, from }, span);
                Ok(nothing)
            }
            ("__builtin_add_overflow" | "__builtin_sub_overflow" | "__builtin_mul_overflow", [left, right, target]) => {
                let op = match name {
                    "__builtin_add_overflow" => core::BinaryOp::Add,
                    "__builtin_sub_overflow" => core::BinaryOp::Subtract,
                    _ => core::BinaryOp::Multiply,
                };
                let (left, right) = (self.value(left)?, self.value(right)?);
                let pointee = self.types().pointee(target.ty);
                let address = self.value(target)?;
                let Some(ScalarType::Int(int)) = pointee.and_then(|t| scalar_of(self.types(), t)) else {
                    return Ok(Some(self.unsupported("checked arithmetic on this type", span)));
                };
                let (result, overflow) = (self.register(), self.register());
                self.emit(Instruction::Checked { result, overflow, op, int, left, right }, span);
                let access = MemoryAccess { kind: AccessKind::Plain, step: AccessStep::Whole, align: int.bytes() };
                let (scalar, value) = (ScalarType::Int(int), result.into());
                self.emit(Instruction::Store { address, value, scalar, bits: None, access }, span);
                Ok(Some(overflow.into()))
            }
            _ => Ok(None),
        }
    }

    /// The address of a `va_list`.
    fn list(&mut self, e: &Expr, span: Span) -> Lowered<Operand> {
        match self.loaded_place(e) {
            Some(place) if matches!(self.types().kind(place.ty), CTypeKind::VarArgs) => self.address(place),
            _ => {
                self.discard(e)?;
                Ok(self.unsupported("a list of arguments of this form", span))
            }
        }
    }

    pub(super) fn next_argument(&mut self, list: &Expr, ty: CType, span: Span) -> Lowered<Operand> {
        let list = self.list(list, span)?;
        let Some(scalar) = scalar_of(self.types(), ty) else {
            return Ok(self.unsupported("a struct taken out of a list of arguments", span));
        };
        let to = self.register();
        self.emit(Instruction::ListNext { to, list, scalar }, span);
        Ok(to.into())
    }

    fn atomic(&mut self, name: &str, old_style: bool, arguments: &[Expr], e: &Expr) -> Lowered<Operand> {
        let span = e.span;
        let mut values = Vec::with_capacity(arguments.len());
        for argument in arguments {
            values.push(match scalar_of(self.types(), argument.ty) {
                Some(_) => self.value(argument)?,
                None => {
                    self.discard(argument)?;
                    Operand::Constant(CoreValue::Undefined)
                }
            });
        }
        match (name, &values[..]) {
            ("synchronize", _) => {
                self.emit(Instruction::Fence { order: SEQ_CST }, span);
                return Ok(Operand::Constant(CoreValue::Undefined));
            }
            ("thread_fence", [order]) => {
                self.emit(Instruction::Fence { order: *order }, span);
                return Ok(Operand::Constant(CoreValue::Undefined));
            }
            ("signal_fence", [_]) => return Ok(Operand::Constant(CoreValue::Undefined)),
            ("is_lock_free" | "always_lock_free", _) => return Ok(Operand::Constant(CoreValue::Int(1))),
            _ => {}
        }
        let pointee = arguments.first().and_then(|a| self.types().pointee(a.ty)).map(CType::unqualified);
        let flag = matches!(name, "test_and_set" | "clear");
        let scalar = match (flag, pointee) {
            (true, _) => Some(ScalarType::Int(IntType::U8)),
            (_, Some(ty)) => scalar_of(self.types(), ty),
            (_, None) => None,
        };
        let size = pointee.and_then(|ty| self.types().size(ty));
        match (scalar, size) {
            (Some(scalar), _) => self.atomic_scalar(name, old_style, scalar, &values, arguments, span),
            (None, Some(size)) => Ok(self.atomic_struct(name, size, &values, span)),
            (None, None) => Ok(self.unsupported(format!("`{name}` on this type"), span)),
        }
    }

    fn access(&self, kind: AccessKind, step: AccessStep, scalar: ScalarType) -> MemoryAccess {
        MemoryAccess { kind, step, align: scalar.bytes(self.lowering.module.pointer_bytes) }
    }

    fn atomic_load(
        &mut self,
        address: Operand,
        scalar: ScalarType,
        order: Operand,
        step: AccessStep,
        span: Span,
    ) -> Operand {
        let to = self.register();
        let access = self.access(AccessKind::Atomic(order), step, scalar);
        self.emit(Instruction::Load { to, address, scalar, bits: None, access }, span);
        to.into()
    }

    fn atomic_store(
        &mut self,
        address: Operand,
        value: Operand,
        scalar: ScalarType,
        order: Operand,
        step: AccessStep,
        span: Span,
    ) {
        let access = self.access(AccessKind::Atomic(order), step, scalar);
        self.emit(Instruction::Store { address, value, scalar, bits: None, access }, span);
    }

    fn plain_load(&mut self, address: Operand, scalar: ScalarType, span: Span) -> Operand {
        let to = self.register();
        let access = self.access(AccessKind::Plain, AccessStep::Whole, scalar);
        self.emit(Instruction::Load { to, address, scalar, bits: None, access }, span);
        to.into()
    }

    fn plain_store(&mut self, address: Operand, value: Operand, scalar: ScalarType, span: Span) {
        let access = self.access(AccessKind::Plain, AccessStep::Whole, scalar);
        self.emit(Instruction::Store { address, value, scalar, bits: None, access }, span);
    }

    /// An argument converted to the type of the atomic object.
    fn fitted(&mut self, value: Operand, e: &Expr, scalar: ScalarType, span: Span) -> Operand {
        match scalar_of(self.types(), e.ty) {
            Some(from) => self.convert(value, from, scalar, span),
            None => self.unsupported("an operand of this type", span),
        }
    }

    fn atomic_scalar(
        &mut self,
        name: &str,
        old_style: bool,
        scalar: ScalarType,
        values: &[Operand],
        arguments: &[Expr],
        span: Span,
    ) -> Lowered<Operand> {
        let nothing = Operand::Constant(CoreValue::Undefined);
        let fitted = |body: &mut Self, n: usize| body.fitted(values[n], &arguments[n], scalar, span);
        Ok(match (name, values) {
            ("load_n", [address, order]) => self.atomic_load(*address, scalar, *order, AccessStep::Whole, span),
            ("load", [address, target, order]) => {
                let value = self.atomic_load(*address, scalar, *order, AccessStep::Whole, span);
                self.plain_store(*target, value, scalar, span);
                nothing
            }
            ("store_n", [address, _, order]) => {
                let value = fitted(self, 1);
                self.atomic_store(*address, value, scalar, *order, AccessStep::Whole, span);
                nothing
            }
            ("store", [address, source, order]) => {
                let value = self.plain_load(*source, scalar, span);
                self.atomic_store(*address, value, scalar, *order, AccessStep::Whole, span);
                nothing
            }
            ("exchange_n", [address, _, order]) => {
                let value = fitted(self, 1);
                self.update(*address, scalar, Computes::Exchange, value, *order, UpdateResult::Old, span)
            }
            ("exchange", [address, source, target, order]) => {
                let value = self.plain_load(*source, scalar, span);
                let old = self.update(*address, scalar, Computes::Exchange, value, *order, UpdateResult::Old, span);
                self.plain_store(*target, old, scalar, span);
                nothing
            }
            ("compare_exchange_n", [address, expected, _, weak, success, failure]) => {
                let desired = fitted(self, 2);
                self.exchange(*address, *expected, desired, scalar, *weak, *success, *failure, span)
            }
            ("compare_exchange", [address, expected, source, weak, success, failure]) => {
                let desired = self.plain_load(*source, scalar, span);
                self.exchange(*address, *expected, desired, scalar, *weak, *success, *failure, span)
            }
            ("test_and_set", [address, order]) => {
                let one = Operand::Constant(CoreValue::Int(1));
                let old = self.update(*address, scalar, Computes::Exchange, one, *order, UpdateResult::Old, span);
                let to = self.register();
                let op = CompareOp::NotEqual;
                self.emit(Instruction::Compare { to, op, scalar, left: old, right: zero_of(scalar) }, span);
                to.into()
            }
            ("clear", [address, order]) => {
                self.atomic_store(*address, zero_of(scalar), scalar, *order, AccessStep::Whole, span);
                nothing
            }
            ("lock_test_and_set", [address, _, ..]) => {
                let value = fitted(self, 1);
                self.update(*address, scalar, Computes::Exchange, value, ACQUIRE, UpdateResult::Old, span)
            }
            ("lock_release", [address, ..]) => {
                self.atomic_store(*address, zero_of(scalar), scalar, RELEASE, AccessStep::Whole, span);
                nothing
            }
            ("bool_compare_and_swap" | "val_compare_and_swap", [address, _, _, ..]) => {
                let (expected, desired) = (fitted(self, 1), fitted(self, 2));
                let (equal, old) =
                    self.compare_and_swap(*address, expected, desired, scalar, STRONG, SEQ_CST, SEQ_CST, span);
                if name.starts_with("bool") { equal } else { old }
            }
            _ => {
                let (word, gives) = match name.split_once("fetch_and_").or(name.split_once("fetch_")) {
                    Some(("", word)) => (word, UpdateResult::Old),
                    _ => {
                        let word = name.strip_suffix("_and_fetch").or(name.strip_suffix("_fetch")).unwrap_or(name);
                        (word, UpdateResult::New)
                    }
                };
                let order = if old_style { Some(SEQ_CST) } else { values.get(2).copied() };
                match (computes(word), values, order) {
                    (Some(computes), [address, operand, ..], Some(order)) => {
                        // Of a pointer the operand is a number of bytes.
                        let value = match scalar {
                            ScalarType::Pointer => *operand,
                            _ => fitted(self, 1),
                        };
                        self.update(*address, scalar, computes, value, order, gives, span)
                    }
                    _ => self.unsupported(format!("the builtin `{name}`"), span),
                }
            }
        })
    }

    #[allow(clippy::too_many_arguments)] // What a read-modify-write is: object, type, function, operand, order, result.
    fn update(
        &mut self,
        address: Operand,
        scalar: ScalarType,
        computes: Computes,
        operand: Operand,
        order: Operand,
        gives: UpdateResult,
        span: Span,
    ) -> Operand {
        let old = self.atomic_load(address, scalar, order, AccessStep::UpdateRead, span);
        let new = match (computes, scalar) {
            (Computes::Exchange, _) => operand,
            (Computes::Operation(op), ScalarType::Pointer) => {
                self.pointer_add(old, operand, 1, op == CBinaryOp::Sub, span)
            }
            (Computes::Operation(op), ScalarType::Int(int)) => {
                // Atomic arithmetic wraps silently (C11 7.17.7.5).
                let unsigned = ScalarType::Int(IntType { sign: Signedness::Unsigned, ..int });
                let (a, b) = (self.convert(old, scalar, unsigned, span), self.convert(operand, scalar, unsigned, span));
                let sum = self.binary(op, Some(unsigned), a, b, span);
                self.convert(sum, unsigned, scalar, span)
            }
            (Computes::Nand, ScalarType::Int(_)) => {
                let both = self.binary(CBinaryOp::And, Some(scalar), old, operand, span);
                let to = self.register();
                self.emit(Instruction::Unary { to, op: core::UnaryOp::Complement, scalar, operand: both }, span);
                to.into()
            }
            _ => self.unsupported("an atomic operation on this type", span),
        };
        self.atomic_store(address, new, scalar, order, AccessStep::UpdateWrite, span);
        match gives {
            UpdateResult::Old => old,
            UpdateResult::New => new,
        }
    }

    /// Whether the object held the expected value, and what it held; then the desired value is stored.
    #[allow(clippy::too_many_arguments)] // What a compare-and-swap is.
    fn compare_and_swap(
        &mut self,
        address: Operand,
        expected: Operand,
        desired: Operand,
        scalar: ScalarType,
        weak: Operand,
        success: Operand,
        failure: Operand,
        span: Span,
    ) -> (Operand, Operand) {
        let spurious = (weak != STRONG).then(|| self.spurious_failure(span));
        // The order of the read depends on the result: it is read relaxed first and again, in the same step, with its order.
        let old = self.atomic_load(address, scalar, RELAXED, AccessStep::UpdateRead, span);
        let equal = self.register();
        self.emit(Instruction::Compare { to: equal, op: CompareOp::Equal, scalar, left: old, right: expected }, span);
        if let Some(right) = spurious {
            let scalar = ScalarType::Int(IntType::I32);
            let (left, op) = (equal.into(), CompareOp::Greater);
            self.emit(Instruction::Compare { to: equal, op, scalar, left, right }, span);
        }
        let (yes, no, end) = (self.label(), self.label(), self.label());
        self.branch(equal.into(), ScalarType::Int(IntType::I32), yes, no, span);
        self.place_label(yes);
        self.atomic_load(address, scalar, success, AccessStep::UpdateWrite, span);
        self.atomic_store(address, desired, scalar, success, AccessStep::UpdateWrite, span);
        self.jump(end, span);
        self.place_label(no);
        self.atomic_load(address, scalar, failure, AccessStep::UpdateWrite, span);
        self.place_label(end);
        (equal.into(), old)
    }

    #[allow(clippy::too_many_arguments)] // What a compare-exchange is.
    fn exchange(
        &mut self,
        address: Operand,
        expected: Operand,
        desired: Operand,
        scalar: ScalarType,
        weak: Operand,
        success: Operand,
        failure: Operand,
        span: Span,
    ) -> Operand {
        let wanted = self.plain_load(expected, scalar, span);
        let (equal, old) = self.compare_and_swap(address, wanted, desired, scalar, weak, success, failure, span);
        let (different, end) = (self.label(), self.label());
        self.branch(equal, ScalarType::Int(IntType::I32), end, different, span);
        self.place_label(different);
        self.plain_store(expected, old, scalar, span);
        self.place_label(end);
        equal
    }

    /// 1 where a weak exchange fails for no reason; drawn before the step of the exchange itself.
    fn spurious_failure(&mut self, span: Span) -> Operand {
        let result = core::ResultKind::Scalar(ScalarType::Int(IntType::I32));
        let external = self.lowering.named_external(core_lang::library::SPURIOUS_FAILURE, result);
        self.call_instruction(core::CallTarget::External(external), Vec::new(), result, 4, span)
    }

    fn atomic_struct(&mut self, name: &str, size: u64, values: &[Operand], span: Span) -> Operand {
        let access = |kind| MemoryAccess { kind, step: AccessStep::Whole, align: 1 };
        let (to, from, to_access, from_access) = match (name, values) {
            ("load", [address, target, order]) => {
                (*target, *address, access(AccessKind::Plain), access(AccessKind::Atomic(*order)))
            }
            ("store", [address, source, order]) => {
                (*address, *source, access(AccessKind::Atomic(*order)), access(AccessKind::Plain))
            }
            _ => return self.unsupported(format!("`{name}` on a struct"), span),
        };
        self.emit(Instruction::Copy { to, from, size, to_access, from_access }, span);
        Operand::Constant(CoreValue::Undefined)
    }
}
