//! Limits, closed descriptors, storms of signals, forks, clocks.

use super::Expected::{self, Ends, IoEnds, MayFail, Without, Works};
use super::Group;
use crate::fault::Damage::{AsIfClosed, Closed, Replaced};
use crate::fault::{DescriptorKind, Fault};
use std::fmt::Display;

const NO_DESCRIPTORS: &str = "Too many open files";
const NO_THREADS: &str = "Resource temporarily unavailable";
const NO_HAND_OFF: &str = "no hand-off";
/// A blocking closure was queued while a thread was being started, and that start failed.
const CANCELLED: &str = "was cancelled";

/// The standard library's text, in a debug build. In a release build the driver fails later, in its
/// wait.
const NOT_OPEN: &str = "owned file descriptor already closed";
const NO_IO: &str = "the I/O driver of the runtime that this I/O resource belongs to has failed";

const TOO_LITTLE_MEMORY: Expected = MayFail(&[
    NO_THREADS,
    NO_HAND_OFF,
    CANCELLED,
    "Cannot allocate memory",
    "memory allocation of",
    "failed to allocate an alternative stack",
]);

const NONE_LEFT: Expected = Without(&[
    ("tcp", "`TcpListener::bind`: Too many open files"),
    ("udp", "`UdpSocket::bind`: Too many open files"),
    ("unix", "`UnixStream::pair`: Too many open files"),
    ("pipe", "`pipe`: Too many open files"),
    ("fs", "`fs::write`: Too many open files"),
    ("process", "`Command::output`: Too many open files"),
    ("new runtime", "`epoll_create1` failed: Too many open files"),
]);

fn one(name: &'static str, fault: Fault) -> Group {
    Group::new(name, vec![(String::new(), fault)])
}

fn each<T: Copy + Display>(
    name: &'static str,
    values: impl IntoIterator<Item = T>,
    fault: fn(T) -> Fault,
) -> Group {
    Group::new(name, values.into_iter().map(|value| (value.to_string(), fault(value))).collect())
}

pub fn groups() -> Vec<Group> {
    let descriptors = |name, kind, how| one(name, Fault::Descriptors { kind, how });
    let memory = [1_u64, 0, 2, 4, 8, 12, 16, 24, 32, 48, 64, 128];
    vec![
        // The order puts a limit first under which every operation does something.
        each("descriptor limit", (3..26).map(|n| 3 + (n + 8) % 23), Fault::DescriptorLimit)
            .start(MayFail(&[NO_DESCRIPTORS]))
            .quick(),
        one("descriptors used up", Fault::DescriptorsUsedUp).later(NONE_LEFT).quick(),
        each("thread limit", [2, 0, 1, 3, 4, 5, 6, 7], Fault::ThreadLimit)
            .both(MayFail(&[NO_THREADS, NO_HAND_OFF, CANCELLED]))
            .quick(),
        each("memory limit", memory, |mib| Fault::MemoryLimit(mib << 20))
            .both(TOO_LITTLE_MEMORY)
            .quick(),
        descriptors("epoll descriptor closed", DescriptorKind::Epoll, AsIfClosed)
            .row("epoll descriptor")
            .later(IoEnds("cannot wait for events"))
            .quick(),
        descriptors("epoll descriptor replaced", DescriptorKind::Epoll, Replaced)
            .row("epoll descriptor")
            .later(IoEnds("cannot wait for events")),
        descriptors("eventfd closed", DescriptorKind::Event, AsIfClosed)
            .later(IoEnds("cannot end a wait for events"))
            .quick(),
        descriptors("timerfd closed", DescriptorKind::Timer, AsIfClosed)
            .row("timerfd descriptor")
            .later(Works)
            .quick(),
        descriptors("timerfd replaced", DescriptorKind::Timer, Replaced)
            .row("timerfd descriptor")
            .later(Works),
        descriptors("all descriptors closed", DescriptorKind::All, Closed)
            .later(Ends(&[NOT_OPEN, NO_IO, "Bad file descriptor"]))
            .quick(),
        one("stopped and continued", Fault::Stops).later(Works).quick(),
        one("signals", Fault::Signals).both(Works).quick(),
        one("fork", Fault::Fork).later(Works).quick(),
        one("clock", Fault::Clock).later(Works).quick(),
    ]
}
