//! The names of a program as its reader knows them: variables, values, threads, places.
//!
//! In: the reference semantics of a program and its sources. Out: short texts, and which variables the source names at all: the others are ours.
//! Deliberately absent: states and steps (`describe`), and what a formula reads (`reading`).

use base::{Sources, Span};
use logic::{Sort, Value};
use program::semantics::{Semantics, State};
use program::{OriginId, Program, Scope, VarId, VarKind};
use std::collections::{BTreeMap, BTreeSet};

/// Describes states and steps.
pub struct Describer<'a> {
    pub(super) sem: &'a Semantics<'a>,
    pub(super) sources: &'a Sources,
    /// Every name that the sources spell; empty where there is no source.
    names: BTreeSet<&'a str>,
    /// Of C, what memory is known by that a line allocates: `heap:30` is what `acc` points to.
    allocated: BTreeMap<String, String>,
    /// The last parts of names of variables, each with the names that end so.
    endings: BTreeMap<&'a str, BTreeSet<&'a str>>,
}

impl<'a> Describer<'a> {
    pub fn new(sem: &'a Semantics<'a>, sources: &'a Sources) -> Self {
        // What headers of the system spell, nobody has written.
        let own = sources.ids().map(|id| sources.file(id)).filter(|f| !f.name.starts_with("/usr/"));
        let names = own.flat_map(|f| f.text.split(|c: char| !c.is_alphanumeric() && c != '_')).collect();
        let mut endings: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for var in sem.program.vars.iter().filter(|v| matches!(v.scope, Scope::Shared | Scope::Thread(_))) {
            let name = plain_name(&var.name);
            endings.entry(name.rsplit('.').next().unwrap_or(name)).or_default().insert(name);
        }
        Self { sem, sources, names, allocated: allocated(sem.program, sources), endings }
    }
    /// Memory that was allocated, as the source would name it: `acc->balance`, `ring[3]`, `*n`.
    fn allocated_name(&self, plain: &str) -> Option<String> {
        let end = plain.find(['.', '[']).unwrap_or(plain.len());
        let pointer = self.allocated.get(&plain[..end])?;
        let rest = plain[end..].strip_prefix("[*]").unwrap_or(&plain[end..]);
        Some(match rest.strip_prefix('.') {
            Some(field) => format!("{pointer}->{field}"),
            None if rest.is_empty() => format!("*{pointer}"),
            None => format!("{pointer}{rest}"),
        })
    }
    /// Whether the source has a variable of this name: the others are ours, and no reader knows them.
    pub fn is_named(&self, var: VarId) -> bool {
        let var = &self.program().vars[var];
        let raw = var.name.as_str();
        // What a front end makes for itself has a sign that no source can have, or the prefix that is reserved for such names.
        let ours = raw.contains(['#', ' ', '\'']) || raw.contains(".given.") || raw.starts_with("__");
        let name = plain_name(raw);
        if raw.starts_with(ALLOCATED) {
            return self.allocated_name(name).is_some();
        }
        // Of `a[1].b` the source spells `a` and `b`; what an atomic object or a monitor holds has no name there.
        let held = name.strip_suffix(".value").or_else(|| name.strip_suffix(".monitor")).unwrap_or(name);
        let spelt = |part: &str| self.names.contains(part.split('[').next().unwrap_or(part));
        let this = var.scope != Scope::Shared && (name == "this" || name.ends_with(".this"));
        self.names.is_empty() || !ours && !this && held.split('.').all(spelt)
    }
    fn is_java(&self) -> bool {
        self.sources.ids().next().is_some_and(|id| self.sources.file(id).name.ends_with(".java"))
    }
    pub(super) fn program(&self) -> &'a Program {
        self.sem.program
    }
    pub(super) fn semantics(&self) -> &'a Semantics<'a> {
        self.sem
    }
    /// `1 Add`: the tid and the thread's name.
    pub fn column(&self, state: &State, at: usize) -> String {
        let i = &state.instances[at];
        let name = &self.program().threads[i.thread].name;
        // A front end numbers threads of one function; the tid tells them apart already.
        format!("{} {}", i.tid, name.split('#').next().unwrap_or(name))
    }
    /// Whether a variable says who holds a lock; the monitor of an object has a name only in the model.
    pub fn is_lock(&self, var: VarId) -> bool {
        let var = &self.program().vars[var];
        var.kind == VarKind::Lock || var.name.ends_with(".monitor") && !self.names.contains("monitor")
    }
    /// A value as a reader knows it: who holds a lock, an address as an address.
    pub fn shown_value(&self, var: VarId, sort: Sort, value: &Value) -> String {
        let p = self.program();
        match (value, self.is_lock(var)) {
            (Value::Int(0), true) => "free".into(),
            (Value::Int(n), true) => format!("thread {n}"),
            (Value::Int(n), _) if frontend::c::is_address(*n) => format!("{n:#x}"),
            _ => value.show(&p.terms, sort),
        }
    }
    /// Whether it is code of a library that came with the program's language, as it is modelled.
    pub fn is_of_library(&self, origin: OriginId) -> bool {
        self.program().origins[origin].span.is_some_and(|s| self.sources.file(s.file).name.ends_with(MODELLED))
    }
    /// The text of a step; of a library, as its users know it.
    pub fn text(&self, origin: OriginId) -> String {
        let text = self.program().origins[origin].text.split_whitespace().collect::<Vec<_>>().join(" ");
        if !self.is_of_library(origin) {
            return text;
        }
        let text = text.replace("$(", "(");
        match text.strip_prefix("@Step").and_then(|rest| rest.split('(').next()?.split(' ').next_back()) {
            Some(name) => format!("{name}()"),
            None => text,
        }
    }
    /// `file:line` of an origin.
    pub fn place(&self, origin: OriginId) -> String {
        self.program().origins[origin].span.map_or(String::new(), |s| short_place(self.sources, s))
    }
    /// The name as the source spells it.
    pub fn name(&self, var: VarId) -> String {
        let var = &self.program().vars[var];
        let name = plain_name(&var.name);
        if let Some(allocated) = self.allocated_name(name) {
            return allocated;
        }
        // A variable of a procedure or method, where no other has its name.
        if let Some((of, last)) = name.rsplit_once('.').filter(|_| var.scope != Scope::Shared) {
            let of = of.rsplit('.').next().unwrap_or(of);
            let is_procedure = self.is_java() || self.program().procedures.iter().any(|q| q.name == of);
            if is_procedure && self.endings.get(last).is_none_or(|names| names.len() == 1) {
                return last.to_string();
            }
        }
        let held = name.strip_suffix(".value").or_else(|| name.strip_suffix(".monitor"));
        let hidden = |part: &str| !self.names.is_empty() && !self.names.contains(part);
        let name = held.filter(|_| name.rsplit('.').next().is_some_and(hidden)).unwrap_or(name);
        let rest = name.split_once('.').map_or(name, |(_, rest)| rest);
        match (var.scope == Scope::Shared, var.kind) {
            // Of a local of a method: the method is enough. Of a static field in Java: its own name.
            (false, _) if name.matches('.').count() > 1 => rest.to_string(),
            (true, VarKind::Plain | VarKind::Lock) if self.is_java() => rest.to_string(),
            _ => name.to_string(),
        }
    }
}

