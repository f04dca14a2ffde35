//! Backing off from a lock that is held for a few instructions only.
//!
//! The lock's holder nearly always runs on another CPU and unlocks at once, so the first steps
//! spin. If the holder has been preempted, spinning only wastes time. The later steps therefore
//! yield the CPU, and at last sleep, so that a holder of lower priority can run as well.

#[cfg(not(wakeful_loom))]
use wakeful_base::sync::hint;
use wakeful_base::sync::thread;

/// How many pauses spin. Pause `n` spins 2ⁿ times, so that all of them together take longer than a
/// running thread holds the lock.
#[cfg(not(wakeful_loom))]
const SPIN_ROUNDS_MAX: u32 = 6;
/// How many pauses spin or yield. Ten yields usually let a preempted holder of the same priority
/// run.
#[cfg(not(wakeful_loom))]
const YIELD_ROUNDS_MAX: u32 = SPIN_ROUNDS_MAX + 10;
/// How long each further pause sleeps: short, but enough for the kernel to run another thread.
#[cfg(not(wakeful_loom))]
const SLEEP: std::time::Duration = std::time::Duration::from_micros(50);

/// A backoff whose pauses grow longer.
pub(crate) struct Backoff {
    round: u32,
}

impl Backoff {
    pub(crate) fn new() -> Self {
        Backoff { round: 0 }
    }

    /// Pauses. Returns true if it slept: the wait may take longer, so callers with other work
    /// should do that instead.
    #[cfg(not(wakeful_loom))]
    pub(crate) fn pause(&mut self) -> bool {
        if self.round == YIELD_ROUNDS_MAX {
            thread::sleep(SLEEP);
            return true;
        }
        if self.round < SPIN_ROUNDS_MAX {
            for _ in 0..1 << self.round {
                hint::spin_loop();
            }
        } else {
            thread::yield_now();
        }
        self.round += 1;
        false
    }

    // Time does not pass in a loom model. Yielding tells loom that another thread has to run first.
    #[cfg(wakeful_loom)]
    pub(crate) fn pause(&mut self) -> bool {
        thread::yield_now();
        std::mem::replace(&mut self.round, 1) == 1
    }
}
