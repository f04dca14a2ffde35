//! Children that nobody waits for any more.
//!
//! An orphan is its own waker: whoever hears of its end, a driver or the signals, calls it, and it is
//! waited for then. So nothing keeps it but the place where its waker is.
//!
//! ```text
//!   dropped ──attend: runs on──▶ waker in its driver ──event──▶ attend: has ended, gone
//!                                        │                         ▲
//!                                    shut down ──▶ attend: moves to the reaper's driver
//! ```

use super::reaper::{self, ReaperHandle};
use super::running::Process;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use wakeful_base::budget::with_unconstrained;
use wakeful_reactor::io::is_stopped_error;

struct Orphan(Mutex<Option<Abandoned>>);

struct Abandoned {
    process: Process,
    /// That the reaper has to be there for it.
    reaper_handle: Option<ReaperHandle>,
}

/// Sees to it that `process` is waited for when it ends.
pub(super) fn reap_in_background(process: Process) {
    let mut abandoned = Abandoned { process, reaper_handle: None };
    // Where it is signals that tell, nobody does when the last driver that hands them out is gone.
    if !abandoned.process.watch.is_tied_to_driver() && abandoned.move_to_reaper().is_err() {
        return reaper::block_on_exit(abandoned.process.child);
    }
    Orphan::reap_if_ended(&Arc::new(Orphan(Mutex::new(Some(abandoned)))));
}

impl Orphan {
    /// Waits for it if it has ended; has itself called when there is news if not.
    fn reap_if_ended(self: &Arc<Self>) {
        let waker = Waker::from(self.clone());
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(abandoned) = &mut *slot {
            // This is no task, and on no task's account.
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
                // Waited for, if not by us: that is what other errors say.
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
