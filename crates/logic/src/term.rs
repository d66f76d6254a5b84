//! Hash-consed terms and the table that owns them.
//!
//! In: operators and arguments. Out: `Term`, a `Copy` id; equal terms of one table have equal ids. `Terms` builds through
//! `&self` (interior mutability), so that constructors nest. It is `Send` and `Clone` but not `Sync`: parallel work
//! clones it; ids made before the clone stay valid in both. Constructors check sorts by debug assertion.
//! Deliberately absent: rewriting beyond the empty and one-element conjunction; that is the simplifier's.

use crate::sort::{ClassId, EnumId, MachineIntSort, Sort, SortKind};
use base::ids::Id;
use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::cell::RefCell;
use std::hash::{Hash, Hasher};

base::id_type!(
    /// A term, interned in a `Terms`.
    Term, "t"
);
base::id_type!(
    /// A free or bound symbol: a name with a sort.
    Symbol, "x"
);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quantifier {
    Forall,
    Exists,
}

/// Operators. Arity and sorts are given beside each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Op {
    Not,
    And,
    Or,
    Implies,
    /// if, then, else
    Ite,
    /// Any sort; on Bool it is equivalence.
    Eq,
    Lt,
    Le,
    /// Integers of one sort; machine sorts wrap.
    Add,
    Sub,
    Mul,
    /// Euclidean; `x / 0 = 0`, `x % 0 = x`. Machine sorts wrap the result.
    Div,
    Mod,
    Neg,
    BitAnd,
    BitOr,
    BitXor,
    BitNot,
    /// Machine sorts only; the amount is of the same sort, and is taken modulo the width. `Shr` is arithmetic on signed sorts.
    Shl,
    Shr,
    /// To an integer sort, modulo its width.
    Cast(Sort),
    /// map, key
    Select,
    /// map, key, value
    Store,
    /// value; the map of this sort that is the value everywhere
    ConstMap(Sort),
    EmptySet(Sort),
    /// element, set
    Member,
    /// element, set
    Insert,
    Union,
    Minus,
    /// left is included in right
    Subset,
    EmptySeq(Sort),
    Unit,
    Concat,
    Len,
    /// sequence, index; outside it, the default value of the sort
    At,
    /// sequence, from, to (exclusive); clamped to the sequence
    Slice,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Node {
    Bool(bool),
    /// A number of an integer sort, in the range of that sort.
    Num(i128, Sort),
    /// A variant of an enum, by position.
    Variant(EnumId, u32),
    /// Object number n of a class; 0 is null.
    Ref(ClassId, u32),
    Sym(Symbol),
    App(Op, Box<[Term]>),
    Quant(Quantifier, Box<[Symbol]>, Term),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnumDecl {
    pub name: String,
    pub variants: Vec<String>,
}

#[derive(Clone, Default)]
struct TermStore {
    nodes: Vec<Node>,
    sorts_of: Vec<Sort>,
    /// Numbers of nodes with their hashes, so that neither a search nor growing looks at nodes in vain.
    table: HashTable<(u32, u32)>,
    kinds: Vec<SortKind>,
    symbols: Vec<(String, Sort)>,
    enums: Vec<EnumDecl>,
    classes: Vec<String>,
}

impl TermStore {
    fn add(&mut self, node: Node, sort: Sort, hash: u32) -> Term {
        let at = u32::try_from(self.nodes.len()).expect("fewer than 2^32 terms");
        self.nodes.push(node);
        self.sorts_of.push(sort);
        self.table.insert_unique(spread(hash), (at, hash), |&(_, h)| spread(h));
        Term(at)
    }
}

/// The table of terms, symbols, sorts, enums and classes.
#[derive(Clone)]
pub struct Terms {
    store: RefCell<TermStore>,
}

/// The hash of an application is that of operator and arguments, so that it can be looked for before it is built.
fn hash_of(node: &Node) -> u32 {
    let mut h = FxHasher::default();
    match node {
        Node::App(op, args) => return hash_of_app(*op, args),
        other => other.hash(&mut h),
    }
    fold(h.finish())
}

fn hash_of_app(op: Op, args: &[Term]) -> u32 {
    let mut h = FxHasher::default();
    op.hash(&mut h);
    args.hash(&mut h);
    fold(h.finish())
}

fn fold(hash: u64) -> u32 {
    (hash ^ (hash >> 32)) as u32
}

/// 64 bits for the table, all of them mixed.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Default for Terms {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Terms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Terms({})", self.len())
    }
}

