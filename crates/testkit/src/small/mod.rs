//! Random small programs of the modelling language with finite runs, for the comparison of two opinions on what they mean.
//!
//! In: a seed. Out: the text of a file that the front end must accept, one statement on a line, every name declared once. The
//! constructs are those of the whole language that runs can show: calls into places, spawn and join, atomic blocks with branches and
//! loops, locks, guarded variables, machine integers, maps and maps of maps, sets, sequences, objects with fields, `free`, relies, invariants of
//! files and threads, contracts, operations of objects with parameters and results, threads in any number; threads that follow a
//! machine and procedures that perform an action, whether they do or not. Values are kept small, so that every run can be followed.
//! Deliberately absent: quantifiers without bounds.

mod expressions;
mod statements;

use base::Random;
use std::fmt::Write;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ty {
    Int,
    Bool,
    Phase,
    Node,
    Byte,
    Table,
    /// A map of maps.
    Grid,
    Bits,
    Set,
    Seq,
}

impl Ty {
    fn name(self) -> &'static str {
        match self {
            Ty::Int => "int",
            Ty::Bool => "bool",
            Ty::Phase => "Phase",
            Ty::Node => "Node",
            Ty::Byte => "u8",
            Ty::Table => "[int]int",
            Ty::Grid => "[int][int]int",
            Ty::Bits => "[int]bool",
            Ty::Set => "set<int>",
            Ty::Seq => "seq<int>",
        }
    }
}

#[derive(Clone)]
struct Proc {
    name: String,
    params: Vec<Ty>,
    results: Vec<Ty>,
}

/// What statements may use.
#[derive(Clone, Default)]
struct Scope {
    /// Variables that may be written.
    vars: Vec<(String, Ty)>,
    /// Names that are only read.
    fixed: Vec<(String, Ty)>,
    results: Option<Vec<Ty>>,
    depth: usize,
    in_loop: bool,
    in_atomic: bool,
    /// Procedures that may be called: the first so many.
    procs: usize,
    spawns: bool,
}

struct Small {
    random: Random,
    out: String,
    names: usize,
    indent: usize,
    procs: Vec<Proc>,
    frees: bool,
    job: Option<Vec<Ty>>,
    heap: bool,
    /// Threads at the start: their ids are 1 and so on.
    first: usize,
}

/// The program of a seed.
pub fn program(seed: u64) -> String {
    let mut random = Random::new(seed);
    let heap = random.chance(55);
    let frees = heap && random.chance(50);
    let first = 1 + random.below(2);
    let mut g =
        Small { random, out: String::new(), names: 0, indent: 0, procs: Vec::new(), frees, job: None, heap, first };
    g.file();
    g.out
}

