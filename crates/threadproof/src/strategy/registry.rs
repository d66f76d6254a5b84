//! Every method, one line each: the order is the order of reports and of preference between equal answers.

use methods::Method;

/// All methods of this build.
pub fn methods() -> Vec<Box<dyn Method>> {
    vec![]
}

/// Names and values that `--option` takes, for each method that reads them.
pub const OPTIONS: &[(&str, &[&str])] = &[
    ("bias", &["modular", "none"]),
    ("por", &["on", "off"]),
    ("symmetry", &["on", "off"]),
    ("show-trees", &["on", "off"]),
];
