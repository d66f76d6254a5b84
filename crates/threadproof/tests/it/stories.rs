//! Broken programs of every kind, read as a stranger would: the first lines say what failed, where, with which values and why; no name is one of ours.

use crate::{Scratch, code, stdout, threadproof};

struct Broken {
    file: &'static str,
    flags: &'static [&'static str],
    text: &'static str,
    /// What the first lines say, in words that follow each other.
    says: &'static [&'static str],
    /// What is said nowhere.
    never: &'static [&'static str],
}

const ACCOUNT: &str = "#include <pthread.h>
#include <assert.h>
#include <stdlib.h>
struct account { pthread_mutex_t lock; int balance; };
struct account *acc;
void *teller(void *arg) {
    int amount = *(int *)arg;
    pthread_mutex_lock(&acc->lock);
    if (acc->balance > 0)
        acc->balance -= amount;
    pthread_mutex_unlock(&acc->lock);
    return 0;
}
int main(void) {
    pthread_t a, b;
    int first = 70, second = 60;
    acc = malloc(sizeof *acc);
    pthread_mutex_init(&acc->lock, 0);
    acc->balance = 100;
    pthread_create(&a, 0, teller, &first);
    pthread_create(&b, 0, teller, &second);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(acc->balance >= 0);
    return 0;
}
";

