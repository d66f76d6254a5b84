//! One function: statements, scopes, lifetimes, jumps.
//!
//! In: a function's tree. Out: its instructions. An object lives from the entry of its block to the exit, whichever way control enters or leaves
//! (C11 6.2.4p6): every jump ends the objects of the scopes it leaves and begins those of the scopes it enters. A scalar whose address is not
//! taken is a register; where code takes its address after all, the function is lowered again with it in memory.

use super::*;
use crate::c::ast::{CStmtKind, Expr, LabelId, Stmt};
use base::{IdVec, Span};
use core_lang::{
    CallArgument, CoreValue, Destination, Instruction, Local, LocalId, Operand, Parameter, Position, Register, Returned,
};

/// The function must be lowered again with this variable in memory.
pub(super) struct NeedsMemory(pub VarId);

pub(super) type Lowered<T> = Result<T, NeedsMemory>;

/// Where a variable is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Home {
    Register(Register),
    Local(LocalId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label(usize);

#[derive(Default)]
struct BlockScope {
    parent: Option<usize>,
    /// Objects that live as long as the scope.
    objects: Vec<LocalId>,
}

#[derive(Clone, Copy)]
struct JumpTarget {
    position: Option<Position>,
    scope: usize,
}

/// A jump whose target is filled in at the end.
struct Jump {
    instruction: usize,
    slot: JumpSlot,
    label: Label,
    from: usize,
}

#[derive(Clone, Copy)]
enum JumpSlot {
    Jump,
    Then,
    Otherwise,
    Case(usize),
    Default,
}

pub(super) struct Body<'l, 'u> {
    pub(crate) lowering: &'l mut CoreLowering<'u>,
    pub made: core::Function,
    pub(crate) homes: FxHashMap<VarId, Home>,
    in_memory: &'l FxHashSet<VarId>,
    scopes: Vec<BlockScope>,
    scope: usize,
    labels: Vec<JumpTarget>,
    jumps: Vec<Jump>,
    named: FxHashMap<LabelId, Label>,
    breaks: Vec<Label>,
    continues: Vec<Label>,
    /// The cases of the innermost switch.
    switches: Vec<SwitchUnderWay>,
    pub(crate) initialising: bool,
}

#[derive(Default)]
struct SwitchUnderWay {
    cases: Vec<(i128, i128, Label)>,
    default: Option<Label>,
}

impl<'l, 'u> Body<'l, 'u> {
    fn new(lowering: &'l mut CoreLowering<'u>, made: core::Function, in_memory: &'l FxHashSet<VarId>) -> Self {
        Self {
            lowering,
            made,
            homes: FxHashMap::default(),
            in_memory,
            scopes: vec![BlockScope::default()],
            scope: 0,
            labels: Vec::new(),
            jumps: Vec::new(),
            named: FxHashMap::default(),
            breaks: Vec::new(),
            continues: Vec::new(),
            switches: Vec::new(),
            initialising: false,
        }
    }

    pub(super) fn function(
        lowering: &'l mut CoreLowering<'u>,
        function: &CFunction,
        in_memory: &'l FxHashSet<VarId>,
    ) -> Lowered<core::Function> {
        let unit = lowering.unit;
        let result = result_kind(&unit.types, function.result);
        let mut body = Body::new(lowering, empty_function(&function.name, result, function), in_memory);
        for parameter in &function.params {
            let variable = &unit.variables[*parameter];
            let made = match (body.new_home(*parameter), scalar_of(&unit.types, variable.ty)) {
                (Home::Register(register), Some(scalar)) => Parameter::Register(register, scalar),
                (Home::Local(local), Some(scalar)) => Parameter::Local(local, scalar),
                (Home::Local(local), None) => Parameter::Aggregate(local, unit.types.size(variable.ty).unwrap_or(0)),
                (Home::Register(_), None) => unreachable!("only scalars are in registers"),
            };
            body.made.parameters.push(made);
        }
        let statements = function.body.as_deref().unwrap_or_default();
        body.block(statements, function.span)?;
        let end = match (function.name.as_str(), result) {
            // Reaching the end of `main` returns 0 (C11 5.1.2.2.3).
            ("main", ResultKind::Scalar(_)) => Returned::Scalar(Operand::Constant(CoreValue::Int(0))),
            _ => Returned::Nothing,
        };
        body.emit(Instruction::Return(end), function.span);
        body.resolve_jumps(function.span);
        Ok(body.made)
    }

    /// A function that stores initial values.
    pub(super) fn initialiser(lowering: &'l mut CoreLowering<'u>, inits: &[(VarId, Init)]) -> core::Function {
        let unit = lowering.unit;
        let span = unit.variables[inits[0].0].span;
        let none = FxHashSet::default();
        let made = core::Function {
            name: "(initial values)".into(),
            parameters: Vec::new(),
            variadic: core::Variadic::Fixed,
            result: ResultKind::Nothing,
            registers: 0,
            locals: IdVec::new(),
            code: Vec::new(),
            spans: Vec::new(),
            span,
        };
        let mut body = Body::new(lowering, made, &none);
        body.initialising = true;
        for (variable, init) in inits {
            let at = unit.variables[*variable].span;
            // Static initialisers name no variable that could be in a register.
            if body.initialise(*variable, init, at).is_err() {
                body.unsupported("an initialiser of this form", at);
            }
        }
        body.emit(Instruction::Return(Returned::Nothing), span);
        body.resolve_jumps(span);
        body.made
    }

    pub(super) fn types(&self) -> &'u CTypes {
        &self.lowering.unit.types
    }

    pub(super) fn emit(&mut self, instruction: Instruction, span: Span) -> usize {
        self.made.code.push(instruction);
        self.made.spans.push(span);
        self.made.code.len() - 1
    }

    pub(super) fn register(&mut self) -> Register {
        self.made.registers += 1;
        Register(self.made.registers - 1)
    }

    pub(super) fn unsupported(&mut self, reason: impl Into<String>, span: Span) -> Operand {
        self.emit(Instruction::Unsupported { reason: reason.into() }, span);
        Operand::Constant(CoreValue::Undefined)
    }

    /// A home for a parameter or local.
    fn new_home(&mut self, variable: VarId) -> Home {
        let unit = self.lowering.unit;
        let declared = &unit.variables[variable];
        let plain = !declared.ty.quals.atomic && !declared.ty.quals.volatile && !declared.address_taken;
        let scalar = scalar_of(&unit.types, declared.ty).is_some();
        let home = if plain && scalar && declared.length.is_none() && !self.in_memory.contains(&variable) {
            Home::Register(self.register())
        } else {
            let size = unit.types.size(declared.ty).unwrap_or(0);
            Home::Local(self.local(&declared.name, size, unit.types.align(declared.ty)))
        };
        self.homes.insert(variable, home);
        home
    }

    pub(super) fn local(&mut self, name: &str, size: u64, align: u64) -> LocalId {
        self.made.locals.push(Local { name: name.to_string(), size, align: align.max(1) })
    }

    /// An object for a value that has no name; it lives until it is made again or the function returns.
    pub(super) fn temporary(&mut self, size: u64, align: u64, span: Span) -> Operand {
        let local = self.local("(temporary)", size, align);
        self.emit(Instruction::Begin { local, size: None }, span);
        let to = self.register();
        self.emit(Instruction::LocalAddress { to, local }, span);
        to.into()
    }

    /// The home of a variable that code names; a literal's object gets its home here.
    pub(super) fn home(&mut self, variable: VarId) -> Option<Home> {
        self.homes.get(&variable).copied()
    }

    pub(super) fn literal_home(&mut self, variable: VarId) -> LocalId {
        let declared = &self.lowering.unit.variables[variable];
        let (size, align) = (self.types().size(declared.ty).unwrap_or(0), self.types().align(declared.ty));
        let local = self.local(&declared.name, size, align);
        self.homes.insert(variable, Home::Local(local));
        self.scopes[self.scope].objects.push(local);
        local
    }

    pub(super) fn needs_memory(&self, variable: VarId) -> NeedsMemory {
        NeedsMemory(variable)
    }

    // Labels and jumps.

    pub(super) fn label(&mut self) -> Label {
        self.labels.push(JumpTarget { position: None, scope: self.scope });
        Label(self.labels.len() - 1)
    }

    /// Puts a label here.
    pub(super) fn place_label(&mut self, label: Label) {
        self.labels[label.0] = JumpTarget { position: Some(self.made.code.len() as Position), scope: self.scope };
    }

    pub(super) fn jump(&mut self, label: Label, span: Span) {
        let instruction = self.emit(Instruction::Jump(0), span);
        self.jumps.push(Jump { instruction, slot: JumpSlot::Jump, label, from: self.scope });
    }

    pub(super) fn branch(&mut self, condition: Operand, scalar: ScalarType, then: Label, otherwise: Label, span: Span) {
        let instruction = self.emit(Instruction::Branch { condition, scalar, then: 0, otherwise: 0 }, span);
        self.jumps.push(Jump { instruction, slot: JumpSlot::Then, label: then, from: self.scope });
        self.jumps.push(Jump { instruction, slot: JumpSlot::Otherwise, label: otherwise, from: self.scope });
    }

    /// Fills in the targets; a jump between scopes goes by way of a stub that ends and begins objects.
    fn resolve_jumps(&mut self, span: Span) {
        for jump in std::mem::take(&mut self.jumps) {
            let Some(position) = self.labels[jump.label.0].position else {
                let at = self.made.code.len() as Position;
                self.unsupported("a jump to a label that is not in the function", span);
                self.patch(&jump, at);
                continue;
            };
            let to = self.labels[jump.label.0].scope;
            let (entered, left) = (self.chain(to), self.chain(jump.from));
            let ended: Vec<LocalId> =
                left.iter().filter(|s| !entered.contains(s)).flat_map(|s| self.scopes[*s].objects.clone()).collect();
            let begun: Vec<LocalId> = entered
                .iter()
                .rev()
                .filter(|s| !left.contains(s))
                .flat_map(|s| self.scopes[*s].objects.clone())
                .collect();
            if ended.is_empty() && begun.is_empty() {
                self.patch(&jump, position);
                continue;
            }
            let stub = self.made.code.len() as Position;
            let at = self.made.spans[jump.instruction];
            for local in ended {
                self.emit(Instruction::End { local }, at);
            }
            for local in begun {
                self.emit(Instruction::Begin { local, size: None }, at);
            }
            self.emit(Instruction::Jump(position), at);
            self.patch(&jump, stub);
        }
    }

    /// The scope and those around it.
    fn chain(&self, scope: usize) -> Vec<usize> {
        let mut chain = vec![scope];
        while let Some(parent) = self.scopes[chain[chain.len() - 1]].parent {
            chain.push(parent);
        }
        chain
    }

    fn patch(&mut self, jump: &Jump, position: Position) {
        match (&mut self.made.code[jump.instruction], jump.slot) {
            (Instruction::Jump(to), JumpSlot::Jump) => *to = position,
            (Instruction::Branch { then, .. }, JumpSlot::Then) => *then = position,
            (Instruction::Branch { otherwise, .. }, JumpSlot::Otherwise) => *otherwise = position,
            (Instruction::Switch { cases, .. }, JumpSlot::Case(number)) => cases[number].2 = position,
            (Instruction::Switch { default, .. }, JumpSlot::Default) => *default = position,
            _ => unreachable!("a jump is patched in the instruction it was made for"),
        }
    }

    // Scopes and statements.

    /// Opens a scope whose declared objects begin to live.
    pub(super) fn enter(&mut self, statements: &[Stmt], span: Span) {
        self.scopes.push(BlockScope { parent: Some(self.scope), objects: Vec::new() });
        self.scope = self.scopes.len() - 1;
        for statement in statements {
            if let CStmtKind::Declare(variable, _) = &statement.kind
                && let Home::Local(local) = self.new_home(*variable)
            {
                // An array of variable length begins at its declaration; it cannot be jumped over.
                if self.lowering.unit.variables[*variable].length.is_none() {
                    self.emit(Instruction::Begin { local, size: None }, span);
                }
                self.scopes[self.scope].objects.push(local);
            }
        }
    }

    pub(super) fn exit(&mut self, span: Span) {
        let objects = self.scopes[self.scope].objects.clone();
        for local in objects {
            self.emit(Instruction::End { local }, span);
        }
        self.scope = self.scopes[self.scope].parent.expect("a scope that is left was entered");
    }

    pub(super) fn block(&mut self, statements: &[Stmt], span: Span) -> Lowered<()> {
        self.enter(statements, span);
        for statement in statements {
            self.statement(statement)?;
        }
        self.exit(span);
        Ok(())
    }

    pub(super) fn condition(&mut self, e: &Expr, then: Label, otherwise: Label) -> Lowered<()> {
        let value = self.value(e)?;
        match scalar_of(self.types(), e.ty) {
            Some(scalar) => self.branch(value, scalar, then, otherwise, e.span),
            None => {
                self.unsupported("a condition of this type", e.span);
            }
        }
        Ok(())
    }

    pub(super) fn statement(&mut self, statement: &Stmt) -> Lowered<()> {
        let span = statement.span;
        match &statement.kind {
            CStmtKind::Expr(e) => self.discard(e)?,
            CStmtKind::Declare(variable, init) => self.declare(*variable, init.as_ref(), span)?,
            CStmtKind::Block(statements) => self.block(statements, span)?,
            CStmtKind::If(condition, then, otherwise) => {
                let (yes, no, end) = (self.label(), self.label(), self.label());
                self.condition(condition, yes, no)?;
                self.place_label(yes);
                self.block(std::slice::from_ref(then), span)?;
                self.jump(end, span);
                self.place_label(no);
                if let Some(otherwise) = otherwise {
                    self.block(std::slice::from_ref(otherwise), span)?;
                }
                self.place_label(end);
            }
            CStmtKind::While(condition, body) => {
                let (head, inside, end) = (self.label(), self.label(), self.label());
                self.place_label(head);
                self.condition(condition, inside, end)?;
                self.place_label(inside);
                self.repeated(body, head, end)?;
                self.jump(head, span);
                self.place_label(end);
            }
            CStmtKind::DoWhile(body, condition) => {
                let (head, test, end) = (self.label(), self.label(), self.label());
                self.place_label(head);
                self.repeated(body, test, end)?;
                self.place_label(test);
                self.condition(condition, head, end)?;
                self.place_label(end);
            }
            CStmtKind::For { init, cond, step, body } => {
                self.enter(init, span);
                for statement in init {
                    self.statement(statement)?;
                }
                let (head, inside, next, end) = (self.label(), self.label(), self.label(), self.label());
                self.place_label(head);
                if let Some(condition) = cond {
                    self.condition(condition, inside, end)?;
                }
                self.place_label(inside);
                self.repeated(body, next, end)?;
                self.place_label(next);
                if let Some(step) = step {
                    self.discard(step)?;
                }
                self.jump(head, span);
                self.place_label(end);
                self.exit(span);
            }
            CStmtKind::Switch(value, body) => self.switch(value, body, span)?,
            CStmtKind::Case(low, high) => {
                let label = self.label();
                self.place_label(label);
                match self.switches.last_mut() {
                    Some(switch) => switch.cases.push((*low, *high, label)),
                    None => {
                        self.unsupported("a case outside of a switch", span);
                    }
                }
            }
            CStmtKind::Default => {
                let label = self.label();
                self.place_label(label);
                match self.switches.last_mut() {
                    Some(switch) => switch.default = Some(label),
                    None => {
                        self.unsupported("a default outside of a switch", span);
                    }
                }
            }
            CStmtKind::Label(label) => {
                let label = self.named_label(*label);
                self.place_label(label);
            }
            CStmtKind::Goto(label) => {
                let label = self.named_label(*label);
                self.jump(label, span);
            }
            CStmtKind::Break => match self.breaks.last().copied() {
                Some(label) => self.jump(label, span),
                None => {
                    self.unsupported("a break outside of a loop", span);
                }
            },
            CStmtKind::Continue => match self.continues.last().copied() {
                Some(label) => self.jump(label, span),
                None => {
                    self.unsupported("a continue outside of a loop", span);
                }
            },
            CStmtKind::Return(value) => self.returned(value.as_ref(), span)?,
            CStmtKind::Empty => {}
            CStmtKind::Unmodelled(reason) => {
                self.unsupported(reason.clone(), span);
            }
        }
        Ok(())
    }

    fn repeated(&mut self, body: &Stmt, next: Label, end: Label) -> Lowered<()> {
        self.breaks.push(end);
        self.continues.push(next);
        self.block(std::slice::from_ref(body), body.span)?;
        self.breaks.pop();
        self.continues.pop();
        Ok(())
    }

    fn named_label(&mut self, label: LabelId) -> Label {
        if let Some(known) = self.named.get(&label) {
            return *known;
        }
        let new = self.label();
        self.named.insert(label, new);
        new
    }

    fn switch(&mut self, value: &Expr, body: &Stmt, span: Span) -> Lowered<()> {
        let operand = self.value(value)?;
        let promoted = self.types().as_int(value.ty).map(|int| int_type(self.types(), self.types().promote(int)));
        let instruction = self.emit(Instruction::Switch { value: operand, cases: Vec::new(), default: 0 }, span);
        let from = self.scope;
        let end = self.label();
        self.switches.push(SwitchUnderWay::default());
        self.breaks.push(end);
        self.block(std::slice::from_ref(body), span)?;
        self.breaks.pop();
        self.place_label(end);
        let found = self.switches.pop().unwrap_or_default();
        for (number, (low, high, label)) in found.cases.iter().enumerate() {
            // Each constant is converted to the promoted type of the value (C11 6.8.4.2p5).
            let wrap = |v: i128| promoted.map_or(v, |int| int.wrap(v));
            if let Instruction::Switch { cases, .. } = &mut self.made.code[instruction] {
                cases.push((wrap(*low), wrap(*high), 0));
            }
            self.jumps.push(Jump { instruction, slot: JumpSlot::Case(number), label: *label, from });
        }
        let default = found.default.unwrap_or(end);
        self.jumps.push(Jump { instruction, slot: JumpSlot::Default, label: default, from });
        Ok(())
    }

    fn returned(&mut self, value: Option<&Expr>, span: Span) -> Lowered<()> {
        let returned = match value {
            None => Returned::Nothing,
            Some(e) => match self.made.result {
                ResultKind::Nothing => {
                    self.discard(e)?;
                    Returned::Nothing
                }
                ResultKind::Scalar(_) => Returned::Scalar(self.value(e)?),
                ResultKind::Bytes(size) => Returned::Aggregate(self.aggregate(e)?, size),
            },
        };
        self.emit(Instruction::Return(returned), span);
        Ok(())
    }

    fn declare(&mut self, variable: VarId, init: Option<&Init>, span: Span) -> Lowered<()> {
        let unit = self.lowering.unit;
        let declared = &unit.variables[variable];
        if let (Some(length), Some(Home::Local(local))) = (&declared.length, self.home(variable)) {
            let CTypeKind::Array(of, _) = unit.types.kind(declared.ty) else {
                self.unsupported("an object of variable size that is no array", span);
                return Ok(());
            };
            let count = self.value(length)?;
            let size = self.register();
            let scale = Operand::Constant(CoreValue::Int(i128::from(unit.types.size(*of).unwrap_or(1))));
            let scalar = ScalarType::Int(IntType::I64);
            let op = core::BinaryOp::Multiply;
            self.emit(Instruction::Binary { to: size, op, scalar, left: count, right: scale }, span);
            self.emit(Instruction::Begin { local, size: Some(size.into()) }, span);
        }
        match (init, self.home(variable)) {
            (Some(init), _) => self.initialise(variable, init, span),
            (None, Some(Home::Register(to))) => {
                let from = Operand::Constant(CoreValue::Undefined);
                self.emit(Instruction::Move { to, from }, span);
                Ok(())
            }
            (None, _) => Ok(()),
        }
    }

    /// Calls a function whose result is nothing or a scalar.
    pub(super) fn call_instruction(
        &mut self,
        target: core::CallTarget,
        arguments: Vec<CallArgument>,
        result: ResultKind,
        align: u64,
        span: Span,
    ) -> Operand {
        match result {
            ResultKind::Nothing => {
                self.emit(Instruction::Call { target, arguments, result: Destination::Nowhere }, span);
                Operand::Constant(CoreValue::Undefined)
            }
            ResultKind::Scalar(scalar) => {
                let to = self.register();
                self.emit(Instruction::Call { target, arguments, result: Destination::Register(to, scalar) }, span);
                to.into()
            }
            ResultKind::Bytes(size) => {
                let place = self.temporary(size, align, span);
                self.emit(Instruction::Call { target, arguments, result: Destination::Memory(place, size) }, span);
                place
            }
        }
    }
}
