//! Why a certificate or a run is not accepted: typed, so that tests and reports can name the premise or side condition.
//!
//! A rule gives a `Rejection`; `checker::conclude` turns it into the reason of an "unknown". A rejection is never "unsafe".
//! In: which premise, side condition or replayed step failed, with what was found. Out: a `Rejection` and its sentence.

use crate::premise::Premise;
use base::Exhausted;
use evidence::Reason;
use logic::{Symbol, Terms};
use program::{Program, PropertyId};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The certificate does not fit the program or the rule; no formula was looked at.
    SideCondition(SideCondition),
    /// An obligation was found not to hold; values that show it, where the oracle has them.
    Premise { premise: Premise, what: String, values: String },
    /// An obligation that the oracle did not decide.
    Undecided { premise: Premise, what: String, why: String },
    /// A second search saw only a part, or could not be made; why.
    Incomplete(String),
    /// A search or a replay shows that the property is violated, or that a run does not violate it.
    Replay(String),
    /// Time, memory, or a wish to stop.
    Exhausted(Exhausted),
    /// Rule `views` gives its own reasons.
    Views(Reason),
}

/// What a rule asks of a certificate before it looks at any formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SideCondition {
    /// Its terms do not extend those of the program it is held against.
    AnotherProgram,
    NoSuchProperty,
    /// The rule cannot speak of this property (its name).
    NotAbout(String),
    /// The runs of a file without threads are those of callers, of whom the rule says nothing.
    OpenFile,
    /// Something that should be a formula is not.
    NotAFormula(String),
    /// A formula uses a symbol that it may not mention, or may not bind.
    Vocabulary {
        what: String,
        symbol: String,
    },
    /// A symbol that must be new is not, or has another sort.
    NotNew(String),
    /// A list does not fit the program: one entry for each thread, location, instance.
    Shape(String),
    /// The program is outside the rule: it spawns, calls, has no fixed number of instances.
    Outside(String),
    /// A part that the rule needs is missing, or is of another form.
    MissingPart(String),
}

impl Rejection {
    pub(crate) fn not_about(program: &Program, property: PropertyId) -> Self {
        let name = program.properties.get(property).map_or_else(|| property.to_string(), |p| p.name.clone());
        Self::SideCondition(SideCondition::NotAbout(name))
    }
    pub fn shape(what: impl Into<String>) -> Self {
        Self::SideCondition(SideCondition::Shape(what.into()))
    }
    pub fn outside(what: impl Into<String>) -> Self {
        Self::SideCondition(SideCondition::Outside(what.into()))
    }
    pub fn missing(what: impl Into<String>) -> Self {
        Self::SideCondition(SideCondition::MissingPart(what.into()))
    }
    pub(crate) fn not_new(terms: &Terms, symbol: Symbol) -> Self {
        Self::SideCondition(SideCondition::NotNew(terms.symbol_name(symbol)))
    }
    pub fn replay(why: impl Into<String>) -> Self {
        Self::Replay(why.into())
    }
    /// The premise that does not hold, or was not decided.
    pub fn premise(&self) -> Option<Premise> {
        match self {
            Rejection::Premise { premise, .. } | Rejection::Undecided { premise, .. } => Some(*premise),
            _ => None,
        }
    }
}

impl From<SideCondition> for Rejection {
    fn from(condition: SideCondition) -> Self {
        Self::SideCondition(condition)
    }
}

impl std::fmt::Display for SideCondition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SideCondition::AnotherProgram => write!(f, "it speaks of another program"),
            SideCondition::NoSuchProperty => write!(f, "it names a property that does not exist"),
            SideCondition::NotAbout(property) => write!(f, "this rule says nothing about {property}"),
            SideCondition::OpenFile => {
                write!(f, "a file without threads is about any callers, of whom this rule says nothing")
            }
            SideCondition::NotAFormula(what) => write!(f, "{what} is not a formula"),
            SideCondition::Vocabulary { what, symbol } => write!(f, "{what} mentions `{symbol}`, which it may not"),
            SideCondition::NotNew(symbol) => write!(f, "the symbol `{symbol}` is not a new one of the right sort"),
            SideCondition::Shape(what) | SideCondition::Outside(what) | SideCondition::MissingPart(what) => {
                f.write_str(what)
            }
        }
    }
}

impl std::fmt::Display for Rejection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Rejection::SideCondition(condition) => condition.fmt(f),
            Rejection::Premise { premise, what, values } => {
                write!(f, "an obligation of the certificate does not hold ({premise}: {what}) {values}")
            }
            Rejection::Undecided { premise, what, why } => write!(f, "{premise}: {what}: {why}"),
            Rejection::Incomplete(why) | Rejection::Replay(why) => f.write_str(why),
            Rejection::Exhausted(e) => e.fmt(f),
            Rejection::Views(reason) => reason.fmt(f),
        }
    }
}

impl From<Rejection> for Reason {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            Rejection::Undecided { premise, what, why } => {
                Reason::Solver { reason: why, obligation: format!("{premise}: {what}") }
            }
            Rejection::Incomplete(why) => Reason::Incomplete(why),
            Rejection::Exhausted(e) => Reason::Exhausted(e),
            Rejection::Views(reason) => reason,
            Rejection::Premise { .. } => Reason::Rejected(rejection.to_string()),
            Rejection::SideCondition(_) => Reason::Rejected(format!("the certificate was rejected: {rejection}")),
            Rejection::Replay(_) => Reason::Rejected(rejection.to_string()),
        }
    }
}
