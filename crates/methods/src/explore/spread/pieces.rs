//! Work in pieces, each done by one process alone: the first process hands them out, and gets an answer to each.
//!
//! In: connected processes (`Members`) and what a piece means to them. Out: for the first process answers as they come, and who is lost: what a lost process had in
//! hand can be given to another, for nothing depends on what it knew. A process of higher rank works until it is dismissed.
//! Deliberately absent: what a piece is, and which process gets it.

use super::link::{MemberLink, MessageKind};
use super::members::Members;
use crate::explore::wire::{bytes_of, words_of};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

/// What the first process hears of the others.
#[derive(Debug)]
pub enum PieceEvent {
    /// A piece was done by the process of this rank.
    Done { rank: usize, piece: usize, answer: Vec<u8> },
    /// It is gone, and what it had with it.
    Lost { rank: usize, why: String },
}

/// Bytes as words: their number comes first, so that the last word may be a part of one.
fn to_words(piece: usize, bytes: &[u8]) -> Vec<u64> {
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len().next_multiple_of(8), 0);
    let mut words = vec![piece as u64, bytes.len() as u64];
    words.extend(words_of(&padded));
    words
}

fn from_words(words: &[u64]) -> Option<(usize, Vec<u8>)> {
    let (piece, length) = (usize::try_from(*words.first()?).ok()?, usize::try_from(*words.get(1)?).ok()?);
    let mut bytes = Vec::new();
    bytes_of(&words[2..], &mut bytes);
    if bytes.len() != length.checked_next_multiple_of(8)? {
        return None;
    }
    bytes.truncate(length);
    Some((piece, bytes))
}

impl Members {
    /// Asks a process for a piece; the answer comes as an event.
    pub fn ask_for(&self, rank: usize, piece: usize) -> Result<(), String> {
        self.link(rank)?.send(MessageKind::Work, &[piece as u64])
    }

    /// What the others say, until each of them is gone or dismissed.
    pub fn piece_events(self: &Arc<Self>) -> std::io::Result<Receiver<PieceEvent>> {
        let (sender, events) = channel();
        for rank in 1..self.processes() {
            let (members, sender) = (self.clone(), sender.clone());
            std::thread::Builder::new().name(format!("pieces {rank}")).spawn(move || {
                loop {
                    let event = match members.link(rank).and_then(next_answer) {
                        Ok(Some((piece, answer))) => PieceEvent::Done { rank, piece, answer },
                        Ok(None) => return,
                        Err(why) => PieceEvent::Lost { rank, why },
                    };
                    let is_last = matches!(event, PieceEvent::Lost { .. });
                    if sender.send(event).is_err() || is_last {
                        return;
                    }
                }
            })?;
        }
        Ok(events)
    }

    /// What a process of higher rank does: each piece in a thread of its own, until it is dismissed.
    pub fn work_on_pieces(self: &Arc<Self>, work: Arc<dyn Fn(usize) -> Vec<u8> + Send + Sync>) -> Result<(), String> {
        let first = self.link(0)?;
        loop {
            let piece = match first.receive_any()? {
                (MessageKind::Farewell, _) => return Ok(()),
                (MessageKind::Work, words) if words.len() == 1 => words[0] as usize,
                (kind, _) => return Err(format!("the first process said {kind:?} and not what to work on")),
            };
            let (members, work) = (self.clone(), work.clone());
            let thread = std::thread::Builder::new().name(format!("piece {piece}"));
            let begun = thread.spawn(move || {
                let words = to_words(piece, &work(piece));
                // Where the first process is gone, the thread that waits for it finds out.
                drop(members.link(0).and_then(|first| first.send(MessageKind::Done, &words)));
            });
            begun.map_err(|e| format!("no thread can be started: {e}"))?;
        }
    }
}

/// Nothing when the other said farewell.
fn next_answer(link: &MemberLink) -> Result<Option<(usize, Vec<u8>)>, String> {
    match link.receive_any()? {
        (MessageKind::Farewell, _) => Ok(None),
        (MessageKind::Done, words) => match from_words(&words) {
            Some(answer) => Ok(Some(answer)),
            None => Err(format!("process {} gave an answer that is none", link.rank)),
        },
        (kind, _) => Err(format!("process {} said {kind:?} where an answer was its turn", link.rank)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_bytes_come_back_as_they_were() {
        for length in [0, 1, 7, 8, 9, 300] {
            let bytes: Vec<u8> = (0..length).map(|n| (n * 7 + 3) as u8).collect();
            assert_eq!(from_words(&to_words(5, &bytes)), Some((5, bytes)), "{length}");
        }
    }

    #[test]
    fn check_an_answer_of_another_length_is_none() {
        assert_eq!(from_words(&[]), None);
        assert_eq!(from_words(&[1]), None);
        assert_eq!(from_words(&[1, 9, 0]), None, "nine bytes need two words");
        assert_eq!(from_words(&[1, 8, 0, 0]), None, "eight need one");
        assert_eq!(from_words(&[1, u64::MAX, 0]), None);
    }
}
