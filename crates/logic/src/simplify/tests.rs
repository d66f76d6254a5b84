//! What particular rules give; that all of them keep the meaning is tested on random terms in `testkit`.

use super::*;
use crate::sort::MachineIntSort;

struct Small {
    t: Terms,
    x: Term,
    y: Term,
    p: Term,
}

fn small() -> Small {
    let t = Terms::new();
    let (x, y, p) = (t.symbol("x", Sort::INT), t.symbol("y", Sort::INT), t.symbol("p", Sort::BOOL));
    let (x, y, p) = (t.sym(x), t.sym(y), t.sym(p));
    Small { t, x, y, p }
}

#[test]
fn check_sums_are_collected() {
    let Small { t, x, y, .. } = small();
    let sum = t.sub(t.add(t.add(x, t.int(2)), y), t.add(x, t.int(5)));
    assert_eq!(t.show(t.simplify(sum)), "y - 3");
    let twice = t.eq(t.mul(t.int(2), x), t.int(5));
    assert!(t.is_false(t.simplify(twice)));
    assert_eq!(t.show(t.simplify(t.lt(t.add(x, t.int(1)), t.add(y, t.int(1))))), "x < y");
    assert_eq!(t.show(t.simplify(t.le(t.mul(t.int(3), x), t.int(7)))), "x <= 2");
    assert_eq!(t.show(t.simplify(t.eq(t.add(x, t.int(1)), t.int(4)))), "x == 3");
}

#[test]
fn check_booleans_are_decided() {
    let Small { t, x, y, p } = small();
    let less = t.lt(x, y);
    assert!(t.is_false(t.simplify(t.and(&[less, p, t.le(y, x)]))));
    assert!(t.is_true(t.simplify(t.implies(t.and(&[p, less]), less))));
    assert_eq!(t.simplify(t.ite(p, t.tt(), t.ff())), p);
    let chosen = t.ite(p, t.int(1), t.int(2));
    assert_eq!(t.simplify(t.eq(chosen, t.int(1))), p);
    assert!(t.is_false(t.simplify(t.eq(chosen, t.int(3)))));
}

#[test]
fn check_reads_see_through_writes() {
    let Small { t, x, .. } = small();
    let map = t.map_sort(Sort::INT, Sort::INT);
    let m = t.symbol("m", map);
    let m = t.sym(m);
    let written = t.store(t.store(m, x, t.int(7)), t.add(x, t.int(1)), t.int(8));
    assert_eq!(t.simplify(t.select(written, x)), t.int(7));
    assert_eq!(t.simplify(t.store(m, x, t.select(m, x))), m);
}

#[test]
fn check_ranges_of_machine_integers_decide_comparisons() {
    let t = Terms::new();
    let u8s = Sort::machine(MachineIntSort { bits: 8, signed: false });
    let b = t.symbol("b", u8s);
    let wide = t.cast(t.sym(b), Sort::INT);
    assert!(t.is_true(t.simplify(t.lt(wide, t.int(256)))));
    assert!(t.is_true(t.simplify(t.le(t.num(0, u8s), t.sym(b)))));
    assert!(t.is_false(t.simplify(t.eq(wide, t.int(-1)))));
    assert_eq!(t.simplify(t.cast(wide, u8s)), t.sym(b));
    // Wrapping arithmetic is not linear over the integers: 255 + 1 < 1 + 1 holds and 255 < 1 does not.
    let sum = t.lt(t.add(t.sym(b), t.num(1, u8s)), t.add(t.num(1, u8s), t.num(1, u8s)));
    assert_ne!(t.simplify(sum), t.simplify(t.lt(t.sym(b), t.num(1, u8s))));
}

#[test]
fn check_an_equation_removes_a_quantifier() {
    let Small { t, x, y, .. } = small();
    let i = t.symbol("i", Sort::INT);
    let is = t.sym(i);
    let some = t.exists(&[i], t.and(&[t.eq(is, t.add(x, t.int(1))), t.lt(is, y)]));
    assert_eq!(t.show(t.simplify(some)), "x + 2 <= y");
    assert!(t.is_true(t.simplify(t.forall(&[i], t.implies(t.eq(is, x), t.le(x, is))))));
    assert_eq!(t.simplify(t.forall(&[i], t.lt(x, y))), t.lt(x, y));
}

#[test]
fn check_large_graphs_and_deep_terms_are_simplified_at_once() {
    let Small { t, x, y, p } = small();
    let mut sum = x;
    let mut deep = p;
    for i in 0..20_000 {
        if i < 300 {
            sum = t.add(sum, sum);
        }
        deep = t.or(&[t.and(&[deep, t.lt(x, t.int(i))]), t.lt(y, t.int(i))]);
    }
    t.simplify(t.lt(sum, y));
    t.simplify(deep);
}
