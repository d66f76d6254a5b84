//! One search by several processes, on this machine or on many.
//!
//! In: connected processes (`members`), each with the same program. Out: what `search_states` gives, whatever the number of processes. The first process
//! verifies as if it were alone; where it searches, it asks the others to take part (`request`), and each owns the states whose hash falls to it
//! (`apart`). The way back is found by asking all for the least predecessor. See docs/decisions/160-several-processes.md.
//! A process that is gone ends the search: its states went with it, and no search without them says anything. Deliberately absent: moving states to others.

mod apart;
mod handshake;
mod link;
mod members;
mod pieces;
pub(crate) mod request;

pub use handshake::{MemberIdentity, random_words};
pub use link::OnLost;
pub use members::{MAX_WAIT_FOR_MEMBERS, MemberListener, MemberPlan, Members};
pub use pieces::PieceEvent;

use super::checkpoint::SearchCheckpoint;
use super::search::{SearchSettings, Searched, search_as_owner};
use super::system::CompiledSystem;
use super::trace::{PastLevels, WayBackStep, least_predecessor};
use super::wire::{WordReader, WordWriter};
use super::worker::StateExpander;
use apart::Apart;
use base::Budget;
use link::MessageKind;
use program::Program;
use program::semantics::{Sampling, Semantics};
use request::{SearchRequest, system_digest};
use std::path::{Path, PathBuf};

/// A search that others have a part of. They keep their states until this is dropped.
pub(super) struct SpreadSearch<'a, const W: usize> {
    members: &'a Members,
    pub searched: Searched<W>,
}

impl Members {
    /// Asks all to take part in a search, and takes part in it.
    pub(super) fn search<const W: usize>(
        &self,
        request: &SearchRequest,
        program: &Program,
        system: &CompiledSystem,
        settings: &SearchSettings<'_>,
    ) -> Result<SpreadSearch<'_, W>, String> {
        let mut words = WordWriter(request.words());
        words.option(settings.checkpoint, |w, c| {
            w.put(c.generation);
        });
        self.send_to_all(MessageKind::Search, &words.0)?;
        let own = system_digest(system);
        for link in self.others() {
            let words = link.receive(MessageKind::Prepared)?;
            let mut r = WordReader(&words);
            match r.option(WordReader::text)? {
                Some(why) => return Err(format!("process {} cannot take part: {why}", link.rank)),
                None if r.take()? != own => {
                    return Err(format!("process {} has compiled another system: it is another build", link.rank));
                }
                None => {}
            }
        }
        self.send_to_all(MessageKind::Ready, &[])?;
        let mut searched = search_as_owner(program, system, settings, &mut Apart::new(self));
        for link in self.others() {
            let words = link.receive(MessageKind::Rest)?;
            let mut r = WordReader(&words);
            searched.merge_reached(&r.list(|r| r.list(WordReader::flag))?);
            searched.add_depth(r.size()?);
        }
        Ok(SpreadSearch { members: self, searched })
    }
}

impl<const W: usize> Drop for SpreadSearch<'_, W> {
    fn drop(&mut self) {
        // Who is not there any more has nothing to forget.
        let _ = self.members.send_to_all(MessageKind::Forget, &[]);
    }
}

impl<const W: usize> PastLevels<W> for SpreadSearch<'_, W> {
    fn least_predecessor(
        &self,
        step: &WayBackStep<W>,
        expander: &mut StateExpander<'_>,
    ) -> Result<Option<[u64; W]>, String> {
        let mut words = WordWriter::default();
        words.put(step.level as u64).put(step.steps as u64);
        words.0.extend(step.target);
        self.members.send_to_all(MessageKind::Predecessor, &words.0)?;
        let mut best = least_predecessor(&self.searched.shards, step, expander)?;
        for link in self.members.others() {
            let words = link.receive(MessageKind::Found)?;
            let mut r = WordReader(&words);
            if let Some(why) = r.option(WordReader::text)? {
                return Err(format!("process {}: {why}", link.rank));
            }
            let other = r.option(WordReader::state)?;
            best = [best, other].into_iter().flatten().min();
        }
        Ok(best)
    }
}

