//! Which instances can exist at once.
//!
//! In: a program. Out: whether a thread has at most one instance, and whether two different instances of two threads can
//! exist. Counts alone: what has been spawned or has ended is not looked at, so "yes" is said too often, never "no" wrongly.

use crate::model::{Copies, Program, Start, ThreadId};

/// The thread has one instance at most.
pub fn is_unique(program: &Program, thread: ThreadId) -> bool {
    let t = &program.threads[thread];
    t.start == Start::Initial && matches!(t.copies, Copies::One | Copies::Exactly(0 | 1))
}

/// Two different instances of these threads can exist.
pub fn may_coexist(program: &Program, a: ThreadId, b: ThreadId) -> bool {
    a != b || !is_unique(program, a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantics::tests::Build;

    #[test]
    fn check_a_thread_meets_itself_unless_it_has_one_instance_from_the_start() {
        let mut b = Build::new();
        let one = b.thread("One", Copies::One, 1);
        let same = b.thread("Same", Copies::Exactly(1), 1);
        let two = b.thread("Two", Copies::Exactly(2), 1);
        let any = b.thread("Any", Copies::Any, 1);
        let spawned = b.thread("Spawned", Copies::One, 1);
        b.p.threads[spawned].start = Start::Spawned;
        let meets: Vec<bool> = [one, same, two, any, spawned].iter().map(|t| may_coexist(&b.p, *t, *t)).collect();
        assert_eq!(meets, [false, false, true, true, true]);
        assert!(may_coexist(&b.p, one, same));
    }
}
