//! A non-blocking I/O object that is registered with a driver. Sockets and pipes are built on it.
//!
//! Use `poll_read` and `poll_write` for streams. `socket.rs` adds waiting for readiness, and
//! operations of other kinds.

#[cfg(feature = "net")]
mod socket;

use super::ReadBuf;
use std::fmt;
use std::io::{self, IoSlice, Write};
use std::ops::Deref;
use std::os::fd::{AsFd, AsRawFd};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use wakeful_reactor::Interest;
use wakeful_reactor::io::{Direction, IoDriver, Registration};

/// The kernel accepts at most this many buffers in one call (`IOV_MAX`), whatever the space.
const SLICES_MAX: usize = 1024;

/// A non-blocking object, and its registration with the driver of the runtime it was created in.
///
/// Readiness is edge-triggered: the kernel reports an event only on a change. So an operation is
/// repeated until it would block, and only then waits for the next event. A transfer that is
/// shorter than its buffer also shows that the next one would block, and saves that call.
pub(crate) struct Watched<E> {
    // Before the object, because fields are dropped in order: the registration must be removed from
    // the driver before the descriptor is closed.
    registration: Registration,
    object: E,
}

impl<E> UnwindSafe for Watched<E> {}
impl<E> RefUnwindSafe for Watched<E> {}

impl<E: AsFd> Watched<E> {
    /// Registers `object` with `driver`.
    pub(crate) fn with_driver(
        object: E,
        interest: Interest,
        driver: &Arc<IoDriver>,
    ) -> io::Result<Watched<E>> {
        let registration = driver.register(object.as_fd().as_raw_fd(), interest)?;
        Ok(Watched { registration, object })
    }

    /// Deregisters the object and returns it.
    pub(crate) fn into_inner(mut self) -> io::Result<E> {
        self.registration.deregister()?;
        Ok(self.object)
    }
}

impl<E> Watched<E> {
    /// Reads from a stream into `buf`. `read` returns how many bytes it added.
    pub(crate) fn poll_read(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
        read: impl FnMut(&E, &mut ReadBuf<'_>) -> io::Result<usize>,
    ) -> Poll<io::Result<()>> {
        let (mut read, room) = (read, buf.remaining());
        self.poll_stream(cx, Direction::Read, room, || read(&self.object, buf)).map_ok(|_| ())
    }

    /// Writes `buf` to a stream.
    pub(crate) fn poll_write<'a>(
        &'a self,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>>
    where
        &'a E: Write,
    {
        self.poll_stream(cx, Direction::Write, buf.len(), || (&self.object).write(buf))
    }

    /// Writes `bufs` to a stream.
    pub(crate) fn poll_write_vectored<'a>(
        &'a self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>>
    where
        &'a E: Write,
    {
        let offered = bufs.iter().take(SLICES_MAX).map(|buf| buf.len()).sum();
        self.poll_stream(cx, Direction::Write, offered, || (&self.object).write_vectored(bufs))
    }

    /// Runs `transfer`, of at most `wanted` bytes, when the stream is ready.
    ///
    /// For byte streams only: there a shorter transfer means that the kernel has no more data or
    /// space for now. A short message may be followed by others.
    fn poll_stream(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
        wanted: usize,
        mut transfer: impl FnMut() -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            let event = ready!(self.registration.poll_ready(cx, direction))?;
            match transfer() {
                Ok(n) => {
                    // `Ok(0)` is the end of the stream, which stays readable.
                    if 0 < n && n < wanted {
                        self.registration.clear(event);
                    }
                    return Poll::Ready(Ok(n));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.registration.clear(event);
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl<E> Deref for Watched<E> {
    type Target = E;

    fn deref(&self) -> &E {
        &self.object
    }
}

impl<E: fmt::Debug> fmt::Debug for Watched<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.object.fmt(f)
    }
}
