//! Random small programs against the reference semantics: the same violations with traces of the same length, whatever
//! is switched on, and with any number of workers.
//!
//! In: seeds. Out: tests; a failure prints the program.

use super::run::Exploration;
use super::shared::SearchStop;
use super::system::Switches;
use super::tests::{Build, run, run_with};
use base::differential::limited_work;
use logic::{MachineIntSort, Op, Sort, SortKind, Symbol, Term};
use program::semantics::{InstanceCounts, ReachLimits, Reached, reachable_states};
use program::{
    Class, Copies, InitialFact, LocId, Program, PropertyId, PropertyKind, Rely, Spawn, Start, ThreadId, VarId,
};

struct ProgramDice(u64);

impl ProgramDice {
    fn roll(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
    fn chance(&mut self, percent: u64) -> bool {
        self.roll(100) < percent
    }
    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.roll(of.len() as u64) as usize]
    }
}

/// What a generated program is made of.
struct ProgramMaker {
    b: Build,
    d: ProgramDice,
    ints: Vec<VarId>,
    bools: Vec<VarId>,
    map: Option<VarId>,
    set: Option<VarId>,
    seq: Option<VarId>,
    byte: Option<VarId>,
    next: Option<VarId>,
    val: Option<VarId>,
    live: Option<VarId>,
    head: Option<VarId>,
    tids: bool,
    /// A lock, and what it is to guard.
    lock: Option<(VarId, VarId)>,
}

