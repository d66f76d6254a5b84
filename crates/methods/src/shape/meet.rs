//! The meet of two threads' views: phi(t) and phi(sc) hold of one state.
//!
//! Comes in: the view of the other thread t and of the scheduled thread sc. Goes out: pair views with the frames of both, one for each
//! way to lay t's named cells over sc's. What globals refer to is one cell for both; an owned cell of one thread is no cell of the other;
//! any other named cell of one is a named cell of the other of the same kind or a member of its group of that kind. Masks are translated
//! through the overlay and met. `project` forgets the scheduled thread again.

use super::heap::prune;
use super::model::Model;
use super::takes;
use super::types::Ty;
use super::view::{
    ANY, ARGUMENT, Code, FREE, GROUPS, Mask, NULL, OWN, OWNED, PEER, PEER_ARGUMENT, THIRD, View, bit, codes, is_cell,
    meet_masks,
};

/// Where a cell of the pair comes from.
#[derive(Clone, Copy)]
struct Source {
    t: Option<Code>,
    sc: Option<Code>,
}

/// All pair views: shared variables, frame of `sc`, frame of `t`; control is that of `sc`.
pub fn meet(model: &Model, t: &View, sc: &View) -> Vec<View> {
    let mut overlay = [Code::MAX; GROUPS as usize];
    let mut taken: u64 = 0;
    let globals = model.globals.len();
    for i in 0..globals {
        let (a, b) = (t.vars[i], sc.vars[i]);
        match (is_cell(a), is_cell(b)) {
            (true, true) => {
                if overlay[a as usize] == Code::MAX {
                    if taken >> b & 1 == 1 {
                        return Vec::new();
                    }
                    overlay[a as usize] = b;
                    taken |= 1 << b;
                } else if overlay[a as usize] != b {
                    return Vec::new();
                }
            }
            (false, false) => {
                if !compatible(model.globals[i].ty, a, b) {
                    return Vec::new();
                }
            }
            _ => {
                if a != ANY && b != ANY {
                    return Vec::new();
                }
            }
        }
    }
    for a in 0..t.cells() {
        let b = overlay[a as usize];
        if b != Code::MAX && !alike(model, t.kinds[a as usize], sc.kinds[b as usize]) {
            return Vec::new();
        }
    }
    let mut out = Vec::new();
    lay(model, t, sc, 0, &mut overlay, taken, &mut out);
    out
}

/// Whether one cell can be of the first kind to one thread and of the second to another.
fn alike(model: &Model, a: u8, b: u8) -> bool {
    a == b || (a & OWNED == b & OWNED && model.common[(a & !OWNED) as usize] == model.common[(b & !OWNED) as usize])
}
/// The kinds a cell may be of to another thread.
fn kinds_alike(model: &Model, kind: u8) -> impl Iterator<Item = u8> + '_ {
    let common = model.common[kind as usize];
    (0..model.kinds.len() as u8).filter(move |k| model.common[*k as usize] == common)
}
/// Whether the view may have cells without a name that are of such a kind to another thread.
fn has_alike(model: &Model, view: &View, kind: u8) -> bool {
    kinds_alike(model, kind).any(|k| view.has_group(k))
}

fn lock_bits(ty: Ty) -> bool {
    ty == Ty::Lock
}

/// What a lock value in t's view is in the pair: sc is `OWN` there, t is `PEER`.
fn from_t(code: Code) -> Mask {
    match code {
        OWN => bit(PEER),
        THIRD => bit(OWN) | bit(THIRD),
        c => bit(c),
    }
}
fn from_sc(code: Code) -> Mask {
    match code {
        THIRD => bit(PEER) | bit(THIRD),
        c => bit(c),
    }
}
fn lock_mask(mask: Mask, side: fn(Code) -> Mask) -> Mask {
    codes(mask).fold(0, |m, c| m | side(c))
}

fn compatible(ty: Ty, a: Code, b: Code) -> bool {
    if lock_bits(ty) {
        return meet_masks(from_t(a), from_sc(b)) != 0;
    }
    a == b || a == ANY || b == ANY
}

/// Decides, for each named cell of t from `at` on, which cell of the pair it is.
fn lay(
    model: &Model,
    t: &View,
    sc: &View,
    at: Code,
    overlay: &mut [Code; GROUPS as usize],
    taken: u64,
    out: &mut Vec<View>,
) {
    if at == t.cells() {
        let n = sc.cells();
        let mut kinds = [Code::MAX; GROUPS as usize];
        name(model, t, sc, 0, n, overlay, taken, &mut kinds, out);
        return;
    }
    if overlay[at as usize] != Code::MAX {
        return lay(model, t, sc, at + 1, overlay, taken, out);
    }
    const APART: Code = Code::MAX - 1;
    if t.owned(at) {
        overlay[at as usize] = APART;
        lay(model, t, sc, at + 1, overlay, taken, out);
        overlay[at as usize] = Code::MAX;
        return;
    }
    for b in 0..sc.cells() {
        if taken >> b & 1 == 0 && alike(model, sc.kinds[b as usize], t.kinds[at as usize]) {
            overlay[at as usize] = b;
            lay(model, t, sc, at + 1, overlay, taken | 1 << b, out);
        }
    }
    if has_alike(model, sc, t.kind(at)) {
        overlay[at as usize] = APART;
        lay(model, t, sc, at + 1, overlay, taken, out);
    }
    overlay[at as usize] = Code::MAX;
}

