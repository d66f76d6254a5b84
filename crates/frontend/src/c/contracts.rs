//! Contracts of functions in comments (ACSL): `//@ requires e;`, `//@ ensures e;`, or both in `/*@ .. */`, before a function's definition.
//!
//! In: the text of a file, before preprocessing. Out: the same text with each clause as assertions in the code: what is required where the function begins, what
//! is ensured at each of its returns and at its end. No line moves. `\result` is what is returned, `\old(p)` a parameter's value at the call; a parameter in `ensures` means that value, too,
//! as ACSL has it. Deliberately absent, and an error where written: `assigns`, behaviours, quantifiers, `\old` of anything but a parameter.

use super::annotations::ASSERTION;

/// A contract that cannot be read: where it stands, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadContract {
    pub(crate) at: usize,
    pub(crate) why: String,
}

type ContractResult<T> = Result<T, BadContract>;

fn bad<T>(at: usize, why: impl Into<String>) -> ContractResult<T> {
    Err(BadContract { at, why: why.into() })
}

/// The text with its contracts as code.
pub(crate) fn with_contracts(text: &str) -> ContractResult<String> {
    if !text.contains("requires") && !text.contains("ensures") {
        return Ok(text.to_string());
    }
    let blank = blanked(text);
    let mut edits: Vec<(usize, usize, String)> = Vec::new();
    let comments = contract_comments(text, &blank);
    let mut at = 0;
    while at < comments.len() {
        let mut clauses = Vec::new();
        let first = comments[at].0;
        let mut end = comments[at].1;
        // Comments that follow each other are one contract.
        while at < comments.len() && blank[end.min(comments[at].0)..comments[at].0].trim().is_empty() {
            clauses.extend(clauses_of(&comments[at].2, comments[at].0)?);
            end = comments[at].1;
            at += 1;
        }
        let function = FunctionText::after(text, &blank, end, first)?;
        function.add_contract(&clauses, &mut edits)?;
    }
    edits.sort();
    let mut out = String::with_capacity(text.len() + 256);
    let mut from = 0;
    for (start, end, new) in edits {
        out.push_str(&text[from..start]);
        out.push_str(&new);
        from = end;
    }
    out.push_str(&text[from..]);
    Ok(out)
}

/// The text with comments, texts and directives made blank, every character at its place.
fn blanked(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    let clear = |out: &mut Vec<u8>, from: usize, to: usize| {
        out[from..to].iter_mut().filter(|b| **b != b'\n').for_each(|b| *b = b' ');
    };
    let mut line_start = true;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let end = if rest.starts_with(b"//") || (line_start && rest[0] == b'#') {
            rest.iter().position(|b| *b == b'\n').map_or(bytes.len(), |n| at + n)
        } else if rest.starts_with(b"/*") {
            rest.windows(2).skip(2).position(|w| w == b"*/").map_or(bytes.len(), |n| at + n + 4)
        } else if rest[0] == b'"' || rest[0] == b'\'' {
            let mut to = at + 1;
            while to < bytes.len() && bytes[to] != rest[0] && bytes[to] != b'\n' {
                to += 1 + usize::from(bytes[to] == b'\\');
            }
            (to + 1).min(bytes.len())
        } else {
            line_start = rest[0] == b'\n' || (line_start && rest[0].is_ascii_whitespace());
            at += 1;
            continue;
        };
        line_start = false;
        clear(&mut out, at, end);
        at = end;
    }
    // Characters beyond ASCII are only in what was made blank, or no C.
    out.iter().map(|b| if b.is_ascii() { *b as char } else { ' ' }).collect()
}

