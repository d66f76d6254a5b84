//! The list that holds the specification's set, seen from one arbitrary key.
//!
//! In: a program whose specification is a set of integers. Out: which list it is (`find`), and what a step does to it: which cells are in it
//! before and after the place where the key is or would be, which have left it, and that place itself (`pred`, `succ`). All of it is defined by
//! the heap alone (`evidence::views::Spine`); nothing is assumed of how the list is used, only that it never has a cycle: a step that does
//! more than insert cells, cut cells out, or both at one place, is an alarm.
//! Deliberately absent: lists whose first cell changes (the root variable is fixed), lists of more than one class.

use super::eval::EvalStop;
use super::heap::{ChangingView, lost};
use super::model::{Model, ShapeField, ShapeSlot, ShapeSpine, Stored};
use super::types::ShapeType;
use super::view::{ABOVE, ANY, BELOW, Code, EQUAL, GROUPS, Mask, NULL, PackedView, bit, codes, definite, is_cell};
use crate::infer::vocabulary::terms_of;
use evidence::views::{SpineOrder, Status};
use logic::{Op, Symbol, Term};
use program::{Code as Body, Program, VarId};

/// How far behind a change the list is followed to find where it goes on as before.
const MAX_LIST_STEPS: usize = 4;

/// The list of a specification's set; `globals` are the slots so far, `pred` and `succ` come next.
pub(crate) fn find_spine(
    program: &Program,
    codes: &[&Body],
    fields: &[ShapeField],
    globals: &[ShapeSlot],
) -> Result<ShapeSpine, String> {
    let mut keyed = fields.iter().filter(|f| f.ty == ShapeType::Key);
    let (Some(key), None) = (keyed.next(), keyed.next()) else {
        return Err("a set that is not kept in objects with one key each".into());
    };
    let Stored::Colour(colour) = key.stored else { return Err("a key that is not part of a kind".into()) };
    let link = fields.iter().find(|f| f.class == key.class && f.ty == ShapeType::Ref(key.class));
    let Some(ShapeField { stored: Stored::Row(row), var: link, .. }) = link else {
        return Err("a set in objects that are not linked".into());
    };
    let assigned = |v: VarId| codes.iter().any(|c| c.actions.iter().any(|a| a.updates.iter().any(|u| u.var == v)));
    let fixed: Vec<(u16, VarId)> = globals
        .iter()
        .enumerate()
        .filter(|(_, s)| s.ty == ShapeType::Ref(key.class))
        .filter_map(|(i, s)| s.var.filter(|v| !assigned(*v)).map(|v| (i as u16, v)))
        .collect();
    // The list starts where a fact says that something follows.
    let t = &program.terms;
    let follows = |v: VarId| {
        let symbol = program.vars[v].symbol;
        let is = |x: Term, s: Symbol| t.as_symbol(x) == Some(s);
        let facts = program.init.iter().filter_map(|f| f.formula).flat_map(|f| t.conjuncts(f));
        facts.filter_map(|f| t.app(f)).any(|(op, a)| {
            op == Op::Eq
                && a.iter().any(|side| {
                    matches!(t.app(*side), Some((Op::Select, r)) if is(r[0], program.vars[*link].symbol) && is(r[1], symbol))
                })
                && !a.iter().any(|side| *side == t.null(key.class))
        })
    };
    let Some((root, root_var)) = fixed.iter().find(|(_, v)| follows(*v)).or(fixed.first()).copied() else {
        return Err("a list whose first object is not fixed".into());
    };
    let ordered = codes
        .iter()
        .any(|c| c.actions.iter().any(|a| terms_of(a).any(|f| compares(program, f, program.vars[key.var].symbol))));
    let n = globals.len() as u16;
    Ok(ShapeSpine {
        class: key.class,
        link: *row as usize,
        key: colour,
        key_var: key.var,
        root,
        root_var,
        stops: fixed.iter().map(|(i, _)| *i).filter(|i| *i != root).collect(),
        pred: n,
        succ: n + 1,
        order: if ordered { SpineOrder::Sorted } else { SpineOrder::Unsorted },
    })
}

/// Whether the order of keys is looked at in the term.
fn compares(program: &Program, term: Term, key: Symbol) -> bool {
    let t = &program.terms;
    match t.app(term) {
        Some((Op::Lt | Op::Le, a)) if a.iter().any(|x| t.free_symbols(*x).contains(&key)) => true,
        Some((_, a)) => a.iter().any(|x| compares(program, *x, key)),
        None => false,
    }
}

