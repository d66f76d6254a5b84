//! Operators of numbers, sets, sequences and maps.
//!
//! In: an operator with its operands. Out: one term, and the checks that it needs (divisors, indexes); nothing after an
//! error.

use super::{CheckKind, Typing, Under};
use crate::lang::ast::{Binary, Expr, ExprKind, Strength, Unary};
use crate::lang::codes;
use crate::lang::resolve::Allowed;
use base::{Diagnostic, Span};
use logic::{Op, Sort, SortKind, Term};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Collection {
    Set,
    Seq,
}

/// Whether the text alone leaves the type of an expression open: a number, `null`, a set or sequence of such.
pub(super) fn is_open(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Int(..) | ExprKind::Null => true,
        ExprKind::Unary(Unary::Negate, operand) => is_open(operand),
        ExprKind::Binary(op, left, right) if op.strength() >= Strength::Add => is_open(left) && is_open(right),
        ExprKind::Set(items) | ExprKind::Seq(items) => items.iter().all(is_open),
        ExprKind::If(parts) => is_open(&parts[1]) && is_open(&parts[2]),
        _ => false,
    }
}

impl Typing<'_> {
    pub(super) fn negate(&mut self, operand: &Expr, wanted: Option<Sort>) -> Option<Term> {
        if let ExprKind::Int(value, _) = operand.kind {
            return Some(self.number(-value, wanted));
        }
        let term = self.infer(operand, wanted)?;
        self.need_integer(term, operand.span, "-")?;
        Some(self.program.terms.mk(Op::Neg, &[term]))
    }

    fn need_integer(&mut self, term: Term, span: Span, op: &str) -> Option<()> {
        let sort = self.program.terms.sort_of(term);
        if sort.is_integer() {
            return Some(());
        }
        let found = self.sort_name(sort);
        let message = format!("`{op}` needs integers, this is a {found}");
        self.report(Diagnostic::error(codes::WRONG_OPERAND, span, message).label("expected an integer"));
        None
    }

    /// Two operands; the one whose type is open follows the other.
    fn operands(&mut self, left: &Expr, right: &Expr, wanted: Option<Sort>) -> Option<(Term, Term)> {
        if is_open(left) && !is_open(right) {
            let right_term = self.infer(right, wanted);
            let sort = right_term.map(|t| self.program.terms.sort_of(t)).or(wanted);
            let left_term = self.infer(left, sort);
            return Some((left_term?, right_term?));
        }
        let left_term = self.infer(left, wanted);
        if left_term.is_none() && is_open(right) {
            return None;
        }
        let sort = left_term.map(|t| self.program.terms.sort_of(t)).or(wanted);
        let right_term = self.infer(right, sort);
        Some((left_term?, right_term?))
    }

    /// Two terms of one sort; different integer types become `int`.
    pub(super) fn alike(&mut self, left: Term, right: Term, span: Span) -> Option<(Term, Term)> {
        let (a, b) = (self.program.terms.sort_of(left), self.program.terms.sort_of(right));
        if a == b {
            return Some((left, right));
        }
        if a.is_integer() && b.is_integer() {
            return Some((self.cast(left, Sort::INT), self.cast(right, Sort::INT)));
        }
        let (expected, found) = (self.sort_name(a), self.sort_name(b));
        let message = format!("the two sides have different types: {expected} and {found}");
        let diagnostic = Diagnostic::error(codes::TYPE_MISMATCH, span, message).label(format!("expected {expected}"));
        self.report(diagnostic);
        None
    }

    pub(super) fn binary(
        &mut self,
        op: Binary,
        left: &Expr,
        right: &Expr,
        wanted: Option<Sort>,
        span: Span,
    ) -> Option<Term> {
        match op {
            Binary::Implies => {
                let a = self.formula(left);
                let depth = self.under.len();
                if let (Some(a), Allowed::Yes) = (a, self.view.checks) {
                    self.under.push(Under::Condition(a));
                }
                let b = self.formula(right);
                self.under.truncate(depth);
                Some(self.program.terms.implies(a?, b?))
            }
            Binary::Iff => {
                let (a, b) = (self.formula(left), self.formula(right));
                Some(self.program.terms.eq(a?, b?))
            }
            Binary::Equal | Binary::NotEqual => {
                let (a, b) = self.operands(left, right, None)?;
                let (a, b) = self.alike(a, b, right.span)?;
                let terms = &self.program.terms;
                Some(if op == Binary::Equal { terms.eq(a, b) } else { terms.ne(a, b) })
            }
            Binary::Less | Binary::LessEqual | Binary::Greater | Binary::GreaterEqual => {
                self.comparison(op, left, right)
            }
            Binary::In => {
                let set = self.infer(right, None)?;
                let SortKind::Set(element) = self.program.terms.kind(self.program.terms.sort_of(set)) else {
                    let found = self.sort_name(self.program.terms.sort_of(set));
                    let message = format!("`in` needs a set on its right, this is a {found}");
                    self.report(Diagnostic::error(codes::WRONG_OPERAND, right.span, message).label("expected a set"));
                    return None;
                };
                let element = self.expr(left, element)?;
                Some(self.program.terms.member(element, set))
            }
            _ => self.arithmetic(op, left, right, wanted, span),
        }
    }

    fn comparison(&mut self, op: Binary, left: &Expr, right: &Expr) -> Option<Term> {
        let (a, b) = self.operands(left, right, None)?;
        let (a, b) = self.alike(a, b, right.span)?;
        let (small, large) = match op {
            Binary::Less | Binary::LessEqual => (a, b),
            _ => (b, a),
        };
        let strict = matches!(op, Binary::Less | Binary::Greater);
        let sort = self.program.terms.sort_of(a);
        if matches!(self.program.terms.kind(sort), SortKind::Set(_)) {
            let terms = &self.program.terms;
            let included = terms.mk(Op::Subset, &[small, large]);
            return Some(if strict { terms.and(&[included, terms.ne(small, large)]) } else { included });
        }
        self.need_integer(a, left.span, op.text())?;
        let terms = &self.program.terms;
        Some(if strict { terms.lt(small, large) } else { terms.le(small, large) })
    }

    fn arithmetic(&mut self, op: Binary, left: &Expr, right: &Expr, wanted: Option<Sort>, span: Span) -> Option<Term> {
        // A wanted type that is no number, set or sequence says nothing about the operands.
        let wanted = wanted
            .filter(|s| s.is_integer() || matches!(self.program.terms.kind(*s), SortKind::Set(_) | SortKind::Seq(_)));
        let (a, b) = self.operands(left, right, wanted)?;
        for (term, at) in [(a, left.span), (b, right.span)] {
            let sort = self.program.terms.sort_of(term);
            let countable = matches!(self.program.terms.kind(sort), SortKind::Set(_) | SortKind::Seq(_));
            if !sort.is_integer() && !countable {
                let found = self.sort_name(sort);
                let message = format!("`{}` cannot be applied to a value of type {found}", op.text());
                self.report(Diagnostic::error(codes::WRONG_OPERAND, at, message).label("expected an integer"));
                return None;
            }
        }
        let (a, b) = self.alike(a, b, right.span)?;
        let sort = self.program.terms.sort_of(a);
        match (op, self.program.terms.kind(sort)) {
            (Binary::Add, SortKind::Set(_)) => return Some(self.program.terms.mk(Op::Union, &[a, b])),
            (Binary::Subtract, SortKind::Set(_)) => return Some(self.program.terms.mk(Op::Minus, &[a, b])),
            (Binary::Add, SortKind::Seq(_)) => return Some(self.program.terms.mk(Op::Concat, &[a, b])),
            _ => {}
        }
        if !sort.is_integer() {
            let found = self.sort_name(sort);
            let needs = match op {
                Binary::Add => "integers, sets or sequences",
                Binary::Subtract => "integers or sets",
                _ => "integers",
            };
            let message = format!("`{}` needs {needs}, these are of type {found}", op.text());
            self.report(Diagnostic::error(codes::WRONG_OPERAND, span, message).label(format!("expected {needs}")));
            return None;
        }
        let op = match op {
            Binary::Add => Op::Add,
            Binary::Subtract => Op::Sub,
            Binary::Multiply => Op::Mul,
            Binary::Divide => Op::Div,
            _ => Op::Mod,
        };
        if matches!(op, Op::Div | Op::Mod) {
            let zero = self.program.terms.num(0, sort);
            let certain = matches!(self.program.terms.node(b), logic::Node::Num(n, _) if n != 0);
            if !certain {
                let condition = self.program.terms.ne(b, zero);
                self.note(CheckKind::Division, span, condition);
            }
        }
        Some(self.program.terms.mk(op, &[a, b]))
    }

    pub(super) fn map_update(&mut self, parts: &[Expr; 3], wanted: Option<Sort>) -> Option<Term> {
        let map = self.infer(&parts[0], wanted)?;
        match self.program.terms.kind(self.program.terms.sort_of(map)) {
            SortKind::Map(key, value) => {
                let (key, value) = (self.expr(&parts[1], key), self.expr(&parts[2], value));
                Some(self.program.terms.store(map, key?, value?))
            }
            SortKind::Seq(element) => {
                let (index, value) = (self.expr(&parts[1], Sort::INT), self.expr(&parts[2], element));
                let (index, value) = (index?, value?);
                self.note_inside(map, index, parts[1].span);
                Some(self.replaced(map, index, value))
            }
            _ => {
                let found = self.sort_name(self.program.terms.sort_of(map));
                let message = format!("a value of type {found} has no entries");
                let label = "expected a map or a sequence";
                self.report(Diagnostic::error(codes::NOT_INDEXABLE, parts[0].span, message).label(label));
                None
            }
        }
    }

    /// Notes that an index is inside a sequence.
    pub(super) fn note_inside(&mut self, sequence: Term, index: Term, span: Span) {
        let terms = &self.program.terms;
        let length = terms.mk(Op::Len, &[sequence]);
        let inside = terms.and(&[terms.le(terms.int(0), index), terms.lt(index, length)]);
        self.note(CheckKind::Bounds, span, inside);
    }

    /// A sequence with one element replaced.
    pub(super) fn replaced(&self, sequence: Term, index: Term, value: Term) -> Term {
        let terms = &self.program.terms;
        let length = terms.mk(Op::Len, &[sequence]);
        let before = terms.mk(Op::Slice, &[sequence, terms.int(0), index]);
        let behind = terms.mk(Op::Slice, &[sequence, terms.add(index, terms.int(1)), length]);
        let front = terms.mk(Op::Concat, &[before, terms.mk(Op::Unit, &[value])]);
        terms.mk(Op::Concat, &[front, behind])
    }

    pub(super) fn slice(
        &mut self,
        base: &Expr,
        from: Option<&Expr>,
        to: Option<&Expr>,
        wanted: Option<Sort>,
        span: Span,
    ) -> Option<Term> {
        let sequence = self.infer(base, wanted)?;
        let sort = self.program.terms.sort_of(sequence);
        if !matches!(self.program.terms.kind(sort), SortKind::Seq(_)) {
            let found = self.sort_name(sort);
            let message = format!("only a sequence has parts, this is a {found}");
            self.report(Diagnostic::error(codes::NOT_INDEXABLE, base.span, message).label("expected a sequence"));
            return None;
        }
        let length = self.program.terms.mk(Op::Len, &[sequence]);
        let from = match from {
            Some(e) => self.expr(e, Sort::INT),
            None => Some(self.program.terms.int(0)),
        };
        let to = match to {
            Some(e) => self.expr(e, Sort::INT),
            None => Some(length),
        };
        let (from, to) = (from?, to?);
        let terms = &self.program.terms;
        let inside = terms.and(&[terms.le(terms.int(0), from), terms.le(from, to), terms.le(to, length)]);
        let slice = terms.mk(Op::Slice, &[sequence, from, to]);
        self.note(CheckKind::Bounds, span, inside);
        Some(slice)
    }

    pub(super) fn length(&mut self, args: &[Expr], span: Span) -> Option<Term> {
        let [only] = args else {
            let message = format!("`len` has one argument, here are {}", args.len());
            self.report(Diagnostic::error(codes::WRONG_COUNT, span, message).label("expected `len(q)`"));
            return None;
        };
        let sequence = self.infer(only, None)?;
        let sort = self.program.terms.sort_of(sequence);
        if !matches!(self.program.terms.kind(sort), SortKind::Seq(_)) {
            let found = self.sort_name(sort);
            let message = format!("`len` needs a sequence, this is a {found}");
            self.report(Diagnostic::error(codes::WRONG_OPERAND, only.span, message).label("expected a sequence"));
            return None;
        }
        Some(self.program.terms.mk(Op::Len, &[sequence]))
    }

    /// `{a, b}` or `[a, b]`.
    pub(super) fn collection(
        &mut self,
        items: &[Expr],
        wanted: Option<Sort>,
        span: Span,
        form: Collection,
    ) -> Option<Term> {
        let wanted_element = wanted.and_then(|s| match (self.program.terms.kind(s), form) {
            (SortKind::Set(e), Collection::Set) | (SortKind::Seq(e), Collection::Seq) => Some(e),
            _ => None,
        });
        let mut element = wanted_element;
        if element.is_none() {
            let first = items.iter().find(|i| !is_open(i)).or(items.first());
            let Some(first) = first else {
                return self.unknown_type(span, if form == Collection::Set { "{}" } else { "[]" });
            };
            // The element is elaborated again below; only its type is wanted now.
            let quiet = std::mem::replace(&mut self.view.checks, Allowed::No);
            let term = self.infer(first, None);
            self.view.checks = quiet;
            element = Some(self.program.terms.sort_of(term?));
        }
        let element = element?;
        let items: Vec<Option<Term>> = items.iter().map(|i| self.expr(i, element)).collect();
        let items: Option<Vec<Term>> = items.into_iter().collect();
        let items = items?;
        let terms = &self.program.terms;
        Some(match form {
            Collection::Set => {
                let sort = terms.sort(SortKind::Set(element));
                items.iter().fold(terms.mk(Op::EmptySet(sort), &[]), |set, e| terms.mk(Op::Insert, &[*e, set]))
            }
            Collection::Seq => {
                let sort = terms.sort(SortKind::Seq(element));
                let units = items.iter().map(|e| terms.mk(Op::Unit, &[*e]));
                let whole = units.reduce(|front, unit| terms.mk(Op::Concat, &[front, unit]));
                whole.unwrap_or_else(|| terms.mk(Op::EmptySeq(sort), &[]))
            }
        })
    }
}
