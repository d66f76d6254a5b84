//! Threads and lambdas: `new Thread(..)`, subclasses of `Thread`, `start`, `join`.
//!
//! A lambda, an anonymous class of one method and a method reference are closures: a procedure whose first parameters are what
//! they capture. A thread that only one local variable knows, started once behind its declaration, needs no object: `start` is a
//! `spawn`, `join` waits for it. Other threads are objects that remember their id.
//!
//! In: expressions that make and use threads and lambdas. Out: threads of the model.
//! Deliberately absent: what a daemon leaves undone, `isAlive`.

use super::Translation;
use super::body::{Frame, Local, OwnThread, Phase, ThreadStart, Val};
use super::build::*;
use super::place::{Base, Receiver, as_value};
use super::types::Ty;
use crate::java::tree::{self, JavaClass, JavaExprKind, JavaMethod, JavaStmtKind};
use crate::lang::ast::{self, AssignedValue, Checked, Expr, ItemKind, Spanned};
use base::Span;

/// A piece of code that is a value.
#[derive(Clone, Debug)]
pub(super) struct Closure<'a> {
    /// The name of its objects' class.
    pub class: String,
    pub(crate) interface: String,
    /// What it captures, `this` among it.
    pub(crate) captures: Vec<(String, Ty)>,
    params: Vec<(String, Ty)>,
    pub result: Ty,
    body: Code<'a>,
    pub span: Span,
    around: Option<&'a JavaClass>,
    this: Option<Ty>,
    type_params: Vec<String>,
}

#[derive(Clone, Debug)]
enum Code<'a> {
    Block(&'a [tree::JavaStmt]),
    /// The value of the one expression is the result.
    Value(&'a [tree::JavaStmt]),
    Method(&'a JavaClass, &'a JavaMethod),
    /// `x::m`: the method of the object that a variable holds.
    Bound(String, &'a JavaClass, &'a JavaMethod),
}

impl Closure<'_> {
    pub(crate) fn proc_name(&self) -> String {
        format!("{}.run", self.class)
    }
}

