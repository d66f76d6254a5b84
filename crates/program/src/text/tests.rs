//! Round trips, and texts that must be refused.

use super::terms::{SymbolNames, print_term, read_term};
use super::*;
use crate::model::{Copies, Program};
use crate::semantics::tests::Build;
use logic::{MachineIntSort, Op, Sort, SortKind};

fn sample() -> Program {
    let mut b = Build::new();
    let e = b.p.terms.declare_enum("Phase", vec!["Idle".into(), "Busy \"x\"".into()]);
    let phase = b.p.terms.sort(SortKind::Enum(e));
    let u8s = Sort::machine(MachineIntSort { bits: 8, signed: false });
    let map = b.p.terms.map_sort(Sort::INT, phase);
    let idle = b.p.terms.variant(e, 0);
    let everywhere = b.p.terms.const_map(map, idle);
    let m = b.shared("m", map, Some(everywhere));
    let full = b.p.terms.num(255, u8s);
    let x = b.shared("x", u8s, Some(full));
    let t = b.thread("T", Copies::Exactly(2), 2);
    let i = b.p.terms.symbol("i", Sort::INT);
    let (guard, value) = {
        let p = &b.p;
        let t = &p.terms;
        let busy = t.variant(e, 1);
        let all = t.forall(&[i], t.eq(t.select(p.now(m), t.sym(i)), busy));
        let mut sum = p.now(x);
        // A graph whose tree has 2^200 leaves.
        for _ in 0..200 {
            sum = t.add(sum, sum);
        }
        (all, sum)
    };
    b.act(t, 0, 1, guard, &[(x, value)]);
    let f = b.p.terms.le(b.p.now(x), b.p.next(x));
    b.rely(f);
    b.p.origins
        .push(crate::model::Origin { span: Some(base::Span::new(base::SourceId(0), 3, 9)), text: "a\n\\b".into() });
    b.p
}

#[test]
fn check_a_round_trip_gives_the_same_text_and_symbols() {
    let p = sample();
    let text = print_program(&p);
    let q = read_program(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(print_program(&q), text);
    assert_eq!(p.tid, q.tid);
    for (a, b) in p.vars.iter().zip(q.vars.iter()) {
        assert_eq!((a.symbol, a.primed, &a.name), (b.symbol, b.primed, &b.name));
    }
    assert_eq!(crate::wellformed(&q), vec![]);
    assert!(text.len() < 20_000, "sharing keeps the text small");
}

#[test]
fn check_deep_terms_are_printed_flat_and_read_back() {
    let mut b = Build::new();
    let zero = b.p.terms.int(0);
    let x = b.shared("x", Sort::INT, Some(zero));
    let mut sum = b.p.now(x);
    for i in 0..5000 {
        sum = b.p.terms.add(sum, b.p.terms.int(i));
    }
    let names = SymbolNames::new(&b.p.terms);
    let text = print_term(&b.p.terms, &names, sum);
    assert_eq!(read_term(&b.p.terms, &names, &text), Ok(sum));
}

#[test]
fn check_symbols_of_one_name_are_told_apart() {
    let b = Build::new();
    let t = &b.p.terms;
    let (x, y) = (t.symbol("same", Sort::INT), t.symbol("same", Sort::INT));
    let odd = t.symbol("true", Sort::BOOL);
    let f = t.and(&[t.lt(t.sym(x), t.sym(y)), t.sym(odd)]);
    let names = SymbolNames::new(t);
    let text = print_term(t, &names, f);
    assert_eq!(read_term(t, &names, &text), Ok(f), "{text}");
}

#[test]
fn check_bad_terms_are_refused() {
    let b = Build::new();
    let names = SymbolNames::new(&b.p.terms);
    for bad in [
        "",
        "(",
        ")",
        "()",
        "(and 1 2)",
        "(select 1 2)",
        "%0",
        "(let ((%0 %0)) %0)",
        "x",
        "(variant e0 0)",
        "(ref c3 1)",
        "300:u8",
        "(+ 1 1:u8)",
        "\"s\"",
        "(forall () true)",
        "(cast (map int) 1)",
        "true false",
        "(const int 3)",
        "(not)",
        "(ite true 1 false)",
        "(emptyset int)",
        "(frob 1)",
        "tid#99999",
    ] {
        assert!(read_term(&b.p.terms, &names, bad).is_err(), "{bad}");
    }
    let deep = "(not ".repeat(100_000);
    assert!(read_term(&b.p.terms, &names, &deep).is_err());
    let _ = Op::Not;
}

#[test]
fn check_changed_texts_never_panic() {
    let text = print_program(&sample());
    let mut random = base::Random::new(1);
    for _ in 0..2000 {
        let mut bytes: Vec<char> = text.chars().collect();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len());
            match random.below(3) {
                0 => {
                    bytes.remove(at);
                }
                1 => bytes[at] = *random.pick(&['(', ')', '"', '0', 'v', ' ', '\\', '%']).unwrap(),
                _ => bytes.truncate(at),
            }
            if bytes.is_empty() {
                break;
            }
        }
        if let Ok(p) = read_program(&bytes.into_iter().collect::<String>()) {
            // What is read may be ill-formed, but saying so must work.
            crate::wellformed(&p);
        }
    }
}
