//! The packed form of a state: a bit field for every variable of every instance, in a few 64-bit words.
//!
//! In: a program, numbers of instances and a `RangeGuess`. Out: where every field is, and the two-way
//! translation between packed states and the states of the reference semantics. Booleans, enums, integers, references
//! are fields; maps and sets with scalar keys are arrays of fields over the keys that occur; sequences have a length
//! and as many fields as the longest so far; everything else is a number in a table of values (`Interner`).
//! An instance's fields lie together in one block, equal for all instances of a thread, so that blocks can be sorted.
//! Deliberately absent: any reduction (`dead`, `symmetry`) and any execution (`compile`, `machine`).

use super::guess::{Escape, MAX_SLOTS, RangeGuess};
use logic::{ClassId, MachineIntSort, Sort, SortKind, Terms, Value};
use program::semantics::{Instance, InstanceCounts, Semantics, State};
use program::{LocId, Program, Start, ThreadId, VarId};
use rustc_hash::FxHashMap;
use std::sync::RwLock;

/// Stands for an undecided value in registers; never a value of a field (fields hold at most 62 bits).
pub(crate) const OPEN_VALUE: i64 = i64::MIN;

/// A sort whose values are single numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScalarSort {
    Bool,
    Int,
    Machine(MachineIntSort),
    Enum(u32),
    Ref(ClassId),
}

impl ScalarSort {
    pub(crate) fn of(terms: &Terms, sort: Sort) -> Option<ScalarSort> {
        Some(match terms.kind(sort) {
            SortKind::Bool => ScalarSort::Bool,
            SortKind::Int => ScalarSort::Int,
            SortKind::Machine(m) => ScalarSort::Machine(m),
            SortKind::Enum(e) => ScalarSort::Enum(terms.enum_size(e) as u32),
            SortKind::Ref(c) => ScalarSort::Ref(c),
            _ => return None,
        })
    }
    /// The number a value is kept as, from which `value` makes it again; none where there is no such number. An unsigned number of 64 bits is kept as its
    /// two's complement; an integer without bounds is not, for it may as well be negative.
    pub(crate) fn number(self, value: &Value) -> Option<i64> {
        let n = match (self, value) {
            (_, Value::Bool(b)) => i64::from(*b),
            (ScalarSort::Machine(MachineIntSort { bits: 64, signed: false }), Value::Int(n)) => {
                u64::try_from(*n).ok()? as i64
            }
            (_, Value::Int(n)) => i64::try_from(*n).ok()?,
            (_, Value::Variant(n) | Value::Ref(n)) => i64::from(*n),
            _ => return None,
        };
        (n != OPEN_VALUE).then_some(n)
    }
    pub(crate) fn value(self, n: i64) -> Value {
        match self {
            _ if n == OPEN_VALUE => Value::Any,
            ScalarSort::Bool => Value::Bool(n != 0),
            ScalarSort::Machine(MachineIntSort { bits: 64, signed: false }) => Value::Int(i128::from(n as u64)),
            ScalarSort::Int | ScalarSort::Machine(_) => Value::Int(n.into()),
            ScalarSort::Enum(_) => Value::Variant(n as u32),
            ScalarSort::Ref(_) => Value::Ref(n as u32),
        }
    }
}

/// The keys of one level of a map, or the possible elements of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LevelKeys {
    Range { lo: i64, len: usize },
    List(Vec<i64>),
}

