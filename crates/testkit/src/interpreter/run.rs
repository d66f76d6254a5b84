//! Statements: what one step of one instance can lead to.
//!
//! Every simple statement is one step (section 6 of `docs/language.md`). An atomic block is one step too: all runs through it are
//! followed here, and a run that comes to a statement that waits is dropped.

use super::eval::{Mode, Place, Root, Stop, Target, replaced};
use super::value::{Ty, Value};
use super::world::{Dest, Frame, Instance, State, Task, Vars, ensures, requires};
use frontend::lang::ast::{ActionDecl, AssignedValue as Right, CallExpr, Condition, Expr, ExprKind, Stmt, StmtKind};
use std::collections::{BTreeSet, HashMap};

/// What a step leads to.
pub(super) enum Out<'a> {
    Next(State<'a>),
    /// Checks that fail in it; the first counts, and which one is first is not said.
    Fails(BTreeSet<String>),
}

/// All outcomes of an instance: none where it waits.
#[derive(Default)]
pub(crate) struct Outs<'a> {
    pub list: Vec<Out<'a>>,
    /// Some run through an atomic block never ends.
    pub(crate) endless: bool,
    /// States that were met inside an atomic block.
    pub(super) inside: usize,
}

/// States inside one atomic block at most.
const MAX_INSIDE: usize = 3_000;
/// Values that are tried for a number in the frame of a `step`.
const FRAME_NUMBERS: std::ops::RangeInclusive<i128> = -9..=24;

type Step<T> = Result<T, Stop>;

fn names(property: String, place: &Place<'_, '_>) -> BTreeSet<String> {
    place.accesses.iter().cloned().chain([property]).collect()
}

/// What has been tried: a value, failing checks, or beyond.
enum Tried<T> {
    Value(T),
    Fails(BTreeSet<String>),
}

fn tried<T>(result: Step<T>, place: &Place<'_, '_>) -> Result<Tried<T>, String> {
    match result {
        Ok(value) => Ok(Tried::Value(value)),
        Err(Stop::Fails(property)) => Ok(Tried::Fails(names(property, place))),
        Err(Stop::Beyond(why)) => Err(why),
    }
}

/// Goes on with the value; where a check fails, the step does.
macro_rules! value {
    ($result:expr, $place:expr) => {{
        let result = $result;
        match tried(result, &$place)? {
            Tried::Value(value) => value,
            Tried::Fails(names) => return Ok(vec![Out::Fails(names)]),
        }
    }};
}

/// The step fails where it accesses what it must not.
macro_rules! accesses {
    ($place:expr) => {
        if !$place.accesses.is_empty() {
            return Ok(vec![Out::Fails($place.accesses)]);
        }
    };
}

