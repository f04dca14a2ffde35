use super::Fallback;
use loom::thread;
use wakeful_base::sync::Arc;
use wakeful_base::sync::atomic::{AtomicBool, Ordering::*};

struct Driver {
    fallback: Fallback,
    woken: AtomicBool,
    /// The work that the wake-up announces.
    work: AtomicBool,
}

impl Driver {
    fn new() -> Arc<Driver> {
        Arc::new(Driver {
            fallback: Fallback::new(),
            woken: AtomicBool::new(false),
            work: AtomicBool::new(false),
        })
    }

    /// Acts like `IoDriver::wake` on a driver that fails: the wake-up through the kernel has no
    /// effect.
    fn wake(&self) {
        if !self.woken.swap(true, SeqCst) && self.fallback.is_used() {
            self.fallback.wake();
        }
    }

    /// Acts like a look that has taken a tick before the driver failed.
    fn pass_on(&self) {
        self.woken.swap(true, SeqCst);
        if self.fallback.is_used() {
            self.fallback.wake();
        }
    }

    /// Acts like a wait that fails, and the waits after it.
    fn wait_for_work(&self) {
        self.woken.swap(false, SeqCst);
        self.fallback.begin();
        while !self.work.load(SeqCst) {
            self.fallback.wait(|| self.woken.swap(false, SeqCst), None);
        }
    }
}

#[test]
fn no_wake_up_is_lost_when_the_driver_fails() {
    loom::model(|| {
        let driver = Driver::new();
        let waker = driver.clone();
        let waking = thread::spawn(move || {
            waker.work.store(true, SeqCst);
            waker.wake();
        });
        driver.wait_for_work();
        waking.join().unwrap();
    });
}

#[test]
fn two_concurrent_wake_ups_lose_nothing() {
    loom::model(|| {
        let driver = Driver::new();
        let wakers: Vec<_> = (0..2)
            .map(|_| {
                let waker = driver.clone();
                thread::spawn(move || {
                    waker.work.store(true, SeqCst);
                    waker.wake();
                })
            })
            .collect();
        driver.wait_for_work();
        for waker in wakers {
            waker.join().unwrap();
        }
    });
}

#[test]
fn a_look_that_passes_a_tick_on_hides_no_wake_up() {
    loom::model(|| {
        let driver = Driver::new();
        let (waker, looker) = (driver.clone(), driver.clone());
        let waking = thread::spawn(move || {
            waker.work.store(true, SeqCst);
            waker.wake();
        });
        let looking = thread::spawn(move || looker.pass_on());
        driver.wait_for_work();
        waking.join().unwrap();
        looking.join().unwrap();
    });
}
