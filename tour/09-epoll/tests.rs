use std::future::poll_fn;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use super::net::Watched;
use super::reactor::{Direction, Reactor};
use super::{ask, echo, echo_over_loopback, mini_tokio, spawn, woken_from_elsewhere};
use crate::block_on::both;
use crate::timeline::{Event, Timeline};

/// A waker that counts how often it was called.
#[derive(Default)]
struct Counting(AtomicUsize);

impl Counting {
    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Counting {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn reactor() -> Reactor {
    Reactor::new(&Timeline::new()).unwrap()
}

fn failures(timeline: &Timeline) -> Vec<String> {
    timeline.story().into_iter().filter(|line| line.contains("failed")).collect()
}

#[test]
fn every_client_hears_what_it_said() {
    let timeline = Timeline::new();
    let report = echo_over_loopback(&timeline, 5);
    // The server, and two tasks for each client.
    assert_eq!(report.completed, 11);
    assert!(failures(&timeline).is_empty(), "{:?}", failures(&timeline));
    for number in 1..=5 {
        for word in ["hello", "goodbye"] {
            let heard = Event::Note(format!("hears {word:?}"));
            assert_eq!(timeline.count(&format!("client {number}"), &heard), 1);
        }
    }
}

#[test]
fn what_does_not_fit_the_kernels_buffers_goes_through_in_pieces() {
    const LENGTH: usize = 8 << 20;
    let timeline = Timeline::new();
    let (mini_tokio, reactor) = mini_tokio(&timeline);
    let listener = Watched::bind("127.0.0.1:0", &reactor).unwrap();
    let server = listener.address().unwrap();
    let spawner = mini_tokio.spawner();
    spawn(&spawner, "server", &timeline, async move { echo(listener.accept().await?).await });
    let (done, is_done) = mpsc::channel();
    spawn(&spawner, "client", &timeline, async move {
        let stream = Watched::connect(server, &reactor)?;
        let sent: Vec<u8> = (0..LENGTH).map(|at| (at % 251) as u8).collect();
        let mut received = vec![0; LENGTH];
        // Both at once. If it wrote all before it read any, both sides would end up waiting for the
        // other to read.
        let reading = async {
            let mut filled = 0;
            while filled < LENGTH {
                filled += stream.read(&mut received[filled..]).await?;
            }
            io::Result::Ok(())
        };
        let (written, read) = both(stream.write_all(&sent), reading).await;
        written?;
        read?;
        done.send(sent == received).unwrap();
        Ok(())
    });
    drop(spawner);
    assert_eq!(mini_tokio.run().completed, 2);
    assert_eq!(is_done.recv(), Ok(true));
}

#[test]
fn a_peer_that_hangs_up_ends_the_conversation_and_no_other() {
    let timeline = Timeline::new();
    let (mini_tokio, reactor) = mini_tokio(&timeline);
    let listener = Watched::bind("127.0.0.1:0", &reactor).unwrap();
    let server = listener.address().unwrap();
    let spawner = mini_tokio.spawner();
    spawn(&spawner, "server", &timeline, async move {
        drop(listener.accept().await?);
        echo(listener.accept().await?).await
    });
    let for_second = reactor.clone();
    spawn(&spawner, "first", &timeline, async move {
        let stream = Watched::connect(server, &reactor)?;
        assert_eq!(stream.read(&mut [0; 8]).await?, 0);
        Ok(())
    });
    spawn(&spawner, "second", &timeline, async move {
        let stream = Watched::connect(server, &for_second)?;
        assert_eq!(ask(&stream, "still here?").await?, "still here?");
        Ok(())
    });
    drop(spawner);
    assert_eq!(mini_tokio.run().completed, 3);
    assert!(failures(&timeline).is_empty(), "{:?}", failures(&timeline));
}

#[test]
fn another_thread_gets_the_executor_out_of_epoll() {
    let timeline = Timeline::new();
    assert_eq!(woken_from_elsewhere(&timeline).completed, 1);
    assert_eq!(timeline.threads_of("sleeper").len(), 2);
}

#[test]
fn the_executor_ends_when_another_thread_drops_the_last_waker() {
    let timeline = Timeline::new();
    let (mini_tokio, _reactor) = mini_tokio(&timeline);
    let (wakers, inbox) = mpsc::channel::<Waker>();
    let record = timeline.clone();
    let other = thread::spawn(move || {
        let waker = inbox.recv().unwrap();
        // Not before the executor has seen that there is nothing to do.
        while !record.story().iter().any(|line| line.contains("sleeps here")) {
            thread::sleep(Duration::from_millis(1));
        }
        drop(waker);
    });
    mini_tokio.spawner().spawn(
        "forgotten",
        poll_fn(move |cx| {
            wakers.send(cx.waker().clone()).unwrap();
            Poll::Pending
        }),
    );
    assert_eq!(mini_tokio.run().completed, 0);
    other.join().unwrap();
}

#[test]
fn tasks_that_are_always_ready_do_not_keep_sockets_waiting() {
    let timeline = Timeline::new();
    let (mini_tokio, reactor) = mini_tokio(&timeline);
    let listener = Watched::bind("127.0.0.1:0", &reactor).unwrap();
    let server = listener.address().unwrap();
    let is_answered = Arc::new(AtomicBool::new(false));
    let spawner = mini_tokio.spawner();
    let seen = is_answered.clone();
    spawner.spawn(
        "restless",
        poll_fn(move |cx| {
            if seen.load(Ordering::Relaxed) {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        }),
    );
    spawn(&spawner, "server", &timeline, async move { echo(listener.accept().await?).await });
    spawn(&spawner, "client", &timeline, async move {
        let stream = Watched::connect(server, &reactor)?;
        ask(&stream, "are you there?").await?;
        is_answered.store(true, Ordering::Relaxed);
        Ok(())
    });
    drop(spawner);
    assert_eq!(mini_tokio.run().completed, 3);
}

#[test]
fn what_was_ready_before_it_was_watched_is_reported() {
    let reactor = reactor();
    let (near, mut far) = UnixStream::pair().unwrap();
    let key = reactor.add(near.as_fd()).unwrap();
    far.write_all(b"early").unwrap();
    let waker = Arc::new(Counting::default());
    reactor.wake_when(near.as_fd(), key, Direction::Read, &waker.clone().into()).unwrap();
    reactor.wait(true).unwrap();
    assert_eq!(waker.count(), 1);
}

#[test]
fn a_descriptor_is_reported_once_for_each_time_it_is_watched() {
    let reactor = reactor();
    let (near, mut far) = UnixStream::pair().unwrap();
    let key = reactor.add(near.as_fd()).unwrap();
    let waker = Arc::new(Counting::default());
    far.write_all(b"stays unread").unwrap();
    for round in 1..=2 {
        reactor.wake_when(near.as_fd(), key, Direction::Read, &waker.clone().into()).unwrap();
        for _ in 0..3 {
            reactor.wait(false).unwrap();
        }
        assert_eq!(waker.count(), round);
    }
}

#[test]
fn reader_and_writer_are_both_watched() {
    let reactor = reactor();
    let (mut near, mut far) = UnixStream::pair().unwrap();
    near.set_nonblocking(true).unwrap();
    while near.write(&[0; 4096]).is_ok() {}
    let key = reactor.add(near.as_fd()).unwrap();
    let (reader, writer) = (Arc::new(Counting::default()), Arc::new(Counting::default()));
    reactor.wake_when(near.as_fd(), key, Direction::Write, &writer.clone().into()).unwrap();
    reactor.wake_when(near.as_fd(), key, Direction::Read, &reader.clone().into()).unwrap();
    reactor.wait(false).unwrap();
    assert_eq!((reader.count(), writer.count()), (0, 0));

    // Room to write, while there is still nothing to read: the reader's arrival changed nothing.
    far.set_nonblocking(true).unwrap();
    while far.read(&mut [0; 4096]).is_ok() {}
    reactor.wait(true).unwrap();
    assert_eq!(writer.count(), 1);
}

#[test]
fn a_removed_descriptor_takes_its_waker_along_and_wakes_nobody() {
    let reactor = reactor();
    let (near, far) = UnixStream::pair().unwrap();
    let key = reactor.add(near.as_fd()).unwrap();
    let waker = Arc::new(Counting::default());
    reactor.wake_when(near.as_fd(), key, Direction::Read, &waker.clone().into()).unwrap();
    reactor.remove(near.as_fd(), key);
    assert_eq!(Arc::strong_count(&waker), 1);
    drop(far);
    reactor.wait(false).unwrap();
    assert_eq!(waker.count(), 0);
}

#[test]
fn the_next_owner_of_a_number_has_another_key() {
    let reactor = reactor();
    let (near, _far) = UnixStream::pair().unwrap();
    let before = reactor.add(near.as_fd()).unwrap();
    reactor.remove(near.as_fd(), before);
    // The same number as before, which to the kernel is the same as another socket's with it.
    let after = reactor.add(near.as_fd()).unwrap();
    assert_ne!(before, after);
}

#[test]
fn the_bell_ends_one_wait_however_often_it_was_rung() {
    let timeline = Timeline::new();
    let reactor = Reactor::new(&timeline).unwrap();
    for _ in 0..3 {
        reactor.ring();
    }
    reactor.wait(true).unwrap();
    reactor.wait(false).unwrap();
    let heard = timeline.story().into_iter().filter(|line| line.contains("bell")).count();
    assert_eq!(heard, 1);
}

#[test]
fn a_waker_that_panics_does_not_keep_others_from_being_woken() {
    struct Panicking;

    impl Wake for Panicking {
        fn wake(self: Arc<Self>) {
            panic!("a waker that panics");
        }
    }

    let reactor = reactor();
    let (near, far) = UnixStream::pair().unwrap();
    let key = reactor.add(near.as_fd()).unwrap();
    let writer = Arc::new(Counting::default());
    let panicking = Waker::from(Arc::new(Panicking));
    reactor.wake_when(near.as_fd(), key, Direction::Read, &panicking).unwrap();
    reactor.wake_when(near.as_fd(), key, Direction::Write, &writer.clone().into()).unwrap();
    drop(far);
    reactor.wait(true).unwrap();
    assert_eq!(writer.count(), 1);
}

#[test]
fn without_epoll_the_step_says_so_and_ends() {
    let timeline = Timeline::new();
    crate::epoll_elsewhere::run(&timeline);
    assert_eq!(timeline.story().len(), 1);
    assert!(timeline.story()[0].contains("needs epoll"), "{:?}", timeline.story());
}
