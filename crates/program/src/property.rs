//! What is to be shown, each with its own verdict. In: ids of what it is about. Out: `Property` and its kind; facts that are one.

pub use crate::ids::PropertyId;
use crate::ids::{ObjectId, OriginId, ProcId, ThreadId, VarId};
use logic::Term;

#[derive(Clone, Debug)]
pub struct Property {
    pub kind: PropertyKind,
    /// A stable name, unique in the program: `assert:12`, `invariant:3`, `performs:increment`, `follows:A`.
    pub name: String,
    pub origin: OriginId,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PropertyKind {
    /// A written `assert`, or `asserting` of a step. Lives in gates.
    Assertion,
    /// Division by zero. Lives in gates.
    Division,
    /// Dereference of null. Lives in gates.
    Null,
    /// Use of an object after `free`, or freeing twice. Lives in gates.
    Freed,
    /// Release of a lock that is not held. Lives in gates.
    Release,
    /// Index outside a sequence. Lives in gates.
    Bounds,
    /// Signed overflow, where a front end asks for it. Lives in gates.
    Overflow,
    /// A formula over the shared store that holds in every reachable store (outside atomic blocks).
    Invariant(Term),
    /// Every step of every other thread satisfies the rely (index into `Program::relies`).
    Rely(u32),
    /// Every access of the variable happens where its access predicate holds. Lives in gates of thread code;
    /// procedures are checked for any callers.
    Access(VarId),
    /// A caller meets `requires`. Lives in gates where calls are inlined.
    Requires(ProcId),
    Ensures(ProcId),
    Performs(ProcId),
    Follows(ThreadId),
    Linearizable(ObjectId),
    /// No two conflicting accesses are enabled at once, in the sense of the front end. Lives in gates.
    Race,
    /// Some thread can always move, or all have ended.
    Deadlock,
    /// No step loses an object: as long as it is live, some variable that may still be read leads to it
    /// (`semantics::leaks`).
    Leak,
    /// A construct outside the model is never reached. Lives in gates. A violation is never "unsafe": it makes every
    /// other verdict of the program "unknown" unless it too is proved.
    Unmodelled(String),
}

#[derive(Clone, Debug)]
pub struct InitialFact {
    /// `None`: asked for with `?`.
    pub formula: Option<Term>,
    pub property: Option<PropertyId>,
    pub origin: OriginId,
}
