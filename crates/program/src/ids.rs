//! The ids of everything that a program lists. In: nothing. Out: typed ids, which print as the text form prints them.
//! Deliberately absent: what they stand for (`model`, `code`, `property`, `spec`).

base::id_type!(
    /// A variable, shared or local.
    VarId, "v"
);
base::id_type!(
    /// A thread of the program text (of which there may be many instances).
    ThreadId, "th"
);
base::id_type!(
    /// Where something comes from.
    OriginId, "o"
);
base::id_type!(
    /// A location of one `Code`.
    LocId, "L"
);
base::id_type!(
    /// An action of one `Code`.
    ActionId, "a"
);
base::id_type!(
    /// A property of a program.
    PropertyId, "p"
);
base::id_type!(
    /// A procedure.
    ProcId, "proc"
);
base::id_type!(
    /// A machine.
    MachineId, "m"
);
base::id_type!(
    /// An object with a sequential specification.
    ObjectId, "obj"
);
