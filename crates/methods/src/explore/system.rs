//! The transition system: a program compiled for given numbers of instances and a layout.
//!
//! In: a program, numbers of instances, a layout, the wanted properties and switches. Out: for each
//! instance and each code of its pc the compiled actions, and the checks of stores and steps. A `CompiledSystem` is shared by
//! all workers; each worker has a `Worker` of its own with registers and the reference semantics, which executes
//! whatever was not compiled.

use super::code::{Instr, SpawnPlan, Tables};
use super::compile::{CompileContext, Made, NotCompiled, TermCompiler};
use super::compiled::{At, CompiledAction, CompiledCheck, CompiledInput, Mask};
use super::facts::{ThreadFacts, thread_facts};
use super::guess::Escape;
use super::layout::{BitField, InstancePlace, Layout, OPEN_VALUE, ScalarSort, StorageShape};
use super::memo::{MemoSite, Sites};
use super::symmetry::Renaming;
use logic::{ClassId, Node, Op, Symbol, Term};
use program::semantics::{InstanceCounts, Semantics};
use program::{Action, ActionId, Program, PropertyId, PropertyKind, ThreadId, VarId};
use rustc_hash::FxHashMap;

/// Which reductions are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switches {
    pub por: bool,
    pub symmetry: bool,
    pub dead: bool,
    /// Objects are numbered as they are reached.
    pub heap: bool,
}

impl Switches {
    pub const ALL: Switches = Switches { por: true, symmetry: true, dead: true, heap: false };
    pub const NONE: Switches = Switches { por: false, symmetry: false, dead: false, heap: false };
}

#[derive(Debug)]
pub(crate) struct CompiledSystem {
    pub layout: Layout,
    pub counts: InstanceCounts,
    pub(crate) tables: Tables,
    pub places: Vec<Vec<At>>,
    /// For each instance and code of its pc, the bits that decide what it can do.
    pub sites: Vec<Vec<MemoSite>>,
    /// The number of the first site of each instance.
    pub(crate) site_base: Vec<u32>,
    pub invariants: Vec<CompiledCheck>,
    /// For each instance as observer, the wanted relies it has.
    pub relies: Vec<Vec<CompiledCheck>>,
    pub(crate) no_relies: bool,
    pub deadlock: Vec<PropertyId>,
    /// That nothing leaks, where it is wanted: every step is then looked at by the reference semantics.
    pub leak: Option<PropertyId>,
    pub wanted: Vec<PropertyId>,
    pub(crate) has_inside: bool,
    /// Registers needed.
    pub registers: usize,
    pub(crate) folds: bool,
    pub symmetry: super::symmetry::Symmetry,
    pub heap: super::heap::HeapLayout,
    /// Actions left to the reference semantics.
    pub(crate) slow: usize,
}

