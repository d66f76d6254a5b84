//! Terms compiled for evaluation on views: a small arena for each step, one entry for each distinct term.
//!
//! In: terms of guards, gates, updates and specification code. Out: `Ex` entries over slots of the packed view.
//! One entry per interned term matters for meaning, not only for speed: a choice made for an unknown comparison holds for every
//! occurrence of that term in the step (the condition of a compare-and-swap occurs several times).
//! A term outside the forms below is a refusal, except integer operations, whose value is simply unknown.

use super::types::{ShapeType, ShapeTypes};
use super::view::{ANY, CONSTANT_ROOM, CONSTANTS, Code, FALSE, FREE, NULL, OWN, TRUE};
use logic::{Node, Op, Symbol, Term, Terms};
use rustc_hash::FxHashMap;

pub(crate) type ExId = u16;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ex {
    Code(Code),
    Slot(u16),
    Input(u8),
    /// The map of a field, by position in `Model::fields`.
    Field(u16),
    /// map, key, value
    Store(ExId, ExId, ExId),
    /// field, map, key
    Read(u16, ExId, ExId),
    Ite(ExId, ExId, ExId),
    Not(ExId),
    And(Vec<ExId>),
    Or(Vec<ExId>),
    Eq(ExId, ExId),
    /// Of integers that are only handed on: different names may be equal numbers.
    EqData(ExId, ExId),
    Less(ExId, ExId),
    AtMost(ExId, ExId),
    /// The live objects of a class.
    Live(u16),
    Insert(ExId, ExId),
    /// set, removed element
    Remove(ExId, ExId),
    In(ExId, ExId),
    /// The specification's sequence is empty; its first and last element.
    Empty,
    First,
    Last,
    /// The one key of the proof is in the specification's set (the element is the entry).
    HasKey(ExId),
    /// An unknown value, computed from these: they are looked at.
    Opaque(Vec<ExId>),
}

/// What a symbol is on a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SymbolMeaning {
    Slot(u16),
    Input(u8),
    Field(u16),
    Live(u16),
    Tid,
    /// The specification's sequence or set.
    Collection,
}

pub(crate) struct ShapeCompiler<'a> {
    pub terms: &'a Terms,
    pub types: &'a mut ShapeTypes,
    pub meaning: &'a FxHashMap<Symbol, SymbolMeaning>,
    /// Meanings of this step only: inputs, or the specification's own variables.
    pub local: FxHashMap<Symbol, SymbolMeaning>,
    pub constants: &'a mut Vec<Constant>,
    /// Slots before this one are shared variables.
    pub shared: u16,
    pub(crate) arena: Vec<Ex>,
    memo: FxHashMap<(Term, bool), ExId>,
}

/// A number or a variant of an enum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Constant {
    Number(i128),
    Variant(u32),
}

pub(crate) type Compiled<T> = Result<T, String>;

