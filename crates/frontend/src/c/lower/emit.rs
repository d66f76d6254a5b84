//! From flows to `program::Program`: variables, threads, properties, origins, assumptions.
//!
//! In: what was lowered: slots, flows, tasks, what was asked for. Out: a well-formed `Program`.

use super::flow::*;
use super::*;
use crate::c::ast::Stmt;
use program::{
    Action, Assumption, Code, Copies, Gate, InitialFact, LocId, Location, OriginId, PropertyId, PropertyKind, Scope,
    Thread, Update, VarKind,
};

/// The assumption of programs whose atomics are all sequentially consistent: it is none where there are no races.
pub const RACE_FREE: &str = "c-sequential-if-race-free";
/// The assumption that is left where the memory model is C11's.
pub const EVALUATION_ORDER: &str = "c-evaluation-order";

/// A thread in any number.
const ANY_COPIES: u32 = u32::MAX;

impl Lower<'_> {
    pub(super) fn finish(mut self, name: &str) -> Program {
        self.routines_stop_at_failures();
        self.end_of_main();
        if self.checks(CCheck::Deadlock) {
            self.end_in_idle_loops();
        }
        if self.checks(CCheck::Race) {
            // Before anything is dropped: a read whose value is never used can race as well.
            self.privatise();
            self.instrument_races();
        } else if !self.units.is_empty() {
            self.privatise();
            self.refuse_torn_bit_fields();
        }
        if self.merging == Merging::None {
            self.gate_by_exit();
            let copies = self.tasks.iter().map(|t| if t.many { ANY_COPIES } else { 1 }).collect();
            return Emitter::new(self, name, copies).run();
        }
        self.drop_irrelevant();
        self.privatise();
        self.gate_by_exit();
        self.compress();
        self.settle_locals();
        self.forget_temps();
        self.settle_routines();
        let mut copies = self.group();
        for id in self.tasks.ids().filter(|id| self.tasks[*id].many) {
            copies[id.index()] = self.most_copies(id).unwrap_or(ANY_COPIES);
        }
        Emitter::new(self, name, copies).run()
    }

    /// For the question of deadlocks: a thread that from some place on does nothing but turn in private (`for (;;) sleep(1);`) will never
    /// help another, so it counts as ended there. Else it would hide that all others wait for each other for ever.
    fn end_in_idle_loops(&mut self) {
        let mut flows = std::mem::take(&mut self.flows);
        for (i, flow) in flows.iter_mut().enumerate() {
            let own = |slot: &SlotId| self.slots[*slot].owner == SlotOwner::Task(TaskId(i as u32));
            let idle = |s: &FlowStep| s.gates.is_empty() && !s.blocking && s.updates.iter().all(|(slot, _)| own(slot));
            let Some(exit) = flow.exit else { continue };
            let outs = flow.outs();
            let mut acts: Vec<bool> = outs.iter().map(Vec::is_empty).collect();
            flow.steps.iter().filter(|s| !idle(s)).for_each(|s| acts[s.from.index()] = true);
            let mut changed = true;
            while changed {
                changed = false;
                for step in &flow.steps {
                    if acts[step.to.index()] {
                        changed |= !std::mem::replace(&mut acts[step.from.index()], true);
                    }
                }
            }
            for step in flow.steps.iter_mut().filter(|s| acts[s.from.index()] && !acts[s.to.index()]) {
                step.to = exit;
            }
            flow.steps.retain(|s| acts[s.from.index()]);
            if flow.entry.is_some_and(|e| !acts[e.index()]) {
                flow.entry = Some(exit);
            }
        }
        self.flows = flows;
    }

    /// The places of the assertions in the functions that were lowered, in the order of the text.
    fn assertions(&self) -> Vec<Span> {
        let asserts = |f: &FnId| {
            let name = self.unit.functions[*f].name.as_str();
            call::is_error(name) || library::ASSERTIONS.contains(&name) && self.unit.functions[*f].body.is_none()
        };
        let mut found: BTreeSet<Span> = BTreeSet::new();
        for f in self.inlined.iter().filter(|f| !asserts(f)) {
            let body: Vec<&Stmt> = self.unit.functions[*f].body.iter().flatten().collect();
            let sites = walk::effects_of(&body, &[]).call_sites;
            found.extend(sites.into_iter().filter(|(g, _)| asserts(g)).map(|(_, at)| at));
        }
        let failing = self.flows.iter().flat_map(|f| &f.steps).flat_map(|s| &s.gates);
        found.extend(failing.filter_map(|(f, _)| match f {
            GateFailure::Reach(at) => Some(*at),
            _ => None,
        }));
        found.into_iter().collect()
    }

    /// `main`'s return matters only if a thread may still run then.
    fn end_of_main(&mut self) {
        let created = |id: &TaskId| self.flows[id.index()].entry.is_some();
        let all: BTreeSet<TaskId> = self.tasks.ids().skip(1).filter(created).collect();
        let many = self.tasks.iter_enumerated().any(|(id, t)| t.many && created(&id));
        let Some(flow) = self.flows.first() else { return };
        let count = flow.places.len();
        // Which threads have surely ended at each place of `main`.
        let mut joined: Vec<Option<BTreeSet<TaskId>>> = vec![None; count];
        if let Some(entry) = flow.entry {
            joined[entry.index()] = Some(BTreeSet::new());
        }
        let mut changed = true;
        while changed {
            changed = false;
            for step in &flow.steps {
                let Some(mut set) = joined[step.from.index()].clone() else { continue };
                set.extend(step.joins.iter().copied());
                let at = &mut joined[step.to.index()];
                let new = match at {
                    None => set,
                    Some(old) => old.intersection(&set).copied().collect(),
                };
                if at.as_ref() != Some(&new) {
                    *at = Some(new);
                    changed = true;
                }
            }
        }
        let exit = flow.exit;
        let safe = !many && exit.is_some_and(|e| joined[e.index()].as_ref().is_none_or(|set| set.is_superset(&all)));
        if safe {
            let exited = self.exited;
            if let Some(flow) = self.flows.first_mut() {
                for step in flow.steps.iter_mut().filter(|s| Some(s.to) == exit) {
                    step.updates.retain(|(s, _)| *s != exited);
                }
            }
        }
    }

    /// Nothing counts as wrong once the program has ended.
    fn gate_by_exit(&mut self) {
        let exited = self.exited;
        let ends = self.flows.iter().flat_map(|f| &f.steps).any(|s| s.updates.iter().any(|(slot, _)| *slot == exited));
        if !ends {
            return;
        }
        self.slots[exited].owner = SlotOwner::Shared;
        let ended = self.slot_term(exited);
        let build = terms::Build(&self.terms);
        if self.checks.contains(&CCheck::Deadlock) {
            // When the program ends, so does every thread, wherever it is.
            let stops = self.terms.sym(self.slots[exited].symbol);
            for flow in &mut self.flows {
                let Some(exit) = flow.exit else { continue };
                let places: Vec<Loc> =
                    flow.places.ids().filter(|l| *l != exit && !flow.places[*l].in_atomic_block).collect();
                for from in places {
                    let span = flow.places[from].span;
                    flow.steps.push(FlowStep {
                        from,
                        to: exit,
                        inputs: Vec::new(),
                        guard: stops,
                        blocking: true,
                        gates: Vec::new(),
                        updates: Vec::new(),
                        what: What::Return,
                        span,
                        joins: Vec::new(),
                    });
                }
            }
        }
        for flow in &mut self.flows {
            for (_, gate) in flow.steps.iter_mut().flat_map(|s| s.gates.iter_mut()) {
                *gate = build.or(ended, *gate);
            }
        }
    }
}

