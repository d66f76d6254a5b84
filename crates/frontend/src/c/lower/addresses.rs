//! Addresses are unknown numbers: which objects lie where is the machine's choice.
//!
//! In: numbers that may be addresses, and what the program computes of them. Out: the result where every choice of
//! addresses gives the same (differences and order inside one object, the low bits that alignment fixes, equality), and
//! otherwise "unmodelled" on the runs that get there. The lowering gives each object a number of its own, far from the numbers that
//! programs use, so that an address can be distinguished from a number by its value. Absent: the order of
//! different objects, hashes of addresses, addresses cut to fewer bits.

use super::keys::KEY;
use super::memory::{Content, OUTSIDE};
use super::*;
use crate::c::ast::{CBinaryOp, CCompareOp};
use crate::c::types::DataModel;

/// Where objects begin: unlike numbers that programs use.
const FIRST_ADDRESS_ILP32: i128 = 0x00a5_a000;
const FIRST_ADDRESS_LP64: i128 = 0x7e_5a5a_0000;
/// What lies beyond are numbers of programs again.
const LAST_ADDRESS_LP64: i128 = 0x7e_ffff_ffff;

/// Whether a number of a run stands for the address of an object, for a reader: programs for 64 bits only, whose addresses are unlike all other numbers.
pub fn is_address(number: i128) -> bool {
    (FIRST_ADDRESS_LP64..=LAST_ADDRESS_LP64).contains(&number)
}

const COMPUTED: &str = "a number computed from an address, which is the machine's choice";

