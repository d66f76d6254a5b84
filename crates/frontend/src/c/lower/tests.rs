//! Lowered programs under the reference semantics: every interleaving of small C programs.

use crate::c::lower::LOOKED_AT;
use crate::c::{CCheck, COptions, DataModel, load_c};
use base::Sources;
use program::semantics::{InstanceCounts, ReachLimits, reachable_states};
use program::{Copies, Program, PropertyKind};
use std::path::Path;

const HEADER: &str = "typedef unsigned long pthread_t; typedef int pthread_mutex_t; typedef int pthread_cond_t;
typedef int sem_t; typedef int pthread_once_t; typedef int pthread_barrier_t; typedef int pthread_rwlock_t;
typedef unsigned long size_t;
int pthread_create(pthread_t *, const void *, void *(*)(void *), void *); int pthread_join(pthread_t, void **);
int pthread_mutex_lock(pthread_mutex_t *); int pthread_mutex_unlock(pthread_mutex_t *);
int pthread_mutex_trylock(pthread_mutex_t *);
int pthread_cond_wait(pthread_cond_t *, pthread_mutex_t *); int pthread_cond_signal(pthread_cond_t *);
int sem_init(sem_t *, int, unsigned); int sem_wait(sem_t *); int sem_post(sem_t *);
int pthread_once(pthread_once_t *, void (*)(void));
int pthread_barrier_init(pthread_barrier_t *, void *, unsigned); int pthread_barrier_wait(pthread_barrier_t *);
void reach_error(void); void abort(void); void *malloc(size_t); void free(void *); int __VERIFIER_nondet_int(void);
_Bool __VERIFIER_nondet_bool(void); void __VERIFIER_assume(int);
void __VERIFIER_atomic_begin(void); void __VERIFIER_atomic_end(void);
void assert(int c) { if (!c) reach_error(); }
";

fn lowered(text: &str, check: CCheck) -> Program {
    let mut sources = Sources::new();
    let options = COptions { model: DataModel::Lp64, checks: vec![check] };
    let text = format!("{HEADER}{text}");
    let (program, diagnostics) = load_c(&mut sources, Path::new("t.i"), &text, &options);
    for d in &diagnostics {
        assert!(!d.is_error(), "{}: {}", sources.place(d.span), d.message);
    }
    let program = program.expect("there is a main");
    let faults = program::wellformed(&program);
    assert!(faults.is_empty(), "{}", faults[0]);
    program
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Safe,
    Unsafe,
    Unmodelled(String),
    Incomplete,
}

fn answer_of(program: &Program, any: u32) -> Answer {
    let found = reachable_states(
        program,
        &InstanceCounts::of(program, any),
        &ReachLimits { states: 60_000, ..ReachLimits::default() },
    );
    let mut broken = found.violations.keys().map(|p| &program.properties[*p].kind);
    if let Some(PropertyKind::Unmodelled(why)) =
        found.violations.keys().map(|p| &program.properties[*p].kind).find(|k| matches!(k, PropertyKind::Unmodelled(_)))
    {
        return Answer::Unmodelled(why.clone());
    }
    if broken.next().is_some() {
        return Answer::Unsafe;
    }
    if found.complete() { Answer::Safe } else { Answer::Incomplete }
}

pub(super) fn answer(text: &str) -> Answer {
    answer_of(&lowered(text, CCheck::Reach), 2)
}

fn with(text: &str, check: CCheck) -> Answer {
    answer_of(&lowered(text, check), 2)
}

const TWO: &str = "int main(void) { pthread_t a, b; pthread_create(&a, 0, f, 0); pthread_create(&b, 0, g, 0);
  pthread_join(a, 0); pthread_join(b, 0); assert(x == 2); return 0; }";

#[test]
fn check_an_unprotected_increment_is_lost() {
    let body = "int x; void *f(void *p) { x++; return 0; } void *g(void *p) { x = x + 1; return 0; }";
    assert_eq!(answer(&format!("{body}{TWO}")), Answer::Unsafe);
}

#[test]
fn check_a_mutex_protects_an_increment() {
    let body = "int x; pthread_mutex_t m;
      void *f(void *p) { pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m); return 0; }
      void *g(void *p) { pthread_mutex_lock(&m); x = x + 1; pthread_mutex_unlock(&m); return 0; }";
    assert_eq!(answer(&format!("{body}{TWO}")), Answer::Safe);
    assert_eq!(with(&format!("{body}{TWO}"), CCheck::Race), Answer::Safe);
}

#[test]
fn check_atomic_sections_and_builtins_are_one_step() {
    let atomic = "int x; void *f(void *p) { __VERIFIER_atomic_begin(); x++; __VERIFIER_atomic_end(); return 0; }
      void *g(void *p) { __sync_fetch_and_add(&x, 1); return 0; }";
    assert_eq!(answer(&format!("{atomic}{TWO}")), Answer::Safe);
    let c11 = "_Atomic int x; void *f(void *p) { x++; return 0; } void *g(void *p) { x += 1; return 0; }";
    assert_eq!(answer(&format!("{c11}{TWO}")), Answer::Safe);
    assert_eq!(with(&format!("{c11}{TWO}"), CCheck::Race), Answer::Safe);
    let split = "_Atomic int x; void *f(void *p) { x++; return 0; } void *g(void *p) { x = x + 1; return 0; }";
    assert_eq!(answer(&format!("{split}{TWO}")), Answer::Unsafe);
    let section = "int x; void *f(void *p) { __VERIFIER_atomic_begin(); int t = x; if (t > 5) { t = 0; } x = t + 1;
      __VERIFIER_atomic_end(); return 0; } void __VERIFIER_atomic_g(void) { x = x + 1; }
      void *g(void *p) { __VERIFIER_atomic_g(); return 0; }";
    assert_eq!(answer(&format!("{section}{TWO}")), Answer::Safe);
}

#[test]
fn check_races_are_found_and_only_races() {
    let body = "int x; void *f(void *p) { x = 1; return 0; } void *g(void *p) { int y = x; return 0; }";
    let main = "int main(void) { pthread_t a, b; pthread_create(&a, 0, f, 0); pthread_create(&b, 0, g, 0); return 0; }";
    assert_eq!(with(&format!("{body}{main}"), CCheck::Race), Answer::Unsafe);
    let ordered = "int main(void) { pthread_t a, b; pthread_create(&a, 0, f, 0); pthread_join(a, 0);
      pthread_create(&b, 0, g, 0); pthread_join(b, 0); x = 3; return 0; }";
    assert_eq!(with(&format!("{body}{ordered}"), CCheck::Race), Answer::Safe);
    let mixed = "int x; void *f(void *p) { __VERIFIER_atomic_begin(); x = 1; __VERIFIER_atomic_end(); return 0; }
      void *g(void *p) { int y = x; return 0; }";
    assert_eq!(with(&format!("{mixed}{main}"), CCheck::Race), Answer::Unsafe);
}

