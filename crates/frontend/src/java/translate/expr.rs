//! Expressions: values over locals, and the steps that evaluating them takes, in Java's order from left to right (JLS 15.7).
//!
//! In: a tree of Java. Out: a value, and statements in the body at hand.
//! Deliberately absent: strings beyond literals, and floating point numbers.

use super::Translation;
use super::body::Val;
use super::build::*;
use super::operator::{literal, respanned};
use super::place::{Target, as_value, name_of};
use super::types::{Ty, Width};
use crate::java::tree::{self, BinaryOp, JavaClass, JavaExprKind};
use crate::lang::ast::{AssignedValue, Checked, Expr, StmtKind};
use base::Span;

impl<'a> Translation<'a> {
    /// An expression as a value of a type.
    pub(super) fn expr_as(&mut self, e: &'a tree::JavaExpr, ty: &Ty) -> Expr {
        let value = self.expr_wanted(e, Some(ty));
        self.convert(value, ty, e.span)
    }

    pub(super) fn expr(&mut self, e: &'a tree::JavaExpr) -> Val {
        self.expr_wanted(e, None)
    }

    /// A value; the wanted type says what a lambda or a list in braces is.
    pub(super) fn expr_wanted(&mut self, e: &'a tree::JavaExpr, wanted: Option<&Ty>) -> Val {
        let span = e.span;
        match &e.kind {
            JavaExprKind::Bool(b) => literal(i128::from(*b), &Ty::Boolean, span),
            JavaExprKind::Int(n) => literal(*n, &Ty::INT, span),
            JavaExprKind::Long(n) => literal(*n, &Ty::Int(Width::Long), span),
            JavaExprKind::Char(c) => literal(i128::from(*c), &Ty::Int(Width::Char), span),
            JavaExprKind::Text(text) => {
                let next = self.strings.len() as i128 + 1;
                let number = *self.strings.entry(text.clone()).or_insert(next);
                Val::new(int(number, span), Ty::Text)
            }
            JavaExprKind::Null => Val::new(null(span), Ty::Null),
            JavaExprKind::This => match self.frame.this.clone() {
                Some((this, ty)) => Val::new(respanned(this, span), ty),
                None => self.unknown("`this`", span),
            },
            JavaExprKind::Name(_) | JavaExprKind::Field(..) => self.name(e),
            JavaExprKind::Index(..) => match self.target(e) {
                Some(target) => self.load(&target, span),
                None => Val::new(boolean(false, span), Ty::Unknown),
            },
            JavaExprKind::Unary(op, operand) => {
                let operand = self.expr(operand);
                self.unary(*op, operand, span)
            }
            JavaExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => self.lazy(*op, a, b, span),
            JavaExprKind::Binary(op, a, b) => {
                let left = self.expr(a);
                let left = self.kept(left, b, a.span);
                let right = self.expr(b);
                self.operate(*op, left, right, span)
            }
            JavaExprKind::Conditional(parts) => self.conditional(parts, wanted, span),
            JavaExprKind::Assign(place, op, value) => self.assignment(place, *op, value, span),
            JavaExprKind::Step { place, by, prefix } => self.increment(place, *by, *prefix, span),
            JavaExprKind::Call { object, name, args, name_span } => {
                self.call(e, object.as_deref(), name, *name_span, args)
            }
            JavaExprKind::New { ty, args, body } => self.new_object(e, (ty, wanted), args, body.as_deref()),
            JavaExprKind::NewArray { element, sizes, open, values } => {
                let element = self.classes.ty(element, &self.frame.type_params);
                if element == Ty::Unknown {
                    return self.unknown("an array of such elements", span);
                }
                let mut ty = element;
                for _ in 0..sizes.len() + open {
                    ty = Ty::Array(Box::new(ty));
                }
                match values {
                    Some(values) => self.array_of(values, &ty, span),
                    None => self.new_array(sizes, &ty, span),
                }
            }
            JavaExprKind::ArrayValues(values) => match wanted.cloned() {
                Some(ty @ Ty::Array(_)) => self.array_of(values, &ty, span),
                _ => self.unknown("a list of values here", span),
            },
            JavaExprKind::Cast(ty, inner) => self.cast(ty, inner, span),
            JavaExprKind::InstanceOf(inner, ty) => self.instance_of(inner, ty, span),
            JavaExprKind::Lambda { .. } | JavaExprKind::MethodReference(..) => match wanted.cloned() {
                Some(ty @ Ty::Ref(..)) => self.closure_object(e, &ty),
                _ => self.unknown("a lambda here", span),
            },
            JavaExprKind::Switch(stmt) => self.switch_value(stmt, wanted),
            JavaExprKind::Super => self.unknown("`super` as a value", span),
            JavaExprKind::ClassLiteral(_) => self.unknown("a class as a value", span),
            JavaExprKind::Unknown(what) => self.unknown(&format!("{what} (Java that is not modelled)"), span),
        }
    }

