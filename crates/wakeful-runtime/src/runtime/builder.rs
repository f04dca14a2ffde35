//! How a runtime is configured and built.

use super::{Handle, LocalOptions, LocalRuntime, Runtime};
use crate::blocking::Pool;
use crate::config::{
    Callback, Config, OsThreadId, TaskCallback, TaskHooks, ThreadConfig, UnhandledPanic,
};
use crate::driver::{DriverParts, EventsMax};
use crate::scheduler::{RuntimeInfo, SchedulerHandle, current_thread, multi_thread};
use crate::stall::{Stall, StallConfig};
use crate::task_meta::TaskMeta;
use crate::timers::{TimeConfig, TimeHandle};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread::{self, ThreadId};
use std::time::Duration;

/// Configures and builds a runtime.
///
/// ```
/// use wakeful::runtime::Builder;
///
/// let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
/// assert_eq!(runtime.block_on(async { 1 + 1 }), 2);
/// ```
///
/// A panic in one of the callbacks is reported as any other and goes no further: the thread that called
/// it goes on.
pub struct Builder {
    kind: Kind,
    name: Option<String>,
    worker_threads: Option<usize>,
    max_blocking_threads: usize,
    thread_name: OsThreadId,
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
    unhandled_panic: UnhandledPanic,
    enable_io: bool,
    events_max: EventsMax,
    enable_time: bool,
    start_paused: bool,
    stall: StallConfig,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    CurrentThread,
    MultiThread,
}

/// Threads that `spawn_blocking` may have, unless said otherwise.
const BLOCKING_THREADS_DEFAULT: usize = 512;

/// How long an idle thread of the blocking pool stays, unless said otherwise.
const KEEP_ALIVE_DEFAULT: Duration = Duration::from_secs(10);

/// After how many polls the driver is looked at, unless said otherwise.
const EVENT_INTERVAL_DEFAULT: u32 = 61;

/// Events taken from the kernel at once, unless said otherwise.
const EVENTS_MAX_DEFAULT: EventsMax = EventsMax { waiting: 1024, busy: 1024 };

impl Builder {
    /// A runtime whose tasks all run on the thread that is in `block_on`.
    ///
    /// Outside of `block_on` nothing of it runs, timers and I/O included.
    ///
    /// ```
    /// use wakeful::runtime::Builder;
    ///
    /// let runtime = Builder::new_current_thread().build()?;
    /// let task = runtime.spawn(async { 42 });
    /// assert!(!task.is_finished()); // nobody drives the runtime yet
    /// assert_eq!(runtime.block_on(task).unwrap(), 42);
    /// # std::io::Result::Ok(())
    /// ```
    pub fn new_current_thread() -> Builder {
        Builder::new(Kind::CurrentThread)
    }

