//! The list that holds a specification's set, on fragments.
//!
//! In: the spine that a certificate names. Out: what its definition (`evidence::views::Spine`) says of cells, links and the crossing, and how a
//! write to a link changes them. The list has no cycle: it has none at the start, and a write that could make one, or that does more than put cells in and
//! take cells out at one place, is rejected. See `docs/decisions/060-one-key.md`.

use super::fragment::{FieldCandidate, FieldSlot, Fragment, Image, KeyOrder, V};
use super::terms::{Halt, halt_with};
use evidence::views::{SpineOrder, Status};
use logic::{Node, Op, Symbol, Term};
use program::{Program, SpecOp};

pub(crate) use super::spine_in_class::SpineInClass;

pub(crate) fn inside(status: Status) -> bool {
    matches!(status, Status::Before | Status::After)
}

/// Whether an operation of the specification concerns one key only, its one integer parameter: the state occurs only as `k in s`, `s + {k}`, `s - {k}`.
pub(crate) fn one_key(program: &Program, op: &SpecOp, state: Symbol) -> bool {
    let keys: Vec<Symbol> =
        op.params.iter().filter(|p| program.vars[**p].sort.is_integer()).map(|p| program.vars[*p].symbol).collect();
    let t = &program.terms;
    let is_key = |x: Term| t.as_symbol(x).is_some_and(|s| keys.contains(&s));
    let is_state = |x: Term| t.as_symbol(x) == Some(state);
    let one = |x: Term| matches!(t.app(x), Some((Op::Insert, a)) if is_key(a[0]) && matches!(t.app(a[1]), Some((Op::EmptySet(_), _))));
    fn clear(program: &Program, x: Term, fine: &dyn Fn(Term) -> bool, state: Symbol) -> bool {
        if fine(x) {
            return true;
        }
        match program.terms.node(x) {
            Node::Sym(s) => s != state,
            Node::App(_, a) => a.iter().all(|y| clear(program, *y, fine, state)),
            Node::Quant(..) => false,
            _ => true,
        }
    }
    let member = |x: Term| matches!(t.app(x), Some((Op::Member, a)) if is_key(a[0]) && is_state(a[1]));
    keys.len() <= 1
        && op.code.actions.iter().all(|a| {
            let tests = a.gates.iter().map(|g| g.formula).chain([a.guard]);
            tests.into_iter().all(|f| clear(program, f, &member, state))
                && a.updates.iter().all(|u| {
                    if program.vars[u.var].symbol != state {
                        return clear(program, u.value, &member, state);
                    }
                    is_state(u.value)
                        || match t.app(u.value) {
                            Some((Op::Union | Op::Minus, x)) => is_state(x[0]) && one(x[1]),
                            Some((Op::Insert, x)) => is_key(x[0]) && is_state(x[1]),
                            _ => false,
                        }
                })
        })
}

