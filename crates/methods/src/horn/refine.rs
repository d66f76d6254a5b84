//! From an abstract violation to Horn clauses, and from their solution to predicates (Threader, section 6: Refine,
//! MkHornClauses and its modular variant).
//!
//! In: trees and a state from which something may fail. Out: how many predicates are new; or that the clauses have no
//! solution. In the modular case a state's relation is over the shared store and its thread's locals, an environment
//! transition's over the shared store before and after: if these clauses have no solution, no modular proof exists. In the
//! global case the path to the state is one interleaving of all instances, and values that satisfy it are a run.

use super::couples::{Role, ThirdStep};
use super::formula::{FormulaReader, Indices, Valuation, Variables, index_term, to_term};
use super::indices::at_indices;
use super::interpolate::{self, Solution, Solved};
use super::system::HornSystem;
use super::trees::{Forest, TreeFailure, TreeMode, Via};
use base::Budget;
use logic::{SortKind, Symbol, Term, Terms};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) enum Refined {
    /// New predicates, or newly tracked control.
    Progress,
    /// The clauses have no solution.
    Real(Witness),
    /// Nor have they without what could not be said in inequalities, which is reported.
    Doubtful(Witness, String),
    Stuck(String),
}

/// Values along the path to the violation (the global case).
pub(super) struct Witness {
    /// In order.
    pub path: Vec<Via>,
    /// The last act, where the violation is of its gate: its process and number.
    pub last: Option<Via>,
    /// Initial values: the variables of the start, by symbol.
    pub start: Vec<(Symbol, i128)>,
    /// For each step (the last one too) the values of its inputs; `None`: any.
    pub inputs: Vec<Vec<Option<i128>>>,
}

/// What a node of the tree of clauses stands for.
enum ClauseMeaning {
    Nothing,
    State(usize),
    Edge(usize),
}

struct RefinementClauses<'f, 'a> {
    forest: &'f Forest<'a>,
    variables: Variables,
    nodes: Vec<interpolate::ClauseNode>,
    meaning: Vec<(ClauseMeaning, Vec<(u32, Term)>)>,
    indices: &'f Indices,
    /// Something could not be said in inequalities and was left out.
    left_out: Option<String>,
    /// In the global case: inputs along the path, from the last step to the first; the start's variables.
    inputs: Vec<Vec<(Symbol, u32)>>,
    start: Vec<(Symbol, u32)>,
}

const MAX_NODES: usize = 3_000;

