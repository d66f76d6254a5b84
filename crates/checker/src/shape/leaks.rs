//! Objects that a step may lose.
//!
//! In: the fragment before and after a thread's own step, with what it freed and which variables are not read any more. Out: whether what was
//! led to before still is. A state of a claim about leaks keeps: shared variables lead through published cells to every live published cell, a
//! thread's variables that are still read lead through its own cells to every live cell of its own. Views of such a claim leave out no
//! reference: an unknown one is one that the rules of steps made unknown (taken and freed cells, unread variables), and leads nowhere. The argument
//! is in `docs/decisions/063-leaks.md`.

use super::fragment::{FieldCandidate, FieldSlot, Fragment, V, Who};
use super::terms::Halt;
use crate::rules::Malformed;
use logic::SortKind;
use program::{Program, Scope, VarId, VarKind};

/// Every variable and field that holds references holds one; the roots are shared variables.
pub(crate) fn vet_leak_roots(program: &Program, roots: &[VarId]) -> Result<(), Malformed> {
    let shared = |v: &VarId| program.vars.get(*v).is_some_and(|v| v.scope == Scope::Shared);
    if !roots.iter().all(shared) {
        return Err(Malformed("a root that is no shared variable".into()));
    }
    let no = |v: &program::Var| Err(Malformed(format!("{} holds more than one reference", v.name)));
    for v in program.vars.iter().filter(|v| matches!(v.scope, Scope::Shared | Scope::Thread(_))) {
        let sort = match (v.kind, program.terms.kind(v.sort)) {
            (VarKind::Live(_), _) => continue,
            (VarKind::Field(_), SortKind::Map(_, entry)) => entry,
            _ => v.sort,
        };
        let single = matches!(program.terms.kind(sort), SortKind::Ref(_));
        if !single && program::memory::holds_references(program, sort) {
            return no(v);
        }
    }
    Ok(())
}

/// Variables that hold a reference.
fn references(program: &Program) -> impl Iterator<Item = (usize, bool)> + '_ {
    let plain = |v: &program::Var| matches!(program.terms.kind(v.sort), SortKind::Ref(_));
    program.vars.iter().enumerate().filter(move |(_, v)| plain(v)).map(|(i, v)| (i, v.scope == Scope::Shared))
}

fn target(v: &V) -> Option<usize> {
    if let V::Object(d) = v { Some(*d) } else { None }
}

impl Fragment<'_> {
    fn references_of(&self, d: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.items[d].fields.len()).filter(move |f| self.reference_field(d, *f))
    }
    /// Where a field certainly leads. One that has not been looked at is as it was before the step.
    fn leads(&self, before: &Fragment<'_>, d: usize, f: usize) -> Option<usize> {
        let then = &before.items[d];
        match &self.items[d].fields[f] {
            FieldSlot::Is(v) => target(v),
            FieldSlot::Open => match &before.candidates(Some(d), then.image, then.class, f)[..] {
                [FieldCandidate::Value(v)] => target(v),
                _ => None,
            },
        }
    }
    /// The cells of an owner that certain references lead to.
    fn led(&self, before: &Fragment<'_>, roots: impl IntoIterator<Item = usize>, owner: Option<Who>) -> Vec<bool> {
        let mut seen = vec![false; self.items.len()];
        let mut todo: Vec<usize> = roots.into_iter().collect();
        while let Some(d) = todo.pop() {
            if self.items[d].owner == owner && !std::mem::replace(&mut seen[d], true) {
                todo.extend(self.references_of(d).filter_map(|f| self.leads(before, d, f)));
            }
        }
        seen
    }
    fn rooted(&self) -> Vec<usize> {
        self.world.roots.iter().filter_map(|v| target(&self.vars[v.index()])).collect()
    }
    /// Whether the roots lead to whatever shared variables refer to.
    pub(super) fn begins(&self) -> bool {
        let led = self.led(self, self.rooted(), None);
        let mut shared = references(self.world.program).filter(|(_, s)| *s);
        shared.all(|(i, _)| target(&self.vars[i]).is_none_or(|d| led[d]))
    }
    /// Whether the step from `before` to this fragment may lose an object.
    pub(crate) fn loses(&self, before: &Fragment<'_>, freed: &[V], unread: &[VarId]) -> Result<bool, Halt> {
        let program = self.world.program;
        let freed: Vec<usize> = freed.iter().filter_map(target).collect();
        let root = |i: usize| self.world.roots.contains(&VarId(i as u32));
        let public = |f: &Fragment<'_>, d: usize| f.items[d].owner.is_none();
        // References that are gone: from where everybody can see them, and from the thread's own variables and cells.
        let (mut open, mut own): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
        let (mut places, mut written) = (0, Vec::new());
        for d in 0..self.items.len() {
            let mut cut = false;
            for f in before.references_of(d) {
                let (then, now) = (&before.items[d].fields[f], &self.items[d].fields[f]);
                match then {
                    _ if then == now => {}
                    FieldSlot::Open => return Err(Halt::Decide(d, Some(f))),
                    FieldSlot::Is(v) => {
                        cut |= target(v).is_some();
                        if public(before, d) { &mut open } else { &mut own }.extend(target(v));
                    }
                }
            }
            if cut && public(before, d) && public(self, d) {
                written.push(d);
            }
        }
        for (i, shared) in references(program) {
            let changed = self.vars[i] != before.vars[i];
            if shared && !root(i) {
                continue;
            }
            places += usize::from(changed && shared);
            if changed || (!shared && unread.contains(&VarId(i as u32))) {
                if shared { &mut open } else { &mut own }.extend(target(&before.vars[i]));
            }
        }
        // What is there now.
        let roots: Vec<usize> = self.rooted();
        let alone = if places + written.len() == 1 { written } else { Vec::new() };
        let shared = self.led(before, roots.iter().copied().chain(alone), None);
        let known = (0..self.items.len()).filter(|d| public(before, *d) && public(self, *d));
        let seen = self.led(before, roots.into_iter().chain(known), None);
        let read = |i: &usize| !unread.contains(&VarId(*i as u32));
        let vars = references(program).filter(|(_, s)| !*s).map(|(i, _)| i).filter(read);
        let held = self.led(before, vars.filter_map(|i| target(&self.vars[i])), Some(Who::Own));
        let mut lost = open.iter().any(|d| public(self, *d) && !shared[*d]);
        for d in 0..self.items.len() {
            let (then, now) = (public(before, d), public(self, d));
            let concerned = before.items[d].new || open.contains(&d) || then || own.contains(&d);
            lost |= !now && concerned && !freed.contains(&d) && !held[d];
            lost |= now && !then && !seen[d];
        }
        Ok(lost)
    }
}
