//! Formulas of annotations: text to `Formula`.
//!
//! In: the text of a comment and a position in it. Out: a formula with its place, or what was expected. Operators bind as in Java, with `==>` and `<==>` below.
//! Deliberately absent: types and names.

use super::{Formula, FormulaKind, Misread, Quantity};
use base::Span;

/// Formulas deeper than this are not read: recursion follows them.
const DEEPEST_FORMULA: usize = 200;

pub(super) struct NoteReader<'a> {
    text: &'a str,
    pub at: usize,
    start: Span,
    depth: usize,
}

/// Operators by strength, weakest first; all but `==>` associate to the left.
const LEVELS: &[&[&str]] = &[
    &["<==>", "<=!=>"],
    &["==>"],
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<:", "<", ">"],
    &["<<", ">>>", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

/// Types of Java that a cast in a formula may name.
const CASTS: &[&str] = &["int", "long", "short", "byte", "char"];

impl<'a> NoteReader<'a> {
    pub(super) fn new(text: &'a str, start: Span) -> Self {
        Self { text, at: 0, start, depth: 0 }
    }

    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(super) fn blanks(&mut self) {
        loop {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start().len();
            // A remark inside an annotation.
            let rest = self.rest();
            if rest.starts_with("//") && !rest.starts_with("//@") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else {
                return;
            }
        }
    }

    pub(super) fn span(&self, from: usize) -> Span {
        let base = self.start.start as usize;
        let rest = &self.text[from.min(self.at)..self.at];
        let from = from + rest.len() - rest.trim_start().len();
        Span::new(self.start.file, base + from, base + self.at.max(from + 1).min(self.text.len()))
    }

    pub(super) fn wrong<T>(&mut self, message: impl Into<String>) -> Result<T, Misread> {
        self.blanks();
        let rest = self.rest();
        let length = rest.find(char::is_whitespace).unwrap_or(rest.len()).max(1);
        let base = self.start.start as usize + self.at;
        Err(Misread { message: message.into(), span: Span::new(self.start.file, base, base + length) })
    }

    pub(super) fn eat(&mut self, word: &str) -> bool {
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

    pub(super) fn need(&mut self, word: &str) -> Result<(), Misread> {
        if self.eat(word) { Ok(()) } else { self.wrong(format!("expected `{word}`")) }
    }

    pub(super) fn follows(&mut self, word: &str) -> bool {
        let before = self.at;
        let found = self.eat(word);
        self.at = before;
        found
    }

    pub(super) fn name(&mut self) -> Option<String> {
        self.blanks();
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).unwrap_or(rest.len());
        if end == 0 || rest.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        self.at += end;
        Some(rest[..end].to_owned())
    }

    pub(super) fn string(&mut self) -> Option<String> {
        self.blanks();
        let inner = self.rest().strip_prefix('"')?;
        let end = inner.find('"')?;
        self.at += end + 2;
        Some(inner[..end].to_owned())
    }

    /// A whole formula.
    pub(super) fn formula(&mut self) -> Result<Formula, Misread> {
        self.depth += 1;
        if self.depth > DEEPEST_FORMULA {
            return self.wrong("this is nested too deeply");
        }
        self.blanks();
        let from = self.at;
        let condition = self.level(0)?;
        let out = if self.eat("?") {
            let yes = self.formula()?;
            self.need(":")?;
            let no = self.formula()?;
            Formula { kind: FormulaKind::Conditional(Box::new([condition, yes, no])), span: self.span(from) }
        } else {
            condition
        };
        self.depth -= 1;
        Ok(out)
    }

    fn level(&mut self, level: usize) -> Result<Formula, Misread> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        self.blanks();
        let from = self.at;
        let mut left = self.level(level + 1)?;
        loop {
            self.blanks();
            let rest = self.rest();
            let found = operators.iter().find(|o| rest.starts_with(**o));
            let longer = |o: &str| {
                let all = LEVELS.iter().flat_map(|l| l.iter());
                all.into_iter().any(|p| p.len() > o.len() && p.starts_with(o) && rest.starts_with(p))
            };
            let Some(operator) = found.filter(|o| !longer(o)) else { return Ok(left) };
            self.at += operator.len();
            // `==>` associates to the right.
            let right = self.level(if *operator == "==>" { level } else { level + 1 })?;
            let kind = FormulaKind::Binary(operator, Box::new(left), Box::new(right));
            left = Formula { kind, span: self.span(from) };
        }
    }

    fn unary(&mut self) -> Result<Formula, Misread> {
        self.blanks();
        let from = self.at;
        let of = |kind: fn(Box<Formula>) -> FormulaKind, reader: &mut Self| {
            let inner = reader.unary()?;
            Ok(Formula { kind: kind(Box::new(inner)), span: reader.span(from) })
        };
        if !self.rest().starts_with("!=") && self.eat("!") {
            return of(FormulaKind::Not, self);
        }
        if self.eat("-") {
            return of(FormulaKind::Negate, self);
        }
        if self.eat("~") {
            return of(FormulaKind::Complement, self);
        }
        if self.follows("(")
            && let Some(ty) = self.cast()
        {
            let inner = self.unary()?;
            return Ok(Formula { kind: FormulaKind::Cast(ty, Box::new(inner)), span: self.span(from) });
        }
        self.postfix()
    }

    /// `(int)` before an operand.
    fn cast(&mut self) -> Option<String> {
        let before = self.at;
        if self.eat("(")
            && let Some(ty) = CASTS.iter().find(|t| self.eat(t))
            && self.eat(")")
        {
            return Some((*ty).to_owned());
        }
        self.at = before;
        None
    }

    /// An atom with indices and fields behind it.
    pub(super) fn postfix(&mut self) -> Result<Formula, Misread> {
        self.blanks();
        let from = self.at;
        let mut out = self.atom()?;
        loop {
            self.blanks();
            if self.rest().starts_with("[]") {
                return Ok(out);
            }
            if self.eat("[") {
                let kind = if self.follows("*") && {
                    let before = self.at;
                    self.eat("*");
                    let closes = self.follows("]");
                    self.at = before;
                    closes
                } {
                    self.eat("*");
                    FormulaKind::All(Box::new(out))
                } else {
                    FormulaKind::Index(Box::new(out), Box::new(self.formula()?))
                };
                self.need("]")?;
                out = Formula { kind, span: self.span(from) };
            } else if self.eat(".") {
                let Some(field) = self.name() else { return self.wrong("expected the name of a field") };
                out = Formula { kind: FormulaKind::Field(Box::new(out), field), span: self.span(from) };
            } else {
                return Ok(out);
            }
        }
    }

    fn quantified(&mut self, quantity: Quantity) -> Result<FormulaKind, Misread> {
        let (Some(mut ty), Some(name)) = (self.name(), self.name()) else {
            return self.wrong("expected a type and a name");
        };
        while self.eat("[]") {
            ty.push_str("[]");
        }
        let mut names = vec![name];
        while self.eat(",") {
            match self.name() {
                Some(name) => names.push(name),
                None => return self.wrong("expected a name"),
            }
        }
        self.need(";")?;
        let mut body = self.formula()?;
        if self.eat(";") {
            // A range of its own.
            let inner = self.formula()?;
            let span = Span::new(body.span.file, body.span.start as usize, inner.span.end as usize);
            let word = if quantity == Quantity::All { "==>" } else { "&&" };
            body = Formula { kind: FormulaKind::Binary(word, Box::new(body), Box::new(inner)), span };
        }
        let span = body.span;
        let around = |body: Formula, name: String| Formula {
            kind: FormulaKind::Quantified(quantity, name, ty.clone(), Box::new(body)),
            span,
        };
        Ok(names.into_iter().rev().fold(body, around).kind)
    }

    fn argument(&mut self) -> Result<Box<Formula>, Misread> {
        self.need("(")?;
        let inner = self.formula()?;
        self.need(")")?;
        Ok(Box::new(inner))
    }

    fn atom(&mut self) -> Result<Formula, Misread> {
        self.blanks();
        let from = self.at;
        if self.eat("(") {
            let inner = if self.eat("\\forall") {
                self.quantified(Quantity::All)?
            } else if self.eat("\\exists") {
                self.quantified(Quantity::Some)?
            } else {
                self.formula()?.kind
            };
            self.need(")")?;
            return Ok(Formula { kind: inner, span: self.span(from) });
        }
        let kind = self.atom_kind()?;
        Ok(Formula { kind, span: self.span(from) })
    }

    fn atom_kind(&mut self) -> Result<FormulaKind, Misread> {
        if self.eat("\\old") {
            return self.argument().map(FormulaKind::Old);
        }
        if self.eat("\\typeof") || self.eat("\\elemtype") {
            return self.argument().map(|_| FormulaKind::Type);
        }
        if self.eat("\\fresh") {
            return self.argument().map(FormulaKind::Fresh);
        }
        if self.eat("\\type") {
            self.need("(")?;
            if self.name().is_none() {
                return self.wrong("expected a type");
            }
            while self.eat("[]") {}
            self.need(")")?;
            return Ok(FormulaKind::Type);
        }
        let words: [(&str, FormulaKind); 7] = [
            ("\\result", FormulaKind::Result),
            ("\\tid", FormulaKind::Tid),
            ("tid", FormulaKind::Tid),
            ("true", FormulaKind::Bool(true)),
            ("false", FormulaKind::Bool(false)),
            ("null", FormulaKind::Null),
            ("this", FormulaKind::This),
        ];
        for (word, kind) in words {
            if self.eat(word) {
                return Ok(kind);
            }
        }
        if let Some(text) = self.string() {
            return Ok(FormulaKind::Text(text));
        }
        if let Some(name) = self.name() {
            return Ok(FormulaKind::Name(name));
        }
        self.number()
    }

    fn number(&mut self) -> Result<FormulaKind, Misread> {
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let plain: String = rest[..end].chars().filter(|c| *c != '_').collect();
        let digits = plain.trim_end_matches(['l', 'L']);
        let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
            Some(hex) => i128::from_str_radix(hex, 16),
            None => digits.parse(),
        };
        match value {
            Ok(number) => {
                self.at += end;
                Ok(FormulaKind::Int(number))
            }
            Err(_) => self.wrong("expected a formula"),
        }
    }
}
