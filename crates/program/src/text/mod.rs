//! The text form of a `Program`: prints every part of it and reads back to an equal program.
//!
//! Same program, same text. After a round trip every id of the model and every symbol is the same; ids of terms and
//! sorts may differ. `print_term` and `read_term` are the same form for single formulas. Reading checks every name,
//! number and sort, and gives the line of the first mistake; well-formedness is checked by `wellformed`, not here.

mod print;
mod read;
mod sexp;
mod terms;

pub use print::print_program;
pub use read::read_program;

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    /// From 1; 0 where it is not known.
    pub line: usize,
    pub message: String,
}

impl std::fmt::Display for TextError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

#[cfg(test)]
mod tests;
