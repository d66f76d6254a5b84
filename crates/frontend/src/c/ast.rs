//! The typed tree of a C translation unit: what the lowering reads.
//!
//! In: from `convert`. Every conversion C makes silently is a `Cast` here, places (lvalues) and values are
//! different types, array and function decay are explicit, names are resolved to ids, and a construct that is not
//! modelled is a node that says so with its place. A floating value has its parts
//! and, of a constant, its number. Deliberately absent: bit-field packing.

use super::types::{CType, CTypes, Int};
use base::{IdVec, Span};

base::id_type!(
    /// A variable of the unit: global, static, thread-local, parameter or local.
    VarId, "v"
);
base::id_type!(
    /// A function, declared or defined.
    FnId, "fn"
);
base::id_type!(
    /// A label of one function.
    LabelId, "l"
);
base::id_type!(
    /// A string literal.
    TextId, "s"
);

/// A whole translation unit.
#[derive(Clone, Debug)]
pub struct Unit {
    pub types: CTypes,
    pub variables: IdVec<VarId, Variable>,
    pub functions: IdVec<FnId, CFunction>,
    pub texts: IdVec<TextId, Vec<u8>>,
    /// The type of their characters.
    pub(crate) char_type: CType,
    /// File-scope and static variables in the order of their declaration.
    pub globals: Vec<VarId>,
    /// Invariants and relies from comments.
    pub specs: Vec<SpecComment>,
    /// Machines from comments, and which functions follow which.
    pub machines: Vec<SpecComment>,
    pub follows: Vec<(FnId, String, Span)>,
    /// What functions perform.
    pub performs: Vec<(FnId, String, Span)>,
}

