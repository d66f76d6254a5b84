//! Proofs of `reduce` on random procedures, against the definition by brute force; and the rule's accepted and rejected proofs.
//!
//! A procedure that is said to perform its specification is run beside an environment that keeps to the access
//! predicates and writes down what it sees, once with its own code and once replaced by its specification. Whatever the
//! environment can see, and whatever is left when all have ended, must be possible with the specification too.

use base::differential::{is_long_run, limited_work, programs_to_try, report_agreement, seeds};
use base::{Random, Sources};
use checker::{CheckLimits, Checker, Outcome};
use evidence::{Certificate, Claim, MoverPhase, Proof, Reduction};
use evidence::{Counterexample, SpecRun};
use logic::Value;
use methods::Reduce;
use methods::{Method, MethodOptions, Run, Task};
use program::call_summaries::call_summaries;
use program::semantics::{self, InstanceCounts, Sampling, Semantics, State};
use program::stage::StageEvent;
use program::{Program, PropertyKind, ThreadId};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use testkit::oracle::Again;

pub(crate) fn program(text: &str) -> Program {
    let mut sources = Sources::new();
    let parsed = frontend::lang::parse_file(&mut sources, "test.tp", text.as_bytes());
    assert!(!parsed.has_errors(), "{text}\n{:?}", parsed.diagnostics);
    let lowered = frontend::lang::lower_file(&parsed, &sources, &Default::default());
    lowered.program.unwrap_or_else(|| panic!("{text}\n{:?}", lowered.diagnostics))
}

pub(crate) fn claims(p: &Program) -> BTreeMap<String, Claim> {
    let task = Task {
        program: p.clone(),
        properties: p.properties.ids().collect(),
        threads: Default::default(),
        options: MethodOptions::default(),
    };
    let budget = limited_work(std::time::Duration::from_millis(if is_long_run() { 250 } else { 20_000 }));
    if Reduce.admits(&task).is_err() {
        return BTreeMap::new();
    }
    let claims = Reduce.run(&task, &Run::quiet(budget)).claims;
    claims.into_iter().map(|(q, c)| (p.properties[q].name.clone(), c)).collect()
}

/// What the checker says to a claim.
pub(crate) fn checked(p: &Program, name: &str, claim: &Claim) -> Outcome {
    let property = p.properties.iter_enumerated().find(|(_, q)| q.name == name).expect("there is one").0;
    let mut leaves = Again;
    Checker::new(p, &mut leaves, CheckLimits::default()).check(property, "reduce", claim).outcome()
}

/// What an environment can see: its own variables when it has ended, wherever the others are; and all that is left at the end.
#[derive(Default)]
struct Seen {
    environment: BTreeSet<Vec<Value>>,
    finally: BTreeSet<Vec<Value>>,
    complete: bool,
}

fn seen(p: &Program, instances: &InstanceCounts) -> Seen {
    let sem = Semantics::new(p);
    let mut out = Seen { complete: true, ..Seen::default() };
    let initial = sem.initial(instances, Sampling::default());
    out.complete &= initial.incomplete.is_none();
    let mut known: HashSet<State> = HashSet::new();
    let mut todo: Vec<State> = initial.states.into_iter().map(|(s, _)| s).collect();
    while let Some(state) = todo.pop() {
        if !known.insert(state.clone()) {
            continue;
        }
        if known.len() > 60_000 {
            out.complete = false;
            return out;
        }
        let ended = |t: ThreadId| state.instances.iter().all(|i| i.thread != t || p.threads[t].code.exit == Some(i.at));
        let environment = p.threads.iter_enumerated().find(|(_, t)| t.name == "E").map(|(id, _)| id);
        let logged: Vec<Value> = sem
            .shared
            .iter()
            .zip(&state.shared)
            .filter(|(v, _)| p.vars[**v].name.starts_with("seen"))
            .map(|(_, x)| x.clone())
            .collect();
        if environment.is_some_and(ended) {
            out.environment.insert(logged);
        }
        if p.threads.ids().all(ended) {
            out.finally.insert(state.shared.clone());
        }
        let next = sem.successors(&state, Sampling::default());
        out.complete &= next.incomplete.is_none();
        for outcome in next.outcomes {
            // A run ends where something goes wrong.
            if let semantics::StepOutcome::Moved { state, .. } = outcome {
                todo.push(state);
            }
        }
    }
    out
}

/// A value that has not been looked at may be any.
fn possible(store: &[Value], among: &BTreeSet<Vec<Value>>) -> bool {
    among.contains(store) || among.iter().any(|s| s.iter().zip(store).all(|(a, c)| a == c || *a == Value::Any))
}

