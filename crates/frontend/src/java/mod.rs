//! Java: source text to a `Program`, through the tree of `.tp` programs.
//!
//! In: one file or all files of a folder. Out: a program with origins in the Java files, or diagnostics. `read` makes a tree of the text
//! (`tree-sitter-java`), `translate` makes of it a tree of the modelling language, and `lang::lower` lowers that: whatever is
//! checked of `.tp` programs is checked of Java by the same code. What the subset leaves out is in `docs/java.md`.

pub(crate) mod codes;
pub(crate) mod dialect;
mod expand;
pub mod harness;
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
    let mut ids: Vec<SourceId> = Vec::new();
    for file in files {
        let id = sources.add(file.name, file.text);
        ids.push(id);
        read::read_file(sources, id, &mut unit, &mut diagnostics);
    }
    let Some(first) = ids.first().copied() else { return (None, diagnostics) };
    if diagnostics.iter().any(Diagnostic::is_error) {
        return (None, diagnostics);
    }
    let for_any_callers = translate::has_contracts(&unit);
    if !for_any_callers && translate::main_class(&unit).is_some() {
        expand::whole_program(sources, &ids, &mut unit, &mut diagnostics);
    }
    tree::mark_effectively_final(&mut unit);
    let main = translate::main_class(&unit);
    diagnostics.extend(unchecked_annotations(&unit, for_any_callers));
    if for_any_callers {
        if let Some((_, method)) = main {
            let message = "`main` is not looked at: annotations are checked for any callers";
            let code = codes::ANNOTATIONS_UNUSED;
            diagnostics.push(Diagnostic::warning(code, method.name_span, message).label("not checked"));
        }
        return finished(translate::classes(&unit), first, sources, settings, diagnostics);
    }
    let Some(main) = main else {
        let message = "there is no `static void main`, or there are several: nothing says where the program begins";
        let diagnostic = Diagnostic::error(codes::NO_MAIN, Span::new(first, 0, 0), message)
            .label("expected one class with `public static void main(String[] args)`")
            .hint("or annotations that say what methods do, for any callers");
        return (None, vec![diagnostic]);
    };
    finished(translate::program(&unit, main), first, sources, settings, diagnostics)
}

/// Promises of annotations that are not kept, or that are not checked, each told once.
fn unchecked_annotations(unit: &tree::JavaUnit, for_any_callers: bool) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    let named = |m: &tree::JavaModifiers, name: &str| {
        m.annotations.iter().find(|a| a.name.rsplit('.').next() == Some(name)).map(|a| a.span)
    };
    let warn = |span: Span, message: String, label: &'static str| {
        Diagnostic::warning(codes::ANNOTATIONS_UNUSED, span, message).label(label)
    };
    for class in &unit.classes {
        if let Some(span) = named(&class.modifiers, "Immutable")
            && let Some(field) = class.fields.iter().find(|f| !f.modifiers.is_final && !f.modifiers.is_static)
        {
            let message =
                format!("`{}` is said to be immutable, and its field `{}` is not final", class.name, field.name);
            out.push(warn(span, message, "said here").also(field.name_span, "can be changed"));
        }
        for field in &class.fields {
            if let Some(span) = named(&field.modifiers, "GuardedBy")
                && for_any_callers
            {
                let message = "`@GuardedBy` is checked in programs with a `main`; `//@ guarded_by` is, here".to_owned();
                out.push(warn(span, message, "not checked"));
            }
        }
    }
    out
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
mod constructs;
#[cfg(test)]
mod corpus_oracle;
#[cfg(test)]
mod harness_oracle;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod surroundings;
#[cfg(test)]
mod tests;
