//! What long work is doing: one screen that redraws on a terminal, a plain line every few seconds in a log, nothing for short work.
//!
//! In: the board, and events of methods from any thread. Out: on standard error the file, the time used and left, how many properties are decided, and each method's own
//! figure; notes that stay. Deliberately absent: standard output, which is the report's alone.

use crate::board::{Board, MethodStage, MethodState, RunRecord};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use methods::MethodEvent;
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Work shorter than this shows nothing.
const SILENT_TIME: Duration = Duration::from_millis(1000);
const REFRESH_INTERVAL: Duration = Duration::from_millis(200);
const LOG_INTERVAL: Duration = Duration::from_secs(5);
/// Where the terminal does not say how wide it is.
const USUAL_COLUMNS: usize = 80;
const METHOD_COLUMNS: usize = 9;

/// Who reads standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgressKind {
    /// Nobody.
    Silent,
    /// A person at a terminal.
    Screen,
    /// A log.
    Log,
}

impl ProgressKind {
    pub fn of_standard_error(is_quiet: bool) -> Self {
        match std::io::stderr().is_terminal() {
            _ if is_quiet => ProgressKind::Silent,
            true => ProgressKind::Screen,
            false => ProgressKind::Log,
        }
    }
}

struct ProgressState {
    /// What each method said last.
    said: BTreeMap<&'static str, String>,
    file_began: Instant,
    closed: bool,
    screen: Option<Screen>,
}

/// The lines on a terminal.
struct Screen {
    all: MultiProgress,
    lines: Vec<ProgressBar>,
}

#[derive(Clone)]
pub struct Progress {
    state: Arc<Mutex<ProgressState>>,
    kind: ProgressKind,
}

impl Progress {
    pub fn new(kind: ProgressKind) -> Self {
        let state = ProgressState { said: BTreeMap::new(), file_began: Instant::now(), closed: false, screen: None };
        Self { state: Arc::new(Mutex::new(state)), kind }
    }

    pub fn silent() -> Self {
        Self::new(ProgressKind::Silent)
    }

    /// Begins to show what is on the board.
    pub fn follow(&self, board: &Arc<Board>) {
        if self.kind != ProgressKind::Silent {
            let (own, board) = (self.clone(), board.clone());
            let _ = std::thread::Builder::new().name("progress".into()).spawn(move || own.show_until_closed(&board));
        }
    }

    pub fn tell(&self, method: &'static str, event: MethodEvent) {
        let mut state = self.lock();
        match event {
            MethodEvent::Progress(line) => {
                state.said.insert(method, line);
            }
            MethodEvent::Note(line) if self.kind == ProgressKind::Screen && !state.closed => match &state.screen {
                // Above the lines that are redrawn.
                Some(screen) => drop(screen.all.println(format!("{method}: {line}"))),
                None => eprintln!("{method}: {line}"),
            },
            MethodEvent::Note(_) => {}
        }
    }

    /// Forgets what was said about the file before.
    pub fn next_file(&self) {
        let mut state = self.lock();
        state.said.clear();
        state.file_began = Instant::now();
    }

    /// Takes the screen away, for good.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        if let Some(screen) = state.screen.take() {
            let _ = screen.all.clear();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, ProgressState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn show_until_closed(&self, board: &Board) {
        let interval = if self.kind == ProgressKind::Screen { REFRESH_INTERVAL } else { LOG_INTERVAL };
        std::thread::sleep(if self.kind == ProgressKind::Screen { SILENT_TIME } else { LOG_INTERVAL });
        loop {
            // Never both locks at once: the report is made with the board's, and closes this.
            let (said, used) = {
                let state = self.lock();
                (state.said.clone(), state.file_began.elapsed())
            };
            let figures = Figures::of(&board.lock(), &said, used);
            let mut state = self.lock();
            if state.closed {
                return;
            }
            match self.kind {
                ProgressKind::Screen => state.screen.get_or_insert_with(Screen::new).draw(&figures),
                _ => eprintln!("{}", figures.log_line()),
            }
            drop(state);
            std::thread::sleep(interval);
        }
    }
}

impl Screen {
    fn new() -> Self {
        Self { all: MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(10)), lines: Vec::new() }
    }

    fn draw(&mut self, figures: &Figures) {
        let columns = terminal_size::terminal_size_of(std::io::stderr()).map_or(USUAL_COLUMNS, |(w, _)| w.0.into());
        let lines = figures.screen_lines(columns.saturating_sub(1));
        while self.lines.len() < lines.len() {
            let bar = self.all.add(ProgressBar::new(1));
            if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
                bar.set_style(style);
            }
            self.lines.push(bar);
        }
        for bar in self.lines.drain(lines.len()..) {
            self.all.remove(&bar);
        }
        for (bar, line) in self.lines.iter().zip(lines) {
            bar.set_message(line);
            bar.tick();
        }
    }
}

/// What there is to show at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Figures {
    /// About the file, the most important first.
    parts: Vec<String>,
    /// How much of the time is used, in thousandths.
    used_permille: usize,
    /// Methods at work, with what they say.
    methods: Vec<(String, String)>,
}

