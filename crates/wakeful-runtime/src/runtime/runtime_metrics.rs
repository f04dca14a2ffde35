//! What a runtime counts while it runs.

use super::Handle;
use crate::metrics::{RemoteMetrics, WorkerMetrics};
use crate::scheduler::SchedulerHandle;
use crate::stall::StallMetrics;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::ThreadId;
use std::time::Duration;

/// A view on a runtime's counters. From [`Handle::metrics`].
///
/// Counts come from several threads that go on meanwhile: each is right by itself, but two of them need
/// not fit together.
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
    handle: Handle,
}

impl RuntimeMetrics {
    pub(super) fn new(handle: Handle) -> RuntimeMetrics {
        RuntimeMetrics { handle }
    }

    /// Workers; one for a current-thread runtime.
    pub fn num_workers(&self) -> usize {
        match &self.handle.scheduler {
            SchedulerHandle::CurrentThread(_) => 1,
            SchedulerHandle::MultiThread(shared) => shared.worker_count(),
        }
    }

    /// Tasks that were spawned and have not ended.
    pub fn num_alive_tasks(&self) -> usize {
        // Ends first: who ended before the first sum was spawned before the second.
        let ended = self.sum(|worker| worker.ended.get(), |remote| remote.ended.load(Relaxed));
        self.spawned_tasks_count().saturating_sub(ended) as usize
    }

    /// Tasks that wait in the common queue.
    pub fn global_queue_depth(&self) -> usize {
        match &self.handle.scheduler {
            SchedulerHandle::CurrentThread(shared) => shared.inject_depth(),
            SchedulerHandle::MultiThread(shared) => shared.inject_depth(),
        }
    }

    /// How long `worker` was busy in all, up to when it last ran out of work.
    ///
    /// # Panics
    /// As all that ask for a `worker`: if there is none of that number.
    #[track_caller]
    pub fn worker_total_busy_duration(&self, worker: usize) -> Duration {
        self.worker(worker).busy()
    }

    /// How often `worker` went to sleep.
    #[track_caller]
    pub fn worker_park_count(&self, worker: usize) -> u64 {
        self.worker(worker).parks.get()
    }

    /// How often `worker` went to sleep or woke up: odd while it sleeps.
    ///
    /// Two looks tell whether a worker has made progress: if the count has not changed and is even, it has been
    /// at work all the time.
    ///
    /// ```
    /// use wakeful::runtime::Builder;
    ///
    /// let runtime = Builder::new_multi_thread().worker_threads(1).build()?;
    /// let metrics = runtime.metrics();
    /// while metrics.worker_park_unpark_count(0) % 2 == 0 {
    ///     std::thread::yield_now(); // it has just started, and goes to sleep soon
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

    /// The thread that is `worker` now, if it has started.
    #[track_caller]
    pub fn worker_thread_id(&self, worker: usize) -> Option<ThreadId> {
        self.worker(worker).thread_id()
    }

    /// Polls that `worker` made.
    #[track_caller]
    pub fn worker_poll_count(&self, worker: usize) -> u64 {
        self.worker(worker).polls.get()
    }

    /// How often `worker` woke up and found nothing to do.
    #[track_caller]
    pub fn worker_noop_count(&self, worker: usize) -> u64 {
        self.worker(worker).noops.get()
    }

    /// Tasks that `worker` took from others.
    #[track_caller]
    pub fn worker_steal_count(&self, worker: usize) -> u64 {
        self.worker(worker).steals.get()
    }

    /// How often `worker` took tasks from another.
    #[track_caller]
    pub fn worker_steal_operations(&self, worker: usize) -> u64 {
        self.worker(worker).steal_operations.get()
    }

    /// Tasks that were put into the queue of `worker` by itself.
    #[track_caller]
    pub fn worker_local_schedule_count(&self, worker: usize) -> u64 {
        self.worker(worker).local_schedules.get()
    }

    /// Tasks that went to the common queue because that of `worker` was full: none, for it grows.
    #[track_caller]
    pub fn worker_overflow_count(&self, worker: usize) -> u64 {
        let _exists = self.worker(worker);
        0
    }

    /// Tasks that wait in the queue of `worker`, those it holds back for itself not counted.
    #[track_caller]
    pub fn worker_local_queue_depth(&self, worker: usize) -> usize {
        match &self.handle.scheduler {
            SchedulerHandle::CurrentThread(_) => {
                let metrics = self.worker(worker);
                metrics.local_schedules.get().saturating_sub(metrics.polls.get()) as usize
            }
            SchedulerHandle::MultiThread(shared) => {
                let _exists = self.worker(worker);
                shared.local_queue_depth(worker)
            }
        }
    }

    /// Tasks that were ever spawned.
    pub fn spawned_tasks_count(&self) -> u64 {
        self.sum(|worker| worker.spawned.get(), |remote| remote.spawned.load(Relaxed))
    }

    /// Tasks that were scheduled from outside of the runtime's workers.
    pub fn remote_schedule_count(&self) -> u64 {
        let remote = self.remote();
        remote.schedules.load(Relaxed) + remote.spawned.load(Relaxed)
    }

    /// How often a task used its cooperative budget up and was made to give way.
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
        self.sum(|worker| worker.forced_yields.get(), |_| 0)
    }

    /// Threads for blocking tasks.
    pub fn num_blocking_threads(&self) -> usize {
        let workers = match &self.handle.scheduler {
            SchedulerHandle::CurrentThread(_) => 0,
            SchedulerHandle::MultiThread(shared) => shared.worker_count(),
        };
        self.handle.scheduler.pool().threads(workers)
    }

    /// Threads for blocking tasks that have none.
    pub fn num_idle_blocking_threads(&self) -> usize {
        self.handle.scheduler.pool().idle_threads()
    }

    /// Blocking tasks that wait for a thread.
    pub fn blocking_queue_depth(&self) -> usize {
        self.handle.scheduler.pool().queue_depth()
    }

    /// Polls that held their thread for longer than [`Builder::stall_after`], those under way included.
    ///
    /// On a current-thread runtime, and those of a `LocalSet`, only if they are reported to somebody.
    ///
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

    /// How long the longest of these lasted, or has lasted up to now.
    pub fn longest_stall(&self) -> Duration {
        self.stalls().longest()
    }

    /// How often a worker that stood still was handed to another thread.
    pub fn stall_handoff_count(&self) -> u64 {
        self.stalls().handoffs()
    }

    /// Threads that lost their worker to another, and whose poll has not returned yet.
    ///
    /// They count as [blocking threads](Self::num_blocking_threads). Those that stand by for the next time
    /// are the [idle](Self::num_idle_blocking_threads) ones.
    pub fn num_stalled_threads(&self) -> usize {
        self.stalls().held_threads()
    }

    fn stalls(&self) -> &StallMetrics {
        &self.handle.scheduler.stalls().metrics
    }

    #[track_caller]
    fn worker(&self, worker: usize) -> &WorkerMetrics {
        let workers = self.num_workers();
        assert!(worker < workers, "asked for worker {worker} of a runtime that has {workers}");
        match &self.handle.scheduler {
            SchedulerHandle::CurrentThread(shared) => &shared.metrics,
            SchedulerHandle::MultiThread(shared) => shared.worker_metrics(worker),
        }
    }

    fn remote(&self) -> &RemoteMetrics {
        match &self.handle.scheduler {
            SchedulerHandle::CurrentThread(shared) => shared.remote_metrics(),
            SchedulerHandle::MultiThread(shared) => shared.remote_metrics(),
        }
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
