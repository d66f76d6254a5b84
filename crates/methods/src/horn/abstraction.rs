//! What a conjunction of predicates implies after a step: abstract posts, asked once.
//!
//! In: known formulas and goals. Out: which goals follow, or that the known formulas contradict each other. Known
//! formulas and goals are grouped by the symbols they share, so that a question is small and comes again; goals are not asked
//! one by one: a model of what is known throws out every goal it falsifies, until none of the rest can be.
//! Sets of predicates are interned as cubes.

use base::Budget;
use logic::{Symbol, Term, Terms, Value};
use rustc_hash::FxHashMap;
use solver::{Backend, Satisfiability, Smt, SolverSettings, Z3InProcess};
use std::rc::Rc;

base::id_type!(
    /// A conjunction of predicates, interned.
    Cube, "c"
);

pub(crate) struct Abstraction<'a> {
    pub terms: &'a Terms,
    smt: Box<dyn Smt + 'a>,
    symbols: FxHashMap<Term, Rc<[Symbol]>>,
    /// Whether a conjunction is satisfiable, and what it implies.
    satisfiable: FxHashMap<Vec<Term>, bool>,
    implied: FxHashMap<(Vec<Term>, Term), bool>,
    cubes: Vec<Rc<[Term]>>,
    of: FxHashMap<Rc<[Term]>, Cube>,
    pub questions: u64,
}

/// The solver gave no answer.
#[derive(Clone, Debug)]
pub(crate) struct NoAnswer(pub String);

