//! Statements: control as locations, loops kept as loops or unrolled exactly where their number of turns is known.
//!
//! In: statements of the typed tree. Out: locations and steps of the flow at hand.

use super::flow::*;
use super::memory::Ref;
use super::objects::{ObjectExtent, ObjectShape};
use super::walk::{Effects, effects_of};
use super::*;
use crate::c::ast::*;
use std::collections::BTreeSet;

/// A loop that creates threads or allocates is unrolled up to so many turns.
const UNROLL_CREATION: u32 = 64;
/// A loop over an array is unrolled up to so many turns.
const UNROLL_INDEXING: u32 = 20;

impl Lower<'_> {
    pub(super) fn block(&mut self, list: &[Stmt]) {
        list.iter().for_each(|s| self.statement(s));
    }

    pub(super) fn statement(&mut self, s: &Stmt) {
        let span = s.span;
        match &s.kind {
            // Labels and cases are reached from elsewhere, so they are looked at even where nothing falls into them.
            CStmtKind::Label(l) => self.label(*l, span),
            CStmtKind::Case(low, high) => self.case(Some((*low, *high)), span),
            CStmtKind::Default => self.case(None, span),
            CStmtKind::Block(list) => {
                self.block(list);
                self.block_ends(list, span);
            }
            CStmtKind::If(c, a, b) => {
                let (yes, no, end) = (self.fresh(span), self.fresh(span), self.fresh(span));
                self.condition(c, yes, no);
                self.enter(yes);
                self.statement(a);
                self.goto(end, span);
                self.enter(no);
                if let Some(b) = b {
                    self.statement(b);
                }
                self.goto(end, span);
                self.enter(end);
            }
            CStmtKind::While(c, body) => {
                self.repeat(Repeat { cond: Some(c), step: None, body, first: LoopEntry::Test }, span)
            }
            CStmtKind::DoWhile(body, c) => {
                self.repeat(Repeat { cond: Some(c), step: None, body, first: LoopEntry::Body }, span)
            }
            CStmtKind::For { init, cond, step, body } => {
                self.block(init);
                let repeat = Repeat { cond: cond.as_ref(), step: step.as_ref(), body, first: LoopEntry::Test };
                self.repeat(repeat, span);
                self.block_ends(init, span);
            }
            CStmtKind::Switch(value, body) => self.switch(value, body, span),
            _ if self.cur.at.is_none() => {}
            CStmtKind::Expr(e) => self.effect(e),
            CStmtKind::Declare(v, init) => {
                if let Some(frame) = self.cur.frames.last_mut() {
                    frame.vars.remove(v);
                }
                self.declare(*v, init.as_ref(), span);
            }
            CStmtKind::Goto(l) => {
                let to = self.label_loc(*l, span);
                self.goto(to, span);
            }
            CStmtKind::Break => match self.cur.frames.last().and_then(|f| f.breaks.last().copied()) {
                Some(to) => self.goto(to, span),
                None => self.unmodelled("a break outside a loop", span),
            },
            CStmtKind::Continue => match self.cur.frames.last().and_then(|f| f.continues.last().copied()) {
                Some(to) => self.goto(to, span),
                None => self.unmodelled("a continue outside a loop", span),
            },
            CStmtKind::Return(e) => self.return_(e.as_ref(), span),
            CStmtKind::Empty => {}
            CStmtKind::Unmodelled(why) => self.unmodelled(why, span),
        }
    }

    fn return_(&mut self, e: Option<&Expr>, span: Span) {
        let (result, to) = match self.cur.frames.last() {
            Some(f) => (f.result, f.return_to),
            None => return,
        };
        if let Some(e) = e {
            if self.unit.types.record(e.ty).is_some() {
                if let (Some(object), Some(from)) = (result, self.aggregate(e)) {
                    let at = Ref::Object(object, self.terms.int(0));
                    self.copy(at, from, e.ty, span);
                }
            } else if self.unit.types.is_void(e.ty) {
                self.effect(e);
            } else {
                let value = self.value(e);
                if let Some(object) = result {
                    let at = Ref::Object(object, self.terms.int(0));
                    self.write(at, e.ty, value, span);
                }
            }
        }
        self.goto(to, span);
    }

    /// A local comes to life.
    pub(super) fn declare(&mut self, v: VarId, init: Option<&Init>, span: Span) {
        if let Some(length) = &self.unit.variables[v].length {
            self.declare_measured(v, length, span);
            if self.cur.at.is_none() {
                return;
            }
        }
        let object = self.variable_object(v);
        let ty = self.unit.variables[v].ty;
        if self.escapes(object) {
            return self.unmodelled("the address of a local of a repeated thread leaves the thread", span);
        }
        if let memory::Content::Nothing(why) = &self.objects[object].content {
            let why = why.clone();
            return self.unmodelled(&why, span);
        }
        if self.unit.variables[v].storage != Storage::Local {
            return;
        }
        self.local_begins(object, span);
        match init {
            None => self.havoc_object(object, span),
            Some(Init::Value(e)) => {
                let at = Ref::Object(object, self.terms.int(0));
                if self.unit.types.record(ty).is_some() {
                    if let Some(from) = self.aggregate(e) {
                        self.copy(at, from, ty, span);
                    }
                } else if matches!(self.unit.types.kind(ty), CTypeKind::Opaque(_)) {
                    self.zero_object(object, span, &BTreeSet::new());
                    self.opaque_value(at, ty, e);
                } else {
                    let value = self.value(e);
                    self.write(at, ty, value, span);
                }
            }
            Some(Init::Parts(parts)) => {
                // Values first, in order, then zeros elsewhere: no part can see another.
                let given: BTreeSet<i128> = parts.iter().map(|p| p.offset as i128).collect();
                self.zero_object(object, span, &given);
                for part in parts {
                    let at = Ref::Object(object, self.terms.int(part.offset as i128));
                    if self.unit.types.record(part.ty).is_some() {
                        if let Some(from) = self.aggregate(&part.value) {
                            self.copy(at, from, part.ty, span);
                        }
                    } else if matches!(self.unit.types.kind(part.ty), CTypeKind::Opaque(_)) {
                        self.opaque_value(at, part.ty, &part.value);
                    } else {
                        let value = self.value(&part.value);
                        self.write(at, part.ty, value, span);
                    }
                }
            }
        }
    }

    /// An object of the library in an initialiser that runs.
    fn opaque_value(&mut self, at: Ref, ty: CType, value: &Expr) {
        match value.as_const() {
            Some(k) => self.local_kind(at, ty, k, value.span),
            None => self.unmodelled("an initialiser of a synchronisation object", value.span),
        }
    }

    /// An array of variable length: exact where the length is known here, else a map with a bound.
    fn declare_measured(&mut self, v: VarId, length: &Expr, span: Span) {
        let count = self.value(length);
        if self.cur.at.is_none() {
            return;
        }
        let variable = &self.unit.variables[v];
        let CTypeKind::Array(of, _) = *self.unit.types.kind(variable.ty) else { return };
        let (name, owner) = (variable.name.clone(), self.local_owner(variable.address_taken));
        let path = self.cur.frames.last().map_or(String::new(), |f| f.path.clone());
        let iterations: Vec<String> = self.cur.iterations.iter().map(u32::to_string).collect();
        let key = format!("{}!{path}.{name}#{}!{}", self.tasks[self.cur.task].key, v.0, iterations.join("."));
        let known = self.b().as_num(count).and_then(|n| u64::try_from(n).ok()).filter(|n| *n > 0);
        let object = match known {
            Some(n) => {
                let shape = ObjectShape { of, extent: ObjectExtent::Exactly(n), owner, start: ObjectStart::Any };
                self.make(&format!("{key}*{n}"), &name, shape, span)
            }
            None => {
                let (object, slot) = self.measured(&key, &name, of, owner, span, ObjectStart::Any);
                let positive = self.b().lt(self.b().num(0), count);
                self.assume_defined(access::Undefined::Deref);
                self.only_if(positive, span);
                self.update(vec![(slot, count)], What::Assign, span);
                object
            }
        };
        if let Some(frame) = self.cur.frames.last_mut() {
            frame.vars.insert(v, object);
        }
    }

    /// Whether the address of a local of a repeated thread, of which each copy has its own, reaches another thread.
    pub(super) fn escapes(&self, object: memory::ObjId) -> bool {
        self.tasks[self.cur.task].many && self.escaped.contains(&object)
    }

    fn leaves(&self, object: memory::ObjId) -> Vec<memory::Leaf> {
        match &self.objects[object].content {
            memory::Content::Leaves(leaves) => leaves.clone(),
            _ => Vec::new(),
        }
    }

    /// Any values: an object without initialiser.
    fn havoc_object(&mut self, object: memory::ObjId, span: Span) {
        for leaf in self.leaves(object) {
            let slot = leaf.slot;
            if matches!(self.unit.types.kind(leaf.ty), CTypeKind::Opaque(_)) {
                let zero = self.terms.default_of(self.slots[slot].sort);
                self.update(vec![(slot, zero)], What::Assign, span);
                continue;
            }
            if self.unit.types.is_float(leaf.ty) && leaf.repeat.is_none() {
                let unfollowed = self.unfollowed();
                self.update(vec![(slot, unfollowed)], What::Assign, span);
                continue;
            }
            if leaf.torn || leaf.bytes > 1 || self.unit.types.is_float(leaf.ty) {
                continue;
            }
            let range = self.slots[slot].range;
            let sort = self.slots[slot].sort;
            let symbol = self.terms.symbol("any", sort);
            let value = self.terms.sym(symbol);
            self.update(vec![(slot, value)], What::Havoc, span);
            let scalar = sort == Sort::INT;
            if let Some(step) = self.cur.flow.steps.last_mut() {
                step.inputs.push(FlowInput { symbol, range: range.filter(|_| scalar) });
            }
        }
    }

    fn zero_object(&mut self, object: memory::ObjId, span: Span, except: &BTreeSet<i128>) {
        for leaf in self.leaves(object) {
            if leaf.bytes > 1 || (leaf.repeat.is_none() && except.contains(&leaf.offset)) {
                continue;
            }
            let zero = self.terms.default_of(self.slots[leaf.slot].sort);
            self.update(vec![(leaf.slot, zero)], What::Assign, span);
        }
    }

    fn label_loc(&mut self, l: LabelId, span: Span) -> Loc {
        if let Some(loc) = self.cur.frames.last().and_then(|f| f.labels.get(&l)) {
            return *loc;
        }
        let loc = self.fresh(span);
        if let Some(frame) = self.cur.frames.last_mut() {
            frame.labels.insert(l, loc);
        }
        loc
    }

    /// A label that is jumped to from below is the head of a loop: nothing assigned in the function is known there.
    fn label(&mut self, l: LabelId, span: Span) {
        let loc = self.label_loc(l, span);
        if let Some(frame) = self.cur.frames.last_mut() {
            frame.lowered.push(l);
        }
        let Some(frame) = self.cur.frames.last() else { return };
        let function = frame.function;
        let body: Vec<&Stmt> = self.unit.functions[function].body.iter().flatten().collect();
        let effects = effects_of(&body, &[]);
        let Some(last) = effects.gotos.get(&l) else { return };
        let backward = effects.labels.get(&l).is_none_or(|label| last > label);
        self.goto(loc, span);
        if !backward {
            // Every jump to it has been lowered: what they agree on is known.
            self.enter(loc);
            return;
        }
        let known = self.cur.envs.get(&loc).cloned().unwrap_or_default();
        let kept: Known = known.into_iter().filter(|(slot, _)| !self.assigned_slot(*slot, &effects)).collect();
        self.cur.envs.insert(loc, kept.clone());
        self.cur.known = kept;
        self.cur.at = Some(loc);
        self.cur.entered.insert(loc);
        self.cur.atomic = u32::from(self.cur.flow.places[loc].in_atomic_block);
        // Everything after such a label may run again.
        self.cur.loops += 1;
    }

    /// Whether what is known of a private slot may change in code with these effects. Only the variables of the
    /// functions around are distinguished; of everything else (thread-local variables, results) nothing stays known.
    fn assigned_slot(&self, slot: SlotId, effects: &Effects) -> bool {
        let holds = |o: &memory::ObjId| match &self.objects[*o].content {
            memory::Content::Leaves(leaves) => leaves.iter().any(|l| l.slot == slot),
            _ => false,
        };
        let Some((current, callers)) = self.cur.frames.split_last() else { return true };
        if let Some((v, _)) = current.vars.iter().find(|(_, o)| holds(o)) {
            return effects.assigned.contains(v);
        }
        // A caller's variable whose address is not taken cannot be reached from here.
        !callers.iter().any(|f| f.vars.values().any(holds))
    }

    fn forget(&mut self, effects: &Effects) {
        let known = std::mem::take(&mut self.cur.known);
        self.cur.known = known.into_iter().filter(|(slot, _)| !self.assigned_slot(*slot, effects)).collect();
    }

    fn switch(&mut self, value: &Expr, body: &Stmt, span: Span) {
        let v = self.value(value);
        let Some(head) = self.cur.at else { return };
        let known = self.cur.known.clone();
        let end = self.fresh(span);
        let keep = match self.b().as_num(v) {
            Some(_) => v,
            None => {
                let keep = self.temp(span);
                self.slots[keep].range = self.bounds(v);
                self.update(vec![(keep, v)], What::Assign, span);
                self.slot_term(keep)
            }
        };
        let head = self.cur.at.unwrap_or(head);
        let Some(frame) = self.cur.frames.last_mut() else { return };
        frame.switches.push(Switch::default());
        frame.breaks.push(end);
        self.cur.at = None;
        // Nothing assigned inside is known at a case, which several ways lead to.
        let effects = effects_of(&[body], &[]);
        self.cur.known = known;
        self.forget(&effects);
        let base = self.cur.known.clone();
        self.cur.envs.insert(head, base);
        self.statement(body);
        self.goto(end, span);
        let Some(frame) = self.cur.frames.last_mut() else { return };
        frame.breaks.pop();
        let Some(switch) = frame.switches.pop() else { return };
        self.enter(head);
        let b = self.b();
        let mut none = b.tt();
        let mut tests = Vec::new();
        for (low, high, to) in &switch.cases {
            let hit = if low == high {
                b.eq(keep, b.num(*low))
            } else {
                b.and(b.le(b.num(*low), keep), b.le(keep, b.num(*high)))
            };
            tests.push((*to, hit));
            none = b.and(none, b.not(hit));
        }
        tests.push((switch.default.unwrap_or(end), none));
        for (to, guard) in tests {
            self.emit(to, guard, Vec::new(), What::Test, span);
        }
        self.cur.at = None;
        self.enter(end);
    }

    fn case(&mut self, range: Option<(i128, i128)>, span: Span) {
        let loc = self.fresh(span);
        self.goto(loc, span);
        let Some(switch) = self.cur.frames.last_mut().and_then(|f| f.switches.last_mut()) else { return };
        match range {
            Some((low, high)) => switch.cases.push((low, high, loc)),
            None => switch.default = Some(loc),
        }
        // The dispatch comes later; it knows only what no case changes.
        let known: Known = Known::default();
        self.cur.envs.insert(loc, known.clone());
        self.cur.known = known;
        self.cur.at = Some(loc);
    }

    fn repeat(&mut self, r: Repeat<'_>, span: Span) {
        if self.cur.at.is_none() && !self.has_labels(r.body) {
            return;
        }
        let mut exprs: Vec<&Expr> = Vec::new();
        exprs.extend(r.cond);
        exprs.extend(r.step);
        let effects = effects_of(&[r.body], &exprs);
        if let Some(turns) = self.turns(&r, &effects) {
            return self.unroll(&r, turns, span);
        }
        let (head, body, next, end) = (self.fresh(span), self.fresh(span), self.fresh(span), self.fresh(span));
        self.forget(&effects);
        let start = if r.first == LoopEntry::Test { head } else { body };
        if self.cur.at.is_none() {
            // Entered only by a jump to a label inside: the loop comes back to its start, of which nothing is known.
            self.cur.envs.insert(start, Known::default());
        }
        self.goto(start, span);
        self.cur.loops += 1;
        if let Some(frame) = self.cur.frames.last_mut() {
            frame.breaks.push(end);
            frame.continues.push(next);
        }
        if r.first == LoopEntry::Test {
            self.enter(start);
            match r.cond {
                Some(c) => self.condition(c, body, end),
                None => self.goto(body, span),
            }
            self.enter(body);
            self.statement(r.body);
            self.goto(next, span);
            self.enter(next);
            if let Some(step) = r.step {
                self.effect(step);
            }
            self.goto(head, span);
        } else {
            self.enter(body);
            self.statement(r.body);
            self.goto(next, span);
            self.enter(next);
            if let Some(c) = r.cond {
                self.condition(c, body, end);
            }
        }
        if let Some(frame) = self.cur.frames.last_mut() {
            frame.breaks.pop();
            frame.continues.pop();
        }
        self.cur.loops -= 1;
        self.enter(end);
    }

    fn has_labels(&self, s: &Stmt) -> bool {
        match &s.kind {
            CStmtKind::Label(_) | CStmtKind::Case(..) | CStmtKind::Default => true,
            CStmtKind::Block(list) => list.iter().any(|s| self.has_labels(s)),
            CStmtKind::If(_, a, b) => self.has_labels(a) || b.as_ref().is_some_and(|b| self.has_labels(b)),
            CStmtKind::While(_, b) | CStmtKind::DoWhile(b, _) | CStmtKind::For { body: b, .. } => self.has_labels(b),
            _ => false,
        }
    }

    /// How often a loop turns, where that is known and worth unrolling for.
    fn turns(&self, r: &Repeat<'_>, effects: &Effects) -> Option<u32> {
        let creates = self.creates(effects, &mut BTreeSet::new());
        let limit = if creates {
            UNROLL_CREATION
        } else if effects.indexes {
            UNROLL_INDEXING
        } else {
            return None;
        };
        if !effects.gotos.is_empty() || self.has_labels(r.body) || r.first != LoopEntry::Test {
            return None;
        }
        let cond = r.cond?;
        let inner = effects_of(&[r.body], &[]);
        let mut values: FxHashMap<VarId, i128> = FxHashMap::default();
        for turn in 0..=limit {
            // A variable the body assigns is not known from turn to turn.
            if self.fixed(cond, &values, &inner.assigned)? == 0 {
                return Some(turn);
            }
            match r.step {
                Some(step) => self.advance(step, &mut values, &inner.assigned)?,
                None => {
                    // `while (i < n) { ...; i++; }`: the only assignment to i is one increment at the end of the body.
                    self.advance_body(r.body, &inner, &mut values)?;
                }
            }
        }
        None
    }

    fn creates(&self, effects: &Effects, seen: &mut BTreeSet<FnId>) -> bool {
        effects.calls.iter().any(|f| {
            let function = &self.unit.functions[*f];
            let name = function.name.as_str();
            if matches!(name, "pthread_create" | "pthread_join" | "malloc" | "calloc" | "thrd_create" | "thrd_join") {
                return true;
            }
            if !seen.insert(*f) {
                return false;
            }
            match &function.body {
                Some(body) => self.creates(&effects_of(&body.iter().collect::<Vec<_>>(), &[]), seen),
                None => false,
            }
        })
    }

    /// The value of an expression from what is known, with some variables set.
    fn fixed(&self, e: &Expr, values: &FxHashMap<VarId, i128>, unknown: &BTreeSet<VarId>) -> Option<i128> {
        match &e.kind {
            CExprKind::Const(k) => Some(*k),
            CExprKind::Cast(inner) => {
                let int = self.unit.types.as_int(e.ty)?;
                self.unit.types.as_int(inner.ty)?;
                Some(int.wrap(self.fixed(inner, values, unknown)?, self.unit.types.model))
            }
            CExprKind::Load(p) => {
                let PlaceKind::Var(v) = p.kind else { return None };
                if let Some(k) = values.get(&v) {
                    return Some(*k);
                }
                let variable = &self.unit.variables[v];
                if variable.storage == Storage::Static {
                    let object = self.object_keys.get(&format!("{}#{}", variable.name, v.0))?;
                    let leaves = self.leaves(*object);
                    let [leaf] = &leaves[..] else { return None };
                    let slot = &self.slots[leaf.slot];
                    return if self.facts.written.contains(&leaf.slot) { None } else { self.b().as_num(slot.initial?) };
                }
                // What a pointer may change is not known from turn to turn.
                if unknown.contains(&v) || variable.address_taken {
                    return None;
                }
                let object = self.cur.frames.last()?.vars.get(&v)?;
                let leaves = self.leaves(*object);
                let [leaf] = &leaves[..] else { return None };
                self.b().as_num(*self.cur.known.get(&leaf.slot)?)
            }
            CExprKind::Compare(op, a, b) => {
                let (x, y) = (self.fixed(a, values, unknown)?, self.fixed(b, values, unknown)?);
                Some(i128::from(op.holds(x, y)))
            }
            CExprKind::Binary(op, a, b) => {
                let (x, y) = (self.fixed(a, values, unknown)?, self.fixed(b, values, unknown)?);
                fold_binary(*op, x, y, self.unit.types.as_int(e.ty)?, &self.unit.types)
            }
            CExprKind::Not(a) => Some(i128::from(self.fixed(a, values, unknown)? == 0)),
            CExprKind::And(a, b) => {
                let x = self.fixed(a, values, unknown)? != 0;
                Some(i128::from(x && self.fixed(b, values, unknown)? != 0))
            }
            _ => None,
        }
    }

    /// Runs a loop's step on known values.
    fn advance(&self, e: &Expr, values: &mut FxHashMap<VarId, i128>, unknown: &BTreeSet<VarId>) -> Option<()> {
        let (place, value) = match &e.kind {
            CExprKind::Increment { place, step, .. } => {
                let old = self.load_fixed(place, values, unknown)?;
                (place, old + step)
            }
            CExprKind::AssignOp { place, op, value, .. } => {
                let old = self.load_fixed(place, values, unknown)?;
                let by = self.fixed(value, values, unknown)?;
                (place, fold_binary(*op, old, by, self.unit.types.as_int(e.ty)?, &self.unit.types)?)
            }
            CExprKind::Assign(place, value) => (place, self.fixed(value, values, unknown)?),
            CExprKind::Comma(a, b) => {
                self.advance(a, values, unknown)?;
                return self.advance(b, values, unknown);
            }
            CExprKind::Cast(inner) if self.unit.types.is_void(e.ty) => return self.advance(inner, values, unknown),
            _ => return None,
        };
        let PlaceKind::Var(v) = place.kind else { return None };
        // The body must leave the loop's own variable alone.
        if unknown.contains(&v) || self.unit.variables[v].address_taken || self.is_global(v) {
            return None;
        }
        // As the variable keeps it: unsigned and narrow ones wrap, which may make the loop endless.
        let value = match self.unit.types.kind(place.ty) {
            CTypeKind::Int(int) => {
                let kept = int.wrap(value, self.unit.types.model);
                if kept != value && int.signed() && *int >= Int::Int {
                    return None;
                }
                kept
            }
            CTypeKind::Pointer(_) => value,
            _ => return None,
        };
        values.insert(v, value);
        Some(())
    }

    fn is_global(&self, v: VarId) -> bool {
        matches!(self.unit.variables[v].storage, Storage::Static | Storage::ThreadLocal)
    }

    fn load_fixed(
        &self,
        place: &crate::c::ast::LValue,
        values: &FxHashMap<VarId, i128>,
        unknown: &BTreeSet<VarId>,
    ) -> Option<i128> {
        let load = Expr { kind: CExprKind::Load(Box::new(place.clone())), ty: place.ty, span: place.span };
        self.fixed(&load, values, unknown)
    }

    /// For `while`: the last statement of the body is the step, and nothing else assigns its variable or continues.
    fn advance_body(&self, body: &Stmt, _inner: &Effects, values: &mut FxHashMap<VarId, i128>) -> Option<()> {
        let CStmtKind::Block(list) = &body.kind else { return None };
        let (last, rest) = list.split_last()?;
        let CStmtKind::Expr(step) = &last.kind else { return None };
        if rest.iter().any(has_continue) {
            return None;
        }
        let others = effects_of(&rest.iter().collect::<Vec<_>>(), &[]);
        self.advance(step, values, &others.assigned)
    }

    fn unroll(&mut self, r: &Repeat<'_>, turns: u32, span: Span) {
        let end = self.fresh(span);
        for turn in 0..turns {
            let next = self.fresh(span);
            if let Some(frame) = self.cur.frames.last_mut() {
                frame.breaks.push(end);
                frame.continues.push(next);
            }
            self.cur.iterations.push(turn);
            self.statement(r.body);
            self.goto(next, span);
            self.enter(next);
            if let Some(step) = r.step {
                self.effect(step);
            }
            self.cur.iterations.pop();
            if let Some(frame) = self.cur.frames.last_mut() {
                frame.breaks.pop();
                frame.continues.pop();
            }
        }
        self.goto(end, span);
        self.enter(end);
    }
}

fn has_continue(s: &Stmt) -> bool {
    match &s.kind {
        CStmtKind::Continue => true,
        CStmtKind::Block(list) => list.iter().any(has_continue),
        CStmtKind::If(_, a, b) => has_continue(a) || b.as_ref().is_some_and(|b| has_continue(b)),
        CStmtKind::Switch(_, b) => has_continue(b),
        _ => false,
    }
}

/// A loop of any of the three forms.
pub(super) struct Repeat<'a> {
    cond: Option<&'a Expr>,
    step: Option<&'a Expr>,
    body: &'a Stmt,
    first: LoopEntry,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LoopEntry {
    Test,
    Body,
}
