//! `Program`: shared and local variables, threads, what is assumed and what is to be shown.
//!
//! Every variable has two symbols: `symbol` is its value before a step, `primed` its value after. One symbol, `tid`,
//! is the id of the thread at hand in thread code, relies and access predicates. Heap fields are shared maps from
//! references; the set of live objects of a class is a shared variable too, so heap and store are one thing.
//! In: what a front end builds. Out: the one form of program that all methods and the checker read; `wellformed` says
//! whether it is one.

use crate::code::Code;
use crate::ids::{MachineId, ObjectId, ProcId, PropertyId};
pub use crate::ids::{OriginId, ThreadId, VarId};
pub use crate::property::InitialFact;
use crate::property::Property;
use crate::spec::{Machine, Object, Procedure};
use base::{IdVec, Span};
use logic::{ClassId, Sort, Symbol, Term, Terms};

#[derive(Clone, Debug)]
pub struct Program {
    pub name: String,
    pub terms: Terms,
    /// The id of the thread at hand: an `Int`, positive, different for every instance.
    pub tid: Symbol,
    pub classes: IdVec<ClassId, Class>,
    pub vars: IdVec<VarId, Var>,
    pub threads: IdVec<ThreadId, Thread>,
    /// Constraints on the initial shared store, besides the initial values of variables.
    pub init: Vec<InitialFact>,
    /// Written invariants of the shared store; each is also a property.
    pub invariants: Vec<InitialFact>,
    pub relies: Vec<Rely>,
    pub procedures: IdVec<ProcId, Procedure>,
    pub machines: IdVec<MachineId, Machine>,
    pub objects: IdVec<ObjectId, Object>,
    pub properties: IdVec<PropertyId, Property>,
    pub origins: IdVec<OriginId, Origin>,
    /// What a verdict about this program takes for granted, beyond what the user wrote.
    pub assumptions: Vec<Assumption>,
}

/// A class of heap objects.
#[derive(Clone, Debug)]
pub struct Class {
    pub name: String,
    /// Shared variables of kind `Field`, sort `Map(Ref(class), T)`.
    pub fields: Vec<VarId>,
    /// Shared variable of kind `Live`, sort `Set(Ref(class))`: allocated and not freed.
    pub live: VarId,
    pub origin: OriginId,
}

