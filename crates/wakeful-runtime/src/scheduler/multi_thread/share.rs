//! Which of a worker's tasks others may have.
//!
//! A task that moves to another worker finds nothing it needs in the cache there, and one that talks with
//! others pays for that again and again; if the other worker has to be woken, that costs more than most
//! tasks take. So what a worker gets to soon stays with it. How long it will take for what waits in its
//! queue, by the time that polls took of late, decides:
//!
//! | queue worth | |
//! |---|---|
//! | less than [`TAKE_NS`] | nobody takes from it |
//! | less than [`CALL_NS`] | who is awake and has nothing to do takes from it |
//! | less than [`CALL_CROWDED_NS`] | somebody is called to do so, if there is a CPU for him ([`Crowd`]) |
//! | more | somebody is called |
//!
//! The estimate follows a long poll at once and forgets it slowly, so that a worker with one such poll in
//! a thousand still shares. Where it is known that others should help it is set aside ([`Load::open`]): by
//! the monitor, for a poll that does not return, and by tasks that yield, which have more to do and wait
//! for nobody.
//!
//! (A channel with room for 100 between two tasks: 18 ns per message instead of 27, all CPUs together 18
//! instead of 46. HTTP on 64 connections: 5 % more requests.)

use super::sitter::Sitter;
use std::time::Instant;
use wakeful_base::sync::atomic::{AtomicU64, Ordering::*};

/// What a task's move costs.
const TAKE_NS: u64 = if cfg!(wakeful_loom) { 0 } else { 10_000 };

/// Some times what it costs to wake a thread: what waits should not be done before it comes.
const CALL_NS: u64 = if cfg!(wakeful_loom) { 0 } else { 100_000 };

/// If no CPU is free, somebody comes at the cost of somebody else.
const CALL_CROWDED_NS: u64 = 10 * CALL_NS;

/// A poll is taken to last so long where nothing is known, so that somebody is called for any task.
const OPEN_NS: u64 = CALL_NS;

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

    /// Whether who has nothing to do should take of `count` tasks that wait here.
    #[inline]
    pub(super) fn is_worth_taking(&self, count: usize) -> bool {
        count > 0 && self.worth_ns(count) >= TAKE_NS
    }

    /// Whether somebody should be called to take of `count` tasks that wait here.
    #[inline]
    pub(super) fn is_worth_calling(&self, count: usize) -> bool {
        count > 0 && self.worth_ns(count) >= CALL_NS
    }

    /// Whether that holds even if he takes the CPU from somebody.
    fn is_worth_a_cpu(&self, count: usize) -> bool {
        self.worth_ns(count) >= CALL_CROWDED_NS
    }

    fn worth_ns(&self, count: usize) -> u64 {
        self.mean_poll_ns.load(Relaxed).saturating_mul(count as u64)
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
    /// Whether somebody should be called now to take of `count` tasks that wait here.
    pub(super) fn should_call_for(&self, count: usize) -> bool {
        let load = &self.seat().load;
        self.shared.idle.wants_wake()
            && load.is_worth_calling(count)
            && (load.is_worth_a_cpu(count) || !self.shared.crowd.is_crowded())
    }

    /// Lets idle workers have what this one does not get to.
    #[cold]
    pub(super) fn share_work(&self) {
        let Some(mut core) = self.enter() else { return };
        if core.gathered.goes_on() {
            return;
        }
        let seat = self.seat();
        let held_back = core.queue.held_back();
        if !self.should_call_for(seat.queue.len() + held_back) {
            return;
        }
        if seat.queue.is_empty() && held_back > 1 {
            core.queue.share_batch(&seat.queue);
        }
        drop(core);
        if !seat.queue.is_empty() {
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
        assert!(load.is_worth_calling(1) && !load.is_worth_taking(0));
        load.measured(100);
        assert!(!load.is_worth_calling(1) && load.is_worth_taking(1));
        for _ in 0..100 {
            load.measured(100);
        }
        assert!(!load.is_worth_taking(50) && load.is_worth_taking(125));
        assert!(!load.is_worth_calling(500) && load.is_worth_calling(1250));
        load.measured(50_000);
        assert!(!load.is_worth_calling(1) && load.is_worth_calling(2));
    }

    #[test]
    fn a_seat_that_is_opened_shares_a_single_task() {
        let load = Load::new();
        for _ in 0..100 {
            load.measured(1);
        }
        assert!(!load.is_worth_taking(2));
        load.open();
        assert!(load.is_worth_taking(1) && load.is_worth_calling(1));
    }

    #[test]
    fn a_queue_without_end_is_worth_sharing() {
        let load = Load::new();
        load.measured(u64::MAX);
        assert!(load.is_worth_calling(usize::MAX));
    }
}
