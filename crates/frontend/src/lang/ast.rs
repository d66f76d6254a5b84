//! The tree of a `.tp` file: plain enums and structs, every node with its span, nothing resolved.
//!
//! Comparing two trees compares what they say, not where they stand (`Spanned`'s equality ignores the span). The height
//! of every tree is bounded by the parser (`parse::DEEPEST`), so that walking it by recursion is safe; conjunctions,
//! disjunctions, `else if` chains and choices are lists, because files written by tools have thousands of them.
//! Calls, conversions of one argument and `len` look alike in the text: a `CallExpr` is distinguished when names are resolved.
//! In: what the parser of `.tp` or the translation of Java builds. Out: the tree that `lower`, `print` and the
//! interpreter of the tests read.

use base::Span;

/// A piece of the tree and its place.
#[derive(Clone, Debug)]
pub struct Spanned<T> {
    pub kind: T,
    pub span: Span,
}

impl<T> Spanned<T> {
    pub(crate) fn new(kind: T, span: Span) -> Self {
        Self { kind, span }
    }
}

impl<T: PartialEq> PartialEq for Spanned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

pub type Name = Spanned<Box<str>>;
pub type Type = Spanned<TypeKind>;
pub type Expr = Spanned<ExprKind>;
pub type Stmt = Spanned<StmtKind>;
pub(crate) type Item = Spanned<ItemKind>;
pub type Block = Spanned<Vec<Stmt>>;

/// A whole file.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceTree {
    pub items: Vec<Item>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ItemKind {
    /// Without a value the constant may be anything the `init` formulas allow.
    Const {
        name: Name,
        ty: Type,
        value: Option<Expr>,
    },
    Enum {
        name: Name,
        variants: Vec<Name>,
    },
    Class {
        name: Name,
        fields: Vec<VarDecl>,
    },
    Var(VarDecl),
    Init(Expr),
    Invariant(Expr),
    Rely(Expr),
    Thread(ThreadDecl),
    Proc(Proc),
    Machine(MachineDecl),
    Object(ObjectDecl),
}

/// A shared variable, a class field, or a variable of a `spec`.
#[derive(Clone, Debug, PartialEq)]
pub struct VarDecl {
    pub name: Name,
    pub ty: Type,
    pub value: Option<Expr>,
    pub access: Vec<AccessClause>,
    pub privacy: Privacy,
    pub span: SourceSpan,
}

/// Whether callers see a variable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Privacy {
    #[default]
    Seen,
    /// `private var`: it must be possible to hide it.
    Private,
    /// Hidden if it can be.
    IfPossible,
}

/// When a variable may be accessed.
#[derive(Clone, Debug, PartialEq)]
pub enum AccessClause {
    /// `accessible_if[i][j] e`: the binders stand for the indices of the access.
    If { binders: Vec<Name>, condition: Expr },
    /// `guarded_by m`.
    GuardedBy(Expr),
    /// `readable_if[i] e`: for reading alone.
    Readable { binders: Vec<Name>, condition: Expr },
    /// `writable_if[i] e`: for writing alone; who may write may read.
    Writable { binders: Vec<Name>, condition: Expr },
    /// `thread_local`, of a field: only the thread that made the object touches it.
    ThreadLocal,
}

/// A span that does not count in comparisons.
#[derive(Clone, Copy, Debug)]
pub struct SourceSpan(pub Span);

