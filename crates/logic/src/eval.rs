//! Evaluation: the meaning of terms.
//!
//! In: a term and an `Env` that gives a value to each symbol. Out: the term's value, or why there is none.
//! Partial operations are total here: `x / 0 = 0`, `x % 0 = x`, an index outside a sequence gives the sort's default.
//! Evaluation stops with `Open` at a place whose value is still undecided (see `Value::Any`), and with `Unbounded` at a
//! quantifier whose range it cannot enumerate. Quantifiers over finite sorts are enumerated; over `int` the range is
//! read off the body (`lo <= i && i < hi ==> ..`, `i in s`, `i == e`), or, where the bound symbol is used only as a
//! map index and in comparisons, the finitely many values that can make a difference are tried.
//! Deliberately absent: big integers. A value beyond 128 bits is `TooLarge`, never a wrong value.

mod quantify;

use crate::sort::{ClassId, Sort, SortKind};
use crate::term::{Node, Op, Symbol, Term, Terms};
use crate::value::Value;

/// Where a value is read: a symbol, or an entry of a map it holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReadPlace {
    pub symbol: Symbol,
    pub keys: Vec<Value>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvalError {
    /// The value at this place, of this sort, is not decided.
    Open(ReadPlace, Sort),
    /// A map with undecided entries is used as a whole.
    OpenMap,
    /// No value is known for the symbol.
    Unassigned(Symbol),
    /// The range of a quantifier cannot be enumerated.
    Unbounded,
    /// A number does not fit in 128 bits.
    TooLarge,
}

/// Values of symbols, and how many objects of a class there are.
pub trait Env {
    fn value(&self, symbol: Symbol) -> Option<&Value>;
    /// Objects of a class that anything refers to are among 1..=objects. References are only compared, so these, null and
    /// one more stand for all references when a quantifier is evaluated.
    fn objects(&self, _class: ClassId) -> u32 {
        0
    }
}

impl Env for rustc_hash::FxHashMap<Symbol, Value> {
    fn value(&self, symbol: Symbol) -> Option<&Value> {
        self.get(&symbol)
    }
}

/// An environment with some symbols bound on top of another.
pub(crate) struct BoundEnv<'a> {
    pub under: &'a dyn Env,
    pub symbol: Symbol,
    pub value: Value,
}

impl Env for BoundEnv<'_> {
    fn value(&self, symbol: Symbol) -> Option<&Value> {
        if symbol == self.symbol { Some(&self.value) } else { self.under.value(symbol) }
    }
    fn objects(&self, class: ClassId) -> u32 {
        let under = self.under.objects(class);
        // A reference bound outside is in use for the quantifiers inside; of which class it is does not matter, since
        // more candidates never change the value.
        if let Value::Ref(n) = self.value { under.max(n) } else { under }
    }
}

pub fn eval_term(terms: &Terms, term: Term, env: &dyn Env) -> Result<Value, EvalError> {
    match terms.node(term) {
        Node::Bool(b) => Ok(Value::Bool(b)),
        Node::Num(n, _) => Ok(Value::Int(n)),
        Node::Variant(_, v) => Ok(Value::Variant(v)),
        Node::Ref(_, n) => Ok(Value::Ref(n)),
        Node::Sym(s) => match env.value(s) {
            None => Err(EvalError::Unassigned(s)),
            Some(Value::Any) => Err(EvalError::Open(ReadPlace { symbol: s, keys: vec![] }, terms.symbol_sort(s))),
            Some(v) => Ok(v.clone()),
        },
        Node::Quant(q, bound, body) => quantify::eval(terms, q, &bound, body, env).map(Value::Bool),
        Node::App(op, args) => apply(terms, term, op, &args, env),
    }
}

/// Evaluates a formula.
pub fn holds(terms: &Terms, formula: Term, env: &dyn Env) -> Result<bool, EvalError> {
    match eval_term(terms, formula, env)? {
        Value::Bool(b) => Ok(b),
        other => panic!("a formula has a boolean value, not {other:?}"),
    }
}

