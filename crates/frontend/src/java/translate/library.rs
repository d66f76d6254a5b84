//! Classes of the library: atomic numbers and references, locks, conditions, semaphores, latches; printing and a few static methods.
//!
//! Operations of `java.util.concurrent.atomic` are one step each, with the order of volatile accesses; weaker ones (`lazySet`, `getPlain`,
//! `weakCompareAndSet`) are outside the model.
//!
//! In: a call of a method of the library. Out: the steps it takes.
//! Deliberately absent: fairness; collections are in `collection`, interruption in `model`.

use super::Translation;
use super::body::Val;
use super::build::*;
use super::place::{Receiver, as_value, name_of};
use super::types::{Ty, Width};
use crate::java::tree::{self, BinaryOp, JavaExprKind};
use crate::lang::ast::{self, AssignedValue, Binary, Cas, Checked, Expr, Foreign, Spanned, StmtKind};
use base::Span;

impl<'a> Translation<'a> {
    /// Static methods of the library. `None`: the object is no class of the library.
    pub(super) fn library_static(
        &mut self,
        object: &'a tree::JavaExpr,
        method: &'a str,
        args: &'a [tree::JavaExpr],
        span: Span,
    ) -> Option<Val> {
        if !matches!(object.kind, JavaExprKind::Name(_) | JavaExprKind::Field(..)) || self.field_of(object).is_some() {
            return None;
        }
        let text = name_of(object);
        if self.local(&text).is_some() || self.class_named(object).is_some() {
            return None;
        }
        let void = || Val::new(boolean(false, span), Ty::Void);
        let short = text.rsplit('.').next().unwrap_or(&text);
        match (&text[..], method) {
            ("System.out" | "System.err", "println" | "print" | "printf" | "format" | "flush") => {
                args.iter().for_each(|a| self.effects(a));
                return Some(void());
            }
            ("System", "arraycopy") => return Some(self.array_copy(args, span)),
            _ => {}
        }
        match (short, method) {
            ("Thread", "sleep") => {
                args.iter().for_each(|a| self.effects(a));
                self.raise_if_interrupted(span);
                Some(void())
            }
            ("Thread", "interrupted") if args.is_empty() => Some(self.clear_flag(span)),
            ("Thread", "yield" | "onSpinWait") => Some(void()),
            ("Math", "min" | "max") if args.len() == 2 => {
                let values = self.arguments(args);
                let [a, b]: [Val; 2] = values.try_into().ok()?;
                let op = if method == "min" { BinaryOp::Less } else { BinaryOp::Greater };
                let better = self.operate(op, a.clone(), b.clone(), span);
                let ty = match (&a.ty, &b.ty) {
                    (Ty::Int(Width::Long), Ty::Int(_)) | (Ty::Int(_), Ty::Int(Width::Long)) => Ty::Int(Width::Long),
                    (Ty::Int(_), Ty::Int(_)) => Ty::INT,
                    _ => return Some(self.unknown("`Math` of such values", span)),
                };
                let (a, b) = (self.convert(a, &ty, span), self.convert(b, &ty, span));
                Some(Val::new(if_then_else(better.expr, a, b, span), ty))
            }
            ("Integer" | "Long" | "Boolean" | "Short" | "Byte" | "Character", "valueOf") if args.len() == 1 => {
                let value = self.expr(&args[0]);
                let ty = self
                    .classes
                    .ty(&tree::JavaType { kind: tree::JavaTypeKind::Named(short.to_owned(), Vec::new()), span }, &[]);
                let Ty::Boxed(inner) = &ty else { return Some(self.unknown("`valueOf`", span)) };
                if !matches!(value.ty, Ty::Int(_) | Ty::Boolean) {
                    return Some(self.unknown("`valueOf` of a string", span));
                }
                let number = self.boxed(value, &inner.clone(), span);
                Some(Val::new(number, ty))
            }
            ("String", "valueOf" | "format") | ("Integer" | "Long", "toString") => {
                args.iter().for_each(|a| self.effects(a));
                Some(self.some_text(span))
            }
            ("Math", "abs") if args.len() == 1 => {
                let value = self.expr(&args[0]);
                let ty = match &value.ty {
                    Ty::Int(Width::Long) => Ty::Int(Width::Long),
                    Ty::Int(_) => Ty::INT,
                    _ => return Some(self.unknown("`Math` of such values", span)),
                };
                let value = self.convert(value, &ty, span);
                let negative = binary(Binary::Less, value.clone(), int(0, span), span);
                Some(Val::new(if_then_else(negative, negate(value.clone(), span), value, span), ty))
            }
            _ if matches!(object.kind, JavaExprKind::Name(_)) && text.starts_with(char::is_uppercase) => {
                args.iter().for_each(|a| self.effects(a));
                Some(self.unknown(&format!("`{text}.{method}`"), span))
            }
            ("out" | "err" | "in", _) => {
                args.iter().for_each(|a| self.effects(a));
                Some(self.unknown(&format!("`{text}.{method}`"), span))
            }
            _ => None,
        }
    }

