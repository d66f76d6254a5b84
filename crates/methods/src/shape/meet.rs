//! The meet of two threads' views: phi(t) and phi(sc) hold of one state.
//!
//! In: the view of the onlooker t and of the scheduled thread sc. Out: pair views with the frames of both, one for each
//! way to lay t's named cells over sc's and for each choice of sc's ids that are t's. What globals refer to is one cell for both; an owned cell
//! of one thread is no cell of the other; any other named cell of one is a named cell of the other of the same kind or a member of its group of
//! that kind. Masks are translated through the overlay and met. `project` forgets the scheduled thread again.
//! The rule is decision 095, "Two threads in one state".

use super::eval::Alarm;
use super::model::Model;
use super::prune::prune_view;
use super::takes;
use super::types::ShapeType;
use super::view::{
    ANY, ARGUMENT, Code, FREE, GROUPS, Mask, NULL, OWN, OWNED_BIT, PEER, PEER_ARGUMENT, PackedView, THIRD, bit, codes,
    is_cell, meet_masks,
};
use std::borrow::Cow;

/// All pair views: shared variables, frame of `sc`, frame of `t`; control is that of `sc`.
pub(crate) fn meet_views(model: &Model, t: &PackedView, sc: &PackedView) -> Result<Vec<PackedView>, Alarm> {
    let Some(overlay) = Overlay::of_shared_variables(model, t, sc) else { return Ok(Vec::new()) };
    let mut pairs = Vec::new();
    for sc in onlooker_among_ids(model, sc) {
        let mut meeting = OverlaySearch { model, t, sc: &sc, pairs };
        meeting.lay_cells_of_t(0, overlay)?;
        pairs = meeting.pairs;
    }
    Ok(pairs)
}

/// The scheduled thread's variables may hold ids of other threads, one of which is the onlooker: a view for each choice of those that are.
/// Only variables that the step reads are left in the footprint, so there are few.
fn onlooker_among_ids<'v>(model: &Model, sc: &'v PackedView) -> Vec<Cow<'v, PackedView>> {
    let globals = model.globals.len();
    let slots = model.routine_at(sc.control).map_or(&[][..], |(r, _)| &r.slots[..]);
    let mut out = vec![Cow::Borrowed(sc)];
    for i in (0..slots.len()).filter(|i| slots[*i].ty == ShapeType::Lock && sc.vars[globals + i] == THIRD) {
        let mut with_onlooker = out.clone();
        with_onlooker.iter_mut().for_each(|v| v.to_mut().vars[globals + i] = PEER);
        out.extend(with_onlooker);
    }
    out
}

/// A cell of t that is not decided yet, and one that is no named cell of sc.
const UNDECIDED: Code = Code::MAX;
const APART: Code = Code::MAX - 1;

/// How the named cells of the two views lie over each other.
#[derive(Clone, Copy)]
struct Overlay {
    /// For each named cell of t: the named cell of sc that it is, `APART` or `UNDECIDED`.
    on_sc: [Code; GROUPS as usize],
    /// Named cells of sc that are a named cell of t.
    taken: u64,
    /// For each other published cell that sc names: its kind to t.
    kind_to_t: [u8; GROUPS as usize],
}

impl Overlay {
    /// What shared variables refer to is one cell for both. `None`: the two views contradict each other.
    fn of_shared_variables(model: &Model, t: &PackedView, sc: &PackedView) -> Option<Self> {
        let mut overlay = Self { on_sc: [UNDECIDED; GROUPS as usize], taken: 0, kind_to_t: [u8::MAX; GROUPS as usize] };
        for (i, global) in model.globals.iter().enumerate() {
            let (a, b) = (t.vars[i], sc.vars[i]);
            let agree = match (is_cell(a), is_cell(b)) {
                (true, true) => overlay.identify(a, b),
                (false, false) => compatible(global.ty, a, b),
                _ => a == ANY || b == ANY,
            };
            if !agree {
                return None;
            }
        }
        let decided = (0..t.cells()).filter(|a| overlay.on_sc[*a as usize] != UNDECIDED);
        let alike = |a: Code| alike(model, t.kinds[a as usize], sc.kinds[overlay.on_sc[a as usize] as usize]);
        decided.into_iter().all(alike).then_some(overlay)
    }
    /// The cell `a` of t is the cell `b` of sc; false where one of them is another cell already.
    fn identify(&mut self, a: Code, b: Code) -> bool {
        if self.on_sc[a as usize] != UNDECIDED {
            return self.on_sc[a as usize] == b;
        }
        if self.taken >> b & 1 == 1 {
            return false;
        }
        *self = self.with(a, b);
        true
    }
    fn with(mut self, a: Code, b: Code) -> Self {
        self.on_sc[a as usize] = b;
        if is_cell(b) {
            self.taken |= 1 << b;
        }
        self
    }
}

