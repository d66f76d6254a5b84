//! Generic classes: one class for each list of type arguments that the program writes.
//!
//! Types are erased when Java runs, and an `Integer` is an object like any other; in the model it is a number, so `Cell<Integer>` and `Cell<Thread>` need
//! fields of different types. Where no arguments are written (raw types, wildcards, parameters of methods) the generic class itself is meant, whose parameters are
//! `Object`; the translation reports what passes between the two.
//!
//! In: all classes. Out: the same with instances, named as they are written: `Cell<Integer>`. `new Cell<>()` takes its arguments from where its value goes.
//! Deliberately absent: generic methods.

use crate::java::tree::{
    CONSTRUCTOR, ClassForm, JavaClass, JavaExpr, JavaExprKind, JavaMethod, JavaStmt, JavaStmtKind, JavaType,
    JavaTypeKind, JavaUnit,
};
use std::collections::{BTreeMap, BTreeSet};

/// Instances that one program may have.
const MOST_INSTANCES: usize = 400;

pub(super) fn make_instances(unit: &mut JavaUnit) {
    let table = Table::new(unit);
    for class in &mut unit.classes {
        Inference { table: &table, class: class.clone(), scope: Vec::new(), result: None }.class(class);
    }
    let originals = unit.classes.clone();
    let mut rewriter =
        Rewriter { generic: &table.generic, open: BTreeSet::new(), with: BTreeMap::new(), wanted: Vec::new() };
    for class in &mut unit.classes {
        rewriter.class(class);
    }
    let mut made: BTreeSet<String> = BTreeSet::new();
    let mut at = 0;
    while at < rewriter.wanted.len() && made.len() < MOST_INSTANCES {
        let (base, args) = rewriter.wanted[at].clone();
        at += 1;
        let Some(original) = originals.iter().find(|c| c.name == base) else { continue };
        let name = spelled(&named(&base, args.clone(), original));
        if !made.insert(name.clone()) {
            continue;
        }
        instantiate(&originals, original, &name, args, &mut rewriter, &mut unit.classes);
    }
}

fn named(name: &str, args: Vec<JavaType>, of: &JavaClass) -> JavaType {
    JavaType { kind: JavaTypeKind::Named(name.to_owned(), args), span: of.name_span }
}

/// A copy of a class and of the inner classes whose objects belong to one of it.
fn instantiate(
    originals: &[JavaClass],
    original: &JavaClass,
    name: &str,
    args: Vec<JavaType>,
    rewriter: &mut Rewriter<'_>,
    out: &mut Vec<JavaClass>,
) {
    let mut with: BTreeMap<String, JavaType> = original.type_params.iter().cloned().zip(args).collect();
    let inner: Vec<&JavaClass> = originals.iter().filter(|c| is_inner(c, original)).collect();
    for class in &inner {
        with.insert(class.name.clone(), named(&format!("{name}.{}", class.name), Vec::new(), class));
    }
    let mut copies = vec![(original, name.to_owned())];
    copies.extend(inner.iter().map(|c| (*c, format!("{name}.{}", c.name))));
    for (from, copy_name) in copies {
        let mut copy = from.clone();
        copy.surroundings.instance_of = Some(from.name.clone());
        copy.name = copy_name;
        if std::ptr::eq(from, original) {
            copy.type_params.clear();
            // Statics stay with the class itself, which is looked at for them next.
            if copy.modifiers.is_static || copy.outer.is_none() || copy.form == ClassForm::Interface {
                copy.outer = Some(from.name.clone());
            }
        } else {
            copy.outer = Some(name.to_owned());
            copy.surroundings.type_params.retain(|p| !original.type_params.contains(p));
        }
        copy.fields.retain(|f| !f.modifiers.is_static);
        copy.methods.retain(|m| !m.modifiers.is_static);
        copy.initializers.retain(|i| !i.is_static);
        copy.unknown.clear();
        rewriter.with.clone_from(&with);
        rewriter.class(&mut copy);
        rewriter.with.clear();
        out.push(copy);
    }
}

