//! A thread waits, another wakes it, a third looks. A lost wake-up is a deadlock, which loom
//! reports.

use super::*;
use wakeful_base::sync::{Arc, Condvar, Mutex, thread};

/// A driver with a model of the kernel.
struct Driver {
    wake_state: WakeState,
    /// Whether the kernel has the event of an edge-triggered source that no call has taken.
    has_event: Mutex<bool>,
    arrived: Condvar,
    /// What the wake-up announces.
    work: AtomicBool,
}

impl Driver {
    fn new() -> Arc<Driver> {
        Arc::new(Driver {
            wake_state: WakeState::new(),
            has_event: Mutex::new(false),
            arrived: Condvar::new(),
            work: AtomicBool::new(false),
        })
    }

    fn notify_kernel(&self) {
        *self.has_event.lock() = true;
        self.arrived.notify_all();
    }

    /// Acts like `IoDriver::wake`.
    fn wake(&self) {
        if self.wake_state.wake() {
            self.notify_kernel();
        }
    }

    /// Acts like a tick, whose event comes without a call to `wake`.
    fn tick(&self) {
        self.notify_kernel();
    }

    /// Acts like `IoDriver::wait` without a timeout.
    fn wait(&self) {
        let blocks = self.wake_state.begin_wait();
        let mut has_event = self.has_event.lock();
        while blocks && !*has_event {
            has_event = self.arrived.wait(has_event);
        }
        *has_event = false;
        drop(has_event);
        self.wake_state.end_wait();
    }

    fn wait_for_work(&self) {
        while !self.work.load(SeqCst) {
            self.wait();
        }
    }

    /// Acts like `IoDriver::look`.
    fn look(&self) {
        if self.wake_state.is_waiting() {
            return;
        }
        let took = std::mem::take(&mut *self.has_event.lock());
        if took && self.wake_state.pass_on() {
            self.notify_kernel();
        }
    }
}

fn start(driver: &Arc<Driver>, f: impl FnOnce(&Driver) + 'static) -> thread::JoinHandle<()> {
    let driver = driver.clone();
    thread::spawn(move || f(&driver))
}

fn model(f: impl Fn(Arc<Driver>) + Send + Sync + 'static) {
    ::loom::model(move || f(Driver::new()));
}

/// Announces work, as the thread that unparks a worker does.
fn send_work(driver: &Driver) {
    driver.work.store(true, SeqCst);
    driver.wake();
}

/// The tick's event comes after its time, which the thread that waits checks first.
fn pass_tick(driver: &Driver) {
    driver.work.store(true, SeqCst);
    driver.tick();
}

#[test]
fn a_look_does_not_lose_a_wake_up() {
    model(|driver| {
        let others = [start(&driver, send_work), start(&driver, Driver::look)];
        driver.wait_for_work();
        others.map(|other| other.join().unwrap());
    });
}

#[test]
fn a_look_does_not_lose_a_tick() {
    model(|driver| {
        let others = [start(&driver, pass_tick), start(&driver, Driver::look)];
        driver.wait_for_work();
        others.map(|other| other.join().unwrap());
    });
}

#[test]
fn two_looks_do_not_lose_a_wake_up() {
    model(|driver| {
        let others =
            [start(&driver, send_work), start(&driver, Driver::look), start(&driver, Driver::look)];
        driver.wait_for_work();
        others.map(|other| other.join().unwrap());
    });
}

#[test]
fn a_look_loses_neither_a_tick_nor_the_wake_up_after_it() {
    model(|driver| {
        let others = [
            start(&driver, |driver| {
                driver.tick();
                send_work(driver);
            }),
            start(&driver, Driver::look),
        ];
        driver.wait_for_work();
        others.map(|other| other.join().unwrap());
    });
}

#[test]
fn a_wake_up_after_an_earlier_wait_is_not_lost() {
    model(|driver| {
        driver.wake();
        let others = [start(&driver, send_work), start(&driver, Driver::look)];
        driver.wait();
        driver.wait_for_work();
        others.map(|other| other.join().unwrap());
    });
}
