//! `fmt`: source files of the modelling language in canonical form.
//!
//! In: paths. Out: the files rewritten, or with `--check` only an exit code: 0 all formatted, 1 some not. A file with
//! syntax errors is left as it is and rejected. A file is replaced by renaming, so that an interruption loses nothing.

use crate::board::exit;
use crate::cli::Fmt;
use crate::load;
use crate::report::paint::Paint;
use base::Sources;
use std::path::Path;

enum Formatted {
    Same,
    Differs(String),
}

pub fn run_fmt(request: Fmt, paint: Paint) -> i32 {
    let mut code = exit::SAFE;
    for path in &request.files {
        match format(path, paint) {
            Err(messages) => {
                messages.iter().for_each(|m| eprint!("{m}"));
                code = exit::REJECTED;
            }
            Ok(Formatted::Same) => {}
            Ok(Formatted::Differs(_)) if request.check => {
                println!("{} is not formatted", path.display());
                code = code.max(exit::UNSAFE);
            }
            Ok(Formatted::Differs(text)) => {
                if let Err(error) = replace(path, &text) {
                    eprintln!("error: {}: {error}", path.display());
                    code = exit::REJECTED;
                }
            }
        }
    }
    code
}

fn format(path: &Path, paint: Paint) -> Result<Formatted, Vec<String>> {
    if path.extension().is_none_or(|e| e != "tp") {
        return Err(vec![format!("error: {}: only .tp files are formatted\n", path.display())]);
    }
    let bytes = load::read_bytes(path).map_err(|r| r.0)?;
    let mut sources = Sources::new();
    let parsed = frontend::lang::parse_file(&mut sources, path.display().to_string(), &bytes);
    let Some(text) = frontend::lang::format_file(&parsed, &sources).filter(|_| !parsed.has_errors()) else {
        return Err(parsed.diagnostics.iter().map(|d| load::picture(d, &sources, paint)).collect());
    };
    Ok(if text.as_bytes() == bytes { Formatted::Same } else { Formatted::Differs(text) })
}

fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".formatted");
    std::fs::write(&beside, text)?;
    std::fs::set_permissions(&beside, std::fs::metadata(path)?.permissions())?;
    std::fs::rename(&beside, path)
}