impl<'a> Vars<'a> {
    fn at<'s>(&'s self, state: &'s State<'a>, i: usize) -> Place<'s, 'a> {
        let instance = &state.instances[i];
        let (env, accesses) = (instance.env.clone(), BTreeSet::new());
        Place {
            vars: self,
            state,
            after: None,
            tid: instance.tid,
            object: instance.object,
            env,
            this: None,
            mode: Mode::Code,
            accesses,
        }
    }

    /// Does what is no step: ends of blocks, `break`, `continue`, bare `return`, declarations without a value.
    pub(super) fn settle(&self, instance: &mut Instance<'a>) {
        loop {
            match instance.stack.pop() {
                None => return instance.env.clear(),
                Some(Task::Atomic) => {}
                Some(Task::Scope(n)) => instance.env.truncate(n),
                Some(task @ Task::Loop(_)) => return instance.stack.push(task),
                Some(Task::Frame(mut frame)) => {
                    if frame.results.is_none() {
                        if !ensures(self, frame.proc).is_empty() {
                            return instance.stack.push(Task::Frame(frame));
                        }
                        frame.results = Some(named_results(instance, &frame));
                    }
                    if !matches!(frame.dest, Dest::Nowhere) {
                        return instance.stack.push(Task::Frame(frame));
                    }
                    instance.env = frame.env;
                    instance.object = frame.object;
                }
                Some(Task::Rest(stmts)) => {
                    let Some((first, rest)) = stmts.split_first() else { continue };
                    match &first.kind {
                        StmtKind::Block(block) => {
                            instance.stack.push(Task::Rest(rest));
                            enter(instance, &block.kind);
                        }
                        StmtKind::While { .. } => {
                            instance.stack.push(Task::Rest(rest));
                            instance.stack.push(Task::Loop(first));
                        }
                        StmtKind::Break => {
                            unwind(instance, |t| matches!(t, Task::Loop(_)));
                            instance.stack.pop();
                        }
                        StmtKind::Continue => unwind(instance, |t| matches!(t, Task::Loop(_))),
                        StmtKind::Return(values) if values.is_empty() => {
                            unwind(instance, |t| matches!(t, Task::Frame(_)));
                        }
                        StmtKind::Local { name, ty, value: None } if self.arbitrary(&self.ty(ty)).len() == 1 => {
                            let ty = self.ty(ty);
                            let value = self.arbitrary(&ty).remove(0);
                            instance.env.push((&name.kind, ty, value));
                            instance.stack.push(Task::Rest(rest));
                        }
                        StmtKind::Witness(_) | StmtKind::Linearize(_) => instance.stack.push(Task::Rest(rest)),
                        _ => return instance.stack.push(Task::Rest(stmts)),
                    }
                }
            }
        }
    }

    /// The outcomes of an instance that has not ended.
    pub(super) fn outcomes(&self, state: &State<'a>, i: usize) -> Result<Outs<'a>, String> {
        if let Some(Task::Rest([first, ..])) = state.instances[i].stack.last()
            && let StmtKind::Atomic(block) = &first.kind
        {
            let mut start = state.clone();
            let instance = &mut start.instances[i];
            skip(instance);
            instance.stack.push(Task::Atomic);
            enter(instance, &block.kind);
            self.settle(instance);
            return self.through_block(start, i);
        }
        Ok(Outs { list: self.step(state, i)?, ..Outs::default() })
    }

    /// All runs through an atomic block.
    fn through_block(&self, start: State<'a>, i: usize) -> Result<Outs<'a>, String> {
        #[derive(Clone, Copy, PartialEq, Eq)]
        enum Visit {
            Open,
            Done,
        }
        let mut outs = Outs::default();
        let mut known: HashMap<State<'a>, Visit> = HashMap::new();
        let mut todo = vec![(start, Visit::Open)];
        while let Some((state, visit)) = todo.pop() {
            if visit == Visit::Done {
                known.insert(state, Visit::Done);
                continue;
            }
            if !state.instances[i].stack.iter().any(|t| matches!(t, Task::Atomic)) {
                outs.list.push(Out::Next(state));
                continue;
            }
            if let Some(visit) = known.get(&state) {
                outs.endless |= *visit == Visit::Open;
                continue;
            }
            if known.len() > MAX_INSIDE {
                return Err("an atomic block with many states".into());
            }
            known.insert(state.clone(), Visit::Open);
            let next = self.step(&state, i)?;
            todo.push((state, Visit::Done));
            for out in next {
                match out {
                    Out::Next(state) => todo.push((state, Visit::Open)),
                    fails @ Out::Fails(_) => outs.list.push(fails),
                }
            }
        }
        outs.inside = known.len();
        Ok(outs)
    }

    /// One step of one instance.
    fn step(&self, state: &State<'a>, i: usize) -> Result<Vec<Out<'a>>, String> {
        match state.instances[i].stack.last() {
            Some(Task::Loop(stmt)) => {
                let StmtKind::While { condition, invariants, body } = &stmt.kind else { return Err("no loop".into()) };
                for invariant in invariants.iter().filter(|e| !matches!(e.kind, ExprKind::Unknown)) {
                    if !super::holds(self.at(state, i), invariant)? {
                        let name = format!("invariant:{}", self.sources.line_of(invariant.span));
                        return Ok(vec![Out::Fails(BTreeSet::from([name]))]);
                    }
                }
                self.test(state, i, condition, |instance, holds| match holds {
                    true => enter(instance, &body.kind),
                    false => {
                        instance.stack.pop();
                    }
                })
            }
            Some(Task::Frame(frame)) => match frame.results {
                None => self.falls_off(state, i, frame),
                Some(_) => self.hand_over(state, i, frame),
            },
            Some(Task::Rest([first, ..])) => self.statement(state, i, first),
            _ => Err("an instance that is not settled".into()),
        }
    }

    fn test(
        &self,
        state: &State<'a>,
        i: usize,
        condition: &'a Condition,
        go: impl Fn(&mut Instance<'a>, bool),
    ) -> Result<Vec<Out<'a>>, String> {
        let ways = match condition {
            Condition::Any(_) => vec![true, false],
            Condition::Expr(e) => {
                let mut place = self.at(state, i);
                let holds = value!(place.holds(e), place);
                accesses!(place);
                vec![holds]
            }
        };
        let way = |holds| {
            let mut next = state.clone();
            go(&mut next.instances[i], holds);
            self.settle(&mut next.instances[i]);
            Out::Next(next)
        };
        Ok(ways.into_iter().map(way).collect())
    }

    /// The state behind the statement at hand, with some places written.
    fn written(&self, state: &State<'a>, i: usize, writes: Vec<(Target<'a>, Value)>) -> Out<'a> {
        let mut next = state.clone();
        for (target, value) in writes {
            store(&mut next, i, &target, value);
        }
        skip(&mut next.instances[i]);
        self.settle(&mut next.instances[i]);
        Out::Next(next)
    }

    fn statement(&self, state: &State<'a>, i: usize, stmt: &'a Stmt) -> Result<Vec<Out<'a>>, String> {
        let line = self.sources.line_of(stmt.span);
        let mut place = self.at(state, i);
        let passes = |state: &State<'a>| vec![self.written(state, i, Vec::new())];
        match &stmt.kind {
            StmtKind::Skip => Ok(passes(state)),
            StmtKind::Local { name, ty, value } => self.local(state, i, &name.kind, self.ty(ty), value.as_ref()),
            StmtKind::Assign { targets, value } => self.assign(state, i, targets, value),
            StmtKind::Havoc(places) => {
                let targets: Step<Vec<Target<'a>>> = places.iter().map(|p| place.target(p)).collect();
                let targets = value!(targets, place);
                for target in &targets {
                    value!(place.writes(target), place);
                }
                accesses!(place);
                let mut ways: Vec<Vec<(Target<'a>, Value)>> = vec![Vec::new()];
                for target in targets {
                    let values = self.arbitrary(&target.ty);
                    let with = |way: Vec<(Target<'a>, Value)>| {
                        let target = target.clone();
                        values.clone().into_iter().map(move |v| {
                            let mut way = way.clone();
                            way.push((target.clone(), v));
                            way
                        })
                    };
                    ways = ways.into_iter().flat_map(with).collect();
                }
                Ok(ways.into_iter().map(|way| self.written(state, i, way)).collect())
            }
            StmtKind::Assume(e) => {
                if !value!(place.holds(e), place) {
                    return Ok(Vec::new());
                }
                accesses!(place);
                Ok(passes(state))
            }
            StmtKind::Assert(e) => {
                if !value!(place.holds(e), place) {
                    return Ok(vec![Out::Fails(names(format!("assert:{line}"), &place))]);
                }
                accesses!(place);
                Ok(passes(state))
            }
            StmtKind::Acquire(e) => {
                let target = value!(place.target(e), place);
                let Some(holder) = place.read(&target).number() else {
                    return Err("a lock nothing has decided".into());
                };
                if holder != 0 {
                    return Ok(Vec::new());
                }
                accesses!(place);
                let tid = Value::Int(place.tid);
                Ok(vec![self.written(state, i, vec![(target, tid)])])
            }
            StmtKind::Release(e) => {
                let target = value!(place.target(e), place);
                let Some(holder) = place.read(&target).number() else {
                    return Err("a lock nothing has decided".into());
                };
                if holder != place.tid {
                    return Ok(vec![Out::Fails(names(format!("release:{line}"), &place))]);
                }
                accesses!(place);
                Ok(vec![self.written(state, i, vec![(target, Value::Int(0))])])
            }
            StmtKind::Free(e) => {
                let object = value!(place.eval(e, &Ty::Any), place).value;
                let at = self.sources.line_of(e.span);
                let Value::Object(object) = object else { return Err("a reference nothing has decided".into()) };
                let Some(object) = object else { return Ok(vec![Out::Fails(names(format!("null:{at}"), &place))]) };
                if !state.live.contains(&object) {
                    return Ok(vec![Out::Fails(names(format!("freed:{at}"), &place))]);
                }
                accesses!(place);
                let mut next = state.clone();
                next.live.remove(&object);
                next.fields.retain(|(o, _), _| *o != object);
                Ok(passes(&next))
            }
            StmtKind::Atomic(block) => {
                // Inside another block: just a block.
                let mut next = state.clone();
                skip(&mut next.instances[i]);
                enter(&mut next.instances[i], &block.kind);
                self.settle(&mut next.instances[i]);
                Ok(vec![Out::Next(next)])
            }
            StmtKind::Step(action) => self.relation(state, i, action, line),
            StmtKind::If { arms, otherwise } => self.branch(state, i, arms, otherwise.as_ref().map(|b| &b.kind[..])),
            StmtKind::Choose(branches) => {
                let way = |b: &'a frontend::lang::ast::Block| {
                    let mut next = state.clone();
                    skip(&mut next.instances[i]);
                    enter(&mut next.instances[i], &b.kind);
                    self.settle(&mut next.instances[i]);
                    Out::Next(next)
                };
                Ok(branches.iter().map(way).collect())
            }
            StmtKind::Call(call) => match &call.args[..] {
                [e] if &*call.name.kind == "join" && self.proc(place.object, "join").is_none() => {
                    self.join(state, i, e)
                }
                _ => self.call(state, i, call, Dest::Nowhere),
            },
            StmtKind::Spawn(call) => self.spawn(state, i, call, None),
            StmtKind::Join(e) => self.join(state, i, e),
            StmtKind::Return(values) => self.give_back(state, i, values),
            _ => Err("a statement the interpreter does not know".into()),
        }
    }

    /// Each `if` and `else if` is a test of its own, and a step.
    fn branch(
        &self,
        state: &State<'a>,
        i: usize,
        arms: &'a [frontend::lang::ast::Arm],
        otherwise: Option<&'a [Stmt]>,
    ) -> Result<Vec<Out<'a>>, String> {
        let Some((arm, rest)) = arms.split_first() else { return Err("an `if` without a test".into()) };
        let mut out = Vec::new();
        let ways = self.test(state, i, &arm.condition, |instance, holds| {
            if holds {
                skip(instance);
                enter(instance, &arm.body.kind);
            }
        })?;
        let mut yes = state.clone();
        skip(&mut yes.instances[i]);
        enter(&mut yes.instances[i], &arm.body.kind);
        self.settle(&mut yes.instances[i]);
        for way in ways {
            match way {
                Out::Next(next) if next == yes => out.push(Out::Next(next)),
                Out::Next(_) if rest.is_empty() => {
                    let mut next = state.clone();
                    skip(&mut next.instances[i]);
                    if let Some(stmts) = otherwise {
                        enter(&mut next.instances[i], stmts);
                    }
                    self.settle(&mut next.instances[i]);
                    out.push(Out::Next(next));
                }
                // That no other thread comes between the tests is not said.
                Out::Next(_) => return Err("an `else if`".into()),
                fails => out.push(fails),
            }
        }
        Ok(out)
    }

    fn local(
        &self,
        state: &State<'a>,
        i: usize,
        name: &'a str,
        ty: Ty,
        value: Option<&'a Right>,
    ) -> Result<Vec<Out<'a>>, String> {
        let declared = |state: &State<'a>, v: Value| {
            let mut next = state.clone();
            skip(&mut next.instances[i]);
            next.instances[i].env.push((name, ty.clone(), v));
            self.settle(&mut next.instances[i]);
            Out::Next(next)
        };
        let mut place = self.at(state, i);
        match value {
            None => Ok(self.arbitrary(&ty).into_iter().map(|v| declared(state, v)).collect()),
            Some(Right::Exprs(exprs)) => match &exprs[..] {
                [Expr { kind: ExprKind::Call(call), .. }] if !is_len(call) => {
                    self.call(state, i, call, Dest::Local(name, ty.clone()))
                }
                [e] => {
                    let v = value!(place.eval_as(e, &ty), place);
                    accesses!(place);
                    Ok(vec![declared(state, v)])
                }
                _ => Err("several values for a local".into()),
            },
            Some(Right::New(_)) => {
                let made = self.made(state, &ty)?;
                Ok(made.into_iter().map(|(next, o)| declared(&next, o)).collect())
            }
            Some(Right::Spawn(call)) => {
                let mut outs = Vec::new();
                for out in self.spawned(state, i, call)? {
                    outs.push(match out {
                        Ok((next, tid)) => declared(&next, tid),
                        Err(fails) => Out::Fails(fails),
                    });
                }
                Ok(outs)
            }
            Some(Right::Cas(cas)) => {
                let (target, same, new) = value!(self.compared(&mut place, cas), place);
                accesses!(place);
                let mut next = state.clone();
                if same {
                    store(&mut next, i, &target, new);
                }
                Ok(vec![declared(&next, Value::Bool(same))])
            }
        }
    }

    /// The place of a `cas`, whether it has the old value, and the new value.
    fn compared(
        &self,
        place: &mut Place<'_, 'a>,
        cas: &'a frontend::lang::ast::Cas,
    ) -> Step<(Target<'a>, bool, Value)> {
        let target = place.target(&cas.place)?;
        let old = place.eval_as(&cas.old, &target.ty)?;
        let new = place.eval_as(&cas.new, &target.ty)?;
        place.writes(&target)?;
        let now = place.read(&target);
        if !now.is_decided() || !old.is_decided() {
            return Err(Stop::Beyond("a cas of a value that nothing has decided".into()));
        }
        Ok((target, now == old, new))
    }

    /// A new object in every way it can be made: an object that is not live, its fields arbitrary.
    fn made(&self, state: &State<'a>, ty: &Ty) -> Result<Vec<(State<'a>, Value)>, String> {
        let Ty::Class(class) = ty else { return Err("a new thing that is no object".into()) };
        let fresh = state.made[*class] + 1;
        let again = (1..fresh).filter(|n| self.frees && !state.live.contains(&(*class, *n)));
        let mut out = Vec::new();
        for number in again.chain([fresh]) {
            let object = (*class, number);
            let mut states = vec![state.clone()];
            for s in &mut states {
                s.made[*class] = s.made[*class].max(number);
                s.live.insert(object);
            }
            for field in self.classes[*class].fields {
                let name: &'a str = &field.name.kind;
                let values = self.new_field(field);
                states = states
                    .into_iter()
                    .flat_map(|s| {
                        values.iter().map(move |v| {
                            let mut s = s.clone();
                            s.fields.insert((object, name), v.clone());
                            s
                        })
                    })
                    .collect();
            }
            out.extend(states.into_iter().map(|s| (s, Value::Object(Some(object)))));
        }
        Ok(out)
    }

    fn assign(
        &self,
        state: &State<'a>,
        i: usize,
        targets: &'a [Expr],
        value: &'a Right,
    ) -> Result<Vec<Out<'a>>, String> {
        if let Right::Exprs(exprs) = value
            && let [Expr { kind: ExprKind::Call(call), .. }] = &exprs[..]
            && !is_len(call)
        {
            return self.call(state, i, call, Dest::Places(targets));
        }
        let mut place = self.at(state, i);
        let places: Step<Vec<Target<'a>>> = targets.iter().map(|t| place.target(t)).collect();
        let places = value!(places, place);
        match value {
            Right::Exprs(exprs) => {
                let values: Step<Vec<Value>> =
                    exprs.iter().zip(&places).map(|(e, t)| place.eval_as(e, &t.ty)).collect();
                let values = value!(values, place);
                for target in &places {
                    value!(place.writes(target), place);
                }
                accesses!(place);
                Ok(vec![self.written(state, i, places.into_iter().zip(values).collect())])
            }
            Right::New(_) => {
                value!(place.writes(&places[0]), place);
                accesses!(place);
                let made = self.made(state, &places[0].ty)?;
                Ok(made.into_iter().map(|(next, o)| self.written(&next, i, vec![(places[0].clone(), o)])).collect())
            }
            Right::Cas(cas) => {
                let (target, same, new) = value!(self.compared(&mut place, cas), place);
                value!(place.writes(&places[0]), place);
                accesses!(place);
                let mut writes = vec![(places[0].clone(), Value::Bool(same))];
                if same {
                    writes.push((target, new));
                }
                Ok(vec![self.written(state, i, writes)])
            }
            Right::Spawn(call) => self.spawn(state, i, call, Some(&targets[0])),
        }
    }

    fn spawn(
        &self,
        state: &State<'a>,
        i: usize,
        call: &'a CallExpr,
        into: Option<&'a Expr>,
    ) -> Result<Vec<Out<'a>>, String> {
        let mut place = self.at(state, i);
        let target = match into {
            Some(e) => Some(value!(place.target(e), place)),
            None => None,
        };
        if let Some(target) = &target {
            value!(place.writes(target), place);
        }
        let forbidden = place.accesses;
        let mut outs = Vec::new();
        for out in self.spawned(state, i, call)? {
            outs.push(match out {
                Err(mut fails) => {
                    fails.extend(forbidden.iter().cloned());
                    Out::Fails(fails)
                }
                Ok(_) if !forbidden.is_empty() => Out::Fails(forbidden.clone()),
                Ok((next, tid)) => self.written(&next, i, target.iter().map(|t| (t.clone(), tid.clone())).collect()),
            });
        }
        Ok(outs)
    }

    /// The state with one more instance, and its id.
    #[allow(clippy::type_complexity)]
    fn spawned(
        &self,
        state: &State<'a>,
        i: usize,
        call: &'a CallExpr,
    ) -> Result<Vec<Result<(State<'a>, Value), BTreeSet<String>>>, String> {
        let Some(thread) = self.threads.iter().position(|t| t.name.kind == call.name.kind) else {
            return Err("no such thread".into());
        };
        let mut place = self.at(state, i);
        let mut env = Vec::new();
        for (param, arg) in self.threads[thread].params.iter().flatten().zip(&call.args) {
            let ty = self.ty(&param.ty);
            match tried(place.eval_as(arg, &ty), &place)? {
                Tried::Value(v) => env.push((&*param.name.kind, ty, v)),
                Tried::Fails(names) => return Ok(vec![Err(names)]),
            }
        }
        if !place.accesses.is_empty() {
            return Ok(vec![Err(place.accesses)]);
        }
        let mut next = state.clone();
        let tid = next.instances.len() as i128 + 1;
        let stack = vec![Task::Rest(&self.threads[thread].body.kind)];
        let mut instance = Instance { thread, tid, object: None, env, stack };
        self.settle(&mut instance);
        next.instances.push(instance);
        Ok(vec![Ok((next, Value::Int(tid)))])
    }

    fn join(&self, state: &State<'a>, i: usize, e: &'a Expr) -> Result<Vec<Out<'a>>, String> {
        let mut place = self.at(state, i);
        let value = value!(place.eval_as(e, &Ty::Int), place);
        let Some(tid) = value.number() else { return Err("a thread id nothing has decided".into()) };
        if !state.instances.iter().any(|x| x.tid == tid && x.stack.is_empty()) {
            return Ok(Vec::new());
        }
        accesses!(place);
        Ok(vec![self.written(state, i, Vec::new())])
    }

    /// Passes the arguments.
    fn call(&self, state: &State<'a>, i: usize, call: &'a CallExpr, dest: Dest<'a>) -> Result<Vec<Out<'a>>, String> {
        let mut place = self.at(state, i);
        let object = call.object.as_ref().map(|o| &*o.kind);
        let found = match object {
            Some(_) => self.procs.get_key_value(&(object, &*call.name.kind)).map(|(c, p)| (*c, *p)),
            None => self.proc(place.object, &call.name.kind),
        };
        let Some((code, proc)) = found else { return Err("no such procedure".into()) };
        let mut env = Vec::new();
        for (param, arg) in proc.params.iter().zip(&call.args) {
            let ty = self.ty(&param.ty);
            let value = value!(place.eval_as(arg, &ty), place);
            env.push((&*param.name.kind, ty, value));
        }
        let mut formula = self.at(state, i);
        formula.mode = Mode::Formula;
        formula.env = env.clone();
        formula.object = code.0;
        for required in requires(proc) {
            if !value!(formula.holds(required), formula) {
                let line = self.sources.line_of(call.span.0);
                return Ok(vec![Out::Fails(names(format!("requires:{}:{line}", proc.name.kind), &place))]);
            }
        }
        accesses!(place);
        let mut envs = vec![env];
        for result in &proc.results {
            let ty = self.ty(&result.ty);
            let values = self.arbitrary(&ty);
            envs = envs
                .into_iter()
                .flat_map(|env| {
                    let ty = ty.clone();
                    values.clone().into_iter().map(move |v| {
                        let mut env = env.clone();
                        env.push((&*result.name.kind, ty.clone(), v));
                        env
                    })
                })
                .collect();
        }
        let way = |env| {
            let mut next = state.clone();
            let instance = &mut next.instances[i];
            skip(instance);
            let saved = std::mem::replace(&mut instance.env, env);
            let around = std::mem::replace(&mut instance.object, code.0);
            let frame = Frame { proc, dest: dest.clone(), env: saved, object: around, results: None };
            instance.stack.push(Task::Frame(Box::new(frame)));
            instance.stack.push(Task::Rest(&proc.body.kind));
            self.settle(instance);
            Out::Next(next)
        };
        Ok(envs.into_iter().map(way).collect())
    }

    /// `return e, f;`
    fn give_back(&self, state: &State<'a>, i: usize, values: &'a [Expr]) -> Result<Vec<Out<'a>>, String> {
        let mut place = self.at(state, i);
        let frame =
            state.instances[i].stack.iter().rev().find_map(|t| if let Task::Frame(f) = t { Some(f) } else { None });
        let Some(frame) = frame else { return Err("a result of a thread".into()) };
        let proc = frame.proc;
        let mut results = Vec::new();
        for (result, e) in proc.results.iter().zip(values) {
            results.push(value!(place.eval_as(e, &self.ty(&result.ty)), place));
        }
        let mut next = state.clone();
        for (result, v) in proc.results.iter().zip(&results) {
            if let Some(b) = next.instances[i].env.iter_mut().find(|(n, ..)| *n == &*result.name.kind) {
                b.2 = v.clone();
            }
        }
        if let Some(property) = self.broken_ensures(&next, i, proc)? {
            return Ok(vec![Out::Fails(names(property, &place))]);
        }
        accesses!(place);
        let instance = &mut next.instances[i];
        unwind(instance, |t| matches!(t, Task::Frame(_)));
        if let Some(Task::Frame(frame)) = instance.stack.last_mut() {
            frame.results = Some(results);
        }
        self.settle(instance);
        Ok(vec![Out::Next(next)])
    }

    fn broken_ensures(
        &self,
        state: &State<'a>,
        i: usize,
        proc: &'a frontend::lang::ast::Proc,
    ) -> Result<Option<String>, String> {
        let mut place = self.at(state, i);
        place.mode = Mode::Formula;
        for (formula, property) in ensures(self, proc) {
            match place.holds(formula) {
                Ok(true) => {}
                Ok(false) => return Ok(Some(property)),
                Err(stop) => return Err(format!("{stop:?}")),
            }
        }
        Ok(None)
    }

    /// The end of a body that ensures something.
    fn falls_off(&self, state: &State<'a>, i: usize, frame: &Frame<'a>) -> Result<Vec<Out<'a>>, String> {
        if let Some(property) = self.broken_ensures(state, i, frame.proc)? {
            return Ok(vec![Out::Fails(BTreeSet::from([property]))]);
        }
        let mut next = state.clone();
        let instance = &mut next.instances[i];
        let results = named_results(instance, frame);
        if let Some(Task::Frame(frame)) = instance.stack.last_mut() {
            frame.results = Some(results);
        }
        self.settle(instance);
        Ok(vec![Out::Next(next)])
    }

    /// Hands results over: the places are worked out now, as in an assignment.
    fn hand_over(&self, state: &State<'a>, i: usize, frame: &Frame<'a>) -> Result<Vec<Out<'a>>, String> {
        let mut before = state.clone();
        let instance = &mut before.instances[i];
        instance.stack.pop();
        instance.env = frame.env.clone();
        instance.object = frame.object;
        let results = frame.results.clone().unwrap_or_default();
        let mut place = self.at(&before, i);
        let mut next = before.clone();
        match &frame.dest {
            Dest::Nowhere => {}
            Dest::Local(name, ty) => {
                let value = results.into_iter().next().unwrap_or(Value::Undecided).stored_as(ty);
                next.instances[i].env.push((name, ty.clone(), value));
            }
            Dest::Places(exprs) => {
                let targets: Step<Vec<Target<'a>>> = exprs.iter().map(|e| place.target(e)).collect();
                let targets = value!(targets, place);
                for target in &targets {
                    value!(place.writes(target), place);
                }
                accesses!(place);
                for (target, value) in targets.iter().zip(results) {
                    store(&mut next, i, target, value.stored_as(&target.ty));
                }
            }
        }
        self.settle(&mut next.instances[i]);
        Ok(vec![Out::Next(next)])
    }

    /// `step <frame> formula asserting assertion`.
    fn relation(
        &self,
        state: &State<'a>,
        i: usize,
        action: &'a ActionDecl,
        line: usize,
    ) -> Result<Vec<Out<'a>>, String> {
        let mut place = self.at(state, i);
        let targets: Step<Vec<Target<'a>>> = action.frame.iter().map(|p| place.target(p)).collect();
        let targets = value!(targets, place);
        let mut stores: Vec<State<'a>> = vec![state.clone()];
        for target in &targets {
            let values: Vec<Value> = match &target.ty {
                Ty::Int => FRAME_NUMBERS.map(Value::Int).collect(),
                Ty::Machine(m) => FRAME_NUMBERS.filter(|n| super::value::fits(*n, *m)).map(Value::Int).collect(),
                Ty::Bool | Ty::Enum(_) => self.arbitrary(&target.ty),
                _ => return Err("a frame of this type".into()),
            };
            let with = |s: State<'a>| {
                let target = target.clone();
                values.clone().into_iter().map(move |v| {
                    let mut s = s.clone();
                    store(&mut s, i, &target, v);
                    s
                })
            };
            stores = stores.into_iter().flat_map(with).collect();
        }
        let mut outs = Vec::new();
        for after in stores {
            let mut two = self.at(state, i);
            two.after = Some(&after);
            if !value!(two.holds(&action.formula), two) {
                continue;
            }
            let mut asserting = self.at(state, i);
            if let Some(e) = &action.asserting
                && !value!(asserting.holds(e), asserting)
            {
                let mut failing = names(format!("assert:{line}"), &asserting);
                failing.extend(two.accesses);
                outs.push(Out::Fails(failing));
                continue;
            }
            for target in &targets {
                value!(two.writes(target), two);
            }
            let failing: BTreeSet<String> =
                two.accesses.into_iter().chain(asserting.accesses).chain(place.accesses.iter().cloned()).collect();
            if !failing.is_empty() {
                outs.push(Out::Fails(failing));
                continue;
            }
            outs.push(self.written(&after, i, Vec::new()));
        }
        Ok(outs)
    }
}

