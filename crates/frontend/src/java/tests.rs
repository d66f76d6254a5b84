//! Java programs under the reference semantics: every interleaving of small programs.

use super::{JavaText, load_files};
use crate::lang::LoweringSettings;
use base::Sources;
use program::semantics::{InstanceCounts, ReachLimits, reachable_states};
use program::{Program, PropertyKind};

fn lowered(text: &str) -> Program {
    let mut sources = Sources::new();
    let files = vec![JavaText { name: "T.java".into(), text: text.into() }];
    let (program, diagnostics) = load_files(&mut sources, files, &LoweringSettings::default());
    for d in &diagnostics {
        assert!(!d.is_error(), "{}: {} ({})\n{text}", sources.place(d.span), d.message, sources.text(d.span));
    }
    let program = program.expect("there is a main");
    let faults = program::wellformed(&program);
    assert!(faults.is_empty(), "{}", faults[0]);
    program
}

/// The properties that some run violates, by name; a construct outside the model says what it is.
pub(super) fn broken(text: &str) -> Vec<String> {
    let program = lowered(text);
    let limits = ReachLimits { states: 60_000, ..ReachLimits::default() };
    let found = reachable_states(&program, &InstanceCounts::of(&program, 3), &limits);
    let mut out: Vec<String> = found
        .violations
        .keys()
        .map(|p| match &program.properties[*p].kind {
            PropertyKind::Unmodelled(what) => format!("unmodelled {what}"),
            _ => program.properties[*p].name.clone(),
        })
        .collect();
    if let Some(why) = found.incomplete {
        out.push(format!("incomplete: {why}"));
    }
    out.sort();
    out
}

/// A class `T` with members and the body of `main`.
pub(super) fn program(members: &str, main: &str) -> String {
    format!(
        "import java.util.concurrent.atomic.*; import java.util.concurrent.locks.*; import java.util.concurrent.*;
public class T {{ {members}
  public static void main(String[] args) throws InterruptedException {{ {main} }} }}"
    )
}

pub(super) fn holds(members: &str, main: &str) {
    assert_eq!(broken(&program(members, main)), Vec::<String>::new());
}

pub(super) fn breaks(members: &str, main: &str, wanted: &[&str]) {
    let found = broken(&program(members, main));
    for word in wanted {
        assert!(found.iter().any(|f| f.starts_with(word)), "{word} is not among {found:?}");
    }
    assert!(!found.iter().any(|f| f.starts_with("unmodelled")), "{found:?}");
}

/// Computes in one thread; each argument is a condition that must hold.
pub(super) fn computes(members: &str, setup: &str, conditions: &[&str]) {
    let asserts: String = conditions.iter().map(|c| format!("assert {c};\n")).collect();
    holds(members, &format!("{setup}\n{asserts}"));
    for condition in conditions {
        breaks(members, &format!("{setup}\nassert !({condition});"), &["assert"]);
    }
}

const TWO: &str =
    "Thread a = new Thread(() -> BODY); Thread b = new Thread(() -> BODY); a.start(); b.start(); a.join(); b.join();";

pub(super) fn two(body: &str) -> String {
    TWO.replace("BODY", body)
}

#[test]
fn check_arithmetic_wraps_and_rounds_as_in_java() {
    computes(
        "static final int BIG = Integer_MAX; static final int Integer_MAX = 0x7fffffff;",
        "int x = BIG; int seven = 7; int minus = -7; int zero = 0; long l = 1L << 40; byte b = (byte) 200; char c = (char) -1;",
        &[
            "x + 1 == -2147483648",
            "minus / 2 == -3",
            "minus % 2 == -1",
            "seven / -2 == -3",
            "seven % -2 == 1",
            "-2147483648 / (zero - 1) == -2147483648",
            "(minus >> 1) == -4",
            "(minus >>> 28) == 15",
            "(1 << 33 + zero) == 2",
            "(minus & 15) == 9",
            "(seven | 8) == 15",
            "(seven ^ 2) == 5",
            "~seven == -8",
            "l + x > 0",
            "(int) l == 0",
            "b == -56",
            "c == 65535",
            "(short) 40000 == -25536",
        ],
    );
}

