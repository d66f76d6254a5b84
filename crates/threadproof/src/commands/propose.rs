//! `propose`: a machine for a thread, as text to paste into the file.
//!
//! In: a program and the name of a thread. Out: the machine in the language, on standard output, and whether the thread
//! was checked to conform to it, on standard error. Exit 0 if it conforms, 2 if that could not be shown.

use crate::board::exit;
use crate::cli::Propose;
use crate::load;
use crate::report::paint::Paint;
use base::Budget;
use methods::Run;

pub fn run_propose(request: Propose, paint: Paint) -> i32 {
    let loaded = match load::or_exit_code(load::load_program(&request.file, &request.reading, paint)) {
        Ok(loaded) => loaded,
        Err(code) => return code,
    };
    let program = &loaded.program;
    let Some((thread, _)) = program.threads.iter_enumerated().find(|(_, t)| t.name == request.thread) else {
        let names: Vec<&str> = program.threads.iter().map(|t| t.name.as_str()).collect();
        eprintln!("error: there is no thread {}; there are {}", request.thread, names.join(", "));
        return exit::USAGE;
    };
    let budget = Budget::unlimited().with_time(request.limits.time);
    match methods::propose_machine(program, thread, &Run::quiet(budget)) {
        Err(reason) => {
            eprintln!("no machine for {}: {reason}", request.thread);
            exit::UNKNOWN
        }
        Ok(proposal) => {
            print!("{}", proposal.text);
            match proposal.doubt {
                None => {
                    eprintln!(
                        "{} conforms to it (checked); say so with: thread {} follows {}Machine",
                        request.thread, request.thread, request.thread
                    );
                    exit::SAFE
                }
                Some(reason) => {
                    eprintln!("that {} conforms to it was not shown: {reason}", request.thread);
                    exit::UNKNOWN
                }
            }
        }
    }
}
