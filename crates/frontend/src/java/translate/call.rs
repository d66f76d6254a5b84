//! Calls of methods and constructors: overloads (JLS 15.12.2), virtual calls among the classes that are made, `new`.
//!
//! In: a call with its arguments. Out: a call of a procedure, or a choice between several by the class of the object.
//! Deliberately absent: recursion without a bound (a few calls inside each other are followed) and methods with a variable number of parameters.

use super::Translation;
use super::body::{Phase, Val};
use super::build::*;
use super::place::{as_value, name_of};
use super::types::{Ty, Width};
use super::{JobCode, thread::Closure, type_params};
use crate::java::tree::{self, CONSTRUCTOR, ClassForm, JavaClass, JavaExprKind, JavaMethod};
use crate::lang::ast::{self, Checked, Expr, Spanned};
use base::Span;

/// Calls of a method inside itself that are looked at, where its code has one of them, and where it has several.
const DEEPEST_RECURSION: usize = 10;
const DEEPEST_BRANCHING_RECURSION: usize = 5;

/// What a call passes.
struct Passed<'p> {
    this: Option<Expr>,
    /// The variable that holds the receiver.
    held_by: Option<&'p str>,
    arguments: Vec<Expr>,
    /// Whether annotations say what it does, so that calls need not be followed.
    specified: bool,
}

/// What a virtual call may run.
#[derive(Clone)]
enum Callee<'a> {
    Method(&'a JavaClass, &'a JavaMethod),
    Closure(usize),
}

impl<'a> Translation<'a> {
    /// The values of arguments, from left to right, none changed by evaluating a later one.
    pub(super) fn arguments(&mut self, args: &'a [tree::JavaExpr]) -> Vec<Val> {
        let mut out: Vec<Val> = Vec::new();
        for (at, arg) in args.iter().enumerate() {
            if matches!(arg.kind, JavaExprKind::Lambda { .. } | JavaExprKind::MethodReference(..)) {
                // What it is depends on the parameter; evaluating it does nothing.
                out.push(Val::new(null(arg.span), Ty::Null));
                continue;
            }
            let mut value = self.expr(arg);
            for later in &args[at + 1..] {
                value = self.kept(value, later, arg.span);
            }
            out.push(value);
        }
        out
    }

    fn param_types(&self, class: &JavaClass, method: &JavaMethod) -> Vec<Ty> {
        method.params.iter().map(|p| self.classes.ty(&p.ty, &type_params(class, method))).collect()
    }

    /// How well arguments fit parameters; `None`: not at all.
    fn fits(&self, values: &[Val], params: &[Ty]) -> Option<usize> {
        let mut worse = 0;
        for (value, param) in values.iter().zip(params) {
            worse += match (&value.ty, param) {
                (a, b) if a == b => 0,
                (Ty::Unknown, _) => 0,
                (Ty::Int(a), Ty::Int(b)) if widens(*a, *b) => 1,
                (a, Ty::Boxed(b)) if *a == **b => 3,
                (Ty::Boxed(a), b) if **a == *b => 3,
                (Ty::Null, Ty::Boxed(_) | Ty::Thrown(_)) => 1,
                (Ty::Thrown(a), Ty::Thrown(b)) if self.classes.is_exception_of(a, b) => 1,
                (Ty::Null, b) if b.is_reference() || *b == Ty::Text || matches!(b, Ty::Enum(_)) => 1,
                (Ty::Ref(a, _), Ty::Ref(b, _)) if a == b => 0,
                (Ty::Ref(a, _), Ty::Ref(b, _)) if self.is_kind_of(a, b) => 1,
                (Ty::Array(_), Ty::Ref(b, _)) if b == "Object" => 2,
                _ => return None,
            };
        }
        Some(worse)
    }

    /// The method that a call means.
    fn chosen(
        &self,
        candidates: &[(&'a JavaClass, &'a JavaMethod)],
        values: &[Val],
    ) -> Option<(&'a JavaClass, &'a JavaMethod)> {
        let scored = candidates
            .iter()
            .filter_map(|(c, m)| self.fits(values, &self.param_types(c, m)).map(|score| (score, (*c, *m))));
        scored.min_by_key(|(score, _)| *score).map(|(_, found)| found)
    }

