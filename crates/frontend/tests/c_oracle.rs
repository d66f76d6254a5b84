//! The front end's oracle: generated programs are compiled with gcc and run; the reference semantics must agree.
//!
//! Each generated program is deterministic: its threads take turns through a variable of the program itself, so the
//! schedule is forced in the compiled program and in every interleaving of the model. The compiled program prints its
//! globals; with these values asserted at the end, the model must be safe, and the end must be reachable. Runs with
//! undefined behaviour are cut off in the model, so their end is not reachable and they are not compared.

use base::differential::programs_to_try;
#[path = "c_oracle/hostile.rs"]
mod hostile;
#[path = "c_oracle/mixed.rs"]
mod mixed;
#[path = "c_oracle/sanitized.rs"]
mod sanitized;
#[path = "c_oracle/scenes.rs"]
mod scenes;
#[path = "c_oracle/values.rs"]
mod values;

use base::random::Random;
use base::{Budget, Sources};
use frontend::c::harness::harness;
use frontend::c::{COptions, DataModel, load_c};
use program::PropertyKind;
use program::semantics::{InstanceCounts, ReachLimits, Reached, reachable_states};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const TYPES: [&str; 9] =
    ["signed char", "unsigned char", "short", "unsigned short", "int", "unsigned", "long", "unsigned long", "_Bool"];

/// Two threads that take turns, two statements in each, and the end of the program. `local` is the first value of the
/// threads' variable `l`, `statement` the one of a number. The statements stand under a mutex: bit-fields that two threads store with
/// no lock are outside the model, whose turn it is or not.
fn in_turns<G>(
    out: &mut String,
    of: &mut G,
    local: impl Fn(&mut G) -> usize,
    statement: impl Fn(&mut G, usize) -> String,
) {
    out.push_str("volatile int turn;\npthread_mutex_t whole = PTHREAD_MUTEX_INITIALIZER;\n");
    for thread in 0..2 {
        let _ = writeln!(out, "void *f{thread}(void *unused) {{\n  int l = {};", local(of));
        for round in 0..2 {
            let _ = writeln!(out, "  while (turn != {})\n    ;\n  pthread_mutex_lock(&whole);", round * 2 + thread);
            for i in 0..2 {
                let _ = writeln!(out, "  {}", statement(of, round * 2 + i));
            }
            let _ = writeln!(out, "  pthread_mutex_unlock(&whole);\n  turn = {};", round * 2 + thread + 1);
        }
        out.push_str("  return 0;\n}\n");
    }
    out.push_str(
        "int main(void) {\n  pthread_t a, b;\n  pthread_create(&a, 0, f0, 0);\n  pthread_create(&b, 0, f1, 0);\n  \
         pthread_join(a, 0);\n  pthread_join(b, 0);\n  FINISH\n  return 0;\n}\n",
    );
}

struct Generator {
    random: Random,
    types: Vec<usize>,
}

impl Generator {
    fn pick(&mut self, n: usize) -> usize {
        (self.random.word() % n as u64) as usize
    }
    fn expression(&mut self, depth: usize) -> String {
        if depth == 0 || self.pick(5) == 0 {
            return match self.pick(3) {
                0 => format!("g{}", self.pick(self.types.len())),
                1 => ["0", "1", "2", "7", "-1", "100", "255", "3u", "40000", "65535"][self.pick(10)].to_string(),
                _ => "l".into(),
            };
        }
        let a = self.expression(depth - 1);
        let b = self.expression(depth - 1);
        match self.pick(14) {
            0 => format!("({a} + {b})"),
            1 => format!("({a} - {b})"),
            2 => format!("({a} * {b})"),
            3 => format!("({a} / {})", [1, 2, 3, -5, 16][self.pick(5)]),
            4 => format!("({a} % {})", [1, 2, 3, -5, 16][self.pick(5)]),
            5 => format!("({a} & {b})"),
            6 => format!("({a} | {b})"),
            7 => format!("({a} ^ {b})"),
            8 => format!("({a} {} {b})", ["<", "<=", "==", "!=", ">", ">="][self.pick(6)]),
            9 => format!("({a} ? {b} : {})", self.expression(depth - 1)),
            10 => format!("(({}){a})", TYPES[self.pick(TYPES.len())]),
            11 => format!("(~{a})"),
            12 => format!("((unsigned){a} >> {})", self.pick(20)),
            _ => format!("({a} && !{b})"),
        }
    }
    fn statement(&mut self) -> String {
        let target = if self.pick(4) == 0 { "l".to_string() } else { format!("g{}", self.pick(self.types.len())) };
        let value = self.expression(2);
        match self.pick(6) {
            0 => format!("{target} += {value};"),
            1 => format!("{target} ^= {value};"),
            2 => format!("{target}++;"),
            3 => format!("if ({value}) {target} = {}; else {target}--;", self.expression(1)),
            _ => format!("{target} = {value};"),
        }
    }
    /// A program whose end is `finish`.
    fn program(&mut self) -> String {
        let mut out =
            String::from("#include <assert.h>\n#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\n");
        for (i, ty) in self.types.clone().iter().enumerate() {
            let _ = writeln!(out, "{} g{i} = {};", TYPES[*ty], self.pick(3));
        }
        in_turns(&mut out, self, |this| this.pick(9), |this, _| this.statement());
        out
    }
}

