//! Which locals an instance may still read before it assigns them: what holds objects (section 9 of `docs/language.md`).
//!
//! Control alone is followed, with every test open both ways, from what is left on the stack. Names are compared, so a file must
//! declare no name twice; the generator keeps to that.

use super::world::{Dest, Instance, Task, Vars, ensures};
use frontend::lang::ast::{ActionDecl, AssignedValue, CallExpr, Condition, Expr, ExprKind, Stmt, StmtKind};
use std::collections::HashSet;

/// What is left to do, without values.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Left<'a> {
    Rest(ByAddress<'a, [Stmt]>),
    Loop(ByAddress<'a, Stmt>),
    /// A call: what it ensures is read at its end, then its places are worked out.
    Frame(ByAddress<'a, frontend::lang::ast::Proc>, Option<ByAddress<'a, [Expr]>>, Option<&'a str>),
}

/// Compared by where it stands in the tree.
#[derive(Debug)]
struct ByAddress<'a, T: ?Sized>(&'a T);

impl<T: ?Sized> Clone for ByAddress<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: ?Sized> Copy for ByAddress<'_, T> {}
impl<T: ?Sized> PartialEq for ByAddress<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}
impl<T: ?Sized> Eq for ByAddress<'_, T> {}
impl<T: ?Sized> std::hash::Hash for ByAddress<'_, T> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self.0).cast::<()>().hash(state);
    }
}

