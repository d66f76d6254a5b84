//! Lowering: from the typed tree to the model.
//!
//! In: a typed unit and the property asked for. Out: a `program::Program` in which every step makes at most one
//! access to memory that another thread can reach, with an origin for every step. Functions are inlined; each creation of
//! a thread is a thread of the program, of one copy where its site runs once and of any number of copies where it may run
//! again. The lowering is repeated until what pointers can point to and which variables are ever written is stable.
//! What is not modelled is a step whose gate is an `Unmodelled` property: no proof may step over it.

mod access;
mod addresses;
mod annotate;
mod arithmetic;
mod atomics;
mod call;
mod checks;
mod compress;
mod condition;
mod constants;
mod copied;
mod copies;
mod emit;
mod expr;
mod facts;
mod float;
mod flow;
mod group;
mod keys;
mod layout;
mod leaks;
mod library;
mod lifetime;
mod liveness;
mod locks;
mod locksets;
mod machine;
mod memory;
mod mutex;
mod objects;
mod performs;
mod phases;
mod promises;
mod race;
mod start;
mod stmt;
mod sync;
mod terms;
mod texts;
mod threads;
mod walk;

pub use checks::CCheck;

use super::ast::{FnId, Init, Storage, Unit, VarId};
use super::types::{CType, CTypeKind, Int};
pub use addresses::is_address;
use base::{IdVec, Sources, Span};
pub use emit::{EVALUATION_ORDER, RACE_FREE};
pub(super) use library::has_a_meaning;

use facts::PassFacts;
use flow::*;
use logic::{Sort, Symbol, Term, Terms};
use memory::{CObject, NewSlot, ObjId, ObjectStart};
use objects::{ObjectExtent, ObjectShape};
use program::{Program, What};
use race::Unordered;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use terms::Build;

/// A thread of the program to be.
#[derive(Clone, Debug)]
struct CThread {
    pub key: String,
    pub shown: String,
    pub function: FnId,
    pub many: bool,
    pub argument: ThreadArgument,
    /// Set by the creator; `None` for the first thread.
    pub started: Option<SlotId>,
    pub done: SlotId,
    pub result: SlotId,
    /// For many threads that are joined.
    pub tickets: Option<Tickets>,
    pub handle: ObjId,
    pub span: Span,
}

/// What tells the copies of a repeated thread apart.
#[derive(Clone, Copy, Debug)]
struct Tickets {
    /// The next one.
    pub next: SlotId,
    /// By ticket, whether its thread has ended, and with which result.
    pub ended: SlotId,
    pub results: SlotId,
}

#[derive(Clone, Copy, Debug)]
enum ThreadArgument {
    /// The first thread.
    None,
    Constant(Term),
    Slot(SlotId),
}

type Known = FxHashMap<SlotId, Term>;

/// A function being inlined.
struct InlineFrame {
    pub function: FnId,
    pub path: String,
    pub vars: FxHashMap<VarId, ObjId>,
    pub(crate) return_to: Loc,
    pub result: Option<ObjId>,
    pub(crate) breaks: Vec<Loc>,
    pub(crate) continues: Vec<Loc>,
    pub labels: FxHashMap<super::ast::LabelId, Loc>,
    /// The labels whose place in the code has been lowered.
    pub lowered: Vec<super::ast::LabelId>,
    /// The dispatch tables of the switches around: case ranges with their places, and the default.
    pub switches: Vec<Switch>,
}

#[derive(Default)]
struct Switch {
    pub cases: Vec<(i128, i128, Loc)>,
    pub default: Option<Loc>,
}

/// Where the lowering of a thread stands.
struct LoweringPosition {
    pub task: TaskId,
    pub flow: Flow,
    pub at: Option<Loc>,
    pub known: Known,
    pub envs: FxHashMap<Loc, Known>,
    /// Places whose code is lowered already, with what was known there then.
    pub entered: FxHashSet<Loc>,
    pub frames: Vec<InlineFrame>,
    pub atomic: u32,
    pub(crate) temps: u32,
    pub(crate) temps_at: FxHashMap<String, u32>,
    pub(crate) calls_at: FxHashMap<String, u32>,
    /// Inside a loop that is kept as a loop.
    pub loops: u32,
    /// The iterations of the unrolled loops around.
    pub(crate) iterations: Vec<u32>,
    /// The call of the library's function that is being inlined.
    pub(crate) blamed: Option<Span>,
    /// A text is read to be written out: what it says does not matter.
    pub(crate) printing: bool,
    /// Bytes are moved as they are, and not looked at.
    pub(crate) moving: bool,
    pub end: Loc,
}

