//! A connection between two processes of one search, once both have shown that they know the secret.
//!
//! In: a socket and the key of the connection. Out: messages in both directions, each with a digest under that key and its number, so that a message that
//! was changed, repeated or lost on the way ends the search. A process that says nothing for `MAX_SILENCE`, or whose end of the connection closes before it
//! said farewell, is lost: that is told at once, by the thread that reads.
//! Deliberately absent: encryption. Who can listen to the network sees states.

use crate::explore::wire::{bytes_of, keyed_digest, words_of};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum MessageKind {
    Heartbeat = 1,
    Farewell,
    Members,
    Ready,
    Search,
    Prepared,
    States,
    Report,
    Decision,
    Rest,
    Predecessor,
    Found,
    Forget,
    Work,
    Done,
}

impl MessageKind {
    const ALL: [MessageKind; 15] = [
        MessageKind::Heartbeat,
        MessageKind::Farewell,
        MessageKind::Members,
        MessageKind::Ready,
        MessageKind::Search,
        MessageKind::Prepared,
        MessageKind::States,
        MessageKind::Report,
        MessageKind::Decision,
        MessageKind::Rest,
        MessageKind::Predecessor,
        MessageKind::Found,
        MessageKind::Forget,
        MessageKind::Work,
        MessageKind::Done,
    ];
}

pub(super) const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);
/// Who says nothing for so long is lost.
const MAX_SILENCE: Duration = Duration::from_secs(8);
/// Longer messages are none of ours.
const MAX_MESSAGE_WORDS: u64 = 1 << 28;
const HEAD_WORDS: usize = 3;

/// Told once, with a sentence, when a process is lost.
pub type OnLost = Arc<dyn Fn(&str) + Send + Sync>;

struct Outgoing {
    stream: TcpStream,
    key: [u64; 2],
    sequence: u64,
}

/// The messages of a member that wait to be read.
type Inbox = Mutex<Receiver<Result<(MessageKind, Vec<u64>), String>>>;

pub(crate) struct MemberLink {
    pub rank: usize,
    outgoing: Mutex<Outgoing>,
    inbox: Inbox,
    sent: AtomicU64,
    /// The end of the connection is no loss any more.
    closing: Arc<AtomicBool>,
}

/// The keys of a connection, one for each direction.
#[derive(Clone, Copy)]
pub(super) struct LinkKeys {
    pub sending: [u64; 2],
    pub receiving: [u64; 2],
}

impl MemberLink {
    pub(super) fn start(
        rank: usize,
        name: String,
        stream: TcpStream,
        keys: LinkKeys,
        lost: OnLost,
    ) -> Result<Self, String> {
        let failed = |e: std::io::Error| format!("{name}: {e}");
        stream.set_nodelay(true).map_err(failed)?;
        stream.set_read_timeout(Some(MAX_SILENCE)).map_err(failed)?;
        stream.set_write_timeout(Some(MAX_SILENCE)).map_err(failed)?;
        let reading = stream.try_clone().map_err(failed)?;
        let (sender, inbox) = channel();
        let closing = Arc::new(AtomicBool::new(false));
        let reader = LinkReader { name: name.clone(), stream: reading, key: keys.receiving, sender, lost };
        let ends = closing.clone();
        let thread = std::thread::Builder::new().name(format!("link {rank}"));
        thread.spawn(move || reader.read_all(&ends)).map_err(failed)?;
        Ok(Self {
            rank,
            outgoing: Mutex::new(Outgoing { stream, key: keys.sending, sequence: 0 }),
            inbox: Mutex::new(inbox),
            sent: AtomicU64::new(0),
            closing,
        })
    }
    pub(crate) fn send(&self, kind: MessageKind, words: &[u64]) -> Result<(), String> {
        let mut out = self.outgoing.lock().unwrap_or_else(PoisonError::into_inner);
        let head = [words.len() as u64, kind as u64, out.sequence];
        out.sequence += 1;
        let mut bytes = Vec::with_capacity((words.len() + HEAD_WORDS + 1) * 8);
        bytes_of(&head, &mut bytes);
        bytes_of(words, &mut bytes);
        bytes_of(&[keyed_digest(out.key, &head, words)], &mut bytes);
        self.sent.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        out.stream.write_all(&bytes).map_err(|e| format!("process {} does not take messages any more: {e}", self.rank))
    }
    /// The next message, which has to be of this kind.
    pub(crate) fn receive(&self, wanted: MessageKind) -> Result<Vec<u64>, String> {
        let (kind, words) = self.receive_any()?;
        if kind == wanted {
            return Ok(words);
        }
        Err(format!("process {} said {kind:?} where {wanted:?} was its turn", self.rank))
    }
    pub(crate) fn receive_any(&self) -> Result<(MessageKind, Vec<u64>), String> {
        let inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        inbox.recv().unwrap_or_else(|_| Err(format!("the connection to process {} has ended", self.rank)))
    }
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }
    /// From now on the other end may close. A connection that somebody is stuck in is left as it is.
    pub(super) fn farewell(&self) {
        self.closing.store(true, Ordering::SeqCst);
        if self.outgoing.try_lock().is_ok() {
            let _ = self.send(MessageKind::Farewell, &[]);
        }
    }
}

