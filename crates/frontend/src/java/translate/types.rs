//! Types of Java as the translation sees them, the classes of the files given, and which classes share a heap.
//!
//! In: the tree. Out: `Ty`, the table `Classes`, and regions: classes whose objects may be seen under one static type are one class
//! of the model. Deliberately absent: type arguments beyond what library classes hold (types are erased).

use crate::java::tree::{self, ClassForm, JavaClass, JavaMethod, JavaTypeKind, JavaUnit};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Width {
    Byte,
    Short,
    Char,
    Int,
    Long,
}

impl Width {
    pub(crate) fn bits(self) -> u32 {
        match self {
            Width::Byte => 8,
            Width::Short | Width::Char => 16,
            Width::Int => 32,
            Width::Long => 64,
        }
    }
    /// A number as a value of this type.
    pub(crate) fn wrap(self, value: i128) -> i128 {
        match self {
            Width::Char => value.rem_euclid(1 << 16),
            _ => {
                let modulus = 1_i128 << self.bits();
                let rest = value.rem_euclid(modulus);
                if rest >= modulus / 2 { rest - modulus } else { rest }
            }
        }
    }
}

/// A static type.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ty {
    Boolean,
    Int(Width),
    /// `String`: literals are numbers, everything else about them is outside the model.
    Text,
    /// A class or interface, with what a library class holds.
    Ref(String, Vec<Ty>),
    Enum(String),
    Array(Box<Ty>),
    /// An integer of a specification, which does not wrap.
    Math,
    /// A map of a specification.
    Map(Box<Ty>, Box<Ty>),
    /// The monitor of an object that is part of another.
    Lock(Box<Ty>),
    /// An exception: the number of its class. The static type.
    Thrown(String),
    /// `Integer` and its kind: a number, or `NO_NUMBER` for null.
    Boxed(Box<Ty>),
    Null,
    #[default]
    Void,
    Unknown,
}

impl Ty {
    pub(crate) const INT: Ty = Ty::Int(Width::Int);
    pub(crate) fn object(name: &str) -> Ty {
        Ty::Ref(name.to_owned(), Vec::new())
    }
    pub(crate) fn is_reference(&self) -> bool {
        matches!(self, Ty::Ref(..) | Ty::Array(_) | Ty::Null)
    }
    /// The name under which objects of the type are known to regions.
    pub(crate) fn heap_name(&self) -> Option<String> {
        match self {
            Ty::Ref(name, args) => Some(match collected(name) {
                // One name for all classes that an interface may stand for.
                Some(of) => {
                    let family = if of.is_list { "List" } else { "Map" };
                    let args: Vec<String> = args.iter().map(Ty::spelled).collect();
                    format!("{family}<{}>", args.join(", "))
                }
                None => name.clone(),
            }),
            Ty::Array(element) => Some(format!("{}[]", element.spelled())),
            _ => None,
        }
    }
    pub(crate) fn spelled(&self) -> String {
        match self {
            Ty::Boolean => "boolean".into(),
            Ty::Int(Width::Byte) => "byte".into(),
            Ty::Int(Width::Short) => "short".into(),
            Ty::Int(Width::Char) => "char".into(),
            Ty::Int(Width::Int) => "int".into(),
            Ty::Int(Width::Long) => "long".into(),
            Ty::Text => "String".into(),
            Ty::Ref(name, _) | Ty::Enum(name) => name.clone(),
            Ty::Array(element) => format!("{}[]", element.spelled()),
            Ty::Thrown(name) => name.clone(),
            Ty::Boxed(inner) => boxed_name(inner).into(),
            Ty::Math | Ty::Lock(_) => "int".into(),
            Ty::Map(from, to) => format!("{} -> {}", from.spelled(), to.spelled()),
            Ty::Null => "null".into(),
            Ty::Void => "void".into(),
            Ty::Unknown => "?".into(),
        }
    }
}

/// What stands for null among numbers that are objects: no number of Java.
pub(crate) const NO_NUMBER: i128 = 1 << 64;

