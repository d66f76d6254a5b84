//! Rule `assume-guarantee`: Calvin's theorems 1 and 2, for any number of instances.
//!
//! In: an invariant I of the shared store; for each thread T what it assumes of the others' steps, A_T (two-store), and
//! cut locations with a formula each. Out: the obligations
//!   AG1  every initial store satisfies I;
//!   AG2  A_T is reflexive and transitive between stores that satisfy I, so that one step of it stands for any number;
//!   AG3  from each cut (and from the entry with an initial store), along every path to the next cuts with steps of A_T
//!        between the thread's own: gates of claimed properties hold, each step leaves I and is a step of A_U for every other
//!        instance of every thread U, and satisfies the claimed written relies; a cut is reached with its formula;
//!   AG4  a spawned instance begins with the formula of its entry, which is stable under A;
//!   AG5  I implies each claimed invariant.
//! Inside atomic blocks nobody else moves and I is not looked at; each step there still has to be one of A_U, so AG2 is then
//! asked for without I. A step that fails a gate ends the run, so later obligations assume all gates, claimed or not.
//! A rely that is asked for with `?` is answered by A_T itself.
//! Absent: `Performs`, `Follows`, `Linearizable`, `Deadlock`; calls by contract.

use super::{Malformed, claimable};
use crate::obligation::{self, Obligation, Vocabulary};
use evidence::{AssumeGuarantee, Assumes};
use logic::{Sort, Symbol, Term, Terms};
use program::passive::{Begin, Environment, Passive, Region, Step, Store, breaks_loops};
use program::{Copies, Program, PropertyId, PropertyKind, Scope, Start, ThreadId};
use std::collections::BTreeMap;

const RULE: &str = "assume-guarantee";

/// Regions with more claimed properties than this show them together.
const APART: usize = 6;

pub fn obligations(
    program: &Program,
    terms: &Terms,
    proof: &AssumeGuarantee,
    claimed: &[PropertyId],
) -> Result<Vec<Obligation>, Malformed> {
    let all = vet(program, terms, proof, claimed)?;
    let mut out = Vec::new();
    let init = obligation::initial_store(program, terms);
    out.push(Obligation::common(RULE, "the invariant holds initially", terms.implies(init, proof.invariant)));
    let rule = Rule {
        program,
        terms,
        invariant: proof.invariant,
        all: &all,
        claimed,
        other: terms.symbol("other_tid", Sort::INT),
    };
    for a in &all {
        rule.closed(a, &mut out);
        rule.thread(a, &mut out)?;
    }
    for p in claimed {
        if let PropertyKind::Invariant(formula) = program.properties[*p].kind {
            let what = format!("the invariant implies {}", program.properties[*p].name);
            out.push(Obligation::of(*p, RULE, what, terms.implies(proof.invariant, formula)));
        }
    }
    Ok(out)
}

struct Rule<'a> {
    program: &'a Program,
    terms: &'a Terms,
    invariant: Term,
    all: &'a [&'a Assumes],
    claimed: &'a [PropertyId],
    /// The id of another instance.
    other: Symbol,
}

