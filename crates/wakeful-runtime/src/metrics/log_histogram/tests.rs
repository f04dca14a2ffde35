use super::*;

const fn ns(n: u64) -> Duration {
    Duration::from_nanos(n)
}

/// Histograms of all precisions and many ranges.
fn histograms() -> Vec<(LogHistogram, Duration, Duration, u32)> {
    let bounds = [1, 2, 3, 7, 8, 100, 1000, 65_536, 1_000_001, 60_000_000_000, 1 << 40];
    let mut all = Vec::new();
    for p in 0..=PRECISION_MAX {
        for (at, &min) in bounds.iter().enumerate() {
            for &max in &bounds[at..] {
                let builder = LogHistogram::builder().min_value(ns(min)).max_value(ns(max));
                all.push((builder.precision_exact(p).build(), ns(min), ns(max), p));
            }
        }
    }
    all
}

#[test]
fn the_buckets_cover_all_values_once() {
    for (histogram, ..) in histograms() {
        let mut end = 0;
        for bucket in 0..histogram.buckets() {
            let range = histogram.range(bucket);
            assert_eq!(range.start, end, "{histogram:?}: bucket {bucket}");
            assert!(range.end > range.start, "{histogram:?}: bucket {bucket} is empty");
            for value in [range.start, range.end - 1] {
                assert_eq!(histogram.bucket_of(value), bucket, "{histogram:?}: {value}");
            }
            end = range.end;
        }
        assert_eq!(end, u64::MAX, "{histogram:?}");
    }
}

#[test]
fn the_range_and_the_precision_are_as_asked() {
    for (histogram, min, max, p) in histograms() {
        let (first, last) = (histogram.range(0), histogram.range(histogram.buckets() - 1));
        assert!(ns(first.end) <= min.max(ns(1)), "{histogram:?}: {first:?}, {min:?}");
        assert!(ns(last.start) >= max, "{histogram:?}: {last:?}, {max:?}");
        assert_eq!(histogram.max_value(), last.start);
        for bucket in 1..histogram.buckets() - 1 {
            let range = histogram.range(bucket);
            let width = range.end - range.start;
            assert!(width.is_power_of_two(), "{histogram:?}: {range:?}");
            assert!(width << p <= range.start || width == 1, "{histogram:?}: {range:?}");
            assert!(ns(range.start) < max, "{histogram:?}: {range:?} is not needed");
        }
    }
}

#[test]
fn the_defaults_and_limits_are_those_of_tokio() {
    assert_eq!(LogHistogram::default().buckets(), 119);
    assert_eq!(LogHistogram::default().range(0), 0..96);
    assert_eq!(LogHistogram::default().range(1), 96..112);
    let required = |builder: &mut LogHistogramBuilder| match builder.max_buckets(5) {
        Err(InvalidHistogramConfiguration::TooManyBuckets { required_bucket_count }) => {
            required_bucket_count
        }
        Ok(histogram) => panic!("{histogram:?}"),
    };
    assert_eq!(required(&mut LogHistogram::builder().max_error(0.001)), 27_291);
    let finest = LogHistogram::builder().max_error(0.000_1);
    assert_eq!(finest.build(), LogHistogram::builder().precision_exact(10).build());
    let coarsest = LogHistogram::builder().max_error(0.9);
    assert_eq!(coarsest.build(), LogHistogram::default());
}

#[test]
fn raw_indices_are_those_of_the_table() {
    let starts = [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32];
    for (index, start) in starts.into_iter().enumerate() {
        assert_eq!(raw_index(start, 2), index as u64);
        assert_eq!(raw_start(index as u64, 2), start);
    }
    assert_eq!(raw_start(raw_index(u64::MAX, 2) + 1, 2), u64::MAX);
}

#[test]
fn doubling_buckets_double() {
    let histogram = LogHistogram::doubling(50_000, 4);
    let ranges: Vec<_> = (0..4).map(|bucket| histogram.range(bucket)).collect();
    let first = 65_536;
    assert_eq!(ranges, [0..first, first..2 * first, 2 * first..4 * first, 4 * first..u64::MAX]);
    let finest = LogHistogram::doubling(1, 10);
    assert_eq!((finest.range(0), finest.range(1), finest.range(2)), (0..1, 1..2, 2..4));
    // More buckets than there are powers of two.
    let long = LogHistogram::doubling(1 << 60, 10);
    assert_eq!(long.range(9), u64::MAX..u64::MAX);
    assert_eq!(long.bucket_of(u64::MAX), 4);
}

#[test]
fn extreme_settings_build() {
    let all = LogHistogram::builder().min_value(ns(0)).max_value(Duration::MAX).build();
    assert_eq!(all.bucket_of(u64::MAX), all.buckets() - 2);
    assert_eq!(all.range(0), 0..1);
    let two = LogHistogram::builder().min_value(ns(1)).max_value(ns(1)).build();
    assert_eq!((two.buckets(), two.range(0), two.range(1)), (2, 0..1, 1..u64::MAX));
}

#[test]
#[should_panic(expected = "`min_value` of 1s above the `max_value` of 1ms")]
fn a_range_without_values_is_refused() {
    LogHistogram::builder()
        .min_value(Duration::from_secs(1))
        .max_value(Duration::from_millis(1))
        .build();
}

#[test]
#[should_panic(expected = "called with NaN: max_error must be greater than 0 and less than 1")]
fn an_error_that_is_no_number_is_refused() {
    LogHistogram::builder().max_error(f64::NAN);
}
