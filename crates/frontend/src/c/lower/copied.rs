//! Temporaries that are plain copies of the thread's own variables are replaced by what they are copies of.
//!
//! In: a flow. Out: the same flow in which a temporary is not read where it surely still equals a variable of the same
//! thread, as the old value in `i++` mostly does. It is then dead and dropped by others. Only slots that no other thread can
//! touch are looked at, so every step keeps its meaning.

use super::flow::*;
use super::terms::Build;
use super::*;

/// By temporary, what it equals.
type Copies = BTreeMap<SlotId, SlotId>;

impl Lower<'_> {
    pub(super) fn fold_copies(&self, flow: &mut Flow, task: TaskId) {
        let Some(entry) = flow.entry else { return };
        let own = |s: SlotId| self.slots[s].owner == SlotOwner::Task(task) && self.slots[s].sort == Sort::INT;
        let source =
            |value: Term| self.terms.as_symbol(value).and_then(|s| self.by_symbol.get(&s)).copied().filter(|s| own(*s));
        let temporary = |s: SlotId| own(s) && self.slots[s].key.starts_with("<temp ");
        let copies = |step: &FlowStep| step.updates.iter().any(|(s, v)| temporary(*s) && source(*v).is_some());
        if !flow.steps.iter().any(copies) {
            return;
        }
        let outs = flow.outs();
        let mut known: Vec<Option<Copies>> = vec![None; flow.places.len()];
        known[entry.index()] = Some(Copies::new());
        let mut agenda = Worklist::forward(flow);
        while let Some(at) = agenda.next() {
            let Some(before) = known[at.index()].clone() else { continue };
            for step in outs[at.index()].iter().map(|i| &flow.steps[*i]) {
                let written: BTreeSet<SlotId> = step.updates.iter().map(|(s, _)| *s).collect();
                let mut after = before.clone();
                after.retain(|copy, of| !written.contains(copy) && !written.contains(of));
                for (slot, value) in step.updates.iter().filter(|(s, _)| temporary(*s)) {
                    let of = source(*value).map(|s| before.get(&s).copied().unwrap_or(s));
                    if let Some(of) = of.filter(|of| !written.contains(of)) {
                        after.insert(*slot, of);
                    }
                }
                let target = &mut known[step.to.index()];
                let changed = match target {
                    None => {
                        *target = Some(after);
                        true
                    }
                    Some(old) => {
                        let count = old.len();
                        old.retain(|copy, of| after.get(copy) == Some(of));
                        old.len() != count
                    }
                };
                if changed {
                    agenda.add(step.to);
                }
            }
        }
        let build = Build(&self.terms);
        for step in &mut flow.steps {
            let Some(copies) = known[step.from.index()].as_ref().filter(|c| !c.is_empty()) else { continue };
            let map = copies.iter().map(|(copy, of)| (self.slots[*copy].symbol, self.slot_term(*of))).collect();
            step.guard = build.substitute(step.guard, &map);
            step.gates.iter_mut().for_each(|(_, g)| *g = build.substitute(*g, &map));
            step.updates.iter_mut().for_each(|(_, v)| *v = build.substitute(*v, &map));
            step.gates.retain(|(_, g)| build.as_bool(*g) != Some(true));
        }
        flow.steps.retain(|s| build.as_bool(s.guard) != Some(false));
    }
}
