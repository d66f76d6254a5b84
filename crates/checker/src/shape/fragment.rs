//! A fragment of a concrete state: the cells that have been looked at, and two threads' views as constraints on the rest.
//!
//! In: the view of the thread that moves (`OWN`) and, in a pair, the view of another thread (`PEER`). Each cell of the fragment
//! is one concrete cell; it knows which cell or group of each view it is. A field that has not been looked at is open; `candidates` are
//! the values that both views allow for it, and deciding it may bring a new cell into the fragment. Nothing is joined or masked here.
//! The definition followed is the concretisation in `docs/decisions/010-shape-evidence.md`.

use evidence::views::{CellOwner, Status, Val, View, ViewCell};
use logic::{ClassId, Node, Op, SortKind};
use program::{Program, PropertyId, Scope, VarId};

/// Threads in sight: the one that moves, the one that looks on, any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    Own,
    Peer,
    Third,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyOrder {
    Below,
    Equal,
    Above,
}

/// A concrete value, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum V {
    Any,
    Null,
    Object(usize),
    /// The value that a cell stands for.
    Datum(usize),
    /// A call's argument that no cell stands for.
    Argument(Who),
    Number(i128),
    Bool(bool),
    Variant(u32),
    /// The id of a thread.
    Id(Who),
    Key(KeyOrder),
    /// Of a variable: one of the values that the thread's view lists in `open`, not decided yet.
    Open,
}

/// A field of a cell of the fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FieldSlot {
    Open,
    Is(V),
}

/// The successor in the specification's sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Successor {
    Open,
    AsLink,
    /// Different from the link.
    Is(V),
}

/// What a cell is in a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Image {
    Cell(usize),
    Group(usize),
}

#[derive(Clone, Debug)]
pub(crate) struct FragmentCell {
    pub class: ClassId,
    /// `None`: published.
    pub owner: Option<Who>,
    pub status: Status,
    pub fields: Vec<FieldSlot>,
    pub successor: Successor,
    /// In the view of the thread that moves, in the view of the other.
    pub image: [Option<Image>; 2],
    /// Known before the step: at most one published cell links to it.
    pub single_predecessor: bool,
    /// Known before the step to the thread that moves, to the other: no thread but that one refers to it.
    pub unshared: [bool; 2],
    /// Left the list since the thread last looked: to the thread that moves, to the other.
    pub left: [bool; 2],
    /// Made by this step.
    pub new: bool,
    /// Before the step it was published and linked to this cell, which had a single predecessor: no field that the step has not written leads there.
    pub(crate) linked: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FragmentProgress {
    No,
    Pure(Vec<V>),
    Changed(Vec<V>),
}

#[derive(Clone, Debug)]
pub(crate) struct Fragment<'a> {
    pub world: &'a FragmentWorld<'a>,
    pub sides: [Option<NumberedView<'a>>; 2],
    pub items: Vec<FragmentCell>,
    /// Shared variables and those of the thread that moves, by id.
    pub vars: Vec<V>,
    /// Variables of the other thread, by id.
    pub(crate) peer: Vec<V>,
    pub ends: Option<(V, V)>,
    pub member: Option<bool>,
    pub crossing: Option<(V, V)>,
    /// For each thread: nothing counts as having left the list any more.
    pub looked: [bool; 2],
    /// Of the thread that moves and of the other.
    pub done: [FragmentProgress; 2],
    pub witnessed: [u32; 2],
}

/// A view with the kinds of its cells and groups as numbers: equal numbers, equal kinds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NumberedView<'a> {
    pub view: &'a View,
    /// Of the kinds that all threads agree on.
    pub cells: &'a [u32],
    pub groups: &'a [u32],
    /// Of the groups, as this thread knows them.
    pub full: &'a [u32],
}

/// What every fragment needs to know of the program.
#[derive(Debug)]
pub(crate) struct FragmentWorld<'a> {
    pub program: &'a Program,
    /// For each class: its fields, and the position of its link.
    pub fields: Vec<Vec<VarId>>,
    pub links: Vec<Option<usize>>,
    pub spine: Option<super::spine_in_class::SpineInClass>,
    /// At the start: fields that lead to initial objects or null only.
    pub closed: Vec<VarId>,
    /// Fields of which every view allows 0 wherever it allows the id of another thread, and the other way round.
    pub invisible: Vec<VarId>,
    /// Views say which cells one thread alone refers to.
    pub takes: bool,
    /// That nothing is lost, where it is claimed.
    pub leak: Option<PropertyId>,
    /// The shared variables that lead to every published cell then.
    pub roots: Vec<VarId>,
}

