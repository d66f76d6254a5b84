//! Rule `views`: views written by hand of programs small enough for it, and for each premise and side condition a set that lacks it.
//!
//! Views of objects with lists, of cells that are taken, and of values by name are in `methods/shape/tests`, with what the method finds.

use crate::case::Case;
use evidence::Proof;
use evidence::views::{
    CellOwner, Control, Fires, OperationProgress, SpecPoint, Spine, SpineOrder, Status, Take, Taker, Val, View,
    ViewCell, Views,
};
use logic::ClassId;
use program::{ActionId, LocId, ObjectId, ThreadId, VarId};

/// Any number of threads raise a flag that nobody lowers.
pub(crate) const RAISED: &str = "var up: bool = false;\nthread T[*] { up := true; assert up; }\n";

fn var(case: &Case, name: &str) -> VarId {
    case.program.vars.iter_enumerated().find(|(_, v)| v.name == name).expect("there is such a variable").0
}

fn view(control: Control, vars: &[(VarId, Val)]) -> View {
    let mut vars = vars.to_vec();
    vars.sort_by_key(|(v, _)| *v);
    View {
        control,
        vars,
        open: Vec::new(),
        ends: None,
        member: None,
        crossing: None,
        done: OperationProgress::No,
        witnessed: 0,
        cells: Vec::new(),
        groups: Vec::new(),
    }
}

fn views(views: Vec<View>) -> Views {
    Views { object: None, points: Vec::new(), spine: None, takes: Vec::new(), roots: Vec::new(), views }
}

/// Before its step a thread may see the flag down or up, afterwards up.
pub(crate) fn raised(case: &Case) -> Views {
    let (thread, up) = (case.thread("T"), var(case, "up"));
    let mut out = Vec::new();
    for (k, at) in case.path(thread).into_iter().enumerate() {
        for value in [false, true].into_iter().filter(|v| *v || k == 0) {
            out.push(view(Control::Thread(thread, at), &[(up, Val::Bool(value))]));
        }
    }
    views(out)
}

#[test]
fn check_views_with_all_premises_are_accepted() {
    let case = Case::new(RAISED);
    case.accepted(Proof::Views(raised(&case)), "assert:2");
    // A view that says less of the same place covers the others.
    let mut weaker = raised(&case);
    weaker.views[0].vars.clear();
    case.accepted(Proof::Views(weaker), "assert:2");
}

#[test]
fn check_views_that_lack_a_premise_are_rejected() {
    let case = Case::new(RAISED);
    let rejected = |because: &str, change: &dyn Fn(&mut Views)| {
        let mut changed = raised(&case);
        change(&mut changed);
        case.rejected(Proof::Views(changed), "assert:2", because);
    };
    let up = var(&case, "up");
    // VW1: the start; VW2: a step of the thread itself; VW3: a step of another thread, which raises the flag before this one.
    rejected("", &|v| {
        v.views.remove(0);
    });
    rejected("", &|v| v.views.clear());
    rejected("", &|v| {
        v.views.remove(2);
    });
    rejected("", &|v| {
        v.views.remove(3);
    });
    rejected("", &|v| {
        v.views.remove(1);
    });
    // A gate that may fail.
    rejected("", &|v| v.views[2].vars.clear());
    rejected("", &|v| v.views[2].vars[0] = (up, Val::Bool(false)));
    // A thread that comes once meets no other: the view of a flag that is up already is not needed then, and only then.
    let one = Case::new(&RAISED.replace("T[*]", "T"));
    let mut alone = raised(&one);
    alone.views.remove(1);
    one.accepted(Proof::Views(alone.clone()), "assert:2");
    let two = Case::new(&RAISED.replace("T[*]", "T[2]"));
    assert!(two.checked(Proof::Views(alone), "assert:2").is_err(), "another thread raises the flag first");
    // Somebody lowers it.
    let lowered = Case::new(&format!("{RAISED}thread L {{ up := false; }}\n"));
    let mut with_other = raised(&lowered);
    let other = lowered.thread("L");
    with_other.views.extend(lowered.path(other).into_iter().map(|at| view(Control::Thread(other, at), &[])));
    assert!(lowered.checked(Proof::Views(with_other.clone()), "assert:2").is_err(), "the flag may be down again");
    let kept = Case::new(&format!("{RAISED}thread L {{ up := true; }}\n"));
    kept.accepted(Proof::Views(with_other), "assert:2");
}

