//! How two processes find out that they belong to the same search.
//!
//! In: a socket, the shared secret, what each is (`MemberIdentity`). Out: the other's rank and the keys of the connection; or the sentence with which it was
//! turned away. Both send a random number; then each says what it is, with an HMAC (RFC 2104, over SHA-256) under the secret of both numbers and its
//! words. So nothing is believed before the secret was shown, and nothing heard earlier can be said again. The secret itself never goes over the wire.
//! Deliberately absent: encryption and names of machines.

use super::link::LinkKeys;
use crate::explore::wire::{WordReader, WordWriter, bytes_of, words_of};
use sha2::{Digest, Sha256};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// What has to be the same in all processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberIdentity {
    pub version: String,
    /// A digest of the program after everything the command line sets in it.
    pub program: String,
    /// The options that change what is searched.
    pub options: String,
    pub processes: usize,
}

/// Who a process says it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Introduction {
    pub identity: MemberIdentity,
    pub rank: usize,
    /// Where it listens.
    pub address: String,
}

const PROTOCOL_WORD: u64 = u64::from_le_bytes(*b"TPsprd01");
const NONCE_WORDS: usize = 2;
const MAX_INTRODUCTION_WORDS: u64 = 1 << 13;
/// A stranger has no more time than this for each part.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// HMAC-SHA-256.
pub(super) fn hmac(secret: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    const BLOCK_BYTES: usize = 64;
    let mut key = [0u8; BLOCK_BYTES];
    if secret.len() > BLOCK_BYTES {
        key[..32].copy_from_slice(&Sha256::digest(secret));
    } else {
        key[..secret.len()].copy_from_slice(secret);
    }
    let pad = |with: u8| key.map(|b| b ^ with);
    let mut inner = Sha256::new_with_prefix(pad(0x36));
    parts.iter().for_each(|p| inner.update(p));
    let mut outer = Sha256::new_with_prefix(pad(0x5c));
    outer.update(inner.finalize());
    outer.finalize().into()
}

/// Random words of the system.
pub fn random_words<const N: usize>() -> Result<[u64; N], String> {
    let mut bytes = vec![0; N * 8];
    let mut file = std::fs::File::open("/dev/urandom").map_err(|e| format!("/dev/urandom: {e}"))?;
    file.read_exact(&mut bytes).map_err(|e| format!("/dev/urandom: {e}"))?;
    let mut out = [0; N];
    out.copy_from_slice(&words_of(&bytes));
    Ok(out)
}

fn write(stream: &mut TcpStream, words: &[u64]) -> Result<(), String> {
    let mut bytes = Vec::new();
    bytes_of(words, &mut bytes);
    stream.write_all(&bytes).map_err(|e| e.to_string())
}

fn read(stream: &mut TcpStream, words: usize) -> Result<Vec<u64>, String> {
    let mut bytes = vec![0; words * 8];
    stream.read_exact(&mut bytes).map_err(|_| "it does not speak as a process of this search does".to_string())?;
    Ok(words_of(&bytes))
}

/// The random numbers of a connection, and who opened it.
struct Numbers {
    opener: [u64; NONCE_WORDS],
    listener: [u64; NONCE_WORDS],
}

impl Numbers {
    fn proof(&self, secret: &[u8], role: &str, words: &[u64]) -> Vec<u64> {
        let mut bytes = Vec::new();
        bytes_of(&self.opener, &mut bytes);
        bytes_of(&self.listener, &mut bytes);
        bytes_of(words, &mut bytes);
        words_of(&hmac(secret, &[role.as_bytes(), &bytes]))
    }
    fn key(&self, secret: &[u8], role: &str) -> [u64; 2] {
        let words = self.proof(secret, role, &[]);
        [words[0], words[1]]
    }
}

/// A signed text: an introduction, or why somebody is turned away.
fn say(
    stream: &mut TcpStream,
    numbers: &Numbers,
    secret: &[u8],
    role: &str,
    said: &Result<Introduction, String>,
) -> Result<(), String> {
    let mut w = WordWriter::default();
    match said {
        Ok(i) => {
            w.put(1).text(&i.identity.version).text(&i.identity.program).text(&i.identity.options);
            w.put(i.identity.processes as u64).put(i.rank as u64).text(&i.address);
        }
        Err(why) => {
            w.put(0).text(why);
        }
    }
    write(stream, &[w.0.len() as u64])?;
    write(stream, &w.0)?;
    write(stream, &numbers.proof(secret, role, &w.0))
}

const WRONG_SECRET: &str = "it has another secret";

