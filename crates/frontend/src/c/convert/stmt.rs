//! Statements, blocks and their scopes, labels, statement expressions (C11 6.8, GNU).
//!
//! In: a statement of the parser's tree. Out: a statement of `c::ast`; names are resolved in the scope at hand.

use super::*;

impl Converter<'_> {
    /// The body of a function: its own scope was opened with the parameters.
    pub(super) fn block_body(&mut self, node: &Node<c::Statement>) -> Vec<Stmt> {
        match &node.node {
            c::Statement::Compound(items) => self.items(items),
            _ => vec![self.statement(node)],
        }
    }

    fn items(&mut self, items: &[Node<c::BlockItem>]) -> Vec<Stmt> {
        let mut out = Vec::new();
        for item in items {
            match &item.node {
                c::BlockItem::Declaration(d) => out.extend(self.declaration(d)),
                c::BlockItem::StaticAssert(s) => self.static_assert(s),
                c::BlockItem::Statement(s) => out.push(self.statement(s)),
            }
        }
        out
    }

    fn scoped<T>(&mut self, inside: impl FnOnce(&mut Self) -> T) -> T {
        self.scopes.push(NameScope::default());
        let result = inside(self);
        self.scopes.pop();
        result
    }

    fn label(&mut self, name: &str) -> LabelId {
        let known = self.labels.iter_enumerated().find(|(_, n)| *n == name).map(|(id, _)| id);
        match known {
            Some(id) => id,
            None => self.labels.push(name.to_string()),
        }
    }

    pub(super) fn statement(&mut self, node: &Node<c::Statement>) -> Stmt {
        let span = self.span(node);
        let kind = match &node.node {
            c::Statement::Labeled(l) => return self.labelled(l, span),
            c::Statement::Compound(items) => CStmtKind::Block(self.scoped(|s| s.items(items))),
            c::Statement::Expression(None) => CStmtKind::Empty,
            c::Statement::Expression(Some(e)) => CStmtKind::Expr(self.value(e)),
            c::Statement::If(i) => {
                let condition = self.condition(&i.node.condition);
                let then = Box::new(self.scoped(|s| s.statement(&i.node.then_statement)));
                let other = i.node.else_statement.as_ref().map(|e| Box::new(self.scoped(|s| s.statement(e))));
                CStmtKind::If(condition, then, other)
            }
            c::Statement::Switch(s) => {
                let value = self.value(&s.node.expression);
                if self.types.as_int(value.ty).is_none() {
                    self.error(TYPE_ERROR, value.span, "a switch needs an integer");
                }
                CStmtKind::Switch(value, Box::new(self.scoped(|c| c.statement(&s.node.statement))))
            }
            c::Statement::While(w) => {
                let condition = self.condition(&w.node.expression);
                CStmtKind::While(condition, Box::new(self.scoped(|s| s.statement(&w.node.statement))))
            }
            c::Statement::DoWhile(w) => {
                let body = Box::new(self.scoped(|s| s.statement(&w.node.statement)));
                CStmtKind::DoWhile(body, self.condition(&w.node.expression))
            }
            c::Statement::For(f) => self.scoped(|s| {
                let init = match &f.node.initializer.node {
                    c::ForInitializer::Empty => Vec::new(),
                    c::ForInitializer::Expression(e) => {
                        let value = s.value(e);
                        let span = value.span;
                        vec![Stmt { kind: CStmtKind::Expr(value), span }]
                    }
                    c::ForInitializer::Declaration(d) => s.declaration(d),
                    c::ForInitializer::StaticAssert(a) => {
                        s.static_assert(a);
                        Vec::new()
                    }
                };
                let cond = f.node.condition.as_ref().map(|e| s.condition(e));
                let step = f.node.step.as_ref().map(|e| s.value(e));
                let body = Box::new(s.scoped(|s| s.statement(&f.node.statement)));
                CStmtKind::For { init, cond, step, body }
            }),
            c::Statement::Goto(name) => CStmtKind::Goto(self.label(&name.node.name)),
            c::Statement::Continue => CStmtKind::Continue,
            c::Statement::Break => CStmtKind::Break,
            c::Statement::Return(value) => {
                let result = self.result;
                let value = value.as_ref().map(|e| {
                    let value = self.value(e);
                    match result {
                        Some(ty) if !self.types.is_void(ty) => self.cast(value, ty, span),
                        _ => value,
                    }
                });
                CStmtKind::Return(value)
            }
            c::Statement::Asm(a) => self.assembly(a),
        };
        Stmt { kind, span }
    }

    /// An empty `asm` is a compiler barrier and does nothing under sequential consistency; any other is unmodelled.
    fn assembly(&mut self, node: &Node<c::AsmStatement>) -> CStmtKind {
        let (template, outputs) = match &node.node {
            c::AsmStatement::GnuBasic(t) => (t, 0),
            c::AsmStatement::GnuExtended(e) => (&e.template, e.outputs.len()),
        };
        let text: String = template.node.iter().map(|p| p.trim_matches('"')).collect();
        let fence =
            matches!(text.trim(), "" | "mfence" | "lfence" | "sfence" | "pause" | "nop" | "rep; nop" | "rep;nop");
        if fence && outputs == 0 { CStmtKind::Empty } else { CStmtKind::Unmodelled("inline assembly".into()) }
    }

    fn condition(&mut self, node: &Node<c::Expression>) -> Expr {
        let value = self.value(node);
        let fine = self.types.is_scalar(value.ty) || matches!(value.kind, CExprKind::Unmodelled(_));
        if !fine {
            let shown = self.types.show(value.ty);
            self.error(TYPE_ERROR, value.span, format!("a condition cannot have type `{shown}`"));
        }
        value
    }

    fn labelled(&mut self, l: &Node<c::LabeledStatement>, span: Span) -> Stmt {
        let label_span = self.span(&l.node.label);
        let kind = match &l.node.label.node {
            c::Label::Identifier(i) if i.node.name.starts_with(ASYNCHRONOUS) => {
                return self.asynchronous(&l.node.statement, span);
            }
            c::Label::Identifier(i) => CStmtKind::Label(self.label(&i.node.name)),
            c::Label::Case(e) => self.case(e, e),
            c::Label::CaseRange(r) => self.case(&r.node.low, &r.node.high),
            c::Label::Default => CStmtKind::Default,
        };
        let label = Stmt { kind, span: label_span };
        let inner = self.statement(&l.node.statement);
        Stmt { kind: CStmtKind::Block(vec![label, inner]), span }
    }

    /// A convention of another tool: the labelled statement runs in a thread of its own, which no thread waits for. It becomes
    /// the body of a function of its own; the lowering looks whether it needs the variables around it.
    fn asynchronous(&mut self, statement: &Node<c::Statement>, span: Span) -> Stmt {
        let body = self.statement(statement);
        let (void, int) = (self.types.void(), self.types.int(Int::Int));
        let function = |name: &str, result: CType, body: Option<Vec<Stmt>>| CFunction {
            name: name.to_string(),
            result,
            params: Vec::new(),
            param_types: Vec::new(),
            variadic: false,
            body,
            labels: IdVec::new(),
            span,
            address_taken: false,
            noreturn: false,
        };
        let started = self.functions.push(function(ASYNCHRONOUS, void, Some(vec![body])));
        let create = self.functions.push(function("pthread_create", int, None));
        let started = self.function_address(started, span);
        let pointer = self.types.pointer(void);
        let null = || Expr::constant(0, pointer, span);
        let call = CExprKind::Call(CCallee::Direct(create), vec![null(), null(), started, null()]);
        Stmt { kind: CStmtKind::Expr(Expr { kind: call, ty: int, span }), span }
    }

    fn case(&mut self, low: &Node<c::Expression>, high: &Node<c::Expression>) -> CStmtKind {
        let (low, high) = (self.value(low), self.value(high));
        match (low.as_const(), high.as_const()) {
            (Some(a), Some(b)) => CStmtKind::Case(a, b),
            _ => {
                self.error(NOT_CONSTANT, low.span, "a case needs a constant");
                CStmtKind::Unmodelled("a case that is no constant".into())
            }
        }
    }

    pub(super) fn statement_expression(&mut self, node: &Node<c::Statement>, span: Span) -> Expr {
        let c::Statement::Compound(items) = &node.node else {
            let void = self.types.void();
            return Expr::unmodelled("a statement expression of this form", void, span);
        };
        self.scopes.push(NameScope::default());
        let last = items.len().checked_sub(1).and_then(|i| match &items[i].node {
            c::BlockItem::Statement(s) => match &s.node {
                c::Statement::Expression(Some(e)) => Some(e),
                _ => None,
            },
            _ => None,
        });
        let (statements, value) = match last {
            Some(e) => {
                let statements = self.items(&items[..items.len() - 1]);
                (statements, Some(Box::new(self.value(e))))
            }
            None => (self.items(items), None),
        };
        self.scopes.pop();
        let ty = match &value {
            Some(v) => v.ty,
            None => self.types.void(),
        };
        Expr { kind: CExprKind::Statements(statements, value), ty, span }
    }
}