    fn converted(
        &mut self,
        class: &'a JavaClass,
        method: &'a JavaMethod,
        args: &'a [tree::JavaExpr],
        values: Vec<Val>,
    ) -> Vec<Expr> {
        let params = self.param_types(class, method);
        let mut out = Vec::new();
        for ((value, param), arg) in values.into_iter().zip(&params).zip(args) {
            let value = if matches!(arg.kind, JavaExprKind::Lambda { .. } | JavaExprKind::MethodReference(..)) {
                self.expr_wanted(arg, Some(param))
            } else {
                value
            };
            out.push(self.convert(value, param, arg.span));
        }
        out
    }

    pub(super) fn call(
        &mut self,
        e: &'a tree::JavaExpr,
        object: Option<&'a tree::JavaExpr>,
        method: &'a str,
        name_span: Span,
        args: &'a [tree::JavaExpr],
    ) -> Val {
        let span = e.span;
        let Some(object) = object else { return self.own_call(method, name_span, args, span) };
        if matches!(object.kind, JavaExprKind::Super) {
            let parent = self.frame.class.and_then(|c| c.extends.as_ref());
            let parent = parent.and_then(|t| match &t.kind {
                tree::JavaTypeKind::Named(n, _) => self.classes.get(n),
                _ => None,
            });
            let values = self.arguments(args);
            let found = parent.and_then(|p| self.chosen(&self.classes.methods(&p.name, method, args.len()), &values));
            let (Some((class, found)), Some((this, _))) = (found, self.frame.this.clone()) else {
                return self.unknown(&format!("`super.{method}`"), span);
            };
            let args = self.converted(class, found, args, values);
            return self.direct(class, found, Some(this), Some("this"), args, span);
        }
        if let Some(value) = self.model_call(object, method, args, span) {
            return value;
        }
        if tree::is_current_thread(object) {
            return self.current_thread_call(method, args, span);
        }
        if let Some(value) = self.library_static(object, method, args, span) {
            return value;
        }
        if let Some(class) = self.class_named(object) {
            let values = self.arguments(args);
            let candidates = self.classes.methods(&class.name, method, args.len());
            let Some((class, found)) = self.chosen(&candidates, &values).filter(|(_, m)| m.modifiers.is_static) else {
                return self.unknown(&format!("`{}.{method}`", class.name), span);
            };
            let args = self.converted(class, found, args, values);
            return self.direct(class, found, None, None, args, span);
        }
        if let Some(value) = self.own_thread_call(object, method, args, span) {
            return value;
        }
        if self.is_scalar_object(object) {
            return self.scalar_call(object, method, args, span);
        }
        let ty = self.static_type(object);
        if let Ty::Enum(_) = ty {
            return self.enum_call(object, method, span);
        }
        let held_by = self.steady_variable(object);
        let is_user = matches!(&ty, Ty::Ref(class, _) if self.classes.get(class).is_some());
        if is_user {
            let receiver = self.expr(object);
            let receiver = match args.iter().find(|a| self.has_effects(a)) {
                Some(arg) => self.kept(receiver, arg, object.span),
                None => receiver,
            };
            return self.virtual_call(receiver, held_by.as_deref(), object.span, method, args, span);
        }
        let Some(receiver) = self.receiver(object) else {
            args.iter().for_each(|a| self.effects(a));
            return Val::new(boolean(false, span), Ty::Unknown);
        };
        if let Ty::Ref(class, _) = &receiver.ty
            && self.classes.get(class).is_some()
            && let super::place::Base::Heap(object_expr) = &receiver.base
        {
            // A call or a cast whose type was not plain from the text.
            let value = Val::new(object_expr.clone(), receiver.ty.clone());
            return self.virtual_call(value, held_by.as_deref(), object.span, method, args, span);
        }
        self.library_call(&receiver, object, method, args, span)
    }

