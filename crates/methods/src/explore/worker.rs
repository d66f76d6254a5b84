//! One worker: expands packed states into their successors, by compiled code or by the reference semantics.
//!
//! In: a packed state. Out: packed successors with the number of steps each takes, and the properties that
//! go wrong on the way. Three ways to expand: `Plain`, one step each; `Eager`, every step is followed by the invisible steps
//! of the same instance; `Lazy`, every step is preceded by them, so that the sum of steps of a run is exactly what it
//! needs (see `fold` in the documentation of the method).

use super::code::{Exit, RegisterFile};
use super::compiled::{CompiledAction, CompiledInput};
use super::guess::Escape;
use super::layout::{BitField, StorageShape};
use super::machine::run_code;
use super::memo::{Memo, MemoSite};
use super::system::CompiledSystem;
use logic::ClassId;
use program::PropertyId;
use program::semantics::{Sampling, Semantics, StepOutcome, Successors};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FoldingMode {
    Plain,
    Eager,
    Lazy,
}

/// What it takes to unpack a state and have the reference semantics take one step of it.
const OPENED_STEP_EFFORT: u64 = 10;

/// What one action of one instance leads to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Out<const W: usize> {
    Moved([u64; W]),
    Wrong(PropertyId),
    /// A rely of another instance; the step happens all the same.
    Breach(PropertyId),
}

/// Why a search does not decide whether there is a deadlock.
const UNDECIDED_DEADLOCK: &str = "whether a state is stuck depends on an undecided value";

/// Local steps at the start are not folded where that gives more states than this: the choices of many instances multiply.
const MAX_STARTS: usize = 1 << 14;
pub(crate) const MANY_STARTS: &str = "the local steps at the start lead to too many states";

/// The successors of one state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expansion<const W: usize> {
    pub states: Vec<([u64; W], u32)>,
    /// Properties violated by a step, with its number of steps.
    pub wrong: Vec<(PropertyId, u32)>,
    /// No thread can move, and somebody has not ended.
    pub stuck: bool,
}

impl<const W: usize> Expansion<W> {
    pub(crate) fn clear(&mut self) {
        self.states.clear();
        self.wrong.clear();
        self.stuck = false;
    }
}

pub(crate) struct StateExpander<'s> {
    pub system: &'s CompiledSystem,
    pub sem: &'s Semantics<'s>,
    pub sampling: Sampling,
    frame: RegisterFile,
    /// Why some outcomes are missing.
    pub incomplete: Option<String>,
    /// Outcomes that decided a value: a state that looks alive may be stuck for other values.
    decided: bool,
    /// How many states first steps led to, from initial states on.
    pub(crate) settled: u64,
    /// Steps that were compiled and still left to the reference semantics, because a value had to be decided. They are never remembered, so
    /// their number depends on the states alone.
    opened: u64,
    /// Something other than compiled code was asked whose answer may depend on more than the bits of a site.
    unsure: bool,
    /// For each instance, the codes of its pc that `mark` has seen.
    pub reached: Vec<Vec<bool>>,
    memo: Memo,
    /// The way to expand that `memo` is about.
    mode: FoldingMode,
}

const MAX_QUIET: u32 = 10_000;

impl<'s> StateExpander<'s> {
    pub(crate) fn new(system: &'s CompiledSystem, sem: &'s Semantics<'s>) -> Self {
        Self {
            system,
            sem,
            sampling: Sampling::default(),
            frame: RegisterFile::new(system.registers),
            incomplete: None,
            decided: false,
            settled: 0,
            opened: 0,
            unsure: false,
            reached: Vec::new(),
            memo: Memo::default(),
            mode: FoldingMode::Plain,
        }
    }
    fn note(&mut self, why: String) {
        super::shared::keep_least(&mut self.incomplete, why);
    }
    fn escape(&mut self) -> Escape {
        self.frame.escape.take().unwrap_or_else(|| Escape::Stuck("code left without a reason".into()))
    }

