//! The counted system: unique threads with explicit control, cells, groups, and every step between them.
//!
//! In: a program some of whose threads come in several instances. Out: everything that relies, lemmas, the Horn encoding
//! and the certificate are made of. A single's control is one boolean for each of its cells, so that one step stands for
//! itself wherever the other unique threads are; `at` turns a formula over these booleans into one for a combination
//! of locations. What an instance may rely on is found in `relies`.

use super::instances::CellInstances;
use super::samples::Samples;
use crate::cells::{Cells, CountedCell, Move, TooMany, folded};
use crate::infer::vocabulary::conditions_of;
use logic::{Sort, Symbol, Term, Terms};
use program::{Action, Copies, LocId, Program, PropertyId, PropertyKind, Rely, Scope, Start, ThreadId, VarId};
use solver::Smt;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[derive(Clone)]
pub(crate) struct CountedSystem<'a> {
    pub program: &'a Program,
    pub terms: &'a Terms,
    pub unique_threads: Vec<UniqueThread>,
    pub cells: Vec<CountedCell>,
    pub moves: Vec<Move>,
    /// What an instance in each cell may rely on.
    pub holds: Vec<Term>,
    /// What two instances may rely on of each other's locals, by their cells (the smaller first): over the first's locals
    /// and tid and the copies of the second's.
    pub pairwise: BTreeMap<(usize, usize), Term>,
    /// Cells, the smaller first, that two different instances are never in at the same time.
    pub exclusive: BTreeSet<(usize, usize)>,
    /// For each local of a counted thread, and `tid`: the symbol that stands for it in a second instance.
    pub peer_copy: Vec<(Symbol, Symbol)>,
    pub(crate) forgotten: Vec<VarId>,
    /// The id of an instance that a step starts.
    started: Symbol,
    /// The keys at which facts about all keys are used.
    pub instances: CellInstances,
    /// Cells that only unconditional local steps separate are counted together: the group of each cell.
    pub group_of: Vec<usize>,
    pub groups: Vec<CellGroup>,
    /// States of short runs.
    pub samples: Arc<Samples>,
}

/// A thread of one instance.
#[derive(Clone)]
pub(crate) struct UniqueThread {
    pub thread: ThreadId,
    pub tid: Symbol,
    pub cells: Vec<CountedCell>,
    pub moves: Vec<Move>,
    /// For each cell: whether it is there.
    pub there: Vec<Symbol>,
}

/// Cells counted together.
#[derive(Clone)]
pub(crate) struct CellGroup {
    pub thread: ThreadId,
    /// How many instances are in its cells.
    pub symbol: Symbol,
    pub cells: Vec<usize>,
}

/// What is true of groups because their cells exclude each other.
pub(crate) struct GroupExclusion {
    /// The cells that exclude each other.
    pub pairs: BTreeSet<(usize, usize)>,
    pub fact: Term,
    /// Another of them says more.
    pub is_implied: bool,
}

/// Where a step comes from or leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepEndpoint {
    Group(usize),
    /// A cell of a single, both by position.
    Cell(usize, usize),
}

/// What instances may rely on.
#[derive(Clone, Default)]
pub(super) struct CellFacts {
    /// For each cell.
    pub holds: Vec<Vec<Term>>,
    /// For pairs of cells, the smaller first.
    pub pairwise: BTreeMap<(usize, usize), Vec<Term>>,
    /// Cells, the smaller first, that no two instances are in.
    pub exclusive: BTreeSet<(usize, usize)>,
}

/// A step of the counted system: what is true before it, and the new values of shared variables, unique threads' locals, groups
/// and unique threads' control.
pub(crate) struct CountedStep {
    pub pre: Vec<Term>,
    pub effect: Vec<(Symbol, Term)>,
    pub from: StepEndpoint,
    pub to: StepEndpoint,
    /// Where an instance that the step starts begins.
    pub starts: Option<usize>,
    /// Where the mover is, by thread and location.
    pub at: (ThreadId, LocId),
    /// The cell of the mover, if it is counted.
    pub cell: Option<usize>,
}

