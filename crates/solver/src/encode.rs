//! Terms into the solver's language: one encoding for every target (Z3's own terms, SMT-LIB text).
//!
//! In: terms and the table they live in, which may grow between calls. Out: target expressions, cached by term, and
//! *sides*: facts that hold in every true model (a machine integer is in its range) and must be asserted with them.
//!
//! Why an "unsat" can be believed: every model by `logic::eval` is a model of the encoding, with enums as 0..n, null as
//! 0, sets as arrays of booleans, and a map over part of the integers extended outside of its keys. The converse
//! does not hold (an array may be an infinite set), so "sat" is a candidate that someone must replay. A quantifier
//! over values for which the solver has more than the truth has would break this, and is refused.
//! Deliberately absent: simplification; it is `logic`'s.

pub(crate) mod arith;
mod containers;
mod target;

pub(crate) use target::{EncodingRefusal, EncodingTarget, Head, TargetSort};

use crate::answer::Machines;
use logic::{Node, Op, Quantifier, Sort, SortKind, Symbol, Term, Terms};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// What the encoding is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EncodingPurpose {
    /// Questions with models. Every integer is a reference, so that there is no range to keep: 1, 2, 3, 4 become
    /// 1, -1, 2, -2. That sets are finite is encoded by the array's default.
    Models,
    /// Horn rules. References are natural numbers: a solution's comparisons can be read back.
    Horn,
}

/// A fact that belongs to every use of a term.
pub(crate) struct SideFact<E> {
    pub expr: E,
    /// The term whose range it states.
    of: Term,
}

/// An encoded term and the sides that go with it.
#[derive(Clone)]
pub(crate) struct Encoded<E> {
    pub expr: E,
    pub sides: Option<Rc<[u32]>>,
}

pub(crate) struct Encoder<'t, T: EncodingTarget> {
    pub terms: &'t Terms,
    pub target: T,
    pub machines: Machines,
    pub purpose: EncodingPurpose,
    /// By term: the translation, and the generation it is of.
    cache: Pages<(u32, Encoded<T::Expr>)>,
    generation: u32,
    /// How many expressions are kept, and how many terms were translated again in this generation.
    kept_limit: usize,
    again: usize,
    symbols: FxHashMap<Symbol, T::Expr>,
    shapes: FxHashMap<Sort, Rc<TargetSort>>,
    sides: Vec<SideFact<T::Expr>>,
    /// Sides found while the term at hand is built.
    fresh: Vec<u32>,
    /// Room for the arguments of the term at hand.
    scratch: Vec<T::Expr>,
    /// Stores into maps over 8 and 16 bit integers: see `store`.
    narrow_stores: [u32; 2],
}

/// Recursion goes no deeper than this.
const MAX_RECURSION_DEPTH: u32 = 200;

/// A node as the encoder looks at it.
enum Seen {
    Bool(bool),
    Num(i128, Sort),
    Variant(u32),
    Ref(u32),
    Sym(Symbol),
    App(Op, Args),
    Quant(Quantifier, Box<[Symbol]>, Term),
}

/// Arguments; up to three need no heap.
#[derive(Clone)]
enum Args {
    Few([Term; 3], u8),
    Many(Rc<[Term]>),
}

impl Args {
    fn new(args: &[Term]) -> Self {
        if args.len() > 3 {
            return Args::Many(args.into());
        }
        let mut few = [Term(0); 3];
        few[..args.len()].copy_from_slice(args);
        Args::Few(few, args.len() as u8)
    }
    fn as_slice(&self) -> &[Term] {
        match self {
            Args::Few(few, count) => &few[..usize::from(*count)],
            Args::Many(args) => args,
        }
    }
}

/// A table by term, in pages that are made where something is put: a short question in a large table of terms stays short.
struct Pages<V>(Vec<Option<Box<[Option<V>]>>>);

const TERMS_PER_PAGE: usize = 64;

