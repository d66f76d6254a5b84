//! From a path to a program: reads the file, chooses the front end by its ending, applies what the command line fixes.
//!
//! In: a path and `SourceOptions`. Out: a well-formed program with its sources and warnings, or diagnostics. A number of
//! instances fixed on the command line becomes part of the program, and an assumption of every verdict about it.
//! Deliberately absent: printing.

use crate::cli::SourceOptions;
use crate::inputs;
use crate::outcome::{RowWarning, exit};
use crate::report::paint::Paint;
use crate::vacuous;
use base::render::{Colour, render_diagnostic};
use base::{Diagnostic, Sources};
use program::{Assumption, Copies, Program, Property, PropertyKind, Start};
use std::path::{Path, PathBuf};

/// Larger files are refused before they are read.
const MAX_FILE_BYTES: u64 = 1 << 30;

pub struct Loaded {
    pub program: Program,
    pub sources: Sources,
    pub warnings: Vec<Warned>,
    /// What C input was asked.
    pub c: Option<AskedOfC>,
}

/// A warning, and its picture.
#[derive(Clone, Debug)]
pub struct Warned {
    pub warning: RowWarning,
    pub picture: String,
}

impl Warned {
    fn of(diagnostic: &Diagnostic, sources: &Sources, paint: Paint) -> Self {
        let place = Some(crate::place::place_of(sources, diagnostic.span));
        let warning = RowWarning { code: diagnostic.code.0.into(), message: diagnostic.message.clone(), place };
        Self { warning, picture: picture(diagnostic, sources, paint) }
    }

    /// A warning about what verdicts mean.
    pub fn vacuity(v: &vacuous::VacuityWarning, sources: &Sources, path: &Path) -> Self {
        let Some(span) = v.span else {
            let hint = v.hint.as_ref().map_or_else(String::new, |h| format!("  hint: {h}\n"));
            let picture = format!("warning[{}]: {}: {}\n{hint}", v.code, path.display(), v.message);
            return Self {
                warning: RowWarning { code: v.code.into(), message: v.message.clone(), place: None },
                picture,
            };
        };
        let mut diagnostic =
            Diagnostic::warning(base::DiagnosticCode(v.code), span, v.message.clone()).label(v.label.clone());
        diagnostic.hints.extend(v.hint.clone());
        Self::of(&diagnostic, sources, Paint::Plain)
    }
}

/// What was asked of a C program, for result strings and witnesses.
#[derive(Clone, Debug)]
pub struct AskedOfC {
    pub file: PathBuf,
    pub text: Vec<u8>,
    /// All files of the program, this one first.
    pub files: Vec<frontend::c::CSource>,
    pub model: frontend::c::DataModel,
    pub checks: Vec<frontend::c::CCheck>,
}

/// Why there is no program: rendered messages, each of which names the file.
#[derive(Debug)]
pub struct Rejected(pub Vec<String>);

impl Rejected {
    fn one(path: &Path, sentence: impl std::fmt::Display) -> Self {
        Self(vec![format!("error: {}: {sentence}\n", path.display())])
    }
}

enum Language {
    Own,
    C,
    /// A file, or all files of a folder.
    Java,
    /// The model's own text form, as `show --model` prints it.
    Model,
}

fn language(path: &Path) -> Result<Language, Rejected> {
    if path.is_dir() {
        return Ok(Language::Java);
    }
    match path.extension().and_then(|e| e.to_str()) {
        Some("tp") => Ok(Language::Own),
        Some("c" | "i") => Ok(Language::C),
        Some("java") => Ok(Language::Java),
        Some("model") => Ok(Language::Model),
        Some(other) => Err(Rejected::one(
            path,
            format!("files ending in .{other} are not read; .tp, .c, .i, .java, .yml and .model are"),
        )),
        None => Err(Rejected::one(
            path,
            "the name has no ending that says its language; .tp, .c, .i, .java, .yml and .model are read",
        )),
    }
}

