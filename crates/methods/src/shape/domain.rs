//! Canonical abstraction in packed form as a base domain for `Quantified`.
//!
//! Comes in: a `Model`. Goes out: initial views, a thread's own steps with the reduction of private steps, and what others see.
//! A thread whose next steps look at and change nothing but its own variables and owned cells goes on at once: such steps commute with
//! every step of the others. Chains of such steps are cut after a fixed length, so no cycle of them hides a state.

use super::eval::{Alarm, Eval, Stop};
use super::expr::{Ex, ExId, slots_read};
use super::heap::{Heap, lost, prune};
use super::leaks::begins;
use super::meet::{meet, project};
use super::model::{Firing, Initial, Kind, Model, Routine, Stored};
use super::quantified::{Base, Grown, Own};
use super::spine::forget_left;
use super::step::{Outcome, cases, finish, invoke, run, witness};
use super::types::Ty;
use super::view::{
    ABOVE, ANY, BELOW, Code, FALSE, FREE, GROUPS, Key, NULL, OWN, OWNED, THIRD, TRUE, View, bit, codes, is_cell,
};
use evidence::views::Status;
use program::{Copies, LocId};
use rustc_hash::FxHashMap;

/// A step by routine: its beginning, or one of its actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StepId {
    Invoke(u16),
    Take(u16, u16),
}

pub struct Domain<'a> {
    pub model: &'a Model,
}

/// The private steps on the way from one view.
#[derive(Default)]
struct Way {
    met: FxHashMap<View, Met>,
    depth: usize,
}

#[derive(Clone, Copy)]
enum Met {
    /// All that follows it was looked at.
    Whole,
    /// What follows it is being looked at.
    Under,
}

/// How many private steps are taken in a row before a state is stored anyway.
const CHAIN: usize = 64;

/// Of the first so many nothing is noted: most ways are shorter.
const SHORT: usize = 6;

