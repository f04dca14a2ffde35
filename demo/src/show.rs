//! State that all parts of the service share: counters, lists, and the construction of the runtime
//! on show.

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

/// The runtime's default threshold of a stall.
const STALL_AFTER: Duration = Duration::from_millis(2);

/// The shared state.
pub struct Show {
    started: Instant,
    pub handoff: Handoff,
    /// The time of requests, from when they were due to the last byte of the answer.
    pub requests: Histogram,
    pub failed_requests: AtomicU64,
    /// The lateness of the tasks that tick every millisecond.
    pub ticks: Histogram,
    /// Armed timers: those of the tasks that tick, and those of the page's button.
    pub timers: AtomicUsize,
    /// The lateness of the button's timers that have fired.
    pub late_timers: Histogram,
    pub stalls: StallLog,
    pub journal: Journal,
    pub live: Live,
    /// The operating system's ids of the runtime's threads.
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

    /// Returns the time since the start of the service. All events use it.
    pub fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Returns the id of a thread of the runtime that the operating system and stall reports use.
    pub fn thread_number(&self, thread: ThreadId) -> Option<u32> {
        self.threads
            .lock()
            .expect("no thread panics while it holds this lock")
            .get(&thread)
            .copied()
    }

    /// Builds the runtime on show: Wakeful's defaults, with hooks that observe it.
    pub fn runtime(self: &Arc<Show>) -> io::Result<Runtime> {
        let (starts, stops, reported, ended) =
            (self.clone(), self.clone(), self.clone(), self.clone());
        let mut builder = Builder::new_multi_thread();
        if self.handoff == Handoff::Off {
            builder.disable_stall_handoff();
        }
        builder
            .enable_all()
            .thread_name("wakeful")
            .on_thread_start(move || starts.note_thread())
            .on_thread_stop(move || stops.forget_thread())
            .on_stall(move |stall| reported.stalls.reported(Entry::new(reported.now(), stall)))
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
        // The target is `PID/task/TID`.
        let link = fs::read_link("/proc/thread-self").ok();
        let number = link.as_ref().and_then(|link| link.file_name()?.to_str()?.parse().ok());
        if let Some(number) = number {
            let mut threads =
                self.threads.lock().expect("no thread panics while it holds this lock");
            threads.insert(thread::current().id(), number);
        }
    }

    fn forget_thread(&self) {
        self.threads
            .lock()
            .expect("no thread panics while it holds this lock")
            .remove(&thread::current().id());
    }
}
