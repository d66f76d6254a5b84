//! Parts of random C programs with threads: what is shared, how it is kept apart, and how that is broken.
//!
//! In: choices. Out: the text of a program for one property. A program is one or two scenes; a scene is an access of two sides and a protection around it, each a row
//! of a table, or a row of values, memory or arithmetic by itself; then threads are created in one of several ways. `#` stands for the number of the scene, so that
//! scenes do not share names, and `$` for a small number. Nothing here knows what is true of a program: compilers, sanitizers and the interpreter say it.
//! Deliberately absent: programs that wait for ever on purpose.

use super::hostile::{Choices, HEAD};
use super::values::VALUES;

/// Names, first statements of `main`, and the statements of the two sides.
type Access = [&'static str; 4];

const ACCESSES: &[Access] = &[
    ["int x#;", "", "x# = 1;", "use += x#;"],
    ["int x#;", "", "x#++;", "x# += 2;"],
    ["int x#;", "", "use += x#;", "use -= x#;"],
    ["int row#[4]; int at#;", "at# = 2;", "row#[at#] = 1;", "row#[2]++;"],
    ["int row#[4]; int at#;", "at# = $;", "row#[at#] = 1;", "row#[1]++;"],
    ["int row#[30]; int at#;", "at# = $;", "row#[at#] = 1;", "use += row#[1];"],
    ["char cs#[8];", "", "cs#[3] = 1;", "cs#[4] = 1;"],
    ["struct { int a, b; } s#, t#;", "", "s# = t#;", "s#.b = 1;"],
    ["struct { int a, b; } s#, t#;", "", "t# = s#;", "use += s#.a;"],
    ["struct { int a, b; } s#;", "", "s#.a = 1;", "s#.b = 2;"],
    ["struct { unsigned a : 3, b : 5; } f#;", "", "f#.a = 1;", "f#.b = 2;"],
    ["struct { unsigned a : 3; unsigned : 0; unsigned b : 5; } f#;", "", "f#.a = 1;", "f#.b = 2;"],
    ["struct { unsigned a : 3; char c; unsigned b : 5; } f#;", "", "f#.a = 1;", "f#.c = 2;"],
    ["char text#[8] = \"abc\";", "", "strcpy(text#, \"xy\");", "use += strlen(text#);"],
    ["char text#[8] = \"abc\";", "", "snprintf(text#, sizeof text#, \"%d\", 7);", "use += text#[$] != 0;"],
    ["char text#[8] = \"abc\";", "", "text#[1] = 'x';", "printf(\"%s\\n\", text#);"],
    ["char text#[8] = \"abcdef\";", "", "text#[$] = 'x';", "printf(\"%.2s\\n\", text#);"],
    ["char text#[8] = \"abcdef\";", "", "text#[$] = 'x';", "use += memcmp(text#, \"abx\", 3) != 0;"],
    ["char text#[8] = \"abcdef\";", "", "text#[4] = 'x';", "use += strncmp(text#, \"abcd\", $) != 0;"],
    ["char text#[8] = \"abcdef\";", "", "memmove(text#, text# + 1, 2);", "text#[$] = 'y';"],
    ["char text#[12] = \"ab\";", "", "strcpy(text# + strlen(text#), \"c\");", "text#[$] = 0;"],
    ["int x#;", "", "sscanf(\"7\", \"%d\", &x#);", "use += x#;"],
    ["int x#;", "", "memset(&x#, 0, sizeof x#);", "int to#; memcpy(&to#, &x#, sizeof to#);"],
    ["int x#; char digits#[4] = \"5\";", "", "use += atoi(digits#);", "digits#[0] = '6';"],
    ["union { int i; char c[4]; } u#;", "", "u#.i = 1;", "use += u#.c[2];"],
    ["union { int i; char c[4]; } u#;", "", "u#.c[0] = 1;", "u#.c[$] = 1;"],
    ["union { struct { short a, b; } s; int i; } u#;", "", "u#.s.a = 1;", "u#.s.b = 1;"],
    ["int x#;", "", "*(short *)&x# = 1;", "*((short *)&x# + 1) = 2;"],
    ["int *p#;", "p# = malloc(sizeof *p#); *p# = 0;", "*p# = 1;", "use += *p#;"],
    ["int *p#; int n#;", "n# = 2; p# = calloc(n#, sizeof *p#);", "p#[1] = 1;", "use += p#[$];"],
    ["int *p#;", "int l# = 0; p# = &l#;", "*p# = 1;", "(*p#)++;"],
    ["int *p#; int n#;", "n# = 3; int v#[n#]; v#[1] = 0; p# = v#;", "p#[1] = 1;", "use += p#[1];"],
    ["__thread int own#;", "", "own# = 1;", "own#++;"],
    ["__thread int own#; int *lent#;", "lent# = &own#;", "*lent# = 1;", "use += *lent#;"],
    ["__thread int own#; int *lent#;", "lent# = &own#;", "own# = 1;", "use += *lent#;"],
    ["int *cell#(void) { static int c; return &c; }", "", "*cell#() = 1;", "use += *cell#();"],
    ["int x#; void fix#(int *p) { *p = 1; } void (*by#)(int *) = fix#;", "", "by#(&x#);", "use += x#;"],
    ["int g#[2][3]; int at#;", "at# = 1;", "g#[at#][0] = 1;", "use += g#[$][0];"],
    ["struct n# { int v; struct n# *next; } a#, b# = { 0, &a# };", "", "b#.next->v = 1;", "use += a#.v;"],
    ["atomic_int y#;", "", "atomic_store(&y#, 1);", "atomic_fetch_add(&y#, 1);"],
    ["atomic_int y#;", "", "atomic_store(&y#, 1);", "*(int *)&y# = 2;"],
    ["atomic_int y#;", "", "y# += 2;", "use += y#;"],
    ["struct { atomic_int a; int b; } y#, z#;", "", "y#.a++;", "y#.b = 1;"],
    ["struct { atomic_int a; int b; } y#, z#;", "", "y#.a++;", "memcpy(&z#, &y#, sizeof z#);"],
    // What an exchange expects is read plainly, and written plainly where it fails.
    ["atomic_int y#; int e#;", "y# = 5;", "atomic_compare_exchange_strong(&y#, &e#, 2);", "use += e#;"],
    ["atomic_int y#; int e#;", "y# = $;", "atomic_compare_exchange_strong(&y#, &e#, 2);", "e# = 3;"],
    ["atomic_int y#; int e#;", "", "__atomic_load(&y#, &e#, __ATOMIC_SEQ_CST);", "use += e#;"],
    ["int y#;", "", "__atomic_store_n(&y#, 1, __ATOMIC_RELAXED);", "use += y#;"],
    ["int y#;", "", "__atomic_store_n(&y#, 1, __ATOMIC_RELAXED);", "use += __atomic_load_n(&y#, __ATOMIC_ACQUIRE);"],
    ["volatile int v#;", "", "v# = 1;", "use += v#;"],
    ["int x#;", "", "__sync_fetch_and_add(&x#, 1);", "__sync_bool_compare_and_swap(&x#, 0, 2);"],
    ["double d#;", "", "d# = 0.5;", "use += d# > 0.25;"],
    ["long long w#;", "", "w# = 1LL << 40;", "use += w# > 5;"],
    ["struct s# { int n; char t[4]; } *h#;", "h# = calloc(2, sizeof *h#);", "h#[1].n = 1;", "h#[$].n = 1;"],
    ["char *d#;", "d# = strdup(\"abc\");", "d#[1] = 'x';", "use += strcmp(d#, \"abc\") == 0;"],
    ["pthread_t self#;", "", "self# = pthread_self();", "use += pthread_equal(self#, pthread_self());"],
    ["int x#; int *tab#[2] = { &x#, &x# };", "", "*tab#[0] = 1;", "use += *tab#[1];"],
    ["int x#, y#; int *tab#[2] = { &x#, &y# };", "", "*tab#[0] = 1;", "use += *tab#[$];"],
    ["struct f# { int n; int rest[]; } *h#;", "h# = calloc(1, sizeof *h# + 8);", "h#->rest[1] = 1;", "h#->n = 1;"],
    ["int dummy#;", "", "errno = 1;", "use += errno;"],
    [
        "int x#; struct { int k; int *to; } o# = { 0, &x# }, copied#;",
        "copied# = o#;",
        "*o#.to = 1;",
        "use += *copied#.to;",
    ],
    ["int row#[5];", "", "for (int i = 0; i < $; i++) row#[i] = i;", "row#[2] = 7;"],
    ["int row#[5]; int *end#;", "end# = row# + 4;", "for (int *p = row#; p != end#; p++) *p = 1;", "row#[4] = 7;"],
    [
        "int x#; int sum#(int n, ...) { va_list l; va_start(l, n); int s = *va_arg(l, int *); va_end(l); return s; }",
        "",
        "x# = 1;",
        "use += sum#(1, &x#);",
    ],
    ["struct b# { int x, y; } s#; struct b# get#(void) { return s#; }", "", "s#.y = 1;", "use += get#().x;"],
    ["struct b# { int x, y; } s#; void put#(struct b# v) { use += v.x; }", "", "s#.y = 1;", "put#(s#);"],
    [
        "int rows#[3] = { 3, 1, 2 }; int less#(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }",
        "",
        "qsort(rows#, 3, sizeof(int), less#);",
        "use += rows#[1];",
    ],
    [
        "char buffer#[16] = \"a b\"; char *at#;",
        "",
        "char *rest = 0; strtok_r(buffer#, \" \", &rest);",
        "use += buffer#[1] == 0;",
    ],
    ["struct timespec now#;", "", "clock_gettime(CLOCK_MONOTONIC, &now#);", "use += now#.tv_nsec > 5;"],
    ["int *_Atomic p#; int x#;", "p# = &x#;", "*p# = 1;", "int *q = p#; use += q != 0;"],
    ["_Bool b#; char copied#;", "", "b# = 5;", "copied# = b# + 1;"],
    ["struct { _Bool on; short n; } k#[3];", "", "k#[1].n++;", "k#[1].on = 1;"],
];

/// Names, first statements, what stands around the two sides (`@`), and the same broken.
struct Protection {
    names: &'static str,
    first: &'static str,
    sides: [&'static str; 2],
    broken: [&'static str; 2],
    broken_first: Option<&'static str>,
    /// Both sides count up and never skip: a sum can be told.
    counts: bool,
}

const fn keeps(
    names: &'static str,
    first: &'static str,
    side: &'static str,
    broken: [&'static str; 2],
    broken_first: Option<&'static str>,
) -> Protection {
    Protection { names, first, sides: [side, side], broken, broken_first, counts: true }
}

const fn hands(
    names: &'static str,
    first: &'static str,
    sides: [&'static str; 2],
    broken: [&'static str; 2],
    broken_first: Option<&'static str>,
) -> Protection {
    Protection { names, first, sides, broken, broken_first, counts: false }
}

const MUTEX: &str = "pthread_mutex_lock(&m#); @ pthread_mutex_unlock(&m#);";
const OF_KIND: &str = "pthread_mutexattr_t k#; pthread_mutexattr_init(&k#); pthread_mutexattr_settype(&k#, PTHREAD_MUTEX_RECURSIVE); pthread_mutex_init(&m#, &k#);";
const CHECKING: &str = "pthread_mutexattr_t k#; pthread_mutexattr_init(&k#); pthread_mutexattr_settype(&k#, PTHREAD_MUTEX_ERRORCHECK); pthread_mutex_init(&m#, &k#);";
const HELD: &str = "pthread_mutex_t m# = PTHREAD_MUTEX_INITIALIZER;";

const PROTECTIONS: &[Protection] = &[
    keeps(HELD, "", MUTEX, [MUTEX, "@"], None),
    keeps(HELD, "", MUTEX, [MUTEX, "pthread_mutex_lock(&m#); pthread_mutex_unlock(&m#); @"], None),
    keeps(
        "struct { int pad; pthread_mutex_t m; } box# = { 0, PTHREAD_MUTEX_INITIALIZER };",
        "",
        "pthread_mutex_lock(&box#.m); @ pthread_mutex_unlock(&box#.m);",
        ["@", "@"],
        None,
    ),
    keeps(
        "pthread_mutex_t ms#[2]; int which#;",
        "which# = 1; for (int i = 0; i < 2; i++) pthread_mutex_init(&ms#[i], 0);",
        "pthread_mutex_lock(&ms#[which#]); @ pthread_mutex_unlock(&ms#[which#]);",
        [
            "pthread_mutex_lock(&ms#[which#]); @ pthread_mutex_unlock(&ms#[which#]);",
            "pthread_mutex_lock(&ms#[0]); @ pthread_mutex_unlock(&ms#[0]);",
        ],
        None,
    ),
    keeps(
        "pthread_mutex_t m#;",
        OF_KIND,
        "pthread_mutex_lock(&m#); pthread_mutex_lock(&m#); @ pthread_mutex_unlock(&m#); pthread_mutex_unlock(&m#);",
        [
            "pthread_mutex_lock(&m#); pthread_mutex_lock(&m#); pthread_mutex_unlock(&m#); @ pthread_mutex_unlock(&m#);",
            "pthread_mutex_lock(&m#); pthread_mutex_lock(&m#); pthread_mutex_unlock(&m#); pthread_mutex_unlock(&m#); @",
        ],
        None,
    ),
    keeps(
        "pthread_mutex_t m#;",
        CHECKING,
        "pthread_mutex_lock(&m#); use += pthread_mutex_lock(&m#) != 0; @ pthread_mutex_unlock(&m#);",
        ["pthread_mutex_lock(&m#); if (pthread_mutex_lock(&m#)) pthread_mutex_unlock(&m#); @", MUTEX],
        None,
    ),
    keeps(
        "pthread_mutex_t *pm#;",
        "pm# = malloc(2 * sizeof *pm#); pthread_mutex_init(pm# + 1, 0); pthread_mutex_init(pm#, 0);",
        "pthread_mutex_lock(pm# + 1); @ pthread_mutex_unlock(pm# + 1);",
        [
            "pthread_mutex_lock(pm# + 1); @ pthread_mutex_unlock(pm# + 1);",
            "pthread_mutex_lock(pm#); @ pthread_mutex_unlock(pm#);",
        ],
        None,
    ),
    keeps(
        "struct lk# { int n; pthread_mutex_t m; } lk# = { 0, PTHREAD_MUTEX_INITIALIZER }; void in#(struct lk# *l) { pthread_mutex_lock(&l->m); l->n++; } void out#(struct lk# *l) { l->n--; pthread_mutex_unlock(&l->m); }",
        "",
        "in#(&lk#); @ out#(&lk#);",
        ["in#(&lk#); out#(&lk#); @", "in#(&lk#); @ out#(&lk#);"],
        None,
    ),
    keeps(
        "pthread_rwlock_t r# = PTHREAD_RWLOCK_INITIALIZER;",
        "",
        "pthread_rwlock_wrlock(&r#); @ pthread_rwlock_unlock(&r#);",
        [
            "pthread_rwlock_rdlock(&r#); @ pthread_rwlock_unlock(&r#);",
            "pthread_rwlock_rdlock(&r#); @ pthread_rwlock_unlock(&r#);",
        ],
        None,
    ),
    keeps(
        "pthread_rwlock_t r# = PTHREAD_RWLOCK_INITIALIZER;",
        "",
        "pthread_rwlock_wrlock(&r#); @ pthread_rwlock_unlock(&r#);",
        [
            "pthread_rwlock_wrlock(&r#); @ pthread_rwlock_unlock(&r#);",
            "pthread_rwlock_rdlock(&r#); @ pthread_rwlock_unlock(&r#);",
        ],
        None,
    ),
    keeps(
        "pthread_spinlock_t sp#;",
        "pthread_spin_init(&sp#, 0);",
        "pthread_spin_lock(&sp#); @ pthread_spin_unlock(&sp#);",
        ["@", "pthread_spin_lock(&sp#); @ pthread_spin_unlock(&sp#);"],
        None,
    ),
    keeps(
        "sem_t se#;",
        "sem_init(&se#, 0, 1);",
        "sem_wait(&se#); @ sem_post(&se#);",
        ["sem_wait(&se#); @ sem_post(&se#);", "sem_wait(&se#); @ sem_post(&se#);"],
        Some("sem_init(&se#, 0, 2);"),
    ),
    keeps(
        "atomic_flag af# = ATOMIC_FLAG_INIT;",
        "",
        "while (atomic_flag_test_and_set_explicit(&af#, memory_order_acquire)) ; @ atomic_flag_clear_explicit(&af#, memory_order_release);",
        [
            "while (atomic_flag_test_and_set_explicit(&af#, memory_order_acquire)) ; @ atomic_flag_clear_explicit(&af#, memory_order_relaxed);",
            "while (atomic_flag_test_and_set_explicit(&af#, memory_order_relaxed)) ; @ atomic_flag_clear_explicit(&af#, memory_order_release);",
        ],
        None,
    ),
    keeps(
        "atomic_int al#;",
        "",
        "for (int e = 0; !atomic_compare_exchange_weak(&al#, &e, 1); e = 0) ; @ atomic_store(&al#, 0);",
        [
            "for (int e = 0; !atomic_compare_exchange_weak(&al#, &e, 1); e = 0) ; @ atomic_store(&al#, 0);",
            "while (atomic_load(&al#)) ; atomic_store(&al#, 1); @ atomic_store(&al#, 0);",
        ],
        None,
    ),
    keeps("int gl#;", "", "while (__sync_lock_test_and_set(&gl#, 1)) ; @ __sync_lock_release(&gl#);", ["@", "@"], None),
    keeps(
        HELD,
        "",
        "struct timespec late#; clock_gettime(CLOCK_REALTIME, &late#); late#.tv_sec += 10; while (pthread_mutex_timedlock(&m#, &late#)) ; @ pthread_mutex_unlock(&m#);",
        [MUTEX, "if (pthread_mutex_trylock(&m#) == 0) pthread_mutex_unlock(&m#); @"],
        None,
    ),
    keeps(
        "pthread_mutex_t m# = PTHREAD_MUTEX_INITIALIZER, n# = PTHREAD_MUTEX_INITIALIZER;",
        "",
        "pthread_mutex_lock(&m#); pthread_mutex_lock(&n#); @ pthread_mutex_unlock(&n#); pthread_mutex_unlock(&m#);",
        [MUTEX, "pthread_mutex_lock(&n#); @ pthread_mutex_unlock(&n#);"],
        None,
    ),
    keeps(
        "pthread_mutex_t m# = PTHREAD_MUTEX_INITIALIZER; int on#;",
        "on# = 1;",
        "if (on#) pthread_mutex_lock(&m#); @ if (on#) pthread_mutex_unlock(&m#);",
        [
            "if (on#) pthread_mutex_lock(&m#); @ if (on#) pthread_mutex_unlock(&m#);",
            "if (on#) pthread_mutex_lock(&m#); @ if (on#) pthread_mutex_unlock(&m#);",
        ],
        Some("on# = 0;"),
    ),
    keeps(
        "pthread_mutex_t ms#[3]; unsigned key#;",
        "key# = 7; for (int i = 0; i < 3; i++) pthread_mutex_init(ms# + i, 0);",
        "pthread_mutex_lock(&ms#[key# % 3]); @ pthread_mutex_unlock(&ms#[key# % 3]);",
        [
            "pthread_mutex_lock(&ms#[key# % 3]); @ pthread_mutex_unlock(&ms#[key# % 3]);",
            "pthread_mutex_lock(&ms#[key# % 2]); @ pthread_mutex_unlock(&ms#[key# % 2]);",
        ],
        None,
    ),
    keeps(
        "pthread_mutex_t m# = PTHREAD_MUTEX_INITIALIZER; int c#;",
        "c# = 1;",
        "pthread_mutex_lock(&m#); if (!c#) goto out#; @ out#: pthread_mutex_unlock(&m#);",
        [
            "pthread_mutex_lock(&m#); if (c#) { pthread_mutex_unlock(&m#); goto out#; } pthread_mutex_unlock(&m#); out#: @",
            MUTEX,
        ],
        None,
    ),
    hands(
        HELD,
        "",
        ["if (pthread_mutex_trylock(&m#) == 0) { @ pthread_mutex_unlock(&m#); }", MUTEX],
        ["if (pthread_mutex_trylock(&m#) == 0) pthread_mutex_unlock(&m#); @", MUTEX],
        None,
    ),
    // Whoever finds a lock taken, or looks at a semaphore, is ordered after no one.
    hands(
        HELD,
        "",
        ["if (pthread_mutex_trylock(&m#) == 0) { @ pthread_mutex_unlock(&m#); }", MUTEX],
        [
            "@ if (pthread_mutex_trylock(&m#) == 0) use++;",
            "if (pthread_mutex_trylock(&m#) == 0) pthread_mutex_unlock(&m#); else { @ }",
        ],
        None,
    ),
    hands(
        "pthread_rwlock_t rw# = PTHREAD_RWLOCK_INITIALIZER;",
        "",
        [
            "if (!pthread_rwlock_trywrlock(&rw#)) { @ pthread_rwlock_unlock(&rw#); }",
            "pthread_rwlock_wrlock(&rw#); @ pthread_rwlock_unlock(&rw#);",
        ],
        [
            "@ if (!pthread_rwlock_trywrlock(&rw#)) use++;",
            "if (!pthread_rwlock_tryrdlock(&rw#)) pthread_rwlock_unlock(&rw#); else { @ }",
        ],
        None,
    ),
    hands(
        "sem_t se#;",
        "sem_init(&se#, 0, 0);",
        ["@ sem_post(&se#);", "if (sem_trywait(&se#) == 0) { @ }"],
        ["@ sem_post(&se#);", "int left# = 0; sem_getvalue(&se#, &left#); if (left# > 0) { @ }"],
        None,
    ),
    hands(
        "atomic_int ok#;",
        "",
        [
            "@ atomic_store_explicit(&ok#, 1, memory_order_release);",
            "if (atomic_load_explicit(&ok#, memory_order_acquire)) { @ }",
        ],
        [
            "@ atomic_store_explicit(&ok#, 1, memory_order_relaxed);",
            "if (atomic_load_explicit(&ok#, memory_order_acquire)) { @ }",
        ],
        None,
    ),
    hands(
        "atomic_int ok#;",
        "",
        ["@ atomic_store(&ok#, 1);", "while (!atomic_load(&ok#)) ; @"],
        ["atomic_store(&ok#, 1); @", "while (!atomic_load(&ok#)) ; @"],
        None,
    ),
    hands("atomic_int ok#;", "", ["@ ok# = 1;", "if (ok# == 1) { @ }"], ["@ ok# = 1;", "if (ok# == 0) { @ }"], None),
    hands(
        "atomic_int ok#;",
        "",
        [
            "@ atomic_thread_fence(memory_order_release); atomic_store_explicit(&ok#, 1, memory_order_relaxed);",
            "if (atomic_load_explicit(&ok#, memory_order_relaxed)) { atomic_thread_fence(memory_order_acquire); @ }",
        ],
        [
            "@ atomic_store_explicit(&ok#, 1, memory_order_relaxed);",
            "if (atomic_load_explicit(&ok#, memory_order_relaxed)) { atomic_thread_fence(memory_order_acquire); @ }",
        ],
        None,
    ),
    hands(
        "sem_t se#;",
        "sem_init(&se#, 0, 0);",
        ["@ sem_post(&se#);", "sem_wait(&se#); @"],
        ["@ sem_post(&se#);", "sem_wait(&se#); @"],
        Some("sem_init(&se#, 0, 1);"),
    ),
    hands(
        "pthread_mutex_t m# = PTHREAD_MUTEX_INITIALIZER; pthread_cond_t c# = PTHREAD_COND_INITIALIZER; int set#;",
        "",
        [
            "@ pthread_mutex_lock(&m#); set# = 1; pthread_cond_broadcast(&c#); pthread_mutex_unlock(&m#);",
            "pthread_mutex_lock(&m#); while (!set#) pthread_cond_wait(&c#, &m#); pthread_mutex_unlock(&m#); @",
        ],
        [
            "pthread_mutex_lock(&m#); set# = 1; pthread_cond_broadcast(&c#); pthread_mutex_unlock(&m#); @",
            "pthread_mutex_lock(&m#); while (!set#) pthread_cond_wait(&c#, &m#); pthread_mutex_unlock(&m#); @",
        ],
        None,
    ),
    hands(
        "pthread_mutex_t m# = PTHREAD_MUTEX_INITIALIZER; pthread_cond_t c# = PTHREAD_COND_INITIALIZER; int set#;",
        "",
        [
            "pthread_mutex_lock(&m#); @ set#++; pthread_cond_signal(&c#); pthread_mutex_unlock(&m#);",
            "pthread_mutex_lock(&m#); while (set# == 0) pthread_cond_wait(&c#, &m#); @ pthread_mutex_unlock(&m#);",
        ],
        [
            "pthread_mutex_lock(&m#); set#++; pthread_cond_signal(&c#); pthread_mutex_unlock(&m#); @",
            "pthread_mutex_lock(&m#); while (set# == 0) pthread_cond_wait(&c#, &m#); @ pthread_mutex_unlock(&m#);",
        ],
        None,
    ),
    hands(
        "atomic_int tk#;",
        "",
        [
            "if (atomic_fetch_add_explicit(&tk#, 1, memory_order_relaxed) == 0) { @ }",
            "if (atomic_fetch_add_explicit(&tk#, 1, memory_order_relaxed) == 0) { @ }",
        ],
        [
            "if (atomic_load(&tk#) == 0) { atomic_fetch_add(&tk#, 1); @ }",
            "if (atomic_load(&tk#) == 0) { atomic_fetch_add(&tk#, 1); @ }",
        ],
        None,
    ),
    hands(
        "pthread_once_t on# = PTHREAD_ONCE_INIT; int told#; void init#(void) { told# = 7; }",
        "",
        ["pthread_once(&on#, init#); if (told# == 7) { use++; }", "pthread_once(&on#, init#); use += told#;"],
        ["pthread_once(&on#, init#); use += told#;", "use += told#; pthread_once(&on#, init#);"],
        None,
    ),
    hands(
        "int token#; int *_Atomic pass#;",
        "",
        ["@ pass# = &token#;", "if (atomic_exchange(&pass#, 0)) { @ }"],
        ["pass# = &token#; @", "if (atomic_exchange(&pass#, 0)) { @ }"],
        None,
    ),
];

/// Places that count: names, first statements, the place.
const COUNTERS: &[[&str; 3]] = &[
    ["int x#;", "", "x#"],
    ["struct { char pad; int b; } s#;", "", "s#.b"],
    ["int row#[3]; int at#;", "at# = 1;", "row#[at#]"],
    ["struct { unsigned a : 3, b : 5; } f#;", "", "f#.b"],
    ["int *p#;", "p# = calloc(2, sizeof *p#);", "p#[1]"],
    ["int *p#;", "int l# = 0; p# = &l#;", "(*p#)"],
    ["union { int i; unsigned char c[4]; } u#;", "", "u#.c[0]"],
    ["struct n# { int v; struct n# *next; } a#, b# = { 0, &a# };", "", "b#.next->v"],
    ["signed char cs#[3];", "", "cs#[2]"],
    ["long w#; long *at#;", "at# = &w#;", "(*at#)"],
    ["__thread int own#; int *lent#;", "lent# = &own#;", "(*lent#)"],
    ["int g#[2][2]; int at#;", "at# = 1;", "g#[at#][at#]"],
];

/// Memory: names, first statements, the two sides, and what comes after both.
const MEMORY: &[[&str; 5]] = &[
    ["int *p#; int n#;", "n# = 3; p# = malloc(n# * sizeof *p#);", "p#[$] = 1;", "", ""],
    ["int *p#; int n#;", "n# = $; p# = calloc(n# + 1, sizeof *p#);", "use += p#[1];", "", ""],
    ["int *p#;", "p# = malloc(8);", "free(p#);", "", "*p# = 1;"],
    ["int *p#;", "p# = malloc(8); p#[0] = 1;", "use += p#[$];", "", "free(p#);"],
    [
        "int *p#; pthread_mutex_t m# = PTHREAD_MUTEX_INITIALIZER; int gone#;",
        "p# = malloc(8);",
        "pthread_mutex_lock(&m#); free(p#); gone# = 1; pthread_mutex_unlock(&m#);",
        "pthread_mutex_lock(&m#); if (!gone#) p#[0] = 1; pthread_mutex_unlock(&m#);",
        "",
    ],
    [
        "int *p#; pthread_mutex_t m# = PTHREAD_MUTEX_INITIALIZER; int gone#;",
        "p# = malloc(8);",
        "pthread_mutex_lock(&m#); free(p#); pthread_mutex_unlock(&m#);",
        "pthread_mutex_lock(&m#); if (!gone#) p#[0] = 1; pthread_mutex_unlock(&m#);",
        "",
    ],
    ["char *d#;", "", "d# = strdup(\"abc\");", "", "if (d#) d#[3 + ($ > 1)] = 'x';"],
    ["char b#[4];", "", "strcpy(b#, \"abcd\" + ($ > 1));", "", ""],
    ["char b#[4];", "", "snprintf(b#, 4, \"%d\", 123456);", "", "use += b#[$];"],
    ["char b#[4]; int n#;", "n# = $ + 3;", "memset(b#, 1, n#);", "", ""],
    ["char b#[4] = \"abc\"; char *c#; int n#;", "n# = 2 + $; c# = malloc(4);", "memcpy(c#, b#, n#);", "", "free(c#);"],
    [
        "int *at#; int *own#(void) { int l = 3; int *p = &l; return p; }",
        "",
        "at# = own#();",
        "",
        "if ($ > 1) use += *at#;",
    ],
    ["int *at#;", "", "{ int l = 3; at# = &l; } if ($ > 1) use += *at#;", "", ""],
    [
        "int *at#; sem_t s#;",
        "sem_init(&s#, 0, 0);",
        "int l = 3; at# = &l; sem_post(&s#);",
        "",
        "sem_wait(&s#); if ($ > 1) use += *at#;",
    ],
    ["struct { int a[3]; int b; } s#; int i#;", "i# = $ + 1;", "s#.a[i#] = 1;", "", ""],
    ["int g#[2][3]; int i#;", "i# = $;", "g#[i#][2] = 1;", "", ""],
    ["struct { int n; int a[3]; } s#; int i#;", "i# = $ - 1;", "s#.a[i#] = 1;", "", ""],
    ["const int k#[2] = { 1, 2 };", "", "int *p = (int *)k#; if ($ > 1) p[1] = 5;", "", "use += k#[1];"],
    ["int *p#;", "p# = 0;", "if ($ > 1) p# = malloc(4);", "", "*p# = 4;"],
    [
        "struct n# { int v; struct n# *next; } *h#;",
        "h# = malloc(sizeof *h#); h#->next = malloc(sizeof *h#); h#->next->next = 0;",
        "h#->next->v = 1;",
        "",
        "for (struct n# *c = h#, *x; c; c = x) { x = c->next; free(c); if ($ > 1) use += c->v; }",
    ],
    ["char *t#;", "t# = malloc(3);", "t#[0] = 'a'; t#[1] = 'b'; t#[2] = $ > 1;", "", "use += strlen(t#);"],
    ["int *p#;", "p# = malloc(4);", "free(p#);", "", "if ($ > 1) free(p#);"],
    ["int *p#;", "p# = malloc(8);", "p# = realloc(p#, 4 * (1 + $));", "", "if (p#) p#[1] = 3;"],
    ["int n#;", "n# = $ + 1;", "int v[n#]; v[1] = 2;", "", ""],
    ["char text#[6] = \"abc\"; int at#;", "at# = $;", "text#[at# + 3] = 'x';", "", "use += strlen(text#);"],
    ["struct f# { int n; int rest[]; } *h#;", "h# = calloc(1, sizeof *h# + 4 * $);", "h#->rest[1] = 1;", "", ""],
    ["int row#[4]; int *p#;", "p# = row# + $;", "*(p# + 2) = 1;", "", ""],
    ["int row#[4]; atomic_int next#;", "next# = $;", "row#[next#++] = 1;", "row#[next#++] = 1;", ""],
    [
        "int row#[3]; int next#; pthread_mutex_t m# = PTHREAD_MUTEX_INITIALIZER;",
        "next# = $;",
        "pthread_mutex_lock(&m#); if (next# < 3) { row#[next#] = 1; next#++; } pthread_mutex_unlock(&m#);",
        "pthread_mutex_lock(&m#); row#[next#++] = 1; pthread_mutex_unlock(&m#);",
        "",
    ],
    ["void *r#;", "", "r# = malloc(4);", "", "int *p = r#; if (p) p[$ / 2] = 1; free(r#);"],
    ["char b#[8]; int x#;", "", "sscanf(\"abcdefghi\", $ > 1 ? \"%s\" : \"%7s\", b#);", "", ""],
    [
        "__thread int own#; int *lent#; sem_t s#;",
        "sem_init(&s#, 0, 0);",
        "lent# = &own#; sem_post(&s#);",
        "",
        "sem_wait(&s#); use += lent# != 0;",
    ],
    [
        "int *stack#[3]; int top#;",
        "top# = $;",
        "stack#[top#] = malloc(4); *stack#[top#] = 5;",
        "",
        "for (int i = 0; i <= top#; i++) free(stack#[i]);",
    ],
];

/// Arithmetic that may overflow: names, first statements, the two sides, and what comes after both.
const OVERFLOWS: &[[&str; 5]] = &[
    [
        "int x#; pthread_mutex_t m# = PTHREAD_MUTEX_INITIALIZER;",
        "x# = INT_MAX - $;",
        "pthread_mutex_lock(&m#); x#++; pthread_mutex_unlock(&m#);",
        "pthread_mutex_lock(&m#); x#++; pthread_mutex_unlock(&m#);",
        "",
    ],
    ["short x#;", "x# = 32767 - $;", "x#++;", "", "x# += 1;"],
    ["signed char x#;", "x# = 126;", "x# = x# * 100;", "", ""],
    ["int x#;", "x# = 46340 + $;", "x# = x# * x#;", "", ""],
    ["unsigned short x#;", "x# = 65534 + $;", "int y = x# * x#; use += y != 0;", "", ""],
    ["int x#;", "x# = INT_MIN + $;", "x# = -x#;", "", ""],
    ["long x#; int y#;", "x# = 3000000000L; y# = $;", "y# = (int)x# - y#;", "", ""],
    ["int x#; unsigned u#;", "x# = -$; u# = 1;", "use += x# - u# > 0;", "", "x# = INT_MIN; x# -= $ > 1;"],
    ["atomic_int x#;", "x# = INT_MAX;", "x# += $;", "", ""],
    ["int x#;", "x# = INT_MAX - 1;", "__atomic_add_fetch(&x#, $, __ATOMIC_SEQ_CST);", "", "x# += 0;"],
    ["int x#, d#;", "x# = INT_MIN; d# = $ - 1;", "if (d#) x# = x# / d#;", "", ""],
    ["int row#[3] = { INT_MAX, 1, 2 };", "", "int s = 0; for (int i = $; i < 3; i++) s += row#[i];", "", ""],
    ["struct { int b : 4; } f#;", "f#.b = 7;", "f#.b += $;", "", ""],
    ["int x#;", "x# = INT_MAX - $;", "int *p = &x#; (*p)++;", "", "x#++;"],
    ["char text#[4] = \"9\";", "", "int v = atoi(text#) * 300000000; use = v;", "", ""],
    [
        "int x#; pthread_mutex_t m# = PTHREAD_MUTEX_INITIALIZER;",
        "x# = INT_MAX - 1;",
        "pthread_mutex_lock(&m#); if (x# < INT_MAX) { pthread_mutex_unlock(&m#); pthread_mutex_lock(&m#); x#++; } pthread_mutex_unlock(&m#);",
        "pthread_mutex_lock(&m#); if (x# < INT_MAX) x#++; pthread_mutex_unlock(&m#);",
        "",
    ],
    ["int x#;", "x# = abs(INT_MIN + $);", "x# += 0;", "", ""],
    ["long long x#;", "x# = LLONG_MAX - $;", "x#++;", "", "x# += 1;"],
];

/// What a program is made of so far.
#[derive(Default)]
struct Parts {
    names: String,
    first: String,
    sides: [String; 2],
    last: String,
}

impl Parts {
    /// Adds a scene: `#` becomes its number, `$` a small number, one for each piece of text.
    fn add(&mut self, choices: &mut Choices, number: usize, [names, first, one, other, last]: [&str; 5]) {
        let mut fill = |text: &str| text.replace('#', &number.to_string()).replace('$', &choices.below(4).to_string());
        self.names += &format!("{}\n", fill(names));
        self.first += &format!("  {}\n", fill(first));
        for (side, text) in self.sides.iter_mut().zip([one, other]) {
            if !text.is_empty() {
                *side += &format!("  PAUSE; {{ {} }}\n", fill(text));
            }
        }
        self.last += &format!("  {{ {} }}\n", fill(last));
    }
}

fn pick<'t, T>(choices: &mut Choices, list: &'t [T]) -> &'t T {
    &list[choices.below(list.len() as u64) as usize]
}

/// An access inside its protection, or beside it.
fn shared(choices: &mut Choices, parts: &mut Parts, number: usize, fault: bool) {
    let (access, protection) = (pick(choices, ACCESSES), pick(choices, PROTECTIONS));
    let turned = choices.below(2) == 1;
    let (a, b) = if turned { (access[3], access[2]) } else { (access[2], access[3]) };
    let (around, first) = surroundings(protection, fault);
    let names = format!("{} {}", access[0], protection.names);
    let first = format!("{} {first}", access[1]);
    let inside = |around: &str, text: &str| around.replace('@', &format!("{{ {text} }}"));
    let (one, other) = (inside(around[0], a), inside(around[1], b));
    parts.add(choices, number, [&names, &first, &one, &other, ""]);
}

fn surroundings(protection: &Protection, fault: bool) -> ([&'static str; 2], &'static str) {
    match fault {
        true => (protection.broken, protection.broken_first.unwrap_or(protection.first)),
        false => (protection.sides, protection.first),
    }
}

/// Both sides count; the sum is told at the end.
fn counted(choices: &mut Choices, parts: &mut Parts, number: usize, fault: bool, copies: u64) {
    let ([names, before, place], mut protection) = (*pick(choices, COUNTERS), pick(choices, PROTECTIONS));
    while !protection.counts {
        protection = pick(choices, PROTECTIONS);
    }
    let up =
        *pick(choices, &["PLACE++;", "{ int t = PLACE; PAUSE; PLACE = t + 1; }", "PLACE += 1;", "PLACE = PLACE + 1;"]);
    let up = up.replace("PLACE", place);
    let (around, first) = surroundings(protection, fault);
    let names = format!("{names} {}", protection.names);
    let first = format!("{before} {first}");
    let (one, other) = (around[0].replace('@', &up), around[1].replace('@', &up));
    let expected = if choices.below(8) == 0 { copies } else { copies + 1 };
    let last = match choices.below(4) {
        0 => format!("assert({place} >= 1);"),
        _ => format!("assert({place} == {expected});"),
    };
    parts.add(choices, number, [&names, &first, &one, &other, &last]);
}

/// What one side has set, the other must see.
fn handed(choices: &mut Choices, parts: &mut Parts, number: usize, fault: bool) {
    let ([names, before, place], mut protection) = (*pick(choices, COUNTERS), pick(choices, PROTECTIONS));
    while protection.counts {
        protection = pick(choices, PROTECTIONS);
    }
    let (around, first) = surroundings(protection, fault);
    let names = format!("{names} {}", protection.names);
    let first = format!("{before} {first}");
    let (one, other) =
        (around[0].replace('@', &format!("{place} = 5;")), around[1].replace('@', &format!("assert({place} == 5);")));
    parts.add(choices, number, [&names, &first, &one, &other, ""]);
}

fn value(choices: &mut Choices, parts: &mut Parts, number: usize) {
    let (names, body, told, list) = pick(choices, VALUES);
    let body = format!("{{ {body} assert(({told}) == ({})); }}", pick(choices, list));
    match choices.below(3) {
        0 => parts.add(choices, number, [names, "", "", "", &body]),
        1 => parts.add(choices, number, [names, "", &body, "", ""]),
        _ => parts.add(choices, number, [names, "", &body.replace("assert", "use += !!"), &body, ""]),
    }
}

/// The start of `main`, how the threads begin and end: the first side runs in `copies` threads, the other in one or in `main`.
fn threads(choices: &mut Choices, parts: &Parts, copies: u64) -> String {
    let Parts { names, first, sides: [one, other], last } = parts;
    let in_main = choices.below(3) == 0;
    let second =
        if in_main { String::new() } else { format!("void *second(void *z) {{\n{other}  PAUSE; return z;\n}}\n") };
    let mut text = format!(
        "{HEAD}#include <errno.h>\n#include <setjmp.h>\n#include <signal.h>\n#include <stdarg.h>\n#ifndef PAUSE\n#define PAUSE\n#endif\n__thread int use; int amount; pthread_t *ids, other, row[4];\n{names}"
    );
    text += &format!("void *first(void *z) {{\n{one}  PAUSE; return z;\n}}\n{second}");
    let (declared, create, join) = match choices.below(6) {
        0 => (
            "",
            format!("for (int i = 0; i < {copies}; i++) pthread_create(&row[i], 0, first, 0);"),
            format!("for (int i = 0; i < {copies}; i++) pthread_join(row[i], 0);"),
        ),
        1 => (
            "",
            format!(
                "amount = {copies}; ids = malloc(amount * sizeof *ids); for (int i = 0; i < amount; i++) pthread_create(&ids[i], 0, first, 0);"
            ),
            "for (int i = 0; i < amount; i++) pthread_join(ids[i], 0); free(ids);".into(),
        ),
        2 => (
            "pthread_t start(void *(*f)(void *)) { pthread_t t; if (pthread_create(&t, 0, f, 0)) abort(); return t; }\n",
            format!("for (int i = 0; i < {copies}; i++) row[i] = start(first);"),
            format!("for (int i = 0; i < {copies}; i++) pthread_join(row[i], 0);"),
        ),
        3 => (
            "struct task { pthread_t t; int n; } tasks[4];\n",
            format!(
                "for (struct task *k = tasks; k < tasks + {copies}; k++) {{ k->n = 1; pthread_create(&k->t, 0, first, k); }}"
            ),
            format!(
                "for (struct task *k = tasks; k < tasks + {copies}; k++) {{ void *r; pthread_join(k->t, &r); if (r != k) abort(); }}"
            ),
        ),
        4 => (
            "",
            format!(
                "pthread_attr_t a; pthread_attr_init(&a); amount = {copies}; pthread_t v[amount]; for (int i = 0; i < amount; i++) pthread_create(v + i, &a, first, (void *)(long)i); pthread_attr_destroy(&a);"
            ),
            "for (int i = amount - 1; i >= 0; i--) pthread_join(v[i], 0);".into(),
        ),
        _ => {
            let all = 0..copies;
            (
                "",
                all.clone().map(|i| format!("pthread_create(&row[{i}], 0, first, 0); ")).collect(),
                all.map(|i| format!("pthread_join(row[{i}], 0); ")).collect::<String>(),
            )
        }
    };
    text += declared;
    text += &format!("int main(void) {{\n{first}");
    let (start, end) = match in_main {
        true => (other.clone(), String::new()),
        false => ("  pthread_create(&other, 0, second, 0);\n".into(), "  pthread_join(other, 0);\n".into()),
    };
    // The two sides beside each other, or one after the other.
    text += &match choices.below(8) {
        0 => format!("  {create}\n  {join}\n{start}{end}"),
        1 => format!("{start}  {create}\n  {join}\n{end}"),
        _ => format!("  {create}\n{start}  {join}\n{end}"),
    };
    text + &format!("{last}  return 0;\n}}\n")
}

/// A program for a property; half of them have something broken.
pub(super) fn program(choices: &mut Choices, check: &str) -> String {
    let mut parts = Parts::default();
    let copies = 1 + choices.below(2) * choices.below(2);
    let scenes = 1 + choices.below(2) as usize;
    let fault = (choices.below(2) == 0).then(|| choices.below(scenes as u64) as usize);
    for number in 0..scenes {
        let fault = fault == Some(number);
        match check {
            "no-data-race" => shared(choices, &mut parts, number, fault),
            "memory-safety" => {
                let row = *pick(choices, MEMORY);
                parts.add(choices, number, row);
            }
            "no-overflow" => {
                let row = *pick(choices, OVERFLOWS);
                parts.add(choices, number, row);
            }
            _ => match choices.below(5) {
                0..=1 => counted(choices, &mut parts, number, fault, copies),
                2 => handed(choices, &mut parts, number, fault),
                _ => value(choices, &mut parts, number),
            },
        }
    }
    threads(choices, &parts, copies)
}
