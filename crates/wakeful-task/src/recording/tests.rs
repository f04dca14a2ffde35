use super::*;

#[test]
fn buckets_have_powers_of_two_as_upper_bounds() {
    let ticks_of = |us: u64| {
        // The smallest number of ticks that is not less than the time.
        let (mut low, mut high) = (0, 1 << 50);
        while low < high {
            let middle = (low + high) / 2;
            if ticks::to_ns(middle) < us * 1000 { low = middle + 1 } else { high = middle }
        }
        low
    };
    assert_eq!(bucket(0), 0);
    for exponent in 1..20_u32 {
        let us = 1_u64 << exponent;
        assert_eq!(bucket(ticks_of(us) - 1), exponent as usize, "{us}");
        assert_eq!(bucket(ticks_of(us + 1)), exponent as usize + 1, "{us}");
    }
    assert_eq!(bucket(u64::MAX), BUCKETS - 1);
}

#[test]
fn sums_are_those_of_all_threads_since_recording_began() {
    let guard = Guard::begin();
    let before = totals();
    let epoch = epoch().unwrap();
    let threads: Vec<_> = (0..3)
        .map(|_| {
            std::thread::spawn(move || {
                add_wake(epoch);
                add_poll(epoch, PollTimes { took: 0, scheduled: Some(0) });
                add_poll(epoch, PollTimes { took: 0, scheduled: None });
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let after = totals();
    // Other tests may add to them.
    assert!(after.wakes >= before.wakes + 3);
    assert!(after.polls[0] >= before.polls[0] + 6);
    assert!(after.scheduled[0] >= before.scheduled[0] + 3);
    drop(guard);
}