pub(crate) struct Writer {
    pub dice: Random,
    pub predicates: [&'static str; 2],
}

impl Writer {
    pub(crate) fn roll(&mut self, n: u64) -> u64 {
        self.dice.below(n as usize) as u64
    }
    pub(crate) fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.dice.below(list.len())]
    }
    fn value(&mut self, locals: &[&'static str]) -> String {
        let mut all = vec!["true", "false", "x", "y", "!x", "!y"];
        all.extend(locals);
        self.pick(&all).to_string()
    }
    fn block(&mut self, depth: u32, length: u64, locals: &[&'static str]) -> String {
        (0..length).map(|_| self.statement(depth, locals)).collect()
    }
    fn statement(&mut self, depth: u32, locals: &[&'static str]) -> String {
        let kinds = if depth == 0 { 9 } else { 14 };
        let v = self.value(locals);
        match self.roll(kinds) {
            0 | 1 => format!("x := {v};\n"),
            2 => format!("y := {v};\n"),
            3 | 4 => format!("a := {v};\n"),
            5 => format!("r := {v};\n"),
            6 => self.pick(&["acquire m;\n", "release m;\n", "acquire k;\n", "release k;\n"]).to_string(),
            7 => format!("b := {v};\n"),
            8 => {
                let one = ["assume a;\n", "assert a == b;\n", "skip;\n", "atomic { a := x; x := b; }\n", "assume z;\n"];
                self.pick(&one).to_string()
            }
            9 => format!(
                "if {v} {{ {} }} else {{ {} }}\n",
                self.block(depth - 1, 1, locals),
                self.block(depth - 1, 1, locals)
            ),
            10 => format!("if a {{ {} }}\n", self.block(depth - 1, 2, locals)),
            11 => format!("while * {{ {} }}\n", self.block(depth - 1, 2, locals)),
            12 => format!("acquire m;\n{}release m;\n", self.block(depth - 1, 2, locals)),
            _ => format!("acquire k;\n{}release k;\n", self.block(depth - 1, 2, locals)),
        }
    }
    /// Mostly well-locked code, so that something is proved.
    pub(crate) fn body(&mut self) -> String {
        let locals = ["a", "b", "!a"];
        let length = 1 + self.roll(3);
        match self.roll(6) {
            0 => self.block(2, length, &locals),
            1 => format!("acquire m;\n{}release m;\n", self.block(1, length, &locals)),
            2 => format!("acquire m;\nacquire k;\n{}release k;\nrelease m;\n", self.block(0, length, &locals)),
            3 => {
                let (a, b) = (self.block(0, length, &locals), self.block(0, 1, &locals));
                format!("acquire m;\n{a}release m;\nacquire m;\n{b}release m;\n")
            }
            4 => format!("while * {{ acquire m;\n{}release m; }}\n", self.block(0, length, &locals)),
            _ => format!(
                "acquire m;\nif x {{ {}release m; }} else {{ {}release m; }}\n",
                self.block(0, 1, &locals),
                self.block(0, 1, &locals)
            ),
        }
    }
    pub(crate) fn action(&mut self, name: &str) -> String {
        let frame = self.pick(&["", "x", "y", "x, y", "x, y", "x, y, m", "x, y, m, k"]);
        let mut parts = vec!["true".to_string()];
        for f in frame.split(", ").filter(|f| *f == "x" || *f == "y") {
            if self.roll(2) == 0 {
                let v = self.pick(&["true", "false", "x", "y", "!x", "!y"]);
                parts.push(format!("{f}' == {v}"));
            }
        }
        if self.roll(3) == 0 {
            parts.push(
                self.pick(&["m == 0", "k == 0", "x", "!y", "m' == 0", "x ==> y'"])
                    .replace("y'", "y")
                    .replace("m'", "m"),
            );
        }
        if self.roll(3) == 0 {
            parts.push(self.pick(&["r", "!r", "r == x", "r == y", "r == !x"]).to_string());
        }
        format!("{name}: <{frame}> {}", parts.join(" && "))
    }
    fn spec(&mut self) -> String {
        match self.roll(8) {
            0 => format!("{}; {}", self.action("A"), self.action("B")),
            1 | 2 => format!("{} [] {}", self.action("A"), self.action("B")),
            3 => format!("({})*", self.action("A")),
            4 => format!("({})*; {}", self.action("A"), self.action("B")),
            _ => self.action("A"),
        }
    }
    /// A step of the environment that keeps to the predicates, and writes down what it sees.
    fn seeing(&mut self, n: usize) -> String {
        let may = |w: &Self, v: usize| w.predicates[v].to_string();
        match self.roll(8) {
            7 => "z := !z;\n".into(),
            0 => "acquire m;\n".into(),
            1 => "atomic { assume m == tid; m := 0; }\n".into(),
            2 => "acquire k;\n".into(),
            3 => "atomic { assume k == tid; k := 0; }\n".into(),
            4 => {
                let v = self.pick(&["true", "false", "!x"]);
                format!("atomic {{ assume {}; seen{n} := x; x := {v}; }}\n", may(self, 0))
            }
            5 => {
                let v = self.pick(&["true", "false", "!y"]);
                format!("atomic {{ assume {}; seen{n} := y; y := {v}; }}\n", may(self, 1))
            }
            _ => format!("atomic {{ assume {}; assume {}; seen{n} := x; x := y; }}\n", may(self, 0), may(self, 1)),
        }
    }
    /// What threads may rely on, if the steps keep it.
    fn promise(&mut self) -> String {
        let all = [
            "z ==> z'",
            "!z ==> !z'",
            "x ==> x'",
            "y ==> y'",
            "z' == z",
            "m == tid ==> m' == tid",
            "m == tid ==> x' == x",
            "m == tid && z ==> z' && m' == tid",
            "k == tid ==> y' == y && k' == tid",
            "x && y ==> x' || y'",
            "x ==> y' == y",
        ];
        (0..self.roll(3)).map(|_| format!("rely {};\n", self.pick(&all))).collect()
    }
    pub(crate) fn choose_predicates(&mut self) {
        let all = [
            "m == 0 || m == tid",
            "m == 0 || m == tid",
            "m == tid",
            "k == 0 || k == tid",
            "true",
            "if k == 0 then m == 0 || m == tid else k == tid",
            "(m == 0 || m == tid) && (k == 0 || k == tid)",
            "tid == 1",
            "m == tid || k == tid",
            // One predicate behind another, down to what anybody may change.
            "if y then m == 0 || m == tid else k == 0 || k == tid",
            "if z then m == 0 || m == tid else k == 0 || k == tid",
        ];
        self.predicates = [self.pick(&all), self.pick(&all)];
    }
    pub(crate) fn file(&mut self) -> String {
        self.choose_predicates();
        let steps: String = (0..3).map(|n| self.seeing(n)).collect();
        let (spec, body) = (self.spec(), self.body());
        // A procedure around it, by specification.
        let (outer, called) = if self.roll(3) == 0 {
            let spec = self.spec().replace("A:", "C:").replace("B:", "D:");
            let around = self.pick(&[
                "r := P();",
                "acquire k; r := P(); release k;",
                "acquire m; x := true; release m; r := P();",
                "r := P(); r := P();",
                "if * { r := P(); }",
                "acquire k; y := x; r := P(); y := r; release k;",
                "while * { r := P(); }",
                "acquire m; r := P(); release m;",
            ]);
            let text = format!("proc Q() returns (r: bool)\n  performs {spec};\n{{ r := false; {around} return; }}\n");
            (text, "Q")
        } else {
            (String::new(), "P")
        };
        let promise = self.promise();
        let second = if self.roll(3) == 0 { "thread T2 { var r: bool := false; r := P(); res2 := r; }\n" } else { "" };
        format!(
            "var m: lock;\nvar k: lock;\nvar z: bool = true;\nvar x: bool = false accessible_if {};\nvar y: bool = false accessible_if {};\n\
             var res: bool = false;\nvar res2: bool = false;\nvar seen0: bool = false;\nvar seen1: bool = false;\nvar seen2: bool = false;\n\
             {promise}proc P() returns (r: bool)\n  performs {spec};\n{{\nvar a: bool := false;\nvar b: bool := false;\nr := false;\n{body}return;\n}}\n\
             {outer}thread T {{ var r: bool := false; r := {called}(); res := r; }}\n{second}thread E {{ {steps} }}\n",
            self.predicates[0], self.predicates[1]
        )
    }
}

/// How much was proved of a program and agrees with the reference semantics; it panics where something does not.
#[derive(Default)]
struct Tally {
    performs: u64,
    gates: u64,
    nested: u64,
}

impl Tally {
    /// Whether anything was proved.
    fn add(&mut self, what: &str, text: &str) -> bool {
        let p = program(text);
        let found = claims(&p);
        let proved: Vec<(&String, &Claim)> = found.iter().filter(|(_, c)| matches!(c, Claim::Proved(_))).collect();
        if proved.is_empty() {
            return false;
        }
        let instances = InstanceCounts::of(&p, 0);
        let reached = semantics::reachable_states(
            &p,
            &instances,
            &semantics::ReachLimits { states: 60_000, ..Default::default() },
        );
        for (name, claim) in proved {
            if checked(&p, name, claim) != Outcome::Safe {
                continue;
            }
            let (id, property) = p.properties.iter_enumerated().find(|(_, q)| q.name == *name).expect("it has one");
            let PropertyKind::Performs(q) = property.kind else {
                self.gates += 1;
                assert!(!reached.violations.contains_key(&id), "{what}: {name} is violated\n{text}");
                continue;
            };
            let concrete = seen(&p, &instances);
            let abstracted = seen(&call_summaries(&p, &[q]).program, &instances);
            if !concrete.complete || !abstracted.complete {
                continue;
            }
            self.performs += 1;
            self.nested += u64::from(q.0 > 0);
            let more = concrete.environment.iter().find(|s| !possible(s, &abstracted.environment));
            assert!(more.is_none(), "{what}: the environment sees {more:?}\n{text}");
            let more = concrete.finally.iter().find(|s| !possible(s, &abstracted.finally));
            assert!(more.is_none(), "{what}: ends with {more:?}\n{text}");
        }
        true
    }
}

/// The program with one statement of its first procedure left out, done twice, or another one in its place.
fn mutated(text: &str, dice: &mut Random) -> Option<String> {
    let begin = text.find("r := false;\n")? + "r := false;\n".len();
    let end = begin + text[begin..].find("return;\n")?;
    let mut lines: Vec<&str> = text[begin..end].lines().collect();
    let simple: Vec<usize> = (0..lines.len()).filter(|i| !lines[*i].contains(['{', '}'])).collect();
    let at = *simple.get(dice.below(simple.len().max(1)))?;
    match dice.below(4) {
        0 => {
            lines.remove(at);
        }
        1 => lines.insert(at, lines[at]),
        2 => lines[at] = ["x := !x;", "release m;", "acquire m;", "a := x;", "y := x;", "z := !z;"][dice.below(6)],
        _ => {
            let other = *simple.get(dice.below(simple.len()))?;
            lines.swap(at, other);
        }
    }
    Some(format!("{}{}\n{}", &text[..begin], lines.join("\n"), &text[end..]))
}

#[test]
fn check_what_reduce_proves_of_random_procedures_holds() {
    let mut tally = Tally::default();
    for seed in seeds(30) {
        let mut writer = Writer { dice: Random::new(77_000 + seed), predicates: ["", ""] };
        let text = writer.file();
        // What was proved is broken in one place; a proof of that must hold as well.
        if tally.add(&format!("program {seed}"), &text)
            && let Some(other) = mutated(&text, &mut writer.dice)
        {
            tally.add(&format!("program {seed}, mutated"), &other);
        }
    }
    let Tally { performs, gates, nested } = tally;
    let decided = format!("{performs} procedures perform ({nested} of them call others), {gates} checks shown");
    report_agreement("reduce", programs_to_try(30), &decided);
    assert!(performs + nested + gates > 0, "too little is proved to mean anything: {performs}, {nested}, {gates}");
}

const COUNTER: &str = "var m: lock;\nvar k: lock;\nvar count: int guarded_by m;\n\
    proc increment()\n  performs Inc: <count> m == 0 && count' == count + 1;\n\
    { acquire m; var j: int := count; j := j + 1; count := j; release m; }\n";

/// The proof that `reduce` finds of everything in the program.
fn proof(p: &Program) -> Certificate {
    let found = claims(p);
    let mut certificates = found.values().map(|c| match c {
        Claim::Proved(c) => c.clone(),
        other => panic!("not proved: {other:?}"),
    });
    let first = certificates.next().expect("there is a property");
    assert!(certificates.all(|c| Arc::ptr_eq(&c, &first)), "one certificate for all");
    Certificate::clone(&first)
}

/// Whether the checker accepts every property of the certificate.
fn accepted(p: &Program, c: &Certificate) -> bool {
    let claim = Claim::Proved(Arc::new(c.clone()));
    c.properties.iter().all(|q| checked(p, &p.properties[*q].name, &claim) == Outcome::Safe)
}

fn changed(c: &Certificate, change: impl FnOnce(&mut Reduction, &logic::Terms)) -> Certificate {
    let mut out = c.clone();
    let terms = out.terms.clone();
    let Proof::Reduction(r) = &mut out.proof else { panic!("a reduction") };
    change(r, &terms);
    out.terms = terms;
    out
}

#[test]
fn check_a_proof_is_accepted_also_from_its_file() {
    let p = program(COUNTER);
    let c = proof(&p);
    assert!(accepted(&p, &c));
    let text = evidence::file::write_evidence(&p, &[evidence::file::EvidenceEntry::Certificate(c.clone())]);
    let read = evidence::file::read_evidence(&p, text.as_bytes()).expect("it reads");
    let [evidence::file::EvidenceEntry::Certificate(again)] = &read[..] else { panic!("one certificate") };
    assert!(accepted(&p, again));
    assert_eq!(text, evidence::file::write_evidence(&p, &read));
}

#[test]
fn check_each_premise_of_the_rule_is_needed() {
    let p = program(COUNTER);
    let c = proof(&p);
    let rejected = |what: &str, change: &dyn Fn(&mut Reduction, &logic::Terms)| {
        assert!(!accepted(&p, &changed(&c, |r, t| change(r, t))), "accepted although {what}");
    };
    rejected("a unit is missing", &|r, _| r.units.clear());
    rejected("the specified procedure is not a unit that exists", &|r, _| r.specified = vec![program::ProcId(7)]);
    rejected("the entry has no cut (RD2)", &|r, _| r.units[0].cuts.retain(|c| c.location.0 != 0));
    rejected("the entry holds nowhere (RD2)", &|r, t| r.units[0].cuts[0].formula = t.ff());
    rejected("the exit has no cut (RD3)", &|r, _| r.units[0].cuts.truncate(1));
    rejected("every step is a right mover (RD4)", &|r, _| {
        r.units[0].right = (0..5).map(program::ActionId).collect();
    });
    rejected("nothing was performed at the end (RD5)", &|r, _| r.units[0].cuts.iter_mut().for_each(|c| c.position = 0));
    rejected("a cut is inside a run at the exit", &|r, _| r.units[0].cuts[1].phase = MoverPhase::Left);
    rejected("a formula speaks of a symbol that no thread has", &|r, t| {
        r.units[0].cuts[0].formula = t.sym(t.symbol("stranger", logic::Sort::BOOL));
    });
    rejected("a run is cut where the lock is held, and is no action (RD5)", &|r, t| {
        let mut cut = r.units[0].cuts[0].clone();
        cut.location = program::LocId(2);
        cut.formula = t.tt();
        r.units[0].cuts.push(cut);
    });
    // RD1: a step that is not asked whether it may touch the counter.
    let mut unasked = p.clone();
    let access: Vec<_> = p
        .properties
        .iter_enumerated()
        .filter(|(_, q)| matches!(q.kind, PropertyKind::Access(_)))
        .map(|(q, _)| q)
        .collect();
    for q in unasked.procedures.iter_mut() {
        q.code.actions.iter_mut().for_each(|a| a.gates.retain(|g| !access.contains(&g.property)));
    }
    let performs = Certificate {
        properties: vec![
            p.properties.ids().find(|q| p.properties[*q].name == "performs:increment").expect("it has one"),
        ],
        ..c.clone()
    };
    assert!(accepted(&p, &performs));
    assert!(!accepted(&unasked, &performs), "accepted although a step is not asked for access (RD1)");
    rejected("a found guard is no lock", &|r, _| {
        let var = p.shared().nth(2).expect("count");
        r.guards = vec![evidence::Guard { var, lock: var }];
    });
}

/// Who may touch `x` is said by `y`, who may touch `y` by `z`, and anybody may change `z`.
#[test]
fn check_access_that_others_can_take_away_makes_no_mover() {
    let chain = |z: &str, requires: &str, assume: &str| {
        format!(
            "var m: lock;\nvar z: int = 1{z};\nvar y: int = 1 accessible_if z == tid;\nvar x: int = 0 accessible_if y == tid;\n\
             proc p()\n  {requires} performs Inc: <x> x' == x + 1;\n{{ var i: int; {assume} i := x; x := i + 1; }}\n"
        )
    };
    let p = program(&chain("", "", "assume z == tid && y == tid;"));
    let found = claims(&p);
    for name in ["performs:p", "access:x"] {
        assert!(!matches!(found.get(name), Some(Claim::Proved(_))), "{name} was proved");
    }
    // Where only the thread itself can change `z`, it stays.
    let holding = "requires z == tid && y == tid;";
    let own = program(&chain(" accessible_if z == tid", holding, ""));
    let c = proof(&own);
    assert!(accepted(&own, &c));
    let free = program(&chain("", holding, ""));
    assert!(!accepted(&free, &c), "the proof says that no other thread changes `z`");
    // And a program that breaks the predicate is not proved.
    let threads =
        "thread T { assume z == tid && y == tid; x := 1; }\nthread W { z := tid; step <y> z == tid && y' == tid; }\n";
    let text = chain("", "", "");
    let at = text.find("proc p").expect("the procedure");
    let p = program(&format!("{}{threads}", &text[..at]));
    let reached = semantics::reachable_states(&p, &InstanceCounts::of(&p, 0), &Default::default());
    assert_eq!(reached.violations.len(), 1, "the access of `x` is violated");
    assert!(!matches!(claims(&p).get("access:x"), Some(Claim::Proved(_))));
}

#[test]
fn check_a_run_that_breaks_an_access_predicate_is_replayed_and_forged_ones_are_rejected() {
    let text = "var m: lock;\nvar count: int = 0 guarded_by m;\n\
        proc take()\n  requires m == tid;\n{ count := 1; release m; count := 2; }\n";
    let p = program(text);
    let claim = &claims(&p)["access:count"];
    let Claim::Refuted(Counterexample::SpecRun(stray)) = claim else { panic!("a run was expected: {claim:?}") };
    assert_eq!(checked(&p, "access:count", claim), Outcome::Unsafe);
    let rejected = |what: &str, change: &dyn Fn(&mut SpecRun)| {
        let mut forged = stray.clone();
        change(&mut forged);
        let outcome = checked(&p, "access:count", &Claim::Refuted(forged.into()));
        assert_eq!(outcome, Outcome::Unknown, "accepted although {what}");
    };
    let own = |s: &SpecRun| s.events.iter().position(|e| matches!(e, StageEvent::Own { .. })).expect("there is one");
    rejected("the caller does not hold what is required", &|s| {
        s.events.drain(..own(s));
    });
    rejected("the store is none to start with", &|s| s.store[1] = Value::Int(5));
    rejected("the last step is missing", &|s| {
        s.events.pop();
    });
    rejected("the caller acts during the call", &|s| {
        let first = s.events.remove(0);
        s.events.insert(own(s) + 2, first);
    });
    // Nothing is said where the threads of the file are the callers.
    let closed = program(&format!("{text}thread T {{ acquire m; take(); }}\n"));
    assert_eq!(checked(&closed, "access:count", claim), Outcome::Unknown);
    // From its file, too.
    let entry = evidence::file::EvidenceEntry::Counterexample {
        method: "reduce".into(),
        property: stray.violates,
        run: stray.clone().into(),
    };
    let written = evidence::file::write_evidence(&p, &[entry]);
    let read = evidence::file::read_evidence(&p, written.as_bytes()).expect("it reads");
    let [evidence::file::EvidenceEntry::Counterexample { run: Counterexample::SpecRun(again), .. }] = &read[..] else {
        panic!("one run")
    };
    assert_eq!(again, stray);
}

#[test]
fn check_left_movers_must_not_block_and_their_loops_must_end() {
    // The second lock is taken after the first was given back: the run must end before it.
    let text = "var m: lock;\nvar k: lock;\nvar x: int guarded_by m;\n\
        proc p()\n  performs Set: <x> m == 0 && x' == 1;\n\
        { acquire m; x := 1; release m; acquire k; release k; }\n";
    let p = program(text);
    let c = proof(&p);
    assert!(accepted(&p, &c));
    let longer = changed(&c, |r, _| {
        let exit = r.units[0].cuts.iter().map(|c| c.location).find(|l| l.0 == 1);
        r.units[0].cuts.retain(|c| c.location.0 == 0 || Some(c.location) == exit);
    });
    assert!(!accepted(&p, &longer), "a left mover may wait for `k`");
    // A loop of left movers: it comes down in rank.
    let text = "var m: lock;\nvar x: int guarded_by m;\nvar y: int;\n\
        proc p(n: int)\n  performs Set: <x> m == 0 && x' == 1;\n\
        { acquire m; x := 1; release m; var i: int := n; while i > 0 { i := i - 1; } }\n";
    let p = program(text);
    let c = proof(&p);
    assert!(accepted(&p, &c));
    let inside = |rank: i128, down: bool| {
        changed(&c, |r, t| {
            let unit = &mut r.units[0];
            for cut in unit.cuts.iter_mut().filter(|c| c.location.0 == 1) {
                cut.formula = t.tt();
            }
            for cut in unit.cuts.iter_mut().filter(|c| c.location.0 > 1) {
                let i = p.vars.iter().find(|v| v.name == "i").expect("the counter").symbol;
                let then = |name: &str| {
                    let at = p.shared().position(|v| p.vars[v].name == name).expect("a shared variable");
                    t.sym(unit.before[at])
                };
                let now = |name: &str| t.sym(p.vars.iter().find(|v| v.name == name).expect("it is there").symbol);
                cut.phase = MoverPhase::Left;
                cut.position = 0;
                let zero = t.int(0);
                cut.formula = t.and(&[
                    t.eq(then("m"), zero),
                    t.eq(now("m"), zero),
                    t.eq(now("x"), t.int(1)),
                    t.eq(now("y"), then("y")),
                ]);
                let i = t.sym(i);
                let left = t.ite(t.lt(zero, i), i, zero);
                cut.rank = Some(if down { left } else { t.int(rank) });
            }
            unit.cuts.dedup_by_key(|c| (c.location, c.position, c.phase));
        })
    };
    assert!(accepted(&p, &inside(0, true)), "the loop ends");
    assert!(!accepted(&p, &inside(3, false)), "the loop must come down in rank");
}

#[test]
fn check_wrong_specifications_of_each_kind_are_not_proved() {
    let wrong = [
        ("not atomic", "acquire m; var j: int := count; release m; acquire m; count := j + 1; release m;"),
        ("another action", "acquire m; count := count + 2; release m;"),
        ("the lock is kept", "acquire m; count := count + 1;"),
        ("no lock", "count := count + 1;"),
        ("two runs", "acquire m; count := count + 1; release m; acquire m; count := count + 1; release m;"),
        ("nothing", "skip;"),
        ("maybe nothing", "acquire m; if * { count := count + 1; } release m;"),
        ("waits half way", "acquire m; count := count + 1; release m; acquire k; count := count + 1; release k;"),
    ];
    for (what, body) in wrong {
        let at = COUNTER.find("{ acquire").expect("the body");
        let p = program(&format!("{}{{ {body} }}\n", &COUNTER[..at]));
        let found = claims(&p);
        assert!(matches!(found["performs:increment"], Claim::Undecided(_) | Claim::Refuted(_)), "{what}: proved");
    }
    // One right variant, so that the list above can fail.
    assert!(matches!(claims(&program(COUNTER))["performs:increment"], Claim::Proved(_)));
}

#[test]
fn check_found_guards_are_proved_and_can_be_pasted_back() {
    let text = "var m: lock;\nvar count: int;\n\
        proc increment()\n  performs Inc: <count> m == 0 && count' == count + 1;\n\
        { acquire m; var j: int := count; j := j + 1; count := j; release m; }\n";
    let p = program(text);
    let Claim::Proved(c) = claims(&p).remove("performs:increment").expect("it is claimed") else {
        panic!("not proved")
    };
    let c = Certificate::clone(&c);
    let Proof::Reduction(r) = &c.proof else { panic!("a reduction") };
    assert_eq!(r.guards.len(), 1);
    assert!(accepted(&p, &c));
    let none = changed(&c, |r, _| r.guards.clear());
    assert!(!accepted(&p, &none), "without the guard nothing keeps others from `count`");
    let pasted = program(&text.replace("var count: int;", "var count: int guarded_by m;"));
    assert!(accepted(&pasted, &proof(&pasted)));
    // An access without the lock: no guard.
    let broken = program(&format!("{text}proc peek() returns (r: int) {{ return count; }}\n"));
    assert!(matches!(claims(&broken)["performs:increment"], Claim::Undecided(_) | Claim::Refuted(_)));
}

#[test]
fn check_runs_that_break_a_specification_are_replayed_and_forged_ones_are_rejected() {
    let split = "acquire m; var j: int := count; release m; acquire m; count := j + 1; release m;";
    let at = COUNTER.find("{ acquire").expect("the body");
    let p = program(&format!("{}{{ {split} }}\n", &COUNTER[..at]));
    let found = claims(&p);
    let claim = &found["performs:increment"];
    let Claim::Refuted(Counterexample::SpecRun(stray)) = claim else { panic!("a run was expected: {claim:?}") };
    assert_eq!(checked(&p, "performs:increment", claim), Outcome::Unsafe);
    let others = |s: &SpecRun| s.events.iter().filter(|e| matches!(e, StageEvent::Other { .. })).count();
    assert_eq!(others(stray), 1, "one step of another thread comes between");
    let rejected = |what: &str, change: &dyn Fn(&mut SpecRun)| {
        let mut forged = stray.clone();
        change(&mut forged);
        let outcome = checked(&p, "performs:increment", &Claim::Refuted(forged.into()));
        assert_eq!(outcome, Outcome::Unknown, "accepted although {what}");
    };
    rejected("the others do nothing, and it is an increment", &|s| {
        s.events.retain(|e| matches!(e, StageEvent::Own { .. }));
    });
    rejected("the procedure does not come to its end", &|s| {
        s.events.pop();
    });
    rejected("it is about another property", &|s| s.violates = program::PropertyId(0));
    rejected("a variable has no value", &|s| {
        s.store.pop();
    });
    rejected("another thread writes while the lock is held by this one", &|s| {
        let other = s.events.iter().position(|e| matches!(e, StageEvent::Other { .. })).expect("there is one");
        let event = s.events.remove(other);
        s.events.insert(1, event);
    });
}

/// A value that the invariant, or the rely and the initial value, keep above 0 while the access predicate alone would not.
const LOOK: &str = "proc look() returns (r: int)\n  performs Look: <> r == x && r >= 1;\n\
    { acquire m; r := x; release m; }\nproc grow()\n  performs Grow: <x> x' == x + 1;\n{ acquire m; x := x + 1; release m; }\n";

#[test]
fn check_no_specification_is_refuted_by_stores_that_invariants_relies_and_initial_values_exclude() {
    let declared = "var m: lock;\nvar x: int = 1 guarded_by m;\n";
    for promise in ["invariant x >= 1;\n", "rely x' >= x;\n"] {
        let p = program(&format!("{declared}{promise}{LOOK}"));
        let claim = &claims(&p)["performs:look"];
        assert!(!matches!(claim, Claim::Refuted(_)), "{promise}: {claim:?}");
    }
    // Without a promise a caller may write what it likes while it has the lock.
    let p = program(&format!("{declared}{LOOK}"));
    let claim = &claims(&p)["performs:look"];
    let Claim::Refuted(Counterexample::SpecRun(stray)) = claim else { panic!("a run was expected: {claim:?}") };
    assert_eq!(checked(&p, "performs:look", claim), Outcome::Unsafe);
    // The same run says nothing once the promise is there, nor from a store that no run starts with.
    for promise in ["invariant x >= 1;\n", "rely x' >= x;\n"] {
        let promised = program(&format!("{declared}{promise}{LOOK}"));
        let violates = |q: &program::PropertyId| promised.properties[*q].name == "performs:look";
        let there = promised.properties.ids().find(|q| violates(q)).expect("there is one");
        let moved = Claim::Refuted(SpecRun { violates: there, ..stray.clone() }.into());
        assert_eq!(checked(&promised, "performs:look", &moved), Outcome::Unknown, "{promise}");
    }
    let mut forged = stray.clone();
    forged.events.retain(|e| matches!(e, StageEvent::Own { .. }));
    for value in [0, -3] {
        forged.store[1] = Value::Int(value);
        assert_eq!(checked(&p, "performs:look", &Claim::Refuted(forged.clone().into())), Outcome::Unknown);
    }
}

#[test]
fn check_a_proof_rests_on_invariants_that_every_step_keeps_and_on_no_others() {
    let declared = "var m: lock;\nvar x: int = 1 guarded_by m;\n";
    let p = program(&format!("{declared}invariant x >= 1;\n{LOOK}"));
    let claim = &claims(&p)["performs:look"];
    let Claim::Proved(c) = claim else { panic!("a proof was expected: {claim:?}") };
    assert_eq!(checked(&p, "performs:look", claim), Outcome::Safe);
    let Proof::Reduction(proof) = &c.proof else { panic!("a reduction") };
    assert_eq!(proof.premises.len(), 1);
    let with = |c: &Certificate, proof: &Reduction, premises: Vec<program::PropertyId>| {
        let proof = Proof::Reduction(Reduction { premises, ..proof.clone() });
        Claim::Proved(Arc::new(Certificate { proof, ..c.clone() }))
    };
    let without = with(c, proof, Vec::new());
    assert_eq!(checked(&p, "performs:look", &without), Outcome::Unknown, "nothing else keeps `x` above 0");
    let performs = c.properties.iter().copied().find(|q| matches!(p.properties[*q].kind, PropertyKind::Performs(_)));
    let odd = with(c, proof, performs.into_iter().collect());
    assert_eq!(checked(&p, "performs:look", &odd), Outcome::Unknown, "what is to be shown is no premise");
    // Neither is an invariant that some step breaks, nor one that does not hold at the start.
    for other in ["invariant x <= 5;\n", "invariant x >= 2;\n"] {
        let p = program(&format!("{declared}invariant x >= 1;\n{other}{LOOK}"));
        let claim = &claims(&p)["performs:look"];
        let Claim::Proved(c) = claim else { panic!("a proof was expected: {claim:?}") };
        let Proof::Reduction(proof) = &c.proof else { panic!("a reduction") };
        assert_eq!(proof.premises.len(), 1, "{other}");
        let invariant = |q: &program::PropertyId| matches!(p.properties[*q].kind, PropertyKind::Invariant(_));
        let all = with(c, proof, p.properties.ids().filter(invariant).collect());
        assert_eq!(checked(&p, "performs:look", &all), Outcome::Unknown, "{other}");
    }
}

/// The certificate of a claim, with other premises.
fn resting_on(
    p: &Program,
    claim: &Claim,
    change: &dyn Fn(&mut Vec<program::PropertyId>, &mut Vec<program::PropertyId>),
) -> Claim {
    let Claim::Proved(c) = claim else { panic!("a proof was expected: {claim:?}") };
    let Proof::Reduction(proof) = &c.proof else { panic!("a reduction") };
    let mut r = proof.clone();
    change(&mut r.premises, &mut r.lasting);
    assert!(r.premises.iter().all(|q| p.properties.get(*q).is_some()));
    Claim::Proved(Arc::new(Certificate { proof: Proof::Reduction(r), ..Certificate::clone(c) }))
}

#[test]
fn check_a_proof_rests_on_relies_that_every_step_keeps_and_on_no_others() {
    let twice = "proc twice() returns (a: int, b: int)\n  performs Twice: <> a <= b;\n{ a := n; b := n; }\n\
        proc bump()\n  performs Bump: <n> n' == n + 1;\n{ atomic { n := n + 1; } }\n";
    let text = format!("var n: int = 0;\nrely n' >= n;\n{twice}");
    let p = program(&text);
    let claim = &claims(&p)["performs:twice"];
    assert_eq!(checked(&p, "performs:twice", claim), Outcome::Safe);
    let without = resting_on(&p, claim, &|premises, lasting| {
        premises.clear();
        lasting.clear();
    });
    assert_eq!(checked(&p, "performs:twice", &without), Outcome::Unknown, "nothing else keeps `n` from falling");
    let bare = program(&text.replace("rely n' >= n;\n", ""));
    assert!(!matches!(claims(&bare)["performs:twice"], Claim::Proved(_)), "the rely is needed");
    // A rely that some step breaks is no premise, however the certificate has it.
    let more = program(&text.replace("rely n'", "rely n' <= 5;\nrely n'"));
    let claim = &claims(&more)["performs:twice"];
    assert_eq!(checked(&more, "performs:twice", claim), Outcome::Safe);
    let broken = more.properties.iter_enumerated().find(|(_, q)| matches!(q.kind, PropertyKind::Rely(0)));
    let broken = broken.expect("it is the first").0;
    let with = resting_on(&more, claim, &|premises, _| premises.push(broken));
    assert_eq!(checked(&more, "performs:twice", &with), Outcome::Unknown, "`bump` goes beyond 5");
    let step = program(&text.replace("n := n + 1", "n := n - 1"));
    assert!(!matches!(claims(&step)["performs:twice"], Claim::Proved(_)), "`bump` breaks the rely");
}

#[test]
fn check_a_rely_of_one_thread_is_no_premise_of_another() {
    let text = |whose: &str, by: &str| {
        let (r, s) = if whose == "R" { ("rely n' >= n; ", "") } else { ("", "rely n' >= n; ") };
        format!(
            "var m: lock;\nvar g: int = 0 guarded_by m;\nvar n: int = 0;\n\
             thread R {r}{{ var a: int; var b: int; a := n; b := n; assert a <= b; }}\n\
             thread S {s}{{ atomic {{ n := n {by}; }} }}\n"
        )
    };
    let decided = |whose: &str, by: &str| {
        let p = program(&text(whose, by));
        let found = claims(&p);
        let (name, claim) = found.iter().find(|(name, _)| name.starts_with("assert")).expect("there is one");
        matches!(claim, Claim::Proved(_)) && checked(&p, name, claim) == Outcome::Safe
    };
    assert!(decided("R", "+ 1"));
    assert!(!decided("R", "- 1"), "S breaks what R relies on");
    assert!(!decided("S", "+ 1"), "R does not rely on it");
    assert!(
        !decided("S", "- 1"),
        "the only instance of S is no other to itself, so the rely holds, and says nothing to R"
    );
}

/// Each later store has the old value or is one in which nobody may write any more; but the step that leads there writes.
#[test]
fn check_a_value_that_the_last_write_changes_is_no_movers() {
    let p = program(
        "var taken: bool = false;\nvar x: int = 0 writable_if !taken;\nvar seen: int = 0;\n\
         rely (x' == x || taken') && (taken ==> taken' && x' == x);\n\
         proc set(v: int) { atomic { assume !taken; x := v; taken := true; } }\n\
         proc get() returns (a: int)\n  performs Got: <seen> seen' == seen + 1 && a == x;\n\
         { atomic { seen := seen + 1; } a := x; }\n",
    );
    let claim = &claims(&p)["performs:get"];
    assert!(!matches!(claim, Claim::Proved(_)), "`set` may come between: {claim:?}");
}

/// What was published does not change: only the rely says that `done` stays, and so that nobody writes `data` any more.
#[test]
fn check_access_that_others_promise_not_to_take_makes_movers() {
    let text = "var m: lock;\nvar done: bool = false writable_if m == 0 || m == tid;\n\
        var data: int = 0 readable_if done || m == 0 || m == tid writable_if !done && (m == 0 || m == tid);\n\
        rely done ==> done';\n\
        proc put(v: int)\n  performs Put: <data, done> m == 0 && !done && done' && data' == v [] No: <> done;\n\
        { acquire m; if !done { data := v; done := true; } release m; }\n\
        var seen: int = 0;\n\
        proc get() returns (a: int)\n  performs Got: <seen> done && seen' == seen + 1 && a == data [] Early: <> !done;\n\
        { if done { atomic { seen := seen + 1; } a := data; } }\n";
    let p = program(text);
    let found = claims(&p);
    for (name, claim) in found.iter().filter(|(name, _)| !name.starts_with("rely")) {
        assert_eq!(checked(&p, name, claim), Outcome::Safe, "{name}");
    }
    let got = &found["performs:get"];
    let without = resting_on(&p, got, &|_, lasting| lasting.clear());
    assert_eq!(checked(&p, "performs:get", &without), Outcome::Unknown, "`done` may be taken back");
    let unnamed = resting_on(&p, got, &|premises, _| premises.clear());
    assert_eq!(checked(&p, "performs:get", &unnamed), Outcome::Unknown, "what lasts is a premise");
    // What one step keeps, two need not.
    let stepwise = program(&text.replace("rely", "var n: int = 0;\nrely n' <= n + 1;\nrely"));
    let claim = &claims(&stepwise)["performs:get"];
    assert_eq!(checked(&stepwise, "performs:get", claim), Outcome::Safe);
    let slow = stepwise.properties.iter_enumerated().find(|(_, q)| matches!(q.kind, PropertyKind::Rely(0)));
    let slow = slow.expect("it is the first").0;
    let Claim::Proved(c) = claim else { panic!("a proof") };
    let Proof::Reduction(r) = &c.proof else { panic!("a reduction") };
    assert!(r.premises.contains(&slow) && !r.lasting.contains(&slow), "a premise of single steps");
    let forged = resting_on(&stepwise, claim, &|_, lasting| lasting.push(slow));
    assert_eq!(checked(&stepwise, "performs:get", &forged), Outcome::Unknown, "two steps add two");
    let retract = program(&format!("{text}proc retract() {{ acquire m; done := false; release m; }}\n"));
    assert!(!matches!(claims(&retract)["performs:get"], Claim::Proved(_)), "`retract` breaks the rely");
}

#[test]
fn check_a_specification_is_refuted_by_a_run_that_keeps_invariants_and_relies() {
    let text = "var m: lock;\nvar x: int = 1 guarded_by m;\nvar y: int = 1 guarded_by m;\n\
        invariant m == 0 ==> x == y;\nrely x' >= x;\n\
        proc look() returns (r: int)\n  performs Look: <> r == x && r >= 1 && r <= 2;\n{ acquire m; r := x; release m; }\n\
        proc grow() { acquire m; x := x + 1; y := y + 1; release m; }\n";
    let p = program(text);
    let claim = &claims(&p)["performs:look"];
    assert!(matches!(claim, Claim::Refuted(_)), "{claim:?}");
    assert_eq!(checked(&p, "performs:look", claim), Outcome::Unsafe);
}

#[test]
fn check_objects_of_a_refuting_run_are_there() {
    let text = "class Cell { v: int; }\nvar m: lock;\nvar top: Cell = null guarded_by m;\n\
        proc put(c: Cell)\n  performs Put: <top> top' == c && c != null;\n{ acquire m; top := c; release m; }\n";
    let p = program(text);
    let claim = &claims(&p)["performs:put"];
    let Claim::Refuted(Counterexample::SpecRun(stray)) = claim else { panic!("a run was expected: {claim:?}") };
    assert_eq!(checked(&p, "performs:put", claim), Outcome::Unsafe);
    let mut forged = stray.clone();
    forged.own.iter_mut().filter(|x| matches!(x, Value::Ref(_))).for_each(|x| *x = Value::Ref(9));
    assert_eq!(
        checked(&p, "performs:put", &Claim::Refuted(forged.into())),
        Outcome::Unknown,
        "no such object is there"
    );
}
