//! References that need no name.
//!
//! In: the view of a thread between two of its steps. Out: the view in which most of the thread's references to cells of the specification's list
//! have several values instead of a name for the cell: null, a cell that shared variables name, a member of a group.
//! What a search without locks has read of the list is known no more when the next step is taken; such a search is checked again before the list is changed, under
//! locks or in one compare-and-swap. So few views are worth having names in: those in which the thread has locked the cell, is about to put a
//! cell of its own before it, or knows a link that does not change because a cell is marked or locked. Which they are decides precision, never soundness.
//! On which side of the one key a cell is stays known of each reference: a search goes on by it.
//! Decision 175.

use super::model::{Model, Precision, Stored};
use super::types::ShapeType;
use super::view::{ANY, Code, OWN, PackedView, TRUE, bit, is_cell};

/// The canonical form of a view, with as many names as the model keeps.
pub(crate) fn canonical(model: &Model, view: &PackedView) -> PackedView {
    if matches!(model.precision, Precision::Exact | Precision::OwnLocks) {
        return model.canonical(view);
    }
    let mut few = view.clone();
    drop_names(model, &mut few);
    model.canonical(&few)
}

/// Gives the references that need no name several values.
fn drop_names(model: &Model, view: &mut PackedView) {
    let Some((routine, _)) = model.routine_at(view.control) else { return };
    let of_list = |class| model.spine.as_ref().is_none_or(|s| s.class == class);
    let base = model.globals.len();
    // Under a lock for the whole list nothing that was read of it changes.
    let alone = model.globals.iter().zip(&view.vars).any(|(g, v)| g.ty == ShapeType::Lock && *v == OWN);
    if alone {
        return;
    }
    let searching: Vec<usize> = (routine.params..routine.start.len())
        .filter(|i| matches!(routine.slots[*i].ty, ShapeType::Ref(class) if of_list(class)))
        .map(|i| base + i)
        .filter(|slot| !routine.results.contains(&(*slot as u16)))
        .filter(|slot| is_cell(view.vars[*slot]) && !view.owned(view.vars[*slot]))
        .collect();
    let cells: Vec<Code> = searching.iter().map(|slot| view.vars[*slot]).collect();
    let needed: Vec<bool> = cells.iter().map(|c| needs_name(model, view, *c, &cells)).collect();
    for (slot, _) in searching.iter().zip(needed).filter(|(_, needed)| !needed) {
        let cell = view.vars[*slot];
        let colours = &model.kinds[view.kind(cell) as usize].colours;
        let side = model.spine.as_ref().map_or(ANY, |s| colours[s.key as usize]);
        view.set_several(*slot, bit(cell), side);
    }
}

/// Whether something is known of the cell that a group could not say, and that no other thread can make untrue.
fn needs_name(model: &Model, view: &PackedView, cell: Code, searching: &[Code]) -> bool {
    let before_it = |d: Code| view.owned(d) && (0..model.width).any(|r| view.row(d, r) & bit(cell) != 0);
    is_locked(model, view, cell)
        || (0..view.cells()).any(before_it)
        || searching.iter().any(|d| fixed_link(model, view, cell, *d) || fixed_link(model, view, *d, cell))
}

fn is_locked(model: &Model, view: &PackedView, cell: Code) -> bool {
    let class = model.kinds[view.kind(cell) as usize].class;
    model.lock_rows().any(|(c, r)| c == class && view.row(cell, r) == bit(OWN))
}

/// Whether one cell certainly leads to the other, and is marked, or locked by the thread.
fn fixed_link(model: &Model, view: &PackedView, from: Code, to: Code) -> bool {
    let Some(spine) = &model.spine else { return false };
    let kind = &model.kinds[view.kind(from) as usize];
    let marks = model.classes[kind.class.index()].fields.iter().map(|f| &model.fields[*f as usize]);
    let mut marks = marks.filter_map(|f| match f.stored {
        Stored::Colour(i) if f.ty == ShapeType::Bool => Some(i),
        _ => None,
    });
    from != to
        && kind.class == spine.class
        && view.row(from, spine.link) == bit(to)
        && (is_locked(model, view, from) || marks.any(|i| kind.colours[i as usize] == TRUE))
}
