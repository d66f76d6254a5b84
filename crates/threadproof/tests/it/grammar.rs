//! The grammar for editors against the parser: what one reads without a fault the other reads, too.
//!
//! The generated parser is C: it is compiled and loaded here, and the tests say so and end where there is no compiler.

use crate::{Scratch, root};
use std::path::{Path, PathBuf};
use std::process::Command;
use tree_sitter::{Language, Node, Parser, Query, QueryCursor, StreamingIterator};
use tree_sitter_language::LanguageFn;

/// The grammar, compiled; the library stays in memory to the end of the process.
fn grammar(scratch: &Scratch) -> Option<Language> {
    let folder = root().join("editors/tree-sitter-threadproof/src");
    let library = scratch.path("threadproof.so");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-O0", "-w", "-o", &library])
        .arg("-I")
        .arg(&folder)
        .arg(folder.join("parser.c"))
        .status();
    let Ok(status) = compiled else {
        println!("skipped: there is no C compiler to compile the grammar with");
        return None;
    };
    assert!(status.success(), "the generated parser does not compile");
    // SAFETY: the file was just made from the generated parser, whose one function returns a static table.
    let library = unsafe { libloading::Library::new(&library) }.expect("the library loads");
    let library = Box::leak(Box::new(library));
    // SAFETY: this is the signature that the generator gives to it.
    let entry = unsafe { library.get::<unsafe extern "C" fn() -> *const ()>(b"tree_sitter_threadproof") };
    // SAFETY: the function returns a language for as long as the library is loaded.
    Some(Language::new(unsafe { LanguageFn::from_raw(*entry.expect("the function is there")) }))
}

fn programs(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder can be read").flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => programs(&path, out),
            false if path.extension().is_some_and(|e| e == "tp") => out.push(path),
            false => {}
        }
    }
}

/// The first place where the grammar did not know on.
fn fault(node: Node<'_>) -> Option<usize> {
    if node.is_error() || node.is_missing() {
        return Some(node.start_position().row + 1);
    }
    (0..node.child_count()).filter_map(|i| node.child(i)).filter(Node::has_error).find_map(fault)
}

fn reads(path: &str, text: &[u8]) -> bool {
    let mut sources = base::Sources::new();
    frontend::lang::parse_file(&mut sources, path.to_string(), text).diagnostics.is_empty()
}

#[test]
fn check_the_grammar_for_editors_reads_every_program_that_the_parser_reads() {
    let scratch = Scratch::new("grammar");
    let Some(language) = grammar(&scratch) else { return };
    let mut parser = Parser::new();
    parser.set_language(&language).expect("the version of the grammar is known");
    let mut files = Vec::new();
    programs(&root().join("corpus"), &mut files);
    files.push(root().join("crates/frontend/src/lang/tests/all.tp"));
    files.sort();
    let (mut wrong, mut read) = (Vec::new(), 0);
    for file in files {
        let text = std::fs::read(&file).expect("a program can be read");
        if !reads(&file.display().to_string(), &text) {
            continue;
        }
        read += 1;
        let tree = parser.parse(&text, None).expect("there is no limit");
        if tree.root_node().has_error() {
            let line = fault(tree.root_node()).unwrap_or_default();
            wrong.push(format!("{}:{line}", file.display()));
        }
    }
    assert!(
        wrong.is_empty(),
        "after a change of the language: grammar.js, then `generate` beside it:\n{}",
        wrong.join("\n")
    );
    assert!(read > 400, "only {read} programs were read");
    // What the parser refuses is not read here either, as far as a grammar can tell.
    for refused in ["thread { skip; }", "thread T { x = ; }", "var x int;", "machine M { start; }"] {
        assert!(!reads("refused.tp", refused.as_bytes()));
        let tree = parser.parse(refused, None).expect("there is no limit");
        assert!(tree.root_node().has_error(), "{refused}");
    }
}

#[test]
fn check_the_colours_are_those_of_the_grammar() {
    let scratch = Scratch::new("colours");
    let Some(language) = grammar(&scratch) else { return };
    let folder = root().join("editors/tree-sitter-threadproof/queries");
    let text = std::fs::read_to_string(folder.join("highlights.scm")).expect("the query is there");
    let query = Query::new(&language, &text).expect("every node of the query is in the grammar");
    let locals = std::fs::read_to_string(folder.join("locals.scm")).expect("the query is there");
    Query::new(&language, &locals).expect("every node of the query is in the grammar");
    let source = "// c\nconst N: int = 3;\nthread Add[*] { acquire m; x := N + 1; }\n";
    let mut parser = Parser::new();
    parser.set_language(&language).expect("the version of the grammar is known");
    let tree = parser.parse(source, None).expect("there is no limit");
    let mut cursor = QueryCursor::new();
    let mut found = Vec::new();
    let mut matches = cursor.matches(&query, tree.root_node(), source.as_bytes());
    while let Some(one) = matches.next() {
        let named = |c: &tree_sitter::QueryCapture<'_>| {
            (query.capture_names()[c.index as usize].to_string(), source[c.node.byte_range()].to_string())
        };
        found.extend(one.captures.iter().map(named));
    }
    for (colour, word) in [
        ("comment", "// c"),
        ("keyword", "thread"),
        ("type.definition", "Add"),
        ("type.builtin", "int"),
        ("constant", "N"),
        ("number", "3"),
        ("keyword.operator", "acquire"),
        ("variable", "m"),
        ("operator", ":="),
    ] {
        assert!(found.contains(&(colour.to_string(), word.to_string())), "{word} is no {colour}: {found:?}");
    }
}
