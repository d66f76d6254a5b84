//! The first lines of an "unsafe": what failed, where, with which values, and why it can happen, in the names of the program.
//!
//! In: a replayed run and its slice. Out: one or two sentences. Only variables that the source names are spoken of; values are those of the
//! store in which the check fails. Deliberately absent: why it can happen (`why`), and the run itself, which `story` shows step by step.

use super::describe::failure;
use super::names::{Describer, plain_name};
use super::slice::Slice;
use logic::{Term, Value};
use program::semantics::{Semantics, State, Trace};
use program::{OriginId, Program, PropertyKind, Scope, VarId, VarKind};

/// A run that goes wrong, with what is needed to speak of it.
pub(super) struct FailedRun<'a> {
    pub sem: &'a Semantics<'a>,
    pub describer: &'a Describer<'a>,
    pub trace: &'a Trace,
    pub states: &'a [State],
    pub slice: &'a Slice,
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
        (PropertyKind::Leak, _) => return failed.leak(),
        (PropertyKind::Access(v), Some(formula)) => {
            let words = ["guarded_by", "accessible_if", "readable_if", "writable_if"];
            let predicate = words.iter().filter_map(|w| named.find(w)).min().map_or(named, |begin| &named[begin..]);
            let statement = failed.statement(trace.steps.len() - 1);
            let what = format!("`{statement}`{at} in {who} accesses {} where", describer.name(*v));
            (format!("{what} `{}` does not hold", predicate.trim_end_matches(';')), Some(formula))
        }
        _ if property.name == "valid-memtrack" => return failed.leak(),
        (_, Some(formula)) => {
            let what = failure(p, property, named);
            (format!("{what}{at} in {who}"), Some(formula))
        }
        _ => return Vec::new(),
    };
    let values = failed.values(formula, action.guard, named, mover);
    let with = if values.is_empty() { String::new() } else { format!(" ({})", values.join(", ")) };
    let mut out = vec![format!("{sentence}{with}")];
    let tested = formula.filter(|f| !p.terms.is_false(*f)).unwrap_or(action.guard);
    let why = failed.why(formula.unwrap_or(action.guard), mover);
    let ended = failed.turn(tested, mover).filter(|i| failed.is_free(*i)).map(|i| failed.freed(i));
    let told = why.is_some() || ended.is_some();
    out.extend(why);
    out.extend(ended);
    if !told {
        out.extend(failed.otherwise(tested, mover));
    }
    out
}

