//! The runs of a sequential operation, executed symbolically.
//!
//! In: an operation of an object's specification, its arguments, the store of the specification. Out: for
//! each path through its code the condition, the results and the store after. A result that is not assigned has its
//! initial value; without one the path leaves it open (`set`) and the default of its sort stands for it. Deliberately absent: loops, arbitrary choices and threads in a specification (refused).

use crate::model::{Program, VarId};
use crate::spec::SpecOp;
use logic::{Symbol, Term};

const MAX_PATHS: usize = 256;

/// One path through the operation.
pub struct OperationPath {
    pub condition: Term,
    pub results: Vec<Term>,
    /// For each result, whether the path says what it is.
    pub set: Vec<bool>,
    /// The variables of the specification after it, in the order they came in.
    pub store: Vec<(Symbol, Term)>,
}

pub fn paths(
    p: &Program,
    op: &SpecOp,
    arguments: &[Term],
    store: &[(Symbol, Term)],
) -> Result<Vec<OperationPath>, String> {
    let t = &p.terms;
    let exit = op.code.exit.ok_or("an operation of the specification never ends")?;
    let mut env = store.to_vec();
    env.extend(op.params.iter().zip(arguments).map(|(v, term)| (p.vars[*v].symbol, *term)));
    for v in op.results.iter().chain(&op.locals) {
        let term = p.vars[*v].initial.unwrap_or_else(|| t.default_of(p.vars[*v].sort));
        env.push((p.vars[*v].symbol, term));
    }
    let mut out = Vec::new();
    let known: Vec<bool> = op.results.iter().map(|r| p.vars[*r].initial.is_some()).collect();
    let mut todo = vec![(op.code.entry, vec![], env, known, 0)];
    while let Some((at, conditions, env, known, steps)) = todo.pop() {
        if out.len() + todo.len() > MAX_PATHS || steps > MAX_PATHS {
            return Err("the specification has too many paths, or a loop".into());
        }
        if at == exit {
            let read = |v: &VarId| t.substitute(p.now(*v), env.iter().copied());
            out.push(OperationPath {
                condition: t.and(&conditions),
                results: op.results.iter().map(read).collect(),
                store: env[..store.len()].to_vec(),
                set: known,
            });
            continue;
        }
        for (_, a) in op.code.from(at) {
            if !a.inputs.is_empty() || a.spawn.is_some() {
                return Err("the specification chooses values".into());
            }
            let guard = t.substitute(a.guard, env.iter().copied());
            if t.is_false(guard) {
                continue;
            }
            let mut conditions: Vec<Term> = conditions.clone();
            conditions.push(guard);
            let mut next = env.clone();
            let mut set = known.clone();
            for u in &a.updates {
                let value = t.substitute(u.value, env.iter().copied());
                let symbol = p.vars[u.var].symbol;
                set.iter_mut().zip(&op.results).filter(|(_, r)| **r == u.var).for_each(|(s, _)| *s = true);
                match next.iter_mut().find(|(s, _)| *s == symbol) {
                    Some((_, old)) => *old = value,
                    None => return Err("the specification writes a variable that is not its own".into()),
                }
            }
            todo.push((a.to, conditions, next, set, steps + 1));
        }
    }
    Ok(out)
}