    /// A value that evaluating another expression cannot change.
    pub(super) fn kept(&mut self, value: Val, before: &tree::JavaExpr, span: Span) -> Val {
        if value.constant.is_some() || value.ty == Ty::Unknown || value.ty == Ty::Null || !self.has_effects(before) {
            return value;
        }
        let kept = self.bind("left", &value.ty.clone(), as_value(value.expr.clone()), span);
        Val { expr: kept, ..value }
    }

    fn name(&mut self, e: &'a tree::JavaExpr) -> Val {
        let span = e.span;
        if let JavaExprKind::Name(text) = &e.kind
            && let Some(local) = self.local(text).cloned()
        {
            if local.ty == Ty::Unknown {
                return self.unknown(&format!("the value of `{text}`"), span);
            }
            if local.thread.is_some() && local.exact.is_none() {
                return self.unknown(&format!("`{text}` as a value"), span);
            }
            return Val {
                expr: respanned(local.value, span),
                ty: local.ty,
                constant: local.constant,
                exact: local.exact,
            };
        }
        if let JavaExprKind::Field(base, text, _) = &e.kind
            && text == "this"
            && let JavaExprKind::Name(outer) = &base.kind
        {
            return self.outer_this(outer, span);
        }
        if let JavaExprKind::Field(base, text, _) = &e.kind {
            if text == "length"
                && let Some(class) = self.class_named(base)
                && self.classes.field(&class.name, text).is_none()
            {
                return self.unknown("`length` of a class", span);
            }
            if let Some(class) = self.class_named(base)
                && let Some(at) = class.constants.iter().position(|(n, _)| n == text)
            {
                return Val::new(int(at as i128 + 1, span), Ty::Enum(class.name.clone()));
            }
            if text == "length" && self.field_of(e).is_none() {
                return match self.receiver(base) {
                    Some(array) if matches!(array.ty, Ty::Array(_)) => {
                        // It never changes, but the array must be there.
                        let length = array.part("length", span);
                        let temp = self.bind("length", &Ty::INT, as_value(length), span);
                        Val::new(temp, Ty::INT)
                    }
                    Some(_) => self.unknown("`length` of what is no array", span),
                    None => Val::new(boolean(false, span), Ty::Unknown),
                };
            }
        }
        if let JavaExprKind::Field(base, text, _) = &e.kind
            && let Some((value, ty)) = self.library_constant(base, text)
        {
            return literal(value, &ty, span);
        }
        let Some((class, field, _)) = self.field_of(e) else {
            return self.unknown(&format!("`{}`", name_of(e)), span);
        };
        let ty = self.field_ty(class, field);
        if field.modifiers.is_static
            && field.modifiers.is_final
            && let Some(value) = field.value.as_ref().and_then(|v| self.constant(v, &ty))
        {
            return literal(value, &ty, span);
        }
        match self.target(e) {
            Some(target) => self.load(&target, span),
            None => Val::new(boolean(false, span), Ty::Unknown),
        }
    }

    /// `a && b`: the right side is evaluated only where the left one does not decide.
    fn lazy(&mut self, op: BinaryOp, a: &'a tree::JavaExpr, b: &'a tree::JavaExpr, span: Span) -> Val {
        let left = self.expr(a);
        if left.ty != Ty::Boolean {
            return Val::new(boolean(false, span), Ty::Unknown);
        }
        let left = self.kept(left, b, a.span);
        let mut right = None;
        let straight = std::mem::replace(&mut self.frame.straight, false);
        let steps = self.collect(|t| right = Some(t.expr(b)));
        self.frame.straight = straight;
        let right = right.expect("it was evaluated above");
        if right.ty != Ty::Boolean && right.ty != Ty::Unknown {
            return self.unknown("this operator on such a value", span);
        }
        if steps.is_empty() {
            return self.operate(op, left, right, span);
        }
        let result = self.bind("both", &Ty::Boolean, as_value(left.expr), span);
        let condition = if op == BinaryOp::And { result.clone() } else { not(result.clone(), span) };
        let mut steps = steps;
        steps.push(assign(result.clone(), right.expr, b.span));
        self.push_stmt(if_else(condition, steps, None, span));
        Val::new(result, Ty::Boolean)
    }

