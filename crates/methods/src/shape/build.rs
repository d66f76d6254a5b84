//! From a program to the `Model`, or the reason why the domain cannot represent the program: nothing in a program is ever left out silently.
//!
//! In: a `Program` and, for linearizability, one of its objects with the chosen points. Out: a `Model`, or a refusal that names the statement.
//! What is generated from the types alone: one slot for each shared variable and local, a row for each field, kinds of cells from
//! finite-valued fields and from the place of a cell in the specification, the link of each class, the ends of the specification's sequence.
//! The fragment that is admitted is the grammar in `docs/methods/shape.md`.

use super::expr::{Compiled, Constant, Ex, ShapeCompiler, SymbolMeaning};
use super::model::{
    CellKind, Firing, InitialValue, Model, Precision, ShapeClass, ShapeField, ShapeInput, ShapeRoutine, ShapeSlot,
    ShapeSpine, ShapeStep, Stored,
};
use super::spec::SpecOperation;
use super::spine;
use super::types::{ShapeType, ShapeTypes};
use super::view::{ABOVE, ANY, BELOW, Code, EQUAL, FALSE, FREE, GROUPS, TRUE};
use evidence::views::{Control, Fires, SpecPoint, Status, Take, Taker};
use logic::{ClassId, Op, SortKind, Symbol, Term};
use program::{ActionId, Copies, LocId, Mark, ObjectId, Program, PropertyId, Scope, Start, VarId, VarKind};
use rustc_hash::FxHashMap;

/// What the analysis is about, besides the program.
#[derive(Clone, Debug, Default)]
pub(super) struct Question {
    pub object: Option<ObjectId>,
    /// Points to try for operations without marks.
    pub points: Vec<SpecPoint>,
    pub takes: Vec<Take>,
    pub hold: Option<Hold>,
}

/// That nothing leaks, and the shared variables that are to lead to every published cell.
#[derive(Clone, Debug)]
pub(super) struct Hold {
    pub leak: PropertyId,
    pub roots: Vec<VarId>,
}

pub(super) fn build(program: &Program, question: &Question) -> Compiled<Model> {
    Builder::new(program, question)?.build()
}

struct Builder<'a> {
    program: &'a Program,
    question: &'a Question,
    types: ShapeTypes,
    meaning: FxHashMap<Symbol, SymbolMeaning>,
    constants: Vec<Constant>,
}

