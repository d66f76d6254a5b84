//! From a violation found by the search to a concrete trace that the reference semantics replays.
//!
//! In: the levels of a finished search and a violation. First the way back: a predecessor of a state is found by
//! expanding the level before it (the least one, so that the trace does not depend on the number of workers). Then the
//! way forward, by the reference semantics alone: from a concrete initial state, steps whose results have the packed
//! representatives found on the way back. What comes out is replayed before anyone sees it.

use super::guess::Escape;
use super::search::Searched;
use super::shared::NearestViolation;
use super::symmetry::Renaming;
use super::system::CompiledSystem;
use super::table::Shard;
use super::worker::{Expansion, FoldingMode, StateExpander, words};
use program::PropertyId;
use program::PropertyKind;
use program::semantics::{Choice, Sampling, Semantics, State, StepOutcome, Successors, Trace, TraceStep, replay_trace};

pub(crate) struct Tracer<'s> {
    pub system: &'s CompiledSystem,
    pub sem: &'s Semantics<'s>,
    pub mode: FoldingMode,
    pub sampling: Sampling,
}

/// Accepts a step from a state, giving the steps it stands for and what comes after.
type Take<'a, T> = &'a mut dyn FnMut(&State, &TraceStep, &StepOutcome) -> Option<(Vec<TraceStep>, T)>;

pub(super) fn describe_escape(e: Escape) -> String {
    format!("a value escaped on the way back ({e:?})")
}

/// One step of the way back: from a state to its predecessors at an earlier level.
pub(crate) struct WayBackStep<const W: usize> {
    pub level: usize,
    /// What the search counted from there to the target.
    pub steps: usize,
    pub target: [u64; W],
    pub mode: FoldingMode,
}

/// The levels of a search that is over, wherever their states are.
pub(crate) trait PastLevels<const W: usize> {
    fn least_predecessor(
        &self,
        step: &WayBackStep<W>,
        expander: &mut StateExpander<'_>,
    ) -> Result<Option<[u64; W]>, String>;
}

impl<const W: usize> PastLevels<W> for Searched<W> {
    fn least_predecessor(
        &self,
        step: &WayBackStep<W>,
        expander: &mut StateExpander<'_>,
    ) -> Result<Option<[u64; W]>, String> {
        least_predecessor(&self.shards, step, expander)
    }
}

/// Expands the states of a level again. Of several predecessors the least is taken, so that it does not matter who has which.
pub(crate) fn least_predecessor<const W: usize>(
    shards: &[Shard<W>],
    step: &WayBackStep<W>,
    expander: &mut StateExpander<'_>,
) -> Result<Option<[u64; W]>, String> {
    let mut best: Option<[u64; W]> = None;
    let mut expansion = Expansion::default();
    for shard in shards {
        for at in shard.level(step.level) {
            let state = shard.get(at);
            if best.is_some_and(|b| b <= *state) {
                continue;
            }
            expansion.clear();
            expander.expand(state, step.mode, &mut expansion).map_err(describe_escape)?;
            if expansion.states.iter().any(|(s, n)| *s == step.target && *n as usize == step.steps) {
                best = Some(*state);
            }
        }
    }
    Ok(best)
}

