//! Certificates: small objects from which the checker rebuilds all obligations of a proof, with the program alone.
//!
//! Few forms, so that the checker stays small. Formulas live in the certificate's own `terms`, which extends the
//! program's (ids of the program's terms and symbols are valid in it). `file` reads and writes them.
//! In: what a method found. Out: one `Certificate` with the form of its rule; `docs/rules.md` says what each part is
//! for.

use logic::{Symbol, Term, Terms};
use program::call_summaries::{CodeUnit, access_first, following, performing};
use program::callers::LinearizationPoint;
use program::machine_assertions::FoundAssertion;
use program::{LocId, ObjectId, ProcId, Program, PropertyId, PropertyKind, ThreadId};
use std::collections::BTreeSet;

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
    Product(ProductProof),
    /// What is true of every two different instances (Threader's R and E with predicates over two threads).
    Pairs(PairsProof),
    /// An inductive invariant quantified over threads: facts about every choice of different instances.
    Quantified(Box<crate::quantified::QuantifiedProof>),
    /// An inductive invariant over the shared store and the number of threads at each location.
    Counting(Box<Counting>),
    /// A finite instance, all of whose reachable states are listed implicitly: the checker searches again by the
    /// reference semantics, or compares with the listed digest. Fixed numbers of threads only.
    Search(ExhaustiveSearch),
    /// Thread quantification: a set of views closed under every step, one of which holds of every thread.
    Views(crate::views::Views),
    /// A thread conforms to its machine (Abstract Threads, Theorem 2).
    Simulation(Simulation),
    /// Every thread that follows a machine conforms to it, and the composition of the machines does not go wrong (Theorem 1).
    Composed(ComposedProof),
    /// Runs of right movers, one step and left movers, each simulated by what a procedure performs (Calvin-R).
    Reduction(crate::reduction::Reduction),
    /// A composition with formulas for the assertions that machines ask for.
    Asserted(AssertedProof),
    /// Calls in threads that follow a machine are what the callees perform (Calvin-R in Abstract Threads).
    Performed(PerformedProof),
    /// A program without threads, for any callers: a proof of the program with its most general client.
    Callers(CallersProof),
}

/// For every thread: `at` holds whenever an instance is at the location; `step` contains every step of it as the others see it.
#[derive(Clone, Debug)]
pub struct RelyGuarantee {
    /// Holds of the shared store always (outside atomic blocks).
    pub invariant: Term,
    pub threads: Vec<ThreadAnnotation>,
}

#[derive(Clone, Debug)]
pub struct ThreadAnnotation {
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
    pub premises: Premises,
}

/// How much each obligation of rule `assume-guarantee` looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Premises {
    /// All conjuncts.
    #[default]
    All,
    /// The conjuncts about the variables that the code at hand touches, and those that its steps could break.
    Relevant,
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
pub struct ProductProof {
    pub instances: Vec<InstanceSymbols>,
    /// Over the shared store and all instances' locals (the symbols before a step), for each combination of locations
    /// that can be reached.
    pub invariant: Vec<(Vec<LocId>, Term)>,
}

/// For every two instances, whatever their number.
#[derive(Clone, Debug)]
pub struct PairsProof {
    /// For `tid` and each local of each thread, in order: the symbols that stand for it in a second and in a third instance.
    pub symbols: Vec<(Symbol, Symbol, Symbol)>,
    pub related: Vec<RelatedPair>,
}

