//! Sleeps on the system clock are never early, wherever they are created, polled, reset or dropped.

mod support;

use std::future::{Future, pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use support::{current_thread, each_flavor, eventually, multi_thread};
use wakeful::task;
use wakeful::time::{self, Instant, Sleep};

const MS: Duration = Duration::from_millis(1);

/// Bounds the lateness of any sleep here, generously enough for a busy machine.
const LATE_MAX: Duration = Duration::from_secs(5);

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn poll_with(sleep: Pin<&mut Sleep>, waker: &Waker) -> Poll<()> {
    sleep.poll(&mut Context::from_waker(waker))
}

async fn poll_once(mut sleep: Pin<&mut Sleep>) -> Poll<()> {
    poll_fn(|cx| Poll::Ready(sleep.as_mut().poll(cx))).await
}

async fn assert_sleeps(duration: Duration) {
    let began = std::time::Instant::now();
    time::sleep(duration).await;
    let slept = began.elapsed();
    assert!(slept >= duration, "{slept:?} instead of {duration:?}: early");
    assert!(slept < duration + LATE_MAX, "{slept:?} instead of {duration:?}");
}

#[test]
fn is_never_early_in_tasks_and_in_block_on() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            for micros in [1, 50, 99, 100, 101, 131, 132, 999, 1_000, 5_000, 8_388, 20_000] {
                assert_sleeps(Duration::from_micros(micros)).await;
            }
            let tasks: Vec<_> = (0..500)
                .map(|n| task::spawn(assert_sleeps(Duration::from_micros(n * 97))))
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
        });
    }
}

#[test]
fn a_deadline_long_past_is_ready_at_once() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let mut past = pin!(time::sleep_until(Instant::now() - 2 * MS));
            assert!(!past.is_elapsed(), "never before its first poll");
            assert!(poll_once(past.as_mut()).await.is_ready());
            assert!(past.is_elapsed());
            assert!(poll_once(past.as_mut()).await.is_ready());
            time::sleep(Duration::ZERO).await;
        });
    }
}

#[test]
fn huge_durations_wait_and_can_be_dropped() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            for duration in
                [Duration::MAX, Duration::from_secs(u64::MAX), Duration::from_millis(u64::MAX)]
            {
                let mut sleep = pin!(time::sleep(duration));
                assert!(poll_once(sleep.as_mut()).await.is_pending());
                assert_eq!(time::timeout(duration, async { 5 }).await, Ok(5));
                let mut limited = pin!(time::timeout(duration, pending::<()>()));
                let polled = poll_fn(|cx| Poll::Ready(limited.as_mut().poll(cx))).await;
                assert!(polled.is_pending());
            }
            assert_sleeps(MS).await;
        });
    }
}

#[test]
fn reset_moves_the_deadline_both_ways() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let mut sleep = pin!(time::sleep(Duration::from_secs(1000)));
            assert!(poll_once(sleep.as_mut()).await.is_pending());
            let sooner = Instant::now() + 5 * MS;
            sleep.as_mut().reset(sooner);
            assert_eq!(sleep.deadline(), sooner);
            sleep.as_mut().await;
            assert!(Instant::now() >= sooner && sleep.is_elapsed());
            // A sleep that has elapsed can be reset.
            let later = Instant::now() + 10 * MS;
            sleep.as_mut().reset(later);
            assert!(!sleep.is_elapsed());
            sleep.as_mut().await;
            assert!(Instant::now() >= later);
            // So can one that has not.
            let mut postponed = pin!(time::sleep(2 * MS));
            assert!(poll_once(postponed.as_mut()).await.is_pending());
            let later = Instant::now() + 20 * MS;
            postponed.as_mut().reset(later);
            postponed.await;
            assert!(Instant::now() >= later);
        });
    }
}

#[test]
fn a_reset_sleep_elapses_without_being_polled() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let mut sleep = Box::pin(time::sleep(Duration::from_secs(1000)));
            sleep.as_mut().reset(Instant::now() + MS);
            while !sleep.is_elapsed() {
                time::sleep(MS).await;
            }
        });
    }
}

#[test]
fn a_reset_to_the_past_wakes_the_waiting_task() {
    let runtime = current_thread();
    runtime.block_on(async {
        let count = Arc::new(Count::default());
        let mut sleep = pin!(time::sleep(Duration::from_secs(1000)));
        assert!(poll_with(sleep.as_mut(), &count.clone().into()).is_pending());
        time::sleep(2 * MS).await;
        sleep.as_mut().reset(Instant::now() - 1000 * MS);
        while count.0.load(SeqCst) == 0 {
            task::yield_now().await;
        }
        assert!(poll_once(sleep.as_mut()).await.is_ready());
    });
}

