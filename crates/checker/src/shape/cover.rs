//! Does a view hold of a thread in the state that a fragment describes? The definition, clause by clause.
//!
//! In: a fragment after a step, a thread of it, a view of the certificate. Out: yes, or no. Cells of the fragment are mapped to the
//! view by the variables that name them, the rest by their kind; cells that are not in the fragment stay what they were in the views
//! before the step. Every value that a field may have must be allowed by the view.

use super::fragment::{
    FieldCandidate, FieldSlot, Fragment, FragmentProgress, Image, KeyOrder, NumberedView, Successor, V, Who, kind,
};
use evidence::views::{CellOwner, OperationProgress, Status, Val, View, ViewCell};
use logic::SortKind;
use program::{Scope, VarId};

/// A view being compared with a fragment.
struct Cover<'c, 'a> {
    at: &'c Fragment<'a>,
    sight: NumberedView<'c>,
    view: &'c View,
    who: Who,
    side: usize,
    /// Cell of the view -> cell of the fragment.
    bound: Vec<Option<usize>>,
    /// Cell of the fragment -> what it is in the view.
    image: Vec<Option<Image>>,
}

pub(crate) fn covers(at: &Fragment<'_>, side: usize, sight: NumberedView<'_>) -> bool {
    let view = sight.view;
    let who = if side == 0 { Who::Own } else { Who::Peer };
    let mut cover =
        Cover { at, sight, view, who, side, bound: vec![None; view.cells.len()], image: vec![None; at.items.len()] };
    cover.scalars() && cover.left_out() && cover.map() && cover.open() && cover.cells() && cover.rest()
}

/// The state in which the thread that moves has forgotten the names of values that a view covering it says nothing of: in its variables and in the fields of
/// cells it owns, of which no other thread's view speaks. Without a name a value is any value: that only adds states.
pub(crate) fn without_unmentioned_names<'a>(at: &Fragment<'a>, sight: NumberedView<'_>) -> Fragment<'a> {
    let view = sight.view;
    let (bound, image) = (vec![None; view.cells.len()], vec![None; at.items.len()]);
    let mut cover = Cover { at, sight, view, who: Who::Own, side: 0, bound, image };
    cover.scalars();
    let mut out = at.clone();
    for (id, var) in at.world.program.vars.iter_enumerated().filter(|(_, v)| v.scope != Scope::Shared) {
        let mentioned = view.vars.iter().any(|(v, val)| *v == id && *val != Val::Any);
        let value = &mut out.vars[id.index()];
        if var.sort.is_integer() && !mentioned && matches!(value, V::Datum(_)) {
            *value = V::Any;
        }
    }
    for (d, item) in out.items.iter_mut().enumerate().filter(|(_, x)| x.owner == Some(Who::Own)) {
        let Some(Image::Cell(cell)) = cover.image[d] else { continue };
        for (slot, list) in item.fields.iter_mut().zip(&view.cells[cell].fields) {
            let mentioned = list.iter().any(|v| matches!(v, Val::Cell(_) | Val::Group(_) | Val::Itself));
            if matches!(slot, FieldSlot::Is(V::Datum(_))) && !mentioned {
                *slot = FieldSlot::Is(V::Any);
            }
        }
    }
    out
}

