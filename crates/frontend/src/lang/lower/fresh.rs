//! Objects that a procedure makes for itself: they are in the frame of what it performs.
//!
//! In: procedures with code and specifications; the classes whose objects belong to their makers (`thread_local` fields). Out: the actions
//! of a procedure that may make such objects may change them: which objects there are, and the fields of the thread's own
//! objects that were not there before. All others stay as the frame says. Deliberately absent: objects of other classes, which
//! any thread may see.

use super::Lowering;
use logic::{ClassId, Op, SortKind, Term};
use program::{Performs, ProcId, StorePlace, TwoStore, VarId};
use std::collections::BTreeSet;

impl Lowering<'_> {
    pub(super) fn fresh_objects(&mut self) {
        if self.owners.is_empty() {
            return;
        }
        let made = self.made();
        for (id, classes) in made {
            let Some((mut performs, property)) = self.program.procedures[id].performs.take() else { continue };
            each_action(&mut performs, &mut |action| {
                for class in &classes {
                    self.may_make(action, *class);
                }
            });
            self.program.procedures[id].performs = Some((performs, property));
        }
    }

    /// The classes with owners whose objects a procedure may make, itself or in calls.
    fn made(&self) -> Vec<(ProcId, BTreeSet<ClassId>)> {
        let p = &self.program;
        let live: Vec<(VarId, ClassId)> = self.owners.keys().map(|c| (p.classes[*c].live, *c)).collect();
        let own = |id: ProcId| {
            let updates = p.procedures[id].code.actions.iter().flat_map(|a| &a.updates);
            updates.filter_map(|u| live.iter().find(|(v, _)| *v == u.var)).map(|(_, c)| *c).collect()
        };
        let mut out: Vec<(ProcId, BTreeSet<ClassId>)> = p.procedures.ids().map(|id| (id, own(id))).collect();
        loop {
            let mut grown = false;
            for (id, _) in out.clone() {
                let called: Vec<ProcId> = p.procedures[id].code.calls.iter().map(|c| c.procedure).collect();
                let more: BTreeSet<ClassId> =
                    out.iter().filter(|(q, _)| called.contains(q)).flat_map(|(_, c)| c.iter().copied()).collect();
                if let Some((_, classes)) = out.iter_mut().find(|(q, _)| *q == id) {
                    let before = classes.len();
                    classes.extend(more);
                    grown |= classes.len() > before;
                }
            }
            if !grown {
                out.retain(|(_, classes)| !classes.is_empty());
                return out;
            }
        }
    }

    /// Lets the action make objects of the class. What is said of every object has the form `others' or there already ==> unchanged`, which
    /// tells that the action touches no other (`program::access`).
    fn may_make(&self, action: &mut TwoStore, class: ClassId) {
        let (p, t) = (&self.program, &self.program.terms);
        let Some(owner) = self.owners.get(&class) else { return };
        let live = p.classes[class].live;
        let mut parts = vec![action.relation];
        let object = t.symbol("object", t.sort(SortKind::Ref(class)));
        let o = t.sym(object);
        let foreign = t.ne(t.select(p.now(*owner), o), t.sym(p.tid));
        let there = t.member(o, p.now(live));
        if !action.frame.iter().any(|f| f.var == live) {
            let (old, new) = (p.now(live), t.sym(p.vars[live].primed));
            let same = t.eq(t.member(o, new), t.member(o, old));
            parts.push(t.forall(&[object], t.implies(t.or(&[foreign, there]), same)));
            action.frame.push(StorePlace { var: live, keys: Vec::new() });
        }
        for field in p.classes[class].fields.iter().copied() {
            let places: Vec<StorePlace> = action.frame.iter().filter(|f| f.var == field).cloned().collect();
            if places.iter().any(|f| f.keys.is_empty()) {
                continue;
            }
            let (old, new) = (p.now(field), t.sym(p.vars[field].primed));
            let read = |m: Term, keys: &[Term]| keys.iter().fold(m, |m, k| t.select(m, *k));
            let kept = places.iter().fold(old, |m, f| with(t, m, &f.keys, read(new, &f.keys)));
            let same = t.eq(t.select(new, o), t.select(kept, o));
            parts.push(t.forall(&[object], t.implies(t.or(&[foreign, there]), same)));
            action.frame.retain(|f| f.var != field);
            action.frame.push(StorePlace { var: field, keys: Vec::new() });
        }
        action.relation = t.mk(Op::And, &parts);
    }
}

fn each_action(performs: &mut Performs, then: &mut dyn FnMut(&mut TwoStore)) {
    match performs {
        Performs::Action { action, .. } => then(action),
        Performs::Then(parts) | Performs::Or(parts) => parts.iter_mut().for_each(|p| each_action(p, then)),
        Performs::Star(inner) => each_action(inner, then),
    }
}

fn with(t: &logic::Terms, map: Term, keys: &[Term], value: Term) -> Term {
    match keys {
        [] => value,
        [k, rest @ ..] => t.store(map, *k, with(t, t.select(map, *k), rest, value)),
    }
}
