//! The simplifier against evaluation, on random terms and random values.

use base::Random;
use logic::{EvalError, MachineIntSort, Sort, SortKind, Symbol, Term, Terms, Value, eval_term};
use rustc_hash::FxHashMap;
use testkit::random;

fn value(t: &Terms, r: &mut Random, sort: Sort) -> Value {
    match t.kind(sort) {
        SortKind::Bool => Value::Bool(r.chance(50)),
        SortKind::Int => Value::Int(r.between(-3, 5)),
        SortKind::Machine(m) => {
            let some = [m.min(), m.min() + 1, -1, 0, 1, 2, 7, m.max() - 1, m.max()];
            let n = some[r.below(some.len())];
            Value::Int(m.wrap(n))
        }
        SortKind::Enum(e) => Value::Variant(r.below(t.enum_size(e)) as u32),
        SortKind::Ref(_) => Value::Ref(r.below(3) as u32),
        SortKind::Map(k, v) => {
            let mut map = Value::map(value(t, r, v));
            if let Value::Map(m) = &mut map {
                for _ in 0..r.below(4) {
                    m.set(value(t, r, k), value(t, r, v));
                }
            }
            map
        }
        SortKind::Set(e) => Value::Set((0..r.below(4)).map(|_| value(t, r, e)).collect()),
        SortKind::Seq(e) => Value::Seq((0..r.below(4)).map(|_| value(t, r, e)).collect()),
    }
}

struct Table {
    t: Terms,
    symbols: Vec<Symbol>,
    leaves: Vec<Term>,
}

fn table() -> Table {
    let t = Terms::new();
    let e = t.declare_enum("E", vec!["A".into(), "B".into(), "C".into()]);
    let c = t.declare_class("C");
    let (en, re) = (t.sort(SortKind::Enum(e)), t.sort(SortKind::Ref(c)));
    let mut sorts = vec![Sort::INT, Sort::INT, Sort::BOOL, Sort::BOOL, en, re];
    sorts.extend(
        [MachineIntSort { bits: 8, signed: true }, MachineIntSort { bits: 8, signed: false }].map(Sort::machine),
    );
    sorts.push(t.map_sort(Sort::INT, Sort::INT));
    sorts.push(t.map_sort(Sort::INT, Sort::BOOL));
    sorts.push(t.map_sort(re, re));
    sorts.push(t.sort(SortKind::Set(Sort::INT)));
    sorts.push(t.sort(SortKind::Seq(Sort::INT)));
    let symbols: Vec<Symbol> = sorts.iter().enumerate().map(|(i, s)| t.symbol(format!("x{i}"), *s)).collect();
    let leaves = symbols.iter().map(|s| t.sym(*s)).collect();
    Table { t, symbols, leaves }
}

#[test]
fn check_simplified_terms_have_the_same_value() {
    let (mut compared, mut changed) = (0, 0);
    for seed in 0..6000 {
        let Table { t, symbols, leaves } = table();
        let mut r = Random::new(seed);
        let sort = t.sort_of(leaves[r.below(leaves.len())]);
        let depth = 2 + r.below(4);
        let term = random::term(&t, &mut r, &leaves, sort, depth);
        let simple = t.simplify(term);
        assert_eq!(t.sort_of(simple), sort);
        changed += usize::from(simple != term);
        for _ in 0..6 {
            let env: FxHashMap<Symbol, Value> =
                symbols.iter().map(|s| (*s, value(&t, &mut r, t.symbol_sort(*s)))).collect();
            match eval_term(&t, term, &env) {
                Err(EvalError::TooLarge | EvalError::Unbounded) => {}
                Err(e) => panic!("seed {seed}: {e:?}"),
                Ok(want) => {
                    let got = eval_term(&t, simple, &env);
                    assert_eq!(got, Ok(want), "seed {seed}: {} became {}", t.show(term), t.show(simple));
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 25_000 && changed > 3000, "{compared} compared, {changed} changed");
}

#[test]
fn check_simplifying_again_changes_nothing_in_most_terms() {
    let mut again = 0;
    for seed in 0..1500 {
        let Table { t, leaves, .. } = table();
        let mut r = Random::new(seed);
        let term = random::term(&t, &mut r, &leaves, Sort::BOOL, 4);
        let once = t.simplify(term);
        again += usize::from(t.simplify(once) != once);
    }
    assert!(again < 60, "{again} of 1500 terms change when simplified again");
}
