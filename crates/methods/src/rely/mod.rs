//! `rely`: assume-guarantee, each thread alone against what the others' steps can do (Calvin).
//!
//! In: a program with or without `rely`, `invariant` and loop invariants. Out: proofs by rule `assume-guarantee` for every number
//! of instances, or what stands in the way. First the written annotations are checked as they are, with guessed
//! conjuncts beside them (`candidates`, `engine`); where a written one does not hold, what holds without it; then Horn
//! clauses over what each thread reaches (`modular`). What was found is printed in the language.
//! Absent: calls by contract (calls are inlined).

mod candidates;
mod engine;
mod explain;
mod found;

use crate::method::{About, Method, Refusal, Run, Task};
use crate::modular;
use engine::{About as Goals, Engine, Place};
use evidence::{AssumeGuarantee, Assumes, Certificate, Claim, Claims, Proof, Reason, RelyGuarantee};
use explain::Told;
use logic::{Node, Quantifier, Sort, Term, Terms};
use program::passive::loop_heads;
use program::{LocId, Program, PropertyId, PropertyKind, Start, What};
use solver::Settings;
use std::sync::Arc;

pub struct Rely;

impl Method for Rely {
    fn about(&self) -> About {
        About {
            name: "rely",
            summary: "each thread alone, against what the steps of the others can do",
            paper: "Calvin",
        }
    }

    fn admits(&self, task: &Task) -> Result<(), Refusal> {
        if task.program.threads.is_empty() {
            return Err(Refusal("there is no thread".into()));
        }
        if wanted(&task.program, &task.properties).is_empty() {
            return Err(Refusal("no property of a kind that thread-modular reasoning shows".into()));
        }
        Ok(())
    }

    fn run(&self, task: &Task, run: &Run) -> Claims {
        let p = &task.program;
        let wanted = wanted(p, &task.properties);
        let terms = p.terms.clone();
        let mut claims = Claims::default();
        match calvin(p, &terms, &wanted, run, &mut claims) {
            Ok(()) => {}
            Err(reason) => {
                let stop = matches!(reason, Reason::Exhausted(_));
                for w in &wanted {
                    claims.claims.entry(*w).or_insert_with(|| Claim::Undecided(reason.clone()));
                }
                if stop {
                    return claims;
                }
            }
        }
        let left: Vec<PropertyId> =
            wanted.iter().copied().filter(|w| !matches!(claims.claims.get(w), Some(Claim::Proved(_)))).collect();
        if !left.is_empty() && modular::admits(p).is_ok() {
            clauses(p, &left, run, &mut claims);
        }
        claims
    }
}

/// The properties this method speaks of: those of thread-modular clauses, and relies that are asked for.
fn wanted(p: &Program, among: &[PropertyId]) -> Vec<PropertyId> {
    let mut out = modular::wanted(p, among);
    let inside = p.threads.iter().any(|t| t.code.locations.iter().any(|l| l.inside));
    for w in among {
        if let PropertyKind::Rely(_) = p.properties[*w].kind
            && !inside
            && !out.contains(w)
        {
            out.push(*w);
        }
    }
    out.sort_unstable();
    out
}

/// From this many actions on, code is also cut where it branches and no local matters.
const LONG: usize = 120;

/// Cuts: the loops, the start of threads that are spawned, and places that part long code.
fn cuts(p: &Program) -> Vec<Vec<LocId>> {
    p.threads
        .iter()
        .map(|t| {
            let mut cuts = loop_heads(&t.code);
            if t.start == Start::BySpawn {
                cuts.push(t.code.entry);
            }
            if t.code.actions.len() > LONG {
                let live = program::live::live(p, &t.code);
                let branches = |a: &&program::Action| matches!(a.what, What::Choose | What::Test);
                let free = |l: &LocId| live[*l].is_empty() && !t.code.locations[*l].inside;
                cuts.extend(t.code.actions.iter().filter(branches).map(|a| a.to).filter(free));
            }
            cuts.sort_unstable();
            cuts.dedup();
            cuts
        })
        .collect()
}

fn calvin(p: &Program, terms: &Terms, wanted: &[PropertyId], run: &Run, claims: &mut Claims) -> Result<(), Reason> {
    let cuts = cuts(p);
    run.progress("rely: what is written");
    let mut list = candidates::written(p, terms, &cuts);
    list.held(&cuts);
    let attempt = Attempt { p, terms, wanted, cuts: &cuts, run };
    if attempt.go(list.list(), claims)? {
        return Ok(());
    }
    claims.claims.clear();
    claims.notes.clear();
    let mut list = candidates::written(p, terms, &cuts);
    list.guess(&cuts);
    attempt.go(list.list(), claims)?;
    Ok(())
}

