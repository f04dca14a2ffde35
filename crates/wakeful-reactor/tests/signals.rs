//! Real signals. Each test has one of its own, since they are the whole process's.

use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering::*};
use std::task::{Poll, Wake, Waker};
use std::thread;
use std::time::Duration;
use wakeful_base::call_now;
use wakeful_reactor::io::{IoDriver, IoEvents};
use wakeful_reactor::signal::{Listener, listen};

fn driver() -> Arc<IoDriver> {
    let driver = IoDriver::new().unwrap();
    driver.attend_to_signals().unwrap();
    driver
}

fn turn(driver: &IoDriver) {
    driver.wait(&mut IoEvents::with_capacity(8), Some(Duration::ZERO), &mut call_now);
}

/// Lets this very thread handle `signal`, now.
fn raise(signal: i32) {
    // SAFETY: the tests raise what they listen for only.
    assert_eq!(unsafe { libc::raise(signal) }, 0);
}

fn poll(listener: &mut Listener<'_>) -> Poll<()> {
    listener.poll_delivery(Waker::noop())
}

/// Ends the waits of a driver.
struct WakeDriver(Arc<IoDriver>);

impl Wake for WakeDriver {
    fn wake(self: Arc<Self>) {
        self.0.wake();
    }
}

/// Turns `driver` until `listener` has a delivery, which some other test's driver may be about to make.
fn recv(driver: &Arc<IoDriver>, listener: &mut Listener<'_>) {
    let waker = Arc::new(WakeDriver(driver.clone())).into();
    while listener.poll_delivery(&waker).is_pending() {
        driver.wait(&mut IoEvents::with_capacity(8), None, &mut call_now);
    }
}

#[test]
fn a_signal_is_handed_out_when_a_driver_turns() {
    let driver = driver();
    let mut listener = listen(libc::SIGUSR1).unwrap();
    for _ in 0..3 {
        raise(libc::SIGUSR1);
        recv(&driver, &mut listener);
        turn(&driver);
        assert!(poll(&mut listener).is_pending());
    }
}

#[test]
fn a_signal_ends_the_waits_of_all_drivers_again_and_again() {
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let driver = driver();
            let mut listener = listen(libc::SIGUSR2).unwrap();
            thread::spawn(move || (0..50).for_each(|_| recv(&driver, &mut listener)))
        })
        .collect();
    // Some are joined into one, so there is no telling how many it takes.
    while threads.iter().any(|thread| !thread.is_finished()) {
        raise(libc::SIGUSR2);
        thread::sleep(Duration::from_micros(100));
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn a_driver_made_later_hands_out_what_no_other_did() {
    // The alarm is there once some driver was.
    drop(driver());
    let mut listener = listen(libc::SIGWINCH).unwrap();
    raise(libc::SIGWINCH);
    recv(&driver(), &mut listener);
}

/// Has `signal` handled by code that is not ours.
fn handle(signal: i32, code: *const (), flags: i32) {
    // SAFETY: all bytes zero is a `sigaction`; the handlers of these tests may interrupt anything.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = code as usize;
        action.sa_flags = flags;
        assert_eq!(libc::sigaction(signal, &action, std::ptr::null_mut()), 0);
    }
}

#[test]
fn who_handled_the_signal_before_still_does() {
    static WITH_INFO: AtomicI32 = AtomicI32::new(0);
    static PLAIN: AtomicI32 = AtomicI32::new(0);
    extern "C" fn with_info(signal: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
        // SAFETY: the kernel's, passed on.
        assert_eq!(unsafe { (*info).si_signo }, signal);
        WITH_INFO.store(signal, SeqCst);
    }
    extern "C" fn plain(signal: i32) {
        PLAIN.store(signal, SeqCst);
    }
    handle(libc::SIGHUP, with_info as *const (), libc::SA_SIGINFO);
    handle(libc::SIGALRM, plain as *const (), 0);
    let driver = driver();
    for signal in [libc::SIGHUP, libc::SIGALRM] {
        let mut listener = listen(signal).unwrap();
        raise(signal);
        recv(&driver, &mut listener);
    }
    assert_eq!(WITH_INFO.load(SeqCst), libc::SIGHUP);
    assert_eq!(PLAIN.load(SeqCst), libc::SIGALRM);
}

#[test]
fn a_signal_leaves_errno_as_it_was() {
    extern "C" fn fails(_: i32) {
        // SAFETY: a descriptor that is none is an error.
        assert_eq!(unsafe { libc::close(-1) }, -1);
    }
    handle(libc::SIGURG, fails as *const (), 0);
    let _listener = listen(libc::SIGURG).unwrap();
    // SAFETY: `errno` is the thread's own.
    unsafe { *libc::__errno_location() = libc::ERANGE };
    raise(libc::SIGURG);
    assert_eq!(io::Error::last_os_error().raw_os_error(), Some(libc::ERANGE));
}

#[test]
fn a_system_call_that_a_signal_interrupts_goes_on() {
    let (reader, mut writer) = UnixStream::pair().unwrap();
    let _listener = listen(libc::SIGIO).unwrap();
    let (send, receive) = std::sync::mpsc::channel();
    let thread = thread::spawn(move || {
        // SAFETY: names the calling thread.
        send.send(unsafe { libc::pthread_self() }).unwrap();
        let mut buf = [0; 4];
        // SAFETY: the buffer has room for so many. Not through std, which would try again by itself.
        let read = unsafe { libc::read(reader.as_raw_fd(), buf.as_mut_ptr().cast(), buf.len()) };
        (read, buf)
    });
    let reading = receive.recv().unwrap();
    for _ in 0..20 {
        thread::sleep(Duration::from_millis(1));
        // SAFETY: the thread is in its read, and not joined yet.
        assert_eq!(unsafe { libc::pthread_kill(reading, libc::SIGIO) }, 0);
    }
    writer.write_all(b"data").unwrap();
    assert_eq!(thread.join().unwrap(), (4, *b"data"));
}

#[test]
fn what_cannot_be_caught_or_is_no_signal_is_refused() {
    let refused = [libc::SIGKILL, libc::SIGSTOP, libc::SIGILL, libc::SIGFPE, libc::SIGSEGV];
    for signal in refused.into_iter().chain([0, -1, i32::MIN, 65, i32::MAX]) {
        let error = listen(signal).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Other);
        assert!(error.to_string().contains(&signal.to_string()), "{error}");
    }
    // The C library keeps these two to itself.
    assert_eq!(listen(32).unwrap_err().raw_os_error(), Some(libc::EINVAL));
}

#[test]
fn every_other_signal_can_be_listened_for() {
    let driver = driver();
    let ours = [libc::SIGTERM, libc::SIGINT, libc::SIGQUIT, libc::SIGPIPE, libc::SIGCHLD];
    let ours = ours.into_iter().chain([libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU]);
    for signal in ours.chain([libc::SIGBUS]).chain(libc::SIGRTMIN()..=libc::SIGRTMAX()) {
        let mut listener = listen(signal).unwrap();
        raise(signal);
        recv(&driver, &mut listener);
    }
}
