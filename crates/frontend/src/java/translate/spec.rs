//! Classes with annotations, checked for any callers.
//!
//! In: files whose comments say what callers and other threads may do. Out: procedures with `requires`, `ensures` and `performs`, shared variables and fields with
//! access predicates (Calvin-R, figures 1 and 3), ghost variables, and errors with places. Every annotation belongs to a member or a statement, or is an error.
//! Objects of a thread-local class are their maker's own: a method that gets one requires it, one that returns one ensures it.
//! Deliberately absent: static initializers and `main`, which run before any caller; what they set may have any value, and that is said.

use super::build::*;
use super::formula::Names;
use super::notes::{GhostVar, Notes, Owner, method_index};
use super::types::Ty;
use super::{JavaClass, JavaMethod, JavaUnit, Translation};
use crate::java::codes;
use crate::java::dialect::{Access, ActionNote, Note, NoteKind, Steps};
use crate::java::tree::{self, CONSTRUCTOR, ClassForm, JavaExprKind, JavaField};
use crate::lang::ast::{
    self, AccessClause, ActionDecl, Checked, ClauseKind, Expr, Item, ItemKind, PerformsKind, SourceSpan, Spanned,
};
use base::{Diagnostic, Span};
use std::collections::BTreeSet;

impl<'a> Translation<'a> {
    /// All methods of the files, each for any callers.
    pub(super) fn classes_alone(&mut self, unit: &'a JavaUnit) {
        self.alone = true;
        self.notes = Notes::new(unit);
        self.locks = lock_names(unit);
        self.unite_supertypes(unit);
        for class in &unit.classes {
            self.class_notes(class);
        }
        for class in &unit.classes {
            self.frame = super::body::Frame::new(&class.name, Some(class), &[]);
            for (what, span) in &class.unknown {
                self.wrong_note(*span, format!("{what} is not modelled in annotated classes"));
            }
            for block in &class.initializers {
                if block.is_static {
                    self.notes.pass_over(block.span);
                }
            }
            for method in &class.methods {
                let owner = Owner::Method(class.name.clone(), method_index(class, method));
                let says = self.notes.of(&owner).any(|n| matches!(n.kind, NoteKind::Performs(_)));
                if method.body.is_none() && !(says && class.form == ClassForm::Class) {
                    continue;
                }
                if self.is_entry(unit, class, method) {
                    let proc = self.want_method(class, method);
                    self.entries.insert(proc);
                }
            }
        }
        self.translate_queue();
        for class in &unit.classes {
            for method in &class.methods {
                let key = self.proc_name(class, method);
                if !self.queued.contains(&key) {
                    // Nobody calls it, or it has no body: its annotations are about calls that there are none of.
                    self.notes.pass_over(method.span);
                    let index = method_index(class, method);
                    self.notes.take(&Owner::Method(class.name.clone(), index));
                }
            }
        }
        self.declarations(unit);
        self.declare_ghosts();
        for span in self.notes.unused() {
            let message = "this annotation belongs to nothing that is checked";
            let hint = "annotations stand before or inside a member, before a statement, or at the end of a block";
            self.notes.errors.push(Diagnostic::error(codes::ANNOTATION, span, message).label("not used").hint(hint));
        }
    }

    /// Whether callers from outside may call a method, so that it is checked on its own.
    fn is_entry(&self, unit: &JavaUnit, class: &JavaClass, method: &JavaMethod) -> bool {
        if method.name == "main" && method.modifiers.is_static {
            return false;
        }
        let owner = Owner::Method(class.name.clone(), method_index(class, method));
        let (mut helper, mut specified) = (false, false);
        for note in self.notes.of(&owner) {
            helper |= matches!(note.kind, NoteKind::Helper);
            specified |= !matches!(note.kind, NoteKind::Helper | NoteKind::NonNull);
        }
        if helper {
            return false;
        }
        if method.name == CONSTRUCTOR {
            return specified;
        }
        specified || method.modifiers.is_public || !is_called(unit, &method.name)
    }

