//! From a file on disk to preprocessed text whose every byte maps back to the user's file.
//!
//! In: a path. A `.i` file is taken as it stands and its places are its own; a `.c` file goes through the
//! system's preprocessor and its line markers are followed back to the file and line the user wrote (columns too,
//! except inside a macro's expansion, where the column is that of the use as far as the preprocessor kept it).
//! Out: `Preprocessed`. Absent: a preprocessor of our own.

use super::CSource;
use super::types::DataModel;
use base::{Diagnostic, DiagnosticCode, SourceId, Sources, Span};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

pub(crate) const NO_PREPROCESSOR: DiagnosticCode = DiagnosticCode("C0001");
pub(crate) const PREPROCESSOR_FAILED: DiagnosticCode = DiagnosticCode("C0002");

/// Preprocessed text and the way back.
#[derive(Clone, Debug)]
pub(crate) struct Preprocessed {
    pub text: String,
    pub main: SourceId,
    /// For each line of `text` its file and line; `None` when the text is the main file itself.
    lines: Option<Vec<(SourceId, u32)>>,
    starts: Vec<u32>,
    /// Where text of a file of our own begins that was appended, and its source.
    appended: Option<(usize, SourceId)>,
}

impl Preprocessed {
    /// Text that is its own source.
    pub(crate) fn as_is(main: SourceId, text: String) -> Self {
        let starts = line_starts(&text);
        Self { text, main, lines: None, starts, appended: None }
    }

    /// Reads the line markers of preprocessed text. Files named there are loaded for their places to be shown.
    pub(crate) fn with_markers(sources: &mut Sources, main: SourceId, text: String) -> Self {
        let main_name = sources.file(main).name.clone();
        let mut known: Vec<(String, SourceId)> = vec![(main_name, main), ("<stdin>".into(), main)];
        // A header that an earlier file of the program has included is the same file.
        let earlier = sources.ids().filter(|id| *id != main);
        known.extend(earlier.map(|id| (sources.file(id).name.clone(), id)));
        let mut lines = Vec::new();
        let (mut file, mut line) = (main, 1u32);
        for text_line in text.lines() {
            lines.push((file, line));
            match marker(text_line) {
                Some((next, name)) => {
                    file = match known.iter().find(|(n, _)| *n == name) {
                        Some((_, id)) => *id,
                        None => {
                            let content = std::fs::read(&name).unwrap_or_default();
                            let id = sources.add(&name, String::from_utf8_lossy(&content).into_owned());
                            known.push((name, id));
                            id
                        }
                    };
                    line = next;
                }
                None => line += 1,
            }
        }
        let starts = line_starts(&text);
        Self { text, main, lines: Some(lines), starts, appended: None }
    }

    /// Appends a text of our own, with places of its own.
    pub(crate) fn append(&mut self, sources: &mut Sources, name: &str, text: &str) {
        self.text.push('\n');
        self.appended = Some((self.text.len(), sources.add(name, text)));
        self.text.push_str(text);
    }

    /// The length of the text without what was appended.
    pub(crate) fn own_length(&self) -> usize {
        self.appended.map_or(self.text.len(), |(at, _)| at - 1)
    }

    /// The place in the user's file of a byte range of the preprocessed text.
    pub(crate) fn span(&self, sources: &Sources, start: usize, end: usize) -> Span {
        if let Some((from, file)) = self.appended
            && start >= from
        {
            return Span::new(file, start - from, end.max(start) - from);
        }
        let Some(lines) = &self.lines else { return Span::new(self.main, start, end) };
        let (file, from) = self.point(lines, sources, start);
        let (other, to) = self.point(lines, sources, end);
        let written = sources.file(file).text.get(from..to.max(from)).unwrap_or("");
        let same = self.text.get(start..end).is_some_and(|t| t.split_whitespace().eq(written.split_whitespace()));
        if file == other && same {
            return Span::new(file, from, to);
        }
        // Made by a macro: the line that uses it.
        let line = sources.file(file).position(from as u32).0;
        let text = sources.file(file).line(line);
        let begin = (text.as_ptr() as usize).saturating_sub(sources.file(file).text.as_ptr() as usize);
        if text.is_empty() || begin > sources.file(file).text.len() {
            return Span::new(file, from, from);
        }
        let indent = text.len() - text.trim_start().len();
        Span::new(file, begin + indent, begin + text.trim_end().len())
    }

