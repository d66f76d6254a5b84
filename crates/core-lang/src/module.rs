//! The core language itself: modules, objects, functions, instructions.
//!
//! In: from front ends. Out: to the interpreter and the printer. A function is a list of instructions over
//! registers; each instruction makes at most one access to memory, and each access says its own kind (plain, volatile,
//! or atomic with a memory order that may be computed at run time). Scalars whose address no code takes may live in registers; everything
//! else is an object with a lifetime. What a front end cannot say is `Unsupported`, which stops a run and is never skipped.
//! Deliberately absent: types of the source language, structured control flow, expressions with side effects.

pub use crate::operator::{BinaryOp, CompareOp, UnaryOp};
use crate::value::{CoreValue, IntType, ScalarType};
use base::{IdVec, Span};

base::id_type!(
    /// An object of static or thread storage.
    ObjectId, "g"
);
base::id_type!(
    /// A function with a body.
    FunctionId, "f"
);
base::id_type!(
    /// A function without a body: a row of the library table, or unknown.
    ExternalId, "x"
);
base::id_type!(
    /// An object of automatic storage, of one function.
    LocalId, "l"
);
base::id_type!(
    /// A register of one function.
    Register, "r"
);

/// A whole program.
#[derive(Clone, Debug, Default)]
pub struct Module {
    pub pointer_bytes: u64,
    /// The size of the type `long` (`wchar_t`, `time_t` and their like follow the host).
    pub long_bytes: u64,
    pub objects: IdVec<ObjectId, StaticObject>,
    pub functions: IdVec<FunctionId, Function>,
    pub externals: IdVec<ExternalId, External>,
    /// Stores the initial values of objects; runs before the first thread.
    pub initialiser: Option<FunctionId>,
    /// Functions that run before the entry (constructors), in order.
    pub constructors: Vec<FunctionId>,
    pub entry: Option<FunctionId>,
}

