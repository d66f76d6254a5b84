//! The program `threadproof`, which is a user of the library of the same name.
//!
//! In: arguments. Out: a report and an exit code.

fn main() {
    threadproof::run_and_exit()
}
