//! States and steps of a run in plain English: who moves, where, what the statement is and what it changes.
//!
//! In: the reference semantics of a program, its sources, states and steps. Out: texts and `story::Event`s. Variables that the source does
//! not name are ours, and are not spoken of; what passes through them is ("reads x = 0"). Deliberately absent: which steps matter (`slice`).

use super::names::Describer;
use super::reading::Reading;
use super::story::{Relevance, StartValue, StepChange, StoryStep};
use base::Span;
use logic::{Node, Op, Sort, SortKind, Terms, Value};
use program::semantics::{Choice, State, StateView, Trace, TraceStep};
use program::{Program, Property, PropertyKind, Scope, VarId, VarKind, What};
use std::collections::BTreeSet;

impl Describer<'_> {
    /// Every shared value at the start, and the locals that have one.
    pub fn start(&self, state: &State) -> Vec<String> {
        self.start_with(state, &|_, _| Relevance::Matters).iter().map(ToString::to_string).collect()
    }
    /// The same, with which of them matter.
    pub fn start_with(&self, state: &State, matters: &dyn Fn(VarId, usize) -> Relevance) -> Vec<StartValue> {
        let p = self.program();
        let mut out = Vec::new();
        for (v, value) in self.sem.shared.iter().zip(&state.shared).filter(|(v, _)| self.is_named(**v)) {
            // Of a field or an array that holds nothing yet there is nothing to say.
            let (sort, kind) = (p.vars[*v].sort, p.vars[*v].kind);
            let (name, value) = match (value, p.terms.kind(sort)) {
                (Value::Map(map), SortKind::Map(_, element)) if map.entries.is_empty() => {
                    if map.default == Value::Any || matches!(kind, VarKind::Field(_)) {
                        continue;
                    }
                    (format!("every {}[..]", self.name(*v)), self.shown_value(*v, element, &map.default))
                }
                _ => (self.name(*v), self.shown_value(*v, sort, value)),
            };
            out.push(StartValue { name, value, matters: matters(*v, 0) });
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
            let mut own = Vec::new();
            self.changes(&before, after, instance, matters, &mut own);
            own.extend(self.written_again(&before, after, step, matters));
            let changed =
                |name: &str| own.iter().any(|(c, _)| matches!(c, StepChange::Value { name: n, .. } if n == name));
            let reads = self.reads(&before, after, step).into_iter().filter(|r| !changed(&r.name));
            changes.extend(reads.map(|r| {
                let matters = matters(r.var, instance);
                (StepChange::Reads { name: r.name, value: r.value }, matters)
            }));
            changes.extend(own);
        }
        let text = self.statement(before, step);
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
            let value = self.shown_value(u.var, p.vars[u.var].sort, self.sem.value(after, at, u.var)?);
            Some((StepChange::Note(format!("{} stays {value}", self.name(u.var))), matters(u.var, at)))
        };
        let mut out: Vec<(StepChange, Relevance)> = same.filter_map(note).collect();
        // The same of an element or a field.
        for u in action.updates.iter().filter(|u| p.vars[u.var].scope == Scope::Shared && self.is_named(u.var)) {
            let Node::App(Op::Store, parts) = p.terms.node(u.value) else { continue };
            let Ok(key) = StateView::of_instance(self.sem, before, at).eval(parts[1]) else { continue };
            let element = Reading { var: u.var, keys: vec![key], name: String::new(), value: String::new() };
            let (old, new) = (element.value_in(self.sem, before, at), element.value_in(self.sem, after, at));
            if let (true, Some(value), false) = (old == new, new, self.is_lock(u.var)) {
                let name = self.element_name(u.var, &element.keys);
                let text = format!("{name} stays {}", self.shown_value(u.var, p.terms.sort_of(parts[2]), value));
                out.push((StepChange::Note(text), matters(u.var, at)));
            }
        }
        out
    }
    /// What a step reads on its way and does not show in another way: for a test, and for a value that goes into a variable of our own or leaves
    /// one of the program's as it is.
    fn reads(&self, before: &State, after: &State, step: &TraceStep) -> Vec<Reading> {
        let p = self.program();
        let at = step.instance as usize;
        let action = &p.threads[step.thread].code.actions[step.action];
        let mut out = Vec::new();
        let mut add = |found: Vec<Reading>| {
            out.extend(found.into_iter().filter(|r| !self.is_lock(r.var)).collect::<Vec<_>>());
        };
        match action.what {
            What::Test | What::Assume => add(self.readings(before, at, action.guard)),
            _ => add(self.shared_readings(before, at, action.guard)),
        }
        let quiet =
            action.updates.iter().filter(|u| p.vars[u.var].scope != Scope::Shared).filter(|u| {
                !self.is_named(u.var) || self.sem.value(before, at, u.var) == self.sem.value(after, at, u.var)
            });
        for update in quiet {
            add(self.shared_readings(before, at, update.value));
        }
        let mut seen: BTreeSet<String> = BTreeSet::new();
        out.retain(|r| seen.insert(r.name.clone()));
        out
    }
    /// The statement of a step in a few words.
    fn statement(&self, before: &State, step: &TraceStep) -> String {
        let p = self.program();
        let thread = &p.threads[step.thread];
        let action = &thread.code.actions[step.action];
        let origin = &p.origins[action.origin];
        let text = match self.text(action.origin) {
            text if text.is_empty() => word(action.what).to_owned(),
            text => text,
        };
        let is_name = text.chars().all(|c| c.is_alphanumeric() || c == '_');
        let text = text.trim_end_matches('{').trim_end().to_owned();
        let first = before.instances.get(step.instance as usize).is_some_and(|i| i.at == thread.code.entry);
        match action.what {
            _ if text == "atomic" => origin.span.map_or(text, |span| self.block(span)),
            What::Return if text.contains("->") && !text.contains("return") || text.starts_with('@') => {
                "the thread ends".into()
            }
            What::Return if text.contains("return") || text.contains('=') => text,
            What::Return if thread.code.exit == Some(action.to) => "the thread ends".into(),
            What::Return => "the function ends".into(),
            What::Assign | What::Skip if first && (text.contains("->") || text.starts_with('@')) => {
                "the thread begins".into()
            }
            What::Acquire if is_name => format!("enters synchronized {text}"),
            What::Release if is_name => format!("leaves synchronized {text}"),
            _ if first && begins_a_thread(&text) && step.thread.index() > 0 => "the thread begins".into(),
            _ if self.part_of_line(action.origin, &text).is_some() => {
                self.part_of_line(action.origin, &text).unwrap_or_default()
            }
            What::Test if text.contains(".join(") => text,
            What::Test if text == "true" => "go on".into(),
            // An operand or a condition alone.
            What::Assign | What::Test if !text.contains(['=', '(', ';', '+', '-', ' ']) => {
                format!("{} {text}", if p.terms.is_true(action.guard) { "read" } else { "test" })
            }
            What::Test => format!("test {text}"),
            _ => text,
        }
    }
    /// Of C, the whole line that an operand or a condition alone stands on, where it is one short statement.
    fn part_of_line(&self, origin: program::OriginId, text: &str) -> Option<String> {
        const MAX_LINE_CHARS: usize = 60;
        let span = self.program().origins[origin].span?;
        let file = self.sources.file(span.file);
        let is_c = [".c", ".i", ".h"].iter().any(|ending| file.name.ends_with(ending));
        if !is_c || text.contains(['=', ';', '(']) {
            return None;
        }
        let line = file.text.lines().nth(self.sources.line_of(span) - 1)?.trim().trim_start_matches('}');
        let line = line.trim().trim_end_matches(['{', ';', ' ']);
        let single = !line.contains([';', '{', '}']) && line.chars().count() <= MAX_LINE_CHARS;
        (single && line.contains(text)).then(|| line.to_string())
    }
    /// A block as it is written, cut where it is long.
    fn block(&self, span: Span) -> String {
        const MAX_BLOCK_CHARS: usize = 70;
        let file = &self.sources.file(span.file).text;
        let text = file.get(span.start as usize..span.end as usize).unwrap_or("atomic");
        let lines = text.lines().map(|l| l.split("//").next().unwrap_or(l));
        let text = lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ");
        match text.chars().count() > MAX_BLOCK_CHARS {
            true => format!("{} ..", text.chars().take(MAX_BLOCK_CHARS).collect::<String>().trim_end()),
            false => text,
        }
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
    pub(super) fn changes(
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
            let show = |value: &Value, sort: Sort| self.shown_value(v, sort, value);
            difference(&p.terms, &show, &self.name(v), form, p.vars[v].sort, (a, b), &mut found);
            out.extend(found.into_iter().map(|c| (c, matters(v, mover))));
        };
        for (i, v) in self.sem.shared.iter().enumerate() {
            let (a, b) = (&before.shared[i], &after.shared[i]);
            // Which objects are live is seen from the `new` and `free` statements themselves.
            if !matches!(p.vars[*v].kind, VarKind::Live(_)) && self.is_named(*v) {
                let field = matches!(p.vars[*v].kind, VarKind::Field(_));
                let form = match (field, self.is_lock(*v)) {
                    (true, true) => NameForm::Monitor,
                    (true, false) => NameForm::Field,
                    (false, _) => NameForm::Plain,
                };
                add(*v, form, a, b);
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
            _ => {
                let what = failure(p, property, self.stated(trace));
                out.push(format!("step {number} goes wrong: {}{place}", what.trim_end_matches(',')));
            }
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
            let held: Vec<String> = self
                .readings(state, at, a.guard)
                .into_iter()
                .filter(|r| self.is_lock(r.var))
                .filter_map(|r| match r.value_in(self.sem, state, at)? {
                    Value::Int(holder) if *holder > 0 && *holder != i128::from(i.tid) => Some((r.name, *holder)),
                    _ => None,
                })
                .map(|(name, holder)| {
                    let owner = state.instances.iter().position(|o| i128::from(o.tid) == holder);
                    let owner =
                        owner.map_or_else(String::new, |o| format!(", which thread {} holds", self.column(state, o)));
                    format!("waits for {name}{owner}, at {place}")
                })
                .collect();
            let text = self.text(a.origin);
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

#[derive(Clone, Copy)]
enum NameForm {
    Plain,
    Field,
    Monitor,
}

/// What failed, by the kind of check.
pub(super) fn failure(p: &Program, property: &Property, text: &str) -> String {
    let of = property.name.split(':').next().unwrap_or_default();
    match &property.kind {
        // Of a thread or a loop.
        PropertyKind::Assertion if of == "invariant" => {
            format!("`invariant {}` does not hold", text.trim_start_matches("invariant ").trim_end_matches(';'))
        }
        PropertyKind::Assertion if thrown(of).is_some() => {
            format!("`{text}` throws {}, which nothing catches,", thrown(of).unwrap_or_default())
        }
        PropertyKind::Assertion => match asserted(text) {
            Some(stated) => format!("assertion `{stated}` fails"),
            None => format!("`{text}` is reached"),
        },
        PropertyKind::Requires(callee) => {
            let requires = p.procedures.get(*callee).map_or(&[][..], |c| &c.requires);
            let clauses: Vec<&str> =
                requires.iter().map(|r| p.origins[r.origin].text.trim().trim_end_matches(';')).collect();
            let clauses = clauses.iter().map(|c| format!("`{c}`")).collect::<Vec<_>>().join(" and ");
            format!("`{}` does not meet {clauses},", text.trim_end_matches(';'))
        }
        PropertyKind::Division => format!("`{text}` divides by zero"),
        // Of C, whose pointers may refer to anything.
        PropertyKind::Null if !property.name.starts_with("null") => {
            format!("`{text}` accesses memory that is not there")
        }
        PropertyKind::Null => format!("`{text}` is null and is used as an object"),
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

/// What a check that the Java language makes throws where it fails, by the name of its property.
fn thrown(of: &str) -> Option<&'static str> {
    Some(match of {
        "cast" => "a ClassCastException",
        "start" => "an IllegalThreadStateException",
        "size" => "a NegativeArraySizeException",
        "index" => "an IndexOutOfBoundsException",
        "argument" => "an IllegalArgumentException",
        "element" => "a NoSuchElementException",
        "modified" => "a ConcurrentModificationException",
        "throw" => "an exception",
        _ => return None,
    })
}

/// What a statement asserts: all of it, the part after `asserting`, or the one `assert(..)` in a longer piece of C or Java.
fn asserted(text: &str) -> Option<&str> {
    let plain = |rest: &'_ str| rest.trim().trim_end_matches(';').trim().len();
    if let Some(rest) = text.strip_prefix("assert ") {
        return Some(&rest.trim_start()[..plain(rest)]);
    }
    if let Some((_, rest)) = text.split_once(" asserting ") {
        return Some(&rest.trim_start()[..plain(rest)]);
    }
    let (at, call) = text.match_indices("assert(").next()?;
    let begins = at == 0 || !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let rest = &text[at + call.len()..];
    let mut open = 1;
    let end = rest.char_indices().find(|(_, c)| {
        open += i32::from(*c == '(') - i32::from(*c == ')');
        open == 0
    });
    let (end, _) = end?;
    let alone = begins && !rest[end..].contains("assert(");
    alone.then(|| rest[..end].trim())
}

/// Whether a text is that of the step with which a thread begins: what started it, or its head.
fn begins_a_thread(text: &str) -> bool {
    text.starts_with("pthread_create") || text.ends_with(".start()") || text.starts_with("thread ")
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

/// What is different between two values of a variable; maps entry by entry.
fn difference(
    t: &Terms,
    show: &dyn Fn(&Value, Sort) -> String,
    name: &str,
    form: NameForm,
    sort: Sort,
    (a, b): (&Value, &Value),
    out: &mut Vec<StepChange>,
) {
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
                NameForm::Monitor => format!("monitor of {shown}"),
                NameForm::Field => format!("{shown}.{}", name.rsplit('.').next().unwrap_or(name)),
                NameForm::Plain => format!("{name}[{shown}]"),
            };
            difference(t, show, &name, NameForm::Plain, v, (x.get(key), y.get(key)), out);
        }
        return;
    }
    out.push(StepChange::Value { name: name.into(), before: show(a, sort), after: show(b, sort) });
}
