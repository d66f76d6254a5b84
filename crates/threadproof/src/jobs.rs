//! Several programs at once, each in a process of its own.
//!
//! In: a request for several programs with `--jobs N`, or with `--hosts`: then other machines take programs, too (`hosts`). Out: one report, as a single process makes it program by program. Each process gets the same
//! arguments and the place of its program, and leaves its part of the report in a folder; a process that ends without one is an internal error of its
//! program, and the others go on. Ctrl-C ends the processes at work, which then report what they have; those that wait are not begun.
//! Deliberately absent: one program by several processes (`several`); web pages, which show all programs at once.

use crate::baseline::{Baseline, FindingKey};
use crate::board::{FileRows, MethodStage, RunRecord, exit, gravest_code};
use crate::cli::{PartRequest, Verify};
use crate::hosts::{self, OtherMachines};
use crate::output;
use crate::progress::ProgressKind;
use crate::report::paint::Paint;
use crate::report::story::Detail;
use crate::report::text::RunCounts;
use crate::report::{ci, json, text};
use crate::verifying::VerifyRun;
use crate::watch::INTERRUPTED;
use indicatif::{ProgressBar, ProgressStyle};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::io::Read;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const LOOK_INTERVAL: Duration = Duration::from_millis(10);
const LOG_INTERVAL: Duration = Duration::from_secs(5);
/// A process ends itself at the time limit of its program; one that has not so long afterwards never will.
const GRACE_AFTER_LIMIT: Duration = Duration::from_secs(60);

/// What one process reports: everything that a report of all is made of.
#[derive(Debug, Serialize, Deserialize)]
struct ReportPart {
    exit_code: i32,
    counts: RunCounts,
    text: String,
    quiet: String,
    json: serde_json::Value,
    sarif: serde_json::Value,
    junit: String,
    github: String,
    findings: Vec<FindingKey>,
}

impl ReportPart {
    fn of(record: &RunRecord, paint: Paint, detail: Detail, exit_code: i32) -> Self {
        let parsed = |text: String| serde_json::from_str(&text).unwrap_or_default();
        // What a baseline knows is counted for all programs together.
        let one = RunRecord { files: record.files.clone(), baseline: None, ..RunRecord::default() };
        Self {
            exit_code,
            counts: RunCounts::of(record),
            text: text::text_report(&one, paint, detail),
            quiet: text::quiet_report(record, paint),
            json: parsed(json::json_report(record)),
            sarif: parsed(ci::sarif::sarif_log(record)),
            junit: ci::junit::test_report(record),
            github: ci::github::annotations(record),
            findings: ci::finding_keys(record),
        }
    }
}

fn place_of_part(part: &PartRequest) -> PathBuf {
    part.folder.join(part.place.to_string())
}

/// Leaves the part of a report where the process that asked for it looks; the exit code if it cannot.
pub fn leave_part(part: &PartRequest, record: &RunRecord, paint: Paint, detail: Detail, code: i32) -> Result<(), i32> {
    let whole = ReportPart::of(record, paint, detail, code);
    let (path, beside) = (place_of_part(part), part.folder.join(format!("{}.new", part.place)));
    let written = serde_json::to_vec(&whole).map_err(std::io::Error::other).and_then(|bytes| {
        std::fs::write(&beside, bytes)?;
        std::fs::rename(&beside, &path)
    });
    written.map_err(|_| exit::USAGE)
}

/// Ends this process when the one that started it has ended.
pub fn end_with_parent() {
    let _ = std::thread::Builder::new().name("parent".into()).spawn(|| {
        let _ = std::io::stdin().lock().read(&mut [0; 1]);
        crate::watch::exit_process(exit::LOST)
    });
}

struct Job {
    place: usize,
    child: Child,
    began: Instant,
}

impl Job {
    fn start(folder: &Path, place: usize) -> std::io::Result<Self> {
        Ok(Self { place, child: start(folder, place)?, began: Instant::now() })
    }

    /// How it ended, if it has. One that works on after its time is ended.
    fn end(&mut self, limit: Duration) -> Option<String> {
        if self.began.elapsed() > limit {
            let _ = self.child.kill();
        }
        match self.child.try_wait() {
            Ok(None) => None,
            Ok(Some(status)) => Some(how(status)),
            Err(e) => Some(e.to_string()),
        }
    }
}

