//! [`Barrier`]: tasks that wait for each other.
//!
//! Arrivals are counted under a lock, in *generations*. The last arrival of a generation starts the
//! next one, releases the lock and then notifies all waiters. This also wakes tasks that have
//! already arrived for the next generation; each of them compares the generation and waits again.

use std::fmt;
use std::task::Waker;

use wakeful_base::sync::Mutex;
use wakeful_base::waiting::{LeafDetails, WaitKind, address, note_with};

use crate::Notify;
use crate::cooperative::cooperative;

/// Lets a fixed number of tasks continue together.
///
/// Each task calls [`wait`](Self::wait). Once as many tasks as given to [`new`](Self::new) have
/// done so, all of them continue. The barrier can then be used again.
///
/// ```
/// use std::sync::Arc;
/// use wakeful::{sync::Barrier, task::JoinSet};
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let barrier = Arc::new(Barrier::new(3));
/// let mut runners = JoinSet::new();
/// for _ in 0..3 {
///     let barrier = barrier.clone();
///     runners.spawn(async move { barrier.wait().await.is_leader() });
/// }
/// let leaders = runners.join_all().await.into_iter().filter(|leader| *leader);
/// assert_eq!(leaders.count(), 1);
/// # });
/// ```
pub struct Barrier {
    arrivals: Mutex<Arrivals>,
    /// Notified when a generation is complete.
    complete: Notify,
    size: usize,
}

struct Arrivals {
    count: usize,
    generation: usize,
}

impl Barrier {
    /// Creates a barrier for `n` tasks. A barrier for 0 tasks behaves as one for 1: no task waits.
    pub fn new(n: usize) -> Barrier {
        Barrier {
            arrivals: Mutex::new(Arrivals { count: 0, generation: 0 }),
            complete: Notify::new(),
            size: n.max(1),
        }
    }

    /// Waits until the number of tasks given to [`new`](Self::new) have called this method.
    ///
    /// The result tells the last task to arrive that it is the leader.
    ///
    /// # Cancel safety
    /// This method is not cancel safe: if the future is dropped after its first poll, the task
    /// still counts as arrived.
    pub async fn wait(&self) -> BarrierWaitResult {
        let Some(generation) = self.arrive() else {
            self.complete.notify_waiters();
            return BarrierWaitResult(true);
        };
        let others = async {
            loop {
                let notified = self.complete.notified();
                if self.arrivals.lock().generation != generation {
                    return;
                }
                let wait = |waker: &Waker| {
                    note_with(WaitKind::Barrier, address(self), waker, || LeafDetails {
                        waiting: Some(self.arrivals.lock().count as u64),
                        limit: Some(self.size as u64),
                        ..LeafDetails::default()
                    });
                };
                notified.wait_with(wait).await;
            }
        };
        cooperative(others).await;
        BarrierWaitResult(false)
    }

    /// Counts an arrival. Returns the generation to wait for, or `None` if it is complete now.
    fn arrive(&self) -> Option<usize> {
        let mut arrivals = self.arrivals.lock();
        arrivals.count += 1;
        if arrivals.count < self.size {
            return Some(arrivals.generation);
        }
        arrivals.count = 0;
        arrivals.generation = arrivals.generation.wrapping_add(1);
        None
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The lock is released before `f` is used, whose writer is user code and may use this
        // barrier.
        let arrived = self.arrivals.lock().count;
        f.debug_struct("Barrier").field("arrived", &arrived).field("size", &self.size).finish()
    }
}

/// The result of [`Barrier::wait`]: tells whether the task was the last to arrive.
///
/// ```
/// use wakeful::sync::Barrier;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let round = Barrier::new(2);
/// let (one, other) = wakeful::join!(round.wait(), round.wait());
/// assert!(one.is_leader() != other.is_leader());
/// # });
/// ```
#[derive(Debug, Clone)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Returns true for exactly one of the tasks that continued together: the last to arrive.
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

#[cfg(all(test, wakeful_loom))]
#[path = "barrier/tests/loom.rs"]
mod loom;
