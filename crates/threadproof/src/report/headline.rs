//! The first lines of an "unsafe": what failed, where, with which values, and why it can happen, in the names of the program.
//!
//! In: a replayed run and its slice. Out: one or two sentences. Only variables that the source names are spoken of; values are those of the
//! store in which the check fails. The reason is the first of these that the run shows: a value that was read before another thread
//! changed it and used after, or the last change by another thread. Deliberately absent: the run itself, which `story` shows step by step.

use super::describe::{Describer, plain_name};
use super::slice::Slice;
use super::story::Relevance;
use logic::{Term, Value};
use program::semantics::{Semantics, State, Trace};
use program::{Program, PropertyKind, Scope, VarId, VarKind};

struct FailedRun<'a> {
    sem: &'a Semantics<'a>,
    describer: &'a Describer<'a>,
    trace: &'a Trace,
    states: &'a [State],
    slice: &'a Slice,
}

/// Sentences about the end of a run; none where there is nothing to add to the name of the property.
pub fn summary(
    sem: &Semantics<'_>,
    describer: &Describer<'_>,
    trace: &Trace,
    states: &[State],
    slice: &Slice,
) -> Vec<String> {
    let failed = FailedRun { sem, describer, trace, states, slice };
    let p = sem.program;
    let property = &p.properties[trace.violates];
    let (Some(last), Some(step)) = (states.last(), trace.steps.last()) else { return Vec::new() };
    let mover = step.instance as usize;
    let action = &p.threads[step.thread].code.actions[step.action];
    let at = match describer.place(action.origin) {
        place if place.is_empty() => String::new(),
        place => format!(" at {place}"),
    };
    let who = format!("thread {}", describer.column(last, mover));
    let gate = action.gates.iter().find(|g| g.property == trace.violates).map(|g| g.formula);
    let named = describer.stated(trace);
    let (sentence, formula) = match (&property.kind, gate) {
        (PropertyKind::Invariant(f), _) => (format!("{who} breaks `{named}`{at}"), Some(*f)),
        (PropertyKind::Rely(_), _) => (format!("{who} breaks `{named}`{at}, on which another thread relies"), None),
        (PropertyKind::Deadlock, _) => return failed.deadlock(),
        (PropertyKind::Race, Some(formula)) => return failed.race(formula),
        (kind, Some(formula)) => {
            let what = failure(kind, named);
            (format!("{what}{at} in {who}"), Some(formula))
        }
        _ => return Vec::new(),
    };
    let mut vars = formula.map_or_else(Vec::new, |f| failed.named_vars(f));
    failed.spelled_vars(named, mover, &mut vars);
    let values: Vec<String> = vars
        .iter()
        .filter(|v| !is_large(p, **v))
        .filter_map(|v| Some(format!("{} = {}", describer.name(*v), failed.shown(last, mover, *v)?)))
        .collect();
    let with = if values.is_empty() { String::new() } else { format!(" ({})", values.join(", ")) };
    let mut out = vec![format!("{sentence}{with}")];
    out.extend(failed.stale_read(mover).or_else(|| failed.last_change(mover, &vars)));
    out
}

/// What failed, by the kind of check.
fn failure(kind: &PropertyKind, text: &str) -> String {
    let inner = |lead: &str, trail: &str| -> Option<String> {
        let rest = text.strip_prefix(lead)?.trim().trim_end_matches(';').trim();
        Some(rest.strip_suffix(trail).unwrap_or(rest).trim().to_string())
    };
    match kind {
        PropertyKind::Assertion => {
            let stated = inner("assert(", ")").or_else(|| inner("assert ", ""));
            match stated {
                Some(stated) => format!("assertion `{stated}` fails"),
                None => format!("`{text}` is reached"),
            }
        }
        PropertyKind::Division => format!("`{text}` divides by zero"),
        PropertyKind::Null => format!("`{text}` follows a pointer that refers to nothing valid"),
        PropertyKind::Freed => format!("`{text}` uses an object that was freed"),
        PropertyKind::Release => format!("`{text}` releases a lock that the thread does not hold"),
        PropertyKind::Bounds => format!("`{text}` is outside the sequence"),
        PropertyKind::Overflow => format!("`{text}` overflows"),
        PropertyKind::Access(_) => {
            format!("`{text}` is broken: the variable is accessed where its predicate does not hold,")
        }
        _ => format!("`{text}` does not hold"),
    }
}

