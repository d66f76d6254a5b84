//! What the facts of a view exclude.
//!
//! In: a view in the middle of a step. Out: the view without values that contradict what is known otherwise: a cell with a single predecessor has one predecessor, the
//! specification's sequence is a chain from its first to its last cell, a list with a spine is as its definition says; or that there is no such state.

use super::eval::EvalStop;
use super::model::Model;
use super::view::{ANY, AS_LINK, Code, GROUPS, Mask, NULL, PackedView, bit, is_cell, is_several};
use evidence::views::Status;

/// Drops what the facts exclude; `Err` when they contradict each other.
pub(crate) fn prune_view(model: &Model, view: &mut PackedView) -> Result<(), EvalStop> {
    loop {
        let mut changed = false;
        changed |= strip_lone(model, view);
        changed |= sequence_facts(model, view);
        changed |= single_cell(model, view)?;
        changed |= super::spine::facts(model, view)?;
        if view.vars.iter().enumerate().any(|(i, v)| is_several(*v) && view.several(i) == 0) {
            return Err(EvalStop::Impossible);
        }
        for at in view.all() {
            for r in 0..model.width {
                if view.row(at, r) == 0 {
                    if is_cell(at) {
                        return Err(EvalStop::Impossible);
                    }
                    view.empty_group(at - GROUPS);
                    changed = true;
                    break;
                }
            }
        }
        if !changed {
            return Ok(());
        }
    }
}

/// A cell with a single predecessor with a known predecessor is no other cell's successor.
fn strip_lone(model: &Model, view: &mut PackedView) -> bool {
    let mut changed = false;
    for at in 0..view.cells() {
        if !view.has_single_predecessor(at) || view.owned(at) {
            continue;
        }
        let Some(link) = model.link_row(model.kinds[view.kind(at) as usize].class) else { continue };
        let same = |v: &PackedView, c: Code| model.link_row(model.kinds[v.kind(c) as usize].class) == Some(link);
        let known = (0..view.cells()).find(|c| !view.owned(*c) && same(view, *c) && view.row(*c, link) == bit(at));
        let Some(known) = known else { continue };
        for c in view.all() {
            if c != known && !view.owned(c) && same(view, c) && view.row(c, link) & bit(at) != 0 {
                view.set_row(c, link, view.row(c, link) & !bit(at));
                changed = true;
            }
        }
    }
    changed
}

/// Where the first cell of the sequence is its last there is no other cell of the sequence.
fn single_cell(model: &Model, view: &mut PackedView) -> Result<bool, EvalStop> {
    let Some((f, l)) = model.ends else { return Ok(false) };
    let (first, last) = (view.vars[f as usize], view.vars[l as usize]);
    if first != last {
        return Ok(false);
    }
    let mut changed = false;
    for c in view.all() {
        if c == first || model.kinds[view.kind(c) as usize].status != Status::In {
            continue;
        }
        if is_cell(c) {
            return Err(EvalStop::Impossible);
        }
        view.empty_group(c - GROUPS);
        changed = true;
    }
    Ok(changed)
}

/// A cell of the sequence whose successor is its link: the last one links to nothing, every other to a cell of the sequence
/// that is neither the first nor itself.
fn sequence_facts(model: &Model, view: &mut PackedView) -> bool {
    let (Some((f, l)), Some(s)) = (model.ends, model.successor_row()) else { return false };
    let (first, last) = (view.vars[f as usize], view.vars[l as usize]);
    let mut inside: Mask = bit(ANY);
    for c in view.all() {
        if model.kinds[view.kind(c) as usize].status == Status::In && c != first {
            inside |= bit(c);
        }
    }
    let mut changed = false;
    for c in view.all() {
        let kind = &model.kinds[view.kind(c) as usize];
        if kind.status != Status::In || view.row(c, s) != bit(AS_LINK) {
            continue;
        }
        let Some(link) = model.link_row(kind.class) else { continue };
        let own = if is_cell(c) { bit(c) } else { 0 };
        let allowed = if c == last { bit(NULL) | bit(ANY) } else { inside & !own };
        let now = view.row(c, link);
        if now & !allowed != 0 {
            view.set_row(c, link, now & allowed);
            changed = true;
        }
    }
    changed
}
