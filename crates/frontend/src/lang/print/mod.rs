//! The tree back to canonical text.
//!
//! In: a tree without error nodes, the comments, and the text both came from. Out: the same program, one
//! declaration or statement per line, every comment kept. Parsing the result gives the same tree, and printing that
//! gives the same text. A comment stays before the line it stood before, or behind the line it stood behind; one
//! inside a line goes before that line. One blank line is kept where there were some.

mod expr;
mod item;
mod stmt;

pub(crate) use expr::expr_text;

use crate::lang::ast::{Expr, ExprKind, SourceTree, Strength};
use base::Span;

/// Lines longer than this are broken where that is possible.
const MAX_LINE_WIDTH: usize = 100;

/// The canonical text of a tree.
pub(crate) fn print_tree(tree: &SourceTree, comments: &[Span], text: &str) -> String {
    let mut printer = Printer { out: String::new(), indent: 0, comments, text, behind: 0, first: true, big: false };
    for item in &tree.items {
        printer.item(item);
    }
    printer.comments_before(text.len() as u32);
    printer.out
}

/// Whether a line-level element has lines of its own inside.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Size {
    Line,
    /// Comments inside belong to inner lines.
    Lines,
    /// As `Lines`, with blank lines around it.
    Big,
}

struct Printer<'a> {
    out: String,
    indent: usize,
    /// Those not yet printed.
    comments: &'a [Span],
    text: &'a str,
    /// Where in the source the last thing printed ended.
    behind: u32,
    /// Nothing has been printed in this block yet.
    first: bool,
    /// The last element of this block had blank lines around it.
    big: bool,
}

impl Printer<'_> {
    /// Prints one line-level element with the comments that belong to it.
    fn element(&mut self, span: Span, size: Size, body: impl FnOnce(&mut Self)) {
        let around = !self.first && (self.big || size == Size::Big);
        let mut blank = around;
        if self.comments.first().is_some_and(|c| c.start < span.start) {
            self.blank_if(around, self.comments[0].start);
            blank = false;
            self.comments_before(span.start);
        }
        self.blank_if(blank, span.start);
        if size == Size::Line {
            while let Some((comment, rest)) = self.comments.split_first().filter(|(c, _)| c.start < span.end) {
                self.comments = rest;
                self.line_start();
                self.comment_text(*comment);
                self.out.push('\n');
            }
        }
        self.line_start();
        self.first = false;
        self.big = false;
        body(self);
        self.behind = span.end;
        self.comments_behind(u32::MAX);
        self.out.push('\n');
        self.first = false;
        self.big = size == Size::Big;
    }

    /// A blank line, if it is wanted or if there was one before this place in the source.
    fn blank_if(&mut self, wanted: bool, start: u32) {
        let between = self.text.get(self.behind as usize..start as usize).unwrap_or("");
        let had = between.bytes().filter(|b| *b == b'\n').count() >= 2;
        if !self.first && (wanted || had) && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    /// Comments before a place, each on its own line.
    fn comments_before(&mut self, start: u32) {
        while let Some((comment, rest)) = self.comments.split_first().filter(|(c, _)| c.start < start) {
            self.comments = rest;
            self.blank_if(false, comment.start);
            self.line_start();
            self.comment_text(*comment);
            self.out.push('\n');
            self.first = false;
            self.behind = comment.end;
        }
    }

    /// Comments that stand on the source line on which the last thing ended, before a limit.
    fn comments_behind(&mut self, limit: u32) {
        while let Some((comment, rest)) = self.comments.split_first().filter(|(c, _)| c.start < limit) {
            let between = self.text.get(self.behind as usize..comment.start as usize).unwrap_or("\n");
            if between.contains('\n') {
                break;
            }
            self.comments = rest;
            self.out.push(' ');
            self.comment_text(*comment);
            self.behind = comment.end;
        }
    }

    fn comment_text(&mut self, comment: Span) {
        let text = self.text.get(comment.start as usize..comment.end as usize).unwrap_or("");
        self.out.push_str(text.trim_end());
    }

    fn line_start(&mut self) {
        self.out.extend(std::iter::repeat_n("  ", self.indent));
    }

    /// `{`, inner elements, `}`. The span is that of the braces.
    fn braced(&mut self, span: Span, first_inside: Option<u32>, body: impl FnOnce(&mut Self)) {
        self.out.push('{');
        let end = span.end.saturating_sub(1);
        if first_inside.is_none() && self.comments.first().is_none_or(|c| c.start >= end) {
            self.out.push('}');
            self.behind = span.end;
            return;
        }
        self.behind = span.start + 1;
        self.comments_behind(first_inside.unwrap_or(end));
        self.out.push('\n');
        self.indent += 1;
        (self.first, self.big) = (true, false);
        body(self);
        self.comments_before(end);
        self.indent -= 1;
        self.line_start();
        self.out.push('}');
        (self.first, self.big) = (false, false);
        self.behind = span.end;
    }

    /// A formula that may be broken over lines; what was printed on the line so far counts.
    fn formula(&mut self, expr: &Expr) {
        let flat = expr_text(expr);
        let line = self.out.len() - self.out.rfind('\n').map_or(0, |at| at + 1);
        if line + flat.len() <= MAX_LINE_WIDTH {
            self.out.push_str(&flat);
            return;
        }
        let inner = format!("\n{}", "  ".repeat(self.indent + 2));
        match &expr.kind {
            ExprKind::And(parts) => expr::joined(&mut self.out, parts, &format!("{inner}&& "), Strength::Compare),
            ExprKind::Or(parts) => expr::joined(&mut self.out, parts, &format!("{inner}|| "), Strength::And),
            ExprKind::Binary(op, left, right) if op.strength() <= Strength::Iff => {
                let (weakest_left, weakest_right) = expr::sides(*op);
                expr::expr_to(&mut self.out, left, weakest_left);
                self.out.push_str(&format!("{inner}{} ", op.text()));
                expr::expr_to(&mut self.out, right, weakest_right);
            }
            _ => self.out.push_str(&flat),
        }
    }
}