struct LinkReader {
    name: String,
    stream: TcpStream,
    key: [u64; 2],
    sender: Sender<Result<(MessageKind, Vec<u64>), String>>,
    lost: OnLost,
}

impl LinkReader {
    fn read_all(mut self, closing: &AtomicBool) {
        let mut sequence = 0;
        loop {
            match self.next(sequence) {
                Ok((MessageKind::Heartbeat, _)) => {}
                Ok((MessageKind::Farewell, _)) => {
                    closing.store(true, Ordering::SeqCst);
                    let _ = self.sender.send(Ok((MessageKind::Farewell, Vec::new())));
                    return;
                }
                Ok(message) => {
                    // Nobody reads any more: the search is over.
                    if self.sender.send(Ok(message)).is_err() {
                        return;
                    }
                }
                Err(why) => {
                    let sentence = format!("{} was lost: {why}", self.name);
                    if !closing.swap(true, Ordering::SeqCst) {
                        (self.lost)(&sentence);
                    }
                    let _ = self.sender.send(Err(sentence));
                    return;
                }
            }
            sequence += 1;
        }
    }
    fn next(&mut self, sequence: u64) -> Result<(MessageKind, Vec<u64>), String> {
        let mut head = [0; HEAD_WORDS * 8];
        self.stream.read_exact(&mut head).map_err(|e| reason(&e))?;
        let head = words_of(&head);
        let kind = MessageKind::ALL.into_iter().find(|k| *k as u64 == head[1]);
        let Some(kind) = kind.filter(|_| head[0] <= MAX_MESSAGE_WORDS && head[2] == sequence) else {
            return Err("it sent something that is no message".into());
        };
        // Room is taken as the message comes, not as its head says.
        let mut bytes = Vec::new();
        let length = (head[0] + 1) * 8;
        let read = (&mut self.stream).take(length).read_to_end(&mut bytes).map_err(|e| reason(&e))?;
        if read as u64 != length {
            return Err("the connection was closed in the middle of a message".into());
        }
        let mut words = words_of(&bytes);
        let digest = words.pop();
        match digest == Some(keyed_digest(self.key, &head, &words)) {
            true => Ok((kind, words)),
            false => Err("a message was changed on the way".into()),
        }
    }
}

fn reason(e: &std::io::Error) -> String {
    use std::io::ErrorKind;
    match e.kind() {
        // Which of these it is depends on whether something was on its way.
        ErrorKind::UnexpectedEof
        | ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe => "the connection was closed".into(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut => format!("it said nothing for {} s", MAX_SILENCE.as_secs()),
        _ => e.to_string(),
    }
}
