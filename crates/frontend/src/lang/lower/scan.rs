//! Questions about the tree that are answered before or beside lowering, by walking it.
//!
//! In: a tree or a part of one. Out: statements, labels, which threads are joined, which variables are set before they
//! are read.

use crate::lang::ast::{
    AssignedValue, Block, CallExpr, ClauseKind, Condition, Expr, ExprKind, ItemKind, MemberKind, Performs,
    PerformsKind, Proc, SourceTree, Stmt, StmtKind, ThreadDecl,
};
use base::Span;

/// Every statement of a file, outermost first.
pub(super) fn statements<'a>(tree: &'a SourceTree, visit: &mut dyn FnMut(&'a Stmt)) {
    for item in &tree.items {
        match &item.kind {
            ItemKind::Thread(thread) => in_block(&thread.body, visit),
            ItemKind::Proc(proc) => in_block(&proc.body, visit),
            ItemKind::Object(object) => {
                for member in &object.members {
                    if let MemberKind::Proc(proc) = &member.kind {
                        in_block(&proc.body, visit);
                    }
                }
            }
            _ => {}
        }
    }
}

pub(super) fn in_block<'a>(block: &'a Block, visit: &mut dyn FnMut(&'a Stmt)) {
    for stmt in &block.kind {
        in_stmt(stmt, visit);
    }
}

fn in_stmt<'a>(stmt: &'a Stmt, visit: &mut dyn FnMut(&'a Stmt)) {
    visit(stmt);
    match &stmt.kind {
        StmtKind::Atomic(block)
        | StmtKind::Block(block)
        | StmtKind::Labelled(_, block)
        | StmtKind::While { body: block, .. } => in_block(block, visit),
        StmtKind::If { arms, otherwise } => {
            for arm in arms {
                in_block(&arm.body, visit);
            }
            if let Some(block) = otherwise {
                in_block(block, visit);
            }
        }
        StmtKind::Choose(branches) => branches.iter().for_each(|b| in_block(b, visit)),
        _ => {}
    }
}

/// The threads of a file in the order of their instances' ids: those that run from the start, then those that are spawned.
pub(super) fn threads(tree: &SourceTree) -> impl Iterator<Item = (&ThreadDecl, Span)> {
    let all =
        || tree.items.iter().filter_map(|i| if let ItemKind::Thread(t) = &i.kind { Some((t, i.span)) } else { None });
    all().filter(|(t, _)| t.params.is_none()).chain(all().filter(|(t, _)| t.params.is_some()))
}

/// Which threads the `join`s of a file may wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joined {
    /// There is no `join`.
    Nothing,
    /// Only threads that were spawned: every `join` names a local that holds nothing but what a `spawn` gave.
    Spawned,
    Any,
}

/// Whether a call may be `join (e);`.
pub(super) fn reads_as_join(call: &CallExpr) -> bool {
    call.object.is_none() && &*call.name.kind == "join" && call.args.len() == 1
}

/// Which threads may be joined. Names are compared, not variables, which is the safe side.
pub(super) fn joined(tree: &SourceTree) -> Joined {
    let mut names: Vec<&str> = Vec::new();
    let mut out = Joined::Nothing;
    statements(tree, &mut |stmt| {
        if let StmtKind::Join(e) = &stmt.kind {
            out = if out == Joined::Nothing { Joined::Spawned } else { out };
            match &e.kind {
                ExprKind::Name(name, _) => names.push(name),
                _ => out = Joined::Any,
            }
        }
        if matches!(&stmt.kind, StmtKind::Call(call) if reads_as_join(call)) {
            out = Joined::Any;
        }
    });
    let holds_spawned = |name: &&str| {
        let (mut declared, mut other) = (false, false);
        statements(tree, &mut |stmt| match &stmt.kind {
            StmtKind::Local { name: n, value, .. } if &*n.kind == *name => {
                declared = true;
                other |= !matches!(value, Some(AssignedValue::Spawn(_)));
            }
            StmtKind::Assign { targets, value } if targets.iter().any(|t| is_name(t, name)) => {
                other |= !matches!(value, AssignedValue::Spawn(_));
            }
            StmtKind::Assign { value: AssignedValue::Cas(cas), .. }
            | StmtKind::Local { value: Some(AssignedValue::Cas(cas)), .. } => {
                other |= is_name(&cas.place, name);
            }
            StmtKind::Havoc(places) => other |= places.iter().any(|p| is_name(p, name)),
            StmtKind::Acquire(place) | StmtKind::Release(place) => other |= is_name(place, name),
            StmtKind::Step(action) => other |= action.frame.iter().any(|p| is_name(p, name)),
            _ => {}
        });
        declared && !other
    };
    let locals_only = |name: &&str| !declared_outside_bodies(tree, name);
    if names.iter().all(|n| holds_spawned(n) && locals_only(n)) { out } else { Joined::Any }
}