/// The comments that are contracts: from, to, and what they say.
fn contract_comments(text: &str, blank: &str) -> Vec<(usize, usize, String)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = ["//@", "/*@"].iter().filter_map(|s| text[at..].find(s)).min().map(|n| at + n) {
        at = start + 3;
        // In a text, or inside another comment.
        if blank.as_bytes()[start] != b' ' || in_other_comment(text, start) {
            continue;
        }
        let (end, inside) = match text[start..].starts_with("//") {
            true => {
                let end = text[start..].find('\n').map_or(text.len(), |n| start + n);
                (end, text[start + 3..end].to_string())
            }
            false => {
                let Some(end) = text[start..].find("*/").map(|n| start + n) else { break };
                // Lines of a block may begin with `@`.
                let inside = text[start + 3..end].trim_end_matches('@');
                let lines = inside.lines().map(|l| l.trim_start().trim_start_matches('@')).collect::<Vec<_>>();
                (end + 2, lines.join(" "))
            }
        };
        let word = inside.trim_start();
        if word.starts_with("requires") || word.starts_with("ensures") {
            found.push((start, end, inside));
        }
        at = end;
    }
    found
}

fn in_other_comment(text: &str, start: usize) -> bool {
    let line = text[..start].rfind('\n').map_or(0, |n| n + 1);
    let before = &text[line..start];
    before.contains("//") || before.contains('"') && !before.matches('"').count().is_multiple_of(2)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClauseKind {
    Requires,
    Ensures,
}

fn clauses_of(inside: &str, at: usize) -> ContractResult<Vec<(ClauseKind, String)>> {
    let mut found = Vec::new();
    for clause in inside.split(';').map(str::trim).filter(|c| !c.is_empty()) {
        let (word, rest) = clause.split_at(clause.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(clause.len()));
        let kind = match word {
            "requires" => ClauseKind::Requires,
            "ensures" => ClauseKind::Ensures,
            other => {
                return bad(at, format!("`{other}` is not a clause that is checked: `requires` and `ensures` are"));
            }
        };
        if rest.trim().is_empty() {
            return bad(at, format!("`{word}` says nothing"));
        }
        found.push((kind, rest.trim().to_string()));
    }
    Ok(found)
}

/// A function's definition, by its places in the text.
struct FunctionText<'t> {
    text: &'t str,
    blank: &'t str,
    /// Its result as it is written.
    result: String,
    parameters: Vec<String>,
    /// The braces of its body.
    open: usize,
    close: usize,
    contract: usize,
}

impl<'t> FunctionText<'t> {
    fn after(text: &'t str, blank: &'t str, from: usize, contract: usize) -> ContractResult<Self> {
        let bytes = blank.as_bytes();
        let Some(open) = (from..bytes.len()).find(|i| matches!(bytes[*i], b'{' | b';')) else {
            return bad(contract, "there is no function after this contract");
        };
        let header = &blank[from..open];
        let (Some(paren), b'{') = (header.find('('), bytes[open]) else {
            return bad(contract, "a contract stands before the definition of a function, with its body");
        };
        let name_end = header[..paren].trim_end().len();
        let name_start = header[..name_end].rfind(|c: char| !is_word(c)).map_or(0, |n| n + 1);
        let words = header[..name_start].replace('*', " * ");
        let kept = words
            .split_whitespace()
            .filter(|w| !matches!(*w, "static" | "inline" | "extern" | "__inline" | "_Noreturn"));
        let result = kept.collect::<Vec<_>>().join(" ");
        let Some(closing) = matching(&header[paren..], '(', ')').map(|n| paren + n) else {
            return bad(contract, "the function after this contract cannot be read");
        };
        let parameters = header[paren + 1..closing].split(',').filter_map(parameter_name).collect();
        let Some(close) = matching(&blank[open..], '{', '}').map(|n| open + n) else {
            return bad(contract, "the body of the function after this contract has no end");
        };
        if name_start == name_end || result.is_empty() {
            return bad(contract, "the function after this contract cannot be read");
        }
        Ok(Self { text, blank, result, parameters, open, close, contract })
    }

