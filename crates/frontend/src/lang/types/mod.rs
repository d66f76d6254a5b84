//! Types: sorts of written types, and expressions to terms of a sort.
//!
//! Integer literals take the type that is wanted where they fit it; operands of different integer types are widened
//! to `int`; where a machine integer is wanted an `int` is wrapped. `lock` and `tid` are integers. Every mismatch is
//! reported once; an expression with an error has no term, and nothing more is said about what contains it.
//! In: trees of types and expressions, with the tables of `Typing`. Out: sorts, terms, checks, diagnostics.

mod entry;
mod expr;
mod operators;
mod places;

pub(crate) use places::{AssignTarget, PathIndex};

use crate::lang::ast::{MachineInt, Sign, Type, TypeKind};
use crate::lang::codes;
use crate::lang::resolve::{Globals, NameView, TypeName, foreign_word, nearest};
use base::{Diagnostic, Sources, Span};
use logic::{ClassId, MachineIntSort, Op, Sort, SortKind, Term};
use program::{OriginId, Program, Scope, VarId, VarKind};
use rustc_hash::{FxHashMap, FxHashSet};

/// Errors that are reported.
const MAX_ERRORS: usize = 100;

/// A condition that code must meet where it computes a value; otherwise it goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckKind {
    Division,
    Null,
    Freed,
    Bounds,
    /// The access predicate of a variable.
    Access(program::VarId),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ValueCheck {
    pub kind: CheckKind,
    pub span: Span,
    pub formula: Term,
}

/// Under what a part of an expression is evaluated.
#[derive(Clone, Debug)]
pub(crate) enum Under {
    Condition(Term),
    Bound(Vec<logic::Symbol>),
}

pub(crate) fn machine(m: MachineInt) -> MachineIntSort {
    MachineIntSort { bits: m.bits as u8, signed: m.sign == Sign::Signed }
}

