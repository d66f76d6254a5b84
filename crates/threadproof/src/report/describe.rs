//! States and steps of a run in plain English: who moves, where, what the statement is and what it changes.
//!
//! In: the reference semantics of a program, its sources, states and steps. Out: texts and `story::Event`s. Variables that the source does
//! not name are ours, and are not spoken of; what passes through them is ("reads x = 0"). Deliberately absent: which steps matter (`slice`).

use super::story::{Relevance, StartValue, StepChange, StoryStep};
use base::{Sources, Span};
use logic::{Sort, SortKind, Terms, Value};
use program::semantics::{Choice, Semantics, State, Trace, TraceStep};
use program::{OriginId, Program, PropertyKind, Scope, VarId, VarKind, What};
use std::collections::BTreeSet;

/// Describes states and steps.
pub struct Describer<'a> {
    sem: &'a Semantics<'a>,
    sources: &'a Sources,
    /// Every name that the sources spell; empty where there is no source.
    names: BTreeSet<&'a str>,
}

impl<'a> Describer<'a> {
    pub fn new(sem: &'a Semantics<'a>, sources: &'a Sources) -> Self {
        let texts = sources.ids().map(|id| sources.file(id).text.as_str());
        let names = texts.flat_map(|text| text.split(|c: char| !c.is_alphanumeric() && c != '_')).collect();
        Self { sem, sources, names }
    }
    /// Whether the source has a variable of this name: the others are ours, and no reader knows them.
    pub fn is_named(&self, var: VarId) -> bool {
        let name = plain_name(&self.program().vars[var].name);
        // Of `a[1].b` the source spells `a` and `b`.
        let spelt = |part: &str| self.names.contains(part.split('[').next().unwrap_or(part));
        name.split('.').all(spelt) || self.names.is_empty()
    }
    fn program(&self) -> &Program {
        self.sem.program
    }
    /// `1 Add`: the tid and the thread's name.
    pub fn column(&self, state: &State, at: usize) -> String {
        let i = &state.instances[at];
        format!("{} {}", i.tid, self.program().threads[i.thread].name)
    }
    /// Every shared value at the start, and the locals that have one.
    pub fn start(&self, state: &State) -> Vec<String> {
        self.start_with(state, &|_, _| Relevance::Matters).iter().map(ToString::to_string).collect()
    }
    /// The same, with which of them matter.
    pub fn start_with(&self, state: &State, matters: &dyn Fn(VarId, usize) -> Relevance) -> Vec<StartValue> {
        let p = self.program();
        let mut out = Vec::new();
        for (v, value) in self.sem.shared.iter().zip(&state.shared).filter(|(v, _)| self.is_named(**v)) {
            let value = value.show(&p.terms, p.vars[*v].sort);
            out.push(StartValue { name: self.name(*v), value, matters: matters(*v, 0) });
        }
        out
    }
    /// A step from `before` to `after`; with no `after`, it went wrong.
    pub fn event(&self, before: &State, step: &TraceStep, after: Option<&State>) -> StoryStep {
        self.event_with(before, step, after, &|_, _| Relevance::Matters)
    }
    /// The same, with which variables matter.
    pub fn event_with(
        &self,
        before: &State,
        step: &TraceStep,
        after: Option<&State>,
        matters: &dyn Fn(VarId, usize) -> Relevance,
    ) -> StoryStep {
        let p = self.program();
        let action = &p.threads[step.thread].code.actions[step.action];
        let instance = step.instance as usize;
        let mut changes: Vec<(StepChange, Relevance)> =
            step.choices.iter().filter_map(|c| Some((self.choice(c)?, Relevance::Matters))).collect();
        if let Some(after) = after {
            // Values decided for the step are not changes of the step.
            let before = self.sem.decide_all(before, &step.choices).unwrap_or_else(|_| before.clone());
            changes.extend(self.reads(&before, step).into_iter().map(|c| (c, Relevance::Matters)));
            self.changes(&before, after, instance, matters, &mut changes);
            changes.extend(self.written_again(&before, after, step, matters));
        }
        let text = match &p.origins[action.origin].text {
            text if text.is_empty() => word(action.what).to_owned(),
            text => text.split_whitespace().collect::<Vec<_>>().join(" "),
        };
        let ends = action.what == What::Return && !text.contains("return") && !self.names.contains(text.as_str());
        let text = if ends { "the function ends".to_owned() } else { text };
        let text = if action.what == What::Test { self.tested(&text, action.guard) } else { text };
        StoryStep {
            instance,
            at: p.origins[action.origin].span.map(|span| crate::place::place_of(self.sources, span)),
            place: self.place(action.origin),
            text,
            changes,
            heap: None,
            matters: Relevance::Matters,
        }
    }
    /// Shared variables that a step writes with the value they have: an update that is lost looks like this.
    fn written_again(
        &self,
        before: &State,
        after: &State,
        step: &TraceStep,
        matters: &dyn Fn(VarId, usize) -> Relevance,
    ) -> Vec<(StepChange, Relevance)> {
        let p = self.program();
        let at = step.instance as usize;
        let action = &p.threads[step.thread].code.actions[step.action];
        let written = action.updates.iter().filter(|u| {
            let var = &p.vars[u.var];
            let plain = var.kind == VarKind::Plain && !matches!(p.terms.kind(var.sort), SortKind::Map(..));
            plain && var.scope == Scope::Shared && u.value != p.now(u.var) && self.is_named(u.var)
        });
        let same = written.filter(|u| self.sem.value(before, at, u.var) == self.sem.value(after, at, u.var));
        let note = |u: &program::Update| {
            let value = self.sem.value(after, at, u.var)?.show(&p.terms, p.vars[u.var].sort);
            Some((StepChange::Note(format!("{} stays {value}", self.name(u.var))), matters(u.var, at)))
        };
        same.filter_map(note).collect()
    }
    /// Named shared values that a step puts into a variable of our own, where the reader would not see them.
    fn reads(&self, before: &State, step: &TraceStep) -> Vec<StepChange> {
        let p = self.program();
        let action = &p.threads[step.thread].code.actions[step.action];
        let hidden = action.updates.iter().filter(|u| p.vars[u.var].scope != Scope::Shared && !self.is_named(u.var));
        let mut out = Vec::new();
        for symbol in hidden.flat_map(|u| p.terms.free_symbols(u.value)) {
            let Some((v, _)) = p.var_of(symbol).filter(|(v, _)| p.vars[*v].scope == Scope::Shared) else { continue };
            let plain = !matches!(p.terms.kind(p.vars[v].sort), SortKind::Map(..)) && self.is_named(v);
            if let (true, Some(value)) = (plain, self.sem.value(before, step.instance as usize, v)) {
                let read = StepChange::Reads { name: self.name(v), value: value.show(&p.terms, p.vars[v].sort) };
                if !out.contains(&read) {
                    out.push(read);
                }
            }
        }
        out
    }
    /// A test with what it found, where that is not what the statement says: the other branch was taken.
    fn tested(&self, text: &str, guard: logic::Term) -> String {
        let t = &self.program().terms;
        let found = plain_names(&t.show(t.simplify(guard)));
        let plain = |s: &str| s.chars().filter(|c| !c.is_whitespace() && !"()".contains(*c)).collect::<String>();
        if plain(&found) == plain(text) || found == "true" || found.len() > 40 {
            return text.to_owned();
        }
        format!("{text}: {found}")
    }
    /// `file:line` of an origin.
    pub fn place(&self, origin: OriginId) -> String {
        self.program().origins[origin].span.map_or(String::new(), |s| short_place(self.sources, s))
    }
    /// A value that is decided, unless it is one of ours.
    fn choice(&self, c: &Choice) -> Option<StepChange> {
        let p = self.program();
        let var = p.var_of(c.place.symbol).map(|(v, _)| v);
        if var.is_some_and(|v| !self.is_named(v)) {
            return None;
        }
        let name = var.map_or_else(|| p.terms.symbol_name(c.place.symbol), |v| self.name(v));
        let mut sort = p.terms.symbol_sort(c.place.symbol);
        let mut keys = String::new();
        for k in &c.place.keys {
            let SortKind::Map(key, value) = p.terms.kind(sort) else { break };
            keys.push_str(&format!("[{}]", k.show(&p.terms, key)));
            sort = value;
        }
        Some(StepChange::Decided { name: format!("{name}{keys}"), value: c.value.show(&p.terms, sort) })
    }
    /// The name as the source spells it.
    pub fn name(&self, var: VarId) -> String {
        plain_name(&self.program().vars[var].name).to_string()
    }
    fn changes(
        &self,
        before: &State,
        after: &State,
        mover: usize,
        matters: &dyn Fn(VarId, usize) -> Relevance,
        out: &mut Vec<(StepChange, Relevance)>,
    ) {
        let p = self.program();
        let mut add = |v: VarId, form: NameForm, a: &Value, b: &Value| {
            let mut found = Vec::new();
            difference(&p.terms, &self.name(v), form, p.vars[v].sort, (a, b), &mut found);
            out.extend(found.into_iter().map(|c| (c, matters(v, mover))));
        };
        for (i, v) in self.sem.shared.iter().enumerate() {
            let (a, b) = (&before.shared[i], &after.shared[i]);
            // Which objects are live is seen from the `new` and `free` statements themselves.
            if !matches!(p.vars[*v].kind, VarKind::Live(_)) && self.is_named(*v) {
                let field = matches!(p.vars[*v].kind, VarKind::Field(_));
                add(*v, if field { NameForm::Field } else { NameForm::Plain }, a, b);
            }
        }
        let thread = &p.threads[after.instances[mover].thread];
        for (i, v) in thread.locals.iter().enumerate() {
            let (a, b) = (&before.instances[mover].locals[i], &after.instances[mover].locals[i]);
            if self.is_named(*v) {
                add(*v, NameForm::Plain, a, b);
            }
        }
        for at in before.instances.len()..after.instances.len() {
            let born = &after.instances[at];
            let args: Vec<String> = p.threads[born.thread]
                .params
                .iter()
                .filter_map(|v| {
                    Some(format!(
                        "{} = {}",
                        self.name(*v),
                        self.sem.value(after, at, *v)?.show(&p.terms, p.vars[*v].sort)
                    ))
                })
                .collect();
            let note = format!("starts {} {}", self.column(after, at), args.join(", ")).trim_end().to_owned();
            out.push((StepChange::Note(note), Relevance::Matters));
        }
    }
    /// What is violated as the source states it. A property of a whole C program has no text of its own: the statement that fails is
    /// what a reader knows.
    pub fn stated(&self, trace: &Trace) -> &str {
        let p = self.program();
        let property = &p.properties[trace.violates];
        let text = p.origins[property.origin].text.trim();
        let last = trace.steps.last().map(|s| p.threads[s.thread].code.actions[s.action].origin);
        match last {
            Some(origin) if text.is_empty() || text == property.name => p.origins[origin].text.trim(),
            _ if text.is_empty() => &property.name,
            _ => text,
        }
    }
    /// What is wrong after the last step, or with it.
    pub fn end(&self, trace: &Trace, states: &[State]) -> Vec<String> {
        let p = self.program();
        let last = states.last().expect("a replay has a first state");
        let property = &p.properties[trace.violates];
        let named = format!("`{}`", self.stated(trace));
        let place = match self.place(property.origin) {
            place if place.is_empty() => String::new(),
            place => format!(" ({place})"),
        };
        let number = trace.steps.len();
        let after = if number == 0 { "at the start".to_owned() } else { format!("after step {number}") };
        let mut out: Vec<String> =
            trace.finally.iter().filter_map(|c| Some(format!("{after}, {}", self.choice(c)?))).collect();
        match &property.kind {
            PropertyKind::Invariant(_) => out.push(format!("{after}, {named} does not hold{place}")),
            PropertyKind::Rely(_) => out.push(format!("step {number} breaks {named}{place} for another thread")),
            PropertyKind::Deadlock => {
                out.push(format!("{after}, no thread can move"));
                for (at, i) in last.instances.iter().enumerate() {
                    let code = &p.threads[i.thread].code;
                    let what = if code.exit == Some(i.at) { "has ended".into() } else { self.waits(last, at) };
                    out.push(format!("  {} {what}", self.column(last, at)));
                }
            }
            PropertyKind::Leak => {
                let before = &states[states.len().saturating_sub(2)];
                for (class, n) in self.sem.leaked(before, last) {
                    let object = Value::Ref(n).show(&p.terms, p.terms.sort(SortKind::Ref(class)));
                    out.push(format!("{after}, nothing that is still read leads to {object}, and it was not freed"));
                }
            }
            PropertyKind::Race => out.push(format!(
                "step {number} goes wrong: it is one of two accesses at once, and nothing keeps them apart"
            )),
            _ => out.push(format!("step {number} goes wrong: {named} does not hold{place}")),
        }
        out
    }
    /// What an instance that cannot move waits for.
    pub fn waits(&self, state: &State, at: usize) -> String {
        let p = self.program();
        let i = &state.instances[at];
        let (mut locks, mut joins, mut others): (Vec<String>, Vec<String>, Vec<String>) = Default::default();
        for (_, a) in p.threads[i.thread].code.from(i.at) {
            let place = self.place(a.origin);
            let held: Vec<String> = p
                .terms
                .free_symbols(a.guard)
                .into_iter()
                .filter_map(|s| p.var_of(s).map(|(v, _)| v))
                .filter(|v| p.vars[*v].kind == VarKind::Lock && self.is_named(*v))
                .filter_map(|v| match self.sem.value(state, at, v)? {
                    Value::Int(holder) if *holder > 0 => Some((v, *holder)),
                    _ => None,
                })
                .map(|(v, holder)| {
                    let owner = state.instances.iter().position(|o| i128::from(o.tid) == holder);
                    let owner =
                        owner.map_or_else(String::new, |o| format!(", which thread {} holds", self.column(state, o)));
                    format!("waits for {}{owner}, at {place}", self.name(v))
                })
                .collect();
            let text = p.origins[a.origin].text.trim();
            let at = format!("waits at `{text}` ({place})");
            match (held.first(), a.what) {
                (Some(lock), _) => locks.push(lock.clone()),
                (None, What::Join) => joins.push(at),
                (None, _) => others.push(at),
            }
        }
        // Of several ways on, a lock or a thread that is waited for says most.
        let mut statements = [locks, joins, others].into_iter().find(|s| !s.is_empty()).unwrap_or_default();
        statements.dedup();
        if statements.is_empty() { "has no next step".into() } else { statements.join(" or ") }
    }
}

