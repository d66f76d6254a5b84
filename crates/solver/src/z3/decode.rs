//! Z3's formulas back into terms: needed for what Spacer finds.
//!
//! In: a formula over integers, booleans and arrays whose variables stand for given terms of ours. Out: a term with the
//! same meaning, or `None` where there is none: an order between references, a real number, a function of Z3's own.
//! Machine integers and enums are integers there; here they are cast or compared value by value. The meaning of the
//! result is the one of `logic`, so whoever uses it may check it again.

use super::context::{Z3Context, text};
use logic::{Op, Quantifier, Sort, SortKind, Term, Terms};
use z3_provider::library::*;

pub(crate) struct Decoder<'a> {
    pub context: &'a Z3Context,
    pub terms: &'a Terms,
    /// What the free variables stand for, by number; bound ones are pushed behind (see `variable`).
    pub variables: &'a [Term],
    bound: Vec<Term>,
}

/// One layer of a Z3 term.
enum Layer {
    Variable(usize),
    Number(i128),
    Apply(DeclKind, Vec<Z3_ast>),
    Quantify(Quantifier, Z3_ast),
}

impl<'a> Decoder<'a> {
    pub(crate) fn new(context: &'a Z3Context, terms: &'a Terms, variables: &'a [Term]) -> Self {
        Self { context, terms, variables, bound: Vec::new() }
    }

    fn layer(&self, ast: Z3_ast) -> Option<Layer> {
        let c = self.context.raw;
        // SAFETY: the term belongs to the context; texts are copied at once.
        unsafe {
            Some(match Z3_get_ast_kind(c, ast) {
                AstKind::Numeral => Layer::Number(text(Z3_get_numeral_string(c, ast)).parse().ok()?),
                AstKind::Var => Layer::Variable(Z3_get_index_value(c, ast) as usize),
                AstKind::App => {
                    let app = Z3_to_app(c, ast)?;
                    let kind = Z3_get_decl_kind(c, Z3_get_app_decl(c, app)?);
                    let args =
                        (0..Z3_get_app_num_args(c, app)).map(|i| Z3_get_app_arg(c, app, i)).collect::<Option<_>>()?;
                    Layer::Apply(kind, args)
                }
                AstKind::Quantifier if Z3_is_quantifier_forall(c, ast) => Layer::Quantify(Quantifier::Forall, ast),
                AstKind::Quantifier if Z3_is_quantifier_exists(c, ast) => Layer::Quantify(Quantifier::Exists, ast),
                _ => return None,
            })
        }
    }

    /// De Bruijn: the innermost bound variable is 0, free ones come after all bound ones.
    fn variable(&self, at: usize) -> Option<Term> {
        match at.checked_sub(self.bound.len()) {
            None => Some(self.bound[self.bound.len() - 1 - at]),
            Some(free) => self.variables.get(free).copied(),
        }
    }

    pub(crate) fn formula(&mut self, ast: Z3_ast) -> Option<Term> {
        let t = self.terms;
        match self.layer(ast)? {
            Layer::Variable(at) => self.variable(at).filter(|v| t.sort_of(*v) == Sort::BOOL),
            Layer::Number(_) => None,
            Layer::Quantify(q, ast) => self.quantifier(q, ast),
            Layer::Apply(kind, args) => match kind {
                DeclKind::True => Some(t.tt()),
                DeclKind::False => Some(t.ff()),
                DeclKind::Not => Some(t.not(self.formula(args[0])?)),
                DeclKind::And => Some(t.and(&self.formulas(&args)?)),
                DeclKind::Or => Some(t.or(&self.formulas(&args)?)),
                DeclKind::Implies => Some(t.implies(self.formula(args[0])?, self.formula(args[1])?)),
                DeclKind::Xor => Some(t.ne(self.formula(args[0])?, self.formula(args[1])?)),
                DeclKind::Ite => Some(t.ite(self.formula(args[0])?, self.formula(args[1])?, self.formula(args[2])?)),
                DeclKind::Eq | DeclKind::Iff => self.equation(args[0], args[1]),
                DeclKind::Distinct => self.distinct(&args),
                DeclKind::Le => self.order(args[0], args[1], Op::Le),
                DeclKind::Lt => self.order(args[0], args[1], Op::Lt),
                DeclKind::Ge => self.order(args[1], args[0], Op::Le),
                DeclKind::Gt => self.order(args[1], args[0], Op::Lt),
                DeclKind::Select => {
                    let read = self.read(&args)?;
                    (t.sort_of(read) == Sort::BOOL).then_some(read)
                }
                _ => None,
            },
        }
    }

    fn formulas(&mut self, args: &[Z3_ast]) -> Option<Vec<Term>> {
        args.iter().map(|a| self.formula(*a)).collect()
    }

