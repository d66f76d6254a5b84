//! Mutexes of the three kinds of POSIX, wherever they lie.
//!
//! In: operations on a mutex in a variable, a struct, an array or allocated memory. Out: one step for each mutex it can
//! be. A mutex is 0 or the id of its holder; where one may be of another kind than the default, its kind and its depth are kept beside it.
//! Absent: robust mutexes, priorities, sharing between processes.

use super::memory::{Case, Ref};
use super::*;
use crate::c::ast::*;
use crate::c::types::Opaque;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Try {
    Wait,
    /// With the error where it is not free.
    Once(i128),
    Timed(i128),
}

pub(super) const EDEADLK: i128 = 35;
const EPERM: i128 = 1;
const MUTEX_RECURSIVE: i128 = 1;
const MUTEX_ERRORCHECK: i128 = 2;
/// Spins before it sleeps; in all else the default.
const MUTEX_ADAPTIVE: i128 = 3;

pub(super) fn plain_kind(kind: i128) -> i128 {
    if kind == MUTEX_ADAPTIVE { 0 } else { kind }
}

impl Lower<'_> {
    /// Something more that is kept of an object of the library: a number beside its slot, or a row of them beside a row.
    pub(super) fn beside(&mut self, word: &str, shown: &str, case: Case, span: Span) -> Case {
        let key = format!("<{word} {}>", self.slots[case.slot].key);
        let zero = self.terms.int(0);
        let (sort, initial) = match case.key {
            None => (Sort::INT, zero),
            Some(_) => {
                let map = self.terms.map_sort(Sort::INT, Sort::INT);
                (map, self.terms.const_map(map, zero))
            }
        };
        let slot = self.internal(&key, shown, sort, Some(initial), span);
        Case { slot, bytes: 0, ..case }
    }

    fn kind_of(&mut self, case: Case, span: Span) -> Case {
        self.beside("kind", "mutex_kind", case, span)
    }

    fn depth_of(&mut self, case: Case, span: Span) -> Case {
        self.beside("depth", "mutex_depth", case, span)
    }

    /// Whether a mutex may be of another kind than the default.
    fn special(&self, case: Case) -> bool {
        self.facts.kinds.contains(&self.slots[case.slot].key)
    }

    fn note_special(&mut self, case: Case) {
        self.found.kinds.insert(self.slots[case.slot].key.clone());
    }

    /// The first value of an object of the library in a static initialiser: the kind of a mutex, or a number.
    pub(super) fn static_kind(&mut self, object: ObjId, offset: i128, ty: CType, value: i128, span: Span) {
        let at = Ref::Object(object, self.terms.int(offset));
        let mutex = matches!(self.unit.types.kind(ty), CTypeKind::Opaque(Opaque::Mutex));
        let kind = plain_kind(value);
        for case in self.hits(at, ty).cases {
            if !mutex {
                self.set_initial(case, self.terms.int(value));
            } else if kind != 0 {
                self.note_special(case);
                let beside = self.kind_of(case, span);
                self.set_initial(beside, self.terms.int(kind));
            }
        }
    }

    /// The same for an initialiser that runs.
    pub(super) fn local_kind(&mut self, place: Ref, ty: CType, value: i128, span: Span) {
        if self.cur.at.is_none() || !matches!(self.unit.types.kind(ty), CTypeKind::Opaque(Opaque::Mutex)) {
            return;
        }
        let kind = plain_kind(value);
        for case in self.hits(place, ty).cases {
            if kind != 0 {
                self.note_special(case);
            }
            if kind != 0 || self.special(case) {
                let (beside, kind) = (self.kind_of(case, span), self.terms.int(kind));
                let update = self.case_update(beside, kind);
                self.update(vec![update], What::Assign, span);
            }
        }
    }

    /// A copy of an object of the library is none (POSIX leaves its use undefined); of a mutex of the default kind it is taken as it is.
    pub(super) fn copied_object(&mut self, ty: CType, span: Span) {
        match self.unit.types.kind(ty) {
            CTypeKind::Opaque(Opaque::Mutex) if !self.facts.kinds.is_empty() => {
                self.unmodelled("a copy of a mutex that may be of another kind than the default", span);
            }
            CTypeKind::Opaque(Opaque::Barrier) => self.unmodelled("a copy of a barrier", span),
            _ => {}
        }
    }

    pub(super) fn mutex_init(&mut self, args: &[Expr], span: Span) -> Option<Term> {
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
            let kind = kind.unwrap_or(zero);
            if self.b().as_num(kind) != Some(0) {
                self.note_special(case);
            }
            if self.b().as_num(kind) != Some(0) || self.special(case) {
                let (beside, depth) = (self.kind_of(case, span), self.depth_of(case, span));
                more.push(self.case_update(beside, kind));
                more.push(self.case_update(depth, zero));
            }
            self.object_step(case, to, |l, _| l.terms.tt(), |l, _| Some(l.terms.int(0)), more, What::Atomic, span);
        }
        self.enter(to);
        Some(zero)
    }

    pub(super) fn lock(&mut self, args: &[Expr], attempt: Try, span: Span) -> Option<Term> {
        let zero = self.terms.int(0);
        let e = args.first()?;
        let pointee = self.unit.types.pointee(super::library::strip(e).ty)?;
        let kind = match self.unit.types.kind(pointee) {
            CTypeKind::Opaque(Opaque::SpinLock) => Opaque::SpinLock,
            // Spin locks are integers in some headers.
            _ => Opaque::Mutex,
        };
        let cases = self.objects_of(e, kind, span)?;
        // The time until which to wait.
        args.iter().skip(1).for_each(|a| self.effect(a));
        self.cur.at?;
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
                let (kind, depth) = (self.kind_of(case, span), self.depth_of(case, span));
                let (kind, deep) = (self.case_value(kind), self.case_value(depth));
                more.push(self.case_update(depth, self.terms.int(1)));
                // A second lock by the holder: deeper, or an error, by the kind.
                let recursive = self.b().eq(kind, self.terms.int(MUTEX_RECURSIVE));
                let deeper = self.case_update(depth, self.b().add(deep, self.terms.int(1)));
                self.object_step(
                    case,
                    to,
                    |l, old| l.b().and(l.b().eq(old, me), recursive),
                    |_, _| None,
                    vec![(result, zero), deeper],
                    What::Acquire,
                    span,
                );
                let checking = self.b().eq(kind, self.terms.int(MUTEX_ERRORCHECK));
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
            CTypeKind::Opaque(Opaque::SpinLock) => Opaque::SpinLock,
            _ => Opaque::Mutex,
        };
        let cases = self.objects_of(e, kind, span)?;
        if !self.checks(CCheck::Unlock) {
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
                let (kind, depth) = (self.kind_of(case, span), self.depth_of(case, span));
                let (kind, deep) = (self.case_value(kind), self.case_value(depth));
                let default = self.b().eq(kind, self.terms.int(0));
                let less = self.case_update(depth, self.b().sub(deep, self.terms.int(1)));
                let none = self.case_update(depth, zero);
                let last = self.b().le(deep, self.terms.int(1));
                let not_last = self.b().not(last);
                let refused = self.terms.int(EPERM);
                let free = |l: &Self, old: Term| l.b().or(default, l.b().and(l.b().eq(old, me), last));
                self.object_step(
                    case,
                    to,
                    free,
                    |l, _| Some(l.terms.int(0)),
                    vec![(result, zero), none],
                    What::Release,
                    span,
                );
                self.object_step(
                    case,
                    to,
                    |l, old| l.b().all([l.b().not(default), l.b().eq(old, me), not_last]),
                    |_, _| None,
                    vec![(result, zero), less],
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
            if self.checks(CCheck::Unlock) {
                let held = self.b().eq(self.case_value(case), me);
                gates.push((GateFailure::Unlock, held));
            }
            let updates = vec![update, (result, zero)];
            self.emit_step(to, case.cond, gates, updates, What::Release, span, access::Waits::No);
        }
        self.enter(to);
        Some(self.slot_term(result))
    }
}
