//! Doors to libz3: the binding's functions, each a jump to an address that is known once the library is open.
//!
//! In: the folders where the library may be. Out: the symbols that the binding declares, so that the linker asks for no
//! libz3; `open`, which loads the library at the first question. A run that asks Z3 nothing (parsing, exploring, heaps)
//! does not pay for mapping and relocating 29 MB, and a missing library is a sentence instead of the loader's complaint.
//! A function that the solver crate uses and this list lacks is an undefined symbol at link time: add it here.
//! Deliberately absent: other machines than x86-64 Linux; there the linker binds libz3 itself (see `build.rs`).

use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Loads the library once per process; every door leads somewhere afterwards, or the sentence says why not.
pub fn open(folders: &[PathBuf]) -> Result<(), &'static str> {
    static OPENED: OnceLock<Result<(), String>> = OnceLock::new();
    OPENED.get_or_init(|| load(folders)).as_ref().map(|_| ()).map_err(String::as_str)
}

fn load(folders: &[PathBuf]) -> Result<(), String> {
    let names = ["libz3.so.5.4", "libz3.so"];
    let mut files = folders.iter().flat_map(|folder| names.map(|name| folder.join(name)));
    let Some(file) = files.find(|file| file.is_file()) else {
        let looked: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
        return Err(format!("there is no libz3.so.5.4 in {}", looked.join(" or in ")));
    };
    bind(&file).map_err(|reason| format!("{} cannot be used: {reason}", file.display()))
}

fn bind(file: &Path) -> Result<(), libloading::Error> {
    // SAFETY: libz3's initialisers are those that the loader would run at start-up; the library is never closed, and an
    // address that it gives for a name of its interface is that function.
    unsafe {
        let library = libloading::Library::new(file)?;
        for (name, door) in DOORS {
            let address =
                library.get::<*mut c_void>(name.as_bytes())?.try_as_raw_ptr().unwrap_or(closed as *mut c_void);
            door.store(address, Ordering::Release);
        }
        std::mem::forget(library);
    }
    Ok(())
}

/// Where a door leads before `open`: a mistake of ours, told before it does harm.
extern "C" fn closed() -> ! {
    eprintln!("threadproof: a question to Z3 before its library was opened");
    std::process::abort()
}

macro_rules! doors {
    ($($name:ident)*) => {
        #[allow(non_upper_case_globals)]
        mod target {
            use super::*;
            $(pub(super) static $name: AtomicPtr<c_void> = AtomicPtr::new(closed as *mut c_void);)*
        }
        $(std::arch::global_asm!(
            concat!(".globl ", stringify!($name)),
            concat!(".type ", stringify!($name), ",@function"),
            concat!(stringify!($name), ":"),
            "jmp qword ptr [rip + {target}]",
            target = sym target::$name,
        );)*
        static DOORS: &[(&str, &AtomicPtr<c_void>)] = &[$((stringify!($name), &target::$name)),*];
    };
}

