//! Marked linearization points in a client program: the specification runs beside the clients, where the marks say.
//!
//! In: an object whose every operation has a mark, and its calls in a client program (`clients`). Out: the
//! specification's variables as shared variables of that program; at every step that passes a mark, the operation of the specification
//! in the same step; and what a call must find when it returns: that it has taken effect, with the results it returns.
//! An outcome that leaves the specification as it is may be passed again, and the last one counts; one that changes it may be passed once.
//! A run that fails this shows that the marks do not say where the operations take effect. Another choice of points may exist.
//! Deliberately absent: operations without a mark beside others that have one (refused).

use crate::code::{Action, Gate, Mark, Update};
use crate::model::{Program, Scope, ThreadId, VarId, VarKind};
use crate::property::PropertyId;
use crate::sequential::{OperationPath, paths};
use crate::spec::Object;
use logic::{Sort, Symbol, Term};

/// The specification's store in the client program.
pub(crate) struct SpecStore {
    store: Vec<VarId>,
    property: PropertyId,
}

/// One call: what it has done, and what its operation of the specification can do.
pub(crate) struct Marked<'a> {
    marks: &'a SpecStore,
    /// It has passed a mark.
    took: VarId,
    /// That changed the specification.
    changed: VarId,
    /// The results of the specification's operation.
    meant: Vec<VarId>,
    /// Whether the specification's operation said nothing of a result; for results where a path does so.
    open: Vec<Option<VarId>>,
    before: Vec<(Symbol, Term)>,
    runs: Vec<OperationPath>,
}

impl SpecStore {
    pub(crate) fn new(
        p: &mut Program,
        source: &Program,
        object: &Object,
        property: PropertyId,
    ) -> Result<Self, String> {
        let marked = |a: &Action| a.marks.iter().any(|m| matches!(m, Mark::Linearize(_)));
        if let Some(op) = object.ops.iter().find(|op| !op.code.actions.iter().any(marked)) {
            return Err(format!("operation {} has no mark", op.name));
        }
        let mut store = Vec::new();
        for v in &object.spec.vars {
            let var = &source.vars[*v];
            let initial = var.initial.ok_or("a variable of the specification has no initial value")?;
            store.push(p.add_var(&var.name, var.sort, Scope::Shared, VarKind::Plain, Some(initial), object.origin));
        }
        Ok(Self { store, property })
    }

    /// A call of an operation with these arguments by a thread of the client program.
    pub(crate) fn call(
        &self,
        p: &mut Program,
        (source, object): (&Program, &Object),
        (thread, operation): (ThreadId, usize),
        arguments: &[Term],
    ) -> Result<Marked<'_>, String> {
        let op = &object.ops[operation];
        let before: Vec<(Symbol, Term)> =
            object.spec.vars.iter().zip(&self.store).map(|(s, v)| (source.vars[*s].symbol, p.now(*v))).collect();
        let runs = paths(p, &object.spec.ops[operation], arguments, &before)?;
        let mut local = |name: String, sort: Sort| {
            let initial = p.terms.default_of(sort);
            p.add_var(&name, sort, Scope::Thread(thread), VarKind::Plain, Some(initial), op.origin)
        };
        let took = local(format!("{} took effect", op.name), Sort::BOOL);
        let changed = local(format!("{} changed", op.name), Sort::BOOL);
        let meant = op.results.iter().map(|r| {
            let v = &source.vars[*r];
            local(format!("{} meant", v.name), v.sort)
        });
        let meant = meant.collect();
        let open = (0..op.results.len()).map(|i| {
            let left = runs.iter().any(|run| !run.set[i]);
            left.then(|| local(format!("{} open", source.vars[op.results[i]].name), Sort::BOOL))
        });
        let open = open.collect();
        Ok(Marked { marks: self, took, changed, meant, open, before, runs })
    }
}

impl Marked<'_> {
    /// The variables made for the call.
    pub(crate) fn locals(&self) -> impl Iterator<Item = VarId> + '_ {
        let open = self.open.iter().flatten().copied();
        [self.took, self.changed].into_iter().chain(self.meant.iter().copied()).chain(open)
    }

    /// The copy `action` of an operation's step `original`: where it passes a mark, the specification's operation runs.
    pub(crate) fn pass(&self, p: &Program, original: &Action, again: impl Fn(Term) -> Term, action: &mut Action) {
        let t = &p.terms;
        let after: Vec<(Symbol, Term)> = action.updates.iter().map(|u| (p.vars[u.var].symbol, u.value)).collect();
        let mut fires = Vec::new();
        for mark in &original.marks {
            if let Mark::Linearize(when) = mark {
                fires.push(when.map_or(t.tt(), |f| t.substitute(again(f), after.iter().copied())));
            }
        }
        if fires.is_empty() {
            return;
        }
        let fires = t.or(&fires);
        let mut values: Vec<Term> = self.before.iter().map(|(_, now)| *now).collect();
        let mut meant: Vec<Term> = self.meant.iter().map(|v| p.now(*v)).collect();
        let mut open: Vec<Option<(VarId, Term)>> = self.open.iter().map(|o| o.map(|v| (v, p.now(v)))).collect();
        let (mut changed, mut possible) = (vec![p.now(self.changed)], Vec::new());
        for run in &self.runs {
            let taken = t.and(&[fires, run.condition]);
            let same: Vec<Term> = run.store.iter().zip(&self.before).map(|((_, a), (_, b))| t.eq(*a, *b)).collect();
            for (value, (_, next)) in values.iter_mut().zip(&run.store) {
                *value = t.ite(taken, *next, *value);
            }
            for (value, result) in meant.iter_mut().zip(&run.results) {
                *value = t.ite(taken, *result, *value);
            }
            for (value, set) in open.iter_mut().zip(&run.set) {
                *value = value.map(|(v, old)| (v, t.ite(taken, t.bool(!set), old)));
            }
            changed.push(t.and(&[taken, t.not(t.and(&same))]));
            possible.push(run.condition);
        }
        let once = t.and(&[t.not(p.now(self.changed)), t.or(&possible)]);
        action.gates.push(Gate { property: self.marks.property, formula: t.implies(fires, once) });
        let mut all: Vec<(VarId, Term)> = self.marks.store.iter().copied().zip(values).collect();
        all.extend(self.meant.iter().copied().zip(meant));
        all.extend(open.into_iter().flatten());
        all.push((self.took, t.or(&[p.now(self.took), fires])));
        all.push((self.changed, t.or(&changed)));
        action
            .updates
            .extend(all.into_iter().map(|(var, value)| Update { var, value }).filter(|u| u.value != p.now(u.var)));
    }

    /// What holds when the call returns these results, if the marks are right.
    pub(crate) fn explained(&self, p: &Program, returned: &[Term]) -> Term {
        let t = &p.terms;
        let same = returned.iter().zip(&self.meant).zip(&self.open).map(|((r, m), open)| {
            let same = t.eq(*r, p.now(*m));
            open.map_or(same, |o| t.or(&[p.now(o), same]))
        });
        let mut all: Vec<Term> = same.collect();
        all.push(p.now(self.took));
        p.terms.and(&all)
    }
}
