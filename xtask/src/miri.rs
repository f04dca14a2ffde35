//! `cargo xtask miri`: the tests of the crates below the runtime, interpreted by Miri, which
//! reports undefined behaviour.
//!
//! The crates above make system calls that Miri does not know. Not part of `ci`: it takes a nightly
//! toolchain with the component `miri`, and many minutes.

use std::process::{Command, Stdio};

use crate::cargo::{self, Cargo};
use crate::repo;

/// The crates whose unit tests need no system call that Miri lacks.
const CRATES: &[&str] = &["wakeful-base", "wakeful-task", "wakeful-io", "wakeful-sync"];

/// Tests read the clock and the environment. The tests of panicking wakers leak memory on purpose.
const FLAGS: &str = "-Zmiri-disable-isolation -Zmiri-ignore-leaks";

/// Runs the tests of `krate`, or of all crates, whose names contain `filter`.
pub fn run(krate: Option<&str>, filter: Option<&str>) -> Result<(), String> {
    if !is_installed() {
        return Err("no Miri: it needs `rustup toolchain install nightly --component \
                    miri,rust-src`"
            .to_owned());
    }
    let chosen = CRATES.iter().filter(|name| krate.is_none_or(|krate| is_named(name, krate)));
    let mut is_any = false;
    for name in chosen {
        is_any = true;
        let root = repo::root();
        let target_dir = cargo::target_dir(&root).join("miri");
        let mut command =
            Cargo::nightly(&root, &format!("miri test --all-features --tests --package {name}"))
                .env("MIRIFLAGS", FLAGS)
                .env("CARGO_TARGET_DIR", &target_dir.to_string_lossy());
        if let Some(filter) = filter {
            command = command.args(&["--".to_owned(), filter.to_owned()]);
        }
        command.run()?;
    }
    if is_any { Ok(()) } else { Err(format!("Miri runs the tests of [{}]", CRATES.join(", "))) }
}

/// Returns whether `given` is the name of a crate, with or without its prefix.
fn is_named(name: &str, given: &str) -> bool {
    name == given || name.strip_prefix("wakeful-") == Some(given)
}

fn is_installed() -> bool {
    let mut version = Command::new("cargo");
    version.args(["+nightly", "miri", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    version.status().is_ok_and(|status| status.success())
}
