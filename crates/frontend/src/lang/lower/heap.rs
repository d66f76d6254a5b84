//! The heap at the start: which objects are there before anything is allocated.
//!
//! A shared variable of a class without an initial value may refer to an object that was there from the start. As many
//! objects are live at the start as there are such variables; each of them, and every field, refers to one of those or
//! to null. Which object has which number cannot be distinguished, so this covers every start in which no object is
//! reached only through the fields of others; that restriction is an assumption of every verdict.
//! In: the program with all its variables. Out: the same with initial values and facts for the heap, and the
//! assumption.

use super::Lowering;
use logic::{Op, SortKind, Term};
use program::{Assumption, InitialFact, Scope, VarId, VarKind};

impl Lowering<'_> {
    pub(super) fn initial_heap(&mut self) {
        let classes: Vec<_> = self.program.classes.iter_enumerated().map(|(id, _)| id).collect();
        let mut started = Vec::new();
        for class in classes {
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
            let live = self.program.classes[class].live;
            let empty = terms.mk(Op::EmptySet(self.program.vars[live].sort), &[]);
            let numbers = 1..=roots.len() as u32;
            let objects = numbers.fold(empty, |set, n| terms.mk(Op::Insert, &[terms.reference(class, n), set]));
            self.program.vars[live].initial = Some(objects);
            for root in roots.iter().copied() {
                let formula = Some(self.null_or_live(self.program.now(root)));
                let origin = self.program.vars[root].origin;
                self.program.init.push(InitialFact { formula, property: None, origin });
            }
            let name = self.program.classes[class].name.clone();
            started.push(format!("`{name}` {}", roots.len()));
        }
        if !started.is_empty() && self.closed_heap() {
            let text =
                format!("at the start no more objects exist than variables to hold them: {}", started.join(", "));
            self.program.assumptions.push(Assumption { code: "initial-heap".to_owned(), text });
        }
    }

    fn null_or_live(&self, reference: Term) -> Term {
        let terms = &self.program.terms;
        let SortKind::Ref(class) = terms.kind(terms.sort_of(reference)) else { return terms.tt() };
        let live = self.program.now(self.program.classes[class].live);
        terms.or(&[terms.eq(reference, terms.null(class)), terms.member(reference, live)])
    }

    /// No object that is there at the start refers to one that is not. Tells whether any field refers to objects.
    fn closed_heap(&mut self) -> bool {
        let is_field = |kind: VarKind| matches!(kind, VarKind::Field(_));
        let fields: Vec<VarId> =
            self.program.vars.iter_enumerated().filter(|(_, v)| is_field(v.kind)).map(|(id, _)| id).collect();
        let mut any = false;
        for field in fields {
            let terms = &self.program.terms;
            let SortKind::Map(key, value) = terms.kind(self.program.vars[field].sort) else { continue };
            let (SortKind::Ref(from), SortKind::Ref(_)) = (terms.kind(key), terms.kind(value)) else { continue };
            any = true;
            let object = terms.symbol("o", key);
            let target = terms.select(self.program.now(field), terms.sym(object));
            let here = terms.member(terms.sym(object), self.program.now(self.program.classes[from].live));
            let formula = Some(terms.forall(&[object], terms.implies(here, self.null_or_live(target))));
            let origin = self.program.vars[field].origin;
            self.program.init.push(InitialFact { formula, property: None, origin });
        }
        any
    }
}
