//! Workers park and unpark while the monitor is about to sleep. A monitor that sleeps while a
//! worker is awake is a deadlock, which loom reports.

use super::*;
use crate::testing::model;
use std::sync::Arc;

struct Watched {
    monitor: MonitorThread,
    is_parked: [AtomicBool; 2],
    has_seen_awake: AtomicBool,
}

impl Watched {
    fn new(is_parked: [bool; 2]) -> Arc<Watched> {
        Arc::new(Watched {
            monitor: MonitorThread::new(),
            is_parked: is_parked.map(AtomicBool::new),
            has_seen_awake: AtomicBool::new(false),
        })
    }

    fn are_all_parked(&self) -> bool {
        self.is_parked.iter().all(|is_parked| is_parked.load(SeqCst))
    }

    fn unpark_worker(&self, worker: usize) {
        self.is_parked[worker].store(false, SeqCst);
        self.monitor.note_unpark(Instant::now(), || self.is_parked[1 - worker].load(SeqCst));
    }

    fn park_worker(&self, worker: usize) {
        self.is_parked[worker].store(true, SeqCst);
        seq_cst_for_loom();
        self.monitor.note_park(|| self.are_all_parked());
    }

    /// Starts a monitor that sleeps until it finds a worker awake.
    fn start(self: &Arc<Self>) {
        let watched = self.clone();
        let look = Box::new(move || {
            while watched.monitor.sleep_until_alarm(Duration::ZERO, || watched.are_all_parked()) {
                if !watched.are_all_parked() {
                    watched.has_seen_awake.store(true, SeqCst);
                    return;
                }
            }
        });
        self.monitor.start(look).unwrap();
    }
}

#[test]
fn a_worker_that_unparks_is_seen() {
    model(|| {
        let watched = Watched::new([true; 2]);
        watched.start();
        watched.unpark_worker(0);
        watched.monitor.join();
        assert!(watched.has_seen_awake.load(SeqCst));
    });
}

#[test]
fn a_worker_is_seen_though_another_cancels_the_alarm() {
    model(|| {
        let watched = Watched::new([true; 2]);
        watched.start();
        watched.unpark_worker(0);
        let other = watched.clone();
        let other = thread::spawn(move || other.unpark_worker(1));
        watched.park_worker(0);
        watched.monitor.join();
        assert!(watched.has_seen_awake.load(SeqCst));
        other.join().unwrap();
    });
}

#[test]
fn end_wakes_a_sleeping_monitor() {
    model(|| {
        let watched = Watched::new([true; 2]);
        watched.start();
        let ending = watched.clone();
        let ending = thread::spawn(move || ending.monitor.end());
        watched.unpark_worker(0);
        watched.park_worker(0);
        ending.join().unwrap();
        watched.monitor.join();
    });
}
