//! One step of the scheduled thread on a view (or on a pair of views): all outcomes.
//!
//! In: a view and a compiled step. Out: the views after it, each with whether others can see the change and whether the step
//! looked at anything shared; or alarms. A step is tried from the start; where the view does not decide, the question is split into
//! cases and each case is tried again, so guards and gates are always decided and a case that contradicts the facts is dropped.

use super::eval::{Alarm, EvalStop, Site, ViewEval};
use super::expr::slots_read;
use super::heap::{ChangingView, lost};
use super::leaks::keeps;
use super::model::{Firing, InitialValue, Model, ShapeInput, ShapeRoutine, ShapeStep, Stored};
use super::prune::prune_view;
use super::spec::{SpecChange, SpecOperation};
use super::spine::forget_left;
use super::takes::held;
use super::types::ShapeType;
use super::view::{
    ABOVE, ANY, ARGUMENT, BELOW, Code, DONE_CHANGED, DONE_NO, DONE_PURE, EQUAL, FALSE, GROUPS, NULL, OPEN, OWNED_BIT,
    PackedView, TRUE, bit, codes, is_cell,
};
use evidence::views::Status;
use program::LocId;
use std::borrow::Cow;

pub(crate) struct ViewAfterStep {
    pub view: PackedView,
    /// Others can see a change.
    pub visible: bool,
    /// Something that others can change was read, or something they can see was changed.
    pub touched: bool,
}

/// All outcomes of a step; alarms are collected, not raised.
pub(crate) fn run_step(
    model: &Model,
    routine: &ShapeRoutine,
    step: &ShapeStep,
    view: &PackedView,
    alarms: &mut Vec<Alarm>,
) -> Vec<ViewAfterStep> {
    cases(model, view, alarms, |v, choices| attempt(model, routine, step, v, choices))
}

