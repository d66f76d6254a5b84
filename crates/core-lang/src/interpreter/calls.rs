//! Entering and leaving functions, threads and the program.
//!
//! In: calls and returns. Out: frames, replies of the library carried out, threads that end with the destructors of their
//! keys, `atexit` functions in reverse order. Deliberately absent: the delivery of signals (`signals`).

use super::execute::AccessMode;
use super::external::{CallSite, Reply};
use super::jumps::Cancellation;
use super::memory::{AccessPurpose, AllocationOrigin, Initialised, MemoryRange, Permission};
use super::race::VectorClock;
use super::{AfterCall, CallFrame, CallPhase, ExecutionStop, Interpreter, Life, RunningThread, ViolationKind};
use crate::module::*;
use crate::value::{self, CoreValue, IntType, ScalarType};
use std::collections::BTreeMap;

/// An argument on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PassedArgument {
    Scalar(CoreValue, ScalarType),
    Bytes(MemoryRange, u64),
}

impl Interpreter<'_> {
    pub(crate) fn new_thread(&mut self, name: String, parent: Option<u32>) -> u32 {
        let id = self.threads.len() as u32;
        // A thread begins with the signals blocked that its creator has blocked.
        let blocked_signals = parent.map_or(0, |p| self.threads[p as usize].blocked_signals);
        let mut clock = match parent {
            Some(_) => self.release(),
            None => VectorClock::default(),
        };
        clock.tick(id);
        let created = parent.and_then(|_| self.current_span());
        let handle = 0x7f00_0000_0000u64 + u64::from(id + 1) * 0x1000 + (self.random.word() & 0xff) * 0x1000_0000;
        let handle = if self.module.pointer_bytes == 4 { handle & 0x7fff_ffff | 0x1000 } else { handle };
        self.threads.push(RunningThread {
            name,
            frames: Vec::new(),
            life: Life::Running,
            clock,
            seen: VectorClock::default(),
            fenced: None,
            own_objects: BTreeMap::new(),
            errno: None,
            keys: BTreeMap::new(),
            wait: None,
            signalled: false,
            phase: CallPhase::Start,
            detached: false,
            joined: false,
            result: CoreValue::NULL,
            handle,
            cleanup: Vec::new(),
            marks: BTreeMap::new(),
            cancellation: Cancellation::default(),
            blocked_signals,
            created,
            function: None,
        });
        id
    }

    /// A thread that will run a function on one argument; `None` if the pointer is no function.
    pub(crate) fn start_thread(&mut self, function: CoreValue, argument: CoreValue) -> Result<u32, ExecutionStop> {
        if self.threads.len() >= self.options.limits.threads {
            return Err(ExecutionStop::Unsupported(format!("more than {} threads", self.options.limits.threads)));
        }
        let function = self.function_of(function)?;
        let name = self.module.functions[function].name.clone();
        let parent = self.current;
        let id = self.new_thread(name, Some(parent));
        self.threads[id as usize].function = Some(function);
        self.push_frame(
            id,
            function,
            &[PassedArgument::Scalar(argument, ScalarType::Pointer)],
            Destination::Nowhere,
            AfterCall::Thread,
        )?;
        Ok(id)
    }

    /// Calls a function of the program from a library row and runs it to its return, with no other thread in between.
    pub(crate) fn call_now(
        &mut self,
        function: FunctionId,
        arguments: &[PassedArgument],
    ) -> Result<CoreValue, ExecutionStop> {
        let current = self.current;
        let depth = self.threads[current as usize].frames.len();
        self.push_frame(current, function, arguments, Destination::Nowhere, AfterCall::Library)?;
        while self.threads[current as usize].frames.len() > depth {
            self.instruction()?;
            let thread = &self.threads[current as usize];
            if thread.wait.is_some() || thread.life != Life::Running {
                return Err(ExecutionStop::Unsupported(
                    "a function that is called back blocks or ends its thread".into(),
                ));
            }
            if self.instructions > self.options.limits.instructions {
                return Err(ExecutionStop::Unsupported(super::OUT_OF_STEPS.into()));
            }
        }
        Ok(self.thread().result)
    }

    /// The function that a pointer names.
    pub(crate) fn function_of(&self, pointer: CoreValue) -> Result<FunctionId, ExecutionStop> {
        if pointer.is_zero() == Some(true) {
            return Err(ExecutionStop::violation(ViolationKind::NullDereference, "calls a null pointer"));
        }
        if pointer == CoreValue::Undefined {
            return Err(ExecutionStop::violation(ViolationKind::Uninitialised, "calls a pointer that was never set"));
        }
        match self.memory.target(pointer) {
            Some((id, 0)) => match self.memory.allocations[id as usize].origin {
                AllocationOrigin::Function(function) => Ok(function),
                AllocationOrigin::External(external) => {
                    let name = &self.module.externals[external].name;
                    Err(ExecutionStop::Unsupported(format!("the library function `{name}` is called back")))
                }
                _ => Err(ExecutionStop::violation(ViolationKind::BadCall, "calls a pointer that is no function")),
            },
            _ => Err(ExecutionStop::violation(ViolationKind::BadCall, "calls a pointer that is no function")),
        }
    }

    pub(crate) fn function_allocation(&mut self, function: FunctionId) -> Result<u32, ExecutionStop> {
        if let Some(id) = self.function_objects.get(&function) {
            return Ok(*id);
        }
        let span = self.module.functions[function].span;
        let id = self.memory.allocate(1, 16, AllocationOrigin::Function(function), Initialised::Set, span)?;
        self.memory.allocations[id as usize].permission = Permission::Call;
        self.function_objects.insert(function, id);
        Ok(id)
    }

    pub(crate) fn external_allocation(&mut self, external: ExternalId) -> Result<u32, ExecutionStop> {
        if let Some(id) = self.external_objects.get(&external) {
            return Ok(*id);
        }
        let span = self.span();
        let id = self.memory.allocate(1, 16, AllocationOrigin::External(external), Initialised::Set, span)?;
        self.memory.allocations[id as usize].permission = Permission::Call;
        self.external_objects.insert(external, id);
        Ok(id)
    }

    pub(crate) fn push_frame(
        &mut self,
        thread: u32,
        function: FunctionId,
        arguments: &[PassedArgument],
        destination: Destination,
        after: AfterCall,
    ) -> Result<(), ExecutionStop> {
        let module = self.module;
        let called = &module.functions[function];
        if self.threads[thread as usize].frames.len() >= self.options.limits.frames {
            return Err(ExecutionStop::Unsupported(format!("calls nested {} deep", self.options.limits.frames)));
        }
        let mut frame = CallFrame {
            copied: 0,
            around: None,
            serial: self.instructions,
            function,
            position: 0,
            registers: vec![CoreValue::Undefined; called.registers as usize],
            locals: vec![None; called.locals.len()],
            more: Vec::new(),
            after,
            destination,
        };
        let bytes = module.pointer_bytes;
        for (number, parameter) in called.parameters.iter().enumerate() {
            let Some(argument) = arguments.get(number).copied() else {
                return Err(ExecutionStop::violation(
                    ViolationKind::BadCall,
                    format!(
                        "`{}` is called with {} arguments and has {}",
                        called.name,
                        arguments.len(),
                        called.parameters.len()
                    ),
                ));
            };
            match (parameter, argument) {
                (Parameter::Register(register, scalar), PassedArgument::Scalar(value, from)) => {
                    frame.registers[register.index()] = converted(value, from, *scalar, bytes)?;
                }
                (Parameter::Local(local, scalar), PassedArgument::Scalar(value, from)) => {
                    let value = converted(value, from, *scalar, bytes)?;
                    let id = self.parameter_object(thread, function, *local)?;
                    self.memory.store(MemoryRange { allocation: id, offset: 0 }, *scalar, value);
                    frame.locals[local.index()] = Some(id);
                }
                (Parameter::Aggregate(local, size), PassedArgument::Bytes(spot, given)) if *size == given => {
                    let id = self.parameter_object(thread, function, *local)?;
                    self.memory.copy(MemoryRange { allocation: id, offset: 0 }, spot, *size);
                    frame.locals[local.index()] = Some(id);
                }
                _ => {
                    let text =
                        format!("argument {} of `{}` has another type than the parameter", number + 1, called.name);
                    return Err(ExecutionStop::violation(ViolationKind::BadCall, text));
                }
            }
        }
        for extra in arguments.iter().skip(called.parameters.len()) {
            match extra {
                PassedArgument::Scalar(value, scalar) => frame.more.push((*value, *scalar)),
                PassedArgument::Bytes(..) if called.variadic == Variadic::More => {
                    return Err(ExecutionStop::Unsupported(
                        "a struct as a further argument of a variadic function".into(),
                    ));
                }
                PassedArgument::Bytes(..) => {}
            }
        }
        self.threads[thread as usize].frames.push(frame);
        Ok(())
    }

    fn parameter_object(&mut self, thread: u32, function: FunctionId, local: LocalId) -> Result<u32, ExecutionStop> {
        let declared = &self.module.functions[function].locals[local];
        let origin = AllocationOrigin::Local(function, local, thread);
        self.memory.allocate(
            declared.size,
            declared.align,
            origin,
            Initialised::Unset,
            self.module.functions[function].span,
        )
    }

    /// Carries out a call; `None` if the position is already set.
    pub(super) fn call(
        &mut self,
        target: CallTarget,
        arguments: &[CallArgument],
        result: Destination,
    ) -> Result<Option<Position>, ExecutionStop> {
        let target = match target {
            CallTarget::Pointer(pointer) => {
                let pointer = self.get(pointer);
                match self
                    .memory
                    .target(pointer)
                    .map(|(id, offset)| (self.memory.allocations[id as usize].origin, offset))
                {
                    Some((AllocationOrigin::External(external), 0)) => CallTarget::External(external),
                    _ => CallTarget::Function(self.function_of(pointer)?),
                }
            }
            other => other,
        };
        let mut passed = Vec::with_capacity(arguments.len());
        for argument in arguments {
            passed.push(match argument {
                CallArgument::Scalar(operand, scalar) => PassedArgument::Scalar(self.get(*operand), *scalar),
                CallArgument::Aggregate(operand, size) => {
                    let address = self.get(*operand);
                    PassedArgument::Bytes(self.touch(address, *size, 1, AccessPurpose::Read, AccessMode::Plain)?, *size)
                }
            });
        }
        match target {
            CallTarget::Function(function) => {
                let current = self.current;
                // The frame that is entered must not disturb where this one stands: it is left at the call until the return.
                self.push_frame(current, function, &passed, result, AfterCall::Caller)?;
                Ok(None)
            }
            CallTarget::External(external) => self.call_library(external, &passed, result),
            CallTarget::Pointer(_) => Err(ExecutionStop::Unsupported("a call through a pointer".into())),
        }
    }

    fn call_library(
        &mut self,
        external: ExternalId,
        passed: &[PassedArgument],
        result: Destination,
    ) -> Result<Option<Position>, ExecutionStop> {
        let module = self.module;
        let declared = &module.externals[external];
        let Some(row) = self.rows[external] else {
            if declared.noreturn {
                self.assume(
                    "functions without a body that are declared never to return end the program and do nothing else",
                );
                return Err(ExecutionStop::Exit(1));
            }
            return Err(ExecutionStop::Unsupported(format!(
                "the function `{}` has no body and no row in the library table",
                declared.name
            )));
        };
        let mut values = Vec::with_capacity(passed.len());
        for argument in passed {
            match argument {
                PassedArgument::Scalar(value, scalar) => values.push((*value, *scalar)),
                // A list of arguments is handed on by its number.
                PassedArgument::Bytes(spot, _) => {
                    let pointer =
                        self.offset(self.memory.pointer(spot.allocation), CoreValue::Int(i128::from(spot.offset)), 1)?;
                    values.push((pointer, ScalarType::Pointer));
                }
            }
        }
        let site = CallSite { name: &declared.name, arguments: values, result: declared.result };
        self.record(|i| {
            let arguments: Vec<String> = site.arguments.iter().map(|(v, _)| i.value_text(*v)).collect();
            format!("calls {}({})", site.name, arguments.join(", "))
        });
        let next = self.threads[self.current as usize].frames.last().map_or(0, |f| f.position) + 1;
        self.drawn |= (self.library.looks_outside)(row.name);
        if self.is_cancelled_at(row.name)? {
            self.unwind(self.cancelled_value())?;
            return Ok(None);
        }
        match (row.run)(self, &site)? {
            Reply::Mark(buffer) => {
                self.deliver(result, CoreValue::Int(0))?;
                self.mark(buffer, next, result);
                Ok(Some(next))
            }
            Reply::Jump(buffer, value) => {
                self.jump(buffer, value)?;
                Ok(None)
            }
            Reply::Value(value) => {
                self.deliver(result, value)?;
                Ok(Some(next))
            }
            Reply::Block(wait, patience) => {
                self.thread().wait = Some((wait, patience));
                Ok(None)
            }
            Reply::Again => Ok(None),
            Reply::Call { function, arguments, after, value } => {
                let current = self.current;
                self.deliver(result, value)?;
                if let Some(frame) = self.thread().frames.last_mut() {
                    frame.position = next;
                }
                self.push_frame(current, function, &arguments, Destination::Nowhere, after)?;
                Ok(None)
            }
            Reply::EndThread(value) => {
                self.unwind(value)?;
                Ok(None)
            }
            Reply::Exit(code) => {
                self.exit(code)?;
                Ok(None)
            }
        }
    }

    pub(super) fn deliver(&mut self, result: Destination, value: CoreValue) -> Result<(), ExecutionStop> {
        match result {
            Destination::Nowhere => Ok(()),
            Destination::Register(register, scalar) => {
                let value = converted(value, scalar, scalar, self.module.pointer_bytes)?;
                self.set(register, value);
                Ok(())
            }
            Destination::Memory(..) => {
                Err(ExecutionStop::Unsupported("a library function that returns a struct".into()))
            }
        }
    }

    /// The current function returns.
    pub(super) fn leave(&mut self, returned: Returned) -> Result<(), ExecutionStop> {
        let bytes = match returned {
            Returned::Aggregate(address, size) => {
                let address = self.get(address);
                Some((self.touch(address, size, 1, AccessPurpose::Read, AccessMode::Plain)?, size))
            }
            _ => None,
        };
        let value = match returned {
            Returned::Scalar(operand) => self.get(operand),
            _ => CoreValue::Undefined,
        };
        let span = self.span();
        let Some(frame) = self.thread().frames.pop() else { return Ok(()) };
        // The caller's destination is an address in the caller; the bytes are copied before the callee's objects end.
        if let (Destination::Memory(address, size), Some((spot, given))) = (frame.destination, bytes)
            && size == given
        {
            let address = self.get(address);
            let target = self.touch(address, size, 1, AccessPurpose::Write, AccessMode::Plain)?;
            self.memory.copy(target, spot, size);
        }
        for id in frame.locals.iter().flatten() {
            self.end_object(*id, span);
        }
        match frame.after {
            AfterCall::Caller => {
                if let Destination::Register(register, scalar) = frame.destination {
                    let from = match self.module.functions[frame.function].result {
                        ResultKind::Scalar(from) => from,
                        _ => scalar,
                    };
                    let value = converted(value, from, scalar, self.module.pointer_bytes)?;
                    self.set(register, value);
                }
                if let Some(caller) = self.thread().frames.last_mut() {
                    caller.position += 1;
                }
                Ok(())
            }
            AfterCall::Thread if self.current == 0 => {
                let code = value.as_int().unwrap_or(0) as i32;
                self.exit(code)
            }
            AfterCall::Thread => {
                let as_pointer = match value {
                    CoreValue::Undefined => CoreValue::Undefined,
                    other => converted(other, ScalarType::Pointer, ScalarType::Pointer, self.module.pointer_bytes)?,
                };
                self.end_frames(as_pointer);
                Ok(())
            }
            AfterCall::Startup | AfterCall::Destructor | AfterCall::Signal(_) => Ok(()),
            AfterCall::Once(key) => {
                let clock = self.release();
                self.sync.once_done(key, clock);
                Ok(())
            }
            AfterCall::AtExit(code) => self.exit(code),
            AfterCall::Library => {
                self.thread().result = value;
                Ok(())
            }
        }
    }

    /// The thread's function is over, by return or by `pthread_exit`.
    pub(super) fn end_frames(&mut self, value: CoreValue) {
        let span = self.span();
        let thread = self.thread();
        thread.result = value;
        thread.life = Life::Finishing(0);
        let ended: Vec<u32> = thread.frames.drain(..).flat_map(|f| f.locals.into_iter().flatten()).collect();
        for id in ended {
            self.end_object(id, span);
        }
    }

    /// Runs destructors of keys, then ends the thread (POSIX `pthread_key_create`: at least four rounds).
    pub(super) fn finish_thread(&mut self) -> Result<(), ExecutionStop> {
        let Life::Finishing(round) = self.thread().life else {
            self.thread().life = Life::Ended;
            return Ok(());
        };
        if !self.thread().cleanup.is_empty() {
            return Err(ExecutionStop::Unsupported("a thread ends with cleanup handlers pushed".into()));
        }
        let keys: Vec<(u32, CoreValue)> = self.thread().keys.iter().map(|(k, v)| (*k, *v)).collect();
        for (key, value) in keys {
            let destructor = self.environment.destructor(key).filter(|_| value.is_zero() == Some(false));
            if let Some(destructor) = destructor
                && round < MAX_DESTRUCTOR_CALLS
            {
                self.thread().life = Life::Finishing(round + 1);
                self.thread().keys.insert(key, CoreValue::NULL);
                let function = self.function_of(destructor)?;
                let current = self.current;
                let arguments = [PassedArgument::Scalar(value, ScalarType::Pointer)];
                return self.push_frame(current, function, &arguments, Destination::Nowhere, AfterCall::Destructor);
            }
        }
        let current = self.current;
        self.thread().life = Life::Ended;
        self.sync.thread_ends(current);
        let span = self.span();
        let thread = &self.threads[current as usize];
        let own: Vec<u32> = thread.own_objects.values().copied().chain(thread.errno).collect();
        // `main` may end by `pthread_exit` while others still hold addresses of what was its own.
        for id in own {
            self.end_object(id, span);
        }
        self.record(|_| "ends".into());
        Ok(())
    }

    /// `exit`: the functions of `atexit` run in reverse order, then the program ends.
    pub(crate) fn exit(&mut self, code: i32) -> Result<(), ExecutionStop> {
        let Some(handler) = self.environment.next_exit_handler() else { return Err(ExecutionStop::Exit(code)) };
        let function = self.function_of(handler)?;
        let current = self.current;
        self.thread().life = Life::Running;
        self.push_frame(current, function, &[], Destination::Nowhere, AfterCall::AtExit(code))
    }

    /// What `main` is called with, as far as it has parameters.
    pub(super) fn main_arguments(&mut self, entry: FunctionId) -> Result<Vec<PassedArgument>, ExecutionStop> {
        let wanted = self.module.functions[entry].parameters.len();
        let span = self.module.functions[entry].span;
        let mut words = vec!["program".to_string()];
        words.extend(self.options.arguments.iter().cloned());
        let bytes = self.module.pointer_bytes;
        let slots = (words.len() as u64 + 1) * bytes;
        let table =
            self.memory.allocate(slots, bytes, AllocationOrigin::Environment("argv"), Initialised::Set, span)?;
        for (number, word) in words.iter().enumerate() {
            let mut text = word.clone().into_bytes();
            text.push(0);
            let id = self.memory.allocate(
                text.len() as u64,
                1,
                AllocationOrigin::Environment("an argument of main"),
                Initialised::Set,
                span,
            )?;
            self.memory.write_bytes(MemoryRange { allocation: id, offset: 0 }, &text);
            let pointer = self.memory.pointer(id);
            self.memory.store(
                MemoryRange { allocation: table, offset: number as u64 * bytes },
                ScalarType::Pointer,
                pointer,
            );
        }
        let environment =
            self.memory.allocate(bytes, bytes, AllocationOrigin::Environment("envp"), Initialised::Set, span)?;
        let all = [
            PassedArgument::Scalar(CoreValue::Int(words.len() as i128), ScalarType::Int(IntType::I32)),
            PassedArgument::Scalar(self.memory.pointer(table), ScalarType::Pointer),
            PassedArgument::Scalar(self.memory.pointer(environment), ScalarType::Pointer),
        ];
        Ok(all.into_iter().take(wanted).collect())
    }

    /// Objects that the environment defines: streams, `errno`'s like, options.
    pub(super) fn environment_objects(&mut self) -> Result<(), ExecutionStop> {
        let module = self.module;
        let bytes = module.pointer_bytes;
        for (id, object) in module.objects.iter_enumerated() {
            if !object.external {
                continue;
            }
            let spot = MemoryRange { allocation: self.objects[id], offset: 0 };
            match object.name.as_str() {
                "stdin" | "stdout" | "stderr" => {
                    let number = ["stdin", "stdout", "stderr"].iter().position(|n| *n == object.name).unwrap_or(0);
                    let stream = self.memory.allocate(
                        16,
                        8,
                        AllocationOrigin::Environment("a stream"),
                        Initialised::Set,
                        object.span,
                    )?;
                    self.environment.add_stream(stream, number);
                    let pointer = self.memory.pointer(stream);
                    self.memory.store(spot, ScalarType::Pointer, pointer);
                }
                "optind" | "opterr" => self.memory.store(spot, ScalarType::Int(IntType::I32), CoreValue::Int(1)),
                "optopt" => self.memory.store(spot, ScalarType::Int(IntType::I32), CoreValue::Int(i128::from(b'?'))),
                "optarg" => self.memory.store(spot, ScalarType::Pointer, CoreValue::NULL),
                "environ" | "__environ" => {
                    let table = self.memory.allocate(
                        bytes,
                        bytes,
                        AllocationOrigin::Environment("environ"),
                        Initialised::Set,
                        object.span,
                    )?;
                    let pointer = self.memory.pointer(table);
                    self.memory.store(spot, ScalarType::Pointer, pointer);
                }
                // Anything else is not known: whoever reads it learns nothing here.
                _ => self.memory.allocations[spot.allocation as usize].permission = Permission::Unknown,
            }
        }
        Ok(())
    }
}

/// A destructor may set its key again; at some point an implementation stops.
const MAX_DESTRUCTOR_CALLS: u32 = 64;

fn converted(
    value: CoreValue,
    from: ScalarType,
    to: ScalarType,
    pointer_bytes: u64,
) -> Result<CoreValue, ExecutionStop> {
    match value::convert(value, from, to, pointer_bytes) {
        Ok(value) => Ok(value),
        Err(_) => Err(ExecutionStop::violation(ViolationKind::BadCall, "a value of another type than the function's")),
    }
}
