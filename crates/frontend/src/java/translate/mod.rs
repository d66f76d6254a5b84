//! Java classes to the tree of a `.tp` program, which `lang::lower` lowers: one implementation checks both.
//!
//! In: the classes of the files given. Out: an `ast::SourceTree` whose spans stand in the Java files. The translation runs twice: the
//! first pass finds which classes share a heap, which monitors are used, who calls whom with which monitors held, and which places
//! need to be watched for races; the second one uses it. Every access of a field, an element or a static is a step of its own (JLS
//! 17.4); what is not modelled is a step that no proof may pass, at its line.
//! Deliberately absent: the meaning of statements as steps (`lang::lower`), weak memory (sequential consistency is what the
//! Java memory model promises to programs without data races).

mod body;
mod build;
mod call;
mod collection;
mod copying;
mod declare;
mod embed;
mod exception;
mod expr;
mod formula;
mod inner;
mod library;
mod model;
mod monitor;
mod notes;
mod operator;
mod place;
mod race;
mod spec;
mod stmt;
mod switch;
mod text;
mod thread;
mod trusted;
pub(crate) mod types;

use super::tree::{self, CONSTRUCTOR, ClassForm, JavaClass, JavaMethod, JavaUnit};
use crate::lang::ast::{self, Item, ItemKind, SourceSpan, Spanned};
use base::Span;
use body::Frame;
use build::*;
use race::{Accesses, CallSite};
use std::collections::{BTreeMap, BTreeSet};
use types::{Classes, Regions, Ty, Width};

/// What one pass finds and the next one uses.
#[derive(Clone, Debug, Default)]
struct Facts {
    pub regions: Regions,
    /// Names of heap classes whose objects are used as monitors; those that are waited for.
    pub monitors: BTreeSet<String>,
    pub waited: BTreeSet<String>,
    /// Names of heap classes that occur in types.
    pub heap: BTreeMap<String, Ty>,
    pub instantiated: BTreeSet<String>,
    /// Who calls whom, with the monitors that are held there for certain.
    pub calls: BTreeSet<CallSite>,
    /// Who calls whom while which kinds of monitors may be held.
    pub holding: BTreeSet<(String, String, BTreeSet<String>)>,
    pub accesses: Accesses,
    /// Whether some thread is started that the main method does not start itself.
    pub starts_elsewhere: bool,
    pub uses_threads: bool,
    /// Whether some thread is made a daemon.
    pub daemons: bool,
}

/// What the translation gives.
pub(crate) struct Translated {
    pub tree: ast::SourceTree,
    pub assumptions: Vec<(&'static str, String)>,
    pub has_threads: bool,
    /// What is wrong with annotations.
    pub errors: Vec<base::Diagnostic>,
}

struct Translation<'a> {
    pub classes: Classes<'a>,
    /// What the pass before found; `None` in the first pass.
    pub known: Option<Facts>,
    pub facts: Facts,
    pub embedded: BTreeSet<(String, String)>,
    pub items: Vec<Item>,
    queue: Vec<Job<'a>>,
    queued: BTreeSet<String>,
    /// Places to be watched for races, by name.
    pub watched: BTreeSet<String>,
    pub strings: BTreeMap<String, i128>,
    /// Classes are checked for any callers: annotations count, and races are a matter of access predicates.
    pub alone: bool,
    pub unit: &'a JavaUnit,
    pub notes: notes::Notes,
    /// Names bound by quantifiers and access predicates.
    pub bound: Vec<(String, Ty)>,
    pub ghosts: Vec<notes::GhostVar>,
    pub axioms: Vec<(String, super::dialect::Formula)>,
    pub invariants: Vec<(String, super::dialect::Formula)>,
    /// Classes whose objects one thread uses alone; parameters of which it is said.
    pub thread_local: BTreeSet<String>,
    pub own_params: BTreeSet<(String, String)>,
    /// The procedures of methods that are checked on their own; in classes alone the others are part of these.
    pub entries: BTreeSet<String>,
    /// Types of arrays whose objects on the heap are each one thread's own.
    pub own_heaps: BTreeSet<String>,
    /// What is taken for granted.
    pub assumed: BTreeSet<(&'static str, String)>,
    /// Fields that `acquire` and `release` name.
    pub locks: BTreeSet<String>,
    pub closures: Vec<thread::Closure<'a>>,
    pub frame: Frame<'a>,
    /// What the frame of the next procedure begins with.
    next_frame: (Vec<String>, usize),
}

/// A procedure that is still to be translated: its name, for which callers, and from what.
struct Job<'a> {
    proc: String,
    caught: Vec<String>,
    level: usize,
    code: JobCode<'a>,
}

