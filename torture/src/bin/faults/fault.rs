//! The faults, and the code that causes them.

use crate::seccomp::{self, Rule};
use std::ffi::c_int;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

/// What goes wrong in a case.
#[derive(Debug, Clone)]
pub enum Fault {
    /// System calls fail or end the process.
    Calls(Vec<Rule>),
    /// `RLIMIT_NOFILE` is this number.
    DescriptorLimit(u64),
    /// All descriptors are in use until the fault ends.
    DescriptorsUsedUp,
    /// The process switches to a user of its own, which may start this many more threads than are
    /// running.
    ThreadLimit(u64),
    /// The address space may grow by this many bytes.
    MemoryLimit(u64),
    /// All descriptors of this kind are closed or replaced behind the runtime's back.
    Descriptors { kind: DescriptorKind, how: Damage },
    /// The parent stops this process and continues it, repeatedly.
    Stops,
    /// Signals interrupt the system calls of all threads.
    Signals,
    /// The process forks, and the child builds its own runtime.
    Fork,
    /// The wall clock jumps forwards and back.
    Clock,
}

/// What is done to a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    Closed,
    /// All calls but `close` fail as if it were closed (`EBADF`). The number stays in use, so that
    /// no other file can get it, which the owner would later close by mistake.
    AsIfClosed,
    /// It refers to `/dev/null` instead.
    Replaced,
}

/// The kinds of descriptors, as told apart by their link in `/proc/self/fd`.
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

    /// Returns all descriptors of this kind in this process, without standard input, output and
    /// error.
    fn list(self) -> io::Result<Vec<c_int>> {
        let mut list = Vec::new();
        for entry in fs::read_dir("/proc/self/fd")? {
            let entry = entry?;
            let number: Option<c_int> = entry.file_name().to_str().and_then(|n| n.parse().ok());
            // The list also has the descriptor of the directory that is being read. It is closed
            // before the list is used.
            let Ok(target) = fs::read_link(entry.path()) else { continue };
            let Some(number) = number.filter(|&number| number > 2) else { continue };
            if !target.starts_with("/proc") && self.is(&target.to_string_lossy()) {
                list.push(number);
            }
        }
        Ok(list)
    }
}

/// A fault that has begun.
#[derive(Default)]
pub struct ActiveFault {
    /// Descriptors held open so that none is free.
    taken: Vec<File>,
    /// The previous limits.
    limits: Vec<(Resource, libc::rlimit)>,
}

type Resource = libc::__rlimit_resource_t;

impl ActiveFault {
    /// Ends the fault, if that is possible. Returns whether everything is as before.
    pub fn end(self) -> io::Result<bool> {
        let can_end = !self.taken.is_empty() || !self.limits.is_empty();
        drop(self.taken);
        for (resource, limit) in self.limits {
            // SAFETY: `limit` is a live local during the call.
            result_of(unsafe { libc::setrlimit(resource, &raw const limit) })?;
        }
        Ok(can_end)
    }

    fn limit(&mut self, resource: Resource, limit: u64) -> io::Result<()> {
        let mut before = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: `before` is a live local that the call writes to.
        result_of(unsafe { libc::getrlimit(resource, &raw mut before) })?;
        let limit = libc::rlimit { rlim_cur: limit, ..before };
        // SAFETY: `limit` is a live local during the call.
        result_of(unsafe { libc::setrlimit(resource, &raw const limit) })?;
        self.limits.push((resource, before));
        Ok(())
    }
}

impl Fault {
    /// Returns whether only root can cause this fault.
    pub fn needs_root(&self) -> bool {
        matches!(self, Fault::ThreadLimit(_))
    }

    /// Causes the fault. `number` is the number of the case.
    pub fn begin(&self, number: usize) -> io::Result<ActiveFault> {
        let mut active_fault = ActiveFault::default();
        match self {
            Fault::Calls(rules) => seccomp::enforce(rules)?,
            Fault::DescriptorLimit(limit) => active_fault.limit(libc::RLIMIT_NOFILE, *limit)?,
            Fault::DescriptorsUsedUp => {
                active_fault.limit(libc::RLIMIT_NOFILE, 256)?;
                while let Ok(file) = File::open("/dev/null") {
                    active_fault.taken.push(file);
                }
            }
            Fault::ThreadLimit(more) => {
                become_user(60_000 + number as libc::uid_t)?;
                active_fault.limit(libc::RLIMIT_NPROC, threads()? + more)?;
            }
            Fault::MemoryLimit(more) => {
                active_fault.limit(libc::RLIMIT_AS, address_space()? + more)?;
            }
            Fault::Descriptors { kind, how } => {
                for number in kind.list()? {
                    damage(number, *how)?;
                }
            }
            Fault::Signals => crate::storms::interrupt_all_threads()?,
            // These are started where the operations run, or by the parent.
            Fault::Stops | Fault::Fork | Fault::Clock => {}
        }
        Ok(active_fault)
    }
}

/// Switches to a user that runs nothing else: limits on threads do not apply to root, and count all
/// threads of a user.
fn become_user(user: libc::uid_t) -> io::Result<()> {
    // SAFETY: `setgroups` with a length of 0 reads no memory; the other calls take only numbers.
    // The C library applies them to all threads.
    unsafe {
        result_of(libc::setgroups(0, std::ptr::null()))?;
        result_of(libc::setresgid(user, user, user))?;
        result_of(libc::setresuid(user, user, user))
    }
}

/// Closes or replaces a descriptor that belongs to other code.
fn damage(number: c_int, how: Damage) -> io::Result<()> {
    let mut other = OpenOptions::new();
    match how {
        Damage::Replaced => other.read(true).write(true),
        Damage::AsIfClosed => other.read(true).custom_flags(libc::O_PATH),
        Damage::Closed => {
            // SAFETY: takes a number. The owner of the descriptor will use or close it later, or
            // another file with its number: this breach of I/O safety is the fault under test.
            return match result_of(unsafe { libc::close(number) }) {
                // The owner has closed it already.
                Err(error) if error.raw_os_error() == Some(libc::EBADF) => Ok(()),
                result => result,
            };
        }
    };
    let other = other.open("/dev/null")?;
    // SAFETY: takes numbers. `other` stays open during the call; the duplicate belongs to the owner
    // of `number`.
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
