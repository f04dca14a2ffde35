//! A `LocalSet` polled by hand.

crate::operations! {
    10 Spawn { kind, count },
    /// Polls the set.
    10 PollSet { waker },
    /// Starts to run the set until a signal.
    3 RunUntil { which, waker },
    4 PollRunUntil { which, waker },
    2 DropRunUntil { which },
    /// Spawns a task while the set is entered.
    3 SpawnEntered { kind, count },
    /// Drops the set with its tasks, and creates a new one.
    1 DropSet,
    5 PollHandle { which, waker },
    3 AbortHandle { which },
    2 DropHandle { which },
    4 Signal { which },
}
