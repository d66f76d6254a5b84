//! Tokens to a tree, by recursive descent with operator precedence, never failing.
//!
//! In: the text of a file. Out: a tree, the comments, and diagnostics. After an error the parser is
//! silent until it has found its feet again: at a `;`, at the `}` of the block, or at a keyword that starts a
//! statement or an item. Nesting deeper than `MAX_TREE_HEIGHT` is an error of its own, so no input exhausts the stack, and
//! no later walk of the tree can. After `MAX_ERRORS` errors parsing stops. Deliberately absent: names and types.

mod expr;
mod item;
mod stmt;

use crate::lang::Parsed;
use crate::lang::ast::{Name, SourceSpan, SourceTree, Spanned};
use crate::lang::codes;
use crate::lang::resolve::foreign_word;
use crate::lang::token::{PlacedToken, Token, lex_text};
use base::{Diagnostic, DiagnosticCode, SourceId, Span};

/// How high a tree of expressions, types or statements may be.
pub(crate) const MAX_TREE_HEIGHT: u32 = 250;
/// Errors after which the rest of the file is not parsed.
const MAX_ERRORS: usize = 100;

/// Parses the text of a file.
pub(crate) fn parse_file(file: SourceId, text: &str) -> Parsed {
    let lexed = lex_text(file, text);
    let strange =
        lexed.diagnostics.iter().filter(|d| d.code == codes::STRANGE_CHARACTER).map(|d| d.span.start).collect();
    let mut parser = Parser {
        file,
        text,
        tokens: lexed.tokens,
        at: 0,
        depth: 0,
        recovering: false,
        diagnostics: lexed.diagnostics,
        lost: false,
        strange,
    };
    let items = parser.items();
    let mut diagnostics = parser.diagnostics;
    diagnostics.sort_by_key(|d| (d.span.start, d.code == codes::TOO_MANY));
    Parsed { file, tree: SourceTree { items }, comments: lexed.comments, diagnostics, lost: parser.lost }
}

struct Parser<'a> {
    file: SourceId,
    text: &'a str,
    /// Ends with `Token::End`, which is never passed.
    tokens: Vec<PlacedToken>,
    at: usize,
    depth: u32,
    /// An error has been reported and the parser has not yet found a place to go on from.
    recovering: bool,
    diagnostics: Vec<Diagnostic>,
    lost: bool,
    /// Where there are characters that mean nothing, in order.
    strange: Vec<u32>,
}

