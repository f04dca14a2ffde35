//! The builder of runtimes.

mod metrics;
mod tokio_only;

use super::{Handle, LocalOptions, LocalRuntime, Runtime, version_note};
use crate::blocking::Pool;
use crate::census::Hang;
use crate::config::{
    Callback, Config, TaskCallback, TaskHooks, ThreadConfig, ThreadNaming, UnhandledPanic,
};
use crate::console::{self, HangCallback};
use crate::driver::{DriverParts, EventsMax};
use crate::rng_seed::{RngSeed, Seeds};
use crate::scheduler::{RuntimeInfo, SchedulerHandle, current_thread, multi_thread};
use crate::stall::{Stall, StallConfig};
use crate::task_meta::TaskMeta;
use crate::timers::{TimeConfig, TimeHandle};
use metrics::MetricSettings;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// A builder that configures and starts a runtime.
///
/// Create one with [`new_multi_thread`](Self::new_multi_thread) or
/// [`new_current_thread`](Self::new_current_thread), change settings with the methods below, and
/// finish with [`build`](Self::build). I/O and timers are disabled by default: call
/// [`enable_all`](Self::enable_all) unless the runtime needs neither. A builder can build any
/// number of runtimes.
///
/// ```
/// use wakeful::runtime::Builder;
///
/// let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
/// assert_eq!(runtime.block_on(async { 1 + 1 }), 2);
/// ```
///
/// # Callbacks
/// The `on_*` methods set callbacks. If a callback panics, the panic hook reports it as usual, and
/// the calling thread continues. Setting the same callback again replaces the earlier one.
pub struct Builder {
    kind: Kind,
    name: Option<String>,
    worker_threads: Option<usize>,
    max_blocking_threads: usize,
    thread_naming: ThreadNaming,
    thread_stack_size: Option<usize>,
    keep_alive: Duration,
    on_thread_start: Option<Callback>,
    on_thread_stop: Option<Callback>,
    before_park: Option<Callback>,
    after_unpark: Option<Callback>,
    hooks: TaskHooks,
    global_queue_interval: Option<u32>,
    event_interval: u32,
    lifo_slot: bool,
    rng_seed: Option<RngSeed>,
    metrics: MetricSettings,
    unhandled_panic: UnhandledPanic,
    enable_io: bool,
    events_max: EventsMax,
    enable_time: bool,
    start_paused: bool,
    stall: StallConfig,
    on_deadlock: Option<HangCallback>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    CurrentThread,
    MultiThread,
}

/// Default limit on the threads of `spawn_blocking`; the same as Tokio's.
const BLOCKING_THREADS_DEFAULT: usize = 512;

/// Default time after which an idle thread of the blocking pool exits; the same as Tokio's.
const KEEP_ALIVE_DEFAULT: Duration = Duration::from_secs(10);

/// Default number of polls between two polls of the driver; the same as Tokio's.
const EVENT_INTERVAL_DEFAULT: u32 = 61;

/// Default number of events that one poll of the driver takes from the kernel; the same as Tokio's.
const EVENTS_MAX_DEFAULT: EventsMax = EventsMax { waiting: 1024, busy: 1024 };

impl Builder {
    /// Creates a builder for a runtime that runs all tasks on the thread that calls `block_on`.
    ///
    /// While no thread is in [`Runtime::block_on`], the runtime makes no progress: tasks are not
    /// polled, and timers and I/O are not processed. Only `spawn_blocking` has threads of its own.
    ///
    /// ```
    /// use wakeful::runtime::Builder;
    ///
    /// let runtime = Builder::new_current_thread().build()?;
    /// let task = runtime.spawn(async { 42 });
    /// assert!(!task.is_finished()); // no thread drives the runtime yet
    /// assert_eq!(runtime.block_on(task).unwrap(), 42);
    /// # std::io::Result::Ok(())
    /// ```
    pub fn new_current_thread() -> Builder {
        Builder::new(Kind::CurrentThread)
    }

