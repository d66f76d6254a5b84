//! One procedure on a stage of its own: its steps (calls inlined) and, between them, steps of other threads that keep to the access
//! predicates, each of which writes some places whose values it sees. All by evaluation, with no solver.
//!
//! In: a program and a procedure. Out: `ProcedureStage`, which executes such events by the reference semantics, and says whether a specification
//! explains what was done: some order of the same steps of the others, each seeing the same, with actions of the specification between
//! them, leads from the first store to the last with the results returned. A value that an action in the middle leaves open may be any:
//! it fits whatever is seen of it.
//! Used by the method that looks for runs that no specification explains, and by the checker's rule for them.

use crate::access::constants;
use crate::call_summaries::{CodeUnit, call_summaries};
use crate::hidden::{Hidden, named_in_code};
use crate::order::PerformsOrder;
use crate::relation::{executable, is_step};
use crate::semantics::{Instance, Sampling, Semantics, State, StateView, StepOutcome, TraceStep, fits};
use crate::{
    ActionId, Copies, ProcId, Program, Scope, Start, Thread, ThreadId, TouchMode, TwoStore, Update, VarId, VarKind,
};
use logic::eval::EvalError;
use logic::{ClassId, Symbol, Term, Value};
use rustc_hash::{FxHashMap, FxHashSet};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StageEvent {
    /// A step of the procedure; its thread has tid 1.
    Own { action: ActionId, inputs: Vec<Value> },
    /// A step of another thread.
    Other { thread: u32, writes: Vec<Write> },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    pub var: VarId,
    pub keys: Vec<Value>,
    pub value: Value,
}

/// A procedure as a thread of its own, calls inlined, so that the reference semantics can run it.
pub struct ProcedureStage {
    pub program: Program,
    pub thread: ThreadId,
    pub procedure: ProcId,
    pub own: Vec<VarId>,
    pub shared: Vec<VarId>,
    constants: FxHashSet<VarId>,
    /// What the specification does not speak of.
    hidden: FxHashSet<VarId>,
    /// Hidden variables of which no invariant says how they go with others, and what their owners write: others leave them alone.
    untied: FxHashSet<VarId>,
    copied: Vec<(VarId, VarId)>,
    /// What every thread may rely on, of each step of another.
    relies: Vec<Term>,
}

/// Which objects there are at the start of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageHeap {
    /// Those of an initial store.
    Initial,
    /// Any that the invariants allow.
    Any,
}

type Env = FxHashMap<Symbol, Value>;

impl ProcedureStage {
    pub fn new(program: &Program, procedure: ProcId) -> Result<Self, String> {
        let s = call_summaries(program, &[]);
        let unit = CodeUnit::Procedure(procedure);
        let rewritten = s.unit(unit).ok_or("there is no such procedure")?;
        if let Some(why) = &rewritten.refused {
            return Err(why.clone());
        }
        let copied = rewritten.copied.clone();
        let (own, code) = (s.locals(unit), s.code(unit).clone());
        let mut p = s.program;
        if code.actions.iter().any(|a| a.spawn.is_some()) {
            return Err("it spawns threads".into());
        }
        let thread = p.threads.next_id();
        for v in &own {
            p.vars[*v].scope = Scope::Thread(thread);
        }
        let (name, origin) = (p.procedures[procedure].name.clone(), p.procedures[procedure].origin);
        p.threads.push(Thread {
            name,
            copies: Copies::One,
            start: Start::Initial,
            params: Vec::new(),
            locals: own.clone(),
            code,
            outline: None,
            follows: None,
            origin,
        });
        let (hidden, untied) = unseen(program, &named_in_code(&p, &p.threads[thread].code));
        let relies = std::mem::take(&mut p.relies).into_iter().filter_map(|r| r.formula).collect();
        let shared = p.shared().collect();
        let constants = constants(program);
        Ok(Self { constants, hidden, untied, program: p, thread, procedure, own, shared, copied, relies })
    }

