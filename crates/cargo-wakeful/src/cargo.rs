//! Running cargo and passing on its exit status.

use std::env;
use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::fd::RawFd;
use std::os::unix::process::CommandExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::thread::JoinHandle;

use crate::signals;

/// The exit status of a call of cargo.
#[derive(Debug, Clone, Copy)]
pub struct CargoExit(ExitStatus);

impl CargoExit {
    /// Ends this process like cargo ended: by the same signal, or else returns its exit code.
    pub fn pass_on(self) -> ExitCode {
        if let Some(signal) = self.0.signal() {
            signals::die_from(signal);
        }
        ExitCode::from(u8::try_from(self.0.code().unwrap_or(101)).unwrap_or(101))
    }
}

/// The exit status and the output of a call whose output was captured.
pub struct Captured {
    pub ended: CargoExit,
    pub is_success: bool,
    pub stdout: String,
    pub stderr: String,
}

/// A call of the cargo that started cargo-wakeful.
pub struct Cargo {
    command: Command,
}

impl Cargo {
    pub fn new() -> Cargo {
        let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        signals::kill_with_parent(&mut command);
        Cargo { command }
    }

    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Cargo {
        self.command.args(args);
        self
    }

    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Cargo {
        self.command.env(name, value);
        self
    }

    /// Lets the child process inherit a descriptor, which must stay open until the child is
    /// started.
    pub fn inherit(mut self, descriptor: RawFd) -> Cargo {
        let keep_open = move || {
            // SAFETY: `fcntl` with F_SETFD accesses no memory.
            match unsafe { libc::fcntl(descriptor, libc::F_SETFD, 0) } {
                -1 => Err(io::Error::last_os_error()),
                _ => Ok(()),
            }
        };
        // SAFETY: code between fork and exec may only do what is async-signal-safe: the closure
        // makes one system call, and neither allocates nor locks.
        unsafe { self.command.pre_exec(keep_open) };
        self
    }

    /// Runs cargo with the user's terminal and waits for it.
    pub fn run(mut self) -> Result<CargoExit, String> {
        let child = self.command.spawn().map_err(|error| self.not_started(&error))?;
        let status = signals::wait_for(child).map_err(|error| self.not_started(&error))?;
        Ok(CargoExit(status))
    }

    /// Runs cargo, waits for it, and captures its output. If a signal arrived meanwhile, the call
    /// counts as failed, so that nothing else is run.
    pub fn capture(mut self) -> Result<Captured, String> {
        self.command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().map_err(|error| self.not_started(&error))?;
        let stdout = read_in_thread(child.stdout.take().expect("stdout is a pipe"));
        let stderr = read_in_thread(child.stderr.take().expect("stderr is a pipe"));
        let status = signals::wait_for(child).map_err(|error| self.not_started(&error))?;
        let stdout = stdout.join().expect("a reader of a pipe does not panic");
        let stderr = stderr.join().expect("a reader of a pipe does not panic");
        let is_success = status.success() && signals::received().is_none();
        Ok(Captured { ended: CargoExit(status), is_success, stdout, stderr })
    }

    fn not_started(&self, error: &io::Error) -> String {
        format!("could not run `{}`: {error}", self.command.get_program().to_string_lossy())
    }
}

fn read_in_thread(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    signals::spawn_without_signals(move || {
        let mut bytes = Vec::new();
        // After an error, the bytes read before it are used.
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
