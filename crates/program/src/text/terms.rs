//! Terms and sorts as text: prefix form, every symbol by a name that is unique in its table, shared and deep parts
//! bound by `let` once, so that the text is no larger than the graph.
//!
//! In: terms with the names of their symbols, or text. Out: the other, or a `TextError`.

use super::TextError;
use super::sexp::{Sexp, atom, form, list};
use base::ids::Id;
use logic::{ClassId, EnumId, MachineIntSort, Node, Op, Quantifier, Sort, SortKind, Symbol, Term, Terms};
use rustc_hash::FxHashMap;

/// Terms nested deeper than this are cut by a `let`.
const MAX_NESTING: usize = 60;

/// The names that symbols have in text.
pub(crate) struct SymbolNames {
    of: Vec<String>,
    symbols: FxHashMap<String, Symbol>,
}

impl SymbolNames {
    /// A symbol's own name where it is plain and no other symbol has it; else the name with the symbol's number.
    pub(super) fn new(terms: &Terms) -> Self {
        let own: Vec<String> = (0..terms.symbol_count()).map(|i| terms.symbol_name(Symbol::from_index(i))).collect();
        let mut count: FxHashMap<&str, usize> = FxHashMap::default();
        own.iter().for_each(|n| *count.entry(n).or_default() += 1);
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '\'' | '.');
        let mut of = Vec::new();
        for (i, name) in own.iter().enumerate() {
            let starts = name.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
            let reserved = matches!(name.as_str(), "true" | "false");
            let simple = starts && !reserved && name.chars().all(plain);
            if simple && count[name.as_str()] == 1 {
                of.push(name.clone());
            } else {
                let shown: String = name.chars().map(|c| if plain(c) { c } else { '_' }).collect();
                of.push(format!("{shown}#{i}"));
            }
        }
        let symbols = of.iter().enumerate().map(|(i, n)| (n.clone(), Symbol::from_index(i))).collect();
        Self { of, symbols }
    }
    pub(super) fn name(&self, symbol: Symbol) -> &str {
        &self.of[symbol.index()]
    }
    pub(super) fn symbol(&self, name: &str) -> Option<Symbol> {
        if let Some(s) = self.symbols.get(name) {
            return Some(*s);
        }
        // A name that was unique when the text was written may not be so in a larger table; the number decides.
        let (_, number) = name.rsplit_once('#')?;
        let at: usize = number.parse().ok()?;
        (at < self.of.len()).then(|| Symbol::from_index(at))
    }
}

/// A term as text.
#[cfg(test)]
pub(crate) fn print_term(terms: &Terms, names: &SymbolNames, term: Term) -> String {
    let mut out = String::new();
    super::sexp::pretty(&term_sexp(terms, names, term), 0, &mut out);
    out
}

/// A term from text; every symbol, sort and operator is checked.
#[cfg(test)]
pub(crate) fn read_term(terms: &Terms, names: &SymbolNames, text: &str) -> Result<Term, TextError> {
    term_of(terms, names, &super::sexp::parse(text)?)
}

const OPERATORS: &[(&str, Op)] = &[
    ("not", Op::Not),
    ("and", Op::And),
    ("or", Op::Or),
    ("=>", Op::Implies),
    ("ite", Op::Ite),
    ("=", Op::Eq),
    ("<", Op::Lt),
    ("<=", Op::Le),
    ("+", Op::Add),
    ("-", Op::Sub),
    ("*", Op::Mul),
    ("div", Op::Div),
    ("mod", Op::Mod),
    ("neg", Op::Neg),
    ("bitand", Op::BitAnd),
    ("bitor", Op::BitOr),
    ("bitxor", Op::BitXor),
    ("bitnot", Op::BitNot),
    ("shl", Op::Shl),
    ("shr", Op::Shr),
    ("select", Op::Select),
    ("store", Op::Store),
    ("member", Op::Member),
    ("insert", Op::Insert),
    ("union", Op::Union),
    ("minus", Op::Minus),
    ("subset", Op::Subset),
    ("unit", Op::Unit),
    ("concat", Op::Concat),
    ("len", Op::Len),
    ("at", Op::At),
    ("slice", Op::Slice),
];

