//! Running a program by the reference semantics, for a person to watch.
//!
//! In: a program, its sources, how many instances, and a mode: random with a seed, along a trace, or asking at each
//! step. Out: lines, one column for each thread, with the values that changed. Deliberately absent: any judgement; a run that ends
//! well says nothing about the others.

use crate::report::layout::Layout;
use crate::report::names::Describer;
use crate::report::replayed::describe_run;
use crate::report::story::{Detail, StoryStep};
use base::{Random, Sources};
use program::semantics::{InstanceCounts, Sampling, Semantics, State, StepOutcome, Trace};
use program::{Program, PropertyId};
use std::io::{BufRead, Write};

#[derive(Clone, Copy, Debug)]
pub enum SimulationMode<'a> {
    Random {
        seed: u64,
    },
    Along(&'a Trace),
    /// Reads the number of an outcome, `b` to go back, `v` to see all values, `q` to end.
    Asking,
}

#[derive(Clone, Copy, Debug)]
pub struct SimulationOutput {
    pub steps: usize,
    /// Columns of the terminal.
    pub width: usize,
}

/// How a simulation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SimulationEnd {
    /// Every instance has ended.
    Ended,
    /// No thread can move.
    Stuck,
    /// A property was seen to be violated.
    Violated(PropertyId),
    /// As many steps as were asked for, or the user stopped.
    Stopped,
    /// The trace is not a run of the program, or there is no initial state; why.
    Impossible(String),
}

pub fn simulate_program(
    program: &Program,
    sources: &Sources,
    instances: &InstanceCounts,
    mode: SimulationMode<'_>,
    show: SimulationOutput,
    input: &mut dyn BufRead,
    out: &mut dyn Write,
) -> std::io::Result<SimulationEnd> {
    if let SimulationMode::Along(trace) = mode {
        return match describe_run(program, sources, trace) {
            Ok(story) => {
                for line in story.lines(show.width, Detail::Full) {
                    writeln!(out, "{line}")?;
                }
                Ok(SimulationEnd::Violated(trace.violates))
            }
            Err(mismatch) => {
                writeln!(out, "the trace is not a run of this program: {mismatch}")?;
                Ok(SimulationEnd::Impossible(mismatch.to_string()))
            }
        };
    }
    let sem = Semantics::new(program);
    let describer = Describer::new(&sem, sources);
    let mut random = Random::new(if let SimulationMode::Random { seed } = mode { seed } else { 0 });
    let initial = sem.initial(instances, Sampling::default());
    let at = match mode {
        SimulationMode::Random { .. } => random.below(initial.states.len()),
        _ => 0,
    };
    let Some((start, _)) = initial.states.get(at) else {
        let why = initial.incomplete.unwrap_or_else(|| "no store satisfies `init`".into());
        writeln!(out, "there is no run: {why}")?;
        return Ok(SimulationEnd::Impossible(why));
    };
    let mut walk = SimulatedRun { sem: &sem, describer, states: vec![start.clone()], show, layout: None, out };
    walk.begin()?;
    walk.go(mode, &mut random, input)
}

struct SimulatedRun<'a> {
    sem: &'a Semantics<'a>,
    describer: Describer<'a>,
    states: Vec<State>,
    show: SimulationOutput,
    layout: Option<(usize, Layout)>,
    out: &'a mut dyn Write,
}

