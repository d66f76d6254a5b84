//! Local and anonymous classes become classes of their own, with fields for the variables around them that they use (JLS 8.1.3, 15.9.5).
//!
//! In: bodies with classes in them. Out: the same without; `new` of such a class sets the fields before its constructor runs. An anonymous
//! class of one method that keeps nothing stays where it is: it is a lambda. The type of a variable that the text does not tell is unknown, and so is what uses it.
//! Deliberately absent: classes inside anonymous classes.

use crate::java::tree::{
    self, CONSTRUCTOR, ClassForm, JavaClass, JavaExpr, JavaExprKind, JavaField, JavaMethod, JavaModifiers, JavaParam,
    JavaStmt, JavaStmtKind, JavaType, JavaTypeKind, JavaUnit,
};
use std::collections::{BTreeMap, BTreeSet};

/// What is asked of the other classes.
struct Known {
    fields: BTreeSet<String>,
    supers: Vec<String>,
    form: ClassForm,
    /// Types of the parameters of constructors.
    constructors: Vec<Vec<JavaType>>,
    abstract_methods: usize,
}

struct Lifter {
    known: BTreeMap<String, Known>,
    out: Vec<JavaClass>,
    /// Variables in scope, with their types where the text tells.
    scope: Vec<(String, Option<JavaType>)>,
    class: String,
    is_static: bool,
    type_params: Vec<String>,
    numbers: BTreeMap<String, usize>,
}

pub(super) fn local_classes(unit: &mut JavaUnit) {
    let known = unit.classes.iter().map(|c| (c.name.clone(), known(c))).collect();
    let mut lifter = Lifter {
        known,
        out: Vec::new(),
        scope: Vec::new(),
        class: String::new(),
        is_static: false,
        type_params: Vec::new(),
        numbers: BTreeMap::new(),
    };
    unit.classes.iter_mut().for_each(|c| lifter.class(c));
    unit.classes.append(&mut lifter.out);
}

fn known(class: &JavaClass) -> Known {
    let named = |t: &JavaType| match &t.kind {
        JavaTypeKind::Named(n, _) => Some(n.clone()),
        _ => None,
    };
    let constructors = class.methods.iter().filter(|m| m.name == CONSTRUCTOR);
    Known {
        fields: class.fields.iter().map(|f| f.name.clone()).collect(),
        supers: class.extends.iter().chain(&class.implements).filter_map(named).collect(),
        form: class.form,
        constructors: constructors.map(|m| m.params.iter().map(|p| p.ty.clone()).collect()).collect(),
        abstract_methods: class.methods.iter().filter(|m| m.body.is_none()).count(),
    }
}

/// The type of a variable that is declared with `var`, where its value tells.
fn told_by(value: Option<&JavaExpr>) -> Option<JavaType> {
    let value = value?;
    let plain = |kind| Some(JavaType { kind, span: value.span });
    match &value.kind {
        JavaExprKind::New { ty, .. } | JavaExprKind::Cast(ty, _) => Some(ty.clone()),
        JavaExprKind::Int(_) => plain(JavaTypeKind::Int),
        JavaExprKind::Long(_) => plain(JavaTypeKind::Long),
        JavaExprKind::Bool(_) => plain(JavaTypeKind::Boolean),
        JavaExprKind::Text(_) => plain(JavaTypeKind::Named("String".into(), Vec::new())),
        _ => None,
    }
}

fn is_var(ty: &JavaType) -> bool {
    matches!(&ty.kind, JavaTypeKind::Named(n, _) if n == "var")
}

