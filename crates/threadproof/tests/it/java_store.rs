//! An annotated store of several Java classes (`corpus/java/store`, `corpus/java/journal`): what stands there is proved, and each planted error is unsafe with a run.

use crate::{Scratch, code, stdout, threadproof};

/// An error: the classes that are looked at, the one that is changed, its text before and after, the property that must become unsafe.
struct Planted {
    folder: &'static str,
    classes: &'static [&'static str],
    file: &'static str,
    from: &'static str,
    to: &'static str,
    property: &'static str,
}

const COUNTS: &[&str] = &["Statistics"];
const BLOCKS: &[&str] = &["Config", "Locks", "BlockMap"];
const DISK: &[&str] = &["Config", "Locks", "Disk"];
const INODES: &[&str] = &["Config", "Locks", "Inode", "Inodes"];
const JOURNAL: &[&str] = &["Journal"];

const fn in_store(
    classes: &'static [&'static str],
    file: &'static str,
    from: &'static str,
    to: &'static str,
    property: &'static str,
) -> Planted {
    Planted { folder: "store", classes, file, from, to, property }
}

const fn in_journal(from: &'static str, to: &'static str, property: &'static str) -> Planted {
    Planted { folder: "journal", classes: JOURNAL, file: "Journal", from, to, property }
}

const PLANTED: &[Planted] = &[
    // The lock is not taken; released too early; given back between a read and the write that belongs to it.
    in_store(
        COUNTS,
        "Statistics",
        "        acquire(mutex);\n        reads += n;\n        release(mutex);",
        "        reads += n;",
        "access:Statistics.reads",
    ),
    in_store(
        COUNTS,
        "Statistics",
        "        writes = 0;\n        release(mutex);",
        "        release(mutex);\n        writes = 0;",
        "access:Statistics.writes",
    ),
    in_store(
        COUNTS,
        "Statistics",
        "        writes = before + n;",
        "        release(mutex);\n        acquire(mutex);\n        writes = before + n;",
        "performs:Statistics.countWrite",
    ),
    // A wrong result.
    in_store(COUNTS, "Statistics", "        sum += writes;", "        sum += reads;", "performs:Statistics.total"),
    // A forgotten bit; a block that is handed out with its lock free; one beside it; the opposite answer; no lock.
    in_store(BLOCKS, "BlockMap", "                used[b] = true;\n", "", "performs:BlockMap.alloc"),
    in_store(
        BLOCKS,
        "BlockMap",
        "                return b;",
        "                Locks.giveBlock(b);\n                return b;",
        "performs:BlockMap.alloc",
    ),
    in_store(
        BLOCKS,
        "BlockMap",
        "                return b;",
        "                return b + 1;",
        "performs:BlockMap.alloc",
    ),
    in_store(BLOCKS, "BlockMap", "        return answer;", "        return !answer;", "performs:BlockMap.isUsed"),
    in_store(
        BLOCKS,
        "BlockMap",
        "        Locks.takeBlock(b);\n        boolean answer = used[b];\n        Locks.giveBlock(b);",
        "        boolean answer = used[b];",
        "access:BlockMap.used.data",
    ),
    // A caller need not have the lock.
    in_store(
        DISK,
        "Disk",
        "      @ requires Locks.blockOwner[b] == \\tid;\n      @ performs action \"Put\"",
        "      @ performs action \"Put\"",
        "access:Disk.data.data",
    ),
    // The file grows by one byte too many.
    in_store(
        INODES,
        "Inodes",
        "            size[i] = least;",
        "            size[i] = least + 1;",
        "performs:Inodes.grow",
    ),
    // Waiting is tested once; a wrong result; the monitor is not entered; the count is not kept; the wrong end is read.
    in_journal("            while (used <= 0) {", "            if (used <= 0) {", "performs:Journal.take"),
    in_journal("            return used;", "            return used + 1;", "performs:Journal.pending"),
    in_journal(
        "        synchronized (lock) {\n            return used;\n        }",
        "        return used;",
        "access:Journal.used",
    ),
    in_journal("            used++;\n", "", "performs:Journal.append"),
    in_journal("            int inode = ring[head];", "            int inode = ring[tail];", "performs:Journal.take"),
];

fn text_of(folder: &str, class: &str) -> String {
    let path = crate::root().join(format!("corpus/java/{folder}/{class}.java"));
    std::fs::read_to_string(path).expect("the class is there")
}

/// The classes in a folder of their own, with one of them changed.
fn written(name: &str, planted: &Planted) -> Scratch {
    let scratch = Scratch::new(name);
    for class in planted.classes {
        let mut text = text_of(planted.folder, class);
        if *class == planted.file {
            assert!(text.contains(planted.from), "{class} has no `{}`", planted.from);
            text = text.replacen(planted.from, planted.to, 1);
        }
        scratch.file(&format!("{class}.java"), &text);
    }
    scratch
}

#[test]
fn check_the_annotated_store_and_its_journal_are_proved() {
    for folder in ["store", "journal"] {
        let folder = crate::root().join("corpus/java").join(folder).display().to_string();
        let output = threadproof(&["verify", "--time", "280s", &folder]);
        assert_eq!(code(&output), 0, "{}", stdout(&output));
    }
}

#[test]
fn check_each_planted_error_is_unsafe_with_a_run() {
    assert!(PLANTED.len() >= 15);
    for (at, planted) in PLANTED.iter().enumerate() {
        let scratch = written(&format!("java-planted-{at}"), planted);
        let output = threadproof(&["verify", "--time", "200s", "--property", planted.property, &scratch.path("")]);
        let report = stdout(&output);
        assert_eq!(code(&output), 1, "{}: {report}", planted.to);
        assert!(report.contains("trust: replayed by the reference semantics"), "no run: {report}");
    }
}