/// A way to violate a property.
pub(crate) struct Bad {
    pub property: PropertyId,
    pub formula: Vec<Term>,
    /// The cell of the mover, if it is counted.
    pub cell: Option<usize>,
}

pub(crate) fn is_counted(program: &Program, thread: ThreadId) -> bool {
    let t = &program.threads[thread];
    t.start == Start::Spawned || !matches!(t.copies, Copies::One)
}

impl<'a> CountedSystem<'a> {
    pub(super) fn new(program: &'a Program, terms: &'a Terms, smt: &mut dyn Smt) -> Result<Self, TooMany> {
        let mut cells = Cells::default();
        let mut unique_threads = Vec::new();
        let mut second = vec![(program.tid, terms.symbol("tid.2", Sort::INT))];
        for t in program.threads.ids() {
            let name = &program.threads[t].name;
            if is_counted(program, t) {
                cells.add(program, terms, t, smt)?;
                for v in &program.threads[t].locals {
                    let x = &program.vars[*v];
                    second.push((x.symbol, terms.symbol(format!("{}.2", x.name), x.sort)));
                }
            } else {
                let mut own = Cells::default();
                own.add(program, terms, t, smt)?;
                let there = |c: &CountedCell| terms.symbol(format!("{name} at {}", c.location), Sort::BOOL);
                let there = own.cells.iter().map(there).collect();
                let tid = terms.symbol(format!("tid.{name}"), Sort::INT);
                unique_threads.push(UniqueThread { thread: t, tid, cells: own.cells, moves: own.moves, there });
            }
        }
        let mut system = Self {
            program,
            terms,
            unique_threads,
            holds: vec![terms.tt(); cells.cells.len()],
            cells: cells.cells,
            moves: cells.moves,
            pairwise: BTreeMap::new(),
            exclusive: BTreeSet::new(),
            instances: CellInstances::default(),
            peer_copy: second,
            forgotten: cells.forgotten,
            started: terms.symbol("started", Sort::INT),
            group_of: Vec::new(),
            groups: Vec::new(),
            samples: Arc::new(Samples::of(program)),
        };
        system.fold();
        let locals = system.unique_threads.iter().flat_map(|s| &program.threads[s.thread].locals);
        let unique_threads = locals.map(|v| program.vars[*v].symbol).chain(system.unique_threads.iter().map(|s| s.tid));
        let counted = system.peer_copy.iter().flat_map(|(a, b)| [*a, *b]);
        let chosen = program.threads.iter().flat_map(|t| t.code.actions.iter().flat_map(|a| &a.inputs)).copied();
        system.instances = CellInstances::new(terms, unique_threads.chain(counted).chain(chosen));
        Ok(system)
    }

    /// What is true of groups and thread ids in every state.
    pub(super) fn facts(&self) -> Vec<Term> {
        let t = self.terms;
        let zero = t.int(0);
        let mut facts: Vec<Term> = self.groups.iter().map(|g| t.le(zero, t.sym(g.symbol))).collect();
        for thread in self.program.threads.ids().filter(|x| is_counted(self.program, *x)) {
            if let Copies::Exactly(n) = self.program.threads[thread].copies {
                facts.push(t.eq(self.all_of(thread), t.int(i128::from(n))));
            }
        }
        facts.extend(self.exclusions(&self.exclusive).into_iter().filter(|e| !e.is_implied).map(|e| e.fact));
        for (i, s) in self.unique_threads.iter().enumerate() {
            facts.push(t.lt(zero, t.sym(s.tid)));
            facts.extend(self.unique_threads[..i].iter().map(|other| t.ne(t.sym(s.tid), t.sym(other.tid))));
        }
        facts
    }

