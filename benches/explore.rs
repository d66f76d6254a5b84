//! `explore` beside SPIN and Stateright, in one run: states per second on one core without reductions, bytes per state, and the time
//! with all reductions.
//!
//! `benches/explore.sh [FAMILY [N]]`, which installs SPIN (Debian's package `spin`) where it is missing and builds the peer
//! for Stateright (`benches/peers/stateright`, outside the workspace); `STATERIGHT_PEER` says where that program is. Families: bluetooth, battery, philosophers, buffer. Each line says what
//! was measured; nothing is averaged away: one run each. Times are processor time (user and system) of both tools, so that
//! a loaded machine does not decide. SPIN's bytes are its "actual memory usage for states", without its table of
//! pointers and its stack; ours are everything a state costs: states, table, room not yet used.
//! The models of SPIN are in `benches/models`; ours are in the corpus or beside them.

use base::{Budget, Sources};
use methods::SearchProgress;
use methods::Switches;
use methods::{Exploration, ExplorePlan, explore_states};
use program::semantics::InstanceCounts;
use program::{Program, PropertyKind};
use std::path::{Path, PathBuf};
use std::process::Command;

struct Family {
    name: &'static str,
    ours: &'static str,
    theirs: &'static str,
    /// Flags of SPIN's preprocessor that make its model the same as ours.
    flags: &'static [&'static str],
    /// Constants of our model that are set to the size.
    constants: &'static [&'static str],
    /// Sizes for the comparison state by state; sizes for the reductions; the largest size for SPIN's own reduction.
    plain: &'static [u32],
    reduced: &'static [u32],
    largest: u32,
}

const FAMILIES: [Family; 4] = [
    Family {
        name: "bluetooth",
        ours: "benches/models/bluetooth_lines.tp",
        theirs: "benches/models/bluetooth_concrete.pml",
        flags: &[],
        constants: &[],
        plain: &[5, 6],
        reduced: &[2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16],
        largest: 7,
    },
    Family {
        name: "battery",
        ours: "benches/models/battery_lines.tp",
        theirs: "benches/models/battery_concrete.pml",
        flags: &["-DWMODE=9"],
        constants: &["Requests"],
        plain: &[6, 7],
        reduced: &[6, 8, 10, 12],
        largest: 9,
    },
    Family {
        name: "philosophers",
        ours: "benches/models/philosophers.tp",
        theirs: "benches/models/philosophers.pml",
        flags: &[],
        constants: &["N"],
        plain: &[7, 8],
        reduced: &[5, 6, 7],
        largest: 8,
    },
    Family {
        name: "buffer",
        ours: "benches/models/bounded_buffer.tp",
        theirs: "benches/models/bounded_buffer.pml",
        flags: &[],
        constants: &["N"],
        plain: &[3],
        reduced: &[3, 4, 5, 6],
        largest: 4,
    },
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Our model at a size: constants `N` and instances of threads in any number.
fn load(family: &Family, n: u32) -> (Program, InstanceCounts) {
    let path = root().join(family.ours);
    let text = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut sources = Sources::new();
    let parsed = frontend::lang::parse_file(&mut sources, family.ours, &text);
    let mut settings = frontend::lang::LoweringSettings::default();
    settings.constants.extend(family.constants.iter().map(|c| (c.to_string(), n.to_string())));
    let lowered = frontend::lang::lower_file(&parsed, &sources, &settings);
    let program = lowered.program.unwrap_or_else(|| panic!("{}: {:?}", family.ours, lowered.diagnostics));
    let counts = InstanceCounts::of(&program, n.saturating_sub(1));
    (program, counts)
}

fn ours(family: &Family, n: u32, switches: Switches, workers: usize) -> Exploration {
    let (program, counts) = load(family, n);
    let wanted = program
        .properties
        .iter_enumerated()
        .filter(|(_, p)| !matches!(p.kind, PropertyKind::Deadlock))
        .map(|(id, _)| id)
        .collect();
    let quiet = |_: &SearchProgress| {};
    explore_states(&ExplorePlan {
        program: &program,
        counts,
        wanted,
        switches,
        workers,
        depth: usize::MAX,
        budget: Budget::unlimited().with_memory(6 << 30).with_time(std::time::Duration::from_secs(120)),
        progress: &quiet,
        compact: false,
        unreachable: false,
        means: Default::default(),
    })
}

/// Processor seconds of this process, or of its children that have ended.
fn processor(children: bool) -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program may hold spaces; what follows it does not.
    let rest: Vec<f64> =
        stat.rsplit(')').next().unwrap_or("").split_whitespace().map(|w| w.parse().unwrap_or(0.0)).collect();
    let at = if children { 13 } else { 11 };
    rest.get(at..at + 2).map_or(0.0, |t| (t[0] + t[1]) / 100.0)
}

