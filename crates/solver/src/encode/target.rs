//! What an encoding is built in: the sorts and functions that all our solvers have.
//!
//! In: calls of the encoder, bottom up. Out: terms of one solver: `z3::context` builds Z3's own terms, `smtlib` builds
//! text. A target refuses what its solver cannot express.

use logic::{Quantifier, Symbol};
use std::rc::Rc;

/// A sort of the target.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TargetSort {
    Bool,
    Int,
    Bits(u32),
    Array(Rc<TargetSort>, Rc<TargetSort>),
    Set(Rc<TargetSort>),
    Seq(Rc<TargetSort>),
}

/// A function of the target.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Head {
    Not,
    And,
    Or,
    Implies,
    Ite,
    Eq,
    Lt,
    Le,
    Add,
    Sub,
    Mul,
    Neg,
    Div,
    Mod,
    Select,
    Store,
    /// The array of this shape that is its argument everywhere.
    ConstArray(TargetSort),
    EmptySet(TargetSort),
    Member,
    Insert,
    Union,
    Minus,
    Subset,
    /// Of a set that is an array: false is its value almost everywhere.
    Finite,
    EmptySeq(TargetSort),
    Unit,
    Concat,
    Len,
    Nth,
    /// sequence, offset, length
    Extract,
    IntToBits(u32),
    /// Unsigned value of a bit vector.
    BitsToNat,
    /// Signed value of a bit vector.
    BitsToInt,
    BvAdd,
    BvSub,
    BvMul,
    BvNeg,
    BvAnd,
    BvOr,
    BvXor,
    BvNot,
    BvShl,
    BvLshr,
    BvAshr,
    BvUdiv,
    BvUrem,
    BvSdiv,
    BvSrem,
    BvUlt,
    BvUle,
    BvSlt,
    BvSle,
    ZeroExtend(u32),
    SignExtend(u32),
    /// high, low
    BvExtract(u32, u32),
}

/// Why a term cannot be expressed for a solver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EncodingRefusal(pub String);

impl EncodingRefusal {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

/// What an encoding is built in.
pub(crate) trait EncodingTarget {
    type Expr: Copy + Eq + std::hash::Hash + std::fmt::Debug;
    fn boolean(&mut self, value: bool) -> Result<Self::Expr, EncodingRefusal>;
    fn int(&mut self, value: i128) -> Result<Self::Expr, EncodingRefusal>;
    fn bits(&mut self, value: u128, width: u32) -> Result<Self::Expr, EncodingRefusal>;
    fn symbol(&mut self, symbol: Symbol, name: &str, shape: &TargetSort) -> Result<Self::Expr, EncodingRefusal>;
    fn apply(&mut self, head: &Head, args: &[Self::Expr]) -> Result<Self::Expr, EncodingRefusal>;
    /// The bound expressions were made by `symbol`.
    fn quantify(
        &mut self,
        quantifier: Quantifier,
        bound: &[Self::Expr],
        body: Self::Expr,
    ) -> Result<Self::Expr, EncodingRefusal>;
    /// Whether its sets are exactly the finite ones.
    const FINITE_SETS: bool;
    /// Keeps an expression through `release`.
    fn pin(&mut self, _expr: Self::Expr) {}
    /// How many expressions are kept that `release` would let go.
    fn kept(&self) -> usize {
        0
    }
    /// Lets go of every expression but symbols, numbers and pinned ones.
    fn release(&mut self) {}
}
