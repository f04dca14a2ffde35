//! Running cargo as a child process.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A call of cargo that can print itself as a user would type it.
pub struct Cargo {
    command: Command,
    shown: String,
}

impl Cargo {
    /// Creates a call with the words of `args` as arguments.
    pub fn new(root: &Path, args: &str) -> Cargo {
        let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.current_dir(root).args(args.split_whitespace());
        Cargo { command, shown: format!("cargo {args}") }
    }

    /// Creates a call like [`new`](Self::new), with the nightly toolchain. This uses rustup's
    /// cargo, not the one that runs this program.
    pub fn nightly(root: &Path, args: &str) -> Cargo {
        let mut command = Command::new("cargo");
        command.current_dir(root).arg("+nightly").args(args.split_whitespace());
        Cargo { command, shown: format!("cargo +nightly {args}") }
    }

    pub fn env(mut self, name: &str, value: &str) -> Cargo {
        self.command.env(name, value);
        self.shown = format!("{name}={} {}", quoted(value), self.shown);
        self
    }

    pub fn args(mut self, args: &[String]) -> Cargo {
        self.command.args(args);
        for arg in args {
            self.shown = format!("{} {}", self.shown, quoted(arg));
        }
        self
    }

    /// Adds arguments that are printed as `…`, because there are too many to read.
    pub fn args_unshown(mut self, args: &[String]) -> Cargo {
        self.command.args(args);
        self.shown.push_str(" …");
        self
    }

    /// Runs cargo, whose output goes to the terminal.
    pub fn run(mut self) -> Result<(), String> {
        println!("    {}", self.shown);
        let status = self.command.status().map_err(|e| self.not_started(&e))?;
        if status.success() { Ok(()) } else { Err(format!("`{}` failed: {status}", self.shown)) }
    }

    /// Runs cargo and returns its standard output. Standard error goes to the terminal.
    pub fn output(mut self) -> Result<String, String> {
        println!("    {}", self.shown);
        let output = self.command.stderr(Stdio::inherit()).output();
        let output = output.map_err(|e| self.not_started(&e))?;
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            Ok(stdout)
        } else {
            Err(format!("`{}` failed: {}\n{stdout}", self.shown, output.status))
        }
    }

    /// Runs cargo and returns its standard output and standard error, even if it fails.
    pub fn captured(mut self) -> Result<(String, String), String> {
        println!("    {}", self.shown);
        let output = self.command.output().map_err(|e| self.not_started(&e))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok((text(&output.stdout), text(&output.stderr)))
    }

    fn not_started(&self, error: &std::io::Error) -> String {
        format!("could not start `{}`: {error}", self.shown)
    }
}

/// Returns cargo's default target folder.
pub fn target_dir(root: &Path) -> PathBuf {
    root.join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

fn quoted(value: &str) -> String {
    if value.contains(' ') { format!("\"{value}\"") } else { value.to_owned() }
}
