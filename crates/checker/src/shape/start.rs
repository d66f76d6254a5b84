//! The start: every initial state satisfies a view for every thread.
//!
//! In: initial values and `init` facts. Shared references without an initial value refer to objects that are there from the
//! start; the facts must say that these are the live ones. Any fact that cannot be evaluated is left out: more initial states, never fewer.

use super::fragment::{
    FieldCandidate, FieldSlot, Fragment, FragmentCell, FragmentProgress, FragmentWorld, Successor, V, Who,
};
use super::step::outcomes;
use super::terms::{Bound, FragmentEval, Halt, initial};
use super::{KeyOrder, ViewsRule};
use evidence::views::{Control, Status};
use logic::{ClassId, Node, Op, Quantifier, SortKind, Term};
use program::{Program, VarId, VarKind};

pub(super) fn check(rule: &ViewsRule<'_>) -> Result<(), String> {
    let world = world(rule);
    states(rule, &world)?.into_iter().try_for_each(|f| begin(rule, f))
}

fn facts(program: &Program) -> Vec<Term> {
    program.init.iter().filter_map(|f| f.formula).flat_map(|f| program.terms.conjuncts(f)).collect()
}

/// The program with what its facts say of the fields of initial objects.
pub(super) fn world<'p>(rule: &ViewsRule<'p>) -> FragmentWorld<'p> {
    let program = rule.program;
    let mut world = rule.world();
    world.closed = facts(program).into_iter().filter_map(|f| closed(program, f)).collect();
    world
}

/// All initial states, each with the fields that no fact speaks of still open.
pub(super) fn states<'w>(rule: &ViewsRule<'_>, world: &'w FragmentWorld<'w>) -> Result<Vec<Fragment<'w>>, String> {
    let program = rule.program;
    let facts = facts(program);
    let n = program.vars.len();
    let set = rule.state().is_some_and(|s| matches!(program.terms.kind(program.vars[s].sort), SortKind::Set(_)));
    let empty = Fragment {
        world,
        sides: [None, None],
        items: Vec::new(),
        vars: vec![V::Any; n],
        peer: vec![V::Any; n],
        ends: rule.state().filter(|_| !set).map(|_| (V::Null, V::Null)),
        member: set.then_some(false),
        crossing: None,
        looked: [false, false],
        done: [FragmentProgress::No, FragmentProgress::No],
        witnessed: [0, 0],
    };
    if let Some(s) = rule.state() {
        let start = program.vars[s].initial.and_then(|t| program.terms.app(t));
        if !matches!(start, Some((Op::EmptySeq(_) | Op::EmptySet(_), _))) {
            return Err("the specification does not start empty".into());
        }
    }
    let mut empty = empty;
    for class in program.classes.ids() {
        for _ in 0..objects(program, class)? {
            let count = world.fields[class.index()].len();
            empty.items.push(FragmentCell {
                class,
                owner: None,
                status: Status::Never,
                fields: vec![FieldSlot::Open; count],
                successor: Successor::AsLink,
                image: [None, None],
                single_predecessor: false,
                unshared: [true, true],
                left: [false, false],
                new: false,
                linked: None,
            });
        }
    }
    let mut starts = flagged(program, empty)?;
    for var in program.shared().collect::<Vec<_>>() {
        let v = &program.vars[var];
        if !matches!(v.kind, VarKind::Plain | VarKind::Lock) {
            continue;
        }
        let mut next = Vec::new();
        for f in starts {
            for value in options(program, &facts, &f, var)? {
                let mut f = f.clone();
                f.vars[var.index()] = value;
                next.push(f);
            }
        }
        starts = next;
    }
    let mut out = Vec::new();
    for f in starts {
        for f in satisfying(rule, f, &facts)?.into_iter().map(reachable) {
            out.extend(outcomes(&f, |at, _| {
                let mut at = at.clone();
                at.find_spine().map(|()| at)
            })?);
        }
    }
    Ok(out)
}

/// The most boolean fields of initial objects that are distinguished.
const MAX_INITIAL_FLAGS: usize = 10;

