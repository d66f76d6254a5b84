//! From a path to a program: reads the file, chooses the front end by its ending, applies what the command line fixes.
//!
//! In: a path and `Reading`. Out: a well-formed program with its sources and warnings, or diagnostics. A number of
//! instances fixed on the command line becomes part of the program, and an assumption of every verdict about it.
//! Deliberately absent: printing.

use crate::board::exit;
use crate::cli::Reading;
use crate::report::paint::Paint;
use base::render::{Colour, render};
use base::{Diagnostic, Sources};
use program::{Assumption, Copies, Program, Property, PropertyKind, Start};
use std::path::{Path, PathBuf};

/// Larger files are refused before they are read.
const LARGEST: u64 = 1 << 30;

pub struct Loaded {
    pub program: Program,
    pub sources: Sources,
    /// Rendered warnings.
    pub warnings: Vec<String>,
    /// What C input was asked.
    pub c: Option<AskedOfC>,
}

/// What was asked of a C program, for result strings and witnesses.
#[derive(Clone, Debug)]
pub struct AskedOfC {
    pub file: PathBuf,
    pub text: Vec<u8>,
    pub model: frontend::c::DataModel,
    pub checks: Vec<frontend::c::Check>,
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
    /// The model's own text form, as `show --model` prints it.
    Model,
}

fn language(path: &Path) -> Result<Language, Rejected> {
    match path.extension().and_then(|e| e.to_str()) {
        Some("tp") => Ok(Language::Own),
        Some("c" | "i") => Ok(Language::C),
        Some("model") => Ok(Language::Model),
        Some(other) => {
            Err(Rejected::one(path, format!("files ending in .{other} are not read; .tp, .c, .i, .yml and .model are")))
        }
        None => Err(Rejected::one(
            path,
            "the name has no ending that says its language; .tp, .c, .i, .yml and .model are read",
        )),
    }
}

/// The bytes of a file, or a sentence.
pub fn read(path: &Path) -> Result<Vec<u8>, Rejected> {
    let metadata = std::fs::metadata(path).map_err(|e| Rejected::one(path, e))?;
    if metadata.is_dir() {
        return Err(Rejected::one(path, "this is a folder"));
    }
    if metadata.len() > LARGEST {
        return Err(Rejected::one(path, "the file is larger than 1 GB"));
    }
    std::fs::read(path).map_err(|e| Rejected::one(path, e))
}

/// What was loaded; else the reasons are told and this is the exit code.
pub fn told<T>(result: Result<T, Rejected>) -> Result<T, i32> {
    result.map_err(|rejected| {
        rejected.0.iter().for_each(|m| eprint!("{m}"));
        exit::REJECTED
    })
}

pub fn load(path: &Path, reading: &Reading, paint: Paint) -> Result<Loaded, Rejected> {
    if path.extension().is_some_and(|e| e == "yml") {
        let (file, reading) = task(path, reading)?;
        return load(&file, &reading, paint);
    }
    let language = language(path)?;
    let bytes = read(path)?;
    let mut sources = Sources::new();
    let (program, diagnostics) = match language {
        Language::Own => own(&mut sources, path, &bytes, reading),
        Language::C => c(&mut sources, path, &bytes, reading),
        Language::Model => (Some(model(path, &bytes)?), Vec::new()),
    };
    let render = |wanted: &dyn Fn(&Diagnostic) -> bool| -> Vec<String> {
        let chosen: Vec<Diagnostic> = diagnostics.iter().filter(|d| wanted(d)).cloned().collect();
        chosen.iter().map(|d| picture(d, &sources, paint)).collect()
    };
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(Rejected(render(&|_| true)));
    }
    let mut warnings = render(&|d| !d.is_error());
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
    warnings.extend(crate::vacuous::warning(&program).map(|d| picture(&d, &sources, paint)));
    fix_instances(&mut program, path, reading)?;
    if reading.deadlock {
        add_deadlock(&mut program);
    }
    if reading.leaks && !matches!(language, Language::C) {
        match program::memory::by_hand(&program) {
            true => add_leak(&mut program),
            false => warnings.push(format!(
                "warning: {}: nothing is freed here, so memory is collected and nothing can leak\n",
                path.display()
            )),
        }
    }
    let c = matches!(language, Language::C).then(|| AskedOfC {
        file: path.to_path_buf(),
        model: model_of(reading),
        checks: checks_of(reading),
        text: bytes,
    });
    Ok(Loaded { program, sources, warnings, c })
}

