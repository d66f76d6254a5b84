//! Random statements of threads, nested at will: locks of all kinds, atomics of every order, fences, and plain accesses of many shapes.
//!
//! In: choices. Out: the text of a program of two or three threads over plain and atomic variables, mutexes, read-write locks, semaphores, compare-and-swap,
//! bit-fields, structs, thread-local variables and locals of `main` whose address is shared, with joins in the middle. Beside `scenes`, which break one rule at a time, these
//! programs have no plan. Deliberately absent: any idea of what is true of them.

use super::hostile::{Choices, HEAD};

const GLOBALS: &str = "#ifndef PAUSE\n#define PAUSE\n#endif\n\
int g0, g1, row[3]; volatile int v0; atomic_int a0, a1; char c0, c1;\n\
struct pair { int x, y; } p0, p1; struct { unsigned low : 3, high : 5; unsigned : 0; unsigned next : 4; } bits;\n\
pthread_mutex_t m0 = PTHREAD_MUTEX_INITIALIZER, m1 = PTHREAD_MUTEX_INITIALIZER;\n\
pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER; sem_t sem; pthread_t ids[3];\n\
__thread int own; int *shared; int *_Atomic handed;\n";

/// Writes statements; `depth` bounds how far blocks nest. Pointers are only to what lives as long as `main`.
struct Writer<'c> {
    choices: &'c mut Choices,
}

impl Writer<'_> {
    fn order(&mut self) -> &'static str {
        self.choices.of(&["relaxed", "acquire", "release", "acq_rel", "seq_cst", "seq_cst"])
    }

    fn load_order(&mut self) -> &'static str {
        self.choices.of(&["relaxed", "acquire", "acquire", "seq_cst"])
    }

    fn store_order(&mut self) -> &'static str {
        self.choices.of(&["relaxed", "release", "release", "seq_cst"])
    }

    fn plain(&mut self) -> String {
        let list = [
            "g0 = 1;",
            "g0++;",
            "own = g0;",
            "g1 = 2;",
            "own += g1;",
            "row[1] = 1;",
            "own = row[own & 1];",
            "c0 = 1;",
            "c1 = 1;",
            "p0.x = 1;",
            "own = p0.y;",
            "p0 = p1;",
            "p1.y = 1;",
            "memcpy(&p1, &p0, sizeof p0);",
            "memset(&p0, 0, sizeof p0);",
            "bits.low = 1;",
            "bits.high = 2;",
            "bits.next = 3;",
            "own++;",
            "v0 = 1;",
            "own = v0;",
        ];
        let pointers = ["if (handed) *handed = 1;", "if (shared) own = *shared;", "shared = &g1;", "handed = &g0;"];
        match self.choices.below(6) == 0 {
            true => self.choices.of(&pointers).to_string(),
            false => self.choices.of(&list).to_string(),
        }
    }

    fn some(&mut self, depth: u32) -> String {
        let count = 1 + self.choices.below(2);
        (0..count).map(|_| self.statement(depth)).collect::<Vec<_>>().join(" ")
    }

    fn statement(&mut self, depth: u32) -> String {
        if depth == 0 {
            return self.plain();
        }
        let (a, m) = (self.choices.of(&["a0", "a1"]), self.choices.of(&["m0", "m0", "m1"]));
        let k = self.choices.below(3);
        match self.choices.below(14) {
            0..=2 => self.plain(),
            3..=5 => {
                let inner = self.some(depth - 1);
                format!("pthread_mutex_lock(&{m}); {inner} pthread_mutex_unlock(&{m});")
            }
            6 => {
                let inner = self.some(depth - 1);
                format!("if (pthread_mutex_trylock(&{m}) == 0) {{ {inner} pthread_mutex_unlock(&{m}); }}")
            }
            7 => format!("atomic_store_explicit(&{a}, {k}, memory_order_{});", self.store_order()),
            8 => {
                let (order, inner) = (self.load_order(), self.some(depth - 1));
                format!("if (atomic_load_explicit(&{a}, memory_order_{order}) == {k}) {{ {inner} }}")
            }
            9 => {
                let (order, inner) = (self.order(), self.some(depth - 1));
                format!("if (atomic_fetch_add_explicit(&{a}, 1, memory_order_{order}) == {k}) {{ {inner} }}")
            }
            10 => {
                let (order, fails) = (self.order(), self.choices.of(&["relaxed", "acquire", "seq_cst"]));
                let (yes, no) = (self.some(depth - 1), self.some(depth - 1));
                format!(
                    "{{ int e = {k}; if (atomic_compare_exchange_strong_explicit(&{a}, &e, 2, memory_order_{order}, \
                     memory_order_{fails})) {{ {yes} }} else {{ {no} }} }}"
                )
            }
            11 => format!("atomic_thread_fence(memory_order_{});", self.choices.of(&["acquire", "release", "seq_cst"])),
            12 => {
                let (kind, inner) = (self.choices.of(&["rd", "wr"]), self.some(depth - 1));
                format!("pthread_rwlock_{kind}lock(&rw); {inner} pthread_rwlock_unlock(&rw);")
            }
            _ => match self.choices.below(2) {
                0 => "sem_post(&sem);".into(),
                _ => format!("if (sem_trywait(&sem) == 0) {{ {} }}", self.some(depth - 1)),
            },
        }
    }
}

pub(super) fn program(choices: &mut Choices) -> String {
    let threads = 1 + choices.below(2);
    let (same, in_loop) = (choices.below(3) == 0, choices.below(3) == 0);
    let mut writer = Writer { choices };
    let mut text = format!("{HEAD}{GLOBALS}");
    let functions = if same || in_loop { 1 } else { threads };
    for f in 0..functions {
        let body: Vec<String> = (0..1 + writer.choices.below(2)).map(|_| writer.statement(2)).collect();
        text += &format!("void *t{f}(void *z) {{ PAUSE; {} PAUSE; return 0; }}\n", body.join(" PAUSE; "));
    }
    let first = writer.choices.of(&["", "handed = &local;", "shared = &local;", "g0 = 5;", "a0 = 1;"]);
    text += &format!("int main(void) {{ int local = 0; sem_init(&sem, 0, {}); {first}\n", writer.choices.below(2));
    match in_loop {
        true => text += &format!("for (int i = 0; i < {threads}; i++) pthread_create(&ids[i], 0, t0, 0);\n"),
        false => {
            for t in 0..threads {
                text += &format!("pthread_create(&ids[{t}], 0, t{}, 0);\n", t % functions);
            }
        }
    }
    text += &format!("PAUSE; {} PAUSE;\n", writer.statement(2));
    let early = writer.choices.below(threads + 1);
    (0..early).for_each(|t| text += &format!("pthread_join(ids[{t}], 0);\n"));
    text += &format!("{}\n", writer.statement(1));
    (early..threads).for_each(|t| text += &format!("pthread_join(ids[{t}], 0);\n"));
    text + "return 0; }\n"
}
