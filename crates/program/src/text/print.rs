//! From a program to its text.
//!
//! In: a `Program`. Out: text from which `read` makes an equal one.

mod specs;

use super::sexp::{Sexp, atom, form, list, pretty, text};
use super::terms::{SymbolNames, sort_sexp, term_sexp};
use crate::code::{Action, Code, Mark, What};
use crate::model::{Copies, InitialFact, OriginId, Program, Scope, Start, VarKind};
use crate::property::PropertyKind;
use crate::spec::{StorePlace, TwoStore};
use base::ids::Id;
use logic::{EnumId, Symbol, Term};

/// The version of the text form; a reader refuses others.
pub(crate) const VERSION: &str = "1";

/// The program as text.
pub fn print_program(program: &Program) -> String {
    let w = Writer { p: program, names: SymbolNames::new(&program.terms) };
    let mut out = String::new();
    out.push_str(&format!("(program {VERSION}"));
    for part in w.parts() {
        out.push_str("\n  ");
        pretty(&part, 2, &mut out);
    }
    out.push_str(")\n");
    out
}

pub(crate) struct Writer<'p> {
    pub p: &'p Program,
    pub names: SymbolNames,
}

impl Writer<'_> {
    pub(super) fn term(&self, t: Term) -> Sexp {
        term_sexp(&self.p.terms, &self.names, t)
    }
    /// `?` where a formula is asked for.
    pub(super) fn asked(&self, t: Option<Term>) -> Sexp {
        t.map_or(atom("?"), |t| self.term(t))
    }
    pub(super) fn symbol(&self, s: Symbol) -> Sexp {
        atom(self.names.name(s))
    }
    pub(super) fn ids<I: std::fmt::Display>(&self, head: &str, ids: &[I]) -> Sexp {
        form(head, ids.iter().map(|i| atom(i.to_string())))
    }
    pub(super) fn origin(&self, o: OriginId) -> Sexp {
        atom(o.to_string())
    }

    fn parts(&self) -> Vec<Sexp> {
        let p = self.p;
        let mut out = vec![form("name", [text(&p.name)])];
        for i in 0..p.terms.enum_count() {
            let e = p.terms.enum_decl(EnumId::from_index(i));
            out.push(form("enum", [text(e.name)].into_iter().chain(e.variants.into_iter().map(text))));
        }
        for (id, c) in p.classes.iter_enumerated() {
            let parts = [text(&c.name), atom(c.live.to_string()), self.ids("fields", &c.fields), self.origin(c.origin)];
            out.push(form("class", [atom(id.to_string())].into_iter().chain(parts)));
        }
        let symbols = (0..p.terms.symbol_count()).map(Symbol::from_index);
        let symbol = |s: Symbol| list([text(p.terms.symbol_name(s)), sort_sexp(&p.terms, p.terms.symbol_sort(s))]);
        out.push(form("symbols", symbols.map(symbol)));
        out.push(form("tid", [self.symbol(p.tid)]));
        for (id, v) in p.vars.iter_enumerated() {
            let mut parts = vec![
                atom(id.to_string()),
                text(&v.name),
                sort_sexp(&p.terms, v.sort),
                self.symbol(v.symbol),
                self.symbol(v.primed),
                scope(v.scope),
                kind(v.kind),
                self.origin(v.origin),
            ];
            parts.extend(v.initial.map(|e| form("initial", [self.term(e)])));
            parts.extend(v.access.as_ref().map(|a| {
                let binders = list(a.binders.iter().map(|s| self.symbol(*s)));
                let writing = a.writing.map(|w| form("writing", [self.term(w)]));
                form("access", [binders, self.asked(a.formula), self.origin(a.origin)].into_iter().chain(writing))
            }));
            parts.extend(v.private.then(|| form("private", [])));
            out.push(form("var", parts));
        }
        out.extend(p.init.iter().map(|f| self.fact("init", f)));
        out.extend(p.invariants.iter().map(|f| self.fact("invariant", f)));
        for r in &p.relies {
            let thread = r.thread.map_or(atom("every"), |t| atom(t.to_string()));
            let parts = [thread, self.asked(r.formula), atom(r.property.to_string()), self.origin(r.origin)];
            out.push(form("rely", parts));
        }
        out.extend(p.procedures.iter_enumerated().map(|(id, q)| specs::procedure(self, id, q)));
        out.extend(p.machines.iter_enumerated().map(|(id, m)| specs::machine(self, id, m)));
        out.extend(p.objects.iter_enumerated().map(|(id, o)| specs::object(self, id, o)));
        for (id, t) in p.threads.iter_enumerated() {
            let copies = match t.copies {
                Copies::One => atom("one"),
                Copies::Exactly(n) => form("exactly", [atom(n.to_string())]),
                Copies::Any => atom("any"),
            };
            let mut parts = vec![
                atom(id.to_string()),
                text(&t.name),
                copies,
                atom(if t.start == Start::Initial { "at-once" } else { "by-spawn" }),
                self.origin(t.origin),
                self.ids("params", &t.params),
                self.ids("locals", &t.locals),
            ];
            parts.extend(t.follows.map(|(m, p)| form("follows", [atom(m.to_string()), atom(p.to_string())])));
            parts.push(self.code("code", &t.code));
            parts.extend(t.outline.as_ref().map(|c| self.code("outline", c)));
            out.push(form("thread", parts));
        }
        for (id, x) in p.properties.iter_enumerated() {
            let parts = [atom(id.to_string()), text(&x.name), self.property(&x.kind), self.origin(x.origin)];
            out.push(form("property", parts));
        }
        for (id, o) in p.origins.iter_enumerated() {
            let span = o.span.map(|s| list([s.file.0, s.start, s.end].map(|n| atom(n.to_string()))));
            out.push(form("origin", [atom(id.to_string()), text(&o.text)].into_iter().chain(span)));
        }
        out.extend(p.assumptions.iter().map(|a| form("assumption", [text(&a.code), text(&a.text)])));
        out
    }

    pub(crate) fn fact(&self, head: &str, f: &InitialFact) -> Sexp {
        let property = f.property.map(|p| atom(p.to_string()));
        form(head, [self.asked(f.formula), self.origin(f.origin)].into_iter().chain(property))
    }

    fn property(&self, kind: &PropertyKind) -> Sexp {
        let one = |head: &str, id: String| form(head, [atom(id)]);
        match kind {
            PropertyKind::Assertion => atom("assertion"),
            PropertyKind::Division => atom("division"),
            PropertyKind::Null => atom("null"),
            PropertyKind::Freed => atom("freed"),
            PropertyKind::Release => atom("release"),
            PropertyKind::Bounds => atom("bounds"),
            PropertyKind::Overflow => atom("overflow"),
            PropertyKind::Race => atom("race"),
            PropertyKind::Deadlock => atom("deadlock"),
            PropertyKind::Leak => atom("leak"),
            PropertyKind::Invariant(t) => form("invariant", [self.term(*t)]),
            PropertyKind::Rely(n) => one("rely", n.to_string()),
            PropertyKind::Access(v) => one("access", v.to_string()),
            PropertyKind::Requires(q) => one("requires", q.to_string()),
            PropertyKind::Ensures(q) => one("ensures", q.to_string()),
            PropertyKind::Performs(q) => one("performs", q.to_string()),
            PropertyKind::Follows(t) => one("follows", t.to_string()),
            PropertyKind::Linearizable(o) => one("linearizable", o.to_string()),
            PropertyKind::Unmodelled(what) => form("unmodelled", [text(what)]),
        }
    }

    pub(super) fn code(&self, head: &str, code: &Code) -> Sexp {
        let mut parts = vec![form("entry", [atom(code.entry.to_string())])];
        parts.extend(code.exit.map(|e| form("exit", [atom(e.to_string())])));
        for (id, l) in code.locations.iter_enumerated() {
            let mut at = vec![atom(id.to_string()), text(&l.name), self.origin(l.origin)];
            at.extend(l.in_atomic_block.then(|| atom("inside")));
            at.extend(l.invariants.iter().map(|f| form("invariant", [self.asked(*f)])));
            parts.push(form("at", at));
        }
        parts.extend(code.actions.iter_enumerated().map(|(id, a)| self.action(id.to_string(), a)));
        for c in &code.calls {
            let mut call = vec![
                atom(c.from.to_string()),
                atom(c.to.to_string()),
                atom(c.procedure.to_string()),
                self.origin(c.origin),
                form("args", c.args.iter().map(|a| self.term(*a))),
                self.ids("results", &c.results),
            ];
            call.extend(c.requires.map(|p| form("requires", [atom(p.to_string())])));
            parts.push(form("call", call));
        }
        form(head, parts)
    }

    fn action(&self, id: String, a: &Action) -> Sexp {
        let mut parts = vec![
            atom(id),
            atom(a.from.to_string()),
            atom(a.to.to_string()),
            atom(what_word(a.what)),
            self.origin(a.origin),
        ];
        if !a.inputs.is_empty() {
            parts.push(form("inputs", a.inputs.iter().map(|s| self.symbol(*s))));
        }
        parts.push(form("guard", [self.term(a.guard)]));
        parts.extend(a.gates.iter().map(|g| form("gate", [atom(g.property.to_string()), self.term(g.formula)])));
        parts.extend(a.updates.iter().map(|u| form("set", [atom(u.var.to_string()), self.term(u.value)])));
        parts.extend(a.spawn.as_ref().map(|s| {
            let into = s.into.map(|v| form("into", [atom(v.to_string())]));
            let args = form("args", s.args.iter().map(|a| self.term(*a)));
            form("spawn", [atom(s.thread.to_string()), args].into_iter().chain(into))
        }));
        parts.extend(a.relation.as_ref().map(|r| form("relation", self.two_store(r))));
        parts.extend(a.marks.iter().map(|m| match m {
            Mark::Linearize(f) => form("linearize", f.map(|f| self.term(f))),
            Mark::Witness(label) => form("witness", [text(label)]),
        }));
        form("action", parts)
    }

    pub(super) fn two_store(&self, r: &TwoStore) -> [Sexp; 2] {
        let place =
            |f: &StorePlace| list([atom(f.var.to_string())].into_iter().chain(f.keys.iter().map(|k| self.term(*k))));
        [form("frame", r.frame.iter().map(place)), self.term(r.relation)]
    }
}