/// Where a statement spells a name, as a whole: not as a part of another name, nor of a field or element of it.
fn spelling(statement: &str, name: &str) -> Option<usize> {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let whole = |at: &usize| {
        let before = statement[..*at].chars().next_back();
        let after = statement[at + name.len()..].chars().next();
        !before.is_some_and(|c| part(c) || c == '.') && !after.is_some_and(|c| part(c) || c == '.' || c == '[')
    };
    if name.is_empty() { None } else { statement.match_indices(name).map(|(at, _)| at).find(whole) }
}

/// Whether a value is a whole table, which no sentence has room for.
fn is_large(p: &Program, var: VarId) -> bool {
    matches!(p.terms.kind(p.vars[var].sort), logic::SortKind::Map(..)) || matches!(p.vars[var].kind, VarKind::Live(_))
}

impl FailedRun<'_> {
    /// The variables of a formula that the source names.
    fn named_vars(&self, formula: Term) -> Vec<VarId> {
        let p = self.sem.program;
        let mut out: Vec<VarId> = Vec::new();
        for symbol in p.terms.free_symbols(formula) {
            if let Some((v, _)) = p.var_of(symbol)
                && self.describer.is_named(v)
                && !out.contains(&v)
            {
                out.push(v);
            }
        }
        out.sort();
        out
    }

    /// Variables whose name the failing statement spells: the test of a C assertion is a step before it.
    fn spelled_vars(&self, statement: &str, mover: usize, out: &mut Vec<VarId>) {
        let p = self.sem.program;
        let Some(last) = self.states.last() else { return };
        let thread = last.instances[mover].thread;
        let visible = |v: &VarId| {
            let scope = &p.vars[*v].scope;
            let seen = *scope == Scope::Shared || *scope == Scope::Thread(thread);
            seen && self.sem.value(last, mover, *v).is_some() && self.describer.is_named(*v)
        };
        let mut spelt: Vec<(usize, VarId)> = Vec::new();
        for v in p.vars.ids().filter(visible) {
            spelt.extend(spelling(statement, plain_name(&p.vars[v].name)).map(|at| (at, v)));
        }
        spelt.sort();
        for (at, v) in &spelt {
            // Two of one name: a local hides the other, or it is a copy of another call, and no value can be given.
            let same = || spelt.iter().filter(|(other, _)| other == at).map(|(_, v)| p.vars[*v].scope != Scope::Shared);
            let locals = same().filter(|is_local| *is_local).count();
            let is_local = p.vars[*v].scope != Scope::Shared;
            if !out.contains(v) && (locals == 0 || locals == 1 && is_local) {
                out.push(*v);
            }
        }
    }

    fn shown(&self, state: &State, at: usize, var: VarId) -> Option<String> {
        let p = self.sem.program;
        Some(self.sem.value(state, at, var)?.show(&p.terms, p.vars[var].sort))
    }

    fn place_of(&self, step: usize) -> String {
        let step = &self.trace.steps[step];
        self.describer.place(self.sem.program.threads[step.thread].code.actions[step.action].origin)
    }

    fn statement(&self, step: usize) -> String {
        let step = &self.trace.steps[step];
        let p = self.sem.program;
        p.origins[p.threads[step.thread].code.actions[step.action].origin].text.trim().to_string()
    }

    fn who(&self, instance: usize) -> String {
        self.states.last().map_or_else(String::new, |last| format!("thread {}", self.describer.column(last, instance)))
    }

    /// The shared variables of the program that a step of the run reads into a local, with the local.
    fn reads_into_locals(&self, step: usize) -> Vec<(VarId, VarId)> {
        let p = self.sem.program;
        let step = &self.trace.steps[step];
        let action = &p.threads[step.thread].code.actions[step.action];
        let mut out = Vec::new();
        for update in action.updates.iter().filter(|u| p.vars[u.var].scope != Scope::Shared) {
            for symbol in p.terms.free_symbols(update.value) {
                let read = p.var_of(symbol).map(|(v, _)| v).filter(|v| p.vars[*v].scope == Scope::Shared);
                out.extend(read.filter(|v| self.describer.is_named(*v)).map(|v| (v, update.var)));
            }
        }
        out
    }

    fn changes_at(&self, step: usize, var: VarId) -> bool {
        let by = self.trace.steps[step].instance as usize;
        let (Some(before), Some(after)) = (self.states.get(step), self.states.get(step + 1)) else { return false };
        self.sem.value(before, by, var) != self.sem.value(after, by, var)
    }

    /// A value that one thread reads, another changes and the first one still uses: most mistakes between threads are of this kind.
    fn stale_read(&self, mover: usize) -> Option<String> {
        let p = self.sem.program;
        let count = self.trace.steps.len();
        let relevant = |i: &usize| self.slice.steps[*i] == Relevance::Matters;
        for read in (0..count).filter(relevant) {
            let reader = self.trace.steps[read].instance as usize;
            for (var, local) in self.reads_into_locals(read) {
                let uses = |i: &usize| {
                    let step = &self.trace.steps[*i];
                    let action = &p.threads[step.thread].code.actions[step.action];
                    let writes = action.updates.iter().filter(|u| p.vars[u.var].scope == Scope::Shared);
                    let mut terms: Vec<Term> = writes.map(|u| u.value).collect();
                    terms.extend(action.gates.iter().filter(|g| g.property == self.trace.violates).map(|g| g.formula));
                    terms.push(action.guard);
                    let symbol = p.vars[local].symbol;
                    step.instance as usize == reader && terms.iter().any(|t| p.terms.free_symbols(*t).contains(&symbol))
                };
                let rewritten = (read + 1..count)
                    .filter(relevant)
                    .find(|i| self.trace.steps[*i].instance as usize == reader && self.changes_at(*i, local));
                let until = rewritten.map_or(count, |i| i + 1);
                let Some(used) = (read + 1..until).filter(relevant).find(uses) else { continue };
                let written = (read + 1..used)
                    .find(|i| self.trace.steps[*i].instance as usize != reader && self.changes_at(*i, var));
                if let Some(written) = written {
                    let writer = self.trace.steps[written].instance as usize;
                    let name = self.describer.name(var);
                    let value = match is_large(p, var) {
                        true => String::new(),
                        false => {
                            self.shown(&self.states[read], reader, var).map_or_else(String::new, |v| format!(" = {v}"))
                        }
                    };
                    let subject = if reader == mover { "it".to_string() } else { self.who(reader) };
                    return Some(format!(
                        "{subject} read {name}{value} at {} (step {}) before {} changed it at {} (step {}), and went on with the \
                         old value at {} (step {})",
                        self.place_of(read),
                        read + 1,
                        self.who(writer),
                        self.place_of(written),
                        written + 1,
                        self.place_of(used),
                        used + 1,
                    ));
                }
            }
        }
        None
    }

    /// The last step of another thread that changed one of the variables.
    fn last_change(&self, mover: usize, vars: &[VarId]) -> Option<String> {
        let p = self.sem.program;
        let shared: Vec<VarId> = vars.iter().copied().filter(|v| p.vars[*v].scope == Scope::Shared).collect();
        for i in (0..self.trace.steps.len()).rev() {
            let by = self.trace.steps[i].instance as usize;
            if by == mover {
                continue;
            }
            if let Some(v) = shared.iter().find(|v| self.changes_at(i, **v)) {
                let (old, new) = (self.shown(&self.states[i], by, *v)?, self.shown(&self.states[i + 1], by, *v)?);
                let (who, place, name) = (self.who(by), self.place_of(i), self.describer.name(*v));
                let values = if is_large(p, *v) { String::new() } else { format!(" from {old} to {new}") };
                return Some(format!("{who} changed {name}{values} at {place} (step {})", i + 1));
            }
        }
        None
    }

    /// Both accesses of a race, with the locks held.
    fn race(&self, formula: Term) -> Vec<String> {
        let p = self.sem.program;
        let count = self.trace.steps.len();
        let (last, first) = (count - 1, self.states.last());
        let Some(state) = first else { return Vec::new() };
        let mover = self.trace.steps[last].instance as usize;
        let read: Vec<VarId> = p.terms.free_symbols(formula).into_iter().filter_map(|s| Some(p.var_of(s)?.0)).collect();
        // What the other thread did to say that it is about to access the location.
        let other = (0..last)
            .rev()
            .find(|i| self.trace.steps[*i].instance as usize != mover && read.iter().any(|v| self.changes_at(*i, *v)));
        let access = |i: usize| {
            let who = self.trace.steps[i].instance as usize;
            format!("`{}` at {} in {} ({})", self.statement(i), self.place_of(i), self.who(who), self.locks(state, who))
        };
        match other {
            Some(other) => vec![format!("{} races with {}", access(last), access(other))],
            None => vec![format!("{} races with another thread", access(last))],
        }
    }

    /// The locks that an instance holds, in plain English.
    fn locks(&self, state: &State, instance: usize) -> String {
        let p = self.sem.program;
        let tid = Value::Int(state.instances[instance].tid.into());
        let mut held: Vec<String> = Vec::new();
        for (v, value) in self.sem.shared.iter().zip(&state.shared).filter(|(v, _)| p.vars[**v].kind == VarKind::Lock) {
            let name = &p.vars[*v].name;
            match value {
                Value::Map(map) => {
                    let entries = map.entries.iter().filter(|(_, holder)| **holder == tid);
                    let logic::SortKind::Map(key, _) = p.terms.kind(p.vars[*v].sort) else { continue };
                    held.extend(entries.map(|(k, _)| format!("{name}[{}]", k.show(&p.terms, key))));
                }
                value if *value == tid => held.push(name.clone()),
                _ => {}
            }
        }
        // Locks that one thread alone uses are not part of a model of C.
        if held.is_empty() { "no common lock held".into() } else { format!("holding {}", held.join(", ")) }
    }

    fn deadlock(&self) -> Vec<String> {
        let p = self.sem.program;
        let Some(last) = self.states.last() else { return Vec::new() };
        let mut waiting = Vec::new();
        for (at, i) in last.instances.iter().enumerate() {
            if p.threads[i.thread].code.exit != Some(i.at) && self.sem.is_there(last, at) {
                waiting.push(format!("{} {}", self.who(at), self.describer.waits(last, at)));
            }
        }
        let listed = super::listed(&waiting);
        vec![if listed.is_empty() {
            "no thread can move any more".into()
        } else {
            format!("no thread can move: {listed}")
        }]
    }
}

#[cfg(test)]
mod tests {
    use super::spelling;

    #[test]
    fn check_a_name_is_spelt_only_as_a_whole() {
        assert_eq!(spelling("assert(a.balance >= 0)", "a.balance"), Some(7));
        assert_eq!(spelling("assert(both[1].balance >= 0)", "both[1].balance"), Some(7));
        assert_eq!(spelling("assert(a.balance >= 0)", "balance"), None);
        assert_eq!(spelling("assert(a.balance >= 0)", "a"), None);
        assert_eq!(spelling("assert(total[2] >= 0)", "total"), None);
        assert_eq!(spelling("xy + x", "x"), Some(5));
    }
}
