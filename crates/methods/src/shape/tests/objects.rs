//! The objects of Thread Quantification's section 4, built by hand, with variants that are broken on purpose.

use super::build::{Body, Front, Maker, always, when};
use logic::Sort;
use program::{Operation, Program, VarId, VarKind};

/// What is changed in the published algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    Right,
    /// No marked linearization points.
    Unmarked,
    PushStore,
    PopStore,
    NoHeadLock,
    NoTailLock,
    LinkStore,
    HeadStore,
    TailStore,
    WrongOrder,
}

fn marks(v: Variant) -> bool {
    v != Variant::Unmarked
}

pub(crate) fn treiber(variant: Variant) -> Program {
    let mut m = Maker::new("treiber");
    let null = m.null();
    let r = m.ref_sort();
    let top = m.shared("Top", r, VarKind::Plain, Some(null));
    let spec = m.sequence_spec(if variant == Variant::WrongOrder { Front::PopOnly } else { Front::Push });
    let push = {
        let v = m.local(0, "v", Sort::INT, None);
        let (x, t) = (m.local(0, "x", r, None), m.local(0, "t", r, None));
        let ff = m.p.terms.ff();
        let done = m.local(0, "done", Sort::BOOL, Some(ff));
        let mut b = Body::new(&mut m);
        b.new_node(x);
        let (xv, vv, tv, dv) = (b.now(x), b.now(v), b.now(t), b.now(done));
        let (val, next) = (b.m.val, b.m.next);
        b.put(xv, val, vv, None);
        let head = b.at;
        let not = b.m.p.terms.not(dv);
        let (go, end) = b.branch(not);
        b.at = go;
        let tt = b.m.p.terms.tt();
        let topv = b.now(top);
        b.assign(t, topv);
        b.put(xv, next, tv, None);
        let mark = if marks(variant) { when(dv) } else { None };
        if variant == Variant::PushStore {
            b.step(tt, &[(top, xv), (done, tt)], None, mark);
        } else {
            b.cas(done, top, tv, xv, mark);
        }
        b.goto(head);
        b.at = end;
        let code = b.finish();
        m.operation("push", vec![v], vec![], vec![x, t, done], code)
    };
    let pop = {
        let (v, ok) = (m.local(1, "v", Sort::INT, None), m.local(1, "ok", Sort::BOOL, None));
        let (t, n) = (m.local(1, "t", r, None), m.local(1, "n", r, None));
        let ff = m.p.terms.ff();
        let done = m.local(1, "done", Sort::BOOL, Some(ff));
        let mut b = Body::new(&mut m);
        let (tv, nv, dv) = (b.now(t), b.now(n), b.now(done));
        let head = b.at;
        let (val, next) = (b.m.val, b.m.next);
        let not = b.m.p.terms.not(dv);
        let (go, end) = b.branch(not);
        b.at = go;
        let tt = b.m.p.terms.tt();
        let empty = b.m.p.terms.eq(tv, null);
        let topv = b.now(top);
        let mark = if marks(variant) { when(empty) } else { None };
        b.step(tt, &[(t, topv)], None, mark);
        let (none, some) = b.branch(empty);
        let out = b.label();
        b.at = none;
        let zero = b.m.p.terms.int(0);
        b.step(tt, &[(v, zero), (ok, ff)], Some(out), None);
        b.at = some;
        b.get(n, tv, next, None);
        let mark = if marks(variant) { when(dv) } else { None };
        if variant == Variant::PopStore {
            b.step(tt, &[(top, nv), (done, tt)], None, mark);
        } else {
            b.cas(done, top, tv, nv, mark);
        }
        b.goto(head);
        b.at = end;
        b.get(v, tv, val, None);
        b.step(tt, &[(ok, tt)], Some(out), None);
        b.at = out;
        let code = b.finish();
        m.operation("pop", vec![], vec![v, ok], vec![t, n, done], code)
    };
    m.object(spec, vec![push, pop]);
    m.p
}

struct Queue {
    m: Maker,
    head: VarId,
    tail: VarId,
}

fn queue(name: &str) -> Queue {
    let mut m = Maker::new(name);
    let r = m.ref_sort();
    let head = m.shared("Head", r, VarKind::Plain, None);
    let tail = m.shared("Tail", r, VarKind::Plain, None);
    let t = &m.p.terms;
    let (h, null) = (m.p.now(head), m.null());
    let formula = t.and(&[t.ne(h, null), t.eq(h, m.p.now(tail)), t.eq(t.select(m.p.now(m.next), h), null)]);
    m.init(formula);
    m.initial_heap(&[head, tail]);
    Queue { m, head, tail }
}