impl Tracer<'_> {
    /// A run to the violation; the reason where none is found, which is an error of ours.
    pub(super) fn trace<const W: usize>(
        &self,
        levels: &dyn PastLevels<W>,
        property: PropertyId,
        found: &NearestViolation<W>,
    ) -> Result<Trace, String> {
        let chain = self.way_back(levels, found)?;
        let last = if self.mode == FoldingMode::Eager { None } else { Some(found.distance - found.level) };
        let trace = self.way_forward(&chain, property, last)?;
        match replay_trace(self.sem.program, &trace) {
            Ok(_) => Ok(trace),
            Err(e) => Err(format!("a trace does not replay: {e}")),
        }
    }
    /// The representatives from level 0 to the violation, with their levels.
    fn way_back<const W: usize>(
        &self,
        levels: &dyn PastLevels<W>,
        found: &NearestViolation<W>,
    ) -> Result<Vec<(usize, [u64; W])>, String> {
        let mut worker = StateExpander::new(self.system, self.sem);
        worker.sampling = self.sampling;
        let mut chain = vec![(found.level, found.source)];
        let mut level = found.level;
        while level > 0 {
            let (_, target) = chain[chain.len() - 1];
            let mut best: Option<(usize, [u64; W])> = None;
            for before in (0..level).rev() {
                let steps = if self.mode == FoldingMode::Lazy { level - before } else { 1 };
                let step = WayBackStep { level: before, steps, target, mode: self.mode };
                best = levels.least_predecessor(&step, &mut worker)?.map(|state| (before, state));
                if best.is_some() || self.mode != FoldingMode::Lazy {
                    break;
                }
            }
            let (before, state) = best.ok_or("no way back from a state that was reached")?;
            chain.push((before, state));
            level = before;
        }
        chain.reverse();
        Ok(chain)
    }
    fn way_forward<const W: usize>(
        &self,
        chain: &[(usize, [u64; W])],
        property: PropertyId,
        last: Option<usize>,
    ) -> Result<Trace, String> {
        let mut steps = Vec::new();
        let (mut state, initial) = self.start(&chain[0].1, &mut steps)?;
        // How the instances of the run are called on the way back. Two states of one orbit may have two
        // representatives, so it is not enough to compare those: the run is the way back under one renaming.
        let mut called = self.packed::<W>(&state, &self.identity_renaming()).ok_or("the start does not fit")?.1;
        for pair in chain.windows(2) {
            let goal = |s: &State| self.is(s, &called, &pair[1].1);
            let length = pair[1].0 - pair[0].0;
            let (way, next) = self.macro_step(&state, length, &goal).ok_or("a step on the way forward is missing")?;
            steps.extend(way);
            called = self.packed::<W>(&next, &called).ok_or("a state on the way forward does not fit")?.1;
            state = next;
        }
        let mut finally = Vec::new();
        match self.sem.program.properties[property].kind {
            PropertyKind::Invariant(_) => {
                let (broken, _) = self.sem.broken_invariants(&state, self.sampling);
                let breach = broken.into_iter().find(|b| b.property == property);
                finally = breach.ok_or("the invariant holds after all")?.after;
            }
            PropertyKind::Deadlock => {}
            _ => {
                let (way, after) = self.fall(&state, property, last).ok_or("the last step is missing")?;
                steps.extend(way);
                finally = after;
            }
        }
        Ok(Trace { instances: self.system.counts.clone(), initial, steps, finally, violates: property })
    }
    /// No instance is renamed.
    fn identity_renaming(&self) -> Renaming {
        (0..=self.system.layout.instances.len()).collect()
    }
    fn is<const W: usize>(&self, state: &State, called: &Renaming, target: &[u64; W]) -> bool {
        // A search keeps the arguments of an instance that it has just spawned, also those that are dead there.
        let mut target = *target;
        self.reset_dead(&mut target);
        self.packed::<W>(state, called).is_some_and(|(found, _)| found == target)
    }
    /// Sets the locals that are dead where their instance is to the values they start with.
    fn reset_dead<const W: usize>(&self, packed: &mut [u64; W]) {
        for (i, place) in self.system.layout.instances.iter().enumerate() {
            let pc = self.system.layout.slots[place.pc].code(packed);
            for m in &self.system.places[i][pc as usize].resets {
                packed[m.word] = (packed[m.word] & m.keep) | m.bits;
            }
        }
    }
    /// The representative of a concrete state whose instances are first renamed, and the renaming that leads to it.
    fn packed<const W: usize>(&self, state: &State, called: &Renaming) -> Option<([u64; W], Renaming)> {
        let system = self.system;
        let state = system.layout.undecided_elsewhere(self.sem, state);
        let mut out: [u64; W] = words(&system.layout.pack(self.sem, &state).ok()?);
        self.reset_dead(&mut out);
        let called = system.represent(called, &mut out);
        Some((out, called))
    }
    fn start<const W: usize>(
        &self,
        target: &[u64; W],
        steps: &mut Vec<TraceStep>,
    ) -> Result<(State, Vec<Choice>), String> {
        let initial = self.sem.initial(&self.system.counts, self.sampling);
        for (state, choices) in initial.states {
            if self.is(&state, &self.identity_renaming(), target) {
                return Ok((state, choices));
            }
            if self.mode == FoldingMode::Eager
                && let Some((way, settled)) = self.settle_all(&state, 0, target)
            {
                steps.extend(way);
                return Ok((settled, choices));
            }
        }
        Err("no initial state fits".into())
    }
    /// Invisible steps of one instance after another, to a state of the given representative.
    fn settle_all<const W: usize>(
        &self,
        state: &State,
        i: usize,
        target: &[u64; W],
    ) -> Option<(Vec<TraceStep>, State)> {
        if i == state.instances.len() {
            return self.is(state, &self.identity_renaming(), target).then(|| (Vec::new(), state.clone()));
        }
        let mut settled = Vec::new();
        self.settled(state, i, &mut Vec::new(), &mut settled);
        settled.into_iter().find_map(|(mut way, s)| {
            let (rest, end) = self.settle_all(&s, i + 1, target)?;
            way.extend(rest);
            Some((way, end))
        })
    }
    fn is_invisible(&self, state: &State, i: usize) -> bool {
        if self.mode == FoldingMode::Plain {
            return false;
        }
        let at = &state.instances[i];
        let code = self.system.layout.instances[i].code(at.thread, at.at);
        code.is_some_and(|c| self.system.places[i][c as usize].invisible)
    }
    fn moves(&self, state: &State, i: usize) -> Vec<StepOutcome> {
        let mut found = Successors::default();
        self.sem.moves(state, i, self.sampling, &mut found);
        found.outcomes
    }
    /// Every end of the invisible steps of one instance.
    fn settled(&self, state: &State, i: usize, way: &mut Vec<TraceStep>, out: &mut Vec<(Vec<TraceStep>, State)>) {
        let outcomes = if self.is_invisible(state, i) { self.moves(state, i) } else { Vec::new() };
        if !outcomes.iter().any(|o| matches!(o, StepOutcome::Moved { .. })) {
            out.push((way.clone(), state.clone()));
        }
        for o in outcomes {
            if let StepOutcome::Moved { step, state: next } = o {
                way.push(step);
                self.settled(&next, i, way, out);
                way.pop();
            }
        }
    }
    fn movers(&self, state: &State) -> Vec<usize> {
        match self.sem.instance_in_atomic_block(state) {
            Some(only) => vec![only],
            None => (0..state.instances.len()).collect(),
        }
    }
    /// The steps of one instance that the search takes at once, to a state with the goal; `length` counts in lazy mode.
    fn macro_step(
        &self,
        state: &State,
        length: usize,
        goal: &dyn Fn(&State) -> bool,
    ) -> Option<(Vec<TraceStep>, State)> {
        self.movers(state).into_iter().find_map(|i| match self.mode {
            FoldingMode::Plain => self.moves(state, i).into_iter().find_map(|o| match o {
                StepOutcome::Moved { step, state } if goal(&state) => Some((vec![step], state)),
                _ => None,
            }),
            FoldingMode::Eager => self.moves(state, i).into_iter().find_map(|o| {
                let StepOutcome::Moved { step, state } = o else { return None };
                let mut ends = Vec::new();
                self.settled(&state, i, &mut vec![step], &mut ends);
                ends.into_iter().find(|(_, s)| goal(s))
            }),
            FoldingMode::Lazy => self.lazily(state, i, Some(length), &mut Vec::new(), &mut |_, step, o| match o {
                StepOutcome::Moved { state, .. } if goal(state) => Some((vec![step.clone()], state.clone())),
                _ => None,
            }),
        })
    }
    /// Invisible steps, then a step that `take` accepts; of this length in all, if one is given.
    fn lazily<T>(
        &self,
        state: &State,
        i: usize,
        length: Option<usize>,
        way: &mut Vec<TraceStep>,
        take: Take<'_, T>,
    ) -> Option<(Vec<TraceStep>, T)> {
        let invisible = self.is_invisible(state, i);
        for o in self.moves(state, i) {
            match &o {
                StepOutcome::Moved { step, state: next } if invisible => {
                    way.push(step.clone());
                    let found = self.lazily(next, i, length, way, take);
                    way.pop();
                    if found.is_some() {
                        return found;
                    }
                }
                _ if length.is_some_and(|n| n != way.len() + 1) => {}
                _ => {
                    if let Some((last, end)) = take(state, o.step(), &o) {
                        return Some((way.iter().cloned().chain(last).collect(), end));
                    }
                }
            }
        }
        None
    }
    /// The steps to the violation of a property by a step, and what has to be decided after it.
    fn fall(
        &self,
        state: &State,
        property: PropertyId,
        length: Option<usize>,
    ) -> Option<(Vec<TraceStep>, Vec<Choice>)> {
        let mut take = |before: &State, step: &TraceStep, o: &StepOutcome| match o {
            StepOutcome::Wrong { property: p, .. } => (*p == property).then(|| (vec![step.clone()], Vec::new())),
            StepOutcome::Moved { state: after, .. } => {
                if self.sem.leaks(before, after) == Some(property) {
                    return Some((vec![step.clone()], Vec::new()));
                }
                let before = self.sem.decide_all(before, &step.choices).ok()?;
                let (broken, _) = self.sem.broken_relies(&before, step, after, self.sampling);
                let b = broken.into_iter().find(|b| b.property == property)?;
                let mut step = step.clone();
                step.choices.extend(b.before);
                Some((vec![step], b.after))
            }
        };
        // The nearest one of any instance.
        let mut best: Option<(Vec<TraceStep>, Vec<Choice>)> = None;
        let mut keep = |found: (Vec<TraceStep>, Vec<Choice>)| {
            if best.as_ref().is_none_or(|b| found.0.len() < b.0.len()) {
                best = Some(found);
            }
        };
        // Before its first step of the search an instance may have invisible steps to take, in eager mode all of them.
        for i in self.movers(state) {
            if let Some(found) = self.lazily(state, i, length, &mut Vec::new(), &mut take) {
                keep(found);
            }
            if self.mode != FoldingMode::Eager {
                continue;
            }
            for o in self.moves(state, i) {
                let StepOutcome::Moved { step, state: next } = o else { continue };
                if let Some((mut way, after)) = self.lazily(&next, i, None, &mut Vec::new(), &mut take) {
                    way.insert(0, step);
                    keep((way, after));
                }
            }
        }
        best
    }
}

/// Leaves out what a run does not need: for each instance as many of its last steps as can go, all of them first.
pub(crate) fn shorten_trace(program: &program::Program, trace: &Trace) -> Trace {
    let mut best = trace.clone();
    let movers: std::collections::BTreeSet<u32> = trace.steps.iter().map(|s| s.instance).collect();
    for i in movers {
        let own: Vec<usize> = (0..best.steps.len()).filter(|s| best.steps[*s].instance == i).collect();
        for from in own {
            let kept = best.steps.iter().enumerate().filter(|(at, s)| s.instance != i || *at < from);
            let fewer = Trace { steps: kept.map(|(_, s)| s.clone()).collect(), ..best.clone() };
            if replay_trace(program, &fewer).is_ok() {
                best = fewer;
                break;
            }
        }
    }
    best
}
