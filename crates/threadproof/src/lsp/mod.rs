//! `lsp`: a language server over standard input and output, for editors.
//!
//! In: messages of the Language Server Protocol. Out: diagnostics while a text is typed, verdicts at their lines when a file is saved, hover,
//! definition, references, rename, completion, formatting, code actions. Saved files are verified in a thread beside, and newest wins. Deliberately absent: any
//! judgement of its own: verdicts come from `verify`, errors from the front end.

mod index;
mod protocol;
mod text;
mod verdicts;

use crate::board::exit;
use crate::strategy;
use base::{Diagnostic, Sources, Span};
use index::{KEYWORDS, NameIndex, NameKind};
use lsp_server::{Connection, Message, Notification, Request, RequestId, Response};
use protocol::{CompletionKind, DocumentPosition, Mark, MarkedText, TextEdit, TextPosition, TextRange};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use verdicts::{SavedVerdicts, VerifierSlot};

/// The command that shows a run in a browser.
const SHOW_RUN: &str = "threadproof.showRun";

/// Texts of C and Java up to this length are looked at while they are typed.
const MAX_TYPED_BYTES: usize = 100_000;

/// What comments of C and Java may say to the verifier.
const ANNOTATION_WORDS: [&str; 5] = ["invariant", "rely", "requires", "ensures", "guarded_by"];

/// An open document.
#[derive(Clone, Default)]
struct OpenDocument {
    text: String,
    /// What is known of the text as it was saved; forgotten when it changes.
    saved: Option<SavedVerdicts>,
}

type Documents = Arc<Mutex<HashMap<String, OpenDocument>>>;

/// Serves one client until it says `exit`.
pub fn serve_client() -> i32 {
    let (connection, threads) = Connection::stdio();
    let served = Server::initialize(&connection).and_then(|server| server.listen(&connection));
    drop(connection);
    let _ = threads.join();
    match served {
        Ok(()) => exit::SAFE,
        Err(sentence) => {
            eprintln!("error: {sentence}");
            exit::USAGE
        }
    }
}

struct Server {
    documents: Documents,
    verifier: VerifierSlot,
}

impl Server {
    fn initialize(connection: &Connection) -> Result<Self, String> {
        connection.initialize(capabilities()).map_err(|e| e.to_string())?;
        Ok(Self { documents: Documents::default(), verifier: VerifierSlot::default() })
    }

    fn listen(&self, connection: &Connection) -> Result<(), String> {
        for message in &connection.receiver {
            match message {
                Message::Request(request) => {
                    if connection.handle_shutdown(&request).map_err(|e| e.to_string())? {
                        self.verifier.stop();
                        return Ok(());
                    }
                    let id = request.id.clone();
                    if request.method == "workspace/executeCommand" {
                        // To verify takes a while; the editor goes on meanwhile.
                        execute_beside(id, request.params, connection);
                        continue;
                    }
                    let response = strategy::guarded(|| self.answer(&request))
                        .unwrap_or_else(|panic| failure(id, &format!("internal error: {panic}")));
                    connection.sender.send(Message::Response(response)).map_err(|e| e.to_string())?;
                }
                Message::Notification(notification) => {
                    // A panic about one text leaves the server for the others.
                    let _ = strategy::guarded(|| self.note(&notification, connection));
                }
                Message::Response(_) => {}
            }
        }
        Ok(())
    }

    fn document(&self, uri: &str) -> OpenDocument {
        self.documents.lock().unwrap_or_else(PoisonError::into_inner).get(uri).cloned().unwrap_or_default()
    }