    fn add_contract(
        &self,
        clauses: &[(ClauseKind, String)],
        edits: &mut Vec<(usize, usize, String)>,
    ) -> ContractResult<()> {
        let of = |kind: ClauseKind| clauses.iter().filter(move |(k, _)| *k == kind).map(|(_, e)| e.as_str());
        let mut first = String::new();
        let mut ensured = String::new();
        let mut kept: Option<Vec<&str>> = Some(Vec::new());
        for clause in of(ClauseKind::Requires) {
            if clause.contains("\\result") || clause.contains("\\old") {
                return bad(self.contract, "`requires` speaks of the call: there is no `\\result` and no `\\old` yet");
            }
            first += &format!(" {ASSERTION}({});", self.condition(clause, &mut None)?);
        }
        for clause in of(ClauseKind::Ensures) {
            ensured += &format!(" {ASSERTION}({});", self.condition(clause, &mut kept)?);
        }
        if ensured.contains(RESULT) && self.result == "void" {
            return bad(self.contract, "a function without a result has no `\\result`");
        }
        let old: String = kept.iter().flatten().map(|p| format!(" __typeof__({p}) {OLD}{p} = {p};")).collect();
        edits.push((self.open + 1, self.open + 1, format!("{old}{first}")));
        if ensured.is_empty() {
            return Ok(());
        }
        for (start, end) in self.returns() {
            let value = self.text[start + "return".len()..end].trim();
            let new = match value.is_empty() {
                true => format!("{{{ensured} return; }}"),
                // The line breaks of the value stay.
                false => format!("{{ {} {RESULT} = {value};{ensured} return {RESULT}; }}", self.result),
            };
            edits.push((start, end + 1, new));
        }
        if self.result == "void" {
            edits.push((self.close, self.close, format!("{ensured} ")));
        }
        Ok(())
    }

    /// The `return`s of the body, each with the place of its semicolon.
    fn returns(&self) -> Vec<(usize, usize)> {
        let body = &self.blank[self.open..self.close];
        let mut found = Vec::new();
        for (n, _) in body.match_indices("return") {
            let (before, after) = (body[..n].chars().next_back(), body[n + 6..].chars().next());
            let word = |c: Option<char>| c.is_some_and(is_word);
            if let (false, Some(end)) = (word(before) || word(after), body[n..].find(';')) {
                found.push((self.open + n, self.open + n + end));
            }
        }
        found
    }

    /// A formula of ACSL as an expression of C. `kept` takes the parameters whose value at the call is needed; at the call itself there are none.
    fn condition<'s>(&'s self, formula: &str, kept: &mut Option<Vec<&'s str>>) -> ContractResult<String> {
        if let Some(at) = outermost(formula, "==>") {
            let (left, right) = (&formula[..at], &formula[at + 3..]);
            return Ok(format!("(!({}) || ({}))", self.condition(left, kept)?, self.condition(right, kept)?));
        }
        for part in formula.split("&&").flat_map(|p| p.split("||")) {
            let plain = part.replace("->", "  ").replace("<<", "  ").replace(">>", "  ");
            if !plain.contains('(') && plain.matches(['<', '>']).count() > 1 {
                return bad(self.contract, format!("`{}` compares twice: write it as two comparisons", part.trim()));
            }
        }
        let mut out = String::new();
        let mut rest = formula;
        while let Some(c) = rest.chars().next() {
            if c == '(' {
                let Some(end) = matching(rest, '(', ')') else { return bad(self.contract, "a bracket is not closed") };
                out += &format!("({})", self.condition(&rest[1..end], kept)?);
                rest = &rest[end + 1..];
            } else if c == '\\' {
                let end = rest[1..].find(|c: char| !is_word(c)).map_or(rest.len(), |n| n + 1);
                let word = &rest[..end];
                rest = &rest[end..];
                match word {
                    "\\result" => out += RESULT,
                    "\\true" => out += "1",
                    "\\false" => out += "0",
                    "\\null" => out += "((void *)0)",
                    "\\old" => {}
                    _ => return bad(self.contract, format!("`{word}` is not supported")),
                }
                if word == "\\old" {
                    let inner = matching(rest.trim_start(), '(', ')').map(|end| rest.trim_start()[1..end].trim());
                    let Some(p) = inner.and_then(|p| self.parameters.iter().find(|q| *q == p)) else {
                        return bad(self.contract, "`\\old` is supported for parameters alone");
                    };
                    kept.iter_mut().for_each(|kept| keep(p, kept));
                    out += &format!("{OLD}{p}");
                    rest = &rest[rest.find(')').map_or(rest.len(), |n| n + 1)..];
                }
            } else if is_word(c) {
                let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
                let (word, before) = (&rest[..end], out.trim_end());
                let member = before.ends_with('.') || before.ends_with("->");
                let parameter = self.parameters.iter().find(|p| *p == word && !member);
                match (parameter, &mut *kept) {
                    (Some(p), Some(kept)) => {
                        keep(p, kept);
                        out += &format!("{OLD}{p}");
                    }
                    _ => out += word,
                }
                rest = &rest[end..];
            } else {
                out.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
        Ok(out)
    }
}

fn keep<'s>(parameter: &'s str, kept: &mut Vec<&'s str>) {
    if !kept.contains(&parameter) {
        kept.push(parameter);
    }
}

