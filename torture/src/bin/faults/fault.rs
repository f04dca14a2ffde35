//! What goes wrong in a case, and how that is brought about.

use crate::seccomp::{self, Rule};
use std::ffi::c_int;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

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
    /// All descriptors of this kind are closed or replaced behind the runtime's back.
    Descriptors { kind: DescriptorKind, how: Spoiled },
    /// The parent stops this process, and lets it go on, again and again.
    Stops,
    /// Signals interrupt system calls on all threads.
    Signals,
    /// The process forks, and the child makes a runtime of its own.
    Fork,
    /// The wall clock is set, forwards and back.
    Clock,
}

/// What becomes of a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spoiled {
    Closed,
    /// All calls but `close` fail as if it were closed (`EBADF`); but no other file gets its number, by which its owner would
    /// close that one in the end.
    AsIfClosed,
    /// `/dev/null` is in its place.
    Replaced,
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
            Fault::Descriptors { kind, how } => {
                for number in kind.list()? {
                    spoil(number, *how)?;
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

/// Does to a descriptor what its owner would not.
fn spoil(number: c_int, how: Spoiled) -> io::Result<()> {
    let mut other = OpenOptions::new();
    match how {
        Spoiled::Replaced => other.read(true).write(true),
        Spoiled::AsIfClosed => other.read(true).custom_flags(libc::O_PATH),
        Spoiled::Closed => {
            // SAFETY: takes a number. That its owner will close it again, or another file in its place, is the fault that
            // is tried.
            return match result_of(unsafe { libc::close(number) }) {
                // Its owner was faster.
                Err(error) if error.raw_os_error() == Some(libc::EBADF) => Ok(()),
                result => result,
            };
        }
    };
    let other = other.open("/dev/null")?;
    // SAFETY: takes numbers. The owner of the old file owns the new one.
    result_of(unsafe { libc::dup2(other.as_raw_fd(), number) })
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
