//! Objects that a step may lose, where the program frees objects by hand.
//!
//! In: a thread's own step on its own view, with the references that it cut. Out: whether every object that something led to before is
//! still led to. Kept by every step: a published live cell is led to by shared variables through published cells, a live cell of a
//! thread's own by its variables that are still read, through cells of its own. So what a local refers to matters only for own cells, and other
//! threads do not matter at all. A step keeps this if all targets of the references that it cut are led to afterwards: on a way from
//! before to an object, what follows the last cut reference is still there. Where the step wrote one place only, the cell that has it is still led to:
//! the shortest way to it does not leave it, and a cell that was taken was entered from it. See `docs/decisions/063-leaks.md`.

use super::heap::ChangingView;
use super::model::{Model, ShapeRoutine};
use super::types::ShapeType;
use super::view::{Code, Mask, PackedView, bit, codes, definite, is_cell};

fn set(codes: impl IntoIterator<Item = Code>) -> Mask {
    codes.into_iter().fold(0, |m, c| m | bit(c))
}

/// The cells among `within` that the references of known value lead to, from `roots` on.
fn closure(model: &Model, view: &PackedView, roots: Mask, within: Mask) -> Mask {
    let (mut reached, mut todo) = (0, roots & within);
    while todo != 0 {
        reached |= todo;
        let next = codes(todo).flat_map(|c| {
            let class = model.kinds[view.kind(c) as usize].class;
            model.reference_rows(class).filter_map(move |r| definite(view.row(c, r)).filter(|d| is_cell(*d)))
        });
        todo = set(next) & within & !reached;
    }
    reached
}

/// Whether, at the start, the roots lead to whatever shared variables refer to.
pub(crate) fn begins(model: &Model, view: &PackedView) -> bool {
    let cells = |slots: &mut dyn Iterator<Item = usize>| set(slots.map(|i| view.vars[i]).filter(|c| is_cell(*c)));
    let roots = cells(&mut model.roots.iter().copied());
    let all = cells(&mut (0..model.globals.len()).filter(|i| matches!(model.globals[*i].ty, ShapeType::Ref(_))));
    all & !closure(model, view, roots, set(0..view.cells())) == 0
}

/// Whether the step keeps hold of every object. `before` has the cells that the step makes, from `fresh` on; `live`: the variables of the frame that are still read.
pub(crate) fn keeps(
    model: &Model,
    routine: &ShapeRoutine,
    before: &PackedView,
    fresh: Code,
    heap: &ChangingView<'_>,
    live: &[bool],
    freed: &[Code],
) -> bool {
    let (after, base) = (&heap.view, model.globals.len());
    let cells = set(0..after.cells());
    let own = set((0..after.cells()).filter(|c| after.owned(*c)));
    let was_own = set((0..before.cells()).filter(|c| before.owned(*c)));
    let (published, was_published) = (cells & !own, cells & !was_own);
    let taken = was_published & own;
    let refers = |v: &PackedView, i: usize| is_cell(v.vars[i]).then(|| v.vars[i]);
    let globals = || model.roots.iter().copied();
    let slots = || (0..routine.slots.len()).filter(|i| matches!(routine.slots[*i].ty, ShapeType::Ref(_)));
    // What was cut, of shared variables and published cells; of the thread's own variables and cells.
    let unset = globals().filter(|i| before.vars[*i] != after.vars[*i]);
    let of = |from: Mask| set(heap.cuts.iter().filter(|(c, _)| from & bit(*c) != 0).map(|(_, d)| *d));
    let open = of(was_published) | set(unset.clone().filter_map(|i| refers(before, i)));
    let gone = slots().filter(|i| !live[*i] || after.vars[base + i] != before.vars[base + i]);
    let private = of(was_own) | set(gone.filter_map(|i| refers(before, base + i))) | set(fresh..before.cells());
    // What is held now.
    let written = set(heap.cuts.iter().map(|(c, _)| *c)) & was_published & published;
    let one = unset.count() as u32 + written.count_ones() == 1;
    let roots = set(globals().filter_map(|i| refers(after, i)));
    let shared = closure(model, after, roots | if one { written } else { 0 }, published);
    let seen = closure(model, after, roots | (was_published & published), published);
    let held = closure(model, after, set(slots().filter(|i| live[*i]).filter_map(|i| refers(after, base + i))), own);
    let freed = set(freed.iter().copied());
    let lost_open = open & published & !shared;
    let lost_own = ((open | taken | (private & was_own)) & own & !freed) & !held;
    let lost_new = was_own & published & !seen;
    (lost_open | lost_own | lost_new) == 0
}
