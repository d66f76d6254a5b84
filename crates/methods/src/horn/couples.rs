//! Two instances and a third: who they are, by which symbols they are spoken of, and the two as one process.
//!
//! In: a program in which at least two instances can exist. Out: for which threads two or three different instances can exist, the renamings between
//! their roles, and two processes joined into one whose locations are pairs of locations. Deliberately absent: trees (`pairs`).

use super::abstraction::Cube;
use super::process::{Process, Transition};
use logic::{Symbol, Term, Terms};
use program::{Copies, Program, ThreadId};
use rustc_hash::FxHashMap;

/// The most pairs of locations that are looked at.
const MAX_PLACES: usize = 6_000;

/// Two instances and a third.
pub(crate) struct Couples {
    /// For `tid` and each local of each thread: its symbols in a second and a third instance.
    pub(super) symbols: Vec<(Symbol, Symbol, Symbol)>,
    /// For each process, the threads of its two instances.
    pub(super) of: Vec<(ThreadId, ThreadId)>,
    /// For each thread, a third instance of it.
    pub(crate) thirds: Vec<Process>,
    /// For each process, the number of locations of the second thread.
    pub(super) width: Vec<usize>,
}

/// Which of three instances is spoken of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    First,
    Second,
    Third,
}

/// A state of the trees as one about other roles than those it is written for: the roles of its first and second instance.
pub(crate) type Cast = (Role, Role);

/// Different instances of these threads, one for each mention, can exist at once.
pub(super) fn has_copies(program: &Program, threads: &[ThreadId]) -> bool {
    threads.iter().all(|t| {
        let needed = threads.iter().filter(|x| *x == t).count();
        match program.threads[*t].copies {
            Copies::One => needed <= 1,
            Copies::Exactly(n) => needed <= n as usize,
            Copies::Any => true,
        }
    })
}

/// The threads of which a proof by pairs says something for every number of instances.
pub(super) fn in_every_number(program: &Program) -> Vec<&str> {
    let several = |t: &ThreadId| has_copies(program, &[*t, *t, *t]);
    program.threads.ids().filter(several).map(|t| program.threads[t].name.as_str()).collect()
}

/// Whether trees of pairs say anything that trees of all instances do not: there may be three instances.
pub(super) fn is_worth_it(program: &Program) -> bool {
    let locations = |t: ThreadId| program.threads[t].code.locations.len();
    let ids = || program.threads.ids();
    let couples = ids().flat_map(|t| ids().filter(move |u| t <= *u).map(move |u| (t, u)));
    let couples: Vec<(ThreadId, ThreadId)> = couples.filter(|(t, u)| has_copies(program, &[*t, *u])).collect();
    let places: usize = couples.iter().map(|(t, u)| locations(*t) * locations(*u)).sum();
    let three = couples.iter().any(|(t, u)| ids().any(|v| has_copies(program, &[*t, *u, v])));
    three && places <= MAX_PLACES
}

