//! Sleeps, intervals and timeouts on a paused clock.

crate::operations! {
    8 Sleep { length, waker },
    /// Makes a sleep that is not polled yet.
    3 SleepLater { length },
    3 SleepUntil { length, waker },
    /// Sleeps until a time that is over.
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
    /// Limits a future that is ready after so many polls.
    4 Timeout { length, polls, waker },
    2 TimeoutAtPast { length, polls, waker },
    4 PollTimeout { which, waker },
    2 DropTimeout { which },
    /// Starts a task that sleeps several times.
    3 Spawn { length, times },
    /// Starts a task that ticks several times, and is busy in between.
    2 SpawnTicks { period, times, kind, busy },
    6 Advance { length },
    /// Sleeps itself, so that the clock goes on when all tasks wait.
    4 Wait { length },
}

/// Tells whether a script of this size puts sleeps off: among those that are due in the same millisecond, Tokio fires them
/// in an order that depends on where its wheel had them before.
pub fn resets_sleeps(size: u8) -> bool {
    size % 2 == 0
}