impl<'a> Translation<'a> {
    /// The closure that an expression is, for an interface.
    fn closure(&mut self, e: &'a tree::JavaExpr, interface: &str) -> Option<usize> {
        let line = e.span.start;
        let class = format!("{interface}@{line}");
        if let Some(known) = self.closures.iter().position(|c| c.span == e.span && c.interface == interface) {
            return Some(known);
        }
        let (params, result) = match interface {
            "Runnable" | "Thread" => (Vec::new(), Ty::Void),
            other => {
                let (class, method) = self.classes.abstract_method(other)?;
                let types = super::type_params(class, method);
                let params =
                    method.params.iter().map(|p| (p.name.clone(), self.classes.ty(&p.ty, &types))).collect::<Vec<_>>();
                (params, method.result.as_ref().map_or(Ty::Void, |t| self.classes.ty(t, &types)))
            }
        };
        let (names, body): (Vec<String>, Code<'a>) = match &e.kind {
            JavaExprKind::Lambda { params, body, is_expression } => {
                (params.clone(), if *is_expression { Code::Value(body) } else { Code::Block(body) })
            }
            JavaExprKind::New { body: Some(class), args, .. } => {
                let [method] = &class.methods[..] else { return None };
                let plain = class.fields.is_empty() && class.initializers.is_empty() && class.unknown.is_empty();
                let mut own = false;
                tree::expressions(method.body.as_deref()?, &mut |e| own |= matches!(e.kind, JavaExprKind::This));
                if !plain || own || !args.is_empty() || method.modifiers.is_synchronized {
                    return None;
                }
                (method.params.iter().map(|p| p.name.clone()).collect(), Code::Block(method.body.as_deref()?))
            }
            JavaExprKind::MethodReference(object, name) => {
                let class = self.class_named(object);
                let bound = class.is_none().then(|| self.bound_method(object, name, params.len())).flatten();
                if let Some((local, owner, method)) = bound {
                    return Some(self.bound_closure(e, interface, (local, owner, method), (params, result)));
                }
                let this = matches!(object.kind, JavaExprKind::This);
                let owner = match class {
                    Some(class) => class,
                    None if this => self.frame.class?,
                    None => return None,
                };
                let found = self.classes.methods(&owner.name, name, params.len());
                let [(owner, method)] = found[..] else { return None };
                if method.modifiers.is_static == this {
                    return None;
                }
                (params.iter().map(|(n, _)| n.clone()).collect(), Code::Method(owner, method))
            }
            _ => return None,
        };
        if names.len() != params.len() {
            return None;
        }
        let params: Vec<(String, Ty)> = names.into_iter().zip(params).map(|(n, (_, t))| (n, t)).collect();
        let mut captures: Vec<(String, Ty)> = Vec::new();
        if let Code::Block(stmts) | Code::Value(stmts) = &body {
            let mut named: Vec<&String> = Vec::new();
            tree::expressions(stmts, &mut |e| match &e.kind {
                JavaExprKind::Name(n) => named.push(n),
                // A class of this body takes with it what it keeps.
                JavaExprKind::New { ty, .. } => {
                    if let tree::JavaTypeKind::Named(class, _) = &ty.kind
                        && let Some(class) = self.classes.get(class)
                    {
                        named.extend(&class.surroundings.captured);
                    }
                }
                _ => {}
            });
            named.into_iter().for_each(|n| {
                if captures.iter().any(|(c, _)| c == n) || params.iter().any(|(p, _)| p == n) {
                    return;
                }
                if let Some(local) = self.local(n)
                    && local.ty != Ty::Unknown
                    && local.thread.is_none()
                {
                    captures.push((n.clone(), local.ty.clone()));
                }
            });
        }
        let this = self.frame.this.as_ref().map(|(_, ty)| ty.clone());
        if let Some(ty) = &this {
            captures.push(("this".into(), ty.clone()));
        }
        self.closures.push(Closure {
            class,
            interface: interface.to_owned(),
            captures,
            params,
            result,
            body,
            span: e.span,
            around: self.frame.class,
            this,
            type_params: self.frame.type_params.clone(),
        });
        Some(self.closures.len() - 1)
    }

    /// The method that `x::m` means, where `x` is a local and no subclass has another one.
    fn bound_method(
        &self,
        object: &tree::JavaExpr,
        name: &str,
        params: usize,
    ) -> Option<(String, &'a JavaClass, &'a JavaMethod)> {
        let JavaExprKind::Name(text) = &object.kind else { return None };
        let local = self.local(text).filter(|l| l.thread.is_none())?;
        let Ty::Ref(class, _) = &local.ty else { return None };
        let found = self.classes.methods(class, name, params);
        let [(owner, method)] = found[..] else { return None };
        let overrides = |c: &&JavaClass| {
            c.name != owner.name
                && self.classes.is_subclass(&c.name, &owner.name)
                && c.methods.iter().any(|m| m.name == *name && m.params.len() == params)
        };
        let plain = !method.modifiers.is_static && method.body.is_some() && !self.classes.all.iter().any(overrides);
        plain.then(|| (text.clone(), owner, method))
    }

    fn bound_closure(
        &mut self,
        e: &'a tree::JavaExpr,
        interface: &str,
        (local, owner, method): (String, &'a JavaClass, &'a JavaMethod),
        (params, result): (Vec<(String, Ty)>, Ty),
    ) -> usize {
        let ty = self.local(&local).map_or(Ty::Unknown, |l| l.ty.clone());
        self.closures.push(Closure {
            class: format!("{interface}@{}", e.span.start),
            interface: interface.to_owned(),
            captures: vec![(local.clone(), ty)],
            params: params.into_iter().enumerate().map(|(i, (_, t))| (format!("argument{i}"), t)).collect(),
            result,
            body: Code::Bound(local, owner, method),
            span: e.span,
            around: self.frame.class,
            this: None,
            type_params: self.frame.type_params.clone(),
        });
        self.closures.len() - 1
    }

