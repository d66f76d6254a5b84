//! The command line: what can be asked, and how numbers, times and sizes are written.
//!
//! In: the arguments of the process. Out: `CommandLine`, with every value already parsed; what is wrong with the
//! arguments is said by the parser with exit code 64. Deliberately absent: anything that looks at a file.

use crate::outcome::quoted;
use crate::strategy::registry;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// Verifies multithreaded programs: proves them for every interleaving, or shows a run that goes wrong.
#[derive(Debug, Parser)]
#[command(name = "threadproof", version, propagate_version = true, arg_required_else_help = true)]
#[command(after_help = "Exit codes: 0 all safe, 1 some unsafe, 2 some unknown, 64 wrong usage, 65 input rejected, \
                        69 a process of the search was lost, 70 internal error, 74 the output could not be written.\nEvery verdict is about sequentially consistent memory.")]
pub struct CommandLine {
    #[command(subcommand)]
    pub command: Command,
    /// When to colour the output.
    #[arg(long, global = true, value_enum, default_value = "auto", hide_short_help = true)]
    pub color: ColourChoice,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ColourChoice {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Verify every property of the given programs.
    Verify(Box<Verify>),
    /// Check a certificate again, with the other solver and without any method.
    Audit(Audit),
    /// Run a program: at random, along a trace, or step by step as you choose.
    Simulate(Simulate),
    /// Show what a program became: its model, its threads as graphs, its machines.
    Show(ShowCommand),
    /// Format source files in place.
    Fmt(Fmt),
    /// Propose a machine for a thread, as text to paste into the file.
    Propose(Propose),
    /// Serve an editor over standard input and output, by the Language Server Protocol.
    Lsp,
    /// Print the manual page, for `man -l`.
    Manual,
    /// Print completions for a shell.
    Completions { shell: clap_complete::Shell },
}

/// How a source file is read.
#[derive(Clone, Debug, Default, Args)]
pub struct SourceOptions {
    /// Override a constant of the program (may be repeated).
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse_option)]
    pub set: Vec<(String, String)>,
    /// Fix the number of instances of a thread declared with `[*]` or `[n]` (may be repeated).
    #[arg(long, value_name = "THREAD=N", value_parser = parse_count)]
    pub threads: Vec<(String, u32)>,
    /// Sizes of C types; a file that includes headers needs those of 32-bit programs for ilp32.
    #[arg(long, value_name = "MODEL", value_enum, default_value = "lp64", ignore_case = true)]
    pub data_model: DataModelArg,
    /// Also ask that some thread can always move until all have ended.
    #[arg(long)]
    pub deadlock: bool,
    /// Also ask that no object is lost that was not freed (in files that free objects; in C: valid-memtrack).
    #[arg(long)]
    pub leaks: bool,
    /// What to show: `all`, or of a C program unreach-call, no-data-race, no-overflow, no-deadlock, memory-safety,
    /// valid-memsafety, no-division-by-zero, valid-unlock, valid-shift, undefined-behavior, or a .prp file. In the modelling
    /// language all but deadlock and leaks is always shown.
    #[arg(long, value_name = "NAME", value_parser = parse_check)]
    pub check: Vec<Checks>,
    /// A C file that is linked with the program (may be repeated); `verify a.c b.c` links by itself what has no `main`.
    #[arg(long, value_name = "FILE")]
    pub link: Vec<PathBuf>,
    /// A folder where C headers are looked for (may be repeated).
    #[arg(short = 'I', value_name = "FOLDER")]
    pub include_folder: Vec<String>,
    /// A macro of C, as `-D NAME` or `-D NAME=TEXT` (may be repeated).
    #[arg(short = 'D', value_name = "MACRO")]
    pub define: Vec<String>,
    /// A macro of C that is not defined (may be repeated).
    #[arg(short = 'U', value_name = "MACRO")]
    pub undefine: Vec<String>,
    /// The standard of C that headers are asked for, such as c11 or gnu17.
    #[arg(long = "std", value_name = "STANDARD")]
    pub standard: Option<String>,
    /// What compile commands say of each file.
    #[arg(skip)]
    pub flags_of_files: Vec<LinkedFile>,
}

/// A C file with its options of the preprocessor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkedFile {
    pub path: PathBuf,
    pub flags: Vec<String>,
}

/// The properties of a C program that one name asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checks(pub Vec<frontend::c::CCheck>);

