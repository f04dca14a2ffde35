//! How to wait for a lock that is held for a few instructions only.
//!
//! Nearly always its holder runs on another CPU and is done at once. If it does not run, because the
//! system has put its thread aside, spinning is a waste: so a waiter soon offers its CPU to others and
//! then sleeps, which lets even a holder of lower priority finish.

#[cfg(not(wakeful_loom))]
use wakeful_base::sync::hint;
use wakeful_base::sync::thread;

#[cfg(not(wakeful_loom))]
const SPIN_ROUNDS_MAX: u32 = 6;
#[cfg(not(wakeful_loom))]
const YIELD_ROUNDS_MAX: u32 = SPIN_ROUNDS_MAX + 10;
#[cfg(not(wakeful_loom))]
const SLEEP: std::time::Duration = std::time::Duration::from_micros(50);

/// Waits longer each time.
pub(crate) struct Backoff {
    round: u32,
}

impl Backoff {
    pub(crate) fn new() -> Self {
        Backoff { round: 0 }
    }

    /// Waits. True if that was a sleep: it may take longer, and who can do something else meanwhile should.
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

    // A model has no time: it only must know that somebody else has to run.
    #[cfg(wakeful_loom)]
    pub(crate) fn pause(&mut self) -> bool {
        thread::yield_now();
        std::mem::replace(&mut self.round, 1) == 1
    }
}
