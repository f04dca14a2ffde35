//! Helpers that observe a set.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};
use std::thread::{self, ThreadId};
use std::time::Duration;
use wakeful::runtime::{Builder, Runtime};

pub fn current_thread() -> Runtime {
    Builder::new_current_thread().build().unwrap()
}

pub fn multi_thread() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).build().unwrap()
}

/// An event that a future can wait for, and any thread can set.
#[derive(Clone, Default)]
pub struct Event(Arc<Mutex<(bool, Option<Waker>)>>);

impl Event {
    pub fn set(&self) {
        let waker = {
            let mut event = self.0.lock().unwrap();
            event.0 = true;
            event.1.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub async fn wait(&self) {
        poll_fn(|cx| {
            let mut event = self.0.lock().unwrap();
            if event.0 {
                return Poll::Ready(());
            }
            event.1 = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }
}

/// Sends the task's waker to the other end of the channel, then waits forever.
pub async fn leave_waker(to: mpsc::Sender<Waker>) {
    poll_fn::<(), _>(|cx| {
        let _ignored = to.send(cx.waker().clone());
        Poll::Pending
    })
    .await
}

/// Yields this many times.
pub async fn turns(count: usize) {
    let mut left = count;
    poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(());
        }
        left -= 1;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

/// Counts drops, and aborts if the value is dropped on another thread. Not `Send`.
pub struct DropProbe {
    drops: Arc<AtomicUsize>,
    made_on: ThreadId,
    _not_send: PhantomData<Rc<()>>,
}

/// The number of drops of the probes of one test.
#[derive(Clone, Default)]
pub struct Drops(Arc<AtomicUsize>);

impl Drops {
    pub fn probe(&self) -> DropProbe {
        let (drops, made_on) = (self.0.clone(), thread::current().id());
        DropProbe { drops, made_on, _not_send: PhantomData }
    }

    pub fn count(&self) -> usize {
        self.0.load(SeqCst)
    }
}

impl Drop for DropProbe {
    fn drop(&mut self) {
        if self.made_on != thread::current().id() {
            // A panic here would be caught as a panic of the task.
            eprintln!("a value that is not `Send` was dropped on another thread");
            std::process::abort();
        }
        self.drops.fetch_add(1, SeqCst);
    }
}

/// Calls a closure when dropped.
pub struct OnDrop<F: FnMut()>(pub F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// A waker that counts its wake-ups.
#[derive(Default)]
pub struct WakeCount(AtomicUsize);

impl WakeCount {
    pub fn new() -> (Arc<WakeCount>, Waker) {
        let count = Arc::new(WakeCount::default());
        (count.clone(), Waker::from(count))
    }

    pub fn get(&self) -> usize {
        self.0.load(SeqCst)
    }
}

impl Wake for WakeCount {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// A waker that calls a function when it is cloned, and counts its wake-ups.
pub struct CloneHook {
    on_clone: Box<dyn Fn() + Send + Sync>,
    wakes: AtomicUsize,
}

impl CloneHook {
    pub fn new(on_clone: impl Fn() + Send + Sync + 'static) -> Arc<CloneHook> {
        Arc::new(CloneHook { on_clone: Box::new(on_clone), wakes: AtomicUsize::new(0) })
    }

    pub fn wakes(&self) -> usize {
        self.wakes.load(SeqCst)
    }

    pub fn waker(self: &Arc<Self>) -> Waker {
        static VTABLE: RawWakerVTable = RawWakerVTable::new(
            |data| {
                // SAFETY: the waker that is cloned keeps its count, so the hook is alive.
                unsafe { ((*data.cast::<CloneHook>()).on_clone)() };
                // SAFETY: the data of each waker is a pointer of `Arc::into_raw` with a count; here
                // the clone gets its own.
                unsafe { Arc::increment_strong_count(data.cast::<CloneHook>()) };
                RawWaker::new(data, &VTABLE)
            },
            |data| {
                // SAFETY: as above; `wake` consumes the waker and its count.
                let hook = unsafe { Arc::from_raw(data.cast::<CloneHook>()) };
                hook.wakes.fetch_add(1, SeqCst);
            },
            |data| {
                // SAFETY: as above; the waker keeps its count.
                unsafe { (*data.cast::<CloneHook>()).wakes.fetch_add(1, SeqCst) };
            },
            // SAFETY: as above; `drop` consumes the waker and its count.
            |data| unsafe { drop(Arc::from_raw(data.cast::<CloneHook>())) },
        );
        let data = Arc::into_raw(self.clone());
        // SAFETY: the hook is `Send` and `Sync`, and each waker owns a count of it.
        unsafe { Waker::from_raw(RawWaker::new(data.cast(), &VTABLE)) }
    }
}

/// Polls `future` once.
pub fn poll<F: Future + ?Sized>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(waker))
}

/// A counter of a test, for one thread.
pub type Count = Rc<Cell<usize>>;

pub fn add_one(count: &Count) {
    count.set(count.get() + 1);
}

/// Returns the message and the file of the panic in `f`.
pub fn panic_of(f: impl FnOnce()) -> (String, String) {
    thread_local! {
        static FILE: Cell<Option<String>> = const { Cell::new(None) };
    }
    static HOOK: std::sync::Once = std::sync::Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            FILE.set(info.location().map(|at| at.file().to_owned()));
            before(info);
        }));
    });
    let payload = catch_unwind(AssertUnwindSafe(f)).expect_err("it should have panicked");
    let text = match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => (*payload.downcast::<&str>().expect("a text")).to_owned(),
    };
    (text, FILE.take().expect("the hook was called"))
}

/// Aborts the process if `f` hangs: that is the only symptom of a lost wake-up.
pub fn watched<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    let limit = Duration::from_secs(60) + stress_time();
    thread::scope(|scope| {
        let (done, is_done) = mpsc::channel::<()>();
        scope.spawn(move || {
            if is_done.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout) {
                eprintln!("the test hangs");
                std::process::abort();
            }
        });
        let result = f();
        drop(done);
        result
    })
}

/// Returns how long a stress test runs.
pub fn stress_time() -> Duration {
    let seconds = std::env::var("WAKEFUL_STRESS_SECONDS").ok();
    Duration::from_secs_f64(seconds.and_then(|seconds| seconds.parse().ok()).unwrap_or(1.0))
}