    /// What cells that exclude each other say of groups.
    pub(super) fn exclusions(&self, exclusive: &BTreeSet<(usize, usize)>) -> Vec<GroupExclusion> {
        let t = self.terms;
        let (zero, one) = (t.int(0), t.int(1));
        let pairs = |g: &CellGroup, h: &CellGroup| -> Option<BTreeSet<(usize, usize)>> {
            let all = g.cells.iter().flat_map(|a| h.cells.iter().map(move |b| (*a.min(b), *a.max(b))));
            all.map(|pair| exclusive.contains(&pair).then_some(pair)).collect()
        };
        let alone: Vec<_> = self.groups.iter().map(|g| pairs(g, g)).collect();
        let mut out = Vec::new();
        for (i, g) in self.groups.iter().enumerate() {
            let x = t.sym(g.symbol);
            if let Some(pairs) = &alone[i] {
                out.push(GroupExclusion { pairs: pairs.clone(), fact: t.le(x, one), is_implied: false });
            }
            for (j, h) in self.groups[..i].iter().enumerate() {
                let Some(pairs) = pairs(g, h) else { continue };
                // No two instances, one in each: one of the groups is empty. Where neither holds two either, that is linear.
                let y = t.sym(h.symbol);
                let linear = alone[i].as_ref().zip(alone[j].as_ref()).map(|(g, h)| g | h);
                let either = t.or(&[t.eq(x, zero), t.eq(y, zero)]);
                out.push(GroupExclusion { pairs: pairs.clone(), fact: either, is_implied: linear.is_some() });
                let fact = t.le(t.add(x, y), one);
                out.extend(linear.map(|l| GroupExclusion { pairs: &l | &pairs, fact, is_implied: false }));
            }
        }
        out
    }

    /// What is true of the unique threads' control: each is in one of its cells, and its locals are as the cell says.
    pub(super) fn control(&self) -> Vec<Term> {
        let t = self.terms;
        let mut out = Vec::new();
        for s in &self.unique_threads {
            let there: Vec<Term> = s.there.iter().map(|x| t.sym(*x)).collect();
            out.push(t.or(&there));
            for (i, x) in there.iter().enumerate() {
                out.extend(there[..i].iter().map(|y| t.not(t.and(&[*x, *y]))));
                out.push(t.implies(*x, s.cells[i].formula));
            }
        }
        out
    }

    /// A formula over the unique threads' control, where the unique threads are at these locations.
    pub(super) fn at(&self, formula: Term, locations: &[LocId]) -> Term {
        let t = self.terms;
        let there = self.unique_threads.iter().zip(locations).flat_map(|(s, at)| {
            let value = move |c: &CountedCell| if c.location == *at { c.formula } else { t.ff() };
            s.there.iter().copied().zip(s.cells.iter().map(value))
        });
        t.simplify(t.substitute(formula, there))
    }

    /// Where the unique threads are at these locations, their locals are in one of the cells there.
    pub(crate) fn in_cells(&self, locations: &[LocId]) -> Vec<Term> {
        let t = self.terms;
        let of = |s: &UniqueThread, at: LocId| {
            t.or(&s.cells.iter().filter(|c| c.location == at).map(|c| c.formula).collect::<Vec<_>>())
        };
        self.unique_threads.iter().zip(locations).map(|(s, at)| of(s, *at)).collect()
    }

