//! Random code: statements as the actions that the model makes of them.

use super::{Generator, Kind, Place};
use logic::{Op, Sort, Symbol, Term};
use program::{
    Action, ActionId, Gate, LocId, Location, PropertyKind, Spawn, TwoStore, Update, VarId, VarKind, What, spec,
};

impl Generator {
    pub(super) fn location(&mut self, place: &mut Place) -> LocId {
        let name = format!("{}", place.code.locations.len());
        place.code.locations.push(Location {
            name,
            in_atomic_block: place.in_atomic_block,
            invariants: vec![],
            origin: self.origin,
        })
    }

    fn action(&self, from: LocId, to: LocId, what: What) -> Action {
        Action::plain(from, to, self.p.terms.tt(), what, self.origin)
    }

    fn skip(&mut self, place: &mut Place, from: LocId, to: LocId) -> ActionId {
        let a = self.action(from, to, What::Skip);
        place.code.actions.push(a)
    }

    /// The terms that code may use: shared variables, own locals, `tid`.
    fn leaves(&self, place: &Place) -> Vec<Term> {
        let mut out = self.store();
        out.extend(place.locals.iter().map(|v| self.p.now(*v)));
        out.push(self.p.terms.sym(self.p.tid));
        out
    }

    /// Variables a plain assignment may write.
    fn writable(&self, place: &Place) -> Vec<VarId> {
        let mut out: Vec<VarId> = self.p.shared().filter(|v| self.p.vars[*v].kind == VarKind::Plain).collect();
        out.extend(&place.locals);
        out
    }

    /// The step to the exit; of a job, also the sign that it has ended.
    pub(super) fn last_step(&mut self, place: &mut Place, from: LocId, exit: LocId) {
        let mut a = self.action(from, exit, What::Skip);
        if let (Some(ended), true) = (self.ended, Some(place.thread) == self.job) {
            let t = &self.p.terms;
            let value = t.store(self.p.now(ended), t.sym(self.p.tid), t.tt());
            a.updates.push(Update { var: ended, value });
        }
        place.code.actions.push(a);
    }

    /// Statements one after the other; the location after the last.
    pub(super) fn block(&mut self, place: &mut Place, start: LocId, count: usize, fuel: usize) -> LocId {
        let mut at = start;
        for _ in 0..count {
            at = self.statement(place, at, fuel);
        }
        at
    }

    fn statement(&mut self, place: &mut Place, at: LocId, fuel: usize) -> LocId {
        let roll = self.random.below(100);
        match roll {
            0..=11 if fuel > 0 && self.knobs.branches => self.branch(place, at, fuel - 1),
            12..=17 if fuel > 0 && self.knobs.loops => self.repeat(place, at, fuel - 1),
            18..=21 if fuel > 0 && self.knobs.atomic && !place.in_atomic_block => {
                // The step that enters is itself part of the block.
                place.in_atomic_block = true;
                let inner = self.location(place);
                self.skip(place, at, inner);
                let count = 1 + self.random.below(2);
                let end = self.block(place, inner, count, fuel - 1);
                place.in_atomic_block = false;
                let after = self.location(place);
                self.skip(place, end, after);
                after
            }
            _ => {
                let to = self.location(place);
                self.simple(place, at, to, roll);
                to
            }
        }
    }

    fn branch(&mut self, place: &mut Place, at: LocId, fuel: usize) -> LocId {
        let leaves = self.leaves(place);
        let condition = self.random.chance(75).then(|| self.formula(&leaves, self.knobs.depth));
        let mut ends = Vec::new();
        for side in 0..2 {
            let start = self.location(place);
            let mut a = self.action(at, start, if condition.is_some() { What::Test } else { What::Choose });
            if let Some(c) = condition {
                a.guard = if side == 0 { c } else { self.p.terms.not(c) };
            }
            place.code.actions.push(a);
            let count = self.random.below(2) + 1 - side.min(1) * self.random.below(2);
            ends.push(self.block(place, start, count, fuel));
        }
        let join = self.location(place);
        for e in ends {
            self.skip(place, e, join);
        }
        join
    }

