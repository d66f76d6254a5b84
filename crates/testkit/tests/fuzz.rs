//! Readers of files against untrusted bytes: no panic, no hang, no memory without bound.
//!
//! Each test works for a bounded time from a fixed seed and goes on further where the machine is fast.

use base::{Random, Sources};
use frontend::lang::{self, LoweringSettings};
use program::semantics::{InstanceCounts, ReachLimits, reachable_states};
use std::time::{Duration, Instant};
use testkit::{corpus, random};

const TIME: Duration = Duration::from_secs(4);

/// Changes bytes in ways that tend to matter.
fn mutate(random: &mut Random, bytes: &mut Vec<u8>, words: &[&str]) {
    for _ in 0..1 + random.below(6) {
        let at = random.below(bytes.len() + 1);
        let to = (at + random.below(30)).min(bytes.len());
        match random.below(6) {
            0 => drop(bytes.drain(at..to)),
            1 => {
                let word = *random.pick(words).expect("there are words");
                drop(bytes.splice(at..at, word.bytes()));
            }
            2 => bytes.insert(at, random.below(256) as u8),
            3 => {
                let copy = bytes[at..to].to_vec();
                let target = random.below(bytes.len() + 1);
                drop(bytes.splice(target..target, copy));
            }
            4 => bytes.truncate(at),
            _ => {
                if let Some(b) = bytes.get_mut(at) {
                    *b ^= 1 << random.below(8);
                }
            }
        }
    }
}

/// The whole way of a file: parse, lower, well-formedness, text form.
fn whole_way(bytes: &[u8]) {
    let mut sources = Sources::new();
    let parsed = lang::parse_file(&mut sources, "fuzz.tp", bytes);
    let lowered = lang::lower_file(&parsed, &sources, &LoweringSettings::default());
    for d in &lowered.diagnostics {
        base::render_diagnostic(d, &sources, base::Colour::Plain);
    }
    match lowered.program {
        Some(p) => {
            assert_eq!(program::wellformed(&p), vec![], "{}", String::from_utf8_lossy(bytes));
        }
        None => assert!(!lowered.diagnostics.is_empty(), "no program and no reason"),
    }
}

#[test]
fn check_mutated_programs_are_lowered_or_refused() {
    let all = corpus::read(&corpus::root(), &["tp"]).expect("the corpus can be read");
    let words = [
        "thread",
        "var",
        "int",
        "bool",
        "[*]",
        "{",
        "}",
        "(",
        ")",
        ";",
        ":=",
        "==",
        "'",
        "tid",
        "atomic",
        "while",
        "step <x>",
        "assert",
        "new",
        "null",
        "lock",
        "forall i: int ::",
        "spawn",
        "join",
        "0",
        "99999999999999999999",
        "\0",
        "é",
        "/*",
        "?",
        "..",
        "performs",
        "object",
        "spec",
        "machine",
        "linearize;",
        "set<int>",
        "seq<int>",
    ];
    let start = Instant::now();
    let mut random = Random::new(11);
    let mut done = 0;
    while done < 200 || (start.elapsed() < TIME && done < 20_000) {
        let e = random.pick(&all).expect("the corpus is not empty");
        let mut bytes = e.bytes.clone();
        mutate(&mut random, &mut bytes, &words);
        whole_way(&bytes);
        done += 1;
    }
}

