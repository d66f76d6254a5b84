//! Lifetimes: `free`, and locals whose function has returned.
//!
//! In: the objects of the lowering. Out: for an object that can cease to be, a flag (for the objects of a
//! repeated allocation a map of flags) that every access of it looks at. Only where valid accesses or valid frees are the
//! question; elsewhere nothing is used after its end by assumption. A local has a flag only if its address is kept
//! somewhere that outlives it. What is lost is looked at in `leaks.rs`.
//! Absent: memory that is handed out again after `free`.

use super::flow::*;
use super::memory::{Content, Lifetime, ObjId};
use super::*;
use crate::c::ast::{CStmtKind, Stmt};

/// Of longer arrays one element, any, counts as written where they are freed.
const MOST_TOUCHED: u64 = 8;
/// The numbers that an element of a row can have whose length is known only when the program runs.
const ROW: (i128, i128) = (0, 1 << 24);

/// The name of what pointers to variables of an earlier turn of a loop point to.
const EARLIER_TURN: &str = "<earlier turn>";

impl Lower<'_> {
    pub(super) fn follows_lifetimes(&self) -> bool {
        self.checks(CCheck::Memory) || self.checks(CCheck::Free) || self.checks(CCheck::Leak)
    }

    /// Gives an object a flag.
    pub(super) fn mortal(&mut self, object: ObjId, heap: bool, each: Option<(i128, SlotId)>, span: Span) -> SlotId {
        if let Some(lifetime) = self.objects[object].lifetime {
            return lifetime.gone;
        }
        let CObject { ref key, generation, .. } = self.objects[object];
        let key = format!("<gone {key} {generation}>");
        let shown = format!("gone_{}", self.sources.line_of(span));
        let gone = match each {
            None => self.flag(&key, &shown, span),
            Some(_) => {
                let map = self.terms.map_sort(Sort::INT, Sort::BOOL);
                let none = self.terms.const_map(map, self.terms.ff());
                self.internal(&key, &shown, map, Some(none), span)
            }
        };
        self.objects[object].lifetime = Some(Lifetime { gone, heap, each });
        gone
    }

    /// That an object is still there; `index` among the objects of a repeated allocation.
    pub(super) fn alive(&self, object: ObjId, index: Option<Term>) -> Term {
        let Some(lifetime) = self.objects[object].lifetime else { return self.terms.tt() };
        let gone = self.slot_term(lifetime.gone);
        match (lifetime.each, index) {
            (Some(_), Some(index)) => self.b().not(self.b().select(gone, index)),
            (Some(_), None) => self.terms.tt(),
            (None, _) => self.b().not(gone),
        }
    }

    pub(super) fn release_memory(&mut self, address: Term, span: Span) {
        if !self.follows_lifetimes() {
            return self.assume("c-freed-memory-not-reused", "freed memory is neither used nor handed out again");
        }
        self.assume("c-freed-memory-kept", "freed memory is not handed out again");
        let Some(_) = self.cur.at else { return };
        let to = self.fresh(span);
        let null = self.b().eq(address, self.terms.int(0));
        let mut rest = self.b().not(null);
        self.emit(to, null, Vec::new(), What::Skip, span);
        let mut unknown = None;
        for object in self.targets(address) {
            let CObject { base, ref content, .. } = self.objects[object];
            if let Content::Nothing(why) = content {
                unknown = Some(why.clone());
            }
            let Some(lifetime) = self.objects[object].lifetime.filter(|l| l.heap) else { continue };
            let b = self.b();
            let (here, index) = match lifetime.each {
                None => (b.eq_linear(address, base), None),
                Some((each, next)) => {
                    let Some((index, exact)) = b.quotient(b.sub(address, b.num(base)), each) else { continue };
                    let made = b.and(b.le(b.num(0), index), b.lt(index, self.slot_term(next)));
                    (b.and(made, exact), Some(index))
                }
            };
            let here = b.and(here, self.alive(object, index));
            rest = b.and(rest, b.not(here));
            let yes = self.terms.tt();
            let value = match index {
                Some(index) => self.terms.store(self.slot_term(lifetime.gone), index, yes),
                None => yes,
            };
            self.note_write(lifetime.gone, value);
            self.emit_step(to, here, Vec::new(), vec![(lifetime.gone, value)], What::Assign, span, access::Waits::No);
        }
        // Anything else is no object that can be freed, or one that was.
        if self.b().as_bool(rest) != Some(false) {
            let bad = self.fresh(span);
            let ff = self.terms.ff();
            let failure = match unknown {
                Some(why) => GateFailure::Unmodelled(why, self.blamed(span)),
                None => GateFailure::Free,
            };
            if self.checks(CCheck::Free) || matches!(failure, GateFailure::Unmodelled(..)) {
                self.emit_step(bad, rest, vec![(failure, ff)], Vec::new(), What::Assert, span, access::Waits::No);
            } else {
                self.assume_defined(access::Undefined::Deref);
            }
        }
        self.enter(to);
    }

    /// For races, freeing memory is a write of it.
    pub(super) fn touch_freed(&mut self, address: Term, span: Span) {
        let Some(head) = self.cur.at else { return };
        let (end, known) = (self.fresh(span), self.cur.known.clone());
        let mut other = self.terms.tt();
        for object in self.targets(address) {
            if !self.objects[object].key.contains("<heap ") {
                continue;
            }
            let CObject { base, size, element, length, .. } = self.objects[object].clone();
            let Some((of, count)) = element else { continue };
            self.cur.at = Some(head);
            self.cur.known = known.clone();
            let b = self.b();
            let here = match count {
                Some(_) => b.eq_linear(address, base),
                None => b.and(b.le(b.num(base), address), b.le(address, b.num(base + size))),
            };
            other = b.and(other, b.not(here));
            let start = self.fresh(span);
            self.emit(start, here, Vec::new(), What::Test, span);
            self.enter(start);
            let each = self.unit.types.size(of).unwrap_or(1) as i128;
            let rows = match (count, length) {
                (Some(n), _) if n <= MOST_TOUCHED => (0..n as i128).map(|i| self.b().num(i)).collect(),
                (Some(n), _) => vec![self.nondet_in(Some((0, n as i128 - 1)), Sort::INT, span)],
                (None, Some(length)) => {
                    let row = self.nondet_in(Some(ROW), Sort::INT, span);
                    let inside = self.fresh(span);
                    let there = self.b().lt(row, self.slot_term(length));
                    self.emit(end, self.b().not(there), Vec::new(), What::Test, span);
                    self.emit(inside, there, Vec::new(), What::Test, span);
                    self.enter(inside);
                    vec![row]
                }
                // One object of an allocation that is repeated.
                (None, None) => vec![self.b().num(0)],
            };
            for row in rows {
                for (offset, leaf) in self.scalar_parts(of) {
                    let leaf = leaf.unqualified();
                    if !self.unit.types.is_scalar(leaf) && !matches!(self.unit.types.kind(leaf), CTypeKind::Opaque(_)) {
                        continue;
                    }
                    let b = self.b();
                    let at = b.add(b.mul(row, b.num(each)), b.num(offset));
                    let at = if count.is_some() { at } else { b.add(b.sub(address, b.num(base)), at) };
                    self.exchange(memory::Ref::Object(object, at), leaf, span, memory::ACCESS, |_, old| old);
                }
            }
            self.goto(end, span);
        }
        self.cur.at = Some(head);
        self.cur.known = known;
        self.emit(end, other, Vec::new(), What::Test, span);
        self.enter(end);
    }

    /// Whether the address of a local of the function at hand is kept where it outlives the local. `nested`: the local ends
    /// before the function does, so that the function's other variables count as well.
    fn outlived(&self, object: ObjId, nested: bool) -> bool {
        let Some(frame) = self.cur.frames.last() else { return false };
        let task = &self.tasks[self.cur.task].key;
        let own = format!("{task}!{}", frame.path);
        let callee = format!("{own}@");
        let result = format!("{own}.<result>");
        let temps = format!("<temp {task} {}", frame.path);
        let key = &self.objects[object].key;
        // A thread started here has the name of this place in its own, and a life of its own.
        let others: Vec<String> = self
            .tasks
            .iter()
            .filter(|t| t.key.len() > task.len() && t.key.starts_with(&own))
            .map(|t| format!("{}!", t.key))
            .collect();
        self.facts.points_to.iter().filter(|(_, objects)| objects.contains(&object)).any(|(slot, _)| {
            let slot = &self.slots[*slot].key;
            let inside = if nested { slot.starts_with(&callee) } else { slot.starts_with(&own) };
            let inside = inside && !others.iter().any(|o| slot.starts_with(o));
            let result = slot.starts_with(&result);
            result || !(inside || slot.starts_with(&temps) || slot.starts_with(key.as_str()))
        })
    }

    /// A local begins (again).
    pub(super) fn local_begins(&mut self, object: ObjId, span: Span) {
        if let Some(lifetime) = self.objects[object].lifetime {
            let no = self.terms.ff();
            self.update(vec![(lifetime.gone, no)], What::Assign, span);
            if self.cur.loops > 0 || !self.cur.iterations.is_empty() {
                self.forget_addresses(object, span);
            }
        }
    }

    /// A variable of a block in a loop is another one in each turn: a pointer that still holds the address of the last one points to nothing. Pointers of
    /// this thread alone; what others hold is left.
    fn forget_addresses(&mut self, object: ObjId, span: Span) {
        let holds = |slot: &SlotId| {
            let FlowSlot { owner, sort, .. } = &self.slots[*slot];
            *owner == SlotOwner::Task(self.cur.task) && *sort == Sort::INT
        };
        let mut slots: Vec<SlotId> =
            self.facts.points_to.iter().filter(|(_, to)| to.contains(&object)).map(|(s, _)| *s).collect();
        slots.retain(holds);
        slots.sort();
        if slots.is_empty() {
            return;
        }
        let nothing = match self.object_keys.get(EARLIER_TURN) {
            Some(nothing) => *nothing,
            None => {
                self.place_object(EARLIER_TURN, 1, Content::Nothing("a variable of an earlier turn of a loop".into()))
            }
        };
        let (base, size, gone) = (self.objects[object].base, self.objects[object].size, self.objects[nothing].base);
        let updates = slots.iter().map(|slot| {
            let (b, value) = (self.b(), self.slot_term(*slot));
            let stale = b.and(b.le(b.num(base), value), b.le(value, b.num(base + size)));
            (*slot, b.ite(stale, b.num(gone), value))
        });
        let updates = updates.collect();
        self.update(updates, What::Assign, span);
    }

    /// Whether the function at hand ends only with the program.
    fn outermost(&self) -> bool {
        self.cur.task == TaskId(0) && self.cur.frames.len() == 1
    }

    /// The locals of the function at hand end.
    pub(super) fn locals_end(&mut self, span: Span) {
        if !self.follows_lifetimes() || self.outermost() {
            return;
        }
        let mut objects: Vec<ObjId> =
            self.cur.frames.last().map_or_else(Vec::new, |f| f.vars.values().copied().collect());
        objects.sort();
        self.end(&objects, false, span);
    }

    /// The thread ends here, and with it the locals of every function it is in. Those of `main` are left: its stack is the
    /// program's.
    pub(super) fn all_locals_end(&mut self, span: Span) {
        if self.cur.task == TaskId(0) {
            if self.follows_lifetimes() {
                self.assume("c-main-stack", "locals of main outlive its end by pthread_exit");
            }
            return;
        }
        let mut left = Vec::new();
        while !self.cur.frames.is_empty() {
            self.locals_end(span);
            left.extend(self.cur.frames.pop());
        }
        self.cur.frames.extend(left.into_iter().rev());
    }

    /// The thread ends here, and with it its thread-local variables, where another thread may have their address. Those of `main` are as
    /// old as the program; that the address of a copy of a repeated thread leaves it is unmodelled anyway.
    pub(super) fn thread_locals_end(&mut self, span: Span) {
        let task = self.cur.task;
        if !self.follows_lifetimes() || task == TaskId(0) || self.tasks[task].many || self.cur.at.is_none() {
            return;
        }
        let key = self.tasks[task].key.clone();
        let (own, temps) = (format!("{key}!"), format!("<temp {key} "));
        let unit = self.unit;
        let locals = unit.globals.iter().filter(|v| unit.variables[**v].storage == Storage::ThreadLocal);
        let objects: Vec<ObjId> = locals
            .filter_map(|v| self.object_keys.get(&format!("{}#{}!{key}", unit.variables[*v].name, v.0)).copied())
            .collect();
        for object in objects {
            let outlived = self.facts.points_to.iter().filter(|(_, to)| to.contains(&object)).any(|(slot, _)| {
                let slot = &self.slots[*slot].key;
                !(slot.starts_with(&own) || slot.starts_with(&temps) || slot.starts_with(&self.objects[object].key))
            });
            if outlived {
                let gone = self.mortal(object, false, None, span);
                let yes = self.terms.tt();
                self.update(vec![(gone, yes)], What::Assign, span);
            }
        }
    }

    fn end(&mut self, objects: &[ObjId], nested: bool, span: Span) {
        for object in objects.iter().copied().filter(|o| self.outlived(*o, nested)).collect::<Vec<_>>() {
            let gone = self.mortal(object, false, None, span);
            let yes = self.terms.tt();
            self.update(vec![(gone, yes)], What::Assign, span);
        }
    }

    /// The locals of a block inside a function end with it. A way out of the block other than its end is not followed.
    pub(super) fn block_ends(&mut self, list: &[Stmt], span: Span) {
        if !self.follows_lifetimes() {
            return;
        }
        let declared: Vec<ObjId> = list
            .iter()
            .filter_map(|s| match &s.kind {
                CStmtKind::Declare(v, _) => self.cur.frames.last()?.vars.get(v).copied(),
                _ => None,
            })
            .collect();
        let outlived = declared.iter().any(|o| self.outlived(*o, true));
        if outlived && list.iter().any(leaves) {
            return self.unmodelled("a jump out of a block whose variable may still be pointed to", span);
        }
        self.end(&declared, true, span);
    }
}

/// Whether a statement may leave the block it is in, other than by its end or by returning.
fn leaves(s: &Stmt) -> bool {
    match &s.kind {
        CStmtKind::Break | CStmtKind::Continue | CStmtKind::Goto(_) => true,
        CStmtKind::Block(list) => list.iter().any(leaves),
        CStmtKind::If(_, a, b) => leaves(a) || b.as_ref().is_some_and(|b| leaves(b)),
        CStmtKind::While(_, b)
        | CStmtKind::DoWhile(b, _)
        | CStmtKind::For { body: b, .. }
        | CStmtKind::Switch(_, b) => leaves(b),
        _ => false,
    }
}
