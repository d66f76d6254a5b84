//! Proof forms in a file. Each form has a stable name; a reader of an unknown form refuses.
//!
//! In: a `Proof` with the pool of its terms, or the JSON of one. Out: the other, or a `FileError`. Deliberately absent:
//! forms with files of their own (`reduction`, `views`, `callers`, `asserted`).

use super::FileError;
use super::read::{JsonReader, read_thread};
use super::terms::{Pool, TermsFromFile};
use crate::certificate::{
    AssumeGuarantee, Assumes, ComposedProof, Counter, Counting, Environments, ExhaustiveSearch, InstanceSymbols,
    PairsProof, PerformedProof, Premises, ProductProof, Proof, RelatedPair, RelyGuarantee, Simulation, SimulationPair,
    SymbolicSimulation, ThreadAnnotation, performed_program,
};
use logic::{Symbol, Term};
use program::call_summaries::access_first;
use program::{LocId, Program, ThreadId};
use serde_json::{Value as Json, json};

pub(crate) fn write_proof(program: &Program, proof: &Proof, pool: &mut Pool<'_>) -> Json {
    match proof {
        Proof::RelyGuarantee(p) => {
            let threads: Vec<Json> = p
                .threads
                .iter()
                .map(|a| {
                    json!({
                        "thread": thread_name(program, a.thread),
                        "at": formulas(&a.at, pool),
                        "guarantee": pool.formula(a.guarantee),
                        "rely": a.rely.map(|r| pool.formula(r)),
                    })
                })
                .collect();
            json!({ "form": "rely-guarantee", "invariant": pool.formula(p.invariant), "threads": threads })
        }
        Proof::AssumeGuarantee(p) => {
            let threads: Vec<Json> = p
                .threads
                .iter()
                .map(|a| {
                    let cuts: Vec<Json> =
                        a.cuts.iter().map(|(l, f)| json!({ "location": l.0, "formula": pool.formula(*f) })).collect();
                    let rely = pool.formula(a.rely);
                    json!({ "thread": thread_name(program, a.thread), "rely": rely, "cuts": cuts })
                })
                .collect();
            let invariant = pool.formula(p.invariant);
            let mut out = json!({ "form": "assume-guarantee", "invariant": invariant, "threads": threads });
            if p.premises == Premises::Relevant {
                out["reach"] = json!("near");
            }
            out
        }
        Proof::Environments(p) => {
            let instances = write_instances(program, &p.instances, pool);
            let reach: Vec<Json> = p.reach.iter().map(|r| formulas(r, pool)).collect();
            json!({
                "form": "environments",
                "instances": instances,
                "reach": reach,
                "environment": formulas(&p.environment, pool),
            })
        }
        Proof::Product(p) => {
            let invariant = by_locations(&p.invariant, pool);
            json!({ "form": "product", "instances": write_instances(program, &p.instances, pool), "invariant": invariant })
        }
        Proof::Pairs(p) => {
            let symbols: Vec<Json> = p
                .symbols
                .iter()
                .map(|(own, b, c)| json!({ "of": pool.symbol(*own), "second": pool.symbol(*b), "third": pool.symbol(*c) }))
                .collect();
            let place = |(t, l): (ThreadId, LocId)| json!({ "thread": thread_name(program, t), "location": l.0 });
            let related: Vec<Json> = p
                .related
                .iter()
                .map(|r| {
                    let formula = pool.formula(r.formula);
                    json!({ "first": place(r.first), "second": place(r.second), "formula": formula })
                })
                .collect();
            json!({ "form": "pairs", "symbols": symbols, "related": related })
        }
        Proof::Counting(p) => {
            let unique_threads: Vec<Json> = p
                .unique_threads
                .iter()
                .map(|(t, tid)| json!({ "thread": thread_name(program, *t), "tid": pool.symbol(*tid) }))
                .collect();
            let counters: Vec<Json> = p
                .counters
                .iter()
                .map(|c| {
                    json!({
                        "thread": thread_name(program, c.thread),
                        "location": c.location.0,
                        "cell": pool.formula(c.cell),
                        "holds": pool.formula(c.holds),
                        "symbol": pool.symbol(c.symbol),
                    })
                })
                .collect();
            let invariant = by_locations(&p.invariant, pool);
            let second: Vec<Json> =
                p.peer_copy.iter().map(|(a, b)| json!({ "of": pool.symbol(*a), "symbol": pool.symbol(*b) })).collect();
            let pairwise: Vec<Json> = p
                .pairwise
                .iter()
                .map(|(a, b, f)| json!({ "first": a, "second": b, "formula": pool.formula(*f) }))
                .collect();
            let exclusive: Vec<Json> = p.exclusive.iter().map(|(a, b)| json!([a, b])).collect();
            json!({
                "form": "counting", "singles": unique_threads, "counters": counters, "second": second, "apart": pairwise,
                "exclusive": exclusive, "invariant": invariant,
            })
        }
        Proof::Search(p) => json!({ "form": "search", "instances": p.instances, "states": p.states }),
        Proof::Simulation(p) => simulation(program, p, pool),
        Proof::Composed(p) => {
            let simulations: Vec<Json> = p.simulations.iter().map(|s| simulation(program, s, pool)).collect();
            // The certificate inside speaks of the composed program, whose ids extend this program's.
            let inner = match program::compose::compose_machines(program) {
                Ok(composed) => super::certificate(&composed, &p.composition),
                Err(why) => json!({ "missing": why }),
            };
            json!({ "form": "composed", "simulations": simulations, "composition": inner })
        }
        Proof::Quantified(p) => super::quantified::write_quantified(program, p, pool),
        Proof::Views(v) => super::views::write_views(v, pool),
        Proof::Reduction(r) => super::reduction::write_reduction(program, r, pool),
        Proof::Performed(p) => {
            let inner = match p.program(program) {
                Ok(following) => super::certificate(&following, &p.proof),
                Err(why) => json!({ "missing": why }),
            };
            let calls = super::certificate(&access_first(program), &p.calls);
            json!({ "form": "performed", "calls": calls, "proof": inner })
        }
        Proof::Asserted(p) => super::asserted::write_asserted(program, p, pool),
        Proof::Callers(p) => super::callers::write_callers(program, p),
    }
}

