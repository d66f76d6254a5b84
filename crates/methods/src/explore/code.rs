//! The instructions that actions, invariants and relies are compiled to: a register machine over packed states.
//!
//! Registers hold 64-bit numbers: booleans as 0 and 1, references and enum variants by number, u64 as two's
//! complement. A load of an undecided field stops the run (`Exit::Open`), a value that does not fit its field or a
//! number beyond 64 bits escapes; nothing is cut off silently.
//! In: nothing; these are the types. Out: what `compile` and `update` write and `machine` runs.

use super::guess::Escape;
use super::layout::LevelKeys;
use program::PropertyId;

pub(crate) type Reg = u16;

/// Which of two stores a load reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreSide {
    Before,
    After,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Instr {
    Const {
        d: Reg,
        k: i64,
    },
    Copy {
        d: Reg,
        a: Reg,
    },
    Load {
        side: StoreSide,
        word: u8,
        shift: u8,
        bits: u8,
        d: Reg,
        lo: i64,
    },
    /// Of a field that may be undecided.
    LoadOpen {
        side: StoreSide,
        d: Reg,
        slot: u32,
    },
    /// Of the field at a position of an array; -1 is a key that is not listed.
    LoadAt {
        side: StoreSide,
        d: Reg,
        array: u16,
        at: Reg,
    },
    /// The same, passing an undecided value on.
    PassAt {
        d: Reg,
        array: u16,
        at: Reg,
    },
    /// The position of a key in a list of keys, or -1.
    Position {
        d: Reg,
        keys: u16,
        a: Reg,
    },
    /// Positions of two levels to one: `a * n + b`, -1 if either is.
    Join {
        d: Reg,
        a: Reg,
        b: Reg,
        n: u16,
    },
    /// Escapes if the position is -1: the key has to be listed.
    Listed {
        at: Reg,
        key: Reg,
        array: u16,
        level: u8,
    },
    Add {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    AddK {
        d: Reg,
        a: Reg,
        k: i64,
    },
    Sub {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Mul {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Div {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Mod {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    /// The same on machine integers, before `Wrap`.
    Machine {
        op: MachineOp,
        d: Reg,
        a: Reg,
        b: Reg,
        width: u8,
    },
    Wrap {
        d: Reg,
        a: Reg,
        width: u8,
        signed: bool,
    },
    /// A u64 as an `int`: escapes beyond the signed range.
    FromU64 {
        d: Reg,
        a: Reg,
    },
    Eq {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    EqK {
        d: Reg,
        a: Reg,
        k: i64,
    },
    Lt {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Le {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    LtK {
        d: Reg,
        a: Reg,
        k: i64,
    },
    GtK {
        d: Reg,
        a: Reg,
        k: i64,
    },
    LtU {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    LeU {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Not {
        d: Reg,
        a: Reg,
    },
    And {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Jump {
        to: u32,
    },
    JumpIf {
        a: Reg,
        to: u32,
    },
    JumpIfNot {
        a: Reg,
        to: u32,
    },
    /// Waits if zero.
    Require {
        a: Reg,
    },
    /// Waits unless a field has this code.
    RequireCode {
        word: u8,
        shift: u8,
        bits: u8,
        code: u64,
    },
    /// Waits if a field has this code.
    RequireNotCode {
        word: u8,
        shift: u8,
        bits: u8,
        code: u64,
    },
    /// Goes wrong if zero.
    Gate {
        a: Reg,
        property: PropertyId,
    },
    Store {
        slot: u32,
        a: Reg,
    },
    /// Adds to a field, from the store before.
    Bump {
        word: u8,
        shift: u8,
        bits: u8,
        slot: u16,
        by: i64,
    },
    StoreCode {
        word: u8,
        shift: u8,
        bits: u8,
        code: u64,
    },
    StoreAt {
        array: u16,
        at: Reg,
        a: Reg,
    },
    /// Escapes if the length is beyond the room of the sequence.
    Fits {
        a: Reg,
        array: u16,
    },
    /// Starts an instance with the arguments in registers from `args` on; its number goes to `d`.
    Spawn {
        d: Reg,
        spawn: u16,
        args: Reg,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MachineOp {
    Add,
    Sub,
    Mul,
    DivSigned,
    ModSigned,
    DivUnsigned,
    ModUnsigned,
    BitAnd,
    BitOr,
    BitXor,
    Shl,
    ShrSigned,
    ShrUnsigned,
}

/// How a run of code ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    Waits,
    Wrong(PropertyId),
    /// A field that is not decided.
    Open,
    /// See `RegisterFile::escape`.
    Escape,
}

/// Fields one after another, with what an unlisted key holds.
#[derive(Clone, Debug)]
pub(crate) struct Array {
    pub first: u32,
    pub plan: u32,
    pub default: i64,
}

/// How to start an instance: for each place in the pool, the pc's code and the slots of the parameters.
#[derive(Clone, Debug)]
pub(crate) struct SpawnPlan {
    pub code: Vec<(usize, u64)>,
    pub params: Vec<Vec<u32>>,
    /// Packed initial locals, as (word, keep, bits) of each place in the pool.
    pub fresh: Vec<Vec<(usize, u64, u64)>>,
}

/// Tables that instructions refer to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tables {
    pub(crate) arrays: Vec<Array>,
    pub keys: Vec<LevelKeys>,
    pub spawns: Vec<SpawnPlan>,
}

/// Registers and the last escape, one for each worker.
#[derive(Clone, Debug)]
pub(crate) struct RegisterFile {
    pub(crate) regs: Vec<i64>,
    pub(crate) escape: Option<Escape>,
}

impl RegisterFile {
    pub(crate) fn new(size: usize) -> Self {
        Self { regs: vec![0; size], escape: None }
    }
}
