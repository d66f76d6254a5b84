//! Rule "views": a set of views that holds of every thread at the start and is kept by every step holds of every thread always.
//!
//! In: a program and the certificate `Views`. Out: how much was checked, or why the certificate is rejected. The rule is the
//! invariance rule over the domain of Thread Quantification (section 3): the start satisfies "for all t some view", and for every
//! two threads in any views of the set, every step of one leaves both in views of the set. Written from the definition of when a view
//! holds, on concrete fragments, with no code of the method. See `docs/decisions/010-shape-evidence.md`.

mod cover;
mod coverage;
mod fragment;
mod index;
mod leaks;
mod spec;
mod spine;
mod spine_in_class;
mod start;
mod step;
mod takes;
mod terms;
mod vet;
mod weaken;

use crate::rules::Malformed;
use base::Budget;
use cover::{covers, of_view, patterned};
use evidence::Reason;
use evidence::views::{CellOwner, Control, Fires, OperationProgress, Taker, Val, View, Views};
use fragment::{Fragment, FragmentProgress, FragmentWorld, KeyOrder, NumberedView, V};
use logic::{ClassId, SortKind, Symbol};
use program::{ActionId, Code, Copies, LocId, Mark, ObjectId, Program, PropertyId, VarId};
use rustc_hash::FxHashMap;
use spec::{OperationCall, results_agree, witness};
use std::collections::hash_map::Entry;
use step::{FragmentStep, run_fragment_step};
use weaken::{join_views, skeleton, weaken_for_step};

/// What was checked.
#[derive(Clone, Copy, Debug, Default)]
pub struct CheckedViews {
    pub views: usize,
    pub steps: usize,
    pub pairs: usize,
}

pub use coverage::{CoverageLimits, coverage};

pub fn check_shape(
    program: &Program,
    views: &Views,
    claimed: &[PropertyId],
    budget: &Budget,
) -> Result<CheckedViews, Reason> {
    let malformed = |m: Malformed| Reason::Internal(format!("the certificate was rejected: {}", m.0));
    let views = normal_form(views);
    let rule = ViewsRule::new(program, &views, claimed).map_err(malformed)?;
    rule.check(budget)
}

/// The views with one way to write each value: a free lock is the number 0. Two views of one state then agree in what both of them say.
fn normal_form(views: &Views) -> Views {
    let one = |v: &mut Val| {
        if *v == Val::Free {
            *v = Val::Number(0);
        }
    };
    let mut out = views.clone();
    for view in &mut out.views {
        view.vars.iter_mut().for_each(|(_, v)| one(v));
        view.open.iter_mut().for_each(|(_, list)| {
            list.sort_unstable();
            list.dedup();
        });
        if let OperationProgress::Pure(results) | OperationProgress::Changed(results) = &mut view.done {
            results.iter_mut().for_each(one);
        }
        let cells = view.cells.iter_mut().chain(&mut view.groups);
        for list in cells.flat_map(|c| &mut c.fields) {
            list.iter_mut().for_each(one);
            list.sort_unstable();
            list.dedup();
        }
    }
    out
}

/// How many private steps a thread takes in a row at most.
const MAX_PRIVATE_STEPS: usize = 64;

/// Kinds as numbers: of cells and groups as all threads agree on them, of groups as the thread knows them.
struct KindNumbers {
    cells: Vec<u32>,
    groups: Vec<u32>,
    full: Vec<u32>,
}

struct ViewsRule<'p> {
    program: &'p Program,
    views: &'p Views,
    claimed: &'p [PropertyId],
    names: FxHashMap<Symbol, VarId>,
    vars: Vec<VarId>,
    index: index::ViewIndex,
    /// Views by pattern alone.
    alike: FxHashMap<Vec<u32>, Vec<usize>>,
    wild: Vec<usize>,
    patterns: Vec<Option<Vec<u32>>>,
    /// Kinds of the cells and groups of each view, as numbers.
    kinds: Vec<KindNumbers>,
    /// The kinds by number.
    table: Vec<fragment::Kind>,
    /// See `FragmentWorld::invisible`.
    invisible: Vec<VarId>,
    /// For each thread or operation: dead variables by location.
    dead: Vec<(Taker, Vec<Vec<VarId>>)>,
    /// For each operation: see `OperationCall::arguments`.
    arguments: Vec<Vec<VarId>>,
}

/// The specification runs on the arguments of the call. Where the code assigns a parameter, the argument is kept in the specification's parameter.
fn arguments(op: &program::Operation, spec: &program::SpecOp) -> Vec<VarId> {
    let assigned = |p: &VarId| op.code.actions.iter().any(|a| a.updates.iter().any(|u| u.var == *p));
    op.params.iter().zip(&spec.params).map(|(p, s)| if assigned(p) { *s } else { *p }).collect()
}

