//! How much room each variable is given: guessed from the program, widened when a value does not fit.
//!
//! In: a program and the numbers of instances. Out: a `RangeGuess`, from which `layout` makes bit fields. A
//! search that meets a value outside its field stops with an `Escape`; the guess is widened by it and the search
//! starts again, so no value is ever cut off. Each escape at least doubles a range or adds keys, so restarts are few
//! and mostly shallow.
//! Deliberately absent: interval analysis; the first guess is only made of the numbers in the text.

use crate::infer::vocabulary::terms_of;
use logic::{ClassId, Node, Op, Symbol, Term, Value};
use program::semantics::{InstanceCounts, Sampling, Semantics};
use program::{Program, VarId, VarKind};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};

/// A value that the present layout has no room for, or that the packed form cannot hold at all.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Escape {
    /// Something the search cannot evaluate; why. First, because of several escapes the least counts.
    Stuck(String),
    Range {
        var: VarId,
        value: i64,
    },
    Key {
        var: VarId,
        level: usize,
        key: i64,
    },
    Length {
        var: VarId,
        length: i64,
    },
    /// The variable can be undecided.
    Openable {
        var: VarId,
    },
    /// The variable's values have no regular shape: keep them in a table of values.
    Irregular {
        var: VarId,
    },
    Objects {
        class: ClassId,
    },
    Instances,
    /// An integer beyond 64 bits.
    TooLarge,
}

/// The room given to each variable.
#[derive(Clone, Debug, Default)]
pub(crate) struct RangeGuess {
    pub(crate) ranges: BTreeMap<VarId, (i64, i64)>,
    pub keys: BTreeMap<(VarId, usize), BTreeSet<i64>>,
    pub lengths: BTreeMap<VarId, i64>,
    pub open: BTreeSet<VarId>,
    pub(crate) irregular: BTreeSet<VarId>,
    pub objects: BTreeMap<ClassId, u32>,
    /// What a map without an initial value holds at all keys but few, as the `init` formulas decide it.
    pub(crate) defaults: BTreeMap<VarId, i64>,
    /// Instances that may come into being by `spawn`.
    pub pool: u32,
}

/// More slots of one variable than this are kept as one interned value instead.
pub(crate) const MAX_SLOTS: usize = 512;

