//! How far apart the CPUs are.
//!
//! The host of a virtual machine moves its CPUs: to two cores that share a cache, to two that do not, to two halves of one core.
//! What crosses between them then costs several times as much or half as much, for seconds, and a sample that falls
//! into such a time is one of another machine. It is taken again.

use crate::measure::median;
use crate::os;
use std::hint;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// So many ways there and back; as many again go before them, until both sides are there.
const CROSSINGS: u64 = 2_000;

/// Looks at the start, from which it is known what is usual, and what lies between them.
const FIRST_LOOKS: usize = 21;
const FIRST_LOOKS_APART: Duration = Duration::from_millis(20);

/// A crossing that costs so many times as much as is usual, or that part of it, is one of another machine.
const UNUSUAL: f64 = 1.5;

/// How often a sample is taken again, at most.
const RETAKES: u32 = 3;

/// What is known of the CPUs' distance in a run.
pub struct Placement {
    /// All that were seen, in nanoseconds. Empty where there is no second CPU.
    seen: Vec<f64>,
    pub samples: usize,
    /// Samples that were thrown away.
    pub retaken: usize,
    /// Samples that count although the CPUs were placed otherwise than usual.
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

    /// Takes a sample while the CPUs are where they usually are, if a few tries are enough for that.
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

/// How long a cache line takes from the first CPU to the last and back.
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
    // Both on threads of their own, since the caller's must stay free to go where it likes.
    thread::scope(|scope| {
        scope.spawn(|| play(0, 0));
        let last = scope.spawn(|| play(os::cpus() - 1, 1));
        last.join().expect("nothing there can panic")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn usually(crossing: f64) -> Placement {
        Placement { seen: vec![crossing; 99], samples: 0, retaken: 0, unusual: 0 }
    }

    /// Which sample counts in the end, if these are the crossings' costs.
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
    fn one_that_stays_unusual_counts_after_a_few_tries() {
        let mut placement = usually(60.0);
        assert_eq!(taken(&mut placement, &[300.0; 8]), 1 + RETAKES);
        assert_eq!((placement.samples, placement.retaken, placement.unusual), (1, 3, 1));
    }

    #[test]
    fn what_lasts_becomes_usual() {
        let mut placement = usually(60.0);
        for _ in 0..20 {
            taken(&mut placement, &[300.0; 8]);
        }
        assert_eq!(taken(&mut placement, &[300.0, 310.0]), 1);
    }

    #[test]
    fn with_one_cpu_there_is_nothing_to_look_at() {
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
