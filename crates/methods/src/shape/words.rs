//! The invariant of a thread-quantified proof in words.
//!
//! In: the views of a certificate. Out: lines of text that say "for every thread, one of these holds", one paragraph for each view: where the thread is, what its
//! variables are, what is known of the cells that these name, and of all the others by kind. Nothing of a view is left out.
//! Deliberately absent: a form that could be pasted into a program; views speak of the specification's state, which formulas of a file cannot.

use evidence::views::{CellOwner, Control, OperationProgress, Status, Val, View, ViewCell, Views};
use program::{Code, Program};

/// The invariant, paragraph by paragraph; the first line says how many views there are.
pub fn in_words(program: &Program, views: &Views) -> Vec<String> {
    let mut out = vec![format!("for every thread, one of these {} views holds:", views.views.len())];
    if let Some(spine) = views.spine {
        let (root, key) = (&program.vars[spine.root].name, &program.vars[spine.key].name);
        out.push(format!(
            "(K is any one key; `pred` is the last object of the list at {root} with {key} before K, `succ` the one after it)"
        ));
    } else if views.object.is_some() {
        out.push(
            "(`first` and `last` are the objects whose values are the ends of the specification's sequence)".into(),
        );
    }
    for v in &views.views {
        out.extend(ViewInWords { program, view: v }.lines());
    }
    out
}

struct ViewInWords<'a> {
    program: &'a Program,
    view: &'a View,
}

