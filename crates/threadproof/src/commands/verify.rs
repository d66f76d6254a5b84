//! `verify`: the report on standard output and in files, and the limits kept whatever the work does.
//!
//! In: the request. Out: the report, the exit code. The work is `verifying`; `watch` ends the process if it does not come back in time.

use crate::board::RunRecord;
use crate::cli::{SpreadOptions, Verify};
use crate::jobs;
use crate::output;
use crate::progress::{Progress, ProgressKind};
use crate::report::ci;
use crate::report::story::Detail;
use crate::report::{html, json, paint::Paint, text};
use crate::verifying::{VerifyRun, close_record};
use crate::watch::{self, LimitWatchdog};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub fn run_verify(mut request: Verify, paint: Paint) -> i32 {
    if request.part.is_some() {
        // Whoever asked for the part is the one that has to do with others.
        request.spread = SpreadOptions::default();
    }
    let jobs = request.jobs.map_or(1, usize::from);
    // Processes that work side by side share what the machine has to spare.
    let memory = request.limits.memory.or_else(|| Some(watch::spare_memory()? / jobs as u64));
    let silent = request.quiet || request.part.is_some() || request.spread.rank.is_some_and(|r| r > 0);
    let progress = Progress::new(ProgressKind::of_standard_error(silent));
    let work = match VerifyRun::prepare(request, memory, progress) {
        Ok(work) => work,
        Err(refusal) => {
            refusal.messages.iter().for_each(|m| eprint!("{m}"));
            return refusal.code;
        }
    };
    let several = work.request.files.len() > 1 && work.request.part.is_none();
    if several && (jobs > 1 || work.request.spread.hosts.is_some()) {
        return jobs::run_jobs(&work, jobs, paint);
    }
    if work.request.part.is_some() {
        jobs::end_with_parent();
    }
    let (board, evidence_lost) = (work.board.clone(), work.evidence_lost.clone());
    work.progress.follow(&board);
    let print: watch::Print = {
        let progress = work.progress.clone();
        let request = work.request.clone();
        let detail = if request.verbose { Detail::Full } else { Detail::Brief };
        Arc::new(move |record: &RunRecord| {
            progress.close();
            if let Some(part) = &request.part {
                return jobs::leave_part(part, record, paint, detail, record.exit_code());
            }
            let mut text = match (request.json, request.quiet) {
                (true, _) => json::json_report(record),
                (false, true) => text::quiet_report(record, paint),
                (false, false) => text::text_report(record, paint, detail),
            };
            if request.github {
                text.push_str(&ci::github::annotations(record));
            }
            let files = write_reports(&request, record);
            output::write_all(text.as_bytes()).and(files)
        })
    };
    LimitWatchdog { board: board.clone(), budget: work.budget.clone(), memory, print: print.clone() }.start();
    let ended = work.start_thread().is_ok_and(|thread| thread.join().is_ok());
    let mut record = board.lock();
    close_record(&mut record, ended);
    let printed = print(&record);
    let code = if evidence_lost.load(Ordering::Relaxed) { crate::board::exit::USAGE } else { record.exit_code() };
    watch::exit_process(printed.map_or_else(|lost| lost, |()| code))
}

/// Writes the reports that are asked for as files.
fn write_reports(request: &Verify, record: &RunRecord) -> Result<(), i32> {
    let wanted: [(&Option<PathBuf>, fn(&RunRecord) -> String); 4] = [
        (&request.html, html::web_page),
        (&request.sarif, ci::sarif::sarif_log),
        (&request.junit, ci::junit::test_report),
        (&request.write_baseline, ci::baseline_text),
    ];
    let mut outcome = Ok(());
    for (path, report) in wanted {
        if let Some(path) = path {
            outcome = outcome.and(output::write_file(path, &report(record)));
        }
    }
    outcome
}
