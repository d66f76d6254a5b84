//! The exchange of a search whose owners are processes.
//!
//! In: successors by owner, reports. Out: what `exchange` asks for. In a round every process sends one message of states to each other one and takes one
//! from each, so a round needs no further agreement; at a meeting all send a report to the first process, which decides for all. A small table of states
//! sent lately keeps most of those that would be sent again on the machine: they are compared in full.
//! Deliberately absent: threads inside a process. A machine with many processors is listed once for each.

use super::link::MessageKind;
use super::members::Members;
use crate::explore::exchange::{Decision, Exchange, Handing, OwnerReport, OwnerSizes, Reached};
use crate::explore::segment::LoggedSegment;
use crate::explore::shared::SearchStop;
use crate::explore::table::hash;
use crate::explore::wire::{WordReader, WordWriter};

/// How many states are expanded before successors are handed over to other processes.
const STATES_PER_MESSAGE: usize = 1 << 14;
const MOST_ROUNDS: u64 = 8;
/// States remembered as sent.
const REMEMBERED_STATES: usize = 1 << 15;

pub(super) struct Apart<'a, const W: usize> {
    members: &'a Members,
    sent_before: u64,
    /// States sent lately, at the place of their hash; only those that are one step away or none.
    lately: Vec<[u64; W]>,
    /// The packed form of no state is all ones in the first place: whether a place is taken.
    taken: Vec<bool>,
}

impl<'a, const W: usize> Apart<'a, W> {
    pub(super) fn new(members: &'a Members) -> Self {
        Self {
            members,
            sent_before: members.sent(),
            lately: vec![[0; W]; REMEMBERED_STATES],
            taken: vec![false; REMEMBERED_STATES],
        }
    }
    /// Whether the owner of the state was told of it lately, as one that is no further away.
    fn was_sent(&mut self, state: &[u64; W], steps: u32) -> bool {
        if steps > 1 {
            return false;
        }
        let at = (hash(state) >> 40) as usize % REMEMBERED_STATES;
        if self.taken[at] && self.lately[at] == *state {
            return true;
        }
        self.lately[at] = *state;
        self.taken[at] = true;
        false
    }
    /// Runs of states with the same number of steps: the number, how many, the states.
    fn message(&mut self, states: &mut Vec<Reached<W>>) -> Vec<u64> {
        let mut words = Vec::with_capacity(states.len() * W + 2);
        let mut head = None;
        for (state, steps) in states.drain(..) {
            if self.was_sent(&state, steps) {
                continue;
            }
            match head {
                Some((at, same)) if same == steps => {
                    let at: usize = at;
                    words[at] += 1;
                }
                _ => {
                    words.extend([u64::from(steps), 1]);
                    head = Some((words.len() - 1, steps));
                }
            }
            words.extend(state);
        }
        words
    }
}

fn states_of<const W: usize>(words: &[u64], out: &mut Vec<Reached<W>>) -> Result<(), String> {
    let mut r = WordReader(words);
    while !r.0.is_empty() {
        let (steps, many) = (r.number()?, r.take()?);
        for _ in 0..many {
            out.push((r.state()?, steps));
        }
    }
    Ok(())
}

impl<const W: usize> Exchange<W> for Apart<'_, W> {
    fn me(&self) -> usize {
        self.members.rank()
    }
    fn owners(&self) -> usize {
        self.members.processes()
    }
    fn states_per_round(&self) -> usize {
        STATES_PER_MESSAGE
    }
    fn most_rounds(&self) -> u64 {
        MOST_ROUNDS
    }
    fn sent(&self) -> u64 {
        self.members.sent() - self.sent_before
    }
    fn swap(&mut self, out: &mut Handing<W>, take: &mut dyn FnMut(&[Reached<W>])) -> Result<(), String> {
        let members = self.members;
        for link in members.others() {
            let words = self.message(&mut out[link.rank]);
            link.send(MessageKind::States, &words)?;
        }
        let own = &mut out[members.rank()];
        take(own);
        own.clear();
        let mut states = Vec::new();
        for link in members.others() {
            states.clear();
            states_of(&link.receive(MessageKind::States)?, &mut states)?;
            take(&states);
        }
        Ok(())
    }
    fn rejoin(&self) {
        // Messages of one process come in the order in which it sent them.
    }
    fn meet(
        &mut self,
        mut report: OwnerReport<W>,
        lead: &mut dyn FnMut(OwnerReport<W>) -> Decision,
    ) -> Result<Decision, String> {
        let members = self.members;
        if members.rank() > 0 {
            let mut words = WordWriter::default();
            put_report(&mut words, &report);
            let first = members.link(0)?;
            first.send(MessageKind::Report, &words.0)?;
            return decision_of(&first.receive(MessageKind::Decision)?);
        }
        for link in members.others() {
            report.merge(report_of(&link.receive(MessageKind::Report)?)?);
        }
        let decision = lead(report);
        let mut words = WordWriter::default();
        put_decision(&mut words, &decision);
        members.send_to_all(MessageKind::Decision, &words.0)?;
        Ok(decision)
    }
}

