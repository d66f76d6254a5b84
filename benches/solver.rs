//! Small incremental questions through our layer against the raw solver interface, in the same run.
//!
//! 10,000 questions of linear integer arithmetic: 8 integers between -4 and 4, 5 clauses asserted once, 5 more in a
//! scope of each question. Both sides build their formulas anew for each question and ask the same sequence. Rates are per second
//! of processor time of this thread; rounds alternate and the best of each side counts. Prints one table and fails
//! if our layer is slower than 80 % of raw, or if an answer differs.
//! Run it by `cargo bench -p solver`.

use base::Budget;
use logic::{Sort, Term, Terms};
use solver::{Satisfiability, Smt, SolverSettings, Z3};
use std::time::Instant;
use z3_provider::library::*;

const QUESTIONS: usize = 10_000;
const INTEGERS: usize = 8;
const BOUND: i64 = 4;
const ROUNDS: usize = 3;

/// `a * x + b * y <= c`
#[derive(Clone, Copy)]
struct Literal {
    a: i64,
    x: usize,
    b: i64,
    y: usize,
    c: i64,
}

type Clause = [Literal; 2];

fn clauses() -> Vec<Clause> {
    let mut state = 0x1234_5678_9abc_def1_u64;
    let mut next = |n: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) % n
    };
    let mut literal = |low: i64| Literal {
        a: next(7) as i64 - 3,
        x: next(INTEGERS as u64) as usize,
        b: next(7) as i64 - 3,
        y: next(INTEGERS as u64) as usize,
        c: next(21) as i64 + low,
    };
    // The clauses that stay are easy to satisfy, so that the questions decide.
    (0..5 * (QUESTIONS + 1))
        .map(|i| if i < 5 { [literal(-3), literal(-3)] } else { [literal(-17), literal(-19)] })
        .collect()
}

fn ours(clauses: &[Clause]) -> (Vec<bool>, f64) {
    let begin = processor_seconds();
    let terms = Terms::new();
    let t = &terms;
    let xs: Vec<Term> = (0..INTEGERS).map(|i| t.sym(t.symbol(format!("x{i}"), Sort::INT))).collect();
    let times = |n: i64, x: Term| t.mul(t.int(n.into()), x);
    let clause = |c: &Clause| {
        let parts = c.map(|l| t.le(t.add(times(l.a, xs[l.x]), times(l.b, xs[l.y])), t.int(l.c.into())));
        t.or(&parts)
    };
    let mut smt = Z3::new(t, SolverSettings::default(), &Budget::unlimited()).expect("z3 is linked");
    for x in &xs {
        smt.assert(t.le(t.int(-i128::from(BOUND)), *x));
        smt.assert(t.le(*x, t.int(BOUND.into())));
    }
    for c in &clauses[..5] {
        smt.assert(clause(c));
    }
    let mut answers = Vec::with_capacity(QUESTIONS);
    for question in clauses[5..].chunks(5) {
        smt.push();
        for c in question {
            smt.assert(clause(c));
        }
        answers.push(match smt.check() {
            Satisfiability::Sat => true,
            Satisfiability::Unsat => false,
            Satisfiability::Unknown(reason) => panic!("a small question is decided: {reason}"),
        });
        smt.pop();
    }
    (answers, processor_seconds() - begin)
}

fn raw(clauses: &[Clause]) -> (Vec<bool>, f64) {
    let begin = processor_seconds();
    let mut answers = Vec::with_capacity(QUESTIONS);
    // SAFETY: plain use of the interface on a context of our own, references counted as it asks.
    unsafe {
        let config = Z3_mk_config().expect("a configuration");
        let c = Z3_mk_context_rc(config).expect("a context");
        Z3_del_config(config);
        let solver = Z3_mk_simple_solver(c).expect("a solver");
        Z3_solver_inc_ref(c, solver);
        let int = Z3_mk_int_sort(c).expect("the sort of integers");
        let keep = |ast: Option<Z3_ast>| {
            let ast = ast.expect("a term");
            Z3_inc_ref(c, ast);
            ast
        };
        let xs: Vec<Z3_ast> =
            (0..INTEGERS).map(|i| keep(Z3_mk_const(c, Z3_mk_int_symbol(c, i as i32).expect("a name"), int))).collect();
        let assert = |clause: &Clause| {
            let parts = clause.map(|l| {
                let number = |n: i64| keep(Z3_mk_int64(c, n, int));
                let (a, b, bound) = (number(l.a), number(l.b), number(l.c));
                let x = keep(Z3_mk_mul(c, 2, [a, xs[l.x]].as_ptr()));
                let y = keep(Z3_mk_mul(c, 2, [b, xs[l.y]].as_ptr()));
                let sum = keep(Z3_mk_add(c, 2, [x, y].as_ptr()));
                let le = keep(Z3_mk_le(c, sum, bound));
                [a, b, bound, x, y, sum].iter().for_each(|ast| Z3_dec_ref(c, *ast));
                le
            });
            let or = keep(Z3_mk_or(c, 2, parts.as_ptr()));
            parts.iter().for_each(|ast| Z3_dec_ref(c, *ast));
            Z3_solver_assert(c, solver, or);
            Z3_dec_ref(c, or);
        };
        for x in &xs {
            let number = |n: i64| keep(Z3_mk_int64(c, n, int));
            Z3_solver_assert(c, solver, keep(Z3_mk_le(c, number(-BOUND), *x)));
            Z3_solver_assert(c, solver, keep(Z3_mk_le(c, *x, number(BOUND))));
        }
        clauses[..5].iter().for_each(assert);
        for question in clauses[5..].chunks(5) {
            Z3_solver_push(c, solver);
            question.iter().for_each(assert);
            answers.push(match Z3_solver_check(c, solver) {
                Z3_L_TRUE => true,
                Z3_L_FALSE => false,
                _ => panic!("a small question is decided"),
            });
            Z3_solver_pop(c, solver, 1);
        }
        Z3_solver_dec_ref(c, solver);
        Z3_del_context(c);
    }
    (answers, processor_seconds() - begin)
}

/// Processor time of this thread; wall time where the system does not tell.
fn processor_seconds() -> f64 {
    static BEGIN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let nanoseconds = std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| BEGIN.get_or_init(Instant::now).elapsed().as_secs_f64(), |n| n / 1e9)
}

fn main() {
    let clauses = clauses();
    let (mut best_ours, mut best_raw) = (f64::MAX, f64::MAX);
    for round in 0..ROUNDS {
        let (said_raw, raw) = raw(&clauses);
        let (said_ours, ours) = ours(&clauses);
        assert_eq!(said_ours, said_raw, "both sides give the same answers");
        best_ours = best_ours.min(ours);
        best_raw = best_raw.min(raw);
        if round == 0 {
            let sat = said_raw.iter().filter(|s| **s).count();
            println!("{QUESTIONS} questions, {sat} satisfiable");
        }
    }
    let rate = |seconds: f64| QUESTIONS as f64 / seconds;
    let ratio = best_raw / best_ours;
    println!("raw interface  {:>8.0} questions per second", rate(best_raw));
    println!("our layer      {:>8.0} questions per second", rate(best_ours));
    println!("ratio          {ratio:>8.2}");
    if ratio < 0.8 {
        eprintln!("our layer is slower than 80 % of the raw interface");
        std::process::exit(1);
    }
}
