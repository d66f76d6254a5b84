//! Hostile programs: each class that once gave a wrong verdict is a row, with choices made at random.
//!
//! In: a seed. Out: a program, compiled with gcc and the sanitizer of its property and run several times, and searched by the
//! reference semantics. A run that violates the property while the search of the model is complete and finds nothing, and nothing is unmodelled, is
//! a wrong "safe". Deliberately absent: the other direction, for a run that does not fail proves nothing.

use base::random::Random;
use base::{Budget, Sources};
use frontend::c::{CCheck, COptions, DataModel, load_c};
use program::semantics::{InstanceCounts, ReachLimits, reachable_states};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// How often a compiled program is run.
const RUNS: usize = 3;
/// A run that takes longer waits for ever, as for a mutex that it holds.
const SECONDS: &str = "10";

pub(super) struct Choices(pub Random);

impl Choices {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0.word() % n
    }
    pub(crate) fn of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len() as u64) as usize]
    }
}

pub(super) struct Hostile {
    pub class: &'static str,
    pub check: &'static str,
    pub text: String,
}

pub(super) const HEAD: &str = "#define _GNU_SOURCE\n#include <assert.h>\n#include <limits.h>\n#include <pthread.h>\n#include <semaphore.h>\n\
#include <stdatomic.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <time.h>\n\
#include <unistd.h>\n";

/// `body` runs in a thread, `start` before it is created, `beside` while it runs, `end` when it has ended.
fn two_threads(globals: &str, start: &str, body: &str, beside: &str, end: &str) -> String {
    format!(
        "{HEAD}{globals}\nvoid *worker(void *unused) {{\n  {body}\n  return 0;\n}}\nint main(void) {{\n  pthread_t t;\n  {start}\n  \
         pthread_create(&t, 0, worker, 0);\n  {beside}\n  pthread_join(t, 0);\n  {end}\n  return 0;\n}}\n"
    )
}

fn size_known_late(c: &mut Choices) -> Hostile {
    let (place, set) = [("int n", "n"), ("struct { int pad, n; } s", "s.n"), ("int n[2]", "n[1]")][c.below(3) as usize];
    let make = c.of(&[
        "malloc(LEN * sizeof(pthread_t))",
        "calloc(LEN, sizeof(pthread_t))",
        "realloc(0, LEN * sizeof(pthread_t))",
    ]);
    let make = make.replace("LEN", set);
    let count = 2 + c.below(2);
    let text = format!(
        "{HEAD}{place}; int total; pthread_t *ids;\nvoid *adder(void *unused) {{ total++; return 0; }}\nint main(void) {{\n  {set} = {count};\n  \
         ids = {make};\n  for (int i = 0; i < {set}; i++) pthread_create(&ids[i], 0, adder, 0);\n  \
         for (int i = 0; i < {set}; i++) pthread_join(ids[i], 0);\n  return 0;\n}}\n"
    );
    Hostile { class: "sizes that an early pass does not know", check: "no-data-race", text }
}

fn constant_behind_pointer(c: &mut Choices) -> Hostile {
    let change = c.of(&["*p = 1;", "set(p);", "memset(p, 1, sizeof *p);", "{ int **q = &p; **q = 2; }"]);
    let turn = c.of(&[
        "while (i++ < turns) { assert(n == 0); CHANGE }",
        "again: assert(n == 0); CHANGE if (++i < turns) goto again;",
        "do { assert(n == 0); CHANGE } while (++i < turns);",
    ]);
    let turn = turn.replace("CHANGE", change);
    let text = format!(
        "{HEAD}int turns;\nvoid set(int *at) {{ *at = 1; }}\nvoid *worker(void *unused) {{\n  int i = 0, n = 0, *p = &n;\n  {turn}\n  return 0;\n}}\n\
         int main(void) {{\n  turns = {};\n  for (int i = 0; i < turns; i++) {{ pthread_t t; pthread_create(&t, 0, worker, 0); pthread_join(t, 0); }}\n  return 0;\n}}\n",
        2 + c.below(2)
    );
    Hostile { class: "constants of locals that a pointer changes", check: "unreach-call", text }
}

