//! Views in a file: `form: "views"`. Values are short words, so that a certificate can be read by a person.
//!
//! Words: `null any self link arg true false free me other < = >`, `c3` a cell, `g1` a group, `n5` a number, `e2` a variant.
//! Reading trusts nothing; whether positions fit together is for the checker to say.
//! In: `Views` with the pool of their terms, or the JSON of them. Out: the other, or a `FileError`.

use super::FileError;
use super::read::JsonReader;
use super::terms::{Pool, TermsFromFile};
use crate::views::{
    CellOwner, Control, Fires, OperationProgress, SpecPoint, Spine, SpineOrder, Status, Take, Taker, Val, View,
    ViewCell, Views,
};
use logic::ClassId;
use program::{ActionId, LocId, ObjectId, ThreadId, VarId};
use serde_json::{Value as Json, json};

pub(crate) fn write_views(views: &Views, pool: &mut Pool<'_>) -> Json {
    let points: Vec<Json> = views
        .points
        .iter()
        .map(|p| {
            let when = match p.when {
                Fires::Always => json!("always"),
                Fires::Change => json!("change"),
                Fires::When(t) => pool.formula(t),
            };
            json!({ "operation": p.operation, "action": p.action.0, "when": when })
        })
        .collect();
    let all: Vec<Json> = views.views.iter().map(view).collect();
    let spine = views.spine.map(|s| {
        let order = match s.order {
            SpineOrder::Sorted => "sorted",
            SpineOrder::Unsorted => "unsorted",
        };
        json!({ "root": s.root.0, "key": s.key.0, "order": order })
    });
    let takes: Vec<Json> = views
        .takes
        .iter()
        .map(|t| match t.code {
            Taker::Thread(x) => json!({ "thread": x.0, "action": t.action.0, "var": t.var.0 }),
            Taker::Operation(x) => json!({ "operation": x, "action": t.action.0, "var": t.var.0 }),
        })
        .collect();
    let object = views.object.map(|o| o.0);
    let roots: Vec<u32> = views.roots.iter().map(|v| v.0).collect();
    json!({
        "form": "views", "object": object, "points": points, "spine": spine, "takes": takes, "roots": roots, "views": all
    })
}

fn view(v: &View) -> Json {
    let control = match v.control {
        Control::Idle => json!(null),
        Control::Operation(o, at) => json!({ "operation": o, "at": at.0 }),
        Control::Thread(t, at) => json!({ "thread": t.0, "at": at.0 }),
    };
    let vars: Vec<Json> = v.vars.iter().map(|(var, val)| json!([var.0, word(*val)])).collect();
    let open: Vec<Json> = v.open.iter().map(|(var, vals)| json!([var.0, val_texts(vals)])).collect();
    let done = match &v.done {
        OperationProgress::No => json!(null),
        OperationProgress::Pure(r) => json!({ "pure": val_texts(r) }),
        OperationProgress::Changed(r) => json!({ "changed": val_texts(r) }),
    };
    json!({
        "control": control,
        "vars": vars,
        "open": open,
        "ends": v.ends.map(|(a, b)| val_texts(&[a, b])),
        "member": v.member,
        "crossing": v.crossing.map(|(a, b)| val_texts(&[a, b])),
        "done": done,
        "witnessed": v.witnessed,
        "cells": v.cells.iter().map(cell).collect::<Vec<_>>(),
        "groups": v.groups.iter().map(cell).collect::<Vec<_>>(),
    })
}

fn cell(c: &ViewCell) -> Json {
    json!({
        "class": c.class.0,
        "status": STATUSES.iter().find(|(s, _)| *s == c.status).map(|(_, name)| *name),
        "owner": match c.owner { CellOwner::Mine => "mine", CellOwner::Published => "published" },
        "fields": c.fields.iter().map(|f| val_texts(f)).collect::<Vec<_>>(),
        "successor": val_texts(&c.successor),
        "lone": c.single_predecessor,
        "sole": c.unshared,
    })
}

const STATUSES: [(Status, &str); 6] = [
    (Status::Never, "never"),
    (Status::In, "in"),
    (Status::Past, "past"),
    (Status::Before, "before"),
    (Status::After, "after"),
    (Status::Left, "left"),
];

fn val_texts(vals: &[Val]) -> Json {
    Json::Array(vals.iter().map(|v| Json::String(word(*v))).collect())
}

fn word(v: Val) -> String {
    match v {
        Val::Null => "null".into(),
        Val::Any => "any".into(),
        Val::Cell(i) => format!("c{i}"),
        Val::Group(g) => format!("g{g}"),
        Val::Itself => "self".into(),
        Val::AsLink => "link".into(),
        Val::Argument => "arg".into(),
        Val::Number(n) => format!("n{n}"),
        Val::Bool(b) => b.to_string(),
        Val::Variant(x) => format!("e{x}"),
        Val::Free => "free".into(),
        Val::Me => "me".into(),
        Val::Other => "other".into(),
        Val::Below => "<".into(),
        Val::Equal => "=".into(),
        Val::Above => ">".into(),
    }
}

fn read_word(r: &JsonReader<'_>) -> Result<Val, FileError> {
    let text = r.string()?;
    let wrong = || r.error(format!("`{text}` is no value of a view"));
    Ok(match text {
        "null" => Val::Null,
        "any" => Val::Any,
        "self" => Val::Itself,
        "link" => Val::AsLink,
        "arg" => Val::Argument,
        "true" => Val::Bool(true),
        "false" => Val::Bool(false),
        "free" => Val::Free,
        "me" => Val::Me,
        "other" => Val::Other,
        "<" => Val::Below,
        "=" => Val::Equal,
        ">" => Val::Above,
        _ => {
            let (kind, digits) = match text.chars().next() {
                Some(k) if k.is_ascii() => (k, &text[1..]),
                _ => return Err(wrong()),
            };
            match kind {
                'c' => Val::Cell(digits.parse().map_err(|_| wrong())?),
                'g' => Val::Group(digits.parse().map_err(|_| wrong())?),
                'n' => Val::Number(digits.parse().map_err(|_| wrong())?),
                'e' => Val::Variant(digits.parse().map_err(|_| wrong())?),
                _ => return Err(wrong()),
            }
        }
    })
}

