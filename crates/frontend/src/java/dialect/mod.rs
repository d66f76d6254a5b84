//! The annotation dialect of Calvin-R in comments (`//@ ..`, `/*@ .. @*/`): text to clauses, formulas unresolved.
//!
//! In: the text of an annotation comment. Out: `Note`s, or a sentence with its place. Formulas follow ESC/Java: names stand for the state after, `\old(e)`
//! for the state before; an action is `action "label" (places) { formula }` (Freund and Qadeer, figures 1 and 3).
//! Deliberately absent: the meaning of names (`translate::spec`); words that are not known are errors, never skipped.

mod formula;

use base::Span;
use formula::NoteReader;

/// One annotation.
#[derive(Clone, Debug)]
pub(crate) struct Note {
    pub kind: NoteKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum NoteKind {
    Requires(Formula),
    Ensures(Formula),
    /// The places that a method may change, as its callers see it.
    Modifies(Vec<Formula>),
    Performs(Steps),
    /// `accessible_if[i] e`; `readable_if`, `writable_if` for one kind of access.
    AccessibleIf(Access, Vec<String>, Formula),
    /// `guarded_by[i] m`: one of several locks is enough.
    GuardedBy(Vec<String>, Vec<Formula>),
    Witness(String),
    /// `set g = e`, of a ghost variable.
    Set(Formula, Formula),
    Assert(Formula),
    /// Taken for granted, and listed as an assumption.
    Assume(Formula),
    Axiom(Formula),
    LoopInvariant(Formula),
    Invariant(Formula),
    /// Inlined where it is called.
    Helper,
    /// The checks of these names are off at the line; none named: all of them.
    Nowarn(Vec<String>),
    Ghost(GhostNote),
    /// Objects that only one thread uses.
    ThreadLocal,
    NonNull,
    /// Words about other tools that change nothing here.
    Remark,
}

/// Which accesses a predicate speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    All,
    Read,
    Write,
}

