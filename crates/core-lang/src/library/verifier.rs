//! Rows of the conventions of verification tasks: assertions, errors, assumptions, values from outside, exclusive stretches.
//!
//! In: calls. Out: violations, pruned runs, values drawn at random with a liking for small ones and for the ends of the type.

use super::{Answer, CallSite, LibraryRow, Reply, int, nothing};
use crate::interpreter::{ExecutionStop, Interpreter, ViolationKind};
use crate::module::ResultKind;
use crate::value::{CoreValue, IntType, ScalarType};

macro_rules! nondet {
    ($name:literal) => {
        LibraryRow { name: $name, effect: "any value of its type", run: any }
    };
}

/// From here to the end the program is only looked at; no program can name these.
pub const GHOST_BEGIN: &str = "ghost begin";
pub const GHOST_END: &str = "ghost end";

/// Whether a weak exchange fails for no reason; no program can name it.
pub const SPURIOUS_FAILURE: &str = "weak exchange";

pub(super) const ROWS: &[LibraryRow] = &[
    LibraryRow { name: SPURIOUS_FAILURE, effect: "1 or 0", run: spurious_failure },
    LibraryRow { name: "reach_error", effect: "an error", run: error },
    LibraryRow { name: "__VERIFIER_error", effect: "an error", run: error },
    LibraryRow { name: "__assert_fail", effect: "reads the texts a1 and a2; an error", run: assert_fail },
    LibraryRow { name: "__assert", effect: "an error", run: error },
    LibraryRow { name: "__tp_acsl", effect: "an error if a1 is zero", run: assert },
    LibraryRow {
        name: GHOST_BEGIN,
        effect: "no other thread moves, and nothing races, until the end",
        run: ghost_begin,
    },
    LibraryRow { name: GHOST_END, effect: "other threads move again", run: ghost_end },
    LibraryRow { name: "assert", effect: "an error if a1 is zero", run: assert },
    LibraryRow { name: "__VERIFIER_assert", effect: "an error if a1 is zero", run: assert },
    LibraryRow { name: "__CPROVER_assert", effect: "an error if a1 is zero", run: assert },
    LibraryRow { name: "__VERIFIER_assume", effect: "there is no run in which a1 is zero", run: assume },
    LibraryRow { name: "__CPROVER_assume", effect: "there is no run in which a1 is zero", run: assume },
    LibraryRow { name: "__builtin_assume", effect: "there is no run in which a1 is zero", run: assume },
    LibraryRow { name: "__VERIFIER_atomic_begin", effect: "no other thread moves until the end", run: begin },
    LibraryRow { name: "__VERIFIER_atomic_end", effect: "other threads move again", run: end },
    LibraryRow { name: "__CPROVER_atomic_begin", effect: "no other thread moves until the end", run: begin },
    LibraryRow { name: "__CPROVER_atomic_end", effect: "other threads move again", run: end },
    nondet!("__VERIFIER_nondet_int"),
    nondet!("__VERIFIER_nondet_uint"),
    nondet!("__VERIFIER_nondet_unsigned"),
    nondet!("__VERIFIER_nondet_unsigned_int"),
    nondet!("__VERIFIER_nondet_bool"),
    nondet!("__VERIFIER_nondet__Bool"),
    nondet!("__VERIFIER_nondet_char"),
    nondet!("__VERIFIER_nondet_uchar"),
    nondet!("__VERIFIER_nondet_short"),
    nondet!("__VERIFIER_nondet_ushort"),
    nondet!("__VERIFIER_nondet_long"),
    nondet!("__VERIFIER_nondet_ulong"),
    nondet!("__VERIFIER_nondet_longlong"),
    nondet!("__VERIFIER_nondet_ulonglong"),
    nondet!("__VERIFIER_nondet_size_t"),
    nondet!("__VERIFIER_nondet_u8"),
    nondet!("__VERIFIER_nondet_u16"),
    nondet!("__VERIFIER_nondet_u32"),
    nondet!("__VERIFIER_nondet_float"),
    nondet!("__VERIFIER_nondet_double"),
    nondet!("nondet_int"),
    nondet!("nondet_uint"),
    nondet!("nondet_bool"),
];

fn error(_: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    Err(ExecutionStop::violation(ViolationKind::Assertion, format!("calls `{}`", c.name)))
}

fn assert_fail(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let text = i.read_text(c.value(0)?)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    Err(ExecutionStop::violation(ViolationKind::Assertion, format!("the assertion `{text}` fails")))
}

fn assert(_: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    if c.int(0)? == 0 {
        return Err(ExecutionStop::violation(ViolationKind::Assertion, "an assertion fails"));
    }
    nothing()
}

fn assume(_: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    if c.int(0)? == 0 { Err(ExecutionStop::Pruned) } else { nothing() }
}

fn begin(i: &mut Interpreter<'_>, _: &CallSite<'_>) -> Answer {
    i.exclusive_begin();
    nothing()
}

fn end(i: &mut Interpreter<'_>, _: &CallSite<'_>) -> Answer {
    i.exclusive_end();
    nothing()
}

fn any(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    match c.result {
        ResultKind::Scalar(ScalarType::Int(kind)) => int(draw(i, kind)),
        ResultKind::Scalar(ScalarType::Float(_)) => {
            let value = [0.0, 1.0, -1.0, 0.5, 1e10][i.draw().below(5)];
            Ok(Reply::Value(CoreValue::Float(value)))
        }
        _ => c.unsupported("gives a value from outside that is no number"),
    }
}

fn ghost_begin(i: &mut Interpreter<'_>, _: &CallSite<'_>) -> Answer {
    i.ghost = Some(i.exclusive.is_some());
    let current = i.current;
    i.exclusive.get_or_insert((current, 1));
    nothing()
}

fn ghost_end(i: &mut Interpreter<'_>, _: &CallSite<'_>) -> Answer {
    // What was exclusive before stays so.
    if i.ghost.take() == Some(false) {
        i.exclusive = None;
    }
    nothing()
}

fn spurious_failure(i: &mut Interpreter<'_>, _: &CallSite<'_>) -> Answer {
    let current = i.current;
    i.drawn = true;
    match i.scheduler.planned_value(current).filter(|v| (0..=1).contains(v)) {
        Some(value) => int(value),
        None => int(i128::from(i.draw().below(8) == 0)),
    }
}

fn draw(i: &mut Interpreter<'_>, kind: IntType) -> i128 {
    let (low, high) = kind.range();
    let current = i.current;
    if let Some(value) = i.scheduler.planned_value(current).filter(|v| (low..=high).contains(v)) {
        i.drawn = true;
        return value;
    }
    let raw = match i.draw().below(10) {
        0..=3 => i128::from(i.draw().below(2) as u32),
        4..=6 => i.draw().between(-1, 10),
        7 => high - i.draw().between(0, 1),
        8 => low + i.draw().between(0, 1),
        _ => i128::from(i.draw().word()),
    };
    kind.wrap(raw)
}