    fn quantifier(&mut self, q: Quantifier, ast: Z3_ast) -> Option<Term> {
        let c = self.context.raw;
        let (depth, mut symbols) = (self.bound.len(), Vec::new());
        // SAFETY: the term is a quantifier of the context.
        let body = unsafe {
            for i in 0..Z3_get_quantifier_num_bound(c, ast) {
                let sort = match Z3_get_sort_kind(c, Z3_get_quantifier_bound_sort(c, ast, i)?) {
                    SortKind_::Int => Sort::INT,
                    SortKind_::Bool => Sort::BOOL,
                    _ => return None,
                };
                symbols.push(self.terms.symbol(format!("i{depth}_{i}"), sort));
            }
            Z3_get_quantifier_body(c, ast)?
        };
        self.bound.extend(symbols.iter().map(|s| self.terms.sym(*s)));
        let body = self.formula(body);
        self.bound.truncate(depth);
        Some(self.terms.quant(q, &symbols, body?))
    }

    fn distinct(&mut self, args: &[Z3_ast]) -> Option<Term> {
        let mut parts = Vec::new();
        for (i, a) in args.iter().enumerate() {
            for b in &args[i + 1..] {
                parts.push(self.terms.not(self.equation(*a, *b)?));
            }
        }
        Some(self.terms.and(&parts))
    }

    /// The sort of ours that a Z3 term stands for, where it shows.
    fn sort_of(&self, ast: Z3_ast) -> Option<Sort> {
        match self.layer(ast)? {
            Layer::Variable(at) => Some(self.terms.sort_of(self.variable(at)?)),
            Layer::Number(_) | Layer::Quantify(..) => None,
            Layer::Apply(kind, args) => match kind {
                DeclKind::Select => match self.terms.kind(self.sort_of(args[0])?) {
                    SortKind::Map(_, v) => Some(v),
                    SortKind::Set(_) => Some(Sort::BOOL),
                    _ => None,
                },
                DeclKind::Store => self.sort_of(args[0]),
                DeclKind::Ite => self.sort_of(args[1]).or_else(|| self.sort_of(args[2])),
                DeclKind::Add | DeclKind::Sub | DeclKind::Mul | DeclKind::Uminus | DeclKind::Idiv | DeclKind::Mod => {
                    Some(Sort::INT)
                }
                _ => None,
            },
        }
    }

    fn equation(&mut self, a: Z3_ast, b: Z3_ast) -> Option<Term> {
        let t = self.terms;
        let sorts = [self.sort_of(a), self.sort_of(b)];
        for sort in sorts.into_iter().flatten() {
            // A sum of machine integers is equal to one of them only as integers.
            if sorts.iter().flatten().all(|s| *s == sort)
                && let (Some(x), Some(y)) = (self.at_sort(a, sort), self.at_sort(b, sort))
            {
                return Some(t.eq(x, y));
            }
        }
        if let (Some(x), Some(y)) = (self.formula(a), self.formula(b)) {
            return Some(t.eq(x, y));
        }
        Some(t.eq(self.integer(a)?, self.integer(b)?))
    }

    /// The term as one of the given sort.
    fn at_sort(&mut self, ast: Z3_ast, sort: Sort) -> Option<Term> {
        let t = self.terms;
        if sort == Sort::BOOL {
            return self.formula(ast);
        }
        if sort == Sort::INT {
            return self.integer(ast);
        }
        match self.layer(ast)? {
            Layer::Variable(at) => self.variable(at).filter(|v| t.sort_of(*v) == sort),
            Layer::Number(n) => match t.kind(sort) {
                SortKind::Machine(m) => (m.min()..=m.max()).contains(&n).then(|| t.num(n, sort)),
                SortKind::Enum(e) => {
                    (0..t.enum_size(e) as i128).contains(&n).then(|| t.variant(e, u32::try_from(n).unwrap_or(0)))
                }
                SortKind::Ref(c) => Some(t.reference(c, u32::try_from(n).ok()?)),
                _ => None,
            },
            Layer::Quantify(..) => None,
            Layer::Apply(kind, args) => match (kind, t.kind(sort)) {
                (DeclKind::Ite, _) => {
                    Some(t.ite(self.formula(args[0])?, self.at_sort(args[1], sort)?, self.at_sort(args[2], sort)?))
                }
                (DeclKind::Select, _) => self.read(&args).filter(|r| t.sort_of(*r) == sort),
                (DeclKind::Store, SortKind::Map(k, v)) => {
                    Some(t.store(self.at_sort(args[0], sort)?, self.at_sort(args[1], k)?, self.at_sort(args[2], v)?))
                }
                (DeclKind::ConstArray, SortKind::Map(_, v)) => Some(t.const_map(sort, self.at_sort(args[0], v)?)),
                (DeclKind::Store, SortKind::Set(e)) => {
                    let (set, element) = (self.at_sort(args[0], sort)?, self.at_sort(args[1], e)?);
                    let inside = self.formula(args[2])?;
                    let with = t.mk(Op::Insert, &[element, set]);
                    let single = t.mk(Op::Insert, &[element, t.mk(Op::EmptySet(sort), &[])]);
                    let without = t.mk(Op::Minus, &[set, single]);
                    Some(match (t.is_true(inside), t.is_false(inside)) {
                        (true, _) => with,
                        (_, true) => without,
                        _ => t.ite(inside, with, without),
                    })
                }
                (DeclKind::ConstArray, SortKind::Set(_)) => {
                    let everywhere = self.formula(args[0])?;
                    t.is_false(everywhere).then(|| t.mk(Op::EmptySet(sort), &[]))
                }
                _ => None,
            },
        }
    }