#[test]
fn check_operands_are_evaluated_from_left_to_right() {
    computes(
        "static int s = 0; static int next() { s = s + 1; return s; }",
        "int i = 1; int r = i + (i = 5) * i; int[] a = new int[3]; int k = 0; a[k] = k = 2; int p = i++ + ++i; int q = next() * 10 + next();",
        &["r == 26", "a[0] == 2", "a[2] == 0", "p == 12", "i == 7", "q == 12", "s == 2"],
    );
}

#[test]
fn check_the_right_side_of_and_is_evaluated_only_if_needed() {
    computes(
        "static int s = 0; static boolean hit() { s++; return true; }",
        "boolean x = s > 5 && hit(); boolean y = s == 0 || hit(); int[] a = null; boolean z = a != null && a[0] == 1; int w = a == null ? 3 : a[0];",
        &["s == 0", "!x", "y", "!z", "w == 3"],
    );
}

#[test]
fn check_loops_breaks_and_switches_go_where_java_goes() {
    computes(
        "enum Color { RED, GREEN }
         static int f(int k) { switch (k) { case 1: case 2: return 10; case 3: k = 7; break; default: k = 8; } return k; }
         static int g(Color c) { switch (c) { case RED -> { return 1; } case GREEN -> { return 2; } } return 3; }",
        "int s = 0; for (int i = 0; i < 10; i++) { if (i == 2) continue; if (i == 5) break; s += i; }
         int t = 0; do { t++; if (t == 2) continue; } while (t < 4);
         int u = 0; while (true) { if (u++ > 2) break; } int v = 0; for (int e : new int[]{1, 2, 3}) v += e;",
        &["s == 8", "t == 4", "u == 4", "v == 6", "f(1) == 10", "f(2) == 10", "f(3) == 7", "f(4) == 8", "g(Color.GREEN) == 2"],
    );
}

#[test]
fn check_an_index_outside_its_array_goes_wrong() {
    holds("", "int[] a = new int[2]; a[1] = 3; assert a[1] == 3 && a[0] == 0 && a.length == 2;");
    breaks("", "int[] a = new int[2]; int i = 2; a[i] = 3;", &["bounds:3"]);
    breaks("", "int[] a = new int[2]; int i = -1; int x = a[i];", &["bounds:3"]);
    breaks("", "int n = -1; int[] a = new int[n];", &["size:3"]);
    breaks("static final int[] A = {1, 2};", "int i = A[0] + 1; int x = A[i];", &["bounds:3"]);
}

#[test]
fn check_a_null_reference_goes_wrong() {
    breaks("static class N { int v; N next; }", "N n = new N(); assert n.v == 0; int x = n.next.v;", &["null:3"]);
    breaks("static class N { int v; int get() { return v; } }", "N n = null; int x = n.get();", &["null:3"]);
    breaks("", "int[] a = null; int x = a.length;", &["null:3"]);
    breaks("static Object o;", "synchronized (o) { }", &["null:3"]);
    breaks("", "int z = 0; int x = 1 / z;", &["division:3"]);
}

#[test]
fn check_an_unprotected_increment_is_lost_and_races() {
    breaks("static int x;", &format!("{} assert x == 2;", two("x++")), &["assert:3", "race:T.x"]);
    breaks("static volatile int x;", &format!("{} assert x == 2;", two("x++")), &["assert:3"]);
    let volatile_only = broken(&program("static volatile int x;", &two("x++")));
    assert!(volatile_only.is_empty(), "a volatile field takes part in no race: {volatile_only:?}");
}

