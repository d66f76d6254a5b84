//! One verification: which methods and options a request means, and every file of it through the whole pipe onto the board.
//!
//! In: a request and the programs it names. Out: the board filled in, evidence in files if asked. Who calls it decides about limits that must hold
//! whatever the methods do: the command line ends the process (`watch`), the library stops waiting (`library`). Deliberately absent: printing a report.

use crate::baseline::Baseline;
use crate::board::{Board, Given, MethodStage, RowOutcome, RunRecord, exit, rows};
use crate::cache::{Cache, recall::Recall};
use crate::cli::{Bias, SourceOptions, Verify, parse_check};
use crate::contradiction;
use crate::inputs;
use crate::linking::{LinkedProgram, programs_of};
use crate::load::{self, Rejected, Warned};
use crate::oracle::Oracle;
use crate::place::place_of;
use crate::progress::Progress;
use crate::reached_lines::reached_lines;
use crate::replay;
use crate::report::{heap, html, paint::Paint, replayed, witness};
use crate::second_opinion::{self, Executing};
use crate::several;
use crate::strategy::registry::{self, Takes};
use crate::strategy::{self, StrategySettings};
use crate::vacuous;
use base::{Budget, Sources};
use evidence::Counterexample;
use evidence::file::EvidenceEntry;
use methods::{Method, MethodOptions, Task};
use program::{Program, PropertyId};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Why a request cannot be worked on: messages, and the exit code that goes with them.
#[derive(Debug)]
pub struct Refusal {
    pub code: i32,
    pub messages: Vec<String>,
}

impl Refusal {
    fn of_sentence(code: i32, sentence: &str) -> Self {
        Self { code, messages: vec![format!("error: {sentence}\n")] }
    }
}

type Chosen = (Vec<Arc<dyn Method>>, MethodOptions);

/// The methods and options that the command line names.
fn choose(request: &Verify) -> Result<Chosen, String> {
    if request.files.len() > 1 && (request.certificate.is_some() || request.trace.is_some() || request.svg.is_some()) {
        return Err("--certificate, --trace and --svg are for one program at a time".into());
    }
    if let Some(mistake) = request.spread.mistake(request) {
        return Err(mistake);
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
            Some((_, Takes::OneOf(words))) if !words.contains(&value.as_str()) => {
                return Err(format!("the option {name} is one of {}, not {value}", words.join(", ")));
            }
            Some((_, Takes::Number)) if value.parse::<u32>().is_err() => {
                return Err(format!("the option {name} is a number, not {value}"));
            }
            Some(_) => {}
        }
    }
    Ok((chosen, MethodOptions(options)))
}

/// Work on all files of a request.
pub struct VerifyRun {
    pub request: Arc<Verify>,
    pub board: Arc<Board>,
    pub budget: Budget,
    pub progress: Progress,
    methods: Vec<Arc<dyn Method>>,
    options: MethodOptions,
    /// Whether a file of evidence could not be written.
    pub evidence_lost: Arc<AtomicBool>,
    cache: Option<Arc<Cache>>,
    programs: Vec<LinkedProgram>,
    /// Whether what a web page shows is kept.
    pub with_page: bool,
}

impl VerifyRun {
    /// Looks at the request, and at the files only so far as to know which belong together.
    pub fn prepare(mut request: Verify, memory: Option<u64>, progress: Progress) -> Result<Self, Refusal> {
        let usage = |sentence: String| Refusal::of_sentence(exit::USAGE, &sentence);
        let named = request.files.clone();
        request.files =
            inputs::programs_in(&request.files).map_err(|sentence| Refusal::of_sentence(exit::REJECTED, &sentence))?;
        let mut programs = programs_of(&request.files, &named)
            .map_err(|Rejected(messages)| Refusal { code: exit::REJECTED, messages })?;
        request.files = programs.iter().map(|p| p.first.path.clone()).collect();
        let (methods, options) = choose(&request).map_err(usage)?;
        if let Some(part) = &request.part {
            // What all of them ask for together was looked at; now it is about one.
            let Some(own) = programs.get(part.place).cloned() else {
                return Err(usage(format!("there is no program {}", part.place)));
            };
            request.files = vec![own.first.path.clone()];
            programs = vec![own];
        }
        let baseline = request.baseline.as_deref().map(Baseline::read_from).transpose().map_err(usage)?;
        let cache = request.cache.as_deref().map(Cache::open).transpose().map_err(usage)?;
        let board = Board::new(&request.files);
        board.lock().strict = request.strict;
        board.lock().baseline = baseline.map(Arc::new);
        let mut budget = Budget::unlimited();
        if let Some(bytes) = memory {
            budget = budget.with_memory(bytes);
            // Z3 stops by itself before the whole process is too large.
            solver::limit_memory(bytes / 10 * 9);
        }
        Ok(Self {
            with_page: request.html.is_some() || request.verbose,
            request: Arc::new(request),
            board: Arc::new(board),
            budget,
            progress,
            methods,
            options,
            evidence_lost: Arc::new(AtomicBool::new(false)),
            cache: cache.map(Arc::new),
            programs,
        })
    }

