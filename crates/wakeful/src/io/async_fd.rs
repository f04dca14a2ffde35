//! Waiting for the readiness of any descriptor that the kernel can poll.

mod error;
mod guard;

#[expect(deprecated, reason = "the old name is part of the API")]
pub use error::AsyncFdTryNewError;
pub use error::{AsyncFdRegisterError, TryIoError};
pub use guard::{AsyncFdReadyGuard, AsyncFdReadyMutGuard};

use super::Interest;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::task::{Context, Poll, ready};
use wakeful_reactor::io::{Direction, Registration};
use wakeful_runtime::runtime::current_io;

/// A descriptor whose readiness can be awaited.
///
/// Use it for descriptors that have no type of their own here: inotify, timerfd, a socket of a C
/// library. The descriptor must be non-blocking, and of a kind that the kernel can poll; a regular
/// file is not.
///
/// [`readable`](Self::readable) and the other waiting methods return a guard. If the operation then
/// returns `WouldBlock`, report that to the guard, with [`try_io`](AsyncFdReadyGuard::try_io) or
/// [`clear_ready`](AsyncFdReadyGuard::clear_ready); otherwise the next wait ends immediately. Never
/// clear the readiness without having tried the operation: the kernel reports changes only, so the
/// next wait might last forever although data is available. [`async_io`](Self::async_io) does all
/// of this.
///
/// Any number of tasks may wait in the `async` methods. If several tasks use the `poll` methods of
/// one direction, only the last one is woken.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use std::io::{Read, Write};
/// use std::os::unix::net::UnixStream;
/// use wakeful::io::unix::AsyncFd;
///
/// let (ours, mut theirs) = UnixStream::pair()?;
/// ours.set_nonblocking(true)?;
/// // SAFETY: a `UnixStream` returns the same open descriptor as long as it lives.
/// let ours = unsafe { AsyncFd::register(ours)? };
/// theirs.write_all(b"data")?;
///
/// let mut buf = [0; 16];
/// let n = loop {
///     let mut guard = ours.readable().await?;
///     match guard.try_io(|fd| fd.get_ref().read(&mut buf)) {
///         Ok(result) => break result?,
///         Err(_would_block) => continue,
///     }
/// };
/// assert_eq!(&buf[..n], b"data");
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub struct AsyncFd<T: AsRawFd> {
    // Before the object, because fields are dropped in order: the registration must be removed from
    // the driver before the descriptor is closed.
    registration: Registration,
    object: T,
}

const READ_WRITE: Interest = Interest::READABLE.add(Interest::WRITABLE);

impl<T: AsRawFd> AsyncFd<T> {
    /// Registers `inner` with the current runtime, for reading and writing.
    ///
    /// # Errors
    /// Returns an error if the kernel cannot watch the descriptor, or the runtime has shut down.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or its I/O driver is disabled.
    ///
    /// # Safety
    /// `inner.as_raw_fd()` must always return the same open descriptor, until `inner` is dropped or
    /// taken out by [`into_inner`](Self::into_inner).
    #[inline]
    #[track_caller]
    pub unsafe fn register(inner: T) -> Result<AsyncFd<T>, AsyncFdRegisterError<T>> {
        // SAFETY: the caller upholds the same contract.
        unsafe { AsyncFd::register_with_interest(inner, READ_WRITE) }
    }

    /// Registers `inner` with the current runtime, for `interest`.
    ///
    /// # Errors
    /// Returns an error if the kernel cannot watch the descriptor, or the runtime has shut down.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or its I/O driver is disabled.
    ///
    /// # Safety
    /// Same as for [`register`](Self::register).
    #[inline]
    #[track_caller]
    pub unsafe fn register_with_interest(
        inner: T,
        interest: Interest,
    ) -> Result<AsyncFd<T>, AsyncFdRegisterError<T>> {
        match current_io("AsyncFd::register").register(inner.as_raw_fd(), interest) {
            Ok(registration) => Ok(AsyncFd { registration, object: inner }),
            Err(cause) => Err(AsyncFdRegisterError { inner, cause }),
        }
    }

    /// Registers `inner` like [`register`](Self::register), without the safety contract.
    ///
    /// # Errors
    /// Returns an error if the kernel cannot watch the descriptor, or the runtime has shut down.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or its I/O driver is disabled.
    #[inline]
    #[track_caller]
    #[deprecated(note = "does not require the descriptor to stay open; use `AsyncFd::register`")]
    pub fn new(inner: T) -> io::Result<AsyncFd<T>> {
        // SAFETY: not guaranteed. Tokio's API has this unsound safe function, and we provide it for
        // compatibility: nothing makes the caller keep the descriptor open.
        unsafe { Ok(AsyncFd::register(inner)?) }
    }

