//! How cases measure, within the process of the sample.

use crate::os;
use serde::{Deserialize, Serialize};
use std::future::Future;
use std::time::{Duration, Instant};

/// How much work a case does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    Full,
    /// Enough to test that a case works, but too little for figures to keep.
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
    /// The metric explains others, and is neither good nor bad by itself.
    Neither,
}

/// One figure of a sample. `name` and `unit` together identify a metric of a case.
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

/// All figures of one process.
pub type Sample = Vec<Metric>;

/// How many measured turns a sample has, at least and at most. One more comes first as a warm-up.
const TURNS: (usize, usize) = (3, 31);

/// The total time of a sample's turns. If turns are short, there are enough of them that the median
/// is not affected when a CPU is away for some milliseconds, or when threads start on the wrong
/// CPU.
const TURNS_TAKE: Duration = Duration::from_millis(150);

/// Measures wall and CPU time per operation. A call of `turn` performs `operations` of them. The
/// result is the median of several turns after a warm-up.
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

/// [`time_turns`] on a thread outside a runtime.
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

/// The turns so far, including the warm-up.
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
        // A sample with a single turn has only its warm-up.
        let warm_ups = usize::from(self.wall_ns.len() > 1);
        let per_operation = |ns: &[f64]| median(&ns[warm_ups..]) / operations as f64;
        vec![
            Metric::lower_is_better("wall", "ns/op", per_operation(&self.wall_ns)),
            Metric::lower_is_better("CPU", "ns/op", per_operation(&self.cpu_ns)),
        ]
    }
}

/// Returns how many turns to measure, given the time of the first. A contender with very long turns
/// gets fewer, because of the time limit and to save time. Long turns gain little from a warm-up.
fn turns_worth_taking(first: Duration) -> usize {
    match first.as_millis() {
        0..400 => 1 + (TURNS_TAKE.div_duration_f64(first) as usize).clamp(TURNS.0, TURNS.1),
        400..1200 => 2,
        _ => 1,
    }
}

/// Returns the metrics of lateness, from values in microseconds.
pub fn lateness(mut late_us: Vec<f64>) -> Sample {
    late_us.sort_by(f64::total_cmp);
    let late = |name, share| Metric::lower_is_better(name, "us late", quantile(&late_us, share));
    vec![late("p50", 0.5), late("p99", 0.99), late("max", 1.0)]
}

/// Returns the value below which this share of the values lies. There must be at least one value.
pub fn quantile<T: Copy>(sorted: &[T], share: f64) -> T {
    sorted[((sorted.len() - 1) as f64 * share) as usize]
}

/// Returns the median, or NaN if there are no values.
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
    fn a_very_long_first_turn_is_the_only_one() {
        let mut turns = Turns::new();
        turns
            .record(TurnStart { at: Instant::now() - Duration::from_secs(2), cpu: Duration::ZERO });
        assert!(!turns.wants_more());
        let wall_ns = turns.into_sample(1)[0].value;
        assert!(wall_ns >= 2e9, "{wall_ns}");
    }
}