/// Booleans tell kinds of cells apart, so they are known from the start: each is tried both ways.
fn flagged<'w>(program: &Program, empty: Fragment<'w>) -> Result<Vec<Fragment<'w>>, String> {
    let mut flags = Vec::new();
    for (d, item) in empty.items.iter().enumerate() {
        for (f, var) in empty.world.fields[item.class.index()].iter().enumerate() {
            let sort = program.terms.kind(program.vars[*var].sort);
            if matches!(sort, SortKind::Map(_, entry) if program.terms.kind(entry) == SortKind::Bool) {
                flags.push((d, f));
            }
        }
    }
    if flags.len() > MAX_INITIAL_FLAGS {
        return Err("more booleans in initial objects than can be distinguished".into());
    }
    let ways = 0..1u32 << flags.len();
    Ok(ways
        .map(|way| {
            let mut f = empty.clone();
            for (i, (d, field)) in flags.iter().enumerate() {
                f.items[*d].fields[*field] = FieldSlot::Is(V::Bool(way >> i & 1 == 1));
            }
            f
        })
        .collect())
}

fn options(program: &Program, facts: &[Term], f: &Fragment<'_>, var: VarId) -> Result<Vec<V>, String> {
    let v = &program.vars[var];
    if v.initial.is_some() {
        return Ok(vec![initial(program, var).map_err(|h| format!("{h:?}"))?]);
    }
    Ok(match program.terms.kind(v.sort) {
        SortKind::Bool => vec![V::Bool(false), V::Bool(true)],
        SortKind::Ref(class) => {
            let r = program.now(var);
            let (t, live) = (&program.terms, program.now(program.classes[class].live));
            let held = t.or(&[t.eq(r, t.null(class)), t.member(r, live)]);
            if !facts.contains(&held) {
                return Err(format!("{} may refer to an object that is not live", v.name));
            }
            let same = f.items.iter().enumerate().filter(|(_, x)| x.class == class);
            same.map(|(d, _)| V::Object(d)).chain([V::Null]).collect()
        }
        _ if v.kind == VarKind::Lock => vec![V::Number(0)],
        _ => vec![V::Any],
    })
}

/// How many objects of the class are live at the start: `live` begins as a set of numbered objects.
fn objects(program: &Program, class: ClassId) -> Result<usize, String> {
    let t = &program.terms;
    let live = &program.vars[program.classes[class].live];
    let mut numbers = std::collections::BTreeSet::new();
    let mut set = live.initial;
    loop {
        match set.map(|s| t.node(s)) {
            Some(Node::App(Op::EmptySet(_), _)) => return Ok(numbers.len()),
            Some(Node::App(Op::Insert, a)) if matches!(t.node(a[0]), Node::Ref(_, n) if n > 0) => {
                if let Node::Ref(_, n) = t.node(a[0]) {
                    numbers.insert(n);
                }
                set = Some(a[1]);
            }
            _ => return Err(format!("which objects are in {} at the start is not known", live.name)),
        }
    }
}

/// `forall o :: o in live ==> o.f == null || o.f in live`: the field f.
fn closed(program: &Program, fact: Term) -> Option<VarId> {
    let t = &program.terms;
    let Node::Quant(Quantifier::Forall, bound, body) = t.node(fact) else { return None };
    let (Op::Implies, sides) = t.app(body)? else { return None };
    let (Op::Member, from) = t.app(sides[0])? else { return None };
    let (Op::Or, either) = t.app(sides[1])? else { return None };
    let (Op::Eq, null) = t.app(*either.first()?)? else { return None };
    let (Op::Member, to) = t.app(*either.get(1)?)? else { return None };
    let (Op::Select, read) = t.app(null[0])? else { return None };
    let live =
        |s: Term| t.as_symbol(s).is_some_and(|s| program.classes.iter().any(|c| program.vars[c.live].symbol == s));
    let o = t.sym(*bound.first()?);
    let fine = bound.len() == 1
        && either.len() == 2
        && from[0] == o
        && read[1] == o
        && to[0] == null[0]
        && matches!(t.node(null[1]), Node::Ref(_, 0))
        && live(from[1])
        && live(to[1]);
    let field = t.as_symbol(read[0])?;
    program.vars.iter_enumerated().find(|(_, v)| v.symbol == field && fine).map(|(id, _)| id)
}

