//! Condition variables.
//!
//! POSIX allows a wait to end without a signal, and a program must be right even so: a wait is unlocking and locking again,
//! and a signal does nothing. Where deadlocks are asked for, too, that would hide the lost signal, for a waiter could always wake;
//! there a thread decides when it begins to wait whether its wait will end by itself. If not, it waits until it is woken: a signal
//! wakes one that waits, a broadcast all of them. Every run of POSIX is among these, and a thread that need not wake may sleep for ever.
//! Repeated threads and waits with a time limit keep the first reading there too, with the assumption that says so.
//! In: the name and arguments of a wait or of a signal. Out: its steps, and the number it returns.

use super::memory::Case;
use super::mutex::Try;
use super::sync::too_late;
use super::*;
use crate::c::ast::*;
use crate::c::types::Opaque;

impl Lower<'_> {
    pub(super) fn wait_condition(&mut self, name: &str, args: &[Expr], span: Span) -> Option<Term> {
        let timed = name.contains("timed");
        let mutex = std::slice::from_ref(args.get(1)?);
        if !self.looks_pure(args.get(1)?) {
            // It is named twice here, where it is released and where it is taken again.
            self.unmodelled("a wait whose mutex is named by an expression with effects", span);
            return None;
        }
        args.iter().skip(2).for_each(|a| self.effect(a));
        let cases = match self.checks(CCheck::Deadlock) && !timed {
            true => self.conditions(args.first()?, span)?,
            false => {
                self.effect(args.first()?);
                None
            }
        };
        if let Some(cases) = cases {
            return self.wait_for_signal(&cases, mutex, span);
        }
        self.unlock(mutex, span)?;
        self.lock(mutex, Try::Wait, span)?;
        if self.checks(CCheck::Deadlock) {
            self.assume("c-spurious-wakeups", "a wait on a condition variable may end without a signal");
        }
        if timed {
            let late = self.nondet_in(Some((0, 1)), Sort::BOOL, span);
            let b = self.b();
            return Some(b.ite(b.truth(late), b.num(too_late(name)), b.num(0)));
        }
        Some(self.terms.int(0))
    }

    /// The condition variables that an argument can be; `Some(None)` where signals are not followed.
    #[allow(clippy::option_option)] // The outer one is "the thread does not come here".
    fn conditions(&mut self, e: &Expr, span: Span) -> Option<Option<Vec<Case>>> {
        let cases = self.objects_of(e, Opaque::Condition, span)?;
        let plain = !self.tasks[self.cur.task].many && cases.iter().all(|c| c.key.is_none());
        Some(plain.then_some(cases))
    }

    /// What a thread waits for: 0, or the number of a condition variable.
    fn waiting_slot(&mut self, task: &str, span: Span) -> SlotId {
        let zero = Some(self.terms.int(0));
        self.internal(&format!("<waiting {task}>"), "waiting", Sort::INT, zero, span)
    }

    fn number(&self, case: Case) -> Term {
        self.terms.int(i128::from(case.slot.0) + 1)
    }

    fn wait_for_signal(&mut self, cases: &[Case], mutex: &[Expr], span: Span) -> Option<Term> {
        let me = self.tasks[self.cur.task].key.clone();
        let waiting = self.waiting_slot(&me, span);
        let early = self.nondet_in(Some((0, 1)), Sort::BOOL, span);
        let early = self.b().truth(early);
        // To begin to wait and to release the mutex is one step.
        self.atomic_begin(span);
        let to = self.fresh(span);
        for case in cases {
            let key = self.slots[case.slot].key.clone();
            self.found.waiters.entry(key).or_default().insert(me.clone());
            let awaited = self.b().ite(early, self.terms.int(0), self.number(*case));
            self.note_write(waiting, awaited);
            self.emit(to, case.cond, vec![(waiting, awaited)], What::Assign, span);
        }
        self.enter(to);
        self.unlock(mutex, span)?;
        self.atomic_end(span);
        let woken = self.b().eq(self.slot_term(waiting), self.terms.int(0));
        self.wait(woken, Vec::new(), What::Join, span);
        self.lock(mutex, Try::Wait, span)?;
        Some(self.terms.int(0))
    }

    pub(super) fn signal(&mut self, args: &[Expr], wake: Wake, span: Span) -> Option<Term> {
        let zero = self.terms.int(0);
        if !self.checks(CCheck::Deadlock) {
            args.iter().for_each(|a| self.effect(a));
            return Some(zero);
        }
        let cases = self.objects_of(args.first()?, Opaque::Condition, span)?;
        let to = self.fresh(span);
        for case in cases {
            let key = self.slots[case.slot].key.clone();
            let waiters: Vec<String> = self.facts.waiters.get(&key).into_iter().flatten().cloned().collect();
            let slots: Vec<SlotId> = waiters.iter().map(|w| self.waiting_slot(w, span)).collect();
            let number = self.number(case);
            let waits: Vec<Term> = slots.iter().map(|s| self.b().eq(self.slot_term(*s), number)).collect();
            if wake == Wake::All {
                let updates: Vec<(SlotId, Term)> = slots
                    .iter()
                    .zip(&waits)
                    .map(|(slot, w)| (*slot, self.b().ite(*w, zero, self.slot_term(*slot))))
                    .collect();
                updates.iter().for_each(|(s, v)| self.note_write(*s, *v));
                self.emit(to, case.cond, updates, What::Release, span);
                continue;
            }
            for (slot, w) in slots.iter().zip(&waits) {
                let guard = self.b().and(case.cond, *w);
                self.note_write(*slot, zero);
                self.emit(to, guard, vec![(*slot, zero)], What::Release, span);
            }
            let none_waits = self.b().all(waits.iter().map(|w| self.b().not(*w)).chain([case.cond]));
            self.emit(to, none_waits, Vec::new(), What::Release, span);
        }
        self.enter(to);
        Some(zero)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wake {
    One,
    All,
}
