//! A thread that aborts the process if a step takes too long.

use std::process::abort;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// Aborts the process unless dropped within the limit.
///
/// It is a plain OS thread, because the runtime is what it watches.
#[derive(Debug)]
#[must_use]
pub struct Watchdog {
    _ends_when_dropped: Sender<()>,
}

impl Watchdog {
    /// Starts to watch. After `limit` it prints that `what` took too long, and aborts, so that a
    /// debugger or a core file shows all threads.
    ///
    /// # Panics
    /// Panics if the thread cannot be started.
    pub fn start(limit: Duration, what: impl Into<String>) -> Watchdog {
        let (sender, receiver) = mpsc::channel();
        let what = what.into();
        let watch = move || {
            if receiver.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                eprintln!("FINDING: not finished after {limit:?}: {what}");
                abort();
            }
        };
        thread::Builder::new()
            .name("watchdog".into())
            .spawn(watch)
            .expect("cannot start the watchdog thread");
        Watchdog { _ends_when_dropped: sender }
    }
}