fn int(v: Value) -> i128 {
    match v {
        Value::Int(n) => n,
        other => panic!("an integer was expected, not {other:?}"),
    }
}

fn apply(terms: &Terms, term: Term, op: Op, args: &[Term], env: &dyn Env) -> Result<Value, EvalError> {
    let of = |i: usize| eval_term(terms, args[i], env);
    let truth = |i: usize| holds(terms, args[i], env);
    let number = |i: usize| of(i).map(int);
    let fit = |n: Option<i128>| -> Result<Value, EvalError> {
        let n = n.ok_or(EvalError::TooLarge)?;
        Ok(Value::Int(terms.sort_of(term).as_machine().map_or(n, |m| m.wrap(n))))
    };
    match op {
        Op::Not => Ok(Value::Bool(!truth(0)?)),
        // A conjunction is decided by any false conjunct, even where another is open.
        Op::And => junction(terms, args, env, true),
        Op::Or => junction(terms, args, env, false),
        Op::Implies => match truth(0) {
            Ok(false) => Ok(Value::Bool(true)),
            Ok(true) => Ok(Value::Bool(truth(1)?)),
            Err(e) => match truth(1) {
                Ok(true) => Ok(Value::Bool(true)),
                _ => Err(e),
            },
        },
        Op::Ite => {
            if truth(0)? {
                of(1)
            } else {
                of(2)
            }
        }
        Op::Eq => {
            let (a, b) = (of(0)?, of(1)?);
            if a.is_open() || b.is_open() {
                return Err(EvalError::OpenMap);
            }
            Ok(Value::Bool(a == b))
        }
        Op::Lt => Ok(Value::Bool(number(0)? < number(1)?)),
        Op::Le => Ok(Value::Bool(number(0)? <= number(1)?)),
        Op::Add => fit(number(0)?.checked_add(number(1)?)),
        Op::Sub => fit(number(0)?.checked_sub(number(1)?)),
        // Machine integers wrap: the product modulo 2^128 has the right low bits.
        Op::Mul if terms.sort_of(term).as_machine().is_some() => fit(Some(number(0)?.wrapping_mul(number(1)?))),
        Op::Mul => fit(number(0)?.checked_mul(number(1)?)),
        Op::Neg => fit(number(0)?.checked_neg()),
        Op::Div => {
            let (a, b) = (number(0)?, number(1)?);
            fit(if b == 0 { Some(0) } else { a.checked_div_euclid(b) })
        }
        Op::Mod => {
            let (a, b) = (number(0)?, number(1)?);
            fit(if b == 0 { Some(a) } else { a.checked_rem_euclid(b) })
        }
        Op::BitAnd => fit(Some(number(0)? & number(1)?)),
        Op::BitOr => fit(Some(number(0)? | number(1)?)),
        Op::BitXor => fit(Some(number(0)? ^ number(1)?)),
        Op::BitNot => fit(Some(!number(0)?)),
        Op::Shl | Op::Shr => {
            let bits = terms.sort_of(term).as_machine().map_or(64, |m| i128::from(m.bits));
            let amount = number(1)?.rem_euclid(bits) as u32;
            let a = number(0)?;
            fit(Some(if op == Op::Shl { a << amount } else { a >> amount }))
        }
        Op::Cast(_) => fit(Some(number(0)?)),
        Op::Select => {
            let map = of(0)?;
            let key = of(1)?;
            let Value::Map(m) = &map else { panic!("select from a map, not from {map:?}") };
            match m.get(&key) {
                Value::Any => match root(terms, args[0], env)? {
                    Some(mut place) => {
                        place.keys.push(key);
                        Err(EvalError::Open(place, terms.sort_of(term)))
                    }
                    None => Err(EvalError::OpenMap),
                },
                v => Ok(v.clone()),
            }
        }
        Op::Store => {
            let Value::Map(mut m) = of(0)? else { panic!("store into a map") };
            m.set(of(1)?, of(2)?);
            Ok(Value::Map(m))
        }
        Op::ConstMap(sort) => Ok(Value::everywhere(terms, sort, of(0)?)),
        Op::EmptySet(_) => Ok(Value::Set(Default::default())),
        Op::Member => {
            let (e, s) = (of(0)?, set(of(1)?));
            Ok(Value::Bool(s.contains(&e)))
        }
        Op::Insert => {
            let (e, mut s) = (of(0)?, set(of(1)?));
            s.insert(e);
            Ok(Value::Set(s))
        }
        Op::Union => Ok(Value::Set(set(of(0)?).union(&set(of(1)?)).cloned().collect())),
        Op::Minus => Ok(Value::Set(set(of(0)?).difference(&set(of(1)?)).cloned().collect())),
        Op::Subset => Ok(Value::Bool(set(of(0)?).is_subset(&set(of(1)?)))),
        Op::EmptySeq(_) => Ok(Value::Seq(Vec::new())),
        Op::Unit => Ok(Value::Seq(vec![of(0)?])),
        Op::Concat => {
            let mut a = seq(of(0)?);
            a.extend(seq(of(1)?));
            Ok(Value::Seq(a))
        }
        Op::Len => Ok(Value::Int(seq(of(0)?).len() as i128)),
        Op::At => {
            let (q, i) = (seq(of(0)?), number(1)?);
            Ok(usize::try_from(i)
                .ok()
                .and_then(|i| q.get(i).cloned())
                .unwrap_or_else(|| Value::default_of(terms, terms.sort_of(term))))
        }
        Op::Slice => {
            let (q, from, to) = (seq(of(0)?), number(1)?, number(2)?);
            let to = to.clamp(0, q.len() as i128) as usize;
            let from = from.clamp(0, to as i128) as usize;
            Ok(Value::Seq(q[from..to].to_vec()))
        }
    }
}

