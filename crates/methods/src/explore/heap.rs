//! Heaps up to renumbering: objects are numbered in the order in which they are reached from variables, and objects
//! that nothing reaches are forgotten.
//!
//! In: the program and layout. Out: a representative of a packed state. References are only compared for
//! equality, so a renumbering maps runs to runs; an object that nothing reaches can be reached again by nothing, and a
//! new object takes a number that is not in use. This holds only where the set of live objects is used for nothing but
//! membership and `new` and `free`, where no formula ranges over all objects or compares whole fields, and where every
//! field is a map from references to plain values; otherwise the reduction refuses.

use super::guess::roots;
use super::layout::{BitField, Layout, LevelKeys, OPEN_VALUE, ScalarSort, StorageShape};
use logic::{ClassId, Node, Op, SortKind, Term};
use program::{Program, VarId};
use rustc_hash::FxHashSet;

#[derive(Clone, Debug, Default)]
pub(crate) struct HeapLayout {
    classes: Vec<Fields>,
    /// Fields of variables that hold references, with the class, in the order in which they are followed.
    held: Vec<(usize, usize)>,
    /// Sets of references: their members are reached.
    sets: Vec<HeapRow>,
    slots: Vec<BitField>,
    /// Why heaps are not renumbered.
    pub refused: Option<String>,
}

/// What belongs to the objects of one class.
#[derive(Clone, Debug, Default)]
struct Fields {
    most: usize,
    live: Option<HeapRow>,
    rows: Vec<HeapRow>,
}

/// An array over the objects of a class.
#[derive(Clone, Debug)]
struct HeapRow {
    class: usize,
    first: usize,
    keys: LevelKeys,
    default: i64,
    /// The class its entries refer to.
    holds: Option<usize>,
}

impl HeapRow {
    fn slot(&self, object: usize) -> Option<usize> {
        self.keys.position(object as i64).map(|at| self.first + at)
    }
}

impl HeapLayout {
    pub(crate) fn none() -> Self {
        Self::default()
    }
    pub(crate) fn is_on(&self) -> bool {
        !self.classes.is_empty()
    }
    pub(crate) fn of(program: &Program, layout: &Layout) -> Self {
        if program.classes.is_empty() {
            return Self::none();
        }
        let made = if layout.interned {
            Err("some values have no regular shape".to_owned())
        } else {
            plain_use(program).and_then(|()| Self::build(program, layout))
        };
        made.unwrap_or_else(|why| Self { refused: Some(why), ..Self::none() })
    }
    fn build(program: &Program, layout: &Layout) -> Result<Self, String> {
        let mut out = Self { slots: layout.slots.clone(), ..Self::default() };
        let class = |c: ClassId| c.index();
        out.classes = (0..program.terms.class_count()).map(|_| Fields::default()).collect();
        let lives: FxHashSet<VarId> = program.classes.iter().map(|c| c.live).collect();
        let mut all: Vec<(VarId, usize)> = layout.shared.clone();
        for place in &layout.instances {
            let mut locals: Vec<(VarId, usize)> = place.locals.iter().map(|(v, s)| (*v, *s)).collect();
            locals.sort_unstable();
            all.extend(locals);
        }
        for (var, first) in all {
            let plan = layout.plan_of(first);
            let holds = match plan.leaf {
                ScalarSort::Ref(c) => Some(class(c)),
                _ => None,
            };
            let keyed = plan.key_sorts.iter().any(|k| matches!(k, ScalarSort::Ref(_)));
            match (&plan.shape, keyed) {
                (StorageShape::Array(levels), true) => {
                    let ([keys], [ScalarSort::Ref(c)]) = (levels.as_slice(), plan.key_sorts.as_slice()) else {
                        return Err("a map has references among several keys".into());
                    };
                    let row = HeapRow { class: class(*c), first, keys: keys.clone(), default: plan.default, holds };
                    let fields = &mut out.classes[class(*c)];
                    fields.most = fields.most.max((0..keys.len()).map(|i| keys.key(i)).max().unwrap_or(0) as usize);
                    match program.terms.kind(plan.sort) {
                        SortKind::Set(_) if lives.contains(&var) => fields.live = Some(row),
                        SortKind::Set(_) => out.sets.push(row),
                        _ => fields.rows.push(row),
                    }
                }
                (_, false) => {
                    if let Some(c) = holds {
                        let from = usize::from(matches!(plan.shape, StorageShape::Sequence(_)));
                        out.held.extend((first + from..first + plan.slots()).map(|s| (s, c)));
                    }
                }
                _ => return Err("a value that is no map is keyed by references".into()),
            }
        }
        Ok(out)
    }
    /// Replaces a state by its representative.
    pub(crate) fn canonical<const W: usize>(&self, words: &mut [u64; W]) {
        let old = *words;
        let get = |slot: usize| self.slots[slot].get(&old);
        // new[class][old number], 0 where not reached.
        let mut new: Vec<Vec<usize>> = self.classes.iter().map(|c| vec![0; c.most + 2]).collect();
        let mut queue: Vec<(usize, usize)> = Vec::new();
        let mut counts = vec![0; self.classes.len()];
        let mut visit = |class: usize, number: i64, queue: &mut Vec<(usize, usize)>| {
            if number <= 0 {
                return;
            }
            let n = number as usize;
            if new[class].len() <= n {
                new[class].resize(n + 1, 0);
            }
            if new[class][n] == 0 {
                counts[class] += 1;
                new[class][n] = counts[class];
                queue.push((class, n));
            }
        };
        for (slot, class) in &self.held {
            visit(*class, get(*slot), &mut queue);
        }
        for set in &self.sets {
            for at in 0..set.keys.len() {
                if get(set.first + at) == 1 {
                    visit(set.class, set.keys.key(at), &mut queue);
                }
            }
        }
        let mut next = 0;
        while next < queue.len() {
            let (class, n) = queue[next];
            next += 1;
            for row in &self.classes[class].rows {
                if let (Some(holds), Some(slot)) = (row.holds, row.slot(n)) {
                    visit(holds, get(slot), &mut queue);
                }
            }
        }
        if new.iter().all(|c| c.iter().enumerate().all(|(from, to)| from == *to)) {
            return;
        }
        let renamed = |class: Option<usize>, value: i64| match class {
            Some(c) if value > 0 && value != OPEN_VALUE => new[c].get(value as usize).map_or(value, |n| *n as i64),
            _ => value,
        };
        let mut put = |slot: usize, value: i64| {
            let s = &self.slots[slot];
            if let Some(code) = s.encode(value) {
                s.put(words, code);
            }
        };
        for (slot, class) in &self.held {
            put(*slot, renamed(Some(*class), get(*slot)));
        }
        let rows = self.classes.iter().flat_map(|c| c.rows.iter().chain(&c.live)).chain(&self.sets);
        for row in rows {
            for at in 0..row.keys.len() {
                // A row of null stays.
                if row.keys.key(at) > 0 {
                    put(row.first + at, row.default);
                }
            }
            for (from, to) in new[row.class].iter().enumerate().filter(|(_, to)| **to > 0) {
                if let (Some(old), Some(new)) = (row.slot(from), row.slot(*to)) {
                    put(new, renamed(row.holds, get(old)));
                }
            }
        }
    }
}