/// The states among those described that satisfy every fact that can be evaluated.
fn satisfying<'a>(rule: &ViewsRule<'_>, f: Fragment<'a>, facts: &[Term]) -> Result<Vec<Fragment<'a>>, String> {
    let none = Bound::default();
    outcomes(&f, |at, choices| {
        let mut at = at.clone();
        facts.iter().for_each(|f| impose(rule, &mut at, *f));
        for fact in facts {
            let mut eval = FragmentEval::new(&at, &rule.names, &none, choices, 0, None);
            match eval.holds(*fact) {
                Ok(true) | Err(Halt::Fail(_)) => {}
                Ok(false) => return Err(Halt::Impossible),
                Err(h) => return Err(h),
            }
        }
        Ok(at)
    })
}

/// `r.f == n` where `r` refers to a cell of which nothing is known yet: its field is the number.
fn impose(rule: &ViewsRule<'_>, at: &mut Fragment<'_>, fact: Term) {
    let t = &rule.program.terms;
    let Some((Op::Eq, sides)) = t.app(fact) else { return };
    for (a, b) in [(sides[0], sides[1]), (sides[1], sides[0])] {
        let (Some((Op::Select, read)), Node::Num(n, _)) = (t.app(a), t.node(b)) else { continue };
        let var = |x: Term| t.as_symbol(x).and_then(|s| rule.names.get(&s)).copied();
        let (Some(field), Some(holder)) = (var(read[0]), var(read[1])) else { continue };
        let V::Object(d) = at.vars[holder.index()] else { continue };
        let Some(f) = at.world.position(at.items[d].class, field) else { continue };
        let key = at.world.spine.as_ref().is_some_and(|l| l.class == at.items[d].class && l.key == f);
        if !key && matches!(at.items[d].fields[f], FieldSlot::Open | FieldSlot::Is(V::Any)) {
            at.items[d].fields[f] = FieldSlot::Is(V::Number(n));
        }
    }
}

/// The objects that shared variables lead to; no thread ever sees the others.
fn reachable(mut f: Fragment<'_>) -> Fragment<'_> {
    let cell = |v: &V| if let V::Object(d) = v { Some(*d) } else { None };
    let mut todo: Vec<usize> = f.vars.iter().filter_map(cell).collect();
    let mut seen = vec![false; f.items.len()];
    while let Some(d) = todo.pop() {
        if std::mem::replace(&mut seen[d], true) {
            continue;
        }
        for (i, s) in f.items[d].fields.iter().enumerate() {
            match s {
                FieldSlot::Is(v) => todo.extend(cell(v)),
                FieldSlot::Open => {
                    let all = f.candidates(Some(d), [None, None], f.items[d].class, i);
                    todo.extend(all.iter().filter_map(|c| match c {
                        FieldCandidate::Value(v) => cell(v),
                        FieldCandidate::New(_) => None,
                    }));
                }
            }
        }
    }
    // A cell that is taken to be owned by a thread out of sight is described by no view.
    for (d, seen) in seen.iter().enumerate() {
        if !seen {
            f.items[d].owner = Some(Who::Third);
        }
    }
    f
}

fn begin(rule: &ViewsRule<'_>, f: Fragment<'_>) -> Result<(), String> {
    let program = rule.program;
    if rule.views.object.is_some() {
        return if rule.covered(&f, 0, Control::Idle) { Ok(()) } else { Err("the start is not in the views".into()) };
    }
    if f.world.leak.is_some() && !f.begins() {
        return Err("at the start, the roots do not lead to all that is shared".into());
    }
    for (id, thread) in program.threads.iter_enumerated() {
        let mut f = f.clone();
        for v in &thread.locals {
            f.vars[v.index()] = initial(program, *v).map_err(|h| format!("{h:?}"))?;
        }
        if !rule.covered(&f, 0, Control::Thread(id, thread.code.entry)) {
            return Err("the start is not in the views".into());
        }
    }
    debug_assert!(KeyOrder::Below != KeyOrder::Above, "keys are distinguished");
    Ok(())
}
