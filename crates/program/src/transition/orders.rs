//! Loop heads, and the locations of a region in topological order, by depth-first search without recursion.
//!
//! In: code. Out: locations that break every loop; for a region from a start up to some stops, its locations so that each comes
//! after those it is reached from, or a location of a loop that no stop breaks.

use crate::code::{ActionId, Code, LocId};
use base::IdVec;

/// A loop that no stop breaks goes through this location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycle(pub LocId);

#[derive(Clone, Copy, PartialEq, Eq)]
enum VisitMark {
    New,
    Open,
    Done,
}

/// Locations that break every loop of the code, increasing: the targets of edges back to a location on the way.
pub fn loop_heads(code: &Code) -> Vec<LocId> {
    let outgoing = code.outgoing();
    let mut visits: IdVec<LocId, VisitMark> = code.locations.iter().map(|_| VisitMark::New).collect();
    let mut heads: Vec<LocId> = Vec::new();
    let mut stack = vec![(code.entry, 0)];
    visits[code.entry] = VisitMark::Open;
    while let Some((at, followed)) = stack.pop() {
        let Some(a) = outgoing[at].get(followed) else {
            visits[at] = VisitMark::Done;
            continue;
        };
        stack.push((at, followed + 1));
        let to = code.actions[*a].to;
        match visits[to] {
            VisitMark::Open => heads.push(to),
            VisitMark::Done => {}
            VisitMark::New => {
                visits[to] = VisitMark::Open;
                stack.push((to, 0));
            }
        }
    }
    heads.sort_unstable();
    heads.dedup();
    heads
}

/// The locations from `start`, each after those it is reached from. Stops are not among them, unless one is the start.
pub(crate) fn topological_order(
    code: &Code,
    outgoing: &IdVec<LocId, Vec<ActionId>>,
    start: LocId,
    stops: &dyn Fn(LocId) -> bool,
) -> Result<Vec<LocId>, Cycle> {
    // A region is often a small part of large code.
    let mut visits: rustc_hash::FxHashMap<LocId, VisitMark> = rustc_hash::FxHashMap::default();
    let mut out = Vec::new();
    let mut stack = vec![(start, 0)];
    visits.insert(start, VisitMark::Open);
    while let Some((at, followed)) = stack.pop() {
        let Some(a) = outgoing[at].get(followed) else {
            visits.insert(at, VisitMark::Done);
            out.push(at);
            continue;
        };
        stack.push((at, followed + 1));
        let to = code.actions[*a].to;
        if stops(to) {
            continue;
        }
        match visits.get(&to).copied().unwrap_or(VisitMark::New) {
            VisitMark::Open => return Err(Cycle(to)),
            VisitMark::Done => {}
            VisitMark::New => {
                visits.insert(to, VisitMark::Open);
                stack.push((to, 0));
            }
        }
    }
    out.reverse();
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Copies;
    use crate::semantics::tests::Build;

    #[test]
    fn check_loop_heads_break_every_loop_and_regions_are_in_order() {
        let mut b = Build::new();
        let t = b.thread("T", Copies::One, 5);
        let tt = b.p.terms.tt();
        for (from, to) in [(0, 1), (1, 2), (2, 1), (1, 3), (0, 3), (3, 3)] {
            b.act(t, from, to, tt, &[]);
        }
        let code = &b.p.threads[t].code;
        let heads = loop_heads(code);
        assert_eq!(heads, [LocId(1), LocId(3)]);
        let outgoing = code.outgoing();
        let from = |l: u32, cuts: &[LocId]| topological_order(code, &outgoing, LocId(l), &|x| cuts.contains(&x));
        assert_eq!(from(1, &heads), Ok(vec![LocId(1), LocId(2)]));
        assert_eq!(from(0, &[]), Err(Cycle(LocId(1))));
        assert_eq!(from(0, &heads[..1]), Err(Cycle(LocId(3))), "3 loops on itself");
    }
}