/// Decides, for each published cell from `at` on that only sc names, of which of t's groups it is a member.
#[allow(clippy::too_many_arguments)]
fn name(
    model: &Model,
    t: &View,
    sc: &View,
    at: Code,
    n: Code,
    overlay: &[Code; GROUPS as usize],
    taken: u64,
    kinds: &mut [Code; GROUPS as usize],
    out: &mut Vec<View>,
) {
    if at == n {
        out.extend(build(model, t, sc, overlay, kinds));
        return;
    }
    if taken >> at & 1 == 1 || sc.owned(at) {
        return name(model, t, sc, at + 1, n, overlay, taken, kinds, out);
    }
    for k in kinds_alike(model, sc.kind(at)) {
        if t.has_group(k) {
            kinds[at as usize] = k;
            name(model, t, sc, at + 1, n, overlay, taken, kinds, out);
        }
    }
    kinds[at as usize] = Code::MAX;
}

/// `kinds`: of the cells that only sc names, as t knows them. Cells and groups of the pair are as t knows them.
fn build(
    model: &Model,
    t: &View,
    sc: &View,
    overlay: &[Code; GROUPS as usize],
    kinds: &[Code; GROUPS as usize],
) -> Option<View> {
    let n = sc.cells();
    let mut sources: Vec<Source> = (0..n).map(|b| Source { t: None, sc: Some(b) }).collect();
    let mut place = [Code::MAX; GROUPS as usize];
    for a in 0..t.cells() {
        let b = overlay[a as usize];
        if b < GROUPS {
            sources[b as usize].t = Some(a);
            place[a as usize] = b;
        } else {
            place[a as usize] = sources.len() as Code;
            sources.push(Source { t: Some(a), sc: None });
        }
    }
    if sources.len() > GROUPS as usize {
        // Cannot happen with the frames that fit in a view; losing a pair would be unsound, so this is not a None.
        panic!("a pair of views has more cells than fit");
    }
    // What may stand for a member of each group of one side, in the pair.
    let mut members_t = [0 as Mask; 40];
    let mut members_sc = [0 as Mask; 40];
    for (i, s) in sources.iter().enumerate() {
        match (s.t, s.sc) {
            (None, Some(b)) if !sc.owned(b) => members_t[kinds[b as usize] as usize] |= bit(i as Code),
            (Some(a), None) if !t.owned(a) => {
                for k in kinds_alike(model, t.kind(a)) {
                    members_sc[k as usize] |= bit(i as Code);
                }
            }
            _ => {}
        }
    }
    let mut present = 0u64;
    for k in 0..model.kinds.len() as u8 {
        if t.has_group(k) && has_alike(model, sc, k) {
            present |= 1 << k;
        }
    }
    // For a group of sc, the groups that its members may be in to t.
    for k in 0..model.kinds.len() as u8 {
        for other in kinds_alike(model, k) {
            if present >> other & 1 == 1 {
                members_sc[k as usize] |= bit(GROUPS + other);
            }
        }
        if present >> k & 1 == 1 {
            members_t[k as usize] |= bit(GROUPS + k);
        }
    }
    let translate = |mask: Mask, members: &[Mask; 40], place: &dyn Fn(Code) -> Code| {
        let mut out = 0;
        for c in codes(mask) {
            out |= if is_cell(c) {
                bit(place(c))
            } else if (GROUPS..NULL).contains(&c) {
                members[(c - GROUPS) as usize]
            } else {
                bit(c)
            };
        }
        out
    };
    let place_t = |c: Code| place[c as usize];
    let place_sc = |c: Code| c;
    let w = model.width;
    let locks = model.lock_rows().fold(0u64, |m, (_, r)| m | 1 << r);
    let row_of = |side_t: bool, code: Code, r: usize| -> Mask {
        let view = if side_t { t } else { sc };
        let mask = view.row(code, r);
        let mask = if locks >> r & 1 == 1 { lock_mask(mask, if side_t { from_t } else { from_sc }) } else { mask };
        if side_t { translate(mask, &members_t, &place_t) } else { translate(mask, &members_sc, &place_sc) }
    };
    let globals = model.globals.len();
    let mut vars = Vec::with_capacity(globals + 2 * model.frame);
    for i in 0..globals {
        let (a, b) = (t.vars[i], sc.vars[i]);
        vars.push(if lock_bits(model.globals[i].ty) {
            let m = meet_masks(from_t(a), from_sc(b));
            if m.count_ones() == 1 { m.trailing_zeros() as Code } else { ANY }
        } else if b != ANY {
            b
        } else if is_cell(a) {
            place_t(a)
        } else {
            a
        });
    }
    vars.extend_from_slice(&sc.vars[globals..]);
    vars.extend(t.vars[globals..].iter().map(|&v| match v {
        ARGUMENT => PEER_ARGUMENT,
        v if is_cell(v) => place_t(v),
        v => v,
    }));
    let mut view = View {
        control: sc.control,
        witnessed: sc.witnessed,
        vars,
        kinds: sources
            .iter()
            .map(|s| match (s.t, s.sc) {
                (Some(a), _) => t.kinds[a as usize],
                (None, Some(b)) if sc.owned(b) => sc.kinds[b as usize],
                (None, Some(b)) => kinds[b as usize],
                (None, None) => unreachable!("a cell of a pair comes from one of the two"),
            })
            .collect(),
        rows: Vec::with_capacity(sources.len() * w),
        groups: vec![0; model.kinds.len() * w],
        present,
        lone: 0,
        sole: 0,
        width: w as u8,
    };
    // The cells and groups that nobody but t, nobody but sc refers to.
    let (mut only_t, mut only_sc): (Mask, Mask) = (0, 0);
    for (i, s) in sources.iter().enumerate() {
        // As each side knows the cell: by name, as a member of a group, or not at all.
        let as_t = match (s.t, s.sc) {
            (Some(a), _) => Some(a),
            (None, Some(b)) if !sc.owned(b) => Some(GROUPS + kinds[b as usize]),
            _ => None,
        };
        let as_sc: Mask = match (s.sc, s.t) {
            (Some(b), _) => bit(b),
            (None, Some(a)) if !t.owned(a) => groups_alike(model, sc, t.kind(a)),
            _ => 0,
        };
        for r in 0..w {
            let theirs = codes(as_sc).fold(0, |m, b| m | row_of(false, b, r));
            view.rows.push(match as_t {
                Some(a) if as_sc == 0 => row_of(true, a, r),
                Some(a) => meet_masks(row_of(true, a, r), theirs),
                None => theirs,
            });
        }
        let theirs = as_sc != 0 && codes(as_sc).all(|b| sc.is_lone(b));
        let lone = as_t.is_some_and(|a| t.is_lone(a)) || theirs;
        view.set_lone(i as Code, lone);
        let sole = |by: bool| if by { bit(i as Code) } else { 0 };
        only_t |= sole(as_t.is_some_and(|a| t.is_sole(a)));
        only_sc |= sole(as_sc != 0 && codes(as_sc).all(|b| sc.is_sole(b)));
    }
    for k in 0..model.kinds.len() as Code {
        if present >> k & 1 == 1 {
            let theirs = groups_alike(model, sc, k);
            for r in 0..w {
                let mask = codes(theirs).fold(0, |m, b| m | row_of(false, b, r));
                view.groups[k as usize * w + r] = meet_masks(row_of(true, GROUPS + k, r), mask);
            }
            view.set_lone(GROUPS + k, t.is_lone(GROUPS + k) || codes(theirs).all(|b| sc.is_lone(b)));
            let sole = |by: bool| if by { bit(GROUPS + k) } else { 0 };
            only_t |= sole(t.is_sole(GROUPS + k));
            only_sc |= sole(codes(theirs).all(|b| sc.is_sole(b)));
        }
    }
    if !model.takes.is_empty() && !takes::agree(model, &mut view, (t.control, sc.control), only_t, only_sc) {
        return None;
    }
    prune(model, &mut view).ok().map(|()| view)
}