    fn conditional(&mut self, parts: &'a [tree::JavaExpr; 3], wanted: Option<&Ty>, span: Span) -> Val {
        let condition = self.expr_as(&parts[0], &Ty::Boolean);
        let (mut yes, mut no) = (None, None);
        let straight = std::mem::replace(&mut self.frame.straight, false);
        let mut yes_steps = self.collect(|t| yes = Some(t.expr_wanted(&parts[1], wanted)));
        let mut no_steps = self.collect(|t| no = Some(t.expr_wanted(&parts[2], wanted)));
        self.frame.straight = straight;
        let (yes, no) = (yes.expect("evaluated above"), no.expect("evaluated above"));
        let ty = match (&yes.ty, &no.ty) {
            (Ty::Int(a), Ty::Int(b)) if a == b => Ty::Int(*a),
            (Ty::Int(Width::Long), _) | (_, Ty::Int(Width::Long)) => Ty::Int(Width::Long),
            (Ty::Int(_), Ty::Int(_)) => Ty::INT,
            (Ty::Unknown | Ty::Null, other) => other.clone(),
            (other, _) => wanted.filter(|w| w.is_reference()).cloned().unwrap_or_else(|| other.clone()),
        };
        if ty == Ty::Unknown || ty == Ty::Null {
            return self.unknown("this choice between values", span);
        }
        let result = self.open_temp("chosen", &ty, span);
        let more = self.collect(|t| {
            let value = t.convert(yes, &ty, parts[1].span);
            t.push_stmt(assign(result.clone(), value, parts[1].span));
        });
        yes_steps.extend(more);
        let more = self.collect(|t| {
            let value = t.convert(no, &ty, parts[2].span);
            t.push_stmt(assign(result.clone(), value, parts[2].span));
        });
        no_steps.extend(more);
        self.push_stmt(if_else(condition, yes_steps, Some(no_steps), span));
        Val::new(result, ty)
    }

    fn assignment(
        &mut self,
        place: &'a tree::JavaExpr,
        op: Option<BinaryOp>,
        value: &'a tree::JavaExpr,
        span: Span,
    ) -> Val {
        if op.is_none()
            && let Some((class, field, _)) = self.field_of(place)
            && self.is_embedded(class, field)
        {
            self.initialize_embedded(class, field, value);
            return Val::new(boolean(false, span), Ty::Void);
        }
        self.frame.keep = self.has_effects(value);
        let target = self.target(place);
        self.frame.keep = false;
        let Some(target) = target else {
            self.expr(value);
            return Val::new(boolean(false, span), Ty::Unknown);
        };
        let ty = match &target {
            Target::Local(_, ty) => ty.clone(),
            Target::Shared(shared) => shared.ty.clone(),
        };
        let new = match op {
            None => self.expr_as(value, &ty),
            Some(op) => {
                // `a op= b` is `a = (T) (a op b)`, with a read first (JLS 15.26.2).
                let old = self.load(&target, span);
                let old = self.kept(old, value, span);
                let right = self.expr(value);
                let result = self.operate(op, old, right, span);
                self.convert(result, &ty, span)
            }
        };
        self.store(&target, new.clone(), span);
        Val::new(new, ty)
    }

    fn increment(&mut self, place: &'a tree::JavaExpr, by: i128, prefix: bool, span: Span) -> Val {
        let Some(target) = self.target(place) else { return Val::new(boolean(false, span), Ty::Unknown) };
        let old = self.load(&target, span);
        let boxed = if let Ty::Boxed(_) = old.ty { Some(old.ty.clone()) } else { None };
        let old = self.unboxed(old, span);
        let Ty::Int(_) = old.ty else { return self.unknown("`++` of what is no integer", span) };
        let ty = old.ty.clone();
        // A local is changed in place: its value before is kept.
        let old = if matches!(target, Target::Local(..)) && !prefix {
            let kept = self.bind("old", &ty, as_value(old.expr), span);
            Val::new(kept, ty.clone())
        } else {
            old
        };
        let one = literal(by.abs(), &Ty::INT, span);
        let op = if by > 0 { BinaryOp::Add } else { BinaryOp::Subtract };
        let sum = self.operate(op, old.clone(), one, span);
        let new = self.convert(sum, &ty, span);
        if let Some(Ty::Boxed(inner)) = boxed {
            let kept = self.bind("new", &ty, as_value(new), span);
            let number = self.boxed(Val::new(kept.clone(), ty.clone()), &inner, span);
            self.store(&target, number, span);
            return if prefix { Val::new(kept, ty) } else { old };
        }
        self.store(&target, new.clone(), span);
        if !prefix {
            return old;
        }
        match target {
            Target::Local(value, ty) => Val::new(value, ty),
            Target::Shared(_) => Val::new(new, ty),
        }
    }

