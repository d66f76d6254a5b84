//! `lsp`: a language server over standard input and output, for editors.
//!
//! In: messages of the Language Server Protocol. Out: diagnostics while a text is typed, verdicts at their lines when a file is saved, hover,
//! definition, references, rename, completion, formatting, code actions. Saved files are verified in a thread beside, and newest wins. Deliberately absent: any
//! judgement of its own: verdicts come from `verify`, errors from the front end.

mod index;
mod text;
mod verdicts;

use crate::board::exit;
use crate::strategy;
use base::{Diagnostic as SourceDiagnostic, Sources, Span};
use index::{KEYWORDS, NameIndex, NameKind};
use lsp_server::{Connection, Message, Notification, Request, RequestId, Response};
use lsp_types::notification::Notification as _;
use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, CodeActionProviderCapability, Command,
    CompletionItem, CompletionItemKind, CompletionOptions, CompletionParams, Diagnostic, DiagnosticSeverity,
    DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams, DidSaveTextDocumentParams,
    DocumentFormattingParams, ExecuteCommandOptions, ExecuteCommandParams, GotoDefinitionParams, Hover, HoverContents,
    HoverParams, Location, MarkupContent, MarkupKind, NumberOrString, OneOf, Position, PublishDiagnosticsParams, Range,
    ReferenceParams, RenameParams, SaveOptions, ServerCapabilities, TextDocumentSyncCapability, TextDocumentSyncKind,
    TextDocumentSyncOptions, TextDocumentSyncSaveOptions, TextEdit, Uri, WorkspaceEdit,
};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use verdicts::{SavedVerdicts, VerifierSlot};

/// The command that shows a run in a browser.
const SHOW_RUN: &str = "threadproof.showRun";