impl ProgramMaker {
    fn int(&mut self, locals: &[VarId], depth: u32) -> Term {
        let choice = self.d.roll(if depth == 0 { 4 } else { 9 });
        let out = match choice {
            0 => self.b.p.terms.int(i128::from(self.d.roll(4)) - 1),
            1 => {
                let v = self.d.pick(&self.ints);
                self.b.p.now(v)
            }
            2 if !locals.is_empty() => {
                let v = self.d.pick(locals);
                self.b.p.now(v)
            }
            3 if self.tids => self.b.p.terms.sym(self.b.p.tid),
            4 if self.map.is_some() => {
                let k = self.int(locals, depth - 1);
                self.b.p.terms.select(self.b.p.now(self.map.unwrap()), k)
            }
            5 => {
                let (c, a, b) =
                    (self.bool(locals, depth - 1), self.int(locals, depth - 1), self.int(locals, depth - 1));
                self.b.p.terms.ite(c, a, b)
            }
            6 if self.seq.is_some() => {
                let q = self.b.p.now(self.seq.unwrap());
                if self.d.chance(50) {
                    self.b.p.terms.mk(Op::Len, &[q])
                } else {
                    let i = self.int(locals, depth - 1);
                    self.b.p.terms.mk(Op::At, &[q, i])
                }
            }
            7 if self.byte.is_some() => self.b.p.terms.cast(self.b.p.now(self.byte.unwrap()), Sort::INT),
            8 if self.val.is_some() => {
                self.b.p.terms.select(self.b.p.now(self.val.unwrap()), self.b.p.now(self.head.unwrap()))
            }
            _ => {
                let (a, b) =
                    (self.int(locals, depth.saturating_sub(1)), self.b.p.terms.int(i128::from(self.d.roll(3)) + 1));
                let op = self.d.pick(&[Op::Add, Op::Sub, Op::Mul, Op::Div]);
                let inner = self.b.p.terms.mk(op, &[a, b]);
                self.b.p.terms.mk(Op::Mod, &[inner, self.b.p.terms.int(3)])
            }
        };
        out
    }
    fn bool(&mut self, locals: &[VarId], depth: u32) -> Term {
        let choice = self.d.roll(if depth == 0 { 3 } else { 8 });
        let out = match choice {
            0 => {
                let v = self.d.pick(&self.bools);
                self.b.p.now(v)
            }
            1 | 2 => {
                let (a, b) = (self.int(locals, depth.saturating_sub(1)), self.int(locals, 0));
                match self.d.roll(3) {
                    0 => self.b.p.terms.eq(a, b),
                    1 => self.b.p.terms.lt(a, b),
                    _ => self.b.p.terms.le(a, b),
                }
            }
            3 => {
                let a = self.bool(locals, depth - 1);
                self.b.p.terms.not(a)
            }
            4 | 5 => {
                let (a, b) = (self.bool(locals, depth - 1), self.bool(locals, depth - 1));
                match self.d.roll(3) {
                    0 => self.b.p.terms.and(&[a, b]),
                    1 => self.b.p.terms.or(&[a, b]),
                    _ => self.b.p.terms.implies(a, b),
                }
            }
            6 if self.set.is_some() => {
                let e = self.int(locals, 0);
                self.b.p.terms.member(e, self.b.p.now(self.set.unwrap()))
            }
            7 if self.map.is_some() && self.d.chance(50) => {
                let i = self.b.p.terms.symbol("i", Sort::INT);
                let read = self.b.p.terms.select(self.b.p.now(self.map.unwrap()), self.b.p.terms.sym(i));
                let range = self.b.p.terms.and(&[
                    self.b.p.terms.le(self.b.p.terms.int(0), self.b.p.terms.sym(i)),
                    self.b.p.terms.lt(self.b.p.terms.sym(i), self.b.p.terms.int(3)),
                ]);
                if self.d.chance(50) {
                    self.b
                        .p
                        .terms
                        .forall(&[i], self.b.p.terms.implies(range, self.b.p.terms.le(read, self.b.p.terms.int(1))))
                } else {
                    self.b
                        .p
                        .terms
                        .exists(&[i], self.b.p.terms.and(&[range, self.b.p.terms.eq(read, self.b.p.terms.int(1))]))
                }
            }
            _ => self.b.p.terms.bool(self.d.chance(70)),
        };
        out
    }
    /// An expression with its free choice of variable to write.
    fn write(&mut self, locals: &[VarId], flags: &[VarId]) -> (VarId, Term) {
        let choice = self.d.roll(9);
        match choice {
            0 | 1 if !locals.is_empty() => (self.d.pick(locals), self.int(locals, 2)),
            2 => {
                let mut all = self.bools.clone();
                all.extend(flags);
                let v = self.d.pick(&all);
                (v, self.bool(locals, 2))
            }
            3 if self.map.is_some() => {
                let m = self.map.unwrap();
                let (k, v) = (self.int(locals, 1), self.int(locals, 1));
                let t = &self.b.p.terms;
                let one = t.store(self.b.p.now(m), k, v);
                if self.d.chance(25) {
                    let c = self.bool(locals, 1);
                    let t = &self.b.p.terms;
                    return (m, t.ite(c, one, self.b.p.now(m)));
                }
                (m, one)
            }
            4 if self.set.is_some() => {
                let s = self.set.unwrap();
                let e = self.int(locals, 1);
                let t = &self.b.p.terms;
                let one = t.mk(Op::Insert, &[e, t.mk(Op::EmptySet(self.b.p.vars[s].sort), &[])]);
                let op = self.d.pick(&[Op::Union, Op::Minus]);
                (s, t.mk(op, &[self.b.p.now(s), one]))
            }
            5 if self.seq.is_some() => {
                let q = self.seq.unwrap();
                let e = self.int(locals, 0);
                let t = &self.b.p.terms;
                let now = self.b.p.now(q);
                let long = t.lt(t.mk(Op::Len, &[now]), t.int(2));
                let add = t.mk(Op::Concat, &[t.mk(Op::Unit, &[e]), now]);
                let cut = t.mk(Op::Slice, &[now, t.int(1), t.mk(Op::Len, &[now])]);
                (q, t.ite(long, add, cut))
            }
            6 if self.byte.is_some() => {
                let v = self.byte.unwrap();
                let t = &self.b.p.terms;
                let k = self.d.pick(&[1, 100, 200]);
                let sort = self.b.p.vars[v].sort;
                let op = self.d.pick(&[Op::Add, Op::Sub, Op::BitAnd, Op::BitXor]);
                (v, t.mk(op, &[self.b.p.now(v), t.num(k, sort)]))
            }
            _ => {
                let v = self.d.pick(&self.ints);
                (v, self.int(locals, 2))
            }
        }
    }
    fn action(&mut self, thread: ThreadId, from: u32, to: u32, locals: &[VarId], flags: &[VarId], p: PropertyId) {
        let guard = if self.d.chance(40) { Some(self.bool(locals, 2)) } else { None };
        let gate = if self.d.chance(12) { Some(self.bool(locals, 2)) } else { None };
        let mut writes = Vec::new();
        for _ in 0..self.d.roll(3) {
            let (v, e) = self.write(locals, flags);
            if writes.iter().all(|(w, _)| *w != v) {
                writes.push((v, e));
            }
        }
        let mut input: Option<(Symbol, VarId)> = None;
        let mut guard_extra = None;
        if self.d.chance(15) {
            let t = &self.b.p.terms;
            if self.d.chance(50) {
                let v = self.d.pick(&self.bools);
                input = Some((t.symbol("in", Sort::BOOL), v));
            } else {
                let v = self.d.pick(&self.ints);
                let s = t.symbol("in", Sort::INT);
                guard_extra = Some(t.and(&[t.le(t.int(0), t.sym(s)), t.lt(t.sym(s), t.int(2))]));
                input = Some((s, v));
            }
        }
        let allocates = self.live.is_some() && self.d.chance(25);
        let frees = self.live.is_some() && !allocates && self.d.chance(12);
        let mut step = self.b.step(thread, from, to);
        if let Some(g) = guard {
            step = step.when(|_| g);
        }
        if let Some(g) = gate {
            step = step.gate(p, |_| g);
        }
        for (v, e) in &writes {
            step = step.set(*v, |_| *e);
        }
        let a = step.take();
        if let Some((s, v)) = input
            && a.updates.iter().all(|u| u.var != v)
        {
            a.inputs.push(s);
            let t = &self.b.p.terms;
            a.updates.push(program::Update { var: v, value: t.sym(s) });
            if let Some(g) = guard_extra {
                a.guard = t.and(&[a.guard, g]);
            }
        }
        if allocates {
            let (p, t) = (&self.b.p, &self.b.p.terms);
            let (live, head, next) = (self.live.unwrap(), self.head.unwrap(), self.next.unwrap());
            let sort = p.vars[head].sort;
            let r = t.symbol("r", sort);
            let old = p.now(head);
            let fresh = t.not(t.member(t.sym(r), p.now(live)));
            let null = t.default_of(sort);
            a.guard = t.and(&[a.guard, t.ne(t.sym(r), null), fresh]);
            a.inputs.push(r);
            let grown = t.mk(Op::Insert, &[t.sym(r), p.now(live)]);
            a.updates.push(program::Update { var: live, value: grown });
            a.updates.push(program::Update { var: head, value: t.sym(r) });
            let linked = t.store(p.now(next), t.sym(r), old);
            a.updates.push(program::Update { var: next, value: linked });
        } else if frees {
            let (p, t) = (&self.b.p, &self.b.p.terms);
            let (live, head) = (self.live.unwrap(), self.head.unwrap());
            let one = t.mk(Op::Insert, &[p.now(head), t.mk(Op::EmptySet(p.vars[live].sort), &[])]);
            let less = t.mk(Op::Minus, &[p.now(live), one]);
            a.guard = t.and(&[a.guard, t.ne(p.now(head), t.default_of(p.vars[head].sort))]);
            a.updates.push(program::Update { var: live, value: less });
            let value = t.select(p.now(self.next.unwrap()), p.now(head));
            a.updates.push(program::Update { var: head, value });
        }
        let action = a.clone();
        self.b.p.threads[thread].code.actions.push(action);
    }
}

