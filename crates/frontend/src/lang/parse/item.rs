//! Items: declarations, threads, procedures, machines, objects.
//!
//! In: tokens at the cursor. Out: all items up to the end of the file; after an error it goes on at the next word that
//! begins one.

use super::Parser;
use crate::lang::ast::{
    AccessClause, ActionDecl, Clause, ClauseKind, CopiesClause, Expr, Idling, Item, ItemKind, MachineDecl,
    MachinePartKind, Member, MemberKind, Name, ObjectDecl, Performs, PerformsKind, Privacy, Proc, ProcForm, Spanned,
    StateRole, ThreadDecl, VarDecl,
};
use crate::lang::codes;
use crate::lang::resolve::{foreign_word, nearest};
use crate::lang::token::Token;
use base::{Diagnostic, Span};

/// Whether a variable's initial value and access conditions may be written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum VarForm {
    Variable,
    Field,
}

/// What a mistyped word at the top level may have been.
const DECLARATION_WORDS: [&str; 11] =
    ["var", "thread", "proc", "const", "enum", "class", "init", "invariant", "rely", "machine", "object"];

impl Parser<'_> {
    pub(super) fn items(&mut self) -> Vec<Item> {
        let mut items = Vec::new();
        while !self.is(Token::End) {
            let start = self.start();
            let before = self.at;
            if let Some(kind) = self.item() {
                items.push(Spanned::new(kind, self.since(start)));
            }
            if self.recovering {
                self.recover_item();
            }
            if self.at == before {
                self.bump();
            }
        }
        items
    }

    fn at_item_start(&self) -> bool {
        matches!(
            self.peek(),
            Token::Var | Token::Init | Token::Invariant | Token::Rely | Token::Machine | Token::Object
        ) || self.at_item_keyword()
    }

    /// Skips to the next item.
    fn recover_item(&mut self) {
        let mut open = 0usize;
        self.lost = true;
        loop {
            match self.peek() {
                Token::End => break,
                Token::OpenBrace => open += 1,
                Token::CloseBrace => {
                    open = open.saturating_sub(1);
                    if open == 0 {
                        self.bump();
                        break;
                    }
                }
                Token::Semicolon if open == 0 => {
                    self.bump();
                    break;
                }
                _ if self.at_item_keyword() || (open == 0 && self.on_new_line() && self.at_item_start()) => break,
                _ => {}
            }
            self.bump();
        }
        self.recovering = false;
    }

    fn item(&mut self) -> Option<ItemKind> {
        Some(match self.peek() {
            Token::Const => self.constant(),
            Token::Enum => self.enumeration(),
            Token::Class => self.class(),
            Token::Var => {
                self.bump();
                ItemKind::Var(self.var(VarForm::Variable))
            }
            Token::Private if self.peek_at(1) == Token::Var => {
                self.bump();
                self.bump();
                ItemKind::Var(VarDecl { privacy: Privacy::Private, ..self.var(VarForm::Variable) })
            }
            Token::Init => ItemKind::Init(self.formula()),
            Token::Invariant => ItemKind::Invariant(self.formula()),
            Token::Rely => ItemKind::Rely(self.formula()),
            Token::Thread => self.thread(),
            Token::Proc | Token::Inline => ItemKind::Proc(self.procedure()),
            Token::Machine | Token::Strict => self.machine(),
            Token::Object => self.object(),
            Token::CloseBrace => {
                let diagnostic = Diagnostic::error(codes::UNCLOSED, self.here(), "this `}` closes nothing");
                self.report(diagnostic.label("no `{` is open here"));
                self.bump();
                return None;
            }
            _ => {
                let what = "a declaration (`var`, `thread`, `proc`, `const`, `enum`, `class`, `init`, `invariant`, \
                            `rely`, `machine` or `object`)";
                let message = format!("expected a declaration, found {}", self.found());
                let mut diagnostic =
                    Diagnostic::error(codes::UNEXPECTED, self.here(), message).label(format!("expected {what}"));
                if self.is(Token::Op) {
                    diagnostic = diagnostic.hint("an `op` stands inside an `object`");
                }
                let here = self.here();
                if let Some(hint) = foreign_word(&self.text[here.start as usize..here.end as usize]) {
                    diagnostic = diagnostic.hint(hint);
                } else if let Some(near) =
                    nearest(&self.text[here.start as usize..here.end as usize], DECLARATION_WORDS)
                {
                    diagnostic = diagnostic.hint(format!("did you mean `{near}`?"));
                }
                self.fail(diagnostic);
                return None;
            }
        })
    }

    /// The formula behind a keyword, with its `;`.
    fn formula(&mut self) -> Expr {
        self.bump();
        let formula = self.expr();
        self.expect_end();
        formula
    }

    fn constant(&mut self) -> ItemKind {
        self.bump();
        let name = self.name("the name of a constant");
        self.expect(Token::Colon, ":");
        let ty = self.ty();
        let given = !self.recovering && (self.eat(Token::Equals) || self.eat(Token::Becomes));
        let value = if given { Some(self.expr()) } else { None };
        self.expect_end();
        ItemKind::Const { name, ty, value }
    }

    fn enumeration(&mut self) -> ItemKind {
        self.bump();
        let name = self.name("the name of an enum");
        let opening = self.here();
        let mut variants = Vec::new();
        if self.expect(Token::OpenBrace, "{") {
            while !matches!(self.peek(), Token::CloseBrace | Token::End) {
                variants.push(self.name("the name of a value"));
                if self.recovering || !self.eat(Token::Comma) {
                    break;
                }
            }
            self.expect_close(Token::CloseBrace, "}", opening);
        }
        ItemKind::Enum { name, variants }
    }

    fn class(&mut self) -> ItemKind {
        self.bump();
        let name = self.name("the name of a class");
        let mut fields = Vec::new();
        self.braced(|parser| {
            fields.push(parser.var(VarForm::Field));
        });
        ItemKind::Class { name, fields }
    }

    /// `{ part part .. }` where each part recovers by itself.
    fn braced(&mut self, mut part: impl FnMut(&mut Self)) {
        let opening = self.here();
        if !self.expect(Token::OpenBrace, "{") {
            return;
        }
        while !matches!(self.peek(), Token::CloseBrace | Token::End) && !self.at_foreign_item() {
            let before = self.at;
            part(self);
            if self.recovering {
                self.recover();
            }
            if self.at == before {
                self.bump();
            }
        }
        self.expect_close(Token::CloseBrace, "}", opening);
    }

    /// An item that can stand neither in a class nor in a machine nor in an object.
    fn at_foreign_item(&self) -> bool {
        self.at_item_keyword() && !matches!(self.peek(), Token::Proc | Token::Inline | Token::Op)
    }

    fn var(&mut self, form: VarForm) -> VarDecl {
        let start = self.start();
        let what = if form == VarForm::Field { "the name of a field" } else { "the name of a variable" };
        let name = self.name(what);
        self.expect(Token::Colon, ":");
        let ty = self.ty();
        let given =
            form == VarForm::Variable && !self.recovering && (self.eat(Token::Equals) || self.eat(Token::Becomes));
        let value = if given { Some(self.expr()) } else { None };
        let mut access = Vec::new();
        while !self.recovering {
            if self.eat(Token::GuardedBy) {
                access.push(AccessClause::GuardedBy(self.expr()));
            } else if self.eat(Token::AccessibleIf) {
                let (binders, condition) = self.access_condition();
                access.push(AccessClause::If { binders, condition });
            } else if self.eat(Token::ReadableIf) {
                let (binders, condition) = self.access_condition();
                access.push(AccessClause::Readable { binders, condition });
            } else if self.eat(Token::WritableIf) {
                let (binders, condition) = self.access_condition();
                access.push(AccessClause::Writable { binders, condition });
            } else if self.eat(Token::ThreadLocal) {
                access.push(AccessClause::ThreadLocal);
            } else {
                break;
            }
        }
        self.expect_end();
        VarDecl { name, ty, value, access, privacy: Privacy::Seen, span: self.place_since(start) }
    }

    /// `[i][j] e`.
    fn access_condition(&mut self) -> (Vec<Name>, Expr) {
        let mut binders = Vec::new();
        while self.is(Token::OpenBracket) && !self.recovering {
            let opening = self.here();
            self.bump();
            binders.push(self.name("the name of an index"));
            self.expect_close(Token::CloseBracket, "]", opening);
        }
        (binders, self.expr())
    }

    fn thread(&mut self) -> ItemKind {
        self.bump();
        let name = self.name("the name of a thread");
        let opening = self.here();
        let copies = if self.eat(Token::OpenBracket) {
            let copies = if self.is(Token::Star) && self.peek_at(1) == Token::CloseBracket {
                self.bump();
                CopiesClause::Any
            } else {
                CopiesClause::Exactly(self.expr())
            };
            self.expect_close(Token::CloseBracket, "]", opening);
            copies
        } else if self.is(Token::Brackets) {
            self.bump();
            let diagnostic = Diagnostic::error(codes::UNEXPECTED, opening, "expected the number of copies");
            self.report(diagnostic.label("expected `[3]` or `[*]`"));
            CopiesClause::Any
        } else {
            CopiesClause::One
        };
        let params = if self.is(Token::OpenParen) { Some(self.params("the name of a parameter")) } else { None };
        let follows = if self.eat(Token::Follows) { Some(self.name("the name of a machine")) } else { None };
        let clauses = self.clauses();
        let body = self.block();
        ItemKind::Thread(ThreadDecl { name, copies, params, follows, clauses, body })
    }

    fn procedure(&mut self) -> Proc {
        let start = self.start();
        let form = if self.eat(Token::Inline) { ProcForm::Inline } else { ProcForm::Plain };
        self.expect(Token::Proc, "proc");
        self.procedure_behind(start, form)
    }

    /// From the name on.
    fn procedure_behind(&mut self, start: u32, form: ProcForm) -> Proc {
        let name = self.name("the name of a procedure");
        let params = self.params("the name of a parameter");
        let results =
            if !self.recovering && self.eat(Token::Returns) { self.params("the name of a result") } else { Vec::new() };
        let clauses = self.clauses();
        let body = self.block();
        Proc { form, name, params, results, clauses, body, span: self.place_since(start) }
    }

    fn clauses(&mut self) -> Vec<Clause> {
        let mut clauses = Vec::new();
        loop {
            let start = self.start();
            let kind = match self.peek() {
                Token::Requires => ClauseKind::Requires(self.formula()),
                Token::Ensures => ClauseKind::Ensures(self.formula()),
                Token::Rely => ClauseKind::Rely(self.formula()),
                Token::Invariant => ClauseKind::Invariant(self.formula()),
                Token::Modifies => {
                    self.bump();
                    let mut places = vec![self.lvalue()];
                    while !self.recovering && self.eat(Token::Comma) {
                        places.push(self.lvalue());
                    }
                    self.expect_end();
                    ClauseKind::Modifies(places)
                }
                Token::Performs => {
                    self.bump();
                    let performs = self.performs();
                    self.expect_end();
                    ClauseKind::Performs(performs)
                }
                _ => return clauses,
            };
            clauses.push(Spanned::new(kind, self.since(start)));
            if self.recovering {
                // The next clause or the body is worth reading even if this clause is broken.
                while !matches!(
                    self.peek(),
                    Token::Requires
                        | Token::Ensures
                        | Token::Rely
                        | Token::Invariant
                        | Token::Performs
                        | Token::Modifies
                        | Token::OpenBrace
                        | Token::CloseBrace
                        | Token::End
                ) && !self.at_item_keyword()
                {
                    self.bump();
                }
                self.recovering = !self.is(Token::OpenBrace) && !self.at_clause();
            }
        }
    }

    fn at_clause(&self) -> bool {
        matches!(
            self.peek(),
            Token::Requires | Token::Ensures | Token::Rely | Token::Invariant | Token::Performs | Token::Modifies
        )
    }

    /// `a ; b [] c`: `;` binds more strongly than `[]`.
    fn performs(&mut self) -> Performs {
        let start = self.start();
        if !self.enter() {
            return Spanned::new(PerformsKind::Error, self.here());
        }
        let mut branches = vec![self.performs_then()];
        while !self.recovering && self.eat(Token::Brackets) {
            branches.push(self.performs_then());
        }
        self.leave();
        let only = if branches.len() == 1 { branches.pop() } else { None };
        only.unwrap_or_else(|| Spanned::new(PerformsKind::Or(branches), self.since(start)))
    }

    fn performs_then(&mut self) -> Performs {
        let start = self.start();
        let mut parts = vec![self.performs_repeat()];
        while !self.recovering && self.is(Token::Semicolon) && self.at_action(1) {
            self.bump();
            parts.push(self.performs_repeat());
        }
        let only = if parts.len() == 1 { parts.pop() } else { None };
        only.unwrap_or_else(|| Spanned::new(PerformsKind::Then(parts), self.since(start)))
    }

    /// Whether an action starts so many tokens ahead; otherwise a `;` before it ends the clause.
    fn at_action(&self, ahead: usize) -> bool {
        matches!(self.peek_at(ahead), Token::Less | Token::OpenParen)
            || (self.is_name_at(ahead) && self.peek_at(ahead + 1) == Token::Colon)
    }

    fn performs_repeat(&mut self) -> Performs {
        let start = self.start();
        if !self.is(Token::OpenParen) {
            if !self.at_action(0) {
                let diagnostic = self.expected(codes::UNEXPECTED, "an action");
                self.fail(diagnostic.hint("an action is written `Label: <x, y> formula`"));
                return Spanned::new(PerformsKind::Error, self.here());
            }
            let action = self.action();
            return Spanned::new(PerformsKind::Action(Box::new(action)), self.since(start));
        }
        let opening = self.here();
        self.bump();
        let mut inner = self.performs();
        self.expect_close(Token::CloseParen, ")", opening);
        // A second `*` changes nothing and would only make the tree higher.
        if !self.recovering && self.eat(Token::Star) {
            inner = Spanned::new(PerformsKind::Repeat(Box::new(inner)), self.since(start));
            while self.eat(Token::Star) {}
        }
        inner
    }

    fn action(&mut self) -> ActionDecl {
        let start = self.start();
        let labelled = self.is_name() && self.peek_at(1) == Token::Colon;
        let label = if labelled { Some(self.name("a label")) } else { None };
        if labelled {
            self.bump();
        }
        self.action_body(label, start)
    }

    fn machine(&mut self) -> ItemKind {
        let idling = if self.eat(Token::Strict) { Idling::Strict } else { Idling::Free };
        self.expect(Token::Machine, "machine");
        let name = self.name("the name of a machine");
        let mut parts = Vec::new();
        self.braced(|parser| {
            let start = parser.start();
            let kind = parser.machine_part();
            parts.push(Spanned::new(kind, parser.since(start)));
        });
        ItemKind::Machine(MachineDecl { idling, name, parts })
    }

    fn machine_part(&mut self) -> MachinePartKind {
        match self.peek() {
            Token::Var => {
                self.bump();
                return MachinePartKind::Var(self.var(VarForm::Variable));
            }
            Token::Rely => return MachinePartKind::Rely(self.formula()),
            _ => {}
        }
        let role = match self.peek() {
            Token::Start if self.is_name_at(1) => Some(StateRole::Start),
            Token::State if self.is_name_at(1) => Some(StateRole::Inner),
            _ => None,
        };
        if let Some(role) = role {
            self.bump();
            let name = self.name("the name of a state");
            let asserts = if self.eat(Token::Asserts) { Some(self.expr()) } else { None };
            self.expect_end();
            return MachinePartKind::State { role, name, asserts };
        }
        let from = self.name("`start`, `state`, `var`, `rely` or an edge");
        self.expect(Token::Arrow, "->");
        let to = if self.recovering { from.clone() } else { self.name("the name of a state") };
        let action = if !self.recovering && self.eat(Token::Colon) { Some(self.action()) } else { None };
        self.expect_end();
        MachinePartKind::Edge { from, to, action }
    }

    fn object(&mut self) -> ItemKind {
        self.bump();
        let name = self.name("the name of an object");
        let mut members: Vec<Member> = Vec::new();
        let mut first_spec: Option<Span> = None;
        self.braced(|parser| {
            let start = parser.start();
            let Some(kind) = parser.member() else { return };
            let member = Spanned::new(kind, parser.since(start));
            if matches!(member.kind, MemberKind::Spec(_)) {
                let span = Span { end: member.span.start + 4, ..member.span };
                if let Some(first) = first_spec {
                    let diagnostic = Diagnostic::error(codes::TWO_SPECS, span, "an object has one `spec`")
                        .label("a second one")
                        .also(first, "the first one");
                    parser.report(diagnostic);
                }
                first_spec = first_spec.or(Some(span));
            }
            members.push(member);
        });
        ItemKind::Object(ObjectDecl { name, members })
    }

    fn member(&mut self) -> Option<MemberKind> {
        let start = self.start();
        Some(match self.peek() {
            Token::Spec if self.peek_at(1) == Token::OpenBrace => {
                self.bump();
                let mut members = Vec::new();
                self.braced(|parser| {
                    let start = parser.start();
                    let kind = match parser.peek() {
                        Token::Var => {
                            parser.bump();
                            MemberKind::Var(parser.var(VarForm::Variable))
                        }
                        Token::Init => MemberKind::Init(parser.formula()),
                        Token::Invariant => MemberKind::Invariant(parser.formula()),
                        _ if parser.is_name() => MemberKind::Proc(parser.procedure_behind(start, ProcForm::Abstract)),
                        _ => return parser.fail_expected("`var`, `init`, `invariant` or an operation"),
                    };
                    members.push(Spanned::new(kind, parser.since(start)));
                });
                MemberKind::Spec(members)
            }
            Token::Var => {
                self.bump();
                MemberKind::Var(self.var(VarForm::Variable))
            }
            Token::Init => MemberKind::Init(self.formula()),
            Token::Invariant => MemberKind::Invariant(self.formula()),
            Token::Rely => MemberKind::Rely(self.formula()),
            Token::Proc | Token::Inline => MemberKind::Proc(self.procedure()),
            Token::Op => {
                self.bump();
                MemberKind::Proc(self.procedure_behind(start, ProcForm::Operation))
            }
            _ => {
                self.fail_expected("`spec`, `var`, `op`, `proc`, `init`, `invariant` or `rely`");
                return None;
            }
        })
    }
}