#[test]
fn check_views_that_do_not_fit_the_program_are_rejected() {
    let case = Case::new(RAISED);
    let rejected = |because: &str, change: &dyn Fn(&mut Views)| {
        let mut changed = raised(&case);
        change(&mut changed);
        case.rejected(Proof::Views(changed), "assert:2", because);
    };
    let up = var(&case, "up");
    rejected("a place that does not exist", &|v| v.views[0].control = Control::Thread(ThreadId(9), LocId(0)));
    rejected("a place that does not exist", &|v| v.views[0].control = Control::Thread(ThreadId(0), LocId(99)));
    rejected("a place that does not exist", &|v| v.views[0].control = Control::Idle);
    rejected("a variable that is not there", &|v| v.views[0].vars.push((up, Val::Any)));
    rejected("a variable that is not there", &|v| v.views[0].vars[0].0 = VarId(99));
    rejected("not of its type", &|v| v.views[0].vars[0].1 = Val::Null);
    rejected("not of its type", &|v| v.views[0].vars[0].1 = Val::Itself);
    rejected("does not fit the specification", &|v| v.views[0].ends = Some((Val::Null, Val::Null)));
    rejected("does not fit the specification", &|v| v.views[0].member = Some(true));
    rejected("results where no operation runs", &|v| v.views[0].done = OperationProgress::Pure(Vec::new()));
    rejected("there is no such object", &|v| v.object = Some(ObjectId(0)));
    let point = SpecPoint { operation: 0, action: ActionId(0), when: Fires::Always };
    rejected("an operation that does not exist", &|v| v.points.push(point.clone()));
    rejected("a step or of a variable that does not exist", &|v| {
        v.takes.push(Take { code: Taker::Thread(ThreadId(0)), action: ActionId(0), var: up });
    });
    rejected("code that is not run", &|v| {
        v.takes.push(Take { code: Taker::Operation(0), action: ActionId(0), var: up });
    });
    rejected("cells are taken out of a list", &|v| {
        v.takes.push(Take { code: Taker::Thread(ThreadId(0)), action: ActionId(0), var: up });
        v.spine = Some(Spine { root: up, key: up, order: SpineOrder::Sorted });
    });
    // Properties of which the rule says nothing.
    let more = Case::new(&format!("{RAISED}invariant up || !up;\n"));
    more.rejected(Proof::Views(raised(&more)), "invariant:3", "says nothing");
    let block = Case::new(&RAISED.replace("up := true;", "atomic { while !up { up := true; } }"));
    block.rejected(Proof::Views(raised(&block)), "assert:2", "atomic block with a loop");
}

/// Every thread makes an object and publishes it.
const PUBLISHED: &str = "class Node { ok: bool; }\nvar g: Node = null;\n\
    thread T[*] { var x: Node; x := new Node; x.ok := true; g := x; x := null; }\n\
    thread R[*] { var y: Node; y := g; assume y != null; assert y.ok; }\n";

fn node(owner: CellOwner, ok: bool) -> ViewCell {
    ViewCell {
        class: ClassId(0),
        status: Status::Never,
        owner,
        fields: vec![vec![Val::Bool(ok)]],
        successor: Vec::new(),
        single_predecessor: false,
        unshared: false,
    }
}

