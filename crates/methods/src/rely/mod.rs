//! `rely`: assume-guarantee, each thread alone against what the others' steps can do (Calvin).
//!
//! In: a program with or without `rely`, `invariant` and loop invariants. Out: proofs by rule `assume-guarantee` for every number
//! of instances, or what stands in the way. First the written annotations are checked as they are, with guessed
//! conjuncts beside them (`candidates`, `engine`); where a written one does not hold, what holds without it; then Horn
//! clauses over what each thread reaches (`modular`). What was found is printed in the language. Locks come first, piece by piece with
//! few premises (`clusters`, `Premises::Relevant`), so that the cost follows the size of the program; then everything at once.
//! A few runs by evaluation drop most wrong guesses before a solver is asked (`runs`).
//! Deliberately absent: calls by contract (calls are inlined).

mod candidates;
mod clusters;
mod conditions;
mod engine;
mod entries;
mod found;
mod groups;
mod runs;
mod setting;

use crate::method::{Method, MethodDescription, Refusal, Run, Task};
use crate::modular;
use engine::EliminationEngine;
use evidence::{AssumeGuarantee, Assumes, Certificate, Claim, Claims, Premises, Proof, Reason, RelyGuarantee};
use logic::{Sort, Symbol, Term, Terms};
use program::parts::split_conjuncts;
use program::transition::loop_heads;
use program::{Action, LocId, Program, PropertyId, PropertyKind, Start, VarId, What};
use rustc_hash::FxHashMap;
use setting::{AnnotationSite, ConditionSubject as Goals, Explain, Explanation, ProofSetting, Quantifiers, Which};
use solver::SolverSettings;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use clusters::needs_clustering;

pub struct RelyMethod;

