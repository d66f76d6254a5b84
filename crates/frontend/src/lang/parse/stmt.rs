//! Statements and blocks.
//!
//! In: tokens at the cursor. Out: a block with everything inside its braces; after an error it goes on behind the next
//! `;` or at a brace.

use super::Parser;
use crate::lang::ast::{
    ActionDecl, Arm, AssignedValue, Block, Cas, Condition, Expr, ExprKind, Name, SourceSpan, Spanned, Stmt, StmtKind,
};
use crate::lang::codes;
use crate::lang::resolve::{foreign_word, nearest};
use crate::lang::token::Token;
use base::Diagnostic;

/// What a mistyped word at the beginning of a statement may have been.
const STATEMENT_WORDS: [&str; 18] = [
    "assert",
    "assume",
    "acquire",
    "release",
    "atomic",
    "havoc",
    "if",
    "while",
    "choose",
    "return",
    "skip",
    "break",
    "continue",
    "spawn",
    "join",
    "free",
    "linearize",
    "var",
];

impl Parser<'_> {
    /// `{ statements }`, also after an error: then nothing is taken unless a `{` is there.
    pub(super) fn block(&mut self) -> Block {
        let opening = self.here();
        if !self.is(Token::OpenBrace) {
            let diagnostic = self.expected(codes::UNEXPECTED, "`{`");
            self.fail(if self.is(Token::Equals) { diagnostic.hint("equality is written `==`") } else { diagnostic });
            return Spanned::new(Vec::new(), opening);
        }
        if !self.enter() {
            // The whole block is skipped, with its inner ones.
            self.recover();
            self.recovering = true;
            return Spanned::new(Vec::new(), self.since(opening.start));
        }
        self.recovering = false;
        self.bump();
        let mut stmts = Vec::new();
        while !matches!(self.peek(), Token::CloseBrace | Token::End) && !self.at_item_keyword() {
            let before = self.at;
            stmts.push(self.stmt());
            if self.recovering {
                self.recover();
            }
            if self.at == before {
                self.bump();
            }
        }
        self.leave();
        if !self.eat(Token::CloseBrace) {
            let diagnostic = if self.is(Token::End) {
                Diagnostic::error(codes::UNCLOSED, opening, "this `{` is never closed")
                    .label("expected a `}` for it")
                    .also(self.here(), "the file ends here")
            } else {
                self.expected(codes::UNCLOSED, "`}`").also(opening, "to close this")
            };
            self.fail(diagnostic);
        }
        Spanned::new(stmts, self.since(opening.start))
    }

    fn stmt(&mut self) -> Stmt {
        let start = self.start();
        let kind = self.stmt_kind();
        Spanned::new(kind, self.since(start))
    }

    fn stmt_kind(&mut self) -> StmtKind {
        // Soft keywords start a statement only where what follows cannot continue an expression.
        let next_is_name = self.is_name_at(1);
        match self.peek() {
            Token::Step if self.peek_at(1) == Token::Less => {
                self.bump();
                let action = self.action_body(None, self.start());
                self.expect_end();
                StmtKind::Step(action)
            }
            Token::Free if next_is_name => self.one_place(StmtKind::Free),
            // `join (e);` reads as a call; lowering takes it for the statement unless there is a procedure of that name.
            Token::Join if next_is_name || starts_value(self.peek_at(1)) => self.one_expr(StmtKind::Join),
            Token::Witness if next_is_name => {
                self.bump();
                let label = self.name("the label of an action");
                self.expect_end();
                StmtKind::Witness(label)
            }
            Token::Var => self.local(),
            Token::Havoc => {
                self.bump();
                let mut places = vec![self.lvalue()];
                while !self.recovering && self.eat(Token::Comma) {
                    places.push(self.lvalue());
                }
                self.expect_end();
                StmtKind::Havoc(places)
            }
            Token::Assume => self.one_expr(StmtKind::Assume),
            Token::Assert => self.one_expr(StmtKind::Assert),
            Token::Acquire => self.one_place(StmtKind::Acquire),
            Token::Release => self.one_place(StmtKind::Release),
            Token::Atomic => {
                self.bump();
                StmtKind::Atomic(self.block())
            }
            Token::If => self.if_else(),
            Token::While => self.while_loop(),
            Token::Choose => self.choose(),
            Token::OpenBrace => StmtKind::Block(self.block()),
            Token::Spawn => {
                self.bump();
                let call = self.plain_call("the name of a thread");
                self.expect_end();
                StmtKind::Spawn(call)
            }
            Token::Linearize => {
                self.bump();
                let condition = if self.eat(Token::If) { Some(self.expr()) } else { None };
                self.expect_end();
                StmtKind::Linearize(condition)
            }
            Token::Skip => self.bare(StmtKind::Skip),
            Token::Break => self.bare(StmtKind::Break),
            Token::Continue => self.bare(StmtKind::Continue),
            Token::Return => {
                self.bump();
                let values = if self.is(Token::Semicolon) { Vec::new() } else { self.exprs() };
                self.expect_end();
                StmtKind::Return(values)
            }
            Token::Semicolon => {
                let diagnostic = self.expected(codes::UNEXPECTED, "a statement");
                self.report(diagnostic.hint("the empty statement is written `skip;`"));
                self.bump();
                StmtKind::Error
            }
            _ => self.assignment_or_call(),
        }
    }

    fn bare(&mut self, kind: StmtKind) -> StmtKind {
        self.bump();
        self.expect_end();
        kind
    }
    fn one_expr(&mut self, make: fn(Expr) -> StmtKind) -> StmtKind {
        self.bump();
        let expr = self.expr();
        self.expect_end();
        make(expr)
    }
    fn one_place(&mut self, make: fn(Expr) -> StmtKind) -> StmtKind {
        self.bump();
        let place = self.lvalue();
        self.expect_end();
        make(place)
    }

    fn local(&mut self) -> StmtKind {
        self.bump();
        let name = self.name("the name of a variable");
        if self.is(Token::Becomes) || self.is(Token::Equals) {
            let diagnostic = self.expected(codes::UNEXPECTED, "`:` and a type");
            self.fail(diagnostic.hint(format!("write `var {}: int := ...;`", name.kind)));
        }
        self.expect(Token::Colon, ":");
        let ty = self.ty();
        let given = !self.recovering && (self.eat(Token::Becomes) || self.eat(Token::Equals));
        let value = if given { Some(self.value()) } else { None };
        self.expect_end();
        StmtKind::Local { name, ty, value }
    }

    fn value(&mut self) -> AssignedValue {
        match self.peek() {
            Token::New => {
                self.bump();
                AssignedValue::New(self.name("the name of a class"))
            }
            Token::Spawn => {
                self.bump();
                AssignedValue::Spawn(self.plain_call("the name of a thread"))
            }
            Token::Cas => {
                self.bump();
                let opening = self.here();
                self.expect(Token::OpenParen, "(");
                let place = self.lvalue();
                self.expect(Token::Comma, ",");
                let old = self.expr();
                self.expect(Token::Comma, ",");
                let new = self.expr();
                self.expect_close(Token::CloseParen, ")", opening);
                AssignedValue::Cas(Box::new(Cas { place, old, new }))
            }
            _ => AssignedValue::Exprs(self.exprs()),
        }
    }

    fn assignment_or_call(&mut self) -> StmtKind {
        let first_is_keyword = !self.is_name();
        if first_is_keyword && !matches!(self.peek(), Token::OpenParen) {
            let mut diagnostic = self.expected(codes::UNEXPECTED, "a statement");
            diagnostic = match self.peek() {
                Token::Invariant => {
                    diagnostic.hint("an invariant stands at the top level, or between `while e` and `{`")
                }
                Token::Else => diagnostic.hint("an `else` follows the `}` of an `if`"),
                Token::Cas => diagnostic.hint("the result of `cas` goes to a variable: `b := cas(x, old, new);`"),
                _ => diagnostic,
            };
            self.fail(diagnostic);
            return StmtKind::Error;
        }
        let here = self.here();
        let word = &self.text[here.start as usize..here.end as usize];
        if matches!(word, "for" | "do" | "switch" | "loop")
            && matches!(self.peek_at(1), Token::OpenParen | Token::OpenBrace | Token::Name)
        {
            let diagnostic = Diagnostic::error(codes::UNEXPECTED, here, format!("there is no statement `{word}`"));
            let hint = foreign_word(word).unwrap_or_default();
            self.fail(diagnostic.label("expected a statement").hint(hint));
            return StmtKind::Error;
        }
        let before = self.at;
        let (mut first, _) = self.postfix();
        if !self.recovering && self.is_compound_assignment() {
            let place = self.text[first.span.start as usize..first.span.end as usize].to_string();
            let operator = self.text[self.here().start as usize..self.here().end as usize].to_string();
            let written = if self.peek() == self.peek_at(1) { "1" } else { "..." };
            let diagnostic = self.expected(codes::UNEXPECTED, "`:=`");
            self.fail(diagnostic.hint(format!("write `{place} := {place} {operator} {written};`")));
            return StmtKind::Error;
        }
        if !self.recovering && self.continues_expression() {
            // A whole expression where a place belongs: read it, so that what follows is understood.
            let operator = self.at;
            self.at = before;
            let whole = self.expr();
            if self.is(Token::Becomes) || self.is(Token::Comma) {
                first = whole;
            } else {
                self.at = operator;
            }
        }
        if self.recovering {
            return StmtKind::Error;
        }
        if self.is(Token::Semicolon)
            && let ExprKind::Call(call) = first.kind
        {
            self.bump();
            return StmtKind::Call(*call);
        }
        if let ExprKind::Call(call) = &first.kind
            && !matches!(self.peek(), Token::Becomes | Token::Comma | Token::Equals)
        {
            let call = (**call).clone();
            self.expect_end();
            return StmtKind::Call(call);
        }
        self.check_lvalue(&first);
        let mut targets = vec![first];
        while !self.recovering && self.eat(Token::Comma) {
            targets.push(self.lvalue());
        }
        if !self.eat(Token::Becomes) {
            let mut diagnostic = self.expected(codes::UNEXPECTED, "`:=`");
            match self.peek() {
                Token::Equals | Token::EqualsEquals => diagnostic = diagnostic.hint("assignment is written `:=`"),
                Token::Plus | Token::Minus => diagnostic = diagnostic.hint("write `x := x + 1;`"),
                _ => {
                    if let [Spanned { kind: ExprKind::Name(name, _), .. }] = &targets[..]
                        && let Some(hint) = (foreign_word(name).map(str::to_string))
                            .or_else(|| nearest(name, STATEMENT_WORDS).map(|near| format!("did you mean `{near}`?")))
                    {
                        diagnostic = diagnostic.hint(hint);
                    }
                }
            }
            if self.is(Token::Equals) && !self.recovering {
                // The meaning is plain, so the rest of the statement is still read.
                self.report(diagnostic);
                self.bump();
            } else {
                self.fail(diagnostic);
                return StmtKind::Error;
            }
        }
        let value = self.value();
        self.expect_end();
        StmtKind::Assign { targets, value }
    }

    /// `x += e`, `x++` and the like, which other languages have.
    fn is_compound_assignment(&self) -> bool {
        match self.peek() {
            Token::Plus | Token::Minus => self.peek_at(1) == Token::Equals || self.peek_at(1) == self.peek(),
            Token::Star | Token::Slash | Token::Percent => self.peek_at(1) == Token::Equals,
            _ => false,
        }
    }

    fn condition(&mut self) -> Condition {
        let span = self.here();
        let statement = self.peek_at(2) == Token::Becomes || self.peek_at(2) == Token::Semicolon;
        if self.is(Token::OpenBrace) && (statement || !self.starts_expression(1)) {
            self.fail_expected("a condition");
            return Condition::Expr(Spanned::new(ExprKind::Error, span));
        }
        if self.eat(Token::Star) { Condition::Any(SourceSpan(span)) } else { Condition::Expr(self.expr()) }
    }

    fn if_else(&mut self) -> StmtKind {
        let mut arms = Vec::new();
        loop {
            self.bump();
            let condition = self.condition();
            let body = self.block();
            arms.push(Arm { condition, body });
            if self.recovering || !self.is(Token::Else) {
                return StmtKind::If { arms, otherwise: None };
            }
            self.bump();
            if !self.is(Token::If) {
                let otherwise = Some(self.block());
                return StmtKind::If { arms, otherwise };
            }
        }
    }

    fn while_loop(&mut self) -> StmtKind {
        self.bump();
        let condition = self.condition();
        let mut invariants = Vec::new();
        while self.eat(Token::Invariant) {
            invariants.push(self.expr());
            self.expect_end();
        }
        let body = self.block();
        StmtKind::While { condition, invariants, body }
    }

    fn choose(&mut self) -> StmtKind {
        self.bump();
        let mut branches = vec![self.block()];
        while !self.recovering && self.eat(Token::Or) {
            branches.push(self.block());
        }
        if branches.len() == 1 && !self.recovering {
            let span = self.behind();
            let diagnostic = Diagnostic::error(codes::UNEXPECTED, span, "a choice needs at least two branches");
            self.report(diagnostic.label("expected `or`").hint("write `choose { .. } or { .. }`"));
        }
        StmtKind::Choose(branches)
    }

    /// `<frame> formula asserting a`, behind an optional label.
    pub(super) fn action_body(&mut self, label: Option<Name>, start: u32) -> ActionDecl {
        let (makes, frame) = self.frame();
        let formula = self.expr();
        let asserting = if !self.recovering && self.eat(Token::Asserting) { Some(self.expr()) } else { None };
        ActionDecl { label, makes, frame, formula, asserting, span: self.place_since(start) }
    }
}

/// Whether a token that is no name starts a value, and cannot go on with a place or a call.
fn starts_value(token: Token) -> bool {
    matches!(token, Token::Number | Token::Tid | Token::If) || super::expr::number_type(token).is_some()
}
