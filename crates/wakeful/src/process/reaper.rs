//! A thread for orphans whose runtime is gone. It is there only while there are such.

use std::io;
use std::process::Child;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use wakeful_base::call_now;
use wakeful_reactor::io::{IoDriver, IoEvents};

/// The thread's driver, and how many it is there for.
struct Reaper {
    driver: Arc<IoDriver>,
    handles: usize,
}

/// As long as this is there the reaper is, and its driver turns.
pub(super) struct ReaperHandle {
    driver: Arc<IoDriver>,
}

const EVENTS_MAX: usize = 64;

/// None while there is no thread.
fn reaper() -> MutexGuard<'static, Option<Reaper>> {
    static REAPER: Mutex<Option<Reaper>> = Mutex::new(None);
    REAPER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has the reaper stay, and come if it is not there.
///
/// # Errors
/// If there is no thread or no descriptor to be had for it.
pub(super) fn acquire() -> io::Result<ReaperHandle> {
    let mut reaper = reaper();
    if reaper.as_ref().is_none_or(|reaper| reaper.driver.is_broken()) {
        *reaper = Some(start()?);
    }
    let reaper = reaper.as_mut().expect("just started, if it was not there");
    reaper.handles += 1;
    Ok(ReaperHandle { driver: reaper.driver.clone() })
}

/// The new thread does not see that nobody stays yet: its starter holds the lock.
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

/// Whether the thread ends: when no orphan needs it, or when its driver is broken. The orphans are
/// told of the latter by an error, and move to the reaper that the first of them starts.
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
        // Another reaper may be in the place of one whose driver broke.
        let own = reaper.as_mut().filter(|reaper| Arc::ptr_eq(&reaper.driver, &self.driver));
        if let Some(reaper) = own {
            reaper.handles -= 1;
        }
        drop(reaper);
        self.driver.wake();
    }
}

/// Waits for `child` in a thread of its own, where there is no descriptor for a better way.
pub(super) fn block_on_exit(mut child: Child) {
    // Without a thread either it stays a zombie: nobody is left to wait for it.
    let _no_thread = builder().spawn(move || child.wait());
}

fn builder() -> thread::Builder {
    thread::Builder::new().name("wakeful-reaper".to_owned())
}
