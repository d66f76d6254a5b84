//! The corpus programs: from source text to checked verdicts.

use crate::method::{Method, Options, Run, Task};
use crate::shape::Shape;
use base::{Budget, Sources};
use checker::{Answer, Checker, Leaves, Limits, Outcome};
use evidence::Claim;
use frontend::lang::{Settings, lower, parse};
use logic::{Term, Terms};
use program::{Program, PropertyId};
use std::collections::BTreeMap;
use std::path::PathBuf;

pub fn corpus(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(file)
}

pub fn load(file: &str) -> Program {
    let bytes = std::fs::read(corpus(file)).unwrap();
    load_text(file, &bytes)
}

pub fn load_text(name: &str, bytes: &[u8]) -> Program {
    let mut sources = Sources::new();
    let parsed = parse(&mut sources, name, bytes);
    let lowered = lower(&parsed, &sources, &Settings::default());
    match lowered.program {
        Some(p) => p,
        None => panic!("{name}: {:?}", lowered.diagnostics),
    }
}

/// No formula is ever asked for: the check of views uses no solver.
struct Nobody;

impl Leaves for Nobody {
    fn name(&self) -> String {
        "nobody".into()
    }
    fn independent(&self) -> bool {
        true
    }
    fn valid(&mut self, _: &Terms, _: Term) -> Answer {
        Answer::Unknown("there is no oracle".into())
    }
}

pub struct Answered {
    pub admitted: Result<(), String>,
    pub outcomes: BTreeMap<String, (Outcome, String)>,
}

pub fn verify(p: &Program) -> Answered {
    let properties: Vec<PropertyId> = p.properties.ids().collect();
    let task = Task { program: p.clone(), properties, threads: BTreeMap::new(), options: Options::default() };
    if let Err(r) = Shape.admits(&task) {
        return Answered { admitted: Err(r.0), outcomes: BTreeMap::new() };
    }
    let run = Run::quiet(Budget::unlimited().with_time(std::time::Duration::from_secs(60)));
    let start = std::time::Instant::now();
    let claims = Shape.run(&task, &run);
    let found = start.elapsed();
    let mut nobody = Nobody;
    let mut checker = Checker::new(p, &mut nobody, Limits::default());
    let checked: Vec<_> = claims.claims.iter().map(|(id, c)| checker.check(*id, "shape", c)).collect();
    let verdicts = checker.conclude(checked);
    let text = |id: PropertyId, v: &checker::Verdict| match (&claims.claims[&id], v.evidence()) {
        (Claim::Undecided(r), _) => r.to_string(),
        (_, checker::Evidence::Reason(r)) => format!("CHECKER: {r}"),
        _ => v.trust().to_string(),
    };
    println!(
        "{}: {:?} {:?} found {found:?} checked {:?}",
        p.name,
        claims.statistics,
        claims.notes,
        start.elapsed() - found
    );
    let outcomes = verdicts
        .iter()
        .map(|v| (p.properties[v.property()].name.clone(), (v.outcome(), text(v.property(), v))))
        .collect();
    Answered { admitted: Ok(()), outcomes }
}

#[test]
#[ignore = "prints what every heap program of the corpus gives"]
fn show_the_corpus() {
    for dir in ["seeds/thread-quantification", "lockfree", "heap"] {
        let mut files: Vec<_> = std::fs::read_dir(corpus(dir)).unwrap().map(|f| f.unwrap().path()).collect();
        files.sort();
        for f in files {
            let name = f.file_name().unwrap().to_string_lossy().to_string();
            let bytes = std::fs::read(&f).unwrap();
            let truth = String::from_utf8_lossy(&bytes).lines().next().unwrap_or("").to_string();
            let p = load_text(&name, &bytes);
            let a = verify(&p);
            println!("== {name} [{truth}] admitted: {:?}", a.admitted);
            for (n, (o, why)) in &a.outcomes {
                println!("   {n}: {o:?} {}", why.chars().take(400).collect::<String>());
            }
        }
    }
}