impl<'a> Forest<'a> {
    pub(crate) fn refine(&mut self, failure: TreeFailure, indices: &Indices, budget: &Budget) -> Refined {
        let state = match failure {
            TreeFailure::Gate(s, ..) | TreeFailure::Invariant(s, _) => s,
        };
        if self.mode == TreeMode::Global {
            match self.track(state) {
                Some(true) => return Refined::Progress,
                Some(false) => return Refined::Stuck("a step of another that is not there".into()),
                None => {}
            }
        }
        let mut c = RefinementClauses {
            forest: self,
            variables: Variables::default(),
            nodes: Vec::new(),
            meaning: Vec::new(),
            indices,
            left_out: None,
            inputs: Vec::new(),
            start: Vec::new(),
        };
        c.root(failure);
        if c.nodes.len() >= MAX_NODES {
            return Refined::Stuck("the tree of clauses is too large".into());
        }
        let RefinementClauses { variables, nodes, meaning, left_out, inputs, start, .. } = c;
        let tree = interpolate::ClauseTree { nodes };
        match interpolate::solve_clause_tree(&tree, budget) {
            Solved::GaveUp(why) => Refined::Stuck(why.into()),
            Solved::Values(values) => {
                let witness = self.witness(state, failure, &values, &inputs, &start);
                match left_out {
                    None => Refined::Real(witness),
                    Some(why) => Refined::Doubtful(witness, why),
                }
            }
            Solved::Solution(list) => {
                let mut new = 0;
                for ((what, back), s) in meaning.iter().zip(&list) {
                    let found = predicates(self.system.terms, &variables, back, s);
                    new += found.into_iter().filter(|p| self.learn(what, *p)).count();
                }
                if new > 0 { Refined::Progress } else { Refined::Stuck("no new predicate".into()) }
            }
        }
    }
    fn learn(&mut self, what: &ClauseMeaning, p: Term) -> bool {
        let list = match what {
            ClauseMeaning::Nothing => return false,
            ClauseMeaning::State(s) => {
                let (process, at) = (self.trees.states[*s].process, self.trees.states[*s].at);
                if self.mode == TreeMode::Pairs {
                    return self.learn_of_pair(process, at, p);
                }
                &mut self.at[process][at]
            }
            ClauseMeaning::Edge(e) => {
                let e = &self.trees.edges[*e];
                if self.plain[e.process][e.act].contains(&p) {
                    return false;
                }
                &mut self.on[e.process][e.act]
            }
        };
        let new = !list.contains(&p);
        if new {
            list.push(p);
        }
        new
    }
    /// The states from the root to this one.
    pub(super) fn branch(&self, state: usize) -> Vec<usize> {
        let mut out = vec![state];
        while let Some((p, _)) = self.trees.states[out[out.len() - 1]].parent {
            out.push(p);
        }
        out.reverse();
        out
    }
    /// Follows the control of everybody along the path; at the first step of another that was not where it had to be, tracks its
    /// location from where it was last known. Gives, for a path with such a step, whether its locations are tracked
    /// since the trees were built.
    fn track(&mut self, state: usize) -> Option<bool> {
        let branch = self.branch(state);
        let process = self.trees.states[state].process;
        let n = self.system.processes.len();
        let mut at: Vec<u32> = self.system.processes.iter().map(|p| p.entry as u32).collect();
        let mut since = vec![0; n];
        let is_inside = |k: usize, l: u32| self.system.processes[k].in_atomic_block[l as usize];
        for (i, s) in branch.iter().enumerate().skip(1) {
            let Some((_, via)) = self.trees.states[*s].parent else { continue };
            let act = &self.system.processes[via.process].transitions[via.act];
            let mut missing: Option<usize> = None;
            if via.process != process && at[via.process] != act.from as u32 {
                missing = Some(via.process);
            } else if let Some(k) = (0..n).find(|k| *k != via.process && is_inside(*k, at[*k])) {
                missing = (k != process).then_some(k);
            }
            if let Some(k) = missing {
                for s in &branch[since[k]..i] {
                    let here = self.trees.states[*s].at;
                    // If one location matters here, most do: telling them apart one by one takes a refinement each.
                    for l in 0..self.system.processes[k].out.len() as u32 {
                        self.trees.stale |= self.tracked[process][here][k].insert(l);
                    }
                }
                return Some(self.trees.stale);
            }
            at[via.process] = act.to as u32;
            since[via.process] = i;
        }
        None
    }
    fn witness(
        &self,
        state: usize,
        failure: TreeFailure,
        values: &BTreeMap<u32, i128>,
        inputs: &[Vec<(Symbol, u32)>],
        start: &[(Symbol, u32)],
    ) -> Witness {
        let branch = self.branch(state);
        let path = branch.iter().filter_map(|s| self.trees.states[*s].parent.map(|(_, via)| via)).collect();
        let process = self.trees.states[state].process;
        let last = match failure {
            TreeFailure::Gate(_, act, _) => Some(Via::act(process, act)),
            TreeFailure::Invariant(..) => None,
        };
        let given = |list: &Vec<(Symbol, u32)>| list.iter().map(|(_, v)| values.get(v).copied()).collect();
        Witness {
            path,
            last,
            start: start.iter().filter_map(|(s, v)| values.get(v).map(|x| (*s, *x))).collect(),
            inputs: inputs.iter().rev().map(given).collect(),
        }
    }
}

