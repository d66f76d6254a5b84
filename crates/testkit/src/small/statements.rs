//! Statements of random small programs.
//!
//! In: what may be used at a place (`Scope`). Out: lines of text, one statement each.
//! Deliberately absent: `else if`, whose meaning the interpreter does not cover.

use super::{Scope, Small, Ty, root};

impl Small {
    pub(super) fn block(&mut self, scope: Scope, count: usize) {
        let mut scope = scope;
        for _ in 0..count {
            self.statement(&mut scope);
        }
    }

    pub(super) fn inner(&self, scope: &Scope) -> Scope {
        Scope { depth: scope.depth.saturating_sub(1), ..scope.clone() }
    }

    pub(super) fn var(&mut self, scope: &Scope, ty: Ty) -> Option<String> {
        let of: Vec<&String> = scope.vars.iter().filter(|(_, t)| *t == ty).map(|(n, _)| n).collect();
        self.random.pick(&of).map(|n| (*n).clone())
    }

    pub(super) fn any_var(&mut self, scope: &Scope, ty: Ty) -> Option<String> {
        let of: Vec<&String> =
            scope.vars.iter().chain(&scope.fixed).filter(|(_, t)| *t == ty).map(|(n, _)| n).collect();
        self.random.pick(&of).map(|n| (*n).clone())
    }

    /// A place of a type: a variable, an entry, a field, an element.
    pub(super) fn place(&mut self, ty: Ty, scope: &Scope) -> Option<String> {
        let part = self.random.chance(45);
        if part {
            match ty {
                Ty::Int => match self.random.below(4) {
                    3 => {
                        if let Some(t) = self.var(scope, Ty::Grid) {
                            let (j, k) = (self.expr(Ty::Int, scope, 0), self.expr(Ty::Int, scope, 1));
                            return Some(format!("{t}[{j}][{k}]"));
                        }
                    }
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
                Ty::Table => {
                    if let Some(t) = self.var(scope, Ty::Grid) {
                        let j = self.expr(Ty::Int, scope, 0);
                        return Some(format!("{t}[{j}]"));
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

    pub(super) fn any_table(&mut self, scope: &Scope, ty: Ty) -> Option<String> {
        self.var(scope, ty)
    }

    pub(super) fn statement(&mut self, scope: &mut Scope) {
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

    pub(super) fn lock(&mut self, scope: &Scope) -> String {
        if self.random.chance(30)
            && let Some(o) = self.any_var(scope, Ty::Node)
        {
            return format!("{o}.own");
        }
        "m".into()
    }

    pub(super) fn critical(&mut self, scope: &Scope) {
        let lock = self.lock(scope);
        self.line(&format!("acquire {lock};"));
        self.assign(scope);
        self.line(&format!("release {lock};"));
    }

    pub(super) fn allocate(&mut self, scope: &mut Scope) {
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

    pub(super) fn repeat(&mut self, scope: &Scope) {
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

    pub(super) fn atomic(&mut self, scope: &Scope) {
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

    pub(super) fn step(&mut self, scope: &Scope) {
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
    pub(super) fn safe(&mut self, scope: &Scope) -> String {
        let x = self.any_var(scope, Ty::Int).unwrap_or_else(|| "0".into());
        let op = self.pick(&["==", "<", ">=", "!="]);
        format!("{x} {op} {}", self.random.below(3))
    }

    pub(super) fn call(&mut self, scope: &mut Scope) {
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

    pub(super) fn start_job(&mut self, scope: &mut Scope) {
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

    pub(super) fn assign(&mut self, scope: &Scope) {
        let types = [Ty::Int, Ty::Int, Ty::Bool, Ty::Phase, Ty::Node, Ty::Byte, Ty::Table, Ty::Grid, Ty::Set, Ty::Seq];
        // There is no constant map: a map is copied from one that is there.
        let has = |ty: Ty| {
            let there = |t: Ty| scope.vars.iter().chain(&scope.fixed).any(|(_, of)| *of == t);
            ty != Ty::Table || there(Ty::Table) || there(Ty::Grid)
        };
        let ty = types[self.random.below(types.len())];
        let Some(x) = self.place(ty, scope).filter(|_| has(ty)) else { return };
        let e = self.value(ty, scope);
        if self.random.chance(15) {
            let other = types[self.random.below(types.len())];
            if let Some(y) = self.place(other, scope).filter(|y| root(y) != root(&x) && has(other)) {
                let f = self.value(other, scope);
                return self.line(&format!("{x}, {y} := {e}, {f};"));
            }
        }
        self.line(&format!("{x} := {e};"));
    }
}