/// A task definition: its C file, read with its data model and, unless the command line says otherwise, its properties.
fn task(path: &Path, reading: &Reading) -> Result<(std::path::PathBuf, Reading), Rejected> {
    let text = String::from_utf8_lossy(&read(path)?).into_owned();
    let task = frontend::c::task::task(&text).map_err(|e| Rejected::one(path, e))?;
    let [input] = &task.inputs[..] else { return Err(Rejected::one(path, "a task of several files is not read")) };
    if input.ends_with(".yml") {
        return Err(Rejected::one(path, "a task cannot be the input of a task"));
    }
    let mut reading = reading.clone();
    reading.data_model = match task.model {
        frontend::c::DataModel::Ilp32 => crate::cli::DataModel::Ilp32,
        frontend::c::DataModel::Lp64 => crate::cli::DataModel::Lp64,
    };
    if reading.check.is_empty() {
        let first = task.properties.iter().map(|p| &p.checks).find(|c| !c.is_empty());
        reading.check = first.cloned().into_iter().map(crate::cli::Checks).collect();
        if reading.check.is_empty() && !task.properties.is_empty() {
            return Err(Rejected::one(path, "the task asks for no property that is modelled"));
        }
    }
    Ok((path.parent().unwrap_or(Path::new(".")).join(input), reading))
}

type Lowered = (Option<Program>, Vec<Diagnostic>);

fn own(sources: &mut Sources, path: &Path, bytes: &[u8], reading: &Reading) -> Lowered {
    let parsed = frontend::lang::parse(sources, path.display().to_string(), bytes);
    let settings = frontend::lang::Settings { constants: reading.set.clone(), copies: reading.threads.clone() };
    let lowered = frontend::lang::lower(&parsed, sources, &settings);
    (lowered.program, lowered.diagnostics)
}

fn model_of(reading: &Reading) -> frontend::c::DataModel {
    match reading.data_model {
        crate::cli::DataModel::Ilp32 => frontend::c::DataModel::Ilp32,
        crate::cli::DataModel::Lp64 => frontend::c::DataModel::Lp64,
    }
}

/// Everything asked for, each once; by default that no error is reached.
fn checks_of(reading: &Reading) -> Vec<frontend::c::Check> {
    let mut checks: Vec<frontend::c::Check> = reading.check.iter().flat_map(|c| c.0.iter().copied()).collect();
    if checks.is_empty() {
        checks.push(frontend::c::Check::Reach);
    }
    if reading.deadlock {
        checks.push(frontend::c::Check::Deadlock);
    }
    if reading.leaks {
        checks.push(frontend::c::Check::Leak);
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

fn c(sources: &mut Sources, path: &Path, bytes: &[u8], reading: &Reading) -> Lowered {
    let text = String::from_utf8_lossy(bytes);
    let options = frontend::c::Options { model: model_of(reading), checks: checks_of(reading) };
    frontend::c::load(sources, path, &text, &options)
}

fn model(path: &Path, bytes: &[u8]) -> Result<Program, Rejected> {
    let text = std::str::from_utf8(bytes).map_err(|_| Rejected::one(path, "the file is not valid UTF-8"))?;
    let mut program = program::text::read(text).map_err(|e| Rejected::one(path, e))?;
    // Places in a source that is not at hand cannot be shown.
    program.origins.iter_mut().for_each(|o| o.span = None);
    Ok(program)
}

/// `--threads T=3` makes `T` a thread of three instances.
fn fix_instances(program: &mut Program, path: &Path, reading: &Reading) -> Result<(), Rejected> {
    for (name, count) in &reading.threads {
        let Some((id, thread)) = program.threads.iter_enumerated().find(|(_, t)| t.name == *name) else {
            let names: Vec<&str> = program.threads.iter().map(|t| t.name.as_str()).collect();
            let known = if names.is_empty() { "it has none".into() } else { format!("it has {}", names.join(", ")) };
            return Err(Rejected::one(path, format!("there is no thread {name} in the program ({known})")));
        };
        if thread.start == Start::BySpawn {
            return Err(Rejected::one(
                path,
                format!("instances of {name} come from `spawn`; their number cannot be fixed"),
            ));
        }
        program.threads[id].copies = Copies::Exactly(*count);
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
    render(diagnostic, sources, colour)
}
