//! The certificate of rule `reduction`: where the runs of right movers, one step and left movers are cut, and what holds there.
//!
//! Calvin-R, figures 6 and 8. Formulas are over the program without calls (`program::specified`), which the checker builds
//! again: the certificate's terms extend that program's.

use logic::{Symbol, Term};
use program::specified::{Specified, Unit, specified};
use program::{ActionId, LocId, ProcId, Program};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reduction {
    /// The procedures whose calls are replaced by what they perform, increasing; each is a unit below.
    pub specified: Vec<ProcId>,
    pub units: Vec<Reduced>,
}

/// One thread or procedure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reduced {
    pub unit: Unit,
    /// One symbol for each shared variable: its value where the run at hand began.
    pub before: Vec<Symbol>,
    /// The actions that move to the right wherever a run has not committed, increasing.
    pub right: Vec<ActionId>,
    pub cuts: Vec<Cut>,
}

/// What holds at a location on every way there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    pub location: LocId,
    /// The last action of the specification that was performed (`program::order`); 0: none yet.
    pub position: u32,
    pub phase: Phase,
    /// Over the shared store, the unit's own variables and `tid`; inside a run also over `before`.
    pub formula: Term,
    /// Inside the left movers: what comes down with every turn of a loop.
    pub rank: Option<Term>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Between two runs: other threads may have moved.
    Between,
    /// Inside a run, before it commits.
    Right,
    /// Inside a run, after.
    Left,
}

impl Phase {
    pub const ALL: [(Phase, &'static str); 3] =
        [(Phase::Between, "between"), (Phase::Right, "right"), (Phase::Left, "left")];

    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(p, _)| *p == self).map_or("", |(_, w)| w)
    }
}

impl Reduction {
    /// The program without calls that the certificate speaks of.
    pub fn basis(&self, program: &Program) -> Specified {
        specified(program, &self.specified)
    }
}
