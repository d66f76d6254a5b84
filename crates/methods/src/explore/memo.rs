//! Remembered steps: what an instance can do depends on few bits of a state, and these seldom differ.
//!
//! In: the compiled actions at each code of a pc. Out: `MemoSite`s, the bits that everything done from there may
//! read or write, taken from the instructions themselves; and a `Memo`, a table of bounded size from those bits to the
//! changes they lead to. A change is kept as the bits that flip, so it can be laid over any state with the same key.
//! A site is left out where the bits cannot be known (spawned instances, new objects, relies, actions that decide open values).
//! Deliberately absent: anything about representatives; flips are laid over before symmetry is applied.

use super::code::{Instr, Tables};
use super::compiled::{At, CompiledAction, CompiledInput};
use super::footprint::action_footprint;
use super::layout::Layout;
use program::{Program, PropertyId, VarId};
use rustc_hash::FxHashSet;

/// A key takes at most this many words.
const MAX_KEY_WORDS: usize = 3;
/// Above this many bits a key is unlikely to be met again.
const MAX_BITS: u32 = 48;

/// The bits that decide what happens from one code of a pc.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MemoSite {
    pub on: bool,
    count: u8,
    words: [u8; MAX_KEY_WORDS],
    masks: [u64; MAX_KEY_WORDS],
}

/// Bits of a state, word by word.
type Bits = Vec<u64>;

fn add_slot(bits: &mut Bits, layout: &Layout, slot: usize) {
    let s = &layout.slots[slot];
    bits[s.word as usize] |= s.mask() << s.shift;
}

fn add_array(bits: &mut Bits, layout: &Layout, first: usize) {
    (first..first + layout.plan_of(first).slots()).for_each(|s| add_slot(bits, layout, s));
}

/// What code reads and writes; `None` where that is not known from the code.
fn code_bits(code: &[Instr], tables: &Tables, layout: &Layout, bits: &mut Bits) -> Option<()> {
    for i in code {
        match *i {
            Instr::Load { word, shift, bits: n, .. }
            | Instr::RequireCode { word, shift, bits: n, .. }
            | Instr::RequireNotCode { word, shift, bits: n, .. }
            | Instr::Bump { word, shift, bits: n, .. }
            | Instr::StoreCode { word, shift, bits: n, .. } => bits[word as usize] |= ((1u64 << n) - 1) << shift,
            Instr::LoadOpen { slot, .. } | Instr::Store { slot, .. } => add_slot(bits, layout, slot as usize),
            Instr::LoadAt { array, .. } | Instr::PassAt { array, .. } | Instr::StoreAt { array, .. } => {
                add_array(bits, layout, tables.arrays[array as usize].first as usize);
            }
            Instr::Spawn { .. } => return None,
            Instr::Const { .. }
            | Instr::Copy { .. }
            | Instr::Position { .. }
            | Instr::Join { .. }
            | Instr::Listed { .. }
            | Instr::Add { .. }
            | Instr::AddK { .. }
            | Instr::Sub { .. }
            | Instr::Mul { .. }
            | Instr::Div { .. }
            | Instr::Mod { .. }
            | Instr::Machine { .. }
            | Instr::Wrap { .. }
            | Instr::FromU64 { .. }
            | Instr::Eq { .. }
            | Instr::EqK { .. }
            | Instr::Lt { .. }
            | Instr::Le { .. }
            | Instr::LtK { .. }
            | Instr::GtK { .. }
            | Instr::LtU { .. }
            | Instr::LeU { .. }
            | Instr::Not { .. }
            | Instr::And { .. }
            | Instr::Jump { .. }
            | Instr::JumpIf { .. }
            | Instr::JumpIfNot { .. }
            | Instr::Require { .. }
            | Instr::Gate { .. }
            | Instr::Fits { .. } => {}
        }
    }
    Some(())
}

/// Computes sites, for one layout.
pub(crate) struct Sites<'a> {
    pub program: &'a Program,
    pub layout: &'a Layout,
    pub(crate) tables: &'a Tables,
}

