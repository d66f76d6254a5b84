//! Recursion-free Horn clauses over linear inequalities, solved from a proof that they are contradictory as constraints
//! (Threader, section 7: SolveLinearHC, MkTree, AnnotPred).
//!
//! In: a tree. Each node stands for one use of an unknown relation; its label is the constraint of the clause that gives it. Out: a
//! solution for each node, such that its label and its children's solutions imply it and the root's is false; or values
//! that satisfy all labels, and then there is no solution. Where the labels are conjunctions, the solution of a node is
//! the sum of the inequalities below it by the weights of the contradiction, as in the paper. Beyond the paper:
//! disjunctions (also of disequalities) and integers are split into cases; a split belongs to one node, and the
//! solutions of the cases are joined by "or" at the nodes above the split and by "and" elsewhere.

use super::formula::Formula;
use super::rational::{Rational, gcd};
use super::simplex::{LinearInequality, NumberOverflow, Simplex, Weights};
use base::Budget;
use std::collections::BTreeMap;

pub(crate) struct ClauseTree {
    /// A parent comes before its children; the root is node 0.
    pub nodes: Vec<ClauseNode>,
}

pub(crate) struct ClauseNode {
    pub parent: Option<usize>,
    pub label: Vec<Formula>,
}

/// A formula for a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Solution {
    Le(LinearInequality),
    And(Vec<Solution>),
    Or(Vec<Solution>),
}

#[derive(Debug)]
pub(crate) enum Solved {
    /// A solution for each node.
    Solution(Vec<Solution>),
    /// All labels together are satisfiable; variables that are missing may have any value.
    Values(BTreeMap<u32, i128>),
    GaveUp(&'static str),
}

/// How many cases are looked at.
const MAX_CASES: usize = 4_000;
/// Units of effort for each case, and how many inequalities cost one more.
const CASE_UNITS: u64 = 20;
const INEQUALITIES_PER_UNIT: usize = 4;
const DEEPEST_INTEGER_SPLIT: usize = 12;

pub(crate) fn solve_clause_tree(tree: &ClauseTree, budget: &Budget) -> Solved {
    let mut s = InterpolantSearch {
        tree,
        budget,
        simplex: Simplex::default(),
        inequalities: Vec::new(),
        pending: Vec::new(),
        cases: 0,
    };
    for (n, node) in tree.nodes.iter().enumerate() {
        for f in &node.label {
            if s.assert(f, n).is_err() {
                return Solved::GaveUp(OVERFLOW);
            }
        }
    }
    match s.search(0) {
        Ok(Ok(proof)) => Solved::Solution(proof.nodes),
        Ok(Err(values)) => Solved::Values(values),
        Err(why) => Solved::GaveUp(why),
    }
}

struct InterpolantSearch<'a> {
    tree: &'a ClauseTree,
    budget: &'a Budget,
    simplex: Simplex,
    /// What is asserted, with its node; numbers of the simplex.
    inequalities: Vec<(LinearInequality, usize)>,
    /// Disjunctions to be split, with their nodes.
    pending: Vec<(Vec<Formula>, usize)>,
    cases: usize,
}

struct InterpolationProof {
    nodes: Vec<Solution>,
    /// Which inequalities it uses.
    used: Vec<usize>,
}

const OVERFLOW: &str = "a number does not fit 128 bits";

