//! What was found, in the language: lines that can be pasted into the file.
//!
//! In: the candidates a proof needs. Out: `invariant`, `rely` (of all threads where it is the same for all) and loop invariants.
//! What plainly follows from a line that is shown is not shown.

use super::setting::{AnnotationSite, CandidateFact, ProofSetting};
use logic::{Op, Term, Terms};
use rustc_hash::{FxHashMap, FxHashSet};

pub(crate) fn lines(engine: &ProofSetting, needed: &[usize]) -> Vec<String> {
    let (p, t) = (&engine.program, &engine.terms);
    let mut out = Vec::new();
    // How many threads rely on a formula, and which were reported.
    let mut relied: FxHashMap<Term, usize> = FxHashMap::default();
    for k in needed {
        if let CandidateFact { place: AnnotationSite::Rely(_), formula, .. } = engine.candidates[*k] {
            *relied.entry(formula).or_default() += 1;
        }
    }
    let mut reported: FxHashSet<Term> = FxHashSet::default();
    let of = |k: &usize| (engine.candidates[*k].place, clause(t, engine.candidates[*k].formula));
    let clauses: FxHashSet<(AnnotationSite, Vec<Term>)> = needed.iter().map(of).collect();
    let mut shown: FxHashSet<(AnnotationSite, Vec<Term>)> = FxHashSet::default();
    for k in needed {
        let c = &engine.candidates[*k];
        let again = matches!(c.place, AnnotationSite::Rely(_)) && reported.contains(&c.formula);
        if c.written.is_some() || again {
            continue;
        }
        let mine = clause(t, c.formula);
        if weaker(&clauses, c.place, &mine) || !shown.insert((c.place, mine)) {
            continue;
        }
        let text = t.show(c.formula);
        match c.place {
            AnnotationSite::Invariant => out.push(format!("invariant {text};")),
            AnnotationSite::Rely(thread) => {
                // What no other thread writes is known without being written.
                if relied[&c.formula] == p.threads.len() {
                    out.push(format!("rely {text};"));
                    reported.insert(c.formula);
                } else {
                    out.push(format!("rely {text}; // of thread {}", p.threads[thread].name));
                }
            }
            AnnotationSite::Cut(thread, at) => {
                let location = &p.threads[thread].code.locations[at];
                out.push(format!("invariant {text}; // of thread {} at `{}`", p.threads[thread].name, location.name));
            }
        }
    }
    out
}

/// Longer clauses are not compared.
const MAX_CLAUSE_LITERALS: usize = 6;

/// Whether some of the disjuncts alone are needed anyway.
fn weaker(clauses: &FxHashSet<(AnnotationSite, Vec<Term>)>, place: AnnotationSite, clause: &[Term]) -> bool {
    let n = clause.len();
    let part = |which: u32| clause.iter().enumerate().filter(move |(i, _)| which >> i & 1 == 1).map(|(_, l)| *l);
    n <= MAX_CLAUSE_LITERALS && (1..(1u32 << n) - 1).any(|which| clauses.contains(&(place, part(which).collect())))
}

/// The formula as a disjunction, in order: `a && b ==> c` says `!a || !b || c`.
fn clause(t: &Terms, f: Term) -> Vec<Term> {
    fn disjuncts(t: &Terms, f: Term, out: &mut Vec<Term>) {
        match t.app(f) {
            Some((Op::Implies, args)) => {
                out.extend(t.conjuncts(args[0]).into_iter().map(|a| t.not(a)));
                disjuncts(t, args[1], out);
            }
            Some((Op::Or, args)) => args.iter().for_each(|a| disjuncts(t, *a, out)),
            _ => out.push(f),
        }
    }
    let mut out = Vec::new();
    disjuncts(t, f, &mut out);
    out.sort_unstable();
    out.dedup();
    out
}
