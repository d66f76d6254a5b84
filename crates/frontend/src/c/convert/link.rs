//! Several files of one program: what a file sees of those before it, as a linker and the rules of linkage decide.
//!
//! In: the file scope of a file that has been converted. Out: the file scope that the next one starts with. Names with external linkage are one
//! object or function in all files (C11 6.2.2); `static` names and `inline` functions are each file's own; typedefs and enumerators go with their
//! file. A struct that a later file defines again with equal members is the same type (C11 6.2.7); with other members it is another one.
//! What the files disagree about (the type of a name, two initial values, two bodies) is an error with both places. Deliberately absent:
//! weak symbols, aliases, libraries.

use super::*;
use rustc_hash::FxHashSet;

/// What earlier files leave to later ones.
#[derive(Default)]
pub(super) struct EarlierFiles {
    /// Objects and functions with external linkage.
    names: FxHashMap<String, Name>,
    /// Tags of earlier files that the file at hand has not mentioned yet.
    unmentioned: FxHashSet<String>,
    /// Structs without a tag, by the place of their definition in a header.
    untagged: FxHashMap<Span, Vec<RecordId>>,
    /// Those of the file at hand.
    untagged_here: Vec<(Span, RecordId)>,
    /// Names with internal linkage in the file at hand.
    internal: FxHashSet<String>,
    /// How many files there were.
    files: usize,
}

impl<'a> Converter<'a> {
    /// Goes on with the next file.
    pub(super) fn begin_file(&mut self, pre: &'a Preprocessed, norm: &'a Normalised) {
        (self.pre, self.norm) = (pre, norm);
        self.earlier.files += 1;
        let scope = std::mem::take(&mut self.scopes[0]);
        let internal = std::mem::take(&mut self.earlier.internal);
        for (name, meaning) in scope.names {
            if matches!(meaning, Name::Var(_) | Name::Function(_)) && !internal.contains(&name) {
                self.earlier.names.insert(name, meaning);
            }
        }
        self.earlier.unmentioned = scope.tags.keys().cloned().collect();
        self.scopes[0].tags = scope.tags;
        for (place, record) in std::mem::take(&mut self.earlier.untagged_here) {
            self.earlier.untagged.entry(place).or_default().push(record);
        }
    }

    /// A name of the file at hand has internal linkage.
    pub(super) fn keep_internal(&mut self, name: &str) {
        self.earlier.internal.insert(name.to_string());
    }

    /// What a name means at file level: in the file at hand, else in an earlier one if it has external linkage.
    pub(super) fn linked_name(&mut self, name: &str) -> Option<Name> {
        if let Some(known) = self.scopes[0].names.get(name) {
            return Some(known.clone());
        }
        if self.earlier.internal.contains(name) {
            return None;
        }
        let found = self.earlier.names.get(name)?.clone();
        self.scopes[0].names.insert(name.to_string(), found.clone());
        Some(found)
    }

    /// The name of a new function, told apart from one of the same name that an earlier file has for itself.
    pub(super) fn own_name(&self, name: &str) -> String {
        let taken = |n: &str| self.functions.iter().any(|f| f.name == n);
        if self.earlier.files == 0 || !taken(name) {
            return name.to_string();
        }
        (2..).map(|n| format!("{name}#{n}")).find(|n| !taken(n)).unwrap_or_else(|| name.to_string())
    }

    /// Complains where a name of an earlier file has another type here.
    pub(super) fn same_type(&mut self, name: &str, here: CType, there: CType, place: Span, span: Span) {
        let unknown_length = |ty: CType| matches!(self.types.kind(ty), CTypeKind::Array(_, None));
        if place.file == span.file || here.unqualified() == there.unqualified() {
            return;
        }
        if unknown_length(here) || unknown_length(there) {
            return;
        }
        let (other, known) = (self.sources.place(place), self.types.show(there));
        let shown = self.types.show(here);
        self.error(TYPE_ERROR, span, format!("`{name}` is {shown} here and {known} at {other}"));
    }

    /// A struct is mentioned: whether its meaning comes from an earlier file that this one has not mentioned before.
    pub(super) fn first_mention(&mut self, tag: &str) -> bool {
        self.scopes.len() == 1 && self.earlier.unmentioned.remove(tag)
    }

    /// Whether a type of an earlier file has just these members.
    pub(super) fn has_members(&self, record: RecordId, fields: &[CField], packed: bool) -> bool {
        let known = &self.types.records[record];
        let alike = |a: &CField, b: &CField| (&a.name, a.ty, a.bits, a.align) == (&b.name, b.ty, b.bits, b.align);
        known.packed == packed
            && known
                .fields
                .as_ref()
                .is_some_and(|old| old.len() == fields.len() && old.iter().zip(fields).all(|(a, b)| alike(a, b)))
    }

    /// The type without a tag that an earlier file has from the same place; else this is the one of this file.
    pub(super) fn untagged(&mut self, place: Span, record: RecordId, packed: bool) -> RecordId {
        let fields = self.types.records[record].fields.clone().unwrap_or_default();
        let known = self.earlier.untagged.get(&place).into_iter().flatten();
        if let Some(same) = known.copied().find(|r| self.has_members(*r, &fields, packed)) {
            return same;
        }
        self.earlier.untagged_here.push((place, record));
        record
    }
}
