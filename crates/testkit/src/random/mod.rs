//! Random small programs over the whole model, from a seed.
//!
//! In: a seed and `Knobs`. Out: a well-formed `Program`. Same seed and knobs, same program. With `Integers::Below`
//! and no `undecided` the reachable states are finite, so that the reference semantics decides every property and
//! can be compared with a method. Deliberately absent: procedures, machines and objects, whose properties are not those of runs.

mod code;
mod term;

use base::Random;
use base::ids::Id;
use logic::{ClassId, MachineIntSort, Op, Sort, SortKind, Term};
use program::{
    Class, Code, Copies, InitialFact, OriginId, Program, Property, PropertyId, PropertyKind, Rely, Scope, Start,
    Thread, ThreadId, VarId, VarKind,
};

/// What may occur.
#[derive(Clone, Debug)]
pub struct Knobs {
    /// At most this many thread declarations.
    pub threads: usize,
    /// At most this many copies of each.
    pub copies: u32,
    /// Threads in any number (`[*]`) may occur.
    pub any: bool,
    /// At most this many plain shared variables, and locals of each thread.
    pub shared: usize,
    pub locals: usize,
    /// Statements of a thread.
    pub statements: usize,
    /// How deep expressions are.
    pub depth: usize,
    pub integers: Integers,
    pub kinds: Vec<Kind>,
    /// Variables without an initial value, havoc of infinite sorts.
    pub undecided: bool,
    pub branches: bool,
    pub loops: bool,
    /// Atomic blocks with inner locations.
    pub atomic: bool,
    /// Steps given by a relation with inputs.
    pub relations: bool,
    pub spawn: bool,
    pub asserts: bool,
    pub invariants: bool,
    pub relies: bool,
    pub deadlock: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integers {
    /// Stored values are 0 up to this, excluded.
    Below(i128),
    Unbounded,
}

/// Sorts and things beyond plain integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Bool,
    Enum,
    Lock,
    Map,
    Set,
    Seq,
    Machine,
    Heap,
}

impl Kind {
    pub const ALL: [Kind; 8] =
        [Kind::Bool, Kind::Enum, Kind::Lock, Kind::Map, Kind::Set, Kind::Seq, Kind::Machine, Kind::Heap];
}

impl Knobs {
    /// Integers and booleans, two threads, finite.
    pub fn plain() -> Self {
        Self {
            threads: 2,
            copies: 2,
            any: false,
            shared: 2,
            locals: 1,
            statements: 4,
            depth: 2,
            integers: Integers::Below(3),
            kinds: vec![Kind::Bool, Kind::Lock],
            undecided: false,
            branches: true,
            loops: true,
            atomic: false,
            relations: false,
            spawn: false,
            asserts: true,
            invariants: false,
            relies: false,
            deadlock: false,
        }
    }
    /// Everything that stays finite.
    pub fn finite() -> Self {
        Self {
            kinds: vec![Kind::Bool, Kind::Enum, Kind::Lock, Kind::Map, Kind::Set, Kind::Machine],
            atomic: true,
            relations: true,
            spawn: true,
            invariants: true,
            relies: true,
            ..Self::plain()
        }
    }
    /// Everything.
    pub fn everything() -> Self {
        Self {
            any: true,
            integers: Integers::Unbounded,
            kinds: Kind::ALL.to_vec(),
            undecided: true,
            deadlock: true,
            ..Self::finite()
        }
    }
}

/// The program of a seed.
pub fn program(seed: u64, knobs: &Knobs) -> Program {
    let mut p = Program::new(format!("random {seed}"));
    let origin = p.add_origin(None, "random");
    let mut g = Generator {
        p,
        random: Random::new(seed),
        knobs: knobs.clone(),
        origin,
        class: None,
        locks: Vec::new(),
        ended: None,
        job: None,
        spawned: 0,
        asserts: 0,
    };
    g.declare();
    g.threads();
    g.facts();
    g.p
}

pub(crate) struct Generator {
    p: Program,
    random: Random,
    knobs: Knobs,
    origin: OriginId,
    class: Option<Heap>,
    locks: Vec<VarId>,
    ended: Option<VarId>,
    /// The thread that is spawned, if there is one.
    job: Option<ThreadId>,
    spawned: usize,
    asserts: usize,
}