impl RefinementClauses<'_, '_> {
    fn system(&self) -> &HornSystem<'_> {
        &self.forest.system
    }
    fn vocabulary(&self, process: usize) -> Vec<Symbol> {
        let s = self.system();
        let mut out = s.shared.clone();
        match self.forest.mode {
            TreeMode::Modular => {
                out.extend(&s.processes[process].locals);
                out.push(s.program.tid);
            }
            TreeMode::Pairs => out.extend(&s.processes[process].locals),
            TreeMode::Global => out.extend(s.processes.iter().flat_map(|p| p.locals.iter())),
        }
        out
    }
    fn fresh(&mut self, s: Symbol) -> u32 {
        let sort = self.system().terms.symbol_sort(s);
        self.variables.fresh(sort)
    }
    fn node(&mut self, parent: Option<usize>, meaning: ClauseMeaning, back: Vec<(u32, Term)>) -> usize {
        self.nodes.push(interpolate::ClauseNode { parent, label: Vec::new() });
        self.meaning.push((meaning, back));
        self.nodes.len() - 1
    }
    /// Adds a formula to a label.
    fn say(&mut self, node: usize, f: Term, positive: bool, valuation: &Valuation) {
        let terms = self.forest.system.terms;
        let (variables, indices) = (&mut self.variables, self.indices);
        let mut r = FormulaReader { terms, variables, valuation, indices, sides: Vec::new(), weaker: None };
        match r.formula(f, positive) {
            Ok(f) => {
                let (sides, weaker) = (std::mem::take(&mut r.sides), r.weaker.take());
                self.left_out = self.left_out.take().or(weaker);
                self.nodes[node].label.extend(sides);
                self.nodes[node].label.push(f);
            }
            Err(why) => {
                self.left_out.get_or_insert(why.0);
            }
        }
    }
    /// Says that a variable has a value.
    fn set(&mut self, node: usize, symbol: Symbol, variable: u32, value: Term, valuation: &Valuation) {
        let t = self.forest.system.terms;
        // The variable after the step, under a name that does not occur in the value.
        let mut both = valuation.clone();
        let sort = t.symbol_sort(symbol);
        let stand_in = self.forest.stand_ins[&sort];
        both.insert(stand_in, variable);
        if let SortKind::Map(key, _) = t.kind(sort) {
            for k in self.indices.get(&symbol).cloned().unwrap_or_default() {
                let Some(k) = index_term(t, key, k) else { continue };
                let f = t.eq(t.select(t.sym(stand_in), k), t.select(value, k));
                self.say(node, f, true, &both);
            }
            return;
        }
        self.say(node, t.eq(t.sym(stand_in), value), true, &both);
    }
    fn root(&mut self, failure: TreeFailure) {
        let root = self.node(None, ClauseMeaning::Nothing, Vec::new());
        let state = match failure {
            TreeFailure::Gate(s, ..) | TreeFailure::Invariant(s, _) => s,
        };
        let process = self.forest.trees.states[state].process;
        let mut valuation: Valuation = Valuation::default();
        for s in self.vocabulary(process) {
            let v = self.fresh(s);
            valuation.insert(s, v);
        }
        let forest = self.forest;
        match failure {
            TreeFailure::Gate(_, act, gate) => {
                let a = &forest.system.processes[process].transitions[act];
                let mut more = valuation.clone();
                let chosen = self.choose(&a.inputs, &mut more);
                self.inputs.push(chosen);
                self.say(root, a.guard, true, &more);
                for (_, f) in &a.gates[..gate] {
                    self.say(root, *f, true, &more);
                }
                self.say(root, a.gates[gate].1, false, &more);
            }
            TreeFailure::Invariant(_, property) => {
                if let program::PropertyKind::Invariant(f) = forest.system.program.properties[property].kind {
                    self.say(root, f, false, &valuation);
                }
            }
        }
        self.state(state, valuation, root);
    }
    fn choose(&mut self, inputs: &[Symbol], valuation: &mut Valuation) -> Vec<(Symbol, u32)> {
        let mut out = Vec::new();
        for s in inputs {
            let v = self.fresh(*s);
            valuation.insert(*s, v);
            out.push((*s, v));
        }
        out
    }
    fn state(&mut self, id: usize, valuation: Valuation, parent: usize) {
        if self.nodes.len() >= MAX_NODES {
            return;
        }
        let forest = self.forest;
        let s = &forest.trees.states[id];
        let t = forest.system.terms;
        let mut back: Vec<(u32, Term)> = valuation.iter().map(|(s, v)| (*v, t.sym(*s))).collect();
        back.sort_unstable();
        let node = self.node(Some(parent), ClauseMeaning::State(id), back);
        let Some((before, via)) = s.parent else {
            let process = &forest.system.processes[s.process];
            let own: Vec<Term> = match forest.mode {
                TreeMode::Modular | TreeMode::Pairs => process.init.clone(),
                TreeMode::Global => forest.system.processes.iter().flat_map(|p| p.init.iter().copied()).collect(),
            };
            for f in forest.system.init.iter().chain(&own).flat_map(|f| at_indices(t, self.indices, *f)) {
                self.say(node, f, true, &valuation);
            }
            self.start = valuation.iter().map(|(s, v)| (*s, *v)).collect();
            self.start.sort_unstable();
            return;
        };
        if let Some(by) = via.third {
            self.third(before, by, &valuation, node);
            return;
        }
        let act = &forest.system.processes[via.process].transitions[via.act];
        if let Some(edge) = via.edge {
            let mut pre = valuation.clone();
            for (now, _) in &act.writes {
                let v = self.fresh(*now);
                pre.insert(*now, v);
            }
            let tid = forest.system.program.tid;
            let mover = self.fresh(tid);
            let mut with = pre.clone();
            with.insert(forest.other, mover);
            self.say(node, t.lt(t.int(0), t.sym(forest.other)), true, &with);
            self.say(node, t.eq(t.sym(forest.other), t.sym(tid)), false, &with);
            self.state(before, pre.clone(), node);
            self.edge(edge, &pre, &valuation, mover, node);
            return;
        }
        let mut pre = valuation.clone();
        for (x, _) in &act.updates {
            let v = self.fresh(*x);
            pre.insert(*x, v);
        }
        let mut with = pre.clone();
        let chosen = self.choose(&act.inputs, &mut with);
        self.inputs.push(chosen);
        for f in &act.enabled {
            self.say(node, *f, true, &with);
        }
        for (x, value) in &act.updates {
            self.set(node, *x, valuation[x], *value, &with);
        }
        self.state(before, pre, node);
    }
    /// A step of a third instance: the two before it, and the third with either of them.
    fn third(&mut self, before: usize, by: ThirdStep, after: &Valuation, node: usize) {
        let forest = self.forest;
        let (t, couples) = (forest.system.terms, forest.couples());
        let v = &couples.thirds[by.thread.index()];
        let act = &v.transitions[by.act];
        let mut pre = after.clone();
        for (now, _) in &act.writes {
            let value = self.fresh(*now);
            pre.insert(*now, value);
        }
        let mut all = pre.clone();
        let tid = couples.recast(forest.system.program.tid, (Role::Third, Role::Third));
        for s in v.locals.iter().copied().chain([tid]) {
            let value = self.fresh(s);
            all.insert(s, value);
        }
        for f in couples.differ(t, &[Role::First, Role::Second, Role::Third]) {
            self.say(node, f, true, &all);
        }
        let mut with = all.clone();
        self.choose(&act.inputs, &mut with);
        for f in &act.enabled {
            self.say(node, *f, true, &with);
        }
        for (now, _) in &act.writes {
            let value = act.updates.iter().find(|(s, _)| s == now).expect("it is written").1;
            self.set(node, *now, after[now], value, &with);
        }
        self.state(before, pre, node);
        for (state, cast) in [by.with_first, by.with_second] {
            let process = forest.trees.states[state].process;
            let seen = self.vocabulary(process).into_iter().map(|s| (s, all[&couples.recast(s, cast)])).collect();
            self.state(state, seen, node);
        }
    }
    fn edge(&mut self, id: usize, pre: &Valuation, post: &Valuation, mover: u32, parent: usize) {
        if self.nodes.len() >= MAX_NODES {
            return;
        }
        let forest = self.forest;
        let e = &forest.trees.edges[id];
        let t = forest.system.terms;
        let act = &forest.system.processes[e.process].transitions[e.act];
        let mut back: Vec<(u32, Term)> = forest.system.shared.iter().map(|s| (pre[s], t.sym(*s))).collect();
        back.extend(act.writes.iter().map(|(now, next)| (post[now], t.sym(*next))));
        back.push((mover, t.sym(forest.system.program.tid)));
        let node = self.node(Some(parent), ClauseMeaning::Edge(id), back);
        let mut own: Valuation = forest.system.shared.iter().map(|s| (*s, pre[s])).collect();
        own.insert(forest.system.program.tid, mover);
        for s in forest.system.processes[e.process].locals.clone() {
            let v = self.fresh(s);
            own.insert(s, v);
        }
        let mut with = own.clone();
        self.choose(&act.inputs, &mut with);
        for f in &act.enabled {
            self.say(node, *f, true, &with);
        }
        for (now, _) in &act.writes {
            let value = act.updates.iter().find(|(s, _)| s == now).expect("it is written").1;
            self.set(node, *now, post[now], value, &with);
        }
        self.state(e.origin, own, node);
    }
}

