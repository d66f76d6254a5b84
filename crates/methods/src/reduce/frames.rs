//! What a loop does to maps, guessed from one turn of it: which entries it has changed so far, and what they are.
//!
//! In: a loop head inside a run, and the piece of code from it back to it. Out: facts over the store now and the store where the run
//! began (or the procedure, where `old` is said): a map is unchanged except at a key; unchanged outside the part that the loop has passed; and of that part, each entry is what one turn
//! makes of it. Keys are recognised by a variable that goes up by one. They are guesses: the search drops those that do not hold.
//! Deliberately absent: loops that go down or in larger steps; values that depend on the turn before.

use super::setting::ReductionSetting;
use crate::infer::vocabulary::FactSet;
use logic::{Node, Op, Sort, SortKind, Symbol, Term, Terms};
use program::symbolic::{CodePiece, PieceBounds, piece};
use program::{Code, LocId, Program, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

/// So many entries of one map are looked at.
const MAX_WRITES: usize = 6;

/// An entry that one turn writes: its keys from the outside in, and the value if every turn writes it.
struct Written {
    var: VarId,
    keys: Vec<Term>,
    value: Option<Term>,
}

/// A variable of the unit that goes up by one in each turn, and what it starts with.
struct Counter {
    symbol: Symbol,
    start: Vec<Term>,
}

/// What may hold at the head of a loop.
pub(super) fn loop_facts(
    s: &ReductionSetting<'_>,
    code: &Code,
    head: LocId,
    stops: &dyn Fn(LocId) -> bool,
    before: &[(VarId, Symbol)],
    own: &FxHashSet<Symbol>,
) -> Vec<Term> {
    let (p, t) = (s.p, s.terms);
    let bounds = PieceBounds { start: head, stops, commits: &|_| false, committed: false };
    let Ok(turn) = piece(p, t, code, &bounds) else { return Vec::new() };
    let Some((_, end)) = turn.ends.iter().find(|(at, _)| *at == head) else { return Vec::new() };
    let changed: FxHashSet<Symbol> = end.store.changed().map(|(v, _)| p.vars[v].symbol).collect();
    let mut writes = Vec::new();
    for (v, value) in end.store.changed().filter(|(v, _)| p.vars[*v].scope == program::Scope::Shared) {
        entries(t, v, Vec::new(), t.sym(p.vars[v].symbol), value, true, &mut writes);
    }
    let counters = counters(p, t, code, &turn, head, own);
    let mut out = FactSet::default();
    let named = |x: Term| t.free_symbols(x).iter().all(|f| own.contains(f));
    let tested = tested(s, code, &turn);
    for (v, begin) in before {
        let mine: Vec<&Written> = writes.iter().filter(|w| w.var == *v).take(MAX_WRITES).collect();
        if mine.is_empty() {
            continue;
        }
        let (now, then) = (t.sym(p.vars[*v].symbol), t.sym(*begin));
        let steady = |k: &Term| named(*k) && !t.free_symbols(*k).iter().any(|f| changed.contains(f));
        let fixed = |w: &Written| w.keys.iter().copied().take_while(steady).collect::<Vec<Term>>();
        // Unchanged except at the keys that are the same in every turn.
        let mut prefixes: Vec<Vec<Term>> = mine.iter().map(|w| fixed(w)).collect();
        prefixes.dedup();
        if prefixes.iter().all(|k| !k.is_empty()) {
            let rebuilt = prefixes.iter().fold(then, |m, k| with(t, m, k, at(t, now, k)));
            out.add(t.eq(now, rebuilt));
        }
        for w in &mine {
            let prefix = fixed(w);
            let Some(key) = w.keys.get(prefix.len()).copied() else { continue };
            let (here, there) = (at(t, now, &prefix), at(t, then, &prefix));
            for c in &counters {
                if !t.free_symbols(key).contains(&c.symbol) || t.sort_of(key) != Sort::INT {
                    continue;
                }
                for start in &c.start {
                    let first = t.substitute(key, [(c.symbol, *start)]);
                    let q = t.symbol("passed", Sort::INT);
                    let any = t.sym(q);
                    let passed = t.and(&[t.le(first, any), t.lt(any, key)]);
                    let kept = t.eq(t.select(here, any), t.select(there, any));
                    out.add(t.forall(&[q], t.or(&[passed, kept])));
                    // The turn that wrote the entry: a key may be the counter and an offset.
                    let from = t.cast(*start, Sort::INT);
                    let turn = if first == from { any } else { t.add(t.sub(any, first), from) };
                    let each = |x: Term| {
                        let x = replace(t, x, key, any, &mut FxHashMap::default());
                        let left = t.cast(turn, t.symbol_sort(c.symbol));
                        t.substitute(x, [(c.symbol, left)])
                    };
                    let back: Vec<(Symbol, Term)> =
                        before.iter().map(|(x, b)| (p.vars[*x].symbol, t.sym(*b))).collect();
                    let usable = |x: Term| {
                        let shared = |f: &Symbol| before.iter().any(|(x, _)| p.vars[*x].symbol == *f);
                        t.free_symbols(x).iter().all(|f| own.contains(f) || shared(f))
                    };
                    if let Some(value) = w.value.filter(|x| usable(*x)) {
                        let value = each(value);
                        let deeper: Vec<Term> = w.keys[prefix.len() + 1..].iter().map(|k| each(*k)).collect();
                        let made = at(t, t.select(here, any), &deeper);
                        out.add(t.forall(&[q], t.implies(passed, t.eq(made, value))));
                        let earlier = t.substitute(value, back.iter().copied());
                        out.add(t.forall(&[q], t.implies(passed, t.eq(made, earlier))));
                    }
                    // What every turn waited for or asked held of the entry at the beginning.
                    for f in tested.iter().filter(|f| usable(**f) && t.free_symbols(**f).contains(&c.symbol)) {
                        let earlier = t.substitute(each(*f), back.iter().copied());
                        out.add(t.forall(&[q], t.implies(passed, earlier)));
                    }
                }
            }
        }
    }
    out.all
}

/// What the whole of the code may have done to maps since the run began: each is unchanged except at the keys that some step writes; locks among
/// these were free.
pub(super) fn run_facts(
    s: &ReductionSetting<'_>,
    code: &Code,
    before: &[(VarId, Symbol)],
    own: &FxHashSet<Symbol>,
) -> Vec<Term> {
    let (p, t) = (s.p, s.terms);
    let mut times: FxHashMap<Symbol, usize> = FxHashMap::default();
    for u in code.actions.iter().flat_map(|a| &a.updates) {
        *times.entry(p.vars[u.var].symbol).or_default() += 1;
    }
    let steady = |k: &Term| t.free_symbols(*k).iter().all(|f| own.contains(f) && times.get(f).is_none_or(|n| *n <= 1));
    let mut out = FactSet::default();
    for (v, begin) in before {
        let mut writes = Vec::new();
        let (now, then) = (t.sym(p.vars[*v].symbol), t.sym(*begin));
        for u in code.actions.iter().flat_map(|a| &a.updates).filter(|u| u.var == *v) {
            entries(t, *v, Vec::new(), now, u.value, true, &mut writes);
        }
        let mut lists: Vec<Vec<Term>> = Vec::new();
        for w in &writes {
            let keys: Vec<Term> = w.keys.iter().copied().take_while(steady).collect();
            if !lists.contains(&keys) {
                lists.push(keys);
            }
        }
        if lists.is_empty() || lists.len() > MAX_WRITES || lists.iter().any(Vec::is_empty) {
            continue;
        }
        let rebuilt = lists.iter().fold(then, |m, k| with(t, m, k, at(t, now, k)));
        out.add(t.eq(now, rebuilt));
        if p.vars[*v].kind == program::VarKind::Lock {
            lists.iter().filter(|k| t.sort_of(at(t, then, k)) == Sort::INT).for_each(|k| {
                out.add(t.eq(at(t, then, k), t.int(0)));
            });
        }
    }
    out.all
}

/// What every turn finds true before it goes on: guards and gates of steps that each turn takes, over the store at the head.
fn tested(s: &ReductionSetting<'_>, code: &Code, turn: &CodePiece) -> Vec<Term> {
    let (p, t) = (s.p, s.terms);
    let mut out = FactSet::default();
    for step in &turn.steps {
        let action = &code.actions[step.action];
        let guard = step.before.read(p, t, action.guard);
        if t.is_true(guard) {
            continue;
        }
        for f in t.conjuncts(guard) {
            let quantified = matches!(t.node(f), Node::Quant(..));
            if !quantified && p.shared().any(|v| t.free_symbols(f).contains(&p.vars[v].symbol)) {
                out.add(f);
            }
        }
    }
    out.all.truncate(4);
    out.all
}

/// The unit's variables that go up by one.
fn counters(
    p: &Program,
    t: &Terms,
    code: &Code,
    turn: &CodePiece,
    head: LocId,
    own: &FxHashSet<Symbol>,
) -> Vec<Counter> {
    let Some((_, end)) = turn.ends.iter().find(|(at, _)| *at == head) else { return Vec::new() };
    let mut out = Vec::new();
    for (v, value) in end.store.changed() {
        let (symbol, sort) = (p.vars[v].symbol, p.vars[v].sort);
        let number = matches!(t.kind(sort), SortKind::Int | SortKind::Machine(_));
        if !own.contains(&symbol) || !number || value != t.add(t.sym(symbol), t.num(1, sort)) {
            continue;
        }
        let others = code.actions.iter().flat_map(|a| &a.updates).filter(|u| u.var == v && u.value != value);
        let mut start: Vec<Term> = others
            .map(|u| u.value)
            .filter(|x| t.free_symbols(*x).iter().all(|f| own.contains(f) && *f != symbol))
            .collect();
        start.dedup();
        start.truncate(2);
        out.push(Counter { symbol, start });
    }
    out
}

/// The entries that the new value of a map differs in. `each`: on every way.
fn entries(t: &Terms, var: VarId, keys: Vec<Term>, old: Term, value: Term, each: bool, out: &mut Vec<Written>) {
    if value == old {
        return;
    }
    match t.app(value) {
        Some((Op::Store, args)) => {
            entries(t, var, keys.clone(), old, args[0], each, out);
            let mut deeper = keys;
            deeper.push(args[1]);
            entries(t, var, deeper, t.select(old, args[1]), args[2], each, out);
        }
        Some((Op::Ite, args)) => {
            entries(t, var, keys.clone(), old, args[1], false, out);
            entries(t, var, keys, old, args[2], false, out);
        }
        _ if keys.is_empty() => {}
        _ => {
            // A later value of the same entry is the one that stays.
            out.retain(|w| w.var != var || w.keys != keys);
            out.push(Written { var, keys, value: each.then_some(value) });
        }
    }
}

fn at(t: &Terms, map: Term, keys: &[Term]) -> Term {
    keys.iter().fold(map, |m, k| t.select(m, *k))
}

/// The map with another value at the keys.
fn with(t: &Terms, map: Term, keys: &[Term], value: Term) -> Term {
    match keys {
        [] => value,
        [k, rest @ ..] => t.store(map, *k, with(t, t.select(map, *k), rest, value)),
    }
}

/// A term with one of its parts replaced.
fn replace(t: &Terms, term: Term, part: Term, by: Term, known: &mut FxHashMap<Term, Term>) -> Term {
    if term == part {
        return by;
    }
    if let Some(x) = known.get(&term) {
        return *x;
    }
    let out = match t.app(term) {
        Some((op, args)) => {
            let new: Vec<Term> = args.iter().map(|a| replace(t, *a, part, by, known)).collect();
            if new[..] == args[..] { term } else { t.mk(op, &new) }
        }
        None => term,
    };
    known.insert(term, out);
    out
}