    /// A digest of the files of all programs, by their names and what is in them; where they lie is no part of it, nor what C files include.
    pub fn digest_of_files(&self) -> String {
        let mut digest = Sha256::new();
        for program in &self.programs {
            for file in std::iter::once(&program.first).chain(&program.others) {
                let name = file.path.file_name().unwrap_or_default().as_encoded_bytes();
                // A file that cannot be read is reported by whoever verifies it.
                let content = std::fs::read(&file.path).unwrap_or_default();
                for part in [name, &content] {
                    digest.update((part.len() as u64).to_le_bytes());
                    digest.update(part);
                }
                digest.update(format!("{:?}", file.flags));
            }
            digest.update([0]);
        }
        digest.finalize().iter().map(|b| format!("{b:02x}")).collect()
    }

    /// Starts the work in a thread with a deep stack.
    pub fn start_thread(self) -> std::io::Result<std::thread::JoinHandle<()>> {
        let thread = std::thread::Builder::new().name("verify".into()).stack_size(strategy::STACK_BYTES);
        thread.spawn(move || self.all_files())
    }

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
                record.files[index].stage = MethodStage::Working;
            }
            match strategy::guarded(|| self.file(index, path, start)) {
                Ok(stage) => self.board.with_file(index, |f| f.stage = stage),
                Err(panic) => self.board.with_file(index, |f| {
                    f.internal.push(panic);
                    f.stage = MethodStage::Done;
                }),
            }
            self.board.lock().deadline = None;
        }
    }

    fn file(&self, index: usize, path: &Path, start: Instant) -> MethodStage {
        let mut reading = self.request.reading.clone();
        let program = &self.programs[index];
        reading.link.extend(program.others.iter().map(|f| f.path.clone()));
        reading.flags_of_files = program.others.iter().chain([&program.first]).cloned().collect();
        let mut names = self.request.property.clone();
        if let Err(sentence) = ask_of_c(path, &mut names, &mut reading) {
            self.board.with_file(index, |f| f.diagnostics = vec![format!("error: {}: {sentence}\n", path.display())]);
            return MethodStage::Rejected;
        }
        let loaded = match load::load_program(path, &reading, Paint::Plain) {
            Ok(loaded) => loaded,
            Err(Rejected(diagnostics)) => {
                self.board.with_file(index, |f| f.diagnostics = diagnostics);
                return MethodStage::Rejected;
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
            return MethodStage::Rejected;
        }
        let mut warned = loaded.warnings;
        let mut vacuous = vacuous::warnings(&loaded.program, &wanted);
        // Of several assertions of a C program some surely hold, and have no steps; executions tell which are not reached.
        let sibling = |v: &vacuous::VacuityWarning| {
            let name = v.message.split(' ').next().unwrap_or_default();
            name.contains(':') && frontend::c::CCheck::Reach.owns(name)
        };
        // A kind of error that a C program has no place for is no mistake of its author; and code behind what is not modelled may well run.
        let unmodelled =
            loaded.program.properties.iter().any(|p| matches!(p.kind, program::PropertyKind::Unmodelled(_)));
        let asked_alone = loaded.c.as_ref().is_none_or(|c| c.checks == [frontend::c::CCheck::Reach]);
        let is_told = |v: &vacuous::VacuityWarning| asked_alone && !unmodelled && !sibling(v);
        vacuous.retain(|v| v.code != vacuous::NOT_IN_RUNNING_CODE || loaded.c.is_none() || is_told(v));
        warned.extend(vacuous.iter().map(|v| Warned::vacuity(v, &loaded.sources, path)));
        let not_checked = load::not_checked(&loaded.program, loaded.c.as_ref());
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
            f.diagnostics = warned.iter().map(|w| w.picture.clone()).collect();
            f.warnings = warned.iter().map(|w| w.warning.clone()).collect();
            f.not_checked = not_checked;
            f.given = Given {
                reading: reading.typed(),
                verifying: self.request.typed(),
                replaceable: self.request.limits.typed(),
                more_time: self.request.limits.more_time(),
            };
            f.assumptions = task.program.assumptions.clone();
            let any = |(id, t): (program::ThreadId, &program::Thread)| {
                let is_any = t.start == program::Start::Initial && t.copies == program::Copies::Any;
                (is_any && !task.threads.contains_key(&id)).then(|| t.name.clone())
            };
            f.parametric = task.program.threads.iter_enumerated().find_map(any);
            f.asked = loaded.c.as_ref().map_or_else(Vec::new, |c| c.checks.clone());
        });
        if nothing {
            return MethodStage::Done;
        }
        let mut methods = self.methods.clone();
        if self.request.spread.are_given() {
            if self.request.spread.rank.is_some_and(|rank| rank > 0) {
                // The first process keeps the time of all.
                self.board.lock().deadline = None;
            }
            match several::explore_with(&self.request, &task, &self.budget) {
                Ok(explore) => {
                    methods.iter_mut().filter(|m| m.about().name == "explore").for_each(|m| *m = explore.clone());
                }
                Err(sentence) => {
                    self.board.with_file(index, |f| f.diagnostics = vec![format!("error: {sentence}\n")]);
                    return MethodStage::Rejected;
                }
            }
        }
        // A second opinion about C, from its own reference semantics, while the methods work.
        let executing = loaded.c.as_ref().map(|c| {
            let share = self.request.limits.time.saturating_sub(start.elapsed()) / 2;
            Executing::start(c, self.request.limits.seed, share)
        });
        let progress = self.progress.clone();
        let left = self.request.limits.time.saturating_sub(start.elapsed());
        let settings = StrategySettings {
            budget: self.budget.child(),
            time: left,
            seed: self.request.limits.seed,
            workers: self.request.limits.workers.map_or_else(|| self.processors(), usize::from),
            listen: Arc::new(move |method, event| progress.tell(method, event)),
            sources: Arc::new(loaded.sources),
            cache: self.cache.clone(),
            oracle: Oracle::standard,
        };
        let speaks = methods.iter().any(|m| matches!(m.about().name, "rely" | "callers"));
        let recalled = self.cache.as_ref().filter(|_| speaks).and_then(|cache| cache.recall(path));
        methods.extend(recalled.map(|found| -> Arc<dyn Method> { Arc::new(Recall(found)) }));
        strategy::run_strategy(&task, methods, &settings, &self.board, index);
        if let Some(executing) = executing {
            let open = self.board.with_file(index, |f| {
                f.rows.iter().any(|r| f.outcome_of(r) == RowOutcome::Unknown && r.unmodelled.is_none())
            });
            let opinion = executing.finish(open);
            self.board.with_file(index, |f| second_opinion::enter(opinion, f));
        }
        if let Some(c) = &loaded.c {
            let deadline = start.checked_add(self.request.limits.time);
            self.replay(c, &task.program, &settings.sources, deadline, index);
            self.survey(c, index);
        }
        self.warn_of_nothing(&task, &settings, path, index);
        self.board.with_file(index, |f| contradiction::keep_contradiction(&task.program, f, &contradiction::folders()));
        self.keep(&task.program, path, index);
        self.annotate(&task, &settings.sources, loaded.c.as_ref(), index);
        let written = self
            .write_evidence(&task.program, &settings.sources, index)
            .and_then(|()| self.write_witness(&task.program, &settings.sources, loaded.c.as_ref(), index));
        if let Err(sentence) = written {
            eprintln!("error: {sentence}");
            self.evidence_lost.store(true, Ordering::Relaxed);
        }
        MethodStage::Done
    }
}

