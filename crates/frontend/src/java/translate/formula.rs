//! Formulas of annotations to formulas of the model.
//!
//! In: a formula of the dialect and which state its names stand for. Out: an expression over shared variables and locals, with its type. In an action a name
//! stands for the state after the step and `\old` for the one before, which the model writes `x'` and `x`.
//! Deliberately absent: checks (in formulas every operation is total); types at run time, which are taken to be what the declarations say, as an assumption.

use super::Translation;
use super::body::Val;
use super::build::*;
use super::types::{Ty, Width};
use crate::java::dialect::{Formula, FormulaKind, GhostType, Quantity};
use crate::java::tree::{BinaryOp, JavaClass, JavaField, UnaryOp};
use crate::lang::ast::{self, Binary, Expr, ExprKind, Param, Prime, QuantifierWord, Spanned};
use base::Span;

/// Which state a plain name stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    /// The one state there is.
    Now,
    /// Of an action: the state after it.
    After,
    /// Inside `\old`.
    Before,
    /// The places that an action changes: the state before it, which `\old` may say too.
    Frame,
    /// Of `ensures`: the state at the return, with `\old` for the one at the call.
    Return,
}

/// What an expression of a formula is about.
enum Subject {
    Value(Expr, Ty),
    /// An array that is part of a class or object: the map, and its length.
    Embedded(Expr, Expr, Ty),
    Class(String),
}

impl<'a> Translation<'a> {
    pub(super) fn formula(&mut self, f: &Formula, names: Names) -> Option<Expr> {
        self.typed(f, names).map(|(e, _)| e)
    }

    fn typed(&mut self, f: &Formula, names: Names) -> Option<(Expr, Ty)> {
        match self.subject(f, names)? {
            Subject::Value(e, ty) => Some((e, ty)),
            Subject::Embedded(data, _, ty) => Some((data, Ty::Map(Box::new(Ty::Math), Box::new(element_of(&ty))))),
            Subject::Class(name) => {
                self.wrong_note(f.span, format!("`{name}` is a class, no value"));
                None
            }
        }
    }

    fn subject(&mut self, f: &Formula, names: Names) -> Option<Subject> {
        let span = f.span;
        let value = |e: Expr, ty: Ty| Some(Subject::Value(e, ty));
        match &f.kind {
            FormulaKind::Bool(b) => value(boolean(*b, span), Ty::Boolean),
            FormulaKind::Int(n) => value(int(*n, span), Ty::Math),
            FormulaKind::Null => value(null(span), Ty::Null),
            FormulaKind::Tid => value(tid(span), Ty::Math),
            FormulaKind::Text(text) => {
                let next = self.strings.len() as i128 + 1;
                let number = *self.strings.entry(format!("\"{text}\"")).or_insert(next);
                value(int(number, span), Ty::Text)
            }
            FormulaKind::Result => {
                let ty = self.frame.result.clone();
                if ty == Ty::Void {
                    self.wrong_note(span, "this method has no result");
                    return None;
                }
                value(var("result", span), ty)
            }
            FormulaKind::This => match self.frame.this.clone() {
                Some((this, ty)) => value(Spanned::new(this.kind, span), ty),
                None => {
                    self.wrong_note(span, "there is no `this` here");
                    None
                }
            },
            FormulaKind::Name(text) => self.named_subject(text, names, span),
            FormulaKind::Field(base, text) => {
                let base = self.subject(base, names)?;
                self.field_subject(base, text, names, span)
            }
            FormulaKind::Index(base, at) => {
                let base = self.subject(base, names)?;
                let (at, _) = self.typed(at, names)?;
                self.indexed(base, at, names, span)
            }
            FormulaKind::All(base) => {
                let base = self.subject(base, names)?;
                match base {
                    Subject::Value(e, Ty::Array(element)) => {
                        let heap = Ty::Array(element.clone()).heap_name()?;
                        let data = primed_field(e, format!("{heap}.data"), names, span);
                        value(data, Ty::Map(Box::new(Ty::Math), element))
                    }
                    other => Some(other),
                }
            }
            FormulaKind::Old(inner) => match names {
                Names::After => self.subject(inner, Names::Before),
                // In the places of an action plain names stand for that state already.
                Names::Frame => self.subject(inner, Names::Before),
                Names::Return => {
                    let (inner, ty) = self.typed(inner, Names::Now)?;
                    let old = ast::CallExpr {
                        object: None,
                        name: name("old", span),
                        args: vec![inner],
                        span: ast::SourceSpan(span),
                    };
                    value(Spanned::new(ExprKind::Call(Box::new(old)), span), ty)
                }
                _ => {
                    self.wrong_note(span, "`\\old` stands for the state before an action; here is none");
                    None
                }
            },
            FormulaKind::Not(inner) => value(not(self.formula(inner, names)?, span), Ty::Boolean),
            FormulaKind::Negate(inner) => {
                let (inner, ty) = self.typed(inner, names)?;
                value(negate(inner, span), ty)
            }
            FormulaKind::Complement(inner) => {
                let (e, ty) = self.typed(inner, names)?;
                let out = self.unary(UnaryOp::Complement, Val::new(e, as_java(&ty)), span);
                value(out.expr, out.ty)
            }
            FormulaKind::Cast(to, inner) => {
                let (e, _) = self.typed(inner, names)?;
                let width = width_named(to)?;
                let ty = self.tp_type(&Ty::Int(width), span);
                value(convert(ty, e, span), Ty::Int(width))
            }
            FormulaKind::Conditional(parts) => {
                let condition = self.formula(&parts[0], names)?;
                let (yes, ty) = self.typed(&parts[1], names)?;
                let (no, _) = self.typed(&parts[2], names)?;
                value(if_then_else(condition, yes, no, span), ty)
            }
            FormulaKind::Binary(op, a, b) => self.binary_formula(op, a, b, names, span),
            FormulaKind::Quantified(quantity, text, ty, body) => {
                self.quantified((*quantity, text, ty), body, names, span)
            }
            FormulaKind::Fresh(inner) => {
                let (e, _) = self.typed(inner, names)?;
                value(not(equal(e, null(span), span), span), Ty::Boolean)
            }
            FormulaKind::Type => {
                self.wrong_note(span, "a type can only be compared with a type");
                None
            }
        }
    }