#[test]
fn check_pointers_arrays_structs_and_heap() {
    let text = "struct node { int v; struct node *next; }; struct node *head; int a[3] = { 1, 2, 3 }; int *p = &a[1];
      int sum(int *q, int n) { int s = 0; for (int i = 0; i < n; i++) s += q[i]; return s; }
      int main(void) { struct node *n = malloc(sizeof(struct node)); n->v = 7; n->next = 0; head = n;
        struct node m = *head; assert(m.v == 7 && m.next == 0); assert(*p == 2); p++; assert(*p == 3);
        *(p - 2) = 10; assert(a[0] == 10); assert(sum(a, 3) == 15); int i = 2; a[i] = i; assert(a[2] == 2);
        assert(p - a == 2); struct node k = { .next = &m }; assert(k.v == 0); assert(k.next->v == 7); return 0; }";
    assert_eq!(answer(text), Answer::Safe);
    let wrong = text.replace("== 15", "== 14");
    assert_eq!(answer(&wrong), Answer::Unsafe);
}

#[test]
fn check_integers_wrap_and_promote_as_c_says() {
    let text =
        "int main(void) { unsigned char c = 255; c++; assert(c == 0); unsigned u = 0; u--; assert(u == 4294967295u);
      signed char s = (signed char)200; assert(s == -56); assert(-7 / 2 == -3); int d = -7; int two = 2;
      assert(d / two == -3 && d % two == -1); unsigned long w = 1; assert((w << 40) >> 38 == 4);
      int neg = -1; assert(neg > 1u); assert((unsigned short)neg == 65535); _Bool b = 256; assert(b == 1);
      int x = 12; assert((x & 8) == 8 && (x | 3) == 15 && (x ^ 4) == 8 && (~x) == -13); assert((x & 6) == 4);
      long long q = 1LL << 40; assert(q == 1099511627776LL); short h = 32767; h++; assert(h == -32768); return 0; }";
    assert_eq!(answer(text), Answer::Safe);
}

#[test]
fn check_overflow_is_a_property_of_its_own() {
    let text =
        "int main(void) { int x = __VERIFIER_nondet_int(); __VERIFIER_assume(x > 2147483640); x = x + 10; return 0; }";
    assert_eq!(with(text, CCheck::Overflow), Answer::Unsafe);
    let program = lowered(text, CCheck::Reach);
    assert!(program.assumptions.iter().any(|a| a.code == "c-no-signed-overflow"));
}

#[test]
fn check_control_flow() {
    let text = "int f(int n) { switch (n) { case 0: return 5; case 1: n++; case 2: n += 10; break; case 3 ... 5: n = 0;
        default: n--; } return n; }
      int fact(int n) { return n <= 1 ? 1 : n * fact(n - 1); }
      int main(void) { assert(f(0) == 5); assert(f(1) == 12); assert(f(2) == 12); assert(f(4) == -1); assert(f(9) == 8);
        int i = 0; again: i++; if (i < 4) goto again; assert(i == 4); int n = 0; do { n += 2; if (n == 6) continue; }
        while (n < 8); assert(n == 8); for (;;) { if (n-- == 0) break; } assert(n == -1); assert(fact(5) == 120);
        int (*g)(int) = n ? f : fact; assert(g(0) == 5); int z = ({ int t = i; t * 2; }); assert(z == 8);
        assert((i > 100 || i == 4) && !(i == 4 && z == 9)); return 0; }";
    assert_eq!(answer(text), Answer::Safe);
}

#[test]
fn check_threads_in_loops() {
    let text = "int x; pthread_mutex_t m; int seen[3];
      void *f(void *p) { int id = (int)(long)p; seen[id] = 1; pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m); return 0; }
      int main(void) { pthread_t t[3]; for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, f, (void *)(long)i);
        for (int i = 0; i < 3; i++) pthread_join(t[i], 0); assert(x == 3 && seen[2] == 1); return 0; }";
    assert_eq!(answer(text), Answer::Safe);
    let endless = "int x; void *f(void *p) { if (x < 7) x = x + 1; assert(x >= 0); return 0; }
      int main(void) { pthread_t t; while (1) pthread_create(&t, 0, f, 0); }";
    let program = lowered(endless, CCheck::Reach);
    assert!(program.threads.iter().any(|t| t.copies == Copies::Any));
    let broken = endless.replace("x >= 0", "x < 2");
    assert_eq!(answer(&broken), Answer::Unsafe);
}

#[test]
fn check_main_returning_ends_the_program() {
    let text = "int done; void *f(void *p) { while (!done) ; reach_error(); return 0; }
      int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); done = 1; abort(); }";
    assert_eq!(answer(text), Answer::Unsafe);
    let text = "int done; void *f(void *p) { if (done) reach_error(); return 0; }
      int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); return 0; }";
    assert_eq!(answer(text), Answer::Safe);
}

#[test]
fn check_synchronisation_objects() {
    let sem = "int x; sem_t s; void *f(void *p) { x = 1; sem_post(&s); return 0; }
      int main(void) { pthread_t t; sem_init(&s, 0, 0); pthread_create(&t, 0, f, 0); sem_wait(&s); assert(x == 1); return 0; }";
    assert_eq!(answer(sem), Answer::Safe);
    assert_eq!(with(sem, CCheck::Race), Answer::Safe);
    let once = "int x; pthread_once_t o; void init(void) { x = x + 1; }
      void *f(void *p) { pthread_once(&o, init); assert(x == 1); return 0; }
      int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_once(&o, init); assert(x == 1); return 0; }";
    assert_eq!(answer(once), Answer::Safe);
    let barrier =
        "int x, y; pthread_barrier_t b; void *f(void *p) { x = 1; pthread_barrier_wait(&b); assert(y == 1); return 0; }
      int main(void) { pthread_t t; pthread_barrier_init(&b, 0, 2); pthread_create(&t, 0, f, 0); y = 1;
        pthread_barrier_wait(&b); assert(x == 1); pthread_join(t, 0); return 0; }";
    assert_eq!(answer(barrier), Answer::Safe);
    let cond = "int ready; pthread_mutex_t m; pthread_cond_t c;
      void *f(void *p) { pthread_mutex_lock(&m); ready = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m); return 0; }
      int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_mutex_lock(&m);
        LOOP (ready == 0) pthread_cond_wait(&c, &m); assert(ready == 1); pthread_mutex_unlock(&m); return 0; }";
    assert_eq!(answer(&cond.replace("LOOP", "while")), Answer::Safe);
    assert_eq!(answer(&cond.replace("LOOP", "if")), Answer::Unsafe);
    let trylock =
        "pthread_mutex_t m; int x; void *f(void *p) { if (pthread_mutex_trylock(&m) == 0) { x++; assert(x == 1); x--;
      pthread_mutex_unlock(&m); } return 0; }
      int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); f(0); return 0; }";
    assert_eq!(answer(trylock), Answer::Safe);
}