/// The part of the report that a process left that has ended so.
fn part_left(request: &Verify, folder: &Path, place: usize, ended: &str, paint: Paint) -> ReportPart {
    let sentence = || format!("the process that verified it {ended}, without a report");
    read_part(&folder.join(place.to_string())).unwrap_or_else(|| failed(request, place, &sentence(), paint))
}

fn limit_of(request: &Verify) -> Duration {
    request.limits.time.saturating_add(GRACE_AFTER_LIMIT)
}

/// One program for a process on another machine: its part of the report, as that reads it.
fn part_for_others(request: &Verify, folder: &Path, place: usize, paint: Paint) -> Vec<u8> {
    if place >= request.files.len() {
        return Vec::new();
    }
    let part = match Job::start(folder, place) {
        Err(e) => failed(request, place, &format!("its process did not start: {e}"), paint),
        Ok(mut job) => loop {
            match job.end(limit_of(request)) {
                Some(ended) => break part_left(request, folder, place, &ended, paint),
                None => std::thread::sleep(LOOK_INTERVAL),
            }
        },
    };
    serde_json::to_vec(&part).unwrap_or_default()
}

/// A folder of its own, which is gone in the end.
struct PartFolder(PathBuf);

impl PartFolder {
    fn new() -> std::io::Result<Self> {
        let moment = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_nanos());
        let path = std::env::temp_dir().join(format!("threadproof-{}-{moment}", std::process::id()));
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }
}

impl Drop for PartFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Verifies all programs of the request, and prints the report. The exit code.
pub fn run_jobs(work: &VerifyRun, jobs: usize, paint: Paint) -> i32 {
    let request = &work.request;
    let detail = if request.verbose { Detail::Full } else { Detail::Brief };
    let folder = match PartFolder::new() {
        Ok(folder) => folder,
        Err(e) => {
            eprintln!("error: there is no place for the parts of the report: {e}");
            return exit::USAGE;
        }
    };
    let (asked, place_of_parts) = (request.clone(), folder.0.clone());
    let for_others = move |place: usize| part_for_others(&asked, &place_of_parts, place, paint);
    let mut others = match hosts::gather(work, jobs, for_others) {
        Ok(None) if request.spread.hosts.is_some() => return exit::SAFE,
        Ok(others) => others,
        Err(sentence) => {
            eprintln!("error: {sentence}");
            return exit::REJECTED;
        }
    };
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = interrupted.clone();
    let _ = ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed));
    let mut parts: Vec<Option<ReportPart>> = request.files.iter().map(|_| None).collect();
    let mut progress = JobProgress::new(request);
    let (mut left, mut running): (VecDeque<usize>, Vec<Job>) = ((0..parts.len()).collect(), Vec::new());
    loop {
        let goes_on = !interrupted.load(Ordering::Relaxed);
        while goes_on && running.len() < jobs {
            let Some(place) = left.pop_front() else { break };
            match Job::start(&folder.0, place) {
                Ok(job) => running.push(job),
                Err(e) => {
                    parts[place] = Some(failed(request, place, &format!("its process did not start: {e}"), paint));
                }
            }
        }
        let mut elsewhere = Vec::new();
        if let Some(others) = others.as_mut().filter(|_| goes_on) {
            for (place, answer) in others.answers(&mut left) {
                let read = |bytes: Vec<u8>| serde_json::from_slice(&bytes).map_err(|_| "its part is no report".into());
                let part = answer.and_then(read).unwrap_or_else(|why: String| failed(request, place, &why, paint));
                parts[place] = Some(part);
            }
            others.hand_out(&mut left);
            elsewhere.extend(others.programs());
        }
        if running.is_empty() && elsewhere.is_empty() && (left.is_empty() || !goes_on) {
            break;
        }
        std::thread::sleep(LOOK_INTERVAL);
        running.retain_mut(|job| {
            let Some(ended) = job.end(limit_of(request)) else { return true };
            parts[job.place] = Some(part_left(request, &folder.0, job.place, &ended, paint));
            false
        });
        let at_work = running.iter().map(|j| j.place).chain(elsewhere).map(|place| request.files[place].as_path());
        progress.show(parts.iter().filter(|p| p.is_some()).count(), at_work);
    }
    progress.close();
    others.iter().for_each(OtherMachines::dismiss);
    let whole = |(place, part): (usize, Option<ReportPart>)| {
        part.unwrap_or_else(|| {
            let mut record =
                RunRecord { files: vec![FileRows::new(request.files[place].clone())], ..RunRecord::default() };
            record.stop_all(INTERRUPTED);
            ReportPart::of(&record, paint, detail, record.exit_code())
        })
    };
    let parts: Vec<ReportPart> = parts.into_iter().enumerate().map(whole).collect();
    report(request, &parts, paint)
}