impl<V> Pages<V> {
    fn get(&self, term: Term) -> Option<&V> {
        self.0.get(term.index() / TERMS_PER_PAGE)?.as_ref()?[term.index() % TERMS_PER_PAGE].as_ref()
    }
    fn slot(&mut self, term: Term) -> &mut Option<V> {
        let page = term.index() / TERMS_PER_PAGE;
        if self.0.len() <= page {
            self.0.resize_with(page + 1, || None);
        }
        let page = self.0[page].get_or_insert_with(|| (0..TERMS_PER_PAGE).map(|_| None).collect());
        &mut page[term.index() % TERMS_PER_PAGE]
    }
}

/// Translations are kept up to this number of expressions at first.
const INITIAL_KEPT_TERMS: usize = 4_000;

impl<'t, T: EncodingTarget> Encoder<'t, T> {
    pub(crate) fn new(terms: &'t Terms, target: T, machines: Machines, purpose: EncodingPurpose) -> Self {
        Self {
            terms,
            target,
            machines,
            purpose,
            cache: Pages(Vec::new()),
            generation: 0,
            kept_limit: INITIAL_KEPT_TERMS,
            again: 0,
            symbols: FxHashMap::default(),
            shapes: FxHashMap::default(),
            sides: Vec::new(),
            fresh: Vec::new(),
            scratch: Vec::new(),
            narrow_stores: [0; 2],
        }
    }

    pub(crate) fn side(&self, at: u32) -> &SideFact<T::Expr> {
        &self.sides[at as usize]
    }

    /// Forgets translations when there are very many: a table of all that was ever asked slows the solver down, and
    /// what is asked again is translated again.
    pub(crate) fn forget_if_many(&mut self) {
        if self.target.kept() > self.kept_limit {
            // Where much had to be translated again, more is worth keeping.
            if self.again > self.kept_limit / 4 {
                self.kept_limit *= 2;
            }
            self.again = 0;
            self.generation += 1;
            self.target.release();
        }
    }

    fn known(&self, term: Term) -> Option<&Encoded<T::Expr>> {
        match self.cache.get(term) {
            Some((generation, known)) if *generation == self.generation => Some(known),
            _ => None,
        }
    }

    /// Encodes a term; every subterm is encoded once in the life of the cache.
    pub(crate) fn encode(&mut self, term: Term) -> Result<Encoded<T::Expr>, EncodingRefusal> {
        if let Some(known) = self.known(term) {
            return Ok(known.clone());
        }
        self.encode_to(term, 0)?;
        Ok(self.known(term).expect("it has just been encoded").clone())
    }

    /// Encodes arguments before the term. Small terms by recursion, which is fast; what is deeper than the limit by
    /// a loop with its own stack, because terms can be deeper than the thread's stack is long.
    fn encode_to(&mut self, term: Term, depth: u32) -> Result<(), EncodingRefusal> {
        let node = self.look(term);
        let (args, body);
        let missing: &[Term] = match &node {
            Seen::App(_, list) => {
                args = list.clone();
                args.as_slice()
            }
            Seen::Quant(_, _, inner) => {
                body = [*inner];
                &body
            }
            _ => &[],
        };
        for arg in missing {
            if self.known(*arg).is_none() {
                if depth < MAX_RECURSION_DEPTH {
                    self.encode_to(*arg, depth + 1)?;
                } else {
                    self.encode_deep(*arg)?;
                }
            }
        }
        let made = self.build(term, &node)?;
        let slot = self.cache.slot(term);
        self.again += usize::from(slot.is_some());
        *slot = Some((self.generation, made));
        Ok(())
    }

    fn encode_deep(&mut self, term: Term) -> Result<(), EncodingRefusal> {
        let mut todo = vec![term];
        while let Some(&next) = todo.last() {
            if self.known(next).is_some() {
                todo.pop();
                continue;
            }
            let before = todo.len();
            match self.look(next) {
                Seen::App(_, args) => todo.extend(args.as_slice().iter().rev().filter(|a| self.known(**a).is_none())),
                Seen::Quant(_, _, body) if self.known(body).is_none() => todo.push(body),
                _ => {}
            }
            if todo.len() == before {
                // All arguments are there: this does not go deeper.
                self.encode_to(next, 0)?;
                todo.pop();
            }
        }
        Ok(())
    }

