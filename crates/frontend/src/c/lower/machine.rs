//! Machines written in comments, and the threads that follow them.
//!
//! In: the text of `//@ machine M { ... }` and, for a start function, `//@ follows M`. Out: machines of the model
//! and the threads' properties `follows:T`. States and edges are those of the modelling language, formulas those of
//! invariants and relies in comments. What the front end keeps for itself about a thread (that it has ended, its result) is
//! none of the machine's business: each state may change it. Deliberately absent: variables of a machine, what it assumes of others, objects that it makes.

use super::annotate::{SpecReader, tokens};
use super::flow::*;
use super::*;
use crate::c::ast::SpecComment;

/// What an edge may change, and how.
#[derive(Clone, Debug)]
pub(super) struct CMachineEdge {
    pub from: usize,
    pub to: usize,
    pub frame: Vec<(SlotId, Option<Term>)>,
    pub relation: Term,
}

#[derive(Clone, Debug)]
pub(super) struct CMachine {
    pub name: String,
    pub strict: bool,
    pub states: Vec<(String, Option<Term>)>,
    pub starts: Vec<usize>,
    pub edges: Vec<CMachineEdge>,
    pub slots: BTreeSet<SlotId>,
    /// Placeholders for values after a step, as of other specifications.
    pub primed: Vec<(Symbol, SlotId)>,
    pub span: Span,
}

impl Lower<'_> {
    /// The machines of the unit, and what is wrong with those that cannot be read.
    pub(super) fn read_machines(&mut self) -> (Vec<CMachine>, Vec<(Span, String)>) {
        let (mut good, mut bad): (Vec<CMachine>, Vec<(Span, String)>) = (Vec::new(), Vec::new());
        for spec in &self.unit.machines {
            match self.read_machine(spec) {
                Ok(machine) if good.iter().any(|m| m.name == machine.name) => {
                    bad.push((spec.span, format!("there is another machine `{}`", machine.name)));
                }
                Ok(machine) => good.push(machine),
                Err(why) => bad.push((spec.span, why)),
            }
        }
        for (_, name, span) in &self.unit.follows {
            if !good.iter().any(|m| m.name == *name) {
                bad.push((*span, format!("there is no machine `{name}`")));
            }
        }
        (good, bad)
    }

    fn read_machine(&mut self, spec: &SpecComment) -> Result<CMachine, String> {
        let mut reader = SpecReader::new(self, tokens(&spec.text)?);
        let strict = reader.take("strict");
        if strict {
            reader.expect("machine")?;
        }
        let name = reader.word()?;
        reader.expect("{")?;
        let mut states: Vec<(String, Option<Term>)> = Vec::new();
        let mut starts = Vec::new();
        let mut edges: Vec<(String, String, Vec<(SlotId, Option<Term>)>, Term)> = Vec::new();
        while !reader.take("}") {
            let first = reader.word()?;
            if reader.take("->") {
                let to = reader.word()?;
                reader.expect(":")?;
                let frame = reader.frame()?;
                reader.primes = true;
                let relation = reader.formula()?;
                reader.primes = false;
                edges.push((first, to, frame, relation));
            } else {
                if first != "start" && first != "state" {
                    return Err(format!("`{first}` is neither `start`, `state` nor the beginning of an edge"));
                }
                let state = reader.word()?;
                let asserted = if reader.take("asserts") { Some(reader.formula()?) } else { None };
                if first == "start" {
                    starts.push(states.len());
                }
                if states.iter().any(|(s, _)| *s == state) {
                    return Err(format!("there are two states `{state}`"));
                }
                states.push((state, asserted));
            }
            reader.expect(";")?;
        }
        reader.end()?;
        let (slots, primed) = reader.seen();
        let index = |name: &String| {
            let at = states.iter().position(|(s, _)| s == name);
            at.ok_or_else(|| format!("the machine has no state `{name}`"))
        };
        let edges: Result<Vec<CMachineEdge>, String> = edges
            .into_iter()
            .map(|(from, to, frame, relation)| {
                Ok(CMachineEdge { from: index(&from)?, to: index(&to)?, frame, relation })
            })
            .collect();
        if starts.is_empty() {
            return Err("a machine has a start state".into());
        }
        Ok(CMachine { name, strict, states, starts, edges: edges?, slots, primed, span: spec.span })
    }

    /// The machine that a thread follows.
    pub(super) fn followed(&self, task: TaskId) -> Option<&CMachine> {
        let function = self.tasks[task].function;
        let (_, name, _) = self.unit.follows.iter().find(|(f, _, _)| *f == function)?;
        self.machines.iter().find(|m| m.name == *name)
    }
}