/// A random program, its numbers of instances and all its properties.
pub(crate) fn program(seed: u64) -> (Program, InstanceCounts) {
    let mut m = ProgramMaker {
        b: Build::new(),
        d: ProgramDice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1),
        ints: Vec::new(),
        bools: Vec::new(),
        map: None,
        set: None,
        seq: None,
        byte: None,
        next: None,
        val: None,
        live: None,
        head: None,
        tids: false,
        lock: None,
    };
    (0..8).for_each(|_| {
        m.d.roll(2);
    });
    m.tids = m.d.chance(50);
    for n in 0..2 {
        let v = m.b.int(&format!("x{n}"), n);
        m.ints.push(v);
    }
    let v = m.b.flag("b");
    m.bools.push(v);
    if m.d.chance(35) {
        m.lock = Some((m.b.int("m", 0), m.b.int("secret", 0)));
    }
    if m.d.chance(20) {
        let v = m.b.shared("open", Sort::BOOL, None);
        m.bools.push(v);
    }
    if m.d.chance(40) {
        let sort = m.b.p.terms.map_sort(Sort::INT, Sort::INT);
        let zero = m.b.p.terms.const_map(sort, m.b.p.terms.int(0));
        m.map = Some(m.b.shared("map", sort, Some(zero)));
    }
    if m.d.chance(25) {
        let sort = m.b.p.terms.sort(SortKind::Set(Sort::INT));
        let empty = m.b.p.terms.mk(Op::EmptySet(sort), &[]);
        m.set = Some(m.b.shared("set", sort, Some(empty)));
    }
    if m.d.chance(20) {
        let sort = m.b.p.terms.sort(SortKind::Seq(Sort::INT));
        let empty = m.b.p.terms.mk(Op::EmptySeq(sort), &[]);
        m.seq = Some(m.b.shared("seq", sort, Some(empty)));
    }
    if m.d.chance(20) {
        let sort = Sort::machine(MachineIntSort { bits: 8, signed: m.d.chance(50) });
        let zero = m.b.p.terms.num(0, sort);
        m.byte = Some(m.b.shared("byte", sort, Some(zero)));
    }
    if m.d.chance(15) {
        heap(&mut m);
    }
    let asserted = m.b.property("assert:1", PropertyKind::Assertion);
    let mut counts = Vec::new();
    let threads = 1 + m.d.roll(2);
    for n in 0..threads {
        let copies = 1 + m.d.roll(if threads == 1 { 3 } else { 2 }) as u32;
        counts.push(copies);
        thread(&mut m, &format!("T{n}"), Copies::number(copies), asserted);
    }
    if m.d.chance(10) {
        spawned(&mut m, asserted);
        counts.push(0);
    }
    if m.d.chance(50) {
        let f = m.bool(&[], 2);
        let id = m.b.property("invariant:1", PropertyKind::Invariant(f));
        let origin = m.b.origin;
        m.b.p.invariants.push(InitialFact { formula: Some(f), property: Some(id), origin });
    }
    if m.d.chance(25) {
        let x = m.ints[0];
        let (p, t) = (&m.b.p, &m.b.p.terms);
        let holds = match m.d.roll(3) {
            0 => t.le(p.now(x), p.next(x)),
            1 => t.implies(t.eq(p.now(x), t.sym(p.tid)), t.eq(p.next(x), p.now(x))),
            _ => t.ne(p.next(x), t.int(2)),
        };
        let id = m.b.property("rely:1", PropertyKind::Rely(0));
        let origin = m.b.origin;
        m.b.p.relies.push(Rely { thread: None, formula: Some(holds), property: id, origin });
    }
    if m.d.chance(40) {
        m.b.property("deadlock", PropertyKind::Deadlock);
    }
    if m.live.is_some() && m.d.chance(50) {
        m.b.property("leak", PropertyKind::Leak);
    }
    (m.b.p, InstanceCounts(counts))
}

