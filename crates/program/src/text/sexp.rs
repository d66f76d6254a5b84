//! Nested lists of atoms and strings: the carrier of the text form. Printing breaks long lists over lines; reading
//! bounds the nesting, so that no text can exhaust the stack.
//!
//! In: text, or a tree to print. Out: a tree, or a `TextError` with its line; or text.

use super::TextError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sexp {
    Atom(String),
    Text(String),
    /// With the line it starts at, for messages.
    List(Vec<Sexp>, usize),
}

/// Deeper text is refused; the printer never nests that deep.
const MAX_NESTING: usize = 400;
const LINE_WIDTH: usize = 110;

pub(crate) fn atom(text: impl Into<String>) -> Sexp {
    Sexp::Atom(text.into())
}

pub(crate) fn text(text: impl Into<String>) -> Sexp {
    Sexp::Text(text.into())
}

/// `(head part part)`.
pub(crate) fn form(head: &str, parts: impl IntoIterator<Item = Sexp>) -> Sexp {
    Sexp::List(std::iter::once(atom(head)).chain(parts).collect(), 0)
}

pub(crate) fn list(parts: impl IntoIterator<Item = Sexp>) -> Sexp {
    Sexp::List(parts.into_iter().collect(), 0)
}

fn quote(s: &str, out: &mut String) {
    out.push('"');
    for c in s.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            c => out.push(c),
        }
    }
    out.push('"');
}

fn flat(s: &Sexp, out: &mut String) {
    match s {
        Sexp::Atom(a) => out.push_str(a),
        Sexp::Text(t) => quote(t, out),
        Sexp::List(parts, _) => {
            out.push('(');
            for (i, p) in parts.iter().enumerate() {
                if i > 0 {
                    out.push(' ');
                }
                flat(p, out);
            }
            out.push(')');
        }
    }
}

/// Characters of the flat form, or more than `limit`.
fn measure(s: &Sexp, limit: usize) -> usize {
    match s {
        Sexp::Atom(a) => a.len(),
        Sexp::Text(t) => t.len() + 2,
        Sexp::List(parts, _) => {
            let mut sum = 2;
            for p in parts {
                sum += 1 + measure(p, limit);
                if sum > limit {
                    return sum;
                }
            }
            sum
        }
    }
}

/// Prints at the current column; lists that do not fit have each further part on a line of its own.
pub(crate) fn pretty(s: &Sexp, indent: usize, out: &mut String) {
    let Sexp::List(parts, _) = s else { return flat(s, out) };
    if indent + measure(s, LINE_WIDTH) <= LINE_WIDTH {
        return flat(s, out);
    }
    out.push('(');
    // The leading atoms and strings stay on the first line: they say what the list is.
    let lead = parts.iter().take_while(|p| !matches!(p, Sexp::List(..))).count();
    for (i, p) in parts.iter().enumerate() {
        if i < lead.max(1) {
            out.push_str(if i > 0 { " " } else { "" });
            pretty(p, indent + 2, out);
        } else {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent + 2));
            pretty(p, indent + 2, out);
        }
    }
    out.push(')');
}

/// Reads one expression; nothing but white space and `;` comments may follow.
pub(crate) fn parse(input: &str) -> Result<Sexp, TextError> {
    let mut stack: Vec<(Vec<Sexp>, usize)> = Vec::new();
    let mut done: Option<Sexp> = None;
    let mut line = 1;
    let mut chars = input.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let here = line;
        let fail = |message: &str| Err(TextError { line: here, message: message.into() });
        let complete = match c {
            '\n' => {
                line += 1;
                continue;
            }
            c if c.is_whitespace() => continue,
            ';' => {
                while chars.peek().is_some_and(|(_, c)| *c != '\n') {
                    chars.next();
                }
                continue;
            }
            '(' => {
                if stack.len() >= MAX_NESTING {
                    return fail("the lists are nested too deeply");
                }
                if done.is_some() {
                    return fail("nothing may follow the end");
                }
                stack.push((Vec::new(), line));
                continue;
            }
            ')' => match stack.pop() {
                Some((parts, start)) => Sexp::List(parts, start),
                None => return fail("a `)` without its `(`"),
            },
            '"' => {
                let mut s = String::new();
                loop {
                    match chars.next() {
                        None => return fail("a string without its end"),
                        Some((_, '"')) => break,
                        Some((_, '\\')) => match chars.next() {
                            Some((_, 'n')) => s.push('\n'),
                            Some((_, 'r')) => s.push('\r'),
                            Some((_, c @ ('"' | '\\'))) => s.push(c),
                            _ => return fail("an unknown escape in a string"),
                        },
                        Some((_, c)) => {
                            line += usize::from(c == '\n');
                            s.push(c);
                        }
                    }
                }
                Sexp::Text(s)
            }
            _ => {
                let mut end = at + c.len_utf8();
                while let Some((i, c)) = chars.peek() {
                    if c.is_whitespace() || matches!(c, '(' | ')' | '"' | ';') {
                        break;
                    }
                    end = i + c.len_utf8();
                    chars.next();
                }
                Sexp::Atom(input[at..end].to_owned())
            }
        };
        match stack.last_mut() {
            Some((parts, _)) => parts.push(complete),
            None if done.is_none() => done = Some(complete),
            None => return fail("nothing may follow the end"),
        }
    }
    match (stack.pop(), done) {
        (Some((_, start)), _) => Err(TextError { line: start, message: "a `(` without its `)`".into() }),
        (None, Some(s)) => Ok(s),
        (None, None) => Err(TextError { line, message: "nothing is there".into() }),
    }
}
