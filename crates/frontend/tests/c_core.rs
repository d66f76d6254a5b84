//! The interpreter's own oracles: the corpus with its truth, and generated programs compiled with gcc and its sanitizers.
//!
//! A generated program is deterministic: what it prints when compiled must be what the interpreter prints, byte for byte, up to where it ends; if the sanitizers report
//! undefined behaviour, so must the interpreter, and the other way round. Threads take turns by joining, so that there is one result.
//! `THREADPROOF_DIFFERENTIAL=N` tries N programs. Without gcc's sanitizers the comparison is skipped, and says so.

use base::{Random, Sources, differential};
use core_lang::interpreter::{ExecutionEnd, Interpreter, RunOptions};
use core_lang::{Campaign, ExecutionLimits, ViolationKind};
use frontend::c::core::{lower_to_core, violations_of};
use frontend::c::{CCheck, DataModel, parse_c};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

fn module(path: &Path, text: &str) -> Result<core_lang::Module, String> {
    let mut sources = Sources::new();
    let parsed = parse_c(&mut sources, path, text, DataModel::Lp64).map_err(|d| d[0].message.clone())?;
    if let Some(error) = parsed.diagnostics.iter().find(|d| d.is_error()) {
        return Err(format!("{}: {}", sources.place(error.span), error.message));
    }
    Ok(lower_to_core(&parsed.unit))
}

fn mark<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    text.lines().find_map(|l| l.strip_prefix("// ")?.strip_prefix(key)?.strip_prefix(": "))
}

#[test]
fn check_no_execution_contradicts_the_truth_of_the_corpus() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/c");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).filter(|p| p.extension().is_some()).collect();
    files.sort();
    let (mut found, mut missed, mut wrong) = (0, 0, Vec::new());
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let (Some(truth), Some(checks)) = (mark(&text, "truth"), mark(&text, "check").map(CCheck::parse)) else {
            continue;
        };
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let module = match module(&path, &text) {
            Ok(module) => module,
            Err(why) if why.contains("preprocessor") => return println!("there is no preprocessor here: {why}"),
            Err(why) => panic!("{name}: {why}"),
        };
        let campaign = Campaign {
            known_places: Vec::new(),
            seed: 7,
            wanted: checks.iter().flat_map(|c| violations_of(*c)).collect(),
            runs: differential::programs_to_try(25) as u32,
            time: Duration::from_secs(1),
            limits: ExecutionLimits { instructions: 30_000, ..ExecutionLimits::default() },
            arguments: Vec::new(),
            input: Vec::new(),
        };
        match (truth, campaign.run(&module).found) {
            ("safe", Some(f)) => wrong.push(format!("{name}: {} {}", f.violation.thread, f.violation.message)),
            ("unsafe", Some(_)) => found += 1,
            ("unsafe", None) => missed += 1,
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "said to be safe:\n{}", wrong.join("\n"));
    println!("{found} violations found, {missed} not");
    assert!(found >= 60, "only {found} of {} broken programs go wrong in few runs", found + missed);
}

const INTS: [(&str, &str); 9] = [
    ("signed char", "%d"),
    ("unsigned char", "%d"),
    ("short", "%d"),
    ("unsigned short", "%d"),
    ("int", "%d"),
    ("unsigned", "%u"),
    ("long", "%ld"),
    ("unsigned long", "%lu"),
    ("long long", "%lld"),
];

/// Makes C programs that use much of the language and have one result.
struct Generator {
    random: Random,
    out: String,
    depth: u32,
}

