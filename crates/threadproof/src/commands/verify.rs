//! `verify`: every file through the whole pipe, one report at the end.
//!
//! In: the request. Out: the report on standard output, evidence in files if asked, the exit code. The work runs in
//! its own thread with a deep stack; `watch` ends the process if that thread does not come back in time.

use crate::board::{Board, Outcome, Record, Stage, exit, rows};
use crate::cache::{Cache, recall::Recall};
use crate::cli::{Bias, Reading, Verify, parse_check};
use crate::load::{self, Rejected};
use crate::progress::Progress;
use crate::report::{heap, json, paint::Paint, story, text, witness};
use crate::strategy::registry::{self, Takes};
use crate::strategy::{self, Settings};
use crate::watch::{self, Watch};
use base::{Budget, Sources};
use evidence::file::Entry;
use methods::{Method, Options, Task};
use program::Program;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

pub fn run(request: Verify, paint: Paint) -> i32 {
    let request = Arc::new(request);
    let (methods, options) = match choose(&request) {
        Ok(chosen) => chosen,
        Err(sentence) => {
            eprintln!("error: {sentence}");
            return exit::USAGE;
        }
    };
    let cache = match request.cache.as_deref().map(Cache::open).transpose() {
        Ok(cache) => cache.map(Arc::new),
        Err(sentence) => {
            eprintln!("error: {sentence}");
            return exit::USAGE;
        }
    };
    let board = Arc::new(Board::new(&request.files));
    let memory = request.limits.memory.or_else(watch::spare_memory);
    let mut budget = Budget::unlimited();
    if let Some(bytes) = memory {
        budget = budget.with_memory(bytes);
        // Z3 stops by itself before the whole process is too large.
        solver::limit_memory(bytes / 10 * 9);
    }
    let progress = Progress::start();
    let print: watch::Print = {
        let progress = progress.clone();
        let request = request.clone();
        Arc::new(move |record: &Record| {
            progress.close();
            let text = if request.json { json::report(record) } else { text::report(record, paint) };
            let mut out = std::io::stdout().lock();
            // A reader that went away is no reason to fail: the exit code still says it.
            let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        })
    };
    Watch { board: board.clone(), budget: budget.clone(), memory, print: print.clone() }.start();

    let evidence_lost = Arc::new(AtomicBool::new(false));
    let work = Work {
        request: request.clone(),
        board: board.clone(),
        budget,
        progress,
        methods,
        options,
        evidence_lost: evidence_lost.clone(),
        cache,
    };
    let thread = std::thread::Builder::new().name("verify".into()).stack_size(strategy::STACK);
    let ended = match thread.spawn(move || work.all_files()) {
        Ok(handle) => handle.join().is_ok(),
        Err(_) => false,
    };
    let mut record = board.lock();
    record.deadline = None;
    if !ended {
        record.stop_all("internal error");
        if let Some(file) = record.files.iter_mut().find(|f| f.stage != Stage::Done) {
            file.internal.push("the work ended in a panic".into());
        }
    }
    print(&record);
    let code = if evidence_lost.load(Ordering::Relaxed) { exit::USAGE } else { record.exit_code() };
    watch::leave(code)
}

type Chosen = (Vec<Arc<dyn Method>>, Options);

/// The methods and options that the command line names.
fn choose(request: &Verify) -> Result<Chosen, String> {
    if request.files.len() > 1 && (request.certificate.is_some() || request.trace.is_some() || request.svg.is_some()) {
        return Err("--certificate, --trace and --svg are for one program at a time".into());
    }
    if request.files.len() > 1 && request.witness.is_some() {
        return Err("--witness is for one program at a time".into());
    }
    let mut chosen = registry::portfolio();
    if !request.method.is_empty() {
        chosen = registry::methods();
        chosen.retain(|m| request.method.iter().any(|n| n == m.about().name));
    }
    let mut options: BTreeMap<String, String> = request.option.iter().cloned().collect();
    if let Some(bias) = request.bias {
        options.insert("bias".into(), if bias == Bias::Modular { "modular" } else { "none" }.into());
    }
    if request.show_trees {
        options.insert("show-trees".into(), "on".into());
    }
    for (name, value) in &options {
        match registry::OPTIONS.iter().find(|(known, _)| known == name) {
            None => {
                let known: Vec<&str> = registry::OPTIONS.iter().map(|(n, _)| *n).collect();
                return Err(format!("there is no option {name}; there are {}", known.join(", ")));
            }
            Some((_, Takes::Words(words))) if !words.contains(&value.as_str()) => {
                return Err(format!("the option {name} is one of {}, not {value}", words.join(", ")));
            }
            Some((_, Takes::Number)) if value.parse::<u32>().is_err() => {
                return Err(format!("the option {name} is a number, not {value}"));
            }
            Some(_) => {}
        }
    }
    Ok((chosen, Options(options)))
}

struct Work {
    request: Arc<Verify>,
    board: Arc<Board>,
    budget: Budget,
    progress: Progress,
    methods: Vec<Arc<dyn Method>>,
    options: Options,
    /// Whether a file of evidence could not be written.
    evidence_lost: Arc<AtomicBool>,
    cache: Option<Arc<Cache>>,
}

