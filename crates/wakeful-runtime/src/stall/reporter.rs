//! The thread that tells of stalls.
//!
//! Not the monitor's: who is told may take his time, or wait for a lock that the very task holds which he is
//! told of, and the next stall has to be seen all the same.

use super::{Stall, StallConfig};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use wakeful_base::catch_panic::contain_panic;
use wakeful_base::sync::{Condvar, Mutex};

/// Stalls that may wait to be told of. More than that are left out.
const WAITING_MAX: usize = 256;

/// A runtime's, if anybody wants to know.
#[derive(Default)]
pub(crate) struct StallReporter {
    queue: Arc<ReportQueue>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// From the monitor to the thread. A channel of std's would be 20 KB of code, in every program.
#[derive(Default)]
struct ReportQueue {
    state: Mutex<ReportQueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct ReportQueueState {
    stalls: VecDeque<Stall>,
    /// There is a thread that takes them out.
    has_thread: bool,
}

impl ReportQueue {
    /// The next stall. None when there will be no more.
    fn next(&self) -> Option<Stall> {
        let mut state = self.state.lock();
        loop {
            if let Some(stall) = state.stalls.pop_front() {
                return Some(stall);
            }
            if !state.has_thread {
                return None;
            }
            state = self.changed.wait(state);
        }
    }
}

impl StallReporter {
    /// Starts the thread.
    pub(super) fn start(&self, config: StallConfig) -> io::Result<()> {
        let queue = self.queue.clone();
        queue.state.lock().has_thread = true;
        let reports_stalls: Box<dyn FnOnce() + Send> = Box::new(move || {
            while let Some(stall) = queue.next() {
                contain_panic(|| config.report(&stall));
            }
        });
        let thread = thread::Builder::new().name("wakeful-stalls".into()).spawn(reports_stalls)?;
        *self.thread.lock() = Some(thread);
        Ok(())
    }

    pub(super) fn report(&self, stall: Stall) {
        let mut state = self.queue.state.lock();
        if state.has_thread && state.stalls.len() < WAITING_MAX {
            state.stalls.push_back(stall);
            drop(state);
            self.queue.changed.notify_one();
        }
    }

    /// The thread is to end, when it has told of what there is.
    pub(super) fn end(&self) {
        let had_thread = std::mem::take(&mut self.queue.state.lock().has_thread);
        if had_thread {
            self.queue.changed.notify_one();
        }
    }

    /// Waits until the thread has ended, unless it is the caller.
    pub(super) fn join(&self) {
        let thread = self.thread.lock().take();
        if let Some(thread) = thread.filter(|own| own.thread().id() != thread::current().id()) {
            let _its_panic_was_reported = thread.join();
        }
    }
}

impl Drop for StallReporter {
    /// For one whose monitor never began.
    fn drop(&mut self) {
        self.end();
    }
}
