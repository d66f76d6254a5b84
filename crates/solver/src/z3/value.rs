//! Values of Z3's models as values of ours.
//!
//! In: a value term of a model and the sort it should have. Out: the `Value`, or `None` where it has none: an infinite
//! set, a function with no finite table, a number beyond 128 bits. What lies outside of a sort's range (Z3 is
//! free to put anything where nothing looks) becomes the sort's default, everywhere in the same way.

use super::context::{Z3Context, text};
use crate::answer::Machines;
use crate::encode::EncodingPurpose;
use logic::{Sort, SortKind, Terms, Value};
use std::collections::BTreeMap;
use z3_provider::library::*;

pub(crate) struct ModelReader<'a> {
    pub context: &'a Z3Context,
    pub model: Option<Z3_model>,
    pub terms: &'a Terms,
    pub machines: Machines,
    pub purpose: EncodingPurpose,
}

impl ModelReader<'_> {
    pub(crate) fn read(&self, ast: Z3_ast, sort: Sort) -> Option<Value> {
        match self.terms.kind(sort) {
            // SAFETY: the term belongs to the context.
            SortKind::Bool => match unsafe { Z3_get_bool_value(self.context.raw, ast) } {
                Z3_L_TRUE => Some(Value::Bool(true)),
                Z3_L_FALSE => Some(Value::Bool(false)),
                _ => None,
            },
            SortKind::Map(k, v) => self.map(ast, sort, k, v),
            SortKind::Set(e) => self.set(ast, e),
            SortKind::Seq(e) => {
                let mut out = Vec::new();
                self.seq(ast, e, &mut out)?;
                Some(Value::Seq(out))
            }
            _ => from_number(self.terms, self.machines, self.purpose, sort, self.number(ast)?),
        }
    }

    pub(crate) fn number(&self, ast: Z3_ast) -> Option<i128> {
        // SAFETY: the term belongs to the context; the text is copied at once.
        unsafe {
            if !Z3_is_numeral_ast(self.context.raw, ast) {
                return None;
            }
            let mut small = 0i64;
            if Z3_get_numeral_int64(self.context.raw, ast, &mut small) {
                return Some(i128::from(small));
            }
            text(Z3_get_numeral_string(self.context.raw, ast)).parse().ok()
        }
    }

    /// Kind and arguments of an application.
    fn application(&self, ast: Z3_ast) -> Option<(DeclKind, Vec<Z3_ast>)> {
        let c = self.context.raw;
        // SAFETY: the term belongs to the context.
        unsafe {
            if Z3_get_ast_kind(c, ast) != AstKind::App {
                return None;
            }
            let app = Z3_to_app(c, ast)?;
            let kind = Z3_get_decl_kind(c, Z3_get_app_decl(c, app)?);
            let args = (0..Z3_get_app_num_args(c, app)).map(|i| Z3_get_app_arg(c, app, i)).collect::<Option<_>>()?;
            Some((kind, args))
        }
    }

    /// The table of an array: explicit entries, outermost first, and the value everywhere else.
    fn table(&self, mut ast: Z3_ast) -> Option<(Vec<(Z3_ast, Z3_ast)>, Z3_ast)> {
        let mut entries = Vec::new();
        loop {
            let (kind, args) = self.application(ast)?;
            match kind {
                DeclKind::Store => {
                    entries.push((args[1], args[2]));
                    ast = args[0];
                }
                DeclKind::ConstArray => return Some((entries, args[0])),
                DeclKind::AsArray => {
                    let other = self.interpretation(ast, &mut entries)?;
                    return Some((entries, other));
                }
                _ => return None,
            }
        }
    }

    fn interpretation(&self, ast: Z3_ast, entries: &mut Vec<(Z3_ast, Z3_ast)>) -> Option<Z3_ast> {
        let c = self.context.raw;
        // SAFETY: the objects belong to the model, which outlives this call; entries are counted references.
        unsafe {
            let function = Z3_get_as_array_func_decl(c, ast)?;
            let table = Z3_model_get_func_interp(c, self.model?, function)?;
            Z3_func_interp_inc_ref(c, table);
            for i in 0..Z3_func_interp_get_num_entries(c, table) {
                let entry = Z3_func_interp_get_entry(c, table, i)?;
                Z3_func_entry_inc_ref(c, entry);
                if Z3_func_entry_get_num_args(c, entry) != 1 {
                    return None;
                }
                let (key, value) = (Z3_func_entry_get_arg(c, entry, 0)?, Z3_func_entry_get_value(c, entry)?);
                Z3_inc_ref(c, key);
                Z3_inc_ref(c, value);
                entries.push((key, value));
                Z3_func_entry_dec_ref(c, entry);
            }
            let other = Z3_func_interp_get_else(c, table)?;
            Z3_inc_ref(c, other);
            Z3_func_interp_dec_ref(c, table);
            Some(other)
        }
    }

    fn map(&self, ast: Z3_ast, sort: Sort, key: Sort, value: Sort) -> Option<Value> {
        let (entries, other) = self.table(ast)?;
        let mut table = BTreeMap::new();
        for (k, v) in entries {
            if self.is_outside(k, key) {
                continue;
            }
            let k = self.read(k, key)?;
            if let std::collections::btree_map::Entry::Vacant(free) = table.entry(k) {
                free.insert(self.read(v, value)?);
            }
        }
        Some(finite_map(self.terms, sort, table, self.read(other, value)?))
    }

    fn set(&self, ast: Z3_ast, element: Sort) -> Option<Value> {
        let (entries, other) = self.table(ast)?;
        let mut members = BTreeMap::new();
        for (k, v) in entries {
            if self.is_outside(k, element) {
                continue;
            }
            // SAFETY: the term belongs to the context.
            let inside = unsafe { Z3_get_bool_value(self.context.raw, v) } == Z3_L_TRUE;
            members.entry(self.read(k, element)?).or_insert(inside);
        }
        // SAFETY: as above.
        if unsafe { Z3_get_bool_value(self.context.raw, other) } != Z3_L_FALSE {
            // Everything else is inside: a finite set only where the sort is finite.
            for v in finite_domain(self.terms, element)? {
                members.entry(v).or_insert(true);
            }
        }
        Some(Value::Set(members.into_iter().filter_map(|(k, inside)| inside.then_some(k)).collect()))
    }

    fn seq(&self, ast: Z3_ast, element: Sort, out: &mut Vec<Value>) -> Option<()> {
        let (kind, args) = self.application(ast)?;
        match kind {
            DeclKind::SeqEmpty => Some(()),
            DeclKind::SeqUnit => {
                out.push(self.read(args[0], element)?);
                Some(())
            }
            DeclKind::SeqConcat => args.iter().try_for_each(|a| self.seq(*a, element, out)),
            _ => None,
        }
    }

    /// Whether a key is no value of the sort at all.
    fn is_outside(&self, ast: Z3_ast, sort: Sort) -> bool {
        is_outside(self.terms, self.machines, self.purpose, sort, self.number(ast))
    }
}

