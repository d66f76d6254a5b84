//! Names: what each one stands for, and what is said about one that stands for nothing.
//!
//! Values, types, threads, procedures, machines and objects have their own name spaces, so that a thread may be called
//! like a machine. Members of an object are visible inside it by their name and outside as `Object.name`.
//! In: declarations, by name. Out: what a name stands for, or where it was declared first. Deliberately absent: scopes
//! of locals, which `lower` keeps as it goes.

mod suggest;

pub(crate) use suggest::{foreign_word, nearest};

use crate::lang::ast;
use base::Span;
use logic::{ClassId, EnumId, Sort, Symbol, Term};
use program::{ProcId, VarId};
use rustc_hash::FxHashMap;

/// What a name of a value stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Named {
    /// A constant or an enum variant: a value known now.
    Value(Term),
    Var(VarId),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum TypeName {
    Enum(EnumId),
    Class(ClassId),
}

/// A procedure or an operation of an object, as it is called.
#[derive(Clone, Debug)]
pub(crate) struct CallableDecl<'a> {
    pub ast: &'a ast::Proc,
    /// Index of the object it belongs to.
    pub object: Option<usize>,
    pub params: Vec<Sort>,
    pub results: Vec<Sort>,
    /// Where it stands in the model; operations of objects have none.
    pub id: Option<ProcId>,
}

impl CallableDecl<'_> {
    /// Whether calls may be kept and understood by the specification.
    pub(crate) fn has_spec(&self) -> bool {
        use ast::ClauseKind::{Ensures, Modifies, Performs, Requires};
        self.ast.form == ast::ProcForm::Plain
            && self.ast.clauses.iter().any(|c| matches!(c.kind, Requires(_) | Ensures(_) | Modifies(_) | Performs(_)))
    }
}

/// A table of names of one kind, with the place of each declaration.
#[derive(Clone, Debug)]
pub(crate) struct NameTable<T> {
    entries: FxHashMap<String, (T, Span)>,
}

impl<T> Default for NameTable<T> {
    fn default() -> Self {
        Self { entries: FxHashMap::default() }
    }
}

impl<T: Copy> NameTable<T> {
    /// Declares a name, or gives the place where it was declared before.
    pub(crate) fn declare(&mut self, name: &ast::Name, what: T) -> Result<(), Span> {
        if let Some((_, first)) = self.entries.get(&*name.kind) {
            return Err(*first);
        }
        self.entries.insert(name.kind.to_string(), (what, name.span));
        Ok(())
    }
    pub(crate) fn get(&self, name: &str) -> Option<T> {
        self.entries.get(name).map(|e| e.0)
    }
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }
    /// All names, sorted: for suggestions.
    pub(crate) fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.entries.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }
}

/// Everything declared at the top level and in objects.
#[derive(Clone, Debug, Default)]
pub(crate) struct Globals<'a> {
    pub values: NameTable<Named>,
    pub types: NameTable<TypeName>,
    /// Index into the threads in order of declaration.
    pub threads: NameTable<usize>,
    /// Index into `routines`.
    pub procs: NameTable<usize>,
    pub machines: NameTable<usize>,
    pub objects: NameTable<usize>,
    pub routines: Vec<CallableDecl<'a>>,
    /// Variables and procedures of each object.
    pub members: Vec<Members>,
    /// Fields of each class.
    pub fields: FxHashMap<ClassId, NameTable<VarId>>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Members {
    pub values: NameTable<Named>,
    pub procs: NameTable<usize>,
}

/// What the names inside a formula or a body may stand for besides the globals.
#[derive(Clone, Debug, Default)]
pub(crate) struct NameView {
    /// Innermost last.
    pub locals: Vec<(String, VarId)>,
    /// Bound by quantifiers and access predicates; innermost last. These hide locals.
    pub bound: Vec<(String, Symbol)>,
    /// The object whose members are visible.
    pub object: Option<usize>,
    /// In an access predicate of a field: the object whose fields are visible by name.
    pub this: Option<(ClassId, Term)>,
    pub(crate) primes: Allowed,
    /// Locals that the step at hand may change: only these have an after.
    pub(crate) framed: Vec<VarId>,
    pub tid: Allowed,
    /// Whether implicit checks and accesses are noted: in code, not in formulas.
    pub checks: Allowed,
    /// The procedure at hand, of which `old` may be said; where its code is put into other code, the locals that remember.
    pub entered: Option<EnteredProcedure>,
    /// What is read is the store at the entry: inside `old(..)`.
    pub at_entry: Allowed,
}

/// A procedure and what `old` means in it.
#[derive(Clone, Debug)]
pub(crate) struct EnteredProcedure {
    pub procedure: ProcId,
    /// In a copy of its code: for each variable the local that holds what it was at the call. `None`: its own code, where
    /// such locals are made as they are needed.
    pub copies: Option<Vec<(VarId, VarId)>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Allowed {
    #[default]
    No,
    Yes,
}

impl NameView {
    pub(crate) fn local(&self, name: &str) -> Option<VarId> {
        self.locals.iter().rev().find(|(n, _)| n == name).map(|(_, v)| *v)
    }
    pub(crate) fn bound(&self, name: &str) -> Option<Symbol> {
        self.bound.iter().rev().find(|(n, _)| n == name).map(|(_, s)| *s)
    }
}