fn op_sexp(terms: &Terms, op: Op) -> Vec<Sexp> {
    let sorted = |name: &str, s: Sort| vec![atom(name), sort_sexp(terms, s)];
    match op {
        Op::Cast(s) => sorted("cast", s),
        Op::ConstMap(s) => sorted("const", s),
        Op::EmptySet(s) => sorted("emptyset", s),
        Op::EmptySeq(s) => sorted("emptyseq", s),
        plain => {
            let name = OPERATORS.iter().find(|(_, o)| *o == plain).map(|(n, _)| *n);
            vec![atom(name.expect("every operator without a sort is listed"))]
        }
    }
}

pub(crate) fn sort_sexp(terms: &Terms, sort: Sort) -> Sexp {
    match terms.kind(sort) {
        SortKind::Bool => atom("bool"),
        SortKind::Int => atom("int"),
        SortKind::Machine(m) => atom(m.name()),
        SortKind::Enum(e) => atom(e.to_string()),
        SortKind::Ref(c) => atom(c.to_string()),
        SortKind::Map(k, v) => form("map", [sort_sexp(terms, k), sort_sexp(terms, v)]),
        SortKind::Set(e) => form("set", [sort_sexp(terms, e)]),
        SortKind::Seq(e) => form("seq", [sort_sexp(terms, e)]),
    }
}

/// A term as nested lists.
pub(crate) fn term_sexp(terms: &Terms, names: &SymbolNames, root: Term) -> Sexp {
    // First, in postorder: how often each compound part is used, and how deep it would print.
    let mut uses: FxHashMap<Term, usize> = FxHashMap::default();
    let mut order: Vec<Term> = Vec::new();
    let mut todo = vec![(root, false)];
    while let Some((t, children_done)) = todo.pop() {
        if children_done {
            order.push(t);
            continue;
        }
        let n = uses.entry(t).or_default();
        *n += 1;
        if *n > 1 {
            continue;
        }
        todo.push((t, true));
        terms.with_node(t, |node| match node {
            Node::App(_, args) => todo.extend(args.iter().rev().map(|a| (*a, false))),
            Node::Quant(_, _, body) => todo.push((*body, false)),
            _ => {}
        });
    }
    let mut built: FxHashMap<Term, (Sexp, usize)> = FxHashMap::default();
    let mut bindings: Vec<Sexp> = Vec::new();
    for t in order {
        let (sexp, depth) = node_sexp(terms, names, t, &built);
        let compound = matches!(sexp, Sexp::List(..));
        let cut = compound && t != root && (uses[&t] > 1 || depth >= MAX_NESTING);
        if cut {
            let name = format!("%{}", bindings.len());
            bindings.push(list([atom(name.clone()), sexp]));
            built.insert(t, (atom(name), 0));
        } else {
            built.insert(t, (sexp, depth));
        }
    }
    let (body, _) = built.remove(&root).expect("the root is built last");
    if bindings.is_empty() { body } else { form("let", [list(bindings), body]) }
}

fn node_sexp(terms: &Terms, names: &SymbolNames, t: Term, built: &FxHashMap<Term, (Sexp, usize)>) -> (Sexp, usize) {
    match terms.node(t) {
        Node::Bool(b) => (atom(b.to_string()), 0),
        Node::Num(n, s) => match s.as_machine() {
            Some(m) => (atom(format!("{n}:{}", m.name())), 0),
            None => (atom(n.to_string()), 0),
        },
        Node::Variant(e, v) => (form("variant", [atom(e.to_string()), atom(v.to_string())]), 1),
        Node::Ref(c, n) => (form("ref", [atom(c.to_string()), atom(n.to_string())]), 1),
        Node::Sym(s) => (atom(names.name(s)), 0),
        Node::App(op, args) => {
            let mut parts = op_sexp(terms, op);
            let mut depth = 0;
            for a in args.iter() {
                let (s, d) = &built[a];
                parts.push(s.clone());
                depth = depth.max(*d);
            }
            (list(parts), depth + 1)
        }
        Node::Quant(q, bound, body) => {
            let head = if q == Quantifier::Forall { "forall" } else { "exists" };
            let (s, d) = &built[&body];
            let xs = list(bound.iter().map(|x| atom(names.name(*x))));
            (form(head, [xs, s.clone()]), d + 1)
        }
    }
}

