//! The heap at the start: which objects are there before anything is allocated.
//!
//! A shared variable of a class without an initial value may refer to an object that was there from the start. Those
//! objects are live, so `new` does not give them again; what they refer to is null or live as well.

use super::Lowering;
use logic::{Op, SortKind, Term};
use program::{Fact, Scope, VarId, VarKind};

impl Lowering<'_> {
    pub(super) fn initial_heap(&mut self) {
        let ids: Vec<_> = self.program.classes.iter_enumerated().map(|(id, _)| id).collect();
        let mut any = false;
        for class in ids.iter().copied() {
            let terms = &self.program.terms;
            let sort = terms.sort(SortKind::Ref(class));
            let roots: Vec<VarId> = self
                .program
                .vars
                .iter_enumerated()
                .filter(|(_, v)| v.scope == Scope::Shared && v.sort == sort && v.initial.is_none())
                .map(|(id, _)| id)
                .collect();
            if roots.is_empty() {
                continue;
            }
            any = true;
            let live = self.program.classes[class].live;
            let set = self.program.vars[live].sort;
            let empty = terms.mk(Op::EmptySet(set), &[]);
            let named = roots.iter().fold(empty, |s, r| terms.mk(Op::Insert, &[self.program.now(*r), s]));
            let nothing = terms.mk(Op::Insert, &[terms.null(class), empty]);
            let objects = terms.mk(Op::Minus, &[named, nothing]);
            let formula = Some(terms.eq(self.program.now(live), objects));
            let origin = self.program.vars[roots[0]].origin;
            self.program.vars[live].initial = None;
            self.program.init.push(Fact { formula, property: None, origin });
        }
        if any {
            self.closed_heap();
        }
    }

    /// No object that is there at the start refers to one that is not.
    fn closed_heap(&mut self) {
        let fields: Vec<VarId> = self
            .program
            .vars
            .iter_enumerated()
            .filter(|(_, v)| matches!(v.kind, VarKind::Field(_)))
            .map(|(id, _)| id)
            .collect();
        for field in fields {
            let terms = &self.program.terms;
            let SortKind::Map(key, value) = terms.kind(self.program.vars[field].sort) else { continue };
            let (SortKind::Ref(from), SortKind::Ref(to)) = (terms.kind(key), terms.kind(value)) else { continue };
            let object = terms.symbol("o", key);
            let (at, target) = (terms.sym(object), terms.select(self.program.now(field), terms.sym(object)));
            let here: Term = terms.member(at, self.program.now(self.program.classes[from].live));
            let there = terms.member(target, self.program.now(self.program.classes[to].live));
            let fine = terms.or(&[terms.eq(target, terms.null(to)), there]);
            let formula = Some(terms.forall(&[object], terms.implies(here, fine)));
            let origin = self.program.vars[field].origin;
            self.program.init.push(Fact { formula, property: None, origin });
        }
    }
}