    /// Annotations of a class and among its members: ghosts first, since formulas may name them.
    fn class_notes(&mut self, class: &'a JavaClass) {
        self.frame = super::body::Frame::new(&class.name, Some(class), &[]);
        for note in self.notes.take(&Owner::Class(class.name.clone())) {
            match note.kind {
                NoteKind::ThreadLocal => {
                    self.thread_local.insert(class.name.clone());
                }
                _ => self.wrong_note(note.span, "this annotation has no meaning before a class"),
            }
        }
        for note in self.notes.take(&Owner::Among(class.name.clone())) {
            let span = note.span;
            match note.kind {
                NoteKind::Ghost(ghost) => {
                    if let Some(ty) = self.ghost_ty(&ghost.ty, span) {
                        let (class, name) = (class.name.clone(), ghost.name.clone());
                        let is_static = ghost.is_static;
                        self.ghosts.push(GhostVar { class, name, ty, is_static, note: ghost, span });
                    }
                }
                NoteKind::Axiom(f) => self.axioms.push((class.name.clone(), f)),
                NoteKind::Invariant(f) => self.invariants.push((class.name.clone(), f)),
                _ => self.wrong_note(span, "this annotation has no meaning among members"),
            }
        }
    }

    pub(super) fn wrong_note(&mut self, span: Span, message: impl Into<String>) {
        self.notes.errors.push(Diagnostic::error(codes::ANNOTATION, span, message).label("not modelled"));
    }

    /// The clauses of a method, from the annotations before it, in its head and at its parameters.
    pub(super) fn clauses(&mut self, class: &'a JavaClass, method: &'a JavaMethod) -> Vec<ast::Clause> {
        if !self.alone {
            return Vec::new();
        }
        let index = method_index(class, method);
        let mut out = Vec::new();
        let mut modified: Option<(Vec<Expr>, Span)> = None;
        for note in self.notes.take(&Owner::Method(class.name.clone(), index)) {
            let span = note.span;
            let kind = match note.kind {
                NoteKind::Requires(f) => self.formula(&f, Names::Now).map(ClauseKind::Requires),
                NoteKind::Ensures(f) => self.formula(&f, Names::Return).map(ClauseKind::Ensures),
                NoteKind::Performs(steps) => self.steps(&steps, span).map(ClauseKind::Performs),
                NoteKind::Modifies(places) => {
                    let places = places.iter().filter_map(|p| self.formula(p, Names::Before)).collect::<Vec<_>>();
                    modified.get_or_insert((Vec::new(), span)).0.extend(places);
                    None
                }
                NoteKind::NonNull => {
                    let there = not(equal(var("result", span), null(span), span), span);
                    Some(ClauseKind::Ensures(there))
                }
                NoteKind::Helper | NoteKind::ThreadLocal => continue,
                _ => {
                    self.wrong_note(span, "this annotation has no meaning before a method");
                    None
                }
            };
            out.extend(kind.map(|k| Spanned::new(k, span)));
        }
        for (at, param) in method.params.iter().enumerate() {
            for note in self.notes.take(&Owner::Param(class.name.clone(), index, at)) {
                let place = self.local(&param.name).map(|l| l.value.clone());
                match (note.kind, place) {
                    (NoteKind::NonNull, Some(place)) => {
                        let there = not(equal(place, null(note.span), note.span), note.span);
                        out.push(Spanned::new(ClauseKind::Requires(there), note.span));
                    }
                    (NoteKind::ThreadLocal, Some(_)) => {
                        self.own_params.insert((self.frame.proc.clone(), param.name.clone()));
                        let ty = self.local(&param.name).map(|l| l.ty.clone()).unwrap_or_default();
                        if let (Ty::Array(_), Some(heap)) = (&ty, ty.heap_name()) {
                            // All arrays of the type on the heap: those of classes are parts of them.
                            self.own_heaps.insert(heap);
                        }
                    }
                    _ => self.wrong_note(note.span, "this annotation has no meaning at a parameter"),
                }
            }
        }
        if self.entries.contains(&self.frame.proc) {
            self.owned_parameters(method, &mut out);
        }
        if let Some((places, span)) = modified {
            out.push(Spanned::new(ClauseKind::Modifies(places), span));
        }
        out
    }

