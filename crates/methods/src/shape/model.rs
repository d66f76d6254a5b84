//! The program as the shape domain sees it: slots, fields, kinds of cells, compiled steps, compiled specification.
//!
//! In: what `build` made of a program. Out: its parts, and what is asked of them: where a control number is, the kind with another status
//! or colour, the rows of links and locks, the canonical form of a view.
//! Deliberately absent: how it is built, and what steps do.

use super::expr::{Constant, Ex, ExId};
use super::spec::SpecOperation;
use super::types::ShapeType;
use super::view::{CONSTANTS, Code, FREE, PackedView, THIRD, bit};
use evidence::views::{Control, SpecPoint, SpineOrder, Status, Take};
use logic::ClassId;
use program::{Copies, LocId, ObjectId, PropertyId, VarId};

pub(crate) struct Model {
    pub globals: Vec<ShapeSlot>,
    /// Slots of the sequence's first and last element.
    pub ends: Option<(u16, u16)>,
    /// Slot that says whether the one key is in the specification's set.
    pub has_key: Option<u16>,
    /// The list that holds the specification's set.
    pub spine: Option<ShapeSpine>,
    /// Length of a frame; the same for every routine.
    pub frame: usize,
    /// In a frame: whether the specification has run, and its results.
    pub done: u16,
    pub results: u16,
    pub fields: Vec<ShapeField>,
    pub classes: Vec<ShapeClass>,
    pub kinds: Vec<CellKind>,
    /// For each kind what all threads agree on of it: see `Status::common`.
    pub common: Vec<u8>,
    /// Masks for each cell; the last is `successor` where the specification has a sequence.
    pub width: usize,
    pub routines: Vec<ShapeRoutine>,
    /// Control number -> routine and location; number 0 is idle where there is an object.
    pub controls: Vec<(u16, LocId)>,
    pub object: Option<ObjectId>,
    pub constants: Vec<Constant>,
    pub points: Vec<SpecPoint>,
    /// Where threads get cells for themselves; none: views do not say what others refer to.
    pub takes: Vec<Take>,
    /// That nothing leaks, where it is to be shown.
    pub leak: Option<PropertyId>,
    /// The shared variables that lead to every published cell then.
    pub roots: Vec<usize>,
    pub precision: Precision,
    pub(super) start: super::start::ShapeStart,
    pub(super) initial: Vec<InitialValue>,
}

/// How much a view says of the objects of a specification's list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Precision {
    /// Of their locks: free, held by the thread itself, held by another.
    #[default]
    Exact,
    /// Of their locks: held by the thread itself, or not. Taking a lock and giving it back is then nothing that another thread sees.
    OwnLocks,
    /// Also, of most of the thread's references only what they may be: a list without locks is checked again before it is changed.
    FewNames,
    /// The same of the references of every program: for tests, which have few programs with such lists.
    #[cfg(test)]
    FewNamesAnywhere,
}

/// What is known of a shared variable at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InitialValue {
    Is(Code),
    /// Any value of its type.
    Open,
}

#[derive(Clone, Debug)]
pub(crate) struct ShapeSlot {
    pub var: Option<VarId>,
    pub name: String,
    pub ty: ShapeType,
}

#[derive(Clone, Debug)]
pub(crate) struct ShapeField {
    pub var: VarId,
    pub name: String,
    pub class: ClassId,
    pub ty: ShapeType,
    pub stored: Stored,
    /// Its value in every object that is there from the start.
    pub(super) start: InitialValue,
}

/// Where a field's value is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    /// A mask of the cell's row.
    Row(u8),
    /// Part of the kind: definite for every cell, and groups are split by it.
    Colour(u8),
}

