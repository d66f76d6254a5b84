//! Specifications: contracts and `performs` of procedures, machines, objects with their sequential specification.
//!
//! In: clauses, machines and objects of the tree. Out: the program's procedures, machines and objects, and diagnostics
//! for clauses that stand where they mean nothing.

use super::Lowering;
use super::code::{Builder, CallPolicy, ProcedureFrame};
use super::machine::MachineAction;
use crate::lang::ast::{
    Clause, ClauseKind, Expr, Idling, ItemKind, MachineDecl, MachinePartKind, MemberKind, ObjectDecl, Performs,
    PerformsKind, Proc, ProcForm, SourceTree, StateRole,
};
use crate::lang::codes;
use crate::lang::resolve::{Allowed, EnteredProcedure, NameTable, NameView, nearest};
use base::{Diagnostic, Span};
use logic::{Sort, Symbol, Term};
use program::{
    Code, InitialFact, MachineEdge, MachineState, ObjectId, Operation, ProcId, Procedure, PropertyKind, Scope, Spec,
    SpecOp, StorePlace, TwoStore, VarId, VarKind,
};

impl<'a> Lowering<'a> {
    /// Contracts and `performs` of all procedures, before any code that calls them.
    pub(super) fn routine_specs(&mut self) {
        for index in 0..self.globals.routines.len() {
            let routine = self.globals.routines[index].clone();
            if routine.ast.form == ProcForm::Operation {
                for clause in &routine.ast.clauses {
                    self.misplaced(clause, "an operation", "the `spec` of the object says what an operation does");
                }
                continue;
            }
            let id = ProcId(self.program.procedures.len() as u32);
            let scope = Scope::Procedure(id);
            let (params, results, locals) = self.signature(routine.ast, &routine.params, &routine.results, scope);
            let origin = self.origin(routine.ast.span.0);
            self.program.procedures.push(Procedure {
                name: routine.ast.name.kind.to_string(),
                params,
                results,
                locals: Vec::new(),
                requires: Vec::new(),
                ensures: Vec::new(),
                performs: None,
                olds: Vec::new(),
                inline: routine.ast.form == ProcForm::Inline,
                code: Code::new(),
                origin,
            });
            self.globals.routines[index].id = Some(id);
            self.view = NameView { locals, object: routine.object, tid: Allowed::Yes, ..NameView::default() };
            self.contract(routine.ast, id);
            self.contract_action(routine.ast, id);
        }
    }

    fn signature(
        &mut self,
        proc: &Proc,
        params: &[Sort],
        results: &[Sort],
        scope: Scope,
    ) -> (Vec<VarId>, Vec<VarId>, Vec<(String, VarId)>) {
        let mut locals = Vec::new();
        let mut make = |lowering: &mut Self, param: &crate::lang::ast::Param, sort: Sort| {
            let origin = lowering.origin(param.name.span);
            let var = lowering.fresh_var(&param.name.kind, sort, scope, origin);
            locals.push((param.name.kind.to_string(), var));
            var
        };
        let params = proc.params.iter().zip(params).map(|(p, s)| make(self, p, *s)).collect();
        let results = proc.results.iter().zip(results).map(|(p, s)| make(self, p, *s)).collect();
        (params, results, locals)
    }

    pub(super) fn misplaced(&mut self, clause: &Clause, whose: &str, hint: &str) {
        let word = match &clause.kind {
            ClauseKind::Requires(_) => "requires",
            ClauseKind::Ensures(_) => "ensures",
            ClauseKind::Modifies(_) => "modifies",
            ClauseKind::Performs(_) => "performs",
            ClauseKind::Rely(_) => "rely",
            ClauseKind::Invariant(_) => "invariant",
        };
        let message = format!("`{word}` has no meaning for {whose}");
        self.report(Diagnostic::error(codes::CLAUSE_HERE, clause.span, message).label("not allowed here").hint(hint));
    }