impl Lifter {
    fn class(&mut self, class: &mut JavaClass) {
        let scope = std::mem::take(&mut self.scope);
        let name = std::mem::replace(&mut self.class, class.name.clone());
        let was_static = self.is_static;
        let around: Vec<String> = class.type_params.iter().chain(&class.surroundings.type_params).cloned().collect();
        let params = std::mem::replace(&mut self.type_params, around.clone());
        for field in &mut class.fields {
            self.is_static = field.modifiers.is_static;
            if let Some(value) = &mut field.value {
                self.expr(value);
            }
        }
        for initializer in &mut class.initializers {
            self.is_static = initializer.is_static;
            self.block(&mut initializer.body);
        }
        for method in &mut class.methods {
            self.is_static = method.modifiers.is_static;
            self.type_params = around.iter().chain(&method.type_params).cloned().collect();
            self.scope = method.params.iter().map(|p| (p.name.clone(), Some(p.ty.clone()))).collect();
            if let Some(body) = &mut method.body {
                self.block(body);
            }
            self.scope.clear();
        }
        self.scope = scope;
        self.class = name;
        self.is_static = was_static;
        self.type_params = params;
    }

    fn block(&mut self, stmts: &mut [JavaStmt]) {
        let depth = self.scope.len();
        stmts.iter_mut().for_each(|s| self.stmt(s));
        self.scope.truncate(depth);
    }

    fn inner(&mut self, stmt: &mut JavaStmt) {
        self.block(std::slice::from_mut(stmt));
    }

    fn stmt(&mut self, stmt: &mut JavaStmt) {
        match &mut stmt.kind {
            JavaStmtKind::Local { ty, name, value, .. } => {
                let told = if is_var(ty) { told_by(value.as_ref()) } else { Some(ty.clone()) };
                if let Some(value) = value {
                    self.expr(value);
                }
                // A class that was anonymous has a name now.
                let told = if is_var(ty) { told_by(value.as_ref()).or(told) } else { told };
                self.scope.push((name.clone(), told));
            }
            JavaStmtKind::Several(inner) => inner.iter_mut().for_each(|s| self.stmt(s)),
            JavaStmtKind::Expr(e) | JavaStmtKind::Throw(e) | JavaStmtKind::Yield(e) => self.expr(e),
            JavaStmtKind::Block(inner) => self.block(inner),
            JavaStmtKind::If(c, yes, no) => {
                self.expr(c);
                self.inner(yes);
                if let Some(no) = no {
                    self.inner(no);
                }
            }
            JavaStmtKind::While(c, body) | JavaStmtKind::DoWhile(body, c) => {
                self.expr(c);
                self.inner(body);
            }
            JavaStmtKind::For { init, condition, update, body } => {
                let depth = self.scope.len();
                init.iter_mut().for_each(|s| self.stmt(s));
                condition.iter_mut().chain(update).for_each(|e| self.expr(e));
                self.inner(body);
                self.scope.truncate(depth);
            }
            JavaStmtKind::ForEach { ty, name, over, body, .. } => {
                self.expr(over);
                let depth = self.scope.len();
                self.scope.push((name.clone(), Some(ty.clone()).filter(|t| !is_var(t))));
                self.inner(body);
                self.scope.truncate(depth);
            }
            JavaStmtKind::Labeled(_, body) => self.inner(body),
            JavaStmtKind::Return(value) => value.iter_mut().for_each(|e| self.expr(e)),
            JavaStmtKind::Assert(c, message) => {
                self.expr(c);
                message.iter_mut().for_each(|e| self.expr(e));
            }
            JavaStmtKind::Synchronized(e, body) => {
                self.expr(e);
                self.block(body);
            }
            JavaStmtKind::Try { body, catches, finally } => {
                self.block(body);
                for clause in catches {
                    let depth = self.scope.len();
                    self.scope.push((clause.name.clone(), clause.types.first().cloned()));
                    self.block(&mut clause.body);
                    self.scope.truncate(depth);
                }
                finally.iter_mut().for_each(|b| self.block(b));
            }
            JavaStmtKind::Switch { on, cases } => {
                self.expr(on);
                let depth = self.scope.len();
                for case in cases {
                    case.body.iter_mut().for_each(|s| self.stmt(s));
                }
                self.scope.truncate(depth);
            }
            JavaStmtKind::Construct { args, .. } => args.iter_mut().for_each(|e| self.expr(e)),
            JavaStmtKind::LocalClass(classes) => {
                let mut classes = std::mem::take(classes);
                stmt.kind = JavaStmtKind::Empty;
                let Some(local) = classes.pop() else { return };
                for class in classes.iter().chain([&local]) {
                    self.known.insert(class.name.clone(), known(class));
                }
                for mut inner in classes {
                    self.class(&mut inner);
                    self.out.push(inner);
                }
                self.lift(local);
            }
            JavaStmtKind::Empty | JavaStmtKind::Break(_) | JavaStmtKind::Continue(_) | JavaStmtKind::Unknown(_) => {}
        }
    }

