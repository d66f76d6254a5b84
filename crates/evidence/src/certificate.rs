//! Certificates: small objects from which the checker rebuilds all obligations of a proof, with the program alone.
//!
//! Few forms, so that the checker stays small. Formulas live in the certificate's own `terms`, which extends the
//! program's (ids of the program's terms and symbols are valid in it). `file` reads and writes them.

use logic::{Symbol, Term, Terms};
use program::callers::Moment;
use program::{LocId, ObjectId, PropertyId, ThreadId};

#[derive(Clone, Debug)]
pub struct Certificate {
    /// The method that found it: for people, never for trust.
    pub method: String,
    pub terms: Terms,
    /// What it proves.
    pub properties: Vec<PropertyId>,
    pub proof: Proof,
}

#[derive(Clone, Debug)]
pub enum Proof {
    /// Rely/guarantee: an annotation of each thread and an environment relation of each (Calvin; Threader's R and E).
    RelyGuarantee(RelyGuarantee),
    /// Calvin's theorem: what each thread assumes of the others' steps, and loop invariants; the code between is looked at as a whole.
    AssumeGuarantee(AssumeGuarantee),
    /// A fixed list of instances, each with what it reaches and what its environment does (Threader's R and E, not modular).
    Environments(Environments),
    /// A fixed list of instances, with one inductive invariant for each combination of their locations.
    Product(Product),
    /// An inductive invariant over the shared store and the number of threads at each location.
    Counting(Box<Counting>),
    /// A finite instance, all of whose reachable states are listed implicitly: the checker searches again by the
    /// reference semantics, or compares with the listed digest. Fixed numbers of threads only.
    Search(Search),
    /// Thread quantification: a set of views closed under every step, one of which holds of every thread.
    Views(crate::views::Views),
    /// A thread conforms to its machine (Abstract Threads, Theorem 2).
    Simulation(Simulation),
    /// Every thread that follows a machine conforms to it, and the composition of the machines does not go wrong (Theorem 1).
    Composed(Composed),
    /// Runs of right movers, one step and left movers, each simulated by what a procedure performs (Calvin-R).
    Reduction(crate::reduction::Reduction),
    /// A program without threads, for any callers: a proof of the program with its most general client.
    Callers(Callers),
    /// Proofs in sequence; what one establishes the next may use. Forms still to come have their place here.
    Layers(Vec<Layer>),
}

/// For every thread: `at` holds whenever an instance is at the location; `step` contains every step of it as the others see it.
#[derive(Clone, Debug)]
pub struct RelyGuarantee {
    /// Holds of the shared store always (outside atomic blocks).
    pub invariant: Term,
    pub threads: Vec<Annotation>,
}

#[derive(Clone, Debug)]
pub struct Annotation {
    pub thread: ThreadId,
    /// One formula for each location: over the shared store, the thread's locals and `tid`. Other instances' locals
    /// may occur only through `others`.
    pub at: Vec<Term>,
    /// Two-store formula over the shared store, `tid` the thread that moves (Threader's E as others see it; Calvin's guarantee).
    pub guarantee: Term,
    /// Two-store formula over the shared store and `tid` that every step of every other instance satisfies; `None`: the
    /// guarantees of the others are taken as they are.
    pub rely: Option<Term>,
}

/// An invariant of the shared store, and for every thread what it assumes of the others and what holds at its cuts.
#[derive(Clone, Debug)]
pub struct AssumeGuarantee {
    /// Holds of the shared store always (outside atomic blocks).
    pub invariant: Term,
    pub threads: Vec<Assumes>,
}

#[derive(Clone, Debug)]
pub struct Assumes {
    pub thread: ThreadId,
    /// Two-store formula over the shared store and `tid`, reflexive and transitive: every step of every other instance satisfies it.
    pub rely: Term,
    /// Locations that break every loop, increasing, each with what holds there: over the shared store, the locals and `tid`.
    pub cuts: Vec<(LocId, Term)>,
}

/// Threader's R_i and E_i for a fixed list of instances (tid 1, 2, ..). Formulas may speak of every instance.
#[derive(Clone, Debug)]
pub struct Environments {
    pub instances: Vec<InstanceSymbols>,
    /// For each instance and each of its locations: over the shared store, all instances' locals, and the control
    /// (`pc`) of the *other* instances.
    pub reach: Vec<Vec<Term>>,
    /// For each instance: what one step of another instance may do, over the shared store before and after, and the
    /// locals and control of all instances before and after (its own stay).
    pub environment: Vec<Term>,
}