/// Whether one cell can be of the first kind to one thread and of the second to another.
fn alike(model: &Model, a: u8, b: u8) -> bool {
    a == b
        || (a & OWNED_BIT == b & OWNED_BIT
            && model.common[(a & !OWNED_BIT) as usize] == model.common[(b & !OWNED_BIT) as usize])
}
/// The kinds a cell may be of to another thread.
fn kinds_alike(model: &Model, kind: u8) -> impl Iterator<Item = u8> + '_ {
    let common = model.common[kind as usize];
    (0..model.kinds.len() as u8).filter(move |k| model.common[*k as usize] == common)
}
/// The groups of a view that a cell of the kind may be in.
fn groups_alike(model: &Model, view: &PackedView, kind: u8) -> Mask {
    kinds_alike(model, kind).filter(|k| view.has_group(*k)).fold(0, |m, k| m | bit(GROUPS + k))
}

/// What an id in t's view is in the pair: sc is `OWN` there, t is `PEER`.
fn id_from_t(code: Code) -> Mask {
    match code {
        OWN => bit(PEER),
        THIRD => bit(OWN) | bit(THIRD),
        c => bit(c),
    }
}
fn id_from_sc(code: Code) -> Mask {
    match code {
        THIRD => bit(PEER) | bit(THIRD),
        c => bit(c),
    }
}

fn compatible(ty: ShapeType, a: Code, b: Code) -> bool {
    match ty {
        ShapeType::Lock => meet_masks(id_from_t(a), id_from_sc(b)) != 0,
        _ => a == b || a == ANY || b == ANY,
    }
}

/// The search for all overlays.
struct OverlaySearch<'a> {
    model: &'a Model,
    t: &'a PackedView,
    sc: &'a PackedView,
    pairs: Vec<PackedView>,
}

impl OverlaySearch<'_> {
    /// Decides, for each named cell of t from `at` on, which cell of the pair it is.
    fn lay_cells_of_t(&mut self, at: Code, overlay: Overlay) -> Result<(), Alarm> {
        if at == self.t.cells() {
            return self.group_cells_of_sc(0, overlay);
        }
        if overlay.on_sc[at as usize] != UNDECIDED {
            return self.lay_cells_of_t(at + 1, overlay);
        }
        if self.t.owned(at) {
            return self.lay_cells_of_t(at + 1, overlay.with(at, APART));
        }
        for b in 0..self.sc.cells() {
            if overlay.taken >> b & 1 == 0 && alike(self.model, self.sc.kinds[b as usize], self.t.kinds[at as usize]) {
                self.lay_cells_of_t(at + 1, overlay.with(at, b))?;
            }
        }
        if groups_alike(self.model, self.sc, self.t.kind(at)) != 0 {
            self.lay_cells_of_t(at + 1, overlay.with(at, APART))?;
        }
        Ok(())
    }
    /// Decides, for each published cell from `at` on that only sc names, of which of t's groups it is a member.
    fn group_cells_of_sc(&mut self, at: Code, overlay: Overlay) -> Result<(), Alarm> {
        if at == self.sc.cells() {
            let pair = ViewOverlay::new(self.model, self.t, self.sc, &overlay)?;
            self.pairs.extend(pair.view());
            return Ok(());
        }
        if overlay.taken >> at & 1 == 1 || self.sc.owned(at) {
            return self.group_cells_of_sc(at + 1, overlay);
        }
        for kind in kinds_alike(self.model, self.sc.kind(at)) {
            if self.t.has_group(kind) {
                let mut overlay = overlay;
                overlay.kind_to_t[at as usize] = kind;
                self.group_cells_of_sc(at + 1, overlay)?;
            }
        }
        Ok(())
    }
}

/// A cell of the pair, as each of the two knows it: by name, as a member of one of these groups, or not at all.
#[derive(Clone, Copy)]
struct Source {
    /// A named cell or a group of t.
    t: Option<Code>,
    /// Named cells and groups of sc, as bits.
    sc: Mask,
}

/// One overlay, on the way to a view. Cells and groups of the pair are as t knows them; first come the named cells of sc.
struct ViewOverlay<'a> {
    model: &'a Model,
    t: &'a PackedView,
    sc: &'a PackedView,
    sources: Vec<Source>,
    /// For each named cell of t: its code in the pair.
    place: [Code; GROUPS as usize],
    /// For each group of t, of sc: what may be a member of it, in the pair.
    members_of_t: [Mask; 40],
    members_of_sc: [Mask; 40],
    /// Groups of the pair.
    present: u64,
    /// Rows that hold ids.
    id_rows: u64,
}