/// The groups of a view that a cell of the kind may be in.
fn groups_alike(model: &Model, view: &View, kind: u8) -> Mask {
    kinds_alike(model, kind).filter(|k| view.has_group(*k)).fold(0, |m, k| m | bit(GROUPS + k))
}

/// What t sees of a pair: the scheduled thread's frame and owned cells are forgotten.
pub fn project(model: &Model, pair: &View, t: &View) -> View {
    let globals = model.globals.len();
    let lock = |c: Code| match c {
        OWN => THIRD,
        PEER => OWN,
        c => c,
    };
    const { assert!(FREE != OWN, "lock values are told apart") };
    let mut view = pair.clone();
    view.control = t.control;
    view.witnessed = t.witnessed;
    view.vars.truncate(globals);
    for (i, s) in model.globals.iter().enumerate() {
        if lock_bits(s.ty) {
            view.vars[i] = lock(view.vars[i]);
        }
    }
    let peer = &pair.vars[globals + model.frame..];
    view.vars.extend(peer.iter().map(|&v| if v == PEER_ARGUMENT { ARGUMENT } else { v }));
    for (class, r) in model.lock_rows() {
        for at in view.all() {
            if model.kinds[view.kind(at) as usize].class == class {
                let m = view.row(at, r);
                view.set_row(at, r, codes(m).fold(0, |m, c| m | bit(lock(c))));
            }
        }
    }
    if !model.takes.is_empty() {
        takes::witnessed(model, pair, &mut view);
    }
    model.canonical(&view)
}