fn heap(m: &mut ProgramMaker) {
    let class = m.b.p.terms.declare_class("Node");
    let t = m.b.p.terms.clone();
    let node = t.sort(SortKind::Ref(class));
    let (nexts, vals) = (t.map_sort(node, node), t.map_sort(node, Sort::INT));
    let set = t.sort(SortKind::Set(node));
    let empty = t.mk(Op::EmptySet(set), &[]);
    let null = t.null(class);
    let zeros = t.const_map(vals, t.int(0));
    m.b.p.terms = t;
    m.live = Some(m.b.shared("live", set, Some(empty)));
    m.next = Some(m.b.shared("next", nexts, None));
    m.val = Some(m.b.shared("val", vals, Some(zeros)));
    m.head = Some(m.b.shared("head", node, Some(null)));
    let fields = vec![m.next.unwrap(), m.val.unwrap()];
    let (live, origin) = (m.live.unwrap(), m.b.origin);
    m.b.p.classes.push(Class { name: "Node".into(), fields, live, origin });
}

fn thread(m: &mut ProgramMaker, name: &str, copies: Copies, asserted: PropertyId) -> ThreadId {
    let size = 3 + m.d.roll(3) as u32;
    let id = m.b.thread(name, copies, size);
    let zero = m.b.p.terms.int(0);
    let mut locals = Vec::new();
    let mut flags = Vec::new();
    if m.d.chance(60) {
        locals.push(m.b.local(id, "i", Sort::INT, Some(zero)));
    }
    if m.d.chance(30) {
        flags.push(m.b.local(id, "c", Sort::BOOL, None));
    }
    for from in 0..size - 1 {
        let ways = 1 + u32::from(m.d.chance(40));
        for way in 0..ways {
            let to = if way == 0 { from + 1 } else { m.d.roll(u64::from(size)) as u32 };
            m.action(id, from, to, &locals, &flags, asserted);
        }
    }
    if m.d.chance(70) {
        locked(m, id, size, asserted);
    }
    if m.d.chance(12) && size > 3 {
        m.b.p.threads[id].code.locations[LocId(1)].in_atomic_block = true;
    }
    id
}