/// Fields of published cells that every view allows to be 0 if and only if it allows them to be the id of a thread other than its own. When a
/// thread puts its own id where 0 was, or 0 where its own id was, every other thread stays in the view it was in.
fn invisible(program: &Program, views: &Views) -> Vec<VarId> {
    let mut out = Vec::new();
    for (class, decl) in program.classes.iter_enumerated() {
        for (f, var) in decl.fields.iter().enumerate() {
            let mut cells = views.views.iter().flat_map(|v| v.cells.iter().chain(&v.groups));
            let closed = cells.all(|c| {
                let list = &c.fields.get(f).map_or(&[][..], |l| l);
                let plain = |v: &Val| matches!(v, Val::Any | Val::Free | Val::Me | Val::Other | Val::Number(_));
                let free = list.iter().any(|v| matches!(v, Val::Any | Val::Free | Val::Number(0)));
                let other = list.iter().any(|v| matches!(v, Val::Any | Val::Other));
                c.class != class || c.owner == CellOwner::Mine || (list.iter().all(plain) && free == other)
            });
            if closed && matches!(program.terms.kind(program.vars[*var].sort), SortKind::Map(_, e) if e.is_integer()) {
                out.push(*var);
            }
        }
    }
    out
}

impl KindNumbers {
    fn sight<'a>(&'a self, view: &'a View) -> NumberedView<'a> {
        NumberedView { view, cells: &self.cells, groups: &self.groups, full: &self.full }
    }
}

