//! Expressions and places: what they are worth in a store, and which checks of section 6 of `docs/language.md` fail on the way.
//!
//! In code (`Mode::Code`) a value that cannot be computed stops the evaluation with the name of the property that fails; accesses that
//! their predicate forbids are collected. In formulas (`Mode::Formula`) every operation is total and nothing is checked.

use super::value::{Object, Ty, Value, fits, wrap};
use super::world::{Binding, Code, State, Vars};
use frontend::lang::ast::{
    AccessClause, Binary, CallExpr, Expr, ExprKind, Prime, QuantifierWord, Type, TypeKind, Unary,
};
use std::collections::BTreeSet;

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The check of this property fails.
    Fails(String),
    /// Outside what the interpreter covers: a value nothing has decided, or a construct it does not know.
    Beyond(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Code,
    Formula,
}

/// A value, its type, and whether it was written as a number, which takes the type that is wanted.
#[derive(Clone, Debug)]
pub(crate) struct Typed {
    pub value: Value,
    pub ty: Ty,
    pub literal: bool,
}

/// Numbers that a quantifier over integers is tried with; the generator bounds every such quantifier.
const WINDOW: std::ops::RangeInclusive<i128> = -4..=12;

/// Where an expression is evaluated.
pub(super) struct Place<'s, 'a> {
    pub vars: &'s Vars<'a>,
    pub state: &'s State<'a>,
    pub after: Option<&'s State<'a>>,
    pub tid: i128,
    /// The object whose operation this is: its variables are seen by their plain names.
    pub object: Option<&'a str>,
    pub env: Vec<Binding<'a>>,
    /// In the predicate of a field: the object at hand.
    pub this: Option<Object>,
    pub mode: Mode,
    /// Access properties that fail.
    pub accesses: BTreeSet<String>,
}

/// Where a place starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Root<'a> {
    Local(usize),
    Shared(Code<'a>),
    Field(Object, &'a str),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Index {
    Key(Value),
    Element(usize),
}

/// What a step does to a place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Touch {
    Read,
    Write,
}

/// A place that can be written.
#[derive(Clone, Debug)]
pub(super) struct Target<'a> {
    pub root: Root<'a>,
    pub path: Vec<Index>,
    pub ty: Ty,
}

fn typed(value: Value, ty: Ty) -> Typed {
    Typed { value, ty, literal: false }
}

fn truth(value: &Value) -> Result<bool, Stop> {
    match value {
        Value::Bool(b) => Ok(*b),
        _ => Err(beyond("a condition that nothing has decided")),
    }
}

fn beyond(why: &str) -> Stop {
    Stop::Beyond(why.to_owned())
}

impl<'s, 'a> Place<'s, 'a> {
    pub(super) fn holds(&mut self, e: &'a Expr) -> Result<bool, Stop> {
        let value = self.eval(e, &Ty::Bool)?.value;
        truth(&value)
    }

    fn fails<T>(&self, word: &str, e: &Expr) -> Result<T, Stop> {
        Err(Stop::Fails(format!("{word}:{}", self.vars.sources.line_of(e.span))))
    }

    /// A value in a place of a type: numbers are wrapped, `null`, `{}` and `[]` take the type.
    pub(crate) fn eval_as(&mut self, e: &'a Expr, ty: &Ty) -> Result<Value, Stop> {
        Ok(self.eval(e, ty)?.value.stored_as(ty))
    }