impl Generator {
    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.random.below(words.len())]
    }
    /// A number that the compiler does not know: what it computes beforehand, no sanitizer looks at.
    fn number(&mut self) -> String {
        match self.random.below(8) {
            0 | 1 => format!("ki[{}]", self.random.below(2)),
            2 => format!("ku[{}]", self.random.below(3)),
            3 => format!("kl[{}]", self.random.below(3)),
            _ => format!("ki[{}]", 2 + self.random.below(6)),
        }
    }
    fn place(&mut self) -> String {
        match self.random.below(12) {
            0..=3 => format!("g{}", self.random.below(9)),
            4 => format!("a[{}]", self.random.below(6)),
            5 => format!("m[{}][{}]", self.random.below(3), self.random.below(4)),
            6 => format!("s.{}", self.pick(&["c", "b1", "b2", "b3", "l", "in.x", "in.y[1]"])),
            7 => format!("q->{}", self.pick(&["c", "b1", "b2", "b3", "l", "in.x", "in.y[0]"])),
            8 => "u.w".into(),
            9 => format!("u.h[{}]", self.random.below(2)),
            10 => "*p".into(),
            _ => "l".into(),
        }
    }
    fn expression(&mut self) -> String {
        self.depth += 1;
        let kind = if self.depth > 4 { self.random.below(3) } else { self.random.below(16) };
        let text = match kind {
            0 => self.number(),
            1 | 2 => self.place(),
            3..=6 => {
                let op = self.pick(&["+", "-", "*", "&", "|", "^"]);
                format!("({} {op} {})", self.expression(), self.expression())
            }
            7 => {
                let op = self.pick(&["/", "%"]);
                // Mostly by something that is not zero.
                match self.random.below(5) {
                    0 => format!("({} {op} {})", self.expression(), self.expression()),
                    _ => format!("({} {op} (({} & 15) + 1))", self.expression(), self.expression()),
                }
            }
            8 => {
                let op = self.pick(&["<<", ">>"]);
                match self.random.below(5) {
                    0 => format!("({} {op} {})", self.expression(), self.expression()),
                    _ => format!("((unsigned){} {op} ({} & 31))", self.expression(), self.expression()),
                }
            }
            9 => {
                let op = self.pick(&["<", "<=", "==", "!=", ">", ">="]);
                format!("({} {op} {})", self.expression(), self.expression())
            }
            10 => format!("({} ? {} : {})", self.expression(), self.expression(), self.expression()),
            11 => {
                let op = self.pick(&["&&", "||"]);
                format!("({} {op} {})", self.expression(), self.expression())
            }
            12 => format!("({}{})", self.pick(&["-", "~", "!"]), self.expression()),
            13 => format!("(({}){})", INTS[self.random.below(9)].0, self.expression()),
            14 => format!("a[(unsigned){} % 6]", self.expression()),
            _ => match self.random.below(4) {
                0 => format!("a[{} & 7]", self.expression()),
                1 => "(int)(d * 8)".into(),
                2 => "(int)sizeof(struct s)".into(),
                _ => format!("(unsigned char)text[{} & 7]", self.expression()),
            },
        };
        self.depth -= 1;
        text
    }
    fn statement(&mut self) -> String {
        let e = self.expression();
        match self.random.below(22) {
            0..=5 => format!("{} = {e};", self.place()),
            6 => {
                let op = self.pick(&["+=", "-=", "*=", "&=", "|=", "^="]);
                format!("{} {op} {e};", self.place())
            }
            7 => format!("{}{};", self.place(), self.pick(&["++", "--"])),
            8 => format!("if ({e}) {{ {} }} else {{ {} }}", self.statement(), self.statement()),
            9 => format!("for (int i = 0; i < 5; i++) {{ if (i == ({e} & 3)) continue; {} }}", self.statement()),
            10 => format!(
                "switch ({e} & 3) {{ case 0: {} case 1: {} break; case 2 ... 3: {} default: ; }}",
                self.statement(),
                self.statement(),
                self.statement()
            ),
            11 => "q = q == &s ? &r : &s;".into(),
            12 => format!("p = &a[(unsigned){e} % 6];"),
            13 => "r = s;".into(),
            14 => format!("s = make({e}, s);"),
            15 => format!("{} = sum(3, (int)({e}), 2L, (int){e});", self.place()),
            16 => format!("{} = op[{e} & 1]({e}, 3);", self.place()),
            17 => format!("d = d / 2 + ({e} & 63); g0 = (int)d;"),
            18 => format!("snprintf(text, sizeof text, \"%d:%x\", (int){e}, (unsigned)l);"),
            19 => format!(
                "{{ int *h = malloc(sizeof(int) * 4); h[0] = (int){e}; h = realloc(h, 64); g4 = h[0]; free(h); }}"
            ),
            20 => format!(
                "{{ int n = 0; again: n++; {} if (n < 3) goto again; }}",
                self.statement().replace("again", "once")
            ),
            _ => format!(
                "{} = (int)strtol(text, 0, 10) + (int)strlen(text) + (memcmp(text, \"12\", 2) > 0);",
                self.place()
            ),
        }
    }

    fn program(&mut self) -> String {
        self.out.push_str(
            "#include <pthread.h>\n#include <stdarg.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\
             struct in { short x; char y[3]; };\nstruct s { char c; int b1 : 5; unsigned b2 : 7; int b3 : 20; long l; struct in in; };\n\
             union u { unsigned w; unsigned short h[2]; };\n",
        );
        for (number, (ty, _)) in INTS.iter().enumerate() {
            let value = self.random.between(-100, 100);
            let _ = writeln!(self.out, "{ty} g{number} = ({ty}){value};");
        }
        self.out.push_str(
            "int a[6] = { 1, 2, 3 }; long m[3][4] = { { 1 }, { [2] = 5 } }; struct s s = { .c = 'x', .b1 = -3, .l = 1L << 33, .in = { 4, { 1, 2 } } }, r;\n\
             union u u = { 0x12345678 }; struct s *q = &s; int *p = &a[1]; double d = 2.75; char text[24] = \"12abc\";\n\
             int ki[] = { 2147483647, -2147483647 - 1, -3, 0, 1, 7, 31, 40 }; unsigned ku[] = { 4294967295u, 3000000000u, 5 }; long kl[] = { 1L << 62, -5000000000L, 9 };\n\
             static long plus(int x, int y) { return (long)x + y; }\nstatic long xor(int x, int y) { return x ^ y; }\nstatic long (*op[2])(int, int) = { plus, xor };\n\
             static struct s make(long v, struct s t) { static int calls; calls++; t.l = v ^ calls; t.in.y[1] = (char)calls; return t; }\n\
             static long sum(int n, ...) { va_list v; va_start(v, n); long t = va_arg(v, int); t += va_arg(v, long) + n; va_end(v); return t; }\n\
             static unsigned long hash; static void mix(unsigned long v) { hash = hash * 31 + v; }\n\
             static void show(int at) { mix(at);\n",
        );
        for number in 0..9 {
            let _ = writeln!(self.out, "  mix((unsigned long)g{number});");
        }
        self.out.push_str(
            "  for (int i = 0; i < 6; i++) mix((unsigned long)a[i]);\n  for (int i = 0; i < 3; i++) for (int j = 0; j < 4; j++) mix((unsigned long)m[i][j]);\n\
             \x20 mix(s.c); mix(s.b1); mix(s.b2); mix(s.b3); mix(s.l); mix(s.in.x); mix(s.in.y[1]); mix(r.b1); mix(r.b3); mix(r.l); mix(u.w); mix(strlen(text));\n\
             \x20 printf(\"%d %lx %d %u %ld %s %.4f\\n\", at, hash, g4, g5, g6, text, d); fflush(stdout); }\n",
        );
        for thread in 0..2 {
            let _ = writeln!(self.out, "static void *t{thread}(void *z) {{ long l = {};", self.random.between(-9, 9));
            for at in 0..4 {
                // Labels are of their function: one statement that has one is enough.
                let statement = self.statement();
                let fine = statement.matches("again:").count() <= usize::from(at == 0) && !statement.contains("once:");
                let statement = if fine { statement } else { format!("g1 = (signed char){at};") };
                let _ = writeln!(self.out, "  {statement}\n  show({});", thread * 10 + at);
            }
            self.out.push_str("  return (void *)l;\n}\n");
        }
        self.out.push_str(
            "int main(void) { pthread_t t; void *z; r = s;\n  pthread_create(&t, 0, t0, 0); pthread_join(t, &z); mix((unsigned long)z); show(100);\n\
             \x20 pthread_create(&t, 0, t1, &t); pthread_join(t, &z); mix((unsigned long)z); show(101);\n  return (int)(hash & 63); }\n",
        );
        std::mem::take(&mut self.out)
    }
}

