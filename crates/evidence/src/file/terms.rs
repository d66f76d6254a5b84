//! Terms in a file: new sorts, new symbols, and nodes in an order where each uses only earlier ones.
//!
//! Symbols and sorts of the program are named by their number in it (and, for people and as a check, by name); the
//! digest makes sure that the numbers mean the same.
//! In: terms to be written once each (`Pool`), or a list of nodes to be read. Out: their numbers in the file, or
//! well-sorted terms over the program's table.

use super::FileError;
use super::read::{JsonReader, number};
use logic::{ClassId, EnumId, MachineIntSort, Node, Op, Quantifier, Sort, SortKind, Symbol, Term, Terms};
use program::Program;
use rustc_hash::FxHashMap;
use serde_json::{Value as Json, json};

/// Terms on their way into a file.
pub(crate) struct Pool<'a> {
    program: &'a Program,
    terms: &'a Terms,
    nodes: Vec<Json>,
    at: FxHashMap<Term, usize>,
    symbols: Vec<Json>,
    symbol_at: FxHashMap<Symbol, usize>,
    sorts: Vec<Json>,
    sort_at: FxHashMap<Sort, usize>,
}

impl<'a> Pool<'a> {
    pub(super) fn new(program: &'a Program, terms: &'a Terms) -> Self {
        Self {
            program,
            terms,
            nodes: Vec::new(),
            at: FxHashMap::default(),
            symbols: Vec::new(),
            symbol_at: FxHashMap::default(),
            sorts: Vec::new(),
            sort_at: FxHashMap::default(),
        }
    }
    pub(super) fn terms(&self) -> &'a Terms {
        self.terms
    }
    pub(super) fn finish(self) -> Json {
        json!({ "sorts": self.sorts, "symbols": self.symbols, "nodes": self.nodes })
    }
    /// Program sorts keep their number; new ones follow.
    pub(super) fn sort(&mut self, sort: Sort) -> usize {
        let known = self.program.terms.sort_count();
        if sort.index() < known {
            return sort.index();
        }
        if let Some(at) = self.sort_at.get(&sort) {
            return *at;
        }
        let kind = match self.terms.kind(sort) {
            SortKind::Map(k, v) => json!(["map", self.sort(k), self.sort(v)]),
            SortKind::Set(e) => json!(["set", self.sort(e)]),
            SortKind::Seq(e) => json!(["seq", self.sort(e)]),
            SortKind::Enum(e) => json!(["enum", e.0]),
            SortKind::Ref(c) => json!(["ref", c.0]),
            SortKind::Bool | SortKind::Int | SortKind::Machine(_) => unreachable!("basic sorts have fixed numbers"),
        };
        self.sorts.push(kind);
        let at = known + self.sorts.len() - 1;
        self.sort_at.insert(sort, at);
        at
    }
    pub(super) fn symbol(&mut self, symbol: Symbol) -> usize {
        let known = self.program.terms.symbol_count();
        if symbol.index() < known {
            return symbol.index();
        }
        if let Some(at) = self.symbol_at.get(&symbol) {
            return *at;
        }
        let sort = self.sort(self.terms.symbol_sort(symbol));
        self.symbols.push(json!({ "name": self.terms.symbol_name(symbol), "sort": sort }));
        let at = known + self.symbols.len() - 1;
        self.symbol_at.insert(symbol, at);
        at
    }
    /// The position of a term in the list of nodes.
    pub(super) fn term(&mut self, term: Term) -> usize {
        if let Some(at) = self.at.get(&term) {
            return *at;
        }
        let node = match self.terms.node(term) {
            Node::Bool(b) => json!(b),
            Node::Num(n, sort) => json!(["num", number(n), self.sort(sort)]),
            Node::Variant(e, v) => json!(["variant", e.0, v]),
            Node::Ref(c, n) => json!(["ref", c.0, n]),
            Node::Sym(s) => json!(["sym", self.symbol(s), self.terms.symbol_name(s)]),
            Node::App(op, args) => {
                let mut parts = vec![Json::from(op_name(op))];
                if let Op::Cast(s) | Op::ConstMap(s) | Op::EmptySet(s) | Op::EmptySeq(s) = op {
                    parts.push(json!({ "sort": self.sort(s) }));
                }
                parts.extend(args.iter().map(|a| Json::from(self.term(*a))));
                Json::Array(parts)
            }
            Node::Quant(q, bound, body) => {
                let bound: Vec<usize> = bound.iter().map(|s| self.symbol(*s)).collect();
                json!([if q == Quantifier::Forall { "forall" } else { "exists" }, bound, self.term(body)])
            }
        };
        self.nodes.push(node);
        self.at.insert(term, self.nodes.len() - 1);
        self.nodes.len() - 1
    }
    /// A formula: its node, and its text for people where they are short.
    pub(super) fn formula(&mut self, term: Term) -> Json {
        let at = self.term(term);
        if tree_size(self.terms, term, 200) < 200 {
            json!({ "node": at, "shown": self.terms.show(term) })
        } else {
            json!({ "node": at })
        }
    }
}

