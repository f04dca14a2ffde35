//! Sleeps, intervals and timeouts on a paused clock.

crate::operations! {
    8 Sleep { length, waker },
    /// Creates a sleep without polling it.
    3 SleepLater { length },
    3 SleepUntil { length, waker },
    /// Sleeps until a time in the past.
    2 SleepUntilPast { length, waker },
    10 Poll { which, waker },
    3 Reset { which, length },
    2 ResetToPast { which, length },
    4 Drop { which },
    3 Interval { period, start },
    2 IntervalInPast { period, start },
    3 Behavior { which, kind },
    8 Tick { which, waker },
    2 ResetInterval { which },
    1 ResetImmediately { which },
    1 ResetAfter { which, length },
    1 ResetAt { which, length },
    1 DropInterval { which },
    /// Sets a timeout on a future that is ready after this many polls.
    4 Timeout { length, polls, waker },
    2 TimeoutAtPast { length, polls, waker },
    4 PollTimeout { which, waker },
    2 DropTimeout { which },
    /// Spawns a task that sleeps several times.
    3 Spawn { length, times },
    /// Spawns a task that waits for several ticks of an interval, and is busy in between.
    2 SpawnTicks { period, times, kind, busy },
    6 Advance { length },
    /// Sleeps in the script itself, so that the clock advances when all tasks wait.
    4 Wait { length },
}

/// Returns whether a script of this size resets sleeps. For sleeps that are due in the same
/// millisecond, Tokio's order then depends on their earlier place in its wheel.
pub fn resets_sleeps(size: u8) -> bool {
    size % 2 == 0
}
