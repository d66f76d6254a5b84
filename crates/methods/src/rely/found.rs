//! What was found, in the language: lines that can be pasted into the file.
//!
//! In: the candidates a proof needs. Out: `invariant`, `rely` (of all threads where it is the same for all) and loop invariants.

use super::engine::{Candidate, Place, Setting};
use logic::Term;
use rustc_hash::{FxHashMap, FxHashSet};

pub fn lines(engine: &Setting, needed: &[usize]) -> Vec<String> {
    let (p, t) = (&engine.program, &engine.terms);
    let mut out = Vec::new();
    // How many threads rely on a formula, and which were told.
    let mut relied: FxHashMap<Term, usize> = FxHashMap::default();
    for k in needed {
        if let Candidate { place: Place::Rely(_), formula, .. } = engine.candidates[*k] {
            *relied.entry(formula).or_default() += 1;
        }
    }
    let mut told: FxHashSet<Term> = FxHashSet::default();
    for k in needed {
        let c = &engine.candidates[*k];
        let again = matches!(c.place, Place::Rely(_)) && told.contains(&c.formula);
        if c.written.is_some() || again {
            continue;
        }
        let text = t.show(c.formula);
        match c.place {
            Place::Invariant => out.push(format!("invariant {text};")),
            Place::Rely(thread) => {
                // What no other thread writes is known without being written.
                if relied[&c.formula] == p.threads.len() {
                    out.push(format!("rely {text};"));
                    told.insert(c.formula);
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