    fn point(&self, lines: &[(SourceId, u32)], sources: &Sources, offset: usize) -> (SourceId, usize) {
        let row = self.starts.partition_point(|&s| s as usize <= offset).max(1) - 1;
        let Some(&(file, line)) = lines.get(row) else { return (self.main, 0) };
        let column = offset - self.starts[row] as usize;
        let source = sources.file(file);
        let text = source.line(line as usize);
        // The line's own start is found from its address inside the file's text.
        let start = (text.as_ptr() as usize).saturating_sub(source.text.as_ptr() as usize);
        if start > source.text.len() {
            return (file, source.text.len());
        }
        let mut column = column.min(text.len());
        while !text.is_char_boundary(column) {
            column -= 1;
        }
        (file, start + column)
    }
}

fn line_starts(text: &str) -> Vec<u32> {
    let mut starts = vec![0];
    starts.extend(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i as u32 + 1));
    starts
}

/// Reads `# 12 "name" flags` and `#line 12 "name"`.
fn marker(line: &str) -> Option<(u32, String)> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start();
    let rest = rest.strip_prefix("line").unwrap_or(rest).trim_start();
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let number = rest[..digits].parse().ok()?;
    let name = rest[digits..].trim_start().strip_prefix('"')?;
    let name = &name[..name.rfind('"')?];
    Some((number, name.replace("\\\\", "\\").replace("\\\"", "\"")))
}

/// Loads a file and preprocesses it if its name does not end in `.i`.
pub(crate) fn preprocess_file(
    sources: &mut Sources,
    file: &CSource,
    model: DataModel,
) -> Result<Preprocessed, Box<Diagnostic>> {
    let path = file.path.as_path();
    let main = sources.add(path.display().to_string(), file.text.clone());
    let text = super::contracts::with_contracts(&file.text).map_err(|bad| {
        let place = Span::new(main, bad.at, bad.at + 3);
        Box::new(Diagnostic::error(super::BAD_SPECIFICATION, place, bad.why))
    })?;
    let text = super::annotations::with_assertions(&text);
    if path.extension().is_some_and(|e| e == "i") {
        return Ok(Preprocessed::as_is(main, text));
    }
    // A file without directives needs no preprocessor, so it can be read where there is none.
    let directives = text.lines().any(|l| l.trim_start().starts_with('#'));
    if file.flags.is_empty() && !directives && !uses_predefined_macros(&text) {
        return Ok(Preprocessed::as_is(main, text));
    }
    let output = run_preprocessor(file, &text, model, main)?;
    Ok(Preprocessed::with_markers(sources, main, output))
}

fn uses_predefined_macros(text: &str) -> bool {
    ["__LINE__", "__FILE__", "__INT_MAX__", "__COUNTER__", "__LONG_MAX__", "__SIZE_TYPE__"]
        .iter()
        .any(|m| text.contains(m))
}

