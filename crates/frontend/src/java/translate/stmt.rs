//! Statements, and the ways out of them: `return`, `break` and `continue` leave monitors and run `finally` blocks on their way.
//!
//! In: statements of Java. Out: statements of the model.
//! Deliberately absent: jumps to labels, and cases of a `switch` that go on to the next one.

use super::Translation;
use super::body::{Cleanup, Continue, Local, Phase};
use super::build::*;
use super::place::as_value;
use super::types::Ty;
use crate::java::tree::{self, JavaExprKind, JavaStmtKind, SwitchCase};
use crate::lang::ast::{self, Binary, Checked, Expr, Spanned, Stmt};
use base::Span;

/// Exceptions that only what is not modelled throws: their handlers are never reached.
const NEVER_THROWN: &[&str] = &["InterruptedException", "BrokenBarrierException", "TimeoutException", "IOException"];

/// Exceptions of the library that no handler of those above catches.
const NOT_AMONG_THEM: &[&str] = &[
    "Throwable",
    "Exception",
    "RuntimeException",
    "IllegalArgumentException",
    "IllegalStateException",
    "IllegalMonitorStateException",
    "UnsupportedOperationException",
    "NullPointerException",
    "ArithmeticException",
    "ClassCastException",
    "IndexOutOfBoundsException",
    "ArrayIndexOutOfBoundsException",
    "NegativeArraySizeException",
    "NoSuchElementException",
    "ConcurrentModificationException",
    "CloneNotSupportedException",
    "ExecutionException",
    "Error",
    "AssertionError",
];

impl<'a> Translation<'a> {
    pub(super) fn stmts(&mut self, stmts: &'a [tree::JavaStmt]) {
        for (at, stmt) in stmts.iter().enumerate() {
            self.notes_before(stmt.span.file, stmt.span.start);
            if let JavaStmtKind::Local { ty, name, value: Some(value), name_span } = &stmt.kind
                && self.own_thread((ty, name, *name_span), value, &stmts[at + 1..], stmt.span)
            {
                continue;
            }
            self.stmt(stmt);
        }
    }

    pub(super) fn stmt(&mut self, stmt: &'a tree::JavaStmt) {
        let span = stmt.span;
        match &stmt.kind {
            JavaStmtKind::Empty => {}
            JavaStmtKind::Local { ty, name, name_span, value } => {
                self.local_variable(ty, name, *name_span, value.as_ref(), span);
            }
            JavaStmtKind::Several(inner) => inner.iter().for_each(|s| self.stmt(s)),
            JavaStmtKind::Expr(e) => self.expression_statement(e),
            JavaStmtKind::Block(inner) => self.scoped(|t| t.stmts(inner)),
            JavaStmtKind::If(condition, yes, no) => {
                let value = self.expr(condition);
                match value.constant {
                    // `if (DEBUG)`: the other branch is compiled away.
                    Some(c) if value.ty == Ty::Boolean => {
                        let taken = if c != 0 { Some(yes) } else { no.as_ref() };
                        if let Some(taken) = taken {
                            self.scoped(|t| t.stmt(taken));
                        }
                    }
                    _ => {
                        let condition = self.convert(value, &Ty::Boolean, condition.span);
                        let (yes, no) = (&**yes, no.as_deref());
                        let yes = self.branch(|t| t.stmt(yes));
                        let no = no.map(|no| self.branch(|t| t.stmt(no)));
                        self.push_stmt(if_else(condition, yes, no, span));
                    }
                }
            }
            JavaStmtKind::While(condition, body) => {
                self.looped(Some(condition), Continue::Nothing, span, |t| t.stmt(body));
            }
            JavaStmtKind::DoWhile(body, condition) => self.do_while(body, condition, span),
            JavaStmtKind::For { init, condition, update, body } => self.scoped(|t| {
                init.iter().for_each(|s| t.stmt(s));
                t.looped(condition.as_ref(), Continue::Update(update), span, |t| {
                    t.scoped(|t| t.stmt(body));
                    update.iter().for_each(|e| t.expression_statement(e));
                });
            }),
            JavaStmtKind::ForEach { ty, name, name_span, over, body } => {
                self.scoped(|t| t.for_each((ty, name, *name_span), over, body, span));
            }
            JavaStmtKind::Labeled(_, body) => self.stmt(body),
            JavaStmtKind::Break(None) => self.leave_loop(Leave::Break, span),
            JavaStmtKind::Continue(None) => self.leave_loop(Leave::Continue, span),
            JavaStmtKind::Break(Some(_)) | JavaStmtKind::Continue(Some(_)) => {
                self.unmodelled("a jump to a label", span)
            }
            JavaStmtKind::Return(value) => self.give_back(value.as_ref(), span),
            JavaStmtKind::Throw(value) => self.throw(value, span),
            JavaStmtKind::Assert(condition, message) => self.assertion(condition, message.as_ref(), span),
            JavaStmtKind::Synchronized(on, body) => self.synchronized(on, body, span),
            JavaStmtKind::Try { body, catches, finally } => self.try_statement(body, catches, finally.as_deref(), span),
            JavaStmtKind::Switch { on, cases } => self.switch(on, cases, span),
            JavaStmtKind::Construct { of_super, args } => self.explicit_constructor(*of_super, args, span),
            JavaStmtKind::Unknown(what) => self.unmodelled(&format!("{what} (Java that is not modelled)"), span),
        }
    }