struct Spin {
    states: f64,
    seconds: f64,
    bytes: f64,
}

/// Builds and runs SPIN's model; `None` where SPIN is missing or gives up.
fn spin(family: &Family, n: u32, flags: &[&str]) -> Option<Spin> {
    let dir = std::env::temp_dir().join(format!("explore-bench-{}-{}-{}", family.name, n, flags.join("")));
    std::fs::create_dir_all(&dir).ok()?;
    let model = std::fs::canonicalize(root().join(family.theirs)).ok()?;
    let run = |program: &str, args: &[String]| {
        Command::new(program).args(args).current_dir(&dir).output().ok().filter(|o| o.status.success())
    };
    let mut args = vec!["-a".to_string(), format!("-DN={n}")];
    args.extend(family.flags.iter().map(|f| f.to_string()));
    args.push(model.display().to_string());
    run("spin", &args)?;
    let mut gcc: Vec<String> = ["-O2", "-DSAFETY", "-o", "pan", "pan.c"].iter().map(|s| s.to_string()).collect();
    gcc.extend(flags.iter().map(|s| s.to_string()));
    run("gcc", &gcc)?;
    let before = processor(true);
    let out = run("./pan", &["-E".into(), "-n".into(), "-m200000".into(), "-w24".into()])?;
    let seconds = (processor(true) - before).max(0.01);
    let text = String::from_utf8_lossy(&out.stdout).to_string();
    let number = |word: &str, at: usize| {
        let line = text.lines().find(|l| l.contains(word))?;
        line.split_whitespace().filter_map(|w| w.parse::<f64>().ok()).nth(at)
    };
    let states = number("states, stored", 0)?;
    let megabytes = number("actual memory usage for states", 0)?;
    let _ = std::fs::remove_dir_all(&dir);
    Some(Spin { states, seconds, bytes: megabytes * 1048576.0 / states })
}

fn plain(family: &Family, n: u32) {
    let before = processor(false);
    let a = ours(family, n, Switches::NONE, 1);
    let seconds = (processor(false) - before).max(0.01);
    let rate = a.states as f64 / seconds;
    println!(
        "{} n={n} unreduced: {} states, {:.2} s, {:.0} states/s, {:.1} bytes/state, {} words, {} restarts, {} interpreted{}",
        family.name,
        a.states,
        seconds,
        rate,
        a.bytes as f64 / a.states.max(1) as f64,
        a.words,
        a.restarts,
        a.slow,
        a.incomplete.map_or(String::new(), |w| format!(" ({w})"))
    );
    for flags in [["-DNOREDUCE"].as_slice(), &["-DNOREDUCE", "-DCOLLAPSE"]] {
        match spin(family, n, flags) {
            None => println!("  spin {}: did not run", flags.join(" ")),
            Some(s) => {
                let theirs = s.states / s.seconds;
                println!(
                    "  spin {}: {} states, {:.2} s, {:.0} states/s, {:.1} bytes/state; ours is {:.1} times as fast",
                    flags.join(" "),
                    s.states,
                    s.seconds,
                    theirs,
                    s.bytes,
                    rate / theirs
                );
            }
        }
    }
    if let Some((states, seconds)) = stateright(family, n) {
        let theirs = states / seconds;
        println!(
            "  stateright: {states} states, {seconds:.2} s, {theirs:.0} states/s; ours is {:.1} times as fast",
            rate / theirs
        );
    }
}

/// Runs Stateright's model, if there is one; states and seconds.
fn stateright(family: &Family, n: u32) -> Option<(f64, f64)> {
    let peer = std::env::var_os("STATERIGHT_PEER")?;
    let out = Command::new(peer).args([family.name, &n.to_string()]).output().ok()?;
    let text = String::from_utf8_lossy(&out.stdout).to_string();
    let mut numbers = text.split_whitespace().filter_map(|w| w.parse::<f64>().ok());
    Some((numbers.next()?, numbers.next()?))
}

