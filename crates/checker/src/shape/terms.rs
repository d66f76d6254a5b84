//! The program's own terms, evaluated on a fragment.
//!
//! In: a term, a fragment, the choices made so far. Out: a value, or what must be decided first. Types are not
//! inferred: what an integer is shows in the value it has (a number, a thread, a key, the value a cell stands for).

use super::fragment::{FieldSlot, Fragment, FragmentProgress, KeyOrder, V, Who};
use logic::{ClassId, Node, Op, SortKind, Symbol, Term};
use program::{Program, Scope, VarId, VarKind};
use rustc_hash::FxHashMap;

/// Why evaluation or a step cannot go on.
#[derive(Clone, Debug)]
pub(crate) enum Halt {
    /// The field (or, with `None`, the successor) of a cell must be decided.
    Decide(usize, Option<usize>),
    /// The variable of the thread that moves must be decided.
    DecideVariable(VarId),
    /// Nothing known decides the term (read for the second term): try each value.
    Choose((u32, Term, Term), Vec<V>),
    /// There is no such state, or the step is not enabled.
    Impossible,
    /// The check fails; why.
    Fail(String),
}

/// A term's value: a value, or a map or collection with what was done to it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum T {
    V(V),
    /// With the entries that were written, and the variables these values are copied from.
    Field(VarId, Vec<(V, V, Option<VarId>)>),
    /// With the objects that were made, and those that were freed.
    Live(ClassId, Vec<V>, Vec<V>),
    /// The state of the specification, and what an expression makes of it.
    State,
    Length,
    Front(V),
    Back(V),
    Rest,
    With(V),
    Without(V),
    One(V),
    Nothing,
}

pub(crate) type Choices = Vec<((u32, Term, Term), V)>;

/// Symbols with a value of their own: inputs, the specification's parameters and results.
pub(super) type Bound = FxHashMap<Symbol, V>;

pub(crate) struct FragmentEval<'e, 'a> {
    pub at: &'e Fragment<'a>,
    pub names: &'e FxHashMap<Symbol, VarId>,
    pub bound: &'e Bound,
    pub choices: &'e Choices,
    /// Tells apart evaluations of one term in different stores of one step.
    pub phase: u32,
    /// The specification's state variable.
    pub state: Option<Symbol>,
    pub touched: bool,
    memo: FxHashMap<Term, T>,
}

pub(crate) fn halt_with<X>(why: impl Into<String>) -> Result<X, Halt> {
    Err(Halt::Fail(why.into()))
}

