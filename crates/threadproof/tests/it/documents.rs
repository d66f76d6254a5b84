//! The documents: links lead somewhere, every page can be reached from the README, every program is decided, every command does what is shown.
//!
//! Blocks marked `tp`, `c` or `java` are whole programs, verified here; `file=NAME` keeps one for the commands of its page. Blocks marked `console` are commands (`$ ..`) with what they
//! print: each line that is shown must be printed, in this order; `...` stands for any lines. What is marked `fragment` is no program.

use crate::{Scratch, root};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A fenced block: the line it begins in, its marks, its text.
struct FencedBlock {
    line: usize,
    marks: Vec<String>,
    text: String,
}

fn blocks(text: &str) -> Vec<FencedBlock> {
    let mut out: Vec<FencedBlock> = Vec::new();
    let mut open: Option<FencedBlock> = None;
    for (index, line) in text.lines().enumerate() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(marks), None) => {
                let marks = marks.split_whitespace().map(str::to_string).collect();
                open = Some(FencedBlock { line: index + 1, marks, text: String::new() });
            }
            (Some(_), Some(_)) => out.extend(open.take()),
            (None, Some(block)) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "every block is closed");
    out
}

fn documents() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder can be read").flatten() {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            match path.is_dir() {
                true if !name.starts_with('.') && !matches!(name.as_str(), "target" | "node_modules") => {
                    open.push(path)
                }
                false if name.ends_with(".md") => found.push(path),
                _ => {}
            }
        }
    }
    found.sort();
    found
}

/// The files of this repository that a document leads to.
fn links(document: &Path) -> Vec<PathBuf> {
    let text = std::fs::read_to_string(document).expect("a document can be read");
    let folder = document.parent().expect("a document is in a folder");
    let mut prose = String::new();
    let mut is_block = false;
    for line in text.lines() {
        is_block ^= line.starts_with("```");
        if !is_block {
            prose.push_str(line);
            prose.push('\n');
        }
    }
    let targets = prose.split("](").skip(1).map(|part| part.split(')').next().unwrap_or_default().to_string());
    let own = targets.map(|t| t.split('#').next().unwrap_or_default().to_string());
    own.filter(|t| !t.is_empty() && !t.contains("://") && !t.contains(char::is_whitespace))
        .map(|t| folder.join(t))
        .collect()
}

#[test]
fn check_every_document_is_reached_from_the_readme_and_every_link_leads_somewhere() {
    let mut open = vec![root().join("README.md")];
    let mut seen: BTreeSet<PathBuf> = open.iter().cloned().collect();
    while let Some(document) = open.pop() {
        for target in links(&document) {
            let Ok(target) = target.canonicalize() else {
                panic!("{}: the link to {} leads nowhere", document.display(), target.display());
            };
            if target.extension().is_some_and(|e| e == "md") && seen.insert(target.clone()) {
                open.push(target);
            }
        }
    }
    let lost: Vec<PathBuf> = documents().into_iter().filter(|d| !seen.contains(d)).collect();
    assert!(lost.is_empty(), "no link leads to {lost:?}");
}

/// Programs that are decided within this are examples; a reader waits no longer.
const EXAMPLE_TIME: &str = "60s";