impl RangeGuess {
    pub(crate) fn new(program: &Program, instances: &InstanceCounts) -> Self {
        let mut guess = Self::default();
        let threads: u32 = instances.0.iter().sum();
        let vars = symbols(program);
        for (id, var) in program.vars.iter_enumerated() {
            if !program::semantics::is_run_time(var.scope) {
                continue;
            }
            let mut numbers = BTreeSet::from([0, 1]);
            match var.initial.map(|t| logic::eval::eval_term(&program.terms, t, &FxHashMap::default())) {
                Some(Ok(value)) => guess.note_value(id, 0, &value, &mut numbers),
                _ => {
                    guess.open.insert(id);
                }
            }
            if var.kind == VarKind::Lock {
                numbers.insert(i64::from(threads));
            }
            guess.widen_range(id, &numbers);
        }
        for class in program.classes.iter() {
            if let logic::SortKind::Set(e) = program.terms.kind(program.vars[class.live].sort)
                && let logic::SortKind::Ref(c) = program.terms.kind(e)
            {
                guess.objects.insert(c, 2);
            }
        }
        guess.look_at_starts(program, instances);
        let spawns = program.threads.iter().any(|t| t.code.actions.iter().any(|a| a.spawn.is_some()));
        guess.pool = if spawns { 2 } else { 0 };
        let mut walk = GuessingRun { program, vars: &vars, threads: i64::from(threads), seen: FxHashSet::default() };
        for t in roots(program) {
            walk.keys(t, &mut guess);
        }
        for thread in program.threads.iter() {
            for u in thread.code.actions.iter().flat_map(|a| &a.updates) {
                let mut numbers = BTreeSet::new();
                walk.numbers(u.value, &mut numbers, &mut FxHashSet::default());
                guess.widen_range(u.var, &numbers);
            }
        }
        guess
    }
    /// Variables without an initial value whose values the `init` formulas decide.
    fn look_at_starts(&mut self, program: &Program, instances: &InstanceCounts) {
        let missing = |v: &VarId| program.vars[*v].initial.is_none();
        if !program.shared().any(|v| missing(&v)) || program.init.is_empty() {
            return;
        }
        let starts = Semantics::new(program).initial(instances, Sampling::default()).states;
        for (k, var) in program.shared().enumerate().filter(|(_, v)| missing(v)) {
            let mut noted = RangeGuess::default();
            let mut numbers = BTreeSet::new();
            starts.iter().for_each(|(s, _)| noted.note_value(var, 0, &s.shared[k], &mut numbers));
            // Some value stays undecided, or there is no start at all.
            if starts.is_empty() || noted.open.contains(&var) {
                continue;
            }
            self.open.remove(&var);
            self.widen_range(var, &numbers);
            for (at, keys) in noted.keys {
                self.keys.entry(at).or_default().extend(keys);
            }
            for (at, length) in noted.lengths {
                let most = self.lengths.entry(at).or_insert(0);
                *most = (*most).max(length);
            }
            let mut defaults = starts.iter().map(|(s, _)| {
                let mut value = &s.shared[k];
                while let Value::Map(m) = value {
                    value = &m.default;
                }
                number(value)
            });
            let first = defaults.next().flatten();
            if let Some(n) = first.filter(|n| defaults.all(|d| d == Some(*n))) {
                self.defaults.insert(var, n);
            }
        }
    }
    fn widen_range(&mut self, var: VarId, numbers: &BTreeSet<i64>) {
        let (Some(&least), Some(&most)) = (numbers.first(), numbers.last()) else { return };
        // A far-off number of the text (a large constant) costs bits for ever: it is left to an escape.
        let (least, most) = (least.max(-64), most.min(256));
        let range = self.ranges.entry(var).or_insert((least.min(most), most));
        *range = (range.0.min(least), range.1.max(most));
    }
    /// Notes the keys and numbers of an initial value.
    fn note_value(&mut self, var: VarId, level: usize, value: &Value, numbers: &mut BTreeSet<i64>) {
        match value {
            Value::Map(m) => {
                for (k, v) in &m.entries {
                    self.note_key(var, level, k);
                    self.note_value(var, level + 1, v, numbers);
                }
                self.note_value(var, level + 1, &m.default, numbers);
            }
            Value::Set(s) => s.iter().for_each(|k| self.note_key(var, level, k)),
            Value::Seq(q) => {
                let most = self.lengths.entry(var).or_insert(0);
                *most = (*most).max(q.len() as i64);
                q.iter().for_each(|v| self.note_value(var, level + 1, v, numbers));
            }
            Value::Any => {
                self.open.insert(var);
            }
            other => numbers.extend(number(other)),
        }
    }
    fn note_key(&mut self, var: VarId, level: usize, key: &Value) {
        if let Some(k) = number(key) {
            self.keys.entry((var, level)).or_default().insert(k);
        }
    }
    /// Makes room for what escaped; an error where no room helps.
    pub(crate) fn widen(&mut self, escape: &Escape) -> Result<(), String> {
        match *escape {
            Escape::Range { var, value } => {
                let (lo, hi) = self.ranges.entry(var).or_insert((value, value));
                let span = (hi.saturating_sub(*lo)).saturating_add(1);
                // Growing by as much as there was keeps the number of restarts logarithmic.
                if value > *hi {
                    *hi = value.max(hi.saturating_add(span.min(1 << 20)));
                } else {
                    *lo = value.min(lo.saturating_sub(span.min(1 << 20)));
                }
            }
            Escape::Key { var, level, key } => {
                self.keys.entry((var, level)).or_default().insert(key);
            }
            Escape::Length { var, length } => {
                let most = self.lengths.entry(var).or_insert(0);
                *most = (*most * 2).max(length);
            }
            Escape::Openable { var } => {
                self.open.insert(var);
            }
            Escape::Irregular { var } => {
                self.irregular.insert(var);
            }
            Escape::Objects { class } => {
                let most = self.objects.entry(class).or_insert(1);
                *most *= 2;
            }
            Escape::Instances => self.pool = (self.pool * 2).max(2),
            Escape::TooLarge => return Err("an integer beyond 64 bits".into()),
            Escape::Stuck(ref why) => return Err(why.clone()),
        }
        Ok(())
    }
}

