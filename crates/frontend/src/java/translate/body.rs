//! The body at hand: scopes, statements made so far, monitors held, and what leaving it early must do.
//!
//! In: pieces of statements, from the other modules. Out: the body of a procedure or thread of the model.

use super::Translation;
use super::build::*;
use super::types::Ty;
use crate::java::dialect::Formula;
use crate::java::tree::{self, JavaClass};
use crate::lang::ast::{self, Checked, Expr, Spanned, Stmt, StmtKind};
use base::Span;
use std::collections::BTreeSet;

/// A value: an expression over locals alone, which no other thread can change.
#[derive(Clone, Debug)]
pub(super) struct Val {
    pub expr: Expr,
    pub ty: Ty,
    pub constant: Option<i128>,
    /// The class of the object, where the expression tells.
    pub exact: Option<String>,
}

impl Val {
    pub(super) fn new(expr: Expr, ty: Ty) -> Self {
        Self { expr, ty, constant: None, exact: None }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Local {
    pub value: Expr,
    pub ty: Ty,
    /// The class of the object it holds, where it is set once by `new`.
    pub exact: Option<String>,
    /// A thread that only this variable knows: the local that holds its id.
    pub thread: Option<OwnThread>,
    /// Its value, where it is known not to change.
    pub constant: Option<i128>,
}

impl Local {
    pub(super) fn new(value: Expr, ty: Ty) -> Self {
        Self { value, ty, exact: None, thread: None, constant: None }
    }
}

/// A monitor that is certainly the same for all who name it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Lock {
    /// Of a class, or of an object that a static final field holds.
    Static(String),
    /// Of the object whose field is accessed, or of the receiver of a call; or of an object that a final field of it holds.
    Own(Option<String>),
}

/// A monitor that the body at hand holds.
#[derive(Clone, Debug)]
pub(super) struct Held {
    /// Its kind, for the question whether a monitor is entered twice.
    pub kind: String,
    /// Which one, as far as it can be named: the variable that holds the object.
    pub lock: Option<Named>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Named {
    Static(String),
    /// A variable that does not change, and a final field of the object it holds.
    Of(String, Option<String>),
}

impl Held {
    /// As seen from an object that a variable holds.
    pub(super) fn seen_from(&self, object: Option<&str>) -> Option<Lock> {
        match self.lock.as_ref()? {
            Named::Static(name) => Some(Lock::Static(name.clone())),
            Named::Of(name, field) if Some(&name[..]) == object => Some(Lock::Own(field.clone())),
            Named::Of(..) => None,
        }
    }
}

/// A thread that only one local knows.
#[derive(Clone, Debug)]
pub(super) struct OwnThread {
    /// The local that holds its id, from `start` on.
    pub id: String,
    pub start: ThreadStart,
}

#[derive(Clone, Debug)]
pub(super) enum ThreadStart {
    Closure(usize),
    /// The `run` of a class, on an object.
    Run(String, Expr),
}

/// What must be done on the way out of a statement.
#[derive(Clone, Debug)]
pub(super) enum Cleanup<'a> {
    Loop(Continue<'a>),
    /// A `switch`, with the block that a `break` leaves; none: its `break`s stand at the end of their case.
    Switch(Option<String>),
    /// A label: the block behind the statement, and the end of the body where it is a loop.
    Label {
        name: String,
        exit: String,
        next: String,
    },
    /// A `try` with handlers: the block that is left to get there, what was thrown, which types are caught.
    Try {
        handler: String,
        thrown: Expr,
        types: Vec<String>,
    },
    Release {
        statements: Vec<Stmt>,
    },
    Finally(&'a [tree::JavaStmt]),
    /// A `switch` that is a value: the block that `yield` leaves, and where the value goes.
    Yield {
        exit: String,
        result: Expr,
        ty: Ty,
    },
}

/// What `continue` does before it goes to the head of the loop.
#[derive(Clone, Debug)]
pub(super) enum Continue<'a> {
    Nothing,
    Update(&'a [tree::JavaExpr]),
    /// Of a `do` loop.
    Test(&'a tree::JavaExpr),
    /// Of a loop over an array: one more.
    Statements(Vec<Stmt>),
}

/// Whether other threads may run now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) enum Phase {
    /// The main thread before it starts others, or after it has joined all.
    Alone,
    #[default]
    Together,
}

#[derive(Debug, Default)]
pub(super) struct Frame<'a> {
    pub proc: String,
    pub class: Option<&'a JavaClass>,
    pub this: Option<(Expr, Ty)>,
    pub scopes: Vec<Vec<(String, Local)>>,
    pub result: Ty,
    pub cleanups: Vec<Cleanup<'a>>,
    pub blocks: Vec<Vec<Stmt>>,
    pub counter: usize,
    pub held: Vec<Held>,
    pub phase: Phase,
    /// In the main method, outside loops and branches.
    pub straight: bool,
    /// Threads of locals that the main method has started and not joined.
    pub running: BTreeSet<String>,
    /// The whole body, for questions such as whether a local is set once.
    pub code: &'a [tree::JavaStmt],
    /// A constructor that gives `this` to nobody: its accesses of `this` meet no others.
    pub constructs: bool,
    pub type_params: Vec<String>,
    /// The types of exceptions that callers catch; then what is thrown is a second result.
    pub caught: Vec<String>,
    /// How often the procedure stands in its own calls.
    pub level: usize,
    /// The end of the body of the loop that comes next, for `continue` with its label.
    pub next_label: Option<String>,
    /// What names a place is kept in locals: what is evaluated next may change them.
    pub keep: bool,
    /// Annotations up to here were used.
    pub notes_from: u32,
    /// Invariants of the loop that comes next.
    pub invariants: Vec<Formula>,
    /// The local that is declared next is not null: where that is said.
    pub non_null: Option<Span>,
    /// The body is one step: its accesses meet no others.
    pub in_step: bool,
}

impl<'a> Frame<'a> {
    pub(super) fn new(proc: &str, class: Option<&'a JavaClass>, code: &'a [tree::JavaStmt]) -> Self {
        Self {
            proc: proc.to_owned(),
            class,
            code,
            scopes: vec![Vec::new()],
            blocks: vec![Vec::new()],
            ..Self::default()
        }
    }
}

impl<'a> Translation<'a> {
    pub(super) fn push(&mut self, kind: StmtKind, span: Span) {
        self.push_stmt(Spanned::new(kind, span));
    }

