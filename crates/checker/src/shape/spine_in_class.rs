//! A spine, read off the program. In: what the certificate names. Out: the list with positions in its class, or nothing where it is
//! none. Deliberately absent: what steps do to it (`spine`).

use evidence::views::{Spine, SpineOrder};
use logic::{ClassId, SortKind};
use program::{Action, Code, Program, Scope, VarId};

/// A spine, with positions in its class.
#[derive(Clone, Debug)]
pub(crate) struct SpineInClass {
    pub class: ClassId,
    pub link: usize,
    pub key: usize,
    pub root: VarId,
    pub stops: Vec<VarId>,
    pub order: SpineOrder,
}

impl SpineInClass {
    /// The list that the certificate names, if it is one: a shared reference that no operation assigns, to objects with the key.
    pub(super) fn new(
        program: &Program,
        spine: Spine,
        codes: &[&Code],
        link: impl Fn(ClassId) -> Option<usize>,
    ) -> Option<Self> {
        let root = program.vars.get(spine.root)?;
        let SortKind::Ref(class) = program.terms.kind(root.sort) else { return None };
        let key = program.classes[class].fields.iter().position(|f| *f == spine.key)?;
        let SortKind::Map(_, entry) = program.terms.kind(program.vars[spine.key].sort) else { return None };
        let fixed: Vec<VarId> = program
            .shared()
            .filter(|v| program.vars[*v].sort == root.sort)
            .filter(|v| !codes.iter().any(|c| c.actions.iter().any(|a| a.updates.iter().any(|u| u.var == *v))))
            .collect();
        if root.scope != Scope::Shared || !entry.is_integer() || !fixed.contains(&spine.root) {
            return None;
        }
        let stops = fixed.into_iter().filter(|v| *v != spine.root).collect();
        Some(Self { class, link: link(class)?, key, root: spine.root, stops, order: spine.order })
    }
    /// The thread reads the root into one of its references.
    pub(super) fn looks(&self, program: &Program, action: &Action) -> bool {
        let root = program.vars[self.root].symbol;
        action.updates.iter().any(|u| {
            matches!(program.terms.kind(program.vars[u.var].sort), SortKind::Ref(_))
                && program.terms.free_symbols(u.value).contains(&root)
        })
    }
}
