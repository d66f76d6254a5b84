//! Invariants and relies written in comments: from their text to formulas over the program's variables.
//!
//! In: the text after `//@ invariant` or `//@ rely`. Out: a formula, and the slots it speaks of, which are then kept
//! as they are. The vocabulary is C's: names of globals with `.member` and `[number]`, integers, `+ - *`, comparisons, `! && ||`;
//! and `==>`, `tid`, `true`, `false`, and in a rely `x'` for the value after a step. A mutex is 0 or its holder's `tid`.
//! Deliberately absent: locals, pointers, quantifiers.

use super::flow::*;
use super::memory::Ref;
use super::*;
use crate::c::ast::{SpecComment, SpecKind};

/// A formula, with a placeholder for each value after a step.
#[derive(Clone, Debug)]
pub(super) struct WrittenFormula {
    pub kind: SpecKind,
    pub formula: Term,
    pub slots: BTreeSet<SlotId>,
    /// Placeholders: the symbol in the formula, and whose value after the step it is.
    pub primed: Vec<(Symbol, SlotId)>,
    pub text: String,
    pub span: Span,
}

impl Lower<'_> {
    /// The specifications of the unit, and what is wrong with those that have no meaning.
    pub(super) fn read_specs(&mut self) -> (Vec<WrittenFormula>, Vec<(Span, String)>) {
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        for spec in &self.unit.specs {
            match self.read_spec(spec) {
                Ok(written) => good.push(written),
                Err(why) => bad.push((spec.span, why)),
            }
        }
        (good, bad)
    }

    /// The variables that are said to be guarded, each with its mutex. What cannot be followed is an error: a guard is never dropped in silence.
    pub(super) fn read_guards(&mut self) -> GuardsRead {
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        for v in &self.unit.globals {
            let variable = &self.unit.variables[*v];
            let Some(text) = variable.guarded_by.as_deref() else { continue };
            let mutex = match self.guarding_mutex(text.trim().trim_start_matches('&'), variable.span) {
                Ok(mutex) => mutex,
                Err(why) => {
                    bad.push((variable.span, format!("guarded_by({text}): {why}")));
                    continue;
                }
            };
            let slots = self.slots_of_global(*v);
            if slots.is_empty() {
                bad.push((variable.span, format!("guarded_by({text}) cannot be checked for a variable of this type")));
            }
            good.extend(slots.into_iter().map(|slot| (slot, mutex, variable.span)));
        }
        (good, bad)
    }

    fn slots_of_global(&self, v: VarId) -> Vec<SlotId> {
        let key = format!("{}#{}", self.unit.variables[v].name, v.0);
        match self.object_keys.get(&key).map(|o| &self.objects[*o].content) {
            Some(memory::Content::Leaves(leaves)) => {
                leaves.iter().flat_map(|l| (0..u32::from(l.bytes).max(1)).map(|i| SlotId(l.slot.0 + i))).collect()
            }
            _ => Vec::new(),
        }
    }

    /// A name means the variable of its own file first: several files may have a `static` of it.
    fn guarding_mutex(&mut self, text: &str, from: Span) -> Result<SlotId, String> {
        let named = self.unit.globals.iter().copied().filter(|g| self.unit.variables[*g].name == text);
        let named: Vec<VarId> = named.collect();
        let own = named.iter().copied().find(|g| self.unit.variables[*g].span.file == from.file);
        let mutex = match (own, &named[..]) {
            (Some(own), _) => Some(own),
            (None, [only]) => Some(*only),
            (None, []) => None,
            (None, _) => return Err("several files have a variable of this name".into()),
        };
        if let Some(mutex) = mutex {
            return self.slots_of_global(mutex).first().copied().ok_or_else(|| "this is no mutex".into());
        }
        let mut reader = SpecReader::new(self, tokens(text)?);
        let (slot, key) = reader.place()?;
        reader.end()?;
        if key.is_some() { Err("a mutex in a long array".into()) } else { Ok(slot) }
    }

    fn read_spec(&mut self, spec: &SpecComment) -> Result<WrittenFormula, String> {
        let mut reader = SpecReader::new(self, tokens(&spec.text)?);
        reader.primes = spec.kind == SpecKind::Rely;
        let formula = reader.formula()?;
        reader.end()?;
        let (slots, primed) = reader.seen();
        let (kind, text, span) = (spec.kind, spec.text.clone(), spec.span);
        Ok(WrittenFormula { kind, formula, slots, primed, text, span })
    }
}

/// Variables with their mutexes and places, and what is wrong with those that cannot be followed.
pub(super) type GuardsRead = (Vec<(SlotId, SlotId, Span)>, Vec<(Span, String)>);

/// Reads the tokens of a specification.
pub(super) struct SpecReader<'a, 'u> {
    lower: &'a mut Lower<'u>,
    tokens: Vec<String>,
    at: usize,
    /// Whether values after a step may be spoken of.
    pub(crate) primes: bool,
    /// Names besides those of globals, which have no value after a step.
    pub names: BTreeMap<String, SlotId>,
    slots: BTreeSet<SlotId>,
    primed: Vec<(Symbol, SlotId)>,
}