    /// The state before the call, whatever the procedure requires.
    pub fn start(&self, store: &[Value], own: &[Value]) -> Result<State, String> {
        let p = &self.program;
        let fit = |vars: &[VarId], values: &[Value]| {
            vars.len() == values.len()
                && vars.iter().zip(values).all(|(v, x)| !x.is_open() && fits(p, x, p.vars[*v].sort))
        };
        if !fit(&self.shared, store) || !fit(&self.own, own) {
            return Err("the store does not fit the program's variables".into());
        }
        let value = |v: VarId| self.own.iter().position(|x| *x == v).map(|i| &own[i]);
        let params = self.copied.iter().filter(|(a, _)| self.own.contains(a));
        if params.into_iter().any(|(a, b)| value(*a) != value(*b)) {
            return Err("a parameter is not what it was at the call".into());
        }
        let env = self.environment(store, own, 1);
        for f in crate::access::constant_facts(p, &p.terms) {
            if logic::eval::holds(&p.terms, f, &env) != Ok(true) {
                return Err("the constants are not as `init` has them".into());
            }
        }
        let at = p.threads[self.thread].code.entry;
        let instance = Instance { thread: self.thread, tid: 1, at, locals: own.to_vec() };
        Ok(State { shared: store.to_vec(), instances: vec![instance], entered: None })
    }

    /// What the procedure requires holds, and what it will call `old` is what is there now.
    pub fn meets(&self, state: &State) -> Result<(), String> {
        let env = self.environment(&state.shared, &state.instances[0].locals, 1);
        let symbol = |v: VarId| self.program.vars[v].symbol;
        if self.copied.iter().any(|(a, b)| env.get(&symbol(*a)) != env.get(&symbol(*b))) {
            return Err("what `old` speaks of is not what it was at the call".into());
        }
        for f in &self.program.procedures[self.procedure].requires {
            let met = f.formula.map(|f| logic::eval::holds(&self.program.terms, f, &env));
            if met != Some(Ok(true)) {
                return Err("what the procedure requires does not hold".into());
            }
        }
        Ok(())
    }

    /// The store is one the program may start with.
    pub fn initial(&self, sem: &Semantics<'_>, state: &State, heap: StageHeap) -> Result<(), String> {
        let p = &self.program;
        let view = StateView::of_store(sem, state);
        for (v, x) in self.shared.iter().zip(&state.shared) {
            let var = &p.vars[*v];
            if heap == StageHeap::Any && matches!(var.kind, VarKind::Live(_) | VarKind::Field(_)) {
                continue;
            }
            if var.initial.map(|e| view.eval(e)).is_some_and(|e| e.as_ref() != Ok(x)) {
                return Err(format!("`{}` does not start with that value", var.name));
            }
        }
        for f in &p.init {
            if f.formula.map(|f| view.holds(f)) != Some(Ok(true)) {
                return Err("an `init` does not hold at the start".into());
            }
        }
        if let Some(what) = self.not_live(sem, state).first() {
            return Err(format!("object {} is referred to and is not there", what.1));
        }
        self.invariants(sem, state)
    }

    /// The objects that the state refers to and that are not live.
    fn not_live(&self, sem: &Semantics<'_>, state: &State) -> Vec<(ClassId, u32)> {
        let classes = self.program.classes.iter_enumerated();
        classes
            .flat_map(|(id, class)| {
                let live = &state.shared[self.index(class.live)];
                let is_live = |n: u32| matches!(live, Value::Set(s) if s.contains(&Value::Ref(n)));
                sem.used(state, id).into_iter().filter(|n| !is_live(*n)).map(|n| (id, n)).collect::<Vec<_>>()
            })
            .collect()
    }

    fn invariants(&self, sem: &Semantics<'_>, state: &State) -> Result<(), String> {
        match sem.broken_invariants(state, Sampling::default()) {
            (broken, _) if !broken.is_empty() => Err("an invariant does not hold".into()),
            (_, Some(why)) => Err(why),
            _ => Ok(()),
        }
    }

    /// What the program promises of every step holds of this one: its invariants hold afterwards, and it is a step that every
    /// other thread may rely on. `seen`: the store before the step or, where it ends an atomic block, before the block.
    pub fn keeps(&self, sem: &Semantics<'_>, seen: &[Value], after: &State, mover: u32) -> Result<(), String> {
        if sem.instance_in_atomic_block(after).is_some() {
            return Ok(());
        }
        self.invariants(sem, after)?;
        let before = State { shared: seen.to_vec(), ..after.clone() };
        // Whoever else there may be: a thread of the run, or one that takes no step in it.
        for other in (1..=mover.saturating_add(2).max(3)).filter(|t| *t != mover) {
            let mut view = StateView::of_store(sem, &before).with_after(&after.shared);
            view.tid = Value::Int(i128::from(other));
            for rely in &self.relies {
                match view.holds(*rely) {
                    Ok(true) => {}
                    Ok(false) => return Err(format!("thread {other} relies on no such step")),
                    Err(e) => return Err(format!("a rely could not be evaluated ({e:?})")),
                }
            }
        }
        Ok(())
    }

