//! Makes the bare binary find libz3: beside itself first, then in the cache where the build brought it.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-link-arg-bins=-Wl,-rpath,$ORIGIN");
    if let Ok(folder) = std::env::var("DEP_Z3PROVIDER_DIR") {
        println!("cargo:rustc-link-arg-bins=-Wl,-rpath,{folder}");
    }
}
