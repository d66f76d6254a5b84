//! Which private variables callers do not see: the variables that a specification hides.
//!
//! In: a program some of whose shared variables are marked private. Out: those of them that calls may be seen without, with the procedures that name
//! them (their *owners*); and why the others are seen all the same. A variable is hidden if every step that names it is inside a call of an owner, and an owner says what
//! it performs without it: then each call is, without the variable, what it performs (decision 112).
//! Deliberately absent: proofs; what they may use of hidden variables is rule `reduction`.

use crate::code::Code;
use crate::model::{Program, Scope, VarId, VarKind};
use crate::spec::{Performs, ProcId, Procedure, TwoStore};
use logic::{Symbol, Term};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};

/// What callers do not see.
#[derive(Clone, Debug, Default)]
pub struct Hidden {
    pub vars: BTreeSet<VarId>,
    /// The procedures whose code names hidden variables; each is used by specification wherever it is called.
    pub owners: BTreeSet<ProcId>,
    /// Which of them each owner names.
    pub named: BTreeMap<ProcId, BTreeSet<VarId>>,
    /// Variables that are marked private and not hidden, with the reason.
    pub seen: BTreeMap<VarId, String>,
}

impl Hidden {
    /// Without the variables that something speaks of, one after the other.
    pub fn of(program: &Program) -> Self {
        let marked = program.shared().filter(|v| program.vars[*v].private).collect();
        let mut out = Self { vars: marked, ..Self::default() };
        if out.vars.is_empty() {
            return out;
        }
        let naming = Naming::new(program);
        while let Some((v, why)) = naming.visible(&out.vars) {
            out.vars.remove(&v);
            out.seen.insert(v, why);
        }
        out.owners = naming.owners(&out.vars);
        let of = |q: &ProcId| naming.owned(*q).into_iter().filter(|v| out.vars.contains(v)).collect();
        out.named = out.owners.iter().map(|q| (*q, of(q))).collect();
        out
    }

    pub fn is_empty(&self) -> bool {
        self.vars.is_empty()
    }
}

/// Who names what.
struct Naming<'p> {
    p: &'p Program,
    by_symbol: FxHashMap<Symbol, VarId>,
    /// Of each procedure's own code.
    direct: Vec<FxHashSet<VarId>>,
}

impl<'p> Naming<'p> {
    fn new(p: &'p Program) -> Self {
        let by_symbol =
            p.shared().flat_map(|v| [(p.vars[v].symbol, v), (p.vars[v].primed, v)]).collect::<FxHashMap<_, _>>();
        let mut out = Self { p, by_symbol, direct: Vec::new() };
        out.direct = p.procedures.iter().map(|q| out.in_code(&q.code)).collect();
        out
    }