/// The lowering.
struct Lower<'u> {
    unit: &'u Unit,
    sources: &'u Sources,
    checks: &'u [CCheck],
    terms: Terms,
    tid: Symbol,
    facts: PassFacts,
    found: PassFacts,
    slots: IdVec<SlotId, FlowSlot>,
    slot_keys: FxHashMap<String, SlotId>,
    by_symbol: FxHashMap<Symbol, SlotId>,
    /// By term, the slots it speaks of; see `slots_in`.
    slots_of_terms: RefCell<FxHashMap<Term, Rc<[SlotId]>>>,
    objects: IdVec<ObjId, CObject>,
    object_keys: FxHashMap<String, ObjId>,
    /// By their addresses.
    by_base: BTreeMap<i128, ObjId>,
    next_address: i128,
    pools: u32,
    tasks: IdVec<TaskId, CThread>,
    task_keys: FxHashMap<String, TaskId>,
    flows: Vec<Flow>,
    cur: LoweringPosition,
    exited: SlotId,
    assumptions: BTreeMap<&'static str, String>,
    steps_left: usize,
    /// What all passes have done so far.
    work: usize,
    /// A thread has been created on the way to here.
    created: bool,
    /// Starts of repeated threads that stay given once given.
    opened: BTreeSet<SlotId>,
    /// Bit-fields by the first of their unit, with which they race.
    units: FxHashMap<SlotId, SlotId>,
    /// Results of reductions into a type, with the bounds they have by that.
    wrapped: FxHashMap<Term, (i128, i128)>,
    /// An initial value that is no constant of ours.
    unreadable: Option<Span>,
    /// Invariants and relies from comments.
    written: Vec<annotate::WrittenFormula>,
    machines: Vec<machine::CMachine>,
    /// Functions that say what they perform.
    routines: Vec<performs::SpecifiedFunction>,
    plain_mutexes: Vec<SlotId>,
    /// Variables that the program says are guarded, each with its mutex and the place of its declaration.
    guards: Vec<(SlotId, SlotId, Span)>,
    /// Variables of functions with a specification, each with the mutex that guards it.
    guards_found: Vec<(SlotId, SlotId)>,
    /// Some end of the program was reached where leaks are looked for.
    looked_for_leaks: bool,
    /// This pass asked for an object or a thread that an earlier one had made otherwise.
    reshaped: bool,
    /// The threads that this pass creates.
    requested: BTreeSet<TaskId>,
    /// The functions whose code this pass has lowered.
    inlined: BTreeSet<FnId>,
    /// Locals of repeated threads whose address another thread may hold.
    escaped: FxHashSet<ObjId>,
    /// The first operation that can learn of another thread's step and is not ordered after it.
    unordered: Option<(Span, Unordered)>,
    /// The lines of atomic operations that are not sequentially consistent, with their orders.
    weaker: BTreeMap<usize, &'static str>,
    merging: Merging,
    /// Where all constructs outside the model are looked for, and nothing else: those found so far.
    survey: Option<Vec<(Span, String)>>,
}

/// Whether steps are merged and the beginning is folded; tests compare the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Merging {
    All,
    None,
}

/// Steps a program may have before merging; beyond it the rest is unmodelled.
const MOST_STEPS: usize = 200_000;
const MOST_PASSES: usize = 60;
const MAX_SURVEY_PASSES: usize = 6;
/// A survey ends with so many.
const MAX_OBSTACLES: usize = 200;
/// Steps that all passes may make together, with the objects that each of them adds to what a pointer can hold.
const MOST_WORK: usize = 8_000_000;

