//! Rule `counting`: an inductive invariant over the shared store and the number of instances in each cell.
//!
//! Threads of one copy ("singles") keep their control; every other thread is counted. A cell is a location and a set of
//! local values; every instance of a counted thread is in some cell of its location, chosen when it gets there. In: the
//! cells, what each instance in a cell may rely on (`holds`), and for each combination of the unique threads' locations a
//! formula over the store and the counters (a combination that is not listed is claimed unreachable). Out: the obligations
//!   CT1  initially every counted instance is in a cell of its entry, whose `holds` is true, and the invariant holds for
//!        every number of instances the program allows;
//!   CT2  each action of a single, from each combination, keeps the invariant and passes its claimed gates;
//!   CT3  each action of an instance in a cell (of which there is then at least one) passes its claimed gates, leads
//!        into some cell of its target, and for every cell it may be put in keeps the invariant and makes `holds` true;
//!   CT4  `holds` of every cell is kept by each action of any other instance;
//!   CT5  the invariant implies each claimed invariant;
//!   CT6  what two instances in two cells may rely on of each other's locals (`pairwise`) is true initially, and made true by
//!        each action that puts an instance into one of the cells while a second one is in the other; no other instance can
//!        break it, because it speaks of the two instances' locals only;
//!   CT7  two cells listed as exclusive: what two instances in them rely on is contradictory, so there are no two: one of two
//!        different cells is empty (the other may hold many instances), and one cell that excludes itself holds at most one;
//!   CT8  each action satisfies each claimed rely, as every thread other than the mover sees it;
//!   CT9  an instance that an action starts begins in some cell of its entry, whose `holds` is then true; for every cell it
//!        may begin in the invariant is kept. Nothing is listed in `pairwise` for cells that instances begin in so.
//! That counters are not negative, and add up to the number of copies where that is fixed, is a fact of the semantics.
//! Steps inside atomic blocks are treated like any other.

use super::{claimable, written_rely, wrong_form};
use crate::obligation::{self, AllowedSymbols, Obligation, Premise, Renaming};
use crate::rejection::Rejection;
use crate::session::{CheckSession, Established};
use evidence::{Certificate, Counter, Counting, Proof};
use logic::{Sort, Symbol, Term, Terms};
use program::{Action, Copies, LocId, Program, PropertyId, PropertyKind, Start, ThreadId, VarId};
use std::collections::{BTreeMap, BTreeSet};

const CT1: Premise = Premise::new("counting", "CT1");
const CT2: Premise = Premise::new("counting", "CT2");
const CT3: Premise = Premise::new("counting", "CT3");
const CT4: Premise = Premise::new("counting", "CT4");
const CT5: Premise = Premise::new("counting", "CT5");
const CT6: Premise = Premise::new("counting", "CT6");
const CT7: Premise = Premise::new("counting", "CT7");
const CT8: Premise = Premise::new("counting", "CT8");
const CT9: Premise = Premise::new("counting", "CT9");

pub(crate) fn check_counting(session: &mut CheckSession<'_>, c: &Certificate) -> Result<Established, Rejection> {
    let Proof::Counting(proof) = &c.proof else { return Err(wrong_form()) };
    let list = obligations(session.program, &c.terms, proof, &c.properties)?;
    session.discharge(c, list)
}

pub fn obligations(
    program: &Program,
    terms: &Terms,
    proof: &Counting,
    claimed: &[PropertyId],
) -> Result<Vec<Obligation>, Rejection> {
    vet(program, terms, proof, claimed)?;
    let mut c = Counted {
        program,
        terms,
        proof,
        invariant: proof.invariant.iter().map(|(at, f)| (at.clone(), *f)).collect(),
        claimed,
        out: Vec::new(),
    };
    c.initial();
    c.exclusion();
    for combination in proof.invariant.iter().map(|(at, _)| at.clone()) {
        for k in 0..proof.unique_threads.len() {
            c.single_steps(&combination, k);
        }
        for s in 0..proof.counters.len() {
            c.cell_steps(&combination, s);
        }
    }
    for p in claimed {
        if let PropertyKind::Invariant(formula) = program.properties[*p].kind {
            for (at, inv) in &proof.invariant {
                let what = format!("{} follows at {}", program.properties[*p].name, c.describe_combination(at));
                c.out.push(Obligation::of(*p, CT5, what, terms.implies(terms.and(&[c.facts(), *inv]), formula)));
            }
        }
    }
    Ok(c.out)
}

