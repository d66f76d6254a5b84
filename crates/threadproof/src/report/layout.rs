//! Where the parts of a run stand on a page: a column for each thread, and lines that are broken at spaces.
//!
//! In: texts and the width of the page. Out: lines. Nothing is left out silently: long texts go on in the next line, and where there
//! is no room for columns each line names its thread. Deliberately absent: what the texts say.

use super::story::{Detail, Story, StoryStep};

impl Story {
    /// The run as text.
    pub fn lines(&self, width: usize, detail: Detail) -> Vec<String> {
        let shown: Vec<(usize, &StoryStep)> =
            self.events.iter().enumerate().filter(|(_, e)| detail.shows(e.matters)).collect();
        // Where everything is in one file, its name is said once, before.
        let file = |e: &StoryStep| e.place.rsplit_once(':').map(|(file, _)| file.to_string());
        let mut files: Vec<Option<String>> = shown.iter().map(|(_, e)| file(e)).filter(Option::is_some).collect();
        files.dedup();
        let names = ShortNames::of(files.iter().flatten().map(String::as_str), (width / 8).max(MIN_NAME_WIDTH));
        let placed = |e: &StoryStep| match (files.len(), e.place.rsplit_once(':')) {
            (1, Some((_, line))) => line.to_string(),
            (_, Some((file, line))) => format!("{}:{line}", names.short(file)),
            (_, None) => e.place.clone(),
        };
        let place = shown.iter().map(|(_, e)| placed(e).chars().count()).max().unwrap_or(0);
        let moving = |i: usize| detail == Detail::Full || shown.iter().any(|(_, e)| e.instance == i);
        // Threads that take no part get no column.
        let lanes: Vec<usize> = (0..self.columns.len()).filter(|i| moving(*i)).collect();
        let columns: Vec<String> = lanes.iter().map(|i| self.columns[*i].clone()).collect();
        let texts: Vec<(usize, usize, usize)> = shown
            .iter()
            .map(|(_, e)| {
                let lane = lanes.iter().position(|l| *l == e.instance).unwrap_or(0);
                (lane, e.text.chars().count(), e.changes(detail).chars().count())
            })
            .collect();
        let layout = Layout::fit(&columns, place, width).for_texts(&columns, &texts);
        let mut out = layout.header(&columns, if files.len() == 1 { "line" } else { "where" });
        let start = self.start.iter().filter(|v| detail.shows(v.matters)).map(ToString::to_string);
        let start: Vec<String> = start.collect();
        if !start.is_empty() {
            out.extend(layout.note("start", &start));
        }
        for (i, event) in shown {
            let lane = lanes.iter().position(|l| *l == event.instance).unwrap_or(0);
            out.extend(layout.row(i + 1, lane, &placed(event), event, detail, &columns));
            let heap = match (&event.heap, detail) {
                (Some((before, after)), Detail::Brief) => after.new_lines(before),
                (Some((_, after)), Detail::Full) => after.lines(),
                (None, _) => Vec::new(),
            };
            for line in heap {
                let lines = wrap_text(&line, layout.width().saturating_sub(8));
                out.extend(lines.into_iter().map(|l| format!("        {l}")));
            }
        }
        if let (Detail::Brief, aside @ 1..) = (detail, self.aside()) {
            let steps = super::counted(aside as u64, "step");
            let verb = if aside == 1 { "has" } else { "have" };
            out.push(format!("({steps} that {verb} no part in it left out; -v shows all)"));
        }
        if files.len() > 1 {
            out.extend(names.legend().into_iter().flat_map(|line| wrap_text(&line, layout.width())));
        }
        for e in &self.end {
            match e.chars().count() <= layout.width() {
                true => out.push(e.clone()),
                false => out.extend(wrap_text(e, layout.width())),
            }
        }
        out
    }
}

/// Names of files that would take the room of the columns, cut in the middle.
struct ShortNames(Vec<(String, String)>);

impl ShortNames {
    fn of<'a>(names: impl Iterator<Item = &'a str>, width: usize) -> Self {
        let mut out: Vec<(String, String)> = Vec::new();
        for name in names {
            if out.iter().any(|(full, _)| full == name) {
                continue;
            }
            let count = name.chars().count();
            let cut = |kept: usize| {
                let (head, tail) = (kept.div_ceil(2), kept / 2);
                let first: String = name.chars().take(head).collect();
                let last: String = name.chars().skip(count - tail).collect();
                format!("{first}..{last}")
            };
            // As short as the room asks for, and longer where two would look the same.
            let short = (width..count)
                .map(|room| cut(room.saturating_sub(2)))
                .find(|short| out.iter().all(|(_, other)| other != short))
                .unwrap_or_else(|| name.to_string());
            out.push((name.to_string(), short));
        }
        Self(out)
    }

    fn short<'a>(&'a self, name: &'a str) -> &'a str {
        self.0.iter().find(|(full, _)| full == name).map_or(name, |(_, short)| short)
    }

    /// What the short names stand for.
    fn legend(&self) -> Option<String> {
        let cut: Vec<String> = self.0.iter().filter(|(f, s)| f != s).map(|(f, s)| format!("{s} is {f}")).collect();
        (!cut.is_empty()).then(|| format!("({})", cut.join(", ")))
    }
}

