//! Sequences, and the updates of an action: what is written to which fields.
//!
//! Updates are simultaneous: every value is computed from the store before the step, and all stores come after all
//! computations. An update `m := m[k := v]` is one store; a general one writes every listed key.
//! In: the updates of an action, over the layout of a state. Out: instructions that compute first and store afterwards.

use super::code::{Instr, Reg, StoreSide};
use super::compile::{FieldRange, Made, Need, NotCompiled, TermCompiler};
use super::layout::{Layout, StorageShape};
use logic::{Node, Op, Sort, SortKind, Term};
use program::VarId;

/// A store that happens after all values are computed.
pub(crate) struct Pending {
    /// Only if this register is as said.
    pub when: Vec<(Reg, bool)>,
    pub what: UpdateTarget,
}

pub(crate) enum UpdateTarget {
    Slot(u32, Reg),
    At(u16, Reg, Reg),
    Code(u32, u64),
    Bump(u32, i64),
}

impl<'a> TermCompiler<'a> {
    // Sequences.

    /// The length of a sequence.
    pub(crate) fn length(&mut self, seq: Term) -> Made<Reg> {
        match self.terms().node(seq) {
            Node::Sym(s) => {
                let (_, place) = self.place(s).ok_or(NotCompiled::Unsupported)?;
                if !matches!(place.plan.shape, StorageShape::Sequence(_)) {
                    return Err(NotCompiled::Unsupported);
                }
                let d = self.reg()?;
                let slot = self.cx.layout.slots[place.first];
                self.emit(Instr::Load {
                    side: place.side,
                    word: slot.word,
                    shift: slot.shift,
                    bits: slot.bits,
                    d,
                    lo: 0,
                });
                Ok(d)
            }
            Node::App(Op::EmptySeq(_), _) => self.constant(0),
            Node::App(Op::Unit, _) => self.constant(1),
            Node::App(Op::Concat, args) => {
                let (a, b) = (self.length(args[0])?, self.length(args[1])?);
                let d = self.reg()?;
                self.emit(Instr::Add { d, a, b });
                Ok(d)
            }
            Node::App(Op::Slice, args) => {
                let (from, to) = self.slice(&args)?;
                let d = self.reg()?;
                self.emit(Instr::Sub { d, a: to, b: from });
                Ok(d)
            }
            Node::App(Op::Ite, args) => {
                let c = self.scalar(args[0])?;
                self.choice(c, |s| s.length(args[1]), |s| s.length(args[2]))
            }
            _ => Err(NotCompiled::Unsupported),
        }
    }
    /// The ends of a slice, clamped.
    fn slice(&mut self, args: &[Term]) -> Made<(Reg, Reg)> {
        let len = self.length(args[0])?;
        let zero = self.constant(0)?;
        let from = self.scalar(args[1])?;
        let to = self.scalar(args[2])?;
        let to = self.clamp(to, zero, len)?;
        let from = self.clamp(from, zero, to)?;
        Ok((from, to))
    }
    fn clamp(&mut self, x: Reg, lo: Reg, hi: Reg) -> Made<Reg> {
        let below = self.reg()?;
        self.emit(Instr::Lt { d: below, a: x, b: lo });
        let x = self.choice(below, |_| Ok(lo), |_| Ok(x))?;
        let above = self.reg()?;
        self.emit(Instr::Lt { d: above, a: hi, b: x });
        self.choice(above, |_| Ok(hi), |_| Ok(x))
    }
    /// The element at an index that is inside the sequence.
    pub(crate) fn element(&mut self, seq: Term, index: Reg) -> Made<Reg> {
        match self.terms().node(seq) {
            Node::Sym(s) => {
                let (_, place) = self.place(s).ok_or(NotCompiled::Unsupported)?;
                if !matches!(place.plan.shape, StorageShape::Sequence(_)) {
                    return Err(NotCompiled::Unsupported);
                }
                let array = self.array(&place)?;
                let (at, d) = (self.reg()?, self.reg()?);
                self.emit(Instr::AddK { d: at, a: index, k: 1 });
                self.emit(Instr::LoadAt { side: place.side, d, array, at });
                Ok(d)
            }
            Node::App(Op::Unit, args) => self.scalar(args[0]),
            Node::App(Op::Concat, args) => {
                let left = self.length(args[0])?;
                let first = self.reg()?;
                self.emit(Instr::Lt { d: first, a: index, b: left });
                self.choice(
                    first,
                    |s| s.element(args[0], index),
                    |s| {
                        let rest = s.reg()?;
                        s.emit(Instr::Sub { d: rest, a: index, b: left });
                        s.element(args[1], rest)
                    },
                )
            }
            Node::App(Op::Slice, args) => {
                let (from, _) = self.slice(&args)?;
                let at = self.reg()?;
                self.emit(Instr::Add { d: at, a: from, b: index });
                self.element(args[0], at)
            }
            Node::App(Op::Ite, args) => {
                let c = self.scalar(args[0])?;
                self.choice(c, |s| s.element(args[1], index), |s| s.element(args[2], index))
            }
            // The empty sequence has no element: this is never run.
            Node::App(Op::EmptySeq(_), _) => self.constant(0),
            _ => Err(NotCompiled::Unsupported),
        }
    }
    /// The most elements a sequence can have in this layout.
    fn longest(&self, seq: Term) -> Option<usize> {
        Some(match self.terms().node(seq) {
            Node::Sym(s) => match self.place(s)?.1.plan.shape {
                StorageShape::Sequence(cap) => cap,
                _ => return None,
            },
            Node::App(Op::EmptySeq(_), _) => 0,
            Node::App(Op::Unit, _) => 1,
            Node::App(Op::Concat, args) => self.longest(args[0])? + self.longest(args[1])?,
            Node::App(Op::Slice, args) => self.longest(args[0])?,
            Node::App(Op::Ite, args) => self.longest(args[1])?.max(self.longest(args[2])?),
            _ => return None,
        })
    }
    pub(crate) fn equal_sequences(&mut self, a: Term, b: Term) -> Made<Reg> {
        let most = self.longest(a).zip(self.longest(b)).map(|(x, y)| x.min(y)).ok_or(NotCompiled::Unsupported)?;
        let (la, lb) = (self.length(a)?, self.length(b)?);
        let d = self.reg()?;
        self.emit(Instr::Eq { d, a: la, b: lb });
        let mut jumps = vec![self.code.len()];
        self.emit(Instr::JumpIfNot { a: d, to: 0 });
        for i in 0..most {
            self.scoped(|s| {
                let index = s.constant(i as i64)?;
                let inside = s.reg()?;
                s.emit(Instr::Lt { d: inside, a: index, b: la });
                jumps.push(s.code.len());
                s.emit(Instr::JumpIfNot { a: inside, to: 0 });
                let (x, y) = (s.element(a, index)?, s.element(b, index)?);
                s.emit(Instr::Eq { d, a: x, b: y });
                jumps.push(s.code.len());
                s.emit(Instr::JumpIfNot { a: d, to: 0 });
                Ok(())
            })?;
        }
        let end = self.code.len();
        jumps.into_iter().for_each(|j| self.land(j, end));
        Ok(d)
    }

