//! Metrics that are off by default: histograms, schedule latencies. And the seed of random numbers.

mod support;

use std::future::poll_fn;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;
use support::{current_thread, each_flavor, eventually, multi_thread};
use wakeful::net::{TcpListener, TcpStream};
use wakeful::runtime::{
    Builder, HistogramConfiguration, LogHistogram, RngSeed, Runtime, RuntimeMetrics, TaskMeta,
};
use wakeful::task::{JoinSet, consume_budget, yield_now};

const MS: Duration = Duration::from_millis(1);

/// A current-thread runtime, and multi-thread ones with one and several workers.
fn builders() -> [Builder; 3] {
    let mut builders =
        [Builder::new_current_thread(), Builder::new_multi_thread(), Builder::new_multi_thread()];
    builders[1].worker_threads(1);
    builders[2].worker_threads(4);
    builders
}

fn linear(width: Duration, buckets: usize) -> HistogramConfiguration {
    HistogramConfiguration::linear(width, buckets)
}

/// Adds up a bucket over all workers.
fn poll_times(metrics: &RuntimeMetrics, bucket: usize) -> u64 {
    (0..metrics.num_workers())
        .map(|worker| metrics.poll_time_histogram_bucket_count(worker, bucket))
        .sum()
}

fn all_poll_times(metrics: &RuntimeMetrics) -> Vec<u64> {
    let buckets = 0..metrics.poll_time_histogram_num_buckets();
    buckets.map(|bucket| poll_times(metrics, bucket)).collect()
}

fn all_latencies(metrics: &RuntimeMetrics) -> Vec<u64> {
    let of = |bucket| {
        (0..metrics.num_workers())
            .map(|worker| metrics.schedule_latency_histogram_bucket_count(worker, bucket))
            .sum()
    };
    (0..metrics.schedule_latency_histogram_num_buckets()).map(of).collect()
}

fn polls(metrics: &RuntimeMetrics) -> u64 {
    (0..metrics.num_workers()).map(|worker| metrics.worker_poll_count(worker)).sum()
}

#[test]
fn each_poll_is_counted_in_both_histograms() {
    const TASKS: u64 = 40;
    const YIELDS: u64 = 25;
    for mut builder in builders() {
        let runtime = builder
            .enable_metrics_poll_time_histogram()
            .metrics_poll_time_histogram_configuration(HistogramConfiguration::log(
                LogHistogram::default(),
            ))
            .enable_metrics_schedule_latency_histogram()
            .metrics_schedule_latency_histogram_configuration(linear(MS, 7))
            .build()
            .unwrap();
        let metrics = runtime.metrics();
        runtime.block_on(async {
            // Half of the tasks are spawned from outside a worker, half by tasks.
            let mut tasks = JoinSet::new();
            for _ in 0..TASKS / 2 {
                tasks.spawn(async {
                    drop(wakeful::spawn(yield_many(YIELDS)));
                    yield_many(YIELDS).await;
                });
            }
            tasks.join_all().await;
            while metrics.num_alive_tasks() > 0 {
                yield_now().await;
            }
        });
        drop(runtime);
        assert_eq!(polls(&metrics), TASKS * (YIELDS + 1));
        assert_eq!(all_poll_times(&metrics).iter().sum::<u64>(), polls(&metrics));
        assert_eq!(all_latencies(&metrics).iter().sum::<u64>(), polls(&metrics));
        assert_eq!(metrics.schedule_latency_histogram_num_buckets(), 7);
        assert_eq!(metrics.schedule_latency_histogram_bucket_range(2), 2 * MS..3 * MS);
    }
}

async fn yield_many(times: u64) {
    for _ in 0..times {
        yield_now().await;
    }
}

