//! The processes of one search, connected: each with each.
//!
//! In: where to listen, where the first process is, the secret. Out: `Members`, links to all others by rank. Everybody turns to the first process, which
//! tells all addresses; then each opens connections to those of lower rank. A stranger, or a process of ours with another secret, version, program or
//! option, is turned away with a sentence, and those who wait go on waiting. Nobody listens on another address than the given one, nor longer than until all are there.
//! Deliberately absent: a process that comes back. Its states went with it.

use super::handshake::{Introduction, MemberIdentity, introduce, welcome};
use super::link::{HEARTBEAT_INTERVAL, MemberLink, MessageKind, OnLost};
use crate::explore::wire::{WordReader, WordWriter};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// An open door.
pub struct MemberListener(TcpListener);

impl MemberListener {
    /// Listens on this address and no other.
    pub fn bind(address: &str) -> Result<Self, String> {
        let listener = TcpListener::bind(resolve(address)?).map_err(|e| format!("cannot listen on {address}: {e}"))?;
        listener.set_nonblocking(true).map_err(|e| format!("{address}: {e}"))?;
        Ok(Self(listener))
    }
    pub fn address(&self) -> Result<String, String> {
        self.0.local_addr().map(|a| a.to_string()).map_err(|e| e.to_string())
    }
}

fn resolve(address: &str) -> Result<SocketAddr, String> {
    let found =
        address.to_socket_addrs().map_err(|e| format!("{address} is no address of a machine and a port: {e}"))?;
    found.into_iter().next().ok_or_else(|| format!("{address} is not known"))
}

/// What a process knows before it is connected.
pub struct MemberPlan {
    pub rank: usize,
    /// The address of the process of rank 0.
    pub first: String,
    pub secret: Vec<u8>,
    pub identity: MemberIdentity,
    pub on_lost: OnLost,
    /// Told of those who are turned away.
    pub note: OnLost,
    /// An error ends the waiting: a process that was started has ended.
    pub still_expected: Box<dyn Fn() -> Result<(), String>>,
}

/// All must be there after this time.
pub const MAX_WAIT_FOR_MEMBERS: Duration = Duration::from_secs(60);
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// Links to all others; none to oneself.
pub struct Members {
    pub(super) rank: usize,
    pub(super) links: Vec<Option<MemberLink>>,
    pub(super) identity: MemberIdentity,
}

impl Members {
    pub fn connect(listener: &MemberListener, plan: MemberPlan) -> Result<Arc<Members>, String> {
        let processes = plan.identity.processes;
        let address = listener.address()?;
        let own = Introduction { identity: plan.identity.clone(), rank: plan.rank, address };
        let mut c = Connecting {
            plan,
            own,
            links: (0..processes).map(|_| None).collect(),
            until: Instant::now() + MAX_WAIT_FOR_MEMBERS,
        };
        if c.plan.rank == 0 {
            let mut addresses = vec![c.own.address.clone(); processes];
            c.accept(listener, &mut |other: &Introduction| addresses[other.rank] = other.address.clone())?;
            let mut words = WordWriter::default();
            words.list(addresses.iter(), |w, a| {
                w.text(a);
            });
            let members: Vec<&MemberLink> = c.links.iter().flatten().collect();
            for link in &members {
                link.send(MessageKind::Members, &words.0)?;
            }
            for link in &members {
                link.receive(MessageKind::Ready)?;
            }
        } else {
            let first = c.plan.first.clone();
            c.open(&first, 0)?;
            let words = c.link(0)?.receive(MessageKind::Members)?;
            let addresses = WordReader(&words).list(WordReader::text)?;
            for rank in 1..c.plan.rank {
                c.open(addresses.get(rank).ok_or("the list of processes is too short")?, rank)?;
            }
            c.accept(listener, &mut |_| {})?;
            c.link(0)?.send(MessageKind::Ready, &[])?;
        }
        let members = Arc::new(Members { rank: c.plan.rank, links: c.links, identity: c.plan.identity });
        let beating = Arc::downgrade(&members);
        let thread = std::thread::Builder::new().name("heartbeat".into()).spawn(move || beat(&beating));
        thread.map_err(|e| e.to_string())?;
        Ok(members)
    }
    pub(crate) fn rank(&self) -> usize {
        self.rank
    }
    pub fn processes(&self) -> usize {
        self.links.len()
    }
    pub fn identity(&self) -> &MemberIdentity {
        &self.identity
    }
    pub(crate) fn others(&self) -> impl Iterator<Item = &MemberLink> {
        self.links.iter().flatten()
    }
    pub(crate) fn link(&self, rank: usize) -> Result<&MemberLink, String> {
        self.links.get(rank).and_then(Option::as_ref).ok_or_else(|| format!("there is no link to process {rank}"))
    }
    pub(crate) fn send_to_all(&self, kind: MessageKind, words: &[u64]) -> Result<(), String> {
        self.others().try_for_each(|link| link.send(kind, words))
    }
    /// Bytes sent so far.
    pub(crate) fn sent(&self) -> u64 {
        self.others().map(MemberLink::sent).sum()
    }
    /// Tells everybody that the work is over.
    pub fn dismiss(&self) {
        self.others().for_each(MemberLink::farewell);
    }
}