/// Atomic predicates of a solution, and disjunctions whole. Not their negations: with them the trees grow, and no fewer
/// refinements are needed.
fn predicates(t: &Terms, variables: &Variables, back: &[(u32, Term)], s: &Solution) -> Vec<Term> {
    let say = |v: u32| -> Option<Term> {
        if let Some((_, x)) = back.iter().find(|(w, _)| *w == v) {
            return Some(*x);
        }
        let (map, k) = variables.element_of(v)?;
        let (_, m) = back.iter().find(|(w, _)| *w == map)?;
        let SortKind::Map(key, _) = t.kind(t.sort_of(*m)) else { return None };
        Some(t.select(*m, index_term(t, key, k)?))
    };
    let mut out = BTreeSet::new();
    fn walk(t: &Terms, say: &dyn Fn(u32) -> Option<Term>, s: &Solution, out: &mut BTreeSet<Term>) -> Option<Term> {
        match s {
            Solution::Le(l) => {
                let p = to_term(t, l, say)?;
                out.insert(p);
                Some(p)
            }
            Solution::And(list) => {
                let parts: Vec<Option<Term>> = list.iter().map(|s| walk(t, say, s, out)).collect();
                Some(t.and(&parts.into_iter().collect::<Option<Vec<_>>>()?))
            }
            Solution::Or(list) => {
                let parts: Vec<Option<Term>> = list.iter().map(|s| walk(t, say, s, out)).collect();
                let whole = t.or(&parts.into_iter().collect::<Option<Vec<_>>>()?);
                out.insert(whole);
                Some(whole)
            }
        }
    }
    walk(t, &say, s, &mut out);
    out.retain(|p| !t.is_true(*p) && !t.is_false(*p));
    out.into_iter().collect()
}
