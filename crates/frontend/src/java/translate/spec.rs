//! Classes alone: static methods with annotations, checked for any callers.
//!
//! In: files without a `main` whose comments hold annotations. Out: procedures with `requires`, `ensures` and `performs`, shared variables with access
//! predicates (Calvin-R, figures 1 and 3), and errors with places. In an action a name stands for the state after the step and `\old` for the one before,
//! which the model writes `x'` and `x`. Every annotation belongs to a member or a statement, or is an error.
//! Deliberately absent: annotations of instance members, ghost variables, `modifies`, `\old` in `ensures`.

use super::build::*;
use super::types::Ty;
use super::{JavaClass, JavaMethod, JavaUnit, Translation};
use crate::java::codes;
use crate::java::dialect::{ActionNote, Formula, FormulaKind, Note, NoteKind, Quantity, Steps, read_notes};
use crate::java::tree::{self, JavaExprKind, JavaField};
use crate::lang::ast::{
    self, AccessClause, ActionDecl, Binary, ClauseKind, Expr, ExprKind, Param, PerformsKind, Prime, QuantifierWord,
    SourceSpan, Spanned,
};
use base::{Diagnostic, Span};
use std::collections::BTreeSet;

/// The annotations of the files, each with the place in the text, and which of them were used.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes {
    all: Vec<Note>,
    used: BTreeSet<usize>,
    pub errors: Vec<Diagnostic>,
}

/// Which state a plain name stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    /// The one state there is.
    Now,
    /// Of an action: the state after it.
    After,
    /// Inside `\old`.
    Before,
}

impl Notes {
    pub(super) fn new(unit: &JavaUnit) -> Self {
        let mut out = Self::default();
        for comment in &unit.comments {
            match read_notes(&comment.text, comment.span) {
                Ok(notes) => out.all.extend(notes),
                Err(wrong) => {
                    let diagnostic = Diagnostic::error(codes::ANNOTATION, wrong.span, wrong.message);
                    out.errors.push(diagnostic.label("not understood"));
                }
            }
        }
        out.all.sort_by_key(|n| n.span);
        out
    }

    /// The annotations between two places that were not used, which now are.
    fn take(&mut self, file: base::SourceId, from: u32, to: u32) -> Vec<Note> {
        let mut out = Vec::new();
        for (at, note) in self.all.iter().enumerate() {
            let inside = note.span.file == file && note.span.start >= from && note.span.start < to;
            if inside && self.used.insert(at) {
                out.push(note.clone());
            }
        }
        out
    }

    fn unused(&self) -> Vec<Span> {
        self.all.iter().enumerate().filter(|(at, _)| !self.used.contains(at)).map(|(_, n)| n.span).collect()
    }
}

impl<'a> Translation<'a> {
    /// All static methods of all classes.
    pub(super) fn classes_alone(&mut self, unit: &'a JavaUnit) {
        self.alone = true;
        self.notes = Notes::new(unit);
        self.locks = lock_names(unit);
        unit.classes.iter().for_each(|c| self.refuse_what_others_could_do(c));
        for class in &unit.classes {
            for method in class.methods.iter().filter(|m| m.modifiers.is_static && m.body.is_some()) {
                self.want_method(class, method);
            }
        }
        self.translate_queue();
        self.declarations(unit);
        for span in self.notes.unused() {
            let message = "this annotation belongs to nothing that is checked";
            let hint =
                "annotations stand before or inside a static member, before a statement, or at the end of a method";
            self.notes.errors.push(Diagnostic::error(codes::ANNOTATION, span, message).label("not used").hint(hint));
        }
    }

