//! The front end's oracle: generated programs are compiled with gcc and run; the reference semantics must agree.
//!
//! Each generated program is deterministic: its threads take turns through a variable of the program itself, so the
//! schedule is forced in the compiled program and in every interleaving of the model. The compiled program prints its
//! globals; with these values asserted at the end, the model must be safe, and the end must be reachable. Runs with
//! undefined behaviour are cut off in the model, so their end is not reachable and they are not compared.

use base::random::Random;
use base::{Budget, Sources};
use frontend::c::harness::harness;
use frontend::c::{DataModel, Options, load};
use program::PropertyKind;
use program::semantics::{Instances, Limits, Reached, reach};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const TYPES: [&str; 9] =
    ["signed char", "unsigned char", "short", "unsigned short", "int", "unsigned", "long", "unsigned long", "_Bool"];

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
        out.push_str("volatile int turn;\n");
        for thread in 0..2 {
            let _ = writeln!(out, "void *f{thread}(void *unused) {{\n  int l = {};", self.pick(9));
            for round in 0..2 {
                let _ = writeln!(out, "  while (turn != {})\n    ;", round * 2 + thread);
                for _ in 0..2 {
                    let _ = writeln!(out, "  {}", self.statement());
                }
                let _ = writeln!(out, "  turn = {};", round * 2 + thread + 1);
            }
            out.push_str("  return 0;\n}\n");
        }
        out.push_str(
            "int main(void) {\n  pthread_t a, b;\n  pthread_create(&a, 0, f0, 0);\n  pthread_create(&b, 0, f1, 0);\n  \
             pthread_join(a, 0);\n  pthread_join(b, 0);\n  FINISH\n  return 0;\n}\n",
        );
        out
    }
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
    let options = Options { model: DataModel::Lp64, ..Options::default() };
    let (program, diagnostics) = load(&mut sources, Path::new("generated.c"), text, &options);
    let Some(program) = program else { panic!("{}\n{text}", diagnostics[0].message) };
    let budget = Budget::unlimited().with_time(Duration::from_secs(20));
    let found = reach(&program, &Instances::of(&program, 1), &Limits { states: 20_000, budget, ..Limits::default() });
    let unmodelled = |p: &program::PropertyId| matches!(program.properties[*p].kind, PropertyKind::Unmodelled(_));
    assert!(!found.violations.keys().any(unmodelled), "not modelled:\n{text}");
    (program, sources, found)
}

#[test]
fn check_the_model_computes_what_gcc_computes() {
    let mut compared = 0;
    for seed in 0..24 {
        let mut random = Random::new(seed);
        let types = (0..4).map(|_| (random.word() % TYPES.len() as u64) as usize).collect();
        let mut generator = Generator { random, types };
        let text = generator.program();
        let (_, _, end) = searched(&text.replace("FINISH", "assert(0);"));
        if end.violations.is_empty() {
            continue; // Undefined behaviour on the way.
        }
        let mut print = String::new();
        for i in 0..4 {
            let _ = write!(print, "printf(\"%lld\\n\", (long long)g{i});");
        }
        let Some((printed, _)) = compiled(&text.replace("FINISH", &print), &format!("oracle{seed}")) else {
            println!("there is no gcc here");
            return;
        };
        let mut asserts = String::new();
        for (i, value) in printed.lines().enumerate() {
            // The printed bits of an unsigned long are compared as such.
            let value: i64 = value.parse().unwrap();
            let literal = if value == i64::MIN { "(-9223372036854775807L - 1)".into() } else { format!("{value}L") };
            let _ = write!(asserts, "assert((long)g{i} == {literal});");
        }
        let (program, sources, found) = searched(&text.replace("FINISH", &asserts));
        if let Some((id, trace)) = found.violations.iter().next() {
            let (property, steps) = (&program.properties[*id].name, trace.steps.len());
            let run = harness(&program, trace, &sources).unwrap_or_default();
            panic!("seed {seed}: {property} after {steps} steps; gcc says {printed}\n{text}\n{run}");
        }
        compared += 1;
    }
    assert!(compared >= 8, "only {compared} programs had a defined end");
}

#[test]
fn check_a_harness_makes_the_bug_happen() {
    for name in ["counter_lost_update", "peterson_late_flag", "condvar_if", "race_read", "fig4"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../corpus/c/{name}.c"));
        let text = std::fs::read_to_string(&path).unwrap();
        let mut sources = Sources::new();
        let check = text
            .lines()
            .find_map(|l| l.strip_prefix("// check: "))
            .and_then(|name| frontend::c::Check::parse(name).first().copied())
            .unwrap();
        let options = Options { model: DataModel::Lp64, checks: vec![check] };
        let (program, _) = load(&mut sources, &path, &text, &options);
        let Some(program) = program else { return };
        let found = reach(&program, &Instances::of(&program, 2), &Limits::default());
        let trace = found.violations.values().next().expect("the program is broken");
        let run = harness(&program, trace, &sources).expect("a run over numbers");
        let Some((said, fine)) = compiled(&run, name) else { return };
        assert!(!fine && said.contains("breaks"), "{name}: {said}\n{run}");
    }
}