struct Emitter<'u> {
    lower: Lower<'u>,
    program: Program,
    vars: FxHashMap<SlotId, program::VarId>,
    properties: Vec<(GateFailure, PropertyId)>,
    names: FxHashMap<String, u32>,
    origins: FxHashMap<(base::Span, String), OriginId>,
    /// Variables with a mutex: slot, property, when it may be accessed.
    guarded: Vec<(SlotId, PropertyId, Term)>,
    /// By thread of the lowering, how many copies of it there are; none if another stands for it.
    copies: Vec<u32>,
    /// How often a name of a thread is taken.
    threads: FxHashMap<String, u32>,
}

impl<'u> Emitter<'u> {
    fn new(mut lower: Lower<'u>, name: &str, copies: Vec<u32>) -> Self {
        let mut program = Program::new(name);
        program.terms = std::mem::take(&mut lower.terms);
        program.tid = lower.tid;
        Self {
            lower,
            program,
            vars: FxHashMap::default(),
            properties: Vec::new(),
            names: FxHashMap::default(),
            origins: FxHashMap::default(),
            guarded: Vec::new(),
            copies,
            threads: FxHashMap::default(),
        }
    }

    fn run(mut self) -> Program {
        let flows = std::mem::take(&mut self.lower.flows);
        self.declare_checks();
        self.shared_variables(&flows);
        self.guards();
        self.specifications();
        for (i, flow) in flows.iter().enumerate().filter(|(i, _)| self.copies[*i] > 0).collect::<Vec<_>>() {
            let task = TaskId(i as u32);
            match self.lower.routines.iter().find(|r| r.task == task).cloned() {
                Some(routine) => self.procedure(&routine, flow),
                // One that cannot be read is reported as an error.
                None if self.lower.is_routine(task) => {}
                None => self.thread(task, flow),
            }
        }
        let mut assumptions: Vec<Assumption> = Vec::new();
        assumptions.push(self.memory_model());
        for (code, text) in &self.lower.assumptions {
            assumptions.push(Assumption { code: (*code).to_string(), text: text.clone() });
        }
        assumptions.push(Assumption {
            code: "c-data-model".into(),
            text: format!("types have the sizes of {}", self.lower.unit.types.model.name()),
        });
        self.program.assumptions = assumptions;
        self.program
    }

