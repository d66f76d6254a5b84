//! What was found is printed in the language, and verifies when it is pasted into the file: loop invariants, access predicates,
//! witnesses. (Invariants and relies: `assume.rs`.) And written witnesses bind the run they stand in.

use crate::reduction::program;
use base::differential::limited_work;
use evidence::{Claim, Claims, Reason};
use methods::Reduce;
use methods::RelyMethod;
use methods::{Method, MethodOptions, Run, Task};
use program::Program;
use std::time::Duration;

fn run(method: &dyn Method, p: &Program, workers: usize) -> Claims {
    let properties = p.properties.ids().collect();
    let task = Task { program: p.clone(), properties, threads: Default::default(), options: MethodOptions::default() };
    let quiet = Run::quiet(limited_work(Duration::from_secs(60)));
    method.run(&task, &Run { workers, ..quiet })
}

/// Everything is proved.
fn proved(c: &Claims) -> bool {
    c.claims.values().all(|c| matches!(c, Claim::Proved(_)))
}

/// The text with every `witness` that was found where it is said to stand.
fn pasted(p: &Program, text: &str, notes: &[String]) -> String {
    let mut places: Vec<(usize, String)> = Vec::new();
    for note in notes.iter().filter(|n| n.starts_with("witness ")) {
        let (statement, place) = note.split_once(" // ").expect("it says where");
        let origin = place.rsplit("@o").next().and_then(|n| n.trim_end_matches('@').parse().ok()).expect("an origin");
        let span = p.origins[program::OriginId(origin)].span.expect("a place in the text");
        let before = place.contains(", before `");
        let last = span.end as usize - 1;
        let end = last + text[last..].find(';').expect("a statement ends") + 1;
        places.push((if before { span.start as usize } else { end }, statement.to_string()));
    }
    places.sort();
    let mut out = text.to_string();
    places.iter().rev().for_each(|(at, s)| out.insert_str(*at, &format!(" {s} ")));
    out
}

/// A search for a free block, a specification with all operators, and a choice that a test decides.
const PROGRAMS: [&str; 3] = [
    "const N: int = 2;\nvar l: [int]lock;\nvar bits: [int]bool accessible_if[j] l[j] == 0 || l[j] == tid;\n\
     proc alloc() returns (r: int)\n  performs NoBlocks: <> r == -1\n\
     [] Allocated: <bits[r], l[r]> 0 <= r && r < N && l[r] == 0 && l'[r] == tid && !bits[r] && bits'[r];\n\
     { var i: int := 0; while i < N { acquire l[i]; if !bits[i] { bits[i] := true; return i; } release l[i]; i := i + 1; }\n\
     return -1; }\n",
    "var m: lock;\nvar x: int guarded_by m;\nvar y: int guarded_by m;\n\
     proc p(n: int) returns (r: int)\n\
     performs (Add: <x> m == 0 && x' == x + 1)*; Fin: <y> m == 0 && y' == x && r == x;\n\
     { var i: int := 0; while i < n { acquire m; x := x + 1; release m; i := i + 1; }\n\
     acquire m; y := x; r := x; release m; return; }\n",
    "var m: lock;\nvar s: int = 0 guarded_by m;\n\
     proc start() returns (ok: bool)\n\
     performs Started: <s> m == 0 && s == 0 && s' == tid && ok [] No: <> !ok;\n\
     { acquire m; if s == 0 { s := tid; ok := true; } else { ok := false; } release m; return; }\n",
];

#[test]
fn check_found_witnesses_verify_when_they_are_pasted_back() {
    for (text, count) in PROGRAMS.into_iter().zip([2, 2, 2]) {
        let p = program(text);
        let found = run(&Reduce, &p, 1);
        assert!(proved(&found), "{text}");
        let marked = pasted(&p, text, &found.notes);
        assert_eq!(marked.matches("witness ").count(), count, "{marked}");
        let again = run(&Reduce, &program(&marked), 1);
        assert!(proved(&again), "{marked}\n{:?}", again.claims);
        assert!(!again.notes.iter().any(|n| n.starts_with("witness ")), "nothing is left to find: {:?}", again.notes);
    }
}