/// The properties of a C program by their name, or by the text of a property file.
pub fn parse_check(text: &str) -> Result<Checks, String> {
    if text == "all" {
        return Ok(Checks(frontend::c::CCheck::ALL.to_vec()));
    }
    let checks = frontend::c::CCheck::parse(text);
    if !checks.is_empty() {
        return Ok(Checks(checks));
    }
    if text.ends_with(".prp") {
        let content = std::fs::read_to_string(text).map_err(|e| format!("{text}: {e}"))?;
        return frontend::c::task::property(&content)
            .map(Checks)
            .ok_or_else(|| format!("{text} asks for a property that is not modelled"));
    }
    let names: Vec<&str> = frontend::c::CCheck::ALL.iter().map(|c| c.name()).collect();
    Err(format!("expected all, {}, or a .prp file", names.join(", ")))
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum DataModelArg {
    #[value(name = "ilp32", alias = "ILP32")]
    Ilp32,
    #[default]
    #[value(name = "lp64", alias = "LP64")]
    Lp64,
}

/// What the work may use.
#[derive(Clone, Debug, Args)]
pub struct ResourceLimits {
    /// Time for each file, such as 30s, 500ms, 5m or 1h.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "5m")]
    pub time: Duration,
    /// Memory of the whole process, such as 2G or 500M.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<u64>,
    /// Worker threads that a method may use; by default one for each processor.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,
    /// Seed of everything that is random.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
}

/// One search by several processes, and logs to go on from.
#[derive(Clone, Debug, Default, Args)]
pub struct SpreadOptions {
    /// Let this many processes on this machine search together (`explore`): same verdicts, same traces.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256), conflicts_with = "hosts")]
    pub processes: Option<u16>,
    /// The processes of one search on several machines, a line `ADDRESS:PORT` for each; started on each with --rank. Several
    /// programs are handed out to them one by one.
    #[arg(long, value_name = "FILE", requires_all = ["rank", "secret"])]
    pub hosts: Option<PathBuf>,
    /// Which line of --hosts this process is, from 0; that of rank 0 reports.
    #[arg(long, value_name = "K")]
    pub rank: Option<usize>,
    /// What all processes of --hosts have to know: a file of at least 16 bytes.
    #[arg(long, value_name = "FILE", requires = "hosts")]
    pub secret: Option<PathBuf>,
    /// The process that started this one, which then has the secret on its standard input.
    #[arg(long, value_name = "ADDRESS", hide = true, requires = "rank", conflicts_with = "hosts")]
    pub member_of: Option<String>,
    /// Log the levels of `explore` in this folder, to go on from with --resume.
    #[arg(long, value_name = "FOLDER")]
    pub checkpoint: Option<PathBuf>,
    /// Keep the states of `explore` in files of this folder and not in memory, by one process.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["processes", "hosts", "checkpoint"])]
    pub disk: Option<PathBuf>,
    /// Go on where the processes that wrote --checkpoint were, with as many processes as you like.
    #[arg(long, requires = "checkpoint")]
    pub resume: bool,
}

#[derive(Debug, Args)]
pub struct Verify {
    /// Programs in the modelling language (.tp), in C (.c, .i) or in Java (.java), or folders of them.
    #[arg(required = true, value_name = "FILES")]
    pub files: Vec<PathBuf>,
    /// Use only this method (may be repeated); the default is every method that admits the program, side by side.
    #[arg(long, value_name = "METHOD", value_parser = method_names())]
    pub method: Vec<String>,
    #[command(flatten)]
    pub reading: SourceOptions,
    #[command(flatten)]
    pub limits: ResourceLimits,
    #[command(flatten)]
    pub spread: SpreadOptions,
    /// Verify so many programs at once, each in a process of its own: one that crashes does not stop the others.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256), conflicts_with = "html")]
    pub jobs: Option<u16>,
    /// Only this program of those named, by its place, and its report as a part of the report of all, in this folder.
    #[arg(long, value_name = "PLACE:FOLDER", hide = true, value_parser = parse_part)]
    pub part: Option<PartRequest>,
    /// Keep in this folder what was found, and use it in the next run: a program that was edited is checked again in little
    /// time. What is damaged or of another version is reported and not used.
    #[arg(long, value_name = "FOLDER")]
    pub cache: Option<PathBuf>,
    /// Print one JSON document as `docs/verdict.schema.json` describes it.
    #[arg(long)]
    pub json: bool,
    /// Write the report as one web page that needs nothing else: verdicts, source, runs to step through, proofs.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write what is to be mended in SARIF 2.1.0, which code hosts and editors read.
    #[arg(long, value_name = "FILE")]
    pub sarif: Option<PathBuf>,
    /// Write every property as a test case in the XML of JUnit.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Also print findings as commands of GitHub's workflows, which it shows at their lines.
    #[arg(long, conflicts_with = "json")]
    pub github: bool,
    /// Findings that are known, from --write-baseline: only others make the exit code 1 or 2.
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Write the findings of this run, for --baseline.
    #[arg(long, value_name = "FILE")]
    pub write_baseline: Option<PathBuf>,
    /// Print a line for each file that is not safe, and a summary.
    #[arg(long, short, conflicts_with_all = ["json", "verbose"])]
    pub quiet: bool,
    /// Write the certificates of what was proved.
    #[arg(long, value_name = "FILE")]
    pub certificate: Option<PathBuf>,
    /// Write the trace of the first property found unsafe.
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// With --trace: write the run as a C program that takes the same steps in the same order (for C input).
    #[arg(long, requires = "trace")]
    pub as_c: bool,
    /// With --trace: write the run as a Java program that takes the same steps in the same order (for Java input).
    #[arg(long, requires = "trace", conflicts_with = "as_c")]
    pub as_java: bool,
    /// Write a witness of the verdict in the YAML format 2 of verification tasks (for C input).
    #[arg(long, value_name = "FILE")]
    pub witness: Option<PathBuf>,
    /// Draw the heap: of the run that goes wrong, before and after each step; or, of a proof about heaps, its views.
    /// With --show-trees: draw the trees instead.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Only this property, by its name or by the start of it, such as `assert` (may be repeated). For C input also what
    /// --check takes: the name of a property to show, or a .prp file.
    #[arg(long, value_name = "NAME")]
    pub property: Vec<String>,
    /// A switch of a method, such as por=off or symmetry=off (may be repeated).
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_option)]
    pub option: Vec<(String, String)>,
    /// Show all: every step and variable of a run, every row of the table, and what each method said.
    #[arg(long, short)]
    pub verbose: bool,
    /// Warnings end in exit code 2 where it would be 0: what is proved must not be proved about nothing.
    #[arg(long)]
    pub strict: bool,
    /// Predicates preferred by `horn`: those of one thread, or any.
    #[arg(long, value_enum, value_name = "BIAS")]
    pub bias: Option<Bias>,
    /// Print the abstract reachability and environment trees of `horn`; with --svg FILE they are drawn, too.
    #[arg(long)]
    pub show_trees: bool,
}