impl VerifyRun {
    /// Warns where something is safe because no run comes to it.
    fn warn_of_nothing(&self, task: &Task, settings: &StrategySettings, path: &Path, index: usize) {
        let safe: Vec<PropertyId> = self.board.with_file(index, |f| {
            let whole = f.internal.is_empty() && f.stopped.is_none();
            let safe = f.rows.iter().filter(|r| whole && f.outcome_of(r) == RowOutcome::Safe && r.unmodelled.is_none());
            safe.map(|r| r.id).collect()
        });
        // A panic here takes nothing from the verdicts.
        let search = || {
            let mut found = vacuous::reached::warnings(task, &safe, &settings.budget);
            found.extend(vacuous::called::warnings(task, &safe, &settings.budget));
            found
        };
        let found = strategy::guarded(search).unwrap_or_default();
        let found: Vec<Warned> = found.iter().map(|v| Warned::vacuity(v, &settings.sources, path)).collect();
        self.board.with_file(index, |f| {
            f.diagnostics.extend(found.iter().map(|w| w.picture.clone()));
            f.warnings.extend(found.into_iter().map(|w| w.warning));
        });
    }

    /// Keeps what a page shows of the program.
    fn annotate(&self, task: &Task, sources: &Sources, c: Option<&load::AskedOfC>, index: usize) {
        if !self.with_page {
            return;
        }
        let (entries, trees) = self.board.with_file(index, |f| {
            let trees = f.methods.iter().filter_map(|m| m.pictures.last().cloned()).collect();
            (if f.internal.is_empty() { f.entries() } else { Vec::new() }, trees)
        });
        let mut parts = html::annotate::page_parts(&task.program, sources, &entries, trees);
        // A panic here takes only the signs of some lines from the page.
        let reached = strategy::guarded(|| reached_lines(task, sources, c, self.request.limits.seed));
        parts.reached = reached.unwrap_or_default();
        self.board.with_file(index, |f| f.page = Some(Arc::new(parts)));
    }