#[test]
fn only_the_waker_of_the_last_poll_is_woken() {
    for runtime in each_flavor() {
        let (first, second) = (Arc::new(Count::default()), Arc::new(Count::default()));
        let wakers = (Waker::from(first.clone()), Waker::from(second.clone()));
        runtime.block_on(async {
            task::spawn(async move {
                let mut sleep = pin!(time::sleep(10 * MS));
                assert!(poll_with(sleep.as_mut(), &wakers.0).is_pending());
                assert!(poll_with(sleep.as_mut(), &wakers.1).is_pending());
                assert!(poll_with(sleep.as_mut(), &wakers.1).is_pending());
                time::sleep(11 * MS).await;
                while !sleep.is_elapsed() {
                    time::sleep(MS).await;
                }
            })
            .await
            .unwrap();
        });
        eventually("the second waker is called", || second.0.load(SeqCst) == 1);
        assert_eq!(first.0.load(SeqCst), 0);
    }
}

#[test]
fn sleeps_are_polled_and_dropped_on_an_external_thread() {
    for runtime in each_flavor() {
        let sleeps: Vec<_> = runtime.block_on(async {
            task::spawn(async {
                let mut sleeps: Vec<_> =
                    (1..200u32).map(|n| Box::pin(time::sleep(n * MS / 10))).collect();
                for sleep in &mut sleeps {
                    assert!(poll_once(sleep.as_mut()).await.is_pending());
                }
                sleeps
            })
            .await
            .unwrap()
        });
        let stranger = std::thread::spawn(move || {
            let count = Arc::new(Count::default());
            let waker = Waker::from(count.clone());
            let mut pending = Vec::new();
            for (index, mut sleep) in sleeps.into_iter().enumerate() {
                if index % 3 == 0 {
                    continue;
                }
                if index % 3 == 1 {
                    sleep.as_mut().reset(Instant::now() + 3 * MS);
                }
                if poll_with(sleep.as_mut(), &waker).is_pending() {
                    pending.push(sleep);
                }
            }
            (pending, count)
        });
        let (pending, count) = stranger.join().unwrap();
        let waits_for = pending.len();
        runtime.block_on(async {
            while count.0.load(SeqCst) < waits_for {
                time::sleep(MS).await;
            }
        });
        assert!(pending.iter().all(|sleep| sleep.is_elapsed()));
    }
}

#[test]
fn a_task_that_moves_between_workers_is_woken_by_each_of_its_sleeps() {
    let runtime = multi_thread(4);
    let tasks: Vec<_> = (0..64)
        .map(|n| {
            runtime.spawn(async move {
                let mut sleep = Box::pin(time::sleep(MS));
                for round in 0..50u32 {
                    // Busy tasks between the sleeps make other workers steal this one.
                    for _ in 0..n % 7 {
                        task::yield_now().await;
                    }
                    sleep.as_mut().reset(Instant::now() + MS * (round % 3) / 2);
                    let deadline = sleep.deadline();
                    sleep.as_mut().await;
                    assert!(Instant::now() >= deadline);
                }
            })
        })
        .collect();
    runtime.block_on(async {
        for task in tasks {
            task.await.unwrap();
        }
    });
}

#[test]
fn an_earlier_sleep_of_block_on_ends_the_wait_for_a_later_one() {
    for runtime in [multi_thread(1), multi_thread(4)] {
        runtime.block_on(async {
            let _far = task::spawn(time::sleep(Duration::from_secs(1000)));
            assert_sleeps(20 * MS).await;
            assert_sleeps(MS).await;
        });
    }
}

#[test]
fn sleeping_inside_block_in_place() {
    for workers in [1, 4] {
        let runtime = multi_thread(workers);
        let tasks: Vec<_> = (0..8)
            .map(|_| {
                runtime.spawn(async {
                    assert_sleeps(MS).await;
                    task::block_in_place(|| {
                        wakeful::runtime::Handle::current().block_on(assert_sleeps(2 * MS));
                    });
                    assert_sleeps(MS).await;
                })
            })
            .collect();
        runtime.block_on(async {
            for task in tasks {
                task.await.unwrap();
            }
        });
    }
}