    /// Registers `inner` like [`register_with_interest`](Self::register_with_interest), without the
    /// safety contract.
    ///
    /// # Errors
    /// Returns an error if the kernel cannot watch the descriptor, or the runtime has shut down.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or its I/O driver is disabled.
    #[inline]
    #[track_caller]
    #[deprecated(
        note = "does not require the descriptor to stay open; use `AsyncFd::register_with_interest`"
    )]
    pub fn with_interest(inner: T, interest: Interest) -> io::Result<AsyncFd<T>> {
        // SAFETY: see `new`.
        unsafe { Ok(AsyncFd::register_with_interest(inner, interest)?) }
    }

    /// Registers `inner` like [`new`](Self::new), with an error that returns `inner`.
    ///
    /// # Errors
    /// Returns an error if the kernel cannot watch the descriptor, or the runtime has shut down.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or its I/O driver is disabled.
    #[inline]
    #[track_caller]
    #[deprecated(note = "does not require the descriptor to stay open; use `AsyncFd::register`")]
    pub fn try_new(inner: T) -> Result<AsyncFd<T>, AsyncFdRegisterError<T>> {
        // SAFETY: see `new`.
        unsafe { AsyncFd::register(inner) }
    }

    /// Registers `inner` like [`with_interest`](Self::with_interest), with an error that returns
    /// `inner`.
    ///
    /// # Errors
    /// Returns an error if the kernel cannot watch the descriptor, or the runtime has shut down.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or its I/O driver is disabled.
    #[inline]
    #[track_caller]
    #[deprecated(
        note = "does not require the descriptor to stay open; use `AsyncFd::register_with_interest`"
    )]
    pub fn try_with_interest(
        inner: T,
        interest: Interest,
    ) -> Result<AsyncFd<T>, AsyncFdRegisterError<T>> {
        // SAFETY: see `new`.
        unsafe { AsyncFd::register_with_interest(inner, interest) }
    }

    /// Returns a reference to the inner object.
    #[inline]
    pub fn get_ref(&self) -> &T {
        &self.object
    }

    /// Returns a mutable reference to the inner object.
    #[inline]
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.object
    }

    /// Deregisters the inner object and returns it.
    ///
    /// ```
    /// use std::os::unix::net::UnixStream;
    /// use wakeful::io::unix::AsyncFd;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let (one, _other) = UnixStream::pair()?;
    /// one.set_nonblocking(true)?;
    /// // SAFETY: a `UnixStream` returns the same open descriptor as long as it lives.
    /// let watched = unsafe { AsyncFd::register(one)? };
    /// let one: UnixStream = watched.into_inner();
    /// one.set_nonblocking(false)?;
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub fn into_inner(self) -> T {
        let AsyncFd { registration, object } = self;
        drop(registration);
        object
    }

    /// Polls for readability. If several tasks poll for reading, only the last one is woken.
    ///
    /// # Errors
    /// Returns an error if the runtime has shut down.
    pub fn poll_read_ready<'a>(
        &'a self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyGuard<'a, T>>> {
        let event = ready!(self.registration.poll_ready(cx, Direction::Read))?;
        Poll::Ready(Ok(AsyncFdReadyGuard::new(self, event)))
    }

    /// Polls for readability; the guard has mutable access.
    ///
    /// # Errors
    /// Returns an error if the runtime has shut down.
    pub fn poll_read_ready_mut<'a>(
        &'a mut self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyMutGuard<'a, T>>> {
        let event = ready!(self.registration.poll_ready(cx, Direction::Read))?;
        Poll::Ready(Ok(AsyncFdReadyMutGuard::new(self, event)))
    }

    /// Polls for writability. If several tasks poll for writing, only the last one is woken.
    ///
    /// # Errors
    /// Returns an error if the runtime has shut down.
    pub fn poll_write_ready<'a>(
        &'a self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyGuard<'a, T>>> {
        let event = ready!(self.registration.poll_ready(cx, Direction::Write))?;
        Poll::Ready(Ok(AsyncFdReadyGuard::new(self, event)))
    }

    /// Polls for writability; the guard has mutable access.
    ///
    /// # Errors
    /// Returns an error if the runtime has shut down.
    pub fn poll_write_ready_mut<'a>(
        &'a mut self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyMutGuard<'a, T>>> {
        let event = ready!(self.registration.poll_ready(cx, Direction::Write))?;
        Poll::Ready(Ok(AsyncFdReadyMutGuard::new(self, event)))
    }

    /// Waits until the descriptor is ready for any of `interest`.
    ///
    /// # Errors
    /// Returns an error if the runtime has shut down.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if the future is dropped, no event is lost.
    pub async fn ready(&self, interest: Interest) -> io::Result<AsyncFdReadyGuard<'_, T>> {
        let event = self.registration.readiness(interest).await?;
        Ok(AsyncFdReadyGuard::new(self, event))
    }

    /// Waits until the descriptor is ready; the guard has mutable access.
    ///
    /// # Errors
    /// Returns an error if the runtime has shut down.
    pub async fn ready_mut(
        &mut self,
        interest: Interest,
    ) -> io::Result<AsyncFdReadyMutGuard<'_, T>> {
        let event = self.registration.readiness(interest).await?;
        Ok(AsyncFdReadyMutGuard::new(self, event))
    }

    /// Waits until the descriptor is readable.
    ///
    /// # Errors
    /// Returns an error if the runtime has shut down.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if the future is dropped, no event is lost.
    pub async fn readable(&self) -> io::Result<AsyncFdReadyGuard<'_, T>> {
        self.ready(Interest::READABLE).await
    }

    /// Waits until the descriptor is readable; the guard has mutable access.
    ///
    /// # Errors
    /// Returns an error if the runtime has shut down.
    pub async fn readable_mut(&mut self) -> io::Result<AsyncFdReadyMutGuard<'_, T>> {
        self.ready_mut(Interest::READABLE).await
    }

    /// Waits until the descriptor is writable.
    ///
    /// # Errors
    /// Returns an error if the runtime has shut down.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if the future is dropped, no event is lost.
    pub async fn writable(&self) -> io::Result<AsyncFdReadyGuard<'_, T>> {
        self.ready(Interest::WRITABLE).await
    }

    /// Waits until the descriptor is writable; the guard has mutable access.
    ///
    /// # Errors
    /// Returns an error if the runtime has shut down.
    pub async fn writable_mut(&mut self) -> io::Result<AsyncFdReadyMutGuard<'_, T>> {
        self.ready_mut(Interest::WRITABLE).await
    }

    /// Runs `f` each time the object is ready, until it returns something other than `WouldBlock`.
    ///
    /// # Errors
    /// Returns the errors of `f`, or an error if the runtime has shut down.
    ///
    /// # Cancel safety
    /// This method is cancel safe: it waits only before `f` runs or after `f` returned
    /// `WouldBlock`, so dropping the future never interrupts an operation.
    ///
    /// ```
    /// use std::io::{Read, Write};
    /// use std::os::unix::net::UnixStream;
    /// use wakeful::io::{Interest, unix::AsyncFd};
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let (ours, mut theirs) = UnixStream::pair()?;
    /// ours.set_nonblocking(true)?;
    /// // SAFETY: a `UnixStream` returns the same open descriptor as long as it lives.
    /// let ours = unsafe { AsyncFd::register(ours)? };
    /// let task = wakeful::spawn(async move {
    ///     let mut buf = [0; 4];
    ///     ours.async_io(Interest::READABLE, |mut stream| stream.read(&mut buf)).await?;
    ///     std::io::Result::Ok(buf)
    /// });
    /// theirs.write_all(b"data")?;
    /// assert_eq!(&task.await??, b"data");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub async fn async_io<R>(
        &self,
        interest: Interest,
        mut f: impl FnMut(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        self.registration.async_io(interest, || f(&self.object)).await
    }

    /// Runs `f` like [`async_io`](Self::async_io), with mutable access to the object.
    ///
    /// # Errors
    /// Returns the errors of `f`, or an error if the runtime has shut down.
    pub async fn async_io_mut<R>(
        &mut self,
        interest: Interest,
        mut f: impl FnMut(&mut T) -> io::Result<R>,
    ) -> io::Result<R> {
        self.registration.async_io(interest, || f(&mut self.object)).await
    }

    /// Runs `f` if the object is known to be ready for any of `interest`.
    ///
    /// # Errors
    /// Returns `WouldBlock` if the object is not known to be ready, or the errors of `f`.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use std::io::{ErrorKind, Read};
    /// use std::os::unix::net::UnixStream;
    /// use wakeful::io::{Interest, unix::AsyncFd};
    ///
    /// let (one, _other) = UnixStream::pair()?;
    /// one.set_nonblocking(true)?;
    /// // SAFETY: a `UnixStream` returns the same open descriptor as long as it lives.
    /// let one = unsafe { AsyncFd::register(one)? };
    /// let nothing = one.try_io(Interest::READABLE, |mut stream| stream.read(&mut [0]));
    /// assert_eq!(nothing.unwrap_err().kind(), ErrorKind::WouldBlock);
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub fn try_io<R>(
        &self,
        interest: Interest,
        f: impl FnOnce(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        self.registration.try_io(interest, || f(&self.object))
    }

    /// Runs `f` like [`try_io`](Self::try_io), with mutable access to the object.
    ///
    /// # Errors
    /// Returns `WouldBlock` if the object is not known to be ready, or the errors of `f`.
    pub fn try_io_mut<R>(
        &mut self,
        interest: Interest,
        f: impl FnOnce(&mut T) -> io::Result<R>,
    ) -> io::Result<R> {
        self.registration.try_io(interest, || f(&mut self.object))
    }
}

impl<T: AsRawFd> AsRawFd for AsyncFd<T> {
    fn as_raw_fd(&self) -> RawFd {
        self.object.as_raw_fd()
    }
}

impl<T: AsRawFd> AsFd for AsyncFd<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the contract of `register` says that the descriptor stays open while `self` owns
        // the object, and the result borrows `self`.
        unsafe { BorrowedFd::borrow_raw(self.as_raw_fd()) }
    }
}

impl<T: fmt::Debug + AsRawFd> fmt::Debug for AsyncFd<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncFd").field("inner", &self.object).finish()
    }
}
