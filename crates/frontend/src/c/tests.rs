//! Tests of parsing and typing on small texts.

use super::ast::*;
use super::types::*;
use super::*;

fn parsed(text: &str, model: DataModel) -> ParsedC {
    let mut sources = Sources::new();
    match parse_c(&mut sources, Path::new("t.i"), text, model) {
        Ok(p) => p,
        Err(d) => panic!("{}: {d:?}", sources.place(d[0].span)),
    }
}

fn clean(text: &str) -> Unit {
    let p = parsed(text, DataModel::Lp64);
    assert!(p.diagnostics.is_empty(), "{:?}", p.diagnostics);
    p.unit
}

fn global_const(unit: &Unit, name: &str) -> i128 {
    let v = unit.variables.iter().find(|v| v.name == name).expect("declared");
    match v.init.as_ref().expect("initialised") {
        Init::Value(e) => e.as_const().expect("constant"),
        Init::Parts(_) => panic!("parts"),
    }
}

#[test]
fn check_constant_expressions_follow_c() {
    let unit = clean(
        "enum { A = 3, B, C = -1 }; struct s { char c; int i; short h[3]; struct s *p; };
         int a = B; int b = sizeof(struct s); int c = -7 / 2; int d = -7 % 2; unsigned e = -1;
         int f = (char)200; int g = sizeof(int[4]) / sizeof(int); int h = 1 ? 10 : 20; int i = 'a';
         int j = __builtin_offsetof(struct s, h[1]); int k = (unsigned char)300; int l = -1 < 1u; int m = ~0;
         long n = 0xffffffff; int o = 1 << 4 | 3; int p = '\\x41' + '\\101' + '\\n';",
    );
    let expect = [
        ("a", 4),
        ("b", 24),
        ("c", -3),
        ("d", -1),
        ("e", 4294967295),
        ("f", -56),
        ("g", 4),
        ("h", 10),
        ("i", 97),
        ("j", 10),
        ("k", 44),
        ("l", 0),
        ("m", -1),
        ("n", 4294967295),
        ("o", 19),
        ("p", 65 + 65 + 10),
    ];
    for (name, value) in expect {
        assert_eq!(global_const(&unit, name), value, "{name}");
    }
}

#[test]
fn check_sizes_follow_the_data_model() {
    let text = "struct s { char c; long l; long long q; void *p; }; int z = sizeof(struct s); int l = sizeof(long);";
    let narrow = parsed(text, DataModel::Ilp32).unit;
    let wide = parsed(text, DataModel::Lp64).unit;
    assert_eq!((global_const(&narrow, "z"), global_const(&narrow, "l")), (20, 4));
    assert_eq!((global_const(&wide, "z"), global_const(&wide, "l")), (32, 8));
}

#[test]
fn check_declarators_nest_as_c_reads_them() {
    let unit = clean("int *a[3]; int (*b)[3]; int (*f)(int, char); int *(*g[2])(void); int m[2][3];");
    let show = |n: &str| {
        let v = unit.variables.iter().find(|v| v.name == n).expect("declared");
        unit.types.show(v.ty)
    };
    assert_eq!(show("a"), "int *[3]");
    assert_eq!(show("b"), "int[3] *");
    assert_eq!(show("f"), "int(int, char) *");
    assert_eq!(show("g"), "int *() *[2]");
    assert_eq!(show("m"), "int[3][2]");
}

