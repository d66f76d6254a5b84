//! Leaks: objects that are allocated, not freed, and that no thread can get at any more.
//!
//! In: a state, or the two states around a step. Out: the live objects that nothing leads to, and those that the step
//! lost. An object is held by shared variables and by what an instance may still read of its locals before it assigns them; an
//! instance that has ended reads nothing. What a live object's fields refer to is held as well. A value that no thread has chosen yet
//! refers to nothing: there is a run in which it is null. Objects of the start that nothing ever led to are lost by no step.
//! What is lost stays lost: no step can come by a reference to it. Deliberately absent: who lost it, which is whoever took the step.

use super::{Semantics, State};
use crate::code::LocId;
use crate::model::{Program, ThreadId, VarKind};
use crate::property::{PropertyId, PropertyKind};
use base::IdVec;
use logic::{ClassId, Sort, SortKind, Value};
use std::collections::BTreeSet;

/// An object, by its class and number.
pub type Object = (ClassId, u32);

/// For each location of each thread, the locals that hold objects there, by position.
pub(super) type Holding = IdVec<ThreadId, IdVec<LocId, Vec<usize>>>;

/// What holds objects; `None` where leaks are not asked for.
pub(super) fn holding(program: &Program) -> Option<Holding> {
    leak(program)?;
    let of = |t: &crate::model::Thread| {
        let live = crate::live::live(program, &t.code);
        let held = |at: &rustc_hash::FxHashSet<_>| (0..t.locals.len()).filter(|i| at.contains(&t.locals[*i])).collect();
        live.iter().map(held).collect()
    };
    Some(program.threads.iter().map(of).collect())
}

/// The property that nothing leaks, where it is asked for.
pub fn leak(program: &Program) -> Option<PropertyId> {
    program.properties.iter_enumerated().find(|(_, p)| p.kind == PropertyKind::Leak).map(|(id, _)| id)
}

impl Semantics<'_> {
    /// The live objects that nothing leads to; none where leaks are not asked for.
    pub fn lost(&self, state: &State) -> BTreeSet<Object> {
        let Some(holding) = &self.holding else { return BTreeSet::new() };
        let p = self.program;
        let mut lost: BTreeSet<Object> = BTreeSet::new();
        for (class, c) in p.classes.iter_enumerated() {
            if let Some(Value::Set(live)) = self.shared_index(c.live).map(|i| &state.shared[i]) {
                lost.extend(live.iter().filter_map(|o| if let Value::Ref(n) = o { Some((class, *n)) } else { None }));
            }
        }
        if lost.is_empty() {
            return lost;
        }
        let mut todo = Vec::new();
        for (v, value) in self.shared.iter().zip(&state.shared) {
            if !matches!(p.vars[*v].kind, VarKind::Field(_) | VarKind::Live(_)) {
                self.refers_to(value, p.vars[*v].sort, &mut todo);
            }
        }
        for i in &state.instances {
            let locals = &p.threads[i.thread].locals;
            for at in &holding[i.thread][i.at] {
                self.refers_to(&i.locals[*at], p.vars[locals[*at]].sort, &mut todo);
            }
        }
        while let Some((class, n)) = todo.pop() {
            // An object that is not live leads nowhere.
            if !lost.remove(&(class, n)) {
                continue;
            }
            for f in &p.classes[class].fields {
                let Some(Value::Map(field)) = self.shared_index(*f).map(|i| &state.shared[i]) else { continue };
                if let SortKind::Map(_, entry) = p.terms.kind(p.vars[*f].sort) {
                    self.refers_to(field.get(&Value::Ref(n)), entry, &mut todo);
                }
            }
        }
        lost
    }

    /// The objects that are lost after a step and were not before it.
    pub fn leaked(&self, before: &State, after: &State) -> Vec<Object> {
        let now = self.lost(after);
        if now.is_empty() {
            return Vec::new();
        }
        now.difference(&self.lost(before)).copied().collect()
    }

    /// The property that a step violates by losing an object.
    pub fn leaks(&self, before: &State, after: &State) -> Option<PropertyId> {
        self.holding.as_ref()?;
        if self.leaked(before, after).is_empty() { None } else { leak(self.program) }
    }

    /// The objects that a value refers to; the keys of a map lead nowhere.
    fn refers_to(&self, value: &Value, sort: Sort, out: &mut Vec<Object>) {
        if !self.with_refs.contains(&sort) {
            return;
        }
        match (value, self.program.terms.kind(sort)) {
            (Value::Ref(n), SortKind::Ref(c)) if *n != 0 => out.push((c, *n)),
            (Value::Map(m), SortKind::Map(_, v)) => {
                m.entries.values().chain([&m.default]).for_each(|x| self.refers_to(x, v, out));
            }
            (Value::Set(s), SortKind::Set(e)) => s.iter().for_each(|x| self.refers_to(x, e, out)),
            (Value::Seq(s), SortKind::Seq(e)) => s.iter().for_each(|x| self.refers_to(x, e, out)),
            _ => {}
        }
    }
}
