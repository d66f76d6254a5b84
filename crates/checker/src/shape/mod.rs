//! Rule "views": a set of views that holds of every thread at the start and is kept by every step holds of every thread always.
//!
//! Comes in: a program and the certificate `Views`. Goes out: how much was checked, or why the certificate is rejected. The rule is the
//! invariance rule over the domain of Thread Quantification (section 3): the start satisfies "for all t some view", and for every
//! two threads in any views of the set, every step of one leaves both in views of the set. Written from the definition of when a view
//! holds, on concrete fragments, with no code of the method. See `docs/decisions/010-shape-evidence.md`.

mod cover;
mod coverage;
mod fragment;
mod index;
mod leaks;
mod spine;
mod start;
mod step;
mod takes;
mod terms;
mod weaken;

use crate::rules::Malformed;
use base::Budget;
use cover::{covers, of_view, patterned};
use evidence::Reason;
use evidence::views::{Control, Fires, Owner, Status, Taker, Val, View, Views};
use fragment::{Fragment, Progress, Side, Sight, V, World};
use logic::{ClassId, Sort, SortKind, Symbol};
use program::{ActionId, Code, Copies, LocId, Mark, ObjectId, Program, PropertyId, PropertyKind, Scope, Start, VarId};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use step::{Call, Step, results_agree, run, witness};
use weaken::{join, skeleton, weaken};

/// What was checked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checked {
    pub views: usize,
    pub steps: usize,
    pub pairs: usize,
}

pub use coverage::{Bounds, Coverage, coverage};

pub fn check(program: &Program, views: &Views, claimed: &[PropertyId], budget: &Budget) -> Result<Checked, Reason> {
    let malformed = |m: Malformed| Reason::Internal(format!("the certificate was rejected: {}", m.0));
    let rule = Rule::new(program, views, claimed).map_err(malformed)?;
    rule.check(budget)
}

/// How many private steps a thread takes in a row at most.
const CHAIN: usize = 64;

/// Kinds as numbers: of cells and groups as all threads agree on them, of groups as the thread knows them.
struct Numbers {
    cells: Vec<u32>,
    groups: Vec<u32>,
    full: Vec<u32>,
}

struct Rule<'p> {
    program: &'p Program,
    views: &'p Views,
    claimed: &'p [PropertyId],
    names: FxHashMap<Symbol, VarId>,
    vars: Vec<VarId>,
    index: index::Index,
    /// Views by pattern alone.
    alike: FxHashMap<Vec<u32>, Vec<usize>>,
    wild: Vec<usize>,
    patterns: Vec<Option<Vec<u32>>>,
    /// Kinds of the cells and groups of each view, as numbers.
    kinds: Vec<Numbers>,
    /// The kinds by number.
    table: Vec<fragment::Kind>,
    /// See `World::quiet`.
    quiet: Vec<VarId>,
    /// For each thread or operation: dead variables by location.
    dead: Vec<(Taker, Vec<Vec<VarId>>)>,
}

/// Fields of published cells that every view allows to be 0 if and only if it allows them to be the id of a thread other than its own. When a
/// thread puts its own id where 0 was, or 0 where its own id was, every other thread stays in the view it was in.
fn quiet(program: &Program, views: &Views) -> Vec<VarId> {
    let mut out = Vec::new();
    for (class, decl) in program.classes.iter_enumerated() {
        for (f, var) in decl.fields.iter().enumerate() {
            let mut cells = views.views.iter().flat_map(|v| v.cells.iter().chain(&v.groups));
            let closed = cells.all(|c| {
                let list = &c.fields.get(f).map_or(&[][..], |l| l);
                let plain = |v: &Val| matches!(v, Val::Any | Val::Free | Val::Me | Val::Other | Val::Number(_));
                let free = list.iter().any(|v| matches!(v, Val::Any | Val::Free | Val::Number(0)));
                let other = list.iter().any(|v| matches!(v, Val::Any | Val::Other));
                c.class != class || c.owner == Owner::Mine || (list.iter().all(plain) && free == other)
            });
            if closed && matches!(program.terms.kind(program.vars[*var].sort), SortKind::Map(_, e) if e.is_integer()) {
                out.push(*var);
            }
        }
    }
    out
}

