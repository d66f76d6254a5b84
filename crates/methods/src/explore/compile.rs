//! Terms to instructions, for one instance over one layout.
//!
//! In: a layout and terms of the program. Out: code for `machine`. Maps, sets and sequences are never
//! built: a read of `m[k := v]` becomes a choice between `v` and a read of `m`, an update becomes stores of single
//! fields. What has no such form (`Beyond::Unsupported`) is left to the reference semantics, action by action.
//! Sharing in a term is kept, except across the two sides of a choice.

use super::code::{Array, Instr, MachineOp, Reg, StoreSide, Tables};
use super::guess::{Escape, MAX_SLOTS, symbols};
use super::layout::{Layout, LevelKeys, OPEN_VALUE, ScalarSort, StorageShape, VariablePlan};
use logic::{MachineIntSort, Node, Op, Quantifier, Sort, SortKind, Symbol, Term, Terms};
use program::{Program, VarId};
use rustc_hash::FxHashMap;

/// Why a term was not compiled.
#[derive(Clone, Debug)]
pub(crate) enum NotCompiled {
    Unsupported,
    /// It was found at once that the layout is too small.
    Escape(Escape),
}

pub(crate) type Made<T> = Result<T, NotCompiled>;

/// What compilation for any instance needs.
pub(crate) struct CompileContext<'a> {
    pub program: &'a Program,
    pub layout: &'a Layout,
    pub vars: FxHashMap<Symbol, VarId>,
    pub primed: FxHashMap<Symbol, VarId>,
}

impl<'a> CompileContext<'a> {
    pub(crate) fn new(program: &'a Program, layout: &'a Layout) -> Self {
        let primed = program.vars.iter_enumerated().map(|(id, v)| (v.primed, id)).collect();
        Self { program, layout, vars: symbols(program), primed }
    }
}

/// Compiles the terms of one piece of code.
pub(crate) struct TermCompiler<'a> {
    pub(crate) cx: &'a CompileContext<'a>,
    pub(crate) tables: &'a mut Tables,
    /// The instance whose locals and tid are meant.
    pub instance: Option<usize>,
    pub bound: FxHashMap<Symbol, Reg>,
    pub code: Vec<Instr>,
    pub next: usize,
    memo: FxHashMap<Term, Reg>,
    log: Vec<Term>,
    /// Reads of this variable may pass undecided values on (they stay where they are).
    passing: Option<VarId>,
}

/// A map, set or sequence variable as a place of fields.
#[derive(Clone, Copy)]
pub(crate) struct FieldRange<'a> {
    pub first: usize,
    pub plan: &'a VariablePlan,
    pub side: StoreSide,
}

const MAX_CODE: usize = 4000;
const MAX_REGS: usize = 2000;

