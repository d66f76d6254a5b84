//! `verify`: every file through the whole pipe, one report at the end.
//!
//! In: the request. Out: the report on standard output, evidence in files if asked, the exit code. The work runs in
//! its own thread with a deep stack; `watch` ends the process if that thread does not come back in time.

use crate::board::{Board, Record, Stage, exit, rows};
use crate::cli::{Bias, Verify};
use crate::load::{self, Rejected};
use crate::progress::Progress;
use crate::report::{json, paint::Paint, text};
use crate::strategy::registry::{self, Takes};
use crate::strategy::{self, Settings};
use crate::watch::{self, Watch};
use base::Budget;
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
    if request.files.len() > 1 && (request.certificate.is_some() || request.trace.is_some()) {
        return Err("--certificate and --trace are for one program at a time".into());
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
        let reading = &self.request.reading;
        let loaded = match load::load(path, reading, Paint::Plain) {
            Ok(loaded) => loaded,
            Err(Rejected(diagnostics)) => {
                self.board.with_file(index, |f| f.diagnostics = diagnostics);
                return Stage::Rejected;
            }
        };
        let names = &self.request.property;
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
        };
        strategy::pursue(&task, self.methods.clone(), &settings, &self.board, index);
        if let Err(sentence) = self.write_evidence(&task.program, index) {
            eprintln!("error: {sentence}");
            self.evidence_lost.store(true, Ordering::Relaxed);
        }
        Stage::Done
    }
}

impl Work {
    /// Writes what `--certificate` and `--trace` ask for.
    fn write_evidence(&self, program: &Program, index: usize) -> Result<(), String> {
        let entries =
            self.board.with_file(index, |f| if f.internal.is_empty() { f.entries.clone() } else { Vec::new() });
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
        write(&self.request.trace, "trace", traces.into_iter().take(1).collect())
    }
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
