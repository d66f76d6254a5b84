//! Threads and synchronisation: POSIX threads, semaphores, and the C11 names for the same things.
//!
//! A mutex is 0 or the id of its holder; a waiter on a condition can wake at any time (POSIX allows it), so waiting is
//! unlocking and locking again. A read-write lock counts its readers, -1 is a writer. Every operation is one step for
//! each object its argument can be. Error returns that a correct program does not see are not modelled.
//! In: the name and arguments of a call. Out: the value it gives, or nothing where the name is none of these.

use super::flow::*;
use super::keys::KeyAccess;
use super::memory::{Case, Content};
use super::mutex::{EDEADLK, Try};
use super::threads::TICKETS;
use super::*;
use crate::c::ast::*;
use crate::c::types::Opaque;

const EBUSY: i128 = 16;
const ETIMEDOUT: i128 = 110;
/// What C11's functions return, as the common C libraries number it.
const THRD_BUSY: i128 = 1;
const THRD_TIMEDOUT: i128 = 4;

impl Lower<'_> {
    /// `Some(result)` if the function is one of the thread library.
    pub(super) fn sync_call(&mut self, name: &str, args: &[Expr], span: Span) -> Option<Option<Term>> {
        let zero = self.terms.int(0);
        let done = Some(Some(zero));
        self.note_unordered_call(name, span);
        match name {
            "pthread_create" | "thrd_create" => {
                return Some(self.create(name, args, span));
            }
            "pthread_join" | "thrd_join" => {
                return Some(self.join(args, span));
            }
            "pthread_exit" | "thrd_exit" => {
                let value = args.first().map_or(zero, |a| self.value(a));
                if self.cur.at.is_some() {
                    let task = self.tasks[self.cur.task].clone();
                    if self.checks(CCheck::Leak) && self.cur.task == TaskId(0) {
                        self.unmodelled("leaks at an end by the last thread", span);
                        return Some(None);
                    }
                    self.update(vec![(task.result, value)], What::Return, span);
                    self.all_locals_end(span);
                    let end = self.cur.end;
                    self.goto(end, span);
                }
                return Some(None);
            }
            "pthread_self" | "thrd_current" => {
                let task = self.tasks[self.cur.task].clone();
                let base = self.terms.int(self.objects[task.handle].base);
                if task.many {
                    // Tickets distinguish the copies.
                    self.found.joined.insert(task.key.clone());
                    let mine = self.ticket_slot(&task);
                    self.slots[mine].range = Some(TICKETS);
                    return Some(Some(self.b().add(self.slot_term(mine), base)));
                }
                return Some(Some(base));
            }
            // Whoever detaches itself needs no name for that.
            "pthread_detach" | "thrd_detach" => {
                let own = |f: &FnId| matches!(self.unit.functions[*f].name.as_str(), "pthread_self" | "thrd_current");
                let itself = args.iter().all(
                    |a| matches!(&super::library::strip(a).kind, CExprKind::Call(CCallee::Direct(f), _) if own(f)),
                );
                if itself {
                    self.detach_itself()
                } else {
                    self.detach(args)
                }
                return done;
            }
            "pthread_attr_setdetachstate" => {
                args.iter().for_each(|a| self.effect(a));
                self.detach_by_attributes(args.get(1));
                return done;
            }
            "pthread_equal" => {
                let (a, b) = (self.value(args.first()?), self.value(args.get(1)?));
                return Some(Some(self.b().bit(self.b().eq(a, b))));
            }
            "pthread_mutex_init" | "mtx_init" => return Some(self.mutex_init(args, span)),
            "pthread_mutex_lock" | "mtx_lock" | "pthread_spin_lock" => return Some(self.lock(args, Try::Wait, span)),
            "pthread_mutex_trylock" | "pthread_spin_trylock" => {
                return Some(self.lock(args, Try::Once(EBUSY), span));
            }
            "mtx_trylock" => return Some(self.lock(args, Try::Once(THRD_BUSY), span)),
            "pthread_mutex_timedlock" | "mtx_timedlock" => {
                return Some(self.lock(args, Try::Timed(too_late(name)), span));
            }
            "pthread_mutex_unlock" | "mtx_unlock" | "pthread_spin_unlock" => return Some(self.unlock(args, span)),
            "pthread_mutex_destroy"
            | "mtx_destroy"
            | "pthread_cond_init"
            | "pthread_cond_destroy"
            | "cnd_init"
            | "cnd_destroy"
            | "pthread_barrier_destroy"
            | "sem_destroy"
            | "pthread_rwlock_destroy"
            | "pthread_spin_destroy" => {
                args.iter().for_each(|a| self.effect(a));
                return done;
            }
            "pthread_cond_signal" | "cnd_signal" => return Some(self.signal(args, condition::Wake::One, span)),
            "pthread_cond_broadcast" | "cnd_broadcast" => return Some(self.signal(args, condition::Wake::All, span)),
            "pthread_cond_wait" | "cnd_wait" | "pthread_cond_timedwait" | "cnd_timedwait" => {
                return Some(self.wait_condition(name, args, span));
            }
            _ => {}
        }
        let opaque = |kind| Some(kind);
        let (kind, action): (Option<Opaque>, LockAction) = match name {
            "pthread_spin_init" => (opaque(Opaque::SpinLock), LockAction::Set(0)),
            "pthread_rwlock_init" => (opaque(Opaque::ReadWriteLock), LockAction::Set(0)),
            "pthread_rwlock_rdlock" => (opaque(Opaque::ReadWriteLock), LockAction::ReadLock),
            "pthread_rwlock_wrlock" => (opaque(Opaque::ReadWriteLock), LockAction::WriteLock),
            "pthread_rwlock_tryrdlock" => (opaque(Opaque::ReadWriteLock), LockAction::TryReadLock(EBUSY)),
            "pthread_rwlock_trywrlock" => (opaque(Opaque::ReadWriteLock), LockAction::TryWriteLock(EBUSY)),
            // The time may be over as soon as the lock is not free.
            "pthread_rwlock_timedrdlock" => (opaque(Opaque::ReadWriteLock), LockAction::TryReadLock(ETIMEDOUT)),
            "pthread_rwlock_timedwrlock" => (opaque(Opaque::ReadWriteLock), LockAction::TryWriteLock(ETIMEDOUT)),
            "pthread_rwlock_unlock" => (opaque(Opaque::ReadWriteLock), LockAction::ReadWriteUnlock),
            "sem_init" => (opaque(Opaque::Semaphore), LockAction::SemInit),
            "sem_wait" => (opaque(Opaque::Semaphore), LockAction::SemWait),
            "sem_trywait" | "sem_timedwait" => (opaque(Opaque::Semaphore), LockAction::SemTry),
            "sem_post" => (opaque(Opaque::Semaphore), LockAction::SemPost),
            "sem_getvalue" => (opaque(Opaque::Semaphore), LockAction::SemValue),
            "pthread_once" | "call_once" => (opaque(Opaque::Once), LockAction::Once),
            "pthread_barrier_init" => (opaque(Opaque::Barrier), LockAction::BarrierInit),
            "pthread_barrier_wait" => (opaque(Opaque::Barrier), LockAction::BarrierWait),
            "pthread_mutexattr_init" => (opaque(Opaque::MutexAttribute), LockAction::Set(0)),
            "pthread_mutexattr_settype" => (opaque(Opaque::MutexAttribute), LockAction::SetKind),
            "pthread_key_create" | "tss_create" => return Some(self.key_create(args, span)),
            "pthread_setspecific" | "tss_set" => return Some(self.key_access(args, KeyAccess::Set, span)),
            "pthread_getspecific" | "tss_get" => return Some(self.key_access(args, KeyAccess::Get, span)),
            "pthread_key_delete" | "tss_delete" => return Some(self.key_delete(args, span)),
            _ => return None,
        };
        Some(self.act(kind?, action, args, span))
    }

    /// The objects of an opaque kind that an argument can be, with their slots.
    pub(super) fn objects_of(&mut self, e: &Expr, kind: Opaque, span: Span) -> Option<Vec<Case>> {
        let address = self.value(super::library::strip(e));
        self.cur.at?;
        let place = self.settle(address);
        let pointee = self.unit.types.pointee(super::library::strip(e).ty)?;
        if !matches!(self.unit.types.kind(pointee), CTypeKind::Opaque(k) if *k == kind) {
            let shown = self.unit.types.show(pointee);
            self.unmodelled(&format!("a `{shown}` where a `{}` is expected", kind.name()), span);
            return None;
        }
        let hits = self.hits(place, pointee);
        self.misses(&hits, span);
        Some(hits.cases)
    }

    /// One step on an opaque object: guard and new value from the old; `None` leaves it.
    #[allow(clippy::too_many_arguments)] // The parts of a step.
    pub(super) fn object_step(
        &mut self,
        case: Case,
        to: Loc,
        guard: impl Fn(&Self, Term) -> Term,
        value: impl Fn(&Self, Term) -> Option<Term>,
        more: Vec<(SlotId, Term)>,
        what: What,
        span: Span,
    ) {
        let old = self.case_value(case);
        let guard = self.b().and(case.cond, guard(self, old));
        let mut updates = more;
        if let Some(new) = value(self, old) {
            updates.push(self.case_update(case, new));
        }
        for (slot, value) in &updates {
            self.note_write(*slot, *value);
            self.cur.known.remove(slot);
        }
        self.emit_step(to, guard, Vec::new(), updates, what, span, access::Waits::Yes);
    }

    pub(super) fn me(&self) -> Term {
        self.terms.sym(self.tid)
    }

    fn act(&mut self, kind: Opaque, action: LockAction, args: &[Expr], span: Span) -> Option<Term> {
        let zero = self.terms.int(0);
        let cases = self.objects_of(args.first()?, kind, span)?;
        // A time until which to wait, whether processes share it, attributes.
        if !matches!(action, LockAction::Once | LockAction::SemValue | LockAction::SetKind) {
            args.get(1).into_iter().for_each(|a| self.effect(a));
        }
        let operand = match action {
            LockAction::SemInit | LockAction::BarrierInit => Some(self.value(args.get(2)?)),
            LockAction::SetKind => Some(self.value(args.get(1)?)),
            _ => None,
        };
        let operand = match action {
            LockAction::SetKind => self.settled_kind(operand?, span),
            _ => operand,
        };
        self.cur.at?;
        if action == LockAction::Once {
            return self.once(&cases, args.get(1)?, span);
        }
        if matches!(action, LockAction::BarrierInit | LockAction::BarrierWait) {
            return self.barrier(&cases, action, operand, span);
        }
        let result = self.temp(span);
        let to = self.fresh(span);
        let minus_one = self.terms.int(-1);
        let plain = vec![(result, zero)];
        for case in cases {
            let is = |l: &Self, old: Term, n: i128| l.b().eq(old, l.terms.int(n));
            let plus = |l: &Self, old: Term, n: i128| Some(l.b().add(old, l.terms.int(n)));
            let positive = |l: &Self, old: Term| l.b().lt(l.terms.int(0), old);
            let any = |l: &Self, _: Term| l.terms.tt();
            match action {
                LockAction::Set(n) => {
                    self.object_step(case, to, any, |l, _| Some(l.terms.int(n)), plain.clone(), What::Atomic, span);
                }
                LockAction::SemInit | LockAction::SetKind => {
                    self.object_step(case, to, any, |_, _| operand, plain.clone(), What::Atomic, span);
                }
                LockAction::SemWait => {
                    self.object_step(case, to, positive, |l, o| plus(l, o, -1), plain.clone(), What::Acquire, span);
                }
                LockAction::SemPost => {
                    self.object_step(case, to, any, |l, o| plus(l, o, 1), plain.clone(), What::Release, span);
                }
                LockAction::SemTry => {
                    self.object_step(case, to, positive, |l, o| plus(l, o, -1), plain.clone(), What::Acquire, span);
                    let fails = vec![(result, minus_one)];
                    self.object_step(case, to, |l, o| l.b().not(positive(l, o)), |_, _| None, fails, What::Test, span);
                }
                LockAction::SemValue => {
                    let old = self.case_value(case);
                    self.object_step(case, to, any, |_, _| None, vec![(result, old)], What::Atomic, span);
                }
                LockAction::ReadLock | LockAction::WriteLock => {
                    let reading = action == LockAction::ReadLock;
                    let free = |l: &Self, o: Term| if reading { l.b().le(l.terms.int(0), o) } else { is(l, o, 0) };
                    let new = |l: &Self, o: Term| if reading { plus(l, o, 1) } else { Some(minus_one) };
                    let writer = self.beside("writer", "rwlock_writer", case, span);
                    let me = self.me();
                    let mut taken = plain.clone();
                    if !reading {
                        taken.push(self.case_update(writer, me));
                    }
                    self.object_step(case, to, free, new, taken, What::Acquire, span);
                    // Who has it for writing is told that it would wait for itself, as common libraries do.
                    let own = self.b().eq(self.case_value(writer), me);
                    let refused = vec![(result, self.terms.int(EDEADLK))];
                    let held = |l: &Self, o: Term| l.b().and(is(l, o, -1), own);
                    self.object_step(case, to, held, |_, _| None, refused, What::Test, span);
                }
                LockAction::TryReadLock(code) | LockAction::TryWriteLock(code) => {
                    let reading = matches!(action, LockAction::TryReadLock(_));
                    let free = |l: &Self, o: Term| if reading { l.b().le(l.terms.int(0), o) } else { is(l, o, 0) };
                    let new = |l: &Self, o: Term| if reading { plus(l, o, 1) } else { Some(minus_one) };
                    let mut plain = plain.clone();
                    if !reading {
                        let writer = self.beside("writer", "rwlock_writer", case, span);
                        plain.push(self.case_update(writer, self.me()));
                    }
                    self.object_step(case, to, free, new, plain, What::Acquire, span);
                    let busy = vec![(result, self.terms.int(code))];
                    self.object_step(case, to, |l, o| l.b().not(free(l, o)), |_, _| None, busy, What::Test, span);
                }
                LockAction::ReadWriteUnlock => {
                    let new = |l: &Self, o: Term| {
                        let b = l.b();
                        Some(b.ite(b.lt(b.num(0), o), b.sub(o, b.num(1)), b.num(0)))
                    };
                    self.object_step(case, to, any, new, plain.clone(), What::Release, span);
                }
                LockAction::Once | LockAction::BarrierInit | LockAction::BarrierWait => {}
            }
        }
        self.enter(to);
        self.cur.at?;
        if action == LockAction::SemValue {
            let value = self.slot_term(result);
            let into = self.value(args.get(1)?);
            let ty = self.unit.types.pointee(args.get(1)?.ty)?;
            let at = self.settle(into);
            self.write(at, ty, value, span);
            return Some(zero);
        }
        Some(self.slot_term(result))
    }

    /// The first caller runs the function; the others wait until it has returned.
    fn once(&mut self, cases: &[Case], routine: &Expr, span: Span) -> Option<Term> {
        let function = self.value(routine);
        let head = self.cur.at?;
        let known = self.cur.known.clone();
        let end = self.fresh(span);
        for case in cases {
            self.cur.at = Some(head);
            self.cur.known = known.clone();
            let start = self.fresh(span);
            let one = self.terms.int(1);
            let two = self.terms.int(2);
            let is = |n: i128| move |l: &Self, old: Term| l.b().eq(old, l.terms.int(n));
            self.object_step(*case, start, is(0), |_, _| Some(one), Vec::new(), What::Acquire, span);
            self.object_step(*case, end, is(2), |_, _| None, Vec::new(), What::Test, span);
            self.enter(start);
            let target = self.targets(function).into_iter().find_map(|o| match self.objects[o].content {
                Content::Function(f) => Some(f),
                _ => None,
            });
            match target {
                Some(f) if self.targets(function).len() == 1 => {
                    self.inline(f, Vec::new(), span);
                }
                _ => self.unmodelled("pthread_once with an unknown function", span),
            }
            if self.cur.at.is_some() {
                let yes = |l: &Self, _: Term| l.terms.tt();
                self.object_step(*case, end, yes, |_, _| Some(two), Vec::new(), What::Release, span);
                self.cur.at = None;
            }
        }
        self.cur.at = None;
        self.enter(end);
        self.cur.at?;
        Some(self.terms.int(0))
    }

    /// The kind that attributes are given; other numbers than those of the kinds are refused by the library.
    fn settled_kind(&mut self, kind: Term, span: Span) -> Option<Term> {
        if let Some(n) = self.b().as_num(kind).map(super::mutex::plain_kind) {
            if !(0..=2).contains(&n) {
                self.unmodelled("a kind of mutex of this number", span);
            }
            return Some(self.terms.int(n));
        }
        let b = self.b();
        let known = b.and(b.le(b.num(0), kind), b.le(kind, b.num(2)));
        self.only_modelled(known, "a kind of mutex of this number", span);
        Some(kind)
    }

    /// A barrier counts arrivals; the last one opens the next round for all who wait in this one.
    fn barrier(&mut self, cases: &[Case], action: LockAction, count: Option<Term>, span: Span) -> Option<Term> {
        let result = self.temp(span);
        let (zero, one) = (self.terms.int(0), self.terms.int(1));
        let head = self.cur.at?;
        let known = self.cur.known.clone();
        let end = self.fresh(span);
        for case in cases {
            self.cur.at = Some(head);
            self.cur.known = known.clone();
            let need = self.beside("need", "barrier_size", *case, span);
            let round = self.beside("round", "barrier_round", *case, span);
            if action == LockAction::BarrierInit {
                let more = vec![self.case_update(need, count?), self.case_update(round, zero), (result, zero)];
                let yes = |l: &Self, _: Term| l.terms.tt();
                self.object_step(*case, end, yes, |_, _| Some(zero), more, What::Atomic, span);
                continue;
            }
            let mine = self.temp(span);
            let (need_now, round_now) = (self.case_value(need), self.case_value(round));
            let next = self.case_update(round, self.b().add(round_now, one));
            let last = |l: &Self, old: Term| l.b().le(need_now, l.b().add(old, l.terms.int(1)));
            // The last to arrive gets a result of its own.
            let serial = self.terms.int(-1);
            self.object_step(
                *case,
                end,
                last,
                |l, _| Some(l.terms.int(0)),
                vec![next, (result, serial)],
                What::Release,
                span,
            );
            let waiting = self.fresh(span);
            self.object_step(
                *case,
                waiting,
                |l, old| l.b().not(last(l, old)),
                |l, old| Some(l.b().add(old, l.terms.int(1))),
                vec![(mine, round_now)],
                What::Acquire,
                span,
            );
            self.enter(waiting);
            if self.cur.at.is_some() {
                let opened = self.b().ne(self.case_value(round), self.slot_term(mine));
                self.note_write(result, zero);
                self.emit_step(end, opened, Vec::new(), vec![(result, zero)], What::Join, span, access::Waits::Yes);
            }
        }
        self.cur.at = None;
        self.enter(end);
        self.cur.known.remove(&result);
        Some(self.slot_term(result))
    }
}

/// What a wait with a limit returns when it is over.
pub(super) fn too_late(name: &str) -> i128 {
    if name.starts_with("pthread_") { ETIMEDOUT } else { THRD_TIMEDOUT }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LockAction {
    Set(i128),
    ReadLock,
    WriteLock,
    /// With the error where it is not free.
    TryReadLock(i128),
    TryWriteLock(i128),
    ReadWriteUnlock,
    SemInit,
    SemWait,
    SemTry,
    SemPost,
    SemValue,
    Once,
    BarrierInit,
    BarrierWait,
    SetKind,
}
