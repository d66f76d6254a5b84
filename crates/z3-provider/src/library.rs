//! The functions of libz3 that the crate `solver` uses, in a table that is filled when the library is opened.
//!
//! In: the folders where the library may be. Out: `open`, which loads it and looks up every function of the table; and the
//! functions themselves, with the names and the meaning of Z3's C interface. A run that asks Z3 nothing (parsing,
//! exploring, heaps) does not pay for mapping and relocating 29 MB, no linker has to find the library, and one that is
//! missing or lacks a function is a sentence instead of the loader's complaint.
//! Pointers that Z3 never accepts or returns as null are `NonNull`; a result that is null where Z3 failed is an `Option`.
//! Kinds are numbers with names and not enumerations of Rust, because Z3 may return one that is not listed here.
//! Deliberately absent: everything of the interface that this project does not call.

#![allow(non_camel_case_types, non_snake_case)]

use std::ffi::c_char;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::OnceLock;

macro_rules! objects {
    ($($name:ident)*) => {
        /// What the pointers lead to: known to Z3 alone.
        mod object {
            $(#[derive(Debug)] pub enum $name {})*
        }
        $(pub type $name = NonNull<object::$name>;)*
    };
}

objects! {
    Z3_app Z3_ast Z3_ast_vector Z3_config Z3_context Z3_fixedpoint Z3_func_decl Z3_func_entry Z3_func_interp Z3_model
    Z3_params Z3_pattern Z3_solver Z3_sort Z3_stats Z3_symbol
}

/// What an error handler is; this project sets none.
pub type Z3_error_handler = Option<unsafe extern "C" fn(Z3_context, ErrorCode)>;

/// A truth value of three.
pub type Z3_lbool = i32;
pub const Z3_L_FALSE: Z3_lbool = -1;
pub const Z3_L_TRUE: Z3_lbool = 1;

macro_rules! numbers {
    ($($(#[$about:meta])* $kind:ident { $($name:ident = $number:literal)* })*) => {
        $(
            $(#[$about])*
            #[repr(transparent)]
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub struct $kind(u32);

            #[allow(non_upper_case_globals)]
            impl $kind {
                $(pub const $name: $kind = $kind($number);)*
            }
        )*
    };
}

numbers! {
    /// Whether the last call went well.
    ErrorCode { Ok = 0 }
    /// What a term is.
    AstKind { Numeral = 0 App = 1 Var = 2 Quantifier = 3 }
    /// What a sort is.
    SortKind { Bool = 1 Int = 2 }
    /// What an applied function is.
    DeclKind {
        True = 256 False = 257 Eq = 258 Distinct = 259 Ite = 260 And = 261 Or = 262 Iff = 263 Xor = 264
        Not = 265 Implies = 266 Le = 514 Ge = 515 Lt = 516 Gt = 517 Add = 518 Sub = 519 Uminus = 520
        Mul = 521 Idiv = 523 Mod = 525 Store = 768 Select = 769 ConstArray = 770 AsArray = 778
        SeqUnit = 1551 SeqEmpty = 1552 SeqConcat = 1553
    }
}

macro_rules! table {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)?;)*) => {
        struct FunctionTable {
            $($name: unsafe extern "C" fn($($type),*) $(-> $result)?,)*
        }

        impl FunctionTable {
            /// # Safety
            /// The library must be libz3 of the version whose interface is declared here.
            unsafe fn read(library: &libloading::Library) -> Result<Self, libloading::Error> {
                // SAFETY: by the caller, each name is a function of the declared type.
                unsafe { Ok(FunctionTable { $($name: *library.get(stringify!($name).as_bytes())?,)* }) }
            }
        }

        $(
            /// The function of this name in Z3's C interface.
            ///
            /// # Safety
            /// As Z3's interface demands: objects are alive and of this context, and arrays are as long as is said.
            #[inline]
            #[allow(clippy::too_many_arguments)]
            pub unsafe fn $name($($argument: $type),*) $(-> $result)? {
                // SAFETY: by the caller.
                unsafe { (table().$name)($($argument),*) }
            }
        )*
    };
}

table! {
    // Contexts, errors, parameters.
    fn Z3_dec_ref(c: Z3_context, a: Z3_ast);
    fn Z3_del_config(c: Z3_config);
    fn Z3_del_context(c: Z3_context);
    fn Z3_get_error_code(c: Z3_context) -> ErrorCode;
    fn Z3_get_error_msg(c: Z3_context, err: ErrorCode) -> *const c_char;
    fn Z3_get_version(major: *mut u32, minor: *mut u32, build_number: *mut u32, revision_number: *mut u32);
    fn Z3_global_param_set(param_id: *const c_char, param_value: *const c_char);
    fn Z3_inc_ref(c: Z3_context, a: Z3_ast);
    fn Z3_interrupt(c: Z3_context);
    fn Z3_mk_config() -> Option<Z3_config>;
    fn Z3_mk_context_rc(c: Z3_config) -> Option<Z3_context>;
    fn Z3_mk_params(c: Z3_context) -> Option<Z3_params>;
    fn Z3_params_dec_ref(c: Z3_context, p: Z3_params);
    fn Z3_params_inc_ref(c: Z3_context, p: Z3_params);
    fn Z3_params_set_bool(c: Z3_context, p: Z3_params, k: Z3_symbol, v: bool);
    fn Z3_params_set_symbol(c: Z3_context, p: Z3_params, k: Z3_symbol, v: Z3_symbol);
    fn Z3_params_set_uint(c: Z3_context, p: Z3_params, k: Z3_symbol, v: u32);
    fn Z3_set_error_handler(c: Z3_context, h: Z3_error_handler);
    // Solvers and models.
    fn Z3_ast_vector_dec_ref(c: Z3_context, v: Z3_ast_vector);
    fn Z3_ast_vector_get(c: Z3_context, v: Z3_ast_vector, i: u32) -> Option<Z3_ast>;
    fn Z3_ast_vector_inc_ref(c: Z3_context, v: Z3_ast_vector);
    fn Z3_ast_vector_size(c: Z3_context, v: Z3_ast_vector) -> u32;
    fn Z3_func_entry_dec_ref(c: Z3_context, e: Z3_func_entry);
    fn Z3_func_entry_get_arg(c: Z3_context, e: Z3_func_entry, i: u32) -> Option<Z3_ast>;
    fn Z3_func_entry_get_num_args(c: Z3_context, e: Z3_func_entry) -> u32;
    fn Z3_func_entry_get_value(c: Z3_context, e: Z3_func_entry) -> Option<Z3_ast>;
    fn Z3_func_entry_inc_ref(c: Z3_context, e: Z3_func_entry);
    fn Z3_func_interp_dec_ref(c: Z3_context, f: Z3_func_interp);
    fn Z3_func_interp_get_else(c: Z3_context, f: Z3_func_interp) -> Option<Z3_ast>;
    fn Z3_func_interp_get_entry(c: Z3_context, f: Z3_func_interp, i: u32) -> Option<Z3_func_entry>;
    fn Z3_func_interp_get_num_entries(c: Z3_context, f: Z3_func_interp) -> u32;
    fn Z3_func_interp_inc_ref(c: Z3_context, f: Z3_func_interp);
    fn Z3_mk_simple_solver(c: Z3_context) -> Option<Z3_solver>;
    fn Z3_model_dec_ref(c: Z3_context, m: Z3_model);
    fn Z3_model_eval(c: Z3_context, m: Z3_model, t: Z3_ast, model_completion: bool, v: *mut Z3_ast) -> bool;
    fn Z3_model_get_func_interp(c: Z3_context, m: Z3_model, f: Z3_func_decl) -> Option<Z3_func_interp>;
    fn Z3_model_inc_ref(c: Z3_context, m: Z3_model);
    fn Z3_solver_assert(c: Z3_context, s: Z3_solver, a: Z3_ast);
    fn Z3_solver_check(c: Z3_context, s: Z3_solver) -> Z3_lbool;
    fn Z3_solver_check_assumptions(
        c: Z3_context, s: Z3_solver, num_assumptions: u32, assumptions: *const Z3_ast,
    ) -> Z3_lbool;
    fn Z3_solver_dec_ref(c: Z3_context, s: Z3_solver);
    fn Z3_solver_get_model(c: Z3_context, s: Z3_solver) -> Option<Z3_model>;
    fn Z3_solver_get_reason_unknown(c: Z3_context, s: Z3_solver) -> *const c_char;
    fn Z3_solver_get_statistics(c: Z3_context, s: Z3_solver) -> Option<Z3_stats>;
    fn Z3_solver_get_unsat_core(c: Z3_context, s: Z3_solver) -> Option<Z3_ast_vector>;
    fn Z3_solver_inc_ref(c: Z3_context, s: Z3_solver);
    fn Z3_solver_pop(c: Z3_context, s: Z3_solver, n: u32);
    fn Z3_solver_push(c: Z3_context, s: Z3_solver);
    fn Z3_solver_set_params(c: Z3_context, s: Z3_solver, p: Z3_params);
    // What a question cost.
    fn Z3_stats_dec_ref(c: Z3_context, s: Z3_stats);
    fn Z3_stats_get_key(c: Z3_context, s: Z3_stats, at: u32) -> *const c_char;
    fn Z3_stats_get_uint_value(c: Z3_context, s: Z3_stats, at: u32) -> u32;
    fn Z3_stats_inc_ref(c: Z3_context, s: Z3_stats);
    fn Z3_stats_is_uint(c: Z3_context, s: Z3_stats, at: u32) -> bool;
    fn Z3_stats_size(c: Z3_context, s: Z3_stats) -> u32;
    // Horn clauses.
    fn Z3_fixedpoint_add_rule(c: Z3_context, d: Z3_fixedpoint, rule: Z3_ast, name: Option<Z3_symbol>);
    fn Z3_fixedpoint_dec_ref(c: Z3_context, d: Z3_fixedpoint);
    fn Z3_fixedpoint_get_cover_delta(
        c: Z3_context, d: Z3_fixedpoint, level: i32, pred: Z3_func_decl,
    ) -> Option<Z3_ast>;
    fn Z3_fixedpoint_get_reason_unknown(c: Z3_context, d: Z3_fixedpoint) -> *const c_char;
    fn Z3_fixedpoint_get_rule_names_along_trace(c: Z3_context, d: Z3_fixedpoint) -> Option<Z3_symbol>;
    fn Z3_fixedpoint_get_statistics(c: Z3_context, d: Z3_fixedpoint) -> Option<Z3_stats>;
    fn Z3_fixedpoint_inc_ref(c: Z3_context, d: Z3_fixedpoint);
    fn Z3_fixedpoint_query(c: Z3_context, d: Z3_fixedpoint, query: Z3_ast) -> Z3_lbool;
    fn Z3_fixedpoint_register_relation(c: Z3_context, d: Z3_fixedpoint, f: Z3_func_decl);
    fn Z3_fixedpoint_set_params(c: Z3_context, f: Z3_fixedpoint, p: Z3_params);
    fn Z3_mk_fixedpoint(c: Z3_context) -> Option<Z3_fixedpoint>;
    // Taking terms apart.
    fn Z3_func_decl_to_ast(c: Z3_context, f: Z3_func_decl) -> Option<Z3_ast>;
    fn Z3_get_app_arg(c: Z3_context, a: Z3_app, i: u32) -> Option<Z3_ast>;
    fn Z3_get_app_decl(c: Z3_context, a: Z3_app) -> Option<Z3_func_decl>;
    fn Z3_get_app_num_args(c: Z3_context, a: Z3_app) -> u32;
    fn Z3_get_as_array_func_decl(c: Z3_context, a: Z3_ast) -> Option<Z3_func_decl>;
    fn Z3_get_ast_kind(c: Z3_context, a: Z3_ast) -> AstKind;
    fn Z3_get_bool_value(c: Z3_context, a: Z3_ast) -> Z3_lbool;
    fn Z3_get_decl_kind(c: Z3_context, d: Z3_func_decl) -> DeclKind;
    fn Z3_get_index_value(c: Z3_context, a: Z3_ast) -> u32;
    fn Z3_get_numeral_int64(c: Z3_context, v: Z3_ast, i: *mut i64) -> bool;
    fn Z3_get_numeral_string(c: Z3_context, a: Z3_ast) -> *const c_char;
    fn Z3_get_quantifier_body(c: Z3_context, a: Z3_ast) -> Option<Z3_ast>;
    fn Z3_get_quantifier_bound_sort(c: Z3_context, a: Z3_ast, i: u32) -> Option<Z3_sort>;
    fn Z3_get_quantifier_num_bound(c: Z3_context, a: Z3_ast) -> u32;
    fn Z3_get_sort_kind(c: Z3_context, t: Z3_sort) -> SortKind;
    fn Z3_get_symbol_string(c: Z3_context, s: Z3_symbol) -> *const c_char;
    fn Z3_is_numeral_ast(c: Z3_context, a: Z3_ast) -> bool;
    fn Z3_is_quantifier_exists(c: Z3_context, a: Z3_ast) -> bool;
    fn Z3_is_quantifier_forall(c: Z3_context, a: Z3_ast) -> bool;
    fn Z3_sort_to_ast(c: Z3_context, s: Z3_sort) -> Option<Z3_ast>;
    fn Z3_to_app(c: Z3_context, a: Z3_ast) -> Option<Z3_app>;
    // Sorts, symbols and functions.
    fn Z3_mk_app(c: Z3_context, d: Z3_func_decl, num_args: u32, args: *const Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_array_sort(c: Z3_context, domain: Z3_sort, range: Z3_sort) -> Option<Z3_sort>;
    fn Z3_mk_bool_sort(c: Z3_context) -> Option<Z3_sort>;
    fn Z3_mk_bv_sort(c: Z3_context, sz: u32) -> Option<Z3_sort>;
    fn Z3_mk_const(c: Z3_context, s: Z3_symbol, ty: Z3_sort) -> Option<Z3_ast>;
    fn Z3_mk_func_decl(
        c: Z3_context, s: Z3_symbol, domain_size: u32, domain: *const Z3_sort, range: Z3_sort,
    ) -> Option<Z3_func_decl>;
    fn Z3_mk_int_sort(c: Z3_context) -> Option<Z3_sort>;
    fn Z3_mk_int_symbol(c: Z3_context, i: i32) -> Option<Z3_symbol>;
    fn Z3_mk_seq_sort(c: Z3_context, s: Z3_sort) -> Option<Z3_sort>;
    fn Z3_mk_string_symbol(c: Z3_context, s: *const c_char) -> Option<Z3_symbol>;
    // Truth values, equality, quantifiers.
    fn Z3_mk_and(c: Z3_context, num_args: u32, args: *const Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_eq(c: Z3_context, l: Z3_ast, r: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_false(c: Z3_context) -> Option<Z3_ast>;
    fn Z3_mk_implies(c: Z3_context, t1: Z3_ast, t2: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_ite(c: Z3_context, t1: Z3_ast, t2: Z3_ast, t3: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_not(c: Z3_context, a: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_or(c: Z3_context, num_args: u32, args: *const Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_quantifier_const(
        c: Z3_context, is_forall: bool, weight: u32, num_bound: u32, bound: *const Z3_app, num_patterns: u32, patterns: *const Z3_pattern, body: Z3_ast,
    ) -> Option<Z3_ast>;
    fn Z3_mk_true(c: Z3_context) -> Option<Z3_ast>;
    // Integers.
    fn Z3_mk_add(c: Z3_context, num_args: u32, args: *const Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_div(c: Z3_context, arg1: Z3_ast, arg2: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_int64(c: Z3_context, v: i64, ty: Z3_sort) -> Option<Z3_ast>;
    fn Z3_mk_le(c: Z3_context, t1: Z3_ast, t2: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_lt(c: Z3_context, t1: Z3_ast, t2: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_mod(c: Z3_context, arg1: Z3_ast, arg2: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_mul(c: Z3_context, num_args: u32, args: *const Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_numeral(c: Z3_context, numeral: *const c_char, ty: Z3_sort) -> Option<Z3_ast>;
    fn Z3_mk_sub(c: Z3_context, num_args: u32, args: *const Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_unary_minus(c: Z3_context, arg: Z3_ast) -> Option<Z3_ast>;
    // Machine integers.
    fn Z3_mk_bv2int(c: Z3_context, t1: Z3_ast, is_signed: bool) -> Option<Z3_ast>;
    fn Z3_mk_bvadd(c: Z3_context, t1: Z3_ast, t2: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_bvand(c: Z3_context, t1: Z3_ast, t2: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_bvashr(c: Z3_context, t1: Z3_ast, t2: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_bvlshr(c: Z3_context, t1: Z3_ast, t2: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_bvmul(c: Z3_context, t1: Z3_ast, t2: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_bvneg(c: Z3_context, t1: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_bvnot(c: Z3_context, t1: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_bvor(c: Z3_context, t1: Z3_ast, t2: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_bvsdiv(c: Z3_context, t1: Z3_ast, t2: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_bvshl(c: Z3_context, t1: Z3_ast, t2: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_bvsle(c: Z3_context, t1: Z3_ast, t2: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_bvslt(c: Z3_context, t1: Z3_ast, t2: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_bvsrem(c: Z3_context, t1: Z3_ast, t2: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_bvsub(c: Z3_context, t1: Z3_ast, t2: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_bvudiv(c: Z3_context, t1: Z3_ast, t2: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_bvule(c: Z3_context, t1: Z3_ast, t2: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_bvult(c: Z3_context, t1: Z3_ast, t2: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_bvurem(c: Z3_context, t1: Z3_ast, t2: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_bvxor(c: Z3_context, t1: Z3_ast, t2: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_extract(c: Z3_context, high: u32, low: u32, t1: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_int2bv(c: Z3_context, n: u32, t1: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_sign_ext(c: Z3_context, i: u32, t1: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_zero_ext(c: Z3_context, i: u32, t1: Z3_ast) -> Option<Z3_ast>;
    // Maps, sets and sequences.
    fn Z3_mk_array_default(c: Z3_context, array: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_const_array(c: Z3_context, domain: Z3_sort, v: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_empty_set(c: Z3_context, domain: Z3_sort) -> Option<Z3_ast>;
    fn Z3_mk_select(c: Z3_context, a: Z3_ast, i: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_seq_concat(c: Z3_context, n: u32, args: *const Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_seq_empty(c: Z3_context, seq: Z3_sort) -> Option<Z3_ast>;
    fn Z3_mk_seq_extract(c: Z3_context, s: Z3_ast, offset: Z3_ast, length: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_seq_length(c: Z3_context, s: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_seq_nth(c: Z3_context, s: Z3_ast, index: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_seq_unit(c: Z3_context, a: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_set_add(c: Z3_context, set: Z3_ast, elem: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_set_difference(c: Z3_context, arg1: Z3_ast, arg2: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_set_subset(c: Z3_context, arg1: Z3_ast, arg2: Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_set_union(c: Z3_context, num_args: u32, args: *const Z3_ast) -> Option<Z3_ast>;
    fn Z3_mk_store(c: Z3_context, a: Z3_ast, i: Z3_ast, v: Z3_ast) -> Option<Z3_ast>;
}

static TABLE: OnceLock<Result<FunctionTable, String>> = OnceLock::new();

#[inline]
fn table() -> &'static FunctionTable {
    match TABLE.get() {
        Some(Ok(table)) => table,
        _ => panic!("a question to Z3 before its library was opened"),
    }
}

/// Loads the library once per process, or says in a sentence why that is not possible.
pub(crate) fn open(folders: &[PathBuf]) -> Result<(), &'static str> {
    TABLE.get_or_init(|| load(folders)).as_ref().map(|_| ()).map_err(String::as_str)
}

/// The names that the library has on this platform, the one with its version first.
const FILE_NAMES: &[&str] = if cfg!(windows) {
    &["libz3.dll"]
} else if cfg!(target_os = "macos") {
    &["libz3.5.4.dylib", "libz3.dylib"]
} else {
    &["libz3.so.5.4", "libz3.so"]
};

/// The library's file, or a sentence that says where it was looked for.
fn find(folders: &[PathBuf]) -> Result<PathBuf, String> {
    let mut files = folders.iter().flat_map(|folder| FILE_NAMES.iter().map(move |name| folder.join(name)));
    files.find(|file| file.is_file()).ok_or_else(|| {
        let looked: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
        format!("there is no {} in {}", FILE_NAMES[0], looked.join(" or in "))
    })
}

/// Why there is no library, if there is none.
pub(crate) fn missing(folders: &[PathBuf]) -> Option<String> {
    find(folders).err()
}

fn load(folders: &[PathBuf]) -> Result<FunctionTable, String> {
    let file = find(folders)?;
    read(&file).map_err(|reason| format!("{} cannot be used: {reason}", file.display()))
}

fn read(file: &Path) -> Result<FunctionTable, libloading::Error> {
    // SAFETY: libz3's initialisers are those that the loader would run at start-up; the library is never closed, so that
    // the addresses stay valid; `solver::version` refuses another version before any other question.
    unsafe {
        let library = libloading::Library::new(file)?;
        let table = FunctionTable::read(&library)?;
        std::mem::forget(library);
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_a_missing_or_foreign_library_is_a_sentence() {
        let empty = std::env::temp_dir().join(format!("threadproof-library-{}", std::process::id()));
        std::fs::create_dir_all(&empty).expect("a folder for the test");
        let sentence = |outcome: Result<FunctionTable, String>| outcome.err().expect("this is not libz3");
        let missing = sentence(load(std::slice::from_ref(&empty)));
        assert_eq!(missing, format!("there is no {} in {}", FILE_NAMES[0], empty.display()));
        let file = empty.join(FILE_NAMES[0]);
        std::fs::write(&file, "no library").expect("a file for the test");
        let foreign = sentence(load(std::slice::from_ref(&empty)));
        assert!(foreign.starts_with(&format!("{} cannot be used: ", file.display())), "{foreign}");
        std::fs::remove_dir_all(&empty).expect("the test's own folder");
    }

    #[test]
    fn check_the_numbers_of_kinds_are_those_of_the_library() {
        crate::open_z3().expect("the build brought libz3");
        // SAFETY: every object is alive and of this context, which counts references; nothing is freed before its end.
        unsafe {
            let config = Z3_mk_config().expect("a configuration");
            let c = Z3_mk_context_rc(config).expect("a context");
            Z3_del_config(config);
            let keep = |term: Option<Z3_ast>| {
                let term = term.expect("a term");
                Z3_inc_ref(c, term);
                term
            };
            // An object without a reference lives until the next call.
            let keep_sort = |sort: Option<Z3_sort>| {
                let sort = sort.expect("a sort");
                keep(Z3_sort_to_ast(c, sort));
                sort
            };
            let (int, bool) = (keep_sort(Z3_mk_int_sort(c)), keep_sort(Z3_mk_bool_sort(c)));
            let (array, seq) = (keep_sort(Z3_mk_array_sort(c, int, int)), keep_sort(Z3_mk_seq_sort(c, int)));
            let constant = |name: i32, sort| keep(Z3_mk_const(c, Z3_mk_int_symbol(c, name).expect("a symbol"), sort));
            let (x, y, a) = (constant(0, int), constant(1, int), constant(2, array));
            let (p, q, s) = (constant(3, bool), constant(4, bool), constant(5, seq));
            let two = [x, y];
            let kind = |term: Option<Z3_ast>| {
                let app = Z3_to_app(c, keep(term)).expect("an application");
                Z3_get_decl_kind(c, Z3_get_app_decl(c, app).expect("its function"))
            };
            let seen = [
                (kind(Z3_mk_true(c)), DeclKind::True),
                (kind(Z3_mk_false(c)), DeclKind::False),
                (kind(Z3_mk_eq(c, x, y)), DeclKind::Eq),
                (kind(Z3_mk_ite(c, p, x, y)), DeclKind::Ite),
                (kind(Z3_mk_and(c, 2, [p, q].as_ptr())), DeclKind::And),
                (kind(Z3_mk_or(c, 2, [p, q].as_ptr())), DeclKind::Or),
                (kind(Z3_mk_not(c, p)), DeclKind::Not),
                (kind(Z3_mk_implies(c, p, q)), DeclKind::Implies),
                (kind(Z3_mk_le(c, x, y)), DeclKind::Le),
                (kind(Z3_mk_lt(c, x, y)), DeclKind::Lt),
                (kind(Z3_mk_add(c, 2, two.as_ptr())), DeclKind::Add),
                (kind(Z3_mk_sub(c, 2, two.as_ptr())), DeclKind::Sub),
                (kind(Z3_mk_mul(c, 2, two.as_ptr())), DeclKind::Mul),
                (kind(Z3_mk_unary_minus(c, x)), DeclKind::Uminus),
                (kind(Z3_mk_div(c, x, y)), DeclKind::Idiv),
                (kind(Z3_mk_mod(c, x, y)), DeclKind::Mod),
                (kind(Z3_mk_store(c, a, x, y)), DeclKind::Store),
                (kind(Z3_mk_select(c, a, x)), DeclKind::Select),
                (kind(Z3_mk_const_array(c, int, x)), DeclKind::ConstArray),
                (kind(Z3_mk_seq_unit(c, x)), DeclKind::SeqUnit),
                (kind(Z3_mk_seq_empty(c, seq)), DeclKind::SeqEmpty),
                (kind(Z3_mk_seq_concat(c, 2, [s, s].as_ptr())), DeclKind::SeqConcat),
            ];
            for (number, (found, listed)) in seen.into_iter().enumerate() {
                assert_eq!(found, listed, "the term number {number}");
            }
            assert_eq!((Z3_get_sort_kind(c, int), Z3_get_sort_kind(c, bool)), (SortKind::Int, SortKind::Bool));
            let three = keep(Z3_mk_int64(c, 3, int));
            assert_eq!((Z3_get_ast_kind(c, three), Z3_get_ast_kind(c, x)), (AstKind::Numeral, AstKind::App));
            assert_eq!(Z3_get_error_code(c), ErrorCode::Ok);
            Z3_del_context(c);
        }
    }
}
