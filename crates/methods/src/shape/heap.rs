//! Changes to the heap part of a view: field writes, publication, the bit for a single predecessor, the ghost sequence, and pruning.
//!
//! In: a view in the middle of a step. Out: the changed view, or the question that must be answered first. Keeps what
//! the meaning of a view demands: published cells never refer to owned ones; `AS_LINK` exactly where successor and link agree;
//! a cell with a single predecessor has at most one published predecessor.

use super::eval::{Alarm, EvalStop};
use super::model::{Model, Precision, Stored};
use super::types::ShapeType;
use super::view::{
    ANY, ARGUMENT, AS_LINK, Code, FREE, GROUPS, Mask, NULL, OWN, OWNED_BIT, PackedView, SELF, THIRD, bit, codes,
    definite, is_cell,
};
use evidence::views::Status;

/// A view being changed by a step.
pub(crate) struct ChangingView<'a> {
    pub model: &'a Model,
    pub view: PackedView,
    /// Something that other threads can see may have changed.
    pub visible: bool,
    /// It has certainly changed: neither value is unknown, nor are both the ids of threads out of sight.
    pub certain: bool,
    /// Whether there was a change must be known: a linearization point or a take depends on it.
    pub(crate) decides_changes: bool,
    /// Where leaks are asked for: the references that the step has removed from fields.
    pub cuts: Vec<Cut>,
}

/// A reference that a step removes: from a field of the first cell to the second.
pub(crate) type Cut = (Code, Code);

pub(super) fn lost<T>(what: impl Into<String>) -> Result<T, EvalStop> {
    Err(EvalStop::Alarm(Alarm::Lost(what.into())))
}

impl<'a> ChangingView<'a> {
    pub(super) fn new(model: &'a Model, view: PackedView) -> Self {
        Self { model, view, visible: false, certain: false, decides_changes: false, cuts: Vec::new() }
    }
    /// Something that others see had the one value and has the other now. Two threads out of sight may be one or two.
    pub(crate) fn note_change(&mut self, old: Code, new: Code) {
        let unknown = old == ANY || new == ANY || (old == THIRD && new == THIRD);
        self.visible |= unknown || old != new;
        self.certain |= !unknown && old != new;
    }
    pub(crate) fn note_certain_change(&mut self) {
        self.visible = true;
        self.certain = true;
    }
}