/// What a process that another one started with `--jobs` does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartRequest {
    pub place: usize,
    pub folder: PathBuf,
}

fn parse_part(text: &str) -> Result<PartRequest, String> {
    let (place, folder) = text.split_once(':').ok_or("expected PLACE:FOLDER")?;
    let place = place.parse().map_err(|_| format!("{place} is no place"))?;
    Ok(PartRequest { place, folder: folder.into() })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Bias {
    Modular,
    None,
}

#[derive(Debug, Args)]
pub struct Audit {
    /// A certificate written by `verify --certificate`.
    pub certificate: PathBuf,
    /// The program it is about.
    pub file: PathBuf,
    #[command(flatten)]
    pub reading: SourceOptions,
    #[command(flatten)]
    pub limits: ResourceLimits,
    /// The solver that decides formulas: cvc5 or z3, or both, which must agree.
    #[arg(long, value_name = "SOLVER", value_enum, default_value = "cvc5")]
    pub solver: LeafSolver,
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LeafSolver {
    Cvc5,
    Z3,
    Both,
}

#[derive(Debug, Args)]
pub struct Simulate {
    pub file: PathBuf,
    #[command(flatten)]
    pub reading: SourceOptions,
    /// Seed of the random choices.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// At most this many steps.
    #[arg(long, default_value_t = 200)]
    pub steps: usize,
    /// At most this long, such as 30s or 5m; not for `--interactive`.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "5m")]
    pub time: Duration,
    /// Memory of the whole process, such as 2G or 500M.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<u64>,
    /// Follow a trace written by `verify --trace`.
    #[arg(long, value_name = "FILE", conflicts_with = "interactive")]
    pub trace: Option<PathBuf>,
    /// Choose each step yourself.
    #[arg(long, short)]
    pub interactive: bool,
    /// Instances of threads declared with `[*]`.
    #[arg(long, default_value_t = 2)]
    pub copies: u32,
}

#[derive(Debug, Args)]
pub struct ShowCommand {
    pub file: PathBuf,
    #[command(flatten)]
    pub reading: SourceOptions,
    /// The model in its text form (the default).
    #[arg(long, group = "what")]
    pub model: bool,
    /// One machine, by name.
    #[arg(long, group = "what", value_name = "NAME")]
    pub machine: Option<String>,
    /// One thread, by name.
    #[arg(long, group = "what", value_name = "NAME")]
    pub thread: Option<String>,
    /// The properties, one a line.
    #[arg(long, group = "what")]
    pub properties: bool,
    /// As a graph in the DOT language.
    #[arg(long, conflicts_with = "svg")]
    pub dot: bool,
    /// As a picture; needs Graphviz's `dot` on the path.
    #[arg(long)]
    pub svg: bool,
}

#[derive(Debug, Args)]
pub struct Fmt {
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Change nothing; exit with 1 if a file is not formatted.
    #[arg(long)]
    pub check: bool,
}

#[derive(Debug, Args)]
pub struct Propose {
    pub file: PathBuf,
    /// The thread a machine is wanted for.
    #[arg(long, value_name = "NAME")]
    pub thread: String,
    #[command(flatten)]
    pub reading: SourceOptions,
    #[command(flatten)]
    pub limits: ResourceLimits,
}

impl SourceOptions {
    /// The options of the preprocessor that the command line gives to every file.
    pub fn preprocessor_flags(&self) -> Vec<String> {
        let joined = |option: &str, texts: &[String]| texts.iter().map(|t| format!("{option}{t}")).collect::<Vec<_>>();
        let mut flags = joined("-I", &self.include_folder);
        flags.extend(joined("-D", &self.define));
        flags.extend(joined("-U", &self.undefine));
        flags.extend(self.standard.iter().map(|s| format!("-std={s}")));
        flags
    }

    /// Those of one file: what its compile command says, then the command line.
    pub fn flags_of(&self, path: &std::path::Path) -> Vec<String> {
        let own = self.flags_of_files.iter().find(|f| f.path == path);
        let mut flags = own.map_or_else(Vec::new, |f| f.flags.clone());
        flags.extend(self.preprocessor_flags());
        flags
    }

    /// As it is typed, with a space before each option.
    pub fn typed(&self) -> String {
        let mut out = String::new();
        self.set.iter().for_each(|(n, v)| out.push_str(&format!(" --set {}", quoted(&format!("{n}={v}")))));
        self.threads.iter().for_each(|(t, n)| out.push_str(&format!(" --threads {}", quoted(&format!("{t}={n}")))));
        if self.data_model != DataModelArg::default() {
            out.push_str(&format!(" --data-model {}", value_name(self.data_model)));
        }
        self.link.iter().for_each(|f| out.push_str(&format!(" --link {}", quoted(&f.display().to_string()))));
        for flag in self.preprocessor_flags() {
            out.push_str(&format!(" {}", quoted(&flag.replacen("-std=", "--std=", 1))));
        }
        out.push_str(if self.deadlock { " --deadlock" } else { "" });
        out.push_str(if self.leaks { " --leaks" } else { "" });
        for Checks(checks) in &self.check {
            match frontend::c::CCheck::ALL.iter().all(|c| checks.contains(c)) {
                true => out.push_str(" --check all"),
                false => checks.iter().for_each(|c| out.push_str(&format!(" --check {}", c.name()))),
            }
        }
        out
    }
}

impl Verify {
    /// What is verified and how, as it is typed, without what only changes the output.
    pub fn typed(&self) -> String {
        let mut out = String::new();
        self.method.iter().for_each(|m| out.push_str(&format!(" --method {m}")));
        self.property.iter().for_each(|p| out.push_str(&format!(" --property {}", quoted(p))));
        self.option.iter().for_each(|(n, v)| out.push_str(&format!(" --option {}", quoted(&format!("{n}={v}")))));
        self.bias.iter().for_each(|b| out.push_str(&format!(" --bias {}", value_name(*b))));
        self.cache.iter().for_each(|c| out.push_str(&format!(" --cache {}", quoted(&c.display().to_string()))));
        if self.strict {
            out.push_str(" --strict");
        }
        if self.limits.seed != 0 {
            out.push_str(&format!(" --seed {}", self.limits.seed));
        }
        out
    }
}

impl ResourceLimits {
    /// Limits that differ from the default, as they are typed. The number of workers changes no answer, and is left out.
    pub fn typed(&self) -> Vec<(&'static str, String)> {
        let mut out = Vec::new();
        if self.time != Duration::from_secs(300) {
            out.push(("--time", duration_text(self.time)));
        }
        out.extend(self.memory.map(|bytes| ("--memory", bytes.to_string())));
        out
    }
    /// A time limit that is worth another try.
    pub fn more_time(&self) -> String {
        duration_text((self.time * 10).max(Duration::from_secs(30 * 60)))
    }
}

fn duration_text(time: Duration) -> String {
    match (time.as_secs(), time.subsec_millis()) {
        (s, 0) if s > 0 && s.is_multiple_of(60) => format!("{}m", s / 60),
        (s, 0) => format!("{s}s"),
        (_, _) => format!("{}ms", time.as_millis()),
    }
}

fn value_name(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |v| v.get_name().to_string())
}

/// The methods of this build, for help, completion and mistakes.
fn method_names() -> PossibleValuesParser {
    let about = registry::methods().into_iter().map(|m| m.about());
    PossibleValuesParser::new(about.map(|a| PossibleValue::new(a.name).help(a.summary)))
}

fn split_pair(text: &str) -> Result<(&str, &str), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim(), value.trim())),
        _ => Err("expected NAME=VALUE".into()),
    }
}

