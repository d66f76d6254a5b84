//! Which inputs of an action may stay undecided: those that flow into one place of the store and are read nowhere.

use crate::code::Action;
use crate::model::Program;
use logic::{Node, Op, Symbol, Term};

/// For each input, whether it occurs once in all, and there only as a value that is written.
pub(crate) fn may_stay_open(program: &Program, action: &Action) -> Vec<bool> {
    let read_elsewhere: Vec<Symbol> = std::iter::once(action.guard)
        .chain(action.gates.iter().map(|g| g.formula))
        .chain(action.spawn.iter().flat_map(|s| s.args.iter().copied()))
        .flat_map(|t| program.terms.free_symbols(t))
        .collect();
    let single = |s: &Symbol| {
        let mut written = 0usize;
        for u in &action.updates {
            match writes(program, u.value, *s) {
                Some(n) => written += n,
                None => return false,
            }
        }
        !read_elsewhere.contains(s) && written <= 1
    };
    action.inputs.iter().map(single).collect()
}

/// How often the symbol is written by a value; `None` if it is read in any other way.
fn writes(program: &Program, value: Term, symbol: Symbol) -> Option<usize> {
    let t = &program.terms;
    if !t.free_symbols(value).contains(&symbol) {
        return Some(0);
    }
    let reads = |term: Term| t.free_symbols(term).contains(&symbol);
    match t.node(value) {
        Node::Sym(_) => Some(1),
        Node::App(Op::Store, args) if !reads(args[1]) => {
            Some(writes(program, args[0], symbol)? + writes(program, args[2], symbol)?)
        }
        // Only one branch is taken, but a step that writes it in both is rare: count both.
        Node::App(Op::Ite, args) if !reads(args[0]) => {
            Some(writes(program, args[1], symbol)? + writes(program, args[2], symbol)?)
        }
        _ => None,
    }
}