/// What expressions are typed in: the program so far, what names stand for, and what is noted on the way.
pub(crate) struct Typing<'a> {
    pub(crate) sources: &'a Sources,
    pub(crate) program: Program,
    pub(crate) globals: Globals<'a>,
    pub(crate) view: NameView,
    /// Checks of the statement at hand.
    pub(crate) noted: Vec<ValueCheck>,
    pub(crate) under: Vec<Under>,
    /// Whether any object is ever freed: then every dereference asks whether the object is alive.
    pub(crate) frees: bool,
    /// Shared variables that stand for constants without a value.
    pub(crate) constants: FxHashSet<VarId>,
    /// For classes with fields that are `thread_local`, the constant that says which thread makes which object.
    pub(crate) owners: FxHashMap<ClassId, VarId>,
    /// Names whose declaration is in error.
    pub(crate) broken: FxHashSet<String>,
    /// How often each name of a variable was taken.
    var_names: FxHashMap<String, u32>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl<'a> Typing<'a> {
    pub(crate) fn new(sources: &'a Sources, program: Program) -> Self {
        Self {
            sources,
            program,
            globals: Globals::default(),
            view: NameView::default(),
            noted: Vec::new(),
            under: Vec::new(),
            frees: false,
            constants: FxHashSet::default(),
            owners: FxHashMap::default(),
            broken: FxHashSet::default(),
            var_names: FxHashMap::default(),
            diagnostics: Vec::new(),
        }
    }

    pub(crate) fn report(&mut self, diagnostic: Diagnostic) {
        // Code that is inlined twice says everything twice.
        let known = self.diagnostics.iter().any(|d| d.span == diagnostic.span && d.code == diagnostic.code);
        if !known && self.diagnostics.len() < MAX_ERRORS {
            self.diagnostics.push(diagnostic);
        }
    }

    /// A new variable whose name is unique in the program.
    pub(crate) fn fresh_var(&mut self, name: &str, sort: Sort, scope: Scope, origin: OriginId) -> VarId {
        let unique = self.unique_name(name);
        self.program.add_var(&unique, sort, scope, VarKind::Plain, None, origin)
    }

    pub(crate) fn unique_name(&mut self, name: &str) -> String {
        let count = self.var_names.entry(name.to_owned()).or_insert(0);
        *count += 1;
        if *count == 1 {
            return name.to_owned();
        }
        let numbered = format!("{name}.{count}");
        self.var_names.entry(numbered.clone()).or_insert(1);
        numbered
    }

    /// The sort of a written type.
    pub(crate) fn sort(&mut self, ty: &Type) -> Option<Sort> {
        Some(match &ty.kind {
            TypeKind::Bool => Sort::BOOL,
            TypeKind::Int | TypeKind::Lock => Sort::INT,
            TypeKind::Machine(m) => Sort::machine(machine(*m)),
            TypeKind::Named(name) => match self.globals.types.get(name) {
                Some(TypeName::Enum(e)) => self.program.terms.sort(SortKind::Enum(e)),
                Some(TypeName::Class(c)) => self.program.terms.sort(SortKind::Ref(c)),
                None => {
                    let mut diagnostic =
                        Diagnostic::error(codes::UNKNOWN_TYPE, ty.span, format!("there is no type `{name}`"))
                            .label("expected a type");
                    let known = ["bool", "int", "lock", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"];
                    if let Some(hint) = foreign_word(name) {
                        diagnostic = diagnostic.hint(hint);
                    } else if let Some(near) = nearest(name, self.globals.types.names().into_iter().chain(known)) {
                        diagnostic = diagnostic.hint(format!("did you mean `{near}`?"));
                    }
                    self.report(diagnostic);
                    return None;
                }
            },
            TypeKind::Map(key, value) => {
                let (key, value) = (self.sort(key), self.sort(value));
                self.program.terms.map_sort(key?, value?)
            }
            TypeKind::Set(inner) => {
                let inner = self.sort(inner)?;
                self.program.terms.sort(SortKind::Set(inner))
            }
            TypeKind::Seq(inner) => {
                let inner = self.sort(inner)?;
                self.program.terms.sort(SortKind::Seq(inner))
            }
            TypeKind::Error => return None,
        })
    }

    pub(crate) fn sort_name(&self, sort: Sort) -> String {
        format!("`{}`", self.program.terms.sort_name(sort))
    }

    /// A term as a value of a sort, converted between integer types.
    pub(crate) fn coerce(&mut self, term: Term, to: Sort, span: Span) -> Option<Term> {
        let from = self.program.terms.sort_of(term);
        if from == to {
            return Some(term);
        }
        if from.is_integer() && to.is_integer() {
            self.warn_of_wrapping(term, to, span);
            return Some(self.cast(term, to));
        }
        let (expected, found) = (self.sort_name(to), self.sort_name(from));
        let mut diagnostic = Diagnostic::error(
            codes::TYPE_MISMATCH,
            span,
            format!("expected a value of type {expected}, found {found}"),
        )
        .label(format!("expected {expected}"));
        if from.is_integer() && to == Sort::BOOL {
            diagnostic = diagnostic.hint("compare it: `e != 0`");
        }
        self.report(diagnostic);
        None
    }

    /// A number that is written where it does not fit means another number, which is seldom meant.
    fn warn_of_wrapping(&mut self, term: Term, to: Sort, span: Span) {
        let (logic::Node::Num(number, _), Some(machine)) = (self.program.terms.node(term), to.as_machine()) else {
            return;
        };
        if (machine.min()..=machine.max()).contains(&number) {
            return;
        }
        let name = self.sort_name(to);
        let logic::Node::Num(wrapped, _) = self.program.terms.node(self.cast(term, to)) else { return };
        let message = format!("{number} does not fit {name}, and wraps to {wrapped}");
        let range = format!("{name} holds {} to {}", machine.min(), machine.max());
        self.report(
            Diagnostic::warning(codes::WRAPPED_NUMBER, span, message).label(format!("is {wrapped}")).hint(range),
        );
    }

    /// An integer as another integer type; numbers are converted at once.
    pub(crate) fn cast(&self, term: Term, to: Sort) -> Term {
        let terms = &self.program.terms;
        match terms.node(term) {
            logic::Node::Num(n, _) => terms.num(n, to),
            _ => terms.cast(term, to),
        }
    }

    /// Notes a condition that the code must meet, under what is known where it is evaluated.
    pub(crate) fn note(&mut self, kind: CheckKind, span: Span, condition: Term) {
        if self.view.checks == crate::lang::resolve::Allowed::No {
            return;
        }
        let terms = &self.program.terms;
        let mut formula = condition;
        for under in self.under.iter().rev() {
            formula = match under {
                Under::Condition(c) => terms.implies(*c, formula),
                Under::Bound(symbols) if terms.free_symbols(formula).iter().any(|s| symbols.contains(s)) => {
                    terms.forall(symbols, formula)
                }
                Under::Bound(_) => formula,
            };
        }
        if terms.is_true(formula) || self.noted.iter().any(|c| c.formula == formula && c.kind == kind) {
            return;
        }
        self.noted.push(ValueCheck { kind, span, formula });
    }

    /// The map, set or sequence that a shared variable of this type starts with, where the type decides it.
    pub(crate) fn natural_start(&self, ty: &Type, sort: Sort) -> Option<Term> {
        let terms = &self.program.terms;
        match &ty.kind {
            TypeKind::Lock => Some(terms.int(0)),
            TypeKind::Set(_) => Some(terms.mk(Op::EmptySet(sort), &[])),
            TypeKind::Seq(_) => Some(terms.mk(Op::EmptySeq(sort), &[])),
            TypeKind::Map(_, value) => {
                let SortKind::Map(_, value_sort) = terms.kind(sort) else { return None };
                let inner = self.natural_start(value, value_sort)?;
                Some(terms.const_map(sort, inner))
            }
            _ => None,
        }
    }
}
