//! The modelling language (`.tp`): bytes to a tree and diagnostics, and the tree back to canonical text.
//!
//! `parse` never fails: whatever the bytes, there is a tree (with error nodes) and a list of diagnostics in source
//! order. `format` prints the tree in canonical form with every comment kept.
//! In: a name and bytes. Out: a tree, diagnostics, canonical text; `lower_file` gives the program.

pub mod ast;
pub(crate) mod codes;
pub(crate) mod lower;
pub(crate) mod parse;
pub(crate) mod print;
pub(crate) mod resolve;
pub(crate) mod token;
pub(crate) mod types;

pub use lower::{Lowered, LoweringSettings, lower_file};

use base::{Diagnostic, SourceId, Sources, Span};

/// Largest source text that is read; spans are 32-bit offsets.
const MAX_SOURCE_BYTES: usize = 1 << 30;

/// What parsing gives: always a tree, with the errors found on the way.
#[derive(Clone, Debug)]
pub struct Parsed {
    pub file: SourceId,
    pub tree: ast::SourceTree,
    /// Comments in source order; they are in no node of the tree.
    pub(crate) comments: Vec<Span>,
    pub diagnostics: Vec<Diagnostic>,
    /// Whether a declaration could not be read at all: then nothing is said about unknown names.
    pub lost: bool,
}

impl Parsed {
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

/// Adds a file to the sources and parses it. Bytes that are not UTF-8 are replaced and reported.
pub fn parse_file(sources: &mut Sources, name: impl Into<String>, bytes: &[u8]) -> Parsed {
    if bytes.len() > MAX_SOURCE_BYTES {
        let file = sources.add(name, "");
        let message = format!("the file is larger than {} MB", MAX_SOURCE_BYTES >> 20);
        let diagnostics = vec![Diagnostic::error(codes::TOO_LARGE, Span::new(file, 0, 0), message)];
        return Parsed {
            file,
            tree: ast::SourceTree { items: Vec::new() },
            comments: Vec::new(),
            diagnostics,
            lost: true,
        };
    }
    let (text, invalid) = decode(bytes);
    let file = sources.add(name, text);
    let mut parsed = parse_text(sources, file);
    for offset in invalid.into_iter().rev() {
        let span = Span::new(file, offset, offset + REPLACEMENT.len());
        let diagnostic = Diagnostic::error(codes::NOT_UTF8, span, "the file is not valid UTF-8")
            .label("these bytes are not a character")
            .hint("save the file as UTF-8");
        parsed.diagnostics.insert(0, diagnostic);
    }
    parsed.diagnostics.sort_by_key(|d| d.span.start);
    parsed
}

/// Parses a file that is already among the sources.
pub(crate) fn parse_text(sources: &Sources, file: SourceId) -> Parsed {
    parse::parse_file(file, &sources.file(file).text)
}

/// The canonical text of a parsed file, or nothing where the file has errors: text would be lost.
pub fn format_file(parsed: &Parsed, sources: &Sources) -> Option<String> {
    if parsed.has_errors() {
        return None;
    }
    Some(print::print_tree(&parsed.tree, &parsed.comments, &sources.file(parsed.file).text))
}

const REPLACEMENT: &str = "\u{fffd}";
/// Runs of invalid bytes that are reported one by one.
const INVALID_SHOWN: usize = 5;

/// The text with invalid bytes replaced, and where the first of them were.
fn decode(bytes: &[u8]) -> (String, Vec<usize>) {
    // A byte order mark says nothing in UTF-8.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut text = String::with_capacity(bytes.len());
    let mut invalid = Vec::new();
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            if invalid.len() < INVALID_SHOWN {
                invalid.push(text.len());
            }
            text.push_str(REPLACEMENT);
        }
    }
    (text, invalid)
}

#[cfg(test)]
mod tests;
