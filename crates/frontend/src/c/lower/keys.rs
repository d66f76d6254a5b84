//! Thread-specific keys: `pthread_key_create` and its like.
//!
//! A key is the address of an object of its own; each thread has a slot for what it keeps under it. Where a thread ends,
//! and not where `main` returns, the destructor of a key is called with what the thread keeps, if it is not null. Absent on
//! purpose, and unmodelled where reached: several keys with destructors in one thread (their order is open), destructors
//! that set their key again.
//! In: calls of the key functions, and where a thread ends. Out: their steps.

use super::memory::Content;
use super::*;
use crate::c::ast::*;

/// What the names of keys begin with.
pub(super) const KEY: &str = "<key ";
/// Below all stretches of addresses.
const FIRST_KEY: i128 = 0x5a5a_0000;

impl Lower<'_> {
    /// A key is the address of an object of its own; each thread has a slot for it.
    pub(super) fn key_create(&mut self, args: &[Expr], span: Span) -> Option<Term> {
        let at = self.value(args.first()?);
        let ty = self.unit.types.pointee(args.first()?.ty)?;
        if self.cur.loops > 0 || self.tasks[self.cur.task].many {
            self.unmodelled("thread-specific keys made in a loop", span);
            return None;
        }
        let destructor = match args.get(1) {
            Some(d) => self.value(super::library::strip(d)),
            None => self.terms.int(0),
        };
        self.cur.at?;
        let site = self.numbered_site(span);
        let key = format!("<key {}!{site}>", self.tasks[self.cur.task].key);
        let object = match self.object_keys.get(&key) {
            Some(o) => *o,
            None => {
                let object = self.place_object(&key, 1, Content::Nothing("a key".into()));
                // A key is an integer that is narrower than an address.
                let keys = self.objects.iter().filter(|o| o.key.starts_with(KEY)).count() as i128;
                self.by_base.remove(&self.objects[object].base);
                self.objects[object].base = FIRST_KEY + 16 * keys;
                self.by_base.insert(self.objects[object].base, object);
                object
            }
        };
        // Whose destructors there are is known in the next pass, to all threads.
        let functions = self.targets(destructor);
        if !functions.is_empty() {
            self.found.destructors.entry(key).or_default().extend(functions);
        }
        let place = self.settle(at);
        let value = self.terms.int(self.objects[object].base);
        self.write(place, ty, value, span);
        Some(self.terms.int(0))
    }

    /// The keys that an argument can be.
    fn keys(&self, key: Term) -> Vec<ObjId> {
        self.targets(key).into_iter().filter(|o| self.objects[*o].key.starts_with("<key ")).collect()
    }

    /// A key that the program does not create itself is not modelled.
    fn own_keys_only(&mut self, key: Term, span: Span) -> Option<()> {
        if self.keys(key).is_empty() || self.may_be_outside(key) {
            self.unmodelled("a key that is not created here", span);
            return None;
        }
        Some(())
    }

    /// Nothing is destroyed any more of a key that was deleted.
    pub(super) fn key_delete(&mut self, args: &[Expr], span: Span) -> Option<Term> {
        let key = self.value(args.first()?);
        self.cur.at?;
        let to = self.fresh(span);
        self.own_keys_only(key, span)?;
        for object in self.keys(key) {
            let name = self.objects[object].key.clone();
            let here = self.b().eq_linear(key, self.objects[object].base);
            let mut updates = Vec::new();
            if self.facts.destructors.contains_key(&name) {
                let (deleted, yes) = (self.flag(&deleted_key(&name), "deleted_key", span), self.terms.tt());
                self.note_write(deleted, yes);
                updates.push((deleted, yes));
            }
            self.emit_step(to, here, Vec::new(), updates, What::Assign, span, access::Waits::Yes);
        }
        self.assume_defined(access::Undefined::Deref);
        self.enter(to);
        self.cur.at?;
        Some(self.terms.int(0))
    }

    /// Where a thread ends, what it keeps under keys is handed to their destructors.
    pub(super) fn destroy_keys(&mut self, span: Span) {
        let task = self.tasks[self.cur.task].key.clone();
        let mut kept = Vec::new();
        for object in self.objects.ids().filter(|o| self.objects[*o].key.starts_with("<key ")) {
            let key = &self.objects[object].key;
            let functions = self.facts.destructors.get(key);
            let slot = self.slot_keys.get(&specific_key(key, &task)).copied();
            if let (Some(functions), Some(slot)) = (functions, slot) {
                let functions: Vec<FnId> = functions
                    .iter()
                    .filter_map(|o| match self.objects[*o].content {
                        Content::Function(f) => Some(f),
                        _ => None,
                    })
                    .collect();
                kept.push((key.clone(), slot, functions));
            }
        }
        let [(key, slot, functions)] = &kept[..] else {
            if !kept.is_empty() {
                // They come in any order.
                self.unmodelled("destructors of several thread-specific keys", span);
            }
            return;
        };
        let [function] = functions[..] else {
            return self.unmodelled("a thread-specific key with several destructors", span);
        };
        let (call, end) = (self.fresh(span), self.fresh(span));
        let value = self.slot_term(*slot);
        let deleted = self.slot_keys.get(&deleted_key(key)).map(|s| self.slot_term(*s));
        let b = self.b();
        let wanted = b.and(b.ne(value, b.num(0)), deleted.map_or(b.tt(), |d| b.not(d)));
        let wanted = b.bit(wanted);
        self.test(wanted, call, end, span);
        self.enter(call);
        let (keep, zero) = (self.temp(span), self.terms.int(0));
        self.update(vec![(keep, value), (*slot, zero)], What::Assign, span);
        let kept = self.slot_term(keep);
        self.inline(function, vec![kept], span);
        let again = self.b().eq(self.slot_term(*slot), zero);
        self.only_modelled(again, "a destructor that sets its key again", span);
        self.goto(end, span);
        self.enter(end);
    }

    pub(super) fn key_access(&mut self, args: &[Expr], access: KeyAccess, span: Span) -> Option<Term> {
        let key = self.value(args.first()?);
        let value = match access {
            KeyAccess::Set => Some(self.value(args.get(1)?)),
            KeyAccess::Get => None,
        };
        self.cur.at?;
        self.own_keys_only(key, span)?;
        let targets = self.keys(key);
        let result = self.temp(span);
        let to = self.fresh(span);
        for object in targets {
            let name = specific_key(&self.objects[object].key, &self.tasks[self.cur.task].key);
            let slot = self.own_number(name, "specific", span);
            self.cur.known.remove(&slot);
            let hit = self.b().eq_linear(key, self.objects[object].base);
            let update = match value {
                Some(v) => (slot, v),
                None => (result, self.slot_term(slot)),
            };
            self.note_write(update.0, update.1);
            self.emit_step(to, hit, Vec::new(), vec![update], What::Assign, span, access::Waits::Yes);
        }
        self.assume_defined(access::Undefined::Deref);
        self.enter(to);
        self.cur.at?;
        Some(match access {
            KeyAccess::Set => self.terms.int(0),
            KeyAccess::Get => self.slot_term(result),
        })
    }
}

/// What a thread keeps under a key.
fn specific_key(key: &str, task: &str) -> String {
    format!("<specific {key} {task}>")
}

/// That a key was deleted.
fn deleted_key(key: &str) -> String {
    format!("<deleted {key}>")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyAccess {
    Set,
    Get,
}
