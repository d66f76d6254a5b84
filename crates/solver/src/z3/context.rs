//! A Z3 context of our own, as a target of the encoder.
//!
//! In: heads and arguments. Out: Z3 terms, kept alive until the encoder forgets them, or as long as the context.
//! A context belongs to one session on one thread; only `Z3_interrupt` may be called from elsewhere (see `watchdog`).
//! No error handler is set, so that a failed call gives a null, which becomes a refusal with Z3's own message.

use crate::encode::{EncodingRefusal, EncodingTarget, Head, TargetSort};
use logic::{Quantifier, Symbol};
use rustc_hash::FxHashMap;
use std::ffi::{CStr, CString};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};
use z3_provider::library::*;

pub(crate) struct Z3Context {
    pub raw: Z3_context,
    int: Z3_sort,
    bool: Z3_sort,
    sorts: FxHashMap<TargetSort, Z3_sort>,
    small: FxHashMap<i128, Z3_ast>,
    /// What the encoder made since the last release.
    log: Vec<Z3_ast>,
}

/// Megabytes that Z3 may allocate in the whole process; 0 for no ceiling.
static CEILING: AtomicU64 = AtomicU64::new(0);

/// What is set before the first context exists.
fn configure_once() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let megabytes = CEILING.load(Ordering::Relaxed);
        let ceiling = CString::new(megabytes.to_string()).expect("digits have no NUL");
        // SAFETY: all strings live through the calls; this runs before any context of ours is made.
        unsafe {
            Z3_global_param_set(c"warning".as_ptr(), c"false".as_ptr());
            if megabytes > 0 {
                Z3_global_param_set(c"memory_max_size".as_ptr(), ceiling.as_ptr());
            }
        }
    });
}

/// A ceiling on what Z3 may allocate in the whole process; a session that meets it answers "unknown". It is kept until
/// the first session opens the library, and comes too late after that.
pub fn limit_memory(bytes: u64) {
    CEILING.store((bytes >> 20).max(1), Ordering::Relaxed);
}

impl Z3Context {
    pub(crate) fn new() -> Result<Self, EncodingRefusal> {
        crate::version::checked().map_err(EncodingRefusal::new)?;
        configure_once();
        // SAFETY: a fresh configuration and context, used nowhere else; each pointer is checked.
        unsafe {
            let config = Z3_mk_config().ok_or_else(|| EncodingRefusal::new("Z3 makes no configuration"))?;
            let raw = Z3_mk_context_rc(config);
            Z3_del_config(config);
            let raw = raw.ok_or_else(|| EncodingRefusal::new("Z3 makes no context"))?;
            Z3_set_error_handler(raw, None);
            let none = || EncodingRefusal::new("Z3 makes no sort");
            let int = Z3_mk_int_sort(raw).ok_or_else(none)?;
            Z3_inc_ref(raw, ast_of_sort(raw, int)?);
            let bool = Z3_mk_bool_sort(raw).ok_or_else(none)?;
            Z3_inc_ref(raw, ast_of_sort(raw, bool)?);
            Ok(Self { raw, int, bool, sorts: FxHashMap::default(), small: FxHashMap::default(), log: Vec::new() })
        }
    }

    /// Keeps a term alive, or turns Z3's complaint into a refusal.
    pub(crate) fn keep(&self, ast: Option<Z3_ast>) -> Result<Z3_ast, EncodingRefusal> {
        match ast {
            Some(ast) => {
                // SAFETY: the term belongs to this context; it is released with it.
                unsafe { Z3_inc_ref(self.raw, ast) };
                Ok(ast)
            }
            None => Err(self.complaint()),
        }
    }

    /// Keeps a term until the next release.
    fn keep_for_now(&mut self, ast: Option<Z3_ast>) -> Result<Z3_ast, EncodingRefusal> {
        let ast = self.keep(ast)?;
        self.log.push(ast);
        Ok(ast)
    }

