//! Names of a `.tp` text: where they are declared, where they are used, what can stand at a place.
//!
//! In: a text, also one that is being typed and does not parse. Out: declarations with their scopes, uses, and completions. It looks at tokens alone, so that an
//! error somewhere takes nothing away elsewhere; what a name means to the verifier is decided by the front end. Deliberately absent: types of expressions; a name
//! after a dot is any field or operation of that name.

use std::ops::Range;

/// Words that have a meaning of their own.
pub const KEYWORDS: [&str; 75] = [
    "accessible_if",
    "acquire",
    "assert",
    "asserting",
    "asserts",
    "assume",
    "atomic",
    "bool",
    "break",
    "cas",
    "choose",
    "class",
    "const",
    "continue",
    "else",
    "ensures",
    "enum",
    "exists",
    "false",
    "follows",
    "forall",
    "free",
    "guarded_by",
    "havoc",
    "i16",
    "i32",
    "i64",
    "i8",
    "if",
    "in",
    "init",
    "inline",
    "int",
    "invariant",
    "join",
    "linearize",
    "lock",
    "machine",
    "modifies",
    "new",
    "null",
    "object",
    "op",
    "or",
    "performs",
    "private",
    "proc",
    "readable_if",
    "release",
    "rely",
    "requires",
    "return",
    "returns",
    "seq",
    "set",
    "skip",
    "spawn",
    "spec",
    "start",
    "state",
    "step",
    "strict",
    "then",
    "thread",
    "thread_local",
    "tid",
    "true",
    "u16",
    "u32",
    "u64",
    "u8",
    "var",
    "while",
    "witness",
    "writable_if",
];

#[derive(Clone, Debug, PartialEq, Eq)]
struct Word {
    text: String,
    at: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameKind {
    Constant,
    Variable,
    Local,
    Field,
    Class,
    Enum,
    Variant,
    Thread,
    Procedure,
    Operation,
    Machine,
    Object,
    State,
}

#[derive(Clone, Debug)]
pub struct Declaration {
    pub name: String,
    pub kind: NameKind,
    pub at: Range<usize>,
    /// Where the name means this.
    pub scope: Range<usize>,
}

pub struct NameIndex {
    words: Vec<Word>,
    pub declarations: Vec<Declaration>,
}

/// Identifiers and single signs, without comments.
fn words(text: &str) -> Vec<Word> {
    let bytes = text.as_bytes();
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let mut out = Vec::new();
    let mut i = 0;
    while i < bytes.len() {
        let start = i;
        if bytes[i..].starts_with(b"//") {
            while i < bytes.len() && bytes[i] != b'\n' {
                i += 1;
            }
            continue;
        }
        if bytes[i..].starts_with(b"/*") {
            let end = text[i + 2..].find("*/").map_or(bytes.len(), |n| i + n + 4);
            i = end;
            continue;
        }
        if is_name(bytes[i]) {
            while i < bytes.len() && is_name(bytes[i]) {
                i += 1;
            }
        } else if bytes[i].is_ascii_whitespace() || !bytes[i].is_ascii() {
            i += 1;
            continue;
        } else if bytes[i..].starts_with(b"::") || bytes[i..].starts_with(b":=") {
            i += 2;
        } else {
            i += 1;
        }
        out.push(Word { text: text[start..i].to_string(), at: start..i });
    }
    out
}

impl NameIndex {
    pub fn new(text: &str) -> Self {
        let words = words(text);
        let mut index = Self { words, declarations: Vec::new() };
        index.declare(text.len());
        index
    }

    fn is_identifier(word: &str) -> bool {
        word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && !KEYWORDS.contains(&word)
    }

    fn declare(&mut self, length: usize) {
        let words = std::mem::take(&mut self.words);
        let mut at = 0;
        while at < words.len() {
            // One declaration at the top: up to the `}` of its block or the `;` before one.
            let begin = at;
            let mut depth = 0usize;
            while at < words.len() {
                match words[at].text.as_str() {
                    "{" => depth += 1,
                    "}" => depth = depth.saturating_sub(1),
                    _ => {}
                }
                at += 1;
                let ended = depth == 0 && matches!(words[at - 1].text.as_str(), "}" | ";");
                let next = depth == 0 && words.get(at).is_some_and(|w| is_item(&w.text));
                if ended || next && at > begin + 1 {
                    break;
                }
            }
            self.declare_item(&words[begin..at], length);
        }
        self.words = words;
    }

    fn declare_item(&mut self, item: &[Word], length: usize) {
        let whole = 0..length;
        let Some(first) = item.iter().position(|w| is_item(&w.text)) else { return };
        let scope = item[first].at.start..item.last().map_or(0, |w| w.at.end);
        let mut add = |word: Option<&Word>, kind: NameKind, scope: &Range<usize>| {
            if let Some(word) = word.filter(|w| Self::is_identifier(&w.text)) {
                self.declarations.push(Declaration {
                    name: word.text.clone(),
                    kind,
                    at: word.at.clone(),
                    scope: scope.clone(),
                });
            }
        };
        let keyword = item[first].text.as_str();
        let name = item.get(first + 1);
        match keyword {
            "const" => add(name, NameKind::Constant, &whole),
            "var" => add(name, NameKind::Variable, &whole),
            "class" => add(name, NameKind::Class, &whole),
            "enum" => add(name, NameKind::Enum, &whole),
            "thread" => add(name, NameKind::Thread, &whole),
            "proc" | "inline" => {
                add(item.iter().skip(first).find(|w| Self::is_identifier(&w.text)), NameKind::Procedure, &whole)
            }
            "machine" | "strict" => {
                add(item.iter().skip(first).find(|w| Self::is_identifier(&w.text)), NameKind::Machine, &whole)
            }
            "object" => add(name, NameKind::Object, &whole),
            _ => return,
        }
        for i in first + 2..item.len() {
            let (before, word) = (item[i - 1].text.as_str(), &item[i]);
            let typed = item.get(i + 1).is_some_and(|w| w.text == ":");
            match keyword {
                "enum" if matches!(before, "{" | ",") => add(Some(word), NameKind::Variant, &whole),
                "class" if typed && matches!(before, "{" | ";") => add(Some(word), NameKind::Field, &whole),
                "machine" | "strict" if matches!(before, "start" | "state") => add(Some(word), NameKind::State, &scope),
                "object" if before == "op" => add(Some(word), NameKind::Operation, &whole),
                "thread" | "proc" | "inline" | "object"
                    if typed && matches!(before, "var" | "(" | "," | "forall" | "exists") =>
                {
                    add(Some(word), NameKind::Local, &scope);
                }
                _ => {}
            }
        }
    }

