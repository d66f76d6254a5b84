//! `show`: what a program became: its model, its properties, its threads and machines as graphs.
//!
//! In: a program. Out: text, DOT, or SVG (drawn by Graphviz's `dot`, which must be on the path).

use crate::board::{self, exit};
use crate::cli::ShowCommand;
use crate::load::{self, Loaded};
use crate::report::paint::Paint;
use program::{Code, Machine, MachineEdge, Program, Thread, TwoStore};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

pub fn run_show(request: ShowCommand, paint: Paint) -> i32 {
    let loaded = match load::or_exit_code(load::load_program(&request.file, &request.reading, paint)) {
        Ok(loaded) => loaded,
        Err(code) => return code,
    };
    loaded.warnings.iter().for_each(|w| eprint!("{}", w.picture));
    let text = match chosen(&request, &loaded) {
        Ok(text) => text,
        Err(sentence) => {
            eprintln!("error: {}: {sentence}", request.file.display());
            return exit::USAGE;
        }
    };
    let text = if request.svg { draw(&text) } else { Ok(text) };
    match text {
        Ok(text) => crate::output::write_all(text.as_bytes()).map_or_else(|lost| lost, |()| exit::SAFE),
        Err(sentence) => {
            eprintln!("error: {sentence}");
            exit::USAGE
        }
    }
}

fn chosen(request: &ShowCommand, loaded: &Loaded) -> Result<String, String> {
    let program = &loaded.program;
    let graph = request.dot || request.svg;
    if request.properties {
        return Ok(properties(loaded));
    }
    if let Some(name) = &request.machine {
        let machine = program.machines.iter().find(|m| m.name == *name);
        let machine =
            machine.ok_or_else(|| unknown("machine", name, program.machines.iter().map(|m| m.name.as_str())))?;
        return Ok(if graph { machine_graph(program, machine) } else { machine_text(program, machine) });
    }
    if let Some(name) = &request.thread {
        let thread = program.threads.iter().find(|t| t.name == *name);
        let thread = thread.ok_or_else(|| unknown("thread", name, program.threads.iter().map(|t| t.name.as_str())))?;
        return Ok(if graph {
            digraph(&[(&thread.name, &thread.code)], program)
        } else {
            thread_text(program, thread)
        });
    }
    if graph {
        let all: Vec<(&str, &Code)> = program.threads.iter().map(|t| (t.name.as_str(), &t.code)).collect();
        return Ok(digraph(&all, program));
    }
    Ok(program::text::print_program(program))
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    if known.is_empty() {
        format!("there is no {what} {name}; the program has none")
    } else {
        format!("there is no {what} {name}; there are: {}", known.join(", "))
    }
}

fn properties(loaded: &Loaded) -> String {
    let rows = board::rows(&loaded.program, &loaded.sources, &|_| true);
    let width = rows.iter().map(|r| r.name.chars().count()).max().unwrap_or(0);
    rows.iter().fold(String::new(), |mut out, row| {
        let place = row.place.as_ref().map_or(String::new(), |p| format!("{}:{}", p.line, p.column));
        let _ = writeln!(out, "{:width$}  {:>7}  {:12}  {}", row.name, place, row.kind, row.text);
        out
    })
}

fn thread_text(program: &Program, thread: &Thread) -> String {
    let mut out =
        format!("thread {} {:?} {:?} entry {}\n", thread.name, thread.copies, thread.start, thread.code.entry);
    for (id, action) in thread.code.actions.iter_enumerated() {
        let _ =
            writeln!(out, "  {id}: {} -> {}  {}", action.from, action.to, label(program, &thread.code, id).join("; "));
    }
    out
}

/// What an action does, in parts: guard, gates, updates.
fn label(program: &Program, code: &Code, id: program::ActionId) -> Vec<String> {
    let action = &code.actions[id];
    let terms = &program.terms;
    let mut parts = Vec::new();
    if !terms.is_true(action.guard) {
        parts.push(format!("[{}]", terms.show(action.guard)));
    }
    for gate in &action.gates {
        parts.push(format!("{}: {}", program.properties[gate.property].name, terms.show(gate.formula)));
    }
    for update in &action.updates {
        parts.push(format!("{} := {}", program.vars[update.var].name, terms.show(update.value)));
    }
    if let Some(spawn) = &action.spawn {
        parts.push(format!("spawn {}", program.threads[spawn.thread].name));
    }
    if parts.is_empty() {
        parts.push("skip".into());
    }
    parts
}

fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\l"))
}

fn digraph(threads: &[(&str, &Code)], program: &Program) -> String {
    let mut out = String::from(
        "digraph threads {\n  node [shape=ellipse, fontname=\"monospace\"];\n  edge [fontname=\"monospace\"];\n",
    );
    for (t, (name, code)) in threads.iter().enumerate() {
        let _ = writeln!(out, "  subgraph cluster_{t} {{\n    label={};", quote(name));
        for (id, location) in code.locations.iter_enumerated() {
            let shape = if id == code.entry {
                ", penwidth=2"
            } else if Some(id) == code.exit {
                ", peripheries=2"
            } else {
                ""
            };
            let name = if location.name.is_empty() { id.to_string() } else { format!("{id} {}", location.name) };
            let _ = writeln!(out, "    t{t}_{id} [label={}{shape}];", quote(&name));
        }
        for (id, action) in code.actions.iter_enumerated() {
            let text = label(program, code, id).join("\n");
            let _ = writeln!(out, "    t{t}_{} -> t{t}_{} [label={}];", action.from, action.to, quote(&text));
        }
        out.push_str("  }\n");
    }
    out.push_str("}\n");
    out
}

fn frame_of(program: &Program, place: &program::StorePlace) -> String {
    let keys: String = place.keys.iter().map(|k| format!("[{}]", program.terms.show(*k))).collect();
    format!("{}{keys}", program.vars[place.var].name)
}

fn two_store(program: &Program, action: &TwoStore) -> String {
    let frame: Vec<String> = action.frame.iter().map(|place| frame_of(program, place)).collect();
    format!("<{}> {}", frame.join(", "), program.terms.show(action.relation))
}

fn assertion(program: &Program, state: &program::MachineState) -> String {
    match state.assertion {
        None => String::new(),
        Some(None) => " asserts ?".into(),
        Some(Some(formula)) => format!(" asserts {}", program.terms.show(formula)),
    }
}

fn machine_text(program: &Program, machine: &Machine) -> String {
    let mut out = format!("{}machine {} {{\n", if machine.strict { "strict " } else { "" }, machine.name);
    for v in &machine.vars {
        let var = &program.vars[*v];
        let initial = var.initial.map_or_else(String::new, |x| format!(" = {}", program.terms.show(x)));
        let _ = writeln!(out, "  var {}: {}{initial};", var.name, program.terms.sort_name(var.sort));
    }
    for (i, state) in machine.states.iter().enumerate() {
        let word = if machine.starts.contains(&i) { "start" } else { "state" };
        let _ = writeln!(out, "  {word} {}{};", state.name, assertion(program, state));
    }
    for edge in drawn(program, machine) {
        let (from, to) = (&machine.states[edge.from].name, &machine.states[edge.to].name);
        let _ = writeln!(out, "  {from} -> {to} : {};", two_store(program, &whole_action(program, edge)));
    }
    out.push_str("}\n");
    out
}

/// A machine as a figure of a paper: an arrow to the start, names in bold, assertions below them, and on each edge the
/// relation in angle brackets with the variables that may change below. Idle steps are not drawn.
fn machine_graph(program: &Program, machine: &Machine) -> String {
    let strict = if machine.strict { " (strict)" } else { "" };
    let mut out = format!(
        "digraph {} {{\n  graph [label=<<B>{}</B>{strict}>, labelloc=t, fontname=\"serif\", fontsize=16, nodesep=0.5, \
         ranksep=0.9, pad=0.2];\n  node [shape=box, style=rounded, fontname=\"serif\", fontsize=13, margin=\"0.14,0.07\"];\n  \
         edge [fontname=\"serif\", fontsize=11, arrowsize=0.7];\n  start [shape=point, width=0.08, label=\"\"];\n",
        quote(&machine.name),
        mathematical(&machine.name),
    );
    for s in &machine.starts {
        let _ = writeln!(out, "  start -> s{s};");
    }
    for (i, state) in machine.states.iter().enumerate() {
        let assertion = match state.assertion {
            None => String::new(),
            Some(None) => "<BR/>?".into(),
            Some(Some(formula)) => format!("<BR/>{}", conjunction(program, formula).join("<BR/>")),
        };
        let _ = writeln!(out, "  s{i} [label=<<B>{}</B>{assertion}>];", mathematical(&state.name));
    }
    for (from, to) in pairs(program, machine) {
        let edges = drawn(program, machine).filter(|e| (e.from, e.to) == (from, to));
        let lines: Vec<String> = edges.map(|e| edge_label(program, &whole_action(program, e))).collect();
        let _ = writeln!(out, "  s{from} -> s{to} [label=<{}>];", lines.concat());
    }
    out.push_str("}\n");
    out
}

