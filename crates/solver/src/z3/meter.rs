//! How much a question cost, by Z3's own counter of resources, and how much the next one may cost.
//!
//! In: the statistics of a solver or a fixedpoint after a question, and the budget of the work. Out: effort spent (see `base::budget`),
//! which is the same in every run; a limit for the next question where the effort left is less than the limit asked for.

use super::context::text;
use base::Budget;
use z3_provider::library::*;

/// Resources that Z3 is taken to count in a microsecond: an estimate, not a measurement. A poor one changes which method is waited for, no verdict.
const RESOURCES_PER_UNIT: u64 = 3;
/// What a question costs whatever is asked: translation, push and pop.
const UNITS_PER_QUESTION: u64 = 30;

/// Reads the counter of one context, which only grows (and starts again at 2^32).
#[derive(Debug, Default)]
pub(crate) struct Meter {
    before: u32,
}

impl Meter {
    /// Counts what was done since the last reading.
    pub(crate) fn read(&mut self, c: Z3_context, statistics: Option<Z3_stats>, budget: &Budget) {
        let Some(statistics) = statistics else { return budget.spend(UNITS_PER_QUESTION) };
        // SAFETY: the statistics belong to the context and are counted while they are read; keys are copied at once.
        let found = unsafe {
            Z3_stats_inc_ref(c, statistics);
            let keys = (0..Z3_stats_size(c, statistics)).rev();
            let counter = |i: &u32| {
                Z3_stats_is_uint(c, statistics, *i) && text(Z3_stats_get_key(c, statistics, *i)) == "rlimit count"
            };
            let found = keys.into_iter().find(counter).map(|i| Z3_stats_get_uint_value(c, statistics, i));
            Z3_stats_dec_ref(c, statistics);
            found
        };
        let now = found.unwrap_or(self.before);
        budget.spend(UNITS_PER_QUESTION + u64::from(now.wrapping_sub(self.before)) / RESOURCES_PER_UNIT);
        self.before = now;
    }
}

/// The limit of a question: what was asked for, or what the effort left allows if that is less. 0 is no limit.
pub(crate) fn limit_within(limit: u32, budget: &Budget) -> u32 {
    let Some(left) = budget.effort_left() else { return limit };
    let left = u32::try_from(left.saturating_mul(RESOURCES_PER_UNIT)).unwrap_or(u32::MAX).max(1);
    if limit == 0 { left } else { limit.min(left) }
}
