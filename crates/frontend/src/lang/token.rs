//! Text to tokens.
//!
//! In: the text of a file. Out: tokens with byte ranges (comments kept apart, blanks dropped), and
//! diagnostics for what is no token. A run of strange characters is one diagnostic. Keywords that are also natural
//! names (`free`, `state`, `set`, ...) are tokens of their own here; `Token::is_soft` tells which of them the parser
//! takes as names.

use crate::lang::codes;
use base::{Diagnostic, SourceId, Span};
use logos::Logos;

#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[logos(skip r"[ \t\r\n\x0c]+")]
pub(crate) enum Token {
    #[regex("[A-Za-z_][A-Za-z0-9_]*")]
    Name,
    #[regex("[0-9][0-9A-Za-z_]*")]
    Number,
    #[token("//", line_comment)]
    #[token("/*", block_comment)]
    Comment,

    #[token("const")]
    Const,
    #[token("enum")]
    Enum,
    #[token("class")]
    Class,
    #[token("var")]
    Var,
    #[token("init")]
    Init,
    #[token("invariant")]
    Invariant,
    #[token("rely")]
    Rely,
    #[token("thread")]
    Thread,
    #[token("follows")]
    Follows,
    #[token("proc")]
    Proc,
    #[token("inline")]
    Inline,
    #[token("returns")]
    Returns,
    #[token("requires")]
    Requires,
    #[token("ensures")]
    Ensures,
    #[token("performs")]
    Performs,
    #[token("machine")]
    Machine,
    #[token("strict")]
    Strict,
    #[token("start")]
    Start,
    #[token("state")]
    State,
    #[token("asserts")]
    Asserts,
    #[token("asserting")]
    Asserting,
    #[token("object")]
    Object,
    #[token("spec")]
    Spec,
    #[token("op")]
    Op,
    #[token("accessible_if")]
    AccessibleIf,
    #[token("guarded_by")]
    GuardedBy,
    #[token("readable_if")]
    ReadableIf,
    #[token("writable_if")]
    WritableIf,
    #[token("private")]
    Private,
    #[token("thread_local")]
    ThreadLocal,
    #[token("modifies")]
    Modifies,

    #[token("if")]
    If,
    #[token("then")]
    Then,
    #[token("else")]
    Else,
    #[token("while")]
    While,
    #[token("choose")]
    Choose,
    #[token("or")]
    Or,
    #[token("atomic")]
    Atomic,
    #[token("step")]
    Step,
    #[token("havoc")]
    Havoc,
    #[token("assume")]
    Assume,
    #[token("assert")]
    Assert,
    #[token("acquire")]
    Acquire,
    #[token("release")]
    Release,
    #[token("new")]
    New,
    #[token("free")]
    Free,
    #[token("cas")]
    Cas,
    #[token("spawn")]
    Spawn,
    #[token("join")]
    Join,
    #[token("witness")]
    Witness,
    #[token("linearize")]
    Linearize,
    #[token("skip")]
    Skip,
    #[token("return")]
    Return,
    #[token("break")]
    Break,
    #[token("continue")]
    Continue,

    #[token("true")]
    True,
    #[token("false")]
    False,
    #[token("null")]
    Null,
    #[token("tid")]
    Tid,
    #[token("forall")]
    Forall,
    #[token("exists")]
    Exists,
    #[token("in")]
    In,

    #[token("bool")]
    Bool,
    #[token("int")]
    Int,
    #[token("i8")]
    I8,
    #[token("i16")]
    I16,
    #[token("i32")]
    I32,
    #[token("i64")]
    I64,
    #[token("u8")]
    U8,
    #[token("u16")]
    U16,
    #[token("u32")]
    U32,
    #[token("u64")]
    U64,
    #[token("lock")]
    Lock,
    #[token("set")]
    Set,
    #[token("seq")]
    Seq,

