//! Signals of Unix-like systems.
//!
//! To shut down cleanly when a user or the system asks for it:
//!
//! ```
//! # wakeful::runtime::Runtime::new().unwrap().block_on(async {
//! use wakeful::signal::unix::{SignalKind, signal};
//!
//! let mut interrupt = signal(SignalKind::interrupt())?;
//! let mut terminate = signal(SignalKind::terminate())?;
//! # // SAFETY: a handler for this signal is installed.
//! # unsafe { libc::raise(libc::SIGTERM) };
//! let why = wakeful::select! {
//!     _ = interrupt.recv() => "ctrl-c",
//!     _ = terminate.recv() => "asked to",
//! };
//! assert_eq!(why, "asked to");
//! # std::io::Result::Ok(()) }).unwrap();
//! ```

mod kind;

pub use kind::SignalKind;

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};
use wakeful_reactor::signal::{Listener, listen};
use wakeful_runtime::runtime::current_io;

/// A listener for a signal. Returned by [`signal`].
///
/// Signals are coalesced: if a signal arrives several times before [`recv`](Self::recv) is polled,
/// `recv` returns once. A signal that arrives after `recv` has returned is always received by
/// another call.
///
/// A listener can be used in any runtime, as long as some runtime with I/O is running in the
/// process: it delivers signals to all listeners.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::signal::unix::{SignalKind, signal};
///
/// let mut reloads = signal(SignalKind::hangup())?;
/// let task = wakeful::spawn(async move {
///     let mut generation = 0;
///     while generation < 2 {
///         reloads.recv().await;
///         generation += 1; // reads the configuration again
///     }
///     generation
/// });
/// # let mut task = task;
/// # while !task.is_finished() {
/// #     // SAFETY: a handler for this signal is installed.
/// #     unsafe { libc::raise(libc::SIGHUP) };
/// #     wakeful::task::yield_now().await;
/// # }
/// # assert_eq!((&mut task).await.unwrap(), 2);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Debug)]
#[must_use = "a `Signal` does nothing unless `recv` is called"]
pub struct Signal {
    listener: Listener<'static>,
}

/// Returns a listener for signals of one kind that arrive from now on.
///
/// There can be any number of listeners; each one receives every signal. The handler stays
/// installed until the process exits; see [`signal`](crate::signal).
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::signal::unix::{SignalKind, signal};
///
/// let mut first = signal(SignalKind::user_defined1())?;
/// let mut second = signal(SignalKind::user_defined1())?;
/// # unsafe { libc::raise(libc::SIGUSR1) };
/// first.recv().await;
/// second.recv().await;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
///
/// # Errors
/// Returns an error if the signal does not exist, cannot be caught (`SIGKILL`, `SIGSTOP`), or its
/// handler cannot return (`SIGILL`, `SIGFPE`, `SIGSEGV`); if the kernel refuses to install the
/// handler; or if the runtime has shut down.
///
/// # Panics
/// Panics if called outside a runtime with I/O enabled.
#[track_caller]
pub fn signal(kind: SignalKind) -> io::Result<Signal> {
    current_io("signal").check_running()?;
    Ok(Signal { listener: listen(kind.as_raw_value())? })
}

impl Signal {
    /// Waits for the next signal. Never returns `None`.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if the future is dropped, no signal is lost.
    pub async fn recv(&mut self) -> Option<()> {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// Polls for the next signal. See [`recv`](Self::recv).
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<()>> {
        self.listener.poll_recv(cx).map(Some)
    }
}
