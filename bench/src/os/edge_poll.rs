//! Waits for many sockets on one thread, without a runtime.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::ptr;
use std::time::Duration;

/// Edge-triggered epoll.
pub struct EdgePoll(OwnedFd);

impl EdgePoll {
    pub fn new() -> io::Result<EdgePoll> {
        // SAFETY: takes no pointers.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `epoll_create1` has just returned the descriptor, so nothing else owns it.
        Ok(EdgePoll(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Registers a descriptor: `wait` returns `id` when it becomes readable or writable.
    pub fn add(&self, descriptor: &impl AsFd, id: u64) -> io::Result<()> {
        let events = (libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLET) as u32;
        let mut event = libc::epoll_event { events, u64: id };
        let (poll, watched) = (self.0.as_raw_fd(), descriptor.as_fd().as_raw_fd());
        // SAFETY: both descriptors are open, and the kernel copies `event` during the call.
        match unsafe { libc::epoll_ctl(poll, libc::EPOLL_CTL_ADD, watched, &mut event) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Waits until an event occurs or `timeout` has passed, and stores the ids of the events in
    /// `ready`.
    pub fn wait(&self, timeout: Duration, ready: &mut Vec<u64>) -> io::Result<()> {
        const EVENTS_MAX: usize = 1024;
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; EVENTS_MAX];
        let timeout = libc::timespec {
            tv_sec: timeout.as_secs().min(1_000_000) as libc::time_t,
            tv_nsec: timeout.subsec_nanos() as _,
        };
        let (poll, no_mask) = (self.0.as_raw_fd(), ptr::null::<libc::sigset_t>());
        // SAFETY: the kernel reads `timeout`, which lives through the call, and writes at most
        // `EVENTS_MAX` events, for which `events` has capacity.
        let count = unsafe {
            let (call, events) = (libc::SYS_epoll_pwait2, events.as_mut_ptr());
            libc::syscall(
                call,
                poll,
                events,
                EVENTS_MAX as libc::c_long,
                &timeout,
                no_mask,
                0_usize,
            )
        };
        ready.clear();
        if count < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) };
        }
        ready.extend(events[..count as usize].iter().map(|event| event.u64));
        Ok(())
    }
}
