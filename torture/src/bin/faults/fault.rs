//! What goes wrong in a case, and how that is brought about.

use crate::seccomp::{self, Rule};
use std::ffi::c_int;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;

/// What goes wrong.
#[derive(Debug, Clone)]
pub enum Fault {
    /// System calls fail.
    Calls(Vec<Rule>),
    /// So many descriptors are all that the process may have.
    DescriptorLimit(u64),
    /// All descriptors are in use, for a while.
    DescriptorsUsedUp,
    /// The process has a user to itself, who may have so many threads more than there are.
    ThreadLimit(u64),
    /// So many bytes of address space more than there are.
    MemoryLimit(u64),
    /// All descriptors of this kind are closed, or replaced by `/dev/null`, behind the runtime's back.
    Descriptors { kind: DescriptorKind, replaced: bool },
    /// The parent stops this process, and lets it go on, again and again.
    Stops,
    /// Signals interrupt system calls on all threads.
    Signals,
    /// The process forks, and the child makes a runtime of its own.
    Fork,
    /// The wall clock is set, forwards and back.
    Clock,
}

/// What `/proc/self/fd` says that a descriptor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DescriptorKind {
    Epoll,
    Event,
    Timer,
    All,
}

impl DescriptorKind {
    fn is(self, target: &str) -> bool {
        match self {
            DescriptorKind::Epoll => target.ends_with("[eventpoll]"),
            DescriptorKind::Event => target.ends_with("[eventfd]"),
            DescriptorKind::Timer => target.ends_with("[timerfd]"),
            DescriptorKind::All => true,
        }
    }

    /// Those of this process, without standard input, output and error.
    fn list(self) -> io::Result<Vec<c_int>> {
        let mut list = Vec::new();
        for entry in fs::read_dir("/proc/self/fd")? {
            let entry = entry?;
            let number: Option<c_int> = entry.file_name().to_str().and_then(|n| n.parse().ok());
            // The folder that is being read is closed before anything is done to the list.
            let Ok(target) = fs::read_link(entry.path()) else { continue };
            let Some(number) = number.filter(|&number| number > 2) else { continue };
            if !target.starts_with("/proc") && self.is(&target.to_string_lossy()) {
                list.push(number);
            }
        }
        Ok(list)
    }
}

/// A fault that is there.
#[derive(Default)]
pub struct InForce {
    /// Descriptors that nobody needs.
    taken: Vec<File>,
    /// What limits were before.
    limits: Vec<(Resource, libc::rlimit)>,
    /// Descriptors that were closed, which their owners do not know.
    closed: Vec<c_int>,
}

type Resource = libc::__rlimit_resource_t;

impl InForce {
    /// Puts things right, as far as that is possible. Whether all is as before.
    pub fn end(self) -> io::Result<bool> {
        let can_end = !self.taken.is_empty() || !self.limits.is_empty();
        drop(self.taken);
        for (resource, limit) in self.limits {
            // SAFETY: the limit lives through the call.
            result_of(unsafe { libc::setrlimit(resource, &raw const limit) })?;
        }
        if let Some(&highest) = self.closed.iter().max() {
            let file = File::open("/dev/null")?;
            // A number of its own, above those that are to be filled.
            // SAFETY: takes numbers.
            let filler =
                unsafe { libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, highest + 1) };
            result_of(filler)?;
            drop(file);
            for number in self.closed {
                // SAFETY: takes numbers. The descriptor's owner, who is about to close it, owns the new file; the
                // standard library of a debug build would end the process if there were none.
                unsafe {
                    if libc::fcntl(number, libc::F_GETFD) < 0 {
                        result_of(libc::dup2(filler, number))?;
                    }
                }
            }
        }
        Ok(can_end)
    }

    fn limit(&mut self, resource: Resource, limit: u64) -> io::Result<()> {
        let mut before = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the limit is written to.
        result_of(unsafe { libc::getrlimit(resource, &raw mut before) })?;
        let limit = libc::rlimit { rlim_cur: limit, ..before };
        // SAFETY: the limit lives through the call.
        result_of(unsafe { libc::setrlimit(resource, &raw const limit) })?;
        self.limits.push((resource, before));
        Ok(())
    }
}

impl Fault {
    /// Whether only root can bring it about.
    pub fn needs_root(&self) -> bool {
        matches!(self, Fault::ThreadLimit(_))
    }

    /// Brings it about. `number` is the case's, unlike all others'.
    pub fn begin(&self, number: usize) -> io::Result<InForce> {
        let mut in_force = InForce::default();
        match self {
            Fault::Calls(rules) => seccomp::enforce(rules)?,
            Fault::DescriptorLimit(limit) => in_force.limit(libc::RLIMIT_NOFILE, *limit)?,
            Fault::DescriptorsUsedUp => {
                in_force.limit(libc::RLIMIT_NOFILE, 256)?;
                while let Ok(file) = File::open("/dev/null") {
                    in_force.taken.push(file);
                }
            }
            Fault::ThreadLimit(more) => {
                become_user(60_000 + number as libc::uid_t)?;
                in_force.limit(libc::RLIMIT_NPROC, threads()? + more)?;
            }
            Fault::MemoryLimit(more) => {
                in_force.limit(libc::RLIMIT_AS, address_space()? + more)?;
            }
            Fault::Descriptors { kind, replaced } => {
                for number in kind.list()? {
                    spoil(number, *replaced)?;
                    if !replaced {
                        in_force.closed.push(number);
                    }
                }
            }
            Fault::Signals => crate::storms::interrupt_all_threads()?,
            // Seen to where the operations run.
            Fault::Stops | Fault::Fork | Fault::Clock => {}
        }
        Ok(in_force)
    }
}

/// Limits on processes do not hold for root, and count all that the user has.
fn become_user(user: libc::uid_t) -> io::Result<()> {
    // SAFETY: no groups are read; the rest takes numbers. All threads are told.
    unsafe {
        result_of(libc::setgroups(0, std::ptr::null()))?;
        result_of(libc::setresgid(user, user, user))?;
        result_of(libc::setresuid(user, user, user))
    }
}

/// Closes a descriptor that somebody else owns, or puts another file in its place.
fn spoil(number: c_int, replaced: bool) -> io::Result<()> {
    if replaced {
        let other = File::open("/dev/null")?;
        // SAFETY: takes numbers. The owner of the old file owns the new one.
        result_of(unsafe { libc::dup2(other.as_raw_fd(), number) })
    } else {
        // SAFETY: takes a number. That its owner will close it again, or somebody else's file in its place, is
        // the fault that is tried.
        match result_of(unsafe { libc::close(number) }) {
            // Its owner was faster.
            Err(error) if error.raw_os_error() == Some(libc::EBADF) => Ok(()),
            result => result,
        }
    }
}

fn result_of(result: c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn threads() -> io::Result<u64> {
    Ok(fs::read_dir("/proc/self/task")?.count() as u64)
}

fn address_space() -> io::Result<u64> {
    let pages = fs::read_to_string("/proc/self/statm")?;
    let pages = pages.split(' ').next().and_then(|pages| pages.parse::<u64>().ok());
    let pages = pages.ok_or_else(|| io::Error::other("/proc/self/statm is not as expected"))?;
    // SAFETY: takes and returns numbers.
    let page_size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    Ok(pages * page_size as u64)
}
