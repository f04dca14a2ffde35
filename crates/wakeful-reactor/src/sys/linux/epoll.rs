//! Readiness through Linux epoll, edge-triggered.

use super::EventNotifier;
use super::descriptors::grow_descriptor_table;
use crate::{Interest, Ready};
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// The token of the notifier and other sources that only end a wait.
const WAKE_TOKEN: u64 = u64::MAX;

/// An epoll instance, and a notifier that ends a wait in it.
#[derive(Debug)]
pub(crate) struct Poller {
    epoll: OwnedFd,
    notifier: EventNotifier,
    /// False once the kernel has refused `epoll_pwait2`.
    has_pwait2: AtomicBool,
}

/// A buffer for the events of one wait.
pub(crate) struct Events {
    list: Vec<libc::epoll_event>,
}

impl Events {
    pub(crate) fn with_capacity(capacity: usize) -> Events {
        Events { list: Vec::with_capacity(capacity) }
    }

    /// Yields the token and readiness of each event of the last wait.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, Ready)> + '_ {
        let events = self.list.iter().map(|event| (event.u64, ready_of(event.events)));
        events.filter(|&(token, _)| token != WAKE_TOKEN)
    }

    /// Returns whether the last wait has taken an event that only ends waits.
    pub(crate) fn has_wake_up(&self) -> bool {
        self.list.iter().map(|event| event.u64).any(|token| token == WAKE_TOKEN)
    }
}

impl Poller {
    pub(crate) fn new() -> io::Result<Poller> {
        // SAFETY: the call takes an integer and returns a new descriptor or an error.
        let epoll = unsafe { owned(libc::epoll_create1(libc::EPOLL_CLOEXEC)) };
        let epoll = epoll.map_err(|error| cannot_make("epoll_create1", error))?;
        grow_descriptor_table(epoll.as_raw_fd());
        let notifier = EventNotifier::new().map_err(|error| cannot_make("eventfd", error))?;
        let poller = Poller { epoll, notifier, has_pwait2: AtomicBool::new(true) };
        let added = poller.add_wake_source(poller.notifier.fd());
        added.map_err(|error| cannot_make("epoll_ctl", error))?;
        // A system-call filter may refuse the wait. Checked here, where the error can be returned.
        let waited = poller.wait(&mut Events::with_capacity(1), Some(Duration::ZERO));
        waited.map_err(|error| cannot_make("epoll_pwait", error))?;
        Ok(poller)
    }

    /// Starts to report events of `fd` with `token`.
    pub(crate) fn add(&self, fd: RawFd, token: u64, interest: Interest) -> io::Result<()> {
        debug_assert_ne!(token, WAKE_TOKEN);
        self.control(libc::EPOLL_CTL_ADD, fd, flags_of(interest), token)
    }

