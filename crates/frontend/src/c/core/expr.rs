//! Values: every expression of the typed tree.
//!
//! In: `ast::Expr`. Out: an operand; of a struct, the address of its bytes. Operands are evaluated from left to right, the value of an assignment before
//! its place: one of the orders that C allows. Conversions are explicit in the tree and stay explicit here.

use super::body::{Body, Lowered};
use super::place::{ElementUse, PlaceLocation};
use super::*;
use crate::c::ast::{CBinaryOp, CCallee, CCompareOp, CExprKind, CUnaryOp, Expr, Fix, LValue, Made};
use base::Span;
use core_lang::{AccessKind, AccessStep, CallArgument, CallTarget, CoreValue, Instruction, Operand};

pub(super) fn binary_op(op: CBinaryOp) -> core::BinaryOp {
    match op {
        CBinaryOp::Add => core::BinaryOp::Add,
        CBinaryOp::Sub => core::BinaryOp::Subtract,
        CBinaryOp::Mul => core::BinaryOp::Multiply,
        CBinaryOp::Div => core::BinaryOp::Divide,
        CBinaryOp::Rem => core::BinaryOp::Remainder,
        CBinaryOp::Shl => core::BinaryOp::ShiftLeft,
        CBinaryOp::Shr => core::BinaryOp::ShiftRight,
        CBinaryOp::And => core::BinaryOp::And,
        CBinaryOp::Or => core::BinaryOp::Or,
        CBinaryOp::Xor => core::BinaryOp::Xor,
    }
}

fn compare_op(op: CCompareOp) -> core::CompareOp {
    match op {
        CCompareOp::Eq => core::CompareOp::Equal,
        CCompareOp::Ne => core::CompareOp::NotEqual,
        CCompareOp::Lt => core::CompareOp::Less,
        CCompareOp::Le => core::CompareOp::LessOrEqual,
        CCompareOp::Gt => core::CompareOp::Greater,
        CCompareOp::Ge => core::CompareOp::GreaterOrEqual,
    }
}

pub(super) fn zero_of(scalar: ScalarType) -> Operand {
    Operand::Constant(match scalar {
        ScalarType::Int(_) => CoreValue::Int(0),
        ScalarType::Float(_) => CoreValue::Float(0.0),
        ScalarType::Pointer => CoreValue::NULL,
    })
}

impl Body<'_, '_> {
    /// Evaluates for the effects alone.
    pub(super) fn discard(&mut self, e: &Expr) -> Lowered<()> {
        let scalar = scalar_of(self.types(), e.ty).is_some();
        match &e.kind {
            _ if scalar || self.types().is_void(e.ty) => self.value(e)?,
            CExprKind::Unmodelled(_) => self.value(e)?,
            _ => self.aggregate(e)?,
        };
        Ok(())
    }

