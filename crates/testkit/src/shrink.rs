//! Making a failing input small: programs of the model, and texts.
//!
//! In: an input and a test that says whether it still fails. Out: a smaller input that fails too, from which no single
//! edit known here can be made without losing the failure (or the tries are used up).

use logic::{Node, Term};
use program::{ActionId, Copies, LocId, Program, PropertyKind, ThreadId};

/// One way to make a program smaller; ids of threads, variables and properties stay.
#[derive(Clone, Copy, Debug)]
enum Edit {
    FewerCopies(ThreadId),
    DropActions(ThreadId),
    DropAction(ThreadId, ActionId),
    DropGate(ThreadId, ActionId, usize),
    DropUpdate(ThreadId, ActionId, usize),
    DropInit(usize),
    TrueInvariant(usize),
    TrueRely(usize),
    Outside(ThreadId, LocId),
    /// A part of the guard, a gate or an update in its place, by number.
    Part(ThreadId, ActionId, Spot, usize),
}

#[derive(Clone, Copy, Debug)]
enum Spot {
    Guard,
    Gate(usize),
    Update(usize),
}

/// The smallest program found that still fails, with at most `tries` tests.
pub fn shrink(program: &Program, tries: usize, mut fails: impl FnMut(&Program) -> bool) -> Program {
    let mut best = program.clone();
    let mut left = tries;
    loop {
        let mut improved = false;
        for edit in edits(&best) {
            if left == 0 {
                return best;
            }
            let Some(smaller) = apply(&best, edit) else { continue };
            if !program::wellformed(&smaller).is_empty() {
                continue;
            }
            left -= 1;
            if fails(&smaller) {
                best = smaller;
                improved = true;
                // The other edits speak of the old program.
                break;
            }
        }
        if !improved {
            return best;
        }
    }
}

fn edits(p: &Program) -> Vec<Edit> {
    let mut out = Vec::new();
    for (id, t) in p.threads.iter_enumerated() {
        if matches!(t.copies, Copies::Exactly(_)) {
            out.push(Edit::FewerCopies(id));
        }
        if !t.code.actions.is_empty() {
            out.push(Edit::DropActions(id));
        }
    }
    out.extend((0..p.init.len()).map(Edit::DropInit));
    let is_true = |f: Option<Term>| f.is_none_or(|f| p.terms.is_true(f));
    out.extend((0..p.invariants.len()).filter(|i| !is_true(p.invariants[*i].formula)).map(Edit::TrueInvariant));
    out.extend((0..p.relies.len()).filter(|i| !is_true(p.relies[*i].formula)).map(Edit::TrueRely));
    for (id, t) in p.threads.iter_enumerated() {
        out.extend(
            t.code.locations.iter_enumerated().filter(|(_, l)| l.in_atomic_block).map(|(l, _)| Edit::Outside(id, l)),
        );
        for (a, action) in t.code.actions.iter_enumerated() {
            out.push(Edit::DropAction(id, a));
            out.extend((0..action.gates.len()).map(|g| Edit::DropGate(id, a, g)));
            out.extend((0..action.updates.len()).map(|u| Edit::DropUpdate(id, a, u)));
            let mut spots = vec![(Spot::Guard, action.guard)];
            spots.extend(action.gates.iter().enumerate().map(|(i, g)| (Spot::Gate(i), g.formula)));
            spots.extend(action.updates.iter().enumerate().map(|(i, u)| (Spot::Update(i), u.value)));
            for (spot, term) in spots {
                out.extend((0..parts(p, term).len()).map(|n| Edit::Part(id, a, spot, n)));
            }
        }
    }
    out
}

/// Smaller terms of the same sort: the default value, and the term's own parts.
fn parts(p: &Program, term: Term) -> Vec<Term> {
    let t = &p.terms;
    let sort = t.sort_of(term);
    let simplest = if sort == logic::Sort::BOOL { t.tt() } else { t.default_of(sort) };
    let mut out = vec![];
    if term != simplest && !matches!(t.node(term), Node::Num(..) | Node::Bool(_)) {
        out.push(simplest);
    }
    if let Node::App(_, args) = t.node(term) {
        out.extend(args.iter().copied().filter(|a| t.sort_of(*a) == sort && *a != simplest));
    }
    out
}