impl<'a> ShapeCompiler<'a> {
    pub(super) fn new(
        terms: &'a Terms,
        types: &'a mut ShapeTypes,
        meaning: &'a FxHashMap<Symbol, SymbolMeaning>,
        constants: &'a mut Vec<Constant>,
    ) -> Self {
        Self {
            terms,
            types,
            meaning,
            local: FxHashMap::default(),
            constants,
            shared: 0,
            arena: Vec::new(),
            memo: FxHashMap::default(),
        }
    }
    fn put(&mut self, ex: Ex) -> ExId {
        self.arena.push(ex);
        (self.arena.len() - 1) as ExId
    }
    fn refuse<T>(&self, what: &str, term: Term) -> Compiled<T> {
        Err(format!("{what}: {}", self.terms.show(term)))
    }
    pub(super) fn constant(&mut self, c: Constant) -> Compiled<Code> {
        let at = match self.constants.iter().position(|x| *x == c) {
            Some(at) => at,
            None => {
                self.constants.push(c);
                self.constants.len() - 1
            }
        };
        if at >= CONSTANT_ROOM {
            return Err("more different constants than fit in a view".into());
        }
        Ok(CONSTANTS + at as Code)
    }
    /// Compiles a term; `expected` says what a number written there is.
    pub(super) fn term(&mut self, term: Term, expected: Option<ShapeType>) -> Compiled<ExId> {
        let lock = expected == Some(ShapeType::Lock);
        if let Some(&at) = self.memo.get(&(term, lock)) {
            return Ok(at);
        }
        let at = self.fresh(term, expected)?;
        self.memo.insert((term, lock), at);
        Ok(at)
    }
    fn fresh(&mut self, term: Term, expected: Option<ShapeType>) -> Compiled<ExId> {
        match self.terms.node(term) {
            Node::Bool(b) => Ok(self.put(Ex::Code(if b { TRUE } else { FALSE }))),
            Node::Num(n, _) => match expected {
                Some(ShapeType::Lock) if n == 0 => Ok(self.put(Ex::Code(FREE))),
                Some(ShapeType::Lock) => self.refuse("a lock is compared with or set to a number other than 0", term),
                Some(ShapeType::Key) => self.refuse("a constant key", term),
                _ => {
                    let code = self.constant(Constant::Number(n))?;
                    Ok(self.put(Ex::Code(code)))
                }
            },
            Node::Variant(_, v) => {
                let code = self.constant(Constant::Variant(v))?;
                Ok(self.put(Ex::Code(code)))
            }
            Node::Ref(_, 0) => Ok(self.put(Ex::Code(NULL))),
            Node::Ref(..) => self.refuse("a numbered object", term),
            Node::Sym(s) => match self.local.get(&s).or_else(|| self.meaning.get(&s)).copied() {
                Some(SymbolMeaning::Slot(i)) => Ok(self.put(Ex::Slot(i))),
                Some(SymbolMeaning::Input(i)) => Ok(self.put(Ex::Input(i))),
                Some(SymbolMeaning::Field(f)) => Ok(self.put(Ex::Field(f))),
                Some(SymbolMeaning::Live(c)) => Ok(self.put(Ex::Live(c))),
                Some(SymbolMeaning::Tid) => Ok(self.put(Ex::Code(OWN))),
                Some(SymbolMeaning::Collection) | None => self.refuse("a variable that a view cannot hold", term),
            },
            Node::App(op, args) => self.app(term, op, &args),
            Node::Quant(..) => self.refuse("a quantifier", term),
        }
    }
    fn collection(&self, term: Term) -> bool {
        self.terms.as_symbol(term).is_some_and(|s| self.local.get(&s) == Some(&SymbolMeaning::Collection))
    }
    /// `len(s)` of the specification's sequence.
    fn length(&self, term: Term) -> bool {
        matches!(self.terms.app(term), Some((Op::Len, args)) if self.collection(args[0]))
    }
    fn number(&self, term: Term) -> Option<i128> {
        match self.terms.node(term) {
            Node::Num(n, _) => Some(n),
            _ => None,
        }
    }
    /// Comparisons of the sequence's length with 0 and 1, and of two numbers: all that specifications need.
    fn comparison(&mut self, op: Op, a: Term, b: Term) -> Compiled<Option<ExId>> {
        let empty = |this: &mut Self| this.put(Ex::Empty);
        let filled = |this: &mut Self| {
            let e = this.put(Ex::Empty);
            this.put(Ex::Not(e))
        };
        let (la, lb) = (self.length(a), self.length(b));
        let (na, nb) = (self.number(a), self.number(b));
        let known = |this: &mut Self, v: bool| this.put(Ex::Code(if v { TRUE } else { FALSE }));
        Ok(Some(match (op, la, lb, na, nb) {
            (Op::Eq | Op::Le, true, true, ..) => known(self, true),
            (Op::Lt, true, true, ..) => known(self, false),
            (Op::Eq, true, _, _, Some(0)) | (Op::Le, true, _, _, Some(0)) | (Op::Lt, true, _, _, Some(1)) => {
                empty(self)
            }
            (Op::Eq, _, true, Some(0), _) => empty(self),
            (Op::Lt, _, true, Some(0), _) | (Op::Le, _, true, Some(1), _) => filled(self),
            (Op::Le, _, true, Some(n), _) if n <= 0 => known(self, true),
            (Op::Lt, true, _, _, Some(n)) if n <= 0 => known(self, false),
            (_, true, ..) | (_, _, true, ..) => return self.refuse("the length of a sequence", a).map(Some),
            (Op::Eq, _, _, Some(x), Some(y)) => known(self, x == y),
            (Op::Lt, _, _, Some(x), Some(y)) => known(self, x < y),
            (Op::Le, _, _, Some(x), Some(y)) => known(self, x <= y),
            _ => return Ok(None),
        }))
    }
    fn pair(&mut self, a: Term, b: Term) -> Compiled<(ExId, ExId)> {
        let numeric = self.terms.sort_of(a).is_integer();
        let ty = if numeric {
            let (x, y) = (self.types.of_term(self.terms, a), self.types.of_term(self.terms, b));
            [x, y].into_iter().flatten().find(|t| matches!(t, ShapeType::Lock | ShapeType::Key))
        } else {
            None
        };
        Ok((self.term(a, ty)?, self.term(b, ty)?))
    }
    fn app(&mut self, term: Term, op: Op, args: &[Term]) -> Compiled<ExId> {
        let ex = match op {
            Op::Not => Ex::Not(self.term(args[0], None)?),
            Op::And => Ex::And(args.iter().map(|a| self.term(*a, None)).collect::<Compiled<_>>()?),
            Op::Or => Ex::Or(args.iter().map(|a| self.term(*a, None)).collect::<Compiled<_>>()?),
            Op::Implies => {
                let a = self.term(args[0], None)?;
                let not = self.put(Ex::Not(a));
                Ex::Or(vec![not, self.term(args[1], None)?])
            }
            Op::Ite => {
                let ty = self.types.of_term(self.terms, term);
                Ex::Ite(self.term(args[0], None)?, self.term(args[1], ty)?, self.term(args[2], ty)?)
            }
            Op::Eq | Op::Lt | Op::Le => {
                if let Some(known) = self.comparison(op, args[0], args[1])? {
                    return Ok(known);
                }
                if op == Op::Eq && (self.collection(args[0]) || self.collection(args[1])) {
                    let other = if self.collection(args[0]) { args[1] } else { args[0] };
                    if matches!(self.terms.app(other), Some((Op::EmptySeq(_), _))) {
                        return Ok(self.put(Ex::Empty));
                    }
                    return self.refuse("a comparison of sequences", term);
                }
                let (a, b) = self.pair(args[0], args[1])?;
                match op {
                    Op::Eq if self.is_data(args[0]) && self.is_data(args[1]) => Ex::EqData(a, b),
                    Op::Eq => Ex::Eq(a, b),
                    Op::Lt => Ex::Less(a, b),
                    _ => Ex::AtMost(a, b),
                }
            }
            Op::Select => {
                let map = self.term(args[0], None)?;
                let key = self.term(args[1], None)?;
                let Some(field) = self.field_of(map) else { return self.refuse("a map that is not a field", term) };
                Ex::Read(field, map, key)
            }
            Op::Store => {
                let map = self.term(args[0], None)?;
                let Some(_) = self.field_of(map) else { return self.refuse("a map that is not a field", term) };
                let key = self.term(args[1], None)?;
                let ty = self.types.of_term(self.terms, args[0]).or_else(|| self.entry_type(args[0]));
                Ex::Store(map, key, self.term(args[2], ty)?)
            }
            Op::Insert if self.set_of_live(args[1]) => {
                let set = self.term(args[1], None)?;
                Ex::Insert(self.term(args[0], None)?, set)
            }
            Op::Union if self.set_of_live(args[0]) => match self.terms.app(args[1]) {
                Some((Op::Insert, one)) if matches!(self.terms.app(one[1]), Some((Op::EmptySet(_), _))) => {
                    let set = self.term(args[0], None)?;
                    Ex::Insert(self.term(one[0], None)?, set)
                }
                _ => return self.refuse("a set of objects", term),
            },
            Op::Minus if self.set_of_live(args[0]) => match self.terms.app(args[1]) {
                Some((Op::Insert, one)) if matches!(self.terms.app(one[1]), Some((Op::EmptySet(_), _))) => {
                    let set = self.term(args[0], None)?;
                    Ex::Remove(set, self.term(one[0], None)?)
                }
                _ => return self.refuse("a set of objects", term),
            },
            Op::Member if self.collection(args[1]) => Ex::HasKey(self.term(args[0], Some(ShapeType::Key))?),
            Op::Member => Ex::In(self.term(args[0], None)?, self.term(args[1], None)?),
            Op::At if self.collection(args[0]) && self.number(args[1]) == Some(0) => Ex::First,
            Op::At if self.collection(args[0]) && self.is_last_index(args[1]) => Ex::Last,
            Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Mod | Op::Neg | Op::Cast(_) => self.opaque(args),
            Op::BitAnd | Op::BitOr | Op::BitXor | Op::BitNot | Op::Shl | Op::Shr => self.opaque(args),
            _ => return self.refuse("a term that a view cannot hold", term),
        };
        Ok(self.put(ex))
    }
    /// Arithmetic: what the operands touch matters, their values do not.
    fn opaque(&mut self, args: &[Term]) -> Ex {
        let mut looked_at = Vec::new();
        for a in args {
            let touches = |s: Symbol| match self.local.get(&s).or_else(|| self.meaning.get(&s)) {
                Some(SymbolMeaning::Field(_)) => true,
                Some(SymbolMeaning::Slot(s)) => *s < self.shared,
                _ => false,
            };
            if self.terms.free_symbols(*a).into_iter().any(touches) {
                looked_at.extend(self.term(*a, None).ok());
            }
        }
        if looked_at.is_empty() { Ex::Code(ANY) } else { Ex::Opaque(looked_at) }
    }
    fn is_data(&mut self, term: Term) -> bool {
        self.terms.sort_of(term).is_integer() && matches!(self.types.of_term(self.terms, term), Some(ShapeType::Data))
    }
    fn is_last_index(&self, term: Term) -> bool {
        matches!(self.terms.app(term), Some((Op::Sub, a)) if self.length(a[0]) && self.number(a[1]) == Some(1))
    }
    fn entry_type(&mut self, map: Term) -> Option<ShapeType> {
        match self.terms.kind(self.terms.sort_of(map)) {
            logic::SortKind::Map(_, v) if v.is_integer() => {
                let mut at = map;
                while let Some((Op::Store | Op::Ite, args)) = self.terms.app(at) {
                    at = args[if args.len() == 3 && self.terms.sort_of(args[0]) == logic::Sort::BOOL { 1 } else { 0 }];
                }
                self.terms.as_symbol(at).and_then(|s| self.types.of(self.terms, s, v))
            }
            _ => None,
        }
    }
    fn set_of_live(&self, term: Term) -> bool {
        match self.terms.node(term) {
            Node::Sym(s) => matches!(self.meaning.get(&s), Some(SymbolMeaning::Live(_))),
            Node::App(Op::Insert, args) => self.set_of_live(args[1]),
            Node::App(Op::Union | Op::Minus, args) => self.set_of_live(args[0]),
            Node::App(Op::Ite, args) => self.set_of_live(args[1]) && self.set_of_live(args[2]),
            _ => false,
        }
    }
    /// The field whose map (possibly updated) an entry is.
    pub(super) fn field_of(&self, at: ExId) -> Option<u16> {
        match &self.arena[at as usize] {
            Ex::Field(f) => Some(*f),
            Ex::Store(m, ..) => self.field_of(*m),
            Ex::Ite(_, a, b) => self.field_of(*a).filter(|f| self.field_of(*b) == Some(*f)),
            _ => None,
        }
    }
}

/// The slots that an arena reads.
pub(crate) fn slots_read(arena: &[Ex]) -> impl Iterator<Item = u16> + '_ {
    arena.iter().filter_map(|e| if let Ex::Slot(s) = e { Some(*s) } else { None })
}