    pub(super) fn push_stmt(&mut self, stmt: Stmt) {
        self.frame.blocks.last_mut().expect("a body has a block").push(stmt);
    }

    /// The statements that a part of the translation makes, apart.
    pub(super) fn collect(&mut self, part: impl FnOnce(&mut Self)) -> Vec<Stmt> {
        self.frame.blocks.push(Vec::new());
        part(self);
        self.frame.blocks.pop().expect("the block was opened above")
    }

    /// A block of its own for what is declared inside.
    pub(super) fn scoped(&mut self, part: impl FnOnce(&mut Self)) {
        let inner = self.inner_block(part);
        if !inner.is_empty() {
            let span = inner[0].span;
            self.push(StmtKind::Block(block(inner, span)), span);
        }
    }

    /// The statements of a block, with a scope of their own.
    pub(super) fn inner_block(&mut self, part: impl FnOnce(&mut Self)) -> Vec<Stmt> {
        self.frame.scopes.push(Vec::new());
        let inner = self.collect(part);
        self.frame.scopes.pop();
        inner
    }

    /// Part of the code that may run any number of times, or not at all.
    pub(super) fn branch(&mut self, part: impl FnOnce(&mut Self)) -> Vec<Stmt> {
        let straight = std::mem::replace(&mut self.frame.straight, false);
        let inner = self.inner_block(part);
        self.frame.straight = straight;
        inner
    }

    pub(super) fn finish_body(&mut self, span: Span) -> ast::Block {
        let stmts = self.frame.blocks.pop().expect("a body has a block");
        block(stmts, span)
    }