    fn contract(&mut self, proc: &'a Proc, id: ProcId) {
        let name = proc.name.kind.to_string();
        for clause in &proc.clauses {
            let origin = self.origin(clause.span);
            match &clause.kind {
                ClauseKind::Requires(e) => {
                    let Some(formula) = self.wanted_formula(e) else { continue };
                    if let Some(result) = formula.and_then(|f| self.result_in(f, id)) {
                        let message = format!("`requires` of `{name}` speaks of its result `{result}`");
                        let hint = "a result has no value before the call; say it with `ensures`";
                        let diagnostic = Diagnostic::error(codes::BAD_SPEC, clause.span, message);
                        self.report(diagnostic.label("only parameters and shared variables here").hint(hint));
                        continue;
                    }
                    self.program.procedures[id].requires.push(InitialFact { formula, property: None, origin });
                }
                ClauseKind::Ensures(e) => {
                    self.view.entered = Some(EnteredProcedure { procedure: id, copies: None });
                    let formula = self.wanted_formula(e);
                    self.view.entered = None;
                    let Some(formula) = formula else { continue };
                    let kind = PropertyKind::Ensures(id);
                    let property = Some(self.property_at(kind, &format!("ensures:{name}"), clause.span));
                    self.program.procedures[id].ensures.push(InitialFact { formula, property, origin });
                }
                ClauseKind::Performs(performs) => {
                    if self.program.procedures[id].performs.is_some() {
                        let message = format!("`{name}` has two `performs`");
                        let diagnostic = Diagnostic::error(codes::DECLARED_TWICE, clause.span, message);
                        self.report(diagnostic.hint("join them with `[]`"));
                        continue;
                    }
                    let mut labels: NameTable<()> = NameTable::default();
                    let mut number = 0;
                    if let Some(performs) = self.performs(performs, &mut labels, &mut number) {
                        let property =
                            self.property(PropertyKind::Performs(id), &format!("performs:{name}"), clause.span);
                        self.program.procedures[id].performs = Some((performs, property));
                    }
                }
                // Looked at with all of the contract.
                ClauseKind::Modifies(_) => {}
                ClauseKind::Rely(_) | ClauseKind::Invariant(_) => {
                    self.misplaced(clause, "a procedure", "it stands at the top level, for every thread");
                }
            }
        }
    }

    /// `modifies F; ensures E;` without `performs`: one action, which changes F alone and in which E holds, with `old` for
    /// the store before it. With `performs`, the frames of its actions are among F.
    fn contract_action(&mut self, proc: &'a Proc, id: ProcId) {
        let clauses = proc.clauses.iter().filter_map(|c| match &c.kind {
            ClauseKind::Modifies(places) => Some((c.span, places)),
            _ => None,
        });
        let written: Vec<(Span, &Vec<Expr>)> = clauses.collect();
        let Some((span, _)) = written.first().copied() else { return };
        let mut frame = Vec::new();
        for place in written.iter().flat_map(|(_, places)| *places) {
            let target = self.place(place);
            self.noted.clear();
            self.under.clear();
            let Some(target) = target else { return };
            let keys = target.keys();
            if keys.len() != target.path.len() || self.program.vars[target.var].scope != Scope::Shared {
                let message = "`modifies` names shared variables, fields and entries of maps";
                self.report(Diagnostic::error(codes::BAD_SPEC, place.span, message).label("not shared"));
                return;
            }
            frame.push(StorePlace { var: target.var, keys });
        }
        if let Some((performs, _)) = &self.program.procedures[id].performs {
            let within =
                |place: &StorePlace| frame.iter().any(|f| f.var == place.var && place.keys.starts_with(&f.keys));
            let outside = performs.actions().into_iter().find(|(_, a)| !a.frame.iter().all(within));
            if let Some((label, _)) = outside {
                let message = format!("the action `{label}` changes more than `modifies` names");
                self.report(Diagnostic::error(codes::BAD_SPEC, span, message).label("expected every frame in it"));
            }
            return;
        }
        // The store after the action is what `ensures` calls now, and the locals for `old` are the store before it.
        let procedure = &self.program.procedures[id];
        let mut pairs: Vec<(Symbol, Term)> =
            self.program.shared().map(|v| (self.program.vars[v].symbol, self.program.next(v))).collect();
        pairs.extend(procedure.olds.iter().map(|(v, copy)| (self.program.vars[*copy].symbol, self.program.now(*v))));
        let facts: Vec<Term> = procedure.ensures.iter().filter_map(|f| f.formula).collect();
        let terms = &self.program.terms;
        let relation = terms.substitute(terms.and(&facts), pairs);
        let (label, origin) = ("Contract".to_owned(), self.origin(span));
        let action = program::Performs::Action { label, action: TwoStore { frame, relation }, origin };
        let name = format!("performs:{}", proc.name.kind);
        let property = self.property(PropertyKind::Performs(id), &name, span);
        self.program.procedures[id].performs = Some((action, property));
    }

