//! What a few runs show: candidates that some reachable store or step violates are dropped before a solver sees them.
//!
//! In: a program and candidates. Out: those that no step of some random runs violates. Runs are short, of at most two instances
//! of a thread, by evaluation alone; their length follows the size of the program. A candidate of the invariant is looked at
//! after every step that writes a variable of it, one of a rely by every other instance of its thread, one of a cut when
//! an instance comes there and before it goes on. What is written is never dropped.
//! A candidate that stays may still be wrong, and one that is lost costs a proof: nothing is shown here.
//! Deliberately absent: heaps and spawning (nothing is dropped then); values that `init` describes by more than small numbers.

use super::setting::{AnnotationSite, CandidateFact};
use base::{Budget, Random};
use logic::eval::{Env, eval_term, holds};
use logic::{Sort, SortKind, Symbol, Term, Terms, Value};
use program::parts::StoreSymbols;
use program::{Action, ActionId, Copies, LocId, Program, Scope, Start, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Steps for each action of the program, and the most steps, of a number of runs together: few long ones, which come far, and
/// many short ones, since a run in which everybody waits for a thread in a long loop shows nothing new.
const STEPS_PER_ACTION: usize = 50;
const MAX_STEPS: usize = 250_000;
/// How many runs share so much of the steps.
const RUNS: [(usize, usize); 3] = [(5, 5), (10, 20), (20, 80)];
/// How many choices of values are tried before a step counts as waiting.
const VALUE_CHOICES_TRIED: usize = 4;

type Values = FxHashMap<Symbol, Value>;

/// The candidates that no run violates.
pub(crate) fn survivors(
    p: &Program,
    t: &Terms,
    list: Vec<CandidateFact>,
    seed: u64,
    budget: &Budget,
) -> Vec<CandidateFact> {
    let spawns = |a: &Action| a.spawn.is_some();
    if !p.classes.is_empty() || p.threads.iter().any(|x| x.code.actions.iter().any(spawns)) {
        return list;
    }
    let mut runs = Runs::new(p, t, &list, seed);
    let actions: usize = p.threads.iter().map(|x| x.code.actions.len()).sum();
    let steps = (actions * STEPS_PER_ACTION + 400).min(MAX_STEPS);
    for part in RUNS.iter().flat_map(|(runs, part)| std::iter::repeat_n(*part, *runs)) {
        if budget.check().is_err() || !runs.one(steps / part, budget) {
            break;
        }
    }
    let gone = runs.gone;
    list.into_iter().zip(gone).filter(|(_, gone)| !gone).map(|(c, _)| c).collect()
}

struct RunInstance {
    thread: ThreadId,
    tid: Value,
    at: LocId,
    locals: Values,
}

/// What a formula is read in: a step's stores before and after, one instance's locals and id.
struct StepSight<'a> {
    tid: (Symbol, &'a Value),
    shared: &'a Values,
    locals: &'a Values,
    /// Values before the step of what it changed.
    before: &'a [(Symbol, Value)],
    primed: &'a FxHashMap<Symbol, Symbol>,
    inputs: &'a [(Symbol, Value)],
}

impl Env for StepSight<'_> {
    fn value(&self, symbol: Symbol) -> Option<&Value> {
        if symbol == self.tid.0 {
            return Some(self.tid.1);
        }
        if let Some((_, v)) = self.inputs.iter().find(|(s, _)| *s == symbol) {
            return Some(v);
        }
        if let Some(after) = self.primed.get(&symbol) {
            return self.shared.get(after);
        }
        if let Some((_, v)) = self.before.iter().find(|(s, _)| *s == symbol) {
            return Some(v);
        }
        self.shared.get(&symbol).or_else(|| self.locals.get(&symbol))
    }
}

struct Runs<'a> {
    p: &'a Program,
    t: &'a Terms,
    list: &'a [CandidateFact],
    random: Random,
    gone: Vec<bool>,
    /// Candidates that are still there, by a shared variable they mention.
    invariants: FxHashMap<Symbol, Vec<usize>>,
    relies: FxHashMap<Symbol, Vec<usize>>,
    at: FxHashMap<(ThreadId, LocId), Vec<usize>>,
    primed: FxHashMap<Symbol, Symbol>,
    outgoing: Vec<base::IdVec<LocId, Vec<ActionId>>>,
    shared: Values,
    none: Values,
}

