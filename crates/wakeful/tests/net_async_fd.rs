//! `AsyncFd`: waiting for the readiness of any descriptor.

mod support;

use std::future::{Future, poll_fn};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};
use support::{current_thread, each_flavor, multi_thread, panic_of};
use wakeful::io::unix::AsyncFd;
use wakeful::io::{Interest, Ready};

fn pair() -> (AsyncFd<UnixStream>, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    // SAFETY: a stream returns the same open descriptor as long as it lives.
    (unsafe { AsyncFd::register(ours) }.unwrap(), theirs)
}

fn poll_now<F: Future>(future: F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn a_guard_clears_readiness_after_would_block() {
    // On a current-thread runtime no event arrives between these steps.
    current_thread().block_on(async {
        let (ours, mut theirs) = pair();
        assert!(poll_now(ours.readable()).is_pending());
        theirs.write_all(b"abc").unwrap();
        let mut buf = [0; 2];
        let mut guard = ours.readable().await.unwrap();
        assert!(guard.ready().is_readable());
        assert_eq!(guard.try_io(|fd| fd.get_ref().read(&mut buf)).unwrap().unwrap(), 2);
        // The readiness is kept: there may be more data.
        guard.retain_ready();
        let mut guard = ours.readable().await.unwrap();
        assert_eq!(guard.try_io(|fd| fd.get_ref().read(&mut buf)).unwrap().unwrap(), 1);
        assert!(guard.try_io(|fd| fd.get_ref().read(&mut buf)).is_err());
        assert!(guard.ready().is_empty());
        assert!(poll_now(ours.readable()).is_pending());
        // Other errors are passed on and clear nothing.
        let mut guard = ours.writable().await.unwrap();
        let failed = guard.try_io(|_| io::Result::<()>::Err(ErrorKind::NotFound.into()));
        assert_eq!(failed.unwrap().unwrap_err().kind(), ErrorKind::NotFound);
        assert!(poll_now(ours.writable()).is_ready());
    });
}

#[test]
fn cleared_readiness_returns_with_the_next_event() {
    // On a current-thread runtime no event arrives between these steps.
    current_thread().block_on(async {
        let (mut ours, mut theirs) = pair();
        theirs.write_all(b"a").unwrap();
        let both = Interest::READABLE | Interest::WRITABLE;
        ours.readable().await.unwrap().retain_ready();
        let mut guard = ours.ready_mut(both).await.unwrap();
        assert!(guard.ready().is_readable() && guard.ready().is_writable());
        guard.clear_ready_matching(Ready::READABLE);
        assert!(!guard.ready().is_readable() && guard.ready().is_writable());
        assert_eq!(guard.get_inner_mut().read(&mut [0; 4]).unwrap(), 1);
        assert!(poll_now(ours.readable()).is_pending());
        assert!(poll_now(ours.writable()).is_ready());
        theirs.write_all(b"b").unwrap();
        ours.readable().await.unwrap().clear_ready();
    });
}

#[test]
fn every_waiting_task_is_woken() {
    for runtime in [current_thread(), multi_thread(2)] {
        runtime.block_on(async {
            let (ours, mut theirs) = pair();
            let ours = Arc::new(ours);
            let waiting: Vec<_> = (0..100)
                .map(|_| {
                    let ours = ours.clone();
                    wakeful::spawn(async move { ours.readable().await.unwrap().retain_ready() })
                })
                .collect();
            for _ in 0..3 {
                wakeful::task::yield_now().await;
            }
            theirs.write_all(b"x").unwrap();
            for task in waiting {
                task.await.unwrap();
            }
        });
    }
}

#[test]
fn async_io_and_try_io() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let (mut ours, mut theirs) = pair();
            let nothing =
                ours.try_io(Interest::READABLE, |_| -> io::Result<()> { panic!("called") });
            assert_eq!(nothing.unwrap_err().kind(), ErrorKind::WouldBlock);
            let read = |stream: &UnixStream| {
                let mut stream = stream;
                stream.read(&mut [0; 4])
            };
            theirs.write_all(b"ab").unwrap();
            assert_eq!(ours.async_io(Interest::READABLE, read).await.unwrap(), 2);
            let write = |stream: &mut UnixStream| stream.write(b"xyz");
            assert_eq!(ours.async_io_mut(Interest::WRITABLE, write).await.unwrap(), 3);
            assert_eq!(ours.try_io_mut(Interest::WRITABLE, write).unwrap(), 3);
            let guard = poll_fn(|cx| ours.poll_write_ready(cx)).await.map(|_| ());
            guard.unwrap();
            theirs.read_exact(&mut [0; 6]).unwrap();
        });
    }
}

