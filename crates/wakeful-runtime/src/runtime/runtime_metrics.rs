//! `RuntimeMetrics`: public access to a runtime's counters.

use super::Handle;
use crate::metrics::{Histogram, RemoteMetrics, WorkerMetrics};
use crate::scheduler::SchedulerHandle;
use crate::stall::StallMetrics;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::ThreadId;
use std::time::Duration;

/// A view of a runtime's counters, returned by [`Handle::metrics`].
///
/// The methods read the current values while the runtime's threads update them. Each value is
/// accurate on its own, but several values are not a consistent snapshot. Totals start at zero when
/// the runtime is built and never decrease; queue depths and numbers of tasks and threads are those
/// of the moment.
///
/// Methods that take a `worker` expect an index below [`num_workers`](Self::num_workers) and panic
/// otherwise.
///
/// ```
/// use wakeful::runtime::Handle;
///
/// # wakeful::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let metrics = Handle::current().metrics();
/// let waiting = wakeful::spawn(std::future::pending::<()>());
/// assert_eq!(metrics.num_alive_tasks(), 1);
/// waiting.abort();
/// waiting.await.unwrap_err();
/// assert_eq!((metrics.num_alive_tasks(), metrics.spawned_tasks_count()), (0, 1));
///
/// let busy = (0..metrics.num_workers()).map(|worker| metrics.worker_total_busy_duration(worker));
/// println!("busy for {:?}, {} stalls", busy.sum::<std::time::Duration>(), metrics.stall_count());
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct RuntimeMetrics {
    pub(super) handle: Handle,
}

impl RuntimeMetrics {
    pub(super) fn new(handle: Handle) -> RuntimeMetrics {
        RuntimeMetrics { handle }
    }

    /// Returns the number of workers, which is one for a current-thread runtime.
    pub fn num_workers(&self) -> usize {
        match &self.handle.scheduler {
            SchedulerHandle::CurrentThread(_) => 1,
            SchedulerHandle::MultiThread(scheduler) => scheduler.worker_count(),
        }
    }

    /// Returns the number of tasks that were spawned and have not ended.
    ///
    /// Closures of `spawn_blocking` and tasks of a `LocalSet` are not counted.
    pub fn num_alive_tasks(&self) -> usize {
        // Reads the ended tasks first: each of them was spawned before the second sum is taken, so
        // the difference is not negative.
        let ended = self.sum(|worker| worker.ended.get(), |remote| remote.ended.load(Relaxed));
        self.spawned_tasks_count().saturating_sub(ended) as usize
    }

    /// Returns the number of tasks in the injection queue.
    ///
    /// That queue holds tasks that threads other than workers spawned or woke.
    pub fn global_queue_depth(&self) -> usize {
        match &self.handle.scheduler {
            SchedulerHandle::CurrentThread(scheduler) => scheduler.inject_depth(),
            SchedulerHandle::MultiThread(scheduler) => scheduler.inject_depth(),
        }
    }

    /// Returns how long `worker` has been busy in total, until it last ran out of work.
    ///
    /// # Panics
    /// Panics if there is no such worker, as do all methods that take a `worker`.
    #[track_caller]
    pub fn worker_total_busy_duration(&self, worker: usize) -> Duration {
        self.worker(worker).busy()
    }

    /// Returns how often `worker` parked because it had nothing to do.
    #[track_caller]
    pub fn worker_park_count(&self, worker: usize) -> u64 {
        self.worker(worker).parks.get()
    }

    /// Returns how often `worker` parked plus how often it was unparked; odd while it is parked.
    ///
    /// If the value is even and equal in two calls, the worker was busy all the time between them.
    ///
    /// ```
    /// use wakeful::runtime::Builder;
    ///
    /// let runtime = Builder::new_multi_thread().worker_threads(1).build()?;
    /// let metrics = runtime.metrics();
    /// while metrics.worker_park_unpark_count(0) % 2 == 0 {
    ///     std::thread::yield_now(); // the worker has just started and parks soon
    /// }
    /// assert!(metrics.worker_park_count(0) > 0);
    /// # std::io::Result::Ok(())
    /// ```
    #[track_caller]
    pub fn worker_park_unpark_count(&self, worker: usize) -> u64 {
        let metrics = self.worker(worker);
        let unparks = metrics.unparks.get();
        metrics.parks.get() + unparks
    }