    #[token("(")]
    OpenParen,
    #[token(")")]
    CloseParen,
    #[token("[")]
    OpenBracket,
    #[token("]")]
    CloseBracket,
    /// One token, because it is an operator between actions as well as the empty sequence.
    #[token("[]")]
    Brackets,
    #[token("{")]
    OpenBrace,
    #[token("}")]
    CloseBrace,
    #[token(";")]
    Semicolon,
    #[token(",")]
    Comma,
    #[token(":")]
    Colon,
    #[token("::")]
    DoubleColon,
    #[token(":=")]
    Becomes,
    #[token("=")]
    Equals,
    #[token(".")]
    Dot,
    #[token("..")]
    DotDot,
    #[token("->")]
    Arrow,
    #[token("'")]
    Prime,
    #[token("?")]
    Question,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("*")]
    Star,
    #[token("/")]
    Slash,
    #[token("%")]
    Percent,
    #[token("!")]
    Bang,
    #[token("&&")]
    AndAnd,
    #[token("||")]
    OrOr,
    #[token("==>")]
    Implies,
    #[token("<==>")]
    Iff,
    #[token("==")]
    EqualsEquals,
    #[token("!=")]
    NotEquals,
    #[token("<")]
    Less,
    #[token("<=")]
    LessEquals,
    #[token(">")]
    Greater,
    #[token(">=")]
    GreaterEquals,

    End,
}

impl Token {
    /// A keyword that is taken as a name where a name is wanted.
    pub(crate) fn is_soft(self) -> bool {
        use Token::*;
        matches!(
            self,
            Start
                | Private
                | State
                | Op
                | Spec
                | Free
                | Strict
                | Asserts
                | Asserting
                | Follows
                | Set
                | Seq
                | Object
                | Machine
                | Init
                | Step
                | Join
                | Lock
                | Witness
                | Modifies
        )
    }
}

fn line_comment(lexer: &mut logos::Lexer<Token>) {
    let rest = lexer.remainder();
    lexer.bump(rest.find('\n').unwrap_or(rest.len()));
}

fn block_comment(lexer: &mut logos::Lexer<Token>) {
    let rest = lexer.remainder();
    lexer.bump(rest.find("*/").map_or(rest.len(), |at| at + 2));
}

/// A token and its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacedToken {
    pub(crate) token: Token,
    pub start: u32,
    pub end: u32,
}

/// What lexing gives; `tokens` ends with `Token::End`.
#[derive(Debug)]
pub(crate) struct Lexed {
    pub tokens: Vec<PlacedToken>,
    pub(crate) comments: Vec<Span>,
    pub diagnostics: Vec<Diagnostic>,
}

/// Runs of strange characters that are reported one by one.
const STRANGE_SHOWN: usize = 20;

/// Splits a text into tokens.
pub(crate) fn lex_text(file: SourceId, text: &str) -> Lexed {
    let mut tokens: Vec<PlacedToken> = Vec::with_capacity(text.len() / 4);
    let mut comments = Vec::new();
    let mut diagnostics: Vec<Diagnostic> = Vec::new();
    let mut strange: Option<(usize, usize)> = None;
    let mut runs = 0;
    // Where a name with letters that are not ASCII ends: what touches it belongs to the same (wrong) name.
    let mut glue: Option<u32> = None;
    for (token, range) in Token::lexer(text).spanned() {
        match token {
            Ok(Token::Comment) => {
                let comment = &text[range.clone()];
                let span = Span::new(file, range.start, range.end);
                comments.push(span);
                if comment.starts_with("/*") && (comment.len() < 4 || !comment.ends_with("*/")) {
                    let opening = Span::new(file, range.start, range.start + 2);
                    diagnostics.push(
                        Diagnostic::error(codes::OPEN_COMMENT, opening, "this comment is never closed")
                            .label("the comment starts here")
                            .hint("write `*/` where it ends"),
                    );
                }
                if let Some(nul) = comment.find('\0') {
                    let at = range.start + nul;
                    diagnostics.push(strange_character(file, text, at, at + 1));
                }
            }
            Ok(token) => {
                let word = text.as_bytes()[range.start].is_ascii_alphanumeric() || text.as_bytes()[range.start] == b'_';
                if let (Some(last), true) = (tokens.last_mut().filter(|_| glue == Some(range.start as u32)), word) {
                    last.end = range.end as u32;
                    glue = Some(last.end);
                    continue;
                }
                tokens.push(PlacedToken { token, start: range.start as u32, end: range.end as u32 });
            }
            Err(()) => {
                if text[range.clone()].chars().all(|c| c.is_alphabetic()) {
                    let (start, end) = (range.start as u32, range.end as u32);
                    match tokens.last_mut() {
                        Some(last) if last.end == start && matches!(last.token, Token::Name) => last.end = end,
                        _ => tokens.push(PlacedToken { token: Token::Name, start, end }),
                    }
                    glue = Some(end);
                }
                strange = match strange {
                    Some((start, end)) if end == range.start => Some((start, range.end)),
                    earlier => {
                        report(file, text, earlier, &mut runs, &mut diagnostics);
                        Some((range.start, range.end))
                    }
                };
            }
        }
    }
    report(file, text, strange, &mut runs, &mut diagnostics);
    let end = text.len() as u32;
    tokens.push(PlacedToken { token: Token::End, start: end, end });
    Lexed { tokens, comments, diagnostics }
}

