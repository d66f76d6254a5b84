//! Operators on values, with Java's promotions (JLS 5.6), wrapping arithmetic (15.17, 15.18) and shifts (15.19).
//!
//! In: operators and values. Out: values of the model's integers; what may fail is checked.
//! Deliberately absent: floating point and strings that are put together.

use super::Translation;
use super::body::Val;
use super::build::*;
use super::types::{Ty, Width};
use crate::java::tree::{self, BinaryOp, JavaExprKind, UnaryOp};
use crate::lang::ast::{Binary, BitOperator, Checked, Expr, Foreign, Sign, Spanned};
use base::Span;

impl<'a> Translation<'a> {
    /// A value as another type; conversions of objects make their classes share a heap.
    pub(super) fn convert(&mut self, value: Val, to: &Ty, span: Span) -> Expr {
        match (&value.ty, to) {
            (Ty::Unknown, _) | (_, Ty::Unknown | Ty::Void) => self.default_value(to, span),
            (Ty::Int(from), Ty::Int(width)) => match value.constant {
                Some(constant) => int(width.wrap(constant), span),
                None if from == width => value.expr,
                None => {
                    let ty = self.tp_type(to, span);
                    convert(ty, value.expr, span)
                }
            },
            (Ty::Boolean, Ty::Boolean) | (Ty::Text, Ty::Text) => value.expr,
            (Ty::Enum(a), Ty::Enum(b)) if a == b => value.expr,
            (Ty::Boxed(a), Ty::Boxed(b)) if a == b => value.expr,
            (Ty::Boxed(_), Ty::Int(_) | Ty::Boolean) => {
                let value = self.unboxed(value, span);
                self.convert(value, to, span)
            }
            (Ty::Int(_) | Ty::Boolean, Ty::Boxed(inner)) => self.boxed(value, &inner.clone(), span),
            (Ty::Null, Ty::Boxed(_)) => int(super::types::NO_NUMBER, span),
            (Ty::Thrown(_), Ty::Thrown(_)) => value.expr,
            (Ty::Null, Ty::Text | Ty::Enum(_) | Ty::Thrown(_)) => int(0, span),
            (Ty::Null, Ty::Ref(..) | Ty::Array(_)) => null(span),
            (Ty::Ref(from, _), Ty::Ref(wanted, _)) if self.mixes_instances(from, wanted) => {
                self.unmodelled("a generic class that is seen with other type arguments", span);
                null(span)
            }
            (Ty::Ref(..) | Ty::Array(_), Ty::Ref(..) | Ty::Array(_)) => {
                self.unite(&value.ty.clone(), to);
                value.expr
            }
            _ => {
                let what = format!("a conversion from `{}` to `{}`", value.ty.spelled(), to.spelled());
                self.unmodelled(&what, span);
                self.default_value(to, span)
            }
        }
    }

    /// Objects of both types are seen under one: one class of the model for both, and for what arrays of them hold.
    pub(super) fn unite(&mut self, a: &Ty, b: &Ty) {
        if let (Some(first), Some(second)) = (a.heap_name(), b.heap_name()) {
            // The supertype first, so that the region has its name.
            self.facts.regions.unite(&second, &first);
        }
        if let (Ty::Array(x), Ty::Array(y)) = (a, b) {
            self.unite(&x.clone(), &y.clone());
        }
        if let (Ty::Ref(_, x), Ty::Ref(_, y)) = (a, b) {
            for (x, y) in x.clone().iter().zip(y.clone().iter()) {
                self.unite(x, y);
            }
        }
    }

    /// The type both operands of an arithmetic operator are converted to.
    fn promoted(a: &Ty, b: &Ty) -> Option<Width> {
        match (a, b) {
            (Ty::Int(Width::Long), Ty::Int(_)) | (Ty::Int(_), Ty::Int(Width::Long)) => Some(Width::Long),
            (Ty::Int(_), Ty::Int(_)) => Some(Width::Int),
            _ => None,
        }
    }