    /// What a method gets that is of a thread-local class, or said to be thread-local, is its caller's own; so is such a result.
    fn owned_parameters(&mut self, method: &'a JavaMethod, out: &mut Vec<ast::Clause>) {
        let span = method.name_span;
        let mut owned: Vec<(Expr, Ty)> = Vec::new();
        if let Some((this, ty)) = self.frame.this.clone() {
            let there = not(equal(var("this", span), null(span), span), span);
            out.push(Spanned::new(ClauseKind::Requires(there), span));
            owned.push((this, ty));
        }
        for param in &method.params {
            if let Some(local) = self.local(&param.name).cloned() {
                let said = self.own_params.contains(&(self.frame.proc.clone(), param.name.clone()));
                if said || self.is_thread_local(&local.ty) {
                    owned.push((local.value, local.ty));
                }
            }
        }
        for (place, ty) in owned {
            let said = !matches!(&place.kind, ast::ExprKind::Foreign(_));
            if !(said || self.is_thread_local(&ty)) {
                continue;
            }
            let mine = self.is_own(place, span);
            out.push(Spanned::new(ClauseKind::Requires(mine), span));
        }
        let result = self.frame.result.clone();
        if self.is_thread_local(&result) {
            let mine = self.is_own(var("result", span), span);
            out.push(Spanned::new(ClauseKind::Ensures(mine), span));
        }
    }

    fn is_own(&mut self, object: Expr, span: Span) -> Expr {
        own(object, span)
    }

    pub(super) fn is_thread_local(&self, ty: &Ty) -> bool {
        let root = match ty.heap_name() {
            Some(heap) => self.facts.regions.find(&heap),
            None => return false,
        };
        self.thread_local.iter().any(|n| self.facts.regions.find(n) == root)
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
        let frame = action.places.iter().map(|p| self.formula(p, Names::Frame)).collect::<Option<Vec<_>>>()?;
        let mut formula = self.formula(&action.formula, Names::After)?;
        let result = self.frame.result.clone();
        if self.is_thread_local(&result) {
            // Its maker is the thread, whoever uses the method by what it performs.
            let mine = self.is_own(var("result", action.span), action.span);
            formula = and(vec![formula, mine], action.span);
        }
        let label = action.label.as_ref().map(|l| name(l.as_str(), action.span));
        Some(ActionDecl { label, makes: None, frame, formula, asserting: None, span: SourceSpan(action.span) })
    }

    /// The access predicates of a field.
    pub(super) fn access(&mut self, class: &'a JavaClass, found: &'a JavaField) -> Vec<AccessClause> {
        if !self.alone {
            return Vec::new();
        }
        let around = std::mem::take(&mut self.frame);
        self.frame = self.frame_of_access(class, !found.modifiers.is_static, found.name_span);
        let keys = self.keys_of(class, found);
        let notes = self.notes.take(&Owner::Field(class.name.clone(), found.span.start));
        let mut out = Vec::new();
        let of_object = !found.modifiers.is_static;
        let own_class = self.is_thread_local(&Ty::object(&class.name));
        let said = notes.iter().any(|n| matches!(n.kind, NoteKind::ThreadLocal));
        if of_object && (own_class || said) {
            out.push(AccessClause::ThreadLocal);
        } else if of_object && found.modifiers.is_final && notes.is_empty() {
            // Set by who makes the object, then only read.
            let span = found.name_span;
            let this = std::iter::once("this".to_owned());
            let binders: Vec<_> =
                this.chain((0..keys).map(|at| format!("index#{at}"))).map(|b| name(b, span)).collect();
            // Objects have an owner where some field of theirs is one thread's own.
            if keys == 0 && self.has_own_fields(class) {
                let condition = boolean(true, span);
                out.push(AccessClause::Readable { binders: binders.clone(), condition });
                let condition = own(var("this", span), span);
                out.push(AccessClause::Writable { binders, condition });
            }
        }
        for note in notes {
            match note.kind {
                NoteKind::NonNull | NoteKind::ThreadLocal => {}
                NoteKind::AccessibleIf(..) | NoteKind::GuardedBy(..) => {
                    out.extend(self.access_clause(&note, keys));
                }
                _ => self.wrong_note(note.span, "this annotation has no meaning at a field"),
            }
        }
        self.frame = around;
        out
    }

    fn has_own_fields(&self, class: &JavaClass) -> bool {
        class.fields.iter().any(|f| {
            let owner = Owner::Field(class.name.clone(), f.span.start);
            self.notes.of(&owner).any(|n| matches!(n.kind, NoteKind::ThreadLocal))
        })
    }

