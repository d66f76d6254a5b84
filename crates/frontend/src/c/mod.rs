//! The C front end: C with POSIX or C11 threads, in the conventions of the public verification tasks.
//!
//! In: a `.c` or `.i` file. Out: a typed tree (`ast::Unit`), and from it the model. The way:
//! `preprocess` (the system's preprocessor) -> `normalise` -> parser -> `convert` (types, conversions, places) ->
//! `lower`. What the model does not cover is a node that no proof may step over.

pub(crate) mod annotations;
pub(crate) mod ast;
mod contracts;
mod convert;
pub mod core;
pub mod harness;
pub(crate) mod lower;
mod names;
mod normalise;
pub(crate) mod preprocess;
pub mod task;
pub(crate) mod types;
pub mod witness;

use base::{Diagnostic, Sources, Span};
use std::path::{Path, PathBuf};

pub use lower::{CCheck, EVALUATION_ORDER, RACE_FREE, is_address};
pub use types::DataModel;

/// A parsed and typed file.
#[derive(Clone, Debug)]
pub struct ParsedC {
    pub unit: ast::Unit,
    pub annotations: Vec<annotations::CommentAnnotation>,
    pub diagnostics: Vec<Diagnostic>,
    pub main: base::SourceId,
}

/// One file of a C program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CSource {
    pub path: PathBuf,
    pub text: String,
    /// Options of the preprocessor: `-I`, `-D`, `-U`, `-std`, `-include` and their like, as a compiler takes them.
    pub flags: Vec<String>,
}

/// Parses and types C text. `Err` holds what makes the text unusable; type errors are in `ParsedC::diagnostics`.
pub fn parse_c(sources: &mut Sources, path: &Path, text: &str, model: DataModel) -> Result<ParsedC, Vec<Diagnostic>> {
    parse_files(sources, &[CSource { path: path.into(), text: text.into(), flags: Vec::new() }], model)
}

/// The same for the files of a program that is linked of several.
pub fn parse_files(sources: &mut Sources, files: &[CSource], model: DataModel) -> Result<ParsedC, Vec<Diagnostic>> {
    let mut texts = Vec::new();
    let mut errors = Vec::new();
    for file in files {
        match preprocess::preprocess_file(sources, file, model) {
            Ok(pre) => texts.push(pre),
            Err(error) => errors.push(*error),
        }
    }
    // What prints a text reads it.
    let words = || library_words().chain(["printf", "puts", "write", "scanf", "syslog", "perror"]);
    if texts.iter().any(|pre| words().any(|w| pre.text.contains(w)))
        && let Some(last) = texts.last_mut()
    {
        last.append(sources, "<library>", LIBRARY);
    }
    let mut parsed = Vec::new();
    for pre in texts {
        match parse_text(sources, pre) {
            Ok(file) => parsed.push(file),
            Err(error) => errors.push(*error),
        }
    }
    if !errors.is_empty() || parsed.is_empty() {
        return Err(errors);
    }
    let (unit, mut diagnostics) = convert::convert(sources, &parsed, model);
    let mut all_annotations = Vec::new();
    for file in &parsed {
        let (annotations, unknown) = annotations::annotations(sources, file.pre.main);
        all_annotations.extend(annotations);
        diagnostics.extend(unknown.into_iter().map(|(span, word)| unknown_annotation(span, &word)));
    }
    Ok(ParsedC { unit, annotations: all_annotations, diagnostics, main: parsed[0].pre.main })
}

