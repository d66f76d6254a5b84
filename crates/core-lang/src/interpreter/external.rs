//! Calls of functions without a body: what the interpreter hands to a library, and what it takes back.
//!
//! In: a call with its evaluated arguments. Out: a reply of the row that the library has for it. The interpreter is given a
//! `LibraryTable`; it knows no function by name. Deliberately absent: the rows themselves (`library`).

use super::{AfterCall, ExecutionStop, Interpreter, PassedArgument, Patience, ViolationKind, Wait};
use crate::module::{FunctionId, ResultKind};
use crate::value::{CoreValue, ScalarType};
use rustc_hash::FxHashMap;

/// A call on its way to a row.
#[derive(Debug)]
pub(crate) struct CallSite<'a> {
    pub name: &'a str,
    pub arguments: Vec<(CoreValue, ScalarType)>,
    pub result: ResultKind,
}

/// What a row answers.
pub(crate) enum Reply {
    Value(CoreValue),
    /// The thread waits and the call is made again.
    Block(Wait, Patience),
    /// The call goes on in a later step: others may move in between.
    Again,
    /// A function of the program is called; the result is delivered beforehand.
    Call {
        function: FunctionId,
        arguments: Vec<PassedArgument>,
        after: AfterCall,
        value: CoreValue,
    },
    EndThread(CoreValue),
    /// The place after this call is marked, and zero is given.
    Mark((u32, u64)),
    /// The thread goes on at the place that was marked so, with this value.
    Jump((u32, u64), CoreValue),
    Exit(i32),
}

pub(crate) type Answer = Result<Reply, ExecutionStop>;

#[derive(Clone, Copy)]
pub(crate) struct LibraryRow {
    pub name: &'static str,
    /// Reads, writes, result, `errno`, blocking, in this order, as far as there is something to say.
    #[allow(dead_code, reason = "for readers; a test asks that every row has one")]
    pub effect: &'static str,
    pub run: fn(&mut Interpreter<'_>, &CallSite<'_>) -> Answer,
}

/// What a library offers.
pub(crate) struct LibraryTable {
    pub rows: FxHashMap<&'static str, LibraryRow>,
    /// Whether what a row does may depend on the world outside the program.
    pub looks_outside: fn(&str) -> bool,
}

impl CallSite<'_> {
    pub(crate) fn value(&self, number: usize) -> Result<CoreValue, ExecutionStop> {
        self.arguments.get(number).map(|(value, _)| *value).ok_or_else(|| {
            let text = format!("`{}` is called with {} arguments", self.name, self.arguments.len());
            ExecutionStop::violation(ViolationKind::BadCall, text)
        })
    }
    /// An argument that is a number and was set.
    pub(crate) fn int(&self, number: usize) -> Result<i128, ExecutionStop> {
        match self.value(number)? {
            CoreValue::Undefined => {
                let text = format!("argument {} of `{}` was never set", number + 1, self.name);
                Err(ExecutionStop::violation(ViolationKind::Uninitialised, text))
            }
            value => value.as_int().ok_or_else(|| {
                ExecutionStop::violation(
                    ViolationKind::BadCall,
                    format!("argument {} of `{}` is no number", number + 1, self.name),
                )
            }),
        }
    }
    pub(crate) fn float(&self, number: usize) -> Result<f64, ExecutionStop> {
        match self.value(number)? {
            CoreValue::Float(value) => Ok(value),
            CoreValue::Undefined => {
                let text = format!("argument {} of `{}` was never set", number + 1, self.name);
                Err(ExecutionStop::violation(ViolationKind::Uninitialised, text))
            }
            other => Ok(other.as_int().unwrap_or(0) as f64),
        }
    }
    pub(crate) fn size(&self, number: usize) -> Result<u64, ExecutionStop> {
        let value = self.int(number)?;
        u64::try_from(value).map_err(|_| ExecutionStop::Unsupported(format!("`{}` with the size {value}", self.name)))
    }
    pub(crate) fn is_null(&self, number: usize) -> Result<bool, ExecutionStop> {
        Ok(self.value(number)?.is_zero() == Some(true))
    }
    pub(crate) fn unsupported<T>(&self, what: &str) -> Result<T, ExecutionStop> {
        Err(ExecutionStop::Unsupported(format!("`{}` {what}", self.name)))
    }
}
