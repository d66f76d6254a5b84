//! What the first process asks of the others: to take part in a search, and for the way back.
//!
//! In: a plan and a guess, as far as they differ from search to search. Out: the same layout, the same compiled system and the same settings in every
//! process; a digest of the compiled system shows that they are. Deliberately absent: the program, which each process reads for itself.

use super::super::guess::RangeGuess;
use super::super::layout::Layout;
use super::super::system::{CompiledSystem, Switches};
use super::super::wire::{WordReader, WordWriter};
use super::super::worker::FoldingMode;
use program::semantics::InstanceCounts;
use program::{Program, PropertyId};
use sha2::{Digest, Sha256};

/// One search, in the words of `search` and `run`.
#[derive(Clone, Debug)]
pub(crate) struct SearchRequest {
    pub counts: InstanceCounts,
    pub wanted: Vec<PropertyId>,
    pub switches: Switches,
    pub depth: usize,
    pub mode: FoldingMode,
    pub compact: bool,
    pub mark: bool,
    /// The words of a state.
    pub width: usize,
    pub guess: RangeGuess,
}

impl SearchRequest {
    pub(crate) fn words(&self) -> Vec<u64> {
        let mut w = WordWriter::default();
        w.list(self.counts.0.iter(), |w, n| {
            w.put((*n).into());
        });
        w.list(self.wanted.iter(), |w, p| {
            w.put(p.0.into());
        });
        let s = self.switches;
        let flags = [s.por, s.symmetry, s.dead, s.heap, self.compact, self.mark];
        flags.into_iter().for_each(|f| {
            w.put(f.into());
        });
        w.put(self.depth as u64).put(self.mode as u64).put(self.width as u64).guess(&self.guess);
        w.0
    }
    pub(super) fn read(r: &mut WordReader<'_>) -> Result<Self, String> {
        let counts = InstanceCounts(r.list(WordReader::number)?);
        let wanted = r.list(|r| Ok(PropertyId(r.number()?)))?;
        let switches = Switches { por: r.flag()?, symmetry: r.flag()?, dead: r.flag()?, heap: r.flag()? };
        let (compact, mark, depth) = (r.flag()?, r.flag()?, r.size()?);
        let mode = r.take()?;
        let mode = [FoldingMode::Plain, FoldingMode::Eager, FoldingMode::Lazy].into_iter().find(|m| *m as u64 == mode);
        let mode = mode.ok_or("a request folds in an unknown way")?;
        Ok(Self { counts, wanted, switches, depth, mode, compact, mark, width: r.size()?, guess: r.guess()? })
    }
    /// A name for the search that is the same in every run.
    pub(crate) fn name(&self) -> String {
        let bytes: Vec<u8> = self.words().iter().flat_map(|w| w.to_le_bytes()).collect();
        Sha256::digest(&bytes)[..8].iter().map(|b| format!("{b:02x}")).collect()
    }
    pub(super) fn system(&self, program: &Program) -> Result<CompiledSystem, String> {
        let failed = |e| format!("the program cannot be compiled as the first process has it: {e:?}");
        // Numbers from outside are looked at before they are used.
        let known = |p: &PropertyId| (p.0 as usize) < program.properties.len();
        if self.counts.0.len() != program.threads.len() || !self.wanted.iter().all(known) {
            return Err("the request is about another program".into());
        }
        let layout = Layout::new(program, &self.counts, &self.guess).map_err(failed)?;
        CompiledSystem::new(program, &self.counts, layout, &self.wanted, self.switches).map_err(failed)
    }
}

/// What was compiled, in a number: two processes with the same take the same steps.
pub(super) fn system_digest(system: &CompiledSystem) -> u64 {
    let text = format!("{:?}{:?}{:?}{:?}", system.layout.slots, system.layout.plans, system.places, system.sites);
    let digest = Sha256::digest(text.as_bytes());
    u64::from_le_bytes(digest[..8].try_into().expect("a digest has more than eight bytes"))
}
