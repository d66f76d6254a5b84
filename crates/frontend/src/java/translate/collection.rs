//! Lists, queues and maps of `java.util`, and random numbers.
//!
//! A list is a sequence of the model, a map is a total map with the set of its keys. Each operation is one step. Classes that are not made for threads take part in
//! races as arrays do: their operations read or write the collection as a whole. The others (`Vector`, `ConcurrentHashMap`, ..) do not, and wait for the monitor where
//! the program uses it.
//!
//! In: a call of a method of a collection. Out: its steps.
//! Deliberately absent: iterators other than `for`, streams, order of maps, elements whose class has an `equals` of its own.

use super::Translation;
use super::body::{Cleanup, Continue, Local, Phase, Val};
use super::build::*;
use super::declare::Part;
use super::place::{Receiver, as_value};
use super::race::Use;
use super::types::{Collected, Ty, collected};
use crate::java::tree;
use crate::lang::ast::{self, Binary, Checked, Expr, ExprKind, Foreign, Spanned, Stmt, StmtKind};
use base::Span;

impl Receiver {
    pub(super) fn is_list(&self) -> bool {
        matches!(&self.ty, Ty::Ref(name, _) if collected(name).is_some_and(|c| c.is_list))
    }
}

/// Which end of a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    First,
    Last,
}

impl<'a> Translation<'a> {
    pub(super) fn collection_parts(&mut self, of: Collected, args: &[Ty], span: Span) -> Vec<Part> {
        let part = |name, ty, first| Part { name, ty, first };
        let kind = |kind| Spanned::new(kind, span);
        let boxed = |t: ast::Type| Box::new(t);
        let falsity = || Some(boolean(false, span));
        let arg = |at: usize| args.get(at).cloned().unwrap_or_else(|| Ty::object("Object"));
        let mut out = if of.is_list {
            let element = self.tp_type(&arg(0), span);
            vec![
                part("items", kind(ast::TypeKind::Seq(boxed(element))), Some(empty(span))),
                part("version", kind(ast::TypeKind::Int), Some(int(0, span))),
            ]
        } else {
            let (key, value) = (self.tp_type(&arg(0), span), self.tp_type(&arg(1), span));
            let nothing = self.default_value(&arg(1), span);
            let everywhere = |value| Some(foreign(Foreign::Everywhere(value), span));
            let has = ast::TypeKind::Map(boxed(key.clone()), boxed(kind(ast::TypeKind::Bool)));
            vec![
                part("has", kind(has), everywhere(boolean(false, span))),
                part("data", kind(ast::TypeKind::Map(boxed(key), boxed(value))), everywhere(nothing)),
                part("size", machine(32, ast::Sign::Signed, span), Some(int(0, span))),
            ]
        };
        out.push(part("safe", kind(ast::TypeKind::Bool), falsity()));
        out.push(part("writing", kind(ast::TypeKind::Bool), falsity()));
        out
    }

    /// A new collection: empty.
    pub(super) fn initialize_collection(
        &mut self,
        receiver: &Receiver,
        made: &str,
        args: &'a [tree::JavaExpr],
        span: Span,
    ) {
        for arg in args {
            let value = self.expr(arg);
            if !matches!(value.ty, Ty::Int(_) | Ty::Unknown) {
                self.unmodelled("a collection made from another one", span);
            }
        }
        if collected(made).is_some_and(|c| c.safe == Some(true)) {
            self.push_stmt(assign(receiver.part("safe", span), boolean(true, span), span));
        }
    }

