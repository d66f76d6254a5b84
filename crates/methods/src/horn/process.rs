//! A process of a proof: a thread or an instance with its transitions. In: what `system` reads off the program. Out: data for
//! trees and clauses. Deliberately absent: how processes are put together (`system`).

use logic::{Symbol, Term};
use program::{ActionId, PropertyId, ThreadId};

pub(crate) struct Process {
    pub thread: ThreadId,
    pub name: String,
    /// In the order of the thread's locals.
    pub locals: Vec<Symbol>,
    pub(crate) transitions: Vec<Transition>,
    /// Acts that leave each location.
    pub out: Vec<Vec<usize>>,
    pub entry: usize,
    pub in_atomic_block: Vec<bool>,
    /// Facts about the initial locals.
    pub init: Vec<Term>,
    /// For each location, which locals have a known value there.
    pub settled: Vec<Vec<Term>>,
}

#[derive(Clone)]
pub(crate) struct Transition {
    pub action: ActionId,
    pub from: usize,
    pub to: usize,
    pub inputs: Vec<Symbol>,
    pub guard: Term,
    pub gates: Vec<(PropertyId, Term)>,
    /// Guard and gates.
    pub enabled: Vec<Term>,
    pub updates: Vec<(Symbol, Term)>,
    /// Shared variables that it writes: the symbols before and after.
    pub writes: Vec<(Symbol, Symbol)>,
    pub text: String,
}
