//! `simulate`: the command around the simulator.
//!
//! In: the request. Out: the run on standard output, and an exit code: 0 nothing went wrong in it, 1 a property was
//! violated, 65 the program or the trace was rejected.

use crate::board::exit;
use crate::cli::Simulate;
use crate::load::{self, Loaded};
use crate::report::{paint::Paint, width};
use crate::simulate::{Ending, Mode, Show, simulate};
use evidence::file::Entry;
use program::Program;
use program::semantics::{Instances, Trace};
use std::path::Path;

pub fn run(request: Simulate, paint: Paint) -> i32 {
    let loaded = match load::told(load::load(&request.file, &request.reading, paint)) {
        Ok(loaded) => loaded,
        Err(code) => return code,
    };
    loaded.warnings.iter().for_each(|w| eprint!("{w}"));
    let mut loaded = loaded;
    let trace = match request.trace.as_deref().map(|path| first_trace(&loaded, path)).transpose() {
        Ok(trace) => trace,
        Err(sentence) => {
            eprintln!("error: {sentence}");
            return exit::REJECTED;
        }
    };
    let trace = trace.map(|(clients, trace)| {
        // Some runs are of clients of an object, or of callers.
        if let Some(clients) = clients {
            loaded.program = clients;
        }
        trace
    });
    let mode = match &trace {
        Some(trace) => Mode::Along(trace),
        None if request.interactive => Mode::Asking,
        None => Mode::Random { seed: request.seed },
    };
    let instances = Instances::of(&loaded.program, request.copies);
    let show = Show { steps: request.steps, width: width() };
    let mut input = std::io::stdin().lock();
    let mut out = std::io::stdout().lock();
    match simulate(&loaded.program, &loaded.sources, &instances, mode, show, &mut input, &mut out) {
        // A reader that went away ends the run.
        Err(_) | Ok(Ending::Ended | Ending::Stuck | Ending::Stopped) => exit::SAFE,
        Ok(Ending::Violated(_)) => exit::UNSAFE,
        Ok(Ending::Impossible(_)) => exit::REJECTED,
    }
}

/// The first run of the file; for a history or a run of callers, with their program.
fn first_trace(loaded: &Loaded, path: &Path) -> Result<(Option<Program>, Trace), String> {
    let bytes = load::read(path).map_err(|r| r.0.concat())?;
    let entries = evidence::file::read(&loaded.program, &bytes).map_err(|e| format!("{}: {e}", path.display()))?;
    let trace = entries.into_iter().find_map(|entry| match entry {
        Entry::Trace { trace, .. } => Some((None, trace)),
        Entry::History { history: h, .. } => {
            let (clients, _) = h.program(&loaded.program).ok()?;
            Some((Some(clients), h.trace))
        }
        Entry::Called { called: c, .. } => {
            let callers = program::callers::callers(&loaded.program, None, &[], c.effort).ok()?;
            Some((Some(callers.program), c.trace))
        }
        Entry::Certificate(_) | Entry::Local { .. } | Entry::Stray { .. } => None,
    });
    trace.ok_or_else(|| format!("{} holds no run of a whole program (see `threadproof audit`)", path.display()))
}