fn apply(p: &Program, edit: Edit) -> Option<Program> {
    let mut q = p.clone();
    match edit {
        Edit::FewerCopies(t) => {
            q.threads[t].copies = match q.threads[t].copies {
                Copies::Exactly(n) => Copies::number(n - 1),
                _ => Copies::One,
            }
        }
        Edit::DropActions(t) => q.threads[t].code.actions = Default::default(),
        Edit::DropAction(t, gone) => {
            let kept = p.threads[t].code.actions.iter_enumerated().filter(|(a, _)| *a != gone);
            q.threads[t].code.actions = kept.map(|(_, a)| a.clone()).collect();
        }
        Edit::DropGate(t, a, g) => {
            q.threads[t].code.actions[a].gates.remove(g);
        }
        Edit::DropUpdate(t, a, u) => {
            let action = &mut q.threads[t].code.actions[a];
            action.updates.remove(u);
            action.relation = None;
        }
        Edit::DropInit(i) => {
            q.init.remove(i);
        }
        Edit::TrueInvariant(i) => {
            let tt = q.terms.tt();
            q.invariants[i].formula = Some(tt);
            if let Some(property) = q.invariants[i].property {
                q.properties[property].kind = PropertyKind::Invariant(tt);
            }
        }
        Edit::TrueRely(i) => q.relies[i].formula = Some(q.terms.tt()),
        Edit::Outside(t, l) => q.threads[t].code.locations[l].in_atomic_block = false,
        Edit::Part(t, a, spot, n) => {
            let action = &mut q.threads[t].code.actions[a];
            action.relation = None;
            let place = match spot {
                Spot::Guard => &mut action.guard,
                Spot::Gate(i) => &mut action.gates[i].formula,
                Spot::Update(i) => &mut action.updates[i].value,
            };
            *place = *parts(p, *place).get(n)?;
            // The term was made in the table of `p` after `q` was cloned from it: build it there again.
            q.terms = p.terms.clone();
        }
    }
    Some(q)
}

/// A shorter text that still fails: lines are left out, then characters.
pub fn shrink_text(text: &str, tries: usize, mut fails: impl FnMut(&str) -> bool) -> String {
    let mut left = tries;
    let lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let fewer = remove_chunks(lines, &mut left, &mut |parts: &[String]| fails(&parts.concat()));
    let chars: Vec<String> = fewer.concat().chars().map(String::from).collect();
    remove_chunks(chars, &mut left, &mut |parts: &[String]| fails(&parts.concat())).concat()
}

/// Leaves out runs of parts, long ones first.
fn remove_chunks(parts: Vec<String>, left: &mut usize, fails: &mut dyn FnMut(&[String]) -> bool) -> Vec<String> {
    let mut best = parts;
    let mut size = best.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at < best.len() && *left > 0 {
            let mut smaller = best.clone();
            smaller.drain(at..(at + size).min(best.len()));
            *left -= 1;
            if fails(&smaller) {
                best = smaller;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Knobs, program as random_program};
    use program::semantics::{InstanceCounts, ReachLimits, reachable_states};

    fn size(p: &Program) -> usize {
        p.threads.iter().map(|t| t.code.actions.len()).sum()
    }

    #[test]
    fn check_a_failing_program_gets_smaller_and_still_fails() {
        let fails = |p: &Program| {
            let limits = ReachLimits { states: 400, ..ReachLimits::default() };
            !reachable_states(p, &InstanceCounts::of(p, 2), &limits).violations.is_empty()
        };
        let mut shrunk = 0;
        for seed in 0..30 {
            let p = random_program(seed, &Knobs::finite());
            if !fails(&p) {
                continue;
            }
            let q = shrink(&p, 300, fails);
            assert!(fails(&q) && size(&q) <= size(&p), "seed {seed}");
            assert_eq!(program::wellformed(&q), vec![]);
            shrunk += usize::from(size(&q) < size(&p));
        }
        assert!(shrunk > 5, "{shrunk} programs became smaller");
    }

    #[test]
    fn check_a_failing_text_gets_smaller() {
        let text = "one\ntwo\nthree bad four\nfive\n".repeat(5);
        let small = shrink_text(&text, 10_000, |t| t.contains("bad"));
        assert_eq!(small, "bad");
    }
}