impl<'a> TermCompiler<'a> {
    pub(crate) fn new(cx: &'a CompileContext<'a>, tables: &'a mut Tables, instance: Option<usize>) -> Self {
        Self {
            cx,
            tables,
            instance,
            bound: FxHashMap::default(),
            code: Vec::new(),
            next: 0,
            memo: FxHashMap::default(),
            log: Vec::new(),
            passing: None,
        }
    }
    pub(crate) fn terms(&self) -> &'a Terms {
        &self.cx.program.terms
    }
    pub(crate) fn reg(&mut self) -> Made<Reg> {
        self.next += 1;
        if self.next > MAX_REGS || self.code.len() > MAX_CODE {
            Err(NotCompiled::Unsupported)
        } else {
            Ok(self.next as Reg - 1)
        }
    }
    pub(crate) fn emit(&mut self, instr: Instr) {
        self.code.push(instr);
    }
    fn remember(&mut self, term: Term, reg: Reg) -> Reg {
        if self.memo.insert(term, reg).is_none() {
            self.log.push(term);
        }
        reg
    }
    /// Runs `body`; what it computed is not known after it.
    pub(crate) fn scoped<T>(&mut self, body: impl FnOnce(&mut Self) -> Made<T>) -> Made<T> {
        let depth = self.log.len();
        let out = body(self);
        for t in self.log.drain(depth..) {
            self.memo.remove(&t);
        }
        out
    }
    pub(crate) fn constant(&mut self, k: i64) -> Made<Reg> {
        let d = self.reg()?;
        self.emit(Instr::Const { d, k });
        Ok(d)
    }
    /// The number of a literal.
    pub(crate) fn literal(&self, term: Term) -> Option<i64> {
        match self.terms().node(term) {
            Node::Bool(b) => Some(b.into()),
            Node::Num(n, sort) => {
                // In a register the least number is a number like others.
                let least = (n == i128::from(i64::MIN)).then_some(i64::MIN);
                ScalarSort::of(self.terms(), sort)?.number(&logic::Value::Int(n)).or(least)
            }
            Node::Variant(_, v) => Some(v.into()),
            Node::Ref(_, n) => Some(n.into()),
            Node::Sym(s) if s == self.cx.program.tid => {
                self.instance.map(|i| i64::from(self.cx.layout.instances[i].tid))
            }
            _ => None,
        }
    }
    /// Where a variable's fields are, as this instance sees it.
    pub(crate) fn place(&self, symbol: Symbol) -> Option<(VarId, FieldRange<'a>)> {
        let layout = self.cx.layout;
        let at = |var: VarId, side: StoreSide| {
            let local = self.instance.and_then(|i| layout.instances[i].locals.get(&var));
            let first = *local.or_else(|| layout.shared_at.get(&var))?;
            Some((var, FieldRange { first, plan: layout.plan_of(first), side }))
        };
        match self.cx.vars.get(&symbol) {
            Some(var) => at(*var, StoreSide::Before),
            None => at(*self.cx.primed.get(&symbol)?, StoreSide::After),
        }
    }

    // Scalars.

    pub(crate) fn scalar(&mut self, term: Term) -> Made<Reg> {
        if let Some(r) = self.memo.get(&term) {
            return Ok(*r);
        }
        let r = self.compute(term)?;
        Ok(self.remember(term, r))
    }
    fn compute(&mut self, term: Term) -> Made<Reg> {
        if let Some(k) = self.literal(term) {
            return self.constant(k);
        }
        match self.terms().node(term) {
            Node::Sym(s) => match self.bound.get(&s) {
                Some(r) => Ok(*r),
                None => {
                    let (_, place) = self.place(s).ok_or(NotCompiled::Unsupported)?;
                    if place.plan.shape != StorageShape::Cell {
                        return Err(NotCompiled::Unsupported);
                    }
                    self.load(place.first, place.side)
                }
            },
            Node::App(op, args) => self.apply(term, op, &args),
            Node::Quant(q, bound, body) => self.quantifier(q, &bound, body),
            _ => Err(NotCompiled::Unsupported),
        }
    }
    fn load(&mut self, slot: usize, side: StoreSide) -> Made<Reg> {
        let d = self.reg()?;
        let s = self.cx.layout.slots[slot];
        self.emit(if s.open {
            Instr::LoadOpen { side, d, slot: slot as u32 }
        } else {
            Instr::Load { side, word: s.word, shift: s.shift, bits: s.bits, d, lo: s.lo }
        });
        Ok(d)
    }
    fn binary(&mut self, args: &[Term], make: impl FnOnce(Reg, Reg, Reg) -> Instr) -> Made<Reg> {
        let (a, b) = (self.scalar(args[0])?, self.scalar(args[1])?);
        let d = self.reg()?;
        self.emit(make(d, a, b));
        Ok(d)
    }
    fn machine_binary(&mut self, m: MachineIntSort, op: MachineOp, args: &[Term]) -> Made<Reg> {
        let r = self.binary(args, |d, a, b| Instr::Machine { op, d, a, b, width: m.bits })?;
        self.wrap(r, m)
    }
    fn wrap(&mut self, a: Reg, m: MachineIntSort) -> Made<Reg> {
        if m.bits == 64 {
            return Ok(a);
        }
        let d = self.reg()?;
        self.emit(Instr::Wrap { d, a, width: m.bits, signed: m.signed });
        Ok(d)
    }
    fn apply(&mut self, term: Term, op: Op, args: &[Term]) -> Made<Reg> {
        let t = self.terms();
        let sort = t.sort_of(term);
        let machine = sort.as_machine();
        let unsigned64 = |s: Sort| s.as_machine().is_some_and(|m| m.bits == 64 && !m.signed);
        match (op, machine) {
            (Op::Not, _) => {
                let a = self.scalar(args[0])?;
                let d = self.reg()?;
                self.emit(Instr::Not { d, a });
                Ok(d)
            }
            (Op::And, _) => self.junction(args, false),
            (Op::Or, _) => self.junction(args, true),
            (Op::Implies, _) => {
                let not = t.not(args[0]);
                self.junction(&[not, args[1]], true)
            }
            (Op::Ite, _) => {
                let c = self.scalar(args[0])?;
                self.choice(c, |s| s.scalar(args[1]), |s| s.scalar(args[2]))
            }
            (Op::Eq, _) => self.equal(args[0], args[1]),
            (Op::Lt | Op::Le, _) => {
                let operands = t.sort_of(args[0]);
                if !unsigned64(operands) {
                    if let (Some(k), true) = (self.literal(args[1]), op == Op::Lt) {
                        let a = self.scalar(args[0])?;
                        let d = self.reg()?;
                        self.emit(Instr::LtK { d, a, k });
                        return Ok(d);
                    }
                    if let (Some(k), true) = (self.literal(args[0]), op == Op::Lt) {
                        let a = self.scalar(args[1])?;
                        let d = self.reg()?;
                        self.emit(Instr::GtK { d, a, k });
                        return Ok(d);
                    }
                }
                self.binary(args, |d, a, b| match (op, unsigned64(operands)) {
                    (Op::Lt, false) => Instr::Lt { d, a, b },
                    (_, false) => Instr::Le { d, a, b },
                    (Op::Lt, true) => Instr::LtU { d, a, b },
                    (_, true) => Instr::LeU { d, a, b },
                })
            }
            (Op::Add | Op::Sub, None) if self.literal(args[1]).is_some_and(|k| k != OPEN_VALUE) => {
                let k = self.literal(args[1]).expect("just seen");
                let a = self.scalar(args[0])?;
                let d = self.reg()?;
                self.emit(Instr::AddK { d, a, k: if op == Op::Add { k } else { -k } });
                Ok(d)
            }
            (Op::Add, None) => self.binary(args, |d, a, b| Instr::Add { d, a, b }),
            (Op::Sub, None) => self.binary(args, |d, a, b| Instr::Sub { d, a, b }),
            (Op::Mul, None) => self.binary(args, |d, a, b| Instr::Mul { d, a, b }),
            (Op::Div, None) => self.binary(args, |d, a, b| Instr::Div { d, a, b }),
            (Op::Mod, None) => self.binary(args, |d, a, b| Instr::Mod { d, a, b }),
            (Op::Neg, _) => {
                let zero = t.num(0, sort);
                let negated = t.sub(zero, args[0]);
                self.scalar(negated)
            }
            (Op::Add, Some(m)) => self.machine_binary(m, MachineOp::Add, args),
            (Op::Sub, Some(m)) => self.machine_binary(m, MachineOp::Sub, args),
            (Op::Mul, Some(m)) => self.machine_binary(m, MachineOp::Mul, args),
            (Op::Div, Some(m)) => {
                self.machine_binary(m, if m.signed { MachineOp::DivSigned } else { MachineOp::DivUnsigned }, args)
            }
            (Op::Mod, Some(m)) => {
                self.machine_binary(m, if m.signed { MachineOp::ModSigned } else { MachineOp::ModUnsigned }, args)
            }
            (Op::BitAnd, Some(m)) => self.machine_binary(m, MachineOp::BitAnd, args),
            (Op::BitOr, Some(m)) => self.machine_binary(m, MachineOp::BitOr, args),
            (Op::BitXor, Some(m)) => self.machine_binary(m, MachineOp::BitXor, args),
            (Op::BitNot, Some(m)) => {
                let ones = t.num(-1, sort);
                self.machine_binary(m, MachineOp::BitXor, &[args[0], ones])
            }
            (Op::Shl, Some(m)) => self.machine_binary(m, MachineOp::Shl, args),
            (Op::Shr, Some(m)) => {
                self.machine_binary(m, if m.signed { MachineOp::ShrSigned } else { MachineOp::ShrUnsigned }, args)
            }
            (Op::Cast(_), _) => {
                let a = self.scalar(args[0])?;
                match machine {
                    Some(m) => self.wrap(a, m),
                    None if unsigned64(t.sort_of(args[0])) => {
                        let d = self.reg()?;
                        self.emit(Instr::FromU64 { d, a });
                        Ok(d)
                    }
                    None => Ok(a),
                }
            }
            (Op::Select, _) => {
                let key = self.scalar(args[1])?;
                self.leaf(args[0], &[key])
            }
            (Op::Member, _) => {
                let key = self.scalar(args[0])?;
                self.leaf(args[1], &[key])
            }
            (Op::Subset, _) => self.pointwise(args[0], args[1], |d, a, b| Instr::Le { d, a, b }),
            (Op::Len, _) => self.length(args[0]),
            (Op::At, _) => {
                let i = self.scalar(args[1])?;
                let len = self.length(args[0])?;
                let zero = self.constant(0)?;
                let (low, high, inside) = (self.reg()?, self.reg()?, self.reg()?);
                self.emit(Instr::Le { d: low, a: zero, b: i });
                self.emit(Instr::Lt { d: high, a: i, b: len });
                self.emit(Instr::And { d: inside, a: low, b: high });
                // Every sort's default has the number 0.
                self.choice(inside, |s| s.element(args[0], i), |s| s.constant(0))
            }
            _ => Err(NotCompiled::Unsupported),
        }
    }
    /// Evaluated from the left, up to the deciding argument.
    fn junction(&mut self, args: &[Term], decided: bool) -> Made<Reg> {
        let d = self.reg()?;
        let mut jumps = Vec::new();
        self.scoped(|s| {
            for (i, a) in args.iter().enumerate() {
                let r = s.scalar(*a)?;
                s.emit(Instr::Copy { d, a: r });
                if i + 1 < args.len() {
                    jumps.push(s.code.len());
                    s.emit(if decided { Instr::JumpIf { a: r, to: 0 } } else { Instr::JumpIfNot { a: r, to: 0 } });
                }
            }
            Ok(())
        })?;
        let end = self.code.len();
        jumps.into_iter().for_each(|j| self.land(j, end));
        Ok(d)
    }
    pub(crate) fn land(&mut self, jump: usize, target: usize) {
        match &mut self.code[jump] {
            Instr::Jump { to } | Instr::JumpIf { to, .. } | Instr::JumpIfNot { to, .. } => *to = target as u32,
            other => panic!("a jump was expected, not {other:?}"),
        }
    }
    pub(crate) fn choice(
        &mut self,
        c: Reg,
        then: impl FnOnce(&mut Self) -> Made<Reg>,
        other: impl FnOnce(&mut Self) -> Made<Reg>,
    ) -> Made<Reg> {
        let d = self.reg()?;
        let skip = self.code.len();
        self.emit(Instr::JumpIfNot { a: c, to: 0 });
        let a = self.scoped(then)?;
        self.emit(Instr::Copy { d, a });
        let end = self.code.len();
        self.emit(Instr::Jump { to: 0 });
        let here = self.code.len();
        self.land(skip, here);
        let b = self.scoped(other)?;
        self.emit(Instr::Copy { d, a: b });
        let here = self.code.len();
        self.land(end, here);
        Ok(d)
    }
    fn equal(&mut self, a: Term, b: Term) -> Made<Reg> {
        let t = self.terms();
        match t.kind(t.sort_of(a)) {
            SortKind::Map(..) | SortKind::Set(_) if a == b => self.constant(1),
            SortKind::Map(..) | SortKind::Set(_) => self.pointwise(a, b, |d, a, b| Instr::Eq { d, a, b }),
            SortKind::Seq(_) => self.equal_sequences(a, b),
            _ => {
                for (x, y) in [(a, b), (b, a)] {
                    if let Some(k) = self.literal(y) {
                        let a = self.scalar(x)?;
                        let d = self.reg()?;
                        self.emit(Instr::EqK { d, a, k });
                        return Ok(d);
                    }
                }
                self.binary(&[a, b], |d, a, b| Instr::Eq { d, a, b })
            }
        }
    }
    /// Quantifiers over few values are written out.
    fn quantifier(&mut self, q: Quantifier, bound: &[Symbol], body: Term) -> Made<Reg> {
        let t = self.terms();
        let mut instances = vec![body];
        for s in bound {
            let sort = t.symbol_sort(*s);
            let values: Vec<Term> = match t.kind(sort) {
                SortKind::Bool => vec![t.ff(), t.tt()],
                SortKind::Enum(e) => (0..t.enum_size(e) as u32).map(|v| t.variant(e, v)).collect(),
                SortKind::Int => {
                    let (lo, hi) = self.range(q, *s, body).ok_or(NotCompiled::Unsupported)?;
                    (lo..=hi).map(|n| t.int(n)).collect()
                }
                _ => return Err(NotCompiled::Unsupported),
            };
            if values.len() * instances.len() > 256 {
                return Err(NotCompiled::Unsupported);
            }
            instances = instances
                .iter()
                .flat_map(|i| values.iter().map(|v| t.substitute(*i, [(*s, *v)])).collect::<Vec<_>>())
                .collect();
        }
        if instances.is_empty() {
            return self.constant((q == Quantifier::Forall).into());
        }
        self.junction(&instances, q == Quantifier::Exists)
    }
    /// Literal bounds of a bound integer.
    fn range(&self, q: Quantifier, s: Symbol, body: Term) -> Option<(i128, i128)> {
        let t = self.terms();
        let x = t.sym(s);
        let mut hypotheses = match (q, t.app(body)) {
            (Quantifier::Exists, _) => t.conjuncts(body),
            (Quantifier::Forall, Some((Op::Implies, args))) => t.conjuncts(args[0]),
            _ => return None,
        };
        let number = |e: Term| if let Node::Num(n, _) = t.node(e) { Some(n) } else { None };
        let (mut lo, mut hi) = (None, None);
        while let Some(h) = hypotheses.pop() {
            let Some((op @ (Op::Lt | Op::Le), args)) = t.app(h) else { continue };
            let strict = i128::from(op == Op::Lt);
            if args[1] == x {
                lo = number(args[0]).map(|n| n + strict).max(lo);
            } else if args[0] == x
                && let Some(n) = number(args[1])
            {
                hi = Some(hi.map_or(n - strict, |h: i128| h.min(n - strict)));
            }
        }
        match (lo, hi) {
            (Some(l), Some(h)) if h - l < 256 => Some((l, h)),
            _ => None,
        }
    }

    // Maps and sets.

    fn value_at(&mut self, value: Term, rest: &[Reg]) -> Made<Reg> {
        if rest.is_empty() { self.scalar(value) } else { self.leaf(value, rest) }
    }
    /// The number a map or set holds at a path of keys; membership for sets.
    pub(crate) fn leaf(&mut self, map: Term, keys: &[Reg]) -> Made<Reg> {
        match self.terms().node(map) {
            Node::Sym(s) => {
                let (var, place) = self.place(s).ok_or(NotCompiled::Unsupported)?;
                let array = self.array(&place)?;
                let at = self.position(
                    array,
                    place.plan,
                    keys,
                    if place.plan.default == OPEN_VALUE { Need::Listed } else { Need::Maybe },
                )?;
                let d = self.reg()?;
                let passes = self.passing == Some(var) && place.side == StoreSide::Before;
                self.emit(if passes {
                    Instr::PassAt { d, array, at }
                } else {
                    Instr::LoadAt { side: place.side, d, array, at }
                });
                Ok(d)
            }
            Node::App(Op::Select, args) => {
                let mut path = vec![self.scalar(args[1])?];
                path.extend(keys);
                self.leaf(args[0], &path)
            }
            Node::App(Op::Store, args) => {
                let k = self.scalar(args[1])?;
                let same = self.reg()?;
                self.emit(Instr::Eq { d: same, a: k, b: keys[0] });
                self.choice(same, |s| s.value_at(args[2], &keys[1..]), |s| s.leaf(args[0], keys))
            }
            Node::App(Op::Ite, args) => {
                let c = self.scalar(args[0])?;
                self.choice(c, |s| s.leaf(args[1], keys), |s| s.leaf(args[2], keys))
            }
            Node::App(Op::ConstMap(_), args) => self.value_at(args[0], &keys[1..]),
            Node::App(Op::EmptySet(_), _) => self.constant(0),
            Node::App(Op::Insert, args) => {
                let e = self.scalar(args[0])?;
                let same = self.reg()?;
                self.emit(Instr::Eq { d: same, a: e, b: keys[0] });
                self.choice(same, |s| s.constant(1), |s| s.leaf(args[1], keys))
            }
            Node::App(Op::Union, args) => {
                let c = self.leaf(args[0], keys)?;
                self.choice(c, |s| s.constant(1), |s| s.leaf(args[1], keys))
            }
            Node::App(Op::Minus, args) => {
                let c = self.leaf(args[1], keys)?;
                self.choice(c, |s| s.constant(0), |s| s.leaf(args[0], keys))
            }
            _ => Err(NotCompiled::Unsupported),
        }
    }
    pub(crate) fn array(&mut self, place: &FieldRange<'a>) -> Made<u16> {
        let plan = self.cx.layout.slots[place.first].plan;
        if !matches!(place.plan.shape, StorageShape::Array(_) | StorageShape::Sequence(_)) {
            return Err(NotCompiled::Unsupported);
        }
        let first = place.first as u32;
        let known = self.tables.arrays.iter().position(|a| a.first == first);
        let at = known.unwrap_or_else(|| {
            self.tables.arrays.push(Array { first, plan, default: place.plan.default });
            self.tables.arrays.len() - 1
        });
        Ok(at as u16)
    }
    /// The position of a path of keys in an array.
    pub(crate) fn position(&mut self, array: u16, plan: &VariablePlan, path: &[Reg], need: Need) -> Made<Reg> {
        let StorageShape::Array(levels) = &plan.shape else { return Err(NotCompiled::Unsupported) };
        if levels.len() != path.len() {
            return Err(NotCompiled::Unsupported);
        }
        let mut whole: Option<Reg> = None;
        for (level, (keys, key)) in levels.iter().zip(path).enumerate() {
            let table = self.keys(keys);
            let at = self.reg()?;
            self.emit(Instr::Position { d: at, keys: table, a: *key });
            if need == Need::Listed {
                self.emit(Instr::Listed { at, key: *key, array, level: level as u8 });
            }
            whole = Some(match whole {
                None => at,
                Some(before) => {
                    let d = self.reg()?;
                    self.emit(Instr::Join { d, a: before, b: at, n: keys.len() as u16 });
                    d
                }
            });
        }
        whole.ok_or(NotCompiled::Unsupported)
    }
    fn keys(&mut self, keys: &LevelKeys) -> u16 {
        let at = self.tables.keys.iter().position(|k| k == keys).unwrap_or_else(|| {
            self.tables.keys.push(keys.clone());
            self.tables.keys.len() - 1
        });
        at as u16
    }
    /// Collects the listed keys of the variables a map or set is made of, and the keys that are computed.
    fn gather(
        &mut self,
        map: Term,
        listed: &mut Vec<i64>,
        computed: &mut Vec<Reg>,
        defaults: &mut Vec<i64>,
    ) -> Made<()> {
        match self.terms().node(map) {
            Node::Sym(s) => {
                let (_, place) = self.place(s).ok_or(NotCompiled::Unsupported)?;
                let StorageShape::Array(levels) = &place.plan.shape else { return Err(NotCompiled::Unsupported) };
                let [keys] = levels.as_slice() else { return Err(NotCompiled::Unsupported) };
                listed.extend((0..keys.len()).map(|i| keys.key(i)));
                // Where every key is listed nothing else is left to compare.
                if !matches!(place.plan.key_sorts[0], ScalarSort::Bool | ScalarSort::Enum(_)) {
                    defaults.push(place.plan.default);
                }
                Ok(())
            }
            Node::App(Op::Store, args) => {
                computed.push(self.scalar(args[1])?);
                self.gather(args[0], listed, computed, defaults)
            }
            Node::App(Op::Insert, args) => {
                computed.push(self.scalar(args[0])?);
                self.gather(args[1], listed, computed, defaults)
            }
            Node::App(Op::Ite, args) => {
                self.gather(args[1], listed, computed, defaults)?;
                self.gather(args[2], listed, computed, defaults)
            }
            Node::App(Op::Union | Op::Minus, args) => {
                self.gather(args[0], listed, computed, defaults)?;
                self.gather(args[1], listed, computed, defaults)
            }
            Node::App(Op::EmptySet(_), _) => {
                defaults.push(0);
                Ok(())
            }
            Node::App(Op::ConstMap(sort), args) => {
                let t = self.terms();
                let SortKind::Map(k, _) = t.kind(sort) else { return Err(NotCompiled::Unsupported) };
                if !matches!(t.kind(k), SortKind::Bool | SortKind::Enum(_)) {
                    defaults.push(self.literal(args[0]).ok_or(NotCompiled::Unsupported)?);
                }
                Ok(())
            }
            _ => Err(NotCompiled::Unsupported),
        }
    }
    /// Holds at every key: those listed, those computed, and all others, where the values are the same default.
    fn pointwise(&mut self, a: Term, b: Term, make: impl Fn(Reg, Reg, Reg) -> Instr) -> Made<Reg> {
        let (mut listed, mut computed, mut defaults) = (Vec::new(), Vec::new(), Vec::new());
        self.gather(a, &mut listed, &mut computed, &mut defaults)?;
        self.gather(b, &mut listed, &mut computed, &mut defaults)?;
        listed.sort_unstable();
        listed.dedup();
        if defaults.iter().any(|d| *d != defaults[0]) || listed.len() > MAX_SLOTS {
            return Err(NotCompiled::Unsupported);
        }
        let mut keys = computed;
        for k in listed {
            keys.push(self.constant(k)?);
        }
        let d = self.constant(1)?;
        let mut jumps = Vec::new();
        for k in keys {
            self.scoped(|s| {
                let (x, y) = (s.leaf(a, &[k])?, s.leaf(b, &[k])?);
                s.emit(make(d, x, y));
                jumps.push(s.code.len());
                s.emit(Instr::JumpIfNot { a: d, to: 0 });
                Ok(())
            })?;
        }
        let end = self.code.len();
        jumps.into_iter().for_each(|j| self.land(j, end));
        Ok(d)
    }
    /// Reads of the variable itself may pass undecided values on while `body` is compiled.
    pub(crate) fn passing<T>(&mut self, var: VarId, body: impl FnOnce(&mut Self) -> Made<T>) -> Made<T> {
        let before = self.passing.replace(var);
        let out = self.scoped(body);
        self.passing = before;
        out
    }
    /// The keys of the levels a general update of a variable has to write, after making sure that no other is needed.
    pub(crate) fn keys_written(&mut self, map: Term, plan: &VariablePlan, array: u16) -> Made<Vec<i64>> {
        let StorageShape::Array(levels) = &plan.shape else { return Err(NotCompiled::Unsupported) };
        let [own] = levels.as_slice() else { return Err(NotCompiled::Unsupported) };
        let (mut listed, mut computed, mut defaults) = (Vec::new(), Vec::new(), Vec::new());
        self.gather(map, &mut listed, &mut computed, &mut defaults)?;
        let var = plan.var.ok_or(NotCompiled::Unsupported)?;
        if defaults.iter().any(|d| *d != plan.default) {
            return Err(NotCompiled::Escape(Escape::Irregular { var }));
        }
        if let Some(key) = listed.iter().find(|k| own.position(**k).is_none()) {
            return Err(NotCompiled::Escape(self.cx.layout.missing_key(plan, 0, *key)));
        }
        for k in computed {
            self.position(array, plan, &[k], Need::Listed)?;
        }
        Ok((0..own.len()).map(|i| own.key(i)).collect())
    }
}

/// Whether a key must be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    Maybe,
    Listed,
}