    /// Z3's own message about the last failure, without the formulas that may follow it: they are not the user's.
    pub(crate) fn complaint(&self) -> EncodingRefusal {
        // SAFETY: the message is copied at once.
        unsafe {
            let code = Z3_get_error_code(self.raw);
            let message = Z3_get_error_msg(self.raw, code);
            let message = text(message);
            let sentence = message.lines().next().unwrap_or_default().trim_end().trim_end_matches(':');
            EncodingRefusal::new(format!("Z3 says: {sentence}"))
        }
    }

    pub(crate) fn failed(&self) -> bool {
        // SAFETY: reads the state of our own context.
        unsafe { Z3_get_error_code(self.raw) != ErrorCode::Ok }
    }

    pub(crate) fn sort(&mut self, shape: &TargetSort) -> Result<Z3_sort, EncodingRefusal> {
        match shape {
            TargetSort::Bool => return Ok(self.bool),
            TargetSort::Int => return Ok(self.int),
            _ => {}
        }
        if let Some(known) = self.sorts.get(shape) {
            return Ok(*known);
        }
        // SAFETY: the parts belong to this context.
        let sort = unsafe {
            match shape {
                TargetSort::Bool | TargetSort::Int => None,
                TargetSort::Bits(width) => Z3_mk_bv_sort(self.raw, *width),
                TargetSort::Array(k, v) => {
                    let (k, v) = (self.sort(k)?, self.sort(v)?);
                    Z3_mk_array_sort(self.raw, k, v)
                }
                TargetSort::Set(e) => {
                    let e = self.sort(e)?;
                    Z3_mk_array_sort(self.raw, e, self.bool)
                }
                TargetSort::Seq(e) => {
                    let e = self.sort(e)?;
                    Z3_mk_seq_sort(self.raw, e)
                }
            }
        };
        let sort = sort.ok_or_else(|| self.complaint())?;
        // SAFETY: as above; the sort is kept with the context.
        unsafe { Z3_inc_ref(self.raw, ast_of_sort(self.raw, sort)?) };
        self.sorts.insert(shape.clone(), sort);
        Ok(sort)
    }

    fn numeral(&self, digits: String, sort: Z3_sort) -> Result<Z3_ast, EncodingRefusal> {
        let digits = CString::new(digits).map_err(|_| EncodingRefusal::new("a numeral with a NUL"))?;
        // SAFETY: the string lives through the call.
        self.keep(unsafe { Z3_mk_numeral(self.raw, digits.as_ptr(), sort) })
    }

    pub(crate) fn string_symbol(&self, name: &str) -> Result<Z3_symbol, EncodingRefusal> {
        let name = CString::new(name.replace('\0', "")).map_err(|_| EncodingRefusal::new("a name with a NUL"))?;
        // SAFETY: Z3 copies the string.
        unsafe { Z3_mk_string_symbol(self.raw, name.as_ptr()) }.ok_or_else(|| self.complaint())
    }

    /// A constant that no symbol of ours stands for.
    pub(crate) fn constant(&self, name: &str, sort: Z3_sort) -> Result<Z3_ast, EncodingRefusal> {
        let name = self.string_symbol(name)?;
        // SAFETY: name and sort belong to this context.
        self.keep(unsafe { Z3_mk_const(self.raw, name, sort) })
    }
}

impl Drop for Z3Context {
    fn drop(&mut self) {
        // SAFETY: the owner of the context is the last to use it; all kept terms go with it.
        unsafe { Z3_del_context(self.raw) };
    }
}

