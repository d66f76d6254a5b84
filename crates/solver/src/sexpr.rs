//! Answers of solvers: S-expressions, and the values they write.
//!
//! In: text from a process that may be broken. Out: a tree, or nothing; never a panic, and no deeper than a limit.

use crate::answer::Machines;
use crate::encode::EncodingPurpose;
use crate::z3::value::{finite_domain, finite_map, from_number, is_outside};
use logic::{Sort, SortKind, Terms, Value};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sexpr {
    Atom(String),
    List(Vec<Sexpr>),
}

const MAX_NESTING: usize = 10_000;

impl Sexpr {
    /// Reads one expression; what follows it is ignored.
    pub(crate) fn read(text: &str) -> Option<Sexpr> {
        let mut stack: Vec<Vec<Sexpr>> = Vec::new();
        let mut rest = text.trim_start();
        loop {
            let first = rest.chars().next()?;
            let done = match first {
                '(' => {
                    if stack.len() >= MAX_NESTING {
                        return None;
                    }
                    stack.push(Vec::new());
                    rest = rest[1..].trim_start();
                    continue;
                }
                ')' => {
                    rest = rest[1..].trim_start();
                    Sexpr::List(stack.pop()?)
                }
                '|' | '"' => {
                    let end = rest[1..].find(first)? + 2;
                    let atom = rest[..end].to_string();
                    rest = rest[end..].trim_start();
                    Sexpr::Atom(atom)
                }
                _ => {
                    let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '(' | ')')).unwrap_or(rest.len());
                    let atom = rest[..end].to_string();
                    rest = rest[end..].trim_start();
                    Sexpr::Atom(atom)
                }
            };
            match stack.last_mut() {
                Some(list) => list.push(done),
                None => return Some(done),
            }
        }
    }

    pub(crate) fn list(&self) -> Option<&[Sexpr]> {
        if let Sexpr::List(items) = self { Some(items) } else { None }
    }

    fn atom(&self) -> Option<&str> {
        if let Sexpr::Atom(text) = self { Some(text) } else { None }
    }

    /// The name of an application, with `(as f S)` and `(_ f n)` seen through.
    fn head(&self) -> Option<&str> {
        match self {
            Sexpr::Atom(text) => Some(text),
            Sexpr::List(items) => match items.first()? {
                Sexpr::Atom(text) if text == "as" => items.get(1)?.atom(),
                first => first.head(),
            },
        }
    }

    fn number(&self) -> Option<i128> {
        match self {
            Sexpr::Atom(text) => {
                if let Some(hex) = text.strip_prefix("#x") {
                    return i128::from_str_radix(hex, 16).ok();
                }
                if let Some(bits) = text.strip_prefix("#b") {
                    return i128::from_str_radix(bits, 2).ok();
                }
                text.parse().ok()
            }
            Sexpr::List(items) => match &items[..] {
                [Sexpr::Atom(minus), n] if minus == "-" => n.number()?.checked_neg(),
                [Sexpr::Atom(under), Sexpr::Atom(bv), _] if under == "_" => bv.strip_prefix("bv")?.parse().ok(),
                _ => None,
            },
        }
    }

    /// The value written here, of this sort.
    pub(crate) fn value(&self, terms: &Terms, machines: Machines, sort: Sort) -> Option<Value> {
        let of = |e: &Sexpr, sort: Sort| e.value(terms, machines, sort);
        match terms.kind(sort) {
            SortKind::Bool => match self.atom()? {
                "true" => Some(Value::Bool(true)),
                "false" => Some(Value::Bool(false)),
                _ => None,
            },
            SortKind::Map(k, v) => {
                let (mut at, mut table) = (self, BTreeMap::new());
                while at.head()? == "store" {
                    let items = at.list()?;
                    let key = items.get(2)?;
                    if !is_outside(terms, machines, EncodingPurpose::Models, k, key.number()) {
                        let value = of(items.get(3)?, v)?;
                        table.entry(of(key, k)?).or_insert(value);
                    }
                    at = items.get(1)?;
                }
                if at.head()? != "const" {
                    return None;
                }
                Some(finite_map(terms, sort, table, of(at.list()?.get(1)?, v)?))
            }
            SortKind::Set(e) => self.set(terms, machines, e).map(Value::Set),
            SortKind::Seq(e) => {
                let mut out = Vec::new();
                self.seq(&mut |item| {
                    out.push(of(item, e)?);
                    Some(())
                })?;
                Some(Value::Seq(out))
            }
            _ => from_number(terms, machines, EncodingPurpose::Models, sort, self.number()?),
        }
    }

    fn set(&self, terms: &Terms, machines: Machines, element: Sort) -> Option<BTreeSet<Value>> {
        let items = self.list()?;
        let outside = |e: &Sexpr| is_outside(terms, machines, EncodingPurpose::Models, element, e.number());
        match self.head()? {
            "set.empty" => Some(BTreeSet::new()),
            "set.singleton" => {
                let item = items.get(1)?;
                if outside(item) {
                    return Some(BTreeSet::new());
                }
                Some(BTreeSet::from([item.value(terms, machines, element)?]))
            }
            "set.union" => {
                let mut all = BTreeSet::new();
                for part in &items[1..] {
                    all.extend(part.set(terms, machines, element)?);
                }
                Some(all)
            }
            "const" if items.get(1)?.atom()? == "false" => Some(BTreeSet::new()),
            "const" => Some(finite_domain(terms, element)?.into_iter().collect()),
            "store" => {
                let mut all = items.get(1)?.set(terms, machines, element)?;
                let item = items.get(2)?;
                if outside(item) {
                    return Some(all);
                }
                let item = item.value(terms, machines, element)?;
                if items.get(3)?.atom()? == "true" {
                    all.insert(item);
                } else {
                    all.remove(&item);
                }
                Some(all)
            }
            _ => None,
        }
    }

    fn seq(&self, each: &mut dyn FnMut(&Sexpr) -> Option<()>) -> Option<()> {
        let items = self.list()?;
        match self.head()? {
            "seq.empty" => Some(()),
            "seq.unit" => each(items.get(1)?),
            "seq.++" => items[1..].iter().try_for_each(|part| part.seq(each)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_nested_lists_and_quoted_names_are_read() {
        let read = Sexpr::read("((|a (b| (- 3)) \"x)\" #x0f) rest").unwrap();
        let items = read.list().unwrap();
        assert_eq!(items.len(), 3);
        assert_eq!(items[0].list().unwrap()[1].number(), Some(-3));
        assert_eq!(items[2].number(), Some(15));
    }

    #[test]
    fn check_broken_text_gives_nothing() {
        for text in ["", "(", ")", "(()", "|abc", "\"", "(a b"] {
            assert_eq!(Sexpr::read(text), None, "{text}");
        }
        assert_eq!(Sexpr::read(&"(".repeat(100_000)), None);
    }

    #[test]
    fn check_values_of_both_solvers_are_read() {
        let t = Terms::new();
        let set = t.sort(SortKind::Set(Sort::INT));
        let read = |text: &str, sort| Sexpr::read(text).unwrap().value(&t, Machines::Integers, sort);
        let both = Some(Value::Set(BTreeSet::from([Value::Int(1), Value::Int(-2)])));
        assert_eq!(read("(set.union (set.singleton 1) (set.singleton (- 2)))", set), both);
        assert_eq!(read("(store (store ((as const (Array Int Bool)) false) 1 true) (- 2) true)", set), both);
        assert_eq!(read("(as set.empty (Set Int))", set), Some(Value::Set(BTreeSet::new())));
        assert_eq!(read("((as const (Array Int Bool)) true)", set), None);
        let seq = t.sort(SortKind::Seq(Sort::INT));
        let two = Some(Value::Seq(vec![Value::Int(1), Value::Int(2)]));
        assert_eq!(read("(seq.++ (seq.unit 1) (seq.unit 2))", seq), two);
    }
}