impl Figures {
    fn of(record: &RunRecord, said: &BTreeMap<&'static str, String>, used: Duration) -> Self {
        let Some(at) = record.files.iter().position(|f| f.stage == MethodStage::Working) else {
            return Self { parts: vec!["writing the report".into()], ..Self::default() };
        };
        let file = &record.files[at];
        let name =
            file.path.file_name().map_or_else(|| file.path.display().to_string(), |n| n.to_string_lossy().into());
        let mut parts = vec![name];
        if record.files.len() > 1 {
            parts.push(format!("file {} of {}", at + 1, record.files.len()));
        }
        let left = record.deadline.map(|d| d.saturating_duration_since(Instant::now()));
        parts.push(match left {
            Some(left) => format!("{} used, {} left", time_text(used), time_text(left)),
            None => format!("{} used", time_text(used)),
        });
        let decided = file.rows.iter().filter(|r| r.finding.is_some()).count();
        parts.push(match file.rows.len() {
            0 => "reading the program".into(),
            1 => format!("{decided} of 1 property decided"),
            all => format!("{decided} of {all} properties decided"),
        });
        parts.push(format!("{} MB", base::budget::resident_bytes() >> 20));
        let total = left.map_or(0, |left| (left + used).as_millis());
        let used_permille = (used.as_millis() * 1000).checked_div(total).unwrap_or(0).min(1000) as usize;
        let at_work = file.methods.iter().filter(|m| m.state == MethodState::Running);
        let says = |name: &str| {
            let line = said.get(name).map_or("at work", |l| l.as_str());
            line.strip_prefix(name).and_then(|l| l.strip_prefix(": ")).unwrap_or(line).to_string()
        };
        let mut methods: Vec<(String, String)> = at_work.map(|m| (m.name.to_string(), says(m.name))).collect();
        // A short search is no row of the board.
        let others = said.keys().filter(|name| file.methods.iter().all(|m| m.name != **name));
        methods.extend(others.map(|name| ((*name).to_string(), says(name))));
        Self { parts, used_permille, methods }
    }

    /// One line of a log.
    fn log_line(&self) -> String {
        let methods: Vec<String> = self.methods.iter().map(|(name, says)| format!("{name}: {says}")).collect();
        let mut line = self.parts.join(", ");
        if !methods.is_empty() {
            line.push_str("; ");
            line.push_str(&methods.join("; "));
        }
        line
    }

    /// The lines of a screen so wide.
    fn screen_lines(&self, columns: usize) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for part in &self.parts {
            match lines.last_mut() {
                Some(line) if line.chars().count() + 2 + part.chars().count() <= columns => {
                    line.push_str("  ");
                    line.push_str(part);
                }
                _ => lines.push(part.clone()),
            }
        }
        let full = columns.min(60).saturating_sub(2);
        let done = full * self.used_permille / 1000;
        lines.push(format!("[{}{}]", "=".repeat(done), " ".repeat(full - done)));
        for (name, says) in &self.methods {
            lines.push(format!("  {name:<METHOD_COLUMNS$} {says}").chars().take(columns).collect());
        }
        lines
    }
}

/// `8 s`, `2 min 5 s`, `1 h 3 min`.
fn time_text(time: Duration) -> String {
    match time.as_secs() {
        s @ 0..60 => format!("{s} s"),
        s @ 60..3600 => format!("{} min {} s", s / 60, s % 60),
        s => format!("{} h {} min", s / 3600, s % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Figures {
        Figures {
            parts: ["bank.c", "file 2 of 5", "1 min 15 s used, 3 min 45 s left", "3 of 7 properties decided", "210 MB"]
                .map(str::to_string)
                .to_vec(),
            used_permille: 250,
            methods: vec![
                ("explore".into(), "1.2 M states, 3.1 M/s, depth 41".into()),
                ("horn".into(), "at work".into()),
            ],
        }
    }

    #[test]
    fn check_no_line_of_the_screen_is_wider_than_the_terminal_and_no_figure_is_lost() {
        for columns in [40, 59, 79, 139] {
            let lines = figures().screen_lines(columns);
            assert!(lines.iter().all(|l| l.chars().count() <= columns), "{columns}: {lines:?}");
            let text = lines.join("\n");
            for figure in ["bank.c", "file 2 of 5", "3 min 45 s left", "3 of 7", "210 MB", "1.2 M states"] {
                assert!(text.contains(figure), "{columns}: {text}");
            }
        }
        assert_eq!(figures().screen_lines(139).len(), 4, "one line of figures, the time, two methods");
    }

    #[test]
    fn check_a_log_has_everything_in_one_line() {
        assert_eq!(
            figures().log_line(),
            "bank.c, file 2 of 5, 1 min 15 s used, 3 min 45 s left, 3 of 7 properties decided, 210 MB; explore: 1.2 M states, 3.1 M/s, depth 41; horn: at work"
        );
    }

    #[test]
    fn check_the_board_says_how_many_properties_are_decided() {
        let mut record =
            RunRecord { files: vec![crate::board::FileRows::new("a/b.tp".into())], ..RunRecord::default() };
        record.files[0].stage = MethodStage::Working;
        record.deadline = Some(Instant::now() + Duration::from_secs(100));
        let shown = Figures::of(&record, &BTreeMap::new(), Duration::from_secs(62));
        assert_eq!(shown.parts[0], "b.tp");
        assert!(shown.parts[1].starts_with("1 min 2 s used, 1 min 39 s left"), "{shown:?}");
        assert!(shown.parts.contains(&"reading the program".to_string()));
    }
}
