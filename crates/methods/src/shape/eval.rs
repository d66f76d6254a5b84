//! Evaluation of compiled terms on a view. A value that the view does not decide stops the evaluation with the question.
//!
//! In: a view, an arena, the choices made so far. Out: one code, or `EvalStop`: which row must be split or which
//! comparison must be chosen. The caller splits and starts the step again, so no guard is ever "maybe".

use super::expr::{Constant, Ex, ExId};
use super::model::{Model, Stored};
use super::view::{
    ABOVE, ANY, BELOW, CONSTANTS, Code, EQUAL, FALSE, NULL, OPEN, PackedView, SELF, THIRD, TRUE, definite, is_cell,
    is_several,
};
use program::PropertyId;

/// Why a step cannot go on as it is.
#[derive(Clone, Debug)]
pub(crate) enum EvalStop {
    /// The row of the cell has several values: try each.
    Split(Code, usize),
    /// The variable has several values: try each.
    SplitVariable(u16),
    /// Nothing decides it: try each option.
    Choose(Site, Vec<Code>),
    /// The facts contradict each other: there is no such state.
    Impossible,
    Alarm(Alarm),
}

/// Which occurrence a choice belongs to: arena of the step, entry, reader.
pub(crate) type Site = (u16, u16, u16);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Alarm {
    /// A gate of the property may fail.
    Gate(PropertyId),
    /// Results may differ from the specification's.
    Results(String),
    /// The domain loses track: nothing can be proved from here.
    Lost(String),
    /// A cell cannot be shown to be the thread's alone, at this take of the model.
    Kept(usize),
}

/// Everything an evaluation reads.
pub(crate) struct ViewEval<'a> {
    pub model: &'a Model,
    pub view: &'a PackedView,
    pub(crate) arena: &'a [Ex],
    /// Distinguishes the arenas of one step in choices.
    pub phase: u16,
    pub inputs: &'a [Code],
    pub choices: &'a [(Site, Code)],
    /// Cells from this code on were made by this step.
    pub fresh: Code,
    /// Set when something that other threads can change was looked at.
    pub touched: bool,
    memo: Vec<Code>,
}

const UNSEEN: Code = Code::MAX;

fn truth(b: bool) -> Code {
    if b { TRUE } else { FALSE }
}