/// The bytes of a file, or a sentence.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, Rejected> {
    let metadata = std::fs::metadata(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => Rejected::one(path, "there is no such file"),
        _ => Rejected::one(path, e),
    })?;
    if metadata.is_dir() {
        return Err(Rejected::one(path, "this is a folder"));
    }
    if !metadata.is_file() {
        return Err(Rejected::one(path, "this is no ordinary file"));
    }
    if metadata.len() > MAX_FILE_BYTES {
        return Err(Rejected::one(path, "the file is larger than 1 GB"));
    }
    std::fs::read(path).map_err(|e| Rejected::one(path, e))
}

/// Whether the beginning of a file is full of characters that no text has.
fn is_binary(bytes: &[u8]) -> bool {
    const LOOKED_AT_BYTES: usize = 4096;
    const STRANGE_BYTES: usize = 32;
    let strange = |b: &&u8| **b < 0x20 && !matches!(**b, b'\t' | b'\n' | b'\r' | 0x0c);
    bytes.iter().take(LOOKED_AT_BYTES).filter(strange).count() >= STRANGE_BYTES && std::str::from_utf8(bytes).is_err()
}

/// What was loaded; else the reasons are printed and this is the exit code.
pub fn or_exit_code<T>(result: Result<T, Rejected>) -> Result<T, i32> {
    result.map_err(|rejected| {
        rejected.0.iter().for_each(|m| eprint!("{m}"));
        exit::REJECTED
    })
}

/// A `.tp` file with more text at its end; nothing if it is no such file, or that is no program.
pub fn with_more_text(path: &Path, more: &str, reading: &SourceOptions) -> Option<Program> {
    if path.extension().is_none_or(|e| e != "tp") {
        return None;
    }
    let mut bytes = read_bytes(path).ok()?;
    bytes.extend(b"\n");
    bytes.extend(more.bytes());
    let (program, diagnostics) = own(&mut Sources::new(), path, &bytes, reading);
    program.filter(|p| !diagnostics.iter().any(Diagnostic::is_error) && program::wellformed(p).is_empty())
}

pub fn load_program(path: &Path, reading: &SourceOptions, paint: Paint) -> Result<Loaded, Rejected> {
    if path.extension().is_some_and(|e| e == "yml") {
        let (file, reading) = task(path, reading)?;
        return load_program(&file, &reading, paint);
    }
    let language = language(path)?;
    let bytes = if path.is_dir() { Vec::new() } else { read_bytes(path)? };
    if is_binary(&bytes) {
        return Err(Rejected::one(path, "this is no text: is it the program that a compiler made?"));
    }
    let mut sources = Sources::new();
    let (program, diagnostics) = match language {
        Language::Java => java(&mut sources, path, &bytes, reading)?,
        Language::Own => own(&mut sources, path, &bytes, reading),
        Language::C => c(&mut sources, &c_sources(path, &bytes, reading)?, reading),
        Language::Model => (Some(model(path, &bytes)?), Vec::new()),
    };
    let render = |wanted: &dyn Fn(&Diagnostic) -> bool| -> Vec<String> {
        let chosen: Vec<Diagnostic> = diagnostics.iter().filter(|d| wanted(d)).cloned().collect();
        chosen.iter().map(|d| picture(d, &sources, paint)).collect()
    };
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(Rejected(render(&|_| true)));
    }
    let mut warnings: Vec<Warned> = diagnostics.iter().map(|d| Warned::of(d, &sources, paint)).collect();
    let Some(mut program) = program else {
        return Err(Rejected::one(path, "the front end gave no program and no reason"));
    };
    let faults = program::wellformed(&program);
    if !faults.is_empty() && matches!(language, Language::Model) {
        return Err(Rejected(faults.iter().map(|f| format!("error: {}: {f}\n", path.display())).collect()));
    }
    if !faults.is_empty() {
        // The front end made a program that is none: our bug, and nothing may be said about it.
        let lines: Vec<String> = faults.iter().take(5).map(ToString::to_string).collect();
        panic!("the front end made a program that is not well-formed: {}", lines.join("; "));
    }
    fix_instances(&mut program, path, reading)?;
    if !matches!(language, Language::C) {
        ask_more(&mut program, path, reading, &mut warnings)?;
    }
    let c = match language {
        Language::C => Some(asked(path, bytes, reading)?),
        _ => None,
    };
    Ok(Loaded { program, sources, warnings, c })
}

