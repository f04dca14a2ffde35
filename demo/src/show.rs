//! What all parts of the service share: the counters, the lists, and the runtime that is on show.

use crate::arguments::Handoff;
use crate::histogram::Histogram;
use crate::journal::Journal;
use crate::live::Live;
use crate::stall_log::{Entry, StallLog};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};
use std::{fs, io};
use wakeful::runtime::{Builder, Runtime};

/// What the runtime calls a stall, unless told otherwise.
const STALL_AFTER: Duration = Duration::from_millis(2);

/// What there is to show.
pub struct Show {
    started: Instant,
    pub handoff: Handoff,
    /// How long requests took, from when they were due to their answer's last byte.
    pub requests: Histogram,
    pub failed_requests: AtomicU64,
    /// How late the tasks were that tick each millisecond.
    pub ticks: Histogram,
    /// Timers that are armed: by the tasks that tick, and by the page's button.
    pub timers: AtomicUsize,
    /// How late those of the button were that have fired.
    pub late_timers: Histogram,
    pub stalls: StallLog,
    pub journal: Journal,
    pub live: Live,
    /// What the operating system calls the runtime's threads.
    threads: Mutex<HashMap<ThreadId, u32>>,
}

thread_local! {
    static POLL_BEGAN: Cell<Option<Instant>> = const { Cell::new(None) };
}

impl Show {
    pub fn new(handoff: Handoff) -> Arc<Show> {
        Arc::new(Show {
            started: Instant::now(),
            handoff,
            requests: Histogram::new(),
            failed_requests: AtomicU64::new(0),
            ticks: Histogram::new(),
            timers: AtomicUsize::new(0),
            late_timers: Histogram::new(),
            stalls: StallLog::default(),
            journal: Journal::default(),
            live: Live::new(),
            threads: Mutex::default(),
        })
    }

    /// Since the service started: the time of all that is told to the page.
    pub fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// The number that the operating system, and the report of a stall, has for a thread of the runtime.
    pub fn thread_number(&self, thread: ThreadId) -> Option<u32> {
        self.threads.lock().expect("nobody panics in here").get(&thread).copied()
    }

    /// The runtime that is on show: as Wakeful comes, but for hooks that look on.
    pub fn runtime(self: &Arc<Show>) -> io::Result<Runtime> {
        let (starts, stops, told, ended) = (self.clone(), self.clone(), self.clone(), self.clone());
        let mut builder = Builder::new_multi_thread();
        if self.handoff == Handoff::Off {
            builder.disable_stall_handoff();
        }
        builder
            .enable_all()
            .thread_name("wakeful")
            .on_thread_start(move || starts.note_thread())
            .on_thread_stop(move || stops.forget_thread())
            .on_stall(move |stall| told.stalls.told(Entry::new(told.now(), stall)))
            .on_before_task_poll(|_| POLL_BEGAN.set(Some(Instant::now())))
            .on_after_task_poll(move |task| {
                let lasted = POLL_BEGAN.take().map(|began| began.elapsed());
                let Some(lasted) = lasted.filter(|&lasted| lasted >= STALL_AFTER) else { return };
                if let Ok(task) = task.id().to_string().parse() {
                    ended.stalls.ended(task, lasted);
                }
            })
            .build()
    }

    fn note_thread(&self) {
        // `PID/task/TID`
        let link = fs::read_link("/proc/thread-self").ok();
        let number = link.as_ref().and_then(|link| link.file_name()?.to_str()?.parse().ok());
        if let Some(number) = number {
            let mut threads = self.threads.lock().expect("nobody panics in here");
            threads.insert(thread::current().id(), number);
        }
    }

    fn forget_thread(&self) {
        self.threads.lock().expect("nobody panics in here").remove(&thread::current().id());
    }
}
