//! Building terms from untrusted parts: every sort is checked, nothing panics.
//!
//! For readers of files; code that knows its sorts uses the constructors of `Terms`.

use crate::sort::{Sort, SortKind};
use crate::term::{Op, Symbol, Term, Terms};

impl Terms {
    /// The application, or what is wrong with it.
    pub fn try_mk(&self, op: Op, args: &[Term]) -> Result<Term, String> {
        let sorts: Vec<Sort> = args.iter().map(|a| self.sort_of(*a)).collect();
        let kinds: Vec<SortKind> = sorts.iter().map(|s| self.kind(*s)).collect();
        let arity = |n: usize| {
            if args.len() == n { Ok(()) } else { Err(format!("{op:?} takes {n} arguments, not {}", args.len())) }
        };
        let need = |ok: bool, what: &str| if ok { Ok(()) } else { Err(format!("{op:?} {what}")) };
        let boolean = |i: usize| need(sorts[i] == Sort::BOOL, "takes formulas");
        let integers =
            || need(sorts[0].is_integer() && sorts.iter().all(|s| *s == sorts[0]), "takes integers of one sort");
        match op {
            Op::Not => {
                arity(1)?;
                boolean(0)?;
            }
            Op::And | Op::Or => (0..args.len()).try_for_each(boolean)?,
            Op::Implies => {
                arity(2)?;
                boolean(0)?;
                boolean(1)?;
            }
            Op::Ite => {
                arity(3)?;
                boolean(0)?;
                need(sorts[1] == sorts[2], "takes branches of one sort")?;
            }
            Op::Eq => {
                arity(2)?;
                need(sorts[0] == sorts[1], "takes sides of one sort")?;
            }
            Op::Lt | Op::Le | Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Mod => {
                arity(2)?;
                integers()?;
            }
            Op::Neg => {
                arity(1)?;
                integers()?;
            }
            Op::BitNot => {
                arity(1)?;
                need(sorts[0].as_machine().is_some(), "takes machine integers")?;
            }
            Op::BitAnd | Op::BitOr | Op::BitXor | Op::Shl | Op::Shr => {
                arity(2)?;
                integers()?;
                need(sorts[0].as_machine().is_some(), "takes machine integers")?;
            }
            Op::Cast(to) => {
                arity(1)?;
                need(sorts[0].is_integer() && to.is_integer(), "is between integer sorts")?;
            }
            Op::Select => {
                arity(2)?;
                need(matches!(kinds[0], SortKind::Map(k, _) if k == sorts[1]), "takes a map and a key of it")?;
            }
            Op::Store => {
                arity(3)?;
                need(
                    matches!(kinds[0], SortKind::Map(k, v) if k == sorts[1] && v == sorts[2]),
                    "takes a map, a key and a value of it",
                )?;
            }
            Op::ConstMap(s) => {
                arity(1)?;
                need(matches!(self.kind(s), SortKind::Map(_, v) if v == sorts[0]), "takes a value of the map")?;
            }
            Op::EmptySet(s) => {
                arity(0)?;
                need(matches!(self.kind(s), SortKind::Set(_)), "is of a set sort")?;
            }
            Op::EmptySeq(s) => {
                arity(0)?;
                need(matches!(self.kind(s), SortKind::Seq(_)), "is of a sequence sort")?;
            }
            Op::Member | Op::Insert => {
                arity(2)?;
                need(matches!(kinds[1], SortKind::Set(e) if e == sorts[0]), "takes an element and a set")?;
            }
            Op::Union | Op::Minus | Op::Subset => {
                arity(2)?;
                need(matches!(kinds[0], SortKind::Set(_)) && sorts[0] == sorts[1], "takes two sets")?;
            }
            Op::Unit => arity(1)?,
            Op::Concat => {
                arity(2)?;
                need(matches!(kinds[0], SortKind::Seq(_)) && sorts[0] == sorts[1], "takes two sequences")?;
            }
            Op::Len => {
                arity(1)?;
                need(matches!(kinds[0], SortKind::Seq(_)), "takes a sequence")?;
            }
            Op::At => {
                arity(2)?;
                need(matches!(kinds[0], SortKind::Seq(_)) && sorts[1] == Sort::INT, "takes a sequence and an index")?;
            }
            Op::Slice => {
                arity(3)?;
                need(
                    matches!(kinds[0], SortKind::Seq(_)) && sorts[1] == Sort::INT && sorts[2] == Sort::INT,
                    "takes a sequence and two indices",
                )?;
            }
        }
        Ok(self.mk(op, args))
    }

    /// Whether every sort, symbol, enum, class and term of `base` is here too, under the same id.
    pub fn extends(&self, base: &Terms) -> bool {
        if self.len() < base.len() || self.symbol_count() < base.symbol_count() || self.sort_count() < base.sort_count()
        {
            return false;
        }
        (0..base.sort_count() as u32).all(|i| self.kind(Sort(i)) == base.kind(Sort(i)))
            && (0..base.symbol_count() as u32)
                .map(Symbol)
                .all(|s| self.symbol_sort(s) == base.symbol_sort(s) && self.symbol_name(s) == base.symbol_name(s))
            && self.enum_count() >= base.enum_count()
            && (0..base.enum_count() as u32).map(crate::EnumId).all(|e| self.enum_decl(e) == base.enum_decl(e))
            && self.class_count() >= base.class_count()
            && (0..base.len() as u32).map(Term).all(|t| self.node(t) == base.node(t))
    }
}
