//! The state of a oneshot channel, and all its transitions.
//!
//! | bit | set by | meaning |
//! |---|---|---|
//! | `RX_WAKER` | receiver | its waker is in the receiver's slot |
//! | `TX_WAKER` | sender | its waker is in the sender's slot |
//! | `DONE` | sender | it has sent or will never send; never set after `CLOSED` |
//! | `SENT` | sender, with `DONE` | the value is in the cell |
//! | `TX_GONE` | sender | it will not touch the channel again |
//! | `CLOSED` | receiver | it accepts no value that is not yet sent; never set after `DONE` |
//! | `RX_GONE` | receiver | it will not touch the channel again |
//!
//! `DONE` and `CLOSED` exclude each other: the one that is set first decides how the channel ends.
//! Each also hands over the other side's waker. If the transition that set `DONE` saw `RX_WAKER`,
//! the sender takes the receiver's waker; if the transition that set `CLOSED` saw `TX_WAKER`, the
//! receiver takes the sender's waker. If the bit was not set, the waker's owner finds `DONE` or
//! `CLOSED` when it sets the bit, and takes its waker back. So once both ends have left, the
//! receiver's slot is empty, and the sender's slot is full only if `TX_WAKER` is set and `CLOSED`
//! is not.
//!
//! The end that leaves last frees the memory. A send to a receiver that has no waker registered
//! sets `DONE`, `SENT` and `TX_GONE` in one step, so that the receiver, which finds all three by a
//! load, takes the value and frees the memory without another read-modify-write.

use std::fmt;

use wakeful_base::sync::atomic::{AtomicUsize, Ordering::*};

const RX_WAKER: usize = 1 << 0;
const TX_WAKER: usize = 1 << 1;
const DONE: usize = 1 << 2;
const SENT: usize = 1 << 3;
const TX_GONE: usize = 1 << 4;
const CLOSED: usize = 1 << 5;
const RX_GONE: usize = 1 << 6;

/// A snapshot of the state.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Snapshot(usize);

impl Snapshot {
    pub(super) fn is_done(self) -> bool {
        self.0 & DONE != 0
    }

    pub(super) fn is_sent(self) -> bool {
        self.0 & SENT != 0
    }

    pub(super) fn is_closed(self) -> bool {
        self.0 & CLOSED != 0
    }

    pub(super) fn has_rx_waker(self) -> bool {
        self.0 & RX_WAKER != 0
    }

    pub(super) fn has_tx_waker(self) -> bool {
        self.0 & TX_WAKER != 0
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("is_complete", &self.is_done())
            .field("is_closed", &self.is_closed())
            .field("is_rx_task_set", &self.has_rx_waker())
            .field("is_tx_task_set", &self.has_tx_waker())
            .finish()
    }
}

/// What the sender has to do after it has tried to finish.
#[must_use]
pub(super) enum Finished {
    /// Nothing. It has also left the cell.
    SenderLeft,
    /// Take the receiver's waker, leave the cell, and wake the receiver.
    ReceiverWaits,
    /// Take the value back and leave the cell: the receiver closed first.
    ReceiverClosed,
}

/// What the receiver has to do after it has tried to close.
#[must_use]
pub(super) enum Closed {
    /// Take the wakers that the snapshot has out of their slots, and wake the sender.
    Now(Snapshot),
    /// Nothing. The channel was already closed.
    Before,
    /// Nothing. The sender finished first, and what it sent can still be received.
    SenderDone,
}

/// How many ends have left the cell, the caller included.
#[must_use]
#[derive(PartialEq, Eq)]
pub(super) enum EndsLeft {
    /// The caller left last, and has to free the memory.
    Both,
    /// The other end is still there, and will free the memory.
    One,
}

pub(super) struct OneshotState(AtomicUsize);

impl OneshotState {
    pub(super) fn new() -> Self {
        OneshotState(AtomicUsize::new(0))
    }

    #[inline]
    pub(super) fn load(&self) -> Snapshot {
        Snapshot(self.0.load(Acquire))
    }

    /// Sender: finishes. `with_value` says that the value is in the cell.
    #[inline]
    pub(super) fn finish(&self, with_value: bool) -> Finished {
        let done = if with_value { DONE | SENT } else { DONE };
        let mut state = self.0.load(Relaxed);
        loop {
            if state & CLOSED != 0 {
                return Finished::ReceiverClosed;
            }
            let waits = state & RX_WAKER != 0;
            let next = if waits { state | done } else { state | done | TX_GONE };
            match self.0.compare_exchange_weak(state, next, AcqRel, Relaxed) {
                Ok(_) if waits => return Finished::ReceiverWaits,
                Ok(_) => return Finished::SenderLeft,
                Err(now) => state = now,
            }
        }
    }

    /// Receiver: closes the channel, unless the sender has finished or it is closed already.
    pub(super) fn close(&self) -> Closed {
        let mut state = self.load().0;
        loop {
            if state & DONE != 0 {
                return Closed::SenderDone;
            }
            if state & CLOSED != 0 {
                return Closed::Before;
            }
            match self.0.compare_exchange_weak(state, state | CLOSED, AcqRel, Acquire) {
                Ok(before) => return Closed::Now(Snapshot(before)),
                Err(now) => state = now,
            }
        }
    }

    /// Receiver: publishes the waker it has put into its slot.
    pub(super) fn publish_rx_waker(&self) -> Snapshot {
        Snapshot(self.0.fetch_or(RX_WAKER, AcqRel))
    }

    /// Receiver: takes back its waker. It fails if the returned state is done: the sender then
    /// takes the waker.
    pub(super) fn withdraw_rx_waker(&self) -> Snapshot {
        Snapshot(self.0.fetch_and(!RX_WAKER, AcqRel))
    }

    /// Sender: publishes the waker it has put into its slot.
    pub(super) fn publish_tx_waker(&self) -> Snapshot {
        Snapshot(self.0.fetch_or(TX_WAKER, AcqRel))
    }

    /// Sender: takes back its waker. It fails if the returned state is closed: the receiver then
    /// takes the waker.
    pub(super) fn withdraw_tx_waker(&self) -> Snapshot {
        Snapshot(self.0.fetch_and(!TX_WAKER, AcqRel))
    }

    /// Sender: leaves. It must not touch the cell afterwards.
    pub(super) fn leave_sender(&self) -> EndsLeft {
        self.leave(TX_GONE, RX_GONE)
    }

    /// Receiver: leaves. It must not touch the cell afterwards.
    #[inline]
    pub(super) fn leave_receiver(&self) -> EndsLeft {
        self.leave(RX_GONE, TX_GONE)
    }

    #[inline]
    fn leave(&self, own: usize, other: usize) -> EndsLeft {
        let alone = self.0.load(Acquire) & other != 0 || self.0.fetch_or(own, AcqRel) & other != 0;
        if alone { EndsLeft::Both } else { EndsLeft::One }
    }
}