/// Where an instance that is started may begin (none: nothing is started), what is known of it then, and what must be true.
struct StartedInstance {
    cell: Option<usize>,
    known: Term,
    holds: Term,
}

struct Counted<'a> {
    program: &'a Program,
    terms: &'a Terms,
    proof: &'a Counting,
    invariant: BTreeMap<Vec<LocId>, Term>,
    claimed: &'a [PropertyId],
    out: Vec<Obligation>,
}

impl Counted<'_> {
    /// What is true of counters and thread ids in every state.
    fn facts(&self) -> Term {
        let t = self.terms;
        let zero = t.int(0);
        let mut facts: Vec<Term> = self.proof.counters.iter().map(|c| t.le(zero, t.sym(c.symbol))).collect();
        for thread in self.counted() {
            let of = &self.program.threads[thread];
            if let (Start::Initial, Copies::Exactly(n)) = (of.start, of.copies) {
                let all = self.cells_of(thread).map(|c| t.sym(c.symbol)).reduce(|a, b| t.add(a, b));
                facts.push(t.eq(all.unwrap_or(zero), t.int(i128::from(n))));
            }
        }
        facts.extend(self.proof.exclusive.iter().map(|(a, b)| self.exclusion_of(*a, *b)));
        for (i, (_, tid)) in self.proof.unique_threads.iter().enumerate() {
            facts.push(t.lt(zero, t.sym(*tid)));
            facts.extend(self.proof.unique_threads[..i].iter().map(|(_, other)| t.ne(t.sym(*tid), t.sym(*other))));
        }
        t.and(&facts)
    }
    /// What CT7 shows of two cells: no two different instances are in them, so one of the two is empty (nothing is said of how many are
    /// in the other); in one cell there is at most one.
    fn exclusion_of(&self, a: usize, b: usize) -> Term {
        let t = self.terms;
        let (x, y) = (t.sym(self.proof.counters[a].symbol), t.sym(self.proof.counters[b].symbol));
        if a == b { t.le(x, t.int(1)) } else { t.or(&[t.eq(x, t.int(0)), t.eq(y, t.int(0))]) }
    }
    fn counted(&self) -> impl Iterator<Item = ThreadId> + '_ {
        self.program.threads.ids().filter(|t| is_counted(self.program, *t))
    }
    fn cells_of(&self, thread: ThreadId) -> impl Iterator<Item = &Counter> + '_ {
        self.proof.counters.iter().filter(move |c| c.thread == thread)
    }
    /// The cells of a location, by position.
    fn cells_at(&self, thread: ThreadId, at: LocId) -> Vec<usize> {
        let here = |c: &Counter| c.thread == thread && c.location == at;
        (0..self.proof.counters.len()).filter(|c| here(&self.proof.counters[*c])).collect()
    }
    /// A thread id that is positive and none of the unique threads'.
    fn is_counted_tid(&self, tid: Term) -> Term {
        let t = self.terms;
        let mut facts = vec![t.lt(t.int(0), tid)];
        facts.extend(self.proof.unique_threads.iter().map(|(_, s)| t.ne(tid, t.sym(*s))));
        t.and(&facts)
    }
    fn describe_combination(&self, at: &[LocId]) -> String {
        let parts: Vec<String> = self
            .proof
            .unique_threads
            .iter()
            .zip(at)
            .map(|((t, _), l)| format!("{} at {l}", self.program.threads[*t].name))
            .collect();
        if parts.is_empty() { "any store".into() } else { parts.join(", ") }
    }
    fn describe_cell(&self, c: &Counter) -> String {
        format!("{} at {} with {}", self.program.threads[c.thread].name, c.location, self.terms.show(c.cell))
    }

    fn initial(&mut self) {
        let (t, p) = (self.terms, self.program);
        let store = obligation::initial_store(p, t);
        let mut pre = vec![store, self.facts()];
        for (thread, tid) in &self.proof.unique_threads {
            let locals = obligation::initial_locals(p, t, *thread);
            pre.push(t.substitute(locals, [(p.tid, t.sym(*tid))]));
        }
        for c in &self.proof.counters {
            let thread = &p.threads[c.thread];
            if c.location != thread.code.entry || thread.start == Start::Spawned {
                pre.push(t.eq(t.sym(c.symbol), t.int(0)));
            }
        }
        let entries: Vec<LocId> = self.proof.unique_threads.iter().map(|(s, _)| p.threads[*s].code.entry).collect();
        let goal = self.invariant.get(&entries).copied().unwrap_or_else(|| t.ff());
        self.out.push(Obligation::common(CT1, "the invariant holds initially", t.implies(t.and(&pre), goal)));
        let at_once = |thread: &ThreadId| p.threads[*thread].start == Start::Initial;
        for thread in self.counted().filter(at_once).collect::<Vec<_>>() {
            let own = t.and(&[store, obligation::initial_locals(p, t, thread), t.lt(t.int(0), t.sym(p.tid))]);
            let cells = self.cells_at(thread, p.threads[thread].code.entry);
            let cells: Vec<&Counter> = cells.into_iter().map(|c| &self.proof.counters[c]).collect();
            let some = t.or(&cells.iter().map(|c| c.cell).collect::<Vec<_>>());
            let name = &p.threads[thread].name;
            let mut new = vec![Obligation::common(CT1, format!("{name} starts in a cell"), t.implies(own, some))];
            for c in cells {
                let what = format!("what {} may rely on holds initially", self.describe_cell(c));
                new.push(Obligation::common(CT1, what, t.implies(t.and(&[own, c.cell]), c.holds)));
            }
            self.out.extend(new);
        }
        for (a, b, formula) in &self.proof.pairwise {
            let (x, y) = (&self.proof.counters[*a], &self.proof.counters[*b]);
            let starts = |c: &Counter| c.location == p.threads[c.thread].code.entry;
            if starts(x) && starts(y) {
                let own = t.and(&[obligation::initial_locals(p, t, x.thread), x.cell]);
                let other = self.of_peer(t.and(&[obligation::initial_locals(p, t, y.thread), y.cell]));
                let pre = t.and(&[store, own, other, self.two_instances()]);
                let what = format!("{} and {} start apart", self.describe_cell(x), self.describe_cell(y));
                self.out.push(Obligation::common(CT6, what, t.implies(pre, *formula)));
            }
        }
    }

    /// CT7.
    fn exclusion(&mut self) {
        let t = self.terms;
        for (a, b) in &self.proof.exclusive {
            let (x, y) = (&self.proof.counters[*a], &self.proof.counters[*b]);
            let own = t.and(&[x.cell, x.holds]);
            let other = self.of_peer(t.and(&[y.cell, y.holds]));
            let both = t.and(&[own, other, self.pairwise(*a, *b), self.two_instances()]);
            let what = format!("{} and {} exclude each other", self.describe_cell(x), self.describe_cell(y));
            self.out.push(Obligation::common(CT7, what, t.not(both)));
        }
    }

    /// A formula about an instance as one about the second.
    fn of_peer(&self, formula: Term) -> Term {
        let t = self.terms;
        t.substitute(formula, self.proof.peer_copy.iter().map(|(x, y)| (*x, t.sym(*y))))
    }

    /// An instance and the second one are different, and neither is a single.
    fn two_instances(&self) -> Term {
        let t = self.terms;
        let tid = t.sym(self.program.tid);
        let second = self.of_peer(tid);
        t.and(&[self.is_counted_tid(tid), self.is_counted_tid(second), t.ne(tid, second)])
    }

    /// What an instance in cell `a` and the second one, in cell `b`, may rely on of each other's locals.
    fn pairwise(&self, a: usize, b: usize) -> Term {
        let t = self.terms;
        let swapped = |f: Term| {
            let swap = self.proof.peer_copy.iter().flat_map(|(x, y)| [(*x, t.sym(*y)), (*y, t.sym(*x))]);
            t.substitute(f, swap)
        };
        let mut parts = Vec::new();
        for (x, y, formula) in &self.proof.pairwise {
            if (*x, *y) == (a, b) {
                parts.push(*formula);
            }
            if (*x, *y) == (b, a) {
                parts.push(swapped(*formula));
            }
        }
        t.and(&parts)
    }

    /// Gates of an action: obligations for those claimed; what holds once all passed.
    fn pass_gates(
        &mut self,
        premise: Premise,
        who: &str,
        action: &Action,
        view: &Renaming,
        mut pre: Vec<Term>,
    ) -> Term {
        let t = self.terms;
        for gate in &action.gates {
            let formula = t.substitute(gate.formula, view.iter().copied());
            if self.claimed.contains(&gate.property) {
                let what = format!("{who} does not violate {}", self.program.properties[gate.property].name);
                self.out.push(Obligation::of(gate.property, premise, what, t.implies(t.and(&pre), formula)));
            }
            pre.push(formula);
        }
        t.and(&pre)
    }

    fn single_steps(&mut self, at: &[LocId], k: usize) {
        let (t, p) = (self.terms, self.program);
        let (thread, tid) = self.proof.unique_threads[k];
        let inv = self.invariant[at];
        for action in p.threads[thread].code.actions.iter().filter(|a| a.from == at[k]) {
            let view: Renaming = vec![(p.tid, t.sym(tid))];
            let who =
                format!("{} with {}", obligation::describe_action(p, thread, action), self.describe_combination(at));
            let guard = t.substitute(action.guard, view.iter().copied());
            let pre = self.pass_gates(CT2, &who, action, &view, vec![self.facts(), inv, guard]);
            let mut next = at.to_vec();
            next[k] = action.to;
            let goal = self.invariant.get(&next).copied().unwrap_or_else(|| t.ff());
            let id = t.symbol("started", Sort::INT);
            let begins = self.begins(&who, action, &view, (t.sym(tid), id), pre);
            let effect = effect(p, t, action, &view, id);
            for begin in begins {
                let more = self.counted_on(begin.cell.map(|c| (c, 1)));
                let kept = t.substitute(goal, effect.iter().copied().chain(more));
                let goal = t.and(&[kept, t.substitute(begin.holds, effect.iter().copied())]);
                self.out.push(Obligation::common(CT2, who.clone(), self.follows(t.and(&[pre, begin.known]), goal)));
            }
            self.interference(&who, pre, &effect, t.sym(tid), None);
            self.relies(&who, pre, &effect, (thread, t.sym(tid)));
        }
    }

    fn cell_steps(&mut self, at: &[LocId], mover: usize) {
        let (t, p) = (self.terms, self.program);
        let s = &self.proof.counters[mover];
        let (inv, one) = (self.invariant[at], t.int(1));
        let tid = t.sym(p.tid);
        for action in p.threads[s.thread].code.actions.iter().filter(|a| a.from == s.location) {
            let who = format!(
                "{} from {}, {}",
                obligation::describe_action(p, s.thread, action),
                self.describe_cell(s),
                self.describe_combination(at)
            );
            let view: Renaming = Vec::new();
            let here = vec![
                self.facts(),
                inv,
                self.is_counted_tid(tid),
                t.le(one, t.sym(s.symbol)),
                s.cell,
                s.holds,
                action.guard,
            ];
            let pre = self.pass_gates(CT3, &who, action, &view, here);
            let id = t.symbol("started", Sort::INT);
            let begins = self.begins(&who, action, &view, (tid, id), pre);
            let effect = effect(p, t, action, &view, id);
            let targets = self.cells_at(s.thread, action.to);
            let after = |f: Term| t.substitute(f, effect.iter().copied());
            let some = t.or(&targets.iter().map(|c| after(self.proof.counters[*c].cell)).collect::<Vec<_>>());
            self.out.push(Obligation::common(CT3, format!("{who} leads into a cell"), self.follows(pre, some)));
            for to in &targets {
                let target = &self.proof.counters[*to];
                // The invariant after the move: shared variables as updated, one instance fewer here, one more there.
                let seen: Renaming = effect.iter().copied().filter(|(x, _)| is_shared(p, *x)).collect();
                let arrives = t.and(&[pre, after(target.cell)]);
                for begin in &begins {
                    let moved = [(mover, -1), (*to, 1)].into_iter().chain(begin.cell.map(|c| (c, 1)));
                    let kept = t.substitute(inv, seen.iter().copied().chain(self.counted_on(moved)));
                    let goal = t.and(&[kept, after(target.holds), after(begin.holds)]);
                    let what = format!("{who} into {}", self.describe_cell(target));
                    self.out.push(Obligation::common(CT3, what, self.follows(t.and(&[arrives, begin.known]), goal)));
                }
                for r in 0..self.proof.counters.len() {
                    let goal = self.pairwise(*to, r);
                    if !t.is_true(goal) {
                        let what = format!("{who} stays apart from {}", self.describe_cell(&self.proof.counters[r]));
                        let pre = t.and(&[arrives, self.second_in(r, tid, Some(mover))]);
                        self.out.push(Obligation::common(CT6, what, t.implies(pre, after(goal))));
                    }
                }
            }
            self.interference(&who, pre, &effect, tid, Some(mover));
            self.relies(&who, pre, &effect, (s.thread, tid));
        }
    }

    /// CT9: where an instance that an action starts may begin. It has the symbols of a second instance and the new `id`.
    fn begins(
        &mut self,
        who: &str,
        action: &Action,
        view: &Renaming,
        (mover, id): (Term, Symbol),
        pre: Term,
    ) -> Vec<StartedInstance> {
        let (t, p) = (self.terms, self.program);
        let Some(spawn) = &action.spawn else {
            return vec![StartedInstance { cell: None, known: t.tt(), holds: t.tt() }];
        };
        let (thread, id) = (&p.threads[spawn.thread], t.sym(id));
        let second = |v: &VarId| self.of_peer(t.sym(p.vars[*v].symbol));
        let mut known = vec![t.eq(self.of_peer(t.sym(p.tid)), id), self.is_counted_tid(id), t.ne(id, mover)];
        for (x, arg) in thread.params.iter().zip(&spawn.args) {
            known.push(t.eq(second(x), t.substitute(*arg, view.iter().copied())));
        }
        let others = thread.locals.iter().filter(|x| !thread.params.contains(x));
        known.extend(others.filter_map(|x| p.vars[*x].initial.map(|value| t.eq(second(x), value))));
        let known = t.and(&known);
        let cells = self.cells_at(spawn.thread, thread.code.entry);
        let inside = |c: usize| self.of_peer(self.proof.counters[c].cell);
        let some = t.or(&cells.iter().map(|c| inside(*c)).collect::<Vec<_>>());
        let begin = |c: usize| {
            let holds = self.of_peer(self.proof.counters[c].holds);
            StartedInstance { cell: Some(c), known: t.and(&[known, inside(c)]), holds }
        };
        let out = cells.iter().map(|c| begin(*c)).collect();
        let what = format!("{who} starts {} in a cell", thread.name);
        self.out.push(Obligation::common(CT9, what, self.follows(t.and(&[pre, known]), some)));
        out
    }

    /// Counters after instances came to cells and left them.
    fn counted_on(&self, changes: impl IntoIterator<Item = (usize, i128)>) -> Renaming {
        let t = self.terms;
        let mut by: BTreeMap<usize, i128> = BTreeMap::new();
        changes.into_iter().for_each(|(c, n)| *by.entry(c).or_default() += n);
        let counter = |c: usize| self.proof.counters[c].symbol;
        by.into_iter().filter(|(_, n)| *n != 0).map(|(c, n)| (counter(c), t.add(t.sym(counter(c)), t.int(n)))).collect()
    }

    /// That the goal follows; its parts that are assumed as they stand need not be asked for.
    fn follows(&self, pre: Term, goal: Term) -> Term {
        let t = self.terms;
        let known: BTreeSet<Term> = t.conjuncts(pre).into_iter().collect();
        let left: Vec<Term> = t.conjuncts(goal).into_iter().filter(|g| !t.is_true(*g) && !known.contains(g)).collect();
        if left.is_empty() { t.tt() } else { t.implies(pre, t.and(&left)) }
    }

    /// A second instance, which is not the mover, is in a cell. `from` is the cell of the mover, if it is counted.
    fn second_in(&self, cell: usize, mover: Term, from: Option<usize>) -> Term {
        let t = self.terms;
        let r = &self.proof.counters[cell];
        let tid = self.of_peer(t.sym(self.program.tid));
        let at_least = if from == Some(cell) { 2 } else { 1 };
        t.and(&[
            self.is_counted_tid(tid),
            t.ne(tid, mover),
            t.le(t.int(at_least), t.sym(r.symbol)),
            self.of_peer(t.and(&[r.cell, r.holds])),
            from.map_or(t.tt(), |from| self.pairwise(from, cell)),
        ])
    }

    /// CT4: what other counted instances rely on survives a step of someone, who is in the cell `from` if it is counted.
    fn interference(&mut self, who: &str, pre: Term, effect: &Renaming, mover: Term, from: Option<usize>) {
        let (t, p) = (self.terms, self.program);
        let seen: Renaming = effect.iter().copied().filter(|(x, _)| is_shared(p, *x)).collect();
        for (r, cell) in self.proof.counters.iter().enumerate() {
            // What the step does not touch stays.
            let touched = t.free_symbols(cell.holds).iter().any(|s| seen.iter().any(|(x, _)| x == s));
            if !touched {
                continue;
            }
            // Afterwards its own symbols are as before; the shared store is as updated.
            let goal = t.substitute(self.of_peer(cell.holds), seen.iter().copied());
            let what = format!("{who} keeps what {} relies on", self.describe_cell(cell));
            let pre = t.and(&[pre, self.second_in(r, mover, from)]);
            self.out.push(Obligation::common(CT4, what, t.implies(pre, goal)));
        }
    }

    /// CT8: a step of the mover, as the others see it.
    fn relies(&mut self, who: &str, pre: Term, effect: &Renaming, (thread, mover): (ThreadId, Term)) {
        let (t, p) = (self.terms, self.program);
        let other = self.of_peer(t.sym(p.tid));
        let after = |s: Symbol| effect.iter().find(|(x, _)| *x == s).map_or(t.sym(s), |(_, value)| *value);
        let next: Renaming = p.shared().map(|v| (p.vars[v].primed, after(p.vars[v].symbol))).collect();
        for property in self.claimed {
            let Ok(Some((of, formula))) = written_rely(p, *property) else { continue };
            // Who relies: a single that is named, else anyone.
            let (tid, different) = match of.and_then(|of| self.proof.unique_threads.iter().find(|(s, _)| *s == of)) {
                Some((single, _)) if *single == thread => continue,
                Some((_, tid)) => (t.sym(*tid), t.tt()),
                None => (other, t.and(&[t.lt(t.int(0), other), t.ne(other, mover)])),
            };
            let seen = t.substitute(formula, next.iter().copied().chain([(p.tid, tid)]));
            let what = format!("{who} satisfies {}", p.properties[*property].name);
            self.out.push(Obligation::of(*property, CT8, what, self.follows(t.and(&[pre, different]), seen)));
        }
    }
}