    pub(super) fn local_variable(
        &mut self,
        ty: &'a tree::JavaType,
        text: &'a str,
        at: Span,
        value: Option<&'a tree::JavaExpr>,
        span: Span,
    ) {
        let declared = self.classes.ty(ty, &self.frame.type_params);
        let inferred =
            matches!(&ty.kind, tree::JavaTypeKind::Named(n, _) if n == "var") && self.classes.get("var").is_none();
        if declared == Ty::Unknown && !inferred {
            // Its value may do things that are modelled; uses of the variable are reported where they are.
            if let Some(value) = value {
                self.expr(value);
            }
            self.declare_local(text, Local::new(var(text, at), Ty::Unknown));
            return;
        }
        let (ty, value) = match value {
            None => (declared, None),
            Some(e) if inferred => {
                let value = self.expr(e);
                let ty = value.ty.clone();
                (ty.clone(), Some((self.convert(value.clone(), &ty, span), value)))
            }
            Some(e) => {
                let value = self.expr_wanted(e, Some(&declared));
                (declared.clone(), Some((self.convert(value.clone(), &declared, e.span), value)))
            }
        };
        if ty == Ty::Unknown || ty == Ty::Null || ty == Ty::Void {
            self.declare_local(text, Local::new(var(text, at), Ty::Unknown));
            return;
        }
        let mut local = Local::new(var(text, at), ty.clone());
        if let Some((_, from)) = &value
            && !self.is_assigned(text)
        {
            local.exact = from.exact.clone();
            local.constant = from.constant.filter(|_| from.ty == ty);
        }
        let tp = self.tp_type(&ty, at);
        let value = value.map(|(e, _)| as_value(e));
        self.push(ast::StmtKind::Local { name: name(text, at), ty: tp, value }, span);
        self.declare_local(text, local);
    }

    pub(super) fn expression_statement(&mut self, e: &'a tree::JavaExpr) {
        match &e.kind {
            JavaExprKind::Step { place, by, .. } => self.increment_statement(place, *by, e.span),
            _ => {
                self.expr(e);
            }
        }
    }

    /// `while`: the condition is evaluated anew each time, with all its steps.
    fn looped(
        &mut self,
        condition: Option<&'a tree::JavaExpr>,
        next: Continue<'a>,
        span: Span,
        body: impl FnOnce(&mut Self),
    ) {
        let straight = std::mem::replace(&mut self.frame.straight, false);
        // A thread that one turn starts runs beside the next turn.
        self.frame.phase = Phase::Together;
        let invariants = self.loop_invariants();
        let mut test = None;
        let steps = self.inner_block(|t| {
            test = Some(match condition {
                None => boolean(true, span),
                Some(c) => {
                    let value = t.expr(c);
                    match value.constant {
                        Some(constant) if value.ty == Ty::Boolean => boolean(constant != 0, c.span),
                        _ => t.convert(value, &Ty::Boolean, c.span),
                    }
                }
            });
        });
        let test = test.expect("set above");
        self.frame.cleanups.push(Cleanup::Loop(next));
        let inner = self.inner_block(body);
        self.frame.cleanups.pop();
        self.frame.straight = straight;
        if steps.is_empty() {
            self.push_stmt(with_invariants(while_loop(test, inner, span), invariants));
            return;
        }
        let mut whole = steps;
        let out = vec![Spanned::new(ast::StmtKind::Break, span)];
        whole.push(if_else(not(test.clone(), test.span), out, None, test.span));
        whole.extend(inner);
        self.push_stmt(with_invariants(while_loop(boolean(true, span), whole, span), invariants));
    }

