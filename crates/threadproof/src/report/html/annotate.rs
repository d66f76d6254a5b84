//! What a page shows of a program besides its verdicts: its sources, facts that a proof knows at lines, whole formulas, drawings.
//!
//! In: a program, its sources and the evidence of what is reported. Out: `PageParts`, plain data that outlives the program. Facts are those of checked
//! certificates: the annotation of a location stands at the line of the statement before which it holds. Deliberately absent: facts about several
//! threads' places at once, which belong to no line.

use crate::coverage::ReachedLines;
use crate::place::{Place, place_of};
use base::{SourceId, Sources};
use evidence::file::EvidenceEntry;
use evidence::{Certificate, Proof};
use logic::{Term, Terms};
use program::{LocId, Program, ThreadId};
use std::collections::BTreeSet;

/// Longer formulas say little to a reader.
const MAX_FACT_CHARS: usize = 160;
/// Facts at one line.
const MAX_FACTS_PER_LINE: usize = 6;

#[derive(Clone, Debug, Default)]
pub struct PageParts {
    /// Name and text of each source file.
    pub sources: Vec<(String, String)>,
    /// The lines with code, and whether a run was seen there.
    pub reached: ReachedLines,
    /// What is known to hold where.
    pub facts: Vec<(Place, String)>,
    /// Formulas of the proof that belong to no line, under a title.
    pub formulas: Vec<(String, Vec<String>)>,
    /// Invariants that say what each thread may see of the heap, line by line.
    pub views: Vec<String>,
    /// Drawings as SVG, under a title.
    pub pictures: Vec<(String, String)>,
}

pub fn page_parts(program: &Program, sources: &Sources, entries: &[EvidenceEntry], trees: Vec<String>) -> PageParts {
    // Headers of the system hold no step of the program.
    let steps = program.threads.iter().flat_map(|t| t.code.actions.iter().map(|a| a.origin));
    let origins = steps.chain(program.properties.iter().map(|p| p.origin));
    let used: BTreeSet<SourceId> = origins.filter_map(|o| program.origins[o].span).map(|span| span.file).collect();
    let listed = sources.ids().filter(|id| used.contains(id) || used.is_empty());
    let texts = listed.map(|id| sources.file(id)).map(|f| (f.name.clone(), f.text.clone()));
    let mut facts = Facts { program, sources, known: BTreeSet::new(), formulas: Vec::new() };
    let mut pictures: Vec<(String, String)> = Vec::new();
    let mut in_words: Vec<String> = Vec::new();
    for entry in entries {
        if let EvidenceEntry::Certificate(certificate) = entry {
            facts.certificate(certificate);
            if let Proof::Views(views) = &certificate.proof {
                in_words.extend(methods::views_in_words(program, views));
                pictures.push(("Views of the heap".into(), methods::picture::sheet(program, views)));
            }
        }
    }
    pictures.extend(trees.into_iter().map(|svg| ("Reachability and environment trees".to_string(), svg)));
    let mut known: Vec<(Place, String)> = Vec::new();
    for (place, fact) in facts.known {
        if known.iter().filter(|(p, _)| p.file == place.file && p.line == place.line).count() < MAX_FACTS_PER_LINE {
            known.push((place, fact));
        }
    }
    PageParts {
        sources: texts.collect(),
        reached: ReachedLines::new(),
        facts: known,
        formulas: facts.formulas,
        views: in_words,
        pictures,
    }
}

struct Facts<'a> {
    program: &'a Program,
    sources: &'a Sources,
    known: BTreeSet<(Place, String)>,
    formulas: Vec<(String, Vec<String>)>,
}

impl Facts<'_> {
    fn certificate(&mut self, certificate: &Certificate) {
        let terms = &certificate.terms;
        match &certificate.proof {
            Proof::RelyGuarantee(proof) => {
                self.formula("Invariant", terms, proof.invariant);
                let common: Vec<Term> = terms.conjuncts(proof.invariant);
                for annotation in &proof.threads {
                    for (location, formula) in annotation.at.iter().enumerate() {
                        self.at(annotation.thread, LocId(location as u32), terms, *formula, &common);
                    }
                    let name = &self.program.threads[annotation.thread].name;
                    self.formula(
                        &format!("What each step of {name} does to the shared variables"),
                        terms,
                        annotation.guarantee,
                    );
                }
            }
            Proof::AssumeGuarantee(proof) => {
                self.formula("Invariant", terms, proof.invariant);
                for thread in &proof.threads {
                    let name = self.program.threads[thread.thread].name.clone();
                    self.formula(&format!("What {name} relies on in each step of the others"), terms, thread.rely);
                    for (location, formula) in &thread.cuts {
                        self.at(thread.thread, *location, terms, *formula, &[]);
                    }
                }
            }
            Proof::Counting(proof) => {
                for counter in &proof.counters {
                    self.at(counter.thread, counter.location, terms, counter.holds, &[]);
                }
            }
            _ => {}
        }
    }

    /// A formula with its conjuncts one below the other.
    fn formula(&mut self, title: &str, terms: &Terms, formula: Term) {
        let parts: Vec<String> =
            terms.conjuncts(formula).into_iter().filter(|c| !terms.is_true(*c)).map(|c| terms.show(c)).collect();
        if !parts.is_empty() && !self.formulas.iter().any(|(t, p)| t == title && *p == parts) {
            self.formulas.push((title.to_string(), parts));
        }
    }

    fn at(&mut self, thread: ThreadId, location: LocId, terms: &Terms, formula: Term, common: &[Term]) {
        let Some(thread) = self.program.threads.get(thread) else { return };
        let Some(location) = thread.code.locations.get(location) else { return };
        let Some(span) = self.program.origins[location.origin].span else { return };
        let place = Place { column: 1, ..place_of(self.sources, span) };
        for conjunct in terms.conjuncts(formula).into_iter().filter(|c| !terms.is_true(*c) && !common.contains(c)) {
            let text = match terms.is_false(conjunct) {
                true => format!("{} never comes here", thread.name),
                false => format!("{}: {}", thread.name, terms.show(conjunct)),
            };
            if text.chars().count() <= MAX_FACT_CHARS {
                self.known.insert((place.clone(), text));
            }
        }
    }
}