    /// The name of a result of a procedure that a formula mentions.
    fn result_in(&self, formula: Term, id: ProcId) -> Option<String> {
        let mentioned = self.program.terms.free_symbols(formula);
        let results = &self.program.procedures[id].results;
        let found = results.iter().find(|r| mentioned.contains(&self.program.vars[**r].symbol))?;
        Some(self.program.vars[*found].name.clone())
    }

    fn performs(
        &mut self,
        performs: &'a Performs,
        labels: &mut NameTable<()>,
        number: &mut usize,
    ) -> Option<program::Performs> {
        let mut all = |lowering: &mut Self, parts: &'a [Performs]| -> Option<Vec<program::Performs>> {
            let parts: Vec<_> = parts.iter().map(|p| lowering.performs(p, labels, number)).collect();
            parts.into_iter().collect()
        };
        match &performs.kind {
            PerformsKind::Then(parts) => all(self, parts).map(program::Performs::Then),
            PerformsKind::Or(parts) => all(self, parts).map(program::Performs::Or),
            PerformsKind::Repeat(inner) => {
                let inner = self.performs(inner, labels, number)?;
                Some(program::Performs::Star(Box::new(inner)))
            }
            PerformsKind::Action(action) => {
                *number += 1;
                let label = match &action.label {
                    Some(label) => {
                        if let Err(first) = labels.declare(label, ()) {
                            self.declared_twice(label, first);
                        }
                        label.kind.to_string()
                    }
                    None => format!("action{number}"),
                };
                if let Some(asserting) = &action.asserting {
                    let message = "an action of a specification asserts nothing";
                    let hint = "put the condition into the formula, or into `requires`";
                    self.report(Diagnostic::error(codes::CLAUSE_HERE, asserting.span, message).hint(hint));
                }
                let two_store = self.shared_two_store(action);
                self.noted.clear();
                let origin = self.origin(action.span.0);
                Some(program::Performs::Action { label, action: two_store?, origin })
            }
            PerformsKind::Error => None,
        }
    }

    /// The own code of every procedure: calls of specified procedures are kept.
    pub(super) fn routine_codes(&mut self) {
        for index in 0..self.globals.routines.len() {
            let routine = self.globals.routines[index].clone();
            let Some(id) = routine.id else { continue };
            let procedure = &self.program.procedures[id];
            let (params, results) = (procedure.params.clone(), procedure.results.clone());
            let builder = Builder::new(Scope::Procedure(id), CallPolicy::Keep);
            let (code, locals) = self.routine_code(builder, index, routine.ast, (&params, &results), &[]);
            let procedure = &mut self.program.procedures[id];
            procedure.code = code;
            procedure.locals = locals;
            let remembered: Vec<VarId> = procedure.olds.iter().map(|(_, copy)| *copy).collect();
            procedure.locals.extend(remembered);
        }
    }

    /// The code of a body with its parameters and results; gives the further locals too.
    fn routine_code(
        &mut self,
        mut b: Builder,
        index: usize,
        proc: &'a Proc,
        (params, results): (&[VarId], &[VarId]),
        around: &[(String, VarId)],
    ) -> (Code, Vec<VarId>) {
        let mut locals = around.to_vec();
        let names = proc.params.iter().chain(&proc.results).map(|p| p.name.kind.to_string());
        locals.extend(names.zip(params.iter().chain(results).copied()));
        let sequential = proc.form == ProcForm::Abstract;
        let tid = if sequential { Allowed::No } else { Allowed::Yes };
        let object = if sequential { None } else { self.globals.routines[index].object };
        let entered = self.globals.routines[index].id.filter(|_| !sequential);
        let entered = entered.map(|procedure| EnteredProcedure { procedure, copies: None });
        self.view = NameView { locals, object, tid, checks: Allowed::Yes, entered, ..NameView::default() };
        let origin = self.origin(proc.body.span);
        let (entry, exit) = (b.location(origin), b.location(origin));
        b.locals.extend(params.iter().chain(results).copied());
        // Where a name was declared twice there are fewer than the text has.
        let own = b.locals.len();
        let routine = if sequential { None } else { Some(index) };
        let results = results.to_vec();
        b.frames.push(ProcedureFrame { exit, results, routine, ensures: Vec::new(), instance: Vec::new(), loops: 0 });
        let end = self.block(&mut b, &proc.body, entry);
        b.merge(end, exit);
        self.view = NameView::default();
        let further = b.locals.split_off(own);
        (b.finish(entry, exit), further)
    }

    pub(super) fn machines(&mut self, tree: &'a SourceTree) {
        for item in &tree.items {
            if let ItemKind::Machine(machine) = &item.kind {
                let lowered = self.machine(machine, item.span);
                self.program.machines.push(lowered);
            }
        }
    }

    fn machine(&mut self, machine: &'a MachineDecl, span: Span) -> program::Machine {
        let mut own = self.machine_vars(machine);
        let assumed = self.machine_rely(machine, &mut own);
        let mut names: NameTable<usize> = NameTable::default();
        let mut states = Vec::new();
        let mut starts: Vec<usize> = Vec::new();
        for part in &machine.parts {
            let MachinePartKind::State { role, name, asserts } = &part.kind else { continue };
            let index = states.len();
            if let Err(first) = names.declare(name, index) {
                self.declared_twice(name, first);
            }
            if *role == StateRole::Start {
                starts.push(index);
            }
            let assertion = match asserts {
                None => Some(None),
                Some(e) => self.wanted_formula(e).map(Some),
            };
            let origin = self.origin(part.span);
            if let (Some(Some(None)), Some(_), Some(e)) = (&assertion, &assumed, asserts) {
                let message = "a machine that assumes something of others says what its states assert";
                let hint = "write the assertion, or leave the assumption out";
                self.report(Diagnostic::error(codes::CLAUSE_HERE, e.span, message).hint(hint));
            }
            let assertion = match (assertion.flatten(), &assumed) {
                (None, Some(assumed)) => Some(Some(assumed.holds)),
                (Some(Some(f)), Some(assumed)) => Some(Some(self.program.terms.and(&[f, assumed.holds]))),
                (assertion, _) => assertion,
            };
            states.push(MachineState { name: name.kind.to_string(), assertion, origin });
        }
        let mut edges = Vec::new();
        for part in &machine.parts {
            let MachinePartKind::Edge { from, to, action } = &part.kind else { continue };
            let origin = self.origin(part.span);
            let mut ends = [from, to].map(|name| (name, names.get(&name.kind)));
            for (name, found) in &mut ends {
                if found.is_none() {
                    let near = nearest(&name.kind, names.names()).map(str::to_owned);
                    self.unknown(name.span, &format!("the machine has no state `{}`", name.kind), near);
                }
            }
            let two_store = match action {
                Some(action) => {
                    if let Some(asserting) = &action.asserting {
                        let message = "an edge asserts nothing";
                        let hint = "put the assertion on the state: `state X asserts e;`";
                        self.report(Diagnostic::error(codes::CLAUSE_HERE, asserting.span, message).hint(hint));
                    }
                    self.machine_action(action)
                }
                None => Some(MachineAction {
                    action: TwoStore { frame: Vec::new(), relation: self.program.terms.tt() },
                    sets: Vec::new(),
                    makes: None,
                }),
            };
            if let ((_, Some(from)), (_, Some(to)), Some(step)) = (ends[0], ends[1], two_store) {
                let MachineAction { action, mut sets, makes } = step;
                sets.extend(assumed.iter().flat_map(|a| a.sets.iter().cloned()));
                edges.push(MachineEdge { from, to, action, sets, makes, origin });
            }
        }
        let mut strict = machine.idling == Idling::Strict;
        if let (false, Some(assumed)) = (strict, &assumed) {
            // What is assumed of others is assumed anew after an idle step: so it is a step of its own.
            strict = true;
            let origin = self.origin(span);
            let idle = TwoStore { frame: Vec::new(), relation: self.program.terms.tt() };
            edges.extend((0..states.len()).map(|at| MachineEdge {
                from: at,
                to: at,
                action: idle.clone(),
                sets: assumed.sets.clone(),
                makes: None,
                origin,
            }));
        }
        if starts.is_empty() {
            let message = format!("the machine `{}` has no start state", machine.name.kind);
            let diagnostic = Diagnostic::error(codes::BAD_MACHINE, machine.name.span, message);
            self.report(diagnostic.label("expected a `start`").hint("write `start X;` among its states"));
        }
        let origin = self.origin(span);
        program::Machine {
            name: machine.name.kind.to_string(),
            strict,
            vars: own,
            states,
            starts: if starts.is_empty() { vec![0] } else { starts },
            edges,
            origin,
        }
    }

    pub(super) fn objects(&mut self, tree: &'a SourceTree) {
        let mut index = 0;
        for item in &tree.items {
            if let ItemKind::Object(object) = &item.kind {
                self.object(object, item.span, index);
                index += 1;
            }
        }
    }

    fn object(&mut self, object: &'a ObjectDecl, span: Span, index: usize) {
        let spec = object.members.iter().find_map(|m| if let MemberKind::Spec(s) = &m.kind { Some(s) } else { None });
        // Without a specification an object is only a name for its variables and operations.
        let Some(spec) = spec else { return };
        let id = ObjectId(self.program.objects.len() as u32);
        let mut vars = Vec::new();
        let mut around = Vec::new();
        for member in spec {
            match &member.kind {
                MemberKind::Var(var) => {
                    let Some(sort) = self.sort(&var.ty) else { continue };
                    let origin = self.origin(member.span);
                    let name = self.unique_name(&format!("{}.spec.{}", object.name.kind, var.name.kind));
                    let variable = self.program.add_var(&name, sort, Scope::Spec(id), VarKind::Plain, None, origin);
                    self.view = NameView::default();
                    let initial = match &var.value {
                        Some(value) => self.expr(value, sort).and_then(|t| self.evaluated(t, sort, value.span)),
                        None => self.natural_start(&var.ty, sort),
                    };
                    if initial.is_none() && var.value.is_none() {
                        let message =
                            format!("the specification's variable `{}` needs an initial value", var.name.kind);
                        let diagnostic = Diagnostic::error(codes::BAD_SPEC, var.name.span, message);
                        self.report(diagnostic.label("expected `:= e`"));
                    }
                    self.program.vars[variable].initial = initial;
                    vars.push(variable);
                    around.push((var.name.kind.to_string(), variable));
                }
                MemberKind::Init(e) | MemberKind::Invariant(e) => {
                    let message = "a specification has no formulas of its own";
                    let hint = "give its variables initial values";
                    self.report(Diagnostic::error(codes::BAD_SPEC, e.span, message).hint(hint));
                }
                _ => {}
            }
        }
        let mut ops = Vec::new();
        let mut spec_ops = Vec::new();
        for member in &object.members {
            let MemberKind::Proc(proc) = &member.kind else { continue };
            if proc.form != ProcForm::Operation {
                continue;
            }
            let Some(routine) = self.globals.members[index].procs.get(&proc.name.kind) else { continue };
            let meaning = spec.iter().find_map(|m| match &m.kind {
                MemberKind::Proc(p) if p.name.kind == proc.name.kind => Some(p),
                _ => None,
            });
            let Some(meaning) = meaning else {
                let message =
                    format!("the specification of `{}` does not say what `{}` does", object.name.kind, proc.name.kind);
                let diagnostic = Diagnostic::error(codes::BAD_SPEC, proc.name.span, message).label("not in the `spec`");
                let hint = format!("add `{}(..) {{ .. }}` to the `spec`", proc.name.kind);
                self.report(diagnostic.hint(hint));
                continue;
            };
            let at = ops.len() as u32;
            let operation = self.operation(proc, routine, Scope::Operation(id, at));
            ops.push(operation);
            spec_ops.extend(self.spec_operation(proc, meaning, routine, Scope::Spec(id), &around));
        }
        for member in spec {
            let MemberKind::Proc(meaning) = &member.kind else { continue };
            let known = self.globals.members[index]
                .procs
                .get(&meaning.name.kind)
                .is_some_and(|r| self.globals.routines[r].ast.form == ProcForm::Operation);
            if !known {
                let message = format!("`{}` has no operation `{}`", object.name.kind, meaning.name.kind);
                let diagnostic = Diagnostic::error(codes::BAD_SPEC, meaning.name.span, message);
                self.report(diagnostic.label("no such `op`"));
            }
        }
        let name = format!("linearizable:{}", object.name.kind);
        let property = self.property(PropertyKind::Linearizable(id), &name, object.name.span);
        let origin = self.origin(span);
        self.program.objects.push(program::Object {
            name: object.name.kind.to_string(),
            spec: Spec { vars, ops: spec_ops },
            ops,
            property,
            origin,
        });
    }

    fn operation(&mut self, proc: &'a Proc, routine: usize, scope: Scope) -> Operation {
        let known = self.globals.routines[routine].clone();
        let (params, results, _) = self.signature(proc, &known.params, &known.results, scope);
        let mut builder = Builder::new(scope, CallPolicy::Inline);
        builder.linearize = Allowed::Yes;
        let (code, locals) = self.routine_code(builder, routine, proc, (&params, &results), &[]);
        let origin = self.origin(proc.span.0);
        Operation { name: proc.name.kind.to_string(), params, results, locals, code, origin }
    }

    fn spec_operation(
        &mut self,
        proc: &'a Proc,
        meaning: &'a Proc,
        routine: usize,
        scope: Scope,
        around: &[(String, VarId)],
    ) -> Option<SpecOp> {
        for clause in &meaning.clauses {
            self.misplaced(clause, "an operation of a `spec`", "its body says what it does");
        }
        let known = self.globals.routines[routine].clone();
        let sorts = |lowering: &mut Self, params: &[crate::lang::ast::Param]| -> Vec<Option<Sort>> {
            params.iter().map(|p| lowering.sort(&p.ty)).collect()
        };
        let params: Option<Vec<Sort>> = sorts(self, &meaning.params).into_iter().collect();
        let results: Option<Vec<Sort>> = sorts(self, &meaning.results).into_iter().collect();
        let (params, results) = (params?, results?);
        if params != known.params || results != known.results {
            let message = format!("`{}` has other parameters or results than its specification", proc.name.kind);
            let diagnostic = Diagnostic::error(codes::BAD_SPEC, proc.name.span, message)
                .label("the operation")
                .also(meaning.name.span, "the specification");
            self.report(diagnostic);
            return None;
        }
        let (params, results, _) = self.signature(meaning, &params, &results, scope);
        let builder = Builder::new(scope, CallPolicy::Inline);
        self.in_spec = true;
        let (code, locals) = self.routine_code(builder, routine, meaning, (&params, &results), around);
        self.in_spec = false;
        Some(SpecOp { params, results, locals, code })
    }

    /// The machine that a thread follows.
    pub(super) fn machine_named(&mut self, name: &crate::lang::ast::Name) -> Option<usize> {
        let found = self.globals.machines.get(&name.kind);
        if found.is_none() {
            let near = nearest(&name.kind, self.globals.machines.names()).map(str::to_owned);
            self.unknown(name.span, &format!("there is no machine `{}`", name.kind), near);
        }
        found
    }
}
