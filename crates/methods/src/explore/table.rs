//! The set of states seen: every state exactly, in the order of discovery, with a compact table to find it.
//!
//! Each worker owns one `Shard`, the states whose hash falls to it, so no lock and no atomic is on the way of an
//! insertion. States lie packed in chunks, level after level: no parents are kept, a predecessor is found again by
//! expanding the level before. For states of one word a table entry is the state itself; for longer ones it is a part
//! of the hash and the number of the state, and the state is compared in full: nothing is taken for seen by its hash.
//! Only a *compact* shard, which a user has to ask for, keeps hashes of 64 bits and forgets the states of levels that
//! are done: two states with one hash are then taken for one, and no such search is a proof.
//! In: packed states, level by level. Out: whether a state is new, its number, the states of a level, the bytes taken.

use base::{Budget, Exhausted};

const STATES_PER_CHUNK: usize = 1 << 14;
const EMPTY_SLOT: u64 = 0;
const INDEX_BITS: u32 = 40;
/// States that are moved to a larger table together.
const STATES_MOVED_TOGETHER: usize = 128;

pub(crate) struct Shard<const W: usize> {
    chunks: Vec<Vec<[u64; W]>>,
    len: usize,
    table: Vec<u64>,
    /// Top bits of a hash are the place in the table.
    shift: u32,
    /// The state that looks like an empty entry, where states are entries.
    zero_seen: bool,
    /// Entries are hashes, and states are dropped when their level is done.
    compact: bool,
    /// Chunks before this one are dropped.
    dropped: usize,
    /// Where each level starts.
    pub(crate) levels: Vec<usize>,
}

/// Mixes all words of a state.
#[inline]
pub(crate) fn hash<const W: usize>(state: &[u64; W]) -> u64 {
    let mut h: u64 = 0x243F_6A88_85A3_08D3;
    for w in state {
        h = (h ^ w).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        h ^= h >> 32;
    }
    h.wrapping_mul(0xD6E8_FEB8_6659_FD93)
}

impl<const W: usize> Default for Shard<W> {
    fn default() -> Self {
        Self::new(false)
    }
}

/// A table of empty entries, on large pages where the system has them: most accesses go to a page of their own.
fn empty_table(size: usize) -> Vec<u64> {
    let table = vec![EMPTY_SLOT; size];
    #[cfg(target_os = "linux")]
    if size >= 1 << 19 {
        const PAGE: usize = 1 << 12;
        let start = (table.as_ptr() as usize).next_multiple_of(PAGE);
        let end = (table.as_ptr() as usize + size * 8) / PAGE * PAGE;
        // SAFETY: the range lies inside the table; the advice changes no content and may be refused.
        unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE) };
    }
    table
}

