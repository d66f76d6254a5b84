//! The file format of evidence: a JSON document with a version, the digest of the program it is about, and one entry
//! for each certificate or trace.
//!
//! Reading trusts nothing: any bytes give either a well-sorted certificate over the program's own symbols or a
//! `FileError` that says what is wrong and where. Text fields named `shown` are for people; the reader ignores them.

mod callers;
mod history;
mod proof;
mod read;
mod reduction;
mod stray;
mod terms;
mod trace;
mod views;

pub(crate) use terms::{op_name, operator};

use crate::called::Called;
use crate::certificate::{Certificate, Proof};
use crate::history::History;
use crate::local::Local;
use crate::stray::Stray;
use crate::trace::Trace;
use program::{Program, PropertyId};
use read::Reader;
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

pub const FORMAT: &str = "threadproof-evidence";
pub const VERSION: u64 = 1;

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
pub enum Entry {
    Certificate(Certificate),
    Trace {
        method: String,
        trace: Trace,
    },
    Local {
        method: String,
        local: Local,
    },
    Called {
        method: String,
        called: Called,
    },
    /// A run of a procedure that its specification does not explain, or that breaks an access predicate.
    Stray {
        method: String,
        stray: Stray,
    },
    /// A run of clients of an object; the property is the one of the object, or the gate that fails.
    History {
        method: String,
        property: PropertyId,
        history: History,
    },
}

impl Entry {
    pub fn method(&self) -> &str {
        match self {
            Entry::Certificate(c) => &c.method,
            Entry::Trace { method, .. }
            | Entry::Local { method, .. }
            | Entry::Called { method, .. }
            | Entry::Stray { method, .. }
            | Entry::History { method, .. } => method,
        }
    }
    pub fn properties(&self) -> Vec<PropertyId> {
        match self {
            Entry::Certificate(c) => c.properties.clone(),
            Entry::Trace { trace, .. } => vec![trace.violates],
            Entry::Local { local, .. } => vec![local.violates],
            Entry::Called { called, .. } => vec![called.trace.violates],
            Entry::Stray { stray, .. } => vec![stray.violates],
            Entry::History { property, .. } => vec![*property],
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
pub fn write(program: &Program, entries: &[Entry]) -> String {
    let entries: Vec<Json> = entries
        .iter()
        .map(|e| match e {
            Entry::Certificate(c) => {
                let mut out = certificate(program, c);
                out["kind"] = "certificate".into();
                out
            }
            Entry::Local { method, local } => json!({
                "kind": "local",
                "method": method,
                "local": trace::write_local(program, local),
            }),
            Entry::Called { method, called } => json!({
                "kind": "called",
                "method": method,
                "called": callers::write_called(program, called),
            }),
            Entry::Stray { method, stray } => json!({
                "kind": "stray",
                "method": method,
                "stray": stray::write(program, stray),
            }),
            Entry::History { method, property, history } => json!({
                "kind": "history",
                "method": method,
                "property": program.properties[*property].name,
                "history": history::write(program, history),
            }),
            Entry::Trace { method, trace } => json!({
                "kind": "trace",
                "method": method,
                "trace": trace::write(program, trace),
            }),
        })
        .collect();
    let document = json!({
        "format": FORMAT,
        "version": VERSION,
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
    let proof = proof::write(program, &c.proof, &mut pool);
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
pub fn read(program: &Program, text: &[u8]) -> Result<Vec<Entry>, FileError> {
    let document: Json = serde_json::from_slice(text).map_err(|e| FileError(format!("not a JSON document: {e}")))?;
    let root = Reader::new(&document, "document");
    let format = root.field("format")?.string()?;
    if format != FORMAT {
        return Err(FileError(format!("the format is `{format}`, expected `{FORMAT}`")));
    }
    let version = root.field("version")?.number()?;
    if version != i128::from(VERSION) {
        return Err(FileError(format!("version {version} of the format; this tool reads version {VERSION}")));
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

fn entry(program: &Program, e: &Reader<'_>) -> Result<Entry, FileError> {
    let method = e.field("method")?.string()?.to_string();
    match e.field("kind")?.string()? {
        "certificate" => Ok(Entry::Certificate(read_certificate(program, e, 0)?)),
        "trace" => Ok(Entry::Trace { method, trace: trace::read(program, &e.field("trace")?)? }),
        "local" => Ok(Entry::Local { method, local: trace::read_local(program, &e.field("local")?, 0)? }),
        "stray" => Ok(Entry::Stray { method, stray: stray::read(program, &e.field("stray")?)? }),
        "called" => Ok(Entry::Called { method, called: callers::read_called(program, &e.field("called")?)? }),
        "history" => Ok(Entry::History {
            method,
            property: property(program, &e.field("property")?)?,
            history: history::read(program, &e.field("history")?)?,
        }),
        other => {
            let kinds = "a certificate, a trace, a local run, a run of callers, a stray run or a history";
            Err(e.error(format!("an entry is {kinds}, not `{other}`")))
        }
    }
}

/// Certificates nest (a composition's inside a composed proof's), to a small depth.
fn read_certificate(program: &Program, e: &Reader<'_>, depth: usize) -> Result<Certificate, FileError> {
    let mut properties = Vec::new();
    for p in e.field("properties")?.list()? {
        properties.push(property(program, &p)?);
    }
    let proof = e.field("proof")?;
    if proof.field("form")?.string()? == "reduction" {
        let head = reduction::read_head(program, &proof)?;
        let basis = crate::reduction::basis(program, &head.0, &head.1).map_err(|why| proof.error(why))?.specified;
        let pool = terms::read(&basis.program, &e.field("terms")?)?;
        let proof = Proof::Reduction(reduction::read(program, head, &basis, &proof, &pool)?);
        return Ok(Certificate { method: e.field("method")?.string()?.into(), terms: pool.terms, properties, proof });
    }
    let pool = terms::read(program, &e.field("terms")?)?;
    let proof = proof::read(program, &proof, &pool, depth)?;
    Ok(Certificate { method: e.field("method")?.string()?.into(), terms: pool.terms, properties, proof })
}

fn property(program: &Program, r: &Reader<'_>) -> Result<PropertyId, FileError> {
    let name = r.string()?;
    let found = program.properties.iter_enumerated().find(|(_, q)| q.name == name).map(|(id, _)| id);
    found.ok_or_else(|| r.error(format!("no property is called `{name}`")))
}
