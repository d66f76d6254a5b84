//! What the interpreter does about the world outside: signals, peers, pipes, arguments, functions that run by themselves.
//!
//! In: small programs. Out: whether one of many runs violates, or none. Deliberately absent: the real sanitizers (`tests/c_oracle`).

use super::lower_to_core;
use crate::c::{DataModel, parse_c};
use base::Sources;
use core_lang::campaign::CampaignReport;
use core_lang::{Campaign, ExecutionLimits, ViolationKind};
use std::path::Path;
use std::time::Duration;

const HEAD: &str = "typedef unsigned long size_t; typedef unsigned long pthread_t; typedef void (*handler)(int); typedef struct { unsigned long w[16]; } sigset_t;
struct action { handler run; sigset_t mask; int flags; void *restorer; }; struct ready { int fd; short events, revents; }; struct option { const char *name; int takes; int *flag; int val; };
extern int pthread_create(pthread_t *, const void *, void *(*)(void *), void *); extern int pthread_join(pthread_t, void **); extern void reach_error(void);
extern handler signal(int, handler); extern int sigaction(int, const void *, void *); extern int raise(int); extern int pthread_kill(pthread_t, int); extern int atoi(const char *);
extern int sigemptyset(sigset_t *); extern int sigaddset(sigset_t *, int); extern int pthread_sigmask(int, const sigset_t *, sigset_t *); extern int sigwait(const sigset_t *, int *);
extern int socket(int, int, int); extern int accept(int, void *, unsigned *); extern long recv(int, void *, size_t, int); extern int close(int);
extern int pipe(int *); extern long read(int, void *, size_t); extern long write(int, const void *, size_t); extern int poll(struct ready *, unsigned long, int);
extern int getopt_long(int, char *const *, const char *, const struct option *, int *); extern char *optarg; extern int optind; extern int atexit(void (*)(void));
";

/// A report of runs that all come to an end.
fn campaign(body: &str, wanted: ViolationKind, arguments: &[&str]) -> CampaignReport {
    let report = any_runs(body, wanted, arguments);
    assert!(report.stopped.is_empty(), "{:?}", report.stopped);
    assert!(report.other_violations.is_empty(), "{:?}", report.other_violations);
    report
}

fn any_runs(body: &str, wanted: ViolationKind, arguments: &[&str]) -> CampaignReport {
    let mut sources = Sources::new();
    let text = format!("{HEAD}{body}");
    let parsed = parse_c(&mut sources, Path::new("t.i"), &text, DataModel::Lp64).expect("the text is C");
    assert!(parsed.diagnostics.iter().all(|d| !d.is_error()), "{:?}", parsed.diagnostics);
    let campaign = Campaign {
        known_places: Vec::new(),
        seed: 3,
        wanted: vec![wanted],
        runs: 300,
        time: Duration::from_secs(30),
        limits: ExecutionLimits { instructions: 20_000, ..ExecutionLimits::default() },
        arguments: arguments.iter().map(|a| a.to_string()).collect(),
        input: Vec::new(),
    };
    campaign.run(&lower_to_core(&parsed.unit))
}

fn fails(body: &str) -> bool {
    campaign(body, ViolationKind::Assertion, &[]).found.is_some()
}

fn races(body: &str) -> bool {
    campaign(body, ViolationKind::DataRace, &[]).found.is_some()
}

#[test]
fn check_a_signal_comes_between_any_two_steps_unless_it_is_blocked_or_ignored() {
    let program = |first: &str| {
        format!(
            "volatile int a, b; void on(int s) {{ if (a != b) reach_error(); }}\n\
             int main(void) {{ {first} for (int i = 0; i < 50; i++) {{ a++; b++; }} return 0; }}"
        )
    };
    assert!(fails(&program("signal(10, on);")));
    assert!(fails(&program("struct action act = { on }; sigaction(10, &act, 0);")));
    assert!(!fails(&program("signal(10, on); signal(10, (handler)1);")));
    assert!(!fails(&program(
        "signal(10, on); sigset_t s; sigemptyset(&s); sigaddset(&s, 10); pthread_sigmask(0, &s, 0);"
    )));
    assert!(!fails(&program("")));
}

#[test]
fn check_a_handler_runs_before_raise_returns_and_not_inside_itself() {
    let text = "volatile int n, inside; void on(int s) { if (inside) reach_error(); inside = 1; n++; if (n == 1) raise(s); inside = 0; }
int main(void) { signal(12, on); raise(12); if (n == 0) reach_error(); return 0; }";
    assert!(!fails(text));
    let told = "int n; void on(int s) { n = s; } int main(void) { signal(12, on); raise(12); if (n == 12) reach_error(); return 0; }";
    assert!(fails(told));
}