    fn environment(&self, store: &[Value], own: &[Value], tid: u32) -> Env {
        let p = &self.program;
        let mut env = Env::default();
        for (v, x) in self.shared.iter().zip(store).chain(self.own.iter().zip(own)) {
            env.insert(p.vars[*v].symbol, x.clone());
        }
        env.insert(p.tid, Value::Int(i128::from(tid)));
        env
    }

    /// Whether no thread ever writes the variable.
    pub fn is_constant(&self, var: VarId) -> bool {
        self.constants.contains(&var)
    }

    /// Whether another thread may write a place.
    pub fn may_write(&self, state: &State, thread: u32, write: &Write) -> Result<(), String> {
        let p = &self.program;
        let var = p.vars.get(write.var).ok_or("no such variable")?;
        if var.scope != Scope::Shared || self.constants.contains(&write.var) || thread == 0 {
            return Err("no other thread writes that".into());
        }
        if !matches!(var.kind, VarKind::Plain | VarKind::Lock) {
            return Err("the heap is left alone".into());
        }
        if self.untied.contains(&write.var) {
            return Err(format!("`{}` goes with a private variable in a way that no invariant tells", var.name));
        }
        let old = read(&state.shared[self.index(write.var)], &write.keys).ok_or("no such entry")?;
        if var.kind == VarKind::Lock && write.value != Value::Int(0) && write.value != Value::Int(i128::from(thread)) {
            return Err("a thread takes a lock for itself".into());
        }
        let inner = write.keys.iter().fold(var.sort, |s, _| match p.terms.kind(s) {
            logic::SortKind::Map(_, inner) => inner,
            _ => s,
        });
        let whole = matches!(old, Value::Map(_));
        if whole || write.value.is_open() || !fits(p, &write.value, inner) {
            return Err("the value does not fit the place".into());
        }
        let Some(access) = &var.access else { return Ok(()) };
        let Some(formula) = access.of(TouchMode::Write) else { return Ok(()) };
        let mut env = self.environment(&state.shared, &[], thread);
        if access.binders.len() > write.keys.len() {
            return Err("an entry of a map is named by its keys".into());
        }
        env.extend(access.binders.iter().copied().zip(write.keys.iter().cloned()));
        match logic::eval::holds(&p.terms, formula, &env) {
            Ok(true) => Ok(()),
            _ => Err(format!("thread {thread} may not touch `{}` there", var.name)),
        }
    }

    fn index(&self, var: VarId) -> usize {
        self.shared.iter().position(|v| *v == var).expect("a shared variable is listed")
    }

    /// Executes one event; what the step saw, for a step of others.
    pub fn execute(
        &self,
        sem: &Semantics<'_>,
        state: &State,
        event: &StageEvent,
    ) -> Result<(StepOutcome, Vec<Value>), String> {
        match event {
            StageEvent::Own { action, inputs } => {
                if inputs.iter().any(Value::is_open) {
                    return Err("an input is not decided".into());
                }
                let (action, inputs) = (*action, inputs.clone());
                let step = TraceStep { instance: 0, thread: self.thread, action, inputs, choices: Vec::new() };
                Ok((sem.execute(state, &step)?, Vec::new()))
            }
            StageEvent::Other { thread, writes } => {
                if sem.instance_in_atomic_block(state).is_some() {
                    return Err("the procedure is inside an atomic block".into());
                }
                let mut next = state.clone();
                let mut seen = Vec::new();
                for (i, w) in writes.iter().enumerate() {
                    self.may_write(state, *thread, w)?;
                    if writes[..i].iter().any(|x| x.var == w.var) {
                        return Err("a step writes each variable once".into());
                    }
                    let at = self.index(w.var);
                    seen.push(read(&state.shared[at], &w.keys).ok_or("no such entry")?);
                    write(&mut next.shared[at], &w.keys, w.value.clone());
                }
                let dangling = self.not_live(sem, state);
                if self.not_live(sem, &next).iter().any(|x| !dangling.contains(x)) {
                    return Err("an object that is not there is written".into());
                }
                let (action, inputs) = (ActionId(0), Vec::new());
                let step = TraceStep { instance: 0, thread: self.thread, action, inputs, choices: Vec::new() };
                Ok((StepOutcome::Moved { step, state: next }, seen))
            }
        }
    }