impl PartialEq for SourceSpan {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ThreadDecl {
    pub name: Name,
    pub copies: CopiesClause,
    /// `None`: an ordinary thread. `Some`: started only by `spawn`, even if the list is empty.
    pub params: Option<Vec<Param>>,
    pub follows: Option<Name>,
    pub clauses: Vec<Clause>,
    pub body: Block,
}

#[derive(Clone, Debug, PartialEq)]
pub enum CopiesClause {
    One,
    /// `[e]`, e constant.
    Exactly(Expr),
    /// `[*]`.
    Any,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    pub name: Name,
    pub ty: Type,
}

/// A procedure, an operation of an object, or an operation of a `spec`.
#[derive(Clone, Debug, PartialEq)]
pub struct Proc {
    pub form: ProcForm,
    pub name: Name,
    pub params: Vec<Param>,
    pub results: Vec<Param>,
    pub clauses: Vec<Clause>,
    pub body: Block,
    pub span: SourceSpan,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcForm {
    /// `proc p() ..`
    Plain,
    /// `inline proc p() ..`
    Inline,
    /// `op p() ..` of an object.
    Operation,
    /// `p() ..` of a `spec` block.
    Abstract,
}

/// What stands between the head and the body of a thread or procedure, each ended by `;`.
pub type Clause = Spanned<ClauseKind>;

#[derive(Clone, Debug, PartialEq)]
pub enum ClauseKind {
    Requires(Expr),
    Ensures(Expr),
    /// `modifies x, m[k];`: all that the procedure may change of what is shared.
    Modifies(Vec<Expr>),
    Performs(Performs),
    Rely(Expr),
    Invariant(Expr),
}

pub type Performs = Spanned<PerformsKind>;

#[derive(Clone, Debug, PartialEq)]
pub enum PerformsKind {
    Action(Box<ActionDecl>),
    /// `a ; b ; c`
    Then(Vec<Performs>),
    /// `a [] b [] c`
    Or(Vec<Performs>),
    /// `(a)*`
    Repeat(Box<Performs>),
    Error,
}

/// `L: <x, m[k]> formula asserting a`.
#[derive(Clone, Debug, PartialEq)]
pub struct ActionDecl {
    pub label: Option<Name>,
    /// `<new n, ..>`: a variable of a machine that refers to an object made in this step.
    pub(crate) makes: Option<Name>,
    pub frame: Vec<Expr>,
    pub formula: Expr,
    pub asserting: Option<Expr>,
    pub span: SourceSpan,
}

#[derive(Clone, Debug, PartialEq)]
pub struct MachineDecl {
    pub(crate) idling: Idling,
    pub name: Name,
    pub parts: Vec<MachinePart>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Idling {
    /// Every state may idle.
    Free,
    /// `strict machine`.
    Strict,
}

pub(crate) type MachinePart = Spanned<MachinePartKind>;

#[derive(Clone, Debug, PartialEq)]
pub enum MachinePartKind {
    Var(VarDecl),
    /// What the machine assumes of all that others do between two steps of its thread.
    Rely(Expr),
    State {
        role: StateRole,
        name: Name,
        asserts: Option<Expr>,
    },
    Edge {
        from: Name,
        to: Name,
        action: Option<ActionDecl>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateRole {
    Start,
    Inner,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ObjectDecl {
    pub name: Name,
    pub members: Vec<Member>,
}

pub type Member = Spanned<MemberKind>;

#[derive(Clone, Debug, PartialEq)]
pub enum MemberKind {
    Spec(Vec<Member>),
    Var(VarDecl),
    Init(Expr),
    Invariant(Expr),
    Rely(Expr),
    Proc(Proc),
}

#[derive(Clone, Debug, PartialEq)]
pub enum TypeKind {
    Bool,
    Int,
    Machine(MachineInt),
    Lock,
    /// An enum or a class.
    Named(Box<str>),
    Map(Box<Type>, Box<Type>),
    Set(Box<Type>),
    Seq(Box<Type>),
    Error,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MachineInt {
    pub bits: u32,
    pub sign: Sign,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sign {
    Signed,
    Unsigned,
}

impl std::fmt::Display for MachineInt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let letter = match self.sign {
            Sign::Signed => 'i',
            Sign::Unsigned => 'u',
        };
        write!(f, "{letter}{}", self.bits)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    Local {
        name: Name,
        ty: Type,
        value: Option<AssignedValue>,
    },
    Assign {
        targets: Vec<Expr>,
        value: AssignedValue,
    },
    Havoc(Vec<Expr>),
    Assume(Expr),
    Assert(Expr),
    Acquire(Expr),
    Release(Expr),
    Free(Expr),
    Atomic(Block),
    Step(ActionDecl),
    If {
        arms: Vec<Arm>,
        otherwise: Option<Block>,
    },
    While {
        condition: Condition,
        invariants: Vec<Expr>,
        body: Block,
    },
    Choose(Vec<Block>),
    Block(Block),
    /// A call whose results are not used.
    Call(CallExpr),
    Spawn(CallExpr),
    Join(Expr),
    Witness(Name),
    /// `linearize;` or `linearize if e;`
    Linearize(Option<Expr>),
    Skip,
    Return(Vec<Expr>),
    Break,
    Continue,
    /// A step that goes wrong where the condition is false. Made by front ends of other languages; it has no text in a `.tp` file.
    Check {
        of: Checked,
        condition: Expr,
    },
    /// A block that `Leave` with its name goes behind. Made by front ends of other languages; no text.
    Labelled(Box<str>, Block),
    /// Goes behind the innermost block around of that name.
    Leave(Box<str>),
    Error,
}

/// What a `Check` is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Checked {
    Bounds,
    Null,
    Release,
    /// No conflicting access of the named place is under way.
    Race(Box<str>),
    /// Something of the source language that must not happen, with the first part of its name: `throw`, `cast`, `start`.
    Language(&'static str),
    /// A construct outside the model.
    Unmodelled(Box<str>),
}

/// One `if` or `else if`.
#[derive(Clone, Debug, PartialEq)]
pub struct Arm {
    pub condition: Condition,
    pub body: Block,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// `*`
    Any(SourceSpan),
    Expr(Expr),
}

/// The right side of an assignment.
#[derive(Clone, Debug, PartialEq)]
pub enum AssignedValue {
    /// One expression for each target, or one call that gives all results.
    Exprs(Vec<Expr>),
    New(Name),
    Cas(Box<Cas>),
    Spawn(CallExpr),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Cas {
    pub place: Expr,
    pub old: Expr,
    pub new: Expr,
}

/// `p(a, b)` or `ObjectDecl.p(a, b)`.
#[derive(Clone, Debug, PartialEq)]
pub struct CallExpr {
    pub object: Option<Name>,
    pub name: Name,
    pub args: Vec<Expr>,
    pub span: SourceSpan,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    Bool(bool),
    /// Never negative: `-1` is a negation.
    Int(i128, Radix),
    Null,
    Tid,
    /// `?`
    Unknown,
    Name(Box<str>, Prime),
    Unary(Unary, Box<Expr>),
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// `a && b && c`, at least two.
    And(Vec<Expr>),
    /// `a || b || c`, at least two.
    Or(Vec<Expr>),
    If(Box<[Expr; 3]>),
    Quantified(QuantifierWord, Vec<Param>, Box<Expr>),
    Index(Box<Expr>, Box<Expr>),
    /// `m[k := v]`
    Update(Box<[Expr; 3]>),
    /// `q[i..j]`
    Slice(Box<Expr>, Option<Box<Expr>>, Option<Box<Expr>>),
    Field(Box<Expr>, Name, Prime),
    Set(Vec<Expr>),
    Seq(Vec<Expr>),
    /// `len(q)` or a procedure.
    Call(Box<CallExpr>),
    /// `u8(e)`, `int(e)`: the type is `Int` or `MachineDecl`.
    Convert(Type, Box<Expr>),
    /// Made by front ends of other languages; it has no text in a `.tp` file.
    Foreign(Box<Foreign>),
    Error,
}

/// Expressions that other source languages need and `.tp` files cannot say.
#[derive(Clone, Debug, PartialEq)]
pub enum Foreign {
    /// Two machine integers of one type.
    Bits(BitOperator, Expr, Expr),
    Complement(Expr),
    /// The map that has this value at every key; its type is the wanted one.
    Everywhere(Expr),
    /// An object of which the front end knows that it is not null: fields of it are not checked for that.
    Present(Expr),
    /// A value whose reading is no access that an access predicate speaks of: whether a lock is free is asked of any lock.
    Peek(Expr),
}

impl Foreign {
    pub(crate) fn operands(&self) -> Vec<&Expr> {
        match self {
            Foreign::Bits(_, a, b) => vec![a, b],
            Foreign::Complement(e) | Foreign::Everywhere(e) | Foreign::Present(e) | Foreign::Peek(e) => vec![e],
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BitOperator {
    And,
    Or,
    Xor,
    /// The amount is taken modulo the width.
    ShiftLeft,
    /// Arithmetic on signed types.
    ShiftRight,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Radix {
    Decimal,
    Hexadecimal,
}

/// Whether the value before or after the step is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prime {
    Before,
    After,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    Not,
    Negate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuantifierWord {
    Forall,
    Exists,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
    Implies,
    Iff,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    In,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

impl Binary {
    pub fn text(self) -> &'static str {
        match self {
            Binary::Implies => "==>",
            Binary::Iff => "<==>",
            Binary::Equal => "==",
            Binary::NotEqual => "!=",
            Binary::Less => "<",
            Binary::LessEqual => "<=",
            Binary::Greater => ">",
            Binary::GreaterEqual => ">=",
            Binary::In => "in",
            Binary::Add => "+",
            Binary::Subtract => "-",
            Binary::Multiply => "*",
            Binary::Divide => "/",
            Binary::Modulo => "%",
        }
    }
    pub fn strength(self) -> Strength {
        match self {
            Binary::Implies => Strength::Implies,
            Binary::Iff => Strength::Iff,
            Binary::Equal
            | Binary::NotEqual
            | Binary::Less
            | Binary::LessEqual
            | Binary::Greater
            | Binary::GreaterEqual
            | Binary::In => Strength::Compare,
            Binary::Add | Binary::Subtract => Strength::Add,
            Binary::Multiply | Binary::Divide | Binary::Modulo => Strength::Multiply,
        }
    }
}

/// How strongly an expression's outermost operator binds, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    /// Quantifiers and `if then else`, which reach as far right as possible.
    Open,
    Implies,
    Iff,
    Or,
    And,
    Compare,
    Add,
    Multiply,
    Unary,
    Postfix,
}
