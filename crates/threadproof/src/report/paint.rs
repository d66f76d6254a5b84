//! Colours, where the output is a terminal and the user did not refuse them.

use crate::cli::ColourChoice;
use crate::outcome::RowOutcome;
use std::io::IsTerminal;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    Plain,
    Ansi,
}

impl Paint {
    /// `NO_COLOR` (any text but the empty one) turns colour off; `--color` leads.
    pub fn choose(choice: ColourChoice) -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|v| v == "dumb");
        match choice {
            ColourChoice::Always => Paint::Ansi,
            ColourChoice::Never => Paint::Plain,
            ColourChoice::Auto if refused || dumb || !std::io::stdout().is_terminal() => Paint::Plain,
            ColourChoice::Auto => Paint::Ansi,
        }
    }
    fn code(self, code: &str, text: &str) -> String {
        match self {
            Paint::Plain => text.to_string(),
            Paint::Ansi => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }
    pub fn bold(self, text: &str) -> String {
        self.code("1", text)
    }
    pub fn faint(self, text: &str) -> String {
        self.code("2", text)
    }
    pub fn alarm(self, text: &str) -> String {
        self.code("1;31", text)
    }
    pub fn outcome(self, outcome: RowOutcome, text: &str) -> String {
        let code = match outcome {
            RowOutcome::Safe => "1;32",
            RowOutcome::Unsafe => "1;31",
            RowOutcome::Unknown => "1;33",
        };
        self.code(code, text)
    }
}
