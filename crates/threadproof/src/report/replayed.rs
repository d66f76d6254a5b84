//! A trace as a `Story`: replayed by the reference semantics, so what is shown did happen.
//!
//! In: a program, its sources and a trace. Out: the story, in which steps and variables without a part in the violation are marked
//! (`slice`). Deliberately absent: how it is printed.

use super::heap::HeapPicture;
use super::names::Describer;
use super::slice::slice;
use super::story::{Detail, Relevance, Story, StoryStep};
use base::Sources;
use program::semantics::{Mismatch, Semantics, State, Trace, replay_trace};
use program::{Program, PropertyKind, What};

/// Replays the trace and describes it.
pub fn describe_run(program: &Program, sources: &Sources, trace: &Trace) -> Result<Story, Mismatch> {
    let replayed = replay_trace(program, trace)?;
    let sem = Semantics::new(program);
    let describer = Describer::new(&sem, sources);
    let states = &replayed.states;
    let mut slice = slice(&sem, trace, states);
    let deciding = super::headline::deciding_step(&sem, &describer, trace, states, &slice);
    if let Some(step) = deciding {
        slice.steps[step] = Relevance::Matters;
    }
    let matters = |var, instance| slice.matters(var, instance);
    // Both accesses of a race are in the story, though they change nothing.
    let is_race = matches!(program.properties[trace.violates].kind, PropertyKind::Race);
    let mut events = Vec::new();
    for (i, step) in trace.steps.iter().enumerate() {
        let mut event = describer.event_with(&states[i], step, states.get(i + 1), &matters);
        event.heap = states.get(i + 1).and_then(|after| heap_change(&describer, &states[i], after));
        let action = &program.threads[step.thread].code.actions[step.action];
        let is_last = i + 1 == trace.steps.len();
        // A step in which nothing happens that the source has a name for.
        let news = event.heap.as_ref().is_some_and(|(before, after)| !after.new_lines(before).is_empty());
        let quiet = event.changes(Detail::Brief).is_empty() && !news && !is_last && !is_race;
        let own =
            matches!(action.what, What::Assign | What::Skip | What::Return | What::Choose | What::Test | What::Havoc);
        // An operand alone, or an object that is made on the way to a place with a name.
        let bare = !event.text.contains(['(', '=', ';', ' '])
            || event.text.starts_with("() ->")
            || event.text.starts_with("new ");
        let bare =
            bare && !matches!(action.what, What::Acquire | What::Release | What::Join | What::Spawn | What::Assert);
        let told = deciding == Some(i);
        event.matters = if quiet && (own || bare) && !told { Relevance::Aside } else { slice.steps[i] };
        events.push(event);
    }
    let last = states.last().expect("a replay has a first state");
    let columns = (0..last.instances.len()).map(|i| describer.column(last, i)).collect();
    let summary = super::headline::summary(&sem, &describer, trace, states, &slice);
    let start = describer.start_with(&states[0], &matters);
    Ok(Story { summary, columns, start, events, end: describer.end(trace, states) })
}

/// The heap before and after a step that changes it.
fn heap_change(describer: &Describer<'_>, before: &State, after: &State) -> Option<(HeapPicture, HeapPicture)> {
    let (a, b) = (HeapPicture::of(describer, before), HeapPicture::of(describer, after));
    (a != b).then_some((a, b))
}

/// The steps of a run that change the heap, each with the heap before and after it.
pub fn heaps(
    program: &Program,
    sources: &Sources,
    trace: &Trace,
) -> Result<Vec<(String, HeapPicture, HeapPicture)>, Mismatch> {
    let story = describe_run(program, sources, trace)?;
    let title = |(i, e): (usize, &StoryStep)| {
        let (before, after) = e.heap.clone()?;
        Some((format!("{}. {}: {}  {}", i + 1, story.columns[e.instance], e.text, e.place), before, after))
    };
    Ok(story.events.iter().enumerate().filter_map(title).collect())
}