impl Module {
    pub fn function(&self, name: &str) -> Option<FunctionId> {
        self.functions.iter_enumerated().find(|(_, f)| f.name == name).map(|(id, _)| id)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageClass {
    /// One object for the whole program.
    Static,
    /// One object for each thread, a copy of the initialised template.
    Thread,
    /// Static, and writing it is undefined: string literals, and what is defined `const`.
    Constant,
}

#[derive(Clone, Debug)]
pub struct StaticObject {
    pub name: String,
    pub size: u64,
    pub align: u64,
    pub class: StorageClass,
    /// The first bytes; the rest is zero. Values that are not constant bytes are stored by the module's initialiser.
    pub image: Vec<u8>,
    /// Defined elsewhere: its content is the environment's (`stdout`, `environ`).
    pub external: bool,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct External {
    pub name: String,
    pub result: ResultKind,
    /// Declared never to return: without a row, a call of it ends the program.
    pub noreturn: bool,
}

/// What a call gives back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultKind {
    Nothing,
    Scalar(ScalarType),
    /// An aggregate of so many bytes, copied to where the caller says.
    Bytes(u64),
}

#[derive(Clone, Debug)]
pub struct Function {
    pub name: String,
    pub parameters: Vec<Parameter>,
    pub variadic: Variadic,
    pub result: ResultKind,
    pub registers: u32,
    pub locals: IdVec<LocalId, Local>,
    pub code: Vec<Instruction>,
    /// The place of each instruction.
    pub spans: Vec<Span>,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variadic {
    Fixed,
    More,
}

/// Where an argument arrives.
#[derive(Clone, Copy, Debug)]
pub enum Parameter {
    Register(Register, ScalarType),
    /// A scalar parameter whose address is taken.
    Local(LocalId, ScalarType),
    Aggregate(LocalId, u64),
}

#[derive(Clone, Debug)]
pub struct Local {
    pub name: String,
    /// In bytes; 0 for an object whose size is computed.
    pub size: u64,
    pub align: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operand {
    Register(Register),
    Constant(CoreValue),
}

impl From<Register> for Operand {
    fn from(register: Register) -> Self {
        Operand::Register(register)
    }
}

/// The kind of an access to memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AccessKind {
    Plain,
    Volatile,
    /// With its memory order, numbered as gcc and C11 do: relaxed 0, consume 1, acquire 2, release 3, acq_rel 4, seq_cst 5.
    Atomic(Operand),
}

/// Whether an access is a step of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessStep {
    Whole,
    /// The read of a read-modify-write: no thread comes between it and the `UpdateWrite` that follows, if one does.
    UpdateRead,
    UpdateWrite,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryAccess {
    pub kind: AccessKind,
    pub step: AccessStep,
    /// What the address must be a multiple of.
    pub align: u64,
}

/// Bits of a scalar in memory, least significant first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitRange {
    pub first: u64,
    pub width: u64,
}

/// An argument of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CallArgument {
    Scalar(Operand, ScalarType),
    /// The bytes at an address, copied when the call is made.
    Aggregate(Operand, u64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CallTarget {
    Function(FunctionId),
    External(ExternalId),
    Pointer(Operand),
}

/// Where the result of a call goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Destination {
    Nowhere,
    Register(Register, ScalarType),
    /// The address of an object that takes the aggregate, and its size.
    Memory(Operand, u64),
}

/// What a `return` hands over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Returned {
    Nothing,
    Scalar(Operand),
    Aggregate(Operand, u64),
}

/// A position in a function's code.
pub type Position = u32;

#[derive(Clone, Debug)]
pub enum Instruction {
    Move {
        to: Register,
        from: Operand,
    },
    Unary {
        to: Register,
        op: UnaryOp,
        scalar: ScalarType,
        operand: Operand,
    },
    /// Signed overflow, division by zero and bad shifts are undefined behaviour.
    Binary {
        to: Register,
        op: BinaryOp,
        scalar: ScalarType,
        left: Operand,
        right: Operand,
    },
    Compare {
        to: Register,
        op: CompareOp,
        scalar: ScalarType,
        left: Operand,
        right: Operand,
    },
    Convert {
        to: Register,
        from_scalar: ScalarType,
        to_scalar: ScalarType,
        operand: Operand,
    },
    /// Whether exact arithmetic leaves the type: the wrapped result and 1, or the result and 0.
    Checked {
        result: Register,
        overflow: Register,
        op: BinaryOp,
        int: IntType,
        left: Operand,
        right: Operand,
    },
    ObjectAddress {
        to: Register,
        object: ObjectId,
    },
    LocalAddress {
        to: Register,
        local: LocalId,
    },
    FunctionAddress {
        to: Register,
        function: FunctionId,
    },
    /// The address of a library function.
    ExternalAddress {
        to: Register,
        external: ExternalId,
    },
    /// `pointer + index * scale`, in bytes.
    Offset {
        to: Register,
        pointer: Operand,
        index: Operand,
        scale: i128,
    },
    /// `(left - right) / scale`.
    Difference {
        to: Register,
        left: Operand,
        right: Operand,
        scale: u64,
    },
    /// The index of an array whose length is known: undefined behaviour unless `0 <= index < length`.
    CheckIndex {
        index: Operand,
        length: u64,
    },
    Load {
        to: Register,
        address: Operand,
        scalar: ScalarType,
        bits: Option<BitRange>,
        access: MemoryAccess,
    },
    Store {
        address: Operand,
        value: Operand,
        scalar: ScalarType,
        bits: Option<BitRange>,
        access: MemoryAccess,
    },
    Copy {
        to: Operand,
        from: Operand,
        size: u64,
        to_access: MemoryAccess,
        from_access: MemoryAccess,
    },
    /// Zeroes bytes of an object that no other thread knows yet.
    Zero {
        address: Operand,
        size: u64,
    },
    Fence {
        order: Operand,
    },
    /// A local object comes to life, uninitialised; an earlier one of the same name ends. The size is computed for arrays of variable length.
    Begin {
        local: LocalId,
        size: Option<Operand>,
    },
    End {
        local: LocalId,
    },
    Jump(Position),
    Branch {
        condition: Operand,
        scalar: ScalarType,
        then: Position,
        otherwise: Position,
    },
    Switch {
        value: Operand,
        /// Inclusive ranges, tried in order.
        cases: Vec<(i128, i128, Position)>,
        default: Position,
    },
    Call {
        target: CallTarget,
        arguments: Vec<CallArgument>,
        result: Destination,
    },
    Return(Returned),
    /// The list of further arguments of the running function begins at an object of type `va_list`.
    ListStart {
        list: Operand,
    },
    ListNext {
        to: Register,
        list: Operand,
        scalar: ScalarType,
    },
    ListCopy {
        to: Operand,
        from: Operand,
    },
    ListEnd {
        list: Operand,
    },
    /// From here to the matching end no other thread takes a step.
    ExclusiveBegin,
    ExclusiveEnd,
    /// An error that the program reports itself by getting here.
    Fail {
        message: String,
    },
    /// What the source leaves undefined by getting here.
    Unreachable {
        message: String,
    },
    Unsupported {
        reason: String,
    },
}
