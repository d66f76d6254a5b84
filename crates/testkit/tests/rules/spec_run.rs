//! Rule `spec-run`: runs of a procedure that its specification does not explain, or that break an access predicate; for each side
//! condition a run that lacks it.

use crate::case::Case;
use evidence::SpecRun;
use logic::Value;
use program::stage::{ProcedureStage, StageEvent, Write};
use program::{ActionId, ProcId};

/// It reads and writes in two steps, and others may come between.
pub(crate) const SPLIT: &str = "var m: lock;\nvar c: int = 0;\n\
    proc inc() performs Inc: <c> c' == c + 1;\n{ var k: int := 0; k := c; c := k + 1; }\n";

fn own(stage: &ProcedureStage) -> Vec<StageEvent> {
    let code = &stage.program.threads[stage.thread].code;
    let (mut at, mut out) = (code.entry, Vec::new());
    while let Some((id, a)) = code.from(at).next() {
        out.push(StageEvent::Own { action: id, inputs: vec![Value::Int(0); a.inputs.len()] });
        at = a.to;
    }
    out
}

fn write(case: &Case, name: &str, value: i128) -> Write {
    let var = case.program.vars.iter_enumerated().find(|(_, v)| v.name == name).expect("there is such a variable").0;
    Write { var, keys: Vec::new(), value: Value::Int(value) }
}

fn other(case: &Case, thread: u32, name: &str, value: i128) -> StageEvent {
    StageEvent::Other { thread, writes: vec![write(case, name, value)] }
}

/// The procedure's own steps, from a store of zeroes.
fn alone(case: &Case, property: &str) -> SpecRun {
    let procedure = ProcId(0);
    let stage = ProcedureStage::new(&case.program, procedure).expect("the procedure can be run");
    SpecRun {
        violates: case.property(property),
        procedure,
        store: vec![Value::Int(0); stage.shared.len()],
        own: vec![Value::Int(0); stage.own.len()],
        events: own(&stage),
    }
}

/// Another thread writes between the last two steps of the procedure.
pub(crate) fn split(case: &Case) -> SpecRun {
    let mut run = alone(case, "performs:inc");
    run.events.insert(run.events.len() - 1, other(case, 2, "c", 5));
    run
}

#[test]
fn check_a_run_that_the_specification_does_not_explain_is_accepted() {
    let case = Case::new(SPLIT);
    case.refuted(split(&case).into(), "performs:inc");
}

#[test]
fn check_a_run_that_the_specification_explains_or_that_does_not_end_is_rejected() {
    let case = Case::new(SPLIT);
    case.not_refuted(alone(&case, "performs:inc").into(), "performs:inc", "the specification explains");
    let rejected = |because: &str, change: &dyn Fn(&mut SpecRun)| {
        let mut run = split(&case);
        change(&mut run);
        case.not_refuted(run.into(), "performs:inc", because);
    };
    let last = split(&case).events.len() - 1;
    // Before the read, the other's step is one that an order explains.
    rejected("the specification explains", &|r| r.events.swap(last - 1, last - 2));
    rejected("the specification explains", &|r| r.events.swap(last - 1, last));
    rejected("does not come to its end", &|r| {
        r.events.pop();
    });
    rejected("does not come to its end", &|r| r.events.clear());
    // What fits neither program nor procedure.
    rejected("does not fit", &|r| {
        r.store.pop();
    });
    rejected("does not fit", &|r| r.store[0] = Value::Bool(true));
    rejected("does not fit", &|r| r.own.push(Value::Int(0)));
    rejected("", &|r| r.events[0] = StageEvent::Own { action: ActionId(99), inputs: Vec::new() });
    rejected("not decided", &|r| {
        r.events[last] = match &r.events[last] {
            StageEvent::Own { action, .. } => StageEvent::Own { action: *action, inputs: vec![Value::Any] },
            other => other.clone(),
        }
    });
    rejected("", &|r| r.procedure = ProcId(9));
    rejected("no step of its own during the call", &|r| r.events[last - 1] = other(&case, 1, "c", 5));
    rejected("no other thread writes that", &|r| r.events[last - 1] = other(&case, 0, "c", 5));
    rejected("writes each variable once", &|r| {
        r.events[last - 1] = StageEvent::Other { thread: 2, writes: vec![write(&case, "c", 5), write(&case, "c", 6)] };
    });
    // The store is one that the program begins with.
    rejected("", &|r| r.store[1] = Value::Int(3));
    // A lock is given to the thread that takes it, and not to another.
    rejected("", &|r| r.events[last - 1] = other(&case, 2, "m", 7));
}

