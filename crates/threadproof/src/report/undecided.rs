//! The two lines of an "unknown": what was tried and what stands in the way, and the one thing to do next.
//!
//! In: a file of the board and one of its rows. Out: texts. Of several reasons the one that a reader can do something about comes first: a
//! construct outside the model, an alarm, a limit that was reached, then whatever a method said. Everything else is behind `-v`.
//! Deliberately absent: any reason that a method did not give.

use crate::board::{FileRows, MethodState, PropertyRow, RowOutcome};

/// Where the construct is that is outside the model.
pub fn describe_construct(row: &PropertyRow) -> String {
    let what = row.unmodelled.clone().unwrap_or_default();
    let at = row.place.as_ref().map_or(String::new(), |p| format!(" at {}:{}:{}", p.file, p.line, p.column));
    format!("a run may come to what is outside the model{at} ({what})")
}

/// What was tried and what stands in the way.
pub fn why(file: &FileRows, row: &PropertyRow) -> String {
    let tried: Vec<&str> = file.methods.iter().filter(|m| took_part(&m.state)).map(|m| m.name).collect();
    let tried = match tried.is_empty() {
        true => "no method takes this program".to_string(),
        false => format!("tried {}", super::listed(&tried)),
    };
    format!("{tried}; {}", obstacle(file, row))
}

fn took_part(state: &MethodState) -> bool {
    matches!(state, MethodState::Running | MethodState::Answered | MethodState::Stopped | MethodState::Failed(_))
}

/// The reason that a reader can do most about.
fn obstacle(file: &FileRows, row: &PropertyRow) -> String {
    if row.unmodelled.is_some() {
        return format!("{}, and nothing is \"safe\" while it may", describe_construct(row));
    }
    if let (Some(found), Some(open)) = (&row.finding, file.open_construct())
        && found.outcome() == RowOutcome::Safe
    {
        return format!(
            "a proof by {} was checked, but it does not count: {}",
            found.method(),
            describe_construct(open)
        );
    }
    let named = |(method, reason): &(usize, String)| {
        let name = file.methods.get(*method).map_or("?", |m| m.name);
        // The values of an alarm are those of the model; `-v` shows them.
        let first = reason.lines().next().unwrap_or_default();
        let brief = if first.contains("alarm") { first.split("; ").next().unwrap_or(first) } else { first };
        (name, brief.to_string())
    };
    let reasons: Vec<(&str, String)> = row.reasons.iter().map(named).collect();
    let limit = |text: &str| text.contains("limit was reached") || text.contains("interrupted");
    let alarm = reasons.iter().find(|(_, r)| r.contains("alarm"));
    let own = reasons.iter().find(|(_, r)| !limit(r));
    let stopped = file.stopped.clone().or_else(|| reasons.iter().find(|(_, r)| limit(r)).map(|(_, r)| r.clone()));
    match (alarm, stopped, own) {
        (Some((method, reason)), _, _) => format!("{method} says: {reason}"),
        (None, Some(stopped), _) => format!("{stopped} before any of them had an answer"),
        (None, None, Some((method, reason))) => format!("{method} says: {reason}"),
        (None, None, None) => "none of them decided it".into(),
    }
}

/// The one thing to do next about a file that is not decided.
pub fn next(file: &FileRows) -> String {
    let verify = |more: &[(&str, &str)]| file.given.verify(&file.path, more);
    let said = |text: &str| {
        file.stopped.as_deref().is_some_and(|s| s.contains(text))
            || file.rows.iter().flat_map(|r| &r.reasons).any(|(_, r)| r.contains(text))
    };
    if let Some(row) = file.open_construct() {
        let line = row.place.as_ref().map_or_else(|| "it".to_string(), |p| format!("line {}", p.line));
        return format!("write {line} in another way: {}", row.unmodelled.as_deref().unwrap_or("the construct"));
    }
    if said("memory limit") {
        return format!("give it more memory: {}", verify(&[("--memory", "8G")]));
    }
    if said("time limit") {
        return format!("give it more time: {}", verify(&[("--time", &file.given.more_time)]));
    }
    if let Some(thread) = &file.parametric {
        let command = verify(&[("--threads", &format!("{thread}=3"))]);
        return format!("look for a bug in a small instance, which is no proof for more threads: {command}");
    }
    format!(
        "help a proof with an `invariant` or a `rely` (docs/language.md); what each method says: {}",
        verify(&[("-v", "")])
    )
}
