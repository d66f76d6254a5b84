//! Statements, and the ways out of them: `return`, `break` and `continue` leave monitors and run `finally` blocks on their way.
//!
//! In: statements of Java. Out: statements of the model.
//! Deliberately absent: exceptions (`exception`), `switch` (`switch`).

use super::Translation;
use super::body::{Cleanup, Continue, Local, Phase};
use super::build::*;
use super::place::as_value;
use super::types::Ty;
use crate::java::tree::{self, JavaExprKind, JavaStmtKind};
use crate::lang::ast::{self, Binary, Expr, Spanned, Stmt};
use base::Span;

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
            JavaStmtKind::Block(inner) => self.scoped(|t| {
                t.stmts(inner);
                t.notes_before(span.file, span.end);
            }),
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
                let label = self.frame.next_label.take();
                self.looped(Some(condition), Continue::Nothing, span, |t| t.loop_body(label, body));
            }
            JavaStmtKind::DoWhile(body, condition) => self.do_while(body, condition, span),
            JavaStmtKind::For { init, condition, update, body } => self.scoped(|t| {
                let label = t.frame.next_label.take();
                init.iter().for_each(|s| t.stmt(s));
                t.looped(condition.as_ref(), Continue::Update(update), span, |t| {
                    t.loop_body(label, body);
                    update.iter().for_each(|e| t.expression_statement(e));
                });
            }),
            JavaStmtKind::ForEach { ty, name, name_span, over, body } => {
                self.scoped(|t| t.for_each((ty, name, *name_span), over, body, span));
            }
            JavaStmtKind::Labeled(text, body) => self.labelled(text, body, span),
            JavaStmtKind::Break(None) => self.leave_loop(Leave::Break, span),
            JavaStmtKind::Continue(None) => self.leave_loop(Leave::Continue, span),
            JavaStmtKind::Break(Some(label)) => self.leave_label(Leave::Break, label, span),
            JavaStmtKind::Continue(Some(label)) => self.leave_label(Leave::Continue, label, span),
            JavaStmtKind::Return(value) => self.give_back(value.as_ref(), span),
            JavaStmtKind::Throw(value) => self.throw(value, span),
            JavaStmtKind::Assert(condition, message) => self.assertion(condition, message.as_ref(), span),
            JavaStmtKind::Synchronized(on, body) => self.synchronized(on, body, span),
            JavaStmtKind::Try { body, catches, finally } => self.try_statement(body, catches, finally.as_deref(), span),
            JavaStmtKind::Switch { on, cases } => self.switch(on, cases, span),
            JavaStmtKind::Construct { of_super, args } => self.explicit_constructor(*of_super, args, span),
            JavaStmtKind::Yield(value) => self.yield_value(value, span),
            JavaStmtKind::LocalClass(_) => self.unmodelled("a class in a body", span),
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
        if let (Some(said), Some((e, _))) = (self.frame.non_null.take(), &value) {
            let there = not(equal(e.clone(), null(said), said), said);
            self.check(ast::Checked::Null, there, span);
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
        let label = self.frame.next_label.take();
        self.frame.cleanups.push(Cleanup::Loop(Continue::Test(condition)));
        let mut inner = self.inner_block(|t| t.loop_body(label, body));
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
        let label = self.frame.next_label.take();
        let Some(array) = self.receiver(over) else { return };
        if array.is_list() {
            return self.for_each_of_list((ty, text, at), array, body, label, span);
        }
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
            t.loop_body(label, body);
            t.push_stmt(next.clone());
        });
        self.frame.cleanups.pop();
        self.frame.straight = straight;
        let condition = binary(Binary::Less, counter, length, span);
        self.push_stmt(while_loop(condition, inner, span));
    }

    /// The body of a loop; `continue` with the loop's label goes to its end.
    pub(super) fn loop_body(&mut self, label: Option<String>, body: &'a tree::JavaStmt) {
        let inner = self.inner_block(|t| t.stmt(body));
        let span = body.span;
        match label {
            Some(label) => self.push(ast::StmtKind::Labelled(label.into_boxed_str(), block(inner, span)), span),
            None if inner.is_empty() => {}
            None => self.push(ast::StmtKind::Block(block(inner, span)), span),
        }
    }

    fn labelled(&mut self, text: &'a str, body: &'a tree::JavaStmt, span: Span) {
        let (exit, next) = (self.fresh(text), self.fresh(text));
        let is_loop = matches!(
            body.kind,
            JavaStmtKind::While(..)
                | JavaStmtKind::DoWhile(..)
                | JavaStmtKind::For { .. }
                | JavaStmtKind::ForEach { .. }
        );
        self.frame.next_label = is_loop.then(|| next.clone());
        self.frame.cleanups.push(Cleanup::Label { name: text.to_owned(), exit: exit.clone(), next });
        let inner = self.inner_block(|t| t.stmt(body));
        self.frame.cleanups.pop();
        self.frame.next_label = None;
        self.push(ast::StmtKind::Labelled(exit.into_boxed_str(), block(inner, span)), span);
    }

    fn leave_label(&mut self, how: Leave, label: &str, span: Span) {
        let around =
            self.frame.cleanups.iter().rposition(|c| matches!(c, Cleanup::Label { name, .. } if name == label));
        let Some(around) = around else { return self.unmodelled("a jump to this label", span) };
        let Cleanup::Label { exit, next, .. } = self.frame.cleanups[around].clone() else { return };
        let is_loop = matches!(self.frame.cleanups.get(around + 1), Some(Cleanup::Loop(_)));
        match how {
            Leave::Break => {
                self.clean_up(around + 1);
                self.push(ast::StmtKind::Leave(exit.into_boxed_str()), span);
            }
            Leave::Continue if is_loop => {
                self.clean_up(around + 2);
                self.push(ast::StmtKind::Leave(next.into_boxed_str()), span);
            }
            Leave::Continue => self.unmodelled("a jump to this label", span),
        }
    }

    /// Does what leaving the innermost statements asks for, down to a depth; `finally` blocks run outside themselves.
    pub(super) fn clean_up(&mut self, down_to: usize) {
        let saved = self.frame.cleanups.clone();
        let held = self.frame.held.clone();
        for at in (down_to..saved.len()).rev() {
            self.frame.cleanups.truncate(at);
            match &saved[at] {
                Cleanup::Release { statements } => {
                    statements.iter().for_each(|s| self.push_stmt(s.clone()));
                    self.frame.held.pop();
                }
                Cleanup::Finally(body) => {
                    let body = *body;
                    self.scoped(|t| t.stmts(body));
                }
                Cleanup::Loop(_)
                | Cleanup::Switch(_)
                | Cleanup::Label { .. }
                | Cleanup::Yield { .. }
                | Cleanup::Try { .. } => {}
            }
        }
        self.frame.cleanups = saved;
        self.frame.held = held;
    }

    fn leave_loop(&mut self, how: Leave, span: Span) {
        let around = self.frame.cleanups.iter().rposition(|c| match c {
            Cleanup::Loop(_) => true,
            Cleanup::Switch(_) => how == Leave::Break,
            _ => false,
        });
        let Some(around) = around else { return self.unmodelled("a jump out of this", span) };
        let next = match self.frame.cleanups[around].clone() {
            Cleanup::Loop(next) => next,
            Cleanup::Switch(Some(exit)) => {
                self.clean_up(around + 1);
                return self.push(ast::StmtKind::Leave(exit.into_boxed_str()), span);
            }
            _ => return self.unmodelled("a `break` in the middle of a case", span),
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
        let nothing_thrown = (!self.frame.caught.is_empty()).then(|| int(0, span));
        self.push(ast::StmtKind::Return(value.into_iter().chain(nothing_thrown).collect()), span);
    }

    fn assertion(&mut self, condition: &'a tree::JavaExpr, message: Option<&'a tree::JavaExpr>, span: Span) {
        // An assertion that fails throws an error: what it says is evaluated only then.
        let _ = message;
        // That a handler may catch the error changes nothing: an assertion that fails is what is reported.
        let value = self.expr_as(condition, &Ty::Boolean);
        self.push(ast::StmtKind::Assert(value), span);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Leave {
    Break,
    Continue,
}

fn with_invariants(mut stmt: Stmt, written: Vec<Expr>) -> Stmt {
    if let ast::StmtKind::While { invariants, .. } = &mut stmt.kind {
        *invariants = written;
    }
    stmt
}