impl CompiledSystem {
    pub(crate) fn new(
        program: &Program,
        counts: &InstanceCounts,
        layout: Layout,
        wanted: &[PropertyId],
        switches: Switches,
    ) -> Result<CompiledSystem, Escape> {
        let sem = Semantics::new(program);
        let mut watched: Vec<Term> = Vec::new();
        let mut relies = Vec::new();
        for p in wanted {
            match program.properties[*p].kind {
                PropertyKind::Invariant(f) => watched.push(f),
                PropertyKind::Rely(r) => relies.extend(program.relies.get(r as usize).filter(|r| r.formula.is_some())),
                _ => {}
            }
        }
        watched.extend(relies.iter().filter_map(|r| r.formula));
        let facts = thread_facts(program, &counts.0, &watched);
        let cx = CompileContext::new(program, &layout);
        let mut made = CompiledParts { tables: Tables::default(), registers: 1, slow: 0 };
        let mut places = Vec::new();
        for i in 0..layout.instances.len() {
            places.push(instance_places(&cx, &sem, i, &facts, switches, &mut made)?);
        }
        let CompiledParts { mut tables, mut registers, slow } = made;
        let mut check =
            |instance: Option<usize>, property: PropertyId, formula: Term| -> Result<CompiledCheck, Escape> {
                let mut c = TermCompiler::new(&cx, &mut tables, instance);
                let made = c.scalar(formula).map(|a| c.emit(Instr::Gate { a, property }));
                registers = registers.max(c.next);
                let code = std::mem::take(&mut c.code);
                Ok(CompiledCheck { code: supported(made)?.map(|()| code) })
            };
        let mut invariants = Vec::new();
        for p in wanted {
            if let PropertyKind::Invariant(f) = program.properties[*p].kind {
                invariants.push(check(None, *p, f)?);
            }
        }
        let mut observers = Vec::new();
        for place in &layout.instances {
            let mut own = Vec::new();
            for r in &relies {
                let Some(f) = r.formula else { continue };
                let concerned = place.menu.iter().any(|(t, _)| r.thread.is_none_or(|x| x == *t));
                if concerned {
                    // A spawned instance may not be there: its relies are left to the reference semantics.
                    let waits = place.menu.iter().any(|(t, _)| program.started(*t).is_some());
                    let at = (!place.spawned && !waits).then_some(place.tid as usize - 1);
                    match at {
                        Some(at) => own.push(check(Some(at), r.property, f)?),
                        None => own.push(CompiledCheck { code: None }),
                    }
                }
            }
            observers.push(own);
        }
        let is_deadlock = |p: &&PropertyId| program.properties[**p].kind == PropertyKind::Deadlock;
        let has_inside = program.threads.iter().any(|t| t.code.locations.iter().any(|l| l.in_atomic_block));
        let symmetry = if switches.symmetry {
            super::symmetry::Symmetry::of(program, counts, &layout)?
        } else {
            super::symmetry::Symmetry::none()
        };
        let leak = program::semantics::leak(program).filter(|p| wanted.contains(p));
        // A folded step may lose an object before the run goes wrong or ends.
        // Whether a run into an atomic block completes it is asked of the states before the block, none of which may be folded.
        let blocks = has_inside && wanted.iter().any(|p| is_deadlock(&p));
        let folds = switches.por && relies.is_empty() && leak.is_none() && !blocks;
        let finder = Sites { program, layout: &layout, tables: &tables };
        let sites: Vec<Vec<MemoSite>> = places
            .iter()
            .enumerate()
            // Relies look at the whole store.
            .map(|(i, p)| if relies.is_empty() { finder.of(i, p, folds) } else { vec![MemoSite::default(); p.len()] })
            .collect();
        let site_base = sites
            .iter()
            .scan(0u32, |next, s| {
                let base = *next;
                *next += s.len() as u32;
                Some(base)
            })
            .collect();
        Ok(CompiledSystem {
            counts: counts.clone(),
            tables,
            places,
            sites,
            site_base,
            invariants,
            // A rely may speak of a step that changes nothing, so every step matters and nothing is folded.
            folds,
            no_relies: relies.is_empty(),
            relies: observers,
            leak,
            deadlock: wanted.iter().filter(is_deadlock).copied().collect(),
            wanted: wanted.to_vec(),
            has_inside,
            registers: registers + 8,
            symmetry,
            heap: if switches.heap {
                super::heap::HeapLayout::of(program, &layout)
            } else {
                super::heap::HeapLayout::none()
            },
            slow,
            layout,
        })
    }
}

impl CompiledSystem {
    /// Whether states have representatives.
    pub(crate) fn is_reduced(&self) -> bool {
        self.heap.is_on() || self.symmetry.is_on()
    }
    /// Replaces a state by its representative.
    #[inline]
    pub(crate) fn canonical<const W: usize>(&self, words: &mut [u64; W]) {
        if self.heap.is_on() {
            self.heap.canonical(words);
        }
        if self.symmetry.is_on() {
            self.symmetry.canonical(words);
            if self.heap.is_on() {
                // Sorting has changed the order in which objects are reached.
                self.heap.canonical(words);
            }
        }
    }
}

impl CompiledSystem {
    /// Renames the instances, then replaces the state by its representative; the renaming of both together.
    pub(crate) fn represent<const W: usize>(&self, so_far: &Renaming, words: &mut [u64; W]) -> Renaming {
        self.symmetry.apply(so_far, words);
        if self.heap.is_on() {
            self.heap.canonical(words);
        }
        let more = self.symmetry.renaming(words);
        self.symmetry.apply(&more, words);
        if self.heap.is_on() {
            self.heap.canonical(words);
        }
        so_far.iter().map(|id| more.get(*id).copied().unwrap_or(*id)).collect()
    }
}

