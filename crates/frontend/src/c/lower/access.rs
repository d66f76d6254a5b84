//! Steps: emission, control between locations, reads and writes of memory, undefined behaviour.
//!
//! A read or write of memory another thread can reach is one step for each leaf it can hit. Undefined behaviour is a gate
//! where it is the property asked for; otherwise the run is cut there and the assumption is recorded.
//! In: a place and the value for it, at the location that is being lowered. Out: steps of the flow, and the term that
//! was read.

use super::flow::*;
use super::memory::{ACCESS, Case, Hits, NewSlot, Ref};
use super::*;
use crate::c::types::Int;

impl Lower<'_> {
    /// The place that is reported for a step: inside a function of the library, its call.
    pub(super) fn blamed(&self, span: Span) -> Span {
        self.cur.blamed.unwrap_or(span)
    }

    pub(super) fn fresh(&mut self, span: Span) -> Loc {
        let (inside, span) = (self.cur.atomic > 0, self.blamed(span));
        self.cur.flow.places.push(flow::FlowPlace { span, in_atomic_block: inside })
    }

    /// Emits a step from the current location; does not move.
    pub(super) fn emit(&mut self, to: Loc, guard: Term, updates: Vec<(SlotId, Term)>, what: What, span: Span) {
        self.emit_step(to, guard, Vec::new(), updates, what, span, Waits::No);
    }

    #[allow(clippy::too_many_arguments)] // The parts of a step.
    pub(super) fn emit_step(
        &mut self,
        to: Loc,
        guard: Term,
        gates: Vec<(GateFailure, Term)>,
        updates: Vec<(SlotId, Term)>,
        what: What,
        span: Span,
        waits: Waits,
    ) {
        let Some(from) = self.cur.at else { return };
        if self.b().as_bool(guard) == Some(false) {
            return;
        }
        if self.steps_left == 0 {
            return;
        }
        self.steps_left -= 1;
        self.merge_env(to);
        let span = self.blamed(span);
        self.cur.flow.steps.push(FlowStep {
            from,
            to,
            inputs: Vec::new(),
            guard,
            blocking: waits == Waits::Yes,
            gates,
            updates,
            what,
            span,
            joins: Vec::new(),
        });
        if self.steps_left == 0 {
            self.unmodelled("the program is too large to lower", span);
        }
    }

    /// What is known here is known at a place only as far as every way there knows it.
    fn merge_env(&mut self, to: Loc) {
        let LoweringPosition { known, envs, entered, .. } = &mut self.cur;
        looks_at(1 + known.len());
        let unsteady = &mut self.found.unsteady;
        match envs.get_mut(&to) {
            None => {
                envs.insert(to, known.clone());
            }
            Some(old) => {
                let lowered = entered.contains(&to);
                old.retain(|slot, value| {
                    let agrees = known.get(slot) == Some(value);
                    // The code at that place was made with a constant that is none: the next pass does without it.
                    if lowered && !agrees {
                        unsteady.insert(*slot);
                    }
                    agrees
                });
            }
        }
    }

    /// Continues at a location, if anything leads there.
    pub(super) fn enter(&mut self, at: Loc) {
        match self.cur.envs.get(&at) {
            Some(known) => {
                self.cur.known = known.clone();
                self.cur.at = Some(at);
                self.cur.entered.insert(at);
                // Whether this is inside an atomic section is a fact of the place, not of the order of the text.
                self.cur.atomic = u32::from(self.cur.flow.places[at].in_atomic_block);
            }
            None => self.cur.at = None,
        }
    }

    pub(super) fn goto(&mut self, to: Loc, span: Span) {
        let tt = self.terms.tt();
        self.emit(to, tt, Vec::new(), What::Skip, span);
        self.cur.at = None;
    }

    /// One unconditional step.
    pub(super) fn update(&mut self, updates: Vec<(SlotId, Term)>, what: What, span: Span) {
        if self.cur.at.is_none() {
            return;
        }
        for (slot, value) in &updates {
            self.note_write(*slot, *value);
            self.learn(*slot, *value);
        }
        let to = self.fresh(span);
        let tt = self.terms.tt();
        self.emit(to, tt, updates, what, span);
        self.enter(to);
    }

    /// One step that waits for its guard.
    pub(super) fn wait(&mut self, guard: Term, updates: Vec<(SlotId, Term)>, what: What, span: Span) {
        if self.cur.at.is_none() {
            return;
        }
        for (slot, value) in &updates {
            self.note_write(*slot, *value);
            self.learn(*slot, *value);
        }
        let to = self.fresh(span);
        self.emit_step(to, guard, Vec::new(), updates, what, span, Waits::Yes);
        self.enter(to);
    }

    /// What is known of a private slot after an assignment.
    fn learn(&mut self, slot: SlotId, value: Term) {
        if self.slots[slot].owner == SlotOwner::Task(self.cur.task) {
            let constant = self.b().as_num(value).is_some() || self.b().as_bool(value).is_some();
            if constant && !self.facts.unsteady.contains(&slot) {
                self.cur.known.insert(slot, value);
            } else {
                self.cur.known.remove(&slot);
            }
        }
    }

    /// A new private slot.
    pub(super) fn temp(&mut self, span: Span) -> SlotId {
        self.cur.temps += 1;
        // Numbered within their place in the code, so that they are the same in every pass.
        let site = self.site(span);
        let number = self.cur.temps_at.entry(site.clone()).or_insert(0);
        *number += 1;
        let key = format!("<temp {} {site} {number}>", self.tasks[self.cur.task].key);
        let owner = SlotOwner::Task(self.cur.task);
        let initial = Some(self.terms.int(0));
        let shown = format!("t{}", self.cur.temps);
        let temp = self.slot(NewSlot {
            key,
            shown,
            sort: Sort::INT,
            owner,
            initial,
            range: None,
            lock: false,
            role: SlotRole::Data,
            span,
        });
        // Another pass may have used it for something else.
        self.slots[temp].range = None;
        temp
    }

    /// A name for a place in the code that is the same in every pass: the calls around, the place, the iterations.
    pub(super) fn site(&self, span: Span) -> String {
        let path = self.cur.frames.last().map_or("", |f| f.path.as_str());
        let iterations: Vec<String> = self.cur.iterations.iter().map(u32::to_string).collect();
        format!("{path}@{}:{}", span.start, iterations.join("."))
    }

    /// Stops here: this construct is not modelled. A survey notes it and goes on.
    pub(super) fn unmodelled(&mut self, why: &str, span: Span) {
        let Some(from) = self.cur.at else { return };
        if self.steps_left > 0
            && let Some(survey) = &mut self.survey
        {
            let found = (self.cur.blamed.unwrap_or(span), why.to_string());
            if !survey.contains(&found) {
                survey.push(found);
            }
            if survey.len() < MAX_OBSTACLES {
                return;
            }
        }
        let to = self.fresh(span);
        let (tt, ff) = (self.terms.tt(), self.terms.ff());
        let span = self.blamed(span);
        self.cur.flow.steps.push(FlowStep {
            from,
            to,
            inputs: Vec::new(),
            guard: tt,
            blocking: false,
            gates: vec![(GateFailure::Unmodelled(why.to_string(), span), ff)],
            updates: Vec::new(),
            what: What::Unmodelled,
            span,
            joins: Vec::new(),
        });
        self.cur.at = None;
    }

    /// A gate of the property: goes wrong where the formula is false.
    pub(super) fn check(&mut self, failure: GateFailure, formula: Term, span: Span) {
        if self.cur.at.is_none() || self.b().as_bool(formula) == Some(true) {
            return;
        }
        let to = self.fresh(span);
        let tt = self.terms.tt();
        self.emit_step(to, tt, vec![(failure, formula)], Vec::new(), What::Assert, span, Waits::No);
        if self.b().as_bool(formula) == Some(false) {
            self.cur.at = None;
            return;
        }
        self.enter(to);
    }

    pub(super) fn checks(&self, check: CCheck) -> bool {
        self.checks.contains(&check)
    }

    /// Something C leaves undefined unless the formula holds.
    pub(super) fn require(&mut self, undefined: Undefined, formula: Term, span: Span) {
        if self.b().as_bool(formula) == Some(true) {
            return;
        }
        let failure = match undefined {
            Undefined::Overflow if self.checks(CCheck::Overflow) => Some(GateFailure::Overflow),
            Undefined::Deref if self.checks(CCheck::Memory) => Some(GateFailure::Deref),
            Undefined::Division if self.checks(CCheck::Division) => Some(GateFailure::Division),
            Undefined::Shift if self.checks(CCheck::Shift) => Some(GateFailure::Shift),
            _ => None,
        };
        match failure {
            Some(failure) => self.check(failure, formula, span),
            None => {
                self.assume_defined(undefined);
                self.only_if(formula, span);
            }
        }
    }

    /// Runs where the formula is false are not looked at. Waiting for it would count as a deadlock.
    pub(super) fn only_if(&mut self, formula: Term, span: Span) {
        if !self.checks(CCheck::Deadlock) {
            return self.wait(formula, Vec::new(), What::Assume, span);
        }
        let (yes, no) = (self.fresh(span), self.fresh(span));
        let value = self.b().bit(formula);
        self.test(value, yes, no, span);
        self.enter(no);
        self.leave_program(span, Leave::Stop);
        self.enter(yes);
    }

    pub(super) fn assume_defined(&mut self, undefined: Undefined) {
        let (code, text) = match undefined {
            Undefined::Overflow => ("c-no-signed-overflow", "signed integer arithmetic does not overflow"),
            Undefined::Deref => (
                "c-valid-dereference",
                "no null, dangling or out-of-bounds access happens, and none through a pointer of another type",
            ),
            Undefined::Division => ("c-no-zero-division", "no division by zero happens"),
            Undefined::Shift => ("c-valid-shift", "shift amounts are within the width of the type"),
            Undefined::Join => ("c-valid-join", "only handles of created threads are joined"),
        };
        self.assume(code, text);
    }

    pub(super) fn assume(&mut self, code: &'static str, text: &str) {
        self.assumptions.insert(code, text.to_string());
    }

    fn private(&self, slot: SlotId) -> bool {
        self.slots[slot].owner == SlotOwner::Task(self.cur.task)
    }

    /// The value of a case as a C integer of the leaf's type.
    pub(super) fn case_value(&self, case: Case) -> Term {
        if case.bytes > 0 {
            let b = self.b();
            return case.slots().enumerate().fold(b.num(0), |sum, (i, slot)| {
                let byte = self.cur.known.get(&slot).copied().unwrap_or_else(|| self.slot_term(slot));
                b.add(sum, b.mul(byte, b.num(1 << (8 * i))))
            });
        }
        let slot = self.slot_term(case.slot);
        let slot = self.cur.known.get(&case.slot).copied().unwrap_or(slot);
        let value = match case.key {
            Some(k) => self.b().select(slot, k),
            None => slot,
        };
        if self.terms.sort_of(value) == Sort::BOOL { self.b().bit(value) } else { value }
    }

    /// The updates that store a C integer into a case.
    pub(super) fn case_updates(&self, case: Case, value: Term) -> Vec<(SlotId, Term)> {
        if case.bytes == 0 {
            return vec![self.case_update(case, value)];
        }
        let b = self.b();
        let byte = |i: usize| b.modulo(b.div(value, b.num(1 << (8 * i))), b.num(256));
        case.slots().enumerate().map(|(i, slot)| (slot, byte(i))).collect()
    }

    /// The update that stores a C integer into a case of one slot.
    pub(super) fn case_update(&self, case: Case, value: Term) -> (SlotId, Term) {
        let element = match self.terms.kind(self.slots[case.slot].sort) {
            logic::SortKind::Map(_, to) => to,
            _ => self.slots[case.slot].sort,
        };
        let value = if element == Sort::BOOL { self.b().truth(value) } else { value };
        match case.key {
            Some(k) => (case.slot, self.terms.store(self.slot_term(case.slot), k, value)),
            None => (case.slot, value),
        }
    }

    fn leaf_int(&self, case: Case) -> Option<(i128, i128)> {
        if case.bytes > 0 {
            return Some((0, (1 << (8 * case.bytes)) - 1));
        }
        self.slots[case.slot].range
    }

    /// The value as the leaf keeps it.
    pub(super) fn stored(&mut self, case: Case, value: Term) -> Term {
        let bit = self.slots[case.slot].sort == Sort::INT;
        match self.leaf_int(case) {
            // A bit-field of one bit keeps the last bit; a `_Bool` keeps whether there is one.
            Some((0, 1)) if bit => self.b().modulo(value, self.b().num(2)),
            Some(range) => self.wrap_into(value, range),
            None => value,
        }
    }

    /// Reads a place; one step unless the place is private or constant.
    pub(super) fn read(&mut self, place: Ref, ty: CType, span: Span) -> Term {
        // A list of arguments is handed on; what is taken out of it is not modelled.
        if self.cur.at.is_none() || *self.unit.types.kind(ty) == CTypeKind::VarArgs {
            return self.terms.int(0);
        }
        let hits = self.hits(place, ty);
        self.whole_addresses(&hits, ty, span);
        if self.cur.at.is_none() {
            return self.terms.int(0);
        }
        if !self.cur.printing && hits.cases.iter().any(|c| self.facts.formatted.contains(&c.slot)) {
            self.unmodelled("the characters of a text that a format made", span);
            return self.terms.int(0);
        }
        if let ([case], None) = (&hits.cases[..], &hits.unmodelled)
            && self.b().as_bool(case.cond) == Some(true)
        {
            let case = *case;
            if self.private(case.slot) {
                let value = self.case_value(case);
                return self.retyped(value, case, ty);
            }
            if case.bytes == 0
                && !self.facts.written.contains(&case.slot)
                && let Some(initial) = self.slots[case.slot].initial
            {
                let value = match case.key {
                    Some(k) => self.b().select(initial, k),
                    None => initial,
                };
                let value = if self.terms.sort_of(value) == Sort::BOOL { self.b().bit(value) } else { value };
                return self.retyped(value, case, ty);
            }
        }
        let into = self.temp(span);
        let to = self.fresh(span);
        for case in hits.cases.clone() {
            let value = self.case_value(case);
            let value = self.retyped(value, case, ty);
            self.note_write(into, value);
            let updates = vec![(into, value)];
            self.emit_step(to, case.cond, Vec::new(), updates, access_to(ty), span, hits.waits(&self.terms));
        }
        self.misses(&hits, span);
        self.slots[into].range = match self.unit.types.as_int(ty) {
            Some(int) => Some(int.range(self.unit.types.model)),
            None => None,
        };
        self.enter(to);
        self.slot_term(into)
    }

    /// A leaf read through the type of the other signedness.
    fn retyped(&mut self, value: Term, case: Case, ty: CType) -> Term {
        let Some(int) = self.unit.types.as_int(ty) else { return value };
        match self.leaf_int(case) {
            Some(range) if int == Int::Bool || range == int.range(self.unit.types.model) => value,
            Some(_) => self.wrap(value, int),
            None => value,
        }
    }

    /// The steps of an access that hits nothing: undefined, or not modelled.
    pub(super) fn misses(&mut self, hits: &Hits, span: Span) {
        if let Some((cond, why)) = &hits.unmodelled {
            let to = self.fresh(span);
            let ff = self.terms.ff();
            let gate = (GateFailure::Unmodelled(why.clone(), self.blamed(span)), ff);
            self.emit_step(to, *cond, vec![gate], Vec::new(), What::Unmodelled, span, Waits::No);
        }
        if self.b().as_bool(hits.invalid) == Some(false) {
            return;
        }
        if self.checks(CCheck::Memory) {
            let to = self.fresh(span);
            let ff = self.terms.ff();
            self.emit_step(to, hits.invalid, vec![(GateFailure::Deref, ff)], Vec::new(), What::Assert, span, Waits::No);
        } else {
            self.assume_defined(Undefined::Deref);
        }
    }

    /// Writing a string literal or an object that is defined `const` is undefined (C11 6.4.5p7, 6.7.3p6): for a write it is no memory.
    fn spare_literals(&self, hits: &mut Hits) {
        let b = self.b();
        let literal =
            |c: &Case| self.slots[c.slot].key.starts_with("<text ") || self.is_constant_object(&self.slots[c.slot].key);
        if hits.cases.iter().any(literal) {
            hits.cases.retain(|c| !literal(c));
            let bad = hits.unmodelled.as_ref().map_or(b.ff(), |(cond, _)| *cond);
            hits.invalid = b.not(b.or(b.any(hits.cases.iter().map(|c| c.cond)), bad));
        }
    }

    /// Whether a slot is part of a variable of static storage that is defined `const`.
    fn is_constant_object(&self, key: &str) -> bool {
        let Some((name, rest)) = key.split_once('#') else { return false };
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        // Names of locals and of what belongs to a thread go on with the thread.
        let own = !rest[digits..].starts_with('!') && !name.contains(['!', '<', '>']);
        let number = rest[..digits].parse().ok().filter(|_| own).map(crate::c::ast::VarId);
        number.and_then(|v| self.unit.variables.get(v)).is_some_and(|v| v.constant && v.name == name)
    }

    /// The bytes of an address are the machine's choice: they can be moved, but not looked at one by one.
    fn whole_addresses(&mut self, hits: &Hits, ty: CType, span: Span) {
        let narrow = self.unit.types.size(ty).is_none_or(|s| s < self.unit.types.model.pointer_bytes());
        if !narrow || self.cur.moving || self.cur.printing {
            return;
        }
        let part = |c: &&Case| c.bytes > 0 && c.slots().any(|s| self.is_address(self.slot_term(s)));
        let parts: Vec<Case> = hits.cases.iter().filter(part).copied().collect();
        for case in parts {
            match self.whole_from(case) {
                // Where a number was stored over it, the whole is no address any more.
                Some(whole) => {
                    let elsewhere = self.b().not(case.cond);
                    self.only_numbers_or(elsewhere, whole, "a part of an address", span);
                }
                None => self.unmodelled("a part of an address", span),
            }
        }
    }

    /// The number as long as a pointer that begins with the bytes of a case.
    fn whole_from(&self, case: Case) -> Option<Term> {
        let count = self.unit.types.model.pointer_bytes() as u32;
        let (object, at) = self.slots[case.slot].key.rsplit_once('+')?;
        let at: u32 = at.parse().ok()?;
        let last = self.slot_keys.get(&format!("{object}+{}", at + count - 1))?;
        let follows = at.is_multiple_of(count) && last.0 == case.slot.0 + count - 1;
        follows.then(|| self.case_value(Case { bytes: count as u8, ..case }))
    }

    /// Writes a place: one step.
    pub(super) fn write(&mut self, place: Ref, ty: CType, value: Term, span: Span) {
        if self.cur.at.is_none() || *self.unit.types.kind(ty) == CTypeKind::VarArgs {
            return;
        }
        let mut hits = self.hits(place, ty);
        self.spare_literals(&mut hits);
        let to = self.fresh(span);
        let single = hits.cases.len() == 1 && hits.unmodelled.is_none();
        for case in hits.cases.clone() {
            let stored = self.stored(case, value);
            if case.bytes > 0 {
                // A byte of an address does not show it.
                let targets = self.targets(value);
                case.slots().for_each(|slot| self.found.points(slot, targets.iter().copied()));
            }
            for (slot, term) in self.case_updates(case, stored) {
                self.note_write(slot, term);
                if single && case.key.is_none() {
                    self.learn(slot, term);
                } else {
                    self.cur.known.remove(&slot);
                }
            }
        }
        for case in hits.cases.clone() {
            let stored = self.stored(case, value);
            let updates = self.case_updates(case, stored);
            self.emit_step(to, case.cond, Vec::new(), updates, access_to(ty), span, hits.waits(&self.terms));
        }
        self.misses(&hits, span);
        self.enter(to);
    }

    /// Reads and writes a place in one step: what atomics do. Gives the old value.
    pub(super) fn exchange(
        &mut self,
        place: Ref,
        ty: CType,
        span: Span,
        what: What,
        new: impl Fn(&mut Self, Term) -> Term,
    ) -> Term {
        if self.cur.at.is_none() {
            return self.terms.int(0);
        }
        let hits = self.hits(place, ty);
        let into = self.temp(span);
        let to = self.fresh(span);
        for case in hits.cases.clone() {
            let old = self.case_value(case);
            let old = self.retyped(old, case, ty);
            let value = new(self, old);
            let value = self.stored(case, value);
            let mut updates = self.case_updates(case, value);
            for (slot, term) in &updates {
                self.note_write(*slot, *term);
                self.cur.known.remove(slot);
            }
            self.note_write(into, old);
            updates.insert(0, (into, old));
            self.emit_step(to, case.cond, Vec::new(), updates, what, span, hits.waits(&self.terms));
        }
        self.misses(&hits, span);
        self.slots[into].range = self.unit.types.as_int(ty).map(|i| i.range(self.unit.types.model));
        self.enter(to);
        self.slot_term(into)
    }

    /// An arbitrary value of a type.
    pub(super) fn nondet(&mut self, ty: CType, span: Span) -> Term {
        if self.unit.types.is_float(ty) {
            return self.unfollowed();
        }
        let int = self.unit.types.as_int(ty);
        let range = int.map(|i| i.range(self.unit.types.model));
        self.nondet_in(range, if int == Some(Int::Bool) { Sort::BOOL } else { Sort::INT }, span)
    }

    pub(super) fn nondet_in(&mut self, range: Option<(i128, i128)>, sort: Sort, span: Span) -> Term {
        if self.cur.at.is_none() {
            return self.terms.int(0);
        }
        let into = self.temp(span);
        let symbol = self.terms.symbol("any", sort);
        let value = self.terms.sym(symbol);
        let value = if sort == Sort::BOOL { self.b().bit(value) } else { value };
        self.slots[into].range = range;
        self.update(vec![(into, value)], What::Havoc, span);
        if let Some(step) = self.cur.flow.steps.last_mut() {
            step.inputs.push(FlowInput { symbol, range: if sort == Sort::BOOL { None } else { range } });
        }
        self.slot_term(into)
    }

    /// The whole program ends here. What goes wrong in another thread could as well go wrong just before this step, for it
    /// changes nothing: so the thread simply stops, and the end matters to the question of deadlocks alone.
    pub(super) fn leave_program(&mut self, span: Span, leave: Leave) {
        if self.cur.at.is_none() {
            return;
        }
        let to = self.cur.flow.exit.unwrap_or(self.cur.end);
        let tt = self.terms.tt();
        if !self.checks(CCheck::Deadlock) {
            if leave == Leave::Return {
                self.emit(to, tt, Vec::new(), What::Return, span);
            }
            self.cur.at = None;
            return;
        }
        let alone = !self.created && self.cur.loops == 0 && leave == Leave::Stop;
        let exited = self.exited;
        let updates = if alone { Vec::new() } else { vec![(exited, tt)] };
        if !alone {
            self.note_write(exited, tt);
        }
        self.emit(to, tt, updates, What::Return, span);
        self.cur.at = None;
    }

    /// Replaces everything by "not modelled".
    pub(super) fn give_up(&mut self, why: &str) {
        let span = self.tasks[TaskId(0)].span;
        if let Some(entry) = self.flows.first().and_then(|f| f.entry) {
            self.cur.flow = std::mem::take(&mut self.flows[0]);
            self.cur.flow.steps.clear();
            self.cur.at = Some(entry);
            self.cur.atomic = 0;
            self.unmodelled(why, span);
            self.flows[0] = std::mem::take(&mut self.cur.flow);
        }
    }
}

/// How an access through a type shows: as an atomic one, or not.
fn access_to(ty: CType) -> What {
    if ty.quals.atomic { What::Cas } else { ACCESS }
}

impl Hits {
    /// Where an access may hit nothing, the run is cut there: the step must not be merged into an earlier write.
    pub(super) fn waits(&self, terms: &Terms) -> Waits {
        if Build(terms).as_bool(self.invalid) == Some(false) { Waits::No } else { Waits::Yes }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waits {
    Yes,
    No,
}

/// Behaviour that C leaves undefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Undefined {
    Overflow,
    Deref,
    Division,
    Shift,
    Join,
}
