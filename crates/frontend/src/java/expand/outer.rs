//! Inner classes: which objects keep the object around them (JLS 8.1.3).
//!
//! In: all classes. Out: a final field `OUTER_OBJECT` in those that name members of what is around them.

use crate::java::tree::{
    self, ClassForm, JavaClass, JavaExprKind, JavaField, JavaModifiers, JavaType, JavaTypeKind, JavaUnit, OUTER_OBJECT,
};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn give_outer_objects(unit: &mut JavaUnit) {
    let by_name: BTreeMap<String, usize> = unit.classes.iter().enumerate().map(|(i, c)| (c.name.clone(), i)).collect();
    let all = &unit.classes;
    let may: BTreeSet<usize> = (0..all.len()).filter(|i| may_have_outer(unit, &by_name, &all[*i])).collect();
    let mut needed: BTreeSet<usize> = BTreeSet::new();
    loop {
        let before = needed.len();
        for at in &may {
            let reach = depth_used(unit, &by_name, &may, &needed, *at);
            let mut inner = *at;
            for _ in 0..reach {
                if !may.contains(&inner) {
                    break;
                }
                needed.insert(inner);
                let Some(outer) = all[inner].outer.as_ref().and_then(|o| by_name.get(o)) else { break };
                inner = *outer;
            }
        }
        if needed.len() == before {
            break;
        }
    }
    for (at, class) in unit.classes.iter_mut().enumerate() {
        class.surroundings.has_outer_object = needed.contains(&at);
        let Some(outer) = class.outer.clone().filter(|_| needed.contains(&at)) else { continue };
        let span = class.name_span;
        class.fields.push(JavaField {
            name: OUTER_OBJECT.to_owned(),
            ty: JavaType { kind: JavaTypeKind::Named(outer, Vec::new()), span },
            modifiers: JavaModifiers { is_final: true, ..JavaModifiers::default() },
            value: None,
            span,
            name_span: span,
        });
    }
}

fn may_have_outer(unit: &JavaUnit, by_name: &BTreeMap<String, usize>, class: &JavaClass) -> bool {
    if class.surroundings.has_outer_object {
        return true;
    }
    let in_class = class.outer.as_ref().and_then(|o| by_name.get(o)).is_some_and(|o| {
        let outer = &unit.classes[*o];
        outer.form == ClassForm::Class
    });
    let is_instance_of_static =
        class.surroundings.instance_of.is_some() && class.outer == class.surroundings.instance_of;
    in_class
        && class.form == ClassForm::Class
        && !class.modifiers.is_static
        && !is_instance_of_static
        && !class.surroundings.is_lifted()
}

/// How many objects outwards a class reaches: 0 where it names nothing around it.
fn depth_used(
    unit: &JavaUnit,
    by_name: &BTreeMap<String, usize>,
    may: &BTreeSet<usize>,
    needed: &BTreeSet<usize>,
    at: usize,
) -> usize {
    let class = &unit.classes[at];
    let mut around: Vec<&JavaClass> = Vec::new();
    let mut next = class.outer.as_ref();
    while let Some(outer) = next.and_then(|o| by_name.get(o)) {
        around.push(&unit.classes[*outer]);
        next = unit.classes[*outer].outer.as_ref();
        if around.len() > unit.classes.len() {
            break;
        }
    }
    let mut deepest = 0;
    let named = |ty: &JavaType| match &ty.kind {
        JavaTypeKind::Named(n, _) => by_name.get(n).copied(),
        _ => None,
    };
    // The object around a new inner object, or around the superclass.
    let object_of = |made: usize| -> usize {
        if !(may.contains(&made) && needed.contains(&made)) || made == at {
            return 0;
        }
        let wanted = unit.classes[made].outer.as_deref().unwrap_or_default();
        around.iter().position(|c| has_ancestor(unit, by_name, c, wanted)).map_or(0, |i| i + 1)
    };
    if let Some(parent) = class.extends.as_ref().and_then(named) {
        deepest = deepest.max(object_of(parent));
    }
    tree::in_class(class, &mut |e| {
        let found = match &e.kind {
            JavaExprKind::Name(n) => around.iter().position(|c| has_field(unit, by_name, c, n)).map_or(0, |i| i + 1),
            JavaExprKind::Call { object: None, name, args, .. } => {
                around.iter().position(|c| has_method(unit, by_name, c, name, args.len())).map_or(0, |i| i + 1)
            }
            JavaExprKind::Field(base, text, _) if text == "this" => match &base.kind {
                JavaExprKind::Name(n) => around.iter().position(|c| stands_for(c, n)).map_or(0, |i| i + 1),
                _ => 0,
            },
            JavaExprKind::New { ty, .. } => named(ty).map_or(0, object_of),
            _ => 0,
        };
        deepest = deepest.max(found);
    });
    deepest
}

/// Whether a name in `Name.this` is that of a class, or of the generic class that it is an instance of.
pub(crate) fn stands_for(class: &JavaClass, name: &str) -> bool {
    class.name == name || class.surroundings.instance_of.as_deref() == Some(name)
}

fn ancestors<'u>(unit: &'u JavaUnit, by_name: &BTreeMap<String, usize>, class: &'u JavaClass) -> Vec<&'u JavaClass> {
    let mut out = vec![class];
    let mut at = 0;
    while at < out.len() && out.len() <= unit.classes.len() {
        for ty in out[at].extends.iter().chain(&out[at].implements) {
            if let JavaTypeKind::Named(n, _) = &ty.kind
                && let Some(parent) = by_name.get(n)
            {
                out.push(&unit.classes[*parent]);
            }
        }
        at += 1;
    }
    out
}

fn has_ancestor(unit: &JavaUnit, by_name: &BTreeMap<String, usize>, class: &JavaClass, name: &str) -> bool {
    ancestors(unit, by_name, class).iter().any(|c| c.name == name)
}

fn has_field(unit: &JavaUnit, by_name: &BTreeMap<String, usize>, class: &JavaClass, name: &str) -> bool {
    let has = |c: &&JavaClass| c.fields.iter().any(|f| f.name == name && !f.modifiers.is_static);
    ancestors(unit, by_name, class).iter().any(has)
}

fn has_method(unit: &JavaUnit, by_name: &BTreeMap<String, usize>, class: &JavaClass, name: &str, args: usize) -> bool {
    let fits = |m: &tree::JavaMethod| m.name == name && m.params.len() == args && !m.modifiers.is_static;
    ancestors(unit, by_name, class).iter().any(|c| c.methods.iter().any(fits))
}