/// Tries `act` on all cases that it asks to distinguish.
pub(crate) fn cases<T>(
    model: &Model,
    view: &PackedView,
    alarms: &mut Vec<Alarm>,
    act: impl Fn(&PackedView, &[(Site, Code)]) -> Result<Option<T>, EvalStop>,
) -> Vec<T> {
    let mut out = Vec::new();
    let mut todo: Vec<(Cow<'_, PackedView>, Vec<(Site, Code)>)> = vec![(Cow::Borrowed(view), Vec::new())];
    while let Some((v, choices)) = todo.pop() {
        match act(&v, &choices) {
            Ok(Some(outcome)) => out.push(outcome),
            Ok(None) | Err(EvalStop::Impossible) => {}
            Err(EvalStop::Alarm(alarm)) => {
                if !alarms.contains(&alarm) {
                    alarms.push(alarm);
                }
            }
            Err(EvalStop::Choose(site, options)) => {
                for o in options.into_iter().rev() {
                    let mut more = choices.clone();
                    more.push((site, o));
                    todo.push((v.clone(), more));
                }
            }
            Err(EvalStop::SplitVariable(slot)) => {
                for target in codes(v.several(slot as usize)) {
                    match split_variable(model, &v, slot as usize, target) {
                        Ok(case) => todo.push((Cow::Owned(case), choices.clone())),
                        Err(EvalStop::Alarm(alarm)) => alarms.push(alarm),
                        Err(_) => {}
                    }
                }
            }
            Err(EvalStop::Split(cell, row)) => {
                for target in codes(v.row(cell, row)) {
                    match split(model, &v, cell, row, target) {
                        Ok(case) => todo.push((Cow::Owned(case), choices.clone())),
                        Err(EvalStop::Alarm(alarm)) => alarms.push(alarm),
                        Err(_) => {}
                    }
                }
            }
        }
    }
    out
}

/// The case in which the row has the one value; a member of a group gets a name.
fn split(model: &Model, view: &PackedView, cell: Code, row: usize, target: Code) -> Result<PackedView, EvalStop> {
    let mut v = view.clone();
    let target = named(&mut v, target)?;
    v.set_row(cell, row, bit(target));
    prune_view(model, &mut v)?;
    Ok(v)
}

/// The case in which the variable has the one value.
fn split_variable(model: &Model, view: &PackedView, slot: usize, target: Code) -> Result<PackedView, EvalStop> {
    let mut v = view.clone();
    let target = named(&mut v, target)?;
    v.set_variable(slot, target);
    prune_view(model, &mut v)?;
    Ok(v)
}

/// The value itself, or a new name for a member of the group.
fn named(view: &mut PackedView, value: Code) -> Result<Code, EvalStop> {
    if !(GROUPS..NULL).contains(&value) {
        return Ok(value);
    }
    match view.name_member(value) {
        Some(at) => Ok(at),
        None => lost("more named cells than fit in a view"),
    }
}

fn choice(choices: &[(Site, Code)], site: Site, options: &[Code]) -> Result<Code, EvalStop> {
    match choices.iter().find(|(s, _)| *s == site) {
        Some((_, c)) => Ok(*c),
        None => Err(EvalStop::Choose(site, options.to_vec())),
    }
}

/// Phases of a step, to tell the sites of choices apart.
const PHASE_STEP: u16 = 0;
const PHASE_AFTER: u16 = 1;
const PHASE_INPUT: u16 = 2;
const PHASE_COLOUR: u16 = 3;
const PHASE_SPEC: u16 = 16;

fn chosen(ty: ShapeType, choices: &[(Site, Code)], site: Site) -> Result<Code, EvalStop> {
    match ty {
        ShapeType::Bool => choice(choices, site, &[FALSE, TRUE]),
        ShapeType::Key => choice(choices, site, &[BELOW, EQUAL, ABOVE]),
        ShapeType::Ref(_) | ShapeType::Data | ShapeType::Variant(_) | ShapeType::Lock => Ok(ANY),
    }
}

fn attempt(
    model: &Model,
    routine: &ShapeRoutine,
    step: &ShapeStep,
    view: &PackedView,
    choices: &[(Site, Code)],
) -> Result<Option<ViewAfterStep>, EvalStop> {
    // Most steps make no objects: what was before them need not be copied.
    let mut before = Cow::Borrowed(view);
    let mut inputs = Vec::with_capacity(step.inputs.len());
    for (i, input) in step.inputs.iter().enumerate() {
        inputs.push(match input {
            // An integer that the step makes up may be any key: it is not known.
            ShapeInput::Chosen(ShapeType::Key) => ANY,
            ShapeInput::Chosen(ty) => chosen(*ty, choices, (PHASE_INPUT, i as u16, 0))?,
            ShapeInput::Fresh(class) => {
                let mut kind = model.kinds.iter().position(|k| k.class == *class && k.status == Status::Never);
                for f in &model.classes[class.index()].fields {
                    let field = &model.fields[*f as usize];
                    if let (Stored::Colour(c), Some(k)) = (field.stored, kind) {
                        // A colour that the step sets anyway need not be guessed.
                        if !step.fields.iter().any(|(g, _)| g == f) {
                            let value = match field.ty {
                                ShapeType::Key => ANY,
                                ty => chosen(ty, choices, (PHASE_COLOUR, i as u16, c as u16))?,
                            };
                            kind = Some(model.with_colour(k as u8, c, value) as usize);
                        }
                    }
                }
                let kind = kind.expect("every class has a kind") as u8;
                let rows = vec![bit(ANY); model.width];
                match before.to_mut().add_cell(kind | OWNED_BIT, &rows) {
                    Some(at) => {
                        before.to_mut().set_unshared(at, !model.takes.is_empty());
                        at
                    }
                    None => return lost("more named cells than fit in a view"),
                }
            }
        });
    }
    let mut eval = ViewEval::new(model, &before, &step.arena, PHASE_STEP, choices);
    eval.inputs = &inputs;
    eval.fresh = view.cells();
    if !eval.formula(step.guard)? {
        return Ok(None);
    }
    for (property, gate) in &step.gates {
        if !eval.formula(*gate)? {
            return Err(EvalStop::Alarm(Alarm::Gate(*property)));
        }
    }
    let mut slots = Vec::with_capacity(step.slots.len());
    for (slot, value) in &step.slots {
        slots.push((*slot, eval.code(*value)?));
    }
    let mut writes = Vec::new();
    for (field, map) in &step.fields {
        let mut entries = Vec::new();
        eval.writes(*map, &mut entries)?;
        writes.extend(entries.into_iter().map(|(at, value, from)| (*field, at, value, from)));
    }
    let mut freed = Vec::new();
    for set in &step.lives {
        eval.removed(*set, &mut freed)?;
    }
    let mut touched = eval.touched;
    let mut heap = ChangingView::new(model, before.as_ref().clone());
    heap.decides_changes = matches!(step.fires, Some(Firing::Change)) || !step.takes.is_empty();
    for (slot, value) in &slots {
        let old = heap.view.vars[*slot as usize];
        heap.view.set_variable(*slot as usize, *value);
        if (*slot as usize) < model.globals.len() {
            // Written is touched, also where the value is the same: others may write in between.
            touched = true;
            heap.note_change(old, *value);
        }
    }
    for (field, at, value, from) in writes {
        touched |= !heap.view.owned(at);
        let kept = from.filter(|from| !slots.iter().any(|(s, _)| s == from));
        let value = kept.map_or(value, |from| heap.name_value(field, at, value, from));
        heap.write(field, at, value)?;
    }
    for (slot, value) in &slots {
        if (*slot as usize) < model.globals.len() {
            if *value == ARGUMENT {
                return lost("an argument is stored in a shared variable before any cell");
            }
            if is_cell(*value) {
                heap.publish(*value);
            }
        }
    }
    let (changes, certain) = (heap.visible, heap.certain);
    fire(model, routine, step, &mut heap, choices, &mut touched)?;
    if changes {
        for (take, slot) in &step.takes {
            if !certain {
                // Whether the step changes anything, and so takes the cell, is not known.
                return Err(EvalStop::Alarm(Alarm::Kept(*take)));
            }
            heap.take(*take, heap.view.vars[*slot as usize])?;
        }
    }
    for at in &freed {
        heap.free(*at)?;
    }
    let base = model.globals.len();
    let done = model.object.is_some() && heap.view.vars[model.done as usize] != DONE_NO;
    let live = read_after(model, routine, step.to, &heap.view);
    for (i, live) in live.iter().enumerate() {
        let argument = routine.arguments.contains(&((base + i) as u16)) && !done;
        if !live && !argument && !last_name(model, &heap.view, base + i) {
            heap.view.set_variable(base + i, ANY);
        }
    }
    heap.publish_nameless();
    // In a pair the cells are as the other thread knows them.
    if step.looks && heap.view.vars.len() == base + model.frame {
        forget_left(model, &mut heap.view);
    }
    prune_view(model, &mut heap.view)?;
    if let Some(leak) = model.leak
        && heap.view.vars.len() == base + model.frame
        && !keeps(model, routine, &before, view.cells(), &heap, &live, &freed)
    {
        return Err(EvalStop::Alarm(Alarm::Gate(leak)));
    }
    heap.view.control = routine.first + step.to.0 as u16;
    if !model.takes.is_empty() {
        // What the thread refers to is something that others know.
        let (then, now) = (held(model, view), held(model, &heap.view));
        let owned = (0..heap.view.cells()).filter(|c| heap.view.owned(*c)).fold(0, |m, c| m | bit(c));
        heap.visible |= (then ^ now) & !owned != 0;
    }
    Ok(Some(ViewAfterStep { touched: touched || heap.visible, visible: heap.visible, view: heap.view }))
}

/// The variables that may still be read. Where views say what others refer to, a step whose guard is false by the thread's own variables is not taken next.
fn read_after<'r>(model: &Model, routine: &'r ShapeRoutine, at: LocId, view: &PackedView) -> Cow<'r, [bool]> {
    let live = &routine.live[at.index()];
    let next = &routine.outgoing[at.index()];
    if model.takes.is_empty() || next.is_empty() {
        return Cow::Borrowed(live);
    }
    let base = model.globals.len();
    let mut out = vec![false; live.len()];
    for step in next.iter().map(|s| &routine.steps[*s as usize]) {
        let inputs = vec![ANY; step.inputs.len()];
        let mut eval = ViewEval::new(model, view, &step.arena, PHASE_STEP, &[]);
        eval.inputs = &inputs;
        if matches!(eval.formula(step.guard), Ok(false)) && !eval.touched {
            continue;
        }
        let after = &routine.live[step.to.index()];
        for (i, o) in out.iter_mut().enumerate() {
            let slot = (base + i) as u16;
            let read = slots_read(&step.arena).any(|s| s == slot);
            *o |= live[i] && (read || (after[i] && !step.slots.iter().any(|(s, _)| *s == slot)));
        }
    }
    Cow::Owned(out)
}