impl<'a> Builder<'a> {
    fn new(program: &'a Program, question: &'a Question) -> Compiled<Self> {
        let mut codes = Vec::new();
        let mut same = Vec::new();
        match question.object {
            Some(id) => {
                let object = &program.objects[id];
                if !program.threads.is_empty() {
                    return Err("an object together with threads of the program".into());
                }
                for (op, spec) in object.ops.iter().zip(&object.spec.ops) {
                    codes.push(&op.code);
                    codes.push(&spec.code);
                    same.extend(op.params.iter().copied().zip(spec.params.iter().copied()));
                    same.extend(op.results.iter().copied().zip(spec.results.iter().copied()));
                }
            }
            None => codes.extend(program.threads.iter().map(|t| &t.code)),
        }
        for code in &codes {
            if let Some(l) = code.locations.iter().find(|l| l.in_atomic_block) {
                return Err(format!("an atomic block with a loop ({})", l.name));
            }
            if !code.calls.is_empty() {
                return Err("a call that is kept as a call".into());
            }
            if code.actions.iter().any(|a| a.spawn.is_some()) {
                return Err("spawn".into());
            }
        }
        let types = ShapeTypes::infer(program, codes, &same);
        Ok(Self { program, question, types, meaning: FxHashMap::default(), constants: Vec::new() })
    }
    fn build(mut self) -> Compiled<Model> {
        let program = self.program;
        self.meaning.insert(program.tid, SymbolMeaning::Tid);
        let (fields, classes) = self.heap()?;
        let (mut globals, mut initial) = self.globals()?;
        let collection = self.collection()?;
        let mut ends = None;
        let mut has_key = None;
        let mut spine = None;
        match collection {
            Some((_, Collection::Sequence)) => {
                ends = Some((globals.len() as u16, globals.len() as u16 + 1));
                for name in ["first", "last"] {
                    globals.push(ShapeSlot { var: None, name: name.into(), ty: ShapeType::Data });
                    initial.push(InitialValue::Is(super::view::NULL));
                }
            }
            Some((_, Collection::Set)) => {
                has_key = Some(globals.len() as u16);
                globals.push(ShapeSlot { var: None, name: "member".into(), ty: ShapeType::Bool });
                initial.push(InitialValue::Is(FALSE));
                let codes: Vec<&program::Code> = match self.question.object {
                    Some(id) => program.objects[id].ops.iter().map(|o| &o.code).collect(),
                    None => Vec::new(),
                };
                let found = spine::find_spine(program, &codes, &fields, &globals)?;
                for name in ["pred", "succ"] {
                    globals.push(ShapeSlot { var: None, name: name.into(), ty: ShapeType::Ref(found.class) });
                    initial.push(InitialValue::Is(super::view::NULL));
                }
                spine = Some(found);
            }
            None => {}
        }
        let kinds = self.kinds(&fields, &classes, ends.is_some(), spine.as_ref())?;
        let common = kinds.iter().map(|k| common(&kinds, k)).collect();
        let rows =
            fields.iter().filter_map(|f| if let Stored::Row(r) = f.stored { Some(r as usize + 1) } else { None });
        let width = rows.max().unwrap_or(0) + usize::from(ends.is_some());
        let spined = spine.is_some();
        let slot = |v: &VarId| globals.iter().position(|s: &ShapeSlot| s.var == Some(*v));
        let roots = self.question.hold.iter().flat_map(|h| &h.roots).filter_map(slot).collect();
        let mut model = Model {
            globals,
            ends,
            has_key,
            spine,
            frame: 0,
            done: 0,
            results: 0,
            fields,
            classes,
            kinds,
            common,
            width,
            routines: Vec::new(),
            controls: Vec::new(),
            object: self.question.object,
            constants: Vec::new(),
            points: Vec::new(),
            // In a list with a spine names are kept for other reasons too.
            leak: self.question.hold.as_ref().map(|h| h.leak),
            roots,
            takes: if spined { Vec::new() } else { self.question.takes.clone() },
            precision: Precision::Exact,
            start: super::start::ShapeStart::default(),
            initial,
        };
        self.frames(&mut model);
        match self.question.object {
            Some(id) => {
                model.controls.push((u16::MAX, LocId(0)));
                for at in 0..program.objects[id].ops.len() {
                    let routine = self.operation(&mut model, id, at, collection)?;
                    model.routines.push(routine);
                }
            }
            None => {
                for (id, thread) in program.threads.iter_enumerated() {
                    if thread.start == Start::Spawned {
                        return Err("threads started by spawn".into());
                    }
                    let locals = thread.locals.clone();
                    let routine = self.routine(
                        &mut model,
                        &thread.name,
                        &thread.code,
                        &locals,
                        &[],
                        Control::Thread(id, LocId(0)),
                    )?;
                    model.routines.push(ShapeRoutine { copies: thread.copies, ..routine });
                }
            }
        }
        model.start = super::start::read_start(program, &mut self.types, &self.meaning, &mut self.constants);
        model.constants = self.constants;
        if model.kinds.len() > 40 {
            return Err("more kinds of cells than fit in a view".into());
        }
        Ok(model)
    }
    fn heap(&mut self) -> Compiled<(Vec<ShapeField>, Vec<ShapeClass>)> {
        let program = self.program;
        let mut fields = Vec::new();
        let mut classes = Vec::new();
        for (class, decl) in program.classes.iter_enumerated() {
            self.meaning.insert(program.vars[decl.live].symbol, SymbolMeaning::Live(class.0 as u16));
            let (mut rows, mut colours) = (0u8, 0u8);
            let mut own = Vec::new();
            let mut link = None;
            for &var in &decl.fields {
                let v = &program.vars[var];
                let SortKind::Map(_, entry) = program.terms.kind(v.sort) else {
                    return Err(format!("field {} is not a map", v.name));
                };
                let Some(ty) = self.types.of(&program.terms, v.symbol, entry) else {
                    return Err(format!("a field of type {}", program.terms.sort_name(entry)));
                };
                let stored = match ty {
                    ShapeType::Bool | ShapeType::Key => {
                        colours += 1;
                        Stored::Colour(colours - 1)
                    }
                    _ => {
                        rows += 1;
                        Stored::Row(rows - 1)
                    }
                };
                let at = fields.len() as u16;
                if ty == ShapeType::Ref(class) && link.is_none() {
                    link = Some(at);
                }
                self.meaning.insert(v.symbol, SymbolMeaning::Field(at));
                own.push(at);
                let value = v.initial.and_then(|t| program.terms.app(t)).and_then(|(op, args)| match op {
                    logic::Op::ConstMap(_) => args.first().copied(),
                    _ => None,
                });
                let start = self.initial(value, ty)?;
                fields.push(ShapeField { var, name: v.name.clone(), class, ty, stored, start });
            }
            classes.push(ShapeClass { fields: own, link });
        }
        Ok((fields, classes))
    }
    fn globals(&mut self) -> Compiled<(Vec<ShapeSlot>, Vec<InitialValue>)> {
        let program = self.program;
        let (mut globals, mut initial) = (Vec::new(), Vec::new());
        for var in program.shared().collect::<Vec<_>>() {
            let v = &program.vars[var];
            if !matches!(v.kind, VarKind::Plain | VarKind::Lock) {
                continue;
            }
            // A variable of another sort is refused where something mentions it.
            let Some(ty) = self.types.of(&program.terms, v.symbol, v.sort) else { continue };
            self.meaning.insert(v.symbol, SymbolMeaning::Slot(globals.len() as u16));
            initial.push(match (v.kind, self.initial(v.initial, ty)?) {
                // A lock starts free; an integer that ids are compared with may start as anything.
                (VarKind::Lock, InitialValue::Open) => InitialValue::Is(FREE),
                (_, start) => start,
            });
            globals.push(ShapeSlot { var: Some(var), name: v.name.clone(), ty });
        }
        Ok((globals, initial))
    }
    fn initial(&mut self, value: Option<logic::Term>, ty: ShapeType) -> Compiled<InitialValue> {
        let Some(value) = value else { return Ok(InitialValue::Open) };
        let none = FxHashMap::default();
        let mut c = ShapeCompiler::new(&self.program.terms, &mut self.types, &none, &mut self.constants);
        let at = c.term(value, Some(ty))?;
        match c.arena[at as usize] {
            Ex::Code(code) => Ok(InitialValue::Is(code)),
            _ => Ok(InitialValue::Open),
        }
    }
    fn collection(&self) -> Compiled<Option<(Symbol, Collection)>> {
        let Some(id) = self.question.object else { return Ok(None) };
        let spec = &self.program.objects[id].spec;
        let [var] = spec.vars[..] else {
            return Err("a specification whose state is not one sequence or one set".into());
        };
        let v = &self.program.vars[var];
        let empty = v.initial.is_some_and(|t| {
            matches!(self.program.terms.app(t), Some((logic::Op::EmptySeq(_) | logic::Op::EmptySet(_), _)))
        });
        if !empty {
            return Err("a specification that does not start empty".into());
        }
        match self.program.terms.kind(v.sort) {
            SortKind::Seq(e) if e.is_integer() => Ok(Some((v.symbol, Collection::Sequence))),
            SortKind::Set(e) if e.is_integer() => Ok(Some((v.symbol, Collection::Set))),
            _ => Err(format!("a specification over {}", self.program.terms.sort_name(v.sort))),
        }
    }
    fn kinds(
        &self,
        fields: &[ShapeField],
        classes: &[ShapeClass],
        sequence: bool,
        spine: Option<&ShapeSpine>,
    ) -> Compiled<Vec<CellKind>> {
        let mut kinds = Vec::new();
        for (class, decl) in classes.iter().enumerate() {
            let mut colours: Vec<Vec<Code>> = vec![vec![]];
            for &f in &decl.fields {
                let options: &[Code] = match (fields[f as usize].stored, fields[f as usize].ty) {
                    (Stored::Colour(_), ShapeType::Bool) => &[FALSE, TRUE],
                    // A key that no step has set, or that was set to something unknown, is a kind of its own.
                    (Stored::Colour(_), ShapeType::Key) => &[ANY, BELOW, EQUAL, ABOVE],
                    _ => continue,
                };
                colours = colours
                    .into_iter()
                    .flat_map(|c| options.iter().map(move |o| [c.as_slice(), &[*o]].concat()))
                    .collect();
            }
            let statuses: &[Status] = if sequence {
                &[Status::Never, Status::In, Status::Past]
            } else if spine.is_some_and(|s| s.class.index() == class) {
                &[Status::Never, Status::Before, Status::After, Status::Left]
            } else {
                &[Status::Never]
            };
            for status in statuses {
                for c in &colours {
                    kinds.push(CellKind { class: ClassId(class as u32), status: *status, colours: c.clone() });
                }
            }
        }
        if kinds.len() > 40 { Err("more kinds of cells than fit in a view".into()) } else { Ok(kinds) }
    }
    fn frames(&self, model: &mut Model) {
        let (locals, results) = match self.question.object {
            Some(id) => {
                let ops = &self.program.objects[id].ops;
                let size = |o: &program::Operation| {
                    o.params.len()
                        + o.results.len()
                        + o.locals.len()
                        + o.params.iter().filter(|p| assigned(o, **p)).count()
                };
                (ops.iter().map(size).max().unwrap_or(0), ops.iter().map(|o| o.results.len()).max().unwrap_or(0))
            }
            None => (self.program.threads.iter().map(|t| t.locals.len()).max().unwrap_or(0), 0),
        };
        model.done = (model.globals.len() + locals) as u16;
        model.results = model.done + 1;
        model.frame = locals + if model.object.is_some() { 1 + results } else { 0 };
    }
    fn operation(
        &mut self,
        model: &mut Model,
        id: ObjectId,
        at: usize,
        collection: Option<(Symbol, Collection)>,
    ) -> Compiled<ShapeRoutine> {
        let object = &self.program.objects[id];
        let op = &object.ops[at];
        let mut vars = op.params.clone();
        for v in op.results.iter().chain(&op.locals) {
            if !vars.contains(v) {
                vars.push(*v);
            }
        }
        let control = Control::Operation(at as u32, LocId(0));
        let mut routine = self.routine(model, &op.name, &op.code, &vars, &op.results, control)?;
        routine.params = op.params.len();
        routine.results = op
            .results
            .iter()
            .map(|r| {
                let at = vars.iter().position(|v| v == r).expect("results are variables of the operation");
                (model.globals.len() + at) as u16
            })
            .collect();
        for (i, param) in op.params.iter().enumerate() {
            let own = (model.globals.len() + i) as u16;
            routine.arguments.push(if assigned(op, *param) {
                (model.globals.len() + routine.slots.len()) as u16
            } else {
                own
            });
            if assigned(op, *param) {
                let argument = object.spec.ops[at].params[i];
                let name = format!("argument {}", self.program.vars[*param].name);
                routine.slots.push(ShapeSlot { var: Some(argument), name, ty: routine.slots[i].ty });
                routine.live.iter_mut().for_each(|l| l.push(false));
            }
        }
        let spec = SpecOperation::compile(
            self.program,
            &mut self.types,
            &self.meaning,
            &mut self.constants,
            &object.spec.ops[at],
            collection.map(|c| c.0),
            &routine.arguments,
            model.results,
        )?;
        let keys = routine.slots[..routine.params].iter().filter(|s| s.ty == ShapeType::Key).count();
        if model.has_key.is_some() && keys > 1 {
            return Err(format!("{} is about more than one key", op.name));
        }
        routine.spec = Some(spec);
        Ok(routine)
    }
    fn routine(
        &mut self,
        model: &mut Model,
        name: &str,
        code: &program::Code,
        vars: &[VarId],
        ends_with: &[VarId],
        control: Control,
    ) -> Compiled<ShapeRoutine> {
        let program = self.program;
        let base = model.globals.len();
        let mut slots = Vec::new();
        let mut start = Vec::new();
        for (i, &var) in vars.iter().enumerate() {
            let v = &program.vars[var];
            debug_assert_ne!(v.scope, Scope::Shared, "frames hold locals");
            // A local that a view cannot hold is refused where something mentions it.
            let ty = self.types.of(&program.terms, v.symbol, v.sort);
            if ty.is_some() {
                self.meaning.insert(v.symbol, SymbolMeaning::Slot((base + i) as u16));
            }
            let ty = ty.unwrap_or(ShapeType::Data);
            start.push(self.initial(v.initial, ty)?);
            slots.push(ShapeSlot { var: Some(var), name: v.name.clone(), ty });
        }
        let references =
            model.globals.iter().chain(&slots).filter(|s| s.var.is_some() && matches!(s.ty, ShapeType::Ref(_))).count();
        if references > GROUPS as usize {
            return Err(format!(
                "{name} and the shared variables have {references} references, of which a view has room for {GROUPS}"
            ));
        }
        let first = model.controls.len() as u16;
        let number = model.routines.len() as u16;
        model.controls.extend(code.locations.ids().map(|l| (number, l)));
        let mut steps = Vec::new();
        for (id, _) in code.actions.iter_enumerated() {
            let origin = code.actions[id].origin;
            let place = |why: String| format!("{why}, in `{}` of {name}", program.origins[origin].text);
            steps.push(self.step(model, code, id, control).map_err(place)?);
        }
        let mut outgoing = vec![Vec::new(); code.locations.len()];
        for (i, s) in steps.iter().enumerate() {
            outgoing[s.from.index()].push(i as u16);
        }
        let read_at_end: Vec<usize> =
            vars.iter().enumerate().filter(|(_, v)| ends_with.contains(v)).map(|(i, _)| i).collect();
        let mut live = vec![vec![false; slots.len()]; code.locations.len()];
        if let Some(exit) = code.exit {
            read_at_end.iter().for_each(|i| live[exit.index()][*i] = true);
        }
        liveness(&steps, &mut live, base);
        for step in &mut steps {
            step.takes.retain(|(_, s)| live[step.to.index()][*s as usize - base]);
        }
        Ok(ShapeRoutine {
            name: name.into(),
            first,
            entry: code.entry,
            exit: code.exit,
            control,
            slots,
            params: 0,
            arguments: Vec::new(),
            results: Vec::new(),
            steps,
            outgoing,
            live,
            start,
            spec: None,
            marked: code.actions.iter().any(|a| a.marks.iter().any(|m| matches!(m, Mark::Linearize(_)))),
            copies: Copies::Any,
        })
    }
    fn step(&mut self, model: &mut Model, code: &program::Code, id: ActionId, control: Control) -> Compiled<ShapeStep> {
        let program = self.program;
        let action = &code.actions[id];
        let types: Vec<Option<ShapeType>> =
            action.inputs.iter().map(|s| self.types.of(&program.terms, *s, program.terms.symbol_sort(*s))).collect();
        let mut c = ShapeCompiler::new(&program.terms, &mut self.types, &self.meaning, &mut self.constants);
        c.shared = model.globals.len() as u16;
        for (i, s) in action.inputs.iter().enumerate() {
            if types[i].is_some() {
                c.local.insert(*s, SymbolMeaning::Input(i as u8));
            }
        }
        let guard = c.term(action.guard, None)?;
        // The arena holds the guard alone so far.
        let shared = |e: &Ex| match e {
            Ex::Slot(s) => *s < c.shared,
            Ex::Read(..) => true,
            _ => false,
        };
        let guard_looks = c.arena.iter().any(shared);
        let mut gates = Vec::new();
        for g in &action.gates {
            gates.push((g.property, c.term(g.formula, None)?));
        }
        let (mut slots, mut fields, mut lives) = (Vec::new(), Vec::new(), Vec::new());
        for u in &action.updates {
            let v = &program.vars[u.var];
            match self.meaning.get(&v.symbol).copied() {
                Some(SymbolMeaning::Slot(s)) => {
                    let ty = c.types.of(&program.terms, v.symbol, v.sort);
                    slots.push((s, c.term(u.value, ty)?));
                }
                Some(SymbolMeaning::Field(f)) => {
                    let map = c.term(u.value, None)?;
                    if c.field_of(map) != Some(f) {
                        return Err(format!("a whole field {} is assigned", v.name));
                    }
                    fields.push((f, map));
                }
                Some(SymbolMeaning::Live(_)) => lives.push(c.term(u.value, None)?),
                _ => return Err(format!("{} of type {}", v.name, program.terms.sort_name(v.sort))),
            }
        }
        let (mut makes, mut frees) = (false, false);
        let new_objects = new_objects(program, action);
        let mut inputs: Vec<ShapeInput> =
            types.into_iter().map(|t| ShapeInput::Chosen(t.unwrap_or(ShapeType::Data))).collect();
        for at in 0..c.arena.len() {
            match c.arena[at] {
                Ex::Insert(e, _) => match c.arena[e as usize] {
                    Ex::Input(i) if new_objects.contains(&action.inputs[i as usize]) => {
                        let ShapeInput::Chosen(ShapeType::Ref(class)) = inputs[i as usize] else {
                            return Err("a new object of no class".into());
                        };
                        inputs[i as usize] = ShapeInput::Fresh(class);
                        makes = true;
                    }
                    _ => return Err("an object made live that is not new".into()),
                },
                Ex::Remove(..) => frees = true,
                _ => {}
            }
        }
        if makes && frees {
            return Err("`free` and `new` in one step".into());
        }
        let arena = std::mem::take(&mut c.arena);
        let looks = model.spine.as_ref().is_some_and(|s| {
            let root = program.vars[s.root_var].symbol;
            action.updates.iter().any(|u| {
                matches!(program.terms.kind(program.vars[u.var].sort), SortKind::Ref(_))
                    && program.terms.free_symbols(u.value).contains(&root)
            })
        });
        let fires = self.fires(model, action, id, control)?;
        let own = |t: &Take| match (t.code, control) {
            (Taker::Thread(x), Control::Thread(y, _)) => x == y,
            (Taker::Operation(x), Control::Operation(y, _)) => x == y,
            _ => false,
        };
        let takes = model.takes.iter().enumerate().filter(|(_, t)| own(t) && t.action == id);
        let takes = takes.filter_map(|(i, t)| match self.meaning.get(&program.vars[t.var].symbol) {
            Some(SymbolMeaning::Slot(s)) => Some((i, *s)),
            _ => None,
        });
        let takes = takes.collect();
        Ok(ShapeStep {
            from: action.from,
            to: action.to,
            arena,
            inputs,
            guard,
            guard_looks,
            gates,
            slots,
            fields,
            lives,
            fires,
            takes,
            looks,
            origin: action.origin,
        })
    }
    /// Marks are points of their operation; operations without marks have the points of the question.
    fn fires(
        &mut self,
        model: &mut Model,
        action: &program::Action,
        id: ActionId,
        control: Control,
    ) -> Compiled<Option<Firing>> {
        let Control::Operation(operation, _) = control else { return Ok(None) };
        let mut found: Vec<Fires> = action
            .marks
            .iter()
            .filter_map(|m| match m {
                Mark::Linearize(None) => Some(Fires::Always),
                Mark::Linearize(Some(e)) => Some(Fires::When(*e)),
                Mark::Witness(_) => None,
            })
            .collect();
        found
            .extend(self.question.points.iter().filter(|p| p.operation == operation && p.action == id).map(|p| p.when));
        let [when] = found[..] else {
            return if found.is_empty() { Ok(None) } else { Err("two linearization points at one step".into()) };
        };
        model.points.push(SpecPoint { operation, action: id, when });
        Ok(Some(match when {
            Fires::Always => Firing::Always,
            Fires::Change => Firing::Change,
            Fires::When(e) => {
                let program = self.program;
                let mut c = ShapeCompiler::new(&program.terms, &mut self.types, &self.meaning, &mut self.constants);
                let at = c.term(e, None)?;
                Firing::When(c.arena, at)
            }
        }))
    }
}