    pub(super) fn eval(&mut self, e: &'a Expr, wanted: &Ty) -> Result<Typed, Stop> {
        match &e.kind {
            ExprKind::Bool(b) => Ok(typed(Value::Bool(*b), Ty::Bool)),
            ExprKind::Int(n, _) => Ok(Typed { value: Value::Int(*n), ty: Ty::Int, literal: true }),
            ExprKind::Null => Ok(typed(Value::Object(None), Ty::Any)),
            ExprKind::Tid => Ok(typed(Value::Int(self.tid), Ty::Int)),
            ExprKind::Name(name, prime) => self.name(name, *prime),
            ExprKind::Unary(Unary::Not, x) => Ok(typed(Value::Bool(!self.holds(x)?), Ty::Bool)),
            ExprKind::Unary(Unary::Negate, x) => {
                let x = self.eval(x, wanted)?;
                let n = -self.int(&x)?;
                Ok(self.number(n, x.ty.clone(), x.literal))
            }
            ExprKind::And(parts) => self.chain(parts, true),
            ExprKind::Or(parts) => self.chain(parts, false),
            ExprKind::Binary(op, a, b) => self.binary(e, *op, a, b, wanted),
            ExprKind::If(parts) => {
                let [c, a, b] = &**parts;
                if self.holds(c)? { self.eval(a, wanted) } else { self.eval(b, wanted) }
            }
            ExprKind::Quantified(q, params, body) => self.quantified(*q, params, 0, body),
            ExprKind::Index(..) | ExprKind::Field(..) => self.selected(e),
            ExprKind::Update(parts) => {
                let [m, k, v] = &**parts;
                let m = self.eval(m, wanted)?;
                let Ty::Map(key, entry) = m.ty.clone() else { return Err(beyond("an update of a sequence")) };
                let (k, v) = (self.key(k, &key)?, self.eval_as(v, &entry)?);
                Ok(typed(m.value.with_entry(k, v), m.ty))
            }
            ExprKind::Slice(q, from, to) => self.slice(e, q, from.as_deref(), to.as_deref()),
            ExprKind::Set(items) => {
                let inner = if let Ty::Set(t) = wanted { (**t).clone() } else { Ty::Any };
                let items = items.iter().map(|i| self.eval_as(i, &inner)).collect::<Result<BTreeSet<_>, _>>()?;
                Ok(typed(Value::Set(items), Ty::Set(Box::new(inner))))
            }
            ExprKind::Seq(items) => {
                let inner = if let Ty::Seq(t) = wanted { (**t).clone() } else { Ty::Any };
                let items = items.iter().map(|i| self.eval_as(i, &inner)).collect::<Result<Vec<_>, _>>()?;
                Ok(typed(Value::Seq(items), Ty::Seq(Box::new(inner))))
            }
            ExprKind::Call(call) => self.len(call),
            ExprKind::Convert(ty, x) => {
                let x = self.eval(x, &Ty::Any)?;
                let ty = self.vars.ty(ty);
                Ok(typed(x.value.stored_as(&ty), ty))
            }
            ExprKind::Unknown | ExprKind::Foreign(_) | ExprKind::Error => Err(beyond("no expression")),
        }
    }

    /// A value that an entry is found by.
    fn key(&mut self, e: &'a Expr, ty: &Ty) -> Result<Value, Stop> {
        let key = self.eval_as(e, ty)?;
        if key.is_decided() { Ok(key) } else { Err(beyond("a key that nothing has decided")) }
    }

    fn len(&mut self, call: &'a CallExpr) -> Result<Typed, Stop> {
        let [q] = &call.args[..] else { return Err(beyond("a call in an expression")) };
        match self.eval(q, &Ty::Any)?.value {
            Value::Seq(items) if &*call.name.kind == "len" => Ok(typed(Value::Int(items.len() as i128), Ty::Int)),
            _ => Err(beyond("the length of nothing")),
        }
    }

    fn int(&self, x: &Typed) -> Result<i128, Stop> {
        x.value.number().ok_or_else(|| beyond("a number that nothing has decided"))
    }

    fn number(&self, n: i128, ty: Ty, literal: bool) -> Typed {
        Typed { value: Value::Int(n).stored_as(&ty), ty, literal }
    }

    /// `&&` and `||`: what stands to the right is evaluated only where it counts.
    fn chain(&mut self, parts: &'a [Expr], until: bool) -> Result<Typed, Stop> {
        for part in parts {
            if self.holds(part)? != until {
                return Ok(typed(Value::Bool(!until), Ty::Bool));
            }
        }
        Ok(typed(Value::Bool(until), Ty::Bool))
    }

