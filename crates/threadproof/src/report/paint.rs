//! Colours, where the output is a terminal and the user did not refuse them.

use crate::cli::ColourChoice;
use crate::outcome::RowOutcome;
use anstream::AutoStream;
use anstyle::{AnsiColor, Style};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    Plain,
    Ansi,
}

impl Paint {
    /// `--color` leads; else what standard output and the environment say (`NO_COLOR`, `CLICOLOR_FORCE`, `TERM`), as `anstream` reads it.
    pub fn choose(choice: ColourChoice) -> Self {
        match choice {
            ColourChoice::Always => Paint::Ansi,
            ColourChoice::Never => Paint::Plain,
            ColourChoice::Auto => match AutoStream::choice(&std::io::stdout()) {
                anstream::ColorChoice::Never => Paint::Plain,
                _ => Paint::Ansi,
            },
        }
    }
    fn styled(self, style: Style, text: &str) -> String {
        match self {
            Paint::Plain => text.to_string(),
            Paint::Ansi => format!("{style}{text}{style:#}"),
        }
    }
    pub fn bold(self, text: &str) -> String {
        self.styled(Style::new().bold(), text)
    }
    pub fn faint(self, text: &str) -> String {
        self.styled(Style::new().dimmed(), text)
    }
    pub fn alarm(self, text: &str) -> String {
        self.coloured(AnsiColor::Red, text)
    }
    pub fn outcome(self, outcome: RowOutcome, text: &str) -> String {
        let colour = match outcome {
            RowOutcome::Safe => AnsiColor::Green,
            RowOutcome::Unsafe => AnsiColor::Red,
            RowOutcome::Unknown => AnsiColor::Yellow,
        };
        self.coloured(colour, text)
    }
    fn coloured(self, colour: AnsiColor, text: &str) -> String {
        self.styled(colour.on_default().bold(), text)
    }
}