fn supported<T>(made: Made<T>) -> Result<Option<T>, Escape> {
    match made {
        Ok(x) => Ok(Some(x)),
        Err(NotCompiled::Unsupported) => Ok(None),
        Err(NotCompiled::Escape(e)) => Err(e),
    }
}

/// What compiling the actions of all instances adds up to.
struct CompiledParts {
    tables: Tables,
    /// Registers needed.
    registers: usize,
    /// Actions that are left to the reference semantics.
    slow: usize,
}

fn instance_places(
    cx: &CompileContext<'_>,
    sem: &Semantics<'_>,
    i: usize,
    facts: &[ThreadFacts],
    switches: Switches,
    made: &mut CompiledParts,
) -> Result<Vec<At>, Escape> {
    let place = &cx.layout.instances[i];
    let codes = 1usize << cx.layout.slots[place.pc].bits;
    let mut out: Vec<At> = Vec::with_capacity(codes);
    // What locals start with is the same at every location.
    let mut starts: FxHashMap<ThreadId, FxHashMap<VarId, Vec<Mask>>> = FxHashMap::default();
    for code in 0..codes as u64 {
        let mut at = At::default();
        let Some((thread, loc)) = place.at(code) else {
            out.push(at);
            continue;
        };
        let t = &cx.program.threads[thread];
        if loc.index() >= t.code.locations.len() {
            out.push(at);
            continue;
        }
        at.born = true;
        at.in_atomic_block = t.code.locations[loc].in_atomic_block;
        // Who waits at its entry for a `spawn` is not there: where it stays, no thread waits.
        at.exit = t.code.exit == Some(loc) || (loc == t.code.entry && cx.program.started(thread).is_some());
        at.invisible = facts[thread.index()].invisible[loc.index()];
        if switches.dead {
            let dead = &facts[thread.index()].dead[loc.index()];
            let born = starts.entry(thread).or_insert_with(|| born(cx, sem, place, thread));
            at.resets = resets(born, dead, cx.layout.words);
        }
        out.push(at);
    }
    for code in 0..codes as u64 {
        let Some((thread, loc)) = place.at(code).filter(|_| out[code as usize].born) else { continue };
        let t = &cx.program.threads[thread];
        for (id, action) in t.code.from(loc) {
            let to = place.code(thread, action.to).expect("the thread is on the menu");
            let pc = cx.layout.slots[place.pc];
            let mut finish = vec![Mask { word: pc.word.into(), keep: !(pc.mask() << pc.shift), bits: to << pc.shift }];
            // Each word has one mask: only that of the location can meet another.
            for m in &out[to as usize].resets {
                match m.word == finish[0].word {
                    true => merge_mask(&mut finish, *m),
                    false => finish.push(*m),
                }
            }
            let inputs = inputs(cx, sem, thread, id, action);
            // A block seen by relies as one step needs the store at its entry: the reference semantics keeps it.
            let tracked = cx.layout.entered.is_some()
                && (t.code.locations[action.from].in_atomic_block || t.code.locations[action.to].in_atomic_block);
            let compiled = match &inputs {
                Some(_) if !tracked => {
                    supported(compile((cx, sem), &mut made.tables, i, thread, action, &mut made.registers))?
                }
                _ => None,
            };
            made.slow += usize::from(compiled.is_none());
            out[code as usize].acts.push(CompiledAction {
                id,
                code: compiled,
                inputs: inputs.unwrap_or_default(),
                finish,
                to,
                to_inside: t.code.locations[action.to].in_atomic_block,
            });
        }
    }
    Ok(out)
}

pub(crate) fn merge_mask(masks: &mut Vec<Mask>, m: Mask) {
    match masks.iter_mut().find(|x| x.word == m.word) {
        Some(x) => {
            x.keep &= m.keep;
            x.bits = (x.bits & m.keep) | m.bits;
        }
        None => masks.push(m),
    }
}

