//! `propose`: a machine for a thread, as text to paste into the file.
//!
//! In: a program and the name of a thread. Out: the machine in the language, on standard output. It is shown only if the thread was checked to
//! conform to it; for a `.tp` file the text is read back with the file, and what was read is checked again. Exit 0 if a machine is shown, 2 if none is.

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
            let name = &proposal.program.machines[proposal.machine].name;
            if !reads_back(&request, &proposal.text, name) {
                eprintln!(
                    "no machine for {}: the one that was found cannot be written in the language",
                    request.thread
                );
                return exit::UNKNOWN;
            }
            print!("{}", proposal.text);
            eprintln!(
                "{} conforms to it (checked); say so with: thread {} follows {name}",
                request.thread, request.thread
            );
            exit::SAFE
        }
    }
}

/// Whether the file with the machine is a program in which the thread conforms to it. Other languages have other notations: nothing is read there.
fn reads_back(request: &Propose, machine: &str, name: &str) -> bool {
    let is_own = request.file.extension().is_some_and(|e| e == "tp");
    let Some(program) = load::with_more_text(&request.file, machine, &request.reading) else { return !is_own };
    let thread = program.threads.iter_enumerated().find(|(_, t)| t.name == request.thread).map(|(id, _)| id);
    let machine = program.machines.iter_enumerated().find(|(_, m)| m.name == name).map(|(id, _)| id);
    let run = Run::quiet(Budget::unlimited().with_time(request.limits.time));
    matches!((thread, machine), (Some(t), Some(m)) if methods::conforms_to(&program, t, m, &run))
}