/// Whether references are used only in ways that do not depend on numbers.
fn plain_use(program: &Program) -> Result<(), String> {
    let t = &program.terms;
    let lives: Vec<_> = program.classes.iter().flat_map(|c| [program.now(c.live), program.next(c.live)]).collect();
    let has_refs = |s| {
        let mut todo = vec![s];
        while let Some(s) = todo.pop() {
            match t.kind(s) {
                SortKind::Ref(_) => return true,
                SortKind::Map(k, v) => todo.extend([k, v]),
                SortKind::Set(e) | SortKind::Seq(e) => todo.push(e),
                _ => {}
            }
        }
        false
    };
    let mut todo: Vec<Term> = roots(program);
    for thread in program.threads.iter() {
        for u in thread.code.actions.iter().flat_map(|a| &a.updates) {
            // `live := live + {r}` and `live := live - {o}` are `new` and `free`; the set itself is not looked at.
            if program.classes.iter().any(|c| c.live == u.var) {
                todo.retain(|x| *x != u.value);
                todo.extend(
                    elements(program, u.value, program.now(u.var)).ok_or("the live objects are computed with")?,
                );
            }
        }
    }
    let mut seen: FxHashSet<Term> = FxHashSet::default();
    while let Some(term) = todo.pop() {
        if !seen.insert(term) {
            continue;
        }
        if lives.contains(&term) {
            return Err("the live objects are looked at as a whole".into());
        }
        match t.node(term) {
            Node::Ref(_, n) if n > 0 => return Err("an object is named by its number".into()),
            Node::App(Op::Member, args) if lives.contains(&args[1]) => todo.push(args[0]),
            Node::App(Op::Eq, args) if matches!(t.kind(t.sort_of(args[0])), SortKind::Map(..)) => {
                if has_refs(t.sort_of(args[0])) {
                    return Err("whole fields are compared".into());
                }
                todo.extend(args.iter());
            }
            Node::App(_, args) => todo.extend(args.iter()),
            Node::Quant(_, bound, body) => {
                if bound.iter().any(|s| has_refs(t.symbol_sort(*s))) {
                    return Err("a formula ranges over all objects".into());
                }
                todo.push(body);
            }
            _ => {}
        }
    }
    Ok(())
}

/// The conditions and elements of an update of the live objects by single elements.
fn elements(program: &Program, value: Term, live: Term) -> Option<Vec<Term>> {
    let t = &program.terms;
    if value == live {
        return Some(Vec::new());
    }
    let (op, args) = t.app(value)?;
    let mut out = match op {
        Op::Insert => {
            let mut out = elements(program, args[1], live)?;
            out.push(args[0]);
            return Some(out);
        }
        Op::Union | Op::Minus => elements(program, args[0], live)?,
        Op::Ite => {
            let mut out = elements(program, args[1], live)?;
            out.extend(elements(program, args[2], live)?);
            out.push(args[0]);
            return Some(out);
        }
        _ => return None,
    };
    let mut set = args[1];
    loop {
        match t.app(set)? {
            (Op::Insert, inner) => {
                out.push(inner[0]);
                set = inner[1];
            }
            (Op::EmptySet(_), _) => return Some(out),
            _ => return None,
        }
    }
}