impl Terms {
    pub fn new() -> Self {
        let mut kinds = vec![SortKind::Bool, SortKind::Int];
        kinds.extend(MachineIntSort::ALL.iter().map(|m| SortKind::Machine(*m)));
        Self { store: RefCell::new(TermStore { kinds, ..TermStore::default() }) }
    }
    pub fn len(&self) -> usize {
        self.store.borrow().nodes.len()
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    // Sorts, enums, classes, symbols.

    pub fn sort(&self, kind: SortKind) -> Sort {
        let mut s = self.store.borrow_mut();
        if let Some(at) = s.kinds.iter().position(|k| *k == kind) {
            return Sort::from_index(at);
        }
        s.kinds.push(kind);
        Sort::from_index(s.kinds.len() - 1)
    }
    pub fn sort_count(&self) -> usize {
        self.store.borrow().kinds.len()
    }
    pub fn kind(&self, sort: Sort) -> SortKind {
        self.store.borrow().kinds[sort.index()]
    }
    pub fn map_sort(&self, key: Sort, value: Sort) -> Sort {
        self.sort(SortKind::Map(key, value))
    }
    pub fn declare_enum(&self, name: impl Into<String>, variants: Vec<String>) -> EnumId {
        let mut s = self.store.borrow_mut();
        s.enums.push(EnumDecl { name: name.into(), variants });
        EnumId::from_index(s.enums.len() - 1)
    }
    pub fn enum_decl(&self, id: EnumId) -> EnumDecl {
        self.store.borrow().enums[id.index()].clone()
    }
    pub fn enum_size(&self, id: EnumId) -> usize {
        self.store.borrow().enums[id.index()].variants.len()
    }
    pub fn enum_count(&self) -> usize {
        self.store.borrow().enums.len()
    }
    pub fn declare_class(&self, name: impl Into<String>) -> ClassId {
        let mut s = self.store.borrow_mut();
        s.classes.push(name.into());
        ClassId::from_index(s.classes.len() - 1)
    }
    pub fn class_name(&self, id: ClassId) -> String {
        self.store.borrow().classes[id.index()].clone()
    }
    pub fn class_count(&self) -> usize {
        self.store.borrow().classes.len()
    }
    /// A new symbol, different from every other, even of the same name.
    pub fn symbol(&self, name: impl Into<String>, sort: Sort) -> Symbol {
        let mut s = self.store.borrow_mut();
        s.symbols.push((name.into(), sort));
        Symbol::from_index(s.symbols.len() - 1)
    }
    pub fn symbol_name(&self, symbol: Symbol) -> String {
        self.store.borrow().symbols[symbol.index()].0.clone()
    }
    pub fn symbol_sort(&self, symbol: Symbol) -> Sort {
        self.store.borrow().symbols[symbol.index()].1
    }
    pub fn symbol_count(&self) -> usize {
        self.store.borrow().symbols.len()
    }
    pub fn sort_name(&self, sort: Sort) -> String {
        match self.kind(sort) {
            SortKind::Bool => "bool".into(),
            SortKind::Int => "int".into(),
            SortKind::Machine(m) => m.name().into(),
            SortKind::Enum(e) => self.enum_decl(e).name,
            SortKind::Ref(c) => self.class_name(c),
            SortKind::Map(k, v) => format!("[{}]{}", self.sort_name(k), self.sort_name(v)),
            SortKind::Set(e) => format!("set<{}>", self.sort_name(e)),
            SortKind::Seq(e) => format!("seq<{}>", self.sort_name(e)),
        }
    }

    // Looking at terms.

    pub fn node(&self, term: Term) -> Node {
        self.store.borrow().nodes[term.index()].clone()
    }
    /// Looks at a node without cloning it; `look` must not build terms.
    pub fn with_node<R>(&self, term: Term, look: impl FnOnce(&Node) -> R) -> R {
        look(&self.store.borrow().nodes[term.index()])
    }
    pub fn sort_of(&self, term: Term) -> Sort {
        self.store.borrow().sorts_of[term.index()]
    }
    /// Operator and arguments, if it is an application.
    pub fn app(&self, term: Term) -> Option<(Op, Box<[Term]>)> {
        match &self.store.borrow().nodes[term.index()] {
            Node::App(op, args) => Some((*op, args.clone())),
            _ => None,
        }
    }
    pub fn as_symbol(&self, term: Term) -> Option<Symbol> {
        self.with_node(term, |n| if let Node::Sym(s) = n { Some(*s) } else { None })
    }
    pub fn is_true(&self, term: Term) -> bool {
        self.with_node(term, |n| *n == Node::Bool(true))
    }
    pub fn is_false(&self, term: Term) -> bool {
        self.with_node(term, |n| *n == Node::Bool(false))
    }
    /// The conjuncts of a term, nested conjunctions flattened.
    pub fn conjuncts(&self, term: Term) -> Vec<Term> {
        let mut out = Vec::new();
        let mut todo = vec![term];
        while let Some(t) = todo.pop() {
            match self.app(t) {
                Some((Op::And, args)) => todo.extend(args.iter().rev()),
                _ => out.push(t),
            }
        }
        out
    }
    /// The free symbols of a term, in order of first occurrence.
    pub fn free_symbols(&self, term: Term) -> Vec<Symbol> {
        fn go(
            s: &TermStore,
            t: Term,
            bound: &mut Vec<Symbol>,
            seen: &mut rustc_hash::FxHashSet<Term>,
            out: &mut Vec<Symbol>,
        ) {
            if !seen.insert(t) {
                return;
            }
            match &s.nodes[t.index()] {
                Node::Sym(x) if !bound.contains(x) && !out.contains(x) => out.push(*x),
                Node::App(_, args) => args.iter().for_each(|a| go(s, *a, bound, seen, out)),
                Node::Quant(_, xs, body) => {
                    let depth = bound.len();
                    bound.extend(xs.iter());
                    // What was seen outside may have other free symbols here, so each scope is walked once for itself.
                    go(s, *body, bound, &mut Default::default(), out);
                    bound.truncate(depth);
                }
                _ => {}
            }
        }
        let mut out = Vec::new();
        go(&self.store.borrow(), term, &mut Vec::new(), &mut Default::default(), &mut out);
        out
    }

    // Building terms.

    fn intern(&self, node: Node, sort: Sort) -> Term {
        let hash = hash_of(&node);
        let mut guard = self.store.borrow_mut();
        let s = &mut *guard;
        let same = |&(at, h): &(u32, u32)| h == hash && s.nodes[at as usize] == node;
        if let Some(&(at, _)) = s.table.find(spread(hash), same) {
            return Term(at);
        }
        s.add(node, sort, hash)
    }
    fn intern_app(&self, op: Op, args: &[Term], sort: Sort) -> Term {
        let hash = hash_of_app(op, args);
        let mut guard = self.store.borrow_mut();
        let s = &mut *guard;
        let same = |&(at, h): &(u32, u32)| {
            h == hash && matches!(&s.nodes[at as usize], Node::App(o, a) if *o == op && a[..] == *args)
        };
        if let Some(&(at, _)) = s.table.find(spread(hash), same) {
            return Term(at);
        }
        s.add(Node::App(op, args.into()), sort, hash)
    }
    pub fn bool(&self, b: bool) -> Term {
        self.intern(Node::Bool(b), Sort::BOOL)
    }
    pub fn tt(&self) -> Term {
        self.bool(true)
    }
    pub fn ff(&self) -> Term {
        self.bool(false)
    }
    pub fn int(&self, n: i128) -> Term {
        self.num(n, Sort::INT)
    }
    /// A number of an integer sort; machine sorts wrap it.
    pub fn num(&self, n: i128, sort: Sort) -> Term {
        let n = sort.as_machine().map_or(n, |m| m.wrap(n));
        self.intern(Node::Num(n, sort), sort)
    }
    pub fn variant(&self, e: EnumId, at: u32) -> Term {
        let sort = self.sort(SortKind::Enum(e));
        self.intern(Node::Variant(e, at), sort)
    }
    pub fn null(&self, class: ClassId) -> Term {
        self.reference(class, 0)
    }
    pub fn reference(&self, class: ClassId, n: u32) -> Term {
        let sort = self.sort(SortKind::Ref(class));
        self.intern(Node::Ref(class, n), sort)
    }
    pub fn sym(&self, symbol: Symbol) -> Term {
        let sort = self.symbol_sort(symbol);
        self.intern(Node::Sym(symbol), sort)
    }
    /// Builds an application; the result sort follows from the operator.
    pub fn mk(&self, op: Op, args: &[Term]) -> Term {
        let sort = self.result_sort(op, args);
        self.intern_app(op, args, sort)
    }
    fn result_sort(&self, op: Op, args: &[Term]) -> Sort {
        let of = |i: usize| self.sort_of(args[i]);
        match op {
            Op::Not | Op::And | Op::Or | Op::Implies | Op::Eq | Op::Lt | Op::Le | Op::Member | Op::Subset => Sort::BOOL,
            Op::Ite => of(1),
            Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Mod | Op::Neg => of(0),
            Op::BitAnd | Op::BitOr | Op::BitXor | Op::BitNot | Op::Shl | Op::Shr => of(0),
            Op::Cast(s) | Op::ConstMap(s) | Op::EmptySet(s) | Op::EmptySeq(s) => s,
            Op::Select => match self.kind(of(0)) {
                SortKind::Map(_, v) => v,
                other => panic!("select from a map, not from {other:?}"),
            },
            Op::Store => of(0),
            Op::Insert => of(1),
            Op::Union | Op::Minus | Op::Concat | Op::Slice => of(0),
            Op::Unit => self.sort(SortKind::Seq(of(0))),
            Op::Len => Sort::INT,
            Op::At => match self.kind(of(0)) {
                SortKind::Seq(e) => e,
                other => panic!("index a sequence, not {other:?}"),
            },
        }
    }
    pub fn not(&self, a: Term) -> Term {
        self.mk(Op::Not, &[a])
    }
    pub fn and(&self, args: &[Term]) -> Term {
        match args {
            [] => self.tt(),
            [one] => *one,
            _ => self.mk(Op::And, args),
        }
    }
    pub fn or(&self, args: &[Term]) -> Term {
        match args {
            [] => self.ff(),
            [one] => *one,
            _ => self.mk(Op::Or, args),
        }
    }
    pub fn implies(&self, a: Term, b: Term) -> Term {
        self.mk(Op::Implies, &[a, b])
    }
    pub fn ite(&self, c: Term, a: Term, b: Term) -> Term {
        debug_assert_eq!(self.sort_of(a), self.sort_of(b), "both branches of a choice have one sort");
        self.mk(Op::Ite, &[c, a, b])
    }
    pub fn eq(&self, a: Term, b: Term) -> Term {
        debug_assert_eq!(self.sort_of(a), self.sort_of(b), "an equation has one sort");
        self.mk(Op::Eq, &[a, b])
    }
    pub fn ne(&self, a: Term, b: Term) -> Term {
        self.not(self.eq(a, b))
    }
    pub fn lt(&self, a: Term, b: Term) -> Term {
        debug_assert_eq!(self.sort_of(a), self.sort_of(b), "a comparison has one sort");
        self.mk(Op::Lt, &[a, b])
    }
    pub fn le(&self, a: Term, b: Term) -> Term {
        debug_assert_eq!(self.sort_of(a), self.sort_of(b), "a comparison has one sort");
        self.mk(Op::Le, &[a, b])
    }
    pub fn add(&self, a: Term, b: Term) -> Term {
        self.mk(Op::Add, &[a, b])
    }
    pub fn sub(&self, a: Term, b: Term) -> Term {
        self.mk(Op::Sub, &[a, b])
    }
    pub fn mul(&self, a: Term, b: Term) -> Term {
        self.mk(Op::Mul, &[a, b])
    }
    pub fn cast(&self, a: Term, to: Sort) -> Term {
        if self.sort_of(a) == to { a } else { self.mk(Op::Cast(to), &[a]) }
    }
    pub fn select(&self, m: Term, k: Term) -> Term {
        self.mk(Op::Select, &[m, k])
    }
    pub fn store(&self, m: Term, k: Term, v: Term) -> Term {
        self.mk(Op::Store, &[m, k, v])
    }
    pub fn const_map(&self, sort: Sort, v: Term) -> Term {
        self.mk(Op::ConstMap(sort), &[v])
    }
    pub fn member(&self, e: Term, set: Term) -> Term {
        self.mk(Op::Member, &[e, set])
    }
    pub fn quant(&self, q: Quantifier, bound: &[Symbol], body: Term) -> Term {
        if bound.is_empty() {
            return body;
        }
        self.intern(Node::Quant(q, bound.into(), body), Sort::BOOL)
    }
    pub fn forall(&self, bound: &[Symbol], body: Term) -> Term {
        self.quant(Quantifier::Forall, bound, body)
    }
    pub fn exists(&self, bound: &[Symbol], body: Term) -> Term {
        self.quant(Quantifier::Exists, bound, body)
    }
    /// The value of a sort that stands where a total operation has nothing better: false, 0, first, null, empty.
    pub fn default_of(&self, sort: Sort) -> Term {
        match self.kind(sort) {
            SortKind::Bool => self.ff(),
            SortKind::Int | SortKind::Machine(_) => self.num(0, sort),
            SortKind::Enum(e) => self.variant(e, 0),
            SortKind::Ref(c) => self.null(c),
            SortKind::Map(_, v) => {
                let d = self.default_of(v);
                self.const_map(sort, d)
            }
            SortKind::Set(_) => self.mk(Op::EmptySet(sort), &[]),
            SortKind::Seq(_) => self.mk(Op::EmptySeq(sort), &[]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_equal_terms_are_one_term() {
        let t = Terms::new();
        let x = t.symbol("x", Sort::INT);
        let a = t.add(t.sym(x), t.int(1));
        let b = t.add(t.sym(x), t.int(1));
        assert_eq!(a, b);
        assert_ne!(a, t.add(t.int(1), t.sym(x)));
    }

    #[test]
    fn check_a_clone_keeps_old_ids() {
        let t = Terms::new();
        let a = t.int(5);
        let u = t.clone();
        u.int(6);
        assert_eq!(u.node(a), t.node(a));
    }

    #[test]
    fn check_bound_symbols_are_not_free() {
        let t = Terms::new();
        let (x, y) = (t.symbol("x", Sort::INT), t.symbol("y", Sort::INT));
        let body = t.lt(t.sym(x), t.sym(y));
        assert_eq!(t.free_symbols(t.forall(&[x], body)), vec![y]);
    }

    #[test]
    fn check_free_symbols_of_a_large_graph_under_a_quantifier_are_found_at_once() {
        let t = Terms::new();
        let (x, y) = (t.symbol("x", Sort::INT), t.symbol("y", Sort::INT));
        let mut sum = t.add(t.sym(x), t.sym(y));
        for _ in 0..200 {
            sum = t.add(sum, sum);
        }
        let all = t.forall(&[x], t.eq(sum, sum));
        assert_eq!(t.free_symbols(all), vec![y]);
        assert_eq!(t.free_symbols(t.and(&[all, t.eq(t.sym(x), t.sym(x))])), vec![y, x]);
    }
}