impl Numbers {
    fn sight<'a>(&'a self, view: &'a View) -> Sight<'a> {
        Sight { view, cells: &self.cells, groups: &self.groups, full: &self.full }
    }
}

impl<'p> Rule<'p> {
    fn new(program: &'p Program, views: &'p Views, claimed: &'p [PropertyId]) -> Result<Self, Malformed> {
        let names = program.vars.iter_enumerated().map(|(id, v)| (v.symbol, id)).collect();
        let vars = patterned(program);
        let mut rule = Self {
            program,
            views,
            claimed,
            names,
            vars,
            index: index::Index::default(),
            alike: FxHashMap::default(),
            wild: Vec::new(),
            patterns: Vec::new(),
            kinds: Vec::new(),
            table: Vec::new(),
            quiet: quiet(program, views),
            dead: Vec::new(),
        };
        rule.dead = rule.dead_variables();
        rule.vet()?;
        for v in &views.views {
            let all = v.cells.iter().chain(&v.groups);
            for kind in all.flat_map(|c| [fragment::kind(c), fragment::common_kind(c)]) {
                if !rule.table.contains(&kind) {
                    rule.table.push(kind);
                }
            }
            rule.kinds.push(rule.numbers(v));
        }
        for (i, v) in views.views.iter().enumerate() {
            let pattern = of_view(v, &rule.vars);
            rule.index.add(v, i);
            match &pattern {
                Some(p) => rule.alike.entry(p.clone()).or_default().push(i),
                None => rule.wild.push(i),
            }
            rule.patterns.push(pattern);
        }
        Ok(rule)
    }
    /// What must be true of the certificate before its meaning is looked at.
    fn vet(&self) -> Result<(), Malformed> {
        let p = self.program;
        let no = |what: &str| Err(Malformed(what.into()));
        if let Some(o) = self.views.object {
            let Some(object) = p.objects.get(o) else { return no("there is no such object") };
            if !p.threads.is_empty() {
                return no("the object is used beside threads of the program");
            }
            if object.spec.vars.len() != 1 || object.spec.ops.len() != object.ops.len() {
                return no("the specification's state is not one collection");
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
        } else if p.threads.iter().any(|t| t.start == Start::BySpawn) {
            return no("threads started by spawn");
        }
        for code in self.codes() {
            if code.locations.iter().any(|l| l.inside) || !code.calls.is_empty() {
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
                    leaks::vet(p, &self.views.roots)?;
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
        self.views.views.iter().try_for_each(|v| self.vet_view(v))
    }
    /// What threads get for themselves is where it is said to be, in a code that is run, by a reference of its own.
    fn vet_takes(&self) -> Result<(), Malformed> {
        let (p, views) = (self.program, self.views);
        let no = |what: &str| Err(Malformed(what.into()));
        let sole = views.views.iter().any(|v| v.cells.iter().chain(&v.groups).any(|c| c.sole));
        if views.takes.is_empty() {
            return if sole { no("views that say who refers to what, with no use for it") } else { Ok(()) };
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
            if take.action.0 as usize >= actions || !p.vars.get(take.var).is_some_and(reference) {
                return no("a take at a step or of a variable that does not exist");
            }
        }
        Ok(())
    }
    fn dead_variables(&self) -> Vec<(Taker, Vec<Vec<VarId>>)> {
        let p = self.program;
        match self.views.object.and_then(|o| p.objects.get(o)) {
            Some(o) => {
                let ops = o.ops.iter().enumerate().map(|(i, op)| {
                    let vars: Vec<VarId> = op.params.iter().chain(&op.results).chain(&op.locals).copied().collect();
                    let dead = takes::dead(p, &op.code, &vars, &op.results);
                    // Arguments are remembered for the specification.
                    let dead = dead.into_iter().map(|l| l.into_iter().filter(|v| !op.params.contains(v)).collect());
                    (Taker::Operation(i as u32), dead.collect())
                });
                ops.collect()
            }
            None => {
                let threads = p.threads.iter_enumerated();
                threads.map(|(id, t)| (Taker::Thread(id), takes::dead(p, &t.code, &t.locals, &[]))).collect()
            }
        }
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
    fn codes(&self) -> Vec<&'p Code> {
        match self.views.object {
            Some(o) => self.program.objects[o].ops.iter().map(|x| &x.code).collect(),
            None => self.program.threads.iter().map(|t| &t.code).collect(),
        }
    }
    fn vet_view(&self, v: &View) -> Result<(), Malformed> {
        let p = self.program;
        let no = |what: &str| Err(Malformed(what.into()));
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
        if !control {
            return no("a view at a place that does not exist");
        }
        let (cells, groups) = (v.cells.len(), v.groups.len());
        let inside = |val: &Val| match val {
            Val::Cell(i) => (*i as usize) < cells,
            Val::Group(g) => (*g as usize) < groups,
            _ => true,
        };
        let list = self.list();
        let set = self.state().is_some_and(|s| matches!(p.terms.kind(p.vars[s].sort), SortKind::Set(_)));
        for (i, c) in v.cells.iter().chain(&v.groups).enumerate() {
            let Some(class) = p.classes.get(c.class) else { return no("a cell of a class that does not exist") };
            if class.fields.len() != c.fields.len() {
                return no("a cell with fields that its class does not have");
            }
            if i >= cells && c.owner == Owner::Mine {
                return no("a group of owned cells");
            }
            let on_list = list.as_ref().is_some_and(|l| l.class == c.class);
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
                let key = list.as_ref().is_some_and(|l| on_list && self.program.classes[l.class].fields[l.key] == *f);
                let one = match vals[..] {
                    [Val::Bool(_)] => entry == Sort::BOOL,
                    [Val::Below | Val::Equal | Val::Above | Val::Any] => key,
                    _ => false,
                };
                let sides = |v: &Val| matches!(v, Val::Bool(_) | Val::Below | Val::Equal | Val::Above);
                if (entry == Sort::BOOL || key) != one && (entry == Sort::BOOL || key || vals.iter().any(sides)) {
                    return no("a cell of no kind");
                }
            }
            if !c.fields.iter().flatten().chain(&c.successor).all(inside) {
                return no("a value that refers outside its view");
            }
        }
        for (i, g) in v.groups.iter().enumerate() {
            if v.groups[..i].iter().any(|h| fragment::kind(h) == fragment::kind(g)) {
                return no("two groups of one kind");
            }
        }
        let local = |var: VarId| match (p.vars.get(var).map(|x| x.scope), v.control) {
            (Some(Scope::Shared), _) => true,
            (Some(Scope::Operation(o, i)), Control::Operation(op, _)) => Some(o) == self.views.object && i == op,
            (Some(Scope::Thread(t)), Control::Thread(u, _)) => t == u,
            _ => false,
        };
        let mut last = None;
        for (var, val) in &v.vars {
            if !local(*var) || last.is_some_and(|l| l >= *var) {
                return no("a view with a variable that is not there");
            }
            last = Some(*var);
            if !inside(val) || matches!(val, Val::Group(_) | Val::Itself | Val::AsLink) {
                return no("a variable with a value that only fields have");
            }
        }
        if v.ends.iter().chain(&v.crossing).any(|(a, b)| !inside(a) || !inside(b)) {
            return no("ends that refer outside their view");
        }
        let results: &[Val] = match &v.done {
            evidence::views::Done::No => &[],
            evidence::views::Done::Pure(r) | evidence::views::Done::Changed(r) => r,
        };
        if !results.iter().all(inside) {
            return no("results that refer outside their view");
        }
        let sequence = self.state().is_some_and(|s| matches!(p.terms.kind(p.vars[s].sort), SortKind::Seq(_)));
        if v.ends.is_some() != sequence || v.member.is_some() != set || v.crossing.is_some() != set {
            return no("a view that does not fit the specification");
        }
        Ok(())
    }
    /// The kinds of a view's cells and groups, by number; all of them occur in some view of the certificate.
    fn numbers(&self, v: &View) -> Numbers {
        let number = |kind: fragment::Kind| {
            self.table.iter().position(|k| *k == kind).expect("a view and its weaker forms have the same kinds") as u32
        };
        Numbers {
            cells: v.cells.iter().map(|c| number(fragment::common_kind(c))).collect(),
            groups: v.groups.iter().map(|c| number(fragment::common_kind(c))).collect(),
            full: v.groups.iter().map(|c| number(fragment::kind(c))).collect(),
        }
    }
    fn sight(&self, i: usize) -> Sight<'_> {
        self.kinds[i].sight(&self.views.views[i])
    }
    /// The list of the certificate, if it names one.
    fn list(&self) -> Option<spine::List> {
        let links = |c: ClassId| World::new(self.program).links[c.0 as usize];
        spine::List::new(self.program, self.views.spine?, &self.codes(), links)
    }
    fn world(&self) -> World<'p> {
        let takes = !self.views.takes.is_empty();
        let leak = program::semantics::leak(self.program).filter(|l| self.claimed.contains(l));
        World {
            spine: self.list(),
            quiet: self.quiet.clone(),
            takes,
            leak,
            roots: self.views.roots.clone(),
            ..World::new(self.program)
        }
    }
    fn object(&self) -> Option<(ObjectId, &'p program::Object)> {
        self.views.object.map(|o| (o, &self.program.objects[o]))
    }
    fn state(&self) -> Option<VarId> {
        self.object().map(|(_, o)| o.spec.vars[0])
    }
    fn call(&self, control: Control) -> Option<Call<'p>> {
        let (Control::Operation(op, _), Some((_, object))) = (control, self.object()) else { return None };
        let o = &object.ops[op as usize];
        Some(Call {
            params: &o.params,
            results: &o.results,
            spec: &object.spec.ops[op as usize],
            state: object.spec.vars[0],
            marked: marked(&o.code),
        })
    }
    fn code(&self, control: Control) -> Option<(&'p Code, LocId)> {
        match control {
            Control::Idle => None,
            Control::Operation(op, at) => self.object().map(|(_, o)| (&o.ops[op as usize].code, at)),
            Control::Thread(t, at) => Some((&self.program.threads[t].code, at)),
        }
    }
    fn moved(&self, control: Control, to: LocId) -> Control {
        match control {
            Control::Idle => Control::Idle,
            Control::Operation(op, _) => Control::Operation(op, to),
            Control::Thread(t, _) => Control::Thread(t, to),
        }
    }
    fn fires(&self, control: Control, action: ActionId) -> Option<Fires> {
        let Control::Operation(op, _) = control else { return None };
        self.views.points.iter().find(|p| p.operation == op && p.action == action).map(|p| p.when)
    }
    fn step(&self, control: Control, code: &'p Code, id: ActionId) -> Step<'_> {
        let taker = match control {
            Control::Thread(t, _) => Some(Taker::Thread(t)),
            Control::Operation(o, _) => Some(Taker::Operation(o)),
            Control::Idle => None,
        };
        let here = |t: &&evidence::views::Take| Some(t.code) == taker && t.action == id;
        Step {
            program: self.program,
            names: &self.names,
            action: &code.actions[id],
            fires: self.fires(control, id),
            call: self.call(control),
            takes: self.views.takes.iter().filter(here).map(|t| t.var).collect(),
            dead: self.dead.iter().find(|(t, _)| Some(*t) == taker).map_or(&[], |(_, dead)| dead),
            code,
            tracked: !self.views.takes.is_empty(),
        }
    }

    fn check(&self, budget: &Budget) -> Result<Checked, Reason> {
        let rejected = |why: String| Reason::Internal(format!("the certificate was rejected: {why}"));
        let mut checked = Checked { views: self.views.views.len(), ..Checked::default() };
        start::check(self).map_err(rejected)?;
        let world = self.world();
        let mut seen = Vec::new();
        for (i, view) in self.views.views.iter().enumerate() {
            budget.check().map_err(Reason::Exhausted)?;
            self.own(&world, i, view, &mut checked, &mut seen).map_err(rejected)?;
        }
        self.others(&seen, &mut checked, budget)?.map_err(rejected)?;
        Ok(checked)
    }
    /// All steps of the thread whose view it is. Steps that others can see are noted.
    fn own(
        &self,
        world: &World<'_>,
        i: usize,
        view: &View,
        checked: &mut Checked,
        seen: &mut Vec<(usize, ActionId)>,
    ) -> Result<(), String> {
        let fragments = Fragment::start(world, self.sight(i), None);
        let Some((code, at)) = self.code(view.control) else {
            return fragments.iter().try_for_each(|f| self.invocations(f));
        };
        for (id, action) in code.from(at) {
            let step = self.step(view.control, code, id);
            let mut visible = false;
            for f in &fragments {
                checked.steps += 1;
                for a in run(f, &step).map_err(|e| self.place(view.control, e))? {
                    visible |= a.visible;
                    self.settled(a, self.moved(view.control, action.to), 0).map_err(|e| self.place(view.control, e))?;
                }
            }
            if visible {
                seen.push((i, id));
            }
        }
        Ok(())
    }
    /// What every other thread sees of the visible steps. Of the thread that moves, only what the step looks at matters.
    fn others(
        &self,
        seen: &[(usize, ActionId)],
        checked: &mut Checked,
        budget: &Budget,
    ) -> Result<Result<(), String>, Reason> {
        let world = self.world();
        let mut known: FxHashMap<(ActionId, View), usize> = FxHashMap::default();
        let mut movers: Vec<(usize, ActionId, View)> = Vec::new();
        for (i, id) in seen {
            let control = self.views.views[*i].control;
            let Some((code, _)) = self.code(control) else { continue };
            let weak = weaken(&self.views.views[*i], &self.step(control, code, *id));
            match known.entry((*id, skeleton(&weak))) {
                Entry::Occupied(at) => join(&mut movers[*at.get()].2, &weak),
                Entry::Vacant(at) => {
                    at.insert(movers.len());
                    movers.push((*i, *id, weak));
                }
            }
        }
        for (i, id, weak) in &movers {
            let control = weak.control;
            let Some((code, _)) = self.code(control) else { continue };
            let step = self.step(control, code, *id);
            let numbers = self.numbers(weak);
            let sight = numbers.sight(weak);
            for t in self.partners(*i) {
                budget.check().map_err(Reason::Exhausted)?;
                if self.alone(control, self.views.views[t].control) {
                    continue;
                }
                checked.pairs += 1;
                if let Err(e) = self.seen(&world, sight, t, &step) {
                    return Ok(Err(self.place(control, e)));
                }
            }
        }
        Ok(Ok(()))
    }
    fn place(&self, control: Control, why: String) -> String {
        match self.code(control) {
            Some((code, at)) => format!("{why} (at {})", code.locations[at].name),
            None => why,
        }
    }
    fn partners(&self, i: usize) -> Vec<usize> {
        match &self.patterns[i] {
            Some(p) => self.alike.get(p).into_iter().flatten().chain(&self.wild).copied().collect(),
            None => (0..self.views.views.len()).collect(),
        }
    }
    /// Two instances of a thread that comes once.
    fn alone(&self, a: Control, b: Control) -> bool {
        match (a, b) {
            (Control::Thread(t, _), Control::Thread(u, _)) => {
                t == u && matches!(self.program.threads[t].copies, Copies::One | Copies::Exactly(1))
            }
            _ => false,
        }
    }
    /// What thread `t` sees of a visible step.
    fn seen(&self, world: &World<'_>, sc: Sight<'_>, other: usize, step: &Step<'_>) -> Result<(), String> {
        let t = &self.views.views[other];
        for f in Fragment::start(world, sc, Some(self.sight(other))) {
            for mut a in run(&f, step)? {
                if a.wrong.is_some() || !a.visible || !a.at.possible() {
                    continue;
                }
                if let Some(call) = self.call(t.control) {
                    witness(&mut a.at, &self.names, &call, 1).map_err(|h| format!("{h:?}"))?;
                }
                a.at.looked[1] = t.control == Control::Idle;
                if !self.covered(&a.at, 1, t.control) && a.at.feasible() {
                    return Err("a step takes another thread out of the views".into());
                }
            }
        }
        Ok(())
    }
    fn covered(&self, at: &Fragment<'_>, side: usize, control: Control) -> bool {
        self.index.candidates(at, side, control).any(|v| covers(at, side, self.sight(v)))
    }
    /// The state after a thread's own step: in a view, or on its way to one by private steps.
    fn settled(&self, after: step::After<'_>, control: Control, depth: usize) -> Result<(), String> {
        if let Some(p) = after.wrong {
            if after.at.world.leak == Some(p) && !(after.at.possible() && after.at.feasible()) {
                return Ok(());
            }
            return if self.claimed.contains(&p) {
                Err(format!("{} may fail", self.program.properties[p].name))
            } else {
                Ok(())
            };
        }
        let mut at = after.at;
        if !at.possible() {
            return Ok(());
        }
        let mut control = control;
        if let Some(call) = self.call(control) {
            witness(&mut at, &self.names, &call, 0).map_err(|h| format!("{h:?}"))?;
            let exit = self.code(control).is_some_and(|(code, here)| code.exit == Some(here));
            if exit {
                let linearizable = self.object().map(|(_, o)| o.property);
                if linearizable.is_some_and(|p| self.claimed.contains(&p)) && !results_agree(&at, &self.names, &call) {
                    return Err("a call ends with other results than the specification".into());
                }
                self.forget(&mut at, control);
                control = Control::Idle;
            }
        }
        if self.covered(&at, 0, control) || !at.feasible() {
            return Ok(());
        }
        self.private(at, control, depth)
    }
    /// The end of a call: its variables are gone.
    fn forget(&self, at: &mut Fragment<'_>, control: Control) {
        let Control::Operation(op, _) = control else { return };
        let Some((_, object)) = self.object() else { return };
        let o = &object.ops[op as usize];
        for v in o.params.iter().chain(&o.results).chain(&o.locals) {
            at.vars[v.0 as usize] = V::Any;
        }
        at.done[0] = Progress::No;
        at.witnessed[0] = 0;
        at.looked[0] = true;
    }
    /// All next steps must look at nothing shared; then they are taken at once.
    fn private(&self, at: Fragment<'_>, control: Control, depth: usize) -> Result<(), String> {
        let out = || Err("a step takes the thread itself out of the views".to_string());
        let Some((code, here)) = self.code(control) else { return out() };
        if depth == CHAIN {
            return out();
        }
        let mut next = Vec::new();
        // The fragment's undecided fields keep their constraints; what the last step made is no longer new.
        let mut now = at.clone();
        now.items.iter_mut().for_each(|x| x.new = false);
        for (id, action) in code.from(here) {
            let step = self.step(control, code, id);
            for a in run(&now, &step)? {
                if a.touched {
                    return out();
                }
                next.push((a, self.moved(control, action.to)));
            }
        }
        if next.is_empty() {
            return out();
        }
        next.into_iter().try_for_each(|(a, control)| self.settled(a, control, depth + 1))
    }
    /// From idle: every operation with every argument.
    fn invocations(&self, at: &Fragment<'_>) -> Result<(), String> {
        let Some((_, object)) = self.object() else { return Ok(()) };
        for (i, op) in object.ops.iter().enumerate() {
            let mut starts = vec![at.clone()];
            for v in op.params.iter().chain(&op.results).chain(&op.locals) {
                let param = op.params.contains(v);
                let named = op.params.iter().find(|p| self.integer(**p)) == Some(v);
                let options: Vec<V> = match self.program.terms.kind(self.program.vars[*v].sort) {
                    _ if !param => vec![step::initial(self.program, *v).map_err(|h| format!("{h:?}"))?],
                    SortKind::Bool => vec![V::Bool(false), V::Bool(true)],
                    SortKind::Int if at.member.is_some() => {
                        vec![V::Key(Side::Below), V::Key(Side::Equal), V::Key(Side::Above)]
                    }
                    _ if named => vec![V::Argument(fragment::Who::Own)],
                    _ => vec![V::Any],
                };
                starts = starts
                    .into_iter()
                    .flat_map(|f| {
                        options.iter().map(move |o| {
                            let mut f = f.clone();
                            f.vars[v.0 as usize] = o.clone();
                            f
                        })
                    })
                    .collect();
            }
            let control = Control::Operation(i as u32, op.code.entry);
            for f in starts {
                let after = step::After { at: f, touched: true, visible: false, wrong: None };
                self.settled(after, control, 0)?;
            }
        }
        Ok(())
    }
    fn integer(&self, v: VarId) -> bool {
        self.program.vars[v].sort.is_integer()
    }
}

fn marks(code: &Code, action: ActionId) -> Vec<Fires> {
    code.actions[action]
        .marks
        .iter()
        .filter_map(|m| match m {
            Mark::Linearize(None) => Some(Fires::Always),
            Mark::Linearize(Some(e)) => Some(Fires::When(*e)),
            Mark::Witness(_) => None,
        })
        .collect()
}

fn marked(code: &Code) -> bool {
    code.actions.iter().any(|a| a.marks.iter().any(|m| matches!(m, Mark::Linearize(_))))
}