    /// The same, where the value is not used.
    pub(super) fn increment_statement(&mut self, place: &'a tree::JavaExpr, by: i128, span: Span) {
        self.increment(place, by, true, span);
    }

    fn cast(&mut self, ty: &'a tree::JavaType, inner: &'a tree::JavaExpr, span: Span) -> Val {
        let to = self.classes.ty(ty, &self.frame.type_params);
        let value = self.expr_wanted(inner, Some(&to));
        match (&value.ty, &to) {
            (_, Ty::Unknown) => self.unknown("a cast to such a type", span),
            (Ty::Int(_), Ty::Int(_)) => {
                let constant = match (&to, value.constant) {
                    (Ty::Int(width), Some(c)) => Some(width.wrap(c)),
                    _ => None,
                };
                let expr = self.convert(value, &to, span);
                Val { constant, ..Val::new(expr, to) }
            }
            (Ty::Ref(from, _), Ty::Ref(name, _)) => {
                let (from, name) = (from.clone(), name.clone());
                if self.mixes_instances(&from, &name) {
                    return self.unknown("a generic class that is seen with other type arguments", span);
                }
                let generic = |c: &&JavaClass| c.surroundings.instance_of.as_deref() == Some(&name[..]);
                if from != name && self.classes.all.iter().any(generic) {
                    return self.unknown("a cast to a generic class without its type arguments", span);
                }
                let plain = self.classes.is_subclass(&from, &name);
                let value_ty = value.ty.clone();
                self.unite(&value_ty, &to);
                if !plain {
                    let is = self.is_instance(&value, &name, span);
                    let nothing = equal(value.expr.clone(), null(span), span);
                    self.check(Checked::Language("cast"), or(vec![nothing, is], span), span);
                }
                Val::new(value.expr, to)
            }
            _ => {
                let expr = self.convert(value, &to, span);
                Val::new(expr, to)
            }
        }
    }

    fn instance_of(&mut self, inner: &'a tree::JavaExpr, ty: &'a tree::JavaType, span: Span) -> Val {
        let to = self.classes.ty(ty, &self.frame.type_params);
        let value = self.expr(inner);
        if let (Ty::Thrown(_), Ty::Thrown(name)) = (&value.ty, &to) {
            return Val::new(self.is_exception_instance(&value, name, span), Ty::Boolean);
        }
        let (Ty::Ref(..), Ty::Ref(name, _)) = (&value.ty, &to) else {
            return self.unknown("`instanceof` here", span);
        };
        let generic = |c: &&JavaClass| c.surroundings.instance_of.as_deref() == Some(&name[..]);
        if self.classes.all.iter().any(generic) {
            return self.unknown("`instanceof` of a generic class", span);
        }
        let value_ty = value.ty.clone();
        self.unite(&value_ty, &to);
        let is = self.is_instance(&value, name, span);
        let there = not(equal(value.expr.clone(), null(span), span), span);
        // The class of null is not asked for: the right side is read only where there is an object.
        Val::new(and(vec![there, is], span), Ty::Boolean)
    }

    /// Whether an object that is there is of a class or a subclass of it.
    fn is_instance(&mut self, value: &Val, class: &str, span: Span) -> Expr {
        let root = value.ty.heap_name().map(|h| self.facts.regions.find(&h)).unwrap_or_default();
        let made: Vec<String> = match &self.known {
            Some(known) => known.instantiated.iter().filter(|n| self.facts.regions.find(n) == root).cloned().collect(),
            None => Vec::new(),
        };
        let fits = |n: &String| self.is_kind_of(n, class);
        if made.iter().all(fits) {
            return boolean(true, span);
        }
        if !made.iter().any(fits) {
            return boolean(false, span);
        }
        let tag = field(present(value.expr.clone()), "class", span);
        let cases: Vec<Expr> = made
            .iter()
            .filter(|n| fits(n))
            .map(|n| equal(tag.clone(), int(self.class_number(n), span), span))
            .collect();
        if cases.len() == 1 { cases.into_iter().next().expect("there is one") } else { or(cases, span) }
    }

    /// Whether objects of a heap class are of a class or interface.
    pub(super) fn is_kind_of(&self, heap: &str, class: &str) -> bool {
        match self.closures.iter().find(|c| c.class == heap) {
            Some(closure) => class == "Object" || self.classes.is_subclass(&closure.interface, class),
            None => self.classes.is_subclass(heap, class),
        }
    }

