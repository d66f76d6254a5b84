//! Declarations: constants, enums, classes, variables, and the signatures of everything that can be called.
//!
//! In: the items of a tree. Out: the program's enums, classes, variables and formulas, name tables for the rest of
//! lowering, and diagnostics for what is declared twice or is no constant. Deliberately absent: bodies (`stmt`) and
//! specifications (`spec`).

use super::{Lowering, scan};
use crate::lang::ast::{
    AccessClause, ExprKind, Item, ItemKind, MemberKind, Name, Privacy, Proc, SourceTree, StmtKind, Type, TypeKind,
    VarDecl,
};
use crate::lang::codes;
use crate::lang::resolve::{Allowed, CallableDecl, Members, NameTable, NameView, Named, TypeName, nearest};
use base::{Diagnostic, Span};
use logic::{ClassId, Node, Sort, SortKind, Symbol, Term, Value};
use program::{Class, InitialFact, PropertyKind, Rely, Scope, VarId, VarKind};

impl<'a> Lowering<'a> {
    pub(super) fn declare(&mut self, tree: &'a SourceTree) {
        scan::statements(tree, &mut |stmt| self.frees |= matches!(stmt.kind, StmtKind::Free(_)));
        self.types(&tree.items);
        self.constants(&tree.items);
        self.fields(&tree.items);
        self.shared(tree);
        self.initial_heap();
        self.callables(tree);
    }

    pub(super) fn declared_twice(&mut self, name: &Name, first: Span) {
        let diagnostic =
            Diagnostic::error(codes::DECLARED_TWICE, name.span, format!("`{}` is declared twice", name.kind))
                .label("declared again")
                .also(first, "first declared here");
        self.report(diagnostic);
    }

    fn types(&mut self, items: &'a [Item]) {
        for item in items {
            match &item.kind {
                ItemKind::Enum { name, variants } => {
                    let names: Vec<String> = variants.iter().map(|v| v.kind.to_string()).collect();
                    if names.is_empty() {
                        let message = format!("the enum `{}` has no values", name.kind);
                        self.report(
                            Diagnostic::error(codes::TYPE_UNKNOWN, name.span, message).label("expected a value"),
                        );
                        continue;
                    }
                    let id = self.program.terms.declare_enum(&*name.kind, names);
                    if let Err(first) = self.globals.types.declare(name, TypeName::Enum(id)) {
                        self.declared_twice(name, first);
                    }
                    for (at, variant) in variants.iter().enumerate() {
                        let term = self.program.terms.variant(id, at as u32);
                        if let Err(first) = self.globals.values.declare(variant, Named::Value(term)) {
                            self.declared_twice(variant, first);
                        }
                    }
                }
                ItemKind::Class { name, .. } => {
                    let id = self.program.terms.declare_class(&*name.kind);
                    if let Err(first) = self.globals.types.declare(name, TypeName::Class(id)) {
                        self.declared_twice(name, first);
                    }
                    let sort = self.program.terms.sort(SortKind::Ref(id));
                    let set = self.program.terms.sort(SortKind::Set(sort));
                    let origin = self.origin(item.span);
                    let none = self.program.terms.mk(logic::Op::EmptySet(set), &[]);
                    let live_name = self.unique_name(&format!("live_{}", name.kind));
                    let live =
                        self.program.add_var(&live_name, set, Scope::Shared, VarKind::Live(id), Some(none), origin);
                    self.program.classes.push(Class { name: name.kind.to_string(), fields: Vec::new(), live, origin });
                    self.globals.fields.insert(id, NameTable::default());
                }
                _ => {}
            }
        }
    }

