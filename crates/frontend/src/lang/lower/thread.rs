//! Threads.
//!
//! In: the thread declarations of a tree. Out: the program's threads with their code, numbers of copies and parameters.

use super::Lowering;
use super::code::{Builder, CallPolicy, DraftAction, ProcedureFrame};
use super::scan::{self, Joined};
use crate::lang::ast::{self, ClauseKind, SourceTree};
use crate::lang::codes;
use crate::lang::resolve::{Allowed, NameView, nearest};
use base::{Diagnostic, Span};
use program::{
    Action, Code, Copies, Gate, LocId, MachineId, OriginId, PropertyKind, Scope, Start, Thread, ThreadId, Update,
    VarId, What,
};

/// Threads of one declaration at most.
const MAX_COPIES: i128 = 1_000_000;

impl<'a> Lowering<'a> {
    pub(super) fn threads(&mut self, tree: &'a SourceTree) {
        let mut used = vec![false; self.settings.copies.len()];
        let mut names = Vec::new();
        for (thread, span) in scan::threads(tree) {
            for (at, (name, _)) in self.settings.copies.iter().enumerate() {
                used[at] |= **name == *thread.name.kind && thread.params.is_none();
            }
            names.push(&*thread.name.kind);
            self.thread(thread, span);
        }
        for (at, used) in used.into_iter().enumerate() {
            if !used {
                let name = &self.settings.copies[at].0;
                let message = format!("there is no thread `{name}` whose copies could be set");
                let mut diagnostic = Diagnostic::error(codes::BAD_SETTING, Span::new(self.file, 0, 0), message);
                if let Some(near) = nearest(name, names.iter().copied()) {
                    diagnostic = diagnostic.hint(format!("did you mean `{near}`?"));
                }
                self.report(diagnostic);
            }
        }
    }

    fn copies(&mut self, thread: &ast::ThreadDecl) -> Copies {
        let set = self.settings.copies.iter().rev().find(|(n, _)| **n == *thread.name.kind).map(|(_, c)| *c);
        let number = match (&thread.copies, set) {
            _ if thread.params.is_some() => {
                if let ast::CopiesClause::Exactly(e) = &thread.copies {
                    let message = "a thread with parameters has as many instances as are spawned";
                    self.report(Diagnostic::error(codes::BAD_COPIES, e.span, message).label("expected no number"));
                }
                return Copies::Any;
            }
            (_, Some(0)) => {
                let message = format!("`{}` cannot have 0 copies", thread.name.kind);
                let label = "expected at least one";
                self.report(Diagnostic::error(codes::BAD_COPIES, thread.name.span, message).label(label));
                1
            }
            (_, Some(set)) => i128::from(set),
            (ast::CopiesClause::One, None) => 1,
            (ast::CopiesClause::Any, None) => return Copies::Any,
            (ast::CopiesClause::Exactly(e), None) => match self.constant_number(e) {
                Some(n) if (1..=MAX_COPIES).contains(&n) => n,
                Some(n) => {
                    let message = format!("a thread cannot have {n} copies");
                    let label = format!("expected a number from 1 to {MAX_COPIES}");
                    self.report(Diagnostic::error(codes::BAD_COPIES, e.span, message).label(label));
                    1
                }
                None => 1,
            },
        };
        Copies::number(number as u32)
    }

    fn thread(&mut self, thread: &'a ast::ThreadDecl, span: Span) {
        let id = ThreadId(self.program.threads.len() as u32);
        let origin = self.origin(span);
        let copies = self.copies(thread);
        let sorts = self.thread_params.get(id.index()).cloned().flatten().unwrap_or_default();
        let mut params = Vec::new();
        let mut names = Vec::new();
        for (param, sort) in thread.params.iter().flatten().zip(sorts) {
            let origin = self.origin(param.name.span);
            let var = self.fresh_var(&param.name.kind, sort, Scope::Thread(id), origin);
            params.push(var);
            names.push((param.name.kind.to_string(), var));
        }
        let follows = thread.follows.as_ref().and_then(|name| {
            let machine = self.machine_named(name)?;
            let word = format!("follows:{}", thread.name.kind);
            let property = self.property(PropertyKind::Follows(id), &word, name.span);
            Some((MachineId(machine as u32), property))
        });
        let mut everywhere = Vec::new();
        let mut own_invariants = Vec::new();
        for clause in &thread.clauses {
            match &clause.kind {
                ClauseKind::Rely(e) => {
                    // A rely speaks of the shared store only.
                    self.rely(e, clause.span, NameView::default(), Some(id));
                }
                ClauseKind::Invariant(e) => {
                    self.view = NameView { locals: names.clone(), tid: Allowed::Yes, ..NameView::default() };
                    let Some(claimed) = self.wanted_formula(e) else { continue };
                    if let Some(formula) = claimed {
                        let line = self.sources.line_of(clause.span);
                        let name = format!("invariant:{line}");
                        let property = self.property(PropertyKind::Assertion, &name, clause.span);
                        own_invariants.push((Gate { property, formula }, self.origin(clause.span)));
                    }
                    everywhere.push(claimed);
                }
                _ => self.misplaced(clause, "a thread", "it belongs to a procedure"),
            }
        }
        let first = Builder::new(Scope::Thread(id), CallPolicy::Inline);
        let (mut code, b) = self.thread_code(first, thread, &params, &names);
        let (mut locals, known) = b;
        let calls_specified = self.calls_specified(&thread.body, &mut Vec::new());
        let mut outline = None;
        if calls_specified {
            let mut second = Builder::new(Scope::Thread(id), CallPolicy::Keep);
            second.known = known;
            let (mut kept, (more, _)) = self.thread_code(second, thread, &params, &names);
            locals.extend(more.into_iter().filter(|v| !locals.contains(v)).collect::<Vec<_>>());
            for location in kept.locations.iter_mut() {
                location.invariants.extend(everywhere.iter().copied());
            }
            self.claim_everywhere(&mut kept, &own_invariants);
            outline = Some(kept).filter(|c| !c.calls.is_empty());
        }
        for location in code.locations.iter_mut() {
            location.invariants.extend(everywhere.iter().copied());
        }
        self.claim_everywhere(&mut code, &own_invariants);
        let start = if thread.params.is_some() { Start::Spawned } else { Start::Initial };
        self.program.threads.push(Thread {
            name: thread.name.kind.to_string(),
            copies,
            start,
            params,
            locals,
            code,
            outline,
            follows,
            origin,
        });
    }