/// The size of a term as a tree, as far as the limit: a shared graph can be a huge tree.
fn tree_size(terms: &Terms, term: Term, limit: usize) -> usize {
    let mut size = 0;
    let mut todo = vec![term];
    while let Some(t) = todo.pop() {
        size += 1;
        if size >= limit {
            break;
        }
        match terms.node(t) {
            Node::App(_, args) => todo.extend(args.iter()),
            Node::Quant(_, _, body) => todo.push(body),
            _ => {}
        }
    }
    size
}

const OPS: [(Op, &str); 32] = [
    (Op::Not, "not"),
    (Op::And, "and"),
    (Op::Or, "or"),
    (Op::Implies, "implies"),
    (Op::Ite, "ite"),
    (Op::Eq, "eq"),
    (Op::Lt, "lt"),
    (Op::Le, "le"),
    (Op::Add, "add"),
    (Op::Sub, "sub"),
    (Op::Mul, "mul"),
    (Op::Div, "div"),
    (Op::Mod, "mod"),
    (Op::Neg, "neg"),
    (Op::BitAnd, "bitand"),
    (Op::BitOr, "bitor"),
    (Op::BitXor, "bitxor"),
    (Op::BitNot, "bitnot"),
    (Op::Shl, "shl"),
    (Op::Shr, "shr"),
    (Op::Select, "select"),
    (Op::Store, "store"),
    (Op::Member, "member"),
    (Op::Insert, "insert"),
    (Op::Union, "union"),
    (Op::Minus, "minus"),
    (Op::Subset, "subset"),
    (Op::Unit, "unit"),
    (Op::Concat, "concat"),
    (Op::Len, "len"),
    (Op::At, "at"),
    (Op::Slice, "slice"),
];

pub(crate) fn op_name(op: Op) -> &'static str {
    match op {
        Op::Cast(_) => "cast",
        Op::ConstMap(_) => "constmap",
        Op::EmptySet(_) => "emptyset",
        Op::EmptySeq(_) => "emptyseq",
        _ => OPS.iter().find(|(o, _)| *o == op).map_or("?", |(_, name)| name),
    }
}

/// The operator of a name; some are of a sort.
pub(crate) fn operator(name: &str, sort: Option<Sort>) -> Option<Op> {
    match (name, sort) {
        ("cast", Some(sort)) => Some(Op::Cast(sort)),
        ("constmap", Some(sort)) => Some(Op::ConstMap(sort)),
        ("emptyset", Some(sort)) => Some(Op::EmptySet(sort)),
        ("emptyseq", Some(sort)) => Some(Op::EmptySeq(sort)),
        (_, None) => OPS.iter().find(|(_, known)| *known == name).map(|(op, _)| *op),
        _ => None,
    }
}

/// Terms on their way out of a file.
pub(crate) struct TermsFromFile {
    pub terms: Terms,
    nodes: Vec<Term>,
    symbols: Vec<Symbol>,
    sorts: Vec<Sort>,
}

impl TermsFromFile {
    pub(super) fn term(&self, r: &JsonReader<'_>) -> Result<Term, FileError> {
        Ok(self.nodes[r.index(self.nodes.len())?])
    }
    pub(super) fn formula(&self, r: &JsonReader<'_>) -> Result<Term, FileError> {
        let term = self.term(&r.field("node")?)?;
        if self.terms.sort_of(term) == Sort::BOOL { Ok(term) } else { Err(r.error("a formula was expected")) }
    }
    pub(super) fn symbol(&self, r: &JsonReader<'_>) -> Result<Symbol, FileError> {
        Ok(self.symbols[r.index(self.symbols.len())?])
    }
    fn sort(&self, r: &JsonReader<'_>) -> Result<Sort, FileError> {
        Ok(self.sorts[r.index(self.sorts.len())?])
    }
}