    /// Members that could break what the annotations say, or begin in another state, and are not translated.
    fn refuse_what_others_could_do(&mut self, class: &'a JavaClass) {
        let refused = |what: &str| format!("{what} is not modelled in files without a `main`");
        for method in class.methods.iter().filter(|m| !m.modifiers.is_static && m.body.is_some()) {
            self.wrong_note(method.name_span, refused("an instance method or constructor"));
        }
        for block in &class.initializers {
            self.wrong_note(block.span, refused("an initializer"));
        }
        for (what, span) in &class.unknown {
            self.wrong_note(*span, refused(what));
        }
        self.frame.class = Some(class);
        for field in class.fields.iter().filter(|f| f.modifiers.is_static) {
            let Some(value) = &field.value else { continue };
            let ty = self.field_ty(class, field);
            let plain = match &value.kind {
                JavaExprKind::NewArray { values: None, .. } => {
                    self.is_embedded(class, field) && self.constant_length(class, field).is_some()
                }
                JavaExprKind::New { args, .. } => self.is_embedded(class, field) && args.is_empty(),
                _ => self.constant(value, &ty).is_some(),
            };
            if !plain {
                self.wrong_note(field.name_span, refused("an initial value that is no constant"));
            }
        }
    }

    fn wrong_note(&mut self, span: Span, message: impl Into<String>) {
        self.notes.errors.push(Diagnostic::error(codes::ANNOTATION, span, message).label("not modelled"));
    }

    /// Where the member before a member ends.
    fn behind_member(class: &JavaClass, start: u32) -> u32 {
        let fields = class.fields.iter().map(|f| f.span.end);
        let methods = class.methods.iter().map(|m| m.span.end);
        let blocks = class.initializers.iter().map(|i| i.span.end);
        fields.chain(methods).chain(blocks).filter(|end| *end <= start).max().unwrap_or(class.body.start)
    }

    /// The clauses of a method, from the annotations before it and in its head.
    pub(super) fn clauses(&mut self, class: &'a JavaClass, method: &'a JavaMethod) -> Vec<ast::Clause> {
        if !self.alone {
            return Vec::new();
        }
        let from = Self::behind_member(class, method.span.start);
        let notes = self.notes.take(method.span.file, from, method.body_span.start);
        let mut out = Vec::new();
        for note in notes {
            let span = note.span;
            let kind = match note.kind {
                NoteKind::Requires(f) => self.formula(&f, Names::Now).map(ClauseKind::Requires),
                NoteKind::Ensures(f) => self.formula(&f, Names::Now).map(ClauseKind::Ensures),
                NoteKind::Performs(steps) => self.steps(&steps, span).map(ClauseKind::Performs),
                NoteKind::Helper => continue,
                _ => {
                    self.wrong_note(span, "this annotation has no meaning before a method");
                    None
                }
            };
            out.extend(kind.map(|k| Spanned::new(k, span)));
        }
        out
    }

    fn steps(&mut self, steps: &Steps, span: Span) -> Option<ast::Performs> {
        let kind = match steps {
            Steps::Action(action) => PerformsKind::Action(Box::new(self.action(action)?)),
            Steps::Then(parts) => {
                PerformsKind::Then(parts.iter().map(|p| self.steps(p, span)).collect::<Option<Vec<_>>>()?)
            }
            Steps::Or(parts) => {
                PerformsKind::Or(parts.iter().map(|p| self.steps(p, span)).collect::<Option<Vec<_>>>()?)
            }
            Steps::Repeat(inner) => PerformsKind::Repeat(Box::new(self.steps(inner, span)?)),
        };
        Some(Spanned::new(kind, span))
    }

    fn action(&mut self, action: &ActionNote) -> Option<ActionDecl> {
        let frame = action.places.iter().map(|p| self.formula(p, Names::Before)).collect::<Option<Vec<_>>>()?;
        let formula = self.formula(&action.formula, Names::After)?;
        let label = action.label.as_ref().map(|l| name(l.as_str(), action.span));
        Some(ActionDecl { label, frame, formula, asserting: None, span: SourceSpan(action.span) })
    }

