//! Ten structures that programs share (`corpus/larger`), for any number of threads: each is decided, and so is each broken one.

use crate::{code, root, stdout, threadproof};

/// How each is decided; nothing where all methods run. They are all decided without naming a method, too, in more time.
const SAFE: [(&str, &str); 10] = [
    ("accounts", "rely"),
    ("barrier", "rely"),
    ("bounded_queue", "rely"),
    ("fork_join", ""),
    ("log_batching", "rely"),
    ("readers_writer", "rely"),
    ("refcount_cache", "rely"),
    ("resource_pool", "rely"),
    ("singleton", "rely"),
    ("striped_set", "rely"),
];
/// With a property that is broken.
const BROKEN: [(&str, &str, &str); 10] = [
    ("accounts_overdrawn", "", "invariant"),
    ("barrier_one_short", "explore", "assert"),
    ("bounded_queue_tested_once", "explore", "bounds:32"),
    ("fork_join_one_left", "explore", "assert"),
    ("log_batching_unlocked_flush", "explore", "access:pending"),
    ("readers_writer_eager", "explore", "invariant"),
    ("refcount_cache_counted_late", "explore", "assert:19"),
    ("resource_pool_no_test", "explore", "access"),
    ("singleton_announced_early", "explore", "assert:31"),
    ("striped_set_other_stripe", "", "access:present"),
];

fn verify(name: &str, method: &str, more: &[&str]) -> (i32, String) {
    let file = root().join(format!("corpus/larger/{name}.tp")).display().to_string();
    let mut arguments = vec!["verify", "--time", "60s", &file];
    if !method.is_empty() {
        arguments.extend(["--method", method]);
    }
    arguments.extend(more);
    let output = threadproof(&arguments);
    (code(&output), stdout(&output))
}

#[test]
fn check_ten_larger_programs_are_safe_with_few_annotations() {
    for (name, method) in SAFE {
        let text = std::fs::read_to_string(root().join(format!("corpus/larger/{name}.tp"))).expect("it is there");
        // At most one line for each shared field, besides the initial store.
        let lines = |start: &str| text.lines().filter(|l| l.starts_with(start)).count();
        let written = lines("invariant ") + lines("rely ") + text.matches(" accessible_if").count();
        assert!(written <= lines("var "), "{name} has {written} annotations");
        let (code, report) = verify(name, method, &[]);
        assert_eq!(code, 0, "{report}");
    }
}

#[test]
fn check_ten_broken_ones_are_unsafe() {
    for (name, method, property) in BROKEN {
        let (code, report) = verify(name, method, &["--property", property]);
        assert_eq!(code, 1, "{report}");
    }
}
