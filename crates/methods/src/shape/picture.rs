//! Pictures of views as SVG: one box for each cell, a dashed double box for a group, arrows for links.
//!
//! In: views of a certificate. Out: SVG text, the same bytes for the same view. A cell of the view is one concrete cell (solid box), a
//! group stands for any number of them (dashed); a link that is certain is a solid arrow, a possible one is dotted. `step` puts the view
//! before and the view after a step side by side.

use evidence::views::{CellOwner, Control, Status, Val, View, ViewCell, Views};
use program::Program;
use std::fmt::Write;

const CELL_WIDTH: i32 = 150;
const CELL_HEIGHT: i32 = 46;
const CELL_GAP: i32 = 60;

/// One view.
pub fn view(program: &Program, v: &View) -> String {
    let drawn = DrawnView::new(program, v);
    frame(drawn.width, drawn.height, &drawn.body)
}

/// How many views are drawn on one sheet.
const VIEWS_PER_SHEET: usize = 60;

/// The views of a certificate, one below the other; of a large one the first.
pub fn sheet(program: &Program, views: &Views) -> String {
    let (mut body, mut y, mut width) = (String::new(), 0, 300);
    let count = views.views.len();
    let title = if count > VIEWS_PER_SHEET {
        format!("the first {VIEWS_PER_SHEET} of {count} views")
    } else {
        format!("{count} views")
    };
    let _ = writeln!(
        body,
        "<text x=\"10\" y=\"18\" font-weight=\"bold\">{title}: a solid box is one cell, a dashed one any number</text>"
    );
    y += 30;
    for v in views.views.iter().take(VIEWS_PER_SHEET) {
        let drawn = DrawnView::new(program, v);
        let _ = writeln!(body, "<g transform=\"translate(0,{y})\">{}</g>", drawn.body);
        y += drawn.height;
        width = width.max(drawn.width);
        let _ = writeln!(body, "<line x1=\"0\" y1=\"{y}\" x2=\"{width}\" y2=\"{y}\" stroke=\"#ccc\"/>");
        y += 10;
    }
    frame(width, y, &body)
}

pub fn frame(width: i32, height: i32, body: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"monospace\" font-size=\"12\">\n\
         <defs><marker id=\"tip\" markerWidth=\"8\" markerHeight=\"8\" refX=\"7\" refY=\"3\" orient=\"auto\">\
         <path d=\"M0,0 L7,3 L0,6 z\"/></marker></defs>\n{body}</svg>\n"
    )
}

pub fn escape_xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

struct DrawnView {
    body: String,
    width: i32,
    height: i32,
}

impl DrawnView {
    fn new(program: &Program, v: &View) -> Self {
        let columns = v.cells.len().max(v.groups.len()).max(1) as i32;
        let width = 20 + columns * (CELL_WIDTH + CELL_GAP);
        let height = 60 + 2 * (CELL_HEIGHT + 90);
        let mut body = String::new();
        let _ = writeln!(body, "<text x=\"10\" y=\"16\">{}</text>", escape_xml(&heading(program, v)));
        for (i, c) in v.cells.iter().enumerate() {
            body.push_str(&boxed(program, v, c, at_cell(i), Some(i)));
        }
        for (g, c) in v.groups.iter().enumerate() {
            body.push_str(&boxed(program, v, c, at_group(g), None));
        }
        for (from, c) in places(v) {
            body.push_str(&arrows(program, c, from));
        }
        Self { body, width, height }
    }
}

fn at_cell(i: usize) -> (i32, i32) {
    (20 + i as i32 * (CELL_WIDTH + CELL_GAP), 60)
}
fn at_group(g: usize) -> (i32, i32) {
    (20 + g as i32 * (CELL_WIDTH + CELL_GAP), 60 + CELL_HEIGHT + 90)
}

fn places(v: &View) -> Vec<((i32, i32), &ViewCell)> {
    let cells = v.cells.iter().enumerate().map(|(i, c)| (at_cell(i), c));
    cells.chain(v.groups.iter().enumerate().map(|(g, c)| (at_group(g), c))).collect()
}

fn heading(program: &Program, v: &View) -> String {
    let at = match v.control {
        Control::Idle => "between two calls".to_string(),
        Control::Operation(_, at) | Control::Thread(_, at) => {
            let code = program
                .objects
                .iter()
                .flat_map(|o| o.ops.iter().enumerate().map(|(i, x)| (Some(i as u32), None, &x.code)));
            let threads = program.threads.iter_enumerated().map(|(id, t)| (None, Some(id), &t.code));
            let found = code.chain(threads).find(|(op, thread, _)| match v.control {
                Control::Operation(o, _) => *op == Some(o),
                Control::Thread(t, _) => *thread == Some(t),
                Control::Idle => false,
            });
            found.and_then(|(_, _, c)| c.locations.get(at)).map_or_else(String::new, |l| l.name.clone())
        }
    };
    let scalars: Vec<String> = v
        .vars
        .iter()
        .filter(|(_, val)| !matches!(val, Val::Cell(_) | Val::Any))
        .map(|(var, val)| format!("{} = {}", program.vars[*var].name, value(*val)))
        .collect();
    let at = if v.control == Control::Idle { at } else { format!("before {at}") };
    [vec![at], scalars].concat().join(", ")
}

