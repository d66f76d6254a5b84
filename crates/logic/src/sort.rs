//! Sorts.
//!
//! In: nothing. Out: `Sort`, a `Copy` id whose structure is kept in `Terms`. Machine integers are a sort of their own
//! (their operations wrap); thread ids and locks are plain `Int`.

base::id_type!(
    /// A sort, interned in `Terms`.
    Sort, "s"
);
base::id_type!(
    /// An enumeration.
    EnumId, "e"
);
base::id_type!(
    /// A class of heap objects.
    ClassId, "c"
);

/// A machine integer type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MachineIntSort {
    pub bits: u8,
    pub signed: bool,
}

impl MachineIntSort {
    pub const ALL: [MachineIntSort; 8] = [
        MachineIntSort { bits: 8, signed: true },
        MachineIntSort { bits: 16, signed: true },
        MachineIntSort { bits: 32, signed: true },
        MachineIntSort { bits: 64, signed: true },
        MachineIntSort { bits: 8, signed: false },
        MachineIntSort { bits: 16, signed: false },
        MachineIntSort { bits: 32, signed: false },
        MachineIntSort { bits: 64, signed: false },
    ];
    pub fn min(self) -> i128 {
        if self.signed { -(1i128 << (self.bits - 1)) } else { 0 }
    }
    pub fn max(self) -> i128 {
        if self.signed { (1i128 << (self.bits - 1)) - 1 } else { (1i128 << self.bits) - 1 }
    }
    /// The value of this type that is equal to `value` modulo 2^bits.
    pub fn wrap(self, value: i128) -> i128 {
        let m = value.rem_euclid(1i128 << self.bits);
        if m > self.max() { m - (1i128 << self.bits) } else { m }
    }
    pub fn name(self) -> &'static str {
        match (self.signed, self.bits) {
            (true, 8) => "i8",
            (true, 16) => "i16",
            (true, 32) => "i32",
            (true, _) => "i64",
            (false, 8) => "u8",
            (false, 16) => "u16",
            (false, 32) => "u32",
            (false, _) => "u64",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SortKind {
    Bool,
    /// Mathematical integers; also thread ids and locks.
    Int,
    Machine(MachineIntSort),
    Enum(EnumId),
    /// An object of a class, or null.
    Ref(ClassId),
    /// A total map.
    Map(Sort, Sort),
    /// A finite set.
    Set(Sort),
    Seq(Sort),
}

impl Sort {
    pub const BOOL: Sort = Sort(0);
    pub const INT: Sort = Sort(1);
    /// The sort of a machine type: these have fixed ids in every `Terms`.
    pub fn machine(m: MachineIntSort) -> Sort {
        let at = MachineIntSort::ALL.iter().position(|x| *x == m).expect("every machine type is listed");
        Sort(2 + at as u32)
    }
    pub fn as_machine(self) -> Option<MachineIntSort> {
        (2..10).contains(&self.0).then(|| MachineIntSort::ALL[self.index() - 2])
    }
    /// Int or a machine integer.
    pub fn is_integer(self) -> bool {
        self == Sort::INT || self.as_machine().is_some()
    }
}
