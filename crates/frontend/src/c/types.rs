//! C types: interned kinds, qualifiers, sizes and layout by data model, promotions and the usual arithmetic conversions.
//!
//! In: requests of the converter (`convert`). Out: `CType`, a small copyable handle, and what C says of it
//! (C11 6.2.5, 6.3.1, 6.7.2). The synchronisation types of the thread library are opaque kinds of their own, so that
//! no code can look inside a mutex by accident. Deliberately absent: decimal and complex floats, vectors, bit-precise
//! layout of bit-fields (a bit-field is kept as a field of its declared type with its width noted, and every access
//! to its address is refused by C itself).

use base::{IdVec, Span};
use rustc_hash::FxHashMap;

/// Sizes of the basic types: the two models the public tasks use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataModel {
    Ilp32,
    Lp64,
}

impl DataModel {
    pub fn parse(text: &str) -> Option<DataModel> {
        match text.to_ascii_uppercase().as_str() {
            "ILP32" => Some(DataModel::Ilp32),
            "LP64" => Some(DataModel::Lp64),
            _ => None,
        }
    }
    pub fn pointer_bytes(self) -> u64 {
        match self {
            DataModel::Ilp32 => 4,
            DataModel::Lp64 => 8,
        }
    }
    pub fn long_bytes(self) -> u64 {
        self.pointer_bytes()
    }
    pub fn name(self) -> &'static str {
        match self {
            DataModel::Ilp32 => "ILP32",
            DataModel::Lp64 => "LP64",
        }
    }
}

base::id_type!(
    /// A struct or union.
    RecordId, "rec"
);

/// The integer types, in the order of their conversion rank (C11 6.3.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(clippy::enum_variant_names, reason = "the names are those of C")]
pub(crate) enum Int {
    Bool,
    Char,
    UChar,
    Short,
    UShort,
    Int,
    UInt,
    Long,
    ULong,
    LongLong,
    ULongLong,
    Int128,
    UInt128,
}

impl Int {
    pub(crate) fn signed(self) -> bool {
        matches!(self, Int::Char | Int::Short | Int::Int | Int::Long | Int::LongLong | Int::Int128)
    }
    pub(crate) fn to_unsigned(self) -> Int {
        match self {
            Int::Char => Int::UChar,
            Int::Short => Int::UShort,
            Int::Int => Int::UInt,
            Int::Long => Int::ULong,
            Int::LongLong => Int::ULongLong,
            Int::Int128 => Int::UInt128,
            other => other,
        }
    }
    pub(crate) fn bytes(self, model: DataModel) -> u64 {
        match self {
            Int::Bool | Int::Char | Int::UChar => 1,
            Int::Short | Int::UShort => 2,
            Int::Int | Int::UInt => 4,
            Int::Long | Int::ULong => model.long_bytes(),
            Int::LongLong | Int::ULongLong => 8,
            Int::Int128 | Int::UInt128 => 16,
        }
    }
    /// Value bits: 1 for `_Bool`.
    pub(crate) fn bits(self, model: DataModel) -> u32 {
        match self {
            Int::Bool => 1,
            other => other.bytes(model) as u32 * 8,
        }
    }
    /// The smallest and largest value; 128-bit types are cut to what an `i128` holds.
    pub(crate) fn range(self, model: DataModel) -> (i128, i128) {
        let bits = self.bits(model);
        match (self.signed(), bits) {
            (true, 128) => (i128::MIN, i128::MAX),
            (false, 128) => (0, i128::MAX),
            (true, _) => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
            (false, _) => (0, (1i128 << bits) - 1),
        }
    }
    /// The value reduced into the type, as a conversion does on every machine we know (C11 6.3.1.3).
    pub(crate) fn wrap(self, value: i128, model: DataModel) -> i128 {
        if self == Int::Bool {
            return i128::from(value != 0);
        }
        let bits = self.bits(model);
        if bits >= 128 {
            return value;
        }
        let modulus = 1i128 << bits;
        let low = value.rem_euclid(modulus);
        if self.signed() && low >= modulus >> 1 { low - modulus } else { low }
    }
    pub(crate) fn name(self) -> &'static str {
        match self {
            Int::Bool => "_Bool",
            Int::Char => "char",
            Int::UChar => "unsigned char",
            Int::Short => "short",
            Int::UShort => "unsigned short",
            Int::Int => "int",
            Int::UInt => "unsigned int",
            Int::Long => "long",
            Int::ULong => "unsigned long",
            Int::LongLong => "long long",
            Int::ULongLong => "unsigned long long",
            Int::Int128 => "__int128",
            Int::UInt128 => "unsigned __int128",
        }
    }
}