impl<'p> ViewsRule<'p> {
    fn new(program: &'p Program, views: &'p Views, claimed: &'p [PropertyId]) -> Result<Self, Malformed> {
        let names = program.vars.iter_enumerated().map(|(id, v)| (v.symbol, id)).collect();
        let vars = patterned(program);
        let mut rule = Self {
            program,
            views,
            claimed,
            names,
            vars,
            index: index::ViewIndex::default(),
            alike: FxHashMap::default(),
            wild: Vec::new(),
            patterns: Vec::new(),
            kinds: Vec::new(),
            table: Vec::new(),
            invisible: invisible(program, views),
            dead: Vec::new(),
            arguments: Vec::new(),
        };
        rule.dead = rule.dead_variables();
        if let Some(o) = views.object.and_then(|o| program.objects.get(o)) {
            rule.arguments = o.ops.iter().zip(&o.spec.ops).map(|(op, spec)| arguments(op, spec)).collect();
        }
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
    fn codes(&self) -> Vec<&'p Code> {
        match self.views.object {
            Some(o) => self.program.objects[o].ops.iter().map(|x| &x.code).collect(),
            None => self.program.threads.iter().map(|t| &t.code).collect(),
        }
    }
    /// The kinds of a view's cells and groups, by number; all of them occur in some view of the certificate.
    fn numbers(&self, v: &View) -> KindNumbers {
        let number = |kind: fragment::Kind| {
            self.table.iter().position(|k| *k == kind).expect("a view and its weaker forms have the same kinds") as u32
        };
        KindNumbers {
            cells: v.cells.iter().map(|c| number(fragment::common_kind(c))).collect(),
            groups: v.groups.iter().map(|c| number(fragment::common_kind(c))).collect(),
            full: v.groups.iter().map(|c| number(fragment::kind(c))).collect(),
        }
    }
    fn sight(&self, i: usize) -> NumberedView<'_> {
        self.kinds[i].sight(&self.views.views[i])
    }
    /// The list of the certificate, if it names one.
    fn list(&self) -> Option<spine::SpineInClass> {
        let links = |c: ClassId| FragmentWorld::new(self.program).links[c.index()];
        spine::SpineInClass::new(self.program, self.views.spine?, &self.codes(), links)
    }
    fn world(&self) -> FragmentWorld<'p> {
        let takes = !self.views.takes.is_empty();
        let leak = program::semantics::leak(self.program).filter(|l| self.claimed.contains(l));
        FragmentWorld {
            spine: self.list(),
            invisible: self.invisible.clone(),
            takes,
            leak,
            roots: self.views.roots.clone(),
            ..FragmentWorld::new(self.program)
        }
    }
    fn object(&self) -> Option<(ObjectId, &'p program::Object)> {
        self.views.object.map(|o| (o, &self.program.objects[o]))
    }
    fn state(&self) -> Option<VarId> {
        self.object().map(|(_, o)| o.spec.vars[0])
    }
    fn call(&self, control: Control) -> Option<OperationCall<'_>> {
        let (Control::Operation(op, _), Some((_, object))) = (control, self.object()) else { return None };
        let o = &object.ops[op as usize];
        Some(OperationCall {
            arguments: &self.arguments[op as usize],
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
    fn step(&self, control: Control, code: &'p Code, id: ActionId) -> FragmentStep<'_> {
        let taker = match control {
            Control::Thread(t, _) => Some(Taker::Thread(t)),
            Control::Operation(o, _) => Some(Taker::Operation(o)),
            Control::Idle => None,
        };
        let here = |t: &&evidence::views::Take| Some(t.code) == taker && t.action == id;
        FragmentStep {
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

    fn check(&self, budget: &Budget) -> Result<CheckedViews, Reason> {
        let rejected = |why: String| Reason::Internal(format!("the certificate was rejected: {why}"));
        let mut checked = CheckedViews { views: self.views.views.len(), ..CheckedViews::default() };
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
        world: &FragmentWorld<'_>,
        i: usize,
        view: &View,
        checked: &mut CheckedViews,
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
                for a in run_fragment_step(f, &step).map_err(|e| self.place(view.control, e))? {
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
        checked: &mut CheckedViews,
        budget: &Budget,
    ) -> Result<Result<(), String>, Reason> {
        let world = self.world();
        let mut known: FxHashMap<(ActionId, View), usize> = FxHashMap::default();
        let mut movers: Vec<(usize, ActionId, View)> = Vec::new();
        for (i, id) in seen {
            let control = self.views.views[*i].control;
            let Some((code, _)) = self.code(control) else { continue };
            let weak = weaken_for_step(&self.views.views[*i], &self.step(control, code, *id));
            match known.entry((*id, skeleton(&weak))) {
                Entry::Occupied(at) => join_views(&mut movers[*at.get()].2, &weak),
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
            (Control::Thread(t, _), Control::Thread(u, _)) => t == u && self.program.threads[t].copies == Copies::One,
            _ => false,
        }
    }
    /// What thread `t` sees of a visible step.
    fn seen(
        &self,
        world: &FragmentWorld<'_>,
        sc: NumberedView<'_>,
        other: usize,
        step: &FragmentStep<'_>,
    ) -> Result<(), String> {
        let t = &self.views.views[other];
        for f in Fragment::start(world, sc, Some(self.sight(other))) {
            for mut a in run_fragment_step(&f, step)? {
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
        self.covering(at, side, control).is_some()
    }
    /// A view that holds of the thread in the state.
    fn covering(&self, at: &Fragment<'_>, side: usize, control: Control) -> Option<NumberedView<'_>> {
        let mut found = self.index.candidates(at, side, control).map(|v| self.sight(v));
        found.find(|sight| covers(at, side, *sight))
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
            at.vars[v.index()] = V::Any;
        }
        for v in &self.arguments[op as usize] {
            at.vars[v.index()] = V::Any;
        }
        at.done[0] = FragmentProgress::No;
        at.witnessed[0] = 0;
        at.looked[0] = true;
    }
    /// All next steps must look at nothing shared; then they are taken at once.
    fn private(&self, at: Fragment<'_>, control: Control, depth: usize) -> Result<(), String> {
        let out = || Err("a step takes the thread itself out of the views".to_string());
        let Some((code, here)) = self.code(control) else { return out() };
        if depth == MAX_PRIVATE_STEPS {
            return out();
        }
        let mut next = Vec::new();
        // The fragment's undecided fields keep their constraints; what the last step made is no longer new.
        let mut now = at.clone();
        now.items.iter_mut().for_each(|x| x.new = false);
        for (id, action) in code.from(here) {
            let step = self.step(control, code, id);
            if step::waits_for_others(&now, &step)? {
                return out();
            }
            for a in run_fragment_step(&now, &step)? {
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
                    _ if !param => vec![terms::initial(self.program, *v).map_err(|h| format!("{h:?}"))?],
                    SortKind::Bool => vec![V::Bool(false), V::Bool(true)],
                    SortKind::Int if at.member.is_some() => {
                        vec![V::Key(KeyOrder::Below), V::Key(KeyOrder::Equal), V::Key(KeyOrder::Above)]
                    }
                    _ if named => vec![V::Argument(fragment::Who::Own)],
                    _ => vec![V::Any],
                };
                starts = starts
                    .into_iter()
                    .flat_map(|f| {
                        options.iter().map(move |o| {
                            let mut f = f.clone();
                            f.vars[v.index()] = o.clone();
                            f
                        })
                    })
                    .collect();
            }
            let control = Control::Operation(i as u32, op.code.entry);
            for mut f in starts {
                self.remember_arguments(&mut f, i);
                let after = step::After { at: f, touched: true, visible: false, wrong: None };
                self.settled(after, control, 0)?;
            }
        }
        Ok(())
    }
    /// The call begins: its arguments are what its parameters are now.
    fn remember_arguments(&self, at: &mut Fragment<'_>, op: usize) {
        let Some((_, object)) = self.object() else { return };
        for (argument, param) in self.arguments[op].iter().zip(&object.ops[op].params) {
            at.vars[argument.index()] = at.vars[param.index()].clone();
        }
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