    fn note(&self, notification: &Notification, connection: &Connection) -> Option<()> {
        let params = &notification.params;
        let uri = protocol::document_uri(params).ok()?;
        match notification.method.as_str() {
            "textDocument/didOpen" => {
                self.changed(uri, params["textDocument"]["text"].as_str()?.to_string(), connection);
            }
            "textDocument/didChange" => {
                let text = params["contentChanges"].as_array()?.last()?["text"].as_str()?;
                self.changed(uri, text.to_string(), connection);
            }
            "textDocument/didSave" => self.verify(uri, connection),
            "textDocument/didClose" => {
                self.documents.lock().unwrap_or_else(PoisonError::into_inner).remove(&uri);
                publish(connection, &uri, &[]);
            }
            _ => {}
        }
        Some(())
    }

    fn changed(&self, uri: String, text: String, connection: &Connection) {
        let diagnostics = while_typed(&uri, &text);
        let document = OpenDocument { text, saved: None };
        self.documents.lock().unwrap_or_else(PoisonError::into_inner).insert(uri.clone(), document);
        publish(connection, &uri, &diagnostics);
    }

    /// Verifies a saved file beside the conversation.
    fn verify(&self, uri: String, connection: &Connection) {
        let Some(path) = path_of(&uri) else { return };
        self.verifier.stop();
        let (documents, verifier, sender) = (self.documents.clone(), self.verifier.clone(), connection.sender.clone());
        let text = self.document(&uri).text;
        let work = move || {
            let Some(found) = verifier.verify(&path, &text) else { return };
            let mut all = while_typed(&uri, &text);
            // What the front end says already is not said twice.
            let new = found
                .diagnostics
                .iter()
                .filter(|d| !all.iter().any(|o| o.range.start == d.range.start && o.source == d.source));
            let new: Vec<MarkedText> = new.cloned().collect();
            all.extend(new);
            let mut documents = documents.lock().unwrap_or_else(PoisonError::into_inner);
            match documents.get_mut(&uri) {
                Some(document) if document.text == text => document.saved = Some(found),
                // It was edited meanwhile: what was found is about another text.
                _ => return,
            }
            drop(documents);
            let _ = sender.send(diagnostics_message(&uri, &all));
        };
        let _ = std::thread::Builder::new().name("verify saved".into()).spawn(work);
    }

    fn answer(&self, request: &Request) -> Response {
        let id = request.id.clone();
        let params = &request.params;
        let here = || DocumentPosition::read(params);
        let result = match request.method.as_str() {
            "textDocument/hover" => here().map(|at| json!(self.hover(&at))),
            "textDocument/definition" => here().map(|at| json!(self.definition(&at))),
            "textDocument/references" => here().map(|at| json!(self.references(&at))),
            "textDocument/rename" => {
                let new = params["newName"].as_str().unwrap_or_default();
                here().and_then(|at| self.rename(&at, new))
            }
            "textDocument/completion" => here().map(|at| json!(self.completion(&at))),
            "textDocument/formatting" => protocol::document_uri(params).map(|uri| json!(self.formatting(&uri))),
            "textDocument/codeAction" => protocol::document_uri(params).map(|uri| json!(self.actions(&uri))),
            other => Err(format!("{other} is not answered")),
        };
        match result {
            Ok(value) => Response::new_ok(id, value),
            Err(sentence) => failure(id, &sentence),
        }
    }

    fn hover(&self, at: &DocumentPosition) -> Option<Value> {
        let document = self.document(&at.uri);
        let index = names_of(&at.uri, &document.text);
        let mut parts: Vec<String> = Vec::new();
        if let Some(declared) = index.declaration_at(text::offset_of(&document.text, at.position)) {
            let line = text::position_of(&document.text, declared.at.start).line as usize;
            let content = document.text.lines().nth(line).unwrap_or_default().trim();
            parts.push(format!(
                "```threadproof\n{content}\n```\n{} `{}`, line {}",
                described(declared.kind),
                declared.name,
                line + 1
            ));
        }
        let line = at.position.line as usize + 1;
        parts.extend(document.saved.iter().flat_map(|s| &s.notes).filter(|(l, _)| *l == line).map(|(_, n)| n.clone()));
        if let Some(name) = text::word_at(&document.text, at.position) {
            let inferred = document.saved.iter().flat_map(|s| &s.inferred);
            parts.extend(inferred.filter(|f| text::has_word(f, name)).map(|f| format!("found: `{f}`")));
        }
        (!parts.is_empty()).then(|| json!({ "contents": { "kind": "markdown", "value": parts.join("\n\n") } }))
    }

