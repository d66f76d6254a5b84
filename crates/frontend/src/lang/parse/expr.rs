//! Expressions, types and lvalues.
//!
//! Operators by precedence; every result carries the height of its tree, because a long chain of left-associative
//! operators is high without being nested in the text.
//! In: tokens at the cursor. Out: a tree with its height; an error node and a diagnostic where the tokens fit nothing.

use super::{MAX_TREE_HEIGHT, Parser};
use crate::lang::ast::{
    Binary, CallExpr, Expr, ExprKind, MachineInt, Name, Param, Prime, QuantifierWord, Radix, Sign, Spanned, Strength,
    Type, TypeKind, Unary,
};
use crate::lang::codes;
use crate::lang::token::Token;
use base::{Diagnostic, Span};

/// An expression and the height of its tree.
pub(super) type Tall = (Expr, u32);

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> Expr {
        self.expr_of(Strength::Open).0
    }

    /// Comma-separated expressions up to a closing token, which is taken too.
    fn list(&mut self, close: Token, text: &str, opening: Span) -> (Vec<Expr>, u32) {
        let mut items = Vec::new();
        let mut height = 0;
        while !self.is(close) && !self.is(Token::End) {
            let (item, tall) = self.expr_of(Strength::Open);
            height = height.max(tall);
            items.push(item);
            if self.recovering || !self.eat(Token::Comma) {
                break;
            }
        }
        self.expect_close(close, text, opening);
        (items, height)
    }

    /// One or more expressions with commas between.
    pub(super) fn exprs(&mut self) -> Vec<Expr> {
        let mut items = vec![self.expr()];
        while !self.recovering && self.eat(Token::Comma) {
            items.push(self.expr());
        }
        items
    }

    /// Whether an expression, or the end of a list of them, can start so many tokens ahead.
    pub(super) fn starts_expression(&self, ahead: usize) -> bool {
        let token = self.peek_at(ahead);
        let fixed = matches!(
            token,
            Token::True
                | Token::False
                | Token::Null
                | Token::Tid
                | Token::Number
                | Token::Brackets
                | Token::OpenParen
                | Token::OpenBracket
                | Token::OpenBrace
                | Token::CloseBrace
                | Token::Bang
                | Token::Minus
                | Token::If
                | Token::Forall
                | Token::Exists
                | Token::Question
        );
        fixed || self.is_name_at(ahead) || number_type(token).is_some()
    }

    /// Whether an operator follows.
    pub(super) fn continues_expression(&self) -> bool {
        matches!(self.peek(), Token::AndAnd | Token::OrOr) || binary(self.peek()).is_some()
    }

    fn error_expr(&self, span: Span) -> Tall {
        (Spanned::new(ExprKind::Error, span), 1)
    }

    /// A node over parts of the given height, unless the tree becomes too high.
    fn grow(&mut self, kind: ExprKind, start: u32, height: u32) -> Tall {
        let span = self.since(start);
        if height >= MAX_TREE_HEIGHT {
            self.fail_too_deep(Span { end: span.end.min(span.start + 1), ..span });
            return self.error_expr(span);
        }
        (Spanned::new(kind, span), height + 1)
    }

    fn expr_of(&mut self, weakest: Strength) -> Tall {
        if !self.enter() {
            return self.error_expr(self.here());
        }
        let start = self.start();
        let mut left = self.unary();
        while !self.recovering {
            left = match self.peek() {
                Token::AndAnd if weakest <= Strength::And => self.chain(Token::AndAnd, Strength::Compare, left),
                Token::OrOr if weakest <= Strength::Or => self.chain(Token::OrOr, Strength::And, left),
                token => match binary(token) {
                    Some(op) if weakest <= op.strength() => self.binary(op, start, left),
                    _ => break,
                },
            };
        }
        self.leave();
        left
    }

    /// The rest of `a && b && c` or `a || b || c`.
    fn chain(&mut self, token: Token, weakest: Strength, first: Tall) -> Tall {
        let start = first.0.span.start;
        let mut height = first.1;
        let mut parts = vec![first.0];
        while !self.recovering && self.eat(token) {
            let (part, tall) = self.expr_of(weakest);
            height = height.max(tall);
            parts.push(part);
        }
        let kind = if token == Token::AndAnd { ExprKind::And(parts) } else { ExprKind::Or(parts) };
        self.grow(kind, start, height)
    }

    fn binary(&mut self, op: Binary, start: u32, (left, left_height): Tall) -> Tall {
        let op_span = self.here();
        self.bump();
        // An implication associates to the right, everything else to the left or not at all.
        let weakest = match op.strength() {
            Strength::Implies => Strength::Implies,
            Strength::Iff => Strength::Or,
            Strength::Compare => Strength::Add,
            Strength::Add => Strength::Multiply,
            _ => Strength::Unary,
        };
        let (right, right_height) = self.expr_of(weakest);
        if op.strength() == Strength::Compare
            && let Some(next) = binary(self.peek()).filter(|next| next.strength() == Strength::Compare)
        {
            let (a, b) = (op.text(), next.text());
            let diagnostic = Diagnostic::error(codes::CHAINED_COMPARISON, self.here(), "comparisons cannot be chained")
                .label(format!("`{b}` follows another comparison"))
                .also(op_span, "the first comparison")
                .hint(format!("write `x {a} y && y {b} z`, or put parentheses around one of the comparisons"));
            if !self.recovering {
                self.report(diagnostic);
            }
            return (Spanned::new(ExprKind::Error, self.since(start)), left_height.max(right_height));
        }
        self.grow(ExprKind::Binary(op, Box::new(left), Box::new(right)), start, left_height.max(right_height))
    }

    fn unary(&mut self) -> Tall {
        let start = self.start();
        let op = match self.peek() {
            Token::Bang => Unary::Not,
            Token::Minus => Unary::Negate,
            _ => return self.postfix(),
        };
        if !self.enter() {
            return self.error_expr(self.here());
        }
        self.bump();
        let (operand, height) = self.unary();
        self.leave();
        self.grow(ExprKind::Unary(op, Box::new(operand)), start, height)
    }

    pub(super) fn postfix(&mut self) -> Tall {
        let start = self.start();
        let mut left = self.primary();
        while !self.recovering {
            left = match self.peek() {
                Token::OpenBracket => self.index(start, left),
                Token::Dot => self.field(start, left),
                _ => break,
            };
        }
        left
    }

    fn index(&mut self, start: u32, (base, mut height): Tall) -> Tall {
        let opening = self.here();
        self.bump();
        let base = Box::new(base);
        let from = if self.is(Token::DotDot) { None } else { Some(self.expr_of(Strength::Open)) };
        height = from.as_ref().map_or(height, |f| height.max(f.1));
        let kind = match from {
            Some((key, _)) if self.eat(Token::Becomes) => {
                let (value, tall) = self.expr_of(Strength::Open);
                height = height.max(tall);
                ExprKind::Update(Box::new([*base, key, value]))
            }
            from if self.eat(Token::DotDot) => {
                let to = if self.is(Token::CloseBracket) { None } else { Some(self.expr_of(Strength::Open)) };
                height = to.as_ref().map_or(height, |t| height.max(t.1));
                ExprKind::Slice(base, from.map(|f| Box::new(f.0)), to.map(|t| Box::new(t.0)))
            }
            Some((key, _)) => ExprKind::Index(base, Box::new(key)),
            None => ExprKind::Error,
        };
        self.expect_close(Token::CloseBracket, "]", opening);
        self.grow(kind, start, height)
    }

    fn field(&mut self, start: u32, (base, height): Tall) -> Tall {
        self.bump();
        let field = self.name("the name of a field");
        if self.is(Token::OpenParen)
            && let ExprKind::Name(object, Prime::Before) = &base.kind
        {
            let object = Name::new(object.clone(), base.span);
            return self.call(start, Some(object), field);
        }
        let prime = self.prime();
        self.grow(ExprKind::Field(Box::new(base), field, prime), start, height)
    }

    fn prime(&mut self) -> Prime {
        if self.eat(Token::Prime) { Prime::After } else { Prime::Before }
    }

    fn call(&mut self, start: u32, object: Option<Name>, name: Name) -> Tall {
        let (args, height) = self.arguments();
        let call = CallExpr { object, name, args, span: self.place_since(start) };
        self.grow(ExprKind::Call(Box::new(call)), start, height)
    }

    fn arguments(&mut self) -> (Vec<Expr>, u32) {
        let opening = self.here();
        if !self.expect(Token::OpenParen, "(") {
            return (Vec::new(), 0);
        }
        self.list(Token::CloseParen, ")", opening)
    }

    /// `P(a, b)` behind `spawn`.
    pub(super) fn plain_call(&mut self, what: &str) -> CallExpr {
        let start = self.start();
        let name = self.name(what);
        let (args, _) = self.arguments();
        CallExpr { object: None, name, args, span: self.place_since(start) }
    }

    fn primary(&mut self) -> Tall {
        let span = self.here();
        let start = span.start;
        let token = self.peek();
        let simple = match token {
            Token::True => Some(ExprKind::Bool(true)),
            Token::False => Some(ExprKind::Bool(false)),
            Token::Null => Some(ExprKind::Null),
            Token::Tid => Some(ExprKind::Tid),
            Token::Question => Some(ExprKind::Unknown),
            Token::Brackets => Some(ExprKind::Seq(Vec::new())),
            Token::Number => Some(self.number(span)),
            _ => None,
        };
        if let Some(kind) = simple {
            self.bump();
            return (Spanned::new(kind, span), 1);
        }
        match token {
            Token::OpenParen => {
                self.bump();
                let inner = self.expr_of(Strength::Open);
                self.expect_close(Token::CloseParen, ")", span);
                inner
            }
            Token::OpenBracket => {
                self.bump();
                let (items, height) = self.list(Token::CloseBracket, "]", span);
                self.grow(ExprKind::Seq(items), start, height)
            }
            Token::OpenBrace => {
                self.bump();
                let (items, height) = self.list(Token::CloseBrace, "}", span);
                self.grow(ExprKind::Set(items), start, height)
            }
            Token::If => self.conditional(start),
            Token::Forall => self.quantified(start, QuantifierWord::Forall),
            Token::Exists => self.quantified(start, QuantifierWord::Exists),
            _ if number_type(token).is_some() && self.peek_at(1) == Token::OpenParen => {
                let ty = self.ty();
                let opening = self.here();
                self.bump();
                let (inner, height) = self.expr_of(Strength::Open);
                self.expect_close(Token::CloseParen, ")", opening);
                self.grow(ExprKind::Convert(ty, Box::new(inner)), start, height)
            }
            _ if self.is_name() => {
                let name = self.name("a name");
                if self.is(Token::OpenParen) {
                    return self.call(start, None, name);
                }
                let prime = self.prime();
                (Spanned::new(ExprKind::Name(name.kind, prime), self.since(start)), 1)
            }
            _ => {
                let mut diagnostic = self.expected(codes::UNEXPECTED, "an expression");
                diagnostic = match token {
                    Token::Cas => diagnostic.hint("`cas` is a statement: write `b := cas(x, old, new);`"),
                    Token::New => diagnostic.hint("`new` is a statement: write `x := new C;`"),
                    Token::Spawn => diagnostic.hint("`spawn` is a statement: write `t := spawn T(a);`"),
                    Token::Star => diagnostic.hint("`*` alone is an arbitrary condition of `if` and `while` only"),
                    Token::Equals => diagnostic.hint("equality is written `==`"),
                    _ => diagnostic,
                };
                self.fail(diagnostic);
                self.error_expr(span)
            }
        }
    }

    fn number(&mut self, span: Span) -> ExprKind {
        let digits: String = self.text[span.start as usize..span.end as usize].replace('_', "");
        let hexadecimal = digits.strip_prefix("0x").or(digits.strip_prefix("0X"));
        let (radix, value) = match hexadecimal {
            Some(digits) => (Radix::Hexadecimal, i128::from_str_radix(digits, 16)),
            None => (Radix::Decimal, digits.parse()),
        };
        let Ok(value) = value else {
            let known = |c: char| if hexadecimal.is_some() { c.is_ascii_hexdigit() } else { c.is_ascii_digit() };
            let too_large = hexadecimal != Some("") && hexadecimal.unwrap_or(&digits).chars().all(known);
            let message = if too_large { "this number is too large" } else { "this is not a number" };
            if !self.recovering {
                let hint = "numbers are written `42`, `1_000` or `0x2a`, and are below 2^127";
                self.report(Diagnostic::error(codes::BAD_NUMBER, span, message).hint(hint));
            }
            return ExprKind::Error;
        };
        ExprKind::Int(value, radix)
    }

    fn conditional(&mut self, start: u32) -> Tall {
        self.bump();
        let (condition, a) = self.expr_of(Strength::Open);
        self.expect(Token::Then, "then");
        let (yes, b) = self.expr_of(Strength::Open);
        self.expect(Token::Else, "else");
        let (no, c) = self.expr_of(Strength::Open);
        self.grow(ExprKind::If(Box::new([condition, yes, no])), start, a.max(b).max(c))
    }

    fn quantified(&mut self, start: u32, quantifier: QuantifierWord) -> Tall {
        self.bump();
        let mut binders = vec![self.param("a bound variable")];
        while !self.recovering && self.eat(Token::Comma) {
            binders.push(self.param("a bound variable"));
        }
        self.expect(Token::DoubleColon, "::");
        let (body, height) = if self.recovering { self.error_expr(self.here()) } else { self.expr_of(Strength::Open) };
        self.grow(ExprKind::Quantified(quantifier, binders, Box::new(body)), start, height)
    }

    pub(super) fn param(&mut self, what: &str) -> Param {
        let name = self.name(what);
        self.expect(Token::Colon, ":");
        let ty = self.ty();
        Param { name, ty }
    }

    /// `(a: T, b: U)`.
    pub(super) fn params(&mut self, what: &str) -> Vec<Param> {
        let opening = self.here();
        let mut params = Vec::new();
        if !self.expect(Token::OpenParen, "(") {
            return params;
        }
        while !self.is(Token::CloseParen) && !self.is(Token::End) {
            params.push(self.param(what));
            if self.recovering || !self.eat(Token::Comma) {
                break;
            }
        }
        self.expect_close(Token::CloseParen, ")", opening);
        params
    }

    pub(super) fn ty(&mut self) -> Type {
        let span = self.here();
        if self.recovering || !self.enter() {
            return Spanned::new(TypeKind::Error, span);
        }
        let kind = self.type_kind(span);
        self.leave();
        Spanned::new(kind, self.since(span.start))
    }

    fn type_kind(&mut self, span: Span) -> TypeKind {
        let token = self.peek();
        if let Some(kind) = number_type(token) {
            self.bump();
            return kind;
        }
        match token {
            Token::Bool => {
                self.bump();
                TypeKind::Bool
            }
            Token::Lock => {
                self.bump();
                TypeKind::Lock
            }
            Token::Set | Token::Seq => {
                self.bump();
                self.expect(Token::Less, "<");
                let inner = Box::new(self.ty());
                self.expect_greater();
                if token == Token::Set { TypeKind::Set(inner) } else { TypeKind::Seq(inner) }
            }
            Token::OpenBracket => {
                self.bump();
                let key = Box::new(self.ty());
                self.expect_close(Token::CloseBracket, "]", span);
                TypeKind::Map(key, Box::new(self.ty()))
            }
            _ if self.is_name() => TypeKind::Named(self.name("a type").kind),
            _ => {
                self.fail_expected("a type");
                TypeKind::Error
            }
        }
    }

    /// A variable, a field or a map entry that can be changed.
    pub(super) fn lvalue(&mut self) -> Expr {
        let (expr, _) = self.postfix();
        self.check_lvalue(&expr);
        expr
    }

    pub(super) fn check_lvalue(&mut self, expr: &Expr) {
        let mut at = expr;
        let trouble = loop {
            match &at.kind {
                ExprKind::Name(_, Prime::Before) | ExprKind::Error => break None,
                ExprKind::Field(_, _, Prime::Before) => break None,
                ExprKind::Name(_, Prime::After) | ExprKind::Field(_, _, Prime::After) => {
                    break Some("a primed name is a value, not a place; leave out the `'`");
                }
                ExprKind::Index(base, _) => at = base,
                _ => break Some("a place is a variable, a field `o.f` or an entry `m[k]`"),
            }
        };
        if let Some(hint) = trouble
            && !self.recovering
        {
            let diagnostic = Diagnostic::error(codes::NOT_ASSIGNABLE, expr.span, "this cannot be changed")
                .label("not a place")
                .hint(hint);
            self.report(diagnostic);
        }
    }

    /// `<x, m[k]>`, and `<new n, x>`.
    pub(super) fn frame(&mut self) -> (Option<Name>, Vec<Expr>) {
        let mut places = Vec::new();
        if !self.expect(Token::Less, "<") {
            return (None, places);
        }
        let makes = if self.eat(Token::New) { Some(self.name("the name of a variable of the machine")) } else { None };
        if makes.is_some() && !self.recovering {
            self.eat(Token::Comma);
        }
        while !self.is(Token::Greater) && !self.is(Token::End) {
            places.push(self.lvalue());
            if self.recovering || !self.eat(Token::Comma) {
                break;
            }
        }
        self.expect_greater();
        (makes, places)
    }
}