    pub(super) fn unary(&mut self, op: UnaryOp, value: Val, span: Span) -> Val {
        let value = self.unboxed(value, span);
        match (op, &value.ty) {
            (_, Ty::Unknown) => value,
            (UnaryOp::Not, Ty::Boolean) => {
                let constant = value.constant.map(|c| 1 - c);
                Val { constant, ..Val::new(not(value.expr, span), Ty::Boolean) }
            }
            (UnaryOp::Plus | UnaryOp::Negate | UnaryOp::Complement, Ty::Int(width)) => {
                let width = if *width == Width::Long { Width::Long } else { Width::Int };
                let ty = Ty::Int(width);
                let constant = value.constant.map(|c| match op {
                    UnaryOp::Negate => width.wrap(-c),
                    UnaryOp::Complement => width.wrap(-c - 1),
                    _ => c,
                });
                let operand = self.convert(value, &ty, span);
                let expr = match (constant, op) {
                    (Some(c), _) => int(c, span),
                    (None, UnaryOp::Negate) => negate(operand, span),
                    (None, UnaryOp::Complement) => foreign(Foreign::Complement(operand), span),
                    _ => operand,
                };
                Val { constant, ..Val::new(expr, ty) }
            }
            _ => self.unknown("this operator on such a value", span),
        }
    }

    pub(super) fn operate(&mut self, op: BinaryOp, a: Val, b: Val, span: Span) -> Val {
        if a.ty == Ty::Unknown || b.ty == Ty::Unknown {
            return Val::new(boolean(false, span), Ty::Unknown);
        }
        let scalar = |t: &Ty| matches!(t, Ty::Text | Ty::Boxed(_) | Ty::Thrown(_));
        if scalar(&a.ty) || scalar(&b.ty) {
            if matches!(op, BinaryOp::Equal | BinaryOp::NotEqual) {
                return self.scalar_equality(op, a, b, span);
            }
            if op == BinaryOp::Add && (a.ty == Ty::Text || b.ty == Ty::Text) {
                return self.some_text(span);
            }
            if matches!(a.ty, Ty::Boxed(_)) || matches!(b.ty, Ty::Boxed(_)) {
                let (a, b) = (self.unboxed(a, span), self.unboxed(b, span));
                return self.operate(op, a, b, span);
            }
            return self.unknown("this operator on such a value", span);
        }
        match op {
            BinaryOp::Equal | BinaryOp::NotEqual => self.equality(op, a, b, span),
            BinaryOp::And | BinaryOp::Or => self.junction(op, a, b, span),
            BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor if a.ty == Ty::Boolean && b.ty == Ty::Boolean => {
                match op {
                    BinaryOp::BitXor => Val::new(not(equal(a.expr, b.expr, span), span), Ty::Boolean),
                    BinaryOp::BitAnd => self.junction(BinaryOp::And, a, b, span),
                    _ => self.junction(BinaryOp::Or, a, b, span),
                }
            }
            BinaryOp::ShiftLeft | BinaryOp::ShiftRight | BinaryOp::ShiftRightUnsigned => self.shift(op, a, b, span),
            _ => self.arithmetic(op, a, b, span),
        }
    }

    /// `&&` and `||` of values that are evaluated already.
    fn junction(&mut self, op: BinaryOp, a: Val, b: Val, span: Span) -> Val {
        if a.ty != Ty::Boolean || b.ty != Ty::Boolean {
            return self.unknown("this operator on such a value", span);
        }
        let constant = match (a.constant, b.constant) {
            (Some(x), Some(y)) => Some(if op == BinaryOp::And { x & y } else { x | y }),
            _ => None,
        };
        let parts = vec![a.expr, b.expr];
        let expr = if op == BinaryOp::And { and(parts, span) } else { or(parts, span) };
        Val { constant, ..Val::new(expr, Ty::Boolean) }
    }

    fn equality(&mut self, op: BinaryOp, a: Val, b: Val, span: Span) -> Val {
        let constant = match (a.constant, b.constant) {
            (Some(x), Some(y)) => Some(i128::from((x == y) == (op == BinaryOp::Equal))),
            _ => None,
        };
        let (left, right) = match (&a.ty, &b.ty) {
            (Ty::Int(_), Ty::Int(_)) => {
                let width = Self::promoted(&a.ty, &b.ty).expect("both are integers");
                (self.convert(a, &Ty::Int(width), span), self.convert(b, &Ty::Int(width), span))
            }
            (Ty::Boolean, Ty::Boolean) => (a.expr, b.expr),
            (Ty::Null, Ty::Null) => return Val { constant: Some(1), ..Val::new(boolean(true, span), Ty::Boolean) },
            (Ty::Null, _) => {
                let ty = b.ty.clone();
                (self.convert(a, &ty, span), b.expr)
            }
            _ => {
                let ty = a.ty.clone();
                let b = self.convert(b, &ty, span);
                (a.expr, b)
            }
        };
        if let Some(constant) = constant {
            return Val { constant: Some(constant), ..Val::new(boolean(constant != 0, span), Ty::Boolean) };
        }
        let operator = if op == BinaryOp::Equal { Binary::Equal } else { Binary::NotEqual };
        Val::new(binary(operator, left, right, span), Ty::Boolean)
    }

