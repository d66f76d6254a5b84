//! Which files make one C program.
//!
//! In: the paths of a request, folders already read: files, `compile_commands.json`, folders that hold one. Out: programs, each with the file that names it and the C files that are linked with it.
//! C files without a function `main` are linked with every one that has one; so `verify a.c b.c` is one program if one of them has `main`, and two if both have.
//! From compile commands come the options that the preprocessor takes (`-I`, `-D`, `-U`, `-std`, `-include` and their like), for each file its own.
//! Deliberately absent: archives, objects, options that change the meaning of code (`-fwrapv`, `-m32`).

use crate::cli::LinkedFile;
use crate::load::{Rejected, read_bytes};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A program of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkedProgram {
    /// The file that names it, with its flags.
    pub first: LinkedFile,
    pub others: Vec<LinkedFile>,
}

const COMPILE_COMMANDS: &str = "compile_commands.json";

/// The programs among these paths, in their order. What was found in a folder is linked with a `main` of its own folder or of one around it;
/// files that the user has named, and those of compile commands, with any.
pub fn programs_of(paths: &[PathBuf], named: &[PathBuf]) -> Result<Vec<LinkedProgram>, Rejected> {
    let mut files: Vec<LinkedFile> = Vec::new();
    for path in paths {
        if path.file_name().is_some_and(|n| n == COMPILE_COMMANDS) {
            files.extend(compile_commands(path)?);
        } else if path.join(COMPILE_COMMANDS).is_file() {
            files.extend(compile_commands(&path.join(COMPILE_COMMANDS))?);
        } else {
            files.push(LinkedFile { path: path.clone(), flags: Vec::new() });
        }
    }
    let is_c = |f: &LinkedFile| f.path.extension().is_some_and(|e| e == "c" || e == "i");
    let mut without_main = Vec::new();
    let mut programs: Vec<LinkedProgram> = Vec::new();
    let several = files.iter().filter(|f| is_c(f)).count() > 1;
    for file in files {
        // A file that cannot be read is reported where it is read.
        let text = if several && is_c(&file) { read_bytes(&file.path).ok() } else { None };
        match text {
            Some(text) if !defines_main(&String::from_utf8_lossy(&text)) => without_main.push(file),
            _ => programs.push(LinkedProgram { first: file, others: Vec::new() }),
        }
    }
    let found_in_folder = |f: &LinkedFile| paths.contains(&f.path) && !named.contains(&f.path);
    let belongs = |file: &LinkedFile, main: &LinkedFile| {
        let around = main.path.parent().is_some_and(|p| file.path.starts_with(p));
        !found_in_folder(file) || !found_in_folder(main) || around
    };
    let mut unused: Vec<LinkedFile> = without_main.clone();
    for program in programs.iter_mut().filter(|p| is_c(&p.first)) {
        program.others = without_main.iter().filter(|f| belongs(f, &program.first)).cloned().collect();
        unused.retain(|f| !program.others.contains(f));
    }
    // Without a `main` the front end says so; files that are named together are one program.
    let together = programs.iter().all(|p| !is_c(&p.first));
    while !unused.is_empty() {
        let first = unused.remove(0);
        let others = if together { std::mem::take(&mut unused) } else { Vec::new() };
        programs.push(LinkedProgram { first, others });
    }
    Ok(programs)
}