/// What gcc's sanitizers report and the interpreter must report too.
fn is_undefined(kind: ViolationKind) -> bool {
    !matches!(
        kind,
        ViolationKind::Uninitialised | ViolationKind::Leak | ViolationKind::Assertion | ViolationKind::Deadlock
    )
}

#[test]
fn check_generated_programs_print_what_gcc_makes_them_print() {
    let folder = std::env::temp_dir().join(format!("threadproof-core-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (source, binary) = (folder.join("t.c"), folder.join("t"));
    let compile = |text: &str| {
        std::fs::write(&source, text).unwrap();
        let flags = [
            "-O0",
            "-w",
            "-pthread",
            "-fsanitize=address,undefined,float-cast-overflow",
            "-fno-sanitize-recover=all",
            "-o",
        ];
        Command::new("gcc").args(flags).arg(&binary).arg(&source).output()
    };
    match compile("int main(void) { return 0; }") {
        Ok(output) if output.status.success() => {}
        _ => return println!("gcc with its sanitizers is not here: nothing is compared"),
    }
    let (mut equal, mut undefined, mut rewritten) = (0, 0, 0);
    let count = differential::programs_to_try(25);
    for seed in differential::first_seed()..differential::first_seed() + count {
        let mut generator = Generator { random: Random::new(seed), out: String::new(), depth: 0 };
        let text = generator.program();
        let output = compile(&text).unwrap();
        assert!(output.status.success(), "seed {seed}: {}\n{text}", String::from_utf8_lossy(&output.stderr));
        let real = Command::new(&binary).env("ASAN_OPTIONS", "detect_leaks=0").output().unwrap();
        let reported = String::from_utf8_lossy(&real.stderr).into_owned();
        let module = module(&source, &text).unwrap_or_else(|why| panic!("seed {seed}: {why}\n{text}"));
        let ours = Interpreter::run(&module, RunOptions { seed, ..RunOptions::default() });
        let printed = String::from_utf8_lossy(&ours.output).into_owned();
        let context = || format!("seed {seed}\nours: {:?}\nreported: {reported}\n{text}", ours.ending);
        let theirs = String::from_utf8_lossy(&real.stdout).into_owned();
        // gcc rewrites some expressions before its sanitizer sees them: `u + (unsigned)-x` has no negation any more.
        let overflow = matches!(&ours.ending, ExecutionEnd::Violation(v) if v.kind == ViolationKind::Overflow);
        if overflow && theirs.len() > printed.len() && theirs.starts_with(&printed) {
            rewritten += 1;
            continue;
        }
        assert_eq!(printed, theirs, "{}", context());
        match &ours.ending {
            ExecutionEnd::Exited(code) => {
                assert!(reported.is_empty(), "the sanitizers report something: {}", context());
                assert_eq!(Some(code & 255), real.status.code(), "{}", context());
                equal += 1;
            }
            ExecutionEnd::Violation(violation) => {
                assert!(is_undefined(violation.kind) && !reported.is_empty(), "no sanitizer reports it: {}", context());
                undefined += 1;
            }
            other => panic!("{other:?}: {}", context()),
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    println!(
        "{equal} programs print the same, {undefined} are undefined for both, {rewritten} only before gcc rewrites them"
    );
    assert!(equal > 0 && undefined > 0 && rewritten <= 1 + undefined / 4);
}
