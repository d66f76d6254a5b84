//! The library as a user's test meets it: verdicts, explanations, and that nothing but a proof is "safe".

use crate::{Scratch, root};
use std::time::{Duration, Instant};
use threadproof::{Outcome, Report, VerifyOptions, verify};

threadproof::verified_programs! {
    check_a_safe_program_makes_a_test_pass: safe "../../corpus/seeds/threader/fig2_fixed.tp";
    check_an_unsafe_program_makes_a_test_of_it_pass: unsafe "../../corpus/seeds/threader/fig2_cex.tp";
}

fn of(text: &str, name: &str, options: &VerifyOptions) -> Report {
    let scratch = Scratch::new(&format!("library-{name}"));
    verify(scratch.file(name, text), options)
}

#[test]
#[should_panic(expected = "is Unsafe, not Safe")]
fn check_a_test_of_an_unsafe_program_fails() {
    threadproof::assert_safe(root().join("corpus/seeds/threader/fig2_cex.tp"));
}

#[test]
fn check_a_report_explains_what_is_unsafe_and_prints_as_the_command_line_does() {
    let report = verify(root().join("corpus/c/counter_lost_update.c"), &VerifyOptions::default());
    assert_eq!(report.outcome(), Outcome::Unsafe, "{report}");
    let broken = report.properties().into_iter().find(|p| p.outcome == Outcome::Unsafe).expect("one is unsafe");
    assert!(broken.explanation[0].contains("assertion `x == 2` fails"), "{broken:?}");
    assert!(report.to_string().contains("x: 0 -> 1"), "{report}");
    assert!(report.json().contains("\"verdict\": \"unsafe\"") && report.html().contains("</html>"));
}

#[test]
fn check_what_cannot_be_verified_is_rejected_and_never_safe() {
    let missing = verify("there/is/no/such.tp", &VerifyOptions::default());
    assert_eq!(missing.outcome(), Outcome::Rejected);
    assert!(missing.messages()[0].contains("such.tp"), "{missing}");
    let wrong = of("thread T { x := 1; }", "wrong.tp", &VerifyOptions::default());
    assert_eq!((wrong.outcome(), wrong.properties().len()), (Outcome::Rejected, 0), "{wrong}");
    let source = "thread T { assert true; }";
    for options in [
        VerifyOptions { methods: vec!["no-such-method".into()], ..VerifyOptions::default() },
        VerifyOptions { checks: vec!["no-such-check".into()], ..VerifyOptions::default() },
        VerifyOptions { properties: vec!["no-such-property".into()], ..VerifyOptions::default() },
    ] {
        let report = of(source, "options.tp", &options);
        assert_eq!(report.outcome(), Outcome::Rejected, "{report}");
        assert!(report.messages().join("").contains("no-such-"), "{report}");
    }
}

#[test]
fn check_the_time_limit_ends_in_unknown_and_the_process_goes_on() {
    let endless = "var a: int = 0;\nvar b: int = 0;\nthread Count[3] { while true { choose { a := a * 3 + b; } or { b := b + a * 2 + 1; } } }\nthread Check { assert a * a + b * b + 1 > 0; }\n";
    let options =
        VerifyOptions { time: Duration::from_millis(500), methods: vec!["explore".into()], ..VerifyOptions::default() };
    let began = Instant::now();
    let report = of(endless, "endless.tp", &options);
    assert_eq!(report.outcome(), Outcome::Unknown, "{report}");
    assert!(report.properties()[0].explanation[0].contains("the time limit was reached"), "{report}");
    assert!(began.elapsed() < Duration::from_secs(20));
}