fn write_instances(program: &Program, list: &[InstanceSymbols], pool: &mut Pool<'_>) -> Json {
    let one = |i: &InstanceSymbols, pool: &mut Pool<'_>| {
        let locals: Vec<Json> = i.locals.iter().map(|(a, b)| json!([pool.symbol(*a), pool.symbol(*b)])).collect();
        let pc = json!([pool.symbol(i.pc.0), pool.symbol(i.pc.1)]);
        json!({ "thread": thread_name(program, i.thread), "locals": locals, "pc": pc })
    };
    Json::Array(list.iter().map(|i| one(i, pool)).collect())
}

fn read_instances(
    program: &Program,
    r: &JsonReader<'_>,
    pool: &TermsFromFile,
) -> Result<Vec<InstanceSymbols>, FileError> {
    let pair = |p: &JsonReader<'_>| match &p.list()?[..] {
        [a, b] => Ok((pool.symbol(a)?, pool.symbol(b)?)),
        _ => Err(p.error("a pair of symbols was expected")),
    };
    let mut instances = Vec::new();
    for i in r.list()? {
        instances.push(InstanceSymbols {
            thread: read_thread(program, &i.field("thread")?)?,
            locals: i.field("locals")?.list()?.iter().map(pair).collect::<Result<_, _>>()?,
            pc: pair(&i.field("pc")?)?,
        });
    }
    Ok(instances)
}

fn simulation(program: &Program, s: &Simulation, pool: &mut Pool<'_>) -> Json {
    let pairs: Vec<Json> = s
        .pairs
        .iter()
        .map(|p| json!({ "location": p.location.0, "candidates": p.candidates, "formula": pool.formula(p.formula) }))
        .collect();
    let symbolic = s.symbolic.as_ref().map(|y| {
        let candidates: Vec<usize> = y.candidates.iter().map(|c| pool.symbol(*c)).collect();
        let cuts: Vec<Json> =
            y.cuts.iter().map(|(at, f)| json!({ "location": at.0, "formula": pool.formula(*f) })).collect();
        json!({ "candidates": candidates, "cuts": cuts })
    });
    let mut out = json!({ "form": "simulation", "thread": thread_name(program, s.thread), "pairs": pairs });
    if let Some(symbolic) = symbolic {
        out["symbolic"] = symbolic;
    }
    if !s.own.is_empty() {
        let of_state = |own: &Vec<Symbol>| -> Vec<usize> { own.iter().map(|x| pool.symbol(*x)).collect() };
        out["own"] = json!(s.own.iter().map(of_state).collect::<Vec<_>>());
    }
    out
}

