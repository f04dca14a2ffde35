//! The guards that waiting for a descriptor returns. They clear its readiness.

use super::{AsyncFd, TryIoError};
use crate::io::Ready;
use std::fmt;
use std::io;
use std::os::fd::AsRawFd;
use wakeful_reactor::io::{ReadyEvent, Registration};

/// The readiness that a guard was created with, minus what was cleared through it.
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

/// Readiness of a descriptor, as of the end of a wait. See [`AsyncFd`].
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

/// Readiness of a descriptor, as of the end of a wait, with mutable access. See [`AsyncFd`].
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
/// let read = guard.try_io(|fd| fd.get_mut().read(&mut buf)); // mutable access to the stream
/// assert_eq!(read.unwrap()?, 4);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[must_use = "You must explicitly choose whether to clear the readiness state by calling a method on ReadyGuard"]
pub struct AsyncFdReadyMutGuard<'a, T: AsRawFd> {
    fd: &'a mut AsyncFd<T>,
    held: HeldReady,
}

/// The methods that both guards share. `try_io` and the accessors of the object differ.
macro_rules! clear_and_retain {
    () => {
        /// Marks the descriptor as not ready: the next wait waits for an event.
        ///
        /// Call it only after an operation returned `WouldBlock`; otherwise the next wait might
        /// never end.
        pub fn clear_ready(&mut self) {
            self.held.clear(&self.fd.registration);
        }

        /// Marks the descriptor as not ready for `ready`, like [`clear_ready`](Self::clear_ready).
        pub fn clear_ready_matching(&mut self, ready: Ready) {
            self.held.clear_matching(&self.fd.registration, ready);
        }

        /// Leaves the descriptor marked as ready. Dropping the guard has the same effect.
        pub fn retain_ready(&mut self) {}

        /// Returns what the descriptor was ready for, minus what was cleared through this guard.
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

    /// Runs `f`, and clears the readiness if `f` returns `WouldBlock`.
    ///
    /// # Errors
    /// Returns [`TryIoError`] if `f` returned `WouldBlock`. Any other result of `f` is inside the
    /// `Ok`.
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

    /// Returns the `AsyncFd` of this guard.
    pub fn get_ref(&self) -> &'a AsyncFd<T> {
        self.fd
    }

    /// Returns a reference to the inner object.
    pub fn get_inner(&self) -> &'a T {
        self.fd.get_ref()
    }
}

impl<'a, T: AsRawFd> AsyncFdReadyMutGuard<'a, T> {
    pub(super) fn new(fd: &'a mut AsyncFd<T>, event: ReadyEvent) -> AsyncFdReadyMutGuard<'a, T> {
        AsyncFdReadyMutGuard { fd, held: HeldReady(Some(event)) }
    }

    clear_and_retain!();

    /// Runs `f`, and clears the readiness if `f` returns `WouldBlock`.
    ///
    /// # Errors
    /// Returns [`TryIoError`] if `f` returned `WouldBlock`. Any other result of `f` is inside the
    /// `Ok`.
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

    /// Returns the `AsyncFd` of this guard.
    pub fn get_ref(&self) -> &AsyncFd<T> {
        self.fd
    }

    /// Returns the `AsyncFd` of this guard.
    pub fn get_mut(&mut self) -> &mut AsyncFd<T> {
        self.fd
    }

    /// Returns a reference to the inner object.
    pub fn get_inner(&self) -> &T {
        self.fd.get_ref()
    }

    /// Returns a mutable reference to the inner object.
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