    fn arithmetic(&mut self, op: BinaryOp, a: Val, b: Val, span: Span) -> Val {
        let Some(width) = Self::promoted(&a.ty, &b.ty) else {
            return self.unknown("this operator on such a value", span);
        };
        let ty = Ty::Int(width);
        let constant = match (a.constant, b.constant) {
            (Some(x), Some(y)) => computed(op, x, y).map(|v| if is_comparison(op) { v } else { width.wrap(v) }),
            _ => None,
        };
        if let Some(value) = constant {
            return if is_comparison(op) {
                Val { constant, ..Val::new(boolean(value != 0, span), Ty::Boolean) }
            } else {
                Val { constant, ..Val::new(int(value, span), ty) }
            };
        }
        let divisor = b.constant;
        let literal_left = a.constant.is_some();
        let (left, right) = (self.convert(a, &ty, span), self.convert(b, &ty, span));
        // An operation on bits takes its type from its left side, and a literal alone has none.
        let bits = matches!(op, BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor);
        let left =
            if bits && literal_left { convert(machine(width.bits(), Sign::Signed, span), left, span) } else { left };
        let plain = |op| binary(op, left.clone(), right.clone(), span);
        let expr = match op {
            BinaryOp::Add => plain(Binary::Add),
            BinaryOp::Subtract => plain(Binary::Subtract),
            BinaryOp::Multiply => plain(Binary::Multiply),
            BinaryOp::Divide | BinaryOp::Remainder => {
                let off = self.is_off(&Checked::Language("division"), span);
                if divisor.is_none_or(|d| d == 0) && (off || self.is_caught(&Checked::Language("division"))) {
                    let condition = not(equal(right.clone(), int(0, span), span), span);
                    self.check(Checked::Language("division"), condition, span);
                }
                self.division(op, left.clone(), right.clone(), width, span)
            }
            BinaryOp::BitAnd => foreign(Foreign::Bits(BitOperator::And, left.clone(), right.clone()), span),
            BinaryOp::BitOr => foreign(Foreign::Bits(BitOperator::Or, left.clone(), right.clone()), span),
            BinaryOp::BitXor => foreign(Foreign::Bits(BitOperator::Xor, left.clone(), right.clone()), span),
            BinaryOp::Less => return Val::new(plain(Binary::Less), Ty::Boolean),
            BinaryOp::LessEqual => return Val::new(plain(Binary::LessEqual), Ty::Boolean),
            BinaryOp::Greater => return Val::new(plain(Binary::Greater), Ty::Boolean),
            BinaryOp::GreaterEqual => return Val::new(plain(Binary::GreaterEqual), Ty::Boolean),
            _ => return self.unknown("this operator", span),
        };
        Val::new(expr, ty)
    }

    /// Java rounds towards zero, the model's division is Euclidean: they agree where the dividend is not negative.
    fn division(&mut self, op: BinaryOp, left: Expr, right: Expr, width: Width, span: Span) -> Expr {
        let operator = if op == BinaryOp::Divide { Binary::Divide } else { Binary::Modulo };
        let (a, b) = (as_int(left.clone(), span), as_int(right, span));
        let plain = binary(operator, a.clone(), b.clone(), span);
        let mirrored = negate(binary(operator, negate(a.clone(), span), b, span), span);
        let whole = if_then_else(binary(Binary::GreaterEqual, a, int(0, span), span), plain, mirrored, span);
        convert(machine(width.bits(), Sign::Signed, span), whole, span)
    }

