//! What one instance sees: values of symbols for `logic::eval`, and the evaluation of what a step writes.
//!
//! Copying an undecided value would let its two copies be decided differently. So `StateView::flow`, which computes what a
//! step writes, lets an undecided part pass only where it stays where it is (`m := m[k := e]`) or where it is an input
//! that goes to one place alone.
//! In: a state, an instance, the inputs of a step, the store after it. Out: values of terms.

use super::{Instance, Semantics, State, SymbolSlot};
use logic::{ClassId, Env, EvalError, Node, Op, ReadPlace, Symbol, Term, Value, eval_term};

pub struct StateView<'a> {
    pub sem: &'a Semantics<'a>,
    pub state: &'a State,
    /// The shared store that primed symbols speak of.
    pub after: Option<&'a [Value]>,
    /// Whose locals are seen.
    pub instance: Option<&'a Instance>,
    pub tid: Value,
    /// Values of the action's inputs; `None` where not chosen yet.
    pub inputs: &'a [Option<Value>],
}

impl<'a> StateView<'a> {
    /// The store alone.
    pub(crate) fn of_store(sem: &'a Semantics<'a>, state: &'a State) -> Self {
        Self { sem, state, after: None, instance: None, tid: Value::Any, inputs: &[] }
    }
    /// The store as an instance sees it.
    pub fn of_instance(sem: &'a Semantics<'a>, state: &'a State, at: usize) -> Self {
        let i = &state.instances[at];
        Self { sem, state, after: None, instance: Some(i), tid: Value::Int(i.tid.into()), inputs: &[] }
    }
    pub(crate) fn with_inputs(self, inputs: &'a [Option<Value>]) -> Self {
        Self { inputs, ..self }
    }
    pub(crate) fn with_after(self, after: &'a [Value]) -> Self {
        Self { after: Some(after), ..self }
    }
    pub fn eval(&self, term: Term) -> Result<Value, EvalError> {
        eval_term(&self.sem.program.terms, term, self)
    }
    pub fn holds(&self, formula: Term) -> Result<bool, EvalError> {
        logic::eval::holds(&self.sem.program.terms, formula, self)
    }
    /// The value a step writes to `here`.
    pub fn flow(&self, term: Term, here: &ReadPlace) -> Result<Value, EvalError> {
        let t = &self.sem.program.terms;
        match t.node(term) {
            Node::Sym(s) => {
                let value = self.value(s).ok_or(EvalError::Unassigned(s))?;
                let stays = here.symbol == s && here.keys.is_empty();
                if !value.is_open() || stays || matches!(self.sem.slot(s), SymbolSlot::Input(_)) {
                    return Ok(value.clone());
                }
                Err(if *value == Value::Any {
                    EvalError::Open(ReadPlace { symbol: s, keys: vec![] }, t.symbol_sort(s))
                } else {
                    EvalError::OpenMap
                })
            }
            Node::App(Op::Store, args) => {
                let Value::Map(mut map) = self.flow(args[0], here)? else { return Err(EvalError::OpenMap) };
                let key = self.eval(args[1])?;
                let mut inner = here.clone();
                inner.keys.push(key.clone());
                map.set(key, self.flow(args[2], &inner)?);
                Ok(Value::Map(map))
            }
            Node::App(Op::Ite, args) => self.flow(args[if self.holds(args[0])? { 1 } else { 2 }], here),
            _ => {
                let value = self.eval(term)?;
                if value.is_open() && self.place(term)?.as_ref() != Some(here) {
                    return Err(EvalError::OpenMap);
                }
                Ok(value)
            }
        }
    }
    /// The place a term such as `m[k][j]` reads, if it is that plain.
    pub(crate) fn place(&self, term: Term) -> Result<Option<ReadPlace>, EvalError> {
        let t = &self.sem.program.terms;
        Ok(match t.node(term) {
            Node::Sym(symbol) => Some(ReadPlace { symbol, keys: vec![] }),
            Node::App(Op::Select, args) => match self.place(args[0])? {
                Some(mut p) => {
                    p.keys.push(self.eval(args[1])?);
                    Some(p)
                }
                None => None,
            },
            _ => None,
        })
    }
}

impl Env for StateView<'_> {
    fn value(&self, symbol: Symbol) -> Option<&Value> {
        match self.sem.slot(symbol) {
            SymbolSlot::Unknown => None,
            SymbolSlot::Tid => (self.tid != Value::Any).then_some(&self.tid),
            SymbolSlot::Shared(i) => self.state.shared.get(i),
            SymbolSlot::After(i) => self.after.and_then(|a| a.get(i)),
            SymbolSlot::Local(t, i) => self.instance.filter(|x| x.thread == t).and_then(|x| x.locals.get(i)),
            SymbolSlot::Input(i) => self.inputs.get(i).and_then(Option::as_ref),
        }
    }
    fn objects(&self, class: ClassId) -> u32 {
        let mut used = self.sem.used(self.state, class);
        if let Some(after) = self.after {
            for (v, value) in self.sem.shared.iter().zip(after) {
                self.sem.collect_refs(value, self.sem.program.vars[*v].sort, class, &mut used);
            }
        }
        let chosen = self.inputs.iter().flatten().map(|v| if let Value::Ref(n) = v { *n } else { 0 }).max();
        used.last().copied().unwrap_or(0).max(chosen.unwrap_or(0))
    }
}
