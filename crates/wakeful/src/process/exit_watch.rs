//! Detects the exit of a child.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::task::{Context, Poll};
use wakeful_base::waiting::{WaitKind, note};
use wakeful_reactor::Interest;
use wakeful_reactor::io::{Direction, IoDriver, Registration, is_stopped_error};
use wakeful_reactor::signal::{Listener, listen};

#[derive(Debug)]
pub(super) enum ExitWatch {
    /// A driver watches the pidfd, which becomes readable when the process exits.
    Pidfd(Pidfd),
    /// `SIGCHLD` reports that some child has changed its state. `try_wait` tells whether this child
    /// has exited.
    AnyChild(Listener<'static>),
}

#[derive(Debug)]
pub(super) struct Pidfd {
    // Fields drop in order: the registration must be removed from the driver before the descriptor
    // closes.
    registration: Registration,
    fd: OwnedFd,
}

impl ExitWatch {
    /// Starts to watch `child`, with `driver` if a pidfd can be opened.
    pub(super) fn new(child: &Child, driver: &Arc<IoDriver>) -> io::Result<ExitWatch> {
        match Pidfd::open(child.id(), driver) {
            Ok(pidfd) => Ok(ExitWatch::Pidfd(pidfd)),
            Err(error) if is_stopped_error(&error) => Err(error),
            // An old kernel, a sandbox that forbids the call, or no descriptor left.
            Err(_) => Ok(ExitWatch::AnyChild(listen(libc::SIGCHLD)?)),
        }
    }

    /// Polls for the exit of `child`, which must be the child that this watch was created for.
    ///
    /// # Errors
    /// Returns an error if other code has already waited for the child, or if the driver has shut
    /// down. In the latter case [`move_to`](Self::move_to) another driver and poll again.
    pub(super) fn poll_exit(
        &mut self,
        child: &mut Child,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<ExitStatus>> {
        match self {
            // The pidfd of a traced process becomes readable when only the tracer can wait for it
            // yet. The kernel reports another event when the tracer has done so.
            ExitWatch::Pidfd(pidfd) => {
                let pid = u64::from(child.id());
                pidfd.registration.poll_io_for(cx, Direction::Read, WaitKind::Process, pid, || {
                    child.try_wait()?.ok_or_else(|| io::ErrorKind::WouldBlock.into())
                })
            }
            ExitWatch::AnyChild(listener) => loop {
                // Register the waker before checking the child, so that no exit between the two is
                // missed.
                let event = listener.poll_recv(cx);
                if let Some(status) = child.try_wait()? {
                    return Poll::Ready(Ok(status));
                }
                if event.is_pending() {
                    // A second leaf, beside that of the signal: it says which process.
                    note(WaitKind::Process, u64::from(child.id()), cx.waker());
                    return Poll::Pending;
                }
            },
        }
    }

    /// Moves the watch to another driver. On an error the watch is unchanged.
    pub(super) fn move_to(&mut self, driver: &Arc<IoDriver>) -> io::Result<()> {
        match self {
            ExitWatch::Pidfd(pidfd) => pidfd.registration = register(&pidfd.fd, driver)?,
            // Signals are delivered to all listeners of the process by whichever driver runs.
            ExitWatch::AnyChild(_) => {}
        }
        Ok(())
    }

    /// Returns whether polls fail when the driver shuts down. A watch that relies on signals does
    /// not notice a shutdown.
    pub(super) fn is_tied_to_driver(&self) -> bool {
        matches!(self, ExitWatch::Pidfd(_))
    }
}

impl Pidfd {
    /// Opens and registers the pidfd of a process. It must be a child of this process that has not
    /// been waited for: after that the id may belong to another process.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn open(pid: u32, driver: &Arc<IoDriver>) -> io::Result<Pidfd> {
        // SAFETY: `pidfd_open` takes and returns integers only.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid as libc::pid_t, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `pidfd_open` just returned this descriptor, so nothing else owns it.
        let fd = unsafe { std::os::fd::FromRawFd::from_raw_fd(fd as libc::c_int) };
        Ok(Pidfd { registration: register(&fd, driver)?, fd })
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    fn open(_pid: u32, _driver: &Arc<IoDriver>) -> io::Result<Pidfd> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

fn register(fd: &OwnedFd, driver: &Arc<IoDriver>) -> io::Result<Registration> {
    driver.register(fd.as_raw_fd(), Interest::READABLE)
}