fn run(words: &[&str], folder: &Path) -> (String, i32) {
    let output = Command::new(env!("CARGO_BIN_EXE_threadproof"))
        .args(words)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .env("COLUMNS", "100")
        .output()
        .expect("the binary starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (text, output.status.code().unwrap_or(-1))
}

/// Whether the lines that are shown are printed in this order.
fn is_shown(shown: &str, printed: &str) -> Result<(), String> {
    let mut rest = printed.lines();
    let mut any = false;
    for line in shown.lines() {
        if line.trim() == "..." {
            any = true;
            continue;
        }
        let found = match any {
            true => rest.any(|l| l.trim_end() == line.trim_end()),
            false => rest.next().is_some_and(|l| l.trim_end() == line.trim_end()),
        };
        if !found {
            return Err(format!("`{line}` is not printed here"));
        }
        any = false;
    }
    match any || rest.next().is_none() {
        true => Ok(()),
        false => Err("more is printed than is shown".into()),
    }
}

/// Runs everything in one document.
fn try_document(name: &str) {
    let text = std::fs::read_to_string(root().join(name)).expect("the document is there");
    let scratch = Scratch::new(&format!("document-{}", name.replace('/', "-")));
    let (mut programs, mut commands, mut wrong) = (0, 0, Vec::new());
    for block in blocks(&text) {
        let at = format!("{name}:{}", block.line);
        let mark = block.marks.first().map_or("", String::as_str);
        let has = |word: &str| block.marks.iter().any(|m| m == word);
        let file = block.marks.iter().find_map(|m| m.strip_prefix("file="));
        match mark {
            "tp" | "c" | "java" if !has("fragment") => {
                let name = file.map_or_else(|| format!("Block{}.{mark}", block.line), str::to_string);
                let path = scratch.file(&name, &block.text);
                programs += 1;
                // What is kept for commands is verified by them.
                if file.is_none() {
                    let (printed, code) = run(&["verify", &path, "--time", EXAMPLE_TIME], Path::new(&scratch.path("")));
                    let wanted = if has("unsafe") { 1 } else { 0 };
                    if code != wanted {
                        wrong.push(format!("{at}: exit code {code}, not {wanted}:\n{printed}"));
                    }
                }
            }
            "console" => {
                for part in block.text.split("$ ").skip(1) {
                    let (line, shown) = part.split_once('\n').expect("a command is a line");
                    let mut words = line.split_whitespace();
                    let program = words.next().unwrap_or_default();
                    assert!(matches!(program, "threadproof" | "./threadproof"), "{at}: {line}");
                    let words: Vec<&str> = words.collect();
                    let from_root = words.iter().any(|w| w.starts_with("corpus/"));
                    let folder = if from_root { root() } else { PathBuf::from(scratch.path("")) };
                    let (printed, code) = run(&words, &folder);
                    commands += 1;
                    if let Err(why) = is_shown(shown, &printed) {
                        wrong.push(format!("{at}: $ {line}\n{why} (exit code {code}):\n{printed}"));
                    }
                }
            }
            _ => {
                let hidden =
                    block.text.lines().find(|l| l.starts_with("threadproof ") || l.starts_with("./threadproof verify"));
                assert!(
                    has("fragment") || hidden.is_none(),
                    "{at}: this command is not tested: mark it `console`: {hidden:?}"
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("{name}: {programs} programs, {commands} commands");
}

#[test]
fn check_the_readme_shows_what_is_printed() {
    try_document("README.md");
}

#[test]
fn check_the_tour_shows_what_is_printed() {
    try_document("docs/tour.md");
}

#[test]
fn check_the_gallery_shows_what_is_printed() {
    try_document("docs/gallery.md");
}

#[test]
fn check_the_programs_of_the_language_document_are_decided() {
    try_document("docs/language.md");
}

#[test]
fn check_the_programs_of_the_other_documents_are_decided() {
    let done = ["README.md", "docs/tour.md", "docs/gallery.md", "docs/language.md"];
    for document in documents() {
        let name = document.strip_prefix(root()).expect("it is in the repository").display().to_string();
        if !done.contains(&name.as_str()) {
            try_document(&name);
        }
    }
}

/// The pieces of code in the prose and the tables of a document.
fn spans(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut is_block = false;
    for line in text.lines() {
        is_block ^= line.starts_with("```");
        if !is_block {
            out.extend(line.split('`').skip(1).step_by(2).map(str::to_string));
        }
    }
    out
}

/// The options in a piece of code.
fn options(span: &str) -> Vec<&str> {
    let words = span.split(|c: char| c.is_whitespace() || "=,;:.()[]".contains(c));
    words.filter(|w| w.strip_prefix("--").is_some_and(|o| o.starts_with(|c: char| c.is_ascii_lowercase()))).collect()
}

#[test]
fn check_every_command_script_and_option_that_a_document_names_is_there() {
    let (manual, code) = run(&["manual"], &root());
    assert_eq!(code, 0, "{manual}");
    let manual = manual.replace("\\-", "-");
    let scripts = ["scripts", "benches"].map(|f| std::fs::read_dir(root().join(f)).expect("the folder is there"));
    let scripts =
        scripts.into_iter().flatten().flatten().map(|f| std::fs::read_to_string(f.path()).unwrap_or_default());
    let known = scripts.fold(manual.clone(), |all, text| all + &text);
    let mut wrong = Vec::new();
    for document in documents().into_iter().filter(|d| !d.ends_with("CHANGELOG.md")) {
        let text = std::fs::read_to_string(&document).expect("a document can be read");
        let mut say = |sentence: String| wrong.push(format!("{}: {sentence}", document.display()));
        for span in spans(&text) {
            let words: Vec<&str> = span.split_whitespace().collect();
            let first = words.first().copied().unwrap_or_default();
            let is_script =
                ["scripts/", "benches/"].iter().any(|f| first.starts_with(f)) && !first.contains(['*', '{']);
            if is_script && !root().join(first).exists() {
                say(format!("there is no `{first}`"));
            }
            let command =
                words.get(1).filter(|w| first == "threadproof" && w.starts_with(|c: char| c.is_ascii_lowercase()));
            if let Some(command) = command.filter(|c| !manual.contains(&format!("\n.SS {c}\n"))) {
                say(format!("there is no command {command}: `{span}`"));
            }
            if !words
                .iter()
                .any(|w| matches!(*w, "cargo" | "valgrind" | "gcc" | "git" | "npm" | "npx" | "code" | "docker"))
            {
                options(&span)
                    .into_iter()
                    .filter(|o| !known.contains(o))
                    .for_each(|o| say(format!("there is no {o}: `{span}`")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn check_a_line_that_is_not_printed_is_noticed() {
    assert_eq!(is_shown("a\n...\nd\n", "a\nb\nc\nd\n"), Ok(()));
    assert_eq!(is_shown("a\n...\n", "a\nb\n"), Ok(()));
    for (shown, printed) in [("a\n", "a\nb\n"), ("b\n", "a\nb\n"), ("...\nd\nc\n...\n", "c\nd\n"), ("a\nx\n", "a\n")] {
        assert!(is_shown(shown, printed).is_err(), "{shown:?} {printed:?}");
    }
}