    /// `new int[n]`, `new int[2][3]`.
    fn new_array(&mut self, sizes: &'a [tree::JavaExpr], ty: &Ty, span: Span) -> Val {
        let mut lengths = Vec::new();
        for size in sizes {
            let value = self.expr(size);
            let constant = value.constant;
            let length = self.convert(value, &Ty::INT, size.span);
            let length = match constant {
                Some(_) => length,
                None => self.bind("size", &Ty::INT, as_value(length), size.span),
            };
            if constant.is_none_or(|c| c < 0) {
                let condition = binary(crate::lang::ast::Binary::LessEqual, int(0, span), length.clone(), span);
                self.check(Checked::Language("size"), condition, size.span);
            }
            lengths.push(length);
        }
        let object = self.array_of_lengths(&lengths, ty, span);
        Val { exact: None, ..Val::new(object, ty.clone()) }
    }

    fn array_of_lengths(&mut self, lengths: &[Expr], ty: &Ty, span: Span) -> Expr {
        let heap = ty.heap_name().expect("an array has a heap name");
        let object = self.allocate(ty, span);
        let Some((length, inner)) = lengths.split_first() else { return object };
        self.push_stmt(assign(field(object.clone(), format!("{heap}.length"), span), length.clone(), span));
        if !inner.is_empty()
            && let Ty::Array(element) = ty
        {
            // One array for each element, one after the other.
            let at = self.bind("row", &Ty::INT, as_value(int(0, span)), span);
            let element = (**element).clone();
            let body = self.branch(|t| {
                let row = t.array_of_lengths(inner, &element, span);
                let place = index(field(object.clone(), format!("{heap}.data"), span), at.clone(), span);
                t.push_stmt(assign(place, row, span));
                let next = binary(crate::lang::ast::Binary::Add, at.clone(), int(1, span), span);
                t.push_stmt(assign(at.clone(), next, span));
            });
            let condition = binary(crate::lang::ast::Binary::Less, at.clone(), length.clone(), span);
            self.push_stmt(while_loop(condition, body, span));
        }
        object
    }

    /// `{1, 2}`.
    fn array_of(&mut self, values: &'a [tree::JavaExpr], ty: &Ty, span: Span) -> Val {
        let Ty::Array(element) = ty else { return self.unknown("a list of values here", span) };
        let heap = ty.heap_name().expect("an array has a heap name");
        let object = self.allocate(ty, span);
        let length = int(values.len() as i128, span);
        self.push_stmt(assign(field(object.clone(), format!("{heap}.length"), span), length, span));
        for (at, value) in values.iter().enumerate() {
            let value = self.expr_as(value, element);
            let place = index(field(object.clone(), format!("{heap}.data"), span), int(at as i128, span), span);
            self.push_stmt(assign(place, value, span));
        }
        Val::new(object, ty.clone())
    }

    /// Evaluates an expression for what it does; strings that are put together are not needed.
    pub(super) fn effects(&mut self, e: &'a tree::JavaExpr) {
        match &e.kind {
            JavaExprKind::Text(_) => {}
            JavaExprKind::Binary(BinaryOp::Add, a, b) if self.is_text(a) || self.is_text(b) => {
                self.effects(a);
                self.effects(b);
            }
            _ => {
                self.expr(e);
            }
        }
    }

    /// Whether an expression is certainly a string that a literal takes part in.
    fn is_text(&self, e: &tree::JavaExpr) -> bool {
        match &e.kind {
            JavaExprKind::Text(_) => true,
            JavaExprKind::Binary(BinaryOp::Add, a, b) => self.is_text(a) || self.is_text(b),
            JavaExprKind::Name(_) | JavaExprKind::Field(..) => self.static_type(e) == Ty::Text,
            _ => false,
        }
    }

    /// A call without a result.
    pub(super) fn call_statement(&mut self, callee: &str, args: Vec<Expr>, span: Span) {
        self.push(StmtKind::Call(call(callee, args, span)), span);
    }

    /// A call with a result.
    pub(super) fn call_value(&mut self, callee: &str, args: Vec<Expr>, ty: &Ty, span: Span) -> Expr {
        let call = call(callee, args, span);
        let value = crate::lang::ast::Spanned::new(crate::lang::ast::ExprKind::Call(Box::new(call)), span);
        self.bind("result", ty, AssignedValue::Exprs(vec![value]), span)
    }
}
