//! Specifications in C comments: `//@ guarded_by(m)`, `//@ invariant e`, `//@ rely e`, `//@ performs ...`,
//! `//@ machine M { ... }` (over several lines if need be), `//@ follows M`.
//!
//! In: the user's own file, before preprocessing (which drops comments). Out: annotations by line, each
//! with the text after its keyword. What they mean is decided by the lowering.

use base::{SourceId, Sources, Span};

/// The words that annotations begin with.
pub(crate) const WORDS: [&str; 9] =
    ["assert", "requires", "ensures", "guarded_by", "invariant", "rely", "performs", "machine", "follows"];

/// What an assertion in a comment is called once it is code.
pub(crate) const ASSERTION: &str = "__tp_acsl";

/// The text with its assertions in comments (`//@ assert e;`, `/*@ assert e; */`) as calls, which a preprocessor keeps. No
/// place before the end of an assertion moves.
pub(crate) fn with_assertions(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        match assertion(line) {
            Some((before, condition)) => {
                let end = if line.ends_with('\n') { "\n" } else { "" };
                out.push_str(before);
                // As long as `//@ assert `, where it is written like that.
                out.push_str(&format!("{ASSERTION}( {condition});{end}"));
            }
            None => out.push_str(line),
        }
    }
    out
}

/// What stands before the assertion of a line, and its condition.
fn assertion(line: &str) -> Option<(&str, &str)> {
    let at = comment_start(line).or_else(|| block_start(line))?;
    let body = line[at + 3..].trim();
    let body = if line[at..].starts_with("/*") { body.strip_suffix("*/")?.trim_end() } else { body };
    let rest = body.strip_prefix("assert").filter(|r| r.starts_with([' ', '\t', '(']))?;
    Some((&line[..at], rest.trim().trim_end_matches(';').trim_end()))
}

/// Where `/*@` starts in a line that ends with the same comment.
fn block_start(line: &str) -> Option<usize> {
    let at = line.find("/*@")?;
    (line[..at].matches('"').count().is_multiple_of(2) && line.trim_end().ends_with("*/")).then_some(at)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AnnotationKind {
    GuardedBy,
    Invariant,
    Rely,
    Performs,
    Machine,
    Follows,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommentAnnotation {
    pub kind: AnnotationKind,
    pub text: String,
    pub span: Span,
    /// The line it stands on, from 1.
    pub line: usize,
    /// It stands after code on its line and so belongs to that code.
    pub(crate) trailing: bool,
}

/// All annotations of a file, and the places of those whose keyword is unknown.
pub(crate) fn annotations(sources: &Sources, file: SourceId) -> (Vec<CommentAnnotation>, Vec<(Span, String)>) {
    let text = &sources.file(file).text;
    let (mut found, mut unknown) = (Vec::new(), Vec::new());
    let mut offset = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if let Some(at) = comment_start(line) {
            let body = line[at + 3..].trim_end();
            let trimmed = body.trim_start();
            let word_end = trimmed.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(trimmed.len());
            let (word, rest) = trimmed.split_at(word_end);
            let span = Span::new(file, offset + at, offset + at + 3 + body.len());
            // A machine may go on over several lines.
            if let Some(open) = found.last_mut().filter(|a| is_open(a)) {
                open.text.push(' ');
                open.text.push_str(trimmed);
                open.span = Span::new(file, open.span.start as usize, offset + at + 3 + body.len());
                offset += line.len();
                continue;
            }
            // So may what a function performs, at an operator.
            let more = trimmed.starts_with("[]") || trimmed.starts_with(';');
            if let Some(open) =
                found.last_mut().filter(|a| a.kind == AnnotationKind::Performs && a.line == number && more)
            {
                open.text.push(' ');
                open.text.push_str(trimmed.trim_end().trim_end_matches(';'));
                open.line = number + 1;
                offset += line.len();
                continue;
            }
            let (word, rest) = match (word, rest.trim_start().strip_prefix("machine")) {
                ("strict", Some(_)) => ("machine", trimmed),
                _ => (word, rest),
            };
            let kind = match word {
                "machine" => Some(AnnotationKind::Machine),
                "guarded_by" => Some(AnnotationKind::GuardedBy),
                "invariant" => Some(AnnotationKind::Invariant),
                "rely" => Some(AnnotationKind::Rely),
                "performs" => Some(AnnotationKind::Performs),
                "follows" => Some(AnnotationKind::Follows),
                _ => None,
            };
            let rest = rest.trim();
            let rest = if kind == Some(AnnotationKind::Machine) { rest } else { rest.trim_end_matches(';').trim() };
            let text = match kind {
                Some(AnnotationKind::GuardedBy) => {
                    rest.strip_prefix('(').and_then(|r| r.strip_suffix(')')).unwrap_or(rest).trim()
                }
                _ => rest,
            };
            match kind {
                // It is code by now.
                None if matches!(word, "assert" | "requires" | "ensures") => {}
                Some(kind) => found.push(CommentAnnotation {
                    kind,
                    text: text.to_string(),
                    span,
                    line: number + 1,
                    trailing: !line[..at].trim().is_empty(),
                }),
                None => unknown.push((span, word.to_string())),
            }
        }
        offset += line.len();
    }
    (found, unknown)
}

/// A machine whose last brace is still to come.
fn is_open(annotation: &CommentAnnotation) -> bool {
    annotation.kind == AnnotationKind::Machine && !annotation.text.ends_with('}')
}

/// Where `//@` starts in a line, outside string and character literals.
fn comment_start(line: &str) -> Option<usize> {
    let bytes = line.as_bytes();
    let (mut at, mut quote) = (0, None);
    while at < bytes.len() {
        match (quote, bytes[at]) {
            (Some(_), b'\\') => at += 1,
            (Some(q), b) if q == b => quote = None,
            (None, b @ (b'"' | b'\'')) => quote = Some(b),
            (None, b'/') if line[at..].starts_with("//@") => return Some(at),
            (None, b'/') if line[at..].starts_with("//") => return None,
            _ => {}
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_assertions_in_comments_become_code_in_place() {
        let text = "int x;\nvoid f(void) {\n  //@ assert x >= 0;\n  x++; /*@ assert x > 0; */\n}\n";
        let code = with_assertions(text);
        assert!(code.contains("  __tp_acsl( x >= 0);\n"), "{code}");
        assert!(code.contains("  x++; __tp_acsl( x > 0);\n"), "{code}");
        assert_eq!(code.find("x >= 0"), text.find("x >= 0"));
        assert_eq!(with_assertions("char *s = \"//@ assert 0;\";\n"), "char *s = \"//@ assert 0;\";\n");
    }

    #[test]
    fn check_annotations_are_found_outside_strings_only() {
        let mut sources = Sources::new();
        let file = sources
            .add("a.c", "int x; //@ guarded_by(m)\n//@ invariant x >= 0;\nchar *s = \"//@ rely 1\";\n//@ bogus\n");
        let (found, unknown) = annotations(&sources, file);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].kind, found[0].text.as_str(), found[0].trailing), (AnnotationKind::GuardedBy, "m", true));
        assert_eq!((found[1].text.as_str(), found[1].line), ("x >= 0", 2));
        assert_eq!(unknown[0].1, "bogus");
    }
}
