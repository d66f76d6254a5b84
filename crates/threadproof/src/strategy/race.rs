//! Whose answer is reported: a rank that is the same in every run, and when it is known that no better one can come.
//!
//! In: for each method its clock (effort spent, see `base::budget`) and its place in the order of preference. Out: the rank of an
//! answer, and whether it is final. Methods race, but the one that is first on the clock on the wall is not preferred: an answer is ranked by
//! the *round* of effort in which its method found it, then by trust, then by the order. An answer is final when every method that could
//! still give a better one has ended or has come so far that it cannot. See docs/decisions/105-reproducible-answers.md.
//! Deliberately absent: the clock on the wall.

use crate::judge::trust_level;
use base::Budget;
use checker::Trust;
use std::sync::atomic::{AtomicBool, Ordering};

/// The first round is so many units long, as a power of two; each further one ends four times later.
const FIRST_ROUND: u32 = 16;

/// The round in which so much effort has been spent.
fn round(units: u64) -> u32 {
    let bits = u64::BITS - units.leading_zeros();
    if bits <= FIRST_ROUND { 0 } else { (bits - FIRST_ROUND).div_ceil(2) }
}

/// A search beside a proof goes on to the end of this round, however soon the proof was found (about a quarter of a second).
const LEAST_ROUND_BESIDE: u32 = 1;
const MAX_ROUND_BITS: u32 = 60;

/// The efforts that `effort_beside` may name.
pub fn ends_of_rounds() -> Vec<u64> {
    let mut ends: Vec<u64> = (FIRST_ROUND..=MAX_ROUND_BITS).step_by(2).map(|bits| (1 << bits) - 1).collect();
    ends.push(HEAD_START);
    ends
}

/// What a method with a head start answers with so much effort or less (about a quarter of a second) counts as answered in the first round.
const HEAD_START: u64 = 1 << 18;

/// The less, the better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    round: u32,
    trust: usize,
    place: usize,
}

/// Evidence that was checked by something independent of what found it comes first.
fn trust_rank(trust: &Trust) -> usize {
    match trust_level(trust) {
        // Views are closed by a transformer that the checker has of its own ("argued": the rest is the rule's proof on paper).
        "replayed" | "certified" | "searched" | "argued" => 0,
        "certified-by-finder" => 1,
        "searched-once" => 2,
        _ => 3,
    }
}

/// An answer that nothing but its own search stands for counts as found so many rounds later: others may have sixteen times its effort for a better one.
const ROUNDS_FOR_MORE_TRUST: u32 = 2;

#[derive(Debug)]
struct Runner {
    clock: Budget,
    place: usize,
    has_head_start: bool,
    ended: AtomicBool,
}

/// The methods that run.
#[derive(Debug, Default)]
pub struct Race(Vec<Runner>);

impl Race {
    /// The clocks of the methods, each with its place in the order of preference.
    pub fn new(runners: impl IntoIterator<Item = (Budget, usize)>) -> Self {
        let runner = |(clock, place)| Runner { clock, place, has_head_start: false, ended: AtomicBool::new(false) };
        Self(runners.into_iter().map(runner).collect())
    }

    pub fn with_head_starts(mut self, which: Vec<bool>) -> Self {
        self.0.iter_mut().zip(which).for_each(|(runner, given)| runner.has_head_start = given);
        self
    }

    pub fn end(&self, method: usize) {
        self.0[method].ended.store(true, Ordering::SeqCst);
    }

    pub fn has_ended(&self, method: usize) -> bool {
        self.0[method].ended.load(Ordering::SeqCst)
    }

    /// The rank of an answer that this method gives now.
    pub fn rank(&self, method: usize, trust: &Trust) -> Rank {
        let (best, trust) = (self.best(method), trust_rank(trust));
        let later = if trust >= trust_rank(&Trust::SearchedOnce { states: 0 }) { ROUNDS_FOR_MORE_TRUST } else { 0 };
        Rank { trust, round: best.round + later, ..best }
    }

    /// The best rank that this method can still reach.
    pub fn best(&self, method: usize) -> Rank {
        let runner = &self.0[method];
        let spent = runner.clock.spent();
        let round = if runner.has_head_start && spent <= HEAD_START { 0 } else { round(spent) };
        Rank { round, trust: 0, place: runner.place }
    }