impl Rule<'_> {
    /// AG2.
    fn closed(&self, a: &Assumes, out: &mut Vec<Obligation>) {
        let (p, t) = (self.program, self.terms);
        let name = &p.threads[a.thread].name;
        let positive = t.lt(t.int(0), t.sym(p.tid));
        // Others' steps inside atomic blocks are single steps of the relation, between stores of which I says nothing.
        let loose = p.threads.iter().any(|x| x.code.locations.iter().any(|l| l.inside));
        let known = |f: Term| if loose { t.tt() } else { f };
        let idle = p.shared().map(|v| (p.vars[v].primed, t.sym(p.vars[v].symbol)));
        let same = t.substitute(a.rely, idle);
        out.push(Obligation::common(
            RULE,
            format!("what {name} relies on allows a step that changes nothing"),
            t.implies(t.and(&[positive, known(self.invariant)]), same),
        ));
        let mut second = Vec::new();
        let mut whole = Vec::new();
        for v in p.shared() {
            let var = &p.vars[v];
            let last = t.sym(t.symbol(format!("{}''", var.name), var.sort));
            second.push((var.symbol, t.sym(var.primed)));
            second.push((var.primed, last));
            whole.push((var.primed, last));
        }
        let after = |f: Term, pairs: &[(Symbol, Term)]| t.substitute(f, pairs.iter().copied());
        let middle = obligation::primed_shared(p, t, self.invariant);
        let pre = [positive, known(self.invariant), known(middle), a.rely, after(a.rely, &second)];
        out.push(Obligation::common(
            RULE,
            format!("what {name} relies on allows two steps as one"),
            t.implies(t.and(&pre), after(a.rely, &whole)),
        ));
    }

    fn thread(&self, a: &Assumes, out: &mut Vec<Obligation>) -> Result<(), Malformed> {
        let (p, t) = (self.program, self.terms);
        let thread = &p.threads[a.thread];
        let cuts: Vec<program::LocId> = a.cuts.iter().map(|(l, _)| *l).collect();
        let env = Environment { rely: a.rely, invariant: self.invariant };
        let passive = Passive::new(p, t, a.thread, &thread.code, &cuts, env);
        let mut begins: Vec<Begin> = a.cuts.iter().map(|(l, f)| Begin::At(*l, *f)).collect();
        if thread.start == Start::AtOnce {
            let init = [obligation::initial_store(p, t), obligation::initial_locals(p, t, a.thread)];
            begins.push(Begin::Entry(t.and(&init)));
        } else {
            // The thread starts at any time after it was spawned.
            let entry = self.entry(a)?;
            let pre = t.and(&[
                t.lt(t.int(0), t.sym(p.tid)),
                self.invariant,
                obligation::primed_shared(p, t, self.invariant),
                entry,
                a.rely,
            ]);
            let what = format!("the start of {} is stable", thread.name);
            out.push(Obligation::common(RULE, what, t.implies(pre, obligation::primed_shared(p, t, entry))));
        }
        for begin in begins {
            let region = passive.region(begin).ok_or_else(|| Malformed("a loop has no cut".into()))?;
            self.region(a, &region, out)?;
        }
        Ok(())
    }

    fn entry(&self, a: &Assumes) -> Result<Term, Malformed> {
        let thread = &self.program.threads[a.thread];
        let found = a.cuts.iter().find(|(l, _)| *l == thread.code.entry).map(|(_, f)| *f);
        found.ok_or_else(|| Malformed(format!("thread {} is spawned: its entry has to be a cut", thread.name)))
    }

    /// AG3 and AG4 for one region.
    fn region(&self, a: &Assumes, region: &Region, out: &mut Vec<Obligation>) -> Result<(), Malformed> {
        let (p, t) = (self.program, self.terms);
        let code = &p.threads[a.thread].code;
        let tid = t.sym(p.tid);
        let other = t.sym(self.other);
        let mut facts = region.facts.clone();
        facts.extend([t.lt(t.int(0), other), t.ne(other, tid)]);
        let facts = t.and(&facts);
        let mut common = Vec::new();
        let mut own: BTreeMap<PropertyId, Vec<Term>> = BTreeMap::new();
        for step in &region.steps {
            let action = &code.actions[step.action];
            for (i, gate) in action.gates.iter().enumerate() {
                if self.claimed.contains(&gate.property) {
                    own.entry(gate.property).or_default().push(t.implies(step.before_gate[i], step.gates[i]));
                }
            }
            let writes = action.updates.iter().any(|u| p.vars[u.var].scope == Scope::Shared) || step.spawned.is_some();
            let (from, to) = (&code.locations[action.from], &code.locations[action.to]);
            if !to.inside && (writes || from.inside) {
                let after = p.shared().map(|v| (p.vars[v].symbol, step.after[&p.vars[v].symbol]));
                common.push(t.implies(step.taken, t.substitute(self.invariant, after)));
            }
            // A step that changes nothing is one of every reflexive relation.
            if writes {
                for b in self.all.iter().filter(|b| self.meet(a.thread, b.thread)) {
                    common.push(t.implies(step.taken, self.seen(b.rely, step)));
                }
            }
            for c in self.claimed {
                let PropertyKind::Rely(r) = p.properties[*c].kind else { continue };
                let rely = p.relies.get(r as usize).ok_or_else(|| Malformed("no such rely".into()))?;
                let watched = p.threads.ids().any(|x| rely.thread.is_none_or(|y| y == x) && self.meet(a.thread, x));
                if let Some(formula) = rely.formula
                    && watched
                {
                    own.entry(*c).or_default().push(t.implies(step.taken, self.seen(formula, step)));
                }
            }
            if let (Some(new), Some(spawn)) = (step.spawned, &action.spawn) {
                let target = self.all.iter().find(|b| b.thread == spawn.thread);
                let target = target.ok_or_else(|| Malformed("a thread without annotation is spawned".into()))?;
                let entry = self.entry(target)?;
                common.push(t.implies(step.taken, self.started(entry, spawn, new, step)));
            }
        }
        for end in &region.ends {
            let formula = a.cuts.iter().find(|(l, _)| *l == end.at).map(|(_, f)| *f);
            let formula = formula.ok_or_else(|| Malformed("a region ends at no cut".into()))?;
            common.push(t.implies(end.reached, t.substitute(formula, end.store.iter().map(|(s, v)| (*s, *v)))));
        }
        let words = |what: &str| format!("{}: {what}", obligation::location_words(p, code, a.thread, region.start));
        out.push(Obligation::common(
            RULE,
            words("the steps from here satisfy what the others rely on and keep the invariants"),
            t.implies(facts, t.and(&common)),
        ));
        if own.len() > APART {
            let goals: Vec<Term> = own.into_values().flatten().collect();
            let what = words("the steps from here do not go wrong");
            out.push(Obligation::common(RULE, what, t.implies(facts, t.and(&goals))));
        } else {
            for (property, goals) in own {
                let what = words(&format!("the steps from here do not violate {}", p.properties[property].name));
                out.push(Obligation::of(property, RULE, what, t.implies(facts, t.and(&goals))));
            }
        }
        Ok(())
    }

    /// A relation of another instance, for the store before and after a step.
    fn seen(&self, rely: Term, step: &Step) -> Term {
        let (p, t) = (self.program, self.terms);
        let mut pairs = vec![(p.tid, t.sym(self.other))];
        for v in p.shared() {
            let var = &p.vars[v];
            pairs.push((var.symbol, step.before[&var.symbol]));
            pairs.push((var.primed, step.after[&var.symbol]));
        }
        t.substitute(rely, pairs)
    }

    /// AG4: the annotation of the entry, for the new instance.
    fn started(&self, entry: Term, spawn: &program::Spawn, new: Symbol, step: &Step) -> Term {
        let (p, t) = (self.program, self.terms);
        let before: &Store = &step.before;
        let mut pairs = vec![(p.tid, t.sym(new))];
        pairs.extend(p.shared().map(|v| (p.vars[v].symbol, step.after[&p.vars[v].symbol])));
        let target = &p.threads[spawn.thread];
        for v in &target.locals {
            let var = &p.vars[*v];
            let value = match (target.params.iter().position(|x| x == v), var.initial) {
                (Some(i), _) => t.substitute(spawn.args[i], before.iter().map(|(s, v)| (*s, *v))),
                (None, Some(value)) => value,
                (None, None) => t.sym(t.symbol(format!("{}.new", var.name), var.sort)),
            };
            pairs.push((var.symbol, value));
        }
        t.substitute(entry, pairs)
    }

    /// Two different instances of these threads can exist.
    fn meet(&self, a: ThreadId, b: ThreadId) -> bool {
        a != b || self.program.threads[a].copies != Copies::One
    }
}