    /// Sets the parts of a new library object or embedded array.
    pub(super) fn initialize_library(&mut self, receiver: &Receiver, value: &'a tree::JavaExpr) {
        let span = value.span;
        let ty = receiver.ty.clone();
        match (&value.kind, &ty) {
            (JavaExprKind::New { ty: made, args, .. }, Ty::Ref(class, _))
                if super::types::collected(class).is_some() =>
            {
                let made = match &made.kind {
                    tree::JavaTypeKind::Named(n, _) => n.clone(),
                    _ => class.clone(),
                };
                self.initialize_collection(receiver, &made, args, span);
            }
            (JavaExprKind::New { args, .. }, Ty::Ref(class, held)) => {
                let part = match &class[..] {
                    "AtomicInteger" => Some(("value", Ty::INT)),
                    "AtomicLong" => Some(("value", Ty::Int(Width::Long))),
                    "AtomicBoolean" => Some(("value", Ty::Boolean)),
                    "AtomicReference" => Some(("value", held.first().cloned().unwrap_or_else(|| Ty::object("Object")))),
                    "Semaphore" => Some(("permits", Ty::INT)),
                    "CountDownLatch" => Some(("count", Ty::INT)),
                    _ => None,
                };
                match (part, args.first()) {
                    (Some((part, ty)), Some(first)) => {
                        let value = self.expr_as(first, &ty);
                        if class == "CountDownLatch" {
                            let good = binary(Binary::LessEqual, int(0, span), value.clone(), span);
                            self.check(Checked::Language("argument"), good, span);
                        }
                        self.push_stmt(assign(receiver.part(part, span), value, span));
                    }
                    (Some((part, ty)), None) => {
                        let value = self.default_value(&ty, span);
                        self.push_stmt(assign(receiver.part(part, span), value, span));
                    }
                    (None, _) => args.iter().for_each(|a| self.effects(a)),
                }
            }
            // Rows that are part of it: both lengths are constants.
            (JavaExprKind::NewArray { sizes, values: None, .. }, Ty::Array(_))
                if sizes.len() == 2 && receiver.length.is_some() => {}
            (JavaExprKind::NewArray { sizes, values: None, .. }, Ty::Array(_)) if sizes.len() == 1 => {
                let size = self.expr(&sizes[0]);
                let constant = size.constant;
                let length = self.convert(size, &Ty::INT, sizes[0].span);
                if constant.is_none_or(|c| c < 0) {
                    let good = binary(Binary::LessEqual, int(0, span), length.clone(), span);
                    self.check(Checked::Language("size"), good, sizes[0].span);
                }
                if receiver.length.is_none() {
                    self.push_stmt(assign(receiver.part("length", span), length, span));
                }
            }
            (
                JavaExprKind::NewArray { values: Some(values), .. } | JavaExprKind::ArrayValues(values),
                Ty::Array(element),
            ) => {
                let length = int(values.len() as i128, span);
                if receiver.length.is_none() {
                    self.push_stmt(assign(receiver.part("length", span), length, span));
                }
                for (at, value) in values.iter().enumerate() {
                    let value = self.expr_as(value, element);
                    let place = index(receiver.part("data", span), int(at as i128, span), span);
                    self.push_stmt(assign(place, value, span));
                }
            }
            (JavaExprKind::Call { .. }, Ty::Ref(class, _)) if class == "Condition" => {}
            _ => self.unmodelled("this initial value", span),
        }
    }

