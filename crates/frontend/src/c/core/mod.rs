//! From the typed tree of C to the core language: one pass, no facts, nothing repeated.
//!
//! In: `ast::Unit`. Out: a `core_lang::Module`. Every node of the tree becomes instructions or an `Unsupported` one with its place, which stops a
//! run as unknown and is never skipped. Every argument of every call is evaluated. This way shares nothing with `lower`, which makes the
//! model: it is the second opinion about it. `body` has statements and scopes, `expr` values, `place` places and initialisers, `builtins` the functions that
//! depend on types. Deliberately absent: optimisation, knowledge about what a library function does (that is the library table's).

mod body;
mod builtins;
mod expr;
#[cfg(test)]
mod outside_tests;
mod place;
#[cfg(test)]
mod replay_tests;
#[cfg(test)]
mod tests;

use super::ast::{self, CFunction, FnId, Init, Storage, TextId, Unit, VarId};
use super::lower::CCheck;
use super::types::{CType, CTypeKind, CTypes, Int, RecordId, RecordKind};
use body::{Body, NeedsMemory};
use core_lang as core;
use core_lang::{
    External, ExternalId, FloatWidth, FunctionId, IntType, Module, ObjectId, ResultKind, ScalarType, Signedness,
    ViolationKind,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// Lowers a unit. There is always a module; what cannot be said in it is `Unsupported` where it is reached.
pub fn lower_to_core(unit: &Unit) -> Module {
    let model = unit.types.model;
    let mut lowering = CoreLowering {
        unit,
        module: Module { pointer_bytes: model.pointer_bytes(), long_bytes: model.long_bytes(), ..Module::default() },
        objects: FxHashMap::default(),
        functions: FxHashMap::default(),
        externals: FxHashMap::default(),
        texts: FxHashMap::default(),
    };
    lowering.declare();
    lowering.define();
    lowering.module
}

/// The violations of the interpreter that break a property.
pub fn violations_of(check: CCheck) -> Vec<ViolationKind> {
    match check {
        CCheck::Reach => vec![ViolationKind::Assertion],
        CCheck::Race => vec![ViolationKind::DataRace],
        CCheck::Overflow => vec![ViolationKind::Overflow],
        CCheck::Deadlock => vec![ViolationKind::Deadlock],
        CCheck::Memory => vec![
            ViolationKind::NullDereference,
            ViolationKind::OutOfBounds,
            ViolationKind::UseAfterFree,
            ViolationKind::UseAfterScope,
            ViolationKind::WriteToConstant,
        ],
        CCheck::Free => vec![ViolationKind::InvalidFree],
        CCheck::Leak => vec![ViolationKind::Leak],
        CCheck::Division => vec![ViolationKind::DivisionByZero],
        CCheck::Unlock => vec![ViolationKind::Unlock],
        CCheck::Shift => vec![ViolationKind::Shift],
    }
}

/// The functions that are called and have neither a body nor a row in the library table, in the order of their names.
pub fn without_body(module: &Module) -> Vec<&str> {
    let mut names: Vec<&str> =
        module.externals.iter().map(|e| e.name.as_str()).filter(|name| !core_lang::library::has_row(name)).collect();
    names.sort_unstable();
    names.dedup();
    names
}

struct CoreLowering<'u> {
    unit: &'u Unit,
    module: Module,
    objects: FxHashMap<VarId, ObjectId>,
    functions: FxHashMap<FnId, FunctionId>,
    externals: FxHashMap<(String, Option<CType>), ExternalId>,
    texts: FxHashMap<TextId, ObjectId>,
}

