//! The memory that the verdicts of a file are about.
//!
//! In: the rows of a file with their assumptions. Out: the name of the memory model, and the assumptions that are left under it: where a C program
//! has no race and its atomics are sequentially consistent, C11 promises sequential consistency (DRF-SC). Deliberately absent: weaker models.

use crate::board::FileRows;
use crate::outcome::RowOutcome;
use frontend::c::{CCheck, EVALUATION_ORDER, RACE_FREE};

/// Said with every verdict that nothing lets say more.
pub const MEMORY_MODEL: &str = "sequential consistency";
/// What verdicts on C hold for where the program has no race and all its atomics are sequentially consistent.
const C11_MODEL: &str = "C11";

/// The memory that the verdicts of a file are about.
pub(crate) fn memory_model_of(file: &FileRows) -> &'static str {
    let assumes = |code: &str| {
        let found = file.rows.iter().filter_map(|r| r.finding.as_ref());
        found.flat_map(|f| f.assumptions()).any(|a| a.code == code)
    };
    let race_free = || file.rows.iter().any(|r| CCheck::Race.owns(&r.name) && file.outcome_of(r) == RowOutcome::Safe);
    match assumes(EVALUATION_ORDER) || (assumes(RACE_FREE) && race_free()) {
        true => C11_MODEL,
        false => MEMORY_MODEL,
    }
}

/// An assumption as it stands under a memory model: of what C11 promises then, only the rest.
pub(crate) fn assumption_under(model: &str, assumption: &program::Assumption) -> program::Assumption {
    let text = "operands are evaluated left to right".to_string();
    match model == C11_MODEL && assumption.code == RACE_FREE {
        true => program::Assumption { code: EVALUATION_ORDER.into(), text },
        false => assumption.clone(),
    }
}
