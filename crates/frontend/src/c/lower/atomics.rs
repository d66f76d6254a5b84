//! Atomic operations: GCC's `__sync` and `__atomic` builtins and C11's generic functions; each is one step.
//!
//! All orders are treated as sequentially consistent; those that are weaker are noted, for the verdict to say so, and where races are
//! the question nothing is concluded from an operation that may be too weak to order what it seems to order (`race.rs`). Atomic
//! arithmetic wraps, also on signed types (C11 7.17.7.5). Every argument is evaluated, orders as well.
//! In: the name and arguments of a call. Out: the value it gives, or nothing where the name is none of these.

use super::memory::Ref;
use super::*;
use crate::c::ast::*;
use crate::c::types::Int;

impl Lower<'_> {
    /// `old op operand` as atomics compute it: reduced into the type, never undefined.
    pub(super) fn atomic_op(&mut self, op: CBinaryOp, old: Term, operand: Term, int: Int) -> Term {
        let b = self.b();
        let raw = match op {
            CBinaryOp::Add => b.add(old, operand),
            CBinaryOp::Sub => b.sub(old, operand),
            CBinaryOp::Mul => b.mul(old, operand),
            // In one step, so without the checks that would be steps of their own.
            CBinaryOp::Shl | CBinaryOp::Shr | CBinaryOp::Div | CBinaryOp::Rem => {
                let width = i128::from(int.bits(self.unit.types.model));
                let shift = matches!(op, CBinaryOp::Shl | CBinaryOp::Shr);
                match b.as_num(operand) {
                    Some(k) if shift && (0..width.min(100)).contains(&k) => match op {
                        CBinaryOp::Shl => b.mul(old, b.num(1 << k)),
                        _ => b.div(old, b.num(1 << k)),
                    },
                    Some(k) if !shift && k > 0 => {
                        let make =
                            |t: Term| if op == CBinaryOp::Div { b.div(t, operand) } else { b.modulo(t, operand) };
                        let minus = |t: Term| b.sub(b.num(0), t);
                        b.ite(b.le(b.num(0), old), make(old), minus(make(minus(old))))
                    }
                    _ => {
                        let span = self.tasks[self.cur.task].span;
                        self.unmodelled("an atomic division or shift by this amount", span);
                        return old;
                    }
                }
            }
            _ => {
                let span = self.tasks[self.cur.task].span;
                return self.binary_op(op, old, operand, int, span);
            }
        };
        self.wrap(raw, int)
    }

    /// `Some(result)` if the function is an atomic operation.
    pub(super) fn atomic_call(&mut self, name: &str, args: &[Expr], span: Span) -> Option<Option<Term>> {
        let zero = self.terms.int(0);
        let bare = name
            .strip_prefix("__sync_")
            .or_else(|| name.strip_prefix("__atomic_"))
            .or_else(|| name.strip_prefix("__c11_atomic_"))
            .or_else(|| name.strip_prefix("atomic_"))?;
        let bare = bare.strip_suffix("_explicit").unwrap_or(bare);
        if matches!(bare, "synchronize" | "thread_fence" | "signal_fence") {
            args.iter().for_each(|a| self.effect(a));
            return Some(Some(zero));
        }
        let needed = operands(name, bare, args.len());
        // Orders, and what old compilers took as variables to protect.
        args.iter().skip(needed).filter(|a| a.as_const().is_none()).for_each(|a| self.effect(a));
        self.note_order(name, bare, args, needed, span);
        // `void *` says nothing of what it points to.
        let pointer = match args.first()? {
            a if self.unit.types.pointee(a.ty).is_some_and(|t| self.unit.types.is_void(t)) => super::library::strip(a),
            a => a,
        };
        let Some(mut of) = self.unit.types.pointee(pointer.ty) else {
            return Some(None);
        };
        // `atomic_flag` is a struct of one member.
        if let Some(record) = self.unit.types.record(of)
            && let Some([only]) = self.unit.types.records[record].fields.as_deref()
        {
            of = only.ty;
        }
        if !self.unit.types.is_scalar(of) {
            self.unmodelled("an atomic operation on a whole struct", span);
            return Some(None);
        }
        let int = self.unit.types.as_int(of).unwrap_or(Int::ULong);
        let pointer_like = self.unit.types.as_int(of).is_none();
        let address = self.value(pointer);
        if self.cur.at.is_none() {
            return Some(None);
        }
        let at = self.settle(address);
        // What is handed by address beside it is accessed as plainly as anything.
        let plain = of.unqualified();
        let (operation, result) = match bare {
            "load_n" | "load" if args.len() <= 2 || bare == "load_n" => {
                let before = self.cur.flow.steps.len();
                let value = self.read(at, of, span);
                self.atomic_step(before);
                return Some(Some(value));
            }
            "load" => {
                // `__atomic_load(p, ret, order)`
                let into = self.value(&args[1]);
                let before = self.cur.flow.steps.len();
                let value = self.read(at, of, span);
                self.atomic_step(before);
                let to = self.settle(into);
                self.write(to, plain, value, span);
                return Some(Some(zero));
            }
            "store_n" | "store" | "lock_release" | "clear" | "init" | "flag_clear" => {
                let value = match bare {
                    "lock_release" | "clear" | "flag_clear" => zero,
                    // `__atomic_store(p, &value, order)` hands the value by address.
                    "store" if name.starts_with("__atomic_") => {
                        let from = self.value(&args[1]);
                        let from = self.settle(from);
                        self.read(from, plain, span)
                    }
                    _ => self.value(args.get(1)?),
                };
                let value = if pointer_like { value } else { self.wrap(value, int) };
                let before = self.cur.flow.steps.len();
                self.write(at, of, value, span);
                self.atomic_step(before);
                return Some(Some(zero));
            }
            "exchange_n" | "exchange" | "lock_test_and_set" => {
                let by_address = bare == "exchange" && name.starts_with("__atomic_");
                let value = if by_address {
                    let from = self.value(&args[1]);
                    let from = self.settle(from);
                    self.read(from, plain, span)
                } else {
                    self.value(args.get(1)?)
                };
                let old = self.exchange(at, of, span, What::Cas, |_, _| value);
                if by_address {
                    let into = self.value(&args[2]);
                    let to = self.settle(into);
                    self.write(to, plain, old, span);
                    return Some(Some(zero));
                }
                return Some(Some(old));
            }
            "test_and_set" | "flag_test_and_set" | "flag_test_and_set_n" => {
                let one = self.terms.int(1);
                let old = self.exchange(at, of, span, What::Cas, |_, _| one);
                return Some(Some(self.b().bit(self.b().truth(old))));
            }
            "bool_compare_and_swap" | "val_compare_and_swap" => {
                let expected = self.value(args.get(1)?);
                let desired = self.value(args.get(2)?);
                let (expected, desired) = if pointer_like {
                    (expected, desired)
                } else {
                    (self.wrap(expected, int), self.wrap(desired, int))
                };
                let old = self.exchange(at, of, span, What::Cas, |lower, old| {
                    let b = lower.b();
                    b.ite(b.eq(old, expected), desired, old)
                });
                let value =
                    if bare == "bool_compare_and_swap" { self.b().bit(self.b().eq(old, expected)) } else { old };
                return Some(Some(value));
            }
            _ if bare.starts_with("compare_exchange") => {
                return Some(self.compare_exchange(bare, name, at, of, args, span));
            }
            _ => arithmetic_name(bare)?,
        };
        let operand = self.value(args.get(1)?);
        let operand = if pointer_like { operand } else { self.wrap(operand, int) };
        if pointer_like && matches!(operation, Some(CBinaryOp::Add | CBinaryOp::Sub)) {
            let each = self.unit.types.pointee(of).and_then(|t| self.unit.types.size(t)).unwrap_or(1).max(1);
            if self.b().as_num(operand).is_none_or(|n| n % i128::from(each) != 0) {
                self.unmodelled("an atomic sum of a pointer, which C11 counts in elements and gcc in bytes", span);
                return Some(None);
            }
        }
        let apply = move |lower: &mut Self, old: Term| {
            let b = lower.b();
            match (operation, pointer_like) {
                (Some(CBinaryOp::Add), true) => b.add(old, operand),
                (Some(CBinaryOp::Sub), true) => b.sub(old, operand),
                (Some(op), _) => lower.atomic_op(op, old, operand, int),
                (None, _) => {
                    // nand
                    let and = lower.atomic_op(CBinaryOp::And, old, operand, int);
                    let b = lower.b();
                    let raw = b.sub(b.num(-1), and);
                    lower.wrap(raw, int)
                }
            }
        };
        let old = self.exchange(at, of, span, What::Cas, apply);
        Some(Some(match result {
            AtomicResult::Old => old,
            AtomicResult::New => apply(self, old),
        }))
    }

    /// Notes an operation that is not sequentially consistent.
    fn note_order(&mut self, name: &str, bare: &str, args: &[Expr], needed: usize, span: Span) {
        let order = match bare {
            "lock_test_and_set" => ORDER_ACQUIRE,
            "lock_release" => ORDER_RELEASE,
            _ if name.starts_with("__sync_") => SEQ_CST,
            // C11's functions without an order are sequentially consistent.
            _ => match args.get(needed + usize::from(takes_weak(name, bare))) {
                Some(order) => order.as_const().unwrap_or(ORDER_RELAXED),
                None => SEQ_CST,
            },
        };
        // On failure an exchange is a load.
        let second =
            args.get(needed + usize::from(takes_weak(name, bare)) + 1).map(|o| o.as_const().unwrap_or(ORDER_RELAXED));
        let fails = second.filter(|_| bare.starts_with("compare_exchange")).unwrap_or(SEQ_CST);
        let least = if order == SEQ_CST { fails } else { order };
        // While no other thread has been created, no order matters.
        let alone = !self.created && self.cur.loops == 0 && self.cur.task == TaskId(0);
        if least == SEQ_CST || alone || self.cur.at.is_none() {
            return;
        }
        let span = self.blamed(span);
        let line = self.sources.line_of(span);
        self.weaker.entry(line).or_insert(order_name(least));
        let loads = matches!(bare, "load" | "load_n");
        let stores = matches!(bare, "store" | "store_n" | "lock_release" | "clear" | "init" | "flag_clear");
        let synchronises = match (loads, stores) {
            (true, _) => matches!(order, ORDER_CONSUME | ORDER_ACQUIRE | ACQ_REL | SEQ_CST),
            (_, true) => matches!(order, ORDER_RELEASE | ACQ_REL | SEQ_CST),
            // One that reads and writes both takes over and hands on.
            _ => {
                matches!(order, ACQ_REL | SEQ_CST) && matches!(fails, ORDER_CONSUME | ORDER_ACQUIRE | ACQ_REL | SEQ_CST)
            }
        };
        if !synchronises {
            self.unordered.get_or_insert((span, Unordered::Weak));
        }
    }

    /// The accesses emitted since then are atomic ones: they do not race with each other.
    fn atomic_step(&mut self, before: usize) {
        for step in self.cur.flow.steps.iter_mut().skip(before) {
            if step.what == What::Assign {
                step.what = What::Cas;
            }
        }
    }

    fn compare_exchange(
        &mut self,
        bare: &str,
        name: &str,
        at: Ref,
        of: CType,
        args: &[Expr],
        span: Span,
    ) -> Option<Term> {
        let expected_at = self.value(args.get(1)?);
        let expected_at = self.settle(expected_at);
        let plain = of.unqualified();
        let expected = self.read(expected_at, plain, span);
        // Only the generic `__atomic` form hands the new value by address.
        let by_address = name.starts_with("__atomic_") && bare == "compare_exchange";
        let desired = if by_address {
            let from = self.value(args.get(2)?);
            let from = self.settle(from);
            self.read(from, plain, span)
        } else {
            let value = self.value(args.get(2)?);
            match self.unit.types.as_int(of) {
                Some(int) => self.wrap(value, int),
                None => value,
            }
        };
        let weak = bare.contains("weak")
            || args
                .get(3)
                .filter(|_| takes_weak(name, bare))
                .is_some_and(|w| name.starts_with("__atomic_") && w.as_const() != Some(0));
        // The expected value must outlive the write to the place it came from.
        let keep = self.temp(span);
        self.slots[keep].range = self.bounds(expected);
        self.update(vec![(keep, expected)], What::Assign, span);
        let expected = self.slot_term(keep);
        let fails = if weak {
            // A weak exchange may fail for no reason.
            let spurious = self.nondet_in(Some((0, 1)), Sort::BOOL, span);
            self.b().truth(spurious)
        } else {
            self.terms.ff()
        };
        self.cur.at?;
        let old = self.exchange(at, of, span, What::Cas, |lower, old| {
            let b = lower.b();
            b.ite(b.and(b.eq(old, expected), b.not(fails)), desired, old)
        });
        let b = self.b();
        let success = b.and(b.eq(old, expected), b.not(fails));
        let flag = self.temp(span);
        self.slots[flag].range = Some((0, 1));
        let bit = self.b().bit(success);
        self.update(vec![(flag, bit)], What::Assign, span);
        let (yes, no, end) = (self.fresh(span), self.fresh(span), self.fresh(span));
        let flag = self.slot_term(flag);
        self.test(flag, yes, no, span);
        self.enter(yes);
        self.goto(end, span);
        self.enter(no);
        self.write(expected_at, plain, old, span);
        self.goto(end, span);
        self.enter(end);
        Some(flag)
    }
}

