//! Calls: inlining of the program's own functions, case split over function pointers, dispatch to the library.
//!
//! In: a callee with its arguments. Out: the steps of its body at the location at hand, and the term of its result.
//! Deliberately absent: recursion deeper than the bound of inlining, which is unmodelled at its line.

use super::flow::*;
use super::memory::{Content, Ref};
use super::*;
use crate::c::ast::*;

/// A function may be on the stack of inlined calls so often; a deeper call is unmodelled.
const DEEPEST_RECURSION: usize = 12;

impl Lower<'_> {
    /// A call; the value, or for a struct the address of its result object.
    pub(super) fn call(&mut self, callee: &CCallee, args: &[Expr], ty: CType, span: Span) -> Option<Term> {
        self.cur.at?;
        match callee {
            CCallee::Direct(f) => self.direct(*f, args, ty, span),
            CCallee::Pointer(p) => {
                let address = self.value(p);
                let values: Vec<Term> = args.iter().map(|a| self.value(a)).collect();
                self.cur.at?;
                self.indirect(address, &values, ty, span)
            }
        }
    }

    fn direct(&mut self, f: FnId, args: &[Expr], ty: CType, span: Span) -> Option<Term> {
        let function = &self.unit.functions[f];
        let name = function.name.clone();
        if is_error(&name) {
            let ff = self.terms.ff();
            if self.checks(CCheck::Reach) {
                self.check(GateFailure::Reach(span), ff, span);
            } else {
                // Reaching it is not the question; the program ends there.
                self.leave_program(span, Leave::Stop);
            }
            return None;
        }
        if function.body.is_none() || self.overrides(&name) {
            return self.library(&name, args, ty, span);
        }
        let mut values = Vec::new();
        for (i, a) in args.iter().enumerate() {
            if self.unit.types.record(a.ty).is_some() {
                let at = self.aggregate(a)?;
                // A struct argument is copied before the callee can change its source.
                let site = self.numbered_site(span);
                let key = format!("{}!<argument {i} {site}>", self.tasks[self.cur.task].key);
                let owner = SlotOwner::Task(self.cur.task);
                let copy = self.object(&key, "(argument)", a.ty, owner, span, ObjectStart::Any);
                let to = Ref::Object(copy, self.terms.int(0));
                self.copy(to, at, a.ty, span);
                values.push(self.address_of(to));
            } else {
                values.push(self.value(a));
            }
        }
        self.cur.at?;
        let atomic = name.starts_with("__VERIFIER_atomic_");
        if atomic {
            self.atomic_begin(span);
        }
        let result = self.inline(f, values, span);
        if atomic {
            self.atomic_end(span);
        }
        result
    }

    /// Functions with a body of their own that are nevertheless the library's.
    fn overrides(&self, name: &str) -> bool {
        matches!(name, "__VERIFIER_assume" | "__VERIFIER_atomic_begin" | "__VERIFIER_atomic_end")
            || name.starts_with("__VERIFIER_nondet_")
    }

    /// A name for this call that no other call of the thread has.
    pub(super) fn numbered_site(&mut self, span: Span) -> String {
        let site = self.site(span);
        let number = self.cur.calls_at.entry(site.clone()).or_insert(0);
        *number += 1;
        if *number == 1 { site } else { format!("{site}~{number}") }
    }

    /// Inlines a function with the values of its parameters.
    pub(super) fn inline(&mut self, f: FnId, args: Vec<Term>, span: Span) -> Option<Term> {
        self.cur.at?;
        let function = &self.unit.functions[f];
        let name = function.name.clone();
        let Some(body) = &function.body else {
            self.unmodelled(&format!("a call of `{name}`, which has no body"), span);
            return None;
        };
        if self.cur.frames.iter().filter(|frame| frame.function == f).count() >= DEEPEST_RECURSION {
            self.unmodelled(&format!("recursion of `{name}` beyond depth {DEEPEST_RECURSION}"), span);
            return None;
        }
        self.inlined.insert(f);
        let path = format!("{}/{name}", self.numbered_site(span));
        let return_to = self.fresh(span);
        let result = if self.unit.types.is_void(function.result) {
            None
        } else {
            let key = format!("{}!{path}.<result>", self.tasks[self.cur.task].key);
            let owner = SlotOwner::Task(self.cur.task);
            Some(self.object(&key, &format!("{name}()"), function.result, owner, span, ObjectStart::Zero))
        };
        let iterations = std::mem::take(&mut self.cur.iterations);
        let loops = self.cur.loops;
        self.cur.frames.push(InlineFrame {
            function: f,
            path,
            vars: FxHashMap::default(),
            return_to,
            result,
            breaks: Vec::new(),
            continues: Vec::new(),
            labels: FxHashMap::default(),
            lowered: Vec::new(),
            switches: Vec::new(),
        });
        for (i, param) in function.params.iter().enumerate() {
            let ty = self.unit.variables[*param].ty;
            let object = self.variable_object(*param);
            let at = Ref::Object(object, self.terms.int(0));
            self.local_begins(object, span);
            if self.escapes(object) {
                self.unmodelled("the address of a parameter of a repeated thread leaves the thread", span);
            }
            match args.get(i) {
                Some(value) if self.unit.types.record(ty).is_some() => {
                    let from = self.settle(*value);
                    self.copy(at, from, ty, span);
                }
                Some(value) => self.write(at, ty, *value, span),
                None => {}
            }
        }
        self.block(body);
        self.goto(return_to, span);
        self.enter(return_to);
        self.locals_end(span);
        let return_to = self.cur.at;
        let mut locals = Vec::new();
        if let Some(frame) = self.cur.frames.pop() {
            let local = |v: &VarId| self.unit.variables[*v].storage == Storage::Local;
            locals.extend(frame.vars.iter().filter(|(v, _)| local(v)).map(|(_, o)| *o));
            // A jump must lead somewhere: to code that was not lowered it leads to the end of what is known.
            let mut lost: Vec<Loc> =
                frame.labels.iter().filter(|(l, _)| !frame.lowered.contains(l)).map(|(_, loc)| *loc).collect();
            lost.sort();
            for loc in lost {
                self.enter(loc);
                self.unmodelled("a jump into code that cannot be entered otherwise", span);
            }
        }
        self.cur.iterations = iterations;
        self.cur.loops = loops;
        self.enter(return_to?);
        // What the callee knew of its variables is of no use any more.
        for object in locals {
            if let Content::Leaves(leaves) = &self.objects[object].content {
                leaves.iter().for_each(|leaf| {
                    self.cur.known.remove(&leaf.slot);
                });
            }
        }
        self.cur.at?;
        let object = result?;
        let at = Ref::Object(object, self.terms.int(0));
        if self.unit.types.record(function.result).is_some() {
            return Some(self.address_of(at));
        }
        let value = self.read(at, function.result, span);
        if self.b().as_num(value).is_some() {
            return Some(value);
        }
        // The same call may run again before this value is used.
        let keep = self.temp(span);
        self.slots[keep].range = self.unit.types.as_int(function.result).map(|i| i.range(self.unit.types.model));
        self.update(vec![(keep, value)], What::Assign, span);
        Some(self.slot_term(keep))
    }

    /// A call through a pointer: one branch for each function it can point to.
    fn indirect(&mut self, address: Term, args: &[Term], ty: CType, span: Span) -> Option<Term> {
        let mut targets = Vec::new();
        for object in self.targets(address) {
            if let Content::Function(f) = self.objects[object].content {
                targets.push((self.objects[object].base, f));
            }
        }
        let into = self.temp(span);
        let end = self.fresh(span);
        let head = self.cur.at?;
        let known = self.cur.known.clone();
        let mut none = self.terms.tt();
        for (base, f) in targets {
            self.cur.at = Some(head);
            self.cur.known = known.clone();
            let hit = self.b().eq_linear(address, base);
            none = self.b().and(none, self.b().not(hit));
            let start = self.fresh(span);
            self.emit_step(start, hit, Vec::new(), Vec::new(), What::Test, span, access::Waits::Yes);
            self.enter(start);
            if self.cur.at.is_none() {
                continue;
            }
            if self.unit.functions[f].body.is_none() {
                let name = self.unit.functions[f].name.clone();
                self.unmodelled(&format!("a call of `{name}` through a pointer"), span);
                continue;
            }
            if let Some(value) = self.inline(f, args.to_vec(), span) {
                self.update(vec![(into, value)], What::Assign, span);
            }
            self.goto(end, span);
        }
        self.cur.at = Some(head);
        self.cur.known = known;
        if self.b().as_bool(none) != Some(false) {
            self.unknown_target(address, none, "a call through a pointer that comes from outside", span);
        }
        self.enter(end);
        self.slots[into].range = self.unit.types.as_int(ty).map(|i| i.range(self.unit.types.model));
        self.cur.at?;
        match self.cur.known.get(&into) {
            Some(value) => Some(*value),
            None => Some(self.slot_term(into)),
        }
    }

    /// Where a value is none of those that are known here: it is undefined, unless it comes from outside.
    pub(super) fn unknown_target(&mut self, value: Term, none: Term, why: &str, span: Span) {
        let hits = match self.may_be_outside(value) {
            true => (self.terms.ff(), Some((none, why.to_string()))),
            false => (none, None),
        };
        self.misses(&memory::Hits { cases: Vec::new(), invalid: hits.0, unmodelled: hits.1 }, span);
    }

    /// From here to the end no other thread moves.
    pub(super) fn atomic_begin(&mut self, _span: Span) {
        self.cur.atomic += 1;
    }

    pub(super) fn atomic_end(&mut self, span: Span) {
        if self.cur.at.is_none() {
            self.cur.atomic = 0;
            return;
        }
        if self.cur.atomic == 0 {
            return self.unmodelled("the end of an atomic section that was not begun", span);
        }
        self.cur.atomic -= 1;
        // The place after the section is outside again.
        let to = self.fresh(span);
        self.goto(to, span);
        self.enter(to);
    }
}

/// Calls that are the error themselves.
pub(super) fn is_error(name: &str) -> bool {
    matches!(name, "reach_error" | "__VERIFIER_error" | "__assert_fail" | "__assert" | "__assert_perror_fail")
}