impl Parser<'_> {
    fn peek(&self) -> Token {
        self.tokens[self.at].token
    }
    fn peek_at(&self, ahead: usize) -> Token {
        self.tokens.get(self.at + ahead).map_or(Token::End, |t| t.token)
    }
    fn is(&self, token: Token) -> bool {
        self.peek() == token
    }
    fn bump(&mut self) {
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
    }
    fn eat(&mut self, token: Token) -> bool {
        let found = self.is(token);
        if found {
            self.bump();
        }
        found
    }

    /// Span of the next token.
    fn here(&self) -> Span {
        let token = self.tokens[self.at];
        Span { file: self.file, start: token.start, end: token.end }
    }
    /// From the start of a node to the end of the last token taken.
    fn since(&self, start: u32) -> Span {
        let end = if self.at == 0 { start } else { self.tokens[self.at - 1].end };
        Span { file: self.file, start, end: end.max(start) }
    }
    fn place_since(&self, start: u32) -> SourceSpan {
        SourceSpan(self.since(start))
    }
    fn start(&self) -> u32 {
        self.tokens[self.at].start
    }
    /// The place just behind the last token, where something is missing.
    fn behind(&self) -> Span {
        let end = if self.at == 0 { 0 } else { self.tokens[self.at - 1].end };
        Span { file: self.file, start: end, end }
    }
    /// Whether a line break stands before the next token.
    fn on_new_line(&self) -> bool {
        let from = self.behind().end as usize;
        self.text[from..self.start() as usize].contains('\n')
    }

    /// How a message calls the next token.
    fn found(&self) -> String {
        let token = self.tokens[self.at];
        match token.token {
            Token::End => "the end of the file".to_owned(),
            _ => {
                let text = &self.text[token.start as usize..token.end as usize];
                if text.len() > 60 { "a very long word".to_owned() } else { format!("`{text}`") }
            }
        }
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() > MAX_ERRORS {
            return;
        }
        self.diagnostics.push(diagnostic);
        if self.diagnostics.len() >= MAX_ERRORS {
            let span = self.here();
            let message = format!("there are more than {MAX_ERRORS} errors: the rest of the file is not read");
            self.diagnostics.push(Diagnostic::error(codes::TOO_MANY, span, message));
            self.at = self.tokens.len() - 1;
            self.recovering = true;
            self.lost = true;
        }
    }
    /// Reports an error unless one is being recovered from, and starts to recover.
    fn fail(&mut self, diagnostic: Diagnostic) {
        // A second error at one place is only an echo of the first.
        let echo = self.diagnostics.last().is_some_and(|d| d.span.start == diagnostic.span.start);
        // So is one right behind characters that mean nothing.
        let (from, to) = (self.behind().end, self.start());
        let strange = self.strange.partition_point(|s| *s < from);
        let strange = self.strange.get(strange).is_some_and(|s| *s < to);
        if !self.recovering && !echo && !strange {
            self.report(diagnostic);
        }
        self.recovering = true;
    }
    fn fail_expected(&mut self, what: &str) {
        self.fail(self.expected(codes::UNEXPECTED, what));
    }
    fn expected(&self, code: DiagnosticCode, what: &str) -> Diagnostic {
        let message = format!("expected {what}, found {}", self.found());
        Diagnostic::error(code, self.here(), message).label(format!("expected {what}"))
    }

    /// Takes a token that must be there.
    fn expect(&mut self, token: Token, text: &str) -> bool {
        let found = self.eat(token);
        if !found {
            self.fail_expected(&format!("`{text}`"));
        }
        found
    }
    /// Takes a closing token that must be there; the error shows what it would close.
    fn expect_close(&mut self, token: Token, text: &str, opening: Span) {
        if !self.eat(token) {
            let diagnostic = self.expected(codes::UNCLOSED, &format!("`{text}`")).also(opening, "to close this");
            self.fail(diagnostic);
        }
    }
    /// Takes the `>` of a frame or a type argument, also where it was read together with a following `=`.
    fn expect_greater(&mut self) {
        if self.is(Token::GreaterEquals) {
            let token = &mut self.tokens[self.at];
            token.token = Token::Equals;
            token.start += 1;
        } else {
            self.expect(Token::Greater, ">");
        }
    }
    /// Takes the `;` that ends a statement or declaration. Where it is only missing, nothing else is lost.
    fn expect_end(&mut self) {
        if self.eat(Token::Semicolon) {
            // The end of a broken statement is a place to go on from.
            self.recovering = false;
            return;
        }
        if self.recovering {
            return;
        }
        let diagnostic =
            Diagnostic::error(codes::UNEXPECTED, self.behind(), format!("expected `;`, found {}", self.found()))
                .label("expected `;`");
        let equality = self.is(Token::Equals);
        let here = self.here();
        let foreign = foreign_word(&self.text[here.start as usize..here.end as usize]).filter(|_| !self.on_new_line());
        let diagnostic = match (equality, foreign) {
            (true, _) => diagnostic.hint("equality is written `==`"),
            (false, Some(hint)) => diagnostic.hint(hint),
            (false, None) => diagnostic,
        };
        let only_missing = self.on_new_line() || matches!(self.peek(), Token::CloseBrace | Token::End);
        self.fail(diagnostic);
        if only_missing && !self.is(Token::End) {
            self.recovering = false;
        }
    }

    fn is_name(&self) -> bool {
        self.is_name_at(0)
    }
    fn is_name_at(&self, ahead: usize) -> bool {
        let token = self.peek_at(ahead);
        token == Token::Name || token.is_soft()
    }
    /// A name that must be there; an empty name stands for a missing one.
    fn name(&mut self, what: &str) -> Name {
        let span = self.here();
        if self.is_name() {
            let text = self.text[span.start as usize..span.end as usize].into();
            self.bump();
            return Spanned::new(text, span);
        }
        let mut diagnostic = self.expected(codes::UNEXPECTED, what);
        let word = &self.text[span.start as usize..span.end as usize];
        if word.starts_with(|c: char| c.is_ascii_alphabetic()) {
            diagnostic = diagnostic.hint(format!("`{word}` is a keyword"));
        }
        self.fail(diagnostic);
        Spanned::new("".into(), Span { end: span.start, ..span })
    }

    /// Goes one level deeper, unless the limit is reached; every `true` is matched by `leave`.
    fn enter(&mut self) -> bool {
        if self.depth >= MAX_TREE_HEIGHT {
            self.fail_too_deep(self.here());
            return false;
        }
        self.depth += 1;
        true
    }
    fn leave(&mut self) {
        self.depth -= 1;
    }
    fn fail_too_deep(&mut self, span: Span) {
        let message = format!("this is nested more than {MAX_TREE_HEIGHT} levels deep");
        let hint = "name parts of it: a local variable, an inline procedure, or separate clauses";
        self.fail(Diagnostic::error(codes::TOO_DEEP, span, message).hint(hint));
    }

    /// Whether the next tokens start an item that cannot stand inside a body: a `}` is missing before them.
    fn at_item_keyword(&self) -> bool {
        match self.peek() {
            Token::Const | Token::Enum | Token::Class | Token::Thread | Token::Proc | Token::Inline => true,
            Token::Object | Token::Machine => self.is_name_at(1) && self.peek_at(2) == Token::OpenBrace,
            Token::Strict => self.peek_at(1) == Token::Machine,
            Token::Op => self.is_name_at(1) && self.peek_at(2) == Token::OpenParen,
            _ => false,
        }
    }
    fn at_statement_keyword(&self) -> bool {
        match self.peek() {
            Token::Var
            | Token::While
            | Token::Choose
            | Token::Atomic
            | Token::Havoc
            | Token::Assume
            | Token::Assert
            | Token::Acquire
            | Token::Release
            | Token::Linearize
            | Token::Skip
            | Token::Return
            | Token::Break
            | Token::Continue => true,
            Token::If => self.on_new_line(),
            _ => false,
        }
    }

    /// Skips a broken statement or member: behind its `;`, or before a `}` or a keyword that starts the next one.
    fn recover(&mut self) {
        let mut open = 0usize;
        loop {
            match self.peek() {
                Token::End => break,
                Token::OpenBrace => open += 1,
                Token::CloseBrace if open == 0 => break,
                Token::CloseBrace => {
                    open -= 1;
                    if open == 0 {
                        self.bump();
                        break;
                    }
                }
                Token::Semicolon if open == 0 => {
                    self.bump();
                    break;
                }
                _ if self.at_item_keyword() => break,
                _ if open == 0 && self.at_statement_keyword() => break,
                _ => {}
            }
            self.bump();
        }
        self.recovering = false;
    }
}