impl Sites<'_> {
    /// The site of every code of an instance's pc; `folds`: invisible steps are taken together with others.
    pub(crate) fn of(&self, instance: usize, places: &[At], folds: bool) -> Vec<MemoSite> {
        if self.layout.interned || self.layout.entered.is_some() {
            return vec![MemoSite::default(); places.len()];
        }
        let own: Vec<Option<Bits>> = places.iter().map(|at| self.bits(instance, at)).collect();
        (0..places.len())
            .map(|code| {
                let mut seen = FxHashSet::default();
                let mut all = vec![0; self.layout.words];
                let known = gather(code, places, &own, folds, &mut seen, &mut all);
                known.map_or_else(MemoSite::default, |()| site(&all))
            })
            .collect()
    }
    fn bits(&self, instance: usize, at: &At) -> Option<Bits> {
        let mut bits = vec![0; self.layout.words];
        add_slot(&mut bits, self.layout, self.layout.instances[instance].pc);
        for act in &at.acts {
            if act.inputs.iter().any(|i| matches!(i, CompiledInput::Fresh(_))) {
                return None;
            }
            act.finish.iter().for_each(|m| bits[m.word] |= !m.keep);
            match &act.code {
                Some(code) => code_bits(code, self.tables, self.layout, &mut bits)?,
                None => self.slow_bits(instance, act, &mut bits)?,
            }
        }
        Some(bits)
    }
    /// Of an action that the reference semantics takes: the variables in it, if nothing else can matter.
    fn slow_bits(&self, instance: usize, act: &CompiledAction, bits: &mut Bits) -> Option<()> {
        let place = &self.layout.instances[instance];
        let (thread, _) = *place.menu.first().filter(|_| place.menu.len() == 1)?;
        let action = &self.program.threads[thread].code.actions[act.id];
        let plain = action.inputs.is_empty() && action.spawn.is_none() && action.relation.is_none();
        if !plain || self.layout.slots.iter().any(|s| s.open) {
            return None;
        }
        let vars = super::guess::symbols(self.program);
        let touched = action_footprint(self.program, &vars, action);
        let all: FxHashSet<VarId> = touched.reads.union(&touched.writes).copied().collect();
        for v in all {
            let first = place.locals.get(&v).or_else(|| self.layout.shared_at.get(&v))?;
            add_array(bits, self.layout, *first);
        }
        Some(())
    }
}

/// Adds the bits of everything that may be done in one go from a code.
fn gather(
    code: usize,
    places: &[At],
    own: &[Option<Bits>],
    folds: bool,
    seen: &mut FxHashSet<usize>,
    all: &mut Bits,
) -> Option<()> {
    if !seen.insert(code) {
        return Some(());
    }
    all.iter_mut().zip(own[code].as_ref()?).for_each(|(a, b)| *a |= b);
    for act in &places[code].acts {
        if folds && (places[code].invisible || places[act.to as usize].invisible) {
            gather(act.to as usize, places, own, folds, seen, all)?;
        }
    }
    Some(())
}

fn site(bits: &Bits) -> MemoSite {
    let mut out = MemoSite::default();
    let used: Vec<usize> = (0..bits.len()).filter(|w| bits[*w] != 0).collect();
    let width: u32 = bits.iter().map(|b| b.count_ones()).sum();
    if used.len() > MAX_KEY_WORDS || width > MAX_BITS {
        return out;
    }
    out.on = true;
    out.count = used.len() as u8;
    for (k, w) in used.into_iter().enumerate() {
        out.words[k] = w as u8;
        out.masks[k] = bits[w];
    }
    out
}

/// One thing that can happen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RememberedStep {
    flips: [u64; MAX_KEY_WORDS],
    pub steps: u32,
    /// Goes wrong for this property instead of moving.
    pub wrong: Option<PropertyId>,
}

#[derive(Clone, Copy, Debug)]
struct MemoEntry {
    key: [u64; MAX_KEY_WORDS],
    /// The site's number plus one; 0: empty.
    site: u32,
    start: u32,
    len: u32,
    decided: bool,
}

const EMPTY: MemoEntry = MemoEntry { key: [0; MAX_KEY_WORDS], site: 0, start: 0, len: 0, decided: false };

/// A table of remembered steps, one for each worker. It forgets: two keys with one place take turns.
pub(crate) struct Memo {
    entries: Vec<MemoEntry>,
    changes: Vec<RememberedStep>,
    met: u64,
    missed: u64,
}

