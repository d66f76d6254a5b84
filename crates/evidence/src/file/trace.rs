//! Traces and values in a file.
//!
//! In: a `Trace`, a `LocalRun` or a value with its sort, or the JSON of one. Out: the other, or a `FileError`.

use super::FileError;
use super::read::{JsonReader, number};
use crate::local_run::{CallReading, LocalRun, LocalStep};
use crate::trace::{Choice, InstanceCounts, Trace, TraceStep};
use logic::value::MapValue;
use logic::{ReadPlace, Sort, SortKind, Symbol, Value};
use program::{ActionId, Program, ThreadId, VarId};
use serde_json::{Value as Json, json};

pub(crate) fn write_trace(program: &Program, trace: &Trace) -> Json {
    let steps: Vec<Json> = trace
        .steps
        .iter()
        .map(|s| {
            let code = &program.threads[s.thread].code;
            let action = &code.actions[s.action];
            let inputs: Vec<Json> = action
                .inputs
                .iter()
                .zip(&s.inputs)
                .map(|(x, v)| write_value(program, v, program.terms.symbol_sort(*x)))
                .collect();
            json!({
                "instance": s.instance,
                "thread": program.threads[s.thread].name,
                "action": s.action.0,
                "shown": program.origins[action.origin].text,
                "inputs": inputs,
                "choices": choices(program, &s.choices),
            })
        })
        .collect();
    json!({
        "instances": trace.instances.0,
        "initial": choices(program, &trace.initial),
        "steps": steps,
        "finally": choices(program, &trace.finally),
        "violates": program.properties[trace.violates].name,
    })
}

pub(crate) fn write_local(program: &Program, local: &LocalRun) -> Json {
    match local.reading.of(program) {
        Ok(read) => write_run(program, &read, local),
        Err(why) => json!({ "missing": why }),
    }
}

/// `read` is the program as the run reads it.
fn write_run(program: &Program, read: &Program, local: &LocalRun) -> Json {
    let values = |vars: &[VarId], list: &[Value]| -> Vec<Json> {
        vars.iter().zip(list).map(|(v, x)| write_value(read, x, read.vars[*v].sort)).collect()
    };
    let shared: Vec<VarId> = read.shared().collect();
    let thread = &read.threads[local.thread];
    let steps: Vec<Json> = local
        .steps
        .iter()
        .map(|s| {
            let action = &thread.code.actions[s.action];
            let sorts = action.inputs.iter().map(|x| read.terms.symbol_sort(*x));
            let inputs: Vec<Json> = sorts.zip(&s.inputs).map(|(sort, v)| write_value(read, v, sort)).collect();
            json!({
                "store": values(&shared, &s.store),
                "action": s.action.0,
                "shown": read.origins[action.origin].text,
                "inputs": inputs,
            })
        })
        .collect();
    json!({
        "violates": read.properties[local.violates].name,
        "thread": thread.name,
        "reading": local.reading.word(),
        "locals": values(&thread.locals, &local.locals),
        "steps": steps,
        "also": local.also.as_ref().map(|l| write_local(program, l)),
    })
}

pub(crate) fn read_local(program: &Program, r: &JsonReader<'_>, depth: usize) -> Result<LocalRun, FileError> {
    let word = r.field("reading")?.string()?;
    let reading = CallReading::ALL.iter().find(|(_, w)| *w == word).map(|(x, _)| *x);
    let reading = reading.ok_or_else(|| r.error(format!("calls cannot be read as `{word}`")))?;
    let read = &reading.of(program).map_err(|why| r.error(why))?;
    let name = r.field("thread")?.string()?;
    let thread = read.threads.iter_enumerated().find(|(_, t)| t.name == name).map(|(id, _)| id);
    let thread: ThreadId = thread.ok_or_else(|| r.error(format!("no thread is called `{name}`")))?;
    let values = |sorts: &[Sort], r: &JsonReader<'_>| -> Result<Vec<Value>, FileError> {
        let list = r.list()?;
        if list.len() != sorts.len() {
            return Err(r.error(format!("{} values were expected", sorts.len())));
        }
        list.iter().zip(sorts).map(|(v, s)| read_value(read, v, *s)).collect()
    };
    let sorts = |vars: &[VarId]| vars.iter().map(|v| read.vars[*v].sort).collect::<Vec<_>>();
    let shared = sorts(&read.shared().collect::<Vec<_>>());
    let code = &read.threads[thread].code;
    let mut steps = Vec::new();
    for s in r.field("steps")?.list()? {
        let action = ActionId(s.field("action")?.index(code.actions.len())? as u32);
        let inputs: Vec<Sort> = code.actions[action].inputs.iter().map(|x| read.terms.symbol_sort(*x)).collect();
        steps.push(LocalStep {
            store: values(&shared, &s.field("store")?)?,
            action,
            inputs: values(&inputs, &s.field("inputs")?)?,
        });
    }
    let also = match r.optional("also") {
        Some(_) if depth > 0 => return Err(r.error("there are two readings, not more")),
        Some(l) => Some(Box::new(read_local(program, &l, depth + 1)?)),
        None => None,
    };
    Ok(LocalRun {
        violates: super::property(program, &r.field("violates")?)?,
        thread,
        reading,
        locals: values(&sorts(&read.threads[thread].locals), &r.field("locals")?)?,
        steps,
        also,
    })
}