fn is_shared(program: &Program, symbol: Symbol) -> bool {
    program.shared().any(|v| program.vars[v].symbol == symbol)
}

/// Unprimed symbols to their values after the action, with the mover's tid read as the view says; `started` is the id of an
/// instance that it starts.
fn effect(program: &Program, terms: &Terms, action: &Action, view: &Renaming, started: Symbol) -> Renaming {
    let value = |v: Term| terms.substitute(v, view.iter().copied());
    let updates = action.updates.iter().map(|u| (u.var, value(u.value)));
    let id = action.spawn.iter().filter_map(|s| s.into).map(|v| (v, terms.sym(started)));
    updates.chain(id).map(|(v, value)| (program.vars[v].symbol, value)).collect()
}

/// Every thread that comes in copies is counted, also in one copy.
fn is_counted(program: &Program, thread: ThreadId) -> bool {
    let t = &program.threads[thread];
    t.start == Start::Spawned || !matches!(t.copies, Copies::One)
}

fn vet(program: &Program, terms: &Terms, proof: &Counting, claimed: &[PropertyId]) -> Result<(), Rejection> {
    claimable(program, claimed)?;
    for property in claimed {
        written_rely(program, *property)?;
    }
    if program.threads.iter().any(|t| !t.code.calls.is_empty()) {
        return Err(Rejection::outside("threads that call are outside this rule"));
    }
    let unique_threads: Vec<ThreadId> = program.threads.ids().filter(|t| !is_counted(program, *t)).collect();
    if proof.unique_threads.iter().map(|(t, _)| *t).collect::<Vec<_>>() != unique_threads {
        return Err(Rejection::shape("the single threads are not those of the program"));
    }
    let mut fresh: Vec<Symbol> = Vec::new();
    let known: Vec<Symbol> = {
        let inputs = program.threads.iter().flat_map(|t| t.code.actions.iter().flat_map(|a| a.inputs.iter().copied()));
        program.vars.iter().flat_map(|v| [v.symbol, v.primed]).chain([program.tid]).chain(inputs).collect()
    };
    let mut own: Vec<Symbol> = vec![program.tid];
    for thread in program.threads.ids().filter(|t| is_counted(program, *t)) {
        own.extend(AllowedSymbols::locals(program, thread));
    }
    if proof.peer_copy.iter().map(|(x, _)| *x).collect::<Vec<_>>() != own {
        return Err(Rejection::shape("a second instance needs a symbol for `tid` and each local, in order"));
    }
    let mut copies: Vec<Symbol> = Vec::new();
    for (x, copy) in &proof.peer_copy {
        if copies.contains(copy) || known.contains(copy) || terms.symbol_sort(*copy) != terms.symbol_sort(*x) {
            return Err(Rejection::not_new(terms, *copy));
        }
        copies.push(*copy);
    }
    for s in proof.unique_threads.iter().map(|(_, s)| *s).chain(proof.counters.iter().map(|c| c.symbol)) {
        if copies.contains(&s) || fresh.contains(&s) || known.contains(&s) || terms.symbol_sort(s) != Sort::INT {
            return Err(Rejection::not_new(terms, s));
        }
        fresh.push(s);
    }
    let shared = AllowedSymbols::shared(program);
    let new: Vec<Symbol> = copies.iter().chain(&fresh).copied().collect();
    let formula = |v: AllowedSymbols, f: Term, what: &str| v.reserving(new.iter().copied()).admits(terms, f, what);
    for c in &proof.counters {
        let inside = program.threads.get(c.thread).is_some_and(|t| t.code.locations.get(c.location).is_some());
        if !inside || !is_counted(program, c.thread) {
            return Err(Rejection::shape("a cell of something that is not counted"));
        }
        let mut own = AllowedSymbols::locals(program, c.thread);
        own.push(program.tid);
        formula(AllowedSymbols::new(program, own.clone()), c.cell, "a cell")?;
        formula(
            AllowedSymbols::new(program, own.into_iter().chain(shared.iter().copied())),
            c.holds,
            "what a cell relies on",
        )?;
    }
    let inside = |a: &usize, b: &usize| a <= b && *b < proof.counters.len();
    for (a, b, f) in &proof.pairwise {
        if !inside(a, b) {
            return Err(Rejection::shape("a pair of cells that does not exist, or is not in order"));
        }
        let begins = |c: &Counter| {
            let thread = &program.threads[c.thread];
            thread.start == Start::Spawned && c.location == thread.code.entry
        };
        if begins(&proof.counters[*a]) || begins(&proof.counters[*b]) {
            return Err(Rejection::outside("nothing is known of two instances one of which was just started"));
        }
        let first = AllowedSymbols::locals(program, proof.counters[*a].thread);
        let other = AllowedSymbols::locals(program, proof.counters[*b].thread);
        let copy = |x: &Symbol| proof.peer_copy.iter().find(|(y, _)| y == x).map(|(_, copy)| *copy);
        let other: Vec<Symbol> = other.iter().chain([&program.tid]).filter_map(copy).collect();
        let vocabulary = AllowedSymbols::new(program, first.into_iter().chain([program.tid]).chain(other));
        formula(vocabulary, *f, "what two instances rely on")?;
    }
    if !proof.exclusive.iter().all(|(a, b)| inside(a, b)) {
        return Err(Rejection::shape("a pair of cells that does not exist, or is not in order"));
    }
    let mut symbols = shared;
    symbols.extend(fresh);
    symbols.extend(proof.unique_threads.iter().flat_map(|(t, _)| AllowedSymbols::locals(program, *t)));
    let mut listed: Vec<&Vec<LocId>> = Vec::new();
    for (at, f) in &proof.invariant {
        let fits = at.len() == unique_threads.len()
            && at.iter().zip(&unique_threads).all(|(l, t)| program.threads[*t].code.locations.get(*l).is_some());
        if !fits || listed.contains(&at) {
            return Err(Rejection::shape("a combination of locations is listed twice or does not exist"));
        }
        listed.push(at);
        formula(AllowedSymbols::new(program, symbols.iter().copied()), *f, "the invariant")?;
    }
    Ok(())
}
