//! A small seeded generator of random numbers (the splitmix construction), the only one of this workspace.
//!
//! In: a seed. Out: numbers, the same for the same seed on every machine. For simulation, random search order and tests;
//! not for secrets.

#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }
    pub fn word(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    /// A number below `bound`; 0 if `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        if bound == 0 { 0 } else { ((u128::from(self.word()) * bound as u128) >> 64) as usize }
    }
    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: i128, high: i128) -> i128 {
        low + self.below((high - low + 1).max(1) as usize) as i128
    }
    /// True in `percent` of a hundred cases.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent as usize
    }
    /// One of the items, of which there must be some.
    pub fn one_of<T: Clone>(&mut self, items: &[T]) -> T {
        self.pick(items).expect("there is something to choose from").clone()
    }
    /// One of the items, if there are any.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_numbers_are_reproducible_and_in_range() {
        let (mut a, mut b) = (Random::new(7), Random::new(7));
        for _ in 0..1000 {
            let n = a.below(10);
            assert_eq!(n, b.below(10));
            assert!(n < 10);
        }
        let seen: std::collections::BTreeSet<usize> = (0..1000).map(|_| a.below(10)).collect();
        assert_eq!(seen.len(), 10);
    }
}
