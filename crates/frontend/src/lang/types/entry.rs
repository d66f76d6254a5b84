//! `old(e)`, the value at the entry of the procedure at hand, and `own(o)`, that the thread at hand made an object.
//!
//! In: such a call. Out: a term over locals of the procedure that remember what variables were at its entry (`Procedure::olds`),
//! made when they are first asked for; over the constant that says whose an object is. Deliberately absent: `old` of
//! what was no variable at the entry (locals, results), which is an error.

use super::Typing;
use crate::lang::ast::{CallExpr, Prime};
use crate::lang::codes;
use crate::lang::resolve::{Allowed, EnteredProcedure};
use base::{Diagnostic, Span};
use logic::{Sort, SortKind, Term};
use program::{Scope, VarId};

/// A word that looks like a call and belongs to specifications.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SpecificationWord {
    Old,
    Own,
}

impl Typing<'_> {
    /// A procedure of that name hides the word.
    pub(super) fn specification_word(&self, call: &CallExpr) -> Option<SpecificationWord> {
        let word = match &*call.name.kind {
            "old" => SpecificationWord::Old,
            "own" => SpecificationWord::Own,
            _ => return None,
        };
        (call.object.is_none() && !self.globals.procs.contains(&call.name.kind)).then_some(word)
    }

    pub(super) fn specification_call(
        &mut self,
        word: SpecificationWord,
        call: &CallExpr,
        wanted: Option<Sort>,
        span: Span,
    ) -> Option<Term> {
        let [arg] = &call.args[..] else {
            let message = format!("`{}` is said of one thing", call.name.kind);
            self.report(Diagnostic::error(codes::WRONG_COUNT, span, message).label("expected one argument"));
            return None;
        };
        if word == SpecificationWord::Own {
            let object = self.infer(arg, None)?;
            return self.own(object, arg.span);
        }
        if self.view.entered.is_none() || self.view.at_entry == Allowed::Yes {
            let diagnostic = Diagnostic::error(codes::OLD_HERE, span, "there is no entry that `old` could mean")
                .label("`old` has no meaning")
                .hint("`old` can be used in `ensures` and in the loop invariants and assertions of a procedure; in `performs` \
                       the plain name is the value before the action");
            self.report(diagnostic);
            return None;
        }
        let checks = std::mem::replace(&mut self.view.checks, Allowed::No);
        self.view.at_entry = Allowed::Yes;
        let term = self.infer(arg, wanted);
        self.view.at_entry = Allowed::No;
        self.view.checks = checks;
        term
    }

    /// Null, or an object that the thread at hand made.
    fn own(&mut self, object: Term, span: Span) -> Option<Term> {
        let terms = &self.program.terms;
        let owner = match terms.kind(terms.sort_of(object)) {
            SortKind::Ref(class) => self.owners.get(&class).copied().map(|owner| (class, owner)),
            _ => None,
        };
        let Some((class, owner)) = owner else {
            let found = self.sort_name(self.program.terms.sort_of(object));
            let message = format!("`own` is said of objects with `thread_local` fields, this is a {found}");
            let label = "expected an object with `thread_local` fields";
            self.report(Diagnostic::error(codes::WRONG_OPERAND, span, message).label(label));
            return None;
        };
        let mine = terms.eq(terms.select(self.program.now(owner), object), terms.sym(self.program.tid));
        // What was made is there: a new object is another one. In a predicate of fields it may just be made.
        let live = self.program.classes[class].live;
        let mine = match (self.view.this.is_some(), self.view.at_entry, self.view.primes) {
            (true, _, _) | (_, Allowed::Yes, _) => mine,
            (_, _, Allowed::Yes) => terms.and(&[mine, terms.member(object, self.program.next(live))]),
            _ => terms.and(&[mine, terms.member(object, self.program.now(live))]),
        };
        Some(terms.or(&[terms.eq(object, terms.null(class)), mine]))
    }

    /// What a variable was at the entry.
    pub(super) fn at_entry(&mut self, var: VarId, prime: Prime, span: Span) -> Option<Term> {
        let EnteredProcedure { procedure, copies } = self.view.entered.clone()?;
        let variable = self.program.vars[var].clone();
        if self.constants.contains(&var) {
            return Some(self.program.now(var));
        }
        let own = self.program.procedures[procedure].params.contains(&var);
        let of_copy = copies.iter().flatten().find(|(v, _)| *v == var);
        if let Some((_, copy)) = of_copy {
            return Some(self.program.now(*copy));
        }
        if prime == Prime::After || (variable.scope != Scope::Shared && !own) || copies.is_some() {
            let message = format!("`{}` had no value at the entry", variable.name);
            let hint = "`old` is said of shared variables and of parameters";
            self.report(Diagnostic::error(codes::OLD_HERE, span, message).label("not there yet").hint(hint));
            return None;
        }
        let known = self.program.procedures[procedure].olds.iter().find(|(v, _)| *v == var).map(|(_, c)| *c);
        let copy = known.unwrap_or_else(|| {
            let (name, sort, origin) = (format!("old {}", variable.name), variable.sort, variable.origin);
            let copy = self.fresh_var(&name, sort, Scope::Procedure(procedure), origin);
            self.program.procedures[procedure].olds.push((var, copy));
            copy
        });
        Some(self.program.now(copy))
    }
}
