//! Why I/O operations fail after their driver has stopped.

use std::fmt;
use std::io;

/// The error of operations after the driver has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// The runtime has shut down.
    ShutDown,
    /// The driver's own descriptors have stopped working.
    Broken,
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stopped::ShutDown => {
                "the runtime that this I/O resource belongs to has shut down or is shutting down; \
                 nothing can be awaited on it any more"
            }
            Stopped::Broken => {
                "the I/O driver of the runtime that this I/O resource belongs to has failed, as a \
                 message on stderr says; nothing can be awaited on it any more. Look for code in this \
                 process that closes descriptors it does not own, or for a system-call filter"
            }
        })
    }
}

impl std::error::Error for Stopped {}

impl From<Stopped> for io::Error {
    fn from(why: Stopped) -> io::Error {
        io::Error::other(why)
    }
}

fn why(error: &io::Error) -> Option<Stopped> {
    error.get_ref()?.downcast_ref().copied()
}

/// Returns whether `error` says that the runtime has shut down.
pub fn is_shutdown_error(error: &io::Error) -> bool {
    why(error) == Some(Stopped::ShutDown)
}

/// Returns whether `error` says that the driver has stopped, for any reason.
pub fn is_stopped_error(error: &io::Error) -> bool {
    why(error).is_some()
}