    fn binary(&mut self, e: &'a Expr, op: Binary, a: &'a Expr, b: &'a Expr, wanted: &Ty) -> Result<Typed, Stop> {
        match op {
            Binary::Implies => {
                let value = !self.holds(a)? || self.holds(b)?;
                return Ok(typed(Value::Bool(value), Ty::Bool));
            }
            Binary::Iff => {
                let value = self.holds(a)? == self.holds(b)?;
                return Ok(typed(Value::Bool(value), Ty::Bool));
            }
            _ => {}
        }
        let wanted =
            if matches!(op, Binary::Add | Binary::Subtract | Binary::Multiply | Binary::Divide | Binary::Modulo) {
                wanted.clone()
            } else {
                Ty::Any
            };
        let mut x = self.eval(a, &wanted)?;
        let y = self.eval(b, if x.ty == Ty::Any { &wanted } else { &x.ty })?;
        if op == Binary::In && x.value.is_decided() && y.value.is_decided() {
            let Value::Set(items) = &y.value else { return Err(beyond("a set that nothing has decided")) };
            let x = if let Ty::Set(t) = &y.ty { x.value.stored_as(t) } else { x.value };
            return Ok(typed(Value::Bool(items.contains(&x)), Ty::Bool));
        }
        if !x.value.is_decided() || !y.value.is_decided() {
            return Err(beyond("a value that nothing has decided"));
        }
        if let (Value::Int(m), Value::Int(n)) = (&x.value, &y.value) {
            let (m, n) = (*m, *n);
            let ty = common(&x, &y);
            let ordered = |b: bool| Ok(typed(Value::Bool(b), Ty::Bool));
            return match op {
                Binary::Equal => ordered(m == n),
                Binary::NotEqual => ordered(m != n),
                Binary::Less => ordered(m < n),
                Binary::LessEqual => ordered(m <= n),
                Binary::Greater => ordered(m > n),
                Binary::GreaterEqual => ordered(m >= n),
                _ => self.arithmetic(e, op, m, n, ty, x.literal && y.literal),
            };
        }
        if let (Value::Set(m), Value::Set(n)) = (&x.value, &y.value) {
            let ty = if x.ty == Ty::Set(Box::new(Ty::Any)) { y.ty.clone() } else { x.ty.clone() };
            let ordered = |b: bool| Ok(typed(Value::Bool(b), Ty::Bool));
            match op {
                Binary::Add => return Ok(typed(Value::Set(m | n), ty)),
                Binary::Subtract => return Ok(typed(Value::Set(m - n), ty)),
                Binary::LessEqual => return ordered(m.is_subset(n)),
                Binary::GreaterEqual => return ordered(n.is_subset(m)),
                Binary::Less => return ordered(m.is_subset(n) && m != n),
                Binary::Greater => return ordered(n.is_subset(m) && m != n),
                _ => {}
            }
        }
        if let (Value::Seq(m), Value::Seq(n), Binary::Add) = (&mut x.value, &y.value, op) {
            m.extend(n.iter().cloned());
            return Ok(x);
        }
        match op {
            Binary::Equal => Ok(typed(Value::Bool(x.value == y.value), Ty::Bool)),
            Binary::NotEqual => Ok(typed(Value::Bool(x.value != y.value), Ty::Bool)),
            _ => Err(beyond("an operator for these values")),
        }
    }

    /// Euclidean division; by zero it fails in code, and gives 0 (the dividend for `%`) in formulas.
    fn arithmetic(&mut self, e: &'a Expr, op: Binary, m: i128, n: i128, ty: Ty, literal: bool) -> Result<Typed, Stop> {
        let large = || beyond("numbers too large");
        let n = match op {
            Binary::Add => m.checked_add(n).ok_or_else(large)?,
            Binary::Subtract => m.checked_sub(n).ok_or_else(large)?,
            // Modulo 2^128 the low bits are right, and a machine type has no more than 64.
            Binary::Multiply if matches!(ty, Ty::Machine(_)) => m.wrapping_mul(n),
            Binary::Multiply => m.checked_mul(n).ok_or_else(large)?,
            Binary::Divide | Binary::Modulo if n == 0 => {
                if self.mode == Mode::Code {
                    return self.fails("division", e);
                }
                if op == Binary::Divide { 0 } else { m }
            }
            Binary::Divide => m.div_euclid(n),
            _ => m.rem_euclid(n),
        };
        Ok(self.number(n, ty, literal))
    }

