//! The processor time of this process: a clock that stands still while other processes have the processors.
//!
//! In: what the system counts. Out: a duration. Deliberately absent: effort, which is the same on every machine (`base::budget`).

use std::time::{Duration, Instant};

/// Processor time that this process has used, all its threads together; it stands still while other processes have the processors.
/// Where the system does not say, the time since `start`.
pub fn processor_time(start: Instant) -> Duration {
    // Linux counts in hundredths of a second here, whatever its own clock does.
    const MILLISECONDS_PER_TICK: u64 = 10;
    let ticks = std::fs::read_to_string("/proc/self/stat").ok().and_then(|text| {
        // The name of the program comes first, in parentheses, and may hold anything.
        let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(11);
        let mut number = || fields.next()?.parse::<u64>().ok();
        Some(number()? + number()?)
    });
    ticks.map_or_else(|| start.elapsed(), |ticks| Duration::from_millis(ticks * MILLISECONDS_PER_TICK))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_processor_time_moves_with_work() {
        let start = Instant::now();
        let before = processor_time(start);
        while processor_time(start) < before + Duration::from_millis(30) {
            assert!(start.elapsed() < Duration::from_secs(60), "it stands still");
            std::hint::black_box((0..10_000u64).sum::<u64>());
        }
    }
}