/// Where a lookup ended.
pub(crate) struct LookupPosition {
    at: usize,
    /// The site's number.
    number: u32,
    key: [u64; MAX_KEY_WORDS],
}

const INITIAL_ENTRIES: usize = 1 << 11;
const MAX_ENTRIES: usize = 1 << 16;
const MAX_CHANGES: usize = 1 << 19;

impl Default for Memo {
    fn default() -> Self {
        Self { entries: vec![EMPTY; INITIAL_ENTRIES], changes: Vec::new(), met: 0, missed: 0 }
    }
}

impl Memo {
    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.entries.fill(EMPTY);
        self.changes.clear();
    }
    /// Whether remembering is worth its cost: most keys are met again.
    #[inline]
    pub(crate) fn pays(&self) -> bool {
        self.met < 20_000 || self.missed * 3 < self.met
    }
    /// What happens from a state at a site, and whether a value was decided on the way; or where to remember it.
    #[inline]
    pub(crate) fn find<const W: usize>(
        &mut self,
        site: &MemoSite,
        number: u32,
        state: &[u64; W],
    ) -> Result<(std::ops::Range<usize>, bool), LookupPosition> {
        let mut key = [0; MAX_KEY_WORDS];
        let mut h = u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        for k in 0..usize::from(site.count).min(MAX_KEY_WORDS) {
            key[k] = state[usize::from(site.words[k])] & site.masks[k];
            h = (h ^ key[k]).wrapping_mul(0xD6E8_FEB8_6659_FD93);
            h ^= h >> 32;
        }
        self.met += 1;
        let at = h.wrapping_mul(0x9E37_79B9_7F4A_7C15) as usize >> (64 - self.entries.len().trailing_zeros());
        let e = &self.entries[at];
        if e.site == number + 1 && e.key == key {
            return Ok((e.start as usize..(e.start + e.len) as usize, e.decided));
        }
        self.missed += 1;
        Err(LookupPosition { at, number, key })
    }
    #[inline]
    pub(crate) fn change(&self, at: usize) -> &RememberedStep {
        &self.changes[at]
    }
    /// Remembers what happened; `false` if a change reaches beyond the site, which is an error of ours.
    pub(crate) fn keep<const W: usize>(
        &mut self,
        site: &MemoSite,
        place: LookupPosition,
        decided: bool,
        pre: &[u64; W],
        moved: &[([u64; W], u32)],
        wrong: &[(PropertyId, u32)],
    ) -> bool {
        if self.changes.len() + moved.len() + wrong.len() > MAX_CHANGES {
            self.clear();
        }
        let start = self.changes.len();
        for (post, steps) in moved {
            let mut rest = *post;
            let mut flips = [0; MAX_KEY_WORDS];
            for k in 0..usize::from(site.count) {
                let w = usize::from(site.words[k]);
                flips[k] = (pre[w] ^ post[w]) & site.masks[k];
                rest[w] ^= flips[k];
            }
            if rest != *pre {
                debug_assert!(false, "a step changed bits that its code does not name");
                self.changes.truncate(start);
                return false;
            }
            self.changes.push(RememberedStep { flips, steps: *steps, wrong: None });
        }
        for (p, steps) in wrong {
            self.changes.push(RememberedStep { flips: [0; MAX_KEY_WORDS], steps: *steps, wrong: Some(*p) });
        }
        let len = (self.changes.len() - start) as u32;
        self.entries[place.at] =
            MemoEntry { key: place.key, site: place.number + 1, start: start as u32, len, decided };
        // Many keys: more places, up to what stays near the processor.
        if self.missed as usize > 2 * self.entries.len() && self.entries.len() < MAX_ENTRIES {
            self.entries = vec![EMPTY; self.entries.len() * 2];
            self.changes.clear();
            self.missed /= 2;
        }
        true
    }
}

impl RememberedStep {
    /// Lays the change over a state.
    #[inline]
    pub(crate) fn apply<const W: usize>(&self, site: &MemoSite, state: &[u64; W]) -> [u64; W] {
        let mut out = *state;
        for k in 0..usize::from(site.count).min(MAX_KEY_WORDS) {
            out[usize::from(site.words[k])] ^= self.flips[k];
        }
        out
    }
}