#[cfg(test)]
thread_local! {
    static LOOKED_AT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Counts what the passes over whole flows look at, so that a test can tell how their work grows.
fn looks_at(_count: usize) {
    #[cfg(test)]
    LOOKED_AT.with(|n| n.set(n.get() + _count));
}

/// A program, and the specifications in comments that have no meaning, with the reason.
pub(crate) type Lowered = (Program, Vec<(Span, String)>);

/// Lowers a unit. `None` if it has no `main`.
pub(crate) fn lower_to_program(unit: &Unit, sources: &Sources, name: &str, checks: &[CCheck]) -> Option<Lowered> {
    lower_with(unit, sources, name, checks, Merging::All)
}

/// The constructs of a unit that are outside the model, in the order of the text: the lowering goes on behind each, and what it makes then is
/// thrown away.
pub(crate) fn obstacles_of(unit: &Unit, sources: &Sources, checks: &[CCheck]) -> Vec<(Span, String)> {
    let Some(main) = unit.function("main").filter(|f| unit.functions[*f].body.is_some()) else { return Vec::new() };
    let mut lower = Lower::new(unit, sources, checks, main);
    let mut found = BTreeSet::new();
    // Not until all is stable: what pointers can hold is known well enough after a few passes.
    for _ in 0..MAX_SURVEY_PASSES {
        lower.survey = Some(Vec::new());
        lower.flows.clear();
        lower.wrapped.clear();
        lower.steps_left = MOST_STEPS;
        lower.escaped = lower.escaped_locals();
        lower.run();
        found = lower.survey.take().into_iter().flatten().collect();
        let facts = std::mem::take(&mut lower.found);
        if !lower.facts.absorb(facts) {
            break;
        }
    }
    found.into_iter().collect()
}

/// As `lower`, with a choice.
pub(crate) fn lower_with(
    unit: &Unit,
    sources: &Sources,
    name: &str,
    checks: &[CCheck],
    merging: Merging,
) -> Option<Lowered> {
    let main = unit.function("main").filter(|f| unit.functions[*f].body.is_some())?;
    let mut lower = Lower::new(unit, sources, checks, main);
    lower.merging = merging;
    for pass in 0.. {
        // Objects, slots and threads keep their identity from pass to pass; the code is made anew, and so is every object
        // that is asked for otherwise than before. Only the facts are carried over, and they only get weaker. The last pass has
        // confirmed all that it took for granted: it found no fact that it did not begin with, and asked for every object as it was.
        let before = (lower.objects.len(), lower.tasks.len());
        lower.flows.clear();
        lower.wrapped.clear();
        lower.looked_for_leaks = false;
        lower.reshaped = false;
        lower.inlined.clear();
        lower.unordered = None;
        lower.weaker.clear();
        lower.escaped = lower.escaped_locals();
        lower.steps_left = MOST_STEPS;
        lower.run();
        lower.work += MOST_STEPS - lower.steps_left;
        let found = std::mem::take(&mut lower.found);
        let grown = lower.facts.absorb(found);
        if !grown && !lower.reshaped && before == (lower.objects.len(), lower.tasks.len()) {
            if lower.never_ends() {
                lower.give_up("leaks of a program that does not end");
            }
            let (written, mut bad) = lower.read_specs();
            lower.written = written;
            let (machines, more) = lower.read_machines();
            lower.machines = machines;
            bad.extend(more);
            let (routines, more) = lower.read_routines();
            lower.routines = routines;
            bad.extend(more);
            let (guards, more) = lower.read_guards();
            lower.guards = guards;
            bad.extend(more);
            return Some((lower.finish(name), bad));
        }
        let endless = (pass > MOST_PASSES).then_some("what pointers can point to did not become stable");
        let large = (lower.work > MOST_WORK).then_some("a program of this size, with its calls inlined");
        if let Some(why) = endless.or(large) {
            // Nothing may be concluded from this program.
            lower.give_up(why);
            return Some((lower.finish(name), Vec::new()));
        }
    }
    None
}

impl<'u> Lower<'u> {
    fn new(unit: &'u Unit, sources: &'u Sources, checks: &'u [CCheck], main: FnId) -> Self {
        let terms = Terms::new();
        let tid = terms.symbol("tid", Sort::INT);
        let span = unit.functions[main].span;
        let mut lower = Self {
            unit,
            sources,
            checks,
            terms,
            tid,
            facts: PassFacts::default(),
            found: PassFacts::default(),
            slots: IdVec::new(),
            slot_keys: FxHashMap::default(),
            by_symbol: FxHashMap::default(),
            slots_of_terms: RefCell::default(),
            objects: IdVec::new(),
            object_keys: FxHashMap::default(),
            by_base: BTreeMap::new(),
            next_address: Self::first_address(unit.types.model),
            pools: 0,
            tasks: IdVec::new(),
            task_keys: FxHashMap::default(),
            flows: Vec::new(),
            cur: LoweringPosition {
                task: TaskId(0),
                flow: Flow::default(),
                at: None,
                known: Known::default(),
                envs: FxHashMap::default(),
                entered: FxHashSet::default(),
                frames: Vec::new(),
                atomic: 0,
                temps: 0,
                temps_at: FxHashMap::default(),
                calls_at: FxHashMap::default(),
                loops: 0,
                iterations: Vec::new(),
                blamed: None,
                printing: false,
                moving: false,
                end: Loc(0),
            },
            exited: SlotId(0),
            assumptions: BTreeMap::new(),
            steps_left: MOST_STEPS,
            work: 0,
            created: false,
            opened: BTreeSet::new(),
            units: FxHashMap::default(),
            wrapped: FxHashMap::default(),
            unreadable: None,
            written: Vec::new(),
            machines: Vec::new(),
            routines: Vec::new(),
            plain_mutexes: Vec::new(),
            guards: Vec::new(),
            guards_found: Vec::new(),
            looked_for_leaks: false,
            reshaped: false,
            requested: BTreeSet::new(),
            inlined: BTreeSet::new(),
            escaped: FxHashSet::default(),
            unordered: None,
            weaker: BTreeMap::new(),
            merging: Merging::All,
            survey: None,
        };
        lower.exited = lower.flag("<exited>", "exited", span);
        lower.place_object(memory::OUTSIDE, 1, memory::Content::Nothing("memory that the program did not make".into()));
        lower.place_functions();
        lower.place_globals();
        lower.task("main", "main", main, Multiplicity::Once, ThreadArgument::None, span);
        lower.place_routines();
        lower
    }

    fn b(&self) -> Build<'_> {
        Build(&self.terms)
    }

    /// A shared flag of our own, false at the start.
    fn flag(&mut self, key: &str, shown: &str, span: Span) -> SlotId {
        let initial = Some(self.terms.ff());
        self.internal(key, shown, Sort::BOOL, initial, span)
    }

    /// A shared slot of our own.
    fn internal(&mut self, key: &str, shown: &str, sort: Sort, initial: Option<Term>, span: Span) -> SlotId {
        self.slot(NewSlot {
            key: key.to_string(),
            shown: shown.to_string(),
            sort,
            owner: SlotOwner::Shared,
            initial,
            range: None,
            lock: false,
            role: SlotRole::Internal,
            span,
        })
    }

    fn place_functions(&mut self) {
        for id in self.unit.functions.ids() {
            let function = &self.unit.functions[id];
            if function.address_taken {
                let key = format!("&{}#{}", function.name, id.0);
                self.place_object(&key, 1, memory::Content::Function(id));
            }
        }
    }

    fn place_globals(&mut self) {
        for id in self.unit.globals.clone() {
            let variable = &self.unit.variables[id];
            if variable.storage == Storage::ThreadLocal {
                continue;
            }
            let start = if variable.external { ObjectStart::Any } else { ObjectStart::Zero };
            let key = format!("{}#{}", variable.name, id.0);
            let (name, ty, span) = (variable.name.clone(), variable.ty, variable.span);
            let object = self.object(&key, &name, ty, SlotOwner::Shared, span, start);
            if let (ObjectStart::Any, memory::Content::Leaves(leaves)) = (start, &self.objects[object].content) {
                for leaf in leaves.clone() {
                    self.slots[leaf.slot].external = true;
                    self.found.points(leaf.slot, self.object_keys.get(memory::OUTSIDE).copied());
                }
            }
        }
        self.place_texts();
        // The initial values come when every object has its address.
        for id in self.unit.globals.clone() {
            let variable = &self.unit.variables[id];
            if variable.storage == Storage::ThreadLocal {
                continue;
            }
            let key = format!("{}#{}", variable.name, id.0);
            if let (Some(init), Some(object)) = (variable.init.as_ref(), self.object_keys.get(&key).copied()) {
                self.initial_values(object, variable.ty, init);
            }
        }
    }

    /// String literals are arrays of characters that are never written.
    fn place_texts(&mut self) {
        let (unit, span) =
            (self.unit, self.unit.functions.iter().next().map_or(Span::new(base::SourceId(0), 0, 0), |f| f.span));
        for (id, bytes) in unit.texts.iter_enumerated() {
            let count = bytes.len().max(1) as u64;
            let shown = format!("text{}", id.0);
            let (of, extent) = (unit.char_type, ObjectExtent::Exactly(count));
            let shape = ObjectShape { of, extent, owner: SlotOwner::Shared, start: ObjectStart::Zero };
            let object = self.make(&text_key(id), &shown, shape, span);
            for (i, byte) in bytes.iter().enumerate().filter(|(_, b)| **b != 0) {
                let at = memory::Ref::Object(object, self.terms.int(i as i128));
                let value = Int::Char.wrap(i128::from(*byte), unit.types.model);
                for case in self.hits(at, unit.char_type).cases {
                    self.set_initial(case, self.terms.int(value));
                }
            }
        }
    }

    /// Gives leaves the constant initial values of a static object.
    fn initial_values(&mut self, object: ObjId, ty: CType, init: &Init) {
        let parts: Vec<(i128, CType, &super::ast::Expr)> = match init {
            Init::Value(e) => vec![(0, ty, e)],
            Init::Parts(parts) => parts.iter().map(|p| (p.offset as i128, p.ty, &p.value)).collect(),
        };
        for (offset, ty, value) in parts {
            if matches!(self.unit.types.kind(ty), CTypeKind::Opaque(_)) {
                match value.as_const() {
                    Some(k) => self.static_kind(object, offset, ty, k, value.span),
                    None => self.unreadable = Some(value.span),
                }
                continue;
            }
            let place = memory::Ref::Object(object, self.terms.int(offset));
            let hits = self.hits(place, ty);
            let term = self.constant_term(value);
            for case in hits.cases {
                if let Some(term) = term {
                    self.set_initial(case, term);
                } else {
                    // Not a constant we can read: nothing may be claimed of a program that begins with it.
                    self.slots[case.slot].initial = None;
                    self.unreadable = Some(value.span);
                }
            }
        }
    }

    fn set_initial(&mut self, case: memory::Case, value: Term) {
        let targets = self.targets(value);
        for slot in case.slots() {
            self.found.points(slot, targets.iter().copied());
        }
        if case.bytes > 0 {
            for (slot, byte) in self.case_updates(case, value) {
                self.slots[slot].initial = Some(byte);
            }
            return;
        }
        let value = match self.terms.kind(self.slots[case.slot].sort) {
            logic::SortKind::Bool => self.b().truth(value),
            logic::SortKind::Map(_, to) if to == Sort::BOOL => self.b().truth(value),
            _ => value,
        };
        let new = match (case.key, self.slots[case.slot].initial) {
            (None, _) => Some(value),
            (Some(k), Some(map)) => Some(self.terms.store(map, k, value)),
            (Some(_), None) => None,
        };
        self.slots[case.slot].initial = new;
    }

    /// Registers a thread to be lowered.
    fn task(
        &mut self,
        key: &str,
        shown: &str,
        function: FnId,
        multiplicity: Multiplicity,
        argument: ThreadArgument,
        span: Span,
    ) -> TaskId {
        if let Some(id) = self.task_keys.get(key).copied() {
            self.requested.insert(id);
            if multiplicity == Multiplicity::Many && !self.tasks[id].many {
                self.multiply(id);
            }
            // Known from an earlier pass, which may have known less.
            self.tasks[id].argument = argument;
            if self.tasks[id].many && self.tasks[id].tickets.is_none() && self.facts.joined.contains(key) {
                self.tasks[id].tickets = Some(self.ticket_slots(key, shown, span));
            }
            return id;
        }
        let many = multiplicity == Multiplicity::Many;
        let started =
            (key != "main").then(|| self.flag(&format!("<started {key}>"), &format!("started_{shown}"), span));
        let done = self.flag(&format!("<done {key}>"), &format!("done_{shown}"), span);
        let zero = Some(self.terms.int(0));
        let result = self.internal(&format!("<result {key}>"), &format!("result_{shown}"), Sort::INT, zero, span);
        if many {
            // Each copy has its own.
            self.slots[result].owner = SlotOwner::Task(self.tasks.next_id());
        }
        let tickets = (many && self.facts.joined.contains(key)).then(|| self.ticket_slots(key, shown, span));
        let id = self.tasks.next_id();
        let handle = self.place_object(&format!("<thread {key}>"), 1, memory::Content::Thread(id));
        if many {
            self.far_away(handle);
        }
        self.tasks.push(CThread {
            key: key.to_string(),
            shown: shown.to_string(),
            function,
            many,
            argument,
            started,
            done,
            result,
            tickets,
            handle,
            span,
        });
        self.task_keys.insert(key.to_string(), id);
        self.requested.insert(id);
        id
    }

    /// A thread that an earlier pass took for one that is created once.
    fn multiply(&mut self, id: TaskId) {
        self.reshaped = true;
        self.tasks[id].many = true;
        let CThread { result, handle, .. } = self.tasks[id];
        self.slots[result].owner = SlotOwner::Task(id);
        self.far_away(handle);
    }

    fn ticket_slots(&mut self, key: &str, shown: &str, span: Span) -> Tickets {
        let map = self.terms.map_sort(Sort::INT, Sort::BOOL);
        let none = self.terms.const_map(map, self.terms.ff());
        let zero = Some(self.terms.int(0));
        let next = self.internal(&format!("<ticket {key}>"), &format!("ticket_{shown}"), Sort::INT, zero, span);
        let ended = self.internal(&format!("<ended {key}>"), &format!("ended_{shown}"), map, Some(none), span);
        let numbers = self.terms.map_sort(Sort::INT, Sort::INT);
        let nothing = Some(self.terms.const_map(numbers, self.terms.int(0)));
        let results = self.internal(&format!("<results {key}>"), &format!("results_{shown}"), numbers, nothing, span);
        Tickets { next, ended, results }
    }

    /// Lowers every thread, also those found on the way.
    fn run(&mut self) {
        self.created = false;
        self.requested = self.tasks.ids().filter(|id| *id == TaskId(0) || self.is_routine(*id)).collect();
        let mut lowered: BTreeSet<TaskId> = BTreeSet::new();
        // A thread that only an earlier pass created stays without code.
        while let Some(task) = self.requested.difference(&lowered).next().copied() {
            lowered.insert(task);
            let flow = self.lower_task(task);
            self.flows.resize_with(self.tasks.len(), Flow::default);
            self.flows[task.index()] = flow;
        }
        self.flows.resize_with(self.tasks.len(), Flow::default);
    }

    /// Locals of repeated threads, of which each copy has its own, whose address may be held by another thread.
    fn escaped_locals(&self) -> FxHashSet<ObjId> {
        let mut escaped = FxHashSet::default();
        for (slot, objects) in &self.facts.points_to {
            let holder = self.slots[*slot].owner;
            let leaves = |o: &&ObjId| {
                self.objects[**o].shape.is_some_and(|s| matches!(s.owner, SlotOwner::Task(_)) && s.owner != holder)
            };
            escaped.extend(objects.iter().filter(leaves).copied());
        }
        escaped
    }

    fn lower_task(&mut self, id: TaskId) -> Flow {
        let task = self.tasks[id].clone();
        let mut flow = Flow::default();
        let entry = flow.places.push(FlowPlace { span: task.span, in_atomic_block: false });
        let end = flow.places.push(FlowPlace { span: task.span, in_atomic_block: false });
        let exit = flow.places.push(FlowPlace { span: task.span, in_atomic_block: false });
        flow.entry = Some(entry);
        flow.exit = Some(exit);
        self.cur = LoweringPosition {
            task: id,
            flow,
            at: Some(entry),
            known: Known::default(),
            envs: FxHashMap::default(),
            entered: FxHashSet::default(),
            frames: Vec::new(),
            atomic: 0,
            temps: 0,
            temps_at: FxHashMap::default(),
            calls_at: FxHashMap::default(),
            loops: 0,
            iterations: Vec::new(),
            blamed: None,
            printing: false,
            moving: false,
            end,
        };
        if self.is_routine(id) {
            self.routine_body(id);
        } else {
            self.thread_body(&task);
            self.thread_end(&task, exit);
        }
        std::mem::take(&mut self.cur.flow)
    }

    fn thread_body(&mut self, task: &CThread) {
        let function = &self.unit.functions[task.function];
        let span = task.span;
        let mut arguments: Vec<Term> = Vec::new();
        if let Some(started) = task.started {
            let mut updates = Vec::new();
            if task.many {
                updates.push((started, self.terms.ff()));
                if let Some(Tickets { next, .. }) = task.tickets {
                    let ticket = self.ticket_slot(task);
                    // The creator has already counted this one.
                    let mine = self.b().sub(self.slot_term(next), self.terms.int(1));
                    updates.push((ticket, mine));
                }
                if let ThreadArgument::Slot(slot) = task.argument {
                    let copy = self.temp(span);
                    updates.push((copy, self.slot_term(slot)));
                    arguments.push(self.slot_term(copy));
                }
            }
            let guard = self.slot_term(started);
            self.wait(guard, updates, What::Assume, span);
            match task.argument {
                ThreadArgument::Constant(value) => arguments.push(value),
                ThreadArgument::Slot(slot) if !task.many => {
                    // Written once, before the start: no other thread touches it, so reading it is no step of its own.
                    arguments.push(self.slot_term(slot));
                }
                _ => {}
            }
        } else {
            if let Some(span) = self.unreadable {
                self.unmodelled("an initial value of this form", span);
            }
            // `main(argc, argv)`: any number of arguments that is not negative, whose texts are not modelled.
            for (i, param) in function.params.iter().enumerate() {
                let ty = self.unit.variables[*param].ty;
                let value = match self.unit.types.as_int(ty) {
                    Some(int) if i == 0 => {
                        self.nondet_in(Some((0, int.range(self.unit.types.model).1)), Sort::INT, span)
                    }
                    // The rows of arguments and of the environment are there.
                    _ if i > 0 && self.unit.types.pointee(ty).is_some() => {
                        let bits = self.unit.types.model.pointer_bytes() * 8;
                        self.nondet_in(Some((1, (1i128 << bits) - 1)), Sort::INT, span)
                    }
                    _ => self.nondet(ty, span),
                };
                if i > 0 {
                    self.outside(value);
                }
                arguments.push(value);
            }
        }
        let result = self.inline(task.function, arguments, span);
        if task.key == "main" {
            self.check_leaks(Leave::Return, span);
            self.leave_program(span, Leave::Return);
            return;
        }
        if let (Some(value), true) = (result, self.cur.at.is_some()) {
            self.update(vec![(task.result, value)], What::Return, span);
        }
        let end = self.cur.end;
        self.goto(end, span);
    }

    fn ticket_slot(&mut self, task: &CThread) -> SlotId {
        self.own_number(format!("<mine {}>", task.key), "ticket", task.span)
    }

    /// A number of our own that each copy of the thread at hand has for itself, 0 at the start.
    fn own_number(&mut self, key: String, shown: &str, span: Span) -> SlotId {
        self.slot(NewSlot {
            key,
            shown: shown.into(),
            sort: Sort::INT,
            owner: SlotOwner::Task(self.cur.task),
            initial: Some(self.terms.int(0)),
            range: None,
            lock: false,
            role: SlotRole::Internal,
            span,
        })
    }

    fn thread_end(&mut self, task: &CThread, exit: Loc) {
        let end = self.cur.end;
        if !self.cur.envs.contains_key(&end) {
            return;
        }
        self.enter(end);
        self.destroy_keys(task.span);
        self.thread_locals_end(task.span);
        let mut updates = vec![(task.done, self.terms.tt())];
        if task.many {
            updates.clear();
            if let Some(Tickets { ended, results, .. }) = task.tickets {
                let mine = self.ticket_slot(task);
                let mine = self.slot_term(mine);
                updates.push((ended, self.terms.store(self.slot_term(ended), mine, self.terms.tt())));
                let result = self.slot_term(task.result);
                updates.push((results, self.terms.store(self.slot_term(results), mine, result)));
            }
        }
        for (slot, value) in &updates {
            self.note_write(*slot, *value);
        }
        let tt = self.terms.tt();
        let span = self.unit.functions[task.function].span;
        self.emit(exit, tt, updates, What::Return, span);
    }
}

/// The object of a string literal.
fn text_key(text: super::ast::TextId) -> String {
    format!("<text {}>", text.0)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Multiplicity {
    Once,
    Many,
}

/// How the whole program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leave {
    /// `main` returns.
    Return,
    /// `exit`, `abort` and their like.
    Stop,
}

#[cfg(test)]
mod merging_tests;
#[cfg(test)]
mod tests;
