//! Facts as clauses over atoms, and how they are found: what excludes a situation and no row that was seen.
//!
//! In: rows that are reachable, or that nothing can exclude, by cast and locations; a row to be excluded. Out: a clause "instances at these
//! locations never have all of these atoms as they are here", as general as the rows allow. Deliberately absent: whether it is inductive (`learn`).

use super::atoms::{Bits, Cast, Row, has, set};
use program::LocId;
use rustc_hash::{FxHashMap, FxHashSet};

/// Instances of the cast at these locations do not have all these atoms with these values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Clause {
    pub cast: usize,
    /// By instance and location.
    pub at: Vec<Vec<bool>>,
    pub mask: Bits,
    pub value: Bits,
}

impl Clause {
    pub(super) fn is_of(&self, at: &[LocId]) -> bool {
        self.at.iter().zip(at).all(|(list, l)| list[l.index()])
    }
    /// Whether the clause is broken by a row at these locations, as far as is known.
    pub(super) fn excludes(&self, at: &[LocId], row: &Row) -> bool {
        self.is_of(at) && matches(&self.mask, &self.value, row)
    }
    pub(super) fn literals(&self) -> Vec<(usize, bool)> {
        (0..super::atoms::MAX_ATOMS).filter(|k| has(&self.mask, *k)).map(|k| (k, has(&self.value, k))).collect()
    }
}

/// A row has these values, or may have them.
fn matches(mask: &Bits, value: &Bits, row: &Row) -> bool {
    (0..4).all(|w| (row.value[w] ^ value[w]) & mask[w] & row.known[w] == 0)
}

/// The rows of one cast, by locations.
#[derive(Default)]
pub(super) struct Rows {
    by_place: FxHashMap<Vec<LocId>, Vec<Row>>,
    seen: FxHashSet<(Vec<LocId>, Row)>,
}

/// How many ways to exclude a row are compared.
const MAX_WAYS: usize = 3;

impl Rows {
    pub(super) fn add(&mut self, at: &[LocId], row: Row) -> bool {
        let new = self.seen.insert((at.to_vec(), row));
        if new {
            self.by_place.entry(at.to_vec()).or_default().push(row);
        }
        new
    }
    pub(super) fn len(&self) -> usize {
        self.seen.len()
    }
    /// Whether some row breaks the clause.
    pub(super) fn contradicts(&self, clause: &Clause) -> bool {
        self.by_place.iter().any(|(at, list)| list.iter().any(|r| clause.excludes(at, r)))
    }
    fn at(&self, at: &[LocId]) -> &[Row] {
        self.by_place.get(at).map_or(&[], |list| list)
    }

    /// A clause over usable atoms that excludes the row and none of these, with its rank; none if there is no such clause.
    pub(super) fn excluding(
        &self,
        of: &Cast,
        cast: usize,
        at: &[LocId],
        row: &Row,
        usable: &[usize],
        random: &mut base::Random,
    ) -> Option<(u64, Clause)> {
        let mut best: Option<(u64, Clause)> = None;
        for way in 0..MAX_WAYS {
            let literals = self.literals(of, at, row, usable, way, random)?;
            let clause = self.widened(of, cast, at, row, &literals);
            let rank = rank(of, &literals, &clause);
            if best.as_ref().is_none_or(|(r, _)| rank < *r) {
                best = Some((rank, clause));
            }
            if literals.is_empty() {
                break;
            }
        }
        best
    }

