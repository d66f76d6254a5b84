//! Procedures, machines and objects, to text and back.

use super::TextError;
use super::print::Writer;
use super::read::{Cursor, Reader};
use super::sexp::{Sexp, atom, form, text};
use crate::spec::{
    Edge, Machine, MachineId, Object, ObjectId, Operation, Performs, ProcId, Procedure, Spec, SpecOp, State,
};

pub(super) fn procedure(w: &Writer<'_>, id: ProcId, q: &Procedure) -> Sexp {
    let mut parts = vec![
        atom(id.to_string()),
        text(&q.name),
        atom(if q.inline { "inline" } else { "by-spec" }),
        w.origin(q.origin),
        w.ids("params", &q.params),
        w.ids("results", &q.results),
        w.ids("locals", &q.locals),
    ];
    parts.extend(q.requires.iter().map(|f| w.fact("requires", f)));
    parts.extend(q.ensures.iter().map(|f| w.fact("ensures", f)));
    parts.extend(q.performs.as_ref().map(|(s, p)| form("performs", [atom(p.to_string()), performs(w, s)])));
    parts.push(w.code("code", &q.code));
    form("procedure", parts)
}

fn performs(w: &Writer<'_>, p: &Performs) -> Sexp {
    match p {
        Performs::Action { label, action, origin } => {
            form("action", [text(label), w.origin(*origin)].into_iter().chain(w.two_store(action)))
        }
        Performs::Then(parts) => form("then", parts.iter().map(|x| performs(w, x))),
        Performs::Or(parts) => form("or", parts.iter().map(|x| performs(w, x))),
        Performs::Star(inner) => form("star", [performs(w, inner)]),
    }
}

pub(super) fn machine(w: &Writer<'_>, id: MachineId, m: &Machine) -> Sexp {
    let mut parts = vec![
        atom(id.to_string()),
        text(&m.name),
        atom(if m.strict { "strict" } else { "idle" }),
        w.origin(m.origin),
        form("start", [atom(m.start.to_string())]),
    ];
    for s in &m.states {
        let assertion = s.assertion.map(|f| w.asked(f));
        parts.push(form("state", [text(&s.name), w.origin(s.origin)].into_iter().chain(assertion)));
    }
    for e in &m.edges {
        let ends = [atom(e.from.to_string()), atom(e.to.to_string()), w.origin(e.origin)];
        parts.push(form("edge", ends.into_iter().chain(w.two_store(&e.action))));
    }
    form("machine", parts)
}

pub(super) fn object(w: &Writer<'_>, id: ObjectId, o: &Object) -> Sexp {
    let mut parts = vec![
        atom(id.to_string()),
        text(&o.name),
        atom(o.property.to_string()),
        w.origin(o.origin),
        w.ids("vars", &o.spec.vars),
    ];
    for x in &o.ops {
        let lists = [w.ids("params", &x.params), w.ids("results", &x.results), w.ids("locals", &x.locals)];
        let head = [text(&x.name), w.origin(x.origin)];
        parts.push(form("operation", head.into_iter().chain(lists).chain([w.code("code", &x.code)])));
    }
    for x in &o.spec.ops {
        let lists = [w.ids("params", &x.params), w.ids("results", &x.results), w.ids("locals", &x.locals)];
        parts.push(form("meaning", lists.into_iter().chain([w.code("code", &x.code)])));
    }
    form("object", parts)
}

pub(super) fn read_procedure(r: &Reader<'_>, c: &mut Cursor<'_>) -> Result<Procedure, TextError> {
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
        inline,
        code: crate::code::Code::new(),
        origin,
    };
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

fn read_performs(r: &Reader<'_>, mut c: Cursor<'_>) -> Result<Performs, TextError> {
    let parts = |mut c: Cursor<'_>| {
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

pub(super) fn read_machine(r: &Reader<'_>, c: &mut Cursor<'_>) -> Result<Machine, TextError> {
    let name = c.text()?;
    let strict = match c.atom()? {
        "strict" => true,
        "idle" => false,
        _ => return c.fail("a machine is `strict` or `idle`"),
    };
    let origin = c.id("o")?;
    let mut start = c.expect("start")?;
    let mut m = Machine { name, strict, states: vec![], start: start.number()?, edges: vec![], origin };
    start.end()?;
    while let Some(mut s) = c.next_if("state")? {
        let (name, origin) = (s.text()?, s.id("o")?);
        let assertion = if s.is_done() { None } else { Some(r.asked(&mut s)?) };
        s.end()?;
        m.states.push(State { name, assertion, origin });
    }
    while let Some(mut e) = c.next_if("edge")? {
        let (from, to, origin) = (e.number()?, e.number()?, e.id("o")?);
        let action = r.two_store(&mut e)?;
        e.end()?;
        m.edges.push(Edge { from, to, action, origin });
    }
    c.end()?;
    Ok(m)
}

pub(super) fn read_object(r: &Reader<'_>, c: &mut Cursor<'_>) -> Result<Object, TextError> {
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
