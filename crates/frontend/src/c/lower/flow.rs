//! The lowering's own form of code: locations and steps over slots, before they become the model's actions.
//!
//! A step waits on its guard, fails on its gates, updates slots at once. Kept apart from `program::Code` because
//! shared and private slots are only distinguished when the whole program is known, and steps are merged after that.
//! In: steps as the lowering meets them. Out: a `Flow` for each task, and which steps leave a location.

use base::{IdVec, Span};
use logic::{Sort, Symbol, Term};
use program::What;
use std::collections::BTreeSet;

base::id_type!(
    /// A slot: one variable of the model to be.
    SlotId, "q"
);
base::id_type!(
    /// A location of one thread's flow.
    Loc, "L"
);
base::id_type!(
    /// A thread of the program to be.
    TaskId, "task"
);

/// Who can reach a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum SlotOwner {
    Shared,
    Task(TaskId),
}

/// What a slot is to the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlotRole {
    Data,
    /// Declared atomic; an access through another type is a plain one all the same.
    Atomic,
    /// An object of the thread library.
    Library,
    /// Our own: it never races.
    Internal,
}

#[derive(Clone, Debug)]
pub(super) struct FlowSlot {
    /// Unique and the same in every pass.
    pub key: String,
    /// What a person calls it.
    pub shown: String,
    pub sort: Sort,
    pub symbol: Symbol,
    pub owner: SlotOwner,
    /// The initial value; `None`: any value in `range`.
    pub initial: Option<Term>,
    /// The range of the C type, for integer slots.
    pub range: Option<(i128, i128)>,
    pub lock: bool,
    /// Begins with a value given from outside the program, which is one of its type.
    pub external: bool,
    pub(crate) role: SlotRole,
    pub span: Span,
}

/// A value the step chooses, with its range.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowInput {
    pub symbol: Symbol,
    pub range: Option<(i128, i128)>,
}

#[derive(Clone, Debug)]
pub(super) struct FlowStep {
    pub from: Loc,
    pub to: Loc,
    pub inputs: Vec<FlowInput>,
    pub guard: Term,
    /// Blocks for good reasons of the program (locks, joins, assumptions), so it must not swallow an earlier write.
    pub(crate) blocking: bool,
    pub gates: Vec<(GateFailure, Term)>,
    pub updates: Vec<(SlotId, Term)>,
    pub what: What,
    pub span: Span,
    /// Threads whose end this step has waited for.
    pub joins: Vec<TaskId>,
}

/// Why a gate fails: the property it belongs to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum GateFailure {
    /// `reach_error`, `assert`: the one at this place.
    Reach(Span),
    Overflow,
    Division,
    Shift,
    Deref,
    Free,
    /// A mutex unlocked by a thread that does not hold it.
    Unlock,
    Leak,
    Race(String),
    /// What is not modelled, and where it stands.
    Unmodelled(String, Span),
}

#[derive(Clone, Debug)]
pub(super) struct FlowPlace {
    pub span: Span,
    /// Strictly inside an atomic section.
    pub in_atomic_block: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Flow {
    pub places: IdVec<Loc, FlowPlace>,
    pub steps: Vec<FlowStep>,
    pub entry: Option<Loc>,
    pub exit: Option<Loc>,
}

impl Flow {
    /// By place, the steps that leave it.
    pub(crate) fn outs(&self) -> Vec<Vec<usize>> {
        let mut outs = vec![Vec::new(); self.places.len()];
        self.steps.iter().enumerate().for_each(|(i, step)| outs[step.from.index()].push(i));
        outs
    }

    /// By place, the steps that lead to it.
    pub(crate) fn ins(&self) -> Vec<Vec<usize>> {
        let mut ins = vec![Vec::new(); self.places.len()];
        self.steps.iter().enumerate().for_each(|(i, step)| ins[step.to.index()].push(i));
        ins
    }

    /// Forgets the places that no step touches; the others keep their order.
    pub(crate) fn forget_places(&mut self) {
        let mut used = vec![false; self.places.len()];
        let ends = self.steps.iter().flat_map(|s| [s.from, s.to]);
        ends.chain(self.entry).chain(self.exit).for_each(|at| used[at.index()] = true);
        let mut new: Vec<Loc> = Vec::with_capacity(used.len());
        let mut places = IdVec::new();
        for (place, used) in self.places.iter().zip(used) {
            new.push(places.next_id());
            if used {
                places.push(place.clone());
            }
        }
        self.places = places;
        let moved = |at: Loc| new[at.index()];
        self.steps.iter_mut().for_each(|s| (s.from, s.to) = (moved(s.from), moved(s.to)));
        (self.entry, self.exit) = (self.entry.map(moved), self.exit.map(moved));
    }

    /// By place, its rank: but for loops, a place comes after all that lead to it. Places that are never reached come last.
    fn ranks(&self) -> Vec<u32> {
        let outs = self.outs();
        let mut ranks = vec![u32::MAX; self.places.len()];
        let mut seen = vec![false; self.places.len()];
        let mut left = self.places.len() as u32;
        // Places on the way, each with the number of its steps that were followed.
        let mut way: Vec<(Loc, usize)> = self.entry.into_iter().map(|e| (e, 0)).collect();
        way.iter().for_each(|(e, _)| seen[e.index()] = true);
        while let Some((at, followed)) = way.last_mut() {
            match outs[at.index()].get(*followed) {
                Some(step) => {
                    *followed += 1;
                    let to = self.steps[*step].to;
                    if !std::mem::replace(&mut seen[to.index()], true) {
                        way.push((to, 0));
                    }
                }
                None => {
                    left -= 1;
                    ranks[at.index()] = left;
                    way.pop();
                }
            }
        }
        ranks
    }
}

/// Places still to be looked at, each listed once and taken in the order of the flow, or against it: what is known of a place
/// is complete, but for loops, when its turn comes.
pub(super) struct Worklist {
    ranks: Vec<u32>,
    waiting: BTreeSet<(u32, Loc)>,
}

impl Worklist {
    /// Begins at the entry.
    pub(crate) fn forward(flow: &Flow) -> Self {
        let mut agenda = Self { ranks: flow.ranks(), waiting: BTreeSet::new() };
        flow.entry.into_iter().for_each(|entry| agenda.add(entry));
        agenda
    }
    /// Begins everywhere, with the last places.
    pub(crate) fn backward(flow: &Flow) -> Self {
        let ranks = flow.ranks().into_iter().map(|rank| u32::MAX - rank).collect();
        let mut agenda = Self { ranks, waiting: BTreeSet::new() };
        flow.places.ids().for_each(|at| agenda.add(at));
        agenda
    }
    pub(super) fn add(&mut self, at: Loc) {
        self.waiting.insert((self.ranks[at.index()], at));
    }
    pub(super) fn next(&mut self) -> Option<Loc> {
        self.waiting.pop_first().map(|(_, at)| at)
    }
}
