use super::*;

const MAX: Duration = Duration::from_nanos(u64::MAX);

fn us(n: u64) -> Duration {
    Duration::from_micros(n)
}

#[test]
fn linear_buckets_count_what_is_in_their_range() {
    let histogram = Histogram::new(&HistogramConfiguration::linear(us(50), 3));
    assert_eq!(histogram.len(), 3);
    let ranges: Vec<_> = (0..3).map(|bucket| histogram.range(bucket)).collect();
    assert_eq!(ranges, [us(0)..us(50), us(50)..us(100), us(100)..MAX]);
    for nanos in [0, 49_999, 50_000, 99_999, 100_000, 100_001] {
        histogram.add(Duration::from_nanos(nanos));
    }
    histogram.add(Duration::MAX);
    let counts: Vec<_> = (0..3).map(|bucket| histogram.count(bucket)).collect();
    assert_eq!(counts, [2, 2, 3]);
}

#[test]
fn logarithmic_buckets_count_what_is_in_their_range() {
    let histogram = Histogram::new(&HistogramConfiguration::log(LogHistogram::default()));
    for bucket in 0..histogram.len() {
        histogram.add(histogram.range(bucket).start);
    }
    assert!((0..histogram.len()).all(|bucket| histogram.count(bucket) == 1));
}

#[test]
fn buckets_beyond_the_highest_number_are_empty() {
    let histogram = Histogram::new(&HistogramConfiguration::linear(Duration::MAX, 3));
    assert_eq!(histogram.range(1), MAX..MAX);
    histogram.add(us(1));
    assert_eq!(histogram.count(0), 1);
}

#[test]
#[should_panic(expected = "bucket 3 of a histogram that has 3")]
fn a_bucket_that_does_not_exist_is_refused() {
    Histogram::new(&HistogramConfiguration::linear(us(50), 3)).count(3);
}

#[test]
#[should_panic(expected = "called with a width of 0ns and 3 buckets; both must be above 0")]
fn buckets_without_width_are_refused() {
    HistogramConfiguration::linear(Duration::ZERO, 3);
}
