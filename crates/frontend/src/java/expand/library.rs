//! Classes of the library that are written in Java, and read with the programs that name them.
//!
//! A method with `@Step` is one step, however long it is; `Model` is what Java cannot say (`translate/model`). Fields end in `$`, a sign that programs do not use,
//! because some questions about fields compare names alone.
//!
//! In: the texts of the files given. Out: the classes they name, and those that these name, beside their own.

use crate::java::read;
use crate::java::tree::JavaUnit;
use base::{Diagnostic, SourceId, Sources};
use std::collections::BTreeSet;

/// A file of the library: its classes that programs name, and its text.
struct LibraryFile {
    name: &'static str,
    classes: &'static [&'static str],
    text: &'static str,
}

const LIBRARY: &[LibraryFile] = &[
    LibraryFile {
        name: "java.util.function",
        classes: &[
            "Callable",
            "Supplier",
            "Consumer",
            "BiConsumer",
            "Function",
            "BiFunction",
            "UnaryOperator",
            "BinaryOperator",
            "Predicate",
            "BooleanSupplier",
            "IntSupplier",
            "LongSupplier",
            "IntConsumer",
            "IntPredicate",
            "IntFunction",
            "ToIntFunction",
            "IntUnaryOperator",
            "IntBinaryOperator",
            "LongUnaryOperator",
            "LongBinaryOperator",
        ],
        text: include_str!("../library/functions.java"),
    },
    LibraryFile {
        name: "java.util.concurrent.TimeUnit",
        classes: &["TimeUnit"],
        text: include_str!("../library/time.java"),
    },
    LibraryFile {
        name: "java.util.concurrent.locks",
        classes: &["ReentrantReadWriteLock", "ReadWriteLock", "LocksAsObjects"],
        text: include_str!("../library/locks.java"),
    },
    LibraryFile {
        name: "java.util.concurrent.CyclicBarrier",
        classes: &["CyclicBarrier"],
        text: include_str!("../library/barriers.java"),
    },
    LibraryFile {
        name: "java.util.concurrent.BlockingQueue",
        classes: &["BlockingQueue", "LinkedBlockingQueue", "ArrayBlockingQueue"],
        text: include_str!("../library/queues.java"),
    },
    LibraryFile {
        name: "java.util.concurrent.Executors",
        classes: &["Executor", "ExecutorService", "Executors", "Future", "FutureTask"],
        text: include_str!("../library/executors.java"),
    },
    LibraryFile {
        name: "java.util.concurrent.atomic",
        classes: &["AtomicIntegerArray", "AtomicLongArray", "LongAdder"],
        text: include_str!("../library/atomics.java"),
    },
    LibraryFile {
        name: "java.lang.ThreadLocal",
        classes: &["ThreadLocal"],
        text: include_str!("../library/threads.java"),
    },
];

pub(super) fn add_used(
    sources: &mut Sources,
    files: &[SourceId],
    unit: &mut JavaUnit,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let own: BTreeSet<String> = unit.classes.iter().map(|c| c.name.clone()).collect();
    let mut named: BTreeSet<String> = BTreeSet::new();
    for file in files {
        named.extend(words(&sources.file(*file).text).map(str::to_owned));
    }
    if super::relock::locks_twice(unit) {
        named.insert("LocksAsObjects".to_owned());
    }
    let mut read = BTreeSet::new();
    loop {
        let next = LIBRARY
            .iter()
            .position(|f| !read.contains(f.name) && f.classes.iter().any(|c| named.contains(*c) && !own.contains(*c)));
        let Some(at) = next else { break };
        let file = &LIBRARY[at];
        read.insert(file.name);
        named.extend(words(file.text).map(str::to_owned));
        let id = sources.add(format!("{} (as it is modelled)", file.name), file.text);
        let first = unit.classes.len();
        read::read_file(sources, id, unit, diagnostics);
        for class in &mut unit.classes[first..] {
            class.surroundings.is_library = true;
        }
    }
    // A class of the program hides one of the library.
    unit.classes.retain(|c| !c.surroundings.is_library || !own.contains(&c.name));
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).filter(|w| !w.is_empty())
}
