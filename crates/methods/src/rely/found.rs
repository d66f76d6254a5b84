//! What was found, in the language: lines that can be pasted into the file.
//!
//! In: the candidates a proof needs. Out: `invariant`, `rely` (of all threads where it is the same for all) and loop invariants.

use super::engine::{Place, Setting};
use program::ThreadId;

pub fn lines(engine: &Setting, needed: &[usize]) -> Vec<String> {
    let (p, t) = (&engine.program, &engine.terms);
    let mut out = Vec::new();
    let mut done = Vec::new();
    for k in needed {
        let c = &engine.candidates[*k];
        if c.written.is_some() || done.contains(&(c.formula, std::mem::discriminant(&c.place))) {
            continue;
        }
        let text = t.show(c.formula);
        match c.place {
            Place::Invariant => out.push(format!("invariant {text};")),
            Place::Rely(thread) => {
                // What no other thread writes is known without being written.
                let with: Vec<ThreadId> = needed
                    .iter()
                    .filter_map(|j| match engine.candidates[*j].place {
                        Place::Rely(u) if engine.candidates[*j].formula == c.formula => Some(u),
                        _ => None,
                    })
                    .collect();
                if with.len() == p.threads.len() {
                    out.push(format!("rely {text};"));
                    done.push((c.formula, std::mem::discriminant(&c.place)));
                } else {
                    out.push(format!("rely {text}; // of thread {}", p.threads[thread].name));
                }
            }
            Place::Cut(thread, at) => {
                let location = &p.threads[thread].code.locations[at];
                out.push(format!("invariant {text}; // of thread {} at `{}`", p.threads[thread].name, location.name));
            }
        }
    }
    out
}