    /// The access predicates of a static field.
    pub(super) fn access(&mut self, class: &'a JavaClass, field: &'a JavaField) -> Vec<AccessClause> {
        if !self.alone {
            return Vec::new();
        }
        self.frame.class = Some(class);
        let from = Self::behind_member(class, field.span.start);
        let notes = self.notes.take(field.span.file, from, field.span.end);
        let mut out = Vec::new();
        for note in notes {
            let span = note.span;
            match note.kind {
                NoteKind::AccessibleIf(binders, f) => {
                    self.bound.clone_from(&binders);
                    let condition = self.formula(&f, Names::Now);
                    self.bound.clear();
                    let binders = binders.iter().map(|b| name(b.as_str(), span)).collect();
                    out.extend(condition.map(|condition| AccessClause::If { binders, condition }));
                }
                NoteKind::GuardedBy(binders, f) => {
                    self.bound.clone_from(&binders);
                    let lock = self.formula(&f, Names::Now);
                    self.bound.clear();
                    let binders = binders.iter().map(|b| name(b.as_str(), span)).collect();
                    let held = |lock: Expr| {
                        let free = equal(lock.clone(), int(0, span), span);
                        or(vec![free, equal(lock, tid(span), span)], span)
                    };
                    out.extend(lock.map(|lock| AccessClause::If { binders, condition: held(lock) }));
                }
                _ => self.wrong_note(span, "this annotation has no meaning at a field"),
            }
        }
        out
    }

    /// Annotations before a statement: witnesses mark the step before, invariants belong to the loop that follows.
    pub(super) fn notes_before(&mut self, file: base::SourceId, to: u32) {
        if !self.alone {
            return;
        }
        let notes = self.notes.take(file, self.frame.notes_from, to);
        self.frame.notes_from = to;
        for note in notes {
            match note.kind {
                NoteKind::Witness(label) => {
                    self.push(ast::StmtKind::Witness(name(label.as_str(), note.span)), note.span);
                }
                NoteKind::LoopInvariant(f) => self.frame.invariants.push(f),
                _ => self.wrong_note(note.span, "this annotation has no meaning before a statement"),
            }
        }
    }

    /// The invariants written before a loop, which may name what its head declares.
    pub(super) fn loop_invariants(&mut self) -> Vec<Expr> {
        let written = std::mem::take(&mut self.frame.invariants);
        written.iter().filter_map(|f| self.formula(f, Names::Now)).collect()
    }

    fn formula(&mut self, f: &Formula, names: Names) -> Option<Expr> {
        let span = f.span;
        let prime = if names == Names::After { Prime::After } else { Prime::Before };
        Some(match &f.kind {
            FormulaKind::Bool(b) => boolean(*b, span),
            FormulaKind::Int(n) => int(*n, span),
            FormulaKind::Null => null(span),
            FormulaKind::Tid => tid(span),
            FormulaKind::Result => var("result", span),
            FormulaKind::Name(text) => {
                if self.bound.contains(text) {
                    return Some(var(text, span));
                }
                if let Some(local) = self.local(text) {
                    return Some(Spanned::new(local.value.kind.clone(), span));
                }
                match self.field_named(text) {
                    Some((class, field)) => return self.field_in_formula(class, field, prime, span),
                    None => {
                        self.wrong_note(span, format!("there is no variable `{text}` here"));
                        return None;
                    }
                }
            }
            FormulaKind::Field(base, text) => {
                if let FormulaKind::Name(class) = &base.kind
                    && let Some(class) = self.classes.get(class)
                    && let Some((class, field)) = self.classes.field(&class.name, text)
                {
                    return self.field_in_formula(class, field, prime, span);
                }
                self.wrong_note(span, "fields of objects are not modelled in annotations yet");
                return None;
            }
            FormulaKind::Index(base, at) => {
                let (base, at) = (self.formula(base, names)?, self.formula(at, names)?);
                index(base, at, span)
            }
            FormulaKind::Old(inner) => {
                if names != Names::After {
                    self.wrong_note(span, "`\\old` stands for the state before an action; here is none");
                    return None;
                }
                self.formula(inner, Names::Before)?
            }
            FormulaKind::Not(inner) => not(self.formula(inner, names)?, span),
            FormulaKind::Negate(inner) => negate(self.formula(inner, names)?, span),
            FormulaKind::Binary(op, a, b) => {
                let (a, b) = (self.formula(a, names)?, self.formula(b, names)?);
                let plain = |op| Spanned::new(ExprKind::Binary(op, Box::new(a.clone()), Box::new(b.clone())), span);
                match *op {
                    "&&" => and(vec![a, b], span),
                    "||" => or(vec![a, b], span),
                    "==>" => plain(Binary::Implies),
                    "<==>" => plain(Binary::Iff),
                    "<=!=>" => not(plain(Binary::Iff), span),
                    "==" => plain(Binary::Equal),
                    "!=" => plain(Binary::NotEqual),
                    "<" => plain(Binary::Less),
                    "<=" => plain(Binary::LessEqual),
                    ">" => plain(Binary::Greater),
                    ">=" => plain(Binary::GreaterEqual),
                    "+" => plain(Binary::Add),
                    "-" => plain(Binary::Subtract),
                    "*" => plain(Binary::Multiply),
                    _ => {
                        self.wrong_note(span, "division is not modelled in annotations");
                        return None;
                    }
                }
            }
            FormulaKind::Quantified(quantity, text, ty, body) => {
                if !matches!(&ty[..], "int" | "long" | "short" | "byte" | "char") {
                    self.wrong_note(span, "quantifiers over other types than integers are not modelled");
                    return None;
                }
                self.bound.push(text.clone());
                let body = self.formula(body, names);
                self.bound.pop();
                let word = if *quantity == Quantity::All { QuantifierWord::Forall } else { QuantifierWord::Exists };
                let ty = Spanned::new(ast::TypeKind::Int, span);
                let binder = Param { name: name(text.as_str(), span), ty };
                Spanned::new(ExprKind::Quantified(word, vec![binder], Box::new(body?)), span)
            }
        })
    }