    /// A runtime with several worker threads.
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
            thread_name: Arc::new(|| "wakeful-worker".into()),
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
            unhandled_panic: UnhandledPanic::Ignore,
            enable_io: false,
            events_max: EVENTS_MAX_DEFAULT,
            enable_time: false,
            start_paused: false,
            stall: StallConfig::from_env(),
        }
    }

    /// Enables I/O and time.
    pub fn enable_all(&mut self) -> &mut Self {
        self.enable_io().enable_time()
    }

    /// Enables I/O: sockets, processes, signals.
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

    /// Sets how many I/O events are taken from the kernel at once; 1024 by default.
    ///
    /// # Panics
    /// If `capacity` is zero.
    #[track_caller]
    pub fn max_io_events_per_tick(&mut self, capacity: usize) -> &mut Self {
        assert!(capacity > 0, "called with 0: max_io_events_per_tick must be non-zero");
        self.events_max = EventsMax { waiting: capacity, busy: capacity };
        self
    }

    /// Sets how many I/O events a worker that has tasks to run takes from the kernel when it looks in;
    /// by default as many as one that waits.
    ///
    /// # Panics
    /// If `capacity` is zero.
    #[track_caller]
    pub fn max_io_events_per_busy_tick(&mut self, capacity: usize) -> &mut Self {
        assert!(capacity > 0, "called with 0: max_io_events_per_busy_tick must be non-zero");
        self.events_max.busy = capacity;
        self
    }

    /// Enables time: sleeps, timeouts, intervals.
    ///
    /// ```
    /// use std::time::Duration;
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

    /// Has the runtime's clock stand still from the start, as if [`time::pause`] were called first.
    ///
    /// [`time::pause`]: crate::time::pause
    ///
    /// ```
    /// use std::time::Duration;
    /// use wakeful::{runtime::Builder, time};
    ///
    /// let runtime = Builder::new_current_thread().enable_time().start_paused(true).build()?;
    /// runtime.block_on(async { time::sleep(Duration::from_secs(86_400)).await }); // at once
    /// # std::io::Result::Ok(())
    /// ```
    #[cfg(feature = "test-util")]
    pub fn start_paused(&mut self, start_paused: bool) -> &mut Self {
        self.start_paused = start_paused;
        self
    }

    /// Sets the number of worker threads of a multi-thread runtime.
    ///
    /// By default it is that of the CPUs, or what the environment variable `WAKEFUL_WORKER_THREADS`
    /// says, or else `TOKIO_WORKER_THREADS`.
    ///
    /// # Panics
    /// If `val` is zero.
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
        assert!(val > 0, "`Builder::worker_threads` called with 0; a runtime needs one at least");
        self.worker_threads = Some(val);
        self
    }

    /// Sets how many threads `spawn_blocking` may have besides the workers; 512 by default.
    ///
    /// Beyond that, blocking tasks wait for one another.
    ///
    /// # Panics
    /// If `val` is zero.
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
            "`Builder::max_blocking_threads` called with 0; `spawn_blocking` needs one at least"
        );
        self.max_blocking_threads = val;
        self
    }

    /// Sets the name of the runtime's threads; `wakeful-worker` by default.
    pub fn thread_name(&mut self, val: impl Into<String>) -> &mut Self {
        let name = val.into();
        self.thread_name_fn(move || name.clone())
    }

    /// Sets what makes a name for each of the runtime's threads.
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
        self.thread_name = Arc::new(f);
        self
    }

    /// Gives the runtime itself a name, which [`Handle::name`] tells.
    ///
    /// # Panics
    /// If the name is empty or blank.
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
        assert!(!name.trim().is_empty(), "`Builder::name` called with an empty name; leave it out");
        self.name = Some(name);
        self
    }

    /// Sets the stack size, in bytes, of the runtime's threads.
    pub fn thread_stack_size(&mut self, val: usize) -> &mut Self {
        self.thread_stack_size = Some(val);
        self
    }

    /// Sets how long an idle thread of the blocking pool stays; ten seconds by default.
    pub fn thread_keep_alive(&mut self, duration: Duration) -> &mut Self {
        self.keep_alive = duration;
        self
    }

    /// Has `f` called on each of the runtime's threads when it starts.
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

    /// Has `f` called on each of the runtime's threads before it ends.
    pub fn on_thread_stop<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn() + Send + Sync + 'static,
    {
        self.on_thread_stop = Some(Arc::new(f));
        self
    }

    /// Has `f` called on a worker that has nothing to do, before it sleeps.
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

    /// Has `f` called on a worker that has slept, before it works.
    pub fn on_thread_unpark<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn() + Send + Sync + 'static,
    {
        self.after_unpark = Some(Arc::new(f));
        self
    }

    /// Has `f` called for each task that is spawned, by the thread that spawns it.
    pub fn on_task_spawn<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn(&TaskMeta<'_>) + Send + Sync + 'static,
    {
        self.hooks.spawn = task_callback(f);
        self
    }

    /// Has `f` called before each poll of a task.
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
    /// assert_eq!((polls.load(SeqCst), ends.load(SeqCst)), (2, 1)); // gave way once
    /// # std::io::Result::Ok(())
    /// ```
    pub fn on_before_task_poll<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn(&TaskMeta<'_>) + Send + Sync + 'static,
    {
        self.hooks.before_poll = task_callback(f);
        self
    }

    /// Has `f` called after each poll of a task.
    pub fn on_after_task_poll<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn(&TaskMeta<'_>) + Send + Sync + 'static,
    {
        self.hooks.after_poll = task_callback(f);
        self
    }

    /// Has `f` called for each task that ends, in whatever way, before those who join it know.
    pub fn on_task_terminate<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn(&TaskMeta<'_>) + Send + Sync + 'static,
    {
        self.hooks.terminate = task_callback(f);
        self
    }

    /// Sets after how many tasks from its own queue a worker looks at the common one.
    ///
    /// By default 31 for a current-thread runtime. One with many threads finds it out by itself, so that
    /// a task in the common queue waits about 200 µs at most for a busy worker.
    ///
    /// # Panics
    /// If `val` is zero.
    #[track_caller]
    pub fn global_queue_interval(&mut self, val: u32) -> &mut Self {
        assert!(
            val > 0,
            "`Builder::global_queue_interval` called with 0; 1 looks at the common queue each time"
        );
        self.global_queue_interval = Some(val);
        self
    }

    /// Sets after how many polls a worker looks for I/O and timers; 61 by default.
    ///
    /// If polls are so short that the last look was less than 10 µs ago, a worker of a multi-thread
    /// runtime saves it and looks after as many polls again.
    ///
    /// # Panics
    /// If `val` is zero.
    #[track_caller]
    pub fn event_interval(&mut self, val: u32) -> &mut Self {
        assert!(val > 0, "`Builder::event_interval` called with 0; 1 looks for events each time");
        self.event_interval = val;
        self
    }

    /// Sets what happens when a task panics; by default only those who join it notice.
    ///
    /// # Panics
    /// For anything but [`UnhandledPanic::Ignore`] on a multi-thread runtime.
    #[track_caller]
    pub fn unhandled_panic(&mut self, behavior: UnhandledPanic) -> &mut Self {
        assert!(
            self.kind == Kind::CurrentThread || behavior == UnhandledPanic::Ignore,
            "`Builder::unhandled_panic` called with `{behavior:?}` for a multi-thread runtime, which \
             knows only `Ignore`; use `new_current_thread`"
        );
        self.unhandled_panic = behavior;
        self
    }

    /// Lets tasks that were woken go to the end of the queue, instead of next in line.
    pub fn disable_lifo_slot(&mut self) -> &mut Self {
        self.lifo_slot = false;
        self
    }

    /// Sets how long a task's poll may hold its thread before that counts as a stall; 2 ms by default.
    ///
    /// A worker that stands still for that long, while something waits behind it, loses its queue, its
    /// timers and its turn in the driver to another thread. Shorter means less delay, and more threads.
    ///
    /// # Panics
    /// If `val` is zero.
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
            "`Builder::stall_after` called with 0; use `disable_stall_handoff` to have none"
        );
        self.stall.after = val;
        self
    }

    /// Lets what waits behind a task that blocks its worker wait until that is done, unless another worker has
    /// nothing to do and takes it.
    pub fn disable_stall_handoff(&mut self) -> &mut Self {
        self.stall.hands_off = false;
        self
    }

    /// Has `f` called for each poll that lasts longer than [`stall_after`](Self::stall_after).
    ///
    /// That is once per stall, mostly while it lasts, on a thread of its own, and after the worker's other
    /// tasks were handed to another thread. What `f` does holds nobody up, but stalls that come faster than it
    /// can take them are left out when hundreds wait.
    ///
    /// Whatever the program, the environment variable `WAKEFUL_STALL_REPORT=1` has a line for each of them
    /// printed to stderr.
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

    /// Builds the runtime.
    ///
    /// # Panics
    /// For a multi-thread runtime whose clock is to be paused from the start, and if the environment
    /// variable that says how many workers there are to be is no number above zero.
    ///
    /// # Errors
    /// If the operating system gives no thread for a worker, or no descriptors for the I/O driver.
    #[track_caller]
    pub fn build(&mut self) -> io::Result<Runtime> {
        match self.kind {
            Kind::CurrentThread => self.build_current_thread(None),
            Kind::MultiThread => self.build_multi_thread(),
        }
    }

    /// Builds a runtime that stays on this thread and whose tasks need not be `Send`.
    ///
    /// # Panics
    /// After [`new_multi_thread`](Self::new_multi_thread).
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
        let driver = DriverParts::new(self.enable_io.then_some(self.events_max))?;
        let info = self.info(&driver);
        let shared = current_thread::new(self.config(), self.pool(0), info, driver, bound_to);
        shared.stalls.start_pinned_monitor()?;
        Ok(Runtime::from_handle(Handle::new(SchedulerHandle::CurrentThread(shared))))
    }

    #[track_caller]
    fn build_multi_thread(&self) -> io::Result<Runtime> {
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
            Ok(shared) => {
                Ok(Runtime::from_handle(Handle::new(SchedulerHandle::MultiThread(shared))))
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
        RuntimeInfo::new(self.name.clone(), driver.io.clone(), time)
    }

    fn config(&self) -> Config {
        Config {
            global_queue_interval: self.global_queue_interval,
            event_interval: self.event_interval,
            lifo_slot: self.lifo_slot,
            unhandled_panic: self.unhandled_panic,
            before_park: self.before_park.clone(),
            after_unpark: self.after_unpark.clone(),
            hooks: self.hooks.clone(),
            stall: self.stall.clone(),
        }
    }

    fn pool(&self, workers: usize) -> Arc<Pool> {
        Pool::new(ThreadConfig {
            threads_max: workers + self.max_blocking_threads,
            keep_alive: self.keep_alive,
            stack_size: self.thread_stack_size,
            name: self.thread_name.clone(),
            on_start: self.on_thread_start.clone(),
            on_stop: self.on_thread_stop.clone(),
        })
    }
}

fn task_callback(f: impl Fn(&TaskMeta<'_>) + Send + Sync + 'static) -> Option<TaskCallback> {
    Some(Arc::new(f))
}

/// As many as the environment says, else one for each CPU.
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
            .field("thread_name", &(self.thread_name)())
            .field("thread_stack_size", &self.thread_stack_size)
            .field("thread_keep_alive", &self.keep_alive)
            .field("event_interval", &self.event_interval)
            .field("global_queue_interval", &self.global_queue_interval)
            .field("enable_io", &self.enable_io)
            .field("enable_time", &self.enable_time)
            .finish_non_exhaustive()
    }
}