    /// Makes the runs of the model again at the level of C. A panic in it takes nothing from the verdicts.
    fn replay(
        &self,
        c: &load::AskedOfC,
        program: &Program,
        sources: &Sources,
        deadline: Option<Instant>,
        index: usize,
    ) {
        let open = self.board.with_file(index, |f| f.rows.iter().any(|r| f.outcome_of(r) == RowOutcome::Unsafe));
        let Some(core) = open.then(|| second_opinion::core_program(c)).flatten() else { return };
        // On a copy: the board is read by others meanwhile.
        let mut rows = self.board.with_file(index, |f| f.clone());
        let seed = self.request.limits.seed;
        let entered = strategy::guarded(|| {
            replay::enter(program, sources, &core, &c.checks, seed, deadline, &mut rows);
        })
        .is_ok();
        if entered {
            self.board.with_file(index, |f| *f = rows);
        }
    }

    /// Where a construct outside the model stands in the way: all of them, and not only those that come first.
    fn survey(&self, c: &load::AskedOfC, index: usize) {
        let (open, shown) = self.board.with_file(index, |f| {
            let places: Vec<_> = f.rows.iter().filter(|r| r.unmodelled.is_some()).map(|r| r.place.clone()).collect();
            (f.open_construct().is_some() && f.outcome() == RowOutcome::Unknown, places)
        });
        if !open {
            return;
        }
        let found = strategy::guarded(|| {
            let mut sources = Sources::new();
            let options = frontend::c::COptions { model: c.model, checks: c.checks.clone() };
            let obstacles = frontend::c::obstacles(&mut sources, &c.files, &options);
            obstacles.into_iter().map(|(span, why)| (place_of(&sources, span), why)).collect::<Vec<_>>()
        });
        let mut found = found.unwrap_or_default();
        found.retain(|(at, _)| !shown.iter().flatten().any(|p| (&p.file, p.line) == (&at.file, at.line)));
        self.board.with_file(index, |f| f.obstacles = found);
    }