impl Cover<'_, '_> {
    fn bind(&mut self, cell: usize, item: usize) -> bool {
        match (self.bound[cell], self.image[item]) {
            (Some(d), _) => d == item,
            (None, Some(_)) => false,
            (None, None) => {
                self.bound[cell] = Some(item);
                self.image[item] = Some(Image::Cell(cell));
                true
            }
        }
    }
    /// Whether a variable with this value is as the view says; binds cells on the way.
    fn fits(&mut self, val: Val, v: &V) -> bool {
        match (val, v) {
            (Val::Any, _) => true,
            (Val::Cell(i), V::Object(d) | V::Datum(d)) => (i as usize) < self.bound.len() && self.bind(i as usize, *d),
            (val, v) => plain(val, v, self.who),
        }
    }
    /// Where nothing may be lost, a view leaves out no reference that there is.
    fn left_out(&self) -> bool {
        let program = self.at.world.program;
        self.at.world.leak.is_none()
            || program.vars.iter_enumerated().all(|(id, var)| {
                let store = if var.scope == Scope::Shared || self.side == 0 { &self.at.vars } else { &self.at.peer };
                let listed = self.view.vars.iter().any(|(v, val)| *v == id && *val != Val::Any);
                listed || !matches!(store.get(id.index()), Some(V::Object(_)))
            })
    }
    fn scalars(&mut self) -> bool {
        let program = self.at.world.program;
        let view = self.view;
        for (var, val) in &view.vars {
            let own = self.side == 0 || program.vars[*var].scope == Scope::Shared;
            let store = if own { &self.at.vars } else { &self.at.peer };
            if !self.fits(*val, &store[var.index()]) {
                return false;
            }
        }
        match (&view.ends, &self.at.ends) {
            (None, None) => {}
            (Some((a, b)), Some((x, y))) => {
                if !self.fits(*a, x) || !self.fits(*b, y) {
                    return false;
                }
            }
            _ => return false,
        }
        match (&view.crossing, &self.at.crossing) {
            (None, None) => {}
            (Some((a, b)), Some((x, y))) => {
                if !self.fits(*a, x) || !self.fits(*b, y) {
                    return false;
                }
            }
            _ => return false,
        }
        // Weaker witnesses are a weaker claim.
        if view.member != self.at.member || view.witnessed & !self.at.witnessed[self.side] != 0 {
            return false;
        }
        let pairs: Vec<(Val, V)> = match (&view.done, &self.at.done[self.side]) {
            (OperationProgress::No, FragmentProgress::No) => Vec::new(),
            (OperationProgress::Pure(w), FragmentProgress::Pure(h))
            | (OperationProgress::Changed(w), FragmentProgress::Changed(h))
                if w.len() == h.len() =>
            {
                w.iter().copied().zip(h.iter().cloned()).collect()
            }
            _ => return false,
        };
        // A remembered result that the view forgets would be compared with anything later: it must be known there too.
        pairs.into_iter().all(|(w, h)| if w == Val::Any { h == V::Any } else { self.fits(w, &h) })
    }
    /// Maps every described cell that no variable of the view names to a group of its kind.
    fn map(&mut self) -> bool {
        if self.bound.iter().any(Option::is_none) {
            return false;
        }
        for d in 0..self.at.items.len() {
            if self.image[d].is_some() || self.at.items[d].owner.is_some() {
                continue;
            }
            let Some(g) = self.group_of(d) else { return false };
            self.image[d] = Some(Image::Group(g));
        }
        true
    }
    /// What a variable may be is among the values that the view gives it.
    fn open(&self) -> bool {
        let store = if self.side == 0 { &self.at.vars } else { &self.at.peer };
        self.view.open.iter().all(|(var, list)| match &store[var.index()] {
            V::Open => {
                let all = self.at.variable_candidates(self.side, *var);
                all.iter().all(|c| self.allowed(list, None, c, true))
            }
            v => self.allowed(list, None, &FieldCandidate::Value(v.clone()), true),
        })
    }
    fn group_of(&self, d: usize) -> Option<usize> {
        self.view.groups.iter().position(|g| g.owner == CellOwner::Published && self.is_of(d, g))
    }
    /// Class, status and finite fields of a cell are those of its image.
    fn is_of(&self, d: usize, cell: &ViewCell) -> bool {
        let item = &self.at.items[d];
        let (class, status, colours) = kind(cell);
        // A key that no view knows is a kind of its own.
        let key = self.at.world.spine.as_ref().filter(|l| l.class == class).map(|l| l.key);
        let unknown = key.is_none_or(|k| {
            cell.fields[k] != [Val::Any]
                || match &item.fields[k] {
                    FieldSlot::Is(v) => *v == V::Any,
                    FieldSlot::Open => {
                        let all = self.at.candidates(Some(d), item.image, item.class, k);
                        all.iter().all(|c| *c == FieldCandidate::Value(V::Any))
                    }
                }
        });
        let left = item.left[self.side] && !self.at.looked[self.side];
        item.class == class
            && status == if left { Status::Left } else { item.status }
            && unknown
            && colours.iter().all(|(f, val)| match &item.fields[*f] {
                FieldSlot::Is(v) => plain(*val, v, self.who),
                FieldSlot::Open => {
                    let all = self.at.candidates(Some(d), item.image, item.class, *f);
                    all.iter().all(|c| matches!(c, FieldCandidate::Value(v) if plain(*val, v, self.who)))
                }
            })
    }
    fn known(&self, image: Image) -> &ViewCell {
        match image {
            Image::Cell(i) => &self.view.cells[i],
            Image::Group(g) => &self.view.groups[g],
        }
    }
    /// The view's group for cells outside the fragment that were in these groups before.
    fn group_after(&self, groups: [Option<usize>; 2]) -> Option<usize> {
        let (sight, g) = (self.at.sides[self.side]?, groups[self.side]?);
        let wanted = if self.at.looked[self.side] { sight.groups[g] } else { sight.full[g] };
        self.sight.full.iter().position(|g| *g == wanted)
    }
    /// Whether the view allows the candidate in this list.
    fn allowed(&self, list: &[Val], item: Option<usize>, c: &FieldCandidate, reference: bool) -> bool {
        let kept = matches!(c, FieldCandidate::New(_) | FieldCandidate::Value(V::Object(_)));
        // An unknown reference covers no known one where nothing may be lost.
        if list.contains(&Val::Any) && !(kept && reference && self.at.world.leak.is_some()) {
            return true;
        }
        let image = |d: usize| match self.image[d] {
            Some(Image::Cell(i)) => list.contains(&Val::Cell(i as u16)),
            Some(Image::Group(g)) => list.contains(&Val::Group(g as u16)),
            None => false,
        };
        match c {
            FieldCandidate::New(groups) => {
                self.group_after(*groups).is_some_and(|g| list.contains(&Val::Group(g as u16)))
            }
            FieldCandidate::Value(V::Datum(d)) if Some(*d) == item => list.contains(&Val::Itself),
            FieldCandidate::Value(V::Object(d) | V::Datum(d)) => image(*d),
            FieldCandidate::Value(v) => list.iter().any(|val| plain(*val, v, self.who)),
        }
    }
    fn cells(&self) -> bool {
        for d in 0..self.at.items.len() {
            let item = &self.at.items[d];
            let Some(image) = self.image[d] else { continue };
            let cell = self.known(image);
            let owner = match item.owner {
                None => CellOwner::Published,
                Some(w) if w == self.who => CellOwner::Mine,
                Some(_) => return false,
            };
            if cell.owner != owner || !self.is_of(d, cell) {
                return false;
            }
            for (f, slot) in item.fields.iter().enumerate() {
                let refers = self.at.world.refers(item.class, f);
                let fine = match slot {
                    FieldSlot::Is(v) => {
                        self.allowed(&cell.fields[f], Some(d), &FieldCandidate::Value(v.clone()), refers)
                    }
                    FieldSlot::Open => {
                        let all = self.at.candidates(Some(d), item.image, item.class, f);
                        all.iter().all(|c| self.allowed(&cell.fields[f], Some(d), c, refers))
                    }
                };
                if !fine {
                    return false;
                }
            }
            if item.status == Status::In && !self.successor(d, cell) {
                return false;
            }
            if (cell.single_predecessor && !self.single_predecessor(d)) || (cell.unshared && !self.unshared(d)) {
                return false;
            }
        }
        true
    }
    fn successor(&self, d: usize, cell: &ViewCell) -> bool {
        let list = &cell.successor;
        match &self.at.items[d].successor {
            Successor::AsLink => list.contains(&Val::AsLink),
            Successor::Is(v) => self.allowed(list, Some(d), &FieldCandidate::Value(v.clone()), false),
            Successor::Open => {
                (!self.at.may_agree(self.at.items[d].image) || list.contains(&Val::AsLink))
                    && self.at.successors(d).iter().all(|c| self.allowed(list, Some(d), c, false))
            }
        }
    }
    /// No other thread refers to it: a third one did not before, by what either of the two knew, and the one that moved does not now.
    fn unshared(&self, d: usize) -> bool {
        let item = &self.at.items[d];
        if item.owner.is_some() {
            return true;
        }
        if self.at.sides.iter().all(Option::is_none) {
            return !self.at.held(1 - self.side, d);
        }
        match self.side {
            0 => item.unshared[0],
            _ => (item.unshared[0] || item.unshared[1]) && !self.at.held(0, d),
        }
    }
    /// At most one published cell links to it: known before and no new one came, or counted.
    fn single_predecessor(&self, d: usize) -> bool {
        let item = &self.at.items[d];
        if item.owner.is_some() || item.single_predecessor {
            return true;
        }
        let class = item.class;
        let Some(link) = self.at.world.links[class.index()] else { return true };
        let may = |c: &FieldCandidate| {
            matches!(c, FieldCandidate::Value(V::Any)) || *c == FieldCandidate::Value(V::Object(d))
        };
        let mut count = 0;
        for (q, x) in self.at.items.iter().enumerate() {
            if x.class != class || x.owner.is_some() {
                continue;
            }
            let here = match &x.fields[link] {
                FieldSlot::Is(v) => may(&FieldCandidate::Value(v.clone())),
                FieldSlot::Open => self.at.candidates(Some(q), x.image, class, link).iter().any(may),
            };
            count += usize::from(here);
        }
        let outside = self
            .at
            .outside()
            .into_iter()
            .any(|(image, c)| c == class && self.at.candidates(None, image, class, link).iter().any(may));
        count <= 1 && !outside
    }
    /// Cells outside the fragment.
    fn rest(&self) -> bool {
        self.at.outside().into_iter().all(|(image, class)| {
            let fields = self.at.world.fields[class.index()].len();
            let open: Vec<Vec<FieldCandidate>> =
                (0..fields).map(|f| self.at.candidates(None, image, class, f)).collect();
            // A cell has a value in each field: where none is possible there is no such cell.
            let empty = (0..fields).any(|f| open[f].is_empty() && !self.itself(image, f));
            if empty {
                return true;
            }
            let groups = [0, 1].map(|s| match image[s] {
                Some(Image::Group(g)) => Some(g),
                _ => None,
            });
            let Some(g) = self.group_after(groups) else { return false };
            let cell = &self.view.groups[g];
            let fields = (0..fields).all(|f| {
                open[f].iter().all(|c| self.allowed(&cell.fields[f], None, c, self.at.world.refers(class, f)))
                    && (!self.itself(image, f)
                        || cell.fields[f].contains(&Val::Itself)
                        || cell.fields[f].contains(&Val::Any))
            });
            let lists = (0..2).filter_map(|s| image[s].map(|i| (s, self.at.known(i, s))));
            let single_predecessor = lists.clone().any(|(_, c)| c.single_predecessor);
            let agrees = self.at.may_agree(image);
            let explicit = lists.clone().all(|(_, c)| c.successor.iter().any(|v| *v != Val::AsLink));
            let successor = cell.status != Status::In
                || ((!agrees || cell.successor.contains(&Val::AsLink)) && (!explicit || self.explicit(image, cell)));
            let unshared = lists.clone().any(|(_, c)| c.unshared) && (self.side == 0 || !self.at.held_outside(groups));
            fields && successor && (!cell.single_predecessor || single_predecessor) && (!cell.unshared || unshared)
        })
    }
    /// Successors other than the link, of cells outside the fragment.
    fn explicit(&self, image: [Option<Image>; 2], cell: &ViewCell) -> bool {
        let lists: Vec<(usize, &[Val])> =
            (0..2).filter_map(|s| image[s].map(|i| (s, self.at.known(i, s).successor.as_slice()))).collect();
        self.at.meet(&lists, None, true).iter().all(|c| self.allowed(&cell.successor, None, c, false))
    }
    /// Whether all views let the field of such a cell be the value it stands for.
    fn itself(&self, image: [Option<Image>; 2], field: usize) -> bool {
        (0..2).all(|s| {
            image[s].is_none_or(|i| {
                let list = &self.at.known(i, s).fields[field];
                list.contains(&Val::Itself) || list.contains(&Val::Any)
            })
        }) && (0..2).any(|s| image[s].is_some_and(|i| self.at.known(i, s).fields[field].contains(&Val::Itself)))
    }
}

