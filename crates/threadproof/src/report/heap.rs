//! The heap of a concrete state, as text and as a picture.
//!
//! In: a state of a run. Out: one line for each variable that refers to an object, following the link of its class
//! (`Top -> #2{val 7} -> #1{val 5} -> null`), or an SVG with the heap after each step that changed it, next to the heap before it. Objects
//! that nothing refers to, and variables that the source does not name, are left out; an object met a second time is named only.

use super::names::Describer;
use logic::{SortKind, Value};
use methods::picture::{escape_xml, frame};
use program::VarKind;
use program::semantics::State;
use std::fmt::Write as _;

/// A heap, read from a state.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct HeapPicture {
    /// Variable (with its thread, for a local) and the object it refers to; 0 is null.
    names: Vec<(String, Object)>,
    objects: Vec<DrawnObject>,
}

/// Class and number.
type Object = (u32, u32);

#[derive(Clone, Debug, PartialEq, Eq)]
struct DrawnObject {
    id: Object,
    class: String,
    /// Fields that hold no reference.
    fields: Vec<String>,
    links: Vec<(String, Object)>,
}

impl HeapPicture {
    pub fn of(describer: &Describer<'_>, state: &State) -> Self {
        let (sem, p) = (describer.semantics(), describer.program());
        let reference = |v: program::VarId| match p.terms.kind(p.vars[v].sort) {
            SortKind::Ref(c) => Some(c.0),
            _ => None,
        };
        let mut out = Self::default();
        for (v, value) in sem.shared.iter().zip(&state.shared) {
            if let (Some(class), Value::Ref(n), true) = (reference(*v), value, describer.is_named(*v)) {
                out.names.push((describer.name(*v), (class, *n)));
            }
        }
        for i in &state.instances {
            for (v, value) in p.threads[i.thread].locals.iter().zip(&i.locals) {
                // What a thread that waits for nothing more left in its variables only hides the rest.
                let over = p.threads[i.thread].code.exit == Some(i.at);
                if let (Some(class), Value::Ref(n), false) = (reference(*v), value, over)
                    && *n != 0
                    && describer.is_named(*v)
                {
                    out.names.push((format!("{} of thread {}", describer.name(*v), i.tid), (class, *n)));
                }
            }
        }
        // What was lost is drawn too, where somebody asked.
        for (class, n) in sem.lost(state) {
            out.names.push(("(lost)".into(), (class.0, n)));
        }
        let mut todo: Vec<Object> = out.names.iter().map(|(_, o)| *o).filter(|o| o.1 != 0).collect();
        todo.reverse();
        while let Some(id) = todo.pop() {
            if out.objects.iter().all(|o| o.id != id) {
                let drawn = read(describer, state, id);
                todo.extend(drawn.links.iter().rev().map(|(_, o)| *o).filter(|o| o.1 != 0));
                out.objects.push(drawn);
            }
        }
        out
    }
    fn label(&self, id: Object) -> String {
        let class = self.objects.iter().find(|o| o.id == id).map_or("", |o| &o.class);
        if id.1 == 0 { "null".into() } else { format!("{class}#{}", id.1) }
    }
    /// The lines of what all threads see that are not in another picture.
    pub fn new_lines(&self, other: &HeapPicture) -> Vec<String> {
        let known = other.lines();
        let own = |line: &str| line.split(" -> ").next().is_some_and(|name| name.contains(" of thread "));
        self.lines().into_iter().filter(|line| !own(line) && !known.contains(line)).collect()
    }
    /// One line for each variable; what an earlier line drew is only named.
    pub fn lines(&self) -> Vec<String> {
        let mut seen: Vec<Object> = Vec::new();
        let mut out = Vec::new();
        for (name, id) in &self.names {
            let mut line = format!("{name} -> ");
            let mut at = *id;
            loop {
                let known = self.objects.iter().find(|o| o.id == at).filter(|_| !seen.contains(&at));
                line.push_str(&self.label(at));
                let Some(o) = known else { break };
                seen.push(at);
                let others = o.links.iter().skip(1).map(|(f, t)| format!("{f} {}", self.label(*t)));
                let inside: Vec<String> = o.fields.iter().cloned().chain(others).collect();
                if !inside.is_empty() {
                    let _ = write!(line, "{{{}}}", inside.join(", "));
                }
                let Some((_, next)) = o.links.first() else { break };
                line.push_str(" -> ");
                at = *next;
            }
            out.push(line);
        }
        out
    }
    /// The picture, its width and its height.
    fn draw(&self) -> (String, i32, i32) {
        let own: Vec<Object> = self.objects.iter().map(|o| o.id).collect();
        self.draw_at(&own)
    }
    /// The same, with the place of each object given by its position in a list.
    fn draw_at(&self, slots: &[Object]) -> (String, i32, i32) {
        const WIDTH: i32 = 130;
        const HEIGHT: i32 = 44;
        const GAP: i32 = 50;
        let columns = 6;
        let place = |i: usize| {
            let (row, column) = (i as i32 / columns, i as i32 % columns);
            (20 + column * (WIDTH + GAP), 40 + row * (HEIGHT + 60))
        };
        let mut body = String::new();
        let nulls: Vec<&str> = self.names.iter().filter(|(_, o)| o.1 == 0).map(|(n, _)| n.as_str()).collect();
        if !nulls.is_empty() {
            let _ = writeln!(body, "<text x=\"20\" y=\"16\">{} = null</text>", escape_xml(&nulls.join(", ")));
        }
        let slot = |id: Object| slots.iter().position(|s| *s == id);
        for o in &self.objects {
            let Some(i) = slot(o.id) else { continue };
            let (x, y) = place(i);
            let names: Vec<&str> = self.names.iter().filter(|(_, id)| *id == o.id).map(|(n, _)| n.as_str()).collect();
            let _ = writeln!(
                body,
                "<text x=\"{x}\" y=\"{}\" fill=\"#1a4f9c\">{}</text>",
                y - 6,
                escape_xml(&names.join(" "))
            );
            let _ = writeln!(
                body,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"4\" fill=\"#ffffff\" stroke=\"#333\"/>"
            );
            let _ = writeln!(body, "<text x=\"{}\" y=\"{}\">{}#{}</text>", x + 6, y + 16, escape_xml(&o.class), o.id.1);
            let nowhere = o.links.iter().filter(|(_, t)| t.1 == 0).map(|(f, _)| format!("{f} null"));
            let inside: Vec<String> = o.fields.iter().cloned().chain(nowhere).collect();
            let _ = writeln!(body, "<text x=\"{}\" y=\"{}\">{}</text>", x + 6, y + 34, escape_xml(&inside.join(", ")));
            for (_, target) in &o.links {
                let Some(j) = slot(*target).filter(|_| self.objects.iter().any(|q| q.id == *target)) else { continue };
                let (tx, ty) = place(j);
                let (mid, end) = (y + HEIGHT / 2, ty + HEIGHT / 2);
                let path = if j == i + 1 && ty == y {
                    format!("M{},{mid} L{tx},{end}", x + WIDTH)
                } else {
                    format!(
                        "M{},{} C{},{} {},{} {},{}",
                        x + WIDTH / 2,
                        y + HEIGHT,
                        x + WIDTH / 2,
                        y + HEIGHT + 34,
                        tx + WIDTH / 2,
                        ty + HEIGHT + 34,
                        tx + WIDTH / 2,
                        ty + HEIGHT
                    )
                };
                let _ = writeln!(body, "<path d=\"{path}\" fill=\"none\" stroke=\"#333\" marker-end=\"url(#tip)\"/>");
            }
        }
        let rows = (slots.len() as i32 + columns - 1) / columns;
        let wide = (slots.len() as i32).clamp(1, columns);
        (body, 20 + wide * (WIDTH + GAP), 50 + rows.max(1) * (HEIGHT + 60))
    }
}