/// A formula in a comment, as written.
#[derive(Clone, Debug)]
pub struct SpecComment {
    pub kind: SpecKind,
    pub text: String,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpecKind {
    Invariant,
    Rely,
    Machine,
}

impl Unit {
    pub fn function(&self, name: &str) -> Option<FnId> {
        self.functions.iter_enumerated().find(|(_, f)| f.name == name).map(|(id, _)| id)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Storage {
    /// One object for the whole program.
    Static,
    /// One object for each thread.
    ThreadLocal,
    Local,
    Parameter,
}

#[derive(Clone, Debug)]
pub struct Variable {
    pub name: String,
    pub ty: CType,
    pub span: Span,
    pub(crate) storage: Storage,
    /// Its address is taken somewhere (also by array decay).
    pub(crate) address_taken: bool,
    /// Of a static or thread-local object; locals are initialised by their `Declare` statement.
    pub init: Option<Init>,
    /// Declared `extern` and never defined here.
    pub external: bool,
    /// Defined `const`: writing it is undefined (C11 6.7.3p6).
    pub(crate) constant: bool,
    /// The mutex named by a `guarded_by` attribute, as written.
    pub(crate) guarded_by: Option<String>,
    /// The number of elements of an array of variable length.
    pub length: Option<Box<Expr>>,
}

/// How labels begin whose statement runs in a thread of its own, and the name of the function it becomes.
pub(crate) const ASYNCHRONOUS: &str = "__CPROVER_ASYNC";

#[derive(Clone, Debug)]
pub struct CFunction {
    pub name: String,
    pub result: CType,
    pub params: Vec<VarId>,
    /// The parameter types of the prototype or the definition.
    pub(crate) param_types: Vec<CType>,
    pub variadic: bool,
    pub body: Option<Vec<Stmt>>,
    pub labels: IdVec<LabelId, String>,
    pub span: Span,
    /// Used otherwise than as the callee of a call.
    pub(crate) address_taken: bool,
    /// Declared never to return.
    pub(crate) noreturn: bool,
}

/// An initialiser with every designation resolved.
#[derive(Clone, Debug)]
pub enum Init {
    Value(Expr),
    /// Parts by byte offset; what is not named is zero. Later parts win.
    Parts(Vec<InitPart>),
}

#[derive(Clone, Debug)]
pub struct InitPart {
    pub offset: u64,
    pub ty: CType,
    pub value: Expr,
}

#[derive(Clone, Debug)]
pub struct Expr {
    pub kind: CExprKind,
    pub ty: CType,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum CExprKind {
    Const(i128),
    /// Reads a place.
    Load(Box<LValue>),
    /// The address of a place, also an array that decays (then of its first element).
    Address(Box<LValue>),
    FunctionAddress(FnId),
    TextAddress(TextId),
    Unary(CUnaryOp, Box<Expr>),
    /// Both operands have the same arithmetic type, except that a shift keeps its operands' own.
    Binary(CBinaryOp, Box<Expr>, Box<Expr>),
    /// Compares two values of one type; the result is `int`.
    Compare(CCompareOp, Box<Expr>, Box<Expr>),
    /// `pointer + index * scale`, bytes.
    PointerAdd {
        pointer: Box<Expr>,
        index: Box<Expr>,
        scale: u64,
        subtract: bool,
    },
    /// `(left - right) / scale`.
    PointerDiff {
        left: Box<Expr>,
        right: Box<Expr>,
        scale: u64,
    },
    /// Converts to the type of this expression.
    Cast(Box<Expr>),
    Not(Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// GNU `a ?: b`: `a` is evaluated once.
    Elvis(Box<Expr>, Box<Expr>),
    Comma(Box<Expr>, Box<Expr>),
    /// Also of whole structs. The value is the stored one.
    Assign(Box<LValue>, Box<Expr>),
    /// `place op= value`, computed in `compute` and converted back; the place is evaluated once.
    AssignOp {
        place: Box<LValue>,
        op: CBinaryOp,
        value: Box<Expr>,
        compute: CType,
    },
    /// `place += value` on a pointer, `value` already an integer, bytes `scale` each.
    AssignPointer {
        place: Box<LValue>,
        index: Box<Expr>,
        scale: u64,
        subtract: bool,
    },
    /// `++` and `--`; `step` in units of one (or of the pointee's size).
    Increment {
        place: Box<LValue>,
        step: i128,
        fix: Fix,
    },
    Call(CCallee, Vec<Expr>),
    /// GNU statement expression; the value is that of the last expression.
    Statements(Vec<Stmt>, Option<Box<Expr>>),
    /// Runs a local's initialisation, then gives a place's value: compound literals.
    Literal(VarId, Box<Init>, Box<Expr>),
    /// A floating value made of these; its number where it is a constant.
    Float {
        number: Option<f64>,
        made: Made,
        parts: Vec<Expr>,
    },
    /// The next argument of a `va_list`, with the type of this expression.
    VaArg(Box<Expr>),
    Unmodelled(String),
}

/// How a floating value is made of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// A literal, of no parts.
    Literal,
    /// Of a number of another type.
    Converted,
    Negated,
    Joined(CBinaryOp),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fix {
    Before,
    After,
}

#[derive(Clone, Debug)]
pub enum CCallee {
    Direct(FnId),
    Pointer(Box<Expr>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CUnaryOp {
    Minus,
    Complement,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CBinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Shl,
    Shr,
    And,
    Or,
    Xor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CCompareOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl CCompareOp {
    /// The comparison of constants.
    pub(crate) fn holds<T: PartialOrd>(self, x: T, y: T) -> bool {
        match self {
            CCompareOp::Eq => x == y,
            CCompareOp::Ne => x != y,
            CCompareOp::Lt => x < y,
            CCompareOp::Le => x <= y,
            CCompareOp::Gt => x > y,
            CCompareOp::Ge => x >= y,
        }
    }
}

/// An lvalue.
#[derive(Clone, Debug)]
pub struct LValue {
    pub kind: PlaceKind,
    pub ty: CType,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum PlaceKind {
    Var(VarId),
    Deref(Box<Expr>),
    /// A field by index into the record's fields.
    Field(Box<LValue>, usize),
    /// An element of an array place.
    Index(Box<LValue>, Box<Expr>),
    /// A struct value that is not stored anywhere (a call's result).
    Value(Box<Expr>),
    Text(TextId),
    Unmodelled(String),
}

#[derive(Clone, Debug)]
pub struct Stmt {
    pub kind: CStmtKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum CStmtKind {
    Expr(Expr),
    /// A local comes to life: uninitialised unless an initialiser is given.
    Declare(VarId, Option<Init>),
    Block(Vec<Stmt>),
    If(Expr, Box<Stmt>, Option<Box<Stmt>>),
    While(Expr, Box<Stmt>),
    DoWhile(Box<Stmt>, Expr),
    For {
        init: Vec<Stmt>,
        cond: Option<Expr>,
        step: Option<Expr>,
        body: Box<Stmt>,
    },
    Switch(Expr, Box<Stmt>),
    /// A `case` with its inclusive range; it labels the next statement of the block.
    Case(i128, i128),
    Default,
    Label(LabelId),
    Goto(LabelId),
    Break,
    Continue,
    Return(Option<Expr>),
    Empty,
    Unmodelled(String),
}

impl Expr {
    pub fn constant(value: i128, ty: CType, span: Span) -> Expr {
        Expr { kind: CExprKind::Const(value), ty, span }
    }
    pub fn unmodelled(reason: impl Into<String>, ty: CType, span: Span) -> Expr {
        Expr { kind: CExprKind::Unmodelled(reason.into()), ty, span }
    }
    pub fn float(number: Option<f64>, made: Made, parts: Vec<Expr>, ty: CType, span: Span) -> Expr {
        Expr { kind: CExprKind::Float { number, made, parts }, ty, span }
    }
    pub(crate) fn as_float(&self) -> Option<f64> {
        match self.kind {
            CExprKind::Float { number, .. } => number,
            _ => None,
        }
    }
    pub(crate) fn as_const(&self) -> Option<i128> {
        match self.kind {
            CExprKind::Const(value) => Some(value),
            _ => None,
        }
    }
}

/// Folds a binary operation on constants in the type `int`; `None` where C leaves it undefined.
pub(crate) fn fold_binary(op: CBinaryOp, a: i128, b: i128, int: Int, types: &CTypes) -> Option<i128> {
    let bits = int.bits(types.model);
    let exact = match op {
        CBinaryOp::Add => a.checked_add(b)?,
        CBinaryOp::Sub => a.checked_sub(b)?,
        CBinaryOp::Mul => a.checked_mul(b)?,
        CBinaryOp::Div => a.checked_div(b)?,
        CBinaryOp::Rem => a.checked_rem(b)?,
        CBinaryOp::Shl if (0..i128::from(bits.min(64))).contains(&b) && a >= 0 => a.checked_mul(1 << b)?,
        CBinaryOp::Shr if (0..i128::from(bits.min(64))).contains(&b) => a >> b,
        CBinaryOp::Shl | CBinaryOp::Shr => return None,
        CBinaryOp::And => a & b,
        CBinaryOp::Or => a | b,
        CBinaryOp::Xor => a ^ b,
    };
    let wrapped = int.wrap(exact, types.model);
    // A signed result out of range is undefined; leave it to be found at run time.
    (!int.signed() || wrapped == exact || op == CBinaryOp::Shl).then_some(wrapped)
}