impl<'a> FragmentWorld<'a> {
    pub(super) fn new(program: &'a Program) -> Self {
        let fields: Vec<Vec<VarId>> = program.classes.iter().map(|c| c.fields.clone()).collect();
        let links = program
            .classes
            .iter_enumerated()
            .map(|(id, c)| {
                let own = program.terms.sort(SortKind::Ref(id));
                c.fields.iter().position(|f| match program.terms.kind(program.vars[*f].sort) {
                    SortKind::Map(_, v) => v == own,
                    _ => false,
                })
            })
            .collect();
        Self {
            program,
            fields,
            links,
            spine: None,
            closed: Vec::new(),
            invisible: Vec::new(),
            takes: false,
            leak: None,
            roots: Vec::new(),
        }
    }
    /// Views say what becomes of references: who has them, or that none is lost.
    pub(super) fn exact(&self) -> bool {
        self.takes || self.leak.is_some()
    }
    pub(super) fn position(&self, class: ClassId, field: VarId) -> Option<usize> {
        self.fields[class.index()].iter().position(|f| *f == field)
    }
    /// Whether the field holds references.
    pub(crate) fn refers(&self, class: ClassId, field: usize) -> bool {
        matches!(self.program.terms.kind(self.entry_sort(class, field)), SortKind::Ref(_))
    }
    pub(super) fn entry_sort(&self, class: ClassId, field: usize) -> logic::Sort {
        let var = self.fields[class.index()][field];
        match self.program.terms.kind(self.program.vars[var].sort) {
            SortKind::Map(_, v) => v,
            _ => unreachable!("well-formed programs have maps as fields"),
        }
    }
}

/// A value a field may have: one that is there, or a cell not yet in the fragment, by its groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FieldCandidate {
    Value(V),
    New([Option<usize>; 2]),
}

/// What distinguishes groups: class, status, and the fields with one finite value.
pub(super) type Kind = (ClassId, Status, Vec<(usize, Val)>);

/// The kind as all threads agree on it.
pub(crate) fn common_kind(cell: &ViewCell) -> Kind {
    let (class, status, colours) = kind(cell);
    (class, status.common(), colours)
}

pub(super) fn kind(cell: &ViewCell) -> Kind {
    let finite = |v: &Val| matches!(v, Val::Bool(_) | Val::Below | Val::Equal | Val::Above);
    let colours = cell.fields.iter().enumerate().filter_map(|(i, vs)| match vs[..] {
        [v] if finite(&v) => Some((i, v)),
        _ => None,
    });
    (cell.class, cell.status, colours.collect())
}