    /// A node, copied without the heap where it is small.
    fn look(&self, term: Term) -> Seen {
        self.terms.with_node(term, |node| match node {
            Node::App(op, args) => Seen::App(*op, Args::new(args)),
            Node::Quant(q, bound, body) => Seen::Quant(*q, bound.clone(), *body),
            Node::Bool(b) => Seen::Bool(*b),
            Node::Num(n, sort) => Seen::Num(*n, *sort),
            Node::Variant(_, at) => Seen::Variant(*at),
            Node::Ref(_, n) => Seen::Ref(*n),
            Node::Sym(s) => Seen::Sym(*s),
        })
    }

    fn done(&self, term: Term) -> T::Expr {
        self.known(term).expect("arguments are encoded before the term").expr
    }

    /// The constant that stands for a symbol.
    pub(crate) fn symbol(&mut self, symbol: Symbol) -> Result<T::Expr, EncodingRefusal> {
        if let Some(known) = self.symbols.get(&symbol) {
            return Ok(*known);
        }
        let sort = self.terms.symbol_sort(symbol);
        if self.purpose == EncodingPurpose::Horn && self.has_seq(sort) {
            return Err(EncodingRefusal::new("sequences in Horn rules"));
        }
        let shape = self.shape(sort);
        let expr = self.target.symbol(symbol, &self.terms.symbol_name(symbol), &shape)?;
        self.symbols.insert(symbol, expr);
        Ok(expr)
    }

    /// Spacer knows no sequences, neither as parameters nor in between.
    pub(crate) fn has_seq(&self, sort: Sort) -> bool {
        match self.terms.kind(sort) {
            SortKind::Seq(_) => true,
            SortKind::Map(k, v) => self.has_seq(k) || self.has_seq(v),
            SortKind::Set(e) => self.has_seq(e),
            _ => false,
        }
    }

    pub(crate) fn shape(&mut self, sort: Sort) -> Rc<TargetSort> {
        if let Some(known) = self.shapes.get(&sort) {
            return known.clone();
        }
        let shape = Rc::new(match self.terms.kind(sort) {
            SortKind::Bool => TargetSort::Bool,
            SortKind::Machine(m) if self.machines == Machines::BitVectors => TargetSort::Bits(u32::from(m.bits)),
            SortKind::Int | SortKind::Machine(_) | SortKind::Enum(_) | SortKind::Ref(_) => TargetSort::Int,
            SortKind::Map(k, v) => TargetSort::Array(self.shape(k), self.shape(v)),
            SortKind::Set(e) => TargetSort::Set(self.shape(e)),
            SortKind::Seq(e) => TargetSort::Seq(self.shape(e)),
        });
        self.shapes.insert(sort, shape.clone());
        shape
    }

    /// The bounds of an integer expression of this sort, where the sort has them and the shape does not.
    pub(crate) fn range(&self, sort: Sort) -> Option<(i128, Option<i128>)> {
        match self.terms.kind(sort) {
            SortKind::Machine(m) if self.machines == Machines::Integers => Some((m.min(), Some(m.max()))),
            SortKind::Enum(e) => Some((0, Some(self.terms.enum_size(e) as i128 - 1))),
            SortKind::Ref(_) if self.purpose == EncodingPurpose::Horn => Some((0, None)),
            _ => None,
        }
    }

    /// Whether the solver's values of the sort are exactly the true ones.
    fn is_exact(&self, sort: Sort) -> bool {
        match self.terms.kind(sort) {
            SortKind::Bool | SortKind::Int => true,
            SortKind::Machine(_) => self.machines == Machines::BitVectors,
            SortKind::Enum(_) => false,
            SortKind::Ref(_) => self.purpose == EncodingPurpose::Models,
            SortKind::Map(k, v) => self.is_exact(k) && self.is_exact(v),
            SortKind::Set(e) => T::FINITE_SETS && self.is_exact(e),
            SortKind::Seq(e) => self.is_exact(e),
        }
    }

    fn apply(&mut self, head: Head, args: &[T::Expr]) -> Result<T::Expr, EncodingRefusal> {
        self.target.apply(&head, args)
    }

