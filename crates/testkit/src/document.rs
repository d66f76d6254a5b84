//! Evidence as a document that can be changed: what `audit` would read from a file that somebody has edited.
//!
//! In: an entry (a certificate or a counterexample) of a program. Out: documents that differ from it in one place, and what they say of a
//! program. A document can be put to another program with the same variables, threads and properties: it then says of that program, word
//! for word, what it said of its own. Deliberately absent: any judgement of what it says.

use base::Random;
use evidence::file::{self, EvidenceEntry};
use program::Program;
use serde_json::Value as Json;

#[derive(Clone, Debug, PartialEq)]
pub struct Document(pub Json);

impl Document {
    /// The document with one entry about a program.
    pub fn of(program: &Program, entry: EvidenceEntry) -> Self {
        let text = file::write_evidence(program, &[entry]);
        Self(serde_json::from_str(&text).expect("what is written is JSON"))
    }

    /// The same document, said of another program.
    pub fn put_to(&self, program: &Program) -> Self {
        let mut out = self.clone();
        out.0["program"]["digest"] = file::digest(program).into();
        out
    }

    /// The entry, if the document can be read as one about the program.
    pub fn read(&self, program: &Program) -> Option<EvidenceEntry> {
        file::read_evidence(program, self.0.to_string().as_bytes()).ok()?.into_iter().next()
    }

    /// The document with one thing in the entry changed, somewhere that is read.
    pub fn mutated(&self, random: &mut Random) -> Self {
        let mut out = self.clone();
        mutate(random, &mut out.0);
        out
    }
}

fn mutate(random: &mut Random, document: &mut Json) {
    let mut paths = Vec::new();
    collect(&document["entries"][0], &mut Vec::new(), &mut paths);
    let path = random.pick(&paths).expect("an entry has parts").clone();
    let mut at = &mut document["entries"][0];
    for step in &path {
        at = match step {
            Step::Key(key) => &mut at[key.as_str()],
            Step::Index(i) => &mut at[*i],
        };
    }
    match at {
        Json::Number(n) => {
            let n = n.as_i64().unwrap_or(0);
            *at = [n + 1, n - 1, 0, 1, n + 2][random.below(5)].into();
        }
        Json::Bool(b) => *at = (!*b).into(),
        Json::String(s) => {
            let groups: [&[&str]; 4] =
                [&["and", "or", "implies", "eq"], &["le", "lt", "eq"], &["add", "sub", "mul"], &["forall", "exists"]];
            let others: Vec<&str> =
                groups.iter().filter(|g| g.contains(&s.as_str())).flat_map(|g| g.iter().copied()).collect();
            *at = random.pick(&others).map_or("other", |o| *o).into();
        }
        Json::Array(list) if !list.is_empty() => {
            let (i, j) = (random.below(list.len()), random.below(list.len()));
            match random.below(3) {
                0 => {
                    list.remove(i);
                }
                1 => list.insert(j, list[i].clone()),
                _ => list.swap(i, j),
            }
        }
        _ => {}
    }
}

#[derive(Clone)]
enum Step {
    Key(String),
    Index(usize),
}

fn collect(at: &Json, path: &mut Vec<Step>, out: &mut Vec<Vec<Step>>) {
    match at {
        Json::Object(fields) => {
            for (key, value) in
                fields.iter().filter(|(k, _)| !["shown", "method", "kind", "form"].contains(&k.as_str()))
            {
                path.push(Step::Key(key.clone()));
                collect(value, path, out);
                path.pop();
            }
        }
        Json::Array(list) => {
            out.push(path.clone());
            for (i, value) in list.iter().enumerate() {
                path.push(Step::Index(i));
                collect(value, path, out);
                path.pop();
            }
        }
        _ => out.push(path.clone()),
    }
}