/// Whether a variable that is not read again is the one name of a cell that must keep it: an owned cell that another owned cell leads to would have to be
/// published without it. In a list with a spine also a cell that an owned cell is going to be put in front of: without the name
/// it would be forgotten that this cell and the one it follows now are one. Or a cell between one that
/// has a name and the next one or the end: it would be forgotten that cutting it out leaves the rest as it is.
fn last_name(model: &Model, view: &PackedView, slot: usize) -> bool {
    let at = view.vars[slot];
    if !is_cell(at) || view.vars.iter().enumerate().any(|(i, v)| i != slot && *v == at) {
        return false;
    }
    let leads = |c: Code| c != at && view.owned(c) && (0..model.width).any(|r| view.row(c, r) & bit(at) != 0);
    if view.owned(at) && (0..view.cells()).any(leads) {
        return true;
    }
    let Some(spine) = &model.spine else { return false };
    let of_list = |c: Code| model.kinds[view.kind(c) as usize].class == spine.class;
    let mut before = (0..view.cells()).filter(|c| of_list(*c) && view.row(*c, spine.link) == bit(at));
    let next = if of_list(at) { view.row(at, spine.link) } else { 0 };
    let between = next.count_ones() == 1 && codes(next).all(|n| n == NULL || is_cell(n));
    before.any(|c| between || view.owned(c))
}