/// Whether the operation's code assigns the parameter.
fn assigned(op: &program::Operation, param: VarId) -> bool {
    op.code.actions.iter().any(|a| a.updates.iter().any(|u| u.var == param))
}

fn common(kinds: &[CellKind], kind: &CellKind) -> u8 {
    let wanted = CellKind { status: kind.status.common(), ..kind.clone() };
    kinds.iter().position(|k| *k == wanted).expect("kinds come with every status") as u8
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Collection {
    Sequence,
    Set,
}

/// Backward liveness of frame slots: `live[location][position]`.
fn liveness(steps: &[ShapeStep], live: &mut [Vec<bool>], base: usize) {
    let slots = live.first().map_or(0, Vec::len);
    let own = |s: u16| (s as usize).checked_sub(base).filter(|i| *i < slots);
    loop {
        let mut changed = false;
        for step in steps {
            let written: Vec<usize> = step.slots.iter().filter_map(|(s, _)| own(*s)).collect();
            let mut now: Vec<bool> = (0..slots).map(|i| live[step.to.index()][i] && !written.contains(&i)).collect();
            for s in super::expr::slots_read(&step.arena).filter_map(own) {
                now[s] = true;
            }
            if let Some(Firing::When(arena, _)) = &step.fires {
                for s in super::expr::slots_read(arena).filter_map(own) {
                    if !written.contains(&s) {
                        now[s] = true;
                    }
                }
            }
            for (old, new) in live[step.from.index()].iter_mut().zip(now) {
                if new && !*old {
                    *old = true;
                    changed = true;
                }
            }
        }
        if !changed {
            return;
        }
    }
}

/// The inputs that a step makes live whatever happens, where its guard says that they were not: new objects. An argument of an unknown
/// caller is null, or live already, or new: it is none of them.
fn new_objects(program: &Program, action: &program::Action) -> Vec<Symbol> {
    let t = &program.terms;
    let live = |s: Symbol| program.vars.iter().any(|v| v.symbol == s && matches!(v.kind, VarKind::Live(_)));
    // The base of a set to which elements were added, and those elements.
    let peeled = |mut set: Term| {
        let mut added = Vec::new();
        loop {
            match t.app(set) {
                Some((Op::Insert, parts)) => {
                    added.extend(t.as_symbol(parts[0]));
                    set = parts[1];
                }
                Some((Op::Union, parts)) => {
                    if let Some((Op::Insert, one)) = t.app(parts[1]) {
                        added.extend(t.as_symbol(one[0]));
                    }
                    set = parts[0];
                }
                _ => return (set, added),
            }
        }
    };
    let absent: Vec<Symbol> = t
        .conjuncts(action.guard)
        .into_iter()
        .filter_map(|part| {
            let Some((Op::Not, inner)) = t.app(part) else { return None };
            let Some((Op::Member, args)) = t.app(inner[0]) else { return None };
            t.as_symbol(peeled(args[1]).0).filter(|s| live(*s))?;
            t.as_symbol(args[0])
        })
        .collect();
    let updates = action.updates.iter().filter(|u| matches!(program.vars[u.var].kind, VarKind::Live(_)));
    updates.flat_map(|u| peeled(u.value).1).filter(|s| absent.contains(s)).collect()
}
