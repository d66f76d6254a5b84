//! Trees of two instances: states over the shared store and everything of two different instances, whoever they are.
//!
//! In: a program in which at least two instances can exist. Out: one process for every two threads of which two different
//! instances can exist, whose locations are pairs of locations; and what a step of a third instance, of which the trees say something together
//! with either of the two, does to them. Identical instances are one: nothing here depends on their number. These are Threader's environment
//! transitions with predicates over several threads, one level above the modular case (rule `pairs`).
//! Deliberately absent: facts about three instances at once; numbers of instances (`count`).

use super::abstraction::Cube;
use super::couples::{Couples, Expanded, Role, ThirdStep, has_copies, joined};
use super::system::{HornSystem, process};
use super::trees::{COMPUTED_POST_WORK, Forest, Trouble};
use evidence::{PairsProof, RelatedPair};
use logic::{Symbol, Term, Terms};
use program::{LocId, Program, ThreadId};

/// The most steps of thirds that one state may have a part in.
const MAX_STEPS_OF_THIRDS: usize = 100_000;

impl<'a> HornSystem<'a> {
    pub(super) fn of_pairs(program: &'a Program, terms: &'a Terms) -> Self {
        let mut own = vec![program.tid];
        own.extend(program.threads.iter().flat_map(|t| t.locals.iter().map(|v| program.vars[*v].symbol)));
        let named = |s: Symbol, n: &str| terms.symbol(format!("{}{n}", terms.symbol_name(s)), terms.symbol_sort(s));
        let symbols: Vec<_> = own.iter().map(|s| (*s, named(*s, ".2"), named(*s, ".3"))).collect();
        let mut couples = Couples { symbols, of: Vec::new(), thirds: Vec::new(), width: Vec::new() };
        let cast = |couples: &Couples, role: Role, thread: ThreadId| {
            let renaming: Vec<(Symbol, Term)> = own.iter().map(|s| (*s, terms.sym(couples.symbol(role, *s)))).collect();
            process(program, terms, thread, if role == Role::First { &[] } else { &renaming })
        };
        couples.thirds = program.threads.ids().map(|t| cast(&couples, Role::Third, t)).collect();
        let mut processes = Vec::new();
        for t in program.threads.ids() {
            for u in program.threads.ids().filter(|u| t <= *u && has_copies(program, &[t, *u])) {
                let (first, second) = (cast(&couples, Role::First, t), cast(&couples, Role::Second, u));
                couples.of.push((t, u));
                couples.width.push(second.out.len());
                let mut both = joined(first, second);
                both.locals.extend([program.tid, couples.symbol(Role::Second, program.tid)]);
                both.init.extend(couples.differ(terms, &[Role::First, Role::Second]));
                processes.push(both);
            }
        }
        let mut out = Self::with(program, terms, processes, Vec::new());
        out.couples = Some(couples);
        out
    }
}