/// `ghost public static int -> boolean held = false`.
#[derive(Clone, Debug)]
pub(crate) struct GhostNote {
    pub ty: GhostType,
    pub name: String,
    pub is_static: bool,
    pub value: Option<Formula>,
    /// `guarded_by` and its kind behind the name.
    pub access: Vec<Note>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum GhostType {
    Named(String),
    Array(Box<GhostType>),
    /// `K -> V`.
    Map(Box<GhostType>, Box<GhostType>),
}

#[derive(Clone, Debug)]
pub(crate) enum Steps {
    Action(Box<ActionNote>),
    Then(Vec<Steps>),
    Or(Vec<Steps>),
    Repeat(Box<Steps>),
}

#[derive(Clone, Debug)]
pub(crate) struct ActionNote {
    pub label: Option<String>,
    pub places: Vec<Formula>,
    pub formula: Formula,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct Formula {
    pub kind: FormulaKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum FormulaKind {
    Bool(bool),
    Int(i128),
    Text(String),
    Null,
    Tid,
    Result,
    This,
    Name(String),
    /// `o.f`, also `Class.field`.
    Field(Box<Formula>, String),
    Index(Box<Formula>, Box<Formula>),
    /// `a[*]` in a frame.
    All(Box<Formula>),
    Old(Box<Formula>),
    Not(Box<Formula>),
    Negate(Box<Formula>),
    Complement(Box<Formula>),
    Binary(&'static str, Box<Formula>, Box<Formula>),
    Conditional(Box<[Formula; 3]>),
    /// `(int) e`.
    Cast(String, Box<Formula>),
    /// Whether for all, the variable, its type, the body.
    Quantified(Quantity, String, String, Box<Formula>),
    /// `\type(T)`, `\typeof(e)`, `\elemtype(t)`: what they say is not looked at.
    Type,
    /// `\fresh(e)`.
    Fresh(Box<Formula>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    All,
    Some,
}

/// What is wrong with an annotation.
#[derive(Clone, Debug)]
pub(crate) struct Misread {
    pub message: String,
    pub span: Span,
}

/// The annotations of a comment. `start` is where the text stands.
pub(crate) fn read_notes(text: &str, start: Span) -> Result<Vec<Note>, Misread> {
    let mut reader = NoteReader::new(text, start);
    let mut out = Vec::new();
    loop {
        reader.blanks();
        if reader.rest().is_empty() {
            return Ok(out);
        }
        if reader.eat(";") {
            continue;
        }
        out.push(reader.note()?);
    }
}

/// Words of related checkers that say nothing about what is checked here.
const REMARKS: &[&str] = &["spec_public", "pure", "uninitialized", "unreachable_ok", "no_warn_default"];

const KNOWN: &str = "`requires`, `ensures`, `modifies`, `performs`, `accessible_if`, `readable_if`, `writable_if`, `guarded_by`, `ghost`, `set`, `witness`, \
                     `assert`, `assume`, `axiom`, `invariant`, `loop_invariant`, `nowarn`, `helper`, `thread_local` and `non_null` are";

/// Words that come before the type of a ghost variable.
const MODIFIERS: &[&str] = &["public", "private", "protected", "static", "final", "volatile", "instance"];

impl NoteReader<'_> {
    fn note(&mut self) -> Result<Note, Misread> {
        let from = self.at;
        let kind = self.note_kind()?;
        Ok(Note { kind, span: self.span(from) })
    }

    fn note_kind(&mut self) -> Result<NoteKind, Misread> {
        if self.eat("requires") || self.eat("also_requires") {
            return Ok(NoteKind::Requires(self.formula()?));
        }
        if self.eat("ensures") || self.eat("also_ensures") {
            return Ok(NoteKind::Ensures(self.formula()?));
        }
        if self.eat("modifies") || self.eat("also_modifies") || self.eat("assignable") {
            return Ok(NoteKind::Modifies(self.list()?));
        }
        if self.eat("performs") {
            return Ok(NoteKind::Performs(self.steps()?));
        }
        for (word, access) in
            [("accessible_if", Access::All), ("readable_if", Access::Read), ("writable_if", Access::Write)]
        {
            if self.eat(word) {
                let binders = self.binders()?;
                return Ok(NoteKind::AccessibleIf(access, binders, self.formula()?));
            }
        }
        if self.eat("guarded_by") {
            let binders = self.binders()?;
            return Ok(NoteKind::GuardedBy(binders, self.list()?));
        }
        if self.eat("loop_invariant") {
            return Ok(NoteKind::LoopInvariant(self.formula()?));
        }
        if self.eat("invariant") {
            return Ok(NoteKind::Invariant(self.formula()?));
        }
        if self.eat("axiom") {
            return Ok(NoteKind::Axiom(self.formula()?));
        }
        if self.eat("assert") {
            return Ok(NoteKind::Assert(self.formula()?));
        }
        if self.eat("assume") {
            return Ok(NoteKind::Assume(self.formula()?));
        }
        if self.eat("ghost") {
            return self.ghost().map(NoteKind::Ghost);
        }
        self.short_note()
    }

    fn short_note(&mut self) -> Result<NoteKind, Misread> {
        if self.eat("helper") {
            return Ok(NoteKind::Helper);
        }
        if self.eat("thread_local") {
            return Ok(NoteKind::ThreadLocal);
        }
        if self.eat("non_null") {
            return Ok(NoteKind::NonNull);
        }
        if self.eat("nowarn") {
            let mut names = Vec::new();
            while let Some(name) = self.name() {
                names.push(name);
                self.eat(",");
            }
            return Ok(NoteKind::Nowarn(names));
        }
        if self.eat("witness") {
            return self.label().map(NoteKind::Witness);
        }
        if self.eat("set") {
            if self.eat("\\witness") {
                self.need("=")?;
                return self.label().map(NoteKind::Witness);
            }
            let place = self.postfix()?;
            self.need("=")?;
            return Ok(NoteKind::Set(place, self.formula()?));
        }
        if REMARKS.iter().any(|word| self.eat(word)) {
            return Ok(NoteKind::Remark);
        }
        self.wrong(format!("this annotation is not known; {KNOWN}"))
    }

    fn label(&mut self) -> Result<String, Misread> {
        match self.string() {
            Some(label) => Ok(label),
            None => self.wrong("expected the label of an action in quotation marks"),
        }
    }

    fn ghost(&mut self) -> Result<GhostNote, Misread> {
        let mut is_static = false;
        while let Some(word) = MODIFIERS.iter().find(|w| self.eat(w)) {
            is_static |= *word == "static";
        }
        let ty = self.ghost_type()?;
        let Some(name) = self.name() else { return self.wrong("expected the name of the ghost variable") };
        let mut ty = ty;
        while self.eat("[]") {
            ty = GhostType::Array(Box::new(ty));
        }
        let value = if !self.follows("==") && self.eat("=") { Some(self.formula()?) } else { None };
        let mut access = Vec::new();
        while ["guarded_by", "accessible_if", "readable_if", "writable_if"].iter().any(|w| self.follows(w)) {
            access.push(self.note()?);
        }
        Ok(GhostNote { ty, name, is_static, value, access })
    }

    /// `int`, `boolean[]`, `long -> int`, `int -> (int -> boolean)`; an arrow associates to the right.
    pub(super) fn ghost_type(&mut self) -> Result<GhostType, Misread> {
        let mut ty = if self.eat("(") {
            let inner = self.ghost_type()?;
            self.need(")")?;
            inner
        } else if !self.follows("[]") && self.eat("[") {
            let inner = self.ghost_type()?;
            self.need("]")?;
            inner
        } else if self.eat("\\tid") || self.eat("\\TID") || self.eat("\\Tid") {
            GhostType::Named("tid".into())
        } else {
            match self.name() {
                Some(name) => GhostType::Named(name),
                None => return self.wrong("expected a type"),
            }
        };
        while self.eat("[]") {
            ty = GhostType::Array(Box::new(ty));
        }
        if self.eat("->") {
            let to = self.ghost_type()?;
            ty = GhostType::Map(Box::new(ty), Box::new(to));
        }
        Ok(ty)
    }

    /// `[i]`, `[i][j]`, `[i, j]`; a type before the name changes nothing.
    fn binders(&mut self) -> Result<Vec<String>, Misread> {
        let mut out = Vec::new();
        while self.eat("[") {
            loop {
                let Some(mut name) = self.name() else { return self.wrong("expected a name") };
                if let Some(second) = self.name() {
                    name = second;
                }
                out.push(name);
                if !self.eat(",") {
                    break;
                }
            }
            self.need("]")?;
        }
        Ok(out)
    }

    fn list(&mut self) -> Result<Vec<Formula>, Misread> {
        let mut out = vec![self.formula()?];
        while self.eat(",") {
            out.push(self.formula()?);
        }
        Ok(out)
    }

    fn steps(&mut self) -> Result<Steps, Misread> {
        let mut ways = vec![self.sequence()?];
        while self.eat("[]") {
            ways.push(self.sequence()?);
        }
        Ok(if ways.len() == 1 { ways.remove(0) } else { Steps::Or(ways) })
    }

    fn sequence(&mut self) -> Result<Steps, Misread> {
        let mut parts = vec![self.step()?];
        loop {
            let before = self.at;
            // A semicolon may also end the annotation.
            if self.eat(";") && (self.follows("action") || self.follows("(")) {
                parts.push(self.step()?);
                continue;
            }
            self.at = before;
            return Ok(if parts.len() == 1 { parts.remove(0) } else { Steps::Then(parts) });
        }
    }

    fn step(&mut self) -> Result<Steps, Misread> {
        if self.eat("(") {
            let inner = self.steps()?;
            self.need(")")?;
            return Ok(if self.eat("*") { Steps::Repeat(Box::new(inner)) } else { inner });
        }
        self.blanks();
        let from = self.at;
        self.need("action")?;
        let label = self.string();
        self.eat(":");
        self.need("(")?;
        let mut places = Vec::new();
        if !self.eat(")") {
            places = self.list()?;
            self.need(")")?;
        }
        self.need("{")?;
        let formula = if self.follows("}") {
            Formula { kind: FormulaKind::Bool(true), span: self.span(from) }
        } else {
            self.formula()?
        };
        self.eat(";");
        self.need("}")?;
        let action = Steps::Action(Box::new(ActionNote { label, places, formula, span: self.span(from) }));
        Ok(if self.eat("*") { Steps::Repeat(Box::new(action)) } else { action })
    }
}
