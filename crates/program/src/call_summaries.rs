//! The program without calls: each call is replaced by what the callee performs, or by the callee's code.
//!
//! In: a program whose procedures and threads' outlines keep calls, and the procedures that may be used by specification.
//! Out: a program with the same properties and more variables in which no code has calls. Ids of the program stay
//! valid; actions of a procedure keep their ids, those of calls follow. Whoever replaces a call by `performs` owes a proof of
//! it (Calvin-R, section 3): this module only rewrites. A parameter that the code assigns becomes a local of its own, so
//! that the parameter is the value at the call wherever the specification names it.
//! `methods/reduce` and its rule use it for all code, `methods/conform` and its rules for threads that follow a machine.

use crate::code::{ActionId, Code, Gate, LocId};
use crate::hidden::Hidden;
use crate::inline::{AtomicBlock, InlinedCode, Renaming};
use crate::model::{Program, Scope, ThreadId, VarId};
use crate::property::{PropertyId, PropertyKind};
use crate::spec::ProcId;

/// Whose code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CodeUnit {
    Thread(ThreadId),
    Procedure(ProcId),
}

/// One unit's code without calls.
#[derive(Clone, Debug)]
pub struct SummarizedUnit {
    pub unit: CodeUnit,
    /// The steps that stand for calls by specification.
    pub of_calls: Vec<ActionId>,
    /// The procedures called by specification, each once.
    pub called: Vec<ProcId>,
    /// The locations inside such calls, each with the procedure that is under way there.
    pub inside: Vec<(LocId, ProcId)>,
    /// Parameters that the code assigns, each with the local that takes its place, and variables of which `old` is said, each
    /// with the local that remembers it; equal at the entry.
    pub copied: Vec<(VarId, VarId)>,
    /// Why the calls could not be replaced; the code is then as it was.
    pub refused: Option<String>,
}

impl SummarizedUnit {
    fn plain(unit: CodeUnit, refused: Option<String>) -> Self {
        Self { unit, of_calls: Vec::new(), called: Vec::new(), inside: Vec::new(), copied: Vec::new(), refused }
    }
}

#[derive(Clone, Debug)]
pub struct CallSummaries {
    pub program: Program,
    /// Threads first, then procedures, each in their order.
    pub units: Vec<SummarizedUnit>,
}

impl CallSummaries {
    pub fn unit(&self, unit: CodeUnit) -> Option<&SummarizedUnit> {
        self.units.iter().find(|u| u.unit == unit)
    }
    pub fn code(&self, unit: CodeUnit) -> &Code {
        match unit {
            CodeUnit::Thread(t) => &self.program.threads[t].code,
            CodeUnit::Procedure(q) => &self.program.procedures[q].code,
        }
    }
    /// Every variable that is the unit's own, parameters and results included.
    pub fn locals(&self, unit: CodeUnit) -> Vec<VarId> {
        match unit {
            CodeUnit::Thread(t) => self.program.threads[t].locals.clone(),
            CodeUnit::Procedure(q) => {
                let q = &self.program.procedures[q];
                q.params.iter().chain(&q.results).chain(&q.locals).copied().collect()
            }
        }
    }
    /// The procedure whose call by specification is under way at a location of the unit.
    pub fn under_way(&self, unit: CodeUnit, at: LocId) -> Option<ProcId> {
        self.unit(unit)?.inside.iter().find(|(l, _)| *l == at).map(|(_, q)| *q)
    }
    pub fn name(&self, unit: CodeUnit) -> String {
        match unit {
            CodeUnit::Thread(t) => format!("thread {}", self.program.threads[t].name),
            CodeUnit::Procedure(q) => self.program.procedures[q].name.clone(),
        }
    }
}