    fn named_subject(&mut self, text: &str, names: Names, span: Span) -> Option<Subject> {
        if let Some((_, ty)) = self.bound.iter().rev().find(|(n, _)| n == text) {
            return Some(Subject::Value(var(text, span), ty.clone()));
        }
        if let Some(local) = self.local(text) {
            let (value, ty) = (Spanned::new(local.value.kind.clone(), span), local.ty.clone());
            return Some(Subject::Value(value, ty));
        }
        let mut class = self.frame.class;
        while let Some(at) = class {
            if let Some(found) = self.ghost_subject(&at.name, text, None, names, span) {
                return Some(found);
            }
            if let Some((owner, field)) = self.classes.field(&at.name, text) {
                let base = if field.modifiers.is_static { None } else { Some(self.this_for(owner, span)?) };
                return self.member_subject(owner, field, base, names, span);
            }
            class = at.outer.as_ref().and_then(|o| self.classes.get(o));
        }
        if self.classes.get(text).is_some() {
            return Some(Subject::Class(text.to_owned()));
        }
        self.wrong_note(span, format!("there is no variable `{text}` here"));
        None
    }

    fn this_for(&mut self, owner: &JavaClass, span: Span) -> Option<Expr> {
        match self.frame.this.clone() {
            Some((this, Ty::Ref(own, _))) if self.classes.is_subclass(&own, &owner.name) => Some(this),
            _ => {
                self.wrong_note(span, "this is a field of an object, and here is none");
                None
            }
        }
    }

    /// A ghost variable of a class or its supertypes.
    fn ghost_subject(
        &mut self,
        class: &str,
        text: &str,
        base: Option<Expr>,
        names: Names,
        span: Span,
    ) -> Option<Subject> {
        let of = |g: &&super::notes::GhostVar| g.name == text && self.classes.is_subclass(class, &g.class);
        let ghost = self.ghosts.iter().find(of)?.clone();
        let key = format!("{}.{}", ghost.class, ghost.name);
        if ghost.is_static {
            return Some(Subject::Value(Spanned::new(named(key, names), span), ghost.ty));
        }
        let base = match base {
            Some(base) => base,
            None => self.frame.this.clone()?.0,
        };
        Some(Subject::Value(primed_field(base, key, names, span), ghost.ty))
    }

