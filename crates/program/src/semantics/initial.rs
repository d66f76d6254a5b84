//! Initial states: initial values, then the `init` formulas, which define or constrain what is left open.
//!
//! In: numbers of instances. Out: initial states with the choices that lead to them, or the one state that given
//! choices lead to.

use super::decide::Sampling;
use super::{Choice, InstanceCounts, Semantics, State, StateView, SymbolSlot};
use logic::{EvalError, Node, Op, Quantifier, ReadPlace, Symbol, Term, Value};

/// The initial states of given numbers of instances, each with what was decided in it.
#[derive(Clone, Debug, Default)]
pub struct InitialStates {
    pub states: Vec<(State, Vec<Choice>)>,
    /// Some initial states are missing; why.
    pub incomplete: Option<String>,
}

impl Semantics<'_> {
    /// The state before any choice: initial values, and values that an `init` formula gives outright.
    pub fn undecided_start(&self, instances: &InstanceCounts) -> Result<State, EvalError> {
        let p = self.program;
        let nothing = State { shared: Vec::new(), instances: Vec::new(), entered: None };
        let view = StateView::of_store(self, &nothing);
        let value = |v: &crate::model::VarId| match p.vars[*v].initial {
            Some(e) => view.eval(e),
            None => Ok(Value::any_of(&p.terms, p.vars[*v].sort)),
        };
        let shared = self.shared.iter().map(value).collect::<Result<Vec<_>, _>>()?;
        let mut state = State { shared, instances: Vec::new(), entered: None };
        for (thread, count) in p.threads.ids().zip(&instances.0) {
            for _ in 0..*count {
                let tid = state.instances.len() as u32 + 1;
                state.instances.push(self.new_instance(thread, tid)?);
            }
        }
        let facts: Vec<Term> = self.init_facts();
        // Definitions may use one another, in any order.
        loop {
            let found = facts.iter().find_map(|f| self.definition(&state, *f));
            let Some((at, value)) = found else { return Ok(state) };
            state.shared[at] = value;
        }
    }

    pub(crate) fn init_facts(&self) -> Vec<Term> {
        let written = self.program.init.iter().filter_map(|f| f.formula);
        let mut facts = Vec::new();
        for f in written {
            self.split_init(&[], f, &mut facts);
        }
        facts
    }

    /// The conjuncts of a formula under quantifiers, each as one `forall` over everything bound around it, however the formula nests them:
    /// `forall i :: forall j :: m[i][j] == 0` defines a map as `forall i, j :: m[i][j] == 0` does.
    fn split_init(&self, bound: &[Symbol], formula: Term, out: &mut Vec<Term>) {
        let t = &self.program.terms;
        for f in t.conjuncts(formula) {
            match t.node(f) {
                // A symbol that is bound twice means the inner one; such a formula stays as it is written.
                Node::Quant(Quantifier::Forall, inner, body) if !inner.iter().any(|s| bound.contains(s)) => {
                    let all: Vec<Symbol> = bound.iter().chain(inner.iter()).copied().collect();
                    self.split_init(&all, body, out);
                }
                _ => {
                    let free = t.free_symbols(f);
                    let named: Vec<Symbol> = bound.iter().copied().filter(|s| free.contains(s)).collect();
                    out.push(if named.is_empty() { f } else { t.forall(&named, f) });
                }
            }
        }
    }

    /// `x == e` and `forall i :: m[i] == e` for a variable that is wholly open and an `e` that has a value.
    fn definition(&self, state: &State, fact: Term) -> Option<(usize, Value)> {
        let t = &self.program.terms;
        let (bound, body): (Vec<Symbol>, Term) = match t.node(fact) {
            Node::Quant(Quantifier::Forall, bound, body) => (bound.to_vec(), body),
            _ => (Vec::new(), fact),
        };
        let sides: Vec<(Term, Term)> = match t.app(body) {
            Some((Op::Eq, a)) => vec![(a[0], a[1]), (a[1], a[0])],
            Some((Op::Not, a)) => vec![(a[0], t.ff())],
            _ => vec![(body, t.tt())],
        };
        sides.into_iter().find_map(|(left, right)| {
            let (symbol, keys) = self.read_of(left)?;
            // The keys are the bound symbols, each once, in the order of the map's indexes.
            let distinct = keys.iter().enumerate().all(|(i, k)| bound.contains(k) && !keys[..i].contains(k));
            if !distinct || keys.len() != bound.len() || t.free_symbols(right).iter().any(|s| bound.contains(s)) {
                return None;
            }
            let SymbolSlot::Shared(at) = self.slot(symbol) else { return None };
            if state.shared[at] != Value::any_of(t, t.symbol_sort(symbol)) {
                return None;
            }
            let value = StateView::of_store(self, state).eval(right).ok().filter(|v| !v.is_open())?;
            Some((at, keys.iter().fold(value, |v, _| Value::map(v))))
        })
    }

    /// `m[i][j]` with symbols as keys.
    fn read_of(&self, term: Term) -> Option<(Symbol, Vec<Symbol>)> {
        let t = &self.program.terms;
        match t.node(term) {
            Node::Sym(s) => Some((s, Vec::new())),
            Node::App(Op::Select, args) => {
                let (s, mut keys) = self.read_of(args[0])?;
                keys.push(t.as_symbol(args[1])?);
                Some((s, keys))
            }
            _ => None,
        }
    }

    /// Every initial state, up to values that nothing looks at yet.
    pub fn initial(&self, instances: &InstanceCounts, sampling: Sampling) -> InitialStates {
        let mut out = InitialStates::default();
        let start = match self.undecided_start(instances) {
            Ok(start) => start,
            Err(e) => {
                out.incomplete = Some(format!("an initial value could not be evaluated ({e:?})"));
                return out;
            }
        };
        let facts = self.init_facts();
        let mut todo = vec![(start, Vec::new())];
        let mut ways = 0;
        while let Some((state, choices)) = todo.pop() {
            ways += 1;
            if ways > sampling.ways {
                out.incomplete.get_or_insert("too many initial states".into());
                break;
            }
            let mut open: Option<EvalError> = None;
            let view = StateView::of_store(self, &state);
            let mut excluded = false;
            for f in &facts {
                match view.holds(*f) {
                    Ok(true) => {}
                    Ok(false) => excluded = true,
                    Err(e) => open = open.or(Some(e)),
                }
            }
            match open {
                _ if excluded => {}
                None => out.states.push((state, choices)),
                Some(EvalError::Open(place, _)) if self.beyond(&view, &place) => {
                    out.incomplete.get_or_insert("`init` speaks of the fields of all objects".into());
                }
                Some(EvalError::Open(place, sort)) => {
                    let found = match self.candidates(&view, &place, sort, &facts, sampling) {
                        Ok(found) => found,
                        Err(e) => {
                            out.incomplete.get_or_insert(format!("`init` could not be evaluated ({e:?})"));
                            continue;
                        }
                    };
                    if !found.exhaustive {
                        let name = self.program.terms.symbol_name(place.symbol);
                        out.incomplete.get_or_insert(format!("only some initial values of `{name}` were tried"));
                    }
                    for value in found.values.into_iter().rev() {
                        let choice = Choice { instance: None, place: place.clone(), value };
                        let mut next = state.clone();
                        if self.decide(&mut next, &choice) {
                            todo.push((next, choices.iter().cloned().chain([choice]).collect()));
                        } else {
                            out.incomplete.get_or_insert("a place of `init` could not be decided".into());
                        }
                    }
                }
                Some(e) => {
                    out.incomplete.get_or_insert(format!("`init` could not be evaluated ({e:?})"));
                }
            }
        }
        out
    }

    /// The initial state with exactly these choices; the reason, where `init` does not hold in it.
    pub fn start(&self, instances: &InstanceCounts, choices: &[Choice]) -> Result<State, String> {
        if !instances.allowed(self.program) {
            return Err("the numbers of instances are not those of the program".into());
        }
        let start = self.undecided_start(instances).map_err(|e| format!("an initial value has none ({e:?})"))?;
        let state = self.decide_all(&start, choices)?;
        for f in self.init_facts() {
            match StateView::of_store(self, &state).holds(f) {
                Ok(true) => {}
                Ok(false) => return Err(format!("`init {}` is false", self.program.terms.show(f))),
                Err(EvalError::Open(ReadPlace { symbol, .. }, _)) => {
                    let name = self.program.terms.symbol_name(symbol);
                    return Err(format!("`init` reads `{name}`, which is not decided"));
                }
                Err(e) => return Err(format!("`init` could not be evaluated ({e:?})")),
            }
        }
        Ok(state)
    }
}