#[test]
fn check_what_the_program_promises_refutes_no_specification() {
    let promised = |promise: &str, because: &str| {
        let case = Case::new(&format!("{SPLIT}{promise}\n"));
        case.not_refuted(split(&case).into(), "performs:inc", because);
    };
    promised("invariant c <= 4;", "");
    promised("rely c' <= c + 1;", "relies on no such step");
    let guarded = Case::new(&SPLIT.replace("var c: int = 0;", "var c: int = 0 accessible_if tid == 1;"));
    guarded.not_refuted(split(&guarded).into(), "performs:inc", "");
    let required = Case::new(
        &SPLIT.replace("performs Inc", "requires c == 1;\n performs Inc").replace("1;\n performs", "1;\nperforms"),
    );
    required.not_refuted(split(&required).into(), "performs:inc", "requires does not hold");
    let checked = Case::new(&SPLIT.replace("c := k + 1", "assert k == 1; c := k + 1"));
    checked.not_refuted(split(&checked).into(), "performs:inc", "goes wrong");
}

/// The second write comes after the lock was given back.
pub(crate) const LATE: &str = "var m: lock;\nvar c: int = 0 guarded_by m;\n\
    proc take() requires m == tid;\n{ c := 1; release m; c := 2; }\n";

/// The caller takes the lock; another thread has it when the procedure touches `c` for the second time.
pub(crate) fn late(case: &Case) -> SpecRun {
    let mut run = alone(case, "access:c");
    let stage = ProcedureStage::new(&case.program, run.procedure).expect("the procedure can be run");
    let actions = &stage.program.threads[stage.thread].code.actions;
    let c = write(case, "c", 0).var;
    let writes = |e: &StageEvent| matches!(e, StageEvent::Own { action, .. } if actions[*action].updates.iter().any(|u| u.var == c));
    let last = run.events.iter().rposition(writes).expect("it writes twice");
    run.events.truncate(last + 1);
    run.events.insert(last, other(case, 2, "m", 2));
    run.events.insert(0, other(case, 1, "m", 1));
    run
}

#[test]
fn check_a_run_that_breaks_an_access_predicate_is_accepted() {
    let case = Case::new(LATE);
    case.refuted(late(&case).into(), "access:c");
}

#[test]
fn check_a_run_that_keeps_to_access_predicates_or_breaks_one_otherwise_is_rejected() {
    let case = Case::new(LATE);
    let rejected = |because: &str, change: &dyn Fn(&mut SpecRun)| {
        let mut run = late(&case);
        change(&mut run);
        case.not_refuted(run.into(), "access:c", because);
    };
    rejected("no step touches", &|r| {
        r.events.pop();
    });
    rejected("too early", &|r| r.events.extend(r.events.last().cloned()));
    rejected("requires does not hold", &|r| {
        r.events.remove(0);
    });
    rejected("no step of its own during the call", &|r| {
        let first = r.events[0].clone();
        r.events.insert(2, first);
    });
    rejected("", &|r| r.store[1] = Value::Int(5));
    // Only what has an access predicate is written by callers.
    let loose = Case::new(&format!("var z: int = 0;\n{LATE}"));
    let mut run = late(&loose);
    run.events.insert(0, other(&loose, 2, "z", 1));
    loose.not_refuted(run.into(), "access:c", "callers write only");
    // Where there are threads, only they call.
    let closed = Case::new(&format!("{LATE}thread T {{ acquire m; take(); }}\n"));
    closed.not_refuted(late(&closed).into(), "access:c", "says nothing about");
}