    fn quantified(
        &mut self,
        q: QuantifierWord,
        params: &'a [frontend::lang::ast::Param],
        at: usize,
        body: &'a Expr,
    ) -> Result<Typed, Stop> {
        let Some(param) = params.get(at) else { return self.eval(body, &Ty::Bool) };
        let ty = self.vars.ty(&param.ty);
        let values: Vec<Value> = match &ty {
            Ty::Bool => vec![Value::Bool(false), Value::Bool(true)],
            Ty::Int => WINDOW.map(Value::Int).collect(),
            Ty::Enum(e) => (0..self.vars.enums[*e].len()).map(Value::Variant).collect(),
            // Null and the objects that are live; in a two-store formula, before or after the step.
            Ty::Class(c) => {
                let both = self.state.live.iter().chain(self.after.iter().flat_map(|s| &s.live));
                let live: BTreeSet<Object> = both.filter(|o| o.0 == *c).copied().collect();
                std::iter::once(None).chain(live.into_iter().map(Some)).map(Value::Object).collect()
            }
            _ => return Err(beyond("a quantifier over this type")),
        };
        for value in values {
            self.env.push((&param.name.kind, ty.clone(), value));
            let inner = self.quantified(q, params, at + 1, body);
            self.env.pop();
            let inner = truth(&inner?.value)?;
            if inner == (q == QuantifierWord::Exists) {
                return Ok(typed(Value::Bool(inner), Ty::Bool));
            }
        }
        Ok(typed(Value::Bool(q == QuantifierWord::Forall), Ty::Bool))
    }

