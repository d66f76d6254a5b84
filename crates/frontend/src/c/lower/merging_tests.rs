//! What merging keeps: random programs with all steps merged and with none, and atomic sections beside each other.
//!
//! In: seeds. Out: programs with two threads, two mutexes, atomic sections and two variables, searched both ways. Deliberately absent: what the programs mean (`tests`).

use super::tests::{Answer, answer};
use crate::c::lower::{Merging, lower_with};
use crate::c::{CCheck, DataModel};
use base::Sources;
use program::semantics::{InstanceCounts, ReachLimits, reachable_states};
use std::path::Path;

/// A small program with two threads, two mutexes and two variables, by a seed.
fn random_program(seed: u64) -> String {
    let mut random = base::Random::new(seed);
    let mut pick = |n: usize| random.below(n);
    let mut body = |length: u64, asserts: bool| {
        let mut out = String::new();
        let mut held: Vec<&str> = Vec::new();
        for _ in 0..length {
            let (a, b) = if pick(2) == 0 { ("x", "y") } else { ("y", "x") };
            let k = pick(3);
            match pick(10) {
                0 | 1 => {
                    let m = if pick(3) == 0 { "n" } else { "m" };
                    if held.contains(&m) {
                        // Now and then a mutex is not given back, or given back twice.
                        held.retain(|h| *h != m || pick(12) == 0);
                        out += &format!("pthread_mutex_unlock(&{m}); ");
                    } else {
                        held.push(m);
                        out += &format!("pthread_mutex_lock(&{m}); ");
                    }
                }
                2 | 3 => out += &format!("{a} = {k}; "),
                4 => out += &format!("{a} = {b}; "),
                5 => out += &format!("l = {a}; "),
                6 => out += &format!("if ({a} == {k}) {b} = {}; ", pick(3)),
                7 => out += &format!("{a} = l; "),
                // Two sections beside each other, with nothing or with private work between and inside them.
                9 if pick(2) == 0 => {
                    let (work, other) = ([" ", "l = l + 1; "][pick(2)], [" ", "l = 1; "][pick(2)]);
                    let (begin, end) = ("__VERIFIER_atomic_begin(); ", "__VERIFIER_atomic_end(); ");
                    out += &format!("{begin}l = {a}; {end}{work}{begin}{other}{b} = l; {end}");
                }
                8 if asserts => out += &format!("if ({a} == {k} && l != {b}) reach_error(); "),
                _ => out += &format!("if ({a} != l) l = {k}; "),
            }
        }
        for m in held {
            if pick(8) != 0 {
                out += &format!("pthread_mutex_unlock(&{m}); ");
            }
        }
        out
    };
    let (first, second) = (body(5, true), body(5, true));
    let (before, between, after) = (body(2, false), body(2, false), body(2, true));
    let join = ["pthread_join(t, 0); ", "pthread_join(u, 0); ", "pthread_join(t, 0); pthread_join(u, 0); ", ""];
    let join = join[(seed % 4) as usize];
    format!(
        "typedef unsigned long pthread_t; typedef int pthread_mutex_t;\n\
         extern int pthread_create(pthread_t *, const void *, void *(*)(void *), void *);\n\
         extern int pthread_join(pthread_t, void **); extern int pthread_mutex_lock(pthread_mutex_t *);\n\
         extern int pthread_mutex_unlock(pthread_mutex_t *); extern void reach_error(void);\n\
         extern void __VERIFIER_atomic_begin(void); extern void __VERIFIER_atomic_end(void);\n\
         pthread_mutex_t m, n; int x, y;\n\
         void *f(void *p) {{ int l = 0; {first} return 0; }}\nvoid *g(void *p) {{ int l = 1; {second} return 0; }}\n\
         int main(void) {{ pthread_t t = 0, u = 0; int l = 2; {before} pthread_create(&t, 0, f, 0); {between}\n\
         pthread_create(&u, 0, g, 0); {join} {after} return 0; }}\n"
    )
}

#[test]
fn check_what_stands_between_two_atomic_sections_belongs_to_neither() {
    let text = "void __VERIFIER_atomic_begin(void); void __VERIFIER_atomic_end(void); int x;
      void *f(void *p) { int k = 0; FIRST return 0; } int main(void) { pthread_t t, u; pthread_create(&t, 0, f, 0);
        pthread_create(&u, 0, f, 0); pthread_join(t, 0); pthread_join(u, 0); assert(x == 2); return 0; }";
    let begin = "__VERIFIER_atomic_begin();";
    let end = "__VERIFIER_atomic_end();";
    let two = |first: &str, between: &str, second: &str| {
        answer(&text.replace("FIRST", &format!("{begin} {first} {end} {between} {begin} {second} {end}")))
    };
    assert_eq!(two("int v = x;", "", "x = v + 1;"), Answer::Unsafe);
    assert_eq!(two("int v = x;", "k++;", "k = 3; x = v + 1;"), Answer::Unsafe);
    assert_eq!(two("int v = x; k = v;", "if (k == 7) k = 0;", "if (k < 9) x = v + 1;"), Answer::Unsafe);
    assert_eq!(two("int v = x; x = v + 1;", "k++;", "k = x;"), Answer::Safe);
    let outside = |body: &str| answer(&text.replace("FIRST", body));
    assert_eq!(outside(&format!("int v = x; {begin} k = 4; x = v + 1; {end}")), Answer::Unsafe);
    assert_eq!(outside(&format!("int v; {begin} v = x; k = 4; {end} x = v + 1;")), Answer::Unsafe);
}

/// What merging keeps: with all steps merged and with none, the same failures are reached. `THREADPROOF_DIFFERENTIAL=N` tries more.
#[test]
fn check_merging_neither_hides_nor_makes_a_failure() {
    let many = base::differential::programs_to_try(14);
    let (mut broken, mut whole) = (0, 0);
    for seed in 0..many {
        let text = random_program(seed);
        for check in [CCheck::Reach, CCheck::Race] {
            let mut sources = Sources::new();
            let path = Path::new("random.i");
            let parsed = crate::c::parse_c(&mut sources, path, &text, DataModel::Ilp32).expect("it parses");
            let mut found = Vec::new();
            for merging in [Merging::All, Merging::None] {
                let (program, _) = lower_with(&parsed.unit, &sources, "random", &[check], merging).expect("a program");
                let limits = ReachLimits { states: 6_000, ..ReachLimits::default() };
                let instances = InstanceCounts::of(&program, 2);
                let result = reachable_states(&program, &instances, &limits);
                found.push((!result.violations.is_empty(), result.complete()));
            }
            let [(merged, merged_whole), (plain, plain_whole)] = found[..] else { unreachable!("two searches") };
            assert!(merged || !merged_whole || !plain, "seed {seed}, {check:?}: merging hides a failure\n{text}");
            assert!(plain || !plain_whole || !merged, "seed {seed}, {check:?}: merging makes a failure\n{text}");
            broken += u32::from(merged && plain);
            whole += u32::from(merged_whole && !merged);
        }
    }
    assert!(broken > 3 && whole > 3, "{broken} broken and {whole} whole programs are no test");
}
