//! Intervals and timeouts on a paused clock.

mod support;

use std::future::{Future, pending, poll_fn, ready};
use std::pin::pin;
use std::task::{Poll, ready};
use std::time::Duration;
use support::DropCount;
use wakeful::runtime::Builder;
use wakeful::task;
use wakeful::time::error::{Elapsed, Error};
use wakeful::time::{self, Instant, Interval, MissedTickBehavior};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn paused<F: Future>(future: F) -> F::Output {
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(future)
}

/// Returns the time that the tick reports and the time of its end, in milliseconds since `began`.
async fn tick(interval: &mut Interval, began: Instant) -> (u128, u128) {
    let tick = interval.tick().await;
    ((tick - began).as_millis(), began.elapsed().as_millis())
}

async fn poll_tick(interval: &mut Interval) -> Poll<Instant> {
    poll_fn(|cx| Poll::Ready(interval.poll_tick(cx))).await
}

#[test]
fn ticks_at_once_and_then_every_period() {
    paused(async {
        let began = Instant::now();
        let mut interval = time::interval(ms(10));
        assert_eq!(interval.period(), ms(10));
        assert_eq!(interval.missed_tick_behavior(), MissedTickBehavior::Burst);
        for n in 0..5 {
            assert_eq!(tick(&mut interval, began).await, (n * 10, n * 10));
        }
        let mut later = time::interval_at(began + ms(100), ms(7));
        for n in 0..5 {
            assert_eq!(tick(&mut later, began).await, (100 + n * 7, 100 + n * 7));
        }
    });
}

async fn ticks_when_busy(behavior: MissedTickBehavior) -> Vec<(u128, u128)> {
    let began = Instant::now();
    let mut interval = time::interval(ms(10));
    interval.set_missed_tick_behavior(behavior);
    assert_eq!(interval.missed_tick_behavior(), behavior);
    let mut ticks = Vec::new();
    for n in 0..7 {
        ticks.push(tick(&mut interval, began).await);
        if n == 1 {
            time::advance(ms(35)).await;
        }
    }
    ticks
}

#[test]
fn missed_ticks_follow_the_behavior() {
    let burst = [(0, 0), (10, 10), (20, 45), (30, 45), (40, 45), (50, 50), (60, 60)];
    let delay = [(0, 0), (10, 10), (20, 45), (55, 55), (65, 65), (75, 75), (85, 85)];
    let skip = [(0, 0), (10, 10), (20, 45), (50, 50), (60, 60), (70, 70), (80, 80)];
    assert_eq!(paused(ticks_when_busy(MissedTickBehavior::Burst)), burst);
    assert_eq!(paused(ticks_when_busy(MissedTickBehavior::Delay)), delay);
    assert_eq!(paused(ticks_when_busy(MissedTickBehavior::Skip)), skip);
}

#[test]
fn slightly_late_ticks_are_not_missed() {
    paused(async {
        let began = Instant::now();
        let mut interval = time::interval(ms(10));
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        assert_eq!(tick(&mut interval, began).await, (0, 0));
        time::advance(ms(15)).await;
        assert_eq!(tick(&mut interval, began).await, (10, 15));
        assert_eq!(tick(&mut interval, began).await, (20, 20));
    });
}

#[test]
fn resets() {
    paused(async {
        let began = Instant::now();
        let mut interval = time::interval(ms(10));
        interval.tick().await;
        time::advance(ms(5)).await;
        interval.reset();
        assert_eq!(tick(&mut interval, began).await, (15, 15));
        interval.reset_immediately();
        assert!(poll_tick(&mut interval).await.is_ready());
        interval.reset_after(ms(3));
        assert!(poll_tick(&mut interval).await.is_pending());
        assert_eq!(tick(&mut interval, began).await, (18, 18));
        interval.reset_at(began + ms(50));
        assert_eq!(tick(&mut interval, began).await, (50, 50));
        assert_eq!(tick(&mut interval, began).await, (60, 60));
        interval.reset_after(Duration::MAX);
        assert!(poll_tick(&mut interval).await.is_pending());
    });
}

#[test]
fn periods_may_be_huge_but_not_zero() {
    paused(async {
        let mut interval = time::interval(Duration::MAX);
        interval.tick().await;
        assert!(poll_tick(&mut interval).await.is_pending());
        for make in [
            || time::interval(Duration::ZERO),
            || time::interval_at(Instant::now(), Duration::ZERO),
        ] as [fn() -> Interval; 2]
        {
            let (text, file) = support::panic_of(move || drop(make()));
            assert_eq!(text, "`period` must be non-zero.");
            assert_eq!(file, file!());
        }
    });
}

#[test]
fn a_tick_that_is_dropped_is_not_lost() {
    paused(async {
        let began = Instant::now();
        let mut interval = time::interval(ms(10));
        interval.tick().await;
        assert!(time::timeout(ms(4), interval.tick()).await.is_err());
        assert_eq!(tick(&mut interval, began).await, (10, 10));
    });
}

#[test]
fn a_ready_future_passes_an_expired_timeout() {
    paused(async {
        assert_eq!(time::timeout(ms(5), async { 7 }).await, Ok(7));
        assert_eq!(time::timeout(Duration::ZERO, ready(8)).await, Ok(8));
        assert_eq!(time::timeout_at(Instant::now() - ms(1), ready(9)).await, Ok(9));
        // A value that is not a future but converts into one.
        let join = task::spawn(async { 10 });
        assert_eq!(time::timeout(ms(5), join).await.unwrap().unwrap(), 10);
    });
}

#[test]
fn an_elapsed_timeout_drops_its_future() {
    paused(async {
        let began = Instant::now();
        let count = DropCount::default();
        let guard = count.guard();
        let forever = async move {
            let _guard = guard;
            pending::<()>().await
        };
        let error = time::timeout(ms(50), forever).await.unwrap_err();
        assert_eq!((began.elapsed(), count.get()), (ms(50), 1));
        assert_eq!(error.to_string(), "deadline has elapsed");
        assert_eq!(format!("{error:?}"), "Elapsed(())");
        assert_eq!(std::io::Error::from(error).kind(), std::io::ErrorKind::TimedOut);
        assert!(time::timeout_at(began, pending::<()>()).await.is_err());
    });
}

#[test]
fn into_inner_returns_the_future_of_a_timeout() {
    paused(async {
        let mut timeout = time::timeout(ms(1), ready(5));
        let _: &std::future::Ready<i32> = timeout.get_ref();
        *timeout.get_mut() = ready(6);
        assert_eq!(timeout.into_inner().await, 6);
    });
}

#[test]
fn a_timeout_elapses_although_its_future_uses_up_the_budget() {
    paused(async {
        let forever = poll_fn(|cx| {
            loop {
                ready!(pin!(task::coop::consume_budget()).poll(cx));
            }
        });
        let limited = task::spawn(time::timeout(ms(5), async {
            let () = forever.await;
        }));
        task::yield_now().await;
        time::advance(ms(5)).await;
        let ended: Result<(), Elapsed> = limited.await.unwrap();
        assert!(ended.is_err());
    });
}

#[test]
fn the_old_error_type_has_its_messages() {
    assert!(Error::shutdown().is_shutdown() && !Error::shutdown().is_invalid());
    assert!(Error::at_capacity().is_at_capacity() && Error::invalid().is_invalid());
    assert_eq!(Error::invalid().to_string(), "timer duration exceeds maximum duration");
}