    fn in_term(&self, t: Term) -> impl Iterator<Item = VarId> + '_ {
        self.p.terms.free_symbols(t).into_iter().filter_map(|s| self.by_symbol.get(&s).copied())
    }

    fn in_code(&self, code: &Code) -> FxHashSet<VarId> {
        named_in(self.p, code, &self.by_symbol)
    }

    fn in_relation(&self, x: &TwoStore) -> Vec<VarId> {
        let keys = x.frame.iter().flat_map(|f| f.keys.iter().copied());
        let named = keys.chain([x.relation]).flat_map(|t| self.in_term(t));
        x.frame.iter().map(|f| f.var).chain(named).collect()
    }

    fn in_contract(&self, q: &Procedure) -> Vec<VarId> {
        let facts = q.requires.iter().chain(&q.ensures).filter_map(|f| f.formula);
        let mut out: Vec<VarId> = facts.flat_map(|f| self.in_term(f)).collect();
        let actions = q.performs.iter().flat_map(|(s, _): &(Performs, _)| s.actions());
        out.extend(actions.flat_map(|(_, a)| self.in_relation(a)));
        out
    }

    /// The procedures whose code is part of a piece of code where calls by specification are kept, and those that are so called.
    fn parts(&self, code: &Code) -> (BTreeSet<ProcId>, BTreeSet<ProcId>) {
        let (mut inlined, mut called) = (BTreeSet::new(), BTreeSet::new());
        let mut todo: Vec<ProcId> = code.calls.iter().map(|c| c.procedure).collect();
        while let Some(q) = todo.pop() {
            if self.p.procedures[q].usable() {
                called.insert(q);
            } else if inlined.insert(q) {
                todo.extend(self.p.procedures[q].code.calls.iter().map(|c| c.procedure));
            }
        }
        (inlined, called)
    }

    /// What code and all that it calls names, however it is called.
    fn reached(&self, from: ProcId) -> FxHashSet<VarId> {
        let (mut out, mut seen, mut todo) = (FxHashSet::default(), BTreeSet::new(), vec![from]);
        while let Some(q) = todo.pop() {
            if seen.insert(q) {
                out.extend(self.direct[q.index()].iter().copied());
                todo.extend(self.p.procedures[q].code.calls.iter().map(|c| c.procedure));
            }
        }
        out
    }

    fn owned(&self, q: ProcId) -> FxHashSet<VarId> {
        let (inlined, _) = self.parts(&self.p.procedures[q].code);
        let all = inlined.into_iter().chain([q]);
        all.flat_map(|x| self.direct[x.index()].iter().copied()).collect()
    }

    fn owners(&self, hidden: &BTreeSet<VarId>) -> BTreeSet<ProcId> {
        let usable = self.p.procedures.iter_enumerated().filter(|(_, q)| q.usable()).map(|(id, _)| id);
        usable.filter(|q| self.owned(*q).iter().any(|v| hidden.contains(v))).collect()
    }

    /// A variable that is not hidden, and why; none: all of them are.
    fn visible(&self, hidden: &BTreeSet<VarId>) -> Option<(VarId, String)> {
        let p = self.p;
        let first = *hidden.first()?;
        if !p.machines.is_empty() || !p.objects.is_empty() {
            return Some((first, "the file has machines or objects".into()));
        }
        let hit = |named: Vec<VarId>| named.into_iter().filter(|v| hidden.contains(v)).min();
        for v in hidden {
            if !matches!(p.vars[*v].kind, VarKind::Plain | VarKind::Lock) || p.vars[*v].scope != Scope::Shared {
                return Some((*v, "it is part of the heap".into()));
            }
        }
        for q in p.procedures.iter() {
            if let Some(v) = hit(self.in_contract(q)) {
                return Some((v, format!("the specification of {} names it", q.name)));
            }
        }
        for v in p.shared().filter(|v| !hidden.contains(v)) {
            let access = p.vars[v].access.iter().flat_map(|a| a.formula.into_iter().chain(a.writing));
            if let Some(x) = hit(access.flat_map(|f| self.in_term(f)).collect()) {
                return Some((x, format!("who may access `{}` depends on it", p.vars[v].name)));
            }
        }
        for t in p.threads.iter() {
            let code = t.outline.as_ref().unwrap_or(&t.code);
            let (inlined, _) = self.parts(code);
            let inside = inlined.iter().flat_map(|q| self.direct[q.index()].iter().copied());
            if let Some(v) = hit(self.in_code(code).into_iter().chain(inside).collect()) {
                return Some((v, format!("thread {} names it", t.name)));
            }
        }
        for (id, q) in p.procedures.iter_enumerated() {
            let specified = q.performs.is_some() || !q.requires.is_empty() || !q.ensures.is_empty();
            let anybody = !q.inline && (specified || p.threads.is_empty());
            if anybody
                && !q.usable()
                && let Some(v) = hit(self.owned(id).into_iter().collect())
            {
                return Some((v, format!("{} names it and does not say what it performs", q.name)));
            }
        }
        for q in self.owners(hidden) {
            let procedure = &p.procedures[q];
            let (_, called) = self.parts(&procedure.code);
            let inner = called.into_iter().find(|r| self.reached(*r).iter().any(|v| hidden.contains(v)));
            if let Some(r) = inner {
                let v = self.owned(q).into_iter().filter(|v| hidden.contains(v)).min()?;
                let other = &p.procedures[r].name;
                return Some((v, format!("{} names it and calls {other}, which names private ones", procedure.name)));
            }
        }
        None
    }
}

/// The shared variables that some code names in any way.
pub fn named_in_code(p: &Program, code: &Code) -> FxHashSet<VarId> {
    let by_symbol: FxHashMap<Symbol, VarId> =
        p.shared().flat_map(|v| [(p.vars[v].symbol, v), (p.vars[v].primed, v)]).collect();
    named_in(p, code, &by_symbol)
}

fn named_in(p: &Program, code: &Code, by_symbol: &FxHashMap<Symbol, VarId>) -> FxHashSet<VarId> {
    let mut terms: Vec<Term> = Vec::new();
    let mut out: FxHashSet<VarId> = FxHashSet::default();
    for l in code.locations.iter() {
        terms.extend(l.invariants.iter().flatten());
    }
    for a in code.actions.iter() {
        terms.push(a.guard);
        terms.extend(a.gates.iter().map(|g| g.formula));
        for u in &a.updates {
            out.insert(u.var);
            terms.push(u.value);
        }
        if let Some(s) = &a.spawn {
            terms.extend(s.args.iter());
            out.extend(s.into);
        }
        if let Some(x) = &a.relation {
            out.extend(x.frame.iter().map(|f| f.var));
            terms.extend(x.frame.iter().flat_map(|f| f.keys.iter()));
            terms.push(x.relation);
        }
        terms.extend(a.marks.iter().filter_map(|m| match m {
            crate::code::Mark::Linearize(f) => *f,
            crate::code::Mark::Witness(_) => None,
        }));
    }
    for c in &code.calls {
        terms.extend(c.args.iter());
        out.extend(c.results.iter());
    }
    out.retain(|v| p.vars[*v].scope == Scope::Shared);
    out.extend(terms.into_iter().flat_map(|t| p.terms.free_symbols(t)).filter_map(|s| by_symbol.get(&s).copied()));
    out
}
