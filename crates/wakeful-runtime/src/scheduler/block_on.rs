//! Polls one future on the calling thread, which parks while the future is pending.

use crate::metrics::RemoteMetrics;
use std::cell::Cell;
use std::future::Future;
use std::panic::Location;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use wakeful_base::threads::{BlockedOn, RootWaker};
use wakeful_base::{Parker, Unparker, budget};

struct UnparkThread(Unparker);

impl Wake for UnparkThread {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

/// Returns a parker, and a waker that unparks it.
pub(crate) fn parker_and_waker() -> (Parker, RootWaker) {
    let parker = Parker::new();
    let waker = RootWaker::new(Arc::new(UnparkThread(parker.unparker())));
    (parker, waker)
}

/// The future of a `block_on` call. It is a trait object, so that the code that drives it is
/// compiled once and not again for each future.
pub(crate) type Root<'a> = Pin<&'a mut (dyn Future<Output = ()> + 'a)>;

/// A future that stores its inner future's output instead of returning it.
struct RootFuture<'a, F: Future> {
    future: Pin<&'a mut F>,
    output: Option<F::Output>,
}

// `future` is a pinned reference: moving the `RootFuture` does not move the future itself.
impl<F: Future> Unpin for RootFuture<'_, F> {}

impl<F: Future> Future for RootFuture<'_, F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.future.as_mut().poll(cx).map(|output| self.output = Some(output))
    }
}

/// Calls `drive` with `future`, and returns the future's output, or `None` if `drive` returned
/// before the future was ready.
pub(crate) fn with_root<F: Future>(future: F, drive: impl FnOnce(Root<'_>)) -> Option<F::Output> {
    let mut root = RootFuture { future: pin!(future), output: None };
    let pinned = Pin::new(&mut root);
    drive(pinned);
    root.output
}

/// Polls `future` until it is ready, and returns its output. For a `block_on` called at `site` in
/// the runtime with this id.
pub(crate) fn block_on<F: Future>(
    future: F,
    site: &'static Location<'static>,
    runtime: u64,
    metrics: &RemoteMetrics,
) -> F::Output {
    with_root(future, |root| poll_to_end(root, site, runtime, metrics))
        .expect("`poll_to_end` returns when the future is ready")
}

wakeful_base::per_thread! {
    /// The parker and waker of the last `block_on` on this thread, for the next one to use. A late
    /// wake-up of the earlier future costs the later one a spurious poll, no more.
    static CACHED_PARKER: Cell<Option<(Parker, RootWaker)>> = const { Cell::new(None) };
}

/// Polls `root` until it is ready, for a `block_on` called at `site` in the runtime with this id.
pub(crate) fn poll_to_end(
    mut root: Root<'_>,
    site: &'static Location<'static>,
    runtime: u64,
    metrics: &RemoteMetrics,
) {
    let cached = CACHED_PARKER.try_with(Cell::take).ok().flatten();
    let (parker, own) = cached.unwrap_or_else(parker_and_waker);
    let waker = own.waker();
    let mut cx = Context::from_waker(waker);
    let blocked = BlockedOn::begin(Some(site), runtime, &own);
    let mut poll =
        || budget::with_initial(|| metrics.noting_budget(|| root.as_mut().poll(&mut cx)));
    while blocked.poll(waker, &mut poll).is_pending() {
        parker.park();
    }
    drop(blocked);
    let _thread_is_ending = CACHED_PARKER.try_with(|cached| cached.set(Some((parker, own))));
}
