//! Steps: the outcomes of a state, and the exact execution of one action.
//!
//! An action with its inputs chosen: the guard must be true, the first false gate goes wrong, else the updates happen
//! at once. `Semantics::successors` finds the inputs; `Semantics::execute` is given them.
//! In: a state and an instance in it. Out: each outcome: a state after the step, a property that is violated, or why
//! values could not be chosen.

use super::decide::{Sampling, put_in};
use super::{Choice, Instance, Semantics, State, StateView, SymbolSlot, TraceStep};
use crate::code::{Action, ActionId};
use crate::property::PropertyId;
use logic::{Env, EvalError, Node, Op, ReadPlace, Symbol, Term, Value};

/// What a step can lead to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepOutcome {
    Moved {
        step: TraceStep,
        state: State,
    },
    /// The first false gate is of this property; `state` is the store before the step, with the step's choices made.
    Wrong {
        step: TraceStep,
        state: State,
        property: PropertyId,
    },
}

impl StepOutcome {
    pub fn step(&self) -> &TraceStep {
        match self {
            StepOutcome::Moved { step, .. } | StepOutcome::Wrong { step, .. } => step,
        }
    }
}

/// All outcomes of a state.
#[derive(Clone, Debug, Default)]
pub struct Successors {
    pub outcomes: Vec<StepOutcome>,
    /// Some outcomes are missing: values were sampled, or a formula could not be evaluated; why.
    pub incomplete: Option<String>,
    /// Some outcomes decided a value that was open; with other values the state may have fewer outcomes.
    pub decided: bool,
}

/// A step whose inputs and choices are being found.
struct Partial {
    state: State,
    inputs: Vec<Option<Value>>,
    choices: Vec<Choice>,
}

/// What is missing before a step can be executed.
enum Missing {
    /// The guard is false.
    Blocked,
    Input(usize),
    /// This place, needed by the guard or not.
    Open(ReadPlace),
    Beyond(EvalError),
}

enum StepEnd {
    Moved(State),
    Wrong(PropertyId),
}

