//! Real signals. Each test uses a signal of its own, since signals are global to the process.

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

fn run_once(driver: &IoDriver) {
    driver.wait(&mut IoEvents::with_capacity(8), Some(Duration::ZERO), &mut call_now);
}

/// Makes the calling thread handle `signal` at once.
fn raise(signal: i32) {
    // SAFETY: the tests raise only signals that they listen for.
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

/// Waits in `driver` until `listener` has a delivery, which the driver of another test may be about
/// to make.
fn recv(driver: &Arc<IoDriver>, listener: &mut Listener<'_>) {
    let waker = Arc::new(WakeDriver(driver.clone())).into();
    while listener.poll_delivery(&waker).is_pending() {
        driver.wait(&mut IoEvents::with_capacity(8), None, &mut call_now);
    }
}

#[test]
fn a_signal_is_delivered_when_a_driver_waits() {
    let driver = driver();
    let mut listener = listen(libc::SIGUSR1).unwrap();
    for _ in 0..3 {
        raise(libc::SIGUSR1);
        recv(&driver, &mut listener);
        run_once(&driver);
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
    // Signals may be merged, so the number that it takes is not known.
    while threads.iter().any(|thread| !thread.is_finished()) {
        raise(libc::SIGUSR2);
        thread::sleep(Duration::from_micros(100));
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn a_driver_created_later_delivers_pending_signals() {
    // The notifier exists once there has been a driver.
    drop(driver());
    let mut listener = listen(libc::SIGWINCH).unwrap();
    raise(libc::SIGWINCH);
    recv(&driver(), &mut listener);
}

/// Installs a handler for `signal` that is not ours.
fn handle(signal: i32, code: *const (), flags: i32) {
    // SAFETY: all zero bytes are a valid `sigaction`, and the handlers of these tests are
    // async-signal-safe.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = code as usize;
        action.sa_flags = flags;
        assert_eq!(libc::sigaction(signal, &action, std::ptr::null_mut()), 0);
    }
}

#[test]
fn the_previous_handler_is_still_called() {
    static WITH_INFO: AtomicI32 = AtomicI32::new(0);
    static PLAIN: AtomicI32 = AtomicI32::new(0);
    extern "C" fn with_info(signal: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
        // SAFETY: the pointer that the kernel passed.
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
        // SAFETY: closing an invalid descriptor is an error.
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
fn an_interrupted_system_call_is_restarted() {
    let (reader, mut writer) = UnixStream::pair().unwrap();
    let _listener = listen(libc::SIGIO).unwrap();
    let (send, receive) = std::sync::mpsc::channel();
    let thread = thread::spawn(move || {
        // SAFETY: the call names the calling thread.
        send.send(unsafe { libc::pthread_self() }).unwrap();
        let mut buf = [0; 4];
        // SAFETY: the buffer lives until the call returns and has the given length. Not through
        // std, which would retry on its own.
        let read = unsafe { libc::read(reader.as_raw_fd(), buf.as_mut_ptr().cast(), buf.len()) };
        (read, buf)
    });
    let reading = receive.recv().unwrap();
    for _ in 0..20 {
        thread::sleep(Duration::from_millis(1));
        // SAFETY: the thread is in its read and has not been joined.
        assert_eq!(unsafe { libc::pthread_kill(reading, libc::SIGIO) }, 0);
    }
    writer.write_all(b"data").unwrap();
    assert_eq!(thread.join().unwrap(), (4, *b"data"));
}

#[test]
fn uncatchable_and_nonexistent_signals_are_refused() {
    let refused = [libc::SIGKILL, libc::SIGSTOP, libc::SIGILL, libc::SIGFPE, libc::SIGSEGV];
    for signal in refused.into_iter().chain([0, -1, i32::MIN, 65, i32::MAX]) {
        let error = listen(signal).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Other);
        assert!(error.to_string().contains(&signal.to_string()), "{error}");
    }
    // The C library reserves these two.
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
