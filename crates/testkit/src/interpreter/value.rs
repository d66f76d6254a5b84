//! Values and types of the interpreter.
//!
//! Types are those of the text; machine integers are numbers that are wrapped when they are stored or computed. A value that nothing
//! has decided (a field of a new object, a local without a value) is `Undecided`; looking at one is outside what is compared.

use frontend::lang::ast::{MachineInt, Sign};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Value {
    Bool(bool),
    Int(i128),
    Variant(usize),
    /// `None`: null.
    Object(Option<Object>),
    Map(Box<Value>, BTreeMap<Value, Value>),
    Set(BTreeSet<Value>),
    Seq(Vec<Value>),
    Undecided,
}

/// An object: its class and its number.
pub(super) type Object = (usize, usize);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Ty {
    Bool,
    Int,
    Machine(MachineInt),
    Enum(usize),
    Class(usize),
    Map(Box<Ty>, Box<Ty>),
    Set(Box<Ty>),
    Seq(Box<Ty>),
    /// `null`, `{}` and `[]` where nothing says of what.
    Any,
}

/// A number as one of a machine type: modulo 2 to the number of bits.
pub(crate) fn wrap(n: i128, m: MachineInt) -> i128 {
    let size = 1i128 << m.bits;
    let low = ((n % size) + size) % size;
    if m.sign == Sign::Signed && low >= size / 2 { low - size } else { low }
}

/// Whether a number is one of a machine type.
pub(super) fn fits(n: i128, m: MachineInt) -> bool {
    wrap(n, m) == n
}

impl Value {
    pub(super) fn number(&self) -> Option<i128> {
        if let Value::Int(n) = self { Some(*n) } else { None }
    }
    /// A number stored in a place of a type.
    pub(crate) fn stored_as(self, ty: &Ty) -> Value {
        match (self, ty) {
            (Value::Int(n), Ty::Machine(m)) => Value::Int(wrap(n, *m)),
            (value, _) => value,
        }
    }
    pub(crate) fn is_decided(&self) -> bool {
        match self {
            Value::Undecided => false,
            Value::Map(default, entries) => default.is_decided() && entries.values().all(Value::is_decided),
            Value::Seq(items) => items.iter().all(Value::is_decided),
            Value::Set(items) => items.iter().all(Value::is_decided),
            _ => true,
        }
    }
    pub(super) fn entry(&self, key: &Value) -> Value {
        match self {
            Value::Map(default, entries) => entries.get(key).unwrap_or(default).clone(),
            _ => Value::Undecided,
        }
    }
    /// A map with one entry changed; an entry that is the default is not kept, so that equal maps are equal values.
    pub(crate) fn with_entry(self, key: Value, value: Value) -> Value {
        match self {
            Value::Map(default, mut entries) => {
                if *default == value {
                    entries.remove(&key);
                } else {
                    entries.insert(key, value);
                }
                Value::Map(default, entries)
            }
            other => other,
        }
    }
    /// The objects that a value refers to; the keys of a map lead nowhere.
    pub(super) fn objects(&self, out: &mut Vec<Object>) {
        match self {
            Value::Object(Some(o)) => out.push(*o),
            Value::Map(default, entries) => {
                default.objects(out);
                entries.values().for_each(|v| v.objects(out));
            }
            Value::Set(items) => items.iter().for_each(|v| v.objects(out)),
            Value::Seq(items) => items.iter().for_each(|v| v.objects(out)),
            _ => {}
        }
    }
}
