//! Workers fall asleep and wake up while the monitor is about to rest. A monitor that rests while one of them is awake is a
//! deadlock, which loom reports.

use super::*;
use crate::testing::model;
use std::sync::Arc;

struct Watched {
    monitor: MonitorThread,
    asleep: [AtomicBool; 2],
    has_looked: AtomicBool,
}

impl Watched {
    fn new(asleep: [bool; 2]) -> Arc<Watched> {
        Arc::new(Watched {
            monitor: MonitorThread::new(),
            asleep: asleep.map(AtomicBool::new),
            has_looked: AtomicBool::new(false),
        })
    }

    fn are_all_parked(&self) -> bool {
        self.asleep.iter().all(|asleep| asleep.load(SeqCst))
    }

    fn wake_up(&self, worker: usize) {
        self.asleep[worker].store(false, SeqCst);
        self.monitor.note_awake(Instant::now(), || self.asleep[1 - worker].load(SeqCst));
    }

    fn fall_asleep(&self, worker: usize) {
        self.asleep[worker].store(true, SeqCst);
        seq_cst_for_loom();
        self.monitor.note_asleep(|| self.are_all_parked());
    }

    /// Starts a monitor that rests until it finds somebody awake.
    fn start(self: &Arc<Self>) {
        let looks = self.clone();
        let look = Box::new(move || {
            while looks.monitor.monitor_alarm(Duration::ZERO, || looks.are_all_parked()) {
                if !looks.are_all_parked() {
                    looks.has_looked.store(true, SeqCst);
                    return;
                }
            }
        });
        self.monitor.start(look).unwrap();
    }
}

#[test]
fn a_worker_that_wakes_up_is_looked_at() {
    model(|| {
        let watched = Watched::new([true; 2]);
        watched.start();
        watched.wake_up(0);
        watched.monitor.join();
        assert!(watched.has_looked.load(SeqCst));
    });
}

#[test]
fn so_is_one_that_wakes_up_while_another_takes_the_alarm_back() {
    model(|| {
        let watched = Watched::new([true; 2]);
        watched.start();
        watched.wake_up(0);
        let other = watched.clone();
        let other = thread::spawn(move || other.wake_up(1));
        watched.fall_asleep(0);
        watched.monitor.join();
        assert!(watched.has_looked.load(SeqCst));
        other.join().unwrap();
    });
}

#[test]
fn an_end_ends_a_rest() {
    model(|| {
        let watched = Watched::new([true; 2]);
        watched.start();
        let ends = watched.clone();
        let ends = thread::spawn(move || ends.monitor.end());
        watched.wake_up(0);
        watched.fall_asleep(0);
        ends.join().unwrap();
        watched.monitor.join();
    });
}