#[test]
fn check_initialisers_reach_their_offsets() {
    let unit = clean(
        "struct p { int x, y; }; struct q { struct p a[2]; char s[4]; };
         struct q v = { { 1, 2, { .y = 4 } }, \"ab\" }; int w[] = { [3] = 7, 8, [0] = 1 };
         struct p r[2] = { [0 ... 1] = { 5, 6 } };",
    );
    let parts = |n: &str| {
        let v = unit.variables.iter().find(|v| v.name == n).expect("declared");
        match v.init.as_ref().expect("initialised") {
            Init::Parts(p) => p.iter().map(|p| (p.offset, p.value.as_const().expect("const"))).collect::<Vec<_>>(),
            Init::Value(_) => panic!("value"),
        }
    };
    assert_eq!(parts("v"), vec![(0, 1), (4, 2), (12, 4), (16, 97), (17, 98), (18, 0)]);
    assert_eq!(parts("w"), vec![(12, 7), (16, 8), (0, 1)]);
    assert_eq!(parts("r"), vec![(0, 5), (4, 6), (8, 5), (12, 6)]);
    let w = unit.variables.iter().find(|v| v.name == "w").expect("declared");
    assert_eq!(unit.types.show(w.ty), "int[5]");
}

#[test]
fn check_gnu_extensions_are_understood() {
    let unit = clean(
        "typedef struct node { struct node *next; int v; } node_t; static __thread int tl = 3;
         #define\n int f(int *q, int a) { int z = a ?: 4;
           int m = ({ __typeof__(z) t = z; t + 1; });
           node_t *n = ({ const __typeof__(((node_t *)0)->v) *mp = (q); (node_t *)((char *)mp - __builtin_offsetof(node_t, v)); });
           __auto_type k = n->v; switch (k) { case 1 ... 3: return 1; default: break; }
           asm volatile(\"\" ::: \"memory\"); return ((int[]){1, 2})[m]; }",
    );
    let tl = unit.variables.iter().find(|v| v.name == "tl").expect("declared");
    assert_eq!(tl.storage, Storage::ThreadLocal);
    let k = unit.variables.iter().find(|v| v.name == "k").expect("declared");
    assert_eq!(unit.types.show(k.ty), "int");
}

#[test]
fn check_errors_have_places() {
    let mut sources = Sources::new();
    let text = "int x;\nint f(void) {\n  return y + x;\n}\n";
    let p = parse_c(&mut sources, Path::new("t.i"), text, DataModel::Lp64).expect("parses");
    assert_eq!(sources.place(p.diagnostics[0].span), "t.i:3:10");
    let mut sources = Sources::new();
    let bad = parse_c(&mut sources, Path::new("t.i"), "int x;\nint f( {\n", DataModel::Lp64).expect_err("syntax");
    assert_eq!(sources.line_of(bad[0].span), 2);
}

#[test]
fn check_guarded_by_survives() {
    let unit = clean("int m; int x __attribute__((guarded_by(m))); int y;");
    let x = unit.variables.iter().find(|v| v.name == "x").expect("declared");
    assert_eq!(x.guarded_by.as_deref(), Some("m"));
}

#[test]
fn check_a_syntax_error_names_what_is_most_likely_missing() {
    let label = |text: &str| {
        let mut sources = Sources::new();
        let errors = parse_c(&mut sources, Path::new("t.i"), text, DataModel::Lp64).expect_err("it is no C");
        errors[0].label.clone()
    };
    assert_eq!(label("int main(void) { int x = 1 return x; }"), "expected `;`");
    assert_eq!(label("int main(void) { return (1 + 2; }"), "expected `)`");
    assert_eq!(label("int a[3; int main(void) { return 0; }"), "expected `]`");
    assert_eq!(label("int main(void) { return 0;"), "expected `}`");
}

fn said(text: &str) -> Vec<base::Diagnostic> {
    let mut sources = Sources::new();
    load_c(&mut sources, Path::new("t.i"), text, &COptions::default()).1
}

#[test]
fn check_a_misspelt_function_is_an_error_with_a_suggestion() {
    let all = said("int main(void) { asert(1 == 2); return 0; }");
    let error = all.iter().find(|d| d.is_error()).expect("it is not declared");
    assert!(error.message.contains("`asert` is not declared"), "{}", error.message);
    assert!(error.hints.iter().any(|h| h.contains("did you mean `assert`?")), "{:?}", error.hints);
    assert!(said("int main(void) { assert(1 == 1); malloc(4); return 0; }").iter().all(|d| !d.is_error()));
}

#[test]
fn check_a_misspelt_annotation_is_an_error_with_a_suggestion() {
    let all = said("int x;\n//@ invarient x >= 0\nint main(void) { return 0; }\n");
    let error = all.iter().find(|d| d.is_error()).expect("it is no annotation");
    assert!(error.hints.iter().any(|h| h.contains("did you mean `invariant`?")), "{:?}", error.hints);
}

#[test]
fn check_verdicts_name_the_lines_of_weaker_orders() {
    let text = "int x; void *t(void *z) { return 0; }\nint main(void) { unsigned long h; pthread_create(&h, 0, t, 0);\n\
                __atomic_store_n(&x, 1, ORDER); return 0; }";
    let assumption = |order: &str, check: CCheck| {
        let options = COptions { checks: vec![check], ..COptions::default() };
        let text = text.replace("ORDER", order);
        let (program, _) = load_c(&mut Sources::new(), Path::new("t.i"), &text, &options);
        let first = program.expect("it lowers").assumptions.remove(0);
        (first.code, first.text)
    };
    let (code, text) = assumption("0", CCheck::Reach);
    assert!(code == "c-sequential-consistency" && text.contains("3 (relaxed)"), "{text}");
    let (code, text) = assumption("5", CCheck::Reach);
    assert!(code == RACE_FREE && !text.contains("weaker") && text.contains("where no-data-race is safe"), "{text}");
    // Without weaker orders a verdict on races alone holds for C11 itself.
    assert_eq!(assumption("5", CCheck::Race).0, EVALUATION_ORDER);
    assert_eq!(assumption("3", CCheck::Race).0, "c-sequential-consistency");
}

/// The names of the properties that some run of a program breaks, and the errors of its text.
fn broken(text: &str, checks: &[CCheck]) -> Result<Vec<String>, String> {
    let mut sources = Sources::new();
    let options = COptions { model: DataModel::Lp64, checks: checks.to_vec() };
    let (program, diagnostics) = load_c(&mut sources, Path::new("t.i"), text, &options);
    if let Some(error) = diagnostics.iter().find(|d| d.is_error()) {
        return Err(error.message.clone());
    }
    let program = program.expect("there is a program without errors");
    let faults = program::wellformed(&program);
    assert!(faults.is_empty(), "{}", faults[0]);
    let counts = program::semantics::InstanceCounts::of(&program, 1);
    let found = program::semantics::reachable_states(&program, &counts, &Default::default());
    assert!(found.complete() || !found.violations.is_empty());
    Ok(found.violations.keys().map(|p| program.properties[*p].name.clone()).collect())
}

const THREADS: &str = "typedef unsigned long pthread_t; typedef int pthread_mutex_t;
int pthread_create(pthread_t *, const void *, void *(*)(void *), void *); int pthread_join(pthread_t, void **);
int pthread_mutex_lock(pthread_mutex_t *); int pthread_mutex_unlock(pthread_mutex_t *); void reach_error(void);
";

#[test]
fn check_a_guard_is_never_dropped_in_silence() {
    let text = |globals: &str, m: &str, x: &str| {
        format!(
            "{THREADS}{globals}\nvoid *f(void *z) {{ pthread_mutex_lock(&{m}); pthread_mutex_unlock(&{m}); return 0; }}
             int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); {x} = 2; pthread_join(t, 0); return 0; }}\n"
        )
    };
    // The variable decides nothing, and no other thread waits for the mutex: still it is accessed while another thread holds it.
    let plain = text("pthread_mutex_t m;\nint x; //@ guarded_by(m)", "m", "x");
    assert_eq!(broken(&plain, &[CCheck::Reach]), Ok(vec!["access:x".into()]));
    let member = text("struct { int pad; pthread_mutex_t m; } s;\nint x; //@ guarded_by(s.m)", "s.m", "x");
    assert_eq!(broken(&member, &[CCheck::Reach]), Ok(vec!["access:x".into()]));
    let row = text("pthread_mutex_t m;\nint x[100]; //@ guarded_by(m)", "m", "x[3]");
    assert_eq!(broken(&row, &[CCheck::Reach]), Ok(vec!["access:x".into()]));
    let unknown = broken(&text("pthread_mutex_t m;\nint x; //@ guarded_by(n)", "m", "x"), &[CCheck::Reach]);
    assert!(unknown.is_err_and(|why| why.contains("guarded_by(n)")));
}

