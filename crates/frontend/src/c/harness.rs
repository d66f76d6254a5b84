//! A concrete run as a C program that takes the same steps in the same order, so that a developer sees it happen.
//!
//! In: a program of the C front end and a trace of it. Out: C text with one POSIX thread for each instance; a
//! turn counter lets them take the steps of the run one by one, each step with its place in the user's file, the values
//! it writes, and at the end the failure. It compiles with any C11 compiler and aborts where the property breaks.
//! Deliberately absent: runs over maps, sets or heap classes, for which no harness is made.

use base::Sources;
use logic::{Node, Op, Sort, SortKind, Symbol, Term, Value};
use program::semantics::Trace;
use program::{Code, Program, PropertyKind, Scope, ThreadId, VarId};
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// The harness, or the reason why there is none.
pub fn harness(program: &Program, trace: &Trace, sources: &Sources) -> Result<String, String> {
    let mut h = Harness { program, sources, names: FxHashMap::default(), out: String::new() };
    h.write(trace)?;
    Ok(h.out)
}

struct Harness<'a> {
    program: &'a Program,
    sources: &'a Sources,
    names: FxHashMap<Symbol, String>,
    out: String,
}

const PRELUDE: &str = r#"#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

typedef long long number;

static inline number quotient(number a, number b) {
  number q, r;
  if (b == 0) return 0;
  q = a / b;
  r = a % b;
  if (r < 0) q += b > 0 ? -1 : 1;
  return q;
}

static inline number rest(number a, number b) {
  return b == 0 ? a : a - b * quotient(a, b);
}

static pthread_mutex_t turn_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
static int turn;

static void wait_for(int step) {
  pthread_mutex_lock(&turn_mutex);
  while (turn != step) pthread_cond_wait(&turn_changed, &turn_mutex);
}

static void done(void) {
  turn++;
  pthread_cond_broadcast(&turn_changed);
  pthread_mutex_unlock(&turn_mutex);
}

static inline void must(int holds, const char *what) {
  if (!holds) {
    printf("the run cannot be followed: %s\n", what);
    exit(2);
  }
}
"#;

