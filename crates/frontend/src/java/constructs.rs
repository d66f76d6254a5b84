//! Exceptions, labels, recursion, collections and strings of Java under the reference semantics.
//!
//! In: small programs. Out: the properties that some run violates, compared with what Java does.

use super::tests::{breaks, broken, computes, holds, program, two};

#[test]
fn check_labels_are_left_and_continued() {
    computes(
        "",
        "int n = 0; int m = 0; outer: for (int i = 0; i < 4; i++) { for (int j = 0; j < 4; j++) { if (j == 2) continue outer; if (i == 2) break outer; n++; } m++; }
         int k = 0; b: { k = 1; if (n > 0) break b; k = 2; }
         int w = 0; again: while (true) { w++; do { if (w < 3) continue again; if (w == 3) break again; } while (true); }",
        &["n == 4", "m == 0", "k == 1", "w == 3"],
    );
}

#[test]
fn check_cases_go_on_to_the_next_one() {
    let of = "static int of(int v) { int r = 0; switch (v) { case 1: r += 1; case 2: r += 10; break; case 3: if (r == 0) { r = 5; break; } r = 7; default: r += 100; case 9: r += 1000; } return r; }";
    computes(
        of,
        "int a = of(1); int b = of(2); int c = of(3); int d = of(4); int e = of(9);",
        &["a == 11", "b == 10", "c == 5", "d == 1100", "e == 1000"],
    );
    computes(
        "enum Color { RED, GREEN } static int of(String s) { switch (s) { case \"a\": return 1; case \"b\": return 2; default: return 3; } }",
        "int a = of(\"a\"); int b = of(\"b\"); int c = of(\"c\"); Color g = Color.GREEN; int d = 0; switch (g) { case RED: d = 1; case GREEN: d = 2; }",
        &["a == 1", "b == 2", "c == 3", "d == 2"],
    );
}

