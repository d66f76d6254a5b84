//! Random small programs of the modelling language with finite runs, for the comparison of two opinions on what they mean.
//!
//! In: a seed. Out: the text of a file that the front end must accept, one statement on a line, every name declared once. The
//! constructs are those of the whole language that runs can show: calls into places, spawn and join, atomic blocks with branches and
//! loops, locks, guarded variables, machine integers, maps, sets, sequences, objects with fields, `free`, relies, invariants of files and
//! threads, contracts. No operations of objects, no nested maps, no threads in any number. Values are kept small, so that every run can be followed.
//! Deliberately absent: what a run cannot show (`performs`, `follows`, linearizability); quantifiers without bounds.

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
        let kinds = [Ty::Bool, Ty::Phase, Ty::Byte, Ty::Table, Ty::Bits, Ty::Set, Ty::Seq];
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
            let copies = if self.first == 1 && self.random.chance(40) { "[2]" } else { "" };
            let own = self.own_clauses(&shared, &[]);
            self.thread(&format!("thread T{i}{copies}"), &own, &[], &shared);
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
        self.line("{");
        self.indent += 1;
        let mut vars = shared.to_vec();
        vars.extend(outputs.iter().cloned());
        let mut fixed = inputs;
        fixed.push(("tid".into(), Ty::Int));
        let scope = Scope {
            vars,
            fixed,
            results: Some(results.clone()),
            depth: 1,
            procs: self.procs.len(),
            ..Scope::default()
        };
        for (r, t) in &outputs {
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
        self.procs.push(Proc { name, params, results });
    }

    fn block(&mut self, scope: Scope, count: usize) {
        let mut scope = scope;
        for _ in 0..count {
            self.statement(&mut scope);
        }
    }

    fn inner(&self, scope: &Scope) -> Scope {
        Scope { depth: scope.depth.saturating_sub(1), ..scope.clone() }
    }

    fn var(&mut self, scope: &Scope, ty: Ty) -> Option<String> {
        let of: Vec<&String> = scope.vars.iter().filter(|(_, t)| *t == ty).map(|(n, _)| n).collect();
        self.random.pick(&of).map(|n| (*n).clone())
    }

    fn any_var(&mut self, scope: &Scope, ty: Ty) -> Option<String> {
        let of: Vec<&String> =
            scope.vars.iter().chain(&scope.fixed).filter(|(_, t)| *t == ty).map(|(n, _)| n).collect();
        self.random.pick(&of).map(|n| (*n).clone())
    }

    /// A place of a type: a variable, an entry, a field, an element.
    fn place(&mut self, ty: Ty, scope: &Scope) -> Option<String> {
        let part = self.random.chance(45);
        if part {
            match ty {
                Ty::Int => match self.random.below(3) {
                    0 => {
                        if let Some(t) = self.any_table(scope, Ty::Table) {
                            let k = self.expr(Ty::Int, scope, 1);
                            return Some(format!("{t}[{k}]"));
                        }
                    }
                    1 => {
                        if let Some(o) = self.any_var(scope, Ty::Node) {
                            return Some(format!("{o}.v"));
                        }
                    }
                    _ => {
                        if let Some(q) = self.var(scope, Ty::Seq) {
                            let k = self.expr(Ty::Int, scope, 0);
                            return Some(format!("{q}[{k}]"));
                        }
                    }
                },
                Ty::Bool => {
                    if let Some(t) = self.any_table(scope, Ty::Bits) {
                        let k = self.expr(Ty::Int, scope, 0);
                        return Some(format!("{t}[{k}]"));
                    }
                    if let Some(o) = self.any_var(scope, Ty::Node) {
                        return Some(format!("{o}.on"));
                    }
                }
                Ty::Node => {
                    if let Some(o) = self.any_var(scope, Ty::Node) {
                        return Some(format!("{o}.next"));
                    }
                }
                _ => {}
            }
        }
        self.var(scope, ty)
    }

    fn any_table(&mut self, scope: &Scope, ty: Ty) -> Option<String> {
        self.var(scope, ty)
    }

    fn statement(&mut self, scope: &mut Scope) {
        match self.random.below(34) {
            0..=5 => self.assign(scope),
            6 => {
                let ty = [Ty::Int, Ty::Bool, Ty::Byte, Ty::Node][self.random.below(if self.heap { 4 } else { 3 })];
                let name = self.fresh("x");
                let e = self.expr(ty, scope, 1);
                if ty == Ty::Bool && self.random.chance(30) {
                    self.line(&format!("var {name}: bool;"));
                } else {
                    self.line(&format!("var {name}: {} := {e};", ty.name()));
                }
                scope.vars.push((name, ty));
            }
            7..=9 => {
                let e = self.expr(Ty::Bool, scope, 2);
                self.line(&format!("assert {e};"));
            }
            10 => {
                let e = self.expr(Ty::Bool, scope, 1);
                self.line(&format!("assume {e};"));
            }
            11 => self.critical(scope),
            12 => {
                let word = self.pick(&["acquire", "release"]);
                let lock = self.lock(scope);
                self.line(&format!("{word} {lock};"));
            }
            13 => {
                let ty = [Ty::Bool, Ty::Phase][self.random.below(2)];
                if let Some(x) = self.place(ty, scope) {
                    self.line(&format!("havoc {x};"));
                }
            }
            14..=15 if self.heap => self.allocate(scope),
            16 if self.frees => {
                if let Some(o) = self.any_var(scope, Ty::Node) {
                    let field = self.pick(&["", "", ".next"]);
                    self.line(&format!("free {o}{field};"));
                }
            }
            17 => {
                if let (Some(b), Some(x)) = (self.var(scope, Ty::Bool), self.place(Ty::Int, scope)) {
                    let (old, new) = (self.expr(Ty::Int, scope, 0), self.expr(Ty::Int, scope, 0));
                    self.line(&format!("{b} := cas({x}, {old}, {new} % 3);"));
                }
            }
            18..=19 if scope.depth > 0 => {
                let c = if self.random.chance(30) { "*".into() } else { self.expr(Ty::Bool, scope, 2) };
                self.open(&format!("if {c}"));
                self.block(self.inner(scope), 1);
                if self.random.chance(50) {
                    self.indent -= 1;
                    self.line("} else {");
                    self.indent += 1;
                    self.block(self.inner(scope), 1);
                }
                self.close();
            }
            20 if scope.depth > 0 => self.repeat(scope),
            21 if scope.depth > 0 => {
                self.open("choose");
                self.block(self.inner(scope), 1);
                self.indent -= 1;
                self.line("} or {");
                self.indent += 1;
                self.block(self.inner(scope), 1);
                self.close();
            }
            22..=24 if scope.depth > 0 => self.atomic(scope),
            25 => self.step(scope),
            26..=28 => self.call(scope),
            29..=30 => self.start_job(scope),
            31 => {
                let target = match self.random.below(3) {
                    0 => "tid".to_owned(),
                    1 => (1 + self.random.below(3)).to_string(),
                    _ => self.expr(Ty::Int, scope, 0),
                };
                self.line(&format!("join {}{target};", if target.starts_with('-') { "0 " } else { "" }));
            }
            32 => {
                if let Some(results) = scope.results.clone() {
                    self.open("if *");
                    let values: Vec<String> = results.iter().map(|t| self.expr(*t, scope, 1)).collect();
                    let values = values.join(", ");
                    self.line(&if values.is_empty() { "return;".into() } else { format!("return {values};") });
                    self.close();
                } else if scope.in_loop {
                    let word = self.pick(&["break", "continue"]);
                    self.open("if *");
                    self.line(&format!("{word};"));
                    self.close();
                } else if scope.depth > 0 {
                    self.open("if *");
                    self.line("return;");
                    self.close();
                }
            }
            _ => self.line("skip;"),
        }
    }

    fn lock(&mut self, scope: &Scope) -> String {
        if self.random.chance(30)
            && let Some(o) = self.any_var(scope, Ty::Node)
        {
            return format!("{o}.own");
        }
        "m".into()
    }

    fn critical(&mut self, scope: &Scope) {
        let lock = self.lock(scope);
        self.line(&format!("acquire {lock};"));
        self.assign(scope);
        self.line(&format!("release {lock};"));
    }

    fn allocate(&mut self, scope: &mut Scope) {
        let Some(o) = self.var(scope, Ty::Node) else { return };
        let whole = !scope.in_atomic && self.random.chance(50);
        if whole {
            self.open("atomic");
        }
        self.line(&format!("{o} := new Node;"));
        if self.random.chance(85) {
            let (v, next) = (self.random.below(3), self.pick(&["null", "top", "null"]));
            self.line(&format!("{o}.v, {o}.next := {v}, {next};"));
        }
        if whole {
            self.close();
        }
    }

    fn repeat(&mut self, scope: &Scope) {
        let counter = self.fresh("count");
        if self.random.chance(60) {
            self.line(&format!("var {counter}: int := 0;"));
            let bound = 1 + self.random.below(2);
            self.open(&format!("while {counter} < {bound}"));
            self.line(&format!("{counter} := {counter} + 1;"));
        } else {
            let c = if self.random.chance(30) { "*".into() } else { self.expr(Ty::Bool, scope, 1) };
            self.open(&format!("while {c}"));
        }
        let inner = Scope { in_loop: true, ..self.inner(scope) };
        self.block(inner, 1);
        self.close();
    }

    fn atomic(&mut self, scope: &Scope) {
        self.open("atomic");
        let inner = Scope { in_atomic: true, ..self.inner(scope) };
        if self.random.chance(12) {
            // Many branches: the block is not composed into single actions.
            if let Some(x) = self.var(&inner, Ty::Bool) {
                for _ in 0..8 {
                    let e = self.pick(&["true", "false"]);
                    self.open("if *");
                    self.line(&format!("{x} := {e};"));
                    self.close();
                }
            }
        }
        let count = 1 + self.random.below(3);
        self.block(inner, count);
        self.close();
    }

    fn step(&mut self, scope: &Scope) {
        let Some(x) = self.var(scope, Ty::Int).filter(|x| x.starts_with('g')) else { return };
        let e = self.expr(Ty::Int, scope, 0);
        let relation = match self.random.below(4) {
            0 => format!("{x}' == {e} % 3"),
            1 => format!("{x} <= {x}' && {x}' <= {x} + 1 && {x}' < 4"),
            2 => format!("{x}' > {x} && {x}' < {x}"),
            _ => format!("{x} == {e} && {x}' == 1"),
        };
        let asserting = if self.random.chance(35) { format!(" asserting {}", self.safe(scope)) } else { String::new() };
        self.line(&format!("step <{x}> {relation}{asserting};"));
    }

    /// A condition with no check that can fail but accesses.
    fn safe(&mut self, scope: &Scope) -> String {
        let x = self.any_var(scope, Ty::Int).unwrap_or_else(|| "0".into());
        let op = self.pick(&["==", "<", ">=", "!="]);
        format!("{x} {op} {}", self.random.below(3))
    }

    fn call(&mut self, scope: &mut Scope) {
        let count = scope.procs.min(self.procs.len());
        if count == 0 {
            return;
        }
        let proc = self.procs[self.random.below(count)].clone();
        let args: Vec<String> = proc.params.iter().map(|t| self.expr(*t, scope, 1)).collect();
        let call = format!("{}({})", proc.name, args.join(", "));
        if self.random.chance(15) || proc.results.is_empty() {
            return self.line(&format!("{call};"));
        }
        if let ([only], true) = (&proc.results[..], self.random.chance(25)) {
            let name = self.fresh("x");
            self.line(&format!("var {name}: {} := {call};", only.name()));
            return scope.vars.push((name, *only));
        }
        let mut places: Vec<String> = Vec::new();
        for ty in &proc.results {
            match self.place(*ty, scope) {
                Some(place) if !places.iter().any(|p| root(p) == root(&place)) => places.push(place),
                _ => return,
            }
        }
        self.line(&format!("{} := {call};", places.join(", ")));
    }

    fn start_job(&mut self, scope: &mut Scope) {
        let Some(params) = self.job.clone().filter(|_| scope.spawns && !scope.in_loop) else { return };
        let args: Vec<String> = params.iter().map(|t| self.expr(*t, scope, 1)).collect();
        let spawn = format!("spawn Job({})", args.join(", "));
        match self.random.below(4) {
            0 => self.line(&format!("{spawn};")),
            1 => match self.place(Ty::Int, scope) {
                Some(x) => self.line(&format!("{x} := {spawn};")),
                None => self.line(&format!("{spawn};")),
            },
            _ => {
                let name = self.fresh("t");
                self.line(&format!("var {name}: int := {spawn};"));
                if self.random.chance(60) && !scope.in_atomic {
                    self.line(&format!("join {name};"));
                }
                scope.fixed.push((name, Ty::Int));
            }
        }
    }

    fn assign(&mut self, scope: &Scope) {
        let types = [Ty::Int, Ty::Int, Ty::Bool, Ty::Phase, Ty::Node, Ty::Byte, Ty::Table, Ty::Set, Ty::Seq];
        let ty = types[self.random.below(types.len())];
        let Some(x) = self.place(ty, scope) else { return };
        let e = self.value(ty, scope);
        if self.random.chance(15) {
            let other = types[self.random.below(types.len())];
            if let Some(y) = self.place(other, scope).filter(|y| root(y) != root(&x)) {
                let f = self.value(other, scope);
                return self.line(&format!("{x}, {y} := {e}, {f};"));
            }
        }
        self.line(&format!("{x} := {e};"));
    }

    /// A value to be kept: numbers stay small.
    fn value(&mut self, ty: Ty, scope: &Scope) -> String {
        let e = self.expr(ty, scope, 2);
        match ty {
            Ty::Int => format!("{e} % 3"),
            _ => e,
        }
    }

    fn formula(&mut self, scope: &Scope) -> String {
        let plain = Scope { vars: Vec::new(), ..scope.clone() };
        let left = self.total(&plain);
        match self.random.below(4) {
            0 => format!("{left} || {}", self.total(&plain)),
            1 => format!("{left} && {}", self.total(&plain)),
            2 => format!("{} ==> {left}", self.total(&plain)),
            _ => left,
        }
    }

    /// A formula that every store gives a value.
    fn total(&mut self, scope: &Scope) -> String {
        match self.random.below(8) {
            0 => match self.any_var(scope, Ty::Node) {
                Some(o) => format!("({o} == null || {o}.on == {o}.on)"),
                None => "m >= 0".into(),
            },
            1 if self.heap => "(forall o: Node :: o != null ==> o.own <= 3)".into(),
            2 => match self.any_var(scope, Ty::Bool) {
                Some(b) => b,
                None => "true".into(),
            },
            3 => match self.any_var(scope, Ty::Set) {
                Some(s) => format!("!(1 in {s})"),
                None => "m <= 2".into(),
            },
            4 => match self.any_var(scope, Ty::Table) {
                Some(t) => format!("(forall k: int :: 0 <= k && k < N ==> {t}[k] < 3)"),
                None => "m != 2".into(),
            },
            _ => format!("({})", self.safe(scope)),
        }
    }

    fn expr(&mut self, ty: Ty, scope: &Scope, depth: usize) -> String {
        let leaf = depth == 0 || self.random.chance(25);
        if leaf {
            return match self.any_var(scope, ty) {
                Some(x) if matches!(ty, Ty::Table | Ty::Bits) || self.random.chance(70) => x,
                _ => self.constant(ty),
            };
        }
        let d = depth - 1;
        if self.random.chance(7) && !matches!(ty, Ty::Table | Ty::Bits) {
            let c = self.expr(Ty::Bool, scope, d);
            let (a, b) = (self.expr(ty, scope, d), self.expr(ty, scope, d));
            return format!("(if {c} then {a} else {b})");
        }
        match ty {
            Ty::Int => self.number(scope, d),
            Ty::Bool => self.condition(scope, d),
            Ty::Byte => match self.any_var(scope, ty) {
                Some(x) => {
                    let op = self.pick(&["+", "-", "*"]);
                    let n = self.pick(&["1", "2", "7", "255"]);
                    format!("({x} {op} {n})")
                }
                None => self.constant(ty),
            },
            Ty::Node => match self.any_var(scope, ty) {
                Some(o) if self.random.chance(40) => format!("{o}.next"),
                Some(o) => o,
                None => "null".into(),
            },
            Ty::Table => match self.any_var(scope, ty) {
                Some(t) => {
                    let (k, v) = (self.random.below(2), self.random.below(3));
                    format!("{t}[{k} := {v}]")
                }
                None => self.constant(ty),
            },
            Ty::Set => {
                let s = self.any_var(scope, ty).unwrap_or_else(|| "{}".into());
                let op = self.pick(&["+", "-"]);
                format!("({s} {op} {{{} % 3}})", self.expr(Ty::Int, scope, d))
            }
            Ty::Seq => match (self.any_var(scope, ty), self.random.below(3)) {
                (Some(q), 0) => format!("{q}[0..1]"),
                (Some(q), 1) => format!("{q}[{}..len({q})]", self.random.below(2)),
                _ => format!("[{}, {} % 3]", self.random.below(3), self.expr(Ty::Int, scope, 0)),
            },
            Ty::Phase | Ty::Bits => self.constant(ty),
        }
    }

    fn number(&mut self, scope: &Scope, d: usize) -> String {
        match self.random.below(8) {
            0..=1 => {
                let op = self.pick(&["+", "-", "*"]);
                format!("({} {op} {})", self.expr(Ty::Int, scope, d), self.expr(Ty::Int, scope, d))
            }
            2 => {
                let op = self.pick(&["/", "%"]);
                format!("({} {op} {})", self.expr(Ty::Int, scope, d), self.expr(Ty::Int, scope, d))
            }
            3 => match self.any_var(scope, Ty::Seq) {
                Some(q) if self.random.chance(50) => format!("len({q})"),
                Some(q) => format!("{q}[{}]", self.random.below(2)),
                None => self.constant(Ty::Int),
            },
            4 => match self.any_var(scope, Ty::Table) {
                Some(t) => format!("{t}[{}]", self.expr(Ty::Int, scope, d)),
                None => self.constant(Ty::Int),
            },
            5 => match self.any_var(scope, Ty::Node) {
                Some(o) => format!("{o}.v"),
                None => self.constant(Ty::Int),
            },
            6 => match self.any_var(scope, Ty::Byte) {
                Some(x) => format!("int({x})"),
                None => "m".into(),
            },
            _ => self.constant(Ty::Int),
        }
    }

    fn condition(&mut self, scope: &Scope, d: usize) -> String {
        match self.random.below(11) {
            0 => format!("({} && {})", self.expr(Ty::Bool, scope, d), self.expr(Ty::Bool, scope, d)),
            1 => format!("({} || {})", self.expr(Ty::Bool, scope, d), self.expr(Ty::Bool, scope, d)),
            2 => format!("({} ==> {})", self.expr(Ty::Bool, scope, d), self.expr(Ty::Bool, scope, d)),
            3 => format!("!({})", self.expr(Ty::Bool, scope, d)),
            4..=5 => {
                let op = self.pick(&["<", "<=", ">", ">=", "==", "!="]);
                format!("({} {op} {})", self.expr(Ty::Int, scope, d), self.expr(Ty::Int, scope, d))
            }
            6 => match self.any_var(scope, Ty::Phase) {
                Some(x) => format!("({x} == {})", self.constant(Ty::Phase)),
                None => "(m == tid)".into(),
            },
            7 => match self.any_var(scope, Ty::Node) {
                Some(o) => {
                    let op = self.pick(&["==", "!="]);
                    let other = self.expr(Ty::Node, scope, 0);
                    format!("({o} {op} {other})")
                }
                None => "true".into(),
            },
            8 => match self.any_var(scope, Ty::Set) {
                Some(s) => format!("({} in {s})", self.expr(Ty::Int, scope, 0)),
                None => "(m == 0)".into(),
            },
            9 => match self.any_var(scope, Ty::Bits) {
                Some(t) => format!("{t}[{}]", self.expr(Ty::Int, scope, 0)),
                None => "true".into(),
            },
            _ => match self.any_var(scope, Ty::Byte) {
                Some(x) => {
                    let op = self.pick(&["<", ">", "=="]);
                    let n = self.pick(&["1", "200", "255", "300"]);
                    format!("({x} {op} {n})")
                }
                None => "false".into(),
            },
        }
    }

    fn constant(&mut self, ty: Ty) -> String {
        match ty {
            Ty::Int => self.pick(&["0", "1", "2", "N", "-1"]),
            Ty::Bool => self.pick(&["true", "false"]),
            Ty::Phase => self.pick(&["Idle", "Busy"]),
            Ty::Node => "null",
            Ty::Byte => self.pick(&["0", "1", "7", "255"]),
            Ty::Set => "{}",
            Ty::Seq => "[]",
            // There is no constant map: only variables are used.
            Ty::Table | Ty::Bits => "",
        }
        .into()
    }
}

/// The variable or field that a place is part of.
fn root(place: &str) -> &str {
    place.split(['[']).next().unwrap_or(place).rsplit('.').next().unwrap_or(place)
}