    /// `low <= e && e <= high`.
    fn within(&mut self, expr: T::Expr, low: i128, high: Option<i128>) -> Result<T::Expr, EncodingRefusal> {
        let low = self.target.int(low)?;
        let above = self.apply(Head::Le, &[low, expr])?;
        let Some(high) = high else { return Ok(above) };
        let high = self.target.int(high)?;
        let below = self.apply(Head::Le, &[expr, high])?;
        self.apply(Head::And, &[above, below])
    }

    fn build(&mut self, term: Term, node: &Seen) -> Result<Encoded<T::Expr>, EncodingRefusal> {
        self.fresh.clear();
        let (expr, mut sides) = match node {
            Seen::Bool(b) => (self.target.boolean(*b)?, None),
            Seen::Num(n, sort) => (arith::literal(self, *n, *sort)?, None),
            Seen::Variant(at) => (self.target.int(i128::from(*at))?, None),
            Seen::Ref(n) => (self.target.int(self.reference(*n))?, None),
            Seen::Sym(s) => (self.symbol(*s)?, None),
            Seen::Quant(q, bound, body) => self.quantifier(*q, bound, *body)?,
            Seen::App(op, args) => {
                let args = args.as_slice();
                let sides = self.join_sides(args);
                let mut exprs = std::mem::take(&mut self.scratch);
                exprs.clear();
                exprs.extend(args.iter().map(|a| self.done(*a)));
                let made = self.application(term, *op, args, &exprs);
                self.scratch = exprs;
                (made?, sides)
            }
        };
        // Only a read can be out of range: everything else is computed to be in it.
        let reads = matches!(node, Seen::Sym(_) | Seen::App(Op::Select | Op::At, _));
        if reads {
            self.keep_in_range(expr, self.terms.sort_of(term), term)?;
        }
        if !self.fresh.is_empty() {
            let mut all = sides.map_or_else(Vec::new, |s| s.to_vec());
            all.append(&mut self.fresh);
            sides = Some(all.into());
        }
        Ok(Encoded { expr, sides })
    }

    /// Notes that an expression read out of a symbol is in the range of its sort; it belongs to the term at hand.
    fn keep_in_range(&mut self, expr: T::Expr, sort: Sort, of: Term) -> Result<(), EncodingRefusal> {
        let fact = match (self.range(sort), self.terms.kind(sort)) {
            (Some((low, high)), _) => Some(self.within(expr, low, high)?),
            (None, SortKind::Set(e)) if !T::FINITE_SETS && self.purpose == EncodingPurpose::Models => {
                let many = !matches!(*self.shape(e), TargetSort::Bool | TargetSort::Bits(_));
                if many { Some(self.apply(Head::Finite, &[expr])?) } else { None }
            }
            _ => None,
        };
        if let Some(fact) = fact {
            self.target.pin(fact);
            let at = u32::try_from(self.sides.len()).expect("fewer than 2^32 sides");
            self.sides.push(SideFact { expr: fact, of });
            self.fresh.push(at);
        }
        Ok(())
    }

    fn join_sides(&self, args: &[Term]) -> Option<Rc<[u32]>> {
        let mut joined: Option<Rc<[u32]>> = None;
        for arg in args {
            let Some(more) = &self.known(*arg).expect("arguments are encoded first").sides else { continue };
            joined = Some(match joined {
                None => more.clone(),
                Some(have) if have == *more => have,
                Some(have) => {
                    let mut both: Vec<u32> = have.iter().chain(more.iter()).copied().collect();
                    both.sort_unstable();
                    both.dedup();
                    both.into()
                }
            });
        }
        joined
    }

    pub(crate) fn reference(&self, n: u32) -> i128 {
        let n = i128::from(n);
        match self.purpose {
            EncodingPurpose::Horn => n,
            EncodingPurpose::Models if n % 2 == 1 => n / 2 + 1,
            EncodingPurpose::Models => -(n / 2),
        }
    }