    /// A program without races whose atomics are all sequentially consistent is sequentially consistent (C11 5.1.2.4, by the
    /// theorem on race-free programs), so a verdict on races alone then holds for C11 itself.
    fn memory_model(&self) -> Assumption {
        let weaker = &self.lower.weaker;
        if weaker.is_empty() && self.lower.checks == [CCheck::Race] {
            let text = "operands are evaluated left to right";
            return Assumption { code: EVALUATION_ORDER.into(), text: text.into() };
        }
        let mut text = String::from("memory is sequentially consistent and operands are evaluated left to right");
        if weaker.is_empty() {
            text += "; C11 promises the first where no-data-race is safe";
            return Assumption { code: RACE_FREE.into(), text };
        }
        let listed: Vec<String> = weaker.iter().take(8).map(|(line, order)| format!("{line} ({order})")).collect();
        let more = if weaker.len() > 8 { " and more" } else { "" };
        text += &format!(", though weaker orders are asked for in lines {}{more}", listed.join(", "));
        Assumption { code: "c-sequential-consistency".into(), text }
    }

    /// The properties asked for exist even if no step can break them.
    fn declare_checks(&mut self) {
        for check in self.lower.checks {
            match check {
                CCheck::Reach => self.declare_assertions(),
                CCheck::Overflow => {
                    self.property(&GateFailure::Overflow, None);
                }
                CCheck::Memory => {
                    self.property(&GateFailure::Deref, None);
                }
                CCheck::Race => {
                    self.property(&GateFailure::Race(String::new()), None);
                }
                CCheck::Free => {
                    self.property(&GateFailure::Free, None);
                }
                CCheck::Leak => {
                    self.property(&GateFailure::Leak, None);
                }
                CCheck::Division => {
                    self.property(&GateFailure::Division, None);
                }
                CCheck::Unlock => {
                    self.property(&GateFailure::Unlock, None);
                }
                CCheck::Shift => {
                    self.property(&GateFailure::Shift, None);
                }
                CCheck::Deadlock => {
                    let origin = self.origin(None, "no-deadlock");
                    self.program.properties.push(program::Property {
                        kind: PropertyKind::Deadlock,
                        name: CCheck::Deadlock.name().into(),
                        origin,
                    });
                }
            }
        }
    }