impl Forest<'_> {
    pub(crate) fn couples(&self) -> &Couples {
        self.system.couples.as_ref().expect("trees of pairs")
    }
    /// What a step of a third leaves of a state.
    pub(super) fn disturbed_by_third(&mut self, s: usize, by: ThirdStep) -> Result<Option<Cube>, Trouble> {
        let (process, at, cube) = (self.trees.states[s].process, self.trees.states[s].at, self.trees.states[s].cube);
        let [c1, c2] = [by.with_first, by.with_second].map(|(x, _)| self.trees.states[x].cube);
        let version = self.at[process][at].len();
        let key = (process, cube, at, by.thread, by.act, c1, c2, version);
        self.work += 1;
        if let Some(found) = self.thirds.get(&key) {
            return Ok(*found);
        }
        self.work += COMPUTED_POST_WORK;
        let t = self.system.terms;
        let couples = self.couples();
        let a = &couples.thirds[by.thread.index()].transitions[by.act];
        let mut fresh = couples.differ(t, &[Role::First, Role::Second, Role::Third]);
        for (c, cast) in [(c1, by.with_first.1), (c2, by.with_second.1)] {
            let renaming = couples.renaming(t, cast);
            fresh.extend(self.abs.parts(c).iter().map(|f| t.substitute(*f, renaming.iter().copied())));
        }
        fresh.extend(&a.enabled);
        let goals: Vec<Term> =
            self.at[process][at].iter().map(|p| t.substitute(*p, a.updates.iter().copied())).collect();
        let old: Vec<Term> = self.abs.parts(cube).to_vec();
        let found = self.abs.follows(&old, &fresh, &goals)?;
        let found = found.map(|f| Self::kept(&self.at[process][at], &f));
        let found = found.map(|list| self.abs.cube(list));
        self.thirds.insert(key, found);
        Ok(found)
    }
    /// Every step of a third that this state has a part in: as the two that are disturbed, or as one of them with the third.
    /// `None` where there are too many to look at.
    pub(super) fn steps_of_thirds(&self, s: usize, expanded: &Expanded) -> Option<Vec<(usize, ThirdStep)>> {
        let couples = self.couples();
        let program = self.system.program;
        let none = Vec::new();
        let at = |key: (usize, usize)| expanded.get(&key).unwrap_or(&none);
        let mut out = Vec::new();
        let mut combine = |pair: [(ThreadId, usize); 2], third: (ThreadId, usize)| {
            if out.len() > MAX_STEPS_OF_THIRDS || !has_copies(program, &[pair[0].0, pair[1].0, third.0]) {
                return;
            }
            let v = &couples.thirds[third.0.index()];
            let (target, place, _) = couples.find((Role::First, pair[0]), (Role::Second, pair[1]));
            if self.system.processes[target].in_atomic_block[place] {
                return;
            }
            let (p1, l1, cast1) = couples.find((Role::First, pair[0]), (Role::Third, third));
            let (p2, l2, cast2) = couples.find((Role::Second, pair[1]), (Role::Third, third));
            for act in v.out[third.1].iter().copied().filter(|a| !v.transitions[*a].writes.is_empty()) {
                for x in at((target, place)) {
                    for y in at((p1, l1)) {
                        for z in at((p2, l2)).iter().filter(|z| [*x, *y, **z].contains(&s)) {
                            let by =
                                ThirdStep { thread: third.0, act, with_first: (*y, cast1), with_second: (*z, cast2) };
                            out.push((*x, by));
                        }
                        if out.len() > MAX_STEPS_OF_THIRDS {
                            return;
                        }
                    }
                }
            }
        };
        let here = couples.places(self.trees.states[s].process, self.trees.states[s].at);
        let anywhere = |f: &mut dyn FnMut((ThreadId, usize))| {
            for t in program.threads.ids() {
                for l in 0..couples.thirds[t.index()].out.len() {
                    f((t, l));
                }
            }
        };
        // The two that are disturbed; then either of the two here is the third, and somebody else the partner of the other.
        anywhere(&mut |third| combine(here, third));
        for (one, third) in [(here[0], here[1]), (here[1], here[0])] {
            anywhere(&mut |other| {
                let pair = if one.0 < other.0 { [one, other] } else { [other, one] };
                combine(pair, third);
                if one.0 == other.0 {
                    combine([one, other], third);
                }
            });
        }
        (out.len() <= MAX_STEPS_OF_THIRDS).then_some(out)
    }
    /// What is worth saying of two instances of one thread is worth saying the other way round; what speaks of one of them alone is worth
    /// saying whoever the other is, and wherever.
    pub(super) fn learn_of_pair(&mut self, process: usize, at: usize, p: Term) -> bool {
        let t = self.system.terms;
        let couples = self.couples();
        let free = t.free_symbols(p);
        let speaks = |role: Role| couples.symbols.iter().any(|(own, ..)| free.contains(&couples.symbol(role, *own)));
        let (first, second) = (speaks(Role::First), speaks(Role::Second));
        let mut places = vec![(process, at, p)];
        let swapped = couples.swapped(t, p);
        if first == second {
            places.extend(couples.mirrored(process, at).map(|m| (process, m, swapped)));
        } else {
            let [x, y] = couples.places(process, at);
            let (place, as_first, as_second) = if first { (x, p, swapped) } else { (y, swapped, p) };
            for (k, process) in self.system.processes.iter().enumerate() {
                for here in 0..process.out.len() {
                    let [a, b] = couples.places(k, here);
                    places.extend((a == place).then_some((k, here, as_first)));
                    places.extend((b == place).then_some((k, here, as_second)));
                }
            }
        }
        let mut new = false;
        for (k, here, p) in places {
            if !self.at[k][here].contains(&p) {
                self.at[k][here].push(p);
                new |= (k, here) == (process, at);
            }
        }
        new
    }
    pub(super) fn pairs(&self) -> PairsProof {
        let couples = self.couples();
        let mut related = Vec::new();
        for (i, process) in self.system.processes.iter().enumerate() {
            for at in 0..process.out.len() {
                let [first, second] = couples.places(i, at).map(|(t, l)| (t, LocId(l as u32)));
                let formula = self.reached(i, at);
                if !self.system.terms.is_false(formula) {
                    related.push(RelatedPair { first, second, formula });
                }
            }
        }
        PairsProof { symbols: couples.symbols.clone(), related }
    }
}
