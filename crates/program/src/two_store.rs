//! Two-store actions: what a step may change, and how. In: variables and terms. Out: `TwoStore`, the form of written actions in
//! machines, `performs` and calls. Deliberately absent: steps of code (`code`).

use crate::ids::VarId;
use logic::Term;

/// A variable, or an entry of a map variable: `x`, `bits[r]`, `o.f` (the field's map at `o`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StorePlace {
    pub var: VarId,
    /// Over the store before, outermost index first.
    pub keys: Vec<Term>,
}

/// `<frame> relation`: any store that satisfies the relation and differs from the one before at most in the frame.
/// The relation speaks of `symbol` and `primed` of variables; outside the frame the primed value equals the unprimed.
#[derive(Clone, Debug)]
pub struct TwoStore {
    pub frame: Vec<StorePlace>,
    pub relation: Term,
}