    /// A method of an object of the library.
    pub(super) fn library_call(
        &mut self,
        receiver: &Receiver,
        object: &'a tree::JavaExpr,
        method: &'a str,
        args: &'a [tree::JavaExpr],
        span: Span,
    ) -> Val {
        let void = Val::new(boolean(false, span), Ty::Void);
        if self.monitor_call(receiver, method, args, span).is_some() {
            return void;
        }
        let Ty::Ref(class, held) = receiver.ty.clone() else {
            args.iter().for_each(|a| self.effects(a));
            return self.unknown(&format!("the call of `{method}`"), span);
        };
        let found = match &class[..] {
            "AtomicInteger" => self.atomic(receiver, &Ty::INT, method, args, span),
            "AtomicLong" => self.atomic(receiver, &Ty::Int(Width::Long), method, args, span),
            "AtomicBoolean" => self.atomic(receiver, &Ty::Boolean, method, args, span),
            "AtomicReference" => {
                let ty = held.first().cloned().unwrap_or_else(|| Ty::object("Object"));
                if ty == Ty::Unknown || !ty.is_reference() {
                    None
                } else {
                    if matches!(receiver.base, super::place::Base::Heap(_)) {
                        self.unite(&ty, &Ty::object("Object"));
                    }
                    self.atomic(receiver, &ty, method, args, span)
                }
            }
            "ReentrantLock" | "Lock" => self.lock_call(receiver, method, args, span),
            "Condition" => self.condition_call(receiver, object, method, args, span),
            "Semaphore" => self.semaphore_call(receiver, method, args, span),
            "CountDownLatch" => self.latch_call(receiver, method, args, span),
            "Random" => self.random_call(method, args, span),
            name if super::types::collected(name).is_some() => {
                let of = super::types::collected(name).expect("asked above");
                self.collection_call(receiver, of, method, args, span)
            }
            "Thread" => return self.thread_call(receiver, None, method, args, span),
            "Runnable" if method == "run" => {
                return self.run_target(receiver, span);
            }
            _ => None,
        };
        found.unwrap_or_else(|| {
            args.iter().for_each(|a| self.effects(a));
            self.unknown(&format!("`{class}.{method}`"), span)
        })
    }

    /// One step that reads a place and writes it.
    fn update(&mut self, place: Expr, ty: &Ty, new: impl FnOnce(&mut Self, Expr) -> Expr, span: Span) -> Expr {
        let old = self.open_temp("old", ty, span);
        let new = new(self, old.clone());
        let stmts = vec![assign(old.clone(), place.clone(), span), assign(place, new, span)];
        self.push_stmt(step(stmts, span));
        old
    }

