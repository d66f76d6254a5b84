//! Symmetry over identical threads: states that differ only in which instance is which are one state.
//!
//! In: the program and layout. Out: a canonical representative of a packed state, by sorting the blocks of
//! the instances of each thread. Where thread ids are stored in variables or used as keys, sorting permutes them too;
//! that is done only if every use of such data is a copy, a comparison for equality or a key, so that a renaming of ids
//! maps runs to runs. Otherwise there is no reduction for any thread and the reason is reported.
//! A representative is reached from the state by a renaming, so a search of representatives finds the same distances;
//! two states of one orbit may have two representatives (then reduction is less, never wrong).

use super::guess::Escape;
use super::layout::{Layout, LevelKeys, OPEN_VALUE, StorageShape};
use super::tids::{Ids, ids};
use program::semantics::InstanceCounts;
use program::{Program, Start, VarId};

#[derive(Clone, Debug, Default)]
pub(crate) struct Symmetry {
    /// Instances of one thread: first and number, at least two.
    pub groups: Vec<SymmetryGroup>,
    /// Nothing anywhere tells instances apart but their own locals.
    pub plain: bool,
    /// Why threads with several instances are not reduced.
    pub refused: Option<String>,
    /// Shared fields that hold ids.
    held: Vec<usize>,
    /// For each instance, its fields that hold ids.
    held_by: Vec<Vec<usize>>,
    /// Arrays with ids as keys: shared ones, and those of each instance.
    keyed: Vec<Keyed>,
    keyed_by: Vec<Vec<Keyed>>,
    slots: Vec<super::layout::BitField>,
    /// For each instance, the block of the one before it in its group, its own, and their mask.
    before: Vec<Option<((usize, u32), (usize, u32), u64)>>,
}

/// An array one of whose levels has ids as keys.
#[derive(Clone, Debug)]
struct Keyed {
    first: usize,
    /// Lengths of the levels, outermost first.
    lengths: Vec<usize>,
    /// For each level with ids as keys, the place of each id (by id), if it is listed.
    places: Vec<Option<Vec<usize>>>,
    /// The fields hold ids too.
    holds: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct SymmetryGroup {
    pub first: usize,
    pub len: usize,
    /// Words and shifts of the blocks, where a block lies within one word.
    pub blocks: Vec<(usize, u32)>,
    pub(crate) mask: u64,
    /// Words of a block that takes whole words; 0 otherwise.
    pub words: usize,
}

/// For each id, the id it becomes; of ids that must not be renamed, itself.
pub(crate) type Renaming = Vec<usize>;

impl SymmetryGroup {
    /// What is kept of one instance.
    fn block<'w, const W: usize>(&self, at: usize, words: &'w [u64; W]) -> (u64, &'w [u64]) {
        let (w, s) = self.blocks[at];
        if self.words == 0 { ((words[w] >> s) & self.mask, &[]) } else { (0, &words[w..w + self.words]) }
    }
}

