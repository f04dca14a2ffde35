//! [`Barrier`]: tasks wait for each other.
//!
//! Each arrival is counted under a lock, in a *generation*. The last one of a generation starts the next and
//! calls everybody, after it has let the lock go. So its call may also reach somebody who has arrived for the
//! next generation meanwhile; that one looks at the generation and goes on waiting.

use std::fmt;

use wakeful_base::sync::Mutex;

use crate::Notify;
use crate::cooperative::cooperative;

/// Lets tasks begin something together.
///
/// Each calls [`wait`](Self::wait); when the last of them has, all go on. It can be used again and again.
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
    /// Called when a generation is complete.
    complete: Notify,
    size: usize,
}

struct Arrivals {
    count: usize,
    generation: usize,
}

impl Barrier {
    /// A barrier for `n` tasks. For 0 it behaves as for 1: nobody waits.
    pub fn new(n: usize) -> Barrier {
        Barrier {
            arrivals: Mutex::new(Arrivals { count: 0, generation: 0 }),
            complete: Notify::new(),
            size: n.max(1),
        }
    }

    /// Waits until so many tasks have called this as the barrier is for.
    ///
    /// One of them, the last to come, is told that it is the leader.
    ///
    /// # Cancel safety
    /// This is not cancel safe: who has begun to wait and gives up is counted all the same.
    pub async fn wait(&self) -> BarrierWaitResult {
        let Some(generation) = self.arrive() else {
            self.complete.notify_waiters();
            return BarrierWaitResult(true);
        };
        let others = async {
            loop {
                let call = self.complete.notified();
                if self.arrivals.lock().generation != generation {
                    return;
                }
                call.await;
            }
        };
        cooperative(others).await;
        BarrierWaitResult(false)
    }

    /// Counts an arrival; returns the generation to wait for, or `None` if this has completed it.
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
        // Not under the lock: the writer behind `f` is user code, which may use this barrier.
        let arrived = self.arrivals.lock().count;
        f.debug_struct("Barrier").field("arrived", &arrived).field("size", &self.size).finish()
    }
}

/// Says whether the task was the last to come to the [`Barrier`].
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
    /// True for one of the tasks that went on together.
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

#[cfg(all(test, wakeful_loom))]
#[path = "barrier/tests/loom.rs"]
mod loom;
