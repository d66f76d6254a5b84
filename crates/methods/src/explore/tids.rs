//! Which integers are thread ids, and whether ids are used so that renaming them maps runs to runs.
//!
//! In: a program. Out: for each variable, whether its numbers are ids and which levels of its keys are; or why
//! ids are used in a way that tells one instance from another. Integer terms are sorted into classes: what is copied,
//! compared for equality, stored in one variable or used as a key of one map is of one class. Ids and numbers (what
//! is added, compared by size, cast, counted) must stay apart, and no literal in the class of ids may be the id of an
//! instance. This is a type inference over the whole program text; it does not look at values.

use super::guess::symbols;
use logic::{Node, Op, Sort, SortKind, Symbol, Term, Value};
use program::{Program, VarId};
use rustc_hash::FxHashMap;

/// For each variable, what of it are ids.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ids {
    leaf: FxHashMap<VarId, bool>,
    keys: FxHashMap<(VarId, usize), bool>,
}

impl Ids {
    pub(crate) fn leaf(&self, var: VarId) -> bool {
        self.leaf.get(&var).copied().unwrap_or(false)
    }
    pub(crate) fn key(&self, var: VarId, level: usize) -> bool {
        self.keys.get(&(var, level)).copied().unwrap_or(false)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum IdPlace {
    Id,
    Number,
    Leaf(VarId),
    Key(VarId, usize),
    Symbol(Symbol),
}

/// A term of an integer sort has a class; a map or set is a version of a variable at a depth, or built of literals.
#[derive(Clone, Copy)]
enum IdShape {
    Class(usize),
    Of(VarId, usize),
    /// Not an integer, or a map that is no variable's.
    Other,
}

struct Classes<'a> {
    p: &'a Program,
    vars: FxHashMap<Symbol, VarId>,
    places: FxHashMap<IdPlace, usize>,
    parent: Vec<usize>,
    literals: Vec<(usize, i128)>,
    seen: FxHashMap<Term, usize>,
    strange: Option<String>,
}

/// The ids of a program whose instances with several copies have these ids; the reason where renaming is not possible.
pub(crate) fn ids(p: &Program, renamed: &dyn Fn(i128) -> bool) -> Result<Ids, String> {
    let primed = p.vars.iter_enumerated().map(|(id, v)| (v.primed, id));
    let vars = symbols(p).into_iter().chain(primed).collect();
    let mut c = Classes {
        p,
        vars,
        places: FxHashMap::default(),
        parent: Vec::new(),
        literals: Vec::new(),
        seen: FxHashMap::default(),
        strange: None,
    };
    for root in super::guess::roots(p) {
        c.shape(root);
    }
    for t in p.threads.iter() {
        for a in t.code.actions.iter() {
            for u in &a.updates {
                let value = c.shape(u.value);
                c.same(IdShape::Of(u.var, 0), value, p.vars[u.var].sort);
            }
            if let Some(s) = &a.spawn {
                for (param, arg) in p.threads[s.thread].params.iter().zip(&s.args) {
                    let value = c.shape(*arg);
                    c.same(IdShape::Of(*param, 0), value, p.vars[*param].sort);
                }
                if let Some(into) = s.into {
                    let (a, b) = (c.place(IdPlace::Leaf(into)), c.place(IdPlace::Id));
                    c.join(a, b);
                }
            }
        }
    }
    for (id, v) in p.vars.iter_enumerated() {
        if let Some(t) = v.initial {
            if p.terms.free_symbols(t).contains(&p.tid) {
                let value = c.shape(t);
                c.same(IdShape::Of(id, 0), value, v.sort);
            } else if let Ok(value) = logic::eval::eval_term(&p.terms, t, &FxHashMap::default()) {
                c.initial(id, 0, &value);
            }
        }
    }
    if let Some(why) = c.strange {
        return Err(why);
    }
    let (id, number) = (c.place(IdPlace::Id), c.place(IdPlace::Number));
    if c.find(id) == c.find(number) {
        return Err("thread ids are used as numbers".into());
    }
    let literals = std::mem::take(&mut c.literals);
    for (at, n) in literals {
        if renamed(n) && c.find(at) == c.find(id) {
            return Err(format!("the thread id {n} is named"));
        }
    }
    let mut out = Ids::default();
    let places: Vec<(IdPlace, usize)> = c.places.iter().map(|(p, at)| (*p, *at)).collect();
    for (place, at) in places {
        let is = c.find(at) == c.find(id);
        match place {
            IdPlace::Leaf(v) => {
                out.leaf.insert(v, is);
            }
            IdPlace::Key(v, level) => {
                out.keys.insert((v, level), is);
            }
            _ => {}
        }
    }
    Ok(out)
}

impl Classes<'_> {
    fn place(&mut self, place: IdPlace) -> usize {
        if let Some(at) = self.places.get(&place) {
            return *at;
        }
        let at = self.parent.len();
        self.parent.push(at);
        self.places.insert(place, at);
        at
    }
    fn fresh(&mut self) -> usize {
        self.parent.push(self.parent.len());
        self.parent.len() - 1
    }
    fn find(&mut self, mut at: usize) -> usize {
        while self.parent[at] != at {
            self.parent[at] = self.parent[self.parent[at]];
            at = self.parent[at];
        }
        at
    }
    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.parent[a] = b;
    }
    fn number(&mut self, s: IdShape) {
        if let Some(at) = self.class(s) {
            let n = self.place(IdPlace::Number);
            self.join(at, n);
        }
    }
    fn class(&mut self, s: IdShape) -> Option<usize> {
        match s {
            IdShape::Class(at) => Some(at),
            IdShape::Of(v, _) => Some(self.place(IdPlace::Leaf(v))),
            IdShape::Other => None,
        }
    }
    fn depth(&self, var: VarId) -> usize {
        let mut sort = self.p.vars[var].sort;
        let mut depth = 0;
        loop {
            match self.p.terms.kind(sort) {
                SortKind::Map(_, v) => sort = v,
                SortKind::Set(_) => return depth + 1,
                _ => return depth,
            }
            depth += 1;
        }
    }
    /// Two terms of one sort hold the same kind of numbers.
    fn same(&mut self, a: IdShape, b: IdShape, sort: Sort) {
        match (a, b) {
            (IdShape::Of(v, i), IdShape::Of(w, j)) => {
                let (x, y) = (self.place(IdPlace::Leaf(v)), self.place(IdPlace::Leaf(w)));
                self.join(x, y);
                for k in 0..self.depth(v).saturating_sub(i) {
                    let (x, y) = (self.place(IdPlace::Key(v, i + k)), self.place(IdPlace::Key(w, j + k)));
                    self.join(x, y);
                }
            }
            (IdShape::Class(x), IdShape::Class(y)) => self.join(x, y),
            (IdShape::Of(v, _), IdShape::Class(y)) | (IdShape::Class(y), IdShape::Of(v, _)) => {
                let x = self.place(IdPlace::Leaf(v));
                self.join(x, y);
            }
            (IdShape::Other, _) | (_, IdShape::Other) => {
                // A value that is no variable's: harmless where no integer is inside, beyond this analysis otherwise.
                if has_integers(self.p, sort) && !matches!(self.p.terms.kind(sort), SortKind::Seq(_)) {
                    self.strange.get_or_insert("a map is computed in a way that is not followed".into());
                }
            }
        }
    }
    fn initial(&mut self, var: VarId, level: usize, value: &Value) {
        match value {
            Value::Int(n) => {
                let at = self.place(IdPlace::Leaf(var));
                self.literals.push((at, *n));
            }
            Value::Map(m) => {
                for (k, v) in &m.entries {
                    self.key_literal(var, level, k);
                    self.initial(var, level + 1, v);
                }
                self.initial(var, level + 1, &m.default);
            }
            Value::Set(s) => s.iter().for_each(|k| self.key_literal(var, level, k)),
            _ => {}
        }
    }
    fn key_literal(&mut self, var: VarId, level: usize, key: &Value) {
        if let Value::Int(n) = key {
            let at = self.place(IdPlace::Key(var, level));
            self.literals.push((at, *n));
        }
    }
    /// A key of a map or element of a set.
    fn key(&mut self, map: IdShape, key: IdShape, key_sort: Sort) {
        match map {
            IdShape::Of(v, level) => {
                let at = self.place(IdPlace::Key(v, level));
                if let Some(k) = self.class(key) {
                    self.join(at, k);
                }
            }
            _ if key_sort.is_integer() => {
                self.strange.get_or_insert("a map is computed in a way that is not followed".into());
            }
            _ => {}
        }
    }
    fn shape(&mut self, term: Term) -> IdShape {
        let p = self.p;
        let t = &p.terms;
        let sort = t.sort_of(term);
        match t.node(term) {
            Node::Num(n, _) => {
                // Every occurrence of a literal is a class of its own, so that 0 here and 0 there are not tied.
                let at = self.fresh();
                self.literals.push((at, n));
                IdShape::Class(at)
            }
            Node::Sym(s) if s == p.tid => IdShape::Class(self.place(IdPlace::Id)),
            Node::Sym(s) => match self.vars.get(&s) {
                Some(v) => IdShape::Of(*v, 0),
                None if sort.is_integer() => IdShape::Class(self.place(IdPlace::Symbol(s))),
                None => IdShape::Other,
            },
            Node::Quant(_, _, body) => {
                self.shape(body);
                IdShape::Other
            }
            Node::App(op, args) => {
                if let Some(at) = self.seen.get(&term) {
                    return IdShape::Class(*at);
                }
                let shapes: Vec<IdShape> = args.iter().map(|a| self.shape(*a)).collect();
                let out = self.apply(op, &args, &shapes, sort);
                if let (IdShape::Class(at), true) = (out, sort.is_integer()) {
                    self.seen.insert(term, at);
                }
                out
            }
            _ => IdShape::Other,
        }
    }
    fn apply(&mut self, op: Op, args: &[Term], shapes: &[IdShape], sort: Sort) -> IdShape {
        let t = &self.p.terms;
        let of = |i: usize| t.sort_of(args[i]);
        match op {
            Op::Eq => {
                if has_integers(self.p, of(0)) {
                    self.same(shapes[0], shapes[1], of(0));
                }
                IdShape::Other
            }
            Op::Lt | Op::Le => {
                shapes.iter().for_each(|s| self.number(*s));
                IdShape::Other
            }
            Op::Ite => {
                if has_integers(self.p, sort) {
                    self.same(shapes[1], shapes[2], sort);
                }
                if matches!(shapes[1], IdShape::Other) { shapes[2] } else { shapes[1] }
            }
            Op::Select => {
                self.key(shapes[0], shapes[1], of(1));
                match shapes[0] {
                    IdShape::Of(v, level) if self.depth(v) == level + 1 => IdShape::Class(self.place(IdPlace::Leaf(v))),
                    IdShape::Of(v, level) => IdShape::Of(v, level + 1),
                    other => other,
                }
            }
            Op::Store => {
                self.key(shapes[0], shapes[1], of(1));
                if has_integers(self.p, of(2)) {
                    let inner = match shapes[0] {
                        IdShape::Of(v, level) if self.depth(v) > level + 1 => IdShape::Of(v, level + 1),
                        IdShape::Of(v, _) => IdShape::Class(self.place(IdPlace::Leaf(v))),
                        other => other,
                    };
                    self.same(inner, shapes[2], of(2));
                }
                shapes[0]
            }
            Op::Member => {
                self.key(shapes[1], shapes[0], of(0));
                IdShape::Other
            }
            Op::Insert => {
                // The elements of a set built from nothing are looked at where it is used.
                if matches!(shapes[1], IdShape::Of(..)) {
                    self.key(shapes[1], shapes[0], of(0));
                }
                shapes[1]
            }
            Op::Union | Op::Minus => match (shapes[0], shapes[1]) {
                (IdShape::Of(..), IdShape::Of(..)) => {
                    self.same(shapes[0], shapes[1], sort);
                    shapes[0]
                }
                (s @ IdShape::Of(..), IdShape::Other) => {
                    // `s + {e}` and `s - {e}`.
                    let mut set = args[1];
                    while let Some((Op::Insert, inner)) = t.app(set) {
                        let e = self.shape(inner[0]);
                        self.key(s, e, t.sort_of(inner[0]));
                        set = inner[1];
                    }
                    s
                }
                (other, _) => other,
            },
            Op::Subset => {
                self.same(shapes[0], shapes[1], of(0));
                IdShape::Other
            }
            Op::ConstMap(_) => {
                // A constant map has no keys of its own; its value must not be an id.
                self.number(shapes[0]);
                IdShape::Other
            }
            Op::Unit | Op::At | Op::Slice | Op::Concat | Op::Len => {
                shapes.iter().for_each(|s| self.number(*s));
                let n = self.place(IdPlace::Number);
                if sort.is_integer() { IdShape::Class(n) } else { IdShape::Other }
            }
            _ if sort.is_integer() => {
                shapes.iter().for_each(|s| self.number(*s));
                IdShape::Class(self.place(IdPlace::Number))
            }
            _ => IdShape::Other,
        }
    }
}

fn has_integers(p: &Program, sort: Sort) -> bool {
    match p.terms.kind(sort) {
        SortKind::Int | SortKind::Machine(_) => true,
        SortKind::Map(k, v) => has_integers(p, k) || has_integers(p, v),
        SortKind::Set(e) | SortKind::Seq(e) => has_integers(p, e),
        _ => false,
    }
}