/// Copies a string that Z3 lends.
pub(crate) fn text(pointer: *const std::ffi::c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: Z3's strings end in NUL and live until the next call.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

unsafe fn ast_of_sort(raw: Z3_context, sort: Z3_sort) -> Result<Z3_ast, EncodingRefusal> {
    // SAFETY: the caller passes a sort of the context.
    unsafe { Z3_sort_to_ast(raw, sort) }.ok_or_else(|| EncodingRefusal::new("Z3 has no term for a sort"))
}

impl EncodingTarget for Z3Context {
    type Expr = Z3_ast;
    const FINITE_SETS: bool = false;

    fn pin(&mut self, expr: Z3_ast) {
        // SAFETY: the term belongs to this context.
        unsafe { Z3_inc_ref(self.raw, expr) };
    }

    fn kept(&self) -> usize {
        self.log.len()
    }

    fn release(&mut self) {
        for ast in self.log.drain(..) {
            // SAFETY: counted when it was logged; the encoder has just forgotten it.
            unsafe { Z3_dec_ref(self.raw, ast) };
        }
    }

    fn boolean(&mut self, value: bool) -> Result<Z3_ast, EncodingRefusal> {
        // SAFETY: a call on our own context.
        self.keep_for_now(unsafe { if value { Z3_mk_true(self.raw) } else { Z3_mk_false(self.raw) } })
    }

    fn int(&mut self, value: i128) -> Result<Z3_ast, EncodingRefusal> {
        if let Some(known) = self.small.get(&value) {
            return Ok(*known);
        }
        let made = match i64::try_from(value) {
            // SAFETY: a call on our own context.
            Ok(n) => self.keep(unsafe { Z3_mk_int64(self.raw, n, self.int) })?,
            Err(_) => self.numeral(value.to_string(), self.int)?,
        };
        self.small.insert(value, made);
        Ok(made)
    }

    fn bits(&mut self, value: u128, width: u32) -> Result<Z3_ast, EncodingRefusal> {
        let sort = self.sort(&TargetSort::Bits(width))?;
        let made = self.numeral(value.to_string(), sort)?;
        self.log.push(made);
        Ok(made)
    }

    fn symbol(&mut self, symbol: Symbol, name: &str, shape: &TargetSort) -> Result<Z3_ast, EncodingRefusal> {
        let sort = self.sort(shape)?;
        // Two symbols of one name are different, so the number is part of the name.
        self.constant(&format!("{name}#{}", symbol.0), sort)
    }

    fn apply(&mut self, head: &Head, a: &[Z3_ast]) -> Result<Z3_ast, EncodingRefusal> {
        let c = self.raw;
        let (n, p) = (a.len() as std::ffi::c_uint, a.as_ptr());
        // SAFETY: all arguments belong to this context, arrays live through the calls, and the encoder gives each
        // head as many arguments as it takes.
        let made = unsafe {
            match head {
                Head::Not => Z3_mk_not(c, a[0]),
                Head::And => Z3_mk_and(c, n, p),
                Head::Or => Z3_mk_or(c, n, p),
                Head::Implies => Z3_mk_implies(c, a[0], a[1]),
                Head::Ite => Z3_mk_ite(c, a[0], a[1], a[2]),
                Head::Eq => Z3_mk_eq(c, a[0], a[1]),
                Head::Lt => Z3_mk_lt(c, a[0], a[1]),
                Head::Le => Z3_mk_le(c, a[0], a[1]),
                Head::Add => Z3_mk_add(c, n, p),
                Head::Sub => Z3_mk_sub(c, n, p),
                Head::Mul => Z3_mk_mul(c, n, p),
                Head::Neg => Z3_mk_unary_minus(c, a[0]),
                Head::Div => Z3_mk_div(c, a[0], a[1]),
                Head::Mod => Z3_mk_mod(c, a[0], a[1]),
                Head::Select => Z3_mk_select(c, a[0], a[1]),
                Head::Store => Z3_mk_store(c, a[0], a[1], a[2]),
                Head::ConstArray(TargetSort::Array(k, _)) => {
                    let key = self.sort(k)?;
                    Z3_mk_const_array(c, key, a[0])
                }
                Head::EmptySet(TargetSort::Set(e)) => {
                    let element = self.sort(e)?;
                    Z3_mk_empty_set(c, element)
                }
                Head::Member => Z3_mk_select(c, a[1], a[0]),
                Head::Insert => Z3_mk_set_add(c, a[1], a[0]),
                Head::Union => Z3_mk_set_union(c, n, p),
                Head::Minus => Z3_mk_set_difference(c, a[0], a[1]),
                Head::Subset => Z3_mk_set_subset(c, a[0], a[1]),
                Head::Finite => {
                    let almost = self.keep_for_now(Z3_mk_array_default(c, a[0]))?;
                    Z3_mk_not(c, almost)
                }
                Head::EmptySeq(shape) => {
                    let sort = self.sort(shape)?;
                    Z3_mk_seq_empty(c, sort)
                }
                Head::Unit => Z3_mk_seq_unit(c, a[0]),
                Head::Concat => Z3_mk_seq_concat(c, n, p),
                Head::Len => Z3_mk_seq_length(c, a[0]),
                Head::Nth => Z3_mk_seq_nth(c, a[0], a[1]),
                Head::Extract => Z3_mk_seq_extract(c, a[0], a[1], a[2]),
                Head::IntToBits(width) => Z3_mk_int2bv(c, *width, a[0]),
                Head::BitsToNat => Z3_mk_bv2int(c, a[0], false),
                Head::BitsToInt => Z3_mk_bv2int(c, a[0], true),
                Head::BvAdd => Z3_mk_bvadd(c, a[0], a[1]),
                Head::BvSub => Z3_mk_bvsub(c, a[0], a[1]),
                Head::BvMul => Z3_mk_bvmul(c, a[0], a[1]),
                Head::BvNeg => Z3_mk_bvneg(c, a[0]),
                Head::BvAnd => Z3_mk_bvand(c, a[0], a[1]),
                Head::BvOr => Z3_mk_bvor(c, a[0], a[1]),
                Head::BvXor => Z3_mk_bvxor(c, a[0], a[1]),
                Head::BvNot => Z3_mk_bvnot(c, a[0]),
                Head::BvShl => Z3_mk_bvshl(c, a[0], a[1]),
                Head::BvLshr => Z3_mk_bvlshr(c, a[0], a[1]),
                Head::BvAshr => Z3_mk_bvashr(c, a[0], a[1]),
                Head::BvUdiv => Z3_mk_bvudiv(c, a[0], a[1]),
                Head::BvUrem => Z3_mk_bvurem(c, a[0], a[1]),
                Head::BvSdiv => Z3_mk_bvsdiv(c, a[0], a[1]),
                Head::BvSrem => Z3_mk_bvsrem(c, a[0], a[1]),
                Head::BvUlt => Z3_mk_bvult(c, a[0], a[1]),
                Head::BvUle => Z3_mk_bvule(c, a[0], a[1]),
                Head::BvSlt => Z3_mk_bvslt(c, a[0], a[1]),
                Head::BvSle => Z3_mk_bvsle(c, a[0], a[1]),
                Head::ZeroExtend(by) => Z3_mk_zero_ext(c, *by, a[0]),
                Head::SignExtend(by) => Z3_mk_sign_ext(c, *by, a[0]),
                Head::BvExtract(high, low) => Z3_mk_extract(c, *high, *low, a[0]),
                Head::ConstArray(_) | Head::EmptySet(_) => {
                    return Err(EncodingRefusal::new("a container of no container sort"));
                }
            }
        };
        self.keep_for_now(made)
    }

    fn quantify(&mut self, q: Quantifier, bound: &[Z3_ast], body: Z3_ast) -> Result<Z3_ast, EncodingRefusal> {
        // SAFETY: bound constants are applications of this context; no patterns are given.
        let made = unsafe {
            let bound: Option<Vec<Z3_app>> = bound.iter().map(|b| Z3_to_app(self.raw, *b)).collect();
            let bound = bound.ok_or_else(|| self.complaint())?;
            let (n, p) = (bound.len() as std::ffi::c_uint, bound.as_ptr());
            Z3_mk_quantifier_const(self.raw, q == Quantifier::Forall, 0, n, p, 0, std::ptr::null(), body)
        };
        self.keep_for_now(made)
    }
}
