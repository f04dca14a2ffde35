//! Values, futures and wakers that count what happens to them and panic on demand.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use wakeful_base::sync::atomic::{AtomicBool as ModelBool, Ordering::Relaxed};

/// Panics without running the panic hook, whose messages would flood the output of these tests.
pub(crate) fn quiet_panic(payload: impl Any + Send) -> ! {
    resume_unwind(Box::new(payload))
}

/// Counts drops.
#[derive(Clone, Default)]
pub(crate) struct Tally(Arc<AtomicUsize>);

/// Counted when dropped.
pub(crate) struct Token {
    tally: Tally,
    panics: bool,
}

impl Tally {
    pub(crate) fn token(&self) -> Token {
        Token { tally: self.clone(), panics: false }
    }

    /// Creates a token that panics when dropped, after having been counted.
    #[cfg(not(wakeful_loom))]
    pub(crate) fn panicking_token(&self) -> Token {
        Token { tally: self.clone(), panics: true }
    }

    pub(crate) fn dropped(&self) -> usize {
        self.0.load(SeqCst)
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        self.tally.0.fetch_add(1, SeqCst);
        if self.panics {
            quiet_panic("the drop of a token panics");
        }
    }
}

/// What a task of these tests waits for: a gate that opens, and the waker of the task that waits.
///
/// Accesses to the gate are relaxed. A task sees it open only by means of the synchronization of
/// its wake-up.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<GateState>);

struct GateState {
    open: ModelBool,
    waker: Mutex<Option<Waker>>,
    polls: AtomicUsize,
}

impl Default for GateState {
    fn default() -> Self {
        GateState {
            open: ModelBool::new(false),
            waker: Mutex::default(),
            polls: AtomicUsize::new(0),
        }
    }
}

impl Gate {
    /// Returns a future that is ready with `output` once the gate is open.
    pub(crate) fn then<T>(&self, output: T) -> impl Future<Output = T> + use<T> {
        let (gate, mut output) = (self.clone(), Some(output));
        poll_fn(move |cx| {
            gate.0.polls.fetch_add(1, SeqCst);
            if gate.0.open.load(Relaxed) {
                return Poll::Ready(output.take().expect("a task is not polled after its end"));
            }
            if !gate.0.waker.lock().unwrap().as_ref().is_some_and(|set| set.will_wake(cx.waker())) {
                let new = cx.waker().clone();
                let old = gate.0.waker.lock().unwrap().replace(new);
                drop(old);
            }
            Poll::Pending
        })
    }

    /// Opens the gate without waking the task.
    pub(crate) fn open(&self) {
        self.0.open.store(true, Relaxed);
    }

    /// Takes the waker of the task that waits.
    #[track_caller]
    pub(crate) fn take_waker(&self) -> Waker {
        self.0.waker.lock().unwrap().take().expect("a task waits")
    }

    pub(crate) fn polls(&self) -> usize {
        self.0.polls.load(SeqCst)
    }
}

/// A waker that is not a task's. It counts its clones, wake-ups and drops, and panics on demand.
#[derive(Default)]
pub(crate) struct ExternalWaker {
    pub(crate) clones: AtomicUsize,
    pub(crate) drops: AtomicUsize,
    pub(crate) wakes: AtomicUsize,
    pub(crate) panic_in_clone: AtomicBool,
    pub(crate) panic_in_wake: AtomicBool,
    pub(crate) panic_in_drop: AtomicBool,
    /// Called once, when woken.
    pub(crate) on_wake: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

static EXTERNAL: RawWakerVTable =
    RawWakerVTable::new(external_clone, external_wake, external_wake_by_ref, external_drop);

impl ExternalWaker {
    pub(crate) fn new() -> Arc<ExternalWaker> {
        Arc::default()
    }

    /// Returns a waker, counted as one clone.
    pub(crate) fn waker(self: &Arc<Self>) -> Waker {
        self.clones.fetch_add(1, SeqCst);
        // SAFETY: the functions keep the contract of `RawWakerVTable` for a pointer that owns a
        // count of the `Arc`.
        unsafe { Waker::from_raw(RawWaker::new(Arc::into_raw(self.clone()).cast(), &EXTERNAL)) }
    }

    /// Returns how many wakers exist.
    pub(crate) fn alive(self: &Arc<Self>) -> usize {
        let alive = Arc::strong_count(self) - 1;
        assert_eq!(self.clones.load(SeqCst) - self.drops.load(SeqCst), alive);
        alive
    }

    pub(crate) fn woken(&self) -> usize {
        self.wakes.load(SeqCst)
    }
}

unsafe fn external_clone(data: *const ()) -> RawWaker {
    let data = data.cast::<ExternalWaker>();
    // SAFETY: the waker that is cloned owns a count.
    let external = unsafe { &*data };
    if external.panic_in_clone.load(SeqCst) {
        quiet_panic("an external waker's clone");
    }
    external.clones.fetch_add(1, SeqCst);
    // SAFETY: as above.
    unsafe { Arc::increment_strong_count(data) };
    RawWaker::new(data.cast(), &EXTERNAL)
}

unsafe fn external_wake(data: *const ()) {
    // SAFETY: the waker is consumed. Its count is valid for the wake-up, and released by the drop.
    unsafe {
        external_wake_by_ref(data);
        external_drop(data);
    }
}

unsafe fn external_wake_by_ref(data: *const ()) {
    // SAFETY: the waker owns a count.
    let external = unsafe { &*data.cast::<ExternalWaker>() };
    external.wakes.fetch_add(1, SeqCst);
    let hook = external.on_wake.lock().unwrap().take();
    if let Some(hook) = hook {
        hook();
    }
    if external.panic_in_wake.load(SeqCst) {
        quiet_panic("an external waker's wake");
    }
}

unsafe fn external_drop(data: *const ()) {
    // SAFETY: the waker's count is released.
    let external = unsafe { Arc::from_raw(data.cast::<ExternalWaker>()) };
    external.drops.fetch_add(1, SeqCst);
    if external.panic_in_drop.load(SeqCst) {
        quiet_panic("an external waker's drop");
    }
}

/// Wakes by value, with a clone.
#[cfg(not(wakeful_loom))]
pub(crate) fn wake_by_value(waker: &Waker) {
    let own = waker.clone();
    own.wake();
}

/// Polls `future` once with `waker`.
pub(crate) fn poll_with<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

/// Polls `future` once. It must be ready.
#[track_caller]
pub(crate) fn now<F: Future + Unpin>(mut future: F) -> F::Output {
    match poll_with(&mut future, Waker::noop()) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("not ready"),
    }
}
