//! The figures of a run, and the comparisons of them.

use crate::measure::{Better, Sample, median};
use crate::suite::{Case, Contender};

/// A figure is unsteady if its largest sample is more than this many times its smallest.
const UNSTEADY_SPREAD: f64 = 1.5;

/// The probability with which a ratio lies within its bounds. A run has several hundred ratios, so
/// with a lower probability some would lie outside by chance. With up to ten rounds, the bounds
/// contain all rounds; with eleven, all but the smallest and the largest.
const CERTAINTY: f64 = 0.98;

/// One metric of one case, for all contenders.
pub struct Row<'a> {
    pub case: &'a Case,
    pub metric: String,
    pub unit: String,
    pub better: Better,
    pub cells: Vec<Cell<'a>>,
}

/// The samples of one contender, one per round.
pub struct Cell<'a> {
    pub contender: &'a Contender,
    pub samples: Vec<f64>,
}

impl Cell<'_> {
    pub fn median(&self) -> f64 {
        median(&self.samples)
    }

    pub fn is_unsteady(&self) -> bool {
        let largest = self.samples.iter().copied().fold(f64::MIN, f64::max);
        let smallest = self.samples.iter().copied().fold(f64::MAX, f64::min);
        largest > UNSTEADY_SPREAD * smallest
    }
}

impl Row<'_> {
    pub fn cell(&self, contender: &str) -> Option<&Cell<'_>> {
        self.cells.iter().find(|cell| cell.contender.name == contender)
    }

    /// Returns how many times as good as its baseline a contender is. `None` if one of the two has
    /// no figure, or if the contender has no baseline.
    pub fn ratio(&self, contender: &Contender) -> Option<f64> {
        self.ratio_between(contender.name, contender.baseline?)
    }

    /// Returns the ratio of the contender with this name.
    pub fn ratio_of(&self, contender: &str) -> Option<f64> {
        self.ratio(self.cell(contender)?.contender)
    }

    /// Returns how many times as good one contender is as the other. Above 1 is better, whether the
    /// metric should be low or high. It is the median of the ratios of the rounds: a machine whose
    /// speed changes over minutes changes it for both contenders of a round.
    pub fn ratio_between(&self, one: &str, other: &str) -> Option<f64> {
        let ratios = self.ratios_between(one, other)?;
        Some(median(&ratios)).filter(|ratio| ratio.is_finite())
    }

    /// Returns the bounds of the ratio of a contender to its baseline, as far as the rounds
    /// determine it.
    pub fn ratio_bounds(&self, contender: &Contender) -> Option<(f64, f64)> {
        median_bounds(self.ratios_between(contender.name, contender.baseline?)?)
    }

    fn ratios_between(&self, one: &str, other: &str) -> Option<Vec<f64>> {
        let rounds = self.cell(one)?.samples.iter().zip(&self.cell(other)?.samples);
        match self.better {
            Better::Lower => Some(rounds.map(|(own, others)| others / own).collect()),
            Better::Higher => Some(rounds.map(|(own, others)| own / others).collect()),
            Better::Neither => None,
        }
    }

    /// Returns the best contender, if any is better than others.
    pub fn best(&self) -> Option<&Contender> {
        self.best_among(|_| true)
    }

    /// Returns the best contender other than Wakeful.
    pub fn best_peer(&self) -> Option<&Contender> {
        self.best_among(|contender| !contender.is_wakeful())
    }

    fn best_among(&self, wanted: impl Fn(&Contender) -> bool) -> Option<&Contender> {
        let candidates = self.cells.iter().filter(|cell| wanted(cell.contender));
        let by_median = |a: &&Cell, b: &&Cell| a.median().total_cmp(&b.median());
        let best = match self.better {
            Better::Lower => candidates.min_by(by_median),
            Better::Higher => candidates.max_by(by_median),
            Better::Neither => None,
        };
        best.map(|cell| cell.contender)
    }
}

/// Returns the two values between which the median of the distribution lies, with a probability of
/// [`CERTAINTY`] if there are enough values: each value is below the median with a probability of
/// one half.
fn median_bounds(mut values: Vec<f64>) -> Option<(f64, f64)> {
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    let (mut outside, mut left_out) = (0.0, 0);
    // The probability that exactly `nth` of the values are below the median, or above it.
    let mut fall = 2.0 / 2_f64.powi(values.len() as i32);
    for nth in 0..values.len() / 2 {
        outside += fall;
        if 1.0 - outside >= CERTAINTY {
            left_out = nth;
        }
        fall *= (values.len() - nth) as f64 / (nth + 1) as f64;
    }
    Some((values[left_out], values[last - left_out]))
}

