//! How many copies of a repeated thread can be started at most.
//!
//! In: flows after merging, in which a creator hands a repeated thread its start. Out: a bound on how often it does,
//! where a counter gives one: within the loop around the creation (its strongly connected part) some number of the
//! creator's own only grows, grows on every way from one creation to the next, and has bounds where the thread is created. The bounds
//! come of an interval analysis of the creator's numbers. More copies than the bound would never start, so a thread with that many copies is
//! the same program as one with any number, and a finite one. Deliberately absent: numbers that other threads write.

use super::flow::*;
use super::*;
use logic::{Node, Op};

/// With more copies than this a thread is as well one of any number.
const MAX_COPIES: i128 = 12;
/// How often a place is looked at before bounds that still move are given up, and how often they are then narrowed.
const VISITS_BEFORE_WIDENING: u32 = 4;
const NARROWING_ROUNDS: usize = 3;

const LEAST_BOUND: i128 = -(1 << 100);
const GREATEST_BOUND: i128 = 1 << 100;

type Interval = (i128, i128);
type Numbers = BTreeMap<SlotId, Interval>;

const ANY: Interval = (LEAST_BOUND, GREATEST_BOUND);

impl Lower<'_> {
    /// The greatest number of copies of a repeated thread that ever start, where it is known and small.
    pub(super) fn most_copies(&self, task: TaskId) -> Option<u32> {
        let started = self.tasks[task].started.filter(|s| !self.opened.contains(s))?;
        if self.begins_true(started) {
            return None;
        }
        let mut total: i128 = 0;
        for (i, flow) in self.flows.iter().enumerate().filter(|(i, _)| *i != task.index()) {
            let creator = TaskId(i as u32);
            let gives = |s: &&FlowStep| s.updates.iter().any(|(slot, _)| *slot == started);
            let mut places = None;
            for step in flow.steps.iter().filter(gives) {
                if self.tasks[creator].many {
                    return None;
                }
                let inner = around(flow, step);
                if inner.is_empty() {
                    total += 1;
                    continue;
                }
                let places = places.get_or_insert_with(|| self.intervals(creator, flow));
                total += self.most_turns(flow, step, &inner, places, creator)?;
            }
        }
        (total <= MAX_COPIES).then_some(total.max(1) as u32)
    }

    /// How often a step of a loop can be taken in one stay in the loop.
    fn most_turns(
        &self,
        flow: &Flow,
        step: &FlowStep,
        inner: &BTreeSet<Loc>,
        places: &[Option<Numbers>],
        creator: TaskId,
    ) -> Option<i128> {
        let within = |s: &&FlowStep| inner.contains(&s.from) && inner.contains(&s.to);
        let growth = |s: &FlowStep, v: SlotId| -> Option<i128> {
            let (_, value) = s.updates.iter().find(|(slot, _)| *slot == v)?;
            let Some((Op::Add, args)) = self.terms.app(*value) else { return Some(0) };
            let own = self.slot_term(v);
            let by = args.iter().filter(|a| **a != own).copied().collect::<Vec<_>>();
            match by[..] {
                [by] if args.len() == 2 => Some(self.b().as_num(by).filter(|n| *n > 0).unwrap_or(0)),
                _ => Some(0),
            }
        };
        let here = self.refined(places[step.from.index()].as_ref()?, step);
        let mut best: Option<i128> = None;
        for (v, (low, high)) in here.iter().filter(|(_, i)| LEAST_BOUND < i.0 && i.1 < GREATEST_BOUND) {
            if !self.is_own(*v, creator) {
                continue;
            }
            // It is written in the loop only to grow.
            let grows: Vec<Option<i128>> = flow.steps.iter().filter(within).map(|s| growth(s, *v)).collect();
            if grows.contains(&Some(0)) {
                continue;
            }
            let Some(least) = grows.into_iter().flatten().min() else { continue };
            // It grows between any two creations.
            let still = |s: &&FlowStep| within(s) && growth(s, *v).is_none();
            if growth(step, *v).is_none() && reaches(flow, step.to, step.from, &still) {
                continue;
            }
            let turns = (high - low) / least + 1;
            best = Some(best.map_or(turns, |b: i128| b.min(turns)));
        }
        best.filter(|b| *b <= MAX_COPIES)
    }

    /// Whether only the thread itself writes a number.
    fn is_own(&self, slot: SlotId, task: TaskId) -> bool {
        if self.slots[slot].sort != Sort::INT {
            return false;
        }
        match self.slots[slot].owner {
            SlotOwner::Task(owner) => owner == task,
            SlotOwner::Shared => {
                !self.flows.iter().enumerate().any(|(i, f)| {
                    i != task.index() && f.steps.iter().any(|s| s.updates.iter().any(|(x, _)| *x == slot))
                })
            }
        }
    }

    /// Bounds of the thread's own numbers at each of its places; `None` where it never comes.
    fn intervals(&self, task: TaskId, flow: &Flow) -> Vec<Option<Numbers>> {
        let mut own: BTreeSet<SlotId> = BTreeSet::new();
        for step in &flow.steps {
            let touch = self.touch(step);
            own.extend(touch.reads.iter().chain(&touch.writes).copied());
        }
        own.retain(|s| self.is_own(*s, task));
        let mut out: Vec<Option<Numbers>> = vec![None; flow.places.len()];
        let Some(entry) = flow.entry else { return out };
        let first = |s: &SlotId| match self.slots[*s].initial {
            Some(t) => self.b().as_num(t).map_or(self.range(*s), |n| (n, n)),
            None => self.range(*s),
        };
        let start: Numbers = own.iter().map(|s| (*s, first(s))).collect();
        out[entry.index()] = Some(start.clone());
        let mut visits: Vec<u32> = vec![0; flow.places.len()];
        let mut queue = vec![entry];
        while let Some(at) = queue.pop() {
            let Some(now) = out[at.index()].clone() else { continue };
            for step in flow.steps.iter().filter(|s| s.from == at) {
                let Some(after) = self.after(&now, step) else { continue };
                let target = &mut out[step.to.index()];
                let new = match target {
                    None => after,
                    Some(old) => {
                        let tired = visits[step.to.index()] > VISITS_BEFORE_WIDENING;
                        old.iter().map(|(s, i)| (*s, self.widened(*s, *i, after[s], tired))).collect()
                    }
                };
                if target.as_ref() != Some(&new) {
                    visits[step.to.index()] += 1;
                    *target = Some(new);
                    queue.push(step.to);
                }
            }
        }
        // What was given up may be found again from where it is now.
        for _ in 0..NARROWING_ROUNDS {
            let mut next: Vec<Option<Numbers>> = vec![None; flow.places.len()];
            next[entry.index()] = Some(start.clone());
            for step in &flow.steps {
                let Some(after) = out[step.from.index()].as_ref().and_then(|now| self.after(now, step)) else {
                    continue;
                };
                let target = &mut next[step.to.index()];
                *target = Some(match target.take() {
                    None => after,
                    Some(old) => old.iter().map(|(s, i)| (*s, join(*i, after[s]))).collect(),
                });
            }
            out = next;
        }
        out
    }

    fn range(&self, slot: SlotId) -> Interval {
        self.slots[slot].range.unwrap_or(ANY)
    }

    fn widened(&self, slot: SlotId, old: Interval, new: Interval, tired: bool) -> Interval {
        let (low, high) = join(old, new);
        if !tired {
            return (low, high);
        }
        let range = self.range(slot);
        (if low < old.0 { range.0.min(low) } else { low }, if high > old.1 { range.1.max(high) } else { high })
    }

    /// After a step, if it can be taken.
    fn after(&self, now: &Numbers, step: &FlowStep) -> Option<Numbers> {
        let before = self.refined(now, step);
        if before.values().any(|(low, high)| low > high) {
            return None;
        }
        let inputs = self.inputs(&before, step);
        let mut after: Numbers = before.iter().filter(|(s, _)| now.contains_key(s)).map(|(s, i)| (*s, *i)).collect();
        for (slot, value) in step.updates.iter().filter(|(s, _)| now.contains_key(s)) {
            let (low, high) = self.interval(*value, &before, &inputs);
            let range = self.range(*slot);
            after.insert(*slot, (low.max(range.0), high.min(range.1)));
        }
        Some(after)
    }

    /// What the guard says of the numbers at a place.
    fn refined(&self, now: &Numbers, step: &FlowStep) -> Numbers {
        self.guarded(now, step).0
    }

    fn inputs(&self, now: &Numbers, step: &FlowStep) -> BTreeMap<Symbol, Interval> {
        self.guarded(now, step).1
    }

    fn guarded(&self, now: &Numbers, step: &FlowStep) -> (Numbers, BTreeMap<Symbol, Interval>) {
        let mut numbers = now.clone();
        let mut inputs: BTreeMap<Symbol, Interval> =
            step.inputs.iter().map(|i| (i.symbol, i.range.unwrap_or(ANY))).collect();
        let conjuncts = self.terms.conjuncts(step.guard);
        for _ in 0..2 {
            for c in &conjuncts {
                let Some((op, args)) = self.terms.app(*c) else { continue };
                let (a, b) = match (op, &args[..]) {
                    (Op::Lt | Op::Le | Op::Eq, [a, b]) if self.terms.sort_of(*a) == Sort::INT => (*a, *b),
                    _ => continue,
                };
                let (low, high) = (self.interval(a, &numbers, &inputs), self.interval(b, &numbers, &inputs));
                let gap = i128::from(op == Op::Lt);
                let mut meet = |t: Term, (l, h): Interval| self.keep_within(t, (l, h), &mut numbers, &mut inputs);
                meet(a, (if op == Op::Eq { high.0 } else { LEAST_BOUND }, high.1.saturating_sub(gap)));
                meet(b, (low.0.saturating_add(gap), if op == Op::Eq { low.1 } else { GREATEST_BOUND }));
            }
        }
        (numbers, inputs)
    }

    /// A number, or one plus a constant, lies within these bounds.
    fn keep_within(
        &self,
        term: Term,
        (low, high): Interval,
        numbers: &mut Numbers,
        inputs: &mut BTreeMap<Symbol, Interval>,
    ) {
        let (symbol, by) = match self.terms.node(term) {
            Node::Sym(s) => (s, 0),
            Node::App(Op::Add, args) if args.len() == 2 => {
                match (self.terms.as_symbol(args[0]), self.b().as_num(args[1])) {
                    (Some(s), Some(by)) => (s, by),
                    _ => return,
                }
            }
            _ => return,
        };
        let cut = |i: &mut Interval| {
            if low > LEAST_BOUND {
                i.0 = i.0.max(low.saturating_sub(by));
            }
            if high < GREATEST_BOUND {
                i.1 = i.1.min(high.saturating_sub(by));
            }
        };
        if let Some(i) = inputs.get_mut(&symbol) {
            cut(i);
        } else if let Some(i) = self.by_symbol.get(&symbol).and_then(|s| numbers.get_mut(s)) {
            cut(i);
        }
    }

    fn interval(&self, term: Term, numbers: &Numbers, inputs: &BTreeMap<Symbol, Interval>) -> Interval {
        let of = |t: Term| self.interval(t, numbers, inputs);
        let (low, high) = match self.terms.node(term) {
            Node::Num(n, _) => (n, n),
            Node::Sym(s) => match (inputs.get(&s), self.by_symbol.get(&s)) {
                (Some(i), _) => *i,
                (None, Some(slot)) => numbers.get(slot).copied().unwrap_or(self.range(*slot)),
                (None, None) => ANY,
            },
            Node::App(Op::Add, args) if args.len() == 2 => {
                let (a, b) = (of(args[0]), of(args[1]));
                (a.0.saturating_add(b.0), a.1.saturating_add(b.1))
            }
            Node::App(Op::Sub, args) if args.len() == 2 => {
                let (a, b) = (of(args[0]), of(args[1]));
                (a.0.saturating_sub(b.1), a.1.saturating_sub(b.0))
            }
            Node::App(Op::Ite, args) => join(of(args[1]), of(args[2])),
            _ => ANY,
        };
        (low.max(LEAST_BOUND), high.min(GREATEST_BOUND))
    }
}

fn join(a: Interval, b: Interval) -> Interval {
    (a.0.min(b.0), a.1.max(b.1))
}

/// The places of the largest loop that a step is part of; none if it is part of no loop.
fn around(flow: &Flow, step: &FlowStep) -> BTreeSet<Loc> {
    let any = |_: &&FlowStep| true;
    if !reaches(flow, step.to, step.from, &any) {
        return BTreeSet::new();
    }
    flow.places.ids().filter(|l| reaches(flow, step.to, *l, &any) && reaches(flow, *l, step.from, &any)).collect()
}

/// Whether these steps lead from one place to another.
fn reaches(flow: &Flow, from: Loc, to: Loc, steps: &impl Fn(&&FlowStep) -> bool) -> bool {
    let (mut seen, mut todo) = (BTreeSet::from([from]), vec![from]);
    while let Some(at) = todo.pop() {
        if at == to {
            return true;
        }
        for step in flow.steps.iter().filter(|s| s.from == at && steps(s)) {
            if seen.insert(step.to) {
                todo.push(step.to);
            }
        }
    }
    false
}