#[derive(Clone, Debug)]
pub(crate) struct ShapeClass {
    /// Positions in `Model::fields`.
    pub fields: Vec<u16>,
    /// The first field of the class's own type.
    pub link: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CellKind {
    pub class: ClassId,
    pub status: Status,
    pub(crate) colours: Vec<Code>,
}

/// A thread, or an operation of the object.
pub(crate) struct ShapeRoutine {
    pub name: String,
    /// Control number of location 0.
    pub first: u16,
    pub entry: LocId,
    pub exit: Option<LocId>,
    pub control: Control,
    /// Own variables, in the frame from its start; the first `params` are parameters. After these, one for each parameter that the
    /// code assigns: the argument of the call, which the specification runs on.
    pub slots: Vec<ShapeSlot>,
    pub params: usize,
    /// For each parameter, where the argument of the call is: in the parameter's own slot, unless the code assigns it.
    pub arguments: Vec<u16>,
    /// Frame positions of the results.
    pub results: Vec<u16>,
    pub steps: Vec<ShapeStep>,
    pub outgoing: Vec<Vec<u16>>,
    /// For each location, the frame positions whose value may still be read.
    pub live: Vec<Vec<bool>>,
    pub start: Vec<InitialValue>,
    pub spec: Option<SpecOperation>,
    /// The user marked linearization points in it.
    pub marked: bool,
    pub copies: Copies,
}

/// An action, compiled.
pub(crate) struct ShapeStep {
    pub from: LocId,
    pub to: LocId,
    pub(crate) arena: Vec<Ex>,
    pub inputs: Vec<ShapeInput>,
    pub guard: ExId,
    /// The guard may look at something that others can change.
    pub(crate) guard_looks: bool,
    pub gates: Vec<(PropertyId, ExId)>,
    pub slots: Vec<(u16, ExId)>,
    /// Field and its new map.
    pub fields: Vec<(u16, ExId)>,
    pub(crate) lives: Vec<ExId>,
    pub fires: Option<Firing>,
    /// Takes of this step: their numbers and the slots that refer to the cells.
    pub takes: Vec<(usize, u16)>,
    /// The thread reads the root of the list anew: what left the list earlier does not matter any more.
    pub looks: bool,
    pub origin: program::OriginId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShapeInput {
    Fresh(ClassId),
    Chosen(ShapeType),
}

pub(crate) enum Firing {
    Always,
    Change,
    /// Evaluated on the store after the step.
    When(Vec<Ex>, ExId),
}

/// The list that holds a specification's set.
pub(crate) struct ShapeSpine {
    pub class: ClassId,
    /// Row of the link.
    pub link: usize,
    /// Which colour is the key.
    pub key: u8,
    pub(crate) key_var: VarId,
    pub root: u16,
    pub(crate) root_var: VarId,
    /// Other variables that are never assigned: what they refer to ends the search for a key.
    pub stops: Vec<u16>,
    pub pred: u16,
    pub(crate) succ: u16,
    pub order: SpineOrder,
}

impl Model {
    pub(crate) fn constant_of(&self, code: Code) -> Option<Constant> {
        code.checked_sub(CONSTANTS).and_then(|at| self.constants.get(at as usize).copied())
    }
    pub(crate) fn routine_at(&self, control: u16) -> Option<(&ShapeRoutine, LocId)> {
        let (r, l) = self.controls[control as usize];
        self.routines.get(r as usize).map(|r| (r, l))
    }
    pub(crate) fn kind_index(&self, kind: &CellKind) -> u8 {
        let at = self.kinds.iter().position(|k| k == kind);
        at.expect("every combination of status and colours is a kind") as u8
    }
    pub(crate) fn with_status(&self, kind: u8, status: Status) -> u8 {
        self.kind_index(&CellKind { status, ..self.kinds[kind as usize].clone() })
    }
    pub(crate) fn with_colour(&self, kind: u8, colour: u8, value: Code) -> u8 {
        let mut k = self.kinds[kind as usize].clone();
        k.colours[colour as usize] = value;
        self.kind_index(&k)
    }
    /// The row of the link of a class.
    pub(crate) fn link_row(&self, class: ClassId) -> Option<usize> {
        let f = self.classes[class.index()].link?;
        match self.fields[f as usize].stored {
            Stored::Row(r) => Some(r as usize),
            Stored::Colour(_) => None,
        }
    }
    /// Whether it is worth while to keep less of locks: where they are inside the objects of a list. The list is as the specification says at
    /// every moment, so it rarely matters whether another thread holds the lock of a cell; there are many cells, and many locks taken on the way.
    pub(crate) fn many_locks(&self) -> bool {
        self.spine.is_some() && self.lock_rows().next().is_some()
    }
    /// The precision asked for, as far as it makes a difference. Where it matters who refers to what, every reference has one value.
    pub(crate) fn settle_precision(&mut self, asked: Precision) {
        let may = self.takes.is_empty() && self.leak.is_none();
        self.precision = match asked {
            Precision::FewNames if may && self.spine.is_some() => Precision::FewNames,
            #[cfg(test)]
            Precision::FewNamesAnywhere if may => Precision::FewNamesAnywhere,
            Precision::Exact => Precision::Exact,
            _ if self.many_locks() => Precision::OwnLocks,
            _ => Precision::Exact,
        };
    }
    /// Rows of a class that hold references.
    pub(crate) fn reference_rows(&self, class: ClassId) -> impl Iterator<Item = usize> + '_ {
        self.classes[class.index()].fields.iter().filter_map(|f| {
            let field = &self.fields[*f as usize];
            match (field.ty, field.stored) {
                (ShapeType::Ref(_), Stored::Row(r)) => Some(r as usize),
                _ => None,
            }
        })
    }
    /// Rows that hold locks.
    pub(crate) fn lock_rows(&self) -> impl Iterator<Item = (ClassId, usize)> + '_ {
        self.fields.iter().filter_map(|f| match (f.ty, f.stored) {
            (ShapeType::Lock, Stored::Row(r)) => Some((f.class, r as usize)),
            _ => None,
        })
    }
    /// The canonical form of a view with all its names.
    pub(crate) fn canonical(&self, view: &PackedView) -> PackedView {
        let mut out = view.canonical();
        if matches!(self.precision, Precision::OwnLocks | Precision::FewNames) {
            let others = bit(FREE) | bit(THIRD);
            for (class, r) in self.lock_rows() {
                for at in out.all() {
                    let now = out.row(at, r);
                    if self.kinds[out.kind(at) as usize].class == class && !out.owned(at) && now & others != 0 {
                        out.set_row(at, r, now | others);
                    }
                }
            }
        }
        out
    }
    /// The takes by variables that are read again after the step.
    pub(crate) fn used_takes(&self) -> Vec<Take> {
        let steps = self.routines.iter().flat_map(|r| &r.steps);
        let mut used: Vec<usize> = steps.flat_map(|s| s.takes.iter().map(|(i, _)| *i)).collect();
        used.sort_unstable();
        used.into_iter().map(|i| self.takes[i]).collect()
    }
    pub(crate) fn successor_row(&self) -> Option<usize> {
        self.ends.map(|_| self.width - 1)
    }
}