fn read_simulation(program: &Program, r: &JsonReader<'_>, pool: &TermsFromFile) -> Result<Simulation, FileError> {
    let thread = read_thread(program, &r.field("thread")?)?;
    let mut pairs = Vec::new();
    for p in r.field("pairs")?.list()? {
        pairs.push(SimulationPair {
            location: LocId(p.field("location")?.index(program.threads[thread].code.locations.len())? as u32),
            candidates: p.field("candidates")?.list()?.iter().map(JsonReader::count).collect::<Result<_, _>>()?,
            formula: pool.formula(&p.field("formula")?)?,
        });
    }
    let mut own = Vec::new();
    for state in r.optional("own").map_or_else(|| Ok(Vec::new()), |own| own.list())? {
        own.push(state.list()?.iter().map(|s| pool.symbol(s)).collect::<Result<_, _>>()?);
    }
    let Some(y) = r.optional("symbolic") else { return Ok(Simulation { thread, own, pairs, symbolic: None }) };
    let mut cuts = Vec::new();
    for c in y.field("cuts")?.list()? {
        let at = c.field("location")?.index(program.threads[thread].code.locations.len())?;
        cuts.push((LocId(at as u32), pool.formula(&c.field("formula")?)?));
    }
    let candidates = y.field("candidates")?.list()?.iter().map(|c| pool.symbol(c)).collect::<Result<_, _>>()?;
    Ok(Simulation { thread, own, pairs, symbolic: Some(SymbolicSimulation { candidates, cuts }) })
}

/// A formula for each combination of locations.
fn by_locations(list: &[(Vec<LocId>, Term)], pool: &mut Pool<'_>) -> Json {
    let one = |(at, formula): &(Vec<LocId>, Term)| {
        let at: Vec<u32> = at.iter().map(|l| l.0).collect();
        json!({ "at": at, "formula": pool.formula(*formula) })
    };
    Json::Array(list.iter().map(one).collect())
}

fn formulas(list: &[Term], pool: &mut Pool<'_>) -> Json {
    Json::Array(list.iter().map(|f| pool.formula(*f)).collect())
}

fn thread_name(program: &Program, t: ThreadId) -> String {
    program.threads[t].name.clone()
}

fn read_formulas(r: &JsonReader<'_>, pool: &TermsFromFile) -> Result<Vec<Term>, FileError> {
    r.list()?.iter().map(|f| pool.formula(f)).collect()
}