fn report(
    file: SourceId,
    text: &str,
    run: Option<(usize, usize)>,
    runs: &mut usize,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let Some((start, end)) = run else { return };
    *runs += 1;
    // Replacement characters have been reported as invalid UTF-8 already.
    let known = text[start..end].chars().all(|c| c == '\u{fffd}');
    if *runs <= STRANGE_SHOWN && !known {
        diagnostics.push(strange_character(file, text, start, end));
    }
}

fn strange_character(file: SourceId, text: &str, start: usize, end: usize) -> Diagnostic {
    let first = text[start..].chars().next().unwrap_or('\0');
    let message = match first {
        '\0' => "a NUL character is not allowed".to_owned(),
        c if c.is_control() => format!("the control character U+{:04X} is not allowed", c as u32),
        c => format!("the character `{c}` means nothing here"),
    };
    let diagnostic = Diagnostic::error(codes::STRANGE_CHARACTER, Span::new(file, start, end), message);
    match first {
        '&' => diagnostic.hint("conjunction is written `&&`"),
        '|' => diagnostic.hint("disjunction is written `||`"),
        '"' | '`' | '\u{201c}' | '\u{201d}' => diagnostic.hint("the language has no strings"),
        c if c.is_alphabetic() => diagnostic.hint("identifiers are made of ASCII letters, digits and `_`"),
        _ => diagnostic,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::ids::Id;

    fn tokens(text: &str) -> Vec<Token> {
        lex_text(SourceId::from_index(0), text).tokens.iter().map(|t| t.token).collect()
    }

    #[test]
    fn check_the_longest_token_wins() {
        use Token::*;
        assert_eq!(tokens("<==> <= =="), [Iff, LessEquals, EqualsEquals, End]);
        assert_eq!(tokens("i80 i8 accessible_if[j]"), [Name, I8, AccessibleIf, OpenBracket, Name, CloseBracket, End]);
        assert_eq!(tokens("q[1..n] [] l'[r] := ::"), {
            let slice = [Name, OpenBracket, Number, DotDot, Name, CloseBracket, Brackets];
            [&slice[..], &[Name, Prime, OpenBracket, Name, CloseBracket, Becomes, DoubleColon, End]].concat()
        });
    }

    #[test]
    fn check_comments_are_kept_apart() {
        let lexed = lex_text(SourceId::from_index(0), "a // \u{e9} b\n/* c\n * d **/ e /* open");
        assert_eq!(lexed.tokens.len(), 3);
        assert_eq!(lexed.comments.len(), 3);
        assert_eq!(lexed.diagnostics.len(), 1);
        assert_eq!(lexed.diagnostics[0].code, codes::OPEN_COMMENT);
        assert_eq!(lex_text(SourceId::from_index(0), "/*/").diagnostics.len(), 1);
    }

    #[test]
    fn check_a_run_of_strange_characters_is_one_error() {
        let lexed = lex_text(SourceId::from_index(0), &"\0#\u{4e2d}".repeat(100_000));
        assert_eq!(lexed.diagnostics.len(), 1);
        let many = lex_text(SourceId::from_index(0), &"# ".repeat(100_000));
        assert_eq!(many.diagnostics.len(), STRANGE_SHOWN);
    }
}
