//! What functions of the C library and of POSIX promise of their results.
//!
//! In: the name of a function that is not followed otherwise. Out: the range of its result, numbers that are the same each time, times. Deliberately absent: functions
//! whose result is computed from memory (`library.c`, `texts`).

use super::*;

impl Lower<'_> {
    /// A number that the machine or the system fixed before the program began.
    pub(super) fn same_number(&mut self, what: &str, most: i128, span: Span) -> Term {
        let slot = self.internal(&format!("<same {what}>"), what, Sort::INT, None, span);
        self.slots[slot].range = Some((1, most));
        self.slots[slot].external = true;
        self.slot_term(slot)
    }
}

/// Times in seconds: till long after the last program ends.
pub(super) const TIMES: (i128, i128) = (0, 1 << 31);
pub(super) const PARTS_OF_A_SECOND: (i128, i128) = (0, 999_999_999);
/// Numbers of processes, users, and of what the system offers.
pub(super) const MOST_IDS: i128 = 1 << 22;

/// The results that a function promises.
pub(super) fn promised(name: &str) -> Option<(i128, i128)> {
    let failing = (-1, 0);
    Some(match name {
        "fflush" | "close" => failing,
        "puts" | "fputs" | "printf" | "fprintf" | "vprintf" | "vfprintf" | "dprintf" => (-1, i128::from(i32::MAX)),
        "putchar" | "fputc" | "putc" | "getchar" | "getc" | "fgetc" | "getchar_unlocked" => (-1, 255),
        // What ends a pause early is a handler of a signal, and there is none.
        "sleep" | "usleep" | "nanosleep" => (0, 0),
        "timespec_get" => (0, 1),
        "clock_gettime" | "gettimeofday" | "sched_yield" | "pthread_yield" => (0, 0),
        "gettid" => (1, MOST_IDS),
        _ if name.starts_with("pthread_") => (0, 0),
        _ => return None,
    })
}