doors! {
    Z3_ast_vector_dec_ref Z3_ast_vector_get Z3_ast_vector_inc_ref Z3_ast_vector_size Z3_dec_ref Z3_del_config
    Z3_del_context Z3_fixedpoint_add_rule Z3_fixedpoint_dec_ref Z3_fixedpoint_get_cover_delta
    Z3_fixedpoint_get_reason_unknown Z3_fixedpoint_get_rule_names_along_trace Z3_fixedpoint_inc_ref
    Z3_fixedpoint_query Z3_fixedpoint_register_relation Z3_fixedpoint_set_params Z3_func_decl_to_ast
    Z3_func_entry_dec_ref Z3_func_entry_get_arg Z3_func_entry_get_num_args Z3_func_entry_get_value
    Z3_func_entry_inc_ref Z3_func_interp_dec_ref Z3_func_interp_get_else Z3_func_interp_get_entry
    Z3_func_interp_get_num_entries Z3_func_interp_inc_ref Z3_get_app_arg Z3_get_app_decl Z3_get_app_num_args
    Z3_get_as_array_func_decl Z3_get_ast_kind Z3_get_bool_value Z3_get_decl_kind Z3_get_error_code Z3_get_error_msg
    Z3_get_index_value Z3_get_numeral_int64 Z3_get_numeral_string Z3_get_quantifier_body
    Z3_get_quantifier_bound_sort Z3_get_quantifier_num_bound Z3_get_sort_kind Z3_get_symbol_string Z3_get_version
    Z3_global_param_set Z3_inc_ref Z3_interrupt Z3_is_numeral_ast Z3_is_quantifier_exists Z3_is_quantifier_forall
    Z3_mk_add Z3_mk_and Z3_mk_app Z3_mk_array_default Z3_mk_array_sort Z3_mk_bool_sort Z3_mk_bv2int Z3_mk_bv_sort
    Z3_mk_bvadd Z3_mk_bvand Z3_mk_bvashr Z3_mk_bvlshr Z3_mk_bvmul Z3_mk_bvneg Z3_mk_bvnot Z3_mk_bvor Z3_mk_bvsdiv
    Z3_mk_bvshl Z3_mk_bvsle Z3_mk_bvslt Z3_mk_bvsrem Z3_mk_bvsub Z3_mk_bvudiv Z3_mk_bvule Z3_mk_bvult Z3_mk_bvurem
    Z3_mk_bvxor Z3_mk_config Z3_mk_const Z3_mk_const_array Z3_mk_context_rc Z3_mk_div Z3_mk_empty_set Z3_mk_eq
    Z3_mk_extract Z3_mk_false Z3_mk_fixedpoint Z3_mk_func_decl Z3_mk_implies Z3_mk_int2bv Z3_mk_int64
    Z3_mk_int_sort Z3_mk_int_symbol Z3_mk_ite Z3_mk_le Z3_mk_lt Z3_mk_mod Z3_mk_mul Z3_mk_not Z3_mk_numeral
    Z3_mk_or Z3_mk_params Z3_mk_quantifier_const Z3_mk_select Z3_mk_seq_concat Z3_mk_seq_empty Z3_mk_seq_extract
    Z3_mk_seq_length Z3_mk_seq_nth Z3_mk_seq_sort Z3_mk_seq_unit Z3_mk_set_add Z3_mk_set_difference
    Z3_mk_set_subset Z3_mk_set_union Z3_mk_sign_ext Z3_mk_simple_solver Z3_mk_store Z3_mk_string_symbol Z3_mk_sub
    Z3_mk_true Z3_mk_unary_minus Z3_mk_zero_ext Z3_model_dec_ref Z3_model_eval Z3_model_get_func_interp
    Z3_model_inc_ref Z3_params_dec_ref Z3_params_inc_ref Z3_params_set_bool Z3_params_set_symbol Z3_params_set_uint
    Z3_set_error_handler Z3_solver_assert Z3_solver_check Z3_solver_check_assumptions Z3_solver_dec_ref
    Z3_solver_get_model Z3_solver_get_reason_unknown Z3_solver_get_unsat_core Z3_solver_inc_ref Z3_solver_pop
    Z3_solver_push Z3_solver_set_params Z3_sort_to_ast Z3_to_app
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_a_missing_or_foreign_library_is_a_sentence() {
        let empty = std::env::temp_dir().join(format!("threadproof-doors-{}", std::process::id()));
        std::fs::create_dir_all(&empty).expect("a folder for the test");
        let missing = load(std::slice::from_ref(&empty)).expect_err("there is nothing in the folder");
        assert_eq!(missing, format!("there is no libz3.so.5.4 in {}", empty.display()));
        std::fs::write(empty.join("libz3.so"), "no library").expect("a file for the test");
        let foreign = load(std::slice::from_ref(&empty)).expect_err("a text is no library");
        assert!(foreign.starts_with(&format!("{} cannot be used: ", empty.join("libz3.so").display())), "{foreign}");
        std::fs::remove_dir_all(&empty).expect("the test's own folder");
    }
}