/// Takes the lock at some step and gives it back at the last; the steps between touch what it guards. Now and then
/// one touches it without the lock.
fn locked(m: &mut ProgramMaker, id: ThreadId, size: u32, asserted: PropertyId) {
    let Some((lock, secret)) = m.lock else { return };
    let from = m.d.roll(u64::from(size) - 2) as u32;
    let careless = m.d.chance(15);
    let t = m.b.p.terms.clone();
    let (now, tid) = (|v: VarId| t.sym(m.b.p.vars[v].symbol), t.sym(m.b.p.tid));
    let (held, inner) = (now(lock), now(secret));
    let mut actions = m.b.p.threads[id].code.actions.clone();
    for a in actions.iter_mut() {
        let at = a.from.0;
        if at == from && a.to.0 == from + 1 {
            a.guard = t.and(&[a.guard, t.eq(held, t.int(0))]);
            a.updates.push(program::Update { var: lock, value: tid });
        } else if at == size - 2 {
            a.updates.push(program::Update { var: lock, value: t.int(0) });
        } else if at > from || careless {
            match m.d.roll(3) {
                0 => a.updates.push(program::Update { var: secret, value: t.sub(t.int(1), inner) }),
                1 => a.guard = t.and(&[a.guard, t.eq(inner, t.int(i128::from(m.d.roll(2))))]),
                _ => a
                    .gates
                    .push(program::Gate { property: asserted, formula: t.eq(inner, t.int(i128::from(m.d.roll(2)))) }),
            }
        }
    }
    m.b.p.terms = t;
    m.b.p.threads[id].code.actions = actions;
}

/// A thread that the first one starts.
fn spawned(m: &mut ProgramMaker, asserted: PropertyId) {
    let id = thread(m, "S", Copies::Any, asserted);
    m.b.p.threads[id].start = Start::Spawned;
    let into = m.ints[1];
    let first = ThreadId(0);
    let code = &mut m.b.p.threads[first].code;
    let at = code.actions.ids().next_back().unwrap();
    code.actions[at].spawn = Some(Spawn { thread: id, args: Vec::new(), into: None });
    code.actions[at].to = code.exit.unwrap();
    let _ = into;
}