/// Whether `main (` stands in the text at the outermost level, outside of comments and texts, with a body after it.
pub fn defines_main(text: &str) -> bool {
    let code = without_comments(text);
    let bytes = code.as_bytes();
    let word = |c: u8| c.is_ascii_alphanumeric() || c == b'_';
    let mut depth = 0;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            c if depth == 0 && word(c) && !(at > 0 && word(bytes[at - 1])) => {
                let end = (at..bytes.len()).find(|e| !word(bytes[*e])).unwrap_or(bytes.len());
                let after = code[end..].trim_start();
                if &code[at..end] == "main" && after.starts_with('(') {
                    let closing = closing(after);
                    if closing.is_some_and(|c| !after[c + 1..].trim_start().starts_with(';')) {
                        return true;
                    }
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    false
}

/// Where the parenthesis closes that a text begins with.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// The text with comments, texts and directives made blank.
fn without_comments(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    let mut line_start = true;
    while let Some(c) = rest.chars().next() {
        let length = if rest.starts_with("//") || line_start && rest.trim_start_matches([' ', '\t']).starts_with('#') {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |e| e + 2)
        } else if c == '"' || c == '\'' {
            let mut escaped = true;
            let end = rest.char_indices().find(|(at, d)| {
                let ends = *at > 0 && !escaped && (*d == c || *d == '\n');
                escaped = *at > 0 && !escaped && *d == '\\';
                ends
            });
            end.map_or(rest.len(), |(at, d)| at + d.len_utf8())
        } else {
            out.push(c);
            line_start = c == '\n';
            rest = &rest[c.len_utf8()..];
            continue;
        };
        out.push(' ');
        rest = &rest[length..];
    }
    out
}

/// Options of compilers, by their beginnings, under which sizes, layouts or signs are not those of the data model.
const CHANGES_MEANING: [&str; 7] =
    ["-m32", "-mx32", "-m16", "-funsigned-char", "-fshort-enums", "-fshort-wchar", "-fpack-struct"];

/// The C files of a compilation database, each once, with what the preprocessor needs of their commands.
fn compile_commands(path: &Path) -> Result<Vec<LinkedFile>, Rejected> {
    let bad = |why: &str| Rejected(vec![format!("error: {}: {why}\n", path.display())]);
    let database: Value =
        serde_json::from_slice(&read_bytes(path)?).map_err(|e| bad(&format!("this is no JSON: {e}")))?;
    let entries = database.as_array().ok_or_else(|| bad("a compilation database is a list"))?;
    let mut files: Vec<LinkedFile> = Vec::new();
    for entry in entries {
        let text = |key: &str| entry.get(key).and_then(Value::as_str);
        let file = text("file").ok_or_else(|| bad("an entry has no `file`"))?;
        let beside = path.parent().unwrap_or(Path::new(".")).to_path_buf();
        let folder = text("directory").map_or(beside.clone(), |d| beside.join(d));
        let words: Vec<String> = match (entry.get("arguments").and_then(Value::as_array), text("command")) {
            (Some(list), _) => list.iter().filter_map(Value::as_str).map(str::to_string).collect(),
            (None, Some(command)) => shell_words(command),
            (None, None) => return Err(bad(&format!("the entry of {file} has neither `arguments` nor `command`"))),
        };
        if let Some(option) = words.iter().find(|w| CHANGES_MEANING.iter().any(|o| w.starts_with(o))) {
            return Err(bad(&format!(
                "{file} is compiled with {option}, which changes what C means and is not modelled"
            )));
        }
        let linked = LinkedFile { path: folder.join(file), flags: preprocessor_flags(&words, &folder) };
        if linked.path.extension().is_some_and(|e| e == "c") && !files.iter().any(|f| f.path == linked.path) {
            files.push(linked);
        }
    }
    if files.is_empty() {
        return Err(bad("no entry is about a C file"));
    }
    Ok(files)
}

/// The options of a compiler that its preprocessor takes; folders are those of the command's folder.
fn preprocessor_flags(words: &[String], folder: &Path) -> Vec<String> {
    const FOLDERS: [&str; 4] = ["-isystem", "-iquote", "-idirafter", "-I"];
    const OTHERS: [&str; 3] = ["-include", "-D", "-U"];
    let mut flags = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let takes = |options: &[&str]| options.iter().find(|o| word.starts_with(**o)).map(|o| (*o).to_string());
        if word.starts_with("-std=") || word == "-ansi" || word == "-pthread" {
            flags.push(word.clone());
        } else if let Some(option) = takes(&FOLDERS).or(takes(&OTHERS)) {
            let joined = &word[option.len()..];
            let argument =
                if joined.is_empty() { words.next().cloned().unwrap_or_default() } else { joined.to_string() };
            let argument = match takes(&FOLDERS) {
                Some(_) => folder.join(argument).display().to_string(),
                None => argument,
            };
            flags.extend([option, argument]);
        }
    }
    flags
}

/// A command split as a shell does: spaces, quotes, backslashes.
fn shell_words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut inside, mut quote) = (Vec::new(), String::new(), false, None);
    let mut letters = command.chars();
    while let Some(c) = letters.next() {
        match (c, quote) {
            ('\\', q) if q != Some('\'') => {
                word.extend(letters.next());
                inside = true;
            }
            (c, Some(q)) if c == q => quote = None,
            ('"' | '\'', None) => {
                quote = Some(c);
                inside = true;
            }
            (c, None) if c.is_whitespace() => {
                if inside {
                    words.push(std::mem::take(&mut word));
                }
                inside = false;
            }
            (c, _) => {
                word.push(c);
                inside = true;
            }
        }
    }
    if inside {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_a_main_is_one_only_at_the_outermost_level_with_a_body() {
        assert!(defines_main("int x; int main(void) { return 0; }"));
        assert!(defines_main("int\nmain (argc, argv) int argc; char **argv; { return '{'; }"));
        assert!(defines_main("char *s = \"}\"; /* } */ int main() {}"));
        assert!(!defines_main("int main(void); int f(void) { return main(); }"));
        assert!(!defines_main("// int main(void) {}\nint domain(int a) { return a; }\nchar *t = \"int main() {}\";"));
        assert!(!defines_main("#define RUN int main(void) { }\nint f(void) { return 0; }"));
    }

    #[test]
    fn check_files_found_in_a_folder_are_linked_with_mains_around_them_and_named_ones_with_any() {
        let folder = std::env::temp_dir().join(format!("threadproof-linking-{}", std::process::id()));
        let file = |name: &str, text: &str| {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            path
        };
        let main = file("a/main.c", "int main(void) { return 0; }");
        let below = file("a/lib/x.c", "int x;");
        let beside = file("b/y.c", "int y;");
        let all = [main.clone(), below.clone(), beside.clone()];
        let linked = |named: &[PathBuf]| -> Vec<(PathBuf, usize)> {
            let programs = programs_of(&all, named).unwrap();
            programs.into_iter().map(|p| (p.first.path, p.others.len())).collect()
        };
        assert_eq!(linked(std::slice::from_ref(&folder)), [(main.clone(), 1), (beside, 0)]);
        assert_eq!(linked(&all), [(main, 2)]);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn check_commands_are_split_as_a_shell_does() {
        let words = shell_words("cc -DA='x y' -I \"in c\" -DQ=\\\"q\\\" -c a.c");
        assert_eq!(words, ["cc", "-DA=x y", "-I", "in c", "-DQ=\"q\"", "-c", "a.c"]);
        let flags = preprocessor_flags(&words, Path::new("/p"));
        assert_eq!(flags, ["-D", "A=x y", "-I", "/p/in c", "-D", "Q=\"q\""]);
        let more = ["-Iinc", "-std=c11", "-O2", "-isystem", "sys", "-include", "a.h"].map(String::from);
        let flags = preprocessor_flags(&more, Path::new("/p"));
        assert_eq!(flags, ["-I", "/p/inc", "-std=c11", "-isystem", "/p/sys", "-include", "a.h"]);
    }
}
