//! Expressions to terms.
//!
//! In: an expression, and the sort that is wanted where one is. Out: its term, the checks that its evaluation needs,
//! and the accesses it makes; nothing after an error.

use super::operators::Collection;
use super::{CheckKind, Typing, Under};
use crate::lang::ast::{BitOperator, Expr, ExprKind, Foreign, Param, Prime, QuantifierWord, TypeKind, Unary};
use crate::lang::codes;
use crate::lang::resolve::{Allowed, Named, nearest};
use base::{Diagnostic, Span};
use logic::{Op, Sort, SortKind, Symbol, Term};
use program::{TouchMode, VarId};

/// A term, and the variable it is an entry of, with the keys so far, if the access is not noted yet.
pub(super) type Tracked = (Term, Option<(VarId, Vec<Term>)>);

impl Typing<'_> {
    /// An expression as a term of a sort.
    pub(crate) fn expr(&mut self, expr: &Expr, sort: Sort) -> Option<Term> {
        let term = self.infer(expr, Some(sort))?;
        self.coerce(term, sort, expr.span)
    }

    /// A formula.
    pub(crate) fn formula(&mut self, expr: &Expr) -> Option<Term> {
        self.expr(expr, Sort::BOOL)
    }

    /// An expression as a term of its own sort; the wanted sort helps where the text leaves it open.
    pub(crate) fn infer(&mut self, expr: &Expr, wanted: Option<Sort>) -> Option<Term> {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Bool(value) => Some(self.program.terms.bool(*value)),
            ExprKind::Int(value, _) => Some(self.number(*value, wanted)),
            ExprKind::Null => match wanted.map(|s| self.program.terms.kind(s)) {
                Some(SortKind::Ref(class)) => Some(self.program.terms.null(class)),
                Some(_) => {
                    let sort = self.sort_name(wanted?);
                    let message = format!("expected a value of type {sort}, found `null`");
                    self.report(
                        Diagnostic::error(codes::TYPE_MISMATCH, span, message).label(format!("expected {sort}")),
                    );
                    None
                }
                None => self.unknown_type(span, "null"),
            },
            ExprKind::Tid => {
                if self.view.tid == Allowed::No {
                    let diagnostic = Diagnostic::error(codes::TID_HERE, span, "there is no thread at hand here")
                        .label("`tid` has no meaning")
                        .hint("`tid` can be used in threads, procedures, relies, machines and access predicates");
                    self.report(diagnostic);
                    return None;
                }
                Some(self.program.terms.sym(self.program.tid))
            }
            ExprKind::Unknown => {
                let diagnostic = Diagnostic::error(codes::QUESTION_HERE, span, "`?` is not an expression")
                    .label("expected an expression")
                    .hint("`?` stands for a whole invariant, rely, access predicate or machine assertion to be found");
                self.report(diagnostic);
                None
            }
            ExprKind::Name(..) | ExprKind::Index(..) | ExprKind::Field(..) => {
                let (term, root) = self.tracked(expr)?;
                self.note_root(root, span);
                Some(term)
            }
            ExprKind::Unary(Unary::Not, operand) => {
                let operand = self.formula(operand)?;
                Some(self.program.terms.not(operand))
            }
            ExprKind::Unary(Unary::Negate, operand) => self.negate(operand, wanted),
            ExprKind::Binary(op, left, right) => self.binary(*op, left, right, wanted, span),
            ExprKind::And(parts) => self.junction(parts, Op::And),
            ExprKind::Or(parts) => self.junction(parts, Op::Or),
            ExprKind::If(parts) => self.conditional(parts, wanted),
            ExprKind::Quantified(quantifier, binders, body) => self.quantified(*quantifier, binders, body),
            ExprKind::Update(parts) => self.map_update(parts, wanted),
            ExprKind::Slice(base, from, to) => self.slice(base, from.as_deref(), to.as_deref(), wanted, span),
            ExprKind::Set(items) => self.collection(items, wanted, span, Collection::Set),
            ExprKind::Seq(items) => self.collection(items, wanted, span, Collection::Seq),
            ExprKind::Call(call) => {
                if call.object.is_none() && &*call.name.kind == "len" && !self.globals.procs.contains("len") {
                    return self.length(&call.args, span);
                }
                if let Some(word) = self.specification_word(call) {
                    return self.specification_call(word, call, wanted, span);
                }
                let name = &call.name.kind;
                let message = format!("the call of `{name}` cannot stand inside an expression");
                let diagnostic = Diagnostic::error(codes::WRONG_THING, span, message)
                    .label("a call is a statement")
                    .hint(format!("write `r := {name}(..);` and use `r`"));
                self.report(diagnostic);
                None
            }
            ExprKind::Convert(ty, inner) => {
                let sort = match &ty.kind {
                    TypeKind::Machine(m) => Sort::machine(super::machine(*m)),
                    _ => Sort::INT,
                };
                let term = self.infer(inner, None)?;
                if !self.program.terms.sort_of(term).is_integer() {
                    let found = self.sort_name(self.program.terms.sort_of(term));
                    let message = format!("only integers are converted, this is a {found}");
                    self.report(
                        Diagnostic::error(codes::WRONG_OPERAND, inner.span, message).label("expected an integer"),
                    );
                    return None;
                }
                Some(self.cast(term, sort))
            }
            ExprKind::Foreign(foreign) => self.foreign(foreign, wanted, span),
            ExprKind::Error => None,
        }
    }

    /// What only front ends of other languages make.
    fn foreign(&mut self, foreign: &Foreign, wanted: Option<Sort>, span: Span) -> Option<Term> {
        let term = match foreign {
            Foreign::Bits(op, left, right) => {
                let left_term = self.infer(left, wanted)?;
                let sort = self.program.terms.sort_of(left_term);
                let right_term = self.expr(right, sort)?;
                let op = match op {
                    BitOperator::And => Op::BitAnd,
                    BitOperator::Or => Op::BitOr,
                    BitOperator::Xor => Op::BitXor,
                    BitOperator::ShiftLeft => Op::Shl,
                    BitOperator::ShiftRight => Op::Shr,
                };
                (sort.as_machine().is_some()).then(|| self.program.terms.mk(op, &[left_term, right_term]))
            }
            Foreign::Complement(inner) => {
                let inner = self.infer(inner, wanted)?;
                let machine = self.program.terms.sort_of(inner).as_machine().is_some();
                machine.then(|| self.program.terms.mk(Op::BitNot, &[inner]))
            }
            Foreign::Everywhere(inner) => {
                let sort = wanted?;
                let SortKind::Map(_, value) = self.program.terms.kind(sort) else { return None };
                let inner = self.expr(inner, value)?;
                Some(self.program.terms.const_map(sort, inner))
            }
            Foreign::Present(inner) => return self.infer(inner, wanted),
            Foreign::Peek(inner) => {
                let before = self.noted.len();
                let term = self.infer(inner, wanted);
                let mut at = 0;
                self.noted.retain(|c| {
                    at += 1;
                    at <= before || !matches!(c.kind, CheckKind::Access(_))
                });
                return term;
            }
        };
        if term.is_none() {
            let message = "an operation on bits needs machine integers";
            self.report(Diagnostic::error(codes::WRONG_OPERAND, span, message).label("expected a machine integer"));
        }
        term
    }

    /// A literal: of the wanted machine type where it fits, otherwise an `int`.
    pub(super) fn number(&self, value: i128, wanted: Option<Sort>) -> Term {
        let fitting = wanted.filter(|s| s.as_machine().is_some_and(|m| (m.min()..=m.max()).contains(&value)));
        self.program.terms.num(value, fitting.unwrap_or(Sort::INT))
    }

    pub(super) fn unknown_type(&mut self, span: Span, what: &str) -> Option<Term> {
        let message = format!("the type of `{what}` cannot be known here");
        let diagnostic = Diagnostic::error(codes::TYPE_UNKNOWN, span, message)
            .label("of what type?")
            .hint("compare or assign it where the other side has a type");
        self.report(diagnostic);
        None
    }

    /// Notes the access to a variable at some keys.
    pub(super) fn note_root(&mut self, root: Option<(VarId, Vec<Term>)>, span: Span) {
        if let Some((var, keys)) = root {
            self.note_access(var, &keys, TouchMode::Read, span);
        }
    }

    /// Notes that an entry of a variable is read or written here.
    pub(crate) fn note_access(&mut self, var: VarId, keys: &[Term], mode: TouchMode, span: Span) {
        if self.view.checks == Allowed::No {
            return;
        }
        let Some(access) = self.program.vars[var].access.clone() else { return };
        let Some(formula) = access.of(mode) else { return };
        let terms = &self.program.terms;
        // Fewer keys than indices: the access touches every entry below.
        let mut open = Vec::new();
        let mut pairs = Vec::new();
        for (at, binder) in access.binders.iter().enumerate() {
            match keys.get(at) {
                Some(key) => pairs.push((*binder, *key)),
                None => {
                    let fresh = terms.symbol(terms.symbol_name(*binder), terms.symbol_sort(*binder));
                    open.push(fresh);
                    pairs.push((*binder, terms.sym(fresh)));
                }
            }
        }
        let formula = terms.forall(&open, terms.substitute(formula, pairs));
        self.note(CheckKind::Access(var), span, formula);
    }

    /// Names, fields and entries of maps, whose access is noted when the whole chain is known.
    pub(super) fn tracked(&mut self, expr: &Expr) -> Option<Tracked> {
        match &expr.kind {
            ExprKind::Name(name, prime) => self.name(name, *prime, expr.span),
            ExprKind::Field(base, field, prime) => {
                if let ExprKind::Name(object, Prime::Before) = &base.kind
                    && self.view.bound(object).is_none()
                    && self.view.local(object).is_none()
                    && let Some(found) = self.qualified(object, field, *prime)
                {
                    return found;
                }
                let object = self.infer(base, None)?;
                let var = self.field_var(object, field, base.span)?;
                self.note_alive(object, base);
                let map = self.now_or_next(var, *prime, expr.span)?;
                Some((self.program.terms.select(map, object), Some((var, vec![object]))))
            }
            ExprKind::Index(base, key) => {
                let (map, root) = match &base.kind {
                    ExprKind::Name(..) | ExprKind::Index(..) | ExprKind::Field(..) => self.tracked(base)?,
                    _ => (self.infer(base, None)?, None),
                };
                match self.program.terms.kind(self.program.terms.sort_of(map)) {
                    SortKind::Map(key_sort, _) => {
                        let key = self.expr(key, key_sort)?;
                        let root = root.map(|(var, mut keys)| {
                            keys.push(key);
                            (var, keys)
                        });
                        Some((self.program.terms.select(map, key), root))
                    }
                    SortKind::Seq(_) => {
                        self.note_root(root, base.span);
                        let index = self.expr(key, Sort::INT)?;
                        let terms = &self.program.terms;
                        let length = terms.mk(Op::Len, &[map]);
                        let inside = terms.and(&[terms.le(terms.int(0), index), terms.lt(index, length)]);
                        let element = terms.mk(Op::At, &[map, index]);
                        self.note(CheckKind::Bounds, expr.span, inside);
                        Some((element, None))
                    }
                    _ => {
                        let sort = self.sort_name(self.program.terms.sort_of(map));
                        let message = format!("a value of type {sort} has no entries");
                        let label = "expected a map or a sequence";
                        self.report(Diagnostic::error(codes::NOT_INDEXABLE, base.span, message).label(label));
                        None
                    }
                }
            }
            _ => {
                let term = self.infer(expr, None)?;
                Some((term, None))
            }
        }
    }

    /// `Enum.Variant` or `Object.variable`.
    fn qualified(&mut self, first: &str, second: &crate::lang::ast::Name, prime: Prime) -> Option<Option<Tracked>> {
        use crate::lang::resolve::TypeName;
        if self.globals.values.contains(first) {
            return None;
        }
        if let Some(TypeName::Enum(id)) = self.globals.types.get(first) {
            let variants = self.program.terms.enum_decl(id).variants;
            let at = variants.iter().position(|v| **v == *second.kind);
            if at.is_none() {
                let near = nearest(&second.kind, variants.iter().map(String::as_str)).map(str::to_owned);
                self.unknown(second.span, &format!("`{first}` has no value `{}`", second.kind), near);
            }
            return Some(at.map(|at| (self.program.terms.variant(id, at as u32), None)));
        }
        let object = self.globals.objects.get(first)?;
        match self.globals.members[object].values.get(&second.kind) {
            Some(Named::Var(var)) => {
                let term = self.now_or_next(var, prime, second.span);
                Some(term.map(|t| (t, Some((var, Vec::new())))))
            }
            _ => {
                let near = nearest(&second.kind, self.globals.members[object].values.names()).map(str::to_owned);
                self.unknown(second.span, &format!("`{first}` has no variable `{}`", second.kind), near);
                Some(None)
            }
        }
    }

    pub(crate) fn unknown(&mut self, span: Span, message: &str, near: Option<String>) {
        // A name whose declaration is in error has had its message.
        if self.broken.contains(self.sources.text(span).trim_end_matches('\'')) {
            return;
        }
        let mut diagnostic = Diagnostic::error(codes::UNKNOWN_NAME, span, message).label("not declared");
        if let Some(near) = near {
            diagnostic = diagnostic.hint(format!("did you mean `{near}`?"));
        }
        self.report(diagnostic);
    }

    pub(super) fn now_or_next(&mut self, var: VarId, prime: Prime, span: Span) -> Option<Term> {
        if self.view.at_entry == Allowed::Yes {
            return self.at_entry(var, prime, span);
        }
        if prime == Prime::Before {
            return Some(self.program.now(var));
        }
        if self.view.primes == Allowed::No {
            let diagnostic =
                Diagnostic::error(codes::PRIME_HERE, span, "there is no step here that could have an after")
                    .label("a primed name")
                    .hint("`x'` can be used in `rely`, `step`, `performs` and the edges of machines");
            self.report(diagnostic);
            return None;
        }
        if self.program.vars[var].scope != program::Scope::Shared && !self.view.framed.contains(&var) {
            let diagnostic =
                Diagnostic::error(codes::PRIME_HERE, span, "this local variable is not changed by the step")
                    .label("a primed local")
                    .hint("leave out the `'`, or name the variable in the frame");
            self.report(diagnostic);
            return None;
        }
        Some(self.program.next(var))
    }

    fn name(&mut self, name: &str, prime: Prime, span: Span) -> Option<Tracked> {
        if let Some(symbol) = self.view.bound(name) {
            return self.unprimed(name, prime, span).map(|()| (self.program.terms.sym(symbol), None));
        }
        if let Some((class, object)) = self.view.this
            && let Some(var) = self.globals.fields.get(&class).and_then(|f| f.get(name))
        {
            let map = self.now_or_next(var, prime, span)?;
            return Some((self.program.terms.select(map, object), Some((var, vec![object]))));
        }
        match self.named(name) {
            Some(Named::Value(term)) => self.unprimed(name, prime, span).map(|()| (term, None)),
            Some(Named::Var(var)) => Some((self.now_or_next(var, prime, span)?, Some((var, Vec::new())))),
            None => {
                let near = nearest(name, self.visible_names().iter().map(String::as_str)).map(str::to_owned);
                let other = [
                    (self.globals.procs.contains(name), "a procedure"),
                    (self.globals.types.contains(name), "a type"),
                    (self.globals.threads.contains(name), "a thread"),
                    (self.globals.machines.contains(name), "a machine"),
                    (self.globals.objects.contains(name), "an object"),
                ];
                if let Some((_, what)) = other.into_iter().find(|(is, _)| *is) {
                    let message = format!("`{name}` is {what}, not a value");
                    self.report(Diagnostic::error(codes::WRONG_THING, span, message).label("expected a value"));
                } else {
                    self.unknown(span, &format!("there is no variable `{name}` here"), near);
                }
                None
            }
        }
    }

    fn unprimed(&mut self, name: &str, prime: Prime, span: Span) -> Option<()> {
        if prime == Prime::Before {
            return Some(());
        }
        let diagnostic = Diagnostic::error(codes::PRIME_HERE, span, format!("`{name}` never changes"))
            .label("a primed constant")
            .hint(format!("write `{name}`"));
        self.report(diagnostic);
        None
    }

    /// What a name stands for: a local, a member of the object at hand, a global.
    pub(crate) fn named(&self, name: &str) -> Option<Named> {
        if let Some(var) = self.view.local(name) {
            return Some(Named::Var(var));
        }
        let member = self.view.object.and_then(|o| self.globals.members[o].values.get(name));
        member.or_else(|| self.globals.values.get(name))
    }

    pub(crate) fn visible_names(&self) -> Vec<String> {
        let locals = self.view.locals.iter().rev().map(|(n, _)| n.clone());
        let bound = self.view.bound.iter().rev().map(|(n, _)| n.clone());
        let mut names: Vec<String> = bound.chain(locals).collect();
        if let Some(object) = self.view.object {
            names.extend(self.globals.members[object].values.names().into_iter().map(str::to_owned));
        }
        names.extend(self.globals.values.names().into_iter().map(str::to_owned));
        names
    }

    /// The shared map that holds a field.
    pub(super) fn field_var(&mut self, object: Term, field: &crate::lang::ast::Name, span: Span) -> Option<VarId> {
        let sort = self.program.terms.sort_of(object);
        let SortKind::Ref(class) = self.program.terms.kind(sort) else {
            let found = self.sort_name(sort);
            let message = format!("a value of type {found} has no fields");
            self.report(Diagnostic::error(codes::UNKNOWN_FIELD, span, message).label("expected an object"));
            return None;
        };
        let table = self.globals.fields.get(&class);
        if let Some(var) = table.and_then(|t| t.get(&field.kind)) {
            return Some(var);
        }
        if self.broken.contains(&*field.kind) {
            return None;
        }
        let class_name = self.program.terms.class_name(class);
        let near = table.and_then(|t| nearest(&field.kind, t.names()).map(str::to_owned));
        let message = format!("class `{class_name}` has no field `{}`", field.kind);
        let mut diagnostic = Diagnostic::error(codes::UNKNOWN_FIELD, field.span, message).label("no such field");
        if let Some(near) = near {
            diagnostic = diagnostic.hint(format!("did you mean `{near}`?"));
        }
        self.report(diagnostic);
        None
    }

    /// Notes that an object is dereferenced.
    pub(crate) fn note_alive(&mut self, object: Term, base: &Expr) {
        if matches!(&base.kind, ExprKind::Foreign(f) if matches!(**f, Foreign::Present(_))) {
            return;
        }
        let span = base.span;
        let terms = &self.program.terms;
        let SortKind::Ref(class) = terms.kind(terms.sort_of(object)) else { return };
        let not_null = terms.ne(object, terms.null(class));
        self.note(CheckKind::Null, span, not_null);
        if self.frees {
            let live = self.program.now(self.program.classes[class].live);
            let alive = self.program.terms.member(object, live);
            self.note(CheckKind::Freed, span, alive);
        }
    }

    /// `a && b` or `a || b`: what is right of an operand is evaluated only if it decided nothing.
    fn junction(&mut self, parts: &[Expr], op: Op) -> Option<Term> {
        let depth = self.under.len();
        let mut terms = Vec::with_capacity(parts.len());
        let mut failed = false;
        for part in parts {
            match self.formula(part) {
                Some(term) => {
                    terms.push(term);
                    if self.view.checks == Allowed::Yes {
                        let known = if op == Op::And { term } else { self.program.terms.not(term) };
                        self.under.push(Under::Condition(known));
                    }
                }
                None => failed = true,
            }
        }
        self.under.truncate(depth);
        if failed { None } else { Some(self.program.terms.mk(op, &terms)) }
    }

    fn conditional(&mut self, parts: &[Expr; 3], wanted: Option<Sort>) -> Option<Term> {
        let condition = self.formula(&parts[0]);
        let depth = self.under.len();
        let (yes, no) = if let Some(c) = condition {
            // The branch whose type is plain decides for the other.
            let first_open = super::operators::is_open(&parts[1]);
            let branch = |lowering: &mut Self, part: &Expr, known: Term, sort: Option<Sort>| {
                lowering.under.push(Under::Condition(known));
                let term = lowering.infer(part, sort);
                lowering.under.truncate(depth);
                term
            };
            let not_c = self.program.terms.not(c);
            if first_open {
                let no = branch(self, &parts[2], not_c, wanted);
                let sort = wanted.or(no.map(|t| self.program.terms.sort_of(t)));
                (branch(self, &parts[1], c, sort), no)
            } else {
                let yes = branch(self, &parts[1], c, wanted);
                let sort = wanted.or(yes.map(|t| self.program.terms.sort_of(t)));
                (yes, branch(self, &parts[2], not_c, sort))
            }
        } else {
            (self.infer(&parts[1], wanted), self.infer(&parts[2], wanted))
        };
        let (yes, no) = self.alike(yes?, no?, parts[2].span)?;
        Some(self.program.terms.ite(condition?, yes, no))
    }

    fn quantified(&mut self, quantifier: QuantifierWord, binders: &[Param], body: &Expr) -> Option<Term> {
        let depth = self.view.bound.len();
        let mut symbols = Vec::new();
        for binder in binders {
            let sort = self.sort(&binder.ty);
            let symbol = self.program.terms.symbol(&*binder.name.kind, sort.unwrap_or(Sort::INT));
            symbols.push(symbol);
            self.view.bound.push((binder.name.kind.to_string(), symbol));
        }
        let mut parts: Vec<Term> = symbols.iter().filter_map(|s| self.exists_now(*s)).collect();
        self.under.push(Under::Bound(symbols.clone()));
        self.under.extend(parts.iter().map(|p| Under::Condition(*p)));
        let body = self.formula(body);
        self.under.truncate(self.under.len() - parts.len() - 1);
        self.view.bound.truncate(depth);
        let body = body?;
        let terms = &self.program.terms;
        Some(match quantifier {
            QuantifierWord::Forall if parts.is_empty() => terms.forall(&symbols, body),
            QuantifierWord::Forall => terms.forall(&symbols, terms.implies(terms.and(&parts), body)),
            QuantifierWord::Exists => {
                parts.push(body);
                terms.exists(&symbols, terms.and(&parts))
            }
        })
    }

    /// A bound reference is null or an object that is there, in a formula of two stores in either of them: a solver
    /// knows endlessly many numbers that were never given to an object.
    fn exists_now(&self, bound: Symbol) -> Option<Term> {
        let terms = &self.program.terms;
        let SortKind::Ref(class) = terms.kind(terms.symbol_sort(bound)) else { return None };
        let (live, it) = (self.program.classes[class].live, terms.sym(bound));
        let mut cases = vec![terms.eq(it, terms.null(class)), terms.member(it, self.program.now(live))];
        if self.view.primes == Allowed::Yes {
            cases.push(terms.member(it, self.program.next(live)));
        }
        Some(terms.or(&cases))
    }
}
