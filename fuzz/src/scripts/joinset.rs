//! `JoinSet`, `JoinHandle` and `AbortHandle`, on a current-thread runtime.

crate::operations! {
    /// Adds a task to the set.
    10 Spawn { kind, count },
    /// Starts a task that is in no set.
    4 SpawnAlone { kind, count },
    6 JoinNext { waker },
    2 JoinNextWithId { waker },
    5 TryJoinNext,
    1 TryJoinNextWithId,
    3 Abort { which },
    1 AbortAll,
    1 DetachAll,
    /// Aborts all, and waits until they are gone.
    1 Shutdown,
    1 DropSet,
    5 PollHandle { which, waker },
    3 AbortHandle { which },
    2 DropHandle { which },
    3 Signal { which },
    3 Wait { length },
}