impl Lower<'_> {
    /// Where objects begin, and the number of the first stretch of repeated allocations: unlike numbers that programs use.
    pub(super) fn first_address(model: DataModel) -> i128 {
        if model == DataModel::Ilp32 { FIRST_ADDRESS_ILP32 } else { FIRST_ADDRESS_LP64 }
    }

    pub(super) fn first_stretch(&self) -> i128 {
        if self.unit.types.model == DataModel::Ilp32 { 0x5a } else { 0x5a5 }
    }

    /// The objects whose address a value may be; what comes from outside is any number as it is.
    fn addressed(&self, value: Term) -> BTreeSet<ObjId> {
        let mut objects = self.targets(value);
        let elsewhere = |o: &ObjId| self.objects[*o].key == OUTSIDE || self.objects[*o].key.starts_with(KEY);
        objects.retain(|o| !elsewhere(o));
        objects
    }

    pub(super) fn is_address(&self, value: Term) -> bool {
        !self.addressed(value).is_empty()
    }

    /// That two addresses lie in the same object, or just behind it.
    fn same_object(&self, x: Term, y: Term) -> Term {
        let (of_x, of_y) = (self.addressed(x), self.addressed(y));
        let b = self.b();
        let single = of_x.len() == 1 && of_x == of_y;
        b.any(of_x.intersection(&of_y).map(|o| {
            let object = &self.objects[*o];
            let (base, end) = (b.num(object.base), b.num(object.base + object.size));
            let inside = |t: Term| b.and(b.le(base, t), b.le(t, end));
            let both = if single { b.tt() } else { b.and(inside(x), inside(y)) };
            match (object.element, object.length) {
                // The objects of a repeated allocation, or handles of a repeated thread, each lie somewhere.
                (Some((ty, None)), None) => {
                    let each = b.num(self.unit.types.size(ty).unwrap_or(1).max(1) as i128);
                    let number = |t: Term| b.div(b.sub(t, base), each);
                    b.and(both, b.eq(number(x), number(y)))
                }
                (None, _) if matches!(object.content, Content::Thread(_)) => b.and(both, b.eq(x, y)),
                _ => both,
            }
        }))
    }

    /// Stops where two addresses are not in the same object.
    pub(super) fn only_same_object(&mut self, x: Term, y: Term, why: &str, span: Span) {
        if self.cur.at.is_some() && !self.cur.printing {
            let same = self.same_object(x, y);
            self.only_modelled(same, why, span);
        }
    }

    /// Numbers that no object has as its address: around null, and those that stand for errors.
    fn never_an_address(&self, value: Term) -> bool {
        let bits = self.unit.types.model.pointer_bytes() * 8;
        let top = 1i128 << bits;
        match self.bounds(value) {
            Some((low, high)) => (-4096 < low && high < 4096) || (top - 4096 <= low && high < top),
            None => false,
        }
    }

    /// A comparison in which an address takes part.
    pub(super) fn compare_addresses(&mut self, op: CCompareOp, x: Term, y: Term, span: Span) {
        let (of_x, of_y) = (self.is_address(x), self.is_address(y));
        // A function of the library that compares addresses does the same in every order.
        if self.cur.blamed.is_some() || !(of_x || of_y) || self.never_an_address(x) || self.never_an_address(y) {
            return;
        }
        let equality = matches!(op, CCompareOp::Eq | CCompareOp::Ne);
        match (of_x && of_y, equality) {
            (true, true) => {}
            (true, false) => self.only_same_object(x, y, "the order of the addresses of different objects", span),
            (false, _) => {
                let (address, number) = if of_x { (x, y) } else { (y, x) };
                // What may be null or an address from outside is compared as it is.
                if self.b().as_num(number).is_some() || !equality {
                    self.only_numbers(&[address], COMPUTED, span);
                }
            }
        }
    }

    /// Stops on the runs where one of the values is the address of an object.
    fn only_numbers(&mut self, values: &[Term], why: &str, span: Span) {
        if self.cur.at.is_none() || self.cur.printing {
            return;
        }
        let numbers = self.b().all(values.iter().map(|v| self.is_number(*v)));
        self.only_modelled(numbers, why, span);
    }

    /// As `only_numbers`, unless a formula holds.
    pub(super) fn only_numbers_or(&mut self, unless: Term, value: Term, why: &str, span: Span) {
        if self.cur.at.is_some() {
            let fine = self.b().or(unless, self.is_number(value));
            self.only_modelled(fine, why, span);
        }
    }

    /// That a value is not the address of an object.
    fn is_number(&self, value: Term) -> Term {
        let b = self.b();
        b.all(self.addressed(value).into_iter().map(|o| {
            let (low, high) = (self.objects[o].base, self.objects[o].base + self.objects[o].size);
            b.not(b.and(b.le(b.num(low), value), b.le(value, b.num(high))))
        }))
    }

    /// The pointer that a number becomes: pointers have no sign here.
    pub(super) fn pointer_of_number(&mut self, value: Term, from: Int) -> Term {
        let model = self.unit.types.model;
        if from == Int::Bool || self.bounds(value).is_some_and(|(low, _)| low >= 0) {
            return value;
        }
        let modulus = 1i128 << (model.pointer_bytes() * 8);
        match from.signed() && from.bytes(model) <= model.pointer_bytes() {
            true => {
                let b = self.b();
                b.ite(b.lt(value, b.num(0)), b.add(value, b.num(modulus)), value)
            }
            false if from.bytes(model) > model.pointer_bytes() => self.wrap_into(value, (0, modulus - 1)),
            false => value,
        }
    }

    /// The number of a type as wide as a pointer, or wider, that a pointer becomes.
    pub(super) fn number_of_pointer(&mut self, value: Term, int: Int) -> Term {
        let model = self.unit.types.model;
        let high = int.range(model).1;
        if !int.signed() || int.bytes(model) > model.pointer_bytes() || self.never_above(value, high) {
            return value;
        }
        let modulus = 1i128 << (model.pointer_bytes() * 8);
        let b = self.b();
        b.ite(b.lt(b.num(high), value), b.sub(value, b.num(modulus)), value)
    }

    /// Whether the bounds of a value show that it is not above a number.
    fn never_above(&self, value: Term, most: i128) -> bool {
        self.bounds(value).is_some_and(|(_, high)| high <= most)
    }

    /// An address converted to an integer type: whole, or not at all.
    pub(super) fn cut_address(&mut self, value: Term, int: Int, span: Span) {
        let narrow = int.bytes(self.unit.types.model) < self.unit.types.model.pointer_bytes();
        if narrow && int != Int::Bool && self.is_address(value) {
            self.only_numbers(&[value], "an address cut to a narrower integer", span);
        }
    }

    /// The multiple at which all objects lie that a value may be the address of, whatever the machine chooses.
    fn alignment(&self, value: Term) -> i128 {
        let of = |o: &ObjId| match (&self.objects[*o].content, self.objects[*o].element) {
            (Content::Leaves(_), Some(_)) if self.objects[*o].key.contains("<heap ") => 16,
            (Content::Leaves(_), Some((ty, _))) => self.unit.types.align(ty).min(16) as i128,
            _ => 1,
        };
        self.addressed(value).iter().map(of).min().unwrap_or(1)
    }

    /// A negated or complemented address.
    pub(super) fn unary_on_address(&mut self, value: Term, span: Span) {
        if self.is_address(value) {
            self.only_numbers(&[value], COMPUTED, span);
        }
    }

    /// Integer arithmetic on addresses. `Some` is the result where it is decided here, `None` where the usual arithmetic does.
    pub(super) fn address_arithmetic(&mut self, op: CBinaryOp, x: Term, y: Term, int: Int, span: Span) -> Option<Term> {
        let (of_x, of_y) = (self.is_address(x), self.is_address(y));
        if !(of_x || of_y) {
            return None;
        }
        let b = self.b();
        match op {
            CBinaryOp::Sub if of_x && of_y => {
                self.only_same_object(x, y, "the distance between different objects", span);
                return None;
            }
            // Moving an address by a number: what it points to is looked at when it is used.
            CBinaryOp::Add if !(of_x && of_y) => return None,
            CBinaryOp::Sub if of_x => return None,
            CBinaryOp::And | CBinaryOp::Or | CBinaryOp::Xor if !(of_x && of_y) => {
                let (address, mask) = if of_x { (x, y) } else { (y, x) };
                let all = int.range(self.unit.types.model).1.max((1 << int.bits(self.unit.types.model).min(100)) - 1);
                if let Some(mask) = b.as_num(mask) {
                    let mask = mask & all;
                    let low = self.alignment(address) - 1;
                    let result = match op {
                        CBinaryOp::And if mask <= low => {
                            Some(b.modulo(address, b.num(low + 1))).map(|bits| (bits, mask))
                        }
                        CBinaryOp::And if all - mask <= low => {
                            let bits = b.modulo(address, b.num(low + 1));
                            let cleared = self.bits(CBinaryOp::And, bits, self.b().num(all - mask), int);
                            return Some(self.b().sub(address, cleared));
                        }
                        CBinaryOp::Or | CBinaryOp::Xor if mask <= low => {
                            let bits = b.modulo(address, b.num(low + 1));
                            let changed = self.bits(op, bits, self.b().num(mask), int);
                            let b = self.b();
                            return Some(b.add(b.sub(address, bits), changed));
                        }
                        _ => None,
                    };
                    if let Some((bits, mask)) = result {
                        return Some(self.bits(CBinaryOp::And, bits, self.b().num(mask), int));
                    }
                }
            }
            _ => {}
        }
        self.only_numbers(&[x, y], COMPUTED, span);
        None
    }
}