impl Symmetry {
    pub(crate) fn none() -> Self {
        Self::default()
    }
    pub(crate) fn of(program: &Program, counts: &InstanceCounts, layout: &Layout) -> Result<Self, Escape> {
        let mut out = Self { plain: true, ..Self::default() };
        let mut first = 0;
        for (t, n) in program.threads.iter().zip(&counts.0) {
            let len = *n as usize;
            if t.start == Start::Initial && len >= 2 {
                let blocks = &layout.instances[first..first + len];
                let bits = blocks[0].bits;
                let words = if bits > 63 { (bits as usize).div_ceil(64) } else { 0 };
                out.groups.push(SymmetryGroup {
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
            return Ok(out);
        }
        let refuse = |why: &str| Ok(Self { refused: Some(why.into()), ..Self::none() });
        if layout.interned {
            return refuse("some values have no regular shape");
        }
        if out.groups.iter().any(|g| g.len > 64) {
            return refuse("there are more than 64 instances of a thread");
        }
        if !mentions_tid(program) {
            out.before = vec![None; layout.instances.len()];
            for g in out.groups.iter().filter(|g| g.words == 0) {
                for at in 1..g.len {
                    out.before[g.first + at] = Some((g.blocks[at - 1], g.blocks[at], g.mask));
                }
            }
            return Ok(out);
        }
        let groups: Vec<(i128, i128)> =
            out.groups.iter().map(|g| (g.first as i128 + 1, (g.first + g.len) as i128)).collect();
        let renamed = |n: i128| groups.iter().any(|(lo, hi)| (*lo..=*hi).contains(&n));
        let ids = match ids(program, &renamed) {
            Ok(ids) => ids,
            Err(why) => return refuse(&why),
        };
        out.plain = false;
        out.slots = layout.slots.clone();
        for (var, first) in &layout.shared {
            out.note(layout, &ids, *var, *first, None)?;
        }
        for (i, place) in layout.instances.iter().enumerate() {
            out.held_by.push(Vec::new());
            out.keyed_by.push(Vec::new());
            let mut locals: Vec<(VarId, usize)> = place.locals.iter().map(|(v, s)| (*v, *s)).collect();
            locals.sort_unstable();
            for (var, first) in locals {
                out.note(layout, &ids, var, first, Some(i))?;
            }
        }
        Ok(out)
    }
    /// Notes where a variable holds ids.
    fn note(
        &mut self,
        layout: &Layout,
        ids: &Ids,
        var: VarId,
        first: usize,
        instance: Option<usize>,
    ) -> Result<(), Escape> {
        let plan = layout.plan_of(first);
        let holds = ids.leaf(var);
        // A field that holds one id must be able to hold all.
        let slot = &layout.slots[first + plan.slots() - 1];
        for tid in self.groups.iter().flat_map(|g| g.first + 1..=g.first + g.len).filter(|_| holds) {
            if slot.encode(tid as i64).is_none() {
                return Err(Escape::Range { var, value: tid as i64 });
            }
        }
        if let StorageShape::Array(levels) = &plan.shape
            && (0..levels.len()).any(|l| ids.key(var, l))
        {
            let mut places = Vec::new();
            for (l, keys) in levels.iter().enumerate() {
                places.push(if ids.key(var, l) { Some(self.places(keys, var, l)?) } else { None });
            }
            let lengths = levels.iter().map(LevelKeys::len).collect();
            let keyed = Keyed { first, lengths, places, holds };
            match instance {
                None => self.keyed.push(keyed),
                Some(i) => self.keyed_by[i].push(keyed),
            }
        } else if holds {
            let from = usize::from(matches!(plan.shape, StorageShape::Sequence(_)));
            let slots = first + from..first + plan.slots();
            match instance {
                None => self.held.extend(slots),
                Some(i) => self.held_by[i].extend(slots),
            }
        }
        Ok(())
    }
    /// The place of the key of each instance; a renaming needs all of them listed.
    fn places(&self, keys: &LevelKeys, var: VarId, level: usize) -> Result<Vec<usize>, Escape> {
        let last = self.groups.iter().map(|g| g.first + g.len).max().unwrap_or(0);
        let mut out = vec![usize::MAX; last + 1];
        for g in &self.groups {
            for tid in g.first + 1..=g.first + g.len {
                let at = keys.position(tid as i64);
                out[tid] = at.ok_or(Escape::Key { var, level, key: tid as i64 })?;
            }
        }
        Ok(out)
    }
    pub(crate) fn is_on(&self) -> bool {
        !self.groups.is_empty()
    }
    /// Whether an instance is in the same local state as the one before it, so that its steps are the same.
    #[inline]
    pub(crate) fn repeats(&self, i: usize, words: &[u64]) -> bool {
        match self.before.get(i) {
            Some(&Some((a, b, mask))) => (words[a.0] >> a.1) & mask == (words[b.0] >> b.1) & mask,
            _ => false,
        }
    }
    /// Replaces a state by its representative.
    #[inline]
    pub(crate) fn canonical<const W: usize>(&self, words: &mut [u64; W]) {
        if !self.plain {
            return self.rename(words);
        }
        for g in &self.groups {
            if g.words == 0 { sort_blocks(g, words) } else { sort_words(g, words) }
        }
    }
    fn group_of(&self, tid: i64) -> Option<usize> {
        self.groups.iter().position(|g| (g.first as i64) < tid && tid <= (g.first + g.len) as i64)
    }
    /// What an id looks like to instance `tid`: itself, another of a group, or one that is not renamed.
    fn seen(&self, value: i64, tid: i64) -> u64 {
        match self.group_of(value) {
            Some(_) if value == tid => 1,
            Some(g) => 2 + g as u64,
            None => (value as u64).wrapping_add(1 << 32),
        }
    }
    /// A number that does not depend on which instance is which: equal instances have equal numbers.
    fn signature<const W: usize>(&self, g: &SymmetryGroup, at: usize, words: &[u64; W]) -> u64 {
        let i = g.first + at;
        let tid = i as i64 + 1;
        let mut h: u64 = 0xCBF2_9CE4_8422_2325;
        let mut mix = |x: u64| h = (h ^ x).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        // The block without the fields that hold ids or are keyed by them.
        let mut plain = *words;
        let mut blank = |slot: usize| self.slots[slot].put(&mut plain, 0);
        self.held_by[i].iter().for_each(|s| blank(*s));
        for k in &self.keyed_by[i] {
            (k.first..k.first + k.lengths.iter().product::<usize>()).for_each(&mut blank);
        }
        let (w, s) = g.blocks[at];
        if g.words == 0 {
            mix((plain[w] >> s) & g.mask);
        } else {
            plain[w..w + g.words].iter().for_each(|x| mix(*x));
        }
        for slot in self.held_by[i].iter().chain(&self.held) {
            mix(self.seen(self.slots[*slot].get(words), tid));
        }
        // Rows of shared arrays, and of its own, at its own key; all other rows count as a multiset elsewhere.
        for k in self.keyed.iter().chain(&self.keyed_by[i]) {
            for (level, places) in k.places.iter().enumerate() {
                let Some(places) = places else { continue };
                let own = places[tid as usize];
                let inner: usize = k.lengths[level + 1..].iter().product();
                let outer: usize = k.lengths[..level].iter().product();
                let mut sum = 0u64;
                for o in 0..outer {
                    for x in 0..inner {
                        let slot = k.first + (o * k.lengths[level] + own) * inner + x;
                        let value = self.slots[slot].get(words);
                        let value = if k.holds { self.seen(value, tid) } else { value as u64 };
                        // Only one level of ids: the place in the row matters; else the order is not fixed.
                        let place = if k.places.iter().flatten().count() == 1 { (o * inner + x) as u64 } else { 0 };
                        sum = sum
                            .wrapping_add((value ^ (place << 40)).wrapping_mul(0xD6E8_FEB8_6659_FD93).rotate_left(31));
                    }
                }
                mix(sum);
            }
        }
        // Who of the others refers to it.
        let mut referred = 0u64;
        for (j, held) in self.held_by.iter().enumerate().filter(|(j, _)| *j != i) {
            for (n, slot) in held.iter().enumerate() {
                if self.slots[*slot].get(words) == tid {
                    let pc = n as u64 + 1 + (self.group_of(j as i64 + 1).map_or(j as u64 + 64, |g| g as u64) << 8);
                    referred = referred.wrapping_add(pc.wrapping_mul(0xA076_1D64_78BD_642F));
                }
            }
        }
        mix(referred);
        h
    }
    /// The renaming that leads from a state to its representative.
    pub(crate) fn renaming<const W: usize>(&self, words: &[u64; W]) -> Renaming {
        let last = self.groups.iter().map(|g| g.first + g.len).max().unwrap_or(0);
        let mut new: Renaming = (0..=last).collect();
        for g in &self.groups {
            let order: Vec<usize> = if self.plain {
                let mut order: Vec<usize> = (0..g.len).collect();
                order.sort_by_key(|at| g.block(*at, words));
                order
            } else {
                let mut order: Vec<(u64, usize)> = (0..g.len).map(|at| (self.signature(g, at, words), at)).collect();
                order.sort_unstable();
                order.into_iter().map(|(_, at)| at).collect()
            };
            for (to, from) in order.into_iter().enumerate() {
                new[g.first + from + 1] = g.first + to + 1;
            }
        }
        new
    }
    /// Orders instances by their signatures and renames ids accordingly.
    fn rename<const W: usize>(&self, words: &mut [u64; W]) {
        let new = self.renaming(words);
        self.apply(&new, words);
    }
    /// Renames the instances, and the ids wherever they are held or are keys.
    pub(crate) fn apply<const W: usize>(&self, new: &Renaming, words: &mut [u64; W]) {
        if new.iter().enumerate().all(|(old, new)| old == *new) {
            return;
        }
        let old = *words;
        for g in &self.groups {
            for from in 0..g.len {
                let to = new[g.first + from + 1] - g.first - 1;
                let ((w, s), (fw, fs)) = (g.blocks[to], g.blocks[from]);
                if g.words == 0 {
                    words[w] = (words[w] & !(g.mask << s)) | (((old[fw] >> fs) & g.mask) << s);
                } else {
                    words[w..w + g.words].copy_from_slice(&old[fw..fw + g.words]);
                }
            }
        }
        let renamed = |v: i64| if v > 0 && (v as usize) < new.len() { new[v as usize] as i64 } else { v };
        for slot in self.held.iter().chain(self.held_by.iter().flatten()) {
            self.put(*slot, renamed(self.slots[*slot].get(words)), words);
        }
        for k in self.keyed.iter().chain(self.keyed_by.iter().flatten()) {
            self.rename_array(k, new, &renamed, words);
        }
    }
    fn put<const W: usize>(&self, slot: usize, value: i64, words: &mut [u64; W]) {
        let s = &self.slots[slot];
        match s.encode(value) {
            Some(code) => s.put(words, code),
            None => debug_assert_eq!(value, OPEN_VALUE, "a field that can hold one id can hold all"),
        }
    }
    fn rename_array<const W: usize>(
        &self,
        k: &Keyed,
        new: &Renaming,
        renamed: &dyn Fn(i64) -> i64,
        words: &mut [u64; W],
    ) {
        let before = *words;
        let size: usize = k.lengths.iter().product();
        for at in 0..size {
            let mut rest = at;
            let mut to = 0;
            let mut stride = 1;
            for (length, places) in k.lengths.iter().zip(&k.places).rev() {
                let here = rest % length;
                rest /= length;
                let moved = match places {
                    Some(places) => match places.iter().position(|p| *p == here) {
                        Some(tid) => places[new[tid]],
                        None => here,
                    },
                    None => here,
                };
                to += moved * stride;
                stride *= length;
            }
            let value = self.slots[k.first + at].get(&before);
            self.put(k.first + to, if k.holds { renamed(value) } else { value }, words);
        }
    }
}

fn sort_blocks<const W: usize>(g: &SymmetryGroup, words: &mut [u64; W]) {
    let block = |words: &[u64; W], at: usize| {
        let (w, s) = g.blocks[at];
        (words[w] >> s) & g.mask
    };
    // Nearly sorted: one instance has moved, so each block is at most shifted past a run of others.
    let mut last = block(words, 0);
    for i in 1..g.blocks.len() {
        let k = block(words, i);
        if last <= k {
            last = k;
            continue;
        }
        let mut j = i;
        while j > 0 {
            let before = block(words, j - 1);
            if before <= k {
                break;
            }
            put_block(g, words, j, before);
            j -= 1;
        }
        put_block(g, words, j, k);
    }
}

#[inline]
fn put_block<const W: usize>(g: &SymmetryGroup, words: &mut [u64; W], at: usize, block: u64) {
    let (w, s) = g.blocks[at];
    words[w] = (words[w] & !(g.mask << s)) | (block << s);
}

fn sort_words<const W: usize>(g: &SymmetryGroup, words: &mut [u64; W]) {
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