    /// Creates a builder for a runtime that runs tasks on a pool of worker threads.
    ///
    /// The workers start in [`build`](Self::build) and run until the runtime is dropped. See
    /// [`worker_threads`](Self::worker_threads) for their number.
    ///
    /// ```
    /// use wakeful::runtime::Builder;
    ///
    /// let runtime = Builder::new_multi_thread().enable_all().build()?;
    /// let (tx, rx) = std::sync::mpsc::channel();
    /// runtime.spawn(async move { tx.send("from a worker") });
    /// assert_eq!(rx.recv(), Ok("from a worker")); // without `block_on`
    /// # std::io::Result::Ok(())
    /// ```
    pub fn new_multi_thread() -> Builder {
        Builder::new(Kind::MultiThread)
    }

    fn new(kind: Kind) -> Builder {
        Builder {
            kind,
            name: None,
            worker_threads: None,
            max_blocking_threads: BLOCKING_THREADS_DEFAULT,
            thread_naming: ThreadNaming::Fixed("wakeful-worker".into()),
            thread_stack_size: None,
            keep_alive: KEEP_ALIVE_DEFAULT,
            on_thread_start: None,
            on_thread_stop: None,
            before_park: None,
            after_unpark: None,
            hooks: TaskHooks::default(),
            global_queue_interval: None,
            event_interval: EVENT_INTERVAL_DEFAULT,
            lifo_slot: true,
            rng_seed: None,
            metrics: MetricSettings::default(),
            unhandled_panic: UnhandledPanic::Ignore,
            enable_io: false,
            events_max: EVENTS_MAX_DEFAULT,
            enable_time: false,
            start_paused: false,
            stall: StallConfig::from_env(),
            on_deadlock: None,
        }
    }

    /// Enables I/O and timers.
    ///
    /// This is the same as calling [`enable_io`](Self::enable_io) and
    /// [`enable_time`](Self::enable_time).
    pub fn enable_all(&mut self) -> &mut Self {
        self.enable_io().enable_time()
    }

    /// Enables I/O: sockets, pipes, child processes and signals.
    ///
    /// Without this, creating such an object on the runtime panics or fails.
    ///
    /// ```
    /// use wakeful::{net::UdpSocket, runtime::Builder};
    ///
    /// let runtime = Builder::new_current_thread().enable_io().build()?;
    /// runtime.block_on(UdpSocket::bind("127.0.0.1:0"))?;
    /// # std::io::Result::Ok(())
    /// ```
    pub fn enable_io(&mut self) -> &mut Self {
        self.enable_io = true;
        self
    }

    /// Sets how many I/O events are taken from the kernel at once. The default is 1024.
    ///
    /// This also sets [`max_io_events_per_busy_tick`](Self::max_io_events_per_busy_tick). Further
    /// events are taken by the next poll of the driver; none is lost.
    ///
    /// # Panics
    /// Panics if `capacity` is zero.
    #[track_caller]
    pub fn max_io_events_per_tick(&mut self, capacity: usize) -> &mut Self {
        assert!(capacity > 0, "called with 0: max_io_events_per_tick must be non-zero");
        self.events_max = EventsMax { waiting: capacity, busy: capacity };
        self
    }

    /// Sets how many I/O events a worker that has tasks to run takes from the kernel at once.
    ///
    /// The default is the value of [`max_io_events_per_tick`](Self::max_io_events_per_tick), which
    /// must be called first if both are set. A lower value lets a busy worker return to its tasks
    /// sooner.
    ///
    /// # Panics
    /// Panics if `capacity` is zero.
    #[track_caller]
    pub fn max_io_events_per_busy_tick(&mut self, capacity: usize) -> &mut Self {
        assert!(capacity > 0, "called with 0: max_io_events_per_busy_tick must be non-zero");
        self.events_max.busy = capacity;
        self
    }

    /// Enables timers: sleeps, timeouts and intervals.
    ///
    /// Without this, creating one of them on the runtime panics.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use wakeful::{runtime::Builder, time};
    ///
    /// let runtime = Builder::new_current_thread().enable_time().build()?;
    /// runtime.block_on(async { time::sleep(Duration::from_millis(1)).await });
    /// # std::io::Result::Ok(())
    /// ```
    pub fn enable_time(&mut self) -> &mut Self {
        self.enable_time = true;
        self
    }

