//! A view in packed form: what one thread sees of a state, in a few machine words.
//!
//! Pointers are indices and never predicates, so that uniqueness holds by construction; a field is a mask of the codes its
//! value may have, so that meet is "and", join is "or" and a contradiction is 0; cells without a name are members of one
//! group for each kind, always representable and possibly empty. Canonical form is by construction: named cells are
//! numbered by the first variable that refers to them, everything else is folded into its group.
//! The meaning of a view is that of `evidence::views`, in `docs/decisions/010-shape-evidence.md`.
//! Deliberately absent: what steps do (`step`), how two views are put together (`meet`).
//! In: fields of cells and variables as codes. Out: a packed view and its key.

use super::quantified::Grown;

/// One value in one byte; its bit in a mask is `1 << code`. Codes below `GROUPS` are named cells.
pub(crate) type Code = u8;
pub(crate) type Mask = u128;

/// Named cells have the codes below; groups the codes from here to `NULL`.
pub(crate) const GROUPS: Code = 24;
pub(crate) const NULL: Code = 64;
/// Unconstrained: no step may follow it.
pub(crate) const ANY: Code = 65;
/// The call's own argument that no cell stands for yet; of the scheduled thread, and of the other in a pair.
pub(crate) const ARGUMENT: Code = 66;
pub(crate) const PEER_ARGUMENT: Code = 67;
/// In a field: the value that the very cell stands for.
pub(crate) const SELF: Code = 68;
/// In `successor`: as the link. Every other value there says: different from the link.
pub(crate) const AS_LINK: Code = 69;
pub(crate) const FALSE: Code = 70;
pub(crate) const TRUE: Code = 71;
pub(crate) const FREE: Code = 72;
/// Held by the thread at hand, by a thread not in sight, by the other thread of a pair.
pub(crate) const OWN: Code = 73;
pub(crate) const THIRD: Code = 74;
pub(crate) const PEER: Code = 75;
pub(crate) const BELOW: Code = 76;
pub(crate) const EQUAL: Code = 77;
pub(crate) const ABOVE: Code = 78;
/// Values of the ghost variable `done`.
pub(crate) const DONE_NO: Code = 79;
pub(crate) const DONE_PURE: Code = 80;
pub(crate) const DONE_CHANGED: Code = 81;
/// A result that the specification leaves open.
pub(crate) const OPEN: Code = 82;
/// A reference that has one of several values, in `several`: from here on four codes, by the side of the key that they are on (or an unknown one). Views in which the
/// sides differ are not joined.
pub(crate) const SEVERAL: Code = 83;
const SEVERAL_CODES: Code = 4;
/// Numbers and variants of enums, by position in `Model::constants`.
pub(crate) const CONSTANTS: Code = 88;
pub(crate) const CONSTANT_ROOM: usize = 40;

/// Kinds carry this bit when the cell is owned and not published.
pub(crate) const OWNED_BIT: u8 = 0x80;