pub(crate) fn read_proof(
    program: &Program,
    r: &JsonReader<'_>,
    pool: &TermsFromFile,
    depth: usize,
) -> Result<Proof, FileError> {
    match r.field("form")?.string()? {
        "rely-guarantee" => {
            let mut threads = Vec::new();
            for t in r.field("threads")?.list()? {
                threads.push(ThreadAnnotation {
                    thread: read_thread(program, &t.field("thread")?)?,
                    at: read_formulas(&t.field("at")?, pool)?,
                    guarantee: pool.formula(&t.field("guarantee")?)?,
                    rely: t.optional("rely").map(|r| pool.formula(&r)).transpose()?,
                });
            }
            Ok(Proof::RelyGuarantee(RelyGuarantee { invariant: pool.formula(&r.field("invariant")?)?, threads }))
        }
        "assume-guarantee" => {
            let mut threads = Vec::new();
            for t in r.field("threads")?.list()? {
                let thread = read_thread(program, &t.field("thread")?)?;
                let mut cuts = Vec::new();
                for c in t.field("cuts")?.list()? {
                    let at = c.field("location")?.index(program.threads[thread].code.locations.len())?;
                    cuts.push((LocId(at as u32), pool.formula(&c.field("formula")?)?));
                }
                threads.push(Assumes { thread, rely: pool.formula(&t.field("rely")?)?, cuts });
            }
            let reach = match r.optional("reach") {
                None => Premises::All,
                Some(word) if word.string()? == "near" => Premises::Relevant,
                Some(word) => return Err(word.error("`near` was expected, or nothing")),
            };
            let invariant = pool.formula(&r.field("invariant")?)?;
            Ok(Proof::AssumeGuarantee(AssumeGuarantee { invariant, threads, premises: reach }))
        }
        "environments" => {
            let instances = read_instances(program, &r.field("instances")?, pool)?;
            let reach = r.field("reach")?.list()?.iter().map(|x| read_formulas(x, pool)).collect::<Result<_, _>>()?;
            let environment = read_formulas(&r.field("environment")?, pool)?;
            Ok(Proof::Environments(Environments { instances, reach, environment }))
        }
        "product" => {
            let instances = read_instances(program, &r.field("instances")?, pool)?;
            let mut invariant = Vec::new();
            for i in r.field("invariant")?.list()? {
                let places = i.field("at")?.list()?;
                if places.len() != instances.len() {
                    return Err(i.error("one location for each instance is needed"));
                }
                let mut at = Vec::new();
                for (l, instance) in places.iter().zip(&instances) {
                    at.push(LocId(l.index(program.threads[instance.thread].code.locations.len())? as u32));
                }
                invariant.push((at, pool.formula(&i.field("formula")?)?));
            }
            Ok(Proof::Product(ProductProof { instances, invariant }))
        }
        "pairs" => {
            let mut symbols = Vec::new();
            for s in r.field("symbols")?.list()? {
                let part = |name: &str| pool.symbol(&s.field(name)?);
                symbols.push((part("of")?, part("second")?, part("third")?));
            }
            let place = |r: &JsonReader<'_>| {
                let thread = read_thread(program, &r.field("thread")?)?;
                let at = r.field("location")?.index(program.threads[thread].code.locations.len())?;
                Ok::<_, FileError>((thread, LocId(at as u32)))
            };
            let mut related = Vec::new();
            for x in r.field("related")?.list()? {
                let (first, second) = (place(&x.field("first")?)?, place(&x.field("second")?)?);
                related.push(RelatedPair { first, second, formula: pool.formula(&x.field("formula")?)? });
            }
            Ok(Proof::Pairs(PairsProof { symbols, related }))
        }
        "counting" => {
            let location = |t: ThreadId, r: &JsonReader<'_>| {
                Ok::<_, FileError>(LocId(r.index(program.threads[t].code.locations.len())? as u32))
            };
            let mut unique_threads = Vec::new();
            for x in r.field("singles")?.list()? {
                unique_threads.push((read_thread(program, &x.field("thread")?)?, pool.symbol(&x.field("tid")?)?));
            }
            let mut counters = Vec::new();
            for c in r.field("counters")?.list()? {
                let thread = read_thread(program, &c.field("thread")?)?;
                counters.push(Counter {
                    thread,
                    location: location(thread, &c.field("location")?)?,
                    cell: pool.formula(&c.field("cell")?)?,
                    holds: pool.formula(&c.field("holds")?)?,
                    symbol: pool.symbol(&c.field("symbol")?)?,
                });
            }
            let mut invariant = Vec::new();
            for i in r.field("invariant")?.list()? {
                let places = i.field("at")?.list()?;
                if places.len() != unique_threads.len() {
                    return Err(i.error("one location for each single thread is needed"));
                }
                let at =
                    places.iter().zip(&unique_threads).map(|(l, (t, _))| location(*t, l)).collect::<Result<_, _>>()?;
                invariant.push((at, pool.formula(&i.field("formula")?)?));
            }
            let cell = |r: &JsonReader<'_>| r.index(counters.len());
            let (mut second, mut apart, mut exclusive) = (Vec::new(), Vec::new(), Vec::new());
            for s in r.field("second")?.list()? {
                second.push((pool.symbol(&s.field("of")?)?, pool.symbol(&s.field("symbol")?)?));
            }
            for a in r.field("apart")?.list()? {
                let (first, second) = (cell(&a.field("first")?)?, cell(&a.field("second")?)?);
                apart.push((first, second, pool.formula(&a.field("formula")?)?));
            }
            for e in r.field("exclusive")?.list()? {
                match &e.list()?[..] {
                    [a, b] => exclusive.push((cell(a)?, cell(b)?)),
                    _ => return Err(e.error("two cells were expected")),
                }
            }
            Ok(Proof::Counting(Box::new(Counting {
                unique_threads,
                counters,
                peer_copy: second,
                pairwise: apart,
                exclusive,
                invariant,
            })))
        }
        "search" => {
            let instances = r.field("instances")?.list()?.iter().map(JsonReader::count).collect::<Result<_, _>>()?;
            let states =
                u64::try_from(r.field("states")?.number()?).map_err(|_| r.error("a number of states was expected"))?;
            Ok(Proof::Search(ExhaustiveSearch { instances, states }))
        }
        "quantified" => Ok(Proof::Quantified(Box::new(super::quantified::read_quantified(program, r, pool)?))),
        "views" => Ok(Proof::Views(super::views::read_views(r, pool)?)),
        "simulation" => Ok(Proof::Simulation(read_simulation(program, r, pool)?)),
        "composed" if depth < 8 => {
            let simulations = r
                .field("simulations")?
                .list()?
                .iter()
                .map(|s| read_simulation(program, s, pool))
                .collect::<Result<_, _>>()?;
            let composed = program::compose::compose_machines(program).map_err(|why| r.error(why))?;
            let composition = super::read_certificate(&composed, &r.field("composition")?, depth + 1)?;
            Ok(Proof::Composed(ComposedProof { simulations, composition: Box::new(composition) }))
        }
        "performed" if depth < 8 => {
            let calls = Box::new(super::read_certificate(&access_first(program), &r.field("calls")?, depth + 1)?);
            let following = performed_program(program, &calls).map_err(|why| r.error(why))?;
            let proof = Box::new(super::read_certificate(&following, &r.field("proof")?, depth + 1)?);
            Ok(Proof::Performed(PerformedProof { calls, proof }))
        }
        "asserted" if depth < 8 => Ok(Proof::Asserted(super::asserted::read_asserted(program, r, pool, depth)?)),
        "callers" if depth < 8 => Ok(Proof::Callers(super::callers::read_callers(program, r, depth)?)),
        other => Err(r.error(format!("no proof has the form `{other}`, at this depth"))),
    }
}
