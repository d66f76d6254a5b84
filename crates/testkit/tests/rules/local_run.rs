//! Rule `local-run`: a thread's own steps show that it does not follow its machine; for each side condition a run that lacks it.

use crate::case::Case;
use crate::performed::{INCREMENT, steps_to_the_first_write};
use crate::simulation::ONCE;
use evidence::{CallReading, LocalRun, LocalStep};
use logic::Value;
use program::{ActionId, ThreadId};

/// The thread adds 2 where its machine adds 1.
pub(crate) fn astray() -> Case {
    Case::new(&ONCE.replace("x := x + 1", "x := x + 2"))
}

fn step(action: ActionId, store: &[i128]) -> LocalStep {
    LocalStep { store: store.iter().map(|n| Value::Int(*n)).collect(), action, inputs: Vec::new() }
}

/// The action with which straight code leaves its `n`th location.
fn action(case: &Case, n: usize) -> ActionId {
    let thread = case.thread("T");
    let from = case.path(thread)[n];
    case.program.threads[thread].code.from(from).next().expect("the code goes on").0
}

/// The first step, in a store where `x` is so much.
pub(crate) fn one_step(case: &Case, x: i128) -> LocalRun {
    LocalRun {
        violates: case.property("follows:T"),
        thread: case.thread("T"),
        reading: CallReading::Code,
        locals: Vec::new(),
        steps: vec![step(action(case, 0), &[x])],
        also: None,
    }
}

#[test]
fn check_a_run_that_the_machine_cannot_follow_is_accepted() {
    let case = astray();
    case.refuted(one_step(&case, 0).into(), "follows:T");
    // The others may have made anything of the store that the candidates' assertions allow.
    case.refuted(one_step(&case, 17).into(), "follows:T");
    // A step that goes wrong while the machine does not.
    let wrong = Case::new(&ONCE.replace("state e asserts x >= 0", "state e"));
    let mut run = one_step(&wrong, 0);
    run.steps.push(step(action(&wrong, 1), &[-1]));
    wrong.refuted(run.into(), "follows:T");
}

#[test]
fn check_a_run_that_the_machine_follows_or_need_not_follow_is_rejected() {
    let fine = Case::new(ONCE);
    fine.not_refuted(one_step(&fine, 0).into(), "follows:T", "follows every step");
    let case = astray();
    let rejected = |because: &str, change: &dyn Fn(&mut LocalRun)| {
        let mut run = one_step(&case, 0);
        change(&mut run);
        case.not_refuted(run.into(), "follows:T", because);
    };
    // The machine's own assertion fails before the step: it need not be followed.
    rejected("the machine goes wrong", &|r| r.steps[0].store[0] = Value::Int(-1));
    rejected("follows every step", &|r| r.steps.clear());
    rejected("after the machine was left behind", &|r| r.steps.push(r.steps[0].clone()));
    // A step that goes wrong ends a run.
    let wrong = Case::new(&ONCE.replace("state e asserts x >= 0", "state e"));
    let mut run = one_step(&wrong, 0);
    let check = step(action(&wrong, 1), &[-1]);
    run.steps.extend([check.clone(), check]);
    wrong.not_refuted(run.into(), "follows:T", "is not the last");
    // A machine that does not idle is left behind by a step that changes nothing; one that idles is not.
    let idle = ONCE.replace("x := x + 1", "x := x");
    let strict = Case::new(&idle.replace("machine M", "strict machine M"));
    strict.refuted(one_step(&strict, 0).into(), "follows:T");
    let lax = Case::new(&idle);
    lax.not_refuted(one_step(&lax, 0).into(), "follows:T", "follows every step");
}

#[test]
fn check_a_run_that_does_not_fit_the_program_is_rejected() {
    let case = astray();
    let rejected = |because: &str, change: &dyn Fn(&mut LocalRun)| {
        let mut run = one_step(&case, 0);
        change(&mut run);
        case.not_refuted(run.into(), "follows:T", because);
    };
    rejected("does not fit", &|r| r.steps[0].store.clear());
    rejected("does not fit", &|r| r.steps[0].store[0] = Value::Bool(true));
    rejected("does not fit", &|r| r.locals.push(Value::Int(0)));
    rejected("", &|r| r.steps[0].action = ActionId(9));
    rejected("", &|r| r.steps[0].action = action(&case, 1));
    rejected("", &|r| r.steps[0].inputs.push(Value::Int(1)));
    rejected("no such thread", &|r| r.thread = ThreadId(9));
    rejected("another property", &|r| r.violates = case.property("assert:3"));
    case.not_refuted(
        LocalRun { violates: case.property("assert:3"), ..one_step(&case, 0) }.into(),
        "assert:3",
        "says nothing about",
    );
    // A local begins as it is declared.
    let local = Case::new(&ONCE.replace("{ x := x + 1;", "{ var k: int := 2; x := x + k;"));
    let mut run = one_step(&local, 0);
    run.locals = vec![Value::Int(2)];
    let begins = |r: &LocalRun| local.refutation(r.clone().into(), "follows:T");
    run.steps.push(run.steps[0].clone());
    run.steps[1].action = action(&local, 1);
    let declared = begins(&run);
    run.locals = vec![Value::Int(3)];
    let other = begins(&run);
    assert!(other.is_err() || declared.is_ok(), "{declared:?}, {other:?}");
}

#[test]
fn check_a_thread_that_calls_by_specification_must_fail_in_both_readings() {
    // The callee adds 1, the machine 2: the code of the call shows it, and so does what the call performs.
    let text = INCREMENT.replace(
        "machine Counts { start B; state A; B -> A : <count> count' == count + 1; }",
        "machine Counts { start B; state A; B -> A : <count> count' == count + 2; }",
    );
    assert_ne!(text, INCREMENT, "the machine is another one");
    let case = Case::new(&text);
    let specified = Case::of(CallReading::Specified.of(&case.program).expect("calls are by specification"));
    let run = |reading, of: &Case| {
        let code = &of.program.threads[of.thread("T")].code;
        // What a call leaves open is what makes the count one more.
        let one = |id: ActionId| LocalStep {
            inputs: vec![Value::Int(1); code.actions[id].inputs.len()],
            ..step(id, &[0, 0])
        };
        LocalRun {
            violates: case.property("follows:T"),
            thread: case.thread("T"),
            reading,
            locals: vec![Value::Int(0); of.program.threads[of.thread("T")].locals.len()],
            steps: steps_to_the_first_write(of).into_iter().map(one).collect(),
            also: None,
        }
    };
    // By its code it takes the lock, of which the machine says nothing: it is left behind there.
    let code = run(CallReading::Code, &case);
    let by_specification = run(CallReading::Specified, &specified);
    let both = LocalRun { also: Some(Box::new(code.clone())), ..by_specification.clone() };
    case.refuted(both.clone().into(), "follows:T");
    case.not_refuted(code.into(), "follows:T", "calls read by specified: there is no run");
    case.not_refuted(by_specification.into(), "follows:T", "calls read by code: there is no run");
    let mut apart = both;
    apart.also.as_mut().expect("there are two").thread = ThreadId(1);
    case.not_refuted(apart.into(), "follows:T", "different things");
}
