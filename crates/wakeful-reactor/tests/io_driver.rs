//! The driver with real pipes and sockets.

use std::future::Future;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};
use wakeful_base::call_now;
use wakeful_reactor::io::{Direction, IoDriver, IoEvents, Registration, is_shutdown_error};
use wakeful_reactor::{Interest, Ready};

const BOTH: Interest = Interest::READABLE.add(Interest::WRITABLE);

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn counter() -> (Arc<Count>, Waker) {
    let count = Arc::new(Count::default());
    (count.clone(), count.into())
}

fn pair() -> (UnixStream, UnixStream) {
    let (a, b) = UnixStream::pair().unwrap();
    a.set_nonblocking(true).unwrap();
    b.set_nonblocking(true).unwrap();
    (a, b)
}

struct Fixture {
    driver: Arc<IoDriver>,
    events: IoEvents,
}

impl Fixture {
    fn new() -> Fixture {
        Fixture { driver: IoDriver::new().unwrap(), events: IoEvents::with_capacity(16) }
    }

    fn register(&self, stream: &UnixStream) -> Registration {
        self.driver.register(stream.as_raw_fd(), BOTH).unwrap()
    }

    fn run_once(&mut self) {
        self.driver.wait(&mut self.events, Some(Duration::ZERO), &mut call_now);
    }
}

fn poll(registration: &Registration, waker: &Waker, direction: Direction) -> Poll<io::Result<()>> {
    registration.poll_ready(&mut Context::from_waker(waker), direction).map_ok(|_| ())
}

#[test]
fn data_wakes_the_reader_once_and_until_cleared() {
    let mut fixture = Fixture::new();
    let (ours, mut theirs) = pair();
    let registration = fixture.register(&ours);
    let (count, waker) = counter();
    assert!(poll(&registration, &waker, Direction::Read).is_pending());
    fixture.run_once();
    assert_eq!(count.0.load(SeqCst), 0, "writable is not readable");
    theirs.write_all(b"x").unwrap();
    fixture.run_once();
    assert_eq!(count.0.load(SeqCst), 1);
    // Edge-triggered: the descriptor counts as ready until an operation says otherwise.
    fixture.run_once();
    assert!(poll(&registration, &waker, Direction::Read).is_ready());
    let read = registration.try_io(Interest::READABLE, || (&ours).read(&mut [0; 8]));
    assert_eq!(read.unwrap(), 1);
    let again = registration.try_io(Interest::READABLE, || (&ours).read(&mut [0; 8]));
    assert_eq!(again.unwrap_err().kind(), io::ErrorKind::WouldBlock);
    assert!(poll(&registration, &waker, Direction::Read).is_pending());
    assert!(poll(&registration, &waker, Direction::Write).is_ready());
}

#[test]
fn clearing_an_old_event_keeps_a_newer_one() {
    let mut fixture = Fixture::new();
    let (ours, mut theirs) = pair();
    let registration = fixture.register(&ours);
    theirs.write_all(b"x").unwrap();
    fixture.run_once();
    let old = registration.ready_event(Interest::READABLE);
    theirs.write_all(b"y").unwrap();
    fixture.run_once();
    registration.clear(old);
    assert!(registration.ready_event(Interest::READABLE).ready.is_readable());
    registration.clear(registration.ready_event(Interest::READABLE));
    assert!(registration.ready_event(Interest::READABLE).ready.is_empty());
}

#[test]
fn a_closed_peer_stays_closed() {
    let mut fixture = Fixture::new();
    let (ours, theirs) = pair();
    let registration = fixture.register(&ours);
    drop(theirs);
    fixture.run_once();
    let event = registration.ready_event(BOTH);
    assert!(event.ready.is_read_closed() && event.ready.is_write_closed());
    registration.clear(event);
    assert!(registration.ready_event(Interest::READABLE).ready.is_read_closed());
}

#[test]
fn a_waker_replaces_the_one_before_it() {
    let mut fixture = Fixture::new();
    let (ours, mut theirs) = pair();
    let registration = fixture.register(&ours);
    let ((old, old_waker), (new, new_waker)) = (counter(), counter());
    assert!(poll(&registration, &old_waker, Direction::Read).is_pending());
    assert!(poll(&registration, &new_waker, Direction::Read).is_pending());
    assert_eq!(Arc::strong_count(&old), 2, "the driver let go of the old waker");
    theirs.write_all(b"x").unwrap();
    fixture.run_once();
    assert_eq!((old.0.load(SeqCst), new.0.load(SeqCst)), (0, 1));
}