/// Memory orders as compilers number them.
const ORDER_RELAXED: i128 = 0;
const ORDER_CONSUME: i128 = 1;
const ORDER_ACQUIRE: i128 = 2;
const ORDER_RELEASE: i128 = 3;
const ACQ_REL: i128 = 4;
const SEQ_CST: i128 = 5;

fn order_name(order: i128) -> &'static str {
    match order {
        ORDER_CONSUME => "consume",
        ORDER_ACQUIRE => "acquire",
        ORDER_RELEASE => "release",
        ACQ_REL => "acq_rel",
        SEQ_CST => "seq_cst",
        _ => "relaxed",
    }
}

/// Whether the fourth argument says that an exchange may fail for no reason.
fn takes_weak(name: &str, bare: &str) -> bool {
    name.starts_with("__atomic_") && bare.starts_with("compare_exchange")
}

/// How many arguments an operation computes with; the others are orders.
fn operands(name: &str, bare: &str, given: usize) -> usize {
    let by_address = name.starts_with("__atomic_");
    match bare {
        "load" if given <= 2 => 1,
        "load" => 2,
        "load_n"
        | "lock_release"
        | "clear"
        | "flag_clear"
        | "test_and_set"
        | "flag_test_and_set"
        | "flag_test_and_set_n" => 1,
        "exchange" if by_address => 3,
        _ if bare.starts_with("compare_exchange") || bare.ends_with("compare_and_swap") => 3,
        _ => 2,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AtomicResult {
    Old,
    New,
}

/// `fetch_and_add`, `add_and_fetch`, `fetch_add`, `add_fetch`: the operator (`None` is nand) and which value it gives.
fn arithmetic_name(bare: &str) -> Option<(Option<CBinaryOp>, AtomicResult)> {
    let (word, gives) = if let Some(word) = bare.strip_prefix("fetch_and_").or_else(|| bare.strip_prefix("fetch_")) {
        (word, AtomicResult::Old)
    } else {
        let word = bare.strip_suffix("_and_fetch").or_else(|| bare.strip_suffix("_fetch"))?;
        (word, AtomicResult::New)
    };
    let op = match word {
        "add" => Some(CBinaryOp::Add),
        "sub" => Some(CBinaryOp::Sub),
        "and" => Some(CBinaryOp::And),
        "or" => Some(CBinaryOp::Or),
        "xor" => Some(CBinaryOp::Xor),
        "nand" => None,
        _ => return None,
    };
    Some((op, gives))
}