impl Fragment<'_> {
    fn root(&self, list: &SpineInClass) -> &V {
        &self.vars[list.root.index()]
    }
    /// Whether a cell ends the search for the key; `None`: its key is not known.
    pub(super) fn stops(&self, list: &SpineInClass, d: usize) -> Option<bool> {
        if list.stops.iter().any(|v| self.vars[v.index()] == V::Object(d)) {
            return Some(true);
        }
        match self.side_of(list, d)? {
            KeyOrder::Below => Some(false),
            KeyOrder::Equal => Some(true),
            KeyOrder::Above => Some(list.order == SpineOrder::Sorted),
        }
    }
    fn side_of(&self, list: &SpineInClass, d: usize) -> Option<KeyOrder> {
        let item = &self.items[d];
        match &item.fields[list.key] {
            FieldSlot::Is(V::Key(s)) => Some(*s),
            FieldSlot::Is(_) => None,
            FieldSlot::Open => match &self.candidates(Some(d), item.image, item.class, list.key)[..] {
                [FieldCandidate::Value(V::Key(s))] => Some(*s),
                _ => None,
            },
        }
    }
    /// Whether a cell can be there at all: the list has no cell before the crossing but the root where the root is the last before it, and
    /// none after it where it ends there.
    fn can_be(&self, status: Status, is_root: bool) -> bool {
        let (Some(list), Some((pred, succ))) = (&self.world.spine, &self.crossing) else { return true };
        match status {
            Status::Before => is_root || pred != self.root(list),
            Status::After => *succ != V::Null,
            _ => true,
        }
    }
    pub(crate) fn spine_possible(&self) -> bool {
        let Some(list) = &self.world.spine else { return true };
        self.items.iter().enumerate().all(|(d, x)| self.can_be(x.status, *self.root(list) == V::Object(d)))
    }
    /// Whether the list leaves room for the cell.
    pub(crate) fn on_spine(&self, c: &FieldCandidate) -> bool {
        let Some(list) = &self.world.spine else { return true };
        match c {
            FieldCandidate::Value(V::Object(d)) => {
                self.can_be(self.items[*d].status, *self.root(list) == V::Object(*d))
            }
            FieldCandidate::New(_) => self.can_be(self.status_at(c), false),
            FieldCandidate::Value(_) => true,
        }
    }
    /// The place of the cell that a candidate is.
    fn status_at(&self, c: &FieldCandidate) -> Status {
        match c {
            FieldCandidate::Value(V::Object(d)) => self.items[*d].status,
            FieldCandidate::Value(_) => Status::Never,
            FieldCandidate::New(groups) => {
                let side = usize::from(groups[0].is_none());
                groups[side].map_or(Status::Never, |g| self.known(Image::Group(g), side).status.common())
            }
        }
    }
    /// Whether the link of a cell with that status (the cell itself, if it is in the fragment) can lead there.
    pub(crate) fn may_lead(&self, item: Option<usize>, status: Status, c: &FieldCandidate) -> bool {
        let (Some(list), Some((pred, succ))) = (&self.world.spine, &self.crossing) else { return true };
        if !inside(status) {
            return true;
        }
        let value = |v: &V| matches!(c, FieldCandidate::Value(w) if w == v);
        if status == Status::Before && item.is_some_and(|i| *pred == V::Object(i)) {
            return value(succ);
        }
        let to = match c {
            FieldCandidate::Value(V::Object(_)) | FieldCandidate::New(_) => self.status_at(c),
            FieldCandidate::Value(V::Null) => return status == Status::After,
            FieldCandidate::Value(_) => return false,
        };
        let itself = item.is_some_and(|i| value(&V::Object(i)));
        let led = matches!(c, FieldCandidate::Value(V::Object(d)) if self.items.iter().enumerate().any(|(q, x)| {
            Some(q) != item && inside(x.status) && x.class == list.class && x.fields[list.link] == FieldSlot::Is(V::Object(*d))
        }));
        to == status && !itself && !led && !value(self.root(list)) && !value(succ) && self.can_be(to, false)
    }
    fn follow(&self, list: &SpineInClass, d: usize) -> Result<V, Halt> {
        match &self.items[d].fields[list.link] {
            FieldSlot::Open => Err(Halt::Decide(d, Some(list.link))),
            FieldSlot::Is(V::Any) => halt_with("a link of the list is unknown"),
            FieldSlot::Is(v) => Ok(v.clone()),
        }
    }
    fn place(&mut self, d: usize, status: Status) {
        self.items[d].status = status;
        self.items[d].left = [false, false];
    }
    /// The link of a cell of the list is about to become `value`.
    pub(crate) fn respine(&mut self, d: usize, value: &V) -> Result<(), Halt> {
        let Some(list) = self.world.spine.clone() else { return Ok(()) };
        if self.items[d].class != list.class || !inside(self.items[d].status) {
            return Ok(());
        }
        let old = self.follow(&list, d)?;
        if old == *value {
            return Ok(());
        }
        // What comes in: cells outside the list, until it is reached again or ends.
        let mut come: Vec<usize> = Vec::new();
        let mut on = value.clone();
        while let V::Object(c) = on {
            if inside(self.items[c].status) {
                break;
            }
            if come.contains(&c) {
                return halt_with("a cycle that does not lead back to the list");
            }
            come.push(c);
            on = self.follow(&list, c)?;
        }
        if !matches!(on, V::Object(_) | V::Null) {
            return halt_with("a link of the list becomes unknown");
        }
        // What goes out: from the old successor to where the list goes on. Never found: the list would have a cycle, or more of it changes.
        let mut go: Vec<usize> = Vec::new();
        let mut at = old;
        while at != on {
            let V::Object(c) = at else { return halt_with("the list does not go on where it did") };
            if go.len() == 5 {
                return halt_with("more of the list changes than is followed");
            }
            go.push(c);
            at = self.follow(&list, c)?;
        }
        if self.items[d].status == Status::After {
            come.iter().for_each(|c| self.place(*c, Status::After));
        } else {
            self.recross(&list, d, &come, &on)?;
        }
        for c in go {
            self.items[c].status = Status::Never;
            self.items[c].left = [true, true];
        }
        Ok(())
    }
    /// The crossing, where `come` and then `on` follow a cell before it.
    fn recross(&mut self, list: &SpineInClass, d: usize, come: &[usize], on: &V) -> Result<(), Halt> {
        let ahead = matches!(on, V::Object(c) if self.items[*c].status == Status::Before);
        let first = come.iter().position(|c| self.stops(list, *c) != Some(false));
        for (i, c) in come.iter().enumerate() {
            let status = if first.is_some_and(|f| i >= f) { Status::After } else { Status::Before };
            self.place(*c, status);
        }
        let last = first.map_or(come.last(), |f| f.checked_sub(1).and_then(|i| come.get(i)));
        let pred = V::Object(*last.unwrap_or(&d));
        match (first, ahead) {
            (Some(f), false) if self.stops(list, come[f]) == Some(true) => {
                self.crossing = Some((pred, V::Object(come[f])));
                Ok(())
            }
            (Some(_), _) => halt_with("a cell whose key is unknown or out of order enters the list"),
            (None, true) => Ok(()),
            (None, false) => {
                if let V::Object(c) = on
                    && self.stops(list, *c) != Some(true)
                {
                    return halt_with("the list crosses the key at an unknown place");
                }
                self.crossing = Some((pred, on.clone()));
                Ok(())
            }
        }
    }
    /// The list in a state where everything it needs is decided.
    pub(super) fn find_spine(&mut self) -> Result<(), Halt> {
        let Some(list) = self.world.spine.clone() else { return Ok(()) };
        let V::Object(root) = *self.root(&list) else { return halt_with("the list may have no first object") };
        let mut seen = vec![root];
        let (mut pred, mut succ) = (root, None);
        let mut at = self.follow(&list, root)?;
        while let V::Object(d) = at {
            if seen.contains(&d) {
                return halt_with("the list may have a cycle at the start");
            }
            seen.push(d);
            if succ.is_none() {
                match self.stops(&list, d) {
                    None => return halt_with("the list starts with unknown keys"),
                    Some(true) => succ = Some(d),
                    Some(false) => pred = d,
                }
            }
            let status = if succ.is_some() { Status::After } else { Status::Before };
            at = self.follow(&list, d)?;
            self.place(d, status);
        }
        if at != V::Null {
            return halt_with("the end of the list is unknown at the start");
        }
        self.place(root, Status::Before);
        self.crossing = Some((V::Object(pred), succ.map_or(V::Null, V::Object)));
        Ok(())
    }
}
