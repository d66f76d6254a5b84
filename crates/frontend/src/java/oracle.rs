//! Random Java programs, run by a JDK and compared with the model: what is seen must be among what the model allows.
//!
//! In: programs of one thread with arithmetic, and of two threads with volatile fields, monitors and atomic numbers. Out: for each
//! outcome that the JDK shows, a run of the model that ends in it; for arithmetic, that it is the only one. Where there is no JDK the tests
//! print so and pass. Deliberately absent: programs with data races, which may show more than sequential consistency allows.

use super::tests::broken;
use base::Random;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

/// Programs of one test: few in continuous integration, as many as `THREADPROOF_DIFFERENTIAL` says in a long run.
fn programs(usual: u64) -> u64 {
    base::differential::programs_to_try(usual)
}

/// The output of a Java class, or nothing where there is no JDK.
fn run(folder: &str, class: &str, text: &str) -> Option<String> {
    let place: PathBuf = std::env::temp_dir().join(format!("threadproof-java-{folder}-{}", std::process::id()));
    std::fs::create_dir_all(&place).expect("a folder for a test can be made");
    let file = place.join(format!("{class}.java"));
    std::fs::write(&file, text).expect("a file for a test can be written");
    let output = Command::new("java").arg("-Xint").arg("-ea").arg(&file).output();
    let result = match output {
        Ok(done) if done.status.success() => Some(String::from_utf8_lossy(&done.stdout).into_owned()),
        Ok(done) => panic!("the JDK refuses the program: {}\n{text}", String::from_utf8_lossy(&done.stderr)),
        Err(_) => {
            println!("skipped: there is no `java` on this machine");
            None
        }
    };
    std::fs::remove_dir_all(&place).expect("the folder of a test can be removed");
    result
}

fn pick<'a>(random: &mut Random, from: &[&'a str]) -> &'a str {
    random.one_of(from)
}

fn number(random: &mut Random) -> String {
    match random.below(6) {
        0 => "2147483647".into(),
        1 => "-2147483648".into(),
        2 => format!("-{}", random.below(9) + 1),
        3 => "65535".into(),
        _ => format!("{}", random.below(40)),
    }
}

fn expression(random: &mut Random, depth: usize) -> String {
    if depth == 0 || random.below(5) == 0 {
        return match random.below(3) {
            0 => number(random),
            _ => pick(random, &["a", "b", "c", "l", "s", "y", "h"]).to_owned(),
        };
    }
    let (left, right) = (expression(random, depth - 1), expression(random, depth - 1));
    match random.below(9) {
        0 => format!("({left} {} (({right}) | 1))", pick(random, &["/", "%"])),
        1 => format!("({left} {} ({right} & 63))", pick(random, &["<<", ">>", ">>>"])),
        2 => format!("({}) ({left})", pick(random, &["int", "long", "short", "byte", "char"])),
        3 => format!("({left} {} {right} ? {left} : {right})", pick(random, &["<", "<=", "==", "!=", ">", ">="])),
        4 => format!("({}({left}))", pick(random, &["-", "~", "+"])),
        5 => format!("({left} {} {right})", pick(random, &["&", "|", "^"])),
        _ => format!("({left} {} {right})", pick(random, &["+", "-", "*"])),
    }
}

const NAMES: [(&str, &str); 7] =
    [("int", "a"), ("int", "b"), ("int", "c"), ("long", "l"), ("short", "s"), ("byte", "y"), ("char", "h")];

/// Declarations and assignments to locals of all types.
fn arithmetic(random: &mut Random) -> String {
    let mut out = String::new();
    for (ty, name) in NAMES {
        out.push_str(&format!("{ty} {name} = ({ty}) ({});\n", number(random)));
    }
    for _ in 0..6 {
        let (ty, name) = NAMES[random.below(7)];
        let value = expression(random, 3);
        let line = match random.below(4) {
            0 => format!("{name} {}= {value};\n", pick(random, &["+", "-", "*", "&", "|", "^"])),
            1 => format!("{name}{};\n", pick(random, &["++", "--"])),
            _ => format!("{name} = ({ty}) ({value});\n"),
        };
        out.push_str(&line);
    }
    out
}

