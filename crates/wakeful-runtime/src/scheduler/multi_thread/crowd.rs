//! Whether there is a CPU for another worker.
//!
//! A worker that is called for more than it takes to wake it up helps only if there is a CPU for it. If
//! all are busy, it takes one from somebody: from another worker, or from the very program that waits for
//! our answer. How many threads of the machine want to run is in `/proc/loadavg`; a look costs a
//! microsecond, so there is one every [`LOOK_EVERY`] at most, and only while it matters. Of how many the others are
//! a mean is kept, since one that runs for a moment is no crowd: the monitor, say, or a thread of the kernel's. How
//! many of our own workers are awake is known.
//!
//! (`tcp_echo` in `bench/`, 64 connections on 2 CPUs, one of which their other ends keep busy: 1.10 to 1.17
//! times Tokio's requests instead of 0.98, and a p99 of two thirds of Tokio's instead of 1.4 times that.)

use crate::scheduler::cpus::{cpus, online_cpus};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use wakeful_base::sync::atomic::{AtomicU64, Ordering::*};

const LOOK_EVERY: Duration = Duration::from_micros(100);

/// What was seen so long ago does not count any more.
const FORGET_AFTER: Duration = Duration::from_millis(10);

/// Parts of a thread in which the mean is kept.
const ONE: u64 = 256;

pub(super) struct Crowd {
    /// Where to look. None where that would tell nothing: who may not use all CPUs, or not all of the time,
    /// does not learn from it whether there is one for him.
    source: Option<&'static File>,
    cpus: u64,
    /// How many threads that are no workers of ours want to run.
    others: AtomicU64,
    begun: Instant,
    /// When the last look was, since then.
    looked_ns: AtomicU64,
}

impl Crowd {
    pub(super) fn new() -> Crowd {
        Crowd {
            source: source(),
            cpus: cpus() as u64,
            others: AtomicU64::new(0),
            begun: Instant::now(),
            looked_ns: AtomicU64::new(0),
        }
    }

    /// Whether others and so many workers, the caller among them, keep all CPUs busy.
    pub(super) fn is_full(&self, workers_awake: usize) -> bool {
        self.wanting(workers_awake) + ONE / 2 > self.cpus * ONE
    }

    /// Whether there are more of them than CPUs.
    pub(super) fn is_overfull(&self, workers_awake: usize) -> bool {
        self.wanting(workers_awake) > self.cpus * ONE + ONE / 4 * 3
    }

    /// How many want to run, in parts of a thread.
    fn wanting(&self, workers_awake: usize) -> u64 {
        let Some(source) = self.source else { return 0 };
        let now_ns = self.begun.elapsed().as_nanos() as u64;
        let since_ns = now_ns.saturating_sub(self.looked_ns.load(Relaxed));
        let own = workers_awake as u64;
        if since_ns >= LOOK_EVERY.as_nanos() as u64 {
            // Two who look at once do no harm.
            self.looked_ns.store(now_ns, Relaxed);
            let seen = runnable_threads(source).unwrap_or(0).saturating_sub(own) * ONE;
            let is_old = since_ns >= FORGET_AFTER.as_nanos() as u64;
            let before = self.others.load(Relaxed);
            // What was seen once is half believed.
            let others = if is_old { seen / 2 } else { before - before / 8 + seen / 8 };
            self.others.store(others, Relaxed);
        }
        self.others.load(Relaxed) + own * ONE
    }
}

/// One for all runtimes of the process.
fn source() -> Option<&'static File> {
    static SOURCE: OnceLock<Option<File>> = OnceLock::new();
    let open = || {
        let is_ours = !cfg!(wakeful_loom) && online_cpus() == Some(cpus());
        is_ours.then(|| File::open("/proc/loadavg").ok()).flatten()
    };
    SOURCE.get_or_init(open).as_ref()
}

fn runnable_threads(source: &File) -> Option<u64> {
    let mut text = [0; 64];
    let length = source.read_at(&mut text, 0).ok()?;
    runnable_in(std::str::from_utf8(&text[..length]).ok()?)
}

/// The fourth field: how many want to run, of how many there are.
fn runnable_in(loadavg: &str) -> Option<u64> {
    loadavg.split(' ').nth(3)?.split('/').next()?.parse().ok()
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_runnable_threads_is_understood() {
        assert_eq!(runnable_in("0.83 1.90 2.57 3/412 12345\n"), Some(3));
        assert_eq!(runnable_in("0.83 1.90 2.57"), None);
        assert_eq!(runnable_in("a b c d/e f"), None);
        assert_eq!(runnable_in(""), None);
    }

    fn crowd_of(others: u64) -> Crowd {
        let crowd = Crowd { cpus: 2, ..Crowd::new() };
        crowd.others.store(others, Relaxed);
        // The last look was in the future, so there is none now.
        crowd.looked_ns.store(u64::MAX, Relaxed);
        crowd
    }

    #[test]
    fn our_own_workers_count_while_they_are_awake() {
        let alone = crowd_of(0);
        if alone.source.is_some() {
            assert!(!alone.is_full(1) && alone.is_full(2) && !alone.is_overfull(2));
            let beside_one = crowd_of(ONE);
            assert!(beside_one.is_full(1) && !beside_one.is_overfull(1));
            assert!(beside_one.is_overfull(2));
        }
    }

    #[test]
    fn what_is_old_is_forgotten_and_what_is_new_half_believed() {
        let crowd = Crowd { begun: Instant::now() - FORGET_AFTER, ..crowd_of(1 << 40) };
        crowd.looked_ns.store(0, Relaxed);
        if crowd.source.is_some() {
            let (wanting, seen) = (crowd.wanting(0), crowd.others.load(Relaxed));
            assert_eq!(wanting, seen);
            assert!(seen >= ONE / 2, "this thread runs");
            assert!(seen < 1 << 30);
        }
    }

    #[test]
    fn without_a_source_there_is_always_room() {
        let crowd = Crowd { source: None, ..crowd_of(1 << 40) };
        assert!(!crowd.is_full(1 << 20) && !crowd.is_overfull(1 << 20));
    }
}
