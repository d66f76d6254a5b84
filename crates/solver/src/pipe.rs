//! A solver as another process that reads SMT-LIB and prints answers.
//!
//! In: a command and scripts. Out: the lines it printed for a script, or a reason. The process is trusted with nothing:
//! it may crash, hang, print garbage, stop reading, or flood us. Each of these ends the process and gives a reason,
//! never an answer. All processes are listed, so that none outlives us and the time they used is counted as ours (`end_solver_processes`).
//! Deliberately absent: a shell; the command's arguments are passed as they are.

use crate::answer::UnknownReason;
use base::Budget;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A running solver process.
pub(crate) struct Pipe {
    child: Arc<Mutex<Child>>,
    scripts: Sender<String>,
    lines: Receiver<String>,
    asked: u64,
}

/// No answer is longer than this; a process that prints more is broken.
const LONGEST_ANSWER: usize = 64 << 20;
/// How often the budget is looked at while a process works.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

impl Pipe {
    pub(crate) fn start(command: &[String]) -> Result<Self, UnknownReason> {
        let (program, args) =
            command.split_first().ok_or_else(|| UnknownReason::Broken("the solver's command is empty".into()))?;
        let mut child = Command::new(program)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| UnknownReason::Broken(format!("{program} cannot be started: {error}")))?;
        let (scripts, to_write) = channel::<String>();
        let (to_read, lines) = sync_channel::<String>(1024);
        // Both ends have a thread, so that a process that does not read cannot block us, nor one that does not write.
        if let Some(mut stdin) = child.stdin.take() {
            std::thread::spawn(move || {
                for script in to_write {
                    if stdin.write_all(script.as_bytes()).and_then(|()| stdin.flush()).is_err() {
                        return;
                    }
                }
            });
        }
        if let Some(stdout) = child.stdout.take() {
            std::thread::spawn(move || read_lines(stdout, to_read));
        }
        let child = Arc::new(Mutex::new(child));
        match &mut *locked(&RUNNING) {
            Some(running) => running.push(child.clone()),
            // It is too late: everything is being ended.
            None => {
                end_process(&child);
                return Err(UnknownReason::Broken("the program is ending".into()));
            }
        }
        Ok(Self { child, scripts, lines, asked: 0 })
    }

    /// Sends a script and gives what the process printed for it. After an error the process must not be used again.
    pub(crate) fn ask(
        &mut self,
        script: &str,
        budget: &Budget,
        longest: Duration,
    ) -> Result<Vec<String>, UnknownReason> {
        self.asked += 1;
        let mark = format!("end-of-answer-{}", self.asked);
        let broken = |what: &str| UnknownReason::Broken(what.into());
        self.scripts.send(format!("{script}(echo \"{mark}\")\n")).map_err(|_| broken("the process no longer reads"))?;
        let begin = Instant::now();
        let (mut out, mut size) = (Vec::new(), 0);
        loop {
            budget.check().map_err(UnknownReason::Stopped)?;
            if begin.elapsed() > longest {
                return Err(UnknownReason::Broken(format!("no answer within {} s", longest.as_secs())));
            }
            match self.lines.recv_timeout(POLL_INTERVAL) {
                Ok(line) if line.trim().trim_matches('"') == mark => return Ok(out),
                Ok(line) => {
                    size += line.len();
                    if size > LONGEST_ANSWER {
                        return Err(broken("an answer without end"));
                    }
                    if !line.trim().is_empty() {
                        out.push(line);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(broken("the process ended before its answer")),
            }
        }
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        end_process(&self.child);
        if let Some(running) = &mut *locked(&RUNNING) {
            running.retain(|c| !Arc::ptr_eq(c, &self.child));
        }
    }
}

/// Every process that was started and has not ended; nothing once all are being ended.
static RUNNING: Mutex<Option<Vec<Arc<Mutex<Child>>>>> = Mutex::new(Some(Vec::new()));

fn locked<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

fn end_process(child: &Mutex<Child>) {
    let mut child = locked(child);
    let _ = child.kill();
    let _ = child.wait();
}

/// Ends all solver processes and waits for them, so that the system counts what they used as ours. No other is started afterwards: this is for the
/// end of the program.
pub fn end_solver_processes() {
    let running = locked(&RUNNING).take();
    running.into_iter().flatten().for_each(|child| end_process(&child));
}

/// Passes lines on until the stream ends, is no text, or has a line without end.
fn read_lines(stream: impl Read, to: SyncSender<String>) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        match (&mut reader).take(LONGEST_ANSWER as u64).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let Ok(line) = String::from_utf8(line) else { return };
        if to.send(line).is_err() {
            return;
        }
    }
}