#[test]
fn any_number_of_futures_wait_on_one_descriptor() {
    let mut fixture = Fixture::new();
    let (ours, mut theirs) = pair();
    let registration = fixture.register(&ours);
    let (count, waker) = counter();
    let cx = &mut Context::from_waker(&waker);
    let mut futures: Vec<_> =
        (0..100).map(|_| Box::pin(registration.readiness(Interest::READABLE))).collect();
    for future in &mut futures {
        assert!(future.as_mut().poll(cx).is_pending());
    }
    // A future that is dropped while it waits leaves the others in place.
    drop(futures.remove(50));
    theirs.write_all(b"x").unwrap();
    fixture.run_once();
    assert_eq!(count.0.load(SeqCst), 99);
    for future in &mut futures {
        assert!(
            matches!(future.as_mut().poll(cx), Poll::Ready(Ok(event)) if event.ready.is_readable())
        );
    }
}

#[test]
fn an_event_for_a_removed_descriptor_is_dropped() {
    let fixture = Fixture::new();
    let (first, mut theirs) = pair();
    let mut events = IoEvents::with_capacity(16);
    let registration = fixture.register(&first);
    theirs.write_all(b"x").unwrap();
    // Removed before the driver sees the event. The next registration gets the same slot.
    drop(registration);
    drop(first);
    let (second, _peer) = pair();
    let registration = fixture.register(&second);
    fixture.driver.wait(&mut events, Some(Duration::ZERO), &mut call_now);
    assert!(registration.ready_event(Interest::READABLE).ready.is_empty());
}

#[test]
fn wake_ends_a_wait_from_another_thread_or_before_it() {
    let fixture = Fixture::new();
    let mut events = IoEvents::with_capacity(16);
    fixture.driver.wake();
    fixture.driver.wake();
    fixture.driver.wait(&mut events, None, &mut call_now);
    let driver = fixture.driver.clone();
    let other = thread::spawn(move || {
        thread::sleep(Duration::from_millis(5));
        driver.wake();
    });
    fixture.driver.wait(&mut events, None, &mut call_now);
    other.join().unwrap();
}

#[test]
fn a_timeout_is_neither_early_nor_rounded_to_milliseconds() {
    let fixture = Fixture::new();
    let mut events = IoEvents::with_capacity(16);
    let mut best = Duration::MAX;
    for _ in 0..20 {
        let (start, timeout) = (Instant::now(), Duration::from_micros(200));
        fixture.driver.wait(&mut events, Some(timeout), &mut call_now);
        assert!(start.elapsed() >= timeout);
        best = best.min(start.elapsed());
    }
    assert!(best < Duration::from_millis(1), "at best {best:?}");
}

#[test]
fn after_shutdown_every_operation_fails_with_the_reason() {
    let fixture = Fixture::new();
    let (ours, _theirs) = pair();
    let registration = fixture.register(&ours);
    let (count, waker) = counter();
    let cx = &mut Context::from_waker(&waker);
    let mut waiting = pin!(registration.readiness(Interest::READABLE));
    assert!(waiting.as_mut().poll(cx).is_pending());
    assert!(poll(&registration, &waker, Direction::Read).is_pending());
    fixture.driver.shut_down();
    assert_eq!(count.0.load(SeqCst), 2);
    let Poll::Ready(Err(error)) = waiting.poll(cx) else { panic!("still waits") };
    assert!(is_shutdown_error(&error) && error.to_string().contains("shut down"));
    let Poll::Ready(Err(error)) = poll(&registration, &waker, Direction::Read) else {
        panic!("still waits")
    };
    assert!(is_shutdown_error(&error));
    let late = fixture.driver.register(ours.as_raw_fd(), BOTH).unwrap_err();
    assert!(is_shutdown_error(&late));
}

#[test]
fn registering_an_unwatchable_descriptor_is_an_error() {
    let fixture = Fixture::new();
    let file = std::fs::File::open("/proc/self/exe").unwrap();
    let error = fixture.driver.register(file.as_raw_fd(), BOTH).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    assert!(fixture.driver.register(-1, BOTH).is_err());
    let metrics = fixture.driver.metrics();
    assert_eq!((metrics.registered(), metrics.deregistered()), (0, 0));
}