#[test]
fn check_what_is_not_modelled_is_said() {
    assert!(matches!(answer("int main(void) { double d = 0.1; if (d > 1) reach_error(); }"), Answer::Unmodelled(_)));
    assert!(matches!(answer("int main(void) { __asm__(\"hlt\"); return 0; }"), Answer::Unmodelled(_)));
    let text = "union u { int i; float f; }; int main(void) { union u v; v.f = 1; if (v.i) reach_error(); }";
    assert!(matches!(answer(text), Answer::Unmodelled(_)));
    let deep = "int f(int n) { return f(n + 1); } int main(void) { return f(0); }";
    assert!(matches!(answer(deep), Answer::Unmodelled(_)));
}

#[test]
fn check_thread_results_and_arguments_pass_through_memory() {
    let text = "struct job { int in, out; }; void *f(void *p) { struct job *j = p; j->out = j->in * 2; return p; }
      int main(void) { pthread_t t; struct job j = { 21, 0 }; void *r; pthread_create(&t, 0, f, &j); pthread_join(t, &r);
        struct job *k = r; assert(k->out == 42); return 0; }";
    assert_eq!(answer(text), Answer::Safe);
}

#[test]
fn check_guarded_by_is_a_property_of_its_own() {
    let text = "pthread_mutex_t m;\nint x; //@ guarded_by(m)\nint y __attribute__((guarded_by(m)));
      void *f(void *p) { pthread_mutex_lock(&m); x = 1; pthread_mutex_unlock(&m); y = 1; return 0; }
      int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_mutex_lock(&m); x = 2; y = 2;
        pthread_mutex_unlock(&m); return 0; }";
    let program = lowered(text, CCheck::Reach);
    let found = reachable_states(&program, &InstanceCounts::of(&program, 1), &ReachLimits::default());
    let broken: Vec<&str> = found.violations.keys().map(|p| program.properties[*p].name.as_str()).collect();
    assert_eq!(broken, ["access:y"]);
    assert!(program.properties.iter().any(|p| p.name == "access:x"));
}

#[test]
fn check_jumps_into_loops_and_switches_are_not_lost() {
    let duff = "int main(void) { int n = __VERIFIER_nondet_bool() ? 3 : 2, sum = 0, turns = n;
      switch (turns % 2) { do { case 0: sum++; case 1: sum++; } while (--turns > 0); }
      assert(sum == 5 || sum == 4); return 0; }";
    assert_eq!(answer(duff), Answer::Safe);
    assert_eq!(answer(&duff.replace("sum == 5 || sum == 4", "sum == 4")), Answer::Unsafe);
    let inside = "int main(void) { int i = 5; goto in; while (i < 7) { i = 0; in: i++; } reach_error(); return 0; }";
    assert_ne!(answer(inside), Answer::Unsafe);
    let late = "int main(void) { int i = 5; goto in; while (i < 7) { i = 8; in: i++; } reach_error(); return 0; }";
    assert_eq!(answer(late), Answer::Unsafe);
    let into = "int main(void) { goto out; switch (1) { case 1: out: reach_error(); } return 0; }";
    assert_ne!(answer(into), Answer::Safe);
}

#[test]
fn check_memory_that_nothing_points_to_at_the_end_is_lost() {
    let leak =
        |globals: &str, body: &str| with(&format!("{globals} int main(void) {{ {body} return 0; }}"), CCheck::Leak);
    assert_eq!(leak("", "int *p = malloc(sizeof(int)); *p = 1; p = 0;"), Answer::Unsafe);
    assert_eq!(leak("", "int *p = malloc(sizeof(int));"), Answer::Unsafe);
    assert_eq!(leak("", "int *p = malloc(sizeof(int)); free(p);"), Answer::Safe);
    assert_eq!(leak("", "int *p = malloc(sizeof(int)); if (__VERIFIER_nondet_bool()) free(p);"), Answer::Unsafe);
    assert_eq!(leak("", "if (__VERIFIER_nondet_bool()) { int *p = malloc(sizeof(int)); free(p); }"), Answer::Safe);
    // A variable of static storage keeps it, also by an address inside it; but not one that was overwritten.
    assert_eq!(leak("int *g;", "g = malloc(sizeof(int));"), Answer::Safe);
    assert_eq!(leak("int *g;", "g = malloc(4 * sizeof(int)); g = g + 2;"), Answer::Safe);
    assert_eq!(leak("int *g;", "g = malloc(sizeof(int)); g = malloc(sizeof(int));"), Answer::Unsafe);
    assert_eq!(leak("int *g;", "int *p = malloc(sizeof(int)); g = p; g = 0; free(p);"), Answer::Safe);
    // What is kept keeps what it points to, until it is freed.
    let list = "struct n { struct n *next; } *g;";
    let two =
        "g = (struct n *)malloc(sizeof(struct n)); g->next = (struct n *)malloc(sizeof(struct n)); g->next->next = 0;";
    assert_eq!(leak(list, two), Answer::Safe);
    assert_eq!(leak(list, &format!("{two} free(g);")), Answer::Unsafe);
    assert_eq!(leak(list, &format!("{two} struct n *m = g->next; free(g); free(m); g = 0;")), Answer::Safe);
    let ring = "struct n *a = (struct n *)malloc(sizeof(struct n)), *b = (struct n *)malloc(sizeof(struct n)); a->next = b; b->next = a;";
    assert_eq!(leak("struct n { struct n *next; };", ring), Answer::Unsafe);
    assert_eq!(leak("", ""), Answer::Safe);
    assert_eq!(
        with("int main(void) { int *p = malloc(sizeof(int)); *p = 1; p = 0; return 0; }", CCheck::Reach),
        Answer::Safe
    );
}

