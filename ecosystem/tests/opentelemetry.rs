//! The SDK of OpenTelemetry: the runtime's metrics as observable instruments.

use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::metrics::{Meter, MeterProvider};
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData, ResourceMetrics};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, SdkMeterProvider};
use tokio::runtime::{Builder, HistogramConfiguration, RuntimeMetrics};
use tokio::task::yield_now;

#[test]
fn the_metrics_of_a_runtime_are_exported() {
    ecosystem::within_limit(|| {
        let exporter = InMemoryMetricExporter::default();
        let provider = SdkMeterProvider::builder().with_periodic_exporter(exporter.clone()).build();
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .enable_metrics_poll_time_histogram()
            .metrics_poll_time_histogram_configuration(HistogramConfiguration::linear(
                Duration::from_millis(100),
                2,
            ))
            .build()
            .unwrap();
        export(&provider.meter("wakeful"), &runtime.metrics());
        let waits = runtime.spawn(std::future::pending::<()>());
        for _ in 0..10 {
            let task = runtime.spawn(async {
                for _ in 0..3 {
                    yield_now().await;
                }
            });
            runtime.block_on(task).unwrap();
        }
        waits.abort();
        runtime.block_on(waits).unwrap_err();

        provider.force_flush().unwrap();
        let exported = exporter.get_finished_metrics().unwrap();
        let last = exported.last().unwrap();
        assert_eq!(sum(last, "wakeful.tasks.spawned"), 11);
        assert_eq!(gauge(last, "wakeful.tasks.alive"), 0);
        // Whether the pending task was polled before its end is left open.
        let polls = sum(last, "wakeful.polls");
        assert!((40..=42).contains(&polls), "{polls}");
        provider.shutdown().unwrap();
    });
}

/// Registers instruments that read `metrics` whenever they are exported.
fn export(meter: &Meter, metrics: &RuntimeMetrics) {
    let of = metrics.clone();
    meter
        .u64_observable_counter("wakeful.tasks.spawned")
        .with_callback(move |observer| observer.observe(of.spawned_tasks_count(), &[]))
        .build();
    let of = metrics.clone();
    meter
        .u64_observable_gauge("wakeful.tasks.alive")
        .with_callback(move |observer| observer.observe(of.num_alive_tasks() as u64, &[]))
        .build();
    // The histogram of poll times: a counter for each bucket.
    let of = metrics.clone();
    meter
        .u64_observable_counter("wakeful.polls")
        .with_callback(move |observer| {
            for bucket in 0..of.poll_time_histogram_num_buckets() {
                let polls = (0..of.num_workers())
                    .map(|worker| of.poll_time_histogram_bucket_count(worker, bucket));
                let below = of.poll_time_histogram_bucket_range(bucket).end;
                let below = KeyValue::new("below_seconds", below.as_secs_f64());
                observer.observe(polls.sum(), &[below]);
            }
        })
        .build();
}

fn data<'a>(all: &'a ResourceMetrics, name: &str) -> &'a MetricData<u64> {
    let mut metrics = all.scope_metrics().flat_map(|scope| scope.metrics());
    let found = metrics.find(|metric| metric.name() == name);
    match found.map(|metric| metric.data()) {
        Some(AggregatedMetrics::U64(data)) => data,
        other => panic!("{name}: {other:?}"),
    }
}

fn sum(all: &ResourceMetrics, name: &str) -> u64 {
    match data(all, name) {
        MetricData::Sum(sum) if sum.is_monotonic() => {
            sum.data_points().map(|point| point.value()).sum()
        }
        other => panic!("{name}: {other:?}"),
    }
}

fn gauge(all: &ResourceMetrics, name: &str) -> u64 {
    match data(all, name) {
        MetricData::Gauge(gauge) => gauge.data_points().map(|point| point.value()).sum(),
        other => panic!("{name}: {other:?}"),
    }
}
