//! System calls that are refused, or that fail.
//!
//! These are the calls that `strace -f -c` shows of the workload, without those of the loader, the
//! memory allocator and starting threads, which cannot do without them. Each call fails as in a
//! sandbox (`EPERM`), as on a kernel that lacks it (`ENOSYS`), and as it may fail when a resource
//! has run out.

use super::Expected::{IoEnds, NoRuntime, Without, Works};
use super::{Expected, Flavour, Group, When};
use crate::fault::Fault;
use crate::seccomp::{Argument, Rule};
use libc::{EAGAIN, EMFILE, ENFILE, ENOBUFS, ENOMEM, ENOSPC, ENOSYS, EOPNOTSUPP, EPERM};
use std::ffi::{c_int, c_long};

const NO_DRIVER: &str = "cannot make the I/O driver: `{call}` failed: {errno}";
const NO_NEW_RUNTIME: Expected = Without(&[("new runtime", NO_DRIVER)]);
const NO_WORKER: &str = "`Builder::build`: cannot start a worker thread: {errno}";
const NO_THREAD: &str = "gave no thread for it: {errno}";

/// Creates a group in which these system calls fail, all with the same error: a case for each
/// error.
fn calls(name: &'static str, calls: &[c_long], errors: &[(&str, c_int)]) -> Group {
    let fault = |&(error, errno): &(&str, c_int)| {
        let rules = calls.iter().map(|&call| Rule::fail(call, errno)).collect();
        (error.to_owned(), Fault::Calls(rules))
    };
    Group::new(name, errors.iter().map(fault).collect())
}

pub fn groups() -> Vec<Group> {
    let mut groups = driver();
    groups.extend(threads());
    groups.extend(small_calls());
    groups.extend(sockets());
    groups.extend(files());
    groups.extend(processes());
    groups.extend(sandboxes());
    groups
}

const REFUSED: &[(&str, c_int)] = &[("EPERM", EPERM), ("ENOSYS", ENOSYS)];

fn driver() -> Vec<Group> {
    let descriptor = [("EPERM", EPERM), ("ENOSYS", ENOSYS), ("EMFILE", EMFILE), ("ENFILE", ENFILE)];
    let memory = [("EPERM", EPERM), ("ENOSYS", ENOSYS), ("ENOMEM", ENOMEM), ("ENOSPC", ENOSPC)];
    vec![
        calls("epoll_create1", &[libc::SYS_epoll_create1], &descriptor)
            .start(NoRuntime(NO_DRIVER))
            .later(NO_NEW_RUNTIME)
            .quick(),
        calls("eventfd", &[libc::SYS_eventfd2], &descriptor)
            .start(NoRuntime(NO_DRIVER))
            .later(NO_NEW_RUNTIME),
        calls("epoll_ctl", &[libc::SYS_epoll_ctl], &memory)
            .start(NoRuntime(NO_DRIVER))
            .later(Without(&[
                ("tcp", "`TcpListener::bind`: {errno}"),
                ("udp", "`UdpSocket::bind`: {errno}"),
                ("unix", "`UnixStream::pair`: {errno}"),
                ("pipe", "`pipe`: {errno}"),
                ("process", "`Command::output`: {errno}"),
                ("new runtime", NO_DRIVER),
            ]))
            .quick(),
        calls("epoll_pwait", &[libc::SYS_epoll_pwait], REFUSED)
            .start(NoRuntime(NO_DRIVER))
            .later(IoEnds("cannot wait for events ({errno}")),
        calls("epoll_pwait2", &[libc::SYS_epoll_pwait2], REFUSED).both(Works).quick(),
        calls("timerfd", &[libc::SYS_timerfd_create, libc::SYS_timerfd_settime], &descriptor)
            .both(Works)
            .quick(),
        calls("timerfd_settime", &[libc::SYS_timerfd_settime], REFUSED).row("timerfd").both(Works),
    ]
}

fn threads() -> Vec<Group> {
    let none = [("EAGAIN", EAGAIN), ("EPERM", EPERM)];
    let fault = |&(name, errno): &(&str, c_int)| {
        // A filter cannot read the arguments of `clone3`, which are in memory. If `clone3` fails
        // with `ENOSYS`, the C library calls `clone`, whose flags tell threads from processes.
        let thread = Argument {
            index: 0,
            mask: libc::CLONE_THREAD as u32,
            value: libc::CLONE_THREAD as u32,
            is: true,
        };
        let old = Rule { arguments: vec![thread], ..Rule::fail(libc::SYS_clone, errno) };
        let rules = vec![old, Rule::fail(libc::SYS_clone3, ENOSYS)];
        (name.to_owned(), Fault::Calls(rules))
    };
    vec![
        Group::new("threads", none.iter().map(fault).collect())
            .on(
                Flavour::CurrentThread,
                When::Start,
                Without(&[("spawn_blocking", NO_THREAD), ("new runtime", NO_WORKER)]),
            )
            .on(
                Flavour::MultiThread,
                When::Start,
                NoRuntime("cannot start a worker thread: {errno}"),
            )
            .later(Without(&[("new runtime", NO_WORKER)]))
            .quick(),
        calls("membarrier", &[libc::SYS_membarrier], REFUSED)
            .start(Works)
            .on(Flavour::CurrentThread, When::Later, Works)
            .on(
                Flavour::MultiThread,
                When::Later,
                Without(&[("hand-off", "no hand-off"), ("hand-off again", "no hand-off")]),
            )
            .quick(),
    ]
}

