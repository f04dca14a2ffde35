//! The texts of `--help`.

use std::path::Path;

/// A command with a help text of its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Topic {
    All,
    Add,
    Remove,
    Doctor,
}

impl Topic {
    pub fn named(name: Option<&str>) -> Topic {
        match name {
            Some("add") => Topic::Add,
            Some("remove" | "rm") => Topic::Remove,
            Some("doctor") => Topic::Doctor,
            _ => Topic::All,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Topic::All => "",
            Topic::Add => "add",
            Topic::Remove => "remove",
            Topic::Doctor => "doctor",
        }
    }
}

/// Returns the help text. `checkout` is the default of `WAKEFUL_PATH`.
pub fn help(topic: Topic, checkout: &Path) -> String {
    match topic {
        Topic::All => ALL.replace("{checkout}", &checkout.to_string_lossy()),
        Topic::Add => ADD.to_owned(),
        Topic::Remove => REMOVE.to_owned(),
        Topic::Doctor => DOCTOR.to_owned(),
    }
}

const ALL: &str = "\
Runs a program written for Tokio on Wakeful.

Usage: cargo wakeful [+TOOLCHAIN] <COMMAND> [OPTIONS]

Run once, without changing any file:
    run, test, build, bench, check, doc, tree, clippy, nextest run
                     Calls this command of cargo with Wakeful's crate `tokio` in place of Tokio.
                     Takes the options of the cargo command. Fails if Tokio cannot be replaced.

Stay on Wakeful:
    add              Writes the patch that replaces Tokio into the workspace's Cargo.toml
    remove           Takes the patch out again
    doctor           Reports what of the program would not move, and what this machine lacks

    cargo wakeful run --release -- --port 8080
    cargo wakeful test --workspace

Cargo.toml is not changed, except by `add` and `remove`. Cargo.lock is changed while cargo builds.
It is restored, byte for byte, before the program or the tests run, and after a failed build or
Ctrl-C. After `kill -9`, the next `cargo wakeful` in the workspace restores it. If another program
changes Cargo.lock during the build, that content is saved, and a message says where.

Build output goes to the folder `wakeful` in the target folder, so that it does not replace Tokio's.
With --target-dir, it goes to the folder that you name.

Environment:
    WAKEFUL_PATH            the path of a Wakeful checkout [default: {checkout}]
    WAKEFUL_VERSION         set to 1 to make a program print, at its start, that it runs on Wakeful
    WAKEFUL_STALL_REPORT    set to 1 to make a program report tasks that block their thread

Options:
    -h, --help       Prints this help; `cargo wakeful run --help` prints the help of `cargo run`
    -V, --version    Prints the version";

const ADD: &str = "\
Writes the patch that replaces Tokio by Wakeful into the workspace's Cargo.toml.

Usage: cargo wakeful add [OPTIONS]

The patch is two lines:

    [patch.crates-io]
    tokio = { path = \"…/crates/tokio-drop-in\" }

The rest of Cargo.toml keeps its comments and layout. Cargo.lock is updated to match. If Tokio
cannot be replaced, or a patch for tokio exists that is not Wakeful's, nothing is changed. If
Wakeful's patch exists already, only its source is updated. WAKEFUL_PATH selects the checkout.

Options:
        --git <URL>               Names this repository of Wakeful instead of the checkout's path
        --branch, --tag, --rev    Selects a commit of that repository
        --manifest-path <PATH>    The Cargo.toml of the program or of one of its workspace's members
    -n, --dry-run                 Prints the new lines and changes nothing
        --offline                 Runs without network access
    -h, --help                    Prints this help";

const REMOVE: &str = "\
Takes the patch that replaces Tokio by Wakeful out of the workspace's Cargo.toml.

Usage: cargo wakeful remove [OPTIONS]

Only Wakeful's patch is removed; another patch for tokio stays. Cargo.lock is updated: cargo selects
a release of Tokio anew. To return to the release that was locked before, restore Cargo.lock from
your version control.

Options:
        --manifest-path <PATH>    The Cargo.toml of the program or of one of its workspace's members
    -n, --dry-run                 Prints the lines to be removed and changes nothing
        --offline                 Runs without network access
    -h, --help                    Prints this help";

const DOCTOR: &str = "\
Reports what of a program would not move to Wakeful, and what this machine lacks.

Usage: cargo wakeful doctor [OPTIONS]

Checks the program: the versions and features of Tokio that its crates require, where Tokio comes
from, unstable and private items of Tokio that its crates name, other runtimes in the dependency
graph. Checks the machine: system, Rust version, system calls, limits of descriptors, threads and
CPUs. Outside of a Cargo workspace, only the machine is checked. No file is changed.

Each finding has a level:
    ok         as it should be
    note       worth knowing; the program works
    problem    the program does not build, does not start, or lacks a function on Wakeful

Exit code: 0 without a problem, 1 with at least one, 101 if the checks could not run.

Options:
        --manifest-path <PATH>    The Cargo.toml of the program
        --json                    Prints the findings as one JSON object
        --offline                 Runs without network access
    -h, --help                    Prints this help";
