//! Messages to the user about the user's input: stable code, place, what is wrong, what was expected, a hint.
//!
//! In: what a front end found. Out: data, collected and ordered by place.
//! Deliberately absent: printing; the caret pictures are in `render`.

use crate::source::Span;

/// A stable code such as `E0102`; see `docs/language.md` for the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DiagnosticCode(pub &'static str);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    Error,
    Warning,
}

/// One message with a primary place, further labelled places, and hints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub severity: Severity,
    pub code: DiagnosticCode,
    pub message: String,
    pub span: Span,
    /// What stands at the primary place, for the caret: "expected `;`".
    pub label: String,
    /// Other places that matter: "first declared here".
    pub also: Vec<(Span, String)>,
    pub hints: Vec<String>,
}

impl Diagnostic {
    pub fn error(code: DiagnosticCode, span: Span, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            code,
            message: message.into(),
            span,
            label: String::new(),
            also: Vec::new(),
            hints: Vec::new(),
        }
    }
    pub fn warning(code: DiagnosticCode, span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, span, message) }
    }
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }
    pub fn also(mut self, span: Span, label: impl Into<String>) -> Self {
        self.also.push((span, label.into()));
        self
    }
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}
