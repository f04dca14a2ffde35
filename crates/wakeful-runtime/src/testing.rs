//! Helpers for unit tests: counted tasks for queues and schedulers, default settings, loom models.

use crate::blocking::Pool;
use crate::config::{Config, TaskHooks, ThreadConfig, ThreadNaming, UnhandledPanic};
use crate::driver::DriverParts;
use crate::metrics::HistogramConfig;
use crate::scheduler::current_thread::CurrentThread;
use crate::scheduler::{RuntimeInfo, SchedulerHandle};
use crate::stall::StallConfig;
use crate::timers::{TimeConfig, TimeHandle};
use std::future::{Future, pending};
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{RawWaker, RawWakerVTable, Waker};
use std::time::Duration;
use wakeful_task::{Id, JoinHandle, Runnable, Schedule, new_task};

/// A scheduler that makes tasks and counts them; each task's cell owns one count of its `Arc`.
///
/// Its fields are atomics of std even under loom: the model then sees only the ordering of the code
/// under test, and has fewer interleavings to try.
pub(crate) struct Entries {
    made: AtomicUsize,
    dropped: AtomicUsize,
    freed: AtomicUsize,
}

// SAFETY: the scheduler must stay valid as long as its cells. Each cell owns a count of the `Arc`,
// taken in `task` and given back in `release_cell`.
unsafe impl Schedule for Entries {
    unsafe fn schedule(_: NonNull<Entries>, runnable: Runnable) {
        unreachable!("no test wakes {:?}", &*runnable);
    }

    unsafe fn release_cell(home: NonNull<Entries>) {
        // SAFETY: the cell gives up its count here; the pointer comes from `Arc::into_raw` in
        // `task`.
        let entries = unsafe { Arc::from_raw(home.as_ptr().cast_const()) };
        entries.freed.fetch_add(1, SeqCst);
    }
}

/// A value in each future, which counts the drop of the future.
struct Counted(Arc<Entries>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, SeqCst);
    }
}

impl Entries {
    pub(crate) fn new() -> Arc<Entries> {
        Arc::new(Entries { made: 0.into(), dropped: 0.into(), freed: 0.into() })
    }

    /// Makes the queue entry of a task that has no join handle and never completes by itself.
    pub(crate) fn make(self: &Arc<Self>) -> Runnable {
        let counted = Counted(self.clone());
        let (runnable, join) = self.task(async move {
            let _counted = counted;
            pending::<()>().await
        });
        drop(join);
        runnable
    }

    pub(crate) fn make_many<const N: usize>(self: &Arc<Self>) -> [Runnable; N] {
        [(); N].map(|()| self.make())
    }

    fn task<F>(self: &Arc<Self>, future: F) -> (Runnable, JoinHandle<F::Output>)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.made.fetch_add(1, SeqCst);
        let home = Arc::into_raw(self.clone()).cast_mut();
        let home = NonNull::new(home).expect("an Arc is not null");
        // SAFETY: `into_raw` above gives the cell its count, which keeps the scheduler valid. The
        // future is `Send`, so any thread may poll and drop it.
        unsafe { new_task(future, home, Id::next(), Location::caller()) }
    }

    /// Checks that `entries` has exactly one entry of each task that was made, and ends the tasks.
    #[track_caller]
    pub(crate) fn assert_all(self: Arc<Self>, entries: impl IntoIterator<Item = Runnable>) {
        let mut seen: Vec<Runnable> = entries.into_iter().collect();
        seen.sort_by_key(|entry| entry.id());
        let twice = seen.windows(2).any(|two| two[0].id() == two[1].id());
        assert!(!twice, "an entry was given out twice");
        assert_eq!(seen.len(), self.made.load(SeqCst), "entries given out and made");
        for entry in seen {
            entry.cancel().complete();
        }
        self.assert_none_left();
    }

    /// Checks that the future of each task was dropped and the task's memory freed.
    #[track_caller]
    pub(crate) fn assert_none_left(self: Arc<Self>) {
        let made = self.made.load(SeqCst);
        assert_eq!(self.dropped.load(SeqCst), made, "futures dropped and made");
        assert_eq!(self.freed.load(SeqCst), made, "cells freed and made");
    }
}

