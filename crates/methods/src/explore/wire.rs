//! Data as 64-bit words: what processes say to each other and what stands in logs.
//!
//! In: numbers, texts, violations, guesses, requests. Out: words, and the same back; words that are no such thing are an error with a reason and never
//! a panic, because they come from outside. `keyed_digest` is SipHash-2-4 (Aumasson and Bernstein), over words: with a secret key nobody else can make
//! it, with a public one it finds damage.
//! Deliberately absent: sockets (`link`) and files (`checkpoint`).

use super::guess::{Escape, RangeGuess};
use super::shared::NearestViolation;
use base::Exhausted;
use logic::ClassId;
use program::{PropertyId, VarId};
use std::collections::{BTreeMap, BTreeSet};

/// Words to be sent or written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WordWriter(pub Vec<u64>);

/// Words that were received or read.
#[derive(Clone, Debug)]
pub(crate) struct WordReader<'a>(pub &'a [u64]);

/// More than this is no list of ours.
const MAX_LIST: u64 = 1 << 32;

impl WordWriter {
    pub(crate) fn put(&mut self, word: u64) -> &mut Self {
        self.0.push(word);
        self
    }
    pub(crate) fn signed(&mut self, number: i64) -> &mut Self {
        self.put(number as u64)
    }
    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.put(text.len() as u64);
        self.0.extend(text.as_bytes().chunks(8).map(|c| {
            let mut bytes = [0; 8];
            bytes[..c.len()].copy_from_slice(c);
            u64::from_le_bytes(bytes)
        }));
        self
    }
    pub(crate) fn option<T>(&mut self, value: Option<T>, put: impl FnOnce(&mut Self, T)) -> &mut Self {
        self.put(u64::from(value.is_some()));
        if let Some(value) = value {
            put(self, value);
        }
        self
    }
    pub(crate) fn list<T>(
        &mut self,
        items: impl ExactSizeIterator<Item = T>,
        mut put: impl FnMut(&mut Self, T),
    ) -> &mut Self {
        self.put(items.len() as u64);
        items.for_each(|i| put(self, i));
        self
    }
    pub(crate) fn escape(&mut self, escape: &Escape) {
        match escape {
            Escape::Range { var, value } => self.put(0).put(var.0.into()).signed(*value),
            Escape::Key { var, level, key } => self.put(1).put(var.0.into()).put(*level as u64).signed(*key),
            Escape::Length { var, length } => self.put(2).put(var.0.into()).signed(*length),
            Escape::Openable { var } => self.put(3).put(var.0.into()),
            Escape::Irregular { var } => self.put(4).put(var.0.into()),
            Escape::Objects { class } => self.put(5).put(class.0.into()),
            Escape::Instances => self.put(6),
            Escape::TooLarge => self.put(7),
            Escape::Stuck(why) => self.put(8).text(why),
        };
    }
    pub(crate) fn exhausted(&mut self, why: Exhausted) {
        self.put(match why {
            Exhausted::Cancelled => 0,
            Exhausted::Time => 1,
            Exhausted::Memory => 2,
            Exhausted::Effort => 3,
        });
    }
    pub(crate) fn violations<const W: usize>(&mut self, found: &BTreeMap<PropertyId, NearestViolation<W>>) {
        self.list(found.iter(), |w, (p, v)| {
            w.put(p.0.into()).put(v.distance as u64).put(v.level as u64);
            w.0.extend(v.source);
        });
    }
    pub(crate) fn guess(&mut self, guess: &RangeGuess) {
        self.list(guess.ranges.iter(), |w, (v, (lo, hi))| {
            w.put(v.0.into()).signed(*lo).signed(*hi);
        });
        self.list(guess.keys.iter(), |w, ((v, level), keys)| {
            w.put(v.0.into()).put(*level as u64).list(keys.iter(), |w, k| {
                w.signed(*k);
            });
        });
        self.list(guess.lengths.iter(), |w, (v, n)| {
            w.put(v.0.into()).signed(*n);
        });
        self.list(guess.open.iter(), |w, v| {
            w.put(v.0.into());
        });
        self.list(guess.irregular.iter(), |w, v| {
            w.put(v.0.into());
        });
        self.list(guess.objects.iter(), |w, (c, n)| {
            w.put(c.0.into()).put((*n).into());
        });
        self.list(guess.defaults.iter(), |w, (v, n)| {
            w.put(v.0.into()).signed(*n);
        });
        self.put(guess.pool.into());
    }
}