/// Whether the solver's number stands for no value of the sort.
pub(crate) fn is_outside(
    terms: &Terms,
    machines: Machines,
    purpose: EncodingPurpose,
    sort: Sort,
    n: Option<i128>,
) -> bool {
    let Some(n) = n else { return false };
    match terms.kind(sort) {
        SortKind::Machine(m) => machines == Machines::Integers && !(m.min()..=m.max()).contains(&n),
        SortKind::Enum(e) => !(0..terms.enum_size(e) as i128).contains(&n),
        SortKind::Ref(_) => purpose == EncodingPurpose::Horn && n < 0,
        _ => false,
    }
}

/// The value that the solver's number stands for.
pub(crate) fn from_number(
    terms: &Terms,
    machines: Machines,
    purpose: EncodingPurpose,
    sort: Sort,
    n: i128,
) -> Option<Value> {
    if is_outside(terms, machines, purpose, sort, Some(n)) {
        return Some(Value::default_of(terms, sort));
    }
    Some(match terms.kind(sort) {
        SortKind::Int => Value::Int(n),
        SortKind::Machine(m) => Value::Int(m.wrap(n)),
        SortKind::Enum(_) => Value::Variant(u32::try_from(n).ok()?),
        SortKind::Ref(_) => {
            let n = match purpose {
                EncodingPurpose::Horn => n,
                EncodingPurpose::Models if n > 0 => n.checked_mul(2)? - 1,
                EncodingPurpose::Models => n.checked_mul(-2)?,
            };
            Value::Ref(u32::try_from(n).ok()?)
        }
        _ => return None,
    })
}

/// All values of a sort with few of them.
pub(crate) fn finite_domain(terms: &Terms, sort: Sort) -> Option<Vec<Value>> {
    match terms.kind(sort) {
        SortKind::Bool => Some(vec![Value::Bool(false), Value::Bool(true)]),
        SortKind::Enum(e) => Some((0..terms.enum_size(e) as u32).map(Value::Variant).collect()),
        SortKind::Machine(m) if m.bits == 8 => Some((m.min()..=m.max()).map(Value::Int).collect()),
        _ => None,
    }
}

/// A map from a table, in the one form that equal maps have.
pub(crate) fn finite_map(terms: &Terms, sort: Sort, table: BTreeMap<Value, Value>, other: Value) -> Value {
    let mut map = Value::everywhere(terms, sort, other);
    if let Value::Map(m) = &mut map {
        for (k, v) in table {
            m.set(k, v);
        }
    }
    map
}