/// Where the columns stand.
#[derive(Clone, Debug)]
pub struct Layout {
    width: usize,
    place: usize,
    /// Width of each thread's column; empty: too many threads for columns.
    cells: Vec<usize>,
    changes: usize,
}

const NUMBER_WIDTH: usize = 5;
const MIN_COLUMN_WIDTH: usize = 14;
const MAX_COLUMN_WIDTH: usize = 60;
const MIN_PAGE_WIDTH: usize = 30;
/// The room that the name of a file has in the narrowest page.
const MIN_NAME_WIDTH: usize = 10;
/// Below this what a step changes stands under it, not beside it.
const NARROW_WIDTH: usize = 64;

impl Layout {
    pub fn width(&self) -> usize {
        self.width
    }
    pub fn fit(columns: &[String], place: usize, width: usize) -> Self {
        let place = place.max(4);
        let width = width.max(MIN_PAGE_WIDTH);
        let room = width.saturating_sub(NUMBER_WIDTH + place + 2);
        let count = columns.len().max(1);
        // A third for the changes, the rest for the threads.
        let cell = (room * 2 / 3 / count).min(40);
        let cell = (cell >= MIN_COLUMN_WIDTH).then_some(cell);
        let used = cell.map_or(room * 2 / 3, |c| c * count);
        let cells = cell.map_or_else(Vec::new, |cell| vec![cell; count]);
        Self { width, place, cells, changes: room.saturating_sub(used).max(16) }
    }
    /// Where some text would be broken, columns with short texts give room to those with long ones. `texts`: the column of each step, and how long
    /// its statement and its changes are.
    pub fn for_texts(mut self, columns: &[String], texts: &[(usize, usize, usize)]) -> Self {
        if self.cells.is_empty() || texts.iter().all(|(lane, text, _)| text + 2 <= self.cells[*lane]) {
            return self;
        }
        let room = self.width.saturating_sub(NUMBER_WIDTH + self.place + 2);
        let widest = texts.iter().map(|(_, _, changes)| *changes).max().unwrap_or(0).max("changes".len());
        let changes = widest.min(room / 3).max(16);
        let wanted: Vec<usize> = columns
            .iter()
            .enumerate()
            .map(|(lane, title)| {
                let longest = texts.iter().filter(|(l, _, _)| *l == lane).map(|(_, text, _)| *text).max().unwrap_or(0);
                (longest.max(title.chars().count()) + 2).clamp(MIN_COLUMN_WIDTH, MAX_COLUMN_WIDTH)
            })
            .collect();
        let all = room.saturating_sub(changes);
        // Each gets what it wants up to a limit, the same for all, with which they fill the room.
        let used = |limit: usize| wanted.iter().map(|w| (*w).min(limit)).sum::<usize>();
        let limit = (MIN_COLUMN_WIDTH..=MAX_COLUMN_WIDTH).rev().find(|limit| used(*limit) <= all);
        if let Some(limit) = limit {
            self.cells = wanted.iter().map(|w| (*w).min(limit)).collect();
            self.changes = room - used(limit);
        }
        self
    }
    pub fn header(&self, columns: &[String], place: &str) -> Vec<String> {
        if self.cells.is_empty() {
            return Vec::new();
        }
        let mut line = pad("step", NUMBER_WIDTH) + &pad(place, self.place + 2);
        for (c, cell) in columns.iter().zip(&self.cells) {
            line += &pad(&clip(c, cell - 2), *cell);
        }
        line += "changes";
        vec![line]
    }
    /// A line that belongs to no thread.
    pub fn note(&self, title: &str, items: &[String]) -> Vec<String> {
        let lead = pad(title, NUMBER_WIDTH + 1);
        let text = wrap_text(&items.join(", "), self.width.saturating_sub(lead.len()).max(20));
        let mut out = Vec::new();
        for (i, line) in text.iter().enumerate() {
            out.push(if i == 0 { format!("{lead}{line}") } else { format!("{}{line}", pad("", lead.len())) });
        }
        if out.is_empty() { vec![lead.trim_end().to_owned()] } else { out }
    }
    /// A step of the thread that has this column.
    pub fn row(
        &self,
        number: usize,
        lane: usize,
        place: &str,
        event: &StoryStep,
        detail: Detail,
        columns: &[String],
    ) -> Vec<String> {
        let changes = event.changes(detail);
        if self.width < NARROW_WIDTH && self.cells.is_empty() {
            let name = columns.get(lane).map_or("", |c| c);
            let text = format!("{place} [{name}] {}", event.text);
            let indented = |text: &str, by: usize| {
                let lines = wrap_text(text, self.width.saturating_sub(by));
                lines.into_iter().map(move |l| pad("", by) + &l).collect::<Vec<_>>()
            };
            let mut out = indented(&text, NUMBER_WIDTH);
            if let Some(first) = out.first_mut() {
                first.replace_range(..NUMBER_WIDTH, &pad(&number.to_string(), NUMBER_WIDTH));
            }
            out.extend(indented(&changes, NUMBER_WIDTH + 2));
            return out;
        }
        let (texts, indent, middle) = match self.cells.get(lane) {
            Some(cell) => (wrap_text(&event.text, cell - 2), self.cells[..lane].iter().sum(), self.cells.iter().sum()),
            None => {
                let room = (self.width.saturating_sub(NUMBER_WIDTH + self.place + 2)) * 2 / 3;
                let name = columns.get(lane).map_or("", |c| c);
                (wrap_text(&format!("[{name}] {}", event.text), room.saturating_sub(2)), 0, room)
            }
        };
        let changes = wrap_text(&changes, self.changes);
        let mut out = Vec::new();
        for i in 0..texts.len().max(changes.len()).max(1) {
            let (n, place) = if i == 0 { (number.to_string(), place.to_string()) } else { Default::default() };
            let mut line = pad(&n, NUMBER_WIDTH) + &pad(&place, self.place + 2);
            let text = texts.get(i).map_or("", |t| t);
            line += &pad(&(pad("", indent) + text), middle);
            line += changes.get(i).map_or("", |t| t);
            out.push(line.trim_end().to_owned());
        }
        out
    }
}