/// Programs with structs, bit-fields, unions, pointers, recursion, loops, jumps and the heap.
struct Shapes(Generator);

const SHAPES: &str = "#include <assert.h>\n#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\
struct in { int x; long y; };\n\
struct s { int a; unsigned char b; short c[2]; struct in in; unsigned f : 3; int h : 5; _Bool k : 1; } s = { 1, 2, { 3, 4 }, { 5, 6 }, 7, -8, 1 }, s2;\n\
union u { unsigned w; unsigned char by[4]; unsigned short hw[2]; struct { char lo; short hi; } p; } u = { 0x01020384u }, u2;\n\
enum e { E0, E5 = 5, E6 };\n\
int arr[5] = { 9, [2] = -3, 4 }; long big = 1L << 33; long *lp = &big; const char *text = \"a\\xfe\\n9\"; double d = 0.25;\n\
static int rec(int n) { int own = n; if (n <= 0) return 1; return own + rec(n - 1) * (own & 1) + own; }\n\
static int even(int n); static int odd(int n) { return n == 0 ? 0 : even(n - 1); } static int even(int n) { return n == 0 ? 1 : odd(n - 1); }\n\
static int twice(int x) { return (x & 1023) * 2; }\nstatic int flip(int x) { return ~x; }\nint (*fp[2])(int) = { twice, flip };\n\
static int count(void) { static int n = 3; return n++; }\n\
static struct s make(int k) { struct s r = s; r.a = k; r.f = k; r.c[1] = k; return r; }\n\
static void set(int *p, int v) { *p = v; }\nstruct node { int v; struct node *next; };\n";