    fn definition(&self, at: &DocumentPosition) -> Option<Value> {
        let text = self.document(&at.uri).text;
        let index = names_of(&at.uri, &text);
        let declared = index.declaration_at(text::offset_of(&text, at.position))?;
        Some(protocol::location(&at.uri, text::range_of(&text, declared.at.clone())))
    }

    fn references(&self, at: &DocumentPosition) -> Vec<Value> {
        let text = self.document(&at.uri).text;
        let index = names_of(&at.uri, &text);
        let Some(declared) = index.declaration_at(text::offset_of(&text, at.position)) else { return Vec::new() };
        let place = |used| protocol::location(&at.uri, text::range_of(&text, used));
        index.uses(declared).into_iter().map(place).collect()
    }

    fn rename(&self, at: &DocumentPosition, new: &str) -> Result<Value, String> {
        let text = self.document(&at.uri).text;
        let is_name = new.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && new.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_name || KEYWORDS.contains(&new) {
            return Err(format!("`{new}` is not a name"));
        }
        let index = names_of(&at.uri, &text);
        let declared =
            index.declaration_at(text::offset_of(&text, at.position)).ok_or("there is no name that can be changed")?;
        let clash = |d: &&index::Declaration| {
            d.name == new && d.scope.start < declared.scope.end && declared.scope.start < d.scope.end
        };
        if let Some(other) = index.declarations.iter().find(clash) {
            let line = text::position_of(&text, other.at.start).line + 1;
            return Err(format!("`{new}` is declared already, in line {line}"));
        }
        let edit = |used| TextEdit::new(text::range_of(&text, used), new.to_string());
        let edits: Vec<TextEdit> = index.uses(declared).into_iter().map(edit).collect();
        Ok(protocol::workspace_edit(&at.uri, &edits))
    }

    fn completion(&self, at: &DocumentPosition) -> Vec<Value> {
        let text = self.document(&at.uri).text;
        if !is_own(&at.uri) {
            // Of C and Java other servers know the names; here it is about what stands in comments for this one.
            let line = text.lines().nth(at.position.line as usize).unwrap_or_default();
            let is_annotation = line.contains("//@") || line.contains("/*@") || line.trim_start().starts_with('@');
            let words = ANNOTATION_WORDS.iter().filter(|_| is_annotation);
            return words.map(|k| protocol::completion_item(k, CompletionKind::Keyword, "annotation")).collect();
        }
        let index = NameIndex::new(&text);
        let visible = index.visible(text::offset_of(&text, at.position));
        let members = visible.iter().any(|d| matches!(d.kind, NameKind::Field | NameKind::Operation));
        let named =
            visible.iter().map(|d| protocol::completion_item(&d.name, completion_kind(d.kind), described(d.kind)));
        let mut out: Vec<Value> = named.collect();
        if !members {
            let keyword = |k: &&str| protocol::completion_item(k, CompletionKind::Keyword, "keyword");
            out.extend(KEYWORDS.iter().map(keyword));
        }
        out
    }

    fn formatting(&self, uri: &str) -> Option<Vec<TextEdit>> {
        let text = self.document(uri).text;
        if !is_own(uri) {
            return None;
        }
        let mut sources = Sources::new();
        let parsed = frontend::lang::parse_file(&mut sources, uri, text.as_bytes());
        let formatted = frontend::lang::format_file(&parsed, &sources)?;
        let whole = TextRange::new(TextPosition::new(0, 0), text::position_of(&text, text.len()));
        Some(if formatted == text { Vec::new() } else { vec![TextEdit::new(whole, formatted)] })
    }