/// An inductive invariant of a fixed list of instances (tid 1, 2, ..).
#[derive(Clone, Debug)]
pub struct Product {
    pub instances: Vec<InstanceSymbols>,
    /// Over the shared store and all instances' locals (the symbols before a step), for each combination of locations
    /// that can be reached.
    pub invariant: Vec<(Vec<LocId>, Term)>,
}

/// The symbols by which formulas speak of one instance.
#[derive(Clone, Debug)]
pub struct InstanceSymbols {
    pub thread: ThreadId,
    /// One pair (before, after) for each of `Thread::locals`.
    pub locals: Vec<(Symbol, Symbol)>,
    /// Before and after, of sort `Int`: the number of the location.
    pub pc: (Symbol, Symbol),
}

/// Counting: how many instances of a thread are in each cell (a location and a set of local values).
#[derive(Clone, Debug)]
pub struct Counting {
    /// The threads of one copy, each with a symbol for its tid; their control is explicit.
    pub singles: Vec<(ThreadId, Symbol)>,
    /// The cells of all other threads.
    pub counters: Vec<Counter>,
    /// For locals of counted threads, and `tid`: the symbol that stands for it in a second instance.
    pub second: Vec<(Symbol, Symbol)>,
    /// Two cells, by position, the smaller first, and what two different instances in them may rely on: over the first's
    /// locals and `tid`, and the symbols that stand for the second's.
    pub apart: Vec<(usize, usize, Term)>,
    /// Two cells, by position, the smaller first, that two different instances are never in at the same time.
    pub exclusive: Vec<(usize, usize)>,
    /// Over the shared store, the counters, the singles' locals and tid symbols; one formula for each combination of
    /// the singles' locations that can be reached, in the order of `singles`.
    pub invariant: Vec<(Vec<LocId>, Term)>,
}

#[derive(Clone, Debug)]
pub struct Counter {
    pub thread: ThreadId,
    pub location: LocId,
    /// Which local values belong to the cell: over the thread's locals and `tid`.
    pub cell: Term,
    /// What every instance in the cell may rely on: over the shared store, its locals and `tid`.
    pub holds: Term,
    /// The number of instances in the cell, of sort `Int`.
    pub symbol: Symbol,
}

/// For each location of a thread, the sets of machine states that may stand for it, and what is known of its locals then.
#[derive(Clone, Debug)]
pub struct Simulation {
    pub thread: ThreadId,
    pub pairs: Vec<Pair>,
}

#[derive(Clone, Debug)]
pub struct Pair {
    pub location: LocId,
    /// States of the machine, by position, increasing; not empty.
    pub candidates: Vec<u32>,
    /// Over the thread's locals and `tid`.
    pub formula: Term,
}

#[derive(Clone, Debug)]
pub struct Composed {
    pub simulations: Vec<Simulation>,
    /// Of the composed program (`program::compose`): its terms extend that program's.
    pub composition: Box<Certificate>,
}

#[derive(Clone, Debug)]
pub struct Callers {
    /// The object whose specification runs beside it; `None`: the code alone.
    pub object: Option<ObjectId>,
    /// Where its operations take effect.
    pub moments: Vec<Moment>,
    /// Of the program with its callers (`program::callers`): its terms extend that program's.
    pub proof: Box<Certificate>,
}

/// An exhaustive search of a finite instance.
#[derive(Clone, Debug)]
pub struct Search {
    pub instances: Vec<u32>,
    /// How many states the method saw: the checker's own search must not exceed what it can afford.
    pub states: u64,
}

#[derive(Clone, Debug)]
pub struct Layer {
    pub name: String,
    pub proof: Box<Proof>,
}

impl Proof {
    /// The stable name of the form, in files and reports.
    pub fn form(&self) -> &'static str {
        match self {
            Proof::RelyGuarantee(_) => "rely-guarantee",
            Proof::AssumeGuarantee(_) => "assume-guarantee",
            Proof::Environments(_) => "environments",
            Proof::Product(_) => "product",
            Proof::Counting(_) => "counting",
            Proof::Search(_) => "search",
            Proof::Simulation(_) => "simulation",
            Proof::Composed(_) => "composed",
            Proof::Views(_) => "views",
            Proof::Reduction(_) => "reduction",
            Proof::Callers(_) => "callers",
            Proof::Layers(_) => "layers",
        }
    }
}