fn parse_text(sources: &Sources, pre: preprocess::Preprocessed) -> Result<convert::ParsedFile, Box<Diagnostic>> {
    if let Some(at) = line_with(&pre.text, "pragma pack") {
        let span = pre.span(sources, at, at + 1);
        return Err(Box::new(Diagnostic::error(convert::SYNTAX, span, "layouts by `#pragma pack` are not modelled")));
    }
    let norm = normalise::normalise_text(&pre.text);
    let config = lang_c::driver::Config {
        cpp_command: String::new(),
        cpp_options: Vec::new(),
        flavor: lang_c::driver::Flavor::GnuC11,
    };
    match lang_c::driver::parse_preprocessed(&config, norm.text.clone()) {
        Ok(parsed) => Ok(convert::ParsedFile { pre, norm, unit: parsed.unit }),
        Err(error) => {
            // What is missing at the end of the text is not missing in what was appended.
            let at = norm.old(error.offset).min(pre.own_length());
            let span = pre.span(sources, at, at + 1);
            let found = pre.text[at..].split_whitespace().next().unwrap_or("the end of the file").to_string();
            Err(Box::new(
                Diagnostic::error(convert::SYNTAX, span, format!("C syntax error before `{found}`"))
                    .label(format!("expected {}", likely(error.expected.iter().copied().collect()))),
            ))
        }
    }
}

fn unknown_annotation(span: Span, word: &str) -> Diagnostic {
    let known = annotations::WORDS.join(", ");
    let error =
        Diagnostic::error(UNKNOWN_ANNOTATION, span, format!("`{word}` is not an annotation; known are {known}"));
    match crate::lang::resolve::nearest(word, annotations::WORDS.iter().copied()) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error,
    }
}

/// What is most likely missing of all that the parser would have taken: mostly what closes a bracket or ends the statement. Where
/// a block may end, a statement is complete.
fn likely(mut expected: Vec<&str>) -> String {
    if let Some(end) = ["}", ";", ")", "]"].into_iter().find(|end| expected.contains(end)) {
        return format!("`{end}`");
    }
    expected.sort_unstable();
    // Classes of characters help no reader.
    expected.retain(|e| !e.starts_with('[') || e.len() == 1);
    let listed: Vec<String> = expected.iter().take(6).map(|e| format!("`{e}`")).collect();
    if listed.is_empty() { "something else".into() } else { listed.join(", ") }
}

/// Where a line stands that begins with `#` and these words.
fn line_with(text: &str, words: &str) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_start().strip_prefix('#').is_some_and(|l| l.trim_start().starts_with(words)) {
            return Some(at);
        }
        at += line.len();
    }
    None
}

/// Functions of the C library that are programs themselves.
const LIBRARY: &str = include_str!("library.c");

/// The names of these functions.
fn library_words() -> impl Iterator<Item = &'static str> {
    LIBRARY.split("__tp_").skip(1).filter_map(|rest| rest.split('(').next())
}

/// How to read a C file.
#[derive(Clone, Debug)]
pub struct COptions {
    pub model: DataModel,
    /// What is to be shown; empty means that no error is reached.
    pub checks: Vec<CCheck>,
}

impl Default for COptions {
    fn default() -> Self {
        Self { model: DataModel::Lp64, checks: vec![CCheck::Reach] }
    }
}

/// Reads C text and lowers it. There is a program unless one of the diagnostics is an error.
pub fn load_c(
    sources: &mut Sources,
    path: &Path,
    text: &str,
    options: &COptions,
) -> (Option<program::Program>, Vec<Diagnostic>) {
    load_files(sources, &[CSource { path: path.into(), text: text.into(), flags: Vec::new() }], options)
}

/// The same for a program that is linked of several files; the first gives it its name.
pub fn load_files(
    sources: &mut Sources,
    files: &[CSource],
    options: &COptions,
) -> (Option<program::Program>, Vec<Diagnostic>) {
    let parsed = match parse_files(sources, files, options.model) {
        Ok(parsed) => parsed,
        Err(diagnostics) => return (None, diagnostics),
    };
    let mut parsed = parsed;
    let mut diagnostics = std::mem::take(&mut parsed.diagnostics);
    apply_annotations(&mut parsed, sources, &mut diagnostics);
    if diagnostics.iter().any(Diagnostic::is_error) {
        return (None, diagnostics);
    }
    let checks = if options.checks.is_empty() { &[CCheck::Reach][..] } else { &options.checks };
    let name = files.first().and_then(|f| f.path.file_name());
    let name = name.map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    let lowered = lower::lower_to_program(&parsed.unit, sources, &name, checks);
    let Some((program, bad)) = lowered else {
        diagnostics.push(
            Diagnostic::error(NO_MAIN, whole_file(parsed.main), "there is no function `main` with a body")
                .hint("a C program is checked as a whole, from `main`; `verify a.c b.c` links the files without `main` to the one that has it"),
        );
        return (None, diagnostics);
    };
    // A specification that cannot be read is never dropped in silence.
    for (span, why) in bad {
        diagnostics.push(Diagnostic::error(BAD_SPECIFICATION, span, why));
    }
    (Some(program), diagnostics)
}