impl<'e, 'a> FragmentEval<'e, 'a> {
    pub(super) fn new(
        at: &'e Fragment<'a>,
        names: &'e FxHashMap<Symbol, VarId>,
        bound: &'e Bound,
        choices: &'e Choices,
        phase: u32,
        state: Option<Symbol>,
    ) -> Self {
        Self { at, names, bound, choices, phase, state, touched: false, memo: FxHashMap::default() }
    }
    fn choose(&self, term: Term, reader: Term, options: Vec<V>) -> Result<V, Halt> {
        let key = (self.phase, term, reader);
        match self.choices.iter().find(|(k, _)| *k == key) {
            Some((_, v)) => Ok(v.clone()),
            None => Err(Halt::Choose(key, options)),
        }
    }
    fn either(&self, term: Term, reader: Term) -> Result<bool, Halt> {
        Ok(self.choose(term, reader, vec![V::Bool(false), V::Bool(true)])? == V::Bool(true))
    }
    pub(super) fn holds(&mut self, term: Term) -> Result<bool, Halt> {
        match self.value(term)? {
            V::Bool(b) => Ok(b),
            V::Any => self.either(term, term),
            _ => halt_with("a formula has no truth value"),
        }
    }
    pub(super) fn value(&mut self, term: Term) -> Result<V, Halt> {
        match self.term(term)? {
            T::V(v) => Ok(v),
            _ => halt_with("a map or a collection is used as a value"),
        }
    }
    pub(super) fn term(&mut self, term: Term) -> Result<T, Halt> {
        if let Some(t) = self.memo.get(&term) {
            return Ok(t.clone());
        }
        let t = self.fresh(term)?;
        self.memo.insert(term, t.clone());
        Ok(t)
    }
    fn fresh(&mut self, term: Term) -> Result<T, Halt> {
        let program = self.at.world.program;
        Ok(match program.terms.node(term) {
            Node::Bool(b) => T::V(V::Bool(b)),
            Node::Num(n, _) => T::V(V::Number(n)),
            Node::Variant(_, v) => T::V(V::Variant(v)),
            Node::Ref(_, 0) => T::V(V::Null),
            Node::Ref(..) => return halt_with("a numbered object"),
            Node::Quant(..) => return halt_with("a quantifier"),
            Node::Sym(s) => return self.symbol(s),
            Node::App(op, args) => return self.apply(term, op, &args),
        })
    }
    fn symbol(&mut self, s: Symbol) -> Result<T, Halt> {
        let program = self.at.world.program;
        if let Some(v) = self.bound.get(&s) {
            return Ok(T::V(v.clone()));
        }
        if s == program.tid {
            return Ok(T::V(V::Id(Who::Own)));
        }
        if Some(s) == self.state {
            self.touched = true;
            return Ok(T::State);
        }
        let Some(&var) = self.names.get(&s) else { return halt_with("an unknown symbol") };
        let v = &program.vars[var];
        match v.kind {
            VarKind::Field(_) => Ok(T::Field(var, Vec::new())),
            VarKind::Live(c) => Ok(T::Live(c, Vec::new(), Vec::new())),
            _ => {
                self.touched |= v.scope == Scope::Shared;
                if !matches!(
                    program.terms.kind(v.sort),
                    SortKind::Bool | SortKind::Int | SortKind::Machine(_) | SortKind::Enum(_) | SortKind::Ref(_)
                ) {
                    return halt_with(format!("{} is of a type that views cannot hold", v.name));
                }
                match &self.at.vars[var.index()] {
                    V::Open => Err(Halt::DecideVariable(var)),
                    v => Ok(T::V(v.clone())),
                }
            }
        }
    }
    fn apply(&mut self, term: Term, op: Op, args: &[Term]) -> Result<T, Halt> {
        let program = self.at.world.program;
        let truth = |b| Ok(T::V(V::Bool(b)));
        match op {
            Op::Not => {
                let b = self.holds(args[0])?;
                truth(!b)
            }
            Op::And => {
                for a in args {
                    if !self.holds(*a)? {
                        return truth(false);
                    }
                }
                truth(true)
            }
            Op::Or => {
                for a in args {
                    if self.holds(*a)? {
                        return truth(true);
                    }
                }
                truth(false)
            }
            Op::Implies => {
                let b = !self.holds(args[0])? || self.holds(args[1])?;
                truth(b)
            }
            Op::Ite => {
                let at = if self.holds(args[0])? { 1 } else { 2 };
                self.term(args[at])
            }
            Op::Eq => {
                let (a, b) = (self.term(args[0])?, self.term(args[1])?);
                let known = match (&a, &b) {
                    (T::V(x), T::V(y)) => same(x, y),
                    (T::Length, T::V(V::Number(0))) | (T::V(V::Number(0)), T::Length) => Some(self.empty()?),
                    (T::State, T::Nothing) | (T::Nothing, T::State) => Some(self.empty()?),
                    (T::Length, T::Length) => Some(true),
                    _ => return halt_with("a comparison of collections"),
                };
                self.decided(term, known)
            }
            Op::Lt | Op::Le => {
                let (a, b) = (self.term(args[0])?, self.term(args[1])?);
                let strict = op == Op::Lt;
                let known = match (&a, &b) {
                    (T::V(x), T::V(y)) => below(x, y, strict),
                    (T::V(V::Number(n)), T::Length) => match n + i128::from(strict) {
                        n if n <= 0 => Some(true),
                        1 => Some(!self.empty()?),
                        _ => return halt_with("the length of the sequence"),
                    },
                    (T::Length, T::V(V::Number(n))) => match n - i128::from(strict) {
                        n if n < 0 => Some(false),
                        0 => Some(self.empty()?),
                        _ => return halt_with("the length of the sequence"),
                    },
                    (T::Length, T::Length) => Some(!strict),
                    _ => return halt_with("a comparison of collections"),
                };
                self.decided(term, known)
            }
            Op::Select => {
                let map = self.term(args[0])?;
                let key = self.value(args[1])?;
                let T::Field(field, writes) = map else { return halt_with("a map that is not a field") };
                for (k, v, _) in writes.iter().rev() {
                    let hit = match same(k, &key) {
                        Some(b) => b,
                        None => self.either(args[0], term)?,
                    };
                    if hit {
                        return Ok(T::V(v.clone()));
                    }
                }
                Ok(T::V(self.read(field, &key)?))
            }
            Op::Store => {
                let T::Field(field, mut writes) = self.term(args[0])? else {
                    return halt_with("a map that is not a field");
                };
                let (k, v) = (self.value(args[1])?, self.value(args[2])?);
                let from = program.terms.as_symbol(args[2]).and_then(|s| self.names.get(&s)).copied();
                writes.push((k, v, from));
                Ok(T::Field(field, writes))
            }
            Op::EmptySet(_) | Op::EmptySeq(_) => Ok(T::Nothing),
            Op::Unit => Ok(T::One(self.value(args[0])?)),
            Op::Insert => {
                let set = self.term(args[1])?;
                let v = self.value(args[0])?;
                match set {
                    T::Live(c, mut more, less) => {
                        more.push(v);
                        Ok(T::Live(c, more, less))
                    }
                    T::State => Ok(T::With(v)),
                    T::Nothing => Ok(T::One(v)),
                    _ => halt_with("a set"),
                }
            }
            Op::Union | Op::Concat => match (self.term(args[0])?, self.term(args[1])?) {
                (T::Live(c, mut more, less), T::One(v)) if op == Op::Union => {
                    more.push(v);
                    Ok(T::Live(c, more, less))
                }
                (T::State, T::One(v)) if op == Op::Union => Ok(T::With(v)),
                (T::State, T::One(v)) => Ok(T::Back(v)),
                (T::One(v), T::State) if op == Op::Concat => Ok(T::Front(v)),
                _ => halt_with("a union or concatenation"),
            },
            Op::Minus => match (self.term(args[0])?, self.term(args[1])?) {
                (T::State, T::One(v)) => Ok(T::Without(v)),
                (T::Live(c, more, mut less), T::One(v)) => {
                    less.push(v);
                    Ok(T::Live(c, more, less))
                }
                _ => halt_with("a difference of sets"),
            },
            Op::Member => {
                let set = self.term(args[1])?;
                let e = self.value(args[0])?;
                let known = match set {
                    T::State => match e {
                        V::Key(KeyOrder::Equal) => self.at.member,
                        _ => None,
                    },
                    // No step both makes and frees objects.
                    T::Live(_, _, less) if less.iter().any(|m| same(m, &e) == Some(true)) => Some(false),
                    T::Live(_, _, less) if less.iter().any(|m| same(m, &e).is_none()) => None,
                    T::Live(_, more, _) => {
                        if more.iter().any(|m| same(m, &e) == Some(true)) {
                            Some(true)
                        } else if more.iter().any(|m| same(m, &e).is_none()) {
                            None
                        } else {
                            match e {
                                V::Null => Some(false),
                                V::Object(d) => Some(!self.at.items[d].new),
                                _ => None,
                            }
                        }
                    }
                    _ => return halt_with("membership"),
                };
                self.decided(term, known)
            }
            Op::Len => match self.term(args[0])? {
                T::State => Ok(T::Length),
                _ => halt_with("a length"),
            },
            Op::At => {
                let first = self.at.ends.clone();
                match (self.term(args[0])?, self.term(args[1])?, first) {
                    (T::State, T::V(V::Number(0)), Some((first, _))) => Ok(T::V(first)),
                    _ => halt_with("an element of a sequence other than the first"),
                }
            }
            Op::Slice => match (self.term(args[0])?, self.term(args[1])?, self.term(args[2])?) {
                (T::State, T::V(V::Number(1)), T::Length) => Ok(T::Rest),
                _ => halt_with("a part of a sequence"),
            },
            Op::ConstMap(_) | Op::Subset => halt_with("a term that views cannot hold"),
            // Arithmetic: the operands are looked at for what they touch, the value is not known.
            _ => {
                for a in args {
                    self.term(*a)?;
                }
                Ok(T::V(V::Any))
            }
        }
    }
    fn decided(&self, term: Term, known: Option<bool>) -> Result<T, Halt> {
        Ok(T::V(V::Bool(match known {
            Some(b) => b,
            None => self.either(term, term)?,
        })))
    }
    fn empty(&self) -> Result<bool, Halt> {
        match &self.at.ends {
            Some((first, _)) => Ok(*first == V::Null),
            None => halt_with("the length of something that is not the specification's sequence"),
        }
    }
    /// The value of a field of a cell.
    pub(super) fn read(&mut self, field: VarId, key: &V) -> Result<V, Halt> {
        match key {
            V::Null => Ok(V::Any),
            V::Object(d) => {
                let item = &self.at.items[*d];
                self.touched |= item.owner.is_none();
                let Some(f) = self.at.world.position(item.class, field) else {
                    return halt_with("a field of another class");
                };
                match &item.fields[f] {
                    FieldSlot::Is(v) => Ok(v.clone()),
                    FieldSlot::Open => Err(Halt::Decide(*d, Some(f))),
                }
            }
            _ => halt_with("a field of an unknown object is read"),
        }
    }
}

