//! The annotation dialect of Calvin-R in comments (`//@ ..`, `/*@ .. @*/`): text to clauses, formulas unresolved.
//!
//! In: the text of an annotation comment. Out: `Note`s, or a sentence with its place. Formulas follow ESC/Java: names stand for the state after, `\old(e)`
//! for the state before; an action is `action "label" (places) { formula }` (Freund and Qadeer, figures 1 and 3).
//! Deliberately absent: the meaning of names (`translate::spec`); words that are not known are errors, never skipped.

use base::Span;

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
    Performs(Steps),
    /// `accessible_if[i] e`, or `guarded_by m` with the lock.
    AccessibleIf(Vec<String>, Formula),
    GuardedBy(Vec<String>, Formula),
    Witness(String),
    LoopInvariant(Formula),
    /// Inlined where it is called.
    Helper,
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
    Null,
    Tid,
    Result,
    Name(String),
    /// `Class.field`.
    Field(Box<Formula>, String),
    Index(Box<Formula>, Box<Formula>),
    Old(Box<Formula>),
    Not(Box<Formula>),
    Negate(Box<Formula>),
    Binary(&'static str, Box<Formula>, Box<Formula>),
    /// Whether for all, the variable, its type, the body.
    Quantified(Quantity, String, String, Box<Formula>),
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
    let mut reader = NoteReader { text, at: 0, start };
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

struct NoteReader<'a> {
    text: &'a str,
    at: usize,
    start: Span,
}

