//! Any descriptor that the kernel can tell readiness of, awaited.

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
/// For what has no type of its own here: inotify, timerfd, a socket of a C library. The descriptor must
/// be non-blocking, and of a kind that the kernel can watch; regular files are not.
///
/// [`readable`](Self::readable) and its kin return a guard. An operation that would have blocked must
/// tell it so, by [`try_io`](AsyncFdReadyGuard::try_io) or
/// [`clear_ready`](AsyncFdReadyGuard::clear_ready), or else the next wait ends at once. Whoever tells it
/// without having tried waits for data that is there already, and maybe for ever: the kernel reports
/// changes only. [`async_io`](Self::async_io) does it all right by itself.
///
/// Any number of tasks may wait in the `async` methods. Of those that wait by polling, the last one for
/// each direction is called only.
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
    // Before the object, so that it is taken out of the driver before its descriptor is closed.
    registration: Registration,
    object: T,
}

const BOTH: Interest = Interest::READABLE.add(Interest::WRITABLE);

impl<T: AsRawFd> AsyncFd<T> {
    /// Has the current runtime watch `inner`, to read and to write.
    ///
    /// # Errors
    /// If the kernel cannot watch the descriptor, or the runtime has shut down.
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
    ///
    /// # Safety
    /// `inner.as_raw_fd()` must be an open descriptor, always the same, until `inner` is dropped or
    /// taken out by [`into_inner`](Self::into_inner).
    #[inline]
    #[track_caller]
    pub unsafe fn register(inner: T) -> Result<AsyncFd<T>, AsyncFdRegisterError<T>> {
        // SAFETY: as our caller promises.
        unsafe { AsyncFd::register_with_interest(inner, BOTH) }
    }

    /// As [`register`](Self::register), for less or more than reading and writing.
    ///
    /// # Errors
    /// If the kernel cannot watch the descriptor, or the runtime has shut down.
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
    ///
    /// # Safety
    /// As for [`register`](Self::register).
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

    /// As [`register`](Self::register), for callers that promise nothing.
    ///
    /// # Errors
    /// If the kernel cannot watch the descriptor, or the runtime has shut down.
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
    #[inline]
    #[track_caller]
    #[deprecated(note = "nothing says that the descriptor stays open; use `AsyncFd::register`")]
    pub fn new(inner: T) -> io::Result<AsyncFd<T>> {
        // SAFETY: kept for Tokio's sake, whose API this hole is part of: the caller is not asked.
        unsafe { Ok(AsyncFd::register(inner)?) }
    }

