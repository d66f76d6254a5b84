//! Diagnostics as text: `error[E0102]: message`, `file:line:column`, a caret picture, further labels, hints.
//!
//! In: a `Diagnostic` and the `Sources` its spans point into. Out: text, plain or with terminal colours.
//! Whatever the span says, something readable comes out: places outside the file are moved to its end, a span over
//! several lines is shown on its first line, and a very long line is shown as a window around the place. Only the
//! lines shown are handed to the drawing library, so that the cost does not grow with the file. Deliberately absent:
//! printing, and the decision whether the output is a terminal.

use crate::diagnostic::{Diagnostic, Severity};
use crate::source::{SourceId, Sources, Span};
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

/// Whether the text carries terminal escape codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    Plain,
    Ansi,
}

/// Characters of one source line that are shown at most.
const MAX_LINE_BYTES: usize = 160;
/// Characters of context kept before the first marked place of a long line.
const BYTES_BEFORE_PLACE: usize = 60;
/// Characters of a message, label or hint shown at most; they may quote the user's own huge tokens.
const MAX_MESSAGE_CHARACTERS: usize = 600;
/// Annotations further apart than this many lines are drawn in separate pictures.
const MAX_LINES_APART: usize = 6;

/// The diagnostic as text that ends with a line break.
pub fn render_diagnostic(diagnostic: &Diagnostic, sources: &Sources, colour: Colour) -> String {
    let mut marks = vec![mark(sources, diagnostic.span, &diagnostic.label, AnnotationKind::Primary)];
    marks.extend(diagnostic.also.iter().map(|(span, label)| mark(sources, *span, label, AnnotationKind::Context)));
    let pictures = pictures(sources, marks);

    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut group = Group::with_title(level.primary_title(clip(&diagnostic.message)).id(diagnostic.code.0));
    for picture in &pictures {
        let mut snippet = Snippet::source(&*picture.text)
            .line_start(picture.first_line)
            .fold(true)
            .annotations(picture.marks.iter().map(|m| m.kind.span(m.start..m.end).label(label_of(&m.label))));
        // The library computes the column from the text it is given, which is wrong where the line's left is cut.
        if picture.cut {
            group = group.element(Origin::path(&*picture.name).line(picture.line).char_column(picture.column));
        } else {
            snippet = snippet.path(&*picture.name);
        }
        group = group.element(snippet);
    }
    for hint in &diagnostic.hints {
        group = group.element(Level::HELP.message(clip(hint)));
    }
    let renderer = match colour {
        Colour::Plain => Renderer::plain(),
        Colour::Ansi => Renderer::styled(),
    };
    let mut text = renderer.render(&[group]);
    text.push('\n');
    text
}

/// All diagnostics, in order, separated by blank lines.
pub fn render_all(diagnostics: &[Diagnostic], sources: &Sources, colour: Colour) -> String {
    let texts: Vec<String> = diagnostics.iter().map(|d| render_diagnostic(d, sources, colour)).collect();
    texts.join("\n")
}

/// A marked range: first in bytes of its line, later in bytes of its picture.
struct LabelledRange {
    file: Option<SourceId>,
    line: usize,
    column: usize,
    start: usize,
    end: usize,
    label: String,
    kind: AnnotationKind,
}

/// Some consecutive lines of one file with the marks on them.
struct CaretPicture {
    name: String,
    /// Place of the most important mark.
    line: usize,
    column: usize,
    first_line: usize,
    text: String,
    /// Whether the left end of a line is not shown.
    cut: bool,
    marks: Vec<LabelledRange>,
}

fn mark(sources: &Sources, span: Span, label: &str, kind: AnnotationKind) -> LabelledRange {
    let label = clip(label);
    let Some(file) = sources.get(span.file) else {
        return LabelledRange { file: None, line: 1, column: 1, start: 0, end: 0, label, kind };
    };
    let length = u32::try_from(file.text.len()).unwrap_or(u32::MAX);
    let offset = span.start.min(length);
    let (line, column) = file.position(offset);
    let text = file.line(line);
    let line_start = file.line_start(line);
    let start = floor(text, (offset as usize).saturating_sub(line_start));
    let end = (span.end.max(offset) as usize).saturating_sub(line_start);
    // The caret is at least one character wide where there is a character.
    let end = ceil(text, end.max(start + 1));
    LabelledRange { file: Some(span.file), line, column, start, end, label, kind }
}

fn pictures(sources: &Sources, marks: Vec<LabelledRange>) -> Vec<CaretPicture> {
    // The primary mark opens the first picture; others join a picture that is near or open their own.
    let mut groups: Vec<Vec<LabelledRange>> = Vec::new();
    for mark in marks {
        let near = |group: &&mut Vec<LabelledRange>| {
            group.iter().any(|m| m.file == mark.file && m.line.abs_diff(mark.line) <= MAX_LINES_APART)
        };
        match groups.iter_mut().find(near) {
            Some(group) => group.push(mark),
            None => groups.push(vec![mark]),
        }
    }
    groups.into_iter().map(|marks| picture(sources, marks)).collect()
}

