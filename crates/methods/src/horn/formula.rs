//! Formulas over linear inequalities, from terms and back.
//!
//! In: a term and, for each of its symbols, a variable. Out: a formula in negation normal form over linear inequalities of
//! integers. Booleans are 0 or 1, enums and references are numbers; machine integers are numbers in their range, and an
//! operation that may wrap subtracts a whole multiple of 2^bits. Elements of maps at the indices that matter are variables; an element at another
//! index is any value.
//! Deliberately absent: products of variables, bit operations, sets, sequences, quantifiers, other maps: then `NotLinear` is said.

use super::simplex::LinearInequality;
use logic::{Node, Op, Sort, SortKind, Symbol, Term, Terms};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Formula {
    /// `linear <= 0`
    Le(LinearInequality),
    And(Vec<Formula>),
    Or(Vec<Formula>),
}

impl Formula {
    pub(super) fn truth() -> Self {
        Formula::And(Vec::new())
    }
    pub(crate) fn falsehood() -> Self {
        Formula::Or(Vec::new())
    }
    fn is_false(&self) -> bool {
        matches!(self, Formula::Or(list) if list.is_empty())
    }
}

/// What linear inequalities cannot say; or a number that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NotLinear(pub String);

fn overflow() -> NotLinear {
    NotLinear("a number does not fit 128 bits".into())
}

/// Variables of inequalities, each of a sort.
#[derive(Default)]
pub(crate) struct Variables {
    pub sorts: Vec<Sort>,
    elements: FxHashMap<(u32, i128), u32>,
}

impl Variables {
    pub(super) fn fresh(&mut self, sort: Sort) -> u32 {
        self.sorts.push(sort);
        self.sorts.len() as u32 - 1
    }
    /// The element of a map variable at an index.
    pub(super) fn element(&mut self, map: u32, index: i128, sort: Sort) -> u32 {
        if let Some(v) = self.elements.get(&(map, index)) {
            return *v;
        }
        let v = self.fresh(sort);
        self.elements.insert((map, index), v);
        v
    }
    pub(crate) fn element_of(&self, v: u32) -> Option<(u32, i128)> {
        self.elements.iter().find(|(_, x)| **x == v).map(|(k, _)| *k)
    }
}

/// Which variable a symbol is.
pub(crate) type Valuation = FxHashMap<Symbol, u32>;

/// For each map symbol, the indices that matter.
pub(crate) type Indices = FxHashMap<Symbol, Vec<i128>>;

/// Reads terms. What it learns on the way (ranges, wrapping) is collected in `sides` and belongs to the same label.
pub(crate) struct FormulaReader<'a> {
    pub terms: &'a Terms,
    pub variables: &'a mut Variables,
    pub(crate) valuation: &'a Valuation,
    /// The indices at which elements of each map are variables.
    pub(crate) indices: &'a Indices,
    pub sides: Vec<Formula>,
    /// What was said weaker than it is: an element that is at none of its map's indices.
    pub weaker: Option<String>,
}

/// A number by cases.
type Cases = Vec<(Vec<Formula>, LinearInequality)>;

const MAX_CASES: usize = 64;