/// For each local of a thread the fields of a state that it takes, with the value that it starts with; none for a value that has no code.
fn born(
    cx: &CompileContext<'_>,
    sem: &Semantics<'_>,
    place: &InstancePlace,
    thread: ThreadId,
) -> FxHashMap<VarId, Vec<Mask>> {
    let Ok(born) = sem.new_instance(thread, place.tid) else { return FxHashMap::default() };
    let mut words = vec![0u64; cx.layout.words];
    let mut out = FxHashMap::default();
    for (v, value) in cx.program.threads[thread].locals.iter().zip(&born.locals) {
        let first = place.locals[v];
        if cx.layout.write(first, value, &mut words).is_err() {
            continue;
        }
        let field = |s: &BitField| {
            let at = s.mask() << s.shift;
            Mask { word: s.word.into(), keep: !at, bits: words[s.word as usize] & at }
        };
        let fields = &cx.layout.slots[first..first + cx.layout.plan_of(first).slots()];
        out.insert(*v, fields.iter().map(field).collect());
    }
    out
}

/// Sets locals to the values they start with.
fn resets(born: &FxHashMap<VarId, Vec<Mask>>, locals: &[VarId], words: usize) -> Vec<Mask> {
    let mut all: Vec<Mask> = (0..words).map(|word| Mask { word, keep: !0, bits: 0 }).collect();
    for m in locals.iter().filter_map(|v| born.get(v)).flatten() {
        let at = &mut all[m.word];
        at.keep &= m.keep;
        at.bits = (at.bits & m.keep) | m.bits;
    }
    all.retain(|m| m.keep != !0);
    all
}

/// How each input gets its value; `None` if that is left to the reference semantics.
fn inputs(
    cx: &CompileContext<'_>,
    sem: &Semantics<'_>,
    thread: ThreadId,
    id: ActionId,
    action: &Action,
) -> Option<Vec<CompiledInput>> {
    let t = &cx.program.terms;
    let open = sem.open_inputs(thread, id);
    let mut out = Vec::new();
    for (s, open) in action.inputs.iter().zip(open) {
        let scalar = ScalarSort::of(t, t.symbol_sort(*s))?;
        out.push(match scalar {
            _ if *open => CompiledInput::Open,
            ScalarSort::Bool => CompiledInput::Each(vec![0, 1]),
            ScalarSort::Enum(n) if n <= 64 => CompiledInput::Each((0..i64::from(n)).collect()),
            ScalarSort::Ref(class) if is_fresh(cx, class, *s, action.guard) => CompiledInput::Fresh(class),
            _ => return None,
        });
    }
    Some(out)
}

/// Whether the guard says that the input is not live.
fn is_fresh(cx: &CompileContext<'_>, class: ClassId, input: Symbol, guard: Term) -> bool {
    let t = &cx.program.terms;
    let x = t.sym(input);
    let live = cx.program.classes.iter().map(|c| c.live).find(|v| {
        matches!(t.kind(cx.program.vars[*v].sort), logic::SortKind::Set(e) if t.kind(e) == logic::SortKind::Ref(class))
    });
    let Some(live) = live else { return false };
    let live = cx.program.now(live);
    t.conjuncts(guard).iter().any(|c| match t.app(*c) {
        Some((Op::Not, inner)) => {
            matches!(t.app(inner[0]), Some((Op::Member, args)) if args[0] == x && args[1] == live)
        }
        _ => false,
    })
}