    fn do_while(&mut self, body: &'a tree::JavaStmt, condition: &'a tree::JavaExpr, span: Span) {
        let straight = std::mem::replace(&mut self.frame.straight, false);
        self.frame.phase = Phase::Together;
        self.frame.cleanups.push(Cleanup::Loop(Continue::Test(condition)));
        let mut inner = self.inner_block(|t| t.stmt(body));
        let test = self.inner_block(|t| t.leave_unless(condition));
        inner.extend(test);
        self.frame.cleanups.pop();
        self.frame.straight = straight;
        self.push_stmt(while_loop(boolean(true, span), inner, span));
    }

    fn leave_unless(&mut self, condition: &'a tree::JavaExpr) {
        let value = self.expr_as(condition, &Ty::Boolean);
        let out = vec![Spanned::new(ast::StmtKind::Break, condition.span)];
        self.push_stmt(if_else(not(value, condition.span), out, None, condition.span));
    }

    fn for_each(
        &mut self,
        (ty, text, at): (&'a tree::JavaType, &'a str, Span),
        over: &'a tree::JavaExpr,
        body: &'a tree::JavaStmt,
        span: Span,
    ) {
        let Some(array) = self.receiver(over) else { return };
        let Ty::Array(element) = array.ty.clone() else {
            self.unmodelled("a loop over what is no array", over.span);
            return;
        };
        let array = match &array.base {
            super::place::Base::Heap(object) => {
                let kept = self.bind("array", &array.ty.clone(), as_value(object.clone()), over.span);
                super::place::Receiver { base: super::place::Base::Heap(kept), ..array }
            }
            _ => array,
        };
        let length = self.bind("length", &Ty::INT, as_value(array.part("length", over.span)), over.span);
        let counter = self.bind("at", &Ty::INT, as_value(int(0, span)), span);
        let next = assign(counter.clone(), binary(Binary::Add, counter.clone(), int(1, span), span), span);
        let declared = match self.classes.ty(ty, &self.frame.type_params) {
            Ty::Unknown if matches!(&ty.kind, tree::JavaTypeKind::Named(n, _) if n == "var") => (*element).clone(),
            other => other,
        };
        let straight = std::mem::replace(&mut self.frame.straight, false);
        self.frame.phase = Phase::Together;
        self.frame.cleanups.push(Cleanup::Loop(Continue::Statements(vec![next.clone()])));
        let inner = self.inner_block(|t| {
            let shared = super::place::Shared {
                place: index(array.part("data", span), counter.clone(), span),
                marker: index(array.part("writing", span), counter.clone(), span),
                name: array.elements(),
                ty: *element,
                mode: super::place::Mode::Plain,
                checks: Vec::new(),
                object: array.object.clone(),
            };
            let value = t.load(&super::place::Target::Shared(Box::new(shared)), at);
            let value = t.convert(value, &declared, at);
            let tp = t.tp_type(&declared, at);
            t.push(ast::StmtKind::Local { name: name(text, at), ty: tp, value: Some(as_value(value)) }, at);
            t.declare_local(text, Local::new(var(text, at), declared.clone()));
            t.scoped(|t| t.stmt(body));
            t.push_stmt(next.clone());
        });
        self.frame.cleanups.pop();
        self.frame.straight = straight;
        let condition = binary(Binary::Less, counter, length, span);
        self.push_stmt(while_loop(condition, inner, span));
    }

    /// Does what leaving the innermost statements asks for, down to a depth; `finally` blocks run outside themselves.
    fn clean_up(&mut self, down_to: usize) {
        let saved = self.frame.cleanups.clone();
        for at in (down_to..saved.len()).rev() {
            self.frame.cleanups.truncate(at);
            match &saved[at] {
                Cleanup::Release { statements } => statements.iter().for_each(|s| self.push_stmt(s.clone())),
                Cleanup::Finally(body) => {
                    let body = *body;
                    self.scoped(|t| t.stmts(body));
                }
                Cleanup::Loop(_) | Cleanup::Switch => {}
            }
        }
        self.frame.cleanups = saved;
    }