fn picture(sources: &Sources, mut marks: Vec<LabelledRange>) -> CaretPicture {
    let (line, column, file) = (marks[0].line, marks[0].column, marks[0].file.and_then(|f| sources.get(f)));
    let first_line = marks.iter().map(|m| m.line).min().unwrap_or(1);
    let last_line = marks.iter().map(|m| m.line).max().unwrap_or(1);
    let mut text = String::new();
    let mut cut = false;
    for number in first_line..=last_line {
        let whole = file.map_or("", |f| f.line(number));
        let at = text.len();
        let leftmost = marks.iter().filter(|m| m.line == number).map(|m| m.start).min().unwrap_or(0);
        let (from, to) = window(whole, leftmost);
        cut |= from > 0;
        let dots = if from > 0 { "..." } else { "" };
        text.push_str(dots);
        text.push_str(&whole[from..to]);
        let shown = at + dots.len();
        for mark in marks.iter_mut().filter(|m| m.line == number) {
            let inside = |offset: usize| shown + offset.clamp(from, to) - from;
            (mark.start, mark.end) = (inside(mark.start), inside(mark.end));
        }
        if to < whole.len() {
            text.push_str("...");
        }
        text.push('\n');
    }
    let name = file.map_or("<unknown>".to_owned(), |f| clip(&f.name));
    CaretPicture { name, line, column, first_line, text, cut, marks }
}

/// The bytes of a line that are shown.
fn window(line: &str, leftmost: usize) -> (usize, usize) {
    if line.len() <= MAX_LINE_BYTES {
        return (0, line.len());
    }
    let from = if leftmost <= BYTES_BEFORE_PLACE { 0 } else { floor(line, leftmost - BYTES_BEFORE_PLACE) };
    (from, ceil(line, (from + MAX_LINE_BYTES).min(line.len())))
}

fn floor(text: &str, mut offset: usize) -> usize {
    offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

fn ceil(text: &str, mut offset: usize) -> usize {
    offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset += 1;
    }
    offset
}

fn clip(text: &str) -> String {
    match text.char_indices().nth(MAX_MESSAGE_CHARACTERS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

fn label_of(label: &str) -> Option<&str> {
    if label.is_empty() { None } else { Some(label) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::DiagnosticCode;
    use crate::ids::Id;

    const E: DiagnosticCode = DiagnosticCode("E0102");

    fn plain(text: &str, start: usize, end: usize) -> String {
        let mut sources = Sources::new();
        let file = sources.add("a.tp", text);
        let diagnostic = Diagnostic::error(E, Span::new(file, start, end), "something is wrong").label("here");
        render_diagnostic(&diagnostic, &sources, Colour::Plain)
    }

    #[test]
    fn check_a_message_has_code_place_caret_label_and_hint() {
        let mut sources = Sources::new();
        let file = sources.add("a.tp", "var x: int;\nvar x: bool;\n");
        let diagnostic = Diagnostic::error(E, Span::new(file, 16, 17), "`x` is declared twice")
            .label("declared again")
            .also(Span::new(file, 4, 5), "first declared here")
            .hint("give one of them another name");
        let text = render_diagnostic(&diagnostic, &sources, Colour::Plain);
        let expected = "\
error[E0102]: `x` is declared twice
 --> a.tp:2:5
  |
1 | var x: int;
  |     - first declared here
2 | var x: bool;
  |     ^ declared again
  |
  = help: give one of them another name
";
        assert_eq!(text, expected);
        assert!(render_diagnostic(&diagnostic, &sources, Colour::Ansi).contains('\u{1b}'));
        assert!(!text.contains('\u{1b}'));
    }

    #[test]
    fn check_places_in_other_files_get_their_own_picture() {
        let mut sources = Sources::new();
        let one = sources.add("one.tp", "abc");
        let two = sources.add("two.tp", "\n\nxyz");
        let diagnostic = Diagnostic::warning(E, Span::new(one, 0, 3), "m").also(Span::new(two, 2, 5), "see");
        let text = render_diagnostic(&diagnostic, &sources, Colour::Plain);
        assert!(text.starts_with("warning[E0102]: m\n"));
        assert!(text.contains("one.tp:1:1") && text.contains("two.tp:3:1") && text.contains("3 | xyz"), "{text}");
    }

    #[test]
    fn check_a_ten_megabyte_line_is_trimmed_and_keeps_its_column() {
        let mut text = "x".repeat(10_000_000);
        text.push_str("BAD");
        text.push_str(&"y".repeat(1_000_000));
        let out = plain(&text, 10_000_000, 10_000_003);
        assert!(out.contains("a.tp:1:10000001"), "{out}");
        assert!(out.contains("xBADy") && out.contains("^^^"), "{out}");
        assert!(out.len() < 2_000);
    }

    #[test]
    fn check_any_span_renders() {
        for text in ["", "\n", "a\tb\r\nc", "\u{e9}\u{4e2d}\u{1f600}\0\u{301}z\n\n", "x\ny"] {
            for start in 0..text.len() + 3 {
                for end in 0..text.len() + 3 {
                    assert!(plain(text, start, end).starts_with("error[E0102]: something"));
                }
            }
            plain(text, u32::MAX as usize, u32::MAX as usize);
        }
        let nowhere = Diagnostic::error(E, Span::new(SourceId::from_index(7), 3, 4), "m");
        assert!(render_diagnostic(&nowhere, &Sources::new(), Colour::Plain).contains("<unknown>"));
    }

    #[test]
    fn check_the_column_counts_characters() {
        assert!(plain("\u{e9}\u{e9}x", 4, 5).contains("a.tp:1:3"));
        assert!(plain("\tx", 1, 2).contains("a.tp:1:2"));
    }
}