/// Runs the specification's operation where the step is a linearization point.
fn fire(
    model: &Model,
    routine: &ShapeRoutine,
    step: &ShapeStep,
    heap: &mut ChangingView<'_>,
    choices: &[(Site, Code)],
    touched: &mut bool,
) -> Result<(), EvalStop> {
    let (Some(firing), Some(spec)) = (&step.fires, &routine.spec) else { return Ok(()) };
    *touched = true;
    let fires = match firing {
        Firing::Always => true,
        Firing::Change if heap.visible && !heap.certain => {
            return lost("whether the step of a linearization point changes anything is not known");
        }
        Firing::Change => heap.visible,
        Firing::When(arena, at) => ViewEval::new(model, &heap.view, arena, PHASE_AFTER, choices).formula(*at)?,
    };
    if !fires || other_key(model, routine, &heap.view) {
        return Ok(());
    }
    if heap.view.vars[model.done as usize] == DONE_CHANGED {
        return Err(EvalStop::Alarm(Alarm::Results(format!("{} takes effect twice", routine.name))));
    }
    let results = model.results as usize;
    let saved = heap.view.vars[results..results + spec.start.len()].to_vec();
    let SpecPathRun { path, changes } = specify(model, spec, heap, choices)?;
    // An operation without marks leaves pure outcomes to the witness of the whole call.
    let witnessed = routine.watches() && (model.has_key.is_some() || spec.pure.iter().any(|p| p.steps == path));
    if !changes && witnessed {
        heap.view.vars[results..results + saved.len()].copy_from_slice(&saved);
    } else {
        heap.view.vars[model.done as usize] = if changes { DONE_CHANGED } else { DONE_PURE };
    }
    Ok(())
}

struct SpecPathRun {
    path: Vec<u16>,
    /// The specification's state is another one now.
    changes: bool,
}

