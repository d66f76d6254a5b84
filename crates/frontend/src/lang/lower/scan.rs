//! Questions about the tree that are answered before or beside lowering, by walking it.

use crate::lang::ast::{
    Block, ClauseKind, Condition, Expr, ExprKind, ItemKind, MemberKind, Performs, PerformsKind, Proc, Stmt, StmtKind,
    Tree, Value,
};

/// Every statement of a file, outermost first.
pub(super) fn statements<'a>(tree: &'a Tree, visit: &mut dyn FnMut(&'a Stmt)) {
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
        StmtKind::Atomic(block) | StmtKind::Block(block) | StmtKind::While { body: block, .. } => {
            in_block(block, visit)
        }
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

/// Whether the statements certainly give a variable a value before they read it.
pub(super) fn set_before_read(name: &str, stmts: &[Stmt]) -> bool {
    for stmt in stmts {
        if let StmtKind::Assign { targets, value } = &stmt.kind {
            let direct = targets.iter().any(|t| is_name(t, name));
            let reads = value_mentions(value, name) || targets.iter().any(|t| !is_name(t, name) && mentions(t, name));
            if reads {
                return false;
            }
            if direct {
                return true;
            }
            continue;
        }
        let mut simple = true;
        let mut found = false;
        in_stmt(stmt, &mut |inner| {
            found |= stmt_mentions(inner, name);
            simple &= !matches!(
                inner.kind,
                StmtKind::Break | StmtKind::Continue | StmtKind::Return(_) | StmtKind::While { .. } | StmtKind::Error
            );
        });
        if found || !simple {
            // Leaving early means that nothing behind is read; but what is read elsewhere is not looked into.
            return false;
        }
    }
    // Never mentioned in the rest of its block: never read.
    true
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

fn value_mentions(value: &Value, name: &str) -> bool {
    match value {
        Value::Exprs(exprs) => exprs.iter().any(|e| mentions(e, name)),
        Value::New(_) => false,
        Value::Cas(cas) => [&cas.place, &cas.old, &cas.new].into_iter().any(|e| mentions(e, name)),
        Value::Spawn(call) => call.args.iter().any(|e| mentions(e, name)),
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
        ExprKind::Bool(_)
        | ExprKind::Int(..)
        | ExprKind::Null
        | ExprKind::Tid
        | ExprKind::Unknown
        | ExprKind::Error => false,
    }
}

/// Whether a statement directly in the block mentions a name.
pub(super) fn always_mentioned(name: &str, block: &Block) -> bool {
    block
        .kind
        .iter()
        .any(|s| matches!(&s.kind, StmtKind::Assign { targets, .. } if targets.iter().any(|t| is_name(t, name))))
}
