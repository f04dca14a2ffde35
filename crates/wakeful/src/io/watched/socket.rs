//! What sockets and pipes have besides their streams: readiness to wait for, and operations of all kinds.

use super::Watched;
use crate::io::{Interest, Ready};
use std::io;
use std::os::fd::AsFd;
use std::task::{Context, Poll};
use wakeful_reactor::io::Direction;
use wakeful_runtime::runtime::current_io;

impl<E: AsFd> Watched<E> {
    /// Has the driver of the current runtime watch `object`, for `call`.
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
    #[track_caller]
    pub(crate) fn new(object: E, interest: Interest, call: &str) -> io::Result<Watched<E>> {
        Watched::with_driver(object, interest, &current_io(call))
    }

    /// As [`new`](Self::new), to read and to write.
    #[track_caller]
    pub(crate) fn new_duplex(object: E, call: &str) -> io::Result<Watched<E>> {
        Watched::new(object, Interest::READABLE | Interest::WRITABLE, call)
    }

    /// Takes it for ready in these ways until an operation finds otherwise.
    pub(crate) fn assuming(self, ready: Ready) -> Watched<E> {
        self.registration.assume_ready(ready);
        self
    }
}

impl<E> Watched<E> {
    /// Waits until it is ready for any of `interest`.
    pub(crate) async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        Ok(self.registration.readiness(interest).await?.ready)
    }

    /// Waits on behalf of the one task that polls for reading.
    pub(crate) fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.registration.poll_ready(cx, Direction::Read).map_ok(|_| ())
    }

    /// Waits on behalf of the one task that polls for writing.
    pub(crate) fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.registration.poll_ready(cx, Direction::Write).map_ok(|_| ())
    }

    /// Runs `operation` if it is known to be ready for that; `WouldBlock` if not.
    pub(crate) fn try_io<R>(
        &self,
        interest: Interest,
        operation: impl FnOnce() -> io::Result<R>,
    ) -> io::Result<R> {
        self.registration.try_io(interest, operation)
    }

    /// Runs `operation` when it is ready for that, until it need not wait.
    pub(crate) async fn async_io<R>(
        &self,
        interest: Interest,
        operation: impl FnMut() -> io::Result<R>,
    ) -> io::Result<R> {
        self.registration.async_io(interest, operation).await
    }

    /// As `async_io`, for the one task that polls for reading.
    pub(crate) fn poll_read_io<R>(
        &self,
        cx: &mut Context<'_>,
        operation: impl FnMut() -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.registration.poll_io(cx, Direction::Read, operation)
    }

    /// As `async_io`, for the one task that polls for writing.
    pub(crate) fn poll_write_io<R>(
        &self,
        cx: &mut Context<'_>,
        operation: impl FnMut() -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.registration.poll_io(cx, Direction::Write, operation)
    }
}
