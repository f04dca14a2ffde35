use std::error::Error;
use std::fmt;
use std::io;

/// The error of an operation that would have blocked.
///
/// Returned by [`AsyncFdReadyGuard::try_io`](super::AsyncFdReadyGuard::try_io), after the guard has
/// cleared the readiness.
///
/// ```
/// use std::io::{Error, ErrorKind};
/// use std::os::unix::net::UnixStream;
/// use wakeful::io::unix::AsyncFd;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let (one, _other) = UnixStream::pair()?;
/// one.set_nonblocking(true)?;
/// // SAFETY: a `UnixStream` returns the same open descriptor as long as it lives.
/// let one = unsafe { AsyncFd::register(one)? };
/// let mut guard = one.writable().await?;
/// let blocked = guard.try_io(|_| Err::<(), _>(Error::from(ErrorKind::WouldBlock)));
/// assert!(blocked.is_err()); // so the next `writable` waits for the kernel
/// assert!(guard.ready().is_empty());
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct TryIoError(pub(super) ());

/// The error of a registration, with the object that could not be registered.
///
/// ```
/// use wakeful::io::unix::AsyncFd;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let file = std::fs::File::open("/dev/null")?; // always ready, so epoll rejects it
/// // SAFETY: a `File` returns the same open descriptor as long as it lives.
/// let refused = unsafe { AsyncFd::register(file) }.unwrap_err();
/// let (file, why) = refused.into_parts();
/// println!("{file:?}: {why}");
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub struct AsyncFdRegisterError<T> {
    pub(super) inner: T,
    pub(super) cause: io::Error,
}

/// The former name of [`AsyncFdRegisterError`].
#[doc(hidden)]
#[deprecated(note = "use `AsyncFdRegisterError` instead")]
pub type AsyncFdTryNewError<T> = AsyncFdRegisterError<T>;

impl<T> AsyncFdRegisterError<T> {
    /// Returns the object and the cause of the error.
    pub fn into_parts(self) -> (T, io::Error) {
        (self.inner, self.cause)
    }
}

impl<T> fmt::Display for AsyncFdRegisterError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.cause, f)
    }
}

impl<T> fmt::Debug for AsyncFdRegisterError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.cause, f)
    }
}

impl<T> Error for AsyncFdRegisterError<T> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.cause)
    }
}

impl<T> From<AsyncFdRegisterError<T>> for io::Error {
    fn from(error: AsyncFdRegisterError<T>) -> io::Error {
        error.cause
    }
}
