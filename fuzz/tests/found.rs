//! Scripts that once showed a difference, cut down.

use wakeful_fuzz::{Place, check};

/// A sleep of some length was not looked at when it was polled for the first time after its time had come.
#[test]
fn time_8() {
    use wakeful_fuzz::scripts::time::Op::*;
    check(
        Place::BlockOn,
        0,
        &[SleepLater { length: 1 }, Wait { length: 1 }, Poll { which: 0, waker: 0 }],
    );
}

/// The same behind an interval.
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

/// A future that was polled twice where the budget was used up was woken twice.
#[test]
fn broadcast_18() {
    use wakeful_fuzz::scripts::broadcast::Op::*;
    check(
        Place::BlockOn,
        0,
        &[SpendBudget { count: 8 }, Recv { receiver: 0, waker: 0 }, Poll { which: 0, waker: 0 }],
    );
}
