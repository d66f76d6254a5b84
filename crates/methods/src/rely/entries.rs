//! Candidate invariants about all entries of a map: `forall k :: l[k] == 0 ==> c[k] >= 0`.
//!
//! In: the shared maps of a piece of the program, and its vocabulary: values that entries are compared with, constants,
//! integers, and maps of locks. Out: what may hold of every entry: always, while its lock is free, or on one side of an
//! integer of the store. Deliberately absent: relations between entries of one map; more than one condition.

use logic::{Op, Quantifier, Sort, SortKind, Symbol, Term, Terms};

/// One shared map.
pub(crate) struct SharedMap {
    pub map: Term,
    pub lock: bool,
    /// What its entries are compared with.
    pub values: Vec<Term>,
    pub key: Symbol,
}

/// Limits on how many are made.
const MAX_PER_TABLE: usize = 60;
const MAX_SIDES: usize = 3;

/// Candidates for every table; `constants` and `numbers` are integers of the program and of its store.
pub(crate) fn candidates(t: &Terms, tables: &[SharedMap], constants: &[Term], numbers: &[Term]) -> Vec<Term> {
    let mut out = Vec::new();
    for table in tables.iter().filter(|table| !table.lock) {
        let key = t.sym(table.key);
        let sort = t.symbol_sort(table.key);
        let facts = facts(t, table, constants);
        let free = tables.iter().filter(|other| other.lock && t.symbol_sort(other.key) == sort);
        let mut when: Vec<Term> = free.map(|lock| t.eq(t.select(lock.map, key), t.int(0))).collect();
        if sort == Sort::INT {
            when.extend(numbers.iter().take(MAX_SIDES).flat_map(|n| [t.le(*n, key), t.lt(key, *n)]));
        }
        let bodies = facts.iter().copied().chain(when.iter().flat_map(|w| facts.iter().map(|f| t.implies(*w, *f))));
        out.extend(bodies.take(MAX_PER_TABLE).map(|body| t.quant(Quantifier::Forall, &[table.key], body)));
    }
    out
}

/// What may hold of one entry.
fn facts(t: &Terms, table: &SharedMap, constants: &[Term]) -> Vec<Term> {
    let entry = t.select(table.map, t.sym(table.key));
    let equal = table.values.iter().map(|v| t.mk(Op::Eq, &[entry, *v]));
    let mut out: Vec<Term> = equal.flat_map(|e| [e, t.not(e)]).collect();
    match t.kind(t.sort_of(entry)) {
        SortKind::Bool => out.extend([entry, t.not(entry)]),
        SortKind::Int => out.extend(constants.iter().flat_map(|c| [t.le(*c, entry), t.le(entry, *c)])),
        _ => {}
    }
    out
}
