//! Returning `Cargo.lock` before the built program starts.
//!
//! Cargo starts what it has built (a program, tests, benchmarks) by a *runner*, if one is
//! configured. cargo-wakeful configures itself:
//!
//! ```text
//! cargo-wakeful ──▶ cargo: builds ──▶ runner: "built" ──▶ waits ──▶ exec the program
//!       ▲                                       │            ▲
//!       └── thread: ends the loan of Cargo.lock ◀── "go on" ─┘
//! ```
//!
//! Both ends talk over a pair of sockets, whose far end cargo and the runner inherit. If the user
//! has a runner configured, that one is used, and `Cargo.lock` is restored when cargo ends.

use std::env;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::signals;

#[cfg(test)]
mod tests;

/// The argument by which cargo-wakeful recognizes that cargo called it as the runner.
pub const EXEC: &str = "exec-on-wakeful";

/// The ends of the connection between cargo-wakeful and the runners that cargo starts.
pub struct RunnerLink {
    /// The end that cargo and the runners inherit.
    far: UnixStream,
}

impl RunnerLink {
    /// Calls `on_built` on another thread when cargo has built everything and is about to start the
    /// first program. The program waits until `on_built` has returned.
    pub fn new(on_built: impl FnOnce() + Send + 'static) -> io::Result<RunnerLink> {
        let (mut near, far) = UnixStream::pair()?;
        // Only this process uses the thread, so its end is not joined: it ends with the process.
        drop(signals::spawn_without_signals(move || {
            let mut on_built = Some(on_built);
            let mut byte = [0];
            while near.read_exact(&mut byte).is_ok() {
                if let Some(on_built) = on_built.take() {
                    on_built();
                }
                if near.write_all(&byte).is_err() {
                    return;
                }
            }
        }));
        Ok(RunnerLink { far })
    }

    /// The descriptor that the child process must inherit.
    pub fn descriptor(&self) -> RawFd {
        self.far.as_raw_fd()
    }

    /// Returns the descriptor's number and its inode, by which a runner recognizes the socket.
    fn address(&self) -> io::Result<String> {
        let inode = File::from(OwnedFd::from(self.far.try_clone()?)).metadata()?.ino();
        Ok(format!("{}:{inode}", self.descriptor()))
    }

    /// Returns the options that make cargo start programs for these targets by cargo-wakeful.
    pub fn cargo_options(&self, targets: &[String]) -> io::Result<Vec<String>> {
        let own_path = env::current_exe()?;
        let own_path = own_path.to_str().ok_or_else(|| io::Error::other("a path is not UTF-8"))?;
        // A JSON array of strings is also a valid array in TOML.
        let runner = Value::from(vec![own_path, EXEC, &self.address()?]);
        let option = |target| ["--config".to_owned(), format!("target.{target}.runner={runner}")];
        Ok(targets.iter().flat_map(option).collect())
    }
}

/// Runs as the runner: reports that the build is over, waits for the answer, and replaces this
/// process by the program. `args` are the socket's address, the program, and its arguments.
pub fn exec(args: &[String]) -> String {
    let [address, program, rest @ ..] = args else {
        return format!("`{EXEC}` is called by cargo only");
    };
    // An error means that cargo-wakeful has ended, or that a process in between closes descriptors.
    // The program is started nevertheless.
    let _ = report_built(address);
    let error = Command::new(program).args(rest).exec();
    format!("could not run `{program}`: {error}")
}

fn report_built(address: &str) -> io::Result<()> {
    let not_found = || io::Error::from(io::ErrorKind::NotFound);
    let (descriptor, inode) = address.split_once(':').ok_or_else(not_found)?;
    let descriptor: RawFd = descriptor.parse().map_err(|_| not_found())?;
    // SAFETY: `fcntl` accesses no memory. It fails if there is no such descriptor.
    if unsafe { libc::fcntl(descriptor, libc::F_GETFD) } == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is open, and nothing in this process, which has just started and has
    // one thread, closes it while it is borrowed.
    let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
    let is_ours = File::from(borrowed.try_clone_to_owned()?).metadata()?.ino().to_string() == inode;
    if !is_ours {
        return Err(not_found());
    }
    // SAFETY: the descriptor is open, and inherited for this purpose, so it has no other owner.
    // Closing it at the end also keeps it from the program.
    let mut link = File::from(unsafe { OwnedFd::from_raw_fd(descriptor) });
    link.write_all(b"!")?;
    link.read_exact(&mut [0])
}

/// Returns whether the user may have configured a runner: by the environment, an option, or a
/// configuration file of cargo. In doubt, the answer is yes.
pub fn user_has_runner(folder: &Path, cargo_args: &[String]) -> bool {
    let in_environment = env::vars_os().any(|(name, _)| {
        let name = name.to_string_lossy();
        name.starts_with("CARGO_TARGET_") && name.ends_with("_RUNNER")
    });
    let in_args = cargo_args.windows(2).any(|pair| pair[0] == "--config" && !is_harmless(&pair[1]));
    in_environment || in_args || config_files(folder).iter().any(|file| mentions_runner(file))
}

/// Returns whether a value of `--config` certainly sets no runner. It may be the path of a file.
fn is_harmless(value: &str) -> bool {
    value.contains('=') && !value.contains("runner")
}

fn mentions_runner(file: &Path) -> bool {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.contains("runner") || text.contains("include")
}

/// Returns cargo's configuration files for a call in `folder`.
pub fn config_files(folder: &Path) -> Vec<PathBuf> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".cargo")));
    let folders = folder.ancestors().map(|dir| dir.join(".cargo")).chain(home);
    let files = folders.flat_map(|dir| [dir.join("config.toml"), dir.join("config")]);
    let mut files: Vec<PathBuf> = files.filter(|file| file.is_file()).collect();
    files.dedup();
    files
}
