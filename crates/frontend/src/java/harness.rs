//! A concrete run as a Java program that takes the same steps in the same order, so that a developer sees it happen.
//!
//! In: a program of the Java front end and a trace of it. Out: Java text, one class without any library, with one thread for each thread of the run; a
//! turn counter lets them take the steps one by one, each with its place in the user's file, the values it writes, and at the end the failure.
//! It ends with code 1 where the property breaks, 2 where the run cannot be followed, 3 where nothing goes wrong. Every value is computed from
//! the values before: numbers, objects (numbers, too), maps, sets and lists.
//! Deliberately absent: the classes of the user; quantifiers.

use base::Sources;
use logic::{Node, Op, Sort, SortKind, Symbol, Term, Value};
use program::semantics::{Choice, Trace};
use program::{Action, Code, Program, PropertyKind, Scope, ThreadId};
use rustc_hash::FxHashMap;
use std::fmt::Write;

const RUNTIME: &str = include_str!("harness_runtime.java");

/// The harness, or the reason why there is none.
pub fn harness(program: &Program, trace: &Trace, sources: &Sources) -> Result<String, String> {
    let mut h = Harness { program, sources, shared: FxHashMap::default(), own: Vec::new(), out: String::new() };
    h.write(trace)?;
    Ok(h.out)
}

struct Harness<'a> {
    program: &'a Program,
    sources: &'a Sources,
    /// Names of shared variables, and of the locals of each instance.
    shared: FxHashMap<Symbol, String>,
    own: Vec<FxHashMap<Symbol, String>>,
    out: String,
}