    /// As [`register_with_interest`](Self::register_with_interest), for callers that promise nothing.
    ///
    /// # Errors
    /// If the kernel cannot watch the descriptor, or the runtime has shut down.
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
    #[inline]
    #[track_caller]
    #[deprecated(
        note = "nothing says that the descriptor stays open; use `AsyncFd::register_with_interest`"
    )]
    pub fn with_interest(inner: T, interest: Interest) -> io::Result<AsyncFd<T>> {
        // SAFETY: as in `new`.
        unsafe { Ok(AsyncFd::register_with_interest(inner, interest)?) }
    }

    /// As [`new`](Self::new), with an error that gives `inner` back.
    ///
    /// # Errors
    /// If the kernel cannot watch the descriptor, or the runtime has shut down.
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
    #[inline]
    #[track_caller]
    #[deprecated(note = "nothing says that the descriptor stays open; use `AsyncFd::register`")]
    pub fn try_new(inner: T) -> Result<AsyncFd<T>, AsyncFdRegisterError<T>> {
        // SAFETY: as in `new`.
        unsafe { AsyncFd::register(inner) }
    }

    /// As [`with_interest`](Self::with_interest), with an error that gives `inner` back.
    ///
    /// # Errors
    /// If the kernel cannot watch the descriptor, or the runtime has shut down.
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
    #[inline]
    #[track_caller]
    #[deprecated(
        note = "nothing says that the descriptor stays open; use `AsyncFd::register_with_interest`"
    )]
    pub fn try_with_interest(
        inner: T,
        interest: Interest,
    ) -> Result<AsyncFd<T>, AsyncFdRegisterError<T>> {
        // SAFETY: as in `new`.
        unsafe { AsyncFd::register_with_interest(inner, interest) }
    }

    /// The object.
    #[inline]
    pub fn get_ref(&self) -> &T {
        &self.object
    }

    /// The object.
    #[inline]
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.object
    }

    /// The object, which is watched no more.
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

    /// Waits until it can be read from. Of several tasks the last one is called only.
    ///
    /// # Errors
    /// If the runtime has shut down.
    pub fn poll_read_ready<'a>(
        &'a self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyGuard<'a, T>>> {
        let event = ready!(self.registration.poll_ready(cx, Direction::Read))?;
        Poll::Ready(Ok(AsyncFdReadyGuard::new(self, event)))
    }

    /// As [`poll_read_ready`](Self::poll_read_ready), with a guard that lets the object be changed.
    ///
    /// # Errors
    /// If the runtime has shut down.
    pub fn poll_read_ready_mut<'a>(
        &'a mut self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyMutGuard<'a, T>>> {
        let event = ready!(self.registration.poll_ready(cx, Direction::Read))?;
        Poll::Ready(Ok(AsyncFdReadyMutGuard::new(self, event)))
    }

    /// Waits until it can be written to. Of several tasks the last one is called only.
    ///
    /// # Errors
    /// If the runtime has shut down.
    pub fn poll_write_ready<'a>(
        &'a self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyGuard<'a, T>>> {
        let event = ready!(self.registration.poll_ready(cx, Direction::Write))?;
        Poll::Ready(Ok(AsyncFdReadyGuard::new(self, event)))
    }

    /// As [`poll_write_ready`](Self::poll_write_ready), with a guard that lets the object be changed.
    ///
    /// # Errors
    /// If the runtime has shut down.
    pub fn poll_write_ready_mut<'a>(
        &'a mut self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyMutGuard<'a, T>>> {
        let event = ready!(self.registration.poll_ready(cx, Direction::Write))?;
        Poll::Ready(Ok(AsyncFdReadyMutGuard::new(self, event)))
    }

    /// Waits until it is ready for any of `interest`.
    ///
    /// # Errors
    /// If the runtime has shut down.
    ///
    /// # Cancel safety
    /// A wait that is dropped loses nothing.
    pub async fn ready(&self, interest: Interest) -> io::Result<AsyncFdReadyGuard<'_, T>> {
        let event = self.registration.readiness(interest).await?;
        Ok(AsyncFdReadyGuard::new(self, event))
    }

    /// As [`ready`](Self::ready), with a guard that lets the object be changed.
    ///
    /// # Errors
    /// If the runtime has shut down.
    pub async fn ready_mut(
        &mut self,
        interest: Interest,
    ) -> io::Result<AsyncFdReadyMutGuard<'_, T>> {
        let event = self.registration.readiness(interest).await?;
        Ok(AsyncFdReadyMutGuard::new(self, event))
    }

    /// Waits until it can be read from.
    ///
    /// # Errors
    /// If the runtime has shut down.
    ///
    /// # Cancel safety
    /// A wait that is dropped loses nothing.
    pub async fn readable(&self) -> io::Result<AsyncFdReadyGuard<'_, T>> {
        self.ready(Interest::READABLE).await
    }

    /// As [`readable`](Self::readable), with a guard that lets the object be changed.
    ///
    /// # Errors
    /// If the runtime has shut down.
    pub async fn readable_mut(&mut self) -> io::Result<AsyncFdReadyMutGuard<'_, T>> {
        self.ready_mut(Interest::READABLE).await
    }

    /// Waits until it can be written to.
    ///
    /// # Errors
    /// If the runtime has shut down.
    ///
    /// # Cancel safety
    /// A wait that is dropped loses nothing.
    pub async fn writable(&self) -> io::Result<AsyncFdReadyGuard<'_, T>> {
        self.ready(Interest::WRITABLE).await
    }

    /// As [`writable`](Self::writable), with a guard that lets the object be changed.
    ///
    /// # Errors
    /// If the runtime has shut down.
    pub async fn writable_mut(&mut self) -> io::Result<AsyncFdReadyMutGuard<'_, T>> {
        self.ready_mut(Interest::WRITABLE).await
    }

    /// Runs `f` when the object is ready for it, again and again until it does not fail with
    /// `WouldBlock`.
    ///
    /// # Errors
    /// Those of `f`, or that the runtime has shut down.
    ///
    /// # Cancel safety
    /// It waits before `f` has run, or after that has returned `WouldBlock`; so a drop cuts nothing off.
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

    /// As [`async_io`](Self::async_io), with a closure that may change the object.
    ///
    /// # Errors
    /// Those of `f`, or that the runtime has shut down.
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
    /// `WouldBlock` if it is not; those of `f`.
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

    /// As [`try_io`](Self::try_io), with a closure that may change the object.
    ///
    /// # Errors
    /// `WouldBlock` if it is not ready; those of `f`.
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
        // SAFETY: whoever registered it promised that it is open as long as we have the object.
        unsafe { BorrowedFd::borrow_raw(self.as_raw_fd()) }
    }
}

impl<T: fmt::Debug + AsRawFd> fmt::Debug for AsyncFd<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncFd").field("inner", &self.object).finish()
    }
}