    fn leave_loop(&mut self, how: Leave, span: Span) {
        let around = self.frame.cleanups.iter().rposition(|c| match c {
            Cleanup::Loop(_) => true,
            Cleanup::Switch => how == Leave::Break,
            _ => false,
        });
        let Some(around) = around else { return self.unmodelled("a jump out of this", span) };
        let Cleanup::Loop(next) = self.frame.cleanups[around].clone() else {
            return self.unmodelled("a `break` in the middle of a case", span);
        };
        self.clean_up(around + 1);
        if how == Leave::Break {
            self.push(ast::StmtKind::Break, span);
            return;
        }
        match next {
            Continue::Nothing => {}
            Continue::Update(update) => update.iter().for_each(|e| self.expression_statement(e)),
            Continue::Test(condition) => self.leave_unless(condition),
            Continue::Statements(stmts) => stmts.into_iter().for_each(|s| self.push_stmt(s)),
        }
        self.push(ast::StmtKind::Continue, span);
    }

    pub(super) fn give_back(&mut self, value: Option<&'a tree::JavaExpr>, span: Span) {
        let ty = self.frame.result.clone();
        let value = match value {
            Some(e) if ty != Ty::Void => {
                let value = self.expr_as(e, &ty);
                // What happens on the way out does not change it.
                let busy =
                    self.frame.cleanups.iter().any(|c| matches!(c, Cleanup::Release { .. } | Cleanup::Finally(_)));
                Some(if busy { self.bind("returned", &ty, as_value(value), span) } else { value })
            }
            Some(e) => {
                self.expr(e);
                None
            }
            None => None,
        };
        self.clean_up(0);
        self.push(ast::StmtKind::Return(value.into_iter().collect()), span);
    }

    fn throw(&mut self, value: &'a tree::JavaExpr, span: Span) {
        if let JavaExprKind::New { args, .. } = &value.kind {
            args.iter().for_each(|a| self.effects(a));
        }
        if !self.misses_every_dead_handler(value) {
            return self.unmodelled("an exception that is thrown and caught", span);
        }
        // No handler that is modelled catches it: the thread dies, which is what the property says must not happen.
        self.check(Checked::Language("throw"), boolean(false, span), span);
    }

    /// Whether no handler of an exception that only what is not modelled throws can catch this one.
    fn misses_every_dead_handler(&self, thrown: &tree::JavaExpr) -> bool {
        let JavaExprKind::New {
            ty: tree::JavaType { kind: tree::JavaTypeKind::Named(name, _), .. }, body: None, ..
        } = &thrown.kind
        else {
            return false;
        };
        let mut name = name.clone();
        // The chain of classes of the program is finite, unless they extend each other.
        for _ in 0..=self.classes.all.len() {
            match self.classes.get(&name).and_then(|c| c.extends.as_ref()).map(|t| &t.kind) {
                Some(tree::JavaTypeKind::Named(parent, _)) => name = parent.clone(),
                _ => return NOT_AMONG_THEM.contains(&&name[..]),
            }
        }
        false
    }

    fn assertion(&mut self, condition: &'a tree::JavaExpr, message: Option<&'a tree::JavaExpr>, span: Span) {
        // An assertion that fails throws an error: what it says is evaluated only then.
        let _ = message;
        let value = self.expr_as(condition, &Ty::Boolean);
        if self.catches() {
            self.check(Checked::Language("assert"), value, span);
        } else {
            self.push(ast::StmtKind::Assert(value), span);
        }
    }

    fn try_statement(
        &mut self,
        body: &'a [tree::JavaStmt],
        catches: &'a [tree::CatchClause],
        finally: Option<&'a [tree::JavaStmt]>,
        span: Span,
    ) {
        let never =
            |t: &tree::JavaType| matches!(&t.kind, tree::JavaTypeKind::Named(n, _) if NEVER_THROWN.contains(&&n[..]));
        let reached = catches.iter().any(|c| !c.types.iter().all(never));
        if let Some(finally) = finally {
            self.frame.cleanups.push(Cleanup::Finally(finally));
        }
        self.frame.catching += usize::from(reached);
        self.scoped(|t| t.stmts(body));
        self.frame.catching -= usize::from(reached);
        if let Some(finally) = finally {
            self.frame.cleanups.pop();
            self.scoped(|t| t.stmts(finally));
        }
        let _ = span;
    }

