//! The C library and the conventions of verification tasks: what each external function does in the model.
//!
//! A function that is not known here and whose result cannot be followed by memory effects gives any value; one that is
//! handed an address of the program's memory is unmodelled, for it could change anything behind it.
//! In: the name of a function without a body, and its arguments. Out: its steps and its value.

use super::flow::*;
use super::memory::{ObjectStart, Ref};
use super::objects::{ObjectExtent, ObjectShape};
use super::*;
use crate::c::annotations::ASSERTION;
use crate::c::ast::*;
use crate::c::types::Int;

/// What the names of functions in `library.c` begin with.
pub(super) const LIBRARY: &str = "__tp_";
/// Functions without a body that fail where their first argument is zero.
pub(super) const ASSERTIONS: [&str; 4] = ["__CPROVER_assert", "assert", "__VERIFIER_assert", ASSERTION];
/// Gives any number of the sign of its argument.
const LIKE: &str = "__tp_like";

impl Lower<'_> {
    pub(super) fn library(&mut self, name: &str, args: &[Expr], ty: CType, span: Span) -> Option<Term> {
        let zero = self.terms.int(0);
        if let Some(result) = self.sync_call(name, args, span) {
            return result;
        }
        if let Some(result) = self.atomic_call(name, args, span) {
            return result;
        }
        let plain = name.strip_prefix("__builtin_").unwrap_or(name);
        if !matches!(plain, "memset" | "memcpy" | "memmove")
            && let Some(body) = self.unit.function(&format!("{LIBRARY}{plain}"))
        {
            return self.library_call(body, args, span);
        }
        if let Some(result) = self.text_call(name, args, ty, span) {
            return result;
        }
        if let Some(kind) = name.strip_prefix("__VERIFIER_nondet_") {
            return Some(self.nondet_call(kind, ty, span));
        }
        match name {
            "abort" | "exit" | "_exit" | "_Exit" | "quick_exit" | "__builtin_abort" | "__builtin_trap" => {
                args.iter().for_each(|a| self.effect(a));
                if name.to_lowercase().ends_with("exit") {
                    self.check_leaks(Leave::Stop, span);
                }
                self.leave_program(span, Leave::Stop);
                None
            }
            "__builtin_unreachable" => {
                self.cur.at = None;
                None
            }
            "__VERIFIER_assume" | "__builtin_assume" | "__CPROVER_assume" => {
                let value = args.first().map_or(zero, |a| self.value(a));
                args.iter().skip(1).for_each(|a| self.effect(a));
                let holds = self.b().truth(value);
                self.only_if(holds, span);
                Some(zero)
            }
            // What a comparison of texts gives has a sign, and no other promise.
            LIKE => {
                let model = args.first().map_or(zero, |a| self.value(a));
                self.cur.at?;
                Some(self.any_like(model, span))
            }
            // An assertion in a comment: no step of the program, so it looks at one moment and races with nothing.
            ASSERTION => {
                let condition = args.first()?;
                if !self.looks_pure(condition) {
                    self.unmodelled("an assertion in a comment with an effect", span);
                } else if self.checks(CCheck::Reach) {
                    self.atomic_begin(span);
                    let value = self.value(condition);
                    let holds = self.b().truth(value);
                    self.check(GateFailure::Reach(span), holds, span);
                    self.atomic_end(span);
                }
                Some(zero)
            }
            _ if ASSERTIONS.contains(&name) => {
                let value = args.first().map_or(zero, |a| self.value(a));
                args.iter().skip(1).for_each(|a| self.effect(a));
                let holds = self.b().truth(value);
                if self.checks(CCheck::Reach) {
                    self.check(GateFailure::Reach(span), holds, span);
                } else {
                    self.stop_unless(holds, span);
                }
                Some(zero)
            }
            "__VERIFIER_atomic_begin" | "__CPROVER_atomic_begin" => {
                self.atomic_begin(span);
                Some(zero)
            }
            "__VERIFIER_atomic_end" | "__CPROVER_atomic_end" => {
                self.atomic_end(span);
                Some(zero)
            }
            // Only what is taken out of the list is a question.
            "__builtin_va_start" | "__builtin_va_end" | "__builtin_va_copy" => Some(zero),
            "__builtin_expect" => {
                let value = args.first().map_or(zero, |a| self.value(a));
                args.iter().skip(1).for_each(|a| self.effect(a));
                Some(value)
            }
            "aligned_alloc" | "memalign" => {
                let of = self.unit.types.pointee(ty).unwrap_or(ty);
                self.allocate_aligned(args, of, span)
            }
            "malloc" | "calloc" | "alloca" | "__builtin_alloca" | "__builtin_malloc" => {
                // A cast to the type of the object comes around this call; without one the bytes have no type.
                let char = self.unit.types.pointee(ty).unwrap_or(ty);
                self.allocate(name, args, char, span)
            }
            "realloc" => {
                let of = self.unit.types.pointee(ty).unwrap_or(ty);
                self.reallocate(args, of, span)
            }
            "free" | "cfree" => {
                let address = args.first().map_or(zero, |a| self.value(a));
                if self.checks(CCheck::Race) {
                    self.touch_freed(address, span);
                }
                self.release_memory(address, span);
                Some(zero)
            }
            "rand" | "random" => {
                let range = Some((0, i128::from(i32::MAX)));
                Some(self.nondet_in(range, Sort::INT, span))
            }
            "snprintf" | "vsnprintf" | "sprintf" | "vsprintf" => self.format_text(name, args, span),
            "memset" | "__builtin_memset" => self.fill_memory(args, span),
            "memcpy" | "__builtin_memcpy" => self.copy_memory(args, "memcpy", span),
            "memmove" | "__builtin_memmove" => self.copy_memory(args, "memmove", span),
            "abs" | "labs" | "llabs" => {
                let value = args.first().map_or(zero, |a| self.value(a));
                if let Some(int) = self.unit.types.as_int(ty) {
                    let least = self.terms.int(int.range(self.unit.types.model).0);
                    let fits = self.b().ne(value, least);
                    self.require(access::Undefined::Overflow, fits, span);
                }
                let b = self.b();
                Some(b.ite(b.lt(value, b.num(0)), b.sub(b.num(0), value), value))
            }
            "__builtin_add_overflow" | "__builtin_sub_overflow" | "__builtin_mul_overflow" => {
                self.checked_arithmetic(name, args, span)
            }
            "__builtin_constant_p" => Some(self.terms.int(i128::from(args.first()?.as_const().is_some()))),
            // Without a handler nobody is called: a signal does nothing, or it ends the program.
            "signal" | "__sysv_signal" | "bsd_signal"
                if args.get(1).is_some_and(|h| matches!(strip(h).as_const(), Some(0 | 1)))
                    && args[0].as_const().is_some_and(|s| (1..=64).contains(&s) && s != 9 && s != 19) =>
            {
                Some(self.nondet_in(Some((0, 1)), Sort::INT, span))
            }
            "getpid" | "getppid" | "getuid" | "geteuid" | "getgid" | "getegid" | "getpagesize" => {
                Some(self.same_number(name, super::promises::MOST_IDS, span))
            }
            // The same text or none each time, of which nothing is known.
            "getenv" if matches!(strip(&args[0]).kind, CExprKind::TextAddress(_)) => {
                let CExprKind::TextAddress(text) = strip(&args[0]).kind else { return None };
                let slot = self.internal(
                    &format!("<same getenv {:?}>", self.unit.texts[text]),
                    "getenv",
                    Sort::INT,
                    None,
                    span,
                );
                let bits = self.unit.types.model.pointer_bytes() * 8;
                self.slots[slot].range = Some((0, (1i128 << bits) - 1));
                self.slots[slot].external = true;
                let value = self.slot_term(slot);
                self.outside(value);
                Some(value)
            }
            "sysconf" if args.first().is_some_and(|a| a.as_const().is_some()) => {
                let what = args[0].as_const().unwrap_or(0);
                Some(self.same_number(&format!("sysconf {what}"), super::promises::MOST_IDS, span))
            }
            _ if is_ignored(name) => {
                args.iter().for_each(|a| self.print_value(a));
                if self.unit.types.is_void(ty) {
                    return Some(zero);
                }
                match super::promises::promised(name) {
                    Some((low, high)) if low == high => Some(self.terms.int(low)),
                    Some(range) => Some(self.nondet_in(Some(range), Sort::INT, span)),
                    None => Some(self.nondet(ty, span)),
                }
            }
            // These fill in what they are handed.
            "time" => {
                let now = self.nondet_in(Some(super::promises::TIMES), Sort::INT, span);
                if let Some(to) = args.first() {
                    let address = self.value(to);
                    if self.b().as_num(address) != Some(0) {
                        let at = self.settle(address);
                        self.write(at, ty, now, span);
                    }
                }
                self.cur.at?;
                Some(now)
            }
            "timespec_get" | "gettimeofday" => {
                args.iter().skip(1).for_each(|a| self.effect(a));
                self.time_behind(args.first(), span);
                Some(self.nondet_in(super::promises::promised(name), Sort::INT, span))
            }
            "setlocale" => {
                args.iter().for_each(|a| self.print_value(a));
                self.assume("c-locale", "the locale is that of C, whatever `setlocale` is asked for");
                self.cur.at?;
                let value = self.nondet(ty, span);
                self.outside(value);
                Some(value)
            }
            "clock_gettime" => {
                args.first().into_iter().for_each(|a| self.effect(a));
                self.time_behind(args.get(1), span);
                Some(self.nondet_in(super::promises::promised(name), Sort::INT, span))
            }
            "rand_r" => {
                self.havoc_behind(args.first(), span);
                Some(self.nondet_in(Some((0, i128::from(i32::MAX))), Sort::INT, span))
            }
            "nanosleep" => {
                self.read_behind(args.first()?, span);
                self.time_behind(args.get(1), span);
                Some(self.nondet_in(super::promises::promised(name), Sort::INT, span))
            }
            "setbuf" | "setvbuf" => {
                let values: Vec<Term> = args.iter().map(|a| self.value(a)).collect();
                if values.get(1).is_some_and(|buffer| self.b().as_num(*buffer) != Some(0)) {
                    self.unmodelled(&format!("a buffer that `{name}` hands to the library"), span);
                }
                Some(self.nondet(ty, span)).filter(|_| self.cur.at.is_some())
            }
            _ => self.unknown_function(name, args, ty, span),
        }
    }

    /// A number of the same sign: the difference, as common libraries give it, or 1 or -1, as compilers do, or some larger one.
    fn any_like(&mut self, model: Term, span: Span) -> Term {
        if self.b().as_num(model) == Some(0) {
            return model;
        }
        let choice = self.nondet_in(Some((0, 2)), Sort::INT, span);
        let b = self.b();
        let sign = b.ite(b.lt(model, b.num(0)), b.num(-1), b.ite(b.eq(model, b.num(0)), b.num(0), b.num(1)));
        let larger = b.mul(model, b.num(2048));
        let value = b.ite(b.eq(choice, b.num(0)), model, b.ite(b.eq(choice, b.num(1)), sign, larger));
        let keep = self.temp(span);
        self.slots[keep].range = Some(Int::Int.range(self.unit.types.model));
        self.update(vec![(keep, value)], What::Assign, span);
        self.slot_term(keep)
    }

    /// The scalar parts of what an argument points to are read.
    fn read_behind(&mut self, argument: &Expr, span: Span) {
        let address = self.value(argument);
        let Some(ty) = self.unit.types.pointee(strip(argument).ty) else { return };
        for (offset, leaf) in self.scalar_parts(ty) {
            let at = self.settle(self.b().add(address, self.b().num(offset)));
            self.read(at, leaf.unqualified(), span);
        }
    }

    /// Arithmetic that tells whether its result fits.
    fn checked_arithmetic(&mut self, name: &str, args: &[Expr], span: Span) -> Option<Term> {
        let [x, y, into] = args else { return None };
        let (x, y, address) = (self.value(x), self.value(y), self.value(into));
        self.cur.at?;
        let ty = self.unit.types.pointee(into.ty)?;
        let Some(int) = self.unit.types.as_int(ty).filter(|i| *i != Int::Bool) else {
            self.unmodelled(&format!("`{name}` into this type"), span);
            return None;
        };
        let b = self.b();
        let exact = match name {
            "__builtin_add_overflow" => b.add(x, y),
            "__builtin_sub_overflow" => b.sub(x, y),
            _ => b.mul(x, y),
        };
        let (low, high) = int.range(self.unit.types.model);
        let fits = b.and(b.le(b.num(low), exact), b.le(exact, b.num(high)));
        let result = self.temp(span);
        self.slots[result].range = Some((0, 1));
        let over = self.b().bit(self.b().not(fits));
        self.update(vec![(result, over)], What::Assign, span);
        let value = self.wrap(exact, int);
        let at = self.settle(address);
        self.write(at, ty, value, span);
        self.cur.at?;
        Some(self.slot_term(result))
    }

    /// `realloc`: a new object that begins like the old one, which is freed. It always moves.
    fn reallocate(&mut self, args: &[Expr], of: CType, span: Span) -> Option<Term> {
        let [old, size] = args else { return None };
        let address = self.value(strip(old));
        let pointee = self.unit.types.pointee(strip(old).ty).filter(|to| !self.unit.types.is_void(*to));
        let of = if self.unit.types.is_void(of) { pointee.unwrap_or(of) } else { of };
        let bytes = self.value(size);
        // Common libraries free the memory then, and give none.
        let some = self.b().ne(bytes, self.terms.int(0));
        self.only_modelled(some, "realloc to no bytes", span);
        self.cur.at?;
        let new = self.allocate_bytes("malloc", bytes, of, span)?;
        self.cur.at?;
        let (Some(base), Some(each)) = (self.b().as_num(new), self.unit.types.size(of).filter(|s| *s > 0)) else {
            self.unmodelled("realloc in a loop", span);
            return None;
        };
        let made = self.object_at(base)?;
        let elements = |lower: &Self, o: ObjId| match (&lower.objects[o].content, lower.objects[o].element) {
            (memory::Content::Leaves(_), Some((ty, Some(n)))) => {
                Some(n * lower.unit.types.size(ty).unwrap_or(0) / each)
            }
            _ => None,
        };
        let Some(room) = elements(self, made) else {
            self.unmodelled("realloc to this size", span);
            return None;
        };
        let (end, head) = (self.fresh(span), self.cur.at?);
        let known = self.cur.known.clone();
        let mut other = self.b().ne(address, self.terms.int(0));
        let null = self.b().not(other);
        self.emit(end, null, Vec::new(), What::Test, span);
        for object in self.targets(address) {
            self.cur.at = Some(head);
            self.cur.known = known.clone();
            let from = self.objects[object].base;
            let here = self.b().eq_linear(address, from);
            other = self.b().and(other, self.b().not(here));
            let start = self.fresh(span);
            self.emit(start, here, Vec::new(), What::Test, span);
            self.enter(start);
            if self.cur.at.is_none() {
                continue;
            }
            let Some(count) = elements(self, object).map(|n| n.min(room)).filter(|n| *n <= 64) else {
                self.unmodelled("realloc of memory of this size", span);
                continue;
            };
            for i in 0..count as i128 {
                let by = i * each as i128;
                let (to, from) = (self.b().num(base + by), self.b().num(from + by));
                self.copy(self.settle(to), self.settle(from), of, span);
            }
            self.goto(end, span);
        }
        self.cur.at = Some(head);
        self.cur.known = known;
        if self.b().as_bool(other) != Some(false) {
            let start = self.fresh(span);
            self.emit(start, other, Vec::new(), What::Test, span);
            self.enter(start);
            match self.checks(CCheck::Free) {
                true => self.check(GateFailure::Free, self.terms.ff(), span),
                false => self.assume_defined(access::Undefined::Deref),
            }
        }
        self.enter(end);
        self.release_memory(address, span);
        self.cur.at?;
        Some(new)
    }

    /// An assertion that is not the question: the program ends where it fails.
    fn stop_unless(&mut self, holds: Term, span: Span) {
        let (yes, no) = (self.fresh(span), self.fresh(span));
        let value = self.b().bit(holds);
        self.test(value, yes, no, span);
        self.enter(no);
        self.leave_program(span, Leave::Stop);
        self.enter(yes);
    }

    fn nondet_call(&mut self, kind: &str, ty: CType, span: Span) -> Term {
        let model = self.unit.types.model;
        let int = match kind {
            "bool" | "_Bool" => Some(Int::Bool),
            "char" => Some(Int::Char),
            "uchar" | "u8" => Some(Int::UChar),
            "short" => Some(Int::Short),
            "ushort" | "u16" => Some(Int::UShort),
            "int" => Some(Int::Int),
            "uint" | "unsigned" | "u32" => Some(Int::UInt),
            "long" => Some(Int::Long),
            "ulong" | "size_t" => Some(Int::ULong),
            "longlong" => Some(Int::LongLong),
            "ulonglong" => Some(Int::ULongLong),
            _ => None,
        };
        // The declared result decides; the name serves where there is no declaration.
        let declared = self.unit.types.as_int(ty);
        match (declared, int) {
            (Some(_), Some(Int::Bool)) => self.nondet_in(Some((0, 1)), Sort::BOOL, span),
            (Some(Int::Bool), _) => self.nondet_in(Some((0, 1)), Sort::BOOL, span),
            (Some(d), _) => self.nondet_in(Some(d.range(model)), Sort::INT, span),
            (None, _) if self.unit.types.pointee(ty).is_some() => {
                let high = (1i128 << (model.pointer_bytes() * 8)) - 1;
                let value = self.nondet_in(Some((0, high)), Sort::INT, span);
                self.outside(value);
                value
            }
            _ if self.unit.types.is_float(ty) => self.unfollowed(),
            _ => {
                self.unmodelled(&format!("__VERIFIER_nondet_{kind}"), span);
                self.terms.int(0)
            }
        }
    }

    /// `(T *)malloc(n)`: the allocation typed by the cast around it.
    pub(super) fn allocation(&mut self, e: &Expr, to: CType) -> Option<Term> {
        let CExprKind::Call(CCallee::Direct(f), args) = &e.kind else {
            return match &e.kind {
                // A cast through `void *` keeps looking for the type.
                CExprKind::Cast(inner) if self.unit.types.pointee(e.ty).is_some() => self.allocation(inner, to),
                _ => None,
            };
        };
        let function = &self.unit.functions[*f];
        if function.body.is_some()
            || !matches!(
                function.name.as_str(),
                "malloc"
                    | "calloc"
                    | "realloc"
                    | "alloca"
                    | "__builtin_alloca"
                    | "__builtin_malloc"
                    | "aligned_alloc"
                    | "memalign"
            )
        {
            return None;
        }
        let name = function.name.clone();
        let address = match name.as_str() {
            "realloc" => self.reallocate(args, to, e.span),
            "aligned_alloc" | "memalign" => self.allocate_aligned(args, to, e.span),
            _ => self.allocate(&name, args, to, e.span),
        };
        Some(address.unwrap_or(self.terms.int(0)))
    }

    /// Every object lies at a multiple of 16.
    fn allocate_aligned(&mut self, args: &[Expr], of: CType, span: Span) -> Option<Term> {
        let [alignment, size] = args else { return None };
        let alignment = self.value(alignment);
        let fits = self.b().le(alignment, self.terms.int(16));
        self.only_modelled(fits, "memory at larger multiples than 16", span);
        self.allocate("malloc", std::slice::from_ref(size), of, span)
    }

    fn allocate(&mut self, name: &str, args: &[Expr], of: CType, span: Span) -> Option<Term> {
        let mut size = self.terms.int(1);
        for a in args {
            let factor = self.value(a);
            size = self.b().mul(size, factor);
        }
        self.cur.at?;
        self.allocate_bytes(name, size, of, span)
    }

    fn allocate_bytes(&mut self, name: &str, size: Term, of: CType, span: Span) -> Option<Term> {
        self.assume("c-malloc-succeeds", "memory allocation does not fail");
        let site = self.numbered_site(span);
        let key = format!("{}!<heap {site}>", self.tasks[self.cur.task].key);
        let start = if name == "calloc" { ObjectStart::Zero } else { ObjectStart::Any };
        let untyped = self.unit.types.is_void(of) || self.unit.types.size(of).is_none();
        let of = match untyped {
            false => of,
            true => match self.type_given(&key) {
                Ok(of) => of,
                Err(address) => return Some(address),
            },
        };
        let each = self.unit.types.size(of).unwrap_or(1).max(1) as i128;
        let bytes = self.b().as_num(size);
        let shown = format!("heap:{}", self.sources.line_of(span));
        let repeated = self.cur.loops > 0 || self.tasks[self.cur.task].many;
        let follows = self.follows_lifetimes();
        if follows && name.ends_with("alloca") {
            self.unmodelled("alloca, for memory safety", span);
            return None;
        }
        match (bytes, repeated) {
            (Some(n), false) if n >= each => {
                let count = (n / each) as u64;
                // Fresh leaves have no initial value, which is any value; this place runs once.
                let extent = ObjectExtent::Exactly(count);
                let object = self.make(&key, &shown, ObjectShape { of, extent, owner: SlotOwner::Shared, start }, span);
                if follows {
                    self.mortal(object, true, None, span);
                    self.note_made(object, span);
                }
                Some(self.terms.int(self.objects[object].base))
            }
            (_, true) if self.checks(CCheck::Leak) => {
                self.unmodelled("leaks of memory that is allocated repeatedly", span);
                None
            }
            (Some(n), true) if n == each => {
                // An endless row of objects: what an allocation site gives when it may run any number of times.
                let (extent, owner) = (ObjectExtent::Endless, SlotOwner::Shared);
                let object = self.make(&key, &shown, ObjectShape { of, extent, owner, start: ObjectStart::Any }, span);
                let next = self.internal(
                    &format!("<next {key}>"),
                    &format!("allocated_{}", self.sources.line_of(span)),
                    Sort::INT,
                    Some(self.terms.int(0)),
                    span,
                );
                if follows {
                    self.mortal(object, true, Some((each, next)), span);
                }
                let number = self.temp(span);
                let (old, b) = (self.slot_term(next), self.b());
                let (base, new) = (self.objects[object].base, b.add(old, b.num(1)));
                let address = b.add(b.mul(old, b.num(each)), b.num(base));
                // Fresh memory holds anything; the maps of the pool begin undecided.
                self.update(vec![(number, address), (next, new)], What::New, span);
                if name == "calloc" {
                    let at = Ref::Address(self.slot_term(number));
                    let zero = self.terms.int(0);
                    for (offset, leaf) in self.plain_parts(of) {
                        let place = self.offset(at, self.terms.int(offset));
                        self.write(place, leaf, zero, span);
                    }
                }
                Some(self.slot_term(number))
            }
            // Of no bytes: an object of a length that is measured, and is 0.
            (None | Some(0), false) => {
                let (object, length) = self.measured(&key, &shown, of, SlotOwner::Shared, span, start);
                if self.checks(CCheck::Leak) {
                    // Its end is not known here, so neither is what points into it.
                    self.unmodelled("leaks of memory of a size that is not known", span);
                    return None;
                }
                if follows {
                    self.mortal(object, true, None, span);
                }
                let b = self.b();
                let count = b.quotient(size, each).map_or_else(|| b.div(size, b.num(each)), |(count, _)| count);
                self.update(vec![(length, count)], What::New, span);
                Some(self.terms.int(self.objects[object].base))
            }
            _ => {
                self.unmodelled("an allocation whose size is not known", span);
                None
            }
        }
    }

    /// The one type that the rest of the program gives to memory allocated without a type. Where there is none yet, the
    /// address of something that can only be looked at to find it.
    fn type_given(&mut self, key: &str) -> Result<CType, Term> {
        let key = format!("{key}?");
        let mut given: Vec<CType> = self.facts.made_of.get(&key).into_iter().flatten().copied().collect();
        if given.len() > 1 {
            // Looking at single bytes says nothing of what is there.
            given.retain(|ty| !self.is_character(*ty));
        }
        if let [one] = given[..] {
            return Ok(one);
        }
        let why = if given.is_empty() { "memory allocated without a type" } else { "memory used with several types" };
        let object = match self.object_keys.get(&key) {
            Some(object) => *object,
            None => self.place_object(&key, 1, memory::Content::Nothing(why.into())),
        };
        Err(self.terms.int(self.objects[object].base))
    }

    /// Whether allocated memory is used with another type than its own.
    pub(super) fn retyped_memory(&self, object: &memory::CObject) -> bool {
        let own = object.element.map(|(ty, _)| ty.unqualified());
        let used = self.facts.made_of.get(&format!("{}?", object.key)).into_iter().flatten();
        used.copied().filter(|ty| !self.is_character(*ty)).any(|ty| Some(ty) != own)
    }

    pub(super) fn is_character(&self, ty: CType) -> bool {
        matches!(self.unit.types.as_int(ty), Some(Int::Char | Int::UChar))
    }

    /// Notes that an address is used as one of a type.
    pub(super) fn note_type(&mut self, address: Term, to: CType) {
        if self.unit.types.is_void(to) || self.unit.types.size(to).is_none() {
            return;
        }
        for object in self.targets(address) {
            let key = self.objects[object].key.clone();
            // Also where the type is known: a second one tells that it may change.
            if key.contains("<heap ") {
                let asked = if key.ends_with('?') { key } else { format!("{key}?") };
                self.found.made_of.entry(asked).or_default().insert(to.unqualified());
            }
        }
    }

    fn fill_memory(&mut self, args: &[Expr], span: Span) -> Option<Term> {
        let [target, value, size] = args else { return None };
        let address = self.value(strip(target));
        let (byte, bytes) = (self.value(value), self.value(size));
        let pointee = self.unit.types.pointee(strip(target).ty)?;
        let each = self.unit.types.size(pointee).unwrap_or(0) as i128;
        let (Some(fill), Some(n)) = (self.b().as_num(byte), self.b().as_num(bytes)) else {
            if let Some(body) = self.unit.function(&format!("{LIBRARY}memset")).filter(|_| self.is_character(pointee)) {
                return self.inline_library(body, vec![address, byte, bytes], span);
            }
            self.unmodelled("memset with these values", span);
            return None;
        };
        if each == 0 || self.unit.types.is_void(pointee) || n % each != 0 || n / each > 64 {
            self.unmodelled("memset of this size", span);
            return None;
        }
        let model = self.unit.types.model;
        for i in 0..n / each {
            for (offset, leaf) in self.plain_parts(pointee) {
                self.copied_object(leaf, span);
                let value = match (fill.rem_euclid(256), self.unit.types.kind(leaf)) {
                    (0, _) => 0,
                    (1, CTypeKind::Int(Int::Bool)) => 1,
                    (byte, CTypeKind::Int(int)) if *int != Int::Bool => {
                        let all = (0..int.bytes(model)).fold(0, |all, _| all << 8 | byte);
                        int.wrap(all, model)
                    }
                    _ => {
                        self.unmodelled("memset with these values", span);
                        return None;
                    }
                };
                let at = self.settle(self.b().add(address, self.b().num(i * each + offset)));
                let value = self.terms.int(value);
                self.write(at, leaf, value, span);
            }
        }
        Some(address)
    }

    fn copy_memory(&mut self, args: &[Expr], name: &str, span: Span) -> Option<Term> {
        let [target, source, size] = args else { return None };
        let (to, from) = (self.value(strip(target)), self.value(strip(source)));
        let bytes = self.value(size);
        let pointee = self.unit.types.pointee(strip(target).ty)?;
        let each = self.unit.types.size(pointee).unwrap_or(0) as i128;
        let count = self.b().as_num(bytes).filter(|n| each > 0 && n % each == 0).map(|n| n / each);
        let (Some(count), false) = (count.filter(|c| *c <= 64), self.unit.types.is_void(pointee)) else {
            if let Some(body) = self.unit.function(&format!("{LIBRARY}{name}")).filter(|_| self.is_character(pointee)) {
                return self.inline_library(body, vec![to, from, bytes], span);
            }
            self.unmodelled(&format!("{name} of this size"), span);
            return None;
        };
        let mut kept = Vec::new();
        let before = std::mem::replace(&mut self.cur.moving, true);
        for i in 0..count {
            for (offset, leaf) in self.plain_parts(pointee) {
                self.copied_object(leaf, span);
                let by = self.b().num(i * each + offset);
                let (target, source) = (self.settle(self.b().add(to, by)), self.settle(self.b().add(from, by)));
                let value = self.read(source, leaf, span);
                if name == "memcpy" || self.cur.at.is_none() {
                    self.write(target, leaf, value, span);
                    continue;
                }
                // The two may overlap: everything is read before anything is written.
                let keep = self.temp(span);
                self.slots[keep].range = self.unit.types.as_int(leaf).map(|i| i.range(self.unit.types.model));
                self.update(vec![(keep, value)], What::Assign, span);
                kept.push((target, leaf, self.slot_term(keep)));
            }
        }
        for (target, leaf, value) in kept {
            self.write(target, leaf, value, span);
        }
        self.cur.moving = before;
        self.cur.at?;
        Some(to)
    }

    /// A function of the library that is a program itself.
    fn library_call(&mut self, body: FnId, args: &[Expr], span: Span) -> Option<Term> {
        let values: Vec<Term> = args.iter().map(|a| self.value(a)).collect();
        self.inline_library(body, values, span)
    }

    pub(super) fn inline_library(&mut self, body: FnId, values: Vec<Term>, span: Span) -> Option<Term> {
        self.cur.at?;
        let before = self.cur.blamed;
        self.cur.blamed = before.or(Some(span));
        let result = self.inline(body, values, span);
        self.cur.blamed = before;
        result
    }

    /// A time where an argument points to: seconds, and parts of one.
    fn time_behind(&mut self, argument: Option<&Expr>, span: Span) {
        let Some(e) = argument.filter(|a| a.as_const() != Some(0)) else { return };
        let address = self.value(e);
        let Some(ty) = self.unit.types.pointee(strip(e).ty) else { return };
        let parts = self.plain_parts(ty);
        for (number, (offset, leaf)) in parts.iter().enumerate() {
            let range = if number == 0 { super::promises::TIMES } else { super::promises::PARTS_OF_A_SECOND };
            let value = self.nondet_in(Some(range), Sort::INT, span);
            let at = self.settle(self.b().add(address, self.b().num(*offset)));
            self.write(at, *leaf, value, span);
        }
    }

    fn unknown_function(&mut self, name: &str, args: &[Expr], ty: CType, span: Span) -> Option<Term> {
        if self.unit.function(name).is_some_and(|f| self.unit.functions[f].noreturn) {
            args.iter().for_each(|a| self.effect(a));
            self.leave_program(span, Leave::Stop);
            return None;
        }
        if has_a_meaning(name) {
            self.unmodelled(&format!("`{name}`"), span);
            return None;
        }
        for a in args {
            if !self.unit.types.is_scalar(a.ty) {
                self.unmodelled(&format!("`{name}` is not known and is handed a struct"), span);
                return None;
            }
            {
                let value = self.value(a);
                self.cur.at?;
                if !self.targets(value).is_empty() && !matches!(strip(a).kind, CExprKind::TextAddress(_)) {
                    self.unmodelled(&format!("`{name}` is not known and is handed an address"), span);
                    return None;
                }
            }
        }
        self.assume("c-external-functions", "functions without a body change no memory of the program");
        if self.unit.types.is_void(ty) {
            return Some(self.terms.int(0));
        }
        if self.unit.types.is_float(ty) {
            return Some(self.unfollowed());
        }
        if self.unit.types.as_int(ty).is_none() && self.unit.types.pointee(ty).is_none() {
            self.unmodelled(&format!("the result of `{name}`"), span);
            return None;
        }
        let value = self.nondet(ty, span);
        self.outside(value);
        Some(value)
    }

    /// A value from outside may point to memory that the program did not make.
    pub(super) fn outside(&mut self, value: Term) {
        if let Some(slot) = self.terms.as_symbol(value).and_then(|s| self.by_symbol.get(&s)) {
            self.found.points(*slot, self.object_keys.get(memory::OUTSIDE).copied());
        }
    }

    /// Any values in the scalar parts of what an argument points to.
    pub(super) fn havoc_behind(&mut self, argument: Option<&Expr>, span: Span) {
        let Some(e) = argument.filter(|a| a.as_const() != Some(0)) else { return };
        let address = self.value(e);
        let Some(ty) = self.unit.types.pointee(strip(e).ty) else { return };
        for (offset, leaf) in self.plain_parts(ty) {
            let value = self.nondet(leaf, span);
            let at = self.settle(self.b().add(address, self.b().num(offset)));
            self.write(at, leaf, value, span);
        }
    }
}

