//! Threads and synchronisation: POSIX threads, semaphores, and the C11 names for the same things.
//!
//! A mutex is 0 or the id of its holder; a waiter on a condition can wake at any time (POSIX allows it), so waiting is
//! unlocking and locking again. A read-write lock counts its readers, -1 is a writer. Every operation is one step for
//! each object its argument can be. Error returns that a correct program does not see are not modelled.

use super::flow::*;
use super::keys::KeyAccess;
use super::memory::{Case, Content};
use super::*;
use crate::c::ast::*;
use crate::c::types::Opaque;

/// The tickets of the copies of a repeated thread.
const TICKETS: (i128, i128) = (0, (1 << 24) - 1);
const EBUSY: i128 = 16;
const EDEADLK: i128 = 35;
const EPERM: i128 = 1;
const ETIMEDOUT: i128 = 110;
/// What C11's functions return, as the common C libraries number it.
const THRD_BUSY: i128 = 1;
const THRD_TIMEDOUT: i128 = 4;
const RECURSIVE: i128 = 1;
const ERRORCHECK: i128 = 2;

impl Lower<'_> {
    /// `Some(result)` if the function is one of the thread library.
    pub(super) fn sync_call(&mut self, name: &str, args: &[Expr], span: Span) -> Option<Option<Term>> {
        let zero = self.terms.int(0);
        let done = Some(Some(zero));
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
                    if self.checks(Check::Leak) && self.cur.task == TaskId(0) {
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
                    // The copies are told apart by their tickets.
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
                let itself = args
                    .iter()
                    .all(|a| matches!(&super::library::strip(a).kind, ExprKind::Call(Callee::Direct(f), _) if own(f)));
                if !itself {
                    args.iter().for_each(|a| self.effect(a));
                }
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
            | "pthread_spin_destroy"
            | "pthread_mutexattr_init" => {
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
        let (kind, action): (Option<Opaque>, Action) = match name {
            "pthread_spin_init" => (opaque(Opaque::SpinLock), Action::Set(0)),
            "pthread_rwlock_init" => (opaque(Opaque::ReadWriteLock), Action::Set(0)),
            "pthread_rwlock_rdlock" => (opaque(Opaque::ReadWriteLock), Action::ReadLock),
            "pthread_rwlock_wrlock" => (opaque(Opaque::ReadWriteLock), Action::WriteLock),
            "pthread_rwlock_tryrdlock" => (opaque(Opaque::ReadWriteLock), Action::TryReadLock(EBUSY)),
            "pthread_rwlock_trywrlock" => (opaque(Opaque::ReadWriteLock), Action::TryWriteLock(EBUSY)),
            // The time may be over as soon as the lock is not free.
            "pthread_rwlock_timedrdlock" => (opaque(Opaque::ReadWriteLock), Action::TryReadLock(ETIMEDOUT)),
            "pthread_rwlock_timedwrlock" => (opaque(Opaque::ReadWriteLock), Action::TryWriteLock(ETIMEDOUT)),
            "pthread_rwlock_unlock" => (opaque(Opaque::ReadWriteLock), Action::ReadWriteUnlock),
            "sem_init" => (opaque(Opaque::Semaphore), Action::SemInit),
            "sem_wait" => (opaque(Opaque::Semaphore), Action::SemWait),
            "sem_trywait" | "sem_timedwait" => (opaque(Opaque::Semaphore), Action::SemTry),
            "sem_post" => (opaque(Opaque::Semaphore), Action::SemPost),
            "sem_getvalue" => (opaque(Opaque::Semaphore), Action::SemValue),
            "pthread_once" | "call_once" => (opaque(Opaque::Once), Action::Once),
            "pthread_barrier_init" => (opaque(Opaque::Barrier), Action::BarrierInit),
            "pthread_barrier_wait" => (opaque(Opaque::Barrier), Action::BarrierWait),
            "pthread_mutexattr_settype" => (opaque(Opaque::MutexAttribute), Action::SetKind),
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
        if !matches!(self.unit.types.kind(pointee), Kind::Opaque(k) if *k == kind) {
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
    fn object_step(
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

    fn me(&self) -> Term {
        self.terms.sym(self.tid)
    }

    pub(super) fn mutex_kind_slot(&mut self, object: &str, span: Span) -> SlotId {
        let zero = Some(self.terms.int(0));
        self.internal(&format!("<kind {object}>"), "mutex_kind", Sort::INT, zero, span)
    }

    fn mutex_depth_slot(&mut self, object: &str, span: Span) -> SlotId {
        let zero = Some(self.terms.int(0));
        self.internal(&format!("<depth {object}>"), "mutex_depth", Sort::INT, zero, span)
    }

    /// The key under which a mutex's kind is kept: its slot.
    fn kind_key(&self, case: Case) -> String {
        let key = &self.slots[case.slot].key;
        key.clone()
    }

    fn special(&self, case: Case) -> bool {
        case.key.is_none() && self.facts.kinds.contains(&self.kind_key(case))
    }

    fn mutex_init(&mut self, args: &[Expr], span: Span) -> Option<Term> {
        let zero = self.terms.int(0);
        let cases = self.objects_of(args.first()?, Opaque::Mutex, span)?;
        let attribute = match args.get(1) {
            Some(a) if a.as_const().is_none() && self.unit.types.pointee(a.ty).is_some() => {
                let address = self.value(a);
                (self.b().as_num(address) != Some(0)).then_some(address)
            }
            _ => None,
        };
        let kind = match attribute {
            Some(address) => {
                let place = self.settle(address);
                let pointee = self.unit.types.pointee(args[1].ty)?;
                Some(self.read(place, pointee, span))
            }
            // C11 tells the kind itself; its last bit is that of recursive ones.
            None => match args.get(1).filter(|a| self.unit.types.as_int(a.ty).is_some()) {
                Some(a) => {
                    let kind = self.value(a);
                    Some(self.b().modulo(kind, self.terms.int(2))).filter(|k| self.b().as_num(*k) != Some(0))
                }
                None => None,
            },
        };
        let to = self.fresh(span);
        for case in cases {
            let mut more = Vec::new();
            if let Some(kind) = kind {
                let key = self.kind_key(case);
                if self.b().as_num(kind) != Some(0) {
                    self.found.kinds.insert(key.clone());
                }
                let slot = self.mutex_kind_slot(&key, span);
                more.push((slot, kind));
            }
            self.object_step(case, to, |l, _| l.terms.tt(), |l, _| Some(l.terms.int(0)), more, What::Assign, span);
        }
        self.enter(to);
        Some(zero)
    }

    pub(super) fn lock(&mut self, args: &[Expr], attempt: Try, span: Span) -> Option<Term> {
        let zero = self.terms.int(0);
        let e = args.first()?;
        let pointee = self.unit.types.pointee(super::library::strip(e).ty)?;
        let kind = match self.unit.types.kind(pointee) {
            Kind::Opaque(Opaque::SpinLock) => Opaque::SpinLock,
            // Spin locks are integers in some headers.
            _ => Opaque::Mutex,
        };
        let cases = self.objects_of(e, kind, span)?;
        let special = cases.iter().any(|c| self.special(*c));
        if attempt == Try::Wait && !special {
            let to = self.fresh(span);
            for case in cases {
                let me = self.me();
                self.object_step(
                    case,
                    to,
                    |l, old| l.b().eq(old, l.terms.int(0)),
                    |_, _| Some(me),
                    Vec::new(),
                    What::Acquire,
                    span,
                );
            }
            self.enter(to);
            return Some(zero);
        }
        let result = self.temp(span);
        self.slots[result].range = Some((0, 200));
        let to = self.fresh(span);
        for case in cases {
            let me = self.me();
            let mut more = vec![(result, zero)];
            let mut waits_for_me = self.terms.tt();
            if self.special(case) {
                let key = self.kind_key(case);
                let (kind, depth) = (self.mutex_kind_slot(&key, span), self.mutex_depth_slot(&key, span));
                let (kind, deep) = (self.slot_term(kind), self.slot_term(depth));
                more.push((depth, self.terms.int(1)));
                // A second lock by the holder: deeper, or an error, by the kind.
                let recursive = self.b().eq(kind, self.terms.int(RECURSIVE));
                let again = self.b().add(deep, self.terms.int(1));
                self.object_step(
                    case,
                    to,
                    |l, old| l.b().and(l.b().eq(old, me), recursive),
                    |_, _| None,
                    vec![(result, zero), (depth, again)],
                    What::Acquire,
                    span,
                );
                let checking = self.b().eq(kind, self.terms.int(ERRORCHECK));
                if !matches!(attempt, Try::Once(_)) {
                    let deadlock = self.terms.int(EDEADLK);
                    self.object_step(
                        case,
                        to,
                        |l, old| l.b().and(l.b().eq(old, me), checking),
                        |_, _| None,
                        vec![(result, deadlock)],
                        What::Acquire,
                        span,
                    );
                }
                waits_for_me = self.b().not(recursive);
            }
            self.object_step(
                case,
                to,
                |l, old| l.b().eq(old, l.terms.int(0)),
                |_, _| Some(me),
                more,
                What::Acquire,
                span,
            );
            if let Try::Once(code) | Try::Timed(code) = attempt {
                let code = self.terms.int(code);
                self.object_step(
                    case,
                    to,
                    |l, old| {
                        let b = l.b();
                        b.and(b.ne(old, l.terms.int(0)), b.or(b.ne(old, me), waits_for_me))
                    },
                    |_, _| None,
                    vec![(result, code)],
                    What::Test,
                    span,
                );
            }
        }
        self.enter(to);
        Some(self.slot_term(result))
    }

    pub(super) fn unlock(&mut self, args: &[Expr], span: Span) -> Option<Term> {
        let zero = self.terms.int(0);
        let e = args.first()?;
        let pointee = self.unit.types.pointee(super::library::strip(e).ty)?;
        let kind = match self.unit.types.kind(pointee) {
            Kind::Opaque(Opaque::SpinLock) => Opaque::SpinLock,
            _ => Opaque::Mutex,
        };
        let cases = self.objects_of(e, kind, span)?;
        if !self.checks(Check::Unlock) {
            self.assume(
                "c-unlock",
                "unlocking a default mutex that the thread does not hold makes it free (undefined in POSIX)",
            );
        }
        let result = self.temp(span);
        self.slots[result].range = Some((0, 200));
        let to = self.fresh(span);
        for case in cases {
            let me = self.me();
            if self.special(case) {
                let key = self.kind_key(case);
                let (kind, depth) = (self.mutex_kind_slot(&key, span), self.mutex_depth_slot(&key, span));
                let (kind, deep) = (self.slot_term(kind), self.slot_term(depth));
                let default = self.b().eq(kind, self.terms.int(0));
                let less = self.b().sub(deep, self.terms.int(1));
                let last = self.b().le(deep, self.terms.int(1));
                let not_last = self.b().not(last);
                let refused = self.terms.int(EPERM);
                let free = |l: &Self, old: Term| l.b().or(default, l.b().and(l.b().eq(old, me), last));
                self.object_step(
                    case,
                    to,
                    free,
                    |l, _| Some(l.terms.int(0)),
                    vec![(result, zero), (depth, zero)],
                    What::Release,
                    span,
                );
                self.object_step(
                    case,
                    to,
                    |l, old| l.b().all([l.b().not(default), l.b().eq(old, me), not_last]),
                    |_, _| None,
                    vec![(result, zero), (depth, less)],
                    What::Release,
                    span,
                );
                self.object_step(
                    case,
                    to,
                    |l, old| l.b().and(l.b().not(default), l.b().ne(old, me)),
                    |_, _| None,
                    vec![(result, refused)],
                    What::Release,
                    span,
                );
                continue;
            }
            let update = self.case_update(case, zero);
            self.note_write(update.0, update.1);
            let mut gates = Vec::new();
            if self.checks(Check::Unlock) {
                let held = self.b().eq(self.case_value(case), me);
                gates.push((Failure::Unlock, held));
            }
            let updates = vec![update, (result, zero)];
            self.emit_step(to, case.cond, gates, updates, What::Release, span, access::Waits::No);
        }
        self.enter(to);
        Some(self.slot_term(result))
    }

    fn act(&mut self, kind: Opaque, action: Action, args: &[Expr], span: Span) -> Option<Term> {
        let zero = self.terms.int(0);
        let cases = self.objects_of(args.first()?, kind, span)?;
        let operand = match action {
            Action::SemInit | Action::BarrierInit => Some(self.value(args.get(2)?)),
            Action::SetKind => Some(self.value(args.get(1)?)),
            _ => None,
        };
        if action == Action::Once {
            return self.once(&cases, args.get(1)?, span);
        }
        if matches!(action, Action::BarrierInit | Action::BarrierWait) {
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
                Action::Set(n) => {
                    self.object_step(case, to, any, |l, _| Some(l.terms.int(n)), plain.clone(), What::Assign, span);
                }
                Action::SemInit | Action::SetKind => {
                    self.object_step(case, to, any, |_, _| operand, plain.clone(), What::Assign, span);
                }
                Action::SemWait => {
                    self.object_step(case, to, positive, |l, o| plus(l, o, -1), plain.clone(), What::Acquire, span);
                }
                Action::SemPost => {
                    self.object_step(case, to, any, |l, o| plus(l, o, 1), plain.clone(), What::Release, span);
                }
                Action::SemTry => {
                    self.object_step(case, to, positive, |l, o| plus(l, o, -1), plain.clone(), What::Acquire, span);
                    let fails = vec![(result, minus_one)];
                    self.object_step(case, to, |l, o| l.b().not(positive(l, o)), |_, _| None, fails, What::Test, span);
                }
                Action::SemValue => {
                    let old = self.case_value(case);
                    self.object_step(case, to, any, |_, _| None, vec![(result, old)], What::Assign, span);
                }
                Action::ReadLock => {
                    let free = |l: &Self, old: Term| l.b().le(l.terms.int(0), old);
                    self.object_step(case, to, free, |l, o| plus(l, o, 1), plain.clone(), What::Acquire, span);
                }
                Action::WriteLock => {
                    let free = |l: &Self, o: Term| is(l, o, 0);
                    self.object_step(case, to, free, |_, _| Some(minus_one), plain.clone(), What::Acquire, span);
                }
                Action::TryReadLock(code) | Action::TryWriteLock(code) => {
                    let reading = matches!(action, Action::TryReadLock(_));
                    let free = |l: &Self, o: Term| if reading { l.b().le(l.terms.int(0), o) } else { is(l, o, 0) };
                    let new = |l: &Self, o: Term| if reading { plus(l, o, 1) } else { Some(minus_one) };
                    self.object_step(case, to, free, new, plain.clone(), What::Acquire, span);
                    let busy = vec![(result, self.terms.int(code))];
                    self.object_step(case, to, |l, o| l.b().not(free(l, o)), |_, _| None, busy, What::Test, span);
                }
                Action::ReadWriteUnlock => {
                    let new = |l: &Self, o: Term| {
                        let b = l.b();
                        Some(b.ite(b.lt(b.num(0), o), b.sub(o, b.num(1)), b.num(0)))
                    };
                    self.object_step(case, to, any, new, plain.clone(), What::Release, span);
                }
                Action::Once | Action::BarrierInit | Action::BarrierWait => {}
            }
        }
        self.enter(to);
        self.cur.at?;
        if action == Action::SemValue {
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
        let end = self.fresh(span);
        for case in cases {
            self.cur.at = Some(head);
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
        self.enter(end);
        Some(self.terms.int(0))
    }

    /// A barrier counts arrivals; the last one opens the next round for all who wait in this one.
    fn barrier(&mut self, cases: &[Case], action: Action, count: Option<Term>, span: Span) -> Option<Term> {
        let result = self.temp(span);
        let (zero, one) = (self.terms.int(0), self.terms.int(1));
        let head = self.cur.at?;
        let end = self.fresh(span);
        for case in cases {
            self.cur.at = Some(head);
            let key = self.kind_key(*case);
            let need = self.internal(&format!("<need {key}>"), "barrier_size", Sort::INT, Some(zero), span);
            let round = self.internal(&format!("<round {key}>"), "barrier_round", Sort::INT, Some(zero), span);
            if action == Action::BarrierInit {
                let more = vec![(need, count?), (round, zero), (result, zero)];
                let yes = |l: &Self, _: Term| l.terms.tt();
                self.object_step(*case, end, yes, |_, _| Some(zero), more, What::Assign, span);
                continue;
            }
            let mine = self.temp(span);
            let (need_now, round_now) = (self.slot_term(need), self.slot_term(round));
            let next = self.b().add(round_now, one);
            let last = |l: &Self, old: Term| l.b().le(need_now, l.b().add(old, l.terms.int(1)));
            // The last to arrive is told so.
            let serial = self.terms.int(-1);
            self.object_step(
                *case,
                end,
                last,
                |l, _| Some(l.terms.int(0)),
                vec![(round, next), (result, serial)],
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
                let opened = self.b().ne(self.slot_term(round), self.slot_term(mine));
                self.note_write(result, zero);
                self.emit_step(end, opened, Vec::new(), vec![(result, zero)], What::Join, span, access::Waits::Yes);
            }
        }
        self.cur.at = None;
        self.enter(end);
        self.cur.known.remove(&result);
        Some(self.slot_term(result))
    }

    fn create(&mut self, name: &str, args: &[Expr], span: Span) -> Option<Term> {
        let (zero, c11) = (self.terms.int(0), name == "thrd_create");
        let (function, argument) = if c11 { (args.get(1)?, args.get(2)?) } else { (args.get(2)?, args.get(3)?) };
        let handle_at = self.value(args.first()?);
        // Some programs do not want the handle.
        let no_handle = self.b().as_num(handle_at) == Some(0);
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
                Argument::Constant(argument)
            } else {
                let slot = self.internal(
                    &format!("<argument {key}>"),
                    &format!("argument_{callee}"),
                    Sort::INT,
                    Some(zero),
                    span,
                );
                Argument::Slot(slot)
            };
            let multiplicity = if repeated { Multiplicity::Many } else { Multiplicity::Once };
            let task = self.task(&key, &callee, f, multiplicity, passed, span);
            let Task { started, handle, tickets, .. } = self.tasks[task].clone();
            let mut handle_value = self.terms.int(self.objects[handle].base);
            if let Some(Tickets { next, .. }) = tickets {
                let mine = self.temp(span);
                self.slots[mine].range = Some(TICKETS);
                self.update(vec![(mine, self.slot_term(next))], What::Assign, span);
                handle_value = self.b().add(self.slot_term(mine), handle_value);
            }
            if let Some(ty) = handle_ty
                && self.unit.types.is_scalar(ty)
                && !no_handle
            {
                self.write(handle_at, ty, handle_value, span);
            }
            let mut updates = Vec::new();
            if let Some(started) = started {
                updates.push((started, self.terms.tt()));
            }
            if let Argument::Slot(slot) = passed {
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

    fn join(&mut self, args: &[Expr], span: Span) -> Option<Term> {
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Try {
    Wait,
    /// With the error where it is not free.
    Once(i128),
    Timed(i128),
}

/// What a wait with a limit returns when it is over.
pub(super) fn too_late(name: &str) -> i128 {
    if name.starts_with("pthread_") { ETIMEDOUT } else { THRD_TIMEDOUT }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
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
