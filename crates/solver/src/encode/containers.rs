//! Maps, sets and sequences: where an array is more than a map, and how the difference is kept from mattering.
//!
//! In: encoded parts. Out: expressions that agree with `logic::eval`. A map over part of the integers is an array over
//! all of them; what the array holds outside of the keys must never decide an answer "unsat".

use super::{Encoder, EncodingRefusal, EncodingTarget, Head};
use crate::answer::Machines;
use logic::{MachineIntSort, Node, Op, Sort, SortKind, Term};

/// Enums up to this size are compared, as keys, one by one.
const SMALL_ENUM: usize = 64;

impl<T: EncodingTarget> Encoder<'_, T> {
    fn narrow_key(&self, map: Sort) -> Option<MachineIntSort> {
        match self.terms.kind(map) {
            SortKind::Map(k, _) => k.as_machine().filter(|m| m.bits <= 16),
            _ => None,
        }
    }

    pub(super) fn stores_by_narrow_key(&self, term: Term) -> bool {
        let mut seen = rustc_hash::FxHashSet::default();
        let mut todo = vec![term];
        while let Some(t) = todo.pop() {
            if !seen.insert(t) {
                continue;
            }
            match self.terms.node(t) {
                Node::App(Op::Store, args) if self.narrow_key(self.terms.sort_of(args[0])).is_some() => return true,
                Node::App(_, args) => todo.extend(args.iter()),
                Node::Quant(_, _, body) => todo.push(body),
                _ => {}
            }
        }
        false
    }

    /// Equality or inclusion. Arrays over an enum may differ outside of it, and hold what is no value, so maps and
    /// sets over booleans and small enums are compared key by key.
    pub(super) fn compare(
        &mut self,
        term: Term,
        head: Head,
        sort: Sort,
        a: T::Expr,
        b: T::Expr,
    ) -> Result<T::Expr, EncodingRefusal> {
        let (key, value) = match self.terms.kind(sort) {
            SortKind::Map(k, v) => (k, Some(v)),
            SortKind::Set(k) => (k, None),
            _ => return self.apply(head, &[a, b]),
        };
        let keys = match self.terms.kind(key) {
            SortKind::Enum(e) if (1..=SMALL_ENUM).contains(&self.terms.enum_size(e)) => {
                (0..self.terms.enum_size(e)).map(|at| self.target.int(at as i128)).collect::<Result<Vec<_>, _>>()?
            }
            SortKind::Bool => vec![self.target.boolean(false)?, self.target.boolean(true)?],
            _ => return self.apply(head, &[a, b]),
        };
        let mut parts = Vec::with_capacity(keys.len());
        for at in keys {
            parts.push(match value {
                Some(v) => {
                    let (x, y) = (self.apply(Head::Select, &[a, at])?, self.apply(Head::Select, &[b, at])?);
                    self.keep_in_range(x, v, term)?;
                    self.keep_in_range(y, v, term)?;
                    self.compare(term, Head::Eq, v, x, y)?
                }
                None => {
                    let (x, y) = (self.apply(Head::Member, &[at, a])?, self.apply(Head::Member, &[at, b])?);
                    self.apply(if head == Head::Eq { Head::Eq } else { Head::Implies }, &[x, y])?
                }
            });
        }
        if let [one] = parts[..] { Ok(one) } else { self.apply(Head::And, &parts) }
    }

    /// Writing all keys of a map over a small type makes it a constant map for us and not for the array, which has
    /// more keys. It takes as many stores as there are keys; so many are refused.
    pub(super) fn store(&mut self, term: Term, e: &[T::Expr]) -> Result<T::Expr, EncodingRefusal> {
        if self.machines == Machines::Integers
            && let Some(m) = self.narrow_key(self.terms.sort_of(term))
        {
            let count = &mut self.narrow_stores[usize::from(m.bits > 8)];
            *count += 1;
            if i128::from(*count) > m.max() - m.min() {
                return Err(EncodingRefusal::new(
                    "as many stores into maps over a small machine integer as it has values",
                ));
            }
        }
        self.apply(Head::Store, e)
    }

    /// A constant map. Over an enum it is built from the default value by stores, so that all arrays that stand for
    /// maps over it agree outside of the enum.
    pub(super) fn const_map(&mut self, sort: Sort, value: T::Expr) -> Result<T::Expr, EncodingRefusal> {
        let shape = self.shape(sort);
        let SortKind::Map(key, element) = self.terms.kind(sort) else {
            return Err(EncodingRefusal::new("a map of no map sort"));
        };
        let SortKind::Enum(e) = self.terms.kind(key) else {
            return self.apply(Head::ConstArray((*shape).clone()), &[value]);
        };
        let default = self.terms.default_of(element);
        let default = self.encode(default)?.expr;
        let mut array = self.apply(Head::ConstArray((*shape).clone()), &[default])?;
        if default != value {
            for at in 0..self.terms.enum_size(e) {
                let at = self.target.int(at as i128)?;
                array = self.apply(Head::Store, &[array, at, value])?;
            }
        }
        Ok(array)
    }

    pub(super) fn at(&mut self, term: Term, seq: T::Expr, index: T::Expr) -> Result<T::Expr, EncodingRefusal> {
        let default = self.terms.default_of(self.terms.sort_of(term));
        let default = self.encode(default)?.expr;
        let zero = self.target.int(0)?;
        let len = self.apply(Head::Len, &[seq])?;
        let (low, high) = (self.apply(Head::Le, &[zero, index])?, self.apply(Head::Lt, &[index, len])?);
        let inside = self.apply(Head::And, &[low, high])?;
        let element = self.apply(Head::Nth, &[seq, index])?;
        self.apply(Head::Ite, &[inside, element, default])
    }

    pub(super) fn slice(&mut self, seq: T::Expr, from: T::Expr, to: T::Expr) -> Result<T::Expr, EncodingRefusal> {
        let zero = self.target.int(0)?;
        let len = self.apply(Head::Len, &[seq])?;
        let to = self.clamp(to, zero, len)?;
        let from = self.clamp(from, zero, to)?;
        let count = self.apply(Head::Sub, &[to, from])?;
        self.apply(Head::Extract, &[seq, from, count])
    }

    fn clamp(&mut self, e: T::Expr, low: T::Expr, high: T::Expr) -> Result<T::Expr, EncodingRefusal> {
        let under = self.apply(Head::Lt, &[e, low])?;
        let over = self.apply(Head::Lt, &[high, e])?;
        let rest = self.apply(Head::Ite, &[over, high, e])?;
        self.apply(Head::Ite, &[under, low, rest])
    }
}
