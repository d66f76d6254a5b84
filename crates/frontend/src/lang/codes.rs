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