    fn atomic(
        &mut self,
        receiver: &Receiver,
        ty: &Ty,
        method: &str,
        args: &'a [tree::JavaExpr],
        span: Span,
    ) -> Option<Val> {
        let place = receiver.part("value", span);
        let number = matches!(ty, Ty::Int(_));
        let sum = |old: Expr, by: Expr| binary(Binary::Add, old, by, span);
        let one = |by: i128| int(by, span);
        Some(match (method, args.len()) {
            ("get", 0) => Val::new(self.bind("value", ty, as_value(place), span), ty.clone()),
            ("intValue", 0) if *ty == Ty::INT => Val::new(self.bind("value", ty, as_value(place), span), ty.clone()),
            ("set", 1) => {
                let value = self.expr_as(&args[0], ty);
                self.push_stmt(assign(place, value, span));
                Val::new(boolean(false, span), Ty::Void)
            }
            ("getAndSet", 1) => {
                let value = self.expr_as(&args[0], ty);
                Val::new(self.update(place, ty, |_, _| value, span), ty.clone())
            }
            ("compareAndSet", 2) => {
                let values = self.arguments(args);
                let [old, new]: [Val; 2] = values.try_into().ok()?;
                let (old, new) = (self.convert(old, ty, args[0].span), self.convert(new, ty, args[1].span));
                let cas = AssignedValue::Cas(Box::new(Cas { place, old, new }));
                Val::new(self.bind("swapped", &Ty::Boolean, cas, span), Ty::Boolean)
            }
            ("getAndIncrement" | "getAndDecrement", 0) if number => {
                let by = if method == "getAndIncrement" { 1 } else { -1 };
                Val::new(self.update(place, ty, |_, old| sum(old, one(by)), span), ty.clone())
            }
            ("incrementAndGet" | "decrementAndGet", 0) if number => {
                let by = if method == "incrementAndGet" { 1 } else { -1 };
                let old = self.update(place, ty, |_, old| sum(old, one(by)), span);
                Val::new(sum(old, one(by)), ty.clone())
            }
            ("getAndAdd", 1) if number => {
                let by = self.expr_as(&args[0], ty);
                Val::new(self.update(place, ty, |_, old| sum(old, by), span), ty.clone())
            }
            ("updateAndGet" | "getAndUpdate", 1) => {
                let old = self.open_temp("old", ty, span);
                let read = assign(old.clone(), place.clone(), span);
                self.computed_in_step(place, ty, (read, old), (&args[0], None), method == "updateAndGet", span)?
            }
            ("accumulateAndGet" | "getAndAccumulate", 2) => {
                let given = self.expr_as(&args[0], ty);
                let given = Val::new(self.bind("given", ty, as_value(given), span), ty.clone());
                let old = self.open_temp("old", ty, span);
                let read = assign(old.clone(), place.clone(), span);
                let function = (&args[1], Some(given));
                self.computed_in_step(place, ty, (read, old), function, method == "accumulateAndGet", span)?
            }
            ("addAndGet", 1) if number => {
                let by = self.expr_as(&args[0], ty);
                let by = self.bind("by", ty, as_value(by), span);
                let old = self.update(place, ty, |_, old| sum(old, by.clone()), span);
                Val::new(sum(old, by), ty.clone())
            }
            _ => return None,
        })
    }

