//! `horn` on random programs of two and three threads over integers: sums, remainders, quotients, wrapping bytes, elements of maps at
//! constant and computed indices. What it proves, a plain search must not refute; what it refutes is replayed by the checker.

use base::differential::{limited_work, programs_to_try, report_agreement, seeds};
use base::{Random, Sources};
use checker::{CheckLimits, Checker, Outcome};
use evidence::Claim;
use methods::HornClauses;
use methods::{Method, MethodOptions, Run, Task};
use program::Program;
use program::semantics::{self, InstanceCounts};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;
use testkit::oracle::Again;

struct Text(Random);

impl Text {
    fn pick(&mut self, list: &[&str]) -> String {
        list[self.0.below(list.len())].to_owned()
    }
    fn index(&mut self) -> String {
        self.pick(&["0", "1", "k", "k % 2", "x % 2"])
    }
    fn number(&mut self) -> String {
        let c = self.0.below(4).to_string();
        match self.0.below(9) {
            0 | 1 => c,
            2 => format!("x + {c}"),
            3 => format!("y - {c}"),
            4 => "k".into(),
            5 => format!("x + {}", self.pick(&["y", "k", "x"])),
            6 => format!("y / {}", 1 + self.0.below(3)),
            7 => format!("x % {}", 2 + self.0.below(3)),
            _ => {
                let i = self.index();
                format!("a[{i}]")
            }
        }
    }
    fn atom(&mut self) -> String {
        match self.0.below(7) {
            0 => format!("x % {} == {}", 2 + self.0.below(2), self.0.below(2)),
            1 => format!("b {} {}", self.pick(&["<=", "!=", "=="]), self.0.below(5)),
            2 => {
                let i = self.index();
                format!("a[{i}] {} {}", self.pick(&["<=", ">=", "!=", "=="]), self.0.below(4))
            }
            3 => format!("x {} y", self.pick(&["<=", ">=", "!=", "=="])),
            4 => "f".into(),
            5 => format!("k {} {}", self.pick(&["<", "==", ">="]), self.0.below(3)),
            _ => format!("{} {} {}", self.pick(&["x", "y"]), self.pick(&["<=", ">=", "!="]), self.0.below(6)),
        }
    }
    fn simple(&mut self) -> String {
        match self.0.below(8) {
            0 | 1 => format!("x := {};", self.number()),
            2 => format!("y := {};", self.number()),
            3 => format!("b := b {} {};", self.pick(&["+", "-"]), 1 + self.0.below(200)),
            4 => {
                let i = self.index();
                format!("a[{i}] := {};", self.number())
            }
            5 => format!("k := {};", self.number()),
            6 => format!("f := {};", self.atom()),
            _ => format!("assume {};", self.atom()),
        }
    }
    fn statement(&mut self, out: &mut String) {
        let _ = match self.0.below(8) {
            0 => writeln!(out, "  if {} {{ {} }} else {{ {} }}", self.atom(), self.simple(), self.simple()),
            1 => writeln!(out, "  atomic {{ {} {} }}", self.simple(), self.simple()),
            2 => writeln!(out, "  while {} {{ {} }}", self.pick(&["*", "k < 2", "x < 3"]), self.simple()),
            3 => writeln!(out, "  assert {} || {};", self.atom(), self.atom()),
            _ => writeln!(out, "  {}", self.simple()),
        };
    }
    fn file(&mut self) -> String {
        let mut out =
            "var x: int = 0;\nvar y: int = 1;\nvar b: u8 = 0;\nvar f: bool = false;\nvar a: [int]int;\n".to_owned();
        out += "init forall i: int :: a[i] == 0;\n";
        for n in 0..2 + self.0.below(2) {
            let _ = writeln!(out, "thread T{n} {{\n  var k: int := {};", self.0.below(2));
            (0..2 + self.0.below(3)).for_each(|_| self.statement(&mut out));
            let _ = writeln!(out, "  assert {};\n}}", self.atom());
        }
        out
    }
}

fn load(text: &str) -> Program {
    let mut sources = Sources::new();
    let parsed = frontend::lang::parse_file(&mut sources, "random", text.as_bytes());
    let lowered = frontend::lang::lower_file(&parsed, &sources, &frontend::lang::LoweringSettings::default());
    lowered.program.unwrap_or_else(|| panic!("it is a program:\n{text}\n{:?}", lowered.diagnostics))
}

#[test]
fn check_what_horn_says_of_integers_holds() {
    let (mut proved, mut refuted) = (0, 0);
    for seed in seeds(60) {
        let text = Text(Random::new(seed)).file();
        let program = load(&text);
        let bias = if seed % 2 == 0 { "modular" } else { "none" };
        let options = MethodOptions(BTreeMap::from([("bias".to_owned(), bias.to_owned())]));
        let properties = program.properties.ids().collect();
        let task = Task { program: program.clone(), properties, threads: BTreeMap::new(), options };
        let claims = HornClauses.run(&task, &Run::quiet(limited_work(Duration::from_millis(300))));
        let limits = semantics::ReachLimits { states: 5_000, ..semantics::ReachLimits::default() };
        let found = semantics::reachable_states(&program, &InstanceCounts::of(&program, 1), &limits);
        let mut leaves = Again;
        let mut checker = Checker::new(&program, &mut leaves, CheckLimits::default());
        for (property, claim) in &claims.claims {
            let outcome = checker.check(*property, "horn", claim).outcome();
            match claim {
                Claim::Proved(_) => {
                    assert!(!found.violations.contains_key(property), "seed {seed}: proved and violated\n{text}");
                    proved += usize::from(outcome == Outcome::Safe);
                }
                Claim::Refuted(_) => {
                    assert_eq!(outcome, Outcome::Unsafe, "seed {seed}: a run that is none\n{text}");
                    refuted += 1;
                }
                _ => {}
            }
        }
    }
    report_agreement("horn over integers", programs_to_try(60), &format!("{proved} proved, {refuted} refuted"));
    assert!(proved > 5 && refuted > 5, "too little is decided to mean anything: {proved} proofs, {refuted} runs");
}