    /// Every assertion in code that was lowered is a property of its own, also where nothing is left of it because it surely holds. If
    /// there is only one, it has the name of the question; if there is none, the question itself is the property.
    fn declare_assertions(&mut self) {
        let sites = self.lower.assertions();
        if let [only] = sites[..] {
            let origin = self.at(only);
            let (kind, name) = (PropertyKind::Assertion, CCheck::Reach.name().to_string());
            let id = self.program.properties.push(program::Property { kind, name, origin });
            self.properties.push((GateFailure::Reach(only), id));
        } else if sites.is_empty() {
            let origin = self.origin(None, CCheck::Reach.name());
            let (kind, name) = (PropertyKind::Assertion, CCheck::Reach.name().to_string());
            self.program.properties.push(program::Property { kind, name, origin });
        }
        for at in sites {
            self.property(&GateFailure::Reach(at), None);
        }
    }

    fn origin(&mut self, span: Option<Span>, text: &str) -> OriginId {
        match span {
            None => self.program.add_origin(None, text),
            Some(span) => {
                let key = (span, text.to_string());
                if let Some(id) = self.origins.get(&key) {
                    return *id;
                }
                let id = self.program.add_origin(Some(span), text);
                self.origins.insert(key, id);
                id
            }
        }
    }

    /// The text of a place: its source text on one line.
    fn at(&mut self, span: Span) -> OriginId {
        let text = self.lower.sources.text(span);
        let mut text_of_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if text_of_line.is_empty() {
            let file = self.lower.sources.file(span.file);
            text_of_line = file.line(self.lower.sources.line_of(span)).trim().to_string();
        }
        if text_of_line.chars().count() > 70 {
            text_of_line = text_of_line.chars().take(67).collect::<String>() + "...";
        }
        self.origin(Some(span), &text_of_line)
    }

    fn property(&mut self, failure: &GateFailure, span: Option<Span>) -> PropertyId {
        // One property for each question; what is unmodelled is one for each place.
        let same = |f: &GateFailure| match (f, failure) {
            (GateFailure::Race(_), GateFailure::Race(_)) => true,
            (a, b) => a == b,
        };
        if let Some((_, id)) = self.properties.iter().find(|(f, _)| same(f)) {
            return *id;
        }
        let (kind, name) = match failure {
            GateFailure::Reach(at) => {
                let line = self.lower.sources.line_of(*at);
                (PropertyKind::Assertion, self.unique(&format!("{}:{line}", CCheck::Reach.name())))
            }
            GateFailure::Overflow => (PropertyKind::Overflow, CCheck::Overflow.name().to_string()),
            GateFailure::Division => (PropertyKind::Division, CCheck::Division.name().to_string()),
            GateFailure::Shift => (PropertyKind::Overflow, CCheck::Shift.name().to_string()),
            GateFailure::Unlock => (PropertyKind::Release, CCheck::Unlock.name().to_string()),
            GateFailure::Leak => (PropertyKind::Assertion, CCheck::Leak.name().to_string()),
            GateFailure::Deref => (PropertyKind::Null, CCheck::Memory.name().to_string()),
            GateFailure::Free => (PropertyKind::Freed, CCheck::Free.name().to_string()),
            GateFailure::Race(_) => (PropertyKind::Race, CCheck::Race.name().to_string()),
            GateFailure::Unmodelled(why, at) => {
                let line = self.lower.sources.line_of(*at);
                (PropertyKind::Unmodelled(why.clone()), self.unique(&format!("unmodelled:{line}")))
            }
        };
        // A step may have been merged with others: a construct is reported at its own place.
        let span = match failure {
            GateFailure::Unmodelled(_, at) | GateFailure::Reach(at) => Some(*at),
            _ => span,
        };
        let origin = match span {
            Some(span) => self.at(span),
            None => self.origin(None, &name),
        };
        let id = self.program.properties.push(program::Property { kind, name, origin });
        self.properties.push((failure.clone(), id));
        id
    }

