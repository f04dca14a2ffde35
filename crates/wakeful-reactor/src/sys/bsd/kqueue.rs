//! Readiness through kqueue, edge-triggered, for the BSDs and Apple's systems.

use super::EventNotifier;
use crate::{Interest, Ready};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;
use std::{mem, ptr};

/// Stands for the notifier among the tokens.
const WAKE_TOKEN: u64 = u64::MAX;

/// Some kernels refuse times that are too long; nobody minds to be woken once a day.
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

/// A kqueue, and a notifier to end a wait in it.
#[derive(Debug)]
pub(crate) struct Poller {
    queue: OwnedFd,
    notifier: EventNotifier,
}

/// Room for the events of one wait.
pub(crate) struct Events {
    list: Vec<libc::kevent>,
}

// SAFETY: the pointer in an event is a token, a number.
unsafe impl Send for Events {}

impl Events {
    pub(crate) fn with_capacity(capacity: usize) -> Events {
        Events { list: Vec::with_capacity(capacity) }
    }

    /// Token and readiness of each event of the last wait: one for each direction.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, Ready)> + '_ {
        let events = self.list.iter().map(|event| (event.udata as usize as u64, ready_of(event)));
        events.filter(|&(token, _)| token != WAKE_TOKEN)
    }
}

impl Poller {
    pub(crate) fn new() -> io::Result<Poller> {
        // SAFETY: takes nothing.
        let queue = unsafe { libc::kqueue() };
        if queue < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: new, and nobody else's.
        let queue = unsafe { OwnedFd::from_raw_fd(queue) };
        // SAFETY: no memory is involved.
        if unsafe { libc::fcntl(queue.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
            return Err(io::Error::last_os_error());
        }
        let poller = Poller { queue, notifier: EventNotifier::new()? };
        poller.change(poller.notifier.fd(), libc::EVFILT_READ, ADD, WAKE_TOKEN)?;
        Ok(poller)
    }

    /// Has events of `fd` reported with `token`, until it is taken out.
    pub(crate) fn add(&self, fd: RawFd, token: u64, interest: Interest) -> io::Result<()> {
        debug_assert_ne!(token, WAKE_TOKEN);
        // Errors come with either direction.
        if interest.is_readable() || !interest.is_writable() {
            self.change(fd, libc::EVFILT_READ, ADD, token)?;
        }
        if !interest.is_writable() {
            return Ok(());
        }
        match self.change(fd, libc::EVFILT_WRITE, ADD, token) {
            // Of a pipe without a reader there is nothing to report: whoever writes to it is told.
            Err(error) if error.raw_os_error() != Some(libc::EPIPE) => {
                let _there_or_not = self.change(fd, libc::EVFILT_READ, libc::EV_DELETE, 0);
                Err(error)
            }
            _ => Ok(()),
        }
    }

    /// Ends the reports of `fd`.
    pub(crate) fn remove(&self, fd: RawFd) -> io::Result<()> {
        let outcomes = [libc::EVFILT_READ, libc::EVFILT_WRITE]
            .map(|filter| self.change(fd, filter, libc::EV_DELETE, 0));
        outcomes.into_iter().try_for_each(|outcome| match outcome {
            // Only one direction may have been asked for.
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(()),
            outcome => outcome,
        })
    }

    fn change(&self, fd: RawFd, filter: Filter, flags: Flags, token: u64) -> io::Result<()> {
        // SAFETY: all of its fields are numbers, or a pointer that may be null.
        let mut change: libc::kevent = unsafe { mem::zeroed() };
        change.ident = fd as _;
        change.filter = filter;
        change.flags = flags;
        change.udata = token as usize as _;
        let queue = self.queue.as_raw_fd();
        // SAFETY: the change lives through the call, and there is no room for events, nor any asked for.
        let result = unsafe { libc::kevent(queue, &change, 1, ptr::null_mut(), 0, ptr::null()) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Waits for events, a call to `wake`, or the end of `timeout`; none: for ever. An interrupted wait
    /// ends without events.
    pub(crate) fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        let list = &mut events.list;
        list.clear();
        let timeout = timeout.map(|timeout| timeout.min(TIMEOUT_MAX)).map(|timeout| {
            libc::timespec { tv_sec: timeout.as_secs() as _, tv_nsec: timeout.subsec_nanos() as _ }
        });
        let timeout = timeout.as_ref().map_or(ptr::null(), ptr::from_ref);
        let (queue, room) = (self.queue.as_raw_fd(), list.capacity().min(i32::MAX as usize));
        // SAFETY: `list` has room for so many events; the timeout lives through the call.
        let count =
            unsafe { libc::kevent(queue, ptr::null(), 0, list.as_mut_ptr(), room as _, timeout) };
        match usize::try_from(count) {
            // SAFETY: the kernel filled that many, no more than there is room for.
            Ok(count) => unsafe { list.set_len(count) },
            Err(_negative) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error => return Err(error),
            },
        }
        if list.iter().any(|event| event.udata as usize as u64 == WAKE_TOKEN) {
            self.notifier.acknowledge();
        }
        Ok(())
    }

    /// Whether a wait would end at once.
    pub(crate) fn has_events(&self) -> bool {
        // A kqueue can itself be polled: it is readable while it has events.
        let mut poll =
            libc::pollfd { fd: self.queue.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one entry, which lives through the call.
        unsafe { libc::poll(&mut poll, 1, 0) > 0 }
    }

    /// Ends the wait under way, or the next one. From any thread.
    ///
    /// # Errors
    /// If the notifier does not work any more.
    pub(crate) fn wake(&self) -> io::Result<()> {
        self.notifier.notify()
    }

    /// Ends the wait under way although the notifier does not work any more, by a new one. Once.
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
    // The error of a socket comes with its end.
    if event.flags & libc::EV_ERROR != 0 || is_closed && event.fflags != 0 {
        ready |= Ready::ERROR;
    }
    ready
}
