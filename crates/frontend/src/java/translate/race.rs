//! Which places are watched for data races, and the monitors that make watching needless.
//!
//! In: what a pass saw of accesses and calls. Out: names of places. A race is two conflicting accesses that are enabled at once
//! (under sequential consistency that is the same as unordered accesses, JLS 17.4.5). A plain write of a watched place is two steps, "about to write" and
//! the write; each access asserts that no other thread is about to write. A place is not watched where it is certain that no two
//! accesses meet: it is never written while other threads run, or all accesses hold one monitor (a lockset, by Savage et al. 1997,
//! computed over the whole call graph: monitors are blocks, so what is held at a statement is known from the text).
//! Deliberately absent: locks of `java.util.concurrent` in locksets; places they protect are watched.

use super::body::{Lock, Phase};
use super::build::{equal, field, present, tid, var};
use super::types::{Classes, Ty};
use super::{Facts, Translation};
use crate::java::tree::{self, JavaClass, JavaExprKind, JavaMethod};
use crate::lang::ast::{Checked, Expr};
use base::Span;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Use {
    Read,
    Write,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Access {
    proc: String,
    of: Use,
    locks: BTreeSet<Lock>,
    /// Whether the object is `this`: then the monitors that callers hold of it count.
    on_this: bool,
}

/// A call while other threads may run, with the monitors that are held there for certain, seen from the receiver.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CallSite {
    caller: String,
    callee: String,
    locks: BTreeSet<Lock>,
    on_this: bool,
}

/// Accesses of each place while other threads may run.
pub(super) type Accesses = BTreeMap<String, BTreeSet<Access>>;

/// The places that are to be watched.
pub(super) fn watched(facts: &Facts) -> BTreeSet<String> {
    let entry = held_at_entry(facts);
    let everything = |a: &Access| -> Option<BTreeSet<Lock>> {
        let above = entry.get(&a.proc)?;
        let certain = |l: &&Lock| a.on_this || matches!(l, Lock::Static(_));
        Some(a.locks.iter().chain(above.iter().filter(certain)).cloned().collect())
    };
    let mut out = BTreeSet::new();
    for (place, accesses) in &facts.accesses {
        // An access in code that nothing calls while others run has no entry.
        let met: Vec<(&Access, BTreeSet<Lock>)> =
            accesses.iter().filter_map(|a| everything(a).map(|l| (a, l))).collect();
        if !met.iter().any(|(a, _)| a.of == Use::Write) {
            continue;
        }
        let common = met.iter().map(|(_, l)| l.clone()).reduce(|a, b| a.intersection(&b).cloned().collect());
        if common.is_none_or(|c| c.is_empty()) {
            out.insert(place.clone());
        }
    }
    out
}

/// The monitors held wherever a procedure is called while other threads may run: a greatest fixpoint. No entry: it is not called.
fn held_at_entry(facts: &Facts) -> BTreeMap<String, BTreeSet<Lock>> {
    let mut out: BTreeMap<String, BTreeSet<Lock>> = BTreeMap::new();
    // Threads begin with nothing held; they are called by nobody.
    let called: BTreeSet<&String> = facts.calls.iter().map(|c| &c.callee).collect();
    for CallSite { caller, .. } in &facts.calls {
        if !called.contains(caller) {
            out.insert(caller.clone(), BTreeSet::new());
        }
    }
    for access in facts.accesses.values().flatten() {
        if !called.contains(&access.proc) {
            out.insert(access.proc.clone(), BTreeSet::new());
        }
    }
    loop {
        let mut changed = false;
        for CallSite { caller, callee, locks, on_this } in &facts.calls {
            let Some(above) = out.get(caller) else { continue };
            let kept = above.iter().filter(|l| *on_this || matches!(l, Lock::Static(_)));
            let here: BTreeSet<Lock> = kept.chain(locks).cloned().collect();
            let next = match out.get(callee) {
                Some(old) => old.intersection(&here).cloned().collect(),
                None => here,
            };
            if out.get(callee) != Some(&next) {
                out.insert(callee.clone(), next);
                changed = true;
            }
        }
        if !changed {
            return out;
        }
    }
}