impl<'a> Fragment<'a> {
    pub(super) fn known(&self, image: Image, side: usize) -> &'a ViewCell {
        let view = self.sides[side].expect("an image is in a view that is there").view;
        match image {
            Image::Cell(i) => &view.cells[i],
            Image::Group(g) => &view.groups[g],
        }
    }
    /// Brings a cell of the views into the fragment.
    pub(super) fn add(&mut self, image: [Option<Image>; 2]) -> usize {
        let side = usize::from(image[0].is_none());
        let cell = self.known(image[side].expect("a cell is known to one side"), side);
        let single_predecessor = (0..2).any(|s| image[s].is_some_and(|i| self.known(i, s).single_predecessor));
        let who = if side == 0 { Who::Own } else { Who::Peer };
        self.items.push(FragmentCell {
            class: cell.class,
            owner: (cell.owner == CellOwner::Mine).then_some(who),
            status: cell.status.common(),
            left: [0, 1].map(|s| !self.looked[s] && image[s].is_some_and(|i| self.known(i, s).status == Status::Left)),
            fields: vec![FieldSlot::Open; cell.fields.len()],
            successor: Successor::Open,
            image,
            single_predecessor,
            unshared: [0, 1].map(|s| image[s].is_some_and(|i| self.known(i, s).unshared)),
            new: false,
            linked: None,
        });
        self.items.len() - 1
    }
    /// A value of a variable or field of one view, where it is one certain value. `sort` tells objects from the values they stand for.
    pub(super) fn translate(&self, val: Val, side: usize, place: &[usize], reference: bool) -> V {
        match val {
            Val::Null => V::Null,
            Val::Cell(i) if reference => V::Object(place[i as usize]),
            Val::Cell(i) => V::Datum(place[i as usize]),
            Val::Argument => V::Argument(if side == 0 { Who::Own } else { Who::Peer }),
            Val::Number(n) => V::Number(n),
            Val::Bool(b) => V::Bool(b),
            Val::Variant(v) => V::Variant(v),
            Val::Free => V::Number(0),
            Val::Me => V::Id(if side == 0 { Who::Own } else { Who::Peer }),
            Val::Other => V::Id(Who::Third),
            Val::Below => V::Key(KeyOrder::Below),
            Val::Equal => V::Key(KeyOrder::Equal),
            Val::Above => V::Key(KeyOrder::Above),
            Val::Any | Val::Group(_) | Val::Itself | Val::AsLink => V::Any,
        }
    }
    /// Whether one view's list of values allows the candidate for a field of the cell with that image.
    fn allows(&self, side: usize, list: &[Val], item: Option<usize>, candidate: &FieldCandidate) -> bool {
        if list.contains(&Val::Any) {
            return true;
        }
        let here = |d: usize| match self.items[d].image[side] {
            Some(Image::Cell(i)) => list.contains(&Val::Cell(i as u16)),
            Some(Image::Group(g)) => list.contains(&Val::Group(g as u16)),
            None => false,
        };
        let (me, other) = if side == 0 { (Who::Own, Who::Peer) } else { (Who::Peer, Who::Own) };
        match candidate {
            FieldCandidate::New(groups) => groups[side].is_some_and(|g| list.contains(&Val::Group(g as u16))),
            FieldCandidate::Value(v) => match v {
                V::Any | V::Open => false,
                V::Null => list.contains(&Val::Null),
                V::Object(d) => here(*d),
                V::Datum(d) => {
                    if Some(*d) == item {
                        list.contains(&Val::Itself)
                    } else {
                        here(*d)
                    }
                }
                V::Argument(_) => false,
                V::Number(n) => list.contains(&Val::Number(*n)) || (*n == 0 && list.contains(&Val::Free)),
                V::Bool(b) => list.contains(&Val::Bool(*b)),
                V::Variant(x) => list.contains(&Val::Variant(*x)),
                V::Id(w) if *w == me => list.contains(&Val::Me),
                V::Id(w) => {
                    debug_assert!(*w == other || *w == Who::Third, "three kinds of threads");
                    list.contains(&Val::Other)
                }
                V::Key(KeyOrder::Below) => list.contains(&Val::Below),
                V::Key(KeyOrder::Equal) => list.contains(&Val::Equal),
                V::Key(KeyOrder::Above) => list.contains(&Val::Above),
            },
        }
    }
    /// All candidates of one view's list.
    fn expand(&self, side: usize, list: &[Val], item: Option<usize>, reference: bool) -> Vec<FieldCandidate> {
        let mut out = Vec::new();
        let refer = |d: usize| FieldCandidate::Value(if reference { V::Object(d) } else { V::Datum(d) });
        for val in list {
            match val {
                Val::Cell(i) => {
                    let found = self.items.iter().position(|x| x.image[side] == Some(Image::Cell(*i as usize)));
                    out.extend(found.map(refer));
                }
                Val::Group(g) => {
                    let g = *g as usize;
                    let members = self.items.iter().enumerate().filter(|(_, x)| x.image[side] == Some(Image::Group(g)));
                    // A cell's own value is `Itself`; a group there is another cell's.
                    out.extend(members.filter(|(d, _)| reference || Some(*d) != item).map(|(d, _)| refer(d)));
                    out.extend(self.new_members(side, g));
                }
                Val::Itself => out.extend(item.map(|d| FieldCandidate::Value(V::Datum(d)))),
                Val::Other => {
                    let other = if side == 0 { Who::Peer } else { Who::Own };
                    if self.sides[1 - side].is_some() {
                        out.push(FieldCandidate::Value(V::Id(other)));
                    }
                    out.push(FieldCandidate::Value(V::Id(Who::Third)));
                }
                Val::AsLink => {}
                v => out.push(FieldCandidate::Value(self.translate(*v, side, &[], reference))),
            }
        }
        out
    }
    /// Ways to be a cell that is not in the fragment yet and belongs to group `g` of one view.
    pub(crate) fn new_members(&self, side: usize, g: usize) -> Vec<FieldCandidate> {
        let other = 1 - side;
        let mut groups = [None, None];
        groups[side] = Some(g);
        let Some(view) = self.sides[other] else { return vec![FieldCandidate::New(groups)] };
        let wanted = self.sides[side].expect("the side is there").groups[g];
        let same = (0..view.groups.len()).filter(|h| view.groups[*h] == wanted);
        same.map(|h| {
            groups[other] = Some(h);
            FieldCandidate::New(groups)
        })
        .collect()
    }
    /// The values that everything known allows for an open field of a cell (or of any member of the groups given by `image`).
    pub(super) fn candidates(
        &self,
        item: Option<usize>,
        image: [Option<Image>; 2],
        class: ClassId,
        field: usize,
    ) -> Vec<FieldCandidate> {
        let reference = self.world.refers(class, field);
        let lists: Vec<(usize, &[Val])> =
            (0..2).filter_map(|s| image[s].map(|i| (s, self.known(i, s).fields[field].as_slice()))).collect();
        if lists.is_empty() {
            return self.at_start(class, field, reference);
        }
        let mut out = self.meet(&lists, item, reference);
        if self.world.links[class.index()] == Some(field) {
            let published = item.is_none_or(|i| self.items[i].owner.is_none());
            if published {
                out.retain(|c| !self.taken(c, item, class, field));
            }
            let status = item.map_or_else(|| self.status_of(image), |i| self.items[i].status);
            let as_link = match item.map(|i| &self.items[i].successor) {
                Some(Successor::AsLink) => true,
                Some(Successor::Is(_)) => false,
                _ => (0..2).any(|s| image[s].is_some_and(|i| self.known(i, s).successor == [Val::AsLink])),
            };
            if status == Status::In && as_link {
                out.retain(|c| self.may_follow(item, c));
            }
            if self.world.spine.as_ref().is_some_and(|l| l.class == class && l.link == field) {
                out.retain(|c| self.may_lead(item, status, c));
            }
        }
        if self.single() {
            out.retain(|c| self.exists(c));
        }
        if self.world.spine.is_some() {
            out.retain(|c| self.on_spine(c));
        }
        if let (true, Some(who)) = (reference, item.and_then(|i| self.items[i].owner)) {
            out.retain(|c| self.may_refer(who, c));
        }
        out
    }
    /// The sequence has at most one cell: its first is its last.
    pub(super) fn single(&self) -> bool {
        matches!(&self.ends, Some((first, last)) if first == last)
    }
    /// Where the sequence has at most one cell there is no other cell of it.
    pub(super) fn exists(&self, c: &FieldCandidate) -> bool {
        let first = |d: usize| matches!(&self.ends, Some((V::Datum(f), _)) if *f == d);
        match c {
            FieldCandidate::Value(V::Object(d) | V::Datum(d)) => self.items[*d].status != Status::In || first(*d),
            FieldCandidate::New(groups) => {
                let side = usize::from(groups[0].is_none());
                groups[side].is_none_or(|g| self.known(Image::Group(g), side).status != Status::In)
            }
            FieldCandidate::Value(_) => true,
        }
    }
    /// Whether the sequence can be as the fragment says.
    pub(super) fn possible(&self) -> bool {
        self.spine_possible()
            && (!self.single() || (0..self.items.len()).all(|d| self.exists(&FieldCandidate::Value(V::Object(d)))))
    }
    /// Fields of the objects that are there from the start.
    fn at_start(&self, class: ClassId, field: usize, reference: bool) -> Vec<FieldCandidate> {
        let var = self.world.fields[class.index()][field];
        let everywhere = self.world.program.vars[var].initial.and_then(|t| self.world.program.terms.app(t));
        if let Some((Op::ConstMap(_), args)) = everywhere
            && let Node::Num(n, _) = self.world.program.terms.node(args[0])
        {
            return vec![FieldCandidate::Value(V::Number(n))];
        }
        if !reference || !self.world.closed.contains(&var) {
            return vec![FieldCandidate::Value(V::Any)];
        }
        let SortKind::Ref(to) = self.world.program.terms.kind(self.world.entry_sort(class, field)) else {
            return vec![FieldCandidate::Value(V::Any)];
        };
        let cells = self.items.iter().enumerate().filter(|(_, x)| x.class == to);
        let mut out: Vec<FieldCandidate> = cells.map(|(d, _)| FieldCandidate::Value(V::Object(d))).collect();
        out.push(FieldCandidate::Value(V::Null));
        out
    }
    fn status_of(&self, image: [Option<Image>; 2]) -> Status {
        let side = usize::from(image[0].is_none());
        image[side].map_or(Status::Never, |i| self.known(i, side).status.common())
    }
    /// Values that every list allows; a list with `Any` allows everything.
    pub(super) fn meet(&self, lists: &[(usize, &[Val])], item: Option<usize>, reference: bool) -> Vec<FieldCandidate> {
        let bound = lists.iter().find(|(_, l)| !l.contains(&Val::Any)).or(lists.first());
        let Some((side, list)) = bound else { return Vec::new() };
        let mut out: Vec<FieldCandidate> = Vec::new();
        for c in self.expand(*side, list, item, reference) {
            if lists.iter().all(|(s, l)| self.allows(*s, l, item, &c)) && !out.contains(&c) {
                out.push(c);
            }
        }
        if list.contains(&Val::Any) {
            out.push(FieldCandidate::Value(V::Any));
        }
        out
    }
    pub(super) fn successors(&self, item: usize) -> Vec<FieldCandidate> {
        let image = self.items[item].image;
        let lists: Vec<(usize, &[Val])> =
            (0..2).filter_map(|s| image[s].map(|i| (s, self.known(i, s).successor.as_slice()))).collect();
        self.meet(&lists, Some(item), true)
    }
    /// Whether every view lets the successor be the link.
    pub(crate) fn may_agree(&self, image: [Option<Image>; 2]) -> bool {
        (0..2).all(|s| image[s].is_none_or(|i| self.known(i, s).successor.contains(&Val::AsLink)))
    }
    /// A cell with a single predecessor whose one predecessor is known is no other cell's successor. Fields that are still open are as they were before the step, so what
    /// was known then holds of them too.
    fn taken(&self, c: &FieldCandidate, item: Option<usize>, class: ClassId, link: usize) -> bool {
        let FieldCandidate::Value(V::Object(d)) = c else { return false };
        self.has_other_predecessor(*d, item, class, link)
            || self.items.iter().enumerate().any(|(q, x)| Some(q) != item && x.linked == Some(*d))
    }
    fn has_other_predecessor(&self, d: usize, item: Option<usize>, class: ClassId, link: usize) -> bool {
        self.items[d].single_predecessor
            && self.items.iter().enumerate().any(|(q, x)| {
                Some(q) != item
                    && x.class == class
                    && x.owner.is_none()
                    && x.fields[link] == FieldSlot::Is(V::Object(d))
            })
    }
    /// What the link of a cell of the sequence may be where it agrees with the sequence.
    fn may_follow(&self, item: Option<usize>, c: &FieldCandidate) -> bool {
        let Some((first, last)) = &self.ends else { return true };
        let end = item.is_some_and(|i| *last == V::Datum(i));
        match c {
            FieldCandidate::Value(V::Any) => true,
            FieldCandidate::Value(V::Null) => end,
            FieldCandidate::Value(V::Object(d)) => {
                !end && self.items[*d].status == Status::In && *first != V::Datum(*d) && Some(*d) != item
            }
            FieldCandidate::New(groups) => {
                let side = usize::from(groups[0].is_none());
                !end && groups[side].is_some_and(|g| self.known(Image::Group(g), side).status == Status::In)
            }
            FieldCandidate::Value(_) => false,
        }
    }
    /// The groups that cells outside the fragment may be in, in both views.
    pub(super) fn outside(&self) -> Vec<([Option<Image>; 2], ClassId)> {
        let side = usize::from(self.sides[0].is_none());
        let Some(NumberedView { view, .. }) = self.sides[side] else { return Vec::new() };
        let single = self.single();
        (0..view.groups.len())
            .flat_map(|g| self.new_members(side, g))
            .filter(|c| (!single || self.exists(c)) && self.on_spine(c))
            .filter_map(|c| match c {
                FieldCandidate::New(groups) => {
                    Some(([groups[0].map(Image::Group), groups[1].map(Image::Group)], view.groups[groups[side]?].class))
                }
                FieldCandidate::Value(_) => None,
            })
            .collect()
    }
    /// The value of a candidate; a new cell is brought in.
    pub(crate) fn realise(&mut self, candidate: FieldCandidate, reference: bool) -> V {
        match candidate {
            FieldCandidate::Value(v) => v,
            FieldCandidate::New(groups) => {
                let d = self.add([groups[0].map(Image::Group), groups[1].map(Image::Group)]);
                if reference { V::Object(d) } else { V::Datum(d) }
            }
        }
    }
    /// All ways to decide an open field (or, with `None`, the successor) of a cell.
    pub(super) fn decide(&self, item: usize, field: Option<usize>) -> Vec<Fragment<'a>> {
        let mut out = Vec::new();
        match field {
            Some(f) => {
                let class = self.items[item].class;
                let reference = self.world.refers(class, f);
                for c in self.candidates(Some(item), self.items[item].image, class, f) {
                    let mut next = self.clone();
                    let v = next.realise(c, reference);
                    next.items[item].fields[f] = FieldSlot::Is(v);
                    out.push(next);
                }
            }
            None => {
                if self.may_agree(self.items[item].image) {
                    let mut next = self.clone();
                    next.items[item].successor = Successor::AsLink;
                    out.push(next);
                }
                for c in self.successors(item) {
                    let mut next = self.clone();
                    let v = next.realise(c, true);
                    next.items[item].successor = Successor::Is(v);
                    out.push(next);
                }
            }
        }
        out.retain(Fragment::consistent);
        out
    }
    /// Whether there is such a state at all, as far as links and the sequence tell.
    pub(crate) fn feasible(&self) -> bool {
        self.consistent()
            && self.items.iter().enumerate().all(|(i, x)| match self.world.links[x.class.index()] {
                Some(link) if x.fields[link] == FieldSlot::Open => {
                    !self.candidates(Some(i), x.image, x.class, link).is_empty()
                }
                _ => true,
            })
    }
    /// The values that an open variable of a thread may have. It has not been assigned since both views were taken, so it refers to what was then the cell or a
    /// member of the group.
    pub(crate) fn variable_candidates(&self, side: usize, var: VarId) -> Vec<FieldCandidate> {
        let view = self.sides[side].map(|s| s.view);
        let open = view.into_iter().flat_map(|v| &v.open).find(|(v, _)| *v == var);
        let mut out = self.expand(side, open.map_or(&[][..], |(_, list)| list), None, true);
        if self.single() {
            out.retain(|c| self.exists(c));
        }
        out.retain(|c| self.on_spine(c));
        out
    }
    /// All ways to decide an open variable of the thread that moves.
    pub(super) fn decide_variable(&self, var: VarId) -> Vec<Fragment<'a>> {
        let decided = self.variable_candidates(0, var).into_iter().map(|c| {
            let mut next = self.clone();
            next.vars[var.index()] = next.realise(c, true);
            next
        });
        decided.filter(Fragment::consistent).collect()
    }
    /// Facts that decided fields must satisfy together: at most one published predecessor of a cell with a single predecessor; the sequence's own shape.
    pub(crate) fn consistent(&self) -> bool {
        if !self.possible() {
            return false;
        }
        for (q, x) in self.items.iter().enumerate() {
            let Some(link) = self.world.links[x.class.index()] else { continue };
            let FieldSlot::Is(v) = &x.fields[link] else { continue };
            if let (V::Object(d), None) = (v, x.owner)
                && self.has_other_predecessor(*d, Some(q), x.class, link)
            {
                return false;
            }
            let on_list = self.world.spine.as_ref().is_some_and(|l| l.class == x.class);
            if on_list && !self.may_lead(Some(q), x.status, &FieldCandidate::Value(v.clone())) {
                return false;
            }
            let explicit_same = matches!(&x.successor, Successor::Is(s) if s == v && *v != V::Any);
            if x.status == Status::In
                && (explicit_same
                    || (x.successor == Successor::AsLink
                        && !self.may_follow(Some(q), &FieldCandidate::Value(v.clone()))))
            {
                return false;
            }
        }
        true
    }
    /// The fragment before any field is looked at: the named cells of both views, laid over each other in every possible way.
    pub(super) fn start(
        world: &'a FragmentWorld<'a>,
        own: NumberedView<'a>,
        peer: Option<NumberedView<'a>>,
    ) -> Vec<Fragment<'a>> {
        let mut forced = Vec::new();
        if let Some(peer) = peer {
            match shared_cells(world, own.view, peer.view) {
                Some(pairs) => forced = pairs,
                None => return Vec::new(),
            }
        }
        let n = world.program.vars.len();
        let mut f = Fragment {
            world,
            sides: [Some(own), peer],
            items: Vec::new(),
            vars: vec![V::Any; n],
            peer: if peer.is_some() { vec![V::Any; n] } else { Vec::new() },
            ends: None,
            member: own.view.member,
            crossing: None,
            looked: [false, false],
            done: [FragmentProgress::No, FragmentProgress::No],
            witnessed: [own.view.witnessed, peer.map_or(0, |p| p.view.witnessed)],
        };
        for i in 0..own.view.cells.len() {
            f.add([Some(Image::Cell(i)), None]);
        }
        let place: Vec<usize> = (0..own.view.cells.len()).collect();
        f.fill(0, own.view, &place);
        let Some(peer) = peer else { return if f.possible() { vec![f] } else { Vec::new() } };
        for (d, c) in &forced {
            if own.cells[*d] != peer.cells[*c] || own.view.cells[*d].owner != peer.view.cells[*c].owner {
                return Vec::new();
            }
            f.lay(*d, Image::Cell(*c), peer.view);
        }
        let mut out = Vec::new();
        f.overlay(peer, &forced, &mut Vec::new(), &mut out);
        out
    }
    fn reference(&self, var: VarId) -> bool {
        matches!(self.world.program.terms.kind(self.world.program.vars[var].sort), SortKind::Ref(_))
    }
    /// Sets the variables of one side from its view.
    fn fill(&mut self, side: usize, view: &View, place: &[usize]) {
        for (var, val) in &view.vars {
            let v = self.translate(*val, side, place, self.reference(*var));
            if side == 0 || self.world.program.vars[*var].scope == Scope::Shared {
                // In a pair a lock that the peer holds is the peer's; shared values were compared before.
                if side == 0 || self.vars[var.index()] == V::Any || v == V::Id(Who::Peer) {
                    self.vars[var.index()] = v;
                }
            } else {
                self.peer[var.index()] = v;
            }
        }
        for (var, _) in &view.open {
            let store = if side == 0 { &mut self.vars } else { &mut self.peer };
            store[var.index()] = V::Open;
        }
        if let Some((a, b)) = view.ends {
            let ends = (self.translate(a, side, place, false), self.translate(b, side, place, false));
            self.ends = Some(ends);
        }
        if let Some((a, b)) = view.crossing {
            self.crossing = Some((self.translate(a, side, place, true), self.translate(b, side, place, true)));
        }
        let results = |vs: &[Val]| vs.iter().map(|v| self.translate(*v, side, place, false)).collect::<Vec<_>>();
        self.done[side] = match &view.done {
            evidence::views::OperationProgress::No => FragmentProgress::No,
            evidence::views::OperationProgress::Pure(vs) => FragmentProgress::Pure(results(vs)),
            evidence::views::OperationProgress::Changed(vs) => FragmentProgress::Changed(results(vs)),
        };
    }
    /// Lays the peer's named cells, from position `place.len()` on, over the fragment.
    fn overlay(
        &self,
        peer: NumberedView<'a>,
        forced: &[(usize, usize)],
        place: &mut Vec<usize>,
        out: &mut Vec<Fragment<'a>>,
    ) {
        let at = place.len();
        if at == peer.view.cells.len() {
            let own = self.sides[0].expect("the thread that moves has a view").view.cells.len();
            self.complete(peer, place, own, out);
            return;
        }
        let cell = &peer.view.cells[at];
        if let Some((d, _)) = forced.iter().find(|(_, c)| *c == at) {
            place.push(*d);
            self.overlay(peer, forced, place, out);
            place.pop();
            return;
        }
        let wanted = peer.cells[at];
        if cell.owner == CellOwner::Published {
            let own = self.sides[0].expect("the thread that moves has a view");
            for d in 0..own.view.cells.len() {
                let x = &self.items[d];
                if x.image[1].is_none() && x.owner.is_none() && own.cells[d] == wanted {
                    let mut next = self.clone();
                    next.lay(d, Image::Cell(at), peer.view);
                    place.push(d);
                    next.overlay(peer, forced, place, out);
                    place.pop();
                }
            }
            for g in (0..own.groups.len()).filter(|g| own.groups[*g] == wanted) {
                let mut next = self.clone();
                let d = next.add([Some(Image::Group(g)), Some(Image::Cell(at))]);
                place.push(d);
                next.overlay(peer, forced, place, out);
                place.pop();
            }
        } else {
            let mut next = self.clone();
            let d = next.add([None, Some(Image::Cell(at))]);
            place.push(d);
            next.overlay(peer, forced, place, out);
            place.pop();
        }
    }
    /// The cell is that one of the peer's view.
    fn lay(&mut self, d: usize, image: Image, peer: &View) {
        let cell = match image {
            Image::Cell(i) => &peer.cells[i],
            Image::Group(g) => &peer.groups[g],
        };
        self.items[d].image[1] = Some(image);
        self.items[d].single_predecessor |= cell.single_predecessor;
        self.items[d].unshared[1] = cell.unshared;
        self.items[d].left[1] = cell.status == Status::Left;
    }
    /// Completes an overlay: every published cell that only the mover names, among the first `rest`, is in a group of the peer, every cell has a link.
    fn complete(&self, peer: NumberedView<'a>, place: &[usize], rest: usize, out: &mut Vec<Fragment<'a>>) {
        let own = self.sides[0].expect("the thread that moves has a view");
        let open = (0..rest).rev().find(|d| self.items[*d].owner.is_none() && self.items[*d].image[1].is_none());
        let Some(d) = open else {
            let mut filled = self.clone();
            filled.fill(1, peer.view, place);
            out.extend(filled.with_known_ids(peer).into_iter().filter(Fragment::may_exist));
            return;
        };
        for g in (0..peer.groups.len()).filter(|g| peer.groups[*g] == own.cells[d]) {
            let mut next = self.clone();
            next.lay(d, Image::Group(g), peer.view);
            next.complete(peer, place, d, out);
        }
    }
    /// A view says of an id only that it is another thread's. Of two threads in a pair, each may be that other thread to the other: every id
    /// that only one of the two views speaks of is its peer's in one fragment and a third thread's in another.
    fn with_known_ids(self, peer: NumberedView<'a>) -> Vec<Fragment<'a>> {
        let own = self.sides[0].expect("the thread that moves has a view").view;
        let shared = |v: &VarId| self.world.program.vars[*v].scope == Scope::Shared;
        let silent = |view: &View, v: &VarId| !view.vars.iter().any(|(w, x)| w == v && *x != Val::Any);
        let of_own = own.vars.iter().filter(|(v, x)| *x == Val::Other && (!shared(v) || silent(peer.view, v)));
        let of_peer = peer.view.vars.iter().filter(|(v, x)| *x == Val::Other && shared(v) && silent(own, v));
        let open: Vec<(VarId, Who)> =
            of_own.map(|(v, _)| (*v, Who::Peer)).chain(of_peer.map(|(v, _)| (*v, Who::Own))).collect();
        let mut out = vec![self];
        for (var, who) in open {
            let mut known = out.clone();
            known.iter_mut().for_each(|f| f.vars[var.index()] = V::Id(who));
            out.extend(known);
        }
        out
    }
    /// Whether there is a state that both views hold in, as far as the fragment tells.
    fn may_exist(&self) -> bool {
        // A cell that both know has a value in each field; the link of any cell has one.
        self.possible()
            && self.apart()
            && self.items.iter().enumerate().all(|(i, x)| {
                let both = x.image.iter().all(Option::is_some);
                let link = self.world.links[x.class.index()];
                let mut asked = (0..x.fields.len()).filter(|k| both || link == Some(*k));
                asked.all(|k| !self.candidates(Some(i), x.image, x.class, k).is_empty())
            })
    }
}

