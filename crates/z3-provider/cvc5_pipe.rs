//! An SMT-LIB 2 reader and printer around the cvc5 library: the executable that the cvc5 wheel lacks.
//!
//! In: SMT-LIB commands on standard input. Out: cvc5's answers on standard output, each flushed, so that one long
//! process can serve many questions. `(reset)` starts afresh with a new solver. The build script of this crate
//! compiles the file with the same rustc that compiles the project and links it to the unpacked libraries.
//! Deliberately absent: options and interactive comfort; everything is said in SMT-LIB.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io::{Read, Write};

unsafe extern "C" {
    fn cvc5_term_manager_new() -> *mut c_void;
    fn cvc5_term_manager_delete(terms: *mut c_void);
    fn cvc5_new(terms: *mut c_void) -> *mut c_void;
    fn cvc5_delete(solver: *mut c_void);
    fn cvc5_symbol_manager_new(terms: *mut c_void) -> *mut c_void;
    fn cvc5_symbol_manager_delete(symbols: *mut c_void);
    fn cvc5_parser_new(solver: *mut c_void, symbols: *mut c_void) -> *mut c_void;
    fn cvc5_parser_delete(parser: *mut c_void);
    fn cvc5_parser_set_inc_str_input(parser: *mut c_void, language: c_int, name: *const c_char);
    fn cvc5_parser_append_inc_str_input(parser: *mut c_void, text: *const c_char);
    fn cvc5_parser_next_command(parser: *mut c_void, error: *mut *const c_char) -> *mut c_void;
    fn cvc5_cmd_invoke(command: *mut c_void, solver: *mut c_void, symbols: *mut c_void) -> *const c_char;
}

/// cvc5's number for SMT-LIB 2.6.
const SMT_LIB_2_6: c_int = 0;

struct Cvc5Session {
    terms: *mut c_void,
    solver: *mut c_void,
    symbols: *mut c_void,
    parser: *mut c_void,
}

impl Cvc5Session {
    fn new() -> Self {
        // SAFETY: the calls follow the order of construction that the library's interface asks for.
        unsafe {
            let terms = cvc5_term_manager_new();
            let solver = cvc5_new(terms);
            let symbols = cvc5_symbol_manager_new(terms);
            let parser = cvc5_parser_new(solver, symbols);
            cvc5_parser_set_inc_str_input(parser, SMT_LIB_2_6, c"pipe".as_ptr());
            Self { terms, solver, symbols, parser }
        }
    }

    /// Runs one complete command and gives what it prints.
    fn run(&mut self, command: &[u8]) -> String {
        let Ok(text) = CString::new(command) else { return "(error \"a NUL byte\")\n".to_string() };
        let mut out = String::new();
        // SAFETY: the strings live through the calls, and what the library returns is copied at once.
        unsafe {
            cvc5_parser_append_inc_str_input(self.parser, text.as_ptr());
            let mut error = std::ptr::null();
            let next = cvc5_parser_next_command(self.parser, &mut error);
            if !error.is_null() {
                let said = CStr::from_ptr(error).to_string_lossy().replace('"', "'");
                out = format!("(error \"{said}\")\n");
            } else if !next.is_null() {
                out = CStr::from_ptr(cvc5_cmd_invoke(next, self.solver, self.symbols)).to_string_lossy().into_owned();
            }
        }
        out
    }
}

impl Drop for Cvc5Session {
    fn drop(&mut self) {
        // SAFETY: deleted in the reverse order of construction, once.
        unsafe {
            cvc5_parser_delete(self.parser);
            cvc5_symbol_manager_delete(self.symbols);
            cvc5_delete(self.solver);
            cvc5_term_manager_delete(self.terms);
        }
    }
}

/// Cuts a stream of bytes into top-level commands: counts parentheses outside strings, quoted symbols and comments.
#[derive(Default)]
struct Framer {
    command: Vec<u8>,
    depth: usize,
    inside: Option<u8>,
}

impl Framer {
    fn take(&mut self, byte: u8) -> Option<Vec<u8>> {
        match self.inside {
            Some(b';') => {
                if byte == b'\n' {
                    self.inside = None;
                }
                return None;
            }
            Some(quote) => {
                if byte == quote {
                    self.inside = None;
                }
                self.command.push(byte);
                return None;
            }
            None => {}
        }
        match byte {
            b';' => {
                self.inside = Some(byte);
                return None;
            }
            b'"' | b'|' => self.inside = Some(byte),
            b'(' => self.depth += 1,
            b')' => self.depth = self.depth.saturating_sub(1),
            _ if self.depth == 0 => return None,
            _ => {}
        }
        self.command.push(byte);
        (byte == b')' && self.depth == 0).then(|| std::mem::take(&mut self.command))
    }
}

fn main() {
    let mut session = Cvc5Session::new();
    let mut framer = Framer::default();
    let mut block = [0u8; 1 << 16];
    let mut input = std::io::stdin().lock();
    let mut output = std::io::stdout().lock();
    loop {
        let count = match input.read(&mut block) {
            Ok(0) | Err(_) => return,
            Ok(count) => count,
        };
        for &byte in &block[..count] {
            let Some(command) = framer.take(byte) else { continue };
            let said = match command.as_slice() {
                b"(exit)" => return,
                b"(reset)" => {
                    session = Cvc5Session::new();
                    continue;
                }
                _ => session.run(&command),
            };
            if !said.is_empty() && (output.write_all(said.as_bytes()).is_err() || output.flush().is_err()) {
                return;
            }
        }
    }
}
