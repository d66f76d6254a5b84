//! Tests of the whole: the rules of the house, the command line as a user meets it, the JSON against its schema.
//!
//! One binary, because each one costs a link.

mod c;
mod c_linked;
mod cache;
mod ci;
mod command_line;
mod contract;
mod corpus;
mod documents;
mod explained;
mod grammar;
mod house;
mod html;
mod java;
mod java_store;
mod jobs;
mod larger;
mod library;
mod lsp;
mod meaning;
mod reproducible;
mod schema;
mod searching;
mod spread;
mod stories;
mod verify;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace is there")
}

/// Runs the binary in the root of the repository.
pub fn threadproof(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_threadproof"))
        .args(arguments)
        .current_dir(root())
        .env("NO_COLOR", "1")
        .output()
        .expect("the binary starts")
}

pub fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("the report is UTF-8")
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("messages are UTF-8")
}

/// A file with this text, in a folder of its own that goes away.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("threadproof-test-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a scratch folder can be made");
        Self(folder)
    }
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, bytes).expect("a scratch file can be written");
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
