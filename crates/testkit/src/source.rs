//! Random source text of the modelling language: well typed, over the whole language.
//!
//! In: a seed. Out: the text of a file that the front end must accept. Names are unique in a file, so scopes cannot be
//! confused. The runs are small but need not be finite. Deliberately absent: text with errors, for which the fuzz tests change
//! correct text.

use base::Random;
use std::fmt::Write;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Ty {
    Int,
    Bool,
    Phase,
    Node,
    Machine(&'static str),
    Map(Box<Ty>),
    Set,
    Seq,
}

impl Ty {
    fn name(&self) -> String {
        match self {
            Ty::Int => "int".into(),
            Ty::Bool => "bool".into(),
            Ty::Phase => "Phase".into(),
            Ty::Node => "Node".into(),
            Ty::Machine(m) => (*m).into(),
            Ty::Map(v) => format!("[int]{}", v.name()),
            Ty::Set => "set<int>".into(),
            Ty::Seq => "seq<int>".into(),
        }
    }
}

/// The text of a seed.
pub fn source(seed: u64) -> String {
    let mut g =
        Source { random: Random::new(seed), out: String::new(), names: 0, shared: Vec::new(), procs: Vec::new() };
    g.file();
    g.out
}

struct Source {
    random: Random,
    out: String,
    names: usize,
    shared: Vec<(String, Ty)>,
    /// Procedures that can be called: name, parameters, whether they give an integer.
    procs: Vec<(String, usize, bool)>,
}

/// What a body may use.
#[derive(Clone, Default)]
struct Scope {
    vars: Vec<(String, Ty)>,
    /// Names that may be read and not written.
    fixed: Vec<(String, Ty)>,

    /// Inside an atomic block: no calls, no spawning.
    atomic: bool,
    /// Inside a procedure or an operation: a `return` may stand here.
    returns: Option<Vec<String>>,
    depth: usize,
}

impl Source {
    fn fresh(&mut self, stem: &str) -> String {
        self.names += 1;
        format!("{stem}{}", self.names)
    }

    fn line(&mut self, depth: usize, text: &str) {
        let _ = writeln!(self.out, "{}{text}", "  ".repeat(depth));
    }

    fn ty(&mut self) -> Ty {
        match self.random.below(12) {
            0..=3 => Ty::Int,
            4..=5 => Ty::Bool,
            6 => Ty::Phase,
            7 => Ty::Node,
            8 => Ty::Machine(["u8", "i8", "i32", "u64"][self.random.below(4)]),
            9 => Ty::Map(Box::new(if self.random.chance(50) { Ty::Int } else { Ty::Bool })),
            10 => Ty::Set,
            _ => Ty::Seq,
        }
    }

    fn file(&mut self) {
        self.line(0, "const N: int = 2;");
        self.line(0, "enum Phase { Idle, Busy, Done }");
        self.line(0, "class Node { val: int; next: Node; }");
        self.line(0, "var m: lock;");
        self.line(0, "var locks: [int]lock;");
        self.line(0, "var ints: [int]int;");
        self.line(0, "var bools: [int]bool;");
        for _ in 0..2 + self.random.below(4) {
            let (name, ty) = (self.fresh("g"), self.ty());
            let scope = Scope::default();
            // Without an initial value a map or a reference is anything; most have one.
            let initial = match ty {
                Ty::Set | Ty::Map(_) => String::new(),
                _ if self.random.chance(80) => format!(" = {}", self.constant(&ty)),
                _ => String::new(),
            };
            let guarded = if self.random.chance(15) && ty == Ty::Int {
                " guarded_by m".to_owned()
            } else if self.random.chance(10) {
                format!(" accessible_if {}", self.expr(&Ty::Bool, &scope, 1))
            } else {
                String::new()
            };
            self.line(0, &format!("var {name}: {}{initial}{guarded};", ty.name()));
            self.shared.push((name, ty));
        }
        let store = Scope { fixed: self.shared.clone(), ..Scope::default() };
        if self.random.chance(30) {
            let e = self.expr(&Ty::Bool, &store, 2);
            self.line(0, &format!("init {e} || true;"));
        }
        for _ in 0..self.random.below(2) {
            let e = self.expr(&Ty::Bool, &store, 2);
            self.line(0, &format!("invariant {e};"));
        }
        if self.random.chance(30) {
            let mut both = store.clone();
            both.fixed.extend(self.shared.iter().map(|(n, t)| (format!("{n}'"), t.clone())).collect::<Vec<_>>());
            both.fixed.push(("tid".into(), Ty::Int));
            let e = self.expr(&Ty::Bool, &both, 2);
            self.line(0, &format!("rely {e};"));
        }
        for _ in 0..self.random.below(3) {
            self.procedure();
        }
        if self.random.chance(25) {
            self.machine();
        }
        if self.random.chance(25) {
            self.object();
        }
        let job = self.random.chance(30);
        for i in 0..1 + self.random.below(2) {
            let copies = ["", "[2]", "[*]"][self.random.below(3)];
            self.line(0, &format!("thread T{i}{copies} {{"));
            let scope =
                Scope { vars: self.shared.clone(), fixed: vec![("tid".into(), Ty::Int)], depth: 2, ..Scope::default() };
            if job && copies.is_empty() && self.random.chance(60) {
                self.line(1, &format!("var child{i}: int := 0;"));
                let arg = self.random.below(3);
                self.line(1, &format!("child{i} := spawn Job({arg});"));
                self.line(1, &format!("join child{i};"));
            }
            let count = 2 + self.random.below(4);
            self.block(1, scope, count);
            self.line(0, "}");
        }
        if job {
            self.line(0, "thread Job(arg: int) {");
            let scope = Scope {
                vars: self.shared.clone(),
                fixed: vec![("tid".into(), Ty::Int), ("arg".into(), Ty::Int)],
                depth: 1,
                ..Scope::default()
            };
            self.block(1, scope, 2);
            self.line(0, "}");
        }
    }

    fn procedure(&mut self) {
        let name = self.fresh("p");
        let gives = self.random.chance(50);
        let params = self.random.below(3);
        let names: Vec<String> = (0..params).map(|_| self.fresh("a")).collect();
        let list: Vec<String> = names.iter().map(|n| format!("{n}: int")).collect();
        let result = self.fresh("r");
        let returns = if gives { format!(" returns ({result}: int)") } else { String::new() };
        let inline = if self.random.chance(30) { "inline " } else { "" };
        self.line(0, &format!("{inline}proc {name}({}){returns}", list.join(", ")));
        let mut fixed: Vec<(String, Ty)> = names.iter().map(|n| (n.clone(), Ty::Int)).collect();
        if inline.is_empty() && self.random.chance(40) {
            let scope = Scope { fixed: fixed.iter().cloned().chain(self.shared.clone()).collect(), ..Scope::default() };
            let e = self.expr(&Ty::Bool, &scope, 1);
            self.line(1, &format!("requires {e};"));
            let e = self.expr(&Ty::Bool, &scope, 1);
            self.line(1, &format!("ensures {e};"));
        }
        self.line(0, "{");
        let mut scope = Scope { vars: self.shared.clone(), depth: 1, returns: Some(Vec::new()), ..Scope::default() };
        if gives {
            scope.vars.push((result.clone(), Ty::Int));
            scope.returns = Some(vec![result]);
        }
        fixed.push(("tid".into(), Ty::Int));
        scope.fixed = fixed;
        let count = 1 + self.random.below(3);
        self.block(1, scope, count);
        self.line(0, "}");
        self.procs.push((name, params, gives));
    }

    fn machine(&mut self) {
        let ints: Vec<String> = self.shared.iter().filter(|(_, t)| *t == Ty::Int).map(|(n, _)| n.clone()).collect();
        let Some(x) = self.random.pick(&ints).cloned() else { return };
        let name = self.fresh("M");
        let strict = if self.random.chance(30) { "strict " } else { "" };
        self.line(0, &format!("{strict}machine {name} {{"));
        self.line(1, &format!("start A asserts {x} >= 0;"));
        self.line(1, "state B;");
        self.line(1, &format!("A -> B : <{x}> {x}' > {x};"));
        self.line(1, "B -> A : <> true;");
        self.line(0, "}");
        self.line(0, &format!("thread F{name} follows {name} {{"));
        let scope = Scope { vars: self.shared.clone(), depth: 1, ..Scope::default() };
        self.block(1, scope, 2);
        self.line(0, "}");
    }

    fn object(&mut self) {
        let name = self.fresh("Obj");
        let (held, abstract_one) = (self.fresh("held"), self.fresh("v"));
        self.line(0, &format!("object {name} {{"));
        self.line(1, "spec {");
        self.line(2, &format!("var {abstract_one}: seq<int> := [];"));
        self.line(2, &format!("add(n: int) {{ {abstract_one} := {abstract_one} + [n]; }}"));
        self.line(2, &format!("size() returns (k: int) {{ k := len({abstract_one}); }}"));
        self.line(1, "}");
        self.line(1, &format!("var {held}: int = 0;"));
        let mark = ["linearize;", "linearize if true;", ""][self.random.below(3)];
        self.line(1, &format!("op add(n: int) {{ {held} := {held} + 1; {mark} }}"));
        self.line(1, &format!("op size() returns (k: int) {{ k := {held}; {mark} return k; }}"));
        self.line(0, "}");
    }

    fn block(&mut self, depth: usize, scope: Scope, count: usize) {
        let mut scope = scope;
        for _ in 0..count {
            self.statement(depth, &mut scope);
        }
    }

    fn pick_var(&mut self, scope: &Scope, ty: &Ty) -> Option<String> {
        let of: Vec<&String> = scope.vars.iter().filter(|(_, t)| t == ty).map(|(n, _)| n).collect();
        self.random.pick(&of).map(|n| (*n).clone())
    }

    fn inner(&self, scope: &Scope) -> Scope {
        Scope { depth: scope.depth - 1, ..scope.clone() }
    }

    fn statement(&mut self, d: usize, scope: &mut Scope) {
        match self.random.below(24) {
            0..=3 => self.assign(d, scope),
            4 => {
                let (name, ty) = (self.fresh("l"), self.ty());
                let initial =
                    if self.random.chance(70) { format!(" := {}", self.expr(&ty, scope, 1)) } else { String::new() };
                self.line(d, &format!("var {name}: {}{initial};", ty.name()));
                scope.vars.push((name, ty));
            }
            5 => {
                let e = self.expr(&Ty::Bool, scope, 2);
                self.line(d, &format!("assert {e};"));
            }
            6 => {
                let e = self.expr(&Ty::Bool, scope, 2);
                self.line(d, &format!("assume {e};"));
            }
            7 if !scope.atomic => self.line(d, "acquire m;"),
            8 if !scope.atomic => self.line(d, "release m;"),
            9 => {
                if let Some(x) = self.random.pick(&scope.vars).map(|(n, _)| n.clone()) {
                    self.line(d, &format!("havoc {x};"));
                }
            }
            10 => {
                if let Some(x) = self.pick_var(scope, &Ty::Node) {
                    self.line(d, &format!("{x} := new Node;"));
                }
            }
            11 => {
                if let Some(x) = self.pick_var(scope, &Ty::Node) {
                    let e = self.expr(&Ty::Int, scope, 1);
                    self.line(d, &format!("{x}.val := {e};"));
                }
            }
            12 => {
                if let (Some(b), Some(x)) = (self.pick_var(scope, &Ty::Bool), self.pick_var(scope, &Ty::Int)) {
                    let (old, new) = (self.expr(&Ty::Int, scope, 1), self.expr(&Ty::Int, scope, 1));
                    self.line(d, &format!("{b} := cas({x}, {old}, {new});"));
                }
            }
            13..=14 if scope.depth > 0 => {
                let c = if self.random.chance(30) { "*".into() } else { self.expr(&Ty::Bool, scope, 2) };
                self.line(d, &format!("if {c} {{"));
                self.block(d + 1, self.inner(scope), 1);
                if self.random.chance(50) {
                    self.line(d, "} else {");
                    self.block(d + 1, self.inner(scope), 1);
                }
                self.line(d, "}");
            }
            15 if scope.depth > 0 => {
                let c = self.expr(&Ty::Bool, scope, 1);
                let store = Scope { fixed: [scope.vars.clone(), scope.fixed.clone()].concat(), ..Scope::default() };
                let invariant = if self.random.chance(30) {
                    format!(" invariant {};", self.expr(&Ty::Bool, &store, 1))
                } else {
                    String::new()
                };
                self.line(d, &format!("while {c}{invariant} {{"));
                let inner = self.inner(scope);
                self.block(d + 1, inner, 1);
                if self.random.chance(30) && !scope.atomic {
                    let way = ["break;", "continue;"][self.random.below(2)];
                    self.line(d + 1, way);
                }
                self.line(d, "}");
            }
            16 if scope.depth > 0 => {
                self.line(d, "choose {");
                self.block(d + 1, self.inner(scope), 1);
                self.line(d, "} or {");
                self.block(d + 1, self.inner(scope), 1);
                self.line(d, "}");
            }
            17 if scope.depth > 0 && !scope.atomic => {
                self.line(d, "atomic {");
                let inner = Scope { atomic: true, ..self.inner(scope) };
                self.block(d + 1, inner, 2);
                self.line(d, "}");
            }
            18 => {
                // Frames are of shared variables; the relation says what becomes of them.
                let ints: Vec<String> =
                    self.shared.iter().filter(|(_, t)| *t == Ty::Int).map(|(n, _)| n.clone()).collect();
                if let Some(x) = self.random.pick(&ints).cloned() {
                    let e = self.expr(&Ty::Int, scope, 1);
                    let asserting = if self.random.chance(30) {
                        format!(" asserting {}", self.expr(&Ty::Bool, scope, 1))
                    } else {
                        String::new()
                    };
                    self.line(d, &format!("step <{x}> {x}' == {e}{asserting};"));
                }
            }
            19 if !scope.atomic => {
                if let Some((name, params, gives)) = self.random.pick(&self.procs.clone()).cloned() {
                    let args: Vec<String> = (0..params).map(|_| self.expr(&Ty::Int, scope, 1)).collect();
                    match self.pick_var(scope, &Ty::Int) {
                        Some(x) if gives => self.line(d, &format!("{x} := {name}({});", args.join(", "))),
                        _ if !gives => self.line(d, &format!("{name}({});", args.join(", "))),
                        _ => {}
                    }
                }
            }
            20 => {
                let maps: Vec<(String, Ty)> = scope
                    .vars
                    .iter()
                    .filter_map(|(n, t)| if let Ty::Map(v) = t { Some((n.clone(), (**v).clone())) } else { None })
                    .collect();
                if let Some((x, v)) = self.random.pick(&maps).cloned() {
                    let (k, e) = (self.expr(&Ty::Int, scope, 1), self.expr(&v, scope, 1));
                    self.line(d, &format!("{x}[{k}] := {e};"));
                }
            }
            21 => self.line(d, "skip;"),
            22 if scope.returns.is_some() && !scope.atomic => {
                let results = scope.returns.clone().unwrap_or_default();
                self.line(d, "if * {");
                let values: Vec<String> = results.iter().map(|_| self.expr(&Ty::Int, scope, 1)).collect();
                self.line(d + 1, format!("return {};", values.join(", ")).replace("return ;", "return;").as_str());
                self.line(d, "}");
            }
            _ => self.assign(d, scope),
        }
    }

    fn assign(&mut self, d: usize, scope: &Scope) {
        let Some((x, t)) = self.random.pick(&scope.vars).cloned() else { return };
        let e = self.expr(&t, scope, 2);
        if self.random.chance(15) {
            let others: Vec<(String, Ty)> = scope.vars.iter().filter(|(n, _)| *n != x).cloned().collect();
            if let Some((y, u)) = self.random.pick(&others).cloned() {
                let f = self.expr(&u, scope, 1);
                return self.line(d, &format!("{x}, {y} := {e}, {f};"));
            }
        }
        self.line(d, &format!("{x} := {e};"));
    }

    fn constant(&mut self, ty: &Ty) -> String {
        match ty {
            Ty::Int => ["0", "1", "2", "N", "-1"][self.random.below(5)].into(),
            Ty::Machine(_) => ["0", "1", "2", "7"][self.random.below(4)].into(),
            Ty::Bool => ["true", "false"][self.random.below(2)].into(),
            Ty::Phase => ["Idle", "Busy", "Done"][self.random.below(3)].into(),
            Ty::Node => "null".into(),
            Ty::Set => "{}".into(),
            Ty::Seq => "[]".into(),
            Ty::Map(_) => String::new(),
        }
    }

    /// A variable of the type, if there is one.
    fn variable(&mut self, ty: &Ty, scope: &Scope) -> Option<String> {
        let all = scope.vars.iter().chain(&scope.fixed);
        let of: Vec<&String> = all.filter(|(_, t)| t == ty).map(|(n, _)| n).collect();
        self.random.pick(&of).map(|n| (*n).clone())
    }

    fn expr(&mut self, ty: &Ty, scope: &Scope, depth: usize) -> String {
        if depth == 0 || self.random.chance(20) {
            let variable = self.variable(ty, scope);
            return match variable {
                Some(x) if matches!(ty, Ty::Map(_)) || self.random.chance(70) => x,
                _ => self.leaf(ty),
            };
        }
        let d = depth - 1;
        if self.random.chance(8) && !matches!(ty, Ty::Map(_)) {
            let c = self.expr(&Ty::Bool, scope, d);
            let (a, b) = (self.expr(ty, scope, d), self.expr(ty, scope, d));
            return format!("(if {c} then {a} else {b})");
        }
        match ty {
            Ty::Int => match self.random.below(7) {
                0..=2 => format!(
                    "({} {} {})",
                    self.expr(ty, scope, d),
                    ["+", "-"][self.random.below(2)],
                    self.expr(ty, scope, d)
                ),
                3 => format!("{} * {}", self.random.below(4), self.expr(ty, scope, 0)),
                4 => format!(
                    "({} {} {})",
                    self.expr(ty, scope, d),
                    ["/", "%"][self.random.below(2)],
                    1 + self.random.below(3)
                ),
                5 => match self.variable(&Ty::Seq, scope) {
                    Some(q) => format!("len({q})"),
                    None => self.leaf(ty),
                },
                _ => match self.variable(&Ty::Map(Box::new(Ty::Int)), scope) {
                    Some(x) => format!("{x}[{}]", self.expr(&Ty::Int, scope, d)),
                    None => self.leaf(ty),
                },
            },
            Ty::Bool => self.condition(scope, d),
            Ty::Machine(_) => match self.variable(ty, scope) {
                Some(x) => format!("({x} {} {})", ["+", "-", "*"][self.random.below(3)], self.random.below(3)),
                None => self.leaf(ty),
            },
            Ty::Map(v) => match self.variable(ty, scope) {
                Some(x) => format!("{x}[{} := {}]", self.expr(&Ty::Int, scope, d), self.expr(v, scope, d)),
                None => self.leaf(ty),
            },
            Ty::Set => match self.random.below(3) {
                0 => format!("{{{}, {}}}", self.expr(&Ty::Int, scope, d), self.expr(&Ty::Int, scope, d)),
                1 => format!("({} + {{{}}})", self.expr(ty, scope, d), self.expr(&Ty::Int, scope, d)),
                _ => format!("({} - {{{}}})", self.expr(ty, scope, d), self.expr(&Ty::Int, scope, d)),
            },
            Ty::Seq => match self.random.below(3) {
                0 => format!("[{}]", self.expr(&Ty::Int, scope, d)),
                1 => format!("({} + [{}])", self.expr(ty, scope, d), self.expr(&Ty::Int, scope, d)),
                _ => match self.variable(ty, scope) {
                    Some(q) => format!("{q}[0..1]"),
                    None => self.leaf(ty),
                },
            },
            Ty::Phase | Ty::Node => self.leaf(ty),
        }
    }

    fn leaf(&mut self, ty: &Ty) -> String {
        match ty {
            // There is no constant map in the language; two maps are always declared.
            Ty::Map(v) => if **v == Ty::Int { "ints" } else { "bools" }.into(),
            _ => self.constant(ty),
        }
    }

    fn condition(&mut self, scope: &Scope, d: usize) -> String {
        match self.random.below(10) {
            0 => format!("({} && {})", self.expr(&Ty::Bool, scope, d), self.expr(&Ty::Bool, scope, d)),
            1 => format!("({} || {})", self.expr(&Ty::Bool, scope, d), self.expr(&Ty::Bool, scope, d)),
            2 => format!("({} ==> {})", self.expr(&Ty::Bool, scope, d), self.expr(&Ty::Bool, scope, d)),
            3 => format!("!({})", self.expr(&Ty::Bool, scope, d)),
            4..=5 => {
                let op = ["<", "<=", ">", ">=", "==", "!="][self.random.below(6)];
                format!("({} {op} {})", self.expr(&Ty::Int, scope, d), self.expr(&Ty::Int, scope, d))
            }
            6 => match self.variable(&Ty::Phase, scope) {
                Some(x) => format!("({x} == {})", self.constant(&Ty::Phase)),
                None => "true".into(),
            },
            7 => match self.variable(&Ty::Node, scope) {
                Some(x) => format!("({x} != null)"),
                None => "true".into(),
            },
            8 => match self.variable(&Ty::Set, scope) {
                Some(s) => format!("({} in {s})", self.expr(&Ty::Int, scope, d)),
                None => "true".into(),
            },
            _ => match self.variable(&Ty::Map(Box::new(Ty::Int)), scope) {
                Some(x) => {
                    let i = self.fresh("k");
                    let q = ["forall", "exists"][self.random.below(2)];
                    let join = if q == "forall" { "==>" } else { "&&" };
                    format!("({q} {i}: int :: 0 <= {i} && {i} < N {join} {x}[{i}] >= 0)")
                }
                None => "false".into(),
            },
        }
    }
}
