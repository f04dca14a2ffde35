//! Which of a worker's tasks others may have.
//!
//! A task that moves to another worker costs a wake-up, and finds nothing it needs in the cache there; a
//! task that talks with others pays for that again and again. So what a worker gets to soon stays with it:
//! nobody is woken for its queue, and nobody takes from it, unless what waits there would keep it busy for
//! [`WORTH_NS`] by the time that polls took of late. That estimate follows a long poll at once and forgets
//! it slowly, so that a worker with one such poll in a thousand still shares.
//!
//! Where it is known that others should help, the estimate is set aside ([`Load::open`]): by a poll that
//! does not return, as the monitor sees it, or by tasks that yield, which have more to do and wait for
//! nobody.
//!
//! (Two tasks with a channel of 100 between them: 17 ns per message instead of 26, and 46 of CPU time.)

use super::sitter::Sitter;
use std::time::Instant;
use wakeful_base::sync::atomic::{AtomicU64, Ordering::*};

/// What a queue must hold to be worth sharing: about what it costs to wake a thread.
const WORTH_NS: u64 = if cfg!(wakeful_loom) { 0 } else { 20_000 };

/// A poll is taken to last so long where nothing is known, which makes any task worth sharing.
const OPEN_NS: u64 = 100_000;

/// What part of the estimate a shorter measurement replaces.
const FORGET_SHIFT: u32 = 3;

/// How long polls take on a seat, as all can see.
pub(super) struct Load {
    /// Written by the sitter, and by who opens it; nothing depends on which of them is last.
    mean_poll_ns: AtomicU64,
}

impl Load {
    pub(super) fn new() -> Load {
        Load { mean_poll_ns: AtomicU64::new(OPEN_NS) }
    }

    /// Whether others should have of `count` tasks that wait here.
    #[inline]
    pub(super) fn is_worth_sharing(&self, count: usize) -> bool {
        count > 0 && self.mean_poll_ns.load(Relaxed).saturating_mul(count as u64) >= WORTH_NS
    }

    /// Others are to have whatever waits here.
    pub(super) fn open(&self) {
        if self.mean_poll_ns.load(Relaxed) < OPEN_NS {
            self.mean_poll_ns.store(OPEN_NS, Relaxed);
        }
    }

    /// Polls took that long on average since the last time.
    pub(super) fn measured(&self, mean_ns: u64) {
        let before = self.mean_poll_ns.load(Relaxed);
        let slowly = before - (before >> FORGET_SHIFT) + (mean_ns >> FORGET_SHIFT);
        self.mean_poll_ns.store(slowly.max(mean_ns), Relaxed);
    }
}

impl Sitter {
    /// Lets idle workers have what this one does not get to.
    #[cold]
    pub(super) fn share_work(&self) {
        let Some(mut core) = self.enter() else { return };
        if core.gathered.goes_on() {
            return;
        }
        let seat = self.seat();
        let held_back = core.queue.held_back();
        if !seat.load.is_worth_sharing(seat.queue.len() + held_back) {
            return;
        }
        if seat.queue.is_empty() && held_back > 1 {
            core.queue.share_batch(&seat.queue);
        }
        drop(core);
        if !seat.queue.is_empty() && self.shared.idle.wants_wake() {
            self.shared.wake_worker();
        }
    }

    /// Takes the time of the polls since the last time.
    pub(super) fn measure_polls(&self, now: Instant) {
        let Some(mut core) = self.enter() else { return };
        if let Some(mean_ns) = core.inject_pace.measure(self.seat().metrics.polls.get(), now) {
            self.seat().load.measured(mean_ns);
        }
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    #[test]
    fn short_polls_are_trusted_slowly_and_a_long_one_is_believed_at_once() {
        let load = Load::new();
        assert!(load.is_worth_sharing(1) && !load.is_worth_sharing(0));
        for _ in 0..5 {
            load.measured(100);
        }
        assert!(load.is_worth_sharing(1));
        for _ in 0..100 {
            load.measured(100);
        }
        assert!(!load.is_worth_sharing(50));
        assert!(load.is_worth_sharing(250));
        load.measured(25_000);
        assert!(load.is_worth_sharing(1));
    }

    #[test]
    fn a_seat_that_is_opened_shares_a_single_task() {
        let load = Load::new();
        for _ in 0..100 {
            load.measured(1);
        }
        assert!(!load.is_worth_sharing(2));
        load.open();
        assert!(load.is_worth_sharing(1));
    }

    #[test]
    fn a_queue_without_end_is_worth_sharing() {
        let load = Load::new();
        load.measured(u64::MAX);
        assert!(load.is_worth_sharing(usize::MAX));
    }
}
