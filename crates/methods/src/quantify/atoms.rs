//! Atoms over none, one or two instances, and what is true of them in a state.
//!
//! In: the vocabulary. Out: for every *cast* (the threads of the instances that a fact speaks of) its atoms, their formulas, and rows: which
//! atoms are true, given the values of the bases. Deliberately absent: where the values come from (`samples`, models of the solver).

use super::vocabulary::{BaseTerm, COMPOUND_COST, Vocabulary};
use logic::{Sort, SortKind, Symbol, Term, Terms, Value};
use program::{LocId, Program, ThreadId, VarId};

/// A set of atoms.
pub(super) type Bits = [u64; 4];
pub(super) const MAX_ATOMS: usize = 256;

pub(super) fn has(bits: &Bits, at: usize) -> bool {
    bits[at / 64] >> (at % 64) & 1 == 1
}

pub(super) fn set(bits: &mut Bits, at: usize) {
    bits[at / 64] |= 1 << (at % 64);
}

/// Which atoms are true; of those that are not known nothing is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Row {
    pub value: Bits,
    pub known: Bits,
}

/// Symbols for the instances that are spoken of: by role, the symbol for `tid` and each local.
#[derive(Clone)]
pub(super) struct Roles {
    pub own: Vec<Symbol>,
    /// By role but the first, in the order of `own`.
    pub further: Vec<Vec<Symbol>>,
    pub control: Vec<Symbol>,
}

impl Roles {
    pub(super) fn new(p: &Program, terms: &Terms, roles: usize) -> Self {
        let mut own = vec![p.tid];
        own.extend(p.threads.iter().flat_map(|t| t.locals.iter().map(|v| p.vars[*v].symbol)));
        let copy = |n: usize, s: &Symbol| terms.symbol(format!("{}.{n}", terms.symbol_name(*s)), terms.symbol_sort(*s));
        let further = (2..=roles).map(|n| own.iter().map(|s| copy(n, s)).collect()).collect();
        let control = (1..=roles).map(|n| terms.symbol(format!("at.{n}"), Sort::INT)).collect();
        Self { own, further, control }
    }
    pub(super) fn symbol(&self, role: usize, own: Symbol) -> Symbol {
        if role == 0 {
            return own;
        }
        let at = self.own.iter().position(|x| *x == own).expect("a local or `tid`");
        self.further[role - 1][at]
    }
    /// A formula of one instance, as one of the instance in a role.
    pub(super) fn recast(&self, t: &Terms, role: usize, formula: Term) -> Term {
        if role == 0 {
            return formula;
        }
        t.substitute(formula, self.own.iter().zip(&self.further[role - 1]).map(|(a, b)| (*a, t.sym(*b))))
    }
}

/// Whose a base is: nobody's, or of an instance of the cast; and which.
type BaseId = (Option<usize>, usize);

#[derive(Clone, Copy, Debug)]
enum Test {
    True(BaseId),
    Is(BaseId, i64),
    Below(BaseId, i64),
    Same(BaseId, BaseId),
    Less(BaseId, BaseId),
}

#[derive(Clone, Debug)]
pub(super) struct Atom {
    test: Test,
    pub cost: u32,
}

/// The threads of the instances, and what may be said of them.
pub(super) struct Cast {
    pub threads: Vec<ThreadId>,
    pub atoms: Vec<Atom>,
    /// By instance and location: the atoms that speak of no dead local of it.
    live: Vec<Vec<Bits>>,
}

/// Which atoms there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AtomReach {
    /// Those that most reasons are made of: what relates an instance to the other's id, flags, and of one instance plain comparisons.
    Narrow,
    /// All.
    Wide,
}

/// Values of bases, by their order; none where a value is not known.
pub(super) type BaseValues = Vec<Option<i64>>;

/// Two terms of different instances, or of one, are compared up to this cost together.
const MAX_CROSS_COST: u32 = 5;
const MAX_OWN_COST: u32 = 7;
/// An enum with more variants is compared with none.
const MAX_VARIANTS: usize = 9;

