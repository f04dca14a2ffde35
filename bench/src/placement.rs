//! Detects when the host of a virtual machine moves its CPUs.
//!
//! The host may place them on two cores that share a cache, on two that do not, or on two threads
//! of one core. Communication between the CPUs then costs several times more or less, for seconds.
//! A sample from such a time would be one of another machine, so it is taken again. See
//! bench/NOTES.md.

use crate::measure::median;
use crate::os;
use std::hint;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How many round trips are measured. As many come first, as a warm-up of both threads.
const CROSSINGS: u64 = 2_000;

/// How many measurements at the start determine the usual round trip, and the pause between them.
const FIRST_LOOKS: usize = 21;
const FIRST_LOOKS_APART: Duration = Duration::from_millis(20);

/// A round trip that takes this many times as long as usual, or this fraction of it, is unusual.
const UNUSUAL: f64 = 1.5;

/// How often a sample is taken again at most.
const RETAKES: u32 = 3;

/// The round-trip times between CPUs in a run.
pub struct Placement {
    /// All measured times, in nanoseconds. Empty if there is only one CPU.
    seen: Vec<f64>,
    pub samples: usize,
    /// Samples that were discarded.
    pub retaken: usize,
    /// Samples that count although the placement was unusual.
    pub unusual: usize,
}

impl Placement {
    pub fn look_around() -> Placement {
        let look = |_| {
            thread::sleep(FIRST_LOOKS_APART);
            crossing_ns()
        };
        let seen = if os::cpus() < 2 { Vec::new() } else { (0..FIRST_LOOKS).map(look).collect() };
        Placement { seen, samples: 0, retaken: 0, unusual: 0 }
    }

    /// Takes a sample while the placement is the usual one. After [`RETAKES`] retries it accepts
    /// any.
    pub fn sample<T>(&mut self, take: impl Fn() -> T) -> T {
        self.sample_with(crossing_ns, take)
    }

    fn sample_with<T>(&mut self, mut look: impl FnMut() -> f64, take: impl Fn() -> T) -> T {
        self.samples += 1;
        if self.seen.is_empty() {
            return take();
        }
        let mut tries = 0;
        loop {
            let before = self.is_usual(look());
            let sample = take();
            let after = self.is_usual(look());
            if before && after {
                return sample;
            }
            if tries == RETAKES {
                self.unusual += 1;
                return sample;
            }
            tries += 1;
            self.retaken += 1;
        }
    }

    fn is_usual(&mut self, crossing: f64) -> bool {
        self.seen.push(crossing);
        let usual = median(&self.seen);
        (usual / UNUSUAL..=usual * UNUSUAL).contains(&crossing)
    }
}

/// Returns how long a cache line takes from the first CPU to the last one and back.
fn crossing_ns() -> f64 {
    let ball = AtomicU64::new(0);
    let play = |cpu, first: u64| {
        os::pin_to_cpu(cpu);
        let mut begun = Instant::now();
        for nth in 0..2 * CROSSINGS {
            if nth == CROSSINGS {
                begun = Instant::now();
            }
            let turn = 2 * nth + first;
            while ball.load(Ordering::Acquire) != turn {
                hint::spin_loop();
            }
            ball.store(turn + 1, Ordering::Release);
        }
        begun.elapsed().as_nanos() as f64 / CROSSINGS as f64
    };
    // Runs both sides on new threads, because the caller's thread must not be pinned.
    thread::scope(|scope| {
        scope.spawn(|| play(0, 0));
        let last = scope.spawn(|| play(os::cpus() - 1, 1));
        last.join().expect("the thread does not panic")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn usually(crossing: f64) -> Placement {
        Placement { seen: vec![crossing; 99], samples: 0, retaken: 0, unusual: 0 }
    }

    /// Returns the number of the sample that counts, for these round-trip times.
    fn taken(placement: &mut Placement, crossings: &[f64]) -> u32 {
        let mut crossings = crossings.iter().copied();
        let nth = Cell::new(0);
        let take = || {
            nth.set(nth.get() + 1);
            nth.get()
        };
        placement.sample_with(|| crossings.next().unwrap(), take)
    }

    #[test]
    fn a_sample_of_another_placement_is_taken_again() {
        let mut placement = usually(60.0);
        assert_eq!(taken(&mut placement, &[60.0, 65.0]), 1);
        assert_eq!(taken(&mut placement, &[60.0, 300.0, 300.0, 60.0, 31.0, 60.0, 50.0, 70.0]), 4);
        assert_eq!((placement.samples, placement.retaken, placement.unusual), (2, 3, 0));
    }

    #[test]
    fn a_sample_counts_after_several_unusual_tries() {
        let mut placement = usually(60.0);
        assert_eq!(taken(&mut placement, &[300.0; 8]), 1 + RETAKES);
        assert_eq!((placement.samples, placement.retaken, placement.unusual), (1, 3, 1));
    }

    #[test]
    fn a_lasting_placement_becomes_usual() {
        let mut placement = usually(60.0);
        for _ in 0..20 {
            taken(&mut placement, &[300.0; 8]);
        }
        assert_eq!(taken(&mut placement, &[300.0, 310.0]), 1);
    }

    #[test]
    fn one_cpu_has_no_placement() {
        let mut placement = Placement { seen: Vec::new(), ..usually(0.0) };
        assert_eq!(taken(&mut placement, &[]), 1);
    }

    #[test]
    fn a_crossing_takes_some_time() {
        if os::cpus() > 1 {
            assert!(crossing_ns() > 1.0);
        }
    }
}
