//! Passes the compiler's version to the report.

use std::process::Command;

fn main() {
    let rustc = std::env::var_os("RUSTC").expect("cargo sets RUSTC for build scripts");
    let output = Command::new(rustc).arg("--version").output().expect("rustc --version runs");
    let version = String::from_utf8_lossy(&output.stdout);
    println!("cargo::rustc-env=BENCH_RUSTC_VERSION={}", version.trim());
    // Cargo reruns this script anyway if the compiler changes.
    println!("cargo::rerun-if-changed=build.rs");
}