#[derive(Clone, Copy)]
struct Heap {
    class: ClassId,
    sort: Sort,
    live: VarId,
    value: VarId,
    next: VarId,
}

/// Where code is being generated: the thread, its locals, the terms that expressions are made of.
struct Place {
    thread: ThreadId,
    code: Code,
    locals: Vec<VarId>,
    /// New locations are inside an atomic block.
    in_atomic_block: bool,
    /// Inside a loop: nothing is spawned there.
    looped: bool,
}

impl Generator {
    fn has(&self, kind: Kind) -> bool {
        self.knobs.kinds.contains(&kind)
    }

    fn shared(&mut self, name: &str, sort: Sort, kind: VarKind, initial: Option<Term>) -> VarId {
        self.p.add_var(name, sort, Scope::Shared, kind, initial, self.origin)
    }

    /// The sorts that variables may have.
    fn sorts(&self) -> Vec<Sort> {
        let t = &self.p.terms;
        let mut out = vec![Sort::INT, Sort::INT];
        if self.has(Kind::Bool) {
            out.push(Sort::BOOL);
        }
        if self.has(Kind::Enum) {
            out.push(t.sort(SortKind::Enum(logic::EnumId(0))));
        }
        if self.has(Kind::Machine) {
            out.push(Sort::machine(MachineIntSort { bits: 8, signed: self.knobs.undecided }));
        }
        if self.has(Kind::Map) {
            out.push(t.map_sort(Sort::INT, Sort::INT));
            if self.has(Kind::Bool) {
                out.push(t.map_sort(Sort::INT, Sort::BOOL));
            }
        }
        if self.has(Kind::Set) {
            out.push(t.sort(SortKind::Set(Sort::INT)));
        }
        if self.has(Kind::Seq) {
            out.push(t.sort(SortKind::Seq(Sort::INT)));
        }
        out.extend(self.class.map(|h| h.sort));
        out
    }

    fn declare(&mut self) {
        if self.has(Kind::Enum) {
            self.p.terms.declare_enum("Phase", vec!["Idle".into(), "Busy".into(), "Done".into()]);
        }
        if self.has(Kind::Heap) {
            self.heap();
        }
        if self.has(Kind::Lock) {
            let zero = self.p.terms.int(0);
            for i in 0..1 + self.random.below(2) {
                let lock = self.shared(&format!("l{i}"), Sort::INT, VarKind::Lock, Some(zero));
                self.locks.push(lock);
            }
        }
        let sorts = self.sorts();
        for i in 0..1 + self.random.below(self.knobs.shared) {
            let sort = *self.random.pick(&sorts).expect("integers are always there");
            let initial = self.initial(sort);
            self.shared(&format!("x{i}"), sort, VarKind::Plain, initial);
        }
        if self.knobs.spawn && self.random.chance(30) {
            let map = self.p.terms.map_sort(Sort::INT, Sort::BOOL);
            let none = self.p.terms.default_of(map);
            self.ended = Some(self.shared("ended", map, VarKind::Ended, Some(none)));
        }
    }

    fn initial(&mut self, sort: Sort) -> Option<Term> {
        if self.knobs.undecided && self.random.chance(25) {
            return None;
        }
        Some(self.constant(sort))
    }

    fn heap(&mut self) {
        let class = self.p.terms.declare_class("Node");
        let sort = self.p.terms.sort(SortKind::Ref(class));
        let set = self.p.terms.sort(SortKind::Set(sort));
        let (ints, refs) = (self.p.terms.map_sort(sort, Sort::INT), self.p.terms.map_sort(sort, sort));
        let empty = self.p.terms.mk(Op::EmptySet(set), &[]);
        let live = self.shared("live", set, VarKind::Live(class), Some(empty));
        let (zeros, nulls) = (self.p.terms.default_of(ints), self.p.terms.default_of(refs));
        let value = self.shared("Node.value", ints, VarKind::Field(class), Some(zeros));
        let next = self.shared("Node.next", refs, VarKind::Field(class), Some(nulls));
        self.p.classes.push(Class { name: "Node".into(), fields: vec![value, next], live, origin: self.origin });
        self.class = Some(Heap { class, sort, live, value, next });
    }