#[test]
fn a_descriptor_taken_out_stays_open() {
    current_thread().block_on(async {
        let (ours, mut theirs) = pair();
        let fd = ours.as_raw_fd();
        let ours = ours.into_inner();
        assert_eq!(ours.as_raw_fd(), fd);
        theirs.write_all(b"still").unwrap();
        assert_eq!((&ours).read(&mut [0; 8]).unwrap(), 5);
        // The descriptor can be registered again.
        // SAFETY: as in `pair`.
        let ours = unsafe { AsyncFd::register_with_interest(ours, Interest::READABLE) }.unwrap();
        theirs.write_all(b"again").unwrap();
        ours.readable().await.unwrap().retain_ready();
    });
}

#[derive(Debug)]
struct JustANumber(RawFd);

impl AsRawFd for JustANumber {
    fn as_raw_fd(&self) -> RawFd {
        self.0
    }
}

#[test]
fn a_failed_registration_returns_the_object() {
    current_thread().block_on(async {
        let file = std::fs::File::open(std::env::current_exe().unwrap()).unwrap();
        // SAFETY: a file returns the same open descriptor as long as it lives.
        let error = unsafe { AsyncFd::register(file) }.unwrap_err();
        let (mut file, cause) = error.into_parts();
        assert_eq!(cause.raw_os_error(), Some(libc::EPERM));
        file.read_exact(&mut [0; 1]).unwrap();
        // SAFETY: the registration is refused, so the descriptor is never used.
        let error = unsafe { AsyncFd::register(JustANumber(-1)) }.unwrap_err();
        assert_eq!(io::Error::from(error).raw_os_error(), Some(libc::EBADF));
    });
}

#[test]
fn registering_without_io_panics() {
    let (text, file) = panic_of(|| {
        // SAFETY: `register` panics, so the descriptor is never used.
        drop(unsafe { AsyncFd::register(JustANumber(0)) });
    });
    assert!(text.contains("AsyncFd::register") && text.contains("there is no runtime"), "{text}");
    assert!(file.ends_with("net_async_fd.rs"), "{file}");
    let runtime = wakeful::runtime::Builder::new_current_thread().build().unwrap();
    let _inside = runtime.enter();
    let (text, _) = panic_of(|| {
        // SAFETY: `register` panics, so the descriptor is never used.
        drop(unsafe { AsyncFd::register(JustANumber(0)) });
    });
    assert!(text.contains("enable_io"), "{text}");
}

#[test]
fn a_closed_peer_ends_the_wait() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let (ours, theirs) = pair();
            let ours = Arc::new(ours);
            let waiting = {
                let ours = ours.clone();
                wakeful::spawn(async move {
                    let guard = ours.readable().await.unwrap();
                    guard.ready().is_read_closed()
                })
            };
            wakeful::task::yield_now().await;
            drop(theirs);
            assert!(waiting.await.unwrap());
            // A closed peer stays closed: clearing the readiness has no effect.
            ours.readable().await.unwrap().clear_ready();
            assert!(poll_now(ours.readable()).is_ready());
        });
    }
}

#[test]
fn a_forgotten_readiness_future_is_harmless() {
    current_thread().block_on(async {
        let woken = Arc::new(CountWakes::default());
        let (first, mut theirs) = pair();
        let first = Box::leak(Box::new(first));
        let mut waits = Box::pin(first.readable());
        let waker = Waker::from(woken.clone());
        assert!(waits.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        std::mem::forget(waits);
        // SAFETY: `first` was leaked from a box above, and the future that borrows it was forgotten
        // and is never used again.
        drop(unsafe { Box::from_raw(first) });
        theirs.write_all(b"a").unwrap_err();

        // An event of the next descriptor in the same slot does not wake the forgotten future.
        let (next, mut theirs) = pair();
        theirs.write_all(b"a").unwrap();
        next.readable().await.unwrap().retain_ready();
        assert_eq!(woken.0.load(SeqCst), 0);
        drop(waker);
        assert_eq!(Arc::strong_count(&woken), 1, "its waker was dropped with the descriptor");
    });
}

#[derive(Default)]
struct CountWakes(AtomicUsize);

impl Wake for CountWakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}