    /// One step of an operation: what it reads and writes is the collection as a whole.
    fn operation(&mut self, receiver: &Receiver, of: Use, body: Vec<Stmt>, span: Span) {
        let known = match &receiver.ty {
            Ty::Ref(name, _) => collected(name).and_then(|c| c.safe),
            _ => None,
        };
        let place = receiver.elements();
        let mut stmts = Vec::new();
        let monitored = self.known.as_ref().is_some_and(|k| {
            let kind = self.facts.regions.find(&receiver.kind());
            k.monitors.iter().any(|m| self.facts.regions.find(m) == kind)
        });
        if known != Some(false) && monitored {
            let monitor = receiver.part("monitor", span);
            let free = equal(monitor.clone(), int(0, span), span);
            let mine = equal(monitor, tid(span), span);
            let unsafe_one = not(receiver.part("safe", span), span);
            let wait = or(vec![unsafe_one, free, mine], span);
            stmts.push(Spanned::new(StmtKind::Assume(foreign(Foreign::Peek(wait), span)), span));
        }
        if known == Some(true) {
            stmts.extend(body);
            return self.push_stmt(step(stmts, span));
        }
        self.note_access(&place, of, receiver.object.as_deref());
        if !self.watches(&place, receiver.object.as_deref()) {
            stmts.extend(body);
            return self.push_stmt(step(stmts, span));
        }
        let marker = receiver.part("writing", span);
        let race = Checked::Race(place.into_boxed_str());
        let condition = not(marker.clone(), span);
        stmts.push(Spanned::new(StmtKind::Check { of: race, condition }, span));
        if of == Use::Write {
            let plain = not(receiver.part("safe", span), span);
            stmts.push(assign(marker.clone(), plain, span));
            self.push_stmt(step(stmts, span));
            stmts = body;
            stmts.push(assign(marker, boolean(false, span), span));
        } else {
            stmts.extend(body);
        }
        self.push_stmt(step(stmts, span));
    }

    /// Elements and keys are compared by what they are; not where a class says otherwise.
    fn compared(&mut self, e: &Expr, ty: &Ty, span: Span) {
        match ty {
            Ty::Text => self.known_text(e, span),
            Ty::Ref(class, _) => {
                let own = self.classes.all.iter().any(|c| {
                    c.methods.iter().any(|m| m.name == "equals" && m.params.len() == 1)
                        && (self.classes.is_subclass(&c.name, class) || self.classes.is_subclass(class, &c.name))
                });
                let record = self.classes.get(class).is_some_and(|c| c.surroundings.is_record);
                if own || record {
                    self.unmodelled("a collection of objects that have their own `equals`", span);
                }
            }
            _ => {}
        }
    }

    pub(super) fn collection_call(
        &mut self,
        receiver: &Receiver,
        of: Collected,
        method: &str,
        args: &'a [tree::JavaExpr],
        span: Span,
    ) -> Option<Val> {
        let Ty::Ref(_, held) = receiver.ty.clone() else { return None };
        let arg = |at: usize| held.get(at).cloned().unwrap_or_else(|| Ty::object("Object"));
        if held.iter().any(|t| matches!(t, Ty::Unknown | Ty::Void)) {
            return None;
        }
        if of.is_list {
            self.list_call(receiver, &arg(0), of, method, args, span)
        } else {
            self.map_call(receiver, &arg(0), &arg(1), method, args, span)
        }
    }

    fn length(&self, items: &Expr, span: Span) -> Expr {
        let len = call("len", vec![items.clone()], span);
        Spanned::new(ExprKind::Call(Box::new(len)), span)
    }

    /// Changes the items of a list.
    fn change(&self, receiver: &Receiver, items: Expr, span: Span) -> Vec<Stmt> {
        let version = receiver.part("version", span);
        let next = binary(Binary::Add, version.clone(), int(1, span), span);
        vec![assign(receiver.part("items", span), items, span), assign(version, next, span)]
    }