/// Whether an instance may read a local before it assigns it.
pub(crate) fn may_read<'a>(vars: &Vars<'a>, instance: &Instance<'a>, name: &str) -> bool {
    let mut first = Vec::new();
    for task in &instance.stack {
        match task {
            Task::Rest(stmts) => first.push(Left::Rest(ByAddress(*stmts))),
            Task::Loop(stmt) => first.push(Left::Loop(ByAddress(*stmt))),
            Task::Frame(f) => {
                let (places, local) = match &f.dest {
                    Dest::Nowhere => (None, None),
                    Dest::Places(p) => (Some(ByAddress(*p)), None),
                    Dest::Local(n, _) => (None, Some(*n)),
                };
                first.push(Left::Frame(ByAddress(f.proc), places, local));
            }
            Task::Scope(_) | Task::Atomic => {}
        }
    }
    // A thread's own invariant reads its parameters at every point.
    let claimed = vars.own_invariants.iter().filter(|c| c.thread == Some(instance.thread));
    if !instance.stack.is_empty() && claimed.into_iter().any(|c| mentions(c.formula, name)) {
        return true;
    }
    let mut seen: HashSet<Vec<Left<'a>>> = HashSet::new();
    let mut todo = vec![first];
    while let Some(stack) = todo.pop() {
        if !seen.insert(stack.clone()) {
            continue;
        }
        let mut below = stack;
        let Some(top) = below.pop() else { continue };
        match top {
            Left::Loop(stmt) => {
                let StmtKind::While { condition, body, .. } = &stmt.0.kind else { continue };
                if tests(condition, name) {
                    return true;
                }
                todo.push(below.clone());
                below.push(Left::Loop(stmt));
                below.push(Left::Rest(ByAddress(&body.kind)));
                todo.push(below);
            }
            Left::Frame(proc, places, local) => {
                if ensures(vars, proc.0).iter().any(|(e, _)| mentions(e, name)) {
                    return true;
                }
                let results = proc.0.results.iter().any(|r| &*r.name.kind == name);
                if results && (places.is_some() || local.is_some()) {
                    return true;
                }
                if places.is_some_and(|p| p.0.iter().any(|e| !is_name(e, name) && mentions(e, name))) {
                    return true;
                }
                let set = local == Some(name) || places.is_some_and(|p| p.0.iter().any(|e| is_name(e, name)));
                if !set {
                    todo.push(below);
                }
            }
            Left::Rest(stmts) => {
                let Some((stmt, rest)) = stmts.0.split_first() else {
                    todo.push(below);
                    continue;
                };
                let after = |below: &Vec<Left<'a>>| {
                    let mut next = below.clone();
                    next.push(Left::Rest(ByAddress(rest)));
                    next
                };
                match use_of(stmt, name) {
                    Use::Reads => return true,
                    Use::Sets => continue,
                    Use::Neither => {}
                }
                match &stmt.kind {
                    StmtKind::Block(b) | StmtKind::Atomic(b) => {
                        let mut next = after(&below);
                        next.push(Left::Rest(ByAddress(&b.kind)));
                        todo.push(next);
                    }
                    StmtKind::While { .. } => {
                        let mut next = after(&below);
                        next.push(Left::Loop(ByAddress(stmt)));
                        todo.push(next);
                    }
                    StmtKind::If { arms, otherwise } => {
                        for body in arms.iter().map(|a| &a.body).chain(otherwise) {
                            let mut next = after(&below);
                            next.push(Left::Rest(ByAddress(&body.kind)));
                            todo.push(next);
                        }
                        if otherwise.is_none() {
                            todo.push(after(&below));
                        }
                    }
                    StmtKind::Choose(branches) => {
                        for body in branches {
                            let mut next = after(&below);
                            next.push(Left::Rest(ByAddress(&body.kind)));
                            todo.push(next);
                        }
                    }
                    StmtKind::Break | StmtKind::Continue => {
                        while below.last().is_some_and(|l| !matches!(l, Left::Loop(_))) {
                            below.pop();
                        }
                        if matches!(stmt.kind, StmtKind::Break) {
                            below.pop();
                        }
                        todo.push(below);
                    }
                    StmtKind::Return(values) => {
                        while below.last().is_some_and(|l| !matches!(l, Left::Frame(..))) {
                            below.pop();
                        }
                        // The results are set here.
                        let result = below.last().is_some_and(|l| match l {
                            Left::Frame(p, ..) => p.0.results.iter().any(|r| &*r.name.kind == name),
                            _ => false,
                        });
                        if values.is_empty() || !result {
                            todo.push(below);
                        }
                    }
                    _ => match called(stmt) {
                        Some((call, places, local)) if !is_builtin(call) => {
                            let object = call.object.as_ref().map(|o| &*o.kind);
                            let found = match object {
                                Some(_) => vars.procs.get(&(object, &*call.name.kind)).copied(),
                                None => vars.procs.iter().find(|(c, _)| c.1 == &*call.name.kind).map(|(_, p)| *p),
                            };
                            let mut next = after(&below);
                            let Some(proc) = found else {
                                todo.push(next);
                                continue;
                            };
                            // Its parameters are set by the call.
                            if proc.params.iter().any(|p| &*p.name.kind == name) {
                                continue;
                            }
                            next.push(Left::Frame(ByAddress(proc), places.map(ByAddress), local));
                            next.push(Left::Rest(ByAddress(&proc.body.kind)));
                            todo.push(next);
                        }
                        _ => todo.push(after(&below)),
                    },
                }
            }
        }
    }
    false
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Reads,
    Sets,
    Neither,
}

/// The procedure call of a statement and where its results go.
#[allow(clippy::type_complexity)]
fn called(stmt: &Stmt) -> Option<(&CallExpr, Option<&[Expr]>, Option<&str>)> {
    match &stmt.kind {
        StmtKind::Call(call) => Some((call, None, None)),
        StmtKind::Assign { targets, value: AssignedValue::Exprs(exprs) } => match &exprs[..] {
            [Expr { kind: ExprKind::Call(call), .. }] => Some((call, Some(targets), None)),
            _ => None,
        },
        StmtKind::Local { name, value: Some(AssignedValue::Exprs(exprs)), .. } => match &exprs[..] {
            [Expr { kind: ExprKind::Call(call), .. }] => Some((call, None, Some(&name.kind))),
            _ => None,
        },
        _ => None,
    }
}