impl<'a> Runs<'a> {
    fn new(p: &'a Program, t: &'a Terms, list: &'a [CandidateFact], seed: u64) -> Self {
        let names = StoreSymbols::new(p);
        let (mut invariants, mut relies) = (FxHashMap::default(), FxHashMap::default());
        let mut at: FxHashMap<(ThreadId, LocId), Vec<usize>> = FxHashMap::default();
        for (k, c) in list.iter().enumerate().filter(|(_, c)| c.written.is_none()) {
            let by: &mut FxHashMap<Symbol, Vec<usize>> = match c.place {
                AnnotationSite::Invariant => &mut invariants,
                AnnotationSite::Rely(_) => &mut relies,
                AnnotationSite::Cut(thread, l) => {
                    at.entry((thread, l)).or_default().push(k);
                    continue;
                }
            };
            names.about(t, c.formula).into_iter().for_each(|s| by.entry(s).or_default().push(k));
        }
        let primed = p.shared().map(|v| (p.vars[v].primed, p.vars[v].symbol)).collect();
        Self {
            p,
            t,
            list,
            random: Random::new(seed),
            gone: vec![false; list.len()],
            invariants,
            relies,
            at,
            primed,
            outgoing: p.threads.iter().map(|x| x.code.outgoing()).collect(),
            shared: Values::default(),
            none: Values::default(),
        }
    }

    /// A value that code may well meet; `None` for sorts without an obvious one.
    fn some(&mut self, sort: Sort) -> Option<Value> {
        Some(match self.t.kind(sort) {
            SortKind::Bool => Value::Bool(self.random.below(2) == 1),
            SortKind::Int | SortKind::Machine(_) => Value::Int(self.random.below(6) as i128),
            SortKind::Enum(e) => Value::Variant(self.random.below(self.t.enum_size(e)) as u32),
            _ => return None,
        })
    }

    fn sees(&self, formula: Term, tid: &Value, locals: &Values, before: &[(Symbol, Value)]) -> bool {
        let sight = StepSight {
            tid: (self.p.tid, tid),
            shared: &self.shared,
            locals,
            before,
            primed: &self.primed,
            inputs: &[],
        };
        // What cannot be evaluated is not violated.
        holds(self.t, formula, &sight).unwrap_or(true)
    }