pub(crate) fn fail<T>(s: &Sexp, message: impl Into<String>) -> Result<T, TextError> {
    let line = if let Sexp::List(_, line) = s { *line } else { 0 };
    Err(TextError { line, message: message.into() })
}

pub(crate) fn sort_of(terms: &Terms, s: &Sexp) -> Result<Sort, TextError> {
    match s {
        Sexp::Atom(a) => match a.as_str() {
            "bool" => Ok(Sort::BOOL),
            "int" => Ok(Sort::INT),
            name => {
                if let Some(m) = MachineIntSort::ALL.iter().find(|m| m.name() == name) {
                    return Ok(Sort::machine(*m));
                }
                let number = |prefix: char| name.strip_prefix(prefix).and_then(|n| n.parse::<u32>().ok());
                if let Some(e) = number('e').filter(|e| (*e as usize) < terms.enum_count()) {
                    return Ok(terms.sort(SortKind::Enum(EnumId(e))));
                }
                if let Some(c) = number('c').filter(|c| (*c as usize) < terms.class_count()) {
                    return Ok(terms.sort(SortKind::Ref(ClassId(c))));
                }
                fail(s, format!("`{name}` is no sort"))
            }
        },
        Sexp::List(parts, _) => match &parts[..] {
            [Sexp::Atom(h), k, v] if h == "map" => Ok(terms.map_sort(sort_of(terms, k)?, sort_of(terms, v)?)),
            [Sexp::Atom(h), e] if h == "set" => Ok(terms.sort(SortKind::Set(sort_of(terms, e)?))),
            [Sexp::Atom(h), e] if h == "seq" => Ok(terms.sort(SortKind::Seq(sort_of(terms, e)?))),
            _ => fail(s, "this is no sort"),
        },
        Sexp::Text(_) => fail(s, "this is no sort"),
    }
}

pub(crate) fn term_of(terms: &Terms, names: &SymbolNames, s: &Sexp) -> Result<Term, TextError> {
    TermReader { terms, names, bound: FxHashMap::default() }.read(s)
}

struct TermReader<'a> {
    terms: &'a Terms,
    names: &'a SymbolNames,
    bound: FxHashMap<String, Term>,
}