/// The step that decides the violation, though it changes nothing that the source names: it made what is checked wrong.
pub fn deciding_step(
    sem: &Semantics<'_>,
    describer: &Describer<'_>,
    trace: &Trace,
    states: &[State],
    slice: &Slice,
) -> Option<usize> {
    let failed = FailedRun { sem, describer, trace, states, slice };
    let p = sem.program;
    let step = trace.steps.last()?;
    let action = &p.threads[step.thread].code.actions[step.action];
    let gate = action.gates.iter().find(|g| g.property == trace.violates)?.formula;
    let tested = if p.terms.is_false(gate) { action.guard } else { gate };
    failed.turn(tested, step.instance as usize)
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
    /// The values that the failing check is about. Where the check itself says only that it is reached, its condition stands in the guard.
    fn values(&self, formula: Option<Term>, guard: Term, statement: &str, mover: usize) -> Vec<String> {
        let (p, describer) = (self.sem.program, self.describer);
        let Some(last) = self.states.last() else { return Vec::new() };
        let mut out: Vec<String> = Vec::new();
        let mut add = |text: String| {
            // A value that nobody has decided says nothing.
            if !out.contains(&text) && !text.ends_with(" = ?") {
                out.push(text);
            }
        };
        let own = formula.filter(|f| !p.terms.is_false(*f));
        let tested = own.unwrap_or(guard);
        let mut readings = describer.readings(last, mover, tested);
        let mut spelt = Vec::new();
        self.spelled_vars(statement, mover, &mut spelt);
        // A guard may hold more than the check: what the statement names is enough.
        if own.is_none() && !spelt.is_empty() {
            readings.retain(|r| spelt.contains(&r.var));
        }
        let mut known: Vec<VarId> = readings.iter().map(|r| r.var).collect();
        readings.iter().for_each(|r| add(r.to_string()));
        self.spelled_vars(statement, mover, &mut known);
        for var in known.iter().skip(readings.len()).filter(|v| !is_large(p, **v)) {
            if let Some(value) = self.shown(last, mover, *var) {
                add(format!("{} = {value}", describer.name(*var)));
            }
        }
        // A part of the statement was read in a step before: `a.id` in `assert a.id != b.id`.
        for symbol in p.terms.free_symbols(tested) {
            let Some((var, _)) = p.var_of(symbol).filter(|(v, _)| !describer.is_named(*v)) else { continue };
            let part = p.origins[p.vars[var].origin].text.trim();
            let whole = statement.strip_prefix("assert").unwrap_or(statement).trim() == part;
            if !is_large(p, var)
                && !whole
                && spelling(statement, part).is_some()
                && let Some(value) = self.shown(last, mover, var)
            {
                add(format!("{part} = {value}"));
            }
        }
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
        let value = self.sem.value(state, at, var)?;
        Some(self.describer.shown_value(var, self.sem.program.vars[var].sort, value))
    }

    fn origin(&self, step: usize) -> OriginId {
        let step = &self.trace.steps[step];
        self.sem.program.threads[step.thread].code.actions[step.action].origin
    }

    /// `line 12 (step 3)`, or with its file where that is another one than the failure's.
    pub(super) fn place_of(&self, step: usize) -> String {
        let place = self.describer.place(self.origin(step));
        let last = self.describer.place(self.origin(self.trace.steps.len() - 1));
        let file = |place: &str| place.rsplit_once(':').map(|(file, _)| file.to_string());
        let place = match place.rsplit_once(':') {
            Some((_, line)) if file(&place) == file(&last) => format!("line {line}"),
            _ => place,
        };
        format!("{place} (step {})", step + 1)
    }

    pub(super) fn statement(&self, step: usize) -> String {
        let step = &self.trace.steps[step];
        let p = self.sem.program;
        p.origins[p.threads[step.thread].code.actions[step.action].origin].text.trim().to_string()
    }

    pub(super) fn who(&self, instance: usize) -> String {
        self.states.last().map_or_else(String::new, |last| format!("thread {}", self.describer.column(last, instance)))
    }

    fn changes_at(&self, step: usize, var: VarId) -> bool {
        let by = self.trace.steps[step].instance as usize;
        let (Some(before), Some(after)) = (self.states.get(step), self.states.get(step + 1)) else { return false };
        self.sem.value(before, by, var) != self.sem.value(after, by, var)
    }

    /// What a leak loses.
    fn leak(&self) -> Vec<String> {
        let places = self.trace.steps.len().checked_sub(1).map(|last| format!(" at {}", self.place_of(last)));
        vec![format!(
            "memory that was allocated is lost{}: nothing leads to it, and it was not freed",
            places.unwrap_or_default()
        )]
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
            let (statement, place) = (self.statement(i), self.describer.place(self.origin(i)));
            // An operand that is read has no sign of it.
            let reads = statement.chars().all(|c| c.is_alphanumeric() || "_.[]*&>()-".contains(c))
                && !statement.contains("--")
                && !statement.contains('(');
            let lead = if reads { "reading " } else { "" };
            format!("{lead}`{statement}` at {place} in {} ({})", self.who(who), self.locks(state, who))
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
            let name = &self.describer.name(*v);
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

    /// Where a thread that stands in a modelled library came from: the last of its steps in the program itself.
    fn called_from(&self, instance: usize) -> Option<String> {
        let own = |i: &usize| self.trace.steps[*i].instance as usize == instance;
        let origin = |i: usize| {
            let step = &self.trace.steps[i];
            self.sem.program.threads[step.thread].code.actions[step.action].origin
        };
        let mut steps = (0..self.trace.steps.len()).rev().filter(own).map(origin).peekable();
        if !self.describer.is_of_library(*steps.peek()?) {
            return None;
        }
        let call = steps.find(|o| !self.describer.is_of_library(*o) && !self.describer.place(*o).is_empty())?;
        Some(format!(", called from `{}` ({})", self.describer.text(call), self.describer.place(call)))
    }

    fn deadlock(&self) -> Vec<String> {
        let p = self.sem.program;
        let Some(last) = self.states.last() else { return Vec::new() };
        let mut waiting = Vec::new();
        for (at, i) in last.instances.iter().enumerate() {
            if p.threads[i.thread].code.exit != Some(i.at) && self.sem.is_there(last, at) {
                let waits = format!("{} {}", self.who(at), self.describer.waits(last, at));
                waiting.push(waits + &self.called_from(at).unwrap_or_default());
            }
        }
        let listed = super::listed(&waiting);
        let mut out = vec![if listed.is_empty() {
            "no thread can move any more".into()
        } else {
            format!("no thread can move: {listed}")
        }];
        out.extend(self.lost_signal());
        out
    }

    /// A signal that did not wake a thread which waits for ever.
    fn lost_signal(&self) -> Option<String> {
        let p = self.sem.program;
        let last = self.states.last()?;
        let by = |i: usize| self.trace.steps[i].instance as usize;
        for (at, instance) in last.instances.iter().enumerate() {
            let waits = |o: OriginId| {
                let text = self.describer.text(o);
                text.contains("cond_wait") || text.contains("cnd_wait") || text.contains("wait()")
            };
            let next = p.threads[instance.thread].code.from(instance.at).map(|(_, a)| a.origin).collect::<Vec<_>>();
            if !next.iter().any(|o| waits(*o)) {
                continue;
            }
            let began = (0..self.trace.steps.len()).rev().find(|i| by(*i) == at)?;
            let is_signal = |i: &usize| {
                let text = self.statement(*i);
                by(*i) != at && ["signal(", "broadcast(", "notify"].iter().any(|word| text.contains(word))
            };
            let signal = (0..self.trace.steps.len()).rev().find(is_signal)?;
            let (who, text, place) = (self.who(by(signal)), self.statement(signal), self.place_of(signal));
            let text = text.trim_end_matches(';');
            let one = !text.contains("broadcast") && !text.contains("notifyAll");
            return match signal < began {
                true => Some(format!(
                    "{who} called `{text}` at {place} before {} waited, and a signal is not kept",
                    self.who(at)
                )),
                false if one => Some(format!("{who} called `{text}` at {place}, which wakes one thread only")),
                false => None,
            };
        }
        None
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
