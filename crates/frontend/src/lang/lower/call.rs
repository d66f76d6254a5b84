//! Calls: inlined, or kept where the callee has a specification and the code is to keep them.
//!
//! An inlined call is: a step that passes the arguments (none where there is nothing to pass or to check), the body
//! with its own variables, and a step that hands the results to their places. `requires` is a gate of the first step,
//! `ensures` of the return. The places are worked out by the last step, as in an assignment of the results: what finding
//! them needs (an object that is there, an index inside its bounds, a divisor, an access) is checked by that step.
//! In: a call and the places of its results. Out: its actions in the builder, and where control goes on.

use super::Lowering;
use super::code::{Builder, CallPolicy, DraftAction, ProcedureFrame};
use super::scan;
use crate::lang::ast::{CallExpr, Expr};
use crate::lang::codes;
use crate::lang::resolve::{EnteredProcedure, NameView, foreign_word, nearest};
use crate::lang::types::{AssignTarget, ValueCheck};
use base::{Diagnostic, Span};
use logic::{Sort, Term};
use program::{Gate, LocId, PropertyKind, ThreadId, Update, VarId, What};

/// Calls inside calls that are inlined at most.
const DEEPEST_CALL: usize = 64;

/// What goes into a call and out of it.
struct CallPassing {
    args: Vec<Term>,
    /// What computing the arguments needs.
    gates: Vec<Gate>,
    targets: Option<Vec<AssignTarget>>,
    /// What finding the targets needs; asked where the results are handed over.
    target_checks: Vec<ValueCheck>,
}