fn choices(program: &Program, list: &[Choice]) -> Vec<Json> {
    list.iter()
        .map(|c| {
            let mut sort = program.terms.symbol_sort(c.place.symbol);
            let mut keys = Vec::new();
            for k in &c.place.keys {
                if let SortKind::Map(key, value) = program.terms.kind(sort) {
                    keys.push(write_value(program, k, key));
                    sort = value;
                }
            }
            json!({
                "instance": c.instance,
                "symbol": c.place.symbol.0,
                "shown": program.terms.symbol_name(c.place.symbol),
                "keys": keys,
                "value": write_value(program, &c.value, sort),
            })
        })
        .collect()
}

pub(crate) fn read_trace(program: &Program, r: &JsonReader<'_>) -> Result<Trace, FileError> {
    let instances =
        InstanceCounts(r.field("instances")?.list()?.iter().map(JsonReader::count).collect::<Result<_, _>>()?);
    let mut steps = Vec::new();
    for s in r.field("steps")?.list()? {
        let name = s.field("thread")?.string()?;
        let thread = program.threads.iter_enumerated().find(|(_, t)| t.name == name).map(|(id, _)| id);
        let thread: ThreadId = thread.ok_or_else(|| s.error(format!("no thread is called `{name}`")))?;
        let code = &program.threads[thread].code;
        let action = ActionId(s.field("action")?.index(code.actions.len())? as u32);
        let symbols = &code.actions[action].inputs;
        let values = s.field("inputs")?.list()?;
        if values.len() != symbols.len() {
            return Err(s.error("one value for each input is needed"));
        }
        let inputs = values
            .iter()
            .zip(symbols)
            .map(|(v, x)| read_value(program, v, program.terms.symbol_sort(*x)))
            .collect::<Result<_, _>>()?;
        steps.push(TraceStep {
            instance: s.field("instance")?.count()?,
            thread,
            action,
            inputs,
            choices: read_choices(program, &s.field("choices")?)?,
        });
    }
    Ok(Trace {
        instances,
        initial: read_choices(program, &r.field("initial")?)?,
        steps,
        finally: read_choices(program, &r.field("finally")?)?,
        violates: super::property(program, &r.field("violates")?)?,
    })
}

fn read_choices(program: &Program, r: &JsonReader<'_>) -> Result<Vec<Choice>, FileError> {
    let mut out = Vec::new();
    for c in r.list()? {
        let symbol = Symbol(c.field("symbol")?.index(program.terms.symbol_count())? as u32);
        let mut sort = program.terms.symbol_sort(symbol);
        let mut keys = Vec::new();
        for k in c.field("keys")?.list()? {
            let SortKind::Map(key, value) = program.terms.kind(sort) else { return Err(k.error("this has no keys")) };
            keys.push(read_value(program, &k, key)?);
            sort = value;
        }
        let instance = c.optional("instance").map(|i| i.count()).transpose()?;
        out.push(Choice {
            instance,
            place: ReadPlace { symbol, keys },
            value: read_value(program, &c.field("value")?, sort)?,
        });
    }
    Ok(out)
}

/// A value as JSON; an undecided one is null.
pub(crate) fn write_value(program: &Program, value: &Value, sort: Sort) -> Json {
    match (value, program.terms.kind(sort)) {
        (Value::Bool(b), _) => json!(b),
        (Value::Int(n), _) => number(*n),
        (Value::Variant(v), _) => json!({ "variant": v }),
        (Value::Ref(n), _) => json!({ "ref": n }),
        (Value::Map(m), SortKind::Map(k, v)) => {
            let entries: Vec<Json> = m
                .entries
                .iter()
                .map(|(key, value)| json!([write_value(program, key, k), write_value(program, value, v)]))
                .collect();
            json!({ "default": write_value(program, &m.default, v), "entries": entries })
        }
        (Value::Set(s), SortKind::Set(e)) => {
            json!({ "set": s.iter().map(|x| write_value(program, x, e)).collect::<Vec<_>>() })
        }
        (Value::Seq(s), SortKind::Seq(e)) => {
            json!({ "seq": s.iter().map(|x| write_value(program, x, e)).collect::<Vec<_>>() })
        }
        _ => Json::Null,
    }
}

/// A value of the sort; anything else is an error.
pub(crate) fn read_value(program: &Program, r: &JsonReader<'_>, sort: Sort) -> Result<Value, FileError> {
    let t = &program.terms;
    match t.kind(sort) {
        SortKind::Map(k, v) => {
            let mut map =
                MapValue { default: read_value(program, &r.field("default")?, v)?, entries: Default::default() };
            for e in r.field("entries")?.list()? {
                match &e.list()?[..] {
                    [key, value] => map.set(read_value(program, key, k)?, read_value(program, value, v)?),
                    _ => return Err(e.error("a key and a value were expected")),
                }
            }
            Ok(Value::Map(Box::new(map)))
        }
        _ if r.is_null() => Ok(Value::Any),
        SortKind::Bool => Ok(Value::Bool(r.boolean()?)),
        SortKind::Int => Ok(Value::Int(r.number()?)),
        SortKind::Machine(m) => {
            let n = r.number()?;
            if (m.min()..=m.max()).contains(&n) {
                Ok(Value::Int(n))
            } else {
                Err(r.error("the number is out of range"))
            }
        }
        SortKind::Enum(e) => Ok(Value::Variant(r.field("variant")?.index(t.enum_size(e))? as u32)),
        SortKind::Ref(_) => Ok(Value::Ref(r.field("ref")?.count()?)),
        SortKind::Set(e) => {
            let items = r.field("set")?.list()?;
            Ok(Value::Set(items.iter().map(|x| read_value(program, x, e)).collect::<Result<_, _>>()?))
        }
        SortKind::Seq(e) => {
            let items = r.field("seq")?.list()?;
            Ok(Value::Seq(items.iter().map(|x| read_value(program, x, e)).collect::<Result<_, _>>()?))
        }
    }
}