impl InterpolantSearch<'_> {
    fn assert(&mut self, f: &Formula, node: usize) -> Result<(), NumberOverflow> {
        match f {
            Formula::Le(l) => {
                let l = l.clone().tighten();
                self.simplex.assert(&l, self.inequalities.len())?;
                self.inequalities.push((l, node));
            }
            Formula::And(list) => {
                for f in list {
                    self.assert(f, node)?;
                }
            }
            Formula::Or(list) => self.pending.push((list.clone(), node)),
        }
        Ok(())
    }
    fn value(&self, l: &LinearInequality) -> Option<Rational> {
        let mut sum = Rational::int(l.constant);
        for (v, c) in &l.parts {
            sum = sum.add(self.simplex.value_of(*v).mul(Rational::int(*c))?)?;
        }
        Some(sum)
    }
    fn holds(&self, f: &Formula) -> bool {
        match f {
            Formula::Le(l) => self.value(l).is_some_and(|v| !v.is_positive()),
            Formula::And(list) => list.iter().all(|f| self.holds(f)),
            Formula::Or(list) => list.iter().any(|f| self.holds(f)),
        }
    }
    /// A proof, or values.
    fn search(&mut self, depth: usize) -> Result<Result<InterpolationProof, BTreeMap<u32, i128>>, &'static str> {
        self.cases += 1;
        if self.cases > MAX_CASES {
            return Err("too many cases");
        }
        self.budget.spend(CASE_UNITS + (self.inequalities.len() / INEQUALITIES_PER_UNIT) as u64);
        if self.budget.check().is_err() {
            return Err("out of time");
        }
        if let Err(weights) = self.simplex.check().map_err(|_| OVERFLOW)? {
            return self.proof(&weights).map(Ok).ok_or(OVERFLOW);
        }
        if let Some(at) = (0..self.pending.len()).find(|i| !self.pending[*i].0.iter().any(|f| self.holds(f))) {
            let (list, node) = self.pending[at].clone();
            return self.split(list, node, Some(at), depth);
        }
        // Every disjunction holds as it is; are the values integers?
        let mut values = BTreeMap::new();
        for (l, node) in &self.inequalities {
            for (v, _) in &l.parts {
                let value = self.simplex.value_of(*v);
                if !value.is_integer() {
                    if depth > DEEPEST_INTEGER_SPLIT {
                        return Err("integers were split too often");
                    }
                    let low = value.floor();
                    let below = Formula::Le(LinearInequality { parts: vec![(*v, 1)], constant: -low });
                    let above = Formula::Le(LinearInequality { parts: vec![(*v, -1)], constant: low + 1 });
                    let node = *node;
                    return self.split(vec![below, above], node, None, depth + 1);
                }
                values.insert(*v, value.over());
            }
        }
        Ok(Err(values))
    }
    fn split(
        &mut self,
        list: Vec<Formula>,
        node: usize,
        pending: Option<usize>,
        depth: usize,
    ) -> Result<Result<InterpolationProof, BTreeMap<u32, i128>>, &'static str> {
        let first = self.inequalities.len();
        let taken = pending.map(|at| self.pending.remove(at));
        let mut parts: Vec<InterpolationProof> = Vec::new();
        let mut alone = None;
        for f in &list {
            let (mark, waiting) = (self.simplex.mark(), self.pending.len());
            self.assert(f, node).map_err(|_| OVERFLOW)?;
            let found = self.search(depth)?;
            self.simplex.back(mark);
            self.inequalities.truncate(first);
            // What the branch added is gone; what it took out was put back by it.
            self.pending.truncate(waiting);
            match found {
                Err(values) => return Ok(Err(values)),
                // The case was not needed: its proof is a proof of the whole.
                Ok(p) if p.used.iter().all(|u| *u < first) => {
                    alone = Some(p);
                    break;
                }
                Ok(p) => parts.push(p),
            }
        }
        if let (Some(at), Some(t)) = (pending, taken) {
            self.pending.insert(at, t);
        }
        if let Some(p) = alone {
            return Ok(Ok(p));
        }
        let mut used: Vec<usize> = parts.iter().flat_map(|p| p.used.iter().copied()).filter(|u| *u < first).collect();
        used.sort_unstable();
        used.dedup();
        let mut above = vec![false; self.tree.nodes.len()];
        let mut at = Some(node);
        while let Some(n) = at {
            above[n] = true;
            at = self.tree.nodes[n].parent;
        }
        let nodes = (0..self.tree.nodes.len())
            .map(|n| {
                let list: Vec<Solution> = parts.iter().map(|p| p.nodes[n].clone()).collect();
                if above[n] { or(list) } else { and(list) }
            })
            .collect();
        Ok(Ok(InterpolationProof { nodes, used }))
    }
    /// The sums of the weighted inequalities below each node.
    fn proof(&self, weights: &Weights) -> Option<InterpolationProof> {
        let common = weights.iter().try_fold(1i128, |m, (_, w)| {
            let d = w.under();
            (m / gcd(m, d)).checked_mul(d)
        })?;
        let mut sums = vec![LinearInequality::default(); self.tree.nodes.len()];
        let mut used = Vec::new();
        for (n, w) in weights {
            if w.is_zero() {
                continue;
            }
            let (l, node) = &self.inequalities[*n];
            let times = w.over().checked_mul(common / w.under())?;
            sums[*node] = sums[*node].plus(&l.scale(times)?)?;
            used.push(*n);
        }
        for n in (1..sums.len()).rev() {
            if let Some(p) = self.tree.nodes[n].parent {
                sums[p] = sums[p].plus(&sums[n])?;
            }
        }
        let nodes = sums.into_iter().map(|l| tidy(l.tighten())).collect();
        Some(InterpolationProof { nodes, used })
    }
}