impl WordReader<'_> {
    pub(crate) fn take(&mut self) -> Result<u64, String> {
        let (first, rest) = self.0.split_first().ok_or("a message ends too early")?;
        self.0 = rest;
        Ok(*first)
    }
    pub(crate) fn signed(&mut self) -> Result<i64, String> {
        Ok(self.take()? as i64)
    }
    pub(crate) fn size(&mut self) -> Result<usize, String> {
        usize::try_from(self.take()?).map_err(|_| "a number in a message is too large".into())
    }
    pub(crate) fn number(&mut self) -> Result<u32, String> {
        u32::try_from(self.take()?).map_err(|_| "a number in a message is too large".into())
    }
    pub(crate) fn flag(&mut self) -> Result<bool, String> {
        Ok(self.take()? != 0)
    }
    pub(crate) fn state<const W: usize>(&mut self) -> Result<[u64; W], String> {
        let (state, rest) = self.0.split_at_checked(W).ok_or("a message ends in the middle of a state")?;
        self.0 = rest;
        let mut out = [0; W];
        out.copy_from_slice(state);
        Ok(out)
    }
    pub(crate) fn text(&mut self) -> Result<String, String> {
        let length = self.size()?;
        let (words, rest) = self.0.split_at_checked(length.div_ceil(8)).ok_or("a text in a message is cut off")?;
        self.0 = rest;
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).take(length).collect();
        String::from_utf8(bytes).map_err(|_| "a text in a message is not UTF-8".into())
    }
    pub(crate) fn option<T>(&mut self, get: impl FnOnce(&mut Self) -> Result<T, String>) -> Result<Option<T>, String> {
        if self.flag()? { get(self).map(Some) } else { Ok(None) }
    }
    pub(crate) fn list<T>(&mut self, mut get: impl FnMut(&mut Self) -> Result<T, String>) -> Result<Vec<T>, String> {
        let length = self.take()?;
        if length > MAX_LIST {
            return Err("a list in a message is too long".into());
        }
        (0..length).map(|_| get(self)).collect()
    }
    fn var(&mut self) -> Result<VarId, String> {
        Ok(VarId(self.number()?))
    }
    pub(crate) fn escape(&mut self) -> Result<Escape, String> {
        Ok(match self.take()? {
            0 => Escape::Range { var: self.var()?, value: self.signed()? },
            1 => Escape::Key { var: self.var()?, level: self.size()?, key: self.signed()? },
            2 => Escape::Length { var: self.var()?, length: self.signed()? },
            3 => Escape::Openable { var: self.var()? },
            4 => Escape::Irregular { var: self.var()? },
            5 => Escape::Objects { class: ClassId(self.number()?) },
            6 => Escape::Instances,
            7 => Escape::TooLarge,
            8 => Escape::Stuck(self.text()?),
            _ => return Err("a message has a value of an unknown kind".into()),
        })
    }
    pub(crate) fn exhausted(&mut self) -> Result<Exhausted, String> {
        Ok(match self.take()? {
            0 => Exhausted::Cancelled,
            1 => Exhausted::Time,
            2 => Exhausted::Memory,
            3 => Exhausted::Effort,
            _ => return Err("a message has an unknown limit".into()),
        })
    }
    pub(crate) fn violations<const W: usize>(&mut self) -> Result<BTreeMap<PropertyId, NearestViolation<W>>, String> {
        let found = self.list(|r| {
            let property = PropertyId(r.number()?);
            let (distance, level) = (r.size()?, r.size()?);
            Ok((property, NearestViolation { distance, source: r.state()?, level }))
        })?;
        Ok(found.into_iter().collect())
    }
    pub(crate) fn guess(&mut self) -> Result<RangeGuess, String> {
        Ok(RangeGuess {
            ranges: self.list(|r| Ok((r.var()?, (r.signed()?, r.signed()?))))?.into_iter().collect(),
            keys: self.list(|r| Ok(((r.var()?, r.size()?), set(r.list(Self::signed)?))))?.into_iter().collect(),
            lengths: self.list(|r| Ok((r.var()?, r.signed()?)))?.into_iter().collect(),
            open: set(self.list(Self::var)?),
            irregular: set(self.list(Self::var)?),
            objects: self.list(|r| Ok((ClassId(r.number()?), r.number()?)))?.into_iter().collect(),
            defaults: self.list(|r| Ok((r.var()?, r.signed()?)))?.into_iter().collect(),
            pool: self.number()?,
        })
    }
}