#[test]
fn a_poll_is_counted_where_its_duration_belongs() {
    for mut builder in builders() {
        let runtime = builder
            .enable_metrics_poll_time_histogram()
            .metrics_poll_time_histogram_configuration(linear(30 * MS, 2))
            .build()
            .unwrap();
        runtime.block_on(async {
            for _ in 0..10 {
                wakeful::spawn(async {}).await.unwrap();
            }
            wakeful::spawn(async { thread::sleep(35 * MS) }).await.unwrap();
        });
        let metrics = runtime.metrics();
        drop(runtime);
        // Another program may have kept the CPU for 30 ms.
        let counts = all_poll_times(&metrics);
        assert!(counts[1] >= 1 && counts[0] >= 5, "{counts:?}");
        assert_eq!(counts.iter().sum::<u64>(), 11);
    }
}

#[test]
fn a_poll_whose_worker_was_handed_off_is_counted() {
    let mut builder = Builder::new_multi_thread();
    let runtime = builder
        .worker_threads(1)
        .enable_metrics_poll_time_histogram()
        .metrics_poll_time_histogram_configuration(linear(MS, 2))
        .build()
        .unwrap();
    let metrics = runtime.metrics();
    let (release, held) = mpsc::channel::<()>();
    let (begun, begins) = mpsc::channel();
    let stuck = runtime.spawn(async move {
        begun.send(()).unwrap();
        held.recv().unwrap()
    });
    begins.recv().unwrap();
    assert_eq!(polls(&metrics), 0, "it has not returned");
    runtime.block_on(runtime.spawn(async {})).unwrap(); // on another thread
    assert!(metrics.stall_handoff_count() >= 1);
    release.send(()).unwrap();
    runtime.block_on(stuck).unwrap();
    eventually("the polls are counted", || all_poll_times(&metrics).iter().sum::<u64>() == 2);
    assert!(metrics.poll_time_histogram_bucket_count(0, 1) >= 1);
    assert_eq!(polls(&metrics), 2);
}

#[test]
fn the_latency_begins_with_the_first_of_several_wake_ups() {
    for mut builder in builders() {
        let seen = Latencies::default();
        let runtime = builder
            .track_task_schedule_latency()
            .on_before_task_poll(seen.recorder())
            .disable_stall_handoff()
            .build()
            .unwrap();
        let waker = Arc::new(Mutex::new(None::<Waker>));
        let (set, mut polls_left) = (waker.clone(), 2);
        let task = runtime.spawn(poll_fn(move |cx| {
            *set.lock().unwrap() = Some(cx.waker().clone());
            polls_left -= 1;
            if polls_left == 0 { Poll::Ready(()) } else { Poll::Pending }
        }));
        let is_first_poll_over = || waker.lock().unwrap().is_some();
        runtime.block_on(async {
            while !is_first_poll_over() {
                yield_now().await;
            }
        });
        // No worker is free while the task is woken twice.
        let (release, blockers) = block_all(&runtime);
        waker.lock().unwrap().as_ref().unwrap().wake_by_ref();
        thread::sleep(20 * MS);
        waker.lock().unwrap().as_ref().unwrap().wake_by_ref();
        drop(release);
        runtime.block_on(task).unwrap();
        runtime.block_on(blockers.join_all());
        let latency = seen.0.lock().unwrap().iter().copied().flatten().max().unwrap();
        assert!(latency >= 20 * MS, "{latency:?}");
    }
}

/// Lets a task block on each worker until the sender is dropped. On a current-thread runtime it is
/// enough that no thread drives it.
fn block_all(runtime: &Runtime) -> (mpsc::Sender<()>, JoinSet<()>) {
    let (release, held) = mpsc::channel::<()>();
    let held = Arc::new(Mutex::new(held));
    let mut blockers = JoinSet::new();
    if runtime.handle().runtime_flavor() == wakeful::runtime::RuntimeFlavor::MultiThread {
        let (begun, begins) = mpsc::channel();
        for _ in 0..runtime.metrics().num_workers() {
            let (held, begun) = (held.clone(), begun.clone());
            blockers.spawn_on(
                async move {
                    begun.send(()).unwrap();
                    let _end = held.lock().unwrap().recv();
                },
                runtime.handle(),
            );
        }
        for _ in 0..runtime.metrics().num_workers() {
            begins.recv().unwrap();
        }
    }
    (release, blockers)
}

