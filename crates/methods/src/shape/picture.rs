//! Pictures of views as SVG: one box for each cell, a dashed double box for a group, arrows for links.
//!
//! In: views of a certificate. Out: SVG text, the same bytes for the same view. A cell of the view is one concrete cell (solid box), a
//! group stands for any number of them (dashed); a link that is certain is a solid arrow, a possible one is dotted. Deliberately absent:
//! a view before and after a step (the web page draws the heaps of runs).

use evidence::views::{CellOwner, Control, Status, Val, View, ViewCell, Views};
use program::Program;
use std::fmt::Write;

const CELL_WIDTH: i32 = 150;
const CELL_HEIGHT: i32 = 46;
const CELL_GAP: i32 = 60;
const ROW_GAP: i32 = 70;
const HEADING_HEIGHT: i32 = 50;
/// Room below the last row, for links that go round.
const FOOT_HEIGHT: i32 = 44;
const LETTER_WIDTH: i32 = 8;

/// One view.
pub fn view(program: &Program, v: &View) -> String {
    let drawn = DrawnView::new(program, v);
    frame(drawn.width, drawn.height, &drawn.body)
}

/// How many views are drawn on one sheet.
const VIEWS_PER_SHEET: usize = 60;

const SHEET_WIDTH: i32 = 1500;

/// The views of a certificate, as many side by side as a sheet is wide; of a large one the first.
pub fn sheet(program: &Program, views: &Views) -> String {
    let count = views.views.len();
    let title = if count > VIEWS_PER_SHEET {
        format!("the first {VIEWS_PER_SHEET} of {count} views")
    } else {
        format!("{count} views")
    };
    let mut body = format!("<text x=\"10\" y=\"18\" font-weight=\"bold\">{title}</text>\n");
    let legend = "a solid box is one cell, a dashed one any number; yellow: only this thread knows it, green: in the object, grey: \
                  taken out of it";
    let _ = writeln!(body, "<text x=\"10\" y=\"36\">{legend}</text>");
    let (mut x, mut y, mut width, mut row_height) = (0, 50, LETTER_WIDTH * legend.len() as i32, 0);
    for v in views.views.iter().take(VIEWS_PER_SHEET) {
        let drawn = DrawnView::new(program, v);
        if x > 0 && x + drawn.width > SHEET_WIDTH {
            (x, y, row_height) = (0, y + row_height, 0);
        }
        let (w, h) = (drawn.width - 10, drawn.height - 10);
        let _ = writeln!(
            body,
            "<g transform=\"translate({x},{y})\"><rect x=\"4\" y=\"0\" width=\"{w}\" height=\"{h}\" fill=\"none\" stroke=\"#ccc\"/>{}</g>",
            drawn.body
        );
        x += drawn.width;
        width = width.max(x);
        row_height = row_height.max(drawn.height);
    }
    frame(width, y + row_height, &body)
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
        let grid = Grid::of(v);
        let columns = v.cells.len().max(v.groups.len()).max(1) as i32;
        let heading = heading(program, v);
        let width = (20 + columns * (CELL_WIDTH + CELL_GAP)).max(20 + LETTER_WIDTH * heading.chars().count() as i32);
        let mut body = format!("<text x=\"10\" y=\"16\">{}</text>\n", escape_xml(&heading));
        for (i, c) in v.cells.iter().enumerate() {
            body.push_str(&boxed(program, v, c, grid.cell(i), Some(i)));
        }
        for (g, c) in v.groups.iter().enumerate() {
            body.push_str(&boxed(program, v, c, grid.group(g), None));
        }
        for (from, c) in grid.places(v) {
            body.push_str(&arrows(program, grid, c, from));
        }
        Self { body, width, height: grid.height(v) }
    }
}

/// Where the boxes of a view stand: cells in one row, groups in the next; a row of nothing takes no room.
#[derive(Clone, Copy)]
struct Grid {
    groups_y: i32,
}

impl Grid {
    fn of(v: &View) -> Self {
        let cells = if v.cells.is_empty() { 0 } else { CELL_HEIGHT + ROW_GAP };
        Self { groups_y: HEADING_HEIGHT + cells }
    }

