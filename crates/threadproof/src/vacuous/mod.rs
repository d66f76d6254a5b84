//! What makes a "safe" mean less than it seems to: nothing runs, nothing is asked, nothing can satisfy what is assumed.
//!
//! In: a program, and which of its properties are asked for. Out: warnings with stable codes (docs/assumptions.md lists them), each at its line:
//! no first store, a thread that no code starts, a `requires` that no call satisfies, a check in code that no thread runs, a rely that no step or not
//! even an idle step satisfies, no property at all. What only a search or a proof can tell (`reached`, `called`) comes after the verdicts.
//! Formulas are put to the solver with a small limit; where it does not know, there is no warning. Deliberately absent: any effect on a verdict.

pub mod called;
pub mod reached;

use base::{Budget, Span};
use logic::Term;
use program::semantics::{InstanceCounts, Sampling, Semantics};
use program::{Code, Copies, OriginId, Program, PropertyId, PropertyKind, Start};
use solver::{Smt, SolverSettings, Z3};
use std::time::Duration;

pub const NO_FIRST_STORE: &str = "W0501";
pub const NEVER_STARTED: &str = "W0502";
pub const NOTHING_RUNS: &str = "W0503";
pub const NO_SUCH_CALL: &str = "W0504";
pub const NOT_IN_RUNNING_CODE: &str = "W0505";
pub const FALSE_RELY: &str = "W0506";
pub const NOT_REFLEXIVE: &str = "W0507";
pub const NO_PROPERTY: &str = "W0508";
pub const ENDS_BEFORE: &str = "W0509";
pub const NEVER_REACHED: &str = "W0510";
pub const ALL_STOP_HERE: &str = "W0511";

/// A reason why a verdict may mean less than a reader expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VacuityWarning {
    pub code: &'static str,
    pub message: String,
    pub label: String,
    pub hint: Option<String>,
    pub span: Option<Span>,
}

impl VacuityWarning {
    fn at(p: &Program, code: &'static str, origin: OriginId, message: impl Into<String>) -> Self {
        let (message, span) = (message.into(), p.origins[origin].span);
        Self { code, message, label: String::new(), hint: None, span }
    }
    fn label(self, label: impl Into<String>) -> Self {
        Self { label: label.into(), ..self }
    }
    fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// What can be said without any run.
pub fn warnings(p: &Program, asked: &dyn Fn(&str) -> bool) -> Vec<VacuityWarning> {
    // Terms that are made here must not become part of the program, whose digest is in its evidence.
    let p = &p.clone();
    let mut out = Vec::new();
    let mut contradictions = Contradictions::new(p);
    out.extend(no_first_store(p, &mut contradictions));
    out.extend(nothing_runs(p));
    out.extend(never_started(p));
    out.extend(no_such_call(p, &mut contradictions));
    out.extend(not_in_running_code(p, asked));
    out.extend(odd_relies(p, &mut contradictions));
    if !p.properties.iter().any(|q| asked(&q.name)) {
        out.push(VacuityWarning {
            code: NO_PROPERTY,
            message: "nothing is checked: the program states no property".into(),
            label: String::new(),
            hint: Some("write an `assert` or an `invariant`, or ask for more with --check all".into()),
            span: None,
        });
    }
    out
}

/// Asks whether formulas contradict each other. One session for all questions of a program, opened for the first: most programs need none, and to open
/// and close a session takes longer than to prove a small program.
struct Contradictions<'p> {
    p: &'p Program,
    session: Option<Z3<'p>>,
}

impl<'p> Contradictions<'p> {
    fn new(p: &'p Program) -> Self {
        Self { p, session: None }
    }

    /// Whether all formulas together have no model; `None` where the solver does not know.
    fn are(&mut self, formulas: &[Term]) -> Option<bool> {
        if self.session.is_none() {
            let settings = SolverSettings { limit: 1_000_000, ..SolverSettings::default() };
            self.session = Z3::new(&self.p.terms, settings, &Budget::unlimited()).ok();
        }
        let smt = self.session.as_mut()?;
        smt.push();
        formulas.iter().for_each(|f| smt.assert(*f));
        let answer = smt.check();
        smt.pop();
        match answer {
            solver::Satisfiability::Sat => Some(false),
            solver::Satisfiability::Unsat => Some(true),
            solver::Satisfiability::Unknown(_) => None,
        }
    }
}

/// The effort of a search after the verdicts: a share of what they took. A warning must not cost more than what it is about.
fn effort_of_search(budget: &Budget, most: Duration) -> Duration {
    Duration::from_micros(budget.spent() / EFFORT_DIVISOR).clamp(LEAST_EFFORT.min(most), most)
}

const EFFORT_DIVISOR: u64 = 4;
const LEAST_EFFORT: Duration = Duration::from_millis(20);

fn no_first_store(p: &Program, contradictions: &mut Contradictions<'_>) -> Option<VacuityWarning> {
    let first = p.init.first()?;
    // Most programs show a first store at once; only the others are worth a solver.
    let starts = Semantics::new(p).initial(&InstanceCounts::of(p, 1), Sampling::default());
    if !starts.states.is_empty() {
        return None;
    }
    let t = &p.terms;
    let values = p.shared().filter_map(|v| Some(t.eq(t.sym(p.vars[v].symbol), p.vars[v].initial?)));
    let formulas: Vec<Term> = values.chain(p.init.iter().filter_map(|f| f.formula)).collect();
    if contradictions.are(&formulas) != Some(true) {
        return None;
    }
    let message = "no store satisfies every `init` and the initial values of the variables";
    let warning = VacuityWarning::at(p, NO_FIRST_STORE, first.origin, message);
    let warning = warning.label("the program has no run, so every property holds");
    Some(warning.hint("a lock starts free and a set starts empty, unless it is declared with another value"))
}