    /// Keeps what was found for the next run; what cannot be kept is no reason to fail.
    fn keep(&self, program: &Program, path: &Path, index: usize) {
        let Some(cache) = &self.cache else { return };
        let entries = self.board.with_file(index, |f| f.entries());
        let found: Vec<serde_json::Value> = entries
            .iter()
            .filter_map(|e| match e {
                EvidenceEntry::Certificate(c) => evidence::recall::write_annotations(program, c),
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
        let entries = self.board.with_file(index, |f| if f.internal.is_empty() { f.entries() } else { Vec::new() });
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
        let write = |path: &Option<PathBuf>, what: &str, wanted: Vec<EvidenceEntry>| match path {
            None => Ok(()),
            Some(path) if wanted.is_empty() => {
                eprintln!("note: there is no {what}, so {} was not written", path.display());
                Ok(())
            }
            Some(path) => std::fs::write(path, evidence::file::write_evidence(program, &wanted))
                .map_err(|e| format!("{}: {e}", path.display())),
        };
        let (certificates, traces): (Vec<EvidenceEntry>, Vec<EvidenceEntry>) =
            entries.into_iter().partition(|e| matches!(e, EvidenceEntry::Certificate(_)));
        write(&self.request.certificate, "certificate", certificates)?;
        if let (true, Some(path), Some(EvidenceEntry::Counterexample { run: Counterexample::Run(trace), .. })) =
            (self.request.as_c, &self.request.trace, traces.first())
        {
            let text = frontend::c::harness::harness(program, trace, sources)
                .map_err(|why| format!("this run cannot be written as a C program: {why}"))?;
            return std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()));
        }
        if let (true, Some(path), Some(EvidenceEntry::Counterexample { run: Counterexample::Run(trace), .. })) =
            (self.request.as_java, &self.request.trace, traces.first())
        {
            let text = frontend::java::harness::harness(program, trace, sources)
                .map_err(|why| format!("this run cannot be written as a Java program: {why}"))?;
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
            (if f.internal.is_empty() { gravest.unwrap_or(RowOutcome::Safe) } else { RowOutcome::Unknown }, f.entries())
        });
        let broken = entries.iter().find_map(|e| match e {
            EvidenceEntry::Counterexample { run: Counterexample::Run(trace), .. } => Some(trace),
            _ => None,
        });
        let name = broken.map(|t| program.properties[t.violates].name.as_str());
        let check = c.checks.iter().copied().find(|k| name.is_some_and(|n| k.owns(n))).unwrap_or(c.checks[0]);
        let about = witness::about(&c.file.display().to_string(), &c.text, c.model, check);
        let text = match (outcome, broken) {
            (RowOutcome::Unsafe, Some(trace)) => frontend::c::witness::violation(program, trace, sources, &about),
            (RowOutcome::Safe, _) => {
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
fn ask_of_c(path: &Path, names: &mut Vec<String>, reading: &mut SourceOptions) -> Result<(), String> {
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
fn picture(program: &Program, sources: &Sources, entries: &[EvidenceEntry]) -> Option<String> {
    let run = entries.iter().find_map(|e| match e {
        EvidenceEntry::Counterexample { run: Counterexample::Run(trace), .. } => {
            replayed::heaps(program, sources, trace).ok()
        }
        EvidenceEntry::Counterexample { run: Counterexample::History(h), .. } => {
            let (clients, _) = h.program(program).ok()?;
            replayed::heaps(&clients, sources, &h.trace).ok()
        }
        _ => None,
    });
    if let Some(steps) = run.filter(|steps| !steps.is_empty()) {
        return Some(heap::picture(&steps));
    }
    entries.iter().find_map(|e| match e {
        EvidenceEntry::Certificate(c) => match &c.proof {
            evidence::Proof::Views(v) => Some(methods::picture::sheet(program, v)),
            _ => None,
        },
        _ => None,
    })
}

impl VerifyRun {
    /// Processors for this process: those that work side by side share them.
    fn processors(&self) -> usize {
        let all = std::thread::available_parallelism().map_or(1, usize::from);
        all.div_ceil(self.request.jobs.map_or(1, usize::from))
    }
}

/// Closes the record of work that has ended, well or in a panic.
pub fn close_record(record: &mut RunRecord, ended: bool) {
    record.deadline = None;
    if !ended {
        record.stop_all("internal error");
        if let Some(file) = record.files.iter_mut().find(|f| f.stage != MethodStage::Done) {
            file.internal.push("the work ended in a panic".into());
        }
    }
}