impl<'a> ViewOverlay<'a> {
    fn new(model: &'a Model, t: &'a PackedView, sc: &'a PackedView, overlay: &Overlay) -> Result<Self, Alarm> {
        let of_sc = |b: Code| {
            let group = (!sc.owned(b)).then(|| GROUPS.wrapping_add(overlay.kind_to_t[b as usize]));
            Source { t: group, sc: bit(b) }
        };
        let mut sources: Vec<Source> = (0..sc.cells()).map(of_sc).collect();
        let mut place = [Code::MAX; GROUPS as usize];
        for a in 0..t.cells() {
            let b = overlay.on_sc[a as usize];
            if b < GROUPS {
                sources[b as usize].t = Some(a);
                place[a as usize] = b;
            } else {
                place[a as usize] = sources.len() as Code;
                let groups = if t.owned(a) { 0 } else { groups_alike(model, sc, t.kind(a)) };
                sources.push(Source { t: Some(a), sc: groups });
            }
        }
        if sources.len() > GROUPS as usize {
            return Err(Alarm::Lost(format!("two threads refer to more than {GROUPS} different objects at once")));
        }
        let id_rows = model.lock_rows().fold(0u64, |m, (_, r)| m | 1 << r);
        let (members_of_t, members_of_sc) = ([0; 40], [0; 40]);
        let mut pair = Self { model, t, sc, sources, place, members_of_t, members_of_sc, present: 0, id_rows };
        pair.find_members();
        Ok(pair)
    }
    /// What may stand for a member of each group of one side.
    fn find_members(&mut self) {
        let (model, t, sc) = (self.model, self.t, self.sc);
        for (i, s) in self.sources.iter().enumerate() {
            let here = bit(i as Code);
            match s.t {
                Some(group) if group >= GROUPS => self.members_of_t[(group - GROUPS) as usize] |= here,
                Some(a) if s.sc & (bit(GROUPS) - 1) == 0 && !t.owned(a) => {
                    kinds_alike(model, t.kind(a)).for_each(|k| self.members_of_sc[k as usize] |= here);
                }
                _ => {}
            }
        }
        for k in 0..model.kinds.len() as u8 {
            if t.has_group(k) && groups_alike(model, sc, k) != 0 {
                self.present |= 1 << k;
                self.members_of_t[k as usize] |= bit(GROUPS + k);
                // For a group of sc, the groups that its members may be in to t.
                kinds_alike(model, k).for_each(|other| self.members_of_sc[other as usize] |= bit(GROUPS + k));
            }
        }
    }
    fn translate(mask: Mask, members: &[Mask; 40], place: impl Fn(Code) -> Code) -> Mask {
        codes(mask).fold(0, |out, c| {
            out | match c {
                c if is_cell(c) => bit(place(c)),
                c if c < NULL => members[(c - GROUPS) as usize],
                c => bit(c),
            }
        })
    }
    /// What t says of a row of one of its cells or groups, in the pair.
    fn row_of_t(&self, at: Code, r: usize) -> Mask {
        let row = self.t.row(at, r);
        let row = if self.id_rows >> r & 1 == 1 { codes(row).fold(0, |m, c| m | id_from_t(c)) } else { row };
        Self::translate(row, &self.members_of_t, |c| self.place[c as usize])
    }
    /// What sc says of a row of any of its cells or groups.
    fn row_of_sc(&self, any: Mask, r: usize) -> Mask {
        codes(any).fold(0, |all, at| {
            let row = self.sc.row(at, r);
            let row = if self.id_rows >> r & 1 == 1 { codes(row).fold(0, |m, c| m | id_from_sc(c)) } else { row };
            all | Self::translate(row, &self.members_of_sc, |c| c)
        })
    }
    fn row(&self, source: Source, r: usize) -> Mask {
        match (source.t, source.sc) {
            (Some(a), 0) => self.row_of_t(a, r),
            (Some(a), of_sc) => meet_masks(self.row_of_t(a, r), self.row_of_sc(of_sc, r)),
            (None, of_sc) => self.row_of_sc(of_sc, r),
        }
    }
    /// Whether what a view says of all cells and groups that the source may be there holds of it.
    fn known_to_sc(source: Source, fact: impl Fn(Code) -> bool) -> bool {
        source.sc != 0 && codes(source.sc).all(fact)
    }
    fn variables(&self) -> Vec<Code> {
        let (model, t, sc) = (self.model, self.t, self.sc);
        let globals = model.globals.len();
        let place = |c: Code| if is_cell(c) { self.place[c as usize] } else { c };
        let mut vars = Vec::with_capacity(globals + 2 * model.frame);
        for (i, global) in model.globals.iter().enumerate() {
            let (a, b) = (t.vars[i], sc.vars[i]);
            vars.push(if global.ty == ShapeType::Lock {
                let id = meet_masks(id_from_t(a), id_from_sc(b));
                if id.count_ones() == 1 { id.trailing_zeros() as Code } else { ANY }
            } else if b != ANY {
                b
            } else {
                place(a)
            });
        }
        vars.extend_from_slice(&sc.vars[globals..]);
        // A step of sc reads no variable of t: its ids stay as t knows them.
        vars.extend(t.vars[globals..].iter().map(|&v| if v == ARGUMENT { PEER_ARGUMENT } else { place(v) }));
        vars
    }
    /// What variables without a name may be, of both threads.
    fn several(&self) -> Vec<Mask> {
        if self.t.several.is_empty() && self.sc.several.is_empty() {
            return Vec::new();
        }
        let globals = self.model.globals.len();
        let mut out = vec![0; globals];
        for slot in globals..globals + self.model.frame {
            out.push(Self::translate(self.sc.several(slot), &self.members_of_sc, |c| c));
        }
        for slot in globals..globals + self.model.frame {
            out.push(Self::translate(self.t.several(slot), &self.members_of_t, |c| self.place[c as usize]));
        }
        out
    }
    /// The kind of a cell, as t knows it where it does.
    fn kind(&self, at: usize, source: Source) -> u8 {
        match source.t {
            Some(group) if group >= GROUPS => group - GROUPS,
            Some(a) => self.t.kinds[a as usize],
            None => self.sc.kinds[at],
        }
    }
    /// The view of the pair, unless the two contradict each other.
    fn view(&self) -> Option<PackedView> {
        let (model, t, sc) = (self.model, self.t, self.sc);
        let w = model.width;
        let mut view = PackedView {
            control: sc.control,
            witnessed: sc.witnessed,
            vars: self.variables(),
            several: self.several(),
            kinds: self.sources.iter().enumerate().map(|(i, s)| self.kind(i, *s)).collect(),
            rows: Vec::with_capacity(self.sources.len() * w),
            groups: vec![0; model.kinds.len() * w],
            present: self.present,
            single_predecessor: 0,
            unshared: 0,
            width: w as u8,
        };
        let groups = (0..model.kinds.len() as u8)
            .filter(|k| self.present >> k & 1 == 1)
            .map(|k| (GROUPS + k, Source { t: Some(GROUPS + k), sc: groups_alike(model, sc, k) }));
        let cells = self.sources.iter().enumerate().map(|(i, s)| (i as Code, *s));
        // The cells and groups that no thread but t, no thread but sc refers to.
        let (mut only_t, mut only_sc): (Mask, Mask) = (0, 0);
        for (at, source) in cells.chain(groups) {
            for r in 0..w {
                let row = self.row(source, r);
                if is_cell(at) { view.rows.push(row) } else { view.set_row(at, r, row) }
            }
            let by_t = |fact: &dyn Fn(Code) -> bool| source.t.is_some_and(fact);
            view.set_single_predecessor(
                at,
                by_t(&|a| t.has_single_predecessor(a)) || Self::known_to_sc(source, |b| sc.has_single_predecessor(b)),
            );
            only_t |= if by_t(&|a| t.is_unshared(a)) { bit(at) } else { 0 };
            only_sc |= if Self::known_to_sc(source, |b| sc.is_unshared(b)) { bit(at) } else { 0 };
        }
        if !model.takes.is_empty() && !takes::agree(model, &mut view, (t.control, sc.control), only_t, only_sc) {
            return None;
        }
        prune_view(model, &mut view).ok().map(|()| view)
    }
}

