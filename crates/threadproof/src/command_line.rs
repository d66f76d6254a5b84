//! The program `threadproof`: from arguments to the command they name.
//!
//! In: the arguments of the process. Out: its exit code; whatever a command prints is printed. Deliberately absent: what a command does.

use crate::board::exit;
use crate::cli::{Command, CommandLine};
use crate::report::paint::Paint;
use crate::{commands, lsp, manual, output, strategy, watch};
use clap::{CommandFactory, Parser};

/// Runs the program `threadproof` with the arguments of this process, and ends the process.
pub fn run_and_exit() -> ! {
    // A panic is part of the report, not as a trace of our own code in the middle of it.
    std::panic::set_hook(Box::new(|_| {}));
    let code = match CommandLine::try_parse() {
        Err(error) => {
            let _ = error.print();
            if error.use_stderr() { exit::USAGE } else { exit::SAFE }
        }
        Ok(request) => match strategy::guarded(|| run(request)) {
            Ok(code) => code,
            Err(panic) => output::of_panic(&panic).unwrap_or_else(|| {
                eprintln!("internal error: {panic}\nPlease report this, with the program.");
                exit::INTERNAL
            }),
        },
    };
    watch::exit_process(code)
}

/// Proofs need Z3: where its library is missing one sentence says so, and not every method for itself.
fn missing_solver(command: &Command) -> Option<String> {
    if !matches!(command, Command::Verify(_) | Command::Audit(_) | Command::Propose(_)) {
        return None;
    }
    let why = z3_provider::missing_z3()?;
    Some(format!(
        "error: the solver Z3 is missing: {why}\n  to mend it: put libz3 (version {}.{}) beside the program, or set THREADPROOF_Z3_DIR to the folder \
         it is in; `scripts/release` makes an archive with everything the program needs",
        z3_provider::Z3_VERSION.0,
        z3_provider::Z3_VERSION.1
    ))
}

fn run(request: CommandLine) -> i32 {
    if let Some(sentence) = missing_solver(&request.command) {
        eprintln!("{sentence}");
        return exit::INTERNAL;
    }
    let paint = Paint::choose(request.color);
    match request.command {
        Command::Verify(verify) => commands::verify::run_verify(*verify, paint),
        Command::Fmt(fmt) => commands::fmt::run_fmt(fmt, paint),
        Command::Lsp => lsp::serve_client(),
        Command::Manual => manual::manual_page()
            .map_err(|_| exit::OUTPUT_LOST)
            .and_then(|text| output::write_all(&text))
            .map_or_else(|lost| lost, |()| exit::SAFE),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut CommandLine::command(), "threadproof", &mut text);
            output::write_all(&text).map_or_else(|lost| lost, |()| exit::SAFE)
        }
        Command::Audit(audit) => commands::audit::run_audit(audit, paint),
        Command::Simulate(simulate) => commands::simulate::run_simulate(simulate, paint),
        Command::Show(show) => commands::show::run_show(show, paint),
        Command::Propose(propose) => commands::propose::run_propose(propose, paint),
    }
}
