use super::*;
use crate::io::Direction;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Wake, Waker};

struct PanicsOnDrop;

impl Wake for PanicsOnDrop {
    fn wake(self: Arc<Self>) {}
}

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        panic!("the drop of a waker panics");
    }
}

#[test]
fn a_waker_whose_drop_panics_does_not_keep_the_slot() {
    let driver = IoDriver::new().unwrap();
    let (stream, _other) = UnixStream::pair().unwrap();
    let registration = driver.register(stream.as_raw_fd(), Interest::READABLE).unwrap();
    let waker = Waker::from(Arc::new(PanicsOnDrop));
    let polled = registration.poll_ready(&mut Context::from_waker(&waker), Direction::Read);
    assert!(polled.is_pending());
    drop(waker);
    catch_unwind(AssertUnwindSafe(|| drop(registration))).unwrap_err();
    assert_eq!(driver.metrics().deregistered(), 1);
    // The slot released last is reused first.
    let next = driver.register(stream.as_raw_fd(), Interest::READABLE).unwrap();
    assert_eq!(driver.slots.take().unwrap().0, 1, "the next descriptor has slot 0 again");
    drop(next);
}

#[test]
fn wakers_of_both_directions_may_panic_when_they_are_dropped() {
    let driver = IoDriver::new().unwrap();
    let (stream, _other) = UnixStream::pair().unwrap();
    let interest = Interest::READABLE | Interest::WRITABLE;
    let registration = driver.register(stream.as_raw_fd(), interest).unwrap();
    for direction in [Direction::Read, Direction::Write] {
        let waker = Waker::from(Arc::new(PanicsOnDrop));
        let polled = registration.poll_ready(&mut Context::from_waker(&waker), direction);
        assert!(polled.is_pending());
        // The slot has the last reference.
        drop(waker);
    }
    let payload = catch_unwind(AssertUnwindSafe(|| drop(registration))).unwrap_err();
    assert_eq!(*payload.downcast::<&str>().unwrap(), "the drop of a waker panics");
    assert_eq!(driver.slots.take().unwrap().0, 0, "the slot is free again");
}