fn jump_by_line(c: &mut Choices) -> Hostile {
    let (first, second) = (c.below(90) + 2, c.below(90) + 2);
    let body = format!(
        "int seen = 0, i = 0;\n#line {first}\nagain:\n  assert(seen == 0);\n  seen = 1;\n#line {second}\n  if (i++ < turns) goto again;"
    );
    let text = two_threads("int turns;", "turns = 1;", &body, "", "");
    Hostile { class: "jumps by the numbers of lines", check: "unreach-call", text }
}

fn number_of_address(c: &mut Choices) -> Hostile {
    let number = c.of(&[
        "((uintptr_t)&a >> 4 & 1)",
        "((uintptr_t)&a / 16 % 3)",
        "((uint32_t)(uintptr_t)&a % 7)",
        "(&a < &b)",
        "(((uintptr_t)&a ^ (uintptr_t)&b) != 32)",
    ]);
    let assertion = format!("assert({number} == {});", c.below(2));
    let text = two_threads("int a, b;", "", "a = 1;", "", &assertion);
    Hostile { class: "numbers computed from addresses", check: "unreach-call", text }
}

fn argument_with_effect(c: &mut Choices) -> Hostile {
    let (call, counts) = [
        ("pthread_t u; pthread_create(&u, (calls++, (pthread_attr_t *)0), worker, 0); pthread_join(u, 0);", 1),
        ("__atomic_store_n(&x, 1, (calls++, __ATOMIC_SEQ_CST));", 1),
        ("__atomic_thread_fence((calls++, __ATOMIC_SEQ_CST));", 1),
        ("sem_t s; sem_init(&s, calls++ * 0, 1); sem_timedwait(&s, (calls++, &late));", 2),
        ("pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_mutex_timedlock(&m, (calls++, &late));", 1),
        ("sscanf((calls++, \"7\"), \"%d\", &x);", 1),
        ("printf(\"%d\\n\", calls++);", 1),
        ("clock_gettime((calls++, CLOCK_REALTIME), &late);", 1),
    ][c.below(8) as usize];
    let wrong = counts - c.below(2) as i32;
    let text =
        two_threads("int calls, x; struct timespec late;", "", "", "", &format!("{call}\n  assert(calls == {wrong});"));
    Hostile { class: "arguments that have effects", check: "unreach-call", text }
}

fn memory_of_library(c: &mut Choices) -> Hostile {
    let n = 2 + c.below(4);
    let call = c.of(&[
        "printf(\"%.Ns\\n\", four);",
        "printf(\"%p\\n\", (void *)(four + N));",
        "write(1, four, N);",
        "fwrite(four, 1, N, stdout);",
        "fwrite(&number, N, 1, stdout);",
        "printf(\"%s\\n\", four);",
        "puts(four);",
    ]);
    let body =
        format!("char four[4] = {{ 'a', 'b', 'c', 'd' }}; int number = 1;\n  {}", call.replace('N', &n.to_string()));
    Hostile {
        class: "memory that library functions read",
        check: "memory-safety",
        text: two_threads("", "", &body, "", ""),
    }
}

fn stored_by_library(c: &mut Choices) -> Hostile {
    let call = c.of(&[
        "printf(\"ab%n\\n\", &x);",
        "sscanf(\"5\", \"%d\", &x);",
        "sscanf(\"5 6\", \"%*d %d\", &x);",
        "x = strcmp(a, b) == -2;",
        "x = strcmp(a, b) != -1;",
    ]);
    let globals = "int x; char a[] = \"a\", b[] = \"c\";";
    let text = two_threads(globals, "", "", "", &format!("{call}\n  assert(x == {});", c.below(2)));
    Hostile { class: "what library functions store and give", check: "unreach-call", text }
}

