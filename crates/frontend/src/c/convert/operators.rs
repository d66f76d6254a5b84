//! Operators: promotions and usual arithmetic conversions made explicit, pointer arithmetic, assignments (C11 6.5).
//!
//! Constants are folded on the way, since array sizes, cases and enumerators are constant expressions.
//! In: operands that are converted already, and the operator. Out: one typed expression in which every conversion is
//! written, or a diagnostic.

use super::literal::rounded;
use super::*;
use crate::c::ast::fold_binary;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IncrementDirection {
    Up,
    Down,
}

impl Converter<'_> {
    /// Converts a value to a type; a constant stays one.
    pub(super) fn cast(&mut self, value: Expr, ty: CType, span: Span) -> Expr {
        let ty = ty.unqualified();
        if value.ty.unqualified() == ty {
            return Expr { ty, ..value };
        }
        let model = self.types.model;
        match (self.types.kind(ty), &value.kind) {
            (_, CExprKind::Unmodelled(_)) => Expr { ty, ..value },
            (CTypeKind::Int(int), CExprKind::Const(k)) if *int != Int::UInt128 || *k >= 0 => {
                Expr::constant(int.wrap(*k, model), ty, value.span)
            }
            (CTypeKind::Pointer(_), CExprKind::Const(k)) => {
                let bits = model.pointer_bytes() as u32 * 8;
                Expr::constant(k.rem_euclid(1i128 << bits), ty, value.span)
            }
            (CTypeKind::Float(bytes), _) => {
                let number = match &value.kind {
                    CExprKind::Const(k) if k.abs() < 1 << 24 => Some(*k as f64),
                    _ => value.as_float(),
                };
                let number = number.filter(|_| *bytes <= 8).map(|n| rounded(n, *bytes));
                Expr::float(number, Made::Converted, vec![value], ty, span)
            }
            (CTypeKind::Int(int), CExprKind::Float { number: Some(n), .. }) if n.abs() < 2e9 => {
                let number = if *int == Int::Bool { i128::from(*n != 0.0) } else { n.trunc() as i128 };
                if int.wrap(number, model) == number {
                    return Expr::constant(number, ty, span);
                }
                Expr { kind: CExprKind::Cast(Box::new(value)), ty, span }
            }
            (CTypeKind::Record(_) | CTypeKind::Array(..), _) => {
                if !matches!(self.types.kind(value.ty), CTypeKind::Unknown(_)) {
                    let (a, b) = (self.types.show(value.ty), self.types.show(ty));
                    self.error(TYPE_ERROR, span, format!("`{a}` cannot become `{b}`"));
                }
                Expr::unmodelled("a conversion between these types", ty, span)
            }
            (CTypeKind::Int(_) | CTypeKind::Pointer(_), _)
                if matches!(self.types.kind(value.ty), CTypeKind::Record(_) | CTypeKind::Void) =>
            {
                let (a, b) = (self.types.show(value.ty), self.types.show(ty));
                self.error(TYPE_ERROR, span, format!("`{a}` cannot become `{b}`"));
                Expr::unmodelled("a conversion between these types", ty, span)
            }
            _ => Expr { kind: CExprKind::Cast(Box::new(value)), ty, span },
        }
    }

    pub(super) fn unary(&mut self, u: &Node<c::UnaryOperatorExpression>, span: Span) -> Expr {
        use c::UnaryOperator as Op;
        let operand = &u.node.operand;
        match u.node.operator.node {
            Op::PostIncrement => self.increment(operand, 1, Fix::After, span),
            Op::PostDecrement => self.increment(operand, -1, Fix::After, span),
            Op::PreIncrement => self.increment(operand, 1, Fix::Before, span),
            Op::PreDecrement => self.increment(operand, -1, Fix::Before, span),
            Op::Address => self.address(operand, span),
            Op::Indirection => {
                let pointer = self.value(operand);
                let place = self.deref(pointer, span);
                self.load(place, span)
            }
            Op::Plus => {
                let value = self.value(operand);
                self.promoted(value)
            }
            Op::Minus => self.arithmetic_unary(CUnaryOp::Minus, operand, span),
            Op::Complement => self.arithmetic_unary(CUnaryOp::Complement, operand, span),
            Op::Negate => {
                let value = self.value(operand);
                let int = self.types.int(Int::Int);
                if let Some(k) = value.as_const() {
                    return Expr::constant(i128::from(k == 0), int, span);
                }
                Expr { kind: CExprKind::Not(Box::new(value)), ty: int, span }
            }
        }
    }

    fn promoted(&mut self, value: Expr) -> Expr {
        let Some(int) = self.types.as_int(value.ty) else { return value };
        let promoted = self.types.promote(int);
        let ty = self.types.int(promoted);
        let span = value.span;
        self.cast(value, ty, span)
    }

    fn arithmetic_unary(&mut self, op: CUnaryOp, operand: &Node<c::Expression>, span: Span) -> Expr {
        let value = self.value(operand);
        let value = self.promoted(value);
        let ty = value.ty;
        if let (Some(k), Some(int)) = (value.as_const(), self.types.as_int(ty)) {
            let result = match op {
                CUnaryOp::Minus => -k,
                CUnaryOp::Complement => !k,
            };
            return Expr::constant(int.wrap(result, self.types.model), ty, span);
        }
        if let (CTypeKind::Float(_), CUnaryOp::Minus) = (self.types.kind(ty), op) {
            return Expr::float(value.as_float().map(|n| -n), Made::Negated, vec![value], ty, span);
        }
        Expr { kind: CExprKind::Unary(op, Box::new(value)), ty, span }
    }

    fn address(&mut self, operand: &Node<c::Expression>, span: Span) -> Expr {
        if let c::Expression::Identifier(i) = &operand.node
            && let Some(Name::Function(f)) = self.lookup(&i.node.name)
        {
            let f = *f;
            return self.function_address(f, span);
        }
        let place = self.place(operand);
        let ty = self.types.pointer(place.ty);
        match place.kind {
            PlaceKind::Deref(pointer) => Expr { ty, span, ..*pointer },
            PlaceKind::Value(_) => {
                self.error(TYPE_ERROR, span, "this has no address");
                Expr::unmodelled("the address of a value", ty, span)
            }
            PlaceKind::Unmodelled(why) => Expr::unmodelled(why, ty, span),
            _ => {
                self.mark_address(&place);
                Expr { kind: CExprKind::Address(Box::new(place)), ty, span }
            }
        }
    }

    fn increment(&mut self, operand: &Node<c::Expression>, by: i128, fix: Fix, span: Span) -> Expr {
        let place = self.place(operand);
        if !self.assignable(&place) {
            return Expr::unmodelled("an increment of something that is no place", place.ty, span);
        }
        let ty = place.ty.unqualified();
        let step = match self.types.kind(ty) {
            CTypeKind::Pointer(to) => by * i128::from(self.types.size(*to).unwrap_or(1)),
            CTypeKind::Int(_) => by,
            CTypeKind::Float(_) => {
                let one = Expr::float(Some(by as f64), Made::Literal, Vec::new(), ty, span);
                let value = Box::new(one.clone());
                let kind = CExprKind::AssignOp { place: Box::new(place), op: CBinaryOp::Add, value, compute: ty };
                let after = Expr { kind, ty, span };
                return match fix {
                    Fix::Before => after,
                    // Sums are followed only where they are exact, so this is the value before.
                    Fix::After => Expr::float(None, Made::Joined(CBinaryOp::Sub), vec![after, one], ty, span),
                };
            }
            _ => return Expr::unmodelled("an increment of a value of this type", ty, span),
        };
        Expr { kind: CExprKind::Increment { place: Box::new(place), step, fix }, ty, span }
    }

    fn assignable(&mut self, place: &LValue) -> bool {
        match &place.kind {
            PlaceKind::Value(value) => {
                if !matches!(value.kind, CExprKind::Unmodelled(_)) {
                    self.error(TYPE_ERROR, place.span, "only a place in memory can be assigned to");
                }
                false
            }
            PlaceKind::Unmodelled(_) => false,
            _ => true,
        }
    }

    pub(super) fn pointer_add(
        &mut self,
        pointer: Expr,
        index: Expr,
        direction: IncrementDirection,
        span: Span,
    ) -> Expr {
        let Some(to) = self.types.pointee(pointer.ty) else {
            let ty = pointer.ty;
            // What is not modelled has no type that could be wrong.
            let known = !matches!(pointer.kind, CExprKind::Unmodelled(_));
            if known && !matches!(self.types.kind(ty), CTypeKind::Unknown(_)) {
                let shown = self.types.show(ty);
                self.error(TYPE_ERROR, span, format!("pointer arithmetic on a value of type `{shown}`"));
            }
            return Expr::unmodelled("pointer arithmetic on something that is no pointer", ty, span);
        };
        let ty = pointer.ty.unqualified();
        let Some(scale) = self.types.size(to) else {
            return Expr::unmodelled("pointer arithmetic on an incomplete type", ty, span);
        };
        if index.as_const() == Some(0) {
            return pointer;
        }
        let subtract = direction == IncrementDirection::Down;
        let kind = CExprKind::PointerAdd { pointer: Box::new(pointer), index: Box::new(index), scale, subtract };
        Expr { kind, ty, span }
    }

    pub(super) fn binary(
        &mut self,
        node: &Node<c::Expression>,
        b: &Node<c::BinaryOperatorExpression>,
        span: Span,
    ) -> Expr {
        use c::BinaryOperator as Op;
        let (lhs, rhs) = (&b.node.lhs, &b.node.rhs);
        let arithmetic = |op| match op {
            Op::Multiply | Op::AssignMultiply => Some(CBinaryOp::Mul),
            Op::Divide | Op::AssignDivide => Some(CBinaryOp::Div),
            Op::Modulo | Op::AssignModulo => Some(CBinaryOp::Rem),
            Op::Plus | Op::AssignPlus => Some(CBinaryOp::Add),
            Op::Minus | Op::AssignMinus => Some(CBinaryOp::Sub),
            Op::ShiftLeft | Op::AssignShiftLeft => Some(CBinaryOp::Shl),
            Op::ShiftRight | Op::AssignShiftRight => Some(CBinaryOp::Shr),
            Op::BitwiseAnd | Op::AssignBitwiseAnd => Some(CBinaryOp::And),
            Op::BitwiseXor | Op::AssignBitwiseXor => Some(CBinaryOp::Xor),
            Op::BitwiseOr | Op::AssignBitwiseOr => Some(CBinaryOp::Or),
            _ => None,
        };
        match b.node.operator.node.clone() {
            Op::Index => {
                let place = self.place(node);
                self.load(place, span)
            }
            Op::Assign => self.assign(lhs, rhs, span),
            op @ (Op::Less | Op::Greater | Op::LessOrEqual | Op::GreaterOrEqual | Op::Equals | Op::NotEquals) => {
                let (a, b) = (self.value(lhs), self.value(rhs));
                let op = match op {
                    Op::Less => CCompareOp::Lt,
                    Op::Greater => CCompareOp::Gt,
                    Op::LessOrEqual => CCompareOp::Le,
                    Op::GreaterOrEqual => CCompareOp::Ge,
                    Op::Equals => CCompareOp::Eq,
                    _ => CCompareOp::Ne,
                };
                self.compare(op, a, b, span)
            }
            op @ (Op::LogicalAnd | Op::LogicalOr) => {
                let (a, b) = (self.value(lhs), self.value(rhs));
                let ty = self.types.int(Int::Int);
                let and = op == Op::LogicalAnd;
                if let (Some(x), Some(y)) = (a.as_const(), b.as_const()) {
                    let result = if and { x != 0 && y != 0 } else { x != 0 || y != 0 };
                    return Expr::constant(i128::from(result), ty, span);
                }
                let (a, b) = (Box::new(a), Box::new(b));
                Expr { kind: if and { CExprKind::And(a, b) } else { CExprKind::Or(a, b) }, ty, span }
            }
            op => {
                let assigning = !matches!(
                    op,
                    Op::Multiply
                        | Op::Divide
                        | Op::Modulo
                        | Op::Plus
                        | Op::Minus
                        | Op::ShiftLeft
                        | Op::ShiftRight
                        | Op::BitwiseAnd
                        | Op::BitwiseXor
                        | Op::BitwiseOr
                );
                let Some(op) = arithmetic(op) else {
                    let int = self.types.int(Int::Int);
                    return Expr::unmodelled("an operator", int, span);
                };
                if assigning {
                    return self.assign_op(op, lhs, rhs, span);
                }
                let (a, b) = (self.value(lhs), self.value(rhs));
                self.arithmetic(op, a, b, span)
            }
        }
    }

    pub(super) fn arithmetic(&mut self, op: CBinaryOp, a: Expr, b: Expr, span: Span) -> Expr {
        match (self.types.kind(a.ty).clone(), self.types.kind(b.ty).clone(), op) {
            (CTypeKind::Pointer(_), CTypeKind::Int(_), CBinaryOp::Add) => {
                self.pointer_add(a, b, IncrementDirection::Up, span)
            }
            (CTypeKind::Int(_), CTypeKind::Pointer(_), CBinaryOp::Add) => {
                self.pointer_add(b, a, IncrementDirection::Up, span)
            }
            (CTypeKind::Pointer(_), CTypeKind::Int(_), CBinaryOp::Sub) => {
                self.pointer_add(a, b, IncrementDirection::Down, span)
            }
            (CTypeKind::Pointer(to), CTypeKind::Pointer(_), CBinaryOp::Sub) => {
                let ty = self.types.int(Int::Long);
                let scale = self.types.size(to).unwrap_or(1).max(1);
                Expr { kind: CExprKind::PointerDiff { left: Box::new(a), right: Box::new(b), scale }, ty, span }
            }
            (CTypeKind::Int(x), CTypeKind::Int(y), CBinaryOp::Shl | CBinaryOp::Shr) => {
                let (x, y) = (self.types.promote(x), self.types.promote(y));
                let (left, right) = (self.types.int(x), self.types.int(y));
                let (a, b) = (self.cast(a, left, span), self.cast(b, right, span));
                self.folded(op, a, b, x, left, span)
            }
            (CTypeKind::Int(x), CTypeKind::Int(y), _) => {
                let int = self.types.common(x, y);
                let ty = self.types.int(int);
                let (a, b) = (self.cast(a, ty, span), self.cast(b, ty, span));
                self.folded(op, a, b, int, ty, span)
            }
            (CTypeKind::Float(_), CTypeKind::Int(_) | CTypeKind::Float(_), _)
            | (CTypeKind::Int(_), CTypeKind::Float(_), _) => {
                let ty = self.joined(&a, &b);
                let (a, b) = (self.cast(a, ty, span), self.cast(b, ty, span));
                let CTypeKind::Float(bytes) = *self.types.kind(ty) else { unreachable!("one of them is a float") };
                let number = a.as_float().zip(b.as_float()).filter(|_| bytes <= 8).and_then(|(x, y)| {
                    let exact = match op {
                        CBinaryOp::Add => x + y,
                        CBinaryOp::Sub => x - y,
                        CBinaryOp::Mul => x * y,
                        CBinaryOp::Div => x / y,
                        _ => return None,
                    };
                    Some(rounded(exact, bytes))
                });
                Expr::float(number, Made::Joined(op), vec![a, b], ty, span)
            }
            (x, y, _) => {
                let unknown = matches!(x, CTypeKind::Unknown(_)) || matches!(y, CTypeKind::Unknown(_));
                let unmodelled =
                    matches!(a.kind, CExprKind::Unmodelled(_)) || matches!(b.kind, CExprKind::Unmodelled(_));
                if !unknown && !unmodelled {
                    let (x, y) = (self.types.show(a.ty), self.types.show(b.ty));
                    self.error(TYPE_ERROR, span, format!("this operator does not take `{x}` and `{y}`"));
                }
                Expr::unmodelled("an operator on these types", a.ty, span)
            }
        }
    }

    fn folded(&mut self, op: CBinaryOp, a: Expr, b: Expr, int: Int, ty: CType, span: Span) -> Expr {
        if let (Some(x), Some(y)) = (a.as_const(), b.as_const())
            && let Some(value) = fold_binary(op, x, y, int, &self.types)
        {
            return Expr::constant(value, ty, span);
        }
        Expr { kind: CExprKind::Binary(op, Box::new(a), Box::new(b)), ty, span }
    }

    fn compare(&mut self, op: CCompareOp, a: Expr, b: Expr, span: Span) -> Expr {
        let int = self.types.int(Int::Int);
        let (a, b) = match (self.types.kind(a.ty).clone(), self.types.kind(b.ty).clone()) {
            (CTypeKind::Int(x), CTypeKind::Int(y)) => {
                let common = self.types.common(x, y);
                let ty = self.types.int(common);
                (self.cast(a, ty, span), self.cast(b, ty, span))
            }
            (CTypeKind::Pointer(_), _) => {
                let ty = a.ty;
                (a, self.cast(b, ty, span))
            }
            (_, CTypeKind::Pointer(_)) => {
                let ty = b.ty;
                (self.cast(a, ty, span), b)
            }
            (CTypeKind::Float(_), _) | (_, CTypeKind::Float(_)) => {
                let ty = self.joined(&a, &b);
                (self.cast(a, ty, span), self.cast(b, ty, span))
            }
            (CTypeKind::Unknown(why), _) | (_, CTypeKind::Unknown(why)) => return Expr::unmodelled(why, int, span),
            _ => {
                let (x, y) = (self.types.show(a.ty), self.types.show(b.ty));
                self.error(TYPE_ERROR, span, format!("`{x}` and `{y}` cannot be compared"));
                return Expr::unmodelled("a comparison of these types", int, span);
            }
        };
        let integers = a.as_const().zip(b.as_const()).map(|(x, y)| op.holds(x, y));
        let floats = || a.as_float().zip(b.as_float()).map(|(x, y)| op.holds(x, y));
        if let Some(holds) = integers.or_else(floats) {
            return Expr::constant(i128::from(holds), int, span);
        }
        Expr { kind: CExprKind::Compare(op, Box::new(a), Box::new(b)), ty: int, span }
    }

    fn assign(&mut self, lhs: &Node<c::Expression>, rhs: &Node<c::Expression>, span: Span) -> Expr {
        let place = self.place(lhs);
        let value = self.value(rhs);
        let ty = place.ty.unqualified();
        if !self.assignable(&place) {
            return Expr::unmodelled("an assignment to something that is no place", ty, span);
        }
        if matches!(self.types.kind(ty), CTypeKind::Opaque(_)) {
            return Expr::unmodelled("an assignment of a whole synchronisation object", ty, span);
        }
        let value = self.cast(value, ty, span);
        Expr { kind: CExprKind::Assign(Box::new(place), Box::new(value)), ty, span }
    }

    fn assign_op(&mut self, op: CBinaryOp, lhs: &Node<c::Expression>, rhs: &Node<c::Expression>, span: Span) -> Expr {
        let place = self.place(lhs);
        let value = self.value(rhs);
        let ty = place.ty.unqualified();
        if !self.assignable(&place) {
            return Expr::unmodelled("an assignment to something that is no place", ty, span);
        }
        match (self.types.kind(ty).clone(), self.types.kind(value.ty).clone(), op) {
            (CTypeKind::Pointer(to), CTypeKind::Int(_), CBinaryOp::Add | CBinaryOp::Sub) => {
                let scale = self.types.size(to).unwrap_or(1);
                let subtract = op == CBinaryOp::Sub;
                let kind = CExprKind::AssignPointer { place: Box::new(place), index: Box::new(value), scale, subtract };
                Expr { kind, ty, span }
            }
            (CTypeKind::Float(_), CTypeKind::Int(_) | CTypeKind::Float(_), _) => {
                let compute = match self.types.kind(value.ty) {
                    CTypeKind::Float(other) if Some(*other) > self.types.size(ty) => value.ty.unqualified(),
                    _ => ty,
                };
                let value = self.cast(value, compute, span);
                let kind = CExprKind::AssignOp { place: Box::new(place), op, value: Box::new(value), compute };
                Expr { kind, ty, span }
            }
            (CTypeKind::Int(x), CTypeKind::Int(y), _) => {
                let x = if self.is_narrow_field(&place) { Int::Int } else { x };
                let (compute, operand) = if matches!(op, CBinaryOp::Shl | CBinaryOp::Shr) {
                    (self.types.promote(x), self.types.promote(y))
                } else {
                    let common = self.types.common(x, y);
                    (common, common)
                };
                let (compute, operand) = (self.types.int(compute), self.types.int(operand));
                let value = self.cast(value, operand, span);
                let kind = CExprKind::AssignOp { place: Box::new(place), op, value: Box::new(value), compute };
                Expr { kind, ty, span }
            }
            // An integer changed by a floating value: computed in the floating type, and converted back.
            (CTypeKind::Int(_), CTypeKind::Float(_), _) if !place.ty.quals.atomic && named_purely(&place) => {
                let old = Expr { kind: CExprKind::Load(Box::new(place.clone())), ty, span };
                let new = self.arithmetic(op, old, value, span);
                let value = self.cast(new, ty, span);
                Expr { kind: CExprKind::Assign(Box::new(place), Box::new(value)), ty, span }
            }
            _ => Expr::unmodelled("a compound assignment on these types", ty, span),
        }
    }
}

/// Whether a place is the same however often it is evaluated, and evaluating it reads nothing.
fn named_purely(place: &LValue) -> bool {
    match &place.kind {
        PlaceKind::Var(_) => true,
        PlaceKind::Field(inner, _) => named_purely(inner),
        PlaceKind::Index(array, index) => index.as_const().is_some() && named_purely(array),
        _ => false,
    }
}