    /// Sets whether the runtime starts with its clock paused, as by [`time::pause`].
    ///
    /// This is for tests: a paused clock jumps to the next timer when the runtime has nothing else
    /// to do. It needs a current-thread runtime with timers enabled; [`build`](Self::build) panics
    /// on a multi-thread one.
    ///
    /// [`time::pause`]: crate::time::pause
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use wakeful::{runtime::Builder, time};
    ///
    /// let runtime = Builder::new_current_thread().enable_time().start_paused(true).build()?;
    /// runtime.block_on(async { time::sleep(Duration::from_secs(86_400)).await }); // at once
    /// # std::io::Result::Ok(())
    /// ```
    #[cfg(feature = "test-util")]
    #[cfg_attr(docsrs, doc(cfg(feature = "test-util")))]
    pub fn start_paused(&mut self, start_paused: bool) -> &mut Self {
        self.start_paused = start_paused;
        self
    }

    /// Sets the number of worker threads of a multi-thread runtime.
    ///
    /// The default is the value of the environment variable `WAKEFUL_WORKER_THREADS`, else that of
    /// `TOKIO_WORKER_THREADS`, else [`std::thread::available_parallelism`]. A number set here takes
    /// precedence over the environment. A current-thread runtime ignores it.
    ///
    /// # Panics
    /// Panics if `val` is zero.
    ///
    /// # Examples
    ///
    /// ```
    /// use wakeful::runtime::Builder;
    ///
    /// let runtime = Builder::new_multi_thread().worker_threads(3).build()?;
    /// assert_eq!(runtime.metrics().num_workers(), 3);
    /// # std::io::Result::Ok(())
    /// ```
    #[track_caller]
    pub fn worker_threads(&mut self, val: usize) -> &mut Self {
        assert!(
            val > 0,
            "`Builder::worker_threads` called with 0; a runtime needs at least 1 worker"
        );
        self.worker_threads = Some(val);
        self
    }

    /// Sets how many threads the runtime may start besides its workers. The default is 512.
    ///
    /// These threads run the closures of [`spawn_blocking`](crate::task::spawn_blocking) and file
    /// operations, and stand in for workers that are blocked. They start when needed. At the limit,
    /// further closures are queued until a thread is free, and a worker that is blocked cannot hand
    /// off its tasks ([`StallOutcome::NoThread`]).
    ///
    /// [`StallOutcome::NoThread`]: super::StallOutcome::NoThread
    ///
    /// # Panics
    /// Panics if `val` is zero.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::thread;
    /// use wakeful::runtime::Builder;
    ///
    /// let runtime = Builder::new_current_thread().max_blocking_threads(1).build()?;
    /// let (one, other) = runtime.block_on(async {
    ///     let thread_of = || wakeful::task::spawn_blocking(|| thread::current().id());
    ///     wakeful::join!(thread_of(), thread_of())
    /// });
    /// assert_eq!(one.unwrap(), other.unwrap()); // one after the other
    /// # std::io::Result::Ok(())
    /// ```
    #[track_caller]
    pub fn max_blocking_threads(&mut self, val: usize) -> &mut Self {
        assert!(
            val > 0,
            "`Builder::max_blocking_threads` called with 0; `spawn_blocking` needs at least 1 thread"
        );
        self.max_blocking_threads = val;
        self
    }

    /// Sets the name of the runtime's threads. The default is `wakeful-worker`.
    ///
    /// Workers and threads of the blocking pool have the same name. Linux shows its first 15 bytes.
    pub fn thread_name(&mut self, val: impl Into<String>) -> &mut Self {
        self.thread_naming = ThreadNaming::Fixed(val.into());
        self
    }

    /// Sets a function that returns the name of each thread that the runtime starts.
    ///
    /// It is called for each thread, and replaces [`thread_name`](Self::thread_name). On a
    /// multi-thread runtime idle workers call it ahead of need, so that a hand-off does not wait
    /// for `f`. A hand-off that finds no name ready gives its thread the default one.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    /// use wakeful::runtime::Builder;
    ///
    /// let started = AtomicU32::new(0);
    /// let runtime = Builder::new_multi_thread()
    ///     .worker_threads(2)
    ///     .thread_name_fn(move || format!("db-{}", started.fetch_add(1, Relaxed)))
    ///     .build()?;
    /// let name = runtime.spawn(async { std::thread::current().name().map(str::to_owned) });
    /// assert!(runtime.block_on(name).unwrap().unwrap().starts_with("db-"));
    /// # std::io::Result::Ok(())
    /// ```
    pub fn thread_name_fn<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn() -> String + Send + Sync + 'static,
    {
        self.thread_naming = ThreadNaming::Function(Arc::new(f));
        self
    }