    /// A call without an object: of the class at hand, its supertypes, or the classes around.
    fn own_call(&mut self, method: &'a str, name_span: Span, args: &'a [tree::JavaExpr], span: Span) -> Val {
        let mut at = self.frame.class;
        while let Some(class) = at {
            let candidates = self.classes.methods(&class.name, method, args.len());
            if !candidates.is_empty() {
                let values = self.arguments(args);
                let Some((owner, found)) = self.chosen(&candidates, &values) else {
                    return self.unknown(&format!("which `{method}` is meant"), span);
                };
                if found.modifiers.is_static {
                    let args = self.converted(owner, found, args, values);
                    return self.direct(owner, found, None, None, args, span);
                }
                let own =
                    self.frame.this.as_ref().is_some_and(
                        |(_, ty)| matches!(ty, Ty::Ref(own, _) if self.classes.is_subclass(own, &owner.name)),
                    );
                return match self.surrounding(&owner.name, span) {
                    Some(receiver) => {
                        let held_by = own.then_some("this");
                        self.virtual_with(receiver, held_by, name_span, (method, args, values), span)
                    }
                    None => self.unknown(&format!("`{method}` of an object around this one"), span),
                };
            }
            at = class.outer.as_ref().and_then(|o| self.classes.get(o));
        }
        if let Some((this, ty)) = self.frame.this.clone() {
            let named = Some(super::body::Named::Of("this".into(), None));
            let receiver = super::place::Receiver {
                base: super::place::Base::Heap(this),
                ty,
                named,
                object: Some("this".into()),
                length: None,
            };
            if self.monitor_call(&receiver, method, args, span).is_some() {
                return Val::new(boolean(false, span), Ty::Void);
            }
            if self.classes.is_subclass(&receiver.class(), "Thread") && receiver.class() != "Thread" {
                return self.thread_call(&receiver, None, method, args, span);
            }
        }
        if self.paper_lock(method, args, span) {
            return Val::new(boolean(false, span), Ty::Void);
        }
        args.iter().for_each(|a| self.effects(a));
        self.unknown(&format!("the call of `{method}`"), span)
    }

    fn virtual_call(
        &mut self,
        receiver: Val,
        held_by: Option<&str>,
        at: Span,
        method: &'a str,
        args: &'a [tree::JavaExpr],
        span: Span,
    ) -> Val {
        let values = self.arguments(args);
        self.virtual_with(receiver, held_by, at, (method, args, values), span)
    }

    fn virtual_with(
        &mut self,
        receiver: Val,
        held_by: Option<&str>,
        at: Span,
        (method, args, values): (&'a str, &'a [tree::JavaExpr], Vec<Val>),
        span: Span,
    ) -> Val {
        let Ty::Ref(class_name, _) = receiver.ty.clone() else {
            return Val::new(boolean(false, span), Ty::Unknown);
        };
        let candidates = self.classes.methods(&class_name, method, args.len());
        let Some((class, found)) = self.chosen(&candidates, &values) else {
            // A method of `Object` or of `Thread`.
            let named = held_by.map(|h| super::body::Named::Of(h.to_owned(), None));
            let base = super::place::Base::Heap(self.dereferenced(receiver.clone(), at));
            let object = held_by.map(str::to_owned);
            let library = super::place::Receiver { base, ty: receiver.ty.clone(), named, object, length: None };
            if self.classes.is_subclass(&class_name, "Thread") {
                return self.thread_call(&library, receiver.exact.as_deref(), method, args, span);
            }
            if self.monitor_call(&library, method, args, span).is_some() {
                return Val::new(boolean(false, span), Ty::Void);
            }
            return self.unknown(&format!("the call of `{method}`"), span);
        };
        if found.modifiers.is_static {
            let args = self.converted(class, found, args, values);
            return self.direct(class, found, None, None, args, span);
        }
        let arguments = self.converted(class, found, args, values);
        let is_present = matches!(&receiver.expr.kind, crate::lang::ast::ExprKind::Foreign(_));
        if !is_present {
            let there = not(equal(receiver.expr.clone(), null(at), at), at);
            self.check(Checked::Null, there, at);
        }
        let object = present(receiver.expr.clone());
        let callees = self.implementations(&class_name, receiver.exact.as_deref(), class, found);
        match &callees[..] {
            [(Callee::Method(class, method), _)] => self.direct(class, method, Some(object), held_by, arguments, span),
            [(Callee::Closure(index), _)] => self.closure_call(*index, object, arguments, span),
            [] if found.body.is_some() => self.direct(class, found, Some(object), held_by, arguments, span),
            [] => self.unknown(&format!("`{method}`, which no class that is made has"), span),
            _ => self.dispatch(callees, object, held_by, arguments, (class, found), span),
        }
    }

