//! Prints the random program of a seed: `cargo run -p testkit --example small_program -- SEED`.
//!
//! In: a seed, as a differential test reports it. Out: the text, to be tried by hand.

fn main() {
    match std::env::args().nth(1).and_then(|s| s.parse().ok()) {
        Some(seed) => print!("{}", testkit::small::program(seed)),
        None => eprintln!("usage: small_program SEED"),
    }
}
