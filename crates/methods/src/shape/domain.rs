//! Canonical abstraction in packed form as a base domain for `Quantified`.
//!
//! In: a `Model`. Out: initial views, a thread's own steps with the reduction of private steps, and what others see.
//! A thread whose next steps look at and change nothing but its own variables and owned cells goes on at once: such steps commute with
//! every step of the others. Chains of such steps are cut after a fixed length, so no cycle of them hides a state.

use super::eval::{Alarm, EvalStop, ViewEval};
use super::expr::{Ex, ExId, slots_read};
use super::heap::{ChangingView, lost};
use super::leaks::begins;
use super::meet::{meet_views, project_view};
use super::model::{CellKind, Firing, InitialValue, Model, ShapeRoutine, Stored};
use super::names;
use super::prune::prune_view;
use super::quantified::{Base, Grown, OwnSteps};
use super::spine::forget_left;
use super::step::{ViewAfterStep, cases, finish_operation, invoke_operation, run_step, witness};
use super::types::ShapeType;
use super::view::{
    ABOVE, ANY, BELOW, Code, FALSE, GROUPS, Key, NULL, OWNED_BIT, PackedView, TRUE, bit, codes, is_cell,
};
use evidence::views::Status;
use program::Copies;
use rustc_hash::FxHashMap;

/// A step by routine: its beginning, or one of its actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum StepId {
    Invoke(u16),
    Take(u16, u16),
}

pub(crate) struct Domain<'a> {
    pub model: &'a Model,
}

/// The private steps on the way from one view.
#[derive(Default)]
struct Way {
    met: FxHashMap<PackedView, PairCoverage>,
    depth: usize,
}

#[derive(Clone, Copy)]
enum PairCoverage {
    /// All that follows it was looked at.
    Whole,
    /// What follows it is being looked at.
    Under,
}

/// How many private steps are taken in a row before a state is stored anyway.
const MAX_PRIVATE_STEPS: usize = 64;

/// Of the first so many nothing is noted: most ways are shorter.
const UNNOTED_STEPS: usize = 6;