fn kind_of_mutex(c: &mut Choices) -> Hostile {
    let (place, at) = [
        ("pthread_mutex_t m;", "&m"),
        ("struct { int pad; pthread_mutex_t m; } s;", "&s.m"),
        ("pthread_mutex_t m[3];", "&m[1]"),
        ("pthread_mutex_t m[40];", "&m[33]"),
        ("struct { pthread_mutex_t m; int pad; } s[30];", "&s[29].m"),
    ][c.below(5) as usize];
    let kind = c.of(&["PTHREAD_MUTEX_RECURSIVE", "PTHREAD_MUTEX_ERRORCHECK"]);
    let start = format!(
        "pthread_mutexattr_t a; pthread_mutexattr_init(&a); pthread_mutexattr_settype(&a, {kind}); pthread_mutex_init({at}, &a);"
    );
    let body = format!(
        "pthread_mutex_lock({at});\n  int second = pthread_mutex_lock({at});\n  assert({});",
        c.of(&["second == 0", "second != 0"])
    );
    Hostile { class: "kinds of mutexes", check: "unreach-call", text: two_threads(place, &start, &body, "", "") }
}

fn plain_access_of_atomic(c: &mut Choices) -> Hostile {
    let plain = c.of(&[
        "*(int *)&s.a = 1;",
        "s.p = 1;",
        "memset((void *)&s, 0, sizeof s);",
        "saved = s;",
        "atomic_store(&s.a, 1);",
    ]);
    let beside = c.of(&["atomic_fetch_add(&s.a, 1);", "s.a++;", "s.a = 2;"]);
    let text = two_threads("union { atomic_int a; int p; } s, saved;", "", plain, beside, "");
    Hostile { class: "plain accesses of atomics", check: "no-data-race", text }
}

fn published(c: &mut Choices) -> Hostile {
    let store = c.of(&["relaxed", "release", "seq_cst"]);
    let load = c.of(&["relaxed", "acquire", "seq_cst"]);
    let body = format!("data = 1;\n  atomic_store_explicit(&ready, 1, memory_order_{store});");
    let beside = format!("while (!atomic_load_explicit(&ready, memory_order_{load})) ;\n  data = 2;");
    Hostile {
        class: "orders of atomics",
        check: "no-data-race",
        text: two_threads("int data; atomic_int ready;", "", &body, &beside, ""),
    }
}

fn undefined(c: &mut Choices) -> Hostile {
    let (check, body) = [
        ("memory-safety", "char *text = \"text\"; text[n] = 'T';"),
        ("memory-safety", "pair.a[n + 1] = 1;"),
        ("no-overflow", "n = least % (n - 2);"),
        ("no-overflow", "n = least / (n - 2);"),
        ("no-overflow", "n = -least;"),
    ][c.below(5) as usize];
    let globals = "int n, least = INT_MIN; struct { int a[2]; int b; } pair;";
    let start = format!("n = {};", c.below(2));
    Hostile { class: "undefined behaviour", check, text: two_threads(globals, &start, body, "", "") }
}

fn waiting_for_detached(c: &mut Choices) -> Hostile {
    let detach = c.of(&["pthread_detach(t);", ";"]);
    let text = format!(
        "{HEAD}int n;\nvoid *writer(void *unused) {{ usleep({}); n = 1; return 0; }}\nint main(void) {{\n  pthread_t t;\n  \
         pthread_create(&t, 0, writer, 0);\n  {detach}\n  pthread_join(t, 0);\n  n = 2;\n  usleep(30000);\n  return 0;\n}}\n",
        c.below(20) * 1000
    );
    Hostile { class: "waiting for detached threads", check: "no-data-race", text }
}

const ROWS: [fn(&mut Choices) -> Hostile; 12] = [
    size_known_late,
    constant_behind_pointer,
    jump_by_line,
    number_of_address,
    argument_with_effect,
    memory_of_library,
    stored_by_library,
    kind_of_mutex,
    plain_access_of_atomic,
    published,
    undefined,
    waiting_for_detached,
];

/// Pauses that a compiled program makes where it says `PAUSE`, drawn by the number of its process and of the pause.
const PAUSE: &str = "-DPAUSE=usleep((((unsigned)getpid()+__COUNTER__*7919u)*2654435761u>>20)%4*150)";