    fn shift(&mut self, op: BinaryOp, a: Val, b: Val, span: Span) -> Val {
        let (Ty::Int(from), Ty::Int(_)) = (&a.ty, &b.ty) else {
            return self.unknown("this operator on such a value", span);
        };
        let width = if *from == Width::Long { Width::Long } else { Width::Int };
        let ty = Ty::Int(width);
        let amount_bits = if width == Width::Long { 63 } else { 31 };
        if let (Some(x), Some(n)) = (a.constant, b.constant) {
            let n = (n & amount_bits) as u32;
            let value = match op {
                BinaryOp::ShiftLeft => width.wrap(x << n),
                BinaryOp::ShiftRight => x >> n,
                _ => width.wrap(x.rem_euclid(1 << width.bits()) >> n),
            };
            return Val { constant: Some(value), ..Val::new(int(value, span), ty) };
        }
        let amount = match b.constant {
            Some(n) => int(n & amount_bits, span),
            None => self.convert(b, &ty, span),
        };
        let left = convert(machine(width.bits(), Sign::Signed, span), self.convert(a, &ty, span), span);
        let expr = match op {
            BinaryOp::ShiftLeft => foreign(Foreign::Bits(BitOperator::ShiftLeft, left, amount), span),
            BinaryOp::ShiftRight => foreign(Foreign::Bits(BitOperator::ShiftRight, left, amount), span),
            _ => {
                let unsigned = || machine(width.bits(), Sign::Unsigned, span);
                let amount = convert(unsigned(), amount, span);
                let shifted =
                    foreign(Foreign::Bits(BitOperator::ShiftRight, convert(unsigned(), left, span), amount), span);
                convert(machine(width.bits(), Sign::Signed, span), shifted, span)
            }
        };
        Val::new(expr, ty)
    }

    /// The value of a constant expression, as a value of a type.
    pub(super) fn constant(&self, e: &tree::JavaExpr, ty: &Ty) -> Option<i128> {
        let value = self.constant_of(e, 0)?;
        match ty {
            Ty::Boolean => Some(value),
            Ty::Int(width) => Some(width.wrap(value)),
            _ => None,
        }
    }

    fn constant_of(&self, e: &tree::JavaExpr, depth: usize) -> Option<i128> {
        if depth > 32 {
            return None;
        }
        match &e.kind {
            JavaExprKind::Bool(b) => Some(i128::from(*b)),
            JavaExprKind::Int(n) | JavaExprKind::Long(n) => Some(*n),
            JavaExprKind::Char(c) => Some(i128::from(*c)),
            JavaExprKind::Unary(UnaryOp::Negate, inner) => Some(Width::Long.wrap(-self.constant_of(inner, depth + 1)?)),
            JavaExprKind::Binary(op, a, b) => {
                let (x, y) = (self.constant_of(a, depth + 1)?, self.constant_of(b, depth + 1)?);
                let wide = is_long(a) || is_long(b);
                // A name may stand for a long.
                let plain = |e: &tree::JavaExpr| !matches!(e.kind, JavaExprKind::Name(_) | JavaExprKind::Field(..));
                let value = computed(*op, x, y)?;
                let narrow = Width::Int.wrap(value);
                if is_comparison(*op) {
                    return Some(value);
                }
                if wide {
                    return Some(Width::Long.wrap(value));
                }
                // Where an int and a long would differ the type must be certain.
                (narrow == value || (plain(a) && plain(b))).then_some(narrow)
            }
            JavaExprKind::Name(text) => {
                // In the declaration of a field names are those of its class, whoever asks.
                let mut around = self.declaring_class(e.span);
                if around.is_some() {
                    while let Some(class) = around {
                        if let Some((class, field)) = self.classes.field(&class.name, text) {
                            return self.constant_field(class, field, depth);
                        }
                        around = class.outer.as_ref().and_then(|o| self.classes.get(o));
                    }
                    return None;
                }
                match self.local(text) {
                    Some(local) => local.constant,
                    None => {
                        let (class, field) = self.field_named(text)?;
                        self.constant_field(class, field, depth)
                    }
                }
            }
            JavaExprKind::Field(base, text, _) => {
                if let Some(value) = self.library_constant(base, text) {
                    return Some(value.0);
                }
                let class = self.class_named(base)?;
                let (class, field) = self.classes.field(&class.name, text)?;
                self.constant_field(class, field, depth)
            }
            _ => None,
        }
    }

