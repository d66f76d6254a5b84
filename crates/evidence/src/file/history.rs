//! Histories of objects in a file: the clients' calls, and the run of the client program that they make.
//!
//! The run is one of `program::clients::client_program`, which is built again from the calls when the file is read.
//! In: a `History`, or the JSON of one. Out: the other, or a `FileError`.

use super::read::JsonReader;
use super::trace::{self, read_value, write_value};
use super::{FileError, property};
use crate::history::History;
use program::clients::{Against, ClientCall, Clients, client_program};
use program::{ObjectId, Program};
use serde_json::{Value as Json, json};

pub(crate) fn write_history(program: &Program, h: &History) -> Json {
    let object = &program.objects[h.object];
    let call = |c: &ClientCall| {
        let op = &object.ops[c.operation];
        let sorts = op.params.iter().map(|p| program.vars[*p].sort);
        let arguments: Vec<Json> = sorts.zip(&c.arguments).map(|(s, v)| write_value(program, v, s)).collect();
        json!({ "operation": op.name, "arguments": arguments })
    };
    let clients: Vec<Vec<Json>> = h.clients.0.iter().map(|calls| calls.iter().map(call).collect()).collect();
    let run = h.program(program).map(|(p, _)| trace::write_trace(&p, &h.trace));
    json!({
        "object": object.name,
        "clients": clients,
        "against": match h.against {
            Against::Orders => "orders",
            Against::Marks => "marks",
        },
        "gate": h.gate.map(|g| program.properties[g].name.clone()),
        "run": run.unwrap_or(Json::Null),
    })
}

pub(crate) fn read_history(program: &Program, r: &JsonReader<'_>) -> Result<History, FileError> {
    let name = r.field("object")?.string()?;
    let found = program.objects.iter_enumerated().find(|(_, o)| o.name == name);
    let (object, decl): (ObjectId, _) = found.ok_or_else(|| r.error(format!("no object is called `{name}`")))?;
    let mut clients = Vec::new();
    for client in r.field("clients")?.list()? {
        let mut calls = Vec::new();
        for call in client.list()? {
            let name = call.field("operation")?.string()?;
            let operation = decl.ops.iter().position(|o| o.name == name);
            let operation = operation.ok_or_else(|| call.error(format!("no operation is called `{name}`")))?;
            let list = call.field("arguments")?;
            let params = &decl.ops[operation].params;
            if list.list()?.len() != params.len() {
                return Err(list.error(format!("{} arguments were expected", params.len())));
            }
            let values = list.list()?.into_iter().zip(params);
            let arguments =
                values.map(|(v, p)| read_value(program, &v, program.vars[*p].sort)).collect::<Result<_, _>>()?;
            calls.push(ClientCall { operation, arguments });
        }
        clients.push(calls);
    }
    let clients = Clients(clients);
    let gate = r.optional("gate").map(|g| property(program, &g)).transpose()?;
    // Where nothing is said, all orders were tried.
    let against = match r.optional("against").map(|a| a.string()).transpose()? {
        None | Some("orders") => Against::Orders,
        Some("marks") => Against::Marks,
        Some(_) => return Err(r.error("a history is held against `orders` or `marks`")),
    };
    let (client, _) = client_program(program, object, &clients, against).map_err(|why| r.error(why))?;
    let trace = trace::read_trace(&client, &r.field("run")?)?;
    Ok(History { object, clients, against, gate, trace })
}