/// The latencies that a callback has seen.
#[derive(Clone, Default)]
struct Latencies(Arc<Mutex<Vec<Option<Duration>>>>);

impl Latencies {
    fn recorder(&self) -> impl Fn(&TaskMeta<'_>) + Send + Sync + use<> {
        let seen = self.0.clone();
        move |task| seen.lock().unwrap().push(task.schedule_latency())
    }
}

#[test]
fn both_poll_callbacks_see_the_same_latency_and_others_none() {
    for mut builder in builders() {
        let [spawn, before, after, end] = [(); 4].map(|()| Latencies::default());
        let runtime = builder
            .enable_metrics_schedule_latency_histogram()
            .on_task_spawn(spawn.recorder())
            .on_before_task_poll(before.recorder())
            .on_after_task_poll(after.recorder())
            .on_task_terminate(end.recorder())
            .build()
            .unwrap();
        runtime.block_on(runtime.spawn(yield_many(3))).unwrap();
        drop(runtime);
        let taken = |seen: Latencies| std::mem::take(&mut *seen.0.lock().unwrap());
        assert_eq!((taken(spawn), taken(end)), (vec![None], vec![None]));
        let before = taken(before);
        assert_eq!(before.len(), 4);
        assert!(before.iter().all(Option::is_some), "{before:?}");
        assert_eq!(before, taken(after));
    }
}

#[test]
fn what_is_not_enabled_has_no_buckets() {
    for mut builder in builders() {
        let seen = Latencies::default();
        let runtime = builder
            .metrics_poll_time_histogram_configuration(linear(MS, 3))
            .metrics_schedule_latency_histogram_configuration(linear(MS, 3))
            .on_before_task_poll(seen.recorder())
            .build()
            .unwrap();
        runtime.block_on(runtime.spawn(async {})).unwrap();
        let metrics = runtime.metrics();
        assert!(!metrics.poll_time_histogram_enabled());
        assert!(!metrics.schedule_latency_histogram_enabled());
        assert_eq!(metrics.poll_time_histogram_num_buckets(), 0);
        assert_eq!(metrics.schedule_latency_histogram_num_buckets(), 0);
        assert_eq!(metrics.poll_time_histogram_bucket_count(0, 5), 0);
        assert_eq!(metrics.schedule_latency_histogram_bucket_count(0, 5), 0);
        assert!(metrics.poll_time_histogram_bucket_range(5).is_empty());
        assert!(metrics.schedule_latency_histogram_bucket_range(5).is_empty());
        assert_eq!(*seen.0.lock().unwrap(), [None]);
    }
}

#[test]
fn the_deprecated_settings_take_precedence() {
    #[allow(deprecated)]
    let runtime = Builder::new_current_thread()
        .enable_metrics_poll_count_histogram()
        .metrics_poll_count_histogram_scale(wakeful::runtime::HistogramScale::Log)
        .metrics_poll_count_histogram_resolution(50 * Duration::from_micros(1))
        .metrics_poll_count_histogram_buckets(3)
        .metrics_poll_time_histogram_configuration(linear(MS, 7))
        .build()
        .unwrap();
    let metrics = runtime.metrics();
    let ranges = (0..3).map(|bucket| metrics.poll_time_histogram_bucket_range(bucket));
    let at = Duration::from_nanos;
    let expected = [at(0)..at(65_536), at(65_536)..at(131_072), at(131_072)..at(u64::MAX)];
    assert!(ranges.eq(expected));
    assert_eq!(metrics.poll_time_histogram_num_buckets(), 3);
}

