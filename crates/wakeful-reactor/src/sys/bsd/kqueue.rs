//! Readiness through kqueue, edge-triggered, for the BSDs and Apple's systems.

use super::EventNotifier;
use crate::{Interest, Ready};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;
use std::{mem, ptr};

/// The token of the notifier.
const WAKE_TOKEN: u64 = u64::MAX;

/// Bounds a timeout, because some kernels refuse long ones. A wake-up once a day does no harm.
const TIMEOUT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

#[cfg(not(target_os = "netbsd"))]
type Filter = i16;
#[cfg(not(target_os = "netbsd"))]
type Flags = u16;
#[cfg(target_os = "netbsd")]
type Filter = u32;
#[cfg(target_os = "netbsd")]
type Flags = u32;

const ADD: Flags = libc::EV_ADD | libc::EV_CLEAR;

const _: () = assert!(usize::BITS == 64, "a token goes through the kernel as a pointer");

/// A kqueue, and a notifier that ends a wait in it.
#[derive(Debug)]
pub(crate) struct Poller {
    queue: OwnedFd,
    notifier: EventNotifier,
}

/// A buffer for the events of one wait.
pub(crate) struct Events {
    list: Vec<libc::kevent>,
}

// SAFETY: the pointer in an event is a token, which is a number.
unsafe impl Send for Events {}

impl Events {
    pub(crate) fn with_capacity(capacity: usize) -> Events {
        Events { list: Vec::with_capacity(capacity) }
    }

    /// Yields the token and readiness of each event of the last wait, one for each direction.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, Ready)> + '_ {
        let events = self.list.iter().map(|event| (event.udata as usize as u64, ready_of(event)));
        events.filter(|&(token, _)| token != WAKE_TOKEN)
    }

    /// Returns whether the last wait has taken an event that only ends waits.
    pub(crate) fn has_wake_up(&self) -> bool {
        self.list.iter().any(|event| event.udata as usize as u64 == WAKE_TOKEN)
    }
}

impl Poller {
    pub(crate) fn new() -> io::Result<Poller> {
        // SAFETY: the call takes no arguments.
        let queue = unsafe { libc::kqueue() };
        if queue < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call has just created the descriptor, so nothing else owns it.
        let queue = unsafe { OwnedFd::from_raw_fd(queue) };
        // SAFETY: the call takes integers only.
        if unsafe { libc::fcntl(queue.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
            return Err(io::Error::last_os_error());
        }
        let poller = Poller { queue, notifier: EventNotifier::new()? };
        poller.change(poller.notifier.fd(), libc::EVFILT_READ, ADD, WAKE_TOKEN)?;
        Ok(poller)
    }

    /// Starts to report events of `fd` with `token`.
    pub(crate) fn add(&self, fd: RawFd, token: u64, interest: Interest) -> io::Result<()> {
        debug_assert_ne!(token, WAKE_TOKEN);
        // Errors are reported with either direction, so an interest in errors alone watches for
        // reading.
        if interest.is_readable() || !interest.is_writable() {
            self.change(fd, libc::EVFILT_READ, ADD, token)?;
        }
        if !interest.is_writable() {
            return Ok(());
        }
        match self.change(fd, libc::EVFILT_WRITE, ADD, token) {
            // `EPIPE`: a pipe without a reader has nothing to report. Writing to it returns the
            // error.
            Err(error) if error.raw_os_error() != Some(libc::EPIPE) => {
                let _there_or_not = self.change(fd, libc::EVFILT_READ, libc::EV_DELETE, 0);
                Err(error)
            }
            _ => Ok(()),
        }
    }

    /// Stops reporting events of `fd`.
    pub(crate) fn remove(&self, fd: RawFd) -> io::Result<()> {
        let outcomes = [libc::EVFILT_READ, libc::EVFILT_WRITE]
            .map(|filter| self.change(fd, filter, libc::EV_DELETE, 0));
        outcomes.into_iter().try_for_each(|outcome| match outcome {
            // Only one direction may have been watched.
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(()),
            outcome => outcome,
        })
    }

    fn change(&self, fd: RawFd, filter: Filter, flags: Flags, token: u64) -> io::Result<()> {
        // SAFETY: all fields are integers or pointers that may be null, so zero bytes are valid.
        let mut change: libc::kevent = unsafe { mem::zeroed() };
        change.ident = fd as _;
        change.filter = filter;
        change.flags = flags;
        change.udata = token as usize as _;
        let queue = self.queue.as_raw_fd();
        // SAFETY: `change` lives until the call returns, and no events are requested.
        let result = unsafe { libc::kevent(queue, &change, 1, ptr::null_mut(), 0, ptr::null()) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Waits for events, a call to `wake`, or the end of `timeout` (`None`: no limit). A wait that
    /// a signal interrupts ends without events.
    pub(crate) fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        let list = &mut events.list;
        list.clear();
        let timeout = timeout.map(|timeout| timeout.min(TIMEOUT_MAX)).map(|timeout| {
            libc::timespec { tv_sec: timeout.as_secs() as _, tv_nsec: timeout.subsec_nanos() as _ }
        });
        let timeout = timeout.as_ref().map_or(ptr::null(), ptr::from_ref);
        let (queue, room) = (self.queue.as_raw_fd(), list.capacity().min(i32::MAX as usize));
        // SAFETY: `list` has room for `room` events, and the timeout lives until the call returns.
        let count =
            unsafe { libc::kevent(queue, ptr::null(), 0, list.as_mut_ptr(), room as _, timeout) };
        match usize::try_from(count) {
            // SAFETY: the kernel has filled in that many events, at most `room`.
            Ok(count) => unsafe { list.set_len(count) },
            Err(_negative) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error => return Err(error),
            },
        }
        if events.has_wake_up() {
            self.notifier.acknowledge();
        }
        Ok(())
    }

    /// Returns whether a wait would end at once.
    pub(crate) fn has_events(&self) -> bool {
        // A kqueue can itself be polled: it is readable while it has events.
        let mut poll =
            libc::pollfd { fd: self.queue.as_raw_fd(), events: libc::POLLIN, revents: 0 };
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
        let notifier = mem::ManuallyDrop::new(EventNotifier::new()?);
        self.change(notifier.fd(), libc::EVFILT_READ, ADD, WAKE_TOKEN)?;
        notifier.notify()
    }
}

fn ready_of(event: &libc::kevent) -> Ready {
    let is_closed = event.flags & libc::EV_EOF != 0;
    let mut ready = Ready::EMPTY;
    if event.filter == libc::EVFILT_READ {
        ready |= Ready::READABLE;
        if is_closed {
            ready |= Ready::READ_CLOSED;
        }
    } else {
        ready |= Ready::WRITABLE;
        if is_closed {
            ready |= Ready::WRITE_CLOSED;
        }
    }
    // The error of a socket is reported with its end.
    if event.flags & libc::EV_ERROR != 0 || is_closed && event.fflags != 0 {
        ready |= Ready::ERROR;
    }
    ready
}
