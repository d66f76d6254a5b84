//! Inner, local and generic classes, `switch` as a value, records, the library in Java and interruption under the reference semantics.
//!
//! In: small programs. Out: the properties that some run violates, compared with what Java does.

use super::tests::{breaks, broken, computes, holds, program, two};

fn unmodelled(members: &str, main: &str) -> bool {
    broken(&program(members, main)).iter().any(|f| f.starts_with("unmodelled"))
}

#[test]
fn check_inner_objects_reach_what_is_around_them() {
    computes(
        "int base = 10; class In { int k; In(int k) { this.k = k; base++; } int sum() { return base + k + twice(k); } class Deep { int all() { return base + k; } } }
         int twice(int n) { return 2 * n; } In make(int k) { return new In(k); } int base() { return T.this.base; }
         static class Sub extends T { int deep() { In i = make(3); return i.deep(); } }",
        "T t = new T(); In i = t.make(4); int a = i.sum(); int b = t.base();",
        &["a == 23", "b == 11"],
    );
}

#[test]
fn check_classes_in_bodies_keep_variables_around_them() {
    computes(
        "interface Op { int on(int x); int calls(); } static Op adder(final int by) { return new Op() { private int n = 0; public int on(int x) { n++; return x + by; } public int calls() { return n; } }; }
         static abstract class Shape { final int w; Shape(int w) { this.w = w; } abstract int area(); }",
        "Op one = adder(1); Op ten = adder(10); int a = one.on(1) + ten.on(1); int n = one.calls(); int h = 3;
         Shape s = new Shape(4) { int area() { return w * h; } }; int b = s.area();
         class Pair { int x = h; int y; Pair(int y) { this.y = y; } int both() { return x * 10 + y; } } int c = new Pair(7).both();",
        &["a == 13", "n == 1", "b == 12", "c == 37"],
    );
}

#[test]
fn check_an_inherited_field_hides_a_variable_around() {
    computes(
        "static class P { int v = 5; abstract static class Q { } } interface G { int get(); int twice(); }",
        "int v = 1; P p = new P() { int look() { return v; } { v = v + 1; } }; int a = p.v;",
        &["a == 6"],
    );
}

#[test]
fn check_generic_classes_hold_numbers_strings_and_objects() {
    computes(
        "static class Box<A> { private A held; Box(A a) { held = a; } A get() { return held; } void set(A a) { held = a; } }
         static class Pair<A, B> { final A a; final B b; Pair(A a, B b) { this.a = a; this.b = b; } Box<B> boxed() { return new Box<>(b); } }
         static class Chain<A> { Link top; int n; class Link { A item; Link next; Link(A i) { item = i; next = top; n++; } } void push(A a) { top = new Link(a); } A pop() { A i = top.item; top = top.next; return i; } }",
        "Box<Integer> i = new Box<>(3); Box<String> s = new Box<>(\"a\"); i.set(i.get() + 1); int a = i.get(); boolean b = s.get() == \"a\";
         Pair<Integer, Long> p = new Pair<>(1, 2L); long c = p.boxed().get() + p.a; Chain<Integer> ch = new Chain<>(); ch.push(1); ch.push(2); int d = ch.pop() * 10 + ch.pop(); int n = ch.n;
         Box<Box<Integer>> bb = new Box<>(i); int e = bb.get().get();",
        &["a == 4", "b", "c == 3", "d == 21", "n == 2", "e == 4"],
    );
    let mixed = "static class Box<A> { A held; } static int f(Box b) { return 1; }";
    assert!(unmodelled(mixed, "Box<Integer> b = new Box<Integer>(); b.held = 1; int x = f(b);"));
}