impl Harness<'_> {
    fn write(&mut self, trace: &Trace) -> Result<(), String> {
        let property = &self.program.properties[trace.violates];
        let _ = writeln!(self.out, "/* A run of {} that breaks {}, step by step. */", self.program.name, property.name);
        self.out.push_str(PRELUDE);
        self.out.push('\n');
        let mut start: FxHashMap<VarId, Value> = FxHashMap::default();
        for choice in &trace.initial {
            if let (None, Some((var, _))) = (choice.instance, self.program.var_of(choice.place.symbol)) {
                start.insert(var, choice.value.clone());
            }
        }
        for (id, var) in self.program.vars.iter_enumerated() {
            if var.scope != Scope::Shared {
                continue;
            }
            self.plain(var.sort, &var.name)?;
            let name = format!("{}_{}", identifier(&var.name), id.0);
            let value = match (var.initial, start.get(&id)) {
                (Some(term), _) => self.term(term)?,
                (None, Some(value)) => constant(value)?,
                (None, None) => "0".into(),
            };
            let _ = writeln!(self.out, "static volatile number {name} = {value}; /* {} */", comment(&var.name));
            self.names.insert(var.symbol, name);
        }
        let all = trace.instances.0.iter().sum();
        let stuck = matches!(property.kind, PropertyKind::Deadlock);
        let moved = trace.steps.iter().map(|s| s.instance).max().map_or(0, |m| m + 1);
        let instances = if stuck { all } else { moved };
        for instance in 0..instances {
            self.thread(trace, instance)?;
        }
        let _ = writeln!(self.out, "\nint main(void) {{\n  pthread_t threads[{}];", instances.max(1));
        for i in 0..instances {
            let _ = writeln!(self.out, "  pthread_create(&threads[{i}], 0, instance_{i}, 0);");
        }
        for i in 0..instances {
            let _ = writeln!(self.out, "  pthread_join(threads[{i}], 0);");
        }
        if stuck {
            let _ = writeln!(self.out, "  puts(\"no thread can move: breaks {}\");", quoted(&property.name));
            self.out.push_str("  fflush(stdout);\n  abort();\n}\n");
        } else {
            self.out.push_str("  puts(\"the run went through without the failure\");\n  return 3;\n}\n");
        }
        Ok(())
    }

    /// The thread of an instance: they are numbered thread by thread.
    fn thread_of(&self, trace: &Trace, instance: u32) -> Option<ThreadId> {
        let mut left = instance;
        for (thread, count) in self.program.threads.ids().zip(&trace.instances.0) {
            if left < *count {
                return Some(thread);
            }
            left -= count;
        }
        None
    }

    /// At the end of a run into a deadlock: where this instance stands, no step can be taken.
    fn stands_still(&mut self, trace: &Trace, instance: u32, code: &Code) -> Result<(), String> {
        let last = trace.steps.iter().rev().find(|s| s.instance == instance);
        let at = last.map_or(code.entry, |s| code.actions[s.action].to);
        let turn = trace.steps.len() + instance as usize;
        let _ = writeln!(self.out, "  wait_for({turn});");
        for action in code.actions.iter().filter(|a| a.from == at) {
            let origin = &self.program.origins[action.origin];
            let place = origin.span.map_or_else(String::new, |s| self.sources.place(s));
            let guard = self.term(action.guard)?;
            let _ = writeln!(self.out, "  must(!({guard}), \"{} waits\");", quoted(&place));
            let _ = writeln!(self.out, "  puts(\"{}: {} waits\");", quoted(&place), quoted(&origin.text));
        }
        self.out.push_str("  done();\n");
        Ok(())
    }

    fn thread(&mut self, trace: &Trace, instance: u32) -> Result<(), String> {
        let stuck = matches!(self.program.properties[trace.violates].kind, PropertyKind::Deadlock);
        let moves = trace.steps.iter().any(|s| s.instance == instance);
        let Some(thread) = self.thread_of(trace, instance).filter(|_| moves || stuck) else {
            let _ = writeln!(self.out, "\nstatic void *instance_{instance}(void *unused) {{ return unused; }}");
            return Ok(());
        };
        let thread = &self.program.threads[thread];
        let name = comment(&thread.name);
        let _ = writeln!(self.out, "\n/* {name} */\nstatic void *instance_{instance}(void *unused) {{");
        for var in &thread.locals {
            let v = &self.program.vars[*var];
            self.plain(v.sort, &v.name)?;
            let local = format!("{}_{}", identifier(&v.name), var.0);
            let value = match v.initial {
                Some(term) => self.term(term)?,
                None => "0".into(),
            };
            let _ = writeln!(self.out, "  number {local} = {value};\n  (void){local};");
            self.names.insert(v.symbol, local);
        }
        self.names.insert(self.program.tid, format!("{}", instance + 1));
        let last = if stuck { usize::MAX } else { trace.steps.len() - 1 };
        for (number, step) in trace.steps.iter().enumerate().filter(|(_, s)| s.instance == instance) {
            let action = &thread.code.actions[step.action];
            let origin = &self.program.origins[action.origin];
            let place = origin.span.map_or_else(String::new, |s| self.sources.place(s));
            for choice in &step.choices {
                let value = constant(&choice.value)?;
                if let Some(name) = self.names.get(&choice.place.symbol) {
                    let _ = writeln!(self.out, "  /* decided here */ {name} = {value};");
                }
            }
            for (input, value) in action.inputs.iter().zip(&step.inputs) {
                let value = if *value == Value::Any { "0".into() } else { constant(value)? };
                self.names.insert(*input, value);
            }
            let _ = writeln!(self.out, "  wait_for({number}); /* {place}: {} */", comment(&origin.text));
            let guard = self.term(action.guard)?;
            let _ = writeln!(self.out, "  must({guard}, \"step {number}\");");
            if number == last {
                for gate in &action.gates {
                    let formula = self.term(gate.formula)?;
                    let property = &self.program.properties[gate.property].name;
                    let _ = writeln!(
                        self.out,
                        "  if (!({formula})) {{\n    puts(\"{}: {} breaks {}\");\n    fflush(stdout);\n    abort();\n  }}",
                        quoted(&place),
                        quoted(&origin.text),
                        quoted(property)
                    );
                }
            }
            self.updates(action, number, &place)?;
            self.out.push_str("  done();\n");
        }
        if stuck {
            self.stands_still(trace, instance, &thread.code)?;
        }
        self.out.push_str("  return unused;\n}\n");
        Ok(())
    }

    /// All values are read before any is written.
    fn updates(&mut self, action: &program::Action, number: usize, place: &str) -> Result<(), String> {
        let mut lines = Vec::new();
        for (i, update) in action.updates.iter().enumerate() {
            let value = self.term(update.value)?;
            let _ = writeln!(self.out, "  number new_{number}_{i} = {value};");
            let var = &self.program.vars[update.var];
            let Some(name) = self.names.get(&var.symbol).cloned() else {
                return Err(format!("`{}` is not a variable of this thread", var.name));
            };
            lines.push(format!("  {name} = new_{number}_{i};"));
            if var.scope == Scope::Shared {
                lines.push(format!(
                    "  printf(\"%s = %lld\\n\", \"{}: {}\", new_{number}_{i});",
                    quoted(place),
                    quoted(&var.name)
                ));
            }
        }
        for line in lines {
            let _ = writeln!(self.out, "{line}");
        }
        Ok(())
    }

    fn plain(&self, sort: Sort, name: &str) -> Result<(), String> {
        match self.program.terms.kind(sort) {
            SortKind::Bool | SortKind::Int | SortKind::Machine(_) => Ok(()),
            _ => Err(format!("`{name}` is not a number")),
        }
    }

    fn term(&self, term: Term) -> Result<String, String> {
        let t = &self.program.terms;
        Ok(match t.node(term) {
            Node::Bool(b) => i32::from(b).to_string(),
            Node::Num(n, _) => number(n)?,
            Node::Sym(s) => match self.names.get(&s) {
                Some(name) => name.clone(),
                None => return Err(format!("`{}` has no value here", t.symbol_name(s))),
            },
            Node::App(op, args) => {
                let arg = |i: usize| self.term(args[i]);
                match op {
                    Op::Not => format!("!({})", arg(0)?),
                    Op::And | Op::Or => {
                        let word = if op == Op::And { " && " } else { " || " };
                        let parts: Result<Vec<String>, String> = args.iter().map(|a| self.term(*a)).collect();
                        format!("({})", parts?.join(word))
                    }
                    Op::Implies => format!("(!({}) || ({}))", arg(0)?, arg(1)?),
                    Op::Ite => format!("(({}) ? ({}) : ({}))", arg(0)?, arg(1)?, arg(2)?),
                    Op::Eq => format!("(({}) == ({}))", arg(0)?, arg(1)?),
                    Op::Lt => format!("(({}) < ({}))", arg(0)?, arg(1)?),
                    Op::Le => format!("(({}) <= ({}))", arg(0)?, arg(1)?),
                    Op::Add => format!("(({}) + ({}))", arg(0)?, arg(1)?),
                    Op::Sub => format!("(({}) - ({}))", arg(0)?, arg(1)?),
                    Op::Mul => format!("(({}) * ({}))", arg(0)?, arg(1)?),
                    Op::Neg => format!("(-({}))", arg(0)?),
                    Op::Div => format!("quotient({}, {})", arg(0)?, arg(1)?),
                    Op::Mod => format!("rest({}, {})", arg(0)?, arg(1)?),
                    other => return Err(format!("the operation {other:?} is not written in C")),
                }
            }
            other => return Err(format!("{other:?} is not written in C")),
        })
    }
}

fn number(n: i128) -> Result<String, String> {
    let n = i64::try_from(n).map_err(|_| format!("{n} is too large for a harness"))?;
    // The smallest number has no literal of its own.
    Ok(if n == i64::MIN { "(-9223372036854775807LL - 1)".into() } else { format!("{n}LL") })
}

fn constant(value: &Value) -> Result<String, String> {
    match value {
        Value::Bool(b) => Ok(i32::from(*b).to_string()),
        Value::Int(n) => number(*n),
        other => Err(format!("{other:?} is not a number")),
    }
}

fn identifier(name: &str) -> String {
    let word: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    format!("v_{word}")
}

fn comment(text: &str) -> String {
    text.replace("*/", "* /").replace("/*", "/ *").replace(['\n', '\r'], " ")
}

/// Text that can stand inside a C string. It is never used as a format, so a `%` is only a `%`.
fn quoted(text: &str) -> String {
    comment(text).replace('\\', "\\\\").replace('"', "\\\"").replace("??", "?\\?")
}