    fn height(self, v: &View) -> i32 {
        let last = match (v.groups.is_empty(), v.cells.is_empty()) {
            (false, _) => self.groups_y + CELL_HEIGHT,
            (true, false) => HEADING_HEIGHT + CELL_HEIGHT,
            (true, true) => return HEADING_HEIGHT,
        };
        last + FOOT_HEIGHT
    }

    fn cell(self, i: usize) -> (i32, i32) {
        (20 + i as i32 * (CELL_WIDTH + CELL_GAP), HEADING_HEIGHT)
    }

    fn group(self, g: usize) -> (i32, i32) {
        (20 + g as i32 * (CELL_WIDTH + CELL_GAP), self.groups_y)
    }

    fn places(self, v: &View) -> Vec<((i32, i32), &ViewCell)> {
        let cells = v.cells.iter().enumerate().map(|(i, c)| (self.cell(i), c));
        cells.chain(v.groups.iter().enumerate().map(|(g, c)| (self.group(g), c))).collect()
    }
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

/// A link that ends: a short line with a bar.
fn ending((x, y): (i32, i32), dash: &str, name: &str) -> String {
    let (from, end) = (x + CELL_WIDTH, x + CELL_WIDTH + 18);
    format!(
        "<path d=\"M{from},{} h18 m0,-6 v12\" fill=\"none\" stroke=\"black\"{dash}/>\
         <text x=\"{}\" y=\"{}\" font-size=\"9\">{name}</text>\n",
        y + 30,
        end + 3,
        y + 40
    )
}

/// The line of a link from a box to a box, and where its name stands: straight to the next box of the row, round the foot of its own
/// box, or bent below the row.
fn line((x, y): (i32, i32), to: (i32, i32), nth: i32) -> (String, (i32, i32)) {
    let foot = y + CELL_HEIGHT;
    if to == (x, y) {
        let (right, left, low) = (x + CELL_WIDTH - 20 - 12 * nth, x + CELL_WIDTH - 60 - 12 * nth, foot + 30);
        return (format!("M{right},{foot} C{right},{low} {left},{low} {left},{foot}"), (left, low));
    }
    if to.1 == y && to.0 == x + CELL_WIDTH + CELL_GAP {
        let at = y + 14 + 6 * nth;
        return (format!("M{},{at} H{}", x + CELL_WIDTH, to.0), (x + CELL_WIDTH + 6, at - 4));
    }
    let (fx, tx) = (x + CELL_WIDTH / 2 + 12 * nth, to.0 + CELL_WIDTH / 2 - 8 * nth);
    let ty = if to.1 > y { to.1 } else { to.1 + CELL_HEIGHT };
    let bend = foot + 34 + 6 * nth;
    (format!("M{fx},{foot} C{fx},{bend} {tx},{bend} {tx},{ty}"), ((fx + tx) / 2, bend - 4))
}

fn arrows(program: &Program, grid: Grid, c: &ViewCell, from: (i32, i32)) -> String {
    let mut out = String::new();
    for (f, vals) in program.classes[c.class].fields.iter().zip(&c.fields) {
        let name = escape_xml(&program.vars[*f].name);
        let certain = vals.len() == 1;
        let dash = if certain { "" } else { " stroke-dasharray=\"2,3\"" };
        for (i, val) in vals.iter().enumerate() {
            let to = match val {
                Val::Cell(d) => grid.cell(*d as usize),
                Val::Group(g) => grid.group(*g as usize),
                Val::Null => {
                    out.push_str(&ending(from, dash, &name));
                    continue;
                }
                _ => continue,
            };
            let (path, (x, y)) = line(from, to, i as i32);
            let _ = writeln!(out, "<path d=\"{path}\" fill=\"none\" stroke=\"black\"{dash} marker-end=\"url(#tip)\"/>");
            if certain {
                let _ = writeln!(out, "<text x=\"{x}\" y=\"{y}\" font-size=\"9\">{name}</text>");
            }
        }
    }
    out
}