impl Domain<'_> {
    fn steps(&self, view: &PackedView) -> Vec<StepId> {
        match self.model.routine_at(view.control) {
            None => (0..self.model.routines.len() as u16).map(StepId::Invoke).collect(),
            Some((routine, at)) => {
                let number = self.model.controls[view.control as usize].0;
                routine.outgoing[at.index()].iter().map(|s| StepId::Take(number, *s)).collect()
            }
        }
    }
    fn routine(&self, step: StepId) -> &ShapeRoutine {
        match step {
            StepId::Invoke(r) | StepId::Take(r, _) => &self.model.routines[r as usize],
        }
    }
    /// Raw outcomes of one step: not yet canonical, operations not yet finished.
    fn raw(&self, view: &PackedView, step: StepId, alarms: &mut Vec<Alarm>) -> Vec<ViewAfterStep> {
        let routine = self.routine(step);
        match step {
            StepId::Invoke(_) => invoke_operation(self.model, routine, view, alarms),
            StepId::Take(_, s) => run_step(self.model, routine, &routine.steps[s as usize], view, alarms),
        }
    }
    /// The end of a step for its own thread: witnesses, the end of the operation, canonical form.
    fn settle(&self, mut view: PackedView, alarms: &mut Vec<Alarm>) -> Option<PackedView> {
        let (routine, at) = self.model.routine_at(view.control)?;
        witness(self.model, routine, &mut view);
        if self.model.object.is_some()
            && routine.exit == Some(at)
            && let Err(alarm) = finish_operation(self.model, routine, &mut view)
        {
            alarms.push(alarm);
            return None;
        }
        Some(names::canonical(self.model, &view))
    }
    /// Follows private steps from a settled view; everything that must be stored goes to `out`. A view that was met before is followed once; one
    /// that leads back to itself is stored.
    fn follow(&self, view: PackedView, way: &mut Way, alarms: &mut Vec<Alarm>, out: &mut Vec<PackedView>) {
        let idle = self.model.routine_at(view.control).is_none();
        if idle || way.depth == MAX_PRIVATE_STEPS {
            out.push(view);
            return;
        }
        let noted = way.depth >= UNNOTED_STEPS;
        if noted {
            match way.met.get(&view) {
                Some(PairCoverage::Whole) => return,
                Some(PairCoverage::Under) => {
                    out.push(view);
                    return;
                }
                None => {}
            }
        }
        let mut next = Vec::new();
        let mut found = Vec::new();
        for step in self.steps(&view) {
            if self.waits_for_others(&view, step) {
                out.push(view);
                return;
            }
            for o in self.raw(&view, step, &mut found) {
                if o.touched {
                    out.push(view);
                    return;
                }
                next.push(o.view);
            }
        }
        // Nothing enabled, or an alarm whose step may have looked at shared state: a state like any other.
        if next.is_empty() || !found.is_empty() {
            out.push(view);
            return;
        }
        if noted {
            way.met.insert(view.clone(), PairCoverage::Under);
        }
        way.depth += 1;
        for v in next {
            if let Some(v) = self.settle(v, alarms) {
                self.follow(v, way, alarms, out);
            }
        }
        way.depth -= 1;
        if noted {
            way.met.insert(view, PairCoverage::Whole);
        }
    }
    /// Whether the step's guard is false because of something that others can change: they may enable it while the thread stays where it is.
    fn waits_for_others(&self, view: &PackedView, step: StepId) -> bool {
        let StepId::Take(r, s) = step else { return false };
        let step = &self.model.routines[r as usize].steps[s as usize];
        if !step.guard_looks {
            return false;
        }
        let inputs = vec![ANY; step.inputs.len()];
        let waits = cases(self.model, view, &mut Vec::new(), |v, choices| {
            let mut eval = ViewEval::new(self.model, v, &step.arena, 0, choices);
            eval.inputs = &inputs;
            Ok(Some(!eval.formula(step.guard)? && eval.touched))
        });
        waits.into_iter().any(|w| w)
    }
    /// Two instances of a thread that comes once are not a pair.
    fn alone(&self, t: &PackedView, sc: &PackedView) -> bool {
        let (a, b) = (self.model.controls[t.control as usize].0, self.model.controls[sc.control as usize].0);
        a == b && self.model.routines.get(a as usize).is_some_and(|r| r.copies == Copies::One)
    }
    fn initial_heaps(&self) -> Result<Vec<PackedView>, EvalStop> {
        let model = self.model;
        let mut views = vec![PackedView {
            control: 0,
            witnessed: 0,
            vars: Vec::new(),
            several: Vec::new(),
            kinds: Vec::new(),
            rows: Vec::new(),
            groups: vec![0; model.kinds.len() * model.width],
            present: 0,
            single_predecessor: 0,
            unshared: 0,
            width: model.width as u8,
        }];
        for (slot, initial) in model.globals.iter().zip(&model.initial) {
            let mut next = Vec::new();
            for v in views {
                let options: Vec<Code> = match (initial, slot.ty) {
                    (InitialValue::Is(c), _) => vec![*c],
                    (InitialValue::Open, ShapeType::Bool) => vec![FALSE, TRUE],
                    (
                        InitialValue::Open,
                        ShapeType::Data | ShapeType::Variant(_) | ShapeType::Key | ShapeType::Lock,
                    ) => vec![ANY],
                    (InitialValue::Open, ShapeType::Ref(class)) => {
                        let Some(room) = model.start.objects[class.index()] else {
                            return lost(format!("{} may refer to an object that is not live", slot.name));
                        };
                        let same = (0..v.cells()).filter(|c| model.kinds[v.kind(*c) as usize].class == class);
                        let mut options: Vec<Code> = std::iter::once(NULL).chain(same).collect();
                        if options.len() <= room as usize {
                            options.push(v.cells());
                        }
                        options
                    }
                };
                for o in options {
                    let mut v = v.clone();
                    v.vars.push(o);
                    let ShapeType::Ref(class) = slot.ty else {
                        next.push(v);
                        continue;
                    };
                    if o != v.cells() {
                        next.push(v);
                        continue;
                    }
                    // A new cell: its booleans may be anything, its key is not known.
                    let kinds = model.kinds.iter().enumerate();
                    let tracked = |k: &CellKind| k.colours.iter().any(|c| (BELOW..=ABOVE).contains(c));
                    let kinds = kinds.filter(|(_, k)| k.class == class && k.status == Status::Never && !tracked(k));
                    for (kind, _) in kinds {
                        let mut v = v.clone();
                        if v.add_cell(kind as u8, &vec![0; model.width]).is_none() {
                            return lost("more named cells than fit in a view");
                        }
                        next.push(v);
                    }
                }
            }
            views = next;
        }
        for v in &mut views {
            self.open_rows(v);
        }
        Ok(views)
    }
    /// Every field of every initial cell may have any value of its type; references lead to live objects where `init` says so.
    fn open_rows(&self, v: &mut PackedView) {
        let model = self.model;
        // Objects that are there without a name, of classes where there are more objects than named ones.
        for (k, kind) in model.kinds.iter().enumerate() {
            let named = (0..v.cells()).filter(|c| model.kinds[v.kind(*c) as usize].class == kind.class).count();
            let objects = model.start.objects[kind.class.index()].unwrap_or(0);
            if kind.status == Status::Never && objects as usize > named {
                v.present |= 1 << k;
            }
        }
        for at in v.all() {
            let class = model.kinds[v.kind(at) as usize].class;
            for r in 0..model.width {
                v.set_row(at, r, bit(ANY));
            }
            for f in &model.classes[class.index()].fields {
                let field = &model.fields[*f as usize];
                let Stored::Row(r) = field.stored else { continue };
                let mask = match field.ty {
                    _ if matches!(field.start, InitialValue::Is(_)) => match field.start {
                        InitialValue::Is(code) => bit(code),
                        InitialValue::Open => bit(ANY),
                    },
                    ShapeType::Ref(c) => {
                        let cells = v.all().filter(|d| model.kinds[v.kind(*d) as usize].class == c);
                        let open = if model.start.closed.contains(f) { 0 } else { bit(ANY) };
                        cells.fold(bit(NULL) | open, |m, d| m | bit(d))
                    }
                    _ => bit(ANY),
                };
                v.set_row(at, r as usize, mask);
            }
            if let Some(s) = model.successor_row() {
                v.set_row(at, s, bit(super::view::AS_LINK));
            }
            v.set_unshared(at, !model.takes.is_empty());
        }
    }
    /// The initial heaps that satisfy every `init` formula that could be compiled.
    pub(crate) fn starts(&self) -> Result<Vec<PackedView>, Alarm> {
        let mut alarms = Vec::new();
        let heaps = match self.initial_heaps() {
            Ok(heaps) => heaps,
            Err(EvalStop::Alarm(a)) => return Err(a),
            Err(_) => return Ok(Vec::new()),
        };
        let mut out = Vec::new();
        for heap in heaps {
            let found = cases(self.model, &heap, &mut alarms, |v, choices| {
                for (i, (arena, at)) in self.model.start.facts.iter().enumerate() {
                    if !ViewEval::new(self.model, v, arena, i as u16, choices).formula(*at)? {
                        return Ok(None);
                    }
                }
                let mut v = v.clone();
                self.model.start.facts.iter().for_each(|(arena, at)| self.impose(&mut v, arena, *at));
                self.forget_unreachable(&mut v);
                let mut heap = ChangingView::new(self.model, v);
                heap.begin_spine()?;
                prune_view(self.model, &mut heap.view)?;
                match self.model.leak {
                    Some(leak) if !begins(self.model, &heap.view) => Err(EvalStop::Alarm(Alarm::Gate(leak))),
                    _ => Ok(Some(heap.view)),
                }
            });
            out.extend(found);
        }
        match alarms.pop() {
            Some(alarm) => Err(alarm),
            None => Ok(out),
        }
    }
}

