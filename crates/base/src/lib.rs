//! The ground floor: typed ids and arenas, source files and spans, diagnostics with stable codes, budgets.
//!
//! Nothing here knows about programs, formulas or solvers.

pub mod budget;
pub mod diagnostic;
pub mod ids;
pub mod random;
pub mod render;
pub mod source;

pub use budget::{Budget, Exhausted};
pub use diagnostic::{Code, Diagnostic, Severity};
pub use ids::IdVec;
pub use random::Random;
pub use render::{Colour, render, render_all};
pub use source::{SourceId, Sources, Span};
