//! Java: source text to a `Program`, through the tree of `.tp` programs.
//!
//! In: one file or all files of a folder. Out: a program with origins in the Java files, or diagnostics. `read` makes a tree of the text
//! (`tree-sitter-java`), `translate` makes of it a tree of the modelling language, and `lang::lower` lowers that: whatever is
//! checked of `.tp` programs is checked of Java by the same code. What the subset leaves out is in `docs/java.md`.

pub(crate) mod codes;
pub(crate) mod dialect;
pub(crate) mod read;
pub(crate) mod translate;
pub(crate) mod tree;

use crate::lang::{self, LoweringSettings, Parsed};
use base::{Diagnostic, SourceId, Sources, Span};
use program::{Assumption, Program, Property, PropertyKind};

/// A file with its name.
#[derive(Clone, Debug)]
pub struct JavaText {
    pub name: String,
    pub text: String,
}

/// Reads Java files as one program.
pub fn load_files(
    sources: &mut Sources,
    files: Vec<JavaText>,
    settings: &LoweringSettings,
) -> (Option<Program>, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let mut unit = tree::JavaUnit::default();
    let mut first: Option<SourceId> = None;
    for file in files {
        let id = sources.add(file.name, file.text);
        first.get_or_insert(id);
        read::read_file(sources, id, &mut unit, &mut diagnostics);
    }
    let Some(first) = first else { return (None, diagnostics) };
    if diagnostics.iter().any(Diagnostic::is_error) {
        return (None, diagnostics);
    }
    diagnostics.extend(unchecked_annotations(&unit));
    let main = translate::main_class(&unit);
    if main.is_none() && !unit.comments.is_empty() {
        return finished(translate::classes(&unit), first, sources, settings, diagnostics);
    }
    let Some(main) = main else {
        let message = "there is no `static void main`, or there are several: nothing says where the program begins";
        let diagnostic = Diagnostic::error(codes::NO_MAIN, Span::new(first, 0, 0), message)
            .label("expected one class with `public static void main(String[] args)`");
        return (None, vec![diagnostic]);
    };
    if let Some(comment) = unit.comments.first() {
        let message = "annotations are checked in files without a `main`; here they are not looked at";
        let code = codes::ANNOTATIONS_UNUSED;
        diagnostics.push(Diagnostic::warning(code, comment.span, message).label("the first annotation"));
    }
    finished(translate::program(&unit, main), first, sources, settings, diagnostics)
}

/// Promises about locks and threads that a reader of the program would expect to be checked, and are not.
const PROMISES: &[&str] = &["GuardedBy", "ThreadSafe", "NotThreadSafe", "Immutable"];

/// One warning for each of the promises that are made: their name, at the first place.
fn unchecked_annotations(unit: &tree::JavaUnit) -> Vec<Diagnostic> {
    let of_class = |c: &'_ tree::JavaClass| -> Vec<tree::JavaAnnotation> {
        let fields = c.fields.iter().map(|f| &f.modifiers);
        let methods = c.methods.iter().map(|m| &m.modifiers);
        std::iter::once(&c.modifiers).chain(fields).chain(methods).flat_map(|m| m.annotations.clone()).collect()
    };
    let made: Vec<tree::JavaAnnotation> = unit.classes.iter().flat_map(of_class).collect();
    let simple = |a: &tree::JavaAnnotation| a.name.rsplit('.').next().unwrap_or_default().to_owned();
    let first_of = |name: &&str| made.iter().find(|a| simple(a) == **name);
    let warn = |a: &tree::JavaAnnotation| {
        let message = format!("`@{}` is not checked; races are, where there is a `main`", simple(a));
        Diagnostic::warning(codes::ANNOTATIONS_UNUSED, a.span, message).label("the first of them")
    };
    PROMISES.iter().filter_map(first_of).map(warn).collect()
}

/// Lowers what the translation gave.
fn finished(
    translated: translate::Translated,
    first: SourceId,
    sources: &Sources,
    settings: &LoweringSettings,
    mut diagnostics: Vec<Diagnostic>,
) -> (Option<Program>, Vec<Diagnostic>) {
    if !translated.errors.is_empty() {
        diagnostics.extend(translated.errors);
        return (None, diagnostics);
    }
    let parsed =
        Parsed { file: first, tree: translated.tree, comments: Vec::new(), diagnostics: Vec::new(), lost: false };
    let mut lowered = lang::lower_file(&parsed, sources, settings);
    diagnostics.append(&mut lowered.diagnostics);
    let program = lowered.program.map(|mut program| {
        for (code, text) in translated.assumptions {
            program.assumptions.push(Assumption { code: code.to_owned(), text });
        }
        if translated.has_threads {
            let origin = program.add_origin(None, "some thread can always move, until all have ended");
            let name = "deadlock".to_owned();
            program.properties.push(Property { kind: PropertyKind::Deadlock, name, origin });
        }
        program
    });
    (program, diagnostics)
}

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;