pub(crate) fn two_lock(variant: Variant) -> Program {
    let Queue { mut m, head, tail } = queue("two-lock queue");
    let r = m.ref_sort();
    let null = m.null();
    let zero = m.p.terms.int(0);
    let head_lock = m.shared("head_lock", Sort::INT, VarKind::Lock, Some(zero));
    let tail_lock = m.shared("tail_lock", Sort::INT, VarKind::Lock, Some(zero));
    let spec = m.sequence_spec(Front::PopOnly);
    let enqueue = {
        let v = m.local(0, "v", Sort::INT, None);
        let x = m.local(0, "x", r, None);
        let mut b = Body::new(&mut m);
        b.new_node(x);
        let (xv, vv) = (b.now(x), b.now(v));
        let (val, next) = (b.m.val, b.m.next);
        b.put(xv, val, vv, None);
        b.put(xv, next, null, None);
        if variant != Variant::NoTailLock {
            b.acquire(tail_lock);
        }
        let tailv = b.now(tail);
        b.put(tailv, next, xv, if marks(variant) { always() } else { None });
        b.assign(tail, xv);
        if variant != Variant::NoTailLock {
            b.release(tail_lock);
        }
        let code = b.finish();
        m.operation("enqueue", vec![v], vec![], vec![x], code)
    };
    let dequeue = {
        let (v, ok) = (m.local(1, "v", Sort::INT, None), m.local(1, "ok", Sort::BOOL, None));
        let (h, n) = (m.local(1, "h", r, None), m.local(1, "n", r, None));
        let mut b = Body::new(&mut m);
        let lock = variant != Variant::NoHeadLock;
        if lock {
            b.acquire(head_lock);
        }
        let (hv, nv) = (b.now(h), b.now(n));
        let (val, next) = (b.m.val, b.m.next);
        let headv = b.now(head);
        b.assign(h, headv);
        b.get(n, hv, next, if marks(variant) { always() } else { None });
        let empty = b.m.p.terms.eq(nv, null);
        let (none, some) = b.branch(empty);
        let out = b.label();
        let (tt, ff) = (b.m.p.terms.tt(), b.m.p.terms.ff());
        b.at = none;
        if lock {
            b.release(head_lock);
        }
        b.step(tt, &[(v, zero), (ok, ff)], Some(out), None);
        b.at = some;
        b.get(v, nv, val, None);
        b.assign(head, nv);
        if lock {
            b.release(head_lock);
        }
        b.step(tt, &[(ok, tt)], Some(out), None);
        b.at = out;
        let code = b.finish();
        m.operation("dequeue", vec![], vec![v, ok], vec![h, n], code)
    };
    m.object(spec, vec![enqueue, dequeue]);
    m.p
}

fn lock_free_enqueue(m: &mut Maker, tail: VarId, variant: Variant) -> Operation {
    let r = m.ref_sort();
    let null = m.null();
    let v = m.local(0, "v", Sort::INT, None);
    let (x, t, n) = (m.local(0, "x", r, None), m.local(0, "t", r, None), m.local(0, "n", r, None));
    let same = m.local(0, "same", Sort::BOOL, None);
    let moved = m.local(0, "moved", Sort::BOOL, None);
    let ff = m.p.terms.ff();
    let done = m.local(0, "done", Sort::BOOL, Some(ff));
    let mut b = Body::new(m);
    b.new_node(x);
    let (xv, vv, tv, nv, dv, sv) = (b.now(x), b.now(v), b.now(t), b.now(n), b.now(done), b.now(same));
    let (val, next) = (b.m.val, b.m.next);
    b.put(xv, val, vv, None);
    b.put(xv, next, null, None);
    let head = b.at;
    let not = b.m.p.terms.not(dv);
    let (go, end) = b.branch(not);
    b.at = go;
    let tailv = b.now(tail);
    let tt = b.m.p.terms.tt();
    b.assign(t, tailv);
    b.get(n, tv, next, None);
    let check = b.m.p.terms.eq(tv, tailv);
    b.assign(same, check);
    let (yes, no) = b.branch(sv);
    b.at = no;
    b.goto(head);
    b.at = yes;
    let last = b.m.p.terms.eq(nv, null);
    let (link, help) = b.branch(last);
    b.at = link;
    let mark = if marks(variant) { when(dv) } else { None };
    if variant == Variant::LinkStore {
        let new = b.m.p.terms.store(b.now(next), tv, xv);
        b.raw(vec![], tt, &[tv], &[(next, new), (done, tt)], None, mark);
    } else {
        b.cas_field(done, tv, next, nv, xv, mark);
    }
    b.goto(head);
    b.at = help;
    if variant == Variant::TailStore {
        b.assign(tail, nv);
    } else {
        b.cas(moved, tail, tv, nv, None);
    }
    b.goto(head);
    b.at = end;
    b.cas(moved, tail, tv, xv, None);
    let code = b.finish();
    m.operation("enqueue", vec![v], vec![], vec![x, t, n, same, moved, done], code)
}

