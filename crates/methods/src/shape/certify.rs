//! Packed views written out as evidence.
//!
//! In: the fixpoint. Out: `evidence::views::Views`. Nothing is decided here; the checker believes none of it.

use super::expr::Constant;
use super::model::{Model, ShapeSlot, Stored};
use super::view::{
    ABOVE, ANY, ARGUMENT, AS_LINK, BELOW, Code, DONE_CHANGED, DONE_PURE, EQUAL, FALSE, FREE, GROUPS, NULL, OPEN, OWN,
    PackedView, SELF, THIRD, TRUE, codes, is_cell, is_several,
};
use evidence::views::{self, CellOwner, Control, OperationProgress, Status, Val, ViewCell};
use program::LocId;

pub(super) fn views<'a>(model: &Model, found: impl IntoIterator<Item = &'a PackedView>) -> views::Views {
    views::Views {
        object: model.object,
        points: model.points.clone(),
        spine: model.spine.as_ref().map(|s| views::Spine { root: s.root_var, key: s.key_var, order: s.order }),
        takes: model.takes.clone(),
        roots: model.roots.iter().filter_map(|i| model.globals[*i].var).collect(),
        views: found.into_iter().map(|v| ViewWriter::new(model, v).view()).collect(),
    }
}

struct ViewWriter<'a> {
    model: &'a Model,
    view: &'a PackedView,
    /// Position of each kind's group among the groups written.
    groups: Vec<Option<u16>>,
}

impl<'a> ViewWriter<'a> {
    fn new(model: &'a Model, view: &'a PackedView) -> Self {
        let mut groups = vec![None; model.kinds.len()];
        let mut next = 0;
        for k in 0..model.kinds.len() {
            if view.has_group(k as u8) {
                groups[k] = Some(next);
                next += 1;
            }
        }
        Self { model, view, groups }
    }
    fn value(&self, code: Code) -> Val {
        match code {
            c if is_cell(c) => Val::Cell(u16::from(c)),
            c if (GROUPS..NULL).contains(&c) => {
                Val::Group(self.groups[(c - GROUPS) as usize].expect("a mask names only groups that may have members"))
            }
            NULL => Val::Null,
            ARGUMENT => Val::Argument,
            SELF => Val::Itself,
            AS_LINK => Val::AsLink,
            FALSE => Val::Bool(false),
            TRUE => Val::Bool(true),
            FREE => Val::Free,
            OWN => Val::Me,
            THIRD => Val::Other,
            BELOW => Val::Below,
            EQUAL => Val::Equal,
            ABOVE => Val::Above,
            ANY | OPEN => Val::Any,
            c => match self.model.constant_of(c) {
                Some(Constant::Number(n)) => Val::Number(n),
                Some(Constant::Variant(v)) => Val::Variant(v),
                None => Val::Any,
            },
        }
    }
    fn cell(&self, at: Code) -> ViewCell {
        let kind = &self.model.kinds[self.view.kind(at) as usize];
        let class = &self.model.classes[kind.class.index()];
        let fields = class
            .fields
            .iter()
            .map(|f| match self.model.fields[*f as usize].stored {
                Stored::Colour(i) => vec![self.value(kind.colours[i as usize])],
                Stored::Row(r) => codes(self.view.row(at, r as usize)).map(|c| self.value(c)).collect(),
            })
            .collect();
        let successor = match self.model.successor_row() {
            Some(s) if kind.status == Status::In => codes(self.view.row(at, s)).map(|c| self.value(c)).collect(),
            _ => Vec::new(),
        };
        ViewCell {
            class: kind.class,
            status: kind.status,
            owner: if self.view.owned(at) { CellOwner::Mine } else { CellOwner::Published },
            fields,
            successor,
            single_predecessor: self.view.has_single_predecessor(at),
            unshared: self.view.is_unshared(at),
        }
    }
    fn view(&self) -> views::View {
        let (model, v) = (self.model, self.view);
        let base = model.globals.len();
        let routine = model.routine_at(v.control);
        let control = match routine.map(|(r, at)| (r.control, at)) {
            None => Control::Idle,
            Some((Control::Operation(o, _), at)) => Control::Operation(o, at),
            Some((Control::Thread(t, _), at)) => Control::Thread(t, at),
            Some((Control::Idle, LocId(_))) => Control::Idle,
        };
        let mut vars: Vec<(program::VarId, Val)> = Vec::new();
        let mut open: Vec<(program::VarId, Vec<Val>)> = Vec::new();
        let mut put = |slot: &ShapeSlot, code: Code| {
            if let (Some(var), true) = (slot.var, code != ANY && !is_several(code)) {
                vars.push((var, self.value(code)));
            }
        };
        for (i, slot) in model.globals.iter().enumerate() {
            put(slot, v.vars[i]);
        }
        if let Some((routine, _)) = routine {
            for (i, slot) in routine.slots.iter().enumerate() {
                put(slot, v.vars[base + i]);
                if let (Some(var), true) = (slot.var, is_several(v.vars[base + i])) {
                    open.push((var, codes(v.several(base + i)).map(|c| self.value(c)).collect()));
                }
            }
        }
        vars.sort();
        open.sort();
        let results = |n: usize| {
            let at = model.results as usize;
            v.vars[at..at + n].iter().map(|c| self.value(*c)).collect::<Vec<_>>()
        };
        let count = routine.map_or(0, |(r, _)| r.results.len());
        let done = match (model.object, routine) {
            (Some(_), Some(_)) => match v.vars[model.done as usize] {
                DONE_PURE => OperationProgress::Pure(results(count)),
                DONE_CHANGED => OperationProgress::Changed(results(count)),
                _ => OperationProgress::No,
            },
            _ => OperationProgress::No,
        };
        views::View {
            control,
            vars,
            open,
            ends: model.ends.map(|(f, l)| (self.value(v.vars[f as usize]), self.value(v.vars[l as usize]))),
            member: model.has_key.map(|k| v.vars[k as usize] == TRUE),
            crossing: model
                .spine
                .as_ref()
                .map(|s| (self.value(v.vars[s.pred as usize]), self.value(v.vars[s.succ as usize]))),
            done,
            witnessed: u32::from(v.witnessed),
            cells: (0..v.cells()).map(|c| self.cell(c)).collect(),
            groups: (0..model.kinds.len() as u8).filter(|k| v.has_group(*k)).map(|k| self.cell(GROUPS + k)).collect(),
        }
    }
}