fn set(v: Value) -> std::collections::BTreeSet<Value> {
    match v {
        Value::Set(s) => s,
        other => panic!("a set was expected, not {other:?}"),
    }
}

fn seq(v: Value) -> Vec<Value> {
    match v {
        Value::Seq(s) => s,
        other => panic!("a sequence was expected, not {other:?}"),
    }
}

/// A conjunction (`unit` true) or disjunction: one deciding argument is enough; else the first error stands.
fn junction(terms: &Terms, args: &[Term], env: &dyn Env, unit: bool) -> Result<Value, EvalError> {
    let mut error = None;
    for a in args {
        match holds(terms, *a, env) {
            Ok(b) if b != unit => return Ok(Value::Bool(b)),
            Ok(_) => {}
            Err(e) => {
                error.get_or_insert(e);
            }
        }
    }
    error.map_or(Ok(Value::Bool(unit)), Err)
}

/// The place a map expression reads its untouched entries from; `None` if it is not a variable's map.
fn root(terms: &Terms, map: Term, env: &dyn Env) -> Result<Option<ReadPlace>, EvalError> {
    Ok(match terms.node(map) {
        Node::Sym(s) => Some(ReadPlace { symbol: s, keys: vec![] }),
        Node::App(Op::Store, args) => root(terms, args[0], env)?,
        Node::App(Op::Select, args) => match root(terms, args[0], env)? {
            Some(mut p) => {
                p.keys.push(eval_term(terms, args[1], env)?);
                Some(p)
            }
            None => None,
        },
        Node::App(Op::Ite, args) => {
            let at = if holds(terms, args[0], env)? { 1 } else { 2 };
            root(terms, args[at], env)?
        }
        _ => None,
    })
}

