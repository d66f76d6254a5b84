//! Terms as text, in the syntax of the modelling language.
//!
//! In: a term. Out: text, with as few parentheses as the precedence allows. Symbols print by their names; a caller that
//! has two symbols of one name renames one of them.
//! Deliberately absent: sharing. A term that is a large graph prints as a large tree; files use `program`'s text form.

use crate::sort::{Sort, SortKind};
use crate::term::{Node, Op, Quantifier, Symbol, Term, Terms};

/// How symbols are named in the printed text.
pub(crate) type Names<'a> = &'a dyn Fn(Symbol) -> String;

impl Terms {
    pub fn show(&self, term: Term) -> String {
        self.show_with(term, &|s| self.symbol_name(s))
    }
    pub(crate) fn show_with(&self, term: Term, names: Names<'_>) -> String {
        let mut out = String::new();
        write(self, term, 0, names, &mut out);
        out
    }
}

/// Binding strength: implication 1, equivalence 2, or 3, and 4, comparison 5, sum 6, product 7, unary 8, atom 9.
fn level(t: &Terms, op: Op, args: &[Term]) -> u8 {
    match op {
        Op::Implies => 1,
        Op::Eq if t.sort_of(args[0]) == Sort::BOOL => 2,
        Op::Or => 3,
        Op::And => 4,
        Op::Eq | Op::Lt | Op::Le | Op::Member => 5,
        Op::Add | Op::Sub | Op::Union | Op::Minus | Op::Concat => 6,
        Op::Mul | Op::Div | Op::Mod => 7,
        Op::Not | Op::Neg => 8,
        Op::Ite => 0,
        _ => 9,
    }
}

fn write(t: &Terms, term: Term, context: u8, names: Names<'_>, out: &mut String) {
    match t.node(term) {
        Node::Bool(b) => out.push_str(if b { "true" } else { "false" }),
        Node::Num(n, _) if n < 0 && context > 6 => out.push_str(&format!("({n})")),
        Node::Num(n, _) => out.push_str(&n.to_string()),
        Node::Variant(e, v) => {
            let decl = t.enum_decl(e);
            out.push_str(decl.variants.get(v as usize).map_or("?", |s| s));
        }
        Node::Ref(_, 0) => out.push_str("null"),
        Node::Ref(c, n) => out.push_str(&format!("{}#{n}", t.class_name(c))),
        Node::Sym(s) => out.push_str(&names(s)),
        Node::Quant(q, bound, body) => {
            let open = context > 0;
            out.push_str(if open { "(" } else { "" });
            out.push_str(if q == Quantifier::Forall { "forall " } else { "exists " });
            let list: Vec<String> =
                bound.iter().map(|s| format!("{}: {}", names(*s), t.sort_name(t.symbol_sort(*s)))).collect();
            out.push_str(&list.join(", "));
            out.push_str(" :: ");
            write(t, body, 0, names, out);
            out.push_str(if open { ")" } else { "" });
        }
        Node::App(op, args) => {
            // A negated equation reads better as `!=`.
            if op == Op::Not
                && let Some((Op::Eq, inner)) = t.app(args[0])
                && t.sort_of(inner[0]) != Sort::BOOL
            {
                return infix(t, " != ", &inner, 5, context, names, out);
            }
            // Two whole fields are compared object by object.
            if op == Op::Eq
                && let (Some((class, left)), Some((_, right))) = (field(t, args[0], names), field(t, args[1], names))
            {
                let (open, close) = if context > 0 { ("(", ")") } else { ("", "") };
                out.push_str(&format!("{open}forall o: {class} :: o.{left} == o.{right}{close}"));
                return;
            }
            let mine = level(t, op, &args);
            let sign = match op {
                Op::Implies => " ==> ",
                Op::Eq if mine == 2 => " <==> ",
                Op::Or => " || ",
                Op::And => " && ",
                Op::Eq => " == ",
                Op::Lt => " < ",
                Op::Le => " <= ",
                Op::Member => " in ",
                Op::Add | Op::Union | Op::Concat => " + ",
                Op::Sub | Op::Minus => " - ",
                Op::Mul => " * ",
                Op::Div => " / ",
                Op::Mod => " % ",
                _ => return special(t, op, &args, mine, context, names, out),
            };
            infix(t, sign, &args, mine, context, names, out);
        }
    }
}