impl Domain<'_> {
    /// `r.f == n`, where `r` refers to an object of whose field nothing is known yet: it is the number.
    fn impose(&self, v: &mut PackedView, arena: &[Ex], at: ExId) {
        let (Ex::Eq(a, b) | Ex::EqData(a, b)) = arena[at as usize] else { return };
        for (read, number) in [(a, b), (b, a)] {
            let (Ex::Read(field, map, key), Ex::Code(code)) = (&arena[read as usize], &arena[number as usize]) else {
                continue;
            };
            let (Ex::Field(_), Ex::Slot(s)) = (&arena[*map as usize], &arena[*key as usize]) else { continue };
            let (cell, f) = (v.vars[*s as usize], &self.model.fields[*field as usize]);
            if let (true, ShapeType::Data | ShapeType::Lock, Stored::Row(r)) = (is_cell(cell), f.ty, f.stored)
                && v.row(cell, r as usize) == bit(ANY)
            {
                v.set_row(cell, r as usize, bit(*code));
            }
        }
    }
    /// Objects that nothing leads to are never seen by anyone.
    fn forget_unreachable(&self, v: &mut PackedView) {
        let mut reached = 0u128;
        let mut todo: Vec<Code> = v.vars.iter().copied().filter(|c| is_cell(*c)).collect();
        while let Some(c) = todo.pop() {
            if reached & bit(c) == 0 {
                reached |= bit(c);
                for r in 0..self.model.width {
                    todo.extend(codes(v.row(c, r)).filter(|d| *d < NULL));
                }
            }
        }
        for k in 0..self.model.kinds.len() as u8 {
            if v.has_group(k) && reached & bit(GROUPS + k) == 0 {
                v.empty_group(k);
            }
        }
    }
}