/// What t sees of a pair: the scheduled thread's frame and owned cells are forgotten.
pub(crate) fn project_view(model: &Model, pair: &PackedView, t: &PackedView) -> PackedView {
    let globals = model.globals.len();
    let to_t = |c: Code| match c {
        OWN => THIRD,
        PEER => OWN,
        c => c,
    };
    const { assert!(FREE != OWN, "a free lock is no thread's") };
    let mut view = pair.clone();
    view.control = t.control;
    view.witnessed = t.witnessed;
    view.vars.truncate(globals);
    view.several.truncate(globals);
    if !view.several.is_empty() {
        view.several.extend(&pair.several[globals + model.frame..]);
    }
    for (i, s) in model.globals.iter().enumerate() {
        if s.ty == ShapeType::Lock {
            view.vars[i] = to_t(view.vars[i]);
        }
    }
    let peer = &pair.vars[globals + model.frame..];
    view.vars.extend(peer.iter().map(|&v| if v == PEER_ARGUMENT { ARGUMENT } else { v }));
    for (class, r) in model.lock_rows() {
        for at in view.all() {
            if model.kinds[view.kind(at) as usize].class == class {
                let m = view.row(at, r);
                view.set_row(at, r, codes(m).fold(0, |m, c| m | bit(to_t(c))));
            }
        }
    }
    if !model.takes.is_empty() {
        takes::witnessed(model, pair, &mut view);
    }
    super::names::canonical(model, &view)
}
