//! Builds the programs of `bench/manycore`, and runs them.

use std::path::PathBuf;
use std::process::{Command, Output};

use crate::cargo::{self, Cargo};
use crate::probe::failed;
use crate::repo;

/// Whether the machine runs on this system.
pub const IS_SUPPORTED: bool = cfg!(all(target_arch = "x86_64", target_os = "linux"));

/// The target must be named, so that build scripts are built without the flags below.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The hooks of ThreadSanitizer without its runtime library, which the machine replaces. The
/// standard library keeps its own code without hooks, which the last flag permits.
const FLAGS: &str = "-Zsanitizer=thread -Zexternal-clangrt -Cunsafe-allow-abi-mismatch=sanitizer";

/// The rounds in a process, after one to warm up.
const ROUNDS: u32 = 3;

/// The programs, which are built.
pub struct Programs {
    dir: PathBuf,
}

/// A case as the programs describe it.
pub struct Case {
    pub name: String,
    /// What the third figure is; empty if there is none.
    pub third: String,
    pub about: String,
}

/// One case on one runtime.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub case: String,
    pub runtime: &'static str,
    pub workers: u32,
}

impl Run {
    /// Parses `CASE:RUNTIME:WORKERS`.
    pub fn parse(text: &str) -> Result<Run, String> {
        let parts: Vec<&str> = text.split(':').collect();
        let run = match parts[..] {
            [case, runtime, workers] => (|| {
                let runtime = ["tokio", "wakeful"].into_iter().find(|name| *name == runtime)?;
                Some(Run { case: case.to_owned(), runtime, workers: workers.parse().ok()? })
            })(),
            _ => None,
        };
        run.ok_or_else(|| format!("`{text}`: expected CASE:RUNTIME:WORKERS, as spawn:wakeful:16"))
    }
}

impl Programs {
    /// Builds them, with a few compiler options that are not stable.
    pub fn build() -> Result<Programs, String> {
        if !IS_SUPPORTED {
            return Err("the virtual machine runs on x86-64 Linux only".to_owned());
        }
        let target_dir = cargo::target_dir(&repo::root()).join("manycore");
        let dir = repo::root().join("bench/manycore");
        Cargo::new(&dir, &format!("build --quiet --release --bins --target {TARGET}"))
            .env("CARGO_TARGET_DIR", &target_dir.to_string_lossy())
            .env("RUSTC_BOOTSTRAP", "1")
            .env("RUSTFLAGS", FLAGS)
            .run()?;
        Ok(Programs { dir: target_dir.join(TARGET).join("release") })
    }

    /// Tests the machine itself.
    pub fn self_test(&self) -> Result<(), String> {
        let output = self.output("selftest", &[])?;
        print!("{output}");
        Ok(())
    }

    /// Returns the cases of these names, or all of them.
    pub fn cases(&self, names: &[String]) -> Result<Vec<Case>, String> {
        let list = self.output("wakeful", &["list".to_owned()])?;
        let cases: Vec<Case> = list.lines().filter_map(parse_case).collect();
        for name in names {
            if !cases.iter().any(|case| case.name == *name) {
                let known: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
                return Err(format!("no case `{name}`; the cases are {}", known.join(", ")));
            }
        }
        let is_wanted = |case: &Case| names.is_empty() || names.contains(&case.name);
        Ok(cases.into_iter().filter(is_wanted).collect())
    }

    /// Returns name, value and meaning of each constant of the machine.
    pub fn constants(&self, changed: &[String]) -> Result<Vec<[String; 3]>, String> {
        let args: Vec<String> =
            ["constants".to_owned()].into_iter().chain(changed.iter().cloned()).collect();
        let text = self.output("wakeful", &args)?;
        let lines = text.lines().map(|line| line.splitn(3, '\t').map(str::to_owned).collect());
        Ok(lines.filter_map(|parts: Vec<String>| parts.try_into().ok()).collect())
    }

    /// Runs a case. Returns a line of figures for each round.
    pub fn measure(&self, run: &Run, seed: u32, constants: &[String]) -> Result<String, String> {
        let Run { case, runtime, workers } = run;
        let mut args = vec!["run".to_owned(), case.clone(), workers.to_string()];
        args.extend([ROUNDS.to_string(), format!("seed={seed}")]);
        args.extend(constants.iter().cloned());
        self.output(runtime, &args)
    }

    /// Runs a round of a case. Returns a line for each place that waited for cache lines.
    pub fn profile(&self, run: &Run, constants: &[String]) -> Result<String, String> {
        let Run { case, runtime, workers } = run;
        let mut args = vec!["profile".to_owned(), case.clone(), workers.to_string()];
        args.extend(constants.iter().cloned());
        self.output(runtime, &args)
    }

    /// Returns the path of the program `manycore-NAME`.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(format!("manycore-{name}"))
    }

    /// Runs a program without environment variables, which would move its stack.
    fn output(&self, name: &str, args: &[String]) -> Result<String, String> {
        let path = self.path(name);
        let output = Command::new(&path).args(args).env_clear().output();
        let Output { status, stdout, stderr } = output.map_err(|e| failed("run", &path, &e))?;
        let stdout = String::from_utf8_lossy(&stdout).into_owned();
        if status.success() {
            return Ok(stdout);
        }
        let stderr = String::from_utf8_lossy(&stderr);
        Err(format!("`manycore-{name} {}`: {status}\n{stdout}{stderr}", args.join(" ")))
    }
}

fn parse_case(line: &str) -> Option<Case> {
    let mut parts = line.split('\t').map(str::to_owned);
    Some(Case { name: parts.next()?, third: parts.next()?, about: parts.next()? })
}
