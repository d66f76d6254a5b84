//! `threadproof verify`, without a method named, on programs of 24 to 200 procedures with locks: user seconds, and how they grow.
//! Then `rely` on straight code with 25 to 200 branches. Sizes are multiples of eight, so that the same kinds of procedure meet at every lock.
//!
//! `cargo bench -p threadproof --bench rely`; `-- --write N FILE` writes a program of N procedures instead. Times are
//! processor time of the whole command, all threads and solvers included; one run each. The last line is the exponent of the
//! best power law through the points: 1 is linear. Then the largest program again after a change of one number, with what the run
//! before it kept (`--cache`).

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::time::Instant;
use testkit::scale::{Callers, Shape, program};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    if let [flag, n, file] = &args[..]
        && flag == "--write"
    {
        let shape = Shape::new(n.parse().expect("a number of procedures"), Callers::Threads);
        std::fs::write(file, program(&shape)).expect("the file can be written");
        return;
    }
    let folder = std::env::temp_dir().join(format!("threadproof-rely-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the programs");
    println!("{:<10} {:>10} {:>8} {:>10} {:>10}  verdict", "callers", "procedures", "lines", "user s", "wall s");
    for (name, callers) in [("threads", Callers::Threads), ("one", Callers::One), ("none", Callers::None)] {
        let mut points = Vec::new();
        for n in [24, 48, 96, 200] {
            let text = program(&Shape::new(n, callers));
            let file = folder.join(format!("{name}{n}.tp"));
            std::fs::write(&file, &text).expect("the file can be written");
            let (user, wall, word) = verify(&file, &["--cache".as_ref(), folder.join(name).as_os_str()]);
            println!("{name:<10} {n:>10} {:>8} {user:>10.2} {wall:>10.2}  {word}", text.lines().count());
            points.push(((n as f64).ln(), user.max(0.01).ln()));
        }
        println!("{name:<10} grows with the power {:.2} of the size", slope(&points));
        let edited = Shape { edit: Some(77), ..Shape::new(200, callers) };
        let file = folder.join(format!("{name}200.tp"));
        std::fs::write(&file, program(&edited)).expect("the file can be written");
        let (user, wall, word) = verify(&file, &["--cache".as_ref(), folder.join(name).as_os_str()]);
        println!("{name:<10} {:>10} {:>8} {user:>10.2} {wall:>10.2}  {word}", 200, "edited");
    }
    let mut points = Vec::new();
    for k in [25, 50, 100, 200] {
        let file = folder.join(format!("branches{k}.tp"));
        std::fs::write(&file, branches(k)).expect("the file can be written");
        let (user, wall, word) = verify(&file, &["--method".as_ref(), "rely".as_ref()]);
        println!("{:<10} {k:>10} {:>8} {user:>10.2} {wall:>10.2}  {word}", "branches", 2 * k);
        points.push(((k as f64).ln(), user.max(0.01).ln()));
    }
    println!("{:<10} grows with the power {:.2} of the size", "branches", slope(&points));
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
}

/// One critical section with `k` branches in a row, which make 2^k paths.
fn branches(k: usize) -> String {
    let each: String = (0..k).map(|i| format!("  if * {{ x := x + {i}; }}\n  else {{ y := y + x; }}\n")).collect();
    format!(
        "var m: lock;\nvar x: int = 0;\nvar y: int = 0;\nthread T[*] {{\n  acquire m;\n{each}  assert x >= 0 && y >= 0;\n  release m;\n}}\n"
    )
}

/// User seconds, seconds, and the first word of the verdict.
fn verify(file: &Path, more: &[&OsStr]) -> (f64, f64, String) {
    let begin = Instant::now();
    let before = children();
    let output = Command::new(env!("CARGO_BIN_EXE_threadproof")).arg("verify").arg(file).args(more).output();
    let output = output.expect("the tool runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let word = text.lines().next().and_then(|l| l.split(": ").nth(1)).unwrap_or("nothing").to_string();
    (children() - before, begin.elapsed().as_secs_f64(), word)
}

/// Processor seconds of all children that have ended, from the system's own account.
fn children() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or("").split_whitespace().collect();
    // cutime and cstime, in hundredths of a second.
    let of = |i: usize| fields.get(i).and_then(|f| f.parse::<f64>().ok()).unwrap_or(0.0);
    (of(13) + of(14)) / 100.0
}

/// Of the line through the points with the least squares.
fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let (mx, my) = (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let over: f64 = points.iter().map(|(x, y)| (x - mx) * (y - my)).sum();
    over / points.iter().map(|(x, _)| (x - mx) * (x - mx)).sum::<f64>()
}
