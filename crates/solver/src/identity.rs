//! What a program that the user put in the place of cvc5 says that it is.
//!
//! In: a command that reads SMT-LIB. Out: its name and version by its own word (`get-info`), within a few seconds. A program that calls itself
//! anything but cvc5 does not count as cvc5: it may be the very solver that finds proofs, and then it is no second opinion.
//! Deliberately absent: the cvc5 that the build brought, which needs no question.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::channel;
use std::time::Duration;

const MAX_ANSWER_TIME: Duration = Duration::from_secs(5);
/// More than any answer to the two questions.
const MAX_OUTPUT_BYTES: u64 = 4096;

/// The name of the solver that THREADPROOF_CVC5 names, or a sentence why it is not used; `None` where the variable is not set.
pub fn named_cvc5() -> Option<Result<String, String>> {
    static ASKED: OnceLock<Option<Result<String, String>>> = OnceLock::new();
    let asked = || {
        std::env::var_os("THREADPROOF_CVC5").filter(|v| !v.is_empty())?;
        Some(identify(&z3_provider::cvc5_command()?))
    };
    ASKED.get_or_init(asked).clone()
}

/// `cvc5` and its version, if the program says so.
fn identify(command: &[String]) -> Result<String, String> {
    let shown = command.first().cloned().unwrap_or_default();
    let answer = answer(command).map_err(|why| format!("{shown} is not used as cvc5: {why}"))?;
    let value = |key: &str| {
        let (_, rest) = answer.split_once(key)?;
        rest.split('"').nth(1).map(str::to_string)
    };
    match value(":name") {
        Some(name) if name == "cvc5" => {
            let version = value(":version").map_or_else(String::new, |v| format!(" {v}"));
            Ok(format!("cvc5{version} ({shown})"))
        }
        Some(name) => Err(format!("{shown} is not used as cvc5: it says that it is {name}")),
        None => Err(format!("{shown} is not used as cvc5: it does not say what it is")),
    }
}

fn answer(command: &[String]) -> Result<String, String> {
    let (program, arguments) = command.split_first().ok_or("there is no command")?;
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| e.to_string())?;
    if let Some(mut input) = child.stdin.take() {
        // A program that does not read shows in its answer.
        let _ = input.write_all(b"(get-info :name)\n(get-info :version)\n(exit)\n");
    }
    let (say, said) = channel();
    if let Some(output) = child.stdout.take() {
        std::thread::spawn(move || {
            let mut text = String::new();
            let _ = output.take(MAX_OUTPUT_BYTES).read_to_string(&mut text);
            let _ = say.send(text);
        });
    }
    let text = said.recv_timeout(MAX_ANSWER_TIME);
    let _ = child.kill();
    let _ = child.wait();
    text.map_err(|_| "it does not answer".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(script: &str) -> Result<String, String> {
        identify(&["sh".into(), "-c".into(), script.into()])
    }

    #[test]
    fn check_only_what_calls_itself_cvc5_is_cvc5() {
        let honest = says(r#"echo '(:name "cvc5")'; echo '(:version "1.2.3")'"#);
        assert_eq!(honest, Ok("cvc5 1.2.3 (sh)".into()));
        let other = says(r#"echo '(:name "Z3")'; echo '(:version "5.4.0")'"#);
        assert_eq!(other, Err("sh is not used as cvc5: it says that it is Z3".into()));
        assert!(says("echo unsat").is_err_and(|why| why.contains("does not say")));
        assert!(says("exit 3").is_err_and(|why| why.contains("does not say")));
        assert!(identify(&["/no/such/solver".into()]).is_err());
    }
}