#[derive(Clone, Debug)]
pub struct Var {
    pub name: String,
    pub sort: Sort,
    /// The value before a step.
    pub symbol: Symbol,
    /// The value after a step, in two-store formulas.
    pub primed: Symbol,
    pub scope: Scope,
    pub kind: VarKind,
    /// The initial value, over no variables; `None`: any value that `init` allows (a local: any value).
    pub initial: Option<Term>,
    pub access: Option<AccessPredicate>,
    /// Not seen by whoever calls the procedures that name it, where `hidden` says so.
    pub private: bool,
    pub origin: OriginId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    Shared,
    /// Of every instance of the thread.
    Thread(ThreadId),
    /// Parameter, result or local of a procedure's own code.
    Procedure(ProcId),
    /// Parameter, result or local of an operation of an object.
    Operation(ObjectId, u32),
    /// Part of the sequential specification of an object (also parameters and results of its operations).
    Spec(ObjectId),
    /// Part of the local state of a machine.
    Machine(MachineId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VarKind {
    Plain,
    /// 0 or the tid of the holder; also a map of locks.
    Lock,
    Field(ClassId),
    Live(ClassId),
    /// `[int]bool`: which thread ids have ended; written by the last step of threads that may be joined.
    Ended,
    /// `bool`: whether the one instance of a thread that is spawned at most once is there. Until then it waits at its entry;
    /// it counts for no deadlock, and nothing it relies on can be broken.
    Started(ThreadId),
}

/// When a variable may be accessed without interference: `accessible_if[binders] formula`, over shared variables and `tid`;
/// or, apart, `readable_if` and `writable_if`.
#[derive(Clone, Debug)]
pub struct AccessPredicate {
    /// One symbol for each index of a map variable, outermost first; empty for plain variables.
    pub binders: Vec<Symbol>,
    /// For reading, and for writing where `writing` says nothing else. `None`: asked for with `?`.
    pub formula: Option<Term>,
    /// For writing, where that differs; it implies `formula`: who may write may read.
    pub writing: Option<Term>,
    pub origin: OriginId,
}

impl AccessPredicate {
    /// The condition under which a thread may read, or write.
    pub fn of(&self, mode: TouchMode) -> Option<Term> {
        match mode {
            TouchMode::Read => self.formula,
            TouchMode::Write => self.writing.or(self.formula),
        }
    }
}

/// What a step does to a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TouchMode {
    Read,
    Write,
}

/// What a thread (`tid`) may assume of each step of the others: a two-store formula.
#[derive(Clone, Debug)]
pub struct Rely {
    /// Only of this thread; `None`: of every thread.
    pub thread: Option<ThreadId>,
    /// `None`: asked for with `?`.
    pub formula: Option<Term>,
    pub property: PropertyId,
    pub origin: OriginId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Copies {
    One,
    /// Two or more: a single copy is `One`, so that nothing can take the two for different things.
    Exactly(u32),
    /// Any number, decided before the start.
    Any,
}

impl Copies {
    /// So many copies.
    pub fn number(n: u32) -> Self {
        if n == 1 { Copies::One } else { Copies::Exactly(n) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Start {
    /// The instances run from the start.
    Initial,
    /// Instances come into being by `spawn`; `copies` is then `Any`.
    Spawned,
}

#[derive(Clone, Debug)]
pub struct Thread {
    pub name: String,
    pub copies: Copies,
    pub start: Start,
    /// Given by `spawn`; a subset of `locals`.
    pub params: Vec<VarId>,
    /// Every local of `code`, procedures' locals included (calls are inlined).
    pub locals: Vec<VarId>,
    /// The whole thread: every call inlined, no `calls`.
    pub code: Code,
    /// The thread with calls of specified procedures kept as calls, where it has any.
    pub outline: Option<Code>,
    pub follows: Option<(MachineId, PropertyId)>,
    pub origin: OriginId,
}

/// A place in the user's source and the text of it: "`count := j`".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    pub span: Option<Span>,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Assumption {
    /// A stable word, listed in `docs/assumptions.md`.
    pub code: String,
    pub text: String,
}

impl Program {
    pub fn new(name: impl Into<String>) -> Self {
        let terms = Terms::new();
        let tid = terms.symbol("tid", Sort::INT);
        Self {
            name: name.into(),
            terms,
            tid,
            classes: IdVec::new(),
            vars: IdVec::new(),
            threads: IdVec::new(),
            init: Vec::new(),
            invariants: Vec::new(),
            relies: Vec::new(),
            procedures: IdVec::new(),
            machines: IdVec::new(),
            objects: IdVec::new(),
            properties: IdVec::new(),
            origins: IdVec::new(),
            assumptions: Vec::new(),
        }
    }
    /// Declares a variable with its two symbols.
    pub fn add_var(
        &mut self,
        name: &str,
        sort: Sort,
        scope: Scope,
        kind: VarKind,
        initial: Option<Term>,
        origin: OriginId,
    ) -> VarId {
        let symbol = self.terms.symbol(name, sort);
        let primed = self.terms.symbol(format!("{name}'"), sort);
        self.vars.push(Var {
            name: name.into(),
            sort,
            symbol,
            primed,
            scope,
            kind,
            initial,
            access: None,
            private: false,
            origin,
        })
    }
    pub fn add_origin(&mut self, span: Option<Span>, text: impl Into<String>) -> OriginId {
        self.origins.push(Origin { span, text: text.into() })
    }
    /// The value of a variable before the step.
    pub fn now(&self, var: VarId) -> Term {
        self.terms.sym(self.vars[var].symbol)
    }
    /// The value of a variable after the step.
    pub fn next(&self, var: VarId) -> Term {
        self.terms.sym(self.vars[var].primed)
    }
    /// The flag that says whether the one instance of a thread is there, where a `spawn` sets one.
    pub fn started(&self, thread: ThreadId) -> Option<VarId> {
        self.vars.iter_enumerated().find(|(_, v)| v.kind == VarKind::Started(thread)).map(|(id, _)| id)
    }
    pub fn shared(&self) -> impl Iterator<Item = VarId> + '_ {
        self.vars.iter_enumerated().filter(|(_, v)| v.scope == Scope::Shared).map(|(id, _)| id)
    }
    /// The variable a symbol is the unprimed or primed value of. Linear: build a table where it is hot.
    pub fn var_of(&self, symbol: Symbol) -> Option<(VarId, Primed)> {
        self.vars.iter_enumerated().find_map(|(id, v)| {
            if v.symbol == symbol {
                Some((id, Primed::Before))
            } else if v.primed == symbol {
                Some((id, Primed::After))
            } else {
                None
            }
        })
    }
}

/// Which store a symbol speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Primed {
    Before,
    After,
}
