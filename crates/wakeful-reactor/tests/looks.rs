//! Stress: a thread that waits misses no wake-up, no tick and no event while others look.

use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};
use wakeful_base::call_now;
use wakeful_reactor::Interest;
use wakeful_reactor::io::{Direction, IoDriver, IoEvents};

/// Bounds how long a round of a test may take on a busy machine. After a lost wake-up it
/// never ends.
const ROUND_MAX: Duration = Duration::from_secs(20);

/// How many threads look all the time.
const LOOKERS: usize = 2;

fn stress_time() -> Duration {
    let seconds = std::env::var("WAKEFUL_STRESS_SECONDS").ok().and_then(|value| value.parse().ok());
    Duration::from_secs(seconds.unwrap_or(1))
}

/// Runs `rounds` in a thread, which counts them, while other threads look at the driver. Fails if a
/// round does not end.
fn while_others_look(
    driver: &Arc<IoDriver>,
    rounds: impl FnOnce(&dyn Fn() -> bool) + Send + 'static,
) -> u64 {
    let (done, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let lookers: Vec<_> = (0..LOOKERS)
        .map(|_| {
            let (driver, done) = (driver.clone(), done.clone());
            thread::spawn(move || {
                let mut events = IoEvents::with_capacity(4);
                while !done.load(Relaxed) {
                    driver.look(&mut events, &mut call_now);
                }
            })
        })
        .collect();
    let (until, counted) = (Instant::now() + stress_time(), count.clone());
    let (ended, end) = channel::<()>();
    let waiting = thread::spawn(move || {
        rounds(&|| {
            counted.fetch_add(1, Relaxed);
            Instant::now() < until
        });
        drop(ended);
    });
    let mut before = 0;
    while let Err(RecvTimeoutError::Timeout) = end.recv_timeout(ROUND_MAX) {
        let now = count.load(Relaxed);
        assert_ne!(now, before, "round {now} does not end");
        before = now;
    }
    done.store(true, Relaxed);
    waiting.join().unwrap();
    for looker in lookers {
        looker.join().unwrap();
    }
    count.load(Relaxed)
}

#[test]
fn no_wake_up_is_missed() {
    let driver = IoDriver::new().unwrap();
    let (sent, seen) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let done = Arc::new(AtomicBool::new(false));
    let waker = {
        let (driver, sent, seen, done) = (driver.clone(), sent.clone(), seen.clone(), done.clone());
        thread::spawn(move || {
            while !done.load(Relaxed) {
                // One wake-up a round, some of them just as the other thread begins to wait.
                if seen.load(SeqCst) == sent.load(SeqCst) {
                    sent.fetch_add(1, SeqCst);
                    driver.wake();
                }
                thread::yield_now();
            }
        })
    };
    let waited = driver.clone();
    let rounds = while_others_look(&driver, move |next| {
        let mut events = IoEvents::with_capacity(4);
        loop {
            while seen.load(SeqCst) == sent.load(SeqCst) {
                waited.wait(&mut events, None, &mut call_now);
            }
            seen.fetch_add(1, SeqCst);
            if !next() {
                break;
            }
        }
    });
    done.store(true, Relaxed);
    waker.join().unwrap();
    assert!(rounds > 10, "{rounds} rounds only");
}

#[cfg(any(target_os = "linux", target_os = "android"))]
#[test]
fn no_tick_is_missed() {
    const FAR_NS: u64 = 3_600_000_000_000;
    let driver = IoDriver::new().unwrap();
    let waited = driver.clone();
    let rounds = while_others_look(&driver, move |next| {
        let mut ticks = waited.new_tick_timers().unwrap();
        let mut events = IoEvents::with_capacity(4);
        let started = Instant::now();
        let now_ns = || started.elapsed().as_nanos() as u64;
        let mut round = 0;
        loop {
            round += 1;
            let from_ns = now_ns();
            let next_ns = from_ns + 1_000 + round % 64 * 1_000;
            // The tick after it is so late that a missed tick is noticed.
            ticks.arm(from_ns, next_ns, next_ns + FAR_NS).unwrap();
            while now_ns() < next_ns {
                waited.wait(&mut events, None, &mut call_now);
            }
            if !next() {
                break;
            }
        }
    });
    assert!(rounds > 10, "{rounds} rounds only");
}

#[test]
fn no_event_is_missed() {
    struct Arrived(AtomicBool, Arc<IoDriver>);

    impl Wake for Arrived {
        fn wake(self: Arc<Self>) {
            self.0.store(true, SeqCst);
            self.1.wake();
        }
    }

    let driver = IoDriver::new().unwrap();
    let waited = driver.clone();
    let rounds = while_others_look(&driver, move |next| {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let registration = waited.register(ours.as_raw_fd(), Interest::READABLE).unwrap();
        let mut events = IoEvents::with_capacity(4);
        loop {
            let arrived = Arc::new(Arrived(AtomicBool::new(false), waited.clone()));
            let waker = Waker::from(arrived.clone());
            let cx = &mut Context::from_waker(&waker);
            registration.clear(registration.ready_event(Interest::READABLE));
            let polled = registration.poll_ready(cx, Direction::Read);
            // The byte is written while this thread begins to wait.
            let other = theirs.try_clone().unwrap();
            let sender = thread::spawn(move || {
                std::io::Write::write_all(&mut &other, b"x").unwrap();
            });
            while polled.is_pending() && !arrived.0.load(SeqCst) {
                waited.wait(&mut events, None, &mut call_now);
            }
            sender.join().unwrap();
            while std::io::Read::read(&mut &ours, &mut [0; 8]).is_err() {}
            if !next() {
                break;
            }
        }
    });
    assert!(rounds > 10, "{rounds} rounds only");
}