pub(super) fn number_type(token: Token) -> Option<TypeKind> {
    let machine = |sign, bits| Some(TypeKind::Machine(MachineInt { bits, sign }));
    match token {
        Token::Int => Some(TypeKind::Int),
        Token::I8 => machine(Sign::Signed, 8),
        Token::I16 => machine(Sign::Signed, 16),
        Token::I32 => machine(Sign::Signed, 32),
        Token::I64 => machine(Sign::Signed, 64),
        Token::U8 => machine(Sign::Unsigned, 8),
        Token::U16 => machine(Sign::Unsigned, 16),
        Token::U32 => machine(Sign::Unsigned, 32),
        Token::U64 => machine(Sign::Unsigned, 64),
        _ => None,
    }
}

fn binary(token: Token) -> Option<Binary> {
    Some(match token {
        Token::Implies => Binary::Implies,
        Token::Iff => Binary::Iff,
        Token::EqualsEquals => Binary::Equal,
        Token::NotEquals => Binary::NotEqual,
        Token::Less => Binary::Less,
        Token::LessEquals => Binary::LessEqual,
        Token::Greater => Binary::Greater,
        Token::GreaterEquals => Binary::GreaterEqual,
        Token::In => Binary::In,
        Token::Plus => Binary::Add,
        Token::Minus => Binary::Subtract,
        Token::Star => Binary::Multiply,
        Token::Slash => Binary::Divide,
        Token::Percent => Binary::Modulo,
        _ => return None,
    })
}