    /// Returns the id of the thread that runs `worker` now, or `None` if none has run it yet.
    ///
    /// The thread changes when a blocked worker is handed off, and with `block_in_place`.
    #[track_caller]
    pub fn worker_thread_id(&self, worker: usize) -> Option<ThreadId> {
        self.worker(worker).thread_id()
    }

    /// Returns the number of polls of tasks by `worker`.
    ///
    /// Each poll counts. (Tokio counts a task that runs right after the task that woke it, from the
    /// LIFO slot, together with that one.) With the histogram of poll times, a poll counts when it
    /// returns, as it does there; otherwise when it begins.
    #[track_caller]
    pub fn worker_poll_count(&self, worker: usize) -> u64 {
        let metrics = self.worker(worker);
        // Programs read the histogram only if this count has changed since.
        metrics.poll_times.as_ref().map_or_else(|| metrics.polls.get(), Histogram::total)
    }

    /// Returns how long the polls of tasks by `worker` take lately, on average.
    ///
    /// The value is zero before the first poll, and on a current-thread runtime, which does not
    /// measure it.
    ///
    /// ```
    /// use std::{thread, time::Duration};
    /// use wakeful::runtime::Builder;
    ///
    /// let runtime = Builder::new_multi_thread().worker_threads(1).build()?;
    /// for _ in 0..3 {
    ///     let task = runtime.spawn(async { thread::sleep(Duration::from_micros(100)) });
    ///     runtime.block_on(task).unwrap();
    /// }
    /// let metrics = runtime.metrics();
    /// while metrics.worker_mean_poll_time(0) < Duration::from_micros(100) {
    ///     thread::yield_now(); // the worker is about to park, and measures before
    /// }
    /// # std::io::Result::Ok(())
    /// ```
    #[track_caller]
    pub fn worker_mean_poll_time(&self, worker: usize) -> Duration {
        let metrics = self.worker(worker);
        match &self.handle.scheduler {
            SchedulerHandle::CurrentThread(_) => Duration::ZERO,
            SchedulerHandle::MultiThread(_) => metrics.mean_poll(),
        }
    }

    /// Returns how often `worker` parked without having polled a task since it parked before.
    #[track_caller]
    pub fn worker_noop_count(&self, worker: usize) -> u64 {
        self.worker(worker).noops.get()
    }

    /// Returns the number of tasks that `worker` stole from other workers.
    #[track_caller]
    pub fn worker_steal_count(&self, worker: usize) -> u64 {
        self.worker(worker).steals.get()
    }

    /// Returns how often `worker` stole from another worker; it may take several tasks at a time.
    #[track_caller]
    pub fn worker_steal_operations(&self, worker: usize) -> u64 {
        self.worker(worker).steal_operations.get()
    }

    /// Returns how often a task was queued on `worker` by code that ran on the same worker.
    #[track_caller]
    pub fn worker_local_schedule_count(&self, worker: usize) -> u64 {
        self.worker(worker).local_schedules.get()
    }

    /// Returns zero: the queue of a worker grows instead of overflowing.
    #[track_caller]
    pub fn worker_overflow_count(&self, worker: usize) -> u64 {
        let _exists = self.worker(worker);
        0
    }

    /// Returns the number of tasks in the queue of `worker` that other workers could steal.
    #[track_caller]
    pub fn worker_local_queue_depth(&self, worker: usize) -> usize {
        match &self.handle.scheduler {
            SchedulerHandle::CurrentThread(_) => {
                let metrics = self.worker(worker);
                metrics.local_schedules.get().saturating_sub(metrics.polls.get()) as usize
            }
            SchedulerHandle::MultiThread(scheduler) => {
                let _exists = self.worker(worker);
                scheduler.local_queue_depth(worker)
            }
        }
    }

    /// Returns the number of tasks that were spawned since the runtime was built.
    pub fn spawned_tasks_count(&self) -> u64 {
        self.sum(|worker| worker.spawned.get(), |remote| remote.spawned.load(Relaxed))
    }

    /// Returns how often a thread other than a worker spawned or woke a task.
    pub fn remote_schedule_count(&self) -> u64 {
        let remote = self.remote();
        remote.schedules.load(Relaxed) + remote.spawned.load(Relaxed)
    }