    pub fn ended(&self, state: &State) -> bool {
        self.program.threads[self.thread].code.exit == Some(state.instances[0].at)
    }

    /// Whether the specification explains what was done: `Err` where that cannot be known.
    /// `steps`: of the procedure. One of them is at most one action, so there are not more actions than steps; twice as many
    /// and a few more are tried, so that a repetition comes to an end.
    pub fn explained(
        &self,
        begin: &State,
        others: &[(Vec<Write>, Vec<Value>)],
        end: &State,
        steps: usize,
    ) -> Result<bool, String> {
        let procedure = &self.program.procedures[self.procedure];
        let (performs, _) = procedure.performs.as_ref().ok_or("it has no specification")?;
        let order = PerformsOrder::of(performs);
        let mut given = Env::default();
        for v in &procedure.params {
            let i = self.own.iter().position(|x| x == v).ok_or("a parameter is missing")?;
            given.insert(self.program.vars[*v].symbol, begin.instances[0].locals[i].clone());
        }
        for v in &procedure.results {
            let i = self.own.iter().position(|x| x == v).ok_or("a result is missing")?;
            let value = end.instances[0].locals[i].clone();
            if value.is_open() {
                return Err("a result is not decided".into());
            }
            given.insert(self.program.vars[*v].symbol, value);
        }
        if end.shared.iter().any(Value::is_open) {
            return Err("the last store is not decided".into());
        }
        let search = StageExplanation { stage: self, order: &order, others, end: &end.shared, given };
        search.from(0, 0, &begin.shared, 2 * steps + 4, &mut FxHashSet::default())
    }
}

struct StageExplanation<'a> {
    stage: &'a ProcedureStage,
    order: &'a PerformsOrder<'a>,
    others: &'a [(Vec<Write>, Vec<Value>)],
    end: &'a [Value],
    given: Env,
}

impl StageExplanation<'_> {
    fn from(
        &self,
        position: usize,
        done: usize,
        store: &[Value],
        left: usize,
        tried: &mut FxHashSet<(usize, usize, Vec<Value>, usize)>,
    ) -> Result<bool, String> {
        if !tried.insert((position, done, store.to_vec(), left)) {
            return Ok(false);
        }
        if tried.len() > 5_000 {
            return Err("there are too many orders".into());
        }
        let is_seen = |v: &VarId| !self.stage.hidden.contains(v);
        let values = || self.stage.shared.iter().zip(store.iter().zip(self.end));
        let at_end = || values().all(|(v, (a, b))| a == b || *a == Value::Any || !is_seen(v));
        if done == self.others.len() && self.order.ends[position] && at_end() {
            return Ok(true);
        }
        let mut unsure = None;
        let mut look = |answer: Result<bool, String>| match answer {
            Ok(yes) => yes,
            Err(why) => {
                unsure.get_or_insert(why);
                false
            }
        };
        if let Some((writes, seen)) = self.others.get(done) {
            let mut next = store.to_vec();
            let same = writes.iter().zip(seen).all(|(w, x)| {
                let at = self.stage.index(w.var);
                let fits = !is_seen(&w.var) || next[at] == Value::Any || read(&next[at], &w.keys).as_ref() == Some(x);
                write(&mut next[at], &w.keys, w.value.clone());
                fits
            });
            if same && look(self.from(position, done + 1, &next, left, tried)) {
                return Ok(true);
            }
        }
        let next = if left == 0 { &[][..] } else { &self.order.next[position][..] };
        for n in next {
            let action = self.order.actions[n - 1].action;
            match self.after(action, self.order.next[*n].is_empty(), done, store) {
                Ok(Some(next)) => {
                    if look(self.from(*n, done, &next, left - 1, tried)) {
                        return Ok(true);
                    }
                }
                Ok(None) => {}
                Err(why) => {
                    look(Err(why));
                }
            }
        }
        unsure.map_or(Ok(false), Err)
    }

    fn env(&self, store: &[Value]) -> Env {
        let mut env = self.stage.environment(store, &[], 1);
        env.extend(self.given.iter().map(|(s, x)| (*s, x.clone())));
        env
    }

    /// The store after an action. The last action must leave what is seen later; an earlier one must say what it does.
    fn after(&self, action: &TwoStore, last: bool, done: usize, store: &[Value]) -> Result<Option<Vec<Value>>, String> {
        let p = &self.stage.program;
        let terms = p.terms.clone();
        let mut env = self.env(store);
        let eval = |t, env: &Env| logic::eval_term(&terms, t, env).map_err(|e| format!("not evaluated: {e:?}"));
        let mut next = store.to_vec();
        if last {
            for place in &action.frame {
                let at = self.stage.index(place.var);
                let keys = place.keys.iter().map(|k| eval(*k, &env)).collect::<Result<Vec<_>, _>>()?;
                let wanted = read(&self.wanted(place.var, done), &keys).ok_or("no such entry")?;
                write(&mut next[at], &keys, wanted);
            }
        } else {
            let step = executable(p, &terms, action);
            env.extend(step.inputs.iter().map(|s| (*s, Value::Any)));
            let open = |e: &EvalError| matches!(e, EvalError::Open(..) | EvalError::OpenMap);
            match logic::eval::holds(&terms, step.guard, &env) {
                Ok(false) => return Ok(None),
                Ok(true) => {}
                Err(e) if open(&e) => {}
                Err(e) => return Err(format!("not evaluated: {e:?}")),
            }
            for u in &step.updates {
                next[self.stage.index(u.var)] = match logic::eval_term(&terms, u.value, &env) {
                    Err(e) if open(&e) => Value::Any,
                    value => value.map_err(|e| format!("not evaluated: {e:?}"))?,
                };
            }
            return Ok(Some(next));
        }
        for (v, x) in self.stage.shared.iter().zip(&next) {
            env.insert(p.vars[*v].primed, x.clone());
        }
        let change: Vec<Update> =
            self.stage.shared.iter().map(|v| Update { var: *v, value: terms.sym(p.vars[*v].primed) }).collect();
        let formula = is_step(p, &terms, action, &change);
        let holds = logic::eval::holds(&terms, formula, &env).map_err(|e| format!("not evaluated: {e:?}"))?;
        Ok(holds.then_some(next))
    }

    /// The value of a variable from which the steps of others to come see what they saw, and the end is the end.
    fn wanted(&self, var: VarId, done: usize) -> Value {
        let mut value = self.end[self.stage.index(var)].clone();
        for (writes, seen) in self.others[done..].iter().rev() {
            for (w, x) in writes.iter().zip(seen).filter(|(w, _)| w.var == var) {
                write(&mut value, &w.keys, x.clone());
            }
        }
        value
    }
}

