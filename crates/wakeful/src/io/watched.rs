//! A non-blocking I/O object that a driver watches: what sockets and pipes are made of.

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

/// The kernel takes no more than so many buffers at once, whether there is room for the rest or not.
const SLICES_MAX: usize = 1024;

/// A non-blocking object, and its place in the driver of the runtime it was made in.
///
/// Readiness is edge-triggered: an operation goes on until the kernel has nothing more to give or no
/// more room to take, and only then waits for the next edge. A transfer that is shorter than its buffer
/// says that too, which saves the call that would fail.
pub(crate) struct Watched<E> {
    // Before the object, so that it is taken out of the driver before its descriptor is closed.
    registration: Registration,
    object: E,
}

impl<E> UnwindSafe for Watched<E> {}
impl<E> RefUnwindSafe for Watched<E> {}

impl<E: AsFd> Watched<E> {
    /// Has `driver` watch `object`.
    pub(crate) fn with_driver(
        object: E,
        interest: Interest,
        driver: &Arc<IoDriver>,
    ) -> io::Result<Watched<E>> {
        let registration = driver.register(object.as_fd().as_raw_fd(), interest)?;
        Ok(Watched { registration, object })
    }

    /// The object, which no driver watches any more.
    pub(crate) fn into_inner(mut self) -> io::Result<E> {
        self.registration.deregister()?;
        Ok(self.object)
    }
}

impl<E> Watched<E> {
    /// Reads from a stream into `buf` by `read`, which returns how much it added.
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

    /// Runs `transfer`, of at most `wanted` bytes. Of a stream, where less than that means that the
    /// kernel has no more for now: messages may be short and have others behind them.
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
                    // None at all is the end of the stream, which stays readable.
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