/// Runs the specification's operation on the ghost part of the heap, from entry to exit.
fn specify(
    model: &Model,
    spec: &SpecOperation,
    heap: &mut ChangingView<'_>,
    choices: &[(Site, Code)],
) -> Result<SpecPathRun, EvalStop> {
    let results = model.results as usize;
    heap.view.vars[results..results + spec.start.len()].copy_from_slice(&spec.start);
    let mut at = spec.entry;
    let mut path = Vec::new();
    let mut changes = false;
    while at != spec.exit {
        let mut next = None;
        for (i, s) in spec.steps.iter().enumerate().filter(|(_, s)| s.from == at) {
            let mut eval = ViewEval::new(model, &heap.view, &s.arena, PHASE_SPEC + i as u16, choices);
            if !eval.formula(s.guard)? {
                continue;
            }
            for g in &s.gates {
                if !eval.formula(*g)? {
                    return lost("the specification goes wrong");
                }
            }
            let values: Vec<(u16, Code)> =
                s.results.iter().map(|(slot, v)| Ok((*slot, eval.code(*v)?))).collect::<Result<_, EvalStop>>()?;
            let operand = match s.change {
                Some(
                    SpecChange::PushFront(e)
                    | SpecChange::PushBack(e)
                    | SpecChange::AddKey(e)
                    | SpecChange::RemoveKey(e),
                ) => eval.code(e)?,
                _ => ANY,
            };
            next = Some((i, s, values, operand));
            break;
        }
        let Some((i, s, values, operand)) = next else { return lost("the specification waits") };
        for (slot, value) in values {
            heap.view.vars[slot as usize] = value;
        }
        changes |= match s.change {
            None => false,
            Some(SpecChange::PushFront(_)) => heap.push_front(operand).map(|()| true)?,
            Some(SpecChange::PushBack(_)) => heap.push_back(operand).map(|()| true)?,
            Some(SpecChange::PopFront) => heap.pop_front().map(|()| true)?,
            Some(SpecChange::AddKey(_)) => set_member(model, heap, operand, TRUE)?,
            Some(SpecChange::RemoveKey(_)) => set_member(model, heap, operand, FALSE)?,
        };
        path.push(i as u16);
        at = s.to;
        if path.len() > spec.steps.len() {
            return lost("a specification with a loop");
        }
    }
    Ok(SpecPathRun { path, changes })
}

/// The key is in the set from now on, or not; whether that is a change.
fn set_member(model: &Model, heap: &mut ChangingView<'_>, key: Code, value: Code) -> Result<bool, EvalStop> {
    if key != EQUAL {
        return lost("a key other than the call's own");
    }
    let slot = model.has_key.expect("a specification over a set has a membership") as usize;
    let changes = heap.view.vars[slot] != value;
    heap.visible |= changes;
    heap.view.vars[slot] = value;
    Ok(changes)
}

/// A call about another key than the one of the proof: neither run nor compared.
pub(crate) fn other_key(model: &Model, routine: &ShapeRoutine, view: &PackedView) -> bool {
    model.has_key.is_some() && routine.arguments.iter().any(|slot| matches!(view.vars[*slot as usize], BELOW | ABOVE))
}

impl ShapeRoutine {
    /// How many slots are variables of the code; those after them are arguments of the call whose parameters the code assigns.
    fn variables(&self) -> usize {
        self.start.len()
    }
    /// Whether pure outcomes count when they were possible at some moment of the call: where the user marked no point.
    pub(crate) fn watches(&self) -> bool {
        self.spec.is_some() && !self.marked
    }
}

/// Adds the pure outcomes that are possible now.
pub(super) fn witness(model: &Model, routine: &ShapeRoutine, view: &mut PackedView) {
    let Some(spec) = &routine.spec else { return };
    if !routine.watches() || view.vars[model.done as usize] != DONE_NO || other_key(model, routine, view) {
        return;
    }
    if let Some(slot) = model.has_key {
        // Of a set: the key was out, was in, at some moment of the call.
        view.witnessed |= if view.vars[slot as usize] == TRUE { 2 } else { 1 };
        return;
    }
    for (i, pure) in spec.pure.iter().enumerate() {
        if view.witnessed >> i & 1 == 0 && possible(model, spec, &pure.steps, view) {
            view.witnessed |= 1 << i;
        }
    }
}