const SYMBOLS: [&str; 26] = [
    "==>", "==", "!=", "<=", ">=", "&&", "||", "->", "<", ">", "!", "(", ")", "+", "-", "*", "[", "]", ".", "'", "&",
    "{", "}", ";", ":", ",",
];

pub(super) fn tokens(text: &str) -> Result<Vec<String>, String> {
    let mut out = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let word = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let length = match word {
            0 => SYMBOLS.iter().find(|s| rest.starts_with(**s)).map(|s| s.len()),
            n => Some(n),
        };
        let Some(length) = length else {
            return Err(format!("`{}` has no meaning here", rest.chars().next().unwrap_or(' ')));
        };
        out.push(rest[..length].to_string());
        rest = rest[length..].trim_start();
    }
    if out.is_empty() { Err("a formula is missing".into()) } else { Ok(out) }
}

impl<'a, 'u> SpecReader<'a, 'u> {
    pub(super) fn new(lower: &'a mut Lower<'u>, tokens: Vec<String>) -> Self {
        Self { lower, tokens, at: 0, primes: false, names: BTreeMap::new(), slots: BTreeSet::new(), primed: Vec::new() }
    }

    /// A whole formula.
    pub(super) fn formula(&mut self) -> Result<Term, String> {
        let value = self.implication()?;
        Ok(self.truth(value))
    }

    /// Nothing may be left.
    pub(super) fn end(&self) -> Result<(), String> {
        match self.tokens.get(self.at) {
            Some(token) => Err(format!("`{token}` was not expected here")),
            None => Ok(()),
        }
    }

    /// The slots spoken of, and the placeholders for values after a step.
    pub(super) fn seen(self) -> (BTreeSet<SlotId>, Vec<(Symbol, SlotId)>) {
        (self.slots, self.primed)
    }

    /// A name.
    pub(super) fn word(&mut self) -> Result<String, String> {
        let word = self.peek().to_string();
        self.at += 1;
        let name = word.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
        if name { Ok(word) } else { Err(format!("a name was expected before `{word}`")) }
    }

    /// A variable or an element that may change.
    pub(super) fn place(&mut self) -> Result<(SlotId, Option<Term>), String> {
        let name = self.word()?;
        let (case, _) = self.case(&name)?;
        Ok((case.slot, case.key))
    }

    /// `<x, y>`: what may change.
    pub(super) fn frame(&mut self) -> Result<Vec<(SlotId, Option<Term>)>, String> {
        self.expect("<")?;
        let mut frame = Vec::new();
        while !self.take(">") {
            frame.push(self.place()?);
            if !self.take(",") && self.peek() != ">" {
                return Err("the variables an action may change stand between `<` and `>`".into());
            }
        }
        Ok(frame)
    }