#[test]
fn check_a_switch_may_be_a_value() {
    computes(
        "enum Day { SAT, SUN, MON } static int of(Day d, int n) { return switch (d) { case SAT, SUN -> 0; case MON -> { int k = n * 2; if (k > 6) yield 6; yield k; } }; }
         static long wide(int n) { var v = switch (n) { case 1: yield 1L; case 2: default: yield 7; }; return v; }",
        "int a = of(Day.SUN, 9); int b = of(Day.MON, 2); int c = of(Day.MON, 9); long d = wide(1) * 10 + wide(5);
         String s = switch (a) { case 0 -> \"zero\"; default -> throw new IllegalStateException(); }; boolean e = s == \"zero\";",
        &["a == 0", "b == 4", "c == 6", "d == 17L", "e"],
    );
    breaks(
        "static int f(int n) { return switch (n) { case 1 -> 1; default -> throw new IllegalStateException(); }; }",
        "int x = f(2);",
        &["throw"],
    );
}

#[test]
fn check_records_are_made_of_their_components() {
    computes(
        "record Point(int x, int y) { static int made = 0; Point { made++; if (x < 0) throw new IllegalArgumentException(); } int sum() { return x + y; } } record One(long v) { long v() { return v + 1; } }",
        "Point p = new Point(3, 4); int a = p.x() * 10 + p.y(); int b = p.sum(); int c = Point.made; long d = new One(5).v();",
        &["a == 34", "b == 7", "c == 1", "d == 6L"],
    );
    breaks(
        "record Point(int x) { Point { if (x < 0) throw new IllegalArgumentException(); } }",
        "Point p = new Point(-1);",
        &["throw"],
    );
    let in_list =
        "java.util.ArrayList<R> l = new java.util.ArrayList<>(); l.add(new R(1)); boolean b = l.contains(new R(1));";
    assert!(unmodelled("record R(int x) { }", in_list));
}

#[test]
fn check_arrays_are_copied_element_by_element() {
    computes(
        "",
        "int[] a = {1, 2, 3, 4}; int[] b = new int[4]; System.arraycopy(a, 1, b, 0, 3); System.arraycopy(a, 0, a, 1, 3); System.arraycopy(b, 0, b, 0, 0);
         int k = 0; try { System.arraycopy(a, 2, b, 0, 3); } catch (IndexOutOfBoundsException e) { k = 1; }",
        &["b[0] == 2", "b[2] == 4", "b[3] == 0", "a[0] == 1", "a[1] == 1", "a[3] == 3", "k == 1"],
    );
    breaks("", "int[] a = new int[2]; System.arraycopy(a, 0, a, 1, 2);", &["bounds"]);
    breaks("", "int[] a = new int[2]; int[] b = null; System.arraycopy(a, 0, b, 0, 1);", &["null"]);
    breaks(
        "static int[] from = new int[2]; static int[] to = new int[2];",
        &two("System.arraycopy(from, 0, to, 0, 2)"),
        &["race"],
    );
}

#[test]
fn check_locks_count_how_often_they_were_taken() {
    let lock = "static final ReentrantLock l = new ReentrantLock(); static int x; static void in() { l.lock(); x++; l.unlock(); } static void out() { l.lock(); in(); x++; l.unlock(); }";
    holds(lock, &format!("{} assert x == 4;", two("out()")));
    breaks(&lock.replace("in(); x++; l.unlock();", "in(); l.unlock(); x++;"), &two("out()"), &["race:T.x"]);
    breaks(lock, "l.lock(); out(); l.unlock(); l.unlock();", &["throw"]);
    holds(
        "static final ReentrantLock l = new ReentrantLock();",
        "boolean a = l.tryLock(); if (a) l.unlock(); Thread t = new Thread(() -> { if (l.tryLock()) l.unlock(); }); t.start(); t.join();",
    );
}

#[test]
fn check_what_has_a_limit_of_time_may_give_up() {
    let latch = "static final CountDownLatch c = new CountDownLatch(1);";
    let threads = "Thread t = new Thread(() -> c.countDown()); t.start();";
    breaks(latch, &format!("{threads} assert c.await(1, TimeUnit.SECONDS);"), &["assert"]);
    holds(latch, &format!("{threads} if (!c.await(1, TimeUnit.SECONDS)) c.await(); assert c.getCount() == 0;"));
    let pool = "ExecutorService p = Executors.newFixedThreadPool(1); p.execute(() -> x = 1); p.shutdown();";
    breaks(
        "static volatile int x;",
        &format!("{pool} p.awaitTermination(1, TimeUnit.DAYS); assert x == 1;"),
        &["assert"],
    );
    holds(
        "static volatile int x;",
        &format!("{pool} p.awaitTermination(Long.MAX_VALUE, TimeUnit.DAYS); assert x == 1;"),
    );
}

#[test]
fn check_tasks_of_one_thread_run_one_after_the_other() {
    let run = |n: usize| {
        format!(
            "ExecutorService p = Executors.newFixedThreadPool({n}); p.execute(() -> x++); p.execute(() -> x = x * 3); p.shutdown(); p.awaitTermination(Long.MAX_VALUE, TimeUnit.DAYS); assert x == 3;"
        )
    };
    holds("static int x;", &run(1));
    breaks("static int x;", &run(2), &["race:T.x"]);
}

#[test]
fn check_interruption_reaches_those_who_wait() {
    let members = "static final Object m = new Object(); static volatile int s;";
    let waits = "Thread t = new Thread(() -> { try { synchronized (m) { while (true) m.wait(); } } catch (InterruptedException e) { s = 1; } }); t.start();";
    holds(members, &format!("{waits} t.interrupt(); t.join(); assert s == 1;"));
    breaks(members, &format!("{waits} t.join();"), &["deadlock"]);
    let asks = "Thread t = new Thread(() -> { while (!Thread.currentThread().isInterrupted()) Thread.yield(); boolean first = Thread.interrupted(); assert first && !Thread.interrupted(); }); t.start(); t.interrupt(); t.join();";
    holds("", asks);
    let takes = "static final LinkedBlockingQueue<Integer> q = new LinkedBlockingQueue<>(); static volatile int s;";
    let consumer = "Thread t = new Thread(() -> { try { while (true) q.take(); } catch (InterruptedException e) { s = 2; } }); t.start(); t.interrupt(); t.join(); assert s == 2;";
    holds(takes, consumer);
}

#[test]
fn check_daemons_are_not_waited_for() {
    let main = "Thread t = new Thread(() -> { synchronized (m) { try { m.wait(); } catch (InterruptedException e) { } } }); t.setDaemon(WHETHER); t.start();";
    holds("static final Object m = new Object();", &main.replace("WHETHER", "true"));
    breaks("static final Object m = new Object();", &main.replace("WHETHER", "false"), &["deadlock"]);
}

#[test]
fn check_maps_compute_in_one_step() {
    let map = "static final ConcurrentHashMap<String, Integer> m = new ConcurrentHashMap<>();";
    holds(map, &format!("{} assert m.get(\"k\") == 2;", two("m.merge(\"k\", 1, Integer::sum)")));
    breaks(
        map,
        &format!("{} assert m.get(\"k\") == 2;", two("m.put(\"k\", m.getOrDefault(\"k\", 0) + 1)")),
        &["assert"],
    );
    computes(
        map,
        "m.compute(\"a\", (k, v) -> v == null ? 5 : v + 1); m.compute(\"a\", (k, v) -> v == null ? 5 : v + 1); m.computeIfAbsent(\"b\", k -> 8); m.computeIfAbsent(\"b\", k -> 9);
         m.computeIfPresent(\"c\", (k, v) -> 1); m.merge(\"b\", 1, (x, y) -> null);",
        &["m.get(\"a\") == 6", "m.get(\"b\") == null", "m.size() == 1"],
    );
    // A function that reads shared places is not one step.
    let reads = "static int n; static final ConcurrentHashMap<String, Integer> m = new ConcurrentHashMap<>();";
    assert!(unmodelled(reads, "m.computeIfAbsent(\"a\", k -> n++);"));
}