#[test]
fn the_mean_poll_time_follows_the_polls() {
    let runtime = multi_thread(1);
    let metrics = runtime.metrics();
    let run = |time: Duration, times: u32| {
        for _ in 0..times {
            runtime.block_on(runtime.spawn(async move { thread::sleep(time) })).unwrap();
        }
    };
    run(MS, 40);
    let long = metrics.worker_mean_poll_time(0);
    assert!(long >= MS / 2 && long < 20 * MS, "{long:?}");
    run(Duration::ZERO, 2000);
    let short = metrics.worker_mean_poll_time(0);
    assert!(short < long / 2, "{short:?} after {long:?}");
    assert_eq!(current_thread().metrics().worker_mean_poll_time(0), Duration::ZERO);
}

#[test]
fn parks_without_a_poll_since_the_last_one_are_counted() {
    for runtime in [current_thread(), multi_thread(1)] {
        let metrics = runtime.metrics();
        runtime.block_on(async { wakeful::time::sleep(MS).await });
        eventually("a park without work", || metrics.worker_noop_count(0) >= 1);
        for _ in 0..10 {
            runtime.block_on(runtime.spawn(async { wakeful::time::sleep(MS).await })).unwrap();
        }
        let (noops, parks) = (metrics.worker_noop_count(0), metrics.worker_park_count(0));
        assert!(noops + 10 <= parks, "{noops} of {parks} parks");
    }
}

#[test]
fn forced_yields_of_block_on_are_counted() {
    for runtime in each_flavor() {
        let exhaust = || async {
            for _ in 0..1000 {
                consume_budget().await;
            }
        };
        runtime.block_on(exhaust());
        assert_eq!(runtime.metrics().budget_forced_yield_count(), 1000 / 128);
        runtime.handle().block_on(exhaust());
        assert_eq!(runtime.metrics().budget_forced_yield_count(), 2 * (1000 / 128));
    }
}

#[test]
fn descriptors_and_events_are_counted() {
    for runtime in each_flavor() {
        let metrics = runtime.metrics();
        let counts =
            || (metrics.io_driver_fd_registered_count(), metrics.io_driver_fd_deregistered_count());
        assert_eq!((counts(), metrics.io_driver_ready_count()), ((0, 0), 0));
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let (client, server) =
                wakeful::join!(TcpStream::connect(address), async { listener.accept().await });
            assert_eq!(counts(), (3, 0));
            assert!(metrics.io_driver_ready_count() >= 1);
            drop((client, server));
            assert_eq!(counts(), (3, 2));
        });
        assert_eq!(counts(), (3, 3));
    }
    let without_io = Builder::new_current_thread().build().unwrap();
    assert_eq!(without_io.metrics().io_driver_fd_registered_count(), 0);
}

/// Returns which branches `select!` takes, in `block_on` and in a task.
fn choices(builder: &mut Builder, seed: &[u8]) -> Vec<u32> {
    async fn choose_many() -> Vec<u32> {
        let mut all = Vec::new();
        for _ in 0..20 {
            all.push(wakeful::select! {
                _ = async {} => 0,
                _ = async {} => 1,
                _ = async {} => 2,
            });
        }
        all
    }
    let runtime = builder.rng_seed(RngSeed::from_bytes(seed)).build().unwrap();
    let mut all = runtime.block_on(choose_many());
    all.extend(runtime.block_on(runtime.spawn(choose_many())).unwrap());
    all.extend(runtime.block_on(choose_many()));
    all
}

#[test]
fn a_seed_determines_what_select_polls_first() {
    for mut builder in [Builder::new_current_thread(), Builder::new_multi_thread()] {
        let builder = builder.worker_threads(1);
        let first = choices(builder, b"first");
        for _ in 0..20 {
            assert_eq!(choices(builder, b"first"), first);
        }
        assert_ne!(choices(builder, b"second"), first);
        // The numbers of one `block_on` are not those of the next.
        assert_ne!(first[..20], first[40..]);
    }
}
