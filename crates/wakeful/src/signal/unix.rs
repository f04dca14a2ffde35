//! Signals of Unix-like systems.
//!
//! To end in good order when asked to, by a person or by the system:
//!
//! ```
//! # wakeful::runtime::Runtime::new().unwrap().block_on(async {
//! use wakeful::signal::unix::{SignalKind, signal};
//!
//! let mut interrupt = signal(SignalKind::interrupt())?;
//! let mut terminate = signal(SignalKind::terminate())?;
//! # // SAFETY: sends a signal that is listened for.
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

/// Listens for a signal. From [`signal`].
///
/// Signals may be joined: what comes while nobody looks is one, however often it came. What comes after
/// [`recv`](Self::recv) has returned is always another.
///
/// It works with any runtime, as long as some runtime with I/O is there and at work: that hands signals
/// out to all listeners of the process.
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
/// #     // SAFETY: sends a signal that is listened for.
/// #     unsafe { libc::raise(libc::SIGHUP) };
/// #     wakeful::task::yield_now().await;
/// # }
/// # assert_eq!((&mut task).await.unwrap(), 2);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Debug)]
#[must_use = "a listener does nothing unless it is asked"]
pub struct Signal {
    listener: Listener<'static>,
}

/// Listens for signals of one kind from now on.
///
/// Any number of listeners may do so at once; each has every signal. The handler that is put in place
/// stays for good, see [`signal`](crate::signal).
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
/// If there is no such signal, if it cannot be caught (`SIGKILL`, `SIGSTOP`) or not be returned from
/// (`SIGILL`, `SIGFPE`, `SIGSEGV`), if the kernel refuses the handler, or the runtime has shut down.
///
/// # Panics
/// Outside of a runtime with I/O.
#[track_caller]
pub fn signal(kind: SignalKind) -> io::Result<Signal> {
    current_io("signal").check_running()?;
    Ok(Signal { listener: listen(kind.as_raw_value())? })
}

impl Signal {
    /// Waits for the next signal. Never returns `None`.
    ///
    /// It may be dropped at any time without losing one.
    pub async fn recv(&mut self) -> Option<()> {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// As [`recv`](Self::recv), on behalf of the task of `cx`.
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<()>> {
        self.listener.poll_recv(cx).map(Some)
    }
}
