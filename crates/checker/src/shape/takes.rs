//! Who refers to what, cells that a thread gets for itself, and `free`.
//!
//! In: a fragment in the middle of a step. Out: what `unshared` in a view means on it, a published cell that is the thread's own from now on
//! (a take of the certificate), an object that is no longer live. A thread refers to a cell by a variable that it may still read, or by a
//! field of a cell it owns. Values of which a view says nothing are no thread's references: no thread may follow them. See
//! `docs/decisions/062-taken-cells.md`.

use super::fragment::{FieldCandidate, FieldSlot, Fragment, Image, Successor, V, Who};
use super::spine::inside;
use super::terms::{Halt, halt_with};
use evidence::views::Status;
use logic::Symbol;
use program::{Action, Code, Mark, Program, Scope, VarId};
use rustc_hash::FxHashSet;

/// For each location, the variables that are not read from there on before they are assigned.
pub(crate) fn dead(program: &Program, code: &Code, vars: &[VarId], results: &[VarId]) -> Vec<Vec<VarId>> {
    let mut live: Vec<FxHashSet<VarId>> = vec![FxHashSet::default(); code.locations.len()];
    if let Some(exit) = code.exit {
        live[exit.index()].extend(results);
    }
    loop {
        let mut grown = false;
        for a in code.actions.iter() {
            let read = reads(program, a);
            for v in vars {
                let kept = live[a.to.index()].contains(v) && !a.updates.iter().any(|u| u.var == *v);
                if read.contains(&program.vars[*v].symbol) || kept {
                    grown |= live[a.from.index()].insert(*v);
                }
            }
        }
        if !grown {
            break;
        }
    }
    live.iter().map(|l| vars.iter().copied().filter(|v| !l.contains(v)).collect()).collect()
}

/// The symbols that an action looks at.
pub(crate) fn reads(program: &Program, a: &Action) -> FxHashSet<Symbol> {
    let marks = a.marks.iter().filter_map(|m| match m {
        Mark::Linearize(e) => *e,
        Mark::Witness(_) => None,
    });
    let values = a.gates.iter().map(|g| g.formula).chain(a.updates.iter().map(|u| u.value)).chain(marks);
    values.chain([a.guard]).flat_map(|e| program.terms.free_symbols(e)).collect()
}

fn names(v: &V, d: usize) -> bool {
    matches!(v, V::Object(x) | V::Datum(x) if *x == d)
}

