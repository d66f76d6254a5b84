//! The properties that a C program can be asked for.
//!
//! In: a name, as on the command line and in task files. Out: the properties it stands for, and which properties of the model belong to each. Deliberately absent: what they mean in
//! the model (`emit`) and to executions (`core::violations_of`).

/// What is to be shown of a C program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CCheck {
    /// `reach_error` is not called and no `assert` fails.
    Reach,
    Race,
    Overflow,
    Deadlock,
    /// Valid dereferences.
    Memory,
    /// Only what was allocated is freed, and only once.
    Free,
    /// No memory is lost.
    Leak,
    Division,
    /// A mutex is unlocked only by the thread that holds it.
    Unlock,
    /// The amount of a shift is less than the width, and no negative number is shifted to the left.
    Shift,
}

impl CCheck {
    pub const ALL: [CCheck; 10] = [
        CCheck::Reach,
        CCheck::Race,
        CCheck::Overflow,
        CCheck::Deadlock,
        CCheck::Memory,
        CCheck::Free,
        CCheck::Leak,
        CCheck::Division,
        CCheck::Unlock,
        CCheck::Shift,
    ];

    /// The property's name, as on the command line and in task files.
    pub fn name(self) -> &'static str {
        match self {
            CCheck::Reach => "unreach-call",
            CCheck::Race => "no-data-race",
            CCheck::Overflow => "no-overflow",
            CCheck::Deadlock => "no-deadlock",
            CCheck::Memory => "memory-safety",
            CCheck::Free => "valid-free",
            CCheck::Leak => "valid-memtrack",
            CCheck::Division => "no-division-by-zero",
            CCheck::Unlock => "valid-unlock",
            CCheck::Shift => "valid-shift",
        }
    }

    /// Whether a property of the model is a part of this question: it has its name, or is one of several of its assertions.
    pub fn owns(self, property: &str) -> bool {
        let name = self.name();
        property == name || self == CCheck::Reach && property.strip_prefix(name).is_some_and(|r| r.starts_with(':'))
    }

    /// The properties that a name stands for; none if it is no name.
    pub fn parse(name: &str) -> Vec<CCheck> {
        match name {
            "deadlock" => vec![CCheck::Deadlock],
            "valid-deref" => vec![CCheck::Memory],
            "memory-safety" => vec![CCheck::Memory, CCheck::Free],
            "valid-memsafety" | "memsafety" => vec![CCheck::Memory, CCheck::Free, CCheck::Leak],
            "undefined-behavior" | "undefined-behaviour" => {
                use CCheck::{Division, Free, Memory, Overflow, Shift, Unlock};
                vec![Overflow, Memory, Free, Division, Unlock, Shift]
            }
            _ => CCheck::ALL.into_iter().filter(|c| c.name() == name).collect(),
        }
    }
}
