//! Merging steps, once it is known which slots only one thread reaches.
//!
//! In: flows with one step per access. Out: flows in which private computation is part of the neighbouring
//! access. Three rules, each removing a location L and composing every step into L with every step out of L:
//! backward (all steps out of L are private: they happen right after the access before), forward (all steps into L are
//! private and cannot fail: they happen right before the access after), inside (L is inside an atomic section).
//! Privacy makes each a commutation of neighbouring steps, so no reachable failure is lost or gained. A step that can wait
//! is never joined to an earlier visible write or gate, for that would hide them while it waits.

use super::constants::Env;
use super::flow::*;
use super::phases::{Phases, SlotAccess};
use super::terms::Build;
use super::*;
use std::collections::VecDeque;
use std::rc::Rc;

/// No location is removed if that makes more steps than this out of it.
const MAX_PRODUCTS: usize = 24;

/// What a step touches.
pub(super) struct SlotTouch {
    pub reads: Vec<SlotId>,
    pub writes: Vec<SlotId>,
}

impl Lower<'_> {
    pub(super) fn touch(&self, step: &FlowStep) -> SlotTouch {
        let mut reads: Vec<SlotId> = Vec::new();
        let terms = step.updates.iter().map(|(_, v)| *v).chain(step.gates.iter().map(|(_, g)| *g));
        for term in terms.chain([step.guard]) {
            for slot in self.slots_in(term).iter() {
                if !reads.contains(slot) {
                    reads.push(*slot);
                }
            }
        }
        SlotTouch { reads, writes: step.updates.iter().map(|(s, _)| *s).collect() }
    }

    /// The slots that a term speaks of, each once.
    pub(super) fn slots_in(&self, term: Term) -> Rc<[SlotId]> {
        if let Some(known) = self.slots_of_terms.borrow().get(&term) {
            return known.clone();
        }
        let slots: Rc<[SlotId]> =
            self.terms.free_symbols(term).iter().filter_map(|s| self.by_symbol.get(s).copied()).collect();
        self.slots_of_terms.borrow_mut().insert(term, slots.clone());
        slots
    }

    /// Slots that one thread of one copy alone touches become its own.
    pub(super) fn privatise(&mut self) {
        let mut users: FxHashMap<SlotId, BTreeSet<TaskId>> = FxHashMap::default();
        for (i, flow) in self.flows.iter().enumerate() {
            for step in &flow.steps {
                let touch = self.touch(step);
                for slot in touch.reads.into_iter().chain(touch.writes) {
                    // Bit-fields in the same bytes are one location, which matters where races are asked for.
                    users.entry(slot).or_default().insert(TaskId(i as u32));
                    users.entry(self.location(slot)).or_default().insert(TaskId(i as u32));
                }
            }
        }
        let pinned = self.pinned_slots();
        for id in self.slots.ids() {
            // The range of a value from outside is a fact of the beginning, which only shared variables have.
            let outside = self.slots[id].external && self.slots[id].initial.is_none();
            if self.slots[id].owner != SlotOwner::Shared || outside || pinned.contains(&id) {
                continue;
            }
            let asked = if self.checks(CCheck::Race) { self.location(id) } else { id };
            if let Some(tasks) = users.get(&asked)
                && let (1, Some(task)) = (tasks.len(), tasks.first())
                && !self.tasks[*task].many
            {
                self.slots[id].owner = SlotOwner::Task(*task);
            }
        }
    }

    /// What others can tell of a step. `ends`: the slots that say that a thread has ended.
    fn marks(&self, step: &FlowStep, task: TaskId, phases: &Phases, ends: &BTreeSet<SlotId>) -> StepMarks {
        let touch = self.touch(step);
        let under = self.covers(step, task, &phases.locks);
        let seen = |s: SlotId, access| {
            self.slots[s].owner == SlotOwner::Shared && phases.contended(s, task, step.from, under, access)
        };
        let depends = touch.reads.iter().any(|s| seen(*s, SlotAccess::Read));
        let written: Vec<SlotId> = touch.writes.iter().copied().filter(|s| seen(*s, SlotAccess::Write)).collect();
        let frees = |s: &SlotId| {
            phases.locks.is_simple(*s)
                && phases.locks.holds(task, step.from, *s)
                && step.updates.iter().any(|(u, v)| u == s && self.b().as_num(*v) == Some(0))
        };
        let contended = |t: Term| self.slots_in(t).iter().any(|s| seen(*s, SlotAccess::Read));
        let end = |t: Term| {
            self.terms.as_symbol(t).and_then(|s| self.by_symbol.get(&s)).is_some_and(|slot| ends.contains(slot))
        };
        let settled = !step.joins.is_empty()
            && step.gates.is_empty()
            && written.is_empty()
            && self.terms.conjuncts(step.guard).into_iter().all(|c| end(c) || !contended(c))
            && step.updates.iter().all(|(_, v)| !contended(*v));
        StepMarks {
            private: !depends && written.is_empty(),
            visible: !written.is_empty(),
            frees: !depends && written.iter().all(frees),
            settled,
        }
    }

    /// Merges and cleans all flows.
    pub(super) fn compress(&mut self) {
        for _ in 0..6 {
            let before: Vec<usize> = self.flows.iter().map(|f| f.steps.len()).collect();
            self.flows.iter_mut().for_each(Flow::forget_places);
            let phases = self.phases();
            let mut changed = false;
            let mut entries: Vec<Option<Env>> = vec![None; self.flows.len()];
            let read: FxHashSet<SlotId> =
                self.flows.iter().flat_map(|f| &f.steps).flat_map(|s| self.touch(s).reads).collect();
            for i in 0..self.flows.len() {
                let mut flow = std::mem::take(&mut self.flows[i]);
                self.fold_constants(&mut flow, TaskId(i as u32), &phases, &read, &mut entries);
                self.flows[i] = flow;
            }
            for i in 0..self.flows.len() {
                let mut flow = std::mem::take(&mut self.flows[i]);
                let task = TaskId(i as u32);
                self.fold_copies(&mut flow, task);
                // Tests belong to the read before them; only what is left is moved to the access after it.
                self.merge(&mut flow, MergeRule::Backward, task, &phases);
                changed |= self.drop_dead_updates(&mut flow, task, &phases);
                self.merge(&mut flow, MergeRule::Both, task, &phases);
                changed |= self.drop_dead_updates(&mut flow, task, &phases);
                flow.steps.iter_mut().for_each(|step| self.drop_free_tests(step));
                self.flows[i] = flow;
            }
            changed |= self.drop_constant_writes();
            changed |= self.fold_start();
            changed |= self.open_creation();
            changed |= self.drop_irrelevant();
            self.privatise();
            if !changed && self.flows.iter().map(|f| f.steps.len()).eq(before) {
                break;
            }
        }
        self.drop_all_if_nothing_can_fail();
    }

    /// Drops updates of slots that decide nothing: no guard, no gate, and no slot that does.
    pub(super) fn drop_irrelevant(&mut self) -> bool {
        // An access of a variable with a mutex is itself a question.
        let mut needed = self.pinned_slots();
        needed.insert(self.exited);
        let slots_of = |t: Term| self.slots_in(t);
        let mut sources: FxHashMap<SlotId, Vec<Term>> = FxHashMap::default();
        for step in self.flows.iter().flat_map(|f| &f.steps) {
            needed.extend(slots_of(step.guard).iter());
            step.gates.iter().for_each(|(_, g)| needed.extend(slots_of(*g).iter()));
            step.updates.iter().for_each(|(s, v)| sources.entry(*s).or_default().push(*v));
        }
        let mut queue: Vec<SlotId> = needed.iter().copied().collect();
        while let Some(slot) = queue.pop() {
            for value in sources.remove(&slot).unwrap_or_default() {
                queue.extend(slots_of(value).iter().copied().filter(|source| needed.insert(*source)));
            }
        }
        let mut changed = false;
        for step in self.flows.iter_mut().flat_map(|f| &mut f.steps) {
            let old = step.updates.len();
            step.updates.retain(|(s, _)| needed.contains(s));
            changed |= step.updates.len() != old;
        }
        changed
    }

    fn merge(&self, flow: &mut Flow, rule: MergeRule, task: TaskId, phases: &Phases) {
        let count = flow.places.len();
        let ends: BTreeSet<SlotId> = self.tasks.iter().filter(|t| !t.many).map(|t| t.done).collect();
        let mut steps: Vec<Option<(FlowStep, StepMarks)>> = Vec::new();
        let mut ins: Vec<Vec<usize>> = vec![Vec::new(); count];
        let mut outs: Vec<Vec<usize>> = vec![Vec::new(); count];
        let add = |steps: &mut Vec<Option<(FlowStep, StepMarks)>>,
                   ins: &mut Vec<Vec<usize>>,
                   outs: &mut Vec<Vec<usize>>,
                   step: FlowStep| {
            let marks = self.marks(&step, task, phases, &ends);
            let at = steps.len();
            outs[step.from.index()].push(at);
            ins[step.to.index()].push(at);
            steps.push(Some((step, marks)));
        };
        for step in reachable(flow) {
            add(&mut steps, &mut ins, &mut outs, step);
        }
        let mut queue: VecDeque<usize> = (0..count).collect();
        let mut queued = vec![true; count];
        while let Some(at) = queue.pop_front() {
            queued[at] = false;
            let loc = Loc(at as u32);
            if Some(loc) == flow.entry || Some(loc) == flow.exit || ins[at].is_empty() || outs[at].is_empty() {
                continue;
            }
            let get = |i: &usize| steps[*i].as_ref();
            let into: Vec<&(FlowStep, StepMarks)> = ins[at].iter().filter_map(get).collect();
            let out: Vec<&(FlowStep, StepMarks)> = outs[at].iter().filter_map(get).collect();
            if into.iter().any(|(s, _)| s.from == loc) {
                continue;
            }
            let small = into.len() * out.len() <= (into.len() + out.len() + 1).max(6)
                || (flow.places[loc].in_atomic_block && into.len() * out.len() <= MAX_PRODUCTS);
            // A step that leaves an atomic section is not put off to what comes behind it, and one that enters a section is not moved before it:
            // what stands between two sections would become part of them.
            let inside = |at: Loc| flow.places[at].in_atomic_block;
            let borders = SectionBorders {
                left: into.iter().any(|(s, _)| inside(s.from)),
                entered: out.iter().any(|(s, _)| inside(s.to)),
            };
            if !small || !removable(&into, &out, inside(loc), borders, rule) {
                continue;
            }
            let pairs: Vec<FlowStep> = into
                .iter()
                .flat_map(|a| out.iter().map(move |b| (*a, *b)))
                .filter_map(|((a, m), (b, n))| {
                    // The step is known by its access.
                    let lead = if m.private && !n.private { b } else { a };
                    self.compose(a, b, lead)
                })
                .collect();
            let gone: Vec<usize> = ins[at].iter().chain(&outs[at]).copied().collect();
            looks_at(gone.len() + pairs.len());
            for i in gone {
                if let Some((step, _)) = steps[i].take() {
                    let (from, to) = (step.from.index(), step.to.index());
                    outs[from].retain(|x| *x != i);
                    ins[to].retain(|x| *x != i);
                    for near in [from, to] {
                        if !queued[near] {
                            queued[near] = true;
                            queue.push_back(near);
                        }
                    }
                }
            }
            for step in pairs {
                add(&mut steps, &mut ins, &mut outs, step);
            }
        }
        flow.steps = steps.into_iter().flatten().map(|(s, _)| s).collect();
        flow.steps = reachable(flow);
    }

    /// `a` then `b` as one step; `None` if it can never be taken.
    fn compose(&self, a: &FlowStep, b: &FlowStep, lead: &FlowStep) -> Option<FlowStep> {
        let build = Build(&self.terms);
        // Inputs belong to one step alone: a copy gets its own.
        let mut inputs = Vec::new();
        let fresh = |inputs: &mut Vec<FlowInput>, of: &[FlowInput]| -> FxHashMap<Symbol, Term> {
            of.iter()
                .map(|input| {
                    let sort = self.terms.symbol_sort(input.symbol);
                    let symbol = self.terms.symbol(self.terms.symbol_name(input.symbol), sort);
                    inputs.push(FlowInput { symbol, range: input.range });
                    (input.symbol, self.terms.sym(symbol))
                })
                .collect()
        };
        let rename_a = fresh(&mut inputs, &a.inputs);
        let mut map = fresh(&mut inputs, &b.inputs);
        let renamed = |t: Term| build.substitute(t, &rename_a);
        let first: Vec<(SlotId, Term)> = a.updates.iter().map(|(s, v)| (*s, renamed(*v))).collect();
        for (slot, value) in &first {
            map.insert(self.slots[*slot].symbol, *value);
        }
        let guard = build.and(renamed(a.guard), build.substitute(b.guard, &map));
        if build.as_bool(guard) == Some(false) {
            return None;
        }
        let mut gates: Vec<(GateFailure, Term)> = a.gates.iter().map(|(f, g)| (f.clone(), renamed(*g))).collect();
        let before = gates.len();
        for (failure, gate) in &b.gates {
            let gate = build.substitute(*gate, &map);
            if build.as_bool(gate) != Some(true) {
                gates.push((failure.clone(), gate));
            }
        }
        // A step that can fail is reported where it does.
        let span = match (before, gates.len()) {
            (0, n) if n > 0 => b.span,
            (m, n) if m > 0 && m == n => a.span,
            _ => lead.span,
        };
        let second: Vec<(SlotId, Term)> = b.updates.iter().map(|(s, v)| (*s, build.substitute(*v, &map))).collect();
        let mut updates: Vec<(SlotId, Term)> =
            first.into_iter().filter(|(s, _)| !second.iter().any(|(t, _)| t == s)).collect();
        updates.extend(second);
        let mut joins = a.joins.clone();
        joins.extend(b.joins.iter().copied());
        Some(FlowStep {
            from: a.from,
            to: b.to,
            inputs,
            guard,
            blocking: a.blocking || b.blocking,
            gates,
            updates,
            what: lead.what,
            span,
            joins,
        })
    }

    /// A value chosen only to be tested once against a constant can be chosen either way: the test says nothing.
    /// (`exists v in range. v != 0` is true, so both branches of `if (nondet())` are free.)
    fn drop_free_tests(&self, step: &mut FlowStep) {
        let build = Build(&self.terms);
        for input in &mut step.inputs {
            for test in self.terms.conjuncts(step.guard) {
                self.narrow(input, test);
            }
        }
        // One value is no choice.
        let decided: Env = step
            .inputs
            .iter()
            .filter_map(|i| i.range.filter(|(low, high)| low == high).map(|(low, _)| (i.symbol, build.num(low))))
            .filter(|(symbol, _)| self.terms.symbol_sort(*symbol) == Sort::INT)
            .collect();
        if !decided.is_empty() {
            step.guard = build.substitute(step.guard, &decided);
            step.gates.iter_mut().for_each(|(_, g)| *g = build.substitute(*g, &decided));
            step.updates.iter_mut().for_each(|(_, v)| *v = build.substitute(*v, &decided));
            step.inputs.retain(|i| !decided.contains_key(&i.symbol));
        }
        for input in step.inputs.clone() {
            let mentions = |t: Term| self.terms.free_symbols(t).contains(&input.symbol);
            let elsewhere =
                step.updates.iter().any(|(_, v)| mentions(*v)) || step.gates.iter().any(|(_, g)| mentions(*g));
            let conjuncts = self.terms.conjuncts(step.guard);
            let tests: Vec<Term> = conjuncts.iter().copied().filter(|c| mentions(*c)).collect();
            if elsewhere || tests.is_empty() || !self.either_way(&tests, input) {
                continue;
            }
            step.guard = build.all(conjuncts.into_iter().filter(|c| !tests.contains(c)));
            step.inputs.retain(|i| i.symbol != input.symbol);
        }
    }

    /// Whether some value of the input satisfies the tests, which speak of nothing else.
    fn either_way(&self, tests: &[Term], input: FlowInput) -> bool {
        let build = Build(&self.terms);
        let alone = |t: &Term| self.terms.free_symbols(*t).iter().all(|s| *s == input.symbol);
        if !tests.iter().all(alone) {
            return false;
        }
        let holds = |value: Term| {
            let map = FxHashMap::from_iter([(input.symbol, value)]);
            tests.iter().all(|t| build.as_bool(build.substitute(*t, &map)) == Some(true))
        };
        if self.terms.symbol_sort(input.symbol) == Sort::BOOL {
            return holds(build.tt()) || holds(build.ff());
        }
        let Some((low, high)) = input.range else { return false };
        // Near the constants it is compared with, and at the ends of its range.
        let mut values = vec![low, high];
        tests.iter().for_each(|t| self.constants(*t, &mut values));
        let near = values.iter().flat_map(|v| [v - 1, *v, v + 1]).collect::<BTreeSet<i128>>();
        near.into_iter().filter(|v| (low..=high).contains(v)).any(|v| holds(build.num(v)))
    }

    fn constants(&self, term: Term, out: &mut Vec<i128>) {
        match self.terms.node(term) {
            logic::Node::Num(n, _) if out.len() < 64 => out.push(n),
            logic::Node::App(_, args) => args.iter().for_each(|a| self.constants(*a, out)),
            _ => {}
        }
    }

    /// Takes from an input's range what a test rules out: methods that try values need not try those.
    fn narrow(&self, input: &mut FlowInput, test: Term) {
        let build = Build(&self.terms);
        let (Some((low, high)), Some((op, args))) = (input.range, self.terms.app(test)) else { return };
        let value = self.terms.sym(input.symbol);
        let (left, right) = match args[..] {
            [a, b] => (a, b),
            _ => return,
        };
        let (new_low, new_high) = match (op, build.as_num(left), build.as_num(right)) {
            (logic::Op::Eq, _, Some(k)) if left == value => (k, k),
            (logic::Op::Lt, _, Some(k)) if left == value => (low, k - 1),
            (logic::Op::Le, _, Some(k)) if left == value => (low, k),
            (logic::Op::Lt, Some(k), _) if right == value => (k + 1, high),
            (logic::Op::Le, Some(k), _) if right == value => (k, high),
            _ => return,
        };
        let (new_low, new_high) = (low.max(new_low), high.min(new_high));
        // An empty range would be a lie; the guard says it all the same.
        if new_low <= new_high {
            input.range = Some((new_low, new_high));
        }
    }
}