pub(crate) fn doherty(variant: Variant) -> Program {
    let Queue { mut m, head, tail } = queue("doherty queue");
    let spec = m.sequence_spec(Front::PopOnly);
    let enqueue = lock_free_enqueue(&mut m, tail, variant);
    let r = m.ref_sort();
    let null = m.null();
    let (v, ok) = (m.local(1, "v", Sort::INT, None), m.local(1, "ok", Sort::BOOL, None));
    let (h, t, n) = (m.local(1, "h", r, None), m.local(1, "t", r, None), m.local(1, "n", r, None));
    let moved = m.local(1, "moved", Sort::BOOL, None);
    let ff = m.p.terms.ff();
    let done = m.local(1, "done", Sort::BOOL, Some(ff));
    let mut b = Body::new(&mut m);
    let (hv, tv, nv, dv) = (b.now(h), b.now(t), b.now(n), b.now(done));
    let (val, next) = (b.m.val, b.m.next);
    let start = b.at;
    let out = b.label();
    let not = b.m.p.terms.not(dv);
    let (go, end) = b.branch(not);
    let (tt, zero) = (b.m.p.terms.tt(), b.m.p.terms.int(0));
    b.at = go;
    let headv = b.now(head);
    b.assign(h, headv);
    let empty = b.m.p.terms.eq(nv, null);
    b.get(n, hv, next, if marks(variant) { when(empty) } else { None });
    let (none, some) = b.branch(empty);
    b.at = none;
    b.step(tt, &[(v, zero), (ok, ff)], Some(out), None);
    b.at = some;
    b.get(v, nv, val, None);
    let mark = if marks(variant) { when(dv) } else { None };
    if variant == Variant::HeadStore {
        b.step(tt, &[(head, nv), (done, tt)], None, mark);
    } else {
        b.cas(done, head, hv, nv, mark);
    }
    b.goto(start);
    b.at = end;
    let tailv = b.now(tail);
    b.assign(t, tailv);
    let same = b.m.p.terms.eq(hv, tv);
    let (help, skip) = b.branch(same);
    b.at = help;
    b.cas(moved, tail, tv, nv, None);
    b.goto(skip);
    b.at = skip;
    b.step(tt, &[(ok, tt)], Some(out), None);
    b.at = out;
    let code = b.finish();
    let dequeue = m.operation("dequeue", vec![], vec![v, ok], vec![h, t, n, moved, done], code);
    m.object(spec, vec![enqueue, dequeue]);
    m.p
}

pub(crate) fn michael_scott(variant: Variant) -> Program {
    let Queue { mut m, head, tail } = queue("michael and scott's queue");
    let spec = m.sequence_spec(Front::PopOnly);
    let enqueue = lock_free_enqueue(&mut m, tail, variant);
    let r = m.ref_sort();
    let null = m.null();
    let (v, ok) = (m.local(1, "v", Sort::INT, None), m.local(1, "ok", Sort::BOOL, None));
    let (h, t, n) = (m.local(1, "h", r, None), m.local(1, "t", r, None), m.local(1, "n", r, None));
    let same = m.local(1, "same", Sort::BOOL, None);
    let moved = m.local(1, "moved", Sort::BOOL, None);
    let ff = m.p.terms.ff();
    let done = m.local(1, "done", Sort::BOOL, Some(ff));
    let mut b = Body::new(&mut m);
    let (hv, tv, nv, dv, sv) = (b.now(h), b.now(t), b.now(n), b.now(done), b.now(same));
    let (val, next) = (b.m.val, b.m.next);
    let start = b.at;
    let out = b.label();
    let not = b.m.p.terms.not(dv);
    let (go, end) = b.branch(not);
    let (tt, zero) = (b.m.p.terms.tt(), b.m.p.terms.int(0));
    b.at = go;
    let (headv, tailv) = (b.now(head), b.now(tail));
    b.assign(h, headv);
    b.assign(t, tailv);
    let empty = b.m.p.terms.eq(nv, null);
    b.get(n, hv, next, if marks(variant) { when(empty) } else { None });
    let check = b.m.p.terms.eq(hv, headv);
    b.assign(same, check);
    let (yes, no) = b.branch(sv);
    b.at = no;
    b.goto(start);
    b.at = yes;
    let lag = b.m.p.terms.eq(hv, tv);
    let (lagging, apart) = b.branch(lag);
    b.at = lagging;
    let (none, some) = b.branch(empty);
    b.at = none;
    b.step(tt, &[(v, zero), (ok, ff)], Some(out), None);
    b.at = some;
    b.cas(moved, tail, tv, nv, None);
    b.goto(start);
    b.at = apart;
    b.get(v, nv, val, None);
    let mark = if marks(variant) { when(dv) } else { None };
    if variant == Variant::HeadStore {
        b.step(tt, &[(head, nv), (done, tt)], None, mark);
    } else {
        b.cas(done, head, hv, nv, mark);
    }
    b.goto(start);
    b.at = end;
    b.step(tt, &[(ok, tt)], Some(out), None);
    b.at = out;
    let code = b.finish();
    let dequeue = m.operation("dequeue", vec![], vec![v, ok], vec![h, t, n, same, moved, done], code);
    m.object(spec, vec![enqueue, dequeue]);
    m.p
}
