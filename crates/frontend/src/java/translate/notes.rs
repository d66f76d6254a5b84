//! Which annotation belongs to what: a class, a field, a method, a parameter, or a place in a body.
//!
//! In: the annotation comments of the files. Out: for each member its annotations; what belongs to nothing is an error. An annotation
//! belongs to the member in whose text it stands, else to the one that follows; behind a field on its line, to that field.
//! Deliberately absent: what annotations mean (`spec`).

use super::types::Ty;
use crate::java::codes;
use crate::java::dialect::{GhostNote, Note, NoteKind, read_notes};
use crate::java::tree::{JavaClass, JavaMethod, JavaUnit};
use base::{Diagnostic, SourceId, Span};
use std::collections::{BTreeMap, BTreeSet};

/// A variable of the specification.
#[derive(Clone, Debug)]
pub(super) struct GhostVar {
    pub class: String,
    pub name: String,
    pub ty: Ty,
    pub is_static: bool,
    pub note: GhostNote,
    pub span: Span,
}

/// What an annotation belongs to; members by their index in the class of that name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Owner {
    Class(String),
    /// Stands among the members of a class on its own.
    Among(String),
    /// All fields of one declaration: where it begins.
    Field(String, u32),
    Method(String, usize),
    Param(String, usize, usize),
    /// A place in a body.
    Body,
    Nothing,
}

#[derive(Clone, Debug)]
struct Placed {
    note: Note,
    owner: Owner,
}

/// The annotations of the files, and which of them were used.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes {
    all: Vec<Placed>,
    used: BTreeSet<usize>,
    /// Lines at which checks are off, with the names of the checks.
    pub off: BTreeMap<(SourceId, usize), Vec<String>>,
    pub errors: Vec<Diagnostic>,
}