#[test]
fn check_arithmetic_gives_what_the_jdk_gives() {
    let mut random = Random::new(7);
    let bodies: Vec<String> = (0..programs(12)).map(|_| arithmetic(&mut random)).collect();
    let methods: String = bodies
        .iter()
        .enumerate()
        .map(|(i, body)| {
            let prints: String = NAMES.iter().map(|(_, n)| format!("System.out.print((long) {n} + \" \");")).collect();
            format!("static void m{i}() {{ {body} {prints} System.out.println(); }}\n")
        })
        .collect();
    let calls: String = (0..bodies.len()).map(|i| format!("m{i}();")).collect();
    let text = format!("public class A {{ {methods} public static void main(String[] args) {{ {calls} }} }}");
    let Some(output) = run("arithmetic", "A", &text) else { return };
    for (body, line) in bodies.iter().zip(output.lines()) {
        let asserts: String =
            NAMES.iter().zip(line.split(' ')).map(|((_, n), v)| format!("assert {n} == {v}L;\n")).collect();
        let program = format!("public class A {{ public static void main(String[] args) {{ {body} {asserts} }} }}");
        assert_eq!(broken(&program), Vec::<String>::new(), "{program}");
    }
}

/// Operations of one thread on shared places, none of which races.
fn operations(random: &mut Random) -> String {
    let count = random.below(2) + 2;
    (0..count)
        .map(|_| {
            let k = random.below(3) + 1;
            match random.below(7) {
                0 => format!("v = v + {k}; "),
                1 => format!("if (v == {k}) w = w * 2 + {k}; else w = {k}; "),
                2 => format!("synchronized (m) {{ p = p * 2 + {k}; q = p; }} "),
                3 => format!("n.compareAndSet({k}, w); "),
                4 => "v = n.incrementAndGet(); ".to_owned(),
                5 => format!("synchronized (m) {{ if (q > {k}) p = n.get(); }} "),
                _ => format!("w = n.getAndAdd({k}) + v; "),
            }
        })
        .collect()
}

#[test]
fn check_outcomes_of_threads_are_among_those_of_the_model() {
    let mut random = Random::new(11);
    for _ in 0..programs(3) {
        let (left, right) = (operations(&mut random), operations(&mut random));
        let members = "static volatile int v; static volatile int w; static int p; static int q;
            static final Object m = new Object(); static final java.util.concurrent.atomic.AtomicInteger n = new java.util.concurrent.atomic.AtomicInteger();";
        let threads = format!(
            "Thread a = new Thread(() -> {{ {left} }}); Thread b = new Thread(() -> {{ {right} }});
             a.start(); b.start(); a.join(); b.join();"
        );
        let again = "v = 0; w = 0; p = 0; q = 0; n.set(0);";
        let shown = "System.out.println(v + \" \" + w + \" \" + p + \" \" + q + \" \" + n.get());";
        let text = format!(
            "public class A {{ {members} public static void main(String[] args) throws InterruptedException {{
             for (int i = 0; i < 300; i++) {{ {again} {threads} {shown} }} }} }}"
        );
        let Some(output) = run("threads", "A", &text) else { return };
        let outcomes: BTreeSet<&str> = output.lines().collect();
        assert!(!outcomes.is_empty());
        for outcome in outcomes {
            let values: Vec<&str> = outcome.split(' ').collect();
            let [v, w, p, q, n] = values[..] else { panic!("an outcome of five values: {outcome}") };
            let members = members.replace("java.util.concurrent.atomic.AtomicInteger", "AtomicInteger");
            let program = format!(
                "public class A {{ {members} public static void main(String[] args) throws InterruptedException {{ {threads}
                 assert !(v == {v} && w == {w} && p == {p} && q == {q} && n.get() == {n}); }} }}"
            );
            let found = broken(&program);
            assert!(
                found.iter().any(|f| f.starts_with("assert")),
                "{outcome} is not in the model: {found:?}\n{program}"
            );
        }
    }
}