impl Cast {
    pub(super) fn new(
        p: &Program,
        terms: &Terms,
        words: &Vocabulary,
        threads: Vec<ThreadId>,
        reach: AtomReach,
    ) -> Self {
        let narrow = reach == AtomReach::Narrow;
        let couple = narrow && threads.len() == 2;
        let id_kinds: Vec<usize> =
            words.own.iter().flatten().filter(|b| terms.as_symbol(b.term) == Some(p.tid)).map(|b| b.kind).collect();
        let bases = |who: Option<usize>| match who {
            None => &words.shared,
            Some(i) => &words.own[threads[i].index()],
        };
        let whose: Vec<Option<usize>> = std::iter::once(None).chain((0..threads.len()).map(Some)).collect();
        let all: Vec<BaseId> = whose.iter().flat_map(|w| (0..bases(*w).len()).map(move |at| (*w, at))).collect();
        let base = |id: BaseId| &bases(id.0)[id.1];
        let mut atoms = Vec::new();
        for id in &all {
            let b = base(*id);
            let sort = terms.sort_of(b.term);
            // Of two instances: what is theirs by their ids, and flags.
            let is_id = id_kinds.contains(&b.kind);
            let of_both = match id.0 {
                None => words.written.contains(&b.term),
                Some(_) => !sort.is_integer() || b.cost == 1 || is_id,
            };
            if couple && !of_both {
                continue;
            }
            let mut add = |test: Test, more: u32| atoms.push(Atom { test, cost: b.cost + more });
            match terms.kind(sort) {
                _ if sort == Sort::BOOL => add(Test::True(*id), 0),
                SortKind::Enum(e) if terms.enum_size(e) <= MAX_VARIANTS => {
                    (0..terms.enum_size(e)).for_each(|n| add(Test::Is(*id, n as i64), 0));
                }
                SortKind::Ref(_) => add(Test::Is(*id, 0), 0),
                _ => {}
            }
            if sort.is_integer() {
                for n in words.numbers.get(&b.kind).into_iter().flatten() {
                    let Ok(n) = i64::try_from(*n) else { continue };
                    // That somebody has the number 1 is no reason for anything.
                    if narrow && n > 0 && is_id {
                        continue;
                    }
                    add(Test::Is(*id, n), 1);
                    if couple && is_id {
                        continue;
                    }
                    add(Test::Below(*id, n), 2);
                }
            }
        }
        for (n, a) in all.iter().enumerate() {
            for b in &all[n + 1..] {
                let (x, y) = (base(*a), base(*b));
                let sort = terms.sort_of(x.term);
                if x.kind != y.kind || sort != terms.sort_of(y.term) || sort == Sort::BOOL {
                    continue;
                }
                let cross = a.0 != b.0 && a.0.is_some() && b.0.is_some();
                let cost = x.cost + y.cost;
                if cost > if cross { MAX_CROSS_COST } else { MAX_OWN_COST } {
                    continue;
                }
                if narrow && (x.cost >= COMPOUND_COST || y.cost >= COMPOUND_COST) {
                    continue;
                }
                // Of two instances: the one's id, or what is at it, with something of the other or of the store.
                let are_ids = |z: &BaseTerm| terms.as_symbol(z.term) == Some(p.tid);
                let with_own_id = a.0.is_some() && a.0 == b.0 && are_ids(x) && !y.locals.is_empty() && y.cost == 2;
                if couple
                    && !with_own_id
                    && !(cross && (x.cost == 1 || y.cost == 1))
                    && !(a.0.is_none() && b.0.is_some() && y.cost == 1 && words.written.contains(&x.term))
                {
                    continue;
                }
                if !(are_ids(x) && are_ids(y)) {
                    atoms.push(Atom { test: Test::Same(*a, *b), cost: cost + 1 });
                }
                if sort.is_integer() && !(couple && with_own_id) {
                    atoms.push(Atom { test: Test::Less(*a, *b), cost: cost + 1 });
                    atoms.push(Atom { test: Test::Less(*b, *a), cost: cost + 1 });
                }
            }
        }
        if threads.len() == 2 {
            // Why two instances exclude each other is best said by what relates them.
            atoms.iter_mut().for_each(|a| a.cost += relates(a.test));
        }
        if atoms.len() > MAX_ATOMS {
            atoms.sort_by_key(|a| a.cost);
            atoms.truncate(MAX_ATOMS);
        }
        let mut cast = Self { threads: threads.clone(), atoms, live: Vec::new() };
        for (who, thread) in threads.iter().enumerate() {
            let code = &p.threads[*thread].code;
            let live = program::live::live(p, code);
            let at = |l: LocId| {
                let mut bits = Bits::default();
                for (k, atom) in cast.atoms.iter().enumerate() {
                    let of =
                        |id: BaseId| -> &[VarId] { if id.0 == Some(who) { &bases(id.0)[id.1].locals } else { &[] } };
                    if ids(atom.test).into_iter().flatten().all(|id| of(id).iter().all(|v| live[l].contains(v))) {
                        set(&mut bits, k);
                    }
                }
                bits
            };
            cast.live.push(code.locations.ids().map(at).collect());
        }
        cast
    }

