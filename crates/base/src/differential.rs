//! How long the differential tests run: how many random programs each of them tries, and from which seed on.
//!
//! In: `THREADPROOF_DIFFERENTIAL=N` (N programs for each test) and `THREADPROOF_SEED=S` (from seed S on). Out: these
//! numbers, or the small ones of the usual tests. Every differential test of the workspace asks here, so that one command
//! makes all of them long. `THREADPROOF_HUNT` is the older name of the first variable and is still read.

use crate::budget::Budget;
use std::time::Duration;

/// How many programs a differential test tries: the number asked for, or `usual`.
pub fn programs_to_try(usual: u64) -> u64 {
    requested_programs().unwrap_or(usual)
}

/// The seeds that a differential test tries: so many from the first on.
pub fn seeds(usual: u64) -> std::ops::Range<u64> {
    first_seed()..first_seed() + programs_to_try(usual)
}

/// What a differential test lets a method do on one program: an amount of work, said as the time it takes on an ordinary processor. It is
/// counted and not timed, so that a busy machine changes nothing; the clock ends only what is far slower than that.
pub fn limited_work(amount: Duration) -> Budget {
    Budget::unlimited().share(amount)
}

/// The summary line of a differential test that found no contradiction; `scripts/differential` shows it.
pub fn report_agreement(method: &str, programs: u64, decided: &str) {
    let first = first_seed();
    println!("differential {method}: {programs} programs from seed {first} on, {decided}, no contradiction");
}

/// Whether more than the usual number of programs was asked for, so that each of them may cost more, too.
pub fn is_long_run() -> bool {
    requested_programs().is_some()
}

/// The first seed of a long run; 0 unless another one is asked for.
pub fn first_seed() -> u64 {
    number("THREADPROOF_SEED").unwrap_or(0)
}

fn requested_programs() -> Option<u64> {
    number("THREADPROOF_DIFFERENTIAL").or_else(|| number("THREADPROOF_HUNT"))
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    match text.trim().parse() {
        Ok(number) => Some(number),
        Err(_) => panic!("{variable} is a number of programs or a seed, not `{text}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_without_a_request_the_usual_number_is_tried() {
        // The variables belong to the whole process, so that this test only reads them.
        match requested_programs() {
            None => assert_eq!((programs_to_try(17), is_long_run()), (17, false)),
            Some(n) => assert_eq!((programs_to_try(17), is_long_run()), (n, true)),
        }
    }

    #[test]
    #[should_panic(expected = "is a number of programs or a seed, not `")]
    fn check_a_request_that_is_no_number_is_an_error() {
        // `CARGO_MANIFEST_DIR` is set by cargo and is never a number.
        number("CARGO_MANIFEST_DIR");
    }
}
