//! Procedures, machines and objects, from text. In: lists. Out: parts of a program, or where the text is wrong. Deliberately
//! absent: whether they make sense (`wellformed`).

use super::{ListCursor, TextReader};
use crate::code::Update;
use crate::spec::{Machine, MachineEdge, MachineState, Object, Operation, Performs, Procedure, Spec, SpecOp};
use crate::text::TextError;

pub(super) fn read_procedure(r: &TextReader<'_>, c: &mut ListCursor<'_>) -> Result<Procedure, TextError> {
    let name = c.text()?;
    let inline = match c.atom()? {
        "inline" => true,
        "by-spec" => false,
        _ => return c.fail("a procedure is `inline` or `by-spec`"),
    };
    let origin = c.id("o")?;
    let mut q = Procedure {
        name,
        params: c.id_list("params", "v")?,
        results: c.id_list("results", "v")?,
        locals: c.id_list("locals", "v")?,
        requires: vec![],
        ensures: vec![],
        performs: None,
        olds: vec![],
        inline,
        code: crate::code::Code::new(),
        origin,
    };
    if let Some(mut f) = c.next_if("olds")? {
        while !f.is_done() {
            q.olds.push((f.id("v")?, f.id("v")?));
        }
    }
    while let Some(mut f) = c.next_if("requires")? {
        q.requires.push(r.fact(&mut f)?);
    }
    while let Some(mut f) = c.next_if("ensures")? {
        q.ensures.push(r.fact(&mut f)?);
    }
    if let Some(mut f) = c.next_if("performs")? {
        let property = f.id("p")?;
        let spec = read_performs(r, f.list()?)?;
        f.end()?;
        q.performs = Some((spec, property));
    }
    q.code = r.code(c.expect("code")?)?;
    c.end()?;
    Ok(q)
}

fn read_performs(r: &TextReader<'_>, mut c: ListCursor<'_>) -> Result<Performs, TextError> {
    let parts = |mut c: ListCursor<'_>| {
        let mut out = Vec::new();
        while !c.is_done() {
            out.push(read_performs(r, c.list()?)?);
        }
        Ok::<_, TextError>(out)
    };
    match c.atom()? {
        "action" => {
            let (label, origin) = (c.text()?, c.id("o")?);
            let action = r.two_store(&mut c)?;
            c.end()?;
            Ok(Performs::Action { label, action, origin })
        }
        "then" => Ok(Performs::Then(parts(c)?)),
        "or" => Ok(Performs::Or(parts(c)?)),
        "star" => {
            let inner = read_performs(r, c.list()?)?;
            c.end()?;
            Ok(Performs::Star(Box::new(inner)))
        }
        _ => c.fail("this is no specification of a procedure"),
    }
}

pub(super) fn read_machine(r: &TextReader<'_>, c: &mut ListCursor<'_>) -> Result<Machine, TextError> {
    let name = c.text()?;
    let strict = match c.atom()? {
        "strict" => true,
        "idle" => false,
        _ => return c.fail("a machine is `strict` or `idle`"),
    };
    let origin = c.id("o")?;
    let mut start = c.expect("start")?;
    let mut m =
        Machine { name, strict, vars: vec![], states: vec![], starts: vec![start.number()?], edges: vec![], origin };
    while !start.is_done() {
        m.starts.push(start.number()?);
    }
    start.end()?;
    if let Some(mut vars) = c.next_if("vars")? {
        while !vars.is_done() {
            m.vars.push(vars.id("v")?);
        }
        vars.end()?;
    }
    while let Some(mut s) = c.next_if("state")? {
        let (name, origin) = (s.text()?, s.id("o")?);
        let assertion = if s.is_done() { None } else { Some(r.asked(&mut s)?) };
        s.end()?;
        m.states.push(MachineState { name, assertion, origin });
    }
    while let Some(mut e) = c.next_if("edge")? {
        let (from, to, origin) = (e.number()?, e.number()?, e.id("o")?);
        let action = r.two_store(&mut e)?;
        let (mut sets, mut makes) = (Vec::new(), None);
        while let Some(mut s) = e.next_if("set")? {
            sets.push(Update { var: s.id("v")?, value: r.term(&mut s)? });
            s.end()?;
        }
        if let Some(mut s) = e.next_if("makes")? {
            makes = Some(s.id("v")?);
            s.end()?;
        }
        e.end()?;
        m.edges.push(MachineEdge { from, to, action, sets, makes, origin });
    }
    c.end()?;
    Ok(m)
}

pub(super) fn read_object(r: &TextReader<'_>, c: &mut ListCursor<'_>) -> Result<Object, TextError> {
    let (name, property, origin) = (c.text()?, c.id("p")?, c.id("o")?);
    let vars = c.id_list("vars", "v")?;
    let mut o = Object { name, spec: Spec { vars, ops: vec![] }, ops: vec![], property, origin };
    while let Some(mut x) = c.next_if("operation")? {
        let (name, origin) = (x.text()?, x.id("o")?);
        let (params, results) = (x.id_list("params", "v")?, x.id_list("results", "v")?);
        let locals = x.id_list("locals", "v")?;
        let code = r.code(x.expect("code")?)?;
        x.end()?;
        o.ops.push(Operation { name, params, results, locals, code, origin });
    }
    while let Some(mut x) = c.next_if("meaning")? {
        let (params, results) = (x.id_list("params", "v")?, x.id_list("results", "v")?);
        let locals = x.id_list("locals", "v")?;
        let code = r.code(x.expect("code")?)?;
        x.end()?;
        o.spec.ops.push(SpecOp { params, results, locals, code });
    }
    c.end()?;
    Ok(o)
}
