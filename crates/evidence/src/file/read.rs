//! Reading JSON with the path kept for messages.
//!
//! In: a JSON value and where it stands. Out: its fields, lists, numbers and texts, or a `FileError` with that place.

use super::FileError;
use program::{Program, ThreadId};
use serde_json::Value as Json;

#[derive(Clone)]
pub(crate) struct JsonReader<'a> {
    json: &'a Json,
    path: String,
}

impl<'a> JsonReader<'a> {
    pub(super) fn new(json: &'a Json, path: &str) -> Self {
        Self { json, path: path.into() }
    }
    pub(super) fn error(&self, what: impl std::fmt::Display) -> FileError {
        FileError(format!("at {}: {what}", self.path))
    }
    pub(super) fn field(&self, name: &str) -> Result<JsonReader<'a>, FileError> {
        match self.json.get(name) {
            Some(json) => Ok(JsonReader { json, path: format!("{}.{name}", self.path) }),
            None => Err(self.error(format!("`{name}` is missing"))),
        }
    }
    pub(crate) fn optional(&self, name: &str) -> Option<JsonReader<'a>> {
        match self.json.get(name) {
            Some(Json::Null) | None => None,
            Some(json) => Some(JsonReader { json, path: format!("{}.{name}", self.path) }),
        }
    }
    pub(super) fn list(&self) -> Result<Vec<JsonReader<'a>>, FileError> {
        let items = self.json.as_array().ok_or_else(|| self.error("a list was expected"))?;
        Ok(items.iter().enumerate().map(|(i, json)| JsonReader { json, path: format!("{}[{i}]", self.path) }).collect())
    }
    pub(super) fn string(&self) -> Result<&'a str, FileError> {
        self.json.as_str().ok_or_else(|| self.error("a string was expected"))
    }
    pub(super) fn is_null(&self) -> bool {
        self.json.is_null()
    }
    pub(super) fn boolean(&self) -> Result<bool, FileError> {
        self.json.as_bool().ok_or_else(|| self.error("true or false was expected"))
    }
    /// Whole numbers; beyond 64 bits they are written as strings.
    pub(super) fn number(&self) -> Result<i128, FileError> {
        let parsed = match self.json {
            Json::Number(n) => n.as_i64().map(i128::from).or_else(|| n.as_u64().map(i128::from)),
            Json::String(s) => s.parse().ok(),
            _ => None,
        };
        parsed.ok_or_else(|| self.error("a whole number was expected"))
    }
    pub(super) fn index(&self, limit: usize) -> Result<usize, FileError> {
        match usize::try_from(self.number()?) {
            Ok(n) if n < limit => Ok(n),
            _ => Err(self.error(format!("a number below {limit} was expected"))),
        }
    }
    pub(super) fn count(&self) -> Result<u32, FileError> {
        u32::try_from(self.number()?).map_err(|_| self.error("a count was expected"))
    }
}

/// A number as JSON: a string where 64 bits do not suffice.
pub(super) fn number(n: i128) -> Json {
    i64::try_from(n).map_or_else(|_| Json::String(n.to_string()), Json::from)
}

pub(super) fn read_thread(program: &Program, r: &JsonReader<'_>) -> Result<ThreadId, FileError> {
    let name = r.string()?;
    let found = program.threads.iter_enumerated().find(|(_, t)| t.name == name).map(|(id, _)| id);
    found.ok_or_else(|| r.error(format!("no thread is called `{name}`")))
}
