//! `Quantified<D>`: the thread-quantified domain over a base domain (Thread Quantification, section 3).
//!
//! In: a base domain with open formulas over one thread (`View`), a transformer for the scheduled thread
//! (`own`), and the meet-step-project of another thread's step (`observe`). Out: the least set of views that holds
//! of every thread in every reachable state, or the alarms met on the way.
//! The set {v1, .., vk} means: for every thread t some vi holds with t in the role of the open variable.
//! The basic transformer of section 3.3 is used where a step is invisible to others (their views cannot change); the
//! refined one of section 3.5, phi(t) meet phi(sc), everywhere else. Both cases t = sc and t != sc are always taken.
//! Deliberately absent: more than one quantified variable.

use base::{Budget, Exhausted};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::hash::Hash;

/// What the constructor needs of a base domain (section 3.6).
pub(crate) trait Base {
    /// An open formula over one thread.
    type View: Clone;
    /// Views of equal key are joined.
    type Key: Clone + Eq + Hash;
    /// What two views of one state have in common.
    type Shared: Clone + Eq + Hash;
    /// A step of the scheduled thread.
    type Step: Copy + Eq + Hash + std::fmt::Debug;
    type Alarm: Clone + Eq;

    fn key(&self, view: &Self::View) -> Self::Key;
    /// Views with different shared parts have no state in common; `None`: it may have one with any view. Depends on the key alone.
    fn shared(&self, view: &Self::View) -> Option<Self::Shared>;
    /// Joins `from` into `into`; whether `into` grew.
    fn join(&self, into: &mut Self::View, from: &Self::View) -> Grown;
    fn initial(&self) -> Vec<Self::View>;
    /// All steps of the thread itself, from its own view.
    fn own(&self, view: &Self::View) -> OwnSteps<Self::View, Self::Step, Self::Alarm>;
    /// What of the scheduled thread's view matters for what others see of its step: a weaker view. Views with equal
    /// footprints are one to every other thread.
    fn footprint(&self, sc: &Self::View, step: Self::Step) -> Self::View {
        let _ = step;
        sc.clone()
    }
    /// What `t` sees when another thread `sc` takes the step: meet, step, project.
    fn observe(&self, t: &Self::View, sc: &Self::View, step: Self::Step) -> Result<Vec<Self::View>, Self::Alarm>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grown {
    Same,
    More,
}

/// The outcome of all steps of one view.
pub(crate) struct OwnSteps<V, S, A> {
    pub(crate) posts: Vec<(S, V)>,
    /// Steps whose effect others can see: these need the refined transformer.
    pub visible: Vec<S>,
    pub(crate) alarms: Vec<(S, A)>,
}

/// Where a stored view came from first: enough for an abstract trace.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ViewParent<S> {
    Start,
    /// The thread's own step from that view.
    Own(usize, S),
    /// Another thread took the step while this one was in that view.
    Other(usize, S),
}

pub(crate) struct StoredView<D: Base> {
    pub view: D::View,
    pub parent: ViewParent<D::Step>,
}

/// A visible step, as the other threads know it.
struct Footprint<D: Base> {
    view: D::View,
    step: D::Step,
    /// The entry it was first taken from.
    from: usize,
}

/// Numbers of views by what they share; those that go with any are in every list.
struct Buckets<K> {
    lists: FxHashMap<K, Vec<usize>>,
    wild: Vec<usize>,
}

impl<K: Clone + Eq + Hash> Buckets<K> {
    fn new() -> Self {
        Self { lists: FxHashMap::default(), wild: Vec::new() }
    }
    fn add(&mut self, shared: Option<K>, at: usize) {
        match shared {
            Some(k) => self.lists.entry(k).or_default().push(at),
            None => self.wild.push(at),
        }
    }
    /// All that may have a state in common with a view, in order; there are `all` of them.
    fn with(&self, shared: Option<&K>, all: usize) -> Vec<usize> {
        let Some(k) = shared else { return (0..all).collect() };
        let mut out: Vec<usize> = self.lists.get(k).into_iter().flatten().chain(&self.wild).copied().collect();
        if !self.wild.is_empty() {
            out.sort_unstable();
        }
        out
    }
}

/// The fixpoint, or what there is of it when alarms stopped the work.
pub(crate) struct Quantified<D: Base> {
    pub entries: Vec<StoredView<D>>,
    /// Alarm, the view it was raised in, the step.
    pub(crate) alarms: Vec<(D::Alarm, usize, D::Step)>,
    pub(crate) figures: Figures,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figures {
    pub visits: u64,
    pub(crate) own_posts: u64,
    pub pairs: u64,
    pub(crate) observed: u64,
    pub(crate) footprints: u64,
}

/// What to do when an alarm is raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnAlarm {
    Stop,
    GoOn,
}

