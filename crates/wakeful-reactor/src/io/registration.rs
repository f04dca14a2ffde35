//! A descriptor's place in the driver: what sockets and pipes are built on.

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

/// A registered descriptor. Taken out when dropped, which has to be before the descriptor is closed.
#[derive(Debug)]
pub struct Registration {
    driver: Arc<IoDriver>,
    index: u32,
    /// None once taken out.
    fd: Option<RawFd>,
}

/// What a descriptor was ready for at one time.
#[derive(Debug, Clone, Copy)]
pub struct ReadyEvent {
    /// What it was ready for.
    pub ready: Ready,
    tick: u16,
}

impl ReadyEvent {
    fn new(state: IoSlotState, interest: Interest) -> ReadyEvent {
        ReadyEvent { ready: state.ready() & interest.answer(), tick: state.tick() }
    }

    /// The same, of `ready` only.
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

    /// What the descriptor is known to be ready for, of `interest`.
    pub fn ready_event(&self, interest: Interest) -> ReadyEvent {
        ReadyEvent::new(self.slot().state(), interest)
    }

    /// Takes the descriptor for `ready` before any event says so: a first operation is tried at once
    /// instead of waiting for a turn of the driver. Wakes nobody, so it comes right after `register`.
    pub fn assume_ready(&self, ready: Ready) {
        self.slot().assume(ready);
    }

    /// An operation would have had to wait: what `event` said does not hold any more. A newer event
    /// stays.
    pub fn clear(&self, event: ReadyEvent) {
        self.slot().clear(event.tick, event.ready);
    }

    /// Waits for readiness on behalf of one task for each direction: a later call with another waker
    /// takes the place of the one before.
    ///
    /// # Errors
    /// If the runtime has shut down.
    pub fn poll_ready(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
    ) -> Poll<io::Result<ReadyEvent>> {
        let unit = ready!(budget::poll_proceed(cx));
        let state = ready!(self.slot().poll(cx.waker(), direction));
        unit.made_progress();
        Poll::Ready(outcome(state, direction.interest()))
    }

    /// Runs `operation` when the descriptor is ready for it, again and again until it need not wait.
    ///
    /// # Errors
    /// Those of the operation, or that the runtime has shut down.
    pub fn poll_io<R>(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
        mut operation: impl FnMut() -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        loop {
            let event = ready!(self.poll_ready(cx, direction))?;
            match operation() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.clear(event),
                result => return Poll::Ready(result),
            }
        }
    }

    /// Runs `operation` if the descriptor is known to be ready for it.
    ///
    /// # Errors
    /// `WouldBlock` if it is not; those of the operation.
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

    /// Waits until the descriptor is ready for any of `interest`. Any number of these may wait at once.
    pub fn readiness(&self, interest: Interest) -> Readiness<'_> {
        Readiness::new(self.slot(), interest)
    }

    /// Runs `operation` when the descriptor is ready for it, again and again until it need not wait.
    ///
    /// # Errors
    /// Those of the operation, or that the runtime has shut down.
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

    /// Takes the descriptor out of the driver, while it is still open.
    ///
    /// # Errors
    /// If the kernel does not know it: it was closed, or taken out by somebody else.
    pub fn deregister(&mut self) -> io::Result<()> {
        match self.fd.take() {
            Some(fd) => self.driver.deregister(self.index, fd),
            None => Ok(()),
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // Nobody to tell; the slot is free in any case.
        let _unknown_to_the_kernel = self.deregister();
    }
}

/// What a wait for `interest` ends with in this state.
pub(super) fn outcome(state: IoSlotState, interest: Interest) -> io::Result<ReadyEvent> {
    if state.is_shutdown() {
        let why = if state.is_broken() { Stopped::Broken } else { Stopped::ShutDown };
        return Err(why.into());
    }
    Ok(ReadyEvent::new(state, interest))
}
