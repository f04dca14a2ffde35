//! Solutions to the exercises of step 3. `SOLUTIONS.md` explains them.
//!
//! 第 3 步练习的答案，讲解见 `SOLUTIONS.zh-CN.md`。

use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use super::clock::Clock;
use super::{Alarm, Reporter, latest_waker};
use crate::timeline::Timeline;

const DELAY: Duration = Duration::from_secs(60);

fn poll(delay: &mut (impl Future<Output = ()> + Unpin), waker: &Waker) -> Poll<()> {
    Pin::new(delay).poll(&mut Context::from_waker(waker))
}

#[test]
fn a_delay_that_is_dropped_early_wakes_its_task_all_the_same() {
    let clock = Clock::by_hand();
    let (report, reported) = mpsc::channel();
    let waker = Waker::from(Arc::new(Reporter(report)));
    let mut delay = latest_waker::Delay::new(Alarm::after(DELAY, &clock, &Timeline::new()));
    assert!(poll(&mut delay, &waker).is_pending());
    drop((delay, waker));
    clock.turn_to(DELAY);
    assert_eq!(reported.recv(), Ok(()), "its thread sleeps on, and wakes a task that left");
}

/// A delay that tells its thread when it is dropped. The thread waits on a condition variable,
/// which can be notified, and not in `sleep`, which cannot.
struct Cancellable {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    is_changed: Condvar,
}

enum State {
    Waiting(Option<Waker>),
    Over,
    Cancelled,
}

impl Cancellable {
    fn new(length: Duration) -> (Cancellable, thread::JoinHandle<()>) {
        let state = Mutex::new(State::Waiting(None));
        let shared = Arc::new(Shared { state, is_changed: Condvar::new() });
        let of_thread = shared.clone();
        let thread = thread::spawn(move || {
            let is_waiting = |state: &mut State| matches!(state, State::Waiting(_));
            let state = of_thread.state.lock().unwrap();
            let waited = of_thread.is_changed.wait_timeout_while(state, length, is_waiting);
            let (mut state, _) = waited.unwrap();
            let State::Waiting(waker) = &mut *state else { return };
            let waker = waker.take();
            *state = State::Over;
            drop(state);
            waker.into_iter().for_each(Waker::wake);
        });
        (Cancellable { shared }, thread)
    }
}

impl Future for Cancellable {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // Check and waker under one lock: no moment can pass in between.
        match &mut *self.shared.state.lock().unwrap() {
            State::Waiting(waker) => {
                *waker = Some(cx.waker().clone());
                Poll::Pending
            }
            _ => Poll::Ready(()),
        }
    }
}

impl Drop for Cancellable {
    fn drop(&mut self) {
        *self.shared.state.lock().unwrap() = State::Cancelled;
        self.shared.is_changed.notify_one();
    }
}

#[test]
fn a_thread_that_is_told_ends_at_once_and_wakes_no_task() {
    let (report, reported) = mpsc::channel();
    let waker = Waker::from(Arc::new(Reporter(report)));
    let (mut delay, thread) = Cancellable::new(DELAY);
    assert!(poll(&mut delay, &waker).is_pending());
    drop((delay, waker));
    thread.join().unwrap();
    assert!(reported.recv().is_err(), "no waker was called, and none is left");
}

#[test]
fn a_cancellable_delay_is_over_in_time() {
    let (report, reported) = mpsc::channel();
    let waker = Waker::from(Arc::new(Reporter(report)));
    let (mut delay, thread) = Cancellable::new(Duration::from_millis(5));
    if poll(&mut delay, &waker).is_pending() {
        reported.recv().unwrap();
    }
    assert!(poll(&mut delay, &waker).is_ready());
    thread.join().unwrap();
}
