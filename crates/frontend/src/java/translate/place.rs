//! Places: locals, fields, elements and statics, and the steps that read and write them.
//!
//! Each access of a shared place is one step. A plain access of a watched place asserts that no other thread is about to write
//! it; a plain write of one is two steps (`race`).
//!
//! In: an expression that names a place or an object. Out: the place, with what must hold for an access.
//! Deliberately absent: how objects around an inner class are reached (`inner`).

use super::body::{Named, Val};
use super::build::*;
use super::declare::element_place;
use super::race::Use;
use super::types::Ty;
use super::{Translation, declare};
use crate::java::tree::{self, JavaClass, JavaExprKind, JavaField};
use crate::lang::ast::{self, AssignedValue, Binary, Checked, Expr, Spanned, Stmt, StmtKind};
use base::Span;

/// How a shared place is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Plain,
    /// `volatile`: no access of it takes part in a race.
    Volatile,
    /// `final`: set before anybody else sees it.
    Final,
}

#[derive(Clone, Debug)]
pub(super) enum Target {
    Local(Expr, Ty),
    Shared(Box<Shared>),
}

#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub place: Expr,
    /// What says that a thread is about to write it.
    pub marker: Expr,
    /// Its name for people and for races.
    pub name: String,
    pub ty: Ty,
    pub mode: Mode,
    /// What must hold for the access: an index inside its array.
    pub checks: Vec<(Checked, Expr)>,
    /// The variable that holds the object.
    pub object: Option<String>,
}

/// An object through which something is reached.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    pub base: Base,
    pub ty: Ty,
    /// Which monitor it is, as far as it can be named.
    pub named: Option<Named>,
    /// The variable that holds it.
    pub object: Option<String>,
    /// Its length, where the text tells.
    pub length: Option<i128>,
}

#[derive(Clone, Debug)]
pub(super) enum Base {
    Heap(Expr),
    /// Embedded in a class: the beginning of its names.
    Static(String),
    /// Embedded in an object.
    Field(Expr, String),
}

impl Receiver {
    /// A part of the object.
    pub(super) fn part(&self, part: &str, span: Span) -> Expr {
        if let (Some(length), "length") = (self.length, part) {
            return convert(machine(32, ast::Sign::Signed, span), int(length, span), span);
        }
        match &self.base {
            Base::Heap(object) => {
                let whole = matches!(part, "monitor" | "waiting" if self.class() != "Condition") || part == "class";
                let text = if whole { part.to_owned() } else { format!("{}.{part}", self.class()) };
                field(object.clone(), text, span)
            }
            Base::Static(prefix) => var(format!("{prefix}.{part}"), span),
            Base::Field(object, prefix) => field(object.clone(), format!("{prefix}.{part}"), span),
        }
    }

    /// The name of its class on the heap.
    pub(super) fn class(&self) -> String {
        self.ty.heap_name().unwrap_or_default()
    }

    /// What it is called as a monitor.
    pub(super) fn kind(&self) -> String {
        match &self.base {
            Base::Heap(_) => self.class(),
            Base::Static(prefix) | Base::Field(_, prefix) => prefix.clone(),
        }
    }

    /// What its elements are called.
    pub(super) fn elements(&self) -> String {
        match &self.base {
            Base::Heap(_) => element_place(&self.class()),
            Base::Static(prefix) | Base::Field(_, prefix) => format!("{prefix}[]"),
        }
    }
}

impl<'a> Translation<'a> {
    /// A field that a simple name stands for: of the class at hand, its supertypes, or the classes around.
    pub(super) fn field_named(&self, text: &str) -> Option<(&'a JavaClass, &'a JavaField)> {
        let mut class = self.frame.class;
        while let Some(at) = class {
            if let Some(found) = self.classes.field(&at.name, text) {
                return Some(found);
            }
            class = at.outer.as_ref().and_then(|o| self.classes.get(o));
        }
        None
    }