    /// Returns how often a task used up its [budget](crate::task::coop) and had to yield.
    ///
    /// ```
    /// use wakeful::{runtime::Handle, task};
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let task = task::spawn(async {
    ///     for _ in 0..1000 {
    ///         task::consume_budget().await;
    ///     }
    /// });
    /// task.await.unwrap();
    /// assert!(Handle::current().metrics().budget_forced_yield_count() > 0);
    /// # });
    /// ```
    pub fn budget_forced_yield_count(&self) -> u64 {
        self.sum(|worker| worker.forced_yields.get(), |remote| remote.forced_yields.load(Relaxed))
    }

    /// Returns the number of threads of the runtime that are not running as workers.
    ///
    /// They run closures of `spawn_blocking`, are blocked in a task that lost its worker, or are
    /// idle.
    pub fn num_blocking_threads(&self) -> usize {
        let workers = match &self.handle.scheduler {
            SchedulerHandle::CurrentThread(_) => 0,
            SchedulerHandle::MultiThread(scheduler) => scheduler.worker_count(),
        };
        self.handle.scheduler.pool().threads(workers)
    }

    /// Returns the number of idle threads in the blocking pool.
    pub fn num_idle_blocking_threads(&self) -> usize {
        self.handle.scheduler.pool().idle_threads()
    }

    /// Returns the number of `spawn_blocking` closures that wait for a thread.
    pub fn blocking_queue_depth(&self) -> usize {
        self.handle.scheduler.pool().queue_depth()
    }

    /// Returns the number of stalls: polls longer than [`Builder::stall_after`].
    ///
    /// Stalls that still last are included. On a current-thread runtime, in a `LocalSet` and after
    /// [`Builder::disable_stall_handoff`], stalls are detected and counted only if they are
    /// reported: with [`Builder::on_stall`] or `WAKEFUL_STALL_REPORT`.
    ///
    /// [`Builder::disable_stall_handoff`]: super::Builder::disable_stall_handoff
    /// [`Builder::on_stall`]: super::Builder::on_stall
    /// [`Builder::stall_after`]: super::Builder::stall_after
    ///
    /// ```
    /// use std::{sync::mpsc, thread, time::Duration};
    /// use wakeful::runtime::Builder;
    ///
    /// let runtime = Builder::new_multi_thread().worker_threads(1).build()?;
    /// let metrics = runtime.metrics();
    /// let (release, held) = mpsc::channel::<()>();
    /// runtime.spawn(async move { held.recv() }); // blocks
    /// while metrics.stall_count() == 0 {
    ///     thread::sleep(Duration::from_millis(1));
    /// }
    /// drop(release);
    /// # std::io::Result::Ok(())
    /// ```
    pub fn stall_count(&self) -> u64 {
        self.stalls().stalls()
    }

    /// Returns the duration of the longest of these stalls, up to now if it still lasts.
    pub fn longest_stall(&self) -> Duration {
        self.stalls().longest()
    }

    /// Returns how often a blocked worker was handed off to another thread.
    pub fn stall_handoff_count(&self) -> u64 {
        self.stalls().handoffs()
    }

    /// Returns the number of threads that lost their worker to another one and are still blocked.
    ///
    /// They are included in [`num_blocking_threads`](Self::num_blocking_threads). Threads kept
    /// ready for the next hand-off are included in
    /// [`num_idle_blocking_threads`](Self::num_idle_blocking_threads).
    pub fn num_stalled_threads(&self) -> usize {
        self.stalls().held_threads()
    }

    fn stalls(&self) -> &StallMetrics {
        &self.handle.scheduler.stalls().metrics
    }

    #[track_caller]
    pub(super) fn worker(&self, worker: usize) -> &WorkerMetrics {
        let workers = self.num_workers();
        assert!(
            worker < workers,
            "`RuntimeMetrics` method called for worker {worker} of a runtime that has \
             {workers}; indices start at 0"
        );
        match &self.handle.scheduler {
            SchedulerHandle::CurrentThread(scheduler) => &scheduler.metrics,
            SchedulerHandle::MultiThread(scheduler) => scheduler.worker_metrics(worker),
        }
    }

    fn remote(&self) -> &RemoteMetrics {
        self.handle.scheduler.remote_metrics()
    }

    fn sum(
        &self,
        of_worker: impl Fn(&WorkerMetrics) -> u64,
        of_remote: impl Fn(&RemoteMetrics) -> u64,
    ) -> u64 {
        let workers = (0..self.num_workers()).map(|worker| of_worker(self.worker(worker)));
        workers.sum::<u64>() + of_remote(self.remote())
    }
}