    fn expr(&mut self, e: &mut JavaExpr) {
        match &mut e.kind {
            JavaExprKind::Field(e, ..)
            | JavaExprKind::Unary(_, e)
            | JavaExprKind::Step { place: e, .. }
            | JavaExprKind::Cast(_, e)
            | JavaExprKind::InstanceOf(e, _)
            | JavaExprKind::MethodReference(e, _) => self.expr(e),
            JavaExprKind::Index(a, b) | JavaExprKind::Binary(_, a, b) | JavaExprKind::Assign(a, _, b) => {
                self.expr(a);
                self.expr(b);
            }
            JavaExprKind::Conditional(parts) => parts.iter_mut().for_each(|e| self.expr(e)),
            JavaExprKind::Call { object, args, .. } => {
                object.iter_mut().for_each(|e| self.expr(e));
                args.iter_mut().for_each(|e| self.expr(e));
            }
            JavaExprKind::NewArray { sizes, values, .. } => {
                sizes.iter_mut().chain(values.iter_mut().flatten()).for_each(|e| self.expr(e));
            }
            JavaExprKind::ArrayValues(values) => values.iter_mut().for_each(|e| self.expr(e)),
            JavaExprKind::Lambda { params, body, .. } => {
                let depth = self.scope.len();
                self.scope.extend(params.iter().map(|p| (p.clone(), None)));
                self.block(body);
                self.scope.truncate(depth);
            }
            JavaExprKind::Switch(stmt) => self.inner(stmt),
            JavaExprKind::New { ty, args, body } => {
                args.iter_mut().for_each(|e| self.expr(e));
                if body.as_ref().is_some_and(|b| !self.is_lambda(ty, args, b)) {
                    self.anonymous(ty, args, body);
                } else if let Some(class) = body {
                    let depth = self.scope.len();
                    for method in &mut class.methods {
                        self.scope.extend(method.params.iter().map(|p| (p.name.clone(), Some(p.ty.clone()))));
                        if let Some(body) = &mut method.body {
                            self.block(body);
                        }
                        self.scope.truncate(depth);
                    }
                }
            }
            _ => {}
        }
    }

    /// An anonymous class that is as good as a lambda.
    fn is_lambda(&self, ty: &JavaType, args: &[JavaExpr], body: &JavaClass) -> bool {
        let JavaTypeKind::Named(name, _) = &ty.kind else { return false };
        let fits = match self.known.get(name) {
            Some(known) => known.form == ClassForm::Interface && known.abstract_methods == 1 && known.supers.is_empty(),
            None => name == "Runnable" || name == "Thread",
        };
        let [method] = &body.methods[..] else { return false };
        let plain = body.fields.is_empty() && body.initializers.is_empty() && body.unknown.is_empty();
        let mut own = false;
        tree::expressions(method.body.as_deref().unwrap_or(&[]), &mut |e| {
            own |= matches!(e.kind, JavaExprKind::This);
            own |= name == "Thread" && matches!(&e.kind, JavaExprKind::Call { object: None, .. });
        });
        fits && plain && !own && args.is_empty() && !method.modifiers.is_synchronized
    }

