//! Text to tokens.
//!
//! In: the text of a file. Out: tokens with byte ranges (comments kept apart, blanks dropped), and
//! diagnostics for what is no token. A run of strange characters is one diagnostic. Keywords that are also natural
//! names (`free`, `state`, `set`, ...) are tokens of their own here; `Token::is_soft` tells which of them the parser
//! takes as names.

use crate::lang::codes;
use base::{Diagnostic, SourceId, Span};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Token {
    Name,
    Number,
    Comment,

    Const,
    Enum,
    Class,
    Var,
    Init,
    Invariant,
    Rely,
    Thread,
    Follows,
    Proc,
    Inline,
    Returns,
    Requires,
    Ensures,
    Performs,
    Private,
    Machine,
    Strict,
    Start,
    State,
    Asserts,
    Asserting,
    Object,
    Spec,
    Op,
    AccessibleIf,
    GuardedBy,
    ReadableIf,
    WritableIf,
    ThreadLocal,
    Modifies,

    If,
    Then,
    Else,
    While,
    Choose,
    Or,
    Atomic,
    Step,
    Havoc,
    Assume,
    Assert,
    Acquire,
    Release,
    New,
    Free,
    Cas,
    Spawn,
    Join,
    Witness,
    Linearize,
    Skip,
    Return,
    Break,
    Continue,

    True,
    False,
    Null,
    Tid,
    Forall,
    Exists,
    In,

    Bool,
    Int,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    Lock,
    Set,
    Seq,

    OpenParen,
    CloseParen,
    OpenBracket,
    CloseBracket,
    /// One token, because it is an operator between actions as well as the empty sequence.
    Brackets,
    OpenBrace,
    CloseBrace,
    Semicolon,
    Comma,
    Colon,
    DoubleColon,
    Becomes,
    Equals,
    Dot,
    DotDot,
    Arrow,
    Prime,
    Question,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Bang,
    AndAnd,
    OrOr,
    Implies,
    Iff,
    EqualsEquals,
    NotEquals,
    Less,
    LessEquals,
    Greater,
    GreaterEquals,

    End,
}

/// The keywords, in the order of the alphabet.
const KEYWORDS: [(&str, Token); 75] = [
    ("accessible_if", Token::AccessibleIf),
    ("acquire", Token::Acquire),
    ("assert", Token::Assert),
    ("asserting", Token::Asserting),
    ("asserts", Token::Asserts),
    ("assume", Token::Assume),
    ("atomic", Token::Atomic),
    ("bool", Token::Bool),
    ("break", Token::Break),
    ("cas", Token::Cas),
    ("choose", Token::Choose),
    ("class", Token::Class),
    ("const", Token::Const),
    ("continue", Token::Continue),
    ("else", Token::Else),
    ("ensures", Token::Ensures),
    ("enum", Token::Enum),
    ("exists", Token::Exists),
    ("false", Token::False),
    ("follows", Token::Follows),
    ("forall", Token::Forall),
    ("free", Token::Free),
    ("guarded_by", Token::GuardedBy),
    ("havoc", Token::Havoc),
    ("i16", Token::I16),
    ("i32", Token::I32),
    ("i64", Token::I64),
    ("i8", Token::I8),
    ("if", Token::If),
    ("in", Token::In),
    ("init", Token::Init),
    ("inline", Token::Inline),
    ("int", Token::Int),
    ("invariant", Token::Invariant),
    ("join", Token::Join),
    ("linearize", Token::Linearize),
    ("lock", Token::Lock),
    ("machine", Token::Machine),
    ("modifies", Token::Modifies),
    ("new", Token::New),
    ("null", Token::Null),
    ("object", Token::Object),
    ("op", Token::Op),
    ("or", Token::Or),
    ("performs", Token::Performs),
    ("private", Token::Private),
    ("proc", Token::Proc),
    ("readable_if", Token::ReadableIf),
    ("release", Token::Release),
    ("rely", Token::Rely),
    ("requires", Token::Requires),
    ("return", Token::Return),
    ("returns", Token::Returns),
    ("seq", Token::Seq),
    ("set", Token::Set),
    ("skip", Token::Skip),
    ("spawn", Token::Spawn),
    ("spec", Token::Spec),
    ("start", Token::Start),
    ("state", Token::State),
    ("step", Token::Step),
    ("strict", Token::Strict),
    ("then", Token::Then),
    ("thread", Token::Thread),
    ("thread_local", Token::ThreadLocal),
    ("tid", Token::Tid),
    ("true", Token::True),
    ("u16", Token::U16),
    ("u32", Token::U32),
    ("u64", Token::U64),
    ("u8", Token::U8),
    ("var", Token::Var),
    ("while", Token::While),
    ("witness", Token::Witness),
    ("writable_if", Token::WritableIf),
];