fn read(describer: &Describer<'_>, state: &State, id: Object) -> DrawnObject {
    let (sem, p) = (describer.semantics(), describer.program());
    let (number, decl) = p.classes.iter_enumerated().find(|(c, _)| c.0 == id.0).expect("a reference has a class");
    let mut out = DrawnObject { id, class: decl.name.clone(), fields: Vec::new(), links: Vec::new() };
    for f in decl.fields.iter().filter(|f| describer.is_named(**f) && !describer.is_lock(**f)) {
        debug_assert!(p.vars[*f].kind == VarKind::Field(number), "a class has fields");
        let SortKind::Map(_, entry) = p.terms.kind(p.vars[*f].sort) else { continue };
        let at = sem.shared.iter().position(|v| v == f).expect("fields are shared");
        let Value::Map(map) = &state.shared[at] else { continue };
        let value = map.get(&Value::Ref(id.1));
        let name = p.vars[*f].name.rsplit('.').next().unwrap_or_default().to_owned();
        match (value, p.terms.kind(entry)) {
            (Value::Ref(n), SortKind::Ref(c)) => {
                // The first link is the one that a line follows.
                let at = if c == number { 0 } else { out.links.len() };
                let first = out.links.first().is_some_and(|(_, (k, _))| *k == number.0);
                out.links.insert(if first { out.links.len() } else { at }, (name, (c.0, *n)));
            }
            (Value::Any, _) => {}
            (value, _) => out.fields.push(format!("{name} {}", describer.shown_value(*f, entry, value))),
        }
    }
    out
}

/// The steps of a run that change the heap: each with the heap before it and the heap after it.
pub fn picture(steps: &[(String, HeapPicture, HeapPicture)]) -> String {
    let (mut body, mut y, mut width) = (String::new(), 10, 300);
    for (name, before, after) in steps {
        let ((a, wa, ha), (b, wb, hb)) = (before.draw(), after.draw());
        let _ = writeln!(body, "<text x=\"10\" y=\"{}\" font-weight=\"bold\">{}</text>", y + 14, escape_xml(name));
        let _ = writeln!(body, "<g transform=\"translate(0,{})\">{a}</g>", y + 20);
        let _ = writeln!(body, "<text x=\"{}\" y=\"{}\" font-size=\"20\">&#8658;</text>", wa + 2, y + 80);
        let _ = writeln!(body, "<g transform=\"translate({},{})\">{b}</g>", wa + 30, y + 20);
        y += 30 + ha.max(hb);
        width = width.max(wa + wb + 40).max(20 + 8 * name.chars().count() as i32);
        let _ = writeln!(body, "<line x1=\"0\" y1=\"{y}\" x2=\"{width}\" y2=\"{y}\" stroke=\"#ccc\"/>");
    }
    frame(width, y + 10, &body)
}

/// Several heaps of one run, each a picture of its own of one size, in which every object keeps its place.
pub fn steady_frames(heaps: &[&HeapPicture]) -> Vec<String> {
    let mut slots: Vec<Object> = Vec::new();
    for object in heaps.iter().flat_map(|h| &h.objects) {
        if !slots.contains(&object.id) {
            slots.push(object.id);
        }
    }
    let draw = |heap: &&HeapPicture| {
        let (body, width, height) = heap.draw_at(&slots);
        frame(width, height, &body)
    };
    heaps.iter().map(draw).collect()
}