impl Shapes {
    fn small(&mut self) -> String {
        self.0.expression(1)
    }
    fn pick(&mut self, n: usize) -> usize {
        self.0.pick(n)
    }
    fn statement(&mut self, label: usize) -> String {
        let (e, f, k) = (self.small(), self.small(), self.pick(2));
        let g = format!("g{}", self.pick(self.0.types.len()));
        match self.pick(26) {
            0 => format!("arr[(unsigned){e} % 5] = {f};"),
            1 => format!("s.a = {e}; s.b += {f}; s.f = {e}; s.h = {f}; s.k = {e};"),
            2 => "s2 = s; s.in.y ^= s2.a; s.f++; s2.h--; s.f += 3;".into(),
            3 => format!("u.w = {e}; u.by[{k}] = {f}; {g} = u.hw[{k}];"),
            4 => format!("u.hw[{k}] = {e}; u.p.lo = {f}; u2 = u; {g} = u2.w;"),
            5 => format!("l = rec({}); {g} = even({});", self.pick(4), self.pick(5)),
            6 => format!(
                "switch ((unsigned){e} % 4) {{ case 0: l ^= 5; case 1: {g} = {f}; break; case 2: {{ l = 3; }} default: {g}--; }}"
            ),
            7 => format!(
                "for (int i = 0; i < {}; i++) {{ if (arr[i] == {e}) continue; if (i == 3) break; arr[i] ^= i; }}",
                self.pick(5)
            ),
            8 => format!("{{ int *p = &arr[{k}]; *p++ = {e}; *p = l; p[1] = p - arr; }}"),
            9 => format!("{g} = fp[(unsigned){e} % 2](l);"),
            10 => format!("{{ struct s *q = {k} ? &s : &s2; q->c[{k}] = {e}; q->in.x = q->c[{}]; q->h++; }}", 1 - k),
            11 => format!("l ^= text[{}]; {g} = \"xyz\"[{}];", self.pick(4), self.pick(3)),
            12 => format!("{g} = (l ^= 3, l & {e}); l = {g} ? {f} : (l & 7);"),
            13 => format!("l = count(); {g} = l++;"),
            14 => format!(
                "{{ void *v = malloc(sizeof(struct node)); struct node *n = v; n->v = {e}; n->next = n; {g} = n->next->v; }}"
            ),
            15 => format!("l &= 255; do {{ l = l / 2; {g} ^= 1; }} while (l > 3);"),
            16 => format!("if ({e}) goto skip{label}; {g} = {f}; skip{label}: ;"),
            17 => "memset(&s2, 0, sizeof s2); memcpy(&s2.in, &s.in, sizeof s.in);".into(),
            18 => format!("s2 = make({e}); {g} = make({k}).c[1];"),
            19 => format!("set(&l, {e}); set(&arr[{k}], l); *lp = {f}; {g} = big >> 3;"),
            20 => format!("d += 0.5; {g} = sizeof(union u) + E6 - (enum e)E5;"),
            21 => format!("l = ({e} && (arr[{k}] = 7)) || {f};"),
            22 => format!("{{ struct in t[2] = {{ {{ {e} }}, {{ .y = {f} }} }}; {g} = t[{k}].x + (int)t[1].y; }}"),
            23 => format!("s.in = (struct in){{ {e}, 4 }}; {g} = s.f - 8 < 0;"),
            24 => format!("{{ char c = {e}; short h = {f}; c += h; {g} = c; arr[{k}] = c << 2 < 0 ? 0 : c; }}"),
            _ => format!("{{ int n = 0; while (1) {{ if (++n > {}) break; l ^= n; }} {g} = n; }}", self.pick(4)),
        }
    }
    fn program(&mut self) -> String {
        let mut out = String::from(SHAPES);
        for (i, ty) in self.0.types.clone().iter().enumerate() {
            let _ = writeln!(out, "{} g{i} = {};", TYPES[*ty], self.pick(3));
        }
        in_turns(&mut out, self, |this| this.pick(9), |this, i| this.statement(i));
        out
    }
    const SEEN: [&'static str; 26] = [
        "g0", "g1", "g2", "g3", "s.a", "s.b", "s.c[0]", "s.c[1]", "s.in.x", "s.in.y", "s.f", "s.h", "s.k", "s2.a",
        "s2.f", "s2.h", "s2.in.y", "u.w", "u.by[3]", "u.p.hi", "arr[0]", "arr[1]", "arr[2]", "arr[3]", "arr[4]", "big",
    ];
}

fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("threadproof-{}-{name}", std::process::id()))
}

/// Compiles and runs; the output and whether it ended well. `None` if there is no compiler.
fn compiled(text: &str, name: &str) -> Option<(String, bool)> {
    let (source, binary) = (scratch(&format!("{name}.c")), scratch(name));
    std::fs::write(&source, text).expect("the source can be written");
    let built = Command::new("gcc").args(["-w", "-O0", "-pthread", "-o"]).arg(&binary).arg(&source).output();
    let result = match built {
        Err(_) => None,
        Ok(built) => {
            assert!(built.status.success(), "{}\n{text}", String::from_utf8_lossy(&built.stderr));
            let run = Command::new(&binary).output().expect("the program runs");
            Some((String::from_utf8_lossy(&run.stdout).into_owned(), run.status.success()))
        }
    };
    let _ = std::fs::remove_file(source);
    let _ = std::fs::remove_file(binary);
    result
}

fn searched(text: &str) -> (program::Program, Sources, Reached) {
    let mut sources = Sources::new();
    let options = COptions { model: DataModel::Lp64, ..COptions::default() };
    let (program, diagnostics) = load_c(&mut sources, Path::new("generated.c"), text, &options);
    let Some(program) = program else { panic!("{}\n{text}", diagnostics[0].message) };
    let budget = Budget::unlimited().with_time(Duration::from_secs(20));
    let found = reachable_states(
        &program,
        &InstanceCounts::of(&program, 1),
        &ReachLimits { states: 20_000, budget, ..ReachLimits::default() },
    );
    let unmodelled = |p: &program::PropertyId| matches!(program.properties[*p].kind, PropertyKind::Unmodelled(_));
    assert!(!found.violations.keys().any(unmodelled), "not modelled:\n{text}");
    (program, sources, found)
}