enum JobCode<'a> {
    Method(&'a JavaClass, &'a JavaMethod),
    /// The constructor of a class that writes none.
    Constructor(&'a JavaClass),
    Closure(usize),
}

/// The class whose `main` is run, if there is exactly one.
pub(crate) fn main_class(unit: &JavaUnit) -> Option<(&JavaClass, &JavaMethod)> {
    let mut found = unit.classes.iter().filter_map(|c| {
        let is_main =
            |m: &&JavaMethod| m.name == "main" && m.modifiers.is_static && m.params.len() <= 1 && m.result.is_none();
        c.methods.iter().find(is_main).map(|m| (c, m))
    });
    match (found.next(), found.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    }
}

/// Translates a program with a `main`.
pub(crate) fn program(unit: &JavaUnit, main: (&JavaClass, &JavaMethod)) -> Translated {
    settled(unit, |t| t.whole(unit, main))
}

/// Translates classes without a `main`: their annotated static methods, for any callers.
pub(crate) fn classes(unit: &JavaUnit) -> Translated {
    settled(unit, |t| t.classes_alone(unit))
}

/// Whether annotations say what callers and other threads may do; mistakes in them count.
pub(crate) fn has_contracts(unit: &JavaUnit) -> bool {
    let notes = notes::Notes::new(unit);
    notes.has_contracts() || !notes.errors.is_empty()
}

/// Runs passes until nothing new is found.
fn settled<'a>(unit: &'a JavaUnit, pass: impl Fn(&mut Translation<'a>)) -> Translated {
    let mut first = Translation::new(unit, None);
    pass(&mut first);
    let (mut facts, mut closures) = (first.facts, first.closures);
    let mut watched = if first.alone { BTreeSet::new() } else { race::watched(&facts) };
    // Regions only grow, and the rest follows from them: this ends.
    loop {
        let mut next = Translation::new(unit, Some(facts.clone()));
        next.watched = watched.clone();
        next.closures = closures;
        pass(&mut next);
        // Of classes alone, access predicates say who may access what.
        let newly = if next.alone { BTreeSet::new() } else { race::watched(&next.facts) };
        let settled = next.facts.regions == facts.regions
            && next.facts.heap.len() == facts.heap.len()
            && next.facts.instantiated == facts.instantiated
            && next.facts.monitors == facts.monitors
            && next.facts.waited == facts.waited
            && next.facts.holding == facts.holding
            && newly == watched;
        if settled {
            let has_threads = next.facts.uses_threads && !next.facts.daemons;
            let assumptions = next.assumptions();
            let errors = std::mem::take(&mut next.notes.errors);
            return Translated { assumptions, tree: ast::SourceTree { items: next.items }, has_threads, errors };
        }
        facts = next.facts;
        closures = next.closures;
        watched = newly;
    }
}

impl<'a> Translation<'a> {
    fn new(unit: &'a JavaUnit, known: Option<Facts>) -> Self {
        let mut facts = Facts::default();
        if let Some(known) = &known {
            facts.regions = known.regions.clone();
            facts.heap = known.heap.clone();
        }
        Self {
            classes: Classes::new(unit),
            known,
            facts,
            embedded: embed::embedded(unit),
            items: Vec::new(),
            queue: Vec::new(),
            queued: BTreeSet::new(),
            watched: BTreeSet::new(),
            strings: BTreeMap::new(),
            alone: false,
            unit,
            notes: notes::Notes::default(),
            bound: Vec::new(),
            ghosts: Vec::new(),
            axioms: Vec::new(),
            invariants: Vec::new(),
            thread_local: BTreeSet::new(),
            own_params: BTreeSet::new(),
            entries: BTreeSet::new(),
            own_heaps: BTreeSet::new(),
            assumed: BTreeSet::new(),
            locks: BTreeSet::new(),
            closures: Vec::new(),
            frame: Frame::default(),
            next_frame: (Vec::new(), 1),
        }
    }

