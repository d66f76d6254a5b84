//! Brings the solvers, libz3 and cvc5, into the user's cache, once per machine.
//!
//! In: the environment (`THREADPROOF_Z3_DIR` names a folder with another libz3; `XDG_CACHE_HOME` or `HOME` says
//! where the cache is) and `provide.py`, which downloads and unpacks. Out: the paths that `src/lib.rs` hands on.
//! Nothing is linked: the library is opened when it is first needed. On Linux (x86-64 and aarch64) it must be there; where no wheel is
//! known, the build goes on without it, and the user puts the library beside the program or names its folder.
//! Deliberately absent: compiling Z3 (Debian 12's gcc cannot) and Debian's own libz3 (too old).

use std::path::{Path, PathBuf};
use std::process::Command;

/// What is downloaded for one kind of machine.
struct Wheels {
    target: &'static str,
    z3_sha256: &'static str,
    z3_platform: &'static str,
    cvc5_sha256: &'static str,
    cvc5_platform: &'static str,
    /// What the pipe is linked against comes first and second.
    cvc5_libraries: [&'static str; 6],
}

/// The wheel of Z3 for aarch64 needs glibc 2.38 where it runs, all others 2.28 at most.
const WHEELS: [Wheels; 2] = [
    Wheels {
        target: "x86_64-unknown-linux-gnu",
        z3_sha256: "0549ffad554178a59480ba41b5279cfbb27053ed5a2da269ae1a48214d5db34b",
        z3_platform: "manylinux_2_27_x86_64",
        cvc5_sha256: "fad09688fd0ee6ef6e8ce81fbf7e2ebaab466bd1b4bd6fefe0dd24ca772d089f",
        cvc5_platform: "manylinux2014_x86_64",
        cvc5_libraries: [
            "libcvc5-558d13ae.so.1.4.2",
            "libcvc5parser-2f6edf78.so.1.4.2",
            "libgmp-97ca9d68.so.10.5.0",
            "libmpfr-10dcfb8d.so.6.2.2",
            "libpoly-d9dd40de.so.0.2.1",
            "libpolyxx-a817ce58.so.0.2.1",
        ],
    },
    Wheels {
        target: "aarch64-unknown-linux-gnu",
        z3_sha256: "fffb36861d4da1f9584d0fd4a80dbf247fdfbebb04b5c31a90b460b14c86cab0",
        z3_platform: "manylinux_2_38_aarch64",
        cvc5_sha256: "900375f5cd4771a7276f1e9f2fcd06899fae5a959e5abfba5d7c5b804f9da597",
        cvc5_platform: "manylinux2014_aarch64",
        cvc5_libraries: [
            "libcvc5-97c8d730.so.1.4.2",
            "libcvc5parser-586404d2.so.1.4.2",
            "libgmp-1fa5f074.so.10.5.0",
            "libmpfr-172215c1.so.6.2.2",
            "libpoly-eb10d276.so.0.2.1",
            "libpolyxx-19bd257c.so.0.2.1",
        ],
    },
];

fn main() {
    for file in ["build.rs", "provide.py", "cvc5_pipe.rs"] {
        println!("cargo:rerun-if-changed={file}");
    }
    for name in ["THREADPROOF_Z3_DIR", "XDG_CACHE_HOME", "HOME"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    match std::env::var_os("THREADPROOF_Z3_DIR").map_or_else(bring_z3, |folder| Ok(PathBuf::from(folder))) {
        Ok(folder) => {
            println!("cargo:rerun-if-changed={}", folder.display());
            println!("cargo:rustc-env=THREADPROOF_Z3_FOLDER={}", folder.display());
        }
        Err(sentence) if wheels().is_ok() => stop(&sentence),
        Err(sentence) => println!("cargo:warning={sentence}"),
    }

    match bring_cvc5() {
        Ok(program) => {
            println!("cargo:rerun-if-changed={}", program.display());
            println!("cargo:rustc-env=THREADPROOF_CVC5_PIPE={}", program.display());
        }
        Err(sentence) => {
            // A path that is not there makes the next build try again.
            println!("cargo:rerun-if-changed=cvc5-is-missing");
            println!("cargo:warning=no cvc5, so proofs are checked by Z3 alone: {sentence}");
        }
    }
}

/// Ends the build with one sentence and no panic text around it.
fn stop(sentence: &str) -> ! {
    eprintln!("z3-provider: {sentence}");
    std::process::exit(1);
}

fn cache() -> Result<PathBuf, String> {
    let base = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")));
    let folder = base.ok_or("neither XDG_CACHE_HOME nor HOME is set, so there is no cache folder for the solver")?;
    Ok(folder.join("threadproof"))
}

fn target() -> String {
    std::env::var("TARGET").unwrap_or_default()
}

/// The wheels for the machine that the program is built for.
fn wheels() -> Result<&'static Wheels, String> {
    let target = target();
    WHEELS.iter().find(|wheels| wheels.target == target).ok_or_else(|| {
        let known: Vec<&str> = WHEELS.iter().map(|wheels| wheels.target).collect();
        format!(
            "solvers are brought for {} only, not for {target}: \
             put libz3 5.4.0 beside the program or into a folder that THREADPROOF_Z3_DIR names",
            known.join(" and ")
        )
    })
}

/// A machine's own folder; the usual machine has had the plain name since there was no other.
fn folder_name(solver: &str) -> String {
    let target = target();
    if target == WHEELS[0].target { solver.into() } else { format!("{solver}-{target}") }
}

fn provide(requirement: &str, sha256: &str, selection: &str, folder: &Path, members: &[&str]) -> Result<(), String> {
    let done = Command::new("python3")
        .args(["provide.py", requirement, sha256, selection])
        .arg(folder)
        .args(members)
        .output()
        .map_err(|error| format!("python3 is needed to download {requirement}, and it cannot be run: {error}"))?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stdout).trim().replace('\n', " ");
    let more = String::from_utf8_lossy(&done.stderr).trim().replace('\n', " ");
    Err(if said.is_empty() { format!("downloading {requirement} failed: {more}") } else { said })
}

