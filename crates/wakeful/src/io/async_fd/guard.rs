//! What waiting for a descriptor returns: a chance to try, and to say that it was none.

use super::{AsyncFd, TryIoError};
use crate::io::Ready;
use std::fmt;
use std::io;
use std::os::fd::AsRawFd;
use wakeful_reactor::io::{ReadyEvent, Registration};

/// The readiness that a guard was given, less what was cleared of it.
struct HeldReady(Option<ReadyEvent>);

impl HeldReady {
    fn clear(&mut self, registration: &Registration) {
        if let Some(event) = self.0.take() {
            registration.clear(event);
        }
    }

    fn clear_matching(&mut self, registration: &Registration, ready: Ready) {
        let Some(event) = self.0.take() else {
            return;
        };
        registration.clear(event.with_ready(ready));
        let left = event.ready - ready;
        self.0 = (!left.is_empty()).then(|| event.with_ready(left));
    }

    fn get(&self) -> Ready {
        self.0.map_or(Ready::EMPTY, |event| event.ready)
    }
}

fn is_would_block<R>(result: &io::Result<R>) -> bool {
    result.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

/// A descriptor that was ready a moment ago. See [`AsyncFd`].
///
/// ```
/// use std::io::{ErrorKind, Read};
/// use std::os::unix::net::UnixStream;
/// use wakeful::io::{Ready, unix::AsyncFd};
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let (one, _other) = UnixStream::pair()?;
/// one.set_nonblocking(true)?;
/// // SAFETY: a `UnixStream` returns the same open descriptor as long as it lives.
/// let one = unsafe { AsyncFd::register(one)? };
///
/// let mut guard = one.writable().await?;
/// let error = guard.get_inner().read(&mut [0]).unwrap_err();
/// if error.kind() == ErrorKind::WouldBlock {
///     guard.clear_ready_matching(Ready::READABLE); // it can still be written to
/// }
/// assert!(guard.ready().is_writable());
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[must_use = "You must explicitly choose whether to clear the readiness state by calling a method on ReadyGuard"]
pub struct AsyncFdReadyGuard<'a, T: AsRawFd> {
    fd: &'a AsyncFd<T>,
    held: HeldReady,
}

/// A descriptor that was ready a moment ago, and may be changed. See [`AsyncFd`].
///
/// ```
/// use std::io::{Read, Write};
/// use std::os::unix::net::UnixStream;
/// use wakeful::io::unix::AsyncFd;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let (ours, mut theirs) = UnixStream::pair()?;
/// ours.set_nonblocking(true)?;
/// // SAFETY: a `UnixStream` returns the same open descriptor as long as it lives.
/// let mut ours = unsafe { AsyncFd::register(ours)? };
/// theirs.write_all(b"data")?;
///
/// let mut buf = [0; 4];
/// let mut guard = ours.readable_mut().await?;
/// let read = guard.try_io(|fd| fd.get_mut().read(&mut buf)); // `get_mut` where a borrow would not do
/// assert_eq!(read.unwrap()?, 4);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[must_use = "You must explicitly choose whether to clear the readiness state by calling a method on ReadyGuard"]
pub struct AsyncFdReadyMutGuard<'a, T: AsRawFd> {
    fd: &'a mut AsyncFd<T>,
    held: HeldReady,
}

/// What both guards have; `try_io` and the ways to the object differ.
macro_rules! clear_and_retain {
    () => {
        /// Says that the descriptor is not ready any more: the next wait is for a change.
        ///
        /// To be called after an operation returned `WouldBlock`, and never on a guess.
        pub fn clear_ready(&mut self) {
            self.held.clear(&self.fd.registration);
        }

        /// As [`clear_ready`](Self::clear_ready), for some of what it was ready for.
        pub fn clear_ready_matching(&mut self, ready: Ready) {
            self.held.clear_matching(&self.fd.registration, ready);
        }

        /// Says that the descriptor is still ready. Dropping the guard says the same, less clearly.
        pub fn retain_ready(&mut self) {}

        /// What the descriptor was ready for, less what was cleared through this guard.
        pub fn ready(&self) -> Ready {
            self.held.get()
        }
    };
}

impl<'a, T: AsRawFd> AsyncFdReadyGuard<'a, T> {
    pub(super) fn new(fd: &'a AsyncFd<T>, event: ReadyEvent) -> AsyncFdReadyGuard<'a, T> {
        AsyncFdReadyGuard { fd, held: HeldReady(Some(event)) }
    }

    clear_and_retain!();

    /// Runs `f`, and clears the readiness if it fails with `WouldBlock`.
    ///
    /// # Errors
    /// [`TryIoError`] if it did; any other outcome of `f` is inside the `Ok`.
    pub fn try_io<R>(
        &mut self,
        f: impl FnOnce(&'a AsyncFd<T>) -> io::Result<R>,
    ) -> Result<io::Result<R>, TryIoError> {
        let result = f(self.fd);
        if is_would_block(&result) {
            self.clear_ready();
            return Err(TryIoError(()));
        }
        Ok(result)
    }

    /// What the guard is of.
    pub fn get_ref(&self) -> &'a AsyncFd<T> {
        self.fd
    }

    /// The object in it.
    pub fn get_inner(&self) -> &'a T {
        self.fd.get_ref()
    }
}

impl<'a, T: AsRawFd> AsyncFdReadyMutGuard<'a, T> {
    pub(super) fn new(fd: &'a mut AsyncFd<T>, event: ReadyEvent) -> AsyncFdReadyMutGuard<'a, T> {
        AsyncFdReadyMutGuard { fd, held: HeldReady(Some(event)) }
    }

    clear_and_retain!();

    /// Runs `f`, and clears the readiness if it fails with `WouldBlock`.
    ///
    /// # Errors
    /// [`TryIoError`] if it did; any other outcome of `f` is inside the `Ok`.
    pub fn try_io<R>(
        &mut self,
        f: impl FnOnce(&mut AsyncFd<T>) -> io::Result<R>,
    ) -> Result<io::Result<R>, TryIoError> {
        let result = f(self.fd);
        if is_would_block(&result) {
            self.clear_ready();
            return Err(TryIoError(()));
        }
        Ok(result)
    }

    /// What the guard is of.
    pub fn get_ref(&self) -> &AsyncFd<T> {
        self.fd
    }

    /// What the guard is of.
    pub fn get_mut(&mut self) -> &mut AsyncFd<T> {
        self.fd
    }

    /// The object in it.
    pub fn get_inner(&self) -> &T {
        self.fd.get_ref()
    }

    /// The object in it.
    pub fn get_inner_mut(&mut self) -> &mut T {
        self.fd.get_mut()
    }
}

impl<T: fmt::Debug + AsRawFd> fmt::Debug for AsyncFdReadyGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadyGuard").field("async_fd", &self.fd).finish()
    }
}

impl<T: fmt::Debug + AsRawFd> fmt::Debug for AsyncFdReadyMutGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MutReadyGuard").field("async_fd", &self.fd).finish()
    }
}
