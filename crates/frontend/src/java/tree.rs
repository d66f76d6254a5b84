//! The tree of a Java file: what the translation needs of it, every node with its span, nothing resolved.
//!
//! In: made by `read`. Out: classes with fields, methods, statements and expressions. Whatever the reader does not know
//! is a node of its own (`Unknown`), which the translation turns into a construct outside the model at its line.
//! Deliberately absent: packages, imports and type parameters beyond their names (types are erased).

#![allow(dead_code, reason = "the tree keeps all that stands in the text, also what is not translated yet")]

use base::{SourceId, Span};

/// All classes of the files given, nested ones too.
#[derive(Clone, Debug, Default)]
pub(crate) struct JavaUnit {
    pub classes: Vec<JavaClass>,
    /// Annotation comments (`//@ ..`, `/*@ .. @*/`) with their text.
    pub comments: Vec<AnnotationComment>,
    /// Where the lines of each file begin.
    pub lines: Vec<(SourceId, Vec<u32>)>,
}

impl JavaUnit {
    /// The file and line of a place.
    pub(crate) fn line(&self, file: SourceId, at: u32) -> (SourceId, usize) {
        let starts = self.lines.iter().find(|(f, _)| *f == file).map_or(&[][..], |(_, l)| &l[..]);
        (file, starts.partition_point(|s| *s <= at))
    }
}

/// An annotation comment: its text without the comment signs, blanks in their place so that offsets stay.
#[derive(Clone, Debug)]
pub(crate) struct AnnotationComment {
    pub text: String,
    pub span: Span,
    /// Whether code stands before it on its line.
    pub behind_code: bool,
    /// Whether nothing stands behind it on its line.
    pub ends_line: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClassForm {
    Class,
    Interface,
    Enum,
    /// An annotation type: not modelled.
    Other,
}

#[derive(Clone, Debug)]
pub(crate) struct JavaClass {
    pub name: String,
    pub form: ClassForm,
    pub modifiers: JavaModifiers,
    pub type_params: Vec<String>,
    pub extends: Option<JavaType>,
    pub implements: Vec<JavaType>,
    pub constants: Vec<(String, Span)>,
    pub fields: Vec<JavaField>,
    pub methods: Vec<JavaMethod>,
    /// `static { .. }` and `{ .. }`, with their place among the fields.
    pub initializers: Vec<Initializer>,
    /// The class around this one.
    pub outer: Option<String>,
    pub span: Span,
    pub name_span: Span,
    /// The body without its brackets, for annotation comments.
    pub body: Span,
    /// Members that are not modelled, each with a phrase.
    pub unknown: Vec<(String, Span)>,
    pub surroundings: Surroundings,
}

/// What a class has besides its members: where it stands and where it comes from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Surroundings {
    /// Whether its objects keep the object around them, in the field `OUTER_OBJECT`.
    pub has_outer_object: bool,
    /// Variables around a local or anonymous class that its objects keep, each in a field of that name.
    pub captured: Vec<String>,
    /// Type parameters of what is around it.
    pub type_params: Vec<String>,
    pub is_record: bool,
    /// Whether it stood in a body: a local or anonymous class.
    pub is_in_body: bool,
    /// Whether it is part of the library as it is modelled.
    pub is_library: bool,
    /// The generic class that it is an instance of.
    pub instance_of: Option<String>,
}

impl Surroundings {
    /// Whether the class stood in a body.
    pub(crate) fn is_lifted(&self) -> bool {
        self.is_in_body
    }
}

/// The field that holds the object around an object.
pub(crate) const OUTER_OBJECT: &str = "this$0";