/// What is asked of a C file, without its model; `None` for other files.
pub fn asked_of_c(path: &Path, reading: &SourceOptions) -> Result<Option<AskedOfC>, Rejected> {
    if !path.extension().is_some_and(|e| e == "c" || e == "i") {
        return Ok(None);
    }
    asked(path, read_bytes(path)?, reading).map(Some)
}

fn asked(path: &Path, text: Vec<u8>, reading: &SourceOptions) -> Result<AskedOfC, Rejected> {
    let files = c_sources(path, &text, reading)?;
    Ok(AskedOfC { file: path.to_path_buf(), text, files, model: model_of(reading), checks: checks_of(reading) })
}

/// The files of a C program: the one that names it and those that are linked with it.
fn c_sources(path: &Path, text: &[u8], reading: &SourceOptions) -> Result<Vec<frontend::c::CSource>, Rejected> {
    let source = |path: &Path, text: &[u8]| frontend::c::CSource {
        path: path.to_path_buf(),
        text: String::from_utf8_lossy(text).into_owned(),
        flags: reading.flags_of(path),
    };
    let mut files = vec![source(path, text)];
    for other in reading.link.iter().filter(|p| *p != path) {
        files.push(source(other, &read_bytes(other)?));
    }
    Ok(files)
}

/// Adds the properties that are asked for by name; the others are part of every program of our own language.
fn ask_more(
    program: &mut Program,
    path: &Path,
    reading: &SourceOptions,
    warnings: &mut Vec<Warned>,
) -> Result<(), Rejected> {
    use frontend::c::CCheck::{Deadlock, Leak, Race};
    let asked: Vec<frontend::c::CCheck> = reading.check.iter().flat_map(|c| c.0.iter().copied()).collect();
    let everything = frontend::c::CCheck::ALL.iter().all(|c| asked.contains(c));
    let is_java = path.is_dir() || path.extension().is_some_and(|e| e == "java");
    if asked.contains(&Race) && !everything && !is_java {
        let sentence = "a data race is a property of C programs; here every step is atomic (`atomic` joins several), and \
                        access predicates (`guarded_by`) say which locks are held";
        return Err(Rejected::one(path, sentence));
    }
    if reading.deadlock || asked.contains(&Deadlock) {
        add_deadlock(program);
    }
    if reading.leaks || asked.contains(&Leak) {
        match program::memory::by_hand(program) {
            true => add_leak(program),
            false if everything && !reading.leaks => {}
            false => {
                let message = "nothing is freed here, so memory is collected and nothing can leak".to_string();
                let picture = format!("warning: {}: {message}\n", path.display());
                warnings.push(Warned { warning: RowWarning { code: "W0512".into(), message, place: None }, picture });
            }
        }
    }
    Ok(())
}