impl Translation<'_> {
    /// Notes an access of a plain place; `object`: the variable that holds the object.
    pub(super) fn note_access(&mut self, place: &str, of: Use, object: Option<&str>) {
        let own = self.frame.constructs && object == Some("this");
        if self.frame.phase == Phase::Alone || own || self.frame.in_step {
            return;
        }
        let locks = self.frame.held.iter().filter_map(|h| h.seen_from(object)).collect();
        let access = Access { proc: self.frame.proc.clone(), of, locks, on_this: object == Some("this") };
        self.facts.accesses.entry(place.to_owned()).or_default().insert(access);
    }

    /// Notes a call; `object`: the variable that holds the receiver.
    pub(super) fn note_call(&mut self, callee: &str, object: Option<&str>) {
        let kinds: BTreeSet<String> = self.frame.held.iter().map(|h| h.kind.clone()).collect();
        self.facts.holding.insert((self.frame.proc.clone(), callee.to_owned(), kinds));
        if self.frame.phase == Phase::Together {
            let locks = self.frame.held.iter().filter_map(|h| h.seen_from(object)).collect();
            let (caller, callee) = (self.frame.proc.clone(), callee.to_owned());
            self.facts.calls.insert(CallSite { caller, callee, locks, on_this: object == Some("this") });
        }
    }

    /// Whether a place is watched here.
    pub(super) fn watches(&self, place: &str, object: Option<&str>) -> bool {
        let own = self.frame.constructs && object == Some("this");
        self.watched.contains(place) && self.frame.phase == Phase::Together && !own && !self.frame.in_step
    }

    /// What `@GuardedBy` asks of an access while other threads may run: that the thread holds the lock.
    pub(super) fn promised_guard(
        &mut self,
        class: &JavaClass,
        found: &tree::JavaField,
        object: Option<(&Expr, Option<&str>)>,
        span: Span,
    ) -> Option<(Checked, Expr)> {
        let lock = guard_named(found)?.to_owned();
        let own = self.frame.constructs && object.is_some_and(|(_, held_by)| held_by == Some("this"));
        if self.frame.phase == Phase::Alone || own || self.alone {
            return None;
        }
        let holder = match (&lock[..], object) {
            ("this", Some((object, _))) => {
                self.facts.monitors.insert(class.name.clone());
                field(present(object.clone()), "monitor", span)
            }
            (text, _) if text.ends_with(".class") => {
                self.facts.monitors.insert(text.to_owned());
                var(format!("{text}.monitor"), span)
            }
            (text, object) => {
                let (owner, guard) = self.classes.field(&class.name, text)?;
                let key = format!("{}.{}", owner.name, guard.name);
                let is_lock =
                    matches!(self.field_ty(owner, guard), Ty::Ref(n, _) if n == "ReentrantLock" || n == "Lock");
                if !self.is_embedded(owner, guard) {
                    return None;
                }
                let part = if is_lock { "owner" } else { "monitor" };
                if !is_lock {
                    self.facts.monitors.insert(key.clone());
                }
                match object {
                    _ if guard.modifiers.is_static => var(format!("{key}.{part}"), span),
                    Some((object, _)) => field(present(object.clone()), format!("{key}.{part}"), span),
                    None => return None,
                }
            }
        };
        Some((Checked::Language("guarded"), equal(holder, tid(span), span)))
    }

    /// Whether a monitor of this kind may be held already where it is entered.
    pub(super) fn may_hold(&self, kind: &str) -> bool {
        let same = |k: &str| self.facts.regions.find(k) == self.facts.regions.find(kind);
        if self.frame.held.iter().any(|h| same(&h.kind)) {
            return true;
        }
        let Some(known) = &self.known else { return true };
        let mut todo = vec![self.frame.proc.clone()];
        let mut seen = BTreeSet::new();
        while let Some(at) = todo.pop() {
            if !seen.insert(at.clone()) {
                continue;
            }
            for (caller, _, kinds) in known.holding.iter().filter(|(_, callee, _)| *callee == at) {
                if kinds.iter().any(|k| same(k)) {
                    return true;
                }
                todo.push(caller.clone());
            }
        }
        false
    }

    /// Whether a procedure calls, through others, the one at hand; copies of one count as one.
    pub(super) fn is_recursive(&self, callee: &str) -> bool {
        let Some(known) = &self.known else { return false };
        let own = base_of(&self.frame.proc);
        let mut todo = vec![base_of(callee).to_owned()];
        let mut seen = BTreeSet::new();
        while let Some(at) = todo.pop() {
            if at == own {
                return true;
            }
            if seen.insert(at.clone()) {
                let below = known.holding.iter().filter(|(caller, ..)| base_of(caller) == at);
                todo.extend(below.map(|(_, c, _)| base_of(c).to_owned()));
            }
        }
        false
    }
}