    fn list_call(
        &mut self,
        receiver: &Receiver,
        element: &Ty,
        of: Collected,
        method: &str,
        args: &'a [tree::JavaExpr],
        span: Span,
    ) -> Option<Val> {
        let items = receiver.part("items", span);
        let void = Val::new(boolean(false, span), Ty::Void);
        let yes = Val::new(boolean(true, span), Ty::Boolean);
        let one = |e: Expr| Spanned::new(ExprKind::Seq(vec![e]), span);
        let join = |a: Expr, b: Expr| binary(Binary::Add, a, b, span);
        match (method, args.len()) {
            ("size", 0) => {
                let count = self.open_temp("size", &Ty::INT, span);
                let length = convert(machine(32, ast::Sign::Signed, span), self.length(&items, span), span);
                self.operation(receiver, Use::Read, vec![assign(count.clone(), length, span)], span);
                Some(Val::new(count, Ty::INT))
            }
            ("isEmpty" | "empty", 0) => {
                let none = self.open_temp("empty", &Ty::Boolean, span);
                let condition = equal(self.length(&items, span), int(0, span), span);
                self.operation(receiver, Use::Read, vec![assign(none.clone(), condition, span)], span);
                Some(Val::new(none, Ty::Boolean))
            }
            ("add" | "addElement" | "addLast" | "offer" | "offerLast" | "put", 1) => {
                let value = self.element_value(&args[0], element);
                let body = self.change(receiver, join(items, one(value)), span);
                self.operation(receiver, Use::Write, body, span);
                Some(if matches!(method, "add" | "offer" | "offerLast") { yes } else { void })
            }
            ("push", 1) if of.is_stack => {
                let value = self.element_value(&args[0], element);
                let body = self.change(receiver, join(items, one(value.clone())), span);
                self.operation(receiver, Use::Write, body, span);
                Some(Val::new(value, element.clone()))
            }
            ("push" | "addFirst" | "offerFirst", 1) => {
                let value = self.element_value(&args[0], element);
                let body = self.change(receiver, join(one(value), items), span);
                self.operation(receiver, Use::Write, body, span);
                Some(if method == "offerFirst" { yes } else { void })
            }
            ("get" | "elementAt", 1) => {
                let at = self.index_value(&args[0]);
                Some(self.at_index(receiver, element, at, None, span))
            }
            ("set", 2) => {
                let at = self.index_value(&args[0]);
                let value = self.element_value(&args[1], element);
                let new = join(
                    join(slice(&items, None, Some(at.clone()), span), one(value)),
                    slice(&items, Some(after(at.clone(), span)), None, span),
                );
                Some(self.at_index(receiver, element, at, Some(new), span))
            }
            ("remove" | "removeElementAt", 1) if self.is_index(&args[0]) => {
                let at = self.index_value(&args[0]);
                let new = join(
                    slice(&items, None, Some(at.clone()), span),
                    slice(&items, Some(after(at.clone(), span)), None, span),
                );
                Some(self.at_index(receiver, element, at, Some(new), span))
            }
            ("clear" | "removeAllElements", 0) => {
                let body = self.change(receiver, empty(span), span);
                self.operation(receiver, Use::Write, body, span);
                Some(void)
            }
            ("contains" | "indexOf", 1) => {
                let found = self.search(receiver, element, &args[0], span)?;
                let is_there = binary(Binary::LessEqual, int(0, span), found.clone(), span);
                Some(if method == "contains" {
                    Val::new(is_there, Ty::Boolean)
                } else {
                    let found = convert(machine(32, ast::Sign::Signed, span), found, span);
                    Val::new(self.bind("index", &Ty::INT, as_value(found), span), Ty::INT)
                })
            }
            _ => self.end_call(receiver, element, of, method, args.len(), span),
        }
    }

    /// Operations on one end of a list.
    fn end_call(
        &mut self,
        receiver: &Receiver,
        element: &Ty,
        of: Collected,
        method: &str,
        args: usize,
        span: Span,
    ) -> Option<Val> {
        let (end, takes, throws) = match (method, args) {
            ("pop", 0) if of.is_stack => (End::Last, true, true),
            ("peek", 0) if of.is_stack => (End::Last, false, true),
            ("pop" | "remove" | "removeFirst" | "take", 0) => (End::First, true, true),
            ("element" | "getFirst" | "firstElement", 0) => (End::First, false, true),
            ("poll" | "pollFirst", 0) => (End::First, true, false),
            ("peek" | "peekFirst", 0) => (End::First, false, false),
            ("removeLast", 0) => (End::Last, true, true),
            ("getLast" | "lastElement", 0) => (End::Last, false, true),
            ("pollLast", 0) => (End::Last, true, false),
            ("peekLast", 0) => (End::Last, false, false),
            _ => return None,
        };
        if method == "take" {
            // It waits for an element: only queues of threads have it, and they are not modelled.
            return None;
        }
        let items = receiver.part("items", span);
        let there = self.open_temp("there", &Ty::Boolean, span);
        let value = self.open_temp("element", element, span);
        let length = self.length(&items, span);
        let last = binary(Binary::Subtract, length.clone(), int(1, span), span);
        let (at, rest) = match end {
            End::First => (int(0, span), slice(&items, Some(int(1, span)), None, span)),
            End::Last => (last.clone(), slice(&items, None, Some(last), span)),
        };
        let mut inner = vec![assign(value.clone(), index(items, at, span), span)];
        if takes {
            inner.extend(self.change(receiver, rest, span));
        }
        let nothing = self.default_value(element, span);
        let otherwise = vec![assign(value.clone(), nothing, span)];
        let body = vec![
            assign(there.clone(), binary(Binary::Less, int(0, span), length, span), span),
            if_else(there.clone(), inner, Some(otherwise), span),
        ];
        self.operation(receiver, if takes { Use::Write } else { Use::Read }, body, span);
        if throws {
            self.check(Checked::Language("element"), there, span);
        }
        Some(Val::new(value, element.clone()))
    }

