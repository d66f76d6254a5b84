//! Cells that come back to one thread, and `free`.
//!
//! In: a program that frees objects. Out: guesses at which step a thread gets a published cell for itself (`Take`), what such a step and
//! `free` do to a view, and what a thread refers to. A cell may be taken if nothing shared, no published cell and no other thread refers to it; the last is what
//! the bit `unshared` says. Only a cell of the thread's own can be freed: then no other thread ever meets it, freed or given out again by `new`, and
//! what the thread itself still has of it is an unknown reference. See `docs/decisions/062-taken-cells.md`.

use super::eval::{Alarm, EvalStop};
use super::heap::{ChangingView, lost};
use super::model::Model;
use super::types::ShapeType;
use super::view::{ANY, Code, GROUPS, Mask, OWNED_BIT, PackedView, bit, codes, is_cell};
use evidence::views::{Status, Take, Taker};
use logic::SortKind;
use program::{ObjectId, Program, Scope, VarKind};

/// The takes to try: at every step that writes something shared, for every reference of the same code to objects of a class that are freed.
pub(crate) fn candidates(program: &Program, subject: Option<ObjectId>) -> Vec<Take> {
    let codes: Vec<(Taker, &program::Code, Scope)> = match subject {
        Some(o) => {
            let ops = program.objects[o].ops.iter().enumerate();
            ops.map(|(i, op)| (Taker::Operation(i as u32), &op.code, Scope::Operation(o, i as u32))).collect()
        }
        None => {
            let threads = program.threads.iter_enumerated();
            threads.map(|(id, t)| (Taker::Thread(id), &t.code, Scope::Thread(id))).collect()
        }
    };
    let freed = program::memory::freed(program, codes.iter().map(|(_, code, _)| *code));
    let mut out = Vec::new();
    for (code, body, scope) in codes {
        let held = program.vars.iter_enumerated().filter(|(_, v)| {
            v.scope == scope && matches!(program.terms.kind(v.sort), SortKind::Ref(c) if freed.contains(&c))
        });
        let held: Vec<_> = held.map(|(id, _)| id).collect();
        for (action, a) in body.actions.iter_enumerated() {
            let shared = a.updates.iter().any(|u| {
                let v = &program.vars[u.var];
                v.scope == Scope::Shared && matches!(v.kind, VarKind::Plain | VarKind::Field(_))
            });
            if shared {
                out.extend(held.iter().map(|var| Take { code, action, var: *var }));
            }
        }
    }
    out
}

/// The cells that a frame's references refer to.
pub(crate) fn refers(model: &Model, control: u16, frame: &[Code]) -> Mask {
    let Some((routine, _)) = model.routine_at(control) else { return 0 };
    let held = routine.slots.iter().zip(frame).filter(|(s, c)| matches!(s.ty, ShapeType::Ref(_)) && is_cell(**c));
    held.fold(0, |m, (_, c)| m | bit(*c))
}

/// In a pair, the cells that the other thread owns: they have names there.
pub(crate) fn theirs(model: &Model, view: &PackedView) -> Mask {
    let frame = view.vars.get(model.globals.len() + model.frame..).unwrap_or_default();
    frame.iter().filter(|c| is_cell(**c) && view.owned(**c)).fold(0, |m, c| m | bit(*c))
}

/// The published cells and groups that the thread that moves refers to, by its variables or by fields of cells it owns.
pub(super) fn held(model: &Model, view: &PackedView) -> Mask {
    let base = model.globals.len();
    let mut out = refers(model, view.control, &view.vars[base..base + model.frame]);
    let theirs = theirs(model, view);
    let mut owned: Mask = 0;
    for c in (0..view.cells()).filter(|c| view.owned(*c)) {
        owned |= bit(c);
        if theirs & bit(c) == 0 {
            let class = model.kinds[view.kind(c) as usize].class;
            out |= model.reference_rows(class).fold(0, |m, r| m | view.row(c, r));
        }
    }
    out & (bit(super::view::NULL) - 1) & !owned
}