impl Method for RelyMethod {
    fn about(&self) -> MethodDescription {
        MethodDescription {
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
        let left = open(&wanted, &claims);
        if !left.is_empty() && left.len() < wanted.len() {
            run.publish(&claims);
        }
        if !left.is_empty() && clusters::fits_globally(p) && modular::admits(p).is_ok() {
            clauses(p, &left, run, &mut claims);
        }
        claims
    }
}

/// The properties this method speaks of: those of thread-modular clauses, and relies that are asked for.
fn wanted(p: &Program, among: &[PropertyId]) -> Vec<PropertyId> {
    let mut out = modular::wanted(p, among);
    let inside = p.threads.iter().any(|t| t.code.locations.iter().any(|l| l.in_atomic_block));
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
const LONG_CODE_ACTIONS: usize = 120;
const SHORT_REGION_ACTIONS: usize = 30;
/// How long quantified candidates may be put to the solver as they are.
const QUANTIFIED_TIME: Duration = Duration::from_secs(5);
/// How much effort thread-modular clauses get for one group of properties.
const GROUP_EFFORT: Duration = Duration::from_secs(60);

/// Cuts: the loops, the start of threads that are spawned, and places that part long code.
fn cuts(p: &Program, long: usize) -> Vec<Vec<LocId>> {
    p.threads
        .iter()
        .map(|t| {
            let mut cuts = loop_heads(&t.code);
            if t.start == Start::Spawned {
                cuts.push(t.code.entry);
            }
            if t.code.actions.len() > long {
                let live = program::live::live(p, &t.code);
                let mut ways = vec![0; t.code.locations.len()];
                t.code.actions.iter().for_each(|a| ways[a.to.index()] += 1);
                let branches = |a: &&Action| matches!(a.what, What::Choose | What::Test);
                // A local that the branch itself gives any value is no knowledge that the cut would lose.
                let free = |a: &&Action| {
                    let chosen = |v: &VarId| ways[a.to.index()] == 1 && chosen(p, a).any(|(x, _)| x == *v);
                    !t.code.locations[a.to].in_atomic_block && live[a.to].iter().all(chosen)
                };
                cuts.extend(t.code.actions.iter().filter(branches).filter(free).map(|a| a.to));
            }
            cuts.sort_unstable();
            cuts.dedup();
            cuts
        })
        .collect()
}

/// The variables that an action gives values of its choice, each with the symbol of the choice.
fn chosen<'a>(p: &'a Program, a: &'a Action) -> impl Iterator<Item = (VarId, Symbol)> + 'a {
    a.updates.iter().filter_map(|u| Some((u.var, p.terms.as_symbol(u.value).filter(|s| a.inputs.contains(s))?)))
}

/// Quantified candidates at the keys at hand first, which is quick; as they are only where something is left, for a while.
fn calvin(p: &Program, terms: &Terms, wanted: &[PropertyId], run: &Run, claims: &mut Claims) -> Result<(), Reason> {
    let quick = pursue(p, terms, wanted, Quantifiers::Instances, run, claims)?;
    let left = open(wanted, claims);
    if left.is_empty() || !quick.quantified {
        return Ok(());
    }
    if left.len() < wanted.len() {
        run.publish(claims);
    }
    let slow = Run { budget: run.budget.share(QUANTIFIED_TIME), ..run.clone() };
    let mut more = Claims::default();
    if let Err(reason) = pursue(p, terms, &left, Quantifiers::Whole, &slow, &mut more)
        && !matches!(reason, Reason::Exhausted(_))
    {
        return Err(reason);
    }
    run.budget.check().map_err(Reason::Exhausted)?;
    for (w, claim) in more.claims {
        if matches!(claim, Claim::Proved(_)) || !claims.claims.contains_key(&w) {
            claims.set(w, claim);
        }
    }
    more.notes.retain(|line| !claims.notes.contains(line));
    claims.notes.extend(more.notes);
    Ok(())
}

/// The properties that are not proved.
fn open(wanted: &[PropertyId], claims: &Claims) -> Vec<PropertyId> {
    let proved = |w: &PropertyId| matches!(claims.claims.get(w), Some(Claim::Proved(_)));
    wanted.iter().copied().filter(|w| !proved(w)).collect()
}

/// What the rounds of one reading met.
struct RoundsMet {
    /// Whether a candidate has a quantifier.
    quantified: bool,
}

fn pursue(
    p: &Program,
    terms: &Terms,
    wanted: &[PropertyId],
    quantifiers: Quantifiers,
    run: &Run,
    claims: &mut Claims,
) -> Result<RoundsMet, Reason> {
    run.progress("rely: what is written, and locks");
    let short = cuts(p, SHORT_REGION_ACTIONS);
    let pieces = clusters::pieces(p, terms, &short);
    let mut list = candidates::written(p, terms, &short);
    pieces.iter().for_each(|cluster| list.locks(cluster));
    list.held(&short);
    let last = if quantifiers == Quantifiers::Instances { Explain::Failures } else { Explain::Nothing };
    let explain = if clusters::fits_globally(p) { Explain::Nothing } else { last };
    let near = ProofRound { p, terms, wanted, cuts: &short, premises: Premises::Relevant, quantifiers, explain, run };
    let list = list.list();
    let mut met = RoundsMet { quantified: list.iter().any(|c| terms.has_quantifier(c.formula)) };
    let first = near.go(list, claims)?;
    let left = open(wanted, claims);
    if left.is_empty() {
        return Ok(met);
    }
    if clusters::needs_clustering(p) {
        // What held so far stays; everything is guessed where something is still open.
        let mut list = candidates::written(p, terms, &short);
        first.iter().for_each(|c| list.keep(c));
        let has = |cluster: &&clusters::Cluster| {
            cluster.code.iter().any(|(t, actions)| {
                let gates = actions.iter().flat_map(|a| &p.threads[*t].code.actions[*a].gates);
                gates.into_iter().any(|g| left.binary_search(&g.property).is_ok())
            })
        };
        pieces.iter().filter(has).for_each(|cluster| list.guess(cluster));
        ProofRound { wanted: &left, ..near }.go(list.list(), claims)?;
    }
    let left = open(wanted, claims);
    if !left.is_empty() && clusters::fits_globally(p) {
        // Everything together, with all premises.
        let cuts = cuts(p, LONG_CODE_ACTIONS);
        let mut list = candidates::written(p, terms, &cuts);
        list.guess(&clusters::whole(p, &cuts));
        let list = list.list();
        met.quantified |= list.iter().any(|c| terms.has_quantifier(c.formula));
        ProofRound { wanted: &left, cuts: &cuts, premises: Premises::All, explain: last, ..near }.go(list, claims)?;
    }
    Ok(met)
}

/// One round: with what is written, or with guesses beside it.
#[derive(Clone, Copy)]
struct ProofRound<'a> {
    p: &'a Program,
    terms: &'a Terms,
    wanted: &'a [PropertyId],
    cuts: &'a [Vec<LocId>],
    premises: Premises,
    quantifiers: Quantifiers,
    explain: Explain,
    run: &'a Run,
}

impl ProofRound<'_> {
    /// The candidates that support each other; what follows from them is claimed.
    fn go(
        &self,
        list: Vec<setting::CandidateFact>,
        claims: &mut Claims,
    ) -> Result<Vec<setting::CandidateFact>, Reason> {
        let ProofRound { p, terms, wanted, cuts, run, .. } = *self;
        let settings = SolverSettings { seed: run.seed as u32, limit: 3_000_000, ..SolverSettings::default() };
        let found = list.len();
        let list = runs::survivors(p, terms, list, run.seed, &run.budget);
        run.progress(format!("rely: {} candidates, {} after a few runs", found, list.len()));
        // Before the terms are copied.
        let other = terms.symbol("other", Sort::INT);
        let setting = ProofSetting {
            program: p.clone(),
            terms: terms.clone(),
            candidates: list,
            cuts: cuts.to_vec(),
            wanted: wanted.to_vec(),
            other,
            premises: self.premises,
            quantifiers: self.quantifiers,
            explain: self.explain,
            settings,
            budget: run.budget.clone(),
        };
        claims.statistics.insert("candidates".into(), setting.candidates.len() as u64);
        let (outcome, alive) = EliminationEngine::with(&setting, run.workers, |engine| {
            let outcome = self.judge(engine, claims)?;
            Ok((outcome, std::mem::take(&mut engine.alive)))
        })?;
        let left = || (0..alive.len()).filter(|k| alive[*k]).map(|k| setting.candidates[k].clone()).collect();
        let Some((proved, needed)) = outcome else { return Ok(left()) };
        for line in found::lines(&setting, &needed) {
            if !claims.notes.contains(&line) {
                claims.notes.push(line);
            }
        }
        let mut proof = certificate(&setting, &needed);
        if self.premises == Premises::Relevant && !self.near_enough(&setting, &needed, &proved)? {
            proof.premises = Premises::All;
        }
        let claim = Claim::Proved(Arc::new(Certificate {
            method: "rely".into(),
            terms: setting.terms.clone(),
            properties: proved.clone(),
            proof: Proof::AssumeGuarantee(proof),
        }));
        proved.iter().for_each(|w| claims.set(*w, claim.clone()));
        Ok(left())
    }

