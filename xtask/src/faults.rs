//! `cargo xtask faults` and `cargo xtask leaks`: test a runtime under failures, and check that it
//! releases its resources.
//!
//! The programs are in `torture/src/bin`. They run in the profile that CI has built already.

use crate::cargo::Cargo;
use crate::repo;

/// Runs every kind of fault once, or those that the options select.
pub fn run(options: &[&str]) -> Result<(), String> {
    program("faults", options)
}

/// Checks that descriptors, threads and memory are released.
pub fn run_leaks(options: &[&str]) -> Result<(), String> {
    program("leaks", options)
}

fn program(name: &str, options: &[&str]) -> Result<(), String> {
    let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
    let args = format!("run --quiet -p wakeful-torture --bin {name} --");
    Cargo::new(&repo::root(), &args).args(&options).run()
}
