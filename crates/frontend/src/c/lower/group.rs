//! Threads that are copies of each other become one thread of several copies.
//!
//! In: flows after merging. Out: which threads stand for how many copies. Threads that run from the beginning, of
//! one function, whose steps are the same up to the names of what is their own, are instances of one thread: methods that
//! count or use symmetry see it. That each of them has ended is then a number that grows; where somebody waits for all of
//! them at once, for the full number. Deliberately absent: threads whose ends are waited for one by one, with steps in between.

use super::flow::*;
use super::*;

/// Fewer copies stay threads of their own: each then shows under its own name in a run.
const SMALLEST_GROUP: usize = 4;

impl Lower<'_> {
    /// The number of copies of each thread: more than one for the first of a group, none for the others of it.
    pub(super) fn group(&mut self) -> Vec<u32> {
        let mut copies: Vec<u32> = vec![1; self.flows.len()];
        if self.checks(CCheck::Deadlock) {
            return copies;
        }
        let mut next = 1;
        while next < self.flows.len() {
            let first = TaskId(next as u32);
            next += 1;
            if copies[first.index()] == 0 || self.tasks[first].many || self.waits_for_start(first) {
                continue;
            }
            let mut group = vec![first];
            for other in next..self.flows.len() {
                let other = TaskId(other as u32);
                if copies[other.index()] == 1
                    && !self.tasks[other].many
                    && self.tasks[other].function == self.tasks[first].function
                    && !self.waits_for_start(other)
                    && self.same(first, other)
                {
                    group.push(other);
                }
            }
            if group.len() >= SMALLEST_GROUP && self.count_ends(&group) {
                copies[first.index()] = group.len() as u32;
                for other in &group[1..] {
                    copies[other.index()] = 0;
                    self.flows[other.index()].steps.clear();
                }
            }
        }
        copies
    }

    fn waits_for_start(&self, task: TaskId) -> bool {
        let Some(started) = self.tasks[task].started else { return true };
        let touched = |s: &FlowStep| {
            let touch = self.touch(s);
            touch.reads.contains(&started) || touch.writes.contains(&started)
        };
        !self.begins_true(started) || self.flows.iter().flat_map(|f| &f.steps).any(touched)
    }

    /// Whether two threads take the same steps, up to the names of their own slots and their ends.
    fn same(&self, first: TaskId, other: TaskId) -> bool {
        let (a, b) = (&self.flows[first.index()], &self.flows[other.index()]);
        if a.steps.len() != b.steps.len() {
            return false;
        }
        let mut places: FxHashMap<Loc, Loc> = FxHashMap::default();
        let mut back: FxHashMap<Loc, Loc> = FxHashMap::default();
        let mut pair = |x: Loc, y: Loc| -> bool {
            a.places[x].in_atomic_block == b.places[y].in_atomic_block
                && *places.entry(x).or_insert(y) == y
                && *back.entry(y).or_insert(x) == x
        };
        let ends = |x: Option<Loc>, y: Option<Loc>| match (x, y) {
            (Some(x), Some(y)) => Some((x, y)),
            _ => None,
        };
        for both in [ends(a.entry, b.entry), ends(a.exit, b.exit)] {
            match both {
                Some((x, y)) if pair(x, y) => {}
                _ => return false,
            }
        }
        // What is private to the other, in terms of the first.
        let mut names: FxHashMap<Symbol, Term> = FxHashMap::default();
        let mut owned: BTreeMap<SlotId, SlotId> = BTreeMap::new();
        let (done, other_done) = (self.tasks[first].done, self.tasks[other].done);
        let mut slots = |x: SlotId, y: SlotId, names: &mut FxHashMap<Symbol, Term>| -> bool {
            let (p, q) = (&self.slots[x], &self.slots[y]);
            let alike = match (p.owner, q.owner) {
                (SlotOwner::Task(s), SlotOwner::Task(t)) => {
                    s == first && t == other && p.sort == q.sort && p.initial == q.initial && p.range == q.range
                }
                (SlotOwner::Shared, SlotOwner::Shared) => x == y || (x == done && y == other_done),
                _ => false,
            };
            if alike && x != y {
                names.insert(q.symbol, self.terms.sym(p.symbol));
            }
            alike && *owned.entry(x).or_insert(y) == y
        };
        for (s, t) in a.steps.iter().zip(&b.steps) {
            let shape = pair(s.from, t.from)
                && pair(s.to, t.to)
                && s.updates.len() == t.updates.len()
                && s.gates.len() == t.gates.len()
                && s.inputs.len() == t.inputs.len()
                && s.what == t.what
                && s.joins.is_empty()
                && t.joins.is_empty();
            if !shape || !s.updates.iter().zip(&t.updates).all(|((x, _), (y, _))| slots(*x, *y, &mut names)) {
                return false;
            }
            for (i, j) in s.inputs.iter().zip(&t.inputs) {
                if i.range != j.range || self.terms.symbol_sort(i.symbol) != self.terms.symbol_sort(j.symbol) {
                    return false;
                }
                names.insert(j.symbol, self.terms.sym(i.symbol));
            }
        }
        // A slot that is only read has its initial value, which was looked at above or makes the terms differ.
        let build = terms::Build(&self.terms);
        let equal = |x: Term, y: Term| x == build.substitute(y, &names);
        a.steps.iter().zip(&b.steps).all(|(s, t)| {
            equal(s.guard, t.guard)
                && s.gates.iter().zip(&t.gates).all(|((f, x), (g, y))| f == g && equal(*x, *y))
                && s.updates.iter().zip(&t.updates).all(|((_, x), (_, y))| equal(*x, *y))
        })
    }

    /// Replaces the ends of a group by their number; false if somebody looks at one of them alone.
    fn count_ends(&mut self, group: &[TaskId]) -> bool {
        let flags: Vec<SlotId> = group.iter().map(|t| self.tasks[*t].done).collect();
        let symbols: Vec<Term> = flags.iter().map(|f| self.slot_term(*f)).collect();
        let (mut read, mut written) = (false, false);
        for (i, flow) in self.flows.iter().enumerate() {
            let inside = group.iter().any(|t| t.index() == i);
            for step in &flow.steps {
                let touch = self.touch(step);
                let writes = flags.iter().any(|f| touch.writes.contains(f));
                written |= writes;
                if !touch.reads.iter().any(|r| flags.contains(r)) {
                    continue;
                }
                read = true;
                let conjuncts = self.terms.conjuncts(step.guard);
                let whole = symbols.iter().all(|s| conjuncts.contains(s));
                let mentions = |t: Term| {
                    self.terms.free_symbols(t).iter().any(|s| flags.iter().any(|f| self.slots[*f].symbol == *s))
                };
                let elsewhere = conjuncts.iter().any(|c| !symbols.contains(c) && mentions(*c))
                    || step.gates.iter().any(|(_, g)| mentions(*g))
                    || step.updates.iter().any(|(_, v)| mentions(*v));
                if inside || !whole || elsewhere {
                    return false;
                }
            }
        }
        if !read && !written {
            return true;
        }
        let task = self.tasks[group[0]].clone();
        let zero = Some(self.terms.int(0));
        let shown = format!("ended_{}", task.shown);
        let ended = self.internal(&format!("<number ended {}>", task.key), &shown, Sort::INT, zero, task.span);
        let number = self.slot_term(ended);
        let all = self.b().eq(number, self.terms.int(group.len() as i128));
        let more = self.b().add(number, self.terms.int(1));
        let mut flows = std::mem::take(&mut self.flows);
        for step in flows.iter_mut().flat_map(|f| &mut f.steps) {
            for update in step.updates.iter_mut().filter(|(s, _)| flags.contains(s)) {
                *update = (ended, more);
            }
            let conjuncts = self.terms.conjuncts(step.guard);
            if conjuncts.iter().any(|c| symbols.contains(c)) {
                let rest = conjuncts.into_iter().filter(|c| !symbols.contains(c));
                step.guard = self.b().all(rest.chain([all]));
            }
        }
        self.flows = flows;
        true
    }
}