    fn unique(&mut self, wanted: &str) -> String {
        let count = self.names.entry(wanted.to_string()).or_insert(0);
        *count += 1;
        if *count == 1 { wanted.to_string() } else { format!("{wanted}#{count}") }
    }

    fn variable(&mut self, slot: SlotId, scope: Scope) -> program::VarId {
        if let Some(id) = self.vars.get(&slot) {
            return *id;
        }
        let FlowSlot { shown, sort, symbol, initial, range, lock, span, .. } = self.lower.slots[slot].clone();
        let name = self.unique(&shown);
        let origin = self.at(span);
        let primed = self.program.terms.symbol(format!("{name}'"), sort);
        let kind = if lock { VarKind::Lock } else { VarKind::Plain };
        let id = self.program.vars.push(program::Var {
            name,
            sort,
            symbol,
            primed,
            scope,
            kind,
            initial,
            access: None,
            private: false,
            origin,
        });
        self.vars.insert(slot, id);
        if initial.is_none()
            && self.lower.slots[slot].external
            && scope == Scope::Shared
            && sort == Sort::INT
            && let Some((low, high)) = range
        {
            let t = &self.program.terms;
            let value = t.sym(symbol);
            let formula = t.and(&[t.le(t.int(low), value), t.le(value, t.int(high))]);
            self.program.init.push(InitialFact { formula: Some(formula), property: None, origin });
        }
        id
    }

    fn shared_variables(&mut self, flows: &[Flow]) {
        let mut used: Vec<SlotId> = Vec::new();
        for step in flows.iter().flat_map(|f| &f.steps) {
            let touch = self.touch(step);
            used.extend(touch.into_iter().filter(|s| self.lower.slots[*s].owner == SlotOwner::Shared));
        }
        used.sort();
        used.dedup();
        for slot in used {
            self.variable(slot, Scope::Shared);
        }
    }

    /// `guarded_by`: a variable may be accessed while its mutex is free or held by the thread at hand.
    fn guards(&mut self) {
        for (slot, mutex, span) in std::mem::take(&mut self.lower.guards) {
            self.variable(slot, Scope::Shared);
            self.variable(mutex, Scope::Shared);
            self.guard(slot, mutex, span);
        }
        for (slot, mutex) in std::mem::take(&mut self.lower.guards_found) {
            if self.vars.contains_key(&mutex) {
                self.guard(slot, mutex, self.lower.slots[slot].span);
            }
        }
        // A mutex that is only locked and unlocked is its holder's: what functions perform rests on that.
        for mutex in std::mem::take(&mut self.lower.plain_mutexes) {
            self.guard(mutex, mutex, self.lower.slots[mutex].span);
        }
    }

    fn guard(&mut self, slot: SlotId, mutex: SlotId, span: Span) {
        let Some(var) = self.vars.get(&slot).copied() else { return };
        let origin = self.at(span);
        let t = &self.program.terms;
        let held = t.sym(self.lower.slots[mutex].symbol);
        let formula = t.or(&[t.eq(held, t.int(0)), t.eq(held, t.sym(self.program.tid))]);
        let binders = match t.kind(self.program.vars[var].sort) {
            logic::SortKind::Map(key, _) => vec![t.symbol("i", key)],
            _ => Vec::new(),
        };
        let access = program::AccessPredicate { binders, formula: Some(formula), writing: None, origin };
        self.program.vars[var].access = Some(access);
        let name = format!("access:{}", self.program.vars[var].name);
        let kind = PropertyKind::Access(var);
        let property = self.program.properties.push(program::Property { kind, name, origin });
        self.guarded.push((slot, property, formula));
    }