impl Lowering<'_> {
    pub(super) fn is_len(&self, call: &CallExpr) -> bool {
        call.object.is_none() && &*call.name.kind == "len" && !self.globals.procs.contains("len")
    }

    /// The routine a call names.
    fn callee(&mut self, call: &CallExpr) -> Option<usize> {
        let name = &call.name;
        if let Some(object) = &call.object {
            let Some(id) = self.globals.objects.get(&object.kind) else {
                let near = nearest(&object.kind, self.globals.objects.names()).map(str::to_owned);
                self.no_callee(object.span, &format!("there is no object `{}`", object.kind), near);
                return None;
            };
            let found = self.globals.members[id].procs.get(&name.kind);
            if found.is_none() {
                let near = nearest(&name.kind, self.globals.members[id].procs.names()).map(str::to_owned);
                self.no_callee(name.span, &format!("`{}` has no operation `{}`", object.kind, name.kind), near);
            }
            return found;
        }
        let member = self.view.object.and_then(|o| self.globals.members[o].procs.get(&name.kind));
        if let Some(found) = member.or_else(|| self.globals.procs.get(&name.kind)) {
            return Some(found);
        }
        let mut names = self.globals.procs.names();
        if let Some(object) = self.view.object {
            names.extend(self.globals.members[object].procs.names());
        }
        let near = nearest(&name.kind, names).map(str::to_owned);
        self.no_callee(name.span, &format!("there is no procedure `{}`", name.kind), near);
        None
    }

    fn no_callee(&mut self, span: Span, message: &str, near: Option<String>) {
        let mut diagnostic = Diagnostic::error(codes::UNKNOWN_CALLEE, span, message).label("not declared");
        let foreign = message.split('`').nth(1).and_then(foreign_word).map(str::to_string);
        if let Some(hint) = near.map(|near| format!("did you mean `{near}`?")).or(foreign) {
            diagnostic = diagnostic.hint(hint);
        }
        self.report(diagnostic);
    }

    fn arguments(&mut self, call: &CallExpr, params: &[Sort]) -> Option<Vec<Term>> {
        if call.args.len() != params.len() {
            let (message, label) = wrong_count(&call.name.kind, params.len(), call.args.len());
            self.report(Diagnostic::error(codes::WRONG_COUNT, call.span.0, message).label(label));
            return None;
        }
        let args: Vec<Option<Term>> = call.args.iter().zip(params).map(|(a, p)| self.expr(a, *p)).collect();
        args.into_iter().collect()
    }

    /// The thread that a `spawn` names, and the sorts of its parameters.
    pub(super) fn spawned_thread(&mut self, call: &CallExpr) -> Option<(ThreadId, Vec<Sort>)> {
        let Some(index) = self.globals.threads.get(&call.name.kind) else {
            let near = nearest(&call.name.kind, self.globals.threads.names()).map(str::to_owned);
            self.no_callee(call.name.span, &format!("there is no thread `{}`", call.name.kind), near);
            return None;
        };
        let Some(params) = self.thread_params[index].clone() else {
            let message = format!("thread `{}` runs from the start and cannot be spawned", call.name.kind);
            let diagnostic = Diagnostic::error(codes::BAD_SPAWN, call.name.span, message)
                .label("not a thread with parameters")
                .hint(format!("declare it with parameters: `thread {}() {{ .. }}`", call.name.kind));
            self.report(diagnostic);
            return None;
        };
        if params.len() != call.args.len() {
            let (message, label) = wrong_count(&call.name.kind, params.len(), call.args.len());
            self.report(Diagnostic::error(codes::WRONG_COUNT, call.span.0, message).label(label));
            return None;
        }
        Some((ThreadId(index as u32), params))
    }

    /// Lowers `targets := callee(args)`.
    pub(super) fn call(
        &mut self,
        b: &mut Builder,
        call: &CallExpr,
        targets: Option<Vec<AssignTarget>>,
        span: Span,
        at: LocId,
    ) -> Option<LocId> {
        let target_checks = std::mem::take(&mut self.noted);
        let callee = self.callee(call)?;
        let routine = self.globals.routines[callee].clone();
        let args = self.arguments(call, &routine.params)?;
        if let Some(targets) = &targets {
            if targets.len() != routine.results.len() {
                let name = &call.name.kind;
                let message = format!("`{name}` gives {} results, for {} places", routine.results.len(), targets.len());
                let label = format!("expected {} places", routine.results.len());
                self.report(Diagnostic::error(codes::WRONG_COUNT, span, message).label(label));
                return None;
            }
            for (target, sort) in targets.iter().zip(&routine.results) {
                if target.sort != *sort && !(target.sort.is_integer() && sort.is_integer()) {
                    let (expected, found) = (self.sort_name(target.sort), self.sort_name(*sort));
                    let message = format!("the result has type {found}, the place for it {expected}");
                    let diagnostic = Diagnostic::error(codes::TYPE_MISMATCH, target.span, message);
                    self.report(diagnostic.label(format!("expected a place of type {found}")));
                    return None;
                }
            }
        }
        let gates = self.gates();
        if b.mode == CallPolicy::Keep && routine.has_spec() {
            return self.kept_call(b, callee, CallPassing { args, gates, targets, target_checks }, span, at);
        }
        let around = b.frames.iter().any(|f| f.routine == Some(callee));
        if around && !routine.has_spec() {
            let message = format!("`{}` calls itself", call.name.kind);
            let diagnostic = Diagnostic::error(codes::RECURSION, span, message)
                .label("a recursive call")
                .also(routine.ast.name.span, "this procedure has no specification, so its calls are inlined")
                .hint("give it a specification, or write a loop");
            self.report(diagnostic);
            return None;
        }
        if around || b.frames.len() > DEEPEST_CALL {
            return Some(self.unmodelled_call(b, &call.name.kind, span, at));
        }
        self.inlined_call(b, callee, CallPassing { args, gates, targets, target_checks }, span, at)
    }

    /// A recursive call: reached, it makes the program's verdicts unknown.
    fn unmodelled_call(&mut self, b: &mut Builder, name: &str, span: Span, at: LocId) -> LocId {
        let shown = format!("the recursive call of `{name}`");
        let property = self.property_at(PropertyKind::Unmodelled(shown.clone()), "unmodelled", span);
        let formula = self.program.terms.ff();
        let origin = self.origin(span);
        let gates = vec![Gate { property, formula }];
        self.simple(b, at, DraftAction { gates, ..self.draft(What::Unmodelled, origin) })
    }

    /// Gates for what a routine requires, with arguments for its parameters.
    fn requires_gates(&mut self, callee: usize, args: &[Term], span: Span) -> Vec<Gate> {
        let routine = &self.globals.routines[callee];
        let Some(id) = routine.id else { return Vec::new() };
        let name = routine.ast.name.kind.to_string();
        let procedure = &self.program.procedures[id];
        let formulas: Vec<Term> = procedure.requires.iter().filter_map(|f| f.formula).collect();
        if formulas.is_empty() {
            return Vec::new();
        }
        let symbols: Vec<_> = procedure.params.iter().map(|p| self.program.vars[*p].symbol).collect();
        let pairs: Vec<_> = symbols.into_iter().zip(args.iter().copied()).collect();
        let property = self.property_at(PropertyKind::Requires(id), &format!("requires:{name}"), span);
        let terms = &self.program.terms;
        formulas.into_iter().map(|f| Gate { property, formula: terms.substitute(f, pairs.iter().copied()) }).collect()
    }

    fn kept_call(
        &mut self,
        b: &mut Builder,
        callee: usize,
        passed: CallPassing,
        span: Span,
        at: LocId,
    ) -> Option<LocId> {
        let CallPassing { args, gates, targets, target_checks } = passed;
        let origin = self.origin(span);
        let routine = self.globals.routines[callee].clone();
        let procedure = routine.id?;
        let requires = self.requires_gates(callee, &args, span).first().map(|g| g.property);
        // What the arguments need is checked before the call.
        let from = if gates.is_empty() {
            at
        } else {
            self.simple(b, at, DraftAction { gates, ..self.draft(What::Skip, origin) })
        };
        let mut results = Vec::new();
        let mut copies: Vec<(AssignTarget, VarId)> = Vec::new();
        // An index may read a variable that gets another result: then all are handed over by one step.
        let plain = targets.iter().flatten().all(|t| t.path.is_empty());
        for (index, sort) in routine.results.iter().enumerate() {
            let target = targets.as_ref().map(|t| t[index].clone());
            let direct = target.as_ref().filter(|t| plain && t.sort == *sort && b.locals.contains(&t.var));
            match direct.map(|t| t.var).filter(|v| !results.contains(v)) {
                Some(var) => results.push(var),
                None => {
                    let result = &routine.ast.results[index].name;
                    b.path.push(span);
                    let name = format!("{}.{}", routine.ast.name.kind, result.kind);
                    let var = self.local_var(b, &name, result.span, *sort, origin);
                    b.path.pop();
                    results.push(var);
                    copies.extend(target.map(|t| (t, var)));
                }
            }
        }
        let to = b.location(origin);
        b.calls.push(program::ProcedureCall { from, to, procedure, args, results, requires, origin });
        Some(self.copy_results(b, copies, target_checks, span, to))
    }

    /// One step that hands results to their places, where there are any.
    fn copy_results(
        &mut self,
        b: &mut Builder,
        copies: Vec<(AssignTarget, VarId)>,
        target_checks: Vec<ValueCheck>,
        span: Span,
        at: LocId,
    ) -> LocId {
        if copies.is_empty() {
            return at;
        }
        let origin = self.origin(span);
        let writes: Vec<(&AssignTarget, Term)> =
            copies.iter().map(|(t, v)| (t, self.cast_to(self.program.now(*v), t.sort))).collect();
        let updates = self.updates(writes.into_iter());
        self.noted = target_checks;
        for (target, _) in &copies {
            self.note_write(target);
        }
        let gates = self.gates();
        self.simple(b, at, DraftAction { gates, updates, ..self.draft(What::Return, origin) })
    }

    fn cast_to(&self, term: Term, sort: Sort) -> Term {
        if self.program.terms.sort_of(term) == sort { term } else { self.cast(term, sort) }
    }

    fn inlined_call(
        &mut self,
        b: &mut Builder,
        callee: usize,
        passed: CallPassing,
        span: Span,
        at: LocId,
    ) -> Option<LocId> {
        let CallPassing { args, mut gates, targets, target_checks } = passed;
        let origin = self.origin(span);
        let routine = self.globals.routines[callee].clone();
        gates.extend(self.requires_gates(callee, &args, span));
        let prefix = routine.ast.name.kind.clone();
        b.path.push(span);
        let mut locals = Vec::new();
        let mut updates = Vec::new();
        let mut instance = Vec::new();
        let own: Vec<VarId> = routine.id.map_or_else(Vec::new, |id| self.program.procedures[id].params.clone());
        for (index, (param, arg)) in routine.ast.params.iter().zip(&args).enumerate() {
            let name = format!("{prefix}.{}", param.name.kind);
            let var = self.local_var(b, &name, param.name.span, routine.params[index], origin);
            locals.push((param.name.kind.to_string(), var));
            updates.push(Update { var, value: *arg });
            if let Some(own) = own.get(index) {
                instance.push((self.program.vars[*own].symbol, var));
            }
        }
        // The results are the places themselves where no thread can see the difference.
        let plain = targets.as_ref().filter(|targets| {
            let local =
                |t: &AssignTarget, sort: &Sort| t.path.is_empty() && t.sort == *sort && b.locals.contains(&t.var);
            scan::returns_everything(routine.ast) && targets.iter().zip(&routine.results).all(|(t, s)| local(t, s))
        });
        let direct: Option<Vec<VarId>> = plain.map(|targets| targets.iter().map(|t| t.var).collect());
        let own: Vec<VarId> = routine.id.map_or_else(Vec::new, |id| self.program.procedures[id].results.clone());
        let mut results = Vec::new();
        let mut inputs = Vec::new();
        let (params, remembered) = routine.id.map_or_else(Default::default, |id| {
            let procedure = &self.program.procedures[id];
            (procedure.params.clone(), procedure.olds.clone())
        });
        let mut copies = Vec::new();
        for (of, copy) in remembered {
            let name = format!("{prefix}.{}", self.program.vars[copy].name);
            let var = self.local_var(b, &name, routine.ast.name.span, self.program.vars[of].sort, origin);
            let given = params.iter().position(|p| *p == of).map(|at| args[at]);
            updates.push(Update { var, value: given.unwrap_or_else(|| self.program.now(of)) });
            instance.push((self.program.vars[copy].symbol, var));
            // Parameters of a copy are locals of their own.
            let here = instance.iter().find(|(s, _)| *s == self.program.vars[of].symbol).map_or(of, |(_, v)| *v);
            copies.push((here, var));
        }
        for (index, result) in routine.ast.results.iter().enumerate() {
            let var = match &direct {
                Some(direct) => direct[index],
                None => {
                    let name = format!("{prefix}.{}", result.name.kind);
                    self.local_var(b, &name, result.name.span, routine.results[index], origin)
                }
            };
            // In a loop the variable holds what the last call left; a new call starts with any value.
            let fresh =
                scan::returns_everything(routine.ast) || scan::result_set_first(&result.name.kind, &routine.ast.body);
            if b.loop_depth > 0 && !fresh {
                let (input, update) = self.arbitrary(var);
                inputs.push(input);
                updates.push(update);
            }
            locals.push((result.name.kind.to_string(), var));
            results.push(var);
            if let Some(own) = own.get(index) {
                instance.push((self.program.vars[*own].symbol, var));
            }
        }
        let here = if updates.is_empty() && gates.is_empty() {
            at
        } else {
            self.simple(b, at, DraftAction { inputs, gates, updates, ..self.draft(What::Assign, origin) })
        };
        let exit = b.location(origin);
        let ensures = self.ensures_gates(callee);
        let loops = b.loops.len();
        b.frames.push(ProcedureFrame {
            exit,
            results: results.clone(),
            routine: Some(callee),
            ensures,
            instance,
            loops,
        });
        let entered = routine.id.map(|procedure| EnteredProcedure { procedure, copies: Some(copies) });
        let inner = NameView {
            locals,
            object: routine.object,
            entered,
            ..NameView { bound: Vec::new(), this: None, ..self.view.clone() }
        };
        let outer = std::mem::replace(&mut self.view, inner);
        let end = self.block(b, &routine.ast.body, here);
        self.leave_frame(b, end, span);
        self.view = outer;
        b.frames.pop();
        b.path.pop();
        let copies = match (targets, direct) {
            (Some(targets), None) => targets.into_iter().zip(results).collect(),
            _ => Vec::new(),
        };
        let back = self.copy_results(b, copies, target_checks, span, exit);
        // A call of what does nothing is a step all the same: the thread has not ended before it.
        let idle = b.root(back) == b.root(at);
        Some(if idle { self.simple(b, back, self.draft(What::Skip, origin)) } else { back })
    }

    /// Gates for what a routine ensures, over its own symbols.
    fn ensures_gates(&mut self, callee: usize) -> Vec<Gate> {
        let Some(id) = self.globals.routines[callee].id else { return Vec::new() };
        let facts = self.program.procedures[id].ensures.clone();
        facts.into_iter().filter_map(|f| Some(Gate { property: f.property?, formula: f.formula? })).collect()
    }

    /// From the end of a body to the exit of its frame, past the check of what it ensures.
    pub(super) fn leave_frame(&mut self, b: &mut Builder, at: LocId, span: Span) {
        let Some(frame) = b.frames.last().cloned() else { return };
        if frame.ensures.is_empty() {
            b.merge(at, frame.exit);
            return;
        }
        let terms = &self.program.terms;
        let pairs: Vec<_> = frame.instance.iter().map(|(s, v)| (*s, self.program.now(*v))).collect();
        let instantiated =
            |g: &Gate| Gate { property: g.property, formula: terms.substitute(g.formula, pairs.iter().copied()) };
        let gates = frame.ensures.iter().map(instantiated).collect();
        let origin = self.origin(span);
        b.emit(at, frame.exit, DraftAction { gates, ..self.draft(What::Return, origin) });
    }

    /// `return e, f;`
    pub(super) fn give_back(&mut self, b: &mut Builder, values: &[Expr], span: Span, at: LocId) -> LocId {
        let Some(frame) = b.frames.last().cloned() else { return at };
        let origin = self.origin(span);
        if values.is_empty() {
            self.leave_frame(b, at, span);
            return b.location(origin);
        }
        if values.len() != frame.results.len() {
            if frame.routine.is_none() && frame.results.is_empty() {
                let message = "a thread gives no results";
                self.report(Diagnostic::error(codes::WRONG_PLACE, span, message).label("expected `return;`"));
                return b.location(origin);
            }
            let message = format!("{} values for {} results", values.len(), frame.results.len());
            let label = format!("expected {} values", frame.results.len());
            self.report(Diagnostic::error(codes::WRONG_COUNT, span, message).label(label));
            return b.location(origin);
        }
        let sorts: Vec<Sort> = frame.results.iter().map(|r| self.program.vars[*r].sort).collect();
        let terms: Vec<Option<Term>> = values.iter().zip(sorts).map(|(v, s)| self.expr(v, s)).collect();
        let terms: Option<Vec<Term>> = terms.into_iter().collect();
        if let Some(terms) = terms {
            let mut gates = self.gates();
            let value_of = |var: VarId| {
                let at = frame.results.iter().position(|r| *r == var);
                at.map_or_else(|| self.program.now(var), |at| terms[at])
            };
            let pairs: Vec<_> = frame.instance.iter().map(|(s, v)| (*s, value_of(*v))).collect();
            for gate in &frame.ensures {
                let formula = self.program.terms.substitute(gate.formula, pairs.iter().copied());
                gates.push(Gate { property: gate.property, formula });
            }
            let updates: Vec<Update> = frame
                .results
                .iter()
                .zip(&terms)
                .filter(|(var, value)| self.program.now(**var) != **value)
                .map(|(var, value)| Update { var: *var, value: *value })
                .collect();
            b.emit(at, frame.exit, DraftAction { gates, updates, ..self.draft(What::Return, origin) });
        }
        b.location(origin)
    }
}

/// Message and label for a call with too few or too many arguments.
fn wrong_count(name: &str, wanted: usize, given: usize) -> (String, String) {
    let plural = |n: usize, word: &str| if n == 1 { format!("{n} {word}") } else { format!("{n} {word}s") };
    let is_or_are = if given == 1 { "is" } else { "are" };
    let message = format!("`{name}` has {}, here {is_or_are} {given}", plural(wanted, "parameter"));
    (message, format!("expected {}", plural(wanted, "argument")))
}