/// All constructs of a program that are outside the model, with their places; none where it cannot be read.
pub fn obstacles(sources: &mut Sources, files: &[CSource], options: &COptions) -> Vec<(Span, String)> {
    let checks = if options.checks.is_empty() { &[CCheck::Reach][..] } else { &options.checks };
    match parse_files(sources, files, options.model) {
        Ok(parsed) => lower::obstacles_of(&parsed.unit, sources, checks),
        Err(_) => Vec::new(),
    }
}

/// Gives variables the mutex that a comment beside their declaration names, and says which comments are not used.
fn apply_annotations(parsed: &mut ParsedC, sources: &Sources, diagnostics: &mut Vec<Diagnostic>) {
    for annotation in &parsed.annotations {
        let unused = |words: &str| Diagnostic::warning(UNUSED_ANNOTATION, annotation.span, words.to_string());
        let spec = match annotation.kind {
            annotations::AnnotationKind::Invariant => Some(ast::SpecKind::Invariant),
            annotations::AnnotationKind::Rely => Some(ast::SpecKind::Rely),
            annotations::AnnotationKind::Machine => Some(ast::SpecKind::Machine),
            _ => None,
        };
        if let Some(kind) = spec {
            let (text, span) = (annotation.text.clone(), annotation.span);
            let list = match kind {
                ast::SpecKind::Machine => &mut parsed.unit.machines,
                _ => &mut parsed.unit.specs,
            };
            list.push(ast::SpecComment { kind, text, span });
            continue;
        }
        if let annotations::AnnotationKind::Follows | annotations::AnnotationKind::Performs = annotation.kind {
            let line = if annotation.trailing { annotation.line } else { annotation.line + 1 };
            let here = |f: &ast::CFunction| {
                f.body.is_some() && f.span.file == annotation.span.file && sources.line_of(f.span) == line
            };
            match parsed.unit.functions.iter_enumerated().find(|(_, f)| here(f)) {
                Some((id, _)) => {
                    let follows = annotation.kind == annotations::AnnotationKind::Follows;
                    let list = if follows { &mut parsed.unit.follows } else { &mut parsed.unit.performs };
                    list.push((id, annotation.text.clone(), annotation.span));
                }
                None => diagnostics.push(Diagnostic::error(
                    BAD_SPECIFICATION,
                    annotation.span,
                    "there is no function on the line this belongs to",
                )),
            }
            continue;
        }
        let line = if annotation.trailing { annotation.line } else { annotation.line + 1 };
        let mut found = false;
        for variable in parsed.unit.variables.iter_mut() {
            let here = variable.span.file == annotation.span.file && sources.line_of(variable.span) == line;
            if here && variable.storage == ast::Storage::Static {
                variable.guarded_by = Some(annotation.text.clone());
                found = true;
            }
        }
        if !found {
            diagnostics.push(unused("there is no global variable on the line this belongs to"));
        }
    }
}

/// A comment for the verifier that changes nothing.
pub(crate) const UNUSED_ANNOTATION: base::DiagnosticCode = base::DiagnosticCode("C0107");

/// An invariant or a rely that cannot be read.
pub(crate) const BAD_SPECIFICATION: base::DiagnosticCode = base::DiagnosticCode("C0108");

/// A file without `main`.
pub(crate) const NO_MAIN: base::DiagnosticCode = base::DiagnosticCode("C0106");

/// A comment that begins with `//@` and an unknown word.
pub(crate) const UNKNOWN_ANNOTATION: base::DiagnosticCode = base::DiagnosticCode("C0105");

/// The place of the start of a file, for messages about the file as a whole.
pub(crate) fn whole_file(main: base::SourceId) -> Span {
    Span::new(main, 0, 0)
}

#[cfg(test)]
mod tests;