    /// Sets the name of the runtime itself, which [`Handle::name`] returns.
    ///
    /// # Panics
    /// Panics if the name is empty or blank.
    ///
    /// # Examples
    ///
    /// ```
    /// use wakeful::runtime::{Builder, Handle};
    ///
    /// let runtime = Builder::new_current_thread().name("background").build()?;
    /// runtime.block_on(async { assert_eq!(Handle::current().name(), Some("background")) });
    /// # std::io::Result::Ok(())
    /// ```
    #[track_caller]
    pub fn name(&mut self, val: impl Into<String>) -> &mut Self {
        let name = val.into();
        assert!(
            !name.trim().is_empty(),
            "`Builder::name` called with an empty name; do not call it for a runtime without a name"
        );
        self.name = Some(name);
        self
    }

    /// Sets the stack size of the runtime's threads, in bytes.
    ///
    /// The default is that of [`std::thread::Builder::stack_size`]. It does not affect the thread
    /// that calls `block_on`.
    pub fn thread_stack_size(&mut self, val: usize) -> &mut Self {
        self.thread_stack_size = Some(val);
        self
    }

    /// Sets how long an idle thread of the blocking pool waits for work before it exits.
    ///
    /// The default is ten seconds.
    pub fn thread_keep_alive(&mut self, duration: Duration) -> &mut Self {
        self.keep_alive = duration;
        self
    }

    /// Calls `f` on each thread of the runtime after it starts, before it runs any task.
    ///
    /// That includes workers and threads of the blocking pool, but not the thread that calls
    /// `block_on`.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use wakeful::runtime::Builder;
    ///
    /// let (tx, rx) = mpsc::channel();
    /// let stopped = tx.clone();
    /// let runtime = Builder::new_multi_thread()
    ///     .worker_threads(1)
    ///     .on_thread_start(move || tx.send("started").unwrap())
    ///     .on_thread_stop(move || stopped.send("stopped").unwrap())
    ///     .build()?;
    /// assert_eq!(rx.recv(), Ok("started"));
    /// drop(runtime); // waits for its threads
    /// assert!(rx.iter().any(|news| news == "stopped"));
    /// # std::io::Result::Ok(())
    /// ```
    pub fn on_thread_start<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn() + Send + Sync + 'static,
    {
        self.on_thread_start = Some(Arc::new(f));
        self
    }

    /// Calls `f` on each thread of the runtime before it exits.
    ///
    /// That includes the threads for which [`on_thread_start`](Self::on_thread_start) calls its
    /// callback.
    pub fn on_thread_stop<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn() + Send + Sync + 'static,
    {
        self.on_thread_stop = Some(Arc::new(f));
        self
    }

    /// Calls `f` on a worker before it parks because it has nothing to do.
    ///
    /// On a current-thread runtime that is the thread in `block_on`. Tasks that `f` spawns run
    /// before the worker parks.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use wakeful::runtime::Builder;
    ///
    /// let (tx, rx) = mpsc::channel();
    /// let _runtime = Builder::new_multi_thread()
    ///     .worker_threads(1)
    ///     .on_thread_park(move || _ = tx.send("nothing to do"))
    ///     .build()?;
    /// assert_eq!(rx.recv(), Ok("nothing to do"));
    /// # std::io::Result::Ok(())
    /// ```
    pub fn on_thread_park<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn() + Send + Sync + 'static,
    {
        self.before_park = Some(Arc::new(f));
        self
    }

    /// Calls `f` on a worker after it is unparked, before it runs tasks.
    pub fn on_thread_unpark<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn() + Send + Sync + 'static,
    {
        self.after_unpark = Some(Arc::new(f));
        self
    }