    /// The values that a closure captures, here.
    fn captured(&self, index: usize, span: Span) -> Vec<Expr> {
        let captures = &self.closures[index].captures;
        captures
            .iter()
            .map(|(n, _)| match n.as_str() {
                "this" => self.frame.this.as_ref().map_or_else(|| null(span), |(this, _)| this.clone()),
                other => self.local(other).map_or_else(|| null(span), |l| l.value.clone()),
            })
            .collect()
    }

    /// A closure as an object.
    pub(super) fn closure_object(&mut self, e: &'a tree::JavaExpr, wanted: &Ty) -> Val {
        let Ty::Ref(interface, _) = wanted else { return self.unknown("a lambda here", e.span) };
        let interface = interface.clone();
        let Some(index) = self.closure(e, &interface) else {
            return self.unknown("this lambda, method reference or anonymous class", e.span);
        };
        self.want_closure(index);
        let closure = self.closures[index].clone();
        let ty = Ty::object(&closure.class);
        self.facts.regions.unite(&interface, &closure.class);
        let object = self.allocate(&ty, e.span);
        let values = self.captured(index, e.span);
        for ((captured, _), value) in closure.captures.iter().zip(values) {
            let place = field(object.clone(), format!("{}.{captured}", closure.class), e.span);
            self.push_stmt(assign(place, value, e.span));
        }
        Val { exact: Some(closure.class), ..Val::new(object, wanted.clone()) }
    }