/// The hidden variables, and those that other threads leave alone while this code runs. Others change what is hidden by calls of its owners; where an invariant says how it goes
/// with what is seen, their steps are any that keep it.
fn unseen(program: &Program, named: &FxHashSet<VarId>) -> (FxHashSet<VarId>, FxHashSet<VarId>) {
    let hidden = Hidden::of(program);
    let told = |v: &VarId| {
        let mut written = program.invariants.iter().filter_map(|f| f.formula);
        written.any(|f| program.terms.free_symbols(f).contains(&program.vars[*v].symbol))
    };
    let lock = |v: &VarId| program.vars[*v].kind == VarKind::Lock;
    let mut untied: FxHashSet<VarId> = FxHashSet::default();
    let loose: FxHashSet<VarId> = hidden.vars.iter().copied().filter(|v| !lock(v) && !told(v)).collect();
    if named.iter().any(|v| loose.contains(v)) {
        untied.extend(loose.iter().copied());
        for q in hidden.named.iter().filter(|(_, vars)| vars.iter().any(|v| loose.contains(v))).map(|(q, _)| *q) {
            let steps = program.procedures[q].code.actions.iter().flat_map(|a| &a.updates);
            let shared = steps.map(|u| u.var).filter(|v| program.vars[*v].scope == Scope::Shared && !lock(v));
            untied.extend(shared);
        }
    }
    (hidden.vars.into_iter().collect(), untied)
}

fn read(value: &Value, keys: &[Value]) -> Option<Value> {
    match (keys.split_first(), value) {
        (None, _) => Some(value.clone()),
        (Some((k, rest)), Value::Map(m)) => read(m.get(k), rest),
        _ => None,
    }
}

fn write(value: &mut Value, keys: &[Value], new: Value) {
    match (keys.split_first(), value) {
        (None, place) => *place = new,
        (Some((k, rest)), Value::Map(m)) => {
            let mut inner = m.get(k).clone();
            write(&mut inner, rest, new);
            m.set(k.clone(), inner);
        }
        _ => {}
    }
}
