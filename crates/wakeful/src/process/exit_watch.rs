//! How we learn that a child has ended.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use wakeful_reactor::Interest;
use wakeful_reactor::io::{Direction, IoDriver, Registration, is_stopped_error};
use wakeful_reactor::signal::{Listener, listen};

#[derive(Debug)]
pub(super) enum ExitWatch {
    /// A driver says when the process's descriptor is readable: it has ended then.
    Pidfd(Pidfd),
    /// Some child has ended: a look at ours tells whether it is the one.
    AnyChild(Listener<'static>),
}

#[derive(Debug)]
pub(super) struct Pidfd {
    // Before the descriptor, so that it is taken out of the driver before it is closed.
    registration: Registration,
    fd: OwnedFd,
}

impl ExitWatch {
    /// Watches `child` by `driver`.
    pub(super) fn new(child: &Child, driver: &Arc<IoDriver>) -> io::Result<ExitWatch> {
        match Pidfd::open(child.id(), driver) {
            Ok(pidfd) => Ok(ExitWatch::Pidfd(pidfd)),
            Err(error) if is_stopped_error(&error) => Err(error),
            // An older kernel, a sandbox that does not know the call, no descriptor left.
            Err(_) => Ok(ExitWatch::AnyChild(listen(libc::SIGCHLD)?)),
        }
    }

    /// Waits for the end of `child`, the one it was made for.
    ///
    /// # Errors
    /// Those of the wait: somebody else has waited for it. If the driver is shut down, which another one
    /// can take the place of.
    pub(super) fn poll_exit(
        &mut self,
        child: &mut Child,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<ExitStatus>> {
        match self {
            // A process that is traced has a readable descriptor while only its tracer may wait for it;
            // when that is done with it there is another event.
            ExitWatch::Pidfd(pidfd) => pidfd.registration.poll_io(cx, Direction::Read, || {
                child.try_wait()?.ok_or_else(|| io::ErrorKind::WouldBlock.into())
            }),
            ExitWatch::AnyChild(listener) => loop {
                // The waker is in place before the look, so nothing comes between the two.
                let event = listener.poll_recv(cx);
                if let Some(status) = child.try_wait()? {
                    return Poll::Ready(Ok(status));
                }
                ready!(event);
            },
        }
    }

    /// Lets another driver watch. On failure it stays as it was.
    pub(super) fn move_to(&mut self, driver: &Arc<IoDriver>) -> io::Result<()> {
        match self {
            ExitWatch::Pidfd(pidfd) => pidfd.registration = register(&pidfd.fd, driver)?,
            // Signals are every driver's.
            ExitWatch::AnyChild(_) => {}
        }
        Ok(())
    }

    /// Whether the driver it was made with says so when it shuts down.
    pub(super) fn is_tied_to_driver(&self) -> bool {
        matches!(self, ExitWatch::Pidfd(_))
    }
}

impl Pidfd {
    /// The process must be a child of ours that was not waited for: the number is another's after that.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn open(pid: u32, driver: &Arc<IoDriver>) -> io::Result<Pidfd> {
        // SAFETY: takes and returns numbers only.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid as libc::pid_t, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: new, and nobody else's.
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
