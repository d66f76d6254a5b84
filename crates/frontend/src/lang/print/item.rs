//! Items.
//!
//! In: an item of the tree. Out: its lines, with the comments that stand in it.

use super::expr::{Hold, expr_text, params_to, performs_to, type_to};
use super::{Printer, Size};
use crate::lang::ast::{
    AccessClause, Clause, ClauseKind, CopiesClause, Expr, Idling, Item, ItemKind, MachinePart, MachinePartKind, Member,
    MemberKind, Name, Performs, PerformsKind, Privacy, Proc, ProcForm, StateRole, ThreadDecl, VarDecl,
};
use base::Span;

/// How the initial value of a variable is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Shared,
    Spec,
    Field,
}

impl Printer<'_> {
    pub(super) fn item(&mut self, item: &Item) {
        let span = item.span;
        match &item.kind {
            ItemKind::Const { name, ty, value } => self.element(span, Size::Line, |p| {
                p.out.push_str("const ");
                p.out.push_str(&name.kind);
                p.out.push_str(": ");
                type_to(&mut p.out, ty);
                if let Some(value) = value {
                    p.out.push_str(" = ");
                    p.formula(value);
                }
                p.out.push(';');
            }),
            ItemKind::Enum { name, variants } => self.enumeration(span, name, variants),
            ItemKind::Class { name, fields } => self.element(span, Size::Lines, |p| {
                p.out.push_str("class ");
                p.out.push_str(&name.kind);
                p.out.push(' ');
                let brace = p.brace_behind(name.span.end, span);
                p.braced(brace, fields.first().map(|f| f.name.span.start), |p| {
                    for field in fields {
                        p.element(field.span.0, Size::Line, |p| p.var(field, Form::Field));
                    }
                });
            }),
            ItemKind::Var(var) => self.element(span, Size::Line, |p| p.var(var, Form::Shared)),
            ItemKind::Init(e) => self.element(span, Size::Line, |p| p.line("init ", e)),
            ItemKind::Invariant(e) => self.element(span, Size::Line, |p| p.line("invariant ", e)),
            ItemKind::Rely(e) => self.element(span, Size::Line, |p| p.line("rely ", e)),
            ItemKind::Thread(thread) => self.element(span, Size::Big, |p| p.thread(thread)),
            ItemKind::Proc(proc) => self.element(span, Size::Big, |p| p.procedure(proc)),
            ItemKind::Machine(machine) => self.element(span, Size::Big, |p| {
                p.out.push_str(if machine.idling == Idling::Strict { "strict machine " } else { "machine " });
                p.out.push_str(&machine.name.kind);
                p.out.push(' ');
                let brace = p.brace_behind(machine.name.span.end, span);
                p.braced(brace, machine.parts.first().map(|m| m.span.start), |p| {
                    for part in &machine.parts {
                        p.element(part.span, Size::Line, |p| p.machine_part(part));
                    }
                });
            }),
            ItemKind::Object(object) => self.element(span, Size::Big, |p| {
                p.out.push_str("object ");
                p.out.push_str(&object.name.kind);
                p.out.push(' ');
                let brace = p.brace_behind(object.name.span.end, span);
                p.members(brace, &object.members, Form::Shared);
            }),
        }
    }

    /// The span from the `{` that follows a place to the end of the item.
    fn brace_behind(&self, from: u32, item: Span) -> Span {
        let mut at = from as usize;
        // A `{` inside a comment opens nothing.
        for comment in self.comments.iter().take_while(|c| c.start < item.end) {
            let before = self.text.get(at..comment.start as usize).unwrap_or("");
            if before.contains('{') {
                break;
            }
            at = at.max(comment.end as usize);
        }
        let brace = self.text.get(at..).and_then(|t| t.find('{')).map_or(from, |o| (at + o) as u32);
        Span { start: brace, ..item }
    }

    fn line(&mut self, keyword: &str, expr: &Expr) {
        self.out.push_str(keyword);
        self.formula(expr);
        self.out.push(';');
    }

    fn enumeration(&mut self, span: Span, name: &Name, variants: &[Name]) {
        let commented = self.comments.iter().any(|c| span.start < c.start && c.start < span.end);
        let flat: usize = variants.iter().map(|v| v.kind.len() + 2).sum();
        let size = if commented || flat > 80 { Size::Lines } else { Size::Line };
        self.element(span, size, |p| {
            p.out.push_str("enum ");
            p.out.push_str(&name.kind);
            p.out.push(' ');
            if size == Size::Line {
                let names: Vec<&str> = variants.iter().map(|v| &*v.kind).collect();
                p.out.push_str(&if names.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", names.join(", ")) });
                return;
            }
            let brace = p.brace_behind(name.span.end, span);
            p.braced(brace, variants.first().map(|v| v.span.start), |p| {
                for variant in variants {
                    // The comma belongs to the line, so that a comment behind it stays behind.
                    let rest = p.text.get(variant.span.end as usize..).unwrap_or("");
                    let comma = rest.find(|c: char| !c.is_whitespace()).filter(|at| rest[*at..].starts_with(','));
                    let end = comma.map_or(variant.span.end, |at| variant.span.end + at as u32 + 1);
                    p.element(Span { end, ..variant.span }, Size::Line, |p| {
                        p.out.push_str(&variant.kind);
                        p.out.push(',');
                    });
                }
            });
        });
    }

    fn var(&mut self, var: &VarDecl, form: Form) {
        if var.privacy == Privacy::Private {
            self.out.push_str("private ");
        }
        if form != Form::Field {
            self.out.push_str("var ");
        }
        self.out.push_str(&var.name.kind);
        self.out.push_str(": ");
        type_to(&mut self.out, &var.ty);
        if let Some(value) = &var.value {
            self.out.push_str(if form == Form::Spec { " := " } else { " = " });
            self.formula(value);
        }
        for access in &var.access {
            match access {
                AccessClause::GuardedBy(lock) => {
                    self.out.push_str(" guarded_by ");
                    self.formula(lock);
                }
                AccessClause::ThreadLocal => self.out.push_str(" thread_local"),
                AccessClause::If { binders, condition }
                | AccessClause::Readable { binders, condition }
                | AccessClause::Writable { binders, condition } => {
                    self.out.push_str(match access {
                        AccessClause::Readable { .. } => " readable_if",
                        AccessClause::Writable { .. } => " writable_if",
                        _ => " accessible_if",
                    });
                    for binder in binders {
                        self.out.push_str(&format!("[{}]", binder.kind));
                    }
                    self.out.push(' ');
                    // A `[` here would be read as one more binder.
                    if expr_text(condition).starts_with('[') {
                        self.out.push_str(&format!("({})", expr_text(condition)));
                    } else {
                        self.formula(condition);
                    }
                }
            }
        }
        self.out.push(';');
    }

    fn thread(&mut self, thread: &ThreadDecl) {
        self.out.push_str("thread ");
        self.out.push_str(&thread.name.kind);
        match &thread.copies {
            CopiesClause::One => {}
            CopiesClause::Any => self.out.push_str("[*]"),
            CopiesClause::Exactly(count) => {
                self.out.push('[');
                self.formula(count);
                self.out.push(']');
            }
        }
        if let Some(params) = &thread.params {
            self.out.push('(');
            params_to(&mut self.out, params);
            self.out.push(')');
        }
        if let Some(machine) = &thread.follows {
            self.out.push_str(" follows ");
            self.out.push_str(&machine.kind);
        }
        self.clauses(&thread.clauses);
        self.block(&thread.body);
    }

    fn procedure(&mut self, proc: &Proc) {
        self.out.push_str(match proc.form {
            ProcForm::Plain => "proc ",
            ProcForm::Inline => "inline proc ",
            ProcForm::Operation => "op ",
            ProcForm::Abstract => "",
        });
        self.out.push_str(&proc.name.kind);
        self.out.push('(');
        params_to(&mut self.out, &proc.params);
        self.out.push(')');
        if !proc.results.is_empty() {
            self.out.push_str(" returns (");
            params_to(&mut self.out, &proc.results);
            self.out.push(')');
        }
        self.clauses(&proc.clauses);
        self.block(&proc.body);
    }

    fn clauses(&mut self, clauses: &[Clause]) {
        if clauses.is_empty() {
            self.out.push(' ');
            return;
        }
        self.out.push('\n');
        self.indent += 1;
        (self.first, self.big) = (true, false);
        for clause in clauses {
            self.element(clause.span, Size::Line, |p| match &clause.kind {
                ClauseKind::Requires(e) => p.line("requires ", e),
                ClauseKind::Ensures(e) => p.line("ensures ", e),
                ClauseKind::Rely(e) => p.line("rely ", e),
                ClauseKind::Invariant(e) => p.line("invariant ", e),
                ClauseKind::Modifies(places) => {
                    p.out.push_str("modifies ");
                    for (index, place) in places.iter().enumerate() {
                        p.out.push_str(if index > 0 { ", " } else { "" });
                        p.formula(place);
                    }
                    p.out.push(';');
                }
                ClauseKind::Performs(performs) => p.performs(performs),
            });
        }
        self.indent -= 1;
        self.line_start();
    }

    fn performs(&mut self, performs: &Performs) {
        self.out.push_str("performs ");
        match &performs.kind {
            PerformsKind::Action(action) => self.action(action),
            PerformsKind::Or(parts) => {
                for (index, part) in parts.iter().enumerate() {
                    if index > 0 {
                        self.out.push('\n');
                        self.line_start();
                        self.out.push_str("      [] ");
                    }
                    match &part.kind {
                        PerformsKind::Action(action) => self.action(action),
                        _ => performs_to(&mut self.out, part, Hold::Then),
                    }
                }
            }
            _ => performs_to(&mut self.out, performs, Hold::Or),
        }
        self.out.push(';');
    }

    fn machine_part(&mut self, part: &MachinePart) {
        match &part.kind {
            MachinePartKind::Var(var) => return self.var(var, Form::Shared),
            MachinePartKind::Rely(e) => return self.line("rely ", e),
            MachinePartKind::State { role, name, asserts } => {
                self.out.push_str(if *role == StateRole::Start { "start " } else { "state " });
                self.out.push_str(&name.kind);
                if let Some(asserts) = asserts {
                    self.out.push_str(" asserts ");
                    self.formula(asserts);
                }
            }
            MachinePartKind::Edge { from, to, action } => {
                self.out.push_str(&format!("{} -> {}", from.kind, to.kind));
                if let Some(action) = action {
                    self.out.push_str(" : ");
                    self.action(action);
                }
            }
        }
        self.out.push(';');
    }

    fn members(&mut self, brace: Span, members: &[Member], form: Form) {
        self.braced(brace, members.first().map(|m| m.span.start), |p| {
            for member in members {
                p.member(member, form);
            }
        });
    }

    fn member(&mut self, member: &Member, form: Form) {
        let span = member.span;
        match &member.kind {
            MemberKind::Spec(inner) => self.element(span, Size::Big, |p| {
                p.out.push_str("spec ");
                let brace = p.brace_behind(span.start, span);
                p.members(brace, inner, Form::Spec);
            }),
            MemberKind::Var(var) => self.element(span, Size::Line, |p| p.var(var, form)),
            MemberKind::Init(e) => self.element(span, Size::Line, |p| p.line("init ", e)),
            MemberKind::Invariant(e) => self.element(span, Size::Line, |p| p.line("invariant ", e)),
            MemberKind::Rely(e) => self.element(span, Size::Line, |p| p.line("rely ", e)),
            MemberKind::Proc(proc) => self.element(span, Size::Big, |p| p.procedure(proc)),
        }
    }
}