impl Work {
    fn all_files(&self) {
        for (index, path) in self.request.files.iter().enumerate() {
            if self.budget.is_cancelled() {
                return;
            }
            self.progress.next_file();
            let start = Instant::now();
            {
                let mut record = self.board.lock();
                record.deadline = start.checked_add(self.request.limits.time);
                record.files[index].stage = Stage::Working;
            }
            match strategy::guarded(|| self.file(index, path, start)) {
                Ok(stage) => self.board.with_file(index, |f| f.stage = stage),
                Err(panic) => self.board.with_file(index, |f| {
                    f.internal.push(panic);
                    f.stage = Stage::Done;
                }),
            }
            self.board.lock().deadline = None;
        }
    }

    fn file(&self, index: usize, path: &Path, start: Instant) -> Stage {
        let mut reading = self.request.reading.clone();
        let mut names = self.request.property.clone();
        if let Err(sentence) = ask_of_c(path, &mut names, &mut reading) {
            self.board.with_file(index, |f| f.diagnostics = vec![format!("error: {}: {sentence}\n", path.display())]);
            return Stage::Rejected;
        }
        let loaded = match load::load(path, &reading, Paint::Plain) {
            Ok(loaded) => loaded,
            Err(Rejected(diagnostics)) => {
                self.board.with_file(index, |f| f.diagnostics = diagnostics);
                return Stage::Rejected;
            }
        };
        let wanted =
            |name: &str| names.is_empty() || names.iter().any(|n| name == n || name.starts_with(&format!("{n}:")));
        let rows = rows(&loaded.program, &loaded.sources, &wanted);
        if let Some(missing) = names
            .iter()
            .find(|n| !loaded.program.properties.iter().any(|p| p.name == **n || p.name.starts_with(&format!("{n}:"))))
        {
            let known: Vec<&str> = loaded.program.properties.iter().map(|p| p.name.as_str()).collect();
            let text =
                format!("error: {}: there is no property {missing}; there are: {}\n", path.display(), known.join(", "));
            self.board.with_file(index, |f| f.diagnostics = vec![text]);
            return Stage::Rejected;
        }
        let properties = rows.iter().map(|r| r.id).collect::<Vec<_>>();
        let nothing = properties.is_empty();
        let threads = reading
            .threads
            .iter()
            .filter_map(|(name, n)| {
                Some((loaded.program.threads.iter_enumerated().find(|(_, t)| t.name == *name)?.0, *n))
            })
            .collect();
        let task = Task { program: loaded.program, properties, threads, options: self.options.clone() };
        self.board.with_file(index, |f| {
            f.rows = rows;
            f.diagnostics = loaded.warnings;
            f.assumptions = task.program.assumptions.clone();
            f.parametric = task.is_parametric();
            f.asked = loaded.c.as_ref().map_or_else(Vec::new, |c| c.checks.clone());
        });
        if nothing {
            return Stage::Done;
        }
        let progress = self.progress.clone();
        let left = self.request.limits.time.saturating_sub(start.elapsed());
        let settings = Settings {
            budget: self.budget.child(),
            time: left,
            seed: self.request.limits.seed,
            workers: self.request.limits.workers.map_or_else(processors, usize::from),
            listen: Arc::new(move |method, event| progress.tell(method, event)),
            sources: Arc::new(loaded.sources),
            cache: self.cache.clone(),
        };
        let mut methods = self.methods.clone();
        let speaks = methods.iter().any(|m| matches!(m.about().name, "rely" | "callers"));
        let recalled = self.cache.as_ref().filter(|_| speaks).and_then(|cache| cache.recall(path));
        methods.extend(recalled.map(|found| -> Arc<dyn Method> { Arc::new(Recall(found)) }));
        strategy::pursue(&task, methods, &settings, &self.board, index);
        self.keep(&task.program, path, index);
        let written = self
            .write_evidence(&task.program, &settings.sources, index)
            .and_then(|()| self.write_witness(&task.program, &settings.sources, loaded.c.as_ref(), index));
        if let Err(sentence) = written {
            eprintln!("error: {sentence}");
            self.evidence_lost.store(true, Ordering::Relaxed);
        }
        Stage::Done
    }
}

impl Work {
    /// Keeps what was found for the next run; what cannot be kept is no reason to fail.
    fn keep(&self, program: &Program, path: &Path, index: usize) {
        let Some(cache) = &self.cache else { return };
        let entries = self.board.with_file(index, |f| f.entries.clone());
        let found: Vec<serde_json::Value> = entries
            .iter()
            .filter_map(|e| match e {
                Entry::Certificate(c) => evidence::recall::write(program, c),
                _ => None,
            })
            .collect();
        let kept = if found.is_empty() { Ok(()) } else { cache.keep(path, &found.into()) };
        for sentence in cache.notes().into_iter().chain(kept.err()).chain(cache.save().err()) {
            eprintln!("note: {sentence}");
        }
    }