/// Every value of a finite sort, in order, if there are at most `limit`; objects by `Env::objects`.
pub fn domain(terms: &Terms, sort: Sort, env: &dyn Env, limit: usize) -> Option<Vec<Value>> {
    let values: Vec<Value> = match terms.kind(sort) {
        SortKind::Bool => vec![Value::Bool(false), Value::Bool(true)],
        SortKind::Machine(m) => {
            let count = m.max().checked_sub(m.min())?;
            if count >= limit as i128 {
                return None;
            }
            (m.min()..=m.max()).map(Value::Int).collect()
        }
        SortKind::Enum(e) => (0..terms.enum_size(e) as u32).map(Value::Variant).collect(),
        SortKind::Ref(c) => (0..=env.objects(c)).map(Value::Ref).collect(),
        SortKind::Int | SortKind::Map(..) | SortKind::Set(_) | SortKind::Seq(_) => return None,
    };
    (values.len() <= limit).then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustc_hash::FxHashMap;

    fn env(pairs: &[(Symbol, Value)]) -> FxHashMap<Symbol, Value> {
        pairs.iter().cloned().collect()
    }

    #[test]
    fn check_machine_addition_wraps() {
        let t = Terms::new();
        let u8s = Sort::machine(crate::sort::MachineIntSort { bits: 8, signed: false });
        let sum = t.add(t.num(255, u8s), t.num(1, u8s));
        assert_eq!(eval_term(&t, sum, &env(&[])), Ok(Value::Int(0)));
    }

    #[test]
    fn check_a_map_written_key_by_key_equals_the_constant_map() {
        let t = Terms::new();
        let s = t.map_sort(Sort::BOOL, Sort::INT);
        let ones = t.const_map(s, t.int(1));
        let written = t.store(t.store(t.default_of(s), t.tt(), t.int(1)), t.ff(), t.int(1));
        assert_eq!(holds(&t, t.eq(ones, written), &env(&[])), Ok(true));
    }

    #[test]
    fn check_division_is_euclidean_and_total() {
        let t = Terms::new();
        let d = |a, b| eval_term(&t, t.mk(Op::Div, &[t.int(a), t.int(b)]), &env(&[])).unwrap();
        let m = |a, b| eval_term(&t, t.mk(Op::Mod, &[t.int(a), t.int(b)]), &env(&[])).unwrap();
        assert_eq!((d(-7, 2), m(-7, 2)), (Value::Int(-4), Value::Int(1)));
        assert_eq!((d(-7, -2), m(-7, -2)), (Value::Int(4), Value::Int(1)));
        assert_eq!((d(5, 0), m(5, 0)), (Value::Int(0), Value::Int(5)));
    }

    #[test]
    fn check_an_open_entry_is_named() {
        let t = Terms::new();
        let s = t.map_sort(Sort::INT, Sort::BOOL);
        let m = t.symbol("m", s);
        let read = t.select(t.store(t.sym(m), t.int(1), t.tt()), t.int(2));
        let e = env(&[(m, Value::any_of(&t, s))]);
        let place = ReadPlace { symbol: m, keys: vec![Value::Int(2)] };
        assert_eq!(eval_term(&t, read, &e), Err(EvalError::Open(place, Sort::BOOL)));
    }

    #[test]
    fn check_quantifiers_over_ranges_and_maps() {
        let t = Terms::new();
        let s = t.map_sort(Sort::INT, Sort::INT);
        let (m, i) = (t.symbol("m", s), t.symbol("i", Sort::INT));
        let mut map = Value::map(Value::Int(0));
        if let Value::Map(inner) = &mut map {
            inner.set(Value::Int(3), Value::Int(7));
        }
        let e = env(&[(m, map)]);
        let at = t.select(t.sym(m), t.sym(i));
        let all_zero = t.forall(&[i], t.eq(at, t.int(0)));
        assert_eq!(holds(&t, all_zero, &e), Ok(false));
        let range = t.and(&[t.le(t.int(0), t.sym(i)), t.lt(t.sym(i), t.int(3))]);
        let zero_below = t.forall(&[i], t.implies(range, t.eq(at, t.int(0))));
        assert_eq!(holds(&t, zero_below, &e), Ok(true));
        let some_seven = t.exists(&[i], t.and(&[t.eq(at, t.int(7)), t.lt(t.int(2), t.sym(i))]));
        assert_eq!(holds(&t, some_seven, &e), Ok(true));
        let twice = t.forall(&[i], t.le(t.add(t.sym(i), t.sym(i)), t.int(9)));
        assert_eq!(holds(&t, twice, &e), Err(EvalError::Unbounded));
    }
}
