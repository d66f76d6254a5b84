//! Programs built by hand for the tests: the same shapes that the front end makes (decision 001).

use logic::{ClassId, Op, Sort, SortKind, Symbol, Term};
use program::{
    Action, Class, Code, Gate, InitialFact, LocId, Location, Mark, Object, ObjectId, Operation, OriginId, Program,
    Property, PropertyId, PropertyKind, Scope, Spec, SpecOp, Update, VarId, VarKind, What,
};

pub(crate) struct Maker {
    pub(crate) p: Program,
    pub(crate) node: ClassId,
    pub(crate) val: VarId,
    pub(crate) next: VarId,
    live: VarId,
    pub(crate) null_gate: PropertyId,
    o: OriginId,
}

/// Code under construction.
pub(crate) struct Body<'a> {
    pub(crate) m: &'a mut Maker,
    pub(crate) code: Code,
    pub(crate) at: LocId,
}

impl Maker {
    pub(crate) fn new(name: &str) -> Self {
        let mut p = Program::new(name);
        let o = p.add_origin(None, "test");
        let node = p.terms.declare_class("Node");
        let r = p.terms.sort(SortKind::Ref(node));
        let set = p.terms.sort(SortKind::Set(r));
        let val_sort = p.terms.map_sort(r, Sort::INT);
        let next_sort = p.terms.map_sort(r, r);
        let val = p.add_var("val", val_sort, Scope::Shared, VarKind::Field(node), None, o);
        let next = p.add_var("next", next_sort, Scope::Shared, VarKind::Field(node), None, o);
        let empty = p.terms.mk(Op::EmptySet(set), &[]);
        let live = p.add_var("live", set, Scope::Shared, VarKind::Live(node), Some(empty), o);
        p.classes.push(Class { name: "Node".into(), fields: vec![val, next], live, origin: o });
        let null_gate = p.properties.push(Property { kind: PropertyKind::Null, name: "null".into(), origin: o });
        Self { p, node, val, next, live, null_gate, o }
    }
    pub(crate) fn ref_sort(&self) -> Sort {
        self.p.terms.sort(SortKind::Ref(self.node))
    }
    pub(crate) fn null(&self) -> Term {
        self.p.terms.null(self.node)
    }
    pub(crate) fn shared(&mut self, name: &str, sort: Sort, kind: VarKind, initial: Option<Term>) -> VarId {
        let o = self.o;
        self.p.add_var(name, sort, Scope::Shared, kind, initial, o)
    }
    pub(crate) fn local(&mut self, op: u32, name: &str, sort: Sort, initial: Option<Term>) -> VarId {
        let o = self.o;
        self.p.add_var(name, sort, Scope::Operation(ObjectId(0), op), VarKind::Plain, initial, o)
    }
    pub(crate) fn init(&mut self, formula: Term) {
        let origin = self.o;
        self.p.init.push(InitialFact { formula: Some(formula), property: None, origin });
    }
    /// As many objects are live at the start as there are roots; roots and fields refer to those or to nothing.
    pub(crate) fn initial_heap(&mut self, roots: &[VarId]) {
        let t = &self.p.terms;
        let empty = t.mk(Op::EmptySet(self.p.vars[self.live].sort), &[]);
        let objects = (1..=roots.len() as u32).fold(empty, |s, n| t.mk(Op::Insert, &[t.reference(self.node, n), s]));
        let live = self.p.now(self.live);
        let alive = |r: Term| t.or(&[t.eq(r, self.null()), t.member(r, live)]);
        let held: Vec<Term> = roots.iter().map(|r| alive(self.p.now(*r))).collect();
        let o = t.symbol("o", self.ref_sort());
        let target = t.select(self.p.now(self.next), t.sym(o));
        let fine = t.or(&[t.eq(target, self.null()), t.member(target, live)]);
        let closed = t.forall(&[o], t.implies(t.member(t.sym(o), live), fine));
        self.p.vars[self.live].initial = Some(objects);
        held.into_iter().for_each(|f| self.init(f));
        self.init(closed);
    }
    /// A queue or stack specification: `push` at the front or the back, `pop` from the front.
    pub(crate) fn sequence_spec(&mut self, front: Front) -> Spec {
        let o = self.o;
        let seq = self.p.terms.sort(SortKind::Seq(Sort::INT));
        let empty = self.p.terms.mk(Op::EmptySeq(seq), &[]);
        let scope = Scope::Spec(ObjectId(0));
        let s = self.p.add_var("s", seq, scope, VarKind::Plain, Some(empty), o);
        let v = self.p.add_var("v", Sort::INT, scope, VarKind::Plain, None, o);
        let (rv, ok) = (
            self.p.add_var("v", Sort::INT, scope, VarKind::Plain, None, o),
            self.p.add_var("ok", Sort::BOOL, scope, VarKind::Plain, None, o),
        );
        let t = &self.p.terms;
        let (now, unit) = (self.p.now(s), t.mk(Op::Unit, &[self.p.now(v)]));
        let pushed = match front {
            Front::Push => t.mk(Op::Concat, &[unit, now]),
            Front::PopOnly => t.mk(Op::Concat, &[now, unit]),
        };
        let (zero, one, len) = (t.int(0), t.int(1), t.mk(Op::Len, &[now]));
        let is_empty = t.eq(len, zero);
        let filled = t.not(is_empty);
        let (head, tail) = (t.mk(Op::At, &[now, zero]), t.mk(Op::Slice, &[now, one, len]));
        let (tt, ff) = (t.tt(), t.ff());
        let mut push = Body::new(self);
        push.step(tt, &[(s, pushed)], None, None);
        let push = push.finish();
        let mut pop = Body::new(self);
        let (a, b, end) = (pop.label(), pop.label(), pop.label());
        pop.jump_if(is_empty, a);
        pop.jump_if(filled, b);
        pop.at = a;
        pop.step(tt, &[(rv, zero), (ok, ff)], Some(end), None);
        pop.at = b;
        pop.step(tt, &[(rv, head), (s, tail), (ok, tt)], Some(end), None);
        pop.at = end;
        let pop = pop.finish();
        Spec {
            vars: vec![s],
            ops: vec![
                SpecOp { params: vec![v], results: vec![], locals: vec![], code: push },
                SpecOp { params: vec![], results: vec![rv, ok], locals: vec![], code: pop },
            ],
        }
    }
    pub(crate) fn object(&mut self, spec: Spec, ops: Vec<Operation>) {
        let origin = self.o;
        let property = self.p.properties.push(Property {
            kind: PropertyKind::Linearizable(ObjectId(0)),
            name: "linearizable".into(),
            origin,
        });
        self.p.objects.push(Object { name: "O".into(), spec, ops, property, origin });
    }
    pub(crate) fn operation(
        &self,
        name: &str,
        params: Vec<VarId>,
        results: Vec<VarId>,
        locals: Vec<VarId>,
        code: Code,
    ) -> Operation {
        Operation { name: name.into(), params, results, locals, code, origin: self.o }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Front {
    Push,
    PopOnly,
}

impl<'a> Body<'a> {
    pub(crate) fn new(m: &'a mut Maker) -> Self {
        let mut body = Self { m, code: Code::new(), at: LocId(0) };
        body.at = body.label();
        body
    }
    pub(crate) fn label(&mut self) -> LocId {
        let origin = self.m.o;
        let name = format!("L{}", self.code.locations.len());
        self.code.locations.push(Location { name, in_atomic_block: false, invariants: vec![], origin })
    }
    pub(crate) fn finish(mut self) -> Code {
        self.code.exit = Some(self.at);
        self.code
    }
    fn gates(&self, derefs: &[Term]) -> Vec<Gate> {
        let t = &self.m.p.terms;
        derefs.iter().map(|d| Gate { property: self.m.null_gate, formula: t.ne(*d, self.m.null()) }).collect()
    }
    pub(crate) fn raw(
        &mut self,
        inputs: Vec<Symbol>,
        guard: Term,
        derefs: &[Term],
        updates: &[(VarId, Term)],
        to: Option<LocId>,
        mark: Option<Mark>,
    ) {
        let to = to.unwrap_or_else(|| self.label());
        let gates = self.gates(derefs);
        self.code.actions.push(Action {
            from: self.at,
            to,
            inputs,
            guard,
            gates,
            updates: updates.iter().map(|(var, value)| Update { var: *var, value: *value }).collect(),
            spawn: None,
            relation: None,
            marks: mark.into_iter().collect(),
            what: What::Assign,
            origin: self.m.o,
        });
        self.at = to;
    }
    pub(crate) fn step(&mut self, guard: Term, updates: &[(VarId, Term)], to: Option<LocId>, mark: Option<Mark>) {
        self.raw(vec![], guard, &[], updates, to, mark);
    }
    pub(crate) fn jump_if(&mut self, guard: Term, to: LocId) {
        let at = self.at;
        self.raw(vec![], guard, &[], &[], Some(to), None);
        self.at = at;
    }
    pub(crate) fn branch(&mut self, condition: Term) -> (LocId, LocId) {
        let (a, b) = (self.label(), self.label());
        let not = self.m.p.terms.not(condition);
        self.jump_if(condition, a);
        self.jump_if(not, b);
        (a, b)
    }
    pub(crate) fn assign(&mut self, var: VarId, value: Term) {
        let tt = self.m.p.terms.tt();
        self.step(tt, &[(var, value)], None, None);
    }
    pub(crate) fn now(&self, var: VarId) -> Term {
        self.m.p.now(var)
    }
    /// `var := new Node`
    pub(crate) fn new_node(&mut self, var: VarId) {
        let p = &self.m.p;
        let (val, next, live) = (self.m.val, self.m.next, self.m.live);
        let r = p.terms.symbol("r", self.m.ref_sort());
        let (a, b) = (p.terms.symbol("a", Sort::INT), p.terms.symbol("b", self.m.ref_sort()));
        let rt = p.terms.sym(r);
        let guard = p.terms.and(&[p.terms.ne(rt, self.m.null()), p.terms.not(p.terms.member(rt, p.now(live)))]);
        let updates = [
            (var, rt),
            (live, p.terms.mk(Op::Insert, &[rt, p.now(live)])),
            (val, p.terms.store(p.now(val), rt, p.terms.sym(a))),
            (next, p.terms.store(p.now(next), rt, p.terms.sym(b))),
        ];
        self.raw(vec![r, a, b], guard, &[], &updates, None, None);
    }
    /// `object.field := value`
    pub(crate) fn put(&mut self, object: Term, field: VarId, value: Term, mark: Option<Mark>) {
        let p = &self.m.p;
        let new = p.terms.store(p.now(field), object, value);
        let tt = p.terms.tt();
        self.raw(vec![], tt, &[object], &[(field, new)], None, mark);
    }
    /// `var := object.field`
    pub(crate) fn get(&mut self, var: VarId, object: Term, field: VarId, mark: Option<Mark>) {
        let p = &self.m.p;
        let value = p.terms.select(p.now(field), object);
        let tt = p.terms.tt();
        self.raw(vec![], tt, &[object], &[(var, value)], None, mark);
    }
    /// `done := cas(place, old, new)`
    pub(crate) fn cas(&mut self, done: VarId, place: VarId, old: Term, new: Term, mark: Option<Mark>) {
        let p = &self.m.p;
        let same = p.terms.eq(p.now(place), old);
        let value = p.terms.ite(same, new, p.now(place));
        let tt = p.terms.tt();
        self.raw(vec![], tt, &[], &[(done, same), (place, value)], None, mark);
    }
    /// `done := cas(object.field, old, new)`
    pub(crate) fn cas_field(
        &mut self,
        done: VarId,
        object: Term,
        field: VarId,
        old: Term,
        new: Term,
        mark: Option<Mark>,
    ) {
        let p = &self.m.p;
        let now = p.terms.select(p.now(field), object);
        let same = p.terms.eq(now, old);
        let value = p.terms.store(p.now(field), object, p.terms.ite(same, new, now));
        let tt = p.terms.tt();
        self.raw(vec![], tt, &[object], &[(done, same), (field, value)], None, mark);
    }
    pub(crate) fn acquire(&mut self, lock: VarId) {
        let p = &self.m.p;
        let (free, tid) = (p.terms.eq(p.now(lock), p.terms.int(0)), p.terms.sym(p.tid));
        self.step(free, &[(lock, tid)], None, None);
    }
    pub(crate) fn release(&mut self, lock: VarId) {
        let zero = self.m.p.terms.int(0);
        self.assign(lock, zero);
    }
    pub(crate) fn goto(&mut self, to: LocId) {
        let tt = self.m.p.terms.tt();
        self.step(tt, &[], Some(to), None);
    }
}

pub(crate) fn when(condition: Term) -> Option<Mark> {
    Some(Mark::Linearize(Some(condition)))
}

pub(crate) fn always() -> Option<Mark> {
    Some(Mark::Linearize(None))
}
