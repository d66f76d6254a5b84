//! Objects that a final field holds and nobody else can name: they become part of the object around them.
//!
//! In: the tree. Out: the fields whose objects are embedded. A lock, an atomic number or an array that is only ever used through its final field
//! needs no place on the heap; its parts are fields (or shared variables) of their own, which is what proofs find easiest.
//! A field is embedded only if every use that may be one of it is a use through it: `C.f` and `f` in a class that declares it are of that class, `f` in a class
//! without given supertypes, outer and anonymous classes is of no other, and every other use counts for all fields of the name.

use crate::java::tree::{
    self, ClassForm, JavaClass, JavaExprKind, JavaField, JavaStmt, JavaStmtKind, JavaTypeKind, JavaUnit,
};
use std::collections::{BTreeMap, BTreeSet};

const EMBEDDABLE: &[&str] = &[
    "Object",
    "AtomicInteger",
    "AtomicLong",
    "AtomicBoolean",
    "AtomicReference",
    "ReentrantLock",
    "Lock",
    "Condition",
    "Semaphore",
    "CountDownLatch",
    "Random",
    "ArrayList",
    "LinkedList",
    "ArrayDeque",
    "List",
    "Queue",
    "Deque",
    "Stack",
    "Vector",
    "CopyOnWriteArrayList",
    "ConcurrentLinkedQueue",
    "HashMap",
    "Map",
    "Hashtable",
    "ConcurrentHashMap",
    "ConcurrentMap",
];

/// Classes and fields whose objects are embedded.
pub(super) fn embedded(unit: &JavaUnit) -> BTreeSet<(String, String)> {
    let mut uses = Uses::of(unit);
    for class in &unit.classes {
        uses.class(class);
    }
    let declared: BTreeSet<&str> = unit.classes.iter().map(|c| &c.name[..]).collect();
    let mut out = BTreeSet::new();
    for class in unit.classes.iter().filter(|c| c.form == ClassForm::Class) {
        for field in &class.fields {
            let known = match &field.ty.kind {
                JavaTypeKind::Named(name, _) => EMBEDDABLE.contains(&&name[..]) && !declared.contains(&name[..]),
                JavaTypeKind::Array(_) => true,
                _ => false,
            };
            let rows = !has_rows(field) || uses.never_a_row(&key_of(&class.name, &field.name));
            let made = known && field.modifiers.is_final && is_made_here(class, field);
            if made && rows && uses.only_through(&key_of(&class.name, &field.name)) {
                out.insert((class.name.clone(), field.name.clone()));
            }
        }
    }
    out
}

/// Whether the field gets a new object where it is declared, or in every constructor once.
fn is_made_here(class: &JavaClass, field: &JavaField) -> bool {
    if let Some(value) = &field.value {
        return is_new(value);
    }
    if field.modifiers.is_static {
        return false;
    }
    let mut constructors = class.methods.iter().filter(|m| m.name == tree::CONSTRUCTOR).peekable();
    if constructors.peek().is_none() {
        return false;
    }
    constructors.all(|c| {
        let body = c.body.as_deref().unwrap_or(&[]);
        let delegates = matches!(body.first().map(|s| &s.kind), Some(JavaStmtKind::Construct { of_super: false, .. }));
        // At the outermost level, so that it happens exactly once.
        let makes = |s: &&JavaStmt| {
            matches!(&s.kind, JavaStmtKind::Expr(e) if matches!(&e.kind, JavaExprKind::Assign(place, None, value)
                if is_new(value) && names(place) == Some(&field.name)))
        };
        delegates || body.iter().filter(makes).count() == 1
    })
}

fn is_new(value: &tree::JavaExpr) -> bool {
    match &value.kind {
        JavaExprKind::New { body: None, .. } | JavaExprKind::ArrayValues(_) => true,
        // Rows of one constant length are part of it, too.
        JavaExprKind::NewArray { sizes, open: 0, values: None, .. } if sizes.len() == 2 => true,
        JavaExprKind::NewArray { sizes, open, .. } => *open == 0 && sizes.len() == 1 || sizes.is_empty() && *open == 1,
        JavaExprKind::Call { name, .. } => name == "newCondition",
        _ => false,
    }
}

