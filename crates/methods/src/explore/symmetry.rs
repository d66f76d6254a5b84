//! Symmetry over identical threads: states that differ only in which instance is which are one state.
//!
//! Comes in: the program and layout. Goes out: a canonical representative of a packed state, by sorting the blocks of
//! the instances of each thread. Where thread ids are stored in variables or used as keys, sorting permutes them too;
//! that is done only if every use of such data is a copy, a comparison for equality or a key, so that a renaming of ids
//! maps runs to runs. Otherwise there is no reduction for any thread and the reason is told.
//! A representative is reached from the state by a renaming, so a search of representatives finds the same distances;
//! two states of one orbit may have two representatives (then reduction is less, never wrong).

use super::compile::Context;
use super::layout::Layout;
use program::semantics::Instances;
use program::{Program, Start};

#[derive(Clone, Debug, Default)]
pub struct Symmetry {
    /// Instances of one thread: first and number, at least two.
    pub groups: Vec<Group>,
    /// Nothing anywhere tells instances apart but their own locals.
    pub plain: bool,
    /// Why threads with several instances are not reduced.
    pub refused: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Group {
    pub first: usize,
    pub len: usize,
    /// Words and shifts of the blocks, where a block lies within one word.
    pub blocks: Vec<(usize, u32)>,
    pub mask: u64,
    /// Words of a block that takes whole words; 0 otherwise.
    pub words: usize,
}

impl Symmetry {
    pub fn none() -> Self {
        Self::default()
    }
    pub fn of(program: &Program, counts: &Instances, layout: &Layout, _cx: &Context<'_>) -> Self {
        let mut out = Self { plain: true, ..Self::default() };
        let mut first = 0;
        for (t, n) in program.threads.iter().zip(&counts.0) {
            let len = *n as usize;
            if t.start == Start::AtOnce && len >= 2 {
                let blocks = &layout.instances[first..first + len];
                let bits = blocks[0].bits;
                let words = if bits > 63 { (bits as usize).div_ceil(64) } else { 0 };
                out.groups.push(Group {
                    first,
                    len,
                    blocks: blocks.iter().map(|b| (b.word, b.shift)).collect(),
                    mask: if bits > 63 { u64::MAX } else { (1 << bits) - 1 },
                    words,
                });
            }
            first += len;
        }
        if out.groups.is_empty() {
            return out;
        }
        if mentions_tid(program) {
            return Self { refused: Some("thread ids are used".into()), ..Self::none() };
        }
        if layout.interned {
            return Self { refused: Some("some values have no regular shape".into()), ..Self::none() };
        }
        out
    }
    pub fn is_on(&self) -> bool {
        !self.groups.is_empty()
    }
    /// Whether an instance is in the same local state as the one before it, so that its steps are the same.
    #[inline]
    pub fn repeats(&self, i: usize, words: &[u64]) -> bool {
        self.plain
            && self.groups.iter().any(|g| {
                i > g.first && i < g.first + g.len && g.words == 0 && {
                    let (a, b) = (g.blocks[i - g.first - 1], g.blocks[i - g.first]);
                    (words[a.0] >> a.1) & g.mask == (words[b.0] >> b.1) & g.mask
                }
            })
    }
    /// Replaces a state by its representative.
    #[inline]
    pub fn canonical<const W: usize>(&self, words: &mut [u64; W]) {
        for g in &self.groups {
            if g.words == 0 { sort_blocks(g, words) } else { sort_words(g, words) }
        }
    }
}

fn sort_blocks<const W: usize>(g: &Group, words: &mut [u64; W]) {
    let mut keys = [0u64; 64];
    let n = g.len.min(64);
    let mut sorted = true;
    let mut last = 0;
    for (k, (w, s)) in keys.iter_mut().zip(&g.blocks) {
        *k = (words[*w] >> s) & g.mask;
        sorted &= last <= *k;
        last = *k;
    }
    if sorted {
        return;
    }
    // Nearly sorted: one instance has moved.
    for i in 1..n {
        let k = keys[i];
        let mut j = i;
        while j > 0 && keys[j - 1] > k {
            keys[j] = keys[j - 1];
            j -= 1;
        }
        keys[j] = k;
    }
    for (k, (w, s)) in keys.iter().zip(&g.blocks) {
        words[*w] = (words[*w] & !(g.mask << s)) | (k << s);
    }
}

fn sort_words<const W: usize>(g: &Group, words: &mut [u64; W]) {
    let mut blocks: Vec<Vec<u64>> = g.blocks.iter().map(|(w, _)| words[*w..*w + g.words].to_vec()).collect();
    blocks.sort_unstable();
    for (b, (w, _)) in blocks.iter().zip(&g.blocks) {
        words[*w..*w + g.words].copy_from_slice(b);
    }
}

fn mentions_tid(program: &Program) -> bool {
    super::guess::roots(program).iter().any(|t| program.terms.free_symbols(*t).contains(&program.tid))
        || program.vars.iter().filter_map(|v| v.initial).any(|t| program.terms.free_symbols(t).contains(&program.tid))
}
