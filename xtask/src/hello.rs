//! `cargo xtask hello`: the costs of building a small program on Tokio and on the drop-in, with and
//! without the console.
//!
//! All are built from scratch in one run, so that the numbers are comparable.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::cargo::{self, Cargo};
use crate::conformance::suites::TOKIO;
use crate::json::quoted;
use crate::probe::{self, failed};
use crate::repo;

/// The unit of times in `/proc/self/stat`, which is 10 ms on all Linux systems.
const TICK: Duration = Duration::from_millis(10);

/// The costs of building a program.
struct Costs {
    /// The number of crates in the dependency graph, without the program itself.
    crates: usize,
    /// The CPU time of all processes of the build.
    cpu: Duration,
    /// The size of the stripped binary.
    bytes: u64,
}

/// Leaves the console out.
const NO_CONSOLE: &str = "--cfg wakeful_no_console";

/// Builds all and prints a table.
pub fn run() -> Result<(), String> {
    let drop_in = repo::root().join("crates/tokio-drop-in");
    let drop_in = quoted(&drop_in.to_string_lossy());
    let patch = format!("\n[patch.crates-io]\ntokio = {{ path = {drop_in} }}\n");
    println!("{:10} {:>7} {:>10} {:>9}", "", "crates", "CPU time", "size");
    for (name, patch, flags) in
        [("tokio", "", ""), ("drop-in", &patch, ""), ("no-console", &patch, NO_CONSOLE)]
    {
        let Costs { crates, cpu, bytes } = costs(name, patch, flags)?;
        let (seconds, kilobytes) = (cpu.as_secs_f64(), bytes / 1000);
        println!("{name:10} {crates:7} {seconds:8.1} s {kilobytes:6} KB");
    }
    Ok(())
}

fn costs(name: &str, patch: &str, flags: &str) -> Result<Costs, String> {
    let dir = cargo::target_dir(&repo::root()).join("hello").join(name);
    let target_dir = dir.join("target");
    let program = repo::root().join("xtask/hello/main.rs");
    let text = fs::read_to_string(&program).map_err(|e| failed("read", &program, &e))?;
    probe::write(&dir.join("Cargo.toml"), &(manifest() + patch))?;
    probe::write(&dir.join("src/main.rs"), &text)?;
    Cargo::new(&dir, "fetch --quiet").run()?;
    if target_dir.exists() {
        fs::remove_dir_all(&target_dir).map_err(|e| failed("remove", &target_dir, &e))?;
    }
    let before = children_time()?;
    Cargo::new(&dir, "build --quiet --release")
        .env("CARGO_TARGET_DIR", &target_dir.to_string_lossy())
        .env("RUSTFLAGS", flags)
        .run()?;
    let cpu = children_time()?.saturating_sub(before);
    let binary = target_dir.join("release/hello");
    check_output(&binary)?;
    let bytes = fs::metadata(&binary).map_err(|e| failed("read", &binary, &e))?.len();
    Ok(Costs { crates: crates_under(&dir)?, cpu, bytes })
}

fn manifest() -> String {
    let head = probe::manifest_head("hello");
    let version = quoted(&format!("={}", TOKIO.version));
    format!(
        "{head}\n[dependencies]\ntokio = {{ version = {version}, features = [\"full\"] }}\n\n\
         [profile.release]\nstrip = true\n"
    )
}

fn crates_under(dir: &Path) -> Result<usize, String> {
    let tree = Cargo::new(dir, "tree --quiet --prefix none --edges normal,build").output()?;
    let names: BTreeSet<&str> = tree.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    Ok(names.len() - 1)
}

fn check_output(binary: &PathBuf) -> Result<(), String> {
    let output = Command::new(binary).output().map_err(|e| failed("run", binary, &e))?;
    let said = String::from_utf8_lossy(&output.stdout);
    if said == "hello\n" {
        Ok(())
    } else {
        Err(format!("unexpected output of {}: `{said}`", binary.display()))
    }
}

/// Returns the CPU time of all child processes that have ended, including their children.
fn children_time() -> Result<Duration, String> {
    let path = Path::new("/proc/self/stat");
    let stat = fs::read_to_string(path).map_err(|e| failed("read", path, &e))?;
    ticks_of_children(&stat)
        .map(|ticks| TICK * ticks)
        .ok_or_else(|| format!("cannot parse /proc/self/stat: `{stat}`"))
}

fn ticks_of_children(stat: &str) -> Option<u32> {
    // The process name in parentheses may contain any character; after it come state, ppid and so
    // on.
    let (_, fields) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = fields.split(' ').collect();
    let (user, system) = (fields.get(13)?, fields.get(14)?);
    Some(user.parse::<u32>().ok()? + system.parse::<u32>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::ticks_of_children;

    #[test]
    fn the_time_of_children_is_found_after_any_process_name() {
        let stat = "7 (a (b) c) R 1 7 7 0 -1 4194304 100 200 0 0 11 12 30 4 20 0 1 0 5 6";
        assert_eq!(ticks_of_children(stat), Some(34));
        assert_eq!(ticks_of_children("7 (a) R 1"), None);
    }
}