/// One round: with what is written, or with guesses beside it.
struct Attempt<'a> {
    p: &'a Program,
    terms: &'a Terms,
    wanted: &'a [PropertyId],
    cuts: &'a [Vec<LocId>],
    run: &'a Run,
}

impl Attempt<'_> {
    /// Whether everything was proved.
    fn go(&self, list: Vec<engine::Candidate>, claims: &mut Claims) -> Result<bool, Reason> {
        let Attempt { p, terms, wanted, cuts, run } = *self;
        let settings = Settings { seed: run.seed as u32, limit: 3_000_000, ..Settings::default() };
        let other = terms.symbol("other", Sort::INT);
        let question = engine::Question { cuts, wanted, other };
        let mut engine = Engine::new(p, terms, list, question, settings, &run.budget)?;
        run.progress(format!("rely: {} candidates, {} regions", engine.candidates.len(), engine.zones.len()));
        // First as it is written: what is written is assumed while the rest is judged, so one cause gives one error.
        engine.eliminate(&|c| c.written.is_some())?;
        engine.give_up_open_relations()?;
        let first = engine.failures(&|g, list| judged(g, list))?;
        let mut told: Vec<Told> = Vec::new();
        for f in &first {
            let one = explain::tell(&mut engine, f);
            if !told.iter().any(|x| x.lines.first() == one.lines.first()) {
                told.push(one);
            }
        }
        let broken = |t: &Told| match t.about {
            Goals::Candidate(_) => true,
            Goals::Property(w) => matches!(p.properties[w].kind, PropertyKind::Rely(_)),
        };
        let mut failed: Vec<PropertyId> = failed(&engine, &first);
        if told.iter().any(broken) {
            // Then what holds without the annotations that do not.
            engine.eliminate_all()?;
            let second = engine.failures(&|g, _| matches!(g.about, Goals::Property(_)))?;
            failed = self::failed(&engine, &second);
            for f in &second {
                let one = explain::tell(&mut engine, f);
                if !told.iter().any(|x| x.about == one.about) {
                    told.push(one);
                }
            }
        }
        let (mut proved, mut also) = (Vec::new(), Vec::new());
        for w in wanted.iter().filter(|w| !failed.contains(w)) {
            if let PropertyKind::Invariant(formula) = p.properties[*w].kind {
                let parts: Vec<Term> = terms.conjuncts(formula).into_iter().filter(|f| !terms.is_true(*f)).collect();
                let alive = |f: &Term| {
                    engine.candidates.iter().position(|c| c.alive && c.place == Place::Invariant && c.formula == *f)
                };
                let found: Vec<usize> = parts.iter().filter_map(alive).collect();
                if found.len() < parts.len() {
                    continue;
                }
                also.extend(found);
            }
            proved.push(*w);
        }
        claims.statistics.insert("candidates".into(), engine.candidates.len() as u64);
        for w in wanted.iter().filter(|w| !proved.contains(w)) {
            claims.set(*w, Claim::Undecided(Reason::Annotation(reasons(&engine, &told, *w))));
        }
        if !proved.is_empty() {
            let needed = engine.needed(&proved, &also)?;
            claims.notes.extend(found::lines(&engine, &needed));
            let proof = Proof::AssumeGuarantee(certificate(&engine, cuts, &needed));
            let claim = Claim::Proved(Arc::new(Certificate {
                method: "rely".into(),
                terms: terms.clone(),
                properties: proved.clone(),
                proof,
            }));
            proved.iter().for_each(|w| claims.set(*w, claim.clone()));
        }
        claims.statistics.insert("questions".into(), engine.questions);
        Ok(proved.len() == wanted.len())
    }
}

/// What an error can be about: properties, and written invariants and loop invariants. A written rely is a property.
fn judged(g: &engine::Goal, list: &[engine::Candidate]) -> bool {
    match g.about {
        Goals::Property(_) => true,
        Goals::Candidate(k) => list[k].alive && list[k].written.is_some() && !matches!(list[k].place, Place::Rely(_)),
    }
}