    /// What is proved and with which candidates; `None` if nothing is.
    fn judge(
        &self,
        engine: &mut EliminationEngine<'_>,
        claims: &mut Claims,
    ) -> Result<Option<(Vec<PropertyId>, Vec<usize>)>, Reason> {
        let ProofRound { p, terms, wanted, .. } = *self;
        let setting = engine.setting;
        // First as it is written: what is written is assumed while the rest is judged, so one cause gives one error.
        engine.eliminate(true, false)?;
        engine.give_up_open_relations()?;
        let first = engine.failures(Which::Judged)?;
        let mut failed: Vec<PropertyId> = failed(setting, &first);
        let mut explanations: Vec<Explanation> = Vec::new();
        for one in first {
            let same =
                |x: &Explanation| if one.lines.is_empty() { *x == one } else { x.lines.first() == one.lines.first() };
            if !explanations.iter().any(same) {
                explanations.push(one);
            }
        }
        let broken = |t: &Explanation| match t.about {
            Goals::Candidate(_) => true,
            Goals::Property(w) => matches!(p.properties[w].kind, PropertyKind::Rely(_)),
        };
        if explanations.iter().any(broken) {
            // Then what holds without the annotations that do not.
            engine.eliminate_all()?;
            let second = engine.failures(Which::Properties)?;
            failed = self::failed(setting, &second);
            for one in second {
                if !explanations.iter().any(|x| x.about == one.about) {
                    explanations.push(one);
                }
            }
        }
        let failed: BTreeSet<PropertyId> = failed.into_iter().collect();
        let invariants: FxHashMap<Term, usize> = (0..setting.candidates.len())
            .filter(|k| engine.alive[*k] && setting.candidates[*k].place == AnnotationSite::Invariant)
            .map(|k| (setting.candidates[k].formula, k))
            .collect();
        let (mut proved, mut also) = (Vec::new(), Vec::new());
        for w in wanted.iter().filter(|w| !failed.contains(w)) {
            if let PropertyKind::Invariant(formula) = p.properties[*w].kind {
                let parts = split_conjuncts(terms, formula);
                let found: Vec<usize> = parts.iter().filter_map(|f| invariants.get(f).copied()).collect();
                if found.len() < parts.len() {
                    continue;
                }
                also.extend(found);
            }
            proved.push(*w);
        }
        let done: BTreeSet<PropertyId> = proved.iter().copied().collect();
        for w in wanted.iter().filter(|w| !done.contains(w)) {
            claims.set(*w, Claim::Undecided(Reason::Annotation(reasons(setting, &explanations, *w))));
        }
        if proved.is_empty() {
            claims.statistics.insert("questions".into(), engine.questions());
            return Ok(None);
        }
        let needed = engine.needed(&proved, &also)?;
        claims.statistics.insert("questions".into(), engine.questions());
        Ok(Some((proved, needed)))
    }