#[derive(Clone, Debug)]
pub struct RelatedPair {
    /// Where the first instance is; its thread is not after the second's.
    pub first: (ThreadId, LocId),
    pub second: (ThreadId, LocId),
    /// Over the shared store, the first's locals and `tid`, and the symbols that stand for the second's.
    pub formula: Term,
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
    pub unique_threads: Vec<(ThreadId, Symbol)>,
    /// The cells of all other threads.
    pub counters: Vec<Counter>,
    /// For locals of counted threads, and `tid`: the symbol that stands for it in a second instance.
    pub peer_copy: Vec<(Symbol, Symbol)>,
    /// Two cells, by position, the smaller first, and what two different instances in them may rely on: over the first's
    /// locals and `tid`, and the symbols that stand for the second's.
    pub pairwise: Vec<(usize, usize, Term)>,
    /// Two cells, by position, the smaller first, that two different instances are never in at the same time.
    pub exclusive: Vec<(usize, usize)>,
    /// Over the shared store, the counters, the unique threads' locals and tid symbols; one formula for each combination of
    /// the unique threads' locations that can be reached, in the order of `unique_threads`.
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

/// For each location of a thread, the sets of machine states that may stand for it, and what is known of its locals then: set by set
/// (`pairs`), or by formulas about the set (`symbolic`).
#[derive(Clone, Debug)]
pub struct Simulation {
    pub thread: ThreadId,
    /// By state of the machine: symbols for the values of the machine's variables there, in their order. None where it has no variables.
    pub own: Vec<Vec<Symbol>>,
    pub pairs: Vec<SimulationPair>,
    pub symbolic: Option<SymbolicSimulation>,
}

/// The set of candidate states as booleans. Where loops are cut, a formula says what is known there; stretches without loops need none.
#[derive(Clone, Debug)]
pub struct SymbolicSimulation {
    /// For each state of the machine a boolean: it is among the candidates.
    pub candidates: Vec<Symbol>,
    /// Over the thread's locals, `tid`, the candidates and the values of the machine's variables in each state.
    pub cuts: Vec<(LocId, Term)>,
}

#[derive(Clone, Debug)]
pub struct SimulationPair {
    pub location: LocId,
    /// States of the machine, by position, increasing; not empty.
    pub candidates: Vec<u32>,
    /// Over the thread's locals, `tid` and the values of the machine's variables in the candidates.
    pub formula: Term,
}

#[derive(Clone, Debug)]
pub struct ComposedProof {
    pub simulations: Vec<Simulation>,
    /// Of the composed program (`program::compose`): its terms extend that program's.
    pub composition: Box<Certificate>,
}

/// A proof of the program in which the assertions that its machines ask for are these formulas.
#[derive(Clone, Debug)]
pub struct AssertedProof {
    /// Terms of this certificate, one for each assertion that is asked for, in order.
    pub assertions: Vec<FoundAssertion>,
    /// A composition, of the program with these assertions (`program::machine_assertions`).
    pub proof: Box<Certificate>,
}

#[derive(Clone, Debug)]
pub struct PerformedProof {
    /// A reduction: the callees perform their specifications, and everybody keeps to the access predicates. Of the program whose
    /// steps are asked for access first (`program::call_summaries::access_first`).
    pub calls: Box<Certificate>,
    /// A simulation or a composition, of the program whose threads call by specification (`program::call_summaries::following`).
    pub proof: Box<Certificate>,
}

#[derive(Clone, Debug)]
pub struct CallersProof {
    /// The object whose specification runs beside it; `None`: the code alone.
    pub object: Option<ObjectId>,
    /// Where its operations take effect.
    pub linearization_points: Vec<LinearizationPoint>,
    /// Of the program with its callers (`program::callers`): its terms extend that program's.
    pub proof: Box<Certificate>,
}

/// An exhaustive search of a finite instance.
#[derive(Clone, Debug)]
pub struct ExhaustiveSearch {
    pub instances: Vec<u32>,
    /// How many states the method saw: the checker's own search must not exceed what it can afford.
    pub states: u64,
}

impl PerformedProof {
    /// The program that the proof inside speaks of.
    pub fn program(&self, program: &Program) -> Result<Program, String> {
        performed_program(program, &self.calls)
    }
}

/// What a reduction must show so that calls may be by specification, besides that the callees perform it: no check inside a
/// callee fails, and no thread breaks an access predicate. Then nothing goes wrong in a call first.
pub fn needed_of_calls(program: &Program, calls: &Certificate) -> Result<Vec<PropertyId>, String> {
    let Proof::Reduction(r) = &calls.proof else { return Err("calls are shown by a reduction".into()) };
    let basis = r.basis(&access_first(program))?.specified;
    let mut todo: Vec<ProcId> = performing(program);
    let mut out: BTreeSet<PropertyId> = BTreeSet::new();
    let mut seen: BTreeSet<ProcId> = BTreeSet::new();
    while let Some(q) = todo.pop() {
        if !r.specified.contains(&q) {
            return Err(format!("{} is not shown to perform its specification", program.procedures[q].name));
        }
        if !seen.insert(q) {
            continue;
        }
        let unit = CodeUnit::Procedure(q);
        let procedure = &program.procedures[q];
        out.extend(procedure.performs.as_ref().map(|(_, own)| *own));
        out.extend(procedure.ensures.iter().filter_map(|f| f.property));
        out.extend(basis.code(unit).actions.iter().flat_map(|a| a.gates.iter().map(|g| g.property)));
        todo.extend(basis.unit(unit).into_iter().flat_map(|u| u.called.iter().copied()));
    }
    let threads = program.threads.iter().flat_map(|t| [Some(&t.code), t.outline.as_ref()]).flatten();
    let gates = threads.chain(program.procedures.iter().map(|q| &q.code)).flat_map(|c| c.actions.iter());
    let access = |q: &PropertyId| matches!(program.properties[*q].kind, PropertyKind::Access(_));
    out.extend(gates.flat_map(|a| a.gates.iter().map(|g| g.property)).filter(access));
    // Gates of guards that were found are not the program's: the reduction shows them in any case.
    out.retain(|q| program.properties.get(*q).is_some());
    Ok(out.into_iter().collect())
}

/// The program in which calls of the procedures that the reduction uses by specification are what they perform.
pub fn performed_program(program: &Program, calls: &Certificate) -> Result<Program, String> {
    match &calls.proof {
        Proof::Reduction(r) => {
            if let Some(q) = r.specified.iter().find(|q| program.procedures.get(**q).is_none()) {
                return Err(format!("there is no procedure {q}"));
            }
            following(program, &r.specified, &shown_of_calls(program, calls))
        }
        other => Err(format!("calls are shown by a reduction, not by {}", other.form())),
    }
}

/// The checks that the reduction shows and the proof inside need not look at again: all but assertions.
pub fn shown_of_calls(program: &Program, calls: &Certificate) -> Vec<PropertyId> {
    let plain = |q: &&PropertyId| program.properties.get(**q).is_some_and(|p| p.kind != PropertyKind::Assertion);
    calls.properties.iter().filter(plain).copied().collect()
}

impl Proof {
    /// The stable name of the form, in files and reports.
    pub fn form(&self) -> &'static str {
        match self {
            Proof::RelyGuarantee(_) => "rely-guarantee",
            Proof::AssumeGuarantee(_) => "assume-guarantee",
            Proof::Environments(_) => "environments",
            Proof::Product(_) => "product",
            Proof::Pairs(_) => "pairs",
            Proof::Quantified(_) => "quantified",
            Proof::Counting(_) => "counting",
            Proof::Search(_) => "search",
            Proof::Simulation(_) => "simulation",
            Proof::Composed(_) => "composed",
            Proof::Views(_) => "views",
            Proof::Reduction(_) => "reduction",
            Proof::Asserted(_) => "asserted",
            Proof::Performed(_) => "performed",
            Proof::Callers(_) => "callers",
        }
    }
}