fn boxed_name(inner: &Ty) -> &'static str {
    match inner {
        Ty::Boolean => "Boolean",
        Ty::Int(Width::Byte) => "Byte",
        Ty::Int(Width::Short) => "Short",
        Ty::Int(Width::Char) => "Character",
        Ty::Int(Width::Int) => "Integer",
        _ => "Long",
    }
}

fn boxed(name: &str) -> Option<Ty> {
    let inner = match name {
        "Boolean" => Ty::Boolean,
        "Byte" => Ty::Int(Width::Byte),
        "Short" => Ty::Int(Width::Short),
        "Character" => Ty::Int(Width::Char),
        "Integer" => Ty::INT,
        "Long" => Ty::Int(Width::Long),
        _ => return None,
    };
    Some(Ty::Boxed(Box::new(inner)))
}

/// Library classes that are modelled; others are outside the model where they are used.
pub(crate) const LIBRARY: &[&str] = &[
    "Object",
    "Runnable",
    "Thread",
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

/// A kind of collection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Collected {
    pub is_list: bool,
    /// Elements are pushed and popped at the end.
    pub is_stack: bool,
    /// Whether threads may use it at once; none: only its object tells.
    pub safe: Option<bool>,
}

/// What a class of the library collects.
pub(crate) fn collected(name: &str) -> Option<Collected> {
    let (is_list, safe) = match name {
        "ArrayList" | "LinkedList" | "ArrayDeque" => (true, Some(false)),
        "List" | "Queue" | "Deque" => (true, None),
        "Vector" | "Stack" | "CopyOnWriteArrayList" | "ConcurrentLinkedQueue" => (true, Some(true)),
        "HashMap" => (false, Some(false)),
        "Map" => (false, None),
        "Hashtable" | "ConcurrentHashMap" | "ConcurrentMap" => (false, Some(true)),
        _ => return None,
    };
    Some(Collected { is_list, is_stack: name == "Stack", safe })
}

/// The classes of the program, by name.
#[derive(Debug, Default)]
pub(crate) struct Classes<'a> {
    pub all: Vec<&'a JavaClass>,
    by_name: BTreeMap<&'a str, usize>,
    /// Names that stand for two classes: every use is outside the model.
    pub(crate) ambiguous: BTreeSet<&'a str>,
    /// Whether some thread of the program is interrupted.
    pub(crate) interrupts: bool,
}

impl<'a> Classes<'a> {
    pub(crate) fn new(unit: &'a JavaUnit) -> Self {
        let interrupts = tree::interrupts(unit);
        let mut out = Self { all: unit.classes.iter().collect(), interrupts, ..Self::default() };
        for (index, class) in unit.classes.iter().enumerate() {
            if out.by_name.insert(&class.name, index).is_some() {
                out.ambiguous.insert(&class.name);
            }
        }
        out
    }