    fn member_subject(
        &mut self,
        class: &'a JavaClass,
        field: &'a JavaField,
        base: Option<Expr>,
        names: Names,
        span: Span,
    ) -> Option<Subject> {
        let ty = self.field_ty(class, field);
        if field.modifiers.is_static
            && let Some(constant) =
                field.value.as_ref().filter(|_| field.modifiers.is_final).and_then(|v| self.constant(v, &ty))
        {
            return Some(Subject::Value(self.constant_value(constant, &ty, span), ty));
        }
        let key = format!("{}.{}", class.name, field.name);
        let place = |part: &str| match &base {
            Some(base) => primed_field(base.clone(), format!("{key}{part}"), names, span),
            None => Spanned::new(named(format!("{key}{part}"), names), span),
        };
        if self.is_embedded(class, field) {
            let length = match self.constant_length(class, field) {
                Some(n) => int(n, span),
                None => place(".length"),
            };
            return match ty {
                Ty::Array(_) => Some(Subject::Embedded(place(".data"), length, ty)),
                other => Some(Subject::Value(place(".monitor"), Ty::Lock(Box::new(other)))),
            };
        }
        if ty == Ty::Unknown {
            self.wrong_note(span, format!("the type of `{}` is not modelled", field.name));
            return None;
        }
        Some(Subject::Value(place(""), ty))
    }

    fn field_subject(&mut self, base: Subject, text: &str, names: Names, span: Span) -> Option<Subject> {
        match base {
            Subject::Class(class) if text == "class" => {
                let key = format!("{class}.class");
                self.facts.monitors.insert(key.clone());
                let lock = Spanned::new(named(format!("{key}.monitor"), names), span);
                Some(Subject::Value(lock, Ty::Lock(Box::new(Ty::object("Object")))))
            }
            Subject::Class(class) => {
                if let Some(found) = self.ghost_subject(&class, text, None, names, span) {
                    return Some(found);
                }
                match self.classes.field(&class, text) {
                    Some((owner, field)) if field.modifiers.is_static => {
                        self.member_subject(owner, field, None, names, span)
                    }
                    _ if self.classes.get(text).is_some() => Some(Subject::Class(text.to_owned())),
                    _ => {
                        self.wrong_note(span, format!("`{class}` has no static field `{text}`"));
                        None
                    }
                }
            }
            Subject::Embedded(_, length, _) if text == "length" => Some(Subject::Value(length, Ty::INT)),
            Subject::Value(e, Ty::Array(element)) if text == "length" => {
                let heap = Ty::Array(element).heap_name()?;
                Some(Subject::Value(primed_field(e, format!("{heap}.length"), names, span), Ty::INT))
            }
            Subject::Value(e, Ty::Ref(class, _)) => {
                if let Some(found) = self.ghost_subject(&class, text, Some(e.clone()), names, span) {
                    return Some(found);
                }
                match self.classes.field(&class, text) {
                    Some((owner, field)) => {
                        let base = if field.modifiers.is_static { None } else { Some(e) };
                        self.member_subject(owner, field, base, names, span)
                    }
                    None => {
                        self.wrong_note(span, format!("`{class}` has no field `{text}`"));
                        None
                    }
                }
            }
            _ => {
                self.wrong_note(span, format!("this has no field `{text}`"));
                None
            }
        }
    }

    fn indexed(&mut self, base: Subject, at: Expr, names: Names, span: Span) -> Option<Subject> {
        match base {
            Subject::Embedded(data, _, ty) => match element_of(&ty) {
                // Rows that are part of it, too.
                Ty::Array(inner) => Some(Subject::Value(index(data, at, span), Ty::Map(Box::new(Ty::Math), inner))),
                element => Some(Subject::Value(index(data, at, span), element)),
            },
            Subject::Value(e, Ty::Map(_, to)) => Some(Subject::Value(index(e, at, span), *to)),
            Subject::Value(e, Ty::Array(element)) => {
                let heap = Ty::Array(element.clone()).heap_name()?;
                let data = primed_field(e, format!("{heap}.data"), names, span);
                Some(Subject::Value(index(data, at, span), *element))
            }
            _ => {
                self.wrong_note(span, "this has no entries");
                None
            }
        }
    }