/// The number of a scalar value, whatever its sort; none where that depends on the sort.
fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Bool(b) => Some(i64::from(*b)),
        Value::Int(n) => i64::try_from(*n).ok(),
        Value::Variant(n) | Value::Ref(n) => Some(i64::from(*n)),
        _ => None,
    }
}

/// Which variable a symbol is the value of, before a step.
pub(crate) fn symbols(program: &Program) -> FxHashMap<Symbol, VarId> {
    program.vars.iter_enumerated().map(|(id, v)| (v.symbol, id)).collect()
}

/// Every term of the program that a search evaluates.
pub(crate) fn roots(program: &Program) -> Vec<Term> {
    let mut out = Vec::new();
    for t in program.threads.iter() {
        for a in t.code.actions.iter() {
            out.extend(terms_of(a));
            out.extend(a.spawn.iter().flat_map(|s| s.args.iter().copied()));
        }
    }
    out.extend(program.init.iter().chain(&program.invariants).filter_map(|f| f.formula));
    out.extend(program.relies.iter().filter_map(|r| r.formula));
    out
}

struct GuessingRun<'a> {
    program: &'a Program,
    vars: &'a FxHashMap<Symbol, VarId>,
    threads: i64,
    seen: FxHashSet<Term>,
}

impl GuessingRun<'_> {
    /// The variable whose map or set a term is a version of, and at which depth.
    fn root(&self, term: Term) -> Option<(VarId, usize)> {
        match self.program.terms.node(term) {
            Node::Sym(s) => self.vars.get(&s).map(|v| (*v, 0)),
            Node::App(Op::Select, args) => self.root(args[0]).map(|(v, l)| (v, l + 1)),
            Node::App(Op::Store | Op::Union | Op::Minus, args) => self.root(args[0]),
            Node::App(Op::Insert | Op::Ite, args) => self.root(args[1]),
            _ => None,
        }
    }
    /// Notes which keys the text itself names.
    fn keys(&mut self, term: Term, guess: &mut RangeGuess) {
        if !self.seen.insert(term) {
            return;
        }
        match self.program.terms.node(term) {
            Node::App(op, args) => {
                let keyed = match op {
                    Op::Select | Op::Store => Some((args[0], args[1])),
                    Op::Member | Op::Insert => Some((args[1], args[0])),
                    _ => None,
                };
                if let Some((map, key)) = keyed
                    && let Some((var, level)) = self.root(map)
                {
                    let keys = guess.keys.entry((var, level)).or_default();
                    match self.program.terms.node(key) {
                        Node::Num(n, _) => keys.extend(i64::try_from(n).ok()),
                        Node::Sym(s) if s == self.program.tid => keys.extend(1..=self.threads),
                        _ => {}
                    }
                }
                args.iter().for_each(|a| self.keys(*a, guess));
            }
            Node::Quant(_, _, body) => self.keys(body, guess),
            _ => {}
        }
    }
    fn numbers(&self, term: Term, out: &mut BTreeSet<i64>, seen: &mut FxHashSet<Term>) {
        if !seen.insert(term) {
            return;
        }
        match self.program.terms.node(term) {
            Node::Num(n, _) => out.extend(i64::try_from(n).ok()),
            Node::Sym(s) if s == self.program.tid => out.extend([1, self.threads]),
            Node::App(Op::Select | Op::Store, args) if args.len() == 2 => self.numbers(args[0], out, seen),
            Node::App(_, args) => args.iter().for_each(|a| self.numbers(*a, out, seen)),
            _ => {}
        }
    }
}
