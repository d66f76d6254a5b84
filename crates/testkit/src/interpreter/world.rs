//! Declarations, states and control of the interpreter.
//!
//! A thread's control is a stack of what is left to do, taken from the tree itself: statements of a block, the end of a scope, a loop,
//! the frame of a call, the end of an atomic block. There are no locations and no actions here.

use super::eval::{Mode, Place, initial};
use super::value::{Object, Ty, Value};
use base::Sources;
use frontend::lang::ast::{
    Block, Clause, ClauseKind, CopiesClause, Expr, ExprKind, ItemKind, MemberKind, Proc, ProcForm, SourceTree, Stmt,
    StmtKind, ThreadDecl, Type, TypeKind, VarDecl,
};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};

/// A local: name, type, value.
pub(crate) type Binding<'a> = (&'a str, Ty, Value);

/// A shared variable or a procedure: the object it belongs to and its name.
pub(super) type Code<'a> = (Option<&'a str>, &'a str);

pub(super) struct Shared<'a> {
    pub var: &'a VarDecl,
    pub ty: Ty,
}

pub(super) struct Class<'a> {
    pub name: &'a str,
    pub fields: &'a [VarDecl],
}

/// A formula of the file with the name of its property.
pub(super) struct Claim<'a> {
    pub formula: &'a Expr,
    pub property: String,
    pub object: Option<&'a str>,
    /// Of one thread alone.
    pub thread: Option<usize>,
}

/// Everything a file declares.
pub(crate) struct Vars<'a> {
    pub sources: &'a Sources,
    pub enums: Vec<Vec<&'a str>>,
    pub classes: Vec<Class<'a>>,
    types: BTreeMap<&'a str, Ty>,
    pub shared: BTreeMap<Code<'a>, Shared<'a>>,
    pub constants: BTreeMap<&'a str, (Value, Ty)>,
    pub procs: BTreeMap<Code<'a>, &'a Proc>,
    pub threads: Vec<&'a ThreadDecl>,
    pub inits: Vec<(&'a Expr, Option<&'a str>)>,
    pub invariants: Vec<Claim<'a>>,
    pub(crate) own_invariants: Vec<Claim<'a>>,
    pub relies: Vec<Claim<'a>>,
    pub frees: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct State<'a> {
    pub shared: BTreeMap<Code<'a>, Value>,
    pub fields: BTreeMap<(Object, &'a str), Value>,
    pub live: BTreeSet<Object>,
    /// Objects of each class that ever were.
    pub made: Vec<usize>,
    pub instances: Vec<Instance<'a>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Instance<'a> {
    pub thread: usize,
    pub tid: i128,
    pub object: Option<&'a str>,
    pub env: Vec<Binding<'a>>,
    /// What is left to do, the next on top. Empty: it has ended.
    pub stack: Vec<Task<'a>>,
}

impl Instance<'_> {
    /// Whether nothing is left but declarations without a value, which are no steps: one that has several values to choose from is
    /// still to be carried out here, and nobody sees it.
    pub(super) fn has_ended(&self) -> bool {
        let declares = |s: &Stmt| matches!(s.kind, StmtKind::Local { value: None, .. });
        self.stack.iter().all(|task| match task {
            Task::Rest(statements) => statements.iter().all(declares),
            Task::Scope(_) | Task::Atomic => true,
            Task::Loop(_) => false,
            Task::Frame(f) => {
                let checks = f.proc.clauses.iter().any(|c| matches!(c.kind, ClauseKind::Ensures(_)));
                matches!(f.dest, Dest::Nowhere) && !checks
            }
        })
    }
}

#[derive(Clone, Debug)]
pub(super) enum Task<'a> {
    Rest(&'a [Stmt]),
    /// The end of a block: locals beyond this number are gone.
    Scope(usize),
    /// The head of a `while`.
    Loop(&'a Stmt),
    Frame(Box<Frame<'a>>),
    /// The end of an atomic block.
    Atomic,
}

/// A call that has not handed over its results.
#[derive(Clone, Debug)]
pub(super) struct Frame<'a> {
    pub proc: &'a Proc,
    pub(crate) dest: Dest<'a>,
    pub env: Vec<Binding<'a>>,
    pub object: Option<&'a str>,
    pub results: Option<Vec<Value>>,
}

/// Where results go.
#[derive(Clone, Debug)]
pub(crate) enum Dest<'a> {
    Nowhere,
    Places(&'a [Expr]),
    Local(&'a str, Ty),
}

fn address<T>(x: &T) -> usize {
    std::ptr::from_ref(x) as usize
}

impl Task<'_> {
    /// What tells tasks apart: places in the tree by their address.
    fn key(&self) -> (u8, usize, usize) {
        match self {
            Task::Rest(stmts) => (0, stmts.as_ptr() as usize, stmts.len()),
            Task::Scope(n) => (1, *n, 0),
            Task::Loop(s) => (2, address(*s), 0),
            Task::Frame(f) => (3, address(f.proc), 0),
            Task::Atomic => (4, 0, 0),
        }
    }
}

impl PartialEq for Task<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
            && match (self, other) {
                (Task::Frame(a), Task::Frame(b)) => {
                    a.env == b.env && a.object == b.object && a.results == b.results && a.dest.key() == b.dest.key()
                }
                _ => true,
            }
    }
}

