use super::*;
use crate::config::Config;
use crate::driver::DriverParts;
use crate::scheduler::multi_thread::lease::{FENCES, UserCode};
use crate::scheduler::multi_thread::park_state::SharedDriver;
use crate::stall::StallConfig;
use crate::testing::{no_threads, plain_config, plain_info};
#[cfg(feature = "time")]
use std::task::Waker;
use wakeful_base::asymmetric_fence::LightFence;

const TICK: Duration = Duration::from_millis(2);

/// Creates a monitor, and a lease on each of the `workers`, which are in user code.
fn monitor_of_stuck(workers: usize) -> (Monitor, Vec<Arc<Lease>>) {
    let stall = StallConfig { after: TICK, hands_off: true, ..plain_config().stall };
    let config = Config { stall, ..plain_config() };
    let parts = DriverParts::new(None).unwrap();
    let info = plain_info(&parts);
    let driver = SharedDriver::new(parts.driver, parts.waker);
    let scheduler = MultiThread::new(workers, config, no_threads(), info, driver);
    let lease = |worker: &Worker| {
        let lease = Lease::new(LightFence::new(), None);
        worker.lease_slot.acquire(&lease);
        lease.begin_user_code(UserCode::Callback);
        lease
    };
    let leases = scheduler.workers.iter().map(lease).collect();
    (Monitor::new(scheduler), leases)
}

#[test]
fn looks_become_rare_when_all_polls_are_old() {
    let is_later = |age, interval| matches!(NextLook::for_age(age, interval), NextLook::Later(_));
    assert!(!is_later(19 * TICK, TICK), "less than two ticks");
    assert!(is_later(20 * TICK, TICK));
    assert!(!is_later(Duration::from_secs(1), Duration::MAX), "the interval is longer than that");
}

#[test]
fn a_look_makes_one_fence_for_up_to_64_stalled_workers() {
    for (workers, fences) in [(1, 1), (16, 1), (64, 1), (65, 2)] {
        let (mut monitor, leases) = monitor_of_stuck(workers);
        let now = Instant::now();
        monitor.look(now);
        FENCES.set(0);
        monitor.look(now + TICK);
        assert_eq!(FENCES.get(), fences, "fences for {workers} workers");
        assert!(monitor.workers.iter().flatten().all(|seen| seen.found.is_some()));
        for lease in leases {
            assert!(lease.begin_section(), "the holder has the lease again");
            lease.end_section();
        }
    }
}

#[test]
fn a_late_look_finds_no_stall() {
    let (mut monitor, _leases) = monitor_of_stuck(2);
    let scheduler = monitor.scheduler.clone();
    let now = Instant::now();
    monitor.look(now);
    FENCES.set(0);
    monitor.look(now + 50 * TICK);
    assert_eq!((FENCES.get(), scheduler.stalls.metrics.stalls()), (1, 0));
    monitor.look(now + 51 * TICK);
    assert_eq!((FENCES.get(), scheduler.stalls.metrics.stalls()), (2, 2));
}

/// The waker is user code, so it waits for the worker's next thread.
#[cfg(feature = "time")]
#[test]
fn a_look_fires_due_timers_of_a_worker_that_does_not_get_to_them() {
    let (mut monitor, leases) = monitor_of_stuck(1);
    let scheduler = monitor.scheduler.clone();
    let with_core = |f: &mut dyn FnMut(&mut WorkerCore)| {
        // SAFETY: no thread is in a core section, since the holder of the lease is in user code,
        // and the monitor runs on this thread.
        scheduler.workers[0].core.with_mut(|core| f(unsafe { &mut *core }));
    };
    let waiting = || {
        let mut count = 0;
        with_core(&mut |core| count = core.external_wakers.len());
        count
    };
    let mut timer = None;
    with_core(&mut |core| timer = Some(core.timers.get().arm(0, Some(Waker::noop().clone()))));
    let now = Instant::now();
    monitor.look(now);
    assert_eq!(waiting(), 0, "the user code may have just begun");
    monitor.look(now + 50 * TICK);
    assert_eq!(waiting(), 1);
    drop((timer, leases));
}
