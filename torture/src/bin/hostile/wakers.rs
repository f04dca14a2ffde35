//! Wakers whose clone, wake and drop panic, or call the primitive that calls them.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

use crate::world::{self, Act, Counted};

/// The data of a hostile waker.
struct Target {
    /// Always woken before a panic, so that the task behind a hostile waker does not miss its
    /// wake-up.
    real: Option<Waker>,
    /// Detects a use after the last drop.
    mark: Box<u64>,
    _counted: Counted,
}

const ALIVE: u64 = 0xa3a8_e000_a3a8_e000;

impl Target {
    fn wake(&self) {
        self.check();
        if let Some(real) = &self.real {
            real.wake_by_ref();
        }
    }

    fn check(&self) {
        if *self.mark != ALIVE {
            world::finding(format!("a dropped waker was used (mark {:#x})", *self.mark));
        }
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.check();
        *self.mark = !ALIVE;
    }
}

/// Creates a hostile waker that wakes nothing.
pub fn hostile() -> Waker {
    new(None)
}

fn new(real: Option<Waker>) -> Waker {
    let target = Target { real, mark: Box::new(ALIVE), _counted: Counted::waker() };
    let data = Arc::into_raw(Arc::new(target));
    // SAFETY: the pointer comes from `Arc::into_raw` and stands for one reference of an
    // `Arc<Target>`. The functions of `TABLE` treat it as such, from any thread: `Target` is `Send`
    // and `Sync`.
    unsafe { Waker::from_raw(RawWaker::new(data.cast(), &TABLE)) }
}

static TABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, release);

unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: the waker that is being cloned holds a reference, so the target is alive.
    unsafe { &*data.cast::<Target>() }.check();
    world::maybe_mischief();
    world::maybe_panic(Act::WakerClone);
    // SAFETY: as above. The new waker owns the reference that is added.
    unsafe { Arc::increment_strong_count(data.cast::<Target>()) };
    RawWaker::new(data, &TABLE)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: the call consumes the waker, so this function owns its reference. It drops the
    // reference on return and when unwinding.
    let target = unsafe { Arc::from_raw(data.cast::<Target>()) };
    target.wake();
    world::maybe_mischief();
    world::maybe_panic(Act::Wake);
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: the waker holds a reference, so the target is alive.
    unsafe { &*data.cast::<Target>() }.wake();
    world::maybe_mischief();
    world::maybe_panic(Act::Wake);
}

unsafe fn release(data: *const ()) {
    // SAFETY: the waker is being dropped, so this function owns its reference.
    drop(unsafe { Arc::from_raw(data.cast::<Target>()) });
    world::maybe_mischief();
    world::maybe_panic(Act::WakerDrop);
}

/// Polls a future with hostile wakers. They wake the real waker before they panic.
pub struct Masked<F>(pub Pin<Box<F>>);

impl<F: Future> Masked<F> {
    pub fn new(future: F) -> Masked<F> {
        Masked(Box::pin(future))
    }
}

impl<F: Future> Future for Masked<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let waker = new(Some(cx.waker().clone()));
        self.0.as_mut().poll(&mut Context::from_waker(&waker))
    }
}
