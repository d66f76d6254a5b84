//! The typed tree of a C translation unit: what the lowering reads.
//!
//! Comes in: from `convert`. Every conversion C makes silently is a `Cast` here, places (lvalues) and values are
//! different types, array and function decay are explicit, names are resolved to ids, and a construct that is not
//! modelled is a node that says so with its place. A floating value has its parts
//! and, of a constant, its number. Absent on purpose: bit-field packing, `va_arg`.

use super::types::{Int, Ty, Types};
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
    pub types: Types,
    pub variables: IdVec<VarId, Variable>,
    pub functions: IdVec<FnId, Function>,
    pub texts: IdVec<TextId, Vec<u8>>,
    /// The type of their characters.
    pub char_type: Ty,
    /// File-scope and static variables in the order of their declaration.
    pub globals: Vec<VarId>,
    /// Invariants and relies from comments.
    pub specs: Vec<Spec>,
    /// Machines from comments, and which functions follow which.
    pub machines: Vec<Spec>,
    pub follows: Vec<(FnId, String, Span)>,
    /// What functions perform.
    pub performs: Vec<(FnId, String, Span)>,
}

/// A formula in a comment, as written.
#[derive(Clone, Debug)]
pub struct Spec {
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
pub enum Storage {
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
    pub ty: Ty,
    pub span: Span,
    pub storage: Storage,
    /// Its address is taken somewhere (also by array decay).
    pub address_taken: bool,
    /// Of a static or thread-local object; locals are initialised by their `Declare` statement.
    pub init: Option<Init>,
    /// Declared `extern` and never defined here.
    pub external: bool,
    /// The mutex named by a `guarded_by` attribute, as written.
    pub guarded_by: Option<String>,
    /// The number of elements of an array of variable length.
    pub length: Option<Box<Expr>>,
}

/// How labels begin whose statement runs in a thread of its own, and the name of the function it becomes.
pub const ASYNCHRONOUS: &str = "__CPROVER_ASYNC";

#[derive(Clone, Debug)]
pub struct Function {
    pub name: String,
    pub result: Ty,
    pub params: Vec<VarId>,
    /// The parameter types of the prototype or the definition.
    pub param_types: Vec<Ty>,
    pub variadic: bool,
    pub body: Option<Vec<Stmt>>,
    pub labels: IdVec<LabelId, String>,
    pub span: Span,
    /// Used otherwise than as the callee of a call.
    pub address_taken: bool,
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
    pub ty: Ty,
    pub value: Expr,
}

#[derive(Clone, Debug)]
pub struct Expr {
    pub kind: ExprKind,
    pub ty: Ty,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum ExprKind {
    Const(i128),
    /// Reads a place.
    Load(Box<Place>),
    /// The address of a place, also an array that decays (then of its first element).
    Address(Box<Place>),
    FunctionAddress(FnId),
    TextAddress(TextId),
    Unary(UnaryOp, Box<Expr>),
    /// Both operands have the same arithmetic type, except that a shift keeps its operands' own.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// Compares two values of one type; the result is `int`.
    Compare(CompareOp, Box<Expr>, Box<Expr>),
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
    Assign(Box<Place>, Box<Expr>),
    /// `place op= value`, computed in `compute` and converted back; the place is evaluated once.
    AssignOp {
        place: Box<Place>,
        op: BinaryOp,
        value: Box<Expr>,
        compute: Ty,
    },
    /// `place += value` on a pointer, `value` already an integer, bytes `scale` each.
    AssignPointer {
        place: Box<Place>,
        index: Box<Expr>,
        scale: u64,
        subtract: bool,
    },
    /// `++` and `--`; `step` in units of one (or of the pointee's size).
    Increment {
        place: Box<Place>,
        step: i128,
        fix: Fix,
    },
    Call(Callee, Vec<Expr>),
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
    Joined(BinaryOp),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fix {
    Before,
    After,
}

#[derive(Clone, Debug)]
pub enum Callee {
    Direct(FnId),
    Pointer(Box<Expr>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    Minus,
    Complement,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
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
pub enum CompareOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl CompareOp {
    /// The comparison of constants.
    pub fn holds<T: PartialOrd>(self, x: T, y: T) -> bool {
        match self {
            CompareOp::Eq => x == y,
            CompareOp::Ne => x != y,
            CompareOp::Lt => x < y,
            CompareOp::Le => x <= y,
            CompareOp::Gt => x > y,
            CompareOp::Ge => x >= y,
        }
    }
}

/// An lvalue.
#[derive(Clone, Debug)]
pub struct Place {
    pub kind: PlaceKind,
    pub ty: Ty,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum PlaceKind {
    Var(VarId),
    Deref(Box<Expr>),
    /// A field by index into the record's fields.
    Field(Box<Place>, usize),
    /// An element of an array place.
    Index(Box<Place>, Box<Expr>),
    /// A struct value that is not stored anywhere (a call's result).
    Value(Box<Expr>),
    Text(TextId),
    Unmodelled(String),
}

#[derive(Clone, Debug)]
pub struct Stmt {
    pub kind: StmtKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum StmtKind {
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
    pub fn constant(value: i128, ty: Ty, span: Span) -> Expr {
        Expr { kind: ExprKind::Const(value), ty, span }
    }
    pub fn unmodelled(reason: impl Into<String>, ty: Ty, span: Span) -> Expr {
        Expr { kind: ExprKind::Unmodelled(reason.into()), ty, span }
    }
    pub fn float(number: Option<f64>, made: Made, parts: Vec<Expr>, ty: Ty, span: Span) -> Expr {
        Expr { kind: ExprKind::Float { number, made, parts }, ty, span }
    }
    pub fn as_float(&self) -> Option<f64> {
        match self.kind {
            ExprKind::Float { number, .. } => number,
            _ => None,
        }
    }
    pub fn as_const(&self) -> Option<i128> {
        match self.kind {
            ExprKind::Const(value) => Some(value),
            _ => None,
        }
    }
}

/// Folds a binary operation on constants in the type `int`; `None` where C leaves it undefined.
pub fn fold(op: BinaryOp, a: i128, b: i128, int: Int, types: &Types) -> Option<i128> {
    let bits = int.bits(types.model);
    let exact = match op {
        BinaryOp::Add => a.checked_add(b)?,
        BinaryOp::Sub => a.checked_sub(b)?,
        BinaryOp::Mul => a.checked_mul(b)?,
        BinaryOp::Div => a.checked_div(b)?,
        BinaryOp::Rem => a.checked_rem(b)?,
        BinaryOp::Shl if (0..i128::from(bits.min(64))).contains(&b) && a >= 0 => a.checked_mul(1 << b)?,
        BinaryOp::Shr if (0..i128::from(bits.min(64))).contains(&b) => a >> b,
        BinaryOp::Shl | BinaryOp::Shr => return None,
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
    };
    let wrapped = int.wrap(exact, types.model);
    // A signed result out of range is undefined; leave it to be found at run time.
    (!int.signed() || wrapped == exact || op == BinaryOp::Shl).then_some(wrapped)
}