/// Whether two values are the same; `None` where that is not known.
pub(crate) fn same(a: &V, b: &V) -> Option<bool> {
    match (a, b) {
        (V::Any, _) | (_, V::Any) => None,
        (V::Object(_) | V::Null, V::Object(_) | V::Null) => Some(a == b),
        (V::Bool(_), V::Bool(_)) | (V::Variant(_), V::Variant(_)) | (V::Number(_), V::Number(_)) => Some(a == b),
        // Two threads out of sight may be one or two.
        (V::Id(Who::Third), V::Id(Who::Third)) => None,
        (V::Id(x), V::Id(y)) => Some(x == y),
        // A thread's id is positive.
        (V::Id(_), V::Number(n)) | (V::Number(n), V::Id(_)) => {
            if *n <= 0 {
                Some(false)
            } else {
                None
            }
        }
        (V::Key(KeyOrder::Equal), V::Key(KeyOrder::Equal)) => Some(true),
        (V::Key(x), V::Key(y)) => {
            if x == y {
                None
            } else {
                Some(false)
            }
        }
        // Two names of values may be equal numbers; one name is one number.
        (V::Datum(x), V::Datum(y)) if x == y => Some(true),
        (V::Argument(x), V::Argument(y)) if x == y => Some(true),
        _ => None,
    }
}