fn lengths(a: &Exploration) -> Vec<(PropertyId, usize)> {
    a.traces.iter().map(|(p, t)| (*p, t.steps.len())).collect()
}

fn expected(r: &Reached) -> Vec<(PropertyId, usize)> {
    r.violations.iter().map(|(p, t)| (*p, t.steps.len())).collect()
}

/// Compares one program; says whether the oracle could decide it.
fn compare(seed: u64) -> bool {
    if std::env::var("LOUD").is_ok() {
        eprintln!("seed {seed}");
    }
    let (p, counts) = program(seed);
    let budget = limited_work(std::time::Duration::from_secs(5));
    let limits = ReachLimits { states: 500, budget, ..ReachLimits::default() };
    let oracle = reachable_states(&p, &counts, &limits);
    let wanted: Vec<PropertyId> = p.properties.ids().collect();
    if !oracle.complete() {
        return false;
    }
    for (k, (por, symmetry, dead)) in
        [(false, false, false), (false, false, true), (false, true, false), (true, false, false), (true, true, true)]
            .into_iter()
            .enumerate()
    {
        let switches = Switches { por, symmetry, dead, heap: symmetry || k == 1 };
        let a = run(&p, &counts.0, &wanted, switches, 1 + (seed as usize + k) % 2);
        assert!(a.untraced.is_empty(), "seed {seed} {switches:?}: {:?}", a.untraced);
        assert_eq!(lengths(&a), expected(&oracle), "seed {seed} {switches:?} {:?}", a.incomplete);
        let all = a.stopped == Some(SearchStop::AllFound);
        assert!(all || a.incomplete.is_none(), "seed {seed} {switches:?}: {:?}", a.incomplete);
        if k == 0 && !all {
            assert_eq!(a.states as usize, oracle.states, "seed {seed}: states");
        }
    }
    let compact = run_with(&p, &counts.0, &wanted, Switches::NONE, 1, true);
    assert_eq!(lengths(&compact), expected(&oracle), "seed {seed} compact {:?}", compact.incomplete);
    assert!(compact.incomplete.is_some(), "seed {seed}: a search by hashes is no proof");
    check_the_second_search(seed, &p, &counts, &wanted, &oracle);
    true
}

/// The checker's search accepts what holds and rejects what does not.
fn check_the_second_search(seed: u64, p: &Program, counts: &InstanceCounts, wanted: &[PropertyId], oracle: &Reached) {
    // The rule says nothing about relies of programs with atomic blocks.
    let blocks = p.threads.iter().any(|t| t.code.locations.iter().any(|l| l.in_atomic_block));
    let spoken = |id: &&PropertyId| !blocks || !matches!(p.properties[**id].kind, PropertyKind::Rely(_));
    let (bad, good): (Vec<PropertyId>, Vec<PropertyId>) =
        wanted.iter().filter(spoken).partition(|p| oracle.violations.contains_key(p));
    let proof = evidence::ExhaustiveSearch { instances: counts.0.clone(), states: 1 };
    let check = |claimed: &[PropertyId]| {
        checker::rules::search::searched_again(p, &proof, counts, claimed, &checker::CheckLimits::default())
    };
    let accepted = check(&good);
    assert!(matches!(accepted, Ok(checker::Trust::Searched { .. })), "seed {seed}: {accepted:?}");
    for b in bad {
        let rejected = check(&[b]);
        assert!(matches!(rejected, Err(checker::Rejection::Replay(_))), "seed {seed}: {rejected:?}");
    }
}

#[test]
fn check_random_programs_are_searched_as_the_reference_semantics_does() {
    // `THREADPROOF_DIFFERENTIAL=20000` makes it a long run.
    let rounds = base::differential::programs_to_try(250);
    let first = base::differential::first_seed() + 1;
    let decided = (first..first + rounds).filter(|seed| compare(*seed)).count();
    base::differential::report_agreement("explore", rounds, &format!("{decided} small enough to be compared"));
    assert!(decided as u64 * 3 > rounds, "only {decided} programs were small enough");
}