    /// Stops reporting events of `fd`.
    pub(crate) fn remove(&self, fd: RawFd) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_DEL, fd, 0, 0)
    }

    /// Makes each edge of `fd` end a wait, as a call to [`wake`](Self::wake) does.
    pub(super) fn add_wake_source(&self, fd: RawFd) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, (libc::EPOLLIN | libc::EPOLLET) as u32, WAKE_TOKEN)
    }

    fn control(&self, operation: i32, fd: RawFd, events: u32, token: u64) -> io::Result<()> {
        let mut event = libc::epoll_event { events, u64: token };
        // SAFETY: `event` lives until the call returns. An invalid descriptor is an error.
        let result = unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), operation, fd, &mut event) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Waits for events, a call to `wake`, or the end of `timeout` (`None`: no limit). A wait that
    /// a signal interrupts ends without events.
    pub(crate) fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        events.list.clear();
        let capacity = i32::try_from(events.list.capacity()).unwrap_or(i32::MAX);
        let result = match timeout {
            None => self.wait_millis(&mut events.list, capacity, -1),
            Some(Duration::ZERO) => self.wait_millis(&mut events.list, capacity, 0),
            Some(timeout) => self.wait_timeout(&mut events.list, capacity, timeout),
        };
        match result {
            Ok(count) => {
                // SAFETY: the kernel has filled in `count` events, at most `capacity`.
                unsafe { events.list.set_len(count) };
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Waits with a timeout, which is rounded up to milliseconds only if the kernel supports
    /// nothing finer.
    fn wait_timeout(
        &self,
        list: &mut Vec<libc::epoll_event>,
        capacity: i32,
        timeout: Duration,
    ) -> io::Result<usize> {
        if self.has_pwait2.load(Relaxed) {
            match self.wait_nanos(list, capacity, timeout) {
                // System-call filters that do not know this call, which is newer, refuse it with
                // `EPERM`.
                Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) => {
                    self.has_pwait2.store(false, Relaxed);
                }
                result => return result,
            }
        }
        let millis = timeout.as_nanos().div_ceil(1_000_000);
        self.wait_millis(list, capacity, i32::try_from(millis).unwrap_or(i32::MAX))
    }

    /// Calls `epoll_pwait2`, whose timeout is not rounded to milliseconds. Linux 5.11 or later.
    fn wait_nanos(
        &self,
        list: &mut Vec<libc::epoll_event>,
        capacity: i32,
        timeout: Duration,
    ) -> io::Result<usize> {
        let timespec = libc::timespec {
            // A timeout beyond the range of `time_t` never elapses.
            tv_sec: timeout.as_secs().try_into().unwrap_or(libc::time_t::MAX),
            tv_nsec: timeout.subsec_nanos() as _,
        };
        // SAFETY: `list` has room for `capacity` events, the timeout lives until the call returns,
        // and a null signal mask is allowed.
        let count = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.epoll.as_raw_fd(),
                list.as_mut_ptr(),
                capacity,
                &raw const timespec,
                std::ptr::null::<libc::sigset_t>(),
                0usize,
            )
        };
        usize::try_from(count).map_err(|_| io::Error::last_os_error())
    }

    /// Calls `epoll_pwait`, for whole milliseconds, zero, or no limit (-1).
    ///
    /// Without a timeout in memory for the kernel to read, a poll that does not wait costs half as
    /// much; see bench/NOTES.md: epoll_pwait. A raw system call, because libc's function is a
    /// cancellation point.
    fn wait_millis(
        &self,
        list: &mut Vec<libc::epoll_event>,
        capacity: i32,
        millis: i32,
    ) -> io::Result<usize> {
        // SAFETY: `list` has room for `capacity` events, and a null signal mask is allowed.
        let count = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait,
                self.epoll.as_raw_fd(),
                list.as_mut_ptr(),
                capacity,
                millis,
                std::ptr::null::<libc::sigset_t>(),
                0usize,
            )
        };
        usize::try_from(count).map_err(|_| io::Error::last_os_error())
    }

    /// Returns whether a wait would end at once.
    pub(crate) fn has_events(&self) -> bool {
        // An epoll instance can itself be polled: it is readable while it has events.
        let mut poll =
            libc::pollfd { fd: self.epoll.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one entry, which lives until the call returns.
        unsafe { libc::poll(&mut poll, 1, 0) > 0 }
    }

    /// Ends the current wait or the next one. Callable from any thread.
    ///
    /// # Errors
    /// Returns an error if the notifier has stopped working.
    pub(crate) fn wake(&self) -> io::Result<()> {
        self.notifier.notify()
    }

    /// Ends the current wait with a new notifier, after the first one has stopped working. To be
    /// called once.
    pub(crate) fn interrupt(&self) -> io::Result<()> {
        let notifier = ManuallyDrop::new(EventNotifier::new()?);
        self.add_wake_source(notifier.fd())?;
        notifier.notify()
    }
}

fn cannot_make(call: &str, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot make the I/O driver: `{call}` failed: {error}"))
}

/// Takes ownership of a descriptor that a call returned, unless the call failed.
///
/// # Safety
/// `fd` must be negative, or a new descriptor that nothing else owns.
pub(super) unsafe fn owned(fd: RawFd) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: by contract.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn flags_of(interest: Interest) -> u32 {
    let mut flags = libc::EPOLLET;
    // Errors are always reported, so an interest in errors alone needs no flag.
    if interest.is_readable() {
        flags |= libc::EPOLLIN | libc::EPOLLRDHUP;
    }
    if interest.is_writable() {
        flags |= libc::EPOLLOUT;
    }
    if interest.is_priority() {
        flags |= libc::EPOLLPRI;
    }
    flags as u32
}

fn ready_of(flags: u32) -> Ready {
    let has = |flag: i32| flags & flag as u32 != 0;
    let mut ready = Ready::EMPTY;
    if has(libc::EPOLLIN) || has(libc::EPOLLPRI) {
        ready |= Ready::READABLE;
    }
    if has(libc::EPOLLPRI) {
        ready |= Ready::PRIORITY;
    }
    if has(libc::EPOLLOUT) {
        ready |= Ready::WRITABLE;
    }
    // Both directions are closed, or the peer has closed its side and all data has been received.
    if has(libc::EPOLLHUP) || (has(libc::EPOLLIN) && has(libc::EPOLLRDHUP)) {
        ready |= Ready::READ_CLOSED;
    }
    // A pipe whose reader is gone reports an error, with or without room to write.
    if has(libc::EPOLLHUP)
        || (has(libc::EPOLLOUT) && has(libc::EPOLLERR))
        || flags == libc::EPOLLERR as u32
    {
        ready |= Ready::WRITE_CLOSED;
    }
    if has(libc::EPOLLERR) {
        ready |= Ready::ERROR;
    }
    ready
}