impl ViewInWords<'_> {
    fn lines(&self) -> Vec<String> {
        let v = self.view;
        let mut facts: Vec<String> = Vec::new();
        for (var, val) in &v.vars {
            if !matches!(val, Val::Any | Val::Cell(_)) {
                facts.push(format!("{} == {}", self.program.vars[*var].name, self.value(*val)));
            }
        }
        for (var, list) in &v.open {
            facts.push(format!("{} {}", self.program.vars[*var].name, self.one_of(list)));
        }
        if v.ends == Some((Val::Null, Val::Null)) {
            facts.push("the sequence is empty".into());
        }
        if let Some(member) = v.member {
            facts.push(if member { "K in the set" } else { "K not in the set" }.into());
        }
        if let Some((_, Val::Null)) = v.crossing {
            facts.push("succ == null".into());
        }
        facts.extend(self.progress());
        let place = self.place();
        let mut out = vec![format!("- {place}{}{}", if facts.is_empty() { "" } else { ": " }, facts.join(", "))];
        for (i, c) in v.cells.iter().enumerate() {
            let names = self.names(i as u16).join(" == ");
            out.push(format!("    {names}: {}", self.cell(c, "a")));
        }
        for g in &v.groups {
            out.push(format!("    any other: {}", self.cell(g, "every")));
        }
        out
    }
    fn place(&self) -> String {
        let p = self.program;
        let named = |code: &Code, at| code.locations.get(at).map_or_else(String::new, |l| format!("before {}", l.name));
        match self.view.control {
            Control::Idle => "between two calls".into(),
            Control::Thread(t, at) => named(&p.threads[t].code, at),
            Control::Operation(o, at) => {
                let ops = p.objects.iter().find_map(|x| x.ops.get(o as usize));
                ops.map_or_else(String::new, |op| named(&op.code, at))
            }
        }
    }
    fn progress(&self) -> Vec<String> {
        let results = |r: &[Val]| r.iter().map(|v| self.value(*v)).collect::<Vec<_>>().join(", ");
        let mut out = match &self.view.done {
            OperationProgress::No => Vec::new(),
            OperationProgress::Pure(r) => vec![format!("the call may have returned ({})", results(r))],
            OperationProgress::Changed(r) => vec![format!("the call has taken effect with ({})", results(r))],
        };
        let seen: Vec<String> = (0..32).filter(|i| self.view.witnessed >> i & 1 == 1).map(|i| self.moment(i)).collect();
        if !seen.is_empty() {
            out.push(format!("during the call {}", seen.join(" and at another moment ")));
        }
        out
    }
    fn moment(&self, bit: u32) -> String {
        match (self.view.member, bit) {
            (Some(_), 0) => "K was not in the set".into(),
            (Some(_), _) => "K was in the set".into(),
            (None, i) => format!("outcome {} that changes nothing was possible", i + 1),
        }
    }
    /// What refers to a cell of the view: there is always something.
    fn names(&self, cell: u16) -> Vec<String> {
        let (v, here) = (self.view, Val::Cell(cell));
        let vars = v.vars.iter().filter(|(_, val)| *val == here).map(|(var, _)| self.program.vars[*var].name.clone());
        let pair = |pair: Option<(Val, Val)>, a: &str, b: &str| -> Vec<String> {
            let Some((x, y)) = pair else { return Vec::new() };
            [(x, a), (y, b)].into_iter().filter(|(z, _)| *z == here).map(|(_, n)| n.to_string()).collect()
        };
        let mut out: Vec<String> = vars.collect();
        out.extend(pair(v.ends, "first", "last"));
        out.extend(pair(v.crossing, "pred", "succ"));
        if let (true, OperationProgress::Pure(r) | OperationProgress::Changed(r)) = (out.is_empty(), &v.done) {
            let at = r.iter().position(|x| *x == here);
            out.extend(at.map(|i| format!("what result {} stands for", i + 1)));
        }
        out
    }
    fn value(&self, val: Val) -> String {
        match val {
            Val::Null => "null".into(),
            Val::Any => "anything".into(),
            Val::Cell(i) => self.names(i).first().cloned().unwrap_or_else(|| format!("object {i}")),
            Val::Group(g) => self.view.groups.get(g as usize).map_or_else(String::new, |c| self.kind(c, "some other")),
            Val::Itself => "its own value".into(),
            Val::AsLink => "as the link".into(),
            Val::Argument => "the argument".into(),
            Val::Number(n) => n.to_string(),
            Val::Bool(b) => b.to_string(),
            Val::Variant(x) => format!("variant {x}"),
            Val::Free => "0".into(),
            Val::Me => "tid".into(),
            Val::Other => "another thread".into(),
            Val::Below => "below K".into(),
            Val::Equal => "K".into(),
            Val::Above => "above K".into(),
        }
    }
    fn one_of(&self, list: &[Val]) -> String {
        match list {
            [one] => format!("== {}", self.value(*one)),
            _ => format!("in {{{}}}", list.iter().map(|v| self.value(*v)).collect::<Vec<_>>().join("; ")),
        }
    }
    /// Its class, its place, and those of its fields that tell kinds apart.
    fn kind(&self, c: &ViewCell, article: &str) -> String {
        let class = &self.program.classes[c.class];
        let status = match c.status {
            Status::Never => "",
            Status::In => " in the sequence",
            Status::Past => " that was in the sequence",
            Status::Before => " in the list before K",
            Status::After => " in the list from K on",
            Status::Left => " that has left the list since it was looked at",
        };
        let plain = |v: &Val| matches!(v, Val::Bool(_) | Val::Below | Val::Equal | Val::Above);
        let fields = class.fields.iter().zip(&c.fields).filter_map(|(f, vals)| match vals[..] {
            [one] if plain(&one) => Some(format!(" with {} {}", self.program.vars[*f].name, self.one_of(&[one]))),
            _ => None,
        });
        format!("{article} {}{status}{}", class.name, fields.collect::<String>())
    }
    fn cell(&self, c: &ViewCell, article: &str) -> String {
        let mut out = vec![self.kind(c, article)];
        if c.owner == CellOwner::Mine {
            out.push("that only this thread can reach".into());
        }
        let class = &self.program.classes[c.class];
        for (f, vals) in class.fields.iter().zip(&c.fields) {
            let told = matches!(vals[..], [Val::Bool(_) | Val::Below | Val::Equal | Val::Above]);
            if !told && !vals.contains(&Val::Any) {
                out.push(format!("{} {}", self.program.vars[*f].name, self.one_of(vals)));
            }
        }
        if !c.successor.is_empty() && c.successor != [Val::AsLink] {
            out.push(format!("its successor in the sequence {}", self.one_of(&c.successor)));
        }
        if c.single_predecessor {
            out.push("at most one link to it".into());
        }
        if c.unshared {
            out.push("no other thread refers to it".into());
        }
        out.join(", ")
    }
}
