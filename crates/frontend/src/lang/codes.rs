//! The stable codes of the modelling language's diagnostics, in one place.
//!
//! E01xx: reading and parsing. E02xx: names. E03xx: types. E04xx: lowering to the model. A code is never given
//! another meaning; `docs/language.md` lists them.

use base::DiagnosticCode;

pub(crate) const TOO_LARGE: DiagnosticCode = DiagnosticCode("E0100");
pub(crate) const NOT_UTF8: DiagnosticCode = DiagnosticCode("E0101");
pub(crate) const UNEXPECTED: DiagnosticCode = DiagnosticCode("E0102");
pub(crate) const STRANGE_CHARACTER: DiagnosticCode = DiagnosticCode("E0103");
pub(crate) const OPEN_COMMENT: DiagnosticCode = DiagnosticCode("E0104");
pub(crate) const BAD_NUMBER: DiagnosticCode = DiagnosticCode("E0105");
pub(crate) const UNCLOSED: DiagnosticCode = DiagnosticCode("E0106");
pub(crate) const TOO_DEEP: DiagnosticCode = DiagnosticCode("E0107");
pub(crate) const CHAINED_COMPARISON: DiagnosticCode = DiagnosticCode("E0108");
pub(crate) const NOT_ASSIGNABLE: DiagnosticCode = DiagnosticCode("E0109");
pub(crate) const TWO_SPECS: DiagnosticCode = DiagnosticCode("E0110");
pub(crate) const TOO_MANY: DiagnosticCode = DiagnosticCode("E0199");

pub(crate) const DECLARED_TWICE: DiagnosticCode = DiagnosticCode("E0201");
pub(crate) const UNKNOWN_NAME: DiagnosticCode = DiagnosticCode("E0202");
pub(crate) const UNKNOWN_TYPE: DiagnosticCode = DiagnosticCode("E0203");
pub(crate) const WRONG_THING: DiagnosticCode = DiagnosticCode("E0204");
pub(crate) const PRIME_HERE: DiagnosticCode = DiagnosticCode("E0205");
pub(crate) const TID_HERE: DiagnosticCode = DiagnosticCode("E0206");
pub(crate) const UNKNOWN_FIELD: DiagnosticCode = DiagnosticCode("E0207");
pub(crate) const UNKNOWN_CALLEE: DiagnosticCode = DiagnosticCode("E0208");
pub(crate) const UNKNOWN_LABEL: DiagnosticCode = DiagnosticCode("E0209");
pub(crate) const WRONG_PLACE: DiagnosticCode = DiagnosticCode("E0210");
pub(crate) const QUESTION_HERE: DiagnosticCode = DiagnosticCode("E0211");
pub(crate) const OLD_HERE: DiagnosticCode = DiagnosticCode("E0212");

pub(crate) const TYPE_MISMATCH: DiagnosticCode = DiagnosticCode("E0301");
pub(crate) const WRONG_OPERAND: DiagnosticCode = DiagnosticCode("E0302");
pub(crate) const WRONG_COUNT: DiagnosticCode = DiagnosticCode("E0303");
pub(crate) const NOT_INDEXABLE: DiagnosticCode = DiagnosticCode("E0304");
pub(crate) const TYPE_UNKNOWN: DiagnosticCode = DiagnosticCode("E0305");

pub(crate) const WRAPPED_NUMBER: DiagnosticCode = DiagnosticCode("W0301");

pub(crate) const NOT_CONSTANT: DiagnosticCode = DiagnosticCode("E0401");
pub(crate) const RECURSION: DiagnosticCode = DiagnosticCode("E0403");
pub(crate) const BAD_COPIES: DiagnosticCode = DiagnosticCode("E0404");
pub(crate) const BAD_SETTING: DiagnosticCode = DiagnosticCode("E0405");
pub(crate) const BAD_MACHINE: DiagnosticCode = DiagnosticCode("E0406");
pub(crate) const SAME_PLACE_TWICE: DiagnosticCode = DiagnosticCode("E0407");
pub(crate) const BAD_SPEC: DiagnosticCode = DiagnosticCode("E0408");
pub(crate) const CLAUSE_HERE: DiagnosticCode = DiagnosticCode("E0409");
pub(crate) const TOO_BIG: DiagnosticCode = DiagnosticCode("E0410");
pub(crate) const BAD_SPAWN: DiagnosticCode = DiagnosticCode("E0411");
pub(crate) const CANNOT_HIDE: DiagnosticCode = DiagnosticCode("E0412");