impl FormulaReader<'_> {
    pub(super) fn formula(&mut self, term: Term, positive: bool) -> Result<Formula, NotLinear> {
        let t = self.terms;
        Ok(match t.node(term) {
            Node::Bool(b) if b == positive => Formula::truth(),
            Node::Bool(_) => Formula::falsehood(),
            Node::Sym(_) | Node::App(Op::Select, _) => {
                let cases = self.number(term)?;
                self.each(cases, |n| {
                    let n = if positive { LinearInequality::constant(1).minus(&n) } else { Some(n) };
                    n.map(Formula::Le).ok_or_else(overflow)
                })?
            }
            Node::App(Op::Not, args) => self.formula(args[0], !positive)?,
            Node::App(op @ (Op::And | Op::Or), args) => {
                let list = args.iter().map(|a| self.formula(*a, positive)).collect::<Result<Vec<_>, _>>()?;
                if (op == Op::And) == positive { all(list) } else { any(list) }
            }
            Node::App(Op::Implies, args) => {
                let list = vec![self.formula(args[0], !positive)?, self.formula(args[1], positive)?];
                if positive { any(list) } else { all(list) }
            }
            Node::App(Op::Ite, args) => {
                let yes = all(vec![self.formula(args[0], true)?, self.formula(args[1], positive)?]);
                let no = all(vec![self.formula(args[0], false)?, self.formula(args[2], positive)?]);
                any(vec![yes, no])
            }
            // Copies of booleans are equations of numbers: no case is split.
            Node::App(Op::Eq, args) if self.truth_value(args[0]).is_some() && self.truth_value(args[1]).is_some() => {
                let (Some(a), Some(b)) = (self.truth_value(args[0]), self.truth_value(args[1])) else {
                    return Err(overflow());
                };
                let mut d = a.minus(&b).ok_or_else(overflow)?;
                if !positive {
                    // They differ: their sum is one.
                    d = a.plus(&b).and_then(|s| s.minus(&LinearInequality::constant(1))).ok_or_else(overflow)?;
                }
                let turned = d.scale(-1).ok_or_else(overflow)?;
                all(vec![Formula::Le(d), Formula::Le(turned)])
            }
            Node::App(Op::Eq, args) if t.sort_of(args[0]) == Sort::BOOL => {
                let both = all(vec![self.formula(args[0], true)?, self.formula(args[1], positive)?]);
                let neither = all(vec![self.formula(args[0], false)?, self.formula(args[1], !positive)?]);
                any(vec![both, neither])
            }
            Node::App(Op::Eq, args) => {
                let difference = self.difference(args[0], args[1])?;
                self.each(difference, |d| {
                    let turned = d.scale(-1).ok_or_else(overflow)?;
                    Ok(if positive {
                        all(vec![Formula::Le(d), Formula::Le(turned)])
                    } else {
                        let below = turned.negated().ok_or_else(overflow)?;
                        any(vec![Formula::Le(d.negated().ok_or_else(overflow)?), Formula::Le(below)])
                    })
                })?
            }
            Node::App(op @ (Op::Lt | Op::Le), args) => {
                let difference = self.difference(args[0], args[1])?;
                self.each(difference, |mut d| {
                    if op == Op::Lt {
                        d.constant = d.constant.checked_add(1).ok_or_else(overflow)?;
                    }
                    let d = if positive { Some(d) } else { d.negated() };
                    d.map(Formula::Le).ok_or_else(overflow)
                })?
            }
            _ => return Err(NotLinear(format!("`{}` is not linear", t.show(term)))),
        })
    }
    /// A boolean as a number, where it is a constant, a variable, an element, or the negation of one.
    fn truth_value(&mut self, term: Term) -> Option<LinearInequality> {
        let t = self.terms;
        if t.sort_of(term) != Sort::BOOL {
            return None;
        }
        match t.node(term) {
            Node::Bool(b) => Some(LinearInequality::constant(i128::from(b))),
            Node::Sym(s) => {
                let v = *self.valuation.get(&s)?;
                self.range(v, Sort::BOOL);
                Some(LinearInequality::variable(v))
            }
            Node::App(Op::Not, args) => LinearInequality::constant(1).minus(&self.truth_value(args[0])?),
            Node::App(Op::Select, args) => match self.element(args[0], args[1], Sort::BOOL)? {
                Ok(cases) => match cases.as_slice() {
                    [(conditions, n)] if conditions.is_empty() => Some(n.clone()),
                    _ => None,
                },
                Err(_) => None,
            },
            _ => None,
        }
    }
    fn difference(&mut self, a: Term, b: Term) -> Result<Cases, NotLinear> {
        let (a, b) = (self.number(a)?, self.number(b)?);
        self.combine(&a, &b, |x, y| x.minus(y))
    }
    fn combine(
        &self,
        a: &Cases,
        b: &Cases,
        f: impl Fn(&LinearInequality, &LinearInequality) -> Option<LinearInequality>,
    ) -> Result<Cases, NotLinear> {
        if a.len() * b.len() > MAX_CASES {
            return Err(NotLinear("too many cases".into()));
        }
        let mut out = Vec::new();
        for (p, x) in a {
            for (q, y) in b {
                out.push((p.iter().chain(q).cloned().collect(), f(x, y).ok_or_else(overflow)?));
            }
        }
        Ok(out)
    }
    fn each(
        &self,
        cases: Cases,
        f: impl Fn(LinearInequality) -> Result<Formula, NotLinear>,
    ) -> Result<Formula, NotLinear> {
        let mut list = Vec::new();
        for (mut conditions, n) in cases {
            conditions.push(f(n)?);
            list.push(all(conditions));
        }
        Ok(any(list))
    }
    fn number(&mut self, term: Term) -> Result<Cases, NotLinear> {
        let t = self.terms;
        let beyond = || NotLinear(format!("`{}` is not linear", t.show(term)));
        let sort = t.sort_of(term);
        let exactly = |n: i128| vec![(Vec::new(), LinearInequality::constant(n))];
        match t.node(term) {
            Node::Num(n, _) => Ok(exactly(n)),
            Node::Variant(_, at) => Ok(exactly(i128::from(at))),
            Node::Ref(_, n) => Ok(exactly(i128::from(n))),
            Node::Bool(b) => Ok(exactly(i128::from(b))),
            Node::Sym(s) => {
                let v = *self.valuation.get(&s).ok_or_else(beyond)?;
                if matches!(t.kind(sort), SortKind::Map(..) | SortKind::Set(_) | SortKind::Seq(_)) {
                    return Err(beyond());
                }
                self.range(v, sort);
                Ok(vec![(Vec::new(), LinearInequality::variable(v))])
            }
            Node::App(Op::Select, args) => self.element(args[0], args[1], sort).ok_or_else(beyond)?,
            Node::App(Op::Ite, args) => {
                let (yes, no) = (self.formula(args[0], true)?, self.formula(args[0], false)?);
                let mut out = Vec::new();
                for (f, branch) in [(yes, args[1]), (no, args[2])] {
                    if f.is_false() {
                        continue;
                    }
                    for (mut conditions, n) in self.number(branch)? {
                        conditions.push(f.clone());
                        out.push((conditions, n));
                    }
                }
                if out.len() > MAX_CASES { Err(NotLinear("too many cases".into())) } else { Ok(out) }
            }
            Node::App(op @ (Op::Add | Op::Sub | Op::Mul), args) if args.len() == 2 => {
                let (a, b) = (self.number(args[0])?, self.number(args[1])?);
                let simple = |c: &Cases| c.iter().all(|(_, n)| n.parts.is_empty());
                let small = op != Op::Mul;
                let out = match op {
                    Op::Add => self.combine(&a, &b, |x, y| x.plus(y)),
                    Op::Sub => self.combine(&a, &b, |x, y| x.minus(y)),
                    _ if simple(&a) => self.combine(&a, &b, |x, y| y.scale(x.constant)),
                    _ if simple(&b) => self.combine(&a, &b, |x, y| x.scale(y.constant)),
                    _ => Err(beyond()),
                }?;
                self.wrapped(out, sort, small)
            }
            Node::App(Op::Neg, args) => {
                let out = self.number(args[0])?;
                let out =
                    out.into_iter()
                        .map(|(c, n)| Ok((c, n.scale(-1).ok_or_else(overflow)?)))
                        .collect::<Result<Cases, NotLinear>>()?;
                self.wrapped(out, sort, true)
            }
            Node::App(Op::Cast(_), args) if t.sort_of(args[0]).is_integer() => {
                let out = self.number(args[0])?;
                let wider = match (sort.as_machine(), t.sort_of(args[0]).as_machine()) {
                    (None, _) => true,
                    (Some(to), Some(from)) => to.min() <= from.min() && from.max() <= to.max(),
                    (Some(_), None) => false,
                };
                if wider { Ok(out) } else { self.wrapped(out, sort, false) }
            }
            Node::App(op @ (Op::Div | Op::Mod), args) => {
                let Node::Num(by, _) = t.node(args[1]) else { return Err(beyond()) };
                if by <= 0 {
                    return Err(beyond());
                }
                let (quotient, rest) = (self.variables.fresh(Sort::INT), self.variables.fresh(Sort::INT));
                let cases = self.number(args[0])?;
                let whole = LinearInequality { parts: vec![(quotient, by), (rest, 1)], constant: 0 };
                let equal = self.each(cases, |n| {
                    let d = n.minus(&whole).ok_or_else(overflow)?;
                    let turned = d.scale(-1).ok_or_else(overflow)?;
                    Ok(all(vec![Formula::Le(d), Formula::Le(turned)]))
                })?;
                self.sides.push(equal);
                self.between(&LinearInequality::variable(rest), 0, by - 1)?;
                let out = LinearInequality::variable(if op == Op::Div { quotient } else { rest });
                self.wrapped(vec![(Vec::new(), out)], sort, true)
            }
            _ => Err(beyond()),
        }
    }
    /// An element of a map, through stores and constant maps. An index that is not a number is split into the cases that it is
    /// one of the map's indices, and that it is none.
    fn element(&mut self, map: Term, index: Term, sort: Sort) -> Option<Result<Cases, NotLinear>> {
        let t = self.terms;
        let Some(at) = number(t, index) else {
            let known: BTreeSet<i128> =
                t.free_symbols(map).iter().filter_map(|s| self.indices.get(s)).flatten().copied().collect();
            return (!known.is_empty()).then(|| self.element_by_cases(map, index, sort, &known));
        };
        match t.node(map) {
            Node::Sym(s) => {
                let base = *self.valuation.get(&s)?;
                let v = self.variables.element(base, at, sort);
                self.range(v, sort);
                Some(Ok(vec![(Vec::new(), LinearInequality::variable(v))]))
            }
            Node::App(Op::Store, args) => match number(t, args[1]) {
                Some(n) if n == at => Some(self.value(args[2])),
                Some(_) => self.element(args[0], index, sort),
                None => {
                    let below = self.element(args[0], index, sort)?;
                    Some(self.stored(args[1], index, args[2], below))
                }
            },
            Node::App(Op::ConstMap(_), args) => Some(self.value(args[0])),
            _ => None,
        }
    }
    /// A number, or a truth value as one.
    fn value(&mut self, term: Term) -> Result<Cases, NotLinear> {
        if self.terms.sort_of(term) != Sort::BOOL {
            return self.number(term);
        }
        if let Some(n) = self.truth_value(term) {
            return Ok(vec![(Vec::new(), n)]);
        }
        let cases = [(true, 1), (false, 0)]
            .map(|(positive, n)| Ok((vec![self.formula(term, positive)?], LinearInequality::constant(n))));
        cases.into_iter().collect()
    }
    /// The element at `index` after a store at `place`, `below` being what it was before.
    fn stored(
        &mut self,
        place: Term,
        index: Term,
        value: Term,
        below: Result<Cases, NotLinear>,
    ) -> Result<Cases, NotLinear> {
        let (here, elsewhere) = (self.terms.eq(place, index), below?);
        let mut out = Vec::new();
        for (positive, cases) in [(true, self.value(value)?), (false, elsewhere)] {
            let f = self.formula(here, positive)?;
            out.extend(cases.into_iter().map(|(c, n)| (c.into_iter().chain([f.clone()]).collect::<Vec<_>>(), n)));
        }
        if out.len() > MAX_CASES { Err(NotLinear("too many cases".into())) } else { Ok(out) }
    }
    fn element_by_cases(
        &mut self,
        map: Term,
        index: Term,
        sort: Sort,
        known: &BTreeSet<i128>,
    ) -> Result<Cases, NotLinear> {
        let t = self.terms;
        let beyond = || NotLinear(format!("`{}` is at an index that is not known", t.show(t.select(map, index))));
        let mut out = Vec::new();
        let mut none = Vec::new();
        for k in known {
            let Some(k) = index_term(t, t.sort_of(index), *k) else { continue };
            let here = t.eq(index, k);
            let f = self.formula(here, true)?;
            none.push(self.formula(here, false)?);
            let cases = self.element(map, k, sort).ok_or_else(beyond)??;
            out.extend(cases.into_iter().map(|(c, n)| (c.into_iter().chain([f.clone()]).collect::<Vec<_>>(), n)));
        }
        let v = self.variables.fresh(sort);
        self.range(v, sort);
        self.weaker.get_or_insert_with(|| beyond().0);
        out.push((none, LinearInequality::variable(v)));
        if out.len() > MAX_CASES { Err(NotLinear("too many cases".into())) } else { Ok(out) }
    }
    fn range(&mut self, v: u32, sort: Sort) {
        let (low, high) = match self.terms.kind(sort) {
            SortKind::Bool => (0, Some(1)),
            SortKind::Machine(m) => (m.min(), Some(m.max())),
            SortKind::Enum(e) => (0, Some(self.terms.enum_size(e) as i128 - 1)),
            SortKind::Ref(_) => (0, None),
            _ => return,
        };
        let mut facts = vec![Formula::Le(LinearInequality { parts: vec![(v, -1)], constant: low })];
        facts.extend(high.map(|h| Formula::Le(LinearInequality { parts: vec![(v, 1)], constant: -h })));
        for f in facts {
            if !self.sides.contains(&f) {
                self.sides.push(f);
            }
        }
    }
    fn between(&mut self, n: &LinearInequality, low: i128, high: i128) -> Result<(), NotLinear> {
        let below = LinearInequality::constant(low).minus(n).ok_or_else(overflow)?;
        let above = n.minus(&LinearInequality::constant(high)).ok_or_else(overflow)?;
        self.sides.extend([Formula::Le(below), Formula::Le(above)]);
        Ok(())
    }
    /// The value modulo 2^bits, in the range of the sort. `once`: it is off by at most one multiple.
    fn wrapped(&mut self, cases: Cases, sort: Sort, once: bool) -> Result<Cases, NotLinear> {
        let Some(m) = sort.as_machine() else { return Ok(cases) };
        let fits = |n: &LinearInequality| n.parts.is_empty() && m.min() <= n.constant && n.constant <= m.max();
        let mut out = Vec::new();
        for (conditions, n) in cases {
            if fits(&n) {
                out.push((conditions, n));
                continue;
            }
            let times = self.variables.fresh(Sort::INT);
            let off = LinearInequality { parts: vec![(times, 1i128 << m.bits)], constant: 0 };
            let value = n.minus(&off).ok_or_else(overflow)?;
            if once {
                self.between(&LinearInequality::variable(times), -1, 1)?;
            }
            // Several cases share the sides: each multiple is defined whether or not its case applies.
            self.between(&value, m.min(), m.max())?;
            out.push((conditions, value));
        }
        Ok(out)
    }
}