/// The code of everything that may run: threads, or for a file without threads what callers may call.
fn running_code(p: &Program) -> Vec<&Code> {
    if !p.threads.is_empty() {
        return p.threads.iter().map(|t| &t.code).collect();
    }
    let operations = p.objects.iter().flat_map(|o| o.ops.iter().map(|op| &op.code));
    p.procedures.iter().map(|q| &q.code).chain(operations).collect()
}

fn nothing_runs(p: &Program) -> Option<VacuityWarning> {
    let at_once = |t: &program::Thread| t.start == Start::Initial && t.copies != Copies::Exactly(0);
    if p.threads.iter().any(at_once) {
        return None;
    }
    let span = p.threads.iter().next().and_then(|t| p.origins[t.origin].span);
    let message = match p.threads.is_empty() {
        true if running_code(p).is_empty() => "there is no thread and nothing to call: nothing runs",
        true => return None,
        false => "no thread is there at the start, so none ever runs",
    };
    let label = if span.is_some() { "only another thread could start it" } else { "" };
    Some(VacuityWarning { code: NOTHING_RUNS, message: message.into(), label: label.into(), hint: None, span })
}

fn never_started(p: &Program) -> Vec<VacuityWarning> {
    let spawned =
        |id| p.threads.iter().any(|t| t.code.actions.iter().any(|a| a.spawn.as_ref().is_some_and(|s| s.thread == id)));
    let idle = p.threads.iter_enumerated().filter(|(id, t)| match t.start {
        Start::Spawned => !spawned(*id),
        Start::Initial => t.copies == Copies::Exactly(0),
    });
    let warn = |(_, t): (_, &program::Thread)| {
        let message = format!("thread {} never starts, so nothing in it is checked", t.name);
        VacuityWarning::at(p, NEVER_STARTED, t.origin, message)
    };
    idle.map(warn).collect()
}

/// A procedure whose preconditions contradict each other, or the invariants of the file.
fn no_such_call(p: &Program, contradictions: &mut Contradictions<'_>) -> Vec<VacuityWarning> {
    let invariants: Vec<Term> = p.invariants.iter().filter_map(|f| f.formula).collect();
    let mut out = Vec::new();
    for q in p.procedures.iter() {
        let requires: Vec<Term> = q.requires.iter().filter_map(|f| f.formula).collect();
        let Some(first) = q.requires.first().filter(|_| !requires.is_empty()) else { continue };
        let all: Vec<Term> = requires.iter().chain(&invariants).copied().collect();
        if contradictions.are(&all) == Some(true) {
            let against =
                if contradictions.are(&requires) == Some(true) { "" } else { " together with the invariants" };
            let message = format!("no call of {} satisfies what it requires{against}", q.name);
            out.push(
                VacuityWarning::at(p, NO_SUCH_CALL, first.origin, message)
                    .label("everything behind it holds for want of a call"),
            );
        }
    }
    out
}

/// Checks that stand in no code that runs: in a procedure that no thread calls.
fn not_in_running_code(p: &Program, asked: &dyn Fn(&str) -> bool) -> Vec<VacuityWarning> {
    let code = running_code(p);
    let stands =
        |id: PropertyId| code.iter().any(|c| c.actions.iter().any(|a| a.gates.iter().any(|g| g.property == id)));
    let by_gate = |kind: &PropertyKind| {
        use PropertyKind::{Assertion, Bounds, Division, Ensures, Freed, Null, Release};
        matches!(kind, Assertion | Bounds | Division | Ensures(_) | Freed | Null | Release)
    };
    // What a procedure ensures is checked where callers from outside return from it: no gate of its own code says so.
    let called = |kind: &PropertyKind| p.threads.is_empty() && matches!(kind, PropertyKind::Ensures(_));
    let idle = p
        .properties
        .iter_enumerated()
        .filter(|(id, q)| by_gate(&q.kind) && asked(&q.name) && !stands(*id) && !called(&q.kind));
    let warn = |(_, q): (_, &program::Property)| {
        let message = format!("{} stands in code that no thread runs, so it holds for want of a run", q.name);
        VacuityWarning::at(p, NOT_IN_RUNNING_CODE, q.origin, message)
    };
    idle.map(warn).collect()
}

fn odd_relies(p: &Program, contradictions: &mut Contradictions<'_>) -> Vec<VacuityWarning> {
    let t = &p.terms;
    let mut out = Vec::new();
    for rely in &p.relies {
        let Some(formula) = rely.formula else { continue };
        // A step that changes nothing.
        let idle = t.simplify(t.substitute(formula, p.vars.iter().map(|v| (v.primed, t.sym(v.symbol)))));
        if t.is_true(idle) {
            continue;
        }
        if contradictions.are(&[formula]) == Some(true) {
            let warning = VacuityWarning::at(
                p,
                FALSE_RELY,
                rely.origin,
                "this rely is false: no step of another thread satisfies it",
            );
            out.push(warning.label("what is proved with it holds only while no other thread moves"));
            continue;
        }
        if contradictions.are(&[t.not(idle)]) == Some(false) {
            let message = "this rely forbids a step that changes nothing";
            let warning = VacuityWarning::at(p, NOT_REFLEXIVE, rely.origin, message);
            out.push(warning.hint(
                "say what does not change: a rely is about every step of the others, and most change other things",
            ));
        }
    }
    out
}

#[cfg(test)]
mod tests;