/// What is published is marked; beside it there may be other published objects, which are marked too.
fn published(case: &Case) -> Views {
    let (g, x, y) = (var(case, "g"), var(case, "x"), var(case, "y"));
    let (t, r) = (case.thread("T"), case.thread("R"));
    let (public, own) = (node(CellOwner::Published, true), |ok| node(CellOwner::Mine, ok));
    // With `g` null, and with `g` some published cell; the thread's own variable as it is at the place.
    let both = |control: Control, var: Option<(VarId, Val)>, cells: &[ViewCell]| {
        let here = |shared: Val, cells: Vec<ViewCell>| {
            let mut out = view(control, &[]);
            out.vars = std::iter::once((g, shared)).chain(var).collect();
            out.vars.sort_by_key(|(v, _)| *v);
            out.cells = cells;
            out.groups = vec![public.clone()];
            out
        };
        let null = here(Val::Null, cells.to_vec());
        let more = [cells, std::slice::from_ref(&public)].concat();
        let some = here(Val::Cell(cells.len() as u16), more);
        vec![null, some]
    };
    let mut out = Vec::new();
    for (k, at) in case.path(t).into_iter().enumerate() {
        let control = Control::Thread(t, at);
        out.extend(match k {
            0 => both(control, Some((x, Val::Any)), &[]),
            1 | 2 => both(control, Some((x, Val::Cell(0))), &[own(k == 2)]),
            _ => both(control, None, &[]),
        });
    }
    for (k, at) in case.path(r).into_iter().enumerate() {
        let control = Control::Thread(r, at);
        if k == 0 {
            out.extend(both(control, None, &[]));
        } else {
            out.extend(both(control, Some((y, Val::Null)), &[]));
            let same = both(control, Some((y, Val::Cell(0))), std::slice::from_ref(&public));
            out.extend(same);
            let mut one = both(control, Some((y, Val::Cell(0))), &[]).remove(1);
            one.vars.iter_mut().for_each(|(_, val)| *val = Val::Cell(0));
            out.push(one);
        }
    }
    views(out)
}

#[test]
fn check_views_of_published_objects_are_accepted_and_stronger_or_malformed_ones_are_not() {
    let case = Case::new(PUBLISHED);
    let good = published(&case);
    case.accepted(Proof::Views(good.clone()), "assert:4");
    let rejected = |because: &str, change: &dyn Fn(&mut Views)| {
        let mut changed = good.clone();
        change(&mut changed);
        case.rejected(Proof::Views(changed), "assert:4", because);
    };
    // What is said of all published objects, of one, and of those beside it.
    rejected("", &|v| v.views.iter_mut().for_each(|w| w.groups.clear()));
    rejected("", &|v| v.views.retain(|w| w.cells.is_empty()));
    rejected("", &|v| {
        v.views.iter_mut().flat_map(|w| &mut w.cells).for_each(|c| c.owner = CellOwner::Published);
    });
    rejected("", &|v| {
        let all = v.views.iter_mut().flat_map(|w| w.cells.iter_mut().chain(&mut w.groups));
        all.for_each(|c| c.fields[0] = vec![Val::Bool(false)]);
    });
    rejected("a class that does not exist", &|v| v.views[0].groups[0].class = ClassId(9));
    rejected("fields that its class does not have", &|v| v.views[0].groups[0].fields.clear());
    rejected("a group of owned cells", &|v| v.views[0].groups[0].owner = CellOwner::Mine);
    rejected("a place that there is not", &|v| v.views[0].groups[0].status = Status::Before);
    rejected("a cell of no kind", &|v| v.views[0].groups[0].fields[0].push(Val::Bool(false)));
    rejected("two groups of one kind", &|v| {
        let again = v.views[0].groups[0].clone();
        v.views[0].groups.push(again);
    });
    rejected("a successor that is no cell", &|v| v.views[0].groups[0].successor = vec![Val::Cell(9)]);
    rejected("with no use for it", &|v| v.views[0].groups[0].unshared = true);
    rejected("not of its type", &|v| v.views[1].vars[0].1 = Val::Cell(9));
    // The object is published before it is marked.
    let early = Case::new(&PUBLISHED.replace("x.ok := true; g := x;", "g := x; x.ok := true;"));
    assert!(early.checked(Proof::Views(published(&early)), "assert:4").is_err(), "a reader may come first");
}

/// Its specification runs with the read; the flag is what the sequence would be empty by.
const ASKED: &str = "object Box {\n  spec {\n    var s: seq<int> := [];\n    empty() returns (e: bool) { e := s == []; }\n  }\n  \
    var n: int = 0;\n  op empty() returns (e: bool) { e := n == 0; return; }\n}\n";