    fn actions(&self, uri: &str) -> Vec<Value> {
        let document = self.document(uri);
        let mut out = Vec::new();
        let Some(saved) = &document.saved else { return out };
        // Before the first thread or procedure, where declarations belong.
        let starts = |l: &str| ["thread ", "proc ", "inline ", "machine ", "object "].iter().any(|k| l.starts_with(k));
        let line = document.text.lines().position(starts).unwrap_or(0) as u32;
        let start = TextPosition::new(line, 0);
        for fact in &saved.inferred {
            let edit = TextEdit::new(TextRange::new(start, start), format!("{fact}\n"));
            let title = format!("insert the inferred `{fact}`");
            out.push(json!({ "title": title, "kind": "quickfix", "edit": protocol::workspace_edit(uri, &[edit]) }));
        }
        if saved.diagnostics.iter().any(|d| d.severity == Mark::Error) {
            out.push(json!({ "title": "show the run", "command": SHOW_RUN, "arguments": [uri] }));
        }
        out
    }
}

/// Answers a command when it is done, in a thread of its own.
fn execute_beside(id: RequestId, params: Value, connection: &Connection) {
    let sender = connection.sender.clone();
    let answer = id.clone();
    let work = move || {
        let address = strategy::guarded(|| page_of_run(&params)).unwrap_or(None);
        if let Some(address) = &address {
            let id = RequestId::from("show-run".to_string());
            let show = Request::new(id, "window/showDocument".into(), json!({ "uri": address, "external": true }));
            let _ = sender.send(Message::Request(show));
        }
        let _ = sender.send(Message::Response(Response::new_ok(answer, json!(address))));
    };
    if std::thread::Builder::new().name("command".into()).spawn(work).is_err() {
        let _ = connection.sender.send(Message::Response(failure(id, "no thread could be started")));
    }
}

/// Writes the web page of a file; its address.
fn page_of_run(params: &Value) -> Option<String> {
    let path = params["arguments"][0].as_str().and_then(path_of).filter(|_| params["command"] == SHOW_RUN)?;
    let page = std::env::temp_dir().join(format!("threadproof-run-{}.html", std::process::id()));
    let _ = std::fs::remove_file(&page);
    let ran = std::process::Command::new(std::env::current_exe().ok()?)
        .arg("verify")
        .arg(path)
        .arg("--html")
        .arg(&page)
        .args(["-q", "--time", "60s"])
        .stdin(std::process::Stdio::null())
        .output();
    (ran.is_ok() && page.is_file()).then(|| format!("file://{}", page.display()))
}

/// The names of a text in the modelling language; texts of other languages have none here.
fn names_of(uri: &str, text: &str) -> NameIndex {
    NameIndex::new(if is_own(uri) { text } else { "" })
}

fn capabilities() -> Value {
    /// The client sends the whole text.
    const WHOLE_TEXTS: u8 = 1;
    json!({
        "textDocumentSync": { "openClose": true, "change": WHOLE_TEXTS, "save": { "includeText": false } },
        "hoverProvider": true,
        "definitionProvider": true,
        "referencesProvider": true,
        "renameProvider": true,
        "completionProvider": { "triggerCharacters": ["."] },
        "documentFormattingProvider": true,
        "codeActionProvider": true,
        "executeCommandProvider": { "commands": [SHOW_RUN] },
    })
}

fn failure(id: RequestId, sentence: &str) -> Response {
    Response::new_err(id, lsp_server::ErrorCode::RequestFailed as i32, sentence.to_string())
}

fn publish(connection: &Connection, uri: &str, diagnostics: &[MarkedText]) {
    let _ = connection.sender.send(diagnostics_message(uri, diagnostics));
}

fn diagnostics_message(uri: &str, diagnostics: &[MarkedText]) -> Message {
    let said = protocol::published(uri, diagnostics);
    Message::Notification(Notification::new("textDocument/publishDiagnostics".into(), said))
}

