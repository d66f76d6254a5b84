//! The binary: command line, strategy, reports. It uses every other crate and decides nothing about programs itself.
//!
//! In: arguments. Out: a report and an exit code. Verdicts come from the crate `checker` alone, through `judge`.

mod board;
mod cache;
mod cli;
mod commands;
mod judge;
mod leaves;
mod load;
mod progress;
mod report;
mod simulate;
mod strategy;
mod vacuous;
mod watch;

use board::exit;
use clap::{CommandFactory, Parser};
use cli::{Command, Request};
use report::paint::Paint;

fn main() {
    // A panic is told in the report, not as a trace of our own code in the middle of it.
    std::panic::set_hook(Box::new(|_| {}));
    let code = match Request::try_parse() {
        Err(error) => {
            let _ = error.print();
            if error.use_stderr() { exit::USAGE } else { exit::SAFE }
        }
        Ok(request) => match strategy::guarded(|| run(request)) {
            Ok(code) => code,
            Err(panic) => {
                eprintln!("internal error: {panic}\nPlease report this, with the program.");
                exit::INTERNAL
            }
        },
    };
    watch::leave(code)
}

fn run(request: Request) -> i32 {
    let paint = Paint::choose(request.color);
    match request.command {
        Command::Verify(verify) => commands::verify::run(verify, paint),
        Command::Fmt(fmt) => commands::fmt::run(fmt, paint),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Request::command(), "threadproof", &mut std::io::stdout());
            exit::SAFE
        }
        Command::Audit(audit) => commands::audit::run(audit, paint),
        Command::Simulate(simulate) => commands::simulate::run(simulate, paint),
        Command::Show(show) => commands::show::run(show, paint),
        Command::Propose(propose) => commands::propose::run(propose, paint),
    }
}