struct Fixpoint<'a, D: Base> {
    base: &'a D,
    out: Quantified<D>,
    index: FxHashMap<D::Key, usize>,
    footprints: Vec<Footprint<D>>,
    known: FxHashMap<(D::Step, D::Key), usize>,
    entries_with: Buckets<D::Shared>,
    footprints_with: Buckets<D::Shared>,
    /// Views to visit, the oldest first: what many others depend on is complete before they are looked at again.
    queue: BTreeSet<usize>,
}

/// The effort of visiting one view.
const VISIT_EFFORT: u64 = 100;

/// Computes the least closed set of views.
pub(crate) fn fixpoint<D: Base>(
    base: &D,
    budget: &Budget,
    limit: usize,
    on_alarm: OnAlarm,
) -> Result<Quantified<D>, (Exhausted, usize)> {
    let mut work = Fixpoint {
        base,
        out: Quantified { entries: Vec::new(), alarms: Vec::new(), figures: Figures::default() },
        index: FxHashMap::default(),
        footprints: Vec::new(),
        known: FxHashMap::default(),
        entries_with: Buckets::new(),
        footprints_with: Buckets::new(),
        queue: BTreeSet::new(),
    };
    for view in base.initial() {
        work.insert(view, ViewParent::Start);
    }
    while let Some(at) = work.queue.pop_first() {
        budget.check().map_err(|e| (e, work.out.entries.len()))?;
        if work.out.entries.len() > limit {
            return Err((Exhausted::Memory, work.out.entries.len()));
        }
        budget.spend(VISIT_EFFORT);
        work.visit(at);
        if on_alarm == OnAlarm::Stop && !work.out.alarms.is_empty() {
            break;
        }
    }
    Ok(work.out)
}

impl<D: Base> Fixpoint<'_, D> {
    fn insert(&mut self, view: D::View, parent: ViewParent<D::Step>) {
        let key = self.base.key(&view);
        let at = match self.index.get(&key) {
            Some(&at) => {
                if self.base.join(&mut self.out.entries[at].view, &view) == Grown::Same {
                    return;
                }
                at
            }
            None => {
                let at = self.out.entries.len();
                self.index.insert(key, at);
                self.entries_with.add(self.base.shared(&view), at);
                self.out.entries.push(StoredView { view, parent });
                at
            }
        };
        self.queue.insert(at);
    }
    fn visit(&mut self, at: usize) {
        self.out.figures.visits += 1;
        let view = self.out.entries[at].view.clone();
        let own = self.base.own(&view);
        for (step, alarm) in own.alarms {
            self.alarm(alarm, at, step);
        }
        for (step, post) in own.posts {
            self.out.figures.own_posts += 1;
            self.insert(post, ViewParent::Own(at, step));
        }
        // The view as the scheduled thread, against every view as the other; itself included, for two threads may be alike.
        for step in own.visible {
            if let Some(f) = self.leave(at, &view, step) {
                let shared = self.base.shared(&self.footprints[f].view);
                for t in self.entries_with.with(shared.as_ref(), self.out.entries.len()) {
                    self.interfere(t, f);
                }
            }
        }
        // The view as the other thread, against every visible step.
        let shared = self.base.shared(&view);
        for f in self.footprints_with.with(shared.as_ref(), self.footprints.len()) {
            self.interfere(at, f);
        }
    }
    /// Notes the footprint of a visible step; `None` where it adds nothing.
    fn leave(&mut self, at: usize, view: &D::View, step: D::Step) -> Option<usize> {
        let view = self.base.footprint(view, step);
        let key = (step, self.base.key(&view));
        match self.known.get(&key) {
            Some(&f) => (self.base.join(&mut self.footprints[f].view, &view) == Grown::More).then_some(f),
            None => {
                self.footprints_with.add(self.base.shared(&view), self.footprints.len());
                self.footprints.push(Footprint { view, step, from: at });
                self.known.insert(key, self.footprints.len() - 1);
                self.out.figures.footprints += 1;
                Some(self.footprints.len() - 1)
            }
        }
    }
    fn interfere(&mut self, t: usize, f: usize) {
        self.out.figures.pairs += 1;
        let Footprint { view: sc, step, from } = &self.footprints[f];
        let (step, from) = (*step, *from);
        match self.base.observe(&self.out.entries[t].view, sc, step) {
            Ok(views) => {
                for view in views {
                    self.out.figures.observed += 1;
                    self.insert(view, ViewParent::Other(t, step));
                }
            }
            Err(alarm) => self.alarm(alarm, from, step),
        }
    }
    /// One step of one view may raise several alarms: each is noted once.
    fn alarm(&mut self, alarm: D::Alarm, at: usize, step: D::Step) {
        let alarm = (alarm, at, step);
        if !self.out.alarms.contains(&alarm) {
            self.out.alarms.push(alarm);
        }
    }
}