impl ShapeSpine {
    /// Whether the cell ends the search for the key; `None` where its key is not known.
    fn stops(&self, model: &Model, view: &PackedView, at: Code) -> Option<bool> {
        if self.stops.iter().any(|s| view.vars[*s as usize] == at) {
            return Some(true);
        }
        match model.kinds[view.kind(at) as usize].colours[self.key as usize] {
            BELOW => Some(false),
            EQUAL => Some(true),
            ABOVE => Some(self.order == SpineOrder::Sorted),
            _ => None,
        }
    }
}

fn inside(status: Status) -> bool {
    matches!(status, Status::Before | Status::After)
}

impl ChangingView<'_> {
    fn set_status(&mut self, at: Code, status: Status) {
        let kind = self.model.with_status(self.view.kind(at), status);
        self.set_kind(at, kind);
    }
    /// The link of a cell, decided.
    fn follow(&self, at: Code, link: usize) -> Result<Code, EvalStop> {
        match definite(self.view.row(at, link)) {
            Some(ANY) => lost("a link of the list is unknown"),
            Some(next) => Ok(next),
            None => Err(EvalStop::Split(at, link)),
        }
    }
    /// Keeps the list's shape right when the link of a cell is about to become `value`.
    pub(crate) fn before_relink(&mut self, at: Code, value: Code) -> Result<(), EvalStop> {
        let Some(spine) = &self.model.spine else { return Ok(()) };
        if self.model.kinds[self.view.kind(at) as usize].class != spine.class || !inside(self.status(at)) {
            return Ok(());
        }
        let old = self.follow(at, spine.link)?;
        if value == old {
            return Ok(());
        }
        if value == ANY {
            return lost("a link of the list becomes unknown");
        }
        let mut fresh = Vec::new();
        let mut on = value;
        while is_cell(on) && !inside(self.status(on)) {
            if fresh.contains(&on) || fresh.len() == MAX_LIST_STEPS {
                return lost("the list goes on through cells that do not lead back to it");
            }
            fresh.push(on);
            on = self.follow(on, spine.link)?;
        }
        let mut gone = Vec::new();
        let mut at_old = old;
        while at_old != on {
            if !is_cell(at_old) || gone.len() == MAX_LIST_STEPS {
                return lost("the list changes in more than one place");
            }
            gone.push(at_old);
            at_old = self.follow(at_old, spine.link)?;
        }
        if self.status(at) == Status::Before {
            self.cross(at, &fresh, on)?;
        } else {
            fresh.iter().for_each(|c| self.set_status(*c, Status::After));
        }
        gone.iter().for_each(|c| self.set_status(*c, Status::Left));
        self.note_certain_change();
        Ok(())
    }
    /// The crossing when `fresh` cells come after `at`, then `on`.
    fn cross(&mut self, at: Code, fresh: &[Code], on: Code) -> Result<(), EvalStop> {
        let spine = self.model.spine.as_ref().expect("called where there is a list");
        let (mut pred, mut succ) = (at, None);
        for &c in fresh {
            if succ.is_some() {
                self.set_status(c, Status::After);
                continue;
            }
            match spine.stops(self.model, &self.view, c) {
                None => return lost("a cell with an unknown key enters the list"),
                Some(true) => {
                    self.set_status(c, Status::After);
                    succ = Some(c);
                }
                Some(false) => {
                    self.set_status(c, Status::Before);
                    pred = c;
                }
            }
        }
        let before = is_cell(on) && self.status(on) == Status::Before;
        let succ = match succ {
            Some(_) if before => return lost("a key that is not below the one key comes before smaller ones"),
            Some(s) => s,
            None if before => return Ok(()),
            None if is_cell(on) && spine.stops(self.model, &self.view, on) != Some(true) => {
                return lost("the list crosses the key at an unknown place");
            }
            None => on,
        };
        self.view.vars[spine.pred as usize] = pred;
        self.view.vars[spine.succ as usize] = succ;
        Ok(())
    }
    /// The list at the start: from the root to its end.
    pub(crate) fn begin_spine(&mut self) -> Result<(), EvalStop> {
        let Some(spine) = &self.model.spine else { return Ok(()) };
        let root = self.view.vars[spine.root as usize];
        if !is_cell(root) {
            return lost("the list may have no first object");
        }
        let mut seen = vec![root];
        let (mut pred, mut succ) = (root, None);
        let mut at = self.follow(root, spine.link)?;
        while at != NULL {
            if !is_cell(at) || seen.contains(&at) {
                return lost("the list may have a cycle at the start");
            }
            seen.push(at);
            if succ.is_none() {
                match spine.stops(self.model, &self.view, at) {
                    None => return lost("the list starts with unknown keys"),
                    Some(true) => succ = Some(at),
                    Some(false) => pred = at,
                }
            }
            let status = if succ.is_some() { Status::After } else { Status::Before };
            self.set_status(at, status);
            at = self.follow(at, spine.link)?;
        }
        self.set_status(root, Status::Before);
        self.view.vars[spine.pred as usize] = pred;
        self.view.vars[spine.succ as usize] = succ.unwrap_or(NULL);
        Ok(())
    }
}

