//! The file format of evidence: a JSON document with a version, the digest of the program it is about, and one entry
//! for each certificate or trace.
//!
//! Reading trusts nothing: any bytes give either a well-sorted certificate over the program's own symbols or a
//! `FileError` that says what is wrong and where. Text fields named `shown` are for people; the reader ignores them.
//! In: a program with entries to write, or with bytes to read. Out: the document, or its entries. Deliberately absent:
//! whether a certificate proves anything; that is for the checker to say.

mod asserted;
mod callers;
mod history;
mod proof;
mod quantified;
mod read;
mod reduction;
mod spec_run;
mod terms;
mod trace;
mod views;

pub(crate) use terms::{op_name, operator};

use crate::certificate::{Certificate, Proof};
use crate::counterexample::Counterexample;
use program::{Program, PropertyId};
use read::JsonReader;
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

pub(crate) const FORMAT: &str = "threadproof-evidence";
pub(crate) const FORMAT_VERSION: u64 = 1;

/// What is wrong with an evidence file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError(pub String);

impl std::fmt::Display for FileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// One piece of evidence with the properties it is for.
#[derive(Clone, Debug)]
// A file has few of them.
#[allow(clippy::large_enum_variant)]
pub enum EvidenceEntry {
    Certificate(Certificate),
    Counterexample { method: String, property: PropertyId, run: Counterexample },
}

impl EvidenceEntry {
    pub fn method(&self) -> &str {
        match self {
            EvidenceEntry::Certificate(c) => &c.method,
            EvidenceEntry::Counterexample { method, .. } => method,
        }
    }
    pub fn properties(&self) -> Vec<PropertyId> {
        match self {
            EvidenceEntry::Certificate(c) => c.properties.clone(),
            EvidenceEntry::Counterexample { property, .. } => vec![*property],
        }
    }
}

/// A digest of everything in the program that has a meaning; origins are left out, so a comment may change.
pub fn digest(program: &Program) -> String {
    let mut h = Sha256::new();
    let t = &program.terms;
    let mut feed = |s: String| {
        h.update(s.as_bytes());
        h.update([0]);
    };
    for i in 0..t.sort_count() as u32 {
        feed(format!("{:?}", t.kind(logic::Sort(i))));
    }
    for i in 0..t.symbol_count() as u32 {
        feed(format!("{} {:?}", t.symbol_name(logic::Symbol(i)), t.symbol_sort(logic::Symbol(i))));
    }
    for i in 0..t.enum_count() as u32 {
        feed(format!("{:?}", t.enum_decl(logic::EnumId(i))));
    }
    for i in 0..t.len() as u32 {
        feed(format!("{:?}", t.node(logic::Term(i))));
    }
    feed(format!("{:?}", program.tid));
    feed(format!("{:?}", program.classes));
    feed(format!("{:?}", program.vars));
    feed(format!("{:?}", program.threads));
    feed(format!("{:?}{:?}{:?}", program.init, program.invariants, program.relies));
    feed(format!("{:?}{:?}{:?}", program.procedures, program.machines, program.objects));
    feed(format!("{:?}{:?}", program.properties, program.assumptions));
    let bytes = h.finalize();
    format!("sha256:{}", bytes.iter().map(|b| format!("{b:02x}")).collect::<String>())
}

/// Writes a document; the same evidence always gives the same bytes.
pub fn write_evidence(program: &Program, entries: &[EvidenceEntry]) -> String {
    let entries: Vec<Json> = entries
        .iter()
        .map(|e| match e {
            EvidenceEntry::Certificate(c) => {
                let mut out = certificate(program, c);
                out["kind"] = "certificate".into();
                out
            }
            EvidenceEntry::Counterexample { method, property, run } => {
                let (kind, run) = match run {
                    Counterexample::Run(trace) => ("trace", trace::write_trace(program, trace)),
                    Counterexample::LocalRun(local) => ("local", trace::write_local(program, local)),
                    Counterexample::SpecRun(run) => ("stray", spec_run::write_spec_run(program, run)),
                    Counterexample::ClientRun(run) => ("called", callers::write_client_run(program, run)),
                    Counterexample::History(history) => ("history", history::write_history(program, history)),
                };
                let mut out = json!({ "kind": kind, "method": method });
                if kind == "history" {
                    out["property"] = program.properties[*property].name.as_str().into();
                }
                out[kind] = run;
                out
            }
        })
        .collect();
    let document = json!({
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "memory_model": "sequential consistency",
        "program": { "name": program.name, "digest": digest(program) },
        "entries": entries,
    });
    let mut text = serde_json::to_string_pretty(&document).expect("a JSON value can always be written");
    text.push('\n');
    text
}

