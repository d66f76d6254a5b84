//! Which views can hold of a thread in a fragment at all: found by what its variables refer to.
//!
//! In: the views of a certificate. Out: for a fragment and a thread of it, few views among which every view is that can cover it
//! (`cover::covers` decides). A view that says nothing of a variable fits any value of it, so views are filed by which variables they speak of,
//! and then by the pattern of these: which of them are null, true, on which side of the key, and which refer to the same cell.

use super::fragment::{Fragment, KeyOrder, V};
use evidence::views::{Control, Val, View};
use program::{Scope, VarId};
use rustc_hash::FxHashMap;

#[derive(Default)]
pub(crate) struct ViewIndex {
    files: FxHashMap<Control, Vec<IndexedViews>>,
}

/// Views that speak of the same variables.
struct IndexedViews {
    vars: Vec<VarId>,
    /// Which ends of the sequence, then which sides of the crossing, they speak of.
    ghosts: [bool; 4],
    views: FxHashMap<Vec<u32>, Vec<usize>>,
}

/// The patterns below this number are values; above it, cells in the order of their first occurrence.
const FIRST_CELL_PATTERN: u32 = 16;
const OTHER_PATTERN: u32 = 7;

struct Pattern<C> {
    seen: Vec<C>,
    out: Vec<u32>,
}

impl<C: PartialEq> Pattern<C> {
    fn new() -> Self {
        Self { seen: Vec::new(), out: Vec::new() }
    }
    fn cell(&mut self, c: C) {
        let at = self.seen.iter().position(|x| *x == c).unwrap_or_else(|| {
            self.seen.push(c);
            self.seen.len() - 1
        });
        self.out.push(FIRST_CELL_PATTERN + at as u32);
    }
}

fn of_val(pattern: &mut Pattern<u16>, val: Val) {
    match val {
        Val::Cell(i) => pattern.cell(i),
        Val::Null => pattern.out.push(1),
        Val::Bool(b) => pattern.out.push(2 + u32::from(b)),
        Val::Below => pattern.out.push(4),
        Val::Equal => pattern.out.push(5),
        Val::Above => pattern.out.push(6),
        _ => pattern.out.push(OTHER_PATTERN),
    }
}

/// `None`: nothing but `Any` fits the value.
fn of_value(pattern: &mut Pattern<usize>, v: &V) -> Option<()> {
    match v {
        V::Any | V::Open => return None,
        V::Object(d) | V::Datum(d) => pattern.cell(*d),
        V::Null => pattern.out.push(1),
        V::Bool(b) => pattern.out.push(2 + u32::from(*b)),
        V::Key(KeyOrder::Below) => pattern.out.push(4),
        V::Key(KeyOrder::Equal) => pattern.out.push(5),
        V::Key(KeyOrder::Above) => pattern.out.push(6),
        V::Argument(_) | V::Number(_) | V::Variant(_) | V::Id(_) => pattern.out.push(OTHER_PATTERN),
    }
    Some(())
}

fn ghosts(view: &View) -> [Option<Val>; 4] {
    let (ends, crossing) = (view.ends, view.crossing);
    let all = [ends.map(|e| e.0), ends.map(|e| e.1), crossing.map(|c| c.0), crossing.map(|c| c.1)];
    all.map(|v| v.filter(|v| *v != Val::Any))
}

impl ViewIndex {
    pub(super) fn add(&mut self, view: &View, at: usize) {
        let spoken = || view.vars.iter().filter(|(_, v)| *v != Val::Any);
        let vars: Vec<VarId> = spoken().map(|(v, _)| *v).collect();
        let values = ghosts(view);
        let known = values.map(|v| v.is_some());
        let mut pattern = Pattern::new();
        spoken().map(|(_, v)| *v).chain(values.into_iter().flatten()).for_each(|v| of_val(&mut pattern, v));
        let files = self.files.entry(view.control).or_default();
        let place = files.iter().position(|f| f.vars == vars && f.ghosts == known).unwrap_or_else(|| {
            files.push(IndexedViews { vars, ghosts: known, views: FxHashMap::default() });
            files.len() - 1
        });
        files[place].views.entry(pattern.out).or_default().push(at);
    }
    /// The views at the location that can hold of the thread (0: the one that moves, 1: the other).
    pub(super) fn candidates<'i>(
        &'i self,
        at: &'i Fragment<'_>,
        side: usize,
        control: Control,
    ) -> impl Iterator<Item = usize> + 'i {
        let files = self.files.get(&control).into_iter().flatten();
        files.filter_map(move |f| f.views.get(&f.pattern(at, side)?)).flatten().copied()
    }
}

impl IndexedViews {
    fn pattern(&self, at: &Fragment<'_>, side: usize) -> Option<Vec<u32>> {
        let mut pattern = Pattern::new();
        for var in &self.vars {
            let own = side == 0 || at.world.program.vars[*var].scope == Scope::Shared;
            of_value(&mut pattern, &(if own { &at.vars } else { &at.peer })[var.index()])?;
        }
        let (ends, crossing) = (at.ends.as_ref(), at.crossing.as_ref());
        let all = [ends.map(|e| &e.0), ends.map(|e| &e.1), crossing.map(|c| &c.0), crossing.map(|c| &c.1)];
        for (v, spoken) in all.into_iter().zip(self.ghosts) {
            if spoken {
                of_value(&mut pattern, v?)?;
            }
        }
        Some(pattern.out)
    }
}
