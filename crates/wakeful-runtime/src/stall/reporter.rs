//! The thread that reports stalls.
//!
//! The monitor does not call `on_stall` itself: the callback may be slow, or may wait for a lock
//! that the stalled task holds, and the monitor has to see the next stall meanwhile.

use super::{Stall, StallConfig};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use wakeful_base::catch_panic::contain_panic;
use wakeful_base::sync::{Condvar, Mutex};
use wakeful_base::threads::{self, ThreadRole};

/// Bounds the memory of stalls that wait for a slow callback. Further stalls are not reported.
const WAITING_MAX: usize = 256;

/// A runtime's reporter; it has a thread only if stalls are to be reported.
#[derive(Default)]
pub(crate) struct StallReporter {
    queue: Arc<ReportQueue>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// The queue from the monitor to the reporter's thread.
///
/// Not a channel of std, which would add much to the size of every program.
#[derive(Default)]
struct ReportQueue {
    state: Mutex<ReportQueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct ReportQueueState {
    stalls: VecDeque<Stall>,
    /// Whether a thread takes the stalls out.
    has_thread: bool,
}

impl ReportQueue {
    /// Waits for the next stall. `None` if there will be no more.
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
    /// Starts the thread, which reports stalls as `config` says.
    pub(super) fn start(&self, config: StallConfig) -> io::Result<()> {
        let queue = self.queue.clone();
        queue.state.lock().has_thread = true;
        let thread_main: Box<dyn FnOnce() + Send> = Box::new(move || {
            threads::set_role(ThreadRole::Helper, 0);
            while let Some(stall) = queue.next() {
                contain_panic(|| config.report(&stall));
            }
        });
        let thread = thread::Builder::new().name("wakeful-stalls".into()).spawn(thread_main)?;
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

    /// Tells the thread to end once the queue is empty.
    pub(super) fn end(&self) {
        let had_thread = std::mem::take(&mut self.queue.state.lock().has_thread);
        if had_thread {
            self.queue.changed.notify_one();
        }
    }

    /// Waits until the thread has ended. Does nothing on the thread itself.
    pub(super) fn join(&self) {
        let thread = self.thread.lock().take();
        if let Some(thread) = thread.filter(|own| own.thread().id() != thread::current().id()) {
            let _its_panic_was_reported = thread.join();
        }
    }
}

impl Drop for StallReporter {
    /// Ends the thread. The monitor has done so already, unless it could not be started.
    fn drop(&mut self) {
        self.end();
    }
}
