//! One worker falls asleep and wakes up while the monitor is about to rest. A monitor that rests while
//! the worker is awake is a deadlock, which loom reports.

use super::*;
use crate::testing::model;
use std::sync::Arc;

struct Watched {
    monitor: MonitorThread,
    is_asleep: AtomicBool,
    has_looked: AtomicBool,
}

fn watched(is_asleep: bool) -> Arc<Watched> {
    Arc::new(Watched {
        monitor: MonitorThread::new(),
        is_asleep: AtomicBool::new(is_asleep),
        has_looked: AtomicBool::new(false),
    })
}

#[test]
fn a_worker_that_wakes_up_is_looked_at() {
    model(|| {
        let watched = watched(true);
        let looks = watched.clone();
        let look = Box::new(move || {
            while looks.monitor.rest(|| looks.is_asleep.load(SeqCst)) {
                if !looks.is_asleep.load(SeqCst) {
                    looks.has_looked.store(true, SeqCst);
                    return;
                }
                thread::yield_now();
            }
        });
        watched.monitor.start(look).unwrap();
        watched.is_asleep.store(false, SeqCst);
        watched.monitor.note_awake();
        watched.monitor.join();
        assert!(watched.has_looked.load(SeqCst));
    });
}

#[test]
fn an_end_ends_a_rest() {
    model(|| {
        let watched = watched(true);
        let looks = watched.clone();
        watched.monitor.start(Box::new(move || while looks.monitor.rest(|| true) {})).unwrap();
        watched.monitor.end();
        watched.monitor.join();
    });
}