#[test]
fn check_each_assertion_is_a_property_of_its_own() {
    let text = format!(
        "{THREADS}int x;\nvoid *f(void *z) {{ x = 1; return 0; }}\nint main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0);\n\
         if (x > 1) reach_error();\nif (x == 1) reach_error();\nif (x < 0) reach_error();\npthread_join(t, 0); return 0; }}\n"
    );
    let line = THREADS.lines().count() + 5;
    assert_eq!(broken(&text, &[CCheck::Reach]), Ok(vec![format!("unreach-call:{line}")]));
}

#[test]
fn check_contracts_are_checked_at_calls_and_at_returns() {
    let text = |call: &str, body: &str| {
        format!(
            "int x;\n//@ requires n >= 0;\n//@ ensures \\result == n + 1 && x == n;\nint f(int n) {{ {body} }}\n\
             int main(void) {{ {call}; return 0; }}\n"
        )
    };
    let good = "x = n; n = n + 1; if (n > 5) return n; return n;";
    assert_eq!(broken(&text("f(3)", good), &[CCheck::Reach]), Ok(Vec::new()));
    assert_eq!(broken(&text("f(-1)", good), &[CCheck::Reach]).map(|b| b.len()), Ok(1));
    let bad = "x = n; n = n + 1; if (n > 5) return n; return n + 1;";
    assert_eq!(broken(&text("f(7)", bad), &[CCheck::Reach]), Ok(Vec::new()));
    assert_eq!(broken(&text("f(3)", bad), &[CCheck::Reach]).map(|b| b.len()), Ok(1));
    let unread = broken("//@ requires 0 <= n < 3;\nint f(int n) { return n; }\nint main(void) { return f(1); }\n", &[]);
    assert!(unread.is_err_and(|why| why.contains("compares twice")));
}

#[test]
fn check_all_obstacles_of_a_program_are_found_at_once() {
    let text = "int raise(int); int fork(void); void strange(int *);\nint main(void) { int x = 0;\nif (raise(1)) return 1;\n\
                x = fork();\nstrange(&x);\nreturn x; }\n";
    let mut sources = Sources::new();
    let files = [CSource { path: "t.i".into(), text: text.into(), flags: Vec::new() }];
    let found = obstacles(&mut sources, &files, &COptions::default());
    let lines: Vec<usize> = found.iter().map(|(span, _)| sources.line_of(*span)).collect();
    assert_eq!(lines, [3, 4, 5], "{found:?}");
}

#[test]
fn check_a_pointer_to_a_variable_of_an_earlier_turn_is_not_valid() {
    let text = "int main(void) { int *p = 0, s = 0; for (int i = 0; i < 2; i++) { int x = i; if (p) s += *p; p = &x; } return s; }\n";
    assert_ne!(broken(text, &[CCheck::Memory]), Ok(Vec::new()));
    let fine =
        "int main(void) { int s = 0; for (int i = 0; i < 2; i++) { int x = i; int *p = &x; s += *p; } return s; }\n";
    assert_eq!(broken(fine, &[CCheck::Memory]), Ok(Vec::new()));
}