impl Couples {
    pub(super) fn symbol(&self, role: Role, own: Symbol) -> Symbol {
        match (role, self.symbols.iter().find(|(x, ..)| *x == own)) {
            (Role::Second, Some((_, second, _))) => *second,
            (Role::Third, Some((.., third))) => *third,
            _ => own,
        }
    }
    /// The symbols of a state's two instances, and what stands for each in other roles.
    pub(super) fn renaming(&self, t: &Terms, (a, b): Cast) -> Vec<(Symbol, Term)> {
        let mut out = Vec::new();
        for (own, second, _) in &self.symbols {
            out.push((*own, t.sym(self.symbol(a, *own))));
            out.push((*second, t.sym(self.symbol(b, *own))));
        }
        out
    }
    /// Which symbol a symbol of a state stands for in other roles.
    pub(crate) fn recast(&self, symbol: Symbol, (a, b): Cast) -> Symbol {
        for (own, second, _) in &self.symbols {
            if symbol == *own {
                return self.symbol(a, *own);
            }
            if symbol == *second {
                return self.symbol(b, *own);
            }
        }
        symbol
    }
    /// The ids are positive and different.
    pub(crate) fn differ(&self, t: &Terms, roles: &[Role]) -> Vec<Term> {
        let tid = |r: &Role| t.sym(self.symbol(*r, self.symbols[0].0));
        let mut out = Vec::new();
        for (n, r) in roles.iter().enumerate() {
            out.push(t.lt(t.int(0), tid(r)));
            out.extend(roles[..n].iter().map(|before| t.ne(tid(before), tid(r))));
        }
        out
    }
    /// The process of two threads and its place, and the roles of its first and second, for two instances.
    pub(super) fn find(
        &self,
        (a, x): (Role, (ThreadId, usize)),
        (b, y): (Role, (ThreadId, usize)),
    ) -> (usize, usize, Cast) {
        let (first, second, cast) = if x.0 <= y.0 { (x, y, (a, b)) } else { (y, x, (b, a)) };
        let process = self.of.iter().position(|c| *c == (first.0, second.0)).expect("two instances that exist");
        (process, first.1 * self.width[process] + second.1, cast)
    }
    pub(super) fn places(&self, process: usize, at: usize) -> [(ThreadId, usize); 2] {
        let (t, u) = self.of[process];
        [(t, at / self.width[process]), (u, at % self.width[process])]
    }
    pub(super) fn describe(&self, process: usize, at: usize) -> String {
        let [(_, l), (_, m)] = self.places(process, at);
        format!("L{l} and L{m}")
    }
    /// For two instances of one thread, the place the other way round.
    pub(crate) fn mirrored(&self, process: usize, at: usize) -> Option<usize> {
        let [(t, l), (u, m)] = self.places(process, at);
        (t == u).then_some(m * self.width[process] + l)
    }
    pub(crate) fn swapped(&self, t: &Terms, formula: Term) -> Term {
        t.substitute(formula, self.renaming(t, (Role::Second, Role::First)))
    }
}

/// Two instances as one process: the places are pairs of locations; while one is inside an atomic block the other does not move.
pub(super) fn joined(first: Process, second: Process) -> Process {
    let width = second.out.len();
    let places = first.out.len() * width;
    let mut transitions: Vec<Transition> = Vec::new();
    let mut out = vec![Vec::new(); places];
    let mut add = |from: usize, to: usize, a: &Transition| {
        out[from].push(transitions.len());
        transitions.push(Transition { from, to, ..a.clone() });
    };
    for at in 0..places {
        let (l, m) = (at / width, at % width);
        for a in first.out[l].iter().map(|a| &first.transitions[*a]).filter(|_| !second.in_atomic_block[m]) {
            add(at, a.to * width + m, a);
        }
        for a in second.out[m].iter().map(|a| &second.transitions[*a]).filter(|_| !first.in_atomic_block[l]) {
            add(at, l * width + a.to, a);
        }
    }
    let each = |f: &dyn Fn(usize, usize) -> bool| (0..places).map(|at| f(at / width, at % width)).collect();
    let known = |at: usize| [&first.settled[at / width][..], &second.settled[at % width][..]].concat();
    Process {
        thread: first.thread,
        name: format!("{} and {}", first.name, second.name),
        locals: [&first.locals[..], &second.locals[..]].concat(),
        transitions,
        out,
        entry: first.entry * width + second.entry,
        in_atomic_block: each(&|l, m| first.in_atomic_block[l] || second.in_atomic_block[m]),
        init: [&first.init[..], &second.init[..]].concat(),
        settled: (0..places).map(known).collect(),
    }
}

/// A step of a third instance, as the trees know of it: the two states that say something of the third, with the first and with the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThirdStep {
    pub thread: ThreadId,
    pub act: usize,
    /// With the first; how it is read.
    pub with_first: (usize, Cast),
    pub with_second: (usize, Cast),
}

/// Which step of a third a cube is disturbed by: the process, cube and place, the thread and act, the two other cubes, and how many
/// predicates the place had.
pub(crate) type Disturbance = (usize, Cube, usize, ThreadId, usize, Cube, Cube, usize);

/// States that were expanded, by process and place.
pub(crate) type Expanded = FxHashMap<(usize, usize), Vec<usize>>;
