//! The history of a broken object: which call ran when, what it returned, and why no order of the calls explains the results.
//!
//! In: a `History` run with the program of its clients, replayed. Out: a sentence for the first line and lines for the end. The orders that are
//! tried here are those of Herlihy and Wing's definition (a call that returned before another began comes first), with the sequential
//! specification executed by `program::sequential`. For a reader only: the checker has judged the run before. Deliberately absent:
//! histories held against marked points, and runs that fail inside an operation, which their own last step explains.

use super::names::Describer;
use base::Sources;
use evidence::History;
use logic::{Symbol, Term, Terms, Value, eval_term};
use program::clients::Against;
use program::semantics::{Replay, Semantics, StateView, replay_trace};
use program::{Program, Scope, What, sequential};
use rustc_hash::FxHashMap;

/// Orders that are shown; there can be very many.
const MAX_ORDERS: usize = 6;

/// One call of the history.
struct HistoryCall {
    /// `A`, `B`, ...
    label: String,
    operation: usize,
    arguments: Vec<Value>,
    results: Vec<Value>,
    /// `push(3) = true`.
    shown: String,
    client: String,
    begins: usize,
    returns: usize,
}

/// What is said of a history.
pub struct Explained {
    pub summary: Vec<String>,
    pub lines: Vec<String>,
}

/// Explains a history whose results no order gives; `None` where it is of another kind.
pub fn explain_history(
    program: &Program,
    clients: &Program,
    sources: &Sources,
    history: &History,
) -> Option<Explained> {
    if history.against != Against::Orders || history.gate.is_some() {
        return None;
    }
    let replayed = replay_trace(clients, &history.trace).ok()?;
    let calls = calls(program, clients, sources, history, &replayed)?;
    let object = &program.objects[history.object];
    let mut lines = vec![format!("the calls of {}:", object.name)];
    let widest = |text: &dyn Fn(&HistoryCall) -> usize| calls.iter().map(text).max().unwrap_or(0);
    let (names, texts) = (widest(&|c| c.client.chars().count()), widest(&|c| c.shown.chars().count()));
    for call in &calls {
        let HistoryCall { label, client, shown, begins, returns, .. } = call;
        lines.push(format!("  {label}  {client:names$}  {shown:texts$}  steps {begins} to {returns}"));
    }
    let mut search = Orders { program, history, calls: &calls, failures: Vec::new() };
    let store: Vec<(Symbol, Term)> = object
        .spec
        .vars
        .iter()
        .map(|v| Some((program.vars[*v].symbol, program.vars[*v].initial?)))
        .collect::<Option<_>>()?;
    search.extend(&mut Vec::new(), &store).ok()?;
    lines.push("no order of them gives these results:".into());
    let failures = std::mem::take(&mut search.failures);
    for failure in failures.iter().take(MAX_ORDERS) {
        lines.push(format!("  {failure}"));
    }
    if failures.len() > MAX_ORDERS {
        let more = super::counted((failures.len() - MAX_ORDERS) as u64, "order");
        lines.push(format!("  and {more} more fail in the same way"));
    }
    let returned: Vec<String> = calls.iter().map(|c| format!("{} by thread {}", c.shown, c.client)).collect();
    let summary = vec![format!("no order of the calls explains what they returned: {}", super::listed(&returned))];
    Some(Explained { summary, lines })
}

/// The calls of the run, in the order in which they begin.
fn calls(
    program: &Program,
    clients: &Program,
    sources: &Sources,
    history: &History,
    replayed: &Replay,
) -> Option<Vec<HistoryCall>> {
    let object = program.objects.get(history.object)?;
    let sem = Semantics::new(clients);
    let describer = Describer::new(&sem, sources);
    let mut open: FxHashMap<usize, HistoryCall> = FxHashMap::default();
    let mut count: FxHashMap<usize, usize> = FxHashMap::default();
    let mut out: Vec<HistoryCall> = Vec::new();
    for (i, step) in history.trace.steps.iter().enumerate() {
        let at = step.instance as usize;
        let action = &clients.threads[step.thread].code.actions[step.action];
        let text = &clients.origins[action.origin].text;
        let client = history.clients.0.get(step.thread.index())?;
        if action.what == What::Skip && text.starts_with("call ") && !open.contains_key(&at) {
            let next = count.entry(at).or_default();
            let call = client.get(*next)?;
            *next += 1;
            open.insert(
                at,
                HistoryCall {
                    label: String::new(),
                    operation: call.operation,
                    arguments: call.arguments.clone(),
                    results: Vec::new(),
                    shown: String::new(),
                    client: describer.column(&replayed.states[i], at),
                    begins: i + 1,
                    returns: 0,
                },
            );
        }
        let Some(call) = open.get(&at) else { continue };
        let op = &object.ops[call.operation];
        if action.what == What::Return && *text == format!("{} returns", op.name) {
            let mut call = open.remove(&at)?;
            let view = StateView::of_instance(&sem, &replayed.states[i], at);
            let results = action.updates.iter().filter(|u| clients.vars[u.var].scope == Scope::Shared);
            call.results =
                results.take(op.results.len()).map(|u| view.eval(u.value).ok()).collect::<Option<Vec<_>>>()?;
            call.returns = i + 1;
            call.shown = shown(program, op, &call);
            out.push(call);
        }
    }
    out.sort_by_key(|c| c.begins);
    for (i, call) in out.iter_mut().enumerate() {
        call.label = char::from_u32('A' as u32 + i as u32).filter(char::is_ascii_uppercase)?.to_string();
    }
    (!out.is_empty()).then_some(out)
}