fn hear(
    stream: &mut TcpStream,
    numbers: &Numbers,
    secret: &[u8],
    role: &str,
) -> Result<Result<Introduction, String>, String> {
    let length = read(stream, 1)?[0];
    if length > MAX_INTRODUCTION_WORDS {
        return Err("it does not speak as a process of this search does".into());
    }
    let words = read(stream, length as usize)?;
    let proof = read(stream, 4)?;
    if proof != numbers.proof(secret, role, &words) {
        return Err(WRONG_SECRET.into());
    }
    let mut r = WordReader(&words);
    if r.take()? == 0 {
        return Ok(Err(r.text()?));
    }
    let identity = MemberIdentity { version: r.text()?, program: r.text()?, options: r.text()?, processes: 0 };
    let identity = MemberIdentity { processes: r.size()?, ..identity };
    Ok(Ok(Introduction { identity, rank: r.size()?, address: r.text()? }))
}

/// What is different about the other, in a sentence.
pub(super) fn difference(own: &MemberIdentity, other: &MemberIdentity) -> Option<String> {
    if own.version != other.version {
        return Some(format!("it is of another version: {} and not {}", other.version, own.version));
    }
    if own.program != other.program {
        return Some("it has another program".into());
    }
    if own.options != other.options {
        return Some(format!("it has other options: `{}` and not `{}`", other.options, own.options));
    }
    (own.processes != other.processes)
        .then(|| format!("it is one of {} processes and not of {}", other.processes, own.processes))
}

/// Where a process that listens turns away one that has opened a connection, it says so under this name.
const OPENER: &str = "opener";
const LISTENER: &str = "listener";

/// The part of the one who opened the connection.
pub(super) fn introduce(
    stream: &mut TcpStream,
    secret: &[u8],
    own: &Introduction,
) -> Result<(Introduction, LinkKeys), String> {
    stream.set_read_timeout(Some(HANDSHAKE_TIMEOUT)).map_err(|e| e.to_string())?;
    let opener = random_words()?;
    write(stream, &[PROTOCOL_WORD, opener[0], opener[1]])?;
    let answer = read(stream, 1 + NONCE_WORDS)?;
    if answer[0] != PROTOCOL_WORD {
        return Err("it does not speak as a process of this search does".into());
    }
    let numbers = Numbers { opener, listener: [answer[1], answer[2]] };
    say(stream, &numbers, secret, OPENER, &Ok(own.clone()))?;
    // A listener with another secret turns away without a proof of its own.
    let other =
        hear(stream, &numbers, secret, LISTENER)?.map_err(|why| format!("it turned this process away: {why}"))?;
    if let Some(why) = difference(&own.identity, &other.identity) {
        return Err(why);
    }
    let keys = LinkKeys { sending: numbers.key(secret, "to listener"), receiving: numbers.key(secret, "to opener") };
    Ok((other, keys))
}

/// The part of the one who listens.
pub(super) fn welcome(
    stream: &mut TcpStream,
    secret: &[u8],
    own: &Introduction,
) -> Result<(Introduction, LinkKeys), String> {
    stream.set_read_timeout(Some(HANDSHAKE_TIMEOUT)).map_err(|e| e.to_string())?;
    let head = read(stream, 1 + NONCE_WORDS)?;
    if head[0] != PROTOCOL_WORD {
        return Err("it does not speak as a process of this search does".into());
    }
    let numbers = Numbers { opener: [head[1], head[2]], listener: random_words()? };
    write(stream, &[PROTOCOL_WORD, numbers.listener[0], numbers.listener[1]])?;
    let turned_away = |stream: &mut TcpStream, why: String| {
        let _ = say(stream, &numbers, secret, LISTENER, &Err(why.clone()));
        Err(why)
    };
    let other = match hear(stream, &numbers, secret, OPENER) {
        Ok(other) => other?,
        Err(why) => return turned_away(stream, why),
    };
    if let Some(why) = difference(&own.identity, &other.identity) {
        let seen_from_there = difference(&other.identity, &own.identity).unwrap_or_else(|| why.clone());
        return turned_away(stream, seen_from_there).map_err(|_| why);
    }
    if other.rank == own.rank || other.rank >= own.identity.processes {
        return turned_away(stream, format!("there is no place for a process of rank {}", other.rank));
    }
    say(stream, &numbers, secret, LISTENER, &Ok(own.clone()))?;
    let keys = LinkKeys { sending: numbers.key(secret, "to opener"), receiving: numbers.key(secret, "to listener") };
    Ok((other, keys))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_the_code_is_hmac_as_published() {
        // RFC 4231, cases 2 and 6.
        let hex = |bytes: [u8; 32]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        let second = hmac(b"Jefe", &[b"what do ya want ", b"for nothing?"]);
        assert_eq!(hex(second), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
        let long = hmac(&[0xaa; 131], &[b"Test Using Larger Than Block-Size Key - Hash Key First"]);
        assert_eq!(hex(long), "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    }
}