    /// Writes what `--certificate`, `--trace` and `--svg` ask for.
    fn write_evidence(&self, program: &Program, sources: &Sources, index: usize) -> Result<(), String> {
        let entries =
            self.board.with_file(index, |f| if f.internal.is_empty() { f.entries.clone() } else { Vec::new() });
        if let Some(path) = &self.request.svg {
            // Trees are drawn where they are asked for: those of the last attempt, which found the answer.
            let trees = self.board.with_file(index, |f| f.methods.iter().find_map(|m| m.pictures.last().cloned()));
            let (what, found) = if self.request.show_trees {
                ("are no trees", trees)
            } else {
                ("is no heap", picture(program, sources, &entries))
            };
            match found {
                Some(svg) => std::fs::write(path, svg).map_err(|e| format!("{}: {e}", path.display()))?,
                None => eprintln!("note: there {what} to draw, so {} was not written", path.display()),
            }
        }
        let write = |path: &Option<PathBuf>, what: &str, wanted: Vec<Entry>| match path {
            None => Ok(()),
            Some(path) if wanted.is_empty() => {
                eprintln!("note: there is no {what}, so {} was not written", path.display());
                Ok(())
            }
            Some(path) => std::fs::write(path, evidence::file::write(program, &wanted))
                .map_err(|e| format!("{}: {e}", path.display())),
        };
        let (certificates, traces): (Vec<Entry>, Vec<Entry>) =
            entries.into_iter().partition(|e| matches!(e, Entry::Certificate(_)));
        write(&self.request.certificate, "certificate", certificates)?;
        if let (true, Some(path), Some(Entry::Trace { trace, .. })) =
            (self.request.as_c, &self.request.trace, traces.first())
        {
            let text = frontend::c::harness::harness(program, trace, sources)
                .map_err(|why| format!("this run cannot be written as a C program: {why}"))?;
            return std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()));
        }
        write(&self.request.trace, "trace", traces.into_iter().take(1).collect())
    }

    /// Writes what `--witness` asks for: the run of a violation, or what is known to hold in a correct program.
    fn write_witness(
        &self,
        program: &Program,
        sources: &Sources,
        c: Option<&load::AskedOfC>,
        index: usize,
    ) -> Result<(), String> {
        let Some(path) = &self.request.witness else { return Ok(()) };
        let Some(c) = c else { return Err("--witness is for C programs".into()) };
        let (outcome, entries) = self.board.with_file(index, |f| {
            let gravest = f.rows.iter().map(|r| f.outcome_of(r)).max();
            (if f.internal.is_empty() { gravest.unwrap_or(Outcome::Safe) } else { Outcome::Unknown }, f.entries.clone())
        });
        let broken = entries.iter().find_map(|e| match e {
            Entry::Trace { trace, .. } => Some(trace),
            _ => None,
        });
        let name = broken.map(|t| program.properties[t.violates].name.as_str());
        let check = c.checks.iter().copied().find(|k| Some(k.name()) == name).unwrap_or(c.checks[0]);
        let about = witness::about(&c.file.display().to_string(), &c.text, c.model, check);
        let text = match (outcome, broken) {
            (Outcome::Unsafe, Some(trace)) => frontend::c::witness::violation(program, trace, sources, &about),
            (Outcome::Safe, _) => {
                let found = witness::invariants(program, &entries);
                frontend::c::witness::invariants(&found, sources, &about)
            }
            _ => {
                eprintln!("note: there is no verdict, so {} was not written", path.display());
                return Ok(());
            }
        };
        std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
    }
}

/// For C input `--property` may name a property to show; what it names otherwise selects among the program's own.
fn ask_of_c(path: &Path, names: &mut Vec<String>, reading: &mut Reading) -> Result<(), String> {
    if !path.extension().is_some_and(|e| e == "c" || e == "i" || e == "yml") {
        return Ok(());
    }
    let mut kept = Vec::new();
    for name in names.drain(..) {
        match parse_check(&name) {
            Ok(checks) => reading.check.push(checks),
            Err(sentence) if name.ends_with(".prp") => return Err(sentence),
            Err(_) => kept.push(name),
        }
    }
    *names = kept;
    Ok(())
}

/// The heaps of the first run that goes wrong, else the views of the first proof that has some.
fn picture(program: &Program, sources: &Sources, entries: &[Entry]) -> Option<String> {
    let run = entries.iter().find_map(|e| match e {
        Entry::Trace { trace, .. } => story::heaps(program, sources, trace).ok(),
        Entry::History { history: h, .. } => {
            let (clients, _) = h.program(program).ok()?;
            story::heaps(&clients, sources, &h.trace).ok()
        }
        Entry::Certificate(_) | Entry::Local { .. } | Entry::Called { .. } | Entry::Stray { .. } => None,
    });
    if let Some(steps) = run.filter(|steps| !steps.is_empty()) {
        return Some(heap::picture(&steps));
    }
    entries.iter().find_map(|e| match e {
        Entry::Certificate(c) => match &c.proof {
            evidence::Proof::Views(v) => Some(methods::shape::picture::sheet(program, v)),
            _ => None,
        },
        _ => None,
    })
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