    /// Cases one after the other; a case that goes on to the next one is outside the model unless it is empty.
    fn switch(&mut self, on: &'a tree::JavaExpr, cases: &'a [SwitchCase], span: Span) {
        let value = self.expr(on);
        let (ty, numbers) = match &value.ty {
            Ty::Int(_) => (value.ty.clone(), true),
            Ty::Enum(_) => (value.ty.clone(), false),
            Ty::Unknown => return,
            _ => return self.unmodelled("a `switch` on such a value", on.span),
        };
        if let Ty::Enum(_) = ty {
            let there = not(equal(value.expr.clone(), int(0, on.span), on.span), on.span);
            self.check(Checked::Null, there, on.span);
        }
        let value = self.bind("switch", &ty, as_value(value.expr), on.span);
        let mut arms: Vec<(Option<Expr>, Vec<Stmt>)> = Vec::new();
        let mut labels: Vec<Expr> = Vec::new();
        let mut is_default = false;
        for (at, case) in cases.iter().enumerate() {
            for label in &case.labels {
                let number = if numbers {
                    self.constant(label, &ty)
                } else {
                    let Ty::Enum(name) = &ty else { continue };
                    let class = self.classes.get(name);
                    class
                        .and_then(|c| c.constants.iter().position(|(n, _)| *n == super::place::name_of(label)))
                        .map(|i| i as i128 + 1)
                };
                match number {
                    Some(n) => labels.push(equal(value.clone(), int(n, label.span), label.span)),
                    None => return self.unmodelled("a case that is no constant", label.span),
                }
            }
            is_default |= case.is_default;
            let is_last = at + 1 == cases.len();
            if case.body.is_empty() && !case.is_rule && !is_last {
                continue;
            }
            let (inner, ends) = case_body(&case.body);
            self.frame.cleanups.push(Cleanup::Switch);
            let mut stmts = self.branch(|t| t.stmts(inner));
            self.frame.cleanups.pop();
            if !(ends || case.is_rule || is_last) {
                let of = Checked::Unmodelled("a case that goes on to the next one".into());
                stmts.push(Spanned::new(ast::StmtKind::Check { of, condition: boolean(false, case.span) }, case.span));
            }
            let test = match labels.len() {
                _ if is_default => None,
                1 => labels.pop(),
                _ => Some(or(std::mem::take(&mut labels), case.span)),
            };
            labels.clear();
            is_default = false;
            arms.push((test, stmts));
        }
        // The default is taken where no other case fits, wherever it stands.
        let mut otherwise = None;
        let mut tested = Vec::new();
        for (test, body) in arms {
            match test {
                Some(test) => {
                    let span = test.span;
                    tested.push(ast::Arm { condition: ast::Condition::Expr(test), body: block(body, span) });
                }
                None => otherwise = Some(body),
            }
        }
        match (tested.is_empty(), otherwise) {
            (true, Some(body)) => self.push(ast::StmtKind::Block(block(body, span)), span),
            (true, None) => {}
            (false, otherwise) => {
                let otherwise = otherwise.map(|b| block(b, span));
                self.push(ast::StmtKind::If { arms: tested, otherwise }, span);
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Leave {
    Break,
    Continue,
}

/// The statements of a case without the `break` at its end, and whether control leaves the case there.
fn case_body(body: &[tree::JavaStmt]) -> (&[tree::JavaStmt], bool) {
    let body = match body {
        [tree::JavaStmt { kind: JavaStmtKind::Block(inner), .. }] => &inner[..],
        other => other,
    };
    match body.split_last() {
        Some((last, rest)) => match &last.kind {
            JavaStmtKind::Break(None) => (rest, true),
            JavaStmtKind::Return(_) | JavaStmtKind::Throw(_) | JavaStmtKind::Continue(_) => (body, true),
            _ => (body, false),
        },
        None => (body, false),
    }
}

fn with_invariants(mut stmt: Stmt, written: Vec<Expr>) -> Stmt {
    if let ast::StmtKind::While { invariants, .. } = &mut stmt.kind {
        *invariants = written;
    }
    stmt
}
