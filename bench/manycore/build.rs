//! Compiles the virtual machine. Its objects are linked directly, not as a library: their functions
//! replace those of the C library.

use std::path::PathBuf;

fn main() {
    let entries = std::fs::read_dir("machine").expect("the folder `machine` can be listed");
    let paths = entries.map(|entry| entry.expect("its entries can be read").path());
    let mut sources: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "c")).collect();
    sources.sort();
    println!("cargo::rerun-if-changed=machine");
    // A stack protector would access thread-local storage in the middle of a switch.
    let mut build = cc::Build::new();
    build.opt_level(2).pic(true).flag("-fno-stack-protector").files(&sources);
    for object in build.compile_intermediates() {
        println!("cargo::rustc-link-arg-bins={}", object.display());
    }
}