impl Base for Domain<'_> {
    type View = PackedView;
    type Key = Key;
    type Shared = Box<[u8]>;
    type Step = StepId;
    type Alarm = Alarm;

    fn key(&self, view: &PackedView) -> Key {
        view.key()
    }
    fn shared(&self, view: &PackedView) -> Option<Box<[u8]>> {
        let mut out = Vec::with_capacity(2 * self.model.globals.len());
        let mut cells = 0;
        for (slot, code) in self.model.globals.iter().zip(&view.vars) {
            match slot.ty {
                // Who holds a lock depends on who looks.
                ShapeType::Lock => {}
                _ if *code == ANY => return None,
                _ => out.push(*code),
            }
            if is_cell(*code) {
                cells = cells.max(*code as usize + 1);
            }
        }
        // Cells that shared variables refer to come first.
        out.extend(view.kinds[..cells].iter().map(|k| self.model.common[(k & !OWNED_BIT) as usize] | k & OWNED_BIT));
        Some(out.into())
    }
    fn join(&self, into: &mut PackedView, from: &PackedView) -> Grown {
        into.join(from)
    }
    fn initial(&self) -> Vec<PackedView> {
        let starts = self.starts().unwrap_or_default();
        let mut out = Vec::new();
        for mut v in starts {
            v.vars.resize(self.model.globals.len() + self.model.frame, ANY);
            if self.model.object.is_some() {
                out.push(names::canonical(self.model, &v));
                continue;
            }
            for routine in &self.model.routines {
                let mut v = v.clone();
                for (i, s) in routine.start.iter().enumerate() {
                    v.vars[self.model.globals.len() + i] = match s {
                        InitialValue::Is(c) => *c,
                        InitialValue::Open => ANY,
                    };
                }
                v.control = routine.first + routine.entry.0 as u16;
                out.push(names::canonical(self.model, &v));
            }
        }
        out
    }
    fn own(&self, view: &PackedView) -> OwnSteps<PackedView, StepId, Alarm> {
        let mut own = OwnSteps { posts: Vec::new(), visible: Vec::new(), alarms: Vec::new() };
        for step in self.steps(view) {
            let mut alarms = Vec::new();
            let mut out = Vec::new();
            let mut way = Way::default();
            for o in self.raw(view, step, &mut alarms) {
                if o.visible && !own.visible.contains(&step) {
                    own.visible.push(step);
                }
                if let Some(v) = self.settle(o.view, &mut alarms) {
                    self.follow(v, &mut way, &mut alarms, &mut out);
                }
            }
            own.posts.extend(out.into_iter().map(|v| (step, v)));
            own.alarms.extend(alarms.into_iter().map(|a| (step, a)));
        }
        own
    }
    fn footprint(&self, sc: &PackedView, step: StepId) -> PackedView {
        let StepId::Take(r, s) = step else { return sc.clone() };
        footprint(self.model, &self.model.routines[r as usize], s, sc)
    }
    fn observe(&self, t: &PackedView, sc: &PackedView, step: StepId) -> Result<Vec<PackedView>, Alarm> {
        if self.alone(t, sc) {
            return Ok(Vec::new());
        }
        let mut out = Vec::new();
        for pair in meet_views(self.model, t, sc)? {
            let mut alarms = Vec::new();
            for o in self.raw(&pair, step, &mut alarms) {
                if !o.visible {
                    continue;
                }
                let mut seen = project_view(self.model, &o.view, t);
                if self.model.routine_at(t.control).is_none() {
                    forget_left(self.model, &mut seen);
                    seen = names::canonical(self.model, &seen);
                }
                if let Some((routine, _)) = self.model.routine_at(t.control) {
                    let before = seen.witnessed;
                    witness(self.model, routine, &mut seen);
                    debug_assert!(seen.witnessed & before == before, "witnesses only grow");
                }
                out.push(seen);
            }
            // Failing gates are the scheduled thread's own alarms; losing track concerns every thread.
            if let Some(a) = alarms.into_iter().find(|a| matches!(a, Alarm::Lost(_))) {
                return Err(a);
            }
        }
        Ok(out)
    }
}