    pub(crate) fn get(&self, name: &str) -> Option<&'a JavaClass> {
        self.by_name.get(name).map(|i| self.all[*i])
    }

    /// The number that stands for a class where objects of several have one class of the model.
    pub(crate) fn number(&self, name: &str) -> i128 {
        self.by_name.get(name).map_or(0, |i| *i as i128 + 1)
    }

    /// Direct supertypes among the classes given and the library.
    pub(crate) fn supers(&self, name: &str) -> Vec<String> {
        let Some(class) = self.get(name) else { return Vec::new() };
        let named = |t: &tree::JavaType| match &t.kind {
            JavaTypeKind::Named(n, _) => Some(n.clone()),
            _ => None,
        };
        class.extends.iter().chain(&class.implements).filter_map(named).collect()
    }

    pub(crate) fn is_subclass(&self, name: &str, of: &str) -> bool {
        self.subclass_within(name, of, 64)
    }

    fn subclass_within(&self, name: &str, of: &str, depth: usize) -> bool {
        name == of
            || of == "Object"
            || (depth > 0 && self.supers(name).iter().any(|s| self.subclass_within(s, of, depth - 1)))
    }

    /// A field by name in a class or its supertypes, with the class that declares it.
    pub(crate) fn field(&self, class: &str, name: &str) -> Option<(&'a JavaClass, &'a tree::JavaField)> {
        let mut todo = vec![class.to_owned()];
        let mut seen = BTreeSet::new();
        while let Some(at) = todo.pop() {
            if !seen.insert(at.clone()) {
                continue;
            }
            let Some(class) = self.get(&at) else { continue };
            if let Some(field) = class.fields.iter().find(|f| f.name == name) {
                return Some((class, field));
            }
            todo.extend(self.supers(&at));
        }
        None
    }

    /// Methods of a name and number of parameters that a class has itself or inherits, nearest first.
    pub(crate) fn methods(&self, class: &str, name: &str, arity: usize) -> Vec<(&'a JavaClass, &'a JavaMethod)> {
        let mut out = Vec::new();
        let mut todo = std::collections::VecDeque::from([class.to_owned()]);
        let mut seen = BTreeSet::new();
        while let Some(at) = todo.pop_front() {
            if !seen.insert(at.clone()) {
                continue;
            }
            let Some(class) = self.get(&at) else { continue };
            out.extend(class.methods.iter().filter(|m| m.name == name && m.params.len() == arity).map(|m| (class, m)));
            todo.extend(self.supers(&at));
        }
        out
    }

    /// The type a tree type stands for; type parameters are erased.
    pub(crate) fn ty(&self, ty: &tree::JavaType, params: &[String]) -> Ty {
        match &ty.kind {
            JavaTypeKind::Boolean => Ty::Boolean,
            JavaTypeKind::Byte => Ty::Int(Width::Byte),
            JavaTypeKind::Short => Ty::Int(Width::Short),
            JavaTypeKind::Char => Ty::Int(Width::Char),
            JavaTypeKind::Int => Ty::INT,
            JavaTypeKind::Long => Ty::Int(Width::Long),
            JavaTypeKind::Real => Ty::Unknown,
            JavaTypeKind::Array(inner) => match self.ty(inner, params) {
                Ty::Unknown => Ty::Unknown,
                element => Ty::Array(Box::new(element)),
            },
            JavaTypeKind::Named(name, args) => {
                if params.contains(name) {
                    return Ty::object("Object");
                }
                if self.ambiguous.contains(&name[..]) {
                    return Ty::Unknown;
                }
                if self.is_exception(name) {
                    return Ty::Thrown(name.clone());
                }
                if self.get(name).is_none()
                    && let Some(ty) = boxed(name)
                {
                    return ty;
                }
                match self.get(name) {
                    Some(class) if class.form == ClassForm::Enum => Ty::Enum(name.clone()),
                    Some(class) if class.form == ClassForm::Other => Ty::Unknown,
                    Some(_) => Ty::Ref(name.clone(), Vec::new()),
                    None if name == "String" => Ty::Text,
                    None if LIBRARY.contains(&&name[..]) => {
                        Ty::Ref(name.clone(), args.iter().map(|a| self.ty(a, params)).collect())
                    }
                    None => Ty::Unknown,
                }
            }
        }
    }

    /// The one abstract method of an interface, for lambdas.
    pub(crate) fn abstract_method(&self, name: &str) -> Option<(&'a JavaClass, &'a JavaMethod)> {
        let class = self.get(name).filter(|c| c.form == ClassForm::Interface)?;
        let mut open = class.methods.iter().filter(|m| m.body.is_none());
        match (open.next(), open.next()) {
            (Some(method), None) => Some((class, method)),
            _ => None,
        }
    }
}

/// Classes that share a class of the model: a partition of names that only becomes coarser.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Regions {
    parent: BTreeMap<String, String>,
}

impl Regions {
    pub(crate) fn find(&self, name: &str) -> String {
        let mut at = name;
        while let Some(next) = self.parent.get(at) {
            at = next;
        }
        at.to_owned()
    }

    /// Objects of one class are seen under the name of the other. The first name stays where neither is `Object`.
    pub(crate) fn unite(&mut self, first: &str, second: &str) {
        let (a, b) = (self.find(first), self.find(second));
        if a == b {
            return;
        }
        let (root, child) = if b == "Object" { (b, a) } else { (a, b) };
        self.parent.insert(child, root);
    }
}
