//! Proofs for any callers, and runs of callers, in a file. What stands inside speaks of the program with its client.
//!
//! In: a `CallersProof` or a `ClientRun`, or the JSON of one. Out: the other; a proof inside a proof counts towards the
//! depth that a file may have.

use super::FileError;
use super::read::JsonReader;
use crate::certificate::CallersProof;
use crate::client_run::ClientRun;
use program::callers::{LinearizationPoint, PointEffect, callers};
use program::client::{Effort, callees, client};
use program::{ActionId, Program};
use serde_json::{Value as Json, json};

pub(crate) fn write_callers(program: &Program, p: &CallersProof) -> Json {
    let linearization_points: Vec<Json> = p
        .linearization_points
        .iter()
        .map(|m| {
            let effect = match m.effect {
                PointEffect::Writes => "writes",
                PointEffect::Reads => "reads",
            };
            json!({ "operation": m.operation, "action": m.action.0, "effect": effect })
        })
        .collect();
    let inner = match callers(program, p.object, &p.linearization_points, Effort::Any) {
        Ok(c) => super::certificate(&c.program, &p.proof),
        Err(why) => json!({ "missing": why }),
    };
    json!({ "form": "callers", "object": p.object.map(|o| program.objects[o].name.clone()), "moments": linearization_points, "proof": inner })
}

pub(crate) fn read_callers(program: &Program, r: &JsonReader<'_>, depth: usize) -> Result<CallersProof, FileError> {
    let object = match r.optional("object") {
        None => None,
        Some(o) => {
            let name = o.string()?;
            let found = program.objects.iter_enumerated().find(|(_, x)| x.name == name).map(|(id, _)| id);
            Some(found.ok_or_else(|| o.error(format!("no object is called `{name}`")))?)
        }
    };
    let mut linearization_points = Vec::new();
    for m in r.field("moments")?.list()? {
        let effect = match m.field("effect")?.string()? {
            "writes" => PointEffect::Writes,
            "reads" => PointEffect::Reads,
            other => return Err(m.error(format!("an effect writes or reads, not `{other}`"))),
        };
        linearization_points.push(LinearizationPoint {
            operation: m.field("operation")?.count()?,
            action: ActionId(m.field("action")?.count()?),
            effect,
        });
    }
    let c = callers(program, object, &linearization_points, Effort::Any).map_err(|why| r.error(why))?;
    let proof = super::read_certificate(&c.program, &r.field("proof")?, depth + 1)?;
    Ok(CallersProof { object, linearization_points, proof: Box::new(proof) })
}

pub(crate) fn write_client_run(program: &Program, called: &ClientRun) -> Json {
    let effort = match called.effort {
        Effort::Any => json!("any"),
        Effort::Bounded { clients, calls, values } => json!({ "clients": clients, "calls": calls, "values": values }),
    };
    let trace = match client(program, &callees(program), called.effort) {
        Ok(c) => super::trace::write_trace(&c.program, &called.trace),
        Err(why) => json!({ "missing": why }),
    };
    json!({ "effort": effort, "trace": trace })
}

/// Larger clients than this are refused before anything is built for them.
const MAX_CLIENTS: u32 = 1000;

pub(crate) fn read_client_run(program: &Program, r: &JsonReader<'_>) -> Result<ClientRun, FileError> {
    let e = r.field("effort")?;
    let number = |name: &str| match e.field(name)?.count()? {
        n if n <= MAX_CLIENTS => Ok(n),
        _ => Err(e.error(format!("`{name}` is too large"))),
    };
    let effort = match e.string() {
        Ok("any") => Effort::Any,
        Ok(other) => return Err(e.error(format!("an effort is not `{other}`"))),
        Err(_) => Effort::Bounded { clients: number("clients")?, calls: number("calls")?, values: number("values")? },
    };
    let c = client(program, &callees(program), effort).map_err(|why| r.error(why))?;
    Ok(ClientRun { effort, trace: super::trace::read_trace(&c.program, &r.field("trace")?)? })
}
