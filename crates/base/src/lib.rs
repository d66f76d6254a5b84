//! The ground floor: typed ids and arenas, source files and spans, diagnostics with stable codes, budgets.
//!
//! Nothing here knows about programs, formulas or solvers.

pub mod budget;
mod diagnostic;
pub mod differential;
pub mod ids;
pub mod random;
pub mod render;
mod source;

pub use budget::{Budget, Exhausted};
pub use diagnostic::{Diagnostic, DiagnosticCode, Severity};
pub use ids::IdVec;
pub use random::Random;
pub use render::{Colour, render_all, render_diagnostic};
pub use source::{SourceId, Sources, Span};