#[derive(Clone, Debug)]
pub(crate) struct Initializer {
    pub is_static: bool,
    pub body: Vec<JavaStmt>,
    pub span: Span,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct JavaModifiers {
    pub is_static: bool,
    pub is_final: bool,
    pub is_private: bool,
    pub is_volatile: bool,
    pub is_synchronized: bool,
    pub is_abstract: bool,
    pub is_native: bool,
    pub is_public: bool,
    pub annotations: Vec<JavaAnnotation>,
}

/// `@GuardedBy("this")`: the text of its first argument, without quotation marks.
#[derive(Clone, Debug)]
pub(crate) struct JavaAnnotation {
    pub name: String,
    pub argument: Option<String>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct JavaField {
    pub name: String,
    pub ty: JavaType,
    pub modifiers: JavaModifiers,
    pub value: Option<JavaExpr>,
    pub span: Span,
    pub name_span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct JavaMethod {
    /// `<init>` for a constructor.
    pub name: String,
    pub params: Vec<JavaParam>,
    /// `None`: void, or a constructor.
    pub result: Option<JavaType>,
    pub modifiers: JavaModifiers,
    pub type_params: Vec<String>,
    pub body: Option<Vec<JavaStmt>>,
    pub span: Span,
    pub name_span: Span,
    /// The body with its brackets.
    pub body_span: Span,
}

pub(crate) const CONSTRUCTOR: &str = "<init>";

#[derive(Clone, Debug)]
pub(crate) struct JavaParam {
    pub name: String,
    pub ty: JavaType,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JavaType {
    pub kind: JavaTypeKind,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum JavaTypeKind {
    Boolean,
    Byte,
    Short,
    Char,
    Int,
    Long,
    /// `float` and `double`.
    Real,
    /// The last part of a qualified name, and type arguments.
    Named(String, Vec<JavaType>),
    Array(Box<JavaType>),
}

#[derive(Clone, Debug)]
pub(crate) struct JavaStmt {
    pub kind: JavaStmtKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum JavaStmtKind {
    Empty,
    Local {
        ty: JavaType,
        name: String,
        name_span: Span,
        value: Option<JavaExpr>,
    },
    /// Declarators of one statement: no scope of their own.
    Several(Vec<JavaStmt>),
    Expr(JavaExpr),
    Block(Vec<JavaStmt>),
    If(JavaExpr, Box<JavaStmt>, Option<Box<JavaStmt>>),
    While(JavaExpr, Box<JavaStmt>),
    DoWhile(Box<JavaStmt>, JavaExpr),
    For {
        init: Vec<JavaStmt>,
        condition: Option<JavaExpr>,
        update: Vec<JavaExpr>,
        body: Box<JavaStmt>,
    },
    ForEach {
        ty: JavaType,
        name: String,
        name_span: Span,
        over: JavaExpr,
        body: Box<JavaStmt>,
    },
    Labeled(String, Box<JavaStmt>),
    Break(Option<String>),
    Continue(Option<String>),
    Return(Option<JavaExpr>),
    Throw(JavaExpr),
    Assert(JavaExpr, Option<JavaExpr>),
    Synchronized(JavaExpr, Vec<JavaStmt>),
    Try {
        body: Vec<JavaStmt>,
        catches: Vec<CatchClause>,
        finally: Option<Vec<JavaStmt>>,
    },
    Switch {
        on: JavaExpr,
        cases: Vec<SwitchCase>,
    },
    /// `this(..)` or `super(..)` in a constructor.
    Construct {
        of_super: bool,
        args: Vec<JavaExpr>,
    },
    /// `yield` of a `switch` that is a value.
    Yield(JavaExpr),
    /// A class in a body, with the classes inside it.
    LocalClass(Vec<JavaClass>),
    Unknown(String),
}

#[derive(Clone, Debug)]
pub(crate) struct CatchClause {
    pub types: Vec<JavaType>,
    pub name: String,
    pub body: Vec<JavaStmt>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct SwitchCase {
    pub labels: Vec<JavaExpr>,
    pub is_default: bool,
    pub body: Vec<JavaStmt>,
    /// `->`: never goes on to the next case.
    pub is_rule: bool,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct JavaExpr {
    pub kind: JavaExprKind,
    pub span: Span,
}

impl JavaExpr {
    /// Whether its value is an object or array that nothing else refers to yet.
    pub(crate) fn is_new_object(&self) -> bool {
        matches!(self.kind, JavaExprKind::New { .. } | JavaExprKind::NewArray { .. } | JavaExprKind::ArrayValues(_))
    }
}

#[derive(Clone, Debug)]
pub(crate) enum JavaExprKind {
    Bool(bool),
    Int(i128),
    Long(i128),
    Char(u16),
    Text(String),
    Null,
    This,
    Super,
    Name(String),
    /// `e.f`, also `Class.f` and `a.length`.
    Field(Box<JavaExpr>, String, Span),
    Index(Box<JavaExpr>, Box<JavaExpr>),
    Unary(UnaryOp, Box<JavaExpr>),
    Binary(BinaryOp, Box<JavaExpr>, Box<JavaExpr>),
    Conditional(Box<[JavaExpr; 3]>),
    /// `a = b`, and `a += b` with its operator.
    Assign(Box<JavaExpr>, Option<BinaryOp>, Box<JavaExpr>),
    /// `++x`, `x--`: the difference, and whether the value is that after the change.
    Step {
        place: Box<JavaExpr>,
        by: i128,
        prefix: bool,
    },
    Call {
        object: Option<Box<JavaExpr>>,
        name: String,
        name_span: Span,
        args: Vec<JavaExpr>,
    },
    New {
        ty: JavaType,
        args: Vec<JavaExpr>,
        body: Option<Box<JavaClass>>,
    },
    NewArray {
        element: JavaType,
        sizes: Vec<JavaExpr>,
        open: usize,
        values: Option<Vec<JavaExpr>>,
    },
    /// `{1, 2}` as an initial value.
    ArrayValues(Vec<JavaExpr>),
    Cast(JavaType, Box<JavaExpr>),
    InstanceOf(Box<JavaExpr>, JavaType),
    Lambda {
        params: Vec<String>,
        body: Vec<JavaStmt>,
        is_expression: bool,
    },
    MethodReference(Box<JavaExpr>, String),
    ClassLiteral(String),
    /// `switch` as a value: the statement, whose cases yield.
    Switch(Box<JavaStmt>),
    Unknown(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnaryOp {
    Not,
    Negate,
    Plus,
    Complement,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BinaryOp {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    ShiftLeft,
    ShiftRight,
    ShiftRightUnsigned,
    BitAnd,
    BitOr,
    BitXor,
    And,
    Or,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl BinaryOp {
    pub(crate) fn read(text: &str) -> Option<Self> {
        Some(match text {
            "+" => Self::Add,
            "-" => Self::Subtract,
            "*" => Self::Multiply,
            "/" => Self::Divide,
            "%" => Self::Remainder,
            "<<" => Self::ShiftLeft,
            ">>" => Self::ShiftRight,
            ">>>" => Self::ShiftRightUnsigned,
            "&" => Self::BitAnd,
            "|" => Self::BitOr,
            "^" => Self::BitXor,
            "&&" => Self::And,
            "||" => Self::Or,
            "==" => Self::Equal,
            "!=" => Self::NotEqual,
            "<" => Self::Less,
            "<=" => Self::LessEqual,
            ">" => Self::Greater,
            ">=" => Self::GreaterEqual,
            _ => return None,
        })
    }
}

/// Calls a function on every expression below a statement, outermost first; bodies of lambdas and anonymous classes too.
pub(crate) fn expressions<'a>(stmts: &'a [JavaStmt], visit: &mut dyn FnMut(&'a JavaExpr)) {
    stmts.iter().for_each(|s| in_stmt(s, visit));
}

fn in_stmt<'a>(stmt: &'a JavaStmt, visit: &mut dyn FnMut(&'a JavaExpr)) {
    match &stmt.kind {
        JavaStmtKind::Local { value, .. } => value.iter().for_each(|e| in_expr(e, visit)),
        JavaStmtKind::Several(stmts) | JavaStmtKind::Block(stmts) => expressions(stmts, visit),
        JavaStmtKind::Expr(e) | JavaStmtKind::Throw(e) | JavaStmtKind::Yield(e) => in_expr(e, visit),
        JavaStmtKind::LocalClass(classes) => classes.iter().for_each(|c| in_class(c, visit)),
        JavaStmtKind::If(c, yes, no) => {
            in_expr(c, visit);
            in_stmt(yes, visit);
            no.iter().for_each(|s| in_stmt(s, visit));
        }
        JavaStmtKind::While(c, body) | JavaStmtKind::DoWhile(body, c) => {
            in_expr(c, visit);
            in_stmt(body, visit);
        }
        JavaStmtKind::For { init, condition, update, body } => {
            expressions(init, visit);
            condition.iter().chain(update).for_each(|e| in_expr(e, visit));
            in_stmt(body, visit);
        }
        JavaStmtKind::ForEach { over, body, .. } => {
            in_expr(over, visit);
            in_stmt(body, visit);
        }
        JavaStmtKind::Labeled(_, body) => in_stmt(body, visit),
        JavaStmtKind::Return(value) => value.iter().for_each(|e| in_expr(e, visit)),
        JavaStmtKind::Assert(c, message) => {
            in_expr(c, visit);
            message.iter().for_each(|e| in_expr(e, visit));
        }
        JavaStmtKind::Synchronized(e, body) => {
            in_expr(e, visit);
            expressions(body, visit);
        }
        JavaStmtKind::Try { body, catches, finally } => {
            expressions(body, visit);
            catches.iter().for_each(|c| expressions(&c.body, visit));
            finally.iter().for_each(|b| expressions(b, visit));
        }
        JavaStmtKind::Switch { on, cases } => {
            in_expr(on, visit);
            for case in cases {
                case.labels.iter().for_each(|e| in_expr(e, visit));
                expressions(&case.body, visit);
            }
        }
        JavaStmtKind::Construct { args, .. } => args.iter().for_each(|e| in_expr(e, visit)),
        JavaStmtKind::Empty | JavaStmtKind::Break(_) | JavaStmtKind::Continue(_) | JavaStmtKind::Unknown(_) => {}
    }
}

pub(crate) fn in_expr<'a>(expr: &'a JavaExpr, visit: &mut dyn FnMut(&'a JavaExpr)) {
    visit(expr);
    match &expr.kind {
        JavaExprKind::Field(e, ..)
        | JavaExprKind::Unary(_, e)
        | JavaExprKind::Step { place: e, .. }
        | JavaExprKind::Cast(_, e)
        | JavaExprKind::InstanceOf(e, _)
        | JavaExprKind::MethodReference(e, _) => in_expr(e, visit),
        JavaExprKind::Index(a, b) | JavaExprKind::Binary(_, a, b) | JavaExprKind::Assign(a, _, b) => {
            in_expr(a, visit);
            in_expr(b, visit);
        }
        JavaExprKind::Conditional(parts) => parts.iter().for_each(|e| in_expr(e, visit)),
        JavaExprKind::Call { object, args, .. } => {
            object.iter().for_each(|e| in_expr(e, visit));
            args.iter().for_each(|e| in_expr(e, visit));
        }
        JavaExprKind::New { args, body, .. } => {
            args.iter().for_each(|e| in_expr(e, visit));
            if let Some(class) = body {
                in_class(class, visit);
            }
        }
        JavaExprKind::NewArray { sizes, values, .. } => {
            sizes.iter().chain(values.iter().flatten()).for_each(|e| in_expr(e, visit));
        }
        JavaExprKind::ArrayValues(values) => values.iter().for_each(|e| in_expr(e, visit)),
        JavaExprKind::Lambda { body, .. } => expressions(body, visit),
        JavaExprKind::Switch(stmt) => in_stmt(stmt, visit),
        _ => {}
    }
}

/// Calls a function on every expression of a class's own members.
pub(crate) fn in_class<'a>(class: &'a JavaClass, visit: &mut dyn FnMut(&'a JavaExpr)) {
    class.fields.iter().filter_map(|f| f.value.as_ref()).for_each(|e| in_expr(e, visit));
    class.initializers.iter().for_each(|i| expressions(&i.body, visit));
    class.methods.iter().filter_map(|m| m.body.as_ref()).for_each(|b| expressions(b, visit));
}

/// Calls a function on every statement, outermost first; bodies of lambdas and anonymous classes too.
pub(crate) fn statements<'a>(stmts: &'a [JavaStmt], visit: &mut dyn FnMut(&'a JavaStmt)) {
    for stmt in stmts {
        visit(stmt);
        match &stmt.kind {
            JavaStmtKind::Several(inner) | JavaStmtKind::Block(inner) | JavaStmtKind::Synchronized(_, inner) => {
                statements(inner, visit)
            }
            JavaStmtKind::If(_, yes, no) => {
                statements(std::slice::from_ref(yes), visit);
                no.iter().for_each(|s| statements(std::slice::from_ref(s), visit));
            }
            JavaStmtKind::While(_, body)
            | JavaStmtKind::DoWhile(body, _)
            | JavaStmtKind::ForEach { body, .. }
            | JavaStmtKind::Labeled(_, body) => statements(std::slice::from_ref(body), visit),
            JavaStmtKind::For { init, body, .. } => {
                statements(init, visit);
                statements(std::slice::from_ref(body), visit);
            }
            JavaStmtKind::Try { body, catches, finally } => {
                statements(body, visit);
                catches.iter().for_each(|c| statements(&c.body, visit));
                finally.iter().for_each(|b| statements(b, visit));
            }
            JavaStmtKind::Switch { cases, .. } => cases.iter().for_each(|c| statements(&c.body, visit)),
            _ => {}
        }
    }
    // What stands in expressions: each lambda and anonymous class is met once, at the outermost list.
}

/// Marks the static fields that hold one new object for ever, as `final` would: nothing in the files assigns a field or variable of that name.
pub(crate) fn mark_effectively_final(unit: &mut JavaUnit) {
    let mut assigned = std::collections::BTreeSet::new();
    for class in &unit.classes {
        in_class(class, &mut |e| {
            if let JavaExprKind::Assign(place, ..) | JavaExprKind::Step { place, .. } = &e.kind
                && let JavaExprKind::Name(name) | JavaExprKind::Field(_, name, _) = &place.kind
            {
                assigned.insert(name.clone());
            }
        });
    }
    for field in unit.classes.iter_mut().flat_map(|c| &mut c.fields) {
        let made = field.value.as_ref().is_some_and(JavaExpr::is_new_object);
        let steady = field.modifiers.is_static && made && !assigned.contains(&field.name);
        field.modifiers.is_final |= steady && !field.modifiers.is_volatile;
    }
}

/// Whether some thread is interrupted by another one.
pub(crate) fn interrupts(unit: &JavaUnit) -> bool {
    let mut found = false;
    for class in unit.classes.iter().filter(|c| !c.surroundings.is_library) {
        in_class(class, &mut |e| {
            if let JavaExprKind::Call { object, name, args, .. } = &e.kind {
                let by_itself = object.as_ref().is_some_and(|o| is_current_thread(o));
                found |= name == "interrupt" && args.is_empty() && !by_itself;
            }
        });
    }
    found
}

/// `Thread.currentThread()`.
pub(crate) fn is_current_thread(e: &JavaExpr) -> bool {
    matches!(&e.kind, JavaExprKind::Call { object: Some(o), name, .. }
        if name == "currentThread" && matches!(&o.kind, JavaExprKind::Name(n) if n == "Thread"))
}
