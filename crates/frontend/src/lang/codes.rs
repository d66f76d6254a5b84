//! The stable codes of the modelling language's diagnostics, in one place.
//!
//! E01xx: reading and parsing. E02xx: names. E03xx: types. E04xx: lowering to the model. A code is never given
//! another meaning; `docs/language.md` lists them.

use base::Code;

pub const TOO_LARGE: Code = Code("E0100");
pub const NOT_UTF8: Code = Code("E0101");
pub const UNEXPECTED: Code = Code("E0102");
pub const STRANGE_CHARACTER: Code = Code("E0103");
pub const OPEN_COMMENT: Code = Code("E0104");
pub const BAD_NUMBER: Code = Code("E0105");
pub const UNCLOSED: Code = Code("E0106");
pub const TOO_DEEP: Code = Code("E0107");
pub const CHAINED_COMPARISON: Code = Code("E0108");
pub const NOT_ASSIGNABLE: Code = Code("E0109");
pub const TWO_SPECS: Code = Code("E0110");
pub const TOO_MANY: Code = Code("E0199");

pub const DECLARED_TWICE: Code = Code("E0201");
pub const UNKNOWN_NAME: Code = Code("E0202");
pub const UNKNOWN_TYPE: Code = Code("E0203");
pub const WRONG_THING: Code = Code("E0204");
pub const PRIME_HERE: Code = Code("E0205");
pub const TID_HERE: Code = Code("E0206");
pub const UNKNOWN_FIELD: Code = Code("E0207");
pub const UNKNOWN_CALLEE: Code = Code("E0208");
pub const UNKNOWN_LABEL: Code = Code("E0209");
pub const WRONG_PLACE: Code = Code("E0210");
pub const QUESTION_HERE: Code = Code("E0211");

pub const TYPE_MISMATCH: Code = Code("E0301");
pub const WRONG_OPERAND: Code = Code("E0302");
pub const WRONG_COUNT: Code = Code("E0303");
pub const NOT_INDEXABLE: Code = Code("E0304");
pub const TYPE_UNKNOWN: Code = Code("E0305");

pub const NOT_CONSTANT: Code = Code("E0401");
pub const RECURSION: Code = Code("E0403");
pub const BAD_COPIES: Code = Code("E0404");
pub const BAD_SETTING: Code = Code("E0405");
pub const BAD_MACHINE: Code = Code("E0406");
pub const SAME_PLACE_TWICE: Code = Code("E0407");
pub const BAD_SPEC: Code = Code("E0408");
pub const CLAUSE_HERE: Code = Code("E0409");
pub const TOO_BIG: Code = Code("E0410");
pub const BAD_SPAWN: Code = Code("E0411");