/// Whether the elements of an array are arrays.
pub(super) fn has_rows(field: &JavaField) -> bool {
    matches!(&field.ty.kind, JavaTypeKind::Array(inner) if matches!(inner.kind, JavaTypeKind::Array(_)))
}

/// The last name of a variable or field.
fn names(e: &tree::JavaExpr) -> Option<&String> {
    match &e.kind {
        JavaExprKind::Name(name) | JavaExprKind::Field(_, name, _) => Some(name),
        _ => None,
    }
}

fn key_of(class: &str, field: &str) -> String {
    format!("{class}.{field}")
}

/// How often each field may be used, and how often as the object through which something is reached.
#[derive(Default)]
struct Uses {
    all: BTreeMap<String, usize>,
    through: BTreeMap<String, usize>,
    /// How often indexed, and how often with two indices.
    indexed: BTreeMap<String, usize>,
    twice: BTreeMap<String, usize>,
    /// The classes that declare a field of the name.
    declaring: BTreeMap<String, Vec<String>>,
    statics: BTreeSet<String>,
    declared: BTreeSet<String>,
    /// Names of locals and parameters: a class of such a name is not recognised before a dot.
    locals: BTreeSet<String>,
    /// Classes that some expression may be an object of: a static field of any other is named by `C.f` only.
    used_as_types: BTreeSet<String>,
    /// The class whose code is looked at, if its plain names can be its own fields or locals only.
    plain: Option<String>,
}

impl Uses {
    fn of(unit: &JavaUnit) -> Self {
        let mut out = Self { declared: unit.classes.iter().map(|c| c.name.clone()).collect(), ..Self::default() };
        for class in &unit.classes {
            for field in &class.fields {
                out.declaring.entry(field.name.clone()).or_default().push(class.name.clone());
                if field.modifiers.is_static {
                    out.statics.insert(key_of(&class.name, &field.name));
                }
            }
            let supertypes = class.extends.iter().chain(&class.implements);
            supertypes.chain(class.fields.iter().map(|f| &f.ty)).for_each(|t| out.ty(t));
            tree::in_class(class, &mut |e| match &e.kind {
                JavaExprKind::New { ty, .. }
                | JavaExprKind::NewArray { element: ty, .. }
                | JavaExprKind::Cast(ty, _)
                | JavaExprKind::InstanceOf(_, ty, ..) => out.ty(ty),
                _ => {}
            });
            for method in &class.methods {
                method.result.iter().chain(method.params.iter().map(|p| &p.ty)).for_each(|t| out.ty(t));
                out.locals.extend(method.params.iter().map(|p| p.name.clone()));
                tree::statements(method.body.as_deref().unwrap_or(&[]), &mut |s| match &s.kind {
                    JavaStmtKind::Local { name, ty, .. } | JavaStmtKind::ForEach { name, ty, .. } => {
                        out.locals.insert(name.clone());
                        out.ty(ty);
                    }
                    _ => {}
                });
            }
        }
        out
    }

    /// The fields that an expression may name.
    fn fields(&self, e: &tree::JavaExpr) -> Vec<String> {
        let Some(name) = names(e) else { return Vec::new() };
        let Some(declaring) = self.declaring.get(name) else { return Vec::new() };
        let declares = |class: &String| declaring.contains(class);
        let everywhere = || declaring.iter().map(|c| key_of(c, name)).collect::<Vec<_>>();
        match &e.kind {
            JavaExprKind::Name(_) => match &self.plain {
                Some(class) if declares(class) => vec![key_of(class, name)],
                Some(_) => Vec::new(),
                None => everywhere(),
            },
            JavaExprKind::Field(object, ..) => match &object.kind {
                JavaExprKind::Name(class)
                    if declares(class) && !self.locals.contains(class) && !self.declaring.contains_key(class) =>
                {
                    vec![key_of(class, name)]
                }
                JavaExprKind::This => everywhere(),
                _ => everywhere().into_iter().filter(|key| !self.only_by_class(key, name)).collect(),
            },
            _ => Vec::new(),
        }
    }