impl Small {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{}{text}", "  ".repeat(self.indent));
    }

    fn open(&mut self, text: &str) {
        self.line(&format!("{text} {{"));
        self.indent += 1;
    }

    fn close(&mut self) {
        self.indent -= 1;
        self.line("}");
    }

    fn fresh(&mut self, stem: &str) -> String {
        self.names += 1;
        format!("{stem}{}", self.names)
    }

    fn pick<'t>(&mut self, items: &[&'t str]) -> &'t str {
        self.random.pick(items).copied().unwrap_or("")
    }

    fn file(&mut self) {
        let mut shared: Vec<(String, Ty)> = Vec::new();
        self.line("const N: int = 2;");
        self.line("enum Phase { Idle, Busy }");
        if self.heap {
            let guarded = self.pick(&["", " guarded_by own"]);
            self.line(&format!("class Node {{ v: int{guarded}; next: Node; own: lock; on: bool; }}"));
        }
        self.line("var m: lock;");
        let count = 1 + self.random.below(3);
        for i in 0..count {
            let guard = match self.random.below(6) {
                0 => " guarded_by m".to_owned(),
                1 if i > 0 => " accessible_if g0 == 0 || g0 == tid".to_owned(),
                _ => String::new(),
            };
            let start = self.random.below(3);
            self.line(&format!("var g{i}: int = {start}{guard};"));
            shared.push((format!("g{i}"), Ty::Int));
        }
        let kinds = [Ty::Bool, Ty::Phase, Ty::Byte, Ty::Table, Ty::Grid, Ty::Bits, Ty::Set, Ty::Seq];
        for _ in 0..1 + self.random.below(3) {
            let ty = self.random.pick(&kinds).copied().unwrap_or(Ty::Bool);
            let name = self.fresh("s");
            match ty {
                Ty::Bool => {
                    let start = self.pick(&["", " = true", " = false"]);
                    self.line(&format!("var {name}: bool{start};"));
                }
                Ty::Phase => {
                    let start = self.pick(&["", " = Idle", " = Busy"]);
                    self.line(&format!("var {name}: Phase{start};"));
                }
                Ty::Byte => {
                    let start = self.pick(&["0", "1", "254", "255"]);
                    self.line(&format!("var {name}: u8 = {start};"));
                }
                Ty::Table => {
                    self.line(&format!("var {name}: [int]int;"));
                    let start = self.random.below(2);
                    self.line(&format!("init forall k_{name}: int :: {name}[k_{name}] == {start};"));
                }
                Ty::Grid => {
                    let guarded = self.pick(&["", "", " guarded_by m", " accessible_if[j][k] j == k || m == tid"]);
                    self.line(&format!("var {name}: [int][int]int{guarded};"));
                    let start = self.random.below(2);
                    self.line(&format!(
                        "init forall j_{name}: int, k_{name}: int :: {name}[j_{name}][k_{name}] == {start};"
                    ));
                }
                Ty::Bits => {
                    let locks = self.fresh("l");
                    self.line(&format!("var {locks}: [int]lock;"));
                    let guarded = if self.random.chance(50) {
                        format!(" accessible_if[j] {locks}[j] == 0 || {locks}[j] == tid")
                    } else {
                        String::new()
                    };
                    self.line(&format!("var {name}: [int]bool{guarded};"));
                    self.line(&format!("init forall k_{name}: int :: {name}[k_{name}] == false;"));
                }
                _ => self.line(&format!("var {name}: {};", ty.name())),
            }
            shared.push((name, ty));
        }
        if self.heap {
            self.line("var top: Node = null;");
            shared.push(("top".into(), Ty::Node));
        }
        let store = Scope { fixed: shared.clone(), ..Scope::default() };
        if self.random.chance(30) {
            let e = self.formula(&store);
            self.line(&format!("invariant {e};"));
        }
        if self.random.chance(25) {
            let e = self.rely(&shared);
            self.line(&format!("rely {e};"));
        }
        for _ in 0..self.random.below(3) {
            self.procedure(&shared);
        }
        if self.random.chance(30) {
            self.object(&mut shared);
        }
        let machine = self.random.chance(15).then(|| self.machine());
        if self.random.chance(35) {
            let ty = if self.heap && self.random.chance(50) { Ty::Node } else { Ty::Int };
            self.job = Some(if self.random.chance(20) { Vec::new() } else { vec![ty] });
        }
        let job = self.job.clone();
        // The job may be declared first: its ids come last all the same.
        let early = self.random.chance(30);
        if let Some(params) = job.clone().filter(|_| early) {
            self.spawned(&params, &shared);
        }
        for i in 0..self.first {
            let copies = if self.first == 1 { self.pick(&["", "", "", "[2]", "[2]", "[*]", "[*]"]) } else { "" };
            let follows = machine.as_ref().filter(|_| i == 0).map_or(String::new(), |m| format!(" follows {m}"));
            let own = self.own_clauses(&shared, &[]);
            self.thread(&format!("thread T{i}{copies}{follows}"), &own, &[], &shared);
        }
        if let Some(params) = job.filter(|_| !early) {
            self.spawned(&params, &shared);
        }
    }

    fn rely(&mut self, shared: &[(String, Ty)]) -> String {
        let (x, _) = self.random.pick(shared).cloned().unwrap_or(("g0".into(), Ty::Int));
        let conditions = ["m == tid", "g0 == 0", "g0 == tid", "tid == 2", "true", "g0 > 0"];
        let c = self.pick(&conditions);
        match self.random.below(3) {
            0 => "g0' >= g0".into(),
            1 => "g0' == g0 || g0 == tid".into(),
            _ => format!("{c} ==> {x}' == {x}"),
        }
    }

    fn own_clauses(&mut self, shared: &[(String, Ty)], params: &[(String, Ty)]) -> Vec<String> {
        let mut out = Vec::new();
        if self.random.chance(12) {
            out.push(format!("rely {};", self.rely(shared)));
        }
        if self.random.chance(15) {
            let mut fixed = shared.to_vec();
            fixed.extend(params.iter().cloned());
            fixed.push(("tid".into(), Ty::Int));
            let scope = Scope { fixed, ..Scope::default() };
            out.push(format!("invariant {};", self.formula(&scope)));
        }
        out
    }

    fn spawned(&mut self, params: &[Ty], shared: &[(String, Ty)]) {
        let named: Vec<(String, Ty)> = params.iter().map(|t| (self.fresh("a"), *t)).collect();
        let list: Vec<String> = named.iter().map(|(n, t)| format!("{n}: {}", t.name())).collect();
        let own = self.own_clauses(shared, &named);
        self.thread(&format!("thread Job({})", list.join(", ")), &own, &named, shared);
    }

    fn thread(&mut self, head: &str, clauses: &[String], params: &[(String, Ty)], shared: &[(String, Ty)]) {
        self.line(head);
        for clause in clauses {
            self.line(&format!("  {clause}"));
        }
        self.line("{");
        self.indent += 1;
        let mut vars = shared.to_vec();
        vars.extend(params.iter().cloned());
        let scope = Scope {
            vars,
            fixed: vec![("tid".into(), Ty::Int)],
            depth: 2,
            procs: self.procs.len(),
            spawns: params.is_empty() && !head.contains("Job"),
            ..Scope::default()
        };
        let count = 2 + self.random.below(3);
        self.block(scope, count);
        self.close();
    }

    /// A machine over the first variable: no run shows whether a thread follows it, but proofs may rest on it.
    fn machine(&mut self) -> String {
        let name = self.fresh("M");
        let strict = self.pick(&["", "", "strict "]);
        self.open(&format!("{strict}machine {name}"));
        let asserts = self.pick(&["", " asserts g0 >= 0", " asserts g0 <= 1", " asserts g0 != 2"]);
        self.line(&format!("start S0{asserts};"));
        let asserts = self.pick(&["", " asserts g0 >= 0", " asserts g0 == 1"]);
        self.line(&format!("state S1{asserts};"));
        for _ in 0..1 + self.random.below(3) {
            let (from, to) = (self.pick(&["S0", "S1"]), self.pick(&["S0", "S1"]));
            let action = self.pick(&["", " : <g0> g0' == 1", " : <g0> g0' >= 0 && g0' < 3", " : <g0, m> true"]);
            self.line(&format!("{from} -> {to}{action};"));
        }
        self.close();
        name
    }

    /// An object with one or two operations; its variables are seen from outside by their full names.
    fn object(&mut self, shared: &mut Vec<(String, Ty)>) {
        let name = self.fresh("Box");
        self.open(&format!("object {name}"));
        let mut ops: Vec<(String, Vec<(String, Ty)>, Vec<(String, Ty)>)> = Vec::new();
        let types = if self.heap { vec![Ty::Int, Ty::Bool, Ty::Node] } else { vec![Ty::Int, Ty::Bool] };
        for _ in 0..1 + self.random.below(2) {
            let op = self.fresh("op");
            let some = |g: &mut Self, stem: &str| -> Vec<(String, Ty)> {
                let count = g.random.below(3);
                (0..count).map(|_| (g.fresh(stem), g.random.pick(&types).copied().unwrap_or(Ty::Int))).collect()
            };
            let (params, results) = (some(self, "a"), some(self, "r"));
            ops.push((op, params, results));
        }
        let list = |of: &[(String, Ty)]| -> String {
            of.iter().map(|(n, t)| format!("{n}: {}", t.name())).collect::<Vec<_>>().join(", ")
        };
        let head = |op: &str, params: &[(String, Ty)], results: &[(String, Ty)]| {
            let returns = if results.is_empty() { String::new() } else { format!(" returns ({})", list(results)) };
            format!("{op}({}){returns}", list(params))
        };
        self.open("spec");
        self.line("var kept: int := 0;");
        for (op, params, results) in &ops {
            self.open(&head(op, params, results));
            if let Some((a, _)) = params.iter().find(|(_, t)| *t == Ty::Int) {
                self.line(&format!("kept := {a};"));
            }
            for (r, t) in results {
                let value = if *t == Ty::Int { "kept".to_owned() } else { self.constant(*t) };
                self.line(&format!("{r} := {value};"));
            }
            self.close();
        }
        self.close();
        let guard = self.pick(&["", "", " guarded_by m", " guarded_by latch"]);
        self.line("var latch: lock;");
        let start = self.random.below(3);
        self.line(&format!("var held: int = {start}{guard};"));
        self.line("var full: bool = false;");
        let mut inside = shared.clone();
        inside.extend([("held".to_owned(), Ty::Int), ("full".to_owned(), Ty::Bool)]);
        if self.random.chance(30) {
            let formula = self.pick(&["held >= 0", "full ==> held > 0", "latch == 0 || latch <= 3", "held <= 1"]);
            self.line(&format!("invariant {formula};"));
        }
        for (op, params, results) in ops {
            self.line(&format!("op {}", head(&op, &params, &results)));
            self.body(&inside, &params, &results);
            let of = |all: &[(String, Ty)]| all.iter().map(|(_, t)| *t).collect::<Vec<_>>();
            self.procs.push(Proc { name: format!("{name}.{op}"), params: of(&params), results: of(&results) });
        }
        self.close();
        shared.extend([(format!("{name}.held"), Ty::Int), (format!("{name}.full"), Ty::Bool)]);
    }

    fn procedure(&mut self, shared: &[(String, Ty)]) {
        let types = if self.heap { vec![Ty::Int, Ty::Node, Ty::Bool] } else { vec![Ty::Int, Ty::Bool] };
        let some = |g: &mut Self, most: usize| -> Vec<Ty> {
            (0..g.random.below(most + 1)).map(|_| g.random.pick(&types).copied().unwrap_or(Ty::Int)).collect()
        };
        let (params, results) = (some(self, 2), some(self, 2));
        let named = |g: &mut Self, stem: &str, of: &[Ty]| -> Vec<(String, Ty)> {
            of.iter().map(|t| (g.fresh(stem), *t)).collect()
        };
        let (inputs, outputs) = (named(self, "a", &params), named(self, "r", &results));
        let list = |of: &[(String, Ty)]| -> String {
            of.iter().map(|(n, t)| format!("{n}: {}", t.name())).collect::<Vec<_>>().join(", ")
        };
        let name = self.fresh("p");
        let returns = if outputs.is_empty() { String::new() } else { format!(" returns ({})", list(&outputs)) };
        let inline = self.pick(&["", "", "inline "]);
        self.line(&format!("{inline}proc {name}({}){returns}", list(&inputs)));
        if inline.is_empty() && self.random.chance(30) {
            let scope = Scope { fixed: inputs.iter().chain(shared).cloned().collect(), ..Scope::default() };
            let e = self.formula(&scope);
            let word = self.pick(&["requires", "ensures"]);
            self.line(&format!("  {word} {e};"));
        }
        if inline.is_empty() && self.random.chance(10) {
            let spec = self.pick(&[
                "(Some: <g0> true)*",
                "Once: <g0> g0' >= 0",
                "Look: <> true",
                "(A: <g0> g0' == 1 [] B: <> true)*",
            ]);
            self.line(&format!("  performs {spec};"));
        }
        self.body(shared, &inputs, &outputs);
        self.procs.push(Proc { name, params, results });
    }

    /// The body of a procedure or an operation.
    fn body(&mut self, shared: &[(String, Ty)], inputs: &[(String, Ty)], outputs: &[(String, Ty)]) {
        self.line("{");
        self.indent += 1;
        let mut vars = shared.to_vec();
        vars.extend(outputs.iter().cloned());
        let results: Vec<Ty> = outputs.iter().map(|(_, t)| *t).collect();
        let mut fixed = inputs.to_vec();
        fixed.push(("tid".into(), Ty::Int));
        let scope = Scope {
            vars,
            fixed,
            results: Some(results.clone()),
            depth: 1,
            procs: self.procs.len(),
            ..Scope::default()
        };
        for (r, t) in outputs {
            let e = self.expr(*t, &scope, 1);
            self.line(&format!("{r} := {e};"));
        }
        let count = 1 + self.random.below(2);
        self.block(scope.clone(), count);
        if !results.is_empty() && self.random.chance(50) {
            let values: Vec<String> = results.iter().map(|t| self.expr(*t, &scope, 1)).collect();
            self.line(&format!("return {};", values.join(", ")));
        }
        self.close();
    }
}

/// The variable or field that a place is part of.
fn root(place: &str) -> &str {
    place.split(['[']).next().unwrap_or(place).rsplit('.').next().unwrap_or(place)
}
