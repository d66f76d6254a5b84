//! Runs of a procedure among other threads, in files: that it does not perform its specification, or breaks an access predicate.
//!
//! In: a `SpecRun`, or the JSON of one. Out: the other, or a `FileError`.

use super::FileError;
use super::read::JsonReader;
use super::trace::{read_value, write_value};
use crate::spec_run::SpecRun;
use logic::{Sort, SortKind, Value};
use program::stage::{ProcedureStage, StageEvent, Write};
use program::{ActionId, Program, VarId};
use serde_json::{Value as Json, json};

pub(crate) fn write_spec_run(program: &Program, run: &SpecRun) -> Json {
    let stage = match ProcedureStage::new(program, run.procedure) {
        Ok(stage) => stage,
        Err(why) => return json!({ "missing": why }),
    };
    let p = &stage.program;
    let values = |vars: &[VarId], list: &[Value]| -> Vec<Json> {
        vars.iter().zip(list).map(|(v, x)| write_value(p, x, p.vars[*v].sort)).collect()
    };
    let event = |e: &StageEvent| match e {
        StageEvent::Own { action, inputs } => {
            let a = &p.threads[stage.thread].code.actions[*action];
            let sorts = a.inputs.iter().map(|x| p.terms.symbol_sort(*x));
            let inputs: Vec<Json> = sorts.zip(inputs).map(|(sort, v)| write_value(p, v, sort)).collect();
            json!({ "action": action.0, "shown": p.origins[a.origin].text, "inputs": inputs })
        }
        StageEvent::Other { thread, writes } => {
            let one = |w: &Write| {
                let mut sort = p.vars[w.var].sort;
                let mut keys = Vec::new();
                for k in &w.keys {
                    if let SortKind::Map(key, inner) = p.terms.kind(sort) {
                        keys.push(write_value(p, k, key));
                        sort = inner;
                    }
                }
                json!({ "var": p.vars[w.var].name, "keys": keys, "value": write_value(p, &w.value, sort) })
            };
            json!({ "thread": thread, "writes": writes.iter().map(one).collect::<Vec<_>>() })
        }
    };
    json!({
        "violates": p.properties[run.violates].name,
        "procedure": p.procedures[run.procedure].name,
        "store": values(&stage.shared, &run.store),
        "own": values(&stage.own, &run.own),
        "events": run.events.iter().map(event).collect::<Vec<_>>(),
    })
}

pub(crate) fn read_spec_run(program: &Program, r: &JsonReader<'_>) -> Result<SpecRun, FileError> {
    let name = r.field("procedure")?.string()?;
    let found = program.procedures.iter_enumerated().find(|(_, q)| q.name == name).map(|(id, _)| id);
    let procedure = found.ok_or_else(|| r.error(format!("no procedure is called `{name}`")))?;
    let stage = ProcedureStage::new(program, procedure).map_err(|why| r.error(why))?;
    let p = &stage.program;
    let values = |sorts: &[Sort], r: &JsonReader<'_>| -> Result<Vec<Value>, FileError> {
        let list = r.list()?;
        if list.len() != sorts.len() {
            return Err(r.error(format!("{} values were expected", sorts.len())));
        }
        list.iter().zip(sorts).map(|(v, s)| read_value(p, v, *s)).collect()
    };
    let sorts = |vars: &[VarId]| vars.iter().map(|v| p.vars[*v].sort).collect::<Vec<_>>();
    let code = &p.threads[stage.thread].code;
    let mut events = Vec::new();
    for e in r.field("events")?.list()? {
        if e.optional("thread").is_none() {
            let action = ActionId(e.field("action")?.index(code.actions.len())? as u32);
            let inputs: Vec<Sort> = code.actions[action].inputs.iter().map(|x| p.terms.symbol_sort(*x)).collect();
            events.push(StageEvent::Own { action, inputs: values(&inputs, &e.field("inputs")?)? });
            continue;
        }
        let mut writes = Vec::new();
        for w in e.field("writes")?.list()? {
            let name = w.field("var")?.string()?;
            let var = stage.shared.iter().copied().find(|v| p.vars[*v].name == name);
            let var = var.ok_or_else(|| w.error(format!("no shared variable is called `{name}`")))?;
            let mut sort = p.vars[var].sort;
            let mut keys = Vec::new();
            for k in w.field("keys")?.list()? {
                let SortKind::Map(key, inner) = p.terms.kind(sort) else {
                    return Err(k.error("there are more keys than the variable has"));
                };
                keys.push(read_value(p, &k, key)?);
                sort = inner;
            }
            writes.push(Write { var, keys, value: read_value(p, &w.field("value")?, sort)? });
        }
        events.push(StageEvent::Other { thread: e.field("thread")?.count()?, writes });
    }
    Ok(SpecRun {
        violates: super::property(program, &r.field("violates")?)?,
        procedure,
        store: values(&sorts(&stage.shared), &r.field("store")?)?,
        own: values(&sorts(&stage.own), &r.field("own")?)?,
        events,
    })
}
