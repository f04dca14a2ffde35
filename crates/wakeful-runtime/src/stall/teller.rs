//! The thread that tells of stalls.
//!
//! Not the monitor's: who is told may take his time, or wait for a lock that the very task holds which he is
//! told of, and the next stall has to be seen all the same.

use super::{Stall, StallConfig};
use std::io;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use wakeful_base::sync::Mutex;

/// Stalls that may wait to be told of. More than that are left out.
const WAITING_MAX: usize = 256;

/// A runtime's, if anybody wants to know.
#[derive(Default)]
pub(crate) struct Teller {
    queue: Mutex<Option<SyncSender<Stall>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Teller {
    /// Starts the thread.
    pub(super) fn start(&self, config: StallConfig) -> io::Result<()> {
        let (queue, stalls) = sync_channel::<Stall>(WAITING_MAX);
        let tells = move || stalls.into_iter().for_each(|stall| config.tell(&stall));
        let thread = thread::Builder::new().name("wakeful-stalls".into()).spawn(tells)?;
        *self.queue.lock() = Some(queue);
        *self.thread.lock() = Some(thread);
        Ok(())
    }

    pub(super) fn tell(&self, stall: Stall) {
        if let Some(queue) = &*self.queue.lock() {
            let _too_many_wait_already = queue.try_send(stall);
        }
    }

    /// The thread is to end, when it has told of what there is.
    pub(super) fn end(&self) {
        *self.queue.lock() = None;
    }

    /// Waits until the thread has ended, unless it is the caller.
    pub(super) fn join(&self) {
        let thread = self.thread.lock().take();
        if let Some(thread) = thread.filter(|own| own.thread().id() != thread::current().id()) {
            let _its_panic_was_reported = thread.join();
        }
    }
}