    /// Calls `f` for each task that is spawned, on the thread that spawns it.
    ///
    /// The task callbacks are not called for closures of `spawn_blocking`, nor for tasks of a
    /// [`LocalSet`](crate::task::LocalSet).
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use wakeful::runtime::Builder;
    ///
    /// let (tx, spawns) = mpsc::channel();
    /// let runtime = Builder::new_current_thread()
    ///     .on_task_spawn(move |task| tx.send((task.id(), task.spawned_at().file())).unwrap())
    ///     .build()?;
    /// let task = runtime.spawn(async {});
    /// assert_eq!(spawns.recv(), Ok((task.id(), file!())));
    /// # std::io::Result::Ok(())
    /// ```
    pub fn on_task_spawn<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn(&TaskMeta<'_>) + Send + Sync + 'static,
    {
        self.hooks.spawn = task_callback(f);
        self
    }

    /// Calls `f` before each poll of a task, on the thread that polls it.
    ///
    /// `f` runs for every poll: keep it short.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
    /// use wakeful::{runtime::Builder, task};
    ///
    /// let (polls, ends) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    /// let (in_poll, in_end) = (polls.clone(), ends.clone());
    /// let runtime = Builder::new_current_thread()
    ///     .on_before_task_poll(move |_| _ = in_poll.fetch_add(1, SeqCst))
    ///     .on_task_terminate(move |_| _ = in_end.fetch_add(1, SeqCst))
    ///     .build()?;
    /// let task = runtime.spawn(task::yield_now());
    /// runtime.block_on(task).unwrap();
    /// assert_eq!((polls.load(SeqCst), ends.load(SeqCst)), (2, 1)); // yielded once
    /// # std::io::Result::Ok(())
    /// ```
    pub fn on_before_task_poll<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn(&TaskMeta<'_>) + Send + Sync + 'static,
    {
        self.hooks.before_poll = task_callback(f);
        self
    }

    /// Calls `f` after each poll of a task, on the thread that polled it.
    pub fn on_after_task_poll<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn(&TaskMeta<'_>) + Send + Sync + 'static,
    {
        self.hooks.after_poll = task_callback(f);
        self
    }

    /// Calls `f` for each task that ends, before its `JoinHandle` is notified.
    ///
    /// A task ends when it completes, panics, or is cancelled by an abort or the runtime's
    /// shutdown.
    pub fn on_task_terminate<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn(&TaskMeta<'_>) + Send + Sync + 'static,
    {
        self.hooks.terminate = task_callback(f);
        self
    }

    /// Sets how often a worker polls the injection queue, in tasks run from its own queue.
    ///
    /// The injection queue holds tasks that were spawned or woken by threads that are not workers.
    /// The default is 31 on a current-thread runtime. On a multi-thread runtime each worker adapts
    /// the interval to the duration of its polls, so that a task waits about 200 µs at most in the
    /// injection queue while all workers are busy. A lower value favours tasks from outside; a
    /// higher one saves synchronization.
    ///
    /// # Panics
    /// Panics if `val` is zero.
    #[track_caller]
    pub fn global_queue_interval(&mut self, val: u32) -> &mut Self {
        assert!(
            val > 0,
            "`Builder::global_queue_interval` called with 0; use 1 to poll the injection queue before \
             each task"
        );
        self.global_queue_interval = Some(val);
        self
    }

    /// Sets how often a busy worker polls for I/O events and timers, in polls of tasks.
    ///
    /// The default is 61. A worker of a multi-thread runtime skips a poll of the driver if the last
    /// one was less than 10 µs ago, and waits for the same number of polls again.
    ///
    /// # Panics
    /// Panics if `val` is zero.
    #[track_caller]
    pub fn event_interval(&mut self, val: u32) -> &mut Self {
        assert!(
            val > 0,
            "`Builder::event_interval` called with 0; use 1 to poll for events after each task"
        );
        self.event_interval = val;
        self
    }

    /// Sets what the runtime does when a task panics.
    ///
    /// The default is [`UnhandledPanic::Ignore`]: the panic is returned by the task's `JoinHandle`.
    ///
    /// # Panics
    /// Panics on the builder of a multi-thread runtime, unless `behavior` is `Ignore`.
    ///
    /// See [`UnhandledPanic`] for an example.
    #[track_caller]
    pub fn unhandled_panic(&mut self, behavior: UnhandledPanic) -> &mut Self {
        assert!(
            self.kind == Kind::CurrentThread || behavior == UnhandledPanic::Ignore,
            "`Builder::unhandled_panic` called with `{behavior:?}` for a multi-thread runtime, which \
             supports only `Ignore`; use `new_current_thread`"
        );
        self.unhandled_panic = behavior;
        self
    }

    /// Disables the LIFO slot: a task that is woken by another task goes to the end of the queue.
    ///
    /// By default, the task that was woken last usually runs next on the same worker, since the
    /// data that it needs is likely in the CPU's cache. The number of consecutive tasks from the
    /// slot is limited. A current-thread runtime has no such slot.
    pub fn disable_lifo_slot(&mut self) -> &mut Self {
        self.lifo_slot = false;
        self
    }

    /// Sets the seed of the random numbers that the runtime's threads use.
    ///
    /// The order in which `select!` polls its branches is then the same in each run, as far as the
    /// order of everything else is: on a current-thread runtime without I/O, or with one worker.
    /// Each runtime that the builder builds begins with the same numbers.
    ///
    /// See [`RngSeed`] for an example.
    pub fn rng_seed(&mut self, seed: RngSeed) -> &mut Self {
        self.rng_seed = Some(seed);
        self
    }

    /// Sets how long a poll may block its thread before it counts as a stall. The default is 2 ms.
    ///
    /// When a task blocks its worker for that long and other work is waiting, another thread takes
    /// over the worker's queue, timers and I/O. A shorter time means less delay for the other
    /// tasks, but more threads. The hand-off exists on multi-thread runtimes only; the time also
    /// applies to the stall reports of current-thread runtimes ([`on_stall`](Self::on_stall)).
    ///
    /// # Panics
    /// Panics if `val` is zero.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::{sync::mpsc, time::Duration};
    /// use wakeful::runtime::Builder;
    ///
    /// let runtime = Builder::new_multi_thread()
    ///     .worker_threads(1)
    ///     .stall_after(Duration::from_millis(1))
    ///     .build()?;
    /// let (tx, rx) = mpsc::channel();
    /// let stuck = runtime.spawn(async move { rx.recv() }); // blocks the one worker there is
    /// runtime.spawn(async move { tx.send("and yet this runs") });
    /// assert_eq!(runtime.block_on(stuck).unwrap(), Ok("and yet this runs"));
    /// # std::io::Result::Ok(())
    /// ```
    #[track_caller]
    pub fn stall_after(&mut self, val: Duration) -> &mut Self {
        assert!(
            !val.is_zero(),
            "`Builder::stall_after` called with 0; use `disable_stall_handoff` to disable the hand-off"
        );
        self.stall.after = val;
        self
    }

    /// Disables the hand-off: tasks queued behind a blocking task wait until it returns.
    ///
    /// Idle workers may still steal queued tasks, but the blocked worker's timers wait, and if all
    /// workers are blocked, so does I/O. Stalls are still reported if [`on_stall`](Self::on_stall)
    /// or `WAKEFUL_STALL_REPORT` asks for it.
    pub fn disable_stall_handoff(&mut self) -> &mut Self {
        self.stall.hands_off = false;
        self
    }

    /// Calls `f` for each poll that lasts longer than [`stall_after`](Self::stall_after).
    ///
    /// `f` is called once per stall, usually while the stall lasts and after the worker's other
    /// tasks were handed off. It runs on a thread of its own, so it may block without delaying
    /// tasks; if it falls behind, up to 256 stalls are queued for it, and further ones are not
    /// reported.
    ///
    /// To print stalls to stderr without changing the program, set the environment variable
    /// `WAKEFUL_STALL_REPORT=1`.
    ///
    /// With this callback, [`build`](Self::build) fails if the monitor thread cannot be started.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use wakeful::runtime::Builder;
    ///
    /// let (tx, stalls) = mpsc::channel();
    /// let runtime = Builder::new_multi_thread()
    ///     .worker_threads(1)
    ///     .on_stall(move |stall| _ = tx.send((stall.task_id(), stall.spawned_at())))
    ///     .build()?;
    /// let (release, held) = mpsc::channel::<()>();
    /// let task = runtime.spawn(async move { held.recv() }); // blocks
    ///
    /// let (id, spawned_at) = stalls.recv().unwrap();
    /// assert_eq!(id, Some(task.id()));
    /// assert_eq!(spawned_at.unwrap().file(), file!());
    /// drop(release);
    /// # std::io::Result::Ok(())
    /// ```
    pub fn on_stall<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn(&Stall) + Send + Sync + 'static,
    {
        self.stall.callback = Some(Arc::new(f));
        self
    }

    /// Calls `f` when tasks of the process are found to be deadlocked.
    ///
    /// `f` is called once for each [`Hang`], on a thread of its own, which looks every half second:
    /// tasks that hold locks and wait for each other, that wait for the end of each other, and so
    /// on. The thread is started with the first runtime that asks for it, and looks at all runtimes
    /// built from then on.
    ///
    /// Such a hang is [certain](Hang::is_certain), or it is a deadlock that would be certain if no
    /// task had moved a guard which borrows its lock to another task.
    ///
    /// To print such hangs to stderr without changing the program, set the environment variable
    /// `WAKEFUL_DEADLOCK_REPORT=1`.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use wakeful::{runtime::Builder, task::JoinHandle};
    ///
    /// let (tx, hangs) = mpsc::channel();
    /// let runtime = Builder::new_multi_thread()
    ///     .worker_threads(1)
    ///     .on_deadlock(move |hang| _ = tx.send((hang.kind(), hang.to_string())))
    ///     .build()?;
    ///
    /// // Two tasks that wait for the end of each other.
    /// let (to_first, handle) = wakeful::sync::oneshot::channel::<JoinHandle<()>>();
    /// let first = runtime.spawn(async { _ = handle.await.unwrap().await });
    /// let second = runtime.spawn(async { _ = first.await });
    /// to_first.send(second).unwrap();
    ///
    /// let (kind, text) = hangs.recv().unwrap();
    /// assert_eq!(kind, "join cycle");
    /// println!("{text}");
    /// # std::io::Result::Ok(())
    /// ```
    pub fn on_deadlock<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn(&Hang) + Send + Sync + 'static,
    {
        self.on_deadlock = Some(Arc::new(f));
        self
    }

    /// Builds the runtime and starts its workers.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses a thread for a worker, or file descriptors
    /// for the I/O driver. If the monitor thread that detects stalls cannot be started, that is an
    /// error only if stalls are reported ([`on_stall`](Self::on_stall), `WAKEFUL_STALL_REPORT`) or
    /// the workers call a start, park or unpark callback; otherwise the runtime works without
    /// hand-off.
    ///
    /// # Panics
    /// Panics on a multi-thread runtime if its clock is to start paused, or if the number of
    /// workers comes from an environment variable whose value is not a number above zero.
    #[track_caller]
    pub fn build(&mut self) -> io::Result<Runtime> {
        match self.kind {
            Kind::CurrentThread => self.build_current_thread(None),
            Kind::MultiThread => self.build_multi_thread(),
        }
    }

    /// Builds a runtime that is bound to the calling thread and whose tasks need not be `Send`.
    ///
    /// # Errors
    /// Returns an error in the same cases as [`build`](Self::build).
    ///
    /// # Panics
    /// Panics on a builder from [`new_multi_thread`](Self::new_multi_thread).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::rc::Rc;
    /// use wakeful::runtime::{Builder, LocalOptions};
    ///
    /// let runtime = Builder::new_current_thread().build_local(LocalOptions::default())?;
    /// let word = Rc::new("local");
    /// let task = runtime.spawn_local(async move { word.len() });
    /// assert_eq!(runtime.block_on(task).unwrap(), 5);
    /// # std::io::Result::Ok(())
    /// ```
    #[track_caller]
    pub fn build_local(&mut self, _options: LocalOptions) -> io::Result<LocalRuntime> {
        assert!(
            self.kind == Kind::CurrentThread,
            "`Builder::build_local` called for a multi-thread runtime; use `new_current_thread`"
        );
        let runtime = self.build_current_thread(Some(thread::current().id()))?;
        Ok(LocalRuntime::from_runtime(runtime))
    }

    fn build_current_thread(&self, bound_to: Option<ThreadId>) -> io::Result<Runtime> {
        version_note::print_once();
        console::prepare(self.on_deadlock.is_some());
        let driver = DriverParts::new(self.enable_io.then_some(self.events_max))?;
        let info = self.info(&driver);
        let scheduler = current_thread::new(self.config(), self.pool(0), info, driver, bound_to);
        scheduler.stalls.start_pinned_monitor()?;
        let scheduler = SchedulerHandle::CurrentThread(scheduler);
        console::add_runtime(&scheduler, self.on_deadlock.clone());
        Ok(Runtime::from_handle(Handle::new(scheduler)))
    }

    #[track_caller]
    fn build_multi_thread(&self) -> io::Result<Runtime> {
        version_note::print_once();
        console::prepare(self.on_deadlock.is_some());
        assert!(
            !self.start_paused,
            "`Builder::start_paused` called for a multi-thread runtime, whose clock cannot be paused; \
             use `new_current_thread`"
        );
        let workers = self.worker_threads.unwrap_or_else(default_workers);
        let pool = self.pool(workers);
        let driver = DriverParts::new(self.enable_io.then_some(self.events_max))?;
        let info = self.info(&driver);
        let started = multi_thread::start(workers, self.config(), pool.clone(), info, driver);
        match started {
            Ok(scheduler) => {
                let scheduler = SchedulerHandle::MultiThread(scheduler);
                console::add_runtime(&scheduler, self.on_deadlock.clone());
                Ok(Runtime::from_handle(Handle::new(scheduler)))
            }
            Err(error) => {
                pool.shutdown(None);
                let kind = error.kind();
                Err(io::Error::new(kind, format!("cannot start a worker thread: {error}")))
            }
        }
    }

    fn info(&self, driver: &DriverParts) -> RuntimeInfo {
        let time = TimeConfig {
            is_enabled: self.enable_time,
            can_pause: self.kind == Kind::CurrentThread && cfg!(feature = "test-util"),
            start_paused: self.start_paused,
        };
        let time = TimeHandle::new(time, driver.waker.clone());
        let seeds = self.rng_seed.as_ref().map(Seeds::new);
        RuntimeInfo { seeds, ..RuntimeInfo::new(self.name.clone(), driver.io.clone(), time) }
    }

    fn config(&self) -> Config {
        let histograms = self.metrics.histograms();
        let measures_schedule =
            self.metrics.tracks_schedule_latency || histograms.schedule_latencies.is_some();
        let config = Config {
            global_queue_interval: self.global_queue_interval,
            event_interval: self.event_interval,
            lifo_slot: self.lifo_slot,
            unhandled_panic: self.unhandled_panic,
            before_park: self.before_park.clone(),
            after_unpark: self.after_unpark.clone(),
            hooks: self.hooks.clone(),
            histograms,
            schedule_epoch: measures_schedule.then(Instant::now),
            stall: self.stall.clone(),
        };
        config.announce();
        config
    }

    fn pool(&self, workers: usize) -> Arc<Pool> {
        Pool::new(ThreadConfig {
            threads_max: workers + self.max_blocking_threads,
            keep_alive: self.keep_alive,
            stack_size: self.thread_stack_size,
            naming: self.thread_naming.clone(),
            on_start: self.on_thread_start.clone(),
            on_stop: self.on_thread_stop.clone(),
        })
    }
}

fn task_callback(f: impl Fn(&TaskMeta<'_>) + Send + Sync + 'static) -> Option<TaskCallback> {
    Some(Arc::new(f))
}

/// Returns the number of workers that the environment sets, else one per CPU.
fn default_workers() -> usize {
    for variable in ["WAKEFUL_WORKER_THREADS", "TOKIO_WORKER_THREADS"] {
        let Some(value) = std::env::var_os(variable) else { continue };
        let workers = value.to_str().and_then(|value| value.parse().ok()).filter(|&n| n > 0);
        return workers.unwrap_or_else(|| {
            panic!("the environment variable {variable} is {value:?}; it must be a number above 0")
        });
    }
    thread::available_parallelism().map_or(1, |cpus| cpus.get())
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("kind", &self.kind)
            .field("name", &self.name)
            .field("worker_threads", &self.worker_threads)
            .field("max_blocking_threads", &self.max_blocking_threads)
            .field(
                "thread_name",
                match &self.thread_naming {
                    ThreadNaming::Fixed(name) => name,
                    // Not called: it may count its calls.
                    ThreadNaming::Function(_) => &"<a function>",
                },
            )
            .field("thread_stack_size", &self.thread_stack_size)
            .field("thread_keep_alive", &self.keep_alive)
            .field("event_interval", &self.event_interval)
            .field("global_queue_interval", &self.global_queue_interval)
            .field("enable_io", &self.enable_io)
            .field("enable_time", &self.enable_time)
            .finish_non_exhaustive()
    }
}
