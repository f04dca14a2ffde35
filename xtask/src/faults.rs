//! `cargo xtask faults` and `cargo xtask leaks`: what becomes of a runtime when something goes wrong, and of what it had.
//!
//! The programs are in `torture/src/bin`; they are started here with the profile that CI has built already.

use crate::cargo::Cargo;
use crate::repo;

/// Runs every kind of fault once, or what the options say.
pub fn run(options: &[&str]) -> Result<(), String> {
    program("faults", options)
}

/// Looks whether descriptors, threads and memory come back.
pub fn run_leaks(options: &[&str]) -> Result<(), String> {
    program("leaks", options)
}

fn program(name: &str, options: &[&str]) -> Result<(), String> {
    let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
    let args = format!("run --quiet -p wakeful-torture --bin {name} --");
    Cargo::new(&repo::root(), &args).args(&options).run()
}
