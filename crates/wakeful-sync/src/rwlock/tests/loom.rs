use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

use wakeful_base::block_on;
use wakeful_base::sync::thread;

use super::*;

/// A number whose accesses loom checks for data races.
struct Number(wakeful_base::sync::UnsafeCell<u32>);

// SAFETY: it is only accessed through guards. That these exclude each other is what the models
// check.
unsafe impl Sync for Number {}

impl Number {
    fn add(&mut self, n: u32) {
        // SAFETY: `&mut self` comes from a write guard.
        self.0.with_mut(|number| unsafe { *number += n });
    }

    fn get(&self) -> u32 {
        // SAFETY: `&self` comes from a guard, so that no thread writes.
        self.0.with(|number| unsafe { *number })
    }
}

fn lock() -> Arc<RwLock<Number>> {
    Arc::new(RwLock::new(Number(wakeful_base::sync::UnsafeCell::new(0))))
}

#[test]
fn writers_exclude_each_other() {
    ::loom::model(|| {
        let lock = lock();
        let other = thread::spawn({
            let lock = lock.clone();
            move || block_on(lock.write()).add(1)
        });
        block_on(lock.write()).add(1);
        other.join().unwrap();
        assert_eq!(block_on(lock.read()).get(), 2);
    });
}

#[test]
fn a_downgrade_lets_no_writer_in() {
    ::loom::model(|| {
        let lock = lock();
        let writer = thread::spawn({
            let lock = lock.clone();
            move || {
                let mut writer = block_on(lock.clone().write_owned());
                writer.add(1);
                writer.downgrade().get()
            }
        });
        block_on(lock.write()).add(10);
        let seen = writer.join().unwrap();
        assert!(seen == 1 || seen == 11);
        assert_eq!(block_on(lock.read()).get(), 11);
    });
}

#[test]
fn a_writer_waits_for_readers() {
    ::loom::model(|| {
        let lock = lock();
        let reader = lock.clone().try_read_owned().unwrap();
        let other = thread::spawn(move || assert_eq!(reader.get(), 0));
        block_on(lock.write()).add(1);
        other.join().unwrap();
    });
}

#[test]
fn readers_get_in_before_or_after_a_writer() {
    ::loom::model(|| {
        let lock = lock();
        let reader = thread::spawn({
            let lock = lock.clone();
            let look = move || block_on(lock.read()).get();
            move || [look(), look()]
        });
        block_on(lock.write()).add(1);
        let [first, second] = reader.join().unwrap();
        assert!(first <= second && second <= 1);
    });
}

#[test]
fn a_writer_is_dropped_while_a_reader_releases() {
    ::loom::model(|| {
        let lock = lock();
        let reader = lock.clone().try_read_owned().unwrap();
        let other = thread::spawn(move || drop(reader));
        {
            let given_up = pin!(async { lock.write().await.add(1) });
            let _ = given_up.poll(&mut Context::from_waker(Waker::noop()));
        }
        other.join().unwrap();
        assert!(lock.try_write().is_ok());
    });
}
