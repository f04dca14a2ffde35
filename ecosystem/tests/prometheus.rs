//! metrics-exporter-prometheus and tokio-metrics: the runtime's metrics, as Prometheus scrapes them.
//!
//! One test, because a process has one recorder of metrics.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

use metrics_exporter_prometheus::PrometheusBuilder;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Handle};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_metrics::RuntimeMetricsReporterBuilder;

#[test]
fn the_metrics_of_a_runtime_can_be_scraped() {
    ecosystem::within_limit(|| {
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(scrape());
    });
}

async fn scrape() {
    let address = unused_address();
    let (recorder, exporter) =
        PrometheusBuilder::new().with_http_listener(address).build().unwrap();
    metrics::set_global_recorder(recorder).unwrap();
    let exporter = tokio::spawn(exporter);
    let reporter =
        RuntimeMetricsReporterBuilder::default().with_interval(Duration::from_millis(20));
    let reporter = tokio::spawn(reporter.describe_and_run());
    // What tokio-metrics does not know of is exported with the same recorder.
    let alive = metrics::gauge!("wakeful_alive_tasks");
    let stalls = metrics::counter!("wakeful_stalls_total");

    let tasks: JoinSet<()> = (0..50).map(|_| sleep(Duration::from_millis(30))).collect();
    alive.set(Handle::current().metrics().num_alive_tasks() as f64);
    tasks.join_all().await;
    stalls.absolute(Handle::current().metrics().stall_count());

    let mut page = String::new();
    for _ in 0..200 {
        page = get(address).await;
        if value(&page, "tokio_total_park_count").is_some_and(|parks| parks > 0.0) {
            break;
        }
        sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(value(&page, "tokio_workers_count"), Some(2.0), "{page}");
    assert!(value(&page, "tokio_total_park_count").is_some_and(|parks| parks > 0.0), "{page}");
    // The 50 tasks, the exporter and the reporter.
    assert!(value(&page, "wakeful_alive_tasks").is_some_and(|tasks| tasks >= 52.0), "{page}");
    assert!(value(&page, "wakeful_stalls_total").is_some(), "{page}");
    assert!(page.contains("# TYPE tokio_total_busy_duration counter"), "{page}");
    exporter.abort();
    reporter.abort();
}

/// Scrapes as Prometheus does.
async fn get(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).await.unwrap();
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
    page
}

/// An address of the loopback interface on which no one listens.
fn unused_address() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap()
}

/// Returns the value of a metric without labels.
fn value(page: &str, name: &str) -> Option<f64> {
    let of = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok();
    page.lines().find_map(of)
}
