//! C programs of several files on the command line.
//!
//! In: files in a scratch folder. Out: one verdict for what is linked, `static` names kept apart, errors at the right file and line, folders,
//! compile commands, tasks of several files, flags of the preprocessor. Deliberately absent: archives and objects.

use crate::{Scratch, code, stderr, stdout, threadproof};

const COUNTER_H: &str = "struct counter { int value; };\nextern struct counter shared;\nvoid *add(void *unused);\n";
const MAIN_C: &str = "#include <assert.h>\n#include <pthread.h>\n#include \"counter.h\"\nstatic int step = 5;\n\
    int main(void) {\n  pthread_t a, b;\n  pthread_create(&a, 0, add, 0);\n  pthread_create(&b, 0, add, 0);\n  \
    pthread_join(a, 0);\n  pthread_join(b, 0);\n  assert(shared.value == WANTED && step == 5);\n  return 0;\n}\n";
const COUNTER_C: &str = "#include <pthread.h>\n#include \"counter.h\"\nstatic int step = 1;\nstruct counter shared;\n\
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\nvoid *add(void *unused) {\n  pthread_mutex_lock(&lock);\n  \
    shared.value += step;\n  pthread_mutex_unlock(&lock);\n  return 0;\n}\n";

fn scratch(name: &str) -> (Scratch, String, String) {
    let scratch = Scratch::new(name);
    scratch.file("counter.h", COUNTER_H);
    let main = scratch.file("main.c", MAIN_C);
    let counter = scratch.file("counter.c", COUNTER_C);
    (scratch, main, counter)
}

#[test]
fn check_files_without_main_are_linked_and_static_names_are_kept_apart() {
    let (_scratch, main, counter) = scratch("linked");
    let all = |wanted: &str, first: &str, second: &str| {
        threadproof(&["verify", first, second, "-D", wanted, "--time", "20s", "--check", "unreach-call"])
    };
    for (first, second) in [(&main, &counter), (&counter, &main)] {
        let output = all("WANTED=2", first, second);
        assert_eq!(code(&output), 0, "{}{}", stdout(&output), stderr(&output));
        assert!(stdout(&output).contains("main.c: safe"), "{}", stdout(&output));
        // Were the two variables `step` one, the sum would be 10.
        let output = all("WANTED=10", first, second);
        assert_eq!(code(&output), 1, "{}{}", stdout(&output), stderr(&output));
        assert!(
            stdout(&output).contains("counter.c:8") || stdout(&output).contains("main.c:11"),
            "{}",
            stdout(&output)
        );
        assert!(stdout(&output).contains("and at the level of C by its interpreter"), "{}", stdout(&output));
    }
    let race = threadproof(&["verify", &main, &counter, "-DWANTED=2", "--check", "no-data-race", "--time", "20s"]);
    assert_eq!(code(&race), 0, "{}", stdout(&race));
}

#[test]
fn check_errors_of_linked_files_name_their_file_and_line() {
    let (scratch, main, _) = scratch("linked-errors");
    let other = scratch.file("other.c", "#include \"counter.h\"\nlong shared;\nint add2(void) { return missing; }\n");
    let output = threadproof(&["verify", &main, &other, "-DWANTED=2"]);
    let text = format!("{}{}", stdout(&output), stderr(&output));
    assert_eq!(code(&output), 65, "{text}");
    assert!(text.contains("other.c:3") && text.contains("missing"), "{text}");
    let long = scratch.file("long.c", "long shared;\nvoid *add(void *p) { return p; }\n");
    let output = threadproof(&["verify", &main, &long, "-DWANTED=2"]);
    let text = format!("{}{}", stdout(&output), stderr(&output));
    assert_eq!(code(&output), 65, "{text}");
    assert!(text.contains("long.c:1") && text.contains("counter.h:2"), "{text}");
    let twice = scratch.file("twice.c", "void *add(void *p) { return p; }\n");
    let again = scratch.file("again.c", "void *add(void *p) { return p; }\n");
    let output = threadproof(&["verify", &main, &twice, &again, "-DWANTED=2"]);
    let text = format!("{}{}", stdout(&output), stderr(&output));
    assert_eq!(code(&output), 65, "{text}");
    assert!(text.contains("again.c:1") && text.contains("defined twice") && text.contains("twice.c:1"), "{text}");
}

