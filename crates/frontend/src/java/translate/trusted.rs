//! Methods whose specification is taken for granted: `nowarn` at their head, or no body at all.
//!
//! In: a method with `performs`, and the lines at which checks are off. Out: a body that is the specification, so that it holds; the verdict says that it was not checked.
//! Deliberately absent: methods that only have `requires` and `ensures`.

use super::build::*;
use super::types::Ty;
use super::{JavaClass, JavaMethod, Translation};
use crate::lang::ast::{self, Clause, ClauseKind, Performs, PerformsKind, Spanned, Stmt, StmtKind};
use base::Span;

/// What related checkers call the check that a method meets its specification.
const NAMES: &[&str] = &["all", "Post", "Modifies", "Performs", "Action", "Atomic", "Commit", "Reduction", "Spec"];

impl<'a> Translation<'a> {
    /// What a method performs, where nobody is to check it.
    pub(super) fn taken_for_granted(
        &mut self,
        class: &'a JavaClass,
        method: &'a JavaMethod,
        clauses: &[Clause],
    ) -> Option<Performs> {
        let performs = clauses.iter().find_map(|c| match &c.kind {
            ClauseKind::Performs(p) => Some(p.clone()),
            _ => None,
        })?;
        let line = self.unit.line(method.name_span.file, method.name_span.start);
        let off = self.notes.off.get(&line).is_some_and(|names| names.iter().any(|n| NAMES.contains(&&n[..])));
        if !off && method.body.is_some() {
            return None;
        }
        let text = format!("`{}.{}` performs what it says: its body is not looked at", class.name, method.name);
        self.assumed.insert(("java-nowarn", text));
        Some(performs)
    }

    /// A body that is a specification: any result, then its steps.
    pub(super) fn body_of_specification(&mut self, performs: &Performs, result: &Ty, span: Span) {
        if *result != Ty::Void {
            self.push(StmtKind::Havoc(vec![var("result", span)]), span);
        }
        specified(performs).into_iter().for_each(|s| self.push_stmt(s));
        let values = if *result == Ty::Void { Vec::new() } else { vec![var("result", span)] };
        self.push(StmtKind::Return(values), span);
    }
}

fn specified(performs: &Performs) -> Vec<Stmt> {
    let span = performs.span;
    let stmt = |kind| Spanned::new(kind, span);
    match &performs.kind {
        PerformsKind::Action(action) => {
            vec![stmt(StmtKind::Step(ast::ActionDecl { label: None, ..(**action).clone() }))]
        }
        PerformsKind::Error => Vec::new(),
        PerformsKind::Then(parts) => parts.iter().flat_map(specified).collect(),
        PerformsKind::Or(parts) => {
            vec![stmt(StmtKind::Choose(parts.iter().map(|p| block(specified(p), span)).collect()))]
        }
        PerformsKind::Repeat(inner) => {
            let condition = ast::Condition::Any(ast::SourceSpan(span));
            let body = block(specified(inner), span);
            vec![stmt(StmtKind::While { condition, invariants: Vec::new(), body })]
        }
    }
}
