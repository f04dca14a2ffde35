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

use super::reaper::{self, Stay};
use super::running::Process;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use wakeful_base::budget::with_unconstrained;
use wakeful_reactor::io::is_stopped_error;

struct Orphan(Mutex<Option<Left>>);

struct Left {
    process: Process,
    /// That the reaper has to be there for it.
    stay: Option<Stay>,
}

/// Sees to it that `process` is waited for when it ends.
pub(super) fn leave(process: Process) {
    let mut left = Left { process, stay: None };
    // Where it is signals that tell, nobody does when the last driver that hands them out is gone.
    if !left.process.watch.is_one_drivers() && left.move_to_reaper().is_err() {
        return reaper::block_on_exit(left.process.child);
    }
    Orphan::attend(&Arc::new(Orphan(Mutex::new(Some(left)))));
}

impl Orphan {
    /// Waits for it if it has ended; has itself called when there is news if not.
    fn attend(self: &Arc<Self>) {
        let waker = Waker::from(self.clone());
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(left) = &mut *place {
            // This is no task, and on no task's account.
            let exit =
                with_unconstrained(|| left.process.poll_exit(&mut Context::from_waker(&waker)));
            let is_homeless = match exit {
                Poll::Pending => return,
                Poll::Ready(Err(error)) if is_stopped_error(&error) => {
                    if left.move_to_reaper().is_ok() {
                        continue;
                    }
                    true
                }
                // Waited for, if not by us: that is what other errors say.
                Poll::Ready(_) => false,
            };
            let gone = place.take();
            drop(place);
            if let Some(left) = gone.filter(|_| is_homeless) {
                reaper::block_on_exit(left.process.child);
            }
            return;
        }
    }
}

impl Left {
    fn move_to_reaper(&mut self) -> io::Result<()> {
        let stay = reaper::stay()?;
        self.process.watch.move_to(stay.driver())?;
        self.stay = Some(stay);
        Ok(())
    }
}

impl Wake for Orphan {
    fn wake(self: Arc<Self>) {
        self.attend();
    }
}
