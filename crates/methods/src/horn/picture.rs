//! Trees as a drawing: SVG from left to right, one band for each tree, environment transitions below.
//!
//! In: trees as text. Out: SVG text, the same bytes for the same trees. A state is a box with its name, its location and
//! one line for each fact; a step of the thread itself is a solid line, a step of another a dashed one, with the step's
//! text above it. Of a very large tree only the first states are drawn, and the drawing says so. Deliberately absent: Graphviz.

use std::collections::BTreeMap;
use std::fmt::Write;

/// A state as text.
pub(crate) struct ShownState {
    pub name: String,
    pub at: String,
    /// What is known there, one fact each.
    pub known: Vec<String>,
    /// How it came about.
    pub by: String,
    /// Whether that was a step of another.
    pub foreign: bool,
    pub children: Vec<usize>,
    pub is_root: bool,
}

/// The tree of one process: its name, and its nodes by number of the state.
pub(crate) struct ShownTree {
    pub name: String,
    pub nodes: Vec<(usize, ShownState)>,
}

/// States drawn of one tree.
const MAX_STATES: usize = 300;
/// Facts written in one box.
const MAX_FACTS: usize = 8;
const MAX_LINE_LETTERS: usize = 56;
/// Of one letter, a line, the room around and between boxes.
const LETTER_WIDTH: f64 = 6.7;
const LINE_HEIGHT: usize = 15;
const BOX_MARGIN: usize = 20;
const BOX_GAP: usize = 14;

struct PlacedNode<'t> {
    node: &'t ShownState,
    depth: usize,
    /// Of the box: the middle, from the top of the band.
    y: usize,
    lines: Vec<String>,
}

