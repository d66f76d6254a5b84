//! From text to a program.
//!
//! One pass over the parts, which come in the order in which they are printed: what a term needs (enums, classes,
//! symbols) stands before it.
//! In: text. Out: a `Program`, or a `TextError` with its line. Deliberately absent: well-formedness, which is judged
//! afterwards.

mod specs;

use super::TextError;
use super::print::{VERSION, WHATS};
use super::sexp::{Sexp, parse};
use super::terms::{SymbolNames, fail, sort_of, term_of};
use crate::code::{Action, Code, Gate, Location, Mark, ProcedureCall, Spawn, Update};
use crate::model::{
    AccessPredicate, Assumption, Class, Copies, InitialFact, Origin, Program, Rely, Scope, Start, Thread, Var, VarKind,
};
use crate::property::{Property, PropertyKind};
use crate::spec::{StorePlace, TwoStore};
use base::ids::Id;
use base::{IdVec, SourceId, Span};
use logic::{Symbol, Term, Terms};

/// Reads the text of a program.
pub fn read_program(input: &str) -> Result<Program, TextError> {
    let whole = parse(input)?;
    let mut c = ListCursor::of(&whole)?;
    if c.atom()? != "program" || c.atom()? != VERSION {
        return c.fail(format!("this is not a program of version {VERSION}"));
    }
    let terms = Terms::new();
    let mut name = c.expect("name")?;
    let title = name.text()?;
    name.end()?;
    while let Some(mut e) = c.next_if("enum")? {
        let name = e.text()?;
        let mut variants = Vec::new();
        while !e.is_done() {
            variants.push(e.text()?);
        }
        terms.declare_enum(name, variants);
    }
    let mut classes = IdVec::new();
    while let Some(mut k) = c.next_if("class")? {
        k.counted("c", classes.len())?;
        let name = k.text()?;
        terms.declare_class(name.clone());
        let (live, fields) = (k.id("v")?, k.id_list("fields", "v")?);
        let origin = k.id("o")?;
        k.end()?;
        classes.push(Class { name, fields, live, origin });
    }
    let mut symbols = c.expect("symbols")?;
    while !symbols.is_done() {
        let mut s = symbols.list()?;
        let name = s.text()?;
        let sort = sort_of(&terms, s.next()?)?;
        s.end()?;
        terms.symbol(name, sort);
    }
    let names = SymbolNames::new(&terms);
    let mut t = c.expect("tid")?;
    let tid = symbol_in(&names, &mut t)?;
    let program = {
        let r = TextReader { terms: &terms, names: &names };
        r.rest(title, tid, classes, &mut c)?
    };
    Ok(Program { terms, ..program })
}

fn symbol_in(names: &SymbolNames, c: &mut ListCursor<'_>) -> Result<Symbol, TextError> {
    let name = c.atom()?;
    match names.symbol(name) {
        Some(s) => Ok(s),
        None => c.fail(format!("`{name}` is no symbol")),
    }
}

/// A list being read from left to right.
pub(crate) struct ListCursor<'s> {
    whole: &'s Sexp,
    parts: &'s [Sexp],
}