const FREED: &str = "#include <pthread.h>
#include <stdlib.h>
struct node { int v; };
struct node *head;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *remover(void *unused) {
    pthread_mutex_lock(&m);
    struct node *n = head;
    head = 0;
    pthread_mutex_unlock(&m);
    free(n);
    return 0;
}
void *looker(void *unused) {
    pthread_mutex_lock(&m);
    struct node *n = head;
    pthread_mutex_unlock(&m);
    if (n)
        n->v = 1;
    return 0;
}
int main(void) {
    pthread_t a, b;
    head = malloc(sizeof *head);
    pthread_create(&a, 0, remover, 0);
    pthread_create(&b, 0, looker, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
";

const SIGNAL: &str = "#include <pthread.h>
int ready;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t c = PTHREAD_COND_INITIALIZER;
void *waiter(void *unused) {
    pthread_mutex_lock(&m);
    int wait = !ready;
    pthread_mutex_unlock(&m);
    pthread_mutex_lock(&m);
    if (wait)
        pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m);
    return 0;
}
void *signaller(void *unused) {
    pthread_mutex_lock(&m);
    ready = 1;
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
    return 0;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, waiter, 0);
    pthread_create(&b, 0, signaller, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
";

const BANK: &str = "public class Bank {
    static class Account {
        private int balance;
        Account(int b) { balance = b; }
        synchronized int get() { return balance; }
        synchronized void set(int b) { balance = b; }
        void deposit(int amount) { set(get() + amount); }
    }
    public static void main(String[] args) throws InterruptedException {
        final Account acc = new Account(10);
        Thread p = new Thread(() -> acc.deposit(5));
        Thread q = new Thread(() -> acc.deposit(5));
        p.start();
        q.start();
        p.join();
        q.join();
        assert acc.get() == 20;
    }
}
";

const TAKE: &str = "var m: lock;
var stock: int = 5;
proc take(n: int) returns (ok: bool)
  requires n > 0;
  performs Sold: <stock> ok && stock >= n && stock' == stock - n
        [] Refused: <> !ok && stock < n;
{
  var seen: int;
  acquire m;
  seen := stock;
  release m;
  if seen < n { return false; }
  acquire m;
  stock := stock - n;
  release m;
  return true;
}
";

const PROGRAMS: &[Broken] = &[
    Broken {
        file: "account.c",
        flags: &[],
        text: ACCOUNT,
        says: &[
            "assertion `acc->balance >= 0` fails at account.c:24 in thread 1 main (acc->balance = -30)",
            "acc->balance",
        ],
        never: &["heap:", "__"],
    },
    Broken {
        file: "freed.c",
        flags: &["--check", "memory-safety"],
        text: FREED,
        says: &[
            "`n->v = 1` accesses memory that is not there at freed.c:19 in thread 3 looker",
            "thread 2 remover freed it by `free(n)` at line 11",
        ],
        never: &["W0505", "heap:"],
    },
    Broken {
        file: "signal.c",
        flags: &["--deadlock"],
        text: SIGNAL,
        says: &[
            "no thread can move",
            "called `pthread_cond_signal(&c)` at line 18",
            "before thread 2 waiter waited, and a signal is not kept",
        ],
        never: &["waiting", "W0505"],
    },
    Broken {
        file: "Bank.java",
        flags: &[],
        text: BANK,
        says: &[
            "assertion `acc.get() == 20` fails at Bank.java:17 in thread 1 main (acc.get() = 15)",
            "read Account#1.balance = 10 at line 5",
            "before thread",
            "and went on with the old value at line 6",
        ],
        never: &["acc#", "t2 ="],
    },
    Broken {
        file: "take.tp",
        flags: &[],
        text: TAKE,
        says: &[
            "no action explains `stock := stock - n` at take.tp:14",
            "Sold asks for `n <= stock` and Refused asks for `!ok`",
        ],
        never: &["before0"],
    },
    Broken {
        file: "access.tp",
        flags: &[],
        text: "var m: lock;\nvar log: int guarded_by m;\nthread A { acquire m; log := log + 1; release m; }\nthread B { log := 0; }\n",
        says: &[
            "`log := 0` at access.tp:4 in thread 2 B accesses log where `guarded_by m` does not hold (m = thread 1)",
        ],
        never: &[],
    },
    Broken {
        file: "null.tp",
        flags: &[],
        text: "class Box { n: int; }\nvar shared: Box = null;\nvar ready: bool = false;\nthread P { var b: Box; b := new Box; ready := true; b.n := 4; shared := b; }\nthread C { assume ready; assert shared.n == 4; }\n",
        says: &[
            "`shared` is null and is used as an object at null.tp:5 in thread 2 C",
            "changed ready from false to true at line 4",
        ],
        never: &["nothing valid"],
    },
    Broken {
        file: "ensures.tp",
        flags: &[],
        text: "proc bump(d: int) returns (r: int)\n  requires d >= 0;\n  ensures r > d;\n{\n  r := d;\n  return r;\n}\nthread T { var q: int; q := bump(2); }\n",
        says: &["`ensures r > d` does not hold at ensures.tp:6 in thread 1 T (d = 2, r = 2)"],
        never: &["bump.d"],
    },
    Broken {
        file: "invariant.tp",
        flags: &[],
        text: "var used: int = 0;\nvar free: int = 10;\ninvariant used + free == 10;\nthread T[*] { if free > 0 { free := free - 1; used := used + 1; } }\n",
        says: &[
            "breaks `invariant used + free == 10` at invariant.tp:4 (used = 0, free = 9)",
            "`atomic { .. }` makes several steps one",
        ],
        never: &[],
    },
    Broken {
        file: "spawn.tp",
        flags: &[],
        text: "var total: int = 0;\nthread Worker(n: int) { total := total + n; }\nthread Main {\n  var a: int;\n  var b: int;\n  a := spawn Worker(3);\n  b := spawn Worker(4);\n  join a;\n  assert total == 7;\n}\n",
        says: &["assertion `total == 7` fails at spawn.tp:9 in thread 1 Main (total = 3)", "the thread begins"],
        never: &["thread Worker(n: int)"],
    },
    Broken {
        file: "follows.tp",
        flags: &["--property", "follows"],
        text: "var g: int = 1;\nmachine M {\n  start X asserts g > 0;\n  state Y;\n  X -> Y : <g> g' > 0;\n}\nthread T follows M { g := g + 1; assert g > 0; }\nthread Spoiler { g := 0; }\n",
        says: &[
            "goes wrong in thread T, and no assertion of state Y of machine M fails there",
            "before it the other threads have made the store so: g:",
        ],
        never: &[],
    },
];

#[test]
fn check_the_first_lines_say_what_failed_where_with_which_values_and_why() {
    let scratch = Scratch::new("stories");
    let mut wrong = Vec::new();
    for broken in PROGRAMS {
        let path = scratch.file(broken.file, broken.text);
        let output = threadproof(&[&["verify", &path, "--time", "60s"], broken.flags].concat());
        let text = stdout(&output);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut rest = words.as_str();
        for says in broken.says {
            match rest.find(says) {
                Some(at) => rest = &rest[at + says.len()..],
                None => wrong.push(format!("{}: does not say {says:?} here:\n{text}", broken.file)),
            }
        }
        wrong.extend(
            broken
                .never
                .iter()
                .filter(|n| words.contains(**n))
                .map(|n| format!("{}: says {n:?}:\n{text}", broken.file)),
        );
        if code(&output) != 1 {
            wrong.push(format!("{}: exit code {}", broken.file, code(&output)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn check_a_mistake_is_named_and_what_was_meant() {
    let scratch = Scratch::new("mistakes");
    let cases = [
        ("var x: int = 0;\nthread T { x += 1; }\n", "write `x := x + ...;`"),
        ("var x: int = 0;\nthread T { asert x == 0; }\n", "did you mean `assert`?"),
        ("var x: integer = 0;\nthread T { assert x == 0; }\n", "numbers are `int`"),
        ("var m: mutex;\nthread T { acquire m; release m; }\n", "did you mean `lock`?"),
        ("var x: int = 0;\nthread T { assert x == 0 and true; }\n", "conjunction is written `&&`"),
        ("var x: int = 0;\nthread T { for (i := 0; i < 3; i++) { x := 1; } }\n", "the only loop is `while e { .. }`"),
        ("var m: lock;\nthread T { lock m; unlock(m); }\n", "a lock is taken by `acquire m;`"),
        ("var m: lock;\nthread T { acquire m; unlock(m); }\n", "a lock is given back by `release m;`"),
        ("proc p(a: int) { }\nthread T { p(1, 2); }\n", "`p` has 1 parameter, here are 2"),
        ("void main() { }\n", "a procedure is declared by"),
    ];
    for (text, said) in cases {
        let path = scratch.file("m.tp", text);
        let output = threadproof(&["verify", &path]);
        assert_eq!(code(&output), 65, "{text}\n{}", stdout(&output));
        assert!(stdout(&output).contains(said), "{said}\n{text}\n{}", stdout(&output));
        assert!(stdout(&output).contains("m.tp:"), "the place is named: {}", stdout(&output));
    }
    let program: Vec<u8> = (0..4000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let path = scratch.path("program.c");
    std::fs::write(&path, program).expect("the file is written");
    let output = threadproof(&["verify", &path]);
    assert_eq!(code(&output), 65);
    assert!(stdout(&output).contains("this is no text") && stdout(&output).lines().count() <= 3, "{}", stdout(&output));
}