/// Calls that a runtime can do without.
fn small_calls() -> Vec<Group> {
    const CPU_CLOCK: u32 = libc::CLOCK_THREAD_CPUTIME_ID as u32;
    let clock = Argument { index: 0, mask: u32::MAX, value: CPU_CLOCK, is: true };
    let no_clock = Rule { arguments: vec![clock], ..Rule::fail(libc::SYS_clock_gettime, EPERM) };
    let calls = [
        ("sched_getaffinity", libc::SYS_sched_getaffinity),
        ("sched_yield", libc::SYS_sched_yield),
        ("gettid", libc::SYS_gettid),
        ("prctl", libc::SYS_prctl),
        ("prlimit64", libc::SYS_prlimit64),
        ("poll", POLL),
        ("uname", libc::SYS_uname),
        ("getrandom", libc::SYS_getrandom),
        ("sigaltstack", libc::SYS_sigaltstack),
        ("rt_sigprocmask", libc::SYS_rt_sigprocmask),
    ]
    .map(|(name, call)| self::calls(name, &[call], REFUSED));
    let clock = Group::new("thread CPU clock", vec![(String::new(), Fault::Calls(vec![no_clock]))]);
    calls.into_iter().chain([clock]).map(|group| group.row("small calls").both(Works)).collect()
}

/// The call that checks whether a descriptor is ready.
const POLL: c_long = if cfg!(target_arch = "x86_64") { 7 } else { libc::SYS_ppoll };

fn sockets() -> Vec<Group> {
    const NO_BUFFER: &[(&str, c_int)] = &[("EPERM", EPERM), ("ENOBUFS", ENOBUFS)];
    const NO_DESCRIPTOR: &[(&str, c_int)] = &[("EPERM", EPERM), ("EMFILE", EMFILE)];
    const BIND: Expected = Without(&[
        ("tcp", "`TcpListener::bind`: {errno}"),
        ("udp", "`UdpSocket::bind`: {errno}"),
        ("unix", "`UnixListener::bind`: {errno}"),
    ]);
    const CONNECT: Expected = Without(&[
        ("tcp", "`TcpStream::connect`: {errno}"),
        ("udp", "`UdpSocket::connect`: {errno}"),
        ("unix", "`UnixStream::connect`: {errno}"),
    ]);
    [
        calls("socket", &[libc::SYS_socket], NO_DESCRIPTOR).both(BIND).quick(),
        calls("socketpair", &[libc::SYS_socketpair], NO_DESCRIPTOR)
            .both(Without(&[("unix", "`UnixStream::pair`: {errno}")])),
        calls("bind", &[libc::SYS_bind], REFUSED).both(BIND),
        calls("listen", &[libc::SYS_listen], REFUSED).both(Without(&[
            ("tcp", "`TcpListener::bind`: {errno}"),
            ("unix", "`UnixListener::bind`: {errno}"),
        ])),
        calls("accept4", &[libc::SYS_accept4], NO_DESCRIPTOR).both(Without(&[
            ("tcp", "`TcpListener::accept`: {errno}"),
            ("unix", "`UnixListener::accept`: {errno}"),
        ])),
        calls("connect", &[libc::SYS_connect], NO_BUFFER).both(CONNECT),
        calls("getsockopt", &[libc::SYS_getsockopt], NO_BUFFER).both(Without(&[
            ("tcp", "`TcpStream::connect`: {errno}"),
            ("unix", "`UnixStream::connect`: {errno}"),
        ])),
        calls("setsockopt", &[libc::SYS_setsockopt], NO_BUFFER)
            .both(Without(&[("tcp", "`TcpListener::bind`: {errno}")])),
        calls("getsockname", &[libc::SYS_getsockname], NO_BUFFER)
            .both(Without(&[("tcp", "`local_addr`: {errno}"), ("udp", "`local_addr`: {errno}")])),
        calls("sendto", &[libc::SYS_sendto], NO_BUFFER).both(Without(&[
            ("tcp", "`write_all`: {errno}"),
            ("udp", "`send`: {errno}"),
            ("unix", "`write_all`: {errno}"),
            ("background", "socket: {errno}"),
        ])),
        calls("recvfrom", &[libc::SYS_recvfrom], NO_BUFFER).both(Without(&[
            ("tcp", "`read`: {errno}"),
            ("udp", "`recv_from`: {errno}"),
            ("unix", "`read`: {errno}"),
            ("background", "socket: {errno}"),
        ])),
        calls("shutdown", &[libc::SYS_shutdown], REFUSED)
            .both(Without(&[("tcp", "`shutdown`: {errno}"), ("unix", "`shutdown`: {errno}")])),
    ]
    .map(|group| group.row("sockets"))
    .into()
}

