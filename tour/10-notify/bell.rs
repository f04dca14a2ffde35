//! Tells tasks that something has happened, and forgets it at once.
//!
//! 告诉任务有事发生，随即忘掉。

use std::future::poll_fn;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// Tells all tasks that are waiting right now, and remembers nothing: a condition variable.
#[derive(Default)]
pub struct Bell {
    tower: Mutex<Tower>,
}

#[derive(Default)]
struct Tower {
    rings: u64,
    waiting: Vec<Waker>,
}

impl Bell {
    /// Wakes the tasks that wait now. If none waits, nothing happens, and no trace is left.
    pub fn ring(&self) {
        let waiting = {
            let mut tower = self.lock();
            tower.rings += 1;
            mem::take(&mut tower.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Waits for the next ring after its first poll.
    pub async fn rung(&self) {
        let mut heard_before = None;
        poll_fn(|cx| {
            let waker = cx.waker().clone();
            let mut tower = self.lock();
            if tower.rings != *heard_before.get_or_insert(tower.rings) {
                return Poll::Ready(());
            }
            tower.waiting.push(waker);
            Poll::Pending
        })
        .await;
    }

    fn lock(&self) -> MutexGuard<'_, Tower> {
        self.tower.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