impl CoreLowering<'_> {
    fn declare(&mut self) {
        let types = &self.unit.types;
        for (id, variable) in self.unit.variables.iter_enumerated() {
            let class = match variable.storage {
                Storage::Static => core::StorageClass::Static,
                Storage::ThreadLocal => core::StorageClass::Thread,
                Storage::Local | Storage::Parameter => continue,
            };
            let object = self.module.objects.push(core::StaticObject {
                name: variable.name.clone(),
                size: types.size(variable.ty).unwrap_or(0),
                align: types.align(variable.ty).max(1),
                class,
                image: Vec::new(),
                external: variable.external && variable.init.is_none(),
                span: variable.span,
            });
            self.objects.insert(id, object);
        }
        for (id, function) in self.unit.functions.iter_enumerated() {
            if function.body.is_some() {
                let result = result_kind(types, function.result);
                let made = self.module.functions.push(empty_function(&function.name, result, function));
                self.functions.insert(id, made);
                if function.name == "main" {
                    self.module.entry = Some(made);
                }
            }
        }
    }

    fn define(&mut self) {
        let unit = self.unit;
        for (id, function) in unit.functions.iter_enumerated() {
            let Some(made) = self.functions.get(&id).copied() else { continue };
            let mut in_memory = FxHashSet::default();
            // A variable is in a register until code is met that takes its address.
            let lowered = loop {
                match Body::function(self, function, &in_memory) {
                    Ok(lowered) => break lowered,
                    Err(NeedsMemory(variable)) => {
                        assert!(in_memory.insert(variable), "a variable in memory is asked into memory again");
                    }
                }
            };
            self.module.functions[made] = lowered;
        }
        self.initialiser();
    }

    /// The function that stores what is not constant bytes into objects of static storage.
    fn initialiser(&mut self) {
        let unit = self.unit;
        let mut rest: Vec<(VarId, Init)> = Vec::new();
        for (id, variable) in unit.variables.iter_enumerated() {
            let (Some(object), Some(init)) = (self.objects.get(&id).copied(), &variable.init) else { continue };
            let parts = match init {
                Init::Parts(parts) => parts.clone(),
                Init::Value(value) => vec![ast::InitPart { offset: 0, ty: variable.ty, value: value.clone() }],
            };
            let size = self.module.objects[object].size;
            let mut left = Vec::new();
            for part in parts {
                match constant_bytes(&unit.types, &part).filter(|b| part.offset + b.len() as u64 <= size) {
                    Some(bytes) if left.is_empty() => {
                        let image = &mut self.module.objects[object].image;
                        let end = part.offset as usize + bytes.len();
                        if image.len() < end {
                            image.resize(end, 0);
                        }
                        image[part.offset as usize..end].copy_from_slice(&bytes);
                    }
                    _ => left.push(part),
                }
            }
            if !left.is_empty() {
                rest.push((id, Init::Parts(left)));
            } else if variable.constant && variable.storage == Storage::Static {
                self.module.objects[object].class = core::StorageClass::Constant;
            }
        }
        if rest.is_empty() {
            return;
        }
        let function = Body::initialiser(self, &rest);
        let id = self.module.functions.push(function);
        self.module.initialiser = Some(id);
    }

    fn external(&mut self, function: &CFunction) -> ExternalId {
        let result = result_kind(&self.unit.types, function.result);
        let key = (function.name.clone(), Some(function.result));
        match self.externals.get(&key) {
            Some(id) => *id,
            None => {
                let id = self.module.externals.push(External {
                    name: function.name.clone(),
                    result,
                    noreturn: function.noreturn,
                });
                self.externals.insert(key, id);
                id
            }
        }
    }

    /// A function of the library table that the program does not declare.
    fn named_external(&mut self, name: &str, result: ResultKind) -> ExternalId {
        *self
            .externals
            .entry((name.to_string(), None))
            .or_insert_with(|| self.module.externals.push(External { name: name.to_string(), result, noreturn: false }))
    }

    fn text(&mut self, text: TextId, span: base::Span) -> ObjectId {
        if let Some(id) = self.texts.get(&text) {
            return *id;
        }
        let bytes = self.unit.texts[text].clone();
        let id = self.module.objects.push(core::StaticObject {
            name: "a string literal".into(),
            size: bytes.len() as u64,
            align: 1,
            class: core::StorageClass::Constant,
            image: bytes,
            external: false,
            span,
        });
        self.texts.insert(text, id);
        id
    }
}

fn empty_function(name: &str, result: ResultKind, function: &CFunction) -> core::Function {
    core::Function {
        name: name.to_string(),
        parameters: Vec::new(),
        variadic: if function.variadic { core::Variadic::More } else { core::Variadic::Fixed },
        result,
        registers: 0,
        locals: base::IdVec::new(),
        code: Vec::new(),
        spans: Vec::new(),
        span: function.span,
    }
}

/// The scalar that a type is, if it is one that the core computes with.
fn scalar_of(types: &CTypes, ty: CType) -> Option<ScalarType> {
    match types.kind(ty) {
        CTypeKind::Int(int) => Some(ScalarType::Int(int_type(types, *int))),
        CTypeKind::Float(4) => Some(ScalarType::Float(FloatWidth::Single)),
        CTypeKind::Float(8) => Some(ScalarType::Float(FloatWidth::Double)),
        CTypeKind::Pointer(_) => Some(ScalarType::Pointer),
        _ => None,
    }
}

fn int_type(types: &CTypes, int: Int) -> IntType {
    let sign = if int.signed() { Signedness::Signed } else { Signedness::Unsigned };
    IntType { sign, bits: int.bits(types.model) }
}

fn result_kind(types: &CTypes, ty: CType) -> ResultKind {
    match scalar_of(types, ty) {
        Some(scalar) => ResultKind::Scalar(scalar),
        None if types.is_void(ty) => ResultKind::Nothing,
        None => ResultKind::Bytes(types.size(ty).unwrap_or(0)),
    }
}

/// The bytes of a constant part of an initialiser.
fn constant_bytes(types: &CTypes, part: &ast::InitPart) -> Option<Vec<u8>> {
    if part.offset >= super::types::BIT_FIELD {
        return None;
    }
    let value = part.value.as_const()?;
    match types.kind(part.ty) {
        CTypeKind::Int(_) | CTypeKind::Pointer(_) => {
            let size = types.size(part.ty)? as usize;
            Some(value.to_le_bytes()[..size].to_vec())
        }
        _ => None,
    }
}

/// The first bit of a bit-field in its record, by the rules of System V: it lies in the next bits that do not cross a boundary of its type.
fn bit_offset(types: &CTypes, record: RecordId, index: usize) -> u64 {
    let record = &types.records[record];
    if record.kind == RecordKind::Union {
        return 0;
    }
    let fields = record.fields.as_deref().unwrap_or_default();
    let mut bit = 0u64;
    for (number, field) in fields.iter().enumerate() {
        let own = if record.packed { 1 } else { types.align(field.ty).max(1) };
        let align = own.max(field.align) * 8;
        let size = types.size(field.ty).unwrap_or(0) * 8;
        match field.bits.map(u64::from) {
            Some(width) => {
                let unit = size.max(8);
                if width == 0 || (!record.packed && bit / unit != (bit + width - 1) / unit) {
                    bit = bit.next_multiple_of(align);
                }
                if number == index {
                    return bit;
                }
                bit += width;
            }
            None => {
                bit = bit.next_multiple_of(8).next_multiple_of(align) + size;
            }
        }
    }
    bit
}