    fn anonymous(&mut self, ty: &mut JavaType, args: &[JavaExpr], body: &mut Option<Box<JavaClass>>) {
        let JavaTypeKind::Named(name, _) = &ty.kind else { return };
        let is_interface = match self.known.get(name) {
            Some(known) => known.form == ClassForm::Interface,
            None => name == "Runnable",
        };
        let mut constructor = None;
        if !args.is_empty() {
            let fitting = self
                .known
                .get(name)
                .map(|k| k.constructors.iter().filter(|c| c.len() == args.len()).cloned().collect::<Vec<_>>());
            match fitting.as_deref() {
                Some([only]) => constructor = Some(only.clone()),
                // Which constructor is meant is not told: the expression is reported where it stands.
                _ => return,
            }
        }
        let Some(mut class) = body.take() else { return };
        let outermost = self.class.split('$').next().unwrap_or_default().to_owned();
        let number = self.numbers.entry(outermost.clone()).or_default();
        *number += 1;
        class.name = format!("{outermost}${number}");
        if is_interface {
            class.implements.push(ty.clone())
        } else {
            class.extends = Some(ty.clone())
        }
        if let Some(types) = constructor {
            class.methods.push(passing_on(types, class.name_span));
        }
        let kind = JavaTypeKind::Named(class.name.clone(), Vec::new());
        *ty = JavaType { kind, span: ty.span };
        self.lift(*class);
    }

    /// Makes a class of a body one of the unit.
    fn lift(&mut self, mut class: JavaClass) {
        let mut names: BTreeSet<&str> = BTreeSet::new();
        tree::in_class(&class, &mut |e| {
            if let JavaExprKind::Name(n) = &e.kind {
                names.insert(n);
            }
        });
        let supers: Vec<String> = known(&class).supers;
        let mut captured: Vec<(String, Option<JavaType>)> = Vec::new();
        for (name, ty) in self.scope.iter().rev() {
            let wanted = names.contains(&name[..]) && !captured.iter().any(|(n, _)| n == name);
            let own = class.fields.iter().any(|f| f.name == *name);
            if wanted && !own && !supers.iter().any(|s| self.inherits(s, name, 32)) {
                captured.push((name.clone(), ty.clone()));
            }
        }
        for (name, ty) in captured {
            let span = class.name_span;
            let unknown = || JavaType { kind: JavaTypeKind::Real, span };
            class.fields.push(JavaField {
                name: name.clone(),
                ty: ty.unwrap_or_else(unknown),
                modifiers: JavaModifiers { is_final: true, ..JavaModifiers::default() },
                value: None,
                span,
                name_span: span,
            });
            class.surroundings.captured.push(name);
        }
        class.outer = Some(self.class.clone());
        class.surroundings.is_in_body = true;
        class.surroundings.has_outer_object =
            !self.is_static && !class.modifiers.is_static && class.form == ClassForm::Class;
        class.surroundings.type_params = self.type_params.clone();
        self.known.insert(class.name.clone(), known(&class));
        self.class(&mut class);
        self.out.push(class);
    }

    fn inherits(&self, class: &str, field: &str, depth: usize) -> bool {
        let Some(known) = self.known.get(class) else { return false };
        known.fields.contains(field) || (depth > 0 && known.supers.iter().any(|s| self.inherits(s, field, depth - 1)))
    }
}

/// The constructor of an anonymous class: it passes its arguments on.
fn passing_on(types: Vec<JavaType>, span: base::Span) -> JavaMethod {
    let params: Vec<JavaParam> =
        types.into_iter().enumerate().map(|(i, ty)| JavaParam { name: format!("argument{i}"), ty, span }).collect();
    let args = params.iter().map(|p| JavaExpr { kind: JavaExprKind::Name(p.name.clone()), span }).collect();
    let body = vec![JavaStmt { kind: JavaStmtKind::Construct { of_super: true, args }, span }];
    JavaMethod {
        name: CONSTRUCTOR.to_owned(),
        params,
        result: None,
        modifiers: JavaModifiers::default(),
        type_params: Vec::new(),
        body: Some(body),
        span,
        name_span: span,
        body_span: span,
    }
}
