//! The language server with a client over pipes: what an editor sends, and what it gets.

use crate::{Scratch, root};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

struct Client {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    next: u64,
}

impl Client {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_threadproof"))
            .arg("lsp")
            .current_dir(root())
            .env("XDG_CACHE_HOME", std::env::temp_dir().join(format!("threadproof-test-{}-cache", std::process::id())))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let (to, from) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        let mut client = Self { child, to, from: BufReader::new(from), next: 0 };
        let answer = client.ask("initialize", json!({ "capabilities": {} }));
        assert_eq!(answer["capabilities"]["renameProvider"], true, "{answer}");
        client.notify("initialized", json!({}));
        client
    }

    fn send(&mut self, message: Value) {
        let text = message.to_string();
        write!(self.to, "Content-Length: {}\r\n\r\n{text}", text.len()).expect("the server reads");
        self.to.flush().expect("the server reads");
    }

    fn receive(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert_ne!(self.from.read_line(&mut line).expect("the server writes"), 0, "the server went away");
            if let Some(n) = line.strip_prefix("Content-Length: ") {
                length = n.trim().parse().expect("a length");
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        self.from.read_exact(&mut body).expect("the whole message");
        serde_json::from_slice(&body).expect("JSON")
    }

    fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn ask_whole(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let message = self.receive();
            if message["id"] == id && message["method"].is_null() {
                return message;
            }
        }
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.ask_whole(method, params)["result"].clone()
    }

    /// The next diagnostics.
    fn diagnostics(&mut self) -> Vec<Value> {
        loop {
            let message = self.receive();
            if message["method"] == "textDocument/publishDiagnostics" {
                return message["params"]["diagnostics"].as_array().cloned().unwrap_or_default();
            }
        }
    }

    fn open(&mut self, uri: &str, text: &str) -> Vec<Value> {
        let document = json!({ "uri": uri, "languageId": "threadproof", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
        self.diagnostics()
    }

    fn end(mut self) {
        self.ask("shutdown", Value::Null);
        self.notify("exit", Value::Null);
        assert!(self.child.wait().expect("it ends").success());
    }
}

const TEXT: &str = "var count: int = 0;\nthread A {\n  count := 7;\n}\nthread B {\n  assert count == 0;\n}\n";

fn at(uri: &str, line: u32, character: u32) -> Value {
    json!({ "textDocument": { "uri": uri }, "position": { "line": line, "character": character } })
}

#[test]
fn check_errors_are_shown_while_a_text_is_typed_and_go_when_it_is_mended() {
    let mut client = Client::start();
    let uri = "file:///tmp/typed.tp";
    let found = client.open(uri, "var count: int = 0;\nthread A { coutn := 1; }\n");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["range"]["start"], json!({ "line": 1, "character": 11 }));
    assert!(found[0]["message"].as_str().is_some_and(|m| m.contains("did you mean `count`?")), "{found:?}");
    let change = json!({ "textDocument": { "uri": uri, "version": 2 }, "contentChanges": [{ "text": TEXT }] });
    client.notify("textDocument/didChange", change);
    assert_eq!(client.diagnostics(), Vec::<Value>::new());
    client.end();
}

#[test]
fn check_names_are_found_completed_renamed_and_texts_formatted() {
    let mut client = Client::start();
    let uri = "file:///tmp/names.tp";
    client.open(uri, TEXT);
    let definition = client.ask("textDocument/definition", at(uri, 5, 10));
    assert_eq!(definition["range"]["start"], json!({ "line": 0, "character": 4 }), "{definition}");
    let hover = client.ask("textDocument/hover", at(uri, 5, 10));
    assert!(hover["contents"]["value"].as_str().is_some_and(|v| v.contains("shared variable `count`")), "{hover}");
    let completion = client.ask("textDocument/completion", at(uri, 2, 2));
    let labels: Vec<&str> = completion.as_array().expect("a list").iter().filter_map(|i| i["label"].as_str()).collect();
    assert!(labels.contains(&"count") && labels.contains(&"acquire"), "{labels:?}");
    let mut rename = at(uri, 2, 3);
    rename["newName"] = json!("total");
    let edit = client.ask("textDocument/rename", rename.clone());
    assert_eq!(edit["changes"][uri].as_array().map(Vec::len), Some(3), "{edit}");
    for wrong in ["while", "1x", "A"] {
        rename["newName"] = json!(wrong);
        assert!(!client.ask_whole("textDocument/rename", rename.clone())["error"].is_null(), "{wrong}");
    }
    let options = json!({ "textDocument": { "uri": uri }, "options": { "tabSize": 2, "insertSpaces": true } });
    client.open(uri, "var   x:int=0;\n");
    let edits = client.ask("textDocument/formatting", options.clone());
    assert_eq!(edits[0]["newText"], "var x: int = 0;\n", "{edits}");
    client.open(uri, "var x: int = 0;\n");
    assert_eq!(client.ask("textDocument/formatting", options), json!([]));
    client.end();
}