/// Runs `gcc -E` or else `cpp` with the text on standard input, so that text in memory can be read as well.
fn run_preprocessor(file: &CSource, text: &str, model: DataModel, main: SourceId) -> Result<String, Box<Diagnostic>> {
    let (path, place) = (file.path.as_path(), Span::new(main, 0, 0));
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // The headers must be those of the data model: their constants are not ours to size.
    let width = if model == DataModel::Ilp32 { "-m32" } else { "-m64" };
    for (program, arguments) in [("gcc", &["-E", "-x", "c"][..]), ("cpp", &[][..]), ("clang", &["-E", "-x", "c"][..])] {
        let mut command = Command::new(program);
        // Classes of characters are functions to us, and no table of the C library.
        command.args(arguments).arg("-w").arg("-D__NO_CTYPE").arg("-I").arg(folder).args(&file.flags).arg(width);
        command.arg("-").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let Ok(mut child) = command.spawn() else { continue };
        if let Some(mut stdin) = child.stdin.take() {
            let text = text.to_string();
            // Written from a thread of its own: the preprocessor may fill its output pipe before it has read all.
            std::thread::spawn(move || {
                let _ = stdin.write_all(text.as_bytes());
            });
        }
        let Ok(output) = child.wait_with_output() else { continue };
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let first = said.lines().find(|l| l.contains("error")).unwrap_or("no message").replace("<stdin>", "input");
        let line = first.split(':').nth(1).and_then(|l| l.trim().parse::<usize>().ok());
        let start = line.map_or(0, |l| text.lines().take(l.saturating_sub(1)).map(|t| t.len() + 1).sum());
        let failed = Diagnostic::error(PREPROCESSOR_FAILED, Span::new(main, start, start), "the C preprocessor failed")
            .label(first);
        return Err(Box::new(match model {
            DataModel::Ilp32 => failed.hint(
                "ILP32 needs the headers of 32-bit programs (Debian: gcc-multilib); or give a preprocessed `.i` file, \
                 or check with --data-model lp64",
            ),
            DataModel::Lp64 => failed,
        }));
    }
    Err(Box::new(
        Diagnostic::error(
            NO_PREPROCESSOR,
            place,
            "this file has preprocessor directives and no preprocessor was found",
        )
        .hint("install gcc or cpp, or give a preprocessed file whose name ends in `.i`"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_markers_lead_back_to_file_and_line() {
        let mut sources = Sources::new();
        let main = sources.add("a.c", "#define X 1\nint a;\nint b = X;\n");
        let text = "# 0 \"<stdin>\"\n# 1 \"<built-in>\"\n# 1 \"<stdin>\"\n\nint a;\nint b = 1;\n".to_string();
        let pre = Preprocessed::with_markers(&mut sources, main, text.clone());
        let at = text.find("b =").unwrap();
        let span = pre.span(&sources, at, at + 1);
        assert_eq!(sources.place(span), "a.c:3:5");
        assert_eq!(sources.text(span), "b");
    }

    fn source(text: String) -> CSource {
        CSource { path: "t.c".into(), text, flags: Vec::new() }
    }

    #[test]
    fn check_flags_of_the_preprocessor_are_followed() {
        let mut file = source("int x = SIZE;\n".to_string());
        file.flags = vec!["-DSIZE=7".into()];
        let pre = preprocess_file(&mut Sources::new(), &file, DataModel::Lp64).unwrap();
        assert!(pre.text.contains("int x = 7;"), "{}", pre.text);
    }

    #[test]
    fn check_a_file_is_preprocessed_by_the_system() {
        let mut sources = Sources::new();
        let text = "#define TWO 2\nint x = TWO;\n".to_string();
        let pre = preprocess_file(&mut sources, &source(text), DataModel::Lp64).unwrap();
        assert!(pre.text.contains("int x = 2;"));
        let at = pre.text.find("int x").unwrap();
        assert_eq!(sources.place(pre.span(&sources, at, at)), "t.c:2:1");
    }

    #[test]
    fn check_headers_are_those_of_the_data_model_or_an_error() {
        let text = "#include <limits.h>\n#include <stdint.h>\nlong most = LONG_MAX;\n".to_string();
        let mut sources = Sources::new();
        match preprocess_file(&mut sources, &source(text), DataModel::Ilp32) {
            Ok(pre) => assert!(!pre.text.contains("0x7fffffffffffffff"), "the largest long of another model"),
            Err(said) => assert_eq!(said.code, PREPROCESSOR_FAILED),
        }
    }
}