/// The expression under casts between pointers.
pub(super) fn strip(e: &Expr) -> &Expr {
    match &e.kind {
        CExprKind::Cast(inner) => strip(inner),
        _ => e,
    }
}

/// Functions that are not modelled and whose result is not just anything, or that change what threads do.
pub(in crate::c) fn has_a_meaning(name: &str) -> bool {
    let families = ["__builtin_", "__sync_", "__atomic_", "atomic_", "__CPROVER_", "__VERIFIER_"];
    families.iter().any(|family| name.starts_with(family)) || MEANT.contains(&name)
}

/// Names of the headers; see `has_a_meaning`.
const MEANT: &[&str] = &[
    "atof",
    "strtod",
    "strtof",
    "imaxabs",
    "div",
    "ldiv",
    "lldiv",
    "bsearch",
    "qsort",
    "ffs",
    "ffsl",
    "ffsll",
    "strstr",
    "strtok",
    "memchr",
    "memrchr",
    "strcoll",
    "pthread_cancel",
    "pthread_kill",
    "pthread_setcancelstate",
    "pthread_setcanceltype",
    "raise",
    "kill",
    "alarm",
    "atexit",
    "on_exit",
    "fork",
    "vfork",
    "setjmp",
    "_setjmp",
    "sigsetjmp",
    "longjmp",
    "signal",
    "__sysv_signal",
    "bsd_signal",
    "sigaction",
    "sigwait",
    "sigsuspend",
    "pthread_mutex_consistent",
    "pthread_mutexattr_setrobust",
];