/// Which of the rules outside atomic sections are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MergeRule {
    Backward,
    Both,
}

struct StepMarks {
    /// Touches nothing that another thread can reach.
    private: bool,
    /// Writes something that another thread can reach.
    visible: bool,
    /// Others can tell no more than that it frees mutexes.
    frees: bool,
    /// Only waits for threads to end, who never come back: waiting later is as good.
    settled: bool,
}

/// Where a place lies to atomic sections.
#[derive(Clone, Copy)]
struct SectionBorders {
    /// A step to it leaves one.
    left: bool,
    /// A step from it enters one.
    entered: bool,
}

fn removable(
    into: &[&(FlowStep, StepMarks)],
    out: &[&(FlowStep, StepMarks)],
    inside: bool,
    borders: SectionBorders,
    rule: MergeRule,
) -> bool {
    let waits = out.iter().any(|(s, _)| s.blocking);
    let fails_before = into.iter().any(|(s, _)| !s.gates.is_empty());
    if inside {
        return !(waits && fails_before);
    }
    let visible_before = into.iter().any(|(_, m)| m.visible);
    let backward = !borders.entered
        && out.iter().all(|(_, m)| m.private || m.frees)
        && !(waits && (fails_before || visible_before));
    let forward = rule == MergeRule::Both
        && !borders.left
        && into.iter().all(|(s, m)| (m.private || m.settled) && s.gates.is_empty());
    backward || forward
}

/// The steps that can be reached from the entry, in order.
fn reachable(flow: &Flow) -> Vec<FlowStep> {
    let Some(entry) = flow.entry else { return Vec::new() };
    let outs = flow.outs();
    let mut seen = vec![false; flow.places.len()];
    let mut todo = vec![entry];
    seen[entry.index()] = true;
    while let Some(at) = todo.pop() {
        for i in &outs[at.index()] {
            let to = flow.steps[*i].to;
            // A gate that always fails lets nothing through.
            if !seen[to.index()] {
                seen[to.index()] = true;
                todo.push(to);
            }
        }
    }
    flow.steps.iter().filter(|s| seen[s.from.index()]).cloned().collect()
}