fn read_words(r: &JsonReader<'_>) -> Result<Vec<Val>, FileError> {
    r.list()?.iter().map(read_word).collect()
}

pub(crate) fn read_views(r: &JsonReader<'_>, pool: &TermsFromFile) -> Result<Views, FileError> {
    let object = match r.optional("object") {
        Some(o) => Some(ObjectId(o.count()?)),
        None => None,
    };
    let mut points = Vec::new();
    for p in r.field("points")?.list()? {
        let when = p.field("when")?;
        let fires = match when.string() {
            Ok("always") => Fires::Always,
            Ok("change") => Fires::Change,
            _ => Fires::When(pool.formula(&when)?),
        };
        points.push(SpecPoint {
            operation: p.field("operation")?.count()?,
            action: ActionId(p.field("action")?.count()?),
            when: fires,
        });
    }
    let views = r.field("views")?.list()?.iter().map(read_view).collect::<Result<_, _>>()?;
    let spine = match r.optional("spine") {
        None => None,
        Some(s) => {
            let order = s.field("order")?;
            let order = match order.string()? {
                "sorted" => SpineOrder::Sorted,
                "unsorted" => SpineOrder::Unsorted,
                _ => return Err(order.error("`sorted` or `unsorted` was expected")),
            };
            Some(Spine { root: VarId(s.field("root")?.count()?), key: VarId(s.field("key")?.count()?), order })
        }
    };
    let mut takes = Vec::new();
    for t in r.optional("takes").map_or_else(|| Ok(Vec::new()), |t| t.list())? {
        takes.push(Take {
            code: match t.optional("operation") {
                Some(o) => Taker::Operation(o.count()?),
                None => Taker::Thread(ThreadId(t.field("thread")?.count()?)),
            },
            action: ActionId(t.field("action")?.count()?),
            var: VarId(t.field("var")?.count()?),
        });
    }
    let mut roots = Vec::new();
    for v in r.optional("roots").map_or_else(|| Ok(Vec::new()), |t| t.list())? {
        roots.push(VarId(v.count()?));
    }
    Ok(Views { object, points, spine, takes, roots, views })
}

fn read_view(r: &JsonReader<'_>) -> Result<View, FileError> {
    let control = match r.optional("control") {
        None => Control::Idle,
        Some(c) => {
            let at = LocId(c.field("at")?.count()?);
            match c.optional("operation") {
                Some(o) => Control::Operation(o.count()?, at),
                None => Control::Thread(ThreadId(c.field("thread")?.count()?), at),
            }
        }
    };
    let mut vars = Vec::new();
    for pair in r.field("vars")?.list()? {
        match &pair.list()?[..] {
            [var, val] => vars.push((VarId(var.count()?), read_word(val)?)),
            _ => return Err(pair.error("a variable and its value were expected")),
        }
    }
    let mut open = Vec::new();
    for pair in r.optional("open").map_or_else(|| Ok(Vec::new()), |o| o.list())? {
        match &pair.list()?[..] {
            [var, vals] => open.push((VarId(var.count()?), read_words(vals)?)),
            _ => return Err(pair.error("a variable and its values were expected")),
        }
    }
    let two = |name: &str| match r.optional(name) {
        None => Ok(None),
        Some(e) => match read_words(&e)?[..] {
            [a, b] => Ok(Some((a, b))),
            _ => Err(e.error("two values were expected")),
        },
    };
    let ends = two("ends")?;
    let crossing = two("crossing")?;
    let done = match r.optional("done") {
        None => OperationProgress::No,
        Some(d) => match d.optional("pure") {
            Some(p) => OperationProgress::Pure(read_words(&p)?),
            None => OperationProgress::Changed(read_words(&d.field("changed")?)?),
        },
    };
    let cells = |name: &str| r.field(name)?.list()?.iter().map(read_cell).collect::<Result<Vec<_>, FileError>>();
    Ok(View {
        control,
        vars,
        open,
        ends,
        member: r.optional("member").map(|m| m.boolean()).transpose()?,
        crossing,
        done,
        witnessed: r.field("witnessed")?.count()?,
        cells: cells("cells")?,
        groups: cells("groups")?,
    })
}

fn read_cell(r: &JsonReader<'_>) -> Result<ViewCell, FileError> {
    let status = r.field("status")?;
    let owner = r.field("owner")?;
    Ok(ViewCell {
        class: ClassId(r.field("class")?.count()?),
        status: {
            let word = status.string()?;
            let found = STATUSES.iter().find(|(_, name)| *name == word);
            found.ok_or_else(|| status.error("the place of a cell was expected, like `never` or `in`"))?.0
        },
        owner: match owner.string()? {
            "mine" => CellOwner::Mine,
            "published" => CellOwner::Published,
            _ => return Err(owner.error("`mine` or `published` was expected")),
        },
        fields: r.field("fields")?.list()?.iter().map(read_words).collect::<Result<_, _>>()?,
        successor: read_words(&r.field("successor")?)?,
        single_predecessor: r.field("lone")?.boolean()?,
        unshared: r.optional("sole").is_some_and(|s| s.boolean().unwrap_or(false)),
    })
}