#[test]
fn check_extreme_texts_are_refused_in_time() {
    let deep = |open: &str, n: usize| open.repeat(n).into_bytes();
    let line = {
        let mut l = b"var x: int = 0; thread T { x := 0".to_vec();
        while l.len() < 10 << 20 {
            l.extend_from_slice(b" + 1");
        }
        l.extend_from_slice(b"; }");
        l
    };
    let texts: Vec<(&str, Vec<u8>)> = vec![
        ("nothing", vec![]),
        ("zeros", vec![0; 1 << 16]),
        ("not UTF-8", vec![0xff; 1 << 16]),
        ("deep parentheses", [b"thread T { x := ".to_vec(), deep("(", 200_000)].concat()),
        ("deep blocks", [b"thread T ".to_vec(), deep("{ if * ", 100_000)].concat()),
        ("deep maps", [b"var x: ".to_vec(), deep("[int]", 200_000)].concat()),
        ("deep negations", [b"invariant ".to_vec(), deep("!", 500_000)].concat()),
        ("a line of 10 MB", line),
        ("one long name", [b"var ".to_vec(), vec![b'a'; 10 << 20], b": int;".to_vec()].concat()),
        ("an open comment", [b"/*".to_vec(), vec![b'*'; 10 << 20]].concat()),
    ];
    for (what, bytes) in texts {
        let start = Instant::now();
        whole_way(&bytes);
        assert!(start.elapsed() < Duration::from_secs(20), "{what} takes {:?}", start.elapsed());
    }
}

#[test]
fn check_mutated_evidence_is_read_or_refused() {
    // Traces of random programs, as files.
    let mut files = Vec::new();
    for seed in 0..40 {
        let p = random::program(seed, &random::Knobs::finite());
        let found =
            reachable_states(&p, &InstanceCounts::of(&p, 2), &ReachLimits { states: 300, ..ReachLimits::default() });
        let entries: Vec<evidence::file::EvidenceEntry> = found
            .violations
            .values()
            .map(|t| evidence::file::EvidenceEntry::Counterexample {
                method: "search".into(),
                property: t.violates,
                run: t.clone().into(),
            })
            .collect();
        if !entries.is_empty() {
            let text = evidence::file::write_evidence(&p, &entries);
            let back = evidence::file::read_evidence(&p, text.as_bytes()).expect("what was written can be read");
            assert_eq!(evidence::file::write_evidence(&p, &back), text, "seed {seed}");
            files.push((p, text));
        }
    }
    assert!(files.len() > 5);
    let words =
        ["{", "}", "[", "]", "\"", ",", ":", "null", "true", "-1", "1e999", "99999999999", "0", "\"steps\"", "\0"];
    let start = Instant::now();
    let mut random = Random::new(5);
    let (mut done, mut read) = (0, 0);
    while done < 300 || (start.elapsed() < TIME && done < 50_000) {
        let (p, text) = random.pick(&files).expect("there are files");
        let mut bytes = text.clone().into_bytes();
        mutate(&mut random, &mut bytes, &words);
        if let Ok(entries) = evidence::file::read_evidence(p, &bytes) {
            read += 1;
            for e in entries {
                if let evidence::file::EvidenceEntry::Counterexample {
                    run: evidence::Counterexample::Run(trace), ..
                } = e
                {
                    // It may or may not be a run; finding out must not crash.
                    let _ = program::semantics::replay_trace(p, &trace);
                }
            }
        }
        done += 1;
    }
    assert!(read > 0, "some changes are harmless");
    let deep = "[".repeat(1_000_000);
    assert!(evidence::file::read_evidence(&files[0].0, deep.as_bytes()).is_err());
    assert!(evidence::file::read_evidence(&files[0].0, &[0xff; 100]).is_err());
}

#[test]
fn check_mutated_models_are_read_or_refused() {
    let texts: Vec<String> =
        (0..20).map(|s| program::text::print_program(&random::program(s, &random::Knobs::everything()))).collect();
    let words = ["(", ")", "\"", "v0", "L0", "p0", "o0", "(let", "%0", "forall", "c0", "e0", "th0", "1:u8", "#3", "?"];
    let start = Instant::now();
    let mut random = Random::new(9);
    let mut done = 0;
    while done < 300 || (start.elapsed() < TIME && done < 50_000) {
        let mut bytes = random.pick(&texts).expect("there are texts").clone().into_bytes();
        mutate(&mut random, &mut bytes, &words);
        let text = String::from_utf8_lossy(&bytes);
        if let Ok(p) = program::text::read_program(&text)
            && program::wellformed(&p).is_empty()
        {
            // What is well formed can be executed.
            reachable_states(&p, &InstanceCounts::of(&p, 1), &ReachLimits { states: 20, ..ReachLimits::default() });
        }
        done += 1;
    }
}