fn bring_z3() -> Result<PathBuf, String> {
    let folder = cache()?.join(folder_name("z3-5.4.0"));
    let names = ["libz3.so", "libz3.so.5.4", "z3"];
    if names.iter().all(|name| folder.join(name).is_file()) {
        return Ok(folder);
    }
    let wheels = wheels()?;
    let members =
        ["z3/lib/libz3.so=libz3.so", "z3/lib/libz3.so.5.4=libz3.so.5.4", "z3_solver-5.4.0.0.data/data/bin/z3=z3"];
    let selection = format!("--platform {}", wheels.z3_platform);
    provide("z3-solver==5.4.0.0", wheels.z3_sha256, &selection, &folder, &members)?;
    Ok(folder)
}

/// The cvc5 wheel holds libraries and no executable: `cvc5_pipe.rs` is compiled against them.
fn bring_cvc5() -> Result<PathBuf, String> {
    let folder = cache()?.join(folder_name("cvc5-1.4.2"));
    let source = std::fs::read("cvc5_pipe.rs").map_err(|error| format!("cvc5_pipe.rs cannot be read: {error}"))?;
    let program = folder.join(format!("cvc5-pipe-{:016x}", fingerprint(&source)));
    if program.is_file() {
        return Ok(program);
    }
    let wheels = wheels()?;
    let names = wheels.cvc5_libraries;
    if !names.iter().all(|name| folder.join(name).is_file()) {
        let members: Vec<String> = names.iter().map(|name| format!("cvc5.libs/{name}={name}")).collect();
        let members: Vec<&str> = members.iter().map(String::as_str).collect();
        let selection =
            format!("--python-version 3.11 --implementation cp --abi cp311 --platform {}", wheels.cvc5_platform);
        provide("cvc5==1.4.2", wheels.cvc5_sha256, &selection, &folder, &members)?;
    }
    let staged = folder.join(format!(".pipe-{}", std::process::id()));
    // Another machine's program is linked by the linker that the build was given for that machine.
    let linker = std::env::var("RUSTC_LINKER").ok().map(|path| ["-C".to_string(), format!("linker={path}")]);
    let done = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(["cvc5_pipe.rs", "--crate-name", "cvc5_pipe", "--edition", "2024", "-O", "--target", wheels.target])
        .args(["-C", "link-arg=-Wl,-rpath,$ORIGIN", "-C", "panic=abort"])
        .args(linker.into_iter().flatten())
        .args(
            names
                .iter()
                .take(2)
                .flat_map(|name| ["-C".to_string(), format!("link-arg={}", folder.join(name).display())]),
        )
        .arg("-o")
        .arg(&staged)
        .output()
        .map_err(|error| format!("rustc cannot be run for cvc5_pipe.rs: {error}"))?;
    if !done.status.success() {
        let _ = std::fs::remove_file(&staged);
        let said = String::from_utf8_lossy(&done.stderr).replace('\n', " ");
        return Err(format!("cvc5_pipe.rs does not link: {}", said.chars().take(400).collect::<String>()));
    }
    std::fs::rename(&staged, &program)
        .map_err(|error| format!("{} cannot be put there: {error}", program.display()))?;
    Ok(program)
}

/// FNV-1a: names the compiled pipe by its source, so that a changed source is compiled anew.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