    fn element_value(&mut self, e: &'a tree::JavaExpr, element: &Ty) -> Expr {
        let value = self.expr_as(e, element);
        self.bind("item", element, as_value(value), e.span)
    }

    fn is_index(&self, e: &tree::JavaExpr) -> bool {
        matches!(e.kind, tree::JavaExprKind::Int(_) | tree::JavaExprKind::Binary(..) | tree::JavaExprKind::Step { .. })
            || matches!(self.static_type(e), Ty::Int(_))
    }

    fn index_value(&mut self, e: &'a tree::JavaExpr) -> Expr {
        let value = self.expr_as(e, &Ty::INT);
        let value = convert(machine(32, ast::Sign::Signed, e.span), value, e.span);
        let value = self.bind("index", &Ty::INT, as_value(value), e.span);
        as_int(value, e.span)
    }

    /// Reads an element, and changes the list where something new is given.
    fn at_index(&mut self, receiver: &Receiver, element: &Ty, at: Expr, new: Option<Expr>, span: Span) -> Val {
        let items = receiver.part("items", span);
        let inside = self.open_temp("inside", &Ty::Boolean, span);
        let value = self.open_temp("element", element, span);
        let low = binary(Binary::LessEqual, int(0, span), at.clone(), span);
        let high = binary(Binary::Less, at.clone(), self.length(&items, span), span);
        let mut inner = vec![assign(value.clone(), index(items, at, span), span)];
        let of = if new.is_some() { Use::Write } else { Use::Read };
        if let Some(new) = new {
            inner.extend(self.change(receiver, new, span));
        }
        let nothing = self.default_value(element, span);
        let otherwise = vec![assign(value.clone(), nothing, span)];
        let body = vec![
            assign(inside.clone(), and(vec![low, high], span), span),
            if_else(inside.clone(), inner, Some(otherwise), span),
        ];
        self.operation(receiver, of, body, span);
        self.check(Checked::Language("index"), inside, span);
        Val::new(value, element.clone())
    }

    /// The first place of an element, or -1.
    fn search(&mut self, receiver: &Receiver, element: &Ty, wanted: &'a tree::JavaExpr, span: Span) -> Option<Expr> {
        if *element == Ty::Text {
            return None;
        }
        let wanted = self.element_value(wanted, element);
        self.compared(&wanted, element, span);
        let items = receiver.part("items", span);
        let (at, found) = (self.open_int("at", span), self.open_int("found", span));
        let less = binary(Binary::Less, at.clone(), self.length(&items, span), span);
        let open = equal(found.clone(), int(-1, span), span);
        let same = equal(index(items, at.clone(), span), wanted, span);
        let turn = vec![
            if_else(same, vec![assign(found.clone(), at.clone(), span)], None, span),
            assign(at.clone(), after(at.clone(), span), span),
        ];
        let body = vec![
            assign(at, int(0, span), span),
            assign(found.clone(), int(-1, span), span),
            while_loop(and(vec![less, open], span), turn, span),
        ];
        self.operation(receiver, Use::Read, body, span);
        Some(found)
    }

