//! A thread with a driver, for orphans whose runtime has shut down. It runs only while such orphans
//! exist.

use std::io;
use std::process::Child;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use wakeful_base::call_now;
use wakeful_reactor::io::{IoDriver, IoEvents};

/// The running reaper thread.
struct Reaper {
    driver: Arc<IoDriver>,
    /// How many [`ReaperHandle`]s exist. The thread exits when there are none.
    handles: usize,
}

/// Keeps the reaper thread running.
pub(super) struct ReaperHandle {
    driver: Arc<IoDriver>,
}

/// How many events one wait of the reaper returns at most. Not critical: further events are
/// returned by the next wait.
const EVENTS_MAX: usize = 64;

/// Locks the state of the reaper, which is `None` while no thread runs.
fn reaper() -> MutexGuard<'static, Option<Reaper>> {
    static REAPER: Mutex<Option<Reaper>> = Mutex::new(None);
    REAPER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a handle to the reaper thread. Starts the thread if it does not run.
///
/// # Errors
/// Returns an error if the thread or the descriptors of its driver cannot be created.
pub(super) fn acquire() -> io::Result<ReaperHandle> {
    let mut reaper = reaper();
    if reaper.as_ref().is_none_or(|reaper| reaper.driver.is_broken()) {
        *reaper = Some(start()?);
    }
    let reaper = reaper.as_mut().expect("the reaper was started above if it did not run");
    reaper.handles += 1;
    Ok(ReaperHandle { driver: reaper.driver.clone() })
}

/// Starts a reaper thread. The caller must hold the lock until it has counted a handle, so that the
/// new thread does not see a count of zero and exit.
fn start() -> io::Result<Reaper> {
    let driver = IoDriver::new()?;
    driver.attend_to_signals()?;
    let turned = driver.clone();
    builder().spawn(move || {
        let mut events = IoEvents::with_capacity(EVENTS_MAX);
        while !should_exit(&turned) {
            turned.wait(&mut events, None, &mut call_now);
        }
    })?;
    Ok(Reaper { driver, handles: 0 })
}

/// Returns whether the reaper thread should exit, and removes it from the state if so.
///
/// It exits when no handle is left, or when its driver is broken. In the second case the orphans
/// get an error and move to a new reaper, which the first of them starts.
fn should_exit(driver: &IoDriver) -> bool {
    let mut reaper = reaper();
    let is_needed = reaper.as_ref().is_some_and(|reaper| reaper.handles > 0);
    if is_needed && !driver.is_broken() {
        return false;
    }
    reaper.take_if(|reaper| std::ptr::eq(&*reaper.driver, driver));
    true
}

impl ReaperHandle {
    pub(super) fn driver(&self) -> &Arc<IoDriver> {
        &self.driver
    }
}

impl Drop for ReaperHandle {
    fn drop(&mut self) {
        let mut reaper = reaper();
        // If the driver broke, another reaper may have replaced the one of this handle.
        let own = reaper.as_mut().filter(|reaper| Arc::ptr_eq(&reaper.driver, &self.driver));
        if let Some(reaper) = own {
            reaper.handles -= 1;
        }
        drop(reaper);
        self.driver.wake();
    }
}

/// Waits for `child` on a thread of its own. The last resort, when the child cannot be watched.
pub(super) fn block_on_exit(mut child: Child) {
    // If this thread cannot be started either, the child stays a zombie until this process exits.
    let _no_thread = builder().spawn(move || child.wait());
}

fn builder() -> thread::Builder {
    thread::Builder::new().name("wakeful-reaper".to_owned())
}
