//! Whole programs before their translation: classes of the library that they use, classes in bodies, generic classes, objects around objects.
//!
//! In: the classes of the files given. Out: classes that stand on their own, with fields for what they keep of their surroundings.
//! Deliberately absent: classes that are checked for any callers, which stay as they are written.

mod generics;
mod library;
mod lift;
mod outer;
mod relock;

use super::tree::JavaUnit;
use base::{Diagnostic, SourceId, Sources};

/// Makes a program with a `main` ready for the translation.
pub(crate) fn whole_program(
    sources: &mut Sources,
    files: &[SourceId],
    unit: &mut JavaUnit,
    diagnostics: &mut Vec<Diagnostic>,
) {
    library::add_used(sources, files, unit, diagnostics);
    lift::local_classes(unit);
    generics::make_instances(unit);
    outer::give_outer_objects(unit);
    for class in &mut unit.classes {
        let around = class.surroundings.type_params.clone();
        class.type_params.extend(around);
    }
}