    /// The value of a scalar expression, or of one of type `void`.
    pub(super) fn value(&mut self, e: &Expr) -> Lowered<Operand> {
        let span = e.span;
        let scalar = scalar_of(self.types(), e.ty);
        Ok(match &e.kind {
            CExprKind::Const(k) => match scalar {
                Some(ScalarType::Pointer) => Operand::Constant(CoreValue::Pointer(*k as u64, core::Provenance::Any)),
                Some(ScalarType::Float(_)) => Operand::Constant(CoreValue::Float(*k as f64)),
                _ => Operand::Constant(CoreValue::Int(*k)),
            },
            CExprKind::Load(place) => {
                let location = self.place(place, ElementUse::Access)?;
                match scalar {
                    Some(scalar) => self.load(location, scalar, AccessStep::Whole, span),
                    None => self.unsupported(format!("a value of type `{}`", self.types().show(e.ty)), span),
                }
            }
            CExprKind::Address(place) => self.address(place)?,
            CExprKind::FunctionAddress(function) => {
                let to = self.register();
                match self.lowering.functions.get(function).copied() {
                    Some(function) => self.emit(Instruction::FunctionAddress { to, function }, span),
                    None => {
                        let unit = self.lowering.unit;
                        let external = self.lowering.external(&unit.functions[*function]);
                        self.emit(Instruction::ExternalAddress { to, external }, span)
                    }
                };
                to.into()
            }
            CExprKind::TextAddress(text) => {
                let object = self.lowering.text(*text, span);
                let to = self.register();
                self.emit(Instruction::ObjectAddress { to, object }, span);
                to.into()
            }
            CExprKind::Unary(op, operand) => {
                let operand = self.value(operand)?;
                let op = match op {
                    CUnaryOp::Minus => core::UnaryOp::Negate,
                    CUnaryOp::Complement => core::UnaryOp::Complement,
                };
                let Some(scalar) = scalar else { return Ok(self.unsupported("an operator on this type", span)) };
                let to = self.register();
                self.emit(Instruction::Unary { to, op, scalar, operand }, span);
                to.into()
            }
            CExprKind::Binary(op, left, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                self.binary(*op, scalar, left, right, span)
            }
            CExprKind::Compare(op, left, right) => {
                let operands = scalar_of(self.types(), left.ty);
                let (left, right) = (self.value(left)?, self.value(right)?);
                let Some(scalar) = operands else { return Ok(self.unsupported("a comparison on this type", span)) };
                let to = self.register();
                self.emit(Instruction::Compare { to, op: compare_op(*op), scalar, left, right }, span);
                to.into()
            }
            CExprKind::PointerAdd { pointer, index, scale, subtract } => {
                let (pointer, index) = (self.value(pointer)?, self.value(index)?);
                self.pointer_add(pointer, index, *scale, *subtract, span)
            }
            CExprKind::PointerDiff { left, right, scale } => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                let to = self.register();
                self.emit(Instruction::Difference { to, left, right, scale: *scale }, span);
                to.into()
            }
            CExprKind::Cast(operand) => self.cast(operand, e.ty, span)?,
            CExprKind::Not(operand) => {
                let operands = scalar_of(self.types(), operand.ty);
                let left = self.value(operand)?;
                let Some(scalar) = operands else { return Ok(self.unsupported("`!` on this type", span)) };
                let to = self.register();
                let op = core::CompareOp::Equal;
                self.emit(Instruction::Compare { to, op, scalar, left, right: zero_of(scalar) }, span);
                to.into()
            }
            CExprKind::And(left, right) => self.logical(left, right, Junction::And, span)?,
            CExprKind::Or(left, right) => self.logical(left, right, Junction::Or, span)?,
            CExprKind::Conditional(condition, then, otherwise) => {
                let (yes, no, end) = (self.label(), self.label(), self.label());
                let to = self.register();
                self.condition(condition, yes, no)?;
                for (label, branch) in [(yes, then), (no, otherwise)] {
                    self.place_label(label);
                    let from = self.value(branch)?;
                    self.emit(Instruction::Move { to, from }, span);
                    self.jump(end, span);
                }
                self.place_label(end);
                to.into()
            }
            CExprKind::Elvis(first, otherwise) => {
                let (no, end) = (self.label(), self.label());
                let to = self.register();
                let from = self.value(first)?;
                self.emit(Instruction::Move { to, from }, span);
                match scalar_of(self.types(), first.ty) {
                    Some(scalar) => self.branch(to.into(), scalar, end, no, span),
                    None => {
                        self.unsupported("`?:` on this type", span);
                    }
                }
                self.place_label(no);
                let from = self.value(otherwise)?;
                self.emit(Instruction::Move { to, from }, span);
                self.place_label(end);
                to.into()
            }
            CExprKind::Comma(left, right) => {
                self.discard(left)?;
                self.value(right)?
            }
            CExprKind::Assign(place, value) => self.assign(place, value, span)?,
            CExprKind::AssignOp { place, op, value, compute } => {
                let location = self.place(place, ElementUse::Access)?;
                let operand = self.value(value)?;
                let (own, computed) = (scalar_of(self.types(), place.ty), scalar_of(self.types(), *compute));
                let (Some(own), Some(computed)) = (own, computed) else {
                    return Ok(self.unsupported("a compound assignment on this type", span));
                };
                let (read, write) = self.update_steps(location);
                let old = self.load(location, own, read, span);
                let old = self.convert(old, own, computed, span);
                let new = self.binary(*op, Some(computed), old, operand, span);
                let new = self.convert(new, computed, own, span);
                self.store(location, own, new, write, span);
                self.stored_value(location, own, new, span)
            }
            CExprKind::AssignPointer { place, index, scale, subtract } => {
                let location = self.place(place, ElementUse::Access)?;
                let index = self.value(index)?;
                let (read, write) = self.update_steps(location);
                let old = self.load(location, ScalarType::Pointer, read, span);
                let new = self.pointer_add(old, index, *scale, *subtract, span);
                self.store(location, ScalarType::Pointer, new, write, span);
                new
            }
            CExprKind::Increment { place, step, fix } => self.increment(place, *step, *fix, span)?,
            CExprKind::Call(callee, arguments) => self.call(callee, arguments, e)?,
            CExprKind::Statements(statements, last) => {
                self.enter(statements, span);
                for statement in statements {
                    self.statement(statement)?;
                }
                let value = match last {
                    Some(last) if self.types().is_void(last.ty) || scalar.is_some() => self.value(last)?,
                    Some(last) => {
                        self.discard(last)?;
                        Operand::Constant(CoreValue::Undefined)
                    }
                    None => Operand::Constant(CoreValue::Undefined),
                };
                self.exit(span);
                value
            }
            CExprKind::Literal(variable, init, address) => {
                let local = self.literal_home(*variable);
                self.emit(Instruction::Begin { local, size: None }, span);
                self.initialise(*variable, init, span)?;
                self.value(address)?
            }
            CExprKind::Float { number, made, parts } => self.float(*number, *made, parts, e.ty, span)?,
            CExprKind::VaArg(list) => self.next_argument(list, e.ty, span)?,
            CExprKind::Unmodelled(reason) => self.unsupported(reason.clone(), span),
        })
    }

    /// The address of the bytes of an expression of struct type.
    pub(super) fn aggregate(&mut self, e: &Expr) -> Lowered<Operand> {
        let span = e.span;
        Ok(match &e.kind {
            CExprKind::Load(place) => match self.place(place, ElementUse::Access)? {
                PlaceLocation::Memory(memory) => match memory.kind {
                    AccessKind::Plain => memory.address,
                    // The access keeps its kind: the bytes are read here, once.
                    kind => {
                        let size = self.types().size(e.ty).unwrap_or(0);
                        let align = self.types().align(e.ty);
                        let copy = self.temporary(size, align, span);
                        let access = |kind| core::MemoryAccess { kind, step: AccessStep::Whole, align: 1 };
                        let (to_access, from_access) = (access(AccessKind::Plain), access(kind));
                        self.emit(
                            Instruction::Copy { to: copy, from: memory.address, size, to_access, from_access },
                            span,
                        );
                        copy
                    }
                },
                PlaceLocation::Register(_) => self.unsupported("a struct in a register", span),
            },
            CExprKind::Comma(left, right) => {
                self.discard(left)?;
                self.aggregate(right)?
            }
            CExprKind::Conditional(condition, then, otherwise) => {
                let (yes, no, end) = (self.label(), self.label(), self.label());
                let to = self.register();
                self.condition(condition, yes, no)?;
                for (label, branch) in [(yes, then), (no, otherwise)] {
                    self.place_label(label);
                    let from = self.aggregate(branch)?;
                    self.emit(Instruction::Move { to, from }, span);
                    self.jump(end, span);
                }
                self.place_label(end);
                to.into()
            }
            CExprKind::Assign(place, value) => {
                let from = self.aggregate(value)?;
                let size = self.types().size(e.ty).unwrap_or(0);
                match self.place(place, ElementUse::Access)? {
                    PlaceLocation::Memory(to) => {
                        self.copy(to, from, AccessKind::Plain, size, span);
                        to.address
                    }
                    PlaceLocation::Register(_) => self.unsupported("a struct in a register", span),
                }
            }
            CExprKind::Call(callee, arguments) => self.call(callee, arguments, e)?,
            CExprKind::Statements(statements, Some(last)) => {
                let size = self.types().size(last.ty).unwrap_or(0);
                let place = self.temporary(size, self.types().align(last.ty), span);
                self.enter(statements, span);
                for statement in statements {
                    self.statement(statement)?;
                }
                let from = self.aggregate(last)?;
                let access = core::MemoryAccess { kind: AccessKind::Plain, step: AccessStep::Whole, align: 1 };
                self.emit(Instruction::Copy { to: place, from, size, to_access: access, from_access: access }, span);
                self.exit(span);
                place
            }
            CExprKind::Unmodelled(reason) => self.unsupported(reason.clone(), span),
            _ => self.unsupported(format!("a value of type `{}`", self.types().show(e.ty)), span),
        })
    }

    pub(super) fn binary(
        &mut self,
        op: CBinaryOp,
        scalar: Option<ScalarType>,
        left: Operand,
        right: Operand,
        span: Span,
    ) -> Operand {
        let Some(scalar) = scalar else { return self.unsupported("an operator on this type", span) };
        let to = self.register();
        self.emit(Instruction::Binary { to, op: binary_op(op), scalar, left, right }, span);
        to.into()
    }

    pub(super) fn pointer_add(
        &mut self,
        pointer: Operand,
        index: Operand,
        scale: u64,
        subtract: bool,
        span: Span,
    ) -> Operand {
        let scale = if subtract { -i128::from(scale) } else { i128::from(scale) };
        let to = self.register();
        self.emit(Instruction::Offset { to, pointer, index, scale }, span);
        to.into()
    }

    pub(super) fn convert(&mut self, operand: Operand, from: ScalarType, into: ScalarType, span: Span) -> Operand {
        if from == into {
            return operand;
        }
        let to = self.register();
        self.emit(Instruction::Convert { to, from_scalar: from, to_scalar: into, operand }, span);
        to.into()
    }

    fn cast(&mut self, operand: &Expr, ty: CType, span: Span) -> Lowered<Operand> {
        if self.types().is_void(ty) {
            self.discard(operand)?;
            return Ok(Operand::Constant(CoreValue::Undefined));
        }
        let (from, into) = (scalar_of(self.types(), operand.ty), scalar_of(self.types(), ty));
        match (from, into) {
            (Some(from), Some(into)) => {
                let value = self.value(operand)?;
                Ok(self.convert(value, from, into, span))
            }
            _ => {
                self.discard(operand)?;
                let (a, b) = (self.types().show(operand.ty), self.types().show(ty));
                Ok(self.unsupported(format!("a conversion of `{a}` to `{b}`"), span))
            }
        }
    }

    fn logical(&mut self, left: &Expr, right: &Expr, junction: Junction, span: Span) -> Lowered<Operand> {
        let (more, yes, no, end) = (self.label(), self.label(), self.label(), self.label());
        let to = self.register();
        match junction {
            Junction::And => self.condition(left, more, no)?,
            Junction::Or => self.condition(left, yes, more)?,
        }
        self.place_label(more);
        self.condition(right, yes, no)?;
        for (label, value) in [(yes, 1), (no, 0)] {
            self.place_label(label);
            self.emit(Instruction::Move { to, from: Operand::Constant(CoreValue::Int(value)) }, span);
            self.jump(end, span);
        }
        self.place_label(end);
        Ok(to.into())
    }

    fn assign(&mut self, place: &LValue, value: &Expr, span: Span) -> Lowered<Operand> {
        let Some(scalar) = scalar_of(self.types(), place.ty) else {
            let kind = CExprKind::Assign(Box::new(place.clone()), Box::new(value.clone()));
            return self.aggregate(&Expr { kind, ty: place.ty.unqualified(), span });
        };
        let location = self.place(place, ElementUse::Access)?;
        let operand = self.value(value)?;
        self.store(location, scalar, operand, AccessStep::Whole, span);
        Ok(self.stored_value(location, scalar, operand, span))
    }

    /// The value of an assignment is what the place holds then: of a bit-field, what fits its width.
    fn stored_value(&mut self, location: PlaceLocation, scalar: ScalarType, value: Operand, span: Span) -> Operand {
        let (PlaceLocation::Memory(memory), ScalarType::Int(int)) = (location, scalar) else { return value };
        let Some(bits) = memory.bits else { return value };
        if bits.width == 1 {
            let one = Operand::Constant(CoreValue::Int(1));
            let low = self.binary(CBinaryOp::And, Some(scalar), value, one, span);
            if !int.is_signed() {
                return low;
            }
            let to = self.register();
            self.emit(Instruction::Unary { to, op: core::UnaryOp::Negate, scalar, operand: low }, span);
            return to.into();
        }
        let narrow = ScalarType::Int(IntType { sign: int.sign, bits: bits.width as u32 });
        let cut = self.convert(value, scalar, narrow, span);
        self.convert(cut, narrow, scalar, span)
    }

    /// An update of an atomic object is one step.
    fn update_steps(&self, location: PlaceLocation) -> (AccessStep, AccessStep) {
        match Self::is_atomic(location) {
            true => (AccessStep::UpdateRead, AccessStep::UpdateWrite),
            false => (AccessStep::Whole, AccessStep::Whole),
        }
    }

    fn increment(&mut self, place: &LValue, step: i128, fix: Fix, span: Span) -> Lowered<Operand> {
        let location = self.place(place, ElementUse::Access)?;
        let (read, write) = self.update_steps(location);
        let Some(scalar) = scalar_of(self.types(), place.ty) else {
            return Ok(self.unsupported("an increment on this type", span));
        };
        let old = self.load(location, scalar, read, span);
        let by = Operand::Constant(CoreValue::Int(step));
        let new = match (scalar, self.types().as_int(place.ty)) {
            (ScalarType::Pointer, _) => self.pointer_add(old, by, 1, false, span),
            (ScalarType::Int(_), Some(int)) => {
                let computed = ScalarType::Int(int_type(self.types(), self.types().promote(int)));
                let wide = self.convert(old, scalar, computed, span);
                let sum = match step < 0 {
                    true => {
                        let by = Operand::Constant(CoreValue::Int(-step));
                        self.binary(CBinaryOp::Sub, Some(computed), wide, by, span)
                    }
                    false => self.binary(CBinaryOp::Add, Some(computed), wide, by, span),
                };
                self.convert(sum, computed, scalar, span)
            }
            _ => return Ok(self.unsupported("an increment on this type", span)),
        };
        self.store(location, scalar, new, write, span);
        Ok(match fix {
            Fix::Before => self.stored_value(location, scalar, new, span),
            Fix::After => old,
        })
    }

    fn float(&mut self, number: Option<f64>, made: Made, parts: &[Expr], ty: CType, span: Span) -> Lowered<Operand> {
        let Some(scalar) = scalar_of(self.types(), ty) else {
            for part in parts {
                self.discard(part)?;
            }
            return Ok(self.unsupported("a `long double`", span));
        };
        match (made, parts) {
            (Made::Literal, _) => match number {
                Some(number) => Ok(Operand::Constant(CoreValue::Float(number))),
                None => Ok(self.unsupported("a floating constant of this form", span)),
            },
            (Made::Converted, [part]) => match scalar_of(self.types(), part.ty) {
                Some(from) => {
                    let value = self.value(part)?;
                    Ok(self.convert(value, from, scalar, span))
                }
                None => Ok(self.unsupported("a conversion to a floating number", span)),
            },
            (Made::Negated, [part]) => {
                let operand = self.value(part)?;
                let to = self.register();
                self.emit(Instruction::Unary { to, op: core::UnaryOp::Negate, scalar, operand }, span);
                Ok(to.into())
            }
            (Made::Joined(op), [left, right]) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                Ok(self.binary(op, Some(scalar), left, right, span))
            }
            _ => Ok(self.unsupported("a floating value of this form", span)),
        }
    }

    /// Arguments as they are handed over, each evaluated.
    pub(super) fn arguments(&mut self, arguments: &[Expr]) -> Lowered<Vec<CallArgument>> {
        let mut passed = Vec::with_capacity(arguments.len());
        for argument in arguments {
            passed.push(match scalar_of(self.types(), argument.ty) {
                Some(scalar) => {
                    let value = self.value(argument)?;
                    // A float beyond the parameters is handed over as a double (C11 6.5.2.2p6); rounding has been done.
                    CallArgument::Scalar(value, scalar)
                }
                None => {
                    let size = self.types().size(argument.ty).unwrap_or(0);
                    CallArgument::Aggregate(self.aggregate(argument)?, size)
                }
            });
        }
        Ok(passed)
    }

    /// An assertion in a comment: it looks at one moment and is no step of the program.
    fn looked_at(&mut self, assertion: &CFunction, arguments: &[Expr], span: Span) -> Lowered<Operand> {
        let ghost = |body: &mut Self, name: &str| {
            let external = body.lowering.named_external(name, ResultKind::Nothing);
            body.call_instruction(CallTarget::External(external), Vec::new(), ResultKind::Nothing, 1, span);
        };
        ghost(self, core_lang::library::GHOST_BEGIN);
        let passed = self.arguments(arguments)?;
        let external = self.lowering.external(assertion);
        let result = result_kind(self.types(), assertion.result);
        let value = self.call_instruction(CallTarget::External(external), passed, result, 4, span);
        ghost(self, core_lang::library::GHOST_END);
        Ok(value)
    }

    fn call(&mut self, callee: &CCallee, arguments: &[Expr], e: &Expr) -> Lowered<Operand> {
        let span = e.span;
        let result = result_kind(self.types(), e.ty);
        let align = self.types().align(e.ty);
        match callee {
            CCallee::Pointer(pointer) => {
                let pointer = self.value(pointer)?;
                let passed = self.arguments(arguments)?;
                Ok(self.call_instruction(CallTarget::Pointer(pointer), passed, result, align, span))
            }
            CCallee::Direct(function) => {
                let unit = self.lowering.unit;
                let declared = &unit.functions[*function];
                if matches!(declared.name.as_str(), "reach_error" | "__VERIFIER_error") {
                    self.arguments(arguments)?;
                    self.emit(Instruction::Fail { message: format!("calls `{}`", declared.name) }, span);
                    return Ok(Operand::Constant(CoreValue::Undefined));
                }
                if declared.name == crate::c::annotations::ASSERTION {
                    return self.looked_at(declared, arguments, span);
                }
                let Some(made) = self.lowering.functions.get(function).copied() else {
                    if let Some(value) = self.builtin(&declared.name, arguments, e)? {
                        return Ok(value);
                    }
                    let passed = self.arguments(arguments)?;
                    let external = self.lowering.external(declared);
                    return Ok(self.call_instruction(CallTarget::External(external), passed, result, align, span));
                };
                let passed = self.arguments(arguments)?;
                // By the convention of verification tasks the whole call is one step.
                let exclusive = declared.name.starts_with("__VERIFIER_atomic_");
                if exclusive {
                    self.emit(Instruction::ExclusiveBegin, span);
                }
                let value = self.call_instruction(CallTarget::Function(made), passed, result, align, span);
                if exclusive {
                    self.emit(Instruction::ExclusiveEnd, span);
                }
                Ok(value)
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Junction {
    And,
    Or,
}