    /// `Integer.MAX_VALUE` and its kind, with the type.
    pub(super) fn library_constant(&self, base: &tree::JavaExpr, text: &str) -> Option<(i128, Ty)> {
        let JavaExprKind::Name(class) = &base.kind else { return None };
        if class == "Model" && text == "INTERRUPTS" && self.frame.class.is_some_and(|c| c.surroundings.is_library) {
            return Some((i128::from(self.classes.interrupts), Ty::Boolean));
        }
        if self.classes.get(class).is_some() || self.local(class).is_some() {
            return None;
        }
        let width = match &class[..] {
            "Integer" => Width::Int,
            "Long" => Width::Long,
            "Short" => Width::Short,
            "Byte" => Width::Byte,
            _ => return None,
        };
        let half = 1_i128 << (width.bits() - 1);
        match text {
            "MAX_VALUE" => Some((half - 1, Ty::Int(width))),
            "MIN_VALUE" => Some((-half, Ty::Int(width))),
            _ => None,
        }
    }

    /// The class in whose declaration of a field something stands.
    fn declaring_class(&self, at: Span) -> Option<&'a tree::JavaClass> {
        let inside = |s: Span| s.file == at.file && s.start <= at.start && at.end <= s.end;
        self.unit.classes.iter().find(|c| inside(c.body) && c.fields.iter().any(|f| inside(f.span)))
    }

    /// The value of a static final field that is a constant.
    fn constant_field(&self, class: &tree::JavaClass, field: &tree::JavaField, depth: usize) -> Option<i128> {
        if !(field.modifiers.is_final && field.modifiers.is_static) {
            return None;
        }
        let ty = self.field_ty(class, field);
        let value = self.constant_of(field.value.as_ref()?, depth + 1)?;
        match ty {
            Ty::Boolean => Some(value),
            Ty::Int(width) => Some(width.wrap(value)),
            _ => None,
        }
    }

    /// Whether evaluating an expression may change locals.
    pub(super) fn has_effects(&self, e: &tree::JavaExpr) -> bool {
        let mut found = false;
        tree::in_expr(e, &mut |e| {
            let place = match &e.kind {
                JavaExprKind::Assign(place, ..) | JavaExprKind::Step { place, .. } => place,
                _ => return,
            };
            found |= matches!(&place.kind, JavaExprKind::Name(n) if self.local(n).is_some());
        });
        found
    }
}

fn is_long(e: &tree::JavaExpr) -> bool {
    match &e.kind {
        JavaExprKind::Long(_) => true,
        JavaExprKind::Binary(_, a, b) => is_long(a) || is_long(b),
        JavaExprKind::Unary(_, a) => is_long(a),
        _ => false,
    }
}

fn is_comparison(op: BinaryOp) -> bool {
    use BinaryOp::*;
    matches!(op, Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual | And | Or)
}

/// The result of an operator on numbers, before it is wrapped.
fn computed(op: BinaryOp, x: i128, y: i128) -> Option<i128> {
    Some(match op {
        BinaryOp::Add => x + y,
        BinaryOp::Subtract => x - y,
        BinaryOp::Multiply => x * y,
        BinaryOp::Divide => x.checked_div(y)?,
        BinaryOp::Remainder => x.checked_rem(y)?,
        BinaryOp::BitAnd => x & y,
        BinaryOp::BitOr => x | y,
        BinaryOp::BitXor => x ^ y,
        BinaryOp::And => i128::from(x != 0 && y != 0),
        BinaryOp::Or => i128::from(x != 0 || y != 0),
        BinaryOp::Equal => i128::from(x == y),
        BinaryOp::NotEqual => i128::from(x != y),
        BinaryOp::Less => i128::from(x < y),
        BinaryOp::LessEqual => i128::from(x <= y),
        BinaryOp::Greater => i128::from(x > y),
        BinaryOp::GreaterEqual => i128::from(x >= y),
        BinaryOp::ShiftLeft | BinaryOp::ShiftRight | BinaryOp::ShiftRightUnsigned => return None,
    })
}

/// A literal of a type of the model.
pub(super) fn literal(value: i128, ty: &Ty, span: Span) -> Val {
    let expr = if *ty == Ty::Boolean { boolean(value != 0, span) } else { int(value, span) };
    Val { expr, ty: ty.clone(), constant: Some(value), exact: None }
}

/// An expression with the span of another, so that messages point there.
pub(super) fn respanned(e: Expr, span: Span) -> Expr {
    Spanned::new(e.kind, span)
}