    /// Whether no object can be used to name the static field.
    fn only_by_class(&self, key: &str, name: &str) -> bool {
        let class = &key[..key.len() - name.len() - 1];
        self.statics.contains(key) && !self.used_as_types.contains(class)
    }

    fn ty(&mut self, ty: &tree::JavaType) {
        match &ty.kind {
            JavaTypeKind::Named(name, args) => {
                self.used_as_types.insert(name.clone());
                args.iter().for_each(|t| self.ty(t));
            }
            JavaTypeKind::Array(inner) => self.ty(inner),
            _ => {}
        }
    }

    fn only_through(&self, name: &str) -> bool {
        self.all.get(name).copied().unwrap_or(0) == self.through.get(name).copied().unwrap_or(0)
    }

    fn never_a_row(&self, name: &str) -> bool {
        let count = |m: &BTreeMap<String, usize>| m.get(name).copied().unwrap_or(0);
        count(&self.indexed) == count(&self.twice)
    }

    fn used_through(&mut self, e: &tree::JavaExpr) {
        for key in self.fields(e) {
            *self.through.entry(key).or_default() += 1;
        }
    }

    fn class(&mut self, class: &JavaClass) {
        let mut anonymous = false;
        tree::in_class(class, &mut |e| anonymous |= matches!(&e.kind, JavaExprKind::New { body: Some(_), .. }));
        // A class of the library has no fields of these names.
        let given = |t: &tree::JavaType| matches!(&t.kind, JavaTypeKind::Named(n, _) if self.declared.contains(n));
        let inherits = class.extends.iter().chain(&class.implements).any(given);
        let alone = !inherits && class.outer.is_none() && !anonymous;
        self.plain = (alone && class.form == ClassForm::Class).then(|| class.name.clone());
        tree::in_class(class, &mut |e| self.expr(e));
        for initializer in &class.initializers {
            self.statements(&initializer.body);
        }
        for body in class.methods.iter().filter_map(|m| m.body.as_ref()) {
            self.statements(body);
        }
    }

    fn expr(&mut self, e: &tree::JavaExpr) {
        for key in self.fields(e) {
            *self.all.entry(key).or_default() += 1;
        }
        match &e.kind {
            JavaExprKind::Call { object: Some(object), .. } => self.used_through(object),
            JavaExprKind::Index(array, _) => {
                self.used_through(array);
                for key in self.fields(array) {
                    *self.indexed.entry(key).or_default() += 1;
                }
                if let JavaExprKind::Index(inner, _) = &array.kind {
                    for key in self.fields(inner) {
                        *self.twice.entry(key).or_default() += 1;
                    }
                }
            }
            JavaExprKind::Field(object, field, _) if field == "length" => self.used_through(object),
            JavaExprKind::Assign(place, None, value) if is_new(value) => self.used_through(place),
            JavaExprKind::Lambda { body, .. } => self.statements(body),
            JavaExprKind::New { body: Some(class), .. } => {
                for body in class.methods.iter().filter_map(|m| m.body.as_ref()) {
                    self.statements(body);
                }
            }
            _ => {}
        }
    }

    /// Uses by statements; expressions in them are visited elsewhere.
    fn statements(&mut self, stmts: &[JavaStmt]) {
        let mut found: Vec<tree::JavaExpr> = Vec::new();
        tree::statements(stmts, &mut |s| match &s.kind {
            JavaStmtKind::Synchronized(e, _) => found.push(e.clone()),
            JavaStmtKind::ForEach { over, .. } => found.push(over.clone()),
            _ => {}
        });
        for e in &found {
            self.used_through(e);
            // A loop over it takes its elements as values.
            for key in self.fields(e) {
                *self.indexed.entry(key).or_default() += 1;
            }
        }
    }
}