    fn add_thread(&mut self, name: &str, copies: Copies, start: Start) -> ThreadId {
        self.p.threads.push(Thread {
            name: name.into(),
            copies,
            start,
            params: vec![],
            locals: vec![],
            code: Code::new(),
            outline: None,
            follows: None,
            origin: self.origin,
        })
    }

    fn local(&mut self, thread: ThreadId, name: &str, sort: Sort, initial: Option<Term>) -> VarId {
        let v = self.p.add_var(name, sort, Scope::Thread(thread), VarKind::Plain, initial, self.origin);
        self.p.threads[thread].locals.push(v);
        v
    }

    fn threads(&mut self) {
        if self.ended.is_some() {
            let job = self.add_thread("Job", Copies::Any, Start::Spawned);
            let a = self.local(job, "a", Sort::INT, None);
            self.p.threads[job].params.push(a);
            self.job = Some(job);
            self.body(job);
        }
        for i in 0..1 + self.random.below(self.knobs.threads) {
            let copies = match self.random.below(3) {
                0 if self.knobs.copies > 1 => {
                    Copies::Exactly(2 + self.random.below(self.knobs.copies as usize - 1) as u32)
                }
                1 if self.knobs.any => Copies::Any,
                _ => Copies::One,
            };
            let thread = self.add_thread(&format!("T{i}"), copies, Start::Initial);
            self.body(thread);
        }
    }

    fn body(&mut self, thread: ThreadId) {
        let sorts = self.sorts();
        for i in 0..self.random.below(self.knobs.locals + 1) {
            let sort = *self.random.pick(&sorts).expect("integers are always there");
            let initial = self.initial(sort);
            self.local(thread, &format!("y{i}"), sort, initial);
        }
        let locals = self.p.threads[thread].locals.clone();
        let mut place = Place { thread, code: Code::new(), locals, in_atomic_block: false, looped: false };
        let start = self.location(&mut place);
        let count = 1 + self.random.below(self.knobs.statements);
        let end = self.block(&mut place, start, count, 2);
        let exit = self.location(&mut place);
        self.last_step(&mut place, end, exit);
        place.code.exit = Some(exit);
        self.p.threads[thread].code = place.code;
    }

    fn property(&mut self, kind: PropertyKind, name: String) -> PropertyId {
        self.p.properties.push(Property { kind, name, origin: self.origin })
    }

    /// Terms over the shared store.
    fn store(&self) -> Vec<Term> {
        self.p.shared().map(|v| self.p.now(v)).collect()
    }

    fn facts(&mut self) {
        if self.knobs.invariants {
            for i in 0..self.random.below(3) {
                let leaves = self.store();
                let formula = self.formula(&leaves, self.knobs.depth);
                let property = self.property(PropertyKind::Invariant(formula), format!("invariant:{i}"));
                self.p.invariants.push(InitialFact {
                    formula: Some(formula),
                    property: Some(property),
                    origin: self.origin,
                });
            }
        }
        if self.knobs.relies && self.random.chance(50) {
            let mut leaves = self.store();
            leaves.extend(self.p.shared().map(|v| self.p.next(v)));
            leaves.push(self.p.terms.sym(self.p.tid));
            let formula = self.formula(&leaves, self.knobs.depth);
            let property = self.property(PropertyKind::Rely(0), "rely:0".into());
            let threads = self.p.threads.len();
            let thread = self.random.chance(30).then(|| ThreadId::from_index(self.random.below(threads)));
            self.p.relies.push(Rely { thread, formula: Some(formula), property, origin: self.origin });
        }
        if self.knobs.undecided {
            let open: Vec<VarId> = self.p.shared().filter(|v| self.p.vars[*v].initial.is_none()).collect();
            for v in open {
                if self.p.vars[v].sort == Sort::INT && self.random.chance(60) {
                    let t = &self.p.terms;
                    let x = self.p.now(v);
                    let formula = t.and(&[t.le(t.int(0), x), t.lt(x, t.int(3))]);
                    self.p.init.push(InitialFact { formula: Some(formula), property: None, origin: self.origin });
                }
            }
        }
        if self.knobs.deadlock {
            self.property(PropertyKind::Deadlock, "deadlock".into());
        }
    }
}

pub use term::{constant, term};

#[cfg(test)]
mod tests;
