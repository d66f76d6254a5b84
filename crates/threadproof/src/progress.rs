//! One line on a terminal that says what long work is doing; nothing for short work, nothing in a pipe.
//!
//! In: events of methods, from any thread. Out: a line on standard error that is overwritten, and notes that stay.

use methods::MethodEvent;
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Work shorter than this shows nothing.
const SILENT_TIME: Duration = Duration::from_millis(1000);
const REFRESH_INTERVAL: Duration = Duration::from_millis(200);
const LINE_WIDTH: usize = 110;

#[derive(Debug, Default)]
struct ProgressState {
    lines: BTreeMap<&'static str, String>,
    shown: bool,
    closed: bool,
}

#[derive(Clone, Debug)]
pub struct Progress {
    state: Arc<Mutex<ProgressState>>,
    terminal: bool,
    start: Instant,
}

impl Progress {
    /// Starts the line, if standard error is a terminal.
    pub fn start() -> Self {
        let progress = Self {
            state: Arc::new(Mutex::new(ProgressState::default())),
            terminal: std::io::stderr().is_terminal(),
            start: Instant::now(),
        };
        if progress.terminal {
            let own = progress.clone();
            let _ = std::thread::Builder::new().name("progress".into()).spawn(move || own.draw());
        }
        progress
    }

    pub fn tell(&self, method: &'static str, event: MethodEvent) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            MethodEvent::Progress(line) => {
                state.lines.insert(method, line);
            }
            MethodEvent::Note(line) if self.terminal && !state.closed => {
                clear(&mut state);
                eprintln!("{method}: {line}");
            }
            MethodEvent::Note(_) => {}
        }
    }

    /// Forgets the lines of the file before.
    pub fn next_file(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.lines.clear();
        clear(&mut state);
    }

    /// Takes the line away, for good.
    pub fn close(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        clear(&mut state);
        state.closed = true;
    }

    fn draw(&self) {
        std::thread::sleep(SILENT_TIME);
        let mut turn = 0;
        loop {
            {
                let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                if state.closed {
                    return;
                }
                let elapsed = self.start.elapsed().as_secs();
                let memory = base::budget::resident_bytes() >> 20;
                // Several methods run at once: each has the line for a second or so.
                let line = state.lines.iter().nth(turn / 6 % state.lines.len().max(1));
                let what =
                    line.map_or(
                        "working".to_string(),
                        |(m, l)| if l.starts_with(m) { l.clone() } else { format!("{m}: {l}") },
                    );
                let text: String = format!("{elapsed} s, {memory} MB  {what}").chars().take(LINE_WIDTH).collect();
                eprint!("\r\x1b[K{text}");
                let _ = std::io::stderr().flush();
                state.shown = true;
            }
            turn += 1;
            std::thread::sleep(REFRESH_INTERVAL);
        }
    }
}

fn clear(state: &mut ProgressState) {
    if state.shown {
        eprint!("\r\x1b[K");
        let _ = std::io::stderr().flush();
        state.shown = false;
    }
}
