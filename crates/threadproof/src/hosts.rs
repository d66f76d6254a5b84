//! Several programs on several machines: each program is verified by one process, wherever there is room.
//!
//! In: a request for several programs with `--hosts`. Out: for the process of rank 0 the others, as hands that take programs and give back parts of the report
//! (`jobs` makes one report of all parts); a process of higher rank verifies what it is given until it is dismissed. A process that is lost takes nothing
//! with it: its programs are given to others. One that two processes were lost with is an internal error of that program.
//! Deliberately absent: moving files between machines. Each has its own copies, and it is compared that they are the same.

use crate::cli::Verify;
use crate::several::{by_hosts, end_without};
use crate::verifying::VerifyRun;
use methods::spread::{MemberIdentity, Members, PieceEvent};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

/// A program that so many processes were lost with is given to no other.
const MAX_LOSSES: u32 = 2;

/// The processes on other machines, as the one of rank 0 sees them.
pub struct OtherMachines {
    members: Arc<Members>,
    events: Receiver<PieceEvent>,
    /// How many programs each takes at once.
    room: usize,
    /// By rank, of those that are not lost: the programs that it has.
    at_work: BTreeMap<usize, Vec<usize>>,
    losses: BTreeMap<usize, u32>,
}

impl OtherMachines {
    fn new(members: Arc<Members>, room: usize) -> std::io::Result<Self> {
        let events = members.piece_events()?;
        let at_work = (1..members.processes()).map(|rank| (rank, Vec::new())).collect();
        Ok(Self { members, events, room, at_work, losses: BTreeMap::new() })
    }

    /// Gives programs to those that have room, first to those that have least to do.
    pub fn hand_out(&mut self, left: &mut VecDeque<usize>) {
        while let Some((rank, programs)) = self.at_work.iter_mut().min_by_key(|(_, programs)| programs.len()) {
            let room = programs.len() < self.room;
            let Some(place) = room.then(|| left.pop_front()).flatten() else { return };
            programs.push(place);
            // Where it cannot be sent, the thread that listens tells of the loss.
            drop(self.members.ask_for(*rank, place));
        }
    }

    /// What came back since: parts of the report, or why there is none. What was lost with its process is to be done again.
    pub fn answers(&mut self, left: &mut VecDeque<usize>) -> Vec<(usize, Result<Vec<u8>, String>)> {
        let mut found = Vec::new();
        while let Ok(event) = self.events.try_recv() {
            match event {
                PieceEvent::Done { rank, piece, answer } => {
                    let programs = self.at_work.entry(rank).or_default();
                    // Nobody may answer what it was not asked.
                    if let Some(at) = programs.iter().position(|p| *p == piece) {
                        programs.remove(at);
                        found.push((piece, Ok(answer)));
                    }
                }
                PieceEvent::Lost { rank, why } => {
                    let Some(programs) = self.at_work.remove(&rank) else { continue };
                    eprintln!("note: {why}; what it was verifying is given to others");
                    for place in programs {
                        let losses = self.losses.entry(place).or_default();
                        *losses += 1;
                        if *losses < MAX_LOSSES {
                            left.push_front(place);
                        } else {
                            found.push((place, Err(format!("{losses} processes were lost while they verified it"))));
                        }
                    }
                }
            }
        }
        found
    }

    /// The programs that are being verified elsewhere.
    pub fn programs(&self) -> impl Iterator<Item = usize> {
        self.at_work.values().flatten().copied()
    }

    /// The work is over.
    pub fn dismiss(&self) {
        self.members.dismiss();
    }
}

/// What has to be the same on all machines.
fn identity(work: &VerifyRun, processes: usize) -> MemberIdentity {
    let r: &Verify = &work.request;
    let named = (&r.reading.set, &r.reading.threads, r.reading.data_model, &r.reading.check, &r.reading.define);
    let asked = (r.reading.deadlock, r.reading.leaks, &r.reading.undefine, &r.reading.standard);
    let how = (&r.method, &r.property, &r.option, r.bias, r.strict, r.verbose, r.show_trees);
    let limits = (r.limits.time, r.limits.seed, r.jobs);
    MemberIdentity {
        version: env!("CARGO_PKG_VERSION").into(),
        program: work.digest_of_files(),
        options: format!("{named:?} {asked:?} {how:?} {limits:?}"),
        processes,
    }
}

/// Connects the processes of `--hosts`. For the first: the others. For another: it works until it is dismissed, and there is nothing more to do.
pub fn gather(
    work: &VerifyRun,
    room: usize,
    verify: impl Fn(usize) -> Vec<u8> + Send + Sync + 'static,
) -> Result<Option<OtherMachines>, String> {
    let asked = &work.request.spread;
    let Some(hosts) = &asked.hosts else { return Ok(None) };
    let (listener, mut plan) = by_hosts(hosts, asked, |processes| identity(work, processes))?;
    let rank = plan.rank;
    // Who is lost is no loss for the others: the first process hears of it where it waits for answers.
    plan.on_lost = Arc::new(|_| {});
    let members = Members::connect(&listener, plan).unwrap_or_else(|why| end_without(&why));
    // From here on nobody else can come.
    drop(listener);
    if rank == 0 {
        return OtherMachines::new(members, room).map(Some).map_err(|e| format!("no thread can be started: {e}"));
    }
    match members.work_on_pieces(Arc::new(verify)) {
        Ok(()) => {
            members.dismiss();
            Ok(None)
        }
        Err(why) => end_without(&why),
    }
}
