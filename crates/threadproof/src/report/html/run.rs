//! A run as swim lanes: a column for each thread, a row for each step, and the data by which a script steps through it.
//!
//! In: a `Story`. Out: HTML with the table, and the same run as JSON in the page. Heaps are drawn here, objects at the same place in every frame.
//! Deliberately absent: the script itself (`page.js`).

use super::{escaped, source};
use crate::board::FileRows;
use crate::report::heap;
use crate::report::story::{Detail, Relevance, StepChange, Story};
use serde_json::{Value, json};
use std::fmt::Write;

pub fn section(index: usize, file: &FileRows, story: &Story, out: &mut String) {
    let count = story.events.len();
    out.push_str("<section class=\"run-section\" tabindex=\"0\" aria-label=\"the run, step by step\">\n");
    let _ = writeln!(
        out,
        "<div class=\"player\"><button type=\"button\" class=\"first\" aria-label=\"to the start\">|◀</button>\
         <button type=\"button\" class=\"back\" aria-label=\"one step back\">◀</button>\
         <input type=\"range\" min=\"0\" max=\"{count}\" value=\"{count}\" aria-label=\"step\">\
         <button type=\"button\" class=\"on\" aria-label=\"one step on\">▶</button>\
         <button type=\"button\" class=\"last\" aria-label=\"to the end\">▶|</button>\
         <label><input type=\"checkbox\" checked> every step{}</label></div>\n<p class=\"now\" aria-live=\"polite\"></p>",
        match story.aside() {
            0 => String::new(),
            n => format!(" (also {} without a part in it)", crate::report::counted(n as u64, "step")),
        }
    );
    out.push_str("<div class=\"run\">\n<table class=\"lanes\"><thead><tr><th>step</th><th>line</th>");
    for column in &story.columns {
        let _ = write!(out, "<th>{}</th>", escaped(column));
    }
    out.push_str("<th>changes</th></tr></thead><tbody>\n");
    let start: Vec<String> = story.start.iter().map(ToString::to_string).collect();
    let _ = writeln!(
        out,
        "<tr class=\"start\"><td>start</td><td></td><td colspan=\"{}\">{}</td></tr>",
        story.columns.len() + 1,
        escaped(&start.join(", "))
    );
    for (i, event) in story.events.iter().enumerate() {
        let mut classes = Vec::new();
        if event.matters == Relevance::Aside {
            classes.push("aside");
        }
        if i + 1 == count {
            classes.push("last");
        }
        let line = event.at.as_ref().map_or_else(String::new, |p| match source::anchor(index, file, p) {
            Some(anchor) => format!("<a href=\"#{anchor}\">{}</a>", p.line),
            None => p.line.to_string(),
        });
        let _ = write!(
            out,
            "<tr data-step=\"{}\" class=\"{}\"><td>{}</td><td>{line}</td>",
            i + 1,
            classes.join(" "),
            i + 1
        );
        for lane in 0..story.columns.len() {
            let text = if lane == event.instance { escaped(&event.text) } else { String::new() };
            let _ = write!(out, "<td class=\"lane\">{text}</td>");
        }
        let _ = writeln!(out, "<td>{}</td></tr>", escaped(&event.changes(Detail::Full)));
    }
    out.push_str("</tbody></table>\n<div class=\"side\"><table class=\"values\"><thead><tr><th>variable</th><th>value</th></tr></thead><tbody></tbody></table>\n");
    let (heaps, heap_at) = frames(story);
    if !heaps.is_empty() {
        out.push_str("<div class=\"heap\"></div>\n");
    }
    out.push_str("</div>\n</div>\n");
    let data = data(index, file, story, &heaps, &heap_at).to_string().replace("</", "<\\/").replace("<!--", "<\\!--");
    let _ = writeln!(out, "<script type=\"application/json\">{data}</script>\n</section>");
}

/// The heaps of the run, and from which step on each is there.
fn frames(story: &Story) -> (Vec<String>, Vec<usize>) {
    let changing: Vec<(usize, &(heap::HeapPicture, heap::HeapPicture))> =
        story.events.iter().enumerate().filter_map(|(i, e)| Some((i + 1, e.heap.as_ref()?))).collect();
    let Some((_, (first, _))) = changing.first() else { return (Vec::new(), Vec::new()) };
    let mut heaps = vec![first];
    let mut at = vec![0];
    for (step, (_, after)) in &changing {
        heaps.push(after);
        at.push(*step);
    }
    (heap::steady_frames(&heaps), at)
}

fn data(index: usize, file: &FileRows, story: &Story, heaps: &[String], heap_at: &[usize]) -> Value {
    let changes = |event: &crate::report::story::StoryStep| -> Vec<Value> {
        let own = |(change, _): &(StepChange, Relevance)| match change {
            StepChange::Value { name, after, .. } => Some(json!({ "name": name, "after": after })),
            StepChange::Decided { name, value } => Some(json!({ "name": name, "after": value })),
            StepChange::Reads { .. } | StepChange::Note(_) => None,
        };
        event.changes.iter().filter_map(own).collect()
    };
    json!({
        "threads": story.columns,
        "start": story.start.iter().map(|v| json!({ "name": v.name, "value": v.value })).collect::<Vec<_>>(),
        "steps": story.events.iter().map(|e| json!({
            "thread": e.instance,
            "text": e.text,
            "matters": e.matters == Relevance::Matters,
            "anchor": e.at.as_ref().and_then(|p| source::anchor(index, file, p)),
            "changes": changes(e),
        })).collect::<Vec<_>>(),
        "heaps": heaps,
        "heapAt": heap_at,
    })
}
