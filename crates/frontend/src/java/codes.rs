//! Codes of messages about Java files.

use base::DiagnosticCode;

/// The text is no Java.
pub(crate) const SYNTAX: DiagnosticCode = DiagnosticCode("E0601");
/// There is no `main`, or there are several.
pub(crate) const NO_MAIN: DiagnosticCode = DiagnosticCode("E0602");
/// An annotation that is not understood or not modelled.
pub(crate) const ANNOTATION: DiagnosticCode = DiagnosticCode("E0605");
/// Annotations that are not checked: comments in a program with a `main`, `@GuardedBy` and its kind everywhere.
pub(crate) const ANNOTATIONS_UNUSED: DiagnosticCode = DiagnosticCode("W0601");