pub(crate) fn bit(code: Code) -> Mask {
    1 << code
}
pub(crate) fn is_several(code: Code) -> bool {
    (SEVERAL..SEVERAL + SEVERAL_CODES).contains(&code)
}
pub(crate) fn is_cell(code: Code) -> bool {
    code < GROUPS
}
/// The one code of a mask, if it has one only and that is no group.
pub(crate) fn definite(mask: Mask) -> Option<Code> {
    let code = mask.trailing_zeros() as Code;
    (mask.count_ones() == 1 && !(GROUPS..NULL).contains(&code)).then_some(code)
}
pub(crate) fn codes(mut mask: Mask) -> impl Iterator<Item = Code> {
    std::iter::from_fn(move || {
        if mask == 0 {
            return None;
        }
        let code = mask.trailing_zeros() as Code;
        mask &= mask - 1;
        Some(code)
    })
}
/// The meet of two constraints: one that allows anything says nothing.
pub(crate) fn meet_masks(a: Mask, b: Mask) -> Mask {
    match (a & bit(ANY) != 0, b & bit(ANY) != 0) {
        (true, true) => a | b,
        (true, false) => b,
        (false, true) => a,
        (false, false) => a & b,
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PackedView {
    pub control: u16,
    /// Bit i: a path of the specification that changes nothing was possible at some moment of the call.
    pub witnessed: u8,
    /// Shared variables, then the thread's frame (then, in a pair, the other thread's frame).
    pub vars: Vec<Code>,
    /// For each variable, what a reference without a name may be; empty where no variable is `SEVERAL`.
    pub several: Vec<Mask>,
    /// Kind of each named cell, with `OWNED_BIT`.
    pub kinds: Vec<u8>,
    /// `width` masks for each named cell.
    pub rows: Vec<Mask>,
    /// `width` masks for each kind.
    pub groups: Vec<Mask>,
    /// Bit k: there may be cells of kind k without a name.
    pub(crate) present: u64,
    /// Cells (bits below `GROUPS`) and groups with at most one published predecessor by the link.
    pub single_predecessor: u64,
    /// Cells and groups that no other thread refers to (in a pair: no third thread). Kept only where the model has takes.
    pub unshared: u64,
    pub width: u8,
}

/// Views of equal key are joined: control, variables, kinds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key(Box<[u8]>);

impl PackedView {
    pub(crate) fn key(&self) -> Key {
        // Views of one model have equally many variables.
        let mut out = Vec::with_capacity(3 + self.vars.len() + self.kinds.len());
        out.extend_from_slice(&self.control.to_le_bytes());
        out.push(self.witnessed);
        out.extend_from_slice(&self.vars);
        out.extend_from_slice(&self.kinds);
        Key(out.into())
    }
    pub(crate) fn cells(&self) -> Code {
        self.kinds.len() as Code
    }
    pub(crate) fn row(&self, at: Code, field: usize) -> Mask {
        let w = self.width as usize;
        if at < GROUPS { self.rows[at as usize * w + field] } else { self.groups[(at - GROUPS) as usize * w + field] }
    }
    pub(crate) fn set_row(&mut self, at: Code, field: usize, mask: Mask) {
        let w = self.width as usize;
        if at < GROUPS {
            self.rows[at as usize * w + field] = mask;
        } else {
            self.groups[(at - GROUPS) as usize * w + field] = mask;
        }
    }
    pub(crate) fn kind(&self, at: Code) -> u8 {
        if at < GROUPS { self.kinds[at as usize] & !OWNED_BIT } else { at - GROUPS }
    }
    pub(crate) fn owned(&self, at: Code) -> bool {
        at < GROUPS && self.kinds[at as usize] & OWNED_BIT != 0
    }
    pub(crate) fn has_single_predecessor(&self, at: Code) -> bool {
        self.single_predecessor >> at & 1 == 1
    }
    pub(crate) fn set_single_predecessor(&mut self, at: Code, single_predecessor: bool) {
        self.single_predecessor = self.single_predecessor & !(1 << at) | u64::from(single_predecessor) << at;
    }
    pub(crate) fn is_unshared(&self, at: Code) -> bool {
        self.unshared >> at & 1 == 1
    }
    pub(crate) fn set_unshared(&mut self, at: Code, unshared: bool) {
        self.unshared = self.unshared & !(1 << at) | u64::from(unshared) << at;
    }
    pub(crate) fn has_group(&self, kind: u8) -> bool {
        self.present >> kind & 1 == 1
    }
    /// What a variable that has several values may be.
    pub(crate) fn several(&self, slot: usize) -> Mask {
        self.several.get(slot).copied().unwrap_or(0)
    }
    /// The variable is one of these, all on one side of the key.
    pub(crate) fn set_several(&mut self, slot: usize, values: Mask, side: Code) {
        self.several.resize(self.vars.len(), 0);
        self.several[slot] = values;
        self.vars[slot] = match side {
            BELOW..=ABOVE => SEVERAL + 1 + (side - BELOW),
            _ => SEVERAL,
        };
    }
    /// The variable has this one value.
    pub(crate) fn set_variable(&mut self, slot: usize, value: Code) {
        if let Some(mask) = self.several.get_mut(slot) {
            *mask = 0;
        }
        self.vars[slot] = value;
    }
    /// Codes of named cells and of groups that may have members.
    pub(crate) fn all(&self) -> impl Iterator<Item = Code> + use<> {
        let mut left = self.described();
        std::iter::from_fn(move || {
            let code = left.trailing_zeros() as Code;
            left &= left.wrapping_sub(1);
            (code < NULL).then_some(code)
        })
    }
    /// Adds a named cell with the given kind and rows; `None` when there is no room.
    pub(crate) fn add_cell(&mut self, kind: u8, rows: &[Mask]) -> Option<Code> {
        let at = self.cells();
        if at >= GROUPS {
            return None;
        }
        self.kinds.push(kind);
        self.rows.extend_from_slice(rows);
        Some(at)
    }
    /// Gives a name to some member of a group. Everything that could be a member can now be this cell too.
    pub(crate) fn name_member(&mut self, group: Code) -> Option<Code> {
        let w = self.width as usize;
        let kind = group - GROUPS;
        let row: Vec<Mask> = self.groups[kind as usize * w..(kind as usize + 1) * w].to_vec();
        let at = self.add_cell(kind, &row)?;
        for m in self.rows.iter_mut().chain(self.groups.iter_mut()).chain(self.several.iter_mut()) {
            if *m & bit(group) != 0 {
                *m |= bit(at);
            }
        }
        self.set_single_predecessor(at, self.has_single_predecessor(group));
        self.set_unshared(at, self.is_unshared(group));
        Some(at)
    }
    /// Removes the possibility that a group has members.
    pub(crate) fn empty_group(&mut self, kind: u8) {
        self.present &= !(1 << kind);
        let gone = !bit(GROUPS + kind);
        for m in self.rows.iter_mut().chain(self.groups.iter_mut()).chain(self.several.iter_mut()) {
            *m &= gone;
        }
        let w = self.width as usize;
        self.groups[kind as usize * w..(kind as usize + 1) * w].fill(0);
    }
    /// Named cells, and groups that may have members, as bits.
    fn described(&self) -> u64 {
        self.present << GROUPS | ((1 << self.cells()) - 1)
    }
    /// Joins another view of the same key.
    pub(crate) fn join(&mut self, other: &PackedView) -> Grown {
        let mut grown = Grown::Same;
        let mut or = |a: &mut Mask, b: Mask| {
            if *a | b != *a {
                *a |= b;
                grown = Grown::More;
            }
        };
        for (a, b) in self.rows.iter_mut().zip(&other.rows) {
            or(a, *b);
        }
        for (a, b) in self.groups.iter_mut().zip(&other.groups) {
            or(a, *b);
        }
        for (a, b) in self.several.iter_mut().zip(&other.several) {
            or(a, *b);
        }
        // A fact about cells holds of both, or of the one that has such cells.
        let both = |a: u64, b: u64| {
            let (here, there) = (self.described(), other.described());
            (!here | a) & (!there | b) & (here | there)
        };
        let (single_predecessor, unshared) =
            (both(self.single_predecessor, other.single_predecessor), both(self.unshared, other.unshared));
        if self.present | other.present != self.present {
            self.present |= other.present;
            grown = Grown::More;
        } else if single_predecessor != self.single_predecessor || unshared != self.unshared {
            grown = Grown::More;
        }
        self.single_predecessor = single_predecessor;
        self.unshared = unshared;
        grown
    }
    /// Numbers named cells by the first variable that refers to them and folds the others into their groups.
    /// Owned cells without a name are dropped: the caller has made sure that nothing refers to them.
    pub(crate) fn canonical(&self) -> PackedView {
        let w = self.width as usize;
        let mut to = [Code::MAX; GROUPS as usize];
        let mut order: Vec<Code> = Vec::with_capacity(self.kinds.len());
        for &v in &self.vars {
            if is_cell(v) && to[v as usize] == Code::MAX {
                to[v as usize] = order.len() as Code;
                order.push(v);
            }
        }
        let mut gone: Mask = 0;
        for at in 0..self.cells() {
            if to[at as usize] == Code::MAX {
                if self.owned(at) {
                    gone |= bit(at);
                } else {
                    to[at as usize] = GROUPS + self.kind(at);
                }
            }
        }
        let cells = bit(GROUPS) - 1;
        let move_mask = |m: Mask| {
            let mut out = m & !cells;
            for c in codes(m & cells & !gone) {
                out |= bit(to[c as usize]);
            }
            out
        };
        let mut out = PackedView {
            control: self.control,
            witnessed: self.witnessed,
            vars: self.vars.iter().map(|&v| if is_cell(v) { to[v as usize] } else { v }).collect(),
            several: Vec::new(),
            kinds: order.iter().map(|&c| self.kinds[c as usize]).collect(),
            rows: Vec::with_capacity(order.len() * w),
            groups: self.groups.iter().map(|m| move_mask(*m)).collect(),
            present: self.present,
            single_predecessor: self.single_predecessor & !((1 << GROUPS) - 1),
            unshared: self.unshared & !((1 << GROUPS) - 1),
            width: self.width,
        };
        for (i, &c) in order.iter().enumerate() {
            out.rows.extend(self.rows[c as usize * w..(c as usize + 1) * w].iter().map(|m| move_mask(*m)));
            out.single_predecessor |= u64::from(self.has_single_predecessor(c)) << i;
            out.unshared |= u64::from(self.is_unshared(c)) << i;
        }
        for at in 0..self.cells() {
            let group = to[at as usize];
            if group == Code::MAX || group < GROUPS {
                continue;
            }
            let k = (group - GROUPS) as usize;
            let new = out.present >> k & 1 == 0;
            out.set_single_predecessor(
                group,
                self.has_single_predecessor(at) && (new || out.has_single_predecessor(group)),
            );
            out.set_unshared(group, self.is_unshared(at) && (new || out.is_unshared(group)));
            out.present |= 1 << k;
            for f in 0..w {
                out.groups[k * w + f] |= move_mask(self.rows[at as usize * w + f]);
            }
        }
        out.single_predecessor &= out.described();
        out.unshared &= out.described();
        // One form: nothing is kept of variables that have one value.
        if self.vars.iter().any(|v| is_several(*v)) {
            let values = self.vars.iter().zip(&self.several);
            out.several = values.map(|(v, m)| if is_several(*v) { move_mask(*m) } else { 0 }).collect();
        }
        out
    }
}
