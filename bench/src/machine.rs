//! The machine, the workers and the versions of a run, which a reader needs to interpret the figures.

use crate::os;
use crate::suite::Contender;
use serde::Serialize;
use std::fmt;
use std::process::Command;

/// The versions with which this program was built.
const LOCK_FILE: &str = include_str!("../Cargo.lock");

#[derive(Serialize)]
pub struct Machine {
    cpus: usize,
    /// The number of workers of multi-thread contenders.
    pub workers: usize,
    cpu_model: Option<String>,
    kernel: String,
    rustc: &'static str,
    /// `name version` for each contender's crates.
    packages: Vec<String>,
    /// The commit of the source tree, if it is a git checkout.
    commit: Option<String>,
    load_average_at_start: Option<f64>,
}

impl Machine {
    pub fn look(contenders: &[&Contender], workers: usize) -> Machine {
        let mut packages = Vec::new();
        for name in contenders.iter().flat_map(|contender| contender.packages) {
            let package = format!("{name} {}", locked_version(LOCK_FILE, name).unwrap_or("?"));
            if !packages.contains(&package) {
                packages.push(package);
            }
        }
        Machine {
            cpus: os::cpus(),
            workers,
            cpu_model: cpu_model(),
            kernel: kernel(),
            rustc: env!("BENCH_RUSTC_VERSION"),
            packages,
            commit: commit(),
            load_average_at_start: os::load_average(),
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let model = self.cpu_model.as_deref().unwrap_or("model unknown");
        write!(f, "{} CPUs ({model}), {}, {}; ", self.cpus, self.kernel, self.rustc)?;
        write!(f, "{} workers; {}", self.workers, self.packages.join(", "))?;
        if let Some(commit) = &self.commit {
            write!(f, "; tree at {commit}")?;
        }
        if let Some(load) = self.load_average_at_start {
            write!(f, "; load average at the start {load:.2}")?;
        }
        Ok(())
    }
}

fn kernel() -> String {
    match std::fs::read_to_string("/proc/sys/kernel/osrelease") {
        Ok(release) => format!("Linux {}", release.trim()),
        Err(_) => std::env::consts::OS.into(),
    }
}

fn cpu_model() -> Option<String> {
    let cpus = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = cpus.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().into())
}

/// Returns the commit of the source tree, because Wakeful's version does not change with each
/// commit. It is looked up at run time: cargo does not rebuild this program for a new commit.
fn commit() -> Option<String> {
    let output = Command::new("git")
        .args(["-C", env!("CARGO_MANIFEST_DIR")])
        .args(["describe", "--always", "--dirty", "--exclude=*"])
        .output()
        .ok()?;
    let commit = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| commit.trim().into())
}

/// Returns the version of a package. If there are several, it is the newest, which comes last; the
/// benchmarks use no other.
fn locked_version<'a>(lock_file: &'a str, package: &str) -> Option<&'a str> {
    let value = |entry: &'a str, key: &str| {
        let line = entry.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "))?;
        Some(line.trim_matches('"'))
    };
    let is_it = |entry: &&'a str| value(entry, "name") == Some(package);
    let entry = lock_file.split("[[package]]").filter(is_it).last()?;
    value(entry, "version")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_the_lock_file() {
        let lock_file = "version = 4\n\n[[package]]\nname = \"a-b\"\nversion = \"1.0.0\"\n\n\
                         [[package]]\nname = \"a\"\nversion = \"2.3.3\"\n\n\
                         [[package]]\nname = \"a\"\nversion = \"2.3.4\"\ndependencies = [\n \"a-b\",\n]\n";
        assert_eq!(locked_version(lock_file, "a"), Some("2.3.4"));
        assert_eq!(locked_version(lock_file, "a-b"), Some("1.0.0"));
        assert_eq!(locked_version(lock_file, "b"), None);
    }

    #[test]
    fn versions_of_every_contender_are_known() {
        for contender in crate::contenders::suite().contenders {
            for package in contender.packages {
                assert!(locked_version(LOCK_FILE, package).is_some(), "{package}");
            }
        }
    }
}