fn set<T: Ord>(items: Vec<T>) -> BTreeSet<T> {
    items.into_iter().collect()
}

/// The bytes of words, as they stand in files and on the way.
pub(crate) fn bytes_of(words: &[u64], out: &mut Vec<u8>) {
    out.reserve(words.len() * 8);
    for w in words {
        out.extend_from_slice(&w.to_le_bytes());
    }
}

pub(crate) fn words_of(bytes: &[u8]) -> Vec<u64> {
    let word = |c: &[u8]| u64::from_le_bytes(c.try_into().expect("a chunk has eight bytes"));
    bytes.chunks_exact(8).map(word).collect()
}

/// What finds damage of files: everybody may know it.
pub(crate) const PUBLIC_KEY: [u64; 2] = [0x7468_7265_6164_7072, 0x6f6f_6620_6c6f_6773];

/// SipHash-2-4 of two lists of words, one after the other.
pub(crate) fn keyed_digest(key: [u64; 2], head: &[u64], words: &[u64]) -> u64 {
    let mut v = [
        key[0] ^ 0x736f_6d65_7073_6575,
        key[1] ^ 0x646f_7261_6e64_6f6d,
        key[0] ^ 0x6c79_6765_6e65_7261,
        key[1] ^ 0x7465_6462_7974_6573,
    ];
    for w in head.iter().chain(words) {
        v[3] ^= w;
        round(&mut v);
        round(&mut v);
        v[0] ^= w;
    }
    // As the function is defined, the last word has the length in bytes.
    let last = ((head.len() + words.len()) as u64 * 8) << 56;
    v[3] ^= last;
    round(&mut v);
    round(&mut v);
    v[0] ^= last;
    v[2] ^= 0xff;
    (0..4).for_each(|_| round(&mut v));
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

#[inline]
fn round(v: &mut [u64; 4]) {
    v[0] = v[0].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(13) ^ v[0];
    v[0] = v[0].rotate_left(32);
    v[2] = v[2].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(16) ^ v[2];
    v[0] = v[0].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(21) ^ v[0];
    v[2] = v[2].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(17) ^ v[2];
    v[2] = v[2].rotate_left(32);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_the_digest_is_siphash_as_published() {
        // The test vector of the paper has 15 bytes; of its key, these are the values for 0 and for 8 bytes.
        let key = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        assert_eq!(keyed_digest(key, &[], &[]), 0x726f_db47_dd0e_0e31);
        assert_eq!(keyed_digest(key, &[0x0706_0504_0302_0100], &[]), 0x93f5_f579_9a93_2462);
    }

    #[test]
    fn check_what_is_written_is_read_again_and_what_is_cut_off_is_refused() {
        let mut guess = RangeGuess::default();
        guess.ranges.insert(VarId(3), (-7, 900));
        guess.keys.insert((VarId(1), 2), [4, -4].into());
        guess.lengths.insert(VarId(9), 12);
        guess.open.insert(VarId(5));
        guess.irregular.insert(VarId(6));
        guess.objects.insert(ClassId(1), 8);
        guess.defaults.insert(VarId(2), -1);
        guess.pool = 4;
        let mut w = WordWriter::default();
        w.guess(&guess);
        w.text("nine bytes and more");
        w.escape(&Escape::Stuck("why".into()));
        let read = |words: &[u64]| {
            let mut r = WordReader(words);
            Ok::<_, String>((r.guess()?, r.text()?, r.escape()?))
        };
        let (again, text, escape) = read(&w.0).expect("it is whole");
        assert_eq!(format!("{again:?}"), format!("{guess:?}"));
        assert_eq!((text.as_str(), escape), ("nine bytes and more", Escape::Stuck("why".into())));
        for end in 0..w.0.len() {
            assert!(read(&w.0[..end]).is_err(), "{end}");
        }
    }
}
