//! `JoinSet`, `JoinHandle` and `AbortHandle`, on a current-thread runtime.

crate::operations! {
    /// Spawns a task in the set.
    10 Spawn { kind, count },
    /// Spawns a task outside the set.
    4 SpawnAlone { kind, count },
    6 JoinNext { waker },
    2 JoinNextWithId { waker },
    5 TryJoinNext,
    1 TryJoinNextWithId,
    3 Abort { which },
    1 AbortAll,
    1 DetachAll,
    /// Aborts all tasks and waits until they have ended.
    1 Shutdown,
    1 DropSet,
    5 PollHandle { which, waker },
    3 AbortHandle { which },
    2 DropHandle { which },
    3 Signal { which },
    3 Wait { length },
}