    /// The number of instances of a thread.
    fn all_of(&self, thread: ThreadId) -> Term {
        let t = self.terms;
        let of = self.groups.iter().filter(|g| g.thread == thread).map(|g| t.sym(g.symbol));
        of.reduce(|a, b| t.add(a, b)).unwrap_or_else(|| t.int(0))
    }
    pub(super) fn action(&self, m: &Move) -> &'a Action {
        &self.program.threads[self.cells[m.from].thread].code.actions[m.action]
    }
    /// Guard and gates of an action with the mover's tid read as `tid`.
    pub(super) fn taken(&self, action: &Action, tid: Term) -> Vec<Term> {
        let t = self.terms;
        conditions_of(action).map(|f| t.substitute(f, [(self.program.tid, tid)])).collect()
    }
    pub(super) fn effect(&self, action: &Action, tid: Term) -> Vec<(Symbol, Term)> {
        self.effect_on(action, tid, |_| true)
    }
    /// Only what all can see of an effect.
    pub(crate) fn shared_effect(&self, action: &Action, tid: Term) -> Vec<(Symbol, Term)> {
        self.effect_on(action, tid, |v| self.program.vars[v].scope == Scope::Shared)
    }
    fn effect_on(&self, action: &Action, tid: Term, of: impl Fn(VarId) -> bool) -> Vec<(Symbol, Term)> {
        let t = self.terms;
        let value = |v: Term| t.substitute(v, [(self.program.tid, tid)]);
        let updates = action.updates.iter().map(|u| (u.var, value(u.value)));
        let id = action.spawn.iter().filter_map(|s| s.into).map(|v| (v, t.sym(self.started)));
        updates.chain(id).filter(|(v, _)| of(*v)).map(|(v, value)| (self.program.vars[v].symbol, value)).collect()
    }
    /// The cells that an instance which the action starts can begin in, and what is then true; nothing where none is started.
    fn beginnings(&self, action: &Action, tid: Term) -> Vec<Option<(usize, Vec<Term>)>> {
        let (t, p) = (self.terms, self.program);
        let Some(spawn) = &action.spawn else { return vec![None] };
        let thread = &p.threads[spawn.thread];
        let value = |v: Term| t.substitute(v, [(p.tid, tid)]);
        let second = |v: &VarId| self.of_peer(t.sym(p.vars[*v].symbol));
        let mut known: Vec<Term> =
            thread.params.iter().zip(&spawn.args).map(|(x, arg)| t.eq(second(x), value(*arg))).collect();
        let rest = thread.locals.iter().filter(|x| !thread.params.contains(x));
        known.extend(rest.filter_map(|x| p.vars[*x].initial.map(|value| t.eq(second(x), value))));
        known.push(t.lt(t.int(0), t.sym(self.started)));
        known.push(t.ne(t.sym(self.started), tid));
        let begins = |c: &usize| self.cells[*c].thread == spawn.thread && self.cells[*c].location == thread.code.entry;
        let there = |c: usize| known.iter().copied().chain([self.of_peer(self.cells[c].formula)]).collect();
        (0..self.cells.len()).filter(begins).map(|c| Some((self.group_of[c], there(c)))).collect()
    }
    /// What is true of an instance in a cell, besides the counters; its tid is `tid`.
    pub(crate) fn within_cell(&self, cell: usize) -> Vec<Term> {
        let t = self.terms;
        let tid = t.sym(self.program.tid);
        let mut out = vec![t.lt(t.int(0), tid), self.cells[cell].formula, self.holds[cell]];
        out.extend(self.unique_threads.iter().map(|s| t.ne(tid, t.sym(s.tid))));
        out
    }
    /// What is known when an instance makes the move, besides the counters.
    pub(super) fn before(&self, m: &Move) -> Vec<Term> {
        let t = self.terms;
        let tid = t.sym(self.program.tid);
        let mut out = self.within_cell(m.from);
        out.extend(self.taken(self.action(m), tid));
        out.push(t.substitute(self.cells[m.to].formula, self.effect(self.action(m), tid)));
        out
    }
    /// A formula about an instance as one about the second.
    pub(super) fn of_peer(&self, formula: Term) -> Term {
        let t = self.terms;
        t.substitute(formula, self.peer_copy.iter().map(|(a, b)| (*a, t.sym(*b))))
    }
    /// Every step that changes something the groups, the unique threads or the shared store show.
    pub(super) fn steps(&self) -> Vec<CountedStep> {
        let (t, p) = (self.terms, self.program);
        let mut out = Vec::new();
        for (k, s) in self.unique_threads.iter().enumerate() {
            for m in &s.moves {
                let action = &p.threads[s.thread].code.actions[m.action];
                let tid = t.sym(s.tid);
                let mut effect = self.effect(action, tid);
                let (from, to) = (&s.cells[m.from], &s.cells[m.to]);
                let mut pre =
                    vec![t.sym(s.there[m.from]), from.formula, t.substitute(to.formula, effect.iter().copied())];
                pre.extend(self.taken(action, tid));
                if m.from != m.to {
                    effect.extend([(s.there[m.from], t.ff()), (s.there[m.to], t.tt())]);
                }
                if effect.is_empty() && action.spawn.is_none() {
                    continue;
                }
                let (a, b) = (StepEndpoint::Cell(k, m.from), StepEndpoint::Cell(k, m.to));
                for begin in self.beginnings(action, tid) {
                    let (mut pre, mut effect) = (pre.clone(), effect.clone());
                    let starts = begin.map(|(group, known)| {
                        pre.extend(known);
                        effect.push(self.more(group, 1));
                        group
                    });
                    out.push(CountedStep {
                        pre,
                        effect,
                        from: a,
                        to: b,
                        starts,
                        at: (s.thread, from.location),
                        cell: None,
                    });
                }
            }
        }
        for m in &self.moves {
            let (a, b) = (self.group_of[m.from], self.group_of[m.to]);
            let action = self.action(m);
            let effect = self.shared_effect(action, t.sym(p.tid));
            if a == b && effect.is_empty() && action.spawn.is_none() {
                continue;
            }
            let mut pre = vec![t.le(t.int(1), t.sym(self.groups[a].symbol))];
            pre.extend(self.before(m));
            let at = (self.cells[m.from].thread, self.cells[m.from].location);
            for begin in self.beginnings(action, t.sym(p.tid)) {
                let (mut pre, mut effect) = (pre.clone(), effect.clone());
                let starts = begin.map(|(group, known)| {
                    pre.extend(known);
                    group
                });
                let mut change: BTreeMap<usize, i128> = BTreeMap::new();
                for (group, by) in [(a, -1), (b, 1)].into_iter().chain(starts.map(|group| (group, 1))) {
                    *change.entry(group).or_default() += by;
                }
                effect.extend(change.into_iter().filter(|(_, by)| *by != 0).map(|(group, by)| self.more(group, by)));
                out.push(CountedStep {
                    pre,
                    effect,
                    from: StepEndpoint::Group(a),
                    to: StepEndpoint::Group(b),
                    starts,
                    at,
                    cell: Some(m.from),
                });
            }
        }
        out
    }

    /// A group with so many more instances.
    fn more(&self, group: usize, by: i128) -> (Symbol, Term) {
        let (t, symbol) = (self.terms, self.groups[group].symbol);
        (symbol, t.add(t.sym(symbol), t.int(by)))
    }

    /// Every way to violate one of the properties.
    pub(crate) fn bad(&self, wanted: &[PropertyId]) -> Vec<Bad> {
        let (t, p) = (self.terms, self.program);
        let mut out = Vec::new();
        for w in wanted {
            match p.properties[*w].kind {
                PropertyKind::Invariant(formula) => {
                    out.push(Bad { property: *w, formula: vec![t.not(formula)], cell: None })
                }
                PropertyKind::Rely(r) => out.extend(self.against(*w, &p.relies[r as usize])),
                _ => {}
            }
        }
        let mut failures = |mut passed: Vec<Term>, action: &Action, tid: Term, cell: Option<usize>| {
            let view = |f: Term| t.substitute(f, [(p.tid, tid)]);
            passed.push(view(action.guard));
            for gate in &action.gates {
                let gate_here = view(gate.formula);
                if wanted.contains(&gate.property) {
                    let formula = passed.iter().copied().chain([t.not(gate_here)]).collect();
                    out.push(Bad { property: gate.property, formula, cell });
                }
                passed.push(gate_here);
            }
        };
        for s in &self.unique_threads {
            for (c, cell) in s.cells.iter().enumerate() {
                for action in p.threads[s.thread].code.actions.iter().filter(|a| a.from == cell.location) {
                    failures(vec![t.sym(s.there[c]), cell.formula], action, t.sym(s.tid), None);
                }
            }
        }
        // Every action of every cell may fail, also one whose gates never let it pass.
        for (c, cell) in self.cells.iter().enumerate() {
            let mut here = vec![t.le(t.int(1), t.sym(self.groups[self.group_of[c]].symbol))];
            here.extend(self.within_cell(c));
            for action in p.threads[cell.thread].code.actions.iter().filter(|a| a.from == cell.location) {
                failures(here.clone(), action, t.sym(p.tid), Some(c));
            }
        }
        out
    }

    /// Every step that another thread does not rely on.
    fn against(&self, property: PropertyId, rely: &Rely) -> Vec<Bad> {
        let (t, p) = (self.terms, self.program);
        let Some(formula) = rely.formula else { return Vec::new() };
        let other = self.of_peer(t.sym(p.tid));
        let single = self.unique_threads.iter().position(|s| rely.thread == Some(s.thread));
        let way = |mover: Option<Term>, pre: &[Term], effect: &[(Symbol, Term)], cell: Option<usize>| {
            let after = |s: Symbol| effect.iter().find(|(x, _)| *x == s).map_or(t.sym(s), |(_, value)| *value);
            let next = p.shared().map(|v| (p.vars[v].primed, after(p.vars[v].symbol)));
            let tid = single.map_or(other, |s| t.sym(self.unique_threads[s].tid));
            let mut formula = vec![t.not(t.substitute(formula, next.chain([(p.tid, tid)]))), t.lt(t.int(0), tid)];
            formula.extend(mover.map(|mover| t.ne(tid, mover)));
            formula.extend(pre);
            Bad { property, formula, cell }
        };
        // A step that changes nothing shared, whoever makes it; then the others.
        let mut out = vec![way(None, &[], &[], None)];
        for step in self.steps() {
            let mover = match step.from {
                StepEndpoint::Cell(k, _) if Some(k) == single => continue,
                StepEndpoint::Cell(k, _) => self.unique_threads[k].tid,
                StepEndpoint::Group(_) => p.tid,
            };
            out.push(way(Some(t.sym(mover)), &step.pre, &step.effect, step.cell));
        }
        out
    }

    /// What is true initially, of the store, the groups and the unique threads.
    pub(super) fn initial(&self) -> Vec<Term> {
        let (t, p) = (self.terms, self.program);
        let mut start = self.facts();
        let locals = self.unique_threads.iter().flat_map(|s| p.threads[s.thread].locals.iter().copied());
        for v in p.shared().chain(locals) {
            if let Some(value) = p.vars[v].initial {
                start.push(t.eq(t.sym(p.vars[v].symbol), value));
            }
        }
        start.extend(p.init.iter().filter_map(|f| f.formula));
        for g in &self.groups {
            let thread = &p.threads[g.thread];
            let entered = g.cells.iter().any(|c| self.cells[*c].location == thread.code.entry);
            if !entered || thread.start == Start::Spawned {
                start.push(t.eq(t.sym(g.symbol), t.int(0)));
            }
        }
        for s in &self.unique_threads {
            let entry = p.threads[s.thread].code.entry;
            let elsewhere = s.there.iter().zip(&s.cells).filter(|(_, c)| c.location != entry);
            start.extend(elsewhere.map(|(x, _)| t.not(t.sym(*x))));
        }
        start
    }

    /// Counts folded cells together: an invariant over the sums is inductive for the single cells too.
    fn fold(&mut self) {
        self.group_of = folded(self.program, self.terms, &self.cells, &self.moves);
        for (c, g) in self.group_of.iter().enumerate() {
            if *g == self.groups.len() {
                let thread = self.cells[c].thread;
                let name = format!("#{}.{}", self.program.threads[thread].name, self.cells[c].location);
                self.groups.push(CellGroup { thread, symbol: self.terms.symbol(name, Sort::INT), cells: Vec::new() });
            }
            self.groups[*g].cells.push(c);
        }
    }

    /// A formula over groups as one over cells.
    pub(crate) fn ungrouped(&self, formula: Term) -> Term {
        let t = self.terms;
        let sum = |g: &CellGroup| {
            g.cells.iter().map(|c| t.sym(self.cells[*c].symbol)).reduce(|a, b| t.add(a, b)).unwrap_or_else(|| t.int(0))
        };
        t.substitute(formula, self.groups.iter().map(|g| (g.symbol, sum(g))))
    }
}
