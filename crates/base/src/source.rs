//! Source files and spans into them.
//!
//! In: names and texts of files, kept whole for the life of a run. Out: spans, which are byte ranges of one file, and
//! lines and columns (both from 1, columns in characters), computed on demand.

use crate::ids::{Id, IdVec};

crate::id_type!(
    /// A loaded source file.
    SourceId, "f"
);

/// A byte range of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    pub file: SourceId,
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub fn new(file: SourceId, start: usize, end: usize) -> Self {
        Self { file, start: start as u32, end: end as u32 }
    }
    /// The smallest span that covers both; they must be of one file.
    pub fn to(self, other: Span) -> Span {
        Span { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// One file: its name as the user gave it and its text.
#[derive(Clone, Debug)]
pub struct SourceFile {
    pub name: String,
    pub text: String,
    line_starts: Vec<u32>,
}

impl SourceFile {
    /// Line and column of a byte offset, both from 1.
    pub fn position(&self, offset: u32) -> (usize, usize) {
        let line = self.line_starts.partition_point(|&s| s <= offset).max(1) - 1;
        let start = self.line_starts[line] as usize;
        let end = (offset as usize).clamp(start, self.text.len());
        let column = self.text.get(start..end).map_or(end - start, |s| s.chars().count());
        (line + 1, column + 1)
    }
    /// The byte offset at which a line (from 1) starts; the end of the text if there is no such line.
    pub fn line_start(&self, line: usize) -> usize {
        line.checked_sub(1).and_then(|l| self.line_starts.get(l)).map_or(self.text.len(), |&s| s as usize)
    }
    /// The text of a line (from 1), without its line break; empty if there is no such line.
    pub fn line(&self, line: usize) -> &str {
        let Some(&start) = line.checked_sub(1).and_then(|l| self.line_starts.get(l)) else { return "" };
        let end = self.line_starts.get(line).map_or(self.text.len(), |&e| e as usize);
        self.text[start as usize..end].trim_end_matches(['\n', '\r'])
    }
}

/// All files of a run.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    files: IdVec<SourceId, SourceFile>,
}

impl Sources {
    pub fn new() -> Self {
        Self::default()
    }
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> SourceId {
        let text = text.into();
        let mut line_starts = vec![0];
        line_starts.extend(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i as u32 + 1));
        self.files.push(SourceFile { name: name.into(), text, line_starts })
    }
    pub fn file(&self, id: SourceId) -> &SourceFile {
        &self.files[id]
    }
    /// The file, unless the id is not of this run.
    pub fn get(&self, id: SourceId) -> Option<&SourceFile> {
        self.files.get(id)
    }
    pub fn ids(&self) -> impl Iterator<Item = SourceId> {
        (0..self.files.len()).map(SourceId::from_index)
    }
    /// The text under a span.
    pub fn text(&self, span: Span) -> &str {
        self.files[span.file].text.get(span.start as usize..span.end as usize).unwrap_or("")
    }
    /// `file:line:column` of the start of a span.
    pub fn place(&self, span: Span) -> String {
        let file = &self.files[span.file];
        let (line, column) = file.position(span.start);
        format!("{}:{line}:{column}", file.name)
    }
    pub fn line_of(&self, span: Span) -> usize {
        self.files[span.file].position(span.start).0
    }
}
