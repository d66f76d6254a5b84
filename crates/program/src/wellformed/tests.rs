//! Each rule has a program that breaks it alone.

use super::*;
use crate::code::{Gate, LocId, Update};
use crate::semantics::tests::Build;

fn base() -> (Build, ThreadId, VarId, VarId) {
    let mut b = Build::new();
    let zero = b.p.terms.int(0);
    let x = b.shared("x", Sort::INT, Some(zero));
    let t = b.thread("T", Copies::One, 3);
    let j = b.local(t, "j", Sort::INT, None);
    let (tt, xs) = (b.p.terms.tt(), b.p.now(x));
    b.act(t, 0, 1, tt, &[(j, xs)]);
    let fine = b.p.terms.le(b.p.now(j), b.p.now(x));
    b.gate(t, 1, 2, fine);
    (b, t, x, j)
}

fn broken(change: impl FnOnce(&mut Build, ThreadId, VarId, VarId), expected: &str) {
    let (mut b, t, x, j) = base();
    change(&mut b, t, x, j);
    let faults = wellformed(&b.p);
    let texts: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert!(texts.iter().any(|f| f.contains(expected)), "{expected:?} not in {texts:#?}");
}

#[test]
fn check_a_right_program_has_no_faults() {
    let (b, ..) = base();
    assert_eq!(wellformed(&b.p), vec![]);
}

#[test]
fn check_each_broken_rule_is_reported() {
    broken(|b, t, _, _| b.p.threads[t].code.entry = LocId(9), "its entry does not exist");
    broken(|b, t, _, _| b.p.threads[t].code.exit = Some(LocId(1)), "nothing leaves the exit");
    broken(|b, t, _, _| b.p.threads[t].code.actions[crate::ActionId(0)].to = LocId(7), "location L7 does not exist");
    broken(
        |b, t, x, _| {
            let a = &mut b.p.threads[t].code.actions[crate::ActionId(0)];
            a.guard = b.p.terms.sym(b.p.vars[x].symbol);
        },
        "the guard has sort int, not bool",
    );
    broken(
        |b, t, x, _| {
            let next = b.p.next(x);
            b.p.threads[t].code.actions[crate::ActionId(0)].updates[0].value = next;
        },
        "mentions `x'`",
    );
    broken(
        |b, t, _, j| {
            let one = b.p.terms.int(1);
            b.p.threads[t].code.actions[crate::ActionId(0)].updates.push(Update { var: j, value: one });
        },
        "is updated twice",
    );
    broken(
        |b, _, x, j| {
            let u = b.thread("U", Copies::One, 2);
            let (tt, js) = (b.p.terms.tt(), b.p.now(j));
            b.act(u, 0, 1, tt, &[(x, js)]);
        },
        "mentions `j`",
    );
    broken(
        |b, t, x, _| {
            let s = b.p.terms.symbol("v", Sort::INT);
            let (tt, v) = (b.p.terms.tt(), b.p.terms.sym(s));
            b.act_with(t, 0, 1, vec![s], tt, &[(x, v)]);
            b.act_with(t, 0, 1, vec![s], tt, &[(x, v)]);
        },
        "is used elsewhere too",
    );
    broken(
        |b, t, x, _| {
            let p = b.p.terms.le(b.p.now(x), b.p.now(x));
            let property = b.invariant(p);
            b.p.threads[t].code.actions[crate::ActionId(1)].gates.push(Gate { property, formula: p });
        },
        "cannot be a gate's",
    );
    broken(|b, t, _, _| b.p.threads[t].copies = Copies::Exactly(0), "at least one copy");
    broken(|b, t, _, _| b.p.threads[t].copies = Copies::Exactly(1), "a single copy is written");
    broken(|b, t, _, _| b.p.threads[t].code.locations[LocId(0)].in_atomic_block = true, "entry is inside");
    broken(|b, t, _, _| b.p.threads[t].locals.clear(), "its thread does not list it");
    broken(
        |b, _, x, _| {
            let f = b.p.terms.eq(b.p.now(x), b.p.terms.sym(b.p.tid));
            b.invariant(f);
        },
        "mentions `tid`",
    );
    broken(|b, _, _, _| b.p.properties[PropertyId(0)].origin = OriginId(99), "origin o99 does not exist");
    broken(
        |b, _, _, _| {
            let p = b.p.properties[PropertyId(0)].clone();
            b.p.properties.push(p);
        },
        "another property has this name",
    );
}
