//! The core as text, for people: `show --core` and tests.
//!
//! In: a module. Out: one line for each instruction, with its position. Deliberately absent: a reader of this text.

use crate::module::*;
use std::fmt::Write;

/// The whole module.
pub fn print_module(module: &Module) -> String {
    let mut out = String::new();
    for (id, object) in module.objects.iter_enumerated() {
        let class = match object.class {
            StorageClass::Static => "static",
            StorageClass::Thread => "thread",
            StorageClass::Constant => "constant",
        };
        let _ = writeln!(out, "{class} {id} {}: {} bytes at a multiple of {}", object.name, object.size, object.align);
    }
    for (id, function) in module.functions.iter_enumerated() {
        let _ = writeln!(out, "\nfunction {id} {}", function.name);
        for (local, object) in function.locals.iter_enumerated() {
            let _ = writeln!(out, "    local {local} {}: {} bytes", object.name, object.size);
        }
        for (position, instruction) in function.code.iter().enumerate() {
            let _ = writeln!(out, "{position:5}  {}", line(module, instruction));
        }
    }
    out
}

fn operand(operand: &Operand) -> String {
    match operand {
        Operand::Register(register) => register.to_string(),
        Operand::Constant(crate::CoreValue::Int(int)) => int.to_string(),
        Operand::Constant(crate::CoreValue::Float(float)) => float.to_string(),
        Operand::Constant(crate::CoreValue::Pointer(0, _)) => "null".into(),
        Operand::Constant(crate::CoreValue::Pointer(address, _)) => format!("{address:#x}"),
        Operand::Constant(crate::CoreValue::Undefined) => "undefined".into(),
    }
}

fn access(access: &MemoryAccess) -> String {
    match access.kind {
        AccessKind::Plain => String::new(),
        AccessKind::Volatile => " volatile".into(),
        AccessKind::Atomic(order) => format!(" atomic({})", operand(&order)),
    }
}

fn line(module: &Module, instruction: &Instruction) -> String {
    match instruction {
        Instruction::Move { to, from } => format!("{to} = {}", operand(from)),
        Instruction::Unary { to, op, operand: o, .. } => format!("{to} = {op:?} {}", operand(o)),
        Instruction::Binary { to, op, left, right, .. } => {
            format!("{to} = {} {op:?} {}", operand(left), operand(right))
        }
        Instruction::Compare { to, op, left, right, .. } => {
            format!("{to} = {} {op:?} {}", operand(left), operand(right))
        }
        Instruction::Convert { to, to_scalar, operand: o, .. } => format!("{to} = {} as {to_scalar:?}", operand(o)),
        Instruction::Checked { result, overflow, op, left, right, .. } => {
            format!("{result}, {overflow} = {} checked {op:?} {}", operand(left), operand(right))
        }
        Instruction::ObjectAddress { to, object } => format!("{to} = &{}", module.objects[*object].name),
        Instruction::LocalAddress { to, local } => format!("{to} = &{local}"),
        Instruction::FunctionAddress { to, function } => format!("{to} = &{}", module.functions[*function].name),
        Instruction::ExternalAddress { to, external } => format!("{to} = &{}", module.externals[*external].name),
        Instruction::Offset { to, pointer, index, scale } => {
            format!("{to} = {} + {} * {scale}", operand(pointer), operand(index))
        }
        Instruction::Difference { to, left, right, scale } => {
            format!("{to} = ({} - {}) / {scale}", operand(left), operand(right))
        }
        Instruction::CheckIndex { index, length } => format!("check {} < {length}", operand(index)),
        Instruction::Load { to, address, access: a, .. } => format!("{to} = load{} {}", access(a), operand(address)),
        Instruction::Store { address, value, access: a, .. } => {
            format!("store{} {} to {}", access(a), operand(value), operand(address))
        }
        Instruction::Copy { to, from, size, .. } => {
            format!("copy {size} bytes from {} to {}", operand(from), operand(to))
        }
        Instruction::Zero { address, size } => format!("zero {size} bytes at {}", operand(address)),
        Instruction::Fence { order } => format!("fence {}", operand(order)),
        Instruction::Begin { local, .. } => format!("begin {local}"),
        Instruction::End { local } => format!("end {local}"),
        Instruction::Jump(position) => format!("jump {position}"),
        Instruction::Branch { condition, then, otherwise, .. } => {
            format!("if {} jump {then} else {otherwise}", operand(condition))
        }
        Instruction::Switch { value, cases, default } => {
            let cases: Vec<String> = cases.iter().map(|(low, high, at)| format!("{low}..{high}: {at}")).collect();
            format!("switch {} {{ {}; else {default} }}", operand(value), cases.join(", "))
        }
        Instruction::Call { target, arguments, result } => {
            let name = match target {
                CallTarget::Function(id) => module.functions[*id].name.clone(),
                CallTarget::External(id) => module.externals[*id].name.clone(),
                CallTarget::Pointer(pointer) => format!("*{}", operand(pointer)),
            };
            let arguments: Vec<String> = arguments
                .iter()
                .map(|a| match a {
                    CallArgument::Scalar(o, _) => operand(o),
                    CallArgument::Aggregate(o, size) => format!("{size} bytes at {}", operand(o)),
                })
                .collect();
            let to = match result {
                Destination::Nowhere => String::new(),
                Destination::Register(register, _) => format!("{register} = "),
                Destination::Memory(o, _) => format!("*{} = ", operand(o)),
            };
            format!("{to}call {name}({})", arguments.join(", "))
        }
        Instruction::Return(Returned::Nothing) => "return".into(),
        Instruction::Return(Returned::Scalar(o)) => format!("return {}", operand(o)),
        Instruction::Return(Returned::Aggregate(o, size)) => format!("return {size} bytes at {}", operand(o)),
        Instruction::ListStart { list } => format!("list start {}", operand(list)),
        Instruction::ListNext { to, list, .. } => format!("{to} = list next {}", operand(list)),
        Instruction::ListCopy { to, from } => format!("list copy {} to {}", operand(from), operand(to)),
        Instruction::ListEnd { list } => format!("list end {}", operand(list)),
        Instruction::ExclusiveBegin => "exclusive begin".into(),
        Instruction::ExclusiveEnd => "exclusive end".into(),
        Instruction::Fail { message } => format!("fail: {message}"),
        Instruction::Unreachable { message } => format!("unreachable: {message}"),
        Instruction::Unsupported { reason } => format!("unsupported: {reason}"),
    }
}
