//! Who is told of stalls.

use super::Stall;
use std::env;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;
use wakeful_base::shield::shield;

type StallCallback = Arc<dyn Fn(&Stall) + Send + Sync>;

/// What a runtime was told about stalls.
#[derive(Clone)]
pub(crate) struct StallConfig {
    /// How long a poll may last before it counts as one.
    pub(crate) after: Duration,
    /// Whether another thread goes on with what waits behind it.
    pub(crate) hands_off: bool,
    pub(crate) callback: Option<StallCallback>,
    /// A line for each goes to stderr.
    pub(crate) prints: bool,
}

impl StallConfig {
    /// The default: handed off, and told to nobody unless the environment wants it printed.
    pub(crate) fn from_env() -> StallConfig {
        let value = env::var_os("WAKEFUL_STALL_REPORT");
        StallConfig {
            after: Duration::from_millis(2),
            hands_off: true,
            callback: None,
            prints: value.is_some_and(|value| !value.is_empty() && value != "0"),
        }
    }

    /// Whether there is anything for a multi-thread runtime's monitor to do.
    pub(crate) fn is_watched(&self) -> bool {
        self.hands_off || self.reports()
    }

    /// Whether anybody wants to know.
    pub(crate) fn reports(&self) -> bool {
        self.prints || self.callback.is_some()
    }

    /// Tells those who want to know. User code runs in here.
    pub(crate) fn tell(&self, stall: &Stall) {
        if self.prints {
            print(stall);
        }
        if let Some(callback) = &self.callback {
            shield(|| callback(stall));
        }
    }
}

/// Prints a line, without std's lock on stderr: the task that stands still may be holding it.
#[cfg(unix)]
fn print(stall: &Stall) {
    use std::fs::File;
    use std::mem::ManuallyDrop;
    use std::os::fd::FromRawFd;

    // SAFETY: descriptor 2 is the process's for as long as it lives, and is not closed here.
    let mut stderr = ManuallyDrop::new(unsafe { File::from_raw_fd(2) });
    // In one write, so that lines of other threads do not mix in. There is nobody to tell of an error.
    let _unheard = stderr.write_all(format!("wakeful: {stall}\n").as_bytes());
}

#[cfg(not(unix))]
fn print(stall: &Stall) {
    let _unheard = writeln!(std::io::stderr(), "wakeful: {stall}");
}