/// An index that is a number.
pub(super) fn number(t: &Terms, x: Term) -> Option<i128> {
    match t.node(x) {
        Node::Num(n, _) => Some(n),
        Node::Variant(_, n) | Node::Ref(_, n) => Some(i128::from(n)),
        Node::Bool(b) => Some(i128::from(b)),
        _ => None,
    }
}

/// A number as an index of a map.
pub(crate) fn index_term(t: &Terms, key: Sort, k: i128) -> Option<Term> {
    match t.kind(key) {
        SortKind::Int => Some(t.int(k)),
        SortKind::Machine(_) => Some(t.num(k, key)),
        SortKind::Enum(e) => Some(t.variant(e, u32::try_from(k).ok()?)),
        SortKind::Bool => Some(t.bool(k != 0)),
        _ => None,
    }
}

pub(super) fn all(list: Vec<Formula>) -> Formula {
    let mut out = Vec::new();
    for f in list {
        match f {
            Formula::And(more) => out.extend(more),
            Formula::Or(x) if x.is_empty() => return Formula::falsehood(),
            f => out.push(f),
        }
    }
    if out.len() == 1 { out.pop().expect("there is one") } else { Formula::And(out) }
}

pub(crate) fn any(list: Vec<Formula>) -> Formula {
    let mut out = Vec::new();
    for f in list {
        match f {
            Formula::Or(more) => out.extend(more),
            Formula::And(x) if x.is_empty() => return Formula::truth(),
            f => out.push(f),
        }
    }
    if out.len() == 1 { out.pop().expect("there is one") } else { Formula::Or(out) }
}