#[test]
fn check_a_thread_may_free_what_it_is_handed() {
    let text = |frees: &str, joins: &str| {
        format!(
            "void *f(void *p) {{ *(int *)p = 1; {frees} return 0; }} int main(void) {{ pthread_t t; int *p = malloc(sizeof(int));
             pthread_create(&t, 0, f, p); {joins} return 0; }}"
        )
    };
    assert_eq!(with(&text("free(p);", "pthread_join(t, 0);"), CCheck::Leak), Answer::Safe);
    assert_eq!(with(&text("", "pthread_join(t, 0);"), CCheck::Leak), Answer::Unsafe);
    // While the thread runs it may still hold it.
    assert!(matches!(with(&text("free(p);", ""), CCheck::Leak), Answer::Unmodelled(_)));
    let many =
        "int main(void) { while (__VERIFIER_nondet_bool()) { int *p = malloc(sizeof(int)); free(p); } return 0; }";
    assert!(matches!(with(many, CCheck::Leak), Answer::Unmodelled(_)));
    // Where the program ends otherwise, little is known.
    let head = "void exit(int); void pthread_exit(void *);";
    let unsure = |body: &str| {
        matches!(with(&format!("{head} int main(void) {{ {body} }}"), CCheck::Leak), Answer::Unmodelled(_))
    };
    assert!(unsure("int *p = malloc(sizeof(int)); p = 0; exit(0);"));
    assert!(unsure("int *p = malloc(sizeof(int)); p = 0; while (1) ;"));
    assert!(unsure("int *p = malloc(sizeof(int)); p = 0; pthread_exit(0);"));
    assert!(unsure("static _Thread_local int *p; p = malloc(sizeof(int)); return 0;"));
    assert!(!unsure("static int *p; p = malloc(sizeof(int)); exit(0);"));
}

#[test]
fn check_a_recursive_call_has_variables_of_its_own() {
    let text = "int fact(int n) { if (n <= 1) return 1; return n * fact(n - 1); }
      int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
      int main(void) { assert(fact(5) == 120 && fib(6) == 8); return 0; }";
    assert_eq!(answer(text), Answer::Safe);
    assert_eq!(answer(&text.replace("== 120", "!= 120")), Answer::Unsafe);
    let down =
        "void down(int n, int *out) { int own = n; if (n) { int sub; down(n - 1, &sub); own += sub; } *out = own; }
      int main(void) { int r; down(4, &r); assert(r == 10); return 0; }";
    assert_eq!(answer(down), Answer::Safe);
}

#[test]
fn check_string_literals_are_arrays() {
    let text = "const char *s = \"hey\"; const char *t[] = { \"a\", \"bc\" };
      int main(void) { assert(s[1] == 'e' && s[3] == 0 && t[1][1] == 'c' && \"xy\"[1] == 'y'); return 0; }";
    assert_eq!(answer(text), Answer::Safe);
    assert_eq!(answer(&text.replace("== 'e'", "!= 'e'")), Answer::Unsafe);
}

#[test]
fn check_members_of_unions_share_their_bytes() {
    let text = "union u { int i; unsigned char c[4]; short h[2]; } g = { 0x01020304 }, f;
      int main(void) { assert(g.c[0] == 4 && g.h[1] == 0x0102); g.c[1] = 0xff; assert(g.i == 0x0102ff04);
        g.h[0] = -1; f = g; assert(f.i == 0x0102ffff); f.i = -2; assert(f.c[3] == 255 && f.h[0] == -2); return 0; }";
    assert_eq!(answer(text), Answer::Safe);
    let longer = "struct v { union { int i; struct { int a, b; } s; } u; } x, y;
      int main(void) { x.u.s.a = 4; x.u.s.b = 5; y = x; assert(y.u.s.b == 5 && y.u.i == 4); return 0; }";
    assert_eq!(answer(longer), Answer::Safe);
    let part = "int x = 0x01020304; int main(void) { char *p = (char *)&x; if (p[1] == 3) reach_error(); return 0; }";
    assert!(matches!(answer(part), Answer::Unmodelled(_)));
    let row = "union w { int x; int a[40]; } g; int main(void) { g.a[0] = 3; assert(g.x == 3); return 0; }";
    assert!(matches!(answer(row), Answer::Unmodelled(_)));
}

#[test]
fn check_bit_fields_are_as_wide_as_they_say() {
    let text = "struct f { unsigned a : 3; int b : 4; unsigned c : 1; _Bool d : 1; } s, q = { 5, -2, 1, 1 };
      int main(void) { assert(s.a - 1 < 0); s.b = 7; s.b++; assert(s.b == -8); s.c = 2; assert(s.c == 0); s.d = 2;
        assert(s.d == 1); int k = (s.a = 9); assert(k == 1); s = q; assert(s.a == 5 && s.b == -2 && s.c && s.d); return 0; }";
    assert_eq!(answer(text), Answer::Safe);
    let race = |field: &str| {
        format!(
            "struct f {{ unsigned a : 3; {field} unsigned b : 4; }} s; void *f(void *p) {{ s.a = 1; return 0; }}
             int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); s.b = 2; return 0; }}"
        )
    };
    assert_eq!(with(&race(""), CCheck::Race), Answer::Unsafe);
    assert_eq!(with(&race("unsigned : 0;"), CCheck::Race), Answer::Safe);
}

#[test]
fn check_floats_are_followed_where_they_are_exact() {
    let text = "double d = 0.5; float h(float x) { return x / 2; }
      int main(void) { d += 1; d = h(d) * 3 - d; d++; int i = 2.5; assert(i == 2 && d == 1.75); return 0; }";
    assert_eq!(answer(text), Answer::Safe);
    assert_eq!(answer("double d; int main(void) { int i = d; assert(i == 0); }"), Answer::Safe);
    assert_eq!(answer("double d; int main(void) { if (!d) reach_error(); }"), Answer::Unsafe);
    let main = |body: &str| answer(&format!("float f; int main(void) {{ {body} return 0; }}"));
    assert_eq!(main("f = -7; assert(f / 2 == -3.5 && (int)(f / 2) == -3 && f-- == -7 && f == -8);"), Answer::Safe);
    assert_eq!(main("f = 3; f *= 0.5; assert(f == 1.5 && (_Bool)f && f > 1 && 2 > f && f != 2);"), Answer::Safe);
    // Each of these is rounded, or not a number: nothing is said.
    for rounded in [
        "f = 0.1f; assert(f == 0.1f);",
        "f = 1; f /= 3; assert(f < 1);",
        "f = 65536; f += 0.00390625; assert(f == 65536);",
        "f = 1; double d = f / 0; assert(d > 1);",
        "double d; assert(d == 0);",
        "f = 1000; unsigned char c = f; assert(c == 232);",
    ] {
        assert!(matches!(main(rounded), Answer::Unmodelled(_)), "{rounded}");
    }
    let race = "double d; void *f(void *p) { d += 1; return 0; }
      int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); double e = d; return 0; }";
    assert_eq!(with(race, CCheck::Race), Answer::Unsafe);
}

