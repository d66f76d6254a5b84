//! Premises of rules. In: the names of `docs/rules.md`. Out: `Premise`, which names an obligation in messages and tests.
//! Deliberately absent: the obligations themselves (`obligation`).

/// A premise of a rule, by its name in `docs/rules.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Premise {
    pub rule: &'static str,
    pub name: &'static str,
}

impl Premise {
    pub const fn new(rule: &'static str, name: &'static str) -> Self {
        Self { rule, name }
    }
}

impl std::fmt::Display for Premise {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.rule, self.name)
    }
}
