//! The tree to the model.
//!
//! In: a parsed file without errors and the user's settings (`--set`, `--threads`). Out: a `Program` with
//! origins, or diagnostics; never both errors and a program. Names are resolved and expressions typed on the way, so
//! that every statement is looked at once. What each statement means as a step is in `docs/decisions/001-model.md`.

mod atomic;
mod call;
mod code;
mod declare;
mod fresh;
mod heap;
mod machine;
mod memory;
mod once;
mod relation;
mod scan;
mod spec;
mod stmt;
mod thread;

use crate::lang::types::{CheckKind, Typing};
use crate::lang::{Parsed, ast, codes};
use base::{Diagnostic, SourceId, Sources, Span};
use logic::{Sort, Term};
use program::{Gate, OriginId, Program, Property, PropertyId, PropertyKind, VarId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::{Deref, DerefMut};

/// Statements that lowering looks at, inlined ones counted each time, before it gives up.
const MAX_STATEMENTS: usize = 1_000_000;
/// The stack lowering runs on: its recursion follows the tree and the calls, both of bounded depth.
const STACK_BYTES: usize = 256 << 20;

/// What the user sets from outside the file.
#[derive(Clone, Debug, Default)]
pub struct LoweringSettings {
    /// `--set N=8`: values of constants, as text.
    pub constants: Vec<(String, String)>,
    /// `--threads T=3`: numbers of copies.
    pub copies: Vec<(String, u32)>,
}

/// What lowering gives: a program unless there are errors.
#[derive(Debug)]
pub struct Lowered {
    pub program: Option<Program>,
    pub diagnostics: Vec<Diagnostic>,
}

/// Lowers a parsed file. The diagnostics of parsing are among those given.
pub fn lower_file(parsed: &Parsed, sources: &Sources, settings: &LoweringSettings) -> Lowered {
    if parsed.lost {
        return Lowered { program: None, diagnostics: parsed.diagnostics.clone() };
    }
    let work = || {
        let mut lowering = Lowering::new(parsed, sources, settings);
        lowering.file(&parsed.tree);
        let mut diagnostics = parsed.diagnostics.clone();
        diagnostics.append(&mut lowering.typing.diagnostics);
        diagnostics.sort_by_key(|d| d.span.start);
        let failed = diagnostics.iter().any(Diagnostic::is_error);
        Lowered { program: if failed { None } else { Some(lowering.typing.program) }, diagnostics }
    };
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("lowering".to_owned()).stack_size(STACK_BYTES);
        match builder.spawn_scoped(scope, work) {
            Ok(handle) => handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            // Without a second stack the ordinary one must do.
            Err(_) => work(),
        }
    })
}

/// A file on its way to a program.
pub(crate) struct Lowering<'a> {
    file: SourceId,
    settings: &'a LoweringSettings,
    typing: Typing<'a>,
    /// What is lowered now is the meaning of an operation: its expressions are total, and nothing in it is a property.
    in_spec: bool,
    /// Fields of type `lock`: free in a new object.
    lock_fields: FxHashSet<VarId>,
    /// Variables that are declared `private`, each with its name.
    private: Vec<(VarId, Span)>,
    /// Locals of type `lock`.
    local_locks: FxHashSet<VarId>,
    /// Which threads have ended, where some thread is joined.
    ended: Option<VarId>,
    /// Which threads a `join` may wait for.
    joined: scan::Joined,
    /// Parameters of each thread; `None`: it runs from the start.
    thread_params: Vec<Option<Vec<Sort>>>,
    properties: FxHashMap<(String, Span), PropertyId>,
    property_names: FxHashSet<String>,
    origins: FxHashMap<Span, OriginId>,
    statements: usize,
    /// Locals from here on belong to the block at hand.
    block_start: usize,
}

impl<'a> Deref for Lowering<'a> {
    type Target = Typing<'a>;
    fn deref(&self) -> &Typing<'a> {
        &self.typing
    }
}

impl DerefMut for Lowering<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.typing
    }
}

impl<'a> Lowering<'a> {
    fn new(parsed: &Parsed, sources: &'a Sources, settings: &'a LoweringSettings) -> Self {
        Self {
            file: parsed.file,
            settings,
            typing: Typing::new(sources, Program::new(sources.file(parsed.file).name.clone())),
            in_spec: false,
            lock_fields: FxHashSet::default(),
            private: Vec::new(),
            local_locks: FxHashSet::default(),
            ended: None,
            joined: scan::Joined::Nothing,
            thread_params: Vec::new(),
            properties: FxHashMap::default(),
            property_names: FxHashSet::default(),
            origins: FxHashMap::default(),
            statements: 0,
            block_start: 0,
        }
    }

    fn file(&mut self, tree: &'a ast::SourceTree) {
        self.declare(tree);
        self.formulas(tree);
        self.machines(tree);
        self.routine_specs();
        self.routine_codes();
        self.objects(tree);
        self.threads(tree);
        self.fresh_objects();
        if self.diagnostics.is_empty() {
            once::at_most_once(&mut self.program);
            self.private_is_hidden();
        }
    }

