//! Building blocks of the cases. The scheduling cases use the same primitives for every contender,
//! so that they compare schedulers, and not each contender's own primitives.

use crate::os;
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// Keeps a CPU busy for `span`.
pub fn compute_for(span: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < span {
        std::hint::black_box(());
    }
}

/// Uses this much CPU time. Unlike with [`compute_for`], time during which other threads have the
/// CPU does not count.
pub fn use_cpu_for(cpu_time: Duration) {
    let end = os::thread_cpu_time() + cpu_time;
    while os::thread_cpu_time() < end {
        std::hint::black_box(());
    }
}

/// Returns a random number of microseconds.
pub fn random_us(range: Range<u64>) -> Duration {
    thread_local! {
        static RANDOM: Cell<u64> = const { Cell::new(0x2545_f491_4f6c_dd1d) };
    }
    // Xorshift.
    let mut random = RANDOM.get();
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    RANDOM.set(random);
    Duration::from_micros(range.start + random % (range.end - range.start))
}

/// Counts down to zero, and then wakes its only waiter.
pub struct Latch {
    left: AtomicUsize,
    waiter: Mutex<Option<Waker>>,
}

impl Latch {
    pub fn new(count: usize) -> Arc<Latch> {
        Arc::new(Latch { left: AtomicUsize::new(count), waiter: Mutex::new(None) })
    }

    pub fn count_down(&self) {
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            let waiter = self.waiter.lock().unwrap().take();
            if let Some(waiter) = waiter {
                waiter.wake();
            }
        }
    }

    pub fn wait(&self) -> impl Future<Output = ()> + Send + '_ {
        poll_fn(|cx| self.poll_wait(cx))
    }

    /// Waits on a thread outside the runtime.
    pub fn wait_blocking(&self) {
        struct Unpark(Thread);
        impl Wake for Unpark {
            fn wake(self: Arc<Self>) {
                self.0.unpark();
            }
        }
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        let mut cx = Context::from_waker(&waker);
        while self.poll_wait(&mut cx).is_pending() {
            std::thread::park();
        }
    }

    fn poll_wait(&self, cx: &mut Context<'_>) -> Poll<()> {
        if self.is_open() {
            return Poll::Ready(());
        }
        *self.waiter.lock().unwrap() = Some(cx.waker().clone());
        // Checks again: the last count may have come before the waker was registered.
        if self.is_open() { Poll::Ready(()) } else { Poll::Pending }
    }

    fn is_open(&self) -> bool {
        self.left.load(Ordering::Acquire) == 0
    }
}

/// A mailbox that holds one empty message. It costs little beyond waking a task and switching to
/// it.
#[derive(Default)]
pub struct Mailbox(Mutex<MailboxState>);

#[derive(Default)]
struct MailboxState {
    full: bool,
    reader: Option<Waker>,
}

impl Mailbox {
    pub fn put(&self) {
        let mut state = self.0.lock().unwrap();
        state.full = true;
        let reader = state.reader.take();
        drop(state);
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    pub fn take(&self) -> impl Future<Output = ()> + Send + '_ {
        poll_fn(|cx| {
            let mut state = self.0.lock().unwrap();
            if state.full {
                state.full = false;
                return Poll::Ready(());
            }
            state.reader = Some(cx.waker().clone());
            Poll::Pending
        })
    }
}

/// Makes all tasks wait until it is opened.
#[derive(Default)]
pub struct Gate(Mutex<GateState>);

#[derive(Default)]
struct GateState {
    open: bool,
    waiting: Vec<Waker>,
}

impl Gate {
    pub fn open(&self) {
        let mut state = self.0.lock().unwrap();
        state.open = true;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        for waker in waiting {
            waker.wake();
        }
    }

    pub fn pass(&self) -> impl Future<Output = ()> + Send + '_ {
        poll_fn(|cx| {
            let mut state = self.0.lock().unwrap();
            if state.open {
                return Poll::Ready(());
            }
            state.waiting.push(cx.waker().clone());
            Poll::Pending
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_used_on_this_thread() {
        let cpu_time = Duration::from_millis(2);
        let before = os::thread_cpu_time();
        use_cpu_for(cpu_time);
        assert!(os::thread_cpu_time() - before >= cpu_time);
    }

    #[test]
    fn random_durations_are_in_the_range_and_differ() {
        let drawn: Vec<_> = (0..1_000).map(|_| random_us(10..20).as_micros()).collect();
        assert!((10..20).all(|us| drawn.contains(&us)));
        assert!(drawn.iter().all(|us| (10..20).contains(us)));
    }
}
