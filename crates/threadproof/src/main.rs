//! The threadproof binary.

fn main() {}