#[test]
fn check_an_object_is_linearizable_only_with_the_results_of_its_specification() {
    let asked = |text: &str, n: Val, changed: &dyn Fn(&mut Views)| {
        let case = Case::new(text);
        let n_of = var(&case, "n");
        let entry = case.program.objects[ObjectId(0)].ops[0].code.entry;
        let here = |control: Control| View { ends: Some((Val::Null, Val::Null)), ..view(control, &[(n_of, n)]) };
        // Its one step runs the specification, and ends the call.
        let point = SpecPoint { operation: 0, action: ActionId(0), when: Fires::Always };
        let all = views(vec![here(Control::Idle), here(Control::Operation(0, entry))]);
        let mut proof = Views { object: Some(ObjectId(0)), points: vec![point], ..all };
        changed(&mut proof);
        case.checked(Proof::Views(proof), "linearizable:Box")
    };
    let good = asked(ASKED, Val::Number(0), &|_| {});
    assert!(good.is_ok(), "{good:?}");
    let rejected = |text: &str, change: &dyn Fn(&mut Views)| {
        let why = asked(text, Val::Number(0), change);
        assert!(why.is_err(), "accepted: {why:?}");
    };
    rejected(&ASKED.replace("e := n == 0;", "e := n != 0;"), &|_| {});
    rejected(&ASKED.replace("var n: int = 0", "var n: int = 1"), &|_| {});
    rejected(&ASKED.replace(":= [];", ":= [1];"), &|_| {});
    rejected(ASKED, &|v| v.object = None);
    rejected(ASKED, &|v| v.object = Some(ObjectId(1)));
    rejected(ASKED, &|v| {
        v.views.remove(0);
    });
    rejected(ASKED, &|v| {
        v.views.remove(1);
    });
    rejected(ASKED, &|v| v.views.iter_mut().for_each(|w| w.vars.clear()));
    rejected(ASKED, &|v| v.views[1].vars[0].1 = Val::Number(1));
    rejected(ASKED, &|v| v.views.iter_mut().for_each(|w| w.ends = None));
    rejected(ASKED, &|v| v.views[1].done = OperationProgress::Pure(Vec::new()));
    rejected(ASKED, &|v| v.points.push(SpecPoint { operation: 1, action: ActionId(0), when: Fires::Always }));
    rejected(ASKED, &|v| v.points.push(SpecPoint { operation: 0, action: ActionId(99), when: Fires::Always }));
}

/// Nobody ever stores an object.
pub(crate) const NULLS: &str =
    "class C { f: bool; }\nvar g: C = null;\nthread T[*] { var x: C; x := g; assert x == null; }\n";

/// What was read has one of several values: null alone.
pub(crate) fn nulls(case: &Case) -> Views {
    let (thread, g, x) = (case.thread("T"), var(case, "g"), var(case, "x"));
    let all = case.path(thread).into_iter().enumerate().map(|(k, at)| {
        let open = if k == 0 { Vec::new() } else { vec![(x, vec![Val::Null])] };
        View { open, ..view(Control::Thread(thread, at), &[(g, Val::Null)]) }
    });
    views(all.collect())
}

/// `published`, where what a reader has read is one of several values: null before it was asked, the cell that `g` refers to, any other published cell.
fn opened(case: &Case) -> Views {
    let (r, y) = (case.thread("R"), var(case, "y"));
    let mut out = published(case);
    let places = case.path(r);
    let later = |v: &View| matches!(v.control, Control::Thread(t, at) if t == r && places[1..].contains(&at));
    out.views.retain(|v| !later(v) || v.vars.iter().any(|(x, val)| *x == y && *val == Val::Null));
    for v in out.views.iter_mut().filter(|v| later(v)) {
        v.vars.retain(|(x, _)| *x != y);
        let asked = !matches!(v.control, Control::Thread(_, at) if at == places[1]);
        let cells = (0..v.cells.len()).map(|i| Val::Cell(i as u16));
        let null = (!asked).then_some(Val::Null);
        v.open = vec![(y, null.into_iter().chain(cells).chain([Val::Group(0)]).collect())];
    }
    out
}

