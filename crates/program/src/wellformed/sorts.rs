//! Sorts inside terms: the number of arguments and the sorts that each operator takes.
//!
//! `Terms` checks these only by debug assertions, and terms may come from files, so they are checked here again.

use logic::{Node, Sort, Term, Terms};
use rustc_hash::FxHashSet;

/// What is wrong with the sorts of a term and its parts. Terms in `seen` are known to be right and are added to.
pub(crate) fn sort_faults(t: &Terms, term: Term, seen: &mut FxHashSet<Term>) -> Vec<String> {
    let mut faults = Vec::new();
    let mut todo = vec![term];
    while let Some(term) = todo.pop() {
        if !seen.insert(term) {
            continue;
        }
        match t.node(term) {
            Node::App(op, args) => {
                faults.extend(t.try_mk(op, &args).err());
                todo.extend(args.iter());
            }
            Node::Quant(_, _, body) => {
                if t.sort_of(body) != Sort::BOOL {
                    faults.push("the body of a quantifier is a formula".into());
                }
                todo.push(body);
            }
            Node::Num(n, sort) => {
                let fine = sort == Sort::INT || sort.as_machine().is_some_and(|m| (m.min()..=m.max()).contains(&n));
                if !fine {
                    faults.push(format!("{n} is no value of sort {}", t.sort_name(sort)));
                }
            }
            Node::Variant(e, v) if v as usize >= t.enum_size(e) => {
                faults.push(format!("the enum {} has no variant {v}", t.enum_decl(e).name));
            }
            _ => {}
        }
    }
    faults
}