impl Eq for Task<'_> {}

impl Hash for Task<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
        if let Task::Frame(f) = self {
            f.env.hash(state);
            f.results.hash(state);
        }
    }
}

impl Dest<'_> {
    fn key(&self) -> (usize, usize) {
        match self {
            Dest::Nowhere => (0, 0),
            Dest::Places(p) => (1, p.as_ptr() as usize),
            Dest::Local(n, _) => (2, n.as_ptr() as usize),
        }
    }
}

impl<'a> Vars<'a> {
    /// The declarations of a file; an error where it has something the interpreter does not cover.
    pub(super) fn of(tree: &'a SourceTree, sources: &'a Sources) -> Result<Self, String> {
        let mut vars = Vars {
            sources,
            enums: Vec::new(),
            classes: Vec::new(),
            types: BTreeMap::new(),
            shared: BTreeMap::new(),
            constants: BTreeMap::new(),
            procs: BTreeMap::new(),
            threads: Vec::new(),
            inits: Vec::new(),
            invariants: Vec::new(),
            own_invariants: Vec::new(),
            relies: Vec::new(),
            frees: false,
        };
        for item in &tree.items {
            match &item.kind {
                ItemKind::Enum { name, variants } => {
                    let ty = Ty::Enum(vars.enums.len());
                    vars.types.insert(&name.kind, ty.clone());
                    for (at, v) in variants.iter().enumerate() {
                        vars.constants.insert(&v.kind, (Value::Variant(at), ty.clone()));
                    }
                    vars.enums.push(variants.iter().map(|v| &*v.kind).collect());
                }
                ItemKind::Class { name, fields } => {
                    vars.types.insert(&name.kind, Ty::Class(vars.classes.len()));
                    vars.classes.push(Class { name: &name.kind, fields });
                }
                _ => {}
            }
        }
        for item in &tree.items {
            if let ItemKind::Const { name, ty, value } = &item.kind {
                let ty = vars.ty(ty);
                let Some(value) = value else { return Err("a constant without a value".into()) };
                let value = vars.constant(value, &ty)?;
                vars.constants.insert(&name.kind, (value, ty));
            }
        }
        for item in &tree.items {
            let line = |span| sources.line_of(span);
            let claim = |word: &str, formula: &'a Expr, object, span| Claim {
                formula,
                property: format!("{word}:{}", line(span)),
                object,
                thread: None,
            };
            match &item.kind {
                ItemKind::Var(var) => vars.declare(None, var),
                ItemKind::Init(e) => vars.inits.push((e, None)),
                ItemKind::Invariant(e) => vars.invariants.push(claim("invariant", e, None, item.span)),
                ItemKind::Rely(e) => vars.relies.push(claim("rely", e, None, item.span)),
                ItemKind::Proc(proc) => {
                    vars.procs.insert((None, &proc.name.kind), proc);
                }
                ItemKind::Object(object) => {
                    let of: Option<&'a str> = Some(&object.name.kind);
                    for member in &object.members {
                        match &member.kind {
                            MemberKind::Var(var) => vars.declare(of, var),
                            MemberKind::Init(e) => vars.inits.push((e, of)),
                            MemberKind::Invariant(e) => vars.invariants.push(claim("invariant", e, of, member.span)),
                            MemberKind::Rely(e) => vars.relies.push(claim("rely", e, of, member.span)),
                            MemberKind::Proc(proc) => {
                                vars.procs.insert((of, &proc.name.kind), proc);
                            }
                            MemberKind::Spec(_) => {}
                        }
                    }
                }
                _ => {}
            }
        }
        let threads =
            || tree.items.iter().filter_map(|i| if let ItemKind::Thread(t) = &i.kind { Some(t) } else { None });
        vars.threads.extend(threads());
        for (at, thread) in threads().enumerate() {
            for Clause { kind, span } in &thread.clauses {
                let line = sources.line_of(*span);
                let claim = |word: &str, formula| Claim {
                    formula,
                    property: format!("{word}:{line}"),
                    object: None,
                    thread: Some(at),
                };
                match kind {
                    ClauseKind::Rely(e) => vars.relies.push(claim("rely", e)),
                    ClauseKind::Invariant(e) => vars.own_invariants.push(claim("invariant", e)),
                    _ => {}
                }
            }
        }
        let bodies = threads().map(|t| &t.body).chain(vars.procs.values().map(|p| &p.body));
        vars.frees = bodies.collect::<Vec<_>>().into_iter().any(frees);
        Ok(vars)
    }

    fn declare(&mut self, object: Option<&'a str>, var: &'a VarDecl) {
        let ty = self.ty(&var.ty);
        self.shared.insert((object, &var.name.kind), Shared { var, ty });
    }

    pub(super) fn ty(&self, ty: &Type) -> Ty {
        match &ty.kind {
            TypeKind::Bool => Ty::Bool,
            TypeKind::Int | TypeKind::Lock => Ty::Int,
            TypeKind::Machine(m) => Ty::Machine(*m),
            TypeKind::Named(name) => self.types.get(&**name).cloned().unwrap_or(Ty::Any),
            TypeKind::Map(k, v) => Ty::Map(Box::new(self.ty(k)), Box::new(self.ty(v))),
            TypeKind::Set(t) => Ty::Set(Box::new(self.ty(t))),
            TypeKind::Seq(t) => Ty::Seq(Box::new(self.ty(t))),
            TypeKind::Error => Ty::Any,
        }
    }

    /// The shared variable that a plain name means, in an operation of an object or outside.
    pub(crate) fn shared_named(&self, object: Option<&'a str>, name: &str) -> Option<Code<'a>> {
        let find = |of: Option<&'a str>| self.shared.keys().find(|c| c.0 == of && c.1 == name).copied();
        object.and_then(|_| find(object)).or_else(|| find(None))
    }

    pub(super) fn field(&self, class: usize, name: &str) -> Option<Ty> {
        self.classes[class].fields.iter().find(|f| &*f.name.kind == name).map(|f| self.ty(&f.ty))
    }

    pub(super) fn proc(&self, object: Option<&'a str>, name: &'a str) -> Option<(Code<'a>, &'a Proc)> {
        let own = object.and_then(|o| self.procs.get_key_value(&(Some(o), name)));
        own.or_else(|| self.procs.get_key_value(&(None, name))).map(|(c, p)| (*c, *p))
    }

    fn constant(&self, e: &'a Expr, ty: &Ty) -> Result<Value, String> {
        let nothing = State {
            shared: BTreeMap::new(),
            fields: BTreeMap::new(),
            live: BTreeSet::new(),
            made: Vec::new(),
            instances: Vec::new(),
        };
        let mut place = self.place(&nothing, None, Mode::Formula);
        place.eval_as(e, ty).map_err(|stop| format!("{stop:?}"))
    }

    /// A place outside every thread.
    pub(super) fn place<'s>(&'s self, state: &'s State<'a>, object: Option<&'a str>, mode: Mode) -> Place<'s, 'a> {
        let (env, accesses) = (Vec::new(), BTreeSet::new());
        Place { vars: self, state, after: None, tid: 0, object, env, this: None, mode, accesses }
    }

    /// The values a variable may have where nothing is said: all of a small type, else one that nothing has decided.
    pub(super) fn arbitrary(&self, ty: &Ty) -> Vec<Value> {
        match ty {
            Ty::Bool => vec![Value::Bool(false), Value::Bool(true)],
            Ty::Enum(e) => (0..self.enums[*e].len()).map(Value::Variant).collect(),
            Ty::Map(..) => vec![Value::Map(Box::new(Value::Undecided), BTreeMap::new())],
            _ => vec![Value::Undecided],
        }
    }

    /// What a shared variable of a type starts with, where the type says it.
    fn natural(&self, ty: &Type) -> Option<Value> {
        match &ty.kind {
            TypeKind::Lock => Some(Value::Int(0)),
            TypeKind::Set(_) => Some(Value::Set(BTreeSet::new())),
            TypeKind::Seq(_) => Some(Value::Seq(Vec::new())),
            TypeKind::Map(_, v) => Some(Value::Map(Box::new(self.natural(v)?), BTreeMap::new())),
            _ => None,
        }
    }

    /// A new object's field: a lock is free, the others are arbitrary.
    pub(crate) fn new_field(&self, field: &VarDecl) -> Vec<Value> {
        self.natural(&field.ty)
            .filter(|_| super::eval::is_lock(&field.ty))
            .map_or_else(|| self.arbitrary(&self.ty(&field.ty)), |free| vec![free])
    }

    /// The first states, with the given number of instances of threads of any number.
    pub(super) fn initial(&self, any: usize) -> Result<Vec<State<'a>>, String> {
        let mut first = State {
            shared: BTreeMap::new(),
            fields: BTreeMap::new(),
            live: BTreeSet::new(),
            made: vec![0; self.classes.len()],
            instances: Vec::new(),
        };
        for (thread, t) in self.threads.iter().enumerate() {
            if t.params.is_some() {
                continue;
            }
            let copies = match &t.copies {
                CopiesClause::One => 1,
                CopiesClause::Any => any,
                CopiesClause::Exactly(e) => match self.constant(e, &Ty::Int)? {
                    Value::Int(n) => n as usize,
                    _ => return Err("a number of copies".into()),
                },
            };
            for _ in 0..copies {
                let tid = first.instances.len() as i128 + 1;
                let stack = vec![Task::Rest(&t.body.kind)];
                first.instances.push(Instance { thread, tid, object: None, env: Vec::new(), stack });
            }
        }
        let mut states = vec![first];
        for (code, shared) in &self.shared {
            let values = match (&shared.var.value, self.natural(&shared.var.ty), self.filled(*code)) {
                (Some(e), ..) => match &e.kind {
                    ExprKind::Int(n, _) => vec![initial(*n, &shared.ty)],
                    _ => vec![self.constant(e, &shared.ty)?],
                },
                (None, Some(value), _) => vec![value],
                (None, None, Some(entry)) => vec![Value::Map(Box::new(entry?), BTreeMap::new())],
                (None, None, None) => self.arbitrary(&shared.ty),
            };
            states = states
                .into_iter()
                .flat_map(|s| {
                    values.iter().map(move |v| {
                        let mut s = s.clone();
                        s.shared.insert(*code, v.clone());
                        s
                    })
                })
                .collect();
        }
        let mut out = Vec::new();
        for state in states {
            let mut allowed = true;
            for (formula, object) in &self.inits {
                if self.fill_of(formula).is_none() {
                    allowed &=
                        self.place(&state, *object, Mode::Formula).holds(formula).map_err(|s| format!("{s:?}"))?;
                }
            }
            if allowed {
                out.push(state);
            }
        }
        Ok(out)
    }

    /// `init forall i: K :: m[i] == c;` fills a map, with as many keys as it has.
    fn filled(&self, code: Code<'a>) -> Option<Result<Value, String>> {
        let of = |(formula, object): &(&'a Expr, Option<&'a str>)| {
            let (name, keys, value) = self.fill_of(formula)?;
            let mut entry = &self.shared.get(&code)?.ty;
            for _ in 0..keys {
                let Ty::Map(_, inner) = entry else { return None };
                entry = inner;
            }
            let outer = |v: Value| (1..keys).fold(v, |v, _| Value::Map(Box::new(v), BTreeMap::new()));
            (self.shared_named(*object, name) == Some(code)).then(|| self.constant(value, entry).map(outer))
        };
        self.inits.iter().find_map(of)
    }

    /// The map that a formula fills, by how many keys, and with what.
    fn fill_of(&self, formula: &'a Expr) -> Option<(&'a str, usize, &'a Expr)> {
        let ExprKind::Quantified(frontend::lang::ast::QuantifierWord::Forall, params, body) = &formula.kind else {
            return None;
        };
        let ExprKind::Binary(frontend::lang::ast::Binary::Equal, left, value) = &body.kind else { return None };
        let mut place = &**left;
        for param in params.iter().rev() {
            let ExprKind::Index(map, index) = &place.kind else { return None };
            if !matches!(&index.kind, ExprKind::Name(i, _) if *i == param.name.kind) {
                return None;
            }
            place = map;
        }
        match &place.kind {
            ExprKind::Name(m, _) => Some((m, params.len(), value)),
            _ => None,
        }
    }
}