impl SimulatedRun<'_> {
    fn state(&self) -> &State {
        self.states.last().expect("a walk has a first state")
    }
    fn columns(&self) -> Vec<String> {
        let s = self.state();
        (0..s.instances.len()).map(|i| self.describer.column(s, i)).collect()
    }
    fn longest_place(&self) -> usize {
        let threads = self.sem.program.threads.iter();
        let actions = threads.flat_map(|t| t.code.actions.iter());
        actions.map(|a| self.describer.place(a.origin).len()).max().unwrap_or(0)
    }
    /// The layout for the instances there are now; its header is printed when it changes.
    fn layout(&mut self) -> std::io::Result<Layout> {
        let columns = self.columns();
        if let Some((count, layout)) = &self.layout
            && *count == columns.len()
        {
            return Ok(layout.clone());
        }
        let layout = Layout::fit(&columns, self.longest_place(), self.show.width);
        for line in layout.header(&columns, "where") {
            writeln!(self.out, "{line}")?;
        }
        self.layout = Some((columns.len(), layout.clone()));
        Ok(layout)
    }
    fn begin(&mut self) -> std::io::Result<()> {
        let layout = self.layout()?;
        for line in layout.note("start", &self.describer.start(self.state())) {
            writeln!(self.out, "{line}")?;
        }
        Ok(())
    }
    fn print(&mut self, event: &StoryStep) -> std::io::Result<()> {
        let number = self.states.len() - 1;
        let layout = self.layout()?;
        for line in layout.row(number.max(1), event.instance, &event.place, event, Detail::Full, &self.columns()) {
            writeln!(self.out, "{line}")?;
        }
        Ok(())
    }

    fn go(
        &mut self,
        mode: SimulationMode<'_>,
        random: &mut Random,
        input: &mut dyn BufRead,
    ) -> std::io::Result<SimulationEnd> {
        loop {
            let (broken, _) = self.sem.broken_invariants(self.state(), Sampling::default());
            if let Some(b) = broken.first() {
                return self.violated(b.property);
            }
            if self.states.len() > self.show.steps && !matches!(mode, SimulationMode::Asking) {
                writeln!(self.out, "stopped after {} steps", self.show.steps)?;
                return Ok(SimulationEnd::Stopped);
            }
            let next = self.sem.successors(self.state(), Sampling::default());
            if next.outcomes.is_empty() {
                return self.finish(next.incomplete);
            }
            let chosen = match mode {
                SimulationMode::Asking => match self.ask(&next.outcomes, input)? {
                    UserChoice::Take(i) => &next.outcomes[i],
                    UserChoice::Back => {
                        if self.states.len() > 1 {
                            self.states.pop();
                        }
                        continue;
                    }
                    UserChoice::Quit => return Ok(SimulationEnd::Stopped),
                },
                _ => pick(&next.outcomes, random),
            };
            match chosen {
                StepOutcome::Moved { step, state } => {
                    let before = self.state().clone();
                    let event = self.describer.event(&before, step, Some(state));
                    self.states.push(state.clone());
                    self.print(&event)?;
                    let decided = self.sem.decide_all(&before, &step.choices).unwrap_or(before);
                    let (broken, _) = self.sem.broken_relies(&decided, step, state, Sampling::default());
                    if let Some(b) = broken.first() {
                        return self.violated(b.property);
                    }
                }
                StepOutcome::Wrong { step, property, .. } => {
                    let before = self.state().clone();
                    let event = self.describer.event(&before, step, None);
                    self.states.push(before);
                    self.print(&event)?;
                    return self.violated(*property);
                }
            }
        }
    }

    fn violated(&mut self, property: PropertyId) -> std::io::Result<SimulationEnd> {
        let p = self.sem.program;
        let origin = p.properties[property].origin;
        let text = &p.origins[origin].text;
        let name = if text.is_empty() { &p.properties[property].name } else { text };
        let place = self.describer.place(origin);
        writeln!(
            self.out,
            "goes wrong: `{name}` does not hold{}",
            if place.is_empty() { String::new() } else { format!(" ({place})") }
        )?;
        Ok(SimulationEnd::Violated(property))
    }

    fn finish(&mut self, incomplete: Option<String>) -> std::io::Result<SimulationEnd> {
        let p = self.sem.program;
        let ended = |i: &program::semantics::Instance| p.threads[i.thread].code.exit == Some(i.at);
        if self.state().instances.iter().all(ended) {
            writeln!(self.out, "all threads have ended")?;
            return Ok(SimulationEnd::Ended);
        }
        match incomplete {
            Some(why) => writeln!(self.out, "no step was found ({why})")?,
            None => writeln!(self.out, "no thread can move")?,
        }
        Ok(SimulationEnd::Stuck)
    }

    fn ask(&mut self, outcomes: &[StepOutcome], input: &mut dyn BufRead) -> std::io::Result<UserChoice> {
        let before = self.state().clone();
        let choices: Vec<String> = outcomes
            .iter()
            .map(|o| {
                let after = match o {
                    StepOutcome::Moved { state, .. } => Some(state),
                    StepOutcome::Wrong { .. } => None,
                };
                let e = self.describer.event(&before, o.step(), after);
                let wrong = if after.is_none() { " (goes wrong)" } else { "" };
                let who = self.describer.column(&before, e.instance);
                format!("{who}: {}{wrong}  {} {}", e.text, e.place, e.changes(Detail::Full)).trim_end().to_owned()
            })
            .collect();
        loop {
            for (i, c) in choices.iter().enumerate() {
                writeln!(self.out, "  {}) {c}", i + 1)?;
            }
            write!(self.out, "which step (1-{}, b back, v values, q quit)? ", choices.len())?;
            self.out.flush()?;
            let mut line = String::new();
            if input.read_line(&mut line)? == 0 {
                writeln!(self.out)?;
                return Ok(UserChoice::Quit);
            }
            match line.trim() {
                "q" => return Ok(UserChoice::Quit),
                "b" => return Ok(UserChoice::Back),
                "v" => self.values(&before)?,
                text => match text.parse::<usize>() {
                    Ok(n) if (1..=choices.len()).contains(&n) => return Ok(UserChoice::Take(n - 1)),
                    _ => writeln!(self.out, "`{text}` is none of the answers")?,
                },
            }
        }
    }

    fn values(&mut self, state: &State) -> std::io::Result<()> {
        let p = self.sem.program;
        for line in self.describer.start(state) {
            writeln!(self.out, "  {line}")?;
        }
        for (at, i) in state.instances.iter().enumerate() {
            let t = &p.threads[i.thread];
            let locals: Vec<String> = t
                .locals
                .iter()
                .zip(&i.locals)
                .map(|(v, x)| format!("{} = {}", p.vars[*v].name, x.show(&p.terms, p.vars[*v].sort)))
                .collect();
            let name = self.describer.column(state, at);
            writeln!(self.out, "  {name} at {}: {}", t.code.locations[i.at].name, locals.join(", "))?;
        }
        Ok(())
    }
}