    fn binary_formula(
        &mut self,
        op: &'static str,
        a: &Formula,
        b: &Formula,
        names: Names,
        span: Span,
    ) -> Option<Subject> {
        if speaks_of_types(a) || speaks_of_types(b) {
            self.assumed.insert(("java-types", "what annotations say of types at run time holds".to_owned()));
            return Some(Subject::Value(boolean(true, span), Ty::Boolean));
        }
        let ((left, left_ty), (right, right_ty)) = (self.typed(a, names)?, self.typed(b, names)?);
        let plain = |op| Spanned::new(ExprKind::Binary(op, Box::new(left.clone()), Box::new(right.clone())), span);
        let truth = |e: Expr| Some(Subject::Value(e, Ty::Boolean));
        let machine = |t: &Ty| matches!(t, Ty::Int(_));
        let wide = if machine(&left_ty) { left_ty.clone() } else { right_ty.clone() };
        let literal = |f: &Formula| matches!(f.kind, FormulaKind::Int(_));
        let mixed = match (&left_ty, &right_ty) {
            (Ty::Int(x), Ty::Int(y)) => x.bits() != y.bits() || x.bits() < Width::Int.bits(),
            (Ty::Int(x), _) => literal(b) && x.bits() < Width::Int.bits(),
            (_, Ty::Int(y)) => literal(a) && y.bits() < Width::Int.bits(),
            _ => false,
        };
        if mixed && matches!(op, "+" | "-" | "*") {
            // As Java has it: the wider of both, and never less than an int.
            let side = |e: &Expr, t: &Ty, f: &Formula| {
                let constant = if let FormulaKind::Int(n) = f.kind { Some(n) } else { None };
                let ty = if constant.is_some() { Ty::INT } else { t.clone() };
                Val { constant, ..Val::new(e.clone(), ty) }
            };
            let (x, y) = (side(&left, &left_ty, a), side(&right, &right_ty, b));
            let out = self.operate(BinaryOp::read(op)?, x, y, span);
            return Some(Subject::Value(out.expr, out.ty));
        }
        match op {
            "&&" => truth(and(vec![left, right], span)),
            "||" => truth(or(vec![left, right], span)),
            "==>" => truth(plain(Binary::Implies)),
            "<==>" => truth(plain(Binary::Iff)),
            "<=!=>" => truth(not(plain(Binary::Iff), span)),
            "==" | "!=" => {
                if let (Ty::Ref(..) | Ty::Array(_), Ty::Ref(..) | Ty::Array(_)) = (&left_ty, &right_ty) {
                    self.unite(&left_ty, &right_ty);
                }
                // Of a string or an enum, null is a number.
                let number = |t: &Ty| matches!(t, Ty::Text | Ty::Enum(_));
                let (left, right) = match (&left_ty, &right_ty) {
                    (Ty::Null, t) if number(t) => (int(0, span), right),
                    (t, Ty::Null) if number(t) => (left, int(0, span)),
                    _ => (left, right),
                };
                let op = if op == "==" { Binary::Equal } else { Binary::NotEqual };
                truth(binary(op, left, right, span))
            }
            "<" => truth(plain(Binary::Less)),
            "<=" => truth(plain(Binary::LessEqual)),
            ">" => truth(plain(Binary::Greater)),
            ">=" => truth(plain(Binary::GreaterEqual)),
            "+" => Some(Subject::Value(plain(Binary::Add), wide)),
            "-" => Some(Subject::Value(plain(Binary::Subtract), wide)),
            "*" => Some(Subject::Value(plain(Binary::Multiply), wide)),
            "&" if left_ty == Ty::Boolean => truth(and(vec![left, right], span)),
            "|" if left_ty == Ty::Boolean => truth(or(vec![left, right], span)),
            "^" if left_ty == Ty::Boolean => truth(not(plain(Binary::Iff), span)),
            other => {
                let op = BinaryOp::read(other)?;
                let constant = |f: &Formula| match f.kind {
                    FormulaKind::Int(n) => Some(n),
                    _ => None,
                };
                let side = |e: Expr, t: &Ty, f: &Formula| Val { constant: constant(f), ..Val::new(e, as_java(t)) };
                let out = self.operate(op, side(left, &left_ty, a), side(right, &right_ty, b), span);
                if out.ty == Ty::Unknown {
                    self.wrong_note(span, "this operator is not modelled in annotations");
                    return None;
                }
                Some(Subject::Value(out.expr, out.ty))
            }
        }
    }