/// How variables begin that stand for memory which a line allocates.
const ALLOCATED: &str = "heap:";

/// What the memory of each allocation is known by: the place that the pointer goes to, with the line where two lines allocate for one place.
fn allocated(program: &Program, sources: &Sources) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, (String, usize)> = BTreeMap::new();
    for var in program.vars.iter().filter(|v| v.name.starts_with(ALLOCATED)) {
        let name = plain_name(&var.name);
        let base = &name[..name.find(['.', '[']).unwrap_or(name.len())];
        let Some(span) = program.origins[var.origin].span.filter(|_| !found.contains_key(base)) else { continue };
        let line = sources.line_of(span);
        let text = sources.file(span.file).text.lines().nth(line - 1).unwrap_or_default();
        let pointer = pointer_of_allocation(text).unwrap_or_else(|| "allocated".to_string());
        found.insert(base.to_string(), (pointer, line));
    }
    let names: Vec<String> = found.values().map(|(pointer, _)| pointer.clone()).collect();
    let shared = |pointer: &String| names.iter().filter(|n| *n == pointer).count() > 1 || pointer == "allocated";
    let shown = |(pointer, line): (String, usize)| {
        if shared(&pointer) { format!("{pointer}:{line}") } else { pointer }
    };
    found.into_iter().map(|(base, place)| (base, shown(place))).collect()
}

/// `acc` of `struct account *acc = malloc(sizeof *acc);`.
fn pointer_of_allocation(line: &str) -> Option<String> {
    let call = ["malloc", "calloc", "realloc", "aligned_alloc", "strdup"].iter().find_map(|f| line.find(f))?;
    let (before, _) = line[..call].rsplit_once('=')?;
    let before = before.trim_end();
    let part = |c: char| c.is_alphanumeric() || "_.->[]".contains(c);
    let begin = before.rfind(|c: char| !part(c)).map_or(0, |at| at + 1);
    let pointer = before[begin..].trim_start_matches(['-', '>']);
    (!pointer.is_empty()).then(|| pointer.to_string())
}

/// Without the number that tells variables of one name apart: `count` for `count#1.3`, `t` for `t.2`.
pub fn plain_name(name: &str) -> &str {
    let name = name.split('#').next().unwrap_or(name);
    match name.rsplit_once('.') {
        Some((plain, number)) if !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()) => plain,
        _ => name,
    }
}

/// How names of files end that are part of a modelled library.
const MODELLED: &str = " (as it is modelled)";

/// `file:line` with the file's own name, without its folders.
pub fn short_place(sources: &Sources, span: Span) -> String {
    let name = &sources.file(span.file).name;
    let short = match name.strip_suffix(MODELLED) {
        Some(class) => format!("{} (modelled)", class.rsplit('.').next().unwrap_or(class)),
        None => name.rsplit('/').next().unwrap_or(name).to_string(),
    };
    format!("{short}:{}", sources.line_of(span))
}

#[cfg(test)]
mod tests {
    use super::{plain_name, pointer_of_allocation};

    #[test]
    fn check_allocated_memory_is_known_by_its_pointer() {
        let pointer = |line| pointer_of_allocation(line);
        assert_eq!(pointer("    struct node *n = malloc(sizeof *n);").as_deref(), Some("n"));
        assert_eq!(pointer("acc->list[i] = (int *)calloc(4, 8);").as_deref(), Some("acc->list[i]"));
        assert_eq!(pointer("use(malloc(4));"), None);
    }

    #[test]
    fn check_names_have_no_numbers_of_ours() {
        assert_eq!((plain_name("count#1.3"), plain_name("t.2"), plain_name("a.balance")), ("count", "t", "a.balance"));
    }
}