/// Whether objects of a class belong to objects of another, so that its type parameters are theirs.
fn is_inner(class: &JavaClass, of: &JavaClass) -> bool {
    class.outer.as_ref() == Some(&of.name)
        && class.form == ClassForm::Class
        && !class.modifiers.is_static
        && (!class.surroundings.is_in_body || class.surroundings.has_outer_object)
        && of.form == ClassForm::Class
}

pub(super) fn spelled(ty: &JavaType) -> String {
    match &ty.kind {
        JavaTypeKind::Boolean => "boolean".into(),
        JavaTypeKind::Byte => "byte".into(),
        JavaTypeKind::Short => "short".into(),
        JavaTypeKind::Char => "char".into(),
        JavaTypeKind::Int => "int".into(),
        JavaTypeKind::Long => "long".into(),
        JavaTypeKind::Real => "double".into(),
        JavaTypeKind::Array(inner) => format!("{}[]", spelled(inner)),
        JavaTypeKind::Named(name, args) if args.is_empty() => name.clone(),
        JavaTypeKind::Named(name, args) => {
            let args: Vec<String> = args.iter().map(spelled).collect();
            format!("{name}<{}>", args.join(", "))
        }
    }
}

/// Replaces type parameters, and types with arguments by the names of instances.
struct Rewriter<'t> {
    generic: &'t BTreeMap<String, usize>,
    /// Type parameters in scope.
    open: BTreeSet<String>,
    with: BTreeMap<String, JavaType>,
    wanted: Vec<(String, Vec<JavaType>)>,
}

impl Rewriter<'_> {
    fn ty(&mut self, ty: &mut JavaType) {
        match &mut ty.kind {
            JavaTypeKind::Array(inner) => self.ty(inner),
            JavaTypeKind::Named(name, args) => {
                for arg in args.iter_mut() {
                    // `?` is whatever: an object.
                    if matches!(&arg.kind, JavaTypeKind::Named(n, _) if n == "?") {
                        arg.kind = JavaTypeKind::Named("Object".into(), Vec::new());
                    }
                    self.ty(arg);
                }
                if let Some(with) = self.with.get(name).filter(|_| args.is_empty()) {
                    ty.kind = with.kind.clone();
                    return;
                }
                let closed = !args.is_empty() && args.iter().all(|a| self.is_closed(a));
                if closed && self.generic.get(name) == Some(&args.len()) {
                    self.wanted.push((name.clone(), args.clone()));
                    let whole = spelled(ty);
                    ty.kind = JavaTypeKind::Named(whole, Vec::new());
                }
            }
            _ => {}
        }
    }

    fn is_closed(&self, ty: &JavaType) -> bool {
        match &ty.kind {
            JavaTypeKind::Array(inner) => self.is_closed(inner),
            JavaTypeKind::Named(name, args) => {
                !self.open.contains(name) && !name.contains('?') && args.iter().all(|a| self.is_closed(a))
            }
            _ => true,
        }
    }

    fn class(&mut self, class: &mut JavaClass) {
        let open = self.open.clone();
        self.open.extend(class.type_params.iter().chain(&class.surroundings.type_params).cloned());
        class.extends.iter_mut().chain(&mut class.implements).for_each(|t| self.ty(t));
        for field in &mut class.fields {
            self.ty(&mut field.ty);
            field.value.iter_mut().for_each(|e| self.expr(e));
        }
        class.initializers.iter_mut().for_each(|i| self.stmts(&mut i.body));
        for method in &mut class.methods {
            let (outside, with) = (self.open.clone(), self.with.clone());
            self.open.extend(method.type_params.iter().cloned());
            // A parameter of the method hides one of its class.
            self.with.retain(|name, _| !method.type_params.contains(name));
            method.params.iter_mut().for_each(|p| self.ty(&mut p.ty));
            method.result.iter_mut().for_each(|t| self.ty(t));
            method.body.iter_mut().for_each(|b| self.stmts(b));
            (self.open, self.with) = (outside, with);
        }
        self.open = open;
    }

    fn stmts(&mut self, stmts: &mut [JavaStmt]) {
        stmts.iter_mut().for_each(|s| self.stmt(s));
    }

    fn stmt(&mut self, stmt: &mut JavaStmt) {
        match &mut stmt.kind {
            JavaStmtKind::Local { ty, .. } | JavaStmtKind::ForEach { ty, .. } => self.ty(ty),
            JavaStmtKind::Try { catches, .. } => {
                catches.iter_mut().flat_map(|c| &mut c.types).for_each(|t| self.ty(t));
            }
            _ => {}
        }
        each_part(stmt, &mut |part| match part {
            TreePart::Expr(e) => self.expr(e),
            TreePart::Stmt(s) => self.stmt(s),
        });
    }

    fn expr(&mut self, e: &mut JavaExpr) {
        match &mut e.kind {
            JavaExprKind::New { ty, body, .. } => {
                self.ty(ty);
                body.iter_mut().for_each(|b| self.class(b));
            }
            JavaExprKind::NewArray { element: ty, .. }
            | JavaExprKind::Cast(ty, _)
            | JavaExprKind::InstanceOf(_, ty) => {
                self.ty(ty);
            }
            _ => {}
        }
        each_part_of(e, &mut |part| match part {
            TreePart::Expr(e) => self.expr(e),
            TreePart::Stmt(s) => self.stmt(s),
        });
    }
}

