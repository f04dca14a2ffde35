use super::*;
use crate::driver::{Driver, TimerTick, WakeDriver};
use crate::timers::{Fired, TimeConfig, WorkerTimerInbox};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::task::{Wake, Waker};
use std::thread;
use wakeful_base::{CallWaker, FastRng, call_now};
use wakeful_reactor::time::ArmedTimer;

/// Counts how often a driver was woken.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl WakeDriver for Wakes {
    fn wake(&self) {
        self.0.fetch_add(1, Relaxed);
    }
}

fn time() -> (Arc<TimeHandle>, Arc<Wakes>) {
    let wakes = Arc::new(Wakes::default());
    let config = TimeConfig { is_enabled: true, can_pause: false, start_paused: false };
    (TimeHandle::new(config, wakes.clone()), wakes)
}

/// A driver that calls a closure instead of waiting.
struct FakeDriver<F: FnMut(WaitCall)>(F);

/// The arguments of a call to the driver.
#[derive(Debug, Clone, Copy)]
enum WaitCall {
    For(Option<Duration>),
    ForTick(u64),
}

impl<F: FnMut(WaitCall) + Send> Driver for FakeDriver<F> {
    fn wait(&mut self, timeout: Option<Duration>, _: CallWaker<'_>) {
        (self.0)(WaitCall::For(timeout));
    }

    fn wait_for_tick(&mut self, tick: TimerTick, _: CallWaker<'_>) {
        (self.0)(WaitCall::ForTick(tick.at_ns));
    }
}

/// Returns the timers of a worker that has fired many timers `fired_in_ns` from now, so that its
/// wake-ups are coalesced. One timer is armed, and due `left_ns` from now.
fn worker_timers(time: &TimeHandle, fired_in_ns: u64, left_ns: u64) -> (WorkerTimers, ArmedTimer) {
    let now_ns = time.clock.now_ns();
    let mut timers = WorkerTimers::new(0);
    timers.note(Fired { count: 1000, now_ns: now_ns + fired_in_ns });
    let armed = timers.get().arm(now_ns + left_ns, None);
    (timers, armed)
}

fn nothing_lent() -> Option<u64> {
    None
}

/// Counts its calls, and panics if one is early.
struct CountingWaker {
    time: Arc<TimeHandle>,
    deadline_ns: u64,
    calls: Arc<AtomicUsize>,
}

impl Wake for CountingWaker {
    fn wake(self: Arc<Self>) {
        assert!(self.time.clock.now_ns() >= self.deadline_ns, "early");
        self.calls.fetch_add(1, SeqCst);
    }
}

#[test]
fn a_lent_timer_fires_exactly_once() {
    const TIMERS: usize = 20;
    const ROUNDS: usize = 300;
    let (time, _) = time();
    let (lent, inbox, is_over) =
        (LentTimers::new(), WorkerTimerInbox::new(), AtomicBool::new(false));
    let (mut served, mut own) = (0, 0);
    thread::scope(|scope| {
        let server = scope.spawn(|| {
            let mut served = 0;
            while !is_over.load(Relaxed) {
                if lent.is_due(&time) {
                    served += time.serve(&inbox, |f| lent.with(f), &mut call_now).count;
                }
                thread::yield_now();
            }
            served
        });
        let rng = FastRng::from_seed(3);
        let calls = Arc::new(AtomicUsize::new(0));
        let mut timers = WorkerTimers::new(0);
        for round in 1..=ROUNDS {
            let now_ns = time.clock.now_ns();
            let mut armed: Vec<_> = (0..TIMERS)
                .map(|_| {
                    let deadline_ns = now_ns + u64::from(rng.below(200_000));
                    let (time, calls) = (time.clone(), calls.clone());
                    let waker = Waker::from(Arc::new(CountingWaker { time, deadline_ns, calls }));
                    timers.get().arm(deadline_ns, Some(waker))
                })
                .collect();
            lent.lend(timers);
            let until_ns = now_ns + u64::from(rng.below(300_000));
            while time.clock.now_ns() < until_ns {
                thread::yield_now();
            }
            timers = lent.take_back().expect("lent");
            assert!(lent.take_back().is_none() && lent.next_ns().is_none());
            // The server may have taken wakers out, and not called them yet.
            while calls.load(SeqCst) < round * TIMERS {
                own += time.serve(&inbox, |f| f(&mut timers), &mut call_now).count;
            }
            assert_eq!(calls.load(SeqCst), round * TIMERS);
            for timer in armed.drain(..) {
                assert!(timer.is_due());
                drop(timers.get().disarm(timer));
            }
        }
        is_over.store(true, Relaxed);
        served = server.join().unwrap();
    });
    assert_eq!(served + own, ROUNDS * TIMERS);
}

