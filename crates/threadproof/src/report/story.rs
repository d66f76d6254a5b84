//! A run told to a person: one column for each thread instance, the place in the file, the statement, what changed.
//!
//! In: a program, its sources and a trace (or single steps, for the simulator). Out: lines of text. The trace is
//! replayed by the reference semantics, so what is told did happen. Nothing is left out silently: long texts go on in
//! the next line, and where there is no room for columns each line names its thread.

use super::heap::Heap;
use base::{Sources, Span};
use logic::{Sort, SortKind, Value};
use program::semantics::{Choice, Mismatch, Semantics, State, Step, Trace, replay};
use program::{OriginId, Program, PropertyKind, VarId, VarKind, What};

/// A told run.
#[derive(Clone, Debug)]
pub struct Story {
    /// Titles of the columns, one for each instance that ever runs.
    pub columns: Vec<String>,
    /// The initial values.
    pub start: Vec<String>,
    pub events: Vec<Event>,
    /// What is wrong at the end.
    pub end: Vec<String>,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub instance: usize,
    /// `file:line`, or empty.
    pub place: String,
    /// The statement.
    pub text: String,
    /// `x: 0 -> 1`, and values decided just before the step.
    pub changes: Vec<String>,
    /// The heap after the step, where it is another one.
    pub heap: Vec<String>,
}

impl Story {
    pub fn lines(&self, width: usize) -> Vec<String> {
        let layout = Layout::fit(&self.columns, self.events.iter().map(|e| e.place.len()).max().unwrap_or(0), width);
        let mut out = layout.header(&self.columns);
        out.extend(layout.note("start", &self.start));
        for (i, e) in self.events.iter().enumerate() {
            out.extend(layout.row(i + 1, e, &self.columns));
            for line in &e.heap {
                out.extend(wrap(line, layout.width.saturating_sub(8)).into_iter().map(|l| format!("        {l}")));
            }
        }
        for e in &self.end {
            out.extend(wrap(e, layout.width));
        }
        out
    }
}

/// Replays the trace and tells it.
pub fn tell(program: &Program, sources: &Sources, trace: &Trace) -> Result<Story, Mismatch> {
    let replayed = replay(program, trace)?;
    let sem = Semantics::new(program);
    let teller = Teller::new(&sem, sources);
    let states = &replayed.states;
    let mut events = Vec::new();
    for (i, step) in trace.steps.iter().enumerate() {
        let mut event = teller.event(&states[i], step, states.get(i + 1));
        if let Some(after) = states.get(i + 1) {
            event.heap = heap_after(&sem, &states[i], after);
        }
        events.push(event);
    }
    let last = states.last().expect("a replay has a first state");
    let columns = (0..last.instances.len()).map(|i| teller.column(last, i)).collect();
    Ok(Story { columns, start: teller.start(&states[0]), events, end: teller.end(trace, states) })
}

/// The lines of the heap after a step that differ from those before it.
fn heap_after(sem: &Semantics<'_>, before: &State, after: &State) -> Vec<String> {
    let (a, b) = (Heap::of(sem, before), Heap::of(sem, after));
    if a == b { Vec::new() } else { b.lines() }
}

/// The steps of a run that change the heap, each with the heap before and after it.
pub fn heaps(program: &Program, sources: &Sources, trace: &Trace) -> Result<Vec<(String, Heap, Heap)>, Mismatch> {
    let replayed = replay(program, trace)?;
    let sem = Semantics::new(program);
    let teller = Teller::new(&sem, sources);
    let mut out = Vec::new();
    for (i, step) in trace.steps.iter().enumerate() {
        let Some(after) = replayed.states.get(i + 1) else { continue };
        let before = &replayed.states[i];
        let (a, b) = (Heap::of(&sem, before), Heap::of(&sem, after));
        if a != b {
            let event = teller.event(before, step, Some(after));
            let who = teller.column(after, step.instance as usize);
            out.push((format!("{}. {who}: {}  {}", i + 1, event.text, event.place), a, b));
        }
    }
    Ok(out)
}

