//! Refuses to run with another Z3 than the one the project was measured with.
//!
//! In: the linked library's own account of its version. Out: nothing, or a sentence. A different libz3 found by the
//! loader would shift the numbers of the binding's enumerations, and wrong answers could follow.

use std::sync::OnceLock;

/// The version of the linked Z3, checked once per process: every session calls this before its first question.
pub fn checked() -> Result<(), &'static str> {
    static CHECKED: OnceLock<Result<(), String>> = OnceLock::new();
    let checked = CHECKED.get_or_init(|| {
        z3_provider::open_z3()?;
        let (major, minor, build) = linked();
        let wanted = z3_provider::Z3_VERSION;
        if (major, minor, build) == wanted {
            return Ok(());
        }
        Err(format!(
            "the linked Z3 is {major}.{minor}.{build}, and {}.{}.{} is needed: is another libz3 on the loader's path?",
            wanted.0, wanted.1, wanted.2
        ))
    });
    checked.as_ref().map(|_| ()).map_err(String::as_str)
}

/// What the library says of itself, once it is open.
fn linked() -> (u32, u32, u32) {
    let (mut major, mut minor, mut build, mut revision) = (0, 0, 0, 0);
    // SAFETY: the four pointers are valid for the call.
    unsafe { z3_provider::library::Z3_get_version(&mut major, &mut minor, &mut build, &mut revision) };
    (major, minor, build)
}

#[cfg(test)]
mod tests {
    #[test]
    fn check_the_linked_z3_is_the_pinned_one() {
        assert_eq!(super::checked(), Ok(()));
    }
}