fn tidy(l: LinearInequality) -> Solution {
    match (l.parts.is_empty(), l.constant > 0) {
        (true, true) => Solution::Or(Vec::new()),
        (true, false) => Solution::And(Vec::new()),
        _ => Solution::Le(l),
    }
}

fn and(list: Vec<Solution>) -> Solution {
    let mut out: Vec<Solution> = Vec::new();
    for s in list {
        match s {
            Solution::And(more) => out.extend(more),
            Solution::Or(more) if more.is_empty() => return Solution::Or(more),
            s => out.push(s),
        }
    }
    out.sort();
    out.dedup();
    if out.len() == 1 { out.pop().expect("there is one") } else { Solution::And(out) }
}

fn or(list: Vec<Solution>) -> Solution {
    let mut out: Vec<Solution> = Vec::new();
    for s in list {
        match s {
            Solution::Or(more) => out.extend(more),
            Solution::And(more) if more.is_empty() => return Solution::And(more),
            s => out.push(s),
        }
    }
    out.sort();
    out.dedup();
    if out.len() == 1 { out.pop().expect("there is one") } else { Solution::Or(out) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn le(parts: &[(u32, i128)], constant: i128) -> Formula {
        Formula::Le(LinearInequality { parts: parts.to_vec(), constant })
    }

    #[test]
    fn check_the_papers_example_gives_its_solution() {
        // Figure 13 (e): 1 <= cnt3 below the left child, cnt3 = cnt2 in the root's clause, cnt2 <= 0 below the right.
        let nodes = vec![
            ClauseNode { parent: None, label: vec![le(&[(2, -1), (3, 1)], 0), le(&[(2, 1), (3, -1)], 0)] },
            ClauseNode { parent: Some(0), label: vec![le(&[(3, -1)], 1)] },
            ClauseNode { parent: Some(0), label: vec![le(&[(2, 1)], 0), le(&[(2, -1)], 0)] },
        ];
        let Solved::Solution(s) = solve_clause_tree(&ClauseTree { nodes }, &Budget::unlimited()) else {
            panic!("it is contradictory")
        };
        assert_eq!(s[0], Solution::Or(vec![]), "the root is false");
        assert_eq!(s[1], Solution::Le(LinearInequality { parts: vec![(3, -1)], constant: 1 }));
        assert_eq!(s[2], Solution::Le(LinearInequality { parts: vec![(2, 1)], constant: 0 }));
    }

    #[test]
    fn check_a_disequality_is_split_at_its_node() {
        // x = y below, x != y in the root.
        let differ = Formula::Or(vec![le(&[(0, 1), (1, -1)], 1), le(&[(0, -1), (1, 1)], 1)]);
        let nodes = vec![
            ClauseNode { parent: None, label: vec![differ] },
            ClauseNode { parent: Some(0), label: vec![le(&[(0, 1), (1, -1)], 0), le(&[(0, -1), (1, 1)], 0)] },
        ];
        let Solved::Solution(s) = solve_clause_tree(&ClauseTree { nodes }, &Budget::unlimited()) else {
            panic!("it is contradictory")
        };
        assert!(matches!(&s[1], Solution::And(both) if both.len() == 2), "{s:?}");
    }

    #[test]
    fn check_integers_are_split() {
        // 3 x = 3 y + 1 has rational solutions only; 1 <= 2 x - 2 y <= 1 is noticed by tightening alone.
        let nodes = vec![ClauseNode {
            parent: None,
            label: vec![le(&[(0, 2), (1, -4), (2, -2)], 1), le(&[(0, -2), (1, 4), (2, 2)], -1)],
        }];
        assert!(matches!(solve_clause_tree(&ClauseTree { nodes }, &Budget::unlimited()), Solved::Solution(_)));
    }

    #[test]
    fn check_what_is_satisfiable_has_values() {
        let nodes = vec![ClauseNode { parent: None, label: vec![le(&[(0, 1), (1, 1)], -3), le(&[(0, -2)], 3)] }];
        let Solved::Values(v) = solve_clause_tree(&ClauseTree { nodes }, &Budget::unlimited()) else {
            panic!("x = 2, y = 1")
        };
        assert!(v[&0] >= 2 && v[&0] + v[&1] <= 3);
    }
}
