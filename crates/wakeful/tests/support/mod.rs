//! Helpers shared by the test files.
#![allow(dead_code, reason = "each test file uses some of the helpers")]

pub mod files;
pub mod net;
#[cfg(target_os = "linux")]
pub mod seccomp;
pub mod signals;

use std::future::{Future, poll_fn};
use std::panic::{self, Location};
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};
use wakeful::runtime::{Builder, Runtime};

/// Creates a multi-thread runtime with `workers` workers.
pub fn multi_thread(workers: usize) -> Runtime {
    Builder::new_multi_thread().worker_threads(workers).enable_all().build().unwrap()
}

/// Creates a current-thread runtime.
pub fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Creates one runtime of each kind: current-thread, one worker, several workers.
pub fn each_flavor() -> [Runtime; 3] {
    [current_thread(), multi_thread(1), multi_thread(4)]
}

/// How long a stress test runs: `WAKEFUL_STRESS_SECONDS` (which may be a fraction), or one second.
pub fn stress_time() -> Duration {
    let seconds = std::env::var("WAKEFUL_STRESS_SECONDS").ok().and_then(|value| value.parse().ok());
    Duration::from_secs_f64(seconds.unwrap_or(1.0))
}

/// Blocks until `done` returns `true`. Panics after ten seconds. Needs no runtime.
#[track_caller]
pub fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !done() {
        assert!(Instant::now() < deadline, "{what}: not within ten seconds");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Runs `test` on a thread of its own and propagates its panic. Panics if it takes longer than
/// `limit`.
#[track_caller]
pub fn within(limit: Duration, test: impl FnOnce() + Send + 'static) {
    let (done, is_done) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let _done: std::sync::mpsc::Sender<()> = done;
        test();
    });
    if is_done.recv_timeout(limit) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
        panic!("the test hangs: it has not ended after {limit:?}");
    }
    if let Err(payload) = thread.join() {
        panic::resume_unwind(payload);
    }
}

/// A flag that one task sets and that other tasks wait for by blocking their threads.
#[derive(Clone, Default)]
pub struct Flag(Arc<(Mutex<bool>, Condvar)>);

impl Flag {
    pub fn set(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    pub fn is_set(&self) -> bool {
        *self.0.0.lock().unwrap()
    }

    /// Blocks the thread until the flag is set. Panics after 20 seconds.
    #[track_caller]
    pub fn block(&self) {
        let (lock, condvar) = &*self.0;
        let wait = Duration::from_secs(20);
        let waited = condvar.wait_timeout_while(lock.lock().unwrap(), wait, |is_set| !*is_set);
        assert!(
            *waited.unwrap().0,
            "the flag was not set within 20 s: no thread took over from the blocked worker"
        );
    }
}

/// Counts the drops of its guards.
#[derive(Clone, Default)]
pub struct DropCount(Arc<AtomicUsize>);

impl DropCount {
    pub fn get(&self) -> usize {
        self.0.load(SeqCst)
    }

    /// Returns a guard whose drop is counted.
    pub fn guard(&self) -> DropGuard {
        DropGuard(self.clone())
    }
}

pub struct DropGuard(DropCount);

impl Drop for DropGuard {
    fn drop(&mut self) {
        self.0.0.fetch_add(1, SeqCst);
    }
}

/// A slot for one message and the waker of the task that waits for it.
pub struct Mailbox<T>(Mutex<(Option<T>, Option<Waker>)>);

impl<T> Mailbox<T> {
    pub fn new() -> Arc<Mailbox<T>> {
        Arc::new(Mailbox(Mutex::new((None, None))))
    }

    pub fn put(&self, message: T) {
        let mut inner = self.0.lock().unwrap();
        inner.0 = Some(message);
        let waker = inner.1.take();
        drop(inner);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub fn take(&self) -> impl Future<Output = T> + '_ {
        poll_fn(|cx| {
            let mut inner = self.0.lock().unwrap();
            match inner.0.take() {
                Some(message) => Poll::Ready(message),
                None => {
                    inner.1 = Some(cx.waker().clone());
                    Poll::Pending
                }
            }
        })
    }

    pub fn has_waiter(&self) -> bool {
        self.0.lock().unwrap().1.is_some()
    }
}

/// Returns the message and the file of the panic that `f` ends with. Fails if `f` does not panic.
#[track_caller]
pub fn panic_of(f: impl FnOnce() + panic::UnwindSafe) -> (String, String) {
    // The panic hook is global to the process, so only one test at a time may replace it.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let seen = Arc::new(Mutex::new(None));
    let (seen_by_hook, here) = (seen.clone(), std::thread::current().id());
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if std::thread::current().id() == here {
            let payload = info.payload();
            let text = payload.downcast_ref::<String>().cloned();
            let text = text.or_else(|| payload.downcast_ref::<&str>().map(|&text| text.to_owned()));
            let text = text.unwrap_or_default();
            let file = info.location().map(Location::file).unwrap_or_default().to_owned();
            *seen_by_hook.lock().unwrap() = Some((text, file));
        }
    }));
    let result = panic::catch_unwind(f);
    panic::set_hook(before);
    assert!(result.is_err(), "no panic");
    seen.lock().unwrap().take().expect("the hook saw the panic")
}
