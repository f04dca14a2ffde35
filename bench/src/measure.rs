//! How a case takes its figures, inside the process of its sample.

use crate::os;
use serde::{Deserialize, Serialize};
use std::future::Future;
use std::time::{Duration, Instant};

/// How much of a case is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    Full,
    /// Enough to see that a case works; too little for a figure to keep.
    Quick,
}

impl Scale {
    pub fn pick(self, full: usize, quick: usize) -> usize {
        match self {
            Scale::Full => full,
            Scale::Quick => quick,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    Lower,
    Higher,
    /// Says something about the others, and is itself neither good nor bad.
    Neither,
}

/// One figure of a sample. `name` and `unit` together tell the metrics of a case apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    pub name: String,
    pub unit: String,
    pub better: Better,
    pub value: f64,
}

impl Metric {
    pub fn lower_is_better(name: &str, unit: &str, value: f64) -> Metric {
        Metric { name: name.into(), unit: unit.into(), better: Better::Lower, value }
    }

    pub fn higher_is_better(name: &str, unit: &str, value: f64) -> Metric {
        Metric { better: Better::Higher, ..Metric::lower_is_better(name, unit, value) }
    }

    pub fn for_context(name: &str, unit: &str, value: f64) -> Metric {
        Metric { better: Better::Neither, ..Metric::lower_is_better(name, unit, value) }
    }
}

/// All that one process measured.
pub type Sample = Vec<Metric>;

/// Measured turns within one sample, at least and at most; one more goes before them to warm up.
const TURNS: (usize, usize) = (3, 31);

/// Short turns are taken for about so long in all: a CPU that is away for some milliseconds, or threads that begin on the
/// wrong one, are then no more than what the median leaves out.
const TURNS_TAKE: Duration = Duration::from_millis(150);

/// Wall and CPU time per operation of `turn`, which does `operations` of them: one turn to warm up, then the median
/// of a few.
pub async fn time_turns<F, Fut>(operations: usize, turn: F) -> Sample
where
    F: Fn() -> Fut,
    Fut: Future<Output = ()>,
{
    let mut turns = Turns::new();
    while turns.wants_more() {
        let start = TurnStart::now();
        turn().await;
        turns.record(start);
    }
    turns.into_sample(operations)
}

/// [`time_turns`] on a thread that belongs to no runtime.
pub fn time_turns_blocking(operations: usize, turn: impl Fn()) -> Sample {
    let mut turns = Turns::new();
    while turns.wants_more() {
        let start = TurnStart::now();
        turn();
        turns.record(start);
    }
    turns.into_sample(operations)
}

struct TurnStart {
    at: Instant,
    cpu: Duration,
}

impl TurnStart {
    fn now() -> TurnStart {
        TurnStart { at: Instant::now(), cpu: os::process_cpu_time() }
    }
}

/// The turns taken so far, the first (to warm up) included.
struct Turns {
    wanted: usize,
    wall_ns: Vec<f64>,
    cpu_ns: Vec<f64>,
}

impl Turns {
    fn new() -> Turns {
        Turns { wanted: 1 + TURNS.0, wall_ns: Vec::new(), cpu_ns: Vec::new() }
    }

    fn wants_more(&self) -> bool {
        self.wall_ns.len() < self.wanted
    }

    fn record(&mut self, start: TurnStart) {
        let wall = start.at.elapsed();
        let cpu = os::process_cpu_time() - start.cpu;
        if self.wall_ns.is_empty() {
            self.wanted = turns_worth_taking(wall);
        }
        self.wall_ns.push(wall.as_nanos() as f64);
        self.cpu_ns.push(cpu.as_nanos() as f64);
    }

    fn into_sample(self, operations: usize) -> Sample {
        // A sample of one turn has nothing but its warm-up to show.
        let warm_ups = usize::from(self.wall_ns.len() > 1);
        let per_operation = |ns: &[f64]| median(&ns[warm_ups..]) / operations as f64;
        vec![
            Metric::lower_is_better("wall", "ns/op", per_operation(&self.wall_ns)),
            Metric::lower_is_better("CPU", "ns/op", per_operation(&self.cpu_ns)),
        ]
    }
}

/// A contender that needs very long for a turn gets fewer, for the time limit's and the others' sake; one so slow
/// hardly gains from being warm.
fn turns_worth_taking(first: Duration) -> usize {
    match first.as_millis() {
        0..400 => 1 + (TURNS_TAKE.div_duration_f64(first) as usize).clamp(TURNS.0, TURNS.1),
        400..1200 => 2,
        _ => 1,
    }
}

/// What there is to say of how late each of many things was, in microseconds.
pub fn lateness(mut late_us: Vec<f64>) -> Sample {
    late_us.sort_by(f64::total_cmp);
    let late = |name, share| Metric::lower_is_better(name, "us late", quantile(&late_us, share));
    vec![late("p50", 0.5), late("p99", 0.99), late("max", 1.0)]
}

/// The value below which `share` of them lie, of at least one.
pub fn quantile<T: Copy>(sorted: &[T], share: f64) -> T {
    sorted[((sorted.len() - 1) as f64 * share) as usize]
}

/// NaN of nothing.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[upper],
        _ => (sorted[upper - 1] + sorted[upper]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_is_the_middle_or_between_the_two_middles() {
        assert_eq!(median(&[9.0, 1.0, 5.0]), 5.0);
        assert_eq!(median(&[8.0, 2.0, 4.0, 100.0]), 6.0);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn the_warm_up_turn_is_not_counted() {
        let turns = Turns {
            wanted: 4,
            wall_ns: vec![9000.0, 100.0, 300.0, 200.0],
            cpu_ns: vec![9000.0, 10.0, 30.0, 20.0],
        };
        let sample = turns.into_sample(10);
        assert_eq!(sample[0], Metric::lower_is_better("wall", "ns/op", 20.0));
        assert_eq!(sample[1], Metric::lower_is_better("CPU", "ns/op", 2.0));
    }

    #[test]
    fn short_turns_are_taken_more_often() {
        let turns = |ms| turns_worth_taking(Duration::from_millis(ms));
        assert_eq!([0, 1, 10, 50, 399, 400, 1200].map(turns), [32, 32, 16, 4, 4, 2, 1]);
    }

    #[test]
    fn a_first_turn_over_the_longest_step_is_the_only_one() {
        let mut turns = Turns::new();
        turns
            .record(TurnStart { at: Instant::now() - Duration::from_secs(2), cpu: Duration::ZERO });
        assert!(!turns.wants_more());
        let wall_ns = turns.into_sample(1)[0].value;
        assert!(wall_ns >= 2e9, "{wall_ns}");
    }
}