/// Compares what both views say of the shared store; which named cells are then one (the mover's, the peer's). `None`: they contradict.
fn shared_cells(world: &FragmentWorld<'_>, own: &View, peer: &View) -> Option<Vec<(usize, usize)>> {
    if own.member != peer.member {
        return None;
    }
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    let mut meet = |a: Val, b: Val| -> bool {
        match (a, b) {
            (Val::Any, _) | (_, Val::Any) => true,
            (Val::Cell(x), Val::Cell(y)) => {
                let (x, y) = (x as usize, y as usize);
                if pairs.contains(&(x, y)) {
                    return true;
                }
                if pairs.iter().any(|(p, q)| *p == x || *q == y) {
                    return false;
                }
                pairs.push((x, y));
                true
            }
            (Val::Me, Val::Other) | (Val::Other, Val::Me | Val::Other) => true,
            (Val::Me, Val::Me) => false,
            (a, b) => a == b,
        }
    };
    let mut at = 0;
    for (var, val) in &own.vars {
        if world.program.vars[*var].scope != Scope::Shared {
            continue;
        }
        while at < peer.vars.len() && peer.vars[at].0 < *var {
            at += 1;
        }
        if at < peer.vars.len() && peer.vars[at].0 == *var && !meet(*val, peer.vars[at].1) {
            return None;
        }
    }
    if let (Some((a, b)), Some((c, d))) = (own.ends, peer.ends)
        && (!meet(a, c) || !meet(b, d))
    {
        return None;
    }
    if let (Some((a, b)), Some((c, d))) = (own.crossing, peer.crossing)
        && (!meet(a, c) || !meet(b, d))
    {
        return None;
    }
    Some(pairs)
}