    fn assumptions(&self) -> Vec<(&'static str, String)> {
        let mut out = Vec::new();
        if self.facts.uses_threads {
            let text = "memory is sequentially consistent, as the Java memory model promises to programs without data \
                        races: it holds if every `race` property here is safe";
            out.push(("java-sequential-consistency", text.to_owned()));
        }
        let initialized = |c: &&&JavaClass| c.initializers.iter().any(|i| i.is_static);
        if self.classes.all.iter().any(|c| initialized(&c)) {
            let text = if self.alone {
                "static initializers run before any caller; they are not checked, and what they set may have any value"
            } else {
                "static initializers run before `main`, in the order of the classes in the files"
            };
            out.push(("java-initialization", text.to_owned()));
        }
        if self.facts.daemons {
            let text = "deadlocks are not looked for: a daemon may wait for ever, and the program ends all the same";
            out.push(("java-daemons", text.to_owned()));
        }
        out.extend(self.assumed.iter().cloned());
        out
    }

    /// Everything: the main thread, what it reaches, and the declarations they need.
    fn whole(&mut self, unit: &'a JavaUnit, (class, method): (&'a JavaClass, &'a JavaMethod)) {
        self.notes = notes::Notes::new(unit);
        self.unite_supertypes(unit);
        self.main_thread(unit, class, method);
        self.translate_queue();
        self.declarations(unit);
        self.declare_flags();
    }

    /// A class and its supertypes share a heap.
    fn unite_supertypes(&mut self, unit: &'a JavaUnit) {
        self.drop_rows_of_unknown_length(unit);
        for class in &unit.classes {
            for parent in self.classes.supers(&class.name) {
                if parent != "Object" && (self.classes.get(&parent).is_some() || types::LIBRARY.contains(&&parent[..]))
                {
                    self.facts.regions.unite(&parent, &class.name);
                }
            }
        }
    }

    fn translate_queue(&mut self) {
        while let Some(job) = self.queue.pop() {
            self.next_frame = (job.caught, job.level);
            match job.code {
                JobCode::Method(class, method) => self.method(job.proc, class, method),
                JobCode::Constructor(class) => self.implicit_constructor(job.proc, class),
                JobCode::Closure(index) => self.closure_method(job.proc, index),
            }
        }
    }

    /// The frame of a procedure that is translated now.
    pub(super) fn open_frame(&mut self, proc: &str, class: Option<&'a JavaClass>, code: &'a [tree::JavaStmt]) {
        self.frame = Frame::new(proc, class, code);
        (self.frame.caught, self.frame.level) = std::mem::take(&mut self.next_frame);
    }

    fn main_thread(&mut self, unit: &'a JavaUnit, class: &'a JavaClass, method: &'a JavaMethod) {
        self.frame = Frame::new("main", Some(class), method.body.as_deref().unwrap_or(&[]));
        self.frame.phase = body::Phase::Alone;
        for class in &unit.classes {
            for (what, span) in &class.unknown {
                self.unmodelled(what, *span);
            }
            if class.form == ClassForm::Other {
                self.unmodelled("an annotation type", class.name_span);
            }
            self.frame.class = Some(class);
            self.static_initialization(class);
        }
        self.frame.class = Some(class);
        self.frame.straight = true;
        if let Some(body) = &method.body {
            for param in &method.params {
                // What the command line gives is not modelled.
                self.declare_local(&param.name, body::Local::new(var(&param.name, param.span), Ty::Unknown));
            }
            self.stmts(body);
        }
        let body = self.finish_body(method.span);
        self.items.push(Spanned::new(
            ItemKind::Thread(ast::ThreadDecl {
                name: name("main", method.name_span),
                copies: ast::CopiesClause::One,
                params: None,
                follows: None,
                clauses: Vec::new(),
                body,
            }),
            method.span,
        ));
    }