#[test]
fn many_descriptors_come_and_go_from_several_threads() {
    let driver = IoDriver::new().unwrap();
    let (stop, turns) = (Arc::new(AtomicUsize::new(0)), driver.clone());
    let is_stopped = stop.clone();
    let waiting = thread::spawn(move || {
        let mut events = IoEvents::with_capacity(64);
        while is_stopped.load(SeqCst) == 0 {
            turns.wait(&mut events, Some(Duration::from_millis(1)), &mut call_now);
        }
    });
    let users: Vec<_> = (0..3)
        .map(|_| {
            let driver = driver.clone();
            thread::spawn(move || {
                for round in 0..300u32 {
                    let (ours, mut theirs) = pair();
                    let registration = driver.register(ours.as_raw_fd(), BOTH).unwrap();
                    let (count, waker) = counter();
                    if poll(&registration, &waker, Direction::Read).is_pending() {
                        theirs.write_all(&round.to_ne_bytes()).unwrap();
                        while count.0.load(SeqCst) == 0 {
                            thread::yield_now();
                        }
                    }
                    let mut bytes = [0; 4];
                    (&ours).read_exact(&mut bytes).unwrap();
                    assert_eq!(u32::from_ne_bytes(bytes), round);
                }
            })
        })
        .collect();
    for user in users {
        user.join().unwrap();
    }
    stop.store(1, SeqCst);
    waiting.join().unwrap();
    assert_eq!(driver.metrics().registered(), driver.metrics().deregistered());
}

#[test]
fn assumed_readiness_needs_no_event_and_is_cleared_like_any_other() {
    let mut fixture = Fixture::new();
    let (ours, mut theirs) = pair();
    let registration = fixture.register(&ours);
    registration.assume_ready(Ready::READABLE);
    let (count, waker) = counter();
    assert!(poll(&registration, &waker, Direction::Read).is_ready());
    let read = || (&ours).read(&mut [0; 8]);
    let wrong = registration.try_io(Interest::READABLE, read);
    assert_eq!(wrong.unwrap_err().kind(), io::ErrorKind::WouldBlock);
    assert!(poll(&registration, &waker, Direction::Read).is_pending());
    theirs.write_all(b"x").unwrap();
    fixture.run_once();
    assert_eq!(count.0.load(SeqCst), 1);
    assert_eq!(registration.try_io(Interest::READABLE, read).unwrap(), 1);
}

#[test]
fn nothing_is_assumed_after_shutdown() {
    let fixture = Fixture::new();
    let (ours, _theirs) = pair();
    let registration = fixture.register(&ours);
    fixture.driver.shut_down();
    registration.assume_ready(Ready::READABLE);
    assert!(registration.ready_event(Interest::READABLE).ready.is_empty());
    let polled = poll(&registration, Waker::noop(), Direction::Read);
    assert!(matches!(polled, Poll::Ready(Err(error)) if is_shutdown_error(&error)));
}

#[test]
fn has_events_does_not_consume_events() {
    let mut fixture = Fixture::new();
    assert!(!fixture.driver.has_events());
    let (near, mut far) = pair();
    let registration = fixture.driver.register(near.as_raw_fd(), Interest::READABLE).unwrap();
    assert!(!fixture.driver.has_events());
    far.write_all(b"x").unwrap();
    let (count, waker) = counter();
    assert!(poll(&registration, &waker, Direction::Read).is_pending());
    assert!(fixture.driver.has_events() && fixture.driver.has_events());
    assert_eq!(count.0.load(SeqCst), 0, "checking wakes no task");
    fixture.run_once();
    assert_eq!(count.0.load(SeqCst), 1);
    assert!(!fixture.driver.has_events());
}

#[test]
fn a_look_passes_events_on_and_does_not_wait() {
    let fixture = Fixture::new();
    let (ours, mut theirs) = pair();
    let registration = fixture.register(&ours);
    let mut events = IoEvents::with_capacity(16);
    let (count, waker) = counter();
    fixture.driver.look(&mut events, &mut call_now);
    assert!(poll(&registration, &waker, Direction::Read).is_pending());
    theirs.write_all(b"x").unwrap();
    fixture.driver.look(&mut events, &mut call_now);
    assert_eq!(count.0.load(SeqCst), 1);
    assert!(poll(&registration, &waker, Direction::Read).is_ready());
}

#[test]
fn a_look_leaves_the_wake_up_for_the_next_wait() {
    let fixture = Fixture::new();
    let mut events = IoEvents::with_capacity(16);
    for _ in 0..2 {
        fixture.driver.wake();
        fixture.driver.look(&mut events, &mut call_now);
        assert!(!fixture.driver.has_events(), "the look has taken the notifier's event");
        fixture.driver.wake();
        fixture.driver.wait(&mut events, None, &mut call_now);
    }
    assert!(!fixture.driver.has_events());
}

#[test]
fn a_look_does_not_take_the_wake_up_of_a_thread_that_waits() {
    let fixture = Fixture::new();
    let driver = fixture.driver.clone();
    let waiting = thread::spawn(move || {
        driver.wait(&mut IoEvents::with_capacity(16), None, &mut call_now);
    });
    // A look before the other thread waits may take the wake-up, and then passes it on.
    fixture.driver.wake();
    let mut events = IoEvents::with_capacity(16);
    while !waiting.is_finished() {
        fixture.driver.look(&mut events, &mut call_now);
    }
    waiting.join().unwrap();
}
