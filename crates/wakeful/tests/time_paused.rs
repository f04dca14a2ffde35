//! A paused clock advances when told to, or by itself when the runtime is idle.

mod support;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;
use support::{current_thread, multi_thread, panic_of};
use wakeful::runtime::{Builder, Runtime};
use wakeful::task;
use wakeful::time::{self, Instant};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn paused() -> Runtime {
    Builder::new_current_thread().enable_all().start_paused(true).build().unwrap()
}

async fn is_ready<F: Future>(future: F) -> bool {
    let mut future = pin!(future);
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_ready())).await
}

#[test]
fn an_idle_runtime_jumps_to_the_next_timer() {
    paused().block_on(async {
        let (began, real) = (Instant::now(), std::time::Instant::now());
        time::sleep(Duration::from_secs(1_000_000)).await;
        assert_eq!(began.elapsed(), Duration::from_secs(1_000_000));
        time::sleep(ms(1)).await;
        assert_eq!(began.elapsed(), Duration::from_secs(1_000_000) + ms(1));
        assert!(real.elapsed() < Duration::from_secs(60));
    });
}

#[test]
fn deadlines_are_rounded_up_to_milliseconds() {
    paused().block_on(async {
        let began = Instant::now();
        time::sleep(Duration::from_micros(1)).await;
        assert_eq!(began.elapsed(), ms(1));
        time::sleep(Duration::from_nanos(1_000_001)).await;
        assert_eq!(began.elapsed(), ms(3));
        time::sleep(Duration::ZERO).await;
        assert_eq!(began.elapsed(), ms(3));
        // The amount of an explicit `advance` is not rounded.
        time::advance(Duration::from_micros(1_500)).await;
        assert_eq!(began.elapsed(), Duration::from_micros(4_500));
        assert!(!is_ready(time::sleep_until(began + Duration::from_micros(4_100))).await);
        assert!(is_ready(time::sleep_until(began + ms(4))).await);
    });
}