#[test]
fn check_a_saved_file_has_its_verdicts_at_their_lines_and_its_run_can_be_shown() {
    let scratch = Scratch::new("lsp");
    let path = scratch.file("saved file.tp", TEXT);
    let uri = format!("file://{}", path.replace(' ', "%20"));
    let mut client = Client::start();
    assert_eq!(client.open(&uri, TEXT), Vec::<Value>::new());
    client.notify("textDocument/didSave", json!({ "textDocument": { "uri": uri } }));
    let found = client.diagnostics();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((&found[0]["range"]["start"]["line"], &found[0]["severity"]), (&json!(5), &json!(1)));
    assert!(found[0]["message"].as_str().is_some_and(|m| m.contains("assertion `count == 0` fails")), "{found:?}");
    let hover = client.ask("textDocument/hover", at(&uri, 5, 3));
    assert!(hover["contents"]["value"].as_str().is_some_and(|v| v.contains("unsafe")), "{hover}");
    let range = json!({ "start": { "line": 5, "character": 0 }, "end": { "line": 5, "character": 0 } });
    let context = json!({ "diagnostics": [] });
    let actions = client
        .ask("textDocument/codeAction", json!({ "textDocument": { "uri": uri }, "range": range, "context": context }));
    assert_eq!(actions[0]["title"], "show the run", "{actions}");
    let run = json!({ "command": actions[0]["command"], "arguments": actions[0]["arguments"] });
    let page = client.ask("workspace/executeCommand", run);
    let page = page.as_str().and_then(|p| p.strip_prefix("file://")).expect("a page").to_string();
    assert!(std::fs::read_to_string(&page).expect("it was written").contains("class=\"lanes\""));
    let _ = std::fs::remove_file(page);
    client.end();
}

#[test]
fn check_every_keyword_is_completed_and_highlighted() {
    let tokens =
        std::fs::read_to_string(root().join("crates/frontend/src/lang/token.rs")).expect("the tokens are there");
    let listed = tokens.lines().filter(|l| l.contains(", Token::"));
    let quoted = listed.filter_map(|l| l.trim().strip_prefix("(\"")?.split('"').next());
    let keywords: Vec<&str> = quoted.filter(|w| w.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')).collect();
    assert!(keywords.len() > 60, "{keywords:?}");
    let folder = root().join("editors/vscode");
    let read = |name: &str| -> Value {
        let text = std::fs::read_to_string(folder.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"))
    };
    let package = read("package.json");
    read(package["contributes"]["languages"][0]["configuration"].as_str().expect("a path"));
    let grammar = read(package["contributes"]["grammars"][0]["path"].as_str().expect("a path"));
    assert!(folder.join(package["main"].as_str().expect("a path")).is_file());
    let matched: String =
        grammar["patterns"].as_array().expect("patterns").iter().map(|p| p["match"].to_string()).collect();
    let highlighted: Vec<&str> = matched.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    let mut client = Client::start();
    let uri = "file:///tmp/keywords.tp";
    client.open(uri, TEXT);
    let completion = client.ask("textDocument/completion", at(uri, 2, 2));
    let labels: Vec<&str> = completion.as_array().expect("a list").iter().filter_map(|i| i["label"].as_str()).collect();
    for keyword in keywords {
        assert!(labels.contains(&keyword), "{keyword} is not completed");
        assert!(
            highlighted.contains(&keyword) || highlighted.contains(&format!("b{keyword}").as_str()),
            "{keyword} is not highlighted"
        );
    }
    client.end();
}
