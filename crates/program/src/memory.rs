//! Memory that a program manages by hand.
//!
//! In: a program or some of its code. Out: the classes whose objects are freed there, and whether objects stay inside the code
//! that callers call. Where nothing is freed, memory is somebody else's affair: objects that nothing leads to are collected.

use crate::code::Code;
use crate::model::Program;
use logic::{ClassId, Op, SortKind, Term};

/// The classes of which the code frees objects.
pub fn freed<'a>(program: &Program, codes: impl IntoIterator<Item = &'a Code>) -> Vec<ClassId> {
    let updates: Vec<_> = codes.into_iter().flat_map(|c| c.actions.iter().flat_map(|a| &a.updates)).collect();
    let removes = |live| updates.iter().any(|u| u.var == live && makes_smaller(program, u.value));
    program.classes.iter_enumerated().filter(|(_, c)| removes(c.live)).map(|(id, _)| id).collect()
}

/// Whether some code of the program frees objects.
pub fn by_hand(program: &Program) -> bool {
    let threads = program.threads.iter().map(|t| &t.code);
    let operations = program.objects.iter().flat_map(|o| o.ops.iter().map(|op| &op.code));
    let codes = threads.chain(program.procedures.iter().map(|q| &q.code)).chain(operations);
    !freed(program, codes).is_empty()
}

/// Whether a set of live objects is made smaller.
fn makes_smaller(program: &Program, set: Term) -> bool {
    match program.terms.app(set) {
        Some((Op::Minus, _)) => true,
        Some((_, args)) => args.iter().any(|a| makes_smaller(program, *a)),
        None => false,
    }
}

/// Whether a sort has references in it.
pub fn holds_references(program: &Program, sort: logic::Sort) -> bool {
    match program.terms.kind(sort) {
        SortKind::Ref(_) => true,
        SortKind::Map(k, v) => holds_references(program, k) || holds_references(program, v),
        SortKind::Set(e) | SortKind::Seq(e) => holds_references(program, e),
        _ => false,
    }
}