/// Whether a name is that of a constant, a shared variable, a parameter or a result.
fn declared_outside_bodies(tree: &SourceTree, name: &str) -> bool {
    let signature = |proc: &Proc| proc.params.iter().chain(&proc.results).any(|p| &*p.name.kind == name);
    tree.items.iter().any(|item| match &item.kind {
        ItemKind::Const { name: n, .. } => &*n.kind == name,
        ItemKind::Enum { variants, .. } => variants.iter().any(|v| &*v.kind == name),
        ItemKind::Var(var) => &*var.name.kind == name,
        ItemKind::Thread(thread) => thread.params.iter().flatten().any(|p| &*p.name.kind == name),
        ItemKind::Proc(proc) => signature(proc),
        ItemKind::Object(object) => object.members.iter().any(|m| match &m.kind {
            MemberKind::Var(var) => &*var.name.kind == name,
            MemberKind::Proc(proc) => signature(proc),
            _ => false,
        }),
        _ => false,
    })
}

/// Labels of the actions a procedure performs.
pub(super) fn labels(proc: &Proc) -> Vec<&str> {
    fn go<'a>(performs: &'a Performs, out: &mut Vec<&'a str>) {
        match &performs.kind {
            PerformsKind::Action(action) => out.extend(action.label.as_ref().map(|l| &*l.kind)),
            PerformsKind::Then(parts) | PerformsKind::Or(parts) => parts.iter().for_each(|p| go(p, out)),
            PerformsKind::Repeat(inner) => go(inner, out),
            PerformsKind::Error => {}
        }
    }
    let mut out = Vec::new();
    for clause in &proc.clauses {
        if let ClauseKind::Performs(performs) = &clause.kind {
            go(performs, &mut out);
        }
    }
    out
}

/// What some statements do with a variable first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FirstUse {
    /// They may read it before they set it.
    Read,
    /// They set it before they read it, or leave its scope.
    Set,
    /// They may do neither.
    Open,
}

/// Whose first use is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScannedVariable {
    /// A local of a block: what leaves the block or the loop around it ends its life.
    Local,
    /// A named result: a bare `return` reads it.
    Result,
}

/// Whether a local that is declared before the statements is never read before it is set.
pub(super) fn set_before_read(name: &str, stmts: &[Stmt]) -> bool {
    first_use(name, stmts, ScannedVariable::Local) != FirstUse::Read
}

/// Whether a procedure certainly sets a result before it reads it or returns.
pub(super) fn result_set_first(name: &str, body: &Block) -> bool {
    first_use(name, &body.kind, ScannedVariable::Result) == FirstUse::Set
}

fn first_use(name: &str, stmts: &[Stmt], of: ScannedVariable) -> FirstUse {
    let uses = stmts.iter().map(|s| first_in(name, s, of));
    uses.into_iter().find(|u| *u != FirstUse::Open).unwrap_or(FirstUse::Open)
}

fn first_in(name: &str, stmt: &Stmt, of: ScannedVariable) -> FirstUse {
    // Of several ways, one that reads decides; all must set to be sure.
    let ways = |uses: &mut dyn Iterator<Item = FirstUse>| {
        let uses: Vec<FirstUse> = uses.collect();
        if uses.contains(&FirstUse::Read) {
            FirstUse::Read
        } else if uses.iter().all(|u| *u == FirstUse::Set) {
            FirstUse::Set
        } else {
            FirstUse::Open
        }
    };
    let inside = |block: &Block| first_use(name, &block.kind, of);
    if stmt_reads(stmt, name) {
        return FirstUse::Read;
    }
    match &stmt.kind {
        StmtKind::Assign { targets, .. } if targets.iter().any(|t| is_name(t, name)) => FirstUse::Set,
        StmtKind::Havoc(places) if places.iter().any(|p| is_name(p, name)) => FirstUse::Set,
        StmtKind::Atomic(block) | StmtKind::Block(block) => inside(block),
        StmtKind::If { arms, otherwise } => {
            let last = otherwise.as_ref().map_or(FirstUse::Open, inside);
            ways(&mut arms.iter().map(|a| inside(&a.body)).chain([last]))
        }
        StmtKind::Choose(branches) => ways(&mut branches.iter().map(inside)),
        // The body may be taken no time at all, or left early.
        StmtKind::While { body, .. } | StmtKind::Labelled(_, body) => {
            if inside(body) == FirstUse::Read {
                FirstUse::Read
            } else {
                FirstUse::Open
            }
        }
        StmtKind::Return(values) if of == ScannedVariable::Result && values.is_empty() => FirstUse::Read,
        StmtKind::Return(_) => FirstUse::Set,
        StmtKind::Break | StmtKind::Continue if of == ScannedVariable::Local => FirstUse::Set,
        _ => FirstUse::Open,
    }
}

