//! Where the linker binds libz3 itself: the bare binary looks for it beside itself, then where the build found it.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if let Ok(folder) = std::env::var("DEP_Z3PROVIDER_DIR") {
        println!("cargo:rustc-link-arg-bins=-Wl,-rpath,$ORIGIN");
        println!("cargo:rustc-link-arg-bins=-Wl,-rpath,{folder}");
    }
}