/// A certificate without its kind: also what stands inside another.
fn certificate(program: &Program, c: &Certificate) -> Json {
    // A reduction speaks of the program without calls, whose terms extend this program's.
    let basis = match &c.proof {
        Proof::Reduction(r) => r.basis(program).ok(),
        _ => None,
    };
    let mut pool = terms::Pool::new(basis.as_ref().map_or(program, |b| &b.specified.program), &c.terms);
    let proof = proof::write_proof(program, &c.proof, &mut pool);
    json!({
        "method": c.method,
        "properties": names(program, &c.properties),
        "terms": pool.finish(),
        "proof": proof,
    })
}

fn names(program: &Program, properties: &[PropertyId]) -> Vec<String> {
    properties.iter().map(|p| program.properties[*p].name.clone()).collect()
}

/// Reads a document about this program.
pub fn read_evidence(program: &Program, text: &[u8]) -> Result<Vec<EvidenceEntry>, FileError> {
    let document: Json = serde_json::from_slice(text).map_err(|e| FileError(format!("not a JSON document: {e}")))?;
    let root = JsonReader::new(&document, "document");
    let format = root.field("format")?.string()?;
    if format != FORMAT {
        return Err(FileError(format!("the format is `{format}`, expected `{FORMAT}`")));
    }
    let version = root.field("version")?.number()?;
    if version != i128::from(FORMAT_VERSION) {
        return Err(FileError(format!("version {version} of the format; this tool reads version {FORMAT_VERSION}")));
    }
    let found = root.field("program")?.field("digest")?.string()?;
    let expected = digest(program);
    if found != expected {
        return Err(FileError(format!(
            "it is about another program: its digest is {found}, this program's is {expected}"
        )));
    }
    root.field("entries")?.list()?.into_iter().map(|e| entry(program, &e)).collect()
}

fn entry(program: &Program, e: &JsonReader<'_>) -> Result<EvidenceEntry, FileError> {
    let method = e.field("method")?.string()?.to_string();
    let kind = e.field("kind")?.string()?;
    if kind == "certificate" {
        return Ok(EvidenceEntry::Certificate(read_certificate(program, e, 0)?));
    }
    let run = match kind {
        "trace" => Counterexample::Run(trace::read_trace(program, &e.field(kind)?)?),
        "local" => Counterexample::LocalRun(trace::read_local(program, &e.field(kind)?, 0)?),
        "stray" => Counterexample::SpecRun(spec_run::read_spec_run(program, &e.field(kind)?)?),
        "called" => Counterexample::ClientRun(callers::read_client_run(program, &e.field(kind)?)?),
        "history" => Counterexample::History(history::read_history(program, &e.field(kind)?)?),
        other => {
            let kinds = "a certificate, a trace, a local run, a run of callers, a stray run or a history";
            return Err(e.error(format!("an entry is {kinds}, not `{other}`")));
        }
    };
    let property = match (&run, run.violates()) {
        (Counterexample::History(_), _) | (_, None) => property(program, &e.field("property")?)?,
        (_, Some(violates)) => violates,
    };
    Ok(EvidenceEntry::Counterexample { method, property, run })
}

/// Certificates nest (a composition's inside a composed proof's), to a small depth.
fn read_certificate(program: &Program, e: &JsonReader<'_>, depth: usize) -> Result<Certificate, FileError> {
    let mut properties = Vec::new();
    for p in e.field("properties")?.list()? {
        properties.push(property(program, &p)?);
    }
    let proof = e.field("proof")?;
    if proof.field("form")?.string()? == "reduction" {
        let head = reduction::read_head(program, &proof)?;
        let basis = crate::reduction::basis(program, &head.0, &head.1).map_err(|why| proof.error(why))?.specified;
        let pool = terms::read_terms(&basis.program, &e.field("terms")?)?;
        let proof = Proof::Reduction(reduction::read_reduction(program, head, &basis, &proof, &pool)?);
        return Ok(Certificate { method: e.field("method")?.string()?.into(), terms: pool.terms, properties, proof });
    }
    let pool = terms::read_terms(program, &e.field("terms")?)?;
    let proof = proof::read_proof(program, &proof, &pool, depth)?;
    Ok(Certificate { method: e.field("method")?.string()?.into(), terms: pool.terms, properties, proof })
}

fn property(program: &Program, r: &JsonReader<'_>) -> Result<PropertyId, FileError> {
    let name = r.string()?;
    let found = program.properties.iter_enumerated().find(|(_, q)| q.name == name).map(|(id, _)| id);
    found.ok_or_else(|| r.error(format!("no property is called `{name}`")))
}