    fn map_call(
        &mut self,
        receiver: &Receiver,
        key: &Ty,
        value: &Ty,
        method: &str,
        args: &'a [tree::JavaExpr],
        span: Span,
    ) -> Option<Val> {
        let size = receiver.part("size", span);
        let resized = |by: i128| assign(size.clone(), binary(Binary::Add, size.clone(), int(by, span), span), span);
        match (method, args.len()) {
            ("size", 0) => {
                let count = self.open_temp("size", &Ty::INT, span);
                self.operation(receiver, Use::Read, vec![assign(count.clone(), size, span)], span);
                return Some(Val::new(count, Ty::INT));
            }
            ("isEmpty", 0) => {
                let none = self.open_temp("empty", &Ty::Boolean, span);
                let condition = equal(size, int(0, span), span);
                self.operation(receiver, Use::Read, vec![assign(none.clone(), condition, span)], span);
                return Some(Val::new(none, Ty::Boolean));
            }
            ("clear", 0) => {
                let nothing = self.default_value(value, span);
                let everywhere = |e| foreign(Foreign::Everywhere(e), span);
                let body = vec![
                    assign(receiver.part("has", span), everywhere(boolean(false, span)), span),
                    assign(receiver.part("data", span), everywhere(nothing), span),
                    assign(size, int(0, span), span),
                ];
                self.operation(receiver, Use::Write, body, span);
                return Some(Val::new(boolean(false, span), Ty::Void));
            }
            ("get" | "containsKey" | "remove", 1) | ("put" | "putIfAbsent" | "getOrDefault" | "replace", 2) => {}
            ("computeIfAbsent" | "computeIfPresent" | "compute", 2) | ("merge", 3) => {
                return self.map_compute(receiver, key, value, method, args, span);
            }
            _ => return None,
        }
        let k = self.element_value(&args[0], key);
        self.compared(&k, key, span);
        let given = args.get(1).map(|e| self.element_value(e, value));
        let safe = matches!(&receiver.ty, Ty::Ref(n, _) if collected(n).is_some_and(|c| c.safe == Some(true)));
        if safe {
            // These take no null.
            for (e, ty) in [(Some(&k), key), (given.as_ref().filter(|_| method != "getOrDefault"), value)] {
                if let Some(e) = e {
                    let nothing = self.default_value(ty, span);
                    self.check(Checked::Null, not(equal(e.clone(), nothing, span), span), span);
                }
            }
        }
        let has = index(receiver.part("has", span), k.clone(), span);
        let place = index(receiver.part("data", span), k, span);
        if method == "containsKey" {
            let there = self.open_temp("there", &Ty::Boolean, span);
            self.operation(receiver, Use::Read, vec![assign(there.clone(), has, span)], span);
            return Some(Val::new(there, Ty::Boolean));
        }
        let old = self.open_temp("old", value, span);
        let read = assign(old.clone(), place.clone(), span);
        let add = |t: &mut Self, given: Expr| {
            let _ = t;
            vec![
                if_else(not(has.clone(), span), vec![resized(1)], None, span),
                assign(has.clone(), boolean(true, span), span),
                assign(place.clone(), given, span),
            ]
        };
        match (method, given) {
            ("get", None) => self.operation(receiver, Use::Read, vec![read], span),
            ("getOrDefault", Some(other)) => {
                let body = vec![read, if_else(not(has, span), vec![assign(old.clone(), other, span)], None, span)];
                self.operation(receiver, Use::Read, body, span);
            }
            ("put", Some(given)) => {
                let mut body = vec![read];
                body.extend(add(self, given));
                self.operation(receiver, Use::Write, body, span);
            }
            ("putIfAbsent", Some(given)) => {
                let nothing = self.default_value(value, span);
                let inner = add(self, given);
                let body = vec![read, if_else(equal(old.clone(), nothing, span), inner, None, span)];
                self.operation(receiver, Use::Write, body, span);
            }
            ("replace", Some(given)) => {
                let set = vec![assign(place, given, span)];
                self.operation(receiver, Use::Write, vec![read, if_else(has, set, None, span)], span);
            }
            ("remove", None) => {
                let nothing = self.default_value(value, span);
                let inner =
                    vec![resized(-1), assign(has.clone(), boolean(false, span), span), assign(place, nothing, span)];
                self.operation(receiver, Use::Write, vec![read, if_else(has, inner, None, span)], span);
            }
            _ => return None,
        }
        Some(Val::new(old, value.clone()))
    }