/// Types of the thread library whose inside no program may look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Opaque {
    Mutex,
    MutexAttribute,
    Condition,
    ReadWriteLock,
    Barrier,
    Semaphore,
    Once,
    SpinLock,
    /// Attributes that change nothing we model (thread, condition, barrier and read-write lock attributes).
    Attribute,
}

impl Opaque {
    /// The kind a library typedef stands for.
    pub(crate) fn of_typedef(name: &str) -> Option<Opaque> {
        Some(match name {
            "pthread_mutex_t" | "mtx_t" => Opaque::Mutex,
            "pthread_mutexattr_t" => Opaque::MutexAttribute,
            "pthread_cond_t" | "cnd_t" => Opaque::Condition,
            "pthread_rwlock_t" => Opaque::ReadWriteLock,
            "pthread_barrier_t" => Opaque::Barrier,
            "sem_t" => Opaque::Semaphore,
            "pthread_once_t" | "once_flag" => Opaque::Once,
            "pthread_spinlock_t" => Opaque::SpinLock,
            "pthread_attr_t" | "pthread_condattr_t" | "pthread_barrierattr_t" | "pthread_rwlockattr_t" => {
                Opaque::Attribute
            }
            _ => return None,
        })
    }
    fn bytes(self, model: DataModel) -> u64 {
        let wide = model == DataModel::Lp64;
        match self {
            Opaque::Mutex => 24 + if wide { 16 } else { 0 },
            Opaque::Condition => 48,
            Opaque::ReadWriteLock | Opaque::Attribute => 32 + if wide { 24 } else { 0 },
            Opaque::Barrier => 20 + if wide { 12 } else { 0 },
            Opaque::Semaphore => 16 + if wide { 16 } else { 0 },
            Opaque::MutexAttribute | Opaque::Once | Opaque::SpinLock => 4,
        }
    }
    pub(crate) fn name(self) -> &'static str {
        match self {
            Opaque::Mutex => "pthread_mutex_t",
            Opaque::MutexAttribute => "pthread_mutexattr_t",
            Opaque::Condition => "pthread_cond_t",
            Opaque::ReadWriteLock => "pthread_rwlock_t",
            Opaque::Barrier => "pthread_barrier_t",
            Opaque::Semaphore => "sem_t",
            Opaque::Once => "pthread_once_t",
            Opaque::SpinLock => "pthread_spinlock_t",
            Opaque::Attribute => "an attribute type of the thread library",
        }
    }
}

/// Qualifiers that change what a step is; `const` and `restrict` do not and are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct Qualifiers {
    pub atomic: bool,
    pub(crate) volatile: bool,
}

/// A type: an interned kind with qualifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CType {
    kind: u32,
    pub(crate) quals: Qualifiers,
}

