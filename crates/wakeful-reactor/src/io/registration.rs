//! A registered descriptor: what sockets and pipes are built on.

use super::driver::IoDriver;
use super::readiness::Readiness;
use super::slot::{Direction, IoSlot, IoSlotState};
use super::stopped::Stopped;
use crate::{Interest, Ready};
use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use wakeful_base::budget;
use wakeful_base::waiting::{WaitKind, note};

/// A registered descriptor.
///
/// Dropping it removes the descriptor from the driver, and must happen before the descriptor is
/// closed.
#[derive(Debug)]
pub struct Registration {
    driver: Arc<IoDriver>,
    index: u32,
    /// `None` after deregistration.
    fd: Option<RawFd>,
}

/// What a descriptor was ready for at some moment.
#[derive(Debug, Clone, Copy)]
pub struct ReadyEvent {
    /// What the descriptor was ready for.
    pub ready: Ready,
    tick: u16,
}

impl ReadyEvent {
    fn new(state: IoSlotState, interest: Interest) -> ReadyEvent {
        ReadyEvent { ready: state.ready() & interest.ready_mask(), tick: state.tick() }
    }

    /// Returns the same event restricted to `ready`.
    pub fn with_ready(self, ready: Ready) -> ReadyEvent {
        ReadyEvent { ready, ..self }
    }
}

impl Registration {
    pub(super) fn new(driver: Arc<IoDriver>, index: u32, fd: RawFd) -> Registration {
        Registration { driver, index, fd: Some(fd) }
    }

    fn slot(&self) -> &IoSlot {
        self.driver.slots.get(self.index).expect("the slot of a registration is there")
    }

    /// Returns what the descriptor is known to be ready for, restricted to `interest`.
    pub fn ready_event(&self, interest: Interest) -> ReadyEvent {
        ReadyEvent::new(self.slot().state(), interest)
    }

    /// Assumes that the descriptor is `ready` before any event says so.
    ///
    /// The first operation is then tried at once instead of after the driver's next wait. This
    /// wakes no waiter, so it must follow `register` directly.
    pub fn assume_ready(&self, ready: Ready) {
        self.slot().assume(ready);
    }

    /// Clears the readiness of `event`, after an operation returned `WouldBlock`.
    ///
    /// Does nothing if a newer event has arrived.
    pub fn clear(&self, event: ReadyEvent) {
        self.slot().clear(event.tick, event.ready);
    }

    /// Polls for readiness on behalf of one task per direction.
    ///
    /// Only the waker of the last call for a direction is woken.
    ///
    /// # Errors
    /// Returns an error if the runtime has shut down.
    pub fn poll_ready(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
    ) -> Poll<io::Result<ReadyEvent>> {
        self.poll_ready_for(cx, direction, wait_kind(direction.interest()), self.fd_number())
    }

    /// The same as [`poll_ready`](Self::poll_ready), as a part of a wait for something else, which
    /// is noted as `kind` and `detail`.
    #[inline]
    fn poll_ready_for(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
        kind: WaitKind,
        detail: u64,
    ) -> Poll<io::Result<ReadyEvent>> {
        let unit = ready!(budget::poll_proceed(cx));
        let Poll::Ready(state) = self.slot().poll(cx.waker(), direction) else {
            note(kind, detail, cx.waker());
            return Poll::Pending;
        };
        unit.made_progress();
        Poll::Ready(outcome(state, direction.interest()))
    }

    /// Returns the descriptor, for notes.
    fn fd_number(&self) -> u64 {
        self.fd.map_or(0, |fd| fd as u64)
    }

    /// Calls `operation` whenever the descriptor is ready, until it does not return `WouldBlock`.
    ///
    /// # Errors
    /// Returns the errors of `operation`, and an error if the runtime has shut down.
    pub fn poll_io<R>(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
        operation: impl FnMut() -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        let kind = wait_kind(direction.interest());
        self.poll_io_for(cx, direction, kind, self.fd_number(), operation)
    }

    /// The same as [`poll_io`](Self::poll_io), as a part of a wait for something else, which is
    /// noted as `kind` and `detail`.
    ///
    /// # Errors
    /// As for [`poll_io`](Self::poll_io).
    pub fn poll_io_for<R>(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
        kind: WaitKind,
        detail: u64,
        mut operation: impl FnMut() -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        loop {
            let event = ready!(self.poll_ready_for(cx, direction, kind, detail))?;
            match operation() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.clear(event),
                result => return Poll::Ready(result),
            }
        }
    }

    /// Calls `operation` if the descriptor is known to be ready for it.
    ///
    /// # Errors
    /// Returns `WouldBlock` if it is not ready, and the errors of `operation`.
    pub fn try_io<R>(
        &self,
        interest: Interest,
        operation: impl FnOnce() -> io::Result<R>,
    ) -> io::Result<R> {
        let event = self.ready_event(interest);
        if event.ready.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        operation().inspect_err(|error| {
            if error.kind() == io::ErrorKind::WouldBlock {
                self.clear(event);
            }
        })
    }

    /// Waits until the descriptor is ready for any of `interest`.
    ///
    /// Any number of these futures may wait at the same time.
    pub fn readiness(&self, interest: Interest) -> Readiness<'_> {
        Readiness::new(self.slot(), interest, self.fd.unwrap_or(0))
    }

    /// Calls `operation` whenever the descriptor is ready, until it does not return `WouldBlock`.
    ///
    /// # Errors
    /// Returns the errors of `operation`, and an error if the runtime has shut down.
    ///
    /// # Cancel safety
    /// This method is cancel safe if `operation` is: it has not completed if the future is dropped.
    pub async fn async_io<R>(
        &self,
        interest: Interest,
        mut operation: impl FnMut() -> io::Result<R>,
    ) -> io::Result<R> {
        loop {
            let event = self.readiness(interest).await?;
            let unit = std::future::poll_fn(budget::poll_proceed).await;
            match operation() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.clear(event),
                result => {
                    unit.made_progress();
                    return result;
                }
            }
        }
    }

    /// Removes the descriptor, which must still be open, from the driver.
    ///
    /// # Errors
    /// Returns an error if the kernel does not know the descriptor: other code has closed or
    /// removed it.
    pub fn deregister(&mut self) -> io::Result<()> {
        match self.fd.take() {
            Some(fd) => self.driver.deregister(self.index, fd),
            None => Ok(()),
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // There is no caller to report an error to. The slot is released in any case.
        let _unknown_to_the_kernel = self.deregister();
    }
}

/// Returns the result of a wait for `interest` that ended in this state.
/// Returns what a wait for `interest` is noted as.
pub(super) fn wait_kind(interest: Interest) -> WaitKind {
    let is_write_only = interest.is_writable() && !interest.is_readable();
    if is_write_only { WaitKind::IoWrite } else { WaitKind::IoRead }
}

pub(super) fn outcome(state: IoSlotState, interest: Interest) -> io::Result<ReadyEvent> {
    if state.is_shutdown() {
        let why = if state.is_broken() { Stopped::Broken } else { Stopped::ShutDown };
        return Err(why.into());
    }
    Ok(ReadyEvent::new(state, interest))
}