    /// The locations of one of the instances.
    pub(super) fn locations(&self, who: usize) -> impl ExactSizeIterator<Item = LocId> {
        (0..self.live[who].len()).map(|l| LocId(l as u32))
    }
    /// Whether an atom speaks of no dead local where the instances are.
    pub(super) fn is_live(&self, atom: usize, at: &[LocId]) -> bool {
        self.live.iter().zip(at).all(|(live, l)| has(&live[l.index()], atom))
    }
    /// The same, of one of the instances.
    pub(super) fn is_live_of(&self, atom: usize, who: usize, at: LocId) -> bool {
        has(&self.live[who][at.index()], atom)
    }

    /// The values are those of the shared bases, and of each instance's.
    pub(super) fn row(&self, shared: &BaseValues, own: &[&BaseValues]) -> Row {
        let value = |id: BaseId| match id.0 {
            None => shared[id.1],
            Some(i) => own[i][id.1],
        };
        let mut row = Row::default();
        for (k, atom) in self.atoms.iter().enumerate() {
            let holds = match atom.test {
                Test::True(a) => value(a).map(|v| v != 0),
                Test::Is(a, n) => value(a).map(|v| v == n),
                Test::Below(a, n) => value(a).map(|v| v < n),
                Test::Same(a, b) => value(a).zip(value(b)).map(|(x, y)| x == y),
                Test::Less(a, b) => value(a).zip(value(b)).map(|(x, y)| x < y),
            };
            if let Some(holds) = holds {
                set(&mut row.known, k);
                if holds {
                    set(&mut row.value, k);
                }
            }
        }
        row
    }

    /// The atom as a formula, the instances in these roles.
    pub(super) fn formula(&self, t: &Terms, words: &Vocabulary, roles: &Roles, atom: usize, at: &[usize]) -> Term {
        let of = |id: BaseId| match id.0 {
            None => words.shared[id.1].term,
            Some(i) => roles.recast(t, at[i], words.own[self.threads[i].index()][id.1].term),
        };
        let number = |like: Term, n: i64| match t.kind(t.sort_of(like)) {
            SortKind::Enum(e) => t.variant(e, n as u32),
            SortKind::Ref(class) => t.reference(class, n as u32),
            _ => t.num(n.into(), t.sort_of(like)),
        };
        match self.atoms[atom].test {
            Test::True(a) => of(a),
            Test::Is(a, n) => t.eq(of(a), number(of(a), n)),
            Test::Below(a, n) => t.lt(of(a), number(of(a), n)),
            Test::Same(a, b) => t.eq(of(a), of(b)),
            Test::Less(a, b) => t.lt(of(a), of(b)),
        }
    }

    /// The atom that says that a goal holds.
    pub(super) fn goal(&self, words: &Vocabulary, formula: Term) -> Option<usize> {
        let is_it = |test: Test| match test {
            Test::True((None, at)) => words.shared[at].term == formula,
            Test::True((Some(i), at)) => words.own[self.threads[i].index()][at].term == formula,
            _ => false,
        };
        self.atoms.iter().position(|a| is_it(a.test))
    }
}

/// What it costs more in a fact about two instances.
fn relates(test: Test) -> u32 {
    match test {
        Test::Same((Some(a), _), (Some(b), _)) | Test::Less((Some(a), _), (Some(b), _)) if a != b => 0,
        Test::True(_) => 2,
        Test::Is((Some(_), _), _) | Test::Same(..) | Test::Below(..) | Test::Less(..) | Test::Is(..) => 4,
    }
}

fn ids(test: Test) -> [Option<BaseId>; 2] {
    match test {
        Test::True(a) | Test::Is(a, _) | Test::Below(a, _) => [Some(a), None],
        Test::Same(a, b) | Test::Less(a, b) => [Some(a), Some(b)],
    }
}

/// A scalar value as a number.
pub(super) fn as_number(value: &Value) -> Option<i64> {
    match value {
        Value::Bool(b) => Some(i64::from(*b)),
        Value::Int(n) => i64::try_from(*n).ok(),
        Value::Variant(n) | Value::Ref(n) => Some(i64::from(*n)),
        _ => None,
    }
}
