//! The parts of the Language Server Protocol that this server speaks, as types.
//!
//! In: parameters of requests. Out: parts of answers and notifications. The crate that has types for the whole protocol takes a tenth of the time of a
//! first build; this is what is used of it. Deliberately absent: everything else of the protocol.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Counted from 0, in units of UTF-16.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextPosition {
    pub line: u32,
    pub character: u32,
}

impl TextPosition {
    pub fn new(line: u32, character: u32) -> Self {
        Self { line, character }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextRange {
    pub start: TextPosition,
    pub end: TextPosition,
}

impl TextRange {
    pub fn new(start: TextPosition, end: TextPosition) -> Self {
        Self { start, end }
    }
}

/// What stands in the place of a part of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TextEdit {
    pub range: TextRange,
    pub new_text: String,
}

impl TextEdit {
    pub fn new(range: TextRange, new_text: String) -> Self {
        Self { range, new_text }
    }
}

/// How an editor marks a line; the numbers are the protocol's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Error = 1,
    Warning = 2,
    Information = 3,
}

impl Serialize for Mark {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(*self as u8)
    }
}

/// Something said at a place of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MarkedText {
    pub range: TextRange,
    pub severity: Mark,
    pub code: String,
    pub source: &'static str,
    pub message: String,
}

/// The document of a request, and where in it.
#[derive(Clone, Debug)]
pub struct DocumentPosition {
    pub uri: String,
    pub position: TextPosition,
}

/// The document of a request.
pub fn document_uri(params: &Value) -> Result<String, String> {
    let uri = params["textDocument"]["uri"].as_str();
    uri.map(str::to_string).ok_or_else(|| "the request names no document".into())
}

impl DocumentPosition {
    pub fn read(params: &Value) -> Result<Self, String> {
        let position = serde_json::from_value(params["position"].clone()).map_err(|e| e.to_string())?;
        Ok(Self { uri: document_uri(params)?, position })
    }
}

/// A place for an answer.
pub fn location(uri: &str, range: TextRange) -> Value {
    json!({ "uri": uri, "range": range })
}

/// Edits of one document.
pub fn workspace_edit(uri: &str, edits: &[TextEdit]) -> Value {
    json!({ "changes": { uri: edits } })
}

/// What the notification of diagnostics says.
pub fn published(uri: &str, diagnostics: &[MarkedText]) -> Value {
    json!({ "uri": uri, "diagnostics": diagnostics })
}

/// What kind of thing a completion names; the numbers are the protocol's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletionKind {
    Function = 3,
    Field = 5,
    Variable = 6,
    Class = 7,
    Enum = 13,
    Keyword = 14,
    EnumMember = 20,
    Constant = 21,
}

pub fn completion_item(label: &str, kind: CompletionKind, detail: &str) -> Value {
    json!({ "label": label, "kind": kind as u8, "detail": detail })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_what_is_written_has_the_names_of_the_protocol() {
        let range = TextRange::new(TextPosition::new(1, 2), TextPosition::new(1, 5));
        let edit = workspace_edit("file:///a.tp", &[TextEdit::new(range, "new".into())]);
        let place = json!({ "start": { "line": 1, "character": 2 }, "end": { "line": 1, "character": 5 } });
        assert_eq!(edit, json!({ "changes": { "file:///a.tp": [{ "range": place, "newText": "new" }] } }));
        let marked = MarkedText {
            range,
            severity: Mark::Warning,
            code: "E1".into(),
            source: "threadproof",
            message: "m".into(),
        };
        let said = published("file:///a.tp", &[marked]);
        assert_eq!(said["diagnostics"][0]["severity"], 2);
        assert_eq!(said["diagnostics"][0]["range"], place);
    }

    #[test]
    fn check_a_request_without_a_position_is_an_error() {
        assert!(DocumentPosition::read(&json!({ "textDocument": { "uri": "file:///a.tp" } })).is_err());
        assert!(DocumentPosition::read(&json!({ "position": { "line": 0, "character": 0 } })).is_err());
    }
}