enum TreePart<'p> {
    Expr(&'p mut JavaExpr),
    Stmt(&'p mut JavaStmt),
}

/// The direct parts of a statement.
fn each_part(stmt: &mut JavaStmt, visit: &mut dyn FnMut(TreePart<'_>)) {
    match &mut stmt.kind {
        JavaStmtKind::Local { value, .. } | JavaStmtKind::Return(value) => {
            value.iter_mut().for_each(|e| visit(TreePart::Expr(e)));
        }
        JavaStmtKind::Several(inner) | JavaStmtKind::Block(inner) => {
            inner.iter_mut().for_each(|s| visit(TreePart::Stmt(s)));
        }
        JavaStmtKind::Expr(e) | JavaStmtKind::Throw(e) | JavaStmtKind::Yield(e) => visit(TreePart::Expr(e)),
        JavaStmtKind::If(c, yes, no) => {
            visit(TreePart::Expr(c));
            visit(TreePart::Stmt(yes));
            no.iter_mut().for_each(|s| visit(TreePart::Stmt(s)));
        }
        JavaStmtKind::While(c, body) | JavaStmtKind::DoWhile(body, c) => {
            visit(TreePart::Expr(c));
            visit(TreePart::Stmt(body));
        }
        JavaStmtKind::For { init, condition, update, body } => {
            init.iter_mut().for_each(|s| visit(TreePart::Stmt(s)));
            condition.iter_mut().chain(update).for_each(|e| visit(TreePart::Expr(e)));
            visit(TreePart::Stmt(body));
        }
        JavaStmtKind::ForEach { over, body, .. } => {
            visit(TreePart::Expr(over));
            visit(TreePart::Stmt(body));
        }
        JavaStmtKind::Labeled(_, body) => visit(TreePart::Stmt(body)),
        JavaStmtKind::Assert(c, message) => {
            visit(TreePart::Expr(c));
            message.iter_mut().for_each(|e| visit(TreePart::Expr(e)));
        }
        JavaStmtKind::Synchronized(e, body) => {
            visit(TreePart::Expr(e));
            body.iter_mut().for_each(|s| visit(TreePart::Stmt(s)));
        }
        JavaStmtKind::Try { body, catches, finally } => {
            let handlers = catches.iter_mut().flat_map(|c| &mut c.body);
            body.iter_mut().chain(handlers).chain(finally.iter_mut().flatten()).for_each(|s| visit(TreePart::Stmt(s)));
        }
        JavaStmtKind::Switch { on, cases } => {
            visit(TreePart::Expr(on));
            cases.iter_mut().flat_map(|c| &mut c.body).for_each(|s| visit(TreePart::Stmt(s)));
        }
        JavaStmtKind::Construct { args, .. } => args.iter_mut().for_each(|e| visit(TreePart::Expr(e))),
        JavaStmtKind::Empty
        | JavaStmtKind::Break(_)
        | JavaStmtKind::Continue(_)
        | JavaStmtKind::LocalClass(_)
        | JavaStmtKind::Unknown(_) => {}
    }
}

/// The direct parts of an expression.
fn each_part_of(e: &mut JavaExpr, visit: &mut dyn FnMut(TreePart<'_>)) {
    match &mut e.kind {
        JavaExprKind::Field(e, ..)
        | JavaExprKind::Unary(_, e)
        | JavaExprKind::Step { place: e, .. }
        | JavaExprKind::Cast(_, e)
        | JavaExprKind::InstanceOf(e, _)
        | JavaExprKind::MethodReference(e, _) => visit(TreePart::Expr(e)),
        JavaExprKind::Index(a, b) | JavaExprKind::Binary(_, a, b) | JavaExprKind::Assign(a, _, b) => {
            visit(TreePart::Expr(a));
            visit(TreePart::Expr(b));
        }
        JavaExprKind::Conditional(parts) => parts.iter_mut().for_each(|e| visit(TreePart::Expr(e))),
        JavaExprKind::Call { object, args, .. } => {
            object.iter_mut().for_each(|e| visit(TreePart::Expr(e)));
            args.iter_mut().for_each(|e| visit(TreePart::Expr(e)));
        }
        JavaExprKind::New { args, .. } => args.iter_mut().for_each(|e| visit(TreePart::Expr(e))),
        JavaExprKind::NewArray { sizes, values, .. } => {
            sizes.iter_mut().chain(values.iter_mut().flatten()).for_each(|e| visit(TreePart::Expr(e)));
        }
        JavaExprKind::ArrayValues(values) => values.iter_mut().for_each(|e| visit(TreePart::Expr(e))),
        JavaExprKind::Lambda { body, .. } => body.iter_mut().for_each(|s| visit(TreePart::Stmt(s))),
        JavaExprKind::Switch(stmt) => visit(TreePart::Stmt(stmt)),
        _ => {}
    }
}

/// What inference asks of the classes.
struct Table {
    generic: BTreeMap<String, usize>,
    classes: BTreeMap<String, JavaClass>,
}

impl Table {
    fn new(unit: &JavaUnit) -> Self {
        let forms = |c: &&JavaClass| !c.type_params.is_empty() && c.form != ClassForm::Enum;
        let generic = unit.classes.iter().filter(forms).map(|c| (c.name.clone(), c.type_params.len())).collect();
        Self { generic, classes: unit.classes.iter().map(|c| (c.name.clone(), c.clone())).collect() }
    }

    /// The arguments that make a class fit a type.
    fn arguments(&self, class: &str, wanted: &JavaType, depth: usize) -> Option<Vec<JavaType>> {
        let JavaTypeKind::Named(name, args) = &wanted.kind else { return None };
        if args.is_empty() || depth == 0 {
            return None;
        }
        if name == class {
            return Some(args.clone());
        }
        let found = self.classes.get(class)?;
        for parent in found.extends.iter().chain(&found.implements) {
            let JavaTypeKind::Named(parent, passed) = &parent.kind else { continue };
            let Some(theirs) = self.arguments(parent, wanted, depth - 1) else { continue };
            let own = found.type_params.iter().map(|p| {
                let at = passed.iter().position(|t| matches!(&t.kind, JavaTypeKind::Named(n, _) if n == p))?;
                theirs.get(at).cloned()
            });
            return own.collect();
        }
        None
    }

    fn field(&self, class: &str, name: &str, depth: usize) -> Option<JavaType> {
        let class = self.classes.get(class)?;
        if let Some(field) = class.fields.iter().find(|f| f.name == name) {
            return Some(field.ty.clone());
        }
        let supers = class.extends.iter().filter_map(|t| match &t.kind {
            JavaTypeKind::Named(n, _) => Some(n),
            _ => None,
        });
        let around = class.outer.iter();
        (depth > 0).then(|| supers.chain(around).find_map(|c| self.field(c, name, depth - 1))).flatten()
    }
}

/// Gives `new C<>()` its arguments.
struct Inference<'t> {
    table: &'t Table,
    class: JavaClass,
    scope: Vec<(String, JavaType)>,
    result: Option<JavaType>,
}

impl Inference<'_> {
    fn class(&mut self, class: &mut JavaClass) {
        for field in &mut class.fields {
            let ty = field.ty.clone();
            if let Some(value) = &mut field.value {
                self.wanted(value, Some(&ty));
            }
        }
        class.initializers.iter_mut().for_each(|i| i.body.iter_mut().for_each(|s| self.stmt(s)));
        for method in &mut class.methods {
            self.scope = method.params.iter().map(|p| (p.name.clone(), p.ty.clone())).collect();
            self.result = method.result.clone();
            method.body.iter_mut().flatten().for_each(|s| self.stmt(s));
        }
    }

    fn stmt(&mut self, stmt: &mut JavaStmt) {
        match &mut stmt.kind {
            JavaStmtKind::Local { ty, name, value, .. } => {
                self.scope.push((name.clone(), ty.clone()));
                let ty = ty.clone();
                value.iter_mut().for_each(|e| self.wanted(e, Some(&ty)));
                return;
            }
            JavaStmtKind::ForEach { ty, name, .. } => self.scope.push((name.clone(), ty.clone())),
            JavaStmtKind::Return(Some(value)) => {
                let ty = self.result.clone();
                return self.wanted(value, ty.as_ref());
            }
            _ => {}
        }
        let depth = self.scope.len();
        let keeps = matches!(stmt.kind, JavaStmtKind::Several(_) | JavaStmtKind::Try { .. });
        each_part(stmt, &mut |part| match part {
            TreePart::Expr(e) => self.wanted(e, None),
            TreePart::Stmt(s) => self.stmt(s),
        });
        if !keeps {
            self.scope.truncate(depth);
        }
    }

    /// The type of a place, as far as names tell.
    fn type_of(&self, e: &JavaExpr) -> Option<JavaType> {
        match &e.kind {
            JavaExprKind::Name(n) => {
                let local = self.scope.iter().rev().find(|(s, _)| s == n).map(|(_, t)| t.clone());
                local.or_else(|| self.table.field(&self.class.name, n, 8))
            }
            JavaExprKind::Field(base, n, _) if matches!(base.kind, JavaExprKind::This) => {
                self.table.field(&self.class.name, n, 8)
            }
            JavaExprKind::Field(base, n, _) => match self.type_of(base)?.kind {
                JavaTypeKind::Named(class, _) => self.table.field(&class, n, 8),
                _ => None,
            },
            JavaExprKind::Index(array, _) => match self.type_of(array)?.kind {
                JavaTypeKind::Array(inner) => Some(*inner),
                _ => None,
            },
            _ => None,
        }
    }

    /// The types of the parameters of a call, where one method of the class has that name.
    fn params(&self, class: &str, name: &str, args: usize) -> Vec<Option<JavaType>> {
        let fits = |m: &&JavaMethod| m.name == name && m.params.len() == args;
        let found = self.table.classes.get(class).map(|c| c.methods.iter().filter(fits).collect::<Vec<_>>());
        match found.as_deref() {
            Some([only]) => only.params.iter().map(|p| Some(p.ty.clone())).collect(),
            _ => vec![None; args],
        }
    }

    fn is_of(&self, e: &JavaExpr, class: &str) -> bool {
        let ty = self.type_of(e).map(|t| t.kind);
        matches!(ty, Some(JavaTypeKind::Named(n, _)) if n == class)
    }

    /// The last type argument of the type that a class is as a given interface.
    fn seen_as(&self, ty: &JavaType, interface: &str, depth: usize) -> Option<Option<JavaType>> {
        let JavaTypeKind::Named(name, args) = &ty.kind else { return None };
        if name == interface {
            return Some(args.last().cloned());
        }
        let class = self.table.classes.get(name)?;
        let mut supers = class.extends.iter().chain(&class.implements);
        (depth > 0).then(|| supers.find_map(|s| self.seen_as(s, interface, depth - 1))).flatten()
    }

    /// `pool.submit(task)`: a task that remembers its outcome, given to the pool.
    fn submitted(&mut self, e: &mut JavaExpr, pool: JavaExpr, mut task: JavaExpr, wanted: Option<&JavaType>) {
        let span = e.span;
        let named = |name: &str, args: Vec<JavaType>| JavaType { kind: JavaTypeKind::Named(name.into(), args), span };
        let object = named("Object", Vec::new());
        let asked = wanted.and_then(|w| match &w.kind {
            JavaTypeKind::Named(_, args) => {
                args.last().filter(|a| !matches!(&a.kind, JavaTypeKind::Named(n, _) if n.contains('?')))
            }
            _ => None,
        });
        let ty = match &task.kind {
            JavaExprKind::New { ty, .. } => Some(ty.clone()),
            _ => self.type_of(&task),
        };
        let of_type = ty.and_then(|t| self.seen_as(&t, "Callable", 8));
        let gives_value = match &task.kind {
            JavaExprKind::Lambda { body, is_expression: true, .. } => {
                let plain = |s: &JavaStmt| match &s.kind {
                    JavaStmtKind::Expr(e) => matches!(
                        e.kind,
                        JavaExprKind::Call { .. }
                            | JavaExprKind::Assign(..)
                            | JavaExprKind::Step { .. }
                            | JavaExprKind::New { .. }
                    ),
                    _ => true,
                };
                asked.is_some() || !body.iter().all(plain)
            }
            JavaExprKind::Lambda { body, .. } => {
                let mut found = false;
                crate::java::tree::statements(body, &mut |s| found |= matches!(&s.kind, JavaStmtKind::Return(Some(_))));
                found
            }
            JavaExprKind::MethodReference(..) => asked.is_some(),
            _ => of_type.is_some(),
        };
        let held = match (&of_type, asked) {
            (Some(Some(held)), _) => Some(held.clone()),
            (_, Some(asked)) => Some(asked.clone()),
            _ => None,
        };
        let (held, mut args) = match (gives_value, held) {
            (true, Some(held)) => (held, Vec::new()),
            // What it gives is not told: the call is reported where it stands.
            (true, None) => {
                e.kind = JavaExprKind::Unknown("a task whose type of value is not written".into());
                return;
            }
            (false, _) => (object, vec![JavaExpr { kind: JavaExprKind::Null, span }]),
        };
        let passed = if gives_value { named("Callable", vec![held.clone()]) } else { named("Runnable", Vec::new()) };
        self.wanted(&mut task, Some(&passed));
        args.insert(0, task);
        let made = JavaExprKind::New { ty: named("FutureTask", vec![held]), args, body: None };
        e.kind = JavaExprKind::Call {
            object: Some(Box::new(JavaExpr { kind: made, span })),
            name: "in$".into(),
            name_span: span,
            args: vec![pool],
        };
    }

    fn wanted(&mut self, e: &mut JavaExpr, wanted: Option<&JavaType>) {
        match &mut e.kind {
            JavaExprKind::New { ty, args, .. } => {
                if let JavaTypeKind::Named(name, passed) = &mut ty.kind {
                    if passed.is_empty() && self.table.generic.contains_key(name) {
                        let found = wanted.and_then(|w| self.table.arguments(name, w, 8));
                        passed.extend(found.into_iter().flatten());
                    }
                    let params = self.params(&name.clone(), CONSTRUCTOR, args.len());
                    args.iter_mut().zip(params).for_each(|(a, p)| self.wanted(a, p.as_ref()));
                }
            }
            JavaExprKind::NewArray { element, sizes, values, .. } => {
                if let (JavaTypeKind::Named(name, passed), Some(JavaTypeKind::Array(inner))) =
                    (&mut element.kind, wanted.map(|w| &w.kind))
                    && let JavaTypeKind::Named(of, given) = &inner.kind
                {
                    if name == of && passed.is_empty() {
                        passed.clone_from(given);
                    } else if name == "Object" && self.class.type_params.contains(of) {
                        element.kind = inner.kind.clone();
                    }
                }
                let inner = element.clone();
                sizes.iter_mut().for_each(|e| self.wanted(e, None));
                values.iter_mut().flatten().for_each(|e| self.wanted(e, Some(&inner)));
            }
            JavaExprKind::Cast(ty, inner) => {
                let ty = ty.clone();
                self.wanted(inner, Some(&ty));
            }
            JavaExprKind::Conditional(parts) => {
                let [condition, yes, no] = &mut **parts;
                self.wanted(condition, None);
                self.wanted(yes, wanted);
                self.wanted(no, wanted);
            }
            JavaExprKind::Assign(place, None, value) => {
                let ty = self.type_of(place);
                self.wanted(place, None);
                self.wanted(value, ty.as_ref());
            }
            JavaExprKind::Call { object: Some(object), name, args, .. }
                if name == "submit" && args.len() == 1 && self.is_of(object, "ExecutorService") =>
            {
                let pool = (**object).clone();
                let task = args.remove(0);
                self.submitted(e, pool, task, wanted);
            }
            JavaExprKind::Call { object: Some(object), name, args, .. }
                if name == "withInitial"
                    && args.len() == 1
                    && matches!(&object.kind, JavaExprKind::Name(n) if n == "ThreadLocal") =>
            {
                let held = match wanted.map(|w| &w.kind) {
                    Some(JavaTypeKind::Named(_, held)) => held.clone(),
                    _ => Vec::new(),
                };
                let span = e.span;
                let flag = JavaExpr { kind: JavaExprKind::Bool(true), span };
                let args = vec![args.remove(0), flag];
                let ty = JavaType { kind: JavaTypeKind::Named("ThreadLocal".into(), held), span };
                e.kind = JavaExprKind::New { ty, args, body: None };
            }
            JavaExprKind::Call { object, name, args, .. } => {
                let class = match object {
                    None => Some(self.class.name.clone()),
                    Some(o) if matches!(o.kind, JavaExprKind::This) => Some(self.class.name.clone()),
                    Some(o) => self.type_of(o).and_then(|t| match t.kind {
                        JavaTypeKind::Named(n, _) => Some(n),
                        _ => None,
                    }),
                };
                let held = object.as_ref().and_then(|o| self.type_of(o)).and_then(|t| match t.kind {
                    JavaTypeKind::Named(n, held) if !self.table.classes.contains_key(&n) => Some(held),
                    _ => None,
                });
                // A collection of the library.
                let params = match (held.as_deref(), &name[..], args.len()) {
                    (Some([element]), "add" | "addLast" | "addFirst" | "offer" | "push" | "set", 1) => {
                        vec![Some(element.clone())]
                    }
                    (Some([key, value]), "put" | "putIfAbsent", 2) => vec![Some(key.clone()), Some(value.clone())],
                    _ => class.map_or_else(|| vec![None; args.len()], |c| self.params(&c, name, args.len())),
                };
                object.iter_mut().for_each(|o| self.wanted(o, None));
                args.iter_mut().zip(params).for_each(|(a, p)| self.wanted(a, p.as_ref()));
            }
            JavaExprKind::Lambda { body, .. } => {
                let result = self.result.take();
                body.iter_mut().for_each(|s| self.stmt(s));
                self.result = result;
            }
            _ => each_part_of(e, &mut |part| match part {
                TreePart::Expr(e) => self.wanted(e, None),
                TreePart::Stmt(s) => self.stmt(s),
            }),
        }
    }
}
