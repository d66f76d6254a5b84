//! `switch`: cases that end, and cases that go on to the next one (JLS 14.11).
//!
//! In: the value and the cases. Out: a choice between the cases, where each ends by itself; else blocks inside each other, such that the code of a case stands
//! behind the block that its label leaves, and control goes on from case to case as in the text.
//! Deliberately absent: `switch` as a value, patterns.

use super::Translation;
use super::body::Cleanup;
use super::body::Val;
use super::build::*;
use super::place::{as_value, name_of};
use super::types::{Ty, Width};
use crate::java::tree::{self, JavaExprKind, JavaStmtKind, SwitchCase};
use crate::lang::ast::{self, Checked, Expr, Spanned, Stmt};
use base::Span;

impl<'a> Translation<'a> {
    pub(super) fn switch(&mut self, on: &'a tree::JavaExpr, cases: &'a [SwitchCase], span: Span) {
        let value = self.expr(on);
        let ty = match &value.ty {
            Ty::Int(_) | Ty::Enum(_) | Ty::Text => value.ty.clone(),
            Ty::Boxed(inner) => (**inner).clone(),
            Ty::Unknown => return,
            _ => return self.unmodelled("a `switch` on such a value", on.span),
        };
        if let Ty::Enum(_) | Ty::Text = ty {
            let there = not(equal(value.expr.clone(), int(0, on.span), on.span), on.span);
            self.check(Checked::Null, there, on.span);
        }
        if ty == Ty::Text {
            self.known_text(&value.expr, on.span);
        }
        let number = self.convert(value, &ty, on.span);
        let value = self.bind("switch", &ty, as_value(number), on.span);
        let mut tests: Vec<Option<Expr>> = Vec::new();
        for case in cases {
            let mut labels = Vec::new();
            for label in &case.labels {
                match self.label_number(label, &ty) {
                    Some(n) => labels.push(equal(value.clone(), int(n, label.span), label.span)),
                    None => return self.unmodelled("a case that is no constant", label.span),
                }
            }
            tests.push(match labels.len() {
                0 => None,
                1 => labels.pop(),
                _ => Some(or(labels, case.span)),
            });
        }
        let last = cases.len().saturating_sub(1);
        let simple = cases.iter().enumerate().all(|(at, case)| {
            let (inner, ends) = case_body(&case.body);
            (ends || case.is_rule || at == last || case.body.is_empty()) && !breaks_inside(inner)
        });
        if simple {
            self.separate_cases(cases, tests, span);
        } else {
            self.flowing_cases(cases, tests, span);
        }
    }

    /// A `switch` as a value (JLS 15.28): each case yields.
    pub(super) fn switch_value(&mut self, stmt: &'a tree::JavaStmt, wanted: Option<&Ty>) -> Val {
        let span = stmt.span;
        let JavaStmtKind::Switch { cases, .. } = &stmt.kind else { return self.unknown("this `switch`", span) };
        let ty = match wanted.filter(|w| !matches!(w, Ty::Unknown | Ty::Void)) {
            Some(ty) => ty.clone(),
            None => self.yielded_type(cases),
        };
        if matches!(ty, Ty::Unknown | Ty::Null | Ty::Void) {
            return self.unknown("the type of this `switch`", span);
        }
        let result = self.open_temp("yielded", &ty, span);
        let exit = self.fresh("switch");
        self.frame.cleanups.push(Cleanup::Yield { exit: exit.clone(), result: result.clone(), ty: ty.clone() });
        let inner = self.branch(|t| t.stmt(stmt));
        self.frame.cleanups.pop();
        self.push(ast::StmtKind::Labelled(exit.into_boxed_str(), block(inner, span)), span);
        Val::new(result, ty)
    }

    /// The type that fits all values that are yielded; steps of finding it are thrown away.
    fn yielded_type(&mut self, cases: &'a [SwitchCase]) -> Ty {
        let mut values: Vec<&'a tree::JavaExpr> = Vec::new();
        for case in cases {
            tree::statements(&case.body, &mut |s| {
                if let JavaStmtKind::Yield(e) = &s.kind {
                    values.push(e);
                }
            });
        }
        let mut all: Option<Ty> = None;
        for value in values {
            let mut ty = Ty::Unknown;
            self.frame.scopes.push(Vec::new());
            self.collect(|t| ty = t.expr(value).ty);
            self.frame.scopes.pop();
            all = Some(match (all, ty) {
                (None | Some(Ty::Null), ty) => ty,
                (Some(all), Ty::Null) => all,
                (Some(all), ty) if all == ty => all,
                (Some(Ty::Int(a)), Ty::Int(b)) => {
                    Ty::Int(if a.bits() > 32 || b.bits() > 32 { Width::Long } else { Width::Int })
                }
                _ => return Ty::Unknown,
            });
        }
        all.unwrap_or(Ty::Unknown)
    }

