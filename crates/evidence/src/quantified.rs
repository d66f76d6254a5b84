//! Facts about every choice of different instances: the certificate of rule `quantified`.
//!
//! In: what a method found. Out: facts with what they rest on, counts of instances, and what each claim rests on. `docs/rules.md` says what each
//! part is for. Deliberately absent: facts about three instances; facts about steps.

use logic::{Symbol, Term};
use program::{LocId, PropertyId, ThreadId, VarId};

/// An inductive invariant that is a conjunction of facts about all choices of different instances.
#[derive(Clone, Debug)]
pub struct QuantifiedProof {
    /// For `tid` and each local of each thread, in order: the symbols that stand for it in further instances.
    pub symbols: Vec<(Symbol, Vec<Symbol>)>,
    /// For each instance that is spoken of, the number of its location: of sort `Int`, one more than there are further instances.
    pub control: Vec<Symbol>,
    pub facts: Vec<QuantifiedFact>,
    pub counts: Vec<InstanceCount>,
    /// For each claimed property, the facts that it rests on, by position.
    pub shown: Vec<(PropertyId, Vec<usize>)>,
}

/// A thread, and where an instance of it is: one of these locations, increasing.
pub type Placed = (ThreadId, Vec<LocId>);

#[derive(Clone, Debug)]
pub struct QuantifiedFact {
    /// None, one or two different instances; the threads do not decrease.
    pub of: Vec<Placed>,
    /// Over the shared store, the first one's locals and `tid`, and the symbols that stand for the second's.
    pub formula: Term,
    /// The facts that it rests on, by position.
    pub rests_on: Vec<usize>,
}

/// The variable is the number of instances at these places.
#[derive(Clone, Debug)]
pub struct InstanceCount {
    pub variable: VarId,
    /// A thread at most once.
    pub places: Vec<Placed>,
}

/// The instances that an obligation may speak of by name: two of a fact, and one that moves. Each count has one more, its witness.
pub const NAMED_INSTANCES: usize = 3;