/// The certificate fits the program.
fn vet<'a>(
    program: &Program,
    terms: &Terms,
    proof: &'a AssumeGuarantee,
    claimed: &[PropertyId],
) -> Result<Vec<&'a Assumes>, Malformed> {
    let shared = Vocabulary::shared(program);
    let primed = Vocabulary::shared_primed(program);
    let see = |v: &Vocabulary, formula: Term, what: &str| match v.stranger(terms, formula) {
        None if terms.sort_of(formula) == Sort::BOOL => Ok(()),
        None => Err(Malformed(format!("{what} is not a formula"))),
        Some(s) => Err(Malformed(format!("{what} mentions `{}`, which it may not", terms.symbol_name(s)))),
    };
    see(&Vocabulary::new(program, shared.clone()), proof.invariant, "the invariant")?;
    let two = Vocabulary::new(program, shared.iter().chain(&primed).copied().chain([program.tid]));
    let mut found = Vec::new();
    for (id, thread) in program.threads.iter_enumerated() {
        let mut of = proof.threads.iter().filter(|a| a.thread == id);
        let (Some(a), None) = (of.next(), of.next()) else {
            return Err(Malformed(format!("thread {} needs exactly one annotation", thread.name)));
        };
        if !thread.code.calls.is_empty() {
            return Err(Malformed("the code of a thread has a call in it".into()));
        }
        see(&two, a.rely, "a rely")?;
        let symbols = shared.iter().copied().chain([program.tid]).chain(Vocabulary::locals(program, id));
        let vocabulary = Vocabulary::new(program, symbols);
        for (at, formula) in &a.cuts {
            see(&vocabulary, *formula, &format!("the annotation of {} at {at}", thread.name))?;
        }
        let cuts: Vec<program::LocId> = a.cuts.iter().map(|(l, _)| *l).collect();
        if !cuts.is_sorted_by(|a, b| a < b) || cuts.iter().any(|l| l.0 as usize >= thread.code.locations.len()) {
            return Err(Malformed(format!("the cuts of {} are not locations in order", thread.name)));
        }
        if !breaks_loops(&thread.code, &cuts) {
            return Err(Malformed(format!("a loop of {} has no cut", thread.name)));
        }
        found.push(a);
    }
    if found.len() != proof.threads.len() {
        return Err(Malformed("an annotation of a thread that is not there".into()));
    }
    claimable(program, claimed)?;
    Ok(found)
}