    /// `compute`, `merge` and their kind: one step, for functions that read nothing shared. A null from the function takes the key away.
    fn map_compute(
        &mut self,
        receiver: &Receiver,
        key: &Ty,
        value: &Ty,
        method: &str,
        args: &'a [tree::JavaExpr],
        span: Span,
    ) -> Option<Val> {
        let k = self.element_value(&args[0], key);
        self.compared(&k, key, span);
        let given = if method == "merge" { Some(self.element_value(&args[1], value)) } else { None };
        let nothing = self.default_value(value, span);
        let safe = matches!(&receiver.ty, Ty::Ref(n, _) if collected(n).is_some_and(|c| c.safe == Some(true)));
        if safe {
            let none = self.default_value(key, span);
            self.check(Checked::Null, not(equal(k.clone(), none, span), span), span);
        }
        let has = index(receiver.part("has", span), k.clone(), span);
        let place = index(receiver.part("data", span), k.clone(), span);
        let size = receiver.part("size", span);
        let resized = |by: i128| assign(size.clone(), binary(Binary::Add, size.clone(), int(by, span), span), span);
        let old = self.open_temp("old", value, span);
        let new = self.open_temp("new", value, span);
        let (key_value, old_value) = (Val::new(k, key.clone()), Val::new(old.clone(), value.clone()));
        let (function, passed) = match (&given, method) {
            (Some(given), _) => (&args[2], vec![old_value, Val::new(given.clone(), value.clone())]),
            (None, "computeIfAbsent") => (&args[1], vec![key_value]),
            _ => (&args[1], vec![key_value, old_value]),
        };
        let mut made = None;
        let mut inner = self.collect(|t| made = t.applied(function, &passed, value));
        inner.push(assign(new.clone(), made?, span));
        let there = not(equal(old.clone(), nothing.clone(), span), span);
        let (calls, otherwise) = match method {
            "computeIfAbsent" => (not(there, span), old.clone()),
            "computeIfPresent" => (there, old.clone()),
            "merge" => (there, given.clone().unwrap_or_else(|| nothing.clone())),
            _ => (boolean(true, span), old.clone()),
        };
        let add = vec![
            if_else(not(has.clone(), span), vec![resized(1)], None, span),
            assign(has.clone(), boolean(true, span), span),
            assign(place.clone(), new.clone(), span),
        ];
        let take = vec![
            if_else(has.clone(), vec![resized(-1)], None, span),
            assign(has.clone(), boolean(false, span), span),
            assign(place.clone(), nothing.clone(), span),
        ];
        let body = vec![
            assign(old.clone(), place, span),
            if_else(calls, inner, Some(vec![assign(new.clone(), otherwise, span)]), span),
            if_else(equal(new.clone(), nothing, span), take, Some(add), span),
        ];
        self.operation(receiver, Use::Write, body, span);
        Some(Val::new(new, value.clone()))
    }