impl Harness<'_> {
    fn line(&mut self, text: &str) {
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn write(&mut self, trace: &Trace) -> Result<(), String> {
        let property = &self.program.properties[trace.violates];
        let (name, kind) = (property.name.clone(), property.kind.clone());
        let of = comment(&self.program.name);
        self.line(&format!("// A run of {of} that breaks {}, step by step.", comment(&name)));
        self.line("import java.math.BigInteger;\nimport java.util.ArrayList;\nimport java.util.Arrays;");
        self.line("import java.util.HashMap;\nimport java.util.HashSet;\n\nclass Run {");
        for (id, var) in self.program.vars.iter_enumerated() {
            if var.scope == Scope::Shared {
                let field = format!("shared{}", id.0);
                let value = match var.initial {
                    Some(term) => self.term(term, None)?,
                    None => self.nothing(var.sort),
                };
                self.line(&format!("    static Object {field} = {value}; // {}", comment(&var.name)));
                self.shared.insert(var.symbol, field);
            }
        }
        let threads = self.instances(trace);
        for (instance, thread) in threads.iter().enumerate() {
            self.locals(instance, *thread)?;
        }
        let mut started = trace.instances.0.iter().sum::<u32>() as usize;
        let last = trace.steps.len().saturating_sub(1);
        let stuck = matches!(kind, PropertyKind::Deadlock);
        let open = self.choices(&trace.initial)?;
        self.line(&format!("\n    static void begin() {{\n{open}    }}"));
        for number in 0..trace.steps.len() {
            let fails = number == last && !stuck;
            self.step(number, trace, &mut started, fails)?;
        }
        for (instance, thread) in threads.iter().enumerate() {
            self.thread(trace, instance, *thread, stuck)?;
        }
        self.line("\n    public static void main(String[] args) throws InterruptedException {\n        begin();");
        self.line("        ArrayList<Thread> all = new ArrayList<>();");
        for instance in 0..threads.len() {
            self.line(&format!("        all.add(new Thread(Run::instance{instance}));"));
        }
        self.line("        for (Thread t : all) t.start();\n        for (Thread t : all) t.join();");
        let (said, code) = match stuck {
            true => (format!("no thread can move: breaks {}", quoted(&name)), 1),
            false => ("the run went through without the failure".to_owned(), 3),
        };
        self.line(&format!("        end(\"{said}\", {code});\n    }}"));
        self.line(RUNTIME);
        Ok(())
    }

    /// The thread of each instance: those that are there at the beginning, then in the order in which they are started.
    fn instances(&self, trace: &Trace) -> Vec<ThreadId> {
        let counted = self.program.threads.ids().zip(&trace.instances.0);
        let mut out: Vec<ThreadId> = counted.flat_map(|(t, n)| (0..*n).map(move |_| t)).collect();
        for step in &trace.steps {
            let action = &self.program.threads[step.thread].code.actions[step.action];
            out.extend(action.spawn.as_ref().map(|s| s.thread));
        }
        out
    }

    fn locals(&mut self, instance: usize, thread: ThreadId) -> Result<(), String> {
        let thread = &self.program.threads[thread];
        let mut names = FxHashMap::default();
        names.insert(self.program.tid, format!("big(\"{}\")", instance + 1));
        self.own.push(names);
        self.line(&format!("    // {}", comment(&thread.name)));
        for var in &thread.locals {
            let v = &self.program.vars[*var];
            let field = format!("own{instance}_{}", var.0);
            let value = match v.initial {
                Some(term) => self.term(term, Some(instance))?,
                None => self.nothing(v.sort),
            };
            self.line(&format!("    static Object {field} = {value}; // {}", comment(&v.name)));
            self.own[instance].insert(v.symbol, field);
        }
        Ok(())
    }

    /// Values that the run decides.
    fn choices(&self, choices: &[Choice]) -> Result<String, String> {
        let mut out = String::new();
        for choice in choices {
            let names = choice.instance.and_then(|i| self.own.get(i as usize)).unwrap_or(&self.shared);
            let Some(place) = names.get(&choice.place.symbol) else { continue };
            let keys: Vec<String> =
                choice.place.keys.iter().map(|k| self.constant(k, Sort::INT)).collect::<Result<_, _>>()?;
            let mut sort = self.program.terms.symbol_sort(choice.place.symbol);
            for _ in &keys {
                if let SortKind::Map(_, to) = self.program.terms.kind(sort) {
                    sort = to;
                }
            }
            let value = self.constant(&choice.value, sort)?;
            let _ = writeln!(out, "        {place} = {};", stored(place, &keys, value));
        }
        Ok(out)
    }

    fn place(&self, action: &Action) -> String {
        let origin = &self.program.origins[action.origin];
        let place = origin.span.map_or_else(String::new, |s| self.sources.place(s));
        format!("{place}: {}", origin.text)
    }

    fn step(&mut self, number: usize, trace: &Trace, started: &mut usize, fails: bool) -> Result<(), String> {
        let step = &trace.steps[number];
        let instance = step.instance as usize;
        let program = self.program;
        let action = &program.threads[step.thread].code.actions[step.action];
        let place = self.place(action);
        for (input, value) in action.inputs.iter().zip(&step.inputs) {
            let value = self.constant(value, program.terms.symbol_sort(*input))?;
            self.own[instance].insert(*input, value);
        }
        let mut body = self.choices(&step.choices)?;
        let guard = self.term(action.guard, Some(instance))?;
        let _ = writeln!(body, "        must((Boolean) {guard}, \"step {number}\");");
        if fails {
            for gate in &action.gates {
                let formula = self.term(gate.formula, Some(instance))?;
                let property = &program.properties[gate.property].name;
                let said = format!("{} breaks {}", quoted(&place), quoted(property));
                let _ = writeln!(body, "        if (!(Boolean) {formula}) end(\"{said}\", 1);");
            }
        }
        // All values are read before any is written.
        let mut writes = String::new();
        for (i, update) in action.updates.iter().enumerate() {
            let var = &program.vars[update.var];
            let value = self.term(update.value, Some(instance))?;
            let Some(name) = self.name(var.symbol, instance) else {
                return Err(format!("`{}` is not a variable of this thread", var.name));
            };
            let _ = writeln!(body, "        Object new{i} = {value};");
            let _ = writeln!(writes, "        {name} = new{i};");
            if var.scope == Scope::Shared
                && matches!(program.terms.kind(var.sort), SortKind::Bool | SortKind::Int | SortKind::Machine(_))
            {
                let said = quoted(&format!("{place}: {} = ", var.name));
                let _ = writeln!(writes, "        System.out.println(\"{said}\" + new{i});");
            }
        }
        if let Some(spawn) = &action.spawn {
            let born = *started;
            *started += 1;
            for (at, (param, arg)) in program.threads[spawn.thread].params.iter().zip(&spawn.args).enumerate() {
                let value = self.term(*arg, Some(instance))?;
                let _ = writeln!(body, "        Object passed{at} = {value};");
                if let Some(name) = self.own[born].get(&program.vars[*param].symbol) {
                    let _ = writeln!(writes, "        {name} = passed{at};");
                }
            }
            if let Some(name) = spawn.into.and_then(|v| self.name(program.vars[v].symbol, instance)) {
                let _ = writeln!(writes, "        {name} = big(\"{}\");", born + 1);
            }
        }
        self.line(&format!("\n    // {}\n    static void step{number}() {{\n{body}{writes}    }}", comment(&place)));
        Ok(())
    }

    fn name(&self, symbol: Symbol, instance: usize) -> Option<String> {
        self.own.get(instance).and_then(|o| o.get(&symbol)).or_else(|| self.shared.get(&symbol)).cloned()
    }

    fn thread(&mut self, trace: &Trace, instance: usize, thread: ThreadId, stuck: bool) -> Result<(), String> {
        let program = self.program;
        let code = &program.threads[thread].code;
        self.line(&format!("\n    static void instance{instance}() {{"));
        for (number, _) in trace.steps.iter().enumerate().filter(|(_, s)| s.instance as usize == instance) {
            self.line(&format!("        waitFor({number});\n        step{number}();\n        done();"));
        }
        if stuck {
            self.stands_still(trace, instance, code)?;
        }
        self.line("    }");
        Ok(())
    }

    /// At the end of a run into a deadlock: where this instance stands, no step can be taken.
    fn stands_still(&mut self, trace: &Trace, instance: usize, code: &Code) -> Result<(), String> {
        let last = trace.steps.iter().rev().find(|s| s.instance as usize == instance);
        let at = last.map_or(code.entry, |s| code.actions[s.action].to);
        let turn = trace.steps.len() + instance;
        self.line(&format!("        waitFor({turn});"));
        for action in code.actions.iter().filter(|a| a.from == at && a.inputs.is_empty()) {
            let place = quoted(&self.place(action));
            let guard = self.term(action.guard, Some(instance))?;
            self.line(&format!("        must(!(Boolean) {guard}, \"{place} can move\");"));
            self.line(&format!("        System.out.println(\"{place} waits\");"));
        }
        self.line("        done();");
        Ok(())
    }

    fn term(&self, term: Term, instance: Option<usize>) -> Result<String, String> {
        let t = &self.program.terms;
        Ok(match t.node(term) {
            Node::Bool(b) => format!("((Object) {b})"),
            Node::Num(n, _) => big(n),
            Node::Variant(_, n) | Node::Ref(_, n) => big(n.into()),
            Node::Sym(s) => {
                let own = instance.and_then(|i| self.own.get(i)).and_then(|o| o.get(&s));
                match own.or_else(|| self.shared.get(&s)) {
                    Some(name) => name.clone(),
                    None => return Err(format!("`{}` has no value here", t.symbol_name(s))),
                }
            }
            Node::App(op, args) => {
                let parts: Vec<String> = args.iter().map(|a| self.term(*a, instance)).collect::<Result<_, _>>()?;
                self.applied(op, &parts, t.sort_of(term))?
            }
            Node::Quant(..) => return Err("a formula with quantifiers is not written in Java".into()),
        })
    }

    fn applied(&self, op: Op, parts: &[String], sort: Sort) -> Result<String, String> {
        let t = &self.program.terms;
        let all = || parts.join(", ");
        let truth = |e: String| format!("((Object) ({e}))");
        let holds = |e: &String| format!("(Boolean) {e}");
        let wrapped = |e: String| match t.kind(sort) {
            SortKind::Machine(m) => format!("wrap({e}, {}, {})", m.bits, m.signed),
            _ => e,
        };
        let compared = |sign: &str| truth(format!("number({}).compareTo(number({})) {sign} 0", parts[0], parts[1]));
        let bitwise = |f: &str| wrapped(format!("number({}).{f}(number({}))", parts[0], parts[1]));
        Ok(match op {
            Op::Not => truth(format!("!{}", holds(&parts[0]))),
            Op::And => truth(parts.iter().map(holds).collect::<Vec<_>>().join(" && ")),
            Op::Or => truth(parts.iter().map(holds).collect::<Vec<_>>().join(" || ")),
            Op::Implies => truth(format!("!{} || {}", holds(&parts[0]), holds(&parts[1]))),
            Op::Ite => format!("({} ? {} : {})", holds(&parts[0]), parts[1], parts[2]),
            Op::Eq => truth(format!("{}.equals({})", parts[0], parts[1])),
            Op::Lt => compared("<"),
            Op::Le => compared("<="),
            Op::Add => wrapped(parts.iter().skip(1).fold(parts[0].clone(), |a, b| format!("add({a}, {b})"))),
            Op::Sub => wrapped(format!("sub({})", all())),
            Op::Mul => wrapped(parts.iter().skip(1).fold(parts[0].clone(), |a, b| format!("mul({a}, {b})"))),
            Op::Div => wrapped(format!("div({})", all())),
            Op::Mod => wrapped(format!("mod({})", all())),
            Op::Neg => wrapped(format!("number({}).negate()", parts[0])),
            Op::BitAnd => bitwise("and"),
            Op::BitOr => bitwise("or"),
            Op::BitXor => bitwise("xor"),
            Op::BitNot => wrapped(format!("number({}).not()", parts[0])),
            Op::Shl | Op::Shr => match t.kind(sort) {
                SortKind::Machine(m) => wrapped(format!("shift({}, {}, {})", all(), m.bits, op == Op::Shl)),
                _ => return Err("a shift of an unbounded number is not written in Java".into()),
            },
            Op::Cast(_) => wrapped(parts[0].clone()),
            Op::Select => format!("select({})", all()),
            Op::Store => format!("store({})", all()),
            Op::ConstMap(_) => format!("everywhere({})", parts[0]),
            Op::EmptySet(_) => "((Object) new HashSet<Object>())".into(),
            Op::Member => truth(format!("set({}).contains({})", parts[1], parts[0])),
            Op::Insert => format!("insert({})", all()),
            Op::Union => format!("union({})", all()),
            Op::Minus => format!("minus({})", all()),
            Op::Subset => truth(format!("set({}).containsAll(set({}))", parts[1], parts[0])),
            Op::EmptySeq(_) => "list()".into(),
            Op::Unit => format!("list({})", parts[0]),
            Op::Concat => format!("concat({})", all()),
            Op::Len => wrapped(format!("BigInteger.valueOf(items({}).size())", parts[0])),
            Op::At => format!("at({}, {})", all(), self.nothing(sort)),
            Op::Slice => format!("slice({})", all()),
        })
    }

    /// The first value of a sort.
    fn nothing(&self, sort: Sort) -> String {
        match self.program.terms.kind(sort) {
            SortKind::Bool => "((Object) false)".into(),
            SortKind::Map(_, to) => format!("everywhere({})", self.nothing(to)),
            SortKind::Set(_) => "((Object) new HashSet<Object>())".into(),
            SortKind::Seq(_) => "list()".into(),
            _ => big(0),
        }
    }

    /// A value of a sort; where the run leaves it open, the first one.
    fn constant(&self, value: &Value, sort: Sort) -> Result<String, String> {
        let kind = self.program.terms.kind(sort);
        Ok(match (value, kind) {
            (Value::Bool(b), _) => format!("((Object) {b})"),
            (Value::Int(n), _) => big(*n),
            (Value::Variant(n) | Value::Ref(n), _) => big((*n).into()),
            (Value::Map(map), SortKind::Map(from, to)) => {
                let mut out = format!("everywhere({})", self.constant(&map.default, to)?);
                for (key, value) in &map.entries {
                    out = format!("store({out}, {}, {})", self.constant(key, from)?, self.constant(value, to)?);
                }
                out
            }
            (Value::Set(items), SortKind::Set(of)) => {
                let mut out = "((Object) new HashSet<Object>())".to_owned();
                for item in items {
                    out = format!("insert({}, {out})", self.constant(item, of)?);
                }
                out
            }
            (Value::Seq(items), SortKind::Seq(of)) => {
                let items: Vec<String> = items.iter().map(|i| self.constant(i, of)).collect::<Result<_, _>>()?;
                format!("list({})", items.join(", "))
            }
            (Value::Any, _) => self.nothing(sort),
            _ => return Err(format!("{value:?} is not written in Java")),
        })
    }
}

/// The value of a place after one of its parts got a value.
fn stored(place: &str, keys: &[String], value: String) -> String {
    match keys.split_first() {
        None => value,
        Some((key, rest)) => {
            let inner = stored(&format!("select({place}, {key})"), rest, value);
            format!("store({place}, {key}, {inner})")
        }
    }
}

fn big(n: i128) -> String {
    format!("big(\"{n}\")")
}

/// Text for a comment: Java reads `\u` even there.
fn comment(text: &str) -> String {
    text.replace(['\n', '\r'], " ").replace('\\', "/")
}

fn quoted(text: &str) -> String {
    comment(text).replace('"', "'")
}