    /// Values of static fields that are no constants, and static blocks, in the order of the text.
    fn static_initialization(&mut self, class: &'a JavaClass) {
        enum Part<'a> {
            Field(&'a tree::JavaField),
            Block(&'a tree::Initializer),
        }
        let fields = class.fields.iter().filter(|f| f.modifiers.is_static).map(|f| (f.name_span, Part::Field(f)));
        let blocks = class.initializers.iter().filter(|i| i.is_static).map(|i| (i.span, Part::Block(i)));
        let mut parts: Vec<(Span, Part)> = fields.chain(blocks).collect();
        parts.sort_by_key(|(span, _)| *span);
        for (_, part) in parts {
            match part {
                Part::Field(field) => {
                    let Some(value) = &field.value else { continue };
                    let ty = self.field_ty(class, field);
                    if self.is_embedded(class, field) || self.constant(value, &ty).is_none() {
                        self.initialize_field(class, field, value);
                    }
                }
                Part::Block(block) => self.scoped(|t| t.stmts(&block.body)),
            }
        }
    }

    /// Names of all procedures are those of methods; overloads carry the types of their parameters.
    pub(super) fn proc_name(&self, class: &JavaClass, method: &JavaMethod) -> String {
        let same = class.methods.iter().filter(|m| m.name == method.name).count();
        let mut out = match &method.name[..] {
            CONSTRUCTOR => format!("new {}", class.name),
            other => format!("{}.{other}", class.name),
        };
        if same > 1 {
            let types: Vec<String> =
                method.params.iter().map(|p| self.classes.ty(&p.ty, &type_params(class, method)).spelled()).collect();
            out = format!("{out}({})", types.join(","));
        }
        out
    }

    /// The procedure of a method, which is translated if it was not yet. Exceptions are nobody's but its own.
    pub(super) fn want_method(&mut self, class: &'a JavaClass, method: &'a JavaMethod) -> String {
        let base = self.proc_name(class, method);
        self.want(base, JobCode::Method(class, method), Vec::new(), 1)
    }

    pub(super) fn want_closure(&mut self, index: usize) -> String {
        let base = self.closures[index].proc_name();
        self.want(base, JobCode::Closure(index), Vec::new(), 1)
    }

    /// A copy of a procedure for callers that catch these types, so many calls deep in itself.
    fn want(&mut self, base: String, code: JobCode<'a>, caught: Vec<String>, level: usize) -> String {
        let mut proc = base;
        if level > 1 {
            proc.push_str(&format!(" #{level}"));
        }
        if !caught.is_empty() {
            proc.push_str(&format!(" catching {}", caught.join(", ")));
        }
        if self.queued.insert(proc.clone()) {
            self.queue.push(Job { proc: proc.clone(), caught, level, code });
        }
        proc
    }

    fn method(&mut self, proc: String, class: &'a JavaClass, method: &'a JavaMethod) {
        let params_of_types = type_params(class, method);
        self.open_frame(&proc, Some(class), method.body.as_deref().unwrap_or(&[]));
        self.frame.type_params = params_of_types.clone();
        let mut params = Vec::new();
        if !method.modifiers.is_static {
            params.push(self.this_param(class, method.name_span));
        }
        for param in &method.params {
            let ty = self.classes.ty(&param.ty, &params_of_types);
            params.push(ast::Param { name: name(&param.name, param.span), ty: self.tp_type(&ty, param.span) });
            self.declare_local(&param.name, body::Local::new(var(&param.name, param.span), ty));
        }
        let result = method.result.as_ref().map_or(Ty::Void, |t| self.classes.ty(t, &params_of_types));
        self.frame.result = result.clone();
        let clauses = self.clauses(class, method);
        self.frame.notes_from = method.body_span.start;
        if let Some(performs) = self.taken_for_granted(class, method, &clauses) {
            self.notes.pass_over(method.body_span);
            self.body_of_specification(&performs, &result, method.name_span);
            self.procedure(proc, params, &result, method.span, method.name_span);
            if let Some(Spanned { kind: ItemKind::Proc(proc), .. }) = self.items.last_mut() {
                proc.clauses = clauses;
            }
            return;
        }
        self.assume_axioms(method.name_span);
        if method.name == CONSTRUCTOR {
            self.frame.constructs = race::keeps_this(&self.classes, class, method);
            let explicit = method.body.as_ref().and_then(|b| b.first());
            let delegates =
                matches!(explicit.map(|s| &s.kind), Some(tree::JavaStmtKind::Construct { of_super: false, .. }));
            let calls_super =
                matches!(explicit.map(|s| &s.kind), Some(tree::JavaStmtKind::Construct { of_super: true, .. }));
            if !delegates && !calls_super {
                self.super_constructor(class, &[], method.span);
            }
            if calls_super && let Some(first) = explicit {
                self.stmt(first);
            }
            if !delegates {
                self.field_initialization(class);
            }
            let rest = if calls_super { 1 } else { 0 };
            if let Some(body) = &method.body {
                self.scoped(|t| t.stmts(&body[rest..]));
            }
        } else if let Some(body) = &method.body {
            if method.modifiers.is_synchronized {
                self.synchronized_method(class, method, body);
            } else if is_step(class, method) {
                self.frame.in_step = true;
                let inner = self.inner_block(|t| t.stmts(body));
                self.push(ast::StmtKind::Atomic(block(inner, method.span)), method.span);
            } else {
                self.stmts(body);
            }
        } else {
            self.unmodelled("a method without a body", method.span);
        }
        self.notes_before(method.span.file, method.body_span.end);
        // Java has no way to the end of a method with a result; the model wants a value there all the same.
        self.return_nothing(&result, method.span);
        let inline = self.alone && !self.entries.contains(&proc);
        self.procedure(proc, params, &result, method.span, method.name_span);
        if let Some(Spanned { kind: ItemKind::Proc(proc), .. }) = self.items.last_mut() {
            proc.clauses = clauses;
            if inline {
                proc.form = ast::ProcForm::Inline;
            }
        }
    }

    fn this_param(&mut self, class: &'a JavaClass, span: Span) -> ast::Param {
        let ty = Ty::object(&class.name);
        self.frame.this = Some((present(var("this", span)), ty.clone()));
        ast::Param { name: name("this", span), ty: self.tp_type(&ty, span) }
    }

    /// The end of a body: a value that is not looked at, and that nothing was thrown.
    pub(super) fn return_nothing(&mut self, result: &Ty, span: Span) {
        let value = (*result != Ty::Void).then(|| self.default_value(result, span));
        let nothing_thrown = (!self.frame.caught.is_empty()).then(|| int(0, span));
        let values: Vec<ast::Expr> = value.into_iter().chain(nothing_thrown).collect();
        if !values.is_empty() {
            self.push(ast::StmtKind::Return(values), span);
        }
    }

    pub(super) fn procedure(&mut self, proc: String, params: Vec<ast::Param>, result: &Ty, span: Span, at: Span) {
        let body = self.finish_body(span);
        let mut results = match result {
            Ty::Void => Vec::new(),
            ty => vec![ast::Param { name: name("result", at), ty: self.tp_type(ty, at) }],
        };
        if !self.frame.caught.is_empty() {
            results.push(ast::Param { name: name("thrown", at), ty: Spanned::new(ast::TypeKind::Int, at) });
        }
        self.items.push(Spanned::new(
            ItemKind::Proc(ast::Proc {
                form: ast::ProcForm::Plain,
                name: name(proc, at),
                params,
                results,
                clauses: Vec::new(),
                body,
                span: SourceSpan(span),
            }),
            span,
        ));
    }

    fn implicit_constructor(&mut self, proc: String, class: &'a JavaClass) {
        self.open_frame(&proc, Some(class), &[]);
        self.frame.constructs = race::initializers_keep_this(&self.classes, class);
        let params = vec![self.this_param(class, class.name_span)];
        self.super_constructor(class, &[], class.name_span);
        self.field_initialization(class);
        self.return_nothing(&Ty::Void, class.name_span);
        self.procedure(proc, params, &Ty::Void, class.name_span, class.name_span);
    }

    /// Initial values of instance fields and instance blocks, in the order of the text.
    fn field_initialization(&mut self, class: &'a JavaClass) {
        let mut parts: Vec<(Span, Option<&'a tree::JavaField>, Option<&'a tree::Initializer>)> = Vec::new();
        parts.extend(class.fields.iter().filter(|f| !f.modifiers.is_static).map(|f| (f.name_span, Some(f), None)));
        parts.extend(class.initializers.iter().filter(|i| !i.is_static).map(|i| (i.span, None, Some(i))));
        parts.sort_by_key(|(span, ..)| *span);
        for (_, field, block) in parts {
            if let Some(field) = field
                && let Some(value) = &field.value
            {
                self.initialize_field(class, field, value);
            }
            if let Some(block) = block {
                self.scoped(|t| t.stmts(&block.body));
            }
        }
    }

    pub(super) fn field_ty(&self, class: &JavaClass, field: &tree::JavaField) -> Ty {
        self.classes.ty(&field.ty, &class.type_params)
    }

    pub(super) fn is_embedded(&self, class: &JavaClass, field: &tree::JavaField) -> bool {
        self.embedded.contains(&(class.name.clone(), field.name.clone()))
    }

    /// Arrays of rows are part of their class only where both lengths are known from the text.
    fn drop_rows_of_unknown_length(&mut self, unit: &JavaUnit) {
        for class in &unit.classes {
            for field in class.fields.iter().filter(|f| embed::has_rows(f)) {
                let known = self.constant_length(class, field).is_some() && self.row_length(class, field).is_some();
                if !known {
                    self.embedded.remove(&(class.name.clone(), field.name.clone()));
                }
            }
        }
    }

    /// The type in the model.
    pub(super) fn tp_type(&mut self, ty: &Ty, span: Span) -> ast::Type {
        let kind = match ty {
            Ty::Boolean | Ty::Unknown | Ty::Void => ast::TypeKind::Bool,
            Ty::Int(Width::Char) => return machine(16, ast::Sign::Unsigned, span),
            Ty::Int(width) => return machine(width.bits(), ast::Sign::Signed, span),
            Ty::Text | Ty::Enum(_) | Ty::Math | Ty::Lock(_) | Ty::Thrown(_) | Ty::Boxed(_) => ast::TypeKind::Int,
            Ty::Map(from, to) => {
                let (from, to) = (self.tp_type(from, span), self.tp_type(to, span));
                ast::TypeKind::Map(Box::new(from), Box::new(to))
            }
            Ty::Null => return self.tp_type(&Ty::object("Object"), span),
            Ty::Ref(..) | Ty::Array(_) => {
                let heap = ty.heap_name().expect("objects have a heap name");
                self.use_heap(&heap, ty);
                ast::TypeKind::Named(self.facts.regions.find(&heap).into_boxed_str())
            }
        };
        Spanned::new(kind, span)
    }

    fn use_heap(&mut self, heap: &str, ty: &Ty) {
        if self.facts.heap.contains_key(heap) {
            return;
        }
        self.facts.heap.insert(heap.to_owned(), ty.clone());
        if let Ty::Array(element) = ty {
            let element = (**element).clone();
            if element.is_reference() {
                self.tp_type(&element, Span::new(self.no_file(), 0, 0));
            }
        }
    }

    fn no_file(&self) -> base::SourceId {
        self.classes.all.first().map_or_else(|| base::ids::Id::from_index(0), |c| c.span.file)
    }
}

/// A method of the library that is one step.
fn is_step(class: &JavaClass, method: &JavaMethod) -> bool {
    class.surroundings.is_library && method.modifiers.annotations.iter().any(|a| a.name == "Step")
}

pub(super) fn type_params(class: &JavaClass, method: &JavaMethod) -> Vec<String> {
    class.type_params.iter().chain(&method.type_params).cloned().collect()
}