/// The class and the name of a field, if the term is the map of one.
fn field(t: &Terms, map: Term, names: Names<'_>) -> Option<(String, String)> {
    let SortKind::Map(key, _) = t.kind(t.sort_of(map)) else { return None };
    let SortKind::Ref(class) = t.kind(key) else { return None };
    let (class, name) = (t.class_name(class), names(t.as_symbol(map)?));
    let rest = name.strip_prefix(&class)?.strip_prefix('.')?.to_string();
    Some((class, rest))
}

fn infix(t: &Terms, sign: &str, args: &[Term], mine: u8, context: u8, names: Names<'_>, out: &mut String) {
    let open = context > mine;
    out.push_str(if open { "(" } else { "" });
    for (i, a) in args.iter().enumerate() {
        if i > 0 {
            out.push_str(sign);
        }
        // Left operands of left-associative operators may stand at the same level; implication is the other way.
        let inner = match mine {
            1 => {
                if i == 0 {
                    2
                } else {
                    1
                }
            }
            2 | 5 => mine + 1,
            _ => {
                if i == 0 {
                    mine
                } else {
                    mine + 1
                }
            }
        };
        if mine == 1 && i == 1 {
            // `a ==> b ==> c` needs no parentheses on the right.
            write(t, *a, 0, names, out);
        } else {
            write(t, *a, inner, names, out);
        }
    }
    out.push_str(if open { ")" } else { "" });
}

fn special(t: &Terms, op: Op, args: &[Term], mine: u8, context: u8, names: Names<'_>, out: &mut String) {
    let sub = |a: Term, level: u8, out: &mut String| write(t, a, level, names, out);
    match op {
        Op::Not | Op::Neg => {
            let open = context > mine;
            out.push_str(if open { "(" } else { "" });
            out.push(if op == Op::Not { '!' } else { '-' });
            sub(args[0], 9, out);
            out.push_str(if open { ")" } else { "" });
        }
        Op::Ite => {
            let open = context > 0;
            out.push_str(if open { "(if " } else { "if " });
            sub(args[0], 0, out);
            out.push_str(" then ");
            sub(args[1], 1, out);
            out.push_str(" else ");
            sub(args[2], 1, out);
            out.push_str(if open { ")" } else { "" });
        }
        Op::Select if let Some((_, name)) = field(t, args[0], names) => {
            sub(args[1], 9, out);
            out.push('.');
            out.push_str(&name);
        }
        Op::Select | Op::At => {
            sub(args[0], 9, out);
            out.push('[');
            sub(args[1], 0, out);
            out.push(']');
        }
        Op::Store => {
            sub(args[0], 9, out);
            out.push('[');
            sub(args[1], 0, out);
            out.push_str(" := ");
            sub(args[2], 0, out);
            out.push(']');
        }
        Op::Slice => {
            sub(args[0], 9, out);
            out.push('[');
            sub(args[1], 0, out);
            out.push_str("..");
            sub(args[2], 0, out);
            out.push(']');
        }
        Op::EmptySet(_) => out.push_str("{}"),
        Op::EmptySeq(_) => out.push_str("[]"),
        Op::Unit => {
            out.push('[');
            sub(args[0], 0, out);
            out.push(']');
        }
        Op::Insert => {
            let open = context > 6;
            out.push_str(if open { "(" } else { "" });
            sub(args[1], 6, out);
            out.push_str(" + {");
            sub(args[0], 0, out);
            out.push('}');
            out.push_str(if open { ")" } else { "" });
        }
        _ => {
            let name = match op {
                Op::Cast(s) => t.sort_name(s),
                Op::ConstMap(_) => "const".into(),
                Op::Len => "len".into(),
                Op::Subset => "subset".into(),
                Op::BitAnd => "bitand".into(),
                Op::BitOr => "bitor".into(),
                Op::BitXor => "bitxor".into(),
                Op::BitNot => "bitnot".into(),
                Op::Shl => "shl".into(),
                Op::Shr => "shr".into(),
                other => format!("{other:?}"),
            };
            out.push_str(&name);
            out.push('(');
            for (i, a) in args.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                sub(*a, 0, out);
            }
            out.push(')');
        }
    }
}