enum UserChoice {
    Take(usize),
    Back,
    Quit,
}

/// A random instance that can move, then a random outcome of it: threads with many choices are not preferred.
fn pick<'o>(outcomes: &'o [StepOutcome], random: &mut Random) -> &'o StepOutcome {
    let mut movers: Vec<u32> = outcomes.iter().map(|o| o.step().instance).collect();
    movers.dedup();
    let mover = movers[random.below(movers.len())];
    let of: Vec<&StepOutcome> = outcomes.iter().filter(|o| o.step().instance == mover).collect();
    of[random.below(of.len())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use logic::Sort;
    use program::{
        Action, Code, Copies, Gate, LocId, Location, Property, PropertyKind, Scope, Start, Thread, Update, VarKind,
        What,
    };

    /// Two threads add one and then assert that the sum is one.
    fn racy() -> (Program, Sources) {
        let mut sources = Sources::new();
        let file = sources.add("dir/add.tp", "x := x + 1;\nassert x == 1;\n");
        let mut p = Program::new("add");
        let add = p.add_origin(Some(base::Span::new(file, 0, 10)), "x := x + 1");
        let assert = p.add_origin(Some(base::Span::new(file, 12, 25)), "assert x == 1");
        let zero = p.terms.int(0);
        let x = p.add_var("x", Sort::INT, Scope::Shared, VarKind::Plain, Some(zero), add);
        let property =
            p.properties.push(Property { kind: PropertyKind::Assertion, name: "assert:2".into(), origin: assert });
        let (tt, one) = (p.terms.tt(), p.terms.int(1));
        let sum = p.terms.add(p.now(x), one);
        let is_one = p.terms.eq(p.now(x), one);
        let mut code = Code::new();
        for i in 0..3 {
            code.locations.push(Location {
                name: format!("{i}"),
                in_atomic_block: false,
                invariants: vec![],
                origin: add,
            });
        }
        code.exit = Some(LocId(2));
        let action = |from, to, gates, updates, what, origin| Action {
            gates,
            updates,
            ..Action::plain(LocId(from), LocId(to), tt, what, origin)
        };
        code.actions.push(action(0, 1, vec![], vec![Update { var: x, value: sum }], What::Assign, add));
        code.actions.push(action(1, 2, vec![Gate { property, formula: is_one }], vec![], What::Assert, assert));
        p.threads.push(Thread {
            name: "Add".into(),
            copies: Copies::Exactly(2),
            start: Start::Initial,
            params: vec![],
            locals: vec![],
            code,
            outline: None,
            follows: None,
            origin: add,
        });
        (p, sources)
    }

    fn run(mode: SimulationMode<'_>, typed: &str) -> (SimulationEnd, String) {
        let (p, sources) = racy();
        let mut out = Vec::new();
        let show = SimulationOutput { steps: 50, width: 100 };
        let ending =
            simulate_program(&p, &sources, &InstanceCounts(vec![2]), mode, show, &mut typed.as_bytes(), &mut out)
                .unwrap();
        (ending, String::from_utf8(out).unwrap())
    }

    #[test]
    fn check_a_random_run_is_reproducible_and_shows_places_and_changes() {
        let (ending, text) = run(SimulationMode::Random { seed: 3 }, "");
        assert_eq!((ending, text.clone()), run(SimulationMode::Random { seed: 3 }, ""));
        assert!(text.contains("add.tp:1") && text.contains("x: 0 -> 1"), "{text}");
    }

    #[test]
    fn check_a_chosen_run_goes_where_the_user_says() {
        let (ending, text) = run(SimulationMode::Asking, "1\n2\nb\nv\nnonsense\n2\n1\n");
        assert!(matches!(ending, SimulationEnd::Violated(_)), "{text}");
        assert!(text.contains("is none of the answers") && text.contains("goes wrong: `assert x == 1`"), "{text}");
        let (ending, _) = run(SimulationMode::Asking, "1\n1\n");
        assert_eq!(ending, SimulationEnd::Stopped, "the end of the input ends the run");
    }

    #[test]
    fn check_a_trace_is_followed_and_a_false_one_refused() {
        let (p, _) = racy();
        let found = program::semantics::reachable_states(&p, &InstanceCounts(vec![2]), &Default::default());
        let trace = found.violations.values().next().unwrap().clone();
        let (ending, text) = run(SimulationMode::Along(&trace), "");
        assert!(matches!(ending, SimulationEnd::Violated(_)));
        assert!(text.contains("step 3 goes wrong: assertion `x == 1` fails (add.tp:2)"), "{text}");
        let mut forged = trace;
        forged.steps.swap(0, 2);
        assert!(matches!(run(SimulationMode::Along(&forged), "").0, SimulationEnd::Impossible(_)));
    }
}