/// Texts of C and Java up to this length are looked at while they are typed.
const MAX_TYPED_BYTES: usize = 100_000;

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
        let capabilities = serde_json::to_value(capabilities()).map_err(|e| e.to_string())?;
        connection.initialize(capabilities).map_err(|e| e.to_string())?;
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
                    let response = strategy::guarded(|| self.answer(&request, connection))
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

    fn document(&self, uri: &Uri) -> OpenDocument {
        self.documents.lock().unwrap_or_else(PoisonError::into_inner).get(uri.as_str()).cloned().unwrap_or_default()
    }

    fn note(&self, notification: &Notification, connection: &Connection) -> Option<()> {
        use lsp_types::notification as n;
        let params = notification.params.clone();
        match notification.method.as_str() {
            n::DidOpenTextDocument::METHOD => {
                let opened: DidOpenTextDocumentParams = serde_json::from_value(params).ok()?;
                self.changed(opened.text_document.uri, opened.text_document.text, connection);
            }
            n::DidChangeTextDocument::METHOD => {
                let mut changed: DidChangeTextDocumentParams = serde_json::from_value(params).ok()?;
                self.changed(changed.text_document.uri, changed.content_changes.pop()?.text, connection);
            }
            n::DidSaveTextDocument::METHOD => {
                let saved: DidSaveTextDocumentParams = serde_json::from_value(params).ok()?;
                self.verify(saved.text_document.uri, connection);
            }
            n::DidCloseTextDocument::METHOD => {
                let closed: DidCloseTextDocumentParams = serde_json::from_value(params).ok()?;
                let uri = closed.text_document.uri;
                self.documents.lock().unwrap_or_else(PoisonError::into_inner).remove(uri.as_str());
                publish(connection, uri, Vec::new());
            }
            _ => {}
        }
        Some(())
    }

    fn changed(&self, uri: Uri, text: String, connection: &Connection) {
        let diagnostics = while_typed(&uri, &text);
        let document = OpenDocument { text, saved: None };
        self.documents.lock().unwrap_or_else(PoisonError::into_inner).insert(uri.as_str().to_string(), document);
        publish(connection, uri, diagnostics);
    }

    /// Verifies a saved file beside the conversation.
    fn verify(&self, uri: Uri, connection: &Connection) {
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
            let new: Vec<Diagnostic> = new.cloned().collect();
            all.extend(new);
            let mut documents = documents.lock().unwrap_or_else(PoisonError::into_inner);
            match documents.get_mut(uri.as_str()) {
                Some(document) if document.text == text => document.saved = Some(found),
                // It was edited meanwhile: what was found is about another text.
                _ => return,
            }
            drop(documents);
            let params = PublishDiagnosticsParams { uri, diagnostics: all, version: None };
            let method = lsp_types::notification::PublishDiagnostics::METHOD.to_string();
            let _ = sender.send(Message::Notification(Notification::new(method, params)));
        };
        let _ = std::thread::Builder::new().name("verify saved".into()).spawn(work);
    }

    fn answer(&self, request: &Request, connection: &Connection) -> Response {
        let id = request.id.clone();
        let params = request.params.clone();
        let result = match request.method.as_str() {
            "textDocument/hover" => serde_json::from_value(params).map(|p| json!(self.hover(&p))),
            "textDocument/definition" => serde_json::from_value(params).map(|p| json!(self.definition(&p))),
            "textDocument/references" => serde_json::from_value(params).map(|p| json!(self.references(&p))),
            "textDocument/rename" => match serde_json::from_value::<RenameParams>(params) {
                Ok(p) => match self.rename(&p) {
                    Ok(edit) => Ok(json!(edit)),
                    Err(sentence) => return failure(id, &sentence),
                },
                Err(e) => Err(e),
            },
            "textDocument/completion" => serde_json::from_value(params).map(|p| json!(self.completion(&p))),
            "textDocument/formatting" => serde_json::from_value(params).map(|p| json!(self.formatting(&p))),
            "textDocument/codeAction" => serde_json::from_value(params).map(|p| json!(self.actions(&p))),
            "workspace/executeCommand" => serde_json::from_value(params).map(|p| self.execute(&p, connection)),
            other => return failure(id, &format!("{other} is not answered")),
        };
        match result {
            Ok(value) => Response::new_ok(id, value),
            Err(error) => failure(id, &error.to_string()),
        }
    }

    fn hover(&self, params: &HoverParams) -> Option<Hover> {
        let at = &params.text_document_position_params;
        let document = self.document(&at.text_document.uri);
        let index = NameIndex::new(&document.text);
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
        (!parts.is_empty()).then(|| Hover {
            contents: HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value: parts.join("\n\n") }),
            range: None,
        })
    }

    fn definition(&self, params: &GotoDefinitionParams) -> Option<Location> {
        let at = &params.text_document_position_params;
        let text = self.document(&at.text_document.uri).text;
        let index = NameIndex::new(&text);
        let declared = index.declaration_at(text::offset_of(&text, at.position))?;
        Some(Location::new(at.text_document.uri.clone(), text::range_of(&text, declared.at.clone())))
    }

    fn references(&self, params: &ReferenceParams) -> Vec<Location> {
        let at = &params.text_document_position;
        let text = self.document(&at.text_document.uri).text;
        let index = NameIndex::new(&text);
        let Some(declared) = index.declaration_at(text::offset_of(&text, at.position)) else { return Vec::new() };
        let place = |used| Location::new(at.text_document.uri.clone(), text::range_of(&text, used));
        index.uses(declared).into_iter().map(place).collect()
    }

    #[allow(clippy::mutable_key_type)] // The map and its key are those of the protocol's types.
    fn rename(&self, params: &RenameParams) -> Result<WorkspaceEdit, String> {
        let at = &params.text_document_position;
        let text = self.document(&at.text_document.uri).text;
        let new = &params.new_name;
        let is_name = new.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && new.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_name || KEYWORDS.contains(&new.as_str()) {
            return Err(format!("`{new}` is not a name"));
        }
        let index = NameIndex::new(&text);
        let declared =
            index.declaration_at(text::offset_of(&text, at.position)).ok_or("there is no name that can be changed")?;
        let clash = |d: &&index::Declaration| {
            d.name == *new && d.scope.start < declared.scope.end && declared.scope.start < d.scope.end
        };
        if let Some(other) = index.declarations.iter().find(clash) {
            let line = text::position_of(&text, other.at.start).line + 1;
            return Err(format!("`{new}` is declared already, in line {line}"));
        }
        let edits =
            index.uses(declared).into_iter().map(|used| TextEdit::new(text::range_of(&text, used), new.clone()));
        let changes = HashMap::from([(at.text_document.uri.clone(), edits.collect())]);
        Ok(WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() })
    }

    fn completion(&self, params: &CompletionParams) -> Vec<CompletionItem> {
        let at = &params.text_document_position;
        let text = self.document(&at.text_document.uri).text;
        let index = NameIndex::new(&text);
        let visible = index.visible(text::offset_of(&text, at.position));
        let members = visible.iter().any(|d| matches!(d.kind, NameKind::Field | NameKind::Operation));
        let item = |label: &str, kind, detail: &str| CompletionItem {
            label: label.into(),
            kind: Some(kind),
            detail: Some(detail.into()),
            ..CompletionItem::default()
        };
        let mut out: Vec<CompletionItem> =
            visible.iter().map(|d| item(&d.name, item_kind(d.kind), described(d.kind))).collect();
        if !members {
            out.extend(KEYWORDS.iter().map(|k| item(k, CompletionItemKind::KEYWORD, "keyword")));
        }
        out
    }

    fn formatting(&self, params: &DocumentFormattingParams) -> Option<Vec<TextEdit>> {
        let uri = &params.text_document.uri;
        let text = self.document(uri).text;
        if !is_own(uri) {
            return None;
        }
        let mut sources = Sources::new();
        let parsed = frontend::lang::parse_file(&mut sources, uri.as_str(), text.as_bytes());
        let formatted = frontend::lang::format_file(&parsed, &sources)?;
        let whole = Range::new(Position::new(0, 0), text::position_of(&text, text.len()));
        Some(if formatted == text { Vec::new() } else { vec![TextEdit::new(whole, formatted)] })
    }

    #[allow(clippy::mutable_key_type)] // The map and its key are those of the protocol's types.
    fn actions(&self, params: &CodeActionParams) -> Vec<CodeActionOrCommand> {
        let uri = &params.text_document.uri;
        let document = self.document(uri);
        let mut out = Vec::new();
        let Some(saved) = &document.saved else { return out };
        // Before the first thread or procedure, where declarations belong.
        let starts = |l: &str| ["thread ", "proc ", "inline ", "machine ", "object "].iter().any(|k| l.starts_with(k));
        let line = document.text.lines().position(starts).unwrap_or(0) as u32;
        for fact in &saved.inferred {
            let edit = TextEdit::new(Range::new(Position::new(line, 0), Position::new(line, 0)), format!("{fact}\n"));
            out.push(CodeActionOrCommand::CodeAction(CodeAction {
                title: format!("insert the inferred `{fact}`"),
                kind: Some(CodeActionKind::QUICKFIX),
                edit: Some(WorkspaceEdit {
                    changes: Some(HashMap::from([(uri.clone(), vec![edit])])),
                    ..WorkspaceEdit::default()
                }),
                ..CodeAction::default()
            }));
        }
        if saved.diagnostics.iter().any(|d| d.severity == Some(DiagnosticSeverity::ERROR)) {
            let arguments = Some(vec![json!(uri.as_str())]);
            out.push(CodeActionOrCommand::Command(Command {
                title: "show the run".into(),
                command: SHOW_RUN.into(),
                arguments,
            }));
        }
        out
    }

    /// Writes the web page of a file and asks the client to show it; the page's address.
    fn execute(&self, params: &ExecuteCommandParams, connection: &Connection) -> Value {
        let uri: Option<Uri> = params.arguments.first().and_then(Value::as_str).and_then(|s| s.parse().ok());
        let (Some(path), true) = (uri.as_ref().and_then(path_of), params.command == SHOW_RUN) else {
            return Value::Null;
        };
        let page = std::env::temp_dir().join(format!("threadproof-run-{}.html", std::process::id()));
        let Ok(program) = std::env::current_exe() else { return Value::Null };
        let ran = std::process::Command::new(program)
            .arg("verify")
            .arg(path)
            .arg("--html")
            .arg(&page)
            .args(["-q", "--time", "60s"])
            .stdin(std::process::Stdio::null())
            .output();
        if ran.is_err() || !page.is_file() {
            return Value::Null;
        }
        let address = format!("file://{}", page.display());
        let id = RequestId::from("show-run".to_string());
        let show = Request::new(id, "window/showDocument".into(), json!({ "uri": address, "external": true }));
        let _ = connection.sender.send(Message::Request(show));
        json!(address)
    }
}