/// Operators by strength, weakest first; all but `==>` associate to the left.
const LEVELS: &[&[&str]] = &[
    &["<==>", "<=!=>"],
    &["==>"],
    &["||"],
    &["&&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["+", "-"],
    &["*", "/", "%"],
];

impl<'a> NoteReader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn span(&self, from: usize) -> Span {
        let base = self.start.start as usize;
        Span::new(self.start.file, base + from, base + self.at.max(from + 1).min(self.text.len()))
    }

    fn wrong<T>(&self, message: impl Into<String>) -> Result<T, Misread> {
        let rest = self.rest();
        let length = rest.find(char::is_whitespace).unwrap_or(rest.len()).max(1);
        let base = self.start.start as usize + self.at;
        Err(Misread { message: message.into(), span: Span::new(self.start.file, base, base + length) })
    }

    fn eat(&mut self, word: &str) -> bool {
        self.blanks();
        let rest = self.rest();
        if !rest.starts_with(word) {
            return false;
        }
        let letter = |c: char| c.is_alphanumeric() || c == '_';
        if word.ends_with(letter) && rest[word.len()..].starts_with(letter) {
            return false;
        }
        self.at += word.len();
        true
    }

    fn need(&mut self, word: &str) -> Result<(), Misread> {
        if self.eat(word) { Ok(()) } else { self.wrong(format!("expected `{word}`")) }
    }

    fn name(&mut self) -> Option<String> {
        self.blanks();
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        if end == 0 || rest.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        self.at += end;
        Some(rest[..end].to_owned())
    }

    fn string(&mut self) -> Option<String> {
        self.blanks();
        let inner = self.rest().strip_prefix('"')?;
        let end = inner.find('"')?;
        self.at += end + 2;
        Some(inner[..end].to_owned())
    }

    fn note(&mut self) -> Result<Note, Misread> {
        let from = self.at;
        let kind = if self.eat("requires") {
            NoteKind::Requires(self.formula(0)?)
        } else if self.eat("ensures") {
            NoteKind::Ensures(self.formula(0)?)
        } else if self.eat("performs") {
            NoteKind::Performs(self.steps()?)
        } else if self.eat("accessible_if") {
            let binders = self.binders()?;
            NoteKind::AccessibleIf(binders, self.formula(0)?)
        } else if self.eat("guarded_by") {
            let binders = self.binders()?;
            NoteKind::GuardedBy(binders, self.formula(0)?)
        } else if self.eat("loop_invariant") {
            NoteKind::LoopInvariant(self.formula(0)?)
        } else if self.eat("helper") {
            NoteKind::Helper
        } else if self.eat("witness") {
            match self.string() {
                Some(label) => NoteKind::Witness(label),
                None => return self.wrong("expected the label of an action in quotation marks"),
            }
        } else if self.eat("set") {
            if !self.eat("\\witness") {
                return self.wrong("only `\\witness` is set by annotations so far; ghost variables are not modelled");
            }
            self.need("=")?;
            match self.string() {
                Some(label) => NoteKind::Witness(label),
                None => return self.wrong("expected the label of an action in quotation marks"),
            }
        } else {
            return self.wrong(
                "this annotation is not known; `requires`, `ensures`, `performs`, `accessible_if`, `guarded_by`, `witness`, \
                 `loop_invariant` and `helper` are",
            );
        };
        Ok(Note { kind, span: self.span(from) })
    }

    fn binders(&mut self) -> Result<Vec<String>, Misread> {
        let mut out = Vec::new();
        while self.eat("[") {
            match self.name() {
                Some(name) => out.push(name),
                None => return self.wrong("expected a name"),
            }
            self.need("]")?;
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

    fn follows(&mut self, word: &str) -> bool {
        let before = self.at;
        let found = self.eat(word);
        self.at = before;
        found
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
            loop {
                places.push(self.formula(0)?);
                if !self.eat(",") {
                    break;
                }
            }
            self.need(")")?;
        }
        self.need("{")?;
        let formula = self.formula(0)?;
        self.need("}")?;
        let action = Steps::Action(Box::new(ActionNote { label, places, formula, span: self.span(from) }));
        Ok(if self.eat("*") { Steps::Repeat(Box::new(action)) } else { action })
    }

    fn formula(&mut self, level: usize) -> Result<Formula, Misread> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        self.blanks();
        let from = self.at;
        let mut left = self.formula(level + 1)?;
        loop {
            self.blanks();
            let rest = self.rest();
            let found = operators.iter().find(|o| rest.starts_with(**o));
            let longer = |o: &str| {
                let longer = LEVELS
                    .iter()
                    .flat_map(|l| l.iter())
                    .any(|p| p.len() > o.len() && p.starts_with(o) && rest.starts_with(p));
                longer
            };
            let Some(operator) = found.filter(|o| !longer(o)) else { return Ok(left) };
            self.at += operator.len();
            // `==>` associates to the right.
            let right = self.formula(if *operator == "==>" { level } else { level + 1 })?;
            let kind = FormulaKind::Binary(operator, Box::new(left), Box::new(right));
            left = Formula { kind, span: self.span(from) };
        }
    }

    fn unary(&mut self) -> Result<Formula, Misread> {
        self.blanks();
        let from = self.at;
        if !self.rest().starts_with("!=") && self.eat("!") {
            let inner = self.unary()?;
            return Ok(Formula { kind: FormulaKind::Not(Box::new(inner)), span: self.span(from) });
        }
        if self.eat("-") {
            let inner = self.unary()?;
            return Ok(Formula { kind: FormulaKind::Negate(Box::new(inner)), span: self.span(from) });
        }
        let mut out = self.atom()?;
        loop {
            if !self.rest().starts_with("[]") && self.eat("[") {
                let index = self.formula(0)?;
                self.need("]")?;
                out = Formula { kind: FormulaKind::Index(Box::new(out), Box::new(index)), span: self.span(from) };
            } else if self.eat(".") {
                let Some(field) = self.name() else { return self.wrong("expected the name of a field") };
                out = Formula { kind: FormulaKind::Field(Box::new(out), field), span: self.span(from) };
            } else {
                return Ok(out);
            }
        }
    }

    fn atom(&mut self) -> Result<Formula, Misread> {
        self.blanks();
        let from = self.at;
        if self.eat("(") {
            let quantified = if self.eat("\\forall") {
                Some(Quantity::All)
            } else if self.eat("\\exists") {
                Some(Quantity::Some)
            } else {
                None
            };
            let inner = match quantified {
                Some(quantity) => {
                    let (Some(ty), Some(name)) = (self.name(), self.name()) else {
                        return self.wrong("expected a type and a name");
                    };
                    self.need(";")?;
                    let body = self.formula(0)?;
                    FormulaKind::Quantified(quantity, name, ty, Box::new(body))
                }
                None => self.formula(0)?.kind,
            };
            self.need(")")?;
            return Ok(Formula { kind: inner, span: self.span(from) });
        }
        let kind = if self.eat("\\old") {
            self.need("(")?;
            let inner = self.formula(0)?;
            self.need(")")?;
            FormulaKind::Old(Box::new(inner))
        } else if self.eat("\\result") {
            FormulaKind::Result
        } else if self.eat("\\tid") || self.eat("tid") {
            FormulaKind::Tid
        } else if self.eat("true") {
            FormulaKind::Bool(true)
        } else if self.eat("false") {
            FormulaKind::Bool(false)
        } else if self.eat("null") {
            FormulaKind::Null
        } else if let Some(name) = self.name() {
            FormulaKind::Name(name)
        } else {
            let rest = self.rest();
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            match rest[..end].parse() {
                Ok(number) => {
                    self.at += end;
                    FormulaKind::Int(number)
                }
                Err(_) => return self.wrong("expected a formula"),
            }
        };
        Ok(Formula { kind, span: self.span(from) })
    }
}
