//! What is known of the heap at the start, from the `init` facts.
//!
//! In: the program's facts. Out: which classes have as their live objects just what shared variables refer to, which
//! fields lead from live objects to live objects or null, and the other facts compiled. A fact that cannot be compiled is left out: that only
//! admits more initial states.

use super::expr::{Constant, Ex, ExId, ShapeCompiler, SymbolMeaning};
use super::types::ShapeTypes;
use logic::{ClassId, Node, Op, Quantifier, SortKind, Symbol, Term};
use program::Program;
use rustc_hash::FxHashMap;

#[derive(Default)]
pub(crate) struct ShapeStart {
    /// For each class: how many objects are live at the start, where shared variables refer only to those.
    pub objects: Vec<Option<u32>>,
    /// Fields that lead from live objects only to live objects or null.
    pub closed: Vec<u16>,
    pub facts: Vec<(Vec<Ex>, ExId)>,
}

pub(crate) fn read_start(
    program: &Program,
    types: &mut ShapeTypes,
    meaning: &FxHashMap<Symbol, SymbolMeaning>,
    constants: &mut Vec<Constant>,
) -> ShapeStart {
    let objects = program.classes.ids().map(|c| objects(program, c)).collect();
    let mut start = ShapeStart { objects, ..ShapeStart::default() };
    let facts = program.init.iter().filter_map(|f| f.formula).flat_map(|f| program.terms.conjuncts(f));
    for fact in facts.collect::<Vec<_>>() {
        if let Some(field) = closed(program, meaning, fact) {
            start.closed.push(field);
        } else {
            let mut c = ShapeCompiler::new(&program.terms, types, meaning, constants);
            if let Ok(at) = c.term(fact, None) {
                start.facts.push((c.arena, at));
            }
        }
    }
    start
}

fn live_of(program: &Program, meaning: &FxHashMap<Symbol, SymbolMeaning>, term: Term) -> Option<u16> {
    match meaning.get(&program.terms.as_symbol(term)?) {
        Some(SymbolMeaning::Live(c)) => Some(*c),
        _ => None,
    }
}

/// How many objects of the class are live at the start: `live` is a set of numbered objects, and every shared variable of the class
/// without an initial value is null or one of them (`r == null || r in live`).
fn objects(program: &Program, class: ClassId) -> Option<u32> {
    let t = &program.terms;
    let live = program.classes[class].live;
    let mut numbers = Vec::new();
    let mut set = program.vars[live].initial?;
    while let (Op::Insert, a) = t.app(set)? {
        let Node::Ref(_, n) = t.node(a[0]) else { return None };
        if n != 0 && !numbers.contains(&n) {
            numbers.push(n);
        }
        set = a[1];
    }
    if !matches!(t.app(set), Some((Op::EmptySet(_), _))) {
        return None;
    }
    let facts: Vec<Term> = program.init.iter().filter_map(|f| f.formula).flat_map(|f| t.conjuncts(f)).collect();
    let sort = t.sort(SortKind::Ref(class));
    let mut roots = program.shared().filter(|v| program.vars[*v].sort == sort && program.vars[*v].initial.is_none());
    let held = |v: program::VarId| {
        let r = program.now(v);
        let null = t.eq(r, t.null(class));
        let alive = t.member(r, program.now(live));
        facts.contains(&t.or(&[null, alive]))
    };
    roots.all(held).then_some(numbers.len() as u32)
}

/// `forall o :: o in live ==> o.f == null || o.f in live`
fn closed(program: &Program, meaning: &FxHashMap<Symbol, SymbolMeaning>, fact: Term) -> Option<u16> {
    let t = &program.terms;
    let Node::Quant(Quantifier::Forall, bound, body) = t.node(fact) else { return None };
    let [o] = bound[..] else { return None };
    let (Op::Implies, sides) = t.app(body)? else { return None };
    let (Op::Member, here) = t.app(sides[0])? else { return None };
    live_of(program, meaning, here[1])?;
    let (Op::Or, cases) = t.app(sides[1])? else { return None };
    let [null, there] = cases[..] else { return None };
    let (Op::Eq, null) = t.app(null)? else { return None };
    let (Op::Member, there) = t.app(there)? else { return None };
    live_of(program, meaning, there[1])?;
    let (Op::Select, read) = t.app(null[0])? else { return None };
    let fine = t.as_symbol(here[0]) == Some(o)
        && t.as_symbol(read[1]) == Some(o)
        && matches!(t.node(null[1]), Node::Ref(_, 0))
        && there[0] == null[0];
    match meaning.get(&t.as_symbol(read[0])?) {
        Some(SymbolMeaning::Field(f)) if fine => Some(*f),
        _ => None,
    }
}