    pub(super) fn yield_value(&mut self, value: &'a tree::JavaExpr, span: Span) {
        let around = self.frame.cleanups.iter().rposition(|c| matches!(c, Cleanup::Yield { .. }));
        let Some(around) = around else { return self.unmodelled("a `yield` here", span) };
        let Cleanup::Yield { exit, result, ty } = self.frame.cleanups[around].clone() else { return };
        let value = self.expr_as(value, &ty);
        self.push_stmt(assign(result, value, span));
        self.clean_up(around + 1);
        self.push(ast::StmtKind::Leave(exit.into_boxed_str()), span);
    }

    /// The number that a label stands for.
    fn label_number(&mut self, label: &'a tree::JavaExpr, ty: &Ty) -> Option<i128> {
        match ty {
            Ty::Enum(name) => {
                let class = self.classes.get(name)?;
                let text = name_of(label);
                let text = text.rsplit('.').next()?;
                class.constants.iter().position(|(n, _)| *n == text).map(|i| i as i128 + 1)
            }
            Ty::Text => match &label.kind {
                JavaExprKind::Text(text) => {
                    let next = self.strings.len() as i128 + 1;
                    Some(*self.strings.entry(text.clone()).or_insert(next))
                }
                _ => None,
            },
            _ => self.constant(label, ty),
        }
    }

    /// Every case ends by itself: one choice.
    fn separate_cases(&mut self, cases: &'a [SwitchCase], tests: Vec<Option<Expr>>, span: Span) {
        let mut tested = Vec::new();
        let mut otherwise = None;
        // Labels of empty cases belong to the next one that has a body.
        let mut labels: Vec<Expr> = Vec::new();
        let mut is_default = false;
        for (at, (case, test)) in cases.iter().zip(tests).enumerate() {
            labels.extend(test);
            is_default |= case.is_default;
            if case.body.is_empty() && !case.is_rule && at + 1 < cases.len() {
                continue;
            }
            let (inner, _) = case_body(&case.body);
            self.frame.cleanups.push(Cleanup::Switch(None));
            let body = self.branch(|t| t.stmts(inner));
            self.frame.cleanups.pop();
            let condition = match labels.len() {
                1 => labels.pop(),
                0 => None,
                _ => Some(or(std::mem::take(&mut labels), case.span)),
            };
            labels.clear();
            // The default is taken where no other case fits, wherever it stands; a label beside it adds nothing.
            match condition.filter(|_| !is_default) {
                Some(condition) => {
                    let span = condition.span;
                    tested.push(ast::Arm { condition: ast::Condition::Expr(condition), body: block(body, span) });
                }
                None => otherwise = Some(body),
            }
            is_default = false;
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

    /// Some case goes on to the next one, or is left in its middle.
    fn flowing_cases(&mut self, cases: &'a [SwitchCase], tests: Vec<Option<Expr>>, span: Span) {
        let exit = self.fresh("switch");
        let names: Vec<String> = cases.iter().map(|_| self.fresh("case")).collect();
        let leave = |to: &str, span: Span| Spanned::new(ast::StmtKind::Leave(to.into()), span);
        let mut inner: Vec<Stmt> = Vec::new();
        for ((case, test), to) in cases.iter().zip(tests).zip(&names) {
            if let Some(test) = test {
                inner.push(if_else(test, vec![leave(to, case.span)], None, case.span));
            }
        }
        let default = cases.iter().position(|c| c.is_default);
        inner.push(leave(default.map_or(&exit, |at| &names[at]), span));
        self.frame.cleanups.push(Cleanup::Switch(Some(exit.clone())));
        for (case, to) in cases.iter().zip(&names) {
            let mut next = vec![Spanned::new(ast::StmtKind::Labelled(to.as_str().into(), block(inner, span)), span)];
            let body = self.branch(|t| t.stmts(&case.body));
            next.push(Spanned::new(ast::StmtKind::Block(block(body, case.span)), case.span));
            if case.is_rule {
                next.push(leave(&exit, case.span));
            }
            inner = next;
        }
        self.frame.cleanups.pop();
        self.push(ast::StmtKind::Labelled(exit.into_boxed_str(), block(inner, span)), span);
    }
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
            JavaStmtKind::Return(_) | JavaStmtKind::Throw(_) | JavaStmtKind::Yield(_) | JavaStmtKind::Continue(_) => {
                (body, true)
            }
            _ => (body, false),
        },
        None => (body, false),
    }
}

/// Whether a `break` among these statements leaves the `switch` around them.
fn breaks_inside(stmts: &[tree::JavaStmt]) -> bool {
    stmts.iter().any(|s| match &s.kind {
        JavaStmtKind::Break(None) => true,
        JavaStmtKind::Several(inner) | JavaStmtKind::Block(inner) | JavaStmtKind::Synchronized(_, inner) => {
            breaks_inside(inner)
        }
        JavaStmtKind::If(_, yes, no) => {
            breaks_inside(std::slice::from_ref(yes))
                || no.as_ref().is_some_and(|n| breaks_inside(std::slice::from_ref(n)))
        }
        JavaStmtKind::Labeled(_, body) => breaks_inside(std::slice::from_ref(body)),
        JavaStmtKind::Try { body, catches, finally } => {
            breaks_inside(body)
                || catches.iter().any(|c| breaks_inside(&c.body))
                || finally.as_ref().is_some_and(|f| breaks_inside(f))
        }
        _ => false,
    })
}