#[test]
fn check_a_monitor_protects_an_increment() {
    let asserted = |body: &str| format!("{} assert x == 2;", two(body));
    holds("static int x; static final Object m = new Object();", &asserted("{ synchronized (m) { x++; } }"));
    holds("static int x; static synchronized void inc() { x++; }", &asserted("inc()"));
    holds("static int x;", &asserted("{ synchronized (T.class) { x++; } }"));
    // Two monitors are no monitor.
    breaks(
        "static int x; static final Object m = new Object(); static final Object n = new Object();",
        "Thread a = new Thread(() -> { synchronized (m) { x++; } }); Thread b = new Thread(() -> { synchronized (n) { x++; } });
         a.start(); b.start(); a.join(); b.join(); assert x == 2;",
        &["assert:4", "race:T.x"],
    );
}

#[test]
fn check_a_monitor_may_be_entered_twice() {
    holds(
        "static int x; static synchronized void inc() { x++; } static synchronized void twice() { inc(); inc(); }",
        &format!("{} assert x == 4;", two("twice()")),
    );
    holds(
        "static int x; static class C { int v; synchronized void a() { v++; } synchronized void b() { a(); synchronized (this) { a(); } } }",
        "C c = new C(); Thread t = new Thread(() -> c.b()); Thread u = new Thread(c::b2); t.start(); t.join();"
            .replace("Thread u = new Thread(c::b2); ", "")
            .as_str(),
    );
}

#[test]
fn check_an_object_shared_by_threads_is_protected_by_its_own_monitor() {
    let members = |word: &str| {
        format!("static class C {{ private int v; {word} void inc() {{ v++; }} {word} int get() {{ return v; }} }}")
    };
    let main = format!("C c = new C(); {} assert c.get() == 2;", two("c.inc()"));
    holds(&members("synchronized"), &main);
    breaks(&members(""), &main, &["assert:3", "race:C.v"]);
}

#[test]
fn check_two_monitors_in_opposite_order_may_deadlock() {
    let members = "static final Object m = new Object(); static final Object n = new Object();";
    let order = |a: &str, b: &str| format!("{{ synchronized ({a}) {{ synchronized ({b}) {{ }} }} }}");
    let main = |second: String| {
        format!(
            "Thread a = new Thread(() -> {}); Thread b = new Thread(() -> {second}); a.start(); b.start(); a.join(); b.join();",
            order("m", "n")
        )
    };
    breaks(members, &main(order("n", "m")), &["deadlock"]);
    holds(members, &main(order("m", "n")));
}

#[test]
fn check_a_lost_notification_is_a_deadlock_and_waking_up_needs_a_loop() {
    let box_class = |test: &str, wake: &str| {
        format!(
            "static class Box {{ boolean full; int v;
               synchronized void put(int x) {{ v = x; full = true; {wake} }}
               synchronized int take() throws InterruptedException {{ {test} (!full) wait(); assert full; return v; }} }}"
        )
    };
    let main = "Box b = new Box(); Thread t = new Thread(() -> { b.put(7); }); t.start(); int x = b.take(); assert x == 7; t.join();";
    holds(&box_class("while", "notifyAll();"), main);
    holds(&box_class("while", "notify();"), main);
    breaks(&box_class("while", ""), main, &["deadlock"]);
    breaks(&box_class("if", "notifyAll();"), main, &["assert:4"]);
    breaks("static final Object m = new Object();", "m.notify();", &["release:3"]);
}

