//! Compiled code as data: the actions of one code of a pc, and checks. In: what `system` compiles. Out: what workers run and
//! `memo` remembers. Deliberately absent: how it is compiled (`compile`, `update`).

use super::code::Instr;
use logic::ClassId;
use program::ActionId;

/// How an input of a compiled action gets its value.
#[derive(Clone, Debug)]
pub(crate) enum CompiledInput {
    /// Stays undecided.
    Open,
    Each(Vec<i64>),
    /// A number of an object that is not live: every one still referred to, and one that is not.
    Fresh(ClassId),
}

/// `word = (word & keep) | bits`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mask {
    pub word: usize,
    pub keep: u64,
    pub bits: u64,
}

#[derive(Debug)]
pub(crate) struct CompiledAction {
    pub id: ActionId,
    /// `None`: left to the reference semantics.
    pub code: Option<Vec<Instr>>,
    pub inputs: Vec<CompiledInput>,
    /// The pc and the dead locals.
    pub finish: Vec<Mask>,
    /// The code of the location it leads to.
    pub to: u64,
    pub(crate) to_inside: bool,
}

/// What is known about one code of an instance's pc.
#[derive(Debug, Default)]
pub(crate) struct At {
    pub acts: Vec<CompiledAction>,
    pub in_atomic_block: bool,
    pub invisible: bool,
    pub exit: bool,
    pub(crate) born: bool,
    pub(crate) resets: Vec<Mask>,
}

#[derive(Debug)]
pub(crate) struct CompiledCheck {
    pub code: Option<Vec<Instr>>,
}