#[test]
fn check_a_wrong_witness_is_told_and_nothing_is_claimed() {
    let wrong = [
        // Of the other action; of a run that is idle; of two actions in one run; too early for the action.
        (0, "bits[i] := true;", "bits[i] := true; witness NoBlocks;", "NoBlocks"),
        (0, "release l[i];", "release l[i]; witness Allocated;", "Allocated"),
        (1, "y := x;", "y := x; witness Add;", "Add"),
        (2, "s := tid;", "s := tid; witness Started; ok := true; witness No;", "No"),
    ];
    for (at, old, new, label) in wrong {
        let text = PROGRAMS[at].replacen(old, new, 1);
        let found = run(&Reduce, &program(&text), 1);
        let reason_text = found.claims.values().find_map(|c| match c {
            Claim::Undecided(Reason::Alarm(why)) => Some(why.clone()),
            _ => None,
        });
        let reason_text = reason_text.unwrap_or_else(|| panic!("{text}\n{:?}", found.claims));
        assert!(reason_text.contains("is wrong") && reason_text.contains(label), "{reason_text}");
    }
}

#[test]
fn check_a_witness_chooses_between_two_readings_of_a_run() {
    // Both actions fit the first run; only one order leaves one for the second.
    let text = "var m: lock;\nvar x: int guarded_by m;\n\
        proc p()\n  performs A: <x> m == 0 && x' >= x; B: <x> m == 0 && x' == x;\n\
        { acquire m; release m; WITNESS acquire m; x := x + 1; release m; acquire m; release m; }\n";
    let right = run(&Reduce, &program(&text.replace("WITNESS", "")), 1);
    assert!(proved(&right), "{:?}", right.claims);
    let wrong = run(&Reduce, &program(&text.replace("WITNESS", "witness B;")), 1);
    assert!(!proved(&wrong), "B cannot come first");
    // The first run as A leaves nothing for the second.
    let early = run(&Reduce, &program(&text.replace("WITNESS", "witness A;")), 1);
    assert!(!proved(&early), "x grows after B at the earliest");
}

#[test]
fn check_a_witness_of_a_callee_is_not_one_of_the_caller() {
    // `half` does not perform what it says and is inlined; its label is one of the caller's too.
    let text = "var m: lock;\nvar x: int guarded_by m;\n\
        proc half()\n  requires m == tid;\n  performs Set: <x> x' == 2;\n{ x := 1; witness Set; }\n\
        proc whole()\n  performs Set: <x> m == 0 && x' == 3;\n{ acquire m; half(); x := 3; release m; }\n";
    let found = run(&Reduce, &program(text), 1);
    let p = program(text);
    let of = |name: &str| found.claims.iter().find(|(q, _)| p.properties[**q].name == name).map(|(_, c)| c.clone());
    assert!(matches!(of("performs:whole"), Some(Claim::Proved(_))), "{:?}", of("performs:whole"));
    assert!(!matches!(of("performs:half"), Some(Claim::Proved(_))));
}

#[test]
fn check_the_number_of_workers_changes_nothing() {
    let text = PROGRAMS.iter().enumerate().map(|(i, t)| {
        let mut t = t.to_string();
        for name in ["N", "l", "bits", "m", "x", "y", "s", "alloc", "start", "p"] {
            t = replace_word(&t, name, &format!("{name}{i}"));
        }
        t
    });
    let p = program(&text.collect::<String>());
    let written = |workers: usize| {
        let found = run(&Reduce, &p, workers);
        assert!(proved(&found), "{:?}", found.claims);
        let Some(Claim::Proved(c)) = found.claims.into_values().next() else { panic!("a proof") };
        let entry = evidence::file::EvidenceEntry::Certificate(evidence::Certificate::clone(&c));
        (evidence::file::write_evidence(&p, &[entry]), found.notes)
    };
    let alone = written(1);
    assert_eq!(alone, written(2));
    assert_eq!(alone, written(3));
}

fn replace_word(text: &str, word: &str, with: &str) -> String {
    let mut out = String::new();
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let (head, tail) = (&rest[..at], &rest[at + word.len()..]);
        let whole = !head.ends_with(part) && !tail.starts_with(part);
        out.push_str(head);
        out.push_str(if whole { with } else { word });
        rest = tail;
    }
    out + rest
}