/// Whether the model ends with the values that gcc's program prints; `None` if the run has no defined end, or there is no gcc.
fn agrees(text: &str, seen: &[&str], name: &str) -> Option<()> {
    let (_, _, end) = searched(&text.replace("FINISH", "assert(0);"));
    if end.violations.is_empty() {
        return None; // Undefined behaviour on the way.
    }
    let print: String = seen.iter().map(|v| format!("printf(\"%lld\\n\", (long long){v});")).collect();
    let (printed, _) = compiled(&text.replace("FINISH", &print), name)?;
    let mut asserts = String::new();
    for (variable, value) in seen.iter().zip(printed.lines()) {
        // The printed bits of an unsigned long are compared as such.
        let value: i64 = value.parse().expect("a number is printed");
        let literal = if value == i64::MIN { "(-9223372036854775807L - 1)".into() } else { format!("{value}L") };
        let _ = write!(asserts, "assert((long){variable} == {literal});");
    }
    let (program, sources, found) = searched(&text.replace("FINISH", &asserts));
    if let Some((id, trace)) = found.violations.iter().next() {
        let (property, steps) = (&program.properties[*id].name, trace.steps.len());
        let run = harness(&program, trace, &sources).unwrap_or_default();
        panic!("{name}: {property} after {steps} steps; gcc says {printed}\n{text}\n{run}");
    }
    Some(())
}

fn generator(seed: u64) -> Generator {
    let mut random = Random::new(seed);
    let types = (0..4).map(|_| (random.word() % TYPES.len() as u64) as usize).collect();
    Generator { random, types }
}

fn compiler() -> bool {
    Command::new("gcc").arg("--version").output().is_ok()
}

#[test]
fn check_the_model_computes_what_gcc_computes() {
    if !compiler() {
        println!("there is no gcc here");
        return;
    }
    let seen = ["g0", "g1", "g2", "g3"];
    let compared = (0..programs_to_try(24))
        .filter_map(|seed| agrees(&generator(seed).program(), &seen, &format!("oracle{seed}")))
        .count();
    assert!(compared >= 8, "only {compared} programs had a defined end");
}

#[test]
fn check_memory_and_control_are_what_gcc_makes_of_them() {
    if !compiler() {
        println!("there is no gcc here");
        return;
    }
    let one = |seed| {
        let text = Shapes(generator(seed)).program();
        agrees(&text, &Shapes::SEEN, &format!("shapes{seed}"))
    };
    let compared = (0..programs_to_try(20)).filter_map(one).count();
    assert!(compared >= 8, "only {compared} programs had a defined end");
}

#[test]
fn check_a_harness_makes_the_bug_happen() {
    // One of them has a `%` in the statement that breaks; every kind of failure is among them.
    for name in [
        "counter_lost_update",
        "peterson_late_flag",
        "condvar_if",
        "race_read",
        "fig4",
        "remainder",
        "deadlock",
        "rwlock_upgrade",
        "unlock_twice",
        "null_dereference",
        "out_of_bounds",
        "overflow",
        "division",
        "memory_lost",
        "list_freed_twice",
        "realloc_stale",
        "float_lost",
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../corpus/c/{name}.c"));
        let text = std::fs::read_to_string(&path).unwrap();
        let mut sources = Sources::new();
        let checks = text.lines().find_map(|l| l.strip_prefix("// check: ")).map(frontend::c::CCheck::parse).unwrap();
        let options = COptions { model: DataModel::Lp64, checks };
        let (program, _) = load_c(&mut sources, &path, &text, &options);
        let Some(program) = program else { return };
        let found = reachable_states(&program, &InstanceCounts::of(&program, 2), &ReachLimits::default());
        let trace = found.violations.values().next().expect("the program is broken");
        let run = harness(&program, trace, &sources).expect("a run over numbers");
        let Some((said, fine)) = compiled(&run, name) else { return };
        assert!(!fine && said.contains("breaks") && !said.contains("%%"), "{name}: {said}\n{run}");
    }
}
