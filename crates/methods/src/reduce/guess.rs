//! Formulas that may hold at a cut, guessed from the unit's own text: what is wrong among them is dropped later.
//!
//! In: a unit of the program without calls. Out: for a location, conjuncts over the shared store, the unit's variables and
//! `tid`; inside a run also over the store where it began; ranks for loops. Sources: written loop invariants, `requires`,
//! conditions of the code and their neighbours, locks that access predicates name, assigned constants, equalities
//! between a local and what was read into it, and one of these under the condition of another; what relies say since then.

use super::frames;
use super::setting::ReductionSetting;
use crate::infer::vocabulary::{FactSet, conditions_of};
use logic::{Op, Sort, SortKind, Symbol, Term, Terms};
use program::call_summaries::CodeUnit;
use program::{Code, LocId, Procedure, Program, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

/// So many formulas at a cut at most: the rest would cost more than it finds.
const MAX_FORMULAS_PER_CUT: usize = 260;
const MAX_CONDITIONS: usize = 14;

pub(crate) struct Guesses {
    /// Facts of the unit that may hold anywhere.
    anywhere: Vec<Term>,
    /// Over the store where a run began, too.
    within: Vec<(VarId, Vec<Term>)>,
    shared: Vec<VarId>,
    ints: Vec<Term>,
    /// The unit's own variables and `tid`.
    own: FxHashSet<Symbol>,
    /// Variables of which `old` is said, with what remembers it.
    olds: Vec<(VarId, Symbol)>,
}

impl Guesses {
    pub(super) fn new(s: &ReductionSetting<'_>, unit: CodeUnit, shared: &[VarId]) -> Self {
        let (p, t) = (s.p, s.terms);
        let code = s.basis.code(unit);
        let locals = s.basis.locals(unit);
        let own: FxHashSet<Symbol> = locals.iter().map(|v| p.vars[*v].symbol).chain([p.tid]).collect();
        let constants: FxHashSet<Symbol> =
            program::access::constants(p).into_iter().map(|v| p.vars[v].symbol).collect();
        let is_own = |f: Term| t.free_symbols(f).iter().all(|x| own.contains(x) || constants.contains(x));
        let names: FxHashSet<Symbol> = shared.iter().map(|v| p.vars[*v].symbol).collect();
        let known = |f: Term| t.free_symbols(f).iter().all(|x| own.contains(x) || names.contains(x));
        let mut list = FactSet::default();
        let mut olds = Vec::new();
        if let CodeUnit::Procedure(q) = unit {
            olds = p.procedures[q].olds.iter().map(|(v, copy)| (*v, p.vars[*copy].symbol)).collect();
            for f in p.procedures[q].ensures.iter().filter_map(|f| f.formula) {
                t.conjuncts(f).into_iter().filter(|c| known(*c)).for_each(|c| list.add(c));
            }
            entry_values(p, t, &p.procedures[q], &mut list);
            for f in p.procedures[q].requires.iter().filter_map(|f| f.formula) {
                t.conjuncts(f).into_iter().for_each(|c| list.add(c));
            }
        }
        let copied = s.basis.unit(unit).map(|u| u.copied.clone()).unwrap_or_default();
        for (a, b) in copied {
            list.add(t.eq(t.sym(p.vars[a].symbol), t.sym(p.vars[b].symbol)));
        }
        let mut atoms = FactSet::default();
        code.actions.iter().flat_map(conditions_of).for_each(|f| atoms.add_conditions(t, f));
        if s.hiding.is_owner(unit) {
            let monitors = s.hiding.monitors_of(unit);
            let free = monitors.iter().map(|l| t.ne(t.sym(p.vars[*l].symbol), t.sym(p.tid)));
            free.for_each(|f| list.add(f));
        }
        let locks = locks(s, code, &known);
        locks.iter().for_each(|f| list.add(*f));
        let ints: Vec<Term> = locals
            .iter()
            .filter(|v| t.kind(p.vars[**v].sort) == SortKind::Int)
            .map(|v| t.sym(p.vars[*v].symbol))
            .collect();
        assigned(p, t, code, &locals, &known, &mut list);
        relied(s, code, &locals, &known, &mut list);
        for f in atoms.all.iter().copied().filter(|f| known(*f)) {
            list.add_neighbours(t, f);
            bounds(t, f, &mut list);
        }
        let conditions: Vec<Term> =
            atoms.all.iter().copied().filter(|f| is_own(*f)).take(MAX_CONDITIONS).flat_map(|f| [f, t.not(f)]).collect();
        let flags = locals.iter().filter(|v| p.vars[**v].sort == Sort::BOOL).map(|v| t.sym(p.vars[*v].symbol));
        let conditions: Vec<Term> = flags.flat_map(|f| [f, t.not(f)]).chain(conditions).collect();
        for c in &conditions {
            for f in &locks {
                list.add(t.implies(*c, *f));
            }
        }
        let within = shared
            .iter()
            .map(|v| {
                let sort = p.vars[*v].sort;
                let steps = if t.kind(sort) == SortKind::Int { ints.clone() } else { Vec::new() };
                (*v, steps)
            })
            .collect();
        Self { anywhere: list.all, within, shared: shared.to_vec(), ints, own, olds }
    }

    /// `before`: inside a run, the symbols for the store where it began.
    pub(super) fn at(
        &self,
        s: &ReductionSetting<'_>,
        code: &Code,
        at: LocId,
        before: Option<&Vec<Symbol>>,
        stops: &dyn Fn(LocId) -> bool,
    ) -> Vec<Term> {
        let (p, t) = (s.p, s.terms);
        let mut list = FactSet::default();
        let begin: Vec<(VarId, Symbol)> = match before {
            Some(before) => self.shared.iter().copied().zip(before.iter().copied()).collect(),
            None => Vec::new(),
        };
        frames::run_facts(s, code, &begin, &self.own).into_iter().for_each(|f| list.add(f));
        for begin in [begin, self.olds.clone()] {
            frames::loop_facts(s, code, at, stops, &begin, &self.own).into_iter().for_each(|f| list.add(f));
        }
        for f in code.locations[at].invariants.iter().flatten() {
            t.conjuncts(*f).into_iter().for_each(|c| list.add(c));
        }
        if let Some(before) = before {
            let begin: FxHashMap<VarId, Symbol> = self.shared.iter().copied().zip(before.iter().copied()).collect();
            for (v, steps) in &self.within {
                let (now, then) = (t.sym(p.vars[*v].symbol), t.sym(begin[v]));
                list.add(t.eq(now, then));
                for k in steps {
                    list.add(t.eq(now, t.add(then, *k)));
                    list.add(t.eq(now, t.sub(then, *k)));
                    list.add(t.eq(*k, then));
                }
            }
            // What was guessed about now may also have held at the begin.
            let back: Vec<(Symbol, Term)> = begin.iter().map(|(v, x)| (p.vars[*v].symbol, t.sym(*x))).collect();
            for f in self.anywhere.iter().take(MAX_FORMULAS_PER_CUT / 3) {
                list.add(t.substitute(*f, back.iter().copied()));
            }
            for v in self.shared.iter().filter(|v| p.vars[**v].kind == program::VarKind::Lock) {
                if p.vars[*v].sort == Sort::INT {
                    list.add(t.eq(t.sym(begin[v]), t.int(0)));
                }
            }
        }
        self.anywhere.iter().for_each(|f| list.add(*f));
        list.all.truncate(MAX_FORMULAS_PER_CUT);
        list.all
    }

    /// What may come down with every turn of the loop.
    pub(super) fn ranks(&self, s: &ReductionSetting<'_>, code: &Code, head: LocId) -> Vec<Term> {
        let t = s.terms;
        let mut list = FactSet::default();
        for a in code.actions.iter().filter(|a| a.from == head) {
            let mut atoms = FactSet::default();
            atoms.add_conditions(t, a.guard);
            for f in atoms.all {
                if let Some((Op::Lt | Op::Le, args)) = t.app(f) {
                    let number = |x: Term| t.cast(x, Sort::INT);
                    for (x, y) in [(number(args[0]), number(args[1])), (number(args[1]), number(args[0]))] {
                        list.add(t.sub(y, x));
                        list.add(t.add(t.sub(y, x), t.int(1)));
                        let none = t.le(y, x);
                        list.add(t.ite(none, t.int(0), t.sub(y, x)));
                    }
                }
            }
        }
        self.ints.iter().for_each(|x| list.add(*x));
        list.all
    }
}

/// `lock == tid` for the locks that access predicates name, at the keys the code uses.
fn locks(s: &ReductionSetting<'_>, code: &Code, known: &dyn Fn(Term) -> bool) -> Vec<Term> {
    let (p, t) = (s.p, s.terms);
    let tid = t.sym(p.tid);
    let mut out = FactSet::default();
    // Only what the unit touches: in a large file most locks are somebody else's.
    let touched: FxHashSet<VarId> =
        code.actions.iter().flat_map(|a| s.touches.of(a)).map(|touch| touch.place.var).collect();
    for v in p.shared().filter(|v| touched.contains(v)) {
        let Some(access) = &p.vars[v].access else { continue };
        let Some(formula) = access.formula else { continue };
        let mut atoms = FactSet::default();
        atoms.add_conditions(t, formula);
        let holds: Vec<Term> = atoms
            .all
            .into_iter()
            .filter(|f| matches!(t.app(*f), Some((Op::Eq, args)) if args.contains(&tid)))
            .collect();
        if access.binders.is_empty() {
            holds.iter().filter(|f| known(**f)).for_each(|f| out.add(*f));
            continue;
        }
        for action in code.actions.iter() {
            for touch in s.touches.of(action).into_iter().filter(|x| x.place.var == v) {
                if touch.place.keys.len() < access.binders.len() || touch.place.keys.iter().any(|k| !known(*k)) {
                    continue;
                }
                let at: Vec<(Symbol, Term)> =
                    access.binders.iter().copied().zip(touch.place.keys.iter().copied()).collect();
                for f in &holds {
                    let f = t.substitute(*f, at.iter().copied());
                    if known(f) {
                        out.add(f);
                    }
                }
            }
        }
    }
    out.all.truncate(24);
    out.all
}

/// Locals that were set to a constant, or to something that can still be named.
fn assigned(p: &Program, t: &Terms, code: &Code, locals: &[VarId], known: &dyn Fn(Term) -> bool, out: &mut FactSet) {
    for u in code.actions.iter().flat_map(|a| &a.updates) {
        if !locals.contains(&u.var) || !known(u.value) {
            continue;
        }
        let var = t.sym(p.vars[u.var].symbol);
        if p.vars[u.var].sort == Sort::BOOL {
            out.add(var);
            out.add(t.not(var));
        }
        if !t.free_symbols(u.value).contains(&p.vars[u.var].symbol) {
            out.add(t.eq(var, u.value));
        }
        if p.vars[u.var].sort == Sort::INT {
            if t.free_symbols(u.value).is_empty() {
                out.add(t.le(u.value, var));
                out.add(t.le(var, u.value));
            }
            // `j := j + 1` after `j := x`.
            if let Some((Op::Add | Op::Sub, args)) = t.app(u.value)
                && args[0] == var
            {
                let earlier =
                    code.actions.iter().flat_map(|a| &a.updates).filter(|e| e.var == u.var && e.value != u.value);
                for e in earlier.filter(|e| known(e.value) && !t.free_symbols(e.value).contains(&p.vars[u.var].symbol))
                {
                    out.add(t.eq(var, t.substitute(u.value, [(p.vars[u.var].symbol, e.value)])));
                }
            }
        }
    }
}

/// What a rely says of the time since a local was read: the store then was as now, but what was read had the local's value.
fn relied(s: &ReductionSetting<'_>, code: &Code, locals: &[VarId], known: &dyn Fn(Term) -> bool, out: &mut FactSet) {
    let (p, t) = (s.p, s.terms);
    if t.is_true(s.rely) {
        return;
    }
    let now: Vec<(Symbol, Term)> = p.shared().map(|v| (p.vars[v].primed, t.sym(p.vars[v].symbol))).collect();
    let parts = t.conjuncts(s.rely);
    for part in &parts {
        // Conditions under which something stays.
        let mut atoms = FactSet::default();
        atoms.add_conditions(t, t.substitute(*part, now.iter().copied()));
        atoms.all.into_iter().filter(|f| known(*f)).for_each(|f| out.add(f));
    }
    for u in code.actions.iter().flat_map(|a| &a.updates).filter(|u| locals.contains(&u.var)) {
        let (mut base, mut keys) = (u.value, Vec::new());
        while let Some((Op::Select, args)) = t.app(base) {
            keys.push(args[1]);
            base = args[0];
        }
        keys.reverse();
        let Some(read) = t.as_symbol(base).and_then(|x| p.shared().find(|v| p.vars[*v].symbol == x)) else { continue };
        let then = stored(t, base, &keys, t.sym(p.vars[u.var].symbol));
        let read = p.vars[read].symbol;
        for part in parts.iter().filter(|f| t.free_symbols(**f).contains(&read)) {
            // At once: the value then may speak of the variable now.
            let both = now.iter().copied().chain([(read, then)]);
            let fact = t.substitute(*part, both);
            if known(fact) {
                out.add(fact);
            }
        }
    }
}

/// The map with another value at these keys.
fn stored(t: &Terms, map: Term, keys: &[Term], value: Term) -> Term {
    match keys {
        [] => value,
        [key, rest @ ..] => t.store(map, *key, stored(t, t.select(map, *key), rest, value)),
    }
}

/// Of a comparison of machine integers: what holds next to it.
fn bounds(t: &Terms, f: Term, out: &mut FactSet) {
    if let Some((Op::Lt | Op::Le, args)) = t.app(f)
        && matches!(t.kind(t.sort_of(args[0])), SortKind::Machine(_))
    {
        out.add(t.le(args[0], args[1]));
        out.add(t.le(args[1], args[0]));
        for x in [args[0], args[1]] {
            out.add(t.le(t.num(0, t.sort_of(x)), x));
        }
    }
}

/// Entries of maps of which `old` is said are as they were: others may change the rest of the map.
fn entry_values(p: &Program, t: &Terms, q: &Procedure, out: &mut FactSet) {
    let mut todo: Vec<Term> = q.ensures.iter().filter_map(|f| f.formula).collect();
    todo.extend(q.code.locations.iter().flat_map(|l| l.invariants.iter().flatten().copied()));
    let mut seen = FxHashSet::default();
    while let Some(f) = todo.pop() {
        let Some((op, args)) = t.app(f).filter(|_| seen.insert(f)) else { continue };
        todo.extend(args.iter());
        if op != Op::Select {
            continue;
        }
        let (mut base, mut keys) = (f, Vec::new());
        while let Some((Op::Select, args)) = t.app(base) {
            keys.push(args[1]);
            base = args[0];
        }
        for (v, copy) in &q.olds {
            if t.as_symbol(base) == Some(p.vars[*copy].symbol) {
                let now = keys.iter().rev().fold(t.sym(p.vars[*v].symbol), |m, k| t.select(m, *k));
                out.add(t.eq(now, f));
            }
        }
    }
}