fn scope(s: Scope) -> Sexp {
    match s {
        Scope::Shared => atom("shared"),
        Scope::Thread(t) => form("of", [atom(t.to_string())]),
        Scope::Procedure(q) => form("of", [atom(q.to_string())]),
        Scope::Operation(o, k) => form("of", [atom(o.to_string()), atom(k.to_string())]),
        Scope::Spec(o) => form("spec", [atom(o.to_string())]),
        Scope::Machine(m) => form("machine", [atom(m.to_string())]),
    }
}

fn kind(k: VarKind) -> Sexp {
    match k {
        VarKind::Plain => atom("plain"),
        VarKind::Lock => atom("lock"),
        VarKind::Field(c) => form("field", [atom(c.to_string())]),
        VarKind::Live(c) => form("live", [atom(c.to_string())]),
        VarKind::Ended => atom("ended"),
        VarKind::Started(t) => form("started", [atom(t.to_string())]),
    }
}

pub(crate) const WHATS: &[(&str, What)] = &[
    ("assign", What::Assign),
    ("havoc", What::Havoc),
    ("assume", What::Assume),
    ("assert", What::Assert),
    ("acquire", What::Acquire),
    ("release", What::Release),
    ("new", What::New),
    ("free", What::Free),
    ("cas", What::Cas),
    ("atomic", What::Atomic),
    ("relation", What::Relation),
    ("test", What::Test),
    ("choose", What::Choose),
    ("skip", What::Skip),
    ("spawn", What::Spawn),
    ("join", What::Join),
    ("return", What::Return),
    ("unmodelled", What::Unmodelled),
];

fn what_word(what: What) -> &'static str {
    WHATS.iter().find(|(_, w)| *w == what).map(|(n, _)| *n).expect("every kind of step is listed")
}