impl CType {
    pub(crate) fn unqualified(self) -> CType {
        CType { quals: Qualifiers::default(), ..self }
    }
    pub(crate) fn qualified(self, quals: Qualifiers) -> CType {
        CType {
            quals: Qualifiers {
                atomic: self.quals.atomic || quals.atomic,
                volatile: self.quals.volatile || quals.volatile,
            },
            ..self
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CTypeKind {
    Void,
    Int(Int),
    /// A floating type of so many bytes; its values are not modelled.
    Float(u64),
    Pointer(CType),
    /// An array; `None` is an incomplete or variable length.
    Array(CType, Option<u64>),
    Record(RecordId),
    Function(Signature),
    Opaque(Opaque),
    VarArgs,
    /// A type we could not make out; every use of it is an unmodelled construct with this reason.
    Unknown(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Signature {
    pub result: CType,
    pub params: Vec<CType>,
    pub(crate) arity: Arity,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Arity {
    Fixed,
    /// Ends in `...`.
    AtLeast,
    /// `f()`: nothing is known of the parameters.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordKind {
    Struct,
    Union,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CField {
    /// Empty for an anonymous struct or union member.
    pub name: String,
    pub ty: CType,
    /// In bytes; see `BIT_FIELD`.
    pub offset: u64,
    /// The width of a bit-field.
    pub bits: Option<u32>,
    /// For a bit-field: the bytes of it and its neighbours, which are one location of memory (C11 3.14).
    pub run: u64,
    /// The least alignment that an attribute asks for.
    pub align: u64,
    pub span: Span,
}

/// A bit-field has no address of its own: its offset is that of its unit and, above, a multiple of this that no other
/// field of the record has.
pub(crate) const BIT_FIELD: u64 = 1 << 48;

#[derive(Clone, Debug)]
pub struct CRecord {
    pub kind: RecordKind,
    pub(crate) tag: Option<String>,
    /// `None` while the type is incomplete.
    pub fields: Option<Vec<CField>>,
    pub size: u64,
    pub align: u64,
    pub packed: bool,
}

/// All types of a translation unit.
#[derive(Clone, Debug)]
pub struct CTypes {
    pub model: DataModel,
    kinds: Vec<CTypeKind>,
    interned: FxHashMap<CTypeKind, u32>,
    pub records: IdVec<RecordId, CRecord>,
}

impl CTypes {
    pub(crate) fn new(model: DataModel) -> Self {
        Self { model, kinds: Vec::new(), interned: FxHashMap::default(), records: IdVec::new() }
    }
    pub(crate) fn intern(&mut self, kind: CTypeKind) -> CType {
        let next = self.kinds.len() as u32;
        let id = *self.interned.entry(kind.clone()).or_insert(next);
        if id == next {
            self.kinds.push(kind);
        }
        CType { kind: id, quals: Qualifiers::default() }
    }
    pub(crate) fn kind(&self, ty: CType) -> &CTypeKind {
        &self.kinds[ty.kind as usize]
    }
    pub(crate) fn int(&mut self, int: Int) -> CType {
        self.intern(CTypeKind::Int(int))
    }
    pub(crate) fn void(&mut self) -> CType {
        self.intern(CTypeKind::Void)
    }
    pub(crate) fn pointer(&mut self, to: CType) -> CType {
        self.intern(CTypeKind::Pointer(to))
    }
    pub(crate) fn size_type(&mut self) -> CType {
        self.int(Int::ULong)
    }
    pub(crate) fn as_int(&self, ty: CType) -> Option<Int> {
        match self.kind(ty) {
            CTypeKind::Int(i) => Some(*i),
            _ => None,
        }
    }
    pub(crate) fn pointee(&self, ty: CType) -> Option<CType> {
        match self.kind(ty) {
            CTypeKind::Pointer(to) => Some(*to),
            _ => None,
        }
    }
    pub(crate) fn is_scalar(&self, ty: CType) -> bool {
        matches!(self.kind(ty), CTypeKind::Int(_) | CTypeKind::Float(_) | CTypeKind::Pointer(_))
    }
    pub(crate) fn is_float(&self, ty: CType) -> bool {
        matches!(self.kind(ty), CTypeKind::Float(_))
    }
    pub(crate) fn is_void(&self, ty: CType) -> bool {
        matches!(self.kind(ty), CTypeKind::Void)
    }
    pub(crate) fn record(&self, ty: CType) -> Option<RecordId> {
        match self.kind(ty) {
            CTypeKind::Record(r) => Some(*r),
            _ => None,
        }
    }

    /// Size in bytes; `None` for incomplete and function types (GNU C gives 1 to `void` and functions).
    pub(crate) fn size(&self, ty: CType) -> Option<u64> {
        Some(match self.kind(ty) {
            CTypeKind::Void | CTypeKind::Function(_) => 1,
            CTypeKind::Int(i) => i.bytes(self.model),
            CTypeKind::Float(b) => *b,
            CTypeKind::Pointer(_) => self.model.pointer_bytes(),
            CTypeKind::Array(of, Some(n)) => self.size(*of)? * n,
            CTypeKind::Array(_, None) | CTypeKind::Unknown(_) => return None,
            CTypeKind::Record(r) => {
                let record = &self.records[*r];
                record.fields.as_ref()?;
                record.size
            }
            CTypeKind::Opaque(o) => o.bytes(self.model),
            CTypeKind::VarArgs => 3 * self.model.pointer_bytes(),
        })
    }
    pub(crate) fn align(&self, ty: CType) -> u64 {
        match self.kind(ty) {
            CTypeKind::Void | CTypeKind::Function(_) | CTypeKind::Unknown(_) => 1,
            CTypeKind::Int(_) | CTypeKind::Float(_) => {
                let size = self.size(ty).unwrap_or(1);
                // On 32-bit x86 an 8-byte scalar inside a struct is aligned to 4.
                if self.model == DataModel::Ilp32 { size.min(4) } else { size.min(16) }
            }
            CTypeKind::Pointer(_) | CTypeKind::VarArgs => self.model.pointer_bytes(),
            CTypeKind::Array(of, _) => self.align(*of),
            CTypeKind::Record(r) => self.records[*r].align.max(1),
            CTypeKind::Opaque(o) => match o {
                Opaque::MutexAttribute | Opaque::Once | Opaque::SpinLock => 4,
                _ => self.model.pointer_bytes(),
            },
        }
    }

    /// Lays out the fields of a record and completes it (C11 6.7.2.1, System V). A bit-field lies in the next bits that do not
    /// cross a boundary of its type; what follows begins at the next byte that its own alignment allows.
    pub(crate) fn complete(&mut self, record: RecordId, mut fields: Vec<CField>, packed: bool, least: u64) {
        let kind = self.records[record].kind;
        let (mut end, mut align) = (0u64, least.max(1));
        // The run of bit-fields at hand: its first byte, its first field, and the bits up to its end.
        let mut run: Option<(u64, usize, u64)> = None;
        for number in 0..fields.len() {
            let field = &fields[number];
            let own = if packed { 1 } else { self.align(field.ty).max(1) };
            let field_align = own.max(field.align);
            let size = self.size(field.ty).unwrap_or(0);
            if let (Some(bits), RecordKind::Struct) = (field.bits, kind) {
                if field.name != "<padding>" {
                    align = align.max(field_align);
                }
                let (unit, bits) = (size.max(1) * 8, u64::from(bits));
                let mut at = run.map_or(end * 8, |(_, _, next)| next);
                if bits == 0 || (!packed && at / unit != (at + bits - 1) / unit) {
                    at = at.next_multiple_of(field_align * 8);
                }
                let (first, from) = run.map_or((at / 8, number), |(first, from, _)| (first, from));
                fields[number].offset = first + BIT_FIELD * (number as u64 + 1);
                end = (at + bits).div_ceil(8);
                run = (bits > 0).then_some((first, from, at + bits));
                for f in fields[from..=number].iter_mut().filter(|_| bits > 0) {
                    f.run = end - first;
                }
                continue;
            }
            run = None;
            align = align.max(field_align);
            let field = &mut fields[number];
            match kind {
                RecordKind::Struct => {
                    field.offset = end.next_multiple_of(field_align);
                    end = field.offset + size;
                }
                RecordKind::Union => {
                    field.offset = field.bits.map_or(0, |_| BIT_FIELD * (number as u64 + 1));
                    field.run = size;
                    end = end.max(size);
                }
            }
        }
        let entry = &mut self.records[record];
        entry.fields = Some(fields);
        entry.align = align;
        entry.size = end.next_multiple_of(align);
        entry.packed = packed;
    }

    /// A field by name, through anonymous members: the path of field indices.
    pub(crate) fn find_field(&self, record: RecordId, name: &str) -> Option<Vec<usize>> {
        let fields = self.records[record].fields.as_ref()?;
        for (i, field) in fields.iter().enumerate() {
            if field.name == name && !name.is_empty() {
                return Some(vec![i]);
            }
            if field.name.is_empty()
                && let Some(inner) = self.record(field.ty)
                && let Some(mut path) = self.find_field(inner, name)
            {
                path.insert(0, i);
                return Some(path);
            }
        }
        None
    }
    pub(crate) fn field(&self, record: RecordId, index: usize) -> Option<&CField> {
        self.records[record].fields.as_ref()?.get(index)
    }

    /// Integer promotion (C11 6.3.1.1): everything narrower than `int` becomes `int`.
    pub(crate) fn promote(&self, int: Int) -> Int {
        if int < Int::Int { Int::Int } else { int }
    }
    /// The usual arithmetic conversions on integers (C11 6.3.1.8).
    pub(crate) fn common(&self, a: Int, b: Int) -> Int {
        let (a, b) = (self.promote(a), self.promote(b));
        if a == b {
            return a;
        }
        if a.signed() == b.signed() {
            return a.max(b);
        }
        let (unsigned, signed) = if a.signed() { (b, a) } else { (a, b) };
        if unsigned > signed {
            // The unsigned type has the same or a higher rank.
            unsigned
        } else if signed.bits(self.model) > unsigned.bits(self.model) {
            signed
        } else {
            signed.to_unsigned()
        }
    }

    /// The type as C writes it, for messages.
    pub(crate) fn show(&self, ty: CType) -> String {
        let base = match self.kind(ty) {
            CTypeKind::Void => "void".into(),
            CTypeKind::Int(i) => i.name().to_string(),
            CTypeKind::Float(4) => "float".into(),
            CTypeKind::Float(_) => "double".into(),
            CTypeKind::Pointer(to) => format!("{} *", self.show(*to)),
            CTypeKind::Array(of, Some(n)) => format!("{}[{n}]", self.show(*of)),
            CTypeKind::Array(of, None) => format!("{}[]", self.show(*of)),
            CTypeKind::Record(r) => {
                let record = &self.records[*r];
                let word = if record.kind == RecordKind::Struct { "struct" } else { "union" };
                match &record.tag {
                    Some(tag) => format!("{word} {tag}"),
                    None => format!("{word} #{}", r.index()),
                }
            }
            CTypeKind::Function(sig) => {
                let params: Vec<String> = sig.params.iter().map(|p| self.show(*p)).collect();
                format!("{}({})", self.show(sig.result), params.join(", "))
            }
            CTypeKind::Opaque(o) => o.name().into(),
            CTypeKind::VarArgs => "va_list".into(),
            CTypeKind::Unknown(why) => format!("<{why}>"),
        };
        if ty.quals.atomic { format!("_Atomic {base}") } else { base }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_usual_arithmetic_conversions_follow_rank_and_width() {
        let narrow = CTypes::new(DataModel::Ilp32);
        let wide = CTypes::new(DataModel::Lp64);
        assert_eq!(narrow.common(Int::UInt, Int::Long), Int::ULong);
        assert_eq!(wide.common(Int::UInt, Int::Long), Int::Long);
        assert_eq!(wide.common(Int::Char, Int::UShort), Int::Int);
        assert_eq!(wide.common(Int::Int, Int::UInt), Int::UInt);
        assert_eq!(wide.common(Int::ULong, Int::LongLong), Int::ULongLong);
    }

    #[test]
    fn check_wrap_reduces_into_the_type() {
        assert_eq!(Int::Char.wrap(200, DataModel::Lp64), -56);
        assert_eq!(Int::UChar.wrap(-1, DataModel::Lp64), 255);
        assert_eq!(Int::Bool.wrap(256, DataModel::Lp64), 1);
        assert_eq!(Int::Int.wrap(1 << 31, DataModel::Ilp32), -(1 << 31));
    }
}