/// Values that are not cells.
fn plain(val: Val, v: &V, who: Who) -> bool {
    match (val, v) {
        (Val::Any, _) | (Val::Null, V::Null) => true,
        (Val::Argument, V::Argument(w)) => *w == who,
        (Val::Number(n), V::Number(m)) => n == *m,
        (Val::Free, V::Number(0)) => true,
        (Val::Bool(a), V::Bool(b)) => a == *b,
        (Val::Variant(a), V::Variant(b)) => a == *b,
        (Val::Me, V::Id(w)) => *w == who,
        (Val::Other, V::Id(w)) => *w != who,
        (Val::Below, V::Key(KeyOrder::Below))
        | (Val::Equal, V::Key(KeyOrder::Equal))
        | (Val::Above, V::Key(KeyOrder::Above)) => true,
        _ => false,
    }
}

/// A pattern of the shared variables that views of one state have in common: to find pairs quickly.
pub(crate) fn pattern(values: impl Iterator<Item = SharedValue>) -> Option<Vec<u32>> {
    let mut seen: Vec<usize> = Vec::new();
    let mut out = Vec::new();
    for v in values {
        out.push(match v {
            SharedValue::Cell(d) => {
                let at = seen.iter().position(|x| *x == d).unwrap_or_else(|| {
                    seen.push(d);
                    seen.len() - 1
                });
                16 + at as u32
            }
            SharedValue::Code(c) => c,
            SharedValue::Unknown => return None,
        });
    }
    Some(out)
}

pub(crate) enum SharedValue {
    Cell(usize),
    Code(u32),
    Unknown,
}

/// Shared variables of the pattern: references and booleans.
pub(crate) fn patterned(program: &program::Program) -> Vec<VarId> {
    program
        .shared()
        .filter(|v| {
            let v = &program.vars[*v];
            matches!(v.kind, program::VarKind::Plain)
                && matches!(program.terms.kind(v.sort), SortKind::Ref(_) | SortKind::Bool)
        })
        .collect()
}

pub(crate) fn of_view(view: &View, vars: &[VarId]) -> Option<Vec<u32>> {
    let value = |v: Val| match v {
        Val::Cell(i) => SharedValue::Cell(i as usize),
        Val::Null => SharedValue::Code(1),
        Val::Bool(b) => SharedValue::Code(2 + u32::from(b)),
        _ => SharedValue::Unknown,
    };
    let of =
        |var: &VarId| view.vars.iter().find(|(v, _)| v == var).map_or(SharedValue::Unknown, |(_, val)| value(*val));
    let ends = view.ends.iter().chain(&view.crossing).flat_map(|(a, b)| [value(*a), value(*b)]);
    pattern(vars.iter().map(of).chain(ends))
}
