//! Certificates of rule `reduction` in files.
//!
//! In: a `Reduction` with the pool of its terms, or the JSON of one. Out: the other, or a `FileError`. The head
//! (guards, procedures by `performs`) is read first: the terms of the rest extend a program that is built from it.

use super::FileError;
use super::read::JsonReader;
use super::terms::{Pool, TermsFromFile};
use crate::reduction::{CutPoint, Guard, MoverPhase, Reduced, Reduction};
use program::call_summaries::{CallSummaries, CodeUnit};
use program::{ActionId, LocId, ProcId, Program, PropertyId, ThreadId, VarId};
use serde_json::{Value as Json, json};

pub(crate) fn write_reduction(program: &Program, proof: &Reduction, pool: &mut Pool<'_>) -> Json {
    let units: Vec<Json> = proof
        .units
        .iter()
        .map(|u| {
            let cuts: Vec<Json> = u
                .cuts
                .iter()
                .map(|c| {
                    json!({
                        "location": c.location.0,
                        "position": c.position,
                        "phase": c.phase.word(),
                        "formula": pool.formula(c.formula),
                        "rank": c.rank.map(|r| pool.formula(r)),
                    })
                })
                .collect();
            let before: Vec<usize> = u.before.iter().map(|s| pool.symbol(*s)).collect();
            let right: Vec<u32> = u.right.iter().map(|a| a.0).collect();
            let (kind, number, name) = match u.unit {
                CodeUnit::Thread(t) => ("thread", t.0, &program.threads[t].name),
                CodeUnit::Procedure(q) => ("procedure", q.0, &program.procedures[q].name),
            };
            json!({ kind: number, "shown": name, "before": before, "right": right, "cuts": cuts })
        })
        .collect();
    let specified: Vec<u32> = proof.specified.iter().map(|q| q.0).collect();
    let guards: Vec<Json> = proof
        .guards
        .iter()
        .map(|g| json!({ "var": program.vars[g.var].name, "lock": program.vars[g.lock].name }))
        .collect();
    let premises: Vec<u32> = proof.premises.iter().map(|q| q.0).collect();
    let lasting: Vec<u32> = proof.lasting.iter().map(|q| q.0).collect();
    let prompt: Vec<u32> = proof.prompt.iter().map(|q| q.0).collect();
    let names = |list: &[VarId]| list.iter().map(|v| program.vars[*v].name.clone()).collect::<Vec<_>>();
    let found: Vec<Json> = proof.found.iter().map(|f| pool.formula(*f)).collect();
    json!({
        "form": "reduction", "guards": guards, "specified": specified, "premises": premises, "lasting": lasting, "prompt": prompt,
        "hidden": names(&proof.hidden), "monitors": names(&proof.monitors), "found": found, "units": units,
    })
}

fn procedure(program: &Program, r: &JsonReader<'_>) -> Result<ProcId, FileError> {
    Ok(ProcId(r.index(program.procedures.len())? as u32))
}

fn shared(program: &Program, r: &JsonReader<'_>) -> Result<VarId, FileError> {
    let name = r.string()?;
    let found = program.shared().find(|v| program.vars[*v].name == name);
    found.ok_or_else(|| r.error(format!("no shared variable is called `{name}`")))
}

/// What the program without calls is built from: read before any formula can be.
pub(crate) fn read_head(program: &Program, r: &JsonReader<'_>) -> Result<(Vec<Guard>, Vec<ProcId>), FileError> {
    let mut guards = Vec::new();
    for g in r.field("guards")?.list()? {
        guards.push(Guard { var: shared(program, &g.field("var")?)?, lock: shared(program, &g.field("lock")?)? });
    }
    let specified = r.field("specified")?.list()?.iter().map(|q| procedure(program, q)).collect::<Result<_, _>>()?;
    Ok((guards, specified))
}

/// `basis` is the program without calls, whose terms the pool extends.
pub(crate) fn read_reduction(
    program: &Program,
    (guards, specified): (Vec<Guard>, Vec<ProcId>),
    basis: &CallSummaries,
    r: &JsonReader<'_>,
    pool: &TermsFromFile,
) -> Result<Reduction, FileError> {
    let mut units = Vec::new();
    for u in r.field("units")?.list()? {
        let unit = match u.optional("procedure") {
            Some(q) => CodeUnit::Procedure(procedure(program, &q)?),
            None => CodeUnit::Thread(ThreadId(u.field("thread")?.index(program.threads.len())? as u32)),
        };
        let code = basis.code(unit);
        let mut cuts = Vec::new();
        for c in u.field("cuts")?.list()? {
            let word = c.field("phase")?;
            let phase = MoverPhase::ALL.iter().find(|(_, w)| word.string().is_ok_and(|x| x == *w)).map(|(p, _)| *p);
            cuts.push(CutPoint {
                location: LocId(c.field("location")?.index(code.locations.len())? as u32),
                position: c.field("position")?.count()?,
                phase: phase.ok_or_else(|| word.error("no such phase"))?,
                formula: pool.formula(&c.field("formula")?)?,
                rank: match c.optional("rank") {
                    Some(x) => Some(pool.term(&x.field("node")?)?),
                    None => None,
                },
            });
        }
        units.push(Reduced {
            unit,
            before: u.field("before")?.list()?.iter().map(|s| pool.symbol(s)).collect::<Result<_, _>>()?,
            right: u
                .field("right")?
                .list()?
                .iter()
                .map(|a| Ok(ActionId(a.index(code.actions.len())? as u32)))
                .collect::<Result<_, FileError>>()?,
            cuts,
        });
    }
    // Older files have none.
    let properties = |name: &str| match r.optional(name) {
        Some(list) => {
            let property = |q: &JsonReader<'_>| Ok(PropertyId(q.index(program.properties.len())? as u32));
            list.list()?.iter().map(property).collect::<Result<Vec<_>, FileError>>()
        }
        None => Ok(Vec::new()),
    };
    let (premises, lasting) = (properties("premises")?, properties("lasting")?);
    let prompt = match r.optional("prompt") {
        Some(list) => list.list()?.iter().map(|q| procedure(program, q)).collect::<Result<_, _>>()?,
        None => Vec::new(),
    };
    let variables = |name: &str| match r.optional(name) {
        Some(list) => list.list()?.iter().map(|v| shared(program, v)).collect::<Result<Vec<_>, FileError>>(),
        None => Ok(Vec::new()),
    };
    let (hidden, monitors) = (variables("hidden")?, variables("monitors")?);
    let found = match r.optional("found") {
        Some(list) => list.list()?.iter().map(|f| pool.formula(f)).collect::<Result<_, _>>()?,
        None => Vec::new(),
    };
    Ok(Reduction { guards, specified, premises, lasting, prompt, hidden, monitors, found, units })
}