    fn repeat(&mut self, place: &mut Place, at: LocId, fuel: usize) -> LocId {
        let leaves = self.leaves(place);
        let condition = self.formula(&leaves, self.knobs.depth);
        let (body, after) = (self.location(place), self.location(place));
        let mut enter = self.action(at, body, What::Test);
        enter.guard = condition;
        let mut leave = self.action(at, after, What::Test);
        leave.guard = self.p.terms.not(condition);
        place.code.actions.push(enter);
        place.code.actions.push(leave);
        let outer = std::mem::replace(&mut place.looped, true);
        let end = self.block(place, body, 1, fuel);
        place.looped = outer;
        self.skip(place, end, at);
        after
    }

    fn simple(&mut self, place: &mut Place, from: LocId, to: LocId, roll: usize) {
        let leaves = self.leaves(place);
        let depth = self.knobs.depth;
        let mut a = self.action(from, to, What::Assign);
        match roll {
            22..=31 if self.knobs.asserts => {
                a.what = What::Assert;
                let formula = self.formula(&leaves, depth);
                let name = format!("assert:{}", self.asserts);
                self.asserts += 1;
                let property = self.property(PropertyKind::Assertion, name);
                a.gates.push(Gate { property, formula });
            }
            32..=37 => {
                a.what = What::Assume;
                a.guard = self.formula(&leaves, depth);
            }
            38..=47 if !self.locks.is_empty() => {
                let lock = *self.random.pick(&self.locks).expect("there is one");
                let t = &self.p.terms;
                let (me, zero) = (t.sym(self.p.tid), t.int(0));
                if self.random.chance(60) {
                    a.what = What::Acquire;
                    a.guard = t.eq(self.p.now(lock), zero);
                    a.updates.push(Update { var: lock, value: me });
                } else {
                    a.what = What::Release;
                    a.updates.push(Update { var: lock, value: zero });
                    if self.random.chance(40) {
                        let formula = self.p.terms.eq(self.p.now(lock), me);
                        let name = format!("release:{}", self.asserts);
                        self.asserts += 1;
                        let property = self.property(PropertyKind::Release, name);
                        a.gates.push(Gate { property, formula });
                    }
                }
            }
            48..=53 => self.havoc(place, &mut a),
            54..=59 if self.knobs.relations => self.relation(place, &leaves, &mut a),
            60..=65 => self.cas(place, &leaves, &mut a),
            66..=77 if self.has(Kind::Heap) => self.heap_step(place, &leaves, &mut a),
            78..=83 if self.job.is_some() && Some(place.thread) != self.job && !place.looped => {
                self.spawn_or_join(place, &leaves, &mut a);
            }
            _ => self.assign(place, &leaves, &mut a),
        }
        place.code.actions.push(a);
    }

    fn assign(&mut self, place: &Place, leaves: &[Term], a: &mut Action) {
        let vars = self.writable(place);
        let Some(first) = self.random.pick(&vars).copied() else { return };
        let value = self.stored(leaves, self.p.vars[first].sort, self.knobs.depth);
        a.updates.push(Update { var: first, value });
        if self.random.chance(25) {
            let second = *self.random.pick(&vars).expect("there is one");
            if second != first {
                let value = self.stored(leaves, self.p.vars[second].sort, self.knobs.depth);
                a.updates.push(Update { var: second, value });
            }
        }
    }

    fn input(&mut self, name: &str, sort: Sort, a: &mut Action) -> (Symbol, Term) {
        let s = self.p.terms.symbol(name, sort);
        a.inputs.push(s);
        (s, self.p.terms.sym(s))
    }

    /// `havoc x`; where everything is finite, of a value in a range.
    fn havoc(&mut self, place: &Place, a: &mut Action) {
        a.what = What::Havoc;
        let vars = self.writable(place);
        let open = self.knobs.undecided;
        let finite = |s: Sort| s == Sort::BOOL || s == Sort::INT;
        let vars: Vec<VarId> = vars.into_iter().filter(|v| open || finite(self.p.vars[*v].sort)).collect();
        let Some(var) = self.random.pick(&vars).copied() else { return };
        let sort = self.p.vars[var].sort;
        let (_, value) = self.input("any", sort, a);
        if sort == Sort::INT && !(open && self.random.chance(50)) {
            let t = &self.p.terms;
            a.guard = t.and(&[t.le(t.int(0), value), t.lt(value, t.int(3))]);
        }
        a.updates.push(Update { var, value });
    }