/// Functions whose effect is outside the program's memory.
fn is_ignored(name: &str) -> bool {
    matches!(
        name,
        "fflush"
            | "sleep"
            | "usleep"
            | "sched_yield"
            | "pthread_yield"
            | "thrd_yield"
            | "srand"
            | "srandom"
            | "clock"
            | "getchar"
            | "getchar_unlocked"
            | "getc"
            | "fgetc"
            | "gettid"
            | "close"
            | "pthread_setconcurrency"
            | "pthread_attr_init"
            | "pthread_attr_destroy"
            | "pthread_attr_setstacksize"
            | "pthread_attr_setscope"
            | "pthread_condattr_init"
            | "pthread_condattr_destroy"
            | "pthread_condattr_setclock"
            | "pthread_mutexattr_destroy"
            | "pthread_mutexattr_setpshared"
            | "pthread_testcancel"
            | "pthread_setname_np"
            | "sync"
            | "setlinebuf"
            | "openlog"
            | "closelog"
            | "pthread_rwlockattr_init"
            | "pthread_rwlockattr_destroy"
            | "pthread_barrierattr_init"
            | "pthread_barrierattr_destroy"
            | "__VERIFIER_yield"
            | "__builtin_prefetch"
            | "__builtin_ia32_pause"
            | "__CPROVER_fence"
    )
}