fn is_len(call: &CallExpr) -> bool {
    call.object.is_none() && &*call.name.kind == "len"
}

fn named_results(instance: &Instance<'_>, frame: &Frame<'_>) -> Vec<Value> {
    let of = |name: &str| instance.env.iter().find(|(n, ..)| *n == name).map(|(_, _, v)| v.clone());
    frame.proc.results.iter().map(|r| of(&r.name.kind).unwrap_or(Value::Undecided)).collect()
}

/// Takes the statement at hand off the stack.
fn skip(instance: &mut Instance<'_>) {
    if let Some(Task::Rest(stmts)) = instance.stack.last_mut() {
        *stmts = stmts.split_first().map_or(&[], |(_, rest)| rest);
    }
}

fn enter<'a>(instance: &mut Instance<'a>, stmts: &'a [Stmt]) {
    let scope = instance.env.len();
    instance.stack.push(Task::Scope(scope));
    instance.stack.push(Task::Rest(stmts));
}

/// Leaves blocks until a task is on top.
fn unwind<'a>(instance: &mut Instance<'a>, until: impl Fn(&Task<'a>) -> bool) {
    while let Some(task) = instance.stack.last() {
        if until(task) {
            return;
        }
        if let Some(Task::Scope(n)) = instance.stack.pop() {
            instance.env.truncate(n);
        }
    }
}

fn store<'a>(state: &mut State<'a>, i: usize, target: &Target<'a>, value: Value) {
    let whole = match &target.root {
        Root::Local(at) => Some(&mut state.instances[i].env[*at].2),
        Root::Shared(code) => state.shared.get_mut(code),
        Root::Field(o, f) => state.fields.get_mut(&(*o, *f)),
    };
    if let Some(whole) = whole {
        *whole = replaced(std::mem::replace(whole, Value::Undecided), &target.path, value.stored_as(&target.ty));
    }
}
