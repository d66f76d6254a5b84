//! The manual page: every command with every option, exit codes, what the environment says, examples.
//!
//! In: the command line as the parser knows it. Out: one page in roff, for `man -l`. Deliberately absent: what stands in the documents, which it names.

use crate::cli::CommandLine;
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use std::io::{Error, Write};

/// What follows the commands.
const CLOSING: &str = r#".SH "EXIT STATUS"
.TP
\fB0\fR
everything is safe
.TP
\fB1\fR
something is unsafe
.TP
\fB2\fR
something is unknown and nothing unsafe; with \fB\-\-strict\fR also: there are warnings
.TP
\fB64\fR, \fB65\fR
wrong usage; an input was rejected
.TP
\fB69\fR, \fB70\fR, \fB74\fR
a process of a search by several was lost; an internal error, or a solver is missing; the output could not be written
.SH ENVIRONMENT
.TP
\fBTHREADPROOF_Z3_DIR\fR
the folder with libz3, if it is not beside the program
.TP
\fBNO_COLOR\fR
no colours, wherever the output goes
.TP
\fBCOLUMNS\fR
how wide reports are where the output is no terminal
.SH EXAMPLES
.TP
\fBthreadproof verify bank.c \-\-check all \-\-html report.html\fR
everything about a C program, as a web page
.TP
\fBthreadproof verify models/ \-q \-\-junit results.xml\fR
every program of a folder, for continuous integration
.TP
\fBthreadproof verify lock.tp \-\-certificate proof.json && threadproof audit proof.json lock.tp\fR
a proof that is kept, and checked again by the other solver
"#;

pub fn manual_page() -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    let mut all = CommandLine::command();
    all.build();
    let page = Man::new(all.clone());
    page.render_title(&mut out)?;
    page.render_name_section(&mut out)?;
    page.render_synopsis_section(&mut out)?;
    page.render_description_section(&mut out)?;
    page.render_options_section(&mut out)?;
    writeln!(out, ".SH COMMANDS")?;
    for command in all.get_subcommands().filter(|c| c.get_name() != "help" && !c.is_hide_set()) {
        section_of(command, &mut out)?;
    }
    out.extend(CLOSING.as_bytes());
    page.render_version_section(&mut out)?;
    Ok(out)
}

/// A command with its options, one heading below that of all commands.
fn section_of(command: &Command, out: &mut Vec<u8>) -> Result<(), Error> {
    // What all commands share stands at the top.
    let own = command.clone().mut_args(|a| if a.is_global_set() || a.get_id() == "help" { a.hide(true) } else { a });
    let mut text = Vec::new();
    let page = Man::new(own);
    page.render_synopsis_section(&mut text)?;
    page.render_description_section(&mut text)?;
    page.render_options_section(&mut text)?;
    writeln!(out, ".SS {}", command.get_name())?;
    for line in String::from_utf8_lossy(&text).lines() {
        match line {
            ".SH SYNOPSIS" => {}
            ".SH DESCRIPTION" | ".SH OPTIONS" => writeln!(out, ".PP")?,
            line => writeln!(out, "{line}")?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::manual_page;

    #[test]
    fn check_the_manual_has_every_command_and_every_option() {
        let text = String::from_utf8(manual_page().expect("it is written to memory")).expect("it is text");
        for command in ["verify", "audit", "simulate", "show", "fmt", "propose", "lsp", "manual", "completions"] {
            assert!(text.contains(&format!("\n.SS {command}\n")), "{command}");
        }
        for option in ["html", "sarif", "certificate", "interactive", "machine", "check", "thread", "solver", "color"] {
            assert!(text.contains(&format!("\\-\\-{option}")), "{option}");
        }
        for hidden in ["member\\-of", "\\-\\-part"] {
            assert!(!text.contains(hidden), "{hidden}");
        }
        for section in
            ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "COMMANDS", "\"EXIT STATUS\"", "EXAMPLES", "VERSION"]
        {
            assert_eq!(text.matches(&format!(".SH {section}\n")).count(), 1, "{section}");
        }
    }
}