    /// Invariants and relies from comments, each with a property of its own.
    fn specifications(&mut self) {
        for written in std::mem::take(&mut self.lower.written) {
            for slot in &written.slots {
                self.variable(*slot, Scope::Shared);
            }
            let t = &self.program.terms;
            let after: FxHashMap<Symbol, Term> = written
                .primed
                .iter()
                .map(|(placeholder, slot)| (*placeholder, t.sym(self.program.vars[self.vars[slot]].primed)))
                .collect();
            let formula = terms::Build(t).substitute(written.formula, &after);
            let origin = self.origin(Some(written.span), &written.text);
            let line = self.lower.sources.line_of(written.span);
            match written.kind {
                crate::c::ast::SpecKind::Machine => {}
                crate::c::ast::SpecKind::Invariant => {
                    let (kind, name) = (PropertyKind::Invariant(formula), self.unique(&format!("invariant:{line}")));
                    let property = Some(self.program.properties.push(program::Property { kind, name, origin }));
                    self.program.invariants.push(InitialFact { formula: Some(formula), property, origin });
                }
                crate::c::ast::SpecKind::Rely => {
                    let index = self.program.relies.len() as u32;
                    let (kind, name) = (PropertyKind::Rely(index), self.unique(&format!("rely:{line}")));
                    let property = self.program.properties.push(program::Property { kind, name, origin });
                    let rely = program::Rely { thread: None, formula: Some(formula), property, origin };
                    self.program.relies.push(rely);
                }
            }
        }
    }

    /// The machine of a thread, if it follows one, with its property. Each thread has its own, for each has its own
    /// slots that no machine speaks of.
    fn follows(
        &mut self,
        task: TaskId,
        id: program::ThreadId,
        flow: &Flow,
    ) -> Option<(program::MachineId, PropertyId)> {
        let machine = self.lower.followed(task)?.clone();
        for slot in &machine.slots {
            self.variable(*slot, Scope::Shared);
        }
        let own: BTreeSet<SlotId> = flow
            .steps
            .iter()
            .flat_map(|s| &s.updates)
            .map(|(slot, _)| *slot)
            .filter(|s| self.lower.slots[*s].owner == SlotOwner::Shared && self.lower.slots[*s].key.starts_with('<'))
            .collect();
        let text_of_line = format!("machine {}", machine.name);
        let origin = self.origin(Some(machine.span), &text_of_line);
        let t = &self.program.terms;
        let after: FxHashMap<Symbol, Term> = machine
            .primed
            .iter()
            .map(|(placeholder, slot)| (*placeholder, t.sym(self.program.vars[self.vars[slot]].primed)))
            .collect();
        let place = |slot: SlotId, key: Option<Term>| program::StorePlace {
            var: self.vars[&slot],
            keys: key.into_iter().collect(),
        };
        let mut edges: Vec<program::MachineEdge> = machine
            .edges
            .iter()
            .map(|e| {
                let frame = e.frame.iter().map(|(slot, key)| place(*slot, *key));
                let frame = frame.chain(own.iter().map(|s| place(*s, None))).collect();
                let relation = terms::Build(t).substitute(e.relation, &after);
                plain_edge(e.from, e.to, program::TwoStore { frame, relation }, origin)
            })
            .collect();
        if !own.is_empty() && !machine.strict {
            for at in 0..machine.states.len() {
                let frame = own.iter().map(|s| place(*s, None)).collect();
                let action = program::TwoStore { frame, relation: t.tt() };
                edges.push(plain_edge(at, at, action, origin));
            }
        }
        let states = machine
            .states
            .iter()
            .map(|(name, assertion)| program::MachineState {
                name: name.clone(),
                assertion: assertion.map(Some),
                origin,
            })
            .collect();
        let name = self.unique(&machine.name);
        let (strict, starts) = (machine.strict, machine.starts.clone());
        let made = program::Machine { name, strict, vars: Vec::new(), states, starts, edges, origin };
        let made = self.program.machines.push(made);
        let name = self.unique(&format!("follows:{}", self.lower.tasks[task].shown));
        let kind = PropertyKind::Follows(id);
        let property = self.program.properties.push(program::Property { kind, name, origin });
        Some((made, property))
    }