fn capabilities() -> ServerCapabilities {
    ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::FULL),
            save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions { include_text: Some(false) })),
            ..TextDocumentSyncOptions::default()
        })),
        hover_provider: Some(true.into()),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        rename_provider: Some(OneOf::Left(true)),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(vec![".".into()]),
            ..CompletionOptions::default()
        }),
        document_formatting_provider: Some(OneOf::Left(true)),
        code_action_provider: Some(CodeActionProviderCapability::Simple(true)),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: vec![SHOW_RUN.into()],
            ..ExecuteCommandOptions::default()
        }),
        ..ServerCapabilities::default()
    }
}

fn failure(id: RequestId, sentence: &str) -> Response {
    Response::new_err(id, lsp_server::ErrorCode::RequestFailed as i32, sentence.to_string())
}

fn publish(connection: &Connection, uri: Uri, diagnostics: Vec<Diagnostic>) {
    let params = PublishDiagnosticsParams { uri, diagnostics, version: None };
    let method = lsp_types::notification::PublishDiagnostics::METHOD.to_string();
    let _ = connection.sender.send(Message::Notification(Notification::new(method, params)));
}

fn is_own(uri: &Uri) -> bool {
    uri.as_str().ends_with(".tp")
}

/// The path of a `file:` address, with what is escaped in it read back.
fn path_of(uri: &Uri) -> Option<PathBuf> {
    let bytes = uri.as_str().strip_prefix("file://")?.as_bytes();
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
fn while_typed(uri: &Uri, text: &str) -> Vec<Diagnostic> {
    let mut sources = Sources::new();
    let name = path_of(uri).map_or_else(|| uri.as_str().to_string(), |p| p.display().to_string());
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
    let is_here = |d: &&SourceDiagnostic| sources.file(d.span.file).text == text;
    found.iter().filter(is_here).map(|d| shown(text, d)).collect()
}

fn shown(text: &str, d: &SourceDiagnostic) -> Diagnostic {
    let range =
        |span: Span| text::range_of(text, span.start as usize..(span.end as usize).max(span.start as usize + 1));
    let hints: String = d.hints.iter().map(|h| format!("\n{h}")).collect();
    Diagnostic {
        range: range(d.span),
        severity: Some(if d.is_error() { DiagnosticSeverity::ERROR } else { DiagnosticSeverity::WARNING }),
        code: Some(NumberOrString::String(d.code.0.into())),
        source: Some("threadproof".into()),
        message: format!("{}{hints}", d.message),
        ..Diagnostic::default()
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

fn item_kind(kind: NameKind) -> CompletionItemKind {
    match kind {
        NameKind::Constant => CompletionItemKind::CONSTANT,
        NameKind::Variable | NameKind::Local => CompletionItemKind::VARIABLE,
        NameKind::Field => CompletionItemKind::FIELD,
        NameKind::Class | NameKind::Object | NameKind::Machine => CompletionItemKind::CLASS,
        NameKind::Enum => CompletionItemKind::ENUM,
        NameKind::Variant | NameKind::State => CompletionItemKind::ENUM_MEMBER,
        NameKind::Thread | NameKind::Procedure | NameKind::Operation => CompletionItemKind::FUNCTION,
    }
}