pub(crate) fn read_terms(program: &Program, r: &JsonReader<'_>) -> Result<TermsFromFile, FileError> {
    let terms = program.terms.clone();
    let sorts = (0..terms.sort_count() as u32).map(Sort).collect();
    let symbols = (0..terms.symbol_count() as u32).map(Symbol).collect();
    let mut out = TermsFromFile { terms, nodes: Vec::new(), symbols, sorts };
    for s in r.field("sorts")?.list()? {
        let parts = s.list()?;
        let sort = |i: usize| parts.get(i).ok_or_else(|| s.error("a part is missing")).and_then(|p| out.sort(p));
        let name = parts.first().ok_or_else(|| s.error("a sort was expected"))?.string()?;
        let kind = match name {
            "map" => SortKind::Map(sort(1)?, sort(2)?),
            "set" => SortKind::Set(sort(1)?),
            "seq" => SortKind::Seq(sort(1)?),
            "enum" => SortKind::Enum(EnumId(part(&s, &parts, 1)?.index(out.terms.enum_count())? as u32)),
            "ref" => SortKind::Ref(ClassId(part(&s, &parts, 1)?.index(out.terms.class_count())? as u32)),
            other => return Err(s.error(format!("no sort is made with `{other}`"))),
        };
        let sort = out.terms.sort(kind);
        out.sorts.push(sort);
    }
    for s in r.field("symbols")?.list()? {
        let sort = out.sort(&s.field("sort")?)?;
        let symbol = out.terms.symbol(s.field("name")?.string()?, sort);
        out.symbols.push(symbol);
    }
    for n in r.field("nodes")?.list()? {
        let term = node(&out, &n)?;
        out.nodes.push(term);
    }
    Ok(out)
}

fn part<'a, 'b>(
    whole: &JsonReader<'a>,
    parts: &'b [JsonReader<'a>],
    i: usize,
) -> Result<&'b JsonReader<'a>, FileError> {
    parts.get(i).ok_or_else(|| whole.error("a part is missing"))
}

fn node(read: &TermsFromFile, n: &JsonReader<'_>) -> Result<Term, FileError> {
    let t = &read.terms;
    if let Ok(b) = n.boolean() {
        return Ok(t.bool(b));
    }
    let parts = n.list()?;
    let at = |i: usize| part(n, &parts, i);
    let name = at(0)?.string()?;
    match name {
        "num" => {
            let (value, sort) = (at(1)?.number()?, read.sort(at(2)?)?);
            let fits = sort == Sort::INT
                || sort.as_machine().is_some_and(|m: MachineIntSort| (m.min()..=m.max()).contains(&value));
            if fits { Ok(t.num(value, sort)) } else { Err(n.error("the number is not of that sort")) }
        }
        "variant" => {
            let e = EnumId(at(1)?.index(t.enum_count())? as u32);
            Ok(t.variant(e, at(2)?.index(t.enum_size(e))? as u32))
        }
        "ref" => {
            let c = ClassId(at(1)?.index(t.class_count())? as u32);
            Ok(t.reference(c, at(2)?.count()?))
        }
        "sym" => {
            let s = read.symbol(at(1)?)?;
            let shown = at(2)?.string()?;
            if t.symbol_name(s) != shown {
                return Err(n.error(format!("symbol {} is called `{}`, not `{shown}`", s.0, t.symbol_name(s))));
            }
            Ok(t.sym(s))
        }
        "forall" | "exists" => {
            let bound: Vec<Symbol> = at(1)?.list()?.iter().map(|b| read.symbol(b)).collect::<Result<_, _>>()?;
            let body = read.term(at(2)?)?;
            if t.sort_of(body) != Sort::BOOL {
                return Err(n.error("the body of a quantifier is a formula"));
            }
            let q = if name == "forall" { Quantifier::Forall } else { Quantifier::Exists };
            Ok(t.quant(q, &bound, body))
        }
        _ => {
            let sort = match at(1).ok().and_then(|p| p.optional("sort")) {
                Some(sort) => Some(read.sort(&sort)?),
                None => None,
            };
            let skip = if sort.is_some() { 2 } else { 1 };
            let op = operator(name, sort).ok_or_else(|| n.error(format!("no operator is called `{name}`")))?;
            let args: Vec<Term> = parts[skip..].iter().map(|p| read.term(p)).collect::<Result<_, _>>()?;
            t.try_mk(op, &args).map_err(|e| n.error(e))
        }
    }
}