fn value(v: Val) -> String {
    match v {
        Val::Null => "null".into(),
        Val::Bool(b) => b.to_string(),
        Val::Number(n) => n.to_string(),
        Val::Variant(x) => format!("#{x}"),
        Val::Free => "free".into(),
        Val::Me => "this thread".into(),
        Val::Other => "another thread".into(),
        Val::Argument => "the argument".into(),
        Val::Below => "below".into(),
        Val::Equal => "the key".into(),
        Val::Above => "above".into(),
        Val::Cell(_) | Val::Group(_) | Val::Itself | Val::AsLink | Val::Any => "?".into(),
    }
}

fn boxed(program: &Program, v: &View, c: &ViewCell, (x, y): (i32, i32), cell: Option<usize>) -> String {
    let mut out = String::new();
    let fill = match (c.owner, c.status) {
        (CellOwner::Mine, _) => "#fff3c4",
        (_, Status::In | Status::Before | Status::After) => "#d5ecd4",
        (_, Status::Past | Status::Left) => "#e6e6e6",
        (_, Status::Never) => "#ffffff",
    };
    let dash = if cell.is_none() { " stroke-dasharray=\"5,3\"" } else { "" };
    if cell.is_none() {
        let _ = writeln!(
            out,
            "<rect x=\"{}\" y=\"{}\" width=\"{CELL_WIDTH}\" height=\"{CELL_HEIGHT}\" rx=\"6\" fill=\"{fill}\" stroke=\"black\"{dash}/>",
            x + 5,
            y + 5
        );
    }
    let _ = writeln!(
        out,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{CELL_WIDTH}\" height=\"{CELL_HEIGHT}\" rx=\"6\" fill=\"{fill}\" stroke=\"black\"{dash}/>"
    );
    let mut names: Vec<String> = Vec::new();
    if let Some(i) = cell {
        let here = Val::Cell(i as u16);
        names.extend(v.vars.iter().filter(|(_, val)| *val == here).map(|(var, _)| program.vars[*var].name.clone()));
        if let Some((a, b)) = v.ends {
            names.extend((a == here).then(|| "first".to_string()));
            names.extend((b == here).then(|| "last".to_string()));
        }
    }
    let _ = writeln!(out, "<text x=\"{x}\" y=\"{}\" fill=\"#1a4f9c\">{}</text>", y - 6, escape_xml(&names.join(" ")));
    let status = match c.status {
        Status::Never => "",
        Status::In => " in",
        Status::Past => " past",
        Status::Before => " before",
        Status::After => " after",
        Status::Left => " left",
    };
    let many = if cell.is_none() { " *" } else { "" };
    let class = &program.classes[c.class].name;
    let _ = writeln!(out, "<text x=\"{}\" y=\"{}\">{}{status}{many}</text>", x + 8, y + 18, escape_xml(class));
    let scalars: Vec<String> = program.classes[c.class]
        .fields
        .iter()
        .zip(&c.fields)
        .filter_map(|(f, vals)| match vals[..] {
            [one] if !matches!(one, Val::Cell(_) | Val::Group(_) | Val::Itself | Val::Any | Val::Null) => {
                Some(format!("{}={}", program.vars[*f].name, value(one)))
            }
            _ => None,
        })
        .collect();
    let _ = writeln!(out, "<text x=\"{}\" y=\"{}\">{}</text>", x + 8, y + 36, escape_xml(&scalars.join(" ")));
    out
}

fn arrows(program: &Program, c: &ViewCell, (x, y): (i32, i32)) -> String {
    let mut out = String::new();
    for (f, vals) in program.classes[c.class].fields.iter().zip(&c.fields) {
        let certain = vals.len() == 1;
        let dash = if certain { "" } else { " stroke-dasharray=\"2,3\"" };
        for (i, val) in vals.iter().enumerate() {
            let to = match val {
                Val::Cell(d) => at_cell(*d as usize),
                Val::Group(g) => at_group(*g as usize),
                Val::Null => {
                    let end = x + CELL_WIDTH + 18;
                    let _ = writeln!(
                        out,
                        "<path d=\"M{},{} h18 m0,-6 v12\" fill=\"none\" stroke=\"black\"{dash}/><text x=\"{}\" y=\"{}\" font-size=\"9\">{}</text>",
                        x + CELL_WIDTH,
                        y + 30,
                        end + 3,
                        y + 40,
                        escape_xml(&program.vars[*f].name)
                    );
                    continue;
                }
                _ => continue,
            };
            let (fx, fy) = (x + CELL_WIDTH / 2 + 12 * i as i32, y + CELL_HEIGHT);
            let (tx, ty) = (to.0 + CELL_WIDTH / 2 - 8 * i as i32, if to.1 > y { to.1 } else { to.1 + CELL_HEIGHT });
            let bend = fy + 34 + 6 * i as i32;
            let _ = writeln!(
                out,
                "<path d=\"M{fx},{fy} C{fx},{bend} {tx},{bend} {tx},{ty}\" fill=\"none\" stroke=\"black\"{dash} marker-end=\"url(#tip)\"/>"
            );
            if certain {
                let _ = writeln!(
                    out,
                    "<text x=\"{}\" y=\"{}\" font-size=\"9\">{}</text>",
                    (fx + tx) / 2,
                    bend - 4,
                    escape_xml(&program.vars[*f].name)
                );
            }
        }
    }
    out
}