fn files() -> Vec<Group> {
    let without = [
        ("openat2", libc::SYS_openat2),
        ("statfs", libc::SYS_statfs),
        ("fstatfs", libc::SYS_fstatfs),
        ("preadv2", libc::SYS_preadv2),
        ("pwritev2", libc::SYS_pwritev2),
        ("copy_file_range", libc::SYS_copy_file_range),
    ];
    let errors = [("EPERM", EPERM), ("ENOSYS", ENOSYS), ("EOPNOTSUPP", EOPNOTSUPP)];
    let mut groups: Vec<Group> = without
        .map(|(name, call)| calls(name, &[call], &errors).row("files on the spot").both(Works))
        .into();
    groups[0].quick = true;
    let call = |name, call, expected| calls(name, &[call], REFUSED).row("files").both(expected);
    groups.extend([
        call(
            "openat",
            libc::SYS_openat,
            Without(&[("fs", "`fs::write`: {errno}"), ("process", "")]),
        ),
        call("lseek", libc::SYS_lseek, Without(&[("fs", "`seek`: {errno}")])),
        call("fsync", libc::SYS_fsync, Without(&[("fs", "`sync_all`: {errno}")])),
    ]);
    groups
}

fn processes() -> Vec<Group> {
    let no_descriptor = [("EPERM", EPERM), ("ENOSYS", ENOSYS), ("EMFILE", EMFILE)];
    vec![
        calls("pidfd_open", &[libc::SYS_pidfd_open], &no_descriptor).both(Works).quick(),
        calls("waitid", &[libc::SYS_waitid], REFUSED).row("pidfd_open").both(Works),
        calls("wait4", &[libc::SYS_wait4], REFUSED)
            .row("processes")
            .both(Without(&[("process", "`Command::status`: {errno}")])),
        calls("pipe2", &[libc::SYS_pipe2], &no_descriptor).row("processes").both(Without(&[
            ("pipe", "`pipe`: {errno}"),
            ("process", "`Command::output`: {errno}"),
        ])),
        calls("execve", &[libc::SYS_execve], REFUSED)
            .row("processes")
            .both(Without(&[("process", "`Command::status`: {errno}")])),
        calls("kill", &[libc::SYS_kill], REFUSED)
            .row("processes")
            .both(Without(&[("process", "`kill`: {errno}"), ("signal", "`kill`: {errno}")])),
        calls("rt_sigaction", &[libc::SYS_rt_sigaction], REFUSED)
            .start(Without(&[("signal", "`signal`: {errno}")]))
            // The handler is installed already.
            .later(Works),
    ]
}

/// Sets of refused calls as they occur in practice.
fn sandboxes() -> Vec<Group> {
    // Calls that Docker's profile refuses, including those added in 2023.
    let default = [
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
        libc::SYS_bpf,
        libc::SYS_ptrace,
        libc::SYS_kcmp,
        libc::SYS_process_vm_readv,
        libc::SYS_keyctl,
        libc::SYS_unshare,
        libc::SYS_clock_settime,
    ];
    // Calls that a profile from before these calls existed refuses.
    let old = [
        libc::SYS_openat2,
        libc::SYS_pidfd_open,
        libc::SYS_epoll_pwait2,
        libc::SYS_close_range,
        libc::SYS_faccessat2,
        libc::SYS_membarrier,
    ];
    // Calls that a kernel in user space lacks.
    let mut other_kernel = calls("", &[libc::SYS_preadv2, libc::SYS_pwritev2], &[("", EOPNOTSUPP)]);
    let missing = [
        libc::SYS_membarrier,
        libc::SYS_openat2,
        libc::SYS_pidfd_open,
        libc::SYS_epoll_pwait2,
        libc::SYS_clone3,
        libc::SYS_close_range,
        libc::SYS_copy_file_range,
        libc::SYS_io_uring_setup,
    ];
    let (_, fault) = other_kernel.faults.remove(0);
    let Fault::Calls(mut rules) = fault else { unreachable!("`calls` makes `Fault::Calls`") };
    rules.extend(missing.map(|call| Rule::fail(call, ENOSYS)));
    vec![
        calls("Docker profile", &default, &[("", EPERM)]).both(Works).quick(),
        calls("old profile", &old[..5], &[("", EPERM)]).both(Works).quick(),
        calls("old profile with membarrier", &old[..6], &[("", EPERM)])
            .row("old profile")
            .start(Works),
        Group::new("gVisor", vec![(String::new(), Fault::Calls(rules))]).start(Works).quick(),
    ]
}
