//! Orphans: child processes whose `Child` was dropped.
//!
//! An orphan is its own waker. When a driver or the signal handler's listener wakes it, it waits
//! for the process. So only the place that stores its waker keeps the orphan alive; there is no
//! list of orphans.
//!
//! ```text
//!   dropped ──reap_if_ended: running──▶ waker in its driver ──event──▶ reap_if_ended: reaped
//!                                               │                         ▲
//!                                          shut down ──▶ reap_if_ended: to the reaper's driver
//! ```

use super::reaper::{self, ReaperHandle};
use super::running::Process;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use wakeful_base::budget::with_unconstrained;
use wakeful_reactor::io::is_stopped_error;

/// `None` once the process was waited for, or was passed to a thread.
struct Orphan(Mutex<Option<Abandoned>>);

struct Abandoned {
    process: Process,
    /// Keeps the reaper thread running, once the watch depends on it.
    reaper_handle: Option<ReaperHandle>,
}

/// Waits for `process` in the background, so that it does not stay a zombie.
pub(super) fn reap_in_background(process: Process) {
    let mut abandoned = Abandoned { process, reaper_handle: None };
    // A watch that relies on signals needs some driver that delivers them, and gets no error when
    // the last one shuts down. So it starts the reaper now.
    if !abandoned.process.watch.is_tied_to_driver() && abandoned.move_to_reaper().is_err() {
        return reaper::block_on_exit(abandoned.process.child);
    }
    Orphan::reap_if_ended(&Arc::new(Orphan(Mutex::new(Some(abandoned)))));
}

impl Orphan {
    /// Waits for the process if it has exited. If not, registers the orphan as the waker.
    fn reap_if_ended(self: &Arc<Self>) {
        let waker = Waker::from(self.clone());
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(abandoned) = &mut *slot {
            // This may run within a task's poll, whose budget it must not use.
            let exit = with_unconstrained(|| {
                abandoned.process.poll_exit(&mut Context::from_waker(&waker))
            });
            let needs_thread = match exit {
                Poll::Pending => return,
                Poll::Ready(Err(error)) if is_stopped_error(&error) => {
                    if abandoned.move_to_reaper().is_ok() {
                        continue;
                    }
                    true
                }
                // The process was waited for: other errors mean that other code has done so.
                Poll::Ready(_) => false,
            };
            let gone = slot.take();
            drop(slot);
            if let Some(abandoned) = gone.filter(|_| needs_thread) {
                reaper::block_on_exit(abandoned.process.child);
            }
            return;
        }
    }
}

impl Abandoned {
    fn move_to_reaper(&mut self) -> io::Result<()> {
        let reaper_handle = reaper::acquire()?;
        self.process.watch.move_to(reaper_handle.driver())?;
        self.reaper_handle = Some(reaper_handle);
        Ok(())
    }
}

impl Wake for Orphan {
    fn wake(self: Arc<Self>) {
        self.reap_if_ended();
    }
}