#[test]
fn check_atomic_classes_count_and_swap() {
    holds(
        "static final AtomicInteger n = new AtomicInteger(5);",
        &format!("{} assert n.get() == 7;", two("n.incrementAndGet()")),
    );
    breaks(
        "static final AtomicInteger n = new AtomicInteger();",
        &format!("{} assert n.get() == 2;", two("n.set(n.get() + 1)")),
        &["assert:3"],
    );
    holds(
        "static final AtomicBoolean taken = new AtomicBoolean(); static int x;",
        &format!("{} assert x == 1;", two("{ if (taken.compareAndSet(false, true)) x++; }")),
    );
    computes(
        "static final AtomicInteger n = new AtomicInteger(3);",
        "int a = n.getAndAdd(2); int b = n.addAndGet(4); int c = n.getAndSet(1); boolean d = n.compareAndSet(2, 9); int e = n.decrementAndGet();",
        &["a == 3", "b == 9", "c == 9", "!d", "e == 0"],
    );
    // As a value that is handed on.
    holds(
        "static void up(AtomicInteger k) { k.getAndIncrement(); }",
        "AtomicInteger k = new AtomicInteger(1); up(k); assert k.get() == 2;",
    );
}

#[test]
fn check_locks_semaphores_and_latches_make_threads_wait() {
    let main = format!("{} assert x == 2;", two("{ l.lock(); try { x++; } finally { l.unlock(); } }"));
    holds("static int x; static final ReentrantLock l = new ReentrantLock();", &main);
    holds("static int x; static final Lock l = new ReentrantLock();", &main);
    breaks("static final ReentrantLock l = new ReentrantLock();", "l.unlock();", &["release:3"]);
    holds(
        "static int x; static final Semaphore s = new Semaphore(1);",
        &format!(
            "{} assert x == 2;",
            two("{ try { s.acquire(); x++; s.release(); } catch (InterruptedException e) { } }")
        ),
    );
    breaks(
        "static int x; static final Semaphore s = new Semaphore(2);",
        &format!(
            "{} assert x == 2;",
            two("{ try { s.acquire(); x++; s.release(); } catch (InterruptedException e) { } }")
        ),
        &["race:T.x", "assert:3"],
    );
    // Handlers of exceptions that only what is not modelled throws are reached where the program throws them itself.
    breaks("", "throw new IllegalStateException();", &["throw:3"]);
    for thrown in ["new java.io.IOException()", "new java.io.FileNotFoundException()", "new Mine()"] {
        let members = "static class Mine extends java.io.IOException { }";
        let main =
            format!("int x = 0; try {{ throw {thrown}; }} catch (java.io.IOException e) {{ x = 1; }} assert x == 1;");
        holds(members, &main);
    }
    holds(
        "static int x; static final CountDownLatch l = new CountDownLatch(1);",
        "Thread t = new Thread(() -> { x = 4; l.countDown(); }); t.start(); l.await(); assert x == 4;",
    );
    breaks(
        "static final CountDownLatch l = new CountDownLatch(2);",
        "Thread t = new Thread(() -> { l.countDown(); }); t.start(); l.await();",
        &["deadlock"],
    );
}

#[test]
fn check_a_condition_belongs_to_its_lock() {
    let queue = |signal: &str| {
        format!(
            "static class Q {{ private final ReentrantLock l = new ReentrantLock(); private final Condition c = l.newCondition(); private int n;
               void put() {{ l.lock(); try {{ n++; {signal} }} finally {{ l.unlock(); }} }}
               void take() throws InterruptedException {{ l.lock(); try {{ while (n == 0) c.await(); n--; assert n >= 0; }} finally {{ l.unlock(); }} }} }}"
        )
    };
    let main = "Q q = new Q(); Thread t = new Thread(() -> q.put()); t.start(); q.take(); t.join();";
    holds(&queue("c.signal();"), main);
    breaks(&queue(""), main, &["deadlock"]);
}

#[test]
fn check_subclasses_of_thread_and_runnables_run() {
    holds(
        "static class W extends Thread { int r; final int k; W(int k) { this.k = k; } public void run() { r = k * 2; } }",
        "W w = new W(4); w.start(); w.join(); assert w.r == 8;",
    );
    breaks(
        "static class W extends Thread { int r; public void run() { r = 1; } }",
        "W w = new W(); w.start(); assert w.r == 1; w.join();",
        &["assert:3", "race:W.r"],
    );
    holds(
        "static int x; static class R implements Runnable { public void run() { x = 5; } }",
        "Thread t = new Thread(new R()); t.start(); t.join(); assert x == 5;",
    );
    holds(
        "static final AtomicInteger n = new AtomicInteger();",
        "Thread[] ts = new Thread[2]; for (int i = 0; i < 2; i++) { ts[i] = new Thread(() -> n.incrementAndGet()); ts[i].start(); }
         for (Thread t : ts) t.join(); assert n.get() == 2;",
    );
    breaks("", "Thread t = new Thread(() -> { }); t.start(); if (t != null) t.start();", &["start:3"]);
}