/// The program in which calls of the given procedures are replaced by what they perform, and all others are inlined.
pub fn call_summaries(program: &Program, by_performs: &[ProcId]) -> CallSummaries {
    let mut p = program.clone();
    let mut units = Vec::new();
    for (t, thread) in program.threads.iter_enumerated() {
        let code = thread.outline.as_ref().unwrap_or(&thread.code);
        let (next, unit) = rewrite(program, p, CodeUnit::Thread(t), code, by_performs);
        p = next;
        if unit.refused.is_none() {
            p.threads[t].outline = None;
        }
        units.push(unit);
    }
    for (q, procedure) in program.procedures.iter_enumerated() {
        let (next, unit) = rewrite(program, p, CodeUnit::Procedure(q), &procedure.code, by_performs);
        p = next;
        units.push(unit);
    }
    CallSummaries { program: p, units }
}

/// The procedures with a specification that threads which follow a machine call, increasing: not those that these call.
pub fn performing(program: &Program) -> Vec<ProcId> {
    let following = program.threads.iter().filter(|t| t.follows.is_some());
    let mut todo: Vec<ProcId> =
        following.flat_map(|t| &t.outline).flat_map(|c| &c.calls).map(|c| c.procedure).collect();
    let (mut seen, mut out) = (Vec::new(), Vec::new());
    while let Some(q) = todo.pop() {
        if seen.contains(&q) {
            continue;
        }
        seen.push(q);
        if program.procedures[q].usable() {
            out.push(q);
        } else {
            todo.extend(program.procedures[q].code.calls.iter().map(|c| c.procedure));
        }
    }
    out.sort_unstable();
    out
}

/// The program in which threads that follow a machine, and those whose calls could not be inlined, call by specification.
/// What was shown of the program itself is no check in it.
pub fn following(program: &Program, by_performs: &[ProcId], shown: &[PropertyId]) -> Result<Program, String> {
    // In that program a hidden variable would never change.
    if let Some(v) = Hidden::of(program).vars.first() {
        return Err(format!("`{}` is private, and threads do not see what calls do to it", program.vars[*v].name));
    }
    let mut p = program.clone();
    for (t, thread) in program.threads.iter_enumerated() {
        let Some(code) = &thread.outline else { continue };
        if thread.follows.is_none() && !unmodelled(program, &thread.code) {
            continue;
        }
        let (next, unit) = rewrite(program, p, CodeUnit::Thread(t), code, by_performs);
        if let Some(why) = unit.refused {
            return Err(why);
        }
        p = next;
        p.threads[t].outline = None;
    }
    for a in p.threads.iter_mut().flat_map(|t| t.code.actions.iter_mut()) {
        a.gates.retain(|g| !shown.contains(&g.property));
    }
    Ok(p)
}

/// The program in which each step is asked first whether it may touch what it touches. The same runs go wrong, at the same
/// step; only which check is said to fail differs.
pub fn access_first(program: &Program) -> Program {
    let mut p = program.clone();
    let access: Vec<bool> = p.properties.iter().map(|q| matches!(q.kind, PropertyKind::Access(_))).collect();
    let sort = |c: &mut Code| {
        c.actions.iter_mut().for_each(|a| a.gates.sort_by_key(|g| !access[g.property.index()]));
    };
    for t in p.threads.iter_mut() {
        sort(&mut t.code);
        t.outline.iter_mut().for_each(sort);
    }
    p.procedures.iter_mut().for_each(|q| sort(&mut q.code));
    p.objects.iter_mut().flat_map(|o| &mut o.ops).for_each(|op| sort(&mut op.code));
    p
}

/// Whether the code has a step outside the model, such as a call that could not be inlined.
pub fn unmodelled(program: &Program, code: &Code) -> bool {
    let construct = |g: &Gate| matches!(program.properties[g.property].kind, PropertyKind::Unmodelled(_));
    code.actions.iter().any(|a| a.gates.iter().any(construct))
}

