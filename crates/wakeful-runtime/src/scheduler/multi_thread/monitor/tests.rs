use super::*;
use crate::config::Config;
use crate::driver::DriverParts;
use crate::scheduler::multi_thread::lease::{FENCES, UserCode};
use crate::scheduler::multi_thread::park_state::SharedDriver;
use crate::stall::StallConfig;
use crate::testing::{no_threads, plain_config, plain_info};
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
fn a_late_look_only_samples_again() {
    let (mut monitor, _leases) = monitor_of_stuck(2);
    let scheduler = monitor.scheduler.clone();
    let now = Instant::now();
    monitor.look(now);
    FENCES.set(0);
    monitor.look(now + 50 * TICK);
    assert_eq!((FENCES.get(), scheduler.stalls.metrics.stalls()), (0, 0));
    monitor.look(now + 51 * TICK);
    assert_eq!((FENCES.get(), scheduler.stalls.metrics.stalls()), (1, 2));
}
