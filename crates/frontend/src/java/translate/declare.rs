//! Declarations of the model: shared variables for static fields, classes for regions of the heap.
//!
//! In: what the bodies use. Out: items of the model, and the step that makes an object.

use super::Translation;
use super::build::*;
use super::types::Ty;
use crate::java::tree::{ClassForm, JavaClass, JavaExpr, JavaExprKind, JavaField, JavaUnit};
use crate::lang::ast::{
    self, AssignedValue, Foreign, Item, ItemKind, Privacy, SourceSpan, Spanned, Stmt, StmtKind, VarDecl,
};
use base::Span;

/// A part of an object of the library or of an array: its name, its type in the model, its first value.
pub(super) struct Part {
    pub name: &'static str,
    pub ty: ast::Type,
    pub first: Option<ast::Expr>,
}

impl<'a> Translation<'a> {
    /// The parts of an object that is not of a class of the program.
    pub(super) fn parts(&mut self, ty: &Ty, span: Span) -> Vec<Part> {
        let part = |name, ty, first| Part { name, ty, first };
        let kind = |kind| Spanned::new(kind, span);
        let i32_type = || machine(32, ast::Sign::Signed, span);
        match ty {
            Ty::Array(element) => {
                let value = self.tp_type(element, span);
                let key = || Box::new(kind(ast::TypeKind::Int));
                let none = self.default_value(element, span);
                let everywhere = |value| foreign(Foreign::Everywhere(value), span);
                let boxed = |t: ast::Type| Box::new(t);
                vec![
                    part("length", i32_type(), Some(int(0, span))),
                    part("data", kind(ast::TypeKind::Map(key(), boxed(value))), Some(everywhere(none))),
                    part(
                        "writing",
                        kind(ast::TypeKind::Map(key(), boxed(kind(ast::TypeKind::Bool)))),
                        Some(everywhere(boolean(false, span))),
                    ),
                ]
            }
            Ty::Ref(name, args) if super::types::collected(name).is_some() => {
                let of = super::types::collected(name).expect("asked above");
                self.collection_parts(of, &args.clone(), span)
            }
            Ty::Ref(name, args) => match &name[..] {
                "AtomicInteger" => vec![part("value", i32_type(), Some(int(0, span)))],
                "AtomicLong" => vec![part("value", machine(64, ast::Sign::Signed, span), Some(int(0, span)))],
                "AtomicBoolean" => vec![part("value", kind(ast::TypeKind::Bool), Some(boolean(false, span)))],
                "AtomicReference" => {
                    let held = args.first().cloned().unwrap_or_else(|| Ty::object("Object"));
                    let first = self.default_value(&held, span);
                    let ty = self.tp_type(&held, span);
                    vec![part("value", ty, Some(first))]
                }
                "ReentrantLock" | "Lock" => vec![part("owner", kind(ast::TypeKind::Lock), None)],
                "Condition" => {
                    let set = ast::TypeKind::Set(Box::new(kind(ast::TypeKind::Int)));
                    vec![part("waiting", kind(set), Some(Spanned::new(ast::ExprKind::Set(Vec::new()), span)))]
                }
                "Semaphore" => vec![part("permits", i32_type(), Some(int(0, span)))],
                "CountDownLatch" => vec![part("count", machine(64, ast::Sign::Signed, span), Some(int(0, span)))],
                "Thread" => {
                    let target = self.tp_type(&Ty::object("Runnable"), span);
                    vec![
                        part("id", kind(ast::TypeKind::Int), Some(int(0, span))),
                        part("target", target, Some(null(span))),
                    ]
                }
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    /// The parts that make an embedded object a monitor.
    fn monitor_parts(&self, span: Span) -> Vec<Part> {
        let set = ast::TypeKind::Set(Box::new(Spanned::new(ast::TypeKind::Int, span)));
        vec![
            Part { name: "monitor", ty: Spanned::new(ast::TypeKind::Lock, span), first: None },
            Part {
                name: "waiting",
                ty: Spanned::new(set, span),
                first: Some(Spanned::new(ast::ExprKind::Set(Vec::new()), span)),
            },
        ]
    }

    /// The variables or fields that an embedded field becomes.
    fn embedded_parts(&mut self, class: &'a JavaClass, field: &'a JavaField) -> Vec<Part> {
        let ty = self.embedded_ty(class, field);
        let span = field.name_span;
        let mut parts = self.parts(&ty, span);
        if super::embed::has_rows(field) {
            self.with_rows(&ty, &mut parts, span);
        }
        let key = format!("{}.{}", class.name, field.name);
        let known = self.known.as_ref();
        let monitor = known.is_none_or(|k| k.monitors.contains(&key));
        let waited = known.is_none_or(|k| k.waited.contains(&key));
        for part in self.monitor_parts(span) {
            let wanted = if part.name == "monitor" { monitor } else { waited };
            if wanted {
                parts.push(part);
            }
        }
        let watched = self.watched.contains(&format!("{key}[]"));
        parts.retain(|p| p.name != "writing" || watched);
        if self.constant_length(class, field).is_some() {
            parts.retain(|p| p.name != "length");
        }
        parts
    }

    /// Rows that are part of an array: a map of maps.
    fn with_rows(&mut self, ty: &Ty, parts: &mut [Part], span: Span) {
        let Ty::Array(row) = ty else { return };
        let Ty::Array(element) = &**row else { return };
        let key = || Box::new(Spanned::new(ast::TypeKind::Int, span));
        let everywhere = |value| foreign(Foreign::Everywhere(value), span);
        let map = |to: ast::Type| Spanned::new(ast::TypeKind::Map(key(), Box::new(to)), span);
        for part in parts {
            let (ty, first) = match part.name {
                "data" => (self.tp_type(element, span), self.default_value(element, span)),
                "writing" => (Spanned::new(ast::TypeKind::Bool, span), boolean(false, span)),
                _ => continue,
            };
            part.ty = map(map(ty));
            part.first = Some(everywhere(everywhere(first)));
        }
    }

    /// The length of the rows of such an array.
    pub(super) fn row_length(&self, class: &JavaClass, field: &JavaField) -> Option<i128> {
        let JavaExprKind::NewArray { sizes, values: None, .. } = &field.value.as_ref()?.kind else { return None };
        let [_, row] = &sizes[..] else { return None };
        self.constant_size(class, row)
    }

    fn constant_size(&self, class: &JavaClass, size: &crate::java::tree::JavaExpr) -> Option<i128> {
        // Names in it are looked for in the class that declares it.
        let constant = match &size.kind {
            JavaExprKind::Int(n) => Some(*n),
            JavaExprKind::Name(n) => {
                let (owner, found) = self.classes.field(&class.name, n)?;
                let ty = self.field_ty(owner, found);
                found.value.as_ref().filter(|_| found.modifiers.is_final).and_then(|v| self.constant(v, &ty))
            }
            JavaExprKind::Field(base, n, _) => {
                let JavaExprKind::Name(owner) = &base.kind else { return None };
                let (owner, found) = self.classes.field(owner, n)?;
                let ty = self.field_ty(owner, found);
                found.value.as_ref().filter(|_| found.modifiers.is_final).and_then(|v| self.constant(v, &ty))
            }
            _ => None,
        };
        constant.filter(|n| *n >= 0)
    }

    /// The length of an array that a static final field holds, where the text tells.
    pub(super) fn constant_length(&self, class: &JavaClass, field: &JavaField) -> Option<i128> {
        if !field.modifiers.is_static || !matches!(field.ty.kind, crate::java::tree::JavaTypeKind::Array(_)) {
            return None;
        }
        match &field.value.as_ref()?.kind {
            JavaExprKind::NewArray { sizes, values: None, .. } => self.constant_size(class, sizes.first()?),
            JavaExprKind::NewArray { values: Some(values), .. } | JavaExprKind::ArrayValues(values) => {
                Some(values.len() as i128)
            }
            _ => None,
        }
    }

    /// The type of the object in an embedded field: what `new` makes, where it is declared as `Lock`.
    pub(super) fn embedded_ty(&self, class: &JavaClass, field: &JavaField) -> Ty {
        self.field_ty(class, field)
    }

    fn declared(&mut self, text: String, ty: ast::Type, value: Option<ast::Expr>, span: Span) -> VarDecl {
        VarDecl {
            name: name(text, span),
            ty,
            value,
            access: Vec::new(),
            privacy: Privacy::Seen,
            span: SourceSpan(span),
        }
    }

    /// Of a class that is checked for any callers: what they need not see.
    fn privacy(&self, private: bool) -> Privacy {
        if self.alone && private { Privacy::IfPossible } else { Privacy::Seen }
    }

    /// The object that a static field begins with, where it is a new one; of every other beginning nothing is known, which is said.
    fn beginning(&mut self, field: &JavaField, ty: &Ty, key: &str) -> Option<(Ty, ast::Expr)> {
        let made =
            field.value.as_ref().is_some_and(JavaExpr::is_new_object) && matches!(ty, Ty::Ref(..) | Ty::Array(_));
        if !made {
            let text = format!("`{key}` may have any value when its class has been initialized");
            self.assumed.insert(("java-initialization", text));
        }
        made.then(|| (ty.clone(), var(key, field.name_span)))
    }

    /// Items for everything that the bodies use.
    pub(super) fn declarations(&mut self, unit: &'a JavaUnit) {
        let mut items: Vec<Item> = Vec::new();
        let mut made = Vec::new();
        for class in &unit.classes {
            for field in class.fields.iter().filter(|f| f.modifiers.is_static) {
                let span = field.name_span;
                let key = format!("{}.{}", class.name, field.name);
                let plain = !self.alone || self.begins_plainly(class, field);
                if self.is_embedded(class, field) {
                    for part in self.embedded_parts(class, field) {
                        let is_data = part.name == "data";
                        let first = part.first.filter(|_| plain || !is_data);
                        let mut var = self.declared(format!("{key}.{}", part.name), part.ty, first, span);
                        var.privacy = self.privacy(field.modifiers.is_private || !is_data);
                        if is_data {
                            var.access = self.access(class, field);
                        }
                        if is_data && self.is_paper_lock(field) {
                            let boxed = |kind| Box::new(Spanned::new(kind, span));
                            let map = ast::TypeKind::Map(boxed(ast::TypeKind::Int), boxed(ast::TypeKind::Lock));
                            (var.ty, var.value) = (Spanned::new(map, span), None);
                        }
                        items.push(Spanned::new(ItemKind::Var(var), span));
                    }
                    continue;
                }
                let ty = self.field_ty(class, field);
                if ty == Ty::Unknown {
                    continue;
                }
                let constant = field.value.as_ref().and_then(|v| self.constant(v, &ty));
                if self.alone && field.modifiers.is_final && constant.is_some() && !self.is_paper_lock(field) {
                    // Wherever it is named, its value stands.
                    continue;
                }
                let value = match constant {
                    Some(value) => self.constant_value(value, &ty, span),
                    None => self.default_value(&ty, span),
                };
                let tp = self.tp_type(&ty, span);
                let mut var = self.declared(key.clone(), tp, Some(value).filter(|_| plain), span);
                var.access = self.access(class, field);
                var.privacy = self.privacy(field.modifiers.is_private);
                if self.is_paper_lock(field) {
                    (var.ty, var.value) = (Spanned::new(ast::TypeKind::Lock, span), None);
                }
                items.push(Spanned::new(ItemKind::Var(var), span));
                if !plain {
                    made.extend(self.beginning(field, &ty, &key));
                }
                if self.watched.contains(&key) {
                    let tp = Spanned::new(ast::TypeKind::Bool, span);
                    let var = self.declared(format!("writing {key}"), tp, Some(boolean(false, span)), span);
                    items.push(Spanned::new(ItemKind::Var(var), span));
                }
            }
        }
        items.extend(distinct_beginnings(&made));
        for class in &unit.classes {
            let key = class_monitor(class);
            if self.known.as_ref().is_some_and(|k| !k.monitors.contains(&key)) {
                continue;
            }
            let monitor = Spanned::new(ast::TypeKind::Lock, class.name_span);
            let mut var = self.declared(format!("{key}.monitor"), monitor, None, class.name_span);
            var.privacy = self.privacy(true);
            items.push(Spanned::new(ItemKind::Var(var), class.name_span));
            let set = ast::TypeKind::Set(Box::new(Spanned::new(ast::TypeKind::Int, class.name_span)));
            let waiting = Spanned::new(set, class.name_span);
            let var = self.declared(format!("{key}.waiting"), waiting, None, class.name_span);
            items.push(Spanned::new(ItemKind::Var(var), class.name_span));
        }
        // Types of fields may name further classes.
        let mut declared = std::collections::BTreeSet::new();
        loop {
            let names: Vec<String> = self.facts.heap.keys().cloned().collect();
            let roots: std::collections::BTreeSet<String> =
                names.iter().map(|n| self.facts.regions.find(n)).filter(|r| !declared.contains(r)).collect();
            let Some(root) = roots.into_iter().next() else { break };
            // Its fields are made below, when all names are known.
            let _ = self.region_fields(&root);
            declared.insert(root);
        }
        for root in declared {
            let fields = self.region_fields(&root);
            let span = fields.first().map_or_else(|| Span::new(self.no_file(), 0, 0), |(var, _)| var.name.span);
            let fields = fields.into_iter().map(|(var, _)| var).collect();
            items.push(Spanned::new(ItemKind::Class { name: name(root, span), fields }, span));
        }
        items.append(&mut self.items);
        self.items = items;
    }

    /// The fields of a class of the model, each with its value in a new object.
    pub(super) fn region_fields(&mut self, root: &str) -> Vec<(VarDecl, Option<ast::Expr>)> {
        let mut out = Vec::new();
        let mut any_span = None;
        for class in self
            .classes
            .all
            .clone()
            .into_iter()
            .filter(|c| c.form == ClassForm::Class || c.form == ClassForm::Interface)
        {
            if self.facts.regions.find(&class.name) != root {
                continue;
            }
            any_span.get_or_insert(class.name_span);
            for field in class.fields.iter().filter(|f| !f.modifiers.is_static) {
                let span = field.name_span;
                let key = format!("{}.{}", class.name, field.name);
                if self.is_embedded(class, field) {
                    for part in self.embedded_parts(class, field) {
                        let mut var = self.declared(format!("{key}.{}", part.name), part.ty, None, span);
                        if part.name == "data" {
                            var.access = self.access(class, field);
                        }
                        out.push((var, part.first));
                    }
                    continue;
                }
                let ty = self.field_ty(class, field);
                if ty == Ty::Unknown {
                    continue;
                }
                let first = self.default_value(&ty, span);
                let tp = self.tp_type(&ty, span);
                let mut var = self.declared(key.clone(), tp, None, span);
                var.access = self.access(class, field);
                out.push((var, Some(first)));
                if self.watched.contains(&key) {
                    let tp = Spanned::new(ast::TypeKind::Bool, span);
                    out.push((self.declared(format!("writing {key}"), tp, None, span), Some(boolean(false, span))));
                }
            }
        }
        for ghost in self.ghosts.clone().into_iter().filter(|g| !g.is_static) {
            if self.facts.regions.find(&ghost.class) != root {
                continue;
            }
            let first = self.ghost_first(&ghost);
            let tp = self.tp_type(&ghost.ty, ghost.span);
            let mut var = self.declared(format!("{}.{}", ghost.class, ghost.name), tp, None, ghost.span);
            var.access = self.ghost_access(&ghost);
            out.push((var, first));
        }
        for index in 0..self.closures.len() {
            let closure = self.closures[index].clone();
            if self.facts.regions.find(&closure.class) != root {
                continue;
            }
            any_span.get_or_insert(closure.span);
            for (captured, ty) in &closure.captures {
                let tp = self.tp_type(ty, closure.span);
                let first = self.default_value(ty, closure.span);
                let key = format!("{}.{captured}", closure.class);
                out.push((self.declared(key, tp, None, closure.span), Some(first)));
            }
        }
        let others: Vec<(String, Ty)> = self
            .facts
            .heap
            .iter()
            .filter(|(n, _)| self.facts.regions.find(n) == root && self.classes.get(n).is_none())
            .map(|(n, t)| (n.clone(), t.clone()))
            .collect();
        let span = any_span.unwrap_or_else(|| Span::new(self.no_file(), 0, 0));
        for (heap, ty) in others {
            let ty = match ty {
                // Whatever it holds is seen as an object.
                Ty::Ref(n, _) if n == "AtomicReference" => Ty::Ref(n, vec![Ty::object("Object")]),
                ty => ty,
            };
            let watched = self.watched.contains(&element_place(&heap));
            for part in self.parts(&ty, span) {
                if part.name == "writing" && !watched {
                    continue;
                }
                let mut var = self.declared(format!("{heap}.{}", part.name), part.ty, None, span);
                if self.alone && self.own_heaps.contains(&heap) {
                    var.access.push(ast::AccessClause::ThreadLocal);
                }
                out.push((var, part.first));
            }
        }
        let known = self.known.as_ref();
        let has = |set: fn(&super::Facts) -> &std::collections::BTreeSet<String>| {
            known.is_none_or(|k| set(k).iter().any(|n| self.facts.regions.find(n) == root))
        };
        let (monitor, waited) = (has(|k| &k.monitors), has(|k| &k.waited));
        for part in self.monitor_parts(span) {
            if if part.name == "monitor" { monitor } else { waited } {
                out.push((self.declared(part.name.to_owned(), part.ty, None, span), part.first));
            }
        }
        // Which class an object is of.
        let tp = Spanned::new(ast::TypeKind::Int, span);
        if self.tells_classes(root) {
            out.push((self.declared("class".to_owned(), tp, None, span), None));
        }
        if out.is_empty() {
            // A class of the model without fields is as good; a field keeps its objects apart from nothing else.
            let tp = Spanned::new(ast::TypeKind::Bool, span);
            out.push((self.declared("unused".to_owned(), tp, None, span), Some(boolean(false, span))));
        }
        out
    }

    /// Whether objects of several classes share a class of the model.
    pub(super) fn tells_classes(&self, root: &str) -> bool {
        let Some(known) = &self.known else { return true };
        known.instantiated.iter().filter(|n| self.facts.regions.find(n) == root).count() > 1
    }

    /// A new object: one step that makes it with the values Java gives to its fields.
    pub(super) fn allocate(&mut self, ty: &Ty, span: Span) -> ast::Expr {
        let heap = ty.heap_name().expect("only objects are allocated");
        self.facts.instantiated.insert(heap.clone());
        let tp = self.tp_type(ty, span);
        let ast::TypeKind::Named(root) = &tp.kind else { unreachable!("objects have a named type") };
        let root = root.to_string();
        let base = heap.trim_end_matches("[]").to_lowercase();
        let object = self.open_temp(&base, ty, span);
        let fields = self.region_fields(&root);
        let mut targets = Vec::new();
        let mut values = Vec::new();
        for (var, first) in fields {
            let first = match first {
                Some(first) => first,
                None if &*var.name.kind == "class" => int(self.class_number(&heap), span),
                None => continue,
            };
            targets.push(field(present(object.clone()), &*var.name.kind, span));
            values.push(Spanned::new(first.kind, span));
        }
        let made: Stmt = Spanned::new(
            StmtKind::Assign { targets: vec![object.clone()], value: AssignedValue::New(name(root, span)) },
            span,
        );
        let mut stmts = vec![made];
        if !targets.is_empty() {
            stmts.push(Spanned::new(StmtKind::Assign { targets, value: AssignedValue::Exprs(values) }, span));
        }
        self.push_stmt(step(stmts, span));
        present(object)
    }

    /// The number of a class in objects that tell theirs.
    pub(super) fn class_number(&self, heap: &str) -> i128 {
        let user = self.classes.number(heap);
        if user > 0 {
            return user;
        }
        if let Some(index) = self.closures.iter().position(|c| c.class == heap) {
            return 100_000 + index as i128;
        }
        let library = super::types::LIBRARY.iter().position(|l| *l == heap);
        library.map_or(300_000, |i| 200_000 + i as i128)
    }

    pub(super) fn constant_value(&mut self, value: i128, ty: &Ty, span: Span) -> ast::Expr {
        match ty {
            Ty::Boolean => boolean(value != 0, span),
            _ => int(value, span),
        }
    }
}

/// The name of the monitor of a class itself.
pub(super) fn class_monitor(class: &JavaClass) -> String {
    format!("{}.class", class.name)
}

/// The place that stands for the elements of all arrays of a type.
pub(super) fn element_place(heap: &str) -> String {
    heap.to_owned()
}

/// New objects are there, and no two of them are one.
fn distinct_beginnings(made: &[(Ty, ast::Expr)]) -> Vec<Item> {
    let mut out = Vec::new();
    for (at, (ty, object)) in made.iter().enumerate() {
        let span = object.span;
        let others = made[..at].iter().filter(|(other, _)| other == ty).map(|(_, other)| other.clone());
        for other in others.chain([null(span)]) {
            let differs = not(equal(object.clone(), other, span), span);
            out.push(Spanned::new(ItemKind::Init(differs), span));
        }
    }
    out
}