    /// Whether the needed candidates alone, with fewer premises the fewer there are, still support each other.
    fn near_enough(&self, setting: &ProofSetting, needed: &[usize], proved: &[PropertyId]) -> Result<bool, Reason> {
        let candidates = needed.iter().map(|k| setting.candidates[*k].clone()).collect();
        let small = ProofSetting { candidates, wanted: proved.to_vec(), ..setting.clone() };
        let failures = EliminationEngine::with(&small, self.run.workers, |engine| engine.failures(Which::Everything))?;
        Ok(failures.is_empty())
    }
}

fn failed(setting: &ProofSetting, list: &[Explanation]) -> Vec<PropertyId> {
    list.iter()
        .filter_map(|f| match f.about {
            Goals::Property(w) => Some(w),
            Goals::Candidate(k) => match setting.candidates[k].written {
                Some(setting::WrittenFact::Property(w)) => Some(w),
                _ => None,
            },
        })
        .collect()
}

/// All that was reported about a property, and about loop invariants that do not hold.
fn reasons(engine: &ProofSetting, explanations: &[Explanation], w: PropertyId) -> String {
    let mut lines = Vec::new();
    for t in explanations {
        let about = match t.about {
            Goals::Property(x) => x == w,
            Goals::Candidate(k) => {
                matches!(engine.candidates[k].written, Some(setting::WrittenFact::Property(x)) if x == w)
                    || matches!(engine.candidates[k].written, Some(setting::WrittenFact::Loop(_)))
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

fn certificate(s: &ProofSetting, needed: &[usize]) -> AssumeGuarantee {
    let mut at: FxHashMap<AnnotationSite, Vec<Term>> = FxHashMap::default();
    for k in needed {
        at.entry(s.candidates[*k].place).or_default().push(s.candidates[*k].formula);
    }
    let at = |place: AnnotationSite| s.terms.and(at.get(&place).map_or(&[][..], |v| v));
    AssumeGuarantee {
        invariant: at(AnnotationSite::Invariant),
        threads: s
            .program
            .threads
            .ids()
            .map(|id| Assumes {
                thread: id,
                rely: at(AnnotationSite::Rely(id)),
                cuts: s.cuts[id.index()].iter().map(|l| (*l, at(AnnotationSite::Cut(id, *l)))).collect(),
            })
            .collect(),
        premises: s.premises,
    }
}

/// Horn clauses for what is left.
fn clauses(p: &Program, left: &[PropertyId], run: &Run, claims: &mut Claims) {
    let terms = p.terms.clone();
    let left = &modular::wanted(p, left);
    let settings = SolverSettings { seed: run.seed as u32, limit: 1_000_000_000, ..SolverSettings::default() };
    let mut groups = vec![left.clone()];
    if left.len() > 1 {
        groups.extend(left.iter().map(|w| vec![*w]));
    }
    for group in groups {
        if group.iter().all(|w| matches!(claims.claims.get(w), Some(Claim::Proved(_)))) {
            continue;
        }
        run.progress(format!("rely: {}", p.properties[group[0]].name));
        // A group that is hard does not take the place of the others.
        let budget = run.budget.share(GROUP_EFFORT);
        let claim = match modular::solve_modular(p, &terms, &group, settings, &budget) {
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