    /// The word at an offset, or the one that ends there.
    fn word_at(&self, offset: usize) -> Option<usize> {
        self.words.iter().position(|w| (w.at.start..=w.at.end).contains(&offset) && Self::is_identifier(&w.text))
    }

    fn is_member(&self, word: usize) -> bool {
        word > 0 && self.words[word - 1].text == "."
    }

    /// What the name at an offset is declared as: the innermost.
    pub fn declaration_at(&self, offset: usize) -> Option<&Declaration> {
        let at = self.word_at(offset)?;
        self.declaration_of(at)
    }

    fn declaration_of(&self, at: usize) -> Option<&Declaration> {
        let word = &self.words[at];
        let own = self.declarations.iter().find(|d| d.at == word.at);
        let member = |d: &&Declaration| matches!(d.kind, NameKind::Field | NameKind::Operation);
        let named = self.declarations.iter().filter(|d| d.name == word.text && d.scope.contains(&word.at.start));
        own.or_else(|| match self.is_member(at) {
            true => named.clone().find(member).or_else(|| named.clone().find(|d| d.kind == NameKind::Variable)),
            false => named.filter(|d| !member(d)).min_by_key(|d| d.scope.len()),
        })
    }

    /// Every place where the declared name is used, its declaration included.
    pub fn uses(&self, declaration: &Declaration) -> Vec<Range<usize>> {
        let same = |i: &usize| {
            self.words[*i].text == declaration.name && self.declaration_of(*i).is_some_and(|d| d.at == declaration.at)
        };
        (0..self.words.len()).filter(same).map(|i| self.words[i].at.clone()).collect()
    }

    /// Names that can stand at an offset, each once.
    pub fn visible(&self, offset: usize) -> Vec<&Declaration> {
        let before = self.words.iter().rposition(|w| w.at.end <= offset);
        let typing = before.filter(|i| self.words[*i].at.end == offset && Self::is_identifier(&self.words[*i].text));
        let sign = typing.map_or(before, |i| i.checked_sub(1));
        let member = sign.is_some_and(|i| self.words[i].text == ".");
        let mut out: Vec<&Declaration> = Vec::new();
        for d in self.declarations.iter().filter(|d| d.scope.start <= offset && offset <= d.scope.end) {
            let fits = matches!(d.kind, NameKind::Field | NameKind::Operation) == member;
            if fits && out.iter().all(|o| o.name != d.name) {
                out.push(d);
            }
        }
        out
    }
}

fn is_item(word: &str) -> bool {
    matches!(
        word,
        "const"
            | "var"
            | "class"
            | "enum"
            | "thread"
            | "proc"
            | "inline"
            | "machine"
            | "strict"
            | "object"
            | "init"
            | "invariant"
            | "rely"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "var count: int = 0; // count of things\nclass Node { next: Node; val: int; }\n\
        thread Add { var c: int; c := count; count := c + 1; }\nproc f(c: int) returns (r: int) { r := c; }\n";

    fn names(text: &str, offset: usize) -> Vec<String> {
        NameIndex::new(text).visible(offset).iter().map(|d| d.name.clone()).collect()
    }

    #[test]
    fn check_a_local_is_that_of_its_own_thread_and_comments_are_no_uses() {
        let index = NameIndex::new(TEXT);
        let local = TEXT.find("c := count").expect("it is there");
        let declared = index.declaration_at(local).expect("declared");
        assert_eq!((declared.kind, declared.at.start), (NameKind::Local, TEXT.find("var c:").expect("there") + 4));
        assert_eq!(index.uses(declared).len(), 3, "not those of f");
        let shared = index.declaration_at(TEXT.find("count :=").expect("there")).expect("declared");
        assert_eq!(index.uses(shared).len(), 3, "not the one in the comment");
    }

    #[test]
    fn check_completion_after_a_dot_lists_fields_alone() {
        let text = format!("{TEXT}thread U {{ var n: Node; n.ne }}");
        assert_eq!(names(&text, text.find("n.ne").expect("there") + 4), ["next", "val"]);
        let here = names(&text, text.find("n.ne").expect("there"));
        assert!(here.contains(&"count".to_string()) && !here.contains(&"c".to_string()), "{here:?}");
    }

    #[test]
    fn check_a_broken_text_still_has_its_names() {
        let index = NameIndex::new("var x: int = ;\nthread T { x := ( }\nvar y: int;");
        let names: Vec<&str> = index.declarations.iter().map(|d| d.name.as_str()).collect();
        assert_eq!(names, ["x", "T", "y"]);
    }
}
