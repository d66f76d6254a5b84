//! What the integers of a program are: locks, keys or values that are only handed on.
//!
//! In: a program and the object at hand. Out: a type for every variable and field. The language has one sort
//! `int` for all three; what an integer is follows from what it is assigned from and compared with. Places that are copied to or
//! compared with each other are of one type (union-find). Nothing here is a heuristic for verdicts: a value that is only handed on
//! is abstracted without assuming anything about it, so a wrong guess loses precision, never soundness.

use logic::{ClassId, Node, Op, Sort, SortKind, Symbol, Term, Terms};
use program::{Code, Program, VarId, VarKind};
use rustc_hash::FxHashMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShapeType {
    Ref(ClassId),
    /// An integer that is only handed on; operations other than copying give an unknown value.
    Data,
    Bool,
    Variant(u32),
    /// 0, or the id of the thread that holds it.
    Lock,
    /// An integer that is compared with the one key of the proof.
    Key,
}

pub(crate) struct ShapeTypes {
    parent: FxHashMap<Symbol, Symbol>,
    locks: Vec<Symbol>,
    keys: Vec<Symbol>,
}

impl ShapeTypes {
    pub(crate) fn infer<'a>(
        program: &Program,
        codes: impl IntoIterator<Item = &'a Code>,
        same: &[(VarId, VarId)],
    ) -> Self {
        let mut types = Self { parent: FxHashMap::default(), locks: vec![program.tid], keys: Vec::new() };
        for (_, v) in program.vars.iter_enumerated() {
            if v.kind == VarKind::Lock {
                types.locks.push(v.symbol);
            }
        }
        for (a, b) in same {
            types.unite(Some(program.vars[*a].symbol), Some(program.vars[*b].symbol));
        }
        let terms = &program.terms;
        for code in codes {
            for action in code.actions.iter() {
                types.walk(terms, action.guard);
                for gate in &action.gates {
                    types.walk(terms, gate.formula);
                }
                for update in &action.updates {
                    let place = types.walk(terms, update.value);
                    types.unite(Some(program.vars[update.var].symbol), place);
                }
            }
        }
        for fact in &program.init {
            if let Some(formula) = fact.formula {
                types.walk(terms, formula);
            }
        }
        types
    }
    fn find(&self, mut s: Symbol) -> Symbol {
        while let Some(&up) = self.parent.get(&s) {
            s = up;
        }
        s
    }
    fn unite(&mut self, a: Option<Symbol>, b: Option<Symbol>) {
        if let (Some(a), Some(b)) = (a, b) {
            let (a, b) = (self.find(a), self.find(b));
            if a != b {
                self.parent.insert(a, b);
            }
        }
    }
    /// Walks a term; the place its value comes from, if it is a copy of one.
    fn walk(&mut self, terms: &Terms, term: Term) -> Option<Symbol> {
        match terms.node(term) {
            Node::Sym(s) => Some(s),
            Node::App(op, args) => {
                let places: Vec<Option<Symbol>> = args.iter().map(|a| self.walk(terms, *a)).collect();
                match op {
                    Op::Eq | Op::Lt | Op::Le => {
                        self.unite(places[0], places[1]);
                        None
                    }
                    Op::Ite => {
                        self.unite(places[1], places[2]);
                        places[1].or(places[2])
                    }
                    Op::Store => {
                        self.unite(places[0], places[2]);
                        places[0]
                    }
                    // A field's place stands for its entries, a sequence's or set's for its elements.
                    Op::Select => places[0],
                    Op::At | Op::Slice => places[0],
                    Op::Unit => places[0],
                    Op::Concat | Op::Union | Op::Minus => {
                        self.unite(places[0], places[1]);
                        places[0].or(places[1])
                    }
                    Op::Insert | Op::Member => {
                        let is_key = terms.sort_of(args[0]).is_integer();
                        self.unite(places[0], places[1]);
                        if let (true, Some(p)) = (is_key, places[0].or(places[1])) {
                            self.keys.push(p);
                        }
                        if op == Op::Insert { places[1].or(places[0]) } else { None }
                    }
                    Op::Cast(_) => places[0],
                    _ => None,
                }
            }
            Node::Quant(_, _, body) => {
                self.walk(terms, body);
                None
            }
            _ => None,
        }
    }
    fn among(&self, s: Symbol, marked: &[Symbol]) -> bool {
        let s = self.find(s);
        marked.iter().any(|m| self.find(*m) == s)
    }
    /// The type of a place of the given sort (for a field: the sort of its entries).
    pub(crate) fn of(&self, terms: &Terms, place: Symbol, sort: Sort) -> Option<ShapeType> {
        match terms.kind(sort) {
            SortKind::Bool => Some(ShapeType::Bool),
            SortKind::Ref(c) => Some(ShapeType::Ref(c)),
            SortKind::Enum(e) => Some(ShapeType::Variant(terms.enum_size(e) as u32)),
            SortKind::Int | SortKind::Machine(_) if self.among(place, &self.locks) => Some(ShapeType::Lock),
            SortKind::Int | SortKind::Machine(_) if self.among(place, &self.keys) => Some(ShapeType::Key),
            SortKind::Int | SortKind::Machine(_) => Some(ShapeType::Data),
            _ => None,
        }
    }
    /// The type of an integer term, by the place it comes from; a term that is no copy is data.
    pub(crate) fn of_term(&mut self, terms: &Terms, term: Term) -> Option<ShapeType> {
        let sort = terms.sort_of(term);
        match self.walk(terms, term) {
            Some(place) => self.of(terms, place, sort),
            None => self.of(terms, Symbol(u32::MAX), sort),
        }
    }
}