impl Semantics<'_> {
    /// The outcomes of every instance that may move.
    pub fn successors(&self, state: &State, sampling: Sampling) -> Successors {
        let mut out = Successors::default();
        match self.instance_in_atomic_block(state) {
            Some(only) => self.moves(state, only, sampling, &mut out),
            None => (0..state.instances.len()).for_each(|i| self.moves(state, i, sampling, &mut out)),
        }
        out
    }

    /// The outcomes of one instance, whether or not it may move.
    pub fn moves(&self, state: &State, at: usize, sampling: Sampling, out: &mut Successors) {
        let i = &state.instances[at];
        for id in &self.outgoing[i.thread][i.at] {
            self.action_outcomes(state, at, *id, sampling, out);
        }
    }

    /// The outcomes of one action of one instance.
    pub fn action_outcomes(&self, state: &State, at: usize, id: ActionId, sampling: Sampling, out: &mut Successors) {
        let thread = state.instances[at].thread;
        let action = &self.program.threads[thread].code.actions[id];
        let open = &self.open_inputs[thread][id];
        let undecided = |(k, s): (usize, &logic::Symbol)| {
            open[k].then(|| Value::any_of(&self.program.terms, self.program.terms.symbol_sort(*s)))
        };
        let mut todo = vec![Partial {
            state: state.clone(),
            inputs: action.inputs.iter().enumerate().map(undecided).collect(),
            choices: Vec::new(),
        }];
        let mut ways = 0;
        while let Some(partial) = todo.pop() {
            ways += 1;
            if ways > sampling.ways {
                return note(out, "too many ways to decide the values of a step".into());
            }
            let step = || TraceStep {
                instance: at as u32,
                thread,
                action: id,
                // A step that goes wrong may do so before it needs every input: any value does for the others.
                inputs: partial
                    .inputs
                    .iter()
                    .zip(&action.inputs)
                    .map(|(value, s)| {
                        let any = || Value::default_of(&self.program.terms, self.program.terms.symbol_sort(*s));
                        value.clone().unwrap_or_else(any)
                    })
                    .collect(),
                choices: partial.choices.clone(),
            };
            match self.run(&partial.state, at, action, &partial.inputs) {
                Ok(StepEnd::Moved(state)) => out.outcomes.push(StepOutcome::Moved { step: step(), state }),
                Ok(StepEnd::Wrong(property)) => {
                    out.outcomes.push(StepOutcome::Wrong { step: step(), state: partial.state.clone(), property });
                }
                Err(Missing::Blocked) => {}
                Err(Missing::Beyond(EvalError::OpenMap)) => {
                    self.fork_map(&partial, at, action, sampling, out, &mut todo)
                }
                Err(Missing::Beyond(e)) => note(out, format!("a step could not be evaluated ({e:?})")),
                Err(Missing::Input(k)) => {
                    let place = ReadPlace { symbol: action.inputs[k], keys: vec![] };
                    self.fork(&partial, at, action, place, sampling, out, &mut todo);
                }
                Err(Missing::Open(place)) => self.fork(&partial, at, action, place, sampling, out, &mut todo),
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn fork(
        &self,
        partial: &Partial,
        at: usize,
        action: &Action,
        place: ReadPlace,
        sampling: Sampling,
        out: &mut Successors,
        todo: &mut Vec<Partial>,
    ) {
        let Some(sort) = self.sort_at(&place) else {
            return note(out, "a place could not be decided".into());
        };
        let view = StateView::of_instance(self, &partial.state, at).with_inputs(&partial.inputs);
        if self.beyond(&view, &place) {
            return note(out, "a step speaks of the fields of all objects, also of those that are not there".into());
        }
        let found = match self.candidates(&view, &place, sort, &[action.guard], sampling) {
            Ok(found) => found,
            Err(e) => return note(out, format!("a step could not be evaluated ({e:?})")),
        };
        if !found.exhaustive {
            let name = self.program.terms.symbol_name(place.symbol);
            note(out, format!("only some values of `{name}` were tried"));
        }
        // The last pushed is tried first; outcomes come out in the order of the values.
        for value in found.values.into_iter().rev() {
            let mut next = Partial {
                state: partial.state.clone(),
                inputs: partial.inputs.clone(),
                choices: partial.choices.clone(),
            };
            let done = match self.slot(place.symbol) {
                SymbolSlot::Input(k) => match &mut next.inputs[k] {
                    Some(v) => put_in(v, &place.keys, &value),
                    empty => {
                        *empty = Some(value);
                        true
                    }
                },
                slot => {
                    out.decided = true;
                    let instance = matches!(slot, SymbolSlot::Local(..)).then_some(at as u32);
                    let choice = Choice { instance, place: place.clone(), value };
                    let done = self.decide(&mut next.state, &choice);
                    next.choices.push(choice);
                    done
                }
            };
            if done {
                todo.push(next);
            } else {
                note(out, "a place could not be decided".into());
            }
        }
    }

    /// A map with undecided entries is used as a whole: its undecided entries are given one value after another. That is
    /// a few maps of many, so the outcomes are never all.
    fn fork_map(
        &self,
        partial: &Partial,
        at: usize,
        action: &Action,
        sampling: Sampling,
        out: &mut Successors,
        todo: &mut Vec<Partial>,
    ) {
        note(out, "a map with undecided entries is used as a whole, and only some maps were tried".into());
        let view = StateView::of_instance(self, &partial.state, at).with_inputs(&partial.inputs);
        let Some((symbol, map)) = self.open_map_used(&view, action) else { return };
        out.decided = true;
        let terms = &self.program.terms;
        let sort = terms.symbol_sort(symbol);
        let mut leaf = sort;
        while let logic::SortKind::Map(_, v) = terms.kind(leaf) {
            leaf = v;
        }
        let instance = matches!(self.slot(symbol), SymbolSlot::Local(..)).then_some(at as u32);
        for value in self.any_value(&view, leaf, sampling).values.into_iter().rev() {
            let place = ReadPlace { symbol, keys: vec![] };
            let choice = Choice { instance, place, value: filled(terms, sort, map, &value) };
            let mut next = Partial {
                state: partial.state.clone(),
                inputs: partial.inputs.clone(),
                choices: partial.choices.clone(),
            };
            if self.decide(&mut next.state, &choice) {
                next.choices.push(choice);
                todo.push(next);
            }
        }
    }

    /// The first variable of the store that holds a map with undecided entries and that the action uses as a whole. A map that
    /// is written back to its own variable (`m := m[k := v]`) comes last: its entries stay where they are.
    fn open_map_used<'v>(&self, view: &'v StateView<'_>, action: &Action) -> Option<(Symbol, &'v Value)> {
        let is_open = |s: Symbol| -> Option<(Symbol, &'v Value)> {
            let kept = matches!(self.slot(s), SymbolSlot::Shared(_) | SymbolSlot::Local(..));
            let value = view.value(s).filter(|v| kept && v.is_open() && matches!(v, Value::Map(_)))?;
            Some((s, value))
        };
        let mut whole = Vec::new();
        let mut back = Vec::new();
        for u in &action.updates {
            let own = self.program.vars[u.var].symbol;
            for s in self.maps_used_whole(u.value) {
                if s == own { back.push(s) } else { whole.push(s) }
            }
        }
        let spawned = action.spawn.iter().flat_map(|s| s.args.iter().copied());
        let read = action.gates.iter().map(|g| g.formula).chain(spawned).chain([action.guard]);
        read.for_each(|f| whole.extend(self.maps_used_whole(f)));
        whole.sort_unstable();
        back.sort_unstable();
        whole.into_iter().chain(back).find_map(is_open)
    }

    /// The symbols of a term that stand elsewhere than in `m[k]`.
    fn maps_used_whole(&self, term: Term) -> Vec<Symbol> {
        let t = &self.program.terms;
        let mut out = Vec::new();
        let mut todo = vec![term];
        let mut seen = rustc_hash::FxHashSet::default();
        while let Some(term) = todo.pop() {
            if !seen.insert(term) {
                continue;
            }
            match t.node(term) {
                Node::Sym(s) => out.push(s),
                Node::App(Op::Select, args) if t.as_symbol(args[0]).is_some() => todo.push(args[1]),
                Node::App(_, args) => todo.extend(args.iter()),
                Node::Quant(_, _, body) => todo.push(body),
                _ => {}
            }
        }
        out
    }

    /// Executes an action whose inputs are given, if that is possible with nothing more decided.
    fn run(&self, state: &State, at: usize, action: &Action, inputs: &[Option<Value>]) -> Result<StepEnd, Missing> {
        let view = StateView::of_instance(self, state, at).with_inputs(inputs);
        match view.holds(action.guard) {
            Ok(true) => {}
            Ok(false) => return Err(Missing::Blocked),
            Err(e) => {
                // The inputs come first: with them the guard may be false or need nothing else.
                return Err(match self.next_input(&view, action) {
                    Some((k, usize::MAX)) => match self.open_part(&view, action.guard) {
                        // The input may depend on a value that is undecided: that one comes first.
                        Some(place) => Missing::Open(place),
                        None => Missing::Input(k),
                    },
                    Some((k, _)) => Missing::Input(k),
                    None => missing(e),
                });
            }
        }
        for gate in &action.gates {
            match view.holds(gate.formula) {
                Ok(true) => {}
                Ok(false) => return Ok(StepEnd::Wrong(gate.property)),
                Err(e) => return Err(self.missing_input(e, action)),
            }
        }
        if let Some(k) = inputs.iter().position(Option::is_none) {
            return Err(Missing::Input(k));
        }
        self.write(state, at, action, &view).map(StepEnd::Moved).map_err(|e| self.missing_input(e, action))
    }

    fn missing_input(&self, e: EvalError, action: &Action) -> Missing {
        match &e {
            EvalError::Unassigned(s) => match action.inputs.iter().position(|x| x == s) {
                Some(k) => Missing::Input(k),
                None => Missing::Beyond(e),
            },
            _ => missing(e),
        }
    }

    /// The unchosen input that the guard pins down best, else the first.
    fn next_input(&self, view: &StateView<'_>, action: &Action) -> Option<(usize, usize)> {
        let open: Vec<usize> = view.inputs.iter().enumerate().filter(|(_, v)| v.is_none()).map(|(k, _)| k).collect();
        let sampling = Sampling { whole: 4096, few: 0, ways: 0 };
        let size = |k: usize| {
            let symbol = action.inputs[k];
            let sort = self.program.terms.symbol_sort(symbol);
            let place = ReadPlace { symbol, keys: vec![] };
            match self.candidates(view, &place, sort, &[action.guard], sampling) {
                Ok(c) if c.exhaustive => c.values.len(),
                _ => usize::MAX,
            }
        };
        open.into_iter().map(|k| (k, size(k))).min_by_key(|(k, n)| (*n, *k))
    }

    /// An undecided place of the store that some part of the formula reads.
    fn open_part(&self, view: &StateView<'_>, formula: Term) -> Option<ReadPlace> {
        let mut todo = vec![formula];
        let mut seen = rustc_hash::FxHashSet::default();
        while let Some(term) = todo.pop() {
            if !seen.insert(term) {
                continue;
            }
            if let Err(EvalError::Open(place, _)) = view.eval(term)
                && !matches!(self.slot(place.symbol), SymbolSlot::Input(_))
            {
                return Some(place);
            }
            if let Some((_, args)) = self.program.terms.app(term) {
                todo.extend(args.iter().rev());
            }
        }
        None
    }

    /// The state after the updates and the spawn.
    fn write(&self, state: &State, at: usize, action: &Action, view: &StateView<'_>) -> Result<State, EvalError> {
        let p = self.program;
        let mut next = state.clone();
        for u in &action.updates {
            let symbol = p.vars[u.var].symbol;
            let value = view.flow(u.value, &ReadPlace { symbol, keys: vec![] })?;
            self.assign(&mut next, at, u.var, value);
        }
        if let Some(spawn) = &action.spawn {
            let tid = next.instances.len() as u32 + 1;
            let args = spawn.args.iter().map(|a| self.closed(view, *a)).collect::<Result<Vec<_>, _>>()?;
            let mut born = self.new_instance(spawn.thread, tid)?;
            for (param, value) in p.threads[spawn.thread].params.iter().zip(args) {
                if let Some((_, i)) = self.local_index(*param) {
                    born.locals[i] = value;
                }
            }
            next.instances.push(born);
            if let Some(into) = spawn.into {
                self.assign(&mut next, at, into, Value::Int(tid.into()));
            }
        }
        let code = &p.threads[next.instances[at].thread].code;
        let (was, is) = (code.locations[action.from].in_atomic_block, code.locations[action.to].in_atomic_block);
        next.instances[at].at = action.to;
        if self.has_relies {
            match (was, is) {
                (false, true) => next.entered = Some(Box::new(state.shared.clone())),
                (_, false) => next.entered = None,
                (true, true) => {}
            }
        }
        Ok(next)
    }

    fn closed(&self, view: &StateView<'_>, term: Term) -> Result<Value, EvalError> {
        let value = view.eval(term)?;
        if value.is_open() { Err(EvalError::OpenMap) } else { Ok(value) }
    }

    fn assign(&self, state: &mut State, at: usize, var: crate::model::VarId, value: Value) {
        match self.slot(self.program.vars[var].symbol) {
            SymbolSlot::Shared(i) => state.shared[i] = value,
            SymbolSlot::Local(t, i) if t == state.instances[at].thread => state.instances[at].locals[i] = value,
            other => panic!("a step writes a variable of its own thread or a shared one, not {other:?}"),
        }
    }

    /// A new instance of a thread, its locals at their initial values or undecided.
    pub fn new_instance(&self, thread: crate::model::ThreadId, tid: u32) -> Result<Instance, EvalError> {
        let p = self.program;
        let t = &p.threads[thread];
        let nothing = State { shared: Vec::new(), instances: Vec::new(), entered: None };
        let mut view = StateView::of_store(self, &nothing);
        view.tid = Value::Int(tid.into());
        let locals = t.locals.iter().map(|v| match p.vars[*v].initial {
            Some(e) => view.eval(e),
            None => Ok(Value::any_of(&p.terms, p.vars[*v].sort)),
        });
        Ok(Instance { thread, tid, at: t.code.entry, locals: locals.collect::<Result<_, _>>()? })
    }

    /// Executes exactly this step: no value is looked for. The reason, where it is not a step of the state.
    pub fn execute(&self, state: &State, step: &TraceStep) -> Result<StepOutcome, String> {
        let p = self.program;
        let at = step.instance as usize;
        let instance = state.instances.get(at).ok_or("there is no such instance")?;
        if self.instance_in_atomic_block(state).is_some_and(|only| only != at) {
            return Err("another instance is inside an atomic block".into());
        }
        if instance.thread != step.thread {
            return Err(format!("instance {} is of thread {}", step.instance + 1, p.threads[instance.thread].name));
        }
        let action = p.threads[step.thread].code.actions.get(step.action).ok_or("there is no such action")?;
        if action.from != instance.at {
            return Err(format!("the action starts at {}, the instance is at {}", action.from, instance.at));
        }
        let state = self.decide_all(state, &step.choices)?;
        if step.inputs.len() != action.inputs.len() {
            return Err(format!("{} inputs are needed, {} are given", action.inputs.len(), step.inputs.len()));
        }
        for (k, (symbol, value)) in action.inputs.iter().zip(&step.inputs).enumerate() {
            if !super::fits(p, value, p.terms.symbol_sort(*symbol)) {
                return Err(format!("input {k} is not a value of its sort"));
            }
            if value.is_open() && !self.open_inputs[step.thread][step.action][k] {
                return Err(format!("input {k} is used and must be decided"));
            }
        }
        let inputs: Vec<Option<Value>> = step.inputs.iter().cloned().map(Some).collect();
        match self.run(&state, at, action, &inputs) {
            Ok(StepEnd::Moved(state)) => Ok(StepOutcome::Moved { step: step.clone(), state }),
            Ok(StepEnd::Wrong(property)) => Ok(StepOutcome::Wrong { step: step.clone(), state, property }),
            Err(Missing::Blocked) => Err("the guard is false".into()),
            Err(Missing::Input(k)) => Err(format!("input {k} is not decided")),
            Err(Missing::Open(place)) => {
                Err(format!("the step reads `{}`, which is not decided", p.terms.symbol_name(place.symbol)))
            }
            Err(Missing::Beyond(e)) => Err(format!("the step cannot be evaluated ({e:?})")),
        }
    }

    /// The state with the choices made, if each is a value of an undecided place.
    pub fn decide_all(&self, state: &State, choices: &[Choice]) -> Result<State, String> {
        let mut state = state.clone();
        for c in choices {
            let name = || self.program.terms.symbol_name(c.place.symbol);
            if c.place.symbol.index() >= self.program.terms.symbol_count() {
                return Err("a choice of an unknown symbol".into());
            }
            let sort = self.sort_at(&c.place).ok_or_else(|| format!("a place of `{}` that does not exist", name()))?;
            if !super::fits(self.program, &c.value, sort) {
                return Err(format!("a value chosen for `{}` is not of its sort", name()));
            }
            if !self.decide(&mut state, c) {
                return Err(format!("`{}` is chosen where it is already decided", name()));
            }
        }
        Ok(state)
    }
}

/// The value of this sort with another one wherever it is undecided.
fn filled(terms: &logic::Terms, sort: logic::Sort, open: &Value, with: &Value) -> Value {
    match (open, terms.kind(sort)) {
        (Value::Any, logic::SortKind::Map(_, inner)) => {
            Value::everywhere(terms, sort, filled(terms, inner, &Value::Any, with))
        }
        (Value::Any, _) => with.clone(),
        (Value::Map(m), logic::SortKind::Map(_, inner)) => {
            let mut out = Value::everywhere(terms, sort, filled(terms, inner, &m.default, with));
            if let Value::Map(all) = &mut out {
                m.entries.iter().for_each(|(k, x)| all.set(k.clone(), filled(terms, inner, x, with)));
            }
            out
        }
        _ => open.clone(),
    }
}

fn missing(e: EvalError) -> Missing {
    match e {
        EvalError::Open(place, _) => Missing::Open(place),
        other => Missing::Beyond(other),
    }
}

fn note(out: &mut Successors, why: String) {
    out.incomplete.get_or_insert(why);
}