fn below(a: &V, b: &V, strict: bool) -> Option<bool> {
    let rank = |s: &KeyOrder| match s {
        KeyOrder::Below => 0,
        KeyOrder::Equal => 1,
        KeyOrder::Above => 2,
    };
    match (a, b) {
        (V::Number(x), V::Number(y)) => Some(if strict { x < y } else { x <= y }),
        (V::Key(KeyOrder::Equal), V::Key(KeyOrder::Equal)) => Some(!strict),
        (V::Key(x), V::Key(y)) if x != y => Some(rank(x) < rank(y)),
        _ => None,
    }
}

/// What the specification's run leaves behind, for `FragmentProgress`.
pub(crate) fn remembered(progress: &FragmentProgress) -> Option<&[V]> {
    match progress {
        FragmentProgress::No => None,
        FragmentProgress::Pure(v) | FragmentProgress::Changed(v) => Some(v),
    }
}

/// The value that a variable starts with.
pub(super) fn initial(program: &Program, var: VarId) -> Result<V, Halt> {
    Ok(match program.vars[var].initial.map(|t| program.terms.node(t)) {
        None => V::Any,
        Some(Node::Bool(b)) => V::Bool(b),
        Some(Node::Num(n, _)) => V::Number(n),
        Some(Node::Variant(_, v)) => V::Variant(v),
        Some(Node::Ref(_, 0)) => V::Null,
        Some(_) => V::Any,
    })
}