/// Without the number that tells variables of one name apart: `count` for `count#1.3`, `t` for `t.2`.
pub fn plain_name(name: &str) -> &str {
    let name = name.split('#').next().unwrap_or(name);
    match name.rsplit_once('.') {
        Some((plain, number)) if !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()) => plain,
        _ => name,
    }
}

/// A formula whose names have no such numbers.
fn plain_names(formula: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || "_.#".contains(c);
    let mut out = String::new();
    let mut rest = formula;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c: char| is_part(c) != is_part(first)).unwrap_or(rest.len());
        let (piece, left) = rest.split_at(end);
        out.push_str(if first.is_alphabetic() || first == '_' { plain_name(piece) } else { piece });
        rest = left;
    }
    out
}

#[derive(Clone, Copy)]
enum NameForm {
    Plain,
    Field,
}

fn word(what: What) -> &'static str {
    match what {
        What::Assign => "assign",
        What::Havoc => "havoc",
        What::Assume => "assume",
        What::Assert => "assert",
        What::Acquire => "acquire",
        What::Release => "release",
        What::New => "new",
        What::Free => "free",
        What::Cas => "cas",
        What::Atomic => "atomic",
        What::Relation => "step",
        What::Test => "test",
        What::Choose => "choose",
        What::Skip => "skip",
        What::Spawn => "spawn",
        What::Join => "join",
        What::Return => "return",
        What::Unmodelled => "not modelled",
    }
}