/// The target of a waker that calls a function when it is cloned, and counts its wake-ups.
pub(crate) struct CloneHook {
    on_clone: Box<dyn Fn() + Send + Sync>,
    wakes: AtomicUsize,
}

impl CloneHook {
    pub(crate) fn new(on_clone: impl Fn() + Send + Sync + 'static) -> Arc<CloneHook> {
        Arc::new(CloneHook { on_clone: Box::new(on_clone), wakes: 0.into() })
    }

    pub(crate) fn wakes(&self) -> usize {
        self.wakes.load(SeqCst)
    }

    pub(crate) fn waker(self: &Arc<Self>) -> Waker {
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

/// Returns default settings, without hand-off and stall reports.
pub(crate) fn plain_config() -> Config {
    Config {
        global_queue_interval: None,
        event_interval: 61,
        lifo_slot: true,
        unhandled_panic: UnhandledPanic::Ignore,
        before_park: None,
        after_unpark: None,
        hooks: TaskHooks::default(),
        histograms: HistogramConfig::default(),
        schedule_epoch: None,
        stall: StallConfig {
            after: Duration::ZERO,
            hands_off: false,
            callback: None,
            prints: false,
        },
    }
}

/// Returns a pool that starts no threads.
pub(crate) fn no_threads() -> Arc<Pool> {
    Pool::new(ThreadConfig {
        threads_max: 0,
        keep_alive: Duration::ZERO,
        stack_size: None,
        naming: ThreadNaming::Fixed(String::new()),
        on_start: None,
        on_stop: None,
    })
}

/// Drives a bare scheduler as `Runtime::block_on` does.
pub(crate) fn block_on<F: Future>(scheduler: &Arc<CurrentThread>, future: F) -> F::Output {
    SchedulerHandle::CurrentThread(scheduler.clone()).block_on(future, "test")
}

/// An event that a future can wait for.
#[cfg(wakeful_loom)]
pub(crate) struct Gate(wakeful_base::sync::Mutex<(bool, Option<std::task::Waker>)>);

#[cfg(wakeful_loom)]
impl Gate {
    pub(crate) fn new() -> Arc<Gate> {
        Arc::new(Gate(wakeful_base::sync::Mutex::new((false, None))))
    }

    pub(crate) fn open(&self) {
        let mut gate = self.0.lock();
        gate.0 = true;
        let waker = gate.1.take();
        drop(gate);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(crate) fn pass(self: Arc<Self>) -> impl Future<Output = ()> + Send {
        std::future::poll_fn(move |cx| {
            let mut gate = self.0.lock();
            if gate.0 {
                return std::task::Poll::Ready(());
            }
            gate.1 = Some(cx.waker().clone());
            std::task::Poll::Pending
        })
    }
}

/// Runs `f` under loom in all distinct interleavings with up to three preemptions.
///
/// The environment variable `LOOM_MAX_PREEMPTIONS` sets another bound.
#[cfg(wakeful_loom)]
pub(crate) fn model(f: impl Fn() + Send + Sync + 'static) {
    model_with(3, f);
}

/// Runs `f` as [`model`] does, with one preemption less, for models that take minutes otherwise.
#[cfg(wakeful_loom)]
pub(crate) fn large_model(f: impl Fn() + Send + Sync + 'static) {
    model_with(2, f);
}

#[cfg(wakeful_loom)]
fn model_with(preemptions: usize, f: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    let bound = builder.preemption_bound.unwrap_or(3);
    builder.preemption_bound = Some((bound + preemptions).saturating_sub(3));
    builder.max_branches = 10_000;
    builder.check(f);
}

/// Returns how long stress tests run: `WAKEFUL_STRESS_SECONDS`, or one second if that is not set.
#[cfg(not(wakeful_loom))]
pub(crate) fn stress_time() -> Duration {
    let seconds = std::env::var("WAKEFUL_STRESS_SECONDS").ok().and_then(|value| value.parse().ok());
    Duration::from_secs(seconds.unwrap_or(1))
}

/// Returns the description of a runtime without I/O and timers.
pub(crate) fn plain_info(driver: &DriverParts) -> RuntimeInfo {
    let time = TimeConfig { is_enabled: false, can_pause: false, start_paused: false };
    RuntimeInfo::new(None, driver.io.clone(), TimeHandle::new(time, driver.waker.clone()))
}