    /// In the predicate of an instance field, `this` is the object that has it.
    fn frame_of_access(&self, class: &'a JavaClass, of_object: bool, span: Span) -> super::body::Frame<'a> {
        let mut frame = super::body::Frame::new(&class.name, Some(class), &[]);
        if of_object {
            frame.this = Some((present(var("this", span)), Ty::object(&class.name)));
        }
        frame
    }

    /// How many indices an access of a field has.
    fn keys_of(&self, class: &JavaClass, found: &JavaField) -> usize {
        let ty = self.field_ty(class, found);
        match (&ty, self.is_embedded(class, found)) {
            (Ty::Array(inner), true) => 1 + usize::from(matches!(**inner, Ty::Array(_))),
            _ => 0,
        }
    }

    /// A predicate over `this`, where there is one, and as many indices as an access has.
    fn access_clause(&mut self, note: &Note, keys: usize) -> Option<AccessClause> {
        let span = note.span;
        let (of, binders, condition) = match &note.kind {
            NoteKind::AccessibleIf(of, binders, f) => (*of, binders, vec![f]),
            NoteKind::GuardedBy(binders, locks) => (Access::All, binders, locks.iter().collect()),
            _ => return None,
        };
        for binder in binders {
            self.bound.push((binder.clone(), Ty::Math));
        }
        let locked = matches!(note.kind, NoteKind::GuardedBy(..));
        let parts: Option<Vec<Expr>> = condition
            .into_iter()
            .map(|f| if locked { self.held_or_free(f) } else { self.formula(f, Names::Now) })
            .collect();
        self.bound.truncate(self.bound.len() - binders.len());
        let mut parts = parts?;
        let condition = if parts.len() == 1 { parts.remove(0) } else { and(parts, span) };
        if binders.len() > keys {
            self.wrong_note(span, format!("this has {keys} indices, and the annotation names {}", binders.len()));
            return None;
        }
        let this = self.frame.this.as_ref().map(|_| "this".to_owned());
        let unnamed = (binders.len()..keys).map(|at| format!("index#{at}"));
        let all = this.into_iter().chain(binders.iter().cloned()).chain(unnamed);
        let binders = all.map(|b| name(b, span)).collect();
        Some(match of {
            Access::All => AccessClause::If { binders, condition },
            Access::Read => AccessClause::Readable { binders, condition },
            Access::Write => AccessClause::Writable { binders, condition },
        })
    }

    /// Ghost variables that are static, and invariants, which speak of what is static.
    fn declare_ghosts(&mut self) {
        let mut items: Vec<Item> = Vec::new();
        for ghost in self.ghosts.clone().into_iter().filter(|g| g.is_static) {
            let span = ghost.span;
            let class = self.classes.get(&ghost.class);
            self.frame = super::body::Frame::new(&ghost.class, class, &[]);
            let value = self.ghost_first(&ghost);
            let keys = map_depth(&ghost.ty);
            let access = ghost.note.access.iter().filter_map(|n| self.access_clause(n, keys)).collect();
            let ty = self.tp_type(&ghost.ty, span);
            let text = name(format!("{}.{}", ghost.class, ghost.name), span);
            let var =
                ast::VarDecl { name: text, ty, value, access, privacy: ast::Privacy::Seen, span: SourceSpan(span) };
            items.push(Spanned::new(ItemKind::Var(var), span));
        }
        items.append(&mut self.items);
        for (class, f) in self.invariants.clone() {
            self.frame = super::body::Frame::new(&class, self.classes.get(&class), &[]);
            if let Some(formula) = self.formula(&f, Names::Now) {
                items.push(Spanned::new(ItemKind::Invariant(formula), f.span));
            }
        }
        self.items = items;
    }

    /// The first value of a ghost: what is written, or what Java gives to such a variable.
    pub(super) fn ghost_first(&mut self, ghost: &GhostVar) -> Option<Expr> {
        match &ghost.note.value {
            Some(f) => {
                let value = self.formula(f, Names::Now)?;
                Some(match &ghost.ty {
                    Ty::Map(..) => foreign(ast::Foreign::Everywhere(value), ghost.span),
                    _ => value,
                })
            }
            None => Some(self.default_value(&ghost.ty.clone(), ghost.span)),
        }
    }

    /// The access predicates of a ghost field.
    pub(super) fn ghost_access(&mut self, ghost: &GhostVar) -> Vec<AccessClause> {
        let around = std::mem::take(&mut self.frame);
        let Some(class) = self.classes.get(&ghost.class) else { return Vec::new() };
        self.frame = self.frame_of_access(class, true, ghost.span);
        let keys = map_depth(&ghost.ty);
        let access = ghost.note.access.iter().filter_map(|n| self.access_clause(n, keys)).collect();
        self.frame = around;
        access
    }

    /// Annotations before a statement: witnesses mark the step before, invariants belong to the loop that follows.
    pub(super) fn notes_before(&mut self, file: base::SourceId, to: u32) {
        if self.notes.is_empty() {
            return;
        }
        let notes = self.notes.take_between(file, self.frame.notes_from, to);
        self.frame.notes_from = self.frame.notes_from.max(to);
        for note in notes {
            self.note_in_body(note);
        }
    }

    fn note_in_body(&mut self, note: Note) {
        let span = note.span;
        match note.kind {
            NoteKind::Witness(label) => {
                self.push(ast::StmtKind::Witness(name(label.as_str(), span)), span);
            }
            NoteKind::LoopInvariant(f) => self.frame.invariants.push(f),
            NoteKind::Assert(f) => {
                if let Some(e) = self.formula(&f, Names::Now) {
                    // What a formula reads is no access.
                    self.push(ast::StmtKind::Assert(peek(e, span)), span);
                }
            }
            NoteKind::Assume(f) => {
                if let Some(e) = self.formula(&f, Names::Now) {
                    self.assumed.insert(("java-assume", "what `assume` annotations say holds".to_owned()));
                    self.push(ast::StmtKind::Assume(peek(e, span)), span);
                }
            }
            NoteKind::Set(place, value) => {
                let (place, value) = (self.formula(&place, Names::Now), self.formula(&value, Names::Now));
                if let (Some(place), Some(value)) = (place, value) {
                    self.push_ghost(assign(place, value, span));
                }
            }
            NoteKind::Ghost(ghost) => {
                let Some(ty) = self.ghost_ty(&ghost.ty, span) else { return };
                let value = match &ghost.value {
                    Some(f) => self.formula(f, Names::Now),
                    None => Some(self.default_value(&ty, span)),
                };
                let tp = self.tp_type(&ty, span);
                let value = value.map(super::place::as_value);
                self.push(ast::StmtKind::Local { name: name(&ghost.name, span), ty: tp, value }, span);
                self.declare_local(&ghost.name, super::body::Local::new(var(&ghost.name, span), ty));
            }
            // The accesses say whether it holds.
            NoteKind::ThreadLocal => {}
            NoteKind::NonNull => self.frame.non_null = Some(span),
            _ => self.wrong_note(span, "this annotation has no meaning before a statement"),
        }
    }

    /// A ghost variable changes together with the step before it, if that changes something shared: what is seen of ghosts is where the author put them,
    /// and no run of the program depends on it.
    fn push_ghost(&mut self, set: ast::Stmt) {
        let span = set.span;
        let stmts = self.frame.blocks.last_mut().expect("a body has a block");
        let witness = |s: &ast::Stmt| matches!(s.kind, ast::StmtKind::Witness(_));
        let at = stmts.iter().rposition(|s| !witness(s)).filter(|at| changes_shared(&stmts[*at]));
        let Some(at) = at else { return self.push_stmt(set) };
        let before = std::mem::replace(&mut stmts[at], set.clone());
        let mut parts = match before.kind {
            ast::StmtKind::Atomic(block) => block.kind,
            _ => vec![before],
        };
        parts.push(set);
        stmts[at] = step(parts, span);
    }

    /// The invariants written before a loop, which may name what its head declares, and by `\old` the state at the call.
    pub(super) fn loop_invariants(&mut self) -> Vec<Expr> {
        let written = std::mem::take(&mut self.frame.invariants);
        written.iter().filter_map(|f| self.formula(f, Names::Return)).collect()
    }

    /// What axioms and invariants let a method assume at its beginning.
    pub(super) fn assume_axioms(&mut self, span: Span) {
        for (class, f) in self.axioms.clone() {
            let around = std::mem::replace(&mut self.frame.class, self.classes.get(&class));
            let axiom = self.formula(&f, Names::Now);
            self.frame.class = around;
            if let Some(axiom) = axiom {
                self.assumed.insert(("java-axiom", "the axioms that annotations state hold".to_owned()));
                self.push(ast::StmtKind::Assume(peek(axiom, f.span)), span);
            }
        }
    }

    /// Whether a check is off at a line; the verdict says so then.
    pub(super) fn is_off(&mut self, of: &Checked, span: Span) -> bool {
        if self.notes.off.is_empty() {
            return false;
        }
        let names: &[&str] = match of {
            Checked::Null => &["Null", "NonNull"],
            Checked::Bounds => &["Bounds", "IndexNegative", "IndexTooBig", "NegSize"],
            Checked::Language("division") => &["ZeroDiv"],
            Checked::Language("cast") => &["Cast"],
            Checked::Language("throw") => &["Exception"],
            _ => &[],
        };
        let line = self.unit.line(span.file, span.start);
        let Some(off) = self.notes.off.get(&line) else { return false };
        let hit = off.iter().any(|n| n == "all" || names.contains(&&n[..]));
        if hit && !names.is_empty() {
            let text = format!("the checks that `nowarn` names at line {} hold", line.1);
            self.assumed.insert(("java-nowarn", text));
        }
        hit && !names.is_empty()
    }

    /// `acquire(m)` and `release(m)`, as the paper writes locks.
    pub(super) fn paper_lock(&mut self, method: &str, args: &'a [tree::JavaExpr], span: Span) -> bool {
        let [place] = args else { return false };
        if !self.alone || !matches!(method, "acquire" | "release") {
            return false;
        }
        let Some(super::place::Target::Shared(shared)) = self.target(place) else { return true };
        for (of, condition) in shared.checks.clone() {
            self.check(of, condition, span);
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

    /// Whether what a static field begins with is known from its declaration.
    pub(super) fn begins_plainly(&mut self, class: &'a JavaClass, field: &'a JavaField) -> bool {
        let set_later = class.initializers.iter().any(|i| i.is_static && sets(&i.body, &field.name));
        if set_later {
            return false;
        }
        let Some(value) = &field.value else { return true };
        let ty = self.field_ty(class, field);
        match &value.kind {
            JavaExprKind::NewArray { values: None, .. } => {
                self.is_embedded(class, field) && self.constant_length(class, field).is_some()
            }
            JavaExprKind::New { args, .. } => self.is_embedded(class, field) && args.is_empty(),
            JavaExprKind::Null => true,
            _ => self.constant(value, &ty).is_some(),
        }
    }
}

fn map_depth(ty: &Ty) -> usize {
    match ty {
        Ty::Map(_, to) => 1 + map_depth(to),
        _ => 0,
    }
}

/// One step that changes something shared.
fn changes_shared(stmt: &ast::Stmt) -> bool {
    let shared = |place: &Expr| {
        let mut place = place;
        loop {
            match &place.kind {
                ast::ExprKind::Index(base, _) => place = base,
                ast::ExprKind::Field(..) => return true,
                // Statics have the name of their class before theirs.
                ast::ExprKind::Name(n, _) => return n.contains('.'),
                _ => return false,
            }
        }
    };
    match &stmt.kind {
        ast::StmtKind::Acquire(_) | ast::StmtKind::Release(_) => true,
        ast::StmtKind::Assign { targets, .. } => targets.iter().all(shared),
        ast::StmtKind::Atomic(block) => {
            let assigns = |s: &ast::Stmt| matches!(s.kind, ast::StmtKind::Assign { .. }) && changes_shared(s);
            let check = |s: &ast::Stmt| matches!(s.kind, ast::StmtKind::Check { .. });
            block.kind.iter().all(|s| check(s) || assigns(s)) && block.kind.last().is_some_and(assigns)
        }
        _ => false,
    }
}

/// Whether some code of the files calls a method of this name.
fn is_called(unit: &JavaUnit, text: &str) -> bool {
    let mut found = false;
    for class in &unit.classes {
        tree::in_class(class, &mut |e| {
            found |= matches!(&e.kind, JavaExprKind::Call { name, .. } if name == text);
        });
    }
    found
}

fn sets(body: &[tree::JavaStmt], text: &str) -> bool {
    let mut found = false;
    tree::expressions(body, &mut |e| {
        if let JavaExprKind::Assign(place, ..) | JavaExprKind::Step { place, .. } = &e.kind {
            let mut place = place;
            while let JavaExprKind::Index(array, _) = &place.kind {
                place = array;
            }
            found |= matches!(&place.kind, JavaExprKind::Name(n) | JavaExprKind::Field(_, n, _) if n == text);
        }
    });
    found
}

/// The names that are acquired or released somewhere.
fn lock_names(unit: &JavaUnit) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    let declared = |text: &str| unit.classes.iter().flat_map(|c| &c.methods).any(|m| m.name == text);
    for class in unit.classes.iter().filter(|c| c.form != ClassForm::Other) {
        tree::in_class(class, &mut |e| {
            let JavaExprKind::Call { object: None, name, args, .. } = &e.kind else { return };
            let [place] = &args[..] else { return };
            if !matches!(&name[..], "acquire" | "release") || declared(name) {
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