#[test]
fn check_handlers_catch_what_is_thrown_below_them() {
    computes(
        "static int f(int[] a, int i) { return a[i]; } static int g(int i) { try { return f(new int[2], i); } catch (ArrayIndexOutOfBoundsException e) { return -1; } finally { n++; } }
         static int n = 0; static class Bad extends RuntimeException { final int code; Bad(int c) { super(\"bad\"); code = c; } } static class Worse extends Bad { Worse() { super(2); } }
         static void thrower(int i) { if (i == 1) throw new Bad(1); if (i == 2) throw new Worse(); if (i == 3) throw new IllegalStateException(); }
         static int h(int i) { try { thrower(i); return 0; } catch (Worse e) { return 2; } catch (Bad e) { return 1; } }
         static int k(int i) { try { return h(i); } catch (RuntimeException e) { return 9; } }",
        "int a = g(1); int b = g(2); int c = h(1); int d = h(2); int e = k(3); int z = 0; int q = 0; try { q = 1 / z; q = 5; } catch (ArithmeticException x) { q += 7; }
         int r = 0; try { try { Object o = null; o.hashCode(); } finally { r = 1; } } catch (NullPointerException x) { r += 10; }
         int s = 0; for (int i = 0; i < 3; i++) { try { if (i == 1) throw new Bad(3); s += 10; } catch (Bad x) { s += 1; continue; } s += 100; }",
        &["a == 0", "b == -1", "n == 2", "c == 1", "d == 2", "e == 9", "q == 7", "r == 11", "s == 221"],
    );
    breaks(
        "static void f(int i) { if (i > 0) throw new IllegalStateException(); }",
        "try { f(1); } catch (ArithmeticException e) { }",
        &["throw"],
    );
    breaks("", "int z = 0; try { z = 1 / z; } catch (NullPointerException e) { z = 2; }", &["division:3"]);
}

#[test]
fn check_an_exception_leaves_monitors_on_its_way() {
    holds(
        "static final Object m = new Object(); static int x; static void bad() { synchronized (m) { x++; if (x > 0) throw new IllegalStateException(); } }",
        &two("{ try { bad(); } catch (IllegalStateException e) { synchronized (m) { x--; } } }"),
    );
    breaks(
        "static final ReentrantLock l = new ReentrantLock(); static int x; static void bad() { l.lock(); x++; if (x > 0) throw new IllegalStateException(); l.unlock(); }",
        &two("{ try { bad(); } catch (IllegalStateException e) { } }"),
        &["deadlock"],
    );
    breaks(
        "static int x;",
        &two("{ try { x++; throw new RuntimeException(); } catch (RuntimeException e) { x--; } }"),
        &["race:T.x"],
    );
}

#[test]
fn check_a_few_calls_of_a_method_inside_itself_are_followed() {
    computes(
        "static int fact(int n) { return n <= 1 ? 1 : n * fact(n - 1); } static int fib(int n) { if (n < 2) return n; return fib(n - 1) + fib(n - 2); }
         static boolean even(int n) { return n == 0 || odd(n - 1); } static boolean odd(int n) { return n != 0 && even(n - 1); }",
        "int a = fact(5); int b = fib(4); boolean c = even(5);",
        &["a == 120", "b == 3", "!c"],
    );
}

#[test]
fn check_lists_and_maps_do_what_those_of_java_do() {
    computes(
        "",
        "java.util.ArrayList<Integer> l = new java.util.ArrayList<>(); l.add(3); l.add(4); l.add(5); int a = l.get(1); int removed = l.remove(0); l.set(0, 9); int n = l.size(); int sum = 0; for (int v : l) sum += v; boolean has = l.contains(5); int at = l.indexOf(7);
         java.util.HashMap<String, Integer> m = new java.util.HashMap<>(); m.put(\"a\", 1); Integer old = m.put(\"a\", 2); int now = m.get(\"a\"); boolean none = m.get(\"b\") == null; int k = m.getOrDefault(\"c\", 8); int size = m.size(); m.remove(\"a\"); boolean gone = !m.containsKey(\"a\");
         java.util.Deque<Integer> d = new java.util.ArrayDeque<>(); d.addLast(1); d.addFirst(0); d.push(-1); int first = d.pop(); int last = d.pollLast(); Integer none2 = null; d.clear(); none2 = d.poll();
         java.util.Stack<Integer> s = new java.util.Stack<>(); s.push(1); s.push(2); int top = s.pop();",
        &["a == 4", "removed == 3", "n == 2", "sum == 14", "has", "at == -1", "old == 1", "now == 2", "none", "k == 8", "size == 1", "gone", "first == -1", "last == 1", "none2 == null", "top == 2"],
    );
    breaks(
        "",
        "java.util.ArrayList<Integer> l = new java.util.ArrayList<>(); l.add(1); int x = l.get(1);",
        &["index:3"],
    );
    breaks(
        "",
        "java.util.ArrayList<Integer> l = new java.util.ArrayList<>(); l.add(1); l.add(2); l.add(3); for (int v : l) if (v == 1) l.remove(0);",
        &["modified"],
    );
    breaks(
        "",
        "java.util.ArrayDeque<Integer> l = new java.util.ArrayDeque<>(); int x = l.removeFirst();",
        &["element"],
    );
    breaks("", "Integer n = null; int x = n;", &["null"]);
}

#[test]
fn check_collections_race_unless_made_for_threads() {
    breaks("static final java.util.ArrayList<Integer> l = new java.util.ArrayList<>();", &two("l.add(1)"), &["race"]);
    holds(
        "static final java.util.Vector<Integer> l = new java.util.Vector<>();",
        &format!("{} assert l.size() == 2;", two("l.add(1)")),
    );
    breaks(
        "static final java.util.Vector<Integer> l = new java.util.Vector<>();",
        &format!("{} assert l.size() == 1;", two("{ if (l.isEmpty()) l.add(1); }")),
        &["assert"],
    );
    holds(
        "static final java.util.Vector<Integer> l = new java.util.Vector<>();",
        &format!("{} assert l.size() == 1;", two("{ synchronized (l) { if (l.isEmpty()) l.add(1); } }")),
    );
    holds(
        "static final ConcurrentHashMap<String, Integer> m = new ConcurrentHashMap<>();",
        &format!("{} assert m.size() == 1;", two("{ m.putIfAbsent(\"k\", 1); }")),
    );
    holds(
        "static final java.util.List<Integer> l = new java.util.ArrayList<>(); static final Object m = new Object();",
        &format!("{} assert l.size() == 2;", two("{ synchronized (m) { l.add(1); } }")),
    );
}

#[test]
fn check_strings_that_are_put_together_are_values() {
    holds(
        "static String last; static void log(String s) { last = s; }",
        "int x = 3; log(\"x is \" + x); assert last != null; System.out.println(last + x);",
    );
    let found = broken(&program("", "String a = \"x\" + 1; String b = \"x\" + 1; boolean c = a == b;"));
    assert!(found.iter().any(|f| f.starts_with("unmodelled")), "{found:?}");
}

#[test]
fn check_random_numbers_are_any_numbers_in_their_range() {
    holds("", "java.util.Random r = new java.util.Random(); int x = r.nextInt(3); assert 0 <= x && x < 3;");
    breaks("", "java.util.Random r = new java.util.Random(7); int x = r.nextInt(3); assert x != 2;", &["assert"]);
}