    fn b(&self) -> terms::Build<'_> {
        self.lower.b()
    }

    fn truth(&self, t: Term) -> Term {
        if self.lower.terms.sort_of(t) == Sort::BOOL { t } else { self.b().truth(t) }
    }

    fn number(&self, t: Term) -> Term {
        if self.lower.terms.sort_of(t) == Sort::BOOL { self.b().bit(t) } else { t }
    }

    pub(super) fn peek(&self) -> &str {
        self.tokens.get(self.at).map_or("", String::as_str)
    }

    pub(super) fn take(&mut self, word: &str) -> bool {
        let there = self.peek() == word;
        self.at += usize::from(there);
        there
    }

    pub(super) fn expect(&mut self, word: &str) -> Result<(), String> {
        if self.take(word) { Ok(()) } else { Err(format!("`{word}` was expected before `{}`", self.peek())) }
    }

    fn implication(&mut self) -> Result<Term, String> {
        let left = self.disjunction()?;
        if !self.take("==>") {
            return Ok(left);
        }
        let right = self.implication()?;
        let (left, right) = (self.truth(left), self.truth(right));
        Ok(self.b().or(self.b().not(left), right))
    }

    fn disjunction(&mut self) -> Result<Term, String> {
        let mut out = self.conjunction()?;
        while self.take("||") {
            let next = self.conjunction()?;
            let (a, b) = (self.truth(out), self.truth(next));
            out = self.b().or(a, b);
        }
        Ok(out)
    }

    fn conjunction(&mut self) -> Result<Term, String> {
        let mut out = self.comparison()?;
        while self.take("&&") {
            let next = self.comparison()?;
            let (a, b) = (self.truth(out), self.truth(next));
            out = self.b().and(a, b);
        }
        Ok(out)
    }

    fn comparison(&mut self) -> Result<Term, String> {
        let left = self.sum()?;
        for word in ["==", "!=", "<=", ">=", "<", ">"] {
            if !self.take(word) {
                continue;
            }
            let right = self.sum()?;
            let (x, y, b) = (self.number(left), self.number(right), self.b());
            return Ok(match word {
                "==" => b.eq(x, y),
                "!=" => b.ne(x, y),
                "<=" => b.le(x, y),
                ">=" => b.le(y, x),
                "<" => b.lt(x, y),
                _ => b.lt(y, x),
            });
        }
        Ok(left)
    }

    fn sum(&mut self) -> Result<Term, String> {
        let mut out = self.product()?;
        loop {
            let minus = self.peek() == "-";
            if !self.take("+") && !self.take("-") {
                return Ok(out);
            }
            let next = self.product()?;
            let (x, y) = (self.number(out), self.number(next));
            out = if minus { self.b().sub(x, y) } else { self.b().add(x, y) };
        }
    }

    fn product(&mut self) -> Result<Term, String> {
        let mut out = self.unary()?;
        while self.take("*") {
            let next = self.unary()?;
            let (x, y) = (self.number(out), self.number(next));
            out = self.b().mul(x, y);
        }
        Ok(out)
    }

    fn unary(&mut self) -> Result<Term, String> {
        if self.take("!") {
            let value = self.unary()?;
            let value = self.truth(value);
            return Ok(self.b().not(value));
        }
        if self.take("-") {
            let value = self.unary()?;
            let value = self.number(value);
            return Ok(self.b().sub(self.b().num(0), value));
        }
        if self.take("(") {
            let value = self.implication()?;
            self.expect(")")?;
            return Ok(value);
        }
        let word = self.peek().to_string();
        self.at += 1;
        if let Ok(n) = word.parse::<i64>() {
            return Ok(self.b().num(i128::from(n)));
        }
        match word.as_str() {
            "tid" => Ok(self.lower.terms.sym(self.lower.tid)),
            "true" => Ok(self.b().tt()),
            "false" => Ok(self.b().ff()),
            _ => self.variable(&word),
        }
    }

    /// A global with its members and elements: the slot, and what a person calls it.
    fn case(&mut self, name: &str) -> Result<(memory::Case, String), String> {
        let unit = self.lower.unit;
        let found = unit.globals.iter().copied().find(|v| unit.variables[*v].name == name);
        let v = found.ok_or_else(|| format!("there is no global variable `{name}`"))?;
        let mut ty = unit.variables[v].ty;
        let mut offset = 0i128;
        loop {
            if self.take(".") {
                let member = self.peek().to_string();
                self.at += 1;
                let record = unit.types.record(ty).ok_or_else(|| format!("`{name}` has no members"))?;
                let fields = unit.types.records[record].fields.as_deref().unwrap_or_default();
                let field = fields.iter().find(|f| f.name == member && f.bits.is_none());
                let field = field.ok_or_else(|| format!("there is no member `{member}`"))?;
                offset += field.offset as i128;
                ty = field.ty;
            } else if self.tokens.get(self.at + 1).is_none_or(|next| next != "]") && self.take("[") {
                let index: i128 = self.peek().parse().map_err(|_| "an index here is a number".to_string())?;
                self.at += 1;
                self.expect("]")?;
                let CTypeKind::Array(of, _) = *unit.types.kind(ty) else { return Err(format!("`{name}` is no array")) };
                offset += index * unit.types.size(of).unwrap_or(1) as i128;
                ty = of;
            } else {
                break;
            }
        }
        let object = self.lower.variable_object(v);
        let place = Ref::Object(object, self.lower.terms.int(offset));
        let hits = self.lower.hits(place, ty);
        let [case] = hits.cases[..] else { return Err(format!("`{name}` is not a number here")) };
        if case.bytes > 0 {
            return Err(format!("`{name}` is kept byte by byte"));
        }
        let slot = &self.lower.slots[case.slot];
        if slot.owner != SlotOwner::Shared {
            return Err(format!("`{name}` belongs to one thread"));
        }
        let shown = slot.shown.clone();
        self.slots.insert(case.slot);
        Ok((case, shown))
    }

    /// A variable, and `'` for its value after a step.
    fn variable(&mut self, name: &str) -> Result<Term, String> {
        if let Some(slot) = self.names.get(name) {
            return Ok(self.lower.slot_term(*slot));
        }
        let (case, shown) = self.case(name)?;
        let (symbol, sort) = (self.lower.slots[case.slot].symbol, self.lower.slots[case.slot].sort);
        let mut whole = self.lower.terms.sym(symbol);
        if self.take("'") {
            if !self.primes {
                return Err("a value after a step belongs in a rely or an edge of a machine".into());
            }
            let placeholder = self.lower.terms.symbol(format!("{shown}'"), sort);
            self.primed.push((placeholder, case.slot));
            whole = self.lower.terms.sym(placeholder);
        }
        Ok(match case.key {
            Some(key) => self.b().select(whole, key),
            None => whole,
        })
    }
}