#[test]
fn check_a_folder_a_compilation_database_and_a_task_name_the_files_of_a_program() {
    let (scratch, _, _) = scratch("linked-folder");
    let folder = scratch.path("");
    let output = threadproof(&["verify", &folder, "-D", "WANTED=2", "--time", "20s"]);
    assert_eq!(code(&output), 0, "{}{}", stdout(&output), stderr(&output));
    let database = scratch.file(
        "compile_commands.json",
        "[{ \"directory\": \".\", \"file\": \"main.c\", \"command\": \"cc -DWANTED=2 -I. -c main.c\" },\n\
         { \"directory\": \".\", \"file\": \"counter.c\", \"arguments\": [\"cc\", \"-c\", \"counter.c\"] }]",
    );
    let output = threadproof(&["verify", &database, "--time", "20s"]);
    assert_eq!(code(&output), 0, "{}{}", stdout(&output), stderr(&output));
    std::fs::create_dir_all(scratch.path("x")).expect("a folder can be made");
    let bad = scratch.file("x/compile_commands.json", "{}");
    let output = threadproof(&["verify", &bad]);
    assert_eq!(code(&output), 65, "{}", stderr(&output));
    let narrow = scratch.file(
        "x/compile_commands.json",
        "[{ \"directory\": \"..\", \"file\": \"main.c\", \"command\": \"cc -m32 -c main.c\" }]",
    );
    let output = threadproof(&["verify", &narrow]);
    assert_eq!(code(&output), 65, "{}", stdout(&output));
    assert!(format!("{}{}", stdout(&output), stderr(&output)).contains("-m32"), "{}", stderr(&output));
    let task = scratch.file(
        "task.yml",
        "format_version: '2.0'\ninput_files: ['main.c', 'counter.c']\nproperties:\n  - property_file: unreach-call.prp\n    \
         expected_verdict: false\noptions:\n  language: C\n  data_model: LP64\n",
    );
    let output = threadproof(&["verify", &task, "-DWANTED=3", "--time", "20s"]);
    assert_eq!(code(&output), 1, "{}{}", stdout(&output), stderr(&output));
    assert!(stdout(&output).contains("result: false(unreach-call)"), "{}", stdout(&output));
}

#[test]
fn check_structs_of_one_tag_are_one_type_if_they_have_the_same_members_and_two_if_not() {
    let scratch = Scratch::new("linked-structs");
    let main = scratch.file(
        "main.c",
        "#include <assert.h>\nstruct node { int v; struct node *next; };\nextern struct node *make(int v);\nextern int size(void);\n\
         int main(void) { struct node *n = make(3); assert(n->v == 3 && n->next == 0 && size() == 1); return 0; }\n",
    );
    let list = scratch.file(
        "list.c",
        "#include <stdlib.h>\nstruct node { int v; struct node *next; };\n\
         struct node *make(int v) { struct node *n = malloc(sizeof *n); n->v = v; n->next = 0; return n; }\n",
    );
    let own = scratch
        .file("own.c", "struct node { char c; };\nstatic struct node here;\nint size(void) { return sizeof here; }\n");
    let output = threadproof(&["verify", &main, &list, &own, "--time", "20s"]);
    assert_eq!(code(&output), 0, "{}{}", stdout(&output), stderr(&output));
}

#[test]
fn check_a_folder_of_java_files_is_still_one_program() {
    let scratch = Scratch::new("java-folder");
    scratch.file("Main.java", "class Main { public static void main(String[] a) { int x = 1; assert x == 1; } }\n");
    let output = threadproof(&["verify", &scratch.path(""), "--time", "20s"]);
    assert_ne!(code(&output), 65, "{}{}", stdout(&output), stderr(&output));
}