    fn read(&mut self, args: &[Z3_ast]) -> Option<Term> {
        let t = self.terms;
        let sort = self.sort_of(args[0])?;
        match t.kind(sort) {
            SortKind::Map(k, _) => Some(t.select(self.at_sort(args[0], sort)?, self.at_sort(args[1], k)?)),
            SortKind::Set(e) => Some(t.member(self.at_sort(args[1], e)?, self.at_sort(args[0], sort)?)),
            _ => None,
        }
    }

    /// A term of ours as an integer.
    fn as_integer(&self, term: Term) -> Option<Term> {
        let t = self.terms;
        let sort = t.sort_of(term);
        match t.kind(sort) {
            SortKind::Int => Some(term),
            SortKind::Machine(_) => Some(t.cast(term, Sort::INT)),
            SortKind::Enum(e) => {
                let last = t.enum_size(e) as u32 - 1;
                let mut out = t.int(i128::from(last));
                for at in (0..last).rev() {
                    out = t.ite(t.eq(term, t.variant(e, at)), t.int(i128::from(at)), out);
                }
                Some(out)
            }
            _ => None,
        }
    }

    fn integer(&mut self, ast: Z3_ast) -> Option<Term> {
        let t = self.terms;
        match self.layer(ast)? {
            Layer::Variable(at) => self.as_integer(self.variable(at)?),
            Layer::Number(n) => Some(t.int(n)),
            Layer::Quantify(..) => None,
            Layer::Apply(kind, args) => match kind {
                DeclKind::Add => self.fold(&args, Op::Add),
                DeclKind::Mul => self.fold(&args, Op::Mul),
                DeclKind::Sub => self.fold(&args, Op::Sub),
                DeclKind::Uminus => Some(t.mk(Op::Neg, &[self.integer(args[0])?])),
                // A division by a number agrees with ours; by anything else, Z3's is arbitrary at zero.
                DeclKind::Idiv | DeclKind::Mod => {
                    let Layer::Number(n) = self.layer(args[1])? else { return None };
                    let op = if kind == DeclKind::Idiv { Op::Div } else { Op::Mod };
                    (n != 0).then_some(())?;
                    Some(t.mk(op, &[self.integer(args[0])?, t.int(n)]))
                }
                DeclKind::Ite => Some(t.ite(self.formula(args[0])?, self.integer(args[1])?, self.integer(args[2])?)),
                DeclKind::Select => {
                    let read = self.read(&args)?;
                    self.as_integer(read)
                }
                _ => None,
            },
        }
    }

    fn fold(&mut self, args: &[Z3_ast], op: Op) -> Option<Term> {
        let mut out = self.integer(*args.first()?)?;
        for a in &args[1..] {
            out = self.terms.mk(op, &[out, self.integer(*a)?]);
        }
        Some(out)
    }

    /// `a < b` or `a <= b`.
    fn order(&mut self, a: Z3_ast, b: Z3_ast, op: Op) -> Option<Term> {
        let t = self.terms;
        let (la, lb) = (self.layer(a)?, self.layer(b)?);
        let reference = |s: Option<Sort>| s.filter(|s| matches!(t.kind(*s), SortKind::Ref(_)));
        // References are natural numbers there: what is below 1 is null, and what is above 0 is an object.
        if let (Layer::Number(n), Some(sort)) = (&la, reference(self.sort_of(b))) {
            let least = if op == Op::Le { *n } else { n + 1 };
            let term = self.at_sort(b, sort)?;
            let null = t.default_of(sort);
            return match least {
                n if n <= 0 => Some(t.tt()),
                1 => Some(t.ne(term, null)),
                _ => None,
            };
        }
        if let (Layer::Number(n), Some(sort)) = (&lb, reference(self.sort_of(a))) {
            let most = if op == Op::Le { *n } else { n - 1 };
            let term = self.at_sort(a, sort)?;
            let null = t.default_of(sort);
            return match most {
                n if n < 0 => Some(t.ff()),
                0 => Some(t.eq(term, null)),
                _ => None,
            };
        }
        let (x, y) = (self.integer(a)?, self.integer(b)?);
        Some(t.mk(op, &[x, y]))
    }
}

use z3_provider::library::SortKind as SortKind_;