#[test]
fn sleeps_end_in_order_of_deadline_then_of_creation() {
    paused().block_on(async {
        let order = Arc::new(Mutex::new(Vec::new()));
        let tasks: Vec<_> = [30, 10, 20, 10, 30, 10, 200, 100, 200, 5]
            .into_iter()
            .enumerate()
            .map(|(n, millis)| {
                let order = order.clone();
                task::spawn(async move {
                    time::sleep(ms(millis)).await;
                    order.lock().unwrap().push((millis, n));
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        let seen = order.lock().unwrap().clone();
        let mut sorted = seen.clone();
        sorted.sort_unstable();
        assert_eq!(seen, sorted);
    });
}

#[test]
fn advance_runs_the_tasks_that_become_due() {
    paused().block_on(async {
        let sleeper = task::spawn(time::sleep(ms(100)));
        task::yield_now().await;
        time::advance(ms(99)).await;
        task::yield_now().await;
        assert!(!sleeper.is_finished());
        time::advance(ms(1)).await;
        task::yield_now().await;
        assert!(sleeper.is_finished());
    });
}

#[test]
fn a_runtime_that_is_not_idle_does_not_move_the_clock() {
    paused().block_on(async {
        let began = Instant::now();
        let sleeper = task::spawn(time::sleep(ms(1)));
        for _ in 0..1000 {
            task::yield_now().await;
        }
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert!(!sleeper.is_finished());
    });
}

#[test]
fn a_blocking_task_holds_the_clock() {
    paused().block_on(async {
        let began = Instant::now();
        let limited = time::timeout(
            ms(5),
            task::spawn_blocking(|| std::thread::sleep(Duration::from_millis(50))),
        );
        limited.await.expect("no time has passed on this clock").unwrap();
        assert_eq!(began.elapsed(), Duration::ZERO);
        // Afterwards the clock advances again.
        time::sleep(ms(5)).await;
        assert_eq!(began.elapsed(), ms(5));
    });
}

#[test]
fn a_detached_blocking_task_releases_the_clock_too() {
    paused().block_on(async {
        task::spawn_blocking(|| std::thread::sleep(Duration::from_millis(20)));
        time::sleep(ms(1)).await;
    });
}

#[test]
fn pause_and_resume_in_the_middle() {
    current_thread().block_on(async {
        time::sleep(ms(2)).await;
        time::pause();
        let began = Instant::now();
        time::sleep(Duration::from_secs(10)).await;
        let slept = began.elapsed();
        // Rounded up, because the clock was paused between two milliseconds.
        assert!((ms(10_000)..=ms(10_001)).contains(&slept), "{slept:?}");
        time::advance(ms(7)).await;
        time::resume();
        let (resumed, real) = (Instant::now(), std::time::Instant::now());
        time::sleep(ms(3)).await;
        assert!(real.elapsed() >= ms(3) && resumed.elapsed() >= ms(3));
        time::pause();
        let stands = Instant::now();
        std::thread::sleep(ms(2));
        assert_eq!(Instant::now(), stands);
    });
}

#[test]
fn timers_armed_before_the_pause_follow_the_paused_clock() {
    current_thread().block_on(async {
        let mut sleep = pin!(time::sleep(Duration::from_secs(100)));
        assert!(!is_ready(sleep.as_mut()).await);
        time::pause();
        sleep.as_mut().await;
        assert!(Instant::now() >= sleep.deadline());
    });
}

#[test]
fn other_runtimes_and_threads_keep_their_time() {
    let runtime = paused();
    let _entered = runtime.enter();
    let stands = Instant::now();
    std::thread::spawn(move || {
        std::thread::sleep(ms(2));
        assert!(Instant::now() > stands);
    })
    .join()
    .unwrap();
    assert_eq!(Instant::now(), stands);
}

#[test]
fn a_sleep_on_another_thread_is_served_by_the_paused_clock() {
    let runtime = paused();
    let handle = runtime.handle().clone();
    let stranger =
        std::thread::spawn(move || handle.block_on(time::sleep(Duration::from_secs(50))));
    runtime.block_on(async {
        let began = Instant::now();
        task::spawn_blocking(move || stranger.join().unwrap()).await.unwrap_or_default();
        let _either_order_is_fine = began.elapsed();
    });
}

#[test]
fn reset_to_now_is_ready_at_once() {
    paused().block_on(async {
        let mut sleep = pin!(time::sleep(Duration::from_secs(5)));
        assert!(!is_ready(sleep.as_mut()).await);
        sleep.as_mut().reset(Instant::now());
        assert!(sleep.is_elapsed());
        assert!(is_ready(sleep.as_mut()).await);
        sleep.as_mut().reset(Instant::now() + ms(1));
        assert!(!sleep.is_elapsed());
        sleep.await;
    });
}

#[test]
fn panics_say_what_to_do() {
    let text_of = |runtime: Option<Runtime>, f: fn()| {
        let (text, file) = panic_of(std::panic::AssertUnwindSafe(move || match &runtime {
            Some(runtime) => runtime.block_on(async { f() }),
            None => f(),
        }));
        assert_eq!(file, file!(), "{text}");
        text
    };
    let text = text_of(None, || {
        time::pause();
    });
    assert!(text.contains("`time::pause` called, but there is no runtime"), "{text}");
    let text = text_of(Some(multi_thread(1)), || {
        time::pause();
    });
    assert!(text.contains("current_thread"), "{text}");
    let text = text_of(Some(paused()), || {
        time::pause();
    });
    assert!(text.contains("time is already frozen"), "{text}");
    let text = text_of(Some(current_thread()), || {
        time::resume();
    });
    assert!(text.contains("time is not frozen"), "{text}");
    let text = text_of(None, || {
        let _never = Builder::new_multi_thread().start_paused(true).build();
    });
    assert!(text.contains("new_current_thread"), "{text}");
}

#[test]
fn a_sleep_due_before_its_first_poll_is_ready_at_once() {
    paused().block_on(async {
        let sleep = time::sleep(ms(1));
        time::advance(ms(5)).await;
        assert!(is_ready(sleep).await);
    });
}