/// The other tokens, longer ones first.
const SIGNS: [(&str, Token); 34] = [
    ("<==>", Token::Iff),
    ("==>", Token::Implies),
    ("[]", Token::Brackets),
    ("::", Token::DoubleColon),
    (":=", Token::Becomes),
    ("..", Token::DotDot),
    ("->", Token::Arrow),
    ("&&", Token::AndAnd),
    ("||", Token::OrOr),
    ("==", Token::EqualsEquals),
    ("!=", Token::NotEquals),
    ("<=", Token::LessEquals),
    (">=", Token::GreaterEquals),
    ("(", Token::OpenParen),
    (")", Token::CloseParen),
    ("[", Token::OpenBracket),
    ("]", Token::CloseBracket),
    ("{", Token::OpenBrace),
    ("}", Token::CloseBrace),
    (";", Token::Semicolon),
    (",", Token::Comma),
    (":", Token::Colon),
    ("=", Token::Equals),
    (".", Token::Dot),
    ("'", Token::Prime),
    ("?", Token::Question),
    ("+", Token::Plus),
    ("-", Token::Minus),
    ("*", Token::Star),
    ("/", Token::Slash),
    ("%", Token::Percent),
    ("!", Token::Bang),
    ("<", Token::Less),
    (">", Token::Greater),
];

impl Token {
    /// A keyword that is taken as a name where a name is wanted.
    pub(crate) fn is_soft(self) -> bool {
        use Token::*;
        matches!(
            self,
            Start
                | State
                | Op
                | Spec
                | Private
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

/// The tokens of a text one after the other, each with its range; `None` for a character that begins no token.
struct Scanner<'t> {
    text: &'t str,
    at: usize,
}

impl Scanner<'_> {
    /// The token that a text begins with, and its length.
    fn first(rest: &str) -> (Option<Token>, usize) {
        let bytes = rest.as_bytes();
        let word = || bytes.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
        match bytes[0] {
            b'A'..=b'Z' | b'a'..=b'z' | b'_' => {
                let end = word();
                let known = KEYWORDS.binary_search_by(|(text, _)| (*text).cmp(&rest[..end]));
                (Some(known.map_or(Token::Name, |at| KEYWORDS[at].1)), end)
            }
            b'0'..=b'9' => (Some(Token::Number), word()),
            b'/' if rest.starts_with("//") => (Some(Token::Comment), rest.find('\n').unwrap_or(rest.len())),
            b'/' if rest.starts_with("/*") => {
                (Some(Token::Comment), rest[2..].find("*/").map_or(rest.len(), |at| at + 4))
            }
            _ => match SIGNS.iter().find(|(text, _)| rest.starts_with(text)) {
                Some((text, token)) => (Some(*token), text.len()),
                None => (None, rest.chars().next().map_or(1, char::len_utf8)),
            },
        }
    }
}

impl Iterator for Scanner<'_> {
    type Item = (Option<Token>, std::ops::Range<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        let is_blank = |b: &u8| matches!(b, b' ' | b'\t' | b'\r' | b'\n' | 0x0c);
        self.at += self.text.as_bytes()[self.at..].iter().take_while(|b| is_blank(b)).count();
        let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty())?;
        let (token, length) = Self::first(rest);
        let begin = self.at;
        self.at += length;
        Some((token, begin..self.at))
    }
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
    for (token, range) in (Scanner { text, at: 0 }) {
        match token {
            Some(Token::Comment) => {
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
            Some(token) => {
                let word = text.as_bytes()[range.start].is_ascii_alphanumeric() || text.as_bytes()[range.start] == b'_';
                if let (Some(last), true) = (tokens.last_mut().filter(|_| glue == Some(range.start as u32)), word) {
                    last.end = range.end as u32;
                    glue = Some(last.end);
                    continue;
                }
                tokens.push(PlacedToken { token, start: range.start as u32, end: range.end as u32 });
            }
            None => {
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
    fn check_every_word_and_sign_is_its_token() {
        assert!(KEYWORDS.is_sorted_by(|a, b| a.0 < b.0), "they are searched by halves");
        assert!(SIGNS.is_sorted_by(|a, b| a.0.len() >= b.0.len()), "the longest is found first");
        for (text, token) in KEYWORDS.iter().chain(&SIGNS) {
            assert_eq!(tokens(text), [*token, Token::End], "{text}");
        }
        let names: std::collections::BTreeSet<&str> = KEYWORDS.iter().chain(&SIGNS).map(|(text, _)| *text).collect();
        assert_eq!(names.len(), KEYWORDS.len() + SIGNS.len());
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