fn failed(engine: &Engine<'_>, list: &[engine::Failure]) -> Vec<PropertyId> {
    list.iter()
        .filter_map(|f| match engine.zones[f.zone].batches[f.batch].goals[f.goal].about {
            Goals::Property(w) => Some(w),
            Goals::Candidate(k) => match engine.candidates[k].written {
                Some(engine::Written::Property(w)) => Some(w),
                _ => None,
            },
        })
        .collect()
}

/// All that was told about a property, and about loop invariants that do not hold.
fn reasons(engine: &Engine<'_>, told: &[Told], w: PropertyId) -> String {
    let mut lines = Vec::new();
    for t in told {
        let about = match t.about {
            Goals::Property(x) => x == w,
            Goals::Candidate(k) => {
                matches!(engine.candidates[k].written, Some(engine::Written::Property(x)) if x == w)
                    || matches!(engine.candidates[k].written, Some(engine::Written::Loop(_)))
            }
        };
        if about {
            lines.extend(t.lines.iter().cloned());
        }
    }
    if lines.is_empty() {
        lines.push("what is written and what was found do not suffice".into());
    }
    lines.join("\n")
}

fn certificate(engine: &Engine<'_>, cuts: &[Vec<LocId>], needed: &[usize]) -> AssumeGuarantee {
    let t = engine.terms;
    let at = |place: Place| {
        let parts: Vec<Term> = needed
            .iter()
            .filter(|k| engine.candidates[**k].place == place)
            .map(|k| engine.candidates[*k].formula)
            .collect();
        t.and(&parts)
    };
    AssumeGuarantee {
        invariant: at(Place::Invariant),
        threads: engine
            .program
            .threads
            .ids()
            .map(|id| Assumes {
                thread: id,
                rely: at(Place::Rely(id)),
                cuts: cuts[id.0 as usize].iter().map(|l| (*l, at(Place::Cut(id, *l)))).collect(),
            })
            .collect(),
    }
}

/// Instances of a universally quantified formula over integers for known ids.
pub(crate) fn instances(t: &Terms, f: Term, known: &[Term]) -> Vec<Term> {
    match t.node(f) {
        Node::Quant(Quantifier::Forall, bound, body) if bound.len() == 1 && t.symbol_sort(bound[0]) == Sort::INT => {
            known.iter().map(|k| t.substitute(body, [(bound[0], *k)])).collect()
        }
        _ => Vec::new(),
    }
}

/// Horn clauses for what is left.
fn clauses(p: &Program, left: &[PropertyId], run: &Run, claims: &mut Claims) {
    let terms = p.terms.clone();
    let left = &modular::wanted(p, left);
    let settings = Settings { seed: run.seed as u32, limit: 1_000_000_000, ..Settings::default() };
    let mut groups = vec![left.clone()];
    if left.len() > 1 {
        groups.extend(left.iter().map(|w| vec![*w]));
    }
    for group in groups {
        if group.iter().all(|w| matches!(claims.claims.get(w), Some(Claim::Proved(_)))) {
            continue;
        }
        run.progress(format!("rely: {}", p.properties[group[0]].name));
        // What is proved already must be told in time.
        let half = run.budget.time_left().map(|left| left / 2);
        let budget = half.map_or_else(|| run.budget.child(), |time| run.budget.child().with_time(time));
        let claim = match modular::solve(p, &terms, &group, settings, &budget) {
            Ok(proof) => {
                claims.notes.extend(shown(p, &terms, &proof, &group));
                Claim::Proved(Arc::new(Certificate {
                    method: "rely".into(),
                    terms: terms.clone(),
                    properties: group.clone(),
                    proof: Proof::RelyGuarantee(proof),
                }))
            }
            Err(reason) => Claim::Undecided(reason),
        };
        if matches!(claim, Claim::Proved(_)) {
            group.iter().for_each(|w| claims.set(*w, claim.clone()));
        } else if run.budget.check().is_err() {
            break;
        }
    }
}

/// The guarantees found, in the language, where they are short.
fn shown(p: &Program, terms: &logic::Terms, proof: &RelyGuarantee, group: &[PropertyId]) -> Vec<String> {
    let mut out = Vec::new();
    for a in &proof.threads {
        let text = terms.show(a.guarantee);
        if text.len() < 300 {
            out.push(format!("steps of {} (for {}): {text}", p.threads[a.thread].name, p.properties[group[0]].name));
        }
    }
    out
}