#[test]
fn check_a_signal_to_a_thread_runs_its_handler_there() {
    let text = "_Thread_local int mine; int wrong; void on(int s) { mine = 1; }
void *t(void *z) { while (!mine) ; return 0; }
int main(void) { signal(10, on); pthread_t p; pthread_create(&p, 0, t, 0); pthread_kill(p, 10); pthread_join(p, 0); return 0; }";
    let report = campaign(text, ViolationKind::Deadlock, &[]);
    assert!(report.found.is_none() && report.finished > 100, "{} of {} end", report.finished, report.runs);
}

#[test]
fn check_a_signal_without_handler_ends_the_program() {
    assert!(!fails("int main(void) { raise(15); reach_error(); return 0; }"));
    assert!(fails("int main(void) { raise(17); reach_error(); return 0; }"));
}

#[test]
fn check_sigwait_takes_what_was_sent_or_comes_from_outside() {
    let text = "int got; int main(void) { sigset_t s; sigemptyset(&s); sigaddset(&s, 2); pthread_sigmask(0, &s, 0); sigwait(&s, &got); if (got == 2) reach_error(); return 0; }";
    assert!(fails(text));
}

#[test]
fn check_a_server_with_unprotected_clients_races() {
    let server = |lock: &str| {
        format!(
            "int clients; {lock} void *client(void *arg) {{ char b[32]; while (recv((int)(long)arg, b, 31, 0) > 0) {{ IN clients++; OUT }} close((int)(long)arg); return 0; }}
int main(void) {{ int s = socket(2, 1, 0); for (;;) {{ pthread_t p; int c = accept(s, 0, 0); if (c < 0) break; pthread_create(&p, 0, client, (void *)(long)c); }} return 0; }}"
        )
    };
    assert!(races(&server("").replace("IN", "").replace("OUT", "")));
    let atomic = "extern void __VERIFIER_atomic_begin(void); extern void __VERIFIER_atomic_end(void);";
    let locked = server(atomic).replace("IN", "__VERIFIER_atomic_begin();").replace("OUT", "__VERIFIER_atomic_end();");
    assert!(!races(&locked));
}

#[test]
fn check_what_is_written_into_a_pipe_happens_before_what_reads_it() {
    let program = |order: &str| {
        format!(
            "int data, ends[2]; void *t(void *z) {{ {order} return 0; }}
int main(void) {{ pipe(ends); pthread_t p; pthread_create(&p, 0, t, 0); struct ready r = {{ ends[0], 1, 0 }}; poll(&r, 1, -1); char c; read(ends[0], &c, 1); data++; pthread_join(p, 0); return 0; }}"
        )
    };
    assert!(!races(&program("data = 1; write(ends[1], \"x\", 1);")));
    assert!(races(&program("write(ends[1], \"x\", 1); data = 1;")));
}

#[test]
fn check_arguments_are_drawn_and_long_options_are_found() {
    let text = "int main(int argc, char **argv) { if (argc > 2 && atoi(argv[1]) == 8) reach_error(); return 0; }";
    assert!(fails(text));
    let text = "int main(int argc, char **argv) { int n = 0, c; struct option o[3] = { { \"quiet\", 0, 0, 'q' }, { \"threads\", 1, 0, 't' }, { 0, 0, 0, 0 } };
while ((c = getopt_long(argc, argv, \"qt:\", o, 0)) != -1) { if (c == 't') n = n * 10 + atoi(optarg); if (c == 'q') n = n * 10 + 9; }
if (n == 7963 && optind == 6) reach_error(); return 0; }";
    let arguments = ["--threads=7", "-q", "--threads", "6", "-t3", "rest"];
    assert!(campaign(text, ViolationKind::Assertion, &arguments).found.is_some());
    assert!(campaign(text, ViolationKind::Assertion, &arguments[1..]).found.is_none());
}

#[test]
fn check_functions_that_run_by_themselves_do_so_in_the_order_of_their_priorities() {
    let text = "int n; __attribute__((constructor)) void last(void) { n = n * 10 + 3; } __attribute__((constructor(102))) void second(void) { n = n * 10 + 2; }
void first(void) __attribute__((constructor(101))); void first(void) { n = n * 10 + 1; }
int main(void) { if (n == 123) reach_error(); return 0; }";
    assert!(fails(text));
    let end = |wanted: i32| {
        format!(
            "int n; void early(void) {{ n = n * 10 + 1; }} __attribute__((destructor)) void late(void) {{ n = n * 10 + 2; if (n == {wanted}) reach_error(); }}
int main(void) {{ atexit(early); return 0; }}"
        )
    };
    assert!(fails(&end(12)) && !fails(&end(21)));
}

#[test]
fn check_a_run_that_allocates_a_negative_size_stops_alone() {
    let text = "extern void *malloc(size_t); int main(int argc, char **argv) { int n = argc > 1 ? atoi(argv[1]) : 1; int *p = malloc(n * sizeof *p);
if (n == 2 && p) reach_error(); return 0; }";
    assert!(any_runs(text, ViolationKind::Assertion, &[]).found.is_some());
    let negative = any_runs(text, ViolationKind::Assertion, &["-1"]);
    assert_eq!(negative.stopped.len(), 1, "{:?}", negative.stopped);
}