    /// `for (T x : list)`: an iterator, which must not meet changes (JLS 14.14.2).
    pub(super) fn for_each_of_list(
        &mut self,
        (ty, text, at): (&'a tree::JavaType, &'a str, Span),
        list: Receiver,
        body: &'a tree::JavaStmt,
        label: Option<String>,
        span: Span,
    ) {
        let Ty::Ref(class, held) = list.ty.clone() else { return };
        let element = held.first().cloned().unwrap_or_else(|| Ty::object("Object"));
        if class.starts_with("CopyOnWrite") || class.starts_with("Concurrent") || element == Ty::Unknown {
            return self.unmodelled("a loop over such a collection", span);
        }
        let list = self.steady(list, span);
        let items = list.part("items", span);
        let (counter, seen) = (self.bind_int("at", as_value(int(0, span)), span), self.open_int("version", span));
        let start = vec![assign(seen.clone(), list.part("version", span), span)];
        self.operation(&list, Use::Read, start, span);
        let declared = match self.classes.ty(ty, &self.frame.type_params) {
            Ty::Unknown if matches!(&ty.kind, tree::JavaTypeKind::Named(n, _) if n == "var") => element.clone(),
            other => other,
        };
        let straight = std::mem::replace(&mut self.frame.straight, false);
        self.frame.phase = Phase::Together;
        self.frame.cleanups.push(Cleanup::Loop(Continue::Nothing));
        let inner = self.inner_block(|t| {
            let more = t.open_temp("more", &Ty::Boolean, span);
            let length = t.length(&items, span);
            let condition = not(equal(counter.clone(), length.clone(), span), span);
            t.operation(&list, Use::Read, vec![assign(more.clone(), condition, span)], span);
            let out = vec![Spanned::new(StmtKind::Break, span)];
            t.push_stmt(if_else(not(more, span), out, None, span));
            let same = t.open_temp("same", &Ty::Boolean, span);
            let value = t.open_temp("element", &element, span);
            let inside = binary(Binary::Less, counter.clone(), length, span);
            let unchanged = and(vec![equal(list.part("version", span), seen.clone(), span), inside], span);
            let read = vec![assign(value.clone(), index(items.clone(), counter.clone(), span), span)];
            let step = vec![assign(same.clone(), unchanged, span), if_else(same.clone(), read, None, span)];
            t.operation(&list, Use::Read, step, span);
            t.check(Checked::Language("modified"), same, span);
            t.push_stmt(assign(counter.clone(), after(counter.clone(), span), span));
            let value = t.convert(Val::new(value, element.clone()), &declared, at);
            let tp = t.tp_type(&declared, at);
            t.push(StmtKind::Local { name: name(text, at), ty: tp, value: Some(as_value(value)) }, at);
            t.declare_local(text, Local::new(var(text, at), declared.clone()));
            t.loop_body(label, body);
        });
        self.frame.cleanups.pop();
        self.frame.straight = straight;
        self.push_stmt(while_loop(boolean(true, span), inner, span));
    }

    /// Random numbers: any number.
    pub(super) fn random_call(&mut self, method: &str, args: &'a [tree::JavaExpr], span: Span) -> Option<Val> {
        let ty = match (method, args.len()) {
            ("nextInt", 0 | 1) => Ty::INT,
            ("nextBoolean", 0) => Ty::Boolean,
            ("nextLong", 0) => Ty::Int(super::types::Width::Long),
            _ => return None,
        };
        let bound = match args.first() {
            Some(e) => {
                let bound = self.expr_as(e, &Ty::INT);
                let bound = convert(machine(32, ast::Sign::Signed, span), bound, span);
                let bound = self.bind("bound", &Ty::INT, as_value(bound), span);
                let good = binary(Binary::Less, int(0, span), bound.clone(), span);
                self.check(Checked::Language("argument"), good, span);
                Some(bound)
            }
            None => None,
        };
        let value = self.open_temp("random", &ty, span);
        let mut stmts = vec![Spanned::new(StmtKind::Havoc(vec![value.clone()]), span)];
        if let Some(bound) = bound {
            let low = binary(Binary::LessEqual, int(0, span), value.clone(), span);
            let high = binary(Binary::Less, value.clone(), bound, span);
            stmts.push(Spanned::new(StmtKind::Assume(and(vec![low, high], span)), span));
        }
        self.push_stmt(step(stmts, span));
        Some(Val::new(value, ty))
    }
}

fn empty(span: Span) -> Expr {
    Spanned::new(ExprKind::Seq(Vec::new()), span)
}

fn after(at: Expr, span: Span) -> Expr {
    binary(Binary::Add, at, int(1, span), span)
}

fn slice(items: &Expr, from: Option<Expr>, to: Option<Expr>, span: Span) -> Expr {
    Spanned::new(ExprKind::Slice(Box::new(items.clone()), from.map(Box::new), to.map(Box::new)), span)
}