    fn field_in_formula(
        &mut self,
        class: &'a JavaClass,
        field: &'a JavaField,
        prime: Prime,
        span: Span,
    ) -> Option<Expr> {
        if !field.modifiers.is_static {
            self.wrong_note(span, "instance fields are not modelled in annotations yet");
            return None;
        }
        let ty = self.field_ty(class, field);
        if let Some(value) =
            field.value.as_ref().filter(|_| field.modifiers.is_final).and_then(|v| self.constant(v, &ty))
        {
            return Some(self.constant_value(value, &ty, span));
        }
        let mut text = format!("{}.{}", class.name, field.name);
        if self.is_embedded(class, field) {
            text.push_str(".data");
        } else if matches!(ty, Ty::Array(_)) {
            self.wrong_note(span, "only arrays that a final field holds are modelled in annotations");
            return None;
        }
        Some(Spanned::new(ExprKind::Name(text.into_boxed_str(), prime), span))
    }

    /// `acquire(m)` and `release(m)`, as the paper writes locks.
    pub(super) fn paper_lock(&mut self, method: &str, args: &'a [tree::JavaExpr], span: Span) -> bool {
        let [place] = args else { return false };
        if !self.alone || !matches!(method, "acquire" | "release") {
            return false;
        }
        let Some(super::place::Target::Shared(shared)) = self.target(place) else { return true };
        for (of, condition) in shared.checks.clone() {
            self.push(ast::StmtKind::Check { of, condition }, span);
        }
        let kind = if method == "acquire" {
            ast::StmtKind::Acquire(shared.place.clone())
        } else {
            ast::StmtKind::Release(shared.place.clone())
        };
        self.push(kind, span);
        true
    }

    /// Whether a static field is a lock of the paper.
    pub(super) fn is_paper_lock(&self, field: &JavaField) -> bool {
        self.alone && self.locks.contains(&field.name)
    }
}

/// The names that are acquired or released somewhere.
fn lock_names(unit: &JavaUnit) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for class in &unit.classes {
        tree::in_class(class, &mut |e| {
            let JavaExprKind::Call { object: None, name, args, .. } = &e.kind else { return };
            let [place] = &args[..] else { return };
            if !matches!(&name[..], "acquire" | "release") {
                return;
            }
            let mut place = place;
            while let JavaExprKind::Index(array, _) = &place.kind {
                place = array;
            }
            if let JavaExprKind::Name(n) | JavaExprKind::Field(_, n, _) = &place.kind {
                out.insert(n.clone());
            }
        });
    }
    out
}
