//! What a check of conformance can say. In: a simulation, a run, a reason. Out: one of the three. Deliberately absent: how it is found.

use evidence::{LocalRun, Reason, Simulation};
use program::PropertyId;

pub(crate) enum Conformance {
    Conforms(Simulation),
    /// A run, and the check that its last step fails; none where no machine state follows the step.
    Refuted(LocalRun, Option<PropertyId>),
    Undecided(Reason),
}