/// A construct outside the model that stands only where calls were inlined (a recursive call): code with calls has none.
pub fn of_inlining(program: &Program, property: PropertyId) -> bool {
    let with_calls = program.threads.iter().map(|t| t.outline.as_ref().unwrap_or(&t.code));
    let operations = program.objects.iter().flat_map(|o| o.ops.iter().map(|op| &op.code));
    let mut codes = with_calls.chain(program.procedures.iter().map(|q| &q.code)).chain(operations);
    matches!(program.properties[property].kind, PropertyKind::Unmodelled(_))
        && !codes.any(|c| c.actions.iter().any(|a| a.gates.iter().any(|g| g.property == property)))
}

fn rewrite(
    old: &Program,
    p: Program,
    unit: CodeUnit,
    code: &Code,
    by_performs: &[ProcId],
) -> (Program, SummarizedUnit) {
    let assigned = |v: &VarId| code.actions.iter().any(|a| a.updates.iter().any(|u| u.var == *v));
    let taken = |v: &VarId| code.calls.iter().any(|c| c.results.contains(v));
    let (scope, origin, name, changed, mut stack) = match unit {
        CodeUnit::Thread(t) => (Scope::Thread(t), old.threads[t].origin, &old.threads[t].name, Vec::new(), Vec::new()),
        CodeUnit::Procedure(q) => {
            let procedure = &old.procedures[q];
            let changed: Vec<VarId> = procedure.params.iter().copied().filter(|v| assigned(v) || taken(v)).collect();
            (Scope::Procedure(q), procedure.origin, &procedure.name, changed, vec![q])
        }
    };
    let olds = match unit {
        CodeUnit::Procedure(q) => old.procedures[q].olds.clone(),
        CodeUnit::Thread(_) => Vec::new(),
    };
    if code.calls.is_empty() && changed.is_empty() {
        return (p, SummarizedUnit { copied: olds, ..SummarizedUnit::plain(unit, None) });
    }
    let before = p.clone();
    let mut g = InlinedCode {
        old,
        p,
        scope,
        code: Code::new(),
        origin,
        locals: Vec::new(),
        specified: by_performs.to_vec(),
        of_calls: Vec::new(),
        called: Vec::new(),
        inside: Vec::new(),
    };
    let mut r = Renaming::default();
    g.rename(name, [&changed, &[], &[]], &mut r);
    let copied: Vec<(VarId, VarId)> = changed.iter().map(|v| (*v, r.vars[v])).chain(olds).collect();
    match g.copy(code, &r, name, AtomicBlock::No, &mut stack) {
        Err(why) => (before, SummarizedUnit::plain(unit, Some(why))),
        Ok((entry, exit)) => {
            let InlinedCode { mut p, code, locals, of_calls, mut called, inside, .. } = g;
            called.sort_unstable();
            called.dedup();
            let code = Code { entry, exit, ..code };
            match unit {
                CodeUnit::Thread(t) => {
                    p.threads[t].code = code;
                    p.threads[t].locals.extend(locals);
                }
                CodeUnit::Procedure(q) => {
                    p.procedures[q].code = code;
                    p.procedures[q].locals.extend(locals);
                }
            }
            (p, SummarizedUnit { unit, of_calls, called, inside, copied, refused: None })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::ProcedureCall;
    use crate::model::{Copies, VarKind};
    use crate::semantics::tests::Build;
    use crate::semantics::{InstanceCounts, ReachLimits, reachable_states};
    use crate::spec::{Performs, Procedure, StorePlace, TwoStore};
    use logic::Sort;

    /// `inc(a) performs <x> x' == x + a`, and a thread that calls it twice and asserts the sum.
    fn caller() -> (Build, ThreadId) {
        let mut b = Build::new();
        let zero = b.p.terms.int(0);
        let x = b.shared("x", Sort::INT, Some(zero));
        let id = ProcId(0);
        let a = b.p.add_var("a", Sort::INT, Scope::Procedure(id), VarKind::Plain, None, b.o);
        let relation = b.p.terms.eq(b.p.next(x), b.p.terms.add(b.p.now(x), b.p.now(a)));
        let action = TwoStore { frame: vec![StorePlace { var: x, keys: vec![] }], relation };
        let property = b.property(PropertyKind::Performs(id));
        b.p.procedures.push(Procedure {
            name: "inc".into(),
            params: vec![a],
            results: vec![],
            locals: vec![],
            requires: vec![],
            ensures: vec![],
            performs: Some((Performs::Action { label: "Inc".into(), action, origin: b.o }, property)),
            olds: vec![],
            inline: false,
            code: Code::new(),
            origin: b.o,
        });
        let t = b.thread("T", Copies::One, 4);
        let sum = b.p.terms.eq(b.p.now(x), b.p.terms.int(5));
        b.gate(t, 2, 3, sum);
        let mut outline = b.p.threads[t].code.clone();
        for (k, n) in [2, 3].into_iter().enumerate() {
            outline.calls.push(ProcedureCall {
                from: LocId(k as u32),
                to: LocId(k as u32 + 1),
                procedure: id,
                args: vec![b.p.terms.int(n)],
                results: vec![],
                requires: None,
                origin: b.o,
            });
        }
        b.p.threads[t].outline = Some(outline);
        (b, t)
    }

    #[test]
    fn check_a_call_by_specification_does_what_the_callee_performs() {
        let (b, t) = caller();
        let s = call_summaries(&b.p, &[ProcId(0)]);
        assert!(s.program.threads[t].code.calls.is_empty());
        // Passing, acting and returning, twice.
        assert_eq!(s.unit(CodeUnit::Thread(t)).unwrap().of_calls.len(), 6);
        let r = reachable_states(&s.program, &InstanceCounts::of(&s.program, 0), &ReachLimits::default());
        assert!(r.complete() && r.violations.is_empty());
        let mut wrong = b.p.clone();
        let never = wrong.terms.ff();
        let gate: &mut Gate = &mut wrong.threads[t].outline.as_mut().unwrap().actions[ActionId(0)].gates[0];
        gate.formula = never;
        let s = call_summaries(&wrong, &[ProcId(0)]);
        let r = reachable_states(&s.program, &InstanceCounts::of(&s.program, 0), &ReachLimits::default());
        assert_eq!(r.violations.len(), 1);
    }

    #[test]
    fn check_an_assigned_parameter_keeps_its_first_value_beside_the_copy() {
        let (mut b, _) = caller();
        let q = ProcId(0);
        let a = b.p.procedures[q].params[0];
        let t = b.thread("body", Copies::One, 2);
        let (tt, zero) = (b.p.terms.tt(), b.p.terms.int(0));
        b.act(t, 0, 1, tt, &[(a, zero)]);
        b.p.procedures[q].code = b.p.threads[t].code.clone();
        let s = call_summaries(&b.p, &[]);
        let unit = s.unit(CodeUnit::Procedure(q)).unwrap();
        let [(from, copy)] = unit.copied[..] else { panic!("one parameter is copied") };
        assert_eq!(from, a);
        let updates = &s.code(CodeUnit::Procedure(q)).actions[ActionId(0)].updates;
        assert_eq!(updates[0].var, copy);
    }

    #[test]
    fn check_recursion_is_kept_by_specification_and_refused_otherwise() {
        let (mut b, _) = caller();
        let q = ProcId(0);
        let t = b.thread("body", Copies::One, 2);
        let mut code = b.p.threads[t].code.clone();
        let (from, to, args) = (LocId(0), LocId(1), vec![b.p.terms.int(1)]);
        code.calls.push(ProcedureCall { from, to, procedure: q, args, results: vec![], requires: None, origin: b.o });
        b.p.procedures[q].code = code;
        assert!(call_summaries(&b.p, &[q]).unit(CodeUnit::Procedure(q)).unwrap().refused.is_none());
        assert!(call_summaries(&b.p, &[]).unit(CodeUnit::Procedure(q)).unwrap().refused.is_some());
    }
}