/// Says states and steps in words.
pub struct Teller<'a> {
    sem: &'a Semantics<'a>,
    sources: &'a Sources,
}

impl<'a> Teller<'a> {
    pub fn new(sem: &'a Semantics<'a>, sources: &'a Sources) -> Self {
        Self { sem, sources }
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
        let p = self.program();
        let mut out = Vec::new();
        for (v, value) in self.sem.shared.iter().zip(&state.shared) {
            out.push(format!("{} = {}", p.vars[*v].name, value.show(&p.terms, p.vars[*v].sort)));
        }
        out
    }
    /// A step from `before` to `after`; with no `after`, it went wrong.
    pub fn event(&self, before: &State, step: &Step, after: Option<&State>) -> Event {
        let p = self.program();
        let action = &p.threads[step.thread].code.actions[step.action];
        let mut changes: Vec<String> = step.choices.iter().map(|c| self.choice(c)).collect();
        if let Some(after) = after {
            // Values decided for the step are not changes of the step.
            let before = self.sem.decide_all(before, &step.choices).unwrap_or_else(|_| before.clone());
            changes.extend(self.changes(&before, after, step.instance as usize));
        }
        let text = match &p.origins[action.origin].text {
            text if text.is_empty() => word(action.what).to_owned(),
            text => text.split_whitespace().collect::<Vec<_>>().join(" "),
        };
        let text = if action.what == What::Test { self.tested(&text, action.guard) } else { text };
        Event { instance: step.instance as usize, place: self.place(action.origin), text, changes, heap: Vec::new() }
    }
    /// A test with what it found, where that is not what the statement says: the other branch was taken.
    fn tested(&self, text: &str, guard: logic::Term) -> String {
        let t = &self.program().terms;
        let found = t.show(t.simplify(guard));
        let plain = |s: &str| s.chars().filter(|c| !c.is_whitespace() && !"()".contains(*c)).collect::<String>();
        if plain(&found) == plain(text) || found == "true" || found.len() > 40 {
            return text.to_owned();
        }
        format!("{text}: {found}")
    }
    /// `file:line` of an origin.
    pub fn place(&self, origin: OriginId) -> String {
        self.program().origins[origin].span.map_or(String::new(), |s: Span| {
            let name = &self.sources.file(s.file).name;
            let short = name.rsplit('/').next().unwrap_or(name);
            format!("{short}:{}", self.sources.line_of(s))
        })
    }
    fn choice(&self, c: &Choice) -> String {
        let p = self.program();
        let name = p.var_of(c.place.symbol).map_or_else(|| p.terms.symbol_name(c.place.symbol), |(v, _)| self.name(v));
        let mut sort = p.terms.symbol_sort(c.place.symbol);
        let mut keys = String::new();
        for k in &c.place.keys {
            let SortKind::Map(key, value) = p.terms.kind(sort) else { break };
            keys.push_str(&format!("[{}]", k.show(&p.terms, key)));
            sort = value;
        }
        format!("{name}{keys} was {}", c.value.show(&p.terms, sort))
    }
    fn name(&self, var: VarId) -> String {
        self.program().vars[var].name.clone()
    }
    fn changes(&self, before: &State, after: &State, mover: usize) -> Vec<String> {
        let p = self.program();
        let mut out = Vec::new();
        for (i, v) in self.sem.shared.iter().enumerate() {
            let (a, b) = (&before.shared[i], &after.shared[i]);
            // Which objects are live is seen from the `new` and `free` statements themselves.
            if !matches!(p.vars[*v].kind, VarKind::Live(_)) {
                let field = matches!(p.vars[*v].kind, VarKind::Field(_));
                self.difference(
                    &self.name(*v),
                    if field { Shape::Field } else { Shape::Plain },
                    p.vars[*v].sort,
                    a,
                    b,
                    &mut out,
                );
            }
        }
        let thread = &p.threads[after.instances[mover].thread];
        for (i, v) in thread.locals.iter().enumerate() {
            let (a, b) = (&before.instances[mover].locals[i], &after.instances[mover].locals[i]);
            self.difference(&self.name(*v), Shape::Plain, p.vars[*v].sort, a, b, &mut out);
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
            out.push(format!("starts {} {}", self.column(after, at), args.join(", ")).trim_end().to_owned());
        }
        out
    }
    /// What is different between two values; maps entry by entry.
    fn difference(&self, name: &str, shape: Shape, sort: Sort, a: &Value, b: &Value, out: &mut Vec<String>) {
        let t = &self.program().terms;
        if a == b {
            return;
        }
        if let (Value::Map(x), Value::Map(y), SortKind::Map(k, v)) = (a, b, t.kind(sort))
            && x.default == y.default
        {
            let keys: std::collections::BTreeSet<&Value> = x.entries.keys().chain(y.entries.keys()).collect();
            for key in keys {
                let shown = key.show(t, k);
                let name = match shape {
                    Shape::Field => format!("{shown}.{}", name.rsplit('.').next().unwrap_or(name)),
                    Shape::Plain => format!("{name}[{shown}]"),
                };
                self.difference(&name, Shape::Plain, v, x.get(key), y.get(key), out);
            }
            return;
        }
        out.push(format!("{name}: {} -> {}", a.show(t, sort), b.show(t, sort)));
    }
    /// What is wrong after the last step, or with it.
    fn end(&self, trace: &Trace, states: &[State]) -> Vec<String> {
        let p = self.program();
        let last = states.last().expect("a replay has a first state");
        let property = &p.properties[trace.violates];
        let words = &p.origins[property.origin].text;
        let named = if words.is_empty() { property.name.clone() } else { format!("`{words}`") };
        let place = match self.place(property.origin) {
            place if place.is_empty() => String::new(),
            place => format!(" ({place})"),
        };
        let number = trace.steps.len();
        let after = if number == 0 { "at the start".to_owned() } else { format!("after step {number}") };
        let mut out: Vec<String> = trace.finally.iter().map(|c| format!("{after}, {}", self.choice(c))).collect();
        match &property.kind {
            PropertyKind::Invariant(_) => out.push(format!("{after}, {named} does not hold{place}")),
            PropertyKind::Rely(_) => out.push(format!("step {number} breaks {named}{place} for another thread")),
            PropertyKind::Deadlock => {
                out.push(format!("{after}, nobody can move"));
                for (at, i) in last.instances.iter().enumerate() {
                    let code = &p.threads[i.thread].code;
                    let what = if code.exit == Some(i.at) { "has ended".into() } else { self.waits(i.thread, i.at) };
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
            _ => out.push(format!("step {number} goes wrong: {named} does not hold{place}")),
        }
        out
    }
    fn waits(&self, thread: program::ThreadId, at: program::LocId) -> String {
        let p = self.program();
        let statements: Vec<String> = p.threads[thread]
            .code
            .from(at)
            .map(|(_, a)| format!("`{}` ({})", p.origins[a.origin].text, self.place(a.origin)))
            .collect();
        if statements.is_empty() { "has no next step".into() } else { format!("waits at {}", statements.join(" or ")) }
    }
}

#[derive(Clone, Copy)]
enum Shape {
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

/// Where the columns stand.
#[derive(Clone, Debug)]
pub struct Layout {
    width: usize,
    place: usize,
    /// Width of one thread's column; `None`: too many threads for columns.
    cell: Option<usize>,
    count: usize,
    changes: usize,
}

const NUMBER: usize = 5;
const NARROWEST: usize = 14;

impl Layout {
    pub fn fit(columns: &[String], place: usize, width: usize) -> Self {
        let place = place.max(5);
        let width = width.max(60);
        let room = width.saturating_sub(NUMBER + place + 2);
        let count = columns.len().max(1);
        // A third for the changes, the rest for the threads.
        let cell = (room * 2 / 3 / count).min(40);
        let cell = (cell >= NARROWEST).then_some(cell);
        let used = cell.map_or(room * 2 / 3, |c| c * count);
        Self { width, place, cell, count, changes: room.saturating_sub(used).max(16) }
    }
    pub fn header(&self, columns: &[String]) -> Vec<String> {
        let Some(cell) = self.cell else { return Vec::new() };
        let mut line = pad("step", NUMBER) + &pad("where", self.place + 2);
        for c in columns {
            line += &pad(&clip(c, cell - 2), cell);
        }
        line += "changes";
        vec![line]
    }
    /// A line that belongs to no thread.
    pub fn note(&self, title: &str, items: &[String]) -> Vec<String> {
        let lead = pad(title, NUMBER + 1);
        let text = wrap(&items.join(", "), self.width.saturating_sub(lead.len()).max(20));
        let mut out = Vec::new();
        for (i, line) in text.iter().enumerate() {
            out.push(if i == 0 { format!("{lead}{line}") } else { format!("{}{line}", pad("", lead.len())) });
        }
        if out.is_empty() { vec![lead.trim_end().to_owned()] } else { out }
    }
    pub fn row(&self, number: usize, event: &Event, columns: &[String]) -> Vec<String> {
        let changes = event.changes.join(", ");
        let (texts, indent, middle) = match self.cell {
            Some(cell) => (wrap(&event.text, cell - 2), event.instance * cell, cell * self.count),
            None => {
                let room = (self.width.saturating_sub(NUMBER + self.place + 2)) * 2 / 3;
                let name = columns.get(event.instance).map_or("", |c| c);
                (wrap(&format!("[{name}] {}", event.text), room.saturating_sub(2)), 0, room)
            }
        };
        let changes = wrap(&changes, self.changes);
        let mut out = Vec::new();
        for i in 0..texts.len().max(changes.len()).max(1) {
            let (n, place) = if i == 0 { (number.to_string(), event.place.clone()) } else { Default::default() };
            let mut line = pad(&n, NUMBER) + &pad(&place, self.place + 2);
            let text = texts.get(i).map_or("", |t| t);
            line += &pad(&(pad("", indent) + text), middle);
            line += changes.get(i).map_or("", |t| t);
            out.push(line.trim_end().to_owned());
        }
        out
    }
}

fn pad(text: &str, width: usize) -> String {
    let have = text.chars().count();
    let mut out = text.to_owned();
    out.extend(std::iter::repeat_n(' ', width.saturating_sub(have)));
    out
}

fn clip(text: &str, width: usize) -> String {
    text.chars().take(width).collect()
}

/// Lines of at most `width` characters, broken at spaces where there are some.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut out: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let mut word = word;
        let room = |line: &str| width.saturating_sub(line.chars().count() + usize::from(!line.is_empty()));
        if word.chars().count() > room(&line) && !line.is_empty() {
            out.push(std::mem::take(&mut line));
        }
        while word.chars().count() > width {
            let cut = word.char_indices().nth(width).map_or(word.len(), |(i, _)| i);
            out.push(word[..cut].to_owned());
            word = &word[cut..];
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        out.push(line);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_wrapping_loses_no_word() {
        let text = "alpha beta gammagammagammagamma delta";
        for width in 1..40 {
            let lines = wrap(text, width);
            assert!(lines.iter().all(|l| l.chars().count() <= width));
            let joined: String = lines.concat().split_whitespace().collect();
            assert_eq!(joined, text.split_whitespace().collect::<String>());
        }
    }

    #[test]
    fn check_each_thread_has_its_column_and_many_threads_are_named() {
        let event = |instance| Event {
            instance,
            place: "a.tp:3".into(),
            text: "x := x + 1".into(),
            changes: vec!["x: 0 -> 1".into()],
            heap: Vec::new(),
        };
        let story = |n: usize| Story {
            columns: (1..=n).map(|i| format!("{i} Add")).collect(),
            start: vec!["x = 0".into()],
            events: (0..n).map(event).collect(),
            end: vec![],
        };
        let few = story(2).lines(100);
        let at = |line: &str| line.find("x :=").unwrap();
        assert!(at(&few[2]) < at(&few[3]));
        assert_eq!(few[0].find("2 Add").unwrap(), at(&few[3]));
        let many = story(30).lines(100);
        assert!(many.iter().any(|l| l.contains("[30 Add] x := x + 1") && l.contains("x: 0 -> 1")));
    }
}
