//! Procedures, machines and objects, to text. In: parts of a program. Out: lists that `read::specs` reads back.

use super::Writer;
use crate::code::Update;
use crate::spec::{Machine, MachineId, Object, ObjectId, Performs, ProcId, Procedure};
use crate::text::sexp::{Sexp, atom, form, text};

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
    if !q.olds.is_empty() {
        let both: Vec<_> = q.olds.iter().flat_map(|(v, copy)| [*v, *copy]).collect();
        parts.push(w.ids("olds", &both));
    }
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
        form("start", m.starts.iter().map(|s| atom(s.to_string()))),
    ];
    if !m.vars.is_empty() {
        parts.push(form("vars", m.vars.iter().map(|v| atom(v.to_string()))));
    }
    for s in &m.states {
        let assertion = s.assertion.map(|f| w.asked(f));
        parts.push(form("state", [text(&s.name), w.origin(s.origin)].into_iter().chain(assertion)));
    }
    for e in &m.edges {
        let ends = [atom(e.from.to_string()), atom(e.to.to_string()), w.origin(e.origin)];
        let set = |u: &Update| form("set", [atom(u.var.to_string()), w.term(u.value)]);
        let makes = e.makes.map(|v| form("makes", [atom(v.to_string())]));
        let own = e.sets.iter().map(set).chain(makes);
        parts.push(form("edge", ends.into_iter().chain(w.two_store(&e.action)).chain(own)));
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
