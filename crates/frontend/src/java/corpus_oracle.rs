//! Programs of the corpus, compiled by `javac` and run: what is seen must be among what the model allows.
//!
//! In: some programs of `corpus/java`, each run some dozen times while other threads keep the processors busy. Out: for each failure that shows, a property that
//! the model says can be broken. Where there is no JDK the test prints so and passes. Deliberately absent: programs with data races, which may show more than
//! sequential consistency allows; that everything the model allows is seen.

use super::tests::broken;
use base::Random;
use std::path::Path;
use std::process::Command;

/// Loads a class anew for each run, and says how the run ended.
const RUNNER: &str = r#"
import java.net.*;
import java.nio.file.*;
import java.util.*;

public class Runner {
    static final List<String> seen = Collections.synchronizedList(new ArrayList<>());

    static void record(Throwable t) {
        String line = "?";
        for (StackTraceElement e : t.getStackTrace()) {
            if (!e.getClassName().startsWith("java.") && !e.getClassName().startsWith("jdk.")) { line = "" + e.getLineNumber(); break; }
        }
        seen.add(t.getClass().getSimpleName() + " " + line);
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 2; i++) {
            Thread busy = new Thread(() -> { while (true) Thread.yield(); });
            busy.setDaemon(true);
            busy.start();
        }
        Thread.setDefaultUncaughtExceptionHandler((t, e) -> record(e));
        java.io.PrintStream out = System.out;
        System.setOut(new java.io.PrintStream(java.io.OutputStream.nullOutputStream()));
        for (int run = 0; run < Integer.parseInt(args[2]); run++) {
            URLClassLoader loader = new URLClassLoader(new URL[] { Path.of(args[0]).toUri().toURL() }, null);
            loader.setDefaultAssertionStatus(true);
            ThreadGroup group = new ThreadGroup("run");
            Thread main = new Thread(group, () -> {
                try {
                    var method = loader.loadClass(args[1]).getDeclaredMethod("main", String[].class);
                    method.setAccessible(true);
                    method.invoke(null, (Object) new String[0]);
                } catch (java.lang.reflect.InvocationTargetException e) {
                    record(e.getCause() instanceof ExceptionInInitializerError ? e.getCause().getCause() : e.getCause());
                } catch (Throwable t) {
                    record(t);
                }
            });
            main.start();
            long end = System.nanoTime() + 5_000_000_000L;
            boolean alive = true;
            while (alive && System.nanoTime() < end) {
                Thread[] all = new Thread[64];
                int count = group.enumerate(all);
                alive = false;
                for (int i = 0; i < count; i++) alive |= !all[i].isDaemon();
                Thread.sleep(1);
            }
            if (alive) seen.add("hang ?");
            for (String s : new TreeSet<>(seen)) out.println(s);
            out.flush();
            if (alive) Runtime.getRuntime().halt(0);
        }
        Runtime.getRuntime().halt(0);
    }
}
"#;

/// What may be broken where a failure of this kind shows.
fn allowed(failure: &str) -> Vec<String> {
    let (name, line) = failure.split_once(' ').unwrap_or((failure, "?"));
    let kind = match name {
        "hang" => "deadlock",
        "AssertionError" => return vec![format!("assert:{line}")],
        "NullPointerException" => "null",
        "ArrayIndexOutOfBoundsException" => "bounds",
        "ArithmeticException" => "division",
        "ClassCastException" => "cast",
        "IllegalMonitorStateException" => "release",
        "IndexOutOfBoundsException" => "index",
        "NoSuchElementException" | "EmptyStackException" => "element",
        "ConcurrentModificationException" => "modified",
        "NegativeArraySizeException" => "size",
        "IllegalThreadStateException" => "start",
        _ => "throw",
    };
    vec![kind.to_owned(), "throw".to_owned()]
}

fn compile(folder: &Path, file: &Path) -> Option<()> {
    match Command::new("javac").arg("-nowarn").arg("-d").arg(folder).arg(file).output() {
        Ok(done) if done.status.success() => Some(()),
        Ok(done) => panic!("javac refuses {}: {}", file.display(), String::from_utf8_lossy(&done.stderr)),
        Err(_) => {
            println!("skipped: there is no `javac` on this machine");
            None
        }
    }
}

#[test]
fn check_runs_of_the_corpus_are_among_those_of_the_model() {
    let place = std::env::temp_dir().join(format!("threadproof-java-corpus-{}", std::process::id()));
    std::fs::create_dir_all(&place).expect("a folder for a test can be made");
    let runner = place.join("Runner.java");
    std::fs::write(&runner, RUNNER).expect("a file for a test can be written");
    if compile(&place, &runner).is_none() {
        return;
    }
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/java");
    let mut files: Vec<_> = std::fs::read_dir(corpus)
        .expect("the corpus is there")
        .map(|e| e.expect("a file of the corpus").path())
        .filter(|p| p.extension().is_some_and(|e| e == "java"))
        .filter(|p| std::fs::read_to_string(p).is_ok_and(|t| t.contains("void main(")))
        .collect();
    files.sort();
    let mut random = Random::new(19);
    let wanted = base::differential::programs_to_try(3) as usize;
    while files.len() > wanted {
        let at = random.below(files.len());
        files.swap_remove(at);
    }
    for file in files {
        let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
        let folder = place.join(&name);
        std::fs::create_dir_all(&folder).expect("a folder for a test can be made");
        if compile(&folder, &file).is_none() {
            return;
        }
        let mut java = Command::new("java");
        java.arg("-Xint").arg("-cp").arg(&place).arg("Runner").arg(&folder).arg(&name).arg("25");
        let output = java.output().expect("where there is javac there is java");
        let text = std::fs::read_to_string(&file).expect("a program of the corpus can be read");
        let seen = String::from_utf8_lossy(&output.stdout).into_owned();
        if seen.trim().is_empty() {
            continue;
        }
        let found = broken(&text);
        if found.iter().any(|f| f.starts_with("race")) {
            continue;
        }
        for failure in seen.lines() {
            let may = allowed(failure);
            let fits = found.iter().any(|f| may.iter().any(|m| f == m || f.starts_with(&format!("{m}:"))));
            assert!(fits, "{name}: {failure} is not among {found:?}");
        }
    }
    std::fs::remove_dir_all(&place).expect("the folder of a test can be removed");
}
