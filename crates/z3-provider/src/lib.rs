//! Where the solvers are: what the build script brought, and what the environment or the installation puts in its place.
//!
//! In: paths fixed at build time, the folder of the running program, `THREADPROOF_Z3_DIR` (a folder with libz3),
//! `THREADPROOF_CVC5` and `THREADPROOF_Z3`.
//! Out: the version of Z3 that is needed, commands that start Z3 and cvc5 as separate processes reading SMT-LIB, the
//! functions of libz3 (`library`), and `open_z3`, which must come before the first of them.
//! Deliberately absent: any use of a solver.

use std::path::PathBuf;

pub mod library;

/// The Z3 whose answers we measured and whose enumerations match the binding; anything else is refused at the first question.
pub const Z3_VERSION: (u32, u32, u32) = (5, 4, 0);

/// Opens libz3: beside the running program, where the environment says, or where the build found it. The first call
/// pays for it.
pub fn open_z3() -> Result<(), &'static str> {
    library::open(&z3_folders())
}

/// Why there is no libz3, if there is none; it is looked for and not opened.
pub fn missing_z3() -> Option<String> {
    library::missing(&z3_folders())
}

/// Where libz3 and the program z3 may be, in the order in which they are tried.
fn z3_folders() -> Vec<PathBuf> {
    let named = std::env::var_os("THREADPROOF_Z3_DIR").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    // Who names a folder means it, and not another one that a build once used.
    let found_by_the_build = option_env!("THREADPROOF_Z3_FOLDER").map(PathBuf::from).filter(|_| named.is_none());
    own_folder().into_iter().chain(named).chain(found_by_the_build).collect()
}

/// A command that starts cvc5 as a reader of SMT-LIB on standard input, if there is one on this machine.
pub fn cvc5_command() -> Option<Vec<String>> {
    if let Some(command) = from_environment("THREADPROOF_CVC5") {
        return command;
    }
    let mut candidates = Vec::new();
    if let Some(folder) = own_folder() {
        candidates.push(folder.join("cvc5-pipe"));
    }
    if let Some(built) = option_env!("THREADPROOF_CVC5_PIPE") {
        candidates.push(PathBuf::from(built));
    }
    if let Some(pipe) = candidates.into_iter().find(|path| path.is_file()) {
        return Some(vec![pipe.display().to_string()]);
    }
    let installed = on_path("cvc5")?;
    Some(vec![installed.display().to_string(), "--incremental".into(), "--lang=smt2".into(), "-".into()])
}

/// A command that starts Z3 5.4.0 as a reader of SMT-LIB on standard input.
pub fn z3_command() -> Option<Vec<String>> {
    if let Some(command) = from_environment("THREADPROOF_Z3") {
        return command;
    }
    let program = z3_folders().into_iter().map(|folder| folder.join("z3")).find(|path| path.is_file())?;
    Some(vec![program.display().to_string(), "-in".into(), "-smt2".into()])
}

/// A command given by the user, arguments separated by blanks; set but empty means that there is none.
fn from_environment(name: &str) -> Option<Option<Vec<String>>> {
    let text = std::env::var(name).ok()?;
    let arguments: Vec<String> = text.split_whitespace().map(str::to_string).collect();
    Some((!arguments.is_empty()).then_some(arguments))
}

fn own_folder() -> Option<PathBuf> {
    Some(std::env::current_exe().ok()?.parent()?.to_path_buf())
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    fn answers(command: &[String], text: &str) -> String {
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the solver starts");
        child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("the solver reads");
        String::from_utf8(child.wait_with_output().expect("the solver ends").stdout).expect("text")
    }

    const TWO_QUESTIONS: &str = "(set-logic ALL)(declare-const x Int)(assert (and (< 1 x) (< x 2)))(check-sat)(reset)
        (set-logic ALL)(declare-const x Int) ; a comment with ) and |
        (assert (= x (- 3)))(check-sat)(get-value (x))(exit)";

    #[test]
    fn check_z3_answers_over_a_pipe() {
        let command = z3_command().expect("the build script brought z3");
        assert_eq!(answers(&command, TWO_QUESTIONS), "unsat\nsat\n((x (- 3)))\n");
    }

    #[test]
    fn check_cvc5_answers_over_a_pipe() {
        let Some(command) = cvc5_command() else { return };
        let text = format!(
            "(set-option :produce-models true){}",
            TWO_QUESTIONS.replace("(reset)", "(reset)(set-option :produce-models true)")
        );
        assert_eq!(answers(&command, &text), "unsat\nsat\n((x (- 3)))\n");
    }
}
