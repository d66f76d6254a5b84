//! The order that a `performs` specification allows: its actions as the positions of an automaton without silent steps.
//!
//! In: actions joined by `;`, `[]`, `*`. Out: position 0 is the begin, position k is "the k-th action was the last"; which
//! may come next, and where the specification may end (the positions of Glushkov's construction; `Follows` of
//! Calvin-R, section 3). Doing nothing is allowed at every position and is not listed.

use crate::model::OriginId;
use crate::spec::{Performs, TwoStore};

#[derive(Clone, Debug)]
pub struct PerformsOrder<'a> {
    /// Position k is after `actions[k - 1]`.
    pub actions: Vec<Labelled<'a>>,
    /// For each position, the positions that may come next.
    pub next: Vec<Vec<usize>>,
    /// For each position, whether the specification may end there.
    pub ends: Vec<bool>,
}

#[derive(Clone, Debug)]
pub struct Labelled<'a> {
    pub label: &'a str,
    pub action: &'a TwoStore,
    pub origin: OriginId,
}

struct OrderPart {
    /// Whether it may be nothing at all.
    empty: bool,
    first: Vec<usize>,
    last: Vec<usize>,
}

impl<'a> PerformsOrder<'a> {
    pub fn of(performs: &'a Performs) -> Self {
        let mut order = Self { actions: Vec::new(), next: vec![Vec::new()], ends: vec![false] };
        let whole = order.part(performs);
        order.next[0] = whole.first;
        order.ends[0] = whole.empty;
        for at in whole.last {
            order.ends[at] = true;
        }
        for next in &mut order.next {
            next.sort_unstable();
            next.dedup();
        }
        order
    }

    fn part(&mut self, performs: &'a Performs) -> OrderPart {
        match performs {
            Performs::Action { label, action, origin } => {
                self.actions.push(Labelled { label, action, origin: *origin });
                self.next.push(Vec::new());
                self.ends.push(false);
                let at = self.actions.len();
                OrderPart { empty: false, first: vec![at], last: vec![at] }
            }
            Performs::Or(parts) => {
                let mut out = OrderPart { empty: parts.is_empty(), first: Vec::new(), last: Vec::new() };
                for p in parts {
                    let part = self.part(p);
                    out.empty |= part.empty;
                    out.first.extend(part.first);
                    out.last.extend(part.last);
                }
                out
            }
            Performs::Then(parts) => {
                let mut out = OrderPart { empty: true, first: Vec::new(), last: Vec::new() };
                for p in parts {
                    let part = self.part(p);
                    self.link(&out.last, &part.first);
                    if out.empty {
                        out.first.extend(part.first.iter().copied());
                    }
                    if !part.empty {
                        out.last.clear();
                    }
                    out.last.extend(part.last);
                    out.empty &= part.empty;
                }
                out
            }
            Performs::Star(inner) => {
                let part = self.part(inner);
                self.link(&part.last, &part.first);
                OrderPart { empty: true, ..part }
            }
        }
    }

    fn link(&mut self, from: &[usize], to: &[usize]) {
        for at in from {
            self.next[*at].extend(to);
        }
    }

    pub fn label(&self, position: usize) -> &'a str {
        if position == 0 { "begin" } else { self.actions[position - 1].label }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action(label: &str) -> Performs {
        let terms = logic::Terms::new();
        let action = TwoStore { frame: Vec::new(), relation: terms.tt() };
        Performs::Action { label: label.into(), action, origin: OriginId(0) }
    }

    #[test]
    fn check_choice_sequence_and_repetition_give_the_order_of_their_actions() {
        // A ; (B [] C)* ; D
        let or = Performs::Or(vec![action("B"), action("C")]);
        let whole = Performs::Then(vec![action("A"), Performs::Star(Box::new(or)), action("D")]);
        let order = PerformsOrder::of(&whole);
        assert_eq!(order.next, vec![vec![1], vec![2, 3, 4], vec![2, 3, 4], vec![2, 3, 4], vec![]]);
        assert_eq!(order.ends, vec![false, false, false, false, true]);
        assert_eq!(order.label(3), "C");
    }

    #[test]
    fn check_a_repetition_may_be_nothing() {
        let order = PerformsOrder::of(&Performs::Star(Box::new(action("A")))).ends;
        assert_eq!(order, vec![true, true]);
        let both = Performs::Then(vec![Performs::Star(Box::new(action("A"))), Performs::Star(Box::new(action("B")))]);
        let order = PerformsOrder::of(&both);
        assert_eq!(order.next, vec![vec![1, 2], vec![1, 2], vec![2]]);
        assert_eq!(order.ends, vec![true, true, true]);
    }
}
