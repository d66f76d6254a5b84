//! Makes the parser of the grammar beside it: `src/parser.c`, `src/grammar.json` and `src/node-types.json`.
//!
//! In: the folder of the grammar, as the first argument. Out: files in its folder `src`. It needs `node`, which reads `grammar.js`.

fn main() {
    let folder = std::path::PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".into()));
    let made = tree_sitter_generate::generate_parser_in_directory(&folder, None, None, 15, None, None);
    if let Err(error) = made {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}