    /// The successors of a state.
    pub(crate) fn expand<const W: usize>(
        &mut self,
        pre: &[u64; W],
        mode: FoldingMode,
        out: &mut Expansion<W>,
    ) -> Result<(), Escape> {
        let system = self.system;
        self.decided = false;
        if self.mode != mode {
            self.memo.clear();
            self.mode = mode;
        }
        let (states, wrong) = (out.states.len(), out.wrong.len());
        let only = if system.has_inside { self.inside(pre) } else { None };
        let remember = self.memo.pays();
        for i in 0..system.places.len() {
            if only.is_some_and(|o| o != i) || system.symmetry.repeats(i, pre) {
                continue;
            }
            let pc = system.layout.slots[system.layout.instances[i].pc].code(pre);
            let site = &system.sites[i][pc as usize];
            if site.on && remember {
                self.recall(i, pc, site, pre, mode, out)?;
            } else {
                self.moves(i, pc, pre, mode, out)?;
            }
        }
        if let Some(p) = system.leak {
            self.lost(p, pre, states, out);
        }
        if system.is_reduced() {
            out.states[states..].iter_mut().for_each(|(s, _)| system.canonical(s));
        }
        if !system.deadlock.is_empty() {
            let moved = out.states.len() + out.wrong.len() > states + wrong;
            // An atomic block is one step: who is inside is never stuck there, and a move into one may be the beginning of none.
            let entered = system.has_inside && out.states[states..].iter().all(|(s, _)| self.inside(s).is_some());
            if only.is_some() {
                out.stuck = false;
            } else if moved && entered && out.wrong.len() == wrong {
                let state = system.layout.unpack(self.sem, pre);
                let next = self.sem.successors(&state, self.sampling);
                let (stuck, unsure) = self.sem.deadlocked(&state, &next);
                unsure.into_iter().for_each(|why| self.note(why));
                out.stuck = !stuck.is_empty();
            } else {
                if moved && self.decided {
                    self.note(UNDECIDED_DEADLOCK.into());
                }
                out.stuck = !moved && !self.ended(pre);
            }
        }
        Ok(())
    }
    /// Notes the steps that lose an object, among the states from `first` on: before they are replaced by representatives, which know only
    /// what is reached.
    fn lost<const W: usize>(&mut self, p: PropertyId, pre: &[u64; W], first: usize, out: &mut Expansion<W>) {
        let layout = &self.system.layout;
        let mut before = None;
        for (post, steps) in &out.states[first..] {
            let after = layout.unpack(self.sem, post);
            if !self.sem.lost(&after).is_empty() {
                let before = before.get_or_insert_with(|| layout.unpack(self.sem, pre));
                if self.sem.leaks(before, &after).is_some() {
                    out.wrong.push((p, *steps));
                }
            }
        }
    }
    /// The moves of one instance, from memory if the bits that decide them were met before.
    #[inline]
    fn recall<const W: usize>(
        &mut self,
        i: usize,
        pc: u64,
        site: &MemoSite,
        pre: &[u64; W],
        mode: FoldingMode,
        out: &mut Expansion<W>,
    ) -> Result<(), Escape> {
        let number = self.system.site_base[i] + pc as u32;
        let place = match self.memo.find(site, number, pre) {
            Ok((known, decided)) => {
                self.decided |= decided;
                for at in known {
                    let change = self.memo.change(at);
                    match change.wrong {
                        None => out.states.push((change.apply(site, pre), change.steps)),
                        Some(p) => out.wrong.push((p, change.steps)),
                    }
                }
                return Ok(());
            }
            Err(place) => place,
        };
        let (states, wrong) = (out.states.len(), out.wrong.len());
        let before = std::mem::take(&mut self.decided);
        self.unsure = false;
        self.moves(i, pc, pre, mode, out)?;
        if !self.unsure {
            self.memo.keep(site, place, self.decided, pre, &out.states[states..], &out.wrong[wrong..]);
        }
        self.decided |= before;
        Ok(())
    }
    /// The moves of one instance.
    fn moves<const W: usize>(
        &mut self,
        i: usize,
        pc: u64,
        pre: &[u64; W],
        mode: FoldingMode,
        out: &mut Expansion<W>,
    ) -> Result<(), Escape> {
        if mode == FoldingMode::Lazy {
            return self.walk(i, pc, pre, 0, out);
        }
        let system = self.system;
        for act in &system.places[i][pc as usize].acts {
            self.step(i, act, pre, mode, out)?;
        }
        Ok(())
    }
    /// Notes where everyone is.
    pub(crate) fn mark<const W: usize>(&mut self, state: &[u64; W]) {
        for i in 0..self.reached.len() {
            let pc = self.pc(i, state) as usize;
            self.reached[i][pc] = true;
        }
    }
    fn pc<const W: usize>(&self, i: usize, words: &[u64; W]) -> u64 {
        self.system.layout.slots[self.system.layout.instances[i].pc].code(words)
    }
    fn inside<const W: usize>(&self, words: &[u64; W]) -> Option<usize> {
        (0..self.system.places.len()).find(|i| self.system.places[*i][self.pc(*i, words) as usize].in_atomic_block)
    }
    fn ended<const W: usize>(&self, words: &[u64; W]) -> bool {
        (0..self.system.places.len()).all(|i| {
            let at = &self.system.places[i][self.pc(i, words) as usize];
            at.exit || !at.born
        })
    }
    #[inline]
    fn step<const W: usize>(
        &mut self,
        i: usize,
        act: &'s CompiledAction,
        pre: &[u64; W],
        mode: FoldingMode,
        out: &mut Expansion<W>,
    ) -> Result<(), Escape> {
        let system = self.system;
        // The common case: compiled, no inputs, no relies.
        if let (Some(code), true, true) = (&act.code, act.inputs.is_empty(), system.no_relies) {
            let mut post = *pre;
            match run_code(code, &system.tables, &system.layout, &mut self.frame, pre, &mut post) {
                Exit::Done => {
                    finish(act, &mut post);
                    return self.arrive(i, act.to, post, mode, 1, out);
                }
                Exit::Waits => return Ok(()),
                Exit::Wrong(p) => {
                    out.wrong.push((p, 1));
                    return Ok(());
                }
                Exit::Escape => return Err(self.escape()),
                Exit::Open => {}
            }
        }
        let mut outcomes = Vec::new();
        self.outcomes(i, act, pre, &mut outcomes)?;
        for o in outcomes {
            match o {
                Out::Moved(post) => self.arrive(i, act.to, post, mode, 1, out)?,
                Out::Wrong(p) | Out::Breach(p) => out.wrong.push((p, 1)),
            }
        }
        Ok(())
    }
    /// A step has led to `post`: in eager mode the invisible steps of the instance follow.
    fn arrive<const W: usize>(
        &mut self,
        i: usize,
        pc: u64,
        post: [u64; W],
        mode: FoldingMode,
        steps: u32,
        out: &mut Expansion<W>,
    ) -> Result<(), Escape> {
        let system = self.system;
        if mode == FoldingMode::Eager && system.places[i][pc as usize].invisible {
            return self.settle(i, pc, post, steps, out);
        }
        // In eager mode every folded run counts as one step of the search.
        out.states.push((post, 1));
        Ok(())
    }
    fn settle<const W: usize>(
        &mut self,
        i: usize,
        pc: u64,
        pre: [u64; W],
        steps: u32,
        out: &mut Expansion<W>,
    ) -> Result<(), Escape> {
        let system = self.system;
        if steps > MAX_QUIET {
            return Err(Escape::Stuck("too many local steps in a row".into()));
        }
        let mut moved = false;
        let mut outcomes = Vec::new();
        for act in &system.places[i][pc as usize].acts {
            outcomes.clear();
            self.outcomes(i, act, &pre, &mut outcomes)?;
            for o in &outcomes {
                moved |= matches!(o, Out::Moved(_));
                match o {
                    Out::Moved(post) => self.arrive(i, act.to, *post, FoldingMode::Eager, steps + 1, out)?,
                    Out::Wrong(p) | Out::Breach(p) => out.wrong.push((*p, 1)),
                }
            }
        }
        if !moved {
            // It waits here for ever or can only go wrong; the others may go on while it stays.
            out.states.push((pre, 1));
        }
        Ok(())
    }
    /// Lazy mode: invisible steps first, then one step that is not.
    fn walk<const W: usize>(
        &mut self,
        i: usize,
        pc: u64,
        pre: &[u64; W],
        steps: u32,
        out: &mut Expansion<W>,
    ) -> Result<(), Escape> {
        let system = self.system;
        let at = &system.places[i][pc as usize];
        if steps > MAX_QUIET {
            return Err(Escape::Stuck("too many local steps in a row".into()));
        }
        let mut outcomes = Vec::new();
        for act in &at.acts {
            outcomes.clear();
            self.outcomes(i, act, pre, &mut outcomes)?;
            for o in &outcomes {
                match o {
                    Out::Moved(post) if at.invisible => self.walk(i, act.to, post, steps + 1, out)?,
                    Out::Moved(post) => out.states.push((*post, steps + 1)),
                    Out::Wrong(p) | Out::Breach(p) => out.wrong.push((*p, steps + 1)),
                }
            }
        }
        Ok(())
    }
    /// Invisible steps of every instance, from an initial state.
    pub(crate) fn settle_all<const W: usize>(&mut self, start: [u64; W]) -> Result<Expansion<W>, Escape> {
        let mut done = Expansion { states: vec![(start, 1)], ..Expansion::default() };
        self.decided = false;
        for i in 0..self.system.places.len() {
            let mut next = Expansion { wrong: std::mem::take(&mut done.wrong), ..Expansion::default() };
            for (s, _) in done.states {
                let pc = self.pc(i, &s);
                if self.system.places[i][pc as usize].invisible {
                    let before = next.states.len();
                    let done = self.settle(i, pc, s, 1, &mut next);
                    self.settled += (next.states.len() - before) as u64 + 1;
                    done?;
                } else {
                    next.states.push((s, 1));
                }
            }
            done = next;
            if done.states.len() > MAX_STARTS {
                return Err(Escape::Stuck(MANY_STARTS.into()));
            }
        }
        // A first step that was taken for some values of what is undecided may wait for ever for the others.
        if self.decided && !self.system.deadlock.is_empty() {
            self.note(UNDECIDED_DEADLOCK.into());
        }
        Ok(done)
    }
    /// Where some steps are left to the reference semantics, they copy what is kept by number: an entry is a unit of effort.
    pub(crate) fn effort_of_copying<const W: usize>(&self, state: &[u64; W]) -> u64 {
        let layout = &self.system.layout;
        if self.system.slow > 0 && layout.interned { layout.interned_entries(state) } else { 0 }
    }
    /// The effort of steps taken since it was last asked that compiled code could not take.
    pub(crate) fn effort_of_opening(&mut self) -> u64 {
        std::mem::take(&mut self.opened).saturating_mul(OPENED_STEP_EFFORT)
    }
    /// Everything one action of one instance leads to.
    pub(crate) fn outcomes<const W: usize>(
        &mut self,
        i: usize,
        act: &CompiledAction,
        pre: &[u64; W],
        out: &mut Vec<Out<W>>,
    ) -> Result<(), Escape> {
        let start = out.len();
        let fast = match &act.code {
            Some(_) => {
                let mut chosen = Vec::with_capacity(act.inputs.len());
                self.choose(i, act, pre, &mut chosen, out)?
            }
            None => false,
        };
        if !fast {
            out.truncate(start);
            self.slow(i, act, pre, out)?;
        }
        Ok(())
    }
    /// Chooses inputs one after another; false if some value has to be decided.
    fn choose<const W: usize>(
        &mut self,
        i: usize,
        act: &CompiledAction,
        pre: &[u64; W],
        chosen: &mut Vec<i64>,
        out: &mut Vec<Out<W>>,
    ) -> Result<bool, Escape> {
        let Some(input) = act.inputs.get(chosen.len()) else { return self.fast(i, act, pre, chosen, out) };
        let values = match input {
            CompiledInput::Open => vec![super::layout::OPEN_VALUE],
            CompiledInput::Each(values) => values.clone(),
            CompiledInput::Fresh(class) => self.fresh(*class, pre, chosen),
        };
        for v in values {
            chosen.push(v);
            let fine = self.choose(i, act, pre, chosen, out)?;
            chosen.pop();
            if !fine {
                return Ok(false);
            }
        }
        Ok(true)
    }
    fn fast<const W: usize>(
        &mut self,
        i: usize,
        act: &CompiledAction,
        pre: &[u64; W],
        inputs: &[i64],
        out: &mut Vec<Out<W>>,
    ) -> Result<bool, Escape> {
        let system = self.system;
        let Some(code) = &act.code else { return Ok(false) };
        self.frame.regs[..inputs.len()].copy_from_slice(inputs);
        let mut post = *pre;
        match run_code(code, &system.tables, &system.layout, &mut self.frame, pre, &mut post) {
            Exit::Done => {}
            Exit::Waits => return Ok(true),
            Exit::Wrong(p) => {
                out.push(Out::Wrong(p));
                return Ok(true);
            }
            Exit::Open => return Ok(false),
            Exit::Escape => return Err(self.escape()),
        }
        finish(act, &mut post);
        if !act.to_inside {
            for (j, relies) in system.relies.iter().enumerate().filter(|(j, r)| *j != i && !r.is_empty()) {
                if !system.places[j][self.pc(j, pre) as usize].born {
                    continue;
                }
                for check in relies {
                    let Some(code) = &check.code else { return Ok(false) };
                    // Two stores: the second is only read.
                    match run_code(code, &system.tables, &system.layout, &mut self.frame, pre, &mut post) {
                        Exit::Wrong(p) => out.push(Out::Breach(p)),
                        Exit::Escape => return Err(self.escape()),
                        Exit::Open => return Ok(false),
                        Exit::Done | Exit::Waits => {}
                    }
                }
            }
        }
        out.push(Out::Moved(post));
        Ok(true)
    }
    /// The reference semantics does the step.
    fn slow<const W: usize>(
        &mut self,
        i: usize,
        act: &CompiledAction,
        pre: &[u64; W],
        out: &mut Vec<Out<W>>,
    ) -> Result<(), Escape> {
        let system = self.system;
        // With inputs or undecided values around, what happens may depend on more than the variables named.
        self.unsure |= act.code.is_some();
        self.opened += u64::from(act.code.is_some());
        let state = system.layout.unpack(self.sem, pre);
        let mut found = Successors::default();
        self.sem.action_outcomes(&state, i, act.id, self.sampling, &mut found);
        if let Some(why) = found.incomplete {
            self.note(why);
        }
        self.decided |= found.decided;
        for o in found.outcomes {
            match o {
                StepOutcome::Wrong { property, .. } => out.push(Out::Wrong(property)),
                StepOutcome::Moved { step, state: after } => {
                    if !system.no_relies
                        && let Ok(before) = self.sem.decide_all(&state, &step.choices)
                    {
                        let (broken, incomplete) = self.sem.broken_relies(&before, &step, &after, self.sampling);
                        if let Some(why) = incomplete {
                            self.note(why);
                        }
                        out.extend(broken.iter().map(|b| Out::Breach(b.property)));
                    }
                    let mut post: [u64; W] = words(&system.layout.pack(self.sem, &after)?);
                    finish(act, &mut post);
                    out.push(Out::Moved(post));
                }
            }
        }
        Ok(())
    }
    /// Numbers for a new object: those still referred to somewhere, and the least that is not.
    fn fresh<const W: usize>(&self, class: ClassId, pre: &[u64; W], chosen: &[i64]) -> Vec<i64> {
        let layout = &self.system.layout;
        let most = layout.plans.iter().flat_map(|p| match &p.shape {
            StorageShape::Array(levels) => levels.iter().map(|k| k.len()).max(),
            _ => None,
        });
        let mut used = vec![false; most.max().unwrap_or(0) + 2];
        let mut mark = |n: i64| {
            if n > 0 && (n as usize) < used.len() {
                used[n as usize] = true;
            } else if n > 0 {
                used.resize(n as usize + 2, false);
                used[n as usize] = true;
            }
        };
        chosen.iter().for_each(|n| mark(*n));
        let is_class = |s: &super::layout::ScalarSort| *s == super::layout::ScalarSort::Ref(class);
        let mut at = 0;
        while at < layout.slots.len() {
            let slot: &BitField = &layout.slots[at];
            if slot.plan == u32::MAX {
                at += 1;
                continue;
            }
            let plan = layout.plan_of(at);
            let n = plan.slots();
            let leaf = is_class(&plan.leaf) && plan.shape != StorageShape::Interned;
            if let StorageShape::Array(levels) = &plan.shape {
                let keyed = plan.key_sorts.iter().any(is_class);
                if leaf || keyed {
                    for k in 0..n {
                        let value = layout.slots[at + k].get(pre);
                        if value == plan.default {
                            continue;
                        }
                        if leaf {
                            mark(value);
                        }
                        let mut rest = k;
                        for (keys, sort) in levels.iter().zip(&plan.key_sorts).rev() {
                            if is_class(sort) {
                                mark(keys.key(rest % keys.len()));
                            }
                            rest /= keys.len();
                        }
                    }
                }
            } else if leaf {
                let from = usize::from(matches!(plan.shape, StorageShape::Sequence(_)));
                let to = if from == 1 { 1 + layout.slots[at].get(pre) as usize } else { n };
                (from..to).for_each(|k| mark(layout.slots[at + k].get(pre)));
            }
            at += n;
        }
        let unused = (1..).find(|n| !used.get(*n).copied().unwrap_or(false)).unwrap_or(1) as i64;
        let mut out: Vec<i64> = (1..used.len()).filter(|n| used[*n]).map(|n| n as i64).collect();
        out.push(unused);
        out
    }