impl TermReader<'_> {
    fn read(&mut self, s: &Sexp) -> Result<Term, TextError> {
        match s {
            Sexp::Atom(a) => self.atom(s, a),
            Sexp::Text(_) => fail(s, "a string is no term"),
            Sexp::List(parts, _) => {
                let Some((Sexp::Atom(head), rest)) = parts.split_first() else {
                    return fail(s, "an operator is missing");
                };
                self.list(s, head, rest)
            }
        }
    }

    fn atom(&mut self, s: &Sexp, a: &str) -> Result<Term, TextError> {
        let t = self.terms;
        match a {
            "true" => return Ok(t.tt()),
            "false" => return Ok(t.ff()),
            _ => {}
        }
        if a.starts_with('%') {
            return self.bound.get(a).copied().ok_or(()).or_else(|()| fail(s, format!("`{a}` is not bound")));
        }
        if a.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            let (digits, sort) = match a.split_once(':') {
                Some((d, m)) => match MachineIntSort::ALL.iter().find(|x| x.name() == m) {
                    Some(m) => (d, Sort::machine(*m)),
                    None => return fail(s, format!("`{m}` is no machine integer")),
                },
                None => (a, Sort::INT),
            };
            let Ok(n) = digits.parse::<i128>() else { return fail(s, format!("`{a}` is no number")) };
            if sort.as_machine().is_some_and(|m| !(m.min()..=m.max()).contains(&n)) {
                return fail(s, format!("`{a}` is out of range"));
            }
            return Ok(t.num(n, sort));
        }
        match self.names.symbol(a) {
            Some(symbol) => Ok(t.sym(symbol)),
            None => fail(s, format!("`{a}` is no symbol of the program")),
        }
    }

    fn list(&mut self, s: &Sexp, head: &str, rest: &[Sexp]) -> Result<Term, TextError> {
        let t = self.terms;
        let id = |x: &Sexp, prefix: char, count: usize| -> Option<u32> {
            let Sexp::Atom(a) = x else { return None };
            a.strip_prefix(prefix)?.parse::<u32>().ok().filter(|n| (*n as usize) < count)
        };
        let small = |x: &Sexp| if let Sexp::Atom(a) = x { a.parse::<u32>().ok() } else { None };
        match (head, rest) {
            ("let", [Sexp::List(bindings, _), body]) => {
                for b in bindings {
                    let Sexp::List(pair, _) = b else { return fail(s, "a binding is a name and a term") };
                    let [Sexp::Atom(name), value] = &pair[..] else {
                        return fail(b, "a binding is a name and a term");
                    };
                    if !name.starts_with('%') {
                        return fail(b, "a bound name starts with `%`");
                    }
                    let value = self.read(value)?;
                    self.bound.insert(name.clone(), value);
                }
                self.read(body)
            }
            ("forall" | "exists", [Sexp::List(xs, _), body]) => {
                let mut bound = Vec::new();
                for x in xs {
                    match x {
                        Sexp::Atom(a) => match self.names.symbol(a) {
                            Some(symbol) => bound.push(symbol),
                            None => return fail(s, format!("`{a}` is no symbol of the program")),
                        },
                        _ => return fail(s, "bound symbols are names"),
                    }
                }
                let body = self.read(body)?;
                if bound.is_empty() || t.sort_of(body) != Sort::BOOL {
                    return fail(s, "a quantifier has symbols and a formula");
                }
                let q = if head == "forall" { Quantifier::Forall } else { Quantifier::Exists };
                Ok(t.quant(q, &bound, body))
            }
            ("variant", [e, v]) => match (id(e, 'e', t.enum_count()), small(v)) {
                (Some(e), Some(v)) if (v as usize) < t.enum_size(EnumId(e)) => Ok(t.variant(EnumId(e), v)),
                _ => fail(s, "there is no such variant"),
            },
            ("ref", [c, n]) => match (id(c, 'c', t.class_count()), small(n)) {
                (Some(c), Some(n)) => Ok(t.reference(ClassId(c), n)),
                _ => fail(s, "there is no such class"),
            },
            ("cast" | "const" | "emptyset" | "emptyseq", [sort, args @ ..]) => {
                let sort = sort_of(t, sort)?;
                let op = match head {
                    "cast" => Op::Cast(sort),
                    "const" => Op::ConstMap(sort),
                    "emptyset" => Op::EmptySet(sort),
                    _ => Op::EmptySeq(sort),
                };
                self.apply(s, op, args)
            }
            _ => match OPERATORS.iter().find(|(n, _)| *n == head) {
                Some((_, op)) => self.apply(s, *op, rest),
                None => fail(s, format!("`{head}` is no operator")),
            },
        }
    }

    fn apply(&mut self, s: &Sexp, op: Op, args: &[Sexp]) -> Result<Term, TextError> {
        let args = args.iter().map(|a| self.read(a)).collect::<Result<Vec<_>, _>>()?;
        self.terms.try_mk(op, &args).or_else(|why| fail(s, why))
    }
}