#[test]
fn check_virtual_calls_run_the_method_of_the_object() {
    computes(
        "interface Shape { int area(); } static class Sq implements Shape { int s; Sq(int s) { this.s = s; } public int area() { return s * s; } }
         static abstract class Base implements Shape { int k = 2; public int area() { return k + more(); } abstract int more(); }
         static class D extends Base { int more() { return 5; } } static class E extends D { int more() { return super.more() + 1; } }
         static Shape pick(int i) { if (i == 0) return new Sq(3); if (i == 1) return new D(); return new E(); }",
        "int a = pick(0).area(); int b = pick(1).area(); int c = pick(2).area(); Shape s = pick(2); boolean d = s instanceof D; boolean e = pick(0) instanceof D; D f = (D) s;",
        &["a == 9", "b == 7", "c == 8", "d", "!e", "f.k == 2"],
    );
    breaks(
        "static class A { } static class B extends A { }",
        "A a = new A(); A other = new B(); B b = (B) a;",
        &["cast:3"],
    );
}

#[test]
fn check_what_is_not_modelled_is_named_at_its_line() {
    let found = broken(&program("", "double d = 1.5; java.util.BitSet l = new java.util.BitSet(); int x = l.size();"));
    assert!(found.iter().any(|f| f.starts_with("unmodelled")), "{found:?}");
    let found = broken(&program("static int f(int n) { return n == 0 ? 1 : n + f(n - 1); }", "int x = f(30);"));
    assert_eq!(found, ["unmodelled more calls of `f` inside each other than are looked at"]);
    let found = broken(&program("", "String s = \"a\" + 1; if (s.equals(\"a1\")) { int x = 1; }"));
    assert!(found.iter().any(|f| f.starts_with("unmodelled")), "{found:?}");
}

#[test]
fn check_a_return_leaves_monitors_and_runs_finally() {
    computes(
        "static int s = 0; static final Object m = new Object();
         static int f() { synchronized (m) { try { return s; } finally { s = 9; } } }",
        "int r = f(); int q = f(); for (int i = 0; i < 3; i++) { synchronized (m) { if (i == 1) break; } }",
        &["r == 0", "q == 9"],
    );
    holds(
        "static int x; static final Object m = new Object(); static int f() { synchronized (m) { if (x == 0) return 1; x++; } return 2; }",
        &two("f()"),
    );
}