    fn touch(&self, step: &FlowStep) -> Vec<SlotId> {
        let t = &self.program.terms;
        let mut out: Vec<SlotId> = step.updates.iter().map(|(s, _)| *s).collect();
        let terms = step.updates.iter().map(|(_, v)| *v).chain(step.gates.iter().map(|(_, g)| *g)).chain([step.guard]);
        for term in terms {
            out.extend(t.free_symbols(term).iter().filter_map(|s| self.lower.by_symbol.get(s).copied()));
        }
        out
    }

    fn thread(&mut self, task: TaskId, flow: &Flow) {
        let id = self.program.threads.next_id();
        let CThread { shown, span, .. } = self.lower.tasks[task].clone();
        let origin = self.at(span);
        let locals = self.own_slots(flow);
        let locals = locals.into_iter().map(|s| self.variable(s, Scope::Thread(id))).collect();
        let Some(code) = self.code(flow) else { return };
        let follows = self.follows(task, id, flow);
        let taken = self.threads.entry(shown.clone()).or_insert(0);
        *taken += 1;
        let name = if *taken == 1 { shown } else { format!("{shown}#{taken}") };
        let copies = match self.copies[task.index()] {
            // A thread without steps is as good as any number of them.
            ANY_COPIES if !flow.steps.is_empty() => Copies::Any,
            ANY_COPIES => Copies::One,
            n => Copies::number(n),
        };
        self.program.threads.push(Thread {
            name,
            copies,
            start: program::Start::Initial,
            params: Vec::new(),
            locals,
            code,
            outline: None,
            follows,
            origin,
        });
    }

    /// The slots that belong to whoever runs the code.
    fn own_slots(&self, flow: &Flow) -> Vec<SlotId> {
        let mut own: Vec<SlotId> = flow.steps.iter().flat_map(|s| self.touch(s)).collect();
        own.retain(|s| self.lower.slots[*s].owner != SlotOwner::Shared);
        own.sort();
        own.dedup();
        own
    }

    fn code(&mut self, flow: &Flow) -> Option<Code> {
        let mut code = Code::new();
        let mut locations: FxHashMap<Loc, LocId> = FxHashMap::default();
        let outs = flow.outs();
        let mut ordered: Vec<Loc> = flow.entry.into_iter().collect();
        for step in &flow.steps {
            ordered.push(step.from);
            ordered.push(step.to);
        }
        for loc in ordered {
            if locations.contains_key(&loc) {
                continue;
            }
            let place = &flow.places[loc];
            // A location is named by the line of the step that leaves it.
            let span = outs[loc.index()].first().map_or(place.span, |s| flow.steps[*s].span);
            let origin = self.at(span);
            let name = format!("{}", self.lower.sources.line_of(span));
            let at = code.locations.push(Location {
                name,
                in_atomic_block: place.in_atomic_block,
                invariants: Vec::new(),
                origin,
            });
            locations.insert(loc, at);
        }
        let entry = flow.entry.and_then(|e| locations.get(&e))?;
        code.entry = *entry;
        code.exit = flow.exit.and_then(|e| locations.get(&e)).copied();
        for step in &flow.steps {
            let action = self.action(step, &locations);
            code.actions.push(action);
        }
        Some(code)
    }