    /// `step <x> x' == e || x' == f && c`.
    fn relation(&mut self, place: &Place, leaves: &[Term], a: &mut Action) {
        a.what = What::Relation;
        let vars: Vec<VarId> = self.writable(place).into_iter().filter(|v| self.p.vars[*v].sort == Sort::INT).collect();
        let Some(var) = self.random.pick(&vars).copied() else { return };
        let (e, f) = (self.stored(leaves, Sort::INT, 1), self.stored(leaves, Sort::INT, 1));
        let c = self.formula(leaves, 1);
        let primed = self.p.next(var);
        let (_, value) = self.input("next", Sort::INT, a);
        let t = &self.p.terms;
        let relation = |v: Term| t.or(&[t.eq(v, e), t.and(&[t.eq(v, f), c])]);
        a.guard = relation(value);
        a.relation = Some(TwoStore { frame: vec![spec::StorePlace { var, keys: vec![] }], relation: relation(primed) });
        a.updates.push(Update { var, value });
    }

    /// `b := cas(x, old, new)`.
    fn cas(&mut self, place: &Place, leaves: &[Term], a: &mut Action) {
        let ints: Vec<VarId> = self.writable(place).into_iter().filter(|v| self.p.vars[*v].sort == Sort::INT).collect();
        let Some(var) = self.random.pick(&ints).copied() else { return };
        a.what = What::Cas;
        let (old, new) = (self.stored(leaves, Sort::INT, 1), self.stored(leaves, Sort::INT, 1));
        let t = &self.p.terms;
        let hit = t.eq(self.p.now(var), old);
        a.updates.push(Update { var, value: t.ite(hit, new, self.p.now(var)) });
        let flags: Vec<VarId> = place.locals.iter().copied().filter(|v| self.p.vars[*v].sort == Sort::BOOL).collect();
        if let Some(b) = self.random.pick(&flags) {
            a.updates.push(Update { var: *b, value: hit });
        }
    }

    /// `x := new Node`, `x.value := e`, `x.next := y` or `y := x.value`, with the check for null.
    fn heap_step(&mut self, place: &Place, leaves: &[Term], a: &mut Action) {
        let Some(heap) = self.class else { return };
        let refs: Vec<VarId> = self.writable(place).into_iter().filter(|v| self.p.vars[*v].sort == heap.sort).collect();
        let Some(x) = self.random.pick(&refs).copied() else { return };
        let null = self.p.terms.null(heap.class);
        if self.random.chance(40) && !place.looped {
            a.what = What::New;
            let (_, r) = self.input("new", heap.sort, a);
            let t = &self.p.terms;
            let live = self.p.now(heap.live);
            a.guard = t.and(&[t.ne(r, null), t.not(t.member(r, live))]);
            a.updates.push(Update { var: x, value: r });
            a.updates.push(Update { var: heap.live, value: t.mk(Op::Insert, &[r, live]) });
            let (zero, value, next) = (t.int(0), self.p.now(heap.value), self.p.now(heap.next));
            a.updates.push(Update { var: heap.value, value: t.store(value, r, zero) });
            a.updates.push(Update { var: heap.next, value: t.store(next, r, null) });
            return;
        }
        let name = format!("null:{}", self.asserts);
        self.asserts += 1;
        let property = self.property(PropertyKind::Null, name);
        let at = self.p.now(x);
        let formula = self.p.terms.ne(at, null);
        a.gates.push(Gate { property, formula });
        if self.random.chance(50) {
            let e = self.stored(leaves, Sort::INT, 1);
            let t = &self.p.terms;
            a.updates.push(Update { var: heap.value, value: t.store(self.p.now(heap.value), at, e) });
        } else {
            let e = self.term(leaves, heap.sort, 1);
            let t = &self.p.terms;
            a.updates.push(Update { var: heap.next, value: t.store(self.p.now(heap.next), at, e) });
        }
    }

    fn spawn_or_join(&mut self, place: &Place, leaves: &[Term], a: &mut Action) {
        let (Some(job), Some(ended)) = (self.job, self.ended) else { return };
        if self.spawned < 2 {
            self.spawned += 1;
            a.what = What::Spawn;
            let arg = self.stored(leaves, Sort::INT, 1);
            let ids: Vec<VarId> = place.locals.iter().copied().filter(|v| self.p.vars[*v].sort == Sort::INT).collect();
            let into = self.random.pick(&ids).copied();
            a.spawn = Some(Spawn { thread: job, args: vec![arg], into });
        } else {
            a.what = What::Join;
            let id = self.term(leaves, Sort::INT, 0);
            a.guard = self.p.terms.select(self.p.now(ended), id);
        }
    }
}
