//! A timer with a thread of its own, and a state that the two share.
//!
//! 自带线程的定时器，以及两者共享的状态。

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Is over after a while.
pub struct TimeFuture {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    /// Told when the future is dropped, so that its thread need not sleep to the end.
    is_cancelled: Condvar,
}

#[derive(Default)]
struct State {
    is_over: bool,
    is_cancelled: bool,
    /// The waker to call when it is over. None: it was not polled yet.
    waker: Option<Waker>,
}

impl TimeFuture {
    /// Starts the clock at once, not with the first poll.
    pub fn start(length: Duration) -> io::Result<TimeFuture> {
        let shared = Arc::new(Shared { state: Mutex::default(), is_cancelled: Condvar::new() });
        let thread = thread::Builder::new().name("timer".to_owned());
        let thread = thread.spawn({
            let shared = shared.clone();
            move || shared.sleep_and_wake(length)
        })?;
        Ok(TimeFuture { shared, thread: Some(thread) })
    }

    /// Whether it is over. If not, `waker` will be told, in place of the one that came before.
    pub fn is_over(&self, waker: &Waker) -> bool {
        let waker = waker.clone();
        // Declared before the guard, so dropped after it: the lock is not held while it is.
        let _outdated;
        let mut state = self.shared.lock();
        // The question and the waker go under one lock. If the waker came after it, the time could
        // be over in between, when there is no waker to call; and then none is ever called.
        if !state.is_over {
            _outdated = state.waker.replace(waker);
        }
        state.is_over
    }
}

impl Future for TimeFuture {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.is_over(cx.waker()) { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Shared {
    /// What the thread does.
    fn sleep_and_wake(&self, length: Duration) {
        let goes_on = |state: &mut State| !state.is_cancelled;
        let state = self.is_cancelled.wait_timeout_while(self.lock(), length, goes_on);
        let (mut state, _) = state.unwrap_or_else(PoisonError::into_inner);
        state.is_over = true;
        let waker = state.waker.take();
        let is_cancelled = state.is_cancelled;
        drop(state);
        if let Some(waker) = waker.filter(|_| !is_cancelled) {
            waker.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for TimeFuture {
    fn drop(&mut self) {
        self.shared.lock().is_cancelled = true;
        self.shared.is_cancelled.notify_one();
        let thread = self.thread.take().expect("it is taken only here");
        // The thread may have had the last waker, and with it the task that we are a part of.
        if thread.thread().id() != thread::current().id() {
            // Fails if the waker panicked. The thread is over either way.
            let _ = thread.join();
        }
    }
}