    /// A function that says what it performs.
    fn procedure(&mut self, routine: &performs::SpecifiedFunction, flow: &Flow) {
        let id = self.program.procedures.next_id();
        let scope = Scope::Procedure(id);
        for slot in &routine.slots {
            self.variable(*slot, Scope::Shared);
        }
        let params: Vec<program::VarId> = routine.params.iter().map(|s| self.variable(*s, scope)).collect();
        let results: Vec<program::VarId> = routine.result.iter().map(|s| self.variable(*s, scope)).collect();
        let mut own = self.own_slots(flow);
        own.retain(|s| !routine.params.contains(s) && routine.result != Some(*s));
        let locals = own.into_iter().map(|s| self.variable(s, scope)).collect();
        let Some(code) = self.code(flow) else { return };
        let origin = self.origin(Some(routine.span), &routine.text);
        let t = &self.program.terms;
        let after: FxHashMap<Symbol, Term> = routine
            .primed
            .iter()
            .map(|(placeholder, slot)| (*placeholder, t.sym(self.program.vars[self.vars[slot]].primed)))
            .collect();
        let performs = self.performs(&routine.performed, &after, origin);
        let in_range = |s: &SlotId| {
            let (low, high) = self.lower.slots[*s].range?;
            let x = t.sym(self.lower.slots[*s].symbol);
            let formula = Some(t.and(&[t.le(t.int(low), x), t.le(x, t.int(high))]));
            Some(InitialFact { formula, property: None, origin })
        };
        let requires = routine.params.iter().filter_map(in_range).collect();
        let name = self.lower.tasks[routine.task].shown.clone();
        let property = program::Property {
            kind: PropertyKind::Performs(id),
            name: self.unique(&format!("performs:{name}")),
            origin,
        };
        let property = self.program.properties.push(property);
        self.program.procedures.push(program::Procedure {
            name,
            params,
            results,
            locals,
            requires,
            ensures: Vec::new(),
            performs: Some((performs, property)),
            olds: Vec::new(),
            inline: false,
            code,
            origin,
        });
    }

    fn performs(
        &self,
        performed: &performs::CPerformed,
        after: &FxHashMap<Symbol, Term>,
        origin: OriginId,
    ) -> program::Performs {
        let all = |parts: &[performs::CPerformed]| parts.iter().map(|p| self.performs(p, after, origin)).collect();
        match performed {
            performs::CPerformed::Action { label, frame, relation } => {
                let place = |(slot, key): &(SlotId, Option<Term>)| program::StorePlace {
                    var: self.vars[slot],
                    keys: key.iter().copied().collect(),
                };
                let relation = terms::Build(&self.program.terms).substitute(*relation, after);
                let action = program::TwoStore { frame: frame.iter().map(place).collect(), relation };
                program::Performs::Action { label: label.clone(), action, origin }
            }
            performs::CPerformed::Then(parts) => program::Performs::Then(all(parts)),
            performs::CPerformed::Or(parts) => program::Performs::Or(all(parts)),
            performs::CPerformed::Star(inner) => program::Performs::Star(Box::new(self.performs(inner, after, origin))),
        }
    }

    fn action(&mut self, step: &FlowStep, locations: &FxHashMap<Loc, LocId>) -> Action {
        let origin = self.at(step.span);
        let touched = self.touch(step);
        let mut gates: Vec<Gate> = self
            .guarded
            .iter()
            .filter(|(slot, _, _)| touched.contains(slot))
            .map(|(_, property, formula)| Gate { property: *property, formula: *formula })
            .collect();
        let more: Vec<Gate> = step
            .gates
            .iter()
            .map(|(failure, formula)| Gate { property: self.property(failure, Some(step.span)), formula: *formula })
            .collect();
        gates.extend(more);
        let t = &self.program.terms;
        let build = terms::Build(t);
        let mut guard = step.guard;
        for input in &step.inputs {
            if let Some((low, high)) = input.range {
                let value = t.sym(input.symbol);
                guard = build.all([guard, build.le(t.int(low), value), build.le(value, t.int(high))]);
            }
        }
        let updates = step.updates.iter().map(|(slot, value)| Update { var: self.vars[slot], value: *value }).collect();
        Action {
            inputs: step.inputs.iter().map(|i| i.symbol).collect(),
            gates,
            updates,
            ..Action::plain(locations[&step.from], locations[&step.to], guard, step.what, origin)
        }
    }
}

/// An edge of a machine without variables.
fn plain_edge(from: usize, to: usize, action: program::TwoStore, origin: program::OriginId) -> program::MachineEdge {
    program::MachineEdge { from, to, action, sets: Vec::new(), makes: None, origin }
}