pub(crate) fn draw_trees(trees: &[ShownTree], steps: &[String]) -> String {
    let (mut body, mut y, mut width) = (String::new(), BOX_MARGIN, 400);
    for t in trees.iter().filter(|t| !t.nodes.is_empty()) {
        let more = t.nodes.len().saturating_sub(MAX_STATES);
        let note =
            if more > 0 { format!(" (the first {MAX_STATES} of {} states)", t.nodes.len()) } else { String::new() };
        let _ = writeln!(
            body,
            "<text x=\"{BOX_MARGIN}\" y=\"{}\" class=\"title\">{}{note}</text>",
            y + 12,
            escape(&t.name)
        );
        y += 26;
        let (band, high, wide) = band(t, y);
        body.push_str(&band);
        y += high + BOX_MARGIN;
        width = width.max(wide);
        let _ = writeln!(body, "<line x1=\"{BOX_MARGIN}\" y1=\"{0}\" x2=\"100%\" y2=\"{0}\" class=\"rule\"/>", y - 10);
        y += 10;
    }
    if !steps.is_empty() {
        let _ =
            writeln!(body, "<text x=\"{BOX_MARGIN}\" y=\"{}\" class=\"title\">environment transitions</text>", y + 12);
        y += 32;
        for s in steps {
            let _ = writeln!(body, "<text x=\"{BOX_MARGIN}\" y=\"{y}\">{}</text>", escape(s));
            width = width.max(2 * BOX_MARGIN + letters(s));
            y += LINE_HEIGHT + 2;
        }
    }
    let height = y + BOX_MARGIN;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
         <style>text {{ font: 11px monospace; fill: #222; }} .title {{ font-size: 14px; font-weight: bold; }} \
         .name {{ font-weight: bold; }} .by {{ fill: #555; }} .foreign {{ fill: #1f5fa8; }} \
         .box {{ fill: #fbfaf5; stroke: #666; }} .own {{ fill: none; stroke: #444; }} \
         .env {{ fill: none; stroke: #1f5fa8; stroke-dasharray: 5 3; }} .rule {{ stroke: #ddd; }}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{body}</svg>\n"
    )
}

/// One tree, from a height on; its own height and width.
fn band(tree: &ShownTree, top: usize) -> (String, usize, usize) {
    let shown: BTreeMap<usize, &ShownState> = tree.nodes.iter().take(MAX_STATES).map(|(s, n)| (*s, n)).collect();
    let mut placed: BTreeMap<usize, PlacedNode<'_>> = BTreeMap::new();
    let mut bottom = 0;
    for (s, _) in shown.iter().filter(|(_, n)| n.is_root) {
        place(&shown, *s, 0, bottom, &mut placed);
        bottom += room(&shown, *s);
    }
    // A column for each depth: the steps that lead there, then the boxes.
    let deepest = placed.values().map(|p| p.depth).max().unwrap_or(0);
    let (mut left, mut x) = (Vec::new(), BOX_MARGIN);
    let mut wide = Vec::new();
    for depth in 0..=deepest {
        let here = || placed.values().filter(|p| p.depth == depth);
        let label = here().map(|p| letters(&cut(&p.node.by))).max().unwrap_or(0);
        if depth > 0 {
            x += label + 50;
        }
        left.push(x);
        wide.push(here().flat_map(|p| p.lines.iter()).map(|l| letters(l)).max().unwrap_or(0) + 16);
        x += wide[depth];
    }
    let mut out = String::new();
    for p in placed.values() {
        let (x, y) = (left[p.depth], top + p.y);
        for c in p.node.children.iter().filter_map(|c| placed.get(c)) {
            let (from, to) = (x + wide[p.depth], left[c.depth]);
            let (cy, class) = (top + c.y, if c.node.foreign { "env" } else { "own" });
            let bend = from + 14;
            let _ = writeln!(
                out,
                "<path d=\"M{from} {y} C{} {y} {bend} {cy} {} {cy} L{to} {cy}\" class=\"{class}\"/>",
                bend,
                bend + 16
            );
            let _ = writeln!(out, "<path d=\"M{} {} l6 4 l-6 4\" class=\"own\"/>", to - 6, cy - 4);
            let class = if c.node.foreign { "foreign" } else { "by" };
            let _ = writeln!(
                out,
                "<text x=\"{}\" y=\"{}\" class=\"{class}\">{}</text>",
                bend + 18,
                cy - 4,
                escape(&cut(&c.node.by))
            );
        }
        let high = height(&p.lines);
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"{}\" width=\"{}\" height=\"{high}\" rx=\"5\" class=\"box\"/>",
            y - high / 2,
            wide[p.depth]
        );
        for (i, l) in p.lines.iter().enumerate() {
            let class = if i == 0 { " class=\"name\"" } else { "" };
            let _ = writeln!(
                out,
                "<text x=\"{}\" y=\"{}\"{class}>{}</text>",
                x + 8,
                y - high / 2 + 14 + i * LINE_HEIGHT,
                escape(l)
            );
        }
    }
    (out, bottom, x + BOX_MARGIN)
}

/// How much room a state and what is below it takes, from top to bottom.
fn room(shown: &BTreeMap<usize, &ShownState>, root: usize) -> usize {
    let Some(node) = shown.get(&root) else { return 0 };
    let below: usize = node.children.iter().map(|c| room(shown, *c)).sum();
    below.max(height(&lines(node)) + BOX_GAP)
}

/// Gives a state and what is below it a place, from a height on; the middle of its box.
fn place<'t>(
    shown: &BTreeMap<usize, &'t ShownState>,
    root: usize,
    depth: usize,
    top: usize,
    placed: &mut BTreeMap<usize, PlacedNode<'t>>,
) -> Option<usize> {
    let node = *shown.get(&root)?;
    let lines = lines(node);
    let below: usize = node.children.iter().map(|c| room(shown, *c)).sum();
    let own = height(&lines) + BOX_GAP;
    // What is lower than the box beside it is put in the middle.
    let mut next = top + own.saturating_sub(below) / 2;
    let mut middles = Vec::new();
    for c in &node.children {
        middles.extend(place(shown, *c, depth + 1, next, placed));
        next += room(shown, *c);
    }
    // Beside the first of what is below it: the start is at the top left, and the longest runs are straight lines.
    let y = middles.first().map_or(0, |first| *first).max(top + own / 2);
    placed.insert(root, PlacedNode { node, depth, y, lines });
    Some(y)
}

fn lines(node: &ShownState) -> Vec<String> {
    let mut out = vec![cut(&format!("{} at {}", node.name, node.at))];
    out.extend(node.known.iter().take(MAX_FACTS).map(|k| cut(k)));
    if node.known.len() > MAX_FACTS {
        out.push(format!("and {} more", node.known.len() - MAX_FACTS));
    }
    out
}

fn height(lines: &[String]) -> usize {
    lines.len() * LINE_HEIGHT + 8
}

fn letters(s: &str) -> usize {
    (s.chars().count() as f64 * LETTER_WIDTH) as usize
}

fn cut(s: &str) -> String {
    if s.chars().count() <= MAX_LINE_LETTERS {
        s.to_string()
    } else {
        s.chars().take(MAX_LINE_LETTERS - 2).chain("..".chars()).collect()
    }
}

fn escape(s: &str) -> String {
    s.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, by: &str, foreign: bool, children: Vec<usize>) -> ShownState {
        let known = vec!["lock <= 1".into(), "x < y".into()];
        let is_root = by == "start";
        ShownState { name: name.into(), at: "L0 (start)".into(), known, by: by.into(), foreign, children, is_root }
    }

    #[test]
    fn check_each_state_is_a_box_and_each_step_a_line() {
        let nodes = vec![
            (0, node("m0", "start", false, vec![3, 5])),
            (3, node("m3", "a := b & c", false, vec![])),
            (5, node("m5", "e0 (Other: lock := 1)", true, vec![])),
        ];
        let tree = ShownTree { name: "One <1>".into(), nodes };
        let svg = draw_trees(&[tree], &["e0 = lock == 0".into()]);
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert_eq!(svg.matches("class=\"box\"").count(), 3);
        assert_eq!(svg.matches("class=\"env\"").count(), 1, "a step of another is dashed");
        assert!(svg.contains("One &lt;1&gt;") && svg.contains("a := b &amp; c") && svg.contains("x &lt; y"));
        assert!(svg.contains("e0 = lock == 0"));
    }

    #[test]
    fn check_boxes_of_one_column_do_not_overlap() {
        let mut nodes = vec![(0, node("m0", "start", false, (1..20).collect()))];
        nodes.extend((1..20).map(|i| (i, node(&format!("m{i}"), "x := 1", i % 2 == 0, vec![]))));
        let shown: BTreeMap<usize, &ShownState> = nodes.iter().map(|(s, n)| (*s, n)).collect();
        let mut placed = BTreeMap::new();
        place(&shown, 0, 0, 0, &mut placed);
        let mut middles: Vec<usize> = placed.values().filter(|p| p.depth == 1).map(|p| p.y).collect();
        middles.sort_unstable();
        assert_eq!(middles.len(), 19);
        let high = height(&lines(&nodes[1].1));
        assert!(middles.windows(2).all(|w| w[1] - w[0] >= high), "{middles:?}");
    }
}