/// Programs of the corpus that the reference semantics searches in little time.
#[test]
fn check_programs_of_the_corpus_have_their_truth() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/java");
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .expect("the corpus is there")
        .map(|e| e.expect("a file of the corpus").path())
        .collect();
    names.sort();
    let mut wrong = Vec::new();
    for path in names.iter().filter(|p| p.extension().is_some_and(|e| e == "java")) {
        let text = std::fs::read_to_string(path).expect("a program of the corpus can be read");
        let is_safe = text.starts_with("// truth: safe");
        assert!(is_safe || text.starts_with("// truth: unsafe"), "{} has no truth", path.display());
        let found = broken(&text);
        let unsettled = found.iter().any(|f| f.starts_with("unmodelled") || f.starts_with("incomplete"));
        if unsettled || found.is_empty() != is_safe {
            wrong.push(format!("{}: {found:?}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const ALLOCATOR: &str = "class Allocator {
    static final int N = 8;
    /*@ accessible_if[j] l[j] == 0 || l[j] == tid */
    static final int[] l = new int[N];
    static final boolean[] bits /*@ accessible_if[j] l[j] == 0 || l[j] == tid */ = new boolean[N];

    /*@ performs action \"NoBlocks\": () { \\result == -1 }
      @ [] action \"Allocated\": (bits[\\result], l[\\result]) {
      @    0 <= \\result && \\result < N && \\old(l[\\result]) == 0 && l[\\result] == tid
      @    && !\\old(bits[\\result]) && bits[\\result] }
      @*/
    public static int alloc() {
        //@ loop_invariant 0 <= i
        for (int i = 0; i < N; i++) {
            acquire(l[i]);
            if (!bits[i]) {
                bits[i] = true;
                //@ witness \"Allocated\";
                return i;
            }
            release(l[i]);
        }
        //@ set \\witness = \"NoBlocks\";
        return -1;
    }

    /*@ requires 0 <= i && i < N && l[i] == tid;
        performs action \"Free\": (bits[i], l[i]) { l[i] == 0 && !bits[i] } */
    public static void free(int i) {
        bits[i] = false;
        release(l[i]);
    }
}";

pub(super) fn diagnosed(text: &str) -> (Option<Program>, Vec<String>) {
    let mut sources = Sources::new();
    let files = vec![JavaText { name: "T.java".into(), text: text.into() }];
    let (program, diagnostics) = load_files(&mut sources, files, &LoweringSettings::default());
    (program, diagnostics.iter().map(|d| format!("{} {}: {}", d.code.0, sources.text(d.span), d.message)).collect())
}

#[test]
fn check_annotated_classes_become_procedures_with_specifications() {
    let (program, errors) = diagnosed(ALLOCATOR);
    assert_eq!(errors, Vec::<String>::new());
    let program = program.expect("it has no errors");
    assert_eq!(program::wellformed(&program).len(), 0);
    let mut names: Vec<&str> = program.properties.iter().map(|p| &p.name[..]).collect();
    names.sort_unstable();
    for wanted in ["access:Allocator.bits.data", "performs:Allocator.alloc", "performs:Allocator.free"] {
        assert!(names.contains(&wanted), "{wanted} is not among {names:?}");
    }
    assert_eq!(program.procedures.len(), 2);
    assert!(program.procedures.iter().any(|p| p.requires.len() == 1));
}

#[test]
fn check_static_fields_of_annotated_classes_begin_with_what_their_declarations_make() {
    let text = |body: &str| {
        format!(
            "class A {{ static class C {{ int v; }} static C c = new C(); static C d = new C(); static Object m = new Object();\n\
             static int[] a = new int[4]; static int n = Integer.parseInt(\"3\");\n\
             /*@ ensures \\result @*/ static boolean f() {{ synchronized (m) {{ return c != d && a[3] == n; }} }} {body} }}"
        )
    };
    let (program, errors) = diagnosed(&text(""));
    assert_eq!(errors, Vec::<String>::new());
    let program = program.expect("it has no errors");
    let named = |name: &str| program.vars.iter().any(|v| v.name == name);
    assert!(named("A.m.monitor") && named("A.a.data"), "nothing assigns them, so that they need no place on the heap");
    // The second object is there, and is not the first.
    let (without, _) = diagnosed(&text("").replace("d = new C()", "d = null"));
    let known = program.init.len();
    assert!(known > without.expect("it has no errors").init.len());
    let said: Vec<&str> = program.assumptions.iter().map(|a| &a.text[..]).filter(|t| t.contains("A.n")).collect();
    assert_eq!(said, ["`A.n` may have any value when its class has been initialized"]);
    // Whatever is assigned somewhere is a variable, whose first object is there.
    let (program, _) = diagnosed(&text("/*@ modifies m; @*/ static void g() { m = new Object(); a = new int[2]; }"));
    let program = program.expect("it has no errors");
    assert!(program.vars.iter().any(|v| v.name == "A.a") && program.vars.iter().all(|v| v.name != "A.m.monitor"));
    assert!(program.init.len() > known);
}

#[test]
fn check_names_in_annotated_classes_are_those_of_their_class() {
    // `size` of `Table` is no field of a `Copy`, and names no array of `Other`; a constant is made of constants of its own class.
    let text = "class Sizes { static final int ROWS = 4; static final int COLUMNS = 3; static final int ALL = ROWS * COLUMNS; }
        class Copy { int size; }
        class Other { static final int ROWS = 9; static int size; }
        class Table {
            static final int[] size /*@ accessible_if[i] size[i] == 0 || size[i] == tid */ = new int[Sizes.ALL];
            static int last;
            /*@ performs action (size[\\old(last)], last) { size[\\old(last)] == 0 && last == 0 } @*/
            static void clear(Copy c) { c.size = 0; size[last] = 0; last = 0; }
        }";
    let (program, errors) = diagnosed(text);
    assert_eq!(errors, Vec::<String>::new());
    let program = program.expect("it has no errors");
    assert!(program.vars.iter().any(|v| v.name == "Table.size.data"), "the array is part of its class");
    let unknown = program.assumptions.iter().any(|a| a.text.contains("Sizes."));
    assert!(!unknown, "12 is a constant");
    // An object of the class may be used to name its static array: then it is no part of the class.
    let (_, errors) =
        diagnosed(&text.replace("Copy c)", "Copy c, Table t)").replace("c.size = 0;", "int[] kept = t.size;"));
    assert!(errors.iter().any(|e| e.contains("0 indices")), "{errors:?}");
}

#[test]
fn check_annotations_that_are_not_understood_are_errors_at_their_place() {
    let class = |note: &str| format!("class A {{ static int x; {note} static void f() {{ x = 1; }} }}");
    let wrong = |note: &str| diagnosed(&class(note)).1;
    assert!(wrong("/*@ performs action (x) { x == 1 } */").is_empty());
    assert!(wrong("/*@ axiom x == 1; */").is_empty(), "{:?}", wrong("/*@ axiom x == 1; */"));
    assert!(wrong("/*@ promises x == 1; */")[0].starts_with("E0605 promises"));
    assert!(wrong("/*@ requires y == 1; */")[0].contains("`y`"));
    assert!(wrong("/*@ requires \\old(x) == 1; */")[0].contains("old"));
    assert!(wrong("/*@ requires x / 2 == 1; */").is_empty());
    assert!(wrong("/*@ requires \\result == 1; */")[0].contains("no result"));
    assert!(wrong("/*@ requires A == 1; */")[0].contains("is a class"));
    assert!(wrong("/*@ guarded_by x; */")[0].contains("no meaning before a method"));
    let unused =
        diagnosed("class A { static int x; static void f() { if (x == 1) { x = 2; /*@ witness \"L\"; */ } } }").1;
    assert!(!unused.is_empty());
    let warned = diagnosed("class A { /*@ requires true; */ public static void main(String[] a) { } }").1;
    assert!(warned[0].starts_with("W0601"), "{warned:?}");
    let promised = "@Immutable class A { int x; public static void main(String[] a) { } }";
    let warned = diagnosed(promised).1;
    assert!(warned.len() == 1 && warned[0].starts_with("W0601") && warned[0].contains("not final"), "{warned:?}");
}

#[test]
fn check_guarded_by_asks_for_the_lock_at_each_access() {
    let class = |body: &str| {
        format!(
            "static class C {{ @GuardedBy(\"this\") private volatile int x; synchronized void up() {{ x++; }} int get() {{ {body} }} }}"
        )
    };
    let main = "C c = new C(); Thread t = new Thread(() -> c.up()); t.start(); int r = c.get(); t.join();";
    holds(&class("synchronized (this) { return x; }"), main);
    breaks(&class("return x;"), main, &["guarded:2"]);
}