#[test]
fn check_memory_allocated_without_a_type_gets_the_one_it_is_used_with() {
    let text = "struct job { int a, b; }; void *make(unsigned long n) { void *p = malloc(n); return p; }
      int main(void) { struct job *j = make(sizeof(struct job)); int *k = make(4); j->b = 3; *k = 4; assert(j->b + *k == 7); return 0; }";
    assert_eq!(answer(text), Answer::Safe);
    let two = "int main(void) { void *p = malloc(8); int *a = p; *a = 1; long long *b = p; *b = 2; assert(*b == 2); return 0; }";
    assert!(matches!(answer(two), Answer::Unmodelled(_)));
}

#[test]
fn check_nothing_is_used_or_freed_after_its_end() {
    let main = |body: &str| {
        format!("int *g; int *f(void) {{ int l = 1; g = &l; return &l; }} int main(void) {{ {body} return 0; }}")
    };
    let used = |body: &str| with(&main(body), CCheck::Memory);
    let freed = |body: &str| with(&main(body), CCheck::Free);
    assert_eq!(used("int *p = malloc(4); *p = 1; free(p); free(0);"), Answer::Safe);
    assert_eq!(freed("int *p = malloc(4); *p = 1; free(p); free(0);"), Answer::Safe);
    assert_eq!(used("int *p = malloc(4); free(p); *p = 1;"), Answer::Unsafe);
    assert_eq!(freed("int *p = malloc(4); free(p); free(p);"), Answer::Unsafe);
    assert_eq!(freed("int *p = malloc(8); free(p + 1);"), Answer::Unsafe);
    assert_eq!(freed("int l; g = &l; free(g);"), Answer::Unsafe);
    assert_eq!(used("f(); *g = 2;"), Answer::Unsafe);
    assert_eq!(used("*f() = 2;"), Answer::Unsafe);
    assert_eq!(used("{ int l; g = &l; *g = 1; }"), Answer::Safe);
    let exits =
        "int *p; void leave(int *q) { p = q; pthread_exit(0); } void *f(void *v) { int x = 0; leave(&x); return 0; }
      int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); *p = 1; return 0; }";
    assert_eq!(with(exits, CCheck::Memory), Answer::Unsafe);
    assert_eq!(with(&exits.replace("*p = 1;", ""), CCheck::Memory), Answer::Safe);
    assert_eq!(used("{ int l; g = &l; } *g = 1;"), Answer::Unsafe);
    let threads = "int *p; void *f(void *q) { *p = 1; return 0; }
      int main(void) { pthread_t t; p = malloc(4); pthread_create(&t, 0, f, 0); JOIN free(p); return 0; }";
    assert_eq!(with(&threads.replace("JOIN", "pthread_join(t, 0);"), CCheck::Memory), Answer::Safe);
    assert_eq!(with(&threads.replace("JOIN", ""), CCheck::Memory), Answer::Unsafe);
    let lent = "pthread_t t; void *f(void *p) { *(int *)p = 1; return 0; }
      void go(void) { int l = 0; pthread_create(&t, 0, f, &l); JOIN }
      int main(void) { go(); return 0; }";
    assert_eq!(with(&lent.replace("JOIN", "pthread_join(t, 0);"), CCheck::Memory), Answer::Safe);
    assert_eq!(with(&lent.replace("JOIN", ""), CCheck::Memory), Answer::Unsafe);
}

#[test]
fn check_functions_of_strings_are_programs_themselves() {
    let head = "size_t strlen(const char *); char *strcpy(char *, const char *); int strcmp(const char *, const char *);
      char *strcat(char *, const char *); char *strchr(const char *, int); void *memset(void *, int, size_t);
      char *strncpy(char *, const char *, size_t); int memcmp(const void *, const void *, size_t); char *strdup(const char *);
      char b[8];";
    let run = |body: &str| answer(&format!("{head} int main(void) {{ {body} return 0; }}"));
    assert_eq!(
        run("strcpy(b, \"ab\"); strcat(b, \"c\"); assert(strlen(b) == 3 && b[3] == 0 && !strcmp(b, \"abc\"));"),
        Answer::Safe
    );
    assert_eq!(run("strcpy(b, \"ab\"); assert(strcmp(b, \"abc\") >= 0);"), Answer::Unsafe);
    assert_eq!(
        run("strncpy(b, \"abc\", 2); assert(b[1] == 'b' && b[2] == 0); b[0] = -1; assert(strcmp(b, \"a\") > 0);"),
        Answer::Safe
    );
    assert_eq!(run("memset(b, 7, 3); assert(b[2] == 7 && b[3] == 0 && memcmp(b, \"\\7\\7x\", 2) == 0);"), Answer::Safe);
    assert_eq!(run("char *d = strdup(\"xy\"); assert(strchr(d, 'y') == d + 1 && strchr(d, 'z') == 0);"), Answer::Safe);
    assert_eq!(run("char *d = strdup(\"xy\"); assert(strchr(d, 0) != d + 2);"), Answer::Unsafe);
    // A function of the program's own is meant where there is one.
    assert_eq!(
        answer("size_t strlen(const char *s) { return 7; } int main(void) { assert(strlen(\"a\") == 7); }"),
        Answer::Safe
    );
    let over = "char *strcpy(char *, const char *); char b[2]; int main(void) { strcpy(b, \"ab\"); return 0; }";
    assert_eq!(with(over, CCheck::Memory), Answer::Unsafe);
}

#[test]
fn check_what_a_function_performs_becomes_a_procedure_with_all_it_writes() {
    let text = "int x, y; pthread_mutex_t m;\n//@ performs Set: <x> m == 0 && x' == v && result == v\n//@  [] No: <> result == 0\nint set(int v) {
      pthread_mutex_lock(&m); x = v; y = v; pthread_mutex_unlock(&m); return v; }
      int main(void) { set(1); return 0; }";
    let program = lowered(text, CCheck::Reach);
    let procedure = program.procedures.iter().next().expect("there is a procedure");
    assert_eq!((procedure.params.len(), procedure.results.len()), (1, 1));
    let (performs, property) = procedure.performs.as_ref().expect("it performs something");
    assert_eq!(performs.actions().iter().map(|(label, _)| *label).collect::<Vec<_>>(), ["Set", "No"]);
    assert_eq!(program.properties[*property].name, "performs:set");
    // What is outside the frame is not dropped, though nothing depends on it: it breaks the specification.
    let y = program.vars.iter_enumerated().find(|(_, v)| v.name == "y").map(|(id, _)| id).expect("`y` is kept");
    assert!(procedure.code.actions.iter().any(|a| a.updates.iter().any(|u| u.var == y)));
    let mutex = program.vars.iter().find(|v| v.name == "m").expect("the mutex is kept");
    assert!(mutex.access.is_some(), "a mutex that is only locked and unlocked is its holder's");
    // Other questions are asked of the program alone.
    assert!(lowered(text, CCheck::Race).procedures.is_empty());
}

