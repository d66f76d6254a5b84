//! Random trees over the whole grammar, for the round-trip tests. Spans are dummies; names are meaningless.

use crate::lang::ast::*;
use base::ids::Id;
use base::{Random, SourceId, Span};

fn no_span() -> Span {
    Span::new(SourceId::from_index(0), 0, 0)
}
fn node<T>(kind: T) -> Spanned<T> {
    Spanned::new(kind, no_span())
}

const NAMES: &[&str] =
    &["x", "y", "count", "n_1", "Top", "state", "free", "start", "step", "join", "set", "lock", "init"];

pub(super) struct Generator {
    pub random: Random,
}

impl Generator {
    pub(super) fn tree(&mut self) -> SourceTree {
        let count = self.random.below(8);
        SourceTree { items: (0..count).map(|_| node(self.item())).collect() }
    }

    fn name(&mut self) -> Name {
        node(self.random.one_of(NAMES).into())
    }
    fn many<T>(&mut self, from: usize, most: usize, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let count = from + self.random.below(most - from + 1);
        (0..count).map(|_| make(self)).collect()
    }
    fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.random.chance(50) { Some(make(self)) } else { None }
    }

    fn item(&mut self) -> ItemKind {
        match self.random.below(11) {
            0 => ItemKind::Const { name: self.name(), ty: self.ty(2), value: self.maybe(|g| g.expr(2)) },
            1 => ItemKind::Enum { name: self.name(), variants: self.many(0, 12, Self::name) },
            2 => ItemKind::Class { name: self.name(), fields: self.many(0, 3, |g| VarDecl { value: None, ..g.var() }) },
            3 => ItemKind::Var(self.var()),
            4 => ItemKind::Init(self.expr(4)),
            5 => ItemKind::Invariant(self.expr(4)),
            6 => ItemKind::Rely(self.expr(4)),
            7 => ItemKind::Thread(self.thread()),
            8 => {
                let form = self.random.one_of(&[ProcForm::Plain, ProcForm::Inline]);
                ItemKind::Proc(self.proc(form))
            }
            9 => ItemKind::Machine(MachineDecl {
                idling: self.random.one_of(&[Idling::Free, Idling::Strict]),
                name: self.name(),
                parts: self.many(0, 4, |g| node(g.machine_part())),
            }),
            _ => ItemKind::Object(ObjectDecl { name: self.name(), members: self.members() }),
        }
    }

    fn var(&mut self) -> VarDecl {
        VarDecl {
            name: self.name(),
            ty: self.ty(3),
            value: self.maybe(|g| g.expr(2)),
            access: if self.random.chance(33) { vec![self.access()] } else { Vec::new() },
            privacy: Privacy::Seen,
            span: SourceSpan(no_span()),
        }
    }
    fn access(&mut self) -> AccessClause {
        let binders = self.many(0, 2, Self::name);
        match self.random.below(6) {
            0 | 1 => AccessClause::GuardedBy(self.place()),
            2 => AccessClause::Readable { binders, condition: self.expr(3) },
            3 => AccessClause::Writable { binders, condition: self.expr(3) },
            4 => AccessClause::ThreadLocal,
            _ => AccessClause::If { binders, condition: self.expr(3) },
        }
    }
    fn param(&mut self) -> Param {
        Param { name: self.name(), ty: self.ty(2) }
    }
    fn thread(&mut self) -> ThreadDecl {
        ThreadDecl {
            name: self.name(),
            copies: match self.random.below(3) {
                0 => CopiesClause::One,
                1 => CopiesClause::Any,
                _ => CopiesClause::Exactly(self.expr(1)),
            },
            params: self.maybe(|g| g.many(0, 2, Self::param)),
            follows: self.maybe(Self::name),
            clauses: self.many(0, 2, Self::clause),
            body: self.block(3),
        }
    }
    fn proc(&mut self, form: ProcForm) -> Proc {
        Proc {
            form,
            name: self.name(),
            params: self.many(0, 3, Self::param),
            results: self.many(0, 2, Self::param),
            clauses: self.many(0, 3, Self::clause),
            body: self.block(3),
            span: SourceSpan(no_span()),
        }
    }
    fn clause(&mut self) -> Clause {
        node(match self.random.below(6) {
            5 => ClauseKind::Modifies(self.many(1, 3, Self::place)),
            0 => ClauseKind::Requires(self.expr(3)),
            1 => ClauseKind::Ensures(self.expr(3)),
            2 => ClauseKind::Rely(self.expr(3)),
            3 => ClauseKind::Invariant(self.expr(3)),
            _ => ClauseKind::Performs(self.performs(3)),
        })
    }
    fn performs(&mut self, depth: usize) -> Performs {
        node(match self.random.below(if depth == 0 { 1 } else { 4 }) {
            0 => PerformsKind::Action(Box::new(self.action())),
            1 => PerformsKind::Then(self.many(2, 3, |g| g.performs(depth - 1))),
            2 => PerformsKind::Or(self.many(2, 3, |g| g.performs(depth - 1))),
            _ => PerformsKind::Repeat(Box::new(self.performs(depth - 1))),
        })
    }
    fn action(&mut self) -> ActionDecl {
        ActionDecl {
            label: self.maybe(Self::name),
            makes: if self.random.chance(20) { Some(self.name()) } else { None },
            frame: self.many(0, 3, Self::place),
            formula: self.expr(3),
            asserting: if self.random.chance(25) { Some(self.expr(2)) } else { None },
            span: SourceSpan(no_span()),
        }
    }
    fn machine_part(&mut self) -> MachinePartKind {
        if self.random.chance(20) {
            return if self.random.chance(50) {
                MachinePartKind::Var(self.var())
            } else {
                MachinePartKind::Rely(self.expr(2))
            };
        }
        if self.random.chance(50) {
            MachinePartKind::State {
                role: self.random.one_of(&[StateRole::Start, StateRole::Inner]),
                name: self.name(),
                asserts: self.maybe(|g| g.expr(2)),
            }
        } else {
            MachinePartKind::Edge { from: self.name(), to: self.name(), action: self.maybe(Self::action) }
        }
    }
    fn members(&mut self) -> Vec<Member> {
        let spec = self.maybe(|g| {
            let inner = g.many(0, 3, |g| {
                node(match g.random.below(3) {
                    0 => MemberKind::Var(g.var()),
                    1 => MemberKind::Init(g.expr(2)),
                    _ => {
                        let mut proc = g.proc(ProcForm::Abstract);
                        // `init(` in a spec would start a formula.
                        proc.name = node("push".into());
                        MemberKind::Proc(proc)
                    }
                })
            });
            node(MemberKind::Spec(inner))
        });
        let rest = self.many(0, 4, |g| {
            node(match g.random.below(6) {
                0 => MemberKind::Var(g.var()),
                1 => MemberKind::Init(g.expr(2)),
                2 => MemberKind::Invariant(g.expr(2)),
                3 => MemberKind::Rely(g.expr(2)),
                4 => MemberKind::Proc(g.proc(ProcForm::Inline)),
                _ => MemberKind::Proc(g.proc(ProcForm::Operation)),
            })
        });
        spec.into_iter().chain(rest).collect()
    }

    fn block(&mut self, depth: usize) -> Block {
        node(self.many(0, 4, |g| node(g.stmt(depth))))
    }
    fn value(&mut self) -> AssignedValue {
        match self.random.below(6) {
            0 => AssignedValue::New(self.name()),
            1 => AssignedValue::Cas(Box::new(Cas { place: self.place(), old: self.expr(1), new: self.expr(1) })),
            2 => AssignedValue::Spawn(CallExpr { object: None, ..self.call(1) }),
            _ => AssignedValue::Exprs(self.many(1, 3, |g| g.expr(3))),
        }
    }
    fn condition(&mut self) -> Condition {
        if self.random.chance(25) { Condition::Any(SourceSpan(no_span())) } else { Condition::Expr(self.expr(3)) }
    }
    fn stmt(&mut self, depth: usize) -> StmtKind {
        match self.random.below(if depth == 0 { 17 } else { 22 }) {
            0 => StmtKind::Local { name: self.name(), ty: self.ty(2), value: self.maybe(Self::value) },
            1 => StmtKind::Assign { targets: self.many(1, 2, Self::place), value: self.value() },
            2 => StmtKind::Havoc(self.many(1, 2, Self::place)),
            3 => StmtKind::Assume(self.expr(3)),
            4 => StmtKind::Assert(self.expr(3)),
            5 => StmtKind::Acquire(self.place()),
            6 => StmtKind::Release(self.place()),
            7 => StmtKind::Free(node(ExprKind::Name("x".into(), Prime::Before))),
            8 => StmtKind::Step(ActionDecl { label: None, ..self.action() }),
            9 => StmtKind::Call(self.call(2)),
            10 => StmtKind::Spawn(CallExpr { object: None, ..self.call(1) }),
            11 => StmtKind::Join(node(ExprKind::Name("t".into(), Prime::Before))),
            12 => StmtKind::Witness(self.name()),
            13 => StmtKind::Linearize(self.maybe(|g| g.expr(2))),
            14 => StmtKind::Skip,
            15 => StmtKind::Return(self.many(0, 2, |g| g.expr(2))),
            16 => self.random.one_of(&[StmtKind::Break, StmtKind::Continue]),
            17 => StmtKind::Atomic(self.block(depth - 1)),
            18 => StmtKind::If {
                arms: self.many(1, 3, |g| Arm { condition: g.condition(), body: g.block(depth - 1) }),
                otherwise: self.maybe(|g| g.block(depth - 1)),
            },
            19 => StmtKind::While {
                condition: self.condition(),
                invariants: self.many(0, 2, |g| g.expr(2)),
                body: self.block(depth - 1),
            },
            20 => StmtKind::Choose(self.many(2, 3, |g| g.block(depth - 1))),
            _ => StmtKind::Block(self.block(depth - 1)),
        }
    }
    fn call(&mut self, depth: usize) -> CallExpr {
        CallExpr {
            object: self.maybe(|_| node("Stack".into())),
            name: self.name(),
            args: self.many(0, 2, |g| g.expr(depth)),
            span: SourceSpan(no_span()),
        }
    }

    fn ty(&mut self, depth: usize) -> Type {
        node(match self.random.below(if depth == 0 { 5 } else { 8 }) {
            0 => TypeKind::Bool,
            1 => TypeKind::Int,
            2 => TypeKind::Machine(MachineInt {
                bits: self.random.one_of(&[8, 16, 32, 64]),
                sign: self.random.one_of(&[Sign::Signed, Sign::Unsigned]),
            }),
            3 => TypeKind::Lock,
            4 => TypeKind::Named("Node".into()),
            5 => TypeKind::Map(Box::new(self.ty(depth - 1)), Box::new(self.ty(depth - 1))),
            6 => TypeKind::Set(Box::new(self.ty(depth - 1))),
            _ => TypeKind::Seq(Box::new(self.ty(depth - 1))),
        })
    }
    fn place(&mut self) -> Expr {
        let mut place = node(ExprKind::Name(self.name().kind, Prime::Before));
        for _ in 0..self.random.below(3) {
            place = node(if self.random.chance(50) {
                ExprKind::Index(Box::new(place), Box::new(self.expr(1)))
            } else {
                ExprKind::Field(Box::new(place), self.name(), Prime::Before)
            });
        }
        place
    }
    pub(super) fn expr(&mut self, depth: usize) -> Expr {
        let prime = self.random.one_of(&[Prime::Before, Prime::After]);
        let sub = |g: &mut Self| Box::new(g.expr(depth.saturating_sub(1)));
        node(match self.random.below(if depth == 0 { 6 } else { 22 }) {
            0 => ExprKind::Bool(self.random.chance(50)),
            1 => ExprKind::Int(self.random.word() as i128, self.random.one_of(&[Radix::Decimal, Radix::Hexadecimal])),
            2 => self.random.one_of(&[ExprKind::Null, ExprKind::Tid, ExprKind::Unknown]),
            3..6 => ExprKind::Name(self.name().kind, prime),
            6 => ExprKind::Unary(self.random.one_of(&[Unary::Not, Unary::Negate]), sub(self)),
            7..12 => {
                use Binary::*;
                let ops = [
                    Implies,
                    Iff,
                    Equal,
                    NotEqual,
                    Less,
                    LessEqual,
                    Greater,
                    GreaterEqual,
                    In,
                    Add,
                    Subtract,
                    Multiply,
                    Divide,
                    Modulo,
                ];
                let op = self.random.one_of(&ops);
                ExprKind::Binary(op, sub(self), sub(self))
            }
            12 => ExprKind::And(self.many(2, 4, |g| g.expr(depth - 1))),
            13 => ExprKind::Or(self.many(2, 4, |g| g.expr(depth - 1))),
            14 => ExprKind::If(Box::new([*sub(self), *sub(self), *sub(self)])),
            15 => {
                let quantifier = self.random.one_of(&[QuantifierWord::Forall, QuantifierWord::Exists]);
                ExprKind::Quantified(quantifier, self.many(1, 2, Self::param), sub(self))
            }
            16 => ExprKind::Index(sub(self), sub(self)),
            17 => ExprKind::Update(Box::new([*sub(self), *sub(self), *sub(self)])),
            18 => {
                let (from, to) = (self.maybe(sub), self.maybe(sub));
                ExprKind::Slice(sub(self), from, to)
            }
            19 => ExprKind::Field(sub(self), self.name(), prime),
            20 => self.random.one_of(&[ExprKind::Set, ExprKind::Seq])(self.many(0, 3, |g| g.expr(depth - 1))),
            _ => {
                if self.random.chance(50) {
                    ExprKind::Call(Box::new(self.call(depth - 1)))
                } else {
                    ExprKind::Convert(node(TypeKind::Int), sub(self))
                }
            }
        })
    }
}