    /// What is declared private must be hidden from callers.
    fn private_is_hidden(&mut self) {
        if self.private.is_empty() {
            return;
        }
        let hidden = program::hidden::Hidden::of(&self.program);
        for (v, span) in std::mem::take(&mut self.private) {
            if let Some(why) = hidden.seen.get(&v) {
                let message = format!("`{}` cannot be private: {why}", self.program.vars[v].name);
                let hint = "only procedures that say what they perform without it may name a private variable";
                self.report(Diagnostic::error(codes::CANNOT_HIDE, span, message).label("seen by callers").hint(hint));
            }
        }
    }

    fn too_big(&mut self, span: Span) {
        let message = format!("the program has more than {MAX_STATEMENTS} statements after inlining");
        self.report(Diagnostic::error(codes::TOO_BIG, span, message));
    }

    /// The origin of a piece of source: its first line is what people call it.
    pub(crate) fn origin(&mut self, span: Span) -> OriginId {
        if let Some(origin) = self.origins.get(&span) {
            return *origin;
        }
        let text = self.sources.text(span);
        let line = text.lines().next().unwrap_or("").trim_end_matches([' ', '\t', '{', ';']);
        let short: String = line.chars().take(80).collect();
        let origin = self.program.add_origin(Some(span), short);
        self.origins.insert(span, origin);
        origin
    }

    /// A new property; its name is made unique by the column, then by a number.
    fn property(&mut self, kind: PropertyKind, name: &str, span: Span) -> PropertyId {
        let mut unique = name.to_owned();
        if self.property_names.contains(&unique) {
            unique = format!("{name}:{}", self.sources.file(span.file).position(span.start).1);
        }
        let mut number = 2;
        while self.property_names.contains(&unique) {
            unique = format!("{name}#{number}");
            number += 1;
        }
        self.property_names.insert(unique.clone());
        let origin = self.origin(span);
        self.program.properties.push(Property { kind, name: unique, origin })
    }

    /// The property of one kind at one place: the same wherever the place is inlined.
    fn property_at(&mut self, kind: PropertyKind, word: &str, span: Span) -> PropertyId {
        let class = match &kind {
            PropertyKind::Assertion => "assertion",
            PropertyKind::Division => "division",
            PropertyKind::Null => "null",
            PropertyKind::Freed => "freed",
            PropertyKind::Release => "release",
            PropertyKind::Bounds => "bounds",
            PropertyKind::Requires(_) => "requires",
            PropertyKind::Ensures(_) => "ensures",
            PropertyKind::Access(_) => "access",
            _ => "other",
        };
        let class = if matches!(kind, PropertyKind::Unmodelled(_)) { "unmodelled" } else { class };
        // One kind may stand for several things at one place: a call whose object is null and one that throws.
        let key = (format!("{class} {word}"), span);
        if let Some(property) = self.properties.get(&key) {
            return *property;
        }
        let line = self.sources.line_of(span);
        let property = self.property(kind, &format!("{word}:{line}"), span);
        self.properties.insert(key, property);
        property
    }

    /// The noted checks as gates: what makes a value first, then accesses.
    fn gates_apart(&mut self) -> (Vec<Gate>, Vec<Gate>) {
        let noted = std::mem::take(&mut self.noted);
        self.under.clear();
        if self.in_spec {
            return (Vec::new(), Vec::new());
        }
        let (mut checks, mut accesses) = (Vec::new(), Vec::new());
        for check in noted {
            let kind = match check.kind {
                CheckKind::Division => PropertyKind::Division,
                CheckKind::Null => PropertyKind::Null,
                CheckKind::Freed => PropertyKind::Freed,
                CheckKind::Bounds => PropertyKind::Bounds,
                CheckKind::Access(var) => {
                    if let Some(property) = self.access_property(var) {
                        accesses.push(Gate { property, formula: check.formula });
                    }
                    continue;
                }
            };
            let property = self.property_at(kind, check.kind.word(), check.span);
            checks.push(Gate { property, formula: check.formula });
        }
        (checks, accesses)
    }

    /// The gates of a statement that waits for its guard. Who waits takes no step, and so accesses nothing:
    /// `assume m == 0` is no access while another thread holds `m`.
    fn gates_of_waiting(&mut self, guard: Term) -> Vec<Gate> {
        let (mut gates, accesses) = self.gates_apart();
        let terms = &self.program.terms;
        gates.extend(accesses.into_iter().map(|g| Gate { formula: terms.implies(guard, g.formula), ..g }));
        gates
    }

    fn gates(&mut self) -> Vec<Gate> {
        let (mut checks, accesses) = self.gates_apart();
        checks.extend(accesses);
        checks
    }

    /// The property that a variable is accessed only where its predicate holds.
    fn access_property(&mut self, var: VarId) -> Option<PropertyId> {
        let origin = self.program.vars[var].access.as_ref()?.origin;
        let span = self.program.origins[origin].span?;
        let key = ("access".to_owned(), span);
        if let Some(property) = self.properties.get(&key) {
            return Some(*property);
        }
        let name = format!("access:{}", self.program.vars[var].name);
        let property = self.property(PropertyKind::Access(var), &name, span);
        self.properties.insert(key, property);
        Some(property)
    }

    /// A formula that may be `?`: the inner `None`. Nothing at all where it has an error.
    fn wanted_formula(&mut self, expr: &ast::Expr) -> Option<Option<Term>> {
        if matches!(expr.kind, ast::ExprKind::Unknown) {
            return Some(None);
        }
        let formula = self.formula(expr);
        self.noted.clear();
        self.under.clear();
        formula.map(Some)
    }
}