impl ChangingView<'_> {
    /// Whether the view is a pair: another thread looks on.
    fn paired(&self) -> bool {
        self.view.vars.len() > self.model.globals.len() + self.model.frame
    }
    /// The cell is the thread's own from now on, without what it refers to. Whether it may be is the thread's own affair: nothing to be asked in a pair.
    pub(super) fn take(&mut self, take: usize, at: Code) -> Result<(), EvalStop> {
        if !is_cell(at) || self.view.owned(at) {
            return Ok(());
        }
        if !self.paired() && !self.unshared(at) {
            return Err(EvalStop::Alarm(Alarm::Kept(take)));
        }
        self.cut_all(at)?;
        let kind = self.model.common[self.view.kind(at) as usize];
        self.view.kinds[at as usize] = kind | OWNED_BIT;
        self.view.set_single_predecessor(at, false);
        self.view.set_unshared(at, true);
        self.visible = true;
        // Without its references: the thread would refer to what they lead to.
        let class = self.model.kinds[kind as usize].class;
        self.model.reference_rows(class).for_each(|r| self.view.set_row(at, r, bit(ANY)));
        let theirs = theirs(self.model, &self.view);
        for c in self.view.all().filter(|c| *c != at) {
            // The other thread may know a value by the cell's name; a reference it has not.
            let named = theirs & bit(c) != 0;
            if !named && self.view.owned(c) {
                continue;
            }
            let class = self.model.kinds[self.view.kind(c) as usize].class;
            let references: Vec<usize> = self.model.reference_rows(class).collect();
            for r in 0..self.model.width {
                let (row, rest) = (self.view.row(c, r), self.view.row(c, r) & !bit(at));
                if row == rest {
                    continue;
                }
                self.view.set_row(c, r, if named && !references.contains(&r) { rest | bit(ANY) } else { rest });
            }
        }
        let frame = self.model.globals.len() + self.model.frame;
        for v in self.view.vars.iter_mut().skip(frame).filter(|v| **v == at) {
            *v = ANY;
        }
        Ok(())
    }
    /// Nothing shared, no published cell and no other thread refers to the cell.
    fn unshared(&self, at: Code) -> bool {
        let (model, view) = (self.model, &self.view);
        let placed = matches!(self.status(at), Status::In | Status::Before | Status::After);
        let linked = |c: Code| c != at && !view.owned(c) && (0..model.width).any(|r| view.row(c, r) & bit(at) != 0);
        view.is_unshared(at) && !placed && !view.vars[..model.globals.len()].contains(&at) && !view.all().any(linked)
    }
    /// The object is no longer live. What the thread still has of it is unknown; as the name of a value the cell stays.
    pub(super) fn free(&mut self, at: Code) -> Result<(), EvalStop> {
        if !is_cell(at) || !self.view.owned(at) {
            return lost("an object is freed that other threads may still refer to");
        }
        self.cut_all(at)?;
        let (model, base) = (self.model, self.model.globals.len());
        let Some((routine, _)) = model.routine_at(self.view.control) else {
            return lost("an object is freed between two calls");
        };
        for (i, slot) in routine.slots.iter().enumerate() {
            if matches!(slot.ty, ShapeType::Ref(_)) && self.view.vars[base + i] == at {
                self.view.vars[base + i] = ANY;
            }
        }
        for c in (0..self.view.cells()).filter(|c| self.view.owned(*c)).collect::<Vec<_>>() {
            let class = model.kinds[self.view.kind(c) as usize].class;
            for r in model.reference_rows(class) {
                let row = self.view.row(c, r);
                if row & bit(at) != 0 {
                    self.view.set_row(c, r, row & !bit(at) | bit(ANY));
                }
            }
        }
        let rows = model.width - usize::from(model.successor_row().is_some());
        (0..rows).for_each(|r| self.view.set_row(at, r, bit(ANY)));
        Ok(())
    }
}

/// Brings what two threads know of who refers to what together in their pair; false where they contradict each other. `t` and `sc`: the cells and groups
/// of the pair that no thread but t, no thread but sc refers to.
pub(crate) fn agree(model: &Model, pair: &mut PackedView, controls: (u16, u16), t: Mask, sc: Mask) -> bool {
    let base = model.globals.len();
    let (own, other) = pair.vars[base..].split_at(model.frame);
    let (by_t, by_sc) = (refers(model, controls.0, other), refers(model, controls.1, own));
    let owned = (0..pair.cells()).filter(|c| pair.owned(*c)).fold(0, |m, c| m | bit(c));
    if by_t & sc & !owned != 0 || by_sc & t & !owned != 0 {
        return false;
    }
    let theirs = theirs(model, pair);
    for c in codes(owned) {
        let class = model.kinds[pair.kind(c) as usize].class;
        let not = if theirs & bit(c) != 0 { sc } else { t } & !owned;
        for r in model.reference_rows(class) {
            let row = pair.row(c, r);
            pair.set_row(c, r, row & !not);
        }
    }
    for at in pair.all() {
        debug_assert!(at < super::view::NULL && (at < GROUPS || pair.has_group(at - GROUPS)), "a cell or a group");
        pair.set_unshared(at, (t | sc) & bit(at) != 0);
    }
    true
}

/// What the other thread of a pair knows of who refers to what after the step.
pub(crate) fn witnessed(model: &Model, pair: &PackedView, seen: &mut PackedView) {
    let (held, theirs) = (held(model, pair), theirs(model, pair));
    for at in pair.all() {
        seen.set_unshared(at, theirs & bit(at) != 0 || (pair.is_unshared(at) && held & bit(at) == 0));
    }
}