impl Fragment<'_> {
    pub(super) fn reference_field(&self, d: usize, f: usize) -> bool {
        self.world.refers(self.items[d].class, f)
    }
    /// What the open field of a cell may be.
    fn open(&self, d: usize, f: usize) -> Vec<FieldCandidate> {
        self.candidates(Some(d), self.items[d].image, self.items[d].class, f)
    }
    /// Whether the thread (0: the one that moves, 1: the other) refers to the cell.
    pub(super) fn held(&self, side: usize, d: usize) -> bool {
        let object = V::Object(d);
        let who = if side == 0 { Who::Own } else { Who::Peer };
        self.refers(side, d)
            || self.items.iter().enumerate().any(|(q, x)| {
                x.owner == Some(who)
                    && x.fields.iter().enumerate().any(|(f, s)| match s {
                        FieldSlot::Is(v) => *v == object,
                        FieldSlot::Open => self.open(q, f).contains(&FieldCandidate::Value(object.clone())),
                    })
            })
    }
    /// Whether a cell outside the fragment may be one that a cell of the moving thread's own refers to.
    pub(crate) fn held_outside(&self, groups: [Option<usize>; 2]) -> bool {
        self.items.iter().enumerate().any(|(q, x)| {
            x.owner == Some(Who::Own)
                && (0..x.fields.len())
                    .any(|f| x.fields[f] == FieldSlot::Open && self.open(q, f).contains(&FieldCandidate::New(groups)))
        })
    }
    /// Whether a thread may have had a reference to the cell before the step, by what the other thread's view says of it.
    pub(crate) fn may_refer(&self, who: Who, c: &FieldCandidate) -> bool {
        if !self.world.takes || self.sides.iter().any(Option::is_none) {
            return true;
        }
        let other = usize::from(who == Who::Own);
        match c {
            FieldCandidate::Value(V::Object(d)) => !self.items[*d].unshared[other],
            FieldCandidate::New(groups) => groups[other].is_none_or(|g| !self.known(Image::Group(g), other).unshared),
            FieldCandidate::Value(_) => true,
        }
    }
    /// Before a step: what one thread alone refers to, the other does not.
    pub(super) fn apart(&self) -> bool {
        !self.world.takes
            || (0..self.items.len()).all(|d| {
                let x = &self.items[d];
                x.owner.is_some() || [0, 1].iter().all(|s| !x.unshared[*s] || !self.refers(1 - s, d))
            })
    }
    fn refers(&self, side: usize, d: usize) -> bool {
        let vars = self.world.program.vars.iter_enumerated().filter(|(_, v)| v.scope != Scope::Shared);
        let store = if side == 0 { &self.vars } else { &self.peer };
        vars.filter_map(|(id, _)| store.get(id.index())).any(|v| *v == V::Object(d))
    }
    /// The cell is the moving thread's own from now on. That it may be is shown where the thread is alone.
    pub(super) fn take(&mut self, value: &V) -> Result<(), Halt> {
        let V::Object(d) = *value else { return Ok(()) };
        if self.items[d].owner.is_some() {
            return Ok(());
        }
        // What it refers to was a published cell's affair; from now on it is the thread's.
        let open = (0..self.items[d].fields.len()).find(|f| self.items[d].fields[*f] == FieldSlot::Open);
        if let Some(f) = open.filter(|_| !self.items[d].new) {
            return Err(Halt::Decide(d, Some(f)));
        }
        if self.sides[1].is_none() && !self.unshared(d) {
            return halt_with("a cell is taken that others may refer to");
        }
        self.items[d].owner = Some(Who::Own);
        self.items[d].left = [false, false];
        for f in 0..self.items[d].fields.len() {
            if self.reference_field(d, f) {
                self.items[d].fields[f] = FieldSlot::Is(V::Any);
            }
        }
        if self.sides[1].is_none() {
            return Ok(());
        }
        // The other thread may know a value by the cell's name; its view cannot say so any more.
        let forget = |v: &mut V| {
            if *v == V::Datum(d) {
                *v = V::Any;
            }
        };
        self.peer.iter_mut().for_each(forget);
        if let super::fragment::FragmentProgress::Pure(r) | super::fragment::FragmentProgress::Changed(r) =
            &mut self.done[1]
        {
            r.iter_mut().for_each(forget);
        }
        for x in self.items.iter_mut().filter(|x| x.owner == Some(Who::Peer)) {
            for s in &mut x.fields {
                if *s == FieldSlot::Is(V::Datum(d)) {
                    *s = FieldSlot::Is(V::Any);
                }
            }
        }
        Ok(())
    }
    /// Nothing shared, no published cell and no other thread refers to the cell.
    fn unshared(&self, d: usize) -> bool {
        let program = self.world.program;
        let unshared = if self.sides[0].is_some() { self.items[d].unshared[0] } else { !self.held(1, d) };
        let mut shared = program.vars.iter_enumerated().filter(|(_, v)| v.scope == Scope::Shared);
        let status = self.items[d].status;
        let named = |c: &FieldCandidate| matches!(c, FieldCandidate::Value(v) if names(v, d));
        let linked = self.items.iter().enumerate().any(|(q, x)| {
            let successor = match &x.successor {
                Successor::Is(v) => names(v, d),
                Successor::Open => x.status == Status::In && self.successors(q).iter().any(named),
                Successor::AsLink => false,
            };
            q != d
                && x.owner.is_none()
                && (successor
                    || x.fields.iter().enumerate().any(|(f, s)| match s {
                        FieldSlot::Is(v) => names(v, d),
                        FieldSlot::Open => self.open(q, f).iter().any(named),
                    }))
        });
        let outside = self.outside().into_iter().any(|(image, class)| {
            let fields = self.world.fields[class.index()].len();
            let lists: Vec<_> =
                (0..2).filter_map(|s| image[s].map(|i| (s, self.known(i, s).successor.as_slice()))).collect();
            (0..fields).any(|f| self.candidates(None, image, class, f).iter().any(named))
                || self.meet(&lists, None, true).iter().any(named)
        });
        unshared
            && !inside(status)
            && status != Status::In
            && !shared.any(|(id, _)| names(&self.vars[id.index()], d))
            && !self.ends.iter().chain(&self.crossing).any(|(a, b)| names(a, d) || names(b, d))
            && !linked
            && !outside
    }
    /// The object is no longer live; what the thread still has of it is unknown. As the name of a value the cell stays.
    pub(super) fn free(&mut self, value: &V) -> Result<(), Halt> {
        let d = match value {
            V::Object(d) if self.items[*d].owner == Some(Who::Own) => *d,
            _ => return halt_with("an object is freed that others may refer to"),
        };
        for q in 0..self.items.len() {
            if self.items[q].owner != Some(Who::Own) {
                continue;
            }
            for f in 0..self.items[q].fields.len() {
                match &self.items[q].fields[f] {
                    FieldSlot::Open if self.reference_field(q, f) => return Err(Halt::Decide(q, Some(f))),
                    FieldSlot::Is(V::Object(x)) if *x == d => self.items[q].fields[f] = FieldSlot::Is(V::Any),
                    _ => {}
                }
            }
        }
        self.vars.iter_mut().filter(|v| **v == V::Object(d)).for_each(|v| *v = V::Any);
        self.items[d].fields.fill(FieldSlot::Is(V::Any));
        Ok(())
    }
    /// Forgets variables that are not read again: what they refer to is not held by them. The one name of a cell of the thread's own that another such cell leads to stays.
    pub(crate) fn forget_dead(&mut self, dead: &[VarId]) -> Result<(), Halt> {
        for v in dead {
            let at = v.index();
            let (V::Object(d) | V::Datum(d)) = self.vars[at] else { continue };
            let forget = match self.items[d].owner {
                None => self.world.exact() && self.vars[at] == V::Object(d),
                Some(Who::Own) => {
                    let results = super::terms::remembered(&self.done[0]).unwrap_or_default();
                    let mut others =
                        self.vars.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, v)| v).chain(results);
                    others.any(|v| names(v, d)) || !self.led_to(d)?
                }
                Some(_) => false,
            };
            if forget {
                self.vars[at] = V::Any;
            }
        }
        Ok(())
    }
    /// Whether another cell of the thread's own refers to the cell.
    fn led_to(&self, d: usize) -> Result<bool, Halt> {
        for (q, x) in self.items.iter().enumerate().filter(|(q, x)| *q != d && x.owner == Some(Who::Own)) {
            for (f, s) in x.fields.iter().enumerate() {
                match s {
                    FieldSlot::Is(v) if names(v, d) => return Ok(true),
                    FieldSlot::Open
                        if self.open(q, f).iter().any(|c| matches!(c, FieldCandidate::Value(v) if names(v, d))) =>
                    {
                        return Err(Halt::Decide(q, Some(f)));
                    }
                    _ => {}
                }
            }
        }
        Ok(false)
    }
}