fn beat(members: &Weak<Members>) {
    loop {
        std::thread::sleep(HEARTBEAT_INTERVAL);
        let Some(members) = members.upgrade() else { return };
        // Who does not take it is found by the thread that reads.
        members.others().for_each(|link| drop(link.send(MessageKind::Heartbeat, &[])));
    }
}

struct Connecting {
    plan: MemberPlan,
    own: Introduction,
    links: Vec<Option<MemberLink>>,
    until: Instant,
}

impl Connecting {
    fn link(&self, rank: usize) -> Result<&MemberLink, String> {
        self.links[rank].as_ref().ok_or_else(|| format!("there is no link to process {rank}"))
    }
    /// Opens the connection to a process, which may not listen yet.
    fn open(&mut self, address: &str, rank: usize) -> Result<(), String> {
        let at = resolve(address)?;
        let mut stream = loop {
            match TcpStream::connect_timeout(&at, Duration::from_secs(2)) {
                Ok(stream) => break stream,
                Err(e) if Instant::now() > self.until => {
                    return Err(format!("process {rank} at {address} cannot be reached: {e}"));
                }
                Err(_) => std::thread::sleep(LOOK_INTERVAL * 20),
            }
            (self.plan.still_expected)()?;
        };
        let (other, keys) = introduce(&mut stream, &self.plan.secret, &self.own)
            .map_err(|why| format!("process {rank} at {address}: {why}"))?;
        if other.rank != rank {
            return Err(format!("at {address} is process {} and not process {rank}", other.rank));
        }
        let name = format!("process {rank} ({address})");
        self.links[rank] = Some(MemberLink::start(rank, name, stream, keys, self.plan.on_lost.clone())?);
        Ok(())
    }
    /// Waits for those of higher rank. Each newcomer is heard in a thread of its own: who says nothing keeps nobody waiting.
    fn accept(&mut self, listener: &MemberListener, came: &mut dyn FnMut(&Introduction)) -> Result<(), String> {
        let (sender, arrived) = channel();
        while let Some(missing) = (self.plan.rank + 1..self.links.len()).find(|r| self.links[*r].is_none()) {
            if Instant::now() > self.until {
                return Err(format!("process {missing} did not come within {} s", MAX_WAIT_FOR_MEMBERS.as_secs()));
            }
            (self.plan.still_expected)()?;
            if let Ok((stream, from)) = listener.0.accept() {
                self.hear_newcomer(stream, from, sender.clone());
                continue;
            }
            let Ok((stream, from, heard)) = arrived.recv_timeout(LOOK_INTERVAL) else { continue };
            match heard {
                Err(why) => (self.plan.note)(&format!("{from} was turned away: {why}")),
                Ok((other, _)) if self.links[other.rank].is_some() || other.rank < self.plan.rank => {
                    (self.plan.note)(&format!("{from} was turned away: process {} is there already", other.rank));
                }
                Ok((other, keys)) => {
                    came(&other);
                    let name = format!("process {} ({from})", other.rank);
                    let link = MemberLink::start(other.rank, name, stream, keys, self.plan.on_lost.clone())?;
                    self.links[other.rank] = Some(link);
                }
            }
        }
        Ok(())
    }
    fn hear_newcomer(&self, mut stream: TcpStream, from: SocketAddr, to: Sender<Newcomer>) {
        let (secret, own) = (self.plan.secret.clone(), self.own.clone());
        let heard = move || {
            let heard = match stream.set_nonblocking(false) {
                Ok(()) => welcome(&mut stream, &secret, &own),
                Err(e) => Err(e.to_string()),
            };
            let _ = to.send((stream, from, heard));
        };
        // Without a thread the connection is dropped, and the newcomer is told so by that.
        let _ = std::thread::Builder::new().name("welcome".into()).spawn(heard);
    }
}

type Newcomer = (TcpStream, SocketAddr, Result<(Introduction, super::link::LinkKeys), String>);