/// Whether the statement itself reads a variable; setting it is no reading.
fn stmt_reads(stmt: &Stmt, name: &str) -> bool {
    match &stmt.kind {
        StmtKind::Assign { targets, value } => {
            value_mentions(value, name) || targets.iter().any(|t| !is_name(t, name) && mentions(t, name))
        }
        StmtKind::Havoc(places) => places.iter().any(|p| !is_name(p, name) && mentions(p, name)),
        _ => stmt_mentions(stmt, name),
    }
}

/// Whether every way out of a procedure gives all results a value, and the results are named nowhere else.
pub(super) fn returns_everything(proc: &Proc) -> bool {
    let ends = |block: &Block| matches!(block.kind.last().map(|s| &s.kind), Some(StmtKind::Return(v)) if !v.is_empty());
    let mut good = ends(&proc.body);
    in_block(&proc.body, &mut |stmt| match &stmt.kind {
        StmtKind::Return(values) => {
            good &= values.len() == proc.results.len();
            good &= !proc.results.iter().any(|r| values.iter().any(|v| mentions(v, &r.name.kind)));
        }
        _ => good &= !proc.results.iter().any(|r| stmt_mentions(stmt, &r.name.kind)),
    });
    good
}

fn is_name(expr: &Expr, name: &str) -> bool {
    matches!(&expr.kind, ExprKind::Name(n, _) if &**n == name)
}

fn value_mentions(value: &AssignedValue, name: &str) -> bool {
    match value {
        AssignedValue::Exprs(exprs) => exprs.iter().any(|e| mentions(e, name)),
        AssignedValue::New(_) => false,
        AssignedValue::Cas(cas) => [&cas.place, &cas.old, &cas.new].into_iter().any(|e| mentions(e, name)),
        AssignedValue::Spawn(call) => call.args.iter().any(|e| mentions(e, name)),
    }
}

/// Whether the statement itself, without the statements inside it, mentions a name.
fn stmt_mentions(stmt: &Stmt, name: &str) -> bool {
    let any = |exprs: &[Expr]| exprs.iter().any(|e| mentions(e, name));
    let condition = |c: &Condition| matches!(c, Condition::Expr(e) if mentions(e, name));
    match &stmt.kind {
        // A shadowing declaration is treated as a mention, which is the safe side.
        StmtKind::Local { name: n, value, .. } => {
            &*n.kind == name || value.as_ref().is_some_and(|v| value_mentions(v, name))
        }
        StmtKind::Assign { targets, value } => any(targets) || value_mentions(value, name),
        StmtKind::Havoc(exprs) | StmtKind::Return(exprs) => any(exprs),
        StmtKind::Assume(e)
        | StmtKind::Assert(e)
        | StmtKind::Acquire(e)
        | StmtKind::Release(e)
        | StmtKind::Free(e)
        | StmtKind::Check { condition: e, .. }
        | StmtKind::Join(e) => mentions(e, name),
        StmtKind::Step(action) => {
            any(&action.frame)
                || mentions(&action.formula, name)
                || action.asserting.as_ref().is_some_and(|e| mentions(e, name))
        }
        StmtKind::If { arms, .. } => arms.iter().any(|a| condition(&a.condition)),
        StmtKind::While { condition: c, invariants, .. } => condition(c) || any(invariants),
        StmtKind::Call(call) | StmtKind::Spawn(call) => any(&call.args),
        StmtKind::Linearize(e) => e.as_ref().is_some_and(|e| mentions(e, name)),
        _ => false,
    }
}

pub(super) fn mentions(expr: &Expr, name: &str) -> bool {
    let any = |exprs: &[Expr]| exprs.iter().any(|e| mentions(e, name));
    match &expr.kind {
        ExprKind::Name(n, _) => &**n == name,
        ExprKind::Unary(_, e) | ExprKind::Convert(_, e) | ExprKind::Quantified(_, _, e) | ExprKind::Field(e, _, _) => {
            mentions(e, name)
        }
        ExprKind::Binary(_, a, b) | ExprKind::Index(a, b) => mentions(a, name) || mentions(b, name),
        ExprKind::And(parts) | ExprKind::Or(parts) | ExprKind::Set(parts) | ExprKind::Seq(parts) => any(parts),
        ExprKind::If(parts) | ExprKind::Update(parts) => any(&parts[..]),
        ExprKind::Slice(base, from, to) => {
            mentions(base, name)
                || from.as_ref().is_some_and(|e| mentions(e, name))
                || to.as_ref().is_some_and(|e| mentions(e, name))
        }
        ExprKind::Call(call) => any(&call.args),
        ExprKind::Foreign(foreign) => foreign.operands().into_iter().any(|e| mentions(e, name)),
        ExprKind::Bool(_)
        | ExprKind::Int(..)
        | ExprKind::Null
        | ExprKind::Tid
        | ExprKind::Unknown
        | ExprKind::Error => false,
    }
}
