//! What must be true of a certificate before its meaning is looked at.
//!
//! In: a program and a set of views. Out: nothing, or why the certificate is malformed: a program outside the fragment of
//! `docs/methods/shape.md`, a property that the rule says nothing about, points and takes that are not in the code, views whose values do
//! not have the type of what they are said to be the values of.
//! Deliberately absent: whether any of it is true, which is the closure's affair.

use super::{ViewsRule, fragment, leaks, marked, marks, spine, takes};
use crate::rules::Malformed;
use evidence::views::{CellOwner, Control, OperationProgress, Status, Taker, Val, View, ViewCell};
use logic::{Sort, SortKind};
use program::{Code, PropertyId, PropertyKind, Scope, Start, VarId};

fn no<T>(what: &str) -> Result<T, Malformed> {
    Err(Malformed(what.into()))
}

impl ViewsRule<'_> {
    /// What must be true of the certificate before its meaning is looked at.
    pub(super) fn vet(&self) -> Result<(), Malformed> {
        let p = self.program;
        if let Some(o) = self.views.object {
            let Some(object) = p.objects.get(o) else { return no("there is no such object") };
            if !p.threads.is_empty() {
                return no("the object is used beside threads of the program");
            }
            if object.spec.vars.len() != 1 || object.spec.ops.len() != object.ops.len() {
                return no("the specification's state is not one collection");
            }
            if object.spec.ops.iter().any(|op| op.code.actions.iter().any(|a| takes::reads(p, a).contains(&p.tid))) {
                return no("the specification depends on which thread calls");
            }
            let state = &p.vars[object.spec.vars[0]];
            match p.terms.kind(state.sort) {
                SortKind::Seq(_) => {}
                SortKind::Set(e) if e.is_integer() => {
                    if !object.spec.ops.iter().all(|op| spine::one_key(p, op, state.symbol)) {
                        return no("an operation of the specification is not about one key");
                    }
                    if self.list().is_none() {
                        return no("the set is in no list");
                    }
                }
                _ => return no("the specification's state is neither a sequence nor a set"),
            }
        } else if p.threads.iter().any(|t| t.start == Start::Spawned) {
            return no("threads started by spawn");
        }
        for code in self.codes() {
            if code.locations.iter().any(|l| l.in_atomic_block) || !code.calls.is_empty() {
                return no("an atomic block with a loop, or a call kept as a call");
            }
        }
        for id in self.claimed {
            let fine = match p.properties.get(*id).map(|x| &x.kind) {
                Some(PropertyKind::Linearizable(o)) => Some(*o) == self.views.object,
                Some(
                    PropertyKind::Assertion
                    | PropertyKind::Division
                    | PropertyKind::Null
                    | PropertyKind::Freed
                    | PropertyKind::Release
                    | PropertyKind::Bounds
                    | PropertyKind::Overflow
                    | PropertyKind::Access(_)
                    | PropertyKind::Unmodelled(_),
                ) => self.covers_gates(*id),
                Some(PropertyKind::Leak) => {
                    leaks::vet_leak_roots(p, &self.views.roots)?;
                    self.views.object.is_none()
                }
                _ => false,
            };
            if !fine {
                return no("this rule says nothing about one of the properties");
            }
        }
        for point in &self.views.points {
            let Some(op) = self.views.object.and_then(|o| p.objects[o].ops.get(point.operation as usize)) else {
                return no("a point of an operation that does not exist");
            };
            if op.code.actions.get(point.action).is_none() {
                return no("a point at a step that does not exist");
            }
            if marked(&op.code) && marks(&op.code, point.action) != vec![point.when] {
                return no("a point that is not where the user marked it");
            }
        }
        self.vet_takes()?;
        let list = self.list();
        for v in &self.views.views {
            self.vet_control(v)?;
            self.vet_cells(v, list.as_ref())?;
            self.vet_variables(v)?;
            self.vet_specification(v)?;
        }
        Ok(())
    }
    /// What threads get for themselves is where it is said to be, in a code that is run, by a reference of its own.
    fn vet_takes(&self) -> Result<(), Malformed> {
        let (p, views) = (self.program, self.views);
        let unshared = views.views.iter().any(|v| v.cells.iter().chain(&v.groups).any(|c| c.unshared));
        if views.takes.is_empty() {
            return if unshared { no("views that say who refers to what, with no use for it") } else { Ok(()) };
        }
        if views.spine.is_some() {
            return no("cells are taken out of a list with a spine");
        }
        for take in &views.takes {
            let found = self.dead.iter().any(|(code, _)| *code == take.code);
            let (actions, scope) = match (take.code, views.object) {
                (Taker::Thread(t), None) if found => (p.threads[t].code.actions.len(), Scope::Thread(t)),
                (Taker::Operation(i), Some(o)) if found => {
                    (p.objects[o].ops[i as usize].code.actions.len(), Scope::Operation(o, i))
                }
                _ => return no("a take in code that is not run"),
            };
            let reference = |v: &program::Var| v.scope == scope && matches!(p.terms.kind(v.sort), SortKind::Ref(_));
            if take.action.index() >= actions || !p.vars.get(take.var).is_some_and(reference) {
                return no("a take at a step or of a variable that does not exist");
            }
        }
        Ok(())
    }
    /// The property has gates in the code that the certificate is about, and in no other code that runs. Procedures are inlined
    /// where they are called, and so are operations where there are threads.
    fn covers_gates(&self, id: PropertyId) -> bool {
        let gated = |c: &Code| c.actions.iter().any(|a| a.gates.iter().any(|g| g.property == id));
        let p = self.program;
        let threads = p.threads.iter().map(|t| &t.code);
        let objects = p.objects.iter().filter(|_| p.threads.is_empty());
        let mut running = threads.chain(objects.flat_map(|o| o.ops.iter().map(|x| &x.code)));
        let inside = |c: &Code| self.codes().iter().any(|d| std::ptr::eq(*d, c));
        self.codes().iter().any(|c| gated(c)) && running.all(|c| !gated(c) || inside(c))
    }
    fn vet_control(&self, v: &View) -> Result<(), Malformed> {
        let p = self.program;
        let control = match v.control {
            Control::Idle => self.views.object.is_some(),
            Control::Operation(op, at) => self
                .views
                .object
                .is_some_and(|o| p.objects[o].ops.get(op as usize).is_some_and(|x| x.code.locations.get(at).is_some())),
            Control::Thread(t, at) => {
                self.views.object.is_none() && p.threads.get(t).is_some_and(|x| x.code.locations.get(at).is_some())
            }
        };
        if control { Ok(()) } else { no("a view at a place that does not exist") }
    }
    /// Every cell and group is of a class, in a place that there is, of one kind, and its fields have values of their types.
    fn vet_cells(&self, v: &View, list: Option<&spine::SpineInClass>) -> Result<(), Malformed> {
        let p = self.program;
        let cells = v.cells.len();
        let set = self.is_set();
        for (i, c) in v.cells.iter().chain(&v.groups).enumerate() {
            let Some(class) = p.classes.get(c.class) else { return no("a cell of a class that does not exist") };
            if class.fields.len() != c.fields.len() {
                return no("a cell with fields that its class does not have");
            }
            if i >= cells && c.owner == CellOwner::Mine {
                return no("a group of owned cells");
            }
            let on_list = list.is_some_and(|l| l.class == c.class);
            let placed = match c.status {
                Status::Never => true,
                Status::In | Status::Past => !set,
                Status::Before | Status::After | Status::Left => on_list,
            };
            if !placed {
                return no("a cell in a place that there is not");
            }
            // What tells kinds apart is known of every cell.
            for (f, vals) in class.fields.iter().zip(&c.fields) {
                let SortKind::Map(_, entry) = p.terms.kind(p.vars[*f].sort) else {
                    return no("a field that is not a map");
                };
                let key = list.is_some_and(|l| on_list && self.program.classes[l.class].fields[l.key] == *f);
                let one = match vals[..] {
                    [Val::Bool(_)] => entry == Sort::BOOL,
                    [Val::Below | Val::Equal | Val::Above | Val::Any] => key,
                    _ => false,
                };
                let sides = |v: &Val| matches!(v, Val::Bool(_) | Val::Below | Val::Equal | Val::Above);
                if (entry == Sort::BOOL || key) != one && (entry == Sort::BOOL || key || vals.iter().any(sides)) {
                    return no("a cell of no kind");
                }
                if !vals.iter().all(|val| *val != Val::Argument && self.is_of_sort(v, *val, entry)) {
                    return no("a field with a value that is not of its type, or outside its view");
                }
            }
            let next = |val: &Val| matches!(val, Val::Null | Val::AsLink) || is_cell_of(v, *val, |_| true);
            if !c.successor.iter().all(next) {
                return no("a successor that is no cell of the view");
            }
        }
        for (i, g) in v.groups.iter().enumerate() {
            if v.groups[..i].iter().any(|h| fragment::kind(h) == fragment::kind(g)) {
                return no("two groups of one kind");
            }
        }
        Ok(())
    }
    /// Variables are there where the thread is, each once, with values of their types.
    fn vet_variables(&self, v: &View) -> Result<(), Malformed> {
        let p = self.program;
        let local = |var: VarId| match (p.vars.get(var).map(|x| x.scope), v.control) {
            (Some(Scope::Shared), _) => true,
            (Some(Scope::Operation(o, i)), Control::Operation(op, _)) => Some(o) == self.views.object && i == op,
            (Some(Scope::Thread(t)), Control::Thread(u, _)) => t == u,
            (Some(Scope::Spec(_)), Control::Operation(op, _)) => self.arguments[op as usize].contains(&var),
            _ => false,
        };
        let mut last = None;
        for (var, val) in &v.vars {
            if !local(*var) || last.is_some_and(|l| l >= *var) {
                return no("a view with a variable that is not there");
            }
            last = Some(*var);
            if matches!(val, Val::Group(_) | Val::Itself) || !self.is_of_sort(v, *val, p.vars[*var].sort) {
                return no("a variable with a value that is not of its type, or that only fields have");
            }
        }
        self.vet_open_variables(v, local)
    }
    /// A variable with several values is a reference of the thread's own, and only to what everybody can reach. Who refers to what, and what is lost, is known of
    /// variables with one value only.
    fn vet_open_variables(&self, v: &View, local: impl Fn(VarId) -> bool) -> Result<(), Malformed> {
        let p = self.program;
        let leak = program::semantics::leak(p).is_some_and(|l| self.claimed.contains(&l));
        if !v.open.is_empty() && (!self.views.takes.is_empty() || leak) {
            return no("a variable with several values, where it matters who refers to what");
        }
        let interface = |var: VarId| match (v.control, self.object()) {
            (Control::Operation(op, _), Some((_, o))) => {
                let op = &o.ops[op as usize];
                op.params.contains(&var) || op.results.contains(&var)
            }
            _ => false,
        };
        let mut last = None;
        for (var, list) in &v.open {
            if !local(*var) || last.is_some_and(|l| l >= *var) || v.vars.iter().any(|(w, _)| w == var) {
                return no("a variable with several values that is not there");
            }
            last = Some(*var);
            let x = &p.vars[*var];
            let reference = matches!(p.terms.kind(x.sort), SortKind::Ref(_));
            if !reference || x.scope == Scope::Shared || interface(*var) {
                return no("several values of what is no reference of the thread's own");
            }
            let published = |val: &Val| match val {
                Val::Null => true,
                Val::Cell(_) | Val::Group(_) => {
                    self.is_of_sort(v, *val, x.sort) && is_cell_of(v, *val, |c| c.owner == CellOwner::Published)
                }
                _ => false,
            };
            if !list.iter().all(published) {
                return no("a variable with a value that is not everybody's");
            }
        }
        Ok(())
    }
    /// What a view says of the specification fits it.
    fn vet_specification(&self, v: &View) -> Result<(), Malformed> {
        let p = self.program;
        let cell = |val: Val| is_cell_of(v, val, |_| true) && matches!(val, Val::Cell(_));
        // That a sequence is empty, and where a list crosses the key, is known in every view.
        if !v.ends.is_none_or(|(a, b)| (a, b) == (Val::Null, Val::Null) || (cell(a) && cell(b)))
            || !v.crossing.is_none_or(|(a, b)| cell(a) && (b == Val::Null || cell(b)))
        {
            return no("ends or a crossing that are not known");
        }
        if let OperationProgress::Pure(results) | OperationProgress::Changed(results) = &v.done {
            let (Control::Operation(op, _), Some((_, object))) = (v.control, self.object()) else {
                return no("results where no operation runs");
            };
            let declared = &object.spec.ops[op as usize].results;
            let typed = |(r, val): (&VarId, &Val)| {
                !matches!(val, Val::Group(_) | Val::Itself) && self.is_of_sort(v, *val, p.vars[*r].sort)
            };
            if declared.len() != results.len() || !declared.iter().zip(results).all(typed) {
                return no("results that are not the operation's");
            }
        }
        let set = self.is_set();
        let sequence = self.state().is_some() && !set;
        if v.ends.is_some() != sequence || v.member.is_some() != set || v.crossing.is_some() != set {
            return no("a view that does not fit the specification");
        }
        Ok(())
    }
    fn is_set(&self) -> bool {
        let p = self.program;
        self.state().is_some_and(|s| matches!(p.terms.kind(p.vars[s].sort), SortKind::Set(_)))
    }
    /// Whether a value in a view can be one of the sort. An integer may be anything that stands for a number.
    fn is_of_sort(&self, v: &View, val: Val, sort: Sort) -> bool {
        match (val, self.program.terms.kind(sort)) {
            (Val::Any, _) => true,
            (Val::Null, SortKind::Ref(_)) | (Val::Bool(_), SortKind::Bool) => true,
            (Val::Variant(n), SortKind::Enum(e)) => (n as usize) < self.program.terms.enum_size(e),
            (Val::Cell(_) | Val::Group(_), SortKind::Ref(class)) => is_cell_of(v, val, |c| c.class == class),
            (Val::Cell(_) | Val::Group(_), SortKind::Int | SortKind::Machine(_)) => is_cell_of(v, val, |_| true),
            (
                Val::Itself
                | Val::Argument
                | Val::Number(_)
                | Val::Free
                | Val::Me
                | Val::Other
                | Val::Below
                | Val::Equal
                | Val::Above,
                SortKind::Int | SortKind::Machine(_),
            ) => true,
            _ => false,
        }
    }
}

/// Whether the value names a cell or a group of the view with the property.
fn is_cell_of(v: &View, val: Val, wanted: impl Fn(&ViewCell) -> bool) -> bool {
    match val {
        Val::Cell(i) => v.cells.get(i as usize).is_some_and(wanted),
        Val::Group(g) => v.groups.get(g as usize).is_some_and(wanted),
        _ => false,
    }
}
