//! Places: what an assignment, a `havoc` or a frame names.
//!
//! In: the tree of a place. Out: its variable with the path into it; what stands there, and the whole with something
//! else there.

use super::{CheckKind, Typing};
use crate::lang::ast::{Expr, ExprKind, Prime};
use crate::lang::codes;
use crate::lang::resolve::{Named, nearest};
use base::{Diagnostic, Span};
use logic::{Sort, SortKind, Term};
use program::{TouchMode, VarId};

/// One index on the way from a variable to a place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathIndex {
    Key(Term),
    /// An element of a sequence.
    Element(Term),
}

/// A variable or a part of it that can be changed.
#[derive(Clone, Debug)]
pub(crate) struct AssignTarget {
    pub var: VarId,
    pub path: Vec<PathIndex>,
    pub sort: Sort,
    pub span: Span,
}

impl AssignTarget {
    /// The keys up to the first element of a sequence: what an access predicate is asked for.
    pub(crate) fn keys(&self) -> Vec<Term> {
        self.path.iter().map_while(|p| if let PathIndex::Key(k) = p { Some(*k) } else { None }).collect()
    }
}

impl Typing<'_> {
    /// A place; what is read on the way to it is noted, the place itself is not.
    pub(crate) fn place(&mut self, expr: &Expr) -> Option<AssignTarget> {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Name(name, Prime::Before) => {
                if self.view.bound(name).is_some() {
                    return self.not_a_place(span, name);
                }
                if let Some((class, object)) = self.view.this
                    && let Some(var) = self.globals.fields.get(&class).and_then(|f| f.get(name))
                {
                    let sort = self.entry_sort(self.program.vars[var].sort);
                    return Some(AssignTarget { var, path: vec![PathIndex::Key(object)], sort, span });
                }
                match self.named(name) {
                    Some(Named::Var(var)) if self.constants.contains(&var) => self.not_a_place(span, name),
                    Some(Named::Var(var)) => {
                        Some(AssignTarget { var, path: Vec::new(), sort: self.program.vars[var].sort, span })
                    }
                    Some(Named::Value(_)) => self.not_a_place(span, name),
                    None => {
                        let near = nearest(name, self.visible_names().iter().map(String::as_str)).map(str::to_owned);
                        self.unknown(span, &format!("there is no variable `{name}` here"), near);
                        None
                    }
                }
            }
            ExprKind::Field(base, field, Prime::Before) => {
                if let ExprKind::Name(object, Prime::Before) = &base.kind
                    && self.named(object).is_none()
                    && let Some(object) = self.globals.objects.get(object)
                    && let Some(Named::Var(var)) = self.globals.members[object].values.get(&field.kind)
                {
                    return Some(AssignTarget { var, path: Vec::new(), sort: self.program.vars[var].sort, span });
                }
                let object = self.infer(base, None)?;
                let var = self.field_var(object, field, base.span)?;
                self.note_alive(object, base);
                let sort = self.entry_sort(self.program.vars[var].sort);
                Some(AssignTarget { var, path: vec![PathIndex::Key(object)], sort, span })
            }
            ExprKind::Index(base, key) => {
                let mut target = self.place(base)?;
                match self.program.terms.kind(target.sort) {
                    SortKind::Map(key_sort, value_sort) => {
                        let key = self.expr(key, key_sort)?;
                        target.path.push(PathIndex::Key(key));
                        target.sort = value_sort;
                    }
                    SortKind::Seq(element) => {
                        let index = self.expr(key, Sort::INT)?;
                        let whole = self.read(&target);
                        self.note_inside(whole, index, span);
                        target.path.push(PathIndex::Element(index));
                        target.sort = element;
                    }
                    _ => {
                        let found = self.sort_name(target.sort);
                        let message = format!("a value of type {found} has no entries");
                        let label = "expected a map or a sequence";
                        self.report(Diagnostic::error(codes::NOT_INDEXABLE, base.span, message).label(label));
                        return None;
                    }
                }
                target.span = span;
                Some(target)
            }
            // The parser has said that this is no place.
            _ => None,
        }
    }

    fn not_a_place(&mut self, span: Span, name: &str) -> Option<AssignTarget> {
        let diagnostic = Diagnostic::error(codes::WRONG_THING, span, format!("`{name}` cannot be changed"))
            .label("expected a variable");
        self.report(diagnostic);
        None
    }

    fn entry_sort(&self, map: Sort) -> Sort {
        match self.program.terms.kind(map) {
            SortKind::Map(_, value) => value,
            _ => map,
        }
    }

    /// The value now at a place.
    pub(crate) fn read(&self, target: &AssignTarget) -> Term {
        self.read_in(self.program.now(target.var), &target.path)
    }

    /// The value at a path of a value.
    pub(crate) fn read_in(&self, whole: Term, path: &[PathIndex]) -> Term {
        path.iter().fold(whole, |value, step| match step {
            PathIndex::Key(key) => self.program.terms.select(value, *key),
            PathIndex::Element(index) => self.program.terms.mk(logic::Op::At, &[value, *index]),
        })
    }

    /// A value with the part at a path replaced.
    pub(crate) fn written(&self, whole: Term, path: &[PathIndex], value: Term) -> Term {
        match path.split_first() {
            None => value,
            Some((PathIndex::Key(key), rest)) => {
                let inner = if rest.is_empty() {
                    value
                } else {
                    self.written(self.program.terms.select(whole, *key), rest, value)
                };
                self.program.terms.store(whole, *key, inner)
            }
            Some((PathIndex::Element(index), rest)) => {
                let inner = if rest.is_empty() {
                    value
                } else {
                    self.written(self.program.terms.mk(logic::Op::At, &[whole, *index]), rest, value)
                };
                self.replaced(whole, *index, inner)
            }
        }
    }

    /// Notes that a place is written.
    pub(crate) fn note_write(&mut self, target: &AssignTarget) {
        self.note_access(target.var, &target.keys(), TouchMode::Write, target.span);
    }
}

/// Kept beside the places because it is what a check of theirs is called.
impl CheckKind {
    /// The stable word for the property's name.
    pub(crate) fn word(self) -> &'static str {
        match self {
            CheckKind::Division => "division",
            CheckKind::Null => "null",
            CheckKind::Freed => "freed",
            CheckKind::Bounds => "bounds",
            CheckKind::Access(_) => "access",
        }
    }
}