impl ChangingView<'_> {
    /// The reference in a row of the cell is about to be removed.
    pub(super) fn cut(&mut self, at: Code, row: usize) -> Result<(), EvalStop> {
        if self.model.leak.is_some() {
            match definite(self.view.row(at, row)) {
                None => return Err(EvalStop::Split(at, row)),
                Some(target) if is_cell(target) => self.cuts.push((at, target)),
                Some(_) => {}
            }
        }
        Ok(())
    }
    /// All references of the cell are about to be removed.
    pub(crate) fn cut_all(&mut self, at: Code) -> Result<(), EvalStop> {
        let (model, class) = (self.model, self.model.kinds[self.view.kind(at) as usize].class);
        model.reference_rows(class).try_for_each(|r| self.cut(at, r))
    }
    pub(super) fn status(&self, at: Code) -> Status {
        self.model.kinds[self.view.kind(at) as usize].status
    }
    fn link_row(&self, at: Code) -> Option<usize> {
        self.model.link_row(self.model.kinds[self.view.kind(at) as usize].class)
    }
    pub(super) fn set_kind(&mut self, at: Code, kind: u8) {
        let owned = self.view.kinds[at as usize] & OWNED_BIT;
        self.view.kinds[at as usize] = kind | owned;
    }
    /// `field` of `at` becomes `value`.
    pub(super) fn write(&mut self, field: u16, at: Code, value: Code) -> Result<(), EvalStop> {
        if at == NULL {
            return Ok(());
        }
        let f = &self.model.fields[field as usize];
        if !is_cell(at) {
            return lost(format!("field {} of an unknown object is written", f.name));
        }
        match f.stored {
            Stored::Colour(i) => {
                let kind = self.view.kind(at);
                if value == ANY && f.ty != ShapeType::Key {
                    return lost(format!("an unknown value is stored in {}", f.name));
                }
                if let Some(s) = &self.model.spine
                    && s.key_var == f.var
                    && matches!(self.status(at), Status::Before | Status::After)
                {
                    return lost("the key of a cell in the list changes");
                }
                let new = self.model.with_colour(kind, i, value);
                if new != kind && !self.view.owned(at) {
                    self.note_certain_change();
                }
                self.set_kind(at, new);
                Ok(())
            }
            Stored::Row(r) => {
                let r = r as usize;
                let value = if value == ARGUMENT { self.stand_for(at, r)? } else { value };
                let code = if f.ty == ShapeType::Data && value == at { SELF } else { value };
                if self.model.classes[f.class.index()].link == Some(field) {
                    self.before_link(at, r, value)?;
                    self.before_relink(at, value)?;
                }
                let old = self.view.row(at, r);
                if self.decides_changes && !self.view.owned(at) && definite(old).is_none() && old & bit(code) != 0 {
                    return Err(EvalStop::Split(at, r));
                }
                if matches!(f.ty, ShapeType::Ref(_)) && old != bit(code) {
                    self.cut(at, r)?;
                }
                self.view.set_row(at, r, bit(code));
                if !self.view.owned(at) {
                    // Only the thread itself can see that it takes a lock or gives it back.
                    let own = matches!(self.model.precision, Precision::OwnLocks | Precision::FewNames)
                        && f.ty == ShapeType::Lock
                        && ((old == bit(FREE) && code == OWN) || (old == bit(OWN) && code == FREE));
                    match definite(old) {
                        _ if own => {}
                        Some(old) => self.note_change(old, code),
                        None => {
                            self.visible = true;
                            self.certain |= (old & bit(ANY) == 0 && old & bit(code) == 0) && code != ANY;
                        }
                    }
                    if is_cell(value) {
                        self.publish(value);
                    }
                    if is_cell(value) && Some(r) == self.link_row(value) {
                        self.recount(value);
                    }
                }
                Ok(())
            }
        }
    }
    /// A number that a thread stores in a cell of its own gets the cell's name, where the cell stands for nothing yet: what is known of it is that all
    /// copies of it are equal. What is to be stored then. Operations have an argument to name instead.
    pub(super) fn name_value(&mut self, field: u16, at: Code, value: Code, from: u16) -> Code {
        let (model, f) = (self.model, &self.model.fields[field as usize]);
        let base = model.globals.len();
        let Some((routine, _)) = model.routine_at(self.view.control).filter(|_| model.object.is_none()) else {
            return value;
        };
        let slot = (from as usize).checked_sub(base).and_then(|i| routine.slots.get(i));
        if value != ANY || f.ty != ShapeType::Data || !is_cell(at) || slot.is_none_or(|s| s.ty != ShapeType::Data) {
            return value;
        }
        let now = self.view.vars[from as usize];
        if now != ANY {
            // Named by an earlier write of the same step.
            return now;
        }
        let rows = model.fields.iter().filter_map(|f| match (f.ty, f.stored) {
            (ShapeType::Data, Stored::Row(r)) => Some((f.class, r as usize)),
            _ => None,
        });
        let class = model.kinds[self.view.kind(at) as usize].class;
        let used = rows.clone().any(|(_, r)| self.view.all().any(|c| self.view.row(c, r) & bit(at) != 0))
            || rows.filter(|(c, _)| *c == class).any(|(_, r)| self.view.row(at, r) & bit(SELF) != 0);
        let frame = &self.view.vars[base..base + model.frame];
        let named = routine.slots.iter().zip(frame).any(|(s, c)| s.ty == ShapeType::Data && *c == at);
        if used || named || !self.view.owned(at) || self.status(at) != Status::Never {
            return value;
        }
        self.view.vars[from as usize] = at;
        at
    }
    /// The argument gets a cell that stands for it: the one it is stored in, if that stands for nothing yet.
    fn stand_for(&mut self, at: Code, row: usize) -> Result<Code, EvalStop> {
        let used = self.model.fields.iter().any(|f| match (f.ty, f.stored) {
            (ShapeType::Data, Stored::Row(r)) => self.view.all().any(|c| self.view.row(c, r as usize) & bit(at) != 0),
            _ => false,
        });
        let named =
            self.model.globals.iter().enumerate().any(|(i, s)| s.ty == ShapeType::Data && self.view.vars[i] == at);
        let set = self.view.row(at, row) & bit(SELF) != 0;
        if used || named || set || !self.view.owned(at) || self.status(at) != Status::Never {
            return lost("an argument is stored in a cell that already stands for a value");
        }
        // A local that refers to the cell as a value would have to be of type data; the cell stands for nothing yet,
        // so such a local cannot exist: a value only ever gets a cell's name here.
        for v in self.view.vars.iter_mut() {
            if *v == ARGUMENT {
                *v = at;
            }
        }
        Ok(at)
    }
    /// Keeps `successor` right when the link of a cell in the sequence is about to change.
    fn before_link(&mut self, at: Code, link: usize, value: Code) -> Result<(), EvalStop> {
        let Some(s) = self.model.successor_row() else { return Ok(()) };
        if self.status(at) != Status::In {
            return Ok(());
        }
        let Some(next) = definite(self.view.row(at, s)) else { return Err(EvalStop::Split(at, s)) };
        let next = if next == AS_LINK {
            match definite(self.view.row(at, link)) {
                Some(old) => old,
                None => return Err(EvalStop::Split(at, link)),
            }
        } else {
            next
        };
        if value == ANY || next == ANY {
            return lost("the link of a cell in the sequence becomes unknown");
        }
        let new = if next == value { AS_LINK } else { next };
        self.view.set_row(at, s, bit(new));
        Ok(())
    }
    /// The successor of `at` in the sequence becomes `next`.
    fn set_successor(&mut self, at: Code, next: Code) -> Result<(), EvalStop> {
        let s = self.model.successor_row().expect("only a sequence has successors");
        let code = match self.link_row(at) {
            None => next,
            Some(link) => match definite(self.view.row(at, link)) {
                Some(ANY) => return lost("a cell enters the sequence with an unknown link"),
                Some(now) if now == next => AS_LINK,
                Some(_) => next,
                None if self.view.row(at, link) & (bit(next) | bit(ANY)) == 0 => next,
                None => return Err(EvalStop::Split(at, link)),
            },
        };
        self.view.set_row(at, s, bit(code));
        Ok(())
    }
    /// The successor of a cell in the sequence; the sequence ends at its last cell, never returns to its first or to itself.
    fn successor(&self, at: Code) -> Result<Code, EvalStop> {
        let s = self.model.successor_row().expect("only a sequence has successors");
        let (first, last) = self.ends();
        if at == last {
            return Ok(NULL);
        }
        let next = match definite(self.view.row(at, s)) {
            None => return Err(EvalStop::Split(at, s)),
            Some(AS_LINK) => {
                let link = self.link_row(at).expect("agreement with a link needs a link");
                match definite(self.view.row(at, link)) {
                    Some(next) => next,
                    None => return Err(EvalStop::Split(at, link)),
                }
            }
            Some(next) => next,
        };
        if next == ANY {
            return lost("the successor of a cell in the sequence is unknown");
        }
        if !is_cell(next) || next == at || next == first || self.status(next) != Status::In {
            return Err(EvalStop::Impossible);
        }
        Ok(next)
    }
    pub(super) fn ends(&self) -> (Code, Code) {
        let (first, last) = self.model.ends.expect("only a sequence has ends");
        (self.view.vars[first as usize], self.view.vars[last as usize])
    }
    fn set_ends(&mut self, first: Code, last: Code) {
        let (f, l) = self.model.ends.expect("only a sequence has ends");
        self.view.vars[f as usize] = first;
        self.view.vars[l as usize] = last;
        self.note_certain_change();
    }
    fn enter(&mut self, value: Code) -> Result<(), EvalStop> {
        if !is_cell(value) {
            return lost("a value that no cell stands for enters the specification");
        }
        if self.status(value) != Status::Never {
            return lost("a value enters the specification twice");
        }
        self.set_kind(value, self.model.with_status(self.view.kind(value), Status::In));
        Ok(())
    }
    pub(crate) fn push_front(&mut self, value: Code) -> Result<(), EvalStop> {
        let (first, last) = self.ends();
        self.enter(value)?;
        self.set_successor(value, first)?;
        self.set_ends(value, if first == NULL { value } else { last });
        self.publish(value);
        Ok(())
    }
    pub(super) fn push_back(&mut self, value: Code) -> Result<(), EvalStop> {
        let (first, last) = self.ends();
        self.enter(value)?;
        self.set_successor(value, NULL)?;
        if last != NULL {
            self.set_successor(last, value)?;
        }
        self.set_ends(if first == NULL { value } else { first }, value);
        self.publish(value);
        Ok(())
    }
    pub(super) fn pop_front(&mut self) -> Result<(), EvalStop> {
        let (first, last) = self.ends();
        if first == NULL {
            return Ok(());
        }
        let next = self.successor(first)?;
        let s = self.model.successor_row().expect("only a sequence has successors");
        self.set_kind(first, self.model.with_status(self.view.kind(first), Status::Past));
        // Outside the sequence the successor means nothing; one fixed value keeps views equal.
        self.view.set_row(first, s, bit(AS_LINK));
        self.set_ends(next, if first == last { NULL } else { last });
        Ok(())
    }
    /// The cell, and every owned cell it leads to, can be seen by other threads from now on.
    pub(super) fn publish(&mut self, at: Code) {
        let mut todo = vec![at];
        let mut new = Vec::new();
        while let Some(c) = todo.pop() {
            if !self.view.owned(c) {
                continue;
            }
            self.view.kinds[c as usize] &= !OWNED_BIT;
            self.note_certain_change();
            new.push(c);
            for r in 0..self.model.width {
                todo.extend(codes(self.view.row(c, r)).filter(|d| is_cell(*d)));
            }
        }
        for c in new {
            self.recount(c);
            if let Some(link) = self.link_row(c) {
                for d in codes(self.view.row(c, link)) {
                    if is_cell(d) {
                        self.recount(d);
                    } else if (GROUPS..NULL).contains(&d) {
                        self.view.set_single_predecessor(d, false);
                    }
                }
            }
        }
    }
    /// Decides anew whether at most one published cell links to this one.
    fn recount(&mut self, at: Code) {
        if self.view.owned(at) {
            return;
        }
        let Some(link) = self.link_row(at) else { return };
        let mut cells = 0;
        let mut groups = 0;
        for c in self.view.all() {
            if !self.view.owned(c)
                && self.link_row(c) == Some(link)
                && self.view.row(c, link) & (bit(at) | bit(ANY)) != 0
            {
                if is_cell(c) { cells += 1 } else { groups += 1 }
            }
        }
        self.view.set_single_predecessor(at, groups == 0 && cells <= 1);
    }
    /// Owned cells that lost their last name but can still be reached from an owned cell are given to everyone.
    pub(crate) fn publish_nameless(&mut self) {
        let mut reached: Mask = 0;
        let mut todo: Vec<Code> = self.view.vars.iter().copied().filter(|v| is_cell(*v)).collect();
        let named: Mask = todo.iter().fold(0, |m, c| m | bit(*c));
        while let Some(c) = todo.pop() {
            if reached & bit(c) != 0 || !self.view.owned(c) {
                continue;
            }
            reached |= bit(c);
            for r in 0..self.model.width {
                todo.extend(codes(self.view.row(c, r)).filter(|d| is_cell(*d)));
            }
        }
        for c in codes(reached & !named) {
            self.publish(c);
        }
    }
}
