//! Values, futures and wakers that count what is done to them, and panic on demand.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use wakeful_base::sync::atomic::{AtomicBool as ModelBool, Ordering::Relaxed};

/// Panics without the hook's message, of which these tests would print hundreds.
pub(super) fn quiet_panic(payload: impl Any + Send) -> ! {
    resume_unwind(Box::new(payload))
}

/// Counts drops.
#[derive(Clone, Default)]
pub(super) struct Tally(Arc<AtomicUsize>);

/// Counted when dropped.
pub(super) struct Token {
    tally: Tally,
    explodes: bool,
}

impl Tally {
    pub(super) fn token(&self) -> Token {
        Token { tally: self.clone(), explodes: false }
    }

    /// A token that panics when dropped, after having been counted.
    #[cfg(not(wakeful_loom))]
    pub(super) fn bomb(&self) -> Token {
        Token { tally: self.clone(), explodes: true }
    }

    pub(super) fn dropped(&self) -> usize {
        self.0.load(SeqCst)
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        self.tally.0.fetch_add(1, SeqCst);
        if self.explodes {
            quiet_panic("a token exploded");
        }
    }
}

/// What a task waits for in these tests: open or not, and the waker of who waits.
///
/// Whether it is open is a relaxed access of the switch's: only what the waking does otherwise makes
/// the task see it.
#[derive(Clone, Default)]
pub(super) struct Gate(Arc<GateState>);

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
    /// A future that is ready with `output` once the gate is open.
    pub(super) fn then<T>(&self, output: T) -> impl Future<Output = T> + use<T> {
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

    /// Opens the gate and wakes nobody.
    pub(super) fn open(&self) {
        self.0.open.store(true, Relaxed);
    }

    /// The waker of who waits, in exchange for none.
    #[track_caller]
    pub(super) fn take_waker(&self) -> Waker {
        self.0.waker.lock().unwrap().take().expect("somebody waits")
    }

    pub(super) fn polls(&self) -> usize {
        self.0.polls.load(SeqCst)
    }
}

/// A waker that is not a task's: counts its clones, wakes and drops, and panics on demand.
#[derive(Default)]
pub(super) struct Foreign {
    pub(super) clones: AtomicUsize,
    pub(super) drops: AtomicUsize,
    pub(super) wakes: AtomicUsize,
    pub(super) panic_in_clone: AtomicBool,
    pub(super) panic_in_wake: AtomicBool,
    pub(super) panic_in_drop: AtomicBool,
    /// Runs when woken, once.
    pub(super) on_wake: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

static FOREIGN: RawWakerVTable =
    RawWakerVTable::new(foreign_clone, foreign_wake, foreign_wake_by_ref, foreign_drop);

impl Foreign {
    pub(super) fn new() -> Arc<Foreign> {
        Arc::default()
    }

    /// A waker; counts as one clone.
    pub(super) fn waker(self: &Arc<Self>) -> Waker {
        self.clones.fetch_add(1, SeqCst);
        // SAFETY: the functions keep `RawWakerVTable`'s contract for a pointer with a count.
        unsafe { Waker::from_raw(RawWaker::new(Arc::into_raw(self.clone()).cast(), &FOREIGN)) }
    }

    /// How many wakers of it there are.
    pub(super) fn alive(self: &Arc<Self>) -> usize {
        let alive = Arc::strong_count(self) - 1;
        assert_eq!(self.clones.load(SeqCst) - self.drops.load(SeqCst), alive);
        alive
    }

    pub(super) fn woken(&self) -> usize {
        self.wakes.load(SeqCst)
    }
}

unsafe fn foreign_clone(data: *const ()) -> RawWaker {
    let data = data.cast::<Foreign>();
    // SAFETY: the waker being cloned has a count.
    let foreign = unsafe { &*data };
    if foreign.panic_in_clone.load(SeqCst) {
        quiet_panic("a foreign waker's clone");
    }
    foreign.clones.fetch_add(1, SeqCst);
    // SAFETY: as above.
    unsafe { Arc::increment_strong_count(data) };
    RawWaker::new(data.cast(), &FOREIGN)
}

unsafe fn foreign_wake(data: *const ()) {
    // SAFETY: the waker is consumed: its count serves for the wake, then for the drop.
    unsafe {
        foreign_wake_by_ref(data);
        foreign_drop(data);
    }
}

unsafe fn foreign_wake_by_ref(data: *const ()) {
    // SAFETY: the waker has a count.
    let foreign = unsafe { &*data.cast::<Foreign>() };
    foreign.wakes.fetch_add(1, SeqCst);
    let hook = foreign.on_wake.lock().unwrap().take();
    if let Some(hook) = hook {
        hook();
    }
    if foreign.panic_in_wake.load(SeqCst) {
        quiet_panic("a foreign waker's wake");
    }
}

unsafe fn foreign_drop(data: *const ()) {
    // SAFETY: the waker's count is given up.
    let foreign = unsafe { Arc::from_raw(data.cast::<Foreign>()) };
    foreign.drops.fetch_add(1, SeqCst);
    if foreign.panic_in_drop.load(SeqCst) {
        quiet_panic("a foreign waker's drop");
    }
}

/// Wakes with a waker that is given up by it.
#[cfg(not(wakeful_loom))]
pub(super) fn wake_by_value(waker: &Waker) {
    let own = waker.clone();
    own.wake();
}

/// Polls `future` once with `waker`.
pub(super) fn poll_with<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

/// Polls `future` once; it must be ready.
#[track_caller]
pub(super) fn now<F: Future + Unpin>(mut future: F) -> F::Output {
    match poll_with(&mut future, Waker::noop()) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("not ready"),
    }
}