impl LevelKeys {
    pub(crate) fn len(&self) -> usize {
        match self {
            LevelKeys::Range { len, .. } => *len,
            LevelKeys::List(keys) => keys.len(),
        }
    }
    pub(crate) fn position(&self, key: i64) -> Option<usize> {
        match self {
            LevelKeys::Range { lo, len } => usize::try_from(key.checked_sub(*lo)?).ok().filter(|i| i < len),
            LevelKeys::List(keys) => keys.binary_search(&key).ok(),
        }
    }
    pub(crate) fn key(&self, at: usize) -> i64 {
        match self {
            LevelKeys::Range { lo, .. } => lo + at as i64,
            LevelKeys::List(keys) => keys[at],
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StorageShape {
    Cell,
    /// Levels of keys, outermost first; the last level may be a set.
    Array(Vec<LevelKeys>),
    /// First the length, then this many elements.
    Sequence(usize),
    Interned,
}

/// How one variable is kept.
#[derive(Clone, Debug)]
pub(crate) struct VariablePlan {
    pub var: Option<VarId>,
    pub sort: Sort,
    pub leaf: ScalarSort,
    pub shape: StorageShape,
    pub lo: i64,
    pub bits: u32,
    pub open: bool,
    /// What an array holds at every key that is not listed.
    pub default: i64,
    /// Sorts of the keys, outermost first.
    pub(crate) key_sorts: Vec<ScalarSort>,
}

impl VariablePlan {
    /// A value without a regular shape: its number in a table.
    fn interned(var: Option<VarId>, sort: Sort) -> Self {
        Self {
            var,
            sort,
            leaf: ScalarSort::Bool,
            shape: StorageShape::Interned,
            lo: 0,
            bits: INTERNED_BITS,
            open: false,
            default: 0,
            key_sorts: Vec::new(),
        }
    }
    /// How many slots.
    pub(crate) fn slots(&self) -> usize {
        match &self.shape {
            StorageShape::Cell | StorageShape::Interned => 1,
            StorageShape::Array(levels) => levels.iter().map(LevelKeys::len).product(),
            StorageShape::Sequence(cap) => 1 + cap,
        }
    }
}

/// One bit field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BitField {
    pub word: u8,
    pub shift: u8,
    pub bits: u8,
    /// Code 0 stands for undecided.
    pub open: bool,
    pub lo: i64,
    pub plan: u32,
}

impl BitField {
    pub(crate) fn mask(&self) -> u64 {
        (1u64 << self.bits) - 1
    }
    pub(crate) fn code(&self, words: &[u64]) -> u64 {
        (words[self.word as usize] >> self.shift) & self.mask()
    }
    pub(crate) fn get(&self, words: &[u64]) -> i64 {
        let code = self.code(words);
        match (self.open, code) {
            (true, 0) => OPEN_VALUE,
            (true, c) => self.lo + (c as i64 - 1),
            (false, c) => self.lo + c as i64,
        }
    }
    /// The code of a value; `None` if it does not fit.
    pub(crate) fn encode(&self, value: i64) -> Option<u64> {
        if value == OPEN_VALUE {
            return self.open.then_some(0);
        }
        let code = (value as i128) - (self.lo as i128) + i128::from(self.open);
        u64::try_from(code).ok().filter(|c| *c <= self.mask() && (!self.open || *c > 0))
    }
    pub(crate) fn put(&self, words: &mut [u64], code: u64) {
        let w = &mut words[self.word as usize];
        *w = (*w & !(self.mask() << self.shift)) | (code << self.shift);
    }
}

/// Where an instance's fields are.
#[derive(Clone, Debug)]
pub(crate) struct InstancePlace {
    pub tid: u32,
    /// The threads it may be an instance of, with the code of each thread's first location.
    pub(crate) menu: Vec<(ThreadId, u64)>,
    pub spawned: bool,
    pub pc: usize,
    /// First slot of each local.
    pub locals: FxHashMap<VarId, usize>,
    pub word: usize,
    pub shift: u32,
    pub bits: u32,
}

impl InstancePlace {
    /// Thread and location of a code of the pc; `None`: not born.
    pub(crate) fn at(&self, code: u64) -> Option<(ThreadId, LocId)> {
        let (thread, base) = self.menu.iter().rev().find(|(_, base)| *base <= code)?;
        Some((*thread, LocId((code - base) as u32)))
    }
    pub(crate) fn code(&self, thread: ThreadId, at: LocId) -> Option<u64> {
        self.menu.iter().find(|(t, _)| *t == thread).map(|(_, base)| base + u64::from(at.0))
    }
}

/// Values kept by number. Equal values have equal numbers; which number depends on who came first.
#[derive(Default, Debug)]
pub(crate) struct Interner {
    numbers: FxHashMap<Value, u32>,
    values: Vec<Value>,
    /// How many entries each value has, for what it costs to copy it.
    entries: Vec<u32>,
}

impl Interner {
    fn number(&mut self, value: &Value) -> u32 {
        if let Some(n) = self.numbers.get(value) {
            return *n;
        }
        let n = self.values.len() as u32;
        self.values.push(value.clone());
        self.entries.push(entries(value));
        self.numbers.insert(value.clone(), n);
        n
    }
}

/// How many scalars a value is made of.
fn entries(value: &Value) -> u32 {
    match value {
        Value::Seq(items) => items.iter().map(entries).sum(),
        Value::Set(items) => items.len() as u32,
        Value::Map(map) => map.entries.values().map(entries).sum(),
        _ => 1,
    }
}

#[derive(Debug)]
pub(crate) struct Layout {
    pub words: usize,
    pub slots: Vec<BitField>,
    pub(crate) plans: Vec<VariablePlan>,
    /// First slot of each shared variable, in the order of `Semantics::shared`.
    pub shared: Vec<(VarId, usize)>,
    pub(crate) shared_at: FxHashMap<VarId, usize>,
    pub instances: Vec<InstancePlace>,
    /// How many instances run from the start.
    pub(crate) at_once: usize,
    /// The store at the entry of the atomic block someone is in, kept where relies are looked at.
    pub entered: Option<usize>,
    pub interned: bool,
    pub(crate) interner: RwLock<Interner>,
}

const INTERNED_BITS: u32 = 32;
const MAX_WORDS: usize = 64;
const WORD_BITS: u32 = 64;

fn bits_for(codes: u128) -> u32 {
    (128 - codes.saturating_sub(1).leading_zeros()).max(1)
}

impl Layout {
    pub(crate) fn new(program: &Program, counts: &InstanceCounts, guess: &RangeGuess) -> Result<Layout, Escape> {
        let mut b = LayoutBuilder { program, guess, plans: Vec::new() };
        let shared: Vec<(VarId, usize)> = program.shared().map(|v| (v, b.plan(v))).collect();
        let mut menus: Vec<(Vec<(ThreadId, u64)>, bool)> = Vec::new();
        for (id, n) in program.threads.ids().zip(&counts.0) {
            menus.extend(std::iter::repeat_n((vec![(id, 0)], false), *n as usize));
        }
        let at_once = menus.len();
        let mut base = 1;
        let mut spawnable = Vec::new();
        for (id, t) in program.threads.iter_enumerated().filter(|(_, t)| t.start == Start::Spawned) {
            spawnable.push((id, base));
            base += t.code.locations.len() as u64;
        }
        menus.extend(std::iter::repeat_n((spawnable, true), guess.pool as usize));
        let local_plans: FxHashMap<VarId, usize> = program
            .threads
            .iter_enumerated()
            .filter(|(id, _)| menus.iter().any(|(menu, _)| menu.iter().any(|(t, _)| t == id)))
            .flat_map(|(_, t)| t.locals.clone())
            .map(|v| (v, b.plan(v)))
            .collect();
        let mut plans = b.plans;
        let has_inside = program.threads.iter().any(|t| t.code.locations.iter().any(|l| l.in_atomic_block));
        let has_relies = program.relies.iter().any(|r| r.formula.is_some());
        let entered_plan = (has_inside && has_relies).then(|| {
            plans.push(VariablePlan::interned(None, Sort::BOOL));
            plans.len() - 1
        });

        let mut out = Layout {
            words: 0,
            slots: Vec::new(),
            interned: plans.iter().any(|p| p.shape == StorageShape::Interned),
            plans,
            shared: Vec::new(),
            shared_at: FxHashMap::default(),
            instances: Vec::new(),
            at_once,
            entered: None,
            interner: RwLock::new(Interner::default()),
        };
        let mut bins: Vec<u32> = Vec::new();
        for (index, (menu, spawned)) in menus.into_iter().enumerate() {
            out.place_instance(program, index as u32 + 1, menu, spawned, &local_plans, &mut bins)?;
        }
        for (var, plan) in shared {
            let first = out.slots.len();
            out.place_fields(plan, &mut |bits| first_fit(&mut bins, bits));
            out.shared.push((var, first));
            out.shared_at.insert(var, first);
        }
        if let Some(plan) = entered_plan {
            out.entered = Some(out.slots.len());
            out.place_fields(plan, &mut |bits| first_fit(&mut bins, bits));
        }
        out.words = bins.len().max(1);
        if out.words > MAX_WORDS {
            return Err(out.largest());
        }
        Ok(out)
    }
    /// The variable with the most bits, to be kept by number instead.
    fn largest(&self) -> Escape {
        let size = |p: &&VariablePlan| p.slots() * p.bits as usize;
        match self
            .plans
            .iter()
            .filter(|p| !matches!(p.shape, StorageShape::Cell | StorageShape::Interned))
            .max_by_key(size)
        {
            Some(VariablePlan { var: Some(var), .. }) => Escape::Irregular { var: *var },
            _ => Escape::Stuck("too many variables for the packed form".into()),
        }
    }
    fn place_fields(&mut self, plan: usize, room: &mut dyn FnMut(u32) -> (usize, u32)) {
        let p = &self.plans[plan];
        for i in 0..p.slots() {
            let (bits, open, lo) = match (&p.shape, i) {
                (StorageShape::Sequence(cap), 0) => (bits_for(*cap as u128 + 1), false, 0),
                (StorageShape::Sequence(_), _) => (p.bits, p.open, p.lo),
                _ => (p.bits, p.open, p.lo),
            };
            let (word, shift) = room(bits);
            self.slots.push(BitField {
                word: word.min(255) as u8,
                shift: shift as u8,
                bits: bits as u8,
                open,
                lo,
                plan: plan as u32,
            });
        }
    }
    fn place_instance(
        &mut self,
        program: &Program,
        tid: u32,
        menu: Vec<(ThreadId, u64)>,
        spawned: bool,
        plans: &FxHashMap<VarId, usize>,
        bins: &mut Vec<u32>,
    ) -> Result<(), Escape> {
        let codes = menu.iter().map(|(t, base)| base + program.threads[*t].code.locations.len() as u64).max();
        let codes = codes.unwrap_or(1);
        // First lay the block out by itself, then find a place for the whole of it.
        let mut own: Vec<u32> = Vec::new();
        let mut fields: Vec<(usize, u32)> = vec![first_fit(&mut own, bits_for(codes.into()))];
        let mut slots: Vec<(usize, usize)> = Vec::new();
        for v in menu.iter().flat_map(|(t, _)| &program.threads[*t].locals) {
            let plan = plans[v];
            let p = &self.plans[plan];
            slots.push((plan, fields.len()));
            for i in 0..p.slots() {
                let bits = match (&p.shape, i) {
                    (StorageShape::Sequence(cap), 0) => bits_for(*cap as u128 + 1),
                    _ => p.bits,
                };
                fields.push(first_fit(&mut own, bits));
            }
        }
        let (word, shift, bits) = if own.len() == 1 {
            let (word, shift) = first_fit(bins, own[0]);
            (word, shift, own[0])
        } else {
            // Symmetry moves whole words of such a block: nothing else may lie in them.
            let word = bins.len();
            bins.extend(own.iter().map(|_| WORD_BITS));
            (word, 0, own.len() as u32 * WORD_BITS)
        };
        let mut places = fields.into_iter();
        let mut at = || {
            let (w, s) = places.next().expect("one place for each field");
            (word + w, shift + s)
        };
        let pc = self.slots.len();
        let (w, s) = at();
        self.slots.push(BitField {
            word: w.min(255) as u8,
            shift: s as u8,
            bits: bits_for(codes.into()) as u8,
            open: false,
            lo: 0,
            plan: u32::MAX,
        });
        let mut locals = FxHashMap::default();
        for v in menu.iter().flat_map(|(t, _)| &program.threads[*t].locals) {
            locals.insert(*v, self.slots.len());
            self.place_fields(plans[v], &mut |_| at());
        }
        self.instances.push(InstancePlace { tid, menu, spawned, pc, locals, word, shift, bits });
        Ok(())
    }
    pub(crate) fn plan_of(&self, slot: usize) -> &VariablePlan {
        &self.plans[self.slots[slot].plan as usize]
    }

    // Translation from and to the reference semantics.

    pub(crate) fn pack(&self, sem: &Semantics<'_>, state: &State) -> Result<Vec<u64>, Escape> {
        let mut words = vec![0; self.words];
        for ((_, first), value) in self.shared.iter().zip(&state.shared) {
            self.write(*first, value, &mut words)?;
        }
        if state.instances.len() > self.instances.len() {
            return Err(Escape::Instances);
        }
        for (place, instance) in self.instances.iter().zip(&state.instances) {
            let code = place.code(instance.thread, instance.at).ok_or(Escape::Instances)?;
            self.slots[place.pc].put(&mut words, code);
            // Locals of the threads this instance is not of keep code 0.
            for (v, value) in sem.program.threads[instance.thread].locals.iter().zip(&instance.locals) {
                self.write(place.locals[v], value, &mut words)?;
            }
        }
        if let Some(slot) = self.entered {
            let value = match &state.entered {
                None => Value::Any,
                Some(store) => Value::Seq((**store).clone()),
            };
            self.slots[slot].put(&mut words, self.intern(&value).into());
        }
        Ok(words)
    }
    /// The state with the maps undecided again at the keys that are not listed, where the packed form keeps them undecided.
    /// A search that copies such a map leaves those keys alone; the reference semantics must decide them before it copies.
    pub(crate) fn undecided_elsewhere(&self, sem: &Semantics<'_>, state: &State) -> State {
        let mut out = state.clone();
        for ((_, first), value) in self.shared.iter().zip(&mut out.shared) {
            self.undecide(*first, value);
        }
        for (place, instance) in self.instances.iter().zip(&mut out.instances) {
            for (v, value) in sem.program.threads[instance.thread].locals.iter().zip(&mut instance.locals) {
                if let Some(first) = place.locals.get(v) {
                    self.undecide(*first, value);
                }
            }
        }
        out
    }
    fn undecide(&self, first: usize, value: &mut Value) {
        let plan = self.plan_of(first);
        if let StorageShape::Array(levels) = &plan.shape
            && plan.default == OPEN_VALUE
        {
            undecide_levels(value, levels, &plan.key_sorts);
        }
    }
    /// How many entries the values of a state have that are kept by number: a step of the reference semantics copies them all.
    pub(crate) fn interned_entries(&self, words: &[u64]) -> u64 {
        let interner = self.interner.read().expect("no thread panics while interning");
        let interned =
            |s: &&BitField| s.plan != u32::MAX && self.plans[s.plan as usize].shape == StorageShape::Interned;
        let codes = self.slots.iter().filter(interned).map(|s| s.code(words) as usize);
        codes.map(|code| u64::from(interner.entries[code])).sum()
    }
    fn intern(&self, value: &Value) -> u32 {
        self.interner.write().expect("no thread panics while interning").number(value)
    }
    /// Puts a value into the slots of a variable.
    pub(crate) fn write(&self, first: usize, value: &Value, words: &mut [u64]) -> Result<(), Escape> {
        let plan = self.plan_of(first);
        let var = plan.var.expect("only variables are written");
        let put = |slot: usize, n: i64, words: &mut [u64]| -> Result<(), Escape> {
            let code = self.slots[slot].encode(n).ok_or_else(|| self.misfit(slot, n))?;
            self.slots[slot].put(words, code);
            Ok(())
        };
        let scalar = |v: &Value| match v {
            Value::Any => Ok(OPEN_VALUE),
            _ => plan.leaf.number(v).ok_or(Escape::Irregular { var }),
        };
        match &plan.shape {
            StorageShape::Cell => put(first, scalar(value)?, words),
            StorageShape::Interned => {
                self.slots[first].put(words, self.intern(value).into());
                Ok(())
            }
            StorageShape::Sequence(cap) => {
                let Value::Seq(items) = value else { return Err(Escape::Irregular { var }) };
                if items.len() > *cap {
                    return Err(Escape::Length { var, length: items.len() as i64 });
                }
                put(first, items.len() as i64, words)?;
                for i in 0..*cap {
                    match items.get(i) {
                        Some(v) => put(first + 1 + i, scalar(v)?, words)?,
                        None => self.slots[first + 1 + i].put(words, 0),
                    }
                }
                Ok(())
            }
            StorageShape::Array(levels) => {
                for i in 0..plan.slots() {
                    put(first + i, plan.default, words)?;
                }
                let mut entries = Vec::new();
                flatten(value, &mut Vec::new(), levels.len(), (plan.leaf, plan.default), &mut entries)
                    .ok_or(Escape::Irregular { var })?;
                for (path, v) in entries {
                    let mut at = 0;
                    for (level, (keys, key)) in levels.iter().zip(&path).enumerate() {
                        let k = plan.key_sorts[level].number(key).ok_or(Escape::Irregular { var })?;
                        let i = keys.position(k).ok_or_else(|| self.missing_key(plan, level, k))?;
                        at = at * keys.len() + i;
                    }
                    put(first + at, scalar(&v)?, words)?;
                }
                Ok(())
            }
        }
    }
    /// What to widen when a value does not fit a slot.
    pub(crate) fn misfit(&self, slot: usize, value: i64) -> Escape {
        let plan = self.plan_of(slot);
        match (plan.var, plan.leaf) {
            (Some(var), _) if value == OPEN_VALUE => Escape::Openable { var },
            (_, ScalarSort::Ref(class)) => Escape::Objects { class },
            (Some(var), _) => Escape::Range { var, value },
            _ => Escape::Stuck("a value without a variable".into()),
        }
    }
    pub(crate) fn missing_key(&self, plan: &VariablePlan, level: usize, key: i64) -> Escape {
        let var = plan.var.expect("arrays are variables");
        match plan.key_sorts.get(level) {
            Some(ScalarSort::Ref(class)) if key > 0 => Escape::Objects { class: *class },
            _ => Escape::Key { var, level, key },
        }
    }
    pub(crate) fn unpack(&self, sem: &Semantics<'_>, words: &[u64]) -> State {
        let terms = &sem.program.terms;
        let shared = self.shared.iter().map(|(_, first)| self.read(terms, *first, words)).collect();
        let mut instances = Vec::new();
        for place in &self.instances {
            let Some((thread, at)) = place.at(self.slots[place.pc].code(words)) else { break };
            let locals =
                sem.program.threads[thread].locals.iter().map(|v| self.read(terms, place.locals[v], words)).collect();
            instances.push(Instance { thread, tid: place.tid, at, locals });
        }
        let entered = self.entered.and_then(|slot| {
            let interner = self.interner.read().expect("no thread panics while interning");
            match &interner.values[self.slots[slot].code(words) as usize] {
                Value::Seq(store) => Some(Box::new(store.clone())),
                _ => None,
            }
        });
        State { shared, instances, entered }
    }
    /// The value of a variable.
    pub(crate) fn read(&self, terms: &Terms, first: usize, words: &[u64]) -> Value {
        let plan = self.plan_of(first);
        match &plan.shape {
            StorageShape::Cell => plan.leaf.value(self.slots[first].get(words)),
            StorageShape::Interned => {
                let interner = self.interner.read().expect("no thread panics while interning");
                interner.values[self.slots[first].code(words) as usize].clone()
            }
            StorageShape::Sequence(_) => {
                let len = self.slots[first].get(words) as usize;
                Value::Seq((1..=len).map(|i| plan.leaf.value(self.slots[first + i].get(words))).collect())
            }
            StorageShape::Array(levels) => self.read_array(terms, plan, plan.sort, levels, 0, first, words),
        }
    }
    #[allow(clippy::too_many_arguments)]
    fn read_array(
        &self,
        terms: &Terms,
        plan: &VariablePlan,
        sort: Sort,
        levels: &[LevelKeys],
        depth: usize,
        first: usize,
        words: &[u64],
    ) -> Value {
        let Some((keys, rest)) = levels.split_first() else { return plan.leaf.value(self.slots[first].get(words)) };
        let stride: usize = rest.iter().map(LevelKeys::len).product();
        let key = |i: usize| plan.key_sorts[depth].value(keys.key(i));
        let inner = |i: usize, s: Sort| self.read_array(terms, plan, s, rest, depth + 1, first + i * stride, words);
        match terms.kind(sort) {
            SortKind::Set(_) => {
                let held = (0..keys.len()).filter(|i| self.slots[first + i].get(words) == 1);
                Value::Set(held.map(key).collect())
            }
            SortKind::Map(_, v) => {
                let mut out = Value::map(constant(terms, v, plan));
                if let Value::Map(m) = &mut out {
                    (0..keys.len()).for_each(|i| m.set(key(i), inner(i, v)));
                }
                out
            }
            other => panic!("an array is a map or a set, not {other:?}"),
        }
    }
}

/// The value at a key of an array that is not listed.
fn constant(terms: &Terms, sort: Sort, plan: &VariablePlan) -> Value {
    match terms.kind(sort) {
        SortKind::Map(_, v) => Value::map(constant(terms, v, plan)),
        SortKind::Set(_) => Value::Set(Default::default()),
        _ => plan.leaf.value(plan.default),
    }
}

/// Makes a map undecided at every key that is not listed.
fn undecide_levels(value: &mut Value, levels: &[LevelKeys], sorts: &[ScalarSort]) {
    let (Value::Map(m), Some((keys, rest)), Some((sort, inner_sorts))) =
        (&mut *value, levels.split_first(), sorts.split_first())
    else {
        return;
    };
    let mut default = m.default.clone();
    if rest.is_empty() {
        default = Value::Any;
    } else {
        undecide_all(&mut default);
    }
    let mut out = Value::map(default);
    if let Value::Map(kept) = &mut out {
        for i in 0..keys.len() {
            let key = sort.value(keys.key(i));
            let mut inner = m.get(&key).clone();
            undecide_levels(&mut inner, rest, inner_sorts);
            kept.set(key, inner);
        }
    }
    *value = out;
}

/// Makes a value undecided at all keys.
fn undecide_all(value: &mut Value) {
    match value {
        Value::Map(m) => {
            m.entries.clear();
            undecide_all(&mut m.default);
        }
        other => *other = Value::Any,
    }
}

/// The entries of nested maps and sets, by path; `None` if a default is not the given one or the depth is wrong.
fn flatten(
    value: &Value,
    path: &mut Vec<Value>,
    depth: usize,
    (leaf, default): (ScalarSort, i64),
    out: &mut Vec<(Vec<Value>, Value)>,
) -> Option<()> {
    match value {
        Value::Map(m) if depth > 0 => {
            let mut plain = Vec::new();
            flatten(&m.default, &mut Vec::new(), depth - 1, (leaf, default), &mut plain)?;
            match (depth, plain.as_slice()) {
                (1, [(_, v)]) if (if *v == Value::Any { OPEN_VALUE } else { leaf.number(v)? }) == default => {}
                (1, _) => return None,
                (_, []) => {}
                _ => return None,
            }
            for (k, v) in &m.entries {
                path.push(k.clone());
                flatten(v, path, depth - 1, (leaf, default), out)?;
                path.pop();
            }
            Some(())
        }
        Value::Set(s) if depth == 1 => {
            for k in s {
                path.push(k.clone());
                out.push((path.clone(), Value::Bool(true)));
                path.pop();
            }
            Some(())
        }
        _ if depth == 0 => {
            out.push((path.clone(), value.clone()));
            Some(())
        }
        _ => None,
    }
}

/// The first word with room, and where in it.
fn first_fit(bins: &mut Vec<u32>, bits: u32) -> (usize, u32) {
    if let Some(w) = bins.iter().position(|used| used + bits <= WORD_BITS) {
        bins[w] += bits;
        return (w, bins[w] - bits);
    }
    bins.push(bits);
    (bins.len() - 1, 0)
}

struct LayoutBuilder<'a> {
    program: &'a Program,
    guess: &'a RangeGuess,
    plans: Vec<VariablePlan>,
}

impl LayoutBuilder<'_> {
    fn plan(&mut self, var: VarId) -> usize {
        let v = &self.program.vars[var];
        let plan = self
            .regular(var)
            .filter(|p| p.slots() <= MAX_SLOTS && p.bits <= 62)
            .unwrap_or(VariablePlan::interned(Some(var), v.sort));
        self.plans.push(plan);
        self.plans.len() - 1
    }
    /// The plan of a variable of a regular shape.
    fn regular(&self, var: VarId) -> Option<VariablePlan> {
        if self.guess.irregular.contains(&var) {
            return None;
        }
        let terms = &self.program.terms;
        let v = &self.program.vars[var];
        let mut open = self.guess.open.contains(&var);
        let mut sort = v.sort;
        let (mut levels, mut key_sorts) = (Vec::new(), Vec::new());
        let mut is_set = false;
        let shape = loop {
            let (key, inner) = match terms.kind(sort) {
                SortKind::Map(k, e) => (k, e),
                SortKind::Set(k) => {
                    is_set = true;
                    (k, Sort::BOOL)
                }
                SortKind::Seq(e) if levels.is_empty() => {
                    sort = e;
                    break StorageShape::Sequence(self.guess.lengths.get(&var).copied().unwrap_or(0).max(1) as usize);
                }
                SortKind::Seq(_) => return None,
                _ if levels.is_empty() => break StorageShape::Cell,
                _ => break StorageShape::Array(levels),
            };
            let scalar = ScalarSort::of(terms, key)?;
            levels.push(self.keys(var, levels.len(), scalar));
            key_sorts.push(scalar);
            sort = inner;
        };
        // An undecided set or sequence is a value of its own; only the table can hold it.
        if open && (is_set || matches!(shape, StorageShape::Sequence(_))) {
            return None;
        }
        let leaf = ScalarSort::of(terms, sort)?;
        let default = match &shape {
            StorageShape::Array(_) if is_set => 0,
            StorageShape::Array(_) => self.default(var, leaf)?,
            _ => 0,
        };
        open |= default == OPEN_VALUE;
        let (lo, count) = match leaf {
            ScalarSort::Bool => (0, 2),
            ScalarSort::Enum(n) => (0, u128::from(n.max(1))),
            ScalarSort::Ref(c) => (0, u128::from(self.guess.objects.get(&c).copied().unwrap_or(1)) + 1),
            ScalarSort::Int | ScalarSort::Machine(_) => {
                let (lo, hi) = self.guess.ranges.get(&var).copied().unwrap_or((0, 1));
                let (lo, hi) = if matches!(shape, StorageShape::Array(_)) && default != OPEN_VALUE {
                    (lo.min(default), hi.max(default))
                } else {
                    (lo, hi)
                };
                (lo, (hi as i128 - lo as i128) as u128 + 1)
            }
        };
        let bits = bits_for(count + u128::from(open));
        Some(VariablePlan { var: Some(var), sort: v.sort, leaf, shape, lo, bits, open, default, key_sorts })
    }
    /// The number at unlisted keys of an array, from the initial value.
    fn default(&self, var: VarId, leaf: ScalarSort) -> Option<i64> {
        let Some(initial) = self.program.vars[var].initial else {
            return Some(self.guess.defaults.get(&var).copied().unwrap_or(OPEN_VALUE));
        };
        let mut value = logic::eval::eval_term(&self.program.terms, initial, &FxHashMap::default()).ok()?;
        loop {
            match value {
                Value::Map(m) => value = m.default,
                Value::Any => return Some(OPEN_VALUE),
                other => return leaf.number(&other),
            }
        }
    }
    fn keys(&self, var: VarId, level: usize, scalar: ScalarSort) -> LevelKeys {
        let mut listed: Vec<i64> = self.guess.keys.get(&(var, level)).into_iter().flatten().copied().collect();
        match scalar {
            ScalarSort::Bool => return LevelKeys::Range { lo: 0, len: 2 },
            ScalarSort::Enum(n) => return LevelKeys::Range { lo: 0, len: n as usize },
            ScalarSort::Ref(c) => listed.extend(1..=i64::from(self.guess.objects.get(&c).copied().unwrap_or(1))),
            ScalarSort::Int | ScalarSort::Machine(_) if listed.is_empty() => listed.push(0),
            ScalarSort::Int | ScalarSort::Machine(_) => {}
        }
        listed.sort_unstable();
        listed.dedup();
        match (listed.first(), listed.last()) {
            (Some(&lo), Some(&hi)) if hi.saturating_sub(lo) < listed.len() as i64 + 2 => {
                LevelKeys::Range { lo, len: (hi - lo) as usize + 1 }
            }
            _ => LevelKeys::List(listed),
        }
    }
}
