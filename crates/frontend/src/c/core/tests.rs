//! What the interpreter sees of small C programs: values, undefined behaviour, locks, orders, lifetimes.

use super::lower_to_core;
use crate::c::{DataModel, parse_c};
use base::Sources;
use core_lang::interpreter::Interpreter;
use core_lang::{Campaign, Execution, ExecutionEnd, ExecutionLimits, RunOptions, ViolationKind};
use std::path::Path;
use std::time::Duration;

const HEAD: &str = "typedef unsigned long size_t; typedef unsigned long pthread_t; typedef int pthread_mutex_t_; extern int printf(const char *, ...);
extern void *malloc(size_t); extern void free(void *); extern void *memset(void *, int, size_t); extern void *memcpy(void *, const void *, size_t);
extern int pthread_create(pthread_t *, const void *, void *(*)(void *), void *); extern int pthread_join(pthread_t, void **); extern void reach_error(void);
";

fn module(text: &str) -> core_lang::Module {
    let mut sources = Sources::new();
    let parsed = parse_c(&mut sources, Path::new("t.i"), text, DataModel::Lp64).expect("the text is C");
    assert!(parsed.diagnostics.iter().all(|d| !d.is_error()), "{:?}", parsed.diagnostics);
    lower_to_core(&parsed.unit)
}

fn run(body: &str) -> Execution {
    Interpreter::run(&module(&format!("{HEAD}{body}")), RunOptions::default())
}

fn prints(body: &str) -> String {
    let execution = run(body);
    assert!(matches!(execution.ending, ExecutionEnd::Exited(_)), "{:?}", execution.ending);
    String::from_utf8(execution.output).expect("it prints text")
}

fn search(body: &str, wanted: &[ViolationKind]) -> Option<ViolationKind> {
    let text = format!("{HEAD}{body}");
    let campaign = Campaign {
        known_places: Vec::new(),
        seed: 1,
        wanted: wanted.to_vec(),
        runs: 200,
        time: Duration::from_secs(20),
        limits: ExecutionLimits { instructions: 20_000, ..ExecutionLimits::default() },
        arguments: Vec::new(),
        input: Vec::new(),
    };
    let report = campaign.run(&module(&text));
    assert!(report.stopped.is_empty(), "{:?}", report.stopped);
    report.found.map(|f| f.violation.kind)
}