impl<'a> Abstraction<'a> {
    pub(super) fn new(terms: &'a Terms, settings: SolverSettings, budget: &Budget) -> Self {
        Self {
            terms,
            smt: Self::session(terms, settings, budget),
            symbols: FxHashMap::default(),
            satisfiable: FxHashMap::default(),
            implied: FxHashMap::default(),
            cubes: Vec::new(),
            of: FxHashMap::default(),
            questions: 0,
        }
    }
    /// Goes on with another budget: answers are remembered, the session is a new one.
    pub(super) fn reopen(&mut self, settings: SolverSettings, budget: &Budget) {
        self.smt = Self::session(self.terms, settings, budget);
    }
    fn session(terms: &'a Terms, settings: SolverSettings, budget: &Budget) -> Box<dyn Smt + 'a> {
        Z3InProcess.open(terms, SolverSettings { limit: 4_000_000, ..settings }, budget)
    }
    pub(crate) fn cube(&mut self, mut list: Vec<Term>) -> Cube {
        list.sort_unstable();
        list.dedup();
        let list: Rc<[Term]> = list.into();
        if let Some(c) = self.of.get(&list) {
            return *c;
        }
        let c = Cube(self.cubes.len() as u32);
        self.cubes.push(list.clone());
        self.of.insert(list, c);
        c
    }
    pub(super) fn parts(&self, c: Cube) -> Rc<[Term]> {
        self.cubes[c.index()].clone()
    }
    /// Every state of `a` is one of `b`: all predicates of `b` are in `a`.
    pub(super) fn within(&self, a: Cube, b: Cube) -> bool {
        if a == b {
            return true;
        }
        let (a, b) = (&self.cubes[a.index()], &self.cubes[b.index()]);
        if b.len() > a.len() {
            return false;
        }
        let mut i = 0;
        b.iter().all(|x| {
            while i < a.len() && a[i] < *x {
                i += 1;
            }
            i < a.len() && a[i] == *x
        })
    }
    pub(super) fn symbols(&mut self, f: Term) -> Rc<[Symbol]> {
        if let Some(s) = self.symbols.get(&f) {
            return s.clone();
        }
        let s: Rc<[Symbol]> = self.terms.free_symbols(f).into();
        self.symbols.insert(f, s.clone());
        s
    }
    /// Which goals follow; `None` if the known formulas contradict each other. `fresh` are the known formulas that may
    /// do so: the others are satisfiable together.
    pub(super) fn follows(
        &mut self,
        old: &[Term],
        fresh: &[Term],
        goals: &[Term],
    ) -> Result<Option<Vec<bool>>, NoAnswer> {
        if fresh.iter().any(|f| self.terms.is_false(*f)) {
            return Ok(None);
        }
        let total = old.len() + fresh.len() + goals.len();
        let all: Vec<Term> = old.iter().chain(fresh).chain(goals).copied().collect();
        let mut group: Vec<usize> = (0..total).collect();
        let mut owner: FxHashMap<Symbol, usize> = FxHashMap::default();
        fn root(group: &mut [usize], mut i: usize) -> usize {
            while group[i] != i {
                group[i] = group[group[i]];
                i = group[i];
            }
            i
        }
        for (i, f) in all.iter().enumerate() {
            for s in self.symbols(*f).iter() {
                let j = *owner.entry(*s).or_insert(i);
                let (a, b) = (root(&mut group, i), root(&mut group, j));
                group[a.max(b)] = a.min(b);
            }
        }
        let roots: Vec<usize> = (0..total).map(|i| root(&mut group, i)).collect();
        let mut out = vec![false; goals.len()];
        let mut seen = Vec::new();
        for r in roots.iter().copied() {
            if seen.contains(&r) {
                continue;
            }
            seen.push(r);
            let of = |range: std::ops::Range<usize>| -> Vec<usize> { range.filter(|i| roots[*i] == r).collect() };
            let wanted = of(old.len() + fresh.len()..total);
            let is_fresh = !of(old.len()..old.len() + fresh.len()).is_empty();
            if wanted.is_empty() && !is_fresh {
                continue;
            }
            let mut known: Vec<Term> = of(0..old.len() + fresh.len()).into_iter().map(|i| all[i]).collect();
            known.sort_unstable();
            known.dedup();
            let goals: Vec<Term> = wanted.iter().map(|i| all[*i]).collect();
            match self.ask(known, &goals, is_fresh)? {
                None => return Ok(None),
                Some(found) => {
                    for (w, f) in wanted.iter().zip(found) {
                        out[w - old.len() - fresh.len()] = f;
                    }
                }
            }
        }
        Ok(Some(out))
    }
    fn ask(&mut self, known: Vec<Term>, goals: &[Term], doubt: bool) -> Result<Option<Vec<bool>>, NoAnswer> {
        let t = self.terms;
        let mut out: Vec<Option<bool>> = Vec::with_capacity(goals.len());
        for g in goals {
            out.push(if t.is_true(*g) || known.binary_search(g).is_ok() {
                Some(true)
            } else if known.is_empty() && t.is_false(*g) {
                Some(false)
            } else {
                self.implied.get(&(known.clone(), *g)).copied()
            });
        }
        let sat = if doubt { self.satisfiable.get(&known).copied() } else { Some(true) };
        if sat == Some(false) {
            return Ok(None);
        }
        if sat == Some(true) && out.iter().all(Option::is_some) {
            return Ok(Some(out.into_iter().map(|x| x == Some(true)).collect()));
        }
        self.smt.push();
        for k in &known {
            self.smt.assert(*k);
        }
        let answer = self.rounds(goals, &mut out);
        self.smt.pop();
        match answer? {
            false => {
                self.satisfiable.insert(known, false);
                Ok(None)
            }
            true => {
                for (g, o) in goals.iter().zip(&out) {
                    self.implied.insert((known.clone(), *g), *o == Some(true));
                }
                self.satisfiable.insert(known, true);
                Ok(Some(out.into_iter().map(|x| x == Some(true)).collect()))
            }
        }
    }
    /// Decides what is open; false if what is asserted is contradictory.
    fn rounds(&mut self, goals: &[Term], out: &mut [Option<bool>]) -> Result<bool, NoAnswer> {
        let t = self.terms;
        let mut first = true;
        loop {
            let open: Vec<usize> = (0..goals.len()).filter(|i| out[*i].is_none()).collect();
            if !first && open.is_empty() {
                return Ok(true);
            }
            if !first {
                let wrong: Vec<Term> = open.iter().map(|i| t.not(goals[*i])).collect();
                self.smt.push();
                self.smt.assert(t.or(&wrong));
            }
            self.questions += 1;
            let answer = self.smt.check();
            let mut thrown = 0;
            if answer == Satisfiability::Sat {
                for i in &open {
                    match self.smt.value(goals[*i]) {
                        Some(Value::Bool(false)) => {
                            out[*i] = Some(false);
                            thrown += 1;
                        }
                        Some(_) => {}
                        None => return Err(NoAnswer("a model has no value".into())),
                    }
                }
            }
            if !first {
                self.smt.pop();
            }
            match answer {
                Satisfiability::Unsat if first => return Ok(false),
                Satisfiability::Unsat => {
                    for i in open {
                        out[i] = Some(true);
                    }
                    return Ok(true);
                }
                Satisfiability::Sat if first || thrown > 0 => first = false,
                Satisfiability::Sat => return Err(NoAnswer("a model falsifies nothing".into())),
                Satisfiability::Unknown(why) => return Err(NoAnswer(why.to_string())),
            }
        }
    }
}
