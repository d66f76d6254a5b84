//! Values: what evaluation gives, what states and models hold.
//!
//! In: nothing. Out: `Value`. `Any` stands for a value that has not been looked at yet (an uninitialised variable, a key
//! of an uninitialised map). Evaluation never computes with it: it stops and names the place, and the caller decides the
//! value there.

use crate::sort::{Sort, SortKind};
use crate::term::{Term, Terms};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    Bool(bool),
    /// `Int`, thread ids, and machine integers (in the range of their sort).
    Int(i128),
    /// A variant, by position.
    Variant(u32),
    /// An object number; 0 is null.
    Ref(u32),
    /// A total map: every key not listed has the default. No listed value equals the default.
    Map(Box<MapValue>),
    Set(BTreeSet<Value>),
    Seq(Vec<Value>),
    /// Not decided yet.
    Any,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MapValue {
    pub default: Value,
    pub entries: BTreeMap<Value, Value>,
}

impl MapValue {
    pub fn get(&self, key: &Value) -> &Value {
        self.entries.get(key).unwrap_or(&self.default)
    }
    pub fn set(&mut self, key: Value, value: Value) {
        if value == self.default {
            self.entries.remove(&key);
        } else {
            self.entries.insert(key, value);
        }
    }
}

impl Value {
    pub fn map(default: Value) -> Value {
        Value::Map(Box::new(MapValue { default, entries: BTreeMap::new() }))
    }
    /// The map of a sort that is `value` at every key. Over booleans and enums every key is listed over the default of
    /// the value sort: a map written key by key must be equal to it.
    pub fn everywhere(terms: &Terms, sort: Sort, value: Value) -> Value {
        let SortKind::Map(key, element) = terms.kind(sort) else { return Value::map(value) };
        let keys: Vec<Value> = match terms.kind(key) {
            SortKind::Bool => vec![Value::Bool(false), Value::Bool(true)],
            SortKind::Enum(e) => (0..terms.enum_size(e) as u32).map(Value::Variant).collect(),
            _ => return Value::map(value),
        };
        let mut entries = MapValue { default: Value::default_of(terms, element), entries: BTreeMap::new() };
        for key in keys {
            entries.set(key, value.clone());
        }
        Value::Map(Box::new(entries))
    }
    /// Whether some part of it is not decided.
    pub fn is_open(&self) -> bool {
        match self {
            Value::Any => true,
            Value::Map(m) => m.default.is_open() || m.entries.values().any(Value::is_open),
            _ => false,
        }
    }
    /// The wholly undecided value of a sort: maps are undecided key by key.
    pub fn any_of(terms: &Terms, sort: Sort) -> Value {
        match terms.kind(sort) {
            SortKind::Map(_, v) => Value::map(Value::any_of(terms, v)),
            _ => Value::Any,
        }
    }
    /// The default value of a sort, the same as `Terms::default_of`.
    pub fn default_of(terms: &Terms, sort: Sort) -> Value {
        match terms.kind(sort) {
            SortKind::Bool => Value::Bool(false),
            SortKind::Int | SortKind::Machine(_) => Value::Int(0),
            SortKind::Enum(_) => Value::Variant(0),
            SortKind::Ref(_) => Value::Ref(0),
            SortKind::Map(_, v) => Value::map(Value::default_of(terms, v)),
            SortKind::Set(_) => Value::Set(BTreeSet::new()),
            SortKind::Seq(_) => Value::Seq(Vec::new()),
        }
    }
    /// The term that denotes this value; `None` where part of it is undecided.
    pub fn to_term(&self, terms: &Terms, sort: Sort) -> Option<Term> {
        use crate::term::Op;
        Some(match (self, terms.kind(sort)) {
            (Value::Bool(b), SortKind::Bool) => terms.bool(*b),
            (Value::Int(n), SortKind::Int | SortKind::Machine(_)) => terms.num(*n, sort),
            (Value::Variant(v), SortKind::Enum(e)) => terms.variant(e, *v),
            (Value::Ref(n), SortKind::Ref(c)) => terms.reference(c, *n),
            (Value::Map(m), SortKind::Map(k, v)) => {
                let mut out = terms.const_map(sort, m.default.to_term(terms, v)?);
                for (key, value) in &m.entries {
                    out = terms.store(out, key.to_term(terms, k)?, value.to_term(terms, v)?);
                }
                out
            }
            (Value::Set(s), SortKind::Set(e)) => {
                let mut out = terms.mk(Op::EmptySet(sort), &[]);
                for element in s {
                    out = terms.mk(Op::Insert, &[element.to_term(terms, e)?, out]);
                }
                out
            }
            (Value::Seq(q), SortKind::Seq(e)) => {
                let mut out = terms.mk(Op::EmptySeq(sort), &[]);
                for element in q {
                    let unit = terms.mk(Op::Unit, &[element.to_term(terms, e)?]);
                    out = terms.mk(Op::Concat, &[out, unit]);
                }
                out
            }
            _ => return None,
        })
    }
    /// The value as the language writes it; the sort gives enum names.
    pub fn show(&self, terms: &Terms, sort: Sort) -> String {
        match (self, terms.kind(sort)) {
            (Value::Bool(b), _) => b.to_string(),
            (Value::Int(n), _) => n.to_string(),
            (Value::Variant(v), SortKind::Enum(e)) => {
                terms.enum_decl(e).variants.get(*v as usize).cloned().unwrap_or_else(|| format!("#{v}"))
            }
            (Value::Ref(0), _) => "null".into(),
            (Value::Ref(n), SortKind::Ref(c)) => format!("{}#{n}", terms.class_name(c)),
            (Value::Map(m), SortKind::Map(k, v)) => {
                let mut parts: Vec<String> =
                    m.entries.iter().map(|(a, b)| format!("{}: {}", a.show(terms, k), b.show(terms, v))).collect();
                parts.push(format!("_: {}", m.default.show(terms, v)));
                format!("[{}]", parts.join(", "))
            }
            (Value::Set(s), SortKind::Set(e)) => {
                format!("{{{}}}", s.iter().map(|x| x.show(terms, e)).collect::<Vec<_>>().join(", "))
            }
            (Value::Seq(q), SortKind::Seq(e)) => {
                format!("[{}]", q.iter().map(|x| x.show(terms, e)).collect::<Vec<_>>().join(", "))
            }
            (Value::Any, _) => "?".into(),
            (other, _) => format!("{other:?}"),
        }
    }
}