#[test]
fn a_lent_timer_is_late_after_late_ns() {
    let (time, _) = time();
    let lent = LentTimers::new();
    assert_eq!(lent.until_late(&time), None, "nothing is lent");
    for (left_ns, is_due) in [(1_000_000_000, false), (0, true)] {
        let (timers, armed) = worker_timers(&time, 0, left_ns);
        lent.lend(timers);
        assert_eq!(lent.is_due(&time), is_due);
        thread::sleep(Duration::from_nanos(LATE_NS));
        assert_eq!(lent.until_late(&time).expect("lent").is_zero(), is_due);
        drop(lent.take_back().expect("lent").get().disarm(armed));
    }
}

#[test]
fn the_driver_does_not_wait_if_timers_were_lent_since_the_check() {
    let (time, _) = time();
    let (mut own, own_armed) = worker_timers(&time, 0, 10_000_000_000);
    let (mut lent, lent_armed) = worker_timers(&time, 0, 5_000_000_000);
    let waited = Mutex::new(Vec::new());
    let mut driver = FakeDriver(|waits| waited.lock().push(waits));
    let until = time.until(&own, nothing_lent);
    time.until(&lent, nothing_lent).notify_driver();
    until.in_driver(&mut driver, &mut call_now);
    // Computed again after the lend.
    time.until(&own, nothing_lent).in_driver(&mut driver, &mut call_now);
    match waited.lock()[..] {
        [WaitCall::For(Some(Duration::ZERO)), WaitCall::For(Some(left))] => {
            assert!(!left.is_zero())
        }
        ref other => panic!("waited for {other:?}"),
    }
    drop((own.get().disarm(own_armed), lent.get().disarm(lent_armed)));
}

#[test]
fn a_lend_wakes_the_driver_only_if_it_would_wait_too_long() {
    let (time, wakes) = time();
    for (left_ns, is_woken) in [(5_000_000_000, true), (20_000_000_000, false)] {
        let (mut own, own_armed) = worker_timers(&time, 0, 10_000_000_000);
        let (mut lent, lent_armed) = worker_timers(&time, 0, left_ns);
        let before = wakes.0.load(Relaxed);
        let lender = &time.until(&lent, nothing_lent);
        let mut driver = FakeDriver(|_| {
            lender.notify_driver();
            lender.notify_driver();
        });
        time.until(&own, nothing_lent).in_driver(&mut driver, &mut call_now);
        assert_eq!(wakes.0.load(Relaxed) - before, usize::from(is_woken), "once, or not at all");
        drop((own.get().disarm(own_armed), lent.get().disarm(lent_armed)));
    }
}

#[test]
fn nothing_is_lent_to_a_driver_whose_wait_is_over() {
    const AHEAD_NS: u64 = 200_000_000;
    let (time, _) = time();
    let (mut own, own_armed) = worker_timers(&time, AHEAD_NS, AHEAD_NS);
    let (mut lent, lent_armed) = worker_timers(&time, 0, 1_000_000_000);
    let lender = &time.until(&lent, nothing_lent);
    assert!(!lender.should_lend(), "no worker is in the driver");
    let mut driver = FakeDriver(|waits| {
        let WaitCall::ForTick(at_ns) = waits else { panic!("{waits:?} is no tick") };
        assert!(lender.should_lend() || time.clock.now_ns() >= at_ns);
        // The worker in the driver is late to leave it.
        while time.clock.now_ns() < at_ns {
            thread::yield_now();
        }
        assert!(!lender.should_lend());
    });
    time.until(&own, nothing_lent).in_driver(&mut driver, &mut call_now);
    drop((own.get().disarm(own_armed), lent.get().disarm(lent_armed)));
}