    /// The wanted invariants that a state violates.
    pub(crate) fn broken<const W: usize>(&mut self, state: &[u64; W], out: &mut Vec<PropertyId>) -> Result<(), Escape> {
        let system = self.system;
        if system.invariants.is_empty() || (system.has_inside && self.inside(state).is_some()) {
            return Ok(());
        }
        let mut post = *state;
        let mut left = false;
        for check in &system.invariants {
            let Some(code) = &check.code else {
                left = true;
                continue;
            };
            match run_code(code, &system.tables, &system.layout, &mut self.frame, state, &mut post) {
                Exit::Wrong(p) => out.push(p),
                Exit::Escape => return Err(self.escape()),
                Exit::Open => left = true,
                Exit::Done | Exit::Waits => {}
            }
        }
        if left {
            let state = system.layout.unpack(self.sem, state);
            let (broken, incomplete) = self.sem.broken_invariants(&state, self.sampling);
            if let Some(why) = incomplete {
                self.note(why);
            }
            out.extend(broken.iter().map(|b| b.property).filter(|p| system.wanted.contains(p)));
            out.sort_unstable();
            out.dedup();
        }
        Ok(())
    }
}

#[inline]
fn finish<const W: usize>(act: &CompiledAction, post: &mut [u64; W]) {
    for m in &act.finish {
        post[m.word] = (post[m.word] & m.keep) | m.bits;
    }
}

/// A packed state of the search's width; the words beyond the layout's are zero.
pub(crate) fn words<const W: usize>(packed: &[u64]) -> [u64; W] {
    let mut out = [0; W];
    out[..packed.len()].copy_from_slice(packed);
    out
}