/// Source and target of edges, each once: several edges between two states share an arrow.
fn pairs(program: &Program, machine: &Machine) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    for e in drawn(program, machine) {
        if !out.contains(&(e.from, e.to)) {
            out.push((e.from, e.to));
        }
    }
    out
}

/// The edges without idle steps, for which a machine with `rely` has edges that stand nowhere in the text.
fn drawn<'a>(program: &'a Program, machine: &'a Machine) -> impl Iterator<Item = &'a MachineEdge> {
    let idle = |e: &&MachineEdge| {
        let still = e.action.frame.is_empty() && program.terms.is_true(e.action.relation) && e.makes.is_none();
        e.from == e.to && e.origin == machine.origin && still
    };
    machine.edges.iter().filter(move |e| !idle(e))
}

/// An edge with what it does to the machine's variables, as it is written.
fn whole_action(program: &Program, edge: &MachineEdge) -> TwoStore {
    let t = &program.terms;
    let mut action = edge.action.clone();
    let mut parts = vec![action.relation];
    for u in &edge.sets {
        action.frame.push(program::StorePlace { var: u.var, keys: Vec::new() });
        parts.push(t.eq(program.next(u.var), u.value));
    }
    action.frame.extend(edge.makes.map(|var| program::StorePlace { var, keys: Vec::new() }));
    action.relation = t.and(&parts);
    action
}

fn edge_label(program: &Program, action: &TwoStore) -> String {
    const LINE: &str = "<BR ALIGN=\"LEFT\"/>";
    let frame: Vec<String> = action.frame.iter().map(|place| mathematical(&frame_of(program, place))).collect();
    let below = if frame.is_empty() {
        String::new()
    } else {
        format!("<SUB><FONT POINT-SIZE=\"8\">{}</FONT></SUB>", frame.join(", "))
    };
    format!("⟨{}⟩{below}{LINE}", conjunction(program, action.relation).join(LINE))
}

/// The parts of a conjunction, one for each line.
fn conjunction(program: &Program, formula: logic::Term) -> Vec<String> {
    let parts = program.terms.conjuncts(formula);
    let sign = |i: usize| if i == 0 { "" } else { "∧ " };
    parts.iter().enumerate().map(|(i, f)| format!("{}{}", sign(i), mathematical(&program.terms.show(*f)))).collect()
}

/// The language's signs as a paper writes them, safe inside a label.
fn mathematical(text: &str) -> String {
    let signs = [
        ("<==>", "⇔"),
        ("==>", "⇒"),
        ("!=", "≠"),
        ("<=", "≤"),
        (">=", "≥"),
        ("==", "="),
        ("&&", "∧"),
        ("||", "∨"),
        ("!", "¬"),
        ("'", "′"),
        ("&", "&amp;"),
        ("<", "&lt;"),
        (">", "&gt;"),
        ("\"", "&quot;"),
    ];
    signs.iter().fold(text.to_string(), |text, (from, to)| text.replace(from, to))
}

fn draw(dot: &str) -> Result<String, String> {
    let child = Command::new("dot").arg("-Tsvg").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child =
        child.map_err(|e| format!("Graphviz's `dot` cannot be run ({e}); --dot prints the graph as text"))?;
    let mut input = child.stdin.take().ok_or("`dot` takes no input")?;
    let text = dot.to_string();
    // Written beside the reading, so that neither side waits for the other.
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output().map_err(|e| format!("`dot`: {e}"))?;
    let _ = writer.join();
    if !output.status.success() || output.stdout.is_empty() {
        return Err("`dot` could not draw the graph; only graphs can be drawn: --thread, --machine or none".into());
    }
    String::from_utf8(output.stdout).map_err(|e| format!("`dot`: {e}"))
}
