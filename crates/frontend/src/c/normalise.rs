//! Rewrites preprocessed C into what the parser accepts, keeping a map from every new byte to the old one.
//!
//! In: preprocessed text. Out: text in which comments and `#` lines are blanks, `__thread` is
//! `_Thread_local`, attributes of a struct stand after its body, `a ?: b` has a marked middle operand, `$` in names is spelt out, `__auto_type` and `__int128` are
//! typedef names of a prelude. Nothing is dropped that has a meaning: what cannot be expressed stays as it is and
//! becomes a syntax error with its place.

/// The middle operand that stands for "the value of the condition".
pub(crate) const ELVIS: &str = "__tp_same";
/// The typedef name that stands for the type of the initialiser.
pub(crate) const AUTO: &str = "__tp_auto";
pub(crate) const INT128: &str = "__tp_int128";
pub(crate) const UINT128: &str = "__tp_uint128";

/// Normalised text and its map to the old text.
#[derive(Clone, Debug)]
pub(crate) struct Normalised {
    pub text: String,
    /// Where copied stretches begin: new offset, old offset; ordered by both.
    pieces: Vec<(u32, u32)>,
}

impl Normalised {
    /// The old offset of a new one; inside inserted text, where the insertion was made.
    pub(super) fn old(&self, new: usize) -> usize {
        let i = self.pieces.partition_point(|&(n, _)| n as usize <= new);
        let Some(&(from, old)) = i.checked_sub(1).and_then(|i| self.pieces.get(i)) else { return 0 };
        let at = old as usize + (new - from as usize);
        match self.pieces.get(i) {
            Some(&(_, next)) => at.min(next as usize),
            None => at,
        }
    }
}

struct BlankingWriter<'a> {
    old: &'a str,
    new: String,
    pieces: Vec<(u32, u32)>,
}

impl BlankingWriter<'_> {
    fn mark(&mut self, old: usize) {
        self.pieces.push((self.new.len() as u32, old as u32));
    }
    fn copy(&mut self, from: usize, to: usize) {
        self.mark(from);
        self.new.push_str(&self.old[from..to]);
    }
    fn replace(&mut self, from: usize, with: &str) {
        self.mark(from);
        self.new.push_str(with);
    }
    /// Blanks of the same length; line breaks stay so that lines can still be counted.
    fn blank(&mut self, from: usize, to: usize) {
        self.mark(from);
        for byte in self.old.as_bytes()[from..to].iter() {
            self.new.push(if *byte == b'\n' { '\n' } else { ' ' });
        }
    }
}

/// See the file header.
pub(crate) fn normalise_text(old: &str) -> Normalised {
    let bytes = old.as_bytes();
    let mut w = BlankingWriter { old, new: String::with_capacity(old.len() + 256), pieces: Vec::new() };
    w.new.push_str(&format!("typedef int {AUTO}; typedef long {INT128}; typedef unsigned long {UINT128};\n"));
    let mut at = 0;
    let mut line_start = true;
    // Whether the last significant byte was a `?`: only then is `:` an omitted operand.
    let mut question = None;
    // Attributes after `struct`, which the parser takes only after the body: the one at hand, and by open brace.
    let mut moved: Option<String> = None;
    let mut braces: Vec<Option<String>> = Vec::new();
    while at < bytes.len() {
        let byte = bytes[at];
        let rest = &old[at..];
        if byte == b'\n' {
            w.copy(at, at + 1);
            line_start = true;
            at += 1;
        } else if byte.is_ascii_whitespace() {
            let len = rest.bytes().take_while(|b| b.is_ascii_whitespace() && *b != b'\n').count();
            w.copy(at, at + len);
            at += len;
        } else if rest.starts_with("/*") {
            let end = rest.find("*/").map_or(bytes.len(), |e| at + e + 2);
            w.blank(at, end);
            at = end;
        } else if rest.starts_with("//") || (byte == b'#' && line_start) {
            let mut end = rest.find('\n').map_or(bytes.len(), |e| at + e);
            while bytes.get(end - 1) == Some(&b'\\') && end < bytes.len() {
                end = old[end + 1..].find('\n').map_or(bytes.len(), |e| end + 1 + e);
            }
            w.blank(at, end);
            at = end;
        } else if byte == b'"' || byte == b'\'' {
            let mut end = at + 1;
            while end < bytes.len() && bytes[end] != byte && bytes[end] != b'\n' {
                end += if bytes[end] == b'\\' { 2 } else { 1 };
            }
            let mut end = (end + 1).min(bytes.len());
            while !old.is_char_boundary(end) {
                end += 1;
            }
            w.copy(at, end);
            (at, line_start, question) = (end, false, None);
        } else if byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$' {
            let len = rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_' || *b == b'$').count();
            word(&mut w, at, &rest[..len]);
            if matches!(&rest[..len], "struct" | "union") {
                let after = old[at + len..].trim_start();
                let from = old.len() - after.len();
                if let Some(to) = attribute(after).map(|n| from + n) {
                    moved = Some(old[from..to].to_string());
                    w.copy(at + len, from);
                    w.blank(from, to);
                    (at, line_start, question) = (to, false, None);
                    continue;
                }
            }
            (at, line_start, question) = (at + len, false, None);
        } else if byte == b'{' || byte == b'}' {
            w.copy(at, at + 1);
            if byte == b'{' {
                braces.push(moved.take());
            } else if let Some(text) = braces.pop().flatten() {
                w.replace(at + 1, &format!(" {text} "));
            }
            (at, line_start, question) = (at + 1, false, None);
        } else if byte.is_ascii_digit() {
            let len = rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_' || *b == b'.').count();
            w.copy(at, at + len);
            (at, line_start, question) = (at + len, false, None);
        } else if byte == b':' && question.is_some() {
            w.replace(at, &format!(" {ELVIS} "));
            w.copy(at, at + 1);
            (at, line_start, question) = (at + 1, false, None);
        } else {
            let len = rest.chars().next().map_or(1, char::len_utf8);
            if matches!(byte, b';' | b'(' | b'=') {
                moved = None;
            }
            w.copy(at, at + len);
            question = (byte == b'?').then_some(());
            line_start = false;
            at += len;
        }
    }
    w.mark(old.len());
    Normalised { text: w.new, pieces: merge(w.pieces) }
}