    fn quantified(
        &mut self,
        (quantity, text, ty): (Quantity, &str, &str),
        body: &Formula,
        names: Names,
        span: Span,
    ) -> Option<Subject> {
        let ty = self.ghost_ty(&GhostType::Named(ty.to_owned()), span)?;
        let tp = self.tp_type(&ty, span);
        self.bound.push((text.to_owned(), ty));
        let body = self.formula(body, names);
        self.bound.pop();
        let word = if quantity == Quantity::All { QuantifierWord::Forall } else { QuantifierWord::Exists };
        let binder = Param { name: name(text, span), ty: tp };
        let whole = Spanned::new(ExprKind::Quantified(word, vec![binder], Box::new(body?)), span);
        Some(Subject::Value(whole, Ty::Boolean))
    }

    /// The type of a ghost variable: integers of ghosts do not wrap.
    pub(super) fn ghost_ty(&mut self, ty: &GhostType, span: Span) -> Option<Ty> {
        match ty {
            GhostType::Named(text) => match &text[..] {
                "int" | "long" | "short" | "byte" | "char" | "tid" | "Thread" => Some(Ty::Math),
                "boolean" => Some(Ty::Boolean),
                "String" => Some(Ty::Text),
                class => match self.classes.get(class) {
                    Some(found) if found.form == crate::java::tree::ClassForm::Enum => Some(Ty::Enum(class.to_owned())),
                    Some(_) => Some(Ty::object(class)),
                    None if class == "Object" => Some(Ty::object(class)),
                    None => {
                        self.wrong_note(span, format!("there is no type `{class}`"));
                        None
                    }
                },
            },
            GhostType::Array(element) => {
                let element = self.ghost_ty(element, span)?;
                Some(Ty::Map(Box::new(Ty::Math), Box::new(element)))
            }
            GhostType::Map(from, to) => {
                let (from, to) = (self.ghost_ty(from, span)?, self.ghost_ty(to, span)?);
                Some(Ty::Map(Box::new(from), Box::new(to)))
            }
        }
    }

    /// The condition that a thread may access what a lock guards: the lock is free or its own. A formula is the condition itself.
    pub(super) fn held_or_free(&mut self, lock: &Formula) -> Option<Expr> {
        let span = lock.span;
        let (e, ty) = self.typed(lock, Names::Now)?;
        let holder = match ty {
            Ty::Boolean => return Some(e),
            Ty::Math | Ty::Int(_) | Ty::Lock(_) => e,
            Ty::Ref(..) | Ty::Array(_) => {
                let heap = ty.heap_name()?;
                self.facts.monitors.insert(heap);
                primed_field(e, "monitor".into(), Names::Now, span)
            }
            _ => {
                self.wrong_note(span, "this is no lock");
                return None;
            }
        };
        let free = equal(holder.clone(), int(0, span), span);
        Some(or(vec![free, equal(holder, tid(span), span)], span))
    }
}

fn element_of(ty: &Ty) -> Ty {
    match ty {
        Ty::Array(element) => (**element).clone(),
        other => other.clone(),
    }
}

fn named(text: String, names: Names) -> ExprKind {
    let prime = if names == Names::After { Prime::After } else { Prime::Before };
    ExprKind::Name(text.into_boxed_str(), prime)
}

fn primed_field(base: Expr, text: String, names: Names, span: Span) -> Expr {
    let prime = if names == Names::After { Prime::After } else { Prime::Before };
    Spanned::new(ExprKind::Field(Box::new(base), name(text, span), prime), span)
}

fn speaks_of_types(f: &Formula) -> bool {
    matches!(f.kind, FormulaKind::Type)
}

fn width_named(text: &str) -> Option<Width> {
    Some(match text {
        "byte" => Width::Byte,
        "short" => Width::Short,
        "char" => Width::Char,
        "int" => Width::Int,
        "long" => Width::Long,
        _ => return None,
    })
}

/// Bits and divisions of numbers without a width are those of `long`.
fn as_java(ty: &Ty) -> Ty {
    if *ty == Ty::Math { Ty::Int(Width::Long) } else { ty.clone() }
}