    /// A thread's own invariants: at every location but the end (and not inside atomic blocks) a step that goes wrong where one
    /// does not hold, whatever the thread waits for there.
    fn claim_everywhere(&self, code: &mut Code, invariants: &[(Gate, OriginId)]) {
        let places: Vec<LocId> = code.locations.ids().collect();
        // Where nothing is left but to let those go on who join, the thread has ended.
        let is_over = |at: &LocId| code.from(*at).any(|(_, a)| a.updates.iter().any(|u| Some(u.var) == self.ended));
        let wanted = |at: &LocId| code.exit != Some(*at) && !code.locations[*at].in_atomic_block && !is_over(at);
        let places: Vec<LocId> = places.into_iter().filter(wanted).collect();
        for at in places {
            for (gate, origin) in invariants {
                let guard = self.program.terms.not(gate.formula);
                let gates = vec![*gate];
                // It never gets anywhere; the end is a place it cannot come back from.
                let to = code.exit.unwrap_or(at);
                code.actions.push(Action { gates, ..Action::plain(at, to, guard, What::Assert, *origin) });
            }
        }
    }

    #[allow(clippy::type_complexity)]
    fn thread_code(
        &mut self,
        mut b: Builder,
        thread: &'a ast::ThreadDecl,
        params: &[VarId],
        names: &[(String, VarId)],
    ) -> (Code, (Vec<VarId>, rustc_hash::FxHashMap<(Vec<Span>, Span, String), VarId>)) {
        self.view = NameView { locals: names.to_vec(), tid: Allowed::Yes, checks: Allowed::Yes, ..NameView::default() };
        let origin = self.origin(thread.body.span);
        let (entry, exit) = (b.location(origin), b.location(origin));
        b.locals.extend(params.iter().copied());
        let results = Vec::new();
        b.frames.push(ProcedureFrame {
            exit,
            results,
            routine: None,
            ensures: Vec::new(),
            instance: Vec::new(),
            loops: 0,
        });
        let end = self.block(&mut b, &thread.body, entry);
        b.merge(end, exit);
        let mut last = exit;
        let joined = self.joined == Joined::Any || thread.params.is_some();
        if let Some(ended) = self.ended.filter(|_| joined) {
            // The last step lets those go on who join.
            last = b.location(origin);
            let terms = &self.program.terms;
            let tid = terms.sym(self.program.tid);
            let value = terms.store(self.program.now(ended), tid, terms.tt());
            let updates = vec![Update { var: ended, value }];
            b.emit(exit, last, DraftAction { updates, ..self.draft(What::Return, origin) });
        }
        self.view = NameView::default();
        let locals = std::mem::take(&mut b.locals);
        let known = std::mem::take(&mut b.known);
        (b.finish(entry, last), (locals, known))
    }

    /// Whether a body calls a procedure with a specification, directly or through others.
    fn calls_specified(&self, block: &ast::Block, seen: &mut Vec<usize>) -> bool {
        let mut found = false;
        let mut further = Vec::new();
        scan::in_block(block, &mut |stmt| {
            let call = match &stmt.kind {
                ast::StmtKind::Call(call) => call,
                ast::StmtKind::Assign { value: ast::AssignedValue::Exprs(e), .. }
                | ast::StmtKind::Local { value: Some(ast::AssignedValue::Exprs(e)), .. } => {
                    match e.first().map(|e| &e.kind) {
                        Some(ast::ExprKind::Call(call)) => call,
                        _ => return,
                    }
                }
                _ => return,
            };
            let routine = match &call.object {
                Some(object) => {
                    let object = self.globals.objects.get(&object.kind);
                    object.and_then(|o| self.globals.members[o].procs.get(&call.name.kind))
                }
                None => self.globals.procs.get(&call.name.kind),
            };
            if let Some(routine) = routine {
                found |= self.globals.routines[routine].has_spec();
                further.push(routine);
            }
        });
        found
            || further.into_iter().any(|routine| {
                if seen.contains(&routine) {
                    return false;
                }
                seen.push(routine);
                self.calls_specified(&self.globals.routines[routine].ast.body, seen)
            })
    }
}