    /// An initial store; `None` if none is found.
    fn start(&mut self) -> Option<Vec<RunInstance>> {
        let (p, t) = (self.p, self.t);
        'again: for _ in 0..20 {
            self.shared.clear();
            for v in p.shared() {
                let var = &p.vars[v];
                let value = match var.initial {
                    Some(i) => eval_term(t, i, &self.none).ok()?,
                    None => self.some(var.sort)?,
                };
                self.shared.insert(var.symbol, value);
            }
            for f in p.init.iter().filter_map(|f| f.formula) {
                if !holds(t, f, &self.shared).ok()? {
                    continue 'again;
                }
            }
            let mut instances = Vec::new();
            for (id, thread) in p.threads.iter_enumerated().filter(|(_, x)| x.start == Start::Initial) {
                let copies = match thread.copies {
                    Copies::One => 1,
                    Copies::Exactly(n) => n.min(2),
                    Copies::Any => 2,
                };
                for _ in 0..copies {
                    let mut locals = Values::default();
                    for v in &thread.locals {
                        let var = &p.vars[*v];
                        let value = match var.initial {
                            Some(i) => eval_term(t, i, &self.none).ok()?,
                            None => self.some(var.sort)?,
                        };
                        locals.insert(var.symbol, value);
                    }
                    let tid = Value::Int(instances.len() as i128 + 1);
                    instances.push(RunInstance { thread: id, tid, at: thread.code.entry, locals });
                }
            }
            return Some(instances);
        }
        None
    }

    /// One run; false if there is none.
    fn one(&mut self, steps: usize, budget: &Budget) -> bool {
        let Some(mut all) = self.start() else { return false };
        if all.is_empty() {
            return false;
        }
        let every: Vec<usize> = self.invariants.values().flatten().copied().collect();
        every.into_iter().for_each(|k| self.judge(k, &Value::Int(1), &Values::default(), &[]));
        for i in 0..all.len() {
            self.arrived(&all[i]);
        }
        let (mut left, mut waits) = (steps, 0);
        let mut inside = None;
        while left > 0 && waits < 4 * all.len() + 8 {
            let who = inside.unwrap_or_else(|| self.random.below(all.len()));
            // Long stretches of one instance come far; short ones interleave.
            let stretch = [1, 3, 10, 40][self.random.below(4)];
            let mut moved = false;
            for _ in 0..stretch.min(left) {
                if left % 256 == 0 && budget.check().is_err() {
                    return false;
                }
                left -= 1;
                match self.step(&mut all, who) {
                    Moved::Yes => moved = true,
                    Moved::Waits => break,
                    Moved::Wrong => return true,
                }
            }
            let code = &self.p.threads[all[who].thread].code;
            inside = code.locations[all[who].at].in_atomic_block.then_some(who);
            if inside.is_some() && !moved {
                return true;
            }
            waits = if moved { 0 } else { waits + 1 };
        }
        true
    }

    fn step(&mut self, all: &mut [RunInstance], who: usize) -> Moved {
        let (p, t) = (self.p, self.t);
        let RunInstance { thread, at, .. } = all[who];
        self.arrived(&all[who]);
        let code = &p.threads[thread].code;
        let out = self.outgoing[thread.index()][at].clone();
        if out.is_empty() {
            return Moved::Waits;
        }
        let first = self.random.below(out.len());
        for i in 0..out.len() {
            let action = &code.actions[out[(first + i) % out.len()]];
            let Some(inputs) = self.choose(&all[who], action) else { continue };
            let me = &all[who];
            let sight = StepSight {
                tid: (p.tid, &me.tid),
                shared: &self.shared,
                locals: &me.locals,
                before: &[],
                primed: &FxHashMap::default(),
                inputs: &inputs,
            };
            if action.gates.iter().any(|g| !holds(t, g.formula, &sight).unwrap_or(false)) {
                return Moved::Wrong;
            }
            let mut new = Vec::new();
            for u in &action.updates {
                match eval_term(t, u.value, &sight) {
                    Ok(value) => new.push((u.var, value)),
                    Err(_) => return Moved::Wrong,
                }
            }
            let mut before = Vec::new();
            for (v, value) in new {
                let symbol = p.vars[v].symbol;
                if p.vars[v].scope == Scope::Shared {
                    if let Some(old) = self.shared.insert(symbol, value) {
                        before.push((symbol, old));
                    }
                } else {
                    all[who].locals.insert(symbol, value);
                }
            }
            all[who].at = action.to;
            self.look(all, who, &before);
            return Moved::Yes;
        }
        Moved::Waits
    }

    /// Values of the inputs with which the guard holds.
    fn choose(&mut self, me: &RunInstance, action: &Action) -> Option<Vec<(Symbol, Value)>> {
        for _ in 0..if action.inputs.is_empty() { 1 } else { VALUE_CHOICES_TRIED } {
            let mut inputs = Vec::new();
            for s in &action.inputs {
                inputs.push((*s, self.some(self.t.symbol_sort(*s))?));
            }
            let sight = StepSight {
                tid: (self.p.tid, &me.tid),
                shared: &self.shared,
                locals: &me.locals,
                before: &[],
                primed: &FxHashMap::default(),
                inputs: &inputs,
            };
            if holds(self.t, action.guard, &sight).unwrap_or(false) {
                return Some(inputs);
            }
        }
        None
    }

    /// Judges what a step that changed these variables could violate.
    fn look(&mut self, all: &[RunInstance], who: usize, before: &[(Symbol, Value)]) {
        let inside = self.p.threads[all[who].thread].code.locations[all[who].at].in_atomic_block;
        let mut seen = FxHashSet::default();
        for (symbol, _) in before {
            // What is gone is not looked at again.
            let gone = &self.gone;
            for by in [&mut self.invariants, &mut self.relies] {
                if let Some(list) = by.get_mut(symbol) {
                    list.retain(|k| !gone[*k]);
                }
            }
            if !inside {
                for k in self.invariants.get(symbol).cloned().unwrap_or_default() {
                    if seen.insert(k) {
                        self.judge(k, &all[who].tid, &Values::default(), &[]);
                    }
                }
            }
            for k in self.relies.get(symbol).cloned().unwrap_or_default() {
                let AnnotationSite::Rely(thread) = self.list[k].place else { continue };
                if seen.insert(k) {
                    for other in (0..all.len()).filter(|j| *j != who && all[*j].thread == thread) {
                        self.judge(k, &all[other].tid, &Values::default(), before);
                    }
                }
            }
        }
        self.arrived(&all[who]);
    }

    fn arrived(&mut self, me: &RunInstance) {
        for k in self.at.get(&(me.thread, me.at)).cloned().unwrap_or_default() {
            self.judge(k, &me.tid, &me.locals, &[]);
        }
    }

    fn judge(&mut self, k: usize, tid: &Value, locals: &Values, before: &[(Symbol, Value)]) {
        if !self.gone[k] && !self.sees(self.list[k].formula, tid, locals, before) {
            self.gone[k] = true;
        }
    }
}

enum Moved {
    Yes,
    Waits,
    /// A check fails, or something cannot be evaluated: the run ends here.
    Wrong,
}