    fn constants(&mut self, items: &'a [Item]) {
        let mut used = vec![false; self.settings.constants.len()];
        for item in items {
            let ItemKind::Const { name, ty, value } = &item.kind else { continue };
            let Some(sort) = self.sort(ty) else {
                self.broken.insert(name.kind.to_string());
                continue;
            };
            let setting = self.settings.constants.iter().rposition(|(n, _)| **n == *name.kind);
            let term = match (setting, value) {
                (Some(at), _) => {
                    for (index, (n, _)) in self.settings.constants.iter().enumerate() {
                        used[index] |= **n == *name.kind;
                    }
                    self.setting_value(at, name, sort)
                }
                (None, Some(value)) if items.iter().any(|i| is_var_in(i, value)) => {
                    let diagnostic = Diagnostic::error(codes::NOT_CONSTANT, value.span, "this has no constant value")
                        .label("expected a constant")
                        .hint("a variable changes; only numbers and other constants can be used here");
                    self.report(diagnostic);
                    None
                }
                (None, Some(value)) => self.expr(value, sort).and_then(|t| self.evaluated(t, sort, value.span)),
                (None, None) => {
                    let origin = self.origin(item.span);
                    let var_name = self.unique_name(&name.kind);
                    let var = self.program.add_var(&var_name, sort, Scope::Shared, VarKind::Plain, None, origin);
                    self.constants.insert(var);
                    if let Err(first) = self.globals.values.declare(name, Named::Var(var)) {
                        self.declared_twice(name, first);
                    }
                    continue;
                }
            };
            // The uses of a constant in error say nothing more.
            let Some(term) = term else {
                self.broken.insert(name.kind.to_string());
                continue;
            };
            if let Err(first) = self.globals.values.declare(name, Named::Value(term)) {
                self.declared_twice(name, first);
            }
        }
        for (at, used) in used.into_iter().enumerate() {
            if !used {
                let name = self.settings.constants[at].0.clone();
                let names: Vec<&str> = items
                    .iter()
                    .filter_map(|i| if let ItemKind::Const { name, .. } = &i.kind { Some(&*name.kind) } else { None })
                    .collect();
                let near = nearest(&name, names).map(str::to_owned);
                let message = format!("there is no constant `{name}` to set");
                let mut diagnostic = Diagnostic::error(codes::BAD_SETTING, Span::new(self.file, 0, 0), message);
                if let Some(near) = near {
                    diagnostic = diagnostic.hint(format!("did you mean `{near}`?"));
                }
                self.report(diagnostic);
            }
        }
    }

    /// The value given on the command line.
    fn setting_value(&mut self, at: usize, name: &Name, sort: Sort) -> Option<Term> {
        let text = self.settings.constants[at].1.trim().to_owned();
        let terms = &self.program.terms;
        let value = match terms.kind(sort) {
            SortKind::Bool => text.parse::<bool>().ok().map(|b| terms.bool(b)),
            SortKind::Int => text.parse::<i128>().ok().map(|n| terms.int(n)),
            SortKind::Machine(m) => {
                text.parse::<i128>().ok().filter(|n| (m.min()..=m.max()).contains(n)).map(|n| terms.num(n, sort))
            }
            SortKind::Enum(e) => {
                let variants = terms.enum_decl(e).variants;
                variants.iter().position(|v| *v == text).map(|v| terms.variant(e, v as u32))
            }
            _ => None,
        };
        if value.is_none() {
            let expected = self.sort_name(sort);
            let message = format!("`{text}` is no value for the constant `{}`", name.kind);
            let diagnostic = Diagnostic::error(codes::BAD_SETTING, name.span, message);
            self.report(diagnostic.label(format!("expected a value of type {expected}")));
        }
        value
    }

    /// The value of a constant expression.
    pub(super) fn evaluated(&mut self, term: Term, sort: Sort, span: Span) -> Option<Term> {
        let terms = &self.program.terms;
        let env: rustc_hash::FxHashMap<Symbol, Value> = rustc_hash::FxHashMap::default();
        let value = logic::eval_term(terms, term, &env).ok().and_then(|v| v.to_term(terms, sort));
        if value.is_none() {
            let diagnostic = Diagnostic::error(codes::NOT_CONSTANT, span, "this has no constant value")
                .label("expected a constant")
                .hint("only numbers and other constants can be used here");
            self.report(diagnostic);
        }
        value
    }

