//! Threads: creation, waiting for the end, detaching.
//!
//! In: calls of `pthread_create` and its like. Out: a thread of the program for each site and function, and the steps
//! that start it and wait for it. A handle is the address of an object that stands for the thread; tickets
//! distinguish the copies of a repeated thread. Absent: failure of creation (an assumption), waiting for what is detached (unmodelled).

use super::memory::Content;
use super::*;
use crate::c::ast::*;

/// The tickets of the copies of a repeated thread.
pub(super) const TICKETS: (i128, i128) = (0, (1 << 24) - 1);
/// Among the names of detached threads: that attributes may ask for it.
const ATTRIBUTES: &str = "<attributes>";

impl Lower<'_> {
    /// A thread that is detached: whoever waits for it is not modelled.
    pub(super) fn detach(&mut self, args: &[Expr]) {
        for argument in args {
            let handle = self.value(argument);
            for object in self.targets(handle) {
                if let Content::Thread(t) = self.objects[object].content {
                    self.found.detached.insert(self.tasks[t].key.clone());
                }
            }
        }
    }

    /// Whoever detaches itself needs no handle for that.
    pub(super) fn detach_itself(&mut self) {
        let key = self.tasks[self.cur.task].key.clone();
        self.found.detached.insert(key);
    }

    /// Attributes that may ask for threads that are detached from the beginning.
    pub(super) fn detach_by_attributes(&mut self, state: Option<&Expr>) {
        if state.and_then(Expr::as_const) != Some(0) {
            self.found.detached.insert(ATTRIBUTES.into());
        }
    }

    pub(super) fn create(&mut self, name: &str, args: &[Expr], span: Span) -> Option<Term> {
        let (zero, c11) = (self.terms.int(0), name == "thrd_create");
        let (function, argument) = if c11 { (args.get(1)?, args.get(2)?) } else { (args.get(2)?, args.get(3)?) };
        let handle_at = self.value(args.first()?);
        // Some programs do not want the handle.
        let no_handle = self.b().as_num(handle_at) == Some(0);
        let attributes = match args.get(1).filter(|_| !c11) {
            Some(a) => self.value(a),
            None => zero,
        };
        let function = self.value(super::library::strip(function));
        let argument = self.value(argument);
        self.cur.at?;
        let handle_at = self.settle(handle_at);
        let handle_ty = self.unit.types.pointee(args.first()?.ty);
        let mut targets = Vec::new();
        for object in self.targets(function) {
            if let Content::Function(f) = self.objects[object].content {
                targets.push((self.objects[object].base, f));
            }
        }
        self.created = true;
        self.assume("c-threads-start", "creating a thread does not fail");
        let repeated = self.cur.loops > 0 || self.tasks[self.cur.task].many;
        let site = self.numbered_site(span);
        let head = self.cur.at?;
        let known = self.cur.known.clone();
        let end = self.fresh(span);
        let mut none = self.terms.tt();
        for (base, f) in targets {
            self.cur.at = Some(head);
            self.cur.known = known.clone();
            let hit = self.b().eq_linear(function, base);
            none = self.b().and(none, self.b().not(hit));
            let start = self.fresh(span);
            self.emit_step(start, hit, Vec::new(), Vec::new(), What::Test, span, access::Waits::Yes);
            self.enter(start);
            if self.cur.at.is_none() {
                continue;
            }
            let callee = self.unit.functions[f].name.clone();
            if self.unit.functions[f].body.is_none() {
                self.unmodelled(&format!("a thread of `{callee}`, which has no body"), span);
                continue;
            }
            if callee == ASYNCHRONOUS && self.needs_locals(f) {
                self.unmodelled("a statement that runs asynchronously with local variables", span);
                continue;
            }
            let key = format!("{}!{site}>{callee}", self.tasks[self.cur.task].key);
            let nested = self.tasks[self.cur.task].key.matches('>').count();
            if nested > 24 {
                self.unmodelled("threads that create threads without end", span);
                continue;
            }
            let constant = self.b().as_num(argument).is_some() && !repeated;
            let passed = if constant {
                ThreadArgument::Constant(argument)
            } else {
                let slot = self.internal(
                    &format!("<argument {key}>"),
                    &format!("argument_{callee}"),
                    Sort::INT,
                    Some(zero),
                    span,
                );
                ThreadArgument::Slot(slot)
            };
            let multiplicity = if repeated { Multiplicity::Many } else { Multiplicity::Once };
            let task = self.task(&key, &callee, f, multiplicity, passed, span);
            let CThread { started, handle, tickets, .. } = self.tasks[task].clone();
            let mut handle_value = self.terms.int(self.objects[handle].base);
            if let Some(Tickets { next, .. }) = tickets {
                let mine = self.temp(span);
                self.slots[mine].range = Some(TICKETS);
                self.update(vec![(mine, self.slot_term(next))], What::Assign, span);
                handle_value = self.b().add(self.slot_term(mine), handle_value);
            }
            if self.facts.detached.contains(ATTRIBUTES) && self.b().as_num(attributes) != Some(0) {
                self.found.detached.insert(key.clone());
            }
            let mut updates = Vec::new();
            if let Some(started) = started {
                updates.push((started, self.terms.tt()));
            }
            if let ThreadArgument::Slot(slot) = passed {
                updates.push((slot, argument));
            }
            if let Some(Tickets { next, .. }) = tickets {
                updates.push((next, self.b().add(self.slot_term(next), self.terms.int(1))));
            }
            match (repeated, started) {
                // The next thread is handed over when the last one has taken its argument.
                (true, Some(started)) => {
                    let free = self.b().not(self.slot_term(started));
                    self.wait(free, updates, What::Spawn, span);
                }
                _ => self.update(updates, What::Spawn, span),
            }
            // The new thread may run before its creator has its handle: POSIX does not promise otherwise.
            if let Some(ty) = handle_ty
                && self.unit.types.is_scalar(ty)
                && !no_handle
            {
                self.write(handle_at, ty, handle_value, span);
            }
            self.goto(end, span);
        }
        self.cur.at = Some(head);
        self.cur.known = known;
        if self.b().as_bool(none) != Some(false) {
            self.unknown_target(function, none, "a thread of a function that comes from outside", span);
        }
        self.enter(end);
        Some(zero)
    }

    /// Whether the text of a function names variables of a function.
    fn needs_locals(&self, f: FnId) -> bool {
        let body: Vec<&Stmt> = self.unit.functions[f].body.iter().flatten().collect();
        let used = super::walk::effects_of(&body, &[]).used;
        used.iter().any(|v| matches!(self.unit.variables[*v].storage, Storage::Local | Storage::Parameter))
    }

    pub(super) fn join(&mut self, args: &[Expr], span: Span) -> Option<Term> {
        let zero = self.terms.int(0);
        let handle = self.value(args.first()?);
        let into = match args.get(1) {
            Some(a) if a.as_const() != Some(0) => {
                let address = self.value(a);
                (self.b().as_num(address) != Some(0)).then_some((address, self.unit.types.pointee(a.ty)?))
            }
            _ => None,
        };
        self.cur.at?;
        let mut threads = Vec::new();
        for object in self.targets(handle) {
            if let Content::Thread(t) = self.objects[object].content {
                threads.push((self.objects[object].base, t));
            }
        }
        self.require_join();
        let result = self.temp(span);
        let to = self.fresh(span);
        let mut none = self.terms.tt();
        for (base, t) in threads {
            let task = self.tasks[t].clone();
            if self.facts.detached.contains(&task.key) {
                let why = format!("waiting for a thread of `{}` that may be detached", task.shown);
                self.unmodelled(&why, span);
                return None;
            }
            if task.many {
                self.found.joined.insert(task.key.clone());
                let Some(Tickets { ended, results, .. }) = task.tickets else { continue };
                let ticket = self.b().sub(handle, self.terms.int(base));
                let b = self.b();
                let hit = b.all([b.le(b.num(base), handle), b.lt(handle, b.num(base + (1 << 24)))]);
                none = b.and(none, b.not(hit));
                let guard = b.and(hit, b.select(self.slot_term(ended), ticket));
                let value = if into.is_some() { b.select(self.slot_term(results), ticket) } else { zero };
                self.note_write(result, value);
                self.emit_step(to, guard, Vec::new(), vec![(result, value)], What::Join, span, access::Waits::Yes);
                continue;
            }
            let hit = self.b().eq_linear(handle, base);
            none = self.b().and(none, self.b().not(hit));
            let guard = self.b().and(hit, self.slot_term(task.done));
            // Written before the thread ended, and never after: no step of its own.
            let value = if into.is_some() { self.slot_term(task.result) } else { zero };
            self.note_write(result, value);
            let before = self.cur.flow.steps.len();
            self.emit_step(to, guard, Vec::new(), vec![(result, value)], What::Join, span, access::Waits::Yes);
            // A step that can never be taken is not emitted, and then nothing was waited for.
            if let Some(step) = self.cur.flow.steps.get_mut(before) {
                step.joins.push(t);
            }
        }
        if self.may_be_outside(handle) {
            self.unknown_target(handle, none, "waiting for a thread that is not created here", span);
        }
        self.enter(to);
        self.cur.at?;
        if let Some((address, ty)) = into {
            let at = self.settle(address);
            let value = self.slot_term(result);
            self.write(at, ty, value, span);
        }
        Some(zero)
    }
}