/// Whether a body frees an object.
fn frees(block: &Block) -> bool {
    block.kind.iter().any(|stmt| match &stmt.kind {
        StmtKind::Free(_) => true,
        StmtKind::Atomic(b) | StmtKind::Block(b) | StmtKind::While { body: b, .. } => frees(b),
        StmtKind::If { arms, otherwise } => arms.iter().map(|a| &a.body).chain(otherwise).any(frees),
        StmtKind::Choose(branches) => branches.iter().any(frees),
        _ => false,
    })
}

/// What a procedure ensures, with the names of the properties.
pub(crate) fn ensures<'a>(vars: &Vars<'_>, proc: &'a Proc) -> Vec<(&'a Expr, String)> {
    let of = |c: &'a Clause| match &c.kind {
        ClauseKind::Ensures(e) if proc.form != ProcForm::Inline => {
            Some((e, format!("ensures:{}:{}", proc.name.kind, vars.sources.line_of(c.span))))
        }
        _ => None,
    };
    proc.clauses.iter().filter_map(of).collect()
}

/// What a procedure requires.
pub(crate) fn requires(proc: &Proc) -> Vec<&Expr> {
    let of = |c| match c {
        &Clause { kind: ClauseKind::Requires(ref e), .. } => Some(e),
        _ => None,
    };
    proc.clauses.iter().filter_map(of).collect()
}