    /// The procedure of a closure: its parameters are what it captures, then its own.
    pub(super) fn closure_method(&mut self, proc: String, index: usize) {
        let closure = self.closures[index].clone();
        let code: &'a [tree::JavaStmt] = match &closure.body {
            Code::Block(stmts) | Code::Value(stmts) => stmts,
            Code::Method(..) | Code::Bound(..) => &[],
        };
        self.open_frame(&proc, closure.around, code);
        self.frame.type_params = closure.type_params.clone();
        self.frame.result = closure.result.clone();
        let span = closure.span;
        let mut params = Vec::new();
        for (captured, ty) in closure.captures.iter().chain(&closure.params) {
            let tp = self.tp_type(ty, span);
            params.push(ast::Param { name: name(captured, span), ty: tp });
            if captured == "this" {
                self.frame.this = closure.this.clone().map(|ty| (present(var("this", span)), ty));
            } else {
                self.declare_local(captured, Local::new(var(captured, span), ty.clone()));
            }
        }
        match &closure.body {
            Code::Block(stmts) => self.stmts(stmts),
            Code::Value(stmts) => {
                if let Some(tree::JavaStmt { kind: JavaStmtKind::Expr(e), .. }) = stmts.first() {
                    if closure.result == Ty::Void {
                        self.expression_statement(e);
                    } else {
                        self.give_back(Some(e), e.span);
                    }
                }
            }
            Code::Bound(local, class, method) => {
                let object = var(local, span);
                self.check(Checked::Null, not(equal(object.clone(), null(span), span), span), span);
                let args = closure.params.iter().map(|(n, _)| var(n, span)).collect();
                let value = self.direct(class, method, Some(present(object)), Some(local), args, span);
                self.give_value(value, &closure.result, span);
            }
            Code::Method(class, method) => {
                let this = self.frame.this.clone().map(|(this, _)| this).filter(|_| !method.modifiers.is_static);
                let args = closure.params.iter().map(|(n, _)| var(n, span)).collect();
                let value = self.direct(class, method, this, Some("this"), args, span);
                self.give_value(value, &closure.result, span);
            }
        }
        self.return_nothing(&closure.result.clone(), span);
        self.procedure(proc, params, &closure.result.clone(), span, span);
    }

    fn give_value(&mut self, value: Val, result: &Ty, span: Span) {
        if *result != Ty::Void {
            let value = self.convert(value, result, span);
            let nothing_thrown = (!self.frame.caught.is_empty()).then(|| int(0, span));
            self.push(ast::StmtKind::Return([value].into_iter().chain(nothing_thrown).collect()), span);
        }
    }

    /// Declares a local that is the only one to know a thread. False: the declaration is an ordinary one.
    pub(super) fn own_thread(
        &mut self,
        (ty, text, at): (&'a tree::JavaType, &'a str, Span),
        value: &'a tree::JavaExpr,
        rest: &'a [tree::JavaStmt],
        span: Span,
    ) -> bool {
        let declared = match &ty.kind {
            tree::JavaTypeKind::Named(n, _) => n,
            _ => return false,
        };
        let JavaExprKind::New { ty: made, args, body } = &value.kind else { return false };
        let tree::JavaTypeKind::Named(made, _) = &made.kind else { return false };
        let plain = made == "Thread" && self.classes.get("Thread").is_none();
        let subclass = self.classes.get(made).is_some() && self.classes.is_subclass(made, "Thread");
        if self.classes.interrupts {
            return false;
        }
        let fits = declared == "var" || declared == "Thread" || declared == made;
        if !fits || !(plain || subclass) || !self.is_own_thread(text, rest, subclass) {
            return false;
        }
        let id = self.fresh(&format!("{text}'s id"));
        let start = if subclass {
            let Some(run) = self.classes.methods(made, "run", 0).into_iter().find(|(_, m)| m.body.is_some()) else {
                return false;
            };
            let object = self.expr(value);
            let ty = Ty::object(made);
            let tp = self.tp_type(&ty, at);
            self.push(ast::StmtKind::Local { name: name(text, at), ty: tp, value: Some(as_value(object.expr)) }, span);
            let _ = run;
            ThreadStart::Run(made.clone(), present(var(text, at)))
        } else {
            let code = match (body, args.first()) {
                (Some(_), None) => Some(value),
                (None, Some(first)) => Some(first),
                _ => None,
            };
            let Some(code) = code else { return false };
            let is_code = matches!(
                code.kind,
                JavaExprKind::Lambda { .. }
                    | JavaExprKind::MethodReference(..)
                    | JavaExprKind::New { body: Some(_), .. }
            );
            let interface = if body.is_some() { "Thread" } else { "Runnable" };
            if is_code && let Some(index) = self.closure(code, interface) {
                ThreadStart::Closure(index)
            } else if let JavaExprKind::New { .. } = &code.kind {
                let object = self.expr(code);
                let Some(class) = object.exact.clone().filter(|c| self.classes.get(c).is_some()) else { return false };
                let target = self.bind(&format!("{text}'s target"), &Ty::object(&class), as_value(object.expr), at);
                ThreadStart::Run(class, present(target))
            } else {
                return false;
            }
        };
        if let Some(name) = args.get(1) {
            self.effects(name);
        }
        let local_ty = if subclass { Ty::object(made) } else { Ty::object("Thread") };
        let value = if subclass { present(var(text, at)) } else { var(text, at) };
        let exact = subclass.then(|| made.clone());
        let thread = Some(OwnThread { id, start });
        self.declare_local(text, Local { value, ty: local_ty, exact, thread, constant: None });
        true
    }

    /// Whether the variable is started once behind its declaration, joined only after that, and used in no other way.
    fn is_own_thread(&self, text: &str, rest: &'a [tree::JavaStmt], subclass: bool) -> bool {
        let is_name = |e: &tree::JavaExpr| matches!(&e.kind, JavaExprKind::Name(n) if n == text);
        let start_at = rest.iter().find_map(|s| match &s.kind {
            JavaStmtKind::Expr(e) => match &e.kind {
                JavaExprKind::Call { object: Some(o), name, args, .. }
                    if name == "start" && args.is_empty() && is_name(o) =>
                {
                    Some(e.span)
                }
                _ => None,
            },
            _ => None,
        });
        let Some(start_at) = start_at else { return false };
        let (mut all, mut good) = (0, 0);
        tree::expressions(self.frame.code, &mut |e| {
            all += usize::from(is_name(e));
            match &e.kind {
                JavaExprKind::Call { object: Some(o), name, args, .. } if is_name(o) => {
                    let fine = match &name[..] {
                        "start" => e.span == start_at,
                        "join" => args.is_empty() && e.span.start > start_at.start,
                        "setName" | "setPriority" | "setDaemon" => true,
                        "isAlive" | "interrupt" | "wait" | "notify" | "notifyAll" => false,
                        _ => subclass,
                    };
                    good += usize::from(fine);
                }
                JavaExprKind::Field(o, ..) if subclass && is_name(o) => good += 1,
                JavaExprKind::New { ty: tree::JavaType { kind: tree::JavaTypeKind::Named(class, _), .. }, .. }
                    if self.classes.get(class).is_some_and(|c| c.surroundings.captured.iter().any(|n| n == text)) =>
                {
                    all += 1;
                }
                // A closure would need the thread itself.
                JavaExprKind::Lambda { body, .. } => {
                    tree::expressions(body, &mut |inner| all += usize::from(is_name(inner)));
                }
                JavaExprKind::New { body: Some(class), .. } => {
                    tree::in_class(class, &mut |inner| all += usize::from(is_name(inner)));
                }
                _ => {}
            }
        });
        all == good && !self.is_assigned(text)
    }

    /// `t.start()`, `t.join()` of a thread that only `t` knows. `None`: another object.
    pub(super) fn own_thread_call(
        &mut self,
        object: &'a tree::JavaExpr,
        method: &str,
        args: &'a [tree::JavaExpr],
        span: Span,
    ) -> Option<Val> {
        let JavaExprKind::Name(text) = &object.kind else { return None };
        let own = self.local(text)?.thread.clone()?;
        let void = Val::new(boolean(false, span), Ty::Void);
        match method {
            "start" => {
                self.starts();
                if self.frame.straight && self.frame.proc == "main" {
                    self.frame.running.insert(text.clone());
                } else {
                    self.facts.starts_elsewhere = true;
                }
                let (thread, values) = match &own.start {
                    ThreadStart::Closure(index) => {
                        let values = self.captured(*index, span);
                        (self.closure_thread(*index, text), values)
                    }
                    ThreadStart::Run(class, object) => (self.run_thread(class, text)?, vec![object.clone()]),
                };
                let int_type = Spanned::new(ast::TypeKind::Int, span);
                let value = Some(AssignedValue::Spawn(call(&thread, values, span)));
                self.push(ast::StmtKind::Local { name: name(&own.id, span), ty: int_type, value }, span);
                Some(void)
            }
            "join" => {
                self.push(ast::StmtKind::Join(var(&own.id, span)), span);
                if self.frame.straight && self.frame.running.remove(text) && self.frame.running.is_empty() {
                    let elsewhere = self.known.as_ref().is_none_or(|k| k.starts_elsewhere);
                    if !elsewhere {
                        self.frame.phase = Phase::Alone;
                    }
                }
                Some(void)
            }
            "setName" | "setPriority" => {
                args.iter().for_each(|a| self.effects(a));
                Some(void)
            }
            "setDaemon" => {
                self.make_daemon(args);
                Some(void)
            }
            _ => None,
        }
    }

    fn make_daemon(&mut self, args: &'a [tree::JavaExpr]) {
        args.iter().for_each(|a| self.effects(a));
        let plain = matches!(args, [tree::JavaExpr { kind: JavaExprKind::Bool(false), .. }]);
        self.facts.daemons |= !plain;
    }

    fn starts(&mut self) {
        self.facts.uses_threads = true;
        self.frame.phase = Phase::Together;
    }

    /// The thread that runs a closure.
    fn closure_thread(&mut self, index: usize, shown: &str) -> String {
        let proc = self.want_closure(index);
        let closure = self.closures[index].clone();
        self.thread_item(&proc, shown, closure.captures, closure.span)
    }

    /// The thread that runs the `run` of a class.
    fn run_thread(&mut self, class: &str, shown: &str) -> Option<String> {
        let found = self.classes.methods(class, "run", 0).into_iter().find(|(_, m)| m.body.is_some());
        let (owner, run) = found?;
        let proc = self.want_method(owner, run);
        let ty = Ty::object(class);
        Some(self.thread_item(&proc, shown, vec![("this".into(), ty)], run.span))
    }

    /// Declares a thread that calls a procedure; one for each procedure and name.
    fn thread_item(&mut self, proc: &str, shown: &str, params: Vec<(String, Ty)>, span: Span) -> String {
        let mut text = shown.to_owned();
        let mut number = 2;
        loop {
            let taken = self.items.iter().find_map(|i| match &i.kind {
                ItemKind::Thread(t) if *t.name.kind == *text => Some(t),
                _ => None,
            });
            match taken {
                None if text != "main" => break,
                // The same code under the same name.
                Some(t) if calls_only(t, proc) => return text,
                _ => {
                    text = format!("{shown}#{number}");
                    number += 1;
                }
            }
        }
        let mut declared = Vec::new();
        let mut args = Vec::new();
        for (param, ty) in params {
            let tp = self.tp_type(&ty, span);
            declared.push(ast::Param { name: name(&param, span), ty: tp });
            args.push(if param == "this" { present(var(&param, span)) } else { var(&param, span) });
        }
        let body = block(vec![Spanned::new(ast::StmtKind::Call(call(proc, args, span)), span)], span);
        self.items.push(Spanned::new(
            ItemKind::Thread(ast::ThreadDecl {
                name: name(&text, span),
                copies: ast::CopiesClause::One,
                params: Some(declared),
                follows: None,
                clauses: Vec::new(),
                body,
            }),
            span,
        ));
        text
    }

    /// `new Thread(target)`.
    pub(super) fn new_thread(&mut self, args: &'a [tree::JavaExpr], span: Span) -> Val {
        let ty = Ty::object("Thread");
        let target = match args.first() {
            Some(e) if !matches!(e.kind, JavaExprKind::Text(_)) => {
                let wanted = Ty::object("Runnable");
                Some(self.expr_as(e, &wanted))
            }
            _ => None,
        };
        args.iter().skip(1).for_each(|a| self.effects(a));
        let object = self.allocate(&ty, span);
        if let Some(target) = target {
            self.push_stmt(assign(field(object.clone(), "Thread.target", span), target, span));
        }
        Val { exact: Some("Thread".into()), ..Val::new(object, ty) }
    }

    /// The methods of a thread that is an object.
    pub(super) fn thread_call(
        &mut self,
        receiver: &Receiver,
        exact: Option<&str>,
        method: &str,
        args: &'a [tree::JavaExpr],
        span: Span,
    ) -> Val {
        let void = Val::new(boolean(false, span), Ty::Void);
        let Base::Heap(object) = &receiver.base else { return self.unknown("this thread", span) };
        let object = object.clone();
        let id = field(object.clone(), "Thread.id", span);
        let of_itself = self.classes.interrupts || matches!(method, "isInterrupted" | "getName" | "setName");
        if receiver.object.as_deref() == Some("this") && method != "start" && !of_itself {
            return self.unknown(&format!("`{method}` of the thread itself"), span);
        }
        match (method, args.len()) {
            ("start", 0) => {
                self.starts();
                self.facts.starts_elsewhere = true;
                self.start_object(object, receiver, exact, span);
                void
            }
            // With a limit of time it may return at any time.
            ("join", 1 | 2) => {
                args.iter().for_each(|a| self.effects(a));
                self.raise_if_interrupted(span);
                void
            }
            ("interrupt" | "isInterrupted", 0) => self.interruption_call(id, method, span),
            ("getName", 0) => self.some_text(span),
            ("setDaemon", 1) => {
                self.make_daemon(args);
                void
            }
            ("join", 0) => {
                if self.classes.interrupts {
                    if self.frame.proc != "main" {
                        return self.unknown("`join` in a thread that may be interrupted", span);
                    }
                    let of = Checked::Unmodelled("`join` of a thread that interrupted itself".into());
                    let condition = not(super::model::my_flag(span), span);
                    self.push(ast::StmtKind::Check { of, condition }, span);
                }
                // A thread that was not started is not waited for.
                let id = self.bind_int("id", as_value(id), span);
                let wait = vec![Spanned::new(ast::StmtKind::Join(id.clone()), span)];
                let started = not(equal(id, int(0, span), span), span);
                self.push_stmt(if_else(started, wait, None, span));
                void
            }
            ("setName" | "setPriority", 1) => {
                self.effects(&args[0]);
                void
            }
            _ if self.monitor_call(receiver, method, args, span).is_some() => void,
            _ => {
                args.iter().for_each(|a| self.effects(a));
                self.unknown(&format!("`Thread.{method}`"), span)
            }
        }
    }

    fn start_object(&mut self, object: Expr, receiver: &Receiver, exact: Option<&str>, span: Span) {
        let id = field(object.clone(), "Thread.id", span);
        let fresh = equal(id.clone(), int(0, span), span);
        self.check(Checked::Language("start"), fresh, span);
        let object = present(object);
        let made: Vec<String> = match (exact, &self.known) {
            (Some(exact), _) => vec![exact.to_owned()],
            (None, Some(known)) => {
                let class = receiver.class();
                known.instantiated.iter().filter(|n| self.is_kind_of(n, &class)).cloned().collect()
            }
            (None, None) => {
                let all = self.classes.all.iter().map(|c| c.name.clone()).chain(["Thread".to_owned()]);
                all.filter(|n| self.classes.is_subclass(n, "Thread")).collect()
            }
        };
        let mut otherwise: Option<Vec<ast::Stmt>> = None;
        for class in made {
            let body = self.branch(|t| {
                let thread = if class == "Thread" { Some(t.target_thread(span)) } else { t.object_thread(&class) };
                match thread {
                    Some(thread) => {
                        let value = AssignedValue::Spawn(call(&thread, vec![object.clone()], span));
                        t.push(ast::StmtKind::Assign { targets: vec![id.clone()], value }, span);
                    }
                    None => t.unmodelled("a thread without a `run`", span),
                }
            });
            otherwise = Some(match otherwise {
                None => body,
                Some(rest) => {
                    let tag = field(object.clone(), "class", span);
                    let condition = equal(tag, int(self.class_number(&class), span), span);
                    vec![if_else(condition, body, Some(rest), span)]
                }
            });
        }
        match otherwise {
            Some(stmts) => stmts.into_iter().for_each(|s| self.push_stmt(s)),
            None => self.unmodelled("a thread that nobody makes", span),
        }
    }

    fn object_thread(&mut self, class: &str) -> Option<String> {
        if let Some(index) = self.closures.iter().position(|c| c.class == class) {
            let proc = self.want_closure(index);
            let closure = self.closures[index].clone();
            return Some(self.captured_thread(&proc, &closure, class));
        }
        self.run_thread(class, class)
    }

    /// A thread made of an anonymous subclass: what it captures is in the object.
    fn captured_thread(&mut self, proc: &str, closure: &Closure<'a>, class: &str) -> String {
        let text = format!("Thread {class}");
        let span = closure.span;
        let exists = self.items.iter().any(|i| matches!(&i.kind, ItemKind::Thread(t) if *t.name.kind == *text));
        if exists {
            return text;
        }
        let this = || present(var("this", span));
        let args = closure.captures.iter().map(|(n, _)| field(this(), format!("{class}.{n}"), span)).collect();
        let body = block(vec![Spanned::new(ast::StmtKind::Call(call(proc, args, span)), span)], span);
        let tp = self.tp_type(&Ty::object(class), span);
        self.items.push(Spanned::new(
            ItemKind::Thread(ast::ThreadDecl {
                name: name(&text, span),
                copies: ast::CopiesClause::One,
                params: Some(vec![ast::Param { name: name("this", span), ty: tp }]),
                follows: None,
                clauses: Vec::new(),
                body,
            }),
            span,
        ));
        text
    }

    /// The thread that runs the target of a `Thread`.
    fn target_thread(&mut self, span: Span) -> String {
        let text = "Thread".to_owned();
        let exists = self.items.iter().any(|i| matches!(&i.kind, ItemKind::Thread(t) if *t.name.kind == *text));
        if exists {
            return text;
        }
        // Another body is made while one is under way.
        let around = std::mem::take(&mut self.frame);
        self.frame = Frame::new("Thread", around.class, &[]);
        let this = present(var("this", span));
        let target = self.bind("target", &Ty::object("Runnable"), as_value(field(this, "Thread.target", span)), span);
        let receiver = Receiver {
            base: Base::Heap(target.clone()),
            ty: Ty::object("Runnable"),
            named: None,
            object: None,
            length: None,
        };
        let there = not(equal(target.clone(), null(span), span), span);
        let inner = self.branch(|t| {
            t.run_target(&receiver, span);
        });
        self.push_stmt(if_else(there, inner, None, span));
        let body = self.finish_body(span);
        self.frame = around;
        let tp = self.tp_type(&Ty::object("Thread"), span);
        self.items.push(Spanned::new(
            ItemKind::Thread(ast::ThreadDecl {
                name: name(&text, span),
                copies: ast::CopiesClause::One,
                params: Some(vec![ast::Param { name: name("this", span), ty: tp }]),
                follows: None,
                clauses: Vec::new(),
                body,
            }),
            span,
        ));
        text
    }

    /// Runs a `Runnable`, of whatever class.
    pub(super) fn run_target(&mut self, receiver: &Receiver, span: Span) -> Val {
        let Base::Heap(object) = &receiver.base else { return self.unknown("this target", span) };
        let object = present(object.clone());
        let made: Vec<String> = match &self.known {
            Some(known) => known.instantiated.iter().filter(|n| self.is_kind_of(n, "Runnable")).cloned().collect(),
            None => self
                .classes
                .all
                .iter()
                .map(|c| c.name.clone())
                .chain(self.closures.iter().map(|c| c.class.clone()))
                .filter(|n| self.is_kind_of(n, "Runnable"))
                .collect(),
        };
        let mut otherwise: Option<Vec<ast::Stmt>> = None;
        for class in made {
            let body = self.branch(|t| t.run_of(&class, object.clone(), span));
            otherwise = Some(match otherwise {
                None => body,
                Some(rest) => {
                    let tag = field(object.clone(), "class", span);
                    let condition = equal(tag, int(self.class_number(&class), span), span);
                    vec![if_else(condition, body, Some(rest), span)]
                }
            });
        }
        match otherwise {
            Some(stmts) => stmts.into_iter().for_each(|s| self.push_stmt(s)),
            None => self.unmodelled("a `Runnable` that nobody makes", span),
        }
        Val::new(boolean(false, span), Ty::Void)
    }

    fn run_of(&mut self, class: &str, object: Expr, span: Span) {
        if let Some(index) = self.closures.iter().position(|c| c.class == class) {
            self.closure_call(index, object, Vec::new(), span);
            return;
        }
        let found = self.classes.methods(class, "run", 0).into_iter().find(|(_, m)| m.body.is_some());
        match found {
            Some((owner, run)) => {
                self.direct(owner, run, Some(object), None, Vec::new(), span);
            }
            None => self.unmodelled("a `Runnable` without a `run`", span),
        }
    }
}

/// Whether a thread does nothing but call a procedure.
fn calls_only(thread: &ast::ThreadDecl, proc: &str) -> bool {
    match &thread.body.kind[..] {
        [Spanned { kind: ast::StmtKind::Call(call), .. }] => *call.name.kind == *proc,
        _ => false,
    }
}
