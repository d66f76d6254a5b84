//! Statements.
//!
//! In: a block of the tree. Out: its lines, with the comments that stand in it.

use super::expr::{action_to, call_to, frame_to, joined, type_to};
use super::{Printer, Size};
use crate::lang::ast::{AssignedValue, Block, Condition, Expr, Stmt, StmtKind, Strength};

impl Printer<'_> {
    pub(super) fn block(&mut self, block: &Block) {
        let first = block.kind.first().map(|s| s.span.start);
        self.braced(block.span, first, |printer| {
            for stmt in &block.kind {
                printer.stmt(stmt);
            }
        });
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let size = match &stmt.kind {
            StmtKind::Atomic(_)
            | StmtKind::If { .. }
            | StmtKind::While { .. }
            | StmtKind::Choose(_)
            | StmtKind::Block(_) => Size::Lines,
            _ => Size::Line,
        };
        self.element(stmt.span, size, |printer| printer.stmt_kind(&stmt.kind));
    }

    fn after(&mut self, keyword: &str, expr: &Expr) {
        self.out.push_str(keyword);
        self.out.push(' ');
        self.formula(expr);
        self.out.push(';');
    }

    fn stmt_kind(&mut self, kind: &StmtKind) {
        match kind {
            StmtKind::Local { name, ty, value } => {
                self.out.push_str("var ");
                self.out.push_str(&name.kind);
                self.out.push_str(": ");
                type_to(&mut self.out, ty);
                if let Some(value) = value {
                    self.out.push_str(" := ");
                    self.value(value);
                }
                self.out.push(';');
            }
            StmtKind::Assign { targets, value } => {
                joined(&mut self.out, targets, ", ", Strength::Postfix);
                self.out.push_str(" := ");
                self.value(value);
                self.out.push(';');
            }
            StmtKind::Havoc(places) => {
                self.out.push_str("havoc ");
                joined(&mut self.out, places, ", ", Strength::Postfix);
                self.out.push(';');
            }
            StmtKind::Assume(expr) => self.after("assume", expr),
            StmtKind::Assert(expr) => self.after("assert", expr),
            StmtKind::Acquire(place) => self.after("acquire", place),
            StmtKind::Release(place) => self.after("release", place),
            StmtKind::Free(place) => self.after("free", place),
            StmtKind::Join(expr) => self.after("join", expr),
            StmtKind::Atomic(block) => {
                self.out.push_str("atomic ");
                self.block(block);
            }
            StmtKind::Step(action) => {
                self.out.push_str("step ");
                self.action(action);
                self.out.push(';');
            }
            StmtKind::If { arms, otherwise } => {
                for (index, arm) in arms.iter().enumerate() {
                    self.out.push_str(if index == 0 { "if " } else { " else if " });
                    self.condition(&arm.condition);
                    self.out.push(' ');
                    self.block(&arm.body);
                }
                if let Some(block) = otherwise {
                    self.out.push_str(" else ");
                    self.block(block);
                }
            }
            StmtKind::While { condition, invariants, body } => {
                self.out.push_str("while ");
                self.condition(condition);
                self.loop_invariants(invariants);
                self.block(body);
            }
            StmtKind::Choose(branches) => {
                for (index, branch) in branches.iter().enumerate() {
                    self.out.push_str(if index == 0 { "choose " } else { " or " });
                    self.block(branch);
                }
            }
            StmtKind::Block(block) => self.block(block),
            StmtKind::Call(call) => {
                call_to(&mut self.out, call);
                self.out.push(';');
            }
            StmtKind::Spawn(call) => {
                self.out.push_str("spawn ");
                call_to(&mut self.out, call);
                self.out.push(';');
            }
            StmtKind::Witness(label) => {
                self.out.push_str("witness ");
                self.out.push_str(&label.kind);
                self.out.push(';');
            }
            StmtKind::Linearize(None) => self.out.push_str("linearize;"),
            StmtKind::Linearize(Some(condition)) => self.after("linearize if", condition),
            StmtKind::Skip => self.out.push_str("skip;"),
            StmtKind::Break => self.out.push_str("break;"),
            StmtKind::Continue => self.out.push_str("continue;"),
            StmtKind::Return(values) => {
                self.out.push_str("return");
                if !values.is_empty() {
                    self.out.push(' ');
                    joined(&mut self.out, values, ", ", Strength::Open);
                }
                self.out.push(';');
            }
            StmtKind::Error | StmtKind::Check { .. } | StmtKind::Labelled(..) | StmtKind::Leave(_) => {
                self.out.push_str("skip;")
            }
        }
    }

    fn condition(&mut self, condition: &Condition) {
        match condition {
            Condition::Any(_) => self.out.push('*'),
            Condition::Expr(expr) => self.formula(expr),
        }
    }

    /// Each invariant has its own line, with the comments before it; the `{` then has one too.
    fn loop_invariants(&mut self, invariants: &[Expr]) {
        if invariants.is_empty() {
            self.out.push(' ');
            return;
        }
        self.out.push('\n');
        self.indent += 1;
        (self.first, self.big) = (true, false);
        for invariant in invariants {
            self.element(invariant.span, Size::Line, |printer| printer.after("invariant", invariant));
        }
        self.indent -= 1;
        self.line_start();
    }

    fn value(&mut self, value: &AssignedValue) {
        match value {
            AssignedValue::Exprs(exprs) => match &exprs[..] {
                [only] => self.formula(only),
                _ => joined(&mut self.out, exprs, ", ", Strength::Open),
            },
            AssignedValue::New(class) => {
                self.out.push_str("new ");
                self.out.push_str(&class.kind);
            }
            AssignedValue::Cas(cas) => {
                self.out.push_str("cas(");
                for (index, part) in [&cas.place, &cas.old, &cas.new].into_iter().enumerate() {
                    if index > 0 {
                        self.out.push_str(", ");
                    }
                    super::expr::expr_to(&mut self.out, part, Strength::Open);
                }
                self.out.push(')');
            }
            AssignedValue::Spawn(call) => {
                self.out.push_str("spawn ");
                call_to(&mut self.out, call);
            }
        }
    }

    /// An action whose formula may be broken over lines.
    pub(super) fn action(&mut self, action: &crate::lang::ast::ActionDecl) {
        if action.asserting.is_some() {
            action_to(&mut self.out, action);
            return;
        }
        if let Some(label) = &action.label {
            self.out.push_str(&label.kind);
            self.out.push_str(": ");
        }
        frame_to(&mut self.out, action);
        self.formula(&action.formula);
    }
}