fn put_report<const W: usize>(w: &mut WordWriter, report: &OwnerReport<W>) {
    let s = report.sizes;
    w.put(s.left).put(s.most_left).put(s.coming).put(s.states).put(s.bytes).put(s.sent);
    w.put(report.transitions).put(report.more_effort);
    w.violations(&report.found);
    w.option(report.escape.as_ref(), |w, e| w.escape(e));
    w.option(report.exhausted, |w, e| w.exhausted(e));
    w.put(u64::from(report.failed));
    w.option(report.incomplete.as_deref(), |w, t| {
        w.text(t);
    });
    w.list(report.segments.iter(), |w, s| s.put(w));
}

fn report_of<const W: usize>(words: &[u64]) -> Result<OwnerReport<W>, String> {
    let mut r = WordReader(words);
    let sizes = OwnerSizes {
        left: r.take()?,
        most_left: r.take()?,
        coming: r.take()?,
        states: r.take()?,
        bytes: r.take()?,
        sent: r.take()?,
    };
    Ok(OwnerReport {
        sizes,
        transitions: r.take()?,
        more_effort: r.take()?,
        found: r.violations()?,
        escape: r.option(WordReader::escape)?,
        exhausted: r.option(WordReader::exhausted)?,
        failed: r.flag()?,
        incomplete: r.option(WordReader::text)?,
        segments: r.list(LoggedSegment::read)?,
    })
}

fn put_decision(w: &mut WordWriter, decision: &Decision) {
    match decision {
        Decision::Rounds(n) => {
            w.put(0).put((*n).into());
        }
        Decision::Level => {
            w.put(1);
        }
        Decision::Stop(None) => {
            w.put(2);
        }
        Decision::Stop(Some(SearchStop::Depth)) => {
            w.put(3);
        }
        Decision::Stop(Some(SearchStop::AllFound)) => {
            w.put(4);
        }
        Decision::Stop(Some(SearchStop::Exhausted(e))) => w.put(5).exhausted(*e),
    }
}

fn decision_of(words: &[u64]) -> Result<Decision, String> {
    let mut r = WordReader(words);
    Ok(match r.take()? {
        0 => Decision::Rounds(r.number()?),
        1 => Decision::Level,
        2 => Decision::Stop(None),
        3 => Decision::Stop(Some(SearchStop::Depth)),
        4 => Decision::Stop(Some(SearchStop::AllFound)),
        5 => Decision::Stop(Some(SearchStop::Exhausted(r.exhausted()?))),
        _ => return Err("a decision is none of ours".into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explore::guess::Escape;
    use base::Exhausted;

    #[test]
    fn check_reports_and_decisions_arrive_as_they_were_sent() {
        let mut report: OwnerReport<2> = OwnerReport { transitions: 7, failed: true, ..OwnerReport::default() };
        report.escape = Some(Escape::Range { var: program::VarId(3), value: -1 });
        report.exhausted = Some(Exhausted::Memory);
        report.incomplete = Some("a reason".into());
        let mut w = WordWriter::default();
        put_report(&mut w, &report);
        let again: OwnerReport<2> = report_of(&w.0).expect("it is whole");
        assert_eq!(format!("{again:?}"), format!("{report:?}"));
        let stops = [None, Some(SearchStop::Depth), Some(SearchStop::AllFound)].map(Decision::Stop);
        let effort = Decision::Stop(Some(SearchStop::Exhausted(Exhausted::Effort)));
        for decision in stops.into_iter().chain([Decision::Rounds(5), Decision::Level, effort]) {
            let mut w = WordWriter::default();
            put_decision(&mut w, &decision);
            assert_eq!(decision_of(&w.0), Ok(decision));
        }
    }
}
