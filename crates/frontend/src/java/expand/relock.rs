//! Whether a program may take a lock that it holds: then locks are objects that count (`library/locks.java`).
//!
//! In: the classes of a program. Out: yes or no, by the text alone. A wrong no is noticed: taking such a lock twice is outside the model then.

use crate::java::tree::{self, JavaExprKind, JavaUnit};
use std::collections::{BTreeMap, BTreeSet};

/// Methods that take a lock.
const TAKING: &[&str] = &["lock", "tryLock", "lockInterruptibly"];
/// What only locks that are objects have.
const ASKED: &[&str] = &["isHeldByCurrentThread", "getHoldCount"];

pub(super) fn locks_twice(unit: &JavaUnit) -> bool {
    let mut taking: BTreeSet<&str> = BTreeSet::new();
    let mut calls: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut asked = false;
    for class in &unit.classes {
        for method in &class.methods {
            let Some(body) = &method.body else { continue };
            tree::expressions(body, &mut |e| {
                let JavaExprKind::Call { object, name, args, .. } = &e.kind else { return };
                let is_lock = object.is_some() && TAKING.contains(&&name[..]);
                asked |= ASKED.contains(&&name[..]) || (name == "tryLock" && args.len() == 2);
                if is_lock {
                    taking.insert(&method.name);
                } else {
                    calls.entry(&method.name).or_default().insert(name);
                }
            });
        }
    }
    let reaches = |from: &str| {
        let mut todo: Vec<&str> = calls.get(from).into_iter().flatten().copied().collect();
        let mut seen = BTreeSet::new();
        while let Some(at) = todo.pop() {
            if taking.contains(at) {
                return true;
            }
            if seen.insert(at) {
                todo.extend(calls.get(at).into_iter().flatten());
            }
        }
        false
    };
    // `main` starts threads that take locks; it takes none itself, as a rule.
    asked || taking.iter().any(|m| reaches(m))
}