    /// What a call may run, with the classes for which it does.
    fn implementations(
        &self,
        class_name: &str,
        exact: Option<&str>,
        class: &'a JavaClass,
        found: &'a JavaMethod,
    ) -> Vec<(Callee<'a>, Vec<String>)> {
        let wanted = self.param_types(class, found);
        let made: Vec<String> = match (&self.known, exact) {
            (_, Some(exact)) => vec![exact.to_owned()],
            (Some(known), _) => known.instantiated.iter().filter(|n| self.is_kind_of(n, class_name)).cloned().collect(),
            (None, _) => {
                let all = self.classes.all.iter().filter(|c| c.form == ClassForm::Class && !c.modifiers.is_abstract);
                all.map(|c| c.name.clone()).filter(|n| self.is_kind_of(n, class_name)).collect()
            }
        };
        let mut out: Vec<(Callee<'a>, Vec<String>)> = Vec::new();
        for name in made {
            if let Some(index) = self.closures.iter().position(|c| c.class == name) {
                out.push((Callee::Closure(index), vec![name]));
                continue;
            }
            let own = self.classes.methods(&name, &found.name, found.params.len());
            let Some((class, method)) =
                own.into_iter().find(|(c, m)| m.body.is_some() && self.param_types(c, m) == wanted)
            else {
                continue;
            };
            let same = out.iter_mut().find(|(c, _)| matches!(c, Callee::Method(_, m) if std::ptr::eq(*m, method)));
            match same {
                Some((_, names)) => names.push(name),
                None => out.push((Callee::Method(class, method), vec![name])),
            }
        }
        out
    }

    /// A call whose method depends on the class of the object.
    fn dispatch(
        &mut self,
        callees: Vec<(Callee<'a>, Vec<String>)>,
        object: Expr,
        held_by: Option<&str>,
        arguments: Vec<Expr>,
        (class, found): (&'a JavaClass, &'a JavaMethod),
        span: Span,
    ) -> Val {
        let ty = found.result.as_ref().map_or(Ty::Void, |t| self.classes.ty(t, &type_params(class, found)));
        let result = if ty == Ty::Void || ty == Ty::Unknown { None } else { Some(self.open_temp("result", &ty, span)) };
        let tag = field(object.clone(), "class", span);
        let mut otherwise: Option<Vec<crate::lang::ast::Stmt>> = None;
        for (callee, names) in callees.into_iter().rev() {
            let body = self.branch(|t| {
                let value = match callee {
                    Callee::Method(class, method) => {
                        t.direct(class, method, Some(object.clone()), held_by, arguments.clone(), span)
                    }
                    Callee::Closure(index) => t.closure_call(index, object.clone(), arguments.clone(), span),
                };
                if let Some(result) = &result {
                    let value = t.convert(value, &ty, span);
                    t.push_stmt(assign(result.clone(), value, span));
                }
            });
            otherwise = Some(match otherwise {
                None => body,
                Some(rest) => {
                    let cases: Vec<Expr> =
                        names.iter().map(|n| equal(tag.clone(), int(self.class_number(n), span), span)).collect();
                    let condition = if cases.len() == 1 { cases[0].clone() } else { or(cases, span) };
                    vec![if_else(condition, body, Some(rest), span)]
                }
            });
        }
        otherwise.unwrap_or_default().into_iter().for_each(|s| self.push_stmt(s));
        match result {
            Some(result) => Val::new(result, ty),
            None => Val::new(boolean(false, span), ty),
        }
    }

    /// The call of one method.
    pub(super) fn direct(
        &mut self,
        class: &'a JavaClass,
        method: &'a JavaMethod,
        this: Option<Expr>,
        held_by: Option<&str>,
        arguments: Vec<Expr>,
        span: Span,
    ) -> Val {
        let ty = method.result.as_ref().map_or(Ty::Void, |t| self.classes.ty(t, &type_params(class, method)));
        let base = self.proc_name(class, method);
        let specified = self.is_specified(class, method);
        let code = JobCode::Method(class, method);
        let passed = Passed { this, held_by, arguments, specified };
        self.call_procedure(base, &method.name, code, passed, ty, span)
    }

    /// Calls a procedure. Where someone catches what it may throw, a copy of it that says what was thrown; where it calls itself, one copy for each
    /// level, and what lies deeper than the last is outside the model.
    fn call_procedure(
        &mut self,
        base: String,
        shown: &str,
        code: JobCode<'a>,
        passed: Passed<'_>,
        ty: Ty,
        span: Span,
    ) -> Val {
        let Passed { this, held_by, arguments, specified } = passed;
        if self.known.as_ref().is_none_or(|k| k.starts_elsewhere) {
            self.frame.phase = Phase::Together;
        }
        let recursive = !specified && self.is_recursive(&base);
        let level = if recursive { self.frame.level + 1 } else { 1 };
        let mut calls = 0;
        tree::expressions(self.frame.code, &mut |e| {
            calls += usize::from(matches!(&e.kind, JavaExprKind::Call { name, .. } if name == shown));
        });
        if level > if calls > 1 { DEEPEST_BRANCHING_RECURSION } else { DEEPEST_RECURSION } {
            let shown = shown.trim_matches(['<', '>']);
            self.unmodelled(&format!("more calls of `{shown}` inside each other than are looked at"), span);
            let value = self.default_value(&ty, span);
            return Val::new(value, ty);
        }
        let mut caught = if specified { Vec::new() } else { self.caught_here() };
        if let JobCode::Method(class, _) = &code
            && !self.in_library_class()
        {
            // What the library throws is thrown where it is called.
            caught.extend(self.thrown_by_library(class));
            caught.sort();
            caught.dedup();
        }
        let may_throw = !caught.is_empty();
        let proc = self.want(base, code, caught, level);
        self.note_call(&proc, held_by);
        let args: Vec<Expr> = this.into_iter().chain(arguments).collect();
        if !may_throw {
            return match ty {
                Ty::Void => {
                    self.call_statement(&proc, args, span);
                    Val::new(boolean(false, span), Ty::Void)
                }
                ty => {
                    let value = self.call_value(&proc, args, &ty, span);
                    Val::new(value, ty)
                }
            };
        }
        let result = (ty != Ty::Void).then(|| self.open_temp("result", &ty, span));
        let thrown = self.open_int("thrown", span);
        let call = Spanned::new(ast::ExprKind::Call(Box::new(call(&proc, args, span))), span);
        let targets: Vec<Expr> = result.iter().cloned().chain([thrown.clone()]).collect();
        self.push(ast::StmtKind::Assign { targets, value: as_value(call) }, span);
        let inner = self.branch(|t| t.raise_number(thrown.clone(), span));
        self.push_stmt(if_else(not(equal(thrown, int(0, span), span), span), inner, None, span));
        Val::new(result.unwrap_or_else(|| boolean(false, span)), ty)
    }

    fn in_library_class(&self) -> bool {
        self.frame.class.is_some_and(|c| c.surroundings.is_library)
    }

    /// The exceptions that a class of the library throws, or one beside it that it uses.
    fn thrown_by_library(&self, class: &JavaClass) -> Vec<String> {
        let mut out = Vec::new();
        if !class.surroundings.is_library {
            return out;
        }
        for class in self.classes.all.iter().filter(|c| c.span.file == class.span.file) {
            tree::in_class(class, &mut |e| match &e.kind {
                JavaExprKind::Index(..) => out.push("ArrayIndexOutOfBoundsException".to_owned()),
                JavaExprKind::New { ty, .. } => {
                    if let tree::JavaTypeKind::Named(name, _) = &ty.kind
                        && self.classes.is_exception(name)
                        && (name != "InterruptedException" || self.classes.interrupts)
                    {
                        out.push(name.clone());
                    }
                }
                _ => {}
            });
        }
        out
    }

    /// Whether annotations say what a method does.
    fn is_specified(&self, class: &JavaClass, method: &JavaMethod) -> bool {
        use crate::java::dialect::NoteKind;
        let index = super::notes::method_index(class, method);
        let owner = super::notes::Owner::Method(class.name.clone(), index);
        self.alone
            && self
                .notes
                .of(&owner)
                .any(|n| matches!(n.kind, NoteKind::Requires(_) | NoteKind::Ensures(_) | NoteKind::Performs(_)))
    }

    pub(super) fn closure_call(&mut self, index: usize, object: Expr, arguments: Vec<Expr>, span: Span) -> Val {
        let base = self.closures[index].proc_name();
        let Closure { captures, class, result, .. } = self.closures[index].clone();
        let captured = captures.iter().map(|(name, _)| field(object.clone(), format!("{class}.{name}"), span));
        let args: Vec<Expr> = captured.chain(arguments).collect();
        let passed = Passed { this: None, held_by: None, arguments: args, specified: false };
        self.call_procedure(base, "a lambda", JobCode::Closure(index), passed, result, span)
    }

    /// `super(..)` at the beginning of a constructor, written or not.
    pub(super) fn super_constructor(&mut self, class: &'a JavaClass, args: &'a [tree::JavaExpr], span: Span) {
        let Some(parent) = &class.extends else { return };
        let tree::JavaTypeKind::Named(parent, _) = &parent.kind else { return };
        match self.classes.get(parent) {
            Some(parent) => {
                if let Some((this, _)) = self.frame.this.clone() {
                    self.construct(parent, this, args, span);
                }
            }
            None if parent == "Thread" || parent == "Object" => {
                // The name of a thread says nothing; a target would be run by `Thread.run`, which is overridden.
                args.iter().for_each(|a| self.effects(a));
            }
            None => self.unmodelled(&format!("the class `{parent}`, which is not given"), span),
        }
    }

    pub(super) fn explicit_constructor(&mut self, of_super: bool, args: &'a [tree::JavaExpr], span: Span) {
        let Some(class) = self.frame.class else { return };
        if of_super {
            return self.super_constructor(class, args, span);
        }
        if let Some((this, _)) = self.frame.this.clone() {
            self.construct(class, this, args, span);
        }
    }

    /// Runs the constructor of a class on an object.
    pub(super) fn construct(&mut self, class: &'a JavaClass, object: Expr, args: &'a [tree::JavaExpr], span: Span) {
        let constructors: Vec<(&'a JavaClass, &'a JavaMethod)> = class
            .methods
            .iter()
            .filter(|m| m.name == CONSTRUCTOR && m.params.len() == args.len())
            .map(|m| (class, m))
            .collect();
        let none_written = !class.methods.iter().any(|m| m.name == CONSTRUCTOR);
        if none_written && args.is_empty() {
            let needed = class.extends.is_some()
                || class.initializers.iter().any(|i| !i.is_static)
                || class.fields.iter().any(|f| !f.modifiers.is_static && f.value.is_some());
            if needed {
                let passed =
                    Passed { this: Some(object), held_by: Some("new"), arguments: Vec::new(), specified: false };
                let base = format!("new {}", class.name);
                self.call_procedure(base, &class.name, JobCode::Constructor(class), passed, Ty::Void, span);
            }
            return;
        }
        let values = self.arguments(args);
        let Some((class, found)) = self.chosen(&constructors, &values) else {
            return self.unmodelled(&format!("the constructor of `{}`", class.name), span);
        };
        let arguments = self.converted(class, found, args, values);
        let held_by = matches!(&object.kind, crate::lang::ast::ExprKind::Foreign(_)).then_some("this");
        let own = self.frame.this.as_ref().is_some_and(|(this, _)| *this == object);
        self.direct(class, found, Some(object), held_by.filter(|_| own), arguments, span);
    }

    pub(super) fn new_object(
        &mut self,
        e: &'a tree::JavaExpr,
        (ty, wanted): (&'a tree::JavaType, Option<&Ty>),
        args: &'a [tree::JavaExpr],
        body: Option<&'a JavaClass>,
    ) -> Val {
        let span = e.span;
        let mut made = self.classes.ty(ty, &self.frame.type_params);
        // `new ArrayList<>()` holds what the variable holds.
        if let (Ty::Ref(name, held), Some(Ty::Ref(_, wanted))) = (&mut made, wanted)
            && held.is_empty()
            && super::types::collected(name).is_some()
        {
            held.clone_from(wanted);
        }
        if let (Ty::Thrown(name), None) = (&made, body) {
            return self.new_exception(&name.clone(), args, span);
        }
        let Ty::Ref(class_name, _) = &made else {
            args.iter().for_each(|a| self.effects(a));
            let shown = match &ty.kind {
                tree::JavaTypeKind::Named(n, _) => n.clone(),
                _ => "such a class".into(),
            };
            return self.unknown(&format!("objects of `{shown}`"), span);
        };
        if body.is_some() {
            return self.closure_object(e, &made);
        }
        match self.classes.get(class_name) {
            Some(class) if class.form == ClassForm::Class && !class.modifiers.is_abstract => {
                let bare = class.outer.is_some() && !class.modifiers.is_static && !class.surroundings.has_outer_object;
                if bare && self.uses_outer(class) {
                    return self.unknown(&format!("`{}`, which uses the object around it", class.name), span);
                }
                let object = self.allocate(&made, span);
                self.keep_surroundings(class, &object, span);
                self.construct(class, object.clone(), args, span);
                Val { exact: Some(class.name.clone()), ..Val::new(object, made) }
            }
            Some(class) => self.unknown(&format!("objects of `{}`", class.name), span),
            None if class_name == "Thread" => self.new_thread(args, span),
            None => {
                let object = self.allocate(&made, span);
                let base = super::place::Base::Heap(object.clone());
                let receiver =
                    super::place::Receiver { base, ty: made.clone(), named: None, object: None, length: None };
                self.initialize_library(&receiver, e);
                Val::new(object, made)
            }
        }
    }

    /// Whether an inner class names instance members of the class around it.
    fn uses_outer(&self, class: &JavaClass) -> bool {
        let Some(outer) = class.outer.as_ref().and_then(|o| self.classes.get(o)) else { return false };
        let mut uses = false;
        tree::in_class(class, &mut |e| match &e.kind {
            JavaExprKind::Name(n) => {
                let own = self.classes.field(&class.name, n).is_some();
                uses |= !own && self.classes.field(&outer.name, n).is_some_and(|(_, f)| !f.modifiers.is_static);
            }
            JavaExprKind::Call { object: None, name, args, .. } => {
                let own = !self.classes.methods(&class.name, name, args.len()).is_empty();
                let around = self.classes.methods(&outer.name, name, args.len());
                uses |= !own && around.iter().any(|(_, m)| !m.modifiers.is_static);
            }
            JavaExprKind::Field(base, field, _) => {
                uses |= field == "this" && matches!(&base.kind, JavaExprKind::Name(n) if *n == outer.name);
            }
            _ => {}
        });
        uses
    }

    fn enum_call(&mut self, object: &'a tree::JavaExpr, method: &str, span: Span) -> Val {
        let value = self.expr(object);
        if matches!(method, "name" | "toString") {
            return self.some_text(span);
        }
        if method == "sleep" && name_of(object).contains("TimeUnit") {
            self.raise_if_interrupted(span);
            return Val::new(boolean(false, span), Ty::Void);
        }
        if method != "ordinal" {
            return self.unknown(&format!("`{}.{method}`", name_of(object)), span);
        }
        let there = not(equal(value.expr.clone(), int(0, span), span), span);
        self.check(Checked::Null, there, span);
        let number = binary(crate::lang::ast::Binary::Subtract, value.expr, int(1, span), span);
        let number = convert(machine(32, crate::lang::ast::Sign::Signed, span), number, span);
        Val::new(self.bind("ordinal", &Ty::INT, as_value(number), span), Ty::INT)
    }
}

fn widens(from: Width, to: Width) -> bool {
    match (from, to) {
        (Width::Char, Width::Int | Width::Long) => true,
        (Width::Char, _) | (_, Width::Char) => false,
        _ => from.bits() <= to.bits(),
    }
}