/// Cells that left the list before this moment are like any other cell outside it.
pub(crate) fn forget_left(model: &Model, view: &mut PackedView) {
    if model.spine.is_none() {
        return;
    }
    let w = view.width as usize;
    for at in 0..view.kinds.len() {
        let owned = view.kinds[at] & super::view::OWNED_BIT;
        view.kinds[at] = model.common[(view.kinds[at] & !super::view::OWNED_BIT) as usize] | owned;
    }
    for k in 0..model.kinds.len() as u8 {
        let to = model.common[k as usize];
        if to == k || !view.has_group(k) {
            continue;
        }
        let single_predecessor = view.has_single_predecessor(GROUPS + k)
            && (!view.has_group(to) || view.has_single_predecessor(GROUPS + to));
        for r in 0..w {
            view.groups[to as usize * w + r] |= view.groups[k as usize * w + r];
        }
        view.present |= 1 << to;
        for m in view.rows.iter_mut().chain(view.groups.iter_mut()).chain(view.several.iter_mut()) {
            if *m & bit(GROUPS + k) != 0 {
                *m |= bit(GROUPS + to);
            }
        }
        view.empty_group(k);
        view.set_single_predecessor(GROUPS + to, single_predecessor);
        view.set_single_predecessor(GROUPS + k, false);
    }
}

/// What the definition of the list says of links: cells before the crossing lead to such cells, the last of them to the first after it, and
/// the others to cells after it or nowhere; nothing in the list leads back, and every cell of it has one predecessor in it.
pub(super) fn facts(model: &Model, view: &mut PackedView) -> Result<bool, EvalStop> {
    let Some(spine) = &model.spine else { return Ok(false) };
    let get = |s: u16| view.vars[s as usize];
    let (root, pred, succ) = (get(spine.root), get(spine.pred), get(spine.succ));
    let mut changed = false;
    // Cells and groups of the list.
    let (mut before, mut after): (Mask, Mask) = (0, 0);
    for c in view.all() {
        let alone = match model.kinds[view.kind(c) as usize].status {
            Status::Before if pred == root && c != root => true,
            Status::After if succ == NULL => true,
            Status::Before => {
                before |= bit(c);
                false
            }
            Status::After => {
                after |= bit(c);
                false
            }
            _ => false,
        };
        if alone {
            if is_cell(c) {
                return Err(EvalStop::Impossible);
            }
            view.empty_group(c - GROUPS);
            changed = true;
        }
    }
    let cell = |c: Code| if is_cell(c) { bit(c) } else { 0 };
    let (to_before, to_after) = (before & !cell(root), after & !cell(succ) | bit(NULL));
    // The cells that some named cell of the list certainly leads to, and which that is.
    let mut led: Mask = 0;
    let mut leader = [Code::MAX; GROUPS as usize];
    for c in codes(before | after) {
        let allowed = match before & bit(c) != 0 {
            true if c == pred => bit(succ),
            true => to_before & !cell(c),
            false => to_after & !cell(c),
        };
        let now = view.row(c, spine.link);
        let new = if now & bit(ANY) != 0 { allowed } else { now & allowed };
        if new != now {
            view.set_row(c, spine.link, new);
            changed = true;
        }
        let target = new.trailing_zeros() as Code;
        if is_cell(c) && new.count_ones() == 1 && is_cell(target) && led & bit(target) == 0 {
            led |= bit(target);
            leader[target as usize] = c;
        }
    }
    led &= before | after;
    for c in codes(before | after) {
        let now = view.row(c, spine.link);
        let not = codes(now & led).filter(|d| leader[*d as usize] != c).fold(0, |m, d| m | bit(d));
        if not != 0 {
            view.set_row(c, spine.link, now & !not);
            changed = true;
        }
    }
    Ok(changed)
}