    fn fields(&mut self, items: &'a [Item]) {
        for item in items {
            let ItemKind::Class { name, fields } = &item.kind else { continue };
            let Some(TypeName::Class(id)) = self.globals.types.get(&name.kind) else { continue };
            let reference = self.program.terms.sort(SortKind::Ref(id));
            for field in fields {
                let Some(sort) = self.sort(&field.ty) else {
                    self.broken.insert(field.name.kind.to_string());
                    continue;
                };
                let map = self.program.terms.map_sort(reference, sort);
                let origin = self.origin(field.span.0);
                let var_name = self.unique_name(&format!("{}.{}", name.kind, field.name.kind));
                // Locks are free at the start, also those in objects.
                let lock = is_lock(&field.ty);
                let initial = lock.then(|| self.program.terms.default_of(map));
                let var = self.program.add_var(&var_name, map, Scope::Shared, VarKind::Field(id), initial, origin);
                if lock {
                    self.lock_fields.insert(var);
                }
                self.program.classes[id].fields.push(var);
                let table = self.globals.fields.entry(id).or_default();
                if let Err(first) = table.declare(&field.name, var) {
                    self.declared_twice(&field.name, first);
                }
            }
        }
    }

    /// Shared variables of the file and of its objects: first all names, then values and access predicates.
    fn shared(&mut self, tree: &'a SourceTree) {
        let mut declared: Vec<(&'a VarDecl, Option<usize>, VarId)> = Vec::new();
        for item in &tree.items {
            match &item.kind {
                ItemKind::Var(var) => {
                    if let Some(id) = self.shared_var(var) {
                        if let Err(first) = self.globals.values.declare(&var.name, Named::Var(id)) {
                            self.declared_twice(&var.name, first);
                        }
                        declared.push((var, None, id));
                    }
                }
                ItemKind::Object(object) => {
                    let index = self.globals.members.len();
                    self.globals.members.push(Members::default());
                    if let Err(first) = self.globals.objects.declare(&object.name, index) {
                        self.declared_twice(&object.name, first);
                    }
                    for member in &object.members {
                        let MemberKind::Var(var) = &member.kind else { continue };
                        let Some(id) = self.shared_var(var) else { continue };
                        if let Err(first) = self.globals.members[index].values.declare(&var.name, Named::Var(id)) {
                            self.declared_twice(&var.name, first);
                        }
                        declared.push((var, Some(index), id));
                    }
                }
                _ => {}
            }
        }
        for (var, object, id) in &declared {
            self.view = NameView { object: *object, ..NameView::default() };
            self.initial_value(var, *id);
        }
        for (var, object, id) in declared {
            self.view = NameView { object, tid: Allowed::Yes, ..NameView::default() };
            self.access(var, id, None);
        }
        for item in &tree.items {
            let ItemKind::Class { name, fields } = &item.kind else { continue };
            let Some(TypeName::Class(class)) = self.globals.types.get(&name.kind) else { continue };
            if fields.iter().any(|f| f.access.contains(&AccessClause::ThreadLocal)) {
                self.owner(class, item.span);
            }
            for field in fields {
                if let Some(var) = self.globals.fields.get(&class).and_then(|t| t.get(&field.name.kind)) {
                    self.view = NameView { tid: Allowed::Yes, ..NameView::default() };
                    self.access(field, var, Some(class));
                }
            }
        }
        self.view = NameView::default();
    }

    fn shared_var(&mut self, var: &VarDecl) -> Option<VarId> {
        let Some(sort) = self.sort(&var.ty) else {
            self.broken.insert(var.name.kind.to_string());
            return None;
        };
        let origin = self.origin(var.span.0);
        let kind = if is_lock(&var.ty) { VarKind::Lock } else { VarKind::Plain };
        let name = self.unique_name(&var.name.kind);
        let id = self.program.add_var(&name, sort, Scope::Shared, kind, None, origin);
        self.program.vars[id].private = var.privacy != Privacy::Seen;
        if var.privacy == Privacy::Private {
            self.private.push((id, var.name.span));
        }
        Some(id)
    }

    fn initial_value(&mut self, var: &VarDecl, id: VarId) {
        let sort = self.program.vars[id].sort;
        let Some(value) = &var.value else {
            self.program.vars[id].initial = self.natural_start(&var.ty, sort);
            return;
        };
        let Some(term) = self.expr(value, sort) else { return };
        if self.program.terms.free_symbols(term).is_empty() {
            self.program.vars[id].initial = Some(term);
        } else {
            // A value that speaks of other variables is a constraint on the first store.
            let formula = Some(self.program.terms.eq(self.program.now(id), term));
            let origin = self.origin(value.span);
            self.program.init.push(InitialFact { formula, property: None, origin });
        }
    }

    /// The access predicate of a variable or field; a lock has one of itself.
    fn access(&mut self, var: &VarDecl, id: VarId, class: Option<ClassId>) {
        let origin = self.origin(var.span.0);
        let mut index_sorts = Vec::new();
        let mut sort = self.program.vars[id].sort;
        while let SortKind::Map(key, value) = self.program.terms.kind(sort) {
            index_sorts.push(key);
            sort = value;
        }
        let symbols: Vec<Symbol> = index_sorts
            .iter()
            .enumerate()
            .map(|(at, s)| self.program.terms.symbol(if at == 0 { "i".to_owned() } else { format!("i{at}") }, *s))
            .collect();
        if var.access.is_empty() {
            if is_lock(&var.ty) {
                let terms = &self.program.terms;
                let at = symbols.iter().fold(self.program.now(id), |m, s| terms.select(m, terms.sym(*s)));
                // A declaration that was reported for another reason may have a type that is no lock's.
                if terms.sort_of(at) != Sort::INT {
                    return;
                }
                let formula = Some(self.free_or_mine(at));
                let writing = None;
                self.program.vars[id].access =
                    Some(program::AccessPredicate { binders: symbols, formula, writing, origin });
            }
            return;
        }
        let mut parts = Vec::new();
        let (mut reading, mut writing) = (Vec::new(), Vec::new());
        let mut asked = false;
        let first = usize::from(class.is_some());
        if let Some(class) = class {
            self.view.this = symbols.first().map(|s| (class, self.program.terms.sym(*s)));
        }
        for access in &var.access {
            match access {
                AccessClause::GuardedBy(lock) => {
                    if let Some(lock) = self.expr(lock, Sort::INT) {
                        parts.push(self.free_or_mine(lock));
                    }
                }
                AccessClause::ThreadLocal => {
                    let owner = class.and_then(|c| self.owners.get(&c).copied());
                    // Without one, that was said where the class is.
                    if class.is_some() && owner.is_none() {
                        continue;
                    }
                    let (Some(owner), Some(object)) = (owner, symbols.first()) else {
                        let message = format!("`{}` is no field of an object", var.name.kind);
                        let hint = "a variable of a thread is declared in its code; an access predicate says who may touch one";
                        let diagnostic = Diagnostic::error(codes::CLAUSE_HERE, var.span.0, message);
                        self.report(diagnostic.label("`thread_local` is said of fields").hint(hint));
                        continue;
                    };
                    let terms = &self.program.terms;
                    let maker = terms.select(self.program.now(owner), terms.sym(*object));
                    parts.push(terms.eq(maker, terms.sym(self.program.tid)));
                }
                AccessClause::If { binders, condition }
                | AccessClause::Readable { binders, condition }
                | AccessClause::Writable { binders, condition } => {
                    if matches!(condition.kind, ExprKind::Unknown) {
                        asked = true;
                        continue;
                    }
                    let depth = self.view.bound.len();
                    // The binder of a field's object may be left out: its fields are visible by name.
                    let skip = if binders.len() < symbols.len() { first } else { 0 };
                    if binders.len() + skip > symbols.len() {
                        let message = format!("`{}` has {} indices", var.name.kind, symbols.len());
                        let label = "expected no more binders than indices";
                        self.report(Diagnostic::error(codes::WRONG_COUNT, binders[0].span, message).label(label));
                        continue;
                    }
                    for (binder, symbol) in binders.iter().zip(&symbols[skip..]) {
                        self.view.bound.push((binder.kind.to_string(), *symbol));
                    }
                    let formula = self.formula(condition);
                    match access {
                        AccessClause::Readable { .. } => reading.extend(formula),
                        AccessClause::Writable { .. } => writing.extend(formula),
                        _ => parts.extend(formula),
                    }
                    self.view.bound.truncate(depth);
                }
            }
        }
        self.view.this = None;
        let terms = &self.program.terms;
        let read = terms.and(&[&parts[..], &reading].concat());
        let formula = if asked { None } else { Some(read) };
        // Who may write may read.
        let written = terms.and(&[&parts[..], &reading, &writing].concat());
        let writing = (!asked && written != read).then_some(written);
        self.program.vars[id].access = Some(program::AccessPredicate { binders: symbols, formula, writing, origin });
        if formula.is_some() {
            self.access_property(id);
        }
    }

    /// The constant that says which thread makes which object of a class: `new` gives a thread one of its own. References have
    /// no meaning but which are equal, so that this excludes no run, as long as no reference is used again (`free`).
    fn owner(&mut self, class: ClassId, span: Span) {
        if self.frees {
            let message = "objects with `thread_local` fields are not freed";
            let hint = "a reference that is used again may be another thread's";
            self.report(Diagnostic::error(codes::CLAUSE_HERE, span, message).label("some object is freed").hint(hint));
            return;
        }
        let terms = &self.program.terms;
        let sort = terms.map_sort(terms.sort(SortKind::Ref(class)), Sort::INT);
        let origin = self.origin(span);
        let owner = format!("owner_{}", self.program.classes[class].name);
        let name = self.unique_name(&owner);
        let owner = self.program.add_var(&name, sort, Scope::Shared, VarKind::Plain, None, origin);
        self.constants.insert(owner);
        self.owners.insert(class, owner);
        // Whether an object is there is its maker's own business, too: `new` touches nothing that another thread may.
        let (terms, live) = (&self.program.terms, self.program.classes[class].live);
        let object = terms.symbol("i", terms.sort(SortKind::Ref(class)));
        let maker = terms.select(self.program.now(owner), terms.sym(object));
        let formula = Some(terms.eq(maker, terms.sym(self.program.tid)));
        let access = program::AccessPredicate { binders: vec![object], formula, writing: None, origin };
        self.program.vars[live].access = Some(access);
    }

    fn free_or_mine(&self, lock: Term) -> Term {
        let terms = &self.program.terms;
        terms.or(&[terms.eq(lock, terms.int(0)), terms.eq(lock, terms.sym(self.program.tid))])
    }

    /// Threads, procedures, operations and machines by name.
    fn callables(&mut self, tree: &'a SourceTree) {
        let joined = scan::joined(tree);
        self.joined = joined;
        if joined != scan::Joined::Nothing {
            let map = self.program.terms.map_sort(Sort::INT, Sort::BOOL);
            let none_ended = self.program.terms.default_of(map);
            let origin = self.program.add_origin(None, "which threads have ended");
            let name = self.unique_name("ended");
            let ended = self.program.add_var(&name, map, Scope::Shared, VarKind::Ended, Some(none_ended), origin);
            self.ended = Some(ended);
        }
        for thread in scan::threads(tree).map(|(thread, _)| thread) {
            let index = self.thread_params.len();
            let params = thread
                .params
                .as_ref()
                .map(|params| params.iter().map(|p| self.sort(&p.ty).unwrap_or(Sort::INT)).collect());
            self.thread_params.push(params);
            if let Err(first) = self.globals.threads.declare(&thread.name, index) {
                self.declared_twice(&thread.name, first);
            }
        }
        let mut objects = 0;
        let mut machines = 0;
        for item in &tree.items {
            match &item.kind {
                ItemKind::Proc(proc) => {
                    let index = self.routine(proc, None);
                    if let Err(first) = self.globals.procs.declare(&proc.name, index) {
                        self.declared_twice(&proc.name, first);
                    }
                }
                ItemKind::Machine(machine) => {
                    if let Err(first) = self.globals.machines.declare(&machine.name, machines) {
                        self.declared_twice(&machine.name, first);
                    }
                    machines += 1;
                }
                ItemKind::Object(object) => {
                    for member in &object.members {
                        let MemberKind::Proc(proc) = &member.kind else { continue };
                        let index = self.routine(proc, Some(objects));
                        if let Err(first) = self.globals.members[objects].procs.declare(&proc.name, index) {
                            self.declared_twice(&proc.name, first);
                        }
                    }
                    objects += 1;
                }
                _ => {}
            }
        }
    }

    fn routine(&mut self, proc: &'a Proc, object: Option<usize>) -> usize {
        let params = proc.params.iter().map(|p| self.sort(&p.ty).unwrap_or(Sort::INT)).collect();
        let results = proc.results.iter().map(|p| self.sort(&p.ty).unwrap_or(Sort::INT)).collect();
        let mut names: NameTable<()> = NameTable::default();
        for param in proc.params.iter().chain(&proc.results) {
            if let Err(first) = names.declare(&param.name, ()) {
                self.declared_twice(&param.name, first);
            }
        }
        self.globals.routines.push(CallableDecl { ast: proc, object, params, results, id: None });
        self.globals.routines.len() - 1
    }

    pub(super) fn class_named(&mut self, name: &Name) -> Option<ClassId> {
        match self.globals.types.get(&name.kind) {
            Some(TypeName::Class(id)) => Some(id),
            _ => {
                let message = format!("there is no class `{}`", name.kind);
                let mut diagnostic =
                    Diagnostic::error(codes::UNKNOWN_TYPE, name.span, message).label("expected a class");
                if let Some(near) = nearest(&name.kind, self.globals.types.names()) {
                    diagnostic = diagnostic.hint(format!("did you mean `{near}`?"));
                }
                self.report(diagnostic);
                None
            }
        }
    }

    /// `init`, `invariant` and `rely` of the file and of its objects.
    pub(super) fn formulas(&mut self, tree: &'a SourceTree) {
        let mut objects = 0;
        for item in &tree.items {
            match &item.kind {
                ItemKind::Init(e) => self.init(e, item.span, None),
                ItemKind::Invariant(e) => self.invariant(e, item.span, None),
                ItemKind::Rely(e) => self.rely(e, item.span, NameView::default(), None),
                ItemKind::Object(object) => {
                    for member in &object.members {
                        match &member.kind {
                            MemberKind::Init(e) => self.init(e, member.span, Some(objects)),
                            MemberKind::Invariant(e) => self.invariant(e, member.span, Some(objects)),
                            MemberKind::Rely(e) => {
                                let view = NameView { object: Some(objects), ..NameView::default() };
                                self.rely(e, member.span, view, None);
                            }
                            _ => {}
                        }
                    }
                    objects += 1;
                }
                _ => {}
            }
        }
        self.view = NameView::default();
    }

    fn init(&mut self, e: &crate::lang::ast::Expr, span: Span, object: Option<usize>) {
        self.view = NameView { object, ..NameView::default() };
        let Some(formula) = self.formula(e) else { return };
        let origin = self.origin(span);
        self.program.init.push(InitialFact { formula: Some(formula), property: None, origin });
    }

    fn invariant(&mut self, e: &crate::lang::ast::Expr, span: Span, object: Option<usize>) {
        self.view = NameView { object, ..NameView::default() };
        let Some(formula) = self.wanted_formula(e) else { return };
        let origin = self.origin(span);
        let property = formula.map(|f| {
            let name = format!("invariant:{}", self.sources.line_of(span));
            self.property(PropertyKind::Invariant(f), &name, span)
        });
        self.program.invariants.push(InitialFact { formula, property, origin });
    }

    pub(super) fn rely(
        &mut self,
        e: &crate::lang::ast::Expr,
        span: Span,
        view: NameView,
        thread: Option<program::ThreadId>,
    ) {
        self.view = NameView { primes: Allowed::Yes, tid: Allowed::Yes, ..view };
        let Some(formula) = self.wanted_formula(e) else { return };
        let origin = self.origin(span);
        let name = format!("rely:{}", self.sources.line_of(span));
        let index = self.program.relies.len() as u32;
        let property = self.property(PropertyKind::Rely(index), &name, span);
        self.program.relies.push(Rely { thread, formula, property, origin });
    }

    /// A constant number of copies, or of anything else.
    pub(super) fn constant_number(&mut self, e: &crate::lang::ast::Expr) -> Option<i128> {
        self.view = NameView::default();
        let term = self.expr(e, Sort::INT)?;
        let term = self.evaluated(term, Sort::INT, e.span)?;
        match self.program.terms.node(term) {
            Node::Num(n, _) => Some(n),
            _ => None,
        }
    }
}

/// A lock, or a map of locks.
pub(super) fn is_lock(ty: &Type) -> bool {
    match &ty.kind {
        TypeKind::Lock => true,
        TypeKind::Map(_, value) => is_lock(value),
        _ => false,
    }
}

/// Whether an item is a variable that an expression mentions.
fn is_var_in(item: &Item, expr: &crate::lang::ast::Expr) -> bool {
    matches!(&item.kind, ItemKind::Var(var) if scan::mentions(expr, &var.name.kind))
}