    fn slice(&mut self, e: &'a Expr, q: &'a Expr, from: Option<&'a Expr>, to: Option<&'a Expr>) -> Result<Typed, Stop> {
        let q = self.eval(q, &Ty::Any)?;
        let Value::Seq(items) = &q.value else { return Err(beyond("a slice of nothing")) };
        let len = items.len() as i128;
        let mut end = |at: Option<&'a Expr>, other: i128| match at {
            Some(at) => {
                let at = self.eval(at, &Ty::Int)?;
                self.int(&at)
            }
            None => Ok(other),
        };
        let (i, j) = (end(from, 0)?, end(to, len)?);
        if 0 <= i && i <= j && j <= len {
            return Ok(typed(Value::Seq(items[i as usize..j as usize].to_vec()), q.ty));
        }
        if self.mode == Mode::Code {
            return self.fails("bounds", e);
        }
        Err(beyond("a slice outside the sequence in a formula"))
    }

    /// A name: a local, a bound variable, a field of the object at hand, a variable of the object, a shared variable, a
    /// constant, a value of an enum.
    fn name(&mut self, name: &'a str, prime: Prime) -> Result<Typed, Stop> {
        if prime == Prime::Before
            && let Some((_, ty, value)) = self.env.iter().rev().find(|(n, ..)| *n == name)
        {
            return Ok(typed(value.clone(), ty.clone()));
        }
        if let Some(this) = self.this
            && let Some(ty) = self.vars.field(this.0, name)
        {
            let state = self.store(prime)?;
            let value = state.fields.get(&(this, name)).cloned().unwrap_or(Value::Undecided);
            return Ok(typed(value, ty));
        }
        if let Some(code) = self.vars.shared_named(self.object, name) {
            return self.shared(code, prime);
        }
        if let Some((value, ty)) = self.vars.constants.get(name) {
            return Ok(typed(value.clone(), ty.clone()));
        }
        Err(beyond("an unknown name"))
    }

    fn store(&self, prime: Prime) -> Result<&'s State<'a>, Stop> {
        match prime {
            Prime::Before => Ok(self.state),
            Prime::After => self.after.ok_or_else(|| beyond("a primed name where there is no step")),
        }
    }

    fn shared(&mut self, code: Code<'a>, prime: Prime) -> Result<Typed, Stop> {
        let ty = self.vars.shared[&code].ty.clone();
        let value = self.store(prime)?.shared.get(&code).cloned().unwrap_or(Value::Undecided);
        self.access(&Root::Shared(code), &[], Touch::Read)?;
        Ok(typed(value, ty))
    }

    /// `a[i]`, `o.f`, and names of an object's variables.
    fn selected(&mut self, e: &'a Expr) -> Result<Typed, Stop> {
        match &e.kind {
            ExprKind::Field(base, field, prime) => {
                if let Some(code) = self.member(base, &field.kind) {
                    return self.shared(code, *prime);
                }
                let object = self.dereferenced(base)?;
                let Some(ty) = self.vars.field(object.0, &field.kind) else { return Err(beyond("no field")) };
                let key: &'a str = &field.kind;
                let value = self.store(*prime)?.fields.get(&(object, key)).cloned().unwrap_or(Value::Undecided);
                self.access(&Root::Field(object, key), &[], Touch::Read)?;
                Ok(typed(value, ty))
            }
            ExprKind::Index(base, index) => {
                // A map of the store is read at the entry alone: its predicate is asked for that entry.
                let mut keys: Vec<&'a Expr> = vec![index];
                let mut inner: &'a Expr = base;
                while let ExprKind::Index(b, i) = &inner.kind {
                    keys.push(i);
                    inner = b;
                }
                keys.reverse();
                let before = std::mem::take(&mut self.accesses);
                let mut value = self.eval(inner, &Ty::Any)?;
                let whole = std::mem::replace(&mut self.accesses, before);
                let root = self.root_of(inner);
                let mut path = Vec::new();
                for key in keys {
                    match (value.ty.clone(), value.value) {
                        (Ty::Map(k, v), map) => {
                            let key = self.key(key, &k)?;
                            value = typed(map.entry(&key), *v);
                            path.push(key);
                        }
                        (Ty::Seq(item), Value::Seq(items)) => {
                            let at = self.eval(key, &Ty::Int)?;
                            let at = self.int(&at)?;
                            match usize::try_from(at).ok().and_then(|i| items.get(i)) {
                                Some(found) => value = typed(found.clone(), *item),
                                None if self.mode == Mode::Code => return self.fails("bounds", e),
                                None => return Err(beyond("an index outside the sequence in a formula")),
                            }
                        }
                        _ => return Err(beyond("an index of nothing")),
                    }
                }
                match root {
                    Some(root) => self.access(&root, &path, Touch::Read)?,
                    None => self.accesses.extend(whole),
                }
                Ok(value)
            }
            _ => Err(beyond("no selection")),
        }
    }

    /// The shared variable that an expression names, if it is one alone.
    fn root_of(&mut self, e: &'a Expr) -> Option<Root<'a>> {
        match &e.kind {
            ExprKind::Name(name, _) if !self.env.iter().any(|(n, ..)| *n == &**name) => match self.this {
                Some(this) if self.vars.field(this.0, name).is_some() => Some(Root::Field(this, name)),
                _ => self.vars.shared_named(self.object, name).map(Root::Shared),
            },
            ExprKind::Field(base, field, _) => self.member(base, &field.kind).map(Root::Shared),
            _ => None,
        }
    }

    /// `Stack.Top`: a variable of an object of the file.
    fn member(&self, base: &'a Expr, field: &str) -> Option<Code<'a>> {
        let ExprKind::Name(object, _) = &base.kind else { return None };
        if self.env.iter().any(|(n, ..)| *n == &**object) || self.vars.shared_named(self.object, object).is_some() {
            return None;
        }
        self.vars.shared.keys().find(|c| c.0 == Some(&**object) && c.1 == field).copied()
    }

    /// The object a dereference goes to.
    fn dereferenced(&mut self, e: &'a Expr) -> Result<Object, Stop> {
        let value = self.eval(e, &Ty::Any)?.value;
        match value {
            Value::Object(Some(o))
                if self.mode == Mode::Formula || !self.vars.frees || self.state.live.contains(&o) =>
            {
                Ok(o)
            }
            Value::Object(Some(_)) => self.fails("freed", e),
            Value::Object(None) if self.mode == Mode::Code => self.fails("null", e),
            _ => Err(beyond("a reference that nothing has decided")),
        }
    }

    /// Notes an access to a shared variable or a field that its predicate forbids.
    fn access(&mut self, root: &Root<'a>, keys: &[Value], touch: Touch) -> Result<(), Stop> {
        if self.mode == Mode::Formula {
            return Ok(());
        }
        let (name, var, this) = match root {
            Root::Local(_) => return Ok(()),
            Root::Shared(code) => (code.1.to_owned(), self.vars.shared[code].var, None),
            Root::Field(object, field) => {
                let class = &self.vars.classes[object.0];
                let Some(var) = class.fields.iter().find(|f| &*f.name.kind == *field) else { return Ok(()) };
                (format!("{}.{field}", class.name), var, Some(*object))
            }
        };
        let lock = is_lock(&var.ty);
        if var.access.is_empty() && !lock {
            return Ok(());
        }
        let mut place = Place {
            vars: self.vars,
            state: self.state,
            after: None,
            tid: self.tid,
            object: match root {
                Root::Shared(code) => code.0,
                _ => None,
            },
            env: Vec::new(),
            this,
            mode: Mode::Formula,
            accesses: BTreeSet::new(),
        };
        let mut allowed = true;
        let mine = |n: Option<i128>, tid: i128| n.map(|n| n == 0 || n == tid);
        if var.access.is_empty() {
            let whole = match root {
                Root::Shared(code) => self.state.shared.get(code).cloned(),
                Root::Field(object, field) => self.state.fields.get(&(*object, *field)).cloned(),
                Root::Local(_) => None,
            };
            let entry = keys.iter().fold(whole.unwrap_or(Value::Undecided), |v, k| v.entry(k));
            match mine(entry.number(), self.tid) {
                Some(free) => allowed = free,
                None => return Err(beyond("an access to a whole map of locks")),
            }
        }
        for access in &var.access {
            match access {
                AccessClause::GuardedBy(lock) => {
                    let n = place.eval(lock, &Ty::Int)?.value.number();
                    allowed &= mine(n, self.tid).ok_or_else(|| beyond("a lock that nothing has decided"))?;
                }
                AccessClause::ThreadLocal => return Err(beyond("an object of one thread")),
                // What is for writing alone does not keep a thread from reading.
                AccessClause::Writable { .. } if touch == Touch::Read => {}
                AccessClause::If { binders, condition }
                | AccessClause::Readable { binders, condition }
                | AccessClause::Writable { binders, condition } => {
                    if binders.len() > keys.len() {
                        return Err(beyond("an access to a whole map with a predicate"));
                    }
                    let mut ty = &var.ty;
                    for (binder, key) in binders.iter().zip(keys) {
                        if let TypeKind::Map(k, v) = &ty.kind {
                            place.env.push((&binder.kind, self.vars.ty(k), key.clone()));
                            ty = v;
                        }
                    }
                    allowed &= place.holds(condition)?;
                    place.env.clear();
                }
            }
        }
        if !allowed {
            self.accesses.insert(format!("access:{name}"));
        }
        Ok(())
    }

    /// A place to be written; what is read on the way is checked, and so is the write itself if `written`.
    pub(super) fn target(&mut self, e: &'a Expr) -> Result<Target<'a>, Stop> {
        match &e.kind {
            ExprKind::Name(name, _) => {
                if let Some(at) = self.env.iter().rposition(|(n, ..)| *n == &**name) {
                    return Ok(Target { root: Root::Local(at), path: Vec::new(), ty: self.env[at].1.clone() });
                }
                let Some(code) = self.vars.shared_named(self.object, name) else { return Err(beyond("no place")) };
                let ty = self.vars.shared[&code].ty.clone();
                Ok(Target { root: Root::Shared(code), path: Vec::new(), ty })
            }
            ExprKind::Field(base, field, _) => {
                if let Some(code) = self.member(base, &field.kind) {
                    let ty = self.vars.shared[&code].ty.clone();
                    return Ok(Target { root: Root::Shared(code), path: Vec::new(), ty });
                }
                let object = self.dereferenced(base)?;
                let Some(ty) = self.vars.field(object.0, &field.kind) else { return Err(beyond("no field")) };
                Ok(Target { root: Root::Field(object, &field.kind), path: Vec::new(), ty })
            }
            ExprKind::Index(base, index) => {
                let mut target = self.target(base)?;
                match target.ty.clone() {
                    Ty::Map(k, v) => {
                        target.path.push(Index::Key(self.key(index, &k)?));
                        target.ty = *v;
                    }
                    Ty::Seq(item) => {
                        let at = self.eval(index, &Ty::Int)?;
                        let at = self.int(&at)?;
                        let Value::Seq(items) = self.read(&target) else { return Err(beyond("no sequence")) };
                        match usize::try_from(at).ok().filter(|i| *i < items.len()) {
                            Some(i) => target.path.push(Index::Element(i)),
                            None => return self.fails("bounds", e),
                        }
                        target.ty = *item;
                    }
                    _ => return Err(beyond("an index of nothing")),
                }
                Ok(target)
            }
            _ => Err(beyond("no place")),
        }
    }

    pub(super) fn read(&self, target: &Target<'a>) -> Value {
        let whole = match &target.root {
            Root::Local(at) => self.env[*at].2.clone(),
            Root::Shared(code) => self.state.shared.get(code).cloned().unwrap_or(Value::Undecided),
            Root::Field(o, f) => self.state.fields.get(&(*o, *f)).cloned().unwrap_or(Value::Undecided),
        };
        target.path.iter().fold(whole, |value, index| match (index, value) {
            (Index::Key(k), value) => value.entry(k),
            (Index::Element(i), Value::Seq(items)) => items.get(*i).cloned().unwrap_or(Value::Undecided),
            _ => Value::Undecided,
        })
    }

    /// Notes that a place is written (or read and written).
    pub(super) fn writes(&mut self, target: &Target<'a>) -> Result<(), Stop> {
        let keys: Vec<Value> =
            target.path.iter().map_while(|i| if let Index::Key(k) = i { Some(k.clone()) } else { None }).collect();
        self.access(&target.root, &keys, Touch::Write)
    }
}

/// The type in which two numbers are computed: one type where they agree or one is a literal that fits, else `int`.
fn common(x: &Typed, y: &Typed) -> Ty {
    match (&x.ty, &y.ty) {
        (Ty::Machine(m), Ty::Machine(n)) if m == n => Ty::Machine(*m),
        (Ty::Machine(m), _) if y.literal && y.value.number().is_some_and(|n| fits(n, *m)) => Ty::Machine(*m),
        (_, Ty::Machine(m)) if x.literal && x.value.number().is_some_and(|n| fits(n, *m)) => Ty::Machine(*m),
        _ => Ty::Int,
    }
}

pub(super) fn is_lock(ty: &Type) -> bool {
    match &ty.kind {
        TypeKind::Lock => true,
        TypeKind::Map(_, v) => is_lock(v),
        _ => false,
    }
}

/// The value with the part at a path replaced.
pub(crate) fn replaced(whole: Value, path: &[Index], value: Value) -> Value {
    match (path.split_first(), whole) {
        (None, _) => value,
        (Some((Index::Key(k), rest)), whole) => {
            let inner = replaced(whole.entry(k), rest, value);
            whole.with_entry(k.clone(), inner)
        }
        (Some((Index::Element(i), rest)), Value::Seq(mut items)) => {
            if let Some(item) = items.get_mut(*i) {
                *item = replaced(std::mem::replace(item, Value::Undecided), rest, value);
            }
            Value::Seq(items)
        }
        (Some(_), whole) => whole,
    }
}

/// A literal in a machine type, for initial values.
pub(super) fn initial(n: i128, ty: &Ty) -> Value {
    match ty {
        Ty::Machine(m) => Value::Int(wrap(n, *m)),
        _ => Value::Int(n),
    }
}