    /// Atoms by which the row differs from all rows at its place: greedily, the cheap ones that tell many rows apart first.
    fn literals(
        &self,
        cast: &Cast,
        at: &[LocId],
        row: &Row,
        usable: &[usize],
        way: usize,
        random: &mut base::Random,
    ) -> Option<Vec<usize>> {
        let differs = |k: usize, other: &Row| has(&other.known, k) && has(&other.value, k) != has(&row.value, k);
        let mut left: Vec<&Row> = self.at(at).iter().collect();
        let mut chosen: Vec<usize> = Vec::new();
        while !left.is_empty() {
            let score = |k: usize| {
                let told = left.iter().filter(|r| differs(k, r)).count() as u64;
                told * 1000 / u64::from(cast.atoms[k].cost + 1)
            };
            let mut scored: Vec<(u64, usize)> =
                usable.iter().map(|k| (score(*k), *k)).filter(|(s, _)| *s > 0).collect();
            scored.sort_by_key(|(s, k)| (std::cmp::Reverse(*s), *k));
            // The first way takes the best; the others one of the best.
            let most = scored.len().min(if way == 0 { 1 } else { 4 });
            if most == 0 {
                return None;
            }
            let k = scored[random.below(most)].1;
            chosen.push(k);
            left.retain(|r| !differs(k, r));
        }
        // What others make unnecessary goes, the costly first.
        let mut order = chosen.clone();
        order.sort_by_key(|k| std::cmp::Reverse(cast.atoms[*k].cost));
        for k in order {
            let others: Vec<usize> = chosen.iter().copied().filter(|x| *x != k).collect();
            if self.at(at).iter().all(|r| others.iter().any(|x| differs(*x, r))) {
                chosen = others;
            }
        }
        Some(chosen)
    }

    /// The same at as many locations as the rows allow.
    fn widened(&self, cast: &Cast, of: usize, at: &[LocId], row: &Row, literals: &[usize]) -> Clause {
        let mut clause = Clause { cast: of, at: Vec::new(), mask: Bits::default(), value: Bits::default() };
        for k in literals {
            set(&mut clause.mask, *k);
            if has(&row.value, *k) {
                set(&mut clause.value, *k);
            }
        }
        // Where some row has these values.
        let taken: FxHashSet<&[LocId]> = self
            .by_place
            .iter()
            .filter(|(_, list)| list.iter().any(|r| matches(&clause.mask, &clause.value, r)))
            .map(|(at, _)| &at[..])
            .collect();
        let allowed = |who: usize, l: LocId| literals.iter().all(|k| cast.is_live_of(*k, who, l));
        let locations = |who: usize| cast.locations(who);
        let alone = |orders: &[usize]| {
            let mut sets: Vec<Vec<LocId>> = at.iter().map(|l| vec![*l]).collect();
            for who in orders {
                for l in locations(*who).filter(|l| *l != at[*who] && allowed(*who, *l)) {
                    let clash = match sets.len() {
                        1 => taken.contains(&[l][..]),
                        _ => sets[1 - who].iter().any(|m| {
                            let place = if *who == 0 { [l, *m] } else { [*m, l] };
                            taken.contains(&place[..])
                        }),
                    };
                    if !clash {
                        sets[*who].push(l);
                    }
                }
            }
            sets
        };
        let sets = match at.len() {
            0 => Vec::new(),
            1 => alone(&[0]),
            _ => {
                let (a, b) = (alone(&[0, 1]), alone(&[1, 0]));
                let area = |sets: &[Vec<LocId>]| sets.iter().map(Vec::len).product::<usize>();
                if area(&b) > area(&a) { b } else { a }
            }
        };
        for (who, list) in sets.iter().enumerate() {
            let mut flags = vec![false; cast.locations(who).len()];
            list.iter().for_each(|l| flags[l.index()] = true);
            clause.at.push(flags);
        }
        clause
    }
}

/// Smaller is better: few and cheap literals, then many locations.
fn rank(cast: &Cast, literals: &[usize], clause: &Clause) -> u64 {
    let cost: u64 = literals.iter().map(|k| 3 + u64::from(cast.atoms[*k].cost)).sum();
    let share = |flags: &Vec<bool>| flags.iter().filter(|x| **x).count() as u64 * 100 / flags.len().max(1) as u64;
    let wide: u64 = clause.at.iter().map(share).sum::<u64>() / clause.at.len().max(1) as u64;
    cost * 100 + (100 - wide) * 4
}
