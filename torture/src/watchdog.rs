//! A thread that ends the process if a step does not end in time.

use std::process::abort;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// Aborts the process unless it is dropped in time.
///
/// It is a plain thread: what it watches is the runtime.
#[derive(Debug)]
#[must_use]
pub struct Watchdog {
    _ends_when_dropped: Sender<()>,
}

impl Watchdog {
    /// Starts to watch. After `limit` it prints `what` took too long, and aborts, so that a
    /// debugger or a core file shows all threads.
    ///
    /// # Panics
    /// If there is no thread to be had.
    pub fn start(limit: Duration, what: impl Into<String>) -> Watchdog {
        let (sender, receiver) = mpsc::channel();
        let what = what.into();
        let watch = move || {
            if receiver.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                eprintln!("FINDING: still not done after {limit:?}: {what}");
                abort();
            }
        };
        thread::Builder::new().name("watchdog".into()).spawn(watch).expect("a thread");
        Watchdog { _ends_when_dropped: sender }
    }
}