/// Compiles a program with the sanitizer of its property.
fn compile(hostile: &Hostile, name: &str) -> std::process::Output {
    let sanitizer = match hostile.check {
        "no-data-race" => "-fsanitize=thread",
        "memory-safety" => "-fsanitize=address,bounds,null",
        "no-overflow" => "-fsanitize=signed-integer-overflow,integer-divide-by-zero",
        _ => "-DNONE",
    };
    let (source, binary) = (super::scratch(&format!("{name}.c")), super::scratch(name));
    std::fs::write(&source, &hostile.text).expect("the source can be written");
    let built = Command::new("gcc")
        .args(["-w", "-g", "-O0", "-fno-builtin", "-fno-sanitize-recover=all", sanitizer, PAUSE, "-pthread", "-o"])
        .arg(&binary)
        .arg(&source)
        .output();
    let _ = std::fs::remove_file(source);
    built.expect("gcc runs")
}

/// Whether the compiler has the sanitizer.
pub(super) fn compiles(hostile: &Hostile, name: &str) -> bool {
    let built = compile(hostile, name).status.success();
    let _ = std::fs::remove_file(super::scratch(name));
    built
}

/// Whether some of so many runs of the compiled program violates its property.
pub(super) fn violated_in(hostile: &Hostile, name: &str, runs: usize) -> bool {
    let binary = super::scratch(name);
    let built = compile(hostile, name);
    assert!(built.status.success(), "{}\n{}", String::from_utf8_lossy(&built.stderr), hostile.text);
    // What a violation looks like; any other end, as by `abort` or a run that waits for ever, violates nothing here.
    let sign = match hostile.check {
        "no-data-race" => "WARNING: ThreadSanitizer: data race",
        "memory-safety" => "Sanitizer",
        "no-overflow" => "runtime error",
        _ => "Assertion",
    };
    let fails = |_| {
        let mut run = Command::new("timeout");
        // Locks taken in two orders are no race: the sanitizer's warning of deadlocks is not what is asked for.
        run.arg(SECONDS).arg(&binary).env("TSAN_OPTIONS", "detect_deadlocks=0");
        run.env("ASAN_OPTIONS", "detect_leaks=0:detect_stack_use_after_return=1");
        let said = run.output().expect("the program runs").stderr;
        let said = String::from_utf8_lossy(&said);
        said.contains(sign) || (hostile.check == "memory-safety" && said.contains("runtime error"))
    };
    let seen = (0..runs).any(fails);
    let _ = std::fs::remove_file(binary);
    seen
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Model {
    Safe,
    Unsafe,
    /// Something is unmodelled, or the search was cut off.
    Open,
}

pub(super) fn model(hostile: &Hostile, states: usize) -> Model {
    let mut sources = Sources::new();
    let options = COptions { model: DataModel::Lp64, checks: CCheck::parse(hostile.check) };
    let (program, diagnostics) = load_c(&mut sources, Path::new("hostile.c"), &hostile.text, &options);
    let Some(program) = program else { panic!("{}\n{}", diagnostics[0].message, hostile.text) };
    let budget = Budget::unlimited().with_time(Duration::from_secs(20));
    let limits = ReachLimits { states, budget, ..ReachLimits::default() };
    let found = reachable_states(&program, &InstanceCounts::of(&program, 2), &limits);
    let unmodelled =
        |p: &program::PropertyId| matches!(program.properties[*p].kind, program::PropertyKind::Unmodelled(_));
    match (found.violations.keys().any(|p| !unmodelled(p)), found.violations.is_empty() && found.complete()) {
        (true, _) => Model::Unsafe,
        (false, true) => Model::Safe,
        (false, false) => Model::Open,
    }
}

#[test]
fn check_no_hostile_program_is_safe_that_a_run_violates() {
    if !super::compiler() {
        println!("there is no gcc here");
        return;
    }
    let (mut wrong, mut decided, mut violations) = (Vec::new(), 0, 0);
    for seed in 0..super::programs_to_try(100) {
        let mut choices = Choices(Random::new(seed));
        let hostile = ROWS[seed as usize % ROWS.len()](&mut choices);
        let said = model(&hostile, 20_000);
        decided += usize::from(said != Model::Open);
        let violates = violated_in(&hostile, &format!("hostile{seed}"), RUNS);
        violations += usize::from(violates);
        if violates && said == Model::Safe {
            wrong.push(format!("{} ({}), seed {seed}:\n{}", hostile.class, hostile.check, hostile.text));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    println!("{decided} decided by the model, {violations} violated by a run");
    assert!(violations >= 20 && decided >= 40, "{violations} programs were violated, {decided} decided");
}