/// What a reader may think was checked and was not: for C by the names of its checks, for our own language what is asked for by an option.
pub fn not_checked(program: &Program, c: Option<&AskedOfC>) -> Vec<String> {
    use frontend::c::CCheck;
    let word = |check: CCheck| match check {
        CCheck::Reach => "assertions",
        CCheck::Race => "data races",
        CCheck::Overflow => "overflow",
        CCheck::Deadlock => "deadlock",
        CCheck::Memory | CCheck::Free => "memory safety",
        CCheck::Leak => "leaks",
        CCheck::Division => "division by zero",
        CCheck::Unlock => "unlocking",
        CCheck::Shift => "shifts",
    };
    let mut out: Vec<String> = match c {
        Some(c) => CCheck::ALL.into_iter().filter(|k| !c.checks.contains(k)).map(|k| word(k).to_string()).collect(),
        None => {
            let is = |kind: &PropertyKind| program.properties.iter().any(|p| p.kind == *kind);
            let deadlock = !is(&PropertyKind::Deadlock) && !program.threads.is_empty();
            let leaks = !is(&PropertyKind::Leak) && program::memory::by_hand(program);
            let named = [(deadlock, "deadlock"), (leaks, "leaks")];
            named.into_iter().filter(|(missing, _)| *missing).map(|(_, word)| word.to_string()).collect()
        }
    };
    out.dedup();
    out
}

/// A task definition: its C file, read with its data model and, unless the command line says otherwise, its properties.
fn task(path: &Path, reading: &SourceOptions) -> Result<(std::path::PathBuf, SourceOptions), Rejected> {
    let text = String::from_utf8_lossy(&read_bytes(path)?).into_owned();
    let task = frontend::c::task::task(&text).map_err(|e| Rejected::one(path, e))?;
    if task.inputs.iter().any(|input| input.ends_with(".yml")) {
        return Err(Rejected::one(path, "a task cannot be the input of a task"));
    }
    let beside = |input: &String| path.parent().unwrap_or(Path::new(".")).join(input);
    let mut inputs = task.inputs.iter().map(beside);
    let Some(first) = inputs.next() else { return Err(Rejected::one(path, "the task has no input file")) };
    let mut reading = reading.clone();
    reading.link.extend(inputs);
    reading.data_model = match task.model {
        frontend::c::DataModel::Ilp32 => crate::cli::DataModelArg::Ilp32,
        frontend::c::DataModel::Lp64 => crate::cli::DataModelArg::Lp64,
    };
    if reading.check.is_empty() {
        let first = task.properties.iter().map(|p| &p.checks).find(|c| !c.is_empty());
        reading.check = first.cloned().into_iter().map(crate::cli::Checks).collect();
        if reading.check.is_empty() && !task.properties.is_empty() {
            return Err(Rejected::one(path, "the task asks for no property that is modelled"));
        }
    }
    Ok((first, reading))
}

type Lowered = (Option<Program>, Vec<Diagnostic>);

fn own(sources: &mut Sources, path: &Path, bytes: &[u8], reading: &SourceOptions) -> Lowered {
    let parsed = frontend::lang::parse_file(sources, path.display().to_string(), bytes);
    let settings = frontend::lang::LoweringSettings { constants: reading.set.clone(), copies: reading.threads.clone() };
    let lowered = frontend::lang::lower_file(&parsed, sources, &settings);
    (lowered.program, lowered.diagnostics)
}

fn java(sources: &mut Sources, path: &Path, bytes: &[u8], reading: &SourceOptions) -> Result<Lowered, Rejected> {
    use frontend::java::JavaText;
    let text = |bytes: &[u8], name: &Path| match std::str::from_utf8(bytes) {
        Ok(text) => Ok(JavaText { name: name.display().to_string(), text: text.to_owned() }),
        Err(_) => Err(Rejected::one(name, "the file is not valid UTF-8")),
    };
    let files = if path.is_dir() {
        let names = inputs::files_in(path, &[inputs::JAVA]).map_err(|e| Rejected::one(path, e))?;
        if names.is_empty() {
            return Err(Rejected::one(path, "this folder has no file that ends in .java"));
        }
        names.iter().map(|n| read_bytes(n).and_then(|b| text(&b, n))).collect::<Result<Vec<JavaText>, Rejected>>()?
    } else {
        vec![text(bytes, path)?]
    };
    let settings = frontend::lang::LoweringSettings { constants: reading.set.clone(), copies: reading.threads.clone() };
    Ok(frontend::java::load_files(sources, files, &settings))
}

