//! Waiting for readiness, and operations other than stream transfers.

use super::Watched;
use crate::io::{Interest, Ready};
use std::io;
use std::os::fd::AsFd;
use std::task::{Context, Poll};
use wakeful_reactor::io::Direction;
use wakeful_runtime::runtime::current_io;

impl<E: AsFd> Watched<E> {
    /// Registers `object` with the driver of the current runtime. `call` names the caller in panic
    /// messages.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or its I/O driver is disabled.
    #[track_caller]
    pub(crate) fn new(object: E, interest: Interest, call: &str) -> io::Result<Watched<E>> {
        Watched::with_driver(object, interest, &current_io(call))
    }

    /// Registers `object` like [`new`](Self::new), for reading and writing.
    #[track_caller]
    pub(crate) fn new_duplex(object: E, call: &str) -> io::Result<Watched<E>> {
        Watched::new(object, Interest::READABLE | Interest::WRITABLE, call)
    }

    /// Marks the object as ready until an operation finds otherwise.
    pub(crate) fn assume_ready(self, ready: Ready) -> Watched<E> {
        self.registration.assume_ready(ready);
        self
    }
}

impl<E> Watched<E> {
    /// Waits until the object is ready for any of `interest`.
    pub(crate) async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        Ok(self.registration.readiness(interest).await?.ready)
    }

    /// Polls for readability. Only the task that polled for reading last is woken.
    pub(crate) fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.registration.poll_ready(cx, Direction::Read).map_ok(|_| ())
    }

    /// Polls for writability. Only the task that polled for writing last is woken.
    pub(crate) fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.registration.poll_ready(cx, Direction::Write).map_ok(|_| ())
    }

    /// Runs `operation` if the object is known to be ready for `interest`; returns `WouldBlock` if
    /// not.
    pub(crate) fn try_io<R>(
        &self,
        interest: Interest,
        operation: impl FnOnce() -> io::Result<R>,
    ) -> io::Result<R> {
        self.registration.try_io(interest, operation)
    }

    /// Runs `operation` each time the object is ready, until it does not return `WouldBlock`.
    pub(crate) async fn async_io<R>(
        &self,
        interest: Interest,
        operation: impl FnMut() -> io::Result<R>,
    ) -> io::Result<R> {
        self.registration.async_io(interest, operation).await
    }

    /// Polls like `async_io`, for the task that polled for reading last.
    pub(crate) fn poll_read_io<R>(
        &self,
        cx: &mut Context<'_>,
        operation: impl FnMut() -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.registration.poll_io(cx, Direction::Read, operation)
    }

    /// Polls like `async_io`, for the task that polled for writing last.
    pub(crate) fn poll_write_io<R>(
        &self,
        cx: &mut Context<'_>,
        operation: impl FnMut() -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.registration.poll_io(cx, Direction::Write, operation)
    }
}