    /// So much effort of a method belongs to the rounds up to that of an answer, or to the first ones in any case.
    pub fn effort_beside(&self, method: usize, rank: &Rank) -> u64 {
        let last = rank.round.max(LEAST_ROUND_BESIDE);
        let end = (1 << (FIRST_ROUND + 2 * last).min(MAX_ROUND_BITS)) - 1;
        if self.0[method].has_head_start { end.max(HEAD_START) } else { end }
    }

    /// The methods whose answer might still be better than one of this rank.
    pub fn ahead_of<'a>(&'a self, rank: &'a Rank) -> impl Iterator<Item = usize> + 'a {
        let other = |m: &usize| self.0[*m].place != rank.place;
        (0..self.0.len()).filter(other).filter(|m| !self.has_ended(*m) && self.best(*m) < *rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn race() -> (Vec<Budget>, Race) {
        let clocks: Vec<Budget> = (0..3).map(|_| Budget::unlimited()).collect();
        let race = Race::new(clocks.iter().cloned().zip(0..));
        (clocks, race)
    }

    #[test]
    fn check_rounds_end_four_times_later_each() {
        let ends: Vec<u32> = [0, 65_535, 65_536, 262_143, 262_144, 1 << 20, 1 << 22].map(round).into();
        assert_eq!(ends, [0, 0, 1, 1, 2, 3, 4]);
    }

    #[test]
    fn check_less_effort_is_better_then_trust_then_the_order() {
        let (clocks, race) = race();
        clocks[1].spend(1 << 17);
        let (a, b, c) =
            (race.rank(0, &Trust::Replayed), race.rank(1, &Trust::Replayed), race.rank(2, &Trust::Replayed));
        assert!(a < c && c < b);
        assert!(c < race.rank(0, &Trust::SearchedOnce { states: 1 }));
        assert!(b < race.rank(0, &Trust::SearchedOnce { states: 1 }), "sixteen times the effort for more trust");
    }

    #[test]
    fn check_a_search_beside_an_answer_goes_to_the_end_of_its_round() {
        let (clocks, race) = race();
        assert_eq!(race.effort_beside(0, &race.rank(1, &Trust::Replayed)), (1 << 18) - 1);
        clocks[1].spend(1 << 20);
        let late = race.rank(1, &Trust::Replayed);
        assert_eq!(race.effort_beside(0, &late), (1 << 22) - 1);
        assert!(ends_of_rounds().contains(&race.effort_beside(0, &late)));
        clocks[0].spend(race.effort_beside(0, &late));
        assert!(race.best(0) < late);
        clocks[0].spend(1);
        assert!(race.best(0) > late, "what it finds from now on is of a later round");
    }

    #[test]
    fn check_an_answer_is_final_once_no_better_one_can_come() {
        let (clocks, race) = race();
        // The first in the order is never waited for; the others wait for those before them.
        assert_eq!(race.ahead_of(&race.rank(0, &Trust::Replayed)).count(), 0);
        let second = race.rank(1, &Trust::Replayed);
        assert_eq!(race.ahead_of(&second).collect::<Vec<_>>(), [0]);
        clocks[0].spend(1 << 16);
        assert_eq!(race.ahead_of(&second).count(), 0, "the first round of the other is over");
        // Little trust: everybody in the same round may still do better.
        let weak = race.rank(1, &Trust::SearchedOnce { states: 1 });
        assert_eq!(race.ahead_of(&weak).collect::<Vec<_>>(), [0, 2]);
        race.end(2);
        clocks[0].spend(1 << 20);
        assert_eq!(race.ahead_of(&weak).count(), 0);
        // An answer that took long waits for everybody who has done less.
        clocks[1].spend(1 << 20);
        let late = race.rank(1, &Trust::Replayed);
        assert_eq!(race.ahead_of(&late).collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn check_a_head_start_makes_later_answers_those_of_the_first_round() {
        let (clocks, race) = race();
        let race = race.with_head_starts(vec![false, true, false]);
        clocks[1].spend(HEAD_START);
        clocks[0].spend(1 << 16);
        assert_eq!(race.ahead_of(&race.rank(1, &Trust::Replayed)).count(), 0);
        clocks[1].spend(1);
        assert_eq!(race.ahead_of(&race.rank(1, &Trust::Replayed)).collect::<Vec<_>>(), [0, 2]);
    }
}
