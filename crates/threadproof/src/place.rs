//! A place in a source file as reports name it: file, line and column.
//!
//! In: sources and a span. Out: `Place`. Deliberately absent: the text at the place.

use base::{Sources, Span};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub file: String,
    pub line: usize,
    pub column: usize,
}

pub fn place_of(sources: &Sources, span: Span) -> Place {
    let file = sources.file(span.file);
    let (line, column) = file.position(span.start);
    Place { file: file.name.clone(), line, column }
}