fn start(folder: &Path, place: usize) -> std::io::Result<Child> {
    let part = format!("{place}:{}", folder.display());
    Command::new(std::env::current_exe()?)
        .args(std::env::args_os().skip(1))
        .args(["--part", &part])
        .stdin(Stdio::piped())
        .spawn()
}

fn read_part(path: &Path) -> Option<ReportPart> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

fn how(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => format!("was ended by signal {signal}"),
        (None, code) => format!("ended with code {}", code.unwrap_or_default()),
    }
}

/// The part of a program whose process left none.
fn failed(request: &Verify, place: usize, sentence: &str, paint: Paint) -> ReportPart {
    let mut file = FileRows::new(request.files[place].clone());
    file.internal.push(sentence.into());
    file.stage = MethodStage::Done;
    ReportPart::of(&RunRecord { files: vec![file], ..RunRecord::default() }, paint, Detail::Brief, exit::INTERNAL)
}

/// Prints the report of all parts, and writes it to the files that are asked for.
fn report(request: &Verify, parts: &[ReportPart], paint: Paint) -> i32 {
    let code = gravest_code(parts.iter().map(|p| p.exit_code));
    let counts = parts.iter().map(|p| p.counts).reduce(RunCounts::and).unwrap_or_default();
    let joined = |of: fn(&ReportPart) -> &str, between: &str| parts.iter().map(of).collect::<Vec<_>>().join(between);
    let values = |of: fn(&ReportPart) -> &serde_json::Value| parts.iter().map(of).cloned().collect::<Vec<_>>();
    let mut text = match (request.json, request.quiet) {
        (true, _) => json::merged_reports(&values(|p| &p.json), code),
        (false, true) => format!("{}{}", joined(|p| &p.quiet, ""), counts.summary(paint)).trim_start().to_owned(),
        (false, false) => format!("{}{}{}", joined(|p| &p.text, "\n"), counts.summary(paint), counts.of_baseline()),
    };
    if request.github {
        text.push_str(&joined(|p| &p.github, ""));
    }
    let mut printed = output::write_all(text.as_bytes());
    let mut write = |path: &Option<PathBuf>, content: &dyn Fn() -> String| {
        if let Some(path) = path {
            printed = printed.and(output::write_file(path, &content()));
        }
    };
    write(&request.sarif, &|| ci::sarif::merged_logs(&values(|p| &p.sarif)));
    write(&request.junit, &|| ci::junit::merged_reports(parts.iter().map(|p| p.junit.as_str())));
    let findings = || parts.iter().flat_map(|p| p.findings.iter().cloned());
    write(&request.write_baseline, &|| Baseline::of_keys(findings()).text());
    printed.map_or_else(|lost| lost, |()| code)
}

/// How far it is, on standard error.
struct JobProgress {
    kind: ProgressKind,
    all: usize,
    bar: Option<ProgressBar>,
    said: Instant,
}

impl JobProgress {
    fn new(request: &Verify) -> Self {
        let kind = ProgressKind::of_standard_error(request.quiet);
        let bar = (kind == ProgressKind::Screen).then(|| {
            let bar = ProgressBar::new(request.files.len() as u64);
            let style = ProgressStyle::with_template("{pos} of {len} programs, {elapsed}: {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        Self { kind, all: request.files.len(), bar, said: Instant::now() }
    }

    fn show<'a>(&mut self, done: usize, at_work: impl Iterator<Item = &'a Path>) {
        let names = || at_work.filter_map(Path::file_name).map(|n| n.to_string_lossy()).collect::<Vec<_>>().join(", ");
        match &self.bar {
            Some(bar) => {
                bar.set_position(done as u64);
                bar.set_message(names());
            }
            None if self.kind == ProgressKind::Log && self.said.elapsed() > LOG_INTERVAL => {
                self.said = Instant::now();
                eprintln!("{done} of {} programs: {}", self.all, names());
            }
            None => {}
        }
    }

    fn close(&self) {
        self.bar.iter().for_each(ProgressBar::finish_and_clear);
    }
}