fn values(program: &Program, vars: &[program::VarId], values: &[Value]) -> String {
    let show = |(v, x): (&program::VarId, &Value)| x.show(&program.terms, program.vars[*v].sort);
    vars.iter().zip(values).map(show).collect::<Vec<_>>().join(", ")
}

fn shown(program: &Program, op: &program::Operation, call: &HistoryCall) -> String {
    let results = values(program, &op.results, &call.results);
    let gives = if results.is_empty() { String::new() } else { format!(" = {results}") };
    format!("{}({}){gives}", op.name, values(program, &op.params, &call.arguments))
}

struct Orders<'a> {
    program: &'a Program,
    history: &'a History,
    calls: &'a [HistoryCall],
    failures: Vec<String>,
}

impl Orders<'_> {
    /// Tries every call that may come next; says where each order fails.
    fn extend(&mut self, before: &mut Vec<usize>, store: &[(Symbol, Term)]) -> Result<(), String> {
        let (p, calls) = (self.program, self.calls);
        let t = &p.terms;
        let object = &p.objects[self.history.object];
        for n in (0..calls.len()).filter(|n| !before.contains(n)).collect::<Vec<_>>() {
            let call = &calls[n];
            let waits = |k: usize| k != n && !before.contains(&k) && calls[k].returns < call.begins;
            if (0..calls.len()).any(waits) {
                continue;
            }
            let op = &object.spec.ops[call.operation];
            let arguments: Option<Vec<Term>> =
                op.params.iter().zip(&call.arguments).map(|(v, x)| x.to_term(t, p.vars[*v].sort)).collect();
            let arguments = arguments.ok_or("an argument has another sort")?;
            let mut meant: Vec<String> = Vec::new();
            let mut fits: Vec<Vec<(Symbol, Term)>> = Vec::new();
            for path in sequential::paths(p, op, &arguments, store)? {
                if constant(t, path.condition) != Some(Value::Bool(true)) {
                    continue;
                }
                let results: Vec<Option<Value>> =
                    path.results.iter().zip(&path.set).map(|(r, set)| set.then(|| constant(t, *r)).flatten()).collect();
                let same =
                    results.iter().zip(&call.results).all(|(meant, seen)| meant.as_ref().is_none_or(|m| m == seen));
                if same {
                    let after = path.store.iter().map(|(s, x)| {
                        let plain = constant(t, *x).and_then(|v| v.to_term(t, t.sort_of(*x)));
                        (*s, plain.unwrap_or(*x))
                    });
                    fits.push(after.collect());
                } else {
                    let listed: Vec<String> = op
                        .results
                        .iter()
                        .zip(&results)
                        .map(|(v, x)| x.as_ref().map_or("any value".into(), |x| x.show(t, p.vars[*v].sort)))
                        .collect();
                    meant.push(listed.join(", "));
                }
            }
            if fits.is_empty() {
                let order: Vec<&str> = before.iter().chain([&n]).map(|k| calls[*k].label.as_str()).collect();
                meant.dedup();
                let should = match meant.is_empty() {
                    true => "cannot be called".to_string(),
                    false => format!("must return {}", meant.join(" or ")),
                };
                let label = &call.label;
                let name = &object.ops[call.operation].name;
                let arguments = values(p, &object.ops[call.operation].params, &call.arguments);
                let place = if before.is_empty() {
                    "first".to_string()
                } else {
                    format!("after {}", order[..order.len() - 1].join(", "))
                };
                self.failures.push(format!("{label} {place}: {name}({arguments}) {should}"));
            }
            for after in fits {
                before.push(n);
                let done = before.len() == calls.len();
                let tried = if done { Err("an order explains it".to_string()) } else { self.extend(before, &after) };
                before.pop();
                tried?;
            }
        }
        Ok(())
    }
}

/// The value of a term without symbols.
fn constant(t: &Terms, term: Term) -> Option<Value> {
    let none: FxHashMap<Symbol, Value> = FxHashMap::default();
    eval_term(t, term, &none).ok()
}
