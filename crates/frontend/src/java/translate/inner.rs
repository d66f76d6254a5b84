//! Objects around objects: `Outer.this`, members of what is around an inner class, and what local classes keep (JLS 8.1.3).
//!
//! In: names of members. Out: the object that has them, reached over the fields that hold objects around objects.

use super::Translation;
use super::body::Val;
use super::build::*;
use super::place::as_value;
use super::types::Ty;
use crate::java::tree::{JavaClass, JavaTypeKind, OUTER_OBJECT};
use crate::lang::ast::Expr;
use base::Span;

impl<'a> Translation<'a> {
    /// The object at hand or one around it that is of a class. `None`: there is none.
    pub(super) fn surrounding(&mut self, wanted: &str, span: Span) -> Option<Val> {
        let (this, ty) = self.frame.this.clone()?;
        let Ty::Ref(own, _) = &ty else { return None };
        let (mut object, mut class) = (this, own.clone());
        loop {
            if self.classes.is_subclass(&class, wanted) {
                return Some(Val::new(object, Ty::object(&class)));
            }
            let (next, outer) = self.step_outwards(object, &class, span)?;
            (object, class) = (next, outer);
        }
    }

    /// The object around an object.
    fn step_outwards(&mut self, object: Expr, class: &str, span: Span) -> Option<(Expr, String)> {
        let (owner, found) = self.classes.field(class, OUTER_OBJECT)?;
        let JavaTypeKind::Named(outer, _) = &found.ty.kind else { return None };
        let key = format!("{}.{OUTER_OBJECT}", owner.name);
        let value = field(present(object), key, span);
        let object = self.bind("outer", &Ty::object(outer), as_value(value), span);
        Some((present(object), outer.clone()))
    }

    /// What the type of `surrounding` is, without steps.
    pub(super) fn surrounding_type(&self, wanted: &str) -> Option<Ty> {
        let (_, ty) = self.frame.this.as_ref()?;
        let Ty::Ref(own, _) = ty else { return None };
        let mut class = own.clone();
        loop {
            if self.classes.get(&class).is_some_and(|c| c.name == wanted || is_instance_of(c, wanted)) {
                return Some(Ty::object(&class));
            }
            let (_, found) = self.classes.field(&class, OUTER_OBJECT)?;
            let JavaTypeKind::Named(outer, _) = &found.ty.kind else { return None };
            class.clone_from(outer);
        }
    }

    /// `Outer.this`.
    pub(super) fn outer_this(&mut self, wanted: &str, span: Span) -> Val {
        let found = self.surrounding_type(wanted).and_then(|ty| match &ty {
            Ty::Ref(class, _) => self.surrounding(class, span),
            _ => None,
        });
        found.unwrap_or_else(|| self.unknown(&format!("`{wanted}.this`"), span))
    }

    /// Gives a new object what it keeps: the objects around it, and variables around its class.
    pub(super) fn keep_surroundings(&mut self, class: &'a JavaClass, object: &Expr, span: Span) {
        let mut at = Some(class);
        let mut steps = 0;
        while let Some(class) = at {
            if class.surroundings.has_outer_object
                && let Some(outer) = &class.outer
            {
                match self.surrounding(outer, span) {
                    Some(value) => {
                        let key = format!("{}.{OUTER_OBJECT}", class.name);
                        self.push_stmt(assign(field(object.clone(), key, span), value.expr, span));
                    }
                    None => self.unmodelled(&format!("`{}` without an object around it", class.name), span),
                }
            }
            for captured in &class.surroundings.captured {
                let key = format!("{}.{captured}", class.name);
                let Some((_, field_kept)) = self.classes.field(&class.name, captured) else { continue };
                let ty = self.field_ty(class, field_kept);
                let value = match self.local(captured).cloned() {
                    _ if ty == Ty::Unknown => continue,
                    Some(local) if local.ty != Ty::Unknown && local.thread.is_none() => {
                        let value = Val { constant: local.constant, ..Val::new(local.value, local.ty) };
                        self.convert(value, &ty, span)
                    }
                    Some(_) => {
                        self.unmodelled(&format!("`{captured}` as a value"), span);
                        continue;
                    }
                    // A class in a body that makes objects of a class of the same body.
                    None => match self.kept_by_surroundings(captured, span) {
                        Some(value) => self.convert(value, &ty, span),
                        None => {
                            self.unmodelled(&format!("`{captured}`, which `{}` keeps", class.name), span);
                            continue;
                        }
                    },
                };
                self.push_stmt(assign(field(object.clone(), key, span), value, span));
            }
            let parent = class.extends.as_ref().and_then(|t| match &t.kind {
                JavaTypeKind::Named(n, _) => self.classes.get(n),
                _ => None,
            });
            steps += 1;
            at = parent.filter(|_| steps < 64);
        }
    }

    fn kept_by_surroundings(&mut self, captured: &str, span: Span) -> Option<Val> {
        let (owner, found) = self.field_named(captured)?;
        if found.modifiers.is_static || !owner.surroundings.captured.iter().any(|c| c == captured) {
            return None;
        }
        let ty = self.field_ty(owner, found);
        let object = self.surrounding(&owner.name, span)?;
        let value = field(present(object.expr), format!("{}.{captured}", owner.name), span);
        Some(Val::new(self.bind(captured, &ty, as_value(value), span), ty))
    }

    /// Whether objects pass between a generic class and its instances, or between two of these: their fields are not the same.
    pub(super) fn mixes_instances(&self, from: &str, to: &str) -> bool {
        let generic = |n: &str| {
            self.classes.get(n).is_some_and(|c| {
                c.surroundings.instance_of.is_some()
                    || self.classes.all.iter().any(|o| o.surroundings.instance_of.as_deref() == Some(n))
            })
        };
        from != to
            && (generic(from) || generic(to))
            && self.classes.get(to).is_some()
            && !self.is_kind_of(from, to)
            && !self.classes.is_subclass(to, from)
    }
}

fn is_instance_of(class: &JavaClass, name: &str) -> bool {
    class.surroundings.instance_of.as_deref() == Some(name)
}