    pub(super) fn declare_local(&mut self, name: &str, local: Local) {
        self.frame.scopes.last_mut().expect("a body has a scope").push((name.to_owned(), local));
    }

    pub(super) fn local(&self, name: &str) -> Option<&Local> {
        let scopes = self.frame.scopes.iter().rev();
        scopes.flat_map(|s| s.iter().rev()).find(|(n, _)| n == name).map(|(_, l)| l)
    }

    pub(super) fn fresh(&mut self, base: &str) -> String {
        self.frame.counter += 1;
        format!("{base}#{}", self.frame.counter)
    }

    /// A new local without a value.
    pub(super) fn open_temp(&mut self, base: &str, ty: &Ty, span: Span) -> Expr {
        let fresh = self.fresh(base);
        let tp = self.tp_type(ty, span);
        self.push(StmtKind::Local { name: name(&fresh, span), ty: tp, value: None }, span);
        var(fresh, span)
    }

    /// A new local that holds a value.
    pub(super) fn bind(&mut self, base: &str, ty: &Ty, value: ast::AssignedValue, span: Span) -> Expr {
        let fresh = self.fresh(base);
        let tp = self.tp_type(ty, span);
        self.push(StmtKind::Local { name: name(&fresh, span), ty: tp, value: Some(value) }, span);
        var(fresh, span)
    }

    pub(super) fn bind_int(&mut self, base: &str, value: ast::AssignedValue, span: Span) -> Expr {
        let fresh = self.fresh(base);
        let tp = Spanned::new(ast::TypeKind::Int, span);
        self.push(StmtKind::Local { name: name(&fresh, span), ty: tp, value: Some(value) }, span);
        var(fresh, span)
    }

    /// A construct outside the model: reaching it makes verdicts unknown.
    pub(super) fn unmodelled(&mut self, what: &str, span: Span) {
        let of = Checked::Unmodelled(what.into());
        self.push(StmtKind::Check { of, condition: boolean(false, span) }, span);
    }

    /// The same, where a value is wanted.
    pub(super) fn unknown(&mut self, what: &str, span: Span) -> Val {
        self.unmodelled(what, span);
        Val::new(boolean(false, span), Ty::Unknown)
    }

    /// A statement that goes wrong where the condition is false; none where a handler catches it, and it is done already.
    pub(super) fn checked(&mut self, of: Checked, condition: Expr, span: Span) -> Option<Stmt> {
        if self.is_off(&of, span) {
            return Some(Spanned::new(StmtKind::Assume(peek(condition, span)), span));
        }
        self.guarded(of, condition, span)
    }

    pub(super) fn check(&mut self, of: Checked, condition: Expr, span: Span) {
        if let Some(stmt) = self.checked(of, condition, span) {
            self.push_stmt(stmt);
        }
    }

    /// An object whose fields are about to be accessed.
    pub(super) fn dereferenced(&mut self, object: Val, span: Span) -> Expr {
        let is_present =
            matches!(&object.expr.kind, ast::ExprKind::Foreign(f) if matches!(**f, ast::Foreign::Present(_)));
        let off = !is_present && self.is_off(&Checked::Null, span);
        if is_present || !(off || self.is_caught(&Checked::Null)) {
            return Spanned::new(object.expr.kind, span);
        }
        let condition = not(equal(object.expr.clone(), null(span), span), span);
        self.check(Checked::Null, condition, span);
        present(object.expr)
    }

    pub(super) fn default_value(&mut self, ty: &Ty, span: Span) -> Expr {
        match ty {
            Ty::Boolean | Ty::Unknown | Ty::Void => boolean(false, span),
            Ty::Int(_) | Ty::Text | Ty::Enum(_) | Ty::Thrown(_) => int(0, span),
            Ty::Boxed(_) => int(super::types::NO_NUMBER, span),
            Ty::Ref(..) | Ty::Array(_) | Ty::Null => null(span),
            Ty::Math | Ty::Lock(_) => int(0, span),
            Ty::Map(_, to) => {
                let value = self.default_value(to, span);
                foreign(ast::Foreign::Everywhere(value), span)
            }
        }
    }
}