    /// The class a simple name stands for, where no variable has that name.
    pub(super) fn class_named(&self, e: &tree::JavaExpr) -> Option<&'a JavaClass> {
        let text = match &e.kind {
            JavaExprKind::Name(text) if self.local(text).is_none() && self.field_named(text).is_none() => text,
            // `Outer.Inner`, and packages.
            JavaExprKind::Field(base, text, _) if self.is_scope(base) => text,
            _ => return None,
        };
        self.classes.get(text).filter(|_| !self.classes.ambiguous.contains(&text[..]))
    }

    fn is_scope(&self, e: &tree::JavaExpr) -> bool {
        match &e.kind {
            JavaExprKind::Name(text) => self.local(text).is_none() && self.field_named(text).is_none(),
            JavaExprKind::Field(base, text, _) => self.is_scope(base) && !self.is_static_field(base, text),
            _ => false,
        }
    }

    fn is_static_field(&self, base: &tree::JavaExpr, text: &str) -> bool {
        self.class_named(base).is_some_and(|c| self.classes.field(&c.name, text).is_some())
    }

    /// The field that an expression names, and the object it is a field of.
    pub(super) fn field_of(
        &self,
        e: &'a tree::JavaExpr,
    ) -> Option<(&'a JavaClass, &'a JavaField, Option<&'a tree::JavaExpr>)> {
        match &e.kind {
            JavaExprKind::Name(text) if self.local(text).is_none() => {
                self.field_named(text).map(|(class, field)| (class, field, None))
            }
            JavaExprKind::Field(base, text, _) => {
                if let Some(class) = self.class_named(base) {
                    return self.classes.field(&class.name, text).map(|(c, f)| (c, f, None));
                }
                let Ty::Ref(class, _) = self.static_type(base) else { return None };
                self.classes.field(&class, text).map(|(c, f)| (c, f, Some(&**base)))
            }
            _ => None,
        }
    }

    /// The type of an expression without translating it, as far as names and fields go.
    pub(super) fn static_type(&self, e: &tree::JavaExpr) -> Ty {
        match &e.kind {
            JavaExprKind::This => self.frame.this.as_ref().map_or(Ty::Unknown, |(_, ty)| ty.clone()),
            JavaExprKind::Name(text) => match self.local(text) {
                Some(local) => local.ty.clone(),
                None => self.field_named(text).map_or(Ty::Unknown, |(c, f)| self.field_ty(c, f)),
            },
            JavaExprKind::Field(base, text, _) if text == "this" => match &base.kind {
                JavaExprKind::Name(outer) => self.surrounding_type(outer).unwrap_or(Ty::Unknown),
                _ => Ty::Unknown,
            },
            JavaExprKind::Field(base, text, _) => {
                let class = match self.class_named(base) {
                    Some(class) => class.name.clone(),
                    None => match self.static_type(base) {
                        Ty::Ref(class, _) => class,
                        _ => return Ty::Unknown,
                    },
                };
                self.classes.field(&class, text).map_or(Ty::Unknown, |(c, f)| self.field_ty(c, f))
            }
            JavaExprKind::Index(array, _) => match self.static_type(array) {
                Ty::Array(element) => *element,
                _ => Ty::Unknown,
            },
            JavaExprKind::Call { object, name, args, .. } => {
                let class = match object {
                    None => self.frame.class.map(|c| c.name.clone()),
                    Some(o) => match (self.class_named(o), self.static_type(o)) {
                        (Some(class), _) => Some(class.name.clone()),
                        (None, Ty::Ref(class, _)) => Some(class),
                        _ => None,
                    },
                };
                let found = class.and_then(|c| self.classes.methods(&c, name, args.len()).into_iter().next());
                match found {
                    Some((c, m)) => {
                        m.result.as_ref().map_or(Ty::Void, |t| self.classes.ty(t, &super::type_params(c, m)))
                    }
                    None => Ty::Unknown,
                }
            }
            JavaExprKind::New { ty, .. } | JavaExprKind::Cast(ty, _) => self.classes.ty(ty, &self.frame.type_params),
            _ => Ty::Unknown,
        }
    }

    /// The variable that an expression names, if it never changes in this body.
    pub(super) fn steady_variable(&self, e: &tree::JavaExpr) -> Option<String> {
        match &e.kind {
            JavaExprKind::This => Some("this".into()),
            JavaExprKind::Name(text) if self.local(text).is_some() && !self.is_assigned(text) => Some(text.clone()),
            _ => None,
        }
    }

    /// Whether some assignment of the body at hand sets a local.
    pub(super) fn is_assigned(&self, text: &str) -> bool {
        let mut found = false;
        tree::expressions(self.frame.code, &mut |e| {
            let place = match &e.kind {
                JavaExprKind::Assign(place, ..) | JavaExprKind::Step { place, .. } => place,
                _ => return,
            };
            found |= matches!(&place.kind, JavaExprKind::Name(n) if n == text);
        });
        found
    }

    /// The object that holds a field that is named without one.
    fn implicit_object(&mut self, class: &'a JavaClass, span: Span) -> Option<Val> {
        self.surrounding(&class.name, span)
    }

    /// The variable that holds it: the object at hand, or nothing where it is one around that.
    fn implicit_holder(&self, class: &JavaClass) -> Option<String> {
        let own = matches!(&self.frame.this, Some((_, Ty::Ref(own, _))) if self.classes.is_subclass(own, &class.name));
        own.then(|| "this".to_owned())
    }

    /// The field's place.
    fn field_target(
        &mut self,
        class: &'a JavaClass,
        found: &'a JavaField,
        base: Option<&'a tree::JavaExpr>,
        span: Span,
    ) -> Option<Target> {
        let ty = self.field_ty(class, found);
        if ty == Ty::Unknown {
            self.unmodelled(&format!("the type of `{}`", found.name), span);
            return None;
        }
        let key = format!("{}.{}", class.name, found.name);
        let mode = match (found.modifiers.is_final, found.modifiers.is_volatile) {
            (true, _) => Mode::Final,
            (_, true) => Mode::Volatile,
            _ => Mode::Plain,
        };
        let (place, marker, object): (Expr, Expr, Option<String>) = if found.modifiers.is_static {
            (var(&key, span), var(format!("writing {key}"), span), None)
        } else {
            let (object, held_by) = match base {
                Some(e) => {
                    let held_by = self.steady_variable(e);
                    (self.expr(e), held_by)
                }
                None => match self.implicit_object(class, span) {
                    Some(object) => (object, self.implicit_holder(class)),
                    None => {
                        self.unmodelled(&format!("`{}` of an object around this one", found.name), span);
                        return None;
                    }
                },
            };
            let at = base.map_or(span, |b| b.span);
            let object = self.kept_object(object, at);
            let object = self.dereferenced(object, at);
            let guard = self.promised_guard(class, found, Some((&object, held_by.as_deref())), span);
            let place = field(object.clone(), &key, span);
            let marker = field(object, format!("writing {key}"), span);
            let checks = guard.into_iter().collect();
            return Some(Target::Shared(Box::new(Shared {
                place,
                marker,
                name: key,
                ty,
                mode,
                checks,
                object: held_by,
            })));
        };
        let checks = self.promised_guard(class, found, None, span).into_iter().collect();
        Some(Target::Shared(Box::new(Shared { place, marker, name: key, ty, mode, checks, object })))
    }

    /// The place an expression names; what is needed to find it is evaluated now. `None` where it is outside the model.
    pub(super) fn target(&mut self, e: &'a tree::JavaExpr) -> Option<Target> {
        match &e.kind {
            JavaExprKind::Name(text) if self.local(text).is_some() => {
                let local = self.local(text).expect("asked above").clone();
                if local.ty == Ty::Unknown {
                    self.unmodelled(&format!("`{text}`"), e.span);
                    return None;
                }
                Some(Target::Local(Spanned::new(local.value.kind, e.span), local.ty))
            }
            JavaExprKind::Name(_) | JavaExprKind::Field(..) => {
                let Some((class, found, base)) = self.field_of(e) else {
                    self.unmodelled(&format!("`{}`", name_of(e)), e.span);
                    return None;
                };
                if self.is_embedded(class, found) {
                    // Its uses were all through it; a value of it cannot be had.
                    self.unmodelled(&format!("`{}` as a value", found.name), e.span);
                    return None;
                }
                self.field_target(class, found, base, e.span)
            }
            JavaExprKind::Index(array, at) => self.element(array, at, e.span),
            _ => {
                self.unmodelled("this place", e.span);
                None
            }
        }
    }

    fn element(&mut self, array: &'a tree::JavaExpr, at: &'a tree::JavaExpr, span: Span) -> Option<Target> {
        if let JavaExprKind::Index(rows, row) = &array.kind
            && let Some((class, found, _)) = self.field_of(rows)
            && self.is_embedded(class, found)
            && super::embed::has_rows(found)
        {
            return self.element_of_row((class, found), row, at, span);
        }
        let receiver = self.receiver(array)?;
        let Ty::Array(element) = receiver.ty.clone() else {
            self.unmodelled("an index into what is no array", span);
            return None;
        };
        let keep = self.frame.keep;
        let receiver = if keep || self.has_effects(at) { self.steady(receiver, array.span) } else { receiver };
        self.frame.keep = false;
        let at_value = self.expr(at);
        let constant = at_value.constant.is_some();
        let mut index_value = self.convert(at_value, &Ty::INT, at.span);
        if keep && !constant {
            index_value = self.bind("index", &Ty::INT, as_value(index_value), at.span);
        }
        let length = receiver.part("length", array.span);
        let inside = and(
            vec![
                binary(Binary::LessEqual, int(0, span), index_value.clone(), span),
                binary(Binary::Less, index_value.clone(), length, span),
            ],
            span,
        );
        let place = index(receiver.part("data", span), index_value.clone(), span);
        let marker = index(receiver.part("writing", span), index_value, span);
        let checks = vec![(Checked::Bounds, inside)];
        let shared = Shared {
            place,
            marker,
            name: receiver.elements(),
            ty: *element,
            mode: Mode::Plain,
            checks,
            object: receiver.object,
        };
        Some(Target::Shared(Box::new(shared)))
    }

    /// `a[i][j]` of an array whose rows are part of it.
    fn element_of_row(
        &mut self,
        (class, found): (&'a JavaClass, &'a JavaField),
        row: &'a tree::JavaExpr,
        at: &'a tree::JavaExpr,
        span: Span,
    ) -> Option<Target> {
        let (rows, columns) = (self.constant_length(class, found)?, self.row_length(class, found)?);
        let Ty::Array(inner) = self.field_ty(class, found) else { return None };
        let Ty::Array(element) = *inner else { return None };
        self.frame.keep = false;
        let prefix = format!("{}.{}", class.name, found.name);
        let mut keys = Vec::new();
        let mut checks = Vec::new();
        for (e, length) in [(row, rows), (at, columns)] {
            let value = self.expr(e);
            let value = self.convert(value, &Ty::INT, e.span);
            let value = convert(machine(32, ast::Sign::Signed, e.span), value, e.span);
            let value = self.bind("index", &Ty::INT, as_value(value), e.span);
            let low = binary(Binary::LessEqual, int(0, span), value.clone(), span);
            let high = binary(Binary::Less, value.clone(), int(length, span), span);
            checks.push((Checked::Bounds, and(vec![low, high], span)));
            keys.push(value);
        }
        let both = |part: &str| {
            let whole = var(format!("{prefix}.{part}"), span);
            keys.iter().cloned().fold(whole, |m, k| index(m, k, span))
        };
        let name = format!("{prefix}[]");
        let (place, marker) = (both("data"), both("writing"));
        let shared = Shared { place, marker, name, ty: *element, mode: Mode::Plain, checks, object: None };
        Some(Target::Shared(Box::new(shared)))
    }

    /// The receiver, kept where evaluating something else could change the variable that names it.
    pub(super) fn steady(&mut self, receiver: Receiver, span: Span) -> Receiver {
        match &receiver.base {
            Base::Heap(object) => {
                let value = AssignedValue::Exprs(vec![object.clone()]);
                let kept = self.bind("array", &receiver.ty.clone(), value, span);
                Receiver { base: Base::Heap(kept), ..receiver }
            }
            _ => receiver,
        }
    }

    /// An object in a local of its own, where what comes next may change the variable that names it.
    fn kept_object(&mut self, object: Val, span: Span) -> Val {
        let keep = std::mem::replace(&mut self.frame.keep, false);
        if !keep || object.ty == Ty::Unknown || object.ty == Ty::Null {
            return object;
        }
        let is_this = matches!(&object.expr.kind, ast::ExprKind::Foreign(_));
        if is_this {
            return object;
        }
        let kept = self.bind("object", &object.ty.clone(), as_value(object.expr.clone()), span);
        Val { expr: kept, ..object }
    }

    /// The object an expression names, to reach something through it.
    pub(super) fn receiver(&mut self, e: &'a tree::JavaExpr) -> Option<Receiver> {
        if let Some((class, found, base)) = self.field_of(e)
            && self.is_embedded(class, found)
        {
            let ty = self.embedded_ty(class, found);
            let prefix = format!("{}.{}", class.name, found.name);
            if found.modifiers.is_static {
                let named = Some(Named::Static(prefix.clone()));
                let length = self.constant_length(class, found);
                return Some(Receiver { base: Base::Static(prefix), ty, named, object: None, length });
            }
            let (object, held_by) = match base {
                Some(b) => {
                    let held_by = self.steady_variable(b);
                    (self.expr(b), held_by)
                }
                None => match self.implicit_object(class, e.span) {
                    Some(object) => (object, self.implicit_holder(class)),
                    None => {
                        self.unmodelled(&format!("`{}` of an object around this one", found.name), e.span);
                        return None;
                    }
                },
            };
            let object = self.dereferenced(object, base.map_or(e.span, |b| b.span));
            let named = held_by.clone().map(|h| Named::Of(h, Some(found.name.clone())));
            return Some(Receiver { base: Base::Field(object, prefix), ty, named, object: held_by, length: None });
        }
        let object = self.steady_variable(e);
        let named = match self.field_of(e) {
            Some((class, found, _)) if found.modifiers.is_static && found.modifiers.is_final => {
                Some(Named::Static(format!("{}.{}", class.name, found.name)))
            }
            _ => object.clone().map(|o| Named::Of(o, None)),
        };
        let value = self.expr(e);
        if !value.ty.is_reference() || value.ty == Ty::Null {
            if value.ty != Ty::Unknown {
                self.unmodelled("this object", e.span);
            }
            return None;
        }
        let ty = value.ty.clone();
        let base = Base::Heap(self.dereferenced(value, e.span));
        Some(Receiver { base, ty, named, object, length: None })
    }

    /// Reads a place.
    pub(super) fn load(&mut self, target: &Target, span: Span) -> Val {
        match target {
            Target::Local(value, ty) => Val::new(value.clone(), ty.clone()),
            Target::Shared(shared) => {
                let short = shared.name.rsplit('.').next().unwrap_or("value").trim_end_matches("[]").to_owned();
                let mut stmts = self.access_checks(shared, Use::Read, span);
                if stmts.is_empty() {
                    let value = AssignedValue::Exprs(vec![shared.place.clone()]);
                    return Val::new(self.bind(&short, &shared.ty.clone(), value, span), shared.ty.clone());
                }
                let temp = self.open_temp(&short, &shared.ty.clone(), span);
                stmts.push(assign(temp.clone(), shared.place.clone(), span));
                self.push_stmt(step(stmts, span));
                Val::new(temp, shared.ty.clone())
            }
        }
    }

    /// The checks of an access, and its note.
    fn access_checks(&mut self, shared: &Shared, of: Use, span: Span) -> Vec<Stmt> {
        let mut out: Vec<Stmt> = Vec::new();
        for (check, condition) in shared.checks.clone() {
            out.extend(self.checked(check, condition, span));
        }
        if shared.mode == Mode::Plain {
            self.note_access(&shared.name, of, shared.object.as_deref());
            if self.watches(&shared.name, shared.object.as_deref()) {
                let of = Checked::Race(shared.name.clone().into_boxed_str());
                let free = not(shared.marker.clone(), span);
                out.push(Spanned::new(StmtKind::Check { of, condition: free }, span));
            }
        }
        out
    }

    /// Writes a value to a place.
    pub(super) fn store(&mut self, target: &Target, value: Expr, span: Span) {
        match target {
            Target::Local(place, _) => self.push_stmt(assign(place.clone(), value, span)),
            Target::Shared(shared) => {
                let mut stmts = self.access_checks(shared, Use::Write, span);
                if shared.mode == Mode::Plain && self.watches(&shared.name, shared.object.as_deref()) {
                    stmts.push(assign(shared.marker.clone(), boolean(true, span), span));
                    self.push_stmt(step(stmts, span));
                    stmts = vec![assign(shared.place.clone(), value, span)];
                    stmts.push(assign(shared.marker.clone(), boolean(false, span), span));
                } else {
                    stmts.push(assign(shared.place.clone(), value, span));
                }
                self.push_stmt(step(stmts, span));
            }
        }
    }

    /// Gives a field its first value, where it is declared or in a constructor.
    pub(super) fn initialize_field(&mut self, class: &'a JavaClass, found: &'a JavaField, value: &'a tree::JavaExpr) {
        let span = found.name_span;
        if self.is_embedded(class, found) {
            self.initialize_embedded(class, found, value);
            return;
        }
        let ty = self.field_ty(class, found);
        if ty == Ty::Unknown {
            // What the value does is not known either; uses of the field are reported where they are.
            self.expr(value);
            return;
        }
        let Some(target) = self.field_target(class, found, None, span) else { return };
        let value = self.expr_as(value, &ty);
        self.store(&target, value, span);
    }

    /// Sets the parts of an embedded object.
    pub(super) fn initialize_embedded(
        &mut self,
        class: &'a JavaClass,
        found: &'a JavaField,
        value: &'a tree::JavaExpr,
    ) {
        let prefix = format!("{}.{}", class.name, found.name);
        let ty = self.embedded_ty(class, found);
        let base = if found.modifiers.is_static {
            Base::Static(prefix)
        } else {
            match self.frame.this.clone() {
                Some((this, _)) => Base::Field(this, prefix),
                None => return self.unmodelled("a field without an object", value.span),
            }
        };
        let length = self.constant_length(class, found);
        let receiver = Receiver { base, ty, named: None, object: None, length };
        self.initialize_library(&receiver, value);
    }

    pub(super) fn class_receiver(&mut self, class: &'a JavaClass) -> Receiver {
        let key = declare::class_monitor(class);
        let named = Some(Named::Static(key.clone()));
        Receiver { base: Base::Static(key), ty: Ty::object("Object"), named, object: None, length: None }
    }
}

pub(super) fn name_of(e: &tree::JavaExpr) -> String {
    match &e.kind {
        JavaExprKind::Name(text) => text.clone(),
        JavaExprKind::Field(base, text, _) => format!("{}.{text}", name_of(base)),
        JavaExprKind::This => "this".into(),
        _ => "..".into(),
    }
}

/// A local whose type is that of an expression's value.
pub(super) fn as_value(e: Expr) -> ast::AssignedValue {
    AssignedValue::Exprs(vec![e])
}