fn is_own(uri: &str) -> bool {
    uri.ends_with(".tp")
}

/// The path of a `file:` address, with what is escaped in it read back.
fn path_of(uri: &str) -> Option<PathBuf> {
    let bytes = uri.strip_prefix("file://")?.as_bytes();
    let mut out = Vec::new();
    let mut i = 0;
    while i < bytes.len() {
        let escaped = (bytes[i] == b'%').then(|| bytes.get(i + 1..i + 3)).flatten();
        match escaped.and_then(|hex| std::str::from_utf8(hex).ok()).and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                i += 3;
            }
            None => {
                out.push(bytes[i]);
                i += 1;
            }
        }
    }
    Some(PathBuf::from(String::from_utf8(out).ok()?))
}

/// What the front end of its language says of a text.
fn while_typed(uri: &str, text: &str) -> Vec<MarkedText> {
    let mut sources = Sources::new();
    let name = path_of(uri).map_or_else(|| uri.to_string(), |p| p.display().to_string());
    let settings = frontend::lang::LoweringSettings::default();
    let ending = name.rsplit('.').next().unwrap_or_default();
    let found = match ending {
        "tp" => {
            let parsed = frontend::lang::parse_file(&mut sources, name.clone(), text.as_bytes());
            frontend::lang::lower_file(&parsed, &sources, &settings).diagnostics
        }
        // These take longer than a key press where a text is long; it is looked at when it is saved.
        _ if text.len() > MAX_TYPED_BYTES => Vec::new(),
        "java" => {
            let file = frontend::java::JavaText { name: name.clone(), text: text.to_string() };
            frontend::java::load_files(&mut sources, vec![file], &settings).1
        }
        "c" | "i" => {
            let file = frontend::c::CSource { path: name.clone().into(), text: text.to_string(), flags: Vec::new() };
            let options =
                frontend::c::COptions { model: frontend::c::DataModel::Lp64, checks: vec![frontend::c::CCheck::Reach] };
            frontend::c::load_files(&mut sources, &[file], &options).1
        }
        _ => Vec::new(),
    };
    let is_here = |d: &&Diagnostic| sources.file(d.span.file).text == text;
    found.iter().filter(is_here).map(|d| shown(text, d)).collect()
}

fn shown(text: &str, d: &Diagnostic) -> MarkedText {
    let range =
        |span: Span| text::range_of(text, span.start as usize..(span.end as usize).max(span.start as usize + 1));
    let hints: String = d.hints.iter().map(|h| format!("\n{h}")).collect();
    MarkedText {
        range: range(d.span),
        severity: if d.is_error() { Mark::Error } else { Mark::Warning },
        code: d.code.0.into(),
        source: "threadproof",
        message: format!("{}{hints}", d.message),
    }
}

fn described(kind: NameKind) -> &'static str {
    match kind {
        NameKind::Constant => "constant",
        NameKind::Variable => "shared variable",
        NameKind::Local => "local variable",
        NameKind::Field => "field",
        NameKind::Class => "class",
        NameKind::Enum => "enumeration",
        NameKind::Variant => "value of an enumeration",
        NameKind::Thread => "thread",
        NameKind::Procedure => "procedure",
        NameKind::Operation => "operation",
        NameKind::Machine => "machine",
        NameKind::Object => "object",
        NameKind::State => "state of a machine",
    }
}

fn completion_kind(kind: NameKind) -> CompletionKind {
    match kind {
        NameKind::Constant => CompletionKind::Constant,
        NameKind::Variable | NameKind::Local => CompletionKind::Variable,
        NameKind::Field => CompletionKind::Field,
        NameKind::Class | NameKind::Object | NameKind::Machine => CompletionKind::Class,
        NameKind::Enum => CompletionKind::Enum,
        NameKind::Variant | NameKind::State => CompletionKind::EnumMember,
        NameKind::Thread | NameKind::Procedure | NameKind::Operation => CompletionKind::Function,
    }
}