#[test]
fn check_found_loop_invariants_verify_when_they_are_pasted_back() {
    let text = "var m: lock;\nvar x: int = 0;\nthread T[*] { var i: int := 0; acquire m;\n\
        while i < 10 invariant ?; { i := i + 1; }\nassert i == 10; assert m == tid; release m; }\n";
    let found = run(&RelyMethod, &program(text), 1);
    assert!(proved(&found), "{:?}", found.claims);
    let invariants: String = found
        .notes
        .iter()
        .filter(|l| l.starts_with("invariant") && l.contains("of thread"))
        .cloned()
        .collect::<Vec<_>>()
        .join("\n");
    assert!(!invariants.is_empty(), "{:?}", found.notes);
    let marked = text.replace("invariant ?;", &format!("{invariants}\n"));
    let again = run(&RelyMethod, &program(&marked), 1);
    assert!(proved(&again), "{marked}\n{:?}", again.claims);
    let news = again.notes.iter().filter(|l| l.starts_with("invariant") && l.contains("of thread"));
    assert_eq!(news.count(), 0, "{:?}", again.notes);
}

#[test]
fn check_found_access_predicates_verify_when_they_are_pasted_back() {
    let text = "var m: lock;\nvar l: [int]lock;\nvar count: int = 0 accessible_if ?;\nvar a: [int]int accessible_if[j] ?;\n\
        proc increment()\n  performs Inc: <count> m == 0 && count' == count + 1;\n\
        { acquire m; var j: int := count; count := j + 1; release m; }\n\
        proc put(i: int, v: int)\n  performs Put: <a[i]> l[i] == 0 && a'[i] == a[i] + v;\n\
        { acquire l[i]; var j: int := a[i]; a[i] := j + v; release l[i]; }\n";
    let found = run(&Reduce, &program(text), 1);
    let mut marked = text.to_string();
    for note in found.notes.iter().filter(|n| n.starts_with("var ")) {
        let name = note.strip_prefix("var ").and_then(|n| n.split(':').next()).expect("a declaration");
        let line = text.lines().find(|l| l.starts_with(&format!("var {name}:"))).expect("it is declared");
        let at = note.find("guarded_by").or(note.find("accessible_if")).expect("a predicate");
        let begin = line.find("accessible_if").expect("it is asked for");
        marked = marked.replace(line, &format!("{}{};", &line[..begin], &note[at..]));
    }
    assert!(!marked.contains('?'), "{marked}\n{:?}", found.notes);
    let again = run(&Reduce, &program(&marked), 1);
    assert!(proved(&again), "{marked}\n{:?}", again.claims);
}

#[test]
fn check_runs_break_specifications_that_leave_values_open_or_speak_of_objects() {
    // Whatever `Get` leaves in `x`, `Set` makes it 0.
    let open = "var m: lock;\nvar x: int guarded_by m;\n\
        proc p() returns (r: int)\n  performs Get: <x> m == 0 && x' >= 0 && r == x; Set: <x> m == 0 && x' == LAST;\n\
        { acquire m; r := x; x := 5; release m; acquire m; x := 1; release m; return; }\n";
    let heap = "class Node { val: int; }\nvar m: lock;\nvar head: Node = null guarded_by m;\nvar size: int = 0 guarded_by m;\n\
        proc push(n: Node)\n  requires n != null;\n  performs Push: <head, size> m == 0 && head' == n && size' == size + LAST;\n\
        { acquire m; head := n; size := size + 1; release m; }\n";
    for (text, right, wrong) in [(open, "1", "0"), (heap, "1", "2")] {
        let of = |last: &str| {
            let p = program(&text.replace("LAST", last));
            let performs = p.properties.ids().find(|q| p.properties[*q].name.starts_with("performs:"));
            run(&Reduce, &p, 1).claims[&performs.expect("it performs something")].clone()
        };
        assert!(matches!(of(wrong), Claim::Refuted(_)), "{text}: {:?}", of(wrong));
        assert!(matches!(of(right), Claim::Proved(_)), "{text}: {:?}", of(right));
    }
}