/// What is different between two values of a variable, one line each; maps entry by entry.
pub fn value_changes(terms: &Terms, name: &str, sort: Sort, before: &Value, after: &Value) -> Vec<String> {
    let mut found = Vec::new();
    difference(terms, name, NameForm::Plain, sort, (before, after), &mut found);
    found.iter().map(ToString::to_string).collect()
}

fn difference(t: &Terms, name: &str, form: NameForm, sort: Sort, (a, b): (&Value, &Value), out: &mut Vec<StepChange>) {
    if a == b {
        return;
    }
    if let (Value::Map(x), Value::Map(y), SortKind::Map(k, v)) = (a, b, t.kind(sort))
        && x.default == y.default
    {
        let keys: BTreeSet<&Value> = x.entries.keys().chain(y.entries.keys()).collect();
        for key in keys {
            let shown = key.show(t, k);
            let name = match form {
                NameForm::Field => format!("{shown}.{}", name.rsplit('.').next().unwrap_or(name)),
                NameForm::Plain => format!("{name}[{shown}]"),
            };
            difference(t, &name, NameForm::Plain, v, (x.get(key), y.get(key)), out);
        }
        return;
    }
    out.push(StepChange::Value { name: name.into(), before: a.show(t, sort), after: b.show(t, sort) });
}

/// `file:line` with the file's own name, without its folders.
pub fn short_place(sources: &Sources, span: Span) -> String {
    let name = &sources.file(span.file).name;
    let short = name.rsplit('/').next().unwrap_or(name);
    format!("{short}:{}", sources.line_of(span))
}

#[cfg(test)]
mod tests {
    use super::{plain_name, plain_names};

    #[test]
    fn check_names_have_no_numbers_of_ours() {
        assert_eq!((plain_name("count#1.3"), plain_name("t.2"), plain_name("a.balance")), ("count", "t", "a.balance"));
        assert_eq!(plain_names("!(done.2 && x#3 == 4.5) || a[1].b > 10"), "!(done && x == 4.5) || a[1].b > 10");
    }
}
