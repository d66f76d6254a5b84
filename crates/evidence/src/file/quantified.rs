//! Facts about every choice of different instances, in a file.
//!
//! In: a `QuantifiedProof` with the pool of its terms, or the JSON of one. Out: the other, or a `FileError`.
//! Deliberately absent: whether it proves anything.

use super::FileError;
use super::read::JsonReader;
use super::terms::{Pool, TermsFromFile};
use crate::quantified::{InstanceCount, Placed, QuantifiedFact, QuantifiedProof};
use program::{LocId, Program, PropertyId};
use serde_json::{Value as Json, json};

pub(crate) fn write_quantified(program: &Program, p: &QuantifiedProof, pool: &mut Pool<'_>) -> Json {
    let symbols: Vec<Json> = p
        .symbols
        .iter()
        .map(|(own, further)| {
            let further: Vec<usize> = further.iter().map(|s| pool.symbol(*s)).collect();
            json!({ "of": pool.symbol(*own), "further": further })
        })
        .collect();
    let control: Vec<usize> = p.control.iter().map(|s| pool.symbol(*s)).collect();
    let facts: Vec<Json> = p
        .facts
        .iter()
        .map(|f| json!({ "of": places(program, &f.of), "formula": pool.formula(f.formula), "rests-on": f.rests_on }))
        .collect();
    let counts: Vec<Json> = p
        .counts
        .iter()
        .map(|c| json!({ "variable": program.vars[c.variable].name, "places": places(program, &c.places) }))
        .collect();
    let shown: Vec<Json> = p
        .shown
        .iter()
        .map(|(property, list)| json!({ "property": program.properties[*property].name, "rests-on": list }))
        .collect();
    json!({ "form": "quantified", "symbols": symbols, "control": control, "facts": facts, "counts": counts, "shown": shown })
}

fn places(program: &Program, list: &[Placed]) -> Vec<Json> {
    let one = |(thread, locations): &Placed| {
        let locations: Vec<u32> = locations.iter().map(|l| l.0).collect();
        json!({ "thread": program.threads[*thread].name, "locations": locations })
    };
    list.iter().map(one).collect()
}

pub(crate) fn read_quantified(
    program: &Program,
    r: &JsonReader<'_>,
    pool: &TermsFromFile,
) -> Result<QuantifiedProof, FileError> {
    let mut symbols = Vec::new();
    for s in r.field("symbols")?.list()? {
        let further = s.field("further")?.list()?.iter().map(|x| pool.symbol(x)).collect::<Result<_, _>>()?;
        symbols.push((pool.symbol(&s.field("of")?)?, further));
    }
    let control = r.field("control")?.list()?.iter().map(|x| pool.symbol(x)).collect::<Result<_, _>>()?;
    let list = r.field("facts")?.list()?;
    let positions = |r: &JsonReader<'_>| r.list()?.iter().map(|x| x.index(list.len())).collect::<Result<Vec<_>, _>>();
    let mut facts = Vec::new();
    for f in &list {
        facts.push(QuantifiedFact {
            of: read_places(program, &f.field("of")?)?,
            formula: pool.formula(&f.field("formula")?)?,
            rests_on: positions(&f.field("rests-on")?)?,
        });
    }
    let mut counts = Vec::new();
    for c in r.field("counts")?.list()? {
        let name = c.field("variable")?;
        let text = name.string()?;
        let found = program.shared().find(|v| program.vars[*v].name == text);
        let variable = found.ok_or_else(|| name.error(format!("no shared variable is called `{text}`")))?;
        counts.push(InstanceCount { variable, places: read_places(program, &c.field("places")?)? });
    }
    let mut shown = Vec::new();
    for x in r.field("shown")?.list()? {
        let name = x.field("property")?;
        shown.push((property(program, &name)?, positions(&x.field("rests-on")?)?));
    }
    Ok(QuantifiedProof { symbols, control, facts, counts, shown })
}

fn property(program: &Program, name: &JsonReader<'_>) -> Result<PropertyId, FileError> {
    let text = name.string()?;
    let found = program.properties.iter_enumerated().find(|(_, p)| p.name == text).map(|(id, _)| id);
    found.ok_or_else(|| name.error(format!("no property is called `{text}`")))
}

fn read_places(program: &Program, r: &JsonReader<'_>) -> Result<Vec<Placed>, FileError> {
    let mut out = Vec::new();
    for place in r.list()? {
        let thread = super::read::read_thread(program, &place.field("thread")?)?;
        let all = program.threads[thread].code.locations.len();
        let mut locations = Vec::new();
        for l in place.field("locations")?.list()? {
            locations.push(LocId(l.index(all)? as u32));
        }
        out.push((thread, locations));
    }
    Ok(out)
}
