//! What is known of the heap at the start, from the `init` facts.
//!
//! Comes in: the program's facts. Goes out: which classes have as their live objects just what shared variables refer to, which
//! fields lead from live objects to live objects or null, and the other facts compiled. A fact that cannot be compiled is left out: that only
//! admits more initial states.

use super::expr::{Compiler, Constant, Ex, ExId, Meaning};
use super::types::Types;
use logic::{Node, Op, Quantifier, Symbol, Term};
use program::Program;
use rustc_hash::FxHashMap;

#[derive(Default)]
pub struct Start {
    /// Classes whose live objects at the start are those that shared variables refer to.
    pub rooted: Vec<u16>,
    /// Fields that lead from live objects only to live objects or null.
    pub closed: Vec<u16>,
    pub facts: Vec<(Vec<Ex>, ExId)>,
}

pub fn read(
    program: &Program,
    types: &mut Types,
    meaning: &FxHashMap<Symbol, Meaning>,
    constants: &mut Vec<Constant>,
) -> Start {
    let mut start = Start::default();
    let facts = program.init.iter().filter_map(|f| f.formula).flat_map(|f| program.terms.conjuncts(f));
    for fact in facts.collect::<Vec<_>>() {
        if let Some(class) = roots(program, meaning, fact) {
            start.rooted.push(class);
        } else if let Some(field) = closed(program, meaning, fact) {
            start.closed.push(field);
        } else {
            let mut c = Compiler::new(&program.terms, types, meaning, constants);
            if let Ok(at) = c.term(fact, None) {
                start.facts.push((c.arena, at));
            }
        }
    }
    start
}

fn live_of(program: &Program, meaning: &FxHashMap<Symbol, Meaning>, term: Term) -> Option<u16> {
    match meaning.get(&program.terms.as_symbol(term)?) {
        Some(Meaning::Live(c)) => Some(*c),
        _ => None,
    }
}

/// `live == {a, b} - {null}` where the shared variables of the class without an initial value are among a, b.
fn roots(program: &Program, meaning: &FxHashMap<Symbol, Meaning>, fact: Term) -> Option<u16> {
    let t = &program.terms;
    let (Op::Eq, sides) = t.app(fact)? else { return None };
    let (class, mut set) = match (live_of(program, meaning, sides[0]), live_of(program, meaning, sides[1])) {
        (Some(c), None) => (c, sides[1]),
        (None, Some(c)) => (c, sides[0]),
        _ => return None,
    };
    let mut named = Vec::new();
    loop {
        match t.node(set) {
            Node::App(Op::EmptySet(_), _) => break,
            Node::App(Op::Insert, a) => {
                named.push(t.as_symbol(a[0])?);
                set = a[1];
            }
            Node::App(Op::Minus, a) => {
                let (Op::Insert, nothing) = t.app(a[1])? else { return None };
                let null = matches!(t.node(nothing[0]), Node::Ref(_, 0));
                if !null || !matches!(t.app(nothing[1]), Some((Op::EmptySet(_), _))) {
                    return None;
                }
                set = a[0];
            }
            _ => return None,
        }
    }
    // Only shared variables of the class may be named, and all that are open.
    let of_class = |v: &program::Var| matches!(t.kind(v.sort), logic::SortKind::Ref(c) if c.0 as u16 == class);
    let known =
        named.iter().all(|s| program.shared().any(|v| program.vars[v].symbol == *s && of_class(&program.vars[v])));
    let all = program
        .shared()
        .map(|v| &program.vars[v])
        .filter(|v| of_class(v) && v.initial.is_none())
        .all(|v| named.contains(&v.symbol));
    (known && all).then_some(class)
}

/// `forall o :: o in live ==> o.f == null || o.f in live`
fn closed(program: &Program, meaning: &FxHashMap<Symbol, Meaning>, fact: Term) -> Option<u16> {
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
        Some(Meaning::Field(f)) if fine => Some(*f),
        _ => None,
    }
}
