//! tokio-metrics: what it measures of tasks and of the runtime.

use std::thread;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::{JoinSet, yield_now};
use tokio::time::sleep;
use tokio_metrics::{RuntimeMonitor, TaskMonitor};

ecosystem::on_each_runtime!(
    polls_and_waits_of_tasks_are_counted,
    a_poll_that_blocks_is_counted_as_slow,
    a_task_that_is_dropped_early_is_counted,
    work_of_the_runtime_shows_in_its_intervals,
);

async fn polls_and_waits_of_tasks_are_counted() {
    let monitor = TaskMonitor::new();
    let mut intervals = monitor.intervals();
    let tasks: JoinSet<()> = (0..10)
        .map(|_| {
            monitor.instrument(async {
                for _ in 0..5 {
                    yield_now().await;
                }
                sleep(Duration::from_millis(20)).await;
            })
        })
        .collect();
    tasks.join_all().await;
    let metrics = intervals.next().unwrap();
    assert_eq!(metrics.instrumented_count, 10);
    assert_eq!(metrics.first_poll_count, 10);
    assert_eq!(metrics.dropped_count, 10);
    // One for each yield, one that begins to sleep, one that ends.
    assert_eq!(metrics.total_poll_count, 10 * (5 + 2));
    // A task that has yielded is idle until the runtime wakes it.
    assert_eq!(metrics.total_idled_count, 10 * (5 + 1));
    assert!(metrics.total_idle_duration >= 10 * Duration::from_millis(15), "{metrics:?}");
    assert_eq!(intervals.next().unwrap().total_poll_count, 0);
}

async fn a_poll_that_blocks_is_counted_as_slow() {
    let monitor = TaskMonitor::with_slow_poll_threshold(Duration::from_millis(40));
    let blocks = async {
        yield_now().await;
        thread::sleep(Duration::from_millis(60));
        yield_now().await;
    };
    tokio::spawn(monitor.instrument(blocks)).await.unwrap();
    let metrics = monitor.cumulative();
    assert_eq!(metrics.total_poll_count, 3);
    assert!(metrics.total_slow_poll_count >= 1, "{metrics:?}");
    assert!(metrics.total_slow_poll_duration >= Duration::from_millis(60), "{metrics:?}");
}

async fn a_task_that_is_dropped_early_is_counted() {
    let monitor = TaskMonitor::new();
    let sleeps = tokio::spawn(monitor.instrument(sleep(Duration::from_secs(3600))));
    while monitor.cumulative().first_poll_count == 0 {
        yield_now().await;
    }
    assert_eq!(monitor.cumulative().dropped_count, 0);
    sleeps.abort();
    assert!(sleeps.await.unwrap_err().is_cancelled());
    assert_eq!(monitor.cumulative().dropped_count, 1);
}

async fn work_of_the_runtime_shows_in_its_intervals() {
    let handle = Handle::current();
    let workers = handle.metrics().num_workers();
    let mut intervals = RuntimeMonitor::new(&handle).intervals();
    intervals.next().unwrap();
    for _ in 0..5 {
        let tasks: JoinSet<()> = (0..4)
            .map(|_| async {
                thread::sleep(Duration::from_millis(2));
                sleep(Duration::from_millis(2)).await;
            })
            .collect();
        tasks.join_all().await;
    }
    let metrics = intervals.next().unwrap();
    assert_eq!(metrics.workers_count, workers);
    assert!(metrics.total_park_count >= 1, "{metrics:?}");
    assert!(metrics.max_park_count <= metrics.total_park_count, "{metrics:?}");
    assert!(metrics.total_busy_duration > Duration::ZERO, "{metrics:?}");
    assert!(metrics.max_busy_duration <= metrics.total_busy_duration, "{metrics:?}");
    assert!(metrics.elapsed >= Duration::from_millis(20), "{metrics:?}");
    assert!(metrics.busy_ratio() > 0.0, "{metrics:?}");
}
