//! The state of a oneshot channel, and every way it changes.
//!
//! | bit | set by | says |
//! |---|---|---|
//! | `RX_WAKER` | receiver | its waker lies in the receiver's slot |
//! | `TX_WAKER` | sender | its waker lies in the sender's slot |
//! | `DONE` | sender | it will not send (any more); never set after `CLOSED` |
//! | `SENT` | sender, with `DONE` | the value is in place |
//! | `TX_GONE` | sender | it will not touch the channel again |
//! | `CLOSED` | receiver | it will take nothing that is not yet sent; never set after `DONE` |
//! | `RX_GONE` | receiver | it will not touch the channel again |
//!
//! `DONE` and `CLOSED` exclude each other: whichever comes first settles how the channel ends. Each also
//! hands the other side's waker over: with `DONE` set by a transition that saw `RX_WAKER`, the receiver's
//! waker is the sender's to take, and with `CLOSED` set by one that saw `TX_WAKER`, the sender's waker is
//! the receiver's. If the bit was not there, the waker's owner finds `DONE` or `CLOSED` when it sets it
//! and takes the waker back itself. So at the end the receiver's slot is empty, and the sender's is full
//! if `TX_WAKER` is set and `CLOSED` is not.
//!
//! Who is last to be gone frees the memory. A send that nobody waits for sets `DONE`, `SENT` and
//! `TX_GONE` in one step, so that the receiver, which finds them by a load, may take the value and free the
//! memory without a further read-modify-write.

use std::fmt;

use wakeful_base::sync::atomic::{AtomicUsize, Ordering::*};

const RX_WAKER: usize = 1 << 0;
const TX_WAKER: usize = 1 << 1;
const DONE: usize = 1 << 2;
const SENT: usize = 1 << 3;
const TX_GONE: usize = 1 << 4;
const CLOSED: usize = 1 << 5;
const RX_GONE: usize = 1 << 6;

/// The state as it was at some moment.
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

/// What the sender has to do once it has tried to finish.
#[must_use]
pub(super) enum Finished {
    /// Nothing: it is gone.
    SenderLeft,
    /// Take the receiver's waker, leave, and wake.
    ReceiverWaits,
    /// Nothing was sent. Take the value back, and leave.
    ReceiverClosed,
}

/// What the receiver has to do once it has tried to close.
#[must_use]
pub(super) enum Closed {
    /// Take both sides' wakers out of their slots, so far as they are there; wake the sender.
    Now(Snapshot),
    /// Nothing: the channel was closed before.
    Before,
    /// Nothing: the sender was done before, and what it sent can still be received.
    SenderDone,
}

/// Who is to free the memory.
#[must_use]
#[derive(PartialEq, Eq)]
pub(super) enum EndsLeft {
    /// The caller, being the last.
    Both,
    /// The other side, which is still there.
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

    /// Sender: will not send any more. `with_value` if the value is in place.
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

    /// Receiver: will take nothing that is not yet sent.
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

    /// Receiver: has put its waker into its slot.
    pub(super) fn publish_rx_waker(&self) -> Snapshot {
        Snapshot(self.0.fetch_or(RX_WAKER, AcqRel))
    }

    /// Receiver: wants its waker back, which it gets unless the sender is done.
    pub(super) fn withdraw_rx_waker(&self) -> Snapshot {
        Snapshot(self.0.fetch_and(!RX_WAKER, AcqRel))
    }

    /// Sender: has put its waker into its slot.
    pub(super) fn publish_tx_waker(&self) -> Snapshot {
        Snapshot(self.0.fetch_or(TX_WAKER, AcqRel))
    }

    /// Sender: wants its waker back, which it gets unless the channel is closed.
    pub(super) fn withdraw_tx_waker(&self) -> Snapshot {
        Snapshot(self.0.fetch_and(!TX_WAKER, AcqRel))
    }

    /// Sender: will not touch the channel again.
    pub(super) fn leave_sender(&self) -> EndsLeft {
        self.leave(TX_GONE, RX_GONE)
    }

    /// Receiver: will not touch the channel again.
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