impl<'a> ViewEval<'a> {
    pub(crate) fn new(
        model: &'a Model,
        view: &'a PackedView,
        arena: &'a [Ex],
        phase: u16,
        choices: &'a [(Site, Code)],
    ) -> Self {
        let memo = vec![UNSEEN; arena.len()];
        Self { model, view, arena, phase, inputs: &[], choices, fresh: Code::MAX, touched: false, memo }
    }
    fn choose(&self, entry: ExId, reader: u16, options: &[Code]) -> Result<Code, EvalStop> {
        let site = (self.phase, entry, reader);
        match self.choices.iter().find(|(s, _)| *s == site) {
            Some((_, code)) => Ok(*code),
            None => Err(EvalStop::Choose(site, options.to_vec())),
        }
    }
    pub(crate) fn code(&mut self, at: ExId) -> Result<Code, EvalStop> {
        let known = self.memo[at as usize];
        if known != UNSEEN {
            return Ok(known);
        }
        let code = self.fresh_code(at)?;
        self.memo[at as usize] = code;
        Ok(code)
    }
    fn fresh_code(&mut self, at: ExId) -> Result<Code, EvalStop> {
        let arena = self.arena;
        Ok(match &arena[at as usize] {
            Ex::Code(c) => *c,
            Ex::Slot(s) => {
                self.touched |= (*s as usize) < self.model.globals.len();
                match self.view.vars[*s as usize] {
                    code if is_several(code) => return Err(EvalStop::SplitVariable(*s)),
                    code => code,
                }
            }
            Ex::Input(i) => self.inputs[*i as usize],
            Ex::Ite(c, a, b) => {
                let branch = if self.formula(*c)? { *a } else { *b };
                self.code(branch)?
            }
            Ex::Not(a) => truth(!self.formula(*a)?),
            Ex::And(parts) => {
                for p in parts {
                    if !self.formula(*p)? {
                        return Ok(FALSE);
                    }
                }
                TRUE
            }
            Ex::Or(parts) => {
                for p in parts {
                    if self.formula(*p)? {
                        return Ok(TRUE);
                    }
                }
                FALSE
            }
            Ex::Eq(a, b) => {
                let (x, y) = (self.code(*a)?, self.code(*b)?);
                self.decide(at, equal(x, y))?
            }
            Ex::EqData(a, b) => {
                let (x, y) = (self.code(*a)?, self.code(*b)?);
                let known = match (equal(x, y), x >= CONSTANTS && y >= CONSTANTS) {
                    (Some(true), _) => Some(true),
                    (Some(false), true) => Some(false),
                    _ => None,
                };
                self.decide(at, known)?
            }
            Ex::Less(a, b) => {
                let (x, y) = (self.code(*a)?, self.code(*b)?);
                let known = self.order(x, y).and_then(|o| match o {
                    OrderKnown::Known(o) => Some(o == std::cmp::Ordering::Less),
                    OrderKnown::SameSide => None,
                });
                self.decide(at, known)?
            }
            Ex::AtMost(a, b) => {
                let (x, y) = (self.code(*a)?, self.code(*b)?);
                let known = self.order(x, y).and_then(|o| match o {
                    OrderKnown::Known(o) => Some(o != std::cmp::Ordering::Greater),
                    OrderKnown::SameSide => None,
                });
                self.decide(at, known)?
            }
            Ex::Read(field, map, key) => {
                let key = self.code(*key)?;
                self.read(*field, *map, key, at)?
            }
            Ex::In(e, set) => {
                let e = self.code(*e)?;
                self.member(e, *set, at)?
            }
            Ex::Empty => {
                self.touched = true;
                let (first, _) = self.model.ends.expect("a specification over a sequence has ends");
                truth(self.view.vars[first as usize] == NULL)
            }
            Ex::First | Ex::Last => {
                self.touched = true;
                let (first, last) = self.model.ends.expect("a specification over a sequence has ends");
                let slot = if arena[at as usize] == Ex::First { first } else { last };
                self.view.vars[slot as usize]
            }
            Ex::HasKey(k) => {
                self.touched = true;
                let k = self.code(*k)?;
                let slot = self.model.has_key.expect("a specification over a set has a membership");
                if k == EQUAL { self.view.vars[slot as usize] } else { self.choose(at, 0, &[FALSE, TRUE])? }
            }
            Ex::Opaque(parts) => {
                for p in parts {
                    self.code(*p)?;
                }
                ANY
            }
            Ex::Field(_) | Ex::Store(..) | Ex::Live(_) | Ex::Insert(..) | Ex::Remove(..) => {
                return Err(EvalStop::Alarm(Alarm::Lost("a map or a set is used as a value".into())));
            }
        })
    }
    /// The truth of a formula; an unconstrained boolean is chosen.
    pub(crate) fn formula(&mut self, at: ExId) -> Result<bool, EvalStop> {
        let c = self.code(at)?;
        if c == ANY { Ok(self.choose(at, u16::MAX, &[FALSE, TRUE])? == TRUE) } else { Ok(c == TRUE) }
    }
    fn decide(&self, at: ExId, known: Option<bool>) -> Result<Code, EvalStop> {
        match known {
            Some(b) => Ok(truth(b)),
            None => self.choose(at, 0, &[FALSE, TRUE]),
        }
    }
    fn order(&self, a: Code, b: Code) -> Option<OrderKnown> {
        use std::cmp::Ordering;
        let key = |c: Code| (BELOW..=ABOVE).contains(&c);
        if key(a) && key(b) {
            return Some(match a.cmp(&b) {
                Ordering::Equal if a != EQUAL => OrderKnown::SameSide,
                o => OrderKnown::Known(o),
            });
        }
        match (self.model.constant_of(a), self.model.constant_of(b)) {
            (Some(Constant::Number(x)), Some(Constant::Number(y))) => Some(OrderKnown::Known(x.cmp(&y))),
            _ => None,
        }
    }
    /// The value of a (possibly updated) field at a key.
    fn read(&mut self, field: u16, map: ExId, key: Code, reader: ExId) -> Result<Code, EvalStop> {
        let arena = self.arena;
        match &arena[map as usize] {
            Ex::Field(_) => self.row(field, key),
            Ex::Store(inner, k, v) => {
                let k = self.code(*k)?;
                let same = match equal(key, k) {
                    Some(same) => same,
                    None => self.choose(map, reader, &[FALSE, TRUE])? == TRUE,
                };
                if same { self.code(*v) } else { self.read(field, *inner, key, reader) }
            }
            Ex::Ite(c, a, b) => {
                let branch = if self.formula(*c)? { *a } else { *b };
                self.read(field, branch, key, reader)
            }
            _ => Err(EvalStop::Alarm(Alarm::Lost("a map that is not a field".into()))),
        }
    }
    fn row(&mut self, field: u16, key: Code) -> Result<Code, EvalStop> {
        if key == NULL {
            // The map has some value there; gates keep programs from depending on it.
            return Ok(ANY);
        }
        if !is_cell(key) {
            let name = &self.model.fields[field as usize].name;
            return Err(EvalStop::Alarm(Alarm::Lost(format!("field {name} of an unknown object is read"))));
        }
        self.touched |= !self.view.owned(key);
        match self.model.fields[field as usize].stored {
            Stored::Colour(i) => Ok(self.model.kinds[self.view.kind(key) as usize].colours[i as usize]),
            Stored::Row(r) => match definite(self.view.row(key, r as usize)) {
                Some(SELF) => Ok(key),
                Some(c) => Ok(c),
                None => Err(EvalStop::Split(key, r as usize)),
            },
        }
    }
    fn member(&mut self, e: Code, set: ExId, reader: ExId) -> Result<Code, EvalStop> {
        let arena = self.arena;
        match &arena[set as usize] {
            Ex::Live(_) => match e {
                NULL => Ok(FALSE),
                c if is_cell(c) => Ok(truth(c < self.fresh)),
                _ => self.choose(set, reader, &[FALSE, TRUE]),
            },
            Ex::Insert(x, inner) => {
                let x = self.code(*x)?;
                match equal(e, x) {
                    Some(true) => Ok(TRUE),
                    Some(false) => self.member(e, *inner, reader),
                    None => self.choose(set, reader, &[FALSE, TRUE]),
                }
            }
            Ex::Remove(inner, x) => {
                let x = self.code(*x)?;
                match equal(e, x) {
                    Some(true) => Ok(FALSE),
                    Some(false) => self.member(e, *inner, reader),
                    None => self.choose(set, reader, &[FALSE, TRUE]),
                }
            }
            Ex::Ite(c, a, b) => {
                let branch = if self.formula(*c)? { *a } else { *b };
                self.member(e, branch, reader)
            }
            _ => Err(EvalStop::Alarm(Alarm::Lost("a set that is not the live objects".into()))),
        }
    }
    /// The objects that a set of live objects loses.
    pub(crate) fn removed(&mut self, set: ExId, out: &mut Vec<Code>) -> Result<(), EvalStop> {
        let arena = self.arena;
        match &arena[set as usize] {
            Ex::Insert(_, inner) => self.removed(*inner, out),
            Ex::Remove(inner, x) => {
                self.removed(*inner, out)?;
                out.push(self.code(*x)?);
                Ok(())
            }
            Ex::Ite(c, a, b) => {
                let branch = if self.formula(*c)? { *a } else { *b };
                self.removed(branch, out)
            }
            _ => Ok(()),
        }
    }
    /// The entries that a map's new value writes, in order, each with the slot that the value is read from, if it is a slot.
    pub(crate) fn writes(&mut self, map: ExId, out: &mut Vec<(Code, Code, Option<u16>)>) -> Result<(), EvalStop> {
        let arena = self.arena;
        match &arena[map as usize] {
            Ex::Field(_) => Ok(()),
            Ex::Store(inner, k, v) => {
                self.writes(*inner, out)?;
                let key = self.code(*k)?;
                let value = self.code(*v)?;
                let from = if let Ex::Slot(s) = arena[*v as usize] { Some(s) } else { None };
                out.push((key, value, from));
                Ok(())
            }
            Ex::Ite(c, a, b) => {
                let branch = if self.formula(*c)? { *a } else { *b };
                self.writes(branch, out)
            }
            _ => Err(EvalStop::Alarm(Alarm::Lost("a map that is not a field".into()))),
        }
    }
}

enum OrderKnown {
    Known(std::cmp::Ordering),
    /// Both below, or both above, the one key.
    SameSide,
}

/// Whether two codes are the same value; `None` where the view does not know.
pub(crate) fn equal(a: Code, b: Code) -> Option<bool> {
    let vague = |c: Code| matches!(c, ANY | OPEN);
    if vague(a) || vague(b) {
        return None;
    }
    if a == b {
        return if matches!(a, THIRD | BELOW | ABOVE) { None } else { Some(true) };
    }
    // In a pair every id of the scheduled thread's variables is the onlooker's or a third thread's: `meet` has distinguished these.
    Some(false)
}