#[test]
fn check_a_specification_of_a_function_that_cannot_be_read_is_an_error() {
    for (spec, function) in [
        ("Get: <> result == x", "int get(int *p) { return *p; }"),
        ("Get: <> result == nothing", "int get(void) { return x; }"),
        ("<> result == x", "int get(void) { return x; }"),
        ("Get: <x> x' == 1 []", "int get(void) { return x; }"),
    ] {
        let text = format!("int x;\n//@ performs {spec}\n{function} int main(void) {{ return 0; }}");
        let (_, diagnostics) = load_c(&mut Sources::new(), Path::new("t.i"), &text, &COptions::default());
        assert!(diagnostics.iter().any(|d| d.is_error() && d.code.0 == "C0108"), "{spec}");
    }
}

#[test]
fn check_what_is_not_modelled_is_told_at_its_own_line() {
    let text = "int g; void take(int *);\nvoid *f(void *p) {\n  int x = 1;\n  take(&x);\n  return 0; }
      int main(void) { pthread_t a; pthread_create(&a, 0, f, 0); return 0; }";
    let program = lowered(text, CCheck::Reach);
    let lines = HEADER.matches('\n').count();
    let found =
        program.properties.iter().find(|p| matches!(p.kind, PropertyKind::Unmodelled(_))).expect("one is reported");
    assert_eq!(found.name, format!("unmodelled:{}", lines + 4));
}

#[test]
fn check_a_bounded_loop_of_creations_gives_so_many_copies() {
    let text = |bound: &str, step: &str| {
        format!(
            "int n, x; void *f(void *p) {{ x++; return 0; }} int main(void) {{ pthread_t t; n = __VERIFIER_nondet_int();
             {bound} for (int i = 0; i < n; {step}) pthread_create(&t, 0, f, 0); assert(x <= 2); return 0; }}"
        )
    };
    let copies = |text: &str| lowered(text, CCheck::Reach).threads.iter().last().map(|t| t.copies);
    let three = text("__VERIFIER_assume(n >= 0 && n <= 3);", "i++");
    assert_eq!(copies(&three), Some(Copies::Exactly(3)));
    assert_eq!(answer(&three), Answer::Unsafe);
    let two = text("__VERIFIER_assume(n <= 2);", "i++");
    assert_eq!((copies(&two), answer(&two)), (Some(Copies::Exactly(2)), Answer::Safe));
    assert_eq!(copies(&text("__VERIFIER_assume(n <= 5);", "i += 2")), Some(Copies::Exactly(3)));
    // A counter that stands still or goes back bounds nothing, nor does a number that is not known.
    assert_eq!(copies(&text("__VERIFIER_assume(n <= 3);", "i += __VERIFIER_nondet_bool()")), Some(Copies::Any));
    assert_eq!(copies(&text("__VERIFIER_assume(n <= 3);", "i = __VERIFIER_nondet_int()")), Some(Copies::Any));
    assert_eq!(copies(&text("", "i++")), Some(Copies::Any));
    // Nor one that another thread writes.
    let written = "int n = 3, i; void *f(void *p) { i = 0; return 0; } int main(void) { pthread_t t;
      for (i = 0; i < n; i++) pthread_create(&t, 0, f, 0); assert(i != 3); return 0; }";
    assert_eq!(copies(written), Some(Copies::Any));
    // Each loop has its own creations; one inside another has as many as both have turns.
    let nested =
        "int n, m, x; void *f(void *p) { x++; return 0; } int main(void) { pthread_t t; n = __VERIFIER_nondet_int();
      __VERIFIER_assume(n <= 2); for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) pthread_create(&t, 0, f, 0);
      assert(x <= 4); return 0; }";
    assert_eq!(copies(nested), Some(Copies::Any));
}

/// So many functions that lock, test, switch and loop, each calling the one before it in groups of eight, in two threads.
fn long_program(functions: usize) -> String {
    let mut text = format!("{HEADER} pthread_mutex_t m; int g[8]; int total;\n");
    for i in 0..functions {
        let call = if i % 8 == 0 { "a".to_string() } else { format!("f{}(a + 1)", i - 1) };
        let (k, at, next) = (i % 7, i % 8, (i + 1) % 8);
        text += &format!(
            "static int f{i}(int a) {{ int r = a, k = {k}; pthread_mutex_lock(&m);\n if (g[{at}] > {i}) {{ g[{at}] -= k; r += 2; }}
             else {{ g[{next}] += k; total = total + 1; }}\n pthread_mutex_unlock(&m);\n switch (r % 3) {{ case 0: r += k; break;
             case 1: r -= k; break; default: r = 0; }}\n for (int j = 0; j < 3; j++) r += j;\n return r + {call}; }}\n"
        );
    }
    for thread in 0..2 {
        let calls: String = (7 + thread..functions).step_by(8).map(|i| format!("s += f{i}(s);\n")).collect();
        text += &format!("void *t{thread}(void *u) {{ int s = 0; {calls} return 0; }}\n");
    }
    text + "int main(void) { pthread_t a, b; pthread_create(&a, 0, t0, 0); pthread_create(&b, 0, t1, 0);
      pthread_join(a, 0); pthread_join(b, 0); assert(total >= 0); return 0; }"
}

/// What lowering costs grows with the text, not with its square: eight times the text takes less than ten times the work, counted in
/// what the passes look at.
#[test]
fn check_the_work_of_lowering_grows_with_the_text() {
    let cost = |functions: usize| -> usize {
        LOOKED_AT.with(|n| n.set(0));
        let text = long_program(functions);
        let (program, _) = load_c(&mut Sources::new(), Path::new("long.i"), &text, &COptions::default());
        assert!(program.is_some_and(|p| p.threads.len() == 3));
        LOOKED_AT.with(std::cell::Cell::get)
    };
    let (small, large) = (cost(16), cost(128));
    assert!(large < 10 * small, "16 functions take {small}, 128 take {large}");
}