fn is_builtin(call: &CallExpr) -> bool {
    call.object.is_none() && matches!(&*call.name.kind, "len" | "join")
}

/// What a statement itself does with a local, before the statements inside it.
fn use_of(stmt: &Stmt, name: &str) -> Use {
    let any = |exprs: &[Expr]| exprs.iter().any(|e| mentions(e, name));
    let sets = |read: bool, set: bool| match (read, set) {
        (true, _) => Use::Reads,
        (false, true) => Use::Sets,
        (false, false) => Use::Neither,
    };
    // The places of a call are worked out when it is over.
    if let Some((call, _, _)) = called(stmt)
        && !is_builtin(call)
    {
        return sets(any(&call.args), false);
    }
    match &stmt.kind {
        StmtKind::Local { name: n, value, .. } => {
            sets(value.as_ref().is_some_and(|v| reads(v, name)), &*n.kind == name)
        }
        StmtKind::Assign { targets, value } => {
            let read = reads(value, name) || targets.iter().any(|t| !is_name(t, name) && mentions(t, name));
            sets(read, targets.iter().any(|t| is_name(t, name)))
        }
        StmtKind::Havoc(places) => {
            sets(places.iter().any(|t| !is_name(t, name) && mentions(t, name)), places.iter().any(|t| is_name(t, name)))
        }
        StmtKind::Assume(e)
        | StmtKind::Assert(e)
        | StmtKind::Acquire(e)
        | StmtKind::Release(e)
        | StmtKind::Free(e)
        | StmtKind::Join(e) => sets(mentions(e, name), false),
        StmtKind::Step(ActionDecl { frame, formula, asserting, .. }) => {
            let read = any(frame) || mentions(formula, name) || asserting.as_ref().is_some_and(|e| mentions(e, name));
            sets(read, false)
        }
        StmtKind::If { arms, .. } => sets(arms.iter().any(|a| tests(&a.condition, name)), false),
        StmtKind::Spawn(call) | StmtKind::Call(call) => sets(any(&call.args), false),
        StmtKind::Return(values) => sets(any(values), false),
        _ => Use::Neither,
    }
}

fn reads(value: &AssignedValue, name: &str) -> bool {
    match value {
        AssignedValue::Exprs(exprs) => exprs.iter().any(|e| mentions(e, name)),
        AssignedValue::New(_) => false,
        AssignedValue::Cas(cas) => [&cas.place, &cas.old, &cas.new].into_iter().any(|e| mentions(e, name)),
        AssignedValue::Spawn(call) => call.args.iter().any(|e| mentions(e, name)),
    }
}

fn tests(condition: &Condition, name: &str) -> bool {
    matches!(condition, Condition::Expr(e) if mentions(e, name))
}

fn is_name(e: &Expr, name: &str) -> bool {
    matches!(&e.kind, ExprKind::Name(n, _) if &**n == name)
}

fn mentions(e: &Expr, name: &str) -> bool {
    let any = |exprs: &[Expr]| exprs.iter().any(|e| mentions(e, name));
    match &e.kind {
        ExprKind::Name(n, _) => &**n == name,
        ExprKind::Unary(_, x) | ExprKind::Convert(_, x) | ExprKind::Quantified(_, _, x) | ExprKind::Field(x, ..) => {
            mentions(x, name)
        }
        ExprKind::Binary(_, a, b) | ExprKind::Index(a, b) => mentions(a, name) || mentions(b, name),
        ExprKind::And(parts) | ExprKind::Or(parts) | ExprKind::Set(parts) | ExprKind::Seq(parts) => any(parts),
        ExprKind::If(parts) | ExprKind::Update(parts) => any(&parts[..]),
        ExprKind::Slice(q, from, to) => {
            mentions(q, name) || [from, to].into_iter().flatten().any(|e| mentions(e, name))
        }
        ExprKind::Call(call) => any(&call.args),
        _ => false,
    }
}