#[test]
fn timers_of_a_worker_in_block_in_place_still_fire() {
    let runtime = multi_thread(1);
    runtime.block_on(async {
        let sleeper = task::spawn(async {
            let sleep = pin!(time::sleep(5 * MS));
            let began = Instant::now();
            sleep.await;
            began.elapsed()
        });
        let blocker = task::spawn(async {
            task::block_in_place(|| std::thread::sleep(Duration::from_millis(300)));
        });
        let slept = sleeper.await.unwrap();
        assert!(!blocker.is_finished() && slept < Duration::from_millis(300), "{slept:?}");
        blocker.await.unwrap();
    });
}

#[test]
fn the_runtime_ends_with_timers_armed() {
    for runtime in each_flavor() {
        for n in 0..100 {
            runtime.spawn(async move { time::sleep(Duration::from_secs(n)).await });
        }
        runtime.block_on(async {
            let mut own = pin!(time::sleep(Duration::from_secs(1000)));
            assert!(poll_once(own.as_mut()).await.is_pending());
            task::yield_now().await;
        });
        drop(runtime);
    }
}

#[test]
fn a_sleep_that_outlives_its_runtime_wakes_its_poller_and_then_panics() {
    for runtime in each_flavor() {
        let count = Arc::new(Count::default());
        let waker = Waker::from(count.clone());
        let sleep = || Box::pin(time::sleep(Duration::from_secs(1000)));
        let entered = runtime.enter();
        let (mut common, mut reset, mut unpolled) = (sleep(), sleep(), sleep());
        assert!(poll_with(common.as_mut(), &waker).is_pending());
        assert!(poll_with(reset.as_mut(), &waker).is_pending());
        drop(entered);
        let (sender, receiver) = std::sync::mpsc::channel();
        let of_worker_waker = waker.clone();
        let arms = runtime.spawn(async move {
            let mut sleep = sleep();
            assert!(poll_with(sleep.as_mut(), &of_worker_waker).is_pending());
            sender.send(sleep).unwrap();
        });
        runtime.block_on(arms).unwrap();
        let mut of_worker = receiver.recv().unwrap();
        drop(runtime);
        eventually("all that wait are woken", || count.0.load(SeqCst) == 3);
        reset.as_mut().reset(Instant::now() + Duration::from_secs(1000));
        for sleep in [&mut common, &mut of_worker, &mut reset, &mut unpolled] {
            let sleep = std::panic::AssertUnwindSafe(sleep);
            let (text, _) = support::panic_of(move || {
                let sleep = sleep;
                let _ = poll_with(sleep.0.as_mut(), Waker::noop());
            });
            assert!(text.contains("is being shutdown"), "{text}");
        }
        unpolled.as_mut().reset(Instant::now());
    }
}

#[test]
fn panics_name_what_is_missing_and_where() {
    let text_of = |f: fn()| {
        let (text, file) = support::panic_of(f);
        assert_eq!(file, file!(), "{text}");
        text
    };
    let text = text_of(|| drop(time::sleep(MS)));
    assert!(text.contains("`sleep` called, but there is no runtime"), "{text}");
    for f in [
        || drop(time::sleep(MS)),
        || drop(time::sleep_until(Instant::now())),
        || drop(time::timeout(MS, async {})),
        || drop(time::interval(MS)),
    ] as [fn(); 4]
    {
        let runtime = wakeful::runtime::Builder::new_current_thread().build().unwrap();
        let _entered = runtime.enter();
        let text = text_of(f);
        assert!(text.contains("without timers") && text.contains("enable_time"), "{text}");
    }
}

#[test]
fn sleeps_use_the_budget() {
    let runtime = current_thread();
    runtime.block_on(async {
        task::spawn(async {
            // Always ready, but it still has to yield.
            let mut sleep = pin!(time::sleep_until(Instant::now() - 2 * MS));
            let polls = poll_fn(|cx| {
                let mut polls = 0;
                while sleep.as_mut().poll(cx).is_ready() {
                    polls += 1;
                }
                Poll::Ready(polls)
            })
            .await;
            assert_eq!(polls, 128);
        })
        .await
        .unwrap();
    });
}

fn assert_send_sync<T: Send + Sync>() {}
fn assert_unpin<T: Unpin>() {}

#[test]
fn has_the_auto_traits_it_should() {
    assert_send_sync::<Sleep>();
    assert_send_sync::<time::Interval>();
    assert_send_sync::<time::Timeout<Pin<Box<dyn Future<Output = ()> + Send + Sync>>>>();
    assert_unpin::<time::Interval>();
}