fn reduced(family: &Family, n: u32, switches: Switches) -> (f64, f64, f64) {
    let before = processor(false);
    let a = ours(family, n, switches, 1);
    let seconds = processor(false) - before;
    println!(
        "{} n={n} {}: {} states, {seconds:.2} s in all{}",
        family.name,
        if switches.por { "reduced" } else { "symmetry alone" },
        a.states,
        a.incomplete.map_or(String::new(), |w| format!(" ({w})"))
    );
    (f64::from(n), a.states as f64, seconds)
}

/// The degree of the polynomial that goes through all points at consecutive sizes, if there is one with points to spare: the
/// number of times differences have to be taken until they vanish.
fn exact_degree(points: &[(f64, f64)]) -> Option<(usize, usize)> {
    let consecutive = points.windows(2).take_while(|w| w[1].0 == w[0].0 + 1.0).count() + 1;
    let mut row: Vec<i128> = points[..consecutive.min(points.len())].iter().map(|(_, s)| *s as i128).collect();
    // The first sizes may be too small for every local state to be occupied.
    row.remove(0);
    for degree in 0..row.len().saturating_sub(1) {
        row = row.windows(2).map(|w| w[1] - w[0]).collect();
        if row.iter().all(|d| *d == 0) {
            return Some((degree, row.len()));
        }
    }
    None
}

/// The exponent of the least squares line through (log n, log states).
fn degree(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|(n, s)| (n.ln(), s.max(1.0).ln())).collect();
    let k = logs.len() as f64;
    let (sx, sy): (f64, f64) = logs.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + x, b + y));
    let sxy: f64 = logs.iter().map(|(x, y)| x * y).sum();
    let sxx: f64 = logs.iter().map(|(x, _)| x * x).sum();
    (k * sxy - sx * sy) / (k * sxx - sx * sx)
}

/// Time with our reductions beside SPIN with its own.
fn against(family: &Family) {
    let n = family.largest;
    let (_, _, seconds) = reduced(family, n, Switches::ALL);
    match spin(family, n, &[]) {
        None => println!("  spin n={n} with its own reduction: did not run"),
        Some(s) => println!(
            "  spin n={n} with its own reduction: {} states, {:.2} s; ours takes at most 1/{:.0} of it",
            s.states,
            s.seconds,
            // The clock of the processor ticks a hundred times a second.
            s.seconds / seconds.max(0.01)
        ),
    }
}

fn main() {
    // `cargo bench` adds its own flag.
    let args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let only = args.get(1).and_then(|n| n.parse::<u32>().ok());
    let some = |n: &&u32| only.is_none_or(|o| o == **n);
    for family in FAMILIES.iter().filter(|f| args.is_empty() || args[0] == f.name) {
        family.plain.iter().filter(some).for_each(|n| plain(family, *n));
        if only.is_none() || only == Some(family.largest) {
            against(family);
        }
        for (what, switches) in [("all reductions", Switches::ALL), ("local steps kept", KEPT)] {
            let sizes = family.reduced.iter().filter(some).filter(|n| switches.por || **n <= MAX_KEPT);
            let points: Vec<(f64, f64)> =
                sizes.map(|n| reduced(family, *n, switches)).map(|(n, s, _)| (n, s)).collect();
            if points.len() > 2 {
                println!("{} with {what}: states grow as n^{:.2} over these sizes", family.name, degree(&points));
                if let Some((degree, spare)) = exact_degree(&points) {
                    println!("  they are a polynomial of degree {degree} in n, with {spare} points to spare");
                }
            }
        }
        if only.is_none() {
            scaling(family);
        }
    }
}

/// The same search by one worker and by two: seconds of the clock, so that the machine has to be idle.
fn scaling(family: &Family) {
    let n = family.reduced.iter().copied().max().unwrap_or(family.largest).min(MAX_KEPT);
    let [one, two] = [1, 2].map(|workers| ours(family, n, KEPT, workers));
    println!(
        "{} n={n} symmetry alone: {} states, {:.2} s by one worker and {:.2} s by two",
        family.name, one.states, one.seconds, two.seconds
    );
}

/// Symmetry and dead locals alone; up to this size.
const KEPT: Switches = Switches { por: false, ..Switches::ALL };
const MAX_KEPT: u32 = 16;