/// What a process of higher rank does: takes part in searches until it is dismissed.
pub fn take_part(
    members: &Members,
    program: &Program,
    budget: &Budget,
    checkpoint: Option<&Path>,
) -> Result<(), String> {
    let first = members.link(0)?;
    loop {
        let words = match first.receive_any()? {
            (MessageKind::Farewell, _) => return Ok(()),
            (MessageKind::Search, words) => words,
            (kind, _) => return Err(format!("the first process said {kind:?} and not what to search")),
        };
        let part = SearchPart { members, program, budget, checkpoint: checkpoint.map(Path::to_path_buf) };
        if !part.prepare(&words)? {
            return Ok(());
        }
    }
}

struct SearchPart<'a> {
    members: &'a Members,
    program: &'a Program,
    budget: &'a Budget,
    checkpoint: Option<PathBuf>,
}

impl SearchPart<'_> {
    /// False if the first process said farewell meanwhile.
    fn prepare(&self, words: &[u64]) -> Result<bool, String> {
        let first = self.members.link(0)?;
        let mut r = WordReader(words);
        let request = SearchRequest::read(&mut r)?;
        let generation = r.option(WordReader::take)?;
        let made = request.system(self.program).and_then(|system| {
            let logs = match (generation, &self.checkpoint) {
                (None, _) => None,
                (Some(g), Some(folder)) => Some(SearchCheckpoint::follow(folder.join(request.name()), g)?),
                (Some(_), None) => return Err("it was not told where to keep its part of the checkpoint".into()),
            };
            Ok((system, logs))
        });
        let mut answer = WordWriter::default();
        let (system, logs) = match made {
            Ok(made) => made,
            Err(why) => {
                answer.option(Some(why.as_str()), |w, t| {
                    w.text(t);
                });
                first.send(MessageKind::Prepared, &answer.0)?;
                return Err(why);
            }
        };
        answer.option(None::<&str>, |_, _| ()).put(system_digest(&system));
        first.send(MessageKind::Prepared, &answer.0)?;
        first.receive(MessageKind::Ready)?;
        macro_rules! widths {
            ($($w:literal)*) => {
                match request.width {
                    $($w => self.search::<$w>(&request, &system, logs.as_ref()),)*
                    other => Err(format!("states of {other} words are not searched")),
                }
            };
        }
        widths!(1 2 3 4 6 10 64)
    }

    fn search<const W: usize>(
        &self,
        request: &SearchRequest,
        system: &CompiledSystem,
        logs: Option<&SearchCheckpoint>,
    ) -> Result<bool, String> {
        let settings = SearchSettings {
            mode: request.mode,
            workers: 1,
            depth: request.depth,
            budget: self.budget.clone(),
            progress: &|_| {},
            sampling: Sampling::default(),
            compact: request.compact,
            mark: request.mark,
            checkpoint: logs,
        };
        let searched: Searched<W> = search_as_owner(self.program, system, &settings, &mut Apart::new(self.members));
        let first = self.members.link(0)?;
        let mut rest = WordWriter::default();
        rest.list(searched.reached.iter(), |w, codes| {
            w.list(codes.iter(), |w, c| {
                w.put((*c).into());
            });
        });
        rest.put(searched.depth as u64);
        first.send(MessageKind::Rest, &rest.0)?;
        let sem = Semantics::new(self.program);
        let mut expander = StateExpander::new(system, &sem);
        loop {
            let words = match first.receive_any()? {
                (MessageKind::Forget, _) => return Ok(true),
                (MessageKind::Farewell, _) => return Ok(false),
                (MessageKind::Predecessor, words) => words,
                (kind, _) => return Err(format!("the first process said {kind:?} after a search")),
            };
            let mut r = WordReader(&words);
            let (level, steps) = (r.size()?, r.size()?);
            let step = WayBackStep { level, steps, target: r.state()?, mode: request.mode };
            let mut answer = WordWriter::default();
            match least_predecessor::<W>(&searched.shards, &step, &mut expander) {
                Ok(found) => {
                    answer.option(None::<&str>, |_, _| ());
                    answer.option(found, |w, state| w.0.extend(state));
                }
                Err(why) => {
                    answer.option(Some(why.as_str()), |w, t| {
                        w.text(t);
                    });
                }
            }
            first.send(MessageKind::Found, &answer.0)?;
        }
    }
}