impl Notes {
    pub(super) fn new(unit: &JavaUnit) -> Self {
        let mut out = Self::default();
        for comment in &unit.comments {
            let notes = match read_notes(&comment.text, comment.span) {
                Ok(notes) => notes,
                Err(wrong) => {
                    let diagnostic = Diagnostic::error(codes::ANNOTATION, wrong.span, wrong.message);
                    out.errors.push(diagnostic.label("not understood"));
                    continue;
                }
            };
            for note in notes {
                let behind = comment.behind_code && comment.ends_line;
                if let NoteKind::Nowarn(names) = &note.kind {
                    let (file, line) = unit.line(note.span.file, note.span.start);
                    let line = if comment.behind_code { line } else { line + 1 };
                    let names = if names.is_empty() { vec!["all".to_owned()] } else { names.clone() };
                    out.off.entry((file, line)).or_default().extend(names);
                    continue;
                }
                if matches!(note.kind, NoteKind::Remark) {
                    continue;
                }
                let owner = owner(unit, &note, behind);
                out.all.push(Placed { note, owner });
            }
        }
        out.all.sort_by_key(|n| n.note.span);
        out
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether some annotation says what callers or other threads may do.
    pub(super) fn has_contracts(&self) -> bool {
        self.all
            .iter()
            .any(|n| !matches!(n.note.kind, NoteKind::Assert(_) | NoteKind::Assume(_) | NoteKind::LoopInvariant(_)))
    }

    /// The annotations of a member, which now are used.
    pub(super) fn take(&mut self, owner: &Owner) -> Vec<Note> {
        let mut out = Vec::new();
        for (at, placed) in self.all.iter().enumerate() {
            if placed.owner == *owner {
                self.used.insert(at);
                out.push(placed.note.clone());
            }
        }
        out
    }

    /// The same, and they stay.
    pub(super) fn of(&self, owner: &Owner) -> impl Iterator<Item = &Note> {
        let owner = owner.clone();
        self.all.iter().filter(move |n| n.owner == owner).map(|n| &n.note)
    }

    /// The annotations of a body between two places.
    pub(super) fn take_between(&mut self, file: SourceId, from: u32, to: u32) -> Vec<Note> {
        let mut out = Vec::new();
        for (at, placed) in self.all.iter().enumerate() {
            let span = placed.note.span;
            let inside = span.file == file && span.start >= from && span.start < to;
            if inside && placed.owner == Owner::Body {
                self.used.insert(at);
                out.push(placed.note.clone());
            }
        }
        out
    }

    /// Annotations that nothing used.
    pub(super) fn unused(&self) -> Vec<Span> {
        let unused = |(at, _): &(usize, &Placed)| !self.used.contains(at);
        self.all.iter().enumerate().filter(unused).map(|(_, n)| n.note.span).collect()
    }

    /// Annotations of code that is not translated are not asked for.
    pub(super) fn pass_over(&mut self, within: Span) {
        for (at, placed) in self.all.iter().enumerate() {
            let span = placed.note.span;
            if span.file == within.file && span.start >= within.start && span.start < within.end {
                self.used.insert(at);
            }
        }
    }
}

fn contains(span: Span, note: &Note) -> bool {
    span.file == note.span.file && span.start <= note.span.start && note.span.start < span.end
}

fn owner(unit: &JavaUnit, note: &Note, behind: bool) -> Owner {
    let around = unit.classes.iter().filter(|c| contains(c.body, note)).min_by_key(|c| c.body.end - c.body.start);
    match around {
        Some(class) => among_members(unit, class, note, behind),
        None => {
            // Before a class, or in its head.
            let behind_it = |c: &&JavaClass| c.body.file == note.span.file && c.body.start > note.span.start;
            let next = unit.classes.iter().filter(behind_it).min_by_key(|c| c.body.start);
            next.map_or(Owner::Nothing, |c| Owner::Class(c.name.clone()))
        }
    }
}

fn stands_alone(note: &Note) -> bool {
    matches!(note.kind, NoteKind::Ghost(_) | NoteKind::Axiom(_) | NoteKind::Invariant(_) | NoteKind::Set(..))
}

fn is_of_field(note: &Note) -> bool {
    matches!(
        note.kind,
        NoteKind::GuardedBy(..) | NoteKind::AccessibleIf(..) | NoteKind::NonNull | NoteKind::ThreadLocal
    )
}

fn among_members(unit: &JavaUnit, class: &JavaClass, note: &Note, behind: bool) -> Owner {
    let name = || class.name.clone();
    for (index, method) in class.methods.iter().enumerate() {
        if !contains(method.span, note) {
            continue;
        }
        if method.body.is_some() && note.span.start >= method.body_span.start {
            return Owner::Body;
        }
        return in_head(class, index, method, note);
    }
    if let Some(field) = class.fields.iter().find(|f| contains(f.span, note)) {
        return Owner::Field(name(), field.span.start);
    }
    if class.initializers.iter().any(|i| contains(i.span, note)) {
        return Owner::Body;
    }
    if stands_alone(note) {
        return Owner::Among(name());
    }
    if behind && is_of_field(note) {
        let line = unit.line(note.span.file, note.span.start);
        let same = |f: &&crate::java::tree::JavaField| unit.line(f.span.file, f.span.end) == line;
        let before = class.fields.iter().filter(|f| f.span.end <= note.span.start).filter(same);
        if let Some(field) = before.max_by_key(|f| f.span.end) {
            return Owner::Field(name(), field.span.start);
        }
    }
    let later = |start: u32| start >= note.span.start;
    let fields = class.fields.iter().map(|f| (f.span.start, Owner::Field(name(), f.span.start)));
    let methods = class.methods.iter().enumerate().map(|(i, m)| (m.span.start, Owner::Method(name(), i)));
    let inner = unit.classes.iter().filter(|c| c.outer.as_ref() == Some(&class.name));
    let inner = inner.map(|c| (c.span.start, Owner::Class(c.name.clone())));
    let next = fields.chain(methods).chain(inner).filter(|(start, _)| later(*start)).min_by_key(|(start, _)| *start);
    next.map_or(Owner::Nothing, |(_, owner)| owner)
}

/// In the head of a method: of a parameter, or of the method.
fn in_head(class: &JavaClass, index: usize, method: &JavaMethod, note: &Note) -> Owner {
    if note.span.start > method.name_span.end
        && is_of_field(note)
        && let Some(at) = method.params.iter().position(|p| p.span.end > note.span.start)
    {
        return Owner::Param(class.name.clone(), index, at);
    }
    Owner::Method(class.name.clone(), index)
}

/// Which method of its class it is.
pub(super) fn method_index(class: &JavaClass, method: &JavaMethod) -> usize {
    class.methods.iter().position(|m| std::ptr::eq(m, method)).unwrap_or(usize::MAX)
}