/// The lock that `@GuardedBy` names.
pub(in crate::java) fn guard_named(found: &tree::JavaField) -> Option<&str> {
    let is_guard = |a: &&tree::JavaAnnotation| a.name.rsplit('.').next() == Some("GuardedBy");
    found.modifiers.annotations.iter().find(is_guard)?.argument.as_deref()
}

/// The name of a procedure without what tells its copies apart.
fn base_of(proc: &str) -> &str {
    let end = [" #", " catching "].iter().filter_map(|mark| proc.find(mark)).min();
    &proc[..end.unwrap_or(proc.len())]
}

/// Whether a constructor gives `this` to nobody.
pub(super) fn keeps_this(classes: &Classes<'_>, class: &JavaClass, method: &JavaMethod) -> bool {
    let mut keeps = initializers_keep_this(classes, class);
    if let Some(body) = &method.body {
        tree::expressions(body, &mut |e| keeps &= !gives_this(classes, e));
    }
    keeps
}

pub(super) fn initializers_keep_this(classes: &Classes<'_>, class: &JavaClass) -> bool {
    let mut keeps = class.extends.is_none();
    for field in class.fields.iter().filter(|f| !f.modifiers.is_static) {
        field.value.iter().for_each(|v| tree::in_expr(v, &mut |e| keeps &= !gives_this(classes, e)));
    }
    for block in class.initializers.iter().filter(|i| !i.is_static) {
        tree::expressions(&block.body, &mut |e| keeps &= !gives_this(classes, e));
    }
    keeps
}

/// An expression that may give `this` to others: as a value, in a lambda, or by a call of an own method.
fn gives_this(classes: &Classes<'_>, e: &tree::JavaExpr) -> bool {
    let is_this = |e: &tree::JavaExpr| matches!(e.kind, JavaExprKind::This);
    match &e.kind {
        JavaExprKind::Lambda { .. } | JavaExprKind::MethodReference(..) => true,
        JavaExprKind::New { ty, args, body } => {
            let keeps_outer = |c: &JavaClass| c.surroundings.has_outer_object || c.surroundings.is_in_body;
            let inner = match &ty.kind {
                tree::JavaTypeKind::Named(n, _) => classes.get(n).is_some_and(keeps_outer),
                _ => false,
            };
            inner || body.is_some() || args.iter().any(is_this)
        }
        JavaExprKind::Switch(_) => true,
        JavaExprKind::Call { object, args, .. } => {
            object.as_ref().is_none_or(|o| matches!(o.kind, JavaExprKind::This | JavaExprKind::Super))
                || args.iter().any(is_this)
        }
        JavaExprKind::Assign(_, _, value) => is_this(value),
        JavaExprKind::Conditional(parts) => parts[1..].iter().any(is_this),
        JavaExprKind::ArrayValues(values) => values.iter().any(is_this),
        JavaExprKind::Cast(_, inner) => is_this(inner),
        JavaExprKind::NewArray { values, .. } => values.iter().flatten().any(is_this),
        _ => false,
    }
}