/// Adds a sample to the rows of its case.
pub fn record<'a>(
    rows: &mut Vec<Row<'a>>,
    case: &'a Case,
    contender: &'a Contender,
    sample: Sample,
) {
    for metric in sample {
        let known =
            rows.iter().position(|row| row.metric == metric.name && row.unit == metric.unit);
        let at = known.unwrap_or_else(|| {
            rows.push(Row {
                case,
                metric: metric.name,
                unit: metric.unit,
                better: metric.better,
                cells: Vec::new(),
            });
            rows.len() - 1
        });
        let cells = &mut rows[at].cells;
        match cells.iter_mut().find(|cell| cell.contender.name == contender.name) {
            Some(cell) => cell.samples.push(metric.value),
            None => cells.push(Cell { contender, samples: vec![metric.value] }),
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::measure::Metric;

    pub fn case() -> Case {
        Case::new("group/case", "what it does", |_| Vec::new())
    }

    pub fn wall(value: f64) -> Sample {
        vec![Metric::lower_is_better("wall", "ns/op", value)]
    }

    #[test]
    fn a_ratio_is_the_median_of_the_rounds_ratios() {
        let (case, base, fast) =
            (case(), Contender::new("base", &[]), Contender::new("fast", &[]).against("base"));
        let mut rows = Vec::new();
        for (theirs, own) in [(100.0, 50.0), (900.0, 100.0), (90.0, 100.0)] {
            record(&mut rows, &case, &base, wall(theirs));
            record(&mut rows, &case, &fast, wall(own));
        }
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].ratio(&fast), Some(2.0));
        assert_eq!(rows[0].ratio(&base), None);
        rows[0].better = Better::Higher;
        assert_eq!(rows[0].ratio(&fast), Some(0.5));
    }

    #[test]
    fn more_rounds_give_closer_bounds() {
        let bounds = |rounds: u32| median_bounds((1..=rounds).rev().map(f64::from).collect());
        assert_eq!(bounds(0), None);
        let with = [1, 5, 9, 11, 15].map(bounds).map(Option::unwrap);
        assert_eq!(with, [(1.0, 1.0), (1.0, 5.0), (1.0, 9.0), (2.0, 10.0), (3.0, 13.0)]);
    }

    #[test]
    fn the_best_depends_on_which_way_the_metric_points() {
        let (case, ours, peer, other) = (
            case(),
            Contender::new("wakeful-mt", &[]),
            Contender::new("peer", &[]),
            Contender::new("other", &[]),
        );
        let mut rows = Vec::new();
        record(&mut rows, &case, &ours, wall(10.0));
        record(&mut rows, &case, &peer, wall(20.0));
        record(&mut rows, &case, &other, wall(30.0));
        let names = |row: &Row| [row.best(), row.best_peer()].map(|best| best.map(|it| it.name));
        assert_eq!(names(&rows[0]), [Some("wakeful-mt"), Some("peer")]);
        rows[0].better = Better::Higher;
        assert_eq!(names(&rows[0]), [Some("other"), Some("other")]);
        rows[0].better = Better::Neither;
        assert_eq!(names(&rows[0]), [None, None]);
    }

    #[test]
    fn no_ratio_without_a_baseline_or_to_zero() {
        let (case, fast) = (case(), Contender::new("fast", &[]).against("base"));
        let mut rows = Vec::new();
        record(&mut rows, &case, &fast, wall(0.0));
        assert_eq!(rows[0].ratio(&fast), None);
        let base = Contender::new("base", &[]);
        record(&mut rows, &case, &base, wall(10.0));
        assert_eq!(rows[0].ratio(&fast), None);
    }

    #[test]
    fn a_spread_above_one_and_a_half_is_unsteady() {
        let contender = Contender::new("base", &[]);
        let unsteady = |samples: &[f64]| {
            let samples = samples.to_vec();
            Cell { contender: &contender, samples }.is_unsteady()
        };
        assert!(!unsteady(&[100.0]));
        assert!(!unsteady(&[100.0, 150.0]));
        assert!(unsteady(&[100.0, 151.0]));
    }
}