#[test]
fn check_references_with_several_values_are_accepted_only_with_all_that_they_may_be() {
    let case = Case::new(PUBLISHED);
    let good = opened(&case);
    assert!(good.views.iter().any(|v| !v.open.is_empty()));
    case.accepted(Proof::Views(good.clone()), "assert:4");
    let nothing = Case::new(NULLS);
    nothing.accepted(Proof::Views(nulls(&nothing)), "assert:3");
    let rejected = |because: &str, change: &dyn Fn(&mut Views)| {
        let mut changed = good.clone();
        change(&mut changed);
        case.rejected(Proof::Views(changed), "assert:4", because);
    };
    let each = |v: &mut Views, change: &dyn Fn(&mut Vec<Val>)| {
        v.views.iter_mut().flat_map(|w| &mut w.open).for_each(|(_, list)| change(list));
    };
    // The thread's own step reads more than is listed: null, the object of `g`; what is in no list is nothing at all.
    rejected("", &|v| each(v, &|l| l.retain(|x| *x != Val::Null)));
    rejected("", &|v| each(v, &|l| l.retain(|x| !matches!(x, Val::Cell(_)))));
    rejected("", &|v| each(v, &Vec::clear));
    // Another thread's step: the object that was `g` is one of the others when `g` changes.
    rejected("", &|v| each(v, &|l| l.retain(|x| !matches!(x, Val::Group(_)))));
    // Listed where it must not be: an object that was not asked for is null.
    rejected("", &|v| each(v, &|l| l.push(Val::Null)));
    // What may be in a list.
    let (g, x, y) = (var(&case, "g"), var(&case, "x"), var(&case, "y"));
    rejected("not everybody's", &|v| each(v, &|l| l.push(Val::Any)));
    rejected("not everybody's", &|v| each(v, &|l| l.push(Val::Cell(9))));
    rejected("not everybody's", &|v| each(v, &|l| l.push(Val::Group(9))));
    rejected("not everybody's", &|v| each(v, &|l| l.push(Val::Itself)));
    rejected("not everybody's", &|v| {
        for w in v.views.iter_mut().filter(|w| w.cells.first().is_some_and(|c| c.owner == CellOwner::Mine)) {
            w.vars.retain(|(z, _)| *z != x);
            w.open = vec![(x, vec![Val::Cell(0)])];
        }
    });
    // Which variables may have one.
    rejected("that is not there", &|v| {
        v.views[0].open = vec![(y, vec![Val::Null])];
    });
    rejected("that is not there", &|v| {
        let w = v.views.iter_mut().find(|w| !w.open.is_empty()).unwrap();
        w.open = vec![w.open[0].clone(), w.open[0].clone()];
    });
    rejected("that is not there", &|v| {
        let w = v.views.iter_mut().find(|w| !w.open.is_empty()).unwrap();
        w.vars.push((y, Val::Any));
    });
    rejected("no reference of the thread's own", &|v| {
        for w in &mut v.views {
            w.vars.retain(|(z, _)| *z != g);
            w.open.insert(0, (g, vec![Val::Null, Val::Group(0)]));
        }
    });
    // Where it matters who refers to what.
    rejected("who refers to what", &|v| {
        v.takes.push(Take { code: Taker::Thread(case.thread("T")), action: ActionId(0), var: x });
    });
    // The same views of a program in which the object is marked too late.
    let early = Case::new(&PUBLISHED.replace("x.ok := true; g := x;", "g := x; x.ok := true;"));
    assert!(early.checked(Proof::Views(opened(&early)), "assert:4").is_err(), "a reader may come first");
    // A reference that is assigned is decided anew, and others' steps do not change it.
    let other = Case::new(&NULLS.replace("thread T[*]", "thread S { g := new C; }\nthread T[*]"));
    let mut lies = nulls(&other);
    let s = other.thread("S");
    lies.views.extend(other.path(s).into_iter().map(|at| view(Control::Thread(s, at), &[])));
    assert!(other.checked(Proof::Views(lies), "assert:4").is_err(), "an object may be there when it is read");
}