fn parse_count(text: &str) -> Result<(String, u32), String> {
    let (name, value) = split_pair(text)?;
    match value.parse::<u32>() {
        Ok(number) if number <= 100_000 => Ok((name.into(), number)),
        Ok(_) => Err("at most 100000 instances can be asked for".into()),
        Err(_) => Err(format!("`{value}` is not a number of instances")),
    }
}

fn parse_option(text: &str) -> Result<(String, String), String> {
    split_pair(text).map(|(name, value)| (name.to_string(), value.to_string()))
}

/// `90`, `90s`, `1.5m`, `500ms`, `2h`: a bare number is seconds.
fn parse_duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().map_err(|_| format!("`{text}` is not a time; write 30s, 500ms, 5m or 1h"))?;
    let factor = match unit {
        "" | "s" => 1.0,
        "ms" => 0.001,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("`{unit}` is not a unit of time; use ms, s, m or h")),
    };
    let seconds = number * factor;
    if seconds.is_finite() && seconds > 0.0 && seconds < 1e8 {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err("a time limit is more than nothing and less than three years".into())
    }
}

/// `2G`, `500M`, `1.5GB`, `64MiB`; units are powers of 1024, a bare number is bytes.
fn parse_size(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().map_err(|_| format!("`{text}` is not a size; write 2G or 500M"))?;
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return Err(format!("`{unit}` is not a unit of size; use K, M or G")),
    };
    let bytes = number * f64::from(1u32 << (shift / 2)) * f64::from(1u32 << (shift / 2));
    const LEAST: f64 = 16.0 * 1024.0 * 1024.0;
    if (LEAST..1e18).contains(&bytes) { Ok(bytes as u64) } else { Err("a memory limit is at least 16M".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn check_the_command_line_is_consistent() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn check_times_are_read_with_units() {
        assert_eq!(parse_duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_duration("7"), Ok(Duration::from_secs(7)));
        for wrong in ["", "s", "-1s", "0s", "3 weeks", "1e99h", "nan"] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn check_sizes_are_read_with_units() {
        assert_eq!(parse_size("2G"), Ok(2 << 30));
        assert_eq!(parse_size("500M"), Ok(500 << 20));
        assert_eq!(parse_size("64MiB"), Ok(64 << 20));
        assert_eq!(parse_size("1073741824"), Ok(1 << 30));
        for wrong in ["", "G", "1", "12X", "-2G", "9999999T"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn check_pairs_need_a_name_and_a_value() {
        assert_eq!(parse_option("N=-8"), Ok(("N".into(), "-8".into())));
        assert!(parse_option("N").is_err());
        assert!(parse_option("=8").is_err());
        assert_eq!(parse_count("T=3"), Ok(("T".into(), 3)));
        assert!(parse_count("T=-1").is_err());
        assert!(parse_count("T=4000000000").is_err());
    }
}