impl<const W: usize> Shard<W> {
    pub(crate) fn new(compact: bool) -> Self {
        let bits = 10;
        Self {
            chunks: Vec::new(),
            len: 0,
            table: vec![EMPTY_SLOT; 1 << bits],
            shift: 64 - bits,
            zero_seen: false,
            compact,
            dropped: 0,
            levels: Vec::new(),
        }
    }
    pub(crate) fn len(&self) -> usize {
        self.len
    }
    #[inline]
    pub(crate) fn get(&self, index: usize) -> &[u64; W] {
        &self.chunks[index / STATES_PER_CHUNK][index % STATES_PER_CHUNK]
    }
    /// The states of a level.
    pub(crate) fn level(&self, level: usize) -> std::ops::Range<usize> {
        let end = self.levels.get(level + 1).copied().unwrap_or(self.len);
        self.levels.get(level).copied().unwrap_or(self.len)..end
    }
    pub(crate) fn bytes(&self) -> usize {
        self.table.len() * 8 + (self.chunks.len() - self.dropped) * STATES_PER_CHUNK * W * 8
    }
    /// In a compact shard, forgets the states before this one.
    pub(crate) fn forget_before(&mut self, index: usize) {
        if self.compact {
            let to = index / STATES_PER_CHUNK;
            self.chunks[self.dropped.min(to)..to].iter_mut().for_each(|c| *c = Vec::new());
            self.dropped = self.dropped.max(to);
        }
    }
    /// Brings the state that an entry may stand for near.
    #[inline]
    pub(crate) fn prefetch_state(&self, hash: u64) {
        if W == 1 || self.compact {
            return;
        }
        let e = self.table[(hash >> self.shift) as usize];
        if e != EMPTY_SLOT && e & !((1 << INDEX_BITS) - 1) == hash << INDEX_BITS {
            let state = self.get((e & ((1 << INDEX_BITS) - 1)) as usize - 1);
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a prefetch reads nothing.
            unsafe {
                use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
                _mm_prefetch::<_MM_HINT_T0>(state.as_ptr().cast());
            }
            #[cfg(not(target_arch = "x86_64"))]
            let _ = state;
        }
    }
    /// Brings the table's line for a hash near.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch reads nothing; the address is inside the table.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(self.table.as_ptr().add((hash >> self.shift) as usize).cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = hash;
    }
    /// Where the state is, or the empty place it would take.
    #[inline]
    fn find(&self, state: &[u64; W], hash: u64) -> Result<(), usize> {
        let mask = self.table.len() - 1;
        let mut at = (hash >> self.shift) as usize;
        if self.compact {
            let mark = hash.max(1);
            loop {
                match self.table[at] {
                    EMPTY_SLOT => return Err(at),
                    e if e == mark => return Ok(()),
                    _ => at = (at + 1) & mask,
                }
            }
        }
        if W == 1 {
            if state[0] == EMPTY_SLOT {
                return if self.zero_seen { Ok(()) } else { Err(usize::MAX) };
            }
            loop {
                match self.table[at] {
                    EMPTY_SLOT => return Err(at),
                    e if e == state[0] => return Ok(()),
                    _ => at = (at + 1) & mask,
                }
            }
        }
        let tag = hash << INDEX_BITS;
        loop {
            let e = self.table[at];
            if e == EMPTY_SLOT {
                return Err(at);
            }
            let number = (e & ((1 << INDEX_BITS) - 1)) as usize - 1;
            if e & !((1 << INDEX_BITS) - 1) == tag && self.get(number) == state {
                return Ok(());
            }
            at = (at + 1) & mask;
        }
    }
    pub(crate) fn contains(&self, state: &[u64; W]) -> bool {
        self.find(state, hash(state)).is_ok()
    }
    /// Adds a state; true if it is new.
    #[inline]
    pub(crate) fn insert(&mut self, state: &[u64; W], hash: u64, budget: &Budget) -> Result<bool, Exhausted> {
        let Err(at) = self.find(state, hash) else { return Ok(false) };
        let entry = match W {
            _ if self.compact => hash.max(1),
            1 => state[0],
            _ => (hash << INDEX_BITS) | (self.len as u64 + 1),
        };
        match at {
            usize::MAX => self.zero_seen = true,
            at => self.table[at] = entry,
        }
        if self.len.is_multiple_of(STATES_PER_CHUNK) {
            self.chunks.push(Vec::with_capacity(STATES_PER_CHUNK));
        }
        self.chunks[self.len / STATES_PER_CHUNK].push(*state);
        self.len += 1;
        // At most three quarters full.
        if self.len * 4 > self.table.len() * 3 {
            self.grow(budget)?;
        }
        Ok(true)
    }
    fn grow(&mut self, budget: &Budget) -> Result<(), Exhausted> {
        let size = self.table.len() * 2;
        if let Some(limit) = budget.memory_limit()
            && size > 1 << 16
            && base::budget::resident_bytes() + size as u64 * 8 > limit
        {
            return Err(Exhausted::Memory);
        }
        let mask = size - 1;
        if W == 1 || self.compact {
            // Entries keep their order, so both tables are walked from one end to the other.
            let old = std::mem::replace(&mut self.table, empty_table(size));
            self.shift -= 1;
            for e in old.into_iter().filter(|e| *e != EMPTY_SLOT) {
                let h = if self.compact { e } else { hash(&one::<W>(e)) };
                let mut at = (h >> self.shift) as usize;
                while self.table[at] != EMPTY_SLOT {
                    at = (at + 1) & mask;
                }
                self.table[at] = e;
            }
            return Ok(());
        }
        self.table = Vec::new();
        self.table = empty_table(size);
        self.shift -= 1;
        let mut number = 0u64;
        for block in self.chunks.iter().flat_map(|c| c.chunks(STATES_MOVED_TOGETHER)) {
            // The places are far apart: they are fetched together.
            let mut hashes = [0u64; STATES_MOVED_TOGETHER];
            for (h, state) in hashes.iter_mut().zip(block) {
                *h = hash(state);
                self.prefetch(*h);
            }
            for h in &hashes[..block.len()] {
                number += 1;
                let mut at = (h >> self.shift) as usize;
                while self.table[at] != EMPTY_SLOT {
                    at = (at + 1) & mask;
                }
                self.table[at] = (h << INDEX_BITS) | number;
            }
        }
        Ok(())
    }
}

/// A state whose first word is given.
fn one<const W: usize>(word: u64) -> [u64; W] {
    let mut out = [0; W];
    out[0] = word;
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill<const W: usize>(compact: bool) {
        let budget = Budget::unlimited();
        let mut shard: Shard<W> = Shard::new(compact);
        let state = |n: u64| {
            let mut s = [0; W];
            s[W - 1] = n;
            s
        };
        for n in 0..50_000 {
            assert_eq!(shard.insert(&state(n * 3), hash(&state(n * 3)), &budget), Ok(true));
        }
        for n in 0..150_000 {
            assert_eq!(shard.contains(&state(n)), n % 3 == 0, "{n}");
        }
        assert_eq!(shard.len(), 50_000);
        assert_eq!(shard.get(7), &state(21));
        let before = shard.bytes();
        shard.forget_before(49_000);
        assert_eq!(shard.bytes() < before, compact);
        assert_eq!(shard.get(49_500), &state(148_500));
    }

    #[test]
    fn check_a_state_is_found_exactly_if_it_was_added() {
        for compact in [false, true] {
            fill::<1>(compact);
            fill::<2>(compact);
            fill::<5>(compact);
        }
    }
}