    /// One step that reads a place and writes what a function makes of it. `None`: the function may read shared places.
    fn computed_in_step(
        &mut self,
        place: Expr,
        ty: &Ty,
        (read, old): (ast::Stmt, Expr),
        (function, given): (&'a tree::JavaExpr, Option<Val>),
        gives_new: bool,
        span: Span,
    ) -> Option<Val> {
        let args: Vec<Val> = std::iter::once(Val::new(old.clone(), ty.clone())).chain(given).collect();
        let mut made = None;
        let mut stmts = self.collect(|t| made = t.applied(function, &args, ty));
        let new = self.open_temp("new", ty, span);
        stmts.insert(0, read);
        stmts.push(assign(new.clone(), made?, span));
        stmts.push(assign(place, new.clone(), span));
        self.push_stmt(step(stmts, span));
        Some(Val::new(if gives_new { new } else { old }, ty.clone()))
    }

    fn lock_call(&mut self, receiver: &Receiver, method: &str, args: &'a [tree::JavaExpr], span: Span) -> Option<Val> {
        let owner = receiver.part("owner", span);
        let mine = equal(owner.clone(), tid(span), span);
        let void = Val::new(boolean(false, span), Ty::Void);
        // Who takes it a second time counts; that is not modelled, and that it does not happen is part of every proof.
        let twice = Checked::Unmodelled("a lock that its holder takes again".into());
        let twice = Spanned::new(StmtKind::Check { of: twice, condition: not(mine.clone(), span) }, span);
        match (method, args.len()) {
            ("lockInterruptibly", 0) if self.classes.interrupts => {
                self.push_stmt(twice);
                let free = foreign(Foreign::Peek(equal(owner.clone(), int(0, span), span)), span);
                self.wait_interruptibly(free, vec![assign(owner, tid(span), span)], span);
                Some(void)
            }
            ("lock" | "lockInterruptibly", 0) => {
                self.push_stmt(twice);
                self.push(StmtKind::Acquire(owner), span);
                Some(void)
            }
            ("unlock", 0) => {
                if self.is_caught(&Checked::Release) {
                    self.check(Checked::Release, mine, span);
                }
                self.push(StmtKind::Release(owner), span);
                Some(void)
            }
            ("tryLock", 0) => {
                self.push_stmt(twice);
                let taken = self.open_temp("taken", &Ty::Boolean, span);
                let free = foreign(Foreign::Peek(equal(owner.clone(), int(0, span), span)), span);
                // Whether it is free is asked of a lock that another thread may hold: no access of the lock itself.
                let yes =
                    vec![assign(owner.clone(), tid(span), span), assign(taken.clone(), boolean(true, span), span)];
                let no = vec![assign(taken.clone(), boolean(false, span), span)];
                let whole = vec![if_else(free, yes, Some(no), span)];
                self.push(StmtKind::Atomic(block(whole, span)), span);
                Some(Val::new(taken, Ty::Boolean))
            }
            _ => None,
        }
    }

    /// A condition belongs to the lock whose `newCondition` made it.
    fn condition_call(
        &mut self,
        receiver: &Receiver,
        object: &'a tree::JavaExpr,
        method: &str,
        args: &'a [tree::JavaExpr],
        span: Span,
    ) -> Option<Val> {
        let (class, field, base) = self.field_of(object)?;
        let made = match &field.value {
            Some(value) => value,
            None => return None,
        };
        let JavaExprKind::Call { object: Some(lock), .. } = &made.kind else { return None };
        let (lock_class, lock_field) = match &lock.kind {
            JavaExprKind::Name(n) => self.classes.field(&class.name, n)?,
            JavaExprKind::Field(this, n, _) if matches!(this.kind, JavaExprKind::This) => {
                self.classes.field(&class.name, n)?
            }
            _ => return None,
        };
        if !self.is_embedded(lock_class, lock_field) || base.is_some_and(|b| self.steady_variable(b).is_none()) {
            return None;
        }
        let prefix = format!("{}.{}", lock_class.name, lock_field.name);
        let base = match &receiver.base {
            super::place::Base::Field(object, _) if !lock_field.modifiers.is_static => {
                super::place::Base::Field(object.clone(), prefix)
            }
            _ if lock_field.modifiers.is_static => super::place::Base::Static(prefix),
            _ => return None,
        };
        let lock =
            Receiver { base, ty: self.embedded_ty(lock_class, lock_field), named: None, object: None, length: None };
        let owner = lock.part("owner", span);
        let waiting = receiver.part("waiting", span);
        let held = equal(owner.clone(), tid(span), span);
        match (method, args.len()) {
            ("awaitUninterruptibly", 0) if self.classes.interrupts => return None,
            ("await" | "awaitUninterruptibly", 0) => {
                self.check(Checked::Release, held, span);
                self.wait_for(owner, waiting, true, span);
            }
            // With a limit of time it may return at any time; whether that has passed is not known.
            ("await" | "awaitNanos", 1 | 2) if args.len() == 2 => {
                args.iter().for_each(|a| self.effects(a));
                self.check(Checked::Release, held, span);
                self.wait_for(owner, waiting, false, span);
                let told = self.open_temp("told", &Ty::Boolean, span);
                self.push(StmtKind::Havoc(vec![told.clone()]), span);
                return Some(Val::new(told, Ty::Boolean));
            }
            ("signal", 0) => {
                self.check(Checked::Release, held, span);
                self.wake_one(waiting, span);
            }
            ("signalAll", 0) => {
                self.check(Checked::Release, held, span);
                self.push_stmt(assign(waiting, set(Vec::new(), span), span));
            }
            _ => return None,
        }
        Some(Val::new(boolean(false, span), Ty::Void))
    }

    fn semaphore_call(
        &mut self,
        receiver: &Receiver,
        method: &str,
        args: &'a [tree::JavaExpr],
        span: Span,
    ) -> Option<Val> {
        let permits = receiver.part("permits", span);
        let many = |t: &mut Self| match args.first() {
            Some(e) => {
                let value = t.expr_as(e, &Ty::INT);
                t.bind("permits", &Ty::INT, as_value(value), span)
            }
            None => int(1, span),
        };
        let void = Val::new(boolean(false, span), Ty::Void);
        match (method, args.len()) {
            ("acquire" | "acquireUninterruptibly", 0 | 1) => {
                let n = many(self);
                let enough = binary(Binary::LessEqual, n.clone(), permits.clone(), span);
                let rest = binary(Binary::Subtract, permits.clone(), n, span);
                let done = vec![assign(permits, rest, span)];
                if method == "acquire" {
                    self.wait_interruptibly(enough, done, span);
                } else {
                    let stmts = std::iter::once(Spanned::new(StmtKind::Assume(enough), span)).chain(done).collect();
                    self.push_stmt(step(stmts, span));
                }
                Some(void)
            }
            ("release", 0 | 1) => {
                let n = many(self);
                let more = binary(Binary::Add, permits.clone(), n, span);
                self.push_stmt(assign(permits, more, span));
                Some(void)
            }
            // With a limit of time it gives up, at the latest, in the moment when it looks last.
            ("tryAcquire", 0 | 2) => {
                if args.len() == 2 {
                    args.iter().for_each(|a| self.effects(a));
                    self.raise_if_interrupted(span);
                }
                let taken = self.open_temp("taken", &Ty::Boolean, span);
                let enough = binary(Binary::LessEqual, int(1, span), permits.clone(), span);
                let rest = binary(Binary::Subtract, permits.clone(), int(1, span), span);
                let stmts = vec![
                    assign(taken.clone(), enough, span),
                    if_else(taken.clone(), vec![assign(permits, rest, span)], None, span),
                ];
                self.push_stmt(step(stmts, span));
                Some(Val::new(taken, Ty::Boolean))
            }
            ("availablePermits", 0) => Some(Val::new(self.bind("permits", &Ty::INT, as_value(permits), span), Ty::INT)),
            _ => None,
        }
    }

    fn latch_call(&mut self, receiver: &Receiver, method: &str, args: &'a [tree::JavaExpr], span: Span) -> Option<Val> {
        let count = receiver.part("count", span);
        match (method, args.len()) {
            ("countDown", 0) => {
                let some = binary(Binary::Less, int(0, span), count.clone(), span);
                let less = binary(Binary::Subtract, count.clone(), int(1, span), span);
                let value = if_then_else(some, less, count.clone(), span);
                self.push_stmt(assign(count, value, span));
            }
            ("await", 0) => {
                let zero = equal(count, int(0, span), span);
                self.wait_interruptibly(zero, Vec::new(), span);
            }
            // With a limit of time it waits until some moment, and says what it finds then.
            ("await", 2) => {
                args.iter().for_each(|a| self.effects(a));
                self.raise_if_interrupted(span);
                let zero = equal(count, int(0, span), span);
                return Some(Val::new(self.bind("zero", &Ty::Boolean, as_value(zero), span), Ty::Boolean));
            }
            ("getCount", 0) => {
                let ty = Ty::Int(Width::Long);
                return Some(Val::new(self.bind("count", &ty, as_value(count), span), ty));
            }
            _ => return None,
        }
        Some(Val::new(boolean(false, span), Ty::Void))
    }
}