/// The length of an attribute that stands at the beginning of a text.
fn attribute(text: &str) -> Option<usize> {
    let rest = text.strip_prefix("__attribute__").or_else(|| text.strip_prefix("__attribute"))?.trim_start();
    let (mut depth, start) = (0usize, text.len() - rest.len());
    for (i, byte) in rest.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' if depth == 1 => return Some(start + i + 1),
            b')' => depth = depth.checked_sub(1)?,
            _ if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

fn word(w: &mut BlankingWriter<'_>, at: usize, name: &str) {
    match name {
        "__thread" | "__CPROVER_thread_local" => w.replace(at, "_Thread_local"),
        "__CPROVER_bool" => w.replace(at, "_Bool"),
        "__float128" => w.replace(at, "_Float128"),
        "__auto_type" => w.replace(at, AUTO),
        "__int128" | "__int128_t" => {
            // `unsigned __int128` must become one name, since a typedef name takes no `unsigned` before it.
            let before = w.new.trim_end();
            if before.ends_with("unsigned") {
                let keep = before.len() - "unsigned".len();
                w.new.truncate(keep);
                w.pieces.retain(|&(n, _)| n as usize <= keep);
                w.replace(at, UINT128);
            } else {
                w.replace(at, INT128);
            }
        }
        "__uint128_t" => w.replace(at, UINT128),
        _ if name.contains('$') => w.replace(at, &name.replace('$', "__dollar__")),
        _ => w.copy(at, at + name.len()),
    }
}

/// Adjacent pieces that continue each other become one.
fn merge(pieces: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
    let mut merged: Vec<(u32, u32)> = Vec::new();
    for (new, old) in pieces {
        if let Some(&(n, o)) = merged.last()
            && new.wrapping_sub(n) == old.wrapping_sub(o)
        {
            continue;
        }
        merged.push((new, old));
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_every_name_maps_to_itself() {
        let old = "# 1 \"x\"\n__thread int a; /* c */ int f() { return a ?: b$c; } // d\nint z;\n";
        let norm = normalise_text(old);
        for name in ["int a", "return", "int z"] {
            let new = norm.text.find(name).unwrap();
            assert_eq!(&old[norm.old(new)..norm.old(new) + name.len()], name);
        }
        assert!(norm.text.contains("_Thread_local int a"));
        assert!(norm.text.contains("? __tp_same : b__dollar__c"));
        assert!(!norm.text.contains("# 1"));
    }

    #[test]
    fn check_attributes_of_structs_stand_after_their_bodies() {
        let old = "struct __attribute__((packed, aligned(2))) s { struct { int a; } b; } x; struct __attribute__((packed)) t; int y[] = { 1 };";
        let text = normalise_text(old).text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("struct s { struct { int a; } b; } __attribute__((packed, aligned(2))) x;"), "{text}");
        assert!(text.ends_with("struct t; int y[] = { 1 };"), "{text}");
    }

    #[test]
    fn check_text_inside_strings_is_untouched() {
        let old = "char *s = \"// __thread ?: \\\" #\"; char c = '\"'; int x;";
        let norm = normalise_text(old);
        assert!(norm.text.contains("\"// __thread ?: \\\" #\""));
        assert!(norm.text.contains("int x;"));
    }
}