    /// Sides that speak of a bound symbol guard the body; the others float up.
    #[allow(clippy::type_complexity)]
    fn quantifier(
        &mut self,
        q: Quantifier,
        bound: &[Symbol],
        body: Term,
    ) -> Result<(T::Expr, Option<Rc<[u32]>>), EncodingRefusal> {
        for s in bound {
            let sort = self.terms.symbol_sort(*s);
            let scalar = !matches!(self.terms.kind(sort), SortKind::Map(..) | SortKind::Set(_) | SortKind::Seq(_));
            if !scalar && !self.is_exact(sort) {
                return Err(EncodingRefusal::new(format!("a quantifier over {}", self.terms.sort_name(sort))));
            }
        }
        if self.machines == Machines::Integers && self.stores_by_narrow_key(body) {
            return Err(EncodingRefusal::new("a store into a map over 8 or 16 bit integers under a quantifier"));
        }
        let encoded = self.known(body).expect("the body is encoded first").clone();
        let (mut guards, mut floating) = (Vec::new(), Vec::new());
        for &at in encoded.sides.iter().flat_map(|s| s.iter()) {
            let side = &self.sides[at as usize];
            if self.terms.free_symbols(side.of).iter().any(|s| bound.contains(s)) {
                guards.push(side.expr);
            } else {
                floating.push(at);
            }
        }
        let mut inner = encoded.expr;
        if !guards.is_empty() {
            inner = match q {
                Quantifier::Forall => {
                    let guard = self.apply(Head::And, &guards)?;
                    self.apply(Head::Implies, &[guard, inner])?
                }
                Quantifier::Exists => {
                    guards.push(inner);
                    self.apply(Head::And, &guards)?
                }
            };
        }
        let constants = bound.iter().map(|s| self.symbol(*s)).collect::<Result<Vec<_>, _>>()?;
        let expr = self.target.quantify(q, &constants, inner)?;
        Ok((expr, (!floating.is_empty()).then(|| floating.into())))
    }

    fn application(&mut self, term: Term, op: Op, args: &[Term], e: &[T::Expr]) -> Result<T::Expr, EncodingRefusal> {
        let sort_of = |at: usize| self.terms.sort_of(args[at]);
        if self.purpose == EncodingPurpose::Horn && matches!(op, Op::EmptySeq(_) | Op::Unit) {
            return Err(EncodingRefusal::new("sequences in Horn rules"));
        }
        match op {
            Op::Not => self.apply(Head::Not, e),
            Op::And | Op::Or => match e {
                [] => self.target.boolean(op == Op::And),
                [one] => Ok(*one),
                _ => self.apply(if op == Op::And { Head::And } else { Head::Or }, e),
            },
            Op::Implies => self.apply(Head::Implies, e),
            Op::Ite => self.apply(Head::Ite, e),
            Op::Eq => {
                let sort = sort_of(0);
                self.compare(term, Head::Eq, sort, e[0], e[1])
            }
            Op::Lt | Op::Le | Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Mod | Op::Neg => {
                arith::operation(self, op, args, e)
            }
            Op::BitAnd | Op::BitOr | Op::BitXor | Op::BitNot | Op::Shl | Op::Shr | Op::Cast(_) => {
                arith::operation(self, op, args, e)
            }
            Op::Select => self.apply(Head::Select, e),
            Op::Store => self.store(term, e),
            Op::ConstMap(sort) => self.const_map(sort, e[0]),
            Op::EmptySet(sort) => {
                let shape = self.shape(sort);
                self.apply(Head::EmptySet((*shape).clone()), &[])
            }
            Op::Member => self.apply(Head::Member, e),
            Op::Insert => self.apply(Head::Insert, e),
            Op::Union => self.apply(Head::Union, e),
            Op::Minus => self.apply(Head::Minus, e),
            Op::Subset => {
                let sort = sort_of(0);
                self.compare(term, Head::Subset, sort, e[0], e[1])
            }
            Op::EmptySeq(sort) => {
                let shape = self.shape(sort);
                self.apply(Head::EmptySeq((*shape).clone()), &[])
            }
            Op::Unit => self.apply(Head::Unit, e),
            Op::Concat => self.apply(Head::Concat, e),
            Op::Len => self.apply(Head::Len, e),
            Op::At => self.at(term, e[0], e[1]),
            Op::Slice => self.slice(e[0], e[1], e[2]),
        }
    }
}