/// An inequality as a term, each variable said by a term of its sort; `None` where the sorts have no sums.
pub(crate) fn to_term(t: &Terms, linear: &LinearInequality, say: &dyn Fn(u32) -> Option<Term>) -> Option<Term> {
    match linear.parts.as_slice() {
        [] => return Some(t.bool(linear.constant <= 0)),
        [(v, c)] => {
            let x = say(*v)?;
            let sort = t.sort_of(x);
            // c x <= -k, with c = 1 or -1 once tightened.
            let bound = if *c > 0 { linear.constant.checked_neg()? } else { linear.constant };
            if c.abs() == 1 {
                match t.kind(sort) {
                    SortKind::Bool => {
                        let holds = |value: i128| if *c > 0 { value <= bound } else { value >= bound };
                        return Some(match (holds(0), holds(1)) {
                            (true, true) => t.tt(),
                            (false, true) => x,
                            (true, false) => t.not(x),
                            (false, false) => t.ff(),
                        });
                    }
                    SortKind::Enum(e) => {
                        let fit = (0..t.enum_size(e) as u32)
                            .filter(|at| if *c > 0 { i128::from(*at) <= bound } else { i128::from(*at) >= bound });
                        return Some(t.or(&fit.map(|at| t.eq(x, t.variant(e, at))).collect::<Vec<_>>()));
                    }
                    SortKind::Ref(class) => {
                        let null = t.eq(x, t.null(class));
                        return match (*c > 0, bound) {
                            (true, 0) => Some(null),
                            (false, 1) => Some(t.not(null)),
                            _ => None,
                        };
                    }
                    SortKind::Machine(m) => {
                        if bound < m.min() {
                            return Some(t.bool(*c < 0));
                        }
                        if bound > m.max() {
                            return Some(t.bool(*c > 0));
                        }
                        let k = t.num(bound, sort);
                        return Some(if *c > 0 { t.le(x, k) } else { t.le(k, x) });
                    }
                    SortKind::Int => {
                        let k = t.int(bound);
                        return Some(if *c > 0 { t.le(x, k) } else { t.le(k, x) });
                    }
                    _ => return None,
                }
            }
        }
        _ => {}
    }
    // Positive parts on the left, negative ones on the right.
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for (v, c) in &linear.parts {
        let x = say(*v)?;
        let x = match t.kind(t.sort_of(x)) {
            SortKind::Int => x,
            SortKind::Machine(_) => t.cast(x, Sort::INT),
            SortKind::Bool => t.ite(x, t.int(1), t.int(0)),
            SortKind::Enum(e) => {
                let later = (1..t.enum_size(e) as u32).rev();
                later.fold(t.int(0), |rest, at| t.ite(t.eq(x, t.variant(e, at)), t.int(i128::from(at)), rest))
            }
            _ => return None,
        };
        let times = if c.abs() == 1 { x } else { t.mul(t.int(c.abs()), x) };
        if *c > 0 { left.push(times) } else { right.push(times) }
    }
    if linear.constant > 0 {
        left.push(t.int(linear.constant));
    } else if linear.constant < 0 {
        right.push(t.int(-linear.constant));
    }
    let sum = |list: Vec<Term>| list.into_iter().reduce(|a, b| t.add(a, b)).unwrap_or_else(|| t.int(0));
    Some(t.le(sum(left), sum(right)))
}