impl Domain<'_> {
    fn steps(&self, view: &View) -> Vec<StepId> {
        match self.model.routine_at(view.control) {
            None => (0..self.model.routines.len() as u16).map(StepId::Invoke).collect(),
            Some((routine, at)) => {
                let number = self.model.controls[view.control as usize].0;
                routine.outgoing[at.0 as usize].iter().map(|s| StepId::Take(number, *s)).collect()
            }
        }
    }
    fn routine(&self, step: StepId) -> &Routine {
        match step {
            StepId::Invoke(r) | StepId::Take(r, _) => &self.model.routines[r as usize],
        }
    }
    /// Raw outcomes of one step: not yet canonical, operations not yet finished.
    fn raw(&self, view: &View, step: StepId, alarms: &mut Vec<Alarm>) -> Vec<Outcome> {
        let routine = self.routine(step);
        match step {
            StepId::Invoke(_) => invoke(self.model, routine, view, alarms),
            StepId::Take(_, s) => run(self.model, routine, &routine.steps[s as usize], view, alarms),
        }
    }
    /// The end of a step for its own thread: witnesses, the end of the operation, canonical form.
    fn settle(&self, mut view: View, alarms: &mut Vec<Alarm>) -> Option<View> {
        let (routine, at) = self.model.routine_at(view.control)?;
        witness(self.model, routine, &mut view);
        if self.model.object.is_some()
            && routine.exit == Some(at)
            && let Err(alarm) = finish(self.model, routine, &mut view)
        {
            alarms.push(alarm);
            return None;
        }
        Some(self.model.canonical(&view))
    }
    /// Follows private steps from a settled view; everything that must be stored goes to `out`. A view that was met before is followed once; one
    /// that leads back to itself is stored.
    fn follow(&self, view: View, way: &mut Way, alarms: &mut Vec<Alarm>, out: &mut Vec<View>) {
        let idle = self.model.routine_at(view.control).is_none();
        if idle || way.depth == CHAIN {
            out.push(view);
            return;
        }
        let noted = way.depth >= SHORT;
        if noted {
            match way.met.get(&view) {
                Some(Met::Whole) => return,
                Some(Met::Under) => {
                    out.push(view);
                    return;
                }
                None => {}
            }
        }
        let mut next = Vec::new();
        let mut found = Vec::new();
        for step in self.steps(&view) {
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
            way.met.insert(view.clone(), Met::Under);
        }
        way.depth += 1;
        for v in next {
            if let Some(v) = self.settle(v, alarms) {
                self.follow(v, way, alarms, out);
            }
        }
        way.depth -= 1;
        if noted {
            way.met.insert(view, Met::Whole);
        }
    }
    /// Two instances of a thread that comes once are not a pair.
    fn alone(&self, t: &View, sc: &View) -> bool {
        let (a, b) = (self.model.controls[t.control as usize].0, self.model.controls[sc.control as usize].0);
        a == b
            && self.model.routines.get(a as usize).is_some_and(|r| matches!(r.copies, Copies::One | Copies::Exactly(1)))
    }
    fn initial_heaps(&self) -> Result<Vec<View>, Stop> {
        let model = self.model;
        let mut views = vec![View {
            control: 0,
            witnessed: 0,
            vars: Vec::new(),
            kinds: Vec::new(),
            rows: Vec::new(),
            groups: vec![0; model.kinds.len() * model.width],
            present: 0,
            lone: 0,
            sole: 0,
            width: model.width as u8,
        }];
        for (slot, initial) in model.globals.iter().zip(&model.initial) {
            let mut next = Vec::new();
            for v in views {
                let options: Vec<Code> = match (initial, slot.ty) {
                    (Initial::Is(c), _) => vec![*c],
                    (Initial::Open, Ty::Bool) => vec![FALSE, TRUE],
                    (Initial::Open, Ty::Lock) => vec![FREE],
                    (Initial::Open, Ty::Data | Ty::Variant(_) | Ty::Key) => vec![ANY],
                    (Initial::Open, Ty::Ref(class)) => {
                        let Some(room) = model.start.objects[class.0 as usize] else {
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
                    let Ty::Ref(class) = slot.ty else {
                        next.push(v);
                        continue;
                    };
                    if o != v.cells() {
                        next.push(v);
                        continue;
                    }
                    // A new cell: its booleans may be anything, its key is not known.
                    let kinds = model.kinds.iter().enumerate();
                    let tracked = |k: &Kind| k.colours.iter().any(|c| (BELOW..=ABOVE).contains(c));
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
    fn open_rows(&self, v: &mut View) {
        let model = self.model;
        // Objects that are there without a name, of classes where there are more objects than named ones.
        for (k, kind) in model.kinds.iter().enumerate() {
            let named = (0..v.cells()).filter(|c| model.kinds[v.kind(*c) as usize].class == kind.class).count();
            let objects = model.start.objects[kind.class.0 as usize].unwrap_or(0);
            if kind.status == Status::Never && objects as usize > named {
                v.present |= 1 << k;
            }
        }
        for at in v.all() {
            let class = model.kinds[v.kind(at) as usize].class;
            for r in 0..model.width {
                v.set_row(at, r, bit(ANY));
            }
            for f in &model.classes[class.0 as usize].fields {
                let field = &model.fields[*f as usize];
                let Stored::Row(r) = field.stored else { continue };
                let mask = match field.ty {
                    _ if matches!(field.start, Initial::Is(_)) => match field.start {
                        Initial::Is(code) => bit(code),
                        Initial::Open => bit(ANY),
                    },
                    Ty::Ref(c) => {
                        let cells = v.all().filter(|d| model.kinds[v.kind(*d) as usize].class == c);
                        let open = if model.start.closed.contains(f) { 0 } else { bit(ANY) };
                        cells.fold(bit(NULL) | open, |m, d| m | bit(d))
                    }
                    // Nobody said that it is free: it may hold any number, also one that is nobody's id.
                    Ty::Lock if !model.start.speaks_of(*f) => bit(ANY),
                    Ty::Lock => bit(FREE) | bit(OWN) | bit(THIRD),
                    _ => bit(ANY),
                };
                v.set_row(at, r as usize, mask);
            }
            if let Some(s) = model.successor_row() {
                v.set_row(at, s, bit(super::view::AS_LINK));
            }
            v.set_sole(at, !model.takes.is_empty());
        }
    }
    /// The initial heaps that satisfy every `init` formula that could be compiled.
    pub fn starts(&self) -> Result<Vec<View>, Alarm> {
        let mut alarms = Vec::new();
        let heaps = match self.initial_heaps() {
            Ok(heaps) => heaps,
            Err(Stop::Alarm(a)) => return Err(a),
            Err(_) => return Ok(Vec::new()),
        };
        let mut out = Vec::new();
        for heap in heaps {
            let found = cases(self.model, &heap, &mut alarms, |v, choices| {
                for (i, (arena, at)) in self.model.start.facts.iter().enumerate() {
                    if !Eval::new(self.model, v, arena, i as u16, choices).formula(*at)? {
                        return Ok(None);
                    }
                }
                let mut v = v.clone();
                self.model.start.facts.iter().for_each(|(arena, at)| self.impose(&mut v, arena, *at));
                self.forget_unreachable(&mut v);
                let mut heap = Heap { model: self.model, view: v, visible: false, cuts: Vec::new() };
                heap.begin_spine()?;
                prune(self.model, &mut heap.view)?;
                match self.model.leak {
                    Some(leak) if !begins(self.model, &heap.view) => Err(Stop::Alarm(Alarm::Gate(leak))),
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
    fn impose(&self, v: &mut View, arena: &[Ex], at: ExId) {
        let (Ex::Eq(a, b) | Ex::EqData(a, b)) = arena[at as usize] else { return };
        for (read, number) in [(a, b), (b, a)] {
            let (Ex::Read(field, map, key), Ex::Code(code)) = (&arena[read as usize], &arena[number as usize]) else {
                continue;
            };
            let (Ex::Field(_), Ex::Slot(s)) = (&arena[*map as usize], &arena[*key as usize]) else { continue };
            let (cell, f) = (v.vars[*s as usize], &self.model.fields[*field as usize]);
            if let (true, Ty::Data, Stored::Row(r)) = (is_cell(cell), f.ty, f.stored)
                && v.row(cell, r as usize) == bit(ANY)
            {
                v.set_row(cell, r as usize, bit(*code));
            }
        }
    }
    /// Objects that nothing leads to are never seen by anyone.
    fn forget_unreachable(&self, v: &mut View) {
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
    type View = View;
    type Key = Key;
    type Shared = Box<[u8]>;
    type Step = StepId;
    type Alarm = Alarm;

    fn key(&self, view: &View) -> Key {
        view.key()
    }
    fn shared(&self, view: &View) -> Option<Box<[u8]>> {
        let mut out = Vec::with_capacity(2 * self.model.globals.len());
        let mut cells = 0;
        for (slot, code) in self.model.globals.iter().zip(&view.vars) {
            match slot.ty {
                // Who holds a lock depends on who looks.
                Ty::Lock => {}
                _ if *code == ANY => return None,
                _ => out.push(*code),
            }
            if is_cell(*code) {
                cells = cells.max(*code as usize + 1);
            }
        }
        // Cells that shared variables refer to come first.
        out.extend(view.kinds[..cells].iter().map(|k| self.model.common[(k & !OWNED) as usize] | k & OWNED));
        Some(out.into())
    }
    fn join(&self, into: &mut View, from: &View) -> Grown {
        into.join(from)
    }
    fn initial(&self) -> Vec<View> {
        let starts = self.starts().unwrap_or_default();
        let mut out = Vec::new();
        for mut v in starts {
            v.vars.resize(self.model.globals.len() + self.model.frame, ANY);
            if self.model.object.is_some() {
                out.push(self.model.canonical(&v));
                continue;
            }
            for routine in &self.model.routines {
                let mut v = v.clone();
                for (i, s) in routine.start.iter().enumerate() {
                    v.vars[self.model.globals.len() + i] = match s {
                        Initial::Is(c) => *c,
                        Initial::Open => ANY,
                    };
                }
                v.control = routine.first + routine.entry.0 as u16;
                out.push(self.model.canonical(&v));
            }
        }
        out
    }
    fn own(&self, view: &View) -> Own<View, StepId, Alarm> {
        let mut own = Own { posts: Vec::new(), visible: Vec::new(), alarms: Vec::new() };
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
    fn footprint(&self, sc: &View, step: StepId) -> View {
        let StepId::Take(r, s) = step else { return sc.clone() };
        footprint(self.model, &self.model.routines[r as usize], s, sc)
    }
    fn observe(&self, t: &View, sc: &View, step: StepId) -> Result<Vec<View>, Alarm> {
        if self.alone(t, sc) {
            return Ok(Vec::new());
        }
        let mut out = Vec::new();
        for pair in meet(self.model, t, sc) {
            let mut alarms = Vec::new();
            for o in self.raw(&pair, step, &mut alarms) {
                if !o.visible {
                    continue;
                }
                let mut seen = project(self.model, &o.view, t);
                if self.model.routine_at(t.control).is_none() {
                    forget_left(self.model, &mut seen);
                    seen = self.model.canonical(&seen);
                }
                if let Some((routine, _)) = self.model.routine_at(t.control) {
                    let before = seen.witnessed;
                    witness(self.model, routine, &mut seen);
                    debug_assert!(seen.witnessed & before == before, "witnesses only grow");
                }
                out.push(seen);
            }
            // Failing gates are the scheduled thread's own alarms; losing track is everybody's.
            if let Some(a) = alarms.into_iter().find(|a| matches!(a, Alarm::Lost(_))) {
                return Err(a);
            }
        }
        Ok(out)
    }
}

/// Keeps what the step reads, and the cells that these certainly lead to: another thread sees the step through nothing else.
fn footprint(model: &Model, routine: &Routine, step: u16, sc: &View) -> View {
    let step = &routine.steps[step as usize];
    let base = model.globals.len();
    let mut keep = vec![false; sc.vars.len()];
    keep[..base].fill(true);
    let names = model.object.is_none()
        && step.fields.iter().any(|(f, _)| model.fields[*f as usize].ty == Ty::Data)
        && step.arena.iter().any(|e| matches!(e, Ex::Store(..)));
    if !model.takes.is_empty() || names {
        // What the thread refers to matters to everybody; and what its values are named by, where another may get a name.
        keep.iter_mut().zip(&sc.vars).for_each(|(k, v)| *k |= is_cell(*v));
    }
    for s in slots_read(&step.arena) {
        keep[s as usize] = true;
    }
    if let Some(firing) = &step.fires {
        keep[base..base + routine.params].fill(true);
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

/// The location of a control number, for people.
pub fn location(model: &Model, control: u16) -> Option<(usize, LocId)> {
    let (r, l) = model.controls[control as usize];
    ((r as usize) < model.routines.len()).then_some((r as usize, l))
}