const RESULT: &str = "__tp_result";
const OLD: &str = "__tp_old_";

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Where the bracket closes that a text begins with.
fn matching(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        depth += i32::from(c == open) - i32::from(c == close);
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// Where an operator stands outside all brackets, the first time.
fn outermost(text: &str, operator: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        if depth == 0 && text[at..].starts_with(operator) {
            return Some(at);
        }
    }
    None
}

/// The name of a parameter; none of `void` and of what is not a plain declarator.
fn parameter_name(declared: &str) -> Option<String> {
    let plain = declared.split('[').next().unwrap_or_default().trim();
    let start = plain.rfind(|c: char| !is_word(c)).map_or(0, |n| n + 1);
    let name = &plain[start..];
    (start > 0 && !name.is_empty()).then(|| name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_contracts_become_assertions_at_the_call_and_at_each_return() {
        let text = "//@ requires n > 0 ==> n < 9;\n//@ ensures \\result >= n && \\result != \\old(n) - 1;\nstatic int f(int n) {\n  if (n > 3) return n;\n  n++;\n  return n; }\n";
        let code = with_contracts(text).unwrap();
        assert_eq!(code.lines().count(), text.lines().count());
        assert!(code.contains("{ __typeof__(n) __tp_old_n = n; __tp_acsl((!(n > 0 ) || ( n < 9)));"), "{code}");
        let returned = "{ int __tp_result = n; __tp_acsl(__tp_result >= __tp_old_n && __tp_result != __tp_old_n - 1); return __tp_result; }";
        assert_eq!(code.matches(returned).count(), 2, "{code}");
    }

    #[test]
    fn check_blocks_and_functions_without_a_result_are_read() {
        let text = "int x;\n/*@ requires x >= 0;\n  @ ensures x == 1;\n  @*/\nvoid f(void)\n{\n  if (x) return;\n  x = 1;\n}\nint g(void) { return 0; }\n";
        let code = with_contracts(text).unwrap();
        assert!(code.contains("if (x) { __tp_acsl(x == 1); return; }"), "{code}");
        assert!(code.contains("x = 1;\n __tp_acsl(x == 1); }"), "{code}");
        assert!(code.contains("int g(void) { return 0; }"), "{code}");
    }

    #[test]
    fn check_what_is_not_checked_is_an_error() {
        for (text, why) in [
            ("//@ requires 0 <= x < 3;\nint f(int x) { return x; }\n", "compares twice"),
            ("/*@ requires x; assigns x; */\nint f(int x) { return x; }\n", "`assigns`"),
            ("//@ ensures \\old(y) == 1;\nint y; int f(int x) { return x; }\n", "before the definition"),
            ("//@ ensures \\old(y) == 1;\nint f(int x) { return x; }\n", "parameters alone"),
            ("//@ ensures \\forall int i; i > 0;\nint f(int x) { return x; }\n", "not"),
            ("//@ requires x > 0;\nint f(int x);\n", "with its body"),
        ] {
            let said = with_contracts(text).unwrap_err();
            assert!(said.why.contains(why), "{text}: {said:?}");
        }
        let text = "char *s = \"//@ requires 1;\"; // see //@ requires\n";
        assert_eq!(with_contracts(text).unwrap(), text);
    }
}