fn possible(model: &Model, spec: &SpecOperation, path: &[u16], view: &PackedView) -> bool {
    path.iter().all(|i| {
        let s = &spec.steps[*i as usize];
        let mut eval = ViewEval::new(model, view, &s.arena, PHASE_SPEC + *i, &[]);
        // A condition that the view does not decide is not a witness.
        matches!(eval.formula(s.guard), Ok(true)) && s.gates.iter().all(|g| matches!(eval.formula(*g), Ok(true)))
    })
}

/// The results of the specification's operation where the key is a member or not, if it then changes nothing.
fn pure_results(model: &Model, spec: &SpecOperation, view: &PackedView, member: Code) -> Option<Vec<Code>> {
    let mut heap = ChangingView::new(model, view.clone());
    heap.view.vars[model.has_key? as usize] = member;
    let ran = specify(model, spec, &mut heap, &[]).ok()?;
    let at = model.results as usize;
    (!ran.changes).then(|| heap.view.vars[at..at + spec.start.len()].to_vec())
}

/// The end of an operation: results must be the specification's.
pub(crate) fn finish_operation(model: &Model, routine: &ShapeRoutine, view: &mut PackedView) -> Result<(), Alarm> {
    let spec = routine.spec.as_ref().expect("only operations finish");
    if !other_key(model, routine, view) {
        let results: Vec<Code> = routine.results.iter().map(|r| view.vars[*r as usize]).collect();
        let agree = |wanted: &[Code]| {
            results.iter().zip(wanted).all(|(have, want)| *want == OPEN || (have == want && *have != ANY))
        };
        let at = model.results as usize;
        let done = view.vars[model.done as usize];
        let remembered = done != DONE_NO && agree(&view.vars[at..at + results.len()]);
        let seen = done != DONE_CHANGED
            && if model.has_key.is_some() {
                [FALSE, TRUE].into_iter().enumerate().any(|(i, member)| {
                    view.witnessed >> i & 1 == 1 && pure_results(model, spec, view, member).is_some_and(|r| agree(&r))
                })
            } else {
                spec.pure.iter().enumerate().any(|(i, p)| view.witnessed >> i & 1 == 1 && agree(&p.results))
            };
        if !remembered && !seen {
            let why = match done {
                DONE_NO => format!("{} ends and has not taken effect", routine.name),
                _ => format!("{} gives other results than the specification", routine.name),
            };
            return Err(Alarm::Results(why));
        }
    }
    let base = model.globals.len();
    view.vars[base..base + model.frame].fill(ANY);
    view.several.clear();
    view.witnessed = 0;
    view.control = 0;
    forget_left(model, view);
    Ok(())
}

/// The beginning of an operation, from idle: all choices of its arguments.
pub(crate) fn invoke_operation(
    model: &Model,
    routine: &ShapeRoutine,
    view: &PackedView,
    alarms: &mut Vec<Alarm>,
) -> Vec<ViewAfterStep> {
    cases(model, view, alarms, |v, choices| {
        let mut v = v.clone();
        let base = model.globals.len();
        let mut argument = false;
        for (i, slot) in routine.slots.iter().enumerate().take(routine.variables()) {
            v.vars[base + i] = if i < routine.params {
                match slot.ty {
                    // One argument has a name; nothing is known of a second.
                    ShapeType::Data if !argument => {
                        argument = true;
                        ARGUMENT
                    }
                    ty => chosen(ty, choices, (PHASE_INPUT, i as u16, 0))?,
                }
            } else {
                match routine.start[i] {
                    InitialValue::Is(code) => code,
                    InitialValue::Open => ANY,
                }
            };
        }
        for (i, slot) in routine.arguments.iter().enumerate() {
            v.vars[*slot as usize] = v.vars[base + i];
        }
        v.vars[model.done as usize] = DONE_NO;
        v.control = routine.first + routine.entry.0 as u16;
        witness(model, routine, &mut v);
        Ok(Some(ViewAfterStep { view: v, visible: false, touched: true }))
    })
}
