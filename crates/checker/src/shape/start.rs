//! The start: every initial state satisfies a view for every thread.
//!
//! Comes in: initial values and `init` facts. Shared references without an initial value refer to objects that are there from the
//! start; the facts must say that these are the live ones. Any fact that cannot be evaluated is left out: more initial states, never fewer.

use super::fragment::{Fragment, Item, Progress, Slot, Successor, V, World};
use super::step::{initial, outcomes};
use super::terms::{Bound, Eval, Halt};
use super::{Rule, Side};
use evidence::views::{Control, Status};
use logic::{ClassId, Node, Op, Quantifier, SortKind, Term};
use program::{Program, VarId, VarKind};

pub(super) fn check(rule: &Rule<'_>) -> Result<(), String> {
    let program = rule.program;
    let mut world = World::new(program);
    let facts: Vec<Term> = program.init.iter().filter_map(|f| f.formula).flat_map(|f| program.terms.conjuncts(f)).collect();
    for f in &facts {
        world.closed.extend(closed(program, *f));
    }
    let n = program.vars.len();
    let set = rule.state().is_some_and(|s| matches!(program.terms.kind(program.vars[s].sort), SortKind::Set(_)));
    let empty = Fragment {
        world: &world,
        sides: [None, None],
        items: Vec::new(),
        vars: vec![V::Any; n],
        peer: vec![V::Any; n],
        ends: rule.state().filter(|_| !set).map(|_| (V::Null, V::Null)),
        member: set.then_some(false),
        done: [Progress::No, Progress::No],
        witnessed: [0, 0],
    };
    if let Some(s) = rule.state() {
        let start = program.vars[s].initial.and_then(|t| program.terms.app(t));
        if !matches!(start, Some((Op::EmptySeq(_) | Op::EmptySet(_), _))) {
            return Err("the specification does not start empty".into());
        }
    }
    let mut starts = vec![empty];
    for var in program.shared().collect::<Vec<_>>() {
        let v = &program.vars[var];
        if !matches!(v.kind, VarKind::Plain | VarKind::Lock) {
            continue;
        }
        let mut next = Vec::new();
        for f in starts {
            for (value, make) in options(program, &facts, &f, var)? {
                let mut f = f.clone();
                if let Some(class) = make {
                    let count = world.fields[class.0 as usize].len();
                    f.items.push(Item {
                        class,
                        owner: None,
                        status: Status::Never,
                        fields: vec![Slot::Open; count],
                        successor: Successor::AsLink,
                        image: [None, None],
                        lone: false,
                        new: false,
                    });
                }
                f.vars[var.0 as usize] = value;
                next.push(f);
            }
        }
        starts = next;
    }
    for f in starts {
        for f in satisfying(rule, f, &facts)? {
            begin(rule, f)?;
        }
    }
    Ok(())
}

type Options = Vec<(V, Option<ClassId>)>;

fn options(program: &Program, facts: &[Term], f: &Fragment<'_>, var: VarId) -> Result<Options, String> {
    let v = &program.vars[var];
    if v.initial.is_some() {
        return Ok(vec![(initial(program, var).map_err(|h| format!("{h:?}"))?, None)]);
    }
    Ok(match program.terms.kind(v.sort) {
        SortKind::Bool => vec![(V::Bool(false), None), (V::Bool(true), None)],
        SortKind::Ref(class) => {
            if !facts.iter().any(|fact| rooted(program, *fact, class)) {
                return Err(format!("{} may refer to an object that is not live", v.name));
            }
            let same = f.items.iter().enumerate().filter(|(_, x)| x.class == class);
            let mut all: Options = same.map(|(d, _)| (V::Object(d), None)).collect();
            all.push((V::Null, None));
            all.push((V::Object(f.items.len()), Some(class)));
            all
        }
        _ if v.kind == VarKind::Lock => vec![(V::Number(0), None)],
        _ => vec![(V::Any, None)],
    })
}

/// The live objects of the class are those that shared variables refer to: `live == {a, ..} - {null}`.
fn rooted(program: &Program, fact: Term, class: ClassId) -> bool {
    let t = &program.terms;
    let live = program.vars[program.classes[class].live].symbol;
    let Some((Op::Eq, sides)) = t.app(fact) else { return false };
    let set = match (t.as_symbol(sides[0]) == Some(live), t.as_symbol(sides[1]) == Some(live)) {
        (true, false) => sides[1],
        (false, true) => sides[0],
        _ => return false,
    };
    let mut named = Vec::new();
    if !elements(program, set, &mut named) {
        return false;
    }
    let shared = |v: VarId| matches!(t.kind(program.vars[v].sort), SortKind::Ref(c) if c == class);
    program.shared().filter(|v| shared(*v) && program.vars[*v].initial.is_none()).all(|v| named.contains(&program.vars[v].symbol))
        && named.iter().all(|s| program.shared().any(|v| program.vars[v].symbol == *s && shared(v)))
}

fn elements(program: &Program, set: Term, named: &mut Vec<logic::Symbol>) -> bool {
    let t = &program.terms;
    match t.app(set) {
        Some((Op::EmptySet(_), _)) => true,
        Some((Op::Insert, a)) => match t.as_symbol(a[0]) {
            Some(s) => {
                named.push(s);
                elements(program, a[1], named)
            }
            None => false,
        },
        Some((Op::Minus, a)) => {
            let null_alone = matches!(t.app(a[1]), Some((Op::Insert, b))
                if matches!(t.node(b[0]), Node::Ref(_, 0)) && matches!(t.app(b[1]), Some((Op::EmptySet(_), _))));
            null_alone && elements(program, a[0], named)
        }
        _ => false,
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
    let live = |s: Term| t.as_symbol(s).is_some_and(|s| program.classes.iter().any(|c| program.vars[c.live].symbol == s));
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
fn satisfying<'a>(rule: &Rule<'_>, f: Fragment<'a>, facts: &[Term]) -> Result<Vec<Fragment<'a>>, String> {
    let none = Bound::default();
    outcomes(f, |at, choices| {
        for fact in facts {
            let mut eval = Eval::new(at, &rule.names, &none, choices, 0, None);
            match eval.holds(*fact) {
                Ok(true) | Err(Halt::Fail(_)) => {}
                Ok(false) => return Err(Halt::Impossible),
                Err(h) => return Err(h),
            }
        }
        Ok(at.clone())
    })
}

fn begin(rule: &Rule<'_>, f: Fragment<'_>) -> Result<(), String> {
    let program = rule.program;
    if rule.views.object.is_some() {
        return if rule.covered(&f, 0, Control::Idle) {
            Ok(())
        } else {
            Err("the start is not in the views".into())
        };
    }
    for (id, thread) in program.threads.iter_enumerated() {
        let mut f = f.clone();
        for v in &thread.locals {
            f.vars[v.0 as usize] = initial(program, *v).map_err(|h| format!("{h:?}"))?;
        }
        if !rule.covered(&f, 0, Control::Thread(id, thread.code.entry)) {
            return Err("the start is not in the views".into());
        }
    }
    debug_assert!(Side::Below != Side::Above, "keys are told apart");
    Ok(())
}