impl<'s> ListCursor<'s> {
    fn of(s: &'s Sexp) -> Result<Self, TextError> {
        match s {
            Sexp::List(parts, _) => Ok(Self { whole: s, parts }),
            _ => fail(s, "a list is wanted here"),
        }
    }
    pub(super) fn fail<T>(&self, message: impl Into<String>) -> Result<T, TextError> {
        fail(self.whole, message)
    }
    pub(crate) fn is_done(&self) -> bool {
        self.parts.is_empty()
    }
    pub(super) fn end(&self) -> Result<(), TextError> {
        if self.is_done() { Ok(()) } else { self.fail("there is more here than expected") }
    }
    pub(super) fn next(&mut self) -> Result<&'s Sexp, TextError> {
        match self.parts.split_first() {
            Some((first, rest)) => {
                self.parts = rest;
                Ok(first)
            }
            None => self.fail("something is missing at the end"),
        }
    }
    pub(super) fn atom(&mut self) -> Result<&'s str, TextError> {
        match self.next()? {
            Sexp::Atom(a) => Ok(a),
            _ => self.fail("a word is wanted here"),
        }
    }
    pub(super) fn text(&mut self) -> Result<String, TextError> {
        match self.next()? {
            Sexp::Text(t) => Ok(t.clone()),
            _ => self.fail("a string is wanted here"),
        }
    }
    pub(super) fn number<N: std::str::FromStr>(&mut self) -> Result<N, TextError> {
        let a = self.atom()?;
        a.parse().or_else(|_| self.fail(format!("`{a}` is no number that fits here")))
    }
    pub(super) fn list(&mut self) -> Result<ListCursor<'s>, TextError> {
        let s = self.next()?;
        ListCursor::of(s).or_else(|_| self.fail("a list is wanted here"))
    }
    /// An id with its prefix: `v12`.
    pub(super) fn id<I: Id>(&mut self, prefix: &str) -> Result<I, TextError> {
        let a = self.atom()?;
        self.id_of(a, prefix)
    }
    fn id_of<I: Id>(&self, a: &str, prefix: &str) -> Result<I, TextError> {
        match a.strip_prefix(prefix).and_then(|n| n.parse::<u32>().ok()) {
            Some(n) => Ok(I::from_index(n as usize)),
            None => self.fail(format!("`{a}` is no id of the form {prefix}0")),
        }
    }
    /// The id of the next entity of its kind.
    fn counted(&mut self, prefix: &str, want: usize) -> Result<(), TextError> {
        let a = self.atom()?;
        if a == format!("{prefix}{want}") {
            Ok(())
        } else {
            self.fail(format!("`{a}` stands where {prefix}{want} is next"))
        }
    }
    pub(crate) fn id_list<I: Id>(&mut self, head: &str, prefix: &str) -> Result<Vec<I>, TextError> {
        let mut c = self.expect(head)?;
        let mut out = Vec::new();
        while !c.is_done() {
            out.push(c.id(prefix)?);
        }
        Ok(out)
    }
    /// The next part, which must be a list that starts with the word.
    pub(super) fn expect(&mut self, head: &str) -> Result<ListCursor<'s>, TextError> {
        match self.next_if(head)? {
            Some(c) => Ok(c),
            None => self.fail(format!("`({head} ..)` is wanted here")),
        }
    }
    /// The next part, if it is a list that starts with the word.
    pub(super) fn next_if(&mut self, head: &str) -> Result<Option<ListCursor<'s>>, TextError> {
        let Some(first @ Sexp::List(parts, _)) = self.parts.first() else { return Ok(None) };
        match parts.split_first() {
            Some((Sexp::Atom(a), rest)) if a == head => {
                self.parts = &self.parts[1..];
                Ok(Some(ListCursor { whole: first, parts: rest }))
            }
            _ => Ok(None),
        }
    }
}

pub(crate) struct TextReader<'t> {
    pub terms: &'t Terms,
    pub names: &'t SymbolNames,
}

