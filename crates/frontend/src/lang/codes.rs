//! The stable codes of the modelling language's diagnostics, in one place.
//!
//! E01xx: reading and parsing. E02xx: names. E03xx: types. E04xx: lowering to the model. A code is never given
//! another meaning; `docs/language.md` lists them.

use base::DiagnosticCode;

pub const TOO_LARGE: DiagnosticCode = DiagnosticCode("E0100");
pub const NOT_UTF8: DiagnosticCode = DiagnosticCode("E0101");
pub const UNEXPECTED: DiagnosticCode = DiagnosticCode("E0102");
pub const STRANGE_CHARACTER: DiagnosticCode = DiagnosticCode("E0103");
pub const OPEN_COMMENT: DiagnosticCode = DiagnosticCode("E0104");
pub const BAD_NUMBER: DiagnosticCode = DiagnosticCode("E0105");
pub const UNCLOSED: DiagnosticCode = DiagnosticCode("E0106");
pub const TOO_DEEP: DiagnosticCode = DiagnosticCode("E0107");
pub const CHAINED_COMPARISON: DiagnosticCode = DiagnosticCode("E0108");
pub const NOT_ASSIGNABLE: DiagnosticCode = DiagnosticCode("E0109");
pub const TWO_SPECS: DiagnosticCode = DiagnosticCode("E0110");
pub const TOO_MANY: DiagnosticCode = DiagnosticCode("E0199");

pub const DECLARED_TWICE: DiagnosticCode = DiagnosticCode("E0201");
pub const UNKNOWN_NAME: DiagnosticCode = DiagnosticCode("E0202");
pub const UNKNOWN_TYPE: DiagnosticCode = DiagnosticCode("E0203");
pub const WRONG_THING: DiagnosticCode = DiagnosticCode("E0204");
pub const PRIME_HERE: DiagnosticCode = DiagnosticCode("E0205");
pub const TID_HERE: DiagnosticCode = DiagnosticCode("E0206");
pub const UNKNOWN_FIELD: DiagnosticCode = DiagnosticCode("E0207");
pub const UNKNOWN_CALLEE: DiagnosticCode = DiagnosticCode("E0208");
pub const UNKNOWN_LABEL: DiagnosticCode = DiagnosticCode("E0209");
pub const WRONG_PLACE: DiagnosticCode = DiagnosticCode("E0210");
pub const QUESTION_HERE: DiagnosticCode = DiagnosticCode("E0211");
pub const OLD_HERE: DiagnosticCode = DiagnosticCode("E0212");

pub const TYPE_MISMATCH: DiagnosticCode = DiagnosticCode("E0301");
pub const WRONG_OPERAND: DiagnosticCode = DiagnosticCode("E0302");
pub const WRONG_COUNT: DiagnosticCode = DiagnosticCode("E0303");
pub const NOT_INDEXABLE: DiagnosticCode = DiagnosticCode("E0304");
pub const TYPE_UNKNOWN: DiagnosticCode = DiagnosticCode("E0305");

pub const WRAPPED_NUMBER: DiagnosticCode = DiagnosticCode("W0301");

pub const NOT_CONSTANT: DiagnosticCode = DiagnosticCode("E0401");
pub const RECURSION: DiagnosticCode = DiagnosticCode("E0403");
pub const BAD_COPIES: DiagnosticCode = DiagnosticCode("E0404");
pub const BAD_SETTING: DiagnosticCode = DiagnosticCode("E0405");
pub const BAD_MACHINE: DiagnosticCode = DiagnosticCode("E0406");
pub const SAME_PLACE_TWICE: DiagnosticCode = DiagnosticCode("E0407");
pub const BAD_SPEC: DiagnosticCode = DiagnosticCode("E0408");
pub const CLAUSE_HERE: DiagnosticCode = DiagnosticCode("E0409");
pub const TOO_BIG: DiagnosticCode = DiagnosticCode("E0410");
pub const BAD_SPAWN: DiagnosticCode = DiagnosticCode("E0411");