/// Keeps what the step reads, and the cells that these certainly lead to: another thread sees the step through nothing else.
fn footprint(model: &Model, routine: &ShapeRoutine, step: u16, sc: &PackedView) -> PackedView {
    let step = &routine.steps[step as usize];
    let base = model.globals.len();
    let mut keep = vec![false; sc.vars.len()];
    keep[..base].fill(true);
    let names = model.object.is_none()
        && step.fields.iter().any(|(f, _)| model.fields[*f as usize].ty == ShapeType::Data)
        && step.arena.iter().any(|e| matches!(e, Ex::Store(..)));
    if !model.takes.is_empty() || names {
        // What the thread refers to matters to every thread; and what its values are named by, where another may get a name.
        keep.iter_mut().zip(&sc.vars).for_each(|(k, v)| *k |= is_cell(*v));
    }
    for s in slots_read(&step.arena) {
        keep[s as usize] = true;
    }
    if let Some(firing) = &step.fires {
        routine.arguments.iter().for_each(|s| keep[*s as usize] = true);
        keep[model.done as usize] = true;
        if let Firing::When(arena, _) = firing {
            slots_read(arena).for_each(|s| keep[s as usize] = true);
        }
    }
    let mut named: u32 = 0;
    let mut todo: Vec<Code> =
        (0..keep.len()).filter(|i| keep[*i]).map(|i| sc.vars[i]).filter(|v| is_cell(*v)).collect();
    while let Some(c) = todo.pop() {
        if named >> c & 1 == 1 {
            continue;
        }
        named |= 1 << c;
        for r in 0..model.width {
            let row = sc.row(c, r);
            for d in codes(row).filter(|d| is_cell(*d) && named >> *d & 1 == 0) {
                // A cell of one's own would be lost without a name.
                if (row.count_ones() == 1 || sc.owned(d))
                    && let Some(i) = (base..keep.len()).find(|i| sc.vars[*i] == d)
                {
                    keep[i] = true;
                    todo.push(d);
                }
            }
        }
    }
    let mut out = sc.clone();
    out.witnessed = 0;
    for (v, keep) in out.vars.iter_mut().zip(keep) {
        if !keep {
            *v = ANY;
        }
    }
    model.canonical(&out)
}