fn pad(text: &str, width: usize) -> String {
    let have = text.chars().count();
    let mut out = text.to_owned();
    out.extend(std::iter::repeat_n(' ', width.saturating_sub(have)));
    out
}

fn clip(text: &str, width: usize) -> String {
    text.chars().take(width).collect()
}

/// Lines of at most `width` characters, broken at spaces where there are some.
pub fn wrap_text(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut out: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let mut word = word;
        let room = |line: &str| width.saturating_sub(line.chars().count() + usize::from(!line.is_empty()));
        if word.chars().count() > room(&line) && !line.is_empty() {
            out.push(std::mem::take(&mut line));
        }
        while word.chars().count() > width {
            let end = word.char_indices().nth(width).map_or(word.len(), |(i, _)| i);
            // After a sign that joins parts of a name or an expression, unless that is near the beginning.
            let joint = word[..end].rfind(['_', '(', ',', '.', ')', ']', '/']).map(|at| at + 1);
            let cut = joint.filter(|at| *at * 3 >= end).unwrap_or(end);
            out.push(word[..cut].to_owned());
            word = &word[cut..];
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        out.push(line);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::story::{Relevance, StepChange, Story};

    #[test]
    fn check_wrapping_loses_no_word() {
        let text = "alpha beta gammagammagammagamma delta";
        for width in 1..40 {
            let lines = wrap_text(text, width);
            assert!(lines.iter().all(|l| l.chars().count() <= width));
            let joined: String = lines.concat().split_whitespace().collect();
            assert_eq!(joined, text.split_whitespace().collect::<String>());
        }
    }

    #[test]
    fn check_each_thread_has_its_column_and_many_threads_are_named() {
        let event = |instance| StoryStep {
            instance,
            at: None,
            place: "a.tp:3".into(),
            text: "x := x + 1".into(),
            changes: vec![(StepChange::Note("x: 0 -> 1".into()), Relevance::Matters)],
            heap: None,
            matters: Relevance::Matters,
        };
        let story = |n: usize| Story {
            columns: (1..=n).map(|i| format!("{i} Add")).collect(),
            events: (0..n).map(event).collect(),
            ..Story::default()
        };
        let few = story(2).lines(100, Detail::Brief);
        let at = |line: &str| line.find("x :=").unwrap();
        assert!(at(&few[1]) < at(&few[2]));
        assert_eq!(few[0].find("2 Add").unwrap(), at(&few[2]));
        let mut far = story(2);
        for (event, file) in
            far.events.iter_mut().zip(["TransferBetweenAccounts.java:31", "BlockingAccountQueue.java:104"])
        {
            event.place = file.into();
        }
        let lines = far.lines(80, Detail::Brief);
        assert!(lines[1].contains("Tran..java:31 ") && lines[2].contains("Bloc..java:104 "), "{lines:#?}");
        assert!(lines[3..].join(" ").contains("is BlockingAccountQueue.java"), "{lines:#?}");
        let many = story(30).lines(100, Detail::Brief);
        assert!(many.iter().any(|l| l.contains("[30 Add] x := x + 1") && l.contains("x: 0 -> 1")));
    }
}