impl TextReader<'_> {
    pub(super) fn term(&self, c: &mut ListCursor<'_>) -> Result<Term, TextError> {
        let s = c.next()?;
        let line = c.whole;
        term_of(self.terms, self.names, s)
            .map_err(|e| if e.line > 0 { e } else { fail::<()>(line, e.message).expect_err("a failure is an error") })
    }
    pub(super) fn asked(&self, c: &mut ListCursor<'_>) -> Result<Option<Term>, TextError> {
        if matches!(c.parts.first(), Some(Sexp::Atom(a)) if a == "?") {
            c.next()?;
            return Ok(None);
        }
        self.term(c).map(Some)
    }
    fn symbol(&self, c: &mut ListCursor<'_>) -> Result<Symbol, TextError> {
        symbol_in(self.names, c)
    }
    fn symbols(&self, mut c: ListCursor<'_>) -> Result<Vec<Symbol>, TextError> {
        let mut out = Vec::new();
        while !c.is_done() {
            out.push(self.symbol(&mut c)?);
        }
        Ok(out)
    }
    pub(crate) fn fact(&self, c: &mut ListCursor<'_>) -> Result<InitialFact, TextError> {
        let (formula, origin) = (self.asked(c)?, c.id("o")?);
        let property = if c.is_done() { None } else { Some(c.id("p")?) };
        c.end()?;
        Ok(InitialFact { formula, property, origin })
    }
    pub(super) fn two_store(&self, c: &mut ListCursor<'_>) -> Result<TwoStore, TextError> {
        let mut frame = Vec::new();
        let mut f = c.expect("frame")?;
        while !f.is_done() {
            let mut place = f.list()?;
            let var = place.id("v")?;
            let mut keys = Vec::new();
            while !place.is_done() {
                keys.push(self.term(&mut place)?);
            }
            frame.push(StorePlace { var, keys });
        }
        Ok(TwoStore { frame, relation: self.term(c)? })
    }

    fn rest(
        &self,
        title: String,
        tid: Symbol,
        classes: IdVec<logic::ClassId, Class>,
        c: &mut ListCursor<'_>,
    ) -> Result<Program, TextError> {
        let mut p = Program { classes, tid, ..Program::new(title) };
        while let Some(mut v) = c.next_if("var")? {
            v.counted("v", p.vars.len())?;
            let var = self.var(&mut v)?;
            p.vars.push(var);
        }
        while let Some(mut f) = c.next_if("init")? {
            p.init.push(self.fact(&mut f)?);
        }
        while let Some(mut f) = c.next_if("invariant")? {
            p.invariants.push(self.fact(&mut f)?);
        }
        while let Some(mut r) = c.next_if("rely")? {
            let thread = match r.atom()? {
                "every" => None,
                name => Some(r.id_of(name, "th")?),
            };
            let (formula, property, origin) = (self.asked(&mut r)?, r.id("p")?, r.id("o")?);
            r.end()?;
            p.relies.push(Rely { thread, formula, property, origin });
        }
        while let Some(mut q) = c.next_if("procedure")? {
            q.counted("proc", p.procedures.len())?;
            p.procedures.push(specs::read_procedure(self, &mut q)?);
        }
        while let Some(mut m) = c.next_if("machine")? {
            m.counted("m", p.machines.len())?;
            p.machines.push(specs::read_machine(self, &mut m)?);
        }
        while let Some(mut o) = c.next_if("object")? {
            o.counted("obj", p.objects.len())?;
            p.objects.push(specs::read_object(self, &mut o)?);
        }
        while let Some(mut t) = c.next_if("thread")? {
            t.counted("th", p.threads.len())?;
            p.threads.push(self.thread(&mut t)?);
        }
        while let Some(mut x) = c.next_if("property")? {
            x.counted("p", p.properties.len())?;
            let name = x.text()?;
            let kind = self.property(&mut x)?;
            let origin = x.id("o")?;
            x.end()?;
            p.properties.push(Property { kind, name, origin });
        }
        while let Some(mut o) = c.next_if("origin")? {
            o.counted("o", p.origins.len())?;
            let text = o.text()?;
            let span = if o.is_done() {
                None
            } else {
                let mut s = o.list()?;
                let span = Span { file: SourceId(s.number()?), start: s.number()?, end: s.number()? };
                s.end()?;
                Some(span)
            };
            o.end()?;
            p.origins.push(Origin { span, text });
        }
        while let Some(mut a) = c.next_if("assumption")? {
            p.assumptions.push(Assumption { code: a.text()?, text: a.text()? });
            a.end()?;
        }
        c.end()?;
        Ok(p)
    }

    fn var(&self, c: &mut ListCursor<'_>) -> Result<Var, TextError> {
        let name = c.text()?;
        let sort = sort_of(self.terms, c.next()?)?;
        let (symbol, primed) = (self.symbol(c)?, self.symbol(c)?);
        let scope = match c.next()? {
            Sexp::Atom(a) if a == "shared" => Scope::Shared,
            s => {
                let mut s = ListCursor::of(s)?;
                let (head, of) = (s.atom()?, s.atom()?);
                let scope = match head {
                    "spec" => Scope::Spec(s.id_of(of, "obj")?),
                    "machine" => Scope::Machine(s.id_of(of, "m")?),
                    "of" if of.starts_with("th") => Scope::Thread(s.id_of(of, "th")?),
                    "of" if of.starts_with("proc") => Scope::Procedure(s.id_of(of, "proc")?),
                    "of" => Scope::Operation(s.id_of(of, "obj")?, s.number()?),
                    _ => return s.fail("this is no scope"),
                };
                s.end()?;
                scope
            }
        };
        let kind = match c.next()? {
            Sexp::Atom(a) => match a.as_str() {
                "plain" => VarKind::Plain,
                "lock" => VarKind::Lock,
                "ended" => VarKind::Ended,
                _ => return c.fail(format!("`{a}` is no kind of variable")),
            },
            s => {
                let mut s = ListCursor::of(s)?;
                let kind = match s.atom()? {
                    "field" => VarKind::Field(s.id("c")?),
                    "live" => VarKind::Live(s.id("c")?),
                    "started" => VarKind::Started(s.id("th")?),
                    _ => return s.fail("this is no kind of variable"),
                };
                s.end()?;
                kind
            }
        };
        let origin = c.id("o")?;
        let initial = match c.next_if("initial")? {
            Some(mut i) => Some(self.term(&mut i)?),
            None => None,
        };
        let access = match c.next_if("access")? {
            Some(mut a) => {
                let binders = self.symbols(a.list()?)?;
                let (formula, origin) = (self.asked(&mut a)?, a.id("o")?);
                let writing = match a.next_if("writing")? {
                    Some(mut w) => Some(self.term(&mut w)?),
                    None => None,
                };
                a.end()?;
                Some(AccessPredicate { binders, formula, writing, origin })
            }
            None => None,
        };
        let private = match c.next_if("private")? {
            Some(x) => {
                x.end()?;
                true
            }
            None => false,
        };
        c.end()?;
        Ok(Var { name, sort, symbol, primed, scope, kind, initial, access, private, origin })
    }

    fn thread(&self, c: &mut ListCursor<'_>) -> Result<Thread, TextError> {
        let name = c.text()?;
        let copies = match c.next()? {
            Sexp::Atom(a) if a == "one" => Copies::One,
            Sexp::Atom(a) if a == "any" => Copies::Any,
            s => {
                let mut s = ListCursor::of(s)?;
                if s.atom()? != "exactly" {
                    return s.fail("copies are `one`, `any` or `(exactly n)`");
                }
                Copies::number(s.number()?)
            }
        };
        let start = match c.atom()? {
            "at-once" => Start::Initial,
            "by-spawn" => Start::Spawned,
            _ => return c.fail("a thread starts `at-once` or `by-spawn`"),
        };
        let origin = c.id("o")?;
        let (params, locals) = (c.id_list("params", "v")?, c.id_list("locals", "v")?);
        let follows = match c.next_if("follows")? {
            Some(mut f) => Some((f.id("m")?, f.id("p")?)),
            None => None,
        };
        let code = self.code(c.expect("code")?)?;
        let outline = match c.next_if("outline")? {
            Some(o) => Some(self.code(o)?),
            None => None,
        };
        c.end()?;
        Ok(Thread { name, copies, start, params, locals, code, outline, follows, origin })
    }

    fn property(&self, c: &mut ListCursor<'_>) -> Result<PropertyKind, TextError> {
        let s = c.next()?;
        if let Sexp::Atom(a) = s {
            return Ok(match a.as_str() {
                "assertion" => PropertyKind::Assertion,
                "division" => PropertyKind::Division,
                "null" => PropertyKind::Null,
                "freed" => PropertyKind::Freed,
                "release" => PropertyKind::Release,
                "bounds" => PropertyKind::Bounds,
                "overflow" => PropertyKind::Overflow,
                "race" => PropertyKind::Race,
                "deadlock" => PropertyKind::Deadlock,
                "leak" => PropertyKind::Leak,
                _ => return c.fail(format!("`{a}` is no kind of property")),
            });
        }
        let mut s = ListCursor::of(s)?;
        let kind = match s.atom()? {
            "invariant" => PropertyKind::Invariant(self.term(&mut s)?),
            "rely" => PropertyKind::Rely(s.number()?),
            "access" => PropertyKind::Access(s.id("v")?),
            "requires" => PropertyKind::Requires(s.id("proc")?),
            "ensures" => PropertyKind::Ensures(s.id("proc")?),
            "performs" => PropertyKind::Performs(s.id("proc")?),
            "follows" => PropertyKind::Follows(s.id("th")?),
            "linearizable" => PropertyKind::Linearizable(s.id("obj")?),
            "unmodelled" => PropertyKind::Unmodelled(s.text()?),
            _ => return s.fail("this is no kind of property"),
        };
        s.end()?;
        Ok(kind)
    }

    pub(super) fn code(&self, mut c: ListCursor<'_>) -> Result<Code, TextError> {
        let mut code = Code::new();
        code.entry = c.expect("entry")?.id("L")?;
        if let Some(mut e) = c.next_if("exit")? {
            code.exit = Some(e.id("L")?);
        }
        while let Some(mut l) = c.next_if("at")? {
            l.counted("L", code.locations.len())?;
            let (name, origin) = (l.text()?, l.id("o")?);
            let inside = matches!(l.parts.first(), Some(Sexp::Atom(a)) if a == "inside");
            if inside {
                l.next()?;
            }
            let mut invariants = Vec::new();
            while let Some(mut f) = l.next_if("invariant")? {
                invariants.push(self.asked(&mut f)?);
            }
            l.end()?;
            code.locations.push(Location { name, in_atomic_block: inside, invariants, origin });
        }
        while let Some(mut a) = c.next_if("action")? {
            a.counted("a", code.actions.len())?;
            code.actions.push(self.action(a)?);
        }
        while let Some(mut k) = c.next_if("call")? {
            let (from, to, procedure, origin) = (k.id("L")?, k.id("L")?, k.id("proc")?, k.id("o")?);
            let args = self.terms_of(k.expect("args")?)?;
            let results = k.id_list("results", "v")?;
            let requires = match k.next_if("requires")? {
                Some(mut r) => Some(r.id("p")?),
                None => None,
            };
            k.end()?;
            code.calls.push(ProcedureCall { from, to, procedure, args, results, requires, origin });
        }
        c.end()?;
        Ok(code)
    }

    fn terms_of(&self, mut c: ListCursor<'_>) -> Result<Vec<Term>, TextError> {
        let mut out = Vec::new();
        while !c.is_done() {
            out.push(self.term(&mut c)?);
        }
        Ok(out)
    }

    fn action(&self, mut c: ListCursor<'_>) -> Result<Action, TextError> {
        let (from, to) = (c.id("L")?, c.id("L")?);
        let word = c.atom()?;
        let Some((_, what)) = WHATS.iter().find(|(n, _)| *n == word) else {
            return c.fail(format!("`{word}` is no kind of step"));
        };
        let origin = c.id("o")?;
        let inputs = match c.next_if("inputs")? {
            Some(i) => self.symbols(i)?,
            None => Vec::new(),
        };
        let guard = self.term(&mut c.expect("guard")?)?;
        let mut a = Action { inputs, ..Action::plain(from, to, guard, *what, origin) };
        while let Some(mut g) = c.next_if("gate")? {
            a.gates.push(Gate { property: g.id("p")?, formula: self.term(&mut g)? });
            g.end()?;
        }
        while let Some(mut u) = c.next_if("set")? {
            a.updates.push(Update { var: u.id("v")?, value: self.term(&mut u)? });
            u.end()?;
        }
        if let Some(mut s) = c.next_if("spawn")? {
            let thread = s.id("th")?;
            let args = self.terms_of(s.expect("args")?)?;
            let into = match s.next_if("into")? {
                Some(mut i) => Some(i.id("v")?),
                None => None,
            };
            s.end()?;
            a.spawn = Some(Spawn { thread, args, into });
        }
        if let Some(mut r) = c.next_if("relation")? {
            a.relation = Some(self.two_store(&mut r)?);
            r.end()?;
        }
        loop {
            if let Some(mut l) = c.next_if("linearize")? {
                let condition = if l.is_done() { None } else { Some(self.term(&mut l)?) };
                a.marks.push(Mark::Linearize(condition));
            } else if let Some(mut w) = c.next_if("witness")? {
                a.marks.push(Mark::Witness(w.text()?));
            } else {
                break;
            }
        }
        c.end()?;
        Ok(a)
    }
}
