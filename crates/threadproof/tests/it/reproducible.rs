//! Equal runs give equal bytes: on a busy machine, with one worker and with two, in JSON and in text.
//!
//! A dozen programs of different kinds, so that many methods are the one that is reported. A few runs each here, beside the other tests;
//! with THREADPROOF_DIFFERENTIAL=N there are N rounds, on a machine that is kept busy.

use crate::{code, root, threadproof};
use std::sync::atomic::{AtomicBool, Ordering};

/// Programs that are decided within a fraction of a second on an idle machine, and by whom is part of the report.
const PROGRAMS: [(&str, &[&str]); 12] = [
    ("corpus/locks/bank_transfer.tp", &[]),
    ("corpus/locks/bank_transfer_one_lock.tp", &[]),
    ("corpus/locks/accounts_any.tp", &[]),
    ("corpus/counting/flag_lock.tp", &[]),
    ("corpus/counting/barrier.tp", &[]),
    ("corpus/lockfree/cas_counter_no_retry.tp", &[]),
    ("corpus/lockfree/counter_object.tp", &[]),
    ("corpus/performs/bank.tp", &[]),
    ("corpus/performs/bank_late_check.tp", &[]),
    ("corpus/heap/aliasing_excluded.tp", &[]),
    ("corpus/c/counter_lost_update.c", &["--check", "no-data-race"]),
    ("corpus/c/adders_in_a_row.c", &[]),
];

/// Keeps the processors busy while it lives.
struct Load(&'static AtomicBool);

static STOP: AtomicBool = AtomicBool::new(false);

impl Load {
    fn start() -> Self {
        for _ in 0..3 {
            std::thread::spawn(|| {
                while !STOP.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        Self(&STOP)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn check_equal_runs_give_equal_bytes_under_load_and_with_any_number_of_workers() {
    let asked: Option<usize> = std::env::var("THREADPROOF_DIFFERENTIAL").ok().and_then(|n| n.parse().ok());
    let rounds = asked.unwrap_or(1);
    let mut load = None;
    let mut wrong = Vec::new();
    for (program, options) in PROGRAMS {
        assert!(root().join(program).is_file(), "{program}");
        for form in [&["--json"][..], &[]] {
            let mut first: Option<Vec<u8>> = None;
            for round in 0..rounds {
                for workers in ["1", "2"] {
                    // The first runs are on a machine as it is, the others on a busy one.
                    if asked.is_some() && load.is_none() && first.is_some() {
                        load = Some(Load::start());
                    }
                    let common = ["verify", program, "--time", "120s", "--workers", workers];
                    let output = threadproof(&[&common[..], options, form].concat());
                    assert_ne!(code(&output), 2, "{program} is decided: {}", String::from_utf8_lossy(&output.stdout));
                    match &first {
                        None => first = Some(output.stdout),
                        Some(bytes) if *bytes == output.stdout => {}
                        Some(bytes) => {
                            let difference = different(bytes, &output.stdout);
                            wrong.push(format!("{program}, {workers} workers, round {round}: {difference}"));
                        }
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The first lines that differ.
fn different(a: &[u8], b: &[u8]) -> String {
    let (a, b) = (String::from_utf8_lossy(a), String::from_utf8_lossy(b));
    let pair = a.lines().zip(b.lines()).find(|(x, y)| x != y);
    pair.map_or_else(|| "one is longer".into(), |(x, y)| format!("`{}` and `{}`", x.trim(), y.trim()))
}