fn model_of(reading: &SourceOptions) -> frontend::c::DataModel {
    match reading.data_model {
        crate::cli::DataModelArg::Ilp32 => frontend::c::DataModel::Ilp32,
        crate::cli::DataModelArg::Lp64 => frontend::c::DataModel::Lp64,
    }
}

/// Everything asked for, each once; by default that no error is reached.
fn checks_of(reading: &SourceOptions) -> Vec<frontend::c::CCheck> {
    let mut checks: Vec<frontend::c::CCheck> = reading.check.iter().flat_map(|c| c.0.iter().copied()).collect();
    if checks.is_empty() {
        checks.push(frontend::c::CCheck::Reach);
    }
    if reading.deadlock {
        checks.push(frontend::c::CCheck::Deadlock);
    }
    if reading.leaks {
        checks.push(frontend::c::CCheck::Leak);
    }
    let mut seen = Vec::new();
    checks.retain(|c| {
        !seen.contains(c) && {
            seen.push(*c);
            true
        }
    });
    checks
}

fn c(sources: &mut Sources, files: &[frontend::c::CSource], reading: &SourceOptions) -> Lowered {
    let options = frontend::c::COptions { model: model_of(reading), checks: checks_of(reading) };
    frontend::c::load_files(sources, files, &options)
}

fn model(path: &Path, bytes: &[u8]) -> Result<Program, Rejected> {
    let text = std::str::from_utf8(bytes).map_err(|_| Rejected::one(path, "the file is not valid UTF-8"))?;
    let mut program = program::text::read_program(text).map_err(|e| Rejected::one(path, e))?;
    // Places in a source that is not at hand cannot be shown.
    program.origins.iter_mut().for_each(|o| o.span = None);
    Ok(program)
}

/// `--threads T=3` makes `T` a thread of three instances.
fn fix_instances(program: &mut Program, path: &Path, reading: &SourceOptions) -> Result<(), Rejected> {
    for (name, count) in &reading.threads {
        let Some((id, thread)) = program.threads.iter_enumerated().find(|(_, t)| t.name == *name) else {
            let names: Vec<&str> = program.threads.iter().map(|t| t.name.as_str()).collect();
            let known = if names.is_empty() { "it has none".into() } else { format!("it has {}", names.join(", ")) };
            return Err(Rejected::one(path, format!("there is no thread {name} in the program ({known})")));
        };
        if thread.start == Start::Spawned {
            return Err(Rejected::one(
                path,
                format!("instances of {name} come from `spawn`; their number cannot be fixed"),
            ));
        }
        program.threads[id].copies = Copies::number(*count);
        program.assumptions.push(Assumption {
            code: "instances".into(),
            text: format!("exactly {count} instances of {name}, as the command line says"),
        });
    }
    Ok(())
}

fn add_deadlock(program: &mut Program) {
    if program.properties.iter().any(|p| p.kind == PropertyKind::Deadlock) {
        return;
    }
    let origin = program.add_origin(None, "some thread can always move, until all have ended");
    program.properties.push(Property { kind: PropertyKind::Deadlock, name: "deadlock".into(), origin });
}

fn add_leak(program: &mut Program) {
    if program::semantics::leak(program).is_some() {
        return;
    }
    let origin = program.add_origin(None, "no object is lost before it is freed");
    program.properties.push(Property { kind: PropertyKind::Leak, name: "leak".into(), origin });
}

/// A diagnostic as text.
pub fn picture(diagnostic: &Diagnostic, sources: &Sources, paint: Paint) -> String {
    let colour = match paint {
        Paint::Plain => Colour::Plain,
        Paint::Ansi => Colour::Ansi,
    };
    render_diagnostic(diagnostic, sources, colour)
}