/// A text that a format makes is written, and of its characters nothing is known.
#[test]
fn check_a_formatted_text_is_written_and_not_followed() {
    let head = "int snprintf(char *, size_t, const char *, ...); int sprintf(char *, const char *, ...); char b[8];";
    let program = |body: &str| format!("{head} int main(void) {{ {body} return 0; }}");
    assert_eq!(answer(&program("snprintf(b, 8, \"%d\", 3);")), Answer::Safe);
    assert_eq!(with(&program("snprintf(b, 8, \"%d\", 3);"), CCheck::Memory), Answer::Safe);
    let unknown = [
        (program("snprintf(b, 8, \"%d\", 3); if (b[0] != '3') reach_error();"), CCheck::Reach),
        (program("snprintf(b, 9, \"%d\", 3);"), CCheck::Memory),
        (program("snprintf(b + 1, 8, \"%d\", 3);"), CCheck::Memory),
        (program("sprintf(b, \"%d\", 3);"), CCheck::Memory),
    ];
    for (text, check) in unknown {
        assert!(matches!(with(&text, check), Answer::Unmodelled(_)), "{text}");
    }
    let thread = "void *f(void *p) { b[3] = 0; return 0; }";
    let race = format!(
        "{head} {thread} int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); snprintf(b, 8, \"%d\", 3); return 0; }}"
    );
    assert_eq!(with(&race, CCheck::Race), Answer::Unsafe);
}

/// What comes from outside may be valid though nothing is known of it: no run ends there in silence.
#[test]
fn check_values_from_outside_are_not_undefined() {
    let head = "typedef unsigned pthread_key_t; void *pthread_getspecific(pthread_key_t);
      int pthread_key_delete(pthread_key_t); extern pthread_key_t key; typedef void *(*call)(void *); call lookup(int);
      extern call given; pthread_t start(int); extern pthread_t running;";
    let bodies = [
        "pthread_getspecific(key);",
        "pthread_key_delete(key);",
        "lookup(1)(0);",
        "given(0);",
        "pthread_t t; pthread_create(&t, 0, lookup(1), 0);",
        "pthread_join(start(1), 0);",
        "pthread_join(running, 0);",
    ];
    for body in bodies {
        for check in [CCheck::Reach, CCheck::Memory] {
            let text = format!("{head} int main(void) {{ {body} reach_error(); return 0; }}");
            assert!(matches!(with(&text, check), Answer::Unmodelled(_)), "{body}");
        }
    }
}

