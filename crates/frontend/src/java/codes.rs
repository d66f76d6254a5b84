//! Codes of messages about Java files.

use base::DiagnosticCode;

/// The text is no Java.
pub const SYNTAX: DiagnosticCode = DiagnosticCode("E0601");
/// There is no `main`, or there are several.
pub const NO_MAIN: DiagnosticCode = DiagnosticCode("E0602");
/// The file is not UTF-8.
pub const NOT_UTF8: DiagnosticCode = DiagnosticCode("E0603");
/// A folder without Java files.
pub const NO_FILES: DiagnosticCode = DiagnosticCode("E0604");
/// An annotation that is not understood or not modelled.
pub const ANNOTATION: DiagnosticCode = DiagnosticCode("E0605");
/// Annotations that are not checked: comments in a program with a `main`, `@GuardedBy` and its kind everywhere.
pub const ANNOTATIONS_UNUSED: DiagnosticCode = DiagnosticCode("W0601");
