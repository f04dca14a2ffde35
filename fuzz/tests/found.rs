//! Scripts that showed a difference once, shrunk.

use wakeful_fuzz::{Place, check};

/// A sleep did not check the time at its first poll, and so was pending although its time had
/// passed.
#[test]
fn time_8() {
    use wakeful_fuzz::scripts::time::Op::*;
    check(
        Place::BlockOn,
        0,
        &[SleepLater { length: 1 }, Wait { length: 1 }, Poll { which: 0, waker: 0 }],
    );
}

/// The same in an interval.
#[test]
fn time_8_tick() {
    use wakeful_fuzz::scripts::time::Op::*;
    check(
        Place::BlockOn,
        0,
        &[
            IntervalInPast { period: 2, start: 2 },
            Tick { which: 0, waker: 0 },
            Tick { which: 0, waker: 0 },
            Wait { length: 2 },
            Tick { which: 0, waker: 0 },
        ],
    );
}

/// A future that was polled twice without budget was woken twice.
#[test]
fn broadcast_18() {
    use wakeful_fuzz::scripts::broadcast::Op::*;
    check(
        Place::BlockOn,
        0,
        &[SpendBudget { count: 8 }, Recv { receiver: 0, waker: 0 }, Poll { which: 0, waker: 0 }],
    );
}