#[test]
fn check_lists_of_arguments_are_handed_on_and_not_looked_into() {
    let head = "typedef __builtin_va_list va_list; int vprintf(const char *, va_list);
      void inner(const char *f, va_list l) { vprintf(f, l); }";
    let program = |body: &str| {
        format!(
            "{head} int log(const char *f, ...) {{ int r = 1; va_list l; __builtin_va_start(l, f); {body}
              __builtin_va_end(l); return r; }} int main(void) {{ if (log(\"%d\", 3)) reach_error(); return 0; }}"
        )
    };
    assert_eq!(answer(&program("vprintf(f, l);")), Answer::Unsafe);
    assert_eq!(answer(&program("inner(f, l);")), Answer::Unsafe);
    assert_eq!(answer(&program("va_list k; __builtin_va_copy(k, l); inner(f, k);")), Answer::Unsafe);
    assert!(matches!(answer(&program("r = __builtin_va_arg(l, int);")), Answer::Unmodelled(_)));
}

/// C11 numbers what its functions return otherwise than POSIX does.
#[test]
fn check_mutexes_of_c11_have_their_own_errors_and_kinds() {
    let head = "typedef int mtx_t; int mtx_init(mtx_t *, int); int mtx_lock(mtx_t *); int mtx_trylock(mtx_t *);
      int mtx_timedlock(mtx_t *, void *); mtx_t m;";
    let program = |kind: i32, body: &str| {
        format!("{head} int main(void) {{ mtx_init(&m, {kind}); mtx_lock(&m); {body} return 0; }}")
    };
    assert_eq!(answer(&program(0, "if (mtx_trylock(&m) == 1) reach_error();")), Answer::Unsafe);
    assert_eq!(answer(&program(2, "if (mtx_timedlock(&m, 0) == 4) reach_error();")), Answer::Unsafe);
    assert_eq!(answer(&program(1, "mtx_lock(&m); reach_error();")), Answer::Unsafe);
    assert_eq!(answer(&program(0, "mtx_lock(&m); reach_error();")), Answer::Safe);
}

#[test]
fn check_there_are_never_fewer_than_no_arguments() {
    let text = "int main(int argc, char **argv) { if (argc < 0) reach_error(); return 0; }";
    assert_eq!(answer(text), Answer::Safe);
    let text = "int main(int argc, char **argv) { if (argc == 2) reach_error(); return 0; }";
    assert_eq!(answer(text), Answer::Unsafe);
}

#[test]
fn check_loops_whose_counter_wraps_are_not_of_known_length() {
    let text = "int a[4]; int main(void) { for (unsigned i = 3; i >= 0; i--) a[i] = 1; return 0; }";
    assert_eq!(with(text, CCheck::Memory), Answer::Unsafe);
    let text = "int a[4]; int main(void) { for (unsigned char i = 250; i < 257; i++) a[i % 4] = 1; reach_error(); }";
    assert_eq!(answer(text), Answer::Safe);
}

#[test]
fn check_destructors_of_keys_run_where_threads_end() {
    let text = "typedef unsigned pthread_key_t; pthread_key_t k; int gone; void done(void *p) { gone = gone + *(int *)p; } int five = 5;
      void *f(void *p) { SET return 0; }
      int main(void) { pthread_t t; pthread_key_create(&k, done); pthread_create(&t, 0, f, 0); pthread_join(t, 0);
        pthread_setspecific(k, &five); assert(gone == RESULT); return 0; }";
    let text = |set: &str, result: &str| text.replace("SET", set).replace("RESULT", result);
    assert_eq!(answer(&text("pthread_setspecific(k, &five);", "5")), Answer::Safe);
    assert_eq!(answer(&text("pthread_setspecific(k, &five); pthread_exit(0);", "5")), Answer::Safe);
    assert_eq!(answer(&text("pthread_setspecific(k, 0);", "0")), Answer::Safe);
    assert_eq!(answer(&text("pthread_setspecific(k, &five); pthread_key_delete(k);", "0")), Answer::Safe);
    assert_eq!(answer(&text("pthread_setspecific(k, &five);", "0")), Answer::Unsafe);
}

#[test]
fn check_a_wait_with_a_limit_may_fail() {
    let text = "sem_t s; int got; void *f(void *p) { if (CALL(&s, 0) == 0) got = 1; return 0; }
      int main(void) { pthread_t t; sem_init(&s, 0, 0); pthread_create(&t, 0, f, 0); sem_post(&s); pthread_join(t, 0);
        assert(got); return 0; }";
    assert_eq!(answer(&text.replace("CALL", "sem_timedwait")), Answer::Unsafe);
    assert_eq!(answer(&text.replace("CALL(&s, 0)", "sem_wait(&s)")), Answer::Safe);
}

#[test]
fn check_the_library_is_never_just_any_value() {
    let main =
        |body: &str| answer(&format!("int main(void) {{ int r; int a[4] = {{ 1, 2, 3, 4 }}; {body} return 0; }}"));
    assert_eq!(main("assert(atoi(\" -12x\") == -12);"), Answer::Safe);
    assert_eq!(main("assert(strtol(\"12\", 0, 10) == 12);"), Answer::Safe);
    assert!(matches!(main("assert(__builtin_object_size(a, 0) == 16);"), Answer::Unmodelled(_)));
    assert!(matches!(main("pthread_t t; pthread_cancel(t); reach_error();"), Answer::Unmodelled(_)));
    assert_eq!(
        main("assert(__builtin_popcount(7) == 3 && __builtin_clz(1) == 31 && __builtin_ctz(8) == 3);"),
        Answer::Safe
    );
    assert_eq!(main("assert(__builtin_mul_overflow(65536, 65536, &r) && r == 0);"), Answer::Safe);
    assert_eq!(main("assert(!__builtin_sub_overflow(1, 3, &r) && r == -2);"), Answer::Safe);
    assert_eq!(main("memmove(a + 1, a, 3 * sizeof *a); assert(a[1] == 1 && a[2] == 2 && a[3] == 3);"), Answer::Safe);
    assert_eq!(main("memset(a, 1, sizeof a); assert(a[3] == 0x01010101);"), Answer::Safe);
}

#[test]
fn check_memory_that_grows_keeps_what_it_held() {
    let main = |body: &str| format!("int main(void) {{ int *p = malloc(8); p[0] = 1; p[1] = 2; {body} return 0; }}");
    let grown = main("p = realloc(p, 16); p[3] = 4; assert(p[0] == 1 && p[1] == 2 && p[3] == 4);");
    assert_eq!(answer(&grown), Answer::Safe);
    assert_eq!(answer(&main("int *q = realloc(0, 4); *q = 5; assert(*q == 5 && p[0] == 1);")), Answer::Safe);
    assert_eq!(with(&main("p = realloc(p, 4); p[1] = 3;"), CCheck::Memory), Answer::Unsafe);
    assert_eq!(with(&main("int *q = realloc(p, 16); q[3] = 1; p[0] = 2;"), CCheck::Memory), Answer::Unsafe);
    assert_eq!(with(&main("int *q = realloc(p, 16); free(p);"), CCheck::Free), Answer::Unsafe);
    assert_eq!(with(&main("int *q = realloc(p, 16); free(q);"), CCheck::Free), Answer::Safe);
}

#[test]
fn check_freeing_races_with_accesses() {
    let text = "int *p; void *f(void *q) { free(p); return 0; } int main(void) { pthread_t t; p = malloc(4); *p = 1;
      pthread_create(&t, 0, f, 0); JOIN int r = *p; return r; }";
    assert_eq!(with(&text.replace("JOIN", ""), CCheck::Race), Answer::Unsafe);
    assert_eq!(with(&text.replace("JOIN int r = *p", "int r = 0"), CCheck::Race), Answer::Safe);
}

#[test]
fn check_layouts_are_those_of_gcc() {
    // Each number is what gcc says of the same text on x86-64.
    let sizes = [
        ("struct { unsigned a : 3; int b : 4; unsigned char c : 1; _Bool d : 1; unsigned : 0; unsigned e : 31; }", 8),
        ("struct { int a : 3; char c; }", 4),
        ("struct { char c; int a : 20; int b : 20; char d; }", 8),
        ("struct { long a : 40; int b : 20; int c : 10; }", 16),
        ("struct { char c; int i; } __attribute__((packed))", 5),
        ("struct __attribute__((packed)) { char c; double d; struct { char c; int i; } in; }", 17),
        ("struct { char c; } __attribute__((aligned(16)))", 16),
        ("struct { char c; int i __attribute__((aligned(16))); }", 32),
        ("union { int a : 3; char c; }", 4),
    ];
    for (ty, size) in sizes {
        assert_eq!(
            answer(&format!("int main(void) {{ assert(sizeof({ty}) == {size}); return 0; }}")),
            Answer::Safe,
            "{ty}"
        );
    }
    let parts = "struct { int a : 3; char c; int b : 7; } s; int main(void) { s.a = 1; s.c = 2; s.b = 3; s.c++;
      assert(s.a == 1 && s.c == 3 && s.b == 3); return 0; }";
    assert_eq!(answer(parts), Answer::Safe);
    // Neighbours of different types are one location.
    let race = "struct { unsigned a : 3; BETWEEN unsigned char b : 2; } s; void *f(void *p) { s.a = 1; return 0; }
      int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); s.b = 1; return 0; }";
    assert_eq!(with(&race.replace("BETWEEN", ""), CCheck::Race), Answer::Unsafe);
    assert_eq!(with(&race.replace("BETWEEN", "unsigned : 0;"), CCheck::Race), Answer::Safe);
    let length = "int sum(int n, int a[n]) { return a[0] + n; } int main(void) { int b[2] = { 3, 4 }; assert(sum(2, b) == 5); return 0; }";
    assert_eq!(answer(length), Answer::Safe);
}

#[test]
fn check_labelled_statements_run_in_threads() {
    let text =
        "int x; void set(void) { x = 1; } int main(void) { __CPROVER_ASYNC_1: set(); assert(x == 0); return 0; }";
    assert_eq!(answer(text), Answer::Unsafe);
    assert_eq!(answer(&text.replace("x == 0", "x == 0 || x == 1")), Answer::Safe);
    let local = "int x; int main(void) { int i = 1; __CPROVER_ASYNC_1: x = i; return 0; }";
    assert!(matches!(answer(local), Answer::Unmodelled(_)));
}

#[test]
fn check_what_main_does_alone_needs_no_mutex() {
    let text = "pthread_mutex_t m; int n;\n//@ performs Add: <n> m == 0 && n' == n + by\nvoid add(int by)
      { pthread_mutex_lock(&m); n = n + by; pthread_mutex_unlock(&m); } void *f(void *p) { add(2); LOOK return 0; }
      int main(void) { pthread_t t; n = 5; pthread_create(&t, 0, f, 0); add(1); JOIN assert(n > 0); return 0; }";
    let found = |look: &str, join: &str| {
        let program = lowered(&text.replace("LOOK", look).replace("JOIN", join), CCheck::Reach);
        program.properties.iter().any(|p| p.name == "access:n")
    };
    assert!(found("", "pthread_join(t, 0);"));
    assert!(!found("", ""), "the other thread may still run");
    assert!(!found("int k = n; assert(k > 0);", "pthread_join(t, 0);"), "another thread looks without the mutex");
    assert!(!found("pthread_mutex_lock(&m);", "pthread_join(t, 0);"), "the mutex may be held for ever");
}
