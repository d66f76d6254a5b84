//! One search by several processes: starts them or finds them, and gives `explore` what it needs to use them.
//!
//! In: the options `--processes`, `--hosts`, `--rank`, `--secret`, `--checkpoint`, `--resume`, `--disk` and the program as it was read. Out: for the first process the
//! method `explore` with its connections and its folder; a process of another rank takes part until it is dismissed and ends here. A process that is lost
//! ends this one at once, with a sentence and `exit::LOST`: there is no report then, and no verdict.
//! Deliberately absent: what the processes say to each other (`methods::spread`).

use crate::cli::{SpreadOptions, Verify};
use crate::members::{CHILDREN, MEMBERS};
use crate::outcome::exit;
use crate::outcome::quoted;
use crate::watch::exit_process;
use base::Budget;
use methods::spread::{self, MemberIdentity, MemberListener, MemberPlan, Members};
use methods::{ExploreWith, Method, Task};
use sha2::{Digest, Sha256};
use std::io::{BufRead, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

const LEAST_SECRET_BYTES: usize = 16;
const IDENTITY_FILE: &str = "search.txt";

/// Ends this process where others are needed and are not there.
pub fn end_without(sentence: &str) -> ! {
    // The others find out by the end of the connection, and end with an error, too.
    drop(MEMBERS.lock().unwrap_or_else(PoisonError::into_inner).take());
    // Several connections may end at once: the first to come here says why.
    static SAID: Mutex<()> = Mutex::new(());
    let _first = SAID.lock();
    eprintln!("error: {sentence}; without it nothing is known");
    exit_process(exit::LOST)
}

impl SpreadOptions {
    pub fn are_given(&self) -> bool {
        let several = self.processes.is_some() || self.hosts.is_some() || self.member_of.is_some();
        several || self.checkpoint.is_some() || self.disk.is_some()
    }

    /// What is wrong with the options by themselves.
    pub fn mistake(&self, request: &Verify) -> Option<String> {
        if !self.are_given() {
            return self.rank.map(|_| "--rank says which line of --hosts is meant, and there is no --hosts".into());
        }
        if request.files.len() > 1 && (self.processes.is_some() || self.checkpoint.is_some() || self.disk.is_some()) {
            return Some("--processes, --checkpoint and --disk are for one program at a time".into());
        }
        if request.files.len() > 1 {
            let page = "a web page shows all programs at once: --html is not for --hosts";
            return request.html.is_some().then(|| page.into());
        }
        if !request.method.is_empty() && !request.method.iter().any(|m| m == "explore") {
            return Some("--processes, --hosts, --checkpoint and --disk are for the method explore".into());
        }
        let on = |name: &str| request.option.iter().any(|(n, v)| n == name && v == "on");
        let left_out = ["compact", "unreachable"].into_iter().find(|n| on(n)).filter(|_| self.checkpoint.is_some());
        if on("compact") && self.disk.is_some() {
            return Some("with compact=on there are no states to keep on disk".into());
        }
        left_out.map(|n| format!("a search with {n}=on keeps no checkpoint"))
    }
}

/// The method `explore` with other processes and logs, as the request has them. A process of another rank does its part here and does not come back.
pub fn explore_with(request: &Verify, task: &Task, budget: &Budget) -> Result<Arc<dyn Method>, String> {
    let asked = &request.spread;
    let rank = asked.rank.unwrap_or(0);
    if let (Some(folder), 0) = (&asked.checkpoint, rank) {
        open_folder(folder, asked.resume, &identity(request, task, 1))?;
    }
    let (listener, mut plan) = match (&asked.hosts, &asked.member_of, asked.processes) {
        (Some(hosts), ..) => by_hosts(hosts, asked, |processes| identity(request, task, processes))?,
        (_, Some(first), Some(n)) => as_child(first, rank, identity(request, task, n.into()))?,
        (None, None, Some(n)) if n > 1 => with_children(identity(request, task, n.into()))?,
        _ => return Ok(Arc::new(with_members(None, asked))),
    };
    plan.still_expected = Box::new(|| {
        let mut children = CHILDREN.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = children.iter_mut().enumerate().find_map(|(n, c)| c.try_wait().ok().flatten().map(|_| n));
        ended.map_or(Ok(()), |n| Err(format!("process {} ended before it was connected", n + 1)))
    });
    let members = Members::connect(&listener, plan).unwrap_or_else(|why| end_without(&why));
    // From here on nobody else can come.
    drop(listener);
    if rank > 0 {
        match spread::take_part(&members, &task.program, budget, asked.checkpoint.as_deref()) {
            Ok(()) => {
                // The others of higher rank should not take it for a loss.
                members.dismiss();
                exit_process(exit::SAFE)
            }
            Err(why) => end_without(&why),
        }
    }
    *MEMBERS.lock().unwrap_or_else(PoisonError::into_inner) = Some(members.clone());
    Ok(Arc::new(with_members(Some(members), asked)))
}

fn with_members(members: Option<Arc<Members>>, asked: &SpreadOptions) -> ExploreWith {
    ExploreWith { members, checkpoint: asked.checkpoint.clone(), disk: asked.disk.clone() }
}

/// An open door, and what is known before anybody came.
pub type Gathering = (MemberListener, MemberPlan);

fn plan(rank: usize, first: String, secret: Vec<u8>, identity: MemberIdentity) -> MemberPlan {
    MemberPlan {
        rank,
        first,
        secret,
        identity,
        on_lost: Arc::new(|sentence| end_without(sentence)),
        note: Arc::new(|sentence| eprintln!("note: {sentence}")),
        still_expected: Box::new(|| Ok(())),
    }
}

/// What has to be the same in all processes, and in the one that wrote a checkpoint.
fn identity(request: &Verify, task: &Task, processes: usize) -> MemberIdentity {
    let program = program::text::print_program(&task.program);
    let mut options: Vec<String> = Vec::new();
    options.extend(request.method.iter().map(|m| format!("--method {m}")));
    options.extend(request.property.iter().map(|p| format!("--property {}", quoted(p))));
    options.extend(task.options.0.iter().map(|(n, v)| format!("--option {}", quoted(&format!("{n}={v}")))));
    options.extend(task.threads.iter().map(|(t, n)| format!("--threads {}={n}", task.program.threads[*t].name)));
    options.sort();
    options.dedup();
    MemberIdentity {
        version: env!("CARGO_PKG_VERSION").into(),
        program: Sha256::digest(program.as_bytes()).iter().map(|b| format!("{b:02x}")).collect(),
        options: options.join(" "),
        processes,
    }
}

/// Starts the others on this machine. They get the secret on their standard input, and listen on its loopback address alone.
fn with_children(identity: MemberIdentity) -> Result<Gathering, String> {
    let listener = MemberListener::bind("127.0.0.1:0")?;
    let first = listener.address()?;
    let secret: String = spread::random_words::<4>()?.iter().map(|w| format!("{w:016x}")).collect();
    let program = std::env::current_exe().map_err(|e| format!("this program does not find itself: {e}"))?;
    for rank in 1..identity.processes {
        let mut child = Command::new(&program)
            .args(std::env::args_os().skip(1))
            .args(["--member-of", &first, "--rank", &rank.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            // Ctrl-C is for the first process, which then dismisses the others.
            .process_group(0)
            .spawn()
            .map_err(|e| format!("process {rank} cannot be started: {e}"))?;
        let mut input = child.stdin.take().ok_or("a process has no standard input")?;
        writeln!(input, "{secret}").map_err(|e| format!("process {rank} does not take its secret: {e}"))?;
        CHILDREN.lock().unwrap_or_else(PoisonError::into_inner).push(child);
    }
    Ok((listener, plan(0, first, secret.into_bytes(), identity)))
}

fn as_child(first: &str, rank: usize, identity: MemberIdentity) -> Result<Gathering, String> {
    let mut secret = String::new();
    std::io::stdin().lock().read_line(&mut secret).map_err(|e| format!("there is no secret: {e}"))?;
    let listener = MemberListener::bind("127.0.0.1:0")?;
    Ok((listener, plan(rank, first.into(), secret.trim().as_bytes().to_vec(), identity)))
}

/// What a process knows that is named in a file of addresses, with its door open. `identity` is told how many there are.
pub fn by_hosts(
    hosts: &Path,
    asked: &SpreadOptions,
    identity: impl Fn(usize) -> MemberIdentity,
) -> Result<Gathering, String> {
    let read = |path: &Path| std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()));
    let text = String::from_utf8(read(hosts)?).map_err(|_| format!("{} is not UTF-8", hosts.display()))?;
    let lines = text.lines().map(|l| l.split('#').next().unwrap_or_default().trim());
    let addresses: Vec<&str> = lines.filter(|l| !l.is_empty()).collect();
    let rank = asked.rank.unwrap_or(0);
    let Some(own) = addresses.get(rank) else {
        return Err(format!(
            "{} has {} lines, and this is to be line {rank}, from 0",
            hosts.display(),
            addresses.len()
        ));
    };
    let path = asked.secret.as_deref().ok_or("--hosts needs --secret")?;
    let secret = read(path)?.trim_ascii_end().to_vec();
    if secret.len() < LEAST_SECRET_BYTES {
        return Err(format!("the secret in {} has fewer than {LEAST_SECRET_BYTES} bytes", path.display()));
    }
    let plan = plan(rank, addresses[0].into(), secret, identity(addresses.len()));
    Ok((MemberListener::bind(own)?, plan))
}

/// Begins a folder of logs, or looks whether those in it are of the same search.
fn open_folder(folder: &Path, resume: bool, own: &MemberIdentity) -> Result<(), String> {
    let path = folder.join(IDENTITY_FILE);
    let lines =
        [format!("version {}", own.version), format!("program {}", own.program), format!("options {}", own.options)];
    match std::fs::read_to_string(&path) {
        Ok(_) if !resume => {
            Err(format!("there is a checkpoint in {}: go on from it with --resume, or delete it", folder.display()))
        }
        Ok(text) => {
            let found: Vec<&str> = text.lines().collect();
            let names = ["version", "program", "options"];
            for (i, (name, line)) in names.iter().zip(&lines).enumerate() {
                if found.get(i) != Some(&line.as_str()) {
                    let was = found.get(i).copied().unwrap_or_default();
                    return Err(match *name {
                        "program" => format!("the checkpoint in {} is of another program", folder.display()),
                        _ => format!(
                            "the checkpoint in {} is of another {name}: `{was}` and not `{line}`",
                            folder.display()
                        ),
                    });
                }
            }
            Ok(())
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound && resume => {
            Err(format!("there is no checkpoint in {}", folder.display()))
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, lines.join("\n") + "\n"));
            written.map_err(|e| format!("{}: {e}", path.display()))
        }
        Err(e) => Err(format!("{}: {e}", path.display())),
    }
}
