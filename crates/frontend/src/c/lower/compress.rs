//! Merging steps, once it is known which slots only one thread reaches.
//!
//! Comes in: flows with one step per access. Goes out: flows in which private computation is part of the neighbouring
//! access. Three rules, each removing a location L and composing every step into L with every step out of L:
//! backward (all steps out of L are private: they happen right after the access before), forward (all steps into L are
//! private and cannot fail: they happen right before the access after), inside (L is inside an atomic section).
//! Privacy makes each a commutation of neighbouring steps, so no reachable failure is lost or gained. A step that can wait
//! is never joined to an earlier visible write or gate, for that would hide them while it waits.

use super::flow::*;
use super::phases::{Access, Phases, spawned};
use super::terms::Build;
use super::*;
use std::collections::VecDeque;

/// No location is removed if that makes more steps than this out of it.
const MOST_PRODUCTS: usize = 24;

/// Liveness of shared slots is looked at up to so many pairs of a slot and a place.
const MOST_LIVENESS: usize = 2_000_000;

/// What is known of slots at a place.
pub(super) type Env = FxHashMap<Symbol, Term>;

/// What a step touches.
pub(super) struct Touch {
    pub reads: Vec<SlotId>,
    pub writes: Vec<SlotId>,
}

impl Lower<'_> {
    pub(super) fn touch(&self, step: &Step) -> Touch {
        let mut reads: Vec<SlotId> = Vec::new();
        let terms = step.updates.iter().map(|(_, v)| *v).chain(step.gates.iter().map(|(_, g)| *g));
        for term in terms.chain([step.guard]) {
            for symbol in self.terms.free_symbols(term) {
                if let Some(slot) = self.by_symbol.get(&symbol)
                    && !reads.contains(slot)
                {
                    reads.push(*slot);
                }
            }
        }
        Touch { reads, writes: step.updates.iter().map(|(s, _)| *s).collect() }
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
            if self.slots[id].owner != Owner::Shared || pinned.contains(&id) {
                continue;
            }
            let asked = if self.checks(Check::Race) { self.location(id) } else { id };
            if let Some(tasks) = users.get(&asked)
                && let (1, Some(task)) = (tasks.len(), tasks.first())
                && !self.tasks[*task].many
            {
                self.slots[id].owner = Owner::Task(*task);
            }
        }
    }

    /// Whether nobody can tell when the step happens: no other thread can meet an access of it.
    fn is_private(&self, step: &Step, task: TaskId, phases: &Phases) -> bool {
        let touch = self.touch(step);
        let under = self.covers(step, task, &phases.locks);
        let seen = |s: &SlotId, access| {
            self.slots[*s].owner == Owner::Shared && phases.contended(*s, task, step.from, under, access)
        };
        !touch.reads.iter().any(|s| seen(s, Access::Read)) && !touch.writes.iter().any(|s| seen(s, Access::Write))
    }

    fn writes_shared(&self, step: &Step, task: TaskId, phases: &Phases) -> bool {
        let under = self.covers(step, task, &phases.locks);
        step.updates.iter().any(|(s, _)| {
            self.slots[*s].owner == Owner::Shared && phases.contended(*s, task, step.from, under, Access::Write)
        })
    }

    /// Whether all that others can tell of the step is that it frees mutexes: then it can as well happen earlier.
    fn only_frees(&self, step: &Step, task: TaskId, phases: &Phases) -> bool {
        let touch = self.touch(step);
        let under = self.covers(step, task, &phases.locks);
        let seen = |s: &SlotId, access| {
            self.slots[*s].owner == Owner::Shared && phases.contended(*s, task, step.from, under, access)
        };
        let frees = |s: &SlotId| {
            phases.locks.is_simple(*s)
                && phases.locks.holds(task, step.from, *s)
                && step.updates.iter().any(|(u, v)| u == s && self.b().as_num(*v) == Some(0))
        };
        !touch.reads.iter().any(|s| seen(s, Access::Read))
            && !touch.writes.iter().any(|s| seen(s, Access::Write) && !frees(s))
    }

    fn is_settled(&self, step: &Step, task: TaskId, phases: &Phases, ends: &BTreeSet<SlotId>) -> bool {
        if step.joins.is_empty() || !step.gates.is_empty() || self.writes_shared(step, task, phases) {
            return false;
        }
        let under = self.covers(step, task, &phases.locks);
        let contended = |t: Term| {
            self.terms.free_symbols(t).iter().filter_map(|s| self.by_symbol.get(s)).any(|slot| {
                self.slots[*slot].owner == Owner::Shared
                    && phases.contended(*slot, task, step.from, under, Access::Read)
            })
        };
        let end = |t: Term| {
            self.terms.as_symbol(t).and_then(|s| self.by_symbol.get(&s)).is_some_and(|slot| ends.contains(slot))
        };
        self.terms.conjuncts(step.guard).into_iter().all(|c| end(c) || !contended(c))
            && step.updates.iter().all(|(_, v)| !contended(*v))
    }

    /// Merges and cleans all flows.
    pub(super) fn compress(&mut self) {
        for _ in 0..6 {
            let before: Vec<usize> = self.flows.iter().map(|f| f.steps.len()).collect();
            let phases = self.phases();
            let mut changed = false;
            let mut entries: Vec<Option<Env>> = vec![None; self.flows.len()];
            for i in 0..self.flows.len() {
                let mut flow = std::mem::take(&mut self.flows[i]);
                self.fold_constants(&mut flow, TaskId(i as u32), &phases, &mut entries);
                self.flows[i] = flow;
            }
            for i in 0..self.flows.len() {
                let mut flow = std::mem::take(&mut self.flows[i]);
                let task = TaskId(i as u32);
                self.fold_copies(&mut flow, task);
                // Tests belong to the read before them; only what is left is moved to the access after it.
                self.merge(&mut flow, Rule::Backward, task, &phases);
                changed |= self.drop_dead_updates(&mut flow, task, &phases);
                self.merge(&mut flow, Rule::Both, task, &phases);
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
        let slots_of = |t: Term| -> Vec<SlotId> {
            self.terms.free_symbols(t).iter().filter_map(|s| self.by_symbol.get(s).copied()).collect()
        };
        let mut sources: FxHashMap<SlotId, Vec<Term>> = FxHashMap::default();
        for step in self.flows.iter().flat_map(|f| &f.steps) {
            needed.extend(slots_of(step.guard));
            step.gates.iter().for_each(|(_, g)| needed.extend(slots_of(*g)));
            step.updates.iter().for_each(|(s, v)| sources.entry(*s).or_default().push(*v));
        }
        let mut queue: Vec<SlotId> = needed.iter().copied().collect();
        while let Some(slot) = queue.pop() {
            for source in sources.remove(&slot).unwrap_or_default().into_iter().flat_map(slots_of) {
                if needed.insert(source) {
                    queue.push(source);
                }
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

    /// Replaces slots by their value where it is the same constant on every way to a step and nobody else can change it
    /// meanwhile. A new thread knows what its creator knows.
    fn fold_constants(&self, flow: &mut Flow, task: TaskId, phases: &Phases, entries: &mut [Option<Env>]) {
        let build = Build(&self.terms);
        let Some(entry) = flow.entry else { return };
        let constant = |t: Term| build.as_num(t).is_some() || build.as_bool(t).is_some();
        // Whether what is known of a shared slot stays true while the thread stands at a place.
        let steady = |symbol: Symbol, at: Loc| -> bool {
            self.by_symbol.get(&symbol).is_some_and(|slot| {
                self.slots[*slot].owner == Owner::Task(task)
                    || !phases.contended(*slot, task, at, phases.locks.at(task, at), Access::Read)
            })
        };
        let mut start: Env = entries[task.0 as usize].take().unwrap_or_default();
        start.retain(|symbol, _| steady(*symbol, entry));
        for slot in self.slots.iter() {
            let own = slot.owner == Owner::Task(task)
                || (task == TaskId(0) && slot.owner == Owner::Shared && steady(slot.symbol, entry));
            // A temporary is written before it is read.
            let told = own && !slot.key.starts_with("<temp ");
            if told && let Some(initial) = slot.initial.filter(|t| constant(*t)) {
                start.insert(slot.symbol, initial);
            }
        }
        // Only of these does anything have to be forgotten.
        let mut shared: Vec<Symbol> = start.keys().copied().collect();
        shared.extend(flow.steps.iter().flat_map(|s| &s.updates).map(|(slot, _)| self.slots[*slot].symbol));
        shared.retain(|s| self.by_symbol.get(s).is_none_or(|slot| self.slots[*slot].owner != Owner::Task(task)));
        shared.sort_unstable();
        shared.dedup();
        let mut envs: Vec<Option<Env>> = vec![None; flow.places.len()];
        envs[entry.0 as usize] = Some(start);
        let mut outs: Vec<Vec<usize>> = vec![Vec::new(); flow.places.len()];
        for (i, step) in flow.steps.iter().enumerate() {
            outs[step.from.0 as usize].push(i);
        }
        let mut queue: VecDeque<Loc> = VecDeque::from([entry]);
        let mut given: Vec<(TaskId, usize)> = Vec::new();
        while let Some(at) = queue.pop_front() {
            let Some(env) = envs[at.0 as usize].clone() else { continue };
            for i in &outs[at.0 as usize] {
                let step = &flow.steps[*i];
                if build.as_bool(build.substitute(step.guard, &env)) == Some(false) {
                    continue;
                }
                given.extend(spawned(step, phases.starts()).filter(|c| *c != task).map(|child| (child, *i)));
                let after = self.env_after(step, &env, task, &shared, |s| steady(s, step.to));
                let target = &mut envs[step.to.0 as usize];
                let changed = match target {
                    None => {
                        *target = Some(after);
                        true
                    }
                    Some(old) => {
                        let before = old.len();
                        old.retain(|s, v| after.get(s) == Some(v));
                        old.len() != before
                    }
                };
                if changed {
                    queue.push_back(step.to);
                }
            }
        }
        given.sort_unstable();
        given.dedup();
        for (child, i) in given {
            let step = &flow.steps[i];
            let Some(env) = &envs[step.from.0 as usize] else { continue };
            let mut known = self.env_after(step, env, task, &[], |_| true);
            known.retain(|s, _| self.by_symbol.get(s).is_some_and(|slot| self.slots[*slot].owner == Owner::Shared));
            match &mut entries[child.0 as usize] {
                none @ None => *none = Some(known),
                Some(old) => old.retain(|s, v| known.get(s) == Some(v)),
            }
        }
        if task == TaskId(0) {
            self.know_initial(entries);
        }
        let old = std::mem::take(&mut flow.steps);
        for mut step in old {
            let Some(env) = &envs[step.from.0 as usize] else { continue };
            step.guard = build.substitute(step.guard, env);
            if build.as_bool(step.guard) == Some(false) {
                continue;
            }
            for (_, gate) in &mut step.gates {
                *gate = build.substitute(*gate, env);
            }
            step.gates.retain(|(_, g)| build.as_bool(*g) != Some(true));
            for (_, value) in &mut step.updates {
                *value = build.substitute(*value, env);
            }
            flow.steps.push(step);
        }
    }

    /// Threads that run from the beginning know the initial values.
    fn know_initial(&self, entries: &mut [Option<Env>]) {
        let build = Build(&self.terms);
        for (id, task) in self.tasks.iter_enumerated() {
            if !task.started.is_some_and(|s| self.begins_true(s)) {
                continue;
            }
            let shared = self.slots.iter().filter(|s| s.owner == Owner::Shared);
            let known: Env = shared
                .filter_map(|s| Some((s.symbol, s.initial?)))
                .filter(|(_, t)| build.as_num(*t).is_some() || build.as_bool(*t).is_some())
                .collect();
            match &mut entries[id.0 as usize] {
                none @ None => *none = Some(known),
                Some(old) => old.retain(|s, v| known.get(s) == Some(v)),
            }
        }
    }

    /// What is known after a step, of the slots that stay as they are at its target.
    fn env_after(
        &self,
        step: &Step,
        env: &Env,
        task: TaskId,
        shared: &[Symbol],
        steady: impl Fn(Symbol) -> bool,
    ) -> Env {
        let build = Build(&self.terms);
        let mut after = env.clone();
        for symbol in shared {
            if after.contains_key(symbol) && !steady(*symbol) {
                after.remove(symbol);
            }
        }
        for (slot, value) in &step.updates {
            let slot = &self.slots[*slot];
            let value = build.substitute(*value, env);
            let known = build.as_num(value).is_some() || build.as_bool(value).is_some();
            let own = slot.owner == Owner::Task(task) || (slot.owner == Owner::Shared && steady(slot.symbol));
            if own && known {
                after.insert(slot.symbol, value);
            } else {
                after.remove(&slot.symbol);
            }
        }
        after
    }

    fn merge(&self, flow: &mut Flow, rule: Rule, task: TaskId, phases: &Phases) {
        let count = flow.places.len();
        let ends: BTreeSet<SlotId> = self.tasks.iter().filter(|t| !t.many).map(|t| t.done).collect();
        let mut steps: Vec<Option<(Step, Marks)>> = Vec::new();
        let mut ins: Vec<Vec<usize>> = vec![Vec::new(); count];
        let mut outs: Vec<Vec<usize>> = vec![Vec::new(); count];
        let add = |steps: &mut Vec<Option<(Step, Marks)>>,
                   ins: &mut Vec<Vec<usize>>,
                   outs: &mut Vec<Vec<usize>>,
                   step: Step| {
            let marks = Marks {
                private: self.is_private(&step, task, phases),
                visible: self.writes_shared(&step, task, phases),
                frees: self.only_frees(&step, task, phases),
                settled: self.is_settled(&step, task, phases, &ends),
            };
            let at = steps.len();
            outs[step.from.0 as usize].push(at);
            ins[step.to.0 as usize].push(at);
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
            let into: Vec<&(Step, Marks)> = ins[at].iter().filter_map(get).collect();
            let out: Vec<&(Step, Marks)> = outs[at].iter().filter_map(get).collect();
            if into.iter().any(|(s, _)| s.from == loc) {
                continue;
            }
            let small = into.len() * out.len() <= (into.len() + out.len() + 1).max(6)
                || (flow.places[loc].inside && into.len() * out.len() <= MOST_PRODUCTS);
            if !small || !removable(&into, &out, flow.places[loc].inside, rule) {
                continue;
            }
            let pairs: Vec<Step> = into
                .iter()
                .flat_map(|a| out.iter().map(move |b| (*a, *b)))
                .filter_map(|((a, m), (b, n))| {
                    // The step is known by its access.
                    let lead = if m.private && !n.private { b } else { a };
                    self.compose(a, b, lead)
                })
                .collect();
            let gone: Vec<usize> = ins[at].iter().chain(&outs[at]).copied().collect();
            for i in gone {
                if let Some((step, _)) = steps[i].take() {
                    let (from, to) = (step.from.0 as usize, step.to.0 as usize);
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
    fn compose(&self, a: &Step, b: &Step, lead: &Step) -> Option<Step> {
        let build = Build(&self.terms);
        // Inputs belong to one step alone: a copy gets its own.
        let mut inputs = Vec::new();
        let fresh = |inputs: &mut Vec<Input>, of: &[Input]| -> FxHashMap<Symbol, Term> {
            of.iter()
                .map(|input| {
                    let sort = self.terms.symbol_sort(input.symbol);
                    let symbol = self.terms.symbol(self.terms.symbol_name(input.symbol), sort);
                    inputs.push(Input { symbol, range: input.range });
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
        let mut gates: Vec<(Failure, Term)> = a.gates.iter().map(|(f, g)| (f.clone(), renamed(*g))).collect();
        let before = gates.len();
        for (failure, gate) in &b.gates {
            let gate = build.substitute(*gate, &map);
            if build.as_bool(gate) != Some(true) {
                gates.push((failure.clone(), gate));
            }
        }
        // A step that can fail is told where it does.
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
        Some(Step {
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
    fn drop_free_tests(&self, step: &mut Step) {
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
    fn either_way(&self, tests: &[Term], input: Input) -> bool {
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
    fn narrow(&self, input: &mut Input, test: Term) {
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

    /// Drops assignments that nobody reads afterwards: of private slots, and in the first thread of shared ones that no
    /// thread who runs or is started later can still see.
    fn drop_dead_updates(&self, flow: &mut Flow, task: TaskId, phases: &Phases) -> bool {
        let count = flow.places.len();
        let touches: Vec<Touch> = flow.steps.iter().map(|s| self.touch(s)).collect();
        let mut live: Vec<BTreeSet<SlotId>> = vec![BTreeSet::new(); count];
        let mut candidates: BTreeSet<SlotId> = BTreeSet::new();
        if task == TaskId(0) {
            candidates.extend(touches.iter().flat_map(|t| t.writes.iter().copied()).filter(|s| {
                self.slots[*s].owner == Owner::Shared && !phases.pinned(*s) && !phases.starts().contains_key(s)
            }));
            if candidates.len() * count > MOST_LIVENESS {
                candidates.clear();
            }
        }
        for slot in &candidates {
            let readers = phases.readers(*slot);
            for (at, live) in live.iter_mut().enumerate() {
                if readers.iter().any(|r| *r != task && phases.may_run(task, Loc(at as u32), *r)) {
                    live.insert(*slot);
                }
            }
        }
        let private = |s: &SlotId| self.slots[*s].owner != Owner::Shared || candidates.contains(s);
        let mut ins: Vec<Vec<usize>> = vec![Vec::new(); count];
        for (i, step) in flow.steps.iter().enumerate() {
            ins[step.to.0 as usize].push(i);
        }
        // What each value needs counts only if its target is live; guards and gates always count.
        let needs: Vec<(Vec<SlotId>, Vec<(SlotId, Vec<SlotId>)>)> = flow
            .steps
            .iter()
            .map(|step| {
                let of = |t: Term| -> Vec<SlotId> {
                    self.terms
                        .free_symbols(t)
                        .iter()
                        .filter_map(|s| self.by_symbol.get(s).copied())
                        .filter(private)
                        .collect()
                };
                let mut always = of(step.guard);
                step.gates.iter().for_each(|(_, g)| always.extend(of(*g)));
                let each = step.updates.iter().map(|(s, v)| (*s, of(*v))).collect();
                (always, each)
            })
            .collect();
        let mut queue: VecDeque<usize> = (0..flow.steps.len()).collect();
        let mut queued = vec![true; flow.steps.len()];
        while let Some(i) = queue.pop_front() {
            queued[i] = false;
            let step = &flow.steps[i];
            let after = live[step.to.0 as usize].clone();
            let (always, each) = &needs[i];
            let mut before: BTreeSet<SlotId> = always.iter().copied().collect();
            let mut after = after;
            if !candidates.is_empty() {
                // What a new thread, or one it starts, may read is read after this step.
                for child in spawned(step, phases.starts()).filter(|c| *c != task) {
                    let reads = |s: &SlotId| phases.readers(*s).iter().any(|r| phases.in_family(child, *r));
                    after.extend(candidates.iter().copied().filter(reads));
                }
            }
            for slot in &after {
                if !touches[i].writes.contains(slot) {
                    before.insert(*slot);
                }
            }
            for (slot, reads) in each {
                if !private(slot) || after.contains(slot) {
                    before.extend(reads.iter().copied());
                }
            }
            let at = &mut live[step.from.0 as usize];
            let old = at.len();
            at.extend(before);
            if at.len() != old {
                for j in &ins[step.from.0 as usize] {
                    if !queued[*j] {
                        queued[*j] = true;
                        queue.push_back(*j);
                    }
                }
            }
        }
        let mut removed = false;
        for step in &mut flow.steps {
            let after = &live[step.to.0 as usize];
            let old = step.updates.len();
            let children: Vec<TaskId> = spawned(step, phases.starts()).filter(|c| *c != task).collect();
            let handed = |s: &SlotId| {
                !children.is_empty()
                    && phases.readers(*s).iter().any(|r| children.iter().any(|c| phases.in_family(*c, *r)))
            };
            step.updates.retain(|(s, v)| {
                let same = self.terms.as_symbol(*v) == Some(self.slots[*s].symbol);
                (!private(s) || after.contains(s) || handed(s)) && !same
            });
            removed |= step.updates.len() != old;
            let mut used: Vec<Symbol> = self.terms.free_symbols(step.guard);
            step.updates.iter().for_each(|(_, v)| used.extend(self.terms.free_symbols(*v)));
            step.gates.iter().for_each(|(_, g)| used.extend(self.terms.free_symbols(*g)));
            // A range is never empty, so a value nobody uses can go with it.
            step.inputs.retain(|i| used.contains(&i.symbol));
        }
        removed
    }
}

/// Which of the rules outside atomic sections are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Backward,
    Both,
}

struct Marks {
    /// Touches nothing that another thread can reach.
    private: bool,
    /// Writes something that another thread can reach.
    visible: bool,
    /// Others can tell no more than that it frees mutexes.
    frees: bool,
    /// Only waits for threads to end, who never come back: waiting later is as good.
    settled: bool,
}

fn removable(into: &[&(Step, Marks)], out: &[&(Step, Marks)], inside: bool, rule: Rule) -> bool {
    let waits = out.iter().any(|(s, _)| s.blocking);
    let fails_before = into.iter().any(|(s, _)| !s.gates.is_empty());
    if inside {
        return !(waits && fails_before);
    }
    let visible_before = into.iter().any(|(_, m)| m.visible);
    let backward = out.iter().all(|(_, m)| m.private || m.frees) && !(waits && (fails_before || visible_before));
    let forward = rule == Rule::Both && into.iter().all(|(s, m)| (m.private || m.settled) && s.gates.is_empty());
    backward || forward
}

/// The steps that can be reached from the entry, in order.
fn reachable(flow: &Flow) -> Vec<Step> {
    let Some(entry) = flow.entry else { return Vec::new() };
    let mut outs: Vec<Vec<usize>> = vec![Vec::new(); flow.places.len()];
    for (i, step) in flow.steps.iter().enumerate() {
        outs[step.from.0 as usize].push(i);
    }
    let mut seen = vec![false; flow.places.len()];
    let mut todo = vec![entry];
    seen[entry.0 as usize] = true;
    while let Some(at) = todo.pop() {
        for i in &outs[at.0 as usize] {
            let to = flow.steps[*i].to;
            // A gate that always fails lets nothing through.
            if !seen[to.0 as usize] {
                seen[to.0 as usize] = true;
                todo.push(to);
            }
        }
    }
    flow.steps.iter().filter(|s| seen[s.from.0 as usize]).cloned().collect()
}