/// The code of an action: guard, gates, values, stores, spawn. Inputs are in the first registers.
fn compile(
    (cx, sem): (&CompileContext<'_>, &Semantics<'_>),
    tables: &mut Tables,
    i: usize,
    thread: ThreadId,
    action: &Action,
    registers: &mut usize,
) -> Made<Vec<Instr>> {
    let layout = cx.layout;
    let spawn_plan = match &action.spawn {
        Some(spawn) => Some(spawn_plan(cx, sem, spawn.thread)?),
        None => None,
    };
    let mut c = TermCompiler::new(cx, tables, Some(i));
    for s in &action.inputs {
        let r = c.reg()?;
        c.bound.insert(*s, r);
    }
    let t = c.terms();
    for conjunct in t.conjuncts(action.guard) {
        if t.is_true(conjunct) {
            continue;
        }
        if let Some(instr) = fused(&c, conjunct) {
            c.emit(instr);
            continue;
        }
        let a = c.scalar(conjunct)?;
        c.emit(Instr::Require { a });
    }
    for g in action.gates.iter().filter(|g| !t.is_true(g.formula)) {
        let a = c.scalar(g.formula)?;
        c.emit(Instr::Gate { a, property: g.property });
    }
    let mut pending = Vec::new();
    for u in &action.updates {
        c.update(u.var, u.value, &mut pending)?;
    }
    if let (Some(spawn), Some(plan)) = (&action.spawn, spawn_plan) {
        let args = spawn.args.iter().map(|a| c.scalar(*a)).collect::<Made<Vec<_>>>()?;
        c.stores(pending, layout)?;
        let first = c.next;
        for a in args {
            let d = c.reg()?;
            c.emit(Instr::Copy { d, a });
        }
        let d = c.reg()?;
        c.tables.spawns.push(plan);
        let spawn_id = c.tables.spawns.len() - 1;
        c.emit(Instr::Spawn { d, spawn: spawn_id as u16, args: first as u16 });
        if let Some(into) = spawn.into {
            let (_, place) = c.place(cx.program.vars[into].symbol).ok_or(NotCompiled::Unsupported)?;
            if place.plan.shape != StorageShape::Cell {
                return Err(NotCompiled::Unsupported);
            }
            c.emit(Instr::Store { slot: place.first as u32, a: d });
        }
    } else {
        c.stores(pending, layout)?;
    }
    let _ = thread;
    *registers = (*registers).max(c.next);
    Ok(c.code)
}

fn spawn_plan(cx: &CompileContext<'_>, sem: &Semantics<'_>, thread: ThreadId) -> Made<SpawnPlan> {
    let layout = cx.layout;
    let t = &cx.program.threads[thread];
    let mut plan = SpawnPlan { code: Vec::new(), params: Vec::new(), fresh: Vec::new() };
    for place in layout.instances.iter().filter(|p| p.spawned) {
        let code = place.code(thread, t.code.entry).ok_or(NotCompiled::Unsupported)?;
        plan.code.push((place.pc, code));
        let mut params = Vec::new();
        for v in &t.params {
            let first = place.locals[v];
            if layout.plan_of(first).shape != StorageShape::Cell {
                return Err(NotCompiled::Unsupported);
            }
            params.push(first as u32);
        }
        plan.params.push(params);
        if t.locals.iter().any(|v| layout.plan_of(place.locals[v]).shape == StorageShape::Interned) {
            return Err(NotCompiled::Unsupported);
        }
        let fresh = resets(&born(cx, sem, place, thread), &t.locals, layout.words);
        plan.fresh.push(fresh.into_iter().map(|m| (m.word, m.keep, m.bits)).collect());
    }
    Ok(plan)
}

/// A guard that compares one decided field with a literal, as one instruction.
fn fused(c: &TermCompiler<'_>, conjunct: Term) -> Option<Instr> {
    let t = c.terms();
    let (positive, formula) = match t.app(conjunct) {
        Some((Op::Not, inner)) => (false, inner[0]),
        _ => (true, conjunct),
    };
    let (x, k) = match t.node(formula) {
        Node::Sym(_) => (formula, 1),
        Node::App(Op::Eq, args) => match (c.literal(args[1]), c.literal(args[0])) {
            (Some(k), _) => (args[0], k),
            (None, Some(k)) => (args[1], k),
            _ => return None,
        },
        _ => return None,
    };
    let (_, place) = c.place(t.as_symbol(x)?)?;
    let s = c.cx.layout.slots[place.first];
    if place.plan.shape != StorageShape::Cell || s.open || k == OPEN_VALUE {
        return None;
    }
    Some(match (s.encode(k), positive) {
        (Some(code), true) => Instr::RequireCode { word: s.word, shift: s.shift, bits: s.bits, code },
        (Some(code), false) => Instr::RequireNotCode { word: s.word, shift: s.shift, bits: s.bits, code },
        // A number outside the field's range is never its value.
        (None, _) => return None,
    })
}