fn violates(body: &str) -> Option<ViolationKind> {
    match run(body).ending {
        ExecutionEnd::Violation(violation) => Some(violation.kind),
        ExecutionEnd::Exited(_) => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn check_arithmetic_conversions_and_control_flow_print_what_c_prints() {
    let text = "struct p { char c; int b : 5; unsigned d : 3; long l; }; union u { int i; unsigned char c[4]; };
        static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
        static struct p twice(struct p x) { x.l *= 2; return x; }
        int main(void) {
          struct p a = { 'x', -3, 5, 1L << 40 }; struct p b = twice(a); union u v; v.i = 0x01020304;
          unsigned char w = 250; w += 10; short s = -5; int m[3][2] = { { 1 }, { 2, 3 } };
          switch (s) { case -5: s++; case 9: s++; break; default: s = 0; }
          for (int i = 0; i < 3; i++) { if (i == 1) continue; m[i][1] += i; }
          printf(\"%d %d %u %ld %d %u %d %d %d %s %c %5.2f|%-4d|%04x\\n\", b.c, b.b, b.d, b.l, v.c[1], w, s, fib(10), m[2][1] + m[1][1], \"hi\", 'c', 1.0 / 3, 7, 255);
          return 0; }";
    assert_eq!(prints(text), "120 -3 5 2199023255552 3 4 -3 55 5 hi c  0.33|7   |00ff\n");
}

#[test]
fn check_undefined_behaviour_is_found_by_its_class() {
    let cases = [
        ("int main(void) { int x = 2147483647; x++; return x; }", ViolationKind::Overflow),
        ("int main(void) { int a = -2147483647 - 1, b = -1; return a % b; }", ViolationKind::Overflow),
        ("int main(void) { int a = 1, b = 0; return a / b; }", ViolationKind::DivisionByZero),
        ("int main(void) { int a = 1, b = 33; return a << b; }", ViolationKind::Shift),
        ("int main(void) { int *p = 0; return *p; }", ViolationKind::NullDereference),
        ("int main(void) { int a[3]; a[0] = 1; int i = 3; a[i] = 1; return 0; }", ViolationKind::OutOfBounds),
        ("int main(void) { char *p = malloc(4); p[4] = 1; return 0; }", ViolationKind::OutOfBounds),
        ("int main(void) { int *p = malloc(4); *p = 1; free(p); return *p; }", ViolationKind::UseAfterFree),
        ("int main(void) { int *p = malloc(4); free(p); free(p); return 0; }", ViolationKind::InvalidFree),
        ("int main(void) { int x; free(&x); return 0; }", ViolationKind::InvalidFree),
        ("int main(void) { int x; if (x) return 1; return 0; }", ViolationKind::Uninitialised),
        ("int main(void) { int *p; { int x = 1; p = &x; } return *p; }", ViolationKind::UseAfterScope),
        (
            "int *f(void) { int x = 1; int *p = &x; return p; } int main(void) { return *f(); }",
            ViolationKind::UseAfterScope,
        ),
        ("int main(void) { char *s = \"abc\"; s[0] = 'x'; return 0; }", ViolationKind::WriteToConstant),
        (
            "int main(void) { char b[8] = { 0 }; int *p = (int *)(b + 1); int *q = (int *)(b + 2); return *p + *q; }",
            ViolationKind::Misaligned,
        ),
        ("int g[2][2]; int main(void) { int i = 2; return g[0][i]; }", ViolationKind::OutOfBounds),
    ];
    for (text, kind) in cases {
        assert_eq!(violates(text), Some(kind), "{text}");
    }
    assert_eq!(violates("int main(void) { unsigned x = 0; x--; int a[3]; int *e = &a[3]; return e == a; }"), None);
}

#[test]
fn check_publishing_by_a_relaxed_store_is_a_race_and_by_a_release_store_is_none() {
    let program = |store: u32, load: u32| {
        format!(
            "int data; int flag; void *t(void *z) {{ data = 1; __atomic_store_n(&flag, 1, {store}); return 0; }}
             int main(void) {{ pthread_t p; pthread_create(&p, 0, t, 0); if (__atomic_load_n(&flag, {load})) data = 2; pthread_join(p, 0); return data; }}"
        )
    };
    let race = [ViolationKind::DataRace];
    assert_eq!(search(&program(0, 2), &race), Some(ViolationKind::DataRace));
    assert_eq!(search(&program(3, 0), &race), Some(ViolationKind::DataRace));
    assert_eq!(search(&program(3, 2), &race), None);
    assert_eq!(search(&program(5, 5), &race), None);
}

#[test]
fn check_a_plain_access_of_an_atomic_object_is_a_race() {
    let text = "_Atomic int x; void *t(void *z) { x = 1; return 0; }
        int main(void) { pthread_t p; pthread_create(&p, 0, t, 0); int *q = (int *)&x; int y = *q; pthread_join(p, 0); return y; }";
    assert_eq!(search(text, &[ViolationKind::DataRace]), Some(ViolationKind::DataRace));
}

#[test]
fn check_every_argument_is_evaluated() {
    let text = "int c; int x; int main(void) { __atomic_store_n(&x, 1, (++c, 5)); printf(\"%d\", c); return 0; }";
    assert_eq!(prints(text), "1");
}

#[test]
fn check_a_jump_into_a_block_begins_its_objects_and_a_jump_out_ends_them() {
    let inside =
        "int main(void) { int n = 0, *p; goto in; { int x; in: x = 7; p = &x; n = *p; } printf(\"%d\", n); return 0; }";
    assert_eq!(prints(inside), "7");
    let out =
        "int main(void) { int *p = 0; for (int i = 0; i < 2; i++) { int x = i; if (p) break; p = &x; } return *p; }";
    assert_eq!(violates(out), Some(ViolationKind::UseAfterScope));
}

#[test]
fn check_addresses_are_unknown_so_that_stripes_collide_in_some_run() {
    let text = "int x, y; int main(void) { if ((((unsigned long)&x >> 4) & 1) == (((unsigned long)&y >> 4) & 1)) reach_error(); return 0; }";
    assert_eq!(search(text, &[ViolationKind::Assertion]), Some(ViolationKind::Assertion));
}

#[test]
fn check_lists_of_arguments_are_walked() {
    let text = "int sum(int n, ...) { __builtin_va_list l; __builtin_va_start(l, n); int s = 0; while (n--) s += __builtin_va_arg(l, int); __builtin_va_end(l); return s; }
        int main(void) { printf(\"%d\", sum(3, 10, 20, 12)); return 0; }";
    assert_eq!(prints(text), "42");
}

#[test]
fn check_a_lost_update_and_its_assertion_are_found() {
    let text = "int n; void *t(void *z) { int x = n; n = x + 1; return 0; }
        int main(void) { pthread_t a, b; pthread_create(&a, 0, t, 0); pthread_create(&b, 0, t, 0); pthread_join(a, 0); pthread_join(b, 0);
          if (n != 2) reach_error(); return 0; }";
    assert_eq!(search(text, &[ViolationKind::Assertion]), Some(ViolationKind::Assertion));
    assert_eq!(search(text, &[ViolationKind::DataRace]), Some(ViolationKind::DataRace));
}

#[test]
fn check_what_is_not_supported_stops_a_run_and_is_never_skipped() {
    let text = "extern int mystery(int); int main(void) { mystery(3); reach_error(); return 0; }";
    assert!(matches!(run(text).ending, ExecutionEnd::Unsupported { .. }));
}
