//! The C front end: C with POSIX or C11 threads, in the conventions of the public verification tasks.
//!
//! Comes in: a `.c` or `.i` file. Goes out: a typed tree (`ast::Unit`), and from it the model. The way:
//! `preprocess` (the system's preprocessor) -> `normalise` -> parser -> `convert` (types, conversions, places) ->
//! `lower`. What the model does not cover is a node that no proof may step over.

pub mod annotations;
pub mod ast;
mod convert;
pub mod harness;
pub mod lower;
mod normalise;
pub mod preprocess;
pub mod task;
pub mod types;
pub mod witness;

use base::{Diagnostic, Sources, Span};
use std::path::Path;

pub use lower::Check;
pub use types::DataModel;

/// A parsed and typed file.
#[derive(Clone, Debug)]
pub struct Parsed {
    pub unit: ast::Unit,
    pub annotations: Vec<annotations::Annotation>,
    pub diagnostics: Vec<Diagnostic>,
    pub main: base::SourceId,
}

/// Parses and types C text. `Err` holds what makes the text unusable; type errors are in `Parsed::diagnostics`.
pub fn parse(sources: &mut Sources, path: &Path, text: &str, model: DataModel) -> Result<Parsed, Vec<Diagnostic>> {
    let pre = preprocess::preprocess(sources, path, text.to_string(), model).map_err(|d| vec![*d])?;
    let mut pre = pre;
    // What prints a text reads it.
    if library_words().chain(["printf", "puts"]).any(|w| pre.text.contains(w)) {
        pre.append(sources, "<library>", LIBRARY);
    }
    if let Some(at) = line_with(&pre.text, "pragma pack") {
        let span = pre.span(sources, at, at + 1);
        return Err(vec![Diagnostic::error(convert::SYNTAX, span, "layouts by `#pragma pack` are not modelled")]);
    }
    let norm = normalise::normalise(&pre.text);
    let config = lang_c::driver::Config {
        cpp_command: String::new(),
        cpp_options: Vec::new(),
        flavor: lang_c::driver::Flavor::GnuC11,
    };
    let parsed = match lang_c::driver::parse_preprocessed(&config, norm.text.clone()) {
        Ok(parsed) => parsed,
        Err(error) => {
            // What is missing at the end of the text is not missing in what was appended.
            let at = norm.old(error.offset).min(pre.own_length());
            let span = pre.span(sources, at, at + 1);
            let found = pre.text[at..].split_whitespace().next().unwrap_or("the end of the file").to_string();
            return Err(vec![
                Diagnostic::error(convert::SYNTAX, span, format!("C syntax error before `{found}`"))
                    .label(format!("expected {}", likely(error.expected.iter().copied().collect()))),
            ]);
        }
    };
    let (unit, mut diagnostics) = convert::convert(sources, &pre, &norm, &parsed.unit, model);
    let (annotations, unknown) = annotations::annotations(sources, pre.main);
    for (span, word) in unknown {
        diagnostics.push(Diagnostic::warning(
            UNKNOWN_ANNOTATION,
            span,
            format!("`{word}` is not an annotation; known are guarded_by, invariant, rely, performs, machine, follows"),
        ));
    }
    Ok(Parsed { unit, annotations, diagnostics, main: pre.main })
}

/// What is most likely missing of all that the parser would have taken: mostly what closes a bracket or ends the statement. Where
/// a block may end, a statement is complete.
fn likely(mut expected: Vec<&str>) -> String {
    if let Some(end) = ["}", ";", ")", "]"].into_iter().find(|end| expected.contains(end)) {
        return format!("`{end}`");
    }
    expected.sort_unstable();
    // Classes of characters tell nobody anything.
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
pub struct Options {
    pub model: DataModel,
    /// What is to be shown; empty means that no error is reached.
    pub checks: Vec<Check>,
}

impl Default for Options {
    fn default() -> Self {
        Self { model: DataModel::Ilp32, checks: vec![Check::Reach] }
    }
}

/// Reads C text and lowers it. There is a program unless one of the diagnostics is an error.
pub fn load(
    sources: &mut Sources,
    path: &Path,
    text: &str,
    options: &Options,
) -> (Option<program::Program>, Vec<Diagnostic>) {
    let parsed = match parse(sources, path, text, options.model) {
        Ok(parsed) => parsed,
        Err(diagnostics) => return (None, diagnostics),
    };
    let mut parsed = parsed;
    let mut diagnostics = std::mem::take(&mut parsed.diagnostics);
    apply_annotations(&mut parsed, sources, &mut diagnostics);
    if diagnostics.iter().any(Diagnostic::is_error) {
        return (None, diagnostics);
    }
    let checks = if options.checks.is_empty() { &[Check::Reach][..] } else { &options.checks };
    let name = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    let lowered = lower::lower(&parsed.unit, sources, &name, checks);
    let Some((program, bad)) = lowered else {
        diagnostics.push(
            Diagnostic::error(NO_MAIN, whole_file(parsed.main), "there is no function `main` with a body")
                .hint("a C file is checked as a whole program that starts in `main`"),
        );
        return (None, diagnostics);
    };
    // A specification that cannot be read is never dropped in silence.
    for (span, why) in bad {
        diagnostics.push(Diagnostic::error(BAD_SPECIFICATION, span, why));
    }
    (Some(program), diagnostics)
}

/// Gives variables the mutex that a comment beside their declaration names, and says which comments are not used.
fn apply_annotations(parsed: &mut Parsed, sources: &Sources, diagnostics: &mut Vec<Diagnostic>) {
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
            list.push(ast::Spec { kind, text, span });
            continue;
        }
        if let annotations::AnnotationKind::Follows | annotations::AnnotationKind::Performs = annotation.kind {
            let line = if annotation.trailing { annotation.line } else { annotation.line + 1 };
            let here =
                |f: &ast::Function| f.body.is_some() && f.span.file == parsed.main && sources.line_of(f.span) == line;
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
            let here = variable.span.file == parsed.main && sources.line_of(variable.span) == line;
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
pub const UNUSED_ANNOTATION: base::Code = base::Code("C0107");

/// An invariant or a rely that cannot be read.
pub const BAD_SPECIFICATION: base::Code = base::Code("C0108");

/// A file without `main`.
pub const NO_MAIN: base::Code = base::Code("C0106");

/// A comment that begins with `//@` and an unknown word.
pub const UNKNOWN_ANNOTATION: base::Code = base::Code("C0105");

/// The place of the start of a file, for messages about the file as a whole.
pub fn whole_file(main: base::SourceId) -> Span {
    Span::new(main, 0, 0)
}

#[cfg(test)]
mod tests;