    // Updates.

    /// Computes what an update writes; the stores are appended to `pending`.
    pub(crate) fn update(&mut self, var: VarId, value: Term, pending: &mut Vec<Pending>) -> Made<()> {
        let (_, place) = self.place(self.cx.program.vars[var].symbol).ok_or(NotCompiled::Unsupported)?;
        debug_assert_eq!(place.side, StoreSide::Before, "updates write unprimed variables");
        match &place.plan.shape {
            StorageShape::Cell => {
                let what = self.cell(&place, value)?;
                pending.extend(what.map(|what| Pending { when: Vec::new(), what }));
                Ok(())
            }
            StorageShape::Array(_) => self.array_update(var, &place, value, &mut Vec::new(), pending),
            StorageShape::Sequence(cap) => self.sequence_update(&place, *cap, value, pending),
            StorageShape::Interned => Err(NotCompiled::Unsupported),
        }
    }
    fn cell(&mut self, place: &FieldRange<'a>, value: Term) -> Made<Option<UpdateTarget>> {
        let t = self.terms();
        let slot = self.cx.layout.slots[place.first];
        let own = |term: Term| {
            t.as_symbol(term)
                .and_then(|s| self.place(s))
                .is_some_and(|(_, p)| p.first == place.first && p.side == StoreSide::Before)
        };
        if own(value) {
            return Ok(None);
        }
        if let Some(k) = self.literal(value) {
            let code = slot.encode(k).ok_or_else(|| NotCompiled::Escape(self.cx.layout.misfit(place.first, k)))?;
            return Ok(Some(UpdateTarget::Code(place.first as u32, code)));
        }
        // `x := x + 1` on a decided field is one instruction.
        if let Some((op @ (Op::Add | Op::Sub), args)) = t.app(value)
            && t.sort_of(value) == Sort::INT
            && !slot.open
            && own(args[0])
            && let Some(k) = self.literal(args[1])
            && k.unsigned_abs() < 1 << 32
            && place.first < usize::from(u16::MAX)
        {
            return Ok(Some(UpdateTarget::Bump(place.first as u32, if op == Op::Add { k } else { -k })));
        }
        let r = self.scalar(value)?;
        Ok(Some(UpdateTarget::Slot(place.first as u32, r)))
    }
    fn array_update(
        &mut self,
        var: VarId,
        place: &FieldRange<'a>,
        value: Term,
        when: &mut Vec<(Reg, bool)>,
        pending: &mut Vec<Pending>,
    ) -> Made<()> {
        if self.chain(place, value, &mut Vec::new(), &mut Vec::new()) {
            return self.chain_stores(place, value, &[], when, pending);
        }
        if let Some((Op::Ite, args)) = self.terms().app(value) {
            let c = self.scalar(args[0])?;
            for (branch, on) in [(args[1], true), (args[2], false)] {
                let skip = self.code.len();
                self.emit(if on { Instr::JumpIfNot { a: c, to: 0 } } else { Instr::JumpIf { a: c, to: 0 } });
                when.push((c, on));
                self.scoped(|s| s.array_update(var, place, branch, when, pending))?;
                when.pop();
                let here = self.code.len();
                self.land(skip, here);
            }
            return Ok(());
        }
        let array = self.array(place)?;
        let keys = self.keys_written(value, place.plan, array)?;
        for (i, key) in keys.into_iter().enumerate() {
            let r = self.passing(var, |s| {
                let k = s.constant(key)?;
                s.leaf(value, &[k])
            })?;
            pending.push(Pending { when: when.clone(), what: UpdateTarget::Slot((place.first + i) as u32, r) });
        }
        Ok(())
    }
    /// Whether a term is the variable (at a path of keys) with single entries stored over it.
    fn chain(&self, place: &FieldRange<'a>, value: Term, path: &mut Vec<Term>, seen: &mut Vec<Term>) -> bool {
        seen.push(value);
        if seen.len() > 200 {
            return false;
        }
        let t = self.terms();
        if self.is_entry(place, value, path) {
            return true;
        }
        match t.app(value) {
            Some((Op::Store, args)) => {
                let inner = t.sort_of(args[2]);
                let nested = matches!(t.kind(inner), SortKind::Map(..) | SortKind::Set(_));
                let fine = !nested || {
                    path.push(args[1]);
                    let ok = self.chain(place, args[2], path, seen);
                    path.pop();
                    ok
                };
                fine && self.chain(place, args[0], path, seen)
            }
            Some((Op::Insert, args)) => self.chain(place, args[1], path, seen),
            Some((Op::Minus, args)) => {
                matches!(t.app(args[1]), Some((Op::Insert, one)) if matches!(t.app(one[1]), Some((Op::EmptySet(_), _))))
                    && self.chain(place, args[0], path, seen)
            }
            Some((Op::Union, args)) => {
                matches!(t.app(args[1]), Some((Op::Insert, one)) if matches!(t.app(one[1]), Some((Op::EmptySet(_), _))))
                    && self.chain(place, args[0], path, seen)
            }
            _ => false,
        }
    }
    /// Whether a term is `m[path]` for the variable m.
    fn is_entry(&self, place: &FieldRange<'a>, value: Term, path: &[Term]) -> bool {
        let t = self.terms();
        match path.split_last() {
            None => t
                .as_symbol(value)
                .and_then(|s| self.place(s))
                .is_some_and(|(_, p)| p.first == place.first && p.side == StoreSide::Before),
            Some((last, before)) => match t.app(value) {
                Some((Op::Select, args)) => args[1] == *last && self.is_entry(place, args[0], before),
                _ => false,
            },
        }
    }
    fn chain_stores(
        &mut self,
        place: &FieldRange<'a>,
        value: Term,
        path: &[(Term, Reg)],
        when: &[(Reg, bool)],
        pending: &mut Vec<Pending>,
    ) -> Made<()> {
        let t = self.terms();
        let terms: Vec<Term> = path.iter().map(|(t, _)| *t).collect();
        if self.is_entry(place, value, &terms) {
            return Ok(());
        }
        let one = |s: &Self, set: Term| s.terms().app(set).map(|(_, args)| args[0]).ok_or(NotCompiled::Unsupported);
        match t.app(value) {
            Some((Op::Store, args)) => {
                // The inner stores come first, so that the outer ones win.
                self.chain_stores(place, args[0], path, when, pending)?;
                let key = self.scalar(args[1])?;
                let mut longer = path.to_vec();
                longer.push((args[1], key));
                if matches!(t.kind(t.sort_of(args[2])), SortKind::Map(..) | SortKind::Set(_)) {
                    return self.chain_stores(place, args[2], &longer, when, pending);
                }
                let v = self.scalar(args[2])?;
                self.entry(place, &longer, v, when, pending)
            }
            Some((Op::Insert, args)) => {
                self.chain_stores(place, args[1], path, when, pending)?;
                self.element_store(place, args[0], 1, path, when, pending)
            }
            Some((Op::Minus, args)) => {
                self.chain_stores(place, args[0], path, when, pending)?;
                let e = one(self, args[1])?;
                self.element_store(place, e, 0, path, when, pending)
            }
            Some((Op::Union, args)) => {
                self.chain_stores(place, args[0], path, when, pending)?;
                let e = one(self, args[1])?;
                self.element_store(place, e, 1, path, when, pending)
            }
            _ => Err(NotCompiled::Unsupported),
        }
    }
    fn element_store(
        &mut self,
        place: &FieldRange<'a>,
        element: Term,
        held: i64,
        path: &[(Term, Reg)],
        when: &[(Reg, bool)],
        pending: &mut Vec<Pending>,
    ) -> Made<()> {
        let key = self.scalar(element)?;
        let mut longer = path.to_vec();
        longer.push((element, key));
        let v = self.constant(held)?;
        self.entry(place, &longer, v, when, pending)
    }
    fn entry(
        &mut self,
        place: &FieldRange<'a>,
        path: &[(Term, Reg)],
        value: Reg,
        when: &[(Reg, bool)],
        pending: &mut Vec<Pending>,
    ) -> Made<()> {
        let array = self.array(place)?;
        let keys: Vec<Reg> = path.iter().map(|(_, r)| *r).collect();
        let at = self.position(array, place.plan, &keys, Need::Listed)?;
        pending.push(Pending { when: when.to_vec(), what: UpdateTarget::At(array, at, value) });
        Ok(())
    }
    fn sequence_update(
        &mut self,
        place: &FieldRange<'a>,
        cap: usize,
        value: Term,
        pending: &mut Vec<Pending>,
    ) -> Made<()> {
        let array = self.array(place)?;
        let len = self.length(value)?;
        self.emit(Instr::Fits { a: len, array });
        pending.push(Pending { when: Vec::new(), what: UpdateTarget::Slot(place.first as u32, len) });
        for i in 0..cap {
            let index = self.constant(i as i64)?;
            let inside = self.reg()?;
            self.emit(Instr::Lt { d: inside, a: index, b: len });
            // Fields beyond the end have code 0, so that equal sequences are equal words.
            let lo = self.cx.layout.slots[place.first + 1 + i].lo;
            let r = self.choice(inside, |s| s.element(value, index), |s| s.constant(lo))?;
            pending.push(Pending { when: Vec::new(), what: UpdateTarget::Slot((place.first + 1 + i) as u32, r) });
        }
        Ok(())
    }
    /// The stores, after all computations.
    pub(crate) fn stores(&mut self, pending: Vec<Pending>, layout: &Layout) -> Made<()> {
        for p in pending {
            let mut skips = Vec::new();
            for (r, on) in &p.when {
                skips.push(self.code.len());
                self.emit(if *on { Instr::JumpIfNot { a: *r, to: 0 } } else { Instr::JumpIf { a: *r, to: 0 } });
            }
            self.emit(match p.what {
                UpdateTarget::Slot(slot, a) => Instr::Store { slot, a },
                UpdateTarget::At(array, at, a) => Instr::StoreAt { array, at, a },
                UpdateTarget::Code(slot, code) => {
                    let s = layout.slots[slot as usize];
                    Instr::StoreCode { word: s.word, shift: s.shift, bits: s.bits, code }
                }
                UpdateTarget::Bump(slot, by) => {
                    let s = layout.slots[slot as usize];
                    Instr::Bump { word: s.word, shift: s.shift, bits: s.bits, slot: slot as u16, by }
                }
            });
            let here = self.code.len();
            skips.into_iter().for_each(|j| self.land(j, here));
        }
        Ok(())
    }
}
