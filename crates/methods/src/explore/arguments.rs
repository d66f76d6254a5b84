//! Which arguments the clients of an object pass to its operations, in the search for a history that is not linearizable.
//!
//! In: the program, the operations that are called, in order. Out: lists of arguments for all these calls, the likely ones first: numbers that
//! differ from call to call (values that are only handed around are distinguished), equal ones, keys of a set that come in pairs; then independent values for every
//! parameter, chosen from 0, the initial values and constants of the object, and a fresh number (values that are compared).
//! Deliberately absent: objects and collections as arguments, which are the default of their sort. What is not tried is not excluded.

use crate::infer::vocabulary::terms_of;
use base::random::Random;
use logic::{Node, SortKind, Term, Value};
use program::{Code, ObjectId, Operation, Program, VarId};
use rustc_hash::FxHashSet;

/// How many operations there are where not only different arguments are tried.
pub(super) const FEW_OPERATIONS: usize = 4;

/// How many lists of independent values one client program is tried with.
const MAX_INDEPENDENT_LISTS: usize = 96;
/// How many numbers a parameter can have.
const MAX_NUMBERS: usize = 5;

/// The arguments of every call of a client program.
pub(super) type ArgumentLists = Vec<Vec<Value>>;

pub(super) struct Arguments<'a> {
    program: &'a Program,
    operations: &'a [Operation],
    /// The state of the specification has a set: parameters are keys.
    pub(super) of_set: bool,
    /// What a parameter of a number's sort is chosen from.
    numbers: Vec<i128>,
}

impl<'a> Arguments<'a> {
    pub(super) fn of(program: &'a Program, object: ObjectId) -> Option<Self> {
        let o = program.objects.get(object)?;
        let of_set = o.spec.vars.iter().any(|v| matches!(program.terms.kind(program.vars[*v].sort), SortKind::Set(_)));
        let mut numbers = vec![0, 1, 2];
        let constants = constants(program, o.ops.iter().map(|op| &op.code).chain(o.spec.ops.iter().map(|op| &op.code)));
        numbers.extend(constants.into_iter().filter(|n| !(0..=2).contains(n)));
        numbers.truncate(MAX_NUMBERS);
        Some(Self { program, operations: &o.ops, of_set, numbers })
    }

    /// Lists in which all parameters of a call have the same number.
    pub(super) fn by_call(&self, calls: &[usize]) -> Vec<ArgumentLists> {
        let many = calls.len();
        let different: Vec<u32> = (1..=many as u32).collect();
        let numbers = match (many > FEW_OPERATIONS, self.of_set) {
            (true, false) => vec![different],
            (true, true) | (false, false) => vec![different, vec![1; many]],
            (false, true) => (0..1u32 << many).map(|keys| (0..many).map(|i| 1 + (keys >> i & 1)).collect()).collect(),
        };
        let mut lists: Vec<ArgumentLists> = Vec::new();
        for numbers in numbers {
            let list = calls.iter().zip(numbers).map(|(op, n)| self.same_number(*op, n)).collect();
            if !lists.contains(&list) {
                lists.push(list);
            }
        }
        lists
    }

    /// Lists in which every parameter of every call has a value of its own: all of them if they are few, else a sample.
    pub(super) fn by_parameter(&self, calls: &[usize]) -> Vec<ArgumentLists> {
        let choices: Vec<Vec<Value>> =
            calls.iter().flat_map(|op| &self.operations[*op].params).map(|v| self.choices(*v)).collect();
        let all =
            choices.iter().try_fold(1usize, |n, c| n.checked_mul(c.len()).filter(|n| *n <= MAX_INDEPENDENT_LISTS));
        let mut dice = Random::new(0);
        let pick = |number: &mut dyn FnMut(usize) -> usize| -> ArgumentLists {
            let mut values = choices.iter().map(|c| c[number(c.len())].clone());
            calls.iter().map(|op| values.by_ref().take(self.operations[*op].params.len()).collect()).collect()
        };
        match all {
            Some(all) => (0..all)
                .map(|mut rest| {
                    pick(&mut |base| {
                        let digit = rest % base;
                        rest /= base;
                        digit
                    })
                })
                .collect(),
            None => (0..MAX_INDEPENDENT_LISTS).map(|_| pick(&mut |base| dice.below(base))).collect(),
        }
    }

    /// Independent values for one call, by chance.
    pub(super) fn random(&self, operation: usize, dice: &mut Random) -> Vec<Value> {
        self.operations[operation].params.iter().map(|v| dice.one_of(&self.choices(*v))).collect()
    }

    /// The same number for every parameter of a call, as each parameter's sort has it.
    pub(super) fn same_number(&self, operation: usize, n: u32) -> Vec<Value> {
        self.operations[operation].params.iter().map(|v| self.value(*v, n)).collect()
    }

    /// Never empty.
    fn choices(&self, var: VarId) -> Vec<Value> {
        let t = &self.program.terms;
        let sort = self.program.vars[var].sort;
        match t.kind(sort) {
            SortKind::Bool => vec![Value::Bool(false), Value::Bool(true)],
            SortKind::Int => self.numbers.iter().map(|n| Value::Int(*n)).collect(),
            SortKind::Machine(m) => {
                self.numbers.iter().filter(|n| m.wrap(**n) == **n).map(|n| Value::Int(*n)).collect()
            }
            SortKind::Enum(e) => (0..t.enum_size(e).max(1) as u32).take(MAX_NUMBERS).map(Value::Variant).collect(),
            _ => vec![Value::default_of(t, sort)],
        }
    }

    fn value(&self, var: VarId, n: u32) -> Value {
        let t = &self.program.terms;
        let sort = self.program.vars[var].sort;
        match t.kind(sort) {
            SortKind::Bool => Value::Bool(n % 2 == 1),
            SortKind::Int | SortKind::Machine(_) => Value::Int(n.into()),
            SortKind::Enum(e) => Value::Variant(n % t.enum_size(e).max(1) as u32),
            _ => Value::default_of(t, sort),
        }
    }
}

/// The numbers in code and in initial values, the least in size first.
fn constants<'a>(program: &Program, codes: impl Iterator<Item = &'a Code>) -> Vec<i128> {
    let t = &program.terms;
    let mut roots: Vec<Term> = program.vars.iter().filter_map(|v| v.initial).collect();
    roots.extend(program.init.iter().filter_map(|f| f.formula));
    for a in codes.flat_map(|c| c.actions.iter()) {
        roots.extend(terms_of(a));
    }
    let mut found: FxHashSet<i128> = FxHashSet::default();
    t.each_subterm(roots, |term| {
        if let Node::Num(n, _) = t.node(term) {
            found.insert(n);
        }
    });
    let mut found: Vec<i128> = found.into_iter().collect();
    found.sort_by_key(|n| (n.unsigned_abs(), *n));
    found
}
