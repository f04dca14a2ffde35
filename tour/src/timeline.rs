//! What happened, when, on which thread, and which thread woke which task.
//!
//! Steps record events on a [`Timeline`] as they run: by hand ([`Timeline::polled`] and its kin),
//! or by wrapping a future ([`Timeline::trace`]) or a waker ([`Timeline::trace_waker`]), which then
//! record by themselves. The program prints the timeline in columns; tests ask for its
//! [`story`](Timeline::story), in which times and threads are left out.
//!
//! 时间线：发生了什么，在什么时候，在哪个线程上，谁唤醒了谁。各步一边运行一边记录；程序把它打印成
//! 表，测试则取它的 [`story`](Timeline::story)，里面不含时间和线程。
//!
//! ```
//! use std::pin::pin;
//! use std::task::{Context, Waker};
//! use tour::timeline::Timeline;
//!
//! let timeline = Timeline::new();
//! let mut future = pin!(timeline.trace("sum", async { 1 + 2 }));
//! let _ = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
//! assert_eq!(timeline.story(), ["sum polled", "sum returned Ready(3)"]);
//! ```

use std::fmt::{self, Debug};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

mod print;
mod trace;

#[cfg(test)]
mod tests;

pub use print::Printed;
pub use trace::{Traced, TracedWaker};

/// A record of events, shared by all threads that have a clone of it.
#[derive(Clone)]
pub struct Timeline {
    start: Instant,
    entries: Arc<Mutex<Vec<Entry>>>,
}

/// One line of the record.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Since the timeline was made.
    pub at: Duration,
    /// Name of the thread on which it happened.
    pub thread: String,
    /// The future, task or timer it happened to.
    pub who: String,
    /// What happened.
    pub event: Event,
}

impl Entry {
    /// Returns what happened, in English; of a scene, its title.
    pub fn text(&self) -> String {
        match &self.event {
            Event::Scene => self.who.clone(),
            event => event.to_string(),
        }
    }
}

/// What can happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A new scene begins; `who` is its title.
    Scene,
    /// Its `poll` was called.
    Polled,
    /// Its `poll` returned `Pending`.
    Pending,
    /// Its `poll` returned `Ready`, with this inside.
    Ready(String),
    /// Its `poll` panicked, with this text.
    Panicked(String),
    /// Its waker was called; says by which thread.
    Woken(String),
    /// A timer was set that goes off after this long.
    Armed(Duration),
    /// Its timer went off.
    Fired,
    /// Anything else, in words.
    Note(String),
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Scene => write!(f, "begins"),
            Event::Polled => write!(f, "polled"),
            Event::Pending => write!(f, "returned Pending"),
            Event::Ready(value) => write!(f, "returned Ready({value})"),
            Event::Panicked(text) => write!(f, "panicked: {text}"),
            Event::Woken(by) => write!(f, "woken by {by}"),
            Event::Armed(after) => write!(f, "timer armed: {after:?}"),
            Event::Fired => write!(f, "timer fired"),
            Event::Note(text) => write!(f, "{text}"),
        }
    }
}

impl Default for Timeline {
    fn default() -> Timeline {
        Timeline::new()
    }
}

/// Recording.
impl Timeline {
    /// An empty timeline, whose time starts now.
    pub fn new() -> Timeline {
        Timeline { start: Instant::now(), entries: Arc::default() }
    }

    /// Begins a new scene: a heading in print.
    pub fn scene(&self, title: &str) {
        self.record(title, Event::Scene);
    }

    /// `who` is being polled: the first thing its `poll` does.
    pub fn polled(&self, who: &str) {
        self.record(who, Event::Polled);
    }

    /// `who` is about to return `Pending`.
    pub fn pending(&self, who: &str) {
        self.record(who, Event::Pending);
    }

    /// `who` is about to return `Ready(value)`.
    pub fn ready(&self, who: &str, value: &dyn Debug) {
        let value = format!("{value:?}");
        self.record(who, Event::Ready(if value == "()" { String::new() } else { value }));
    }

    /// The `poll` of `who` panicked instead of returning.
    pub fn panicked(&self, who: &str, text: &str) {
        self.record(who, Event::Panicked(text.to_owned()));
    }

    /// The waker of `who` is being called, by `by`.
    pub fn woken(&self, who: &str, by: &str) {
        self.record(who, Event::Woken(by.to_owned()));
    }

    /// `who` has set a timer.
    pub fn armed(&self, who: &str, after: Duration) {
        self.record(who, Event::Armed(after));
    }

    /// The timer of `who` has gone off.
    pub fn fired(&self, who: &str) {
        self.record(who, Event::Fired);
    }

    /// Anything else about `who`.
    pub fn note(&self, who: &str, text: impl Into<String>) {
        self.record(who, Event::Note(text.into()));
    }

    /// Records one event. The order of the record is the order of these calls.
    pub fn record(&self, who: &str, event: Event) {
        let thread = thread_name();
        // The clock is read under the lock, so that times never run backwards.
        let mut entries = self.lock();
        let at = self.start.elapsed();
        entries.push(Entry { at, thread, who: who.to_owned(), event });
    }
}

/// Looking at what was recorded.
impl Timeline {
    /// All entries so far.
    pub fn entries(&self) -> Vec<Entry> {
        self.lock().clone()
    }

    /// What happened, in order, without times, threads and scenes: `"delay polled"`.
    pub fn story(&self) -> Vec<String> {
        let entries = self.lock();
        let told = entries.iter().filter(|entry| entry.event != Event::Scene);
        told.map(|entry| format!("{} {}", entry.who, entry.event)).collect()
    }

    /// What happened to `who`, in order: `"polled"`.
    pub fn story_of(&self, who: &str) -> Vec<String> {
        let entries = self.lock();
        let own = entries.iter().filter(|entry| entry.who == who && entry.event != Event::Scene);
        own.map(|entry| entry.event.to_string()).collect()
    }

    /// How often `event` happened to `who`.
    pub fn count(&self, who: &str, event: &Event) -> usize {
        self.lock().iter().filter(|entry| entry.who == who && entry.event == *event).count()
    }

    /// The threads on which something happened to `who`, each once, in order of appearance.
    pub fn threads_of(&self, who: &str) -> Vec<String> {
        let mut threads = Vec::new();
        for entry in self.lock().iter().filter(|entry| entry.who == who) {
            if !threads.contains(&entry.thread) {
                threads.push(entry.thread.clone());
            }
        }
        threads
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        // Nothing panics between a push's begin and end, so a poisoned record is whole.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the current thread is called in the record.
pub fn thread_name() -> String {
    thread::current().name().unwrap_or("a thread").to_owned()
}
